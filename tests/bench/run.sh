#!/bin/sh
# make bench: one run of everything that tests/bench/RESULTS.md reports. Argument: the build folder. Variables:
#   MODEL    a model folder (default weights/en-fr; empty: none)
#   SOURCE   its sentences, one a line (default: the shipped ones, repeated to 2,000)
#   SHAPES   random models after it: S, L, TINY, MEMORY, BASE, OPUS (default S)
# Some minutes for each model; leave the machine alone meanwhile.
set -eu
build=$1
bench=$build/tests/bench
model=${MODEL-weights/en-fr}
shapes=${SHAPES-S}
work=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || kill "$daemon"; rm -rf "$work"' EXIT
# OpenBLAS 0.3.21 takes processors newer than itself for a Prescott; told the truth it is a fairer opponent
if grep -q ' avx512vl ' /proc/cpuinfo; then OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-SKYLAKEX}; export OPENBLAS_CORETYPE; fi
# Chosen by ALIGND_COMPUTE, which a build without that option does not look at.
computes=float32
if "$build/alignd" --help | grep -q -e --compute; then computes='float32 bfloat16 int8'; fi

title() { printf '\n# %s\n' "$1"; }

# start_daemon COMPUTE MODEL: two workers on a free port, which goes to $port
start_daemon() {
    : >"$work/log"
    ALIGND_COMPUTE=$1 "$build/alignd" --model "$2" --listen 127.0.0.1:0 --workers 2 --log-level info 2>"$work/log" &
    daemon=$!
    until grep -q event=ready "$work/log"; do
        kill -0 "$daemon" 2>/dev/null || { cat "$work/log"; daemon=; exit 1; }
        sleep 0.05
    done
    port=$(sed -n 's/.*event=listening address=127.0.0.1:\([0-9]*\).*/\1/p' "$work/log")
}

stop_daemon() {
    kill "$daemon"
    wait "$daemon" || true
    daemon=
}

# ---- a trained model ----

# batch_mode MODEL SOURCE
batch_mode() {
    title 'alignd translate: target tokens a second, three runs each'
    for compute in $computes; do
        for strategy in greedy beam; do
            for workers in 1 2; do
                for _ in 1 2 3; do
                    ALIGND_COMPUTE=$compute "$build/alignd" translate --model "$1" --strategy $strategy --workers $workers --stats \
                        <"$2" 2>&1 >/dev/null | sed "s/^/$compute $strategy workers=$workers /"
                done
            done
        done
    done
}

# serve MODEL SOURCE
serve() {
    title 'the daemon: single sentences over HTTP, two workers, float32'
    start_daemon float32 "$1"
    grep -E 'event=(model_loaded|ready)' "$work/log"
    grep -E 'VmRSS' "/proc/$daemon/status"
    for strategy in greedy beam; do
        for connections in 1 8 64; do "$bench/clients" "$port" $connections "\"strategy\":\"$strategy\"" <"$2"; done
    done
    grep -E 'VmRSS' "/proc/$daemon/status"

    title 'a short sentence, greedy, sent while 64 long ones (70 words, beam 5) are being decoded'
    for _ in $(seq 768); do head -7 tests/bench/sentences.txt | tr '\n' ' '; echo; done >"$work/long"
    "$bench/clients" "$port" 64 '"strategy":"beam"' <"$work/long" &
    clients=$!
    sleep 0.3
    for _ in 1 2 3; do
        curl -s -o /dev/null -w 'short: %{http_code} after %{time_total} s\n' "http://127.0.0.1:$port/translate" \
            -d '{"text":"Where is my red umbrella?","strategy":"greedy"}'
    done
    wait $clients
    stop_daemon
}

# ---- random models ----

# The middle of three numbers, one a line.
middle() { sort -n | sed -n 2p; }

# rate FILE: the requests a second of its last line
rate() { tail -1 "$1" | sed 's/.*requests_per_second=\([0-9.]*\).*/\1/'; }

# serve_random COMPUTE MODEL
serve_random() {
    start_daemon "$1" "$2"
    head -300 "$2/source.txt" >"$work/alone"
    cat "$2/source.txt" "$2/source.txt" >"$work/many"
    for _ in 1 2 3; do "$bench/clients" "$port" 1 '"strategy":"greedy"' <"$work/alone"; done
    : >"$work/plain"; : >"$work/attention"
    for _ in 1 2 3; do # in turn, so that a change of the machine's mood meets both
        for include in plain:'"tokens"' attention:'"tokens","attention"'; do
            "$bench/clients" "$port" 32 "\"strategy\":\"greedy\",\"include\":[${include#*:}]" <"$work/many" >"$work/line"
            cat "$work/line"
            rate "$work/line" >>"$work/${include%%:*}"
        done
    done
    echo "attention output costs $(awk -v plain="$(middle <"$work/plain")" -v attention="$(middle <"$work/attention")" \
        'BEGIN { printf "%.1f%%", 100 * (plain / attention - 1) }') of the time (medians of three)"
    stop_daemon
}

random_model() {
    title "shape $1: random weights, as many target as source tokens"
    sentences=500
    shortlist=
    case $1 in
    L | OPUS) sentences=200 ;;
    TINY | MEMORY | BASE) shortlist='--shortlist 600' ;;
    esac
    # shellcheck disable=SC2086
    "$bench/random_model" --shape "$1" $shortlist "$work/$1"
    "$bench/bench" --sentences $sentences "$work/$1" <"$work/$1/source.txt"
    [ -z "$shortlist" ] || "$bench/bench" --sentences $sentences --shortlist "$work/$1" <"$work/$1/source.txt"
    for compute in $computes; do
        title "shape $1 over HTTP, two workers, $compute: an idle machine, then 32 clients without and with attention"
        serve_random "$compute" "$work/$1"
    done
}

grep -m1 'model name' /proc/cpuinfo
echo "load before: $(cut -d' ' -f1-3 /proc/loadavg)"
if [ -n "$model" ]; then
    if [ -n "${SOURCE:-}" ]; then cp "$SOURCE" "$work/source"; else
        for _ in $(seq 32); do cat tests/bench/sentences.txt; done | head -2000 >"$work/source"
    fi
    title "model $model, $(wc -l <"$work/source") sentences"
    "$bench/bench" --sentences 500 "$model" <"$work/source"
    batch_mode "$model" "$work/source"
    serve "$model" "$work/source"
fi
for shape in $shapes; do random_model "$shape"; done
title 'glossaries: looking their phrases up'
"$bench/lexicon" <tests/bench/sentences.txt
title 'oneDNN, one core'
if [ -x "$bench/onednn" ]; then OMP_NUM_THREADS=1 "$bench/onednn"; else echo 'no dnnl.h when this was built: left out'; fi
