/* The continuous batch on a tiny model: sentences come and go, and no answer depends on the other
 * sentences in the batch. */
#include "model/model.h"
#include "model/translator.h"
#include "tests/models.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

#define MODEL "tests/golden/conditional-additive-gru"
enum { ROWS = 16 };

static struct translator *translator;
static struct arena arena;

static void setup(void) {
    translator = model_open_with(MODEL, exact_compute());
    arena_init(&arena, 1 << 16);
}

static void teardown(void) {
    arena_done(&arena);
    translator_free(translator);
}

static struct sentence *prepare(const char *text, const struct search_kind *strategy, size_t beam) {
    const struct search_options options = {
        .strategy = strategy, .beam_size = beam, .n_best = beam, .length_penalty = 1};
    return model_prepare(translator, text, &options, &arena);
}

/* Decodes until the batch is empty; returns the number of steps. */
static size_t drain(struct batch *batch) {
    struct sentence *done[ROWS];
    size_t steps = 0;
    for (; batch_sentences(batch) > 0; steps++)
        batch_step(batch, done);
    return steps;
}

static struct sentence *decode_prepared(struct sentence *sentence) {
    struct batch *batch = batch_create(translator, ROWS, NULL);
    batch_admit(batch, &sentence, 1);
    ck_assert_uint_eq(drain(batch), sentence->steps);
    batch_free(batch);
    return sentence;
}

static struct sentence *decode_alone(const char *text, const struct search_kind *strategy,
                                     size_t beam) {
    return decode_prepared(prepare(text, strategy, beam));
}

/* Bit for bit. */
static void check_same(const struct sentence *a, const struct sentence *b) {
    ck_assert_uint_eq(a->count, b->count);
    for (size_t h = 0; h < a->count; h++) {
        const struct hypothesis *x = &a->hypotheses[h], *y = &b->hypotheses[h];
        ck_assert_uint_eq(x->length, y->length);
        ck_assert_int_eq(x->ended, y->ended);
        ck_assert_int_eq(memcmp(x->tokens, y->tokens, x->length * sizeof *x->tokens), 0);
        ck_assert_int_eq(memcmp(x->log_probs, y->log_probs, (x->length + x->ended) * sizeof(float)),
                         0);
        for (size_t i = 0; i < x->length + x->ended; i++)
            ck_assert_int_eq(memcmp(x->attention[i], y->attention[i], a->length * sizeof(float)),
                             0);
        ck_assert(x->score == y->score);
    }
}

/* Ways to search; &search_forced: a target is scored. */
static const struct {
    const struct search_kind *strategy;
    size_t rows;
    const char *given;
} ways[] = {
    {&search_beam, 5, NULL},  {&search_greedy, 1, NULL},   {&search_forced, 1, "Tom est ici."},
    {&search_exact, 4, NULL}, {&search_sample, 3, "Tom "}, {&search_greedy, 1, "Je ne"}};
enum { WAYS = sizeof ways / sizeof *ways, FORCED = 2 };

/* Each text in each way. */
static struct sentence *prepare_nth(size_t i) {
    const struct search_kind *strategy = ways[i % WAYS].strategy;
    const char *given = ways[i % WAYS].given;
    bool forced = i % WAYS == FORCED;
    struct sentence *sentence =
        prepare(model_texts[i / WAYS], forced ? &search_greedy : strategy, ways[i % WAYS].rows);
    sentence->options.sampling =
        (struct sampling){.temperature = 1, .top_p = 0.9, .seed = 11, .stream = i};
    sentence->options.max_steps = 60;
    if (given)
        ck_assert_int_eq(
            (forced ? sentence_force : sentence_begin_with)(sentence, given, strlen(given), NULL),
            0);
    return sentence;
}

