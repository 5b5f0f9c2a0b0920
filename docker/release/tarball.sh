#!/bin/sh
# sh docker/release/tarball.sh DEB LIBRARIES: what is in the package DEB, with the libraries that it needs beyond the C library, as
# alignd-VERSION-linux-CPU.tar.gz beside DEB. It runs from any folder of any Linux with glibc 2.36 or later; its install.sh copies it. The
# licences of the libraries are in share/doc/alignd/libraries.
# LIBRARIES: the root of a system of DEB's architecture that has the libraries ("/": this one). SOURCE_DATE_EPOCH: the time of all that is
# in it, in seconds. The same package and libraries give the same bytes.
set -eu
deb=$1 libraries=${2%/}
version=$(dpkg-deb --field "$deb" Version)
case $(dpkg-deb --field "$deb" Architecture) in
amd64) cpu=x86_64 ;;
arm64) cpu=aarch64 ;;
esac
name=alignd-$version-linux-$cpu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

dpkg-deb -x "$deb" "$work/package"
tree=$work/$name
mkdir -p "$tree/bin" "$tree/lib/alignd" "$tree/etc"
cp "$work/package/usr/bin/alignd" "$tree/bin/"
cp -r "$work/package/usr/share" "$tree/"
cp "$work/package/etc/alignd/alignd.conf" "$tree/etc/"
cp "$work"/package/lib/systemd/system/alignd.* "$tree/lib/"
cp LICENSE docker/release/install.sh "$tree/"

# needs FILE: the names of the libraries that it is linked to, but for those of the C library, which must be the system's
needs() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | grep -vE '^(ld-linux|libc\.so|libm\.so|libpthread\.|libdl\.|librt\.|libresolv\.)' || true; }
add() {
    for library in $(needs "$1"); do
        [ ! -e "$tree/lib/alignd/$library" ] || continue
        found=
        for folder in "$libraries"/usr/lib/$cpu-linux-gnu "$libraries"/lib/$cpu-linux-gnu; do
            [ -e "$folder/$library" ] && found=$folder/$library && break
        done
        [ "$found" ] || { echo "tarball.sh: $library is not in $libraries" >&2; exit 1; }
        cp -L "$found" "$tree/lib/alignd/$library"
        chmod 644 "$tree/lib/alignd/$library"
        package=$(dpkg-query --admindir="$libraries/var/lib/dpkg" -S "*/$library" | sed -n '1s/[:,].*//p')
        mkdir -p "$tree/share/doc/alignd/libraries"
        cp -L "$libraries/usr/share/doc/$package/copyright" "$tree/share/doc/alignd/libraries/$package"
        add "$tree/lib/alignd/$library"
    done
}
add "$tree/bin/alignd"
# an RPATH, unlike a RUNPATH, counts for what the libraries need, too
patchelf --force-rpath --set-rpath '$ORIGIN/../lib/alignd' "$tree/bin/alignd"

tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$work" -c "$name" | gzip -9n >"${deb%/*}/$name.tar.gz"
echo "${deb%/*}/$name.tar.gz"
