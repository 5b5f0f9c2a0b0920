#!/bin/sh
# Runs libFuzzer targets one after the other: run.sh BUILD SECONDS RUNS TARGET... (make fuzz). What a target learns stays in
# BUILD/corpus; what it finds goes to BUILD/findings. Prints executions per target; fails where there was a finding.
# FUZZ_FORMAT: the format that all documents of the target `document` are of; what it learns is kept by itself. FUZZ_TIMEOUT: seconds that
# one input of up to 4 kB may take, by the clock, a longer one five times as many: where others use the processor, more than 20. FUZZ_MIB:
# memory that the target may take at most, AddressSanitizer's among it. Half of the time goes to inputs of up to 512 bytes, of which most
# executions fit into a second, the other half to those of up to 4 kB. An eighth of the time goes to inputs of up to a megabyte, which
# show what grows faster than they do: they begin with the corpus' inputs and what make_long makes of them, each repeated until it is as
# long as that.
set -u
# few freed blocks wait before they are used again: each new page costs more than a short input
export ASAN_OPTIONS="quarantine_size_mb=16:${ASAN_OPTIONS:-}"
build=$1 seconds=$2 runs=$3
shift 3
mkdir -p "$build/findings" "$build/logs"
failed=0 total=0

# Each input of a corpus again and again, up to the most bytes that a request may have.
make_long() {
    mkdir -p "$2"
    for input in "$1"/*; do
        out=$2/$(basename "$input")
        [ -s "$input" ] && [ ! -e "$out" ] || continue
        cat "$input" >"$out"
        while [ "$(wc -c <"$out")" -lt 524288 ]; do cat "$out" "$out" >"$out.next" && mv "$out.next" "$out"; done
        head -c 1048576 "$out" >"$out.next" && mv "$out.next" "$out"
    done
}

# run TARGET NAME MAX_LEN SECONDS CORPUS...: what is found goes to BUILD/findings
run() {
    target=$1 name=$2 longest=$3 time=$4 most=${FUZZ_TIMEOUT:-20}
    shift 4
    [ "$longest" -le 4096 ] || most=$((most * 5))
    # without libFuzzer's entropic schedule, whose sums over the corpus take a seventh of the time of short inputs
    # what libraries keep for the whole run is no leak: only what grows with the executions matters, which -rss_limit_mb bounds
    if ! "$build/tests/fuzz/$target" -entropic=0 -runs="$runs" -max_total_time="$time" -max_len="$longest" -timeout="$most" \
        -rss_limit_mb="${FUZZ_MIB:-2048}" -print_final_stats=1 -artifact_prefix="$build/findings/$name-" "$@" 2>"$build/logs/$name"; then
        tail -40 "$build/logs/$name"
        failed=1
    fi
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/logs/$name")
    printf '%-20s %10s executions\n' "$name" "${executions:-0}"
    total=$((total + ${executions:-0}))
}

for target; do
    own=$target
    [ "$target" = document ] && own=$target${FUZZ_FORMAT:+-$FUZZ_FORMAT}
    mkdir -p "$build/corpus/$own"
    run "$target" "$own-short" 512 $(((seconds + 1) / 2)) "$build/corpus/$own" "tests/fuzz/corpus/$target"
    run "$target" "$own" 4096 $(((seconds + 1) / 2)) "$build/corpus/$own" "tests/fuzz/corpus/$target"
    make_long "tests/fuzz/corpus/$target" "$build/long/$target"
    mkdir -p "$build/corpus/$own-long"
    run "$target" "$own-long" 1048576 $(((seconds + 7) / 8)) "$build/corpus/$own-long" "$build/long/$target"
done
printf '%-20s %10s executions\n' all "$total"
exit $failed
