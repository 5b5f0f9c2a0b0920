#!/bin/sh
# sh tests/man.sh ALIGND.1 ALIGND: man accepts the pages, and they have every option and every key of config.json.
set -eu
page=$1 alignd=$2 model=docker/man/alignd-model.5 library=docker/man/libalignd.3
status=0
complain() {
    echo "$*" >&2
    status=1
}

# plain FILE: as man shows it, in one line
plain() { MANWIDTH=200 man --encoding=UTF-8 --no-hyphenation -l "$1" | col -b | tr -s ' \n' ' '; }

for file in "$page" $model $library; do
    faults=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings=all -Tutf8 -Z -l "$file" 2>&1 >/dev/null)
    [ -z "$faults" ] || complain "$file: $faults"
done

text=$(plain "$page")
for flag in $("$alignd" --help | sed -n 's/^  \(--[a-z-]*\) .*/\1/p'); do
    case $text in *" $flag "*) ;; *) complain "$page: $flag is not there" ;; esac
done
for heading in SYNOPSIS SIGNALS 'EXIT STATUS' FILES; do
    case $text in *" $heading "*) ;; *) complain "$page: $heading is not there" ;; esac
done

# what the library exports
text=$(plain $library)
for function in $(sed -n 's/^ *\(alignd_[a-z_]*\);$/\1/p' server/library/exports); do
    case $text in *"$function("*) ;; *) complain "$library: $function is not there" ;; esac
done

# section.key, of weights/config.def; the page has a heading for each section
keys=$(sed -n 's/^KEY(\([a-z_.]*\),.*/\1/p' weights/config.def)
[ "$(echo "$keys" | wc -l)" -gt 50 ] || complain "the keys of weights/config.def are not where they were"
for key in $keys; do
    section=${key%.*}
    [ "$section" != "$key" ] || section=CONFIG.JSON
    sed -n "/^\.S[HS] $section\$/,/^\.S[HS] /{/^\.B/p}" $model | grep -qE "[ \"]${key#*.}( |\$)" || complain "$model: $key is not there"
done
exit $status
