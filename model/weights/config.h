/* This module reads config.json of a model folder into struct model_config and checks every key.
 * Unknown keys are errors; messages begin with the key ("decoder.readout_size: ...").
 * weights/config.def has the keys and rules. */
#ifndef ALIGND_CONFIG_H
#define ALIGND_CONFIG_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>

enum { CONFIG_NAME_BYTES = 64, CONFIG_MAX_LAYERS = 64 };

/* The blocks of a transformer's stack. */
struct blocks_config {
    size_t heads, filter; /* H; f, of the feed-forward */
    size_t head_size;     /* columns of a head; 0: d / H */
    bool scaled_scores;   /* scores are divided by the root of a head's columns */
    bool biases;          /* linear layers have biases */
    char activation[CONFIG_NAME_BYTES], norm[CONFIG_NAME_BYTES], norm_type[CONFIG_NAME_BYTES],
        positions[CONFIG_NAME_BYTES];
    bool gated;                           /* the feed-forward has a gate */
    bool embedding_scale;                 /* embeddings times sqrt(d) */
    bool embedding_norm;                  /* the input of the first block is normalised */
    size_t position_offset;               /* the position of the first token */
    size_t rotary_size;                   /* columns of each head that are rotated; 0: all */
    char rotary_pairs[CONFIG_NAME_BYTES]; /* which columns are rotated together */
    double rotary_base;
    size_t relative_buckets, relative_distance; /* of relative positions; the distance from which on
                                                   all share the last bucket */
    bool relative_shared;                       /* all layers have the same biases */
    double epsilon;                             /* epsilon of the blocks' norms */
};

/* Names of table rows (cells, scores, styles, readouts) stay strings: the module that owns the
 * table finds the row. */
struct encoder_config {
    char type[CONFIG_NAME_BYTES], cell[CONFIG_NAME_BYTES];
    size_t layers, embedding, hidden;
    bool bidirectional;
    bool bos, eos; /* the encoder reads <s> before and </s> after a sentence */
    bool residual;
    size_t width; /* convolutional: each output of a layer depends on this many tokens; odd */
    char normalization[CONFIG_NAME_BYTES], stack[CONFIG_NAME_BYTES];
    size_t transitions; /* cells without input after a layer's first */
    size_t padded_to; /* recurrent: tokens up to which a shorter text is read as padded; 0: none */
    bool embedding_shared; /* source and target have one embedding, decoder.embedding */
    struct blocks_config blocks;
};

struct attention_config {
    char score[CONFIG_NAME_BYTES]; /* "" (null in the file): no attention, or a transformer's */
    size_t size;                   /* A; 0 if the score has no size parameter */
    bool learned_scale, learned_keys, learned_values;
    size_t value_size; /* 0: the size of an annotation */
    char window[CONFIG_NAME_BYTES];
    size_t half_width;   /* local windows only */
    size_t source_depth; /* attention sees only so many tokens at the end of the source; 0: all */
    bool coverage;
    char normalization[CONFIG_NAME_BYTES]; /* for the two products of the additive score */
};

struct tokenizer_side {
    char file[CONFIG_NAME_BYTES];   /* in the folder, without '/' */
    char pieces[CONFIG_NAME_BYTES]; /* the list that numbers the pieces; "none": the tokenizer file
                                       does */
    bool lowercase, punctuation;    /* model/text/tokenizer.h */
    bool prepared; /* preparation: "opus" (model/text/tokenizer.h) instead of "none" */
    bool lowers;   /* capitals: "lowered" (model/text/tokenizer.h) instead of "kept" */
};

enum first_input { FIRST_BOS, FIRST_ZERO, FIRST_EOS, FIRST_ID };
enum initial_state { INITIAL_ZERO, INITIAL_LAST, INITIAL_MEAN };

struct decoder_config {
    char style[CONFIG_NAME_BYTES], cell[CONFIG_NAME_BYTES], readout[CONFIG_NAME_BYTES];
    size_t layers, embedding, hidden, readout_size;
    bool input_feeding, initial_projection;
    char prefix[CONFIG_NAME_BYTES]; /* pieces, with spaces between them, that begin each translation
                                       but are not in it; "none" */
    enum first_input first_input;   /* the embedding of <s>, zeros, or the embedding of </s>
                                       or of the token with the id 0 */
    enum initial_state initial_state;
    bool residual;
    char normalization[CONFIG_NAME_BYTES]; /* for its cells, initial projections and readout */
    size_t transitions, upper_transitions; /* cells without input after the last of layer 0, and of
                                              each layer above it */
    bool query_top;    /* style bahdanau: the state of the last layer asks, not that of the first */
    bool initial_cell; /* initial_cell: "state" (an LSTM's c starts as its h does) instead of "zero"
                        */
    struct blocks_config blocks;
    char mixer[CONFIG_NAME_BYTES];
    size_t average_filter; /* mixer average: size of the feed-forward; 0: none */
    char average_activation[CONFIG_NAME_BYTES];
    bool average_gate;
    size_t alignment_layer, alignment_head; /* the attention to show: the layer from 1, or 0 for the
                                               last; the head from 0 */
    bool alignment_trained;                 /* this head was trained to align */
};

