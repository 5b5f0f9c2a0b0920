/* This header has the options: the struct that holds their values, and the table of their flags,
 * environment variables, kinds, defaults, ranges and help. Parsing, --help and the man page come
 * from the table; the parameters of the searches (server/decode/request.c) extend it.
 *
 * Options are read from the command line, the environment and the file of --config.
 * The file has one option per line, named like the flag, with or without "--". A '#' at the
 * beginning of a line or after white space begins a comment:
 *
 *     listen = 0.0.0.0:8080
 *     model = /srv/models/en-fr        # may appear several times, like the flag
 *     model-memory = 2G
 *     shortlist */
#ifndef ALIGND_OPTIONS_H
#define ALIGND_OPTIONS_H

#include "model/base/error.h"
#include "model/translator.h"
#include "server/base/strings.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_LISTEN "127.0.0.1:8080" /* where alignd listens by default */

enum command {
    COMMAND_SERVE = 1 << 0,
    COMMAND_TRANSLATE = 1 << 1,
    COMMAND_ATTENTION = 1 << 2,
    COMMAND_KEY = 1 << 3,
    COMMAND_HEALTH = 1 << 4,
    COMMAND_PACK = 1 << 5,
    COMMAND_IMPORT = 1 << 6,
    COMMAND_GET = 1 << 7,
    COMMAND_MODELS = 1 << 8,
    COMMAND_REMOVE = 1 << 9,
    COMMAND_SHORTLIST = 1 << 10,
    COMMAND_MCP = 1 << 11,
    COMMAND_ALIGN_HEAD = 1 << 12,
    COMMAND_LIBRARY = 1 << 13 /* no command: the library (server/library) */
};

/* Fields of options that do not belong to the command are zero. */
struct options {
    enum command command;
    bool help, version; /* if set, everything else is ignored */

    char *config;       /* file of options; NULL: none */
    const char *beside; /* the file relative to which models that came with alignd are found, not
                           owned; NULL: the program */
    struct name_list
        models; /* folders in the given order, or names until shipped_find_named replaces them */
    char *directory;     /* a folder of model folders; NULL: none. When serving, they are served;
                          * otherwise it is searched by     name */
    char *default_model; /* serving: the default model's name; NULL: none */
    char *from, *to;     /* batch modes: languages instead of a model; NULL: a model is given */
    size_t model_memory, idle_unload_s;
    size_t workers, rows, decode_memory;
    bool threads;  /* the library's; false: the threads that call decode */
    bool resident; /* the library's: models are loaded at the start and stay */
    size_t memory; /* that the process may have; the defaults of some options depend on it */
    char *log_level, *log_format, *compute;
    enum translator_switch shortlist;
    enum translator_switch half_past;

    /* serving */
    struct name_list listen;       /* addresses; empty: systemd's sockets, or OPTIONS_LISTEN */
    struct name_list admin_listen; /* the same for administrators; empty: none */
    struct name_list cors;         /* origins; "*" alone: any */
    struct name_list hosts;        /* names of this machine; "*": any */
    size_t socket_mode;            /* permissions of Unix sockets */
    char *api_keys, *tls_cert, *tls_key; /* files; NULL: none */
    struct name_list glossary;           /* NAME=FILE or NAME:SOURCE:TARGET=FILE */
    char *glossaries;    /* file of the glossaries that clients make; NULL: clients cannot make
                            glossaries */
    char *client_header; /* NULL: none */
    char *pivot;         /* language code; NULL: any; "none": never use two models */
    size_t queue, queue_work, step_ms, max_body_bytes, max_text_chars, deadline_ms, document_ms,
        document_bytes, document_sentences, keep_files_s, keep_files_bytes, grace_ms, heartbeat_ms,
        cache_bytes;
    size_t body_memory, request_memory, max_reply_bytes, reply_memory;
    size_t burst, connections, connections_per_address, http_threads, read_timeout_ms,
        send_timeout_ms;
    double rate;

    /* options allowed by the table of server/decode/request.h: serving: only max_steps; translating
     */
    struct search_options search;

    char *name, *role, *limits; /* the API key to make; limits NULL: none. name: also that of a
                                   downloaded or imported model */
    char *address, *admin_address, *path; /* the daemon that `alignd health` checks */

