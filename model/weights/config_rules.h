/* What weights/config.def says, which weights/config.py reads, too: the keys of config.json and the rules between them. Shared by
 * config_read.c, which reads the keys, and config_rules.c, which checks the rules. */
#ifndef ALIGND_CONFIG_RULES_H
#define ALIGND_CONFIG_RULES_H

#include "model/weights/config.h"

/* The file as it is read, before names of choices become values. */
struct raw_config {
    size_t format;
    char initial_state[CONFIG_NAME_BYTES], first_input[CONFIG_NAME_BYTES];
    char scale[CONFIG_NAME_BYTES], keys[CONFIG_NAME_BYTES], values[CONFIG_NAME_BYTES];              /* of the attention */
    char capitals[CONFIG_NAME_BYTES], lowercase[CONFIG_NAME_BYTES], punctuation[CONFIG_NAME_BYTES]; /* on which sides */
    char initial_cell[CONFIG_NAME_BYTES], preparation[CONFIG_NAME_BYTES];
    struct model_config config;
};

/* Fields: char [CONFIG_NAME_BYTES], the same, bool, size_t, double. */
enum config_kind { CONFIG_string, CONFIG_file, CONFIG_boolean, CONFIG_integer, CONFIG_number };

/* One key. Its path is what messages begin with. */
struct config_key {
    const char *path;
    enum config_kind kind;
    size_t offset;        /* of the field in struct raw_config */
    const char *fallback; /* what it is without a value; "": it is required */
    const char *allowed;  /* "one, two, three" or "least to most"; "": any string, any boolean */
    const char *only;     /* "one, two": the values of encoder.type, or of decoder.style, that have it; "": any */
};

/* In the order of the file; path NULL ends it. */
extern const struct config_key config_keys[];

/* True if the list "one, two, three" has this name. */
bool config_listed(const char *list, const char *name);

/* The encoder's type or the decoder's style, read before, has such a key. */
bool config_has(const struct config_key *key, const struct raw_config *raw);
/* What key->only names: "type" or "style". */
const char *config_chooser(const struct config_key *key);

/* 0, or -1 with ERROR_FORMAT if what the keys say together cannot be built. */
int config_check(const struct raw_config *raw, struct error *err);

#endif
