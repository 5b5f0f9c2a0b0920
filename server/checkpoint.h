/* How far a run over lines has come, in a small file of text: after it was ended, however it was, the next one goes on from there.
 *
 *     alignd checkpoint 1
 *     lines 120000
 *     ...
 *     beam_size 5            and the other conditions of the run
 *
 * The file is replaced as a whole, once what it tells of is on the disk. */
#ifndef ALIGND_CHECKPOINT_H
#define ALIGND_CHECKPOINT_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct checkpoint {
    size_t lines, skipped; /* written; of these left empty */
    uint64_t input_bytes;  /* read for them */
    uint64_t input_hash;   /* of these bytes: checkpoint_hash */
    uint64_t output_bytes; /* written for them */
};

/* Of nothing; then of more and more bytes (FNV-1a): tells other inputs apart, unless they are made for it. */
#define CHECKPOINT_HASH UINT64_C(0xcbf29ce484222325)
uint64_t checkpoint_hash(uint64_t hash, const char *bytes, size_t length);

/* conditions: lines NAME VALUE, what the output depends on. No file: 0, and the checkpoint is that of a beginning. -1 with
 * ERROR_INPUT: its conditions are others, and the message tells the first one; ERROR_FORMAT: it is no checkpoint; ERROR_FILE;
 * ERROR_MEMORY. */
int checkpoint_read(const char *path, const char *conditions, struct checkpoint *checkpoint, struct error *err);
/* -1 with ERROR_FILE or ERROR_MEMORY: the former one stays. */
int checkpoint_write(const char *path, const char *conditions, const struct checkpoint *checkpoint, struct error *err);

#endif
