/* The dialects of other servers that people run themselves. */
#ifndef ALIGND_SELFHOSTED_H
#define ALIGND_SELFHOSTED_H

#include "server/api/dialect.h"

extern const struct dialect dialect_mtran, dialect_mtran_batch, dialect_mtran_detect, dialect_nllb,
    dialect_nllb_api, dialect_nllb_detect, dialect_lingva, dialect_hcfy;

api_start selfhosted_mtran_version, selfhosted_lingva_languages;

#endif
