/* Where models come from: Mozilla, OPUS-MT, the Hugging Face hub, Argos, or a URL. A source turns what is asked for into a plan:
 * the files to download, and what is known of them. This module hides the sources' addresses and their lists.
 *
 *     en-fr, mozilla:en-fr   opus:en-fr   hf:ORGANISATION/NAME   argos:en-fr   https://host/path/model.zip
 *
 * A mirror serves the same paths as the sources' hosts, whatever these are called. */
#ifndef ALIGND_SOURCES_H
#define ALIGND_SOURCES_H

#include "model/base/arena.h"
#include "server/get/download.h"
#include "server/get/records.h"

enum source_kind { SOURCE_MOZILLA, SOURCE_OPUS, SOURCE_HUGGINGFACE, SOURCE_ARGOS, SOURCE_URL, SOURCES };
/* "mozilla", "opus", "hf", "argos", "url" */
const char *source_name_of(enum source_kind kind);
/* Splits what is asked for. rest: a pair, a repository or the URL. -1 with ERROR_INPUT. */
int source_parse(const char *asked, enum source_kind *kind, const char **rest, struct error *err);

struct source_options {
    const char *mirror;  /* its URL; NULL: the sources themselves */
    const char *records; /* file with Mozilla's list; NULL: it is downloaded */
    const char *work;    /* folder for lists, which is there */
    bool offline;        /* only lists that are there already */
    bool preview;
    const struct download_manner *manner;
};

enum { PLAN_FILES = 24 };

struct plan_file {
    const char *url, *name;
    const char *sha256, *unpacked_sha256; /* NULL: not known */
    uint64_t bytes, unpacked_bytes;       /* 0: not known */
    bool packed, outside;
};

/* All strings are in the arena; those that are not known are "". */
struct plan {
    enum source_kind kind;
    const char *asked; /* that makes the same plan again: "mozilla:en-fr" */
    const char *name;  /* of the model folder */
    const char *source, *target;
    const char *version, *licence, *attribution;
    const char *detail; /* the architecture, or the file */
    const char *token;
    struct plan_file files[PLAN_FILES]; /* [count] */
    size_t count;
    uint64_t bytes; /* to download; 0: not known */
};

/* Returns GET_DONE, or another status with an error. */
enum get_status source_plan(const struct source_options *options, const char *asked, struct arena *arena, struct plan *plan,
                            struct error *err);

/* Adds the file at an HTTP or HTTPS URL to a plan of such files, which begins as zeros and which the first one names. file: the
 * one of this URL, which a plan has once; its name has a folder if an earlier file has the same name. */
enum get_status source_plan_url(const char *url, struct arena *arena, struct plan *plan, const struct plan_file **file,
                                struct error *err);

/* Mozilla's list as it is now, or that of options->records. It is kept in the work folder; offline the kept one is read. */
enum get_status source_records(const struct source_options *options, struct arena *arena, struct records *records,
                               struct error *err);

/* A line of a list. */
struct listed {
    const char *pair, *version, *detail, *licence;
    uint64_t bytes; /* 0: not known */
};
/* The list of models that Mozilla or Argos publishes. */
enum get_status source_list(const struct source_options *options, enum source_kind kind, struct arena *arena, struct listed **list,
                            size_t *count, struct error *err);

#endif
