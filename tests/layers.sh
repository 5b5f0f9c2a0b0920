#!/bin/sh
# Dependencies point one way (README.md, "How it is built"). Prints every include that points the other way, and fails if there is one.
set -u
status=0

# refuse RULE FILES PATTERN ALLOWED: includes in FILES that match PATTERN, but for lines (file:number:include) that match ALLOWED
refuse() {
    # shellcheck disable=SC2086
    found=$(grep -nHE "^#include [<\"]($3)" $2 | grep -vE "$4")
    [ -z "$found" ] && return
    printf '%s:\n%s\n' "$1" "$found"
    status=1
}

model=$(ls model/*.[ch] model/*.cc)
server=$(ls server/*.[ch])
refuse 'model/ knows nothing of the server, HTTP or threads' "$model" 'server/|microhttpd|pthread' '^$'
refuse 'server/ sees the model only through model/translator.h' "$server" 'model/' 'model/translator\.h"$'
refuse 'cblas.h belongs to model/blas.c' "$model $server" 'cblas' '^model/blas\.c:'
refuse 'SentencePiece belongs to model/sentencepiece.cc' "$model $server" 'sentencepiece_' '^model/sentencepiece\.cc:'
refuse 'ICU belongs to model/segmenter.c, model/character.c and server/language.c' "$model $server" 'unicode/' \
    '^(model/(segmenter|character)|server/language)\.'
refuse 'jansson.h belongs to the endpoints, model/config.c and model/safetensors.c' "$model $server" 'jansson' \
    '^(server/api[_.a-z]*|model/config\.c|model/safetensors\.c):'
refuse 'microhttpd.h belongs to server/http.c, server/http_*.c and server/http_listeners.h' "$model $server" 'microhttpd' \
    '^server/http((_[a-z]+)?\.c|_listeners\.h):'
refuse 'GnuTLS belongs to server/tls.[ch], outgoing.[ch] and keys.c, systemd to server/listen.c and server/main.c' "$model $server" 'gnutls|systemd' \
    '^server/((tls\.[ch]|outgoing\.[ch]|keys\.c):.*gnutls|(listen|main)\.c:.*systemd)'
refuse 'libxml2 belongs to server/html_element.c and html_read.c' "$model $server" 'libxml/' '^server/html_(element|read)\.c:'
refuse 'CLD2 belongs to server/cld2.cc' "$model $server $(ls server/*.cc)" 'cld2/' '^server/cld2\.cc:'
exit $status
