#!/bin/sh
# package.sh BUILD VERSION JOBS PACKAGES MODEL...: BUILD/deb/alignd_VERSION_ARCH.deb. The sources are copied, with docker/debian where
# dpkg-buildpackage wants it, and built there. PACKAGES: what they are built with, separated by spaces. In the environment:
# SOURCE_DATE_EPOCH, the time of all that is in the package, in seconds; ARCH; of another architecture than the machine's SYSROOT and
# MAN_OF, as the Makefile has them. The same sources give the same bytes.
set -eu
build=$1 version=$2 jobs=$3 packages=$4
shift 4
tree=$build/deb/alignd-$version
maintainer=$(sed -n 's/^Maintainer: //p' docker/debian/control.in)
date=$(LC_ALL=C date --utc --date="@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %T +0000')
umask 022

rm -rf "$build/deb"
mkdir -p "$tree/weights"
cp -r Makefile LICENSE README.md model server docker "$tree"
cp -r weights/config.def "$@" "$tree/weights"
cp -r docker/debian "$tree/debian"
cp docker/systemd/alignd.service docker/systemd/alignd.socket "$tree/debian"
rm "$tree"/debian/*.in

printf 'alignd (%s) bookworm; urgency=medium\n\n  * CHANGELOG.md says what is new.\n\n -- %s  %s\n' "$version" "$maintainer" "$date" >"$tree/debian/changelog"
sed "s/@PACKAGES@/$(echo "$packages" | sed 's/ /, /g')/" docker/debian/control.in >"$tree/debian/control"
{
    cat docker/debian/copyright.in
    sed -e '1,4d' -e 's/^$/./' -e 's/^/ /' LICENSE
} >"$tree/debian/copyright"

# What it is built with was installed by `make deps`, not always as packages that dpkg knows: -d.
cd "$tree"
export SYSROOT="${SYSROOT:-}" MAN_OF="${MAN_OF:-}" ARCH
# xz on several cores at once gives other bytes than on one
DPKG_DEB_THREADS_MAX=1 BUILD=build MAKEFLAGS='' DEB_BUILD_OPTIONS=parallel=$jobs dpkg-buildpackage --host-arch "$ARCH" -b -us -uc ${SYSROOT:+-d}
