/* A run over lines that goes on where the last one with the same checkpoint was ended. */
#ifndef ALIGND_OFFLINE_RESUME_H
#define ALIGND_OFFLINE_RESUME_H

#include "server/checkpoint.h"
#include "server/offline_modes.h"
#include "server/share.h"

struct resume {
    const char *path; /* of the checkpoint; NULL: there is none, and nothing here does anything */
    char *conditions;
    struct checkpoint at; /* what has been written */
    int64_t interval_us, saved_us;
};

/* Reads the checkpoint. The input, of which share is read, is left behind the lines that are translated already, the output cut
 * behind their translations. -1: the checkpoint is of another run, or input and output are not as it says; ERROR_INPUT, ERROR_FILE,
 * ERROR_FORMAT or ERROR_MEMORY. */
int resume_begin(struct resume *resume, const struct offline *offline, FILE *in, const struct share *share, struct error *err);
void resume_done(struct resume *resume);

/* A line has been written to the output. source: [length] as it was read, with the line feed. */
void resume_note(struct resume *resume, const char *source, size_t length, bool skipped);
/* Makes a checkpoint, if it is time for one or now is set: the output is on the disk before it. */
int resume_save(struct resume *resume, FILE *out, bool now, struct error *err);

#endif
