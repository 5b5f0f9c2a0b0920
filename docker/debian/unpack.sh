#!/bin/sh
# unpack.sh PACKAGE FOLDER FILE...: these files of a Debian package, which is not installed, into FOLDER: prometheus would start a server,
# kubernetes-client would hide another kubectl, and php-symfony-translation would bring PHP along. FILE: usr/bin/promtool, or a pattern.
set -eu
package=$1 folder=$2
shift 2
mkdir -p "$folder"
cd "$folder"
rm -f "$package"_*.deb
if ! apt-get -q download "$package" 2>/dev/null; then
    sudo=''
    [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo apt-get update -qq
    apt-get -q download "$package"
fi
for file in "$@"; do
    dpkg --fsys-tarfile "$package"_*.deb | tar -x --transform='s,.*/,,' --wildcards "./$file"
done
