/* This header has the steps of getting a model: downloading files (download.c), reading Mozilla's
 * list of models (records.c), and finding the files of each source (sources.c). */
#ifndef ALIGND_GET_PARTS_H
#define ALIGND_GET_PARTS_H

#include "model/base/arena.h"
#include "server/get/get.h"
#include <sys/socket.h>

/* Sets the error and evaluates to the status. */
#define get_fail(err, status, code, ...) (error_set(err, code, __VA_ARGS__), status)
#define get_fail_memory(err)             (error_memory(err), GET_FAILED)
#define get_fail_stopped(err)            get_fail(err, GET_STOPPED, ERROR_INPUT, "interrupted")

/* True if one of the globs of a list with commas matches. flags: of fnmatch. */
bool records_is_listed(const char *list, const char *word, int flags);
/* True if a text has only ASCII letters, digits and characters of `also`. */
bool records_is_made_of(const char *text, const char *also);
/* True for 64 hexadecimal digits in lower case; text may be NULL. */
bool records_is_sha256(const char *text);

/* ---- downloads ----
 *
 * These functions download one file over HTTP or HTTPS with libcurl.
 *
 * The file is written to PATH.part, which is kept after a failure so that the next download
 * continues there, and is renamed once it is complete and its SHA-256 is correct. The proxies are
 * curl's (http_proxy, https_proxy, all_proxy, no_proxy); the certificates are those of
 * CURL_CA_BUNDLE or SSL_CERT_FILE and of SSL_CERT_DIR, otherwise the system's.
 *
 * Servers are not trusted. A download fails if it exceeds its allowed size or is slower than
 * MIN_BYTES_PER_SECOND. A redirect may lead only to HTTP or HTTPS, from HTTPS only to HTTPS, and
 * not to a private address, unless the download began at that address. */

/* The settings of all downloads of a command. */
struct download_manner {
    size_t retries;          /* the number of retries after a failure of the network */
    size_t stall_s;          /* a transfer that is below MIN_BYTES_PER_SECOND for this time fails */
    const atomic_bool *stop; /* NULL: never */
    /* Called often while bytes arrive, with the bytes of the file so far. NULL: not called. */
    void (*progress)(void *owner, uint64_t bytes, uint64_t total);
    /* Called before each retry. NULL: not called. */
    void (*retried)(void *owner, const char *why, size_t wait_ms);
    void *owner;
};

struct download {
    const char *url;
    const char *path;   /* path of the complete file; its folder exists */
    const char *sha256; /* in hexadecimal digits; NULL: not known */
    uint64_t bytes;     /* 0: not known */
    uint64_t most;      /* limit for the bytes of the file; ignored if `bytes` is known */
    uint64_t spare;     /* free bytes of disk that must remain for each byte of the file */
    bool outside;       /* the URL comes from a list, so it may not lead to a private address */
    const char *token;  /* sent to the URL's own host as a bearer token; NULL: none */
};

enum { MIN_BYTES_PER_SECOND = 4096 };

/* Returns GET_DONE, or another status with an error. */
enum get_status download_file(const struct download_manner *manner, const struct download *download,
                              struct error *err);

/* Computes the SHA-256 of a file in hexadecimal digits. Returns GET_DONE, GET_STOPPED or
 * GET_FAILED. */
enum get_status download_digest(const char *path, const atomic_bool *stop, char sha256[65],
                                struct error *err);

/* True if an address is of this machine, a private network or a link, or is otherwise not on the
 * public internet. */
bool download_address_is_private(const struct sockaddr *address);

/* Checks that the file system of this folder has room for more bytes. Returns GET_DONE or
 * GET_SPACE. */
enum get_status download_check_space(const char *folder, uint64_t bytes, struct error *err);

/* ---- the work folder ----
 *
 * A folder INTO/.get or INTO/.import has the lists that were downloaded, and a room for each
 * download: WORK/KEY, a folder in which only the process writes that holds a lock on the file
 * WORK/KEY.lock. The kernel releases the lock when the process ends, and the file is deleted when
 * the room is released: a lock file that nobody holds was left by a process that was killed. */

