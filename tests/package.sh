#!/usr/bin/env bash
# bash tests/package.sh DEB: installs the package in a container of Debian 12, starts alignd there as its unit would (there is no systemd
# in the container: the unit's user and command, in a network of their own), asks it, stops it, builds a program with the library's
# packages, which lie beside DEB, removes and purges all, and looks for what is left. Needs root and buildah.
set -euo pipefail
cd "$(dirname "$0")/.."
deb=$1
export BUILDAH_ISOLATION=chroot
container='' daemon=''
trap '[ -z "$daemon" ] || kill -KILL "$daemon" 2>/dev/null; [ -z "$container" ] || buildah rm "$container" >/dev/null; rm -f "$log" "$log.models"' EXIT
log=$(mktemp)

say() { printf '  %s\n' "$*"; }
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    cat "$log" >&2
    exit 1
}

base=$(sh tests/base_image.sh)
container=$(buildah from --pull=false "$base")
root=$(buildah mount "$container")
inside() { buildah run "$container" -- env DEBIAN_FRONTEND=noninteractive "$@"; }
quietly() { "$@" >"$log" 2>&1 || fail "$*"; }
# what has alignd in its name, but for what a purge need not touch
remains() { (cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp \) -prune -o -name '*alignd*' -print); }

# ---- install ----
cp "$deb" "$root/tmp/alignd.deb"
quietly inside apt-get update -qq
quietly inside apt-get install -y -qq --no-install-recommends /tmp/alignd.deb
inside dpkg --verify alignd || fail "the installed files are not those of the package"
[ "$(inside dpkg-query -W -f '${Status}' alignd)" = "install ok installed" ] || fail "not installed"
for file in lib/systemd/system/alignd.service lib/systemd/system/alignd.socket etc/alignd/alignd.conf; do
    [ -e "$root/$file" ] || fail "$file is missing"
done
say "installed: $(inside dpkg-query -W -f '${Package} ${Version}, ${Installed-Size} kB' alignd)"

# ---- start: ExecStart with the unit's Environment, as nobody ----
unit=$root/lib/systemd/system/alignd.service
mapfile -t environment < <(sed -n 's/^Environment=//p' "$unit")
command=$(sed -n 's/^ExecStart=//p' "$unit")
[ "$(echo 'I am hungry.' | chroot "$root" alignd translate --model /usr/share/alignd/en-fr)" = "J'ai faim." ] || fail "a wrong translation"
say "alignd translate: I am hungry. -> J'ai faim."
unshare --net sh -c 'ip link set lo up; exec "$@"' sh chroot "$root" \
    setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs env -i "${environment[@]}" $command 2>"$log" &
daemon=$!
# As slowly as the machine is: until it answers, or ends.
until grep -q 'event=ready' "$log"; do
    kill -0 "$daemon" 2>/dev/null || fail "it does not start"
    [ $SECONDS -lt 1800 ] || fail "it does not get ready"
    sleep 0.1
done
nsenter --net --target "$daemon" chroot "$root" alignd health || fail "alignd health says that it is not ready"
nsenter --net --target "$daemon" curl -sf http://127.0.0.1:8080/models >"$log.models"
for weights in weights/*/model.safetensors; do
    model=$(basename "$(dirname "$weights")")
    grep -q "\"name\":\"$model\"" "$log.models" || fail "the package does not serve $model"
    grep -qE "^Files:.* weights/$model/\*( |\$)" "$root/usr/share/doc/alignd/copyright" || fail "docker/debian/copyright.in says nothing of $model"
done
say "every model of weights/ is served, and its copyright told"
kill -TERM "$daemon"
status=0
wait "$daemon" || status=$?
daemon=
[ "$status" = 0 ] || fail "exit status $status after SIGTERM"
say "started as its unit says, ready, stopped: $(grep -o 'stopped.*' "$log")"

# ---- the library: the program in its documentation, built with what pkg-config says ----
for name in libalignd1 libalignd-dev; do cp "${deb%/*}/$name"_*.deb "$root/tmp/$name.deb"; done
quietly inside apt-get install -y -qq --no-install-recommends gcc libc6-dev pkg-config /tmp/libalignd1.deb /tmp/libalignd-dev.deb
sed -n '/^```c$/,/^```$/{//!p}' server/library/README.md >"$root/tmp/example.c"
quietly inside sh -euc 'cd /tmp && gcc -Wall -Werror example.c $(pkg-config --cflags --libs libalignd) -o example && ./example'
grep -q '"translatedText"\|"translation' "$log" && grep -q ' x .* weights' "$log" || fail "the library's example does not translate"
say "libalignd: $(grep ' x .* weights' "$log")"
dpkg-deb --contents "${deb%/*}"/libalignd-dev_*.deb >"$log"
grep -q ' ./usr/share/man/man3/libalignd.3.gz$' "$log" || fail "libalignd(3) is missing"
rm "$root"/tmp/*.deb "$root"/tmp/example*

# ---- remove, purge ----
echo '# changed by the administrator' >>"$root/etc/alignd/alignd.conf"
quietly inside apt-get remove -y -qq alignd
[ ! -e "$root/usr/bin/alignd" ] || fail "removed, but it is there"
grep -q administrator "$root/etc/alignd/alignd.conf" || fail "a changed setting was lost"
quietly inside apt-get purge -y -qq alignd libalignd1 libalignd-dev
[ -z "$(remains)" ] || fail "purged, but these are left: $(remains)"
say "removed, with the settings kept; purged, and nothing is left"
