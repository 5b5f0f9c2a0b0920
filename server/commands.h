/* This header declares the commands other than serving, `alignd COMMAND`, and how all commands find
 * models by name.
 *
 * Each command returns 0, or -1 with an error. status: the exit status, EXIT_SUCCESS at first; if a
 * failure does not change it, alignd exits with EXIT_FAILURE. */
#ifndef ALIGND_COMMANDS_H
#define ALIGND_COMMANDS_H

#include "server/options/options.h"
#include <stdint.h>
#include <stdio.h>

/* ---- translate, attention (offline.c) ----
 *
 * They process lines or a document with the same scheduler and workers as the daemon. */

/* Translates the document options->file, or else the lines of stdin, in order, until the end of the
 * input. Lines that are longer than the model accepts are reported on stderr and are empty in the
 * output; then the exit status is 3. Returns -1 if the run fails; earlier lines may then have been
 * written, but no part of a document. */
int command_offline(struct options *options, int *status, struct error *err);

/* The progress of a run over lines, which a terminal shows. */
struct headway {
    size_t lines;            /* written */
    double seconds;          /* since the run began */
    uint64_t done, of_bytes; /* bytes of the input that are done, and of all of it; of_bytes 0: its
                                length is unknown */
};

enum { HEADWAY_BYTES = 96 };

/* Writes "1,234 lines, 512 per second, 37%, 2:05 left"; leaves out unknown parts. */
void headway_say(const struct headway *headway, char line[HEADWAY_BYTES]);

/* ---- mcp (stdio.c) ---- */

struct engine;
/* Answers messages of the Model Context Protocol, a line each, until the end of the input. The
 * engine must have been started. Returns -1 if reading or writing fails. */
int command_serve_stdio(struct engine *engine, FILE *in, FILE *out, struct error *err);

/* ---- get, models, remove, import, pack, shortlist, align-head (model_commands.c) ----
 *
 * They download, list, remove and convert models, and change their folders. SIGINT, SIGTERM and
 * SIGHUP end get and import without leaving incomplete models. Call at most one of them, once per
 * process. */

int command_get(struct options *options, int *status, struct error *err);
int command_models(struct options *options, int *status, struct error *err);
int command_remove(struct options *options, int *status, struct error *err);
/* Converts another toolkit's model, of paths or URLs, to a model folder (model/import/import.h),
 * and reports the result on stdout.
 */
int command_import(struct options *options, int *status, struct error *err);

/* Packs the weights of model folders into files there, which loading maps
 * (model/weights/weights.h), and prints their names. A folder whose files do not match its manifest
 * is not packed. Returns -1 with a message that names the folder; those before it are packed. */
int command_pack(struct options *options, int *status, struct error *err);

/* Counts the pieces of the files that are named, or of stdin, makes the list of the language --to
 * from them (model/translator.h), puts it into the folder of the model of many languages, updates
 * the manifest, and prints a summary of the list. A folder whose files do not match its manifest is
 * not changed. Returns -1 with a message that begins with the folder or the text. */
int command_shortlist(struct options *options, int *status, struct error *err);

/* Trains an alignment head for the model that is named, from the lines of options->file and their
 * translations in options->target (model/head.h), puts it into the model's folder, updates the
 * manifest, and prints a summary. A folder whose files do not match its manifest is not changed.
 * Returns -1 with a message that names the folder, or the file and line. */
int command_align_head(struct options *options, int *status, struct error *err);

/* ---- the greeting (greeting.c) ---- */

/* The facts that alignd prints on a terminal once it serves: the addresses, the models, and a first
 * command. */
struct greeting {
    const char
        *address;   /* as http_address returns it: "127.0.0.1:8080", "unix:/run/alignd.socket" */
    bool tls, keys; /* TCP speaks HTTPS; requests need an API key */
    const char *directory;     /* folder of the models; NULL: each was named */
    bool gets;                 /* models that are downloaded will be served */
    const char *const *models; /* [model_count] names; the first dozen is listed */
    size_t model_count;
    const char *usual; /* the model for requests that name none; NULL: requests must name one */
};

/* Returns the lines, separated by line feeds; the caller frees them. NULL: out of memory. */
char *greeting_write(const struct greeting *greeting);

#endif
