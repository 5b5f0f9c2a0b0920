#!/bin/sh
# sh install.sh [--prefix DIR] [--uninstall]: copies alignd from here to DIR (/usr/local), or removes it from there. Where systemd runs and
# the caller is root, its units come with it; they are neither enabled nor started. Settings in /etc/alignd are kept.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=/usr/local uninstall=
while [ $# -gt 0 ]; do
    case $1 in
    --prefix) prefix=${2:?a folder is missing} && shift 2 ;;
    --uninstall) uninstall=yes && shift ;;
    --help) sed -n 's/^# //p' "$0" && exit ;;
    *) sed -n '2s/^# //p' "$0" >&2 && exit 2 ;;
    esac
done
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
units=/etc/systemd/system
systemd=
[ ! -d /run/systemd/system ] || [ "$(id -u)" != 0 ] || systemd=yes

if [ "$uninstall" ]; then
    [ ! "$systemd" ] || systemctl disable --now alignd.socket alignd.service 2>/dev/null || true
    [ ! "$systemd" ] || rm -f "$units/alignd.socket" "$units/alignd.service"
    (cd "$here/share/man" && find . -type f) | while read -r page; do rm -f "$prefix/share/man/$page"; done
    rm -rf "$prefix/bin/alignd" "$prefix/lib/alignd" "$prefix/share/alignd" "$prefix/share/doc/alignd"
    echo "removed from $prefix; /etc/alignd and downloaded models are kept"
    exit
fi

mkdir -p "$prefix/bin" "$prefix/lib"
rm -rf "$prefix/lib/alignd" # an older version's libraries
cp -r "$here/lib/alignd" "$prefix/lib/"
cp -r "$here/share" "$prefix/"
cp "$here/bin/alignd" "$prefix/bin/alignd.new"
mv -f "$prefix/bin/alignd.new" "$prefix/bin/alignd" # it may be running
if [ "$systemd" ]; then
    mkdir -p /etc/alignd
    [ -e /etc/alignd/alignd.conf ] || cp "$here/etc/alignd.conf" /etc/alignd/
    for unit in alignd.socket alignd.service; do
        sed "s|/usr/bin/alignd|$prefix/bin/alignd|; s|/usr/share/alignd|$prefix/share/alignd|g" "$here/lib/$unit" >"$units/$unit"
    done
    systemctl daemon-reload
    echo "systemctl enable --now alignd.socket alignd.service starts it"
fi
echo "installed: $prefix/bin/alignd"
