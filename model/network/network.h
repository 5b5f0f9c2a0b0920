/* The network as batches see it. The encoder turns the tokens of sentences into annotations, the
 * decoder reads them in steps of all live rows, and the output layer turns the result into a
 * distribution for each row. config.json chooses the kind of each, which this interface hides. */
#ifndef ALIGND_NETWORK_H
#define ALIGND_NETWORK_H

#include "model/base/arena.h"
#include "model/network/layers.h"
#include "model/text/tokenizer.h"
#include "model/weights/config.h"
#include "model/weights/weights.h"

/* ---- rows ----
 * A row is one live hypothesis in one step, as batch, decoder, attention and output layer see it:
 * the batch says what the row reads and where its results go, the decoder writes what the step
 * produced, and the output layer turns that into a distribution. Rows of different sentences go
 * through a step together. R rows are an array, and their vectors of one kind (states, readouts,
 * inputs, tops, logits, distributions) lie side by side: row r's vector begins r times its size
 * after the first row's, so that one product reads them all.
 *
 * A row carries two kinds of things from step to step (struct decoder_shape):
 *
 * - A state whose size does not depend on the length of the hypothesis. It is read and updated in
 * place, and copied when a beam is reordered.
 * - A past that grows. The addition of a step, such as the keys and values of self-attention, is
 * written once and stays where it is while a hypothesis needs it. A row knows its past as a
 * path through the search's nodes (search_past), one pointer a step. So reordering rows copies
 * nothing, hypotheses share what they have in common, and a search that comes back to an earlier
 * step finds its past unchanged. */

/* The next token of a row, as the output layer describes it to the search: log p(token) =
 * logits[token] - log_sum. With ids, log p(ids[i]) = logits[i] - log_sum, and no other token is
 * possible. */
struct distribution {
    const float *logits; /* [size]; NULL: not wanted */
    const int *ids;      /* [size] the tokens, ascending; NULL: 0 .. size - 1 */
    float log_sum;       /* log of the sum of exp(logits) */
    float entropy;       /* entropy of the whole distribution, in nats */
    size_t size;         /* V, or the number of ids */
    const struct ranked
        *top; /* [top_count] the best tokens, best first; of equals the lower one comes first */
    size_t top_count; /* as many as were wanted, or fewer if all others are impossible or NaN */
};

/* The source as a decoder sees it: an entry for each source token, computed once for a sentence.
 * Keys and values hold those of all layers that attend, side by side. The decoder alone knows the
 * numbers in them, which a transformer may keep as binary16. The sentence's arena owns them. */
struct memory {
    size_t length;       /* T */
    const float *keys;   /* [T, K], as the scores read them */
    const float *values; /* [T, P], of which contexts are weighted sums */
    bool by_layer;       /* both are [layers, T, size of one layer] instead, as a step reads them */
};

/* The weights of all layers' heads in one step; NULL where they are not wanted or do not exist. */
struct row_looks {
    float *self, *cross; /* [layers, heads, step + 1], [layers, heads, T] */
};

struct row {
    /* Input, set by the batch in every step. */
    int token;                        /* the last token, or DECODER_FIRST before the first one */
    size_t step;                      /* target tokens before this one */
    const struct memory *memory;      /* the sentence's memory */
    const struct copies *copies;      /* the sentence's copies; NULL: it has none */
    const struct target_ids *targets; /* the tokens to choose from; NULL: the whole vocabulary, and
                                         the sentence's copies */
    size_t wanted;                    /* the number of best tokens that the search needs */
    bool reads_all;                   /* the search also reads other logits */
    const float
        *forced; /* [T] the attention that replaces the model's own; NULL: the model's own */
    const float *const *past; /* [step + 1] what each step on the path has added, [G] each, this one
                               * (`added`) last; NULL where steps add nothing */

    float *state; /* [S] updated */

