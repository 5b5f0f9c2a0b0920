#!/bin/sh
# sh docker/release/emulated.sh ARCH COMMAND...: runs the command where programs for ARCH, Debian's name of an architecture, can be
# started, in chroots, too: as they are, or, where the kernel refuses them, by QEMU, registered as Debian's qemu-user-static says and for
# as long as the command runs. The latter needs root and qemu-user-static.
set -eu
arch=$1
shift
binfmt=/proc/sys/fs/binfmt_misc
case $arch in
amd64) cpu=x86_64 ;;
arm64) cpu=aarch64 ;;
*) cpu=$arch ;;
esac

[ "$(dpkg --print-architecture)" != "$arch" ] || exec "$@"
mounted=''
[ -e $binfmt/register ] || { mount -t binfmt_misc binfmt_misc $binfmt && mounted=yes; }
leave() {
    [ -z "$registered" ] || echo -1 >"$binfmt/$registered"
    [ -z "$mounted" ] || umount $binfmt
}
registered=''
trap leave EXIT
if [ ! -e "$binfmt/qemu-$cpu" ]; then
    cat "/usr/lib/binfmt.d/qemu-$cpu.conf" >$binfmt/register
    registered=qemu-$cpu
fi
"$@"
