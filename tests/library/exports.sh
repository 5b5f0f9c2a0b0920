# sh exports.sh BUILD EXPORTS: the library has the symbols of the list and no others, and needs none of the libraries of the server.
set -eu
wanted=$(mktemp)
trap 'rm -f "$wanted"' EXIT
sed -n 's/^ *\(alignd_[a-z_]*\);$/\1/p' "$2" | sort >"$wanted"
nm -D --defined-only "$1/libalignd.so.1" | sed -n 's/^[0-9a-f]* T \(.*\)@@.*/\1/p' | sort | diff "$wanted" -
for name in microhttpd gnutls curl systemd archive; do
    if ldd "$1/libalignd.so.1" | grep "lib$name"; then
        echo "libalignd.so.1 needs lib$name" >&2
        exit 1
    fi
done
