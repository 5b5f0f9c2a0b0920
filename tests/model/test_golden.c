/* Values that PyTorch computed (weights/golden/values.py) for tiny random models, one folder of
 * tests/golden each: every cell, score, decoder style, readout, initial state and storage, at every
 * joint from the annotations to what each search finds. */
#include "model/model.h"
#include "model/translator.h"
#include "tests/models.h"
#include "tests/suites.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/golden"
enum { MAX_CASES = 256 };
static char cases[MAX_CASES][64];

/* Relative, or absolute below 1. What is compared stands at the end of up to thirty steps, each of
 * which feeds its rounding to the next. weights/golden/values.py accepts only models on which
 * PyTorch's own float32 and float64 agree within 5e-6 on every path but those that are drawn. Where
 * products are added fused, all are within 4e-5, what is found by searching within 1e-5
 * (GOLDEN_DIFFERENCE=1 prints it); where they are not (sanitizers' builds, processors without
 * AVX2), the norms of transformers, over eight numbers, magnify it to 7e-5. */
static const double TOLERANCE = 1e-4;
static double largest; /* difference in this process, one test of one case */

static void check_near(double got, double want, const char *what, size_t index) {
    if (want <= -1e30 && isinf(got) && got < 0)
        return;
    largest = fmax(largest, fabs(got - want) / fmax(1.0, fabs(want)));
    ck_assert_msg(fabs(got - want) <= TOLERANCE * fmax(1.0, fabs(want)),
                  "%s[%zu]: got %.9g, want %.9g", what, index, got, want);
}

static void check_vector(const float *got, const json_t *want, const char *what) {
    size_t i;
    json_t *value;
    ck_assert_msg(json_is_array(want), "%s: missing in golden.json", what);
    json_array_foreach(want, i, value)
        check_near((double)got[i], json_number_value(value), what, i);
}

static void check_matrix(const float *got, size_t ld, const json_t *want, const char *what) {
    size_t i;
    json_t *row;
    ck_assert_msg(json_array_size(want) > 0, "%s: missing in golden.json", what);
    json_array_foreach(want, i, row) check_vector(got + i * ld, row, what);
}

/* The case that was opened last: the tests of a case follow each other. With a sanitizer, a batch
 * is expensive to create. */
enum { ROWS = 128 };
static struct {
    char name[64];
    struct translator *translator;
    struct batch *batch;
    json_t *golden;
} current;

static void close_case(void) {
    json_decref(current.golden);
    batch_free(current.batch);
    translator_free(current.translator);
    memset(&current, 0, sizeof current);
}

static void open_case(const char *name) {
    char path[128];
    json_error_t err;
    if (strcmp(current.name, name) == 0)
        return;
    close_case();
    snprintf(path, sizeof path, FOLDER "/%s", name);
    current.translator = model_open(path);
    current.batch = batch_create(current.translator, ROWS, NULL);
    ck_assert_ptr_nonnull(current.batch);
    snprintf(path, sizeof path, FOLDER "/%s/golden.json", name);
    current.golden = json_load_file(path, 0, &err);
    ck_assert_msg(current.golden != NULL, "%s: %s", path, err.text);
    snprintf(current.name, sizeof current.name, "%.63s", name);
}

static struct translator *translator_of(const char *name) {
    open_case(name);
    return current.translator;
}

static json_t *golden_of(const char *name) {
    open_case(name);
    return current.golden;
}

static size_t read_ids(const json_t *list, int *ids, size_t room) {
    size_t count = json_array_size(list);
    ck_assert(count <= room);
    for (size_t i = 0; i < count; i++)
        ids[i] = (int)json_integer_value(json_array_get(list, i));
    return count;
}

/* A state in golden.json is a list of layers, each a list of tensors (h, or h and c), as they
 * follow each other in a row's. A transformer's are those of its mixer; where that has a past, what
 * the step has added to it: `added`, NULL before the first. */
