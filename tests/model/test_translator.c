/* The facade: loading a folder, cutting text into sentences, targets, packed weights. */
#include "model/base/file.h"
#include "model/model.h"
#include "model/translator.h"
#include "model/weights/safetensors.h"
#include "model/weights/weights.h"
#include "tests/models.h"
#include "tests/suites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "tests/golden/luong-general-gru"

static struct translator *translator;
static struct arena arena;
static const struct search_options greedy = {
    .strategy = &search_greedy, .beam_size = 1, .n_best = 1, .length_penalty = 1};

static void setup(void) {
    translator = model_open(MODEL);
    arena_init(&arena, 1 << 16);
}

static void teardown(void) {
    arena_done(&arena);
    translator_free(translator);
}

static size_t prepare(const char *text, bool split, struct sentence **sentences) {
    const struct translator_text whole = {.text = text, .length = strlen(text), .split = split};
    struct sentence_list list;
    struct error err = {0};
    ck_assert_msg(model_sentences(translator, whole, &greedy, &arena, &list, &err) == 0, "%s",
                  err.message);
    *sentences = list.all;
    return list.count;
}

static void end_all(struct sentence *sentences, size_t count) {
    for (size_t i = 0; i < count; i++)
        sentence_done(&sentences[i]);
}

START_TEST(info_tells_the_model) {
    struct translator_info info = translator_info(translator);
    ck_assert_str_eq(info.source, "en");
    ck_assert_str_eq(info.compute, "float32");
    ck_assert(!info.shortlist);
    ck_assert_uint_gt(info.parameters, 1000);
    ck_assert_uint_eq(info.source_vocabulary, 200);
    ck_assert(info.source_end);
    ck_assert_ptr_nonnull(strstr(info.architecture, "luong general attention"));
}
END_TEST