    /* Output. */
    float *added;     /* [G] what this step adds to its past; NULL where steps add nothing */
    float *attention; /* [T], if there is attention */
    float *scores;  /* [T] the scores of which attention is the softmax, NAN where a window excludes
                       a token or attention is forced; NULL: not wanted */
    float *readout; /* [O] */
    float *input;   /* [E] the token's embedding; NULL: not wanted */
    struct row_looks looks;
    float *top;    /* [H] the output of the decoder's top layer; NULL: not wanted */
    float *logits; /* [stride]; undefined if its distribution has none */
    struct distribution *distribution; /* read by the search */
};

/* ---- the encoder: token ids -> annotations, for many sentences of different lengths at once ----
 */

struct encoder_kind;

/* The layers whose rows attend to others, and the heads of each; zeros: there are none. */
struct lookers {
    size_t layers, heads;
};

struct encoder {
    const struct encoder_kind *kind;
    const struct kernels *kernels;
    size_t vocabulary, embedding_size; /* V, E */
    size_t annotation;                 /* D */
    struct weights_table embedding;    /* [V, E] */
    struct lookers self;               /* tokens that attend to each other */
    void *own;                         /* what its kind has loaded */
};

/* The tokens of n sentences, end to end. */
struct encoder_input {
    const int *ids;        /* each inside the vocabulary */
    const size_t *lengths; /* [n], each >= 1 */
    size_t n;
};

struct encoded {
    const size_t *lengths; /* those of the input */
    size_t n;
    float *annotations;               /* [sum T, D], in the order of the ids */
    float *finals[CONFIG_MAX_LAYERS]; /* recurrent, for each layer: [n, states, its size, D in the
                                       * top one], state h first, [forward; backward] */
    const float *top; /* the last layer's final h of each sentence, top_ld floats apart; NULL: there
                         is none */
    size_t top_ld;
};

/* Returns the name of the encoder's embedding. */
const char *encoder_embedding(const struct model_config *config);

int encoder_init(struct encoder *encoder, const struct model_config *config, size_t vocabulary,
                 const struct loader *loader);

/* Encodes n sentences. out and all scratch are allocated in the arena. Thread-safe, because the
 * encoder is immutable. Call encoder_advance with the result of encoder_begin (NULL with
 * ERROR_MEMORY) until it returns true; then out is valid. The arena must stay until then, and the
 * lengths as long as out. A part takes
 * `work` multiplications or somewhat more, for sentences of any length; an encoder that does not
 * divide its work (encoder_divides) does all of it in encoder_begin. */
bool encoder_divides(const struct encoder *encoder);
void *encoder_begin(const struct encoder *encoder, const struct encoder_input *input,
                    struct arena *arena, struct encoded *out, struct error *err);
bool encoder_advance(const struct encoder *encoder, void *parts, size_t work);

/* Computes the weights [layers, T, heads, T] with which the tokens of one sentence attend to each
 * other, for an encoder with self-attention. Scratch is in the arena. Returns -1 with ERROR_MEMORY.
 */
int encoder_look(const struct encoder *encoder, const int *ids, size_t length, struct arena *arena,
                 float *weights, struct error *err);

/* Returns how many of the rows that are left a part takes: as many as do this work, with `each`
 * multiplications a row, but not too few, because a product of a few rows takes almost as long to
 * read the weights. */
size_t encoder_part_rows(size_t work, size_t each, size_t left);

/* ---- the decoder ----
 * A sentence is stored as entries of keys and values (struct memory), to which the steps of its
 * rows attend. A row has a state of fixed size, and a past to which each step adds. Their sizes are
 * the decoder's shape. A new kind is one file with a decoder_kind, its style in decoder_init, and a
 * row in weights/model/network.py. */

enum { DECODER_FIRST = -1 }; /* the token before the first */

struct decoder_kind;

/* Floats. */
struct decoder_shape {
    size_t state;      /* S: what a row carries from step to step; copied with it */
    size_t past;       /* G: what each step adds to the row's past; stored once; 0: nothing */
    size_t key, value; /* K, P: of one entry of the memory, all layers together */
    size_t layers;     /* equal parts of K and of P, of which each layer reads one */
    size_t outputs; /* of the products that make an entry: K + P, or more if entries are halved */
    size_t input, top, readout; /* E, H, O: what the output layer reads of a step */
};