static void check_state(const struct translator *t, const float *state, const float *added,
                        const json_t *layers, const char *what) {
    size_t l, part, at = 0, hidden = t->config.decoder.hidden;
    const struct blocks_config *blocks = &t->config.decoder.blocks;
    size_t width = t->decoder.shape.past > 0 && blocks->head_size > 0
                       ? blocks->heads * blocks->head_size
                       : hidden;
    size_t all =
        (t->decoder.shape.past > 0 ? t->decoder.shape.past : t->decoder.shape.state) / width;
    bool recurrent = t->decoder.kind == &decoder_recurrent;
    json_t *layer, *tensor;
    ck_assert_uint_eq(json_array_size(layers), t->config.decoder.layers);
    json_array_foreach(layers, l, layer) {
        size_t parts = recurrent
                           ? cell_kind_find("decoder.cell", t->config.decoder.cell, NULL)->states
                           : all / t->config.decoder.layers;
        ck_assert_uint_eq(json_array_size(layer), t->decoder.shape.past > 0 && !added ? 0 : parts);
        json_array_foreach(layer, part, tensor) {
            check_vector((added ? added : state) + at, tensor, what);
            at += width;
        }
    }
    ck_assert_uint_le(at, added ? t->decoder.shape.past
                                : t->decoder.shape.state); /* coverage and h~ follow */
}

/* ---- the joints ---- */

/* The memory to which a sentence's steps attend. */
struct source {
    struct memory memory;
    struct copies *copies;
};

/* The sentence's ids as tokens with their pieces; what a model that copies makes of them is what
 * golden.json says. */
static struct token *tokens_of(const struct translator *t, const json_t *sentence, const int *ids,
                               size_t length, struct arena *arena) {
    const char *text = json_string_value(json_object_get(sentence, "text"));
    struct token *tokens = arena_zalloc(arena, length, sizeof *tokens);
    const struct token_list encoded = model_tokens(t->source, text, NULL, arena);
    for (size_t j = 0; j < length; j++)
        tokens[j] = (struct token){.id = ids[j],
                                   .piece = j < encoded.count ? encoded.all[j].piece
                                                              : tokenizer_piece(t->source, ids[j])};
    return tokens;
}

static struct copies *copies_of(const struct translator *t, const json_t *sentence,
                                const struct token *tokens, size_t length, struct arena *arena) {
    const json_t *words = json_object_get(sentence, "words");
    ck_assert_int_eq(t->output.copies, words != NULL);
    if (!words)
        return NULL;
    struct copies *copies =
        copies_find(&(struct copies_between){t->source, t->target}, tokens, length, arena, NULL);
    ck_assert_uint_eq(json_array_size(words), length);
    for (size_t j = 0; j < length; j++)
        ck_assert_int_eq(copies->words[j], json_integer_value(json_array_get(words, j)));
    return copies;
}

static void check_steps(const struct translator *t, const struct source *source, float *state,
                        const json_t *steps, struct arena *arena) {
    const struct decoder *decoder = &t->decoder;
    const struct decoder_shape *shape = &decoder->shape;
    const struct copies *copies = source->copies;
    const float *past[64];
    size_t i;
    json_t *step;
    ck_assert_uint_ge(json_array_size(steps), 3);
    json_array_foreach(steps, i, step) {
        float *added = shape->past > 0 ? arena_alloc(arena, shape->past, sizeof *added) : NULL;
        past[i] = added;
        int token =
            i == 0 ? DECODER_FIRST : (int)json_integer_value(json_object_get(step, "previous"));
        struct distribution distribution;
        struct row row = {.token = copies && i > 0 ? copies_input(copies, token) : token,
                          .step = i,
                          .memory = &source->memory,
                          .copies = copies,
                          .past = past,
                          .added = added,
                          .state = state,
                          .attention = arena_alloc(arena, source->memory.length, sizeof(float)),
                          .readout = arena_alloc(arena, shape->readout, sizeof(float)),
                          .input = arena_alloc(arena, shape->input, sizeof(float)),
                          .top = arena_alloc(arena, shape->top, sizeof(float)),
                          .logits = arena_alloc(arena, t->output.stride, sizeof(float)),
                          .reads_all = true,
                          .distribution = &distribution};
        ck_assert_int_eq(decoder_step(decoder, &row, 1, arena, NULL), 0);
        check_state(t, state, added, json_object_get(step, "state"), "state");
        check_vector(row.attention, json_object_get(step, "attention"), "attention");
        check_vector(row.readout, json_object_get(step, "readout"), "readout");
        ck_assert_int_eq(output_run(&t->output, &row, 1, arena, NULL), 0);
        ck_assert_uint_eq(distribution.size, decoder->vocabulary + (copies ? copies->count : 0));
        for (size_t v = 0; v < distribution.size; v++)
            row.logits[v] -= distribution.log_sum;
        if (json_object_get(
                step,
                "log_probs")) /* only the first sentences have them, for the size of the file */
            check_vector(row.logits, json_object_get(step, "log_probs"), "log_probs");
    }
}

