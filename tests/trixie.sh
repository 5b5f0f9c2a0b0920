#!/bin/sh
# trixie.sh JOBS PACKAGE...: in a container of Debian 13 with these packages, gcc builds alignd and its unit tests without warnings
# and runs them, and clang reads every source without a warning. Needs root and buildah.
set -eu
jobs=$1
shift
export BUILDAH_ISOLATION=chroot
base=$(SUITE=trixie sh tests/base_image.sh)
container=$(buildah from --pull=false "$base")
log=$(mktemp)
trap 'buildah rm "$container" >/dev/null; rm -f "$log"' EXIT

inside() { buildah run --volume "$PWD:/project:ro" --workingdir /project "$container" -- env DEBIAN_FRONTEND=noninteractive "$@"; }
quietly() { "$@" >"$log" 2>&1 || { tail -30 "$log" >&2; exit 1; }; }

quietly inside apt-get update -qq
quietly inside apt-get install -y -qq --no-install-recommends "$@"
quietly inside make -j"$jobs" WERROR=1 BUILD=/tmp/gcc /tmp/gcc/alignd /tmp/gcc/tests/run
inside gcc --version | head -1
# Not inside: the tests need sockets as the host has them, without buildah's filter of system calls.
unshare --mount sh -euc 'mount --bind "$PWD" "$1/mnt" && mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev"
    exec chroot "$1" sh -c "cd /mnt && CK_DEFAULT_TIMEOUT=60 exec /tmp/gcc/tests/run"' sh "$(buildah mount "$container")"
# Nearly all of clang's warnings come before it generates code.
quietly inside make -j"$jobs" WERROR=1 BUILD=/tmp/clang CC=clang CXX=clang++ CFLAGS=-fsyntax-only CXXFLAGS=-fsyntax-only objects
inside clang --version | head -1
echo 'no warnings'
