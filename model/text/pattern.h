/* Regular expressions of clients, by RE2, which has neither backreferences nor any way to look around, and therefore takes time
 * linear in the text, whatever the expression is. */
#ifndef ALIGND_PATTERN_H
#define ALIGND_PATTERN_H

#include "model/text/segmenter.h"
#include <stdint.h>

enum {
    PATTERN_MATCH_BYTES = 1000,       /* of a match; longer ones count for nothing */
    PATTERN_MEMORY_BYTES = 256 * 1024 /* of what one is compiled to, and of what that keeps while it matches */
};

struct pattern;

/* expression: valid UTF-8, NUL-terminated, in RE2's syntax. NULL with ERROR_INPUT, whose message says what is wrong with it, where
 * it is too large or matches an empty text, too; or with ERROR_MEMORY. */
struct pattern *pattern_open(const char *expression, struct error *err);
void pattern_free(struct pattern *pattern); /* NULL allowed */

/* Processor time of this thread. */
int64_t pattern_clock_ns(void);

/* The first match at or behind text[*at], moving *at behind it, without white space around it; what begins or ends within a
 * character, or holds a line feed, is none. text: valid UTF-8. until_ns: by pattern_clock_ns; it ends some tenths of a second later
 * at the very latest. 1: there is one; 0: there is none; -1 with ERROR_LENGTH (the time is up) or ERROR_MEMORY. Not thread-safe. */
int pattern_next(struct pattern *pattern, const char *text, size_t length, size_t *at, struct span *found, int64_t until_ns,
                 struct error *err);

#endif