/* The additive score's keys hold exp(2x). */
static void check_keys(const struct translator *t, const float *keys, size_t length,
                       const json_t *want) {
    size_t size = t->decoder.shape.key;
    bool twice = strcmp(t->config.attention.score, "additive") == 0;
    float *plain = malloc(length * size * sizeof *plain);
    for (size_t i = 0; i < length * size; i++)
        plain[i] = twice ? logf(keys[i]) / 2 : keys[i];
    check_matrix(plain, size, want, "keys");
    free(plain);
}

/* ---- the alignment head ---- */

/* The vectors that the head reads, one for each token of the target and one for </s>. */
struct chosen {
    float *x; /* [n, E + H] the token's embedding and the top layer's output in the step that chose
                 it */
    size_t count; /* n */
};

static struct chosen choose(const struct translator *t, const struct source *source, float *state,
                            const json_t *target, struct arena *arena) {
    const struct decoder_shape *shape = &t->decoder.shape;
    int tokens[64], previous = DECODER_FIRST;
    const float *past[64];
    struct chosen chosen = {.count = read_ids(target, tokens, 63) + 1};
    tokens[chosen.count - 1] = tokenizer_end(t->target);
    size_t size = shape->input + shape->top;
    chosen.x = arena_alloc(arena, chosen.count * size, sizeof(float));
    for (size_t i = 0; i < chosen.count; i++) {
        float *added = arena_alloc(arena, shape->past, sizeof *added);
        past[i] = added;
        struct row row = {.token = previous,
                          .step = i,
                          .memory = &source->memory,
                          .copies = source->copies,
                          .past = past,
                          .added = added,
                          .state = state,
                          .attention = arena_alloc(arena, source->memory.length, sizeof(float)),
                          .readout = arena_alloc(arena, shape->readout, sizeof(float)),
                          .top = chosen.x + i * size + shape->input};
        ck_assert_int_eq(decoder_step(&t->decoder, &row, 1, arena, NULL), 0);
        previous = source->copies ? copies_input(source->copies, tokens[i]) : tokens[i];
        decoder_embed(&t->decoder, previous, chosen.x + i * size);
    }
    return chosen;
}

static void check_alignment(const struct translator *t, const struct source *source,
                            const struct encoded *encoded, const int *ids, float *state,
                            const json_t *sentence, struct arena *arena) {
    const struct encoder *e = &t->encoder;
    const struct linear *key = &t->alignment.key;
    size_t length = source->memory.length, size = key->out;
    float *x = arena_alloc(arena, length * key->in, sizeof *x);
    float *keys = arena_alloc(arena, length * size, sizeof *keys);
    for (size_t j = 0; j < length; j++) {
        memcpy(x + j * key->in, encoded->annotations + j * e->annotation,
               e->annotation * sizeof *x);
        weights_row(&e->embedding, (size_t)ids[j], x + j * key->in + e->annotation);
    }
    linear_apply(key, x, key->in, length, keys, size);
    check_matrix(keys, size, json_object_get(sentence, "alignment_keys"), "alignment_keys");
    struct chosen chosen = choose(
        t, source, state, json_object_get(json_object_get(sentence, "forced"), "tokens"), arena);
    float *rows = arena_alloc(arena, chosen.count * length, sizeof *rows);
    float *queries = arena_alloc(arena, chosen.count * t->alignment.query.out, sizeof *queries);
    alignment_rows(&t->alignment, &(struct alignment_inputs){chosen.x, chosen.count, keys, length},
                   queries, rows);
    ck_assert_uint_eq(json_array_size(json_object_get(sentence, "soft_alignment")), chosen.count);
    check_matrix(rows, length, json_object_get(sentence, "soft_alignment"), "soft_alignment");
}

