/* DeepL's dialect: translation, languages, usage and glossaries. */
#ifndef ALIGND_DEEPL_H
#define ALIGND_DEEPL_H

#include "server/api/dialect.h"

extern const struct dialect dialect_deepl;

api_start deepl_languages_3, deepl_languages, deepl_usage, deepl_glossary_pairs, deepl_glossaries,
    deepl_make_glossary, deepl_glossary, deepl_remove_glossary, deepl_change_multilingual,
    deepl_dictionary_entries, deepl_set_dictionary, deepl_remove_dictionary, deepl_entries;

#endif
