#!/bin/sh
# hardening.sh BUILD: what compiler and linker were asked for is there, in the program and in every object of it.
# Control flow protection is looked for in the objects: Debian's start files have none, and so the linker does not mark the program.
set -u
build=$1
program=$build/alignd
status=0

# look WHAT PATTERN COMMAND...: the command's output holds the pattern
look() {
    what=$1 pattern=$2
    shift 2
    if "$@" | grep -qE "$pattern"; then
        echo "$what: yes"
    else
        echo "$what: NO ($*)"
        status=1
    fi
}

look 'position independent' 'Type: +DYN' readelf -hW "$program"
look 'read-only relocations' 'GNU_RELRO' readelf -lW "$program"
look 'immediate binding' 'BIND_NOW' readelf -dW "$program"
look 'stack not executable' 'GNU_STACK .* RW ' readelf -lW "$program"
look 'stack protector' '__stack_chk_fail' readelf --dyn-syms -W "$program"
look 'fortified functions' ' __[a-z]+_chk' readelf --dyn-syms -W "$program"
if [ "$(uname -m)" = x86_64 ]; then
    look 'stack clash protection' 'sub +\$0x1000,%rsp' objdump -d "$program"
    for object in "$build"/model/*.o "$build"/model/*/*.o "$build"/server/*.o "$build"/server/*/*.o; do
        look "control flow protection, $object" 'x86 feature: IBT, SHSTK' readelf -n "$object"
    done | grep ': NO' && status=1 || echo 'control flow protection, every object: yes'
fi
exit $status
