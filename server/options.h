/* What the command line, the environment and the file of --config say. The options themselves are in the table of option_table.h.
 *
 * The file has one option per line, named like the flag, with or without "--". A '#' at the beginning of a line or after white
 * space begins a comment:
 *
 *     listen = 0.0.0.0:8080
 *     model = /srv/models/en-fr        # may appear several times, like the flag
 *     model-memory = 2G
 *     shortlist
 */
#ifndef ALIGND_OPTIONS_H
#define ALIGND_OPTIONS_H

#include "model/translator.h"
#include "server/base/name_list.h"
#include <stdbool.h>
#include <stddef.h>

#define OPTIONS_LISTEN "127.0.0.1:8080" /* where alignd listens by default */

enum command {
    COMMAND_SERVE = 1 << 0,
    COMMAND_TRANSLATE = 1 << 1,
    COMMAND_ATTENTION = 1 << 2,
    COMMAND_KEY = 1 << 3,
    COMMAND_HEALTH = 1 << 4,
    COMMAND_PACK = 1 << 5
};

/* --shard K/N */
struct option_shard {
    size_t index, count; /* index < count */
};

/* Fields of options that the command does not have are zero. */
struct options {
    enum command command;
    bool help, version; /* if set, nothing else counts */

    char *config;            /* file of options; NULL: none */
    struct name_list models; /* folders, in the order given; names, too, until models_find replaces them */
    char *directory;         /* of model folders; NULL: none. Serving: these are served; otherwise: names are looked up there */
    char *default_model;     /* serving: its name; NULL: none */
    char *from, *to;         /* batch modes: languages instead of a model; NULL: a model is named */
    size_t model_memory, idle_unload_s;
    size_t workers, rows, decode_memory;
    char *log_level, *log_format, *compute;
    bool shortlist, half_past;

    /* serving */
    struct name_list listen;             /* addresses; empty: systemd's sockets, or OPTIONS_LISTEN */
    struct name_list admin_listen;       /* the same for administrators; empty: none */
    struct name_list cors;               /* origins; "*" alone: any */
    size_t socket_mode;                  /* of Unix sockets */
    char *api_keys, *tls_cert, *tls_key; /* files; NULL: none */
    struct name_list glossary;           /* NAME=FILE or NAME:SOURCE:TARGET=FILE */
    char *glossaries;                    /* file of those that clients make; NULL: clients can make none */
    char *client_header, *pivot;
    size_t queue, queue_work, step_ms, max_body_bytes, max_text_chars, deadline_ms, document_ms, keep_files_s, keep_files_bytes,
        grace_ms, heartbeat_ms, cache_bytes;
    size_t request_memory, max_reply_bytes, reply_memory;
    size_t burst, connections, connections_per_address, read_timeout_ms, send_timeout_ms;
    double rate;

    /* what the table of server/decode/parameters.h allows: serving, max_steps alone; translating */
    struct search_options search;

    char *name, *role, *limits;           /* of the API key to make; limits NULL: none */
    char *address, *admin_address, *path; /* of the daemon that `alignd health` asks */

    /* batch modes */
    char *target, *links, *variant;
    char *format, *file;                        /* of a document; both NULL: lines are translated */
    struct name_list keys;                      /* path globs of the document's values */
    struct name_list protect, protect_patterns; /* strings and regular expressions that are not translated */
    bool split_sentences, keep_unknowns, verbatim, stats;

    /* translating lines */
    char *output, *checkpoint; /* files; NULL: stdout, none */
    size_t checkpoint_s;       /* the least time between two */
    struct option_shard shard; /* of the input; count 0: all of it */
};

/* A flag takes precedence over the environment (ALIGND_*), which takes precedence over the file of --config, and that over the
 * default. The options own copies of all strings. -1 with ERROR_INPUT, ERROR_FILE or ERROR_MEMORY and a message that names the
 * flag, the variable, or the file and line; options are untouched then. */
int options_parse(struct options *options, int argc, char *const *argv, struct error *err);
/* The command that a command line is for. */
enum command options_command(int argc, char *const *argv);
void options_done(struct options *options);

/* The text of --help for one command; COMMAND_SERVE: for all. The caller frees it. NULL: memory is out. */
char *options_help(enum command command);

#endif
