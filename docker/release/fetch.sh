#!/bin/sh
# sh docker/release/fetch.sh ARCH FOLDER PACKAGE...: makes FOLDER the root (--sysroot) that programs for ARCH, another Debian architecture
# than this machine's, are linked against: the packages with all that they depend on, from the mirrors that apt uses here. Nothing is
# installed, and the architectures that this machine's dpkg knows stay as they are; root's rights are not needed. FOLDER/var/lib/dpkg is
# a database for dpkg-shlibdeps (DPKG_ADMINDIR): what package a file of FOLDER is of, and what it asks of those that use it. Does nothing
# where FOLDER has the packages already.
set -eu
arch=$1 folder=$(realpath -m "$2")
shift 2

has_all() {
    for package in "$@"; do
        grep -qsx "$package" "$folder/packages" || return 1
    done
}
! has_all "$@" || exit 0

work=$folder.new
rm -rf "$work"
mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial"
: >"$work/apt/status"
cat >"$work/apt/apt.conf" <<END
Dir::State "$work/apt";
Dir::State::status "$work/apt/status";
Dir::Cache "$work/apt";
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Install-Recommends "0";
APT::Sandbox::User "";
END
APT_CONFIG=$work/apt/apt.conf apt-get update -qq
APT_CONFIG=$work/apt/apt.conf apt-get install -qq --download-only "$@" >/dev/null

# As dpkg would have it, but that the paths begin with FOLDER.
enter() {
    name=$(dpkg-deb --field "$1" Package)
    [ "$(dpkg-deb --field "$1" Multi-Arch)" != same ] || name=$name:$arch
    dpkg-deb --fsys-tarfile "$1" | tar --list | sed "s|^\.|$folder|; s|/\$||" >"$info/$name.list"
    dpkg-deb --control "$1" "$work/apt/control"
    for kind in symbols shlibs; do
        [ ! -e "$work/apt/control/$kind" ] || mv "$work/apt/control/$kind" "$info/$name.$kind"
    done
    rm -r "$work/apt/control"
    dpkg-deb --field "$1" | sed '1a Status: install ok installed'
    echo
}

info=$work/var/lib/dpkg/info
mkdir -p "$info"
echo 1 >"$info/format"
for package in "$work"/apt/archives/*.deb; do
    dpkg-deb --extract "$package" "$work"
    enter "$package"
done >"$work/var/lib/dpkg/status"

# A link that begins at the root leads there, which is not FOLDER: the linker would take the static library instead.
find "$work" -type l -lname '/*' | while read -r link; do
    ln -sfr "$work$(readlink "$link")" "$link"
done

# as update-alternatives would have it
for file in "$work"/usr/lib/*/openblas-pthread/libopenblas.so*; do
    [ ! -e "$file" ] || ln -s "openblas-pthread/${file##*/}" "${file%/*/*}/"
done
for file in "$work"/usr/include/*/openblas-pthread/*.h; do
    [ ! -e "$file" ] || ln -s "openblas-pthread/${file##*/}" "${file%/*/*}/"
done

rm -r "$work/apt"
printf '%s\n' "$@" >"$work/packages"
rm -rf "$folder"
mv "$work" "$folder"