static void check_mixed_equals_alone(void) {
    enum { COUNT = WAYS * MODEL_TEXTS };
    struct batch *batch = batch_create(translator, ROWS, NULL);
    struct sentence *mixed[COUNT], *done[ROWS];
    size_t admitted = 0, reserved = 0, finished = 0;
    for (size_t i = 0; i < COUNT; i++)
        mixed[i] = prepare_nth(i);
    while (finished < COUNT) { /* one admission a step: everybody meets everybody at another step */
        if (admitted < COUNT && reserved + sentence_max_rows(mixed[admitted]) <= ROWS) {
            reserved += sentence_max_rows(mixed[admitted]);
            batch_admit(batch, &mixed[admitted++], 1);
        }
        size_t left = batch_step(batch, done);
        finished += left;
        for (size_t i = 0; i < left; i++)
            reserved -= sentence_max_rows(done[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        struct sentence *alone = decode_prepared(prepare_nth(i));
        check_same(mixed[i], alone);
        sentence_done(alone);
        sentence_done(mixed[i]);
    }
    batch_free(batch);
}

START_TEST(mixed_equals_alone) {
    translator_free(translator);
    translator = model_open_with(MODEL, computes[_i]);
    check_mixed_equals_alone();
}
END_TEST

/* While many are live, new ones had better come together; but nobody waits for long. */
START_TEST(company_is_worth_a_few_steps) {
    struct batch *batch = batch_create(translator, 2 * ROWS, NULL);
    struct sentence *first[ROWS], *done[2 * ROWS];
    ck_assert(batch_wants(batch));
    for (size_t i = 0; i < ROWS; i++)
        first[i] = prepare(model_texts[4], &search_greedy, 1);
    batch_admit(batch, first, ROWS);
    ck_assert_uint_eq(batch_rows(batch), ROWS);
    for (size_t step = 0; step < 4; step++) {
        ck_assert(!batch_wants(batch));
        ck_assert_uint_eq(batch_step(batch, done), 0);
    }
    ck_assert(batch_wants(batch));
    while (batch_sentences(batch) > 0)
        batch_step(batch, done);
    ck_assert(batch_wants(batch));
    for (size_t i = 0; i < ROWS; i++)
        sentence_done(first[i]);
    batch_free(batch);
}
END_TEST

/* Memory that only many sentences need goes back once they have left; that of single ones stays. */
START_TEST(an_empty_batch_rests) {
    struct batch *batch = batch_create(translator, ROWS, NULL);
    struct sentence *sentences[ROWS], *done[ROWS];
    size_t bytes[2];
    for (size_t round = 0; round < 2; round++) {
        size_t count = round == 0 ? 1 : ROWS;
        for (size_t i = 0; i < count; i++)
            sentences[i] = prepare(model_texts[4], &search_greedy, 1);
        batch_admit(batch, sentences, count);
        while (batch_sentences(batch) > 0)
            batch_step(batch, done);
        bytes[0] = batch_bytes(batch);
        batch_rest(batch);
        bytes[1] = batch_bytes(batch);
        ck_assert(round == 0 ? bytes[1] == bytes[0] : bytes[1] < bytes[0]);
        for (size_t i = 0; i < count; i++)
            sentence_done(sentences[i]);
    }
    batch_free(batch);
}
END_TEST

START_TEST(a_short_one_overtakes) {
    struct batch *batch = batch_create(translator, ROWS, NULL);
    struct sentence *longs[4], *brief = prepare("I", &search_greedy, 1), *done[ROWS];
    for (size_t i = 0; i < 4; i++) {
        longs[i] = prepare(model_texts[4], &search_greedy, 1);
        longs[i]->options.min_length = 40;
        longs[i]->options.max_length = 40;
    }
    brief->options.max_length = 3;
    batch_admit(batch, longs, 4);
    ck_assert_uint_eq(batch_step(batch, done), 0);
    batch_admit(batch, &brief, 1);
    ck_assert_uint_eq(batch_rows(batch), 5);
    size_t steps = 0;
    for (size_t left = 0; left == 0; steps++) {
        ck_assert_uint_lt(steps, 3);
        left = batch_step(batch, done);
    }
    ck_assert_ptr_eq(done[0], brief);
    ck_assert_uint_eq(batch_rows(batch), 4);
    ck_assert_uint_eq(drain(batch), 39 - steps);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(longs[i]->hypotheses[0].length, 40);
        ck_assert(!longs[i]->hypotheses[0].ended);
        sentence_done(longs[i]);
    }
    sentence_done(brief);
    batch_free(batch);
}
END_TEST

START_TEST(cancelled_ones_leave_at_once) {
    struct batch *batch = batch_create(translator, ROWS, NULL);
    struct sentence *one = prepare(model_texts[4], &search_beam, 5),
                    *other = prepare(model_texts[2], &search_beam, 5), *done[ROWS];
    atomic_bool cancelled = false;
    one->caller.cancelled = &cancelled;
    batch_admit(batch, (struct sentence *[]){one, other}, 2);
    ck_assert_uint_eq(batch_step(batch, done), 0);
    atomic_store(&cancelled, true);
    ck_assert_uint_eq(batch_step(batch, done), 1);
    ck_assert_ptr_eq(done[0], one);
    ck_assert(one->dropped);
    ck_assert_ptr_null(one->hypotheses);
    ck_assert_uint_eq(batch_sentences(batch), 1);
    drain(batch);
    struct sentence *alone = decode_alone(model_texts[2], &search_beam, 5);
    check_same(other, alone);
    sentence_done(alone);
    sentence_done(one);
    sentence_done(other);
    batch_free(batch);
}
END_TEST

/* Finite weights can still overflow: a search that finds no number to compare has no hypothesis,
 * and says so. */
START_TEST(scores_that_are_no_numbers_are_an_error) {
    size_t vocabulary = translator_info(translator).target_vocabulary;
    float *bias = arena_alloc(&arena, vocabulary, sizeof *bias);
    for (size_t i = 0; i < vocabulary; i++)
        bias[i] = NAN;
    translator->output.linear.bias = bias;
    for (size_t greedy = 0; greedy < 2; greedy++) {
        struct sentence *sentence =
            decode_alone(model_texts[0], greedy ? &search_greedy : &search_beam, greedy ? 1 : 5);
        ck_assert_ptr_nonnull(sentence->error);
        ck_assert_int_eq(sentence->error->code, ERROR_FORMAT);
        ck_assert_ptr_null(sentence->hypotheses);
        ck_assert_uint_eq(sentence->count, 0);
        sentence_done(sentence);
    }
}
END_TEST

/* ---- with a vocabulary shortlist ---- */

static void use_list(const char *compute, const struct made_list *list) {
    translator_free(translator);
    translator = model_open_listed(MODEL, compute, list);
}

/* Each sentence has a list of its own. */
START_TEST(listed_mixed_equals_alone) {
    use_list(computes[_i], &(struct made_list){.each = 9});
    check_mixed_equals_alone();
}
END_TEST

static bool records_is_listed(const struct target_ids *targets, int token) {
    for (size_t i = 0; i < targets->count; i++)
        if (targets->ids[i] == token)
            return true;
    return false;
}

/* The list that the sentence was decoded with, to which so many ids were added. */
static struct target_ids list_of(const struct sentence *sentence, size_t more) {
    struct target_ids targets;
    int *source = arena_alloc(&arena, sentence->length, sizeof *source);
    ck_assert_ptr_nonnull(source);
    for (size_t i = 0; i < sentence->length; i++)
        source[i] = sentence->tokens[i].id;
    ck_assert_int_eq(
        shortlist_of(translator->shortlist, source, sentence->length, &arena, &targets, NULL), 0);
    ck_assert_uint_eq(targets.count + more, sentence->targets.count);
    return targets;
}

START_TEST(only_listed_tokens_come_out) {
    use_list(computes[_i], &(struct made_list){.each = 2});
    for (size_t i = 0; i < 2 * MODEL_TEXTS; i++) {
        struct sentence *sentence = i % 2 == 0
                                        ? decode_alone(model_texts[i / 2], &search_beam, 5)
                                        : decode_alone(model_texts[i / 2], &search_greedy, 1);
        struct target_ids targets = list_of(sentence, 0);
        ck_assert_uint_gt(targets.count, 1);
        ck_assert_uint_lt(targets.count, 2 * sentence->length + 2);
        for (size_t h = 0; h < sentence->count; h++)
            for (size_t t = 0; t < sentence->hypotheses[h].length; t++) {
                ck_assert(records_is_listed(&targets, sentence->hypotheses[h].tokens[t]));
                ck_assert_float_lt(sentence->hypotheses[h].entropies[t],
                                   logf((float)targets.count) + 1e-5f);
            }
        sentence_done(sentence);
    }
}
END_TEST

static void list_all(int *ids) {
    for (int i = 0; i < 200; i++)
        ids[i] = i;
}

/* With int8 a list of all ids changes not one bit. */
START_TEST(a_list_of_all_changes_nothing) {
    int all[200];
    struct sentence *plain[WAYS * MODEL_TEXTS];
    list_all(all);
    translator_free(translator);
    struct translator *without = translator = model_open_with(MODEL, "int8");
    for (size_t i = 0; i < WAYS * MODEL_TEXTS; i++)
        plain[i] = decode_prepared(prepare_nth(i));
    translator = model_open_listed(MODEL, "int8", &(struct made_list){.always = all, .count = 200});
    for (size_t i = 0; i < WAYS * MODEL_TEXTS; i++) {
        struct sentence *listed = decode_prepared(prepare_nth(i));
        ck_assert_uint_eq(listed->targets.count, 200);
        check_same(listed, plain[i]);
        sentence_done(listed);
        sentence_done(plain[i]);
    }
    translator_free(without);
}
END_TEST

/* A target is scored over the whole vocabulary, its own tokens on the list or not. */
START_TEST(forced_decoding_ignores_the_list) {
    struct sentence *plain = decode_prepared(prepare_nth(WAYS + FORCED));
    struct translator *without = translator;
    translator = model_open_listed(MODEL, exact_compute(), &(struct made_list){.each = 2});
    struct sentence *listed = decode_prepared(prepare_nth(WAYS + FORCED));
    check_same(listed, plain);
    sentence_done(listed);
    sentence_done(plain);
    translator_free(without);
}
END_TEST

/* A phrase whose tokens and stand-ins are on no list (list_write). */
static const int added[] = {150, 199, 151, 197, 198};
static const struct phrase phrase = {.tokens = added, .length = 3, .stand_ins = {197, 198}};

static struct sentence *decode_phrases(const struct translator *t, size_t text,
                                       const struct search_kind *strategy) {
    struct search_options options = {
        .strategy = strategy, .beam_size = 4, .n_best = 1, .length_penalty = 1, .max_rows = 12};
    options.sampling = (struct sampling){.temperature = 1, .top_p = 0.9, .seed = 11};
    struct sentence *sentence = model_prepare(t, model_texts[text], &options, &arena);
    search_constrain(&sentence->options,
                     (struct phrases){.list = &phrase, .count = 1, .size = 200});
    return decode_prepared(sentence);
}

/* The tokens of phrases, and of those that stand for them, are on the list of a sentence that must
 * contain them. */
START_TEST(phrases_join_the_list) {
    static const struct search_kind *const strategies[] = {&search_beam, &search_greedy,
                                                           &search_sample};
    int all[200];
    list_all(all);
    struct translator *few = model_open_listed(MODEL, "int8", &(struct made_list){.each = 2}),
                      *whole = model_open_listed(MODEL, "int8",
                                                 &(struct made_list){.always = all, .count = 200}),
                      *without = model_open_with(MODEL, "int8"), *former = translator;
    for (size_t i = 0; i < 3 * MODEL_TEXTS; i++) {
        translator = few;
        struct sentence *sentence = decode_phrases(few, i / 3, strategies[i % 3]);
        ck_assert_ptr_null(sentence->error);
        struct target_ids targets = list_of(sentence, 5);
        const struct hypothesis *h = sentence->hypotheses;
        bool met = false;
        for (size_t t = 0; t < h->length; t++) {
            ck_assert(records_is_listed(&targets, h->tokens[t]) ||
                      records_is_listed(&(struct target_ids){added, 5}, h->tokens[t]));
            met = met || (t + 3 <= h->length &&
                          memcmp(h->tokens + t, phrase.tokens, 3 * sizeof *h->tokens) == 0);
        }
        ck_assert(met);
        sentence_done(sentence);

        translator = without; /* of all ids, nothing is missing and nothing is new */
        struct sentence *plain = decode_phrases(without, i / 3, strategies[i % 3]);
        translator = whole;
        sentence = decode_phrases(whole, i / 3, strategies[i % 3]);
        check_same(sentence, plain);
        sentence_done(sentence);
        sentence_done(plain);
    }
    translator = former;
    translator_free(few);
    translator_free(whole);
    translator_free(without);
}
END_TEST

START_TEST(a_beam_may_be_wider_than_the_list) {
    static const int one[] = {50};
    use_list("int8", &(struct made_list){.always = one, .count = 1});
    struct sentence *sentence = decode_alone(model_texts[2], &search_beam, 5);
    ck_assert_ptr_null(sentence->error);
    ck_assert_uint_eq(sentence->targets.count, 2);
    ck_assert_uint_eq(sentence->count, 5);
    for (size_t h = 0; h < sentence->count; h++)
        for (size_t t = 0; t < sentence->hypotheses[h].length; t++)
            ck_assert_int_eq(sentence->hypotheses[h].tokens[t], 50);
    sentence_done(sentence);
}
END_TEST

/* Nothing but </s> to choose from, and it may not come yet: better the whole vocabulary than no
 * answer. */
START_TEST(an_empty_list_means_the_vocabulary) {
    use_list("float32", &(struct made_list){0});
    struct sentence *sentence = prepare(model_texts[1], &search_greedy, 1);
    sentence->options.min_length = 3;
    decode_prepared(sentence);
    ck_assert_ptr_null(sentence->error);
    ck_assert_uint_ge(sentence->hypotheses[0].length, 3);
    sentence_done(sentence);
}
END_TEST

/* While a row is live, an encoder of two layers encodes by blocks of rows, one in a step, or as
 * many as the caller has done before it: two passes over them for a layer, and one for what the
 * decoder remembers, of which the first block comes with the encoder's last. What comes out has the
 * bits of the sentence alone. */
START_TEST(encodings_are_divided) {
    enum { BLOCK = 32 };
    translator_free(translator);
    struct translator *t = translator =
        model_open_with("tests/golden/transformer", exact_compute());
    ck_assert_uint_eq(t->config.encoder.layers, 2);
    struct sentence *first = prepare(model_texts[4], &search_greedy, 1), *late[2], *alone[2],
                    *done[ROWS];
    struct batch *batch = batch_create(t, ROWS, NULL);
    first->options.min_length = 30; /* it outlives the others' encoding */
    batch_divide(batch, 1);
    batch_admit(batch, &first, 1);
    ck_assert(!batch_encodes(batch)); /* nobody was waiting */
    batch_step(batch, done);
    size_t tokens = 0;
    for (size_t i = 0; i < 2; i++) {
        late[i] = prepare(model_texts[3 + i], &search_beam, 3);
        alone[i] = decode_prepared(prepare(model_texts[3 + i], &search_beam, 3));
        tokens += late[i]->length;
    }
    size_t blocks = (tokens + BLOCK - 1) / BLOCK, parts = (2 * 2 + 1) * blocks - 1;
    ck_assert_uint_ge(blocks, 2);
    batch_admit(batch, late, 2);
    for (size_t part = 0; part < parts; part++) {
        ck_assert(batch_encodes(batch) && !batch_wants(batch));
        ck_assert_uint_eq(batch_rows(batch), 1);
        ck_assert_uint_eq(batch_sentences(batch), 3);
        batch_encode(batch); /* instead of the step, which does no other */
        if (part % 3 != 0 && part + 1 < parts)
            ck_assert_uint_eq(batch_step(batch, done), 0);
    }
    ck_assert(!batch_encodes(batch));
    ck_assert_uint_eq(batch_rows(batch), 3);
    drain(batch);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(late[i]->count, alone[i]->count);
        for (size_t h = 0; h < late[i]->count; h++)
            ck_assert_mem_eq(late[i]->hypotheses[h].log_probs, alone[i]->hypotheses[h].log_probs,
                             (late[i]->hypotheses[h].length + late[i]->hypotheses[h].ended) *
                                 sizeof(float));
        sentence_done(late[i]);
        sentence_done(alone[i]);
    }
    sentence_done(first);
    batch_free(batch);
}
END_TEST

