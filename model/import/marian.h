/* Marian's and Nematus's models: their container, their options, checked, and their tensors. */
#ifndef ALIGND_IMPORT_MARIAN_H
#define ALIGND_IMPORT_MARIAN_H

#include "model/import/tensors.h"

/* Opens a .bin; errors as those of the other readers (tensors.h). */
int marian_bin_open(const char *path, struct arena *arena, struct container *out, struct error *err);

enum { OPTION_ROWS_MOST = 64 };

/* The options of a model's own type, in the order of the table. */
struct marian_options {
    struct {
        const char *name, *value;
    } rows[OPTION_ROWS_MOST]; /* [count] */
    size_t count;
    bool transformer;
    const char *norm;       /* of transformers: "post", after each block, or "pre", before it and on top of each stack */
    size_t tied_layers[16]; /* of transformers: for each layer of the decoder the one whose tensors it has, from 1 */
    const char *ignored;    /* names of ignored options, separated by commas; "": none */
};

/* The value; "" where it is empty. The name must be in the table for the model's type. */
const char *marian_option(const struct marian_options *options, const char *name);
bool marian_on(const struct marian_options *options, const char *name);
size_t marian_number(const struct marian_options *options, const char *name);
/* Source and target have one embedding; the output layer's matrix is the target's embedding. */
bool marian_shares(const struct marian_options *options);
bool marian_ties(const struct marian_options *options);

/* Reads the text of the options: Marian's YAML, or Nematus's JSON if it begins with {. own: the text comes from the model itself,
 * in which an unknown option is an error; otherwise from a file of training options. Returns -1 with ERROR_FORMAT and a message
 * that names the option. */
int marian_options_read(const char *text, size_t length, bool own, struct arena *arena, struct marian_options *out,
                        struct error *err);

/* The behaviour of a model's own decoder, by the options in decoder.yml. */
struct marian_defaults {
    json_t *section;      /* config.json's section defaults, with the keys of searches; owned */
    const char *compute;  /* the compute type; NULL: the options do not say it */
    bool lists;           /* a shortlist is used */
    size_t source_tokens; /* limit on the tokens of a sentence; 0: the options do not say it */
    double ratio;         /* target tokens for a source token, at most */
    bool unknowns;        /* searches may choose <unk> */
    const char *said;     /* a line for each option that alignd lacks or implements differently */
};
/* Only options with single values count. An empty mapping: no options are known. */
int marian_decoder_read(const struct mapping *options, struct arena *arena, struct marian_defaults *out, struct error *err);

/* Sizes of the vocabularies. */
struct marian_sizes {
    size_t source, target;
};

/* Plans all tensors. sections: encoder, decoder, attention and output of config.json, as far as the model determines them; a new
 * object, the caller's, NULL after an error, which the tensors hold. */
struct marian_sizes marian_convert(struct tensors *tensors, const struct marian_options *options, json_t **sections);

#endif
