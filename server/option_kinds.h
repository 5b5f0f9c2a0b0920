/* The kinds of options: each reads a value into its field of struct options, or says what is wrong with it. */
#ifndef ALIGND_OPTION_KINDS_H
#define ALIGND_OPTION_KINDS_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>

/* What the field is. */
enum option_kind {
    /* char *, of its own */
    OPTION_STRING,
    OPTION_COMPUTE,
    OPTION_LINKS,
    OPTION_LOG_LEVEL,
    OPTION_LOG_FORMAT,
    OPTION_ROLE,
    /* numbers, within the option's range */
    OPTION_SIZE,         /* size_t */
    OPTION_BYTES,        /* size_t, with units: 64k, 512M, 2G */
    OPTION_MILLISECONDS, /* size_t, with units: 500ms, 5s, 2min */
    OPTION_SECONDS,      /* the same, whole seconds */
    OPTION_REAL,         /* double */
    OPTION_SEED,         /* uint64_t */
    /* others */
    OPTION_STRATEGY, /* const struct search_kind * */
    OPTION_MODE,     /* size_t: octal permissions */
    OPTION_SWITCH,   /* bool */
    OPTION_SHARD,    /* struct option_shard */
    /* struct name_list, appended to */
    OPTION_FOLDERS,    /* with ':' between them */
    OPTION_ADDRESSES,  /* ',' */
    OPTION_ORIGINS,    /* of the web, ',' */
    OPTION_GLOSSARIES, /* ',' */
    OPTION_TEXTS,      /* one */
};

/* --shard K/N */
struct option_shard {
    size_t index, count; /* index < count */
};

struct option {
    const char *flag; /* without --, _ stands for -; the variable is ALIGND_ and the flag in capitals */
    const char *metavar;
    const char *fallback; /* NULL: none */
    const char *help;
    int commands; /* that know it */
    enum option_kind kind;
    size_t offset; /* of the field in struct options */
    double minimum, maximum;
};

/* name: of the flag or variable, for messages. value NULL: a switch without one. -1 with ERROR_INPUT or ERROR_MEMORY. */
int option_set(const struct option *option, const char *name, const char *value, void *field, struct error *err);
/* An empty value says something. */
bool option_may_be_empty(const struct option *option);
/* Frees what the field owns; it is as before the first option_set then. */
void option_done(const struct option *option, void *field);

#endif
