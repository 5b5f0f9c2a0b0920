/* Alignment, of tokens and of words: by the model's alignment head, or by attention without one. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TEXT "Ça va, l’été naïve € 😀 friend? No..."
#define HEAD "alignment-luong-gru"

static const double tolerance = 1e-4; /* for nine digits are asked */

static struct daemon served;

static void setup(void) {
    daemon_start(&served, ARGUMENTS("--model", MODEL, "--model", "tests/golden/" HEAD, "--model",
                                    "tests/golden/alignment-conditional-lstm", "--model",
                                    "tests/golden/luong-no-eos", "--workers", "2"));
}

static void teardown(void) {
    daemon_stop(&served);
}

static double item(const json_t *array, size_t i) {
    return json_number_value(json_array_get(array, i));
}

static double sum(const json_t *array) {
    double total = 0;
    for (size_t i = 0; i < json_array_size(array); i++)
        total += item(array, i);
    return total;
}

/* Of the first n. */
static size_t argmax(const json_t *array, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        if (item(array, i) > item(array, best))
            best = i;
    }
    return best;
}

static const char *string(const json_t *array, size_t i) {
    return json_string_value(json_array_get(array, i));
}

/* Runs a check on each sentence of a text under models with heads and without, </s> read or not. */
static void each_sentence(const char *fields, void (*check)(const json_t *sentence)) {
    static const char *const models[] = {HEAD, "alignment-conditional-lstm", "luong-general-gru",
                                         "luong-no-eos"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char json[512];
        struct reply reply;
        snprintf(json, sizeof json, "{'text': '" TEXT "', 'model': '%s', 'digits': 9%s}", models[i],
                 fields);
        client_post(&served, "/attention", json, 200, &reply);
        const json_t *sentences = json_at(reply.json, "results.0.sentences");
        ck_assert_uint_eq(json_array_size(sentences), 2);
        for (size_t j = 0; j < 2; j++)
            check(json_array_get(sentences, j));
        reply_done(&reply);
    }
}

/* ---- tokens ---- */

/* Of each row the largest but for </s>, where </s> has less than half; in Pharaoh order. */
static void check_alignment(const json_t *sentence) {
    const json_t *pairs = json_at(sentence, "alignment"),
                 *rows = json_at(sentence, "soft_alignment"), *tokens = json_at(sentence, "tokens"),
                 *sources = json_at(sentence, "source_tokens");
    size_t next = 0, columns = json_array_size(sources);
    bool end = strcmp(string(sources, columns - 1), "</s>") == 0;
    ck_assert_uint_eq(json_array_size(rows), json_array_size(tokens));
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        const json_t *row = json_array_get(rows, i);
        ck_assert_uint_eq(json_array_size(row), columns);
        ck_assert_double_eq_tol(sum(row), 1, tolerance);
        if (strcmp(string(tokens, i), "</s>") == 0 || (end && item(row, columns - 1) >= 0.5))
            continue;
        const json_t *pair = json_array_get(pairs, next++);
        ck_assert_uint_eq(json_array_size(pair), 2);
        ck_assert_uint_eq((size_t)json_integer_value(json_array_get(pair, 0)),
                          argmax(row, columns - end));
        ck_assert_uint_eq((size_t)json_integer_value(json_array_get(pair, 1)), i);
    }
    ck_assert_uint_eq(json_array_size(pairs), next);
}

START_TEST(alignments) {
#define INCLUDE "'include': ['tokens', 'eos', 'alignment', 'soft_alignment']"
    each_sentence(", " INCLUDE, check_alignment);
    each_sentence(", 'strategy': 'greedy', 'min_length': 20, 'max_length': 20, " INCLUDE,
                  check_alignment);
}
END_TEST

/* A head says something else than the attention, which is what a model without one says. */
START_TEST(heads_and_attention) {
    static const char *const models[] = {"luong-general-gru", HEAD};
    for (int head = 0; head < 2; head++) {
        char json[256];
        struct reply reply;
        snprintf(json, sizeof json,
                 "{'text': 'A boy.', 'model': '%s', 'include': ['attention', 'soft_alignment', "
                 "'words']}",
                 models[head]);
        client_post(&served, "/translate", json, 200, &reply);
        const json_t *sentence = json_at(reply.json, "translations.0.sentences.0");
        ck_assert_int_eq(
            json_equal(json_at(sentence, "attention"), json_at(sentence, "soft_alignment")), !head);
        ck_assert_int_eq(json_equal(json_at(sentence, "words.attention"),
                                    json_at(sentence, "words.soft_alignment")),
                         !head);
        reply_done(&reply);
    }
}
END_TEST