struct room {
    char path[MODEL_PATH_BYTES]; /* path of the folder, which need not exist */
    char lock_path[MODEL_PATH_BYTES];
    int lock; /* -1: not taken */
};

/* Writes a path. Returns false if it is too long. */
__attribute__((format(printf, 2, 3))) bool work_path(char path[MODEL_PATH_BYTES],
                                                     const char *format, ...);
/* Sets the error of a file by errno, and returns GET_FAILED. */
enum get_status work_fail(struct error *err, const char *path);

/* Makes the folder INTO/NAME, whose path is written to work, and the folders that lead to it. */
enum get_status work_make(const char *into, const char *name, char work[MODEL_PATH_BYTES],
                          struct error *err);

/* How a process waits for a room that another one has. */
struct room_wait {
    const atomic_bool *stop;     /* NULL: never */
    void (*begins)(void *owner); /* called once; NULL: not called */
    void *owner;
};
/* Takes the room of a key, once no other process has it. It may have files of an earlier try.
 * Returns GET_DONE, GET_STOPPED or GET_FAILED. */
enum get_status room_take(struct room *room, const char *work, const char *key,
                          const struct room_wait *wait, struct error *err);
/* Makes an empty room with a new key. Returns GET_DONE or GET_FAILED. */
enum get_status room_make(struct room *room, const char *work, struct error *err);
/* Does not delete the folder. Accepts a room that was not taken. */
void room_release(struct room *room);

/* Deletes the rooms of processes that were killed, except the one that this process has taken over.
 */
void work_sweep(const char *work);

/* ---- Mozilla's list ----
 *
 * Remote Settings serves Mozilla's list of models as the collection translations-models-v2, with
 * one record for each file. The list is not trusted: the names and locations of files are checked,
 * so that they cannot lead outside their folder. */

enum { RECORDS_MOST_BYTES = 16 << 20 }; /* limit for the list */

enum record_kind {
    RECORD_MODEL,
    RECORD_LEX,
    RECORD_VOCAB,
    RECORD_SRCVOCAB,
    RECORD_TRGVOCAB,
    RECORD_QUALITY,
    RECORD_KINDS
};

struct record_file {
    const char *name; /* unpacked file's name, without a folder; NULL: the model has no such file */
    const char *location; /* below the URL of attachments; without a slash at the beginning */
    const char *sha256;   /* checksum of the downloaded file, in hexadecimal digits */
    const char *unpacked_sha256; /* checksum of the unpacked file, in hexadecimal digits */
    uint64_t bytes, unpacked_bytes;
    bool packed; /* with zstd */
};

