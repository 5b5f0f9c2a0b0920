/* Finds the parts of a text that have to come through a translation byte for byte: opaque runs (model/text/opaque.h), and the
 * strings and patterns that a client names. */
#ifndef ALIGND_GUARD_H
#define ALIGND_GUARD_H

#include "model/lexicon.h"
#include "model/text/opaque.h"
#include "model/text/pattern.h"

/* What a client names: strings, which are found as a glossary's source phrases are (lexicon_next), and patterns. */
struct protection {
    struct lexicon strings;
    const char *const *patterns; /* [pattern_count], which outlive it */
    size_t pattern_count;
};

/* It, ready to be looked for in the texts of one request; zeroed: placeholders alone. One thread's. */
struct guard {
    const struct lexicon *strings; /* NULL: none */
    struct pattern **patterns;     /* [pattern_count] */
    size_t pattern_count;
    int64_t left_ns; /* processor time that the patterns may take from now on, in all texts together */
};

/* protection: NULL: placeholders alone; otherwise it outlives the guard. Ended by guard_done, failed or not. -1 with ERROR_INPUT (a
 * pattern) or ERROR_MEMORY. */
int guard_open(struct guard *guard, const struct protection *protection, struct error *err);
void guard_done(struct guard *guard);

/* All that is to be held of a text, in the arena: where finds overlap the first counts, of those that begin together the longest.
 * scope: of what is opaque by itself. text: valid UTF-8. -1 with ERROR_LENGTH (the patterns took too long) or ERROR_MEMORY. */
int guard_find(struct guard *guard, enum opaque_scope scope, const char *text, size_t length, struct arena *arena,
               struct opaque_runs *out, struct error *err);

#endif
