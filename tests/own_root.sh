#!/bin/sh
# sh tests/own_root.sh COMMAND...: runs it where the root is a mount point, which buildah and unshare need and the root of a plain
# chroot is not: there, in a mount namespace of its own, on the same files. As root; needs unshare of util-linux.
set -eu
! awk '$5 == "/" { found = 1 } END { exit !found }' /proc/self/mountinfo || exec "$@"
exec unshare --mount --propagation unchanged sh -euc '
    trap "umount --lazy --recursive /mnt" EXIT
    mount --rbind / /mnt
    mount --make-rprivate /mnt
    chroot /mnt sh -euc "cd \"\$1\"; shift; exec \"\$@\"" sh "$@"' sh "$PWD" "$@"