/* The files of a pair of languages. */
struct record_model {
    const char *source, *target; /* BCP 47 */
    const char *architecture, *version;
    struct record_file files[RECORD_KINDS];
    uint64_t bytes, unpacked_bytes; /* sums over all files */
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

/* Evaluates an expression of env.appinfo.OS, env.channel, strings, true and false with ==, !=, ||,
 * &&, ! and parentheses. *applies says if the record is for this view; an empty expression is for
 * all. Returns -1 with ERROR_FORMAT for anything else. */
int records_filter(const char *expression, const struct records_view *view, bool *applies,
                   struct error *err);

/* Compares versions such as 3.0a1 < 3.0b2 < 3.0 < 3.1 < 3.10; the part after the letter is a
 * number, too. Returns false if one of them is not a version. */
bool records_versions(const char *a, const char *b, int *order);

/* Reads the list {"data": [record, ...]}, text [length]. Strings are in the arena. A record that is
 * not for this view is skipped; one that is invalid is counted in left_out. Each pair gets its
 * highest version that is complete (a model, a shortlist, and one vocabulary or two), and of equal
 * versions the largest. Returns -1 with ERROR_FORMAT (no such list) or ERROR_MEMORY. */
int records_read(const char *text, size_t length, const struct records_view *view,
                 struct arena *arena, struct records *out, struct error *err);

/* Returns the model of a pair written as en-fr or en-zh-Hans, in any case, or NULL. If there is no
 * model for these codes, one whose codes differ only by a script or region is returned: zh-Hans-en
 * for zh-en, pt-en for pt-BR-en; if there is none of these either, one of a macrolanguage or of a
 * language that belongs to it: nb-en for no-en, hbs-en for hr-en. */
const struct record_model *records_find(const struct records *records, const char *pair);

/* True if two codes are the same, in any case; if loose is set, one of them may have a script or
 * region in addition. */
bool records_codes_match(const char *a, size_t length, const char *b, bool loose);

/* ---- sources ----
 *
 * Models come from Mozilla, OPUS-MT, the Hugging Face hub, Argos, or a URL. A source turns a
 * request into a plan: the files to download, and their known properties.
 *
 *     en-fr, mozilla:en-fr   opus:en-fr   hf:ORGANISATION/NAME   argos:en-fr   quickmt:en-fr
 *     hplt:fr-en
 * https://host/path/model.zip
 *
 * A mirror serves the paths of all sources' hosts. */

enum source_kind {
    SOURCE_MOZILLA,
    SOURCE_OPUS,
    SOURCE_HUGGINGFACE,
    SOURCE_ARGOS,
    SOURCE_QUICKMT, /* by a pair's name in its organisation on the hub */
    SOURCE_HPLT,    /* by its list for translateLocally */
    SOURCE_URL,
    SOURCES
};
extern const char sources_mozilla_licence[]; /* of all of Mozilla's models */
/* Returns "mozilla", "opus", "hf", "argos", "quickmt", "hplt" or "url". */
const char *sources_name_of(enum source_kind kind);
/* Splits the name of a model into the kind and the rest: a pair, a repository or the URL. Returns
 * -1 with ERROR_INPUT. */
int sources_parse(const char *asked, enum source_kind *kind, const char **rest, struct error *err);

struct source_options {
    const char *mirror;  /* the mirror's URL; NULL: the sources themselves */
    const char *records; /* file with Mozilla's list; NULL: it is downloaded */
    const char *work;    /* existing folder for lists */
    bool offline;        /* use only lists that are already there */
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

/* Strings are in the arena, constant, or borrowed from the caller and the environment; unknown ones
 * are "". */
struct plan {
    enum source_kind kind;
    const char *asked; /* the name that gives the same plan again: "mozilla:en-fr" */
    const char *name;  /* the model folder's name */
    const char *source, *target;
    const char *version, *licence, *attribution;
    const char *detail; /* the architecture, or the file */
    const char *token;
    struct plan_file files[PLAN_FILES]; /* [count] */
    size_t count;
    uint64_t bytes; /* to download; 0: not known */
};

/* Returns GET_DONE, or another status with an error. */
enum get_status sources_plan(const struct source_options *options, const char *asked,
                             struct arena *arena, struct plan *plan, struct error *err);

/* Adds the file at an HTTP or HTTPS URL to a plan of such files, which begins zeroed and is named
 * after the first. Sets *file to the entry of this URL, which a plan contains once; its name has a
 * folder if an earlier file has the same name. */
enum get_status sources_plan_url(const char *url, struct arena *arena, struct plan *plan,
                                 const struct plan_file **file, struct error *err);

/* Reads Mozilla's current list, or that of options->records. The last list that could be read and
 * has a model is kept in the work folder, from which it is read offline; so are those of the other
 * sources. */
enum get_status sources_records(const struct source_options *options, struct arena *arena,
                                struct records *records, struct error *err);

/* Sets the quality of each source's model for a pair as published: COMET on the test set of Flores,
 * at most 1; 0: not published, or not reached. Mozilla compares its models with those of OPUS-MT
 * and Argos; quickmt's cards state theirs, if sources_plan has read them before. */
void sources_quality(const struct source_options *options, const char *pair, struct arena *arena,
                     double quality[SOURCES]);

/* A line of a list. */
struct listed {
    const char *pair, *version, *detail, *licence;
    uint64_t bytes; /* 0: not known */
};
/* Lists the models that Mozilla, Argos or HPLT publishes, sorted by pair. */
enum get_status sources_list(const struct source_options *options, enum source_kind kind,
                             struct arena *arena, struct listed **list, size_t *count,
                             struct error *err);

#endif
