/* The commands other than serving: `alignd COMMAND`. */
#ifndef ALIGND_COMMANDS_H
#define ALIGND_COMMANDS_H

#include "model/base/error.h"
#include "server/options.h"
#include <stdint.h>

/* ---- translate, attention (offline.c) ----
 *
 * They process lines or a document with the same scheduler and workers as the daemon. */

/* Translates the document options->file, or else the lines of stdin, in order, until the end of the input. skipped: the number of
 * lines that are longer than the model accepts; they are reported on stderr and are empty in the output. Returns -1 if the run
 * fails; earlier lines may then have been written, but no part of a document. */
int offline_run(const struct options *options, size_t *skipped, struct error *err);

/* The progress of a run over lines, which a terminal shows. */
struct headway {
    size_t lines;            /* written */
    double seconds;          /* since the run began */
    uint64_t done, of_bytes; /* of the input; of_bytes 0: its length is unknown */
};

enum { HEADWAY_BYTES = 96 };

/* "1,234 lines, 512 per second, 37%, 2:05 left"; unknown parts are left out. */
void headway_say(const struct headway *headway, char line[HEADWAY_BYTES]);

/* ---- get, models, remove, import, pack, shortlist (model_commands.c) ----
 *
 * They bring models, keep them and change their folders. SIGINT, SIGTERM and SIGHUP end get and import without leaving incomplete
 * models. Call at most one of them, once per process. */

/* Each returns 0, or -1 with an error. status: the exit status, also of a failure. */
int get_command(const struct options *options, int *status, struct error *err);
int models_command(const struct options *options, int *status, struct error *err);
int remove_command(const struct options *options, int *status, struct error *err);
/* Converts another toolkit's model, of paths or URLs, to a model folder (model/import/import.h), and reports the result on stdout.
 */
int import_command(const struct options *options, int *status, struct error *err);

/* Packs the weights of model folders into files there, which loading maps (model/weights/weights.h), and prints their names. A
 * folder whose files do not match its manifest is not packed. Returns -1 with a message that names the folder; those before it are
 * packed. */
int pack_command(const struct options *options, struct error *err);

/* Counts the pieces of the files that are named, or of stdin, makes the list of the language --to from them (model/translator.h),
 * puts it into the folder of the model of many languages, writes the entries of the manifest anew, and prints what the list has. A
 * folder whose files do not match its manifest is not changed. -1 with a message that begins with the folder or the text. */
int shortlist_command(const struct options *options, struct error *err);

#endif
