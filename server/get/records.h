/* Mozilla's list of models, as Remote Settings serves the collection translations-models-v2: one record for each file. This module
 * reads it, decides which records are for a server, and chooses one model for each pair of languages. Nothing that the list says is
 * trusted: names and places of files are checked, so that they lead nowhere else. */
#ifndef ALIGND_RECORDS_H
#define ALIGND_RECORDS_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include <stdbool.h>
#include <stdint.h>

enum { RECORDS_MOST_BYTES = 16 << 20 }; /* of the list */

enum record_kind { RECORD_MODEL, RECORD_LEX, RECORD_VOCAB, RECORD_SRCVOCAB, RECORD_TRGVOCAB, RECORD_QUALITY, RECORD_KINDS };

struct record_file {
    const char *name;            /* of the unpacked file, without a folder; NULL: the model has no such file */
    const char *location;        /* relative to where attachments are served; without a slash at the beginning */
    const char *sha256;          /* of what is downloaded, in digits */
    const char *unpacked_sha256; /* of what is in it */
    uint64_t bytes, unpacked_bytes;
    bool packed; /* with zstd */
};

/* The files of a pair of languages. */
struct record_model {
    const char *source, *target; /* BCP 47 */
    const char *architecture, *version;
    struct record_file files[RECORD_KINDS];
    uint64_t bytes, unpacked_bytes; /* of all files */
};

struct records {
    struct record_model *models; /* [count], one for each pair, by source and target */
    size_t count;
    size_t left_out;    /* records that could not be used */
    const char *reason; /* why the first of them could not; NULL: left_out is 0 */
};

/* The values with which filter expressions and versions are compared. */
struct records_view {
    const char *system;  /* env.appinfo.OS */
    const char *channel; /* env.channel */
    bool preview;        /* alpha and beta versions count */
};
/* A released Firefox on Linux, and one that gets models earlier. */
extern const struct records_view records_released, records_preview;

/* Evaluates an expression of env.appinfo.OS, env.channel and strings with ==, !=, ||, &&, ! and parentheses. *applies: whether the
 * record is for this view; an empty expression is for all. -1 with ERROR_FORMAT: it says something else. */
int record_filter(const char *expression, const struct records_view *view, bool *applies, struct error *err);

/* Compares versions such as 3.0a1 < 3.0b2 < 3.0 < 3.1 < 3.10; what follows the letter is a number, too. False: one of them is not a
 * version. */
bool record_versions(const char *a, const char *b, int *order);

/* Reads the list {"data": [record, ...]}, text [length]. Strings are in the arena. A record that is not for this view is passed
 * over; one that is wrong is left out. For each pair the highest version counts that is complete (a model, a shortlist, and one
 * vocabulary or two), and of equal ones the largest. -1 with ERROR_FORMAT (it is not such a list) or ERROR_MEMORY. */
int records_read(const char *text, size_t length, const struct records_view *view, struct arena *arena, struct records *out,
                 struct error *err);

/* The model of a pair written as en-fr or en-zh-Hans, in any case. If there is none for these codes, one for the languages without
 * what follows them counts: zh-en is met by zh-Hans-en, pt-BR-en by pt-en. NULL: there is none. */
const struct record_model *records_find(const struct records *records, const char *pair);

/* True if two codes are the same, in any case; loose: whether one of them is the other with a script or region after it. */
bool record_codes_match(const char *a, size_t length, const char *b, bool loose);

#endif
