/* This module hides what HTML's notation means: which elements there are, how attributes and
 * references are written. libxml2's tables have the names of HTML 4. */
#include "server/markup/html.h"
#include <libxml/HTMLparser.h>
#include <stdlib.h>

enum {
    MOST_REFERENCE = 40, /* bytes of a reference */
    MOST_CODE = 1 << 10  /* bytes of a template's code within a tag */
};

/* ---- the table of elements ---- */

/* libxml2 knows the elements of HTML 4. This table adds later elements, and those that are not
 * translated. */
static const struct {
    const char *names; /* separated by spaces */
    unsigned flags;
} elements[] = {
    {"article aside button details dialog figcaption figure footer header hgroup label legend main "
     "nav optgroup option search "
     "section summary",
     ELEMENT_BLOCK},
    {"a", ELEMENT_LINK},
    {"abbr acronym b bdi bdo big cite del dfn em i ins kbd mark q rb ruby s samp small strike "
     "strong sub sup tt u var",
     ELEMENT_PHRASE},
    {"rp rt rtc", ELEMENT_OPAQUE | ELEMENT_BESIDE},
    {"embed source track wbr", ELEMENT_VOID},
    {"br", ELEMENT_BLOCK | ELEMENT_VOID},
    {"code math svg template", ELEMENT_OPAQUE},
    {"pre", ELEMENT_BLOCK | ELEMENT_OPAQUE},
    {"iframe noembed noframes script style textarea", ELEMENT_OPAQUE | ELEMENT_CODE},
    {"xmp", ELEMENT_BLOCK | ELEMENT_OPAQUE | ELEMENT_CODE},
};

/* An unknown element is inline, as browsers show it. */
unsigned html_element(const char *name) {
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (bytes_among(bytes_of(name), elements[i].names))
            return elements[i].flags;
    const htmlElemDesc *known = htmlTagLookup((const xmlChar *)name);
    return known ? (known->isinline ? 0 : (unsigned)ELEMENT_BLOCK) |
                       (known->empty ? (unsigned)ELEMENT_VOID : 0)
                 : 0;
}

bool html_is_known(const char *name) {
    return htmlTagLookup((const xmlChar *)name) || html_element(name) != 0;
}

/* ---- attributes ---- */

const char *html_code_end(const char *at, const char *end) {
    bool percent = bytes_begin(at, end, "<%");
    if (!percent && !bytes_begin(at, end, "<?php") && !bytes_begin(at, end, "<?="))
        return NULL;
    const char *close = memmem(at + 2, (size_t)(end - at - 2), percent ? "%>" : "?>", 2);
    return close ? close + 2 : NULL;
}

const char *html_code_in_tag(const char *at, const char *end) {
    return *at == '<' ? html_code_end(at, end - at > MOST_CODE ? at + MOST_CODE : end) : NULL;
}

bool html_next_attribute(const char **at, const char *end, struct html_attribute *out) {
    const char *c = *at;
    while (c < end && (byte_is_space(*c) || *c == '/'))
        c++;
    *at = c;
    if (c == end || *c == '>')
        return false;
    const char *code = html_code_in_tag(c, end);
    if (code) { /* a template's, which writes attributes */
        *out = (struct html_attribute){.name = bytes_between(c, code), .value = nothing};
        *at = code;
        return true;
    }
    const char *name = c++; /* a name may begin with '=' */
    while (c < end && !byte_is_space(*c) && !strchr("/>=", *c) && !html_code_in_tag(c, end))
        c++;
    *out = (struct html_attribute){.name = bytes_between(name, c), .value = nothing};
    *at = c;
    while (c < end && byte_is_space(*c))
        c++;
    if (c == end || *c != '=')
        return true;
    do
        c++;
    while (c < end && byte_is_space(*c));
    const char *value = c;
    out->has_value = true;
    if (c < end && (*c == '"' || *c == '\'')) {
        value++;
        char mark = *c;
        for (c = value; c < end && *c != mark; c = code ? code : c + 1)
            code = html_code_in_tag(c, end); /* it may have quotation marks */
        *at = c < end ? c + 1 : end;
    } else {
        while (c < end && !byte_is_space(*c) && *c != '>')
            c++;
        *at = c;
    }
    out->value = bytes_between(value, c);
    return true;
}

enum html_translate html_translate(const char *at, const char *end) {
    struct html_attribute attribute;
    bool yes = false;
    while (html_next_attribute(&at, end, &attribute)) {
        struct bytes value = attribute.value;
        bool states = bytes_are_any_case(attribute.name, "translate");
        if (states && bytes_are_any_case(value, "no"))
            return TRANSLATE_NO;
        yes |= states && (value.length == 0 || bytes_are_any_case(value, "yes"));
        for (size_t i = 0; bytes_are_any_case(attribute.name, "class") && i < value.length; i++) {
            size_t begin = i;
            while (i < value.length && !byte_is_space(value.start[i]))
                i++;
            if (bytes_are_any_case((struct bytes){value.start + begin, i - begin}, "notranslate"))
                return TRANSLATE_NO;
        }
    }
    return yes ? TRANSLATE_YES : TRANSLATE_AS_AROUND;
}

/* ---- references ---- */

/* Returns the character of a name such as "eacute", or -1 if HTML 4 has no such name. */
static int32_t find_entity(const char *name) {
    const htmlEntityDesc *known = htmlEntityLookup((const xmlChar *)name);
    return known ? (int32_t)known->value : -1;
}

size_t html_reference(const char *at, const char *end, int32_t *character) {
    const char *begin = at + 1, *c = begin;
    char name[MOST_REFERENCE + 1] = "";
    *character = -1;
    if (at == end || *at != '&')
        return 0;
    bool number = c < end && *c == '#';
    for (c += number; c < end && c - begin < MOST_REFERENCE &&
                      (isalnum((unsigned char)*c) || (!number && *c == '.'));
         c++)
        ;
    if (c == end || *c != ';' || c - begin < 2 || (!number && !isalpha((unsigned char)*begin)))
        return 0;
    memcpy(name, begin, (size_t)(c - begin));
    if (number) { /* "#233" or "#xe9" */
        bool hexadecimal = (name[1] | 0x20) == 'x';
        const char *digits = name + 1 + hexadecimal;
        unsigned long value = strtoul(digits, NULL, hexadecimal ? 16 : 10);
        bool valid =
            digits[strspn(digits, hexadecimal ? "0123456789abcdefABCDEF" : "0123456789")] == '\0' &&
            value <= 0x10ffff &&
            (value >= 0x20 || value == '\t' || value == '\n' || value == '\r') &&
            (value < 0xd800 || value >= 0xe000);
        *character = valid ? (int32_t)value : -1;
    } else {
        *character = strcmp(name, "apos") == 0 ? '\'' : find_entity(name);
    }
    return (size_t)(c + 1 - at);
}
