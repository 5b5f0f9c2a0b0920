/* Labels of languages in a vocabulary, such as ">>fra<<": the entries by which models of several target languages (OPUS-MT) are
 * told which one to write. */
#ifndef ALIGND_LABELS_H
#define ALIGND_LABELS_H

#include "model/text/tokenizer.h"

/* In the vocabulary's order. */
struct labels {
    char **names; /* [count] without the brackets: letters, digits, '-' and '_' */
    int *ids;     /* [count] */
    size_t count;
};

/* -1 with ERROR_MEMORY; nothing to end then. */
int labels_find(const struct tokenizer *tokenizer, struct labels *labels, struct error *err);
/* The same of SentencePiece's file, without opening it as a tokenizer, which takes a hundred times as long. -1 with ERROR_FILE,
 * ERROR_FORMAT or ERROR_MEMORY. */
int labels_read(const char *path, struct labels *labels, struct error *err);
void labels_done(struct labels *labels);

#endif
