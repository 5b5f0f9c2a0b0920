/* The text of --help: all of it, or that of one command. */
#ifndef ALIGND_OPTIONS_HELP_H
#define ALIGND_OPTIONS_HELP_H

#include "server/options.h"

/* To be freed. COMMAND_SERVE: of all commands. NULL when memory is out. */
char *options_help(enum command command);

#endif
