/* A file of packed weights (model/compute/products.h), beside the weights that it was made of: mapped read-only, so that loading
 * packs nothing, and daemons of one machine share the memory.
 *
 *     struct panels_header
 *     struct panels_entry [entries]     which matrix, and where its panels and its rows lie
 *     panels and rows                   each from a multiple of PANELS_ALIGNMENT on
 *
 * Numbers and strings as they lie in memory, strings ended by NUL. The header is believed only where its sum is right, and each
 * matrix only where its own is, which is compared when it is asked for. What the file says beyond that is checked against its size
 * before it is used: whatever it holds, no byte outside of it is read. Panels are numbers that are multiplied, never places or
 * counts.
 *
 * A file is written beside the one that it replaces, and renamed: nobody who has the old one mapped sees it change. Cut short in
 * place, it kills who reads it (SIGBUS), as model.safetensors does. */
#ifndef ALIGND_PANELS_H
#define ALIGND_PANELS_H

#include "model/base/error.h"
#include "model/compute/kernels.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* VERSION: raised with each change of this format, and of what any packing makes of a weight, which test_panels.c finds out. */
enum { PANELS_VERSION = 1, PANELS_ALIGNMENT = 64, PANELS_WORD = 32, PANELS_NAME = 128, PANELS_SHA256 = 72, PANELS_MOST = 65536 };
#define PANELS_MAGIC "alignd-p" /* 8 bytes */

/* What a file is made of and for. */
struct panels_origin {
    char compute[PANELS_WORD], processor[PANELS_WORD]; /* compute_name; kernels' processor */
    uint64_t source_bytes, source_sample;              /* of model.safetensors */
    char source_sha256[PANELS_SHA256];                 /* in hexadecimal digits; "": not known */
};

struct panels_header {
    char magic[8];
    uint32_t version, entries; /* entries: at most PANELS_MOST */
    uint64_t bytes;            /* of the file */
    struct panels_origin origin;
    uint64_t sum; /* of all before it, and of the entries */
};

/* Columns first .. first + in - 1 of the tensor, `out` rows of it. */
struct panels_entry {
    char name[PANELS_NAME], packing[PANELS_WORD];
    uint64_t first, out, in;
    uint64_t panels_at, panels_sum; /* at: bytes from the file's beginning */
    uint64_t rows_at, rows_sum;     /* for lookups; at 0: there are none */
};

struct panels;

/* Maps the file if it was made of and for this. A sha256 that one of the two does not know is not compared. NULL: why it is not
 * used, with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. */
struct panels *panels_open(const char *path, const struct panels_origin *origin, struct error *err);
void panels_free(struct panels *panels); /* NULL allowed */

/* A matrix as it is packed; rows: for lookups, NULL without. */
struct panels_matrix {
    const char *name;
    size_t first, out, in;
    const struct packing *packing;
    const void *packed, *rows;
};

/* Finds the matrix that the first five fields tell, and sets packed and, if they are wanted, rows, which stay until panels_free.
 * False: the file has no such matrix, or a damaged one; nothing is set. */
bool panels_find(const struct panels *panels, struct panels_matrix *matrix, bool rows);

/* Writes these matrices [count]. -1 with ERROR_FILE, ERROR_MEMORY or ERROR_INPUT (a name too long, too many). */
int panels_write(const char *path, const struct panels_origin *origin, const struct panels_matrix *matrices, size_t count,
                 struct error *err);

#endif
