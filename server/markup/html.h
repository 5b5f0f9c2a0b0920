/* This module is HTML's notation: its elements, attributes and references. */
#ifndef ALIGND_HTML_H
#define ALIGND_HTML_H

#include "model/base/utf8.h"
#include "server/base/bytes.h"
#include <ctype.h>
#include <string.h>

enum {
    ELEMENT_BLOCK = 1 << 0,  /* ends segments */
    ELEMENT_VOID = 1 << 1,   /* has no content and no end tag */
    ELEMENT_OPAQUE = 1 << 2, /* is not translated */
    ELEMENT_CODE =
        1 << 3, /* its content is meant for programs and represents no word of a sentence */
    ELEMENT_BESIDE =
        1 << 4, /* belongs to the text before it and represents no word of a sentence */
    ELEMENT_PHRASE = 1 << 5, /* BOND_PHRASE */
    ELEMENT_LINK = 1 << 6,   /* BOND_LINK */
};

/* Returns the flags of the element with this name, in lower case; 0: an inline element, or an
 * unknown one. */
unsigned html_element(const char *name);
/* True if HTML has an element of this name, in lower case. */
bool html_is_known(const char *name);
/* True for a character of a tag's name. */
static inline bool html_is_of_name(char c) {
    return isalnum((unsigned char)c) || (c && strchr("-_.:", c));
}

/* Returns the end of a template's code that begins there, <% a %> or <?php a ?>, or NULL. */
const char *html_code_end(const char *at, const char *end);
/* The same within a tag, where it has at most 1 KiB. */
const char *html_code_in_tag(const char *at, const char *end);

/* An attribute as browsers read it. */
struct html_attribute {
    struct bytes name, value; /* as written; the value without quotation marks */
    bool has_value;
};
/* Reads the next attribute and moves *at past it. Code of a template, <%= a %>, is a name. Returns
 * false if the tag's '>' or the end of the text is at *at. */
bool html_next_attribute(const char **at, const char *end, struct html_attribute *out);
/* Whether the attributes say translate="no" or class="notranslate", or else translate="yes". */
enum html_translate { TRANSLATE_AS_AROUND, TRANSLATE_NO, TRANSLATE_YES };
enum html_translate html_translate(const char *at, const char *end);

/* Returns the bytes of the reference that begins at `at`, or 0. *character: its character, or -1 if
 * it is unknown. */
size_t html_reference(const char *at, const char *end, int32_t *character);

#endif