    /* batch modes */
    char *target, *links, *variant;
    char *format, *file;   /* a document; both NULL: lines are translated */
    char *bilingual;       /* NULL: only the translation */
    char *columns;         /* of a table; NULL: all */
    bool review;           /* write an XLIFF file with source and translation instead */
    char *merge;           /* such a file, whose targets go into the document; NULL: none */
    bool header;           /* the first row of a table is translated, too */
    struct name_list keys; /* path globs of the document's values */
    struct name_list protect,
        protect_patterns; /* strings and regular expressions that are not translated */
    bool split_sentences, keep_unknowns, verbatim, stats;

    /* downloading models, also on demand while serving; paths: the models to download, list or
     * remove */
    char *mirror, *records; /* a URL; a file; NULL: none */
    bool list, update, offline, preview, best;
    size_t retries, stall_s;
    char *fetch,
        *fetch_pairs;   /* sources; globs; NULL: nothing is downloaded on demand; all pairs */
    size_t fetch_bytes; /* OPTION_AUTO: as of struct fetcher_options */

    /* importing a model; NULL and 0: model/import/import.h */
    struct name_list paths; /* its files, folders and archives */
    char *into, *storage, *preparation, *alignment, *licence;
    size_t max_source_tokens, shortlist_first, shortlist_best;
    double max_target_ratio;
    bool allow_unknowns, no_shortlist, no_pack;

    /* counting the pieces of a language, `to`; paths: its text, or none for stdin */
    double share;
    size_t count; /* 0: no limit */

    /* training an alignment head; file, target: the sentences and their translations */
    size_t head_size, head_epochs, head_memory;

    char *output; /* file of the translation; NULL: stdout */
};

/* ---- reading them ---- */

/* A flag takes precedence over the environment (ALIGND_*), which takes precedence over the file of
 * --config, and that over the default. The options own copies of all strings. Returns -1 with
 * ERROR_INPUT, ERROR_FILE or ERROR_MEMORY and a message that names the flag, the variable, or the
 * file and line; options are then untouched. */
int options_parse(struct options *options, int argc, char *const *argv, struct error *err);
/* Reads these flags, "--workers=2", for a command. Neither the environment nor, unless a flag names
 * it, a file counts. Returns -1 as options_parse does. */
int options_read(struct options *options, enum command command, size_t count,
                 const char *const *flags, struct error *err);
/* Returns the command of a command line. */
enum command options_command(int argc, char *const *argv);
void options_done(struct options *options);

/* Returns the text of --help for one command, or with COMMAND_SERVE for all; the caller frees it.
 * NULL: out of memory. */
char *options_help(enum command command);

/* ---- the table ---- */

enum { OPTION_NAME_BYTES = 64, OPTIONS_MOST = 160 };
#define OPTION_AUTO SIZE_MAX /* a field whose value is computed: the option's help says how */

/* Commands that share options. */
enum {
    OPTION_BATCH = COMMAND_TRANSLATE | COMMAND_ATTENTION,
    OPTION_PROGRAM = COMMAND_SERVE | COMMAND_MCP,
    OPTION_SERVING = OPTION_PROGRAM | COMMAND_LIBRARY,
    OPTION_ALL = OPTION_SERVING | OPTION_BATCH,
    OPTION_KEPT = COMMAND_GET | COMMAND_MODELS | COMMAND_REMOVE,
    OPTION_DOWNLOADS = OPTION_PROGRAM | COMMAND_GET | COMMAND_IMPORT,
    OPTION_EVERY = OPTION_ALL | COMMAND_KEY | COMMAND_HEALTH | COMMAND_PACK | COMMAND_SHORTLIST |
                   COMMAND_ALIGN_HEAD | COMMAND_IMPORT | OPTION_KEPT
};

