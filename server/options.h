/* What the command line and the environment say (options_parse.h), by the table of the options (option_table.h). */
#ifndef ALIGND_OPTIONS_H
#define ALIGND_OPTIONS_H

#include "model/translator.h"
#include "server/base/name_list.h"
#include "server/option_kinds.h"
#include <stdbool.h>
#include <stddef.h>

#define OPTIONS_LISTEN "127.0.0.1:8080" /* where alignd listens when it is told nothing else */

enum command {
    COMMAND_SERVE = 1 << 0,
    COMMAND_TRANSLATE = 1 << 1,
    COMMAND_ATTENTION = 1 << 2,
    COMMAND_KEY = 1 << 3,
    COMMAND_HEALTH = 1 << 4,
    COMMAND_PACK = 1 << 5,
    COMMAND_IMPORT = 1 << 6
};

struct options {
    enum command command;
    bool help, version; /* asked for: nothing else counts */

    char *config;            /* file of options; NULL: none */
    struct name_list models; /* folders, in the order given; until models_find has replaced them, perhaps names */
    char *directory;         /* of model folders; NULL: none. Serving, as these; in batch modes, where names are looked up */
    char *default_model;     /* serving: its name; NULL: none */
    char *from, *to;         /* batch modes: languages, in the place of a model; NULL: one is named */
    size_t model_memory, idle_unload_s;
    size_t workers, rows, decode_memory;
    char *log_level, *log_format, *compute;
    bool shortlist, half_past;

    /* serving; unset in other modes */
    struct name_list listen;             /* addresses; empty: systemd's sockets, or OPTIONS_LISTEN */
    struct name_list admin_listen;       /* the same for administrators; empty: none */
    struct name_list cors;               /* origins, "*" alone: any */
    size_t socket_mode;                  /* of Unix sockets */
    char *api_keys, *tls_cert, *tls_key; /* files; NULL: none */
    struct name_list glossary;           /* NAME=FILE or NAME:SOURCE:TARGET=FILE */
    char *glossaries;                    /* file of those that clients make; NULL: they may make none */
    char *client_header, *pivot;
    size_t queue, queue_work, step_ms, max_body_bytes, max_text_chars, deadline_ms, document_ms, keep_files_s, keep_files_bytes,
        grace_ms, heartbeat_ms, cache_bytes;
    size_t request_memory, max_reply_bytes, reply_memory;
    size_t burst, connections, connections_per_address, read_timeout_ms, send_timeout_ms;
    double rate;

    /* what the table of server/decode/parameters.h lets be set; unset in other modes: serving, max_steps alone; translating */
    struct search_options search;

    char *name, *role, *limits;           /* of the API key to make; limits: NULL: none. name: also of the model to import */
    char *address, *admin_address, *path; /* of the daemon whose health is asked for */

    /* batch modes; unset when serving */
    char *target, *links, *variant;
    char *format, *file;                        /* of a document; both NULL: lines are translated */
    struct name_list keys;                      /* path globs of the document's values */
    struct name_list protect, protect_patterns; /* what stays as it is: strings and regular expressions */
    bool split_sentences, keep_unknowns, verbatim, stats;

    /* of importing a model */
    struct name_list paths;                         /* files, folders and archives of it */
    char *into, *storage, *preparation, *alignment; /* NULL: model/import/import.h */
    size_t max_source_tokens, shortlist_first, shortlist_best;
    double max_target_ratio;
    bool allow_unknowns, no_shortlist;

    /* of translating lines */
    char *output, *checkpoint; /* files; NULL: stdout, none */
    size_t checkpoint_s;       /* at least, between two */
    struct option_shard shard; /* of the input; count 0: all of it */
};

#endif
