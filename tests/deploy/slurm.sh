#!/bin/bash
# bash tests/deploy/slurm.sh ALIGND MODEL (root): a Slurm of one node, started here, translates a corpus by docker/slurm/translate.sbatch in
# eight tasks. One of them is killed and requeued, one is requeued as it runs, and the first is requeued after its end; put together, the
# shares must be what one run over the whole makes.
set -eu
alignd=$(realpath "$1") model=$(realpath "$2")
lines=1600
folder=$(mktemp -d /tmp/alignd-slurm-XXXXXX)
chmod 755 "$folder"
pids=()
finish() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait
    rm -rf "$folder"
}
trap finish EXIT
fail() {
    echo "FAILED: $*" >&2
    tail -n 20 "$folder"/*.log "$folder"/*.out >&2 || true
    exit 1
}
# COMMAND...: tried for ten minutes
await() {
    for _ in $(seq 1200); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.5
    done
    fail "waited too long for: $*"
}

# ---- munge, the controller, the node ----
mkdir -m 755 "$folder/munge" "$folder/state" "$folder/spool"
head -c 1024 /dev/urandom >"$folder/munge/key"
chmod 400 "$folder/munge/key"
munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
    --seed-file="$folder/munge/seed" --log-file="$folder/munge.log" >/dev/null 2>&1 &
pids+=($!)
cat >"$folder/slurm.conf" <<END
ClusterName=alignd
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
MailProg=/bin/true
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=8 RealMemory=1024 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$folder/slurm.conf
await test -S "$folder/munge/socket"
slurmctld -D >"$folder/slurmctld.log" 2>&1 &
pids+=($!)
slurmd -D >"$folder/slurmd.log" 2>&1 &
pids+=($!)
is_idle() { sinfo --noheader --format %T | grep -qx idle; }
await is_idle

# ---- the corpus, whole ----
awk -v lines="$lines" 'BEGIN {
    split("The old man|A small dog|My sister|Nobody|The train to Paris", who, "|"); split("sees|likes|has lost|is waiting for", does, "|")
    split("the snow|a red car|the last word|three books", what, "|"); split("today|in the morning|again|", when, "|")
    for (i = 0; i < lines; i++) {
        if (i % 41 == 40) print ""
        else print who[i % 5 + 1] " " does[int(i / 5) % 4 + 1] " " what[int(i / 20) % 4 + 1] " " when[int(i / 80) % 4 + 1] " number " i "."
    }
}' >"$folder/source"
"$alignd" translate --model "$model" <"$folder/source" >"$folder/whole"

# ---- the array ----
export ALIGND=$alignd
job=$(sbatch --parsable --array=0-7 --cpus-per-task=1 --mem=0 --output="$folder/%a.out" docker/slurm/translate.sbatch "$model" "$folder/source" "$folder/parts")
is_running() { pgrep -f -- "--output $folder/parts/$1.txt"; }
await is_running 3
kill -KILL "$(is_running 3)"
await is_running 5
scontrol requeue "${job}_5"
# squeue lists what waits or runs
has_ended() { ! squeue --noheader --array --job "$job" --format '%K %T' | grep -q "^$1 "; }
await has_ended 3
[ ! -e "$folder/parts/3.txt" ] || fail "a task that was killed has an output"
scontrol requeue "${job}_3"
await has_ended 0
cp --preserve "$folder/parts/0.txt" "$folder/before"
scontrol requeue "${job}_0"
all_ended() { [ -z "$(squeue --noheader --job "$job")" ]; }
await all_ended

scontrol show job "$job" | grep -o 'JobState=[A-Z]*' | sort | uniq -c
[ ! "$folder/parts/0.txt" -nt "$folder/before" ] || fail "a task that had ended wrote its output again"
cat "$folder"/parts/?.txt | cmp - "$folder/whole" || fail "the shares are not the whole"
[ "$(find "$folder/parts" -name "*.txt" | wc -l)" = 8 ] || fail "there are not eight shares"
echo "8 shares of $lines lines are what one run makes of them; task 3 was killed, 5 requeued as it ran"