static void encode(const struct translator *t, const int *ids, const size_t *lengths, size_t n,
                   struct arena *arena, struct encoded *out) {
    void *parts =
        encoder_begin(&t->encoder, &(struct encoder_input){ids, lengths, n}, arena, out, NULL);
    ck_assert_ptr_nonnull(parts);
    ck_assert(encoder_advance(&t->encoder, parts, SIZE_MAX));
}

static void check_joints(const struct translator *t, const json_t *sentence) {
    int ids[64];
    struct arena arena;
    arena_init(&arena, 1 << 16);
    size_t length = read_ids(json_object_get(sentence, "source"), ids, 64);
    struct encoded encoded;
    encode(t, ids, &length, 1, &arena, &encoded);
    check_matrix(encoded.annotations, t->encoder.annotation,
                 json_object_get(sentence, "annotations"), "annotations");
    float *keys = arena_alloc(&arena, length * t->decoder.shape.key, sizeof *keys);
    float *values = arena_alloc(&arena, length * t->decoder.shape.value, sizeof *values);
    struct memory_part all = {0, decoder_slots(&t->decoder, length), keys, values};
    ck_assert_int_eq(decoder_remember(&t->decoder, &encoded, &all, &arena, NULL), 0);
    if (t->decoder.attends)
        check_keys(t, keys, length, json_object_get(sentence, "keys"));
    float *state = arena_alloc(&arena, t->decoder.shape.state, sizeof *state);
    ck_assert_int_eq(decoder_start(&t->decoder, &encoded, &arena, state, NULL), 0);
    check_state(t, state, NULL, json_object_get(sentence, "start"), "start");
    struct source source = {
        {.length = length, .keys = keys, .values = values},
        copies_of(t, sentence, tokens_of(t, sentence, ids, length, &arena), length, &arena)};
    float *copy_keys = arena_alloc(&arena, length * t->output.key.out, sizeof *copy_keys);
    float *copy_gates =
        arena_alloc(&arena, length * t->output.gate_context.out, sizeof *copy_gates);
    output_keys(&t->output, encoded.annotations, length, copy_keys, copy_gates);
    if (source.copies) {
        source.copies->keys = copy_keys;
        source.copies->gates = copy_gates;
    }
    float *first = arena_alloc(&arena, t->decoder.shape.state, sizeof *first);
    memcpy(first, state, t->decoder.shape.state * sizeof *first);
    check_steps(t, &source, state, json_object_get(sentence, "steps"), &arena);
    ck_assert_int_eq(t->alignment.query.out > 0,
                     json_object_get(sentence, "soft_alignment") != NULL);
    if (t->alignment.query.out > 0)
        check_alignment(t, &source, &encoded, ids, first, sentence, &arena);
    arena_done(&arena);
}

START_TEST(joints_equal_pytorch) {
    struct translator *translator = translator_of(cases[_i]);
    json_t *golden = golden_of(cases[_i]), *sentence;
    size_t i;
    json_t *sentences = json_object_get(golden, "sentences");
    ck_assert_uint_ge(json_array_size(sentences), 5);
    json_t *first_step = json_array_get(json_object_get(json_array_get(sentences, 0), "steps"), 0);
    ck_assert_ptr_nonnull(json_object_get(first_step, "log_probs"));
    json_array_foreach(sentences, i, sentence) check_joints(translator, sentence);
}
END_TEST

