/* The output of a model: what the decoder shows of a step -> one distribution per row, over the vocabulary or a list of its ids,
 * the source's words, or vocabulary and source. The words that the vocabulary lacks are copied (struct copies) or spelled (struct
 * speller). */
#ifndef ALIGND_OUTPUT_H
#define ALIGND_OUTPUT_H

#include "model/base/arena.h"
#include "model/compute/matrix.h"
#include "model/network/layers.h"
#include "model/network/row.h"
#include "model/text/tokenizer.h"
#include "model/weights/config.h"
#include "model/weights/weights.h"

/* ---- distributions ---- */

struct output_kind;
struct output_gate;
struct output_pointer;

/* Outputs that copy give every source position a score on the scale of the vocabulary's logits; positions of equal words add up,
 * and one softmax goes over all of them. The attention that a search keeps is always that of the step, even if the positions have
 * their own scores (pointer, copy, a pointer_generator whose pointer is "readout"). */
struct output {
    const struct output_kind *kind;
    const struct output_gate *gate;       /* pointer_generator: the probability of copying */
    const struct output_pointer *pointer; /* pointer_generator: the words to copy */
    const struct kernels *kernels;
    size_t vocabulary, stride;  /* V; floats of a row of logits: V, and room for temporary ids */
    struct linear linear;       /* [V, O]; tied: the weight is the target embedding; out 0: it produces only copies */
    struct linear key;          /* [K, D] of an annotation; out 0: the positions do not have their own scores */
    struct linear gate_context; /* of a gate on [c; s; y]: c's part, [1, D] of an annotation; out 0: another gate, or none */
    struct linear gate_state, gate_input; /* the others: [1, H], [1, E] */
    struct linear gate_readout;           /* of a gate on the readout: [1, O] */
};

struct output_options {
    size_t vocabulary; /* V */
    bool shortlists;   /* rows may come with ids; not for outputs that copy */
};

int output_init(struct output *output, const struct model_config *config, const struct output_options *options,
                struct weights *weights, const struct kernels *kernels, struct error *err);
void output_done(struct output *output);

bool output_copies(const struct output *output);
/* False: it can produce only the source's words. */
bool output_writes(const struct output *output);

/* keys [tokens, K], K = output->key.out, and gates [tokens, output->gate_context.out] of annotations [tokens, D], sentences end to
 * end. */
void output_keys(const struct output *output, const float *annotations, size_t tokens, float *keys, float *gates);

/* Reads the rows' readouts and, for outputs that copy, their copies (with keys and gates), inputs, tops and attention; rows of an
 * output that copies have no targets. Writes their logits, one for each target of the row, and their distributions, which point
 * into the logits and, for the best tokens, into the arena. -1 with ERROR_MEMORY. */
int output_run(const struct output *output, const struct row *rows, size_t count, struct arena *arena, struct error *err);

/* ---- copies: source words as target tokens ---- */

/* The tokens that one sentence's source adds to the vocabulary. A source token's id as a target is that of its word in the target
 * vocabulary; words that it lacks get temporary ids V, V + 1, ... in the order of their first appearance in the sentence. The
 * source's </s> is the target's: where it is copied, the target ends. As a decoder's input a temporary id is <unk>. The same rules
 * as weights/model/copies.py. Everything lives in the sentence's arena. */
struct copies {
    const struct tokenizer *target;
    const int *words;                 /* [length] the target id of each source token */
    size_t length;                    /* T */
    const struct token *const *extra; /* [count] the source token where each temporary id first appears */
    size_t count;                     /* X */
    const int *inputs;                /* [count] the ids that the decoder reads for them; NULL: <unk> */
    const float *keys, *gates;        /* [T, K], [T, 1 or 0] output_keys of the source tokens; set when they are encoded */
};

/* The two sides' vocabularies. */
struct copies_between {
    const struct tokenizer *source, *target;
};

/* tokens [length], with </s> if the encoder reads it; they must outlive the result. NULL with ERROR_MEMORY. */
struct copies *copies_find(const struct copies_between *vocabularies, const struct token *tokens, size_t length,
                           struct arena *arena, struct error *err);

/* The id of a target token; a temporary one if the source has the token and its vocabulary does not. */
int copies_id(const struct copies *copies, const struct token *token);
/* True if one of the source tokens has this target id. */
bool copies_have(const struct copies *copies, int id);
/* The source token of a temporary id 0..V+X-1; NULL: the id belongs to the vocabulary. */
const struct token *copies_token(const struct copies *copies, int id);
/* The id that the decoder reads for a target id: for a temporary one its stand-in, or <unk>. */
int copies_input(const struct copies *copies, int id);

/* ---- the speller: words that the target vocabulary lacks, letter by letter ---- */

#define SPELLER_VOCABULARY "chars.vocab" /* in the model folder: the characters, as a vocabulary file */

enum { SPELLER_MAX_CHARACTERS = 40 };

/* An LSTM over characters, whose first h is the readout of the step that chose <unk> and whose first c is zero (Luong and Manning
 * 2016, section 3.4). Greedy. Thread-safe, because it is immutable after loading. Zeroed: the model does not spell. */
struct speller {
    const struct tokenizer *characters; /* not owned */
    const struct kernels *kernels;
    size_t embedding_size;  /* E */
    const float *embedding; /* [C, E] */
    struct cell cell;       /* its H is O, the size of a readout */
    struct linear output;   /* [C, O] */
};

int speller_init(struct speller *speller, const struct model_config *config, const struct tokenizer *characters,
                 struct weights *weights, const struct kernels *kernels, struct error *err);
void speller_done(struct speller *speller);

/* readout [O] -> the word, in the arena; NULL if it has no characters. -1 with ERROR_MEMORY. */
int speller_run(const struct speller *speller, const float *readout, struct arena *arena, const char **word, struct error *err);

#endif
