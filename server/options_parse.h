/* Options are read from the command line, the environment and the file of --config; --help describes them.
 *
 * The file has one option per line, named like the flag, with or without "--". A '#' at the beginning of a line or after white
 * space begins a comment:
 *
 *     listen = 0.0.0.0:8080
 *     model = /srv/models/en-fr        # may appear several times, like the flag
 *     model-memory = 2G
 *     shortlist
 */
#ifndef ALIGND_OPTIONS_PARSE_H
#define ALIGND_OPTIONS_PARSE_H

#include "model/base/error.h"
#include "server/options.h"

/* A flag takes precedence over the environment (ALIGND_*), which takes precedence over the file of --config, and that over the
 * default. The options own copies of all strings. Returns -1 with ERROR_INPUT, ERROR_FILE or ERROR_MEMORY and a message that names
 * the flag, the variable, or the file and line; options are then untouched. */
int options_parse(struct options *options, int argc, char *const *argv, struct error *err);
/* The command of a command line. */
enum command options_command(int argc, char *const *argv);
void options_done(struct options *options);

/* The text of --help for one command; COMMAND_SERVE: for all commands. The caller frees it. NULL: memory is out. */
char *options_help(enum command command);

#endif
