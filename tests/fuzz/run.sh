#!/bin/sh
# Runs libFuzzer targets one after the other: run.sh BUILD SECONDS RUNS TARGET... (make fuzz). What a target learns stays in
# BUILD/corpus; what it finds goes to BUILD/findings. Prints executions per target; fails where there was a finding.
# FUZZ_FORMAT: the format that all documents of the target `document` are of; what it learns is kept by itself.
# FUZZ_TIMEOUT: seconds that one input may take, by the clock: where others use the processor, more than 20.
set -u
build=$1 seconds=$2 runs=$3
shift 3
mkdir -p "$build/findings" "$build/logs"
failed=0 total=0
for target; do
    name=$target
    [ "$target" = document ] && name=$target${FUZZ_FORMAT:+-$FUZZ_FORMAT}
    mkdir -p "$build/corpus/$name"
    # what libraries keep for the whole run is no leak: only what grows with the executions matters, which -rss_limit_mb bounds
    if ! "$build/tests/fuzz/$target" -runs="$runs" -max_total_time="$seconds" -max_len=4096 -timeout="${FUZZ_TIMEOUT:-20}" -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="$build/findings/$name-" "$build/corpus/$name" "tests/fuzz/corpus/$target" \
        2>"$build/logs/$name"; then
        tail -40 "$build/logs/$name"
        failed=1
    fi
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/logs/$name")
    printf '%-16s %10s executions\n' "$name" "${executions:-0}"
    total=$((total + ${executions:-0}))
done
printf '%-16s %10s executions\n' all "$total"
exit $failed