/* Several sentences encoded together give what each gives alone. */
START_TEST(encoding_is_ragged) {
    struct translator *t = translator_of(cases[_i]);
    json_t *golden = golden_of(cases[_i]), *sentence;
    int ids[1024];
    size_t lengths[64], n = 0, tokens = 0, i;
    struct arena arena;
    arena_init(&arena, 1 << 16);
    json_array_foreach(json_object_get(golden, "sentences"), i, sentence) {
        lengths[n] = read_ids(json_object_get(sentence, "source"), ids + tokens, 1024 - tokens);
        tokens += lengths[n++];
    }
    struct encoded encoded;
    encode(t, ids, lengths, n, &arena, &encoded);
    float *states = arena_alloc(&arena, n * t->decoder.shape.state, sizeof *states);
    ck_assert_int_eq(decoder_start(&t->decoder, &encoded, &arena, states, NULL), 0);
    const float *annotations = encoded.annotations;
    json_array_foreach(json_object_get(golden, "sentences"), i, sentence) {
        check_matrix(annotations, t->encoder.annotation, json_object_get(sentence, "annotations"),
                     "annotations");
        check_state(t, states + i * t->decoder.shape.state, NULL,
                    json_object_get(sentence, "start"), "start");
        annotations += lengths[i] * t->encoder.annotation;
    }
    arena_done(&arena);
}
END_TEST

/* A text that cannot be cut may have more tokens than the encoder has positions: all beyond stand
 * in the last. */
START_TEST(positions_end) {
    enum { LENGTH = 60, SAME = 50 }; /* three layers of width 3 see three tokens to either side */
    struct translator *t = translator_of("convolutional-dot-gru");
    size_t length = LENGTH, size = t->encoder.annotation;
    int ids[LENGTH];
    struct arena arena;
    struct encoded encoded;
    arena_init(&arena, 1 << 16);
    for (size_t i = 0; i < LENGTH; i++)
        ids[i] = 5;
    ck_assert_uint_eq(config_positions(&t->config), 41);
    encode(t, ids, &length, 1, &arena, &encoded);
    const float *at = encoded.annotations + SAME * size;
    ck_assert_int_eq(memcmp(at, at + size, size * sizeof *at), 0);
    ck_assert_int_ne(memcmp(at, encoded.annotations + size, size * sizeof *at), 0);
    arena_done(&arena);
}
END_TEST

/* ---- the searches, all sentences in one batch ---- */

/* Attention is the softmax of its scores, and 0 where there is none. */
static void check_scores(const float *scores, const float *attention, size_t length) {
    double z = 0;
    for (size_t j = 0; j < length; j++)
        z += isnan(scores[j]) ? 0 : exp((double)scores[j]);
    for (size_t j = 0; j < length; j++)
        ck_assert_double_eq_tol((double)attention[j],
                                isnan(scores[j]) ? 0 : exp((double)scores[j]) / z, 1e-5);
}

static void check_hypothesis(const struct hypothesis *got, const json_t *want, size_t source_length,
                             bool attends) {
    const json_t *tokens = json_object_get(want, "tokens"),
                 *attention = json_object_get(want, "attention"), *row;
    ck_assert_uint_eq(got->length, json_array_size(tokens));
    for (size_t i = 0; i < got->length; i++)
        ck_assert_int_eq(got->tokens[i], json_integer_value(json_array_get(tokens, i)));
    ck_assert_int_eq(got->ended, json_is_true(json_object_get(want, "ended")));
    ck_assert_uint_eq(got->length + got->ended,
                      json_array_size(json_object_get(want, "log_probs")));
    check_vector(got->log_probs, json_object_get(want, "log_probs"), "log_probs");
    size_t i;
    json_array_foreach(attention, i, row) {
        ck_assert_uint_eq(json_array_size(row), attends ? source_length : 0);
        check_vector(got->attention[i], row, "attention");
        if (attends)
            check_scores(got->rows[i]->scores, got->attention[i], source_length);
    }
    if (json_object_get(want, "score"))
        check_near(got->score, json_number_value(json_object_get(want, "score")), "score", 0);
}

