/* A file of packed weights (see struct packing in model/compute/kernels.h), beside the weights that it was made from. It is mapped
 * read-only, so that loading packs nothing and the daemons of a machine share the memory.
 *
 *     struct panels_header
 *     struct panels_entry [entries]     which matrix, and where its panels and its rows lie
 *     panels and rows                   each at a multiple of PANELS_ALIGNMENT
 *
 * Numbers and strings are stored as they lie in memory; strings end with a NUL. The header is trusted only if its checksum is
 * right, and each matrix only if its own checksum is right, which is compared on access. All other content is checked against the
 * file's size before it is used: for any content, no byte outside the file is read. Panels are numbers to multiply with, never
 * places or counts.
 *
 * A new file is written beside the old one and renamed, so nobody who has the old one mapped sees it change. A file that is
 * truncated in place kills its readers (SIGBUS), as model.safetensors does. */
#ifndef ALIGND_PANELS_H
#define ALIGND_PANELS_H

#include "model/base/error.h"
#include "model/compute/kernels.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* VERSION rises with each change of this format, or of how any packing stores a weight, which test_panels.c detects. */
enum { PANELS_VERSION = 1, PANELS_ALIGNMENT = 64, PANELS_WORD = 32, PANELS_NAME = 128, PANELS_SHA256 = 72, PANELS_MOST = 65536 };
#define PANELS_MAGIC "alignd-p" /* 8 bytes */

/* The origin of a file: the weights that it was made from, and where it can be used. */
struct panels_origin {
    char compute[PANELS_WORD], processor[PANELS_WORD]; /* compute_name; kernels' processor */
    uint64_t source_bytes, source_sample;              /* of model.safetensors */
    char source_sha256[PANELS_SHA256];                 /* in hexadecimal digits; "": unknown */
};

struct panels_header {
    char magic[8];
    uint32_t version, entries; /* entries: at most PANELS_MOST */
    uint64_t bytes;            /* of the file */
    struct panels_origin origin;
    uint64_t sum; /* checksum of all before it, and of the entries */
};

/* One matrix: columns first .. first + in - 1 of `out` rows of the tensor. */
struct panels_entry {
    char name[PANELS_NAME], packing[PANELS_WORD];
    uint64_t first, out, in;
    uint64_t panels_at, panels_sum; /* at: bytes from the start of the file */
    uint64_t rows_at, rows_sum;     /* for lookups; at 0: none */
};

struct panels;

/* Maps the file if its origin is this one. The sha256 is compared only if both are known. Returns NULL with ERROR_FILE,
 * ERROR_FORMAT or ERROR_MEMORY if the file cannot be used. */
struct panels *panels_open(const char *path, const struct panels_origin *origin, struct error *err);
void panels_free(struct panels *panels); /* accepts NULL */

/* A packed matrix; rows: for lookups, or NULL. */
struct panels_matrix {
    const char *name;
    size_t first, out, in;
    const struct packing *packing;
    const void *packed, *rows;
};

/* Finds the matrix by its first five fields and sets packed and, if rows is true, rows, which stay valid until panels_free. False:
 * the file does not have this matrix, or it is damaged; nothing is set. */
bool panels_find(const struct panels *panels, struct panels_matrix *matrix, bool rows);

/* Forgets the pages that were read only to compare checksums: of a mapped file only what decoding touches stays resident. */
void panels_rest(const struct panels *panels);

/* Writes the matrices [count]. Returns -1 with ERROR_FILE, ERROR_MEMORY or ERROR_INPUT (a name is too long, or there are too
 * many). */
int panels_write(const char *path, const struct panels_origin *origin, const struct panels_matrix *matrices, size_t count,
                 struct error *err);

#endif
