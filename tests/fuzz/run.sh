#!/bin/sh
# Runs libFuzzer targets one after the other: run.sh BUILD SECONDS RUNS TARGET... (make fuzz). What a target learns stays in
# BUILD/corpus; what it finds goes to BUILD/findings. Prints executions per target; fails where there was a finding.
set -u
build=$1 seconds=$2 runs=$3
shift 3
mkdir -p "$build/findings" "$build/logs"
failed=0 total=0
for target; do
    mkdir -p "$build/corpus/$target"
    # what libraries keep for the whole run is no leak: only what grows with the executions matters, which -rss_limit_mb bounds
    if ! "$build/tests/fuzz/$target" -runs="$runs" -max_total_time="$seconds" -max_len=4096 -timeout=20 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="$build/findings/$target-" "$build/corpus/$target" "tests/fuzz/corpus/$target" \
        2>"$build/logs/$target"; then
        tail -40 "$build/logs/$target"
        failed=1
    fi
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/logs/$target")
    printf '%-12s %10s executions\n' "$target" "${executions:-0}"
    total=$((total + ${executions:-0}))
done
printf '%-12s %10s executions\n' all "$total"
exit $failed