/* Prepares each sentence from its ids, with the same options; force: its "forced" target. */
static void prepare(const struct translator *t, const json_t *sentences,
                    const struct search_options *options, bool force, struct sentence *out) {
    size_t i;
    json_t *sentence;
    json_array_foreach(sentences, i, sentence) {
        out[i] = (struct sentence){
            .translator = t, .text = "", .options = *options, .caller.wants_scores = true};
        arena_init(&out[i].arena, 1 << 12);
        int ids[64];
        out[i].length = read_ids(json_object_get(sentence, "source"), ids, 64);
        out[i].tokens = tokens_of(t, sentence, ids, out[i].length, &out[i].arena);
        out[i].copies = copies_of(t, sentence, out[i].tokens, out[i].length, &out[i].arena);
        double ratio = t->config.limits.max_target_ratio;
        if (out[i].options.max_length == 0)
            out[i].options.max_length = (size_t)floor(ratio * (double)out[i].length + 0.5);
        if (force) {
            const json_t *target = json_object_get(json_object_get(sentence, "forced"), "tokens");
            int *tokens = arena_alloc(&out[i].arena, 64, sizeof *tokens);
            out[i].options.prefix_length = read_ids(target, tokens, 64);
            out[i].options.prefix = tokens;
        }
    }
}

/* As many at a time as have room in `rows`. */
static void decode(struct batch *batch, struct sentence *sentences, size_t count, size_t rows) {
    ck_assert_uint_le(rows, ROWS);
    size_t admitted = 0, finished = 0, reserved = 0;
    struct sentence *done[ROWS], *next[ROWS];
    while (finished < count) {
        size_t n = 0;
        for (; admitted < count && reserved + sentence_max_rows(&sentences[admitted]) <= rows;
             n++) {
            next[n] = &sentences[admitted++];
            reserved += sentence_max_rows(next[n]);
        }
        batch_admit(batch, next, n);
        size_t left = batch_step(batch, done);
        for (size_t i = 0; i < left; i++)
            reserved -= sentence_max_rows(done[i]);
        finished += left;
    }
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(!sentences[i].error, "%s", sentences[i].error->message);
}

/* The search options of this sentence in golden.json. */
static void read_options(const json_t *told, struct search_options *options) {
    struct sampling *sampling = &options->sampling;
    json_int_t seed = json_integer_value(json_object_get(told, "seed")),
               top_k = json_integer_value(json_object_get(told, "top_k")),
               size = json_integer_value(json_object_get(told, "beam_size")),
               longest = json_integer_value(json_object_get(told, "max_length"));
    if (seed > 0)
        *sampling = (struct sampling){.temperature =
                                          json_number_value(json_object_get(told, "temperature")),
                                      .top_k = (size_t)top_k,
                                      .top_p = json_number_value(json_object_get(told, "top_p")),
                                      .seed = (uint64_t)seed};
    if (size > 0)
        options->beam_size = options->n_best = (size_t)size;
    if (longest > 0)
        options->max_length = (size_t)longest;
    if (json_object_get(told, "length_penalty"))
        options->length_penalty = json_number_value(json_object_get(told, "length_penalty"));
}

/* The result of a search for one sentence: an n-best list or one hypothesis. */
static void check_found(const struct sentence *got, const json_t *want) {
    const json_t *list = json_object_get(want, "hypotheses");
    bool attends = got->translator->decoder.attends;
    ck_assert_uint_eq(got->count, list ? json_array_size(list) : 1);
    for (size_t h = 0; h < got->count; h++)
        check_hypothesis(&got->hypotheses[h], list ? json_array_get(list, h) : want, got->length,
                         attends);
}

/* variant: of the ways that golden.json has of it, if it has several. */
static void check_search(const char *name, const struct search_options *options, bool force,
                         const char *key, size_t variant) {
    struct translator *t = translator_of(name);
    json_t *golden = golden_of(name), *sentences = json_object_get(golden, "sentences"), *want[64];
    struct sentence list[64];
    size_t count = json_array_size(sentences), rows = 1;
    prepare(t, sentences, options, force, list);
    for (size_t i = 0; i < count; i++) {
        want[i] = json_object_get(json_array_get(sentences, i), key);
        if (json_is_array(want[i]))
            want[i] = json_array_get(want[i], variant);
        ck_assert_ptr_nonnull(want[i]);
        read_options(want[i], &list[i].options);
        rows = sentence_max_rows(&list[i]) > rows ? sentence_max_rows(&list[i]) : rows;
    }
    decode(current.batch, list, count,
           2 * rows + 1); /* rows for about two at a time: sentences come and go */
    for (size_t i = 0; i < count; i++) {
        check_found(&list[i], want[i]);
        sentence_done(&list[i]);
    }
}

