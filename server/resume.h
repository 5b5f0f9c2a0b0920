/* Long runs over the lines of a file: a run reads all lines or a share of them, reports its progress, and keeps a checkpoint, from
 * which the next run continues after any kind of end. */
#ifndef ALIGND_RESUME_H
#define ALIGND_RESUME_H

#include "model/base/error.h"
#include "server/options.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- shares ---- */

/* The part of a file of lines that a run reads: all of it, or one of several shares that together are the file. */
struct share {
    uint64_t begin, end; /* bytes of the file: whole lines */
    size_t lines;        /* lines before begin */
};

/* The index-th of count shares, from 0: the lines that begin in that part of the file's bytes. The outputs of all shares,
 * concatenated, are the output of the file; shares have about equally many bytes and may be empty. The file is read up to the
 * share, to count lines, and is then positioned at its beginning. Returns -1 with ERROR_INPUT (not a regular file) or
 * ERROR_FILE. */
int share_find(FILE *file, size_t index, size_t count, struct share *share, struct error *err);

/* ---- progress ---- */

struct headway {
    size_t lines;            /* lines written in this run */
    double seconds;          /* time since the run began */
    uint64_t done, of_bytes; /* bytes of the input in this run; of_bytes 0: the length is unknown */
};

enum { HEADWAY_BYTES = 96 };

/* "1,234 lines, 512 per second, 37%, 2:05 left"; unknown parts are omitted. */
void headway_say(const struct headway *headway, char line[HEADWAY_BYTES]);

/* ---- checkpoints ---- */

/* The position of a run. The file is text and is replaced as a whole once the output that it describes is on the disk:
 *
 *     alignd checkpoint 1
 *     lines 120000
 *     ...
 *     beam_size 5            and the other conditions of the run
 */
struct checkpoint {
    size_t lines, skipped; /* lines written; how many of them were left empty */
    uint64_t input_bytes;  /* bytes read for them */
    uint64_t input_hash;   /* checkpoint_hash of these bytes */
    uint64_t output_bytes; /* bytes written for them */
};

/* The hash of no bytes, and that of further bytes (FNV-1a). It distinguishes inputs that were not made to collide. */
#define CHECKPOINT_HASH UINT64_C(0xcbf29ce484222325)
uint64_t checkpoint_hash(uint64_t hash, const char *bytes, size_t length);

/* conditions: lines NAME VALUE on which the output depends. If there is no file, returns 0 with the checkpoint of a new run.
 * Returns -1 with ERROR_INPUT if its conditions differ, and a message with the first difference; with ERROR_FORMAT if the file is
 * not a checkpoint; or with ERROR_FILE or ERROR_MEMORY. */
int checkpoint_read(const char *path, const char *conditions, struct checkpoint *checkpoint, struct error *err);
/* Returns -1 with ERROR_FILE or ERROR_MEMORY; the old file then stays. */
int checkpoint_write(const char *path, const char *conditions, const struct checkpoint *checkpoint, struct error *err);

/* ---- a run with a checkpoint ---- */

struct resume {
    const char *path; /* path of the checkpoint; NULL: all calls are no-ops */
    char *conditions;
    struct checkpoint at; /* the last checkpoint that was written */
    int64_t interval_us, saved_us;
};

/* The properties of a run that determine its output. */
struct resume_run {
    const struct options *options;
    const struct translator_info *info; /* of the model */
    const char *variant;                /* NULL: none */
    const struct share *share;
    FILE *in, *out;
};

/* Reads the checkpoint, moves the input past the lines that have been translated, and truncates the output after their
 * translations. Returns -1 if the checkpoint is from another run, or does not fit input and output, with ERROR_INPUT, ERROR_FILE,
 * ERROR_FORMAT or ERROR_MEMORY. */
int resume_begin(struct resume *resume, const struct resume_run *run, struct error *err);
void resume_done(struct resume *resume);

/* Notes that a line has been written to the output. source: [length] the line as it was read, with the line feed. */
void resume_note(struct resume *resume, const char *source, size_t length, bool skipped);
/* Writes a checkpoint if the interval has passed or now is set, once the output is on the disk. */
int resume_save(struct resume *resume, FILE *out, bool now, struct error *err);

#endif
