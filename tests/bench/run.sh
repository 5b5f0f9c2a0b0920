#!/bin/sh
# make bench: one run of everything that tests/bench/RESULTS.md reports. Arguments: the build folder. Variables: MODEL (a model folder), SOURCE
# (sentences, one a line; the shipped ones are repeated to 2,000), PYTHON. About three minutes; leave the machine alone meanwhile.
set -eu
build=$1
model=${MODEL:-weights/en-fr}
python=${PYTHON:-/usr/bin/python3}
work=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || kill "$daemon"; rm -rf "$work"' EXIT
# OpenBLAS 0.3.21 takes processors newer than itself for a Prescott; told the truth it is a fairer opponent (for PyTorch, too)
if grep -q ' avx512vl ' /proc/cpuinfo; then OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-SKYLAKEX}; export OPENBLAS_CORETYPE; fi

if [ -n "${SOURCE:-}" ]; then cp "$SOURCE" "$work/source"; else
    for _ in $(seq 32); do cat tests/bench/sentences.txt; done | head -2000 >"$work/source"
fi
head -500 "$work/source" >"$work/some"

grep -m1 'model name' /proc/cpuinfo
echo "model $model, $(wc -l <"$work/source") sentences, load before: $(cut -d' ' -f1-3 /proc/loadavg)"
echo; echo '# the machine, the products, and where the time goes (one core)'
"$build/tests/bench/bench" "$model" <"$work/some"

echo; echo '# alignd translate: target tokens a second, three runs each'
for strategy in greedy beam; do
    for workers in 1 2; do
        for _ in 1 2 3; do
            "$build/alignd" translate --model "$model" --strategy $strategy --workers $workers --stats <"$work/source" 2>&1 >/dev/null |
                sed "s/^/$strategy workers=$workers /"
        done
    done
done

echo; echo '# PyTorch, same weights: best of three runs each'
if "$python" -c 'import torch' 2>/dev/null; then
    for threads in 1 2; do "$python" tests/bench/pytorch.py "$model" --threads $threads --sentences 500 <"$work/source"; done
else
    echo "no PyTorch for $python: left out"
fi

echo; echo '# the daemon: single sentences over HTTP, two workers'
"$build/alignd" --model "$model" --listen 127.0.0.1:0 --workers 2 --log-level info 2>"$work/log" &
daemon=$!
until grep -q event=ready "$work/log"; do sleep 0.05; done
grep -E 'event=(model_loaded|ready)' "$work/log"
grep -E 'VmRSS' "/proc/$daemon/status"
port=$(sed -n 's/.*event=listening address=127.0.0.1:\([0-9]*\).*/\1/p' "$work/log")
for strategy in greedy beam; do
    for connections in 1 8 64; do
        "$build/tests/bench/clients" "$port" $connections $strategy <"$work/source"
    done
done
grep -E 'VmRSS' "/proc/$daemon/status"

echo; echo '# a short sentence, greedy, sent while 64 long ones (70 words, beam 5) are being decoded'
for _ in $(seq 768); do head -7 tests/bench/sentences.txt | tr '\n' ' '; echo; done >"$work/long"
"$build/tests/bench/clients" "$port" 64 beam <"$work/long" &
clients=$!
sleep 0.3
for _ in 1 2 3; do
    curl -s -o /dev/null -w 'short: %{http_code} after %{time_total} s\n' "http://127.0.0.1:$port/translate" \
        -d '{"text":"Where is my red umbrella?","strategy":"greedy"}'
done
wait $clients
