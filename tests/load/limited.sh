#!/bin/sh
# sh limited.sh MIB COMMAND...: the command becomes this process and has so much memory. The first of these that this machine allows sets
# the limit, and a line on standard error says which one:
#   - a control group that this script makes, of version 2 or 1. It is removed when the command has ended.
#   - a scope of systemd
#   - a mount namespace in which the machine seems to have no more. There the kernel ends nothing that takes more, so the caller has to.
set -eu
mib=$1
shift
bytes=$((mib * 1024 * 1024))
say() {
    echo "limited_by=$*" >&2
}

# enter ROOT FILE SWAP LIMIT: moves this process into a new group, whose files have these names; SWAP gets LIMIT.
enter() {
    group=$1/alignd-limited-$$
    mkdir "$group" 2>/dev/null || return 1
    if echo $bytes >"$group/$2" && { [ ! -e "$group/$3" ] || echo "$4" >"$group/$3"; }; then
        (
            while kill -0 $$ || ! rmdir "$group"; do sleep 0.1; done
        ) </dev/null >/dev/null 2>&1 &
        echo $$ >"$group/cgroup.procs" && return
    fi 2>/dev/null
    rmdir "$group" 2>/dev/null
    return 1
}

top=/sys/fs/cgroup
if grep -qsw memory $top/cgroup.subtree_control && enter $top memory.max memory.swap.max 0; then
    say "group_v2 group=$group"
    exec "$@"
elif [ -e $top/memory/memory.limit_in_bytes ] && enter $top/memory memory.limit_in_bytes memory.memsw.limit_in_bytes $bytes; then
    say "group_v1 group=$group"
    exec "$@"
fi

[ "$(id -u)" = 0 ] && user= || user=--user
scope="systemd-run --quiet --scope $user -p MemoryMax=${mib}M -p MemorySwapMax=0"
if [ -d /run/systemd/system ] && $scope true 2>/dev/null; then
    say systemd
    exec $scope "$@"
fi

say mount_namespace
meminfo=$(mktemp)
sed "s/^MemTotal: .*/MemTotal: $((mib * 1024)) kB/" /proc/meminfo >"$meminfo"
exec unshare ${user:+--user --map-current-user --keep-caps} --mount sh -euc '
    mount --bind "$1" /proc/meminfo
    rm "$1"
    shift
    exec "$@"' sh "$meminfo" "$@"
