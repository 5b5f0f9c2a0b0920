#!/bin/sh
# sh tests/deploy/haproxy.sh ALIGND
# docker/haproxy.cfg in front of two daemons, with their addresses in place of Docker's DNS. While clients send requests, one daemon is
# killed outright and another one takes its place, then the first left is told to stop: no client may see anything but 200.
set -eu
alignd=$1
work=$(mktemp -d)
pids=
trap 'kill $pids 2>/dev/null || true; wait; rm -rf "$work"' EXIT

# await COMMAND...: until it succeeds, for five minutes: how fast the machine is, is not what is tested
await() {
    for _ in $(seq 6000); do
        ! "$@" 2>/dev/null || return 0
        sleep 0.05
    done
    echo "in vain for five minutes: $*" >&2
    cat "$work"/*.log >&2
    exit 1
}

# start NAME ADDRESS: sets pid and address
start() {
    "$alignd" --model weights/en-fr --workers 1 --listen "$2" 2>"$work/$1.log" &
    pid=$! pids="$pids $!"
    await grep -q event=listening "$work/$1.log"
    address=$(sed -n 's/.*event=listening address=//p' "$work/$1.log")
    await "$alignd" health --listen "$address"
}
start a 127.0.0.1:0
a=$pid address_a=$address
start b 127.0.0.1:0
b=$pid address_b=$address

sed -e "s|bind :8080|bind unix@$work/http|; s|bind :8404|bind unix@$work/metrics|" \
    -e "/server-template/c\    server a $address_a\n    server b $address_b" -e '/^resolvers/,/^$/d' docker/haproxy.cfg >"$work/haproxy.cfg"
haproxy -db -f "$work/haproxy.cfg" >"$work/haproxy.log" 2>&1 &
pids="$pids $!"
ask() { curl -s --unix-socket "$work/http" "$@"; }
is_up() { curl -s --unix-socket "$work/metrics" localhost/metrics | grep -q "^haproxy_server_status{proxy=\"alignd\",server=\"$1\",state=\"UP\"} 1"; }
await is_up a
await is_up b

# Four clients, until the file is there; each writes the statuses that it got.
client() {
    until [ -e "$work/enough" ]; do
        ask -o /dev/null -w '%{http_code}\n' localhost/translate -d '{"text": "Where is the train station?"}' || true
    done
}
clients=
for i in 1 2 3 4; do
    client >"$work/statuses.$i" &
    clients="$clients $!"
done
sleep 1
kill -KILL "$a"
sleep 1
start again "$address_a"
await is_up a
sleep 1
kill -TERM "$b"
wait "$b" || { echo "the daemon that was told to stop did not end cleanly" >&2; exit 1; }
sleep 1
touch "$work/enough"
# shellcheck disable=SC2086
wait $clients

sort "$work"/statuses.* | uniq -c | sed 's/^ *\([0-9]*\) \(.*\)/\1 requests, status \2/'
[ "$(sort -u "$work"/statuses.*)" = 200 ] || { tail -5 "$work/haproxy.log" >&2; exit 1; }
[ "$(ask -o /dev/null -w '%{http_code}' localhost/metrics)" = 404 ] || { echo "/metrics is open to all" >&2; exit 1; }
curl -s --unix-socket "$work/metrics" localhost/metrics | grep -q '^haproxy_backend_http_responses_total' || { echo "HAProxy tells no metrics" >&2; exit 1; }
kill -TERM "$pid"
nobody_answers() { [ "$(ask localhost/translate -d '{"text": "x"}')" = '{"error":"no replica is ready","code":"unavailable"}' ]; }
await nobody_answers