/* One line each, of every kind of encoder, and without attention. */
START_TEST(architecture_is_described) {
    static const char *const wanted[][2] = {
        {"tests/golden/residual-luong-gru", "gru encoder 3x4 bidirectional residual, luong general "
                                            "attention, gru decoder 3x8 residual"},
        {"tests/golden/convolutional-additive-lstm",
         "convolutional encoder 2x5 width 5, bahdanau additive attention, lstm decoder 1x8"},
        {"tests/golden/stack-alternating-gru", "gru encoder 3x4 bidirectional alternating, "
                                               "conditional additive attention, gru decoder 3x8"},
        {"tests/golden/fixed-gru", "gru encoder 1x8, fixed context, gru decoder 1x8"},
        {"tests/golden/luong-feeding-lstm",
         "lstm encoder 2x8, luong dot attention, lstm decoder 2x8 input feeding"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct translator *found = model_open(wanted[i][0]);
        struct translator_info info = translator_info(found);
        ck_assert_str_eq(info.architecture, wanted[i][1]);
        ck_assert_int_eq(info.attention, strstr(wanted[i][1], " attention") != NULL);
        translator_free(found);
    }
}
END_TEST

START_TEST(text_is_split) {
    struct sentence *list;
    size_t count = prepare("  Tom is here. Who is Mary?\n\nStop!  ", true, &list);
    ck_assert_uint_eq(count, 3);
    ck_assert_uint_eq(list[1].source.begin, 15);
    ck_assert_uint_eq(list[1].source.end, 27);
    for (size_t i = 0; i < count; i++) {
        const struct token *last = &list[i].tokens[list[i].length - 1];
        ck_assert_str_eq(last->piece, "</s>");
        ck_assert_uint_eq(last->begin, last->end);
        double limit = translator_info(translator).max_target_ratio * (double)list[i].length;
        ck_assert_uint_eq(list[i].options.max_length, (size_t)floor(limit + 0.5));
    }
    end_all(list, count);
    count = prepare("Tom is here. Who is Mary?", false, &list);
    ck_assert_uint_eq(count, 1);
    end_all(list, count);
}
END_TEST

/* What stands between sentences, and a text without words, is copied. A verbatim text is read as it
 * is. */
START_TEST(layout_is_not_read) {
    static const char text[] = "a) Tom is here. Who\tI | Tom --\n-----\nI. Mary";
    static const char *const expected[] = {"Tom is here.", "Who", "I", "Tom", "Mary"};
    for (int verbatim = 0; verbatim < 2; verbatim++) {
        const struct translator_text whole = {
            .text = text, .length = sizeof text - 1, .split = true, .verbatim = verbatim};
        struct sentence_list made;
        ck_assert_int_eq(sentence_prepare(translator, &whole, &greedy, &arena, &made, NULL), 0);
        struct sentence *list = made.all;
        size_t count = made.count;
        ck_assert_uint_eq(count, sizeof expected / sizeof *expected);
        ck_assert_uint_eq(list[0].source.begin, verbatim ? 0 : 3);
        for (size_t i = 0; i < count && !verbatim; i++) {
            struct span source = list[i].source;
            ck_assert_uint_eq(source.end - source.begin, strlen(expected[i]));
            ck_assert_mem_eq(text + source.begin, expected[i], source.end - source.begin);
        }
        end_all(list, count);
    }
}
END_TEST

START_TEST(blank_text_has_no_sentence) {
    struct sentence *list;
    ck_assert_uint_eq(prepare("", true, &list), 0);
    ck_assert_uint_eq(prepare(" \t\n\u00a0\u3000", true, &list), 0);
    ck_assert_uint_eq(prepare("   ", false, &list), 0);
    ck_assert_uint_eq(prepare("\u200b", true, &list), 0); /* visible to nobody, and no token */
}
END_TEST

START_TEST(long_text_is_wrapped_or_refused) {
    char text[8000] = "";
    for (int i = 0; i < 300; i++)
        strcat(text, "the ladder, ");
    struct sentence *list;
    size_t limit = translator_info(translator).max_source_tokens,
           count = prepare(text, true, &list), at = 0;
    ck_assert_uint_gt(count, 1);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_le(list[i].length - 1, limit);
        ck_assert_int_eq(text[list[i].source.end - 1], ',');
        for (; at < list[i].source.begin; at++)
            ck_assert_int_eq(text[at], ' ');
        at = list[i].source.end;
    }
    end_all(list, count);
    struct sentence_list made;
    struct error err = {0};
    const struct translator_text whole = {.text = text, .length = strlen(text)};
    ck_assert_int_eq(model_sentences(translator, whole, &greedy, &arena, &made, &err), -1);
    ck_assert_int_eq(err.code, ERROR_LENGTH);
}
END_TEST

START_TEST(min_length_lifts_the_default_limit) {
    struct search_options options = greedy;
    options.min_length = 100;
    struct sentence *sentence = model_prepare(translator, "I", &options, &arena);
    ck_assert_uint_eq(sentence->options.max_length, 100);
    sentence_done(sentence);
}
END_TEST

START_TEST(a_target_is_scored) {
    static const char target[] = "Tom est ici.";
    struct sentence *list;
    ck_assert_uint_eq(prepare("Tom is here.", false, &list), 1);
    ck_assert_int_eq(sentence_force(list, target, strlen(target), NULL), 0);
    model_decode(translator, &list, 1);
    const struct hypothesis *h = list->hypotheses;
    struct rendering rendering;
    ck_assert(h->ended);
    ck_assert_int_eq(rendering_make(list, h, &arena, &rendering, NULL), 0);
    ck_assert_str_eq(rendering.text, target);
    ck_assert_uint_eq(rendering.tokens[h->length - 1].end, strlen(target));
    double sum = 0;
    for (size_t i = 0; i <= h->length; i++)
        sum += (double)h->log_probs[i];
    ck_assert_double_eq_tol(sum, h->log_prob, 1e-9);
    sentence_done(list);
}
END_TEST

