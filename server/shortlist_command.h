/* The command that counts which target pieces a language uses: `alignd shortlist`. */
#ifndef ALIGND_SHORTLIST_COMMAND_H
#define ALIGND_SHORTLIST_COMMAND_H

#include "model/base/error.h"
#include "server/options.h"

/* Counts the pieces of the files that are named, or of stdin, makes the list of the language --to from them (model/pieces.h), puts
 * it into the folder of the model of many languages, writes the entries of the manifest anew, and prints what the list has. A
 * folder whose files do not match its manifest is not changed. -1 with a message that begins with the folder or the text. */
int shortlist_command(const struct options *options, struct error *err);

#endif
