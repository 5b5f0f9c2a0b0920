/* The attention of a transformer's heads: PyTorch's weights for forced targets (tests/golden
 * heads.json, weights/golden/heads.py); exactly the weights of the search, for every way to find a
 * hypothesis and any other sentences in the batch; nothing if it is not requested. */
#include "model/model.h"
#include "model/translator.h"
#include "tests/models.h"
#include "tests/suites.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FOLDER "tests/golden"
static const double TOLERANCE = 5e-5; /* of weights, 0 to 1; as of the other golden values */

static const char *const models[] = {
    "convolutional-average",
    "convolutional-self-attention",
    "recurrent-self-attention",
    "recurrent-ssru",
    "ssru-alignment",
    "transformer",
    "transformer-alibi",
    "transformer-alibi-pre",
    "transformer-alignment",
    "transformer-alignment-layer",
    "transformer-average",
    "transformer-average-mean",
    "transformer-bahdanau-rnn",
    "transformer-conditional-gru",
    "transformer-copy",
    "transformer-embedding-norm",
    "transformer-embedding-norm-post",
    "transformer-float16",
    "transformer-gated",
    "transformer-gated-post",
    "transformer-int8",
    "transformer-luong-lstm",
    "transformer-pre-learned",
    "transformer-pointer-generator",
    "transformer-rms",
    "transformer-rotary",
    "transformer-rotary-part",
    "transformer-ssru",
    "transformer-ssru-int8",
    "transformer-ssru-nowhere",
    "transformer-ssru-pre",
    "transformer-average-square",
    "transformer-average-ungated",
    "transformer-bfloat16",
    "transformer-swish-zero",
    "transformer-words",
};
enum { MODELS = sizeof models / sizeof *models };

static const char *const texts[] = {"I", "This is mine.", "Place the ladder against the wall.",
                                    "Tom is quite different."};
enum { TEXTS = sizeof texts / sizeof *texts };

static struct translator *translator;
static struct arena arena;

static void open_model(const char *name, const char *compute) {
    char path[128];
    snprintf(path, sizeof path, FOLDER "/%s", name);
    translator = model_open_with(path, compute);
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
    sentence->caller.wants_looks = true;
    return sentence;
}

static struct sentence *prepare_forced(const char *text, const int *tokens, size_t length) {
    struct sentence *sentence = model_prepare_forced(translator, text, tokens, length, &arena);
    sentence->caller.wants_looks = true;
    return sentence;
}

static struct sentence *decoded(struct sentence *sentence) {
    model_decode(translator, &sentence, 1);
    return sentence;
}

/* ---- PyTorch's ---- */

static json_t *load(const char *name, const char *file) {
    char path[128];
    snprintf(path, sizeof path, FOLDER "/%s/%s", name, file);
    json_t *json = json_load_file(path, 0, NULL);
    ck_assert_msg(json != NULL, "%s", path);
    return json;
}

/* Entries that a step does not see are 0 in PyTorch. */
static void check_row(const struct looks *looks, enum looks_part part, size_t layer, size_t head,
                      size_t i, const json_t *want) {
    size_t count, j;
    const float *row = looks_row(looks, part, layer, head, i, &count);
    json_t *value;
    ck_assert_uint_ge(json_array_size(want), count);
    json_array_foreach(want, j, value) {
        double got = j < count ? (double)row[j] : 0;
        ck_assert_msg(fabs(got - json_number_value(value)) <= TOLERANCE,
                      "part %d layer %zu head %zu row %zu[%zu]: got %.9g, want %.9g", (int)part,
                      layer, head, i, j, got, json_number_value(value));
    }
}

static void check_part(const struct looks *looks, enum looks_part part, size_t rows,
                       const json_t *layers) {
    const struct look_set *set = &looks->parts[part];
    size_t l, h, i;
    json_t *heads, *head, *row;
    ck_assert_uint_eq(json_array_size(layers), set->layers);
    json_array_foreach(layers, l, heads) {
        ck_assert_uint_eq(json_array_size(heads), set->heads);
        json_array_foreach(heads, h, head) {
            ck_assert_uint_eq(json_array_size(head), rows);
            json_array_foreach(head, i, row) check_row(looks, part, l, h, i, row);
        }
    }
}

static void check_looks(const struct sentence *sentence, const json_t *want) {
    const struct looks *looks = sentence->looks;
    ck_assert_uint_gt(json_object_size(want), 0);
    ck_assert_uint_eq(looks->source, sentence->length);
    check_part(looks, LOOKS_ENCODER, looks->source, json_object_get(want, "encoder"));
    check_part(looks, LOOKS_DECODER, looks->target, json_object_get(want, "decoder"));
    check_part(looks, LOOKS_CROSS, looks->target, json_object_get(want, "cross"));
}

START_TEST(weights_equal_pytorch) {
    json_t *golden = load(models[_i], "golden.json"), *heads = load(models[_i], "heads.json"),
           *want;
    size_t i;
    open_model(models[_i], "float32");
    ck_assert(looks_there(translator));
    json_array_foreach(json_object_get(heads, "sentences"), i, want) {
        const json_t *sentence = json_array_get(json_object_get(golden, "sentences"), i),
                     *list = json_object_get(json_object_get(sentence, "forced"), "tokens");
        int tokens[64];
        size_t length = json_array_size(list);
        for (size_t t = 0; t < length; t++)
            tokens[t] = (int)json_integer_value(json_array_get(list, t));
        struct sentence *forced = decoded(
            prepare_forced(json_string_value(json_object_get(sentence, "text")), tokens, length));
        check_looks(forced, want);
        sentence_done(forced);
    }
    ck_assert_uint_gt(i, 0);
    json_decref(golden);
    json_decref(heads);
}
END_TEST

/* ---- the search's own ---- */

