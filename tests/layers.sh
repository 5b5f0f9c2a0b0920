#!/bin/sh
# Dependencies point one way (README.md, "How it is built"). Prints every include that points the other way, and fails if there is one.
set -u
status=0

# refuse RULE FILES PATTERN ALLOWED: includes in FILES that match PATTERN, but for lines (file:number:include) that match ALLOWED
refuse() {
    # shellcheck disable=SC2086
    found=$(grep -nHE "^[[:space:]]*#[[:space:]]*include [<\"]($3)" $2 | grep -vE "$4")
    [ -z "$found" ] && return
    printf '%s:\n%s\n' "$1" "$found"
    status=1
}

model=$(ls model/*.[ch] model/*.cc)
server=$(ls server/*.[ch] server/*.cc)
refuse 'model/ knows nothing of the server, HTTP or threads' "$model" 'server/|microhttpd|pthread' '^$'
refuse 'server/ sees the model only through model/translator.h, and of its ground error.h, file.h and (cld2.cc, which is no C) reserve.h' "$server" 'model/' \
    'model/(translator|error|file)\.h"$|^server/cld2\.cc:.*model/reserve\.h"$'
refuse 'cblas.h belongs to model/blas.c' "$model $server" 'cblas' '^model/blas\.c:'
refuse 'SentencePiece belongs to model/sentencepiece.cc' "$model $server" 'sentencepiece_' '^model/sentencepiece\.cc:'
refuse 'ICU belongs to model/segmenter.c, model/character.c and server/language.c' "$model $server" 'unicode/' \
    '^(model/(segmenter|character)|server/language)\.'
refuse 'jansson.h belongs to the endpoints, model/config_read.c and model/safetensors.c' "$model $server" 'jansson' \
    '^(server/api[_.a-z]*|model/config_read\.c|model/safetensors\.c):'
refuse 'microhttpd.h belongs to server/http.c, server/http_*.c, http_listeners.h and http_exchange.h' "$model $server" 'microhttpd' \
    '^server/http((_[a-z]+)?\.c|_(listeners|exchange)\.h):'
refuse 'GnuTLS belongs to server/tls.[ch], outgoing.[ch] and keys.c, systemd to server/listen.c and server/main.c' "$model $server" 'gnutls|systemd' \
    '^server/((tls\.[ch]|outgoing\.[ch]|keys\.c):.*gnutls|(listen|main)\.c:.*systemd)'
refuse 'libxml2 belongs to server/html_element.c and html_read.c' "$model $server" 'libxml/' '^server/html_(element|read)\.c:'
refuse 'CLD2 belongs to server/cld2.cc' "$model $server" 'cld2/' '^server/cld2\.cc:'
refuse 'weights/gibbs/ sees of model/ only error.h' "$(ls weights/gibbs/*.[ch])" 'model/|server/' 'model/error\.h"$'

# order FOLDER: standard input has its layers, lowest first, names of modules with * for any characters. Each module stands in one of them,
# the first that fits, and includes headers of its own and lower ones only.
order() {
    layers=$(mktemp)
    cat >"$layers"
    # shellcheck disable=SC2046
    awk -v folder="$1" -v layers="$layers" '
        function layer_of(name,    i) {
            for (i = 1; i <= count; i++)
                if (name ~ pattern[i])
                    return layer[i]
            return 0
        }
        BEGIN {
            for (number = 1; (getline line < layers) > 0; number++)
                for (fields = split(line, names, " "); fields > 0; fields--) {
                    gsub(/\*/, ".*", names[fields])
                    pattern[++count] = "^" names[fields] "$"
                    layer[count] = number
                }
        }
        FNR == 1 {
            own = FILENAME
            gsub(/.*\/|\.[a-z]+$/, "", own)
            if (!layer_of(own)) {
                print FILENAME ": stands in no layer of tests/layers.sh"
                failed = 1
            }
        }
        $0 ~ "^[ \t]*#[ \t]*include \"" folder "/" {
            other = $0
            gsub(/.*\/|\.h".*/, "", other)
            if (layer_of(own) && layer_of(other) > layer_of(own)) {
                print FILENAME ":" FNR ": " $0 ": of a higher layer"
                failed = 1
            }
        }
        END { exit failed }' $(ls "$1"/*.[ch] "$1"/*.cc) || status=1
    rm -f "$layers"
}

# no circle between modules, a module being what has one name (NAME.h, NAME.c)
# shellcheck disable=SC2086
circles=$(awk '
    $0 ~ "^[ \\t]*#[ \\t]*include \"(model|server)/" {
        own = FILENAME
        sub(/\.[a-z]+$/, "", own)
        split($0, parts, "\"")
        other = parts[2]
        sub(/\.h$/, "", other)
        if (own != other)
            print own, other
    }' $model $server | LC_ALL=C tsort 2>&1 >/dev/null)
if [ -n "$circles" ]; then
    printf 'modules include each other in a circle:\n%s\n' "$circles"
    status=1
fi

# one line is one layer; of two patterns for a name the earlier line counts
order model <<'END'
error table arena random
reserve file
token character vocabulary spm_file segmenter
placeholder plain sentencepiece
masked
tokenizer
ranked vector blas
products* kernels* lookup matrix
safetensors config config_read config_rules
weights shortlist
distribution row norm cell readout copies
attention encoder* output
decoder_* speller
decoder
phrase
search_state search_node
search_results
search_tree
search_kind
search_[a-z]*
search
model
text
sentence
given batch
glossary
rendering
translator
END
order server <<'END'
clock decimal utf8 name_list meter cld2 parameters process
log
metrics language tls keys listen client pace limiter cache
html* outgoing health
models
request catalog
render events flows
links
scheduler cutoff watch worker chores service
api* page form
http*
option_kinds
options
offline
main
END
exit $status
