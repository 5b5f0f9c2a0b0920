#include "model/head.h"
#include "model/base/random.h"
#include "model/base/task.h"
#include "model/gibbs/aligner.h"
#include "model/gibbs/symmetrise.h"
#include "model/model.h"
#include "model/sentence.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORKERS = 2, /* a constant, so that sums are added in the same order everywhere */
    TOGETHER = 32,
    BATCH_PAIRS = 16,
    VISITS = 40000, /* of pairs, by default */
    MOST_EPOCHS = 12,
    REPORTED = 64, /* pairs between two reports */
    BLOCK_BYTES = 1 << 16
};
/* Adam, with a linear warm-up during a share of the run and a linear decay to 0. */
static const double rate = 0.003, warm_up = 0.05, decay1 = 0.9, decay2 = 0.98, tiny = 1e-8;

/* A pair as the model reads it. */
struct example {
    int *source, *target; /* [length], [steps]; with </s> where the model reads and writes it */
    size_t length, steps; /* T; S + 1 */
    size_t first, count;  /* the source's own tokens, without labels and </s> */
    const unsigned char *grid; /* [S, count] 1: linked; NULL: no links */
    float *annotations, *tops; /* [length, D], [steps, H]; NULL until it is decoded */
};

struct training {
    const struct translator *translator;
    const struct head_options *options;
    struct arena arena; /* of the tokens and links */
    struct example *examples;
    size_t count;
    size_t *order; /* [used] the examples that are decoded, at random */
    size_t used;
    struct head head;
};

static void report(const struct training *training, enum head_stage stage, size_t done, size_t of) {
    if (training->options->report && (done % REPORTED == 0 || done == of))
        training->options->report(training->options->owner, stage, done, of);
}

