#!/bin/sh
# hardening.sh BUILD: what compiler and linker were asked for is there, in the program and in every object of it. Needs devscripts.
# Control flow protection is looked for in the objects: Debian's start files have none, and so the linker does not mark the program.
set -u
build=$1
status=0
hardening-check --nocfprotection "$build/alignd" || status=1

fail() {
    echo "$1" >&2
    status=1
}

objdump -d "$build/alignd" | grep -q 'sub  *\$0x1000,%rsp' || [ "$(uname -m)" != x86_64 ] || fail 'no stack clash protection'
readelf -lW "$build/alignd" | grep -q 'GNU_STACK.* RW ' || fail 'the stack is executable'
if [ "$(uname -m)" = x86_64 ]; then
    for object in "$build"/model/*.o "$build"/server/*.o; do
        readelf -n "$object" | grep -q 'x86 feature: IBT, SHSTK' || fail "no control flow protection: $object"
    done
fi
exit $status
