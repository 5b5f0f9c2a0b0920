#!/usr/bin/env bash
# bash tests/tarball.sh TARBALL [SUITE...]: on an empty Debian of each suite (bookworm and trixie; sid is another), with none of alignd's
# libraries, the program translates from a folder with a blank in its name, is installed, serves, and is removed, after which nothing is
# left. Needs root and buildah.
set -euo pipefail
cd "$(dirname "$0")/.."
tarball=$1
shift
[ $# -gt 0 ] || set -- bookworm trixie
export BUILDAH_ISOLATION=chroot
containers=() daemon=''
trap '[ -z "$daemon" ] || kill -KILL "$daemon" 2>/dev/null; [ ${#containers[@]} = 0 ] || buildah rm "${containers[@]}" >/dev/null; rm -f "$log"' EXIT
log=$(mktemp)
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    cat "$log" >&2
    exit 1
}

# inside COMMAND...: in the system, with /proc, by which a program knows where it lies
inside() { unshare --mount sh -euc 'root=$1; shift; mount -t proc proc "$root/proc"; exec chroot "$root" "$@"' sh "$root" "$@"; }

for suite in "$@"; do
    base=$(SUITE=$suite sh tests/base_image.sh)
    container=$(buildah from --pull=false "$base")
    containers+=("$container")
    root=$(buildah mount "$container")
    mkdir "$root/opt/some where"
    tar -xzf "$tarball" -C "$root/opt/some where"
    folder=$(basename "$tarball" .tar.gz)
    [ "$(echo 'I am hungry.' | inside "/opt/some where/$folder/bin/alignd" translate --model en-fr 2>"$log")" = "J'ai faim." ] || fail "$suite: a wrong translation"

    inside sh "/opt/some where/$folder/install.sh" >"$log"
    unshare --net --mount sh -euc 'ip link set lo up; mount -t proc proc "$1/proc"; exec chroot "$1" /usr/local/bin/alignd' sh "$root" 2>"$log" &
    daemon=$!
    until grep -q 'event=ready' "$log"; do
        kill -0 "$daemon" 2>/dev/null || fail "$suite: it does not start"
        [ $SECONDS -lt 1800 ] || fail "$suite: it does not get ready"
        sleep 0.1
    done
    nsenter --net --mount --target "$daemon" chroot "$root" /usr/local/bin/alignd health || fail "$suite: it is not ready"
    grep -q 'model=.*fr-en' "$log" || fail "$suite: it does not serve what is in it"
    kill -TERM "$daemon"
    wait "$daemon" || fail "$suite: status $? after SIGTERM"
    daemon=''
    inside sh "/opt/some where/$folder/install.sh" --uninstall >"$log"
    left=$(find "$root/usr/local" "$root/etc" -name '*alignd*')
    [ -z "$left" ] || fail "$suite: removed, but these are left: $left"
    echo "  $suite: translates where it was unpacked, is installed, serves, is removed"
done
