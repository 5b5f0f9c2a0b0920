/* Regular expressions of clients, by RE2, which has neither backreferences nor lookaround and therefore takes time linear in the
 * text for every expression. */
#ifndef ALIGND_PATTERN_H
#define ALIGND_PATTERN_H

#include "model/text/segmenter.h"
#include <stdint.h>

enum {
    PATTERN_MATCH_BYTES = 1000,       /* of a match; longer matches are ignored */
    PATTERN_MEMORY_BYTES = 256 * 1024 /* of a compiled expression with its caches */
};

struct pattern;

/* expression: valid UTF-8, NUL-terminated, in RE2's syntax. Returns NULL with ERROR_INPUT if the expression is wrong, too large or
 * matches an empty text (the message says which), or with ERROR_MEMORY. */
struct pattern *pattern_open(const char *expression, struct error *err);
void pattern_free(struct pattern *pattern); /* accepts NULL */

/* The processor time of this thread. */
int64_t pattern_clock_ns(void);

/* Finds the first match at or after text[*at], without the white space around it, and moves *at to its end. A match that begins or
 * ends within a character, or contains a line feed, does not count. text: valid UTF-8. until_ns: by pattern_clock_ns; the search
 * ends some tenths of a second later at the very latest. Returns 1 for a match, 0 for none, or -1 with ERROR_LENGTH (the time is
 * up) or ERROR_MEMORY. Not thread-safe. */
int pattern_next(struct pattern *pattern, const char *text, size_t length, size_t *at, struct span *found, int64_t until_ns,
                 struct error *err);

#endif
