/* What a batch run has when it begins, and its two modes. Included by server/offline*.c only. */
#ifndef ALIGND_OFFLINE_MODES_H
#define ALIGND_OFFLINE_MODES_H

#include "server/decode/scheduler.h"
#include "server/options.h"
#include "server/outfile.h"
#include <stdio.h>

enum { OFFLINE_DIRECTIONS = 2 };

struct offline {
    const struct options *options;
    struct loaded_model *models[OFFLINE_DIRECTIONS]; /* [directions]; the second is for the opposite direction */
    size_t directions;
    const struct protection *protection; /* NULL: none */
    struct scheduler *scheduler;         /* without a bound, with workers behind it */
    FILE *target;                        /* of pairs of lines; NULL when translating */
    struct outfile output;               /* --output; its file NULL: stdout */
    FILE *out;                           /* of the translation or the alignment */
    size_t skipped;                      /* out: lines that are longer than the model takes */
};

/* Lines of stdin to offline->out until the end of the input. -1: what went wrong; lines before it may have been written. */
int offline_lines(struct offline *offline, struct error *err);

/* `alignd translate --format FORMAT FILE`: reads options->file (NULL: stdin) as options->format (NULL: as its name tells) and
 * writes its translation to offline->out. -1: what went wrong; nothing has been written. */
int offline_document(struct offline *offline, struct error *err);

/* Both modes: what a request asks of this model as --variant says (NULL: nothing); sets what the options say of a translation;
 * hands a request with jobs over. */
const char *offline_variant(const struct options *options, const struct translator_info *info);
void offline_ask(const struct offline *offline, struct request *request);
void offline_submit(struct offline *offline, struct request *request);

#endif
