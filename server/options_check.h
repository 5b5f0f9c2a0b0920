/* What cannot be said of one option alone. */
#ifndef ALIGND_OPTIONS_CHECK_H
#define ALIGND_OPTIONS_CHECK_H

#include "server/options.h"

/* -1 with ERROR_INPUT and a message that names the flags. */
int options_check(const struct options *options, struct error *err);

#endif