Suite *batch_suite(void) {
    Suite *suite = suite_create("batch");
    TCase *tests = tcase_create("continuous");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, mixed_equals_alone, 0, exact_computes());
    tcase_add_test(tests, company_is_worth_a_few_steps);
    tcase_add_test(tests, an_empty_batch_rests);
    tcase_add_test(tests, a_short_one_overtakes);
    tcase_add_test(tests, cancelled_ones_leave_at_once);
    tcase_add_test(tests, scores_that_are_no_numbers_are_an_error);
    tcase_add_test(tests, encodings_are_divided);
    suite_add_tcase(suite, tests);
    TCase *listed = tcase_create("shortlist");
    tcase_add_checked_fixture(listed, setup, teardown);
    tcase_add_loop_test(listed, listed_mixed_equals_alone, 0, exact_computes());
    tcase_add_loop_test(listed, only_listed_tokens_come_out, 0, COMPUTES);
    tcase_add_test(listed, a_list_of_all_changes_nothing);
    tcase_add_test(listed, forced_decoding_ignores_the_list);
    tcase_add_test(listed, phrases_join_the_list);
    tcase_add_test(listed, a_beam_may_be_wider_than_the_list);
    tcase_add_test(listed, an_empty_list_means_the_vocabulary);
    suite_add_tcase(suite, listed);
    return suite;
}
