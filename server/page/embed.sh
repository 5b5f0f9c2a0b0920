#!/bin/sh
# The page, and the API's description, as a C table (server/api/page.h): sh embed.sh FILE... > page_files.c. Needs od, sed, awk and cksum.
set -eu

# Scripts and style sheets are sent without indentation and without the comments that have lines of their own; lines keep their numbers.
sent() {
    case $1 in
        *.js | *.css) awk '{ sub(/^[ \t]+/, "") }
            comment { if (/\*\/$/) comment = 0; print ""; next }
            /^\/\*/ && !/\*\/./ { comment = !/\*\/$/; print ""; next }
            { print }' "$1" ;;
        *) cat "$1" ;;
    esac
}

printf '/* Made by server/page/embed.sh. */\n#include "server/api/page.h"\n'
n=0
for file in "$@"; do
    printf '\nstatic const unsigned char bytes_%d[] = {\n' "$n"
    sent "$file" | od -An -v -tu1 | sed -e 's/^ *//' -e 's/  */,/g' -e 's/$/,/'
    printf '};\n'
    n=$((n + 1))
done

printf '\nconst struct page_file page_files[] = {\n'
n=0
for file in "$@"; do
    name=${file##*/}
    path=/page/$name
    case $name in
        embed.js) path=/embed.js type='text/javascript; charset=utf-8' ;;
        index.html) path=/ type='text/html; charset=utf-8' ;;
        openapi.json) path=/openapi.json type='application/json; charset=utf-8' ;;
        docs.html) path=/docs type='text/html; charset=utf-8' ;;
        mcp_tools.json) path=/mcp_tools.json type='application/json; charset=utf-8' ;;
        *.html) type='text/html; charset=utf-8' ;;
        *.css) type='text/css; charset=utf-8' ;;
        *.js) type='text/javascript; charset=utf-8' ;;
        *.svg) type='image/svg+xml' ;;
        *) echo "embed.sh: no content type for $file" >&2 && exit 1 ;;
    esac
    sum=$(sent "$file" | cksum)
    printf '    {"%s", "%s", "\\"%x-%x\\"", bytes_%d, sizeof bytes_%d},\n' "$path" "$type" "${sum% *}" "${sum#* }" "$n" "$n"
    n=$((n + 1))
done
printf '};\nconst size_t page_file_count = sizeof page_files / sizeof page_files[0];\n'
