#!/bin/sh
# sh tests/arm64.sh FOLDER PACKAGE...
# alignd for arm64: built with Debian's cross compiler against arm64's libraries, its unit tests run by QEMU, a request answered by the daemon.
# The packages are those that hold the libraries; they are unpacked in FOLDER, not installed.
set -eu

folder=$(realpath -m "$1")
shift
root=$folder/root
build=$folder/build
triple=aarch64-linux-gnu

# Downloads the packages with all that they depend on, and unpacks them.
unpack() {
    export APT_CONFIG="$folder/apt/apt.conf"
    mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial"
    : >"$folder/apt/status"
    cat >"$APT_CONFIG" <<END
Dir::State "$folder/apt";
Dir::State::status "$folder/apt/status";
Dir::Cache "$folder/apt";
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "0";
END
    rm -rf "$root.new"
    apt-get update -qq
    apt-get install -qq --download-only "$@" >/dev/null
    for package in "$folder"/apt/archives/*.deb; do
        dpkg-deb --extract "$package" "$root.new"
    done
    # as update-alternatives would have it
    ln -s openblas-pthread/libopenblas.so openblas-pthread/libopenblas.so.0 "$root.new/usr/lib/$triple/"
    ln -s openblas-pthread/cblas.h openblas-pthread/openblas_config.h "$root.new/usr/include/$triple/"
    mv "$root.new" "$root"
    unset APT_CONFIG
}

serve() {
    rm -f "$folder/socket"
    qemu-aarch64-static -L "$root" "$build/alignd" --model weights/en-fr --listen "unix:$folder/socket" --log-level warn &
    daemon=$!
    trap 'kill $daemon 2>/dev/null || true' EXIT
    curl -s --retry 60 --retry-delay 1 --retry-all-errors --unix-socket "$folder/socket" -o /dev/null -f http://localhost/ready
    curl -sSf --unix-socket "$folder/socket" http://localhost/translate -H 'Content-Type: application/json' -d '{"text": "The man is here."}' |
        grep -F '"text":"L'"'"'homme est ici."'
    kill $daemon
    wait $daemon
    trap - EXIT
}

[ -d "$root" ] || unpack "$@"
make --no-print-directory -j"$(nproc)" BUILD="$build" CC="$triple-gcc --sysroot=$root" CXX="$triple-g++ --sysroot=$root" \
    CFLAGS="-isystem $root/usr/include/libxml2" WERROR=1 SLOW=1 "$build/alignd" "$build/tests/run"
qemu-aarch64-static -L "$root" "$build/tests/run"
serve
echo "arm64: alignd builds, its unit tests pass, a request is answered, and it stops cleanly"
