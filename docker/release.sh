#!/bin/sh
# sh docker/release.sh: makes a release, up to its upload; --help says how.
set -eu
cd "$(dirname "$0")/.."

usage() {
    cat <<'END'
sh docker/release.sh [--output DIR] [--arch LIST]

Makes what a release consists of, from the commit that is checked out, and uploads nothing. The commit must have the tag vVERSION, VERSION
being the Makefile's; CHANGELOG.md must have a section [VERSION] with a date; no file may be changed.

  --output DIR   where it goes, from the root of the sources; must not exist yet (default: release/VERSION)
  --arch LIST    Debian's names of the architectures (default: "amd64 arm64")

In DIR, for each ARCH:
  alignd_VERSION_ARCH.deb           the package; the same commit gives the same bytes
  libalignd1_..., libalignd-dev_... the engine as a library, and what programs are built with
  alignd-VERSION-linux-CPU.tar.gz   the package with its libraries, for any Linux with glibc 2.36 or later
  alignd-VERSION-ARCH.oci.tar       the image, an OCI archive for podman load, skopeo copy, buildah pull
  alignd-VERSION-ARCH.spdx.json     what is in the image: packages, models, licences (SPDX 2.3); it is in the image, too
and RELEASE_NOTES.md, the changelog's section, BASE_IMAGES, the digests of the images that these are built on, and SHA256SUMS.

Needs root and Debian 12; installs what is missing. Programs of other architectures than the machine's are cross-compiled; their images are
assembled by QEMU.
END
}

fail() {
    echo "release.sh: $*" >&2
    exit 1
}
say() { echo "== $*"; }

version=$(sed -n 's/^VERSION := //p' Makefile)
output=release/$version arches='amd64 arm64'
while [ $# -gt 0 ]; do
    case $1 in
    --help) usage && exit ;;
    --output) output=${2:?a folder is missing} && shift 2 ;;
    --arch) arches=${2:?architectures are missing} && shift 2 ;;
    *) usage >&2 && exit 2 ;;
    esac
done

# ---- is it one? ----
[ -z "$(git status --porcelain)" ] || fail "there are changed files: git status"
[ "$(git rev-parse "v$version^{commit}" 2>/dev/null)" = "$(git rev-parse HEAD)" ] || fail "the commit that is checked out has not the tag v$version"
# section: of CHANGELOG.md what is between this version's heading and the next
section() { awk -v heading="## [$version] - " 'index($0, "## ") == 1 { inside = index($0, heading) == 1; next } inside' CHANGELOG.md | sed -e '/./,$!d'; }
[ -n "$(section)" ] || fail "CHANGELOG.md has no section [$version] with a date"
[ ! -e "$output" ] || fail "$output already exists"
[ "$(id -u)" = 0 ] || fail "images are built by root"
sh docker/debian/install_missing.sh git make buildah debootstrap qemu-user-static

own=$(dpkg --print-architecture)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH BUILDAH_ISOLATION=chroot
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/source" "$work/release"
git archive HEAD | tar -x -C "$work/source"

# ---- packages: that of this machine first, whose program tells the others' man page what --help says ----
build_package() {
    target=
    [ "$1" = "$own" ] || target="ARCH=$1 MAN_OF=$work/source/build/deb/alignd-$version/build/alignd"
    say "package for $1"
    # shellcheck disable=SC2086
    make --no-print-directory -C "$work/source" tarball $target >"$work/log" 2>&1 || { tail -30 "$work/log" >&2; fail "the package for $1 cannot be built"; }
}
keep_packages() {
    for name in alignd libalignd1 libalignd-dev; do cp "$work/source/build${2:-}/deb/${name}_${version}_$1.deb" "$work/release/"; done
    cp "$work/source/build${2:-}"/deb/alignd-*.tar.gz "$work/release/"
}

build_package "$own"
for arch in $arches; do
    [ "$arch" = "$own" ] || build_package "$arch"
    keep_packages "$arch" "$([ "$arch" = "$own" ] || echo "/$arch")"
done

# ---- images, of what CI builds them of, too ----
# pinned IMAGE:TAG: the image that has this tag now, by its digest: what the tag means may change between one image and the next
pinned() {
    digest=$(buildah inspect --type image --format '{{.FromImageDigest}}' "$1")
    case $digest in
    sha256:*) echo "${1%:*}@$digest" ;;
    *) fail "$1 has no digest" ;;
    esac
}

build_image() {
    say "image for $1"
    image=localhost/alignd:$version-$1
    builder=$(pinned "$(sh tests/base_image.sh)")
    base=$(pinned "$(sh docker/release/emulated.sh "$1" sh tests/base_image.sh "$1")")
    echo "$1 $base" >>"$work/bases"
    sh docker/release/emulated.sh "$1" buildah bud -q --no-cache --pull=false --timestamp "$SOURCE_DATE_EPOCH" --build-arg BUILDER="$builder" --build-arg BASE="$base" \
        --build-arg ARCH="$1" --build-arg SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" --build-arg VERSION="$version" --build-arg REVISION="$(git rev-parse HEAD)" \
        --label org.opencontainers.image.base.name="${base%@*}" --label org.opencontainers.image.base.digest="${base#*@}" \
        -t "$image" "$work/source" >"$work/log" 2>&1 || { tail -30 "$work/log" >&2; fail "the image for $1 cannot be built"; }
    buildah push -q "$image" "oci-archive:$work/release/alignd-$version-$1.oci.tar:alignd:$version"
    container=$(buildah from --pull=false "$image")
    cp "$(buildah mount "$container")/usr/share/doc/alignd/sbom.spdx.json" "$work/release/alignd-$version-$1.spdx.json"
    buildah rm "$container" >/dev/null
    buildah rmi "$image" >/dev/null
}
for arch in $arches; do
    build_image "$arch"
done

# ---- what is said of it ----
section >"$work/release/RELEASE_NOTES.md"
mv "$work/bases" "$work/release/BASE_IMAGES"
(cd "$work/release" && sha256sum -- *.deb *.tar.gz *.oci.tar *.spdx.json RELEASE_NOTES.md BASE_IMAGES >SHA256SUMS)
chmod 644 "$work"/release/*
mkdir -p "$(dirname "$output")"
cp -r "$work/release" "$output"
say "in $output:"
(cd "$output" && ls -l | awk 'NR > 1 { printf "  %11d  %s\n", $5, $9 }')
