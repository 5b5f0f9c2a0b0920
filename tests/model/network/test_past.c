/* Rows whose past grows (model/network/network.h): a decoder that keeps something of every step,
 * reads all that its row's path has kept, and answers by it. Whatever a search does with its rows,
 * a hypothesis must have the numbers that it has when it is decoded alone. */
#include "model/model.h"
#include "model/translator.h"
#include "tests/models.h"
#include "tests/suites.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MODEL "tests/golden/conditional-additive-gru"
enum {
    ROWS = 16,
    KEPT = 3
}; /* floats that a step adds: its token, its number, and what became of the path so far; */
enum { ROOM = 4096 }; /* in a room that makes it show when it is not used again */

static const char *const texts[] = {"This is mine.", "Place the ladder against the wall.",
                                    "Tom is quite different."};
enum { TEXTS = sizeof texts / sizeof *texts };

static struct translator *translator;
static struct arena arena;
static size_t longest;           /* past that was read */
static const int *forced_tokens; /* what a row's past must be; NULL: anything */

/* The memory that only its steps read is within its bound, and is freed when it leaves. */
static void check_bytes(const struct sentence *sentence, bool live) {
    size_t bytes = arena_bytes(&sentence->decoding.arena);
    ck_assert_uint_le(bytes, live ? sentence_max_bytes(sentence) : 0);
}

/* Depends on every token and their order. */
static float read_past(const struct row *row) {
    float trace = 0;
    for (size_t i = 0; i < row->step; i++) {
        trace = 0.5f * trace + sinf(row->past[i][0]);
        ck_assert_float_eq(row->past[i][1], (float)i);
        ck_assert_float_eq(row->past[i][2], trace);
        ck_assert(i == 0 || !forced_tokens || row->past[i][0] == (float)forced_tokens[i - 1]);
    }
    longest = row->step > longest ? row->step : longest;
    return 0.5f * trace + sinf((float)row->token);
}

static int step(const struct decoder *decoder, const struct row *rows, size_t count,
                struct arena *scratch, struct error *err) {
    if (decoder_recurrent.step(decoder, rows, count, scratch, err) != 0)
        return -1;
    for (size_t r = 0; r < count; r++) {
        float trace = read_past(&rows[r]);
        memcpy(rows[r].added, (const float[KEPT]){(float)rows[r].token, (float)rows[r].step, trace},
               KEPT * sizeof(float));
        for (size_t i = 0; i < decoder->shape.readout; i++)
            rows[r].readout[i] += sinf(trace + (float)i);
    }
    return 0;
}

static struct decoder_kind growing;

static void setup(void) {
    translator = model_open_with(MODEL, exact_compute());
    growing = decoder_recurrent;
    growing.step = step;
    translator->decoder.kind = &growing;
    translator->decoder.shape.past = ROOM;
    arena_init(&arena, 1 << 16);
    longest = 0;
    forced_tokens = NULL;
}

static void teardown(void) {
    arena_done(&arena);
    translator_free(translator);
}

static struct sentence *prepare(const char *text, const struct search_kind *strategy, size_t rows) {
    struct search_options options = {.strategy = strategy,
                                     .beam_size = rows,
                                     .n_best = rows,
                                     .max_steps = 1000,
                                     .sampling = {.temperature = 1, .top_p = 1, .seed = 3}};
    return model_prepare(translator, text, &options, &arena);
}

static void decode(struct sentence *const *sentences, size_t count) {
    struct batch *batch = batch_create(translator, ROWS, NULL);
    struct sentence *done[ROWS];
    batch_admit(batch, sentences, count);
    while (batch_sentences(batch) > 0) {
        for (size_t i = 0; i < count; i++)
            check_bytes(sentences[i], sentences[i]->hypotheses == NULL);
        batch_step(batch, done);
    }
    for (size_t i = 0; i < count; i++)
        check_bytes(sentences[i], false);
    batch_free(batch);
}

/* Scores the hypothesis's tokens as a target, alone. */
static void check_alone(const char *text, const struct hypothesis *want) {
    struct sentence *alone = prepare(text, &search_forced, 1);
    alone->options.prefix = forced_tokens = want->tokens;
    alone->options.prefix_length = want->length;
    decode(&alone, 1);
    forced_tokens = NULL;
    for (size_t t = 0; t < want->length + want->ended; t++)
        ck_assert_float_eq_tol(alone->hypotheses[0].log_probs[t], want->log_probs[t], 1e-4f);
    sentence_done(alone);
}

static const struct {
    const struct search_kind *strategy;
    size_t rows;
} ways[] = {{&search_greedy, 1}, {&search_beam, 5}, {&search_sample, 4}, {&search_exact, 4}};
enum { WAYS = sizeof ways / sizeof *ways };

START_TEST(rows_know_their_past) {
    struct sentence *sentences[TEXTS];
    for (size_t i = 0; i < TEXTS; i++)
        sentences[i] = prepare(texts[i], ways[_i].strategy, ways[_i].rows);
    decode(sentences, TEXTS);
    ck_assert_uint_ge(longest, 4);
    for (size_t i = 0; i < TEXTS; i++) {
        ck_assert_uint_ge(sentences[i]->count, 1);
        for (size_t h = 0; h < sentences[i]->count; h++)
            check_alone(texts[i], &sentences[i]->hypotheses[h]);
        sentence_done(sentences[i]);
    }
}
END_TEST

