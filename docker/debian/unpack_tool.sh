#!/bin/sh
# unpack_tool.sh PACKAGE PROGRAM FOLDER: FOLDER/PROGRAM from a Debian package that is not installed: prometheus would start a server, and
# kubernetes-client would hide another kubectl.
set -eu
package=$1 program=$2 folder=$3
mkdir -p "$folder"
cd "$folder"
rm -f "$package"_*.deb
if ! apt-get -q download "$package" 2>/dev/null; then
    sudo=''
    [ "$(id -u)" = 0 ] || sudo=sudo
    $sudo apt-get update -qq
    apt-get -q download "$package"
fi
dpkg --fsys-tarfile "$package"_*.deb | tar -x --strip-components=3 "./usr/bin/$program"
