/* Codes in a text: strings for programs, numbers of documents and other notations that are no language, recognised by their ASCII
 * characters alone. opaque.h lists them. Only opaque.c includes this header. */
#ifndef ALIGND_OPAQUE_CODES_H
#define ALIGND_OPAQUE_CODES_H

#include "model/text/opaque_scan.h"

/* The end of the code that begins at scan->begin, and whether it is an emoticon or :shortcode:; scan->begin: none does. Time is
 * bounded by the longest code (MAX_CODE) or number at this place. */
size_t opaque_code(const struct scan *scan, bool *emoji);

#endif