/* Asked for or not, and whatever is asked for beside it, a translation and its attention stay the
 * same. */
START_TEST(asking_changes_nothing_else) {
    struct reply plain, asked;
    client_post(&served, "/translate",
                "{'text': '" TEXT "', 'model': '" HEAD "', 'include': ['attention', 'log_probs']}",
                200, &plain);
    client_post(&served, "/translate",
                "{'text': '" TEXT "', 'model': '" HEAD
                "', 'include': ['attention', 'log_probs', 'alignment']}",
                200, &asked);
    for (size_t i = 0; i < 2; i++)
        json_object_del(json_array_get(json_at(asked.json, "translations.0.sentences"), i),
                        "alignment");
    ck_assert(json_equal(plain.json, asked.json));
    reply_done(&plain);
    reply_done(&asked);
}
END_TEST

/* The rows of a translation are those of the same text as a given one; each of n_best has its own.
 */
START_TEST(given_and_found_are_the_same) {
    struct reply found, given;
    char json[1024];
    client_post(&served, "/attention",
                "{'text': 'A boy plays.', 'model': '" HEAD
                "', 'n_best': 2, 'include': ['soft_alignment']}",
                200, &found);
    const json_t *best = json_at(found.json, "results.0.sentences.0");
    snprintf(json, sizeof json,
             "{'text': 'A boy plays.', 'model': '" HEAD
             "', 'translation': '%s', 'include': ['soft_alignment']}",
             text_at(best, "text"));
    client_post(&served, "/attention", json, 200, &given);
    ck_assert(
        json_equal(json_at(best, "soft_alignment"), json_at(best, "hypotheses.0.soft_alignment")));
    ck_assert(
        !json_equal(json_at(best, "soft_alignment"), json_at(best, "hypotheses.1.soft_alignment")));
    const json_t *rows = json_at(best, "soft_alignment"),
                 *same = json_at(given.json, "results.0.sentences.0.soft_alignment");
    if (json_array_size(rows) ==
        json_array_size(same)) /* a text may have been cut into other tokens */
        ck_assert(json_equal(rows, same));
    reply_done(&found);
    reply_done(&given);
}
END_TEST

/* ---- words ---- */

/* The places of one side's words hold the words, and what is between them is white space; returns
 * how many. */
static size_t check_words_of(const json_t *words, const json_t *offsets, const char *text) {
    size_t end = 0, count = json_array_size(words);
    ck_assert_uint_eq(json_array_size(offsets), count);
    for (size_t i = 0; i < count; i++) {
        struct slice slice = slice_at(json_array_get(offsets, i), text);
        ck_assert_uint_eq(slice.start, end + strspn(text + end, " "));
        ck_assert_uint_eq(strlen(string(words, i)), slice.end - slice.start);
        ck_assert_int_eq(strncmp(text + slice.start, string(words, i), slice.end - slice.start), 0);
        end = slice.end;
    }
    ck_assert_uint_eq(end + strspn(text + end, " "), strlen(text));
    return count;
}

enum { MOST = 64 };

/* How much of each token is in each word: 1 shared among all that it has a part of; tokens have the
 * space before them, and one without characters belongs to the next word. */
struct parts {
    double of[MOST][MOST];
};

static void find_parts(const json_t *words, const json_t *tokens, const char *text,
                       struct parts *parts) {
    size_t count = json_array_size(words);
    ck_assert(count <= MOST && json_array_size(tokens) <= MOST);
    *parts = (struct parts){0};
    for (size_t t = 0; t < json_array_size(tokens); t++) {
        struct slice token = slice_at(json_array_get(tokens, t), text);
        size_t first = 0, end;
        token.start += strspn(text + token.start, " ");
        while (first < count && slice_at(json_array_get(words, first), text).end <= token.start)
            first++;
        for (end = first;
             end < count &&
             (end == first || slice_at(json_array_get(words, end), text).start < token.end);)
            end++;
        for (size_t word = first; word < end; word++)
            parts->of[t][word] = 1.0 / (double)(end - first);
    }
}