START_TEST(an_endless_target_is_refused) {
    static char target[20000];
    memset(target, 'x', sizeof target - 1);
    struct sentence *list;
    struct error err = {0};
    ck_assert_uint_eq(prepare("I", false, &list), 1);
    ck_assert_int_eq(sentence_force(list, target, sizeof target - 1, &err), -1);
    ck_assert_int_eq(err.code, ERROR_LENGTH);
    sentence_done(list);
}
END_TEST

/* The text begins with exactly what was given, and every token stands where it should. */
START_TEST(a_prefix_is_printed_as_given) {
    static const char *const prefixes[] = {
        "Tom", "Tom est", "  Tom  est", "Tom ", "\u212bngstr\u00f6m \u2026", "X\n", "E\u0301t"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        struct sentence *list;
        struct rendering rendering;
        ck_assert_uint_eq(prepare("Tom is here.", false, &list), 1);
        ck_assert_int_eq(sentence_begin_with(list, prefixes[i], strlen(prefixes[i]), NULL), 0);
        model_decode(translator, &list, 1);
        const struct hypothesis *h = list->hypotheses;
        ck_assert_int_eq(rendering_make(list, h, &arena, &rendering, NULL), 0);
        ck_assert_int_eq(strncmp(rendering.text, prefixes[i], strlen(prefixes[i])), 0);
        size_t at = 0, given = list->options.prefix_length;
        ck_assert_uint_ge(h->length, given);
        for (size_t t = 0; t < h->length; t++) {
            ck_assert_uint_ge(rendering.tokens[t].begin, at);
            ck_assert_uint_ge(rendering.tokens[t].end, rendering.tokens[t].begin);
            at = rendering.tokens[t].end;
            ck_assert_int_eq(t < given, at <= strlen(prefixes[i]) && t < given);
        }
        ck_assert_uint_eq(at, h->length > given ? strlen(rendering.text) : at);
        sentence_done(list);
    }
}
END_TEST

/* The text ends with what was given, whether or not the vocabulary can write it; a mark that closes
 * gets no space before it. */
START_TEST(a_suffix_is_printed_as_given) {
    static const char *const suffixes[] = {"est l\u00e0.", " est l\u00e0.", ", Tom.",
                                           "\u212b \u2026"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        struct sentence *list;
        struct rendering rendering;
        struct glossary glossary;
        glossary_init(&glossary, NULL, &arena);
        ck_assert_uint_eq(prepare("Tom is here.", false, &list), 1);
        ck_assert_int_eq(sentence_begin_with(list, "Un", 2, NULL), 0);
        ck_assert_int_eq(sentence_end_with(list, suffixes[i], strlen(suffixes[i]), NULL), 0);
        ck_assert_int_eq(glossary_constrain(list, &glossary, NULL), 0);
        model_decode(translator, &list, 1);
        ck_assert_int_eq(rendering_make(list, list->hypotheses, &arena, &rendering, NULL), 0);
        const char *end = suffixes[i] + (*suffixes[i] == ' ');
        size_t length = strlen(rendering.text), rest = length - strlen(end);
        ck_assert_uint_gt(length, strlen(end));
        ck_assert_str_eq(rendering.text + rest, end);
        ck_assert_int_eq(strncmp(rendering.text, "Un", 2), 0);
        if (*end == ',')
            ck_assert_int_ne(rendering.text[rest - 1], ' ');
        sentence_done(list);
    }
    struct sentence *list;
    struct error err = {0};
    ck_assert_uint_eq(prepare("Tom is here.", false, &list), 1);
    ck_assert_int_eq(sentence_end_with(list, " \n", 2, &err), -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    sentence_done(list);
}
END_TEST

START_TEST(a_prefix_needs_room) {
    struct search_options options = greedy;
    struct error err = {0};
    char text[4000] = "";
    for (int i = 0; i < 60; i++)
        strcat(text, "Tom ");
    struct sentence *sentence = model_prepare(translator, "I", &options, &arena);
    ck_assert_int_eq(sentence_begin_with(sentence, text, strlen(text), NULL), 0);
    ck_assert_uint_eq(sentence->options.max_length, sentence->options.prefix_length + 1);
    sentence_done(sentence);
    options.max_length = 3;
    sentence = model_prepare(translator, "I", &options, &arena);
    ck_assert_int_eq(sentence_begin_with(sentence, text, strlen(text), &err), -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "max_length is 3"));
    sentence_done(sentence);
}
END_TEST