START_TEST(greedy_equals_pytorch) {
    struct search_options options = {
        .strategy = &search_greedy, .beam_size = 1, .n_best = 1, .length_penalty = 1.0};
    check_search(cases[_i], &options, false, "greedy", 0);
}
END_TEST

START_TEST(forced_scores_equal_pytorch) {
    struct search_options options = {
        .strategy = &search_forced, .beam_size = 1, .n_best = 1, .length_penalty = 1.0};
    check_search(cases[_i], &options, true, "forced", 0);
}
END_TEST

START_TEST(beams_equal_pytorch) {
    for (size_t variant = 0; variant < 3; variant++) {
        struct search_options options = {.strategy = &search_beam};
        check_search(cases[_i], &options, false, "beam", variant);
    }
}
END_TEST

/* Of all translations of a few tokens, those that Python found by looking at each, in order. */
START_TEST(exact_equals_pytorch) {
    struct search_options options = {.strategy = &search_exact, .beam_size = 3, .n_best = 2};
    check_search(cases[_i], &options, false, "exact", 0);
}
END_TEST

START_TEST(samples_equal_pytorch) {
    for (size_t variant = 0; variant < 2; variant++) {
        struct search_options options = {
            .strategy = &search_sample, .beam_size = 3, .n_best = 3, .length_penalty = 1.0};
        check_search(cases[_i], &options, false, "sample", variant);
    }
}
END_TEST

/* From the text to the text: the same ids, and the greedy translation as Python prints it, each
 * <unk> replaced. */
START_TEST(texts_equal_python) {
    struct translator *t = translator_of(cases[_i]);
    json_t *golden = golden_of(cases[_i]), *sentence;
    struct search_options options = {
        .strategy = &search_greedy, .beam_size = 1, .n_best = 1, .length_penalty = 1.0};
    size_t i;
    struct arena arena;
    arena_init(&arena, 1 << 16);
    json_array_foreach(json_object_get(golden, "sentences"), i, sentence) {
        const json_t *text = json_object_get(sentence, "text"),
                     *want = json_object_get(json_object_get(sentence, "greedy"), "text");
        struct sentence *list = model_prepare(t, json_string_value(text), &options, &arena);
        int ids[64];
        ck_assert_uint_eq(list->length, read_ids(json_object_get(sentence, "source"), ids, 64));
        for (size_t j = 0; j < list->length; j++)
            ck_assert_int_eq(list->tokens[j].id, ids[j]);
        list->caller.replace_unknowns = true;
        decode(current.batch, list, 1, 1);
        struct rendering rendering;
        ck_assert_int_eq(rendering_make(list, &list->hypotheses[0], &arena, &rendering, NULL), 0);
        ck_assert_str_eq(rendering.text, json_string_value(want));
        sentence_done(list);
    }
    arena_done(&arena);
}
END_TEST

/* The same hypotheses, with log-probabilities that differ by no more than this. */
static void check_same(const struct sentence *together, const struct sentence *alone,
                       float tolerance) {
    ck_assert_uint_eq(together->count, alone->count);
    for (size_t h = 0; h < alone->count; h++) {
        const struct hypothesis *got = &together->hypotheses[h], *want = &alone->hypotheses[h];
        ck_assert_uint_eq(got->length, want->length);
        ck_assert_int_eq(got->ended, want->ended);
        ck_assert_mem_eq(got->tokens, want->tokens, want->length * sizeof *want->tokens);
        for (size_t j = 0; j < want->length + want->ended; j++)
            ck_assert_float_le(fabsf(got->log_probs[j] - want->log_probs[j]), tolerance);
    }
}

