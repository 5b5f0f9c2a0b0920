/* The dialects of LibreTranslate and browser extensions. */
#ifndef ALIGND_PLAIN_H
#define ALIGND_PLAIN_H

#include "server/api/dialect.h"

extern const struct dialect dialect_libre, dialect_libre_detect, dialect_immersive, dialect_kiss,
    dialect_deeplx;

api_start plain_languages, plain_settings, plain_spec;

#endif
