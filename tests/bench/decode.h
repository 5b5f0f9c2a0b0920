/* Decodes a list of sentences the way the daemon's workers do, and takes the time. */
#ifndef ALIGND_BENCH_DECODE_H
#define ALIGND_BENCH_DECODE_H

#include "model/translator.h"
#include "tests/bench/parts.h"
#include <stdio.h>

enum { DECODE_MAX_ROWS = 1024, DECODE_MAX_WORKERS = 16 };

struct lines {
    char **text;
    size_t count;
};

/* The lines of a file that are not empty. */
struct lines lines_read(FILE *file);
void lines_free(struct lines *lines);

struct decoding {
    const struct search_kind *strategy;
    size_t beam_size;
    size_t rows;      /* of each worker, beam_size..DECODE_MAX_ROWS */
    size_t workers;   /* threads, each with its own batch over its share of the
                         sentences, 1..DECODE_MAX_WORKERS */
    size_t sentences; /* the first so many lines */
    bool aligns;      /* the model's alignment head is asked */
};

struct decoded {
    size_t tokens;  /* of the best hypotheses, </s> counted */
    double seconds; /* until the last worker is done; tokenizing not counted */
    double waited;  /* the mean time of a sentence from its admission to its end, seconds */
};

/* parts: what the first worker does is added; NULL: not measured. An error ends the program. */
struct decoded decode(const struct translator *translator, const struct lines *lines,
                      const struct decoding *decoding, struct parts *parts);

#endif
