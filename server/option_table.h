/* The table of the options: flag, environment variable, default, range and help of each. That of the searches' parameters
 * (server/decode/parameters.c) goes on with it. */
#ifndef ALIGND_OPTION_TABLE_H
#define ALIGND_OPTION_TABLE_H

#include "server/option_kinds.h"
#include "server/options.h"
#include <stddef.h>

enum { OPTION_NAME_BYTES = 64, OPTIONS_MOST = 128 };

/* Commands that share options. */
enum { OPTION_ALL = COMMAND_SERVE | COMMAND_TRANSLATE | COMMAND_ATTENTION, OPTION_BATCH = COMMAND_TRANSLATE | COMMAND_ATTENTION };

/* All options, in the order of --help. One flag may have a row for each of several commands. */
struct option_table {
    struct option options[OPTIONS_MOST]; /* [count] */
    size_t count;
};

void option_table_make(struct option_table *table);

/* As the environment and the command line have it: ALIGND_MAX_LENGTH, --max-length. */
void option_variable(const struct option *option, char name[OPTION_NAME_BYTES]);
void option_flag(const struct option *option, char name[OPTION_NAME_BYTES]);

#endif
