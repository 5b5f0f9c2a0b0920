#!/bin/sh
# Prints the packages of the image with the versions that they must have on this Debian. What follows the versions may change, which is where
# Debian's security fixes are.
set -eu
. /etc/os-release
case $VERSION_CODENAME in
bookworm)
    blas='libopenblas0-serial=0.3.21+ds-*'
    echo 'libmicrohttpd12=0.9.75-*' 'libgnutls30=3.7.9-*' 'libnettle8=3.8.1-*' 'libsystemd0=252.*' 'libjansson4=2.14-*' 'libsentencepiece0=0.1.97-*' 'libicu72=72.1-*' \
        'libxml2=2.9.14+dfsg-*' 'libcld2-0=0.0.0-git20150806-*' 'libcmark-gfm0.29.0.gfm.6=0.29.0.gfm.6-*' \
        'libcmark-gfm-extensions0.29.0.gfm.6=0.29.0.gfm.6-*' 'libre2-9=20220601+dfsg-*' 'libarchive13=3.6.2-*' 'libyaml-0-2=0.2.5-*' 'libcurl4=7.88.1-*'
    ;;
trixie)
    blas='libopenblas0-serial=0.3.29+ds-*'
    echo 'libmicrohttpd12t64=1.0.1-*' 'libgnutls30t64=3.8.9-*' 'libnettle8t64=3.10.1-*' 'libsystemd0=257.*' 'libjansson4=2.14-*' 'libsentencepiece0=0.2.0-*' 'libicu76=76.1-*' \
        'libxml2=2.12.7+dfsg+really2.9.14-*' 'libcld2-0=0.0.0-git20150806-*' 'libcmark-gfm0.29.0.gfm.13=0.29.0.gfm.13-*' \
        'libcmark-gfm-extensions0.29.0.gfm.13=0.29.0.gfm.13-*' 'libre2-11=20240702-*' 'libarchive13t64=3.7.4-*' 'libyaml-0-2=0.2.5-*' \
        'libcurl4t64=8.14.1-*'
    ;;
*)
    echo "docker/versions.sh: the base must be Debian 12 or 13, not $PRETTY_NAME" >&2
    exit 1
    ;;
esac
[ "$(dpkg --print-architecture)" = amd64 ] || echo "$blas"
