#!/bin/sh
# sh server/library/javascript/data.sh WORK FOLDER: writes ICU's data for the engine to FOLDER, as compressed packages of ICU: common.dat.gz
# is for all models; fr.dat.gz, ... have what belongs to a language, and cjdict.dat.gz, ... are dictionaries, which divide texts without
# spaces into words. list.js has the names of all but the first (data.js says which are needed when). Left out of what docker/icu_data.sh
# keeps is what no endpoint of the library reads: conversions between scripts, encodings that ICU itself lacks, compatibility
# normalisation, line breaks, and the names of languages in others than English. WORK is a folder for files in between. Needs icu-devtools,
# binutils and gcc.
set -eu
work=$1 folder=$2
left_out='^translit/|\.cnv$|\.nrm$|^brkitr/(char|line|title|word_POSIX|en_US)|^(lang|region)/|^(langInfo|genderList|pluralRanges)\.res$'
needed='^(lang|region)/(en|root|pool)\.res$'

rm -rf "$work" "$folder"
mkdir -p "$work/all" "$work/kept" "$folder"
sh docker/icu_data.sh "$work" "" ""
# icupkg takes a file's name for that of its entries
library=$(ls "$work"/usr/lib/*/libicudata.so.*.*)
major=${library##*.so.} name=icudt${major%%.*}l.dat
objcopy -O binary -j .rodata "$library" "$work/all/$name"
icupkg --list "$work/all/$name" >"$work/all.lst"
grep -vE "$left_out" "$work/all.lst" >"$work/read.lst"
grep -E "$needed" "$work/all.lst" >>"$work/read.lst"

# Writes a package with the entries of a list.
package() {
    grep -vxFf "$2" "$work/all.lst" >"$work/remove.lst"
    icupkg --ignore-deps --remove "$work/remove.lst" "$work/all/$name" "$work/kept/$name"
    gzip -9n <"$work/kept/$name" >"$folder/$1.dat.gz"
}
of_language='^((curr|rbnf|brkitr)/)?([a-z]{2,3})(_[A-Za-z0-9_]*)?\.res$'
languages=$(sed -nE "s#$of_language#\\3#p" "$work/read.lst" | sort -u | grep -vx res)
dictionaries=$(sed -n 's|^brkitr/\(.*\)\.dict$|\1|p' "$work/read.lst")
cp "$work/read.lst" "$work/common.lst"
for language in $languages; do
    grep -E "^((curr|rbnf|brkitr)/)?$language(_[A-Za-z0-9_]*)?\\.res\$" "$work/read.lst" >"$work/own.lst"
    package "$language" "$work/own.lst"
    grep -vxFf "$work/own.lst" "$work/common.lst" >"$work/rest.lst"
    mv "$work/rest.lst" "$work/common.lst"
done
for dictionary in $dictionaries; do
    echo "brkitr/$dictionary.dict" >"$work/own.lst"
    package "$dictionary" "$work/own.lst"
done
grep -v '\.dict$' "$work/common.lst" >"$work/rest.lst"
package common "$work/rest.lst"
# shellcheck disable=SC2086
printf 'export default "%s".split(" ");\n' "$(echo $languages $dictionaries)" >"$folder/list.js"