/* ---- in memory ---- */

/* 32 rows x 100 tokens at 6 layers of 512: in float32 and in int16. */
START_TEST(memory_is_bounded) {
    struct translator large = {
        .decoder = {.attends = true, .shape = {.past = (size_t)2 * 6 * 512}}};
    struct sentence sentence = {
        .translator = &large,
        .length = 1,
        .options = {.strategy = &search_beam, .beam_size = 32, .n_best = 1, .max_length = 100}};
    size_t floats = sentence_max_bytes(&sentence);
    large.decoder.shape.past = 2 * 6 * kept_room(512, true);
    size_t halves = sentence_max_bytes(&sentence);
    printf("past of 32 rows x 100 tokens at 6 x 512: %.1f MB, in 16 bits %.1f MB\n",
           (double)floats / 1e6, (double)halves / 1e6);
    ck_assert_uint_ge(floats, 32 * 100 * 6 * 2 * 512 * sizeof(float));
    ck_assert_uint_le(floats, 80 * 1000 * 1000);
    ck_assert_uint_le(halves, 40 * 1000 * 1000);
}
END_TEST

enum {
    LONG = 300,
    LONG_TOKENS = 50
}; /* the characters of a long text, and at least so many tokens */

/* Decodes a text, whose sentence is returned, and a long and a short one after it if `count` is 3.
 */
static struct sentence *decode_kept(const struct translator_options *options, const char *text,
                                    const char *long_text, size_t count) {
    const char *all[TEXTS] = {text, long_text, texts[0]};
    struct sentence *sentences[TEXTS];
    struct error err = {0};
    translator_free(translator);
    translator = translator_open("tests/golden/transformer-alibi-pre", options, &err);
    ck_assert_msg(translator != NULL, "%s", err.message);
    translator->config.limits.max_source_tokens = LONG; /* ALiBi needs no table */
    for (size_t i = 0; i < count; i++) {
        sentences[i] = prepare(all[i], &search_beam, 5);
        if (all[i] == long_text)
            sentences[i]->options.min_length = LONG_TOKENS;
    }
    decode(sentences, count);
    for (size_t i = 1; i < count; i++)
        sentence_done(sentences[i]);
    return sentences[0];
}

/* In 16 bits keys and values take about half the floats, hypotheses have nearly the same numbers,
 * and the same bits in company, also those of long sentences. */
START_TEST(half_the_memory) {
    struct translator_options options = {.compute = computes[_i]};
    struct decoder_shape shapes[2];
    double log_prob[2];
    size_t bytes[2];
    char long_text[LONG + 64] = "";
    while (strlen(long_text) < LONG)
        strcat(long_text, texts[1]);
    const char *both[] = {long_text, texts[2]};
    for (int half = 0; half < 2; half++) {
        options.half_past = half ? SWITCH_ON : SWITCH_OFF;
        for (size_t i = 0; i < 2; i++) {
            struct sentence *alone = decode_kept(&options, both[i], long_text, 1),
                            *together = decode_kept(&options, both[i], long_text, TEXTS);
            ck_assert(i > 0 ||
                      (alone->length >= LONG_TOKENS && alone->hypotheses[0].length >= LONG_TOKENS));
            shapes[half] = translator->decoder.shape;
            bytes[half] = i > 0 ? bytes[half] : sentence_max_bytes(together);
            log_prob[half] = alone->hypotheses[0].log_prob;
            ck_assert(together->hypotheses[0].log_prob == log_prob[half]);
            sentence_done(alone);
            sentence_done(together);
        }
    }
    size_t vectors = translator->config.decoder.layers,
           room = kept_room(shapes[0].key / vectors, true);
    ck_assert_uint_eq(shapes[1].past, 2 * vectors * room);
    ck_assert_uint_eq(shapes[1].key, vectors * room);
    ck_assert_uint_eq(shapes[1].value, vectors * room);
    ck_assert_uint_eq(shapes[0].outputs, shapes[1].outputs);
    ck_assert_uint_lt(bytes[1], bytes[0]);
    ck_assert_double_ne(log_prob[0], log_prob[1]); /* of the short one */
    ck_assert_double_eq_tol(log_prob[0], log_prob[1], 0.05);
}
END_TEST

/* Unless the caller decides, the compute type does. */
START_TEST(float32_keeps_32_bits) {
    struct translator *t = model_open_with("tests/golden/transformer-alibi-pre", computes[_i]);
    size_t room = kept_room(t->config.decoder.hidden, strcmp(computes[_i], "float32") != 0);
    ck_assert_uint_eq(t->decoder.shape.key, t->config.decoder.layers * room);
    ck_assert_uint_eq(t->decoder.shape.past, 2 * t->config.decoder.layers * room);
    translator_free(t);
}
END_TEST

Suite *past_suite(void) {
    Suite *suite = suite_create("past");
    TCase *tests = tcase_create("past");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, rows_know_their_past, 0, WAYS);
    suite_add_tcase(suite, tests);
    TCase *memory = tcase_create("memory");
    tcase_add_checked_fixture(memory, setup, teardown);
    tcase_add_test(memory, memory_is_bounded);
    tcase_add_loop_test(memory, half_the_memory, 0, exact_computes());
    tcase_add_loop_test(memory, float32_keeps_32_bits, 0, COMPUTES);
    suite_add_tcase(suite, memory);
    return suite;
}
