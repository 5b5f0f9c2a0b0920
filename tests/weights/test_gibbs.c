/* The word aligner, model/gibbs/. */
#include "model/gibbs/aligner.h"
#include "model/gibbs/symmetrise.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static int read_text(const char *text, struct corpus *corpus, struct error *err) {
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    ck_assert_ptr_nonnull(file);
    int status = corpus_read(file, corpus, err);
    fclose(file);
    return status;
}

START_TEST(pairs_are_read_and_unusable_ones_are_empty) {
    struct corpus corpus;
    struct error err = {0};
    ck_assert_int_eq(read_text("1 2 3\t7 9\n4\t\n\t1\n  5  1 \t 2", &corpus, &err), 0);
    ck_assert_uint_eq(corpus.pairs, 4);
    const size_t lengths[2][4] = {{3, 0, 0, 2}, {2, 0, 0, 1}};
    for (int s = 0; s < 2; s++)
        for (size_t pair = 0; pair < 4; pair++)
            ck_assert_uint_eq(side_length(&corpus.sides[s], pair), lengths[s][pair]);
    ck_assert_uint_eq(side_words(&corpus.sides[0], 3)[0], 5);
    ck_assert_uint_eq(side_words(&corpus.sides[1], 0)[1], 9);
    ck_assert_uint_eq(corpus.sides[1].vocabulary, 10);
    corpus_done(&corpus);
}
END_TEST

START_TEST(a_sentence_of_the_longest_length_is_kept_and_one_word_more_is_not) {
    for (size_t words = CORPUS_LONGEST; words <= CORPUS_LONGEST + 1; words++) {
        char text[3 * CORPUS_LONGEST] = "";
        for (size_t i = 0; i < words; i++)
            strcat(text, "1 ");
        strcat(text, "\t1\n");
        struct corpus corpus;
        ck_assert_int_eq(read_text(text, &corpus, NULL), 0);
        ck_assert_uint_eq(side_length(&corpus.sides[0], 0), words == CORPUS_LONGEST ? words : 0);
        ck_assert_uint_eq(side_length(&corpus.sides[1], 0), words == CORPUS_LONGEST ? 1 : 0);
        corpus_done(&corpus);
    }
}
END_TEST

START_TEST(what_is_no_pair_of_numbers_is_named_by_its_line) {
    static const char *const wrong[] = {"1\t1\n2 3\n",         "1\t1\n1\t2x\n", "1\t1\n0\t1\n",
                                        "1\t1\n-1\t1\n",       "1\t1\na\t1\n",  "1\t1\n1\t1\t1\n",
                                        "1\t1\n16777216\t1\n", "1\t1\n\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct corpus corpus;
        struct error err = {0};
        ck_assert_int_eq(read_text(wrong[i], &corpus, &err), -1);
        ck_assert_int_eq(err.code, ERROR_FORMAT);
        ck_assert_ptr_nonnull(strstr(err.message, "line 2:"));
    }
}
END_TEST

/* ---- counts ---- */

enum { KINDS = 500, DRAWS = 400000 };

static void check_plain_counts(const struct counts *counts, uint32_t (*plain)[KINDS]) {
    for (uint32_t a = 0; a < KINDS; a++)
        for (uint32_t b = 1; b < KINDS; b++)
            ck_assert_uint_eq(counts_of(&counts->tables[a], b), plain[a][b]);
}

static size_t slots_used(const struct counts *counts) {
    size_t used = 0;
    for (uint32_t a = 0; a < KINDS; a++) {
        used += counts->tables[a].used;
        ck_assert_uint_le(counts->tables[a].used, (counts->tables[a].mask + 1) * BUCKET_SLOTS / 2);
    }
    return used;
}

START_TEST(counts_are_those_of_a_plain_table) {
    static uint32_t plain[KINDS][KINDS];
    struct counts counts;
    ck_assert_int_eq(counts_init(&counts, KINDS), 0);
    uint32_t random = 1;
    size_t linked = 0;
    for (int i = 0; i < DRAWS; i++) {
        random = random * 1664525 + 1013904223;
        uint32_t a = (random >> 8) % KINDS, b = (random >> 17) % (KINDS - 1) + 1;
        if (plain[a][b] > 0 && (random >> 30) != 0) {
            counts_remove(&counts.tables[a], b);
            linked -= --plain[a][b] == 0;
        } else {
            ck_assert_int_eq(counts_add(&counts.tables[a], b), 0);
            linked += plain[a][b]++ == 0;
        }
    }
    check_plain_counts(&counts, plain);
    ck_assert_uint_gt(slots_used(&counts), linked);
    ck_assert_int_eq(counts_tidy(&counts), 0);
    check_plain_counts(&counts, plain);
    ck_assert_uint_eq(slots_used(&counts), linked);
    counts_done(&counts);
}
END_TEST

/* ---- one set of links ---- */

