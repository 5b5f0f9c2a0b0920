/* Where the model of a folder came from, and its licence: its origin.json, which `alignd get` and `alignd import` write. */
#ifndef ALIGND_MODEL_ORIGIN_H
#define ALIGND_MODEL_ORIGIN_H

#include <stdbool.h>

/* Strings that the file lacks are "". */
struct model_origin {
    char from[16];    /* mozilla, opus, hf, argos or url; "": it was not downloaded */
    char asked[2048]; /* that names it to `alignd get`; "" likewise */
    char version[64];
    char licence[128];
    char attribution[256];
};

/* False: there is no such file, or it cannot be read; all strings are "" then. Strings that are too long are cut. */
bool model_origin_read(const char *folder, struct model_origin *out);

#endif