START_TEST(forced_attention_has_a_weight_for_each_token) {
    static const double weights[40] = {1};
    struct error err = {0};
    struct sentence *list;
    ck_assert_uint_eq(prepare("Tom is here.", false, &list), 1);
    ck_assert_int_eq(sentence_attend(list, 2, weights, list->length, NULL), 0);
    ck_assert_int_eq(sentence_attend(list, 3, weights, list->length + 1, &err), -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    sentence_done(list);
}
END_TEST

START_TEST(a_missing_shortlist_is_named) {
    struct error err = {0};
    ck_assert_ptr_null(
        translator_open(MODEL, &(struct translator_options){.shortlist = SWITCH_ON}, &err));
    ck_assert_int_eq(err.code, ERROR_FILE);
    ck_assert_str_eq(err.message, "shortlist: cannot open " MODEL
                                  "/shortlist.safetensors: No such file or directory; "
                                  "weights/training/shortlist.py makes one");
}
END_TEST

START_TEST(copying_takes_no_shortlist) {
    struct error err = {0};
    ck_assert_ptr_null(translator_open("tests/golden/copy",
                                       &(struct translator_options){.shortlist = SWITCH_ON}, &err));
    ck_assert_int_eq(err.code, ERROR_INPUT);
    ck_assert_str_eq(err.message, "shortlist: not supported by a model that copies");
}
END_TEST

START_TEST(info_tells_a_shortlist) {
    struct translator *listed = model_open_listed(MODEL, "model", &(struct made_list){.each = 3});
    ck_assert(translator_info(listed).shortlist);
    ck_assert_str_eq(translator_info(listed).compute, "float32");
    translator_free(listed);
}
END_TEST

START_TEST(a_missing_folder_is_named) {
    struct error err = {0};
    ck_assert_ptr_null(translator_open("/nonexistent/model", NULL, &err));
    ck_assert_int_eq(err.code, ERROR_FILE);
    ck_assert_ptr_nonnull(strstr(err.message, "/nonexistent/model"));
}
END_TEST

/* A row of the embedding is one word, whichever side it is on. */
START_TEST(one_embedding_needs_one_vocabulary) {
    struct error err = model_error_with("tests/golden/embedding-shared", "tests/data/tiny.en.spm");
    ck_assert_int_eq(err.code, ERROR_FORMAT);
    ck_assert_str_eq(err.message,
                     "encoder.embedding_shared: the vocabularies of source and target differ");
    err = model_error_with("tests/golden/embedding-shared", "tests/data/tiny.fr.spm");
    ck_assert_int_eq(err.code, ERROR_NONE);
}
END_TEST

static struct translator *open_with(const char *compute) {
    struct error err = {0};
    struct translator *found =
        translator_open("weights/en-fr", &(struct translator_options){.compute = compute}, &err);
    ck_assert_msg(found != NULL, "%s: %s", compute, err.message);
    return found;
}

/* The log-probability of a translation by the shipped model. */
static double score_with(const char *compute) {
    static const char source[] = "Where is the train station?", target[] = "Où se trouve la gare ?";
    struct sentence *list;
    translator_free(translator);
    translator = open_with(compute);
    ck_assert_str_eq(translator_info(translator).compute, compute);
    ck_assert_uint_eq(prepare(source, false, &list), 1);
    ck_assert_int_eq(sentence_force(list, target, strlen(target), NULL), 0);
    model_decode(translator, &list, 1);
    double log_prob = list->hypotheses->log_prob;
    sentence_done(list);
    return log_prob;
}

/* Rounded weights give another number, but nearly the same. */
START_TEST(compute_types_agree) {
    double exact = score_with("float32"), bfloat = score_with("bfloat16"),
           quantized = score_with("int8");
    ck_assert_double_lt(exact, -0.1);
    ck_assert_double_ne(bfloat, exact);
    ck_assert_double_ne(quantized, exact);
    ck_assert_double_eq_tol(bfloat, exact, 0.05);
    ck_assert_double_eq_tol(quantized, exact, 0.3);
}
END_TEST

START_TEST(auto_says_what_it_chose) {
    struct translator *chosen = open_with("auto");
    const char *compute = translator_info(chosen).compute;
    ck_assert(strcmp(compute, "float32") == 0 || strcmp(compute, "bfloat16") == 0 ||
              strcmp(compute, "int8") == 0);
    translator_free(chosen);
}
END_TEST

/* MODEL, or another one, with these defaults in its config.json. */
static struct translator *open_with_defaults(const char *from, const char *defaults,
                                             const struct translator_options *options) {
    struct error err = {0};
    char *folder = model_folder_with(from, defaults);
    struct translator *found = translator_open(folder, options, &err);
    ck_assert_msg(found != NULL, "%s", err.message);
    model_folder_remove(folder);
    return found;
}

START_TEST(the_model_says_how_it_is_computed) {
    static const struct {
        const char *folder, *defaults, *asked, *compute;
    } rows[] = {
        {MODEL, "{}", NULL, "float32"},
        {MODEL, "{}", "model", "float32"},
        {MODEL, "{\"compute\": \"stored\"}", "model", "float32"},
        {MODEL, "{\"compute\": \"int8\"}", "model", "int8"},
        {MODEL, "{\"compute\": \"bfloat16\"}", NULL, "bfloat16"},
        {MODEL, "{\"compute\": \"int8\"}", "float32", "float32"},
        {"tests/golden/storage-int8", "{}", "model", "int8"},
        {"tests/golden/storage-int8", "{}", "bfloat16", "bfloat16"},
        {"tests/golden/storage-int8", "{\"compute\": \"float32\"}", "model", "float32"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct translator *found =
            open_with_defaults(rows[i].folder, rows[i].defaults,
                               &(struct translator_options){.compute = rows[i].asked});
        ck_assert_str_eq(translator_info(found).compute, rows[i].compute);
        translator_free(found);
    }
}
END_TEST

/* Before it is loaded the card says the same, and expects the memory that this takes. */
START_TEST(the_card_says_how_it_will_be_computed) {
    struct error err = {0};
    struct translator_card *card = translator_card_read("tests/golden/storage-int8", &err);
    ck_assert_msg(card != NULL, "%s", err.message);
    ck_assert_str_eq(translator_card_compute(card, NULL), "int8");
    ck_assert_str_eq(translator_card_compute(card, "model"), "int8");
    ck_assert_str_eq(translator_card_compute(card, "bfloat16"), "bfloat16");
    ck_assert_ptr_null(translator_card_compute(card, "auto"));
    ck_assert_uint_eq(translator_card_bytes(card, "model"), translator_card_bytes(card, "int8"));
    ck_assert_uint_lt(translator_card_bytes(card, "model"), translator_card_bytes(card, "float32"));
    translator_card_free(card);
}
END_TEST

START_TEST(the_model_says_whether_it_uses_its_shortlist) {
    static const struct {
        const char *defaults;
        enum translator_switch asked;
        bool used;
    } rows[] = {{"{}", SWITCH_OF_MODEL, false},
                {"{\"shortlist\": true}", SWITCH_OF_MODEL, true},
                {"{\"shortlist\": true}", SWITCH_OFF, false},
                {"{\"shortlist\": false}", SWITCH_ON, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct translator *found =
            open_with_defaults("weights/en-fr", rows[i].defaults,
                               &(struct translator_options){.shortlist = rows[i].asked});
        ck_assert_int_eq(translator_info(found).shortlist, rows[i].used);
        translator_free(found);
    }
}
END_TEST

START_TEST(an_unknown_compute_type_is_refused) {
    struct error err = {0};
    ck_assert_ptr_null(
        translator_open(MODEL, &(struct translator_options){.compute = "int7"}, &err));
    ck_assert_int_eq(err.code, ERROR_INPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "int7"));
}
END_TEST

/* ---- packed weights ---- */

static struct translator *open_folder(const char *folder, const char *compute, const char *sha256) {
    struct error err = {0};
    struct translator *opened = translator_open(
        folder, &(struct translator_options){.compute = compute, .sha256 = sha256}, &err);
    ck_assert_msg(opened != NULL, "%s", err.message);
    return opened;
}

/* The score of the best translation, with all its bits. */
static double score_of(const struct translator *t) {
    struct sentence *sentence = model_prepare(t, "A boy plays in the snow.", &greedy, &arena);
    model_decode(t, &sentence, 1);
    ck_assert_ptr_null(sentence->error);
    double score = sentence->hypotheses[0].score;
    sentence_done(sentence);
    return score;
}

static void check_mapped(const char *folder, const struct translator *packed, const char *compute) {
    struct translator *mapped = open_folder(folder, compute, "aa");
    struct translator_info info = translator_info(mapped), other = translator_info(packed);
    double score = score_of(mapped), expected = score_of(packed);
    ck_assert_uint_gt(info.matrices, 0);
    ck_assert_uint_eq(info.matrices, other.matrices);
    ck_assert_uint_eq(info.mapped, info.matrices);
    ck_assert_str_eq(info.unmapped, "");
    ck_assert_uint_eq(other.mapped, 0);
    ck_assert_mem_eq(&score, &expected, sizeof score);
    translator_free(mapped);
}

/* One that is opened only to be packed has no vocabularies, tells their sizes all the same, and
 * writes the same file. */
static void check_only_packed(const char *folder, const struct translator *packed,
                              const char *compute, const char *path) {
    struct error err = {0};
    struct translator *only = translator_open(
        folder, &(struct translator_options){.compute = compute, .pack = true}, &err);
    ck_assert_ptr_nonnull(only);
    ck_assert(!only->source && !only->target && packed->source && packed->target);
    struct translator_info info = translator_info(only), other = translator_info(packed);
    ck_assert_uint_eq(info.mapped, 0);
    ck_assert_str_eq(info.unmapped, "");
    ck_assert_uint_eq(info.source_vocabulary, other.source_vocabulary);
    ck_assert_uint_eq(info.target_vocabulary, other.target_vocabulary);
    char *before, *after, again[256];
    size_t before_size, after_size;
    ck_assert_int_eq(file_read(path, SIZE_MAX / 2, &before, &before_size, &err), 0);
    ck_assert_int_eq(translator_pack(only, folder, "aa", again, sizeof again, &err), 0);
    ck_assert_str_eq(again, path);
    ck_assert_int_eq(file_read(path, SIZE_MAX / 2, &after, &after_size, &err), 0);
    ck_assert_uint_eq(after_size, before_size);
    ck_assert_mem_eq(after, before, before_size);
    free(before);
    free(after);
    translator_free(only);
}

START_TEST(loading_can_be_stopped) {
    static const atomic_bool on = true, off = false;
    struct error err = {0};
    ck_assert_ptr_null(
        translator_open(MODEL, &(struct translator_options){.pack = true, .stop = &on}, &err));
    ck_assert_int_eq(err.code, ERROR_INPUT);
    ck_assert_str_eq(err.message, "interrupted");
    err = (struct error){0};
    struct translator *opened =
        translator_open(MODEL, &(struct translator_options){.stop = &off}, &err);
    ck_assert_ptr_nonnull(opened);
    translator_free(opened);
}
END_TEST

/* Each compute type has its own file. A folder's file for another digest is not used, and the
 * reason is reported. */
START_TEST(packed_weights_are_mapped) {
    char *folder = model_folder(MODEL), path[256];
    struct error err = {0};
    for (int i = 0; i < exact_computes(); i++) {
        struct translator *packed = open_folder(folder, computes[i], NULL);
        ck_assert_str_eq(translator_info(packed).unmapped, "");
        ck_assert_int_eq(translator_pack(packed, folder, "aa", path, sizeof path, &err), 0);
        ck_assert_ptr_nonnull(strstr(path, computes[i]));
        check_mapped(folder, packed, computes[i]);
        check_only_packed(folder, packed, computes[i], path);
        translator_free(packed);
        struct translator *refused = open_folder(folder, computes[i], "ab");
        ck_assert_uint_eq(translator_info(refused).mapped, 0);
        ck_assert_str_eq(translator_info(refused).unmapped, "made from another model.safetensors");
        translator_free(refused);
    }
    model_folder_remove(folder);
}
END_TEST

/* The panels of a file of which everything else is right are others. */
static void spoil_panels(const char *path) {
    struct error err = {0};
    char *bytes;
    size_t size;
    ck_assert_int_eq(file_read(path, SIZE_MAX / 2, &bytes, &size, &err), 0);
    const struct panels_header *header = (const void *)bytes;
    size_t head = sizeof *header + header->entries * sizeof(struct panels_entry);
    memset(bytes + head, 1, size - head);
    ck_assert_int_eq(file_replace(path, bytes, size, &err), 0);
    free(bytes);
}

START_TEST(damaged_panels_are_told) {
    char *folder = model_folder(MODEL), path[256], expected[96];
    struct error err = {0};
    struct translator *packed = open_folder(folder, "int8", NULL);
    ck_assert_int_eq(translator_pack(packed, folder, NULL, path, sizeof path, &err), 0);
    spoil_panels(path);
    struct translator *spoilt = open_folder(folder, "int8", NULL);
    struct translator_info info = translator_info(spoilt);
    snprintf(expected, sizeof expected, "%zu of %zu matrices are missing or damaged", info.matrices,
             info.matrices);
    ck_assert_uint_eq(info.mapped, 0);
    ck_assert_str_eq(info.unmapped, expected);
    ck_assert_double_eq(score_of(spoilt), score_of(packed));
    translator_free(packed);
    translator_free(spoilt);
    model_folder_remove(folder);
}
END_TEST

Suite *translator_suite(void) {
    Suite *suite = suite_create("translator");
    TCase *tests = tcase_create("facade");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60); /* whole models are packed, perhaps under a sanitizer */
    tcase_add_test(tests, info_tells_the_model);
    tcase_add_test(tests, architecture_is_described);
    tcase_add_test(tests, text_is_split);
    tcase_add_test(tests, layout_is_not_read);
    tcase_add_test(tests, blank_text_has_no_sentence);
    tcase_add_test(tests, long_text_is_wrapped_or_refused);
    tcase_add_test(tests, min_length_lifts_the_default_limit);
    tcase_add_test(tests, a_target_is_scored);
    tcase_add_test(tests, an_endless_target_is_refused);
    tcase_add_test(tests, a_prefix_is_printed_as_given);
    tcase_add_test(tests, a_suffix_is_printed_as_given);
    tcase_add_test(tests, a_prefix_needs_room);
    tcase_add_test(tests, forced_attention_has_a_weight_for_each_token);
    tcase_add_test(tests, a_missing_shortlist_is_named);
    tcase_add_test(tests, copying_takes_no_shortlist);
    tcase_add_test(tests, info_tells_a_shortlist);
    tcase_add_test(tests, a_missing_folder_is_named);
    tcase_add_test(tests, one_embedding_needs_one_vocabulary);
    tcase_add_test(tests, compute_types_agree);
    tcase_add_test(tests, auto_says_what_it_chose);
    tcase_add_test(tests, the_model_says_how_it_is_computed);
    tcase_add_test(tests, the_card_says_how_it_will_be_computed);
    tcase_add_test(tests, the_model_says_whether_it_uses_its_shortlist);
    tcase_add_test(tests, an_unknown_compute_type_is_refused);
    tcase_add_test(tests, loading_can_be_stopped);
    tcase_add_test(tests, packed_weights_are_mapped);
    tcase_add_test(tests, damaged_panels_are_told);
    suite_add_tcase(suite, tests);
    return suite;
}