/* How a value is read, and the type of its field. */
enum option_kind {
    OPTION_STRING,       /* char *, owned */
    OPTION_CHOICE,       /* the same; it must be one of the option's choices */
    OPTION_SIZE,         /* size_t, within the option's range, as are the numbers below */
    OPTION_BYTES,        /* size_t, with units: 64k, 512M, 2G; "auto" where that is the fallback */
    OPTION_MILLISECONDS, /* size_t, with units: 500ms, 5s, 2min */
    OPTION_SECONDS,      /* the same in whole seconds */
    OPTION_REAL,         /* double */
    OPTION_SEED,         /* uint64_t */
    OPTION_STRATEGY,     /* const struct search_kind * */
    OPTION_MODE,         /* size_t: octal permissions */
    OPTION_SWITCH,       /* bool */
    OPTION_MODEL_SWITCH, /* enum translator_switch: a switch that "model" leaves to the model */
    /* struct name_list, to which values are appended, separated by: */
    OPTION_FOLDERS,    /* ':' */
    OPTION_ADDRESSES,  /* ',' */
    OPTION_NAMES,      /* ',' */
    OPTION_ORIGINS,    /* ','; web origins */
    OPTION_GLOSSARIES, /* ',' */
    OPTION_TEXTS,      /* not separated: each value is one entry */
};

enum { OPTION_VALUES_BYTES = 1024 };
struct option {
    const char *flag; /* without --, '_' may replace '-'; the variable is ALIGND_ and the flag in
                         capitals */
    const char *metavar;
    const char *fallback; /* default; NULL: none; "cores": the number of cores online */
    const char *help;
    int commands; /* the commands that have the option */
    enum option_kind kind;
    size_t offset; /* offset of the field in struct options */
    double minimum, maximum;
    const char *choices; /* "a, b or c" */
    /* Of bytes: the default is at most one part in so many of the memory that the process may have,
     * or, if the fallback is "auto", that part and at least 16 MiB; 0: the fallback is the default.
     */
    unsigned share;
    /* Writes the values that --help lists after the sentence; NULL: it lists none. */
    void (*values)(char names[OPTION_VALUES_BYTES]);
};

/* All options, in the order of --help. A flag may have a row for each of several commands. */
struct option_table {
    struct option options[OPTIONS_MOST]; /* [count] */
    size_t count;
};

void option_table_make(struct option_table *table);

/* Returns the option of one of these commands whose flag begins the argument, such as
 * --max-length=5; NULL: there is no such option. */
const struct option *option_find(const struct option_table *table, const char *argument,
                                 int commands);
/* Returns the option that was probably meant; NULL: no option is similar. */
const struct option *option_suggest(const struct option_table *table, const char *argument,
                                    int commands);

/* Writes the option's name in the environment: ALIGND_MAX_LENGTH. */
void option_variable(const struct option *option, char name[OPTION_NAME_BYTES]);
/* Writes its name on the command line, --max-length, from its flag or from an argument, in which
 * "--" may be missing, '_' counts as
 * '-', and a value may follow '='. */
void option_flag(const char *from, char name[OPTION_NAME_BYTES]);

/* Reads value into the option's field. name: the flag or variable, for messages. value NULL: a
 * switch without a value. Returns -1 with ERROR_INPUT or ERROR_MEMORY. */
int option_set(const struct option *option, const char *name, const char *value,
               struct options *options, struct error *err);
/* Returns true if an empty value has a meaning. */
bool option_may_be_empty(const struct option *option);
/* Frees and empties the field if it owns strings. */
void option_done(const struct option *option, struct options *options);

/* A word after alignd that names a command other than serving. */
struct option_command {
    const char *word;
    enum command command;
    const char *what;  /* describes the command */
    const char *usage; /* a line for each way to call it */
};
const struct option_command *option_command_nth(size_t i); /* Returns NULL after the last. */
/* Returns the word of the first of these commands; "" for serving. */
const char *option_command_word(int commands);

/* The word that was probably meant. At first everything except `asked` is zero; then suggest
 * compares one word after the other. */
struct suggestion {
    const char *asked;
    const char *nearest; /* NULL: no word is similar */
    size_t distance;
};
/* Keeps the word if it is the nearest so far, and returns whether it is. */
bool option_suggest_word(struct suggestion *suggestion, const char *word);

enum { SUGGEST_MOST_BYTES = 64 }; /* longer words get no suggestion */
/* Returns the number of letters that must be inserted, removed, replaced or swapped with the next
 * one (optimal string alignment). Both words have at most SUGGEST_MOST_BYTES. */
size_t option_distance(const char *a, const char *b);

#endif