static void check_symmetry(const char *name, const struct directions *directions, size_t rows,
                           size_t columns, const char *expected) {
    static struct grid grid;
    char found[1000] = "";
    grid.rows = rows;
    grid.columns = columns;
    symmetrise(symmetry_find(name), directions, &grid);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            if (grid.linked[i][j])
                snprintf(found + strlen(found), sizeof found - strlen(found), "%zu-%zu ", i, j);
    ck_assert_str_eq(found, expected);
}

START_TEST(symmetries_by_hand) {
    enum { NONE = UINT8_MAX };
    /* both: 0-0. Beside it: 0-1 (forward), 1-0 (backward). Then 1-2, diagonally beside 0-1. Alone:
     * 4-4 and, of words without a link, 3-3 is beside it. 2-3 is not beside 3-3's words only, but 3
     * is taken by then. */
    static const uint8_t forward[] = {0, 0, 1, NONE, 4}, backward[] = {0, 0, 3, 3, NONE};
    const struct directions d = {forward, backward};
    check_symmetry("forward", &d, 5, 5, "0-0 0-1 1-2 4-4 ");
    check_symmetry("backward", &d, 5, 5, "0-0 1-0 2-3 3-3 ");
    check_symmetry("intersection", &d, 5, 5, "0-0 ");
    check_symmetry("union", &d, 5, 5, "0-0 0-1 1-0 1-2 2-3 3-3 4-4 ");
    check_symmetry("grow-diag-final-and", &d, 5, 5, "0-0 0-1 1-0 1-2 2-3 3-3 4-4 ");
    ck_assert_ptr_null(symmetry_find("grow"));
}
END_TEST

START_TEST(growing_takes_no_link_between_linked_words_nor_one_far_away_of_a_linked_word) {
    enum { NONE = UINT8_MAX };
    /* both: 0-0, 1-1. 0-1 and 1-0 would be beside them, but all four words are linked. 4-0: far
     * away, and column 0 is linked. */
    static const uint8_t forward[] = {0, 1, NONE}, backward[] = {0, 1, NONE, NONE, 0};
    const struct directions d = {forward, backward};
    check_symmetry("union", &d, 5, 3, "0-0 1-1 4-0 ");
    check_symmetry("grow-diag-final-and", &d, 5, 3, "0-0 1-1 ");
}
END_TEST

/* ---- the sampler ---- */

enum { TRANSLATED = 40, FILLER = 90, TWOFOLD = 5, PAIRS = 1500, MOST_WORDS = 6 };

/* 0..below-1 */
static uint32_t draw_below(uint32_t *random, uint32_t below) {
    *random = *random * 1664525 + 1013904223;
    return (*random >> 16) % below;
}

static void shuffle(uint32_t *random, uint32_t *words, uint32_t count) {
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = draw_below(random, i), word = words[i - 1];
        words[i - 1] = words[other];
        words[other] = word;
    }
}

/* Word w (1..40) is translated by w + 40, in any order, word 5 by 45 twice; word 90 is said without
 * a reason.
 */
static void write_pair(uint32_t *random, FILE *out) {
    uint32_t words[TRANSLATED], count = 2 + draw_below(random, MOST_WORDS - 1);
    for (uint32_t i = 0; i < TRANSLATED; i++)
        words[i] = i + 1;
    shuffle(random, words, TRANSLATED);
    for (uint32_t i = 0; i < count; i++)
        fprintf(out, "%u ", words[i]);
    fprintf(out, "\t");
    shuffle(random, words, count);
    for (uint32_t i = 0; i < count; i++)
        fprintf(out, words[i] == TWOFOLD ? "45 45 " : "%u ", words[i] + TRANSLATED);
    fprintf(out, draw_below(random, 2) ? "%d\n" : "\n", (int)FILLER);
}

static void make_corpus(struct corpus *corpus) {
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    uint32_t random = 7;
    fputs("1 5 3 2\t42 43 45 45 41 90\n", out); /* what tests look at */
    for (int i = 0; i < PAIRS; i++)
        write_pair(&random, out);
    fclose(out);
    ck_assert_int_eq(read_text(text, corpus, NULL), 0);
    free(text);
}

/* Its counts are those of its links. */
static void check_counts(const struct sampler *s, const struct corpus *corpus) {
    static uint32_t words[100][100], totals[100], fertilities[100][FERTILITIES];
    memset(words, 0, sizeof words);
    memset(totals, 0, sizeof totals);
    memset(fertilities, 0, sizeof fertilities);
    for (size_t pair = 0; pair < corpus->pairs; pair++) {
        size_t fertility[CORPUS_LONGEST] = {0};
        const uint32_t *source = side_words(s->source, pair), *target = side_words(s->target, pair);
        for (size_t j = 0; j < side_length(s->target, pair); j++) {
            size_t i = s->links[s->target->starts[pair] + j];
            uint32_t word = i == NO_LINK ? 0 : source[i];
            words[word][target[j]]++;
            totals[word]++;
            if (i != NO_LINK)
                fertility[i]++;
        }
        for (size_t i = 0; i < side_length(s->source, pair); i++)
            fertilities[source[i]][fertility[i]]++;
    }
    for (uint32_t word = 0; word < s->source->vocabulary; word++) {
        ck_assert_uint_eq(s->totals[word], totals[word]);
        for (uint32_t other = 0; other < s->target->vocabulary; other++)
            ck_assert_uint_eq(counts_of(&s->words.tables[word], other), words[word][other]);
        ck_assert_mem_eq(s->fertilities + word * FERTILITIES, fertilities[word],
                         sizeof fertilities[word]);
    }
}