/* Puts n numbers into a random order. */
static void shuffle(size_t *order, size_t n, uint64_t seed, uint32_t round) {
    for (size_t i = n; i > 1; i--) {
        struct random_counter at = {{(uint32_t)i, (uint32_t)(i >> 32), round, 0}};
        size_t other = (size_t)(random_uniform(at, seed) * (double)i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

/* ---- reading ---- */

/* Prepares the sentence of a pair as it is decoded. false: it has none, because the model takes no
 * such text; then the error is set only if memory ran out. */
static bool prepare(const struct training *training, const struct head_pair *pair,
                    struct arena *arena, struct sentence_list *list, struct error *err) {
    static const struct search_options greedy = {
        .strategy = &search_greedy, .beam_size = 1, .n_best = 1};
    const struct translator *t = training->translator;
    const struct head_options *options = training->options;
    const struct translator_text text = {
        .text = pair->source.start, .length = pair->source.length, .verbatim = true};
    struct error inner = {0};
    if (sentence_prepare(t, &text, &greedy, arena, list, &inner) != 0) {
        list->count = 0;
    } else if (list->count == 1 &&
               ((t->languages.count > 0 &&
                 sentence_choose_languages(list->all, options->from, options->to, &inner) != 0) ||
                (t->languages.count == 0 && options->to && t->variants.count > 0 &&
                 sentence_choose_variant(list->all, options->to, &inner) != 0) ||
                sentence_force(list->all, pair->target.start, pair->target.length, &inner) != 0 ||
                list->all->options.prefix_length == 0)) {
        sentence_done(list->all);
        list->count = 0;
    }
    if (inner.code == ERROR_MEMORY)
        error_memory(err);
    return list->count == 1;
}

static int read_pair(struct training *training, const struct head_pair *pair,
                     struct example *example, struct error *err) {
    struct arena scratch;
    struct sentence_list list = {0};
    arena_init(&scratch, BLOCK_BYTES);
    if (prepare(training, pair, &scratch, &list, err)) {
        const struct sentence *sentence = list.all;
        struct span own = sentence_own(sentence);
        size_t written = sentence->options.prefix_length;
        example->length = sentence->length;
        example->steps = written + 1;
        example->first = own.begin;
        example->count = own.end - own.begin;
        example->source = arena_alloc(&training->arena, example->length, sizeof *example->source);
        example->target = arena_alloc(&training->arena, example->steps, sizeof *example->target);
        for (size_t j = 0; example->source && j < example->length; j++)
            example->source[j] = sentence->tokens[j].id;
        if (example->target) {
            memcpy(example->target, sentence->options.prefix, written * sizeof *example->target);
            example->target[written] = tokenizer_end(training->translator->target);
        }
        sentence_done(list.all);
    }
    arena_done(&scratch);
    if (arena_failed(&training->arena))
        error_memory(err);
    return err->code == ERROR_NONE ? 0 : -1;
}

/* ---- aligning ---- */

/* Copies the pieces of one side of all examples, numbered from 1. A pair that is too long has
 * none. */
static int fill_side(const struct training *training, int side, struct side *out,
                     struct error *err) {
    size_t words = 0;
    for (size_t i = 0; i < training->count; i++)
        words += side == 0 ? training->examples[i].length : training->examples[i].steps;
    out->words = malloc((words + 1) * sizeof *out->words);
    out->starts = malloc((training->count + 1) * sizeof *out->starts);
    if (!out->words || !out->starts)
        return error_memory(err);
    words = 0;
    for (size_t i = 0; i < training->count; i++) {
        const struct example *example = &training->examples[i];
        size_t count = side == 0 ? example->count : example->steps - 1;
        const int *ids = side == 0 ? example->source + example->first : example->target;
        bool fits = example->steps > 0 && example->count <= CORPUS_LONGEST &&
                    example->steps - 1 <= CORPUS_LONGEST && example->count > 0;
        out->starts[i] = words;
        for (size_t k = 0; fits && k < count; k++) {
            out->words[words++] = (uint32_t)ids[k] + 1;
            if ((uint32_t)ids[k] + 2 > out->vocabulary)
                out->vocabulary = (uint32_t)ids[k] + 2;
        }
    }
    out->starts[training->count] = words;
    return 0;
}

/* Keeps the links of one example. */
static int keep_links(struct training *training, size_t at, const struct corpus *corpus,
                      uint8_t *const links[2], struct grid *grid) {
    struct example *example = &training->examples[at];
    const struct directions directions = {links[0] + corpus->sides[1].starts[at],
                                          links[1] + corpus->sides[0].starts[at]};
    bool linked = false;
    grid->rows = side_length(&corpus->sides[0], at);
    grid->columns = side_length(&corpus->sides[1], at);
    if (grid->rows == 0)
        return 0;
    symmetrise(symmetry_find("grow-diag-final-and"), &directions, grid);
    unsigned char *kept = arena_alloc(&training->arena, grid->rows * grid->columns, 1);
    for (size_t i = 0; kept && i < grid->columns; i++)
        for (size_t j = 0; j < grid->rows; j++) {
            kept[i * grid->rows + j] = grid->linked[j][i];
            linked |= grid->linked[j][i];
        }
    if (linked)
        example->grid = kept;
    return kept ? 0 : -1;
}

static int align(struct training *training, struct error *err) {
    const struct aligner_options options = {.samplers = 3, .seed = training->options->seed};
    struct corpus corpus = {.pairs = training->count};
    uint8_t *links[2] = {NULL, NULL};
    struct grid *grid = malloc(sizeof *grid);
    int result = grid ? 0 : error_memory(err);
    for (int side = 0; result == 0 && side < 2; side++)
        result = fill_side(training, side, &corpus.sides[side], err);
    report(training, HEAD_ALIGNS, 0, training->count);
    if (result == 0)
        result = aligner_run(&corpus, &options, links, err);
    for (size_t i = 0; result == 0 && i < training->count; i++)
        if (keep_links(training, i, &corpus, links, grid) != 0)
            result = error_memory(err);
    if (result == 0)
        report(training, HEAD_ALIGNS, training->count, training->count);
    free(grid);
    free(links[0]);
    free(links[1]);
    corpus_done(&corpus);
    return result;
}

/* Chooses the examples to decode: those with links, at random, as many as there is room for. */
static int choose(struct training *training, struct error *err) {
    const struct translator *t = training->translator;
    size_t linked = 0, bytes = 0;
    training->order = malloc((training->count + 1) * sizeof *training->order);
    if (!training->order)
        return error_memory(err);
    for (size_t i = 0; i < training->count; i++)
        if (training->examples[i].grid)
            training->order[linked++] = i;
    training->head.unlinked = training->count - linked;
    shuffle(training->order, linked, training->options->seed, 0);
    for (; training->used < linked; training->used++) {
        const struct example *example = &training->examples[training->order[training->used]];
        bytes += (example->length * t->encoder.annotation + example->steps * t->decoder.shape.top) *
                 sizeof(float);
        if (bytes > training->options->most_bytes && training->used > 0)
            break;
    }
    return training->used > 0
               ? 0
               : error_set(err, ERROR_INPUT, "none of the %zu pairs has links between its words",
                           training->count);
}

/* ---- decoding ---- */

/* The tokens, memory and state with which the decoding of a target begins. */
struct start {
    const int *opening; /* as of a sentence */
    const struct memory *memory;
    float *state; /* [S] updated */
};

/* Runs the decoder over the steps of a target, and keeps the outputs of its top layer. */
static int run_steps(const struct translator *t, const struct start *start,
                     const struct example *example, struct arena *arena, struct error *err) {
    const struct decoder_shape *shape = &t->decoder.shape;
    size_t opened = t->opening_count, steps = opened + example->steps;
    size_t together = shape->state > 0 ? 1 : TOGETHER;
    float *added = arena_alloc(arena, steps * shape->past, sizeof *added);
    const float **past = arena_alloc(arena, steps, sizeof *past);
    struct row *rows = arena_alloc(arena, TOGETHER, sizeof *rows);
    float *readouts = arena_alloc(arena, TOGETHER * shape->readout, sizeof *readouts);
    float *attention = arena_alloc(arena, start->memory->length, sizeof *attention); /* not read */
    if (arena_failed(arena))
        return error_memory(err);
    for (size_t i = 0; i < steps; i++)
        past[i] = added + i * shape->past;
    for (size_t first = 0, count; first < steps; first += count) {
        count = steps - first < together ? steps - first : together;
        for (size_t r = 0; r < count; r++) {
            size_t step = first + r;
            int token = step == 0        ? DECODER_FIRST
                        : step <= opened ? start->opening[step - 1]
                                         : example->target[step - opened - 1];
            rows[r] = (struct row){
                .token = token,
                .step = step,
                .memory = start->memory,
                .past = shape->past > 0 ? past : NULL,
                .added = shape->past > 0 ? added + step * shape->past : NULL,
                .state = start->state,
                .attention = attention,
                .readout = readouts + r * shape->readout,
                .top = step < opened ? NULL : example->tops + (step - opened) * shape->top};
        }
        if (decoder_step(&t->decoder, rows, count, arena, err) != 0)
            return -1;
    }
    return 0;
}

static int decode(const struct translator *t, struct example *example, const int *opening,
                  struct arena *arena, struct error *err) {
    const struct decoder_shape *shape = &t->decoder.shape;
    size_t size = t->encoder.annotation, entries = decoder_slots(&t->decoder, example->length);
    const struct encoder_input input = {example->source, &example->length, 1};
    struct encoded encoded;
    void *parts = encoder_begin(&t->encoder, &input, arena, &encoded, err);
    if (!parts)
        return -1;
    while (!encoder_advance(&t->encoder, parts, SIZE_MAX))
        ;
    float *keys = arena_alloc(arena, entries * shape->key, sizeof *keys);
    float *values = arena_alloc(arena, entries * shape->value, sizeof *values);
    float *state = arena_zalloc(arena, shape->state, sizeof *state);
    example->annotations = malloc(example->length * size * sizeof(float));
    example->tops = malloc(example->steps * shape->top * sizeof(float));
    if (arena_failed(arena) || !example->annotations || !example->tops)
        return error_memory(err);
    memcpy(example->annotations, encoded.annotations, example->length * size * sizeof(float));
    const struct memory_part part = {0, entries, keys, values};
    if (decoder_start(&t->decoder, &encoded, arena, state, err) != 0 ||
        decoder_remember(&t->decoder, &encoded, &part, arena, err) != 0)
        return -1;
    const struct memory memory = {.length = entries, .keys = keys, .values = values};
    const struct start start = {opening, &memory, state};
    return run_steps(t, &start, example, arena, err);
}

/* A thread's share of the examples: every WORKERS-th. */
struct decoding {
    struct training *training;
    const int *opening;
    size_t first;
    struct error error;
};

static void decode_share(void *context) {
    struct decoding *share = context;
    struct training *training = share->training;
    for (size_t i = share->first; i < training->used && share->error.code == ERROR_NONE;
         i += WORKERS) {
        struct arena arena;
        arena_init(&arena, BLOCK_BYTES);
        decode(training->translator, &training->examples[training->order[i]], share->opening,
               &arena, &share->error);
        arena_done(&arena);
        if (share->first == 0 && i + 1 < training->used)
            report(training, HEAD_DECODES, i, training->used);
    }
}

static int decode_all(struct training *training, struct error *err) {
    const struct translator *t = training->translator;
    const int *opening = t->opening;
    const char *to = training->options->to;
    for (size_t i = 0; i < t->languages.count; i++)
        if (to && strcmp(t->languages.all[i].code, to) == 0)
            opening = &t->language_ids[i].target;
    struct decoding shares[WORKERS];
    struct task tasks[WORKERS];
    for (size_t w = 0; w < WORKERS; w++) {
        shares[w] = (struct decoding){.training = training, .opening = opening, .first = w};
        task_start(&tasks[w], decode_share, &shares[w]);
    }
    int result = 0;
    for (size_t w = 0; w < WORKERS; w++) {
        task_wait(&tasks[w]);
        if (result == 0 && shares[w].error.code != ERROR_NONE)
            result = error_set(err, shares[w].error.code, "%s", shares[w].error.message);
    }
    report(training, HEAD_DECODES, training->used, training->used);
    return result;
}

/* ---- fitting ---- */

/* The tensors of a head, end to end: query, bias, key. */
struct tensors {
    float *all, *query, *bias, *key;
};

static size_t tensors_count(const struct head *head) {
    return head->size * (head->query_in + 1 + head->key_in);
}

static void tensors_place(struct tensors *tensors, float *all, const struct head *head) {
    tensors->all = tensors->query = all;
    tensors->bias = all + head->size * head->query_in;
    tensors->key = tensors->bias + head->size;
}

/* A thread that computes the gradient of its share of a batch. */
struct fitting {
    const struct training *training;
    const struct tensors *values;
    struct tensors gradient;
    const size_t *batch; /* [count] indices of examples */
    size_t count, first;
    struct arena arena;
    double loss;   /* summed over the pieces that are linked */
    size_t pieces; /* that are linked */
    bool failed;
};

/* A linear layer, and where its gradient is added. */
struct layer {
    const struct kernels *kernels;
    size_t in, out;
    const float *weight, *bias; /* [out, in], [out] or NULL */
    float *gradient;            /* [out, in] */
    float *scratch;             /* [rows + in] */
};

/* y [n, out] = x [n, in] weight^T + bias */
static void layer_apply(const struct layer *layer, const float *x, size_t n, float *y) {
    for (size_t i = 0; i < n; i++) {
        layer->kernels->dot(x + i * layer->in, layer->weight, layer->out, layer->in,
                            y + i * layer->out);
        if (layer->bias)
            layer->kernels->add(layer->bias, layer->out, y + i * layer->out);
    }
}

/* gradient += d [n, out]^T x [n, in] */
static void layer_learn(const struct layer *layer, const float *d, const float *x, size_t n) {
    float *column = layer->scratch, *sum = layer->scratch + n;
    for (size_t a = 0; a < layer->out; a++) {
        for (size_t i = 0; i < n; i++)
            column[i] = d[i * layer->out + a];
        layer->kernels->weighted_sum(column, x, n, layer->in, sum);
        layer->kernels->add(sum, layer->in, layer->gradient + a * layer->in);
    }
}

/* Sets guide [T] to the shares of a step's links; false: it has none. */
static bool guide_of(const struct example *example, size_t step, float *guide) {
    size_t linked = 0;
    memset(guide, 0, example->length * sizeof *guide);
    if (step + 1 == example->steps) { /* </s> */
        bool end = example->first + example->count < example->length;
        guide[example->length - 1] = end;
        return end;
    }
    const unsigned char *row = example->grid + step * example->count;
    for (size_t j = 0; j < example->count; j++)
        linked += row[j];
    for (size_t j = 0; linked > 0 && j < example->count; j++)
        guide[example->first + j] = (float)row[j] / (float)linked;
    return linked > 0;
}

/* Adds the loss and the gradient of one example. */
static void fit_example(struct fitting *share, const struct example *example) {
    const struct training *training = share->training;
    const struct translator *t = training->translator;
    const struct kernels *kernels = t->encoder.kernels;
    const struct head *head = &training->head;
    struct arena *arena = &share->arena;
    size_t size = head->size, steps = example->steps, length = example->length;
    size_t embedded = t->decoder.shape.input, top = t->decoder.shape.top,
           annotation = t->encoder.annotation, most = steps > length ? steps : length;
    float *x = arena_alloc(arena, steps * head->query_in, sizeof *x);
    float *z = arena_alloc(arena, length * head->key_in, sizeof *z);
    float *q = arena_alloc(arena, steps * size, sizeof *q);
    float *k = arena_alloc(arena, length * size, sizeof *k);
    float *dq = arena_zalloc(arena, steps * size, sizeof *dq);
    float *dk = arena_zalloc(arena, length * size, sizeof *dk);
    float *row = arena_alloc(arena, length, sizeof *row);
    float *guide = arena_alloc(arena, length, sizeof *guide);
    float *scratch = arena_alloc(arena, most + head->query_in + head->key_in, sizeof *scratch);
    if (arena_failed(arena)) {
        share->failed = true;
        return;
    }
    const struct layer query = {kernels,
                                head->query_in,
                                size,
                                share->values->query,
                                share->values->bias,
                                share->gradient.query,
                                scratch};
    const struct layer key = {kernels, head->key_in,        size,   share->values->key,
                              NULL,    share->gradient.key, scratch};
    for (size_t i = 0; i < steps; i++) {
        decoder_embed(&t->decoder, example->target[i], x + i * head->query_in);
        memcpy(x + i * head->query_in + embedded, example->tops + i * top, top * sizeof *x);
    }
    for (size_t j = 0; j < length; j++) {
        memcpy(z + j * head->key_in, example->annotations + j * annotation, annotation * sizeof *z);
        weights_row(&t->encoder.embedding, (size_t)example->source[j],
                    z + j * head->key_in + annotation);
    }
    layer_apply(&query, x, steps, q);
    layer_apply(&key, z, length, k);
    for (size_t i = 0; i < steps; i++) {
        if (!guide_of(example, i, guide))
            continue;
        kernels->dot(q + i * size, k, length, size, row);
        kernels->softmax(row, length);
        share->pieces++;
        for (size_t j = 0; j < length; j++) {
            if (guide[j] > 0)
                share->loss -=
                    (double)guide[j] * log((double)row[j] > 1e-9 ? (double)row[j] : 1e-9);
            row[j] -= guide[j]; /* the gradient of the score */
        }
        kernels->weighted_sum(row, k, length, size, dq + i * size);
        for (size_t j = 0; j < length; j++)
            for (size_t a = 0; a < size; a++)
                dk[j * size + a] += row[j] * q[i * size + a];
        kernels->add(dq + i * size, size, share->gradient.bias);
    }
    layer_learn(&query, dq, x, steps);
    layer_learn(&key, dk, z, length);
}

static void fit_share(void *context) {
    struct fitting *share = context;
    memset(share->gradient.all, 0,
           tensors_count(&share->training->head) * sizeof *share->gradient.all);
    share->loss = 0;
    share->pieces = 0;
    for (size_t i = share->first; i < share->count; i += WORKERS) {
        struct arena_mark mark = arena_mark(&share->arena);
        fit_example(share, &share->training->examples[share->batch[i]]);
        arena_release(&share->arena, mark);
    }
}

/* The state of Adam. */
struct adam {
    size_t count; /* of parameters */
    float *values, *mean, *square;
    double power1, power2;
};

static void adam_step(struct adam *adam, const struct fitting shares[WORKERS], double pieces,
                      double step) {
    adam->power1 *= decay1;
    adam->power2 *= decay2;
    double whole1 = 1 / (1 - adam->power1), whole2 = 1 / (1 - adam->power2);
    for (size_t i = 0; i < adam->count; i++) {
        double gradient = 0;
        for (size_t w = 0; w < WORKERS; w++)
            gradient += (double)shares[w].gradient.all[i];
        gradient /= pieces;
        adam->mean[i] = (float)(decay1 * (double)adam->mean[i] + (1 - decay1) * gradient);
        adam->square[i] =
            (float)(decay2 * (double)adam->square[i] + (1 - decay2) * gradient * gradient);
        adam->values[i] -= (float)(step * (double)adam->mean[i] * whole1 /
                                   (sqrt((double)adam->square[i] * whole2) + tiny));
    }
}

/* The first values of a linear layer: uniform within 1 / sqrt(in). */
static void begin_values(const struct head *head, uint64_t seed, struct tensors *values) {
    size_t count = tensors_count(head), queries = head->size * (head->query_in + 1);
    for (size_t i = 0; i < count; i++) {
        struct random_counter at = {{(uint32_t)i, (uint32_t)(i >> 32), 0, 1}};
        double u = 2 * random_uniform(at, seed) - 1;
        values->all[i] = (float)(u / sqrt((double)(i < queries ? head->query_in : head->key_in)));
    }
}

/* Makes the passes through the examples. shares: with the room that they need. */
static int fit_epochs(struct training *training, struct fitting shares[WORKERS], struct adam *adam,
                      struct tensors *values, struct error *err) {
    struct head *head = &training->head;
    size_t epochs = training->options->epochs, used = training->used, done = 0;
    if (epochs == 0)
        epochs = VISITS / used > MOST_EPOCHS ? MOST_EPOCHS : VISITS / used + (VISITS < used);
    double total = (double)(epochs * used);
    begin_values(head, training->options->seed, values);
    for (size_t epoch = 0; epoch < epochs; epoch++) {
        double loss = 0;
        size_t pieces = 0;
        shuffle(training->order, used, training->options->seed, (uint32_t)epoch + 1);
        for (size_t first = 0, count; first < used; first += count) {
            struct task tasks[WORKERS];
            size_t here = 0;
            count = used - first < BATCH_PAIRS ? used - first : BATCH_PAIRS;
            for (size_t w = 0; w < WORKERS; w++) {
                shares[w].batch = training->order + first;
                shares[w].count = count;
                task_start(&tasks[w], fit_share, &shares[w]);
            }
            for (size_t w = 0; w < WORKERS; w++) {
                task_wait(&tasks[w]);
                if (shares[w].failed)
                    error_memory(err);
                loss += shares[w].loss;
                here += shares[w].pieces;
            }
            if (err->code != ERROR_NONE)
                return -1;
            done += count;
            double share = (double)done / total;
            double step = rate * fmin(1, share / warm_up) * (1 - (double)(done - count) / total);
            if (here > 0)
                adam_step(adam, shares, (double)here, step);
            pieces += here;
            if (done < epochs * used)
                report(training, HEAD_FITS, done, epochs * used);
        }
        head->loss = pieces > 0 ? loss / (double)pieces : 0;
    }
    report(training, HEAD_FITS, epochs * used, epochs * used);
    return 0;
}

static int fit(struct training *training, struct error *err) {
    struct head *head = &training->head;
    size_t count = tensors_count(head);
    struct fitting shares[WORKERS];
    struct tensors values;
    float *all = calloc((3 + WORKERS) * count, sizeof *all);
    if (!all)
        return error_memory(err);
    tensors_place(&values, all, head);
    struct adam adam = {count, all, all + count, all + 2 * count, 1, 1};
    for (size_t w = 0; w < WORKERS; w++) {
        shares[w] = (struct fitting){.training = training, .values = &values, .first = w};
        tensors_place(&shares[w].gradient, all + (3 + w) * count, head);
        arena_init(&shares[w].arena, BLOCK_BYTES);
    }
    int result = fit_epochs(training, shares, &adam, &values, err);
    for (size_t w = 0; w < WORKERS; w++)
        arena_done(&shares[w].arena);
    if (result == 0) {
        head->query = all; /* the others follow it */
        head->bias = values.bias;
        head->key = values.key;
    } else {
        free(all);
    }
    return result;
}

int head_train(const struct translator *translator, const struct head_pairs *pairs,
               const struct head_options *options, struct head *out, struct error *err) {
    const struct translator *t = translator;
    struct training training = {.translator = t, .options = options, .count = pairs->count};
    struct error inner = {0};
    int result = 0;
    if (!t->decoder.attends || t->output.copies)
        return error_set(err, ERROR_INPUT, "the model %s",
                         t->output.copies ? "copies words of its source, and aligns by that"
                                          : "has no attention");
    if (t->languages.count > 0 && (!options->from || !options->to))
        return error_set(err, ERROR_INPUT,
                         "a model of many languages needs the languages of the pairs");
    training.head = (struct head){.size = options->size,
                                  .query_in = t->decoder.shape.input + t->decoder.shape.top,
                                  .key_in = t->encoder.annotation + t->encoder.embedding_size};
    arena_init(&training.arena, BLOCK_BYTES);
    training.examples = calloc(pairs->count + 1, sizeof *training.examples);
    if (!training.examples)
        result = error_memory(&inner);
    for (size_t i = 0; result == 0 && i < pairs->count; i++) {
        result = read_pair(&training, &pairs->all[i], &training.examples[i], &inner);
        report(&training, HEAD_READS, i + 1, pairs->count);
    }
    if (result == 0)
        result = align(&training, &inner);
    if (result == 0)
        result = choose(&training, &inner);
    if (result == 0)
        result = decode_all(&training, &inner);
    if (result == 0)
        result = fit(&training, &inner);
    training.head.used = training.used;
    if (result == 0)
        *out = training.head;
    else
        error_set(err, inner.code, "%s", inner.message);
    for (size_t i = 0; training.examples && i < pairs->count; i++) {
        free(training.examples[i].annotations);
        free(training.examples[i].tops);
    }
    free(training.examples);
    free(training.order);
    arena_done(&training.arena);
    return result;
}

void head_done(struct head *head) {
    free(head->query);
    *head = (struct head){0};
}
