/* Google's dialects. */
#ifndef ALIGND_GOOGLE_H
#define ALIGND_GOOGLE_H

#include "server/api/dialect.h"

extern const struct dialect dialect_google, dialect_google_detect, dialect_google_3,
    dialect_google_3_detect, dialect_google_single, dialect_google_texts;

api_start google_languages, google_3_languages;

#endif
