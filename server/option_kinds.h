/* The kinds of options: each reads a value into its field of struct options, or says what is wrong with it. */
#ifndef ALIGND_OPTION_KINDS_H
#define ALIGND_OPTION_KINDS_H

#include "model/base/error.h"
#include <stddef.h>

/* --shard K/N */
struct option_shard {
    size_t index, count; /* index < count */
};

struct option;
/* name: of the flag or variable, for messages. value NULL: a switch without one. -1 with ERROR_INPUT or ERROR_MEMORY. */
typedef int option_set(const struct option *option, const char *name, const char *value, void *field, struct error *err);

struct option {
    const char *flag; /* without --, _ stands for -; the variable is ALIGND_ and the flag in capitals */
    const char *metavar;
    const char *fallback; /* NULL: none */
    const char *help;
    int commands; /* that know it */
    option_set *set;
    size_t offset; /* of the field in struct options */
    double minimum, maximum;
};

/* char *, of its own */
option_set set_string, set_compute, set_links, set_log_level, set_log_format, set_role;
/* numbers, within the option's range: size_t, double, uint64_t */
option_set set_size, set_real, set_seed;
/* const struct search_kind * */
option_set set_strategy;
/* size_t: octal permissions */
option_set set_mode;
/* bool */
option_set set_switch;
/* struct option_shard */
option_set set_shard;
/* struct name_list, appended to: folders with ':' between them, addresses, web origins and glossaries with ',', one text */
option_set set_folders, set_addresses, set_origins, set_glossaries, set_texts;

#endif
