#!/bin/sh
# sh tests/base_image.sh [fresh]: sees to it that buildah has debian:bookworm-slim: pulls it, or, where no registry can be reached, makes
# it of Debian's packages with debootstrap, from the mirror that apt uses here. fresh: anew, whatever there is. Fails where neither works.
set -eu
image=docker.io/library/debian:bookworm-slim

[ "${1:-}" != fresh ] || buildah rmi --force $image >/dev/null 2>&1 || true
buildah inspect --type image $image >/dev/null 2>&1 && exit
buildah pull -q $image >/dev/null 2>&1 && exit
command -v debootstrap >/dev/null || { echo "no registry to pull $image from, and no debootstrap to make it with" >&2; exit 1; }
echo "making $image with debootstrap: no registry can be reached"

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mirrors=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' | grep ' bookworm[-a-z]* main$' | sort -u)
debootstrap --variant=minbase bookworm "$root" "$(echo "$mirrors" | awk '$2 == "bookworm" { print $1; exit }')" >"$root.log" 2>&1 ||
    { tail -5 "$root.log" >&2; exit 1; }
rm -rf "$root.log" "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
echo "$mirrors" | sed 's/^/deb /' >"$root/etc/apt/sources.list"
container=$(buildah from scratch)
buildah add -q "$container" "$root" / >/dev/null
buildah config --cmd bash "$container"
buildah commit -q --rm "$container" $image >/dev/null
