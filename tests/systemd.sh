#!/bin/sh
# systemd.sh BUILD: the unit and the socket are installed, are valid, their exposure by `systemd-analyze security` is below 2.0, and alignd serves
# under what the unit asks for, as far as that goes where the first process is not systemd: socket handed over, no network, nothing
# writable, nobody's rights, the unit's system call rules (tests/sandbox.py). Needs root, systemd, python3-seccomp, curl.
set -eu
build=$1
folder=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true; rm -r "$folder"' EXIT
chmod 755 "$folder" # nobody has to read it

mkdir "$folder/units"
cp docker/systemd/alignd.socket "$folder/units/"
sed "s|^ExecStart=/usr/bin/alignd|ExecStart=$(realpath "$build")/alignd|" docker/systemd/alignd.service > "$folder/units/alignd.service"
make --no-print-directory install-units DESTDIR="$folder/installed" PREFIX=/opt/alignd >/dev/null
for unit in alignd.service alignd.socket; do
    [ -s "$folder/installed/opt/alignd/lib/systemd/system/$unit" ] || { echo "make install-units leaves $unit out" >&2; exit 1; }
done
grep -q '^ExecStart=/opt/alignd/bin/alignd' "$folder/installed/opt/alignd/lib/systemd/system/alignd.service" || { echo 'the installed unit starts another alignd' >&2; exit 1; }
systemd-analyze verify "$folder/units/alignd.service" "$folder/units/alignd.socket"
if ! systemd-analyze security --offline=true --threshold=19 docker/systemd/alignd.service > "$folder/exposure"; then
    cat "$folder/exposure" >&2
    exit 1
fi
tail -n 1 "$folder/exposure"

cp -rL "$build/alignd" tests/golden/luong-general-gru tests/sandbox.py docker/systemd/alignd.service "$folder/"
cat > "$folder/confine" <<'EOF'
mount --make-rprivate /
while read -r _ mount _; do mount -o remount,bind,ro "$mount" 2>/dev/null || true; done < /proc/self/mounts
if touch writable 2>/dev/null; then echo 'the folder is writable' >&2; exit 1; fi
exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \
    /usr/bin/python3 sandbox.py alignd.service ./alignd --model luong-general-gru
EOF
( cd "$folder" && exec systemd-socket-activate -l "$folder/socket" unshare --mount --net --ipc sh ./confine ) 2>"$folder/log" &
daemon=$!

# The first connection starts the daemon.
ask() {
    curl -sS --max-time 60 --unix-socket "$folder/socket" "http://localhost$1" -d '{"text": "A boy plays."}'
}
tries=0
until ask /translate 2>/dev/null | grep -q '"translations"'; do
    tries=$((tries + 1))
    { [ $tries -lt 1500 ] && kill -0 $daemon; } || { cat "$folder/log" >&2; exit 1; }
    sleep 0.2
done
kill -HUP $daemon
kill -TERM $daemon
status=0
wait $daemon || status=$?
daemon=
cat "$folder/log"
grep -q 'event=stopped clean=true' "$folder/log"
exit $status
