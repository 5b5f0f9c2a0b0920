#!/bin/sh
# sh tests/reproducible.sh FOLDER: this machine's packages in FOLDER, built once more, later, in another folder, by someone with another
# umask, language and time zone, have the same bytes.
set -eu
folder=$1
again=$(mktemp -d)
trap 'rm -rf "$again"' EXIT
(
    umask 077
    LC_ALL=C.UTF-8 TZ=Asia/Tokyo make --no-print-directory deb BUILD="$again" >"$again.log" 2>&1
) || { tail -30 "$again.log" >&2; exit 1; }
rm "$again.log"
for package in "$folder"/*_"$(dpkg --print-architecture)".deb; do
    cmp "$package" "$again/deb/${package##*/}"
    echo "${package##*/}: the same bytes when built again elsewhere"
done
