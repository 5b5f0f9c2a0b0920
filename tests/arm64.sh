#!/bin/sh
# sh tests/arm64.sh BUILD SYSROOT [wheel]: what was built for arm64, by QEMU: the unit tests pass, the daemon answers a request, and the
# wheel, with the libraries that it brings, passes the tests of the Python package, but for two that take minutes. wheel: only the last.
set -eu
build=$1 sysroot=$2
folder=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true; rm -r "$folder"' EXIT

if [ "${3:-}" != wheel ]; then
    qemu-aarch64-static -L "$sysroot" "$build/tests/run"

    qemu-aarch64-static -L "$sysroot" "$build/alignd" --model weights/en-fr --listen "unix:$folder/socket" --log-level warn &
    daemon=$!
    curl -s --retry 60 --retry-delay 1 --retry-all-errors --unix-socket "$folder/socket" -o /dev/null -f http://localhost/ready
    curl -sSf --unix-socket "$folder/socket" http://localhost/translate -H 'Content-Type: application/json' -d '{"text": "The man is here."}' |
        grep -F '"text":"L'"'"'homme est ici."'
    kill $daemon
    wait $daemon
    daemon=
    echo "arm64: alignd builds, its unit tests pass, a request is answered, and it stops cleanly"
fi

# an arm64 system that has Python and none of alignd's libraries
root=$(realpath "$build")/python
sh docker/release/fetch.sh arm64 "$root" python3 python3-numpy python3-pytest
python3 -m zipfile -e "$build"/wheel/alignd-*_aarch64.whl "$folder/wheel"
PYTHONHOME=$root/usr PYTHONPATH=$folder/wheel ALIGND_LIBRARY=$folder/wheel/alignd/libalignd.so.1 \
    LD_LIBRARY_PATH=$root/usr/lib/aarch64-linux-gnu/blas:$root/usr/lib/aarch64-linux-gnu/lapack \
    qemu-aarch64-static -L "$root" "$root/usr/bin/python3" -B -m pytest -q -p no:cacheprovider \
    -k 'not many_texts and not other_threads' tests/library/test_alignd.py
echo "arm64: the wheel translates as on x86-64, with NumPy"
