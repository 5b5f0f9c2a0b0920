# Part of tests/container.sh: the functions that differ under buildah, which builds images but runs no services. The image's root is
# mounted read-only and entered with chroot, in namespaces of its own (mounts, processes, network), with the settings that the image
# has and an engine would read. As root only.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154
export BUILDAH_ISOLATION=chroot
root='' pid=''
mounted=() # buildah's containers, one for each root

image_build() { buildah bud -q --no-cache --pull=false --format docker "$@" -t "$image" . >"$work/build.log" 2>&1 || { tail -30 "$work/build.log" >&2; return 1; }; }
image_setting() { buildah inspect --type image --format "{{.Docker.Config.$1}}" "$image"; }
image_mount() { # of this image; sets mount
    mounted+=("$(buildah from --pull=false "$1")")
    mount=$(buildah mount "${mounted[-1]}")
}
image_bytes() (
    mounted=()
    image_mount "$1"
    du -sxb "$mount" | cut -f1
    buildah rm "${mounted[@]}" >/dev/null
)

# container_start [-v FROM:TO:ro] [-e NAME=VALUE]
container_start() {
    local user volume='' environment settings
    settings=$(buildah inspect --type image --format '{{range .Docker.Config.Env}}{{println .}}{{end}}' "$image")
    mapfile -t environment <<<"$settings"
    while [ $# -gt 0 ]; do
        case $1 in
        -v) volume=$2 ;;
        -e) environment+=("$2") ;;
        esac
        shift 2
    done
    user=$(image_setting User)
    [ -n "$root" ] || { image_mount "$image" && root=$mount; }
    inside=(chroot "$root" setpriv --reuid="${user%:*}" --regid="${user#*:}" --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all
        env -i "${environment[@]}")
    rm -f "$work/log"
    unshare --mount --pid --net --fork sh -euc '
        root=$1 volume=$2
        shift 2
        ip link set lo up
        mount --bind "$root" "$root"
        to=${volume#*:} to=${to%:ro}
        [ -z "$volume" ] || { mkdir -p "$root$to" && mount --bind "${volume%%:*}" "$root$to" && mount -o remount,bind,ro "$root$to"; }
        mount -t proc proc "$root/proc"
        mount --bind /dev "$root/dev"
        mount -o remount,bind,ro "$root"
        exec "$@"' sh "$root" "$volume" "${inside[@]}" /usr/bin/alignd >"$work/log" 2>&1 &
    container=$!
    url=http://127.0.0.1:8080
    local until=$((SECONDS + patience))
    while kill -0 "$container" 2>/dev/null && [ $SECONDS -lt $until ]; do
        pid=$(pgrep -P "$container" || true)
        ! grep -qs listening "$work/log" || return 0
        sleep 0.1
    done
    fail "the container does not start"
}
container_curl() { nsenter --net --target "$pid" curl "$@"; }
# alignd has the container's root, from which inside's chroot is left out.
container_exec() { nsenter --wdns=/ --mount --root --pid --net --target "$pid" "${inside[@]:2}" "$@"; }
container_stop() { kill -s "$(image_setting StopSignal)" "$pid"; }
container_wait() {
    status=0
    wait "$container" || status=$?
}
container_log() { [ ! -e "$work/log" ] || cat "$work/log"; }
container_remove() {
    [ -z "$container" ] || ! kill -0 "$container" 2>/dev/null || kill -KILL "$pid" 2>/dev/null || true
    container=
}
cleanup() {
    container_remove
    [ ${#mounted[@]} = 0 ] || buildah rm "${mounted[@]}" >/dev/null
}
