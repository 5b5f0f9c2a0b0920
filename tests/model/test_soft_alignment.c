/* The alignment head's rows as the batch makes them: PyTorch's for a forced target; the same bits
 * for a hypothesis in every search and batch; nothing if it is not requested. */
#include "model/model.h"
#include "model/translator.h"
#include "tests/models.h"
#include "tests/suites.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const models[] = {"alignment-luong-gru", "alignment-conditional-lstm",
                                     "alignment-copy-convolutional"};
enum { MODELS = sizeof models / sizeof *models };

static const char *const texts[] = {"I", "This is mine.", "Place the ladder against the wall.",
                                    "Tom is quite different."};
enum { TEXTS = sizeof texts / sizeof *texts };

static struct translator *translator;
static struct arena arena;

static void open_as(int i, const char *compute) {
    char path[128];
    snprintf(path, sizeof path, "tests/golden/%s", models[i]);
    translator = model_open_with(path, compute);
}

static void open_nth(int i) {
    open_as(i, exact_compute());
}

static void setup(void) {
    arena_init(&arena, 1 << 16);
}

static void teardown(void) {
    arena_done(&arena);
    translator_free(translator);
    translator = NULL;
}

static struct sentence *prepare(const char *text, const struct search_options *options) {
    struct sentence *sentence = model_prepare(translator, text, options, &arena);
    sentence->caller.wants_alignment = true;
    return sentence;
}

static struct sentence *prepare_forced(const char *text, const int *tokens, size_t length) {
    struct sentence *sentence = model_prepare_forced(translator, text, tokens, length, &arena);
    sentence->caller.wants_alignment = true;
    return sentence;
}

static struct sentence *decoded(struct sentence *sentence) {
    model_decode(translator, &sentence, 1);
    return sentence;
}

static void check_same(const struct hypothesis *a, const struct hypothesis *b, size_t length) {
    ck_assert_uint_eq(a->length, b->length);
    for (size_t i = 0; i < a->length + (a->ended && b->ended); i++)
        ck_assert_int_eq(memcmp(a->alignment[i], b->alignment[i], length * sizeof(float)), 0);
}

/* ---- what the rows are ---- */

static void check_golden(const json_t *golden) {
    const char *text = json_string_value(json_object_get(golden, "text"));
    json_t *ids = json_object_get(json_object_get(golden, "forced"), "tokens"),
           *rows = json_object_get(golden, "soft_alignment"), *row, *value;
    int tokens[64];
    size_t count = json_array_size(ids), i, j;
    for (i = 0; i < count; i++)
        tokens[i] = (int)json_integer_value(json_array_get(ids, i));
    struct sentence *sentence = decoded(prepare_forced(text, tokens, count));
    const struct hypothesis *h = &sentence->hypotheses[0];
    ck_assert_uint_eq(h->length + h->ended, json_array_size(rows));
    json_array_foreach(rows, i, row) {
        ck_assert_uint_eq(json_array_size(row), sentence->length);
        json_array_foreach(row, j, value)
            ck_assert_float_eq_tol(h->alignment[i][j], (float)json_number_value(value), 2e-5f);
    }
    sentence_done(sentence);
}

START_TEST(forced_rows_equal_pytorch) {
    char path[128];
    size_t i;
    json_t *sentence;
    open_as(_i, "float32");
    snprintf(path, sizeof path, "tests/golden/%s/golden.json", models[_i]);
    json_t *golden = json_load_file(path, 0, NULL),
           *sentences = json_object_get(golden, "sentences");
    ck_assert_uint_ge(json_array_size(sentences), 5);
    json_array_foreach(sentences, i, sentence) check_golden(sentence);
    json_decref(golden);
}
END_TEST

/* Each hypothesis' rows are those of its tokens as a given target. */
static void check_forced(const struct sentence *sentence, const char *text) {
    for (size_t h = 0; h < sentence->count; h++) {
        const struct hypothesis *found = &sentence->hypotheses[h];
        struct sentence *forced = decoded(prepare_forced(text, found->tokens, found->length));
        ck_assert(found->length == 0 || found->alignment[0] != found->attention[0]);
        check_same(found, &forced->hypotheses[0], sentence->length);
        sentence_done(forced);
    }
}

