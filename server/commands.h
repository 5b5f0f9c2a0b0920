/* This header declares the commands other than serving, `alignd COMMAND`, and how all commands find
 * models by name.
 *
 * Each command returns 0, or -1 with an error. status: the exit status, EXIT_SUCCESS at first; if a
 * failure does not change it, alignd exits with EXIT_FAILURE. */
#ifndef ALIGND_COMMANDS_H
#define ALIGND_COMMANDS_H

#include "server/options.h"
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

struct service;
/* Answers messages of the Model Context Protocol, a line each, until the end of the input. Workers
 * must be running, and the service ready. Returns -1 if reading or writing fails. */
int command_serve_stdio(struct service *service, FILE *in, FILE *out, struct error *err);

/* ---- output files (offline.c) ----
 *
 * An output file is written either in place or as a whole. If it is written as a whole, it has its
 * old or its new content after any failure.
 *
 * A file that is written as a whole has no name until it is finished (O_TMPFILE; on file systems
 * without that, it has a temporary name beside the file), and then replaces the file by rename. It
 * keeps the old file's permissions, and a symbolic link still points to it. A file that can be
 * written but not replaced, such as a mount point, is overwritten with the finished content, and a
 * failure may then leave a part of it. Pipes, devices and /dev/stdout have no content that could be
 * lost: they are written in place. An outfile belongs to one thread. */

struct outfile {
    FILE *file;
    const char *name; /* the caller's path, which must outlive this */
    char *path;       /* the final path; NULL: the file is written in place */
    char *temporary;  /* the temporary path; NULL: none */
};

/* Opens the file of this name to be written as a whole. Returns -1 with ERROR_FILE or ERROR_MEMORY;
 * then nothing is open and nothing has changed. */
int outfile_open(struct outfile *output, const char *name, struct error *err);

/* Closes the output. keep: it replaces the file once all of it is on the disk; otherwise the file
 * stays as if it had never been opened, unless it was written in place. Returns -1 with ERROR_FILE
 * if it could not be written; a file that can be replaced then still has the old content. */
int outfile_close(struct outfile *output, bool keep, struct error *err);

/* ---- get, models, remove, import, pack, shortlist (model_commands.c) ----
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

/* ---- the models that came with alignd (shipped.c) ---- */

/* They are found relative to the program, so that an installation, a checkout and a container need
 * no option. */
struct shipped {
    char *directory;          /* contains all of them */
    struct name_list folders; /* paths, in the order in which they are served: en-fr first, then the
                                 others by name */
    char *downloaded;         /* the folder of downloaded models, which precede these
                                 (shipped_find_downloaded); NULL:         not searched */
    const char *usual; /* the model for requests that name neither a model nor languages: en-fr;
                          NULL: it is missing */
};

/* Returns -1 with ERROR_FILE if there are none, and a message that names the searched folders; or
 * with ERROR_MEMORY. The struct is then zeroed. */
int shipped_find(struct shipped *shipped, struct error *err);
/* Finds those of the program at this path in the same way. */
int shipped_find_beside(const char *program, struct shipped *shipped, struct error *err);
/* Finds them and the folder of downloaded models, which may be missing. Returns -1 if neither has
 * models. */
int shipped_find_downloaded(struct shipped *shipped, struct error *err);
void shipped_done(struct shipped *shipped);

/* ---- models by name ---- */

/* Replaces names in options->models by folders. A name that is neither a model folder nor a path is
 * a model's name, or languages such as "en-fr"; it is looked up in options->directory, or else
 * among the models that were downloaded and those that came with alignd. If options->from and
 * options->to are set, the models must translate from one to the other. If no models are given, the
 * nearest model that does is chosen in the same way as by the daemon, and options->variant is set
 * if it writes several languages. Returns -1 with ERROR_INPUT and a message that lists the models;
 * or with ERROR_FILE or ERROR_MEMORY. */
int shipped_find_named(struct options *options, struct error *err);

/* ---- the greeting ---- */

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
char *shipped_greeting(const struct greeting *greeting);

#endif
