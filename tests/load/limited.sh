#!/bin/sh
# sh limited.sh MIB COMMAND...: the command becomes this process and has so much memory: in a control group of its own where systemd
# makes one, and otherwise in a mount namespace in which the machine has no more. There nothing ends a process that takes more, so
# whoever runs it has to.
set -eu
mib=$1
shift
[ "$(id -u)" = 0 ] && user= || user=--user
scope="systemd-run --quiet --scope $user -p MemoryMax=${mib}M -p MemorySwapMax=0"
if [ -d /run/systemd/system ] && $scope true 2>/dev/null; then
    exec $scope "$@"
fi
meminfo=$(mktemp)
sed "s/^MemTotal: .*/MemTotal: $((mib * 1024)) kB/" /proc/meminfo >"$meminfo"
exec unshare ${user:+--user --map-current-user --keep-caps} --mount sh -euc '
    mount --bind "$1" /proc/meminfo
    rm "$1"
    shift
    exec "$@"' sh "$meminfo" "$@"
