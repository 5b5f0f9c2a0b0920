/* The command line, the environment and a file, read as the table of the options has it. */
#ifndef ALIGND_OPTIONS_PARSE_H
#define ALIGND_OPTIONS_PARSE_H

#include "model/base/error.h"
#include "server/options.h"

/* Flag before environment (ALIGND_*) before the file of --config (options_file.h) before default. Owns copies of all strings. -1
 * with a message that names the flag, the variable, or the file and line: ERROR_INPUT, ERROR_FILE or ERROR_MEMORY; options
 * untouched then. */
int options_parse(struct options *options, int argc, char *const *argv, struct error *err);
/* The command that a command line is for. */
enum command options_command(int argc, char *const *argv);
void options_done(struct options *options);

#endif
