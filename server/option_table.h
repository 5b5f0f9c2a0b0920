/* The table of the options: flag, environment variable, default, range and help of each. That of the searches' parameters
 * (server/decode/parameters.c) goes on with it. */
#ifndef ALIGND_OPTION_TABLE_H
#define ALIGND_OPTION_TABLE_H

#include "server/option_kinds.h"
#include "server/options.h"
#include <stddef.h>

enum { OPTION_NAME_BYTES = 64, OPTIONS_MOST = 128 };

/* Commands that share options. */
enum {
    OPTION_BATCH = COMMAND_TRANSLATE | COMMAND_ATTENTION,
    OPTION_ALL = COMMAND_SERVE | OPTION_BATCH,
    OPTION_EVERY = OPTION_ALL | COMMAND_KEY | COMMAND_HEALTH | COMMAND_PACK | COMMAND_IMPORT
};

/* All options, in the order of --help. One flag may have a row for each of several commands. */
struct option_table {
    struct option options[OPTIONS_MOST]; /* [count] */
    size_t count;
};

void option_table_make(struct option_table *table);

/* A word after alignd that makes it do something else than serve. */
struct option_command {
    const char *word;
    enum command command;
    const char *what;  /* it does */
    const char *usage; /* a line for each way to call it */
};
const struct option_command *option_command_nth(size_t i); /* NULL: there are no more */

/* The word of the first of these commands; "" of serving alone. */
const char *option_command_word(int commands);

/* The option of one of these commands whose flag begins the argument: --max-length=5; NULL: there is none. */
const struct option *option_find(const struct option_table *table, const char *argument, int commands);
/* The one that may have been meant; NULL: none is near. */
const struct option *option_suggest(const struct option_table *table, const char *argument, int commands);
/* Its field. */
void *option_field(const struct option *option, struct options *options);

/* As the environment and the command line have it: ALIGND_MAX_LENGTH, --max-length. */
void option_variable(const struct option *option, char name[OPTION_NAME_BYTES]);
void option_flag(const struct option *option, char name[OPTION_NAME_BYTES]);

#endif
