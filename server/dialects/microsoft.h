/* Microsoft Translator's dialect. */
#ifndef ALIGND_MICROSOFT_H
#define ALIGND_MICROSOFT_H

#include "server/api/dialect.h"

extern const struct dialect dialect_microsoft, dialect_microsoft_break, dialect_microsoft_detect,
    dialect_microsoft_scripts;

api_start microsoft_token;
/* Returns true if the request speaks Microsoft's dialect; microsoft_languages answers its GET
 * /languages. */
bool microsoft_speaks(const struct dialect_fields *fields);
void microsoft_languages(const struct call *call, struct request *request, struct reply *reply);

#endif
