#!/bin/sh
# sh tests/base_image.sh [fresh] [ARCH]: sees to it that buildah has Debian's slim image of the machine's architecture, or of ARCH, and
# prints its name: pulls it, or, where no registry can be reached, makes it of Debian's packages with debootstrap, from the mirror that apt
# uses here. fresh: anew, whatever there is. Fails where neither works. Another architecture's programs must run here
# (docker/release/emulated.sh). SUITE=trixie: Debian 13.
set -eu
fresh='' suite=${SUITE:-bookworm}
[ "${1:-}" != fresh ] || { fresh=yes && shift; }
arch=${1:-$(dpkg --print-architecture)}
case $arch in
"$(dpkg --print-architecture)") repository=library ;;
arm64) repository=arm64v8 ;;
*) repository=$arch ;;
esac
image=docker.io/$repository/debian:$suite-slim

make_image() {
    command -v debootstrap >/dev/null || { echo "no registry to pull $image from, and no debootstrap to make it with" >&2; exit 1; }
    echo "making $image with debootstrap: no registry can be reached" >&2
    root=$(mktemp -d)
    trap 'rm -rf "$root" "$root.log"' EXIT
    mirrors=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | sort -u)
    mirror=$(echo "$mirrors" | awk '$2 == "bookworm" || $2 == "trixie" { print $1; exit }') # which has either
    mirrors=$(echo "$mirrors" | grep " $suite[-a-z]* main$" || echo "$mirror $suite main")
    debootstrap --arch="$arch" --variant=minbase "$suite" "$root" "$mirror" >"$root.log" 2>&1 ||
        { tail -5 "$root.log" >&2; exit 1; }
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
    echo "$mirrors" | sed 's/^/deb /' >"$root/etc/apt/sources.list"
    container=$(buildah from scratch)
    buildah add -q "$container" "$root" / >/dev/null
    buildah config --cmd bash --arch "$arch" "$container"
    buildah commit -q --rm "$container" "$image" >/dev/null
}

[ -z "$fresh" ] || buildah rmi --force "$image" >/dev/null 2>&1 || true
if ! buildah inspect --type image "$image" >/dev/null 2>&1 && ! buildah pull -q "$image" >/dev/null 2>&1; then
    make_image
fi
echo "$image"
