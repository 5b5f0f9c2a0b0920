#!/bin/sh
# The page, and the API's description, as a C table (server/api/page.h): sh embed.sh FILE... > page_files.c. With --to FOLDER before them,
# the files are written to that folder instead, as they are sent. Needs od, sed, awk and cksum.
set -eu

# Scripts and style sheets are sent without indentation, without the comments that stand alone or end a line, on few lines, and without
# spaces around signs: in scripts except in strings, and in lines with a template, an apostrophe, or a slash, which may begin a regular
# expression. Style sheets also stand in scripts, from a line that ends with "= `" to one that begins with "`". A test of the element
# compares what is sent with the source.
sent() {
    case $1 in
        *.js | *.css) awk -v css="$(case $1 in *.css) echo 1 ;; *) echo 0 ;; esac)" '
            function tight(code) {
                loose = loose || code ~ /[`\/\047]/
                gsub(/ ?= ?/, "=", code); gsub(/ ?[?] ?/, "?", code); gsub(/ ?: ?/, ":", code); gsub(/ ?, ?/, ",", code)
                gsub(/ ?< ?/, "<", code); gsub(/ ?> ?/, ">", code); gsub(/ ?& ?/, "\\&", code); gsub(/ ?[|] ?/, "|", code)
                gsub(/ ?[{] ?/, "{", code); gsub(/ ?[}] ?/, "}", code); gsub(/ ?[(] ?/, "(", code); gsub(/ ?[)] ?/, ")", code)
                gsub(/ ?; ?/, ";", code); gsub(/ ?! ?/, "!", code); gsub(/ [+] /, "+", code); gsub(/ - /, "-", code)
                gsub(/ [*] /, "*", code)
                return code
            }
            function spaceless(line, out, rest) {
                loose = 0
                for (rest = line; match(rest, /"([^"\\]|\\.)*"/); rest = substr(rest, RSTART + RLENGTH))
                    out = out tight(substr(rest, 1, RSTART - 1)) substr(rest, RSTART, RLENGTH)
                out = out tight(rest)
                return loose ? line : out
            }
            { sub(/^[ \t]+/, "") }
            comment { if (/\*\/$/) comment = 0; next }
            /^\/\*/ && !/\*\/./ { comment = !/\*\/$/; next }
            { sub(/[ \t]*\/\*[^*]*\*\/$/, "") }
            /^`/ { css = 0 }
            css { gsub(/ ?[{] ?/, "{"); gsub(/ ?[}] ?/, "}"); gsub(/; /, ";"); gsub(/, /, ","); gsub(/: /, ":"); gsub(/;}/, "}") }
            !css && !/`/ { $0 = spaceless($0) }
            / = `$/ { css = 1 }
            /./ { printf "%s%s", last == "" || last ~ /[=?:&|;,({[]$/ || /^[]).?:}&|+]/ ? "" : "\n", $0; last = $0 }
            END { print "" }' "$1" ;;
        *index.html | *models.html) sed 's/^[ \t]*//' "$1" ;;
        *) cat "$1" ;;
    esac
}

if [ "$1" = --to ]; then
    to=$2
    shift 2
    for file in "$@"; do sent "$file" >"$to/${file##*/}"; done
    exit
fi

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
