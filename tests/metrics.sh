#!/bin/sh
# metrics.sh ALIGND PROMTOOL: starts it, sends a few requests, right and wrong ones, and gives what /metrics says to the linter.
set -eu
work=$(mktemp -d)
model=tests/golden/luong-general-gru
"$1" --model $model --model tests/golden/storage-int8 --listen 127.0.0.1:0 2>"$work/log" &
daemon=$!
trap 'kill $daemon; wait $daemon; rm -rf "$work"' EXIT
until grep -q event=ready "$work/log"; do
    kill -0 $daemon
    sleep 0.1
done
url=http://$(sed -n 's/.*event=listening address=\([^ ]*\).*/\1/p' "$work/log")
for body in '{"text":"A boy plays."}' '{"text":1}' '{"q":"A boy plays.","source":"en","target":"fr"}'; do
    curl -s -o "$work/reply" -d "$body" "$url/translate"
done
curl -s -o "$work/reply" "$url/nowhere"
kill -HUP $daemon
until grep -q event=reloaded "$work/log"; do
    sleep 0.1
done
curl -s -o "$work/metrics" "$url/metrics"
"$2" check metrics <"$work/metrics"
echo "metrics: $(grep -c '^# TYPE' "$work/metrics") families, $(grep -vc '^#' "$work/metrics") samples"