struct decoder {
    const struct decoder_kind *kind;
    const struct kernels *kernels;
    size_t vocabulary;              /* V */
    struct weights_table embedding; /* [V, E] */
    int first;                      /* the id of the first input, or DECODER_FIRST for a zero vector
                                       (decoder.first_input) */
    bool attends; /* false: one entry of memory stands for a whole sentence, and attention cannot be
                     shown */
    struct decoder_shape shape;
    struct lookers self, cross; /* steps that attend with several heads to earlier steps, and to the
                                   memory (struct row_looks) */
    void *own;                  /* what its kind has loaded */
};

/* Leaves `first` to the caller, who knows the vocabulary. */
int decoder_init(struct decoder *decoder, const struct model_config *config, size_t vocabulary,
                 const struct loader *loader);

/* Sets the first states [n, S] of n sentences just encoded. Scratch is in the arena. Returns -1
 * with ERROR_MEMORY. */
int decoder_start(const struct decoder *decoder, const struct encoded *encoded, struct arena *arena,
                  float *states, struct error *err);

/* Returns the entries of the memory of a sentence of T tokens: T, or 1 without attention. */
static inline size_t decoder_slots(const struct decoder *decoder, size_t length) {
    return decoder->attends ? length : 1;
}

/* Entries of the memory of sentences just encoded, which lie end to end. */
struct memory_part {
    size_t first, count;
    float *keys, *values; /* [count, K], [count, P] */
};

/* Computes these entries. Scratch is in the arena, and released before returning. Returns -1 with
 * ERROR_MEMORY. */
int decoder_remember(const struct decoder *decoder, const struct encoded *encoded,
                     const struct memory_part *part, struct arena *arena, struct error *err);

/* Makes one step of R rows. If the shape has no state, a row may continue rows before it, whose
 * additions are in its past. Scratch is in the arena, and released before returning. Returns -1
 * with ERROR_MEMORY; the states are undefined then. */
int decoder_step(const struct decoder *decoder, const struct row *rows, size_t count,
                 struct arena *arena, struct error *err);

/* x [E] = the embedding of a row's token; zeros for DECODER_FIRST if the first input is a zero
 * vector. */
void decoder_embed(const struct decoder *decoder, int token, float *x);

/* ---- the output: one distribution per row, over the vocabulary or a list of its ids, the source's
 * words, or both ---- The words that the vocabulary lacks are copied (struct copies) or spelled
 * (struct speller). */

struct output_kind;

/* Outputs that copy give every source position a score on the scale of the vocabulary's logits;
 * positions of equal words add up, and one softmax goes over all of them. The attention that a
 * search keeps is always that of the step, even if the positions have their own scores (pointer,
 * copy, a pointer_generator whose pointer is "readout"). */
struct output {
    const struct output_kind *kind;
    const struct kernels *kernels;
    bool writes; /* words of the vocabulary; false: it can produce only the source's words */
    bool copies; /* the source's words */
    size_t vocabulary,
        stride; /* V; floats from row to row of logits: at least V and room for temporary ids */
    struct linear linear; /* [V, O]; tied: the weight is the target embedding; out 0: it produces
                             only copies */
    struct linear
        key; /* [K, D] of an annotation; out 0: the positions do not have their own scores */
    /* pointer_generator: the probability of copying */
    struct linear gate_context; /* c's part of a gate on [c; s; y], [1, D] of an annotation; out 0:
                                   another gate, or none */
    struct linear gate_state, gate_input; /* the others: [1, H], [1, E] */
    struct linear gate_readout; /* a gate on the readout, [1, O]; out 0: another gate, or none */
};

/* shortlists: rows may come with ids; not for outputs that copy. */
int output_init(struct output *output, const struct model_config *config, size_t vocabulary,
                bool shortlists, const struct loader *loader);

/* Computes keys [tokens, K], K = output->key.out, and gates [tokens, output->gate_context.out] of
 * annotations [tokens, D], sentences end to end. */
void output_keys(const struct output *output, const float *annotations, size_t tokens, float *keys,
                 float *gates);

/* Reads the rows' readouts and, for outputs that copy, their copies (with keys and gates), inputs,
 * tops and attention; rows of an output that copies have no targets. Writes their distributions,
 * which point into their logits, one for each target of the row, and, for the best tokens, into the
 * arena. Logits that no search reads may stay unknown. Returns -1 with ERROR_MEMORY. */
