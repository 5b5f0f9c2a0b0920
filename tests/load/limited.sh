# sh limited.sh MIB COMMAND...: the command becomes this process and has so much memory. The first of these that this machine allows sets
# the limit, and a line on standard error says which one; before it, a line says why it was not a better one.
#   - a control group of version 2 or 1 that this script makes within the caller's own, whose limits hold as before. It is removed when the
#     command has ended.
#   - a scope of systemd
#   - a mount namespace in which the machine seems to have no more. There the kernel ends nothing that takes more, so the caller has to.
set -eu
mib=$1
shift
bytes=$((mib * 1024 * 1024))
say() {
    echo "limited_by=$*" >&2
}

# own VERSION: prints the folder of this process's group in the hierarchy of this version that has the memory of groups; nothing if it is
# not mounted here. A mount may begin below the root of its hierarchy, as in a container.
own() {
    path=$(awk -F: -v version="$1" 'version == 2 ? $1 == 0 : "," $2 "," ~ /,memory,/ { sub(/^[^:]*:[^:]*:/, ""); print }' /proc/self/cgroup)
    awk -v version="$1" -v path="$path" '
        { type = options = ""; for (i = 7; i < NF; i++) if ($i == "-") { type = $(i + 1); options = $(i + 3) } }
        version == 2 ? type == "cgroup2" : type == "cgroup" && "," options "," ~ /,memory,/ {
            root = $4 == "/" ? "" : $4
            if (path != "" && index(path "/", root "/") == 1) { print $5 substr(path, length(root) + 1); exit }
        }' /proc/self/mountinfo | sed 's,/$,,'
}

# enter GROUP FILE SWAP LIMIT: moves this process into a new group within this one, whose files have these names; SWAP gets LIMIT.
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

version_2=$(own 2)
version_1=$(own 1)
if [ -n "$version_2" ] && grep -qsw memory "$version_2/cgroup.subtree_control" && enter "$version_2" memory.max memory.swap.max 0; then
    say "group_v2 group=$group"
    exec "$@"
elif [ -n "$version_1" ] && enter "$version_1" memory.limit_in_bytes memory.memsw.limit_in_bytes $bytes; then
    say "group_v1 group=$group"
    exec "$@"
fi
echo "limited.sh: no control group can be made within the caller's own (version 2: ${version_2:-not mounted}, version 1:" \
    "${version_1:-not mounted}): it is read-only, belongs to another user, or, of version 2, gives its groups no memory of their own" \
    "(cgroup.subtree_control)" >&2

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
