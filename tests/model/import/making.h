/* Small foreign files for the tests of model/import. */
#ifndef ALIGND_TESTS_MAKING_H
#define ALIGND_TESTS_MAKING_H

#include "model/import/tensors.h"
#include <stdbool.h>
#include <stddef.h>

/* A new folder in /tmp, which folder_drop removes with all that is in it. */
struct folder {
    char path[64];
};
struct folder folder_new(void);
void folder_drop(const struct folder *folder);
/* Whether the folder holds nothing but these names, separated by spaces. */
bool folder_holds(const char *folder, const char *names);
/* Writes FOLDER/NAME; returns its path, in a buffer that the next eight calls leave alone. */
const char *put_file(const char *folder, const char *name, const void *bytes, size_t count);
const char *put_text(const char *folder, const char *name, const char *text);

/* A member of an archive. */
struct member {
    const char *name;
    const void *bytes;
    size_t count;
    const char
        *link; /* NULL: it is a file; otherwise a symbolic link to this, after = a hard one */
};
/* format: "zip" or "gnutar"; filter: "", "gzip" or "zstd". */
const char *put_archive(const char *folder, const char *name, const char *format,
                        const char *filter, const struct member *members, size_t count);

/* Bytes that grow. */
struct made_bytes {
    char *at; /* [count], malloc'ed */
    size_t count;
};
void bytes_add(struct made_bytes *bytes, const void *more, size_t count);
void bytes_text(struct made_bytes *bytes, const char *text);
void bytes_u64(struct made_bytes *bytes, uint64_t number);
void bytes_done(struct made_bytes *bytes);

/* A .npy file of float32: numbers NULL: 0.5, 1, 1.5 and so on. */
struct made_bytes npy_of(const char *shape, size_t count, const float *numbers);

/* A tensor of a model. */
struct given {
    const char *name;
    size_t rows, columns;
};
/* An .npz or .bin of these with the options; of int8, the matrices whose names hold "_W" or "Wemb"
 * are. */
const char *put_npz(const char *folder, const char *name, const struct given *tensors, size_t count,
                    const char *options);
struct made_bytes bin_of(const struct given *tensors, size_t count, const char *options, bool int8);

/* A transformer of Marian with an SSRU: d 8, feed-forward 12, one layer on each side, one embedding
 * of 9 words. */
extern const struct given tiny_tensors[];
extern const size_t tiny_count;
extern const char tiny_options[], tiny_words[];

#endif
