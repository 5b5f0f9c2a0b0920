/* Which variant of a model's target language (model/sentence.h) a language code means. */
#ifndef ALIGND_VARIANT_H
#define ALIGND_VARIANT_H

#include "model/translator.h"

enum { VARIANT_CODE_BYTES = 64 };

/* The variant of this name or, letters of either case and ISO 639's codes of two and three letters counting alike, for this
 * language: "pt-BR" is pt_br before por, "sr" srp_Cyrl, "zh" cmn_Hans. NULL: the model has none. The model's string. */
const char *variant_for(const struct translator_info *info, const char *code);

/* What a request gets that says neither: that of the model's own target. NULL: none. */
const char *variant_usual(const struct translator_info *info);

/* The model writes nothing in particular without one: it has several. */
bool variant_must_be(const struct translator_info *info);

/* The variant as a BCP-47 code: "fr" of fra; itself if it is none. */
void variant_code(const char *variant, char code[VARIANT_CODE_BYTES]);

#endif