/* All sentences encoded and decoded together, and each alone. */
static void check_company(const struct translator *t, struct batch *batch, const json_t *list,
                          const struct search_options *options, float tolerance) {
    struct sentence together[64], alone[64];
    size_t count = json_array_size(list);
    bool force = options->strategy == &search_forced;
    prepare(t, list, options, force, together);
    prepare(t, list, options, force, alone);
    decode(batch, alone, count, sentence_max_rows(&alone[0])); /* room for one */
    decode(batch, together, count, ROWS);
    for (size_t i = 0; i < count; i++) {
        check_same(&together[i], &alone[i], tolerance);
        sentence_done(&together[i]);
        sentence_done(&alone[i]);
    }
}

/* The first is compared with every compute type, the others with those whose bits are promised. */
static const struct search_options ways[] = {
    {.strategy = &search_forced, .beam_size = 1, .n_best = 1, .length_penalty = 1},
    {.strategy = &search_greedy, .beam_size = 1, .n_best = 1, .length_penalty = 1},
    {.strategy = &search_beam, .beam_size = 4, .n_best = 4, .length_penalty = 1},
    {.strategy = &search_exact,
     .beam_size = 3,
     .n_best = 2,
     .length_penalty = 0.3,
     .max_length = 4,
     .max_steps = 100},
    {.strategy = &search_sample,
     .beam_size = 3,
     .n_best = 3,
     .length_penalty = 1,
     .sampling = {1, 8, 0.9, 5, 0}},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* A sanitizer looks for no wrong bits: one way for each case and compute type, all in turn. */
static bool takes_way(size_t way, int turn) {
#if defined(SLOW)
    return way == (size_t)turn % WAYS;
#else
    return turn >= 0 && way < WAYS;
#endif
}

START_TEST(company_changes_nothing) {
    char path[128];
    json_t *golden = golden_of(cases[_i]), *list = json_object_get(golden, "sentences");
    snprintf(path, sizeof path, FOLDER "/%s", cases[_i]);
    for (int c = 0; c < COMPUTES; c++) {
        struct translator *t = model_open_with(path, computes[c]);
        struct batch *batch = batch_create(t, ROWS, NULL);
        ck_assert_ptr_nonnull(batch);
        bool exact = c < exact_computes();
        for (size_t w = 0; w < WAYS; w++)
            if (exact ? takes_way(w, _i + c) : w == 0)
                check_company(
                    t, batch, list, &ways[w],
                    exact ? 0 : 1e-4f); /* OpenBLAS's, by log-probabilities down to -80: 8.4e-5 */
        batch_free(batch);
        translator_free(t);
    }
}
END_TEST

static void tell_difference(void) {
    if (getenv("GOLDEN_DIFFERENCE"))
        printf("difference %.1e\n", largest);
}

static int visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static int list_cases(void) {
    struct dirent **entries;
    int count = scandir(FOLDER, &entries, visible, alphasort);
    for (int i = 0; i < count; i++) {
        if (i < MAX_CASES)
            snprintf(cases[i], sizeof cases[0], "%.60s", entries[i]->d_name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return count < MAX_CASES ? count : MAX_CASES;
}

/* Without this check a missing folder would pass, since the loops would have no case; or cases that
 * do not fit. */
START_TEST(cases_are_there) {
    ck_assert_int_ge(list_cases(), 28);
    ck_assert_int_lt(list_cases(), MAX_CASES);
}
END_TEST

Suite *golden_suite(void) {
    const TTest *of_each[] = {
        joints_equal_pytorch,        encoding_is_ragged,   greedy_equals_pytorch,
        beams_equal_pytorch,         exact_equals_pytorch, samples_equal_pytorch,
        forced_scores_equal_pytorch, texts_equal_python,   company_changes_nothing,
    };
    Suite *suite = suite_create("golden");
    TCase *tests = tcase_create("pytorch");
    int count = list_cases();
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, NULL, close_case);
    tcase_add_checked_fixture(tests, NULL, tell_difference);
    tcase_add_test(tests, cases_are_there);
    tcase_add_test(tests, positions_end);
    for (int i = 0; i < count; i++)
        for (size_t j = 0; j < sizeof of_each / sizeof *of_each; j++)
            tcase_add_loop_test(tests, of_each[j], i, i + 1);
    suite_add_tcase(suite, tests);
    return suite;
}