static const struct search_options ways[] = {
    {.strategy = &search_greedy, .beam_size = 1, .n_best = 1},
    {.strategy = &search_beam, .beam_size = 5, .n_best = 5, .length_penalty = 1},
    {.strategy = &search_exact, .beam_size = 3, .n_best = 3, .max_steps = 60},
    {.strategy = &search_sample,
     .beam_size = 1,
     .n_best = 3,
     .sampling = {.temperature = 1, .top_p = 0.9, .seed = 7}},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* Rows that a hypothesis has of its own, not of an earlier one. */
static size_t own_rows(const struct sentence *sentence, size_t h) {
    const struct hypothesis *found = &sentence->hypotheses[h];
    size_t own = found->length + found->ended;
    for (size_t i = 0; i < found->length; i++) {
        bool earlier = false;
        for (size_t k = 0; k < h && !earlier; k++)
            earlier = i < sentence->hypotheses[k].length &&
                      sentence->hypotheses[k].alignment[i] == found->alignment[i];
        own -= earlier;
    }
    return own;
}

/* The common beginnings of hypotheses are computed and stored once: one row for each token that
 * differs from all earlier ones. */
START_TEST(common_rows_are_kept_once) {
    size_t all = 0, own = 0;
    open_nth(_i);
    struct sentence *sentence = decoded(prepare(
        texts[2], &(struct search_options){
                      .strategy = &search_beam, .beam_size = 8, .n_best = 8, .length_penalty = 1}));
    ck_assert_uint_eq(sentence->count, 8);
    for (size_t h = 0; h < sentence->count; h++) {
        const struct hypothesis *found = &sentence->hypotheses[h],
                                *first = &sentence->hypotheses[0];
        for (size_t i = 0;
             i < found->length && i < first->length && found->attention[i] == first->attention[i];
             i++)
            ck_assert(found->tokens[i] != first->tokens[i] ||
                      found->alignment[i] == first->alignment[i]);
        all += found->length + found->ended;
        own += own_rows(sentence, h);
    }
    ck_assert_uint_lt(own, all);
    sentence_done(sentence);
}
END_TEST

/* All ways and texts at once: beams are reordered, exact search comes back to earlier steps,
 * sentences come and go. */
START_TEST(found_rows_equal_forced) {
    struct sentence *sentences[WAYS * TEXTS];
    open_nth(_i);
    for (size_t i = 0; i < WAYS * TEXTS; i++)
        sentences[i] = prepare(texts[i / WAYS], &ways[i % WAYS]);
    model_decode(translator, sentences, WAYS * TEXTS);
    for (size_t i = 0; i < WAYS * TEXTS; i++) {
        check_forced(sentences[i], texts[i / WAYS]);
        sentence_done(sentences[i]);
    }
}
END_TEST

START_TEST(company_changes_no_bit) {
    struct sentence *together[TEXTS];
    open_nth(_i);
    for (size_t i = 0; i < TEXTS; i++)
        together[i] = prepare(texts[i], &ways[1]);
    model_decode(translator, together, TEXTS);
    for (size_t i = 0; i < TEXTS; i++) {
        struct sentence *alone = decoded(prepare(texts[i], &ways[1]));
        for (size_t h = 0; h < alone->count; h++)
            check_same(&together[i]->hypotheses[h], &alone->hypotheses[h], alone->length);
        sentence_done(alone);
        sentence_done(together[i]);
    }
}
END_TEST

/* The head also sees given beginnings and given attention. */
START_TEST(given_steps_are_read) {
    open_nth(0);
    struct sentence *plain = decoded(prepare(texts[2], &ways[0])),
                    *begun = prepare(texts[2], &ways[0]), *looking = prepare(texts[2], &ways[0]);
    const double weights[] = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
                              0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    ck_assert_int_eq(sentence_begin_with(begun, "Tom ", 4, NULL), 0);
    ck_assert_int_eq(sentence_attend(looking, 0, weights, looking->length, NULL), 0);
    model_decode(translator, (struct sentence *[]){begun, looking}, 2);
    check_forced(begun, texts[2]);
    for (size_t i = 0; i < 2;
         i++) { /* the state of the first step is what it was; later ones have another past */
        const struct hypothesis *h = &(i == 0 ? begun : looking)->hypotheses[0];
        double sum = 0;
        for (size_t j = 0; j < plain->length; j++)
            sum += (double)h->alignment[0][j];
        ck_assert(fabs(sum - 1) < 1e-5);
    }
    sentence_done(plain);
    sentence_done(begun);
    sentence_done(looking);
}
END_TEST

START_TEST(nobody_asks_nothing_is_kept) {
    open_nth(_i);
    struct sentence *asked = decoded(prepare(texts[2], &ways[1])),
                    *plain = prepare(texts[2], &ways[1]);
    plain->caller.wants_alignment = false;
    decoded(plain);
    ck_assert_uint_eq(sentence_added(asked), translator->decoder.shape.top);
    ck_assert_uint_eq(sentence_added(plain) + plain->search.setting.stored.top, 0);
    ck_assert_ptr_null(plain->decoding.alignment_keys);
    ck_assert_uint_gt(sentence_max_bytes(asked),
                      sentence_max_bytes(plain) + translator->decoder.shape.top * sizeof(float));
    for (size_t h = 0; h < plain->count; h++) {
        const struct hypothesis *a = &plain->hypotheses[h], *b = &asked->hypotheses[h];
        size_t count = a->length + a->ended;
        ck_assert(a->alignment == a->attention && a->score == b->score && a->length == b->length);
        ck_assert_int_eq(memcmp(a->tokens, b->tokens, a->length * sizeof *a->tokens), 0);
        ck_assert_int_eq(memcmp(a->log_probs, b->log_probs, count * sizeof *a->log_probs), 0);
        for (size_t i = 0; i < count; i++)
            ck_assert_int_eq(
                memcmp(a->attention[i], b->attention[i], plain->length * sizeof(float)), 0);
    }
    sentence_done(asked);
    sentence_done(plain);
}
END_TEST

START_TEST(models_without_a_head_have_attention) {
    translator = model_open("tests/golden/luong-general-gru");
    struct sentence *sentence = decoded(prepare(texts[2], &ways[1]));
    ck_assert(!translator_info(translator).alignment_head);
    ck_assert_uint_eq(sentence_top(sentence), 0);
    ck_assert(sentence->hypotheses[0].alignment == sentence->hypotheses[0].attention);
    sentence_done(sentence);
}
END_TEST

/* A row for a token alone, as for streams, is that of the finished hypothesis. */
START_TEST(single_rows_are_the_same) {
    open_nth(_i);
    struct sentence *sentence = prepare(texts[2], &ways[0]), *done[1];
    struct batch *batch = batch_create(translator, 1, NULL);
    const float *rows[64];
    size_t count = 0;
    batch_admit(batch, &sentence, 1);
    while (batch_step(batch, done) == 0) {
        struct decision last = search_last(&sentence->search, 0);
        ck_assert_uint_lt(count, 64);
        rows[count++] = soft_alignment_row(sentence, &last, &arena, NULL);
    }
    const struct hypothesis *h = &sentence->hypotheses[0];
    ck_assert_uint_ge(count + 1, h->length);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(memcmp(rows[i], h->alignment[i], sentence->length * sizeof(float)), 0);
    batch_free(batch);
    sentence_done(sentence);
}
END_TEST

/* ---- what it decides ---- */

/* A placeholder, which the head reads as <unk>, is aligned with itself. */
START_TEST(placeholders_align_with_themselves) {
    static const char text[] = "Place {name} against the wall.";
    open_nth(0);
    struct glossary glossary;
    struct sentence *sentence = prepare(text, &ways[1]);
    glossary_init(&glossary, NULL, &arena);
    ck_assert_int_eq(glossary_constrain(sentence, &glossary, NULL), 0);
    decoded(sentence);
    size_t found = 0, at = 0;
    while (sentence->tokens[at].begin != 6)
        at++;
    for (size_t h = 0; h < sentence->count; h++) {
        const struct hypothesis *best = &sentence->hypotheses[h];
        for (size_t i = 0; i < best->length; i++) {
            if (!strstr(rendering_piece(sentence, best->tokens[i]), "{name}"))
                continue;
            ck_assert(best->alignment[i][at] == 1 && best->alignment[i][at + 1] == 0);
            found++;
        }
    }
    ck_assert_uint_ge(found, sentence->count);
    sentence_done(sentence);
}
END_TEST

/* <unk> becomes the source word that the head says, where the source has unknown words; otherwise
 * the one looked at, whatever else was asked for. */
START_TEST(unknowns_are_replaced_by_alignment) {
    open_nth(0);
    struct search_options options = {.strategy = &search_greedy, .beam_size = 1, .n_best = 1};
    struct sentence *sentence = prepare("one \xE2\x98\x83", &options);
    float first[8] = {1}, last[8] = {0};
    size_t second = 0;
    while (sentence->tokens[second].begin < 4)
        second++;
    last[second] = 1;
    ck_assert_uint_lt(sentence->length, 8);
    ck_assert_uint_gt(sentence->reading.unknown, 0);
    decoded(sentence);
    int unknown = tokenizer_unknown(translator->target);
    const float *attention = first, *alignment = last;
    struct hypothesis h = {
        .tokens = &unknown, .length = 1, .attention = &attention, .alignment = &alignment};
    struct rendering rendering;
    sentence->caller.replace_unknowns = true;
    ck_assert_int_eq(rendering_make(sentence, &h, &arena, &rendering, NULL), 0);
    ck_assert_str_eq(rendering.text, "\xE2\x98\x83");
    sentence->reading.unknown = 0;
    ck_assert_int_eq(rendering_make(sentence, &h, &arena, &rendering, NULL), 0);
    ck_assert_str_ne(rendering.text, "\xE2\x98\x83");
    sentence_done(sentence);
}
END_TEST

Suite *soft_alignment_suite(void) {
    Suite *suite = suite_create("soft_alignment");
    TCase *tests = tcase_create("soft alignment");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, forced_rows_equal_pytorch, 0, MODELS);
    tcase_add_loop_test(tests, found_rows_equal_forced, 0, MODELS);
    tcase_add_loop_test(tests, common_rows_are_kept_once, 0, MODELS);
    tcase_add_loop_test(tests, company_changes_no_bit, 0, MODELS);
    tcase_add_test(tests, given_steps_are_read);
    tcase_add_loop_test(tests, nobody_asks_nothing_is_kept, 0, MODELS);
    tcase_add_test(tests, models_without_a_head_have_attention);
    tcase_add_loop_test(tests, single_rows_are_the_same, 0, MODELS);
    tcase_add_test(tests, placeholders_align_with_themselves);
    tcase_add_test(tests, unknowns_are_replaced_by_alignment);
    suite_add_tcase(suite, tests);
    return suite;
}