int output_run(const struct output *output, const struct row *rows, size_t count,
               struct arena *arena, struct error *err);

/* ---- copies: source words as target tokens ---- */

/* The tokens that one sentence's source adds to the vocabulary. A source token's id as a target is
 * that of its word in the target vocabulary; words that it lacks get temporary ids V, V + 1, ... in
 * the order of their first appearance in the sentence. The source's </s> is the target's: where it
 * is copied, the target ends. As a decoder's input a temporary id is <unk>, unless `inputs` has
 * another. weights/model/copies.py has the same rules. Everything lives in the sentence's arena. */
struct copies {
    const struct tokenizer *target;
    const int *words; /* [length] the target id of each source token */
    size_t length;    /* T */
    const struct token *const
        *extra;                /* [count] the source token where each temporary id first appears */
    size_t count;              /* X */
    const int *inputs;         /* [count] the ids that the decoder reads for them; NULL: <unk> */
    const float *keys, *gates; /* [T, K], [T, 1 or 0] output_keys of the source tokens; set when
                                  they are encoded */
};

/* The two sides' vocabularies. */
struct copies_between {
    const struct tokenizer *source, *target;
};

/* tokens [length], with </s> if the encoder reads it; they must outlive the result. Returns NULL
 * with ERROR_MEMORY. */
struct copies *copies_find(const struct copies_between *vocabularies, const struct token *tokens,
                           size_t length, struct arena *arena, struct error *err);

/* Returns the id of a target token: a temporary one if the source has the token and the target
 * vocabulary does not. */
int copies_id(const struct copies *copies, const struct token *token);
/* Returns true if one of the source tokens has this target id. */
bool copies_have(const struct copies *copies, int id);
/* Returns the source token of an id 0..V+X-1 if it is temporary; NULL: the id belongs to the
 * vocabulary. */
const struct token *copies_token(const struct copies *copies, int id);
/* Returns the id that the decoder reads for a target id: for a temporary one its stand-in, or
 * <unk>. */
int copies_input(const struct copies *copies, int id);

/* ---- the speller: words that the target vocabulary lacks, letter by letter ---- */

#define SPELLER_VOCABULARY                                                                         \
    "chars.vocab" /* in the model folder: the characters, as a vocabulary file */

enum { SPELLER_MAX_CHARACTERS = 40 };

/* An LSTM over characters, whose first h is the readout of the step that chose <unk> and whose
 * first c is zero (Luong and Manning 2016, section 3.4). Greedy. Thread-safe, because it is
 * immutable after loading. Zeroed: the model does not spell. */
struct speller {
    const struct tokenizer *characters; /* not owned */
    const struct kernels *kernels;
    size_t embedding_size;  /* E */
    const float *embedding; /* [C, E] */
    struct cell cell;       /* its H is O, the size of a readout */
    struct linear output;   /* [C, O] */
};

int speller_init(struct speller *speller, const struct model_config *config,
                 const struct tokenizer *characters, const struct loader *loader);

/* Spells the word of a readout [O], in the arena; NULL if it has no characters. Returns -1 with
 * ERROR_MEMORY. */
int speller_run(const struct speller *speller, const float *readout, struct arena *arena,
                const char **word, struct error *err);

/* ---- for kinds of decoders ---- */

/* init loads the parameters into decoder->own, in the arena, and sets the shape and whether it
 * attends. The others implement the functions above. */
struct decoder_kind {
    int (*init)(struct decoder *decoder, const struct model_config *config,
                const struct loader *loader);
    int (*start)(const struct decoder *decoder, const struct encoded *encoded, struct arena *arena,
                 float *states, struct error *err);
    int (*remember)(const struct decoder *decoder, const struct encoded *encoded,
                    const struct memory_part *part, struct arena *arena, struct error *err);
    int (*step)(const struct decoder *decoder, const struct row *rows, size_t count,
                struct arena *arena, struct error *err);
};
extern const struct decoder_kind decoder_recurrent;

#endif
