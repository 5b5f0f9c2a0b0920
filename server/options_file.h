/* A file of options, as --config names it:
 *
 *     # what everybody may ask for
 *     listen = 0.0.0.0:8080
 *     model = /srv/models/en-fr        # may stand several times, as the flag
 *     model-memory = 2G
 *     shortlist
 *
 * The names are those of the flags, with or without "--". A '#' at the beginning of a line or after white space begins a comment.
 */
#ifndef ALIGND_OPTIONS_FILE_H
#define ALIGND_OPTIONS_FILE_H

#include "server/option_table.h"

/* Sets what it says of options->command; options of other commands are passed over. -1 with ERROR_INPUT: the message names file and
 * line; ERROR_FILE or ERROR_MEMORY. */
int options_file_read(struct options *options, const struct option_table *table, const char *path, struct error *err);

#endif
