/* Attributes of start tags, as browsers read them. Included by html*.c only. */
#ifndef ALIGND_HTML_ATTRIBUTES_H
#define ALIGND_HTML_ATTRIBUTES_H

#include "server/markup/html_build.h"

struct html_attribute {
    struct html_bytes name, value; /* as they are written; the value without quotation marks */
    bool has_value, quoted;
};
/* The next attribute at *at, which is moved behind it. False: the tag's '>' or the end of the text is at *at. */
bool html_next_attribute(const char **at, const char *end, struct html_attribute *out);
bool html_attribute_is(const struct html_attribute *attribute, const char *name);
/* The attributes say that the element is not to be translated: translate="no", class="notranslate". */
bool html_attributes_forbid(const char *at, const char *end);

/* libxml2 drops attributes with names that it does not take (@click, [href], *ngIf, #name), puts others into small letters, and
 * compares each with all before it. So it does not get to see them: in what it reads, each start tag has one attribute instead,
 * HTML_HIDDEN, with the number of the span where those of the tag stand. */
#define HTML_HIDDEN "alignd-hidden"
struct html_hidden {
    char *markup; /* [length], NUL-terminated */
    size_t length;
    struct html_bytes *spans; /* [count] of the original markup */
    size_t count;
};
/* before: what the markup begins with. All in the arena. -1: memory. */
int html_hide_attributes(const char *before, const char *markup, size_t length, struct arena *arena, struct html_hidden *out);

#endif