/* Rows of tokens merged: summed over source pieces, averaged over target pieces. */
static void check_matrix(const json_t *rows, const json_t *merged, const struct parts *target,
                         const struct parts *source) {
    for (size_t i = 0; i < json_array_size(merged); i++)
        for (size_t j = 0; j < json_array_size(json_array_get(merged, i)); j++) {
            double total = 0, count = 0;
            for (size_t t = 0; t < json_array_size(rows); t++) {
                const json_t *row = json_array_get(rows, t);
                count += target->of[t][i] > 0;
                for (size_t s = 0; target->of[t][i] > 0 && s < json_array_size(row); s++)
                    total += source->of[s][j] * item(row, s);
            }
            ck_assert_double_eq_tol(item(json_array_get(merged, i), j),
                                    count > 0 ? total / count : 0, tolerance);
        }
}

static void check_words(const json_t *sentence) {
    const json_t *rows = json_at(sentence, "words.soft_alignment"),
                 *pairs = json_at(sentence, "words.alignment");
    ck_assert_uint_eq(json_object_size(json_at(sentence, "words")), 6);
    size_t m =
        check_words_of(json_at(sentence, "words.source"), json_at(sentence, "words.offsets.source"),
                       text_at(sentence, "source_text"));
    size_t n = check_words_of(json_at(sentence, "words.target"),
                              json_at(sentence, "words.offsets.target"), text_at(sentence, "text"));
    struct parts target, source;
    find_parts(json_at(sentence, "words.offsets.source"), json_at(sentence, "offsets.source"),
               text_at(sentence, "source_text"), &source);
    find_parts(json_at(sentence, "words.offsets.target"), json_at(sentence, "offsets.target"),
               text_at(sentence, "text"), &target);
    check_matrix(json_at(sentence, "attention"), json_at(sentence, "words.attention"), &target,
                 &source);
    check_matrix(json_at(sentence, "soft_alignment"), rows, &target, &source);
    ck_assert(json_array_size(rows) == n && json_array_size(json_array_get(rows, 0)) == m);
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(rows, i), *pair = json_array_get(pairs, found);
        if (sum(row) <= 0.5) /* the rest is of </s> */
            continue;
        ck_assert_uint_eq((size_t)json_integer_value(json_array_get(pair, 0)), argmax(row, m));
        ck_assert_uint_eq((size_t)json_integer_value(json_array_get(pair, 1)), i);
        found++;
    }
    ck_assert_uint_eq(json_array_size(pairs), found);
}

START_TEST(words_merge_tokens) {
    static const char *const options[] = {
        "", ", 'strategy': 'greedy', 'min_length': 12, 'max_length': 12"};
    for (size_t i = 0; i < 2; i++) {
        char fields[128];
        snprintf(fields, sizeof fields,
                 "%s, 'include': ['words', 'offsets', 'attention', 'soft_alignment']", options[i]);
        each_sentence(fields, check_words);
    }
}
END_TEST

START_TEST(words_of_elisions) {
    static const char *const source[] = {"I", "like", "it", ",", "don’t", "I", "?"},
                             *const target[] = {"J’", "aime", "ça", ",", "aujourd’hui", "."};
    struct reply reply;
    client_post(&served, "/attention",
                "{'text': 'I like it, don’t I?', 'model': '" HEAD
                "', 'translation': 'J’aime ça, aujourd’hui.', 'include': ['words']}",
                200, &reply);
    const json_t *sentence = json_at(reply.json, "results.0.sentences.0");
    ck_assert_uint_eq(json_array_size(json_at(sentence, "words.source")), 7);
    ck_assert_uint_eq(json_array_size(json_at(sentence, "words.target")), 6);
    for (size_t i = 0; i < 7; i++)
        ck_assert_str_eq(string(json_at(sentence, "words.source"), i), source[i]);
    for (size_t i = 0; i < 6; i++)
        ck_assert_str_eq(string(json_at(sentence, "words.target"), i), target[i]);
    reply_done(&reply);
}
END_TEST

