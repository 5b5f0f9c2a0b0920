/* config.json of a model folder -> struct model_config, every key checked. Unknown keys are errors; the message begins with the key
 * ("decoder.readout_size: ..."). Keys and rules stand in weights/config.def. */
#ifndef ALIGND_CONFIG_H
#define ALIGND_CONFIG_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>

enum { CONFIG_NAME_BYTES = 64, CONFIG_MAX_LAYERS = 16 };

/* The blocks of a transformer's stack. */
struct blocks_config {
    size_t heads, filter; /* H; f, of the feed-forward */
    char activation[CONFIG_NAME_BYTES], norm[CONFIG_NAME_BYTES], positions[CONFIG_NAME_BYTES];
    bool embedding_scale; /* embeddings times sqrt(d) */
};

/* Names of table rows (cells, scores, styles, readouts) stay strings: the table's own module finds the row. */
struct encoder_config {
    char type[CONFIG_NAME_BYTES], cell[CONFIG_NAME_BYTES];
    size_t layers, embedding, hidden;
    bool bidirectional;
    bool eos; /* the encoder reads </s> at the end of a sentence */
    bool residual;
    size_t width; /* convolutional: tokens that one of a layer's outputs depends on; odd */
    char normalization[CONFIG_NAME_BYTES], stack[CONFIG_NAME_BYTES];
    size_t transitions;    /* cells without input after a layer's first */
    bool embedding_shared; /* source and target have one embedding, decoder.embedding */
    struct blocks_config blocks;
};

struct attention_config {
    char score[CONFIG_NAME_BYTES]; /* "": null in the file: no attention, or that of a transformer */
    size_t size;                   /* A; 0 where the score has none of its own */
    bool learned_scale, learned_keys, learned_values;
    size_t value_size; /* 0: that of an annotation */
    char window[CONFIG_NAME_BYTES];
    size_t half_width;   /* of a local window */
    size_t source_depth; /* only the last so many tokens are attended; 0: all */
    bool coverage;
    char normalization[CONFIG_NAME_BYTES]; /* of the additive score's two products */
};

struct tokenizer_side {
    char file[CONFIG_NAME_BYTES];   /* within the folder: no '/' */
    char pieces[CONFIG_NAME_BYTES]; /* the list that numbers what the file makes; "none": the file does */
    bool lowercase, punctuation;    /* model/text/tokenizer.h */
    bool prepared;                  /* preparation: "opus" (model/text/preparation.h) rather than "none" */
    bool lowers;                    /* capitals: "lowered" (model/text/capitals.h) rather than "kept" */
};

enum initial_state { INITIAL_ZERO, INITIAL_LAST, INITIAL_MEAN };

struct decoder_config {
    char style[CONFIG_NAME_BYTES], cell[CONFIG_NAME_BYTES], readout[CONFIG_NAME_BYTES];
    size_t layers, embedding, hidden, readout_size;
    bool input_feeding, initial_projection;
    bool first_zero; /* first_input: "zero" rather than "bos" */
    enum initial_state initial_state;
    bool residual;
    char normalization[CONFIG_NAME_BYTES]; /* of its cells, initial projections and readout */
    size_t transitions, upper_transitions; /* cells without input after the last of layer 0, and of each layer above it */
    bool initial_cell;                     /* initial_cell: "state" (an LSTM's c starts as its h does) rather than "zero" */
    struct blocks_config blocks;
    char mixer[CONFIG_NAME_BYTES];
    size_t average_filter; /* mixer average: size of its feed-forward; 0: it has none */
    char average_activation[CONFIG_NAME_BYTES];
    bool average_gate;
    size_t alignment_layer, alignment_head; /* what attention shows: the layer from 1, or 0 for the last; the head from 0 */
    bool alignment_trained;                 /* that head learned to align */
};

struct model_config {
    char name[CONFIG_NAME_BYTES], source[CONFIG_NAME_BYTES], target[CONFIG_NAME_BYTES], task[CONFIG_NAME_BYTES];
    struct {
        char type[CONFIG_NAME_BYTES];
        struct tokenizer_side source, target;
    } tokenizer;
    struct encoder_config encoder;
    struct attention_config attention;
    struct decoder_config decoder;
    struct {
        size_t size; /* A, of an alignment head's queries and keys; 0: the model has none */
    } alignment;
    struct {
        char type[CONFIG_NAME_BYTES];
        bool tied;                       /* the output matrix is the target embedding */
        size_t character_embedding;      /* type characters: model/network/output.h */
        char gate[CONFIG_NAME_BYTES];    /* what a pointer_generator's gate reads: "inputs" [c; s; y], or the "readout" */
        char pointer[CONFIG_NAME_BYTES]; /* whose its pointer is: the step's "attention", or one of the "readout" */
        bool unknowns;                   /* false: a search never chooses <unk> */
    } output;
    struct {
        size_t max_source_tokens;
        double max_target_ratio; /* target tokens per source token, at most */
    } limits;
    struct {
        size_t beam_size;
        double length_penalty;
    } search; /* what requests get that ask for nothing else */
};

/* Reads and checks the file. -1 with ERROR_FILE or ERROR_FORMAT; config untouched then. */
int config_read(const char *path, struct model_config *config, struct error *err);

/* False: style fixed, which reads nothing but the encoder's final state. */
bool config_attends(const struct model_config *config);
/* D, the size of one annotation: hidden, twice that if the top layer is bidirectional. */
size_t config_annotation_size(const struct model_config *config);
/* C, the size of one context: of an annotation, or of a learned value. */
size_t config_context_size(const struct model_config *config);
/* The tokens of the longest source sentence, </s> counted. */
size_t config_positions(const struct model_config *config);
/* The steps that its translation may take. */
size_t config_target_positions(const struct model_config *config);
/* O, the size of what the output layer reads. */
size_t config_readout_size(const struct model_config *config);
/* The value of a key that may name a file does name one. */
bool config_has_file(const char *value);
/* The output can produce words of the source that its vocabulary lacks. */
bool config_copies(const struct model_config *config);

#endif
