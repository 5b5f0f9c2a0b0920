/* DeepL's dialect: translation, languages, usage and glossaries. */
#ifndef ALIGND_DEEPL_H
#define ALIGND_DEEPL_H

#include "server/api/dialect.h"

extern const struct dialect dialect_deepl;

/* Errors as DeepL writes them, and its status for each (struct dialect). */
void deepl_put_error(struct writer *w, const struct dialect_error *error);
unsigned deepl_status(const struct dialect_error *error);

api_start deepl_languages_3, deepl_resources, deepl_languages, deepl_usage, deepl_glossary_pairs,
    deepl_glossaries, deepl_make_glossary, deepl_glossary, deepl_remove_glossary,
    deepl_change_multilingual, deepl_dictionary_entries, deepl_set_dictionary,
    deepl_remove_dictionary, deepl_entries;

#endif
