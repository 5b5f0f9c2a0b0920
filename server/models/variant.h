/* Maps language codes to the variants of a model's target language. */
#ifndef ALIGND_VARIANT_H
#define ALIGND_VARIANT_H

#include "model/translator.h"

enum { VARIANT_CODE_BYTES = 64 };

/* Returns the variant of this name or for this language, as the model's string; NULL: the model has none. Case is ignored, and
 * codes of two and three letters (ISO 639) are equivalent: "pt-BR" is pt_br before por, "sr" srp_Cyrl, "zh" cmn_Hans. */
const char *variant_for(const struct translator_info *info, const char *code);

/* Returns the variant for a request that names none: that of the model's own target, or NULL. */
const char *variant_usual(const struct translator_info *info);

/* Returns whether the model has several variants, so that a request must name one of them. */
bool variant_must_be(const struct translator_info *info);

/* Sets code to the variant as a BCP-47 code ("fr" for fra), or to the variant itself if it has no code. */
void variant_code(const char *variant, char code[VARIANT_CODE_BYTES]);

#endif
