/* Codes in a text: what programs, offices and people write that is not language, and is told by its ASCII characters alone.
 * Included by opaque.c, whose header lists them. */
#ifndef ALIGND_OPAQUE_CODES_H
#define ALIGND_OPAQUE_CODES_H

#include "model/text/opaque_scan.h"

/* The end of the code that begins at scan->begin, and whether it is an emoticon or :shortcode:; scan->begin: none does. Time is
 * bounded, but for addresses and names as long as a word. */
size_t opaque_code(const struct scan *scan, bool *emoji);

#endif
