/* The table of the options: flag, environment variable, kind, default, range and help of each. Parsing, --help and the man page
 * come from it. The parameters of the searches (server/decode/parameters.c) continue it. */
#ifndef ALIGND_OPTION_TABLE_H
#define ALIGND_OPTION_TABLE_H

#include "server/options.h"

enum { OPTION_NAME_BYTES = 64, OPTIONS_MOST = 128 };

/* Commands that share options. */
enum {
    OPTION_BATCH = COMMAND_TRANSLATE | COMMAND_ATTENTION,
    OPTION_ALL = COMMAND_SERVE | OPTION_BATCH,
    OPTION_EVERY = OPTION_ALL | COMMAND_KEY | COMMAND_HEALTH | COMMAND_PACK
};

/* How a value is read, and what the field is. */
enum option_kind {
    OPTION_STRING,       /* char *, owned */
    OPTION_CHOICE,       /* the same, one of the option's choices */
    OPTION_SIZE,         /* size_t, within the option's range, as are the numbers below */
    OPTION_BYTES,        /* size_t, with units: 64k, 512M, 2G */
    OPTION_MILLISECONDS, /* size_t, with units: 500ms, 5s, 2min */
    OPTION_SECONDS,      /* the same in whole seconds */
    OPTION_REAL,         /* double */
    OPTION_SEED,         /* uint64_t */
    OPTION_STRATEGY,     /* const struct search_kind * */
    OPTION_MODE,         /* size_t: octal permissions */
    OPTION_SWITCH,       /* bool */
    OPTION_SHARD,        /* struct option_shard */
    /* struct name_list, to which values are appended, separated by: */
    OPTION_FOLDERS,    /* ':' */
    OPTION_ADDRESSES,  /* ',' */
    OPTION_ORIGINS,    /* ','; of the web */
    OPTION_GLOSSARIES, /* ',' */
    OPTION_TEXTS,      /* nothing: each value is one */
};

struct option {
    const char *flag; /* without --, perhaps with _ for -; the variable is ALIGND_ and the flag in capitals */
    const char *metavar;
    const char *fallback; /* default; NULL: none; "cores": the number of cores online */
    const char *help;
    int commands; /* that have it */
    enum option_kind kind;
    size_t offset; /* of the field in struct options */
    double minimum, maximum;
    const char *choices; /* "a, b or c" */
};

/* All options, in the order of --help. A flag may have a row for each of several commands. */
struct option_table {
    struct option options[OPTIONS_MOST]; /* [count] */
    size_t count;
};

void option_table_make(struct option_table *table);

/* The option of one of these commands whose flag begins the argument, such as --max-length=5; NULL: there is none. */
const struct option *option_find(const struct option_table *table, const char *argument, int commands);
/* The one that was probably meant; NULL: none is similar. */
const struct option *option_suggest(const struct option_table *table, const char *argument, int commands);

/* The names in the environment and on the command line: ALIGND_MAX_LENGTH, --max-length. */
void option_variable(const struct option *option, char name[OPTION_NAME_BYTES]);
void option_flag(const struct option *option, char name[OPTION_NAME_BYTES]);

/* Reads value into the option's field. name: of the flag or variable, for messages. value NULL: a switch without one. -1 with
 * ERROR_INPUT or ERROR_MEMORY. */
int option_set(const struct option *option, const char *name, const char *value, struct options *options, struct error *err);
/* Whether an empty value has a meaning. */
bool option_may_be_empty(const struct option *option);
/* Frees what the field owns and empties it. */
void option_done(const struct option *option, struct options *options);

/* A word after alignd that names another command than serving. */
struct option_command {
    const char *word;
    enum command command;
    const char *what;  /* it does */
    const char *usage; /* a line for each way to call it */
};
const struct option_command *option_command_nth(size_t i); /* NULL: there are no more */
/* The word of the first of these commands; "": of serving. */
const char *option_command_word(int commands);

/* The word that was probably meant. Zeroed but for `asked` at first; then suggest looks at one word after the other. */
struct suggestion {
    const char *asked;
    const char *nearest; /* NULL: no word is similar */
    size_t distance;
};
void suggest(struct suggestion *suggestion, const char *word);

enum { SUGGEST_MOST_BYTES = 64 }; /* longer words get no suggestion */
/* How many letters must be inserted, left out, replaced or swapped with the next one (optimal string alignment). Both words have at
 * most SUGGEST_MOST_BYTES. */
size_t suggest_distance(const char *a, const char *b);

#endif
