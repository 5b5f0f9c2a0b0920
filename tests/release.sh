#!/bin/sh
# sh tests/release.sh: docker/release.sh in a clone of what is committed: what it refuses, and what it makes: packages that differ in nothing
# but their architecture and in nothing when they are built again, images whose alignd translates, by QEMU where it is another machine's, lists that name all that is in them, sums
# that are right. Needs root, and some minutes: everything is built for two architectures.
set -eu
work=$(mktemp -d)
container=
trap '[ -z "$container" ] || buildah rm "$container" >/dev/null; rm -rf "$work"' EXIT
export BUILDAH_ISOLATION=chroot
version=$(sed -n 's/^VERSION := //p' Makefile)
git clone -q . "$work/clone"
here=$PWD
cd "$work/clone"

fail() {
    echo "FAILED: $*" >&2
    exit 1
}
refuses() { # WHAT IT SAYS: nothing is made
    ! sh docker/release.sh >"$work/said" 2>&1 || fail "it was to refuse: $1"
    grep -q "$1" "$work/said" || fail "it was to say: $1, and said: $(cat "$work/said")"
    [ ! -e release ] || fail "refused, but there is release/"
}

sh docker/release.sh --help | grep -q -- --output || fail "--help"
git tag -d "v$version" >/dev/null 2>&1 || true
refuses "has not the tag"
git tag "v$version"
echo >>LICENSE
refuses "there are changed files"
git checkout -q LICENSE
echo "  refused: without the tag, with a changed file"

sh docker/release.sh
cd "release/$version"
sha256sum --quiet --check SHA256SUMS || fail "SHA256SUMS"
[ "$(wc -l <SHA256SUMS)" = "$(($(find . -type f | wc -l) - 1))" ] || fail "SHA256SUMS does not name every file"
grep -q '^### ' RELEASE_NOTES.md || fail "no release notes"
! grep -q '^## ' RELEASE_NOTES.md || fail "release notes of more than one version"

(cd "$work/clone" && sh tests/reproducible.sh "release/$version") || fail "built again, a package has other bytes"

# but for the architecture in the paths and names
describe() { { dpkg-deb --contents "$1" | awk '{ print $1, $6 }'; dpkg-deb --field "$1" Version Depends | tr ',' '\n'; } | sed 's/aarch64-linux-gnu\|x86_64-linux-gnu/TRIPLE/' | grep -v '/\.build-id/\|libc6'; }
describe "alignd_${version}_amd64.deb" >"$work/amd64"
describe "alignd_${version}_arm64.deb" >"$work/arm64"
diff "$work/amd64" "$work/arm64" || fail "the packages differ"
for arch in amd64 arm64; do
    [ "$(dpkg-deb --field "alignd_${version}_$arch.deb" Architecture)" = $arch ] || fail "not the package for $arch"
    image=$(buildah pull -q "oci-archive:alignd-$version-$arch.oci.tar")
    [ "$(buildah inspect --type image --format '{{.OCIv1.Architecture}}' "$image")" = $arch ] || fail "not the image for $arch"
    base=$(sed -n "s/^$arch //p" BASE_IMAGES)
    echo "$base" | grep -qE '^[a-z0-9./]+@sha256:[0-9a-f]{64}$' || fail "the base image for $arch is not pinned: $base"
    [ "$(buildah inspect --type image --format '{{index .OCIv1.Config.Labels "org.opencontainers.image.base.digest"}}' "$image")" = "${base#*@}" ] || fail "the label of the base image for $arch"
    container=$(buildah from --pull=false "$image")
    root=$(buildah mount "$container")
    cmp "$root/usr/share/doc/alignd/sbom.spdx.json" "alignd-$version-$arch.spdx.json"
    said=$(python3 "$here/tests/check_sbom.py" "alignd-$version-$arch.spdx.json" "$root") || fail "$said"
    grep -qF "\"name\": \"alignd-$version-image-$arch\"" "alignd-$version-$arch.spdx.json" || fail "the list of another image"
    echo "  $arch: $said"
    french=$(echo 'I am hungry.' | sh "$here/docker/release/emulated.sh" $arch chroot "$root" alignd translate --model /usr/share/alignd/en-fr)
    [ "$french" = "J'ai faim." ] || fail "the image for $arch translates wrongly: $french"
    echo "  $arch: $french"
    buildah rm "$container" >/dev/null
    container=
    buildah rmi "$image" >/dev/null
done
[ -z "$(git -C "$work/clone" status --porcelain)" ] || fail "the clone has changed"
echo "a release of $version for amd64 and arm64"
