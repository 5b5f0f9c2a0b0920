/* The dictionary of Microsoft's version 3.0: POST /dictionary/lookup and /dictionary/examples. */
#ifndef ALIGND_DICTIONARY_H
#define ALIGND_DICTIONARY_H

#include "server/api/dialect.h"

extern const struct dialect dialect_dictionary_lookup, dialect_dictionary_examples;

#endif
