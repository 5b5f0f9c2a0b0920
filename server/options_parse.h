/* The command line and the environment, read as the table of the options has it. */
#ifndef ALIGND_OPTIONS_PARSE_H
#define ALIGND_OPTIONS_PARSE_H

#include "model/base/error.h"
#include "server/options.h"

/* Flag before environment (ALIGND_*) before default. Owns copies of all strings. -1 with ERROR_INPUT and a message that names the
 * flag or variable, or ERROR_MEMORY; options untouched then. */
int options_parse(struct options *options, int argc, char *const *argv, struct error *err);
void options_done(struct options *options);

#endif
