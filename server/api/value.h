/* JSON values, with reserved memory, and places in texts. */
#ifndef ALIGND_VALUE_H
#define ALIGND_VALUE_H

#include "server/base/strings.h"
#include <jansson.h>

/* Call this before any thread starts. */
void value_init(void);

/* Returns true, once, if jansson has run out of memory on this thread. A value that it has read may
 * be silently incomplete. */
bool value_lacked_memory(void);
/* json_loadb with reserved memory (model/base/arena.h): jansson aborts if it cannot lengthen the
 * string that it is reading. */
json_t *value_parse(const char *text, size_t length, size_t flags, json_error_t *error);

/* Reads an integer, which may have a fraction of 0, such as 5.0. False: the value is not an
 * integer, or too large. */
bool value_integer(const json_t *value, json_int_t *number);

/* Returns the type of a value with its article: "an array", "null". */
const char *value_type_name(const json_t *value);

/* Holds a position in the whole source or target text. */
struct value_place {
    size_t bytes, units; /* UTF-8, UTF-16 */
};
struct value_places {
    struct value_place source, target;
};
/* Writes two offsets, each in bytes of UTF-8 and in UTF-16 units. */
void value_put_place(struct writer *out, const char *key, struct value_place begin,
                     struct value_place end);

#endif