static void check_same(const struct looks *a, const struct looks *b) {
    ck_assert(a->source == b->source && a->target == b->target);
    for (int part = 0; part < LOOKS_PARTS; part++) {
        const struct look_set *set = &a->parts[part];
        for (size_t each = 0; each < set->layers * set->heads; each++)
            for (size_t i = 0, count; i < (part == LOOKS_ENCODER ? a->source : a->target); i++) {
                const float *row = looks_row(a, (enum looks_part)part, each / set->heads,
                                             each % set->heads, i, &count);
                const float *other = looks_row(b, (enum looks_part)part, each / set->heads,
                                               each % set->heads, i, &count);
                ck_assert_int_eq(memcmp(row, other, count * sizeof *row), 0);
            }
    }
}

/* The head that is shown as attention is one of them: the search kept its rows. */
static void check_shown(const struct sentence *sentence) {
    const struct looks *looks = sentence->looks;
    const struct decoder_config *c = &translator->config.decoder;
    size_t layer = (c->alignment_layer > 0 ? c->alignment_layer : c->layers) - 1;
    ck_assert_uint_eq(looks->target,
                      sentence->hypotheses[0].length + sentence->hypotheses[0].ended);
    for (size_t i = 0, count; i < looks->target; i++) {
        const float *row = looks_row(looks, LOOKS_CROSS, layer, c->alignment_head, i, &count);
        ck_assert_int_eq(memcmp(row, sentence->hypotheses[0].attention[i], count * sizeof *row), 0);
    }
}

static const struct search_options searches[] = {
    {.strategy = &search_greedy, .beam_size = 1, .n_best = 1, .length_penalty = 1},
    {.strategy = &search_beam, .beam_size = 5, .n_best = 3, .length_penalty = 1},
    {.strategy = &search_exact,
     .beam_size = 3,
     .n_best = 1,
     .length_penalty = 1,
     .max_steps = 2000},
    {.strategy = &search_sample,
     .beam_size = 1,
     .n_best = 2,
     .sampling = {.temperature = 1, .top_p = 1, .seed = 4}},
};
enum { SEARCHES = sizeof searches / sizeof *searches };

/* However a hypothesis was found, and whatever was decoded beside it. */
START_TEST(weights_are_those_of_the_search) {
    static const char *const some[] = {"transformer", "transformer-alignment-layer",
                                       "transformer-ssru", "transformer-average",
                                       "transformer-copy"};
    for (size_t m = 0; m < sizeof some / sizeof *some; m++) {
        open_model(some[m], exact_compute());
        struct sentence *together[TEXTS], *alone;
        for (size_t i = 0; i < TEXTS; i++)
            together[i] = prepare(texts[i], &searches[_i]);
        model_decode(translator, together, TEXTS);
        for (size_t i = 0; i < TEXTS; i++) {
            alone = decoded(prepare(texts[i], &searches[_i]));
            check_shown(alone);
            check_same(alone->looks, together[i]->looks);
            sentence_done(alone);
            sentence_done(together[i]);
        }
        translator_free(translator);
        translator = NULL;
    }
}
END_TEST

/* A forced look is that of all heads of all layers, in its step alone. */
START_TEST(forced_looks_are_all_heads) {
    open_model("transformer-alignment-layer", exact_compute());
    struct sentence *free = decoded(prepare(texts[2], &searches[0])),
                    *forced = prepare(texts[2], &searches[0]);
    double weights[64] = {[1] = 3, [2] = 1};
    ck_assert_int_eq(sentence_attend(forced, 1, weights, forced->length, NULL), 0);
    decoded(forced);
    const struct look_set *set = &forced->looks->parts[LOOKS_CROSS];
    ck_assert_uint_ge(set->layers * set->heads, 4);
    for (size_t each = 0; each < set->layers * set->heads; each++) {
        size_t layer = each / set->heads, head = each % set->heads, count;
        const float *row = looks_row(forced->looks, LOOKS_CROSS, layer, head, 1, &count);
        for (size_t j = 0; j < count; j++)
            ck_assert_float_eq(row[j], (float)(weights[j] / 4));
        const float *before = looks_row(forced->looks, LOOKS_CROSS, layer, head, 0, &count);
        ck_assert_int_eq(memcmp(before, looks_row(free->looks, LOOKS_CROSS, layer, head, 0, &count),
                                count * sizeof *row),
                         0);
    }
    sentence_done(free);
    sentence_done(forced);
}
END_TEST

/* ---- who asks ---- */

START_TEST(nothing_unless_asked) {
    open_model("transformer", "float32");
    struct sentence *plain = prepare(texts[1], &searches[0]),
                    *asking = prepare(texts[1], &searches[0]);
    plain->caller.wants_looks = false;
    size_t least = sentence_looks(plain, plain->options.max_length) * sizeof(float);
    ck_assert_uint_ge(sentence_max_bytes(asking), sentence_max_bytes(plain) + least);
    decoded(plain);
    ck_assert_ptr_null(plain->looks);
    sentence_done(plain);
    sentence_done(asking);
}
END_TEST

START_TEST(others_have_none) {
    open_model("luong-general-gru", "float32");
    ck_assert(!looks_there(translator));
    ck_assert(!translator_info(translator).heads);
}
END_TEST

Suite *looks_suite(void) {
    Suite *suite = suite_create("looks");
    TCase *tests = tcase_create("looks");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, weights_equal_pytorch, 0, MODELS);
    tcase_add_loop_test(tests, weights_are_those_of_the_search, 0, SEARCHES);
    tcase_add_test(tests, forced_looks_are_all_heads);
    tcase_add_test(tests, nothing_unless_asked);
    tcase_add_test(tests, others_have_none);
    suite_add_tcase(suite, tests);
    return suite;
}
