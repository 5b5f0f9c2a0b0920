/* The languages of a model that translates between many, by the section `languages` of config.json: for each code the token that
 * begins a source in it, and the token that begins a translation into it. */
#ifndef ALIGND_MODEL_LANGUAGES_H
#define ALIGND_MODEL_LANGUAGES_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>

enum { MODEL_LANGUAGES_MOST = 1000, MODEL_LANGUAGE_BYTES = 64 };

struct model_language {
    char code[MODEL_LANGUAGE_BYTES];                                 /* BCP-47 */
    char source[MODEL_LANGUAGE_BYTES], target[MODEL_LANGUAGE_BYTES]; /* pieces */
    char list[MODEL_LANGUAGE_BYTES]; /* its list of target ids in shortlist.safetensors; "": it has none */
};

struct model_languages {
    struct model_language *all; /* [count] */
    const char **codes;         /* [count] */
    size_t count;               /* 0: the model has no such section */
    struct language_alias {
        char name[MODEL_LANGUAGE_BYTES];
        size_t language;
    } * aliases; /* [alias_count] other names of languages */
    size_t alias_count;
};

/* Reads the section of this config.json, if it has one. -1 with ERROR_FILE, ERROR_FORMAT (the message begins with the key) or
 * ERROR_MEMORY: there is nothing to free. */
int model_languages_read(const char *path, struct model_languages *out, struct error *err);
void model_languages_done(struct model_languages *languages);

/* The language of this code or alias; NULL: there is none. Letters of either case count alike, and so do '-' and '_'. */
const struct model_language *model_languages_find(const struct model_languages *languages, const char *name);

#endif
