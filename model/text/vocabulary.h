/* A vocabulary file: UTF-8 text, one token a line, whose id is the number of the line, from 0; every line ends with a line feed. No
 * token is empty, holds ASCII white space (a no-break space is a character of its word here) or comes twice. The tokens <unk>, </s>
 * and <s> are special, wherever they stand; only <unk> must be there. */
#ifndef ALIGND_VOCABULARY_H
#define ALIGND_VOCABULARY_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>

enum { VOCABULARY_UNKNOWN, VOCABULARY_BEGIN, VOCABULARY_END, VOCABULARY_SPECIAL };
enum { VOCABULARY_MAX_BYTES = 1 << 26, VOCABULARY_MIN_SIZE = 3, VOCABULARY_MAX_SIZE = 1 << 20 };

struct vocabulary {
    size_t size;
    const char **pieces;             /* [size], within bytes */
    char *bytes;                     /* the file, its line feeds turned to NUL */
    int *order;                      /* [size] the ids, by piece */
    int special[VOCABULARY_SPECIAL]; /* the ids of <unk>, <s> and </s>; -1: it has none */
};

/* -1 with ERROR_FILE, ERROR_FORMAT (the message names the line, from 1) or ERROR_MEMORY; nothing to end then. */
int vocabulary_read(struct vocabulary *vocabulary, const char *path, struct error *err);
void vocabulary_done(struct vocabulary *vocabulary);

bool vocabulary_is_special(const struct vocabulary *vocabulary, int id);

/* The id of a piece of text, or -1; the special ones are not text. */
int vocabulary_find(const struct vocabulary *vocabulary, const char *piece);

#endif