struct model_config {
    char name[CONFIG_NAME_BYTES], source[CONFIG_NAME_BYTES], target[CONFIG_NAME_BYTES],
        task[CONFIG_NAME_BYTES];
    struct {
        char type[CONFIG_NAME_BYTES];
        struct tokenizer_side source, target;
    } tokenizer;
    struct encoder_config encoder;
    struct attention_config attention;
    struct decoder_config decoder;
    struct {
        size_t size; /* A, of the queries and keys of an alignment head; 0: no alignment head */
    } alignment;
    struct {
        char type[CONFIG_NAME_BYTES];
        bool tied;                       /* the output matrix is the target embedding */
        size_t character_embedding;      /* type characters: model/network/network.h */
        char gate[CONFIG_NAME_BYTES];    /* the input of a pointer_generator's gate: "inputs" [c; s;
                                            y], or the "readout" */
        char pointer[CONFIG_NAME_BYTES]; /* where the pointer comes from: the step's "attention", or
                                            the "readout" */
        bool unknowns;                   /* false: a search never chooses <unk> */
    } output;
    struct {
        size_t max_source_tokens;
        double max_target_ratio; /* target tokens per source token, at most */
        double doubt; /* what a doubtful translation of more than a few words has less than
                         (model/rendering.h) */
    } limits;
    /* A daemon and its requests use these unless they ask for others. */
    struct {
        char compute[CONFIG_NAME_BYTES]; /* "stored": int8 where weights are stored as int8,
                                            otherwise float32 */
        bool shortlist;
        size_t beam_size;
        double length_penalty;
        bool replaces; /* finished: "replaced" (struct search_options) instead of "kept" */
    } defaults;
};

/* Reads and checks the file. Returns -1 with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY; config is
 * then untouched. */
int config_read(const char *path, struct model_config *config, struct error *err);

/* Returns false if the decoder has style fixed, which reads only the final state of the encoder. */
bool config_attends(const struct model_config *config);
/* Returns D, the size of one annotation: hidden, or twice that if the top layer is bidirectional.
 */
size_t config_annotation_size(const struct model_config *config);
/* Returns C, the size of one context: that of a learned value, or of an annotation. */
size_t config_context_size(const struct model_config *config);
/* Returns the number of tokens of the longest source sentence, including </s>. */
size_t config_positions(const struct model_config *config);
/* Returns the number of steps that the translation of the longest sentence may take. */
size_t config_target_positions(const struct model_config *config);
/* Returns O, the size of the input of the output layer. */
size_t config_readout_size(const struct model_config *config);
/* True if the value of a key that may name a file is the name of a file. */
bool config_has_file(const char *value);
/* True if the list "one, two, three" contains this name. */
bool config_lists(const char *list, const char *name);
/* True if the output can produce words of the source that the vocabulary lacks. */
bool config_copies(const struct model_config *config);

/* ---- languages ----
 * The section `languages` of config.json describes the languages of a model that translates between
 * many: for each code the token that begins a source in it, and the token that begins a translation
 * into it. */

enum { MODEL_LANGUAGES_MOST = 1000, MODEL_LANGUAGE_BYTES = 64 };

struct model_language {
    char code[MODEL_LANGUAGE_BYTES];                                 /* BCP-47 */
    char source[MODEL_LANGUAGE_BYTES], target[MODEL_LANGUAGE_BYTES]; /* pieces */
    char list[MODEL_LANGUAGE_BYTES]; /* its list of target ids in shortlist.safetensors; "": it has
                                        none */
};

struct model_languages {
    struct model_language *all; /* [count] */
    const char **codes;         /* [count] */
    size_t count;               /* 0: the model has no such section */
    struct language_alias {
        char name[MODEL_LANGUAGE_BYTES];
        size_t language;
    } * aliases; /* [alias_count] other names of languages */
    size_t alias_count;
};

/* Reads the section of this config.json, if it has one. Returns -1 with ERROR_FILE, ERROR_FORMAT
 * (the message begins with the key) or ERROR_MEMORY; there is nothing to free then. */
int model_languages_read(const char *path, struct model_languages *out, struct error *err);
void model_languages_done(struct model_languages *languages);

/* Returns the language of this code or alias, or NULL. Letters of either case count alike, and so
 * do '-' and '_'. */
const struct model_language *model_languages_find(const struct model_languages *languages,
                                                  const char *name);

#endif
