/* Which model translates between two languages: its own two, one of its variants, or those of a
 * model of many languages. */
#ifndef ALIGND_PAIRS_H
#define ALIGND_PAIRS_H

#include "server/api/languages.h"
#include "server/decode/request.h"

/* Returns true if the model translates. Models for other tasks, such as parsing, have no languages
 * here. */
bool pair_translates(const struct translator_info *info);
/* Returns the variant of this name or for this language (language_among), as the model's string;
 * NULL: the model has none. */
const char *pair_variant(const struct translator_info *info, const char *code);
/* Returns whether the model reads the languages of its variants. */
bool pair_lists_sources(const struct translator_info *info);
/* Finds the language of a source as pair_variant does, for such a model. NULL: the model lacks it,
 * or reads one language. */
const char *pair_source_variant(const struct translator_info *info, const char *code);
/* Returns whether the model has several variants, so that a request must name one of them. */
bool pair_needs_variant(const struct translator_info *info);
/* Returns the distance of a model's source from this language: its language_distance or, for a
 * model of many languages, 0 or LANGUAGE_FAR. A model of "mul" that does not list its languages
 * reads any, farther than all that do. */
int pair_source_distance(const struct translator_info *info, const char *code);
/* The same for its target. A model that writes several languages offers its own language only as a
 * variant. */
int pair_target_distance(const struct translator_info *info, const char *code);
/* Finds the nearest two models from source to target, which must differ: the first writes a
 * language that the second reads. Sets the text's model, its variant and second. through: as pivot
 * of struct options. False: there are no such models. */
bool pair_find_pivot(const struct model_set *models, const char *through, const char *source,
                     const char *target, struct text *out);
/* Finds two models that together translate from a language and back to it, or to a variant of it
 * (target), and sets the same members. False: there are no such models. */
bool pair_find_return(const struct model_set *models, const char *source, const char *target,
                      struct text *out);

#endif
