#!/bin/sh
# sh tests/arm64.sh BUILD SYSROOT: what was built for arm64, by QEMU: the unit tests pass, and the daemon answers a request.
set -eu
build=$1 sysroot=$2
folder=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true; rm -r "$folder"' EXIT

qemu-aarch64-static -L "$sysroot" "$build/tests/run"

qemu-aarch64-static -L "$sysroot" "$build/alignd" --model weights/en-fr --listen "unix:$folder/socket" --log-level warn &
daemon=$!
curl -s --retry 60 --retry-delay 1 --retry-all-errors --unix-socket "$folder/socket" -o /dev/null -f http://localhost/ready
curl -sSf --unix-socket "$folder/socket" http://localhost/translate -H 'Content-Type: application/json' -d '{"text": "The man is here."}' |
    grep -F '"text":"L'"'"'homme est ici."'
kill $daemon
wait $daemon
daemon=
echo "arm64: alignd builds, its unit tests pass, a request is answered, and it stops cleanly"
