/* This module finds the texts of JSON-LD, by which web pages describe themselves to search engines.
 */
#ifndef ALIGND_LINKED_DATA_H
#define ALIGND_LINKED_DATA_H

#include "server/base/bytes.h"

struct linked_text {
    struct bytes raw;  /* as it is written, without quotation marks */
    struct bytes text; /* decoded, in the arena */
};
/* Finds the names, headlines and descriptions that people read: not the names of persons,
 * organisations and the like. Returns their number; *out is in the arena. Text that is not JSON, or
 * a lack of memory, gives 0. Time is linear. */
size_t linked_data_find(struct bytes json, struct arena *arena, struct linked_text **out);
/* Puts a text as the content of a string in a script of HTML. */
void linked_data_put(struct bytes_buffer *out, struct bytes text);

#endif