/* Word i of the target with the most weight for source word j. */
static size_t best_of_source(const json_t *rows, size_t j) {
    size_t best = 0;
    for (size_t i = 1; i < json_array_size(rows); i++) {
        if (item(json_array_get(rows, i), j) > item(json_array_get(rows, best), j))
            best = i;
    }
    return best;
}

/* The best of a target word that has half of its weight, and the best of a source word that gives
 * it a fifth; in the order of the target words. Weights have nine digits and are not exactly there.
 */
static void check_several(const json_t *sentence) {
    const json_t *rows = json_at(sentence, "words.soft_alignment"),
                 *pairs = json_at(sentence, "words.alignment");
    size_t found = 0, words = json_array_size(json_at(sentence, "words.source"));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        for (size_t j = 0; j < words; j++) {
            bool of_target = argmax(row, words) == j && item(row, j) >= 0.5,
                 of_source = best_of_source(rows, j) == i && item(row, j) >= 0.2;
            if (!of_target && !of_source)
                continue;
            const json_t *pair = json_array_get(pairs, found++);
            ck_assert_uint_eq((size_t)json_integer_value(json_array_get(pair, 0)), j);
            ck_assert_uint_eq((size_t)json_integer_value(json_array_get(pair, 1)), i);
        }
    }
    ck_assert_uint_eq(json_array_size(pairs), found);
}

START_TEST(several_links_of_words) {
    each_sentence(", 'links': 'several', 'include': ['words']", check_several);
    each_sentence(", 'links': 'several', 'strategy': 'greedy', 'min_length': 12, 'max_length': 12, "
                  "'include': ['words']",
                  check_several);
}
END_TEST

/* What is said of one text, which is all that follows its links. */
static void ask_links(const char *links, const char *include, struct reply *reply) {
    char json[256];
    snprintf(json, sizeof json,
             "{'text': 'The boy likes it.', 'model': '" HEAD "'%s, 'include': ['%s']}", links,
             include);
    client_post(&served, "/attention", json, 200, reply);
}

/* Without the field they are the best ones; it changes words.alignment and nothing else. */
START_TEST(links_change_only_those_of_words) {
    static const char *const kinds[] = {"best", "mutual", "balanced", "several"};
    struct reply plain, asked;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char links[64];
        snprintf(links, sizeof links, ", 'links': '%s'", kinds[i]);
        ask_links("", "words', 'tokens', 'alignment', 'soft_alignment", &plain);
        ask_links(links, "words', 'tokens', 'alignment', 'soft_alignment", &asked);
        if (i > 0) {
            json_object_del(json_at(plain.json, "results.0.sentences.0.words"), "alignment");
            json_object_del(json_at(asked.json, "results.0.sentences.0.words"), "alignment");
        }
        ck_assert(json_equal(plain.json, asked.json));
        reply_done(&plain);
        reply_done(&asked);
    }
}
END_TEST

START_TEST(models_tell_of_their_heads) {
    struct reply reply;
    client_send(&served, &(struct call){.path = "/models"}, &reply);
    ck_assert(json_is_false(json_at(reply.json, "models.0.alignment_head")));
    ck_assert(json_is_true(json_at(reply.json, "models.1.alignment_head")));
    reply_done(&reply);
}
END_TEST

Suite *alignment_suite(void) {
    Suite *suite = suite_create("alignment");
    TCase *tcase = tcase_create("alignment");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, TEST_TIMEOUT_S);
    tcase_add_test(tcase, alignments);
    tcase_add_test(tcase, heads_and_attention);
    tcase_add_test(tcase, asking_changes_nothing_else);
    tcase_add_test(tcase, given_and_found_are_the_same);
    tcase_add_test(tcase, words_merge_tokens);
    tcase_add_test(tcase, words_of_elisions);
    tcase_add_test(tcase, several_links_of_words);
    tcase_add_test(tcase, links_change_only_those_of_words);
    tcase_add_test(tcase, models_tell_of_their_heads);
    suite_add_tcase(suite, tcase);
    return suite;
}
