#!/bin/sh
# sh docker/icu_data.sh ROOT SYSROOT PREFIX: makes ROOT/usr/lib/TRIPLE/libicudata.so.VERSION with what alignd reads of ICU's 31 MB of data:
# how texts are cut into sentences, the names of languages in the more common ones, how each language writes and calls letters, numbers,
# currencies and months, conversions between scripts, and the encodings of the web. Collations, time zones and other encodings are left out. Needs icu-devtools, binutils and
# gcc, whose names begin with PREFIX; what is there now is taken from the libicudata of SYSROOT.
set -eu
root=$1 sysroot=$2 prefix=$3
library=$(ls "$sysroot"/usr/lib/*/libicudata.so.*.*)
folder=$(dirname "$root${library#"$sysroot"}")
version=$(basename "$library" | sed 's/libicudata\.so\.//')
major=${version%%.*}
# what is written in these languages is read with the customs of each; in others, with those of the root
languages='af|ar|az|be|bg|bn|bs|ca|cs|cy|da|de|el|en|es|et|eu|fa|fi|fr|ga|gl|gu|he|hi|hr|hu|hy|id|is|it|ja|ka|kk|kn|ko|lt|lv|mk|ml|mr|ms|mt|nb|nl|nn|no|pl|pt|ro|ru|sk|sl|sq|sr|sv|sw|ta|te|th|tr|uk|ur|uz|vi|zh'
regions='en_(001|150|GB)|es_419|de_(AT|CH)|fr_(CA|CH)|pt_PT|zh_Hant'
named='ar|ca|cs|da|de|el|es|fi|fr|he|hi|hu|id|it|ja|ko|nl|nb|no|pl|pt|ro|ru|sv|tr|uk|vi|zh'
# those of the web, with the tables that they share
encodings='windows-|iso-8859|macos-[07]_|gb18030|euc-jp-2007|jisx-|ksc_|noop-|ibm-(437|8[56][0-9]|878|9[12][0-9]|943|970|1089|1168|13[678][0-9]|5012|53[45][0-9]|900[0-9]|9027|944[0-9]|33722)_'
keep="^brkitr/|^translit/|^((curr|rbnf)/)?($languages|$regions|root|pool|res_index)\\.res\$|^(lang|region)/(en|root|pool|res_index)\\.res\$|^lang/($named)\\.res\$|^(keyTypeData|supplementalData|likelySubtags|icuver|langInfo|metadata|timezoneTypes|plurals|pluralRanges|numberingSystems|currencyNumericCodes|dayPeriods|genderList)\\.res\$|^cnvalias\\.icu\$|\\.nrm\$|^($encodings).*\\.cnv\$"

# ICU takes the data's name (icudt, version, little or big endian) for that of its entries: both files must be called so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/all" "$work/kept"
name=icudt${major}$(printf '\1\0' | od -An -td2 | grep -q ' 1$' && echo l || echo b).dat
"${prefix}objcopy" -O binary -j .rodata "$library" "$work/all/$name"
icupkg --list "$work/all/$name" | grep -vE "$keep" >"$work/remove.lst"
icupkg --remove "$work/remove.lst" "$work/all/$name" "$work/kept/$name"

mkdir -p "$folder"
"${prefix}gcc" -x assembler -shared -nostdlib -Wl,-soname,"libicudata.so.$major" -o "$folder/libicudata.so.$version" - <<END
.section .rodata
.globl icudt${major}_dat
.type icudt${major}_dat, %object
.balign 16
icudt${major}_dat:
.incbin "$work/kept/$name"
.size icudt${major}_dat, . - icudt${major}_dat
.section .note.GNU-stack, "", %progbits
END
ln -sf "libicudata.so.$version" "$folder/libicudata.so.$major"