START_TEST(counts_stay_those_of_the_links) {
    struct corpus corpus;
    struct sampler sampler;
    make_corpus(&corpus);
    for (int source = 0; source < 2; source++) {
        ck_assert_int_eq(sampler_init(&sampler, &corpus.sides[source], &corpus.sides[1 - source],
                                      corpus.pairs, 3, NULL),
                         0);
        for (enum stage stage = STAGE_START; stage <= STAGE_FERTILITY; stage++) {
            ck_assert_int_eq(sampler_sweep(&sampler, stage, NULL), 0);
            check_counts(&sampler, &corpus);
        }
        sampler_done(&sampler);
    }
    corpus_done(&corpus);
}
END_TEST

START_TEST(what_is_observed_of_a_target_word_sums_to_the_number_of_sweeps) {
    struct corpus corpus;
    struct sampler sampler;
    float sums[6 * 5] = {0};
    make_corpus(&corpus);
    ck_assert_int_eq(
        sampler_init(&sampler, &corpus.sides[0], &corpus.sides[1], corpus.pairs, 3, NULL), 0);
    ck_assert_int_eq(sampler_sweep(&sampler, STAGE_START, NULL), 0);
    ck_assert_int_eq(sampler_observe(&sampler, 0, 3, sums, NULL), 0);
    for (size_t j = 0; j < 6; j++) {
        float sum = 0;
        for (size_t i = 0; i < 5; i++)
            sum += sums[j * 5 + i];
        ck_assert_float_eq_tol(sum, 3, 1e-4f);
    }
    check_counts(&sampler, &corpus);
    sampler_done(&sampler);
    corpus_done(&corpus);
}
END_TEST

START_TEST(crossed_twofold_and_unlinked_words_are_found_in_both_directions) {
    const struct aligner_options options = {.samplers = 2, .sweeps = 20, .seed = 1};
    static const uint8_t forward[] = {3, 2, 1, 1, 0, NO_LINK}, backward[] = {4, 0, 1, 0};
    struct corpus corpus;
    uint8_t *links[2], *again[2];
    make_corpus(&corpus);
    ck_assert_int_eq(aligner_run(&corpus, &options, links, NULL), 0);
    ck_assert_mem_eq(links[0], forward, sizeof forward);
    ck_assert(links[1][1] == 2 || links[1][1] == 3); /* one of two */
    for (size_t i = 0; i < 4; i++)
        ck_assert(i == 1 || links[1][i] == backward[i]);
    ck_assert_int_eq(aligner_run(&corpus, &options, again, NULL), 0); /* the same seed */
    for (int s = 0; s < 2; s++) {
        ck_assert_mem_eq(links[s], again[s], corpus.sides[1 - s].starts[corpus.pairs]);
        free(links[s]);
        free(again[s]);
    }
    corpus_done(&corpus);
}
END_TEST

/* AddressSanitizer sees whether the empty word, which every sentence has, is counted. */
START_TEST(pairs_without_words_have_no_links) {
    const struct aligner_options options = {.samplers = 2, .sweeps = 2, .seed = 1};
    struct corpus corpus;
    uint8_t *links[2];
    ck_assert_int_eq(read_text("1\t\n\t2\n", &corpus, NULL), 0);
    corpus.sides[0].vocabulary = corpus.sides[1].vocabulary = 0;
    ck_assert_int_eq(aligner_run(&corpus, &options, links, NULL), 0);
    for (int s = 0; s < 2; s++) {
        ck_assert_uint_eq(corpus.sides[s].starts[corpus.pairs], 0);
        free(links[s]);
    }
    corpus_done(&corpus);
}
END_TEST

Suite *gibbs_suite(void) {
    Suite *suite = suite_create("gibbs");
    TCase *tests = tcase_create("gibbs");
    tcase_add_test(tests, pairs_are_read_and_unusable_ones_are_empty);
    tcase_add_test(tests, a_sentence_of_the_longest_length_is_kept_and_one_word_more_is_not);
    tcase_add_test(tests, what_is_no_pair_of_numbers_is_named_by_its_line);
    tcase_add_test(tests, counts_are_those_of_a_plain_table);
    tcase_add_test(tests, symmetries_by_hand);
    tcase_add_test(tests,
                   growing_takes_no_link_between_linked_words_nor_one_far_away_of_a_linked_word);
    tcase_add_test(tests, counts_stay_those_of_the_links);
    tcase_add_test(tests, what_is_observed_of_a_target_word_sums_to_the_number_of_sweeps);
    tcase_add_test(tests, crossed_twofold_and_unlinked_words_are_found_in_both_directions);
    tcase_add_test(tests, pairs_without_words_have_no_links);
    suite_add_tcase(suite, tests);
    return suite;
}
