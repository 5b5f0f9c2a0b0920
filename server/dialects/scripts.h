/* Conversion between scripts: transliteration. */
#ifndef ALIGND_SCRIPTS_H
#define ALIGND_SCRIPTS_H

#include "model/base/arena.h"
#include "model/base/utf8.h"

/* Converts a text, valid UTF-8, from one script to another; both are codes of ISO 15924,
 * such as "Cyrl". *out: NUL-terminated, in the arena. Returns -1 with ERROR_INPUT (ICU has no such
 * conversion) or ERROR_MEMORY. */
int scripts_convert(const char *from, const char *to, struct bytes text, struct arena *arena,
                    const char **out, struct error *err);

#endif
