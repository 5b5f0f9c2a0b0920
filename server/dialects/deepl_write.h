/* POST /v2/write/rephrase of DeepL's dialect: each text is translated into another language and
 * back, by the two models that are nearest, which often gives other words for it. */
#ifndef ALIGND_DEEPL_WRITE_H
#define ALIGND_DEEPL_WRITE_H

#include "server/api/dialect.h"

extern const struct dialect dialect_deepl_write;

#endif
