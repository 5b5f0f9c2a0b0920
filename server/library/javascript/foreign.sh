#!/bin/sh
# sh server/library/javascript/foreign.sh FOLDER SOURCE...: gets the sources of this Debian into FOLDER/source and writes the headers that
# their build systems would write to FOLDER/include, as foreign.mk needs them.
set -eu
mkdir -p "$1/source" "$1/include"
folder=$(cd "$1" && pwd)
shift
cd "$folder/source"
for name in "$@"; do
    [ -d "$name" ] && continue
    # Debian changes only how cld2 is built
    only=
    [ "$name" != cld2 ] || only=--tar-only
    # shellcheck disable=SC2086
    apt-get source -qq --download-only $only "$name" >apt.log 2>&1 || {
        cat apt.log >&2
        echo "$0: apt has no source of $name. Add a line of deb-src to /etc/apt, and run apt-get update." >&2
        exit 1
    }
    rm -rf "$name.new"
    if [ "$only" ]; then
        mkdir "$name.new"
        tar -xf "$name"_*.orig.tar.* -C "$name.new" --strip-components=1
    else
        dpkg-source --no-check -x "$name"_*.dsc "$name.new" >apt.log 2>&1 || { cat apt.log >&2; exit 1; }
    fi
    mv "$name.new" "$name"
done

# RE2's tables, from Debian's unicode-data
for table in unicode_casefold unicode_groups; do [ -f "re2/re2/$table.cc" ] || (cd re2/re2 && python3 "make_$table.py" >"$table.cc"); done
[ -f re2/re2/perl_groups.cc ] || (cd re2/re2 && perl make_perl_groups.pl >perl_groups.cc)

# Names the definitions of a header, each NAME=VALUE.
header() {
    mkdir -p "$(dirname "$folder/include/$1")"
    to=$folder/include/$1
    shift
    for definition in "$@"; do
        printf '#define %s %s\n' "${definition%%=*}" "${definition#*=}"
    done >"$to"
}
link() { ln -sfn "$folder/source/$1" "$folder/include/$2"; }
# shellcheck disable=SC2086
link_all() { mkdir -p "$folder/include/$1" && ln -sf "$folder/source"/$2 "$folder/include/$1/"; }

link_all unicode 'icu/source/common/unicode/*.h'
link_all unicode 'icu/source/i18n/unicode/*.h'

link jansson/src/jansson.h jansson.h
header jansson_config.h JSON_INLINE=inline JSON_INTEGER_IS_LONG_LONG=1 JSON_HAVE_LOCALECONV=1 JSON_HAVE_ATOMIC_BUILTINS=1 \
    JSON_HAVE_SYNC_BUILTINS=1 JSON_PARSER_MAX_DEPTH=2048
header jansson_private_config.h

link nettle nettle
link sentencepiece/src/sentencepiece_processor.h sentencepiece_processor.h
link cld2 cld2
link re2/re2 re2
link zlib/zlib.h zlib.h
link zlib/zconf.h zconf.h
link libyaml/include/yaml.h yaml.h

# all that is not needed to read and write HTML and XML is left out
link_all libxml2/libxml 'libxml2/include/libxml/*.h'
rm -f "$folder/include/libxml2/libxml/xmlversion.h"
sed -E 's/@WITH_(TREE|OUTPUT|PUSH|SAX1|HTML|THREADS)@/1/; s/@WITH_\w+@/0/; s/@VERSION@/2/; s/@LIBXML_VERSION_NUMBER@/20000/; s/@\w+@//' \
    libxml2/include/libxml/xmlversion.h.in >"$folder/include/libxml2/libxml/xmlversion.h"
header libxml2/config.h

link cmark-gfm/src/cmark-gfm.h cmark-gfm.h
link cmark-gfm/src/cmark-gfm-extension_api.h cmark-gfm-extension_api.h
link cmark-gfm/extensions/cmark-gfm-core-extensions.h cmark-gfm-core-extensions.h
header cmark-gfm_export.h CMARK_GFM_EXPORT= CMARK_GFM_NO_EXPORT=
header cmark-gfm-extensions_export.h CMARK_GFM_EXTENSIONS_EXPORT= CMARK_GFM_EXTENSIONS_NO_EXPORT=
header cmark-gfm_version.h CMARK_GFM_VERSION=0 CMARK_GFM_VERSION_STRING='""'
sed -E 's/#cmakedefine (\w+)/#define \1 1/' cmark-gfm/src/config.h.in >"$folder/include/config.h"

# These are of this machine, but the same everywhere. matrix.c is compiled with the types of OpenBLAS, which it does not find when it runs.
mkdir -p "$folder/include/sys"
for file in cblas.h openblas_config.h sys/queue.h; do
    ln -sf "$(find /usr/include/*/"$file" /usr/include/*/openblas*/"$file" 2>/dev/null | head -n 1)" "$folder/include/$file"
done
