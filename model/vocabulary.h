/* A vocabulary file: UTF-8 text, one token a line, whose id is the number of the line, from 0. The first three lines are <unk>, <s>
 * and </s>; every line ends with a line feed. No token is empty, holds white space or comes twice. */
#ifndef ALIGND_VOCABULARY_H
#define ALIGND_VOCABULARY_H

#include "model/error.h"
#include <stddef.h>

enum { VOCABULARY_UNKNOWN, VOCABULARY_BEGIN, VOCABULARY_END, VOCABULARY_SPECIAL };
enum { VOCABULARY_MAX_BYTES = 1 << 26, VOCABULARY_MAX_SIZE = 1 << 20 };

struct vocabulary {
    size_t size;
    const char **pieces; /* [size], within bytes */
    char *bytes;         /* the file, its line feeds turned to NUL */
    int *order;          /* [size] the ids, by piece */
};

/* -1 with ERROR_FILE, ERROR_FORMAT (the message names the line, from 1) or ERROR_MEMORY; nothing to end then. */
int vocabulary_read(struct vocabulary *vocabulary, const char *path, struct error *err);
void vocabulary_done(struct vocabulary *vocabulary);

/* The id of a piece of text, or -1; the special ones are not text. */
int vocabulary_find(const struct vocabulary *vocabulary, const char *piece);

#endif
