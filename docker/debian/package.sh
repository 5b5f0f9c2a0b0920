#!/bin/sh
# package.sh BUILD VERSION JOBS PACKAGES MODEL...: BUILD/deb/alignd_VERSION_*.deb. The sources are copied, with docker/debian where
# dpkg-buildpackage wants it, and built there. PACKAGES: what they are built with, separated by spaces.
set -eu
build=$1 version=$2 jobs=$3 packages=$4
shift 4
tree=$build/deb/alignd-$version
maintainer=$(sed -n 's/^Maintainer: //p' docker/debian/control.in)

rm -rf "$build/deb"
mkdir -p "$tree/weights"
cp -r Makefile LICENSE README.md model server docker "$tree"
cp -r weights/config.def "$@" "$tree/weights"
cp -r docker/debian "$tree/debian"
cp docker/systemd/alignd.service docker/systemd/alignd.socket "$tree/debian"
rm "$tree"/debian/*.in

printf 'alignd (%s) bookworm; urgency=medium\n\n  * CHANGELOG.md says what is new.\n\n -- %s  %s\n' "$version" "$maintainer" "$(date -R)" \
    >"$tree/debian/changelog"
sed "s/@PACKAGES@/$(echo "$packages" | sed 's/ /, /g')/" docker/debian/control.in >"$tree/debian/control"
{
    cat docker/debian/copyright.in
    sed -e '1,4d' -e 's/^$/./' -e 's/^/ /' LICENSE
} >"$tree/debian/copyright"

cd "$tree"
BUILD=build MAKEFLAGS='' DEB_BUILD_OPTIONS=parallel=$jobs dpkg-buildpackage -b -us -uc
