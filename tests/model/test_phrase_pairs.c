/* Minimal phrase pairs: chosen links, and the definition on random ones. */
#include "model/base/random.h"
#include "model/phrase_pairs.h"
#include "tests/suites.h"
#include <stdio.h>
#include <string.h>

enum { MOST_WORDS = 6, MOST_LINKS = MOST_WORDS * MOST_WORDS, ROUNDS = 3000, TEXT_BYTES = 400 };

/* Writes pairs as "0-1/2-4 ...": source words/target words, last exclusive. */
static void write(const struct phrase_pair *pairs, size_t count, char text[TEXT_BYTES]) {
    size_t length = 0;
    *text = '\0';
    for (size_t i = 0; i < count; i++)
        length += (size_t)snprintf(text + length, TEXT_BYTES - length, "%s%zu-%zu/%zu-%zu",
                                   i > 0 ? " " : "", pairs[i].source.begin, pairs[i].source.end,
                                   pairs[i].target.begin, pairs[i].target.end);
}

static void find(const struct link *links, size_t count, size_t sources, size_t targets,
                 char text[TEXT_BYTES]) {
    struct arena arena;
    struct phrase_pairs pairs;
    const struct word_links all = {links, count, sources, targets};
    arena_init(&arena, 4096);
    ck_assert_int_eq(phrase_pairs_find(&all, &arena, &pairs, NULL), 0);
    write(pairs.all, pairs.count, text);
    arena_done(&arena);
}

START_TEST(chosen) {
    static const struct {
        struct link links[MOST_LINKS];
        size_t count, sources, targets;
        const char *pairs;
    } cases[] = {
        {{{0}}, 0, 0, 0, ""},
        {{{0}}, 0, 3, 2, ""},
        {{{0, 0}, {1, 1}}, 2, 2, 2, "0-1/0-1 1-2/1-2"},
        {{{1, 0}, {0, 1}}, 2, 2, 2, "1-2/0-1 0-1/1-2"}, /* in the order of the target */
        {{{1, 1}}, 1, 3, 3, "1-2/1-2"},                 /* no words without links at the edges */
        {{{0, 0}, {0, 2}}, 2, 1, 3, "0-1/0-3"},         /* but inside */
        {{{0, 0}, {1, 0}, {1, 1}}, 3, 2, 2, "0-2/0-2"},
        {{{0, 1}, {1, 3}, {2, 0}, {3, 2}}, 4, 4, 4, "2-3/0-1 0-1/1-2 3-4/2-3 1-2/3-4"},
        /* I do not speak / je ne parle pas */
        {{{0, 0}, {2, 1}, {2, 3}, {3, 2}}, 4, 4, 4, "0-1/0-1 3-4/2-3"},
        {{{0, 0}, {2, 1}, {1, 2}, {3, 3}, {0, 3}}, 5, 4, 4, "2-3/1-2 1-2/2-3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[TEXT_BYTES];
        find(cases[i].links, cases[i].count, cases[i].sources, cases[i].targets, text);
        ck_assert_msg(strcmp(text, cases[i].pairs) == 0, "case %zu: %s", i, text);
    }
}
END_TEST

static bool has(struct word_span span, size_t word) {
    return span.begin <= word && word < span.end;
}

/* The definition of Och and Ney. */
static bool is_consistent(const struct phrase_pair *pair, const struct link *links, size_t count) {
    bool inside = false;
    for (size_t i = 0; i < count; i++) {
        bool source = has(pair->source, links[i].source),
             target = has(pair->target, links[i].target);
        if (source != target)
            return false;
        inside |= source;
    }
    return inside;
}

static bool lies_within(const struct phrase_pair *a, const struct phrase_pair *b) {
    return b->source.begin <= a->source.begin && a->source.end <= b->source.end &&
           b->target.begin <= a->target.begin && a->target.end <= b->target.end;
}

/* All consistent pairs, and of these the ones that contain no other. */
static void find_by_definition(const struct link *links, size_t count, size_t sources,
                               size_t targets, char text[TEXT_BYTES]) {
    static struct phrase_pair all[MOST_WORDS * MOST_WORDS * MOST_WORDS * MOST_WORDS];
    struct phrase_pair minimal[MOST_WORDS * MOST_WORDS];
    size_t found = 0, used = 0;
    for (size_t target = 0; target < targets; target++)
        for (size_t source = 0; source < sources; source++)
            for (size_t to = target + 1; to <= targets; to++)
                for (size_t from = source + 1; from <= sources; from++) {
                    all[found] = (struct phrase_pair){{source, from}, {target, to}};
                    found += is_consistent(&all[found], links, count);
                }
    for (size_t i = 0; i < found; i++) {
        bool alone = true;
        for (size_t j = 0; alone && j < found; j++)
            alone = i == j || !lies_within(&all[j], &all[i]);
        if (alone)
            minimal[used++] = all[i];
    }
    write(minimal, used, text);
}

START_TEST(by_definition) {
    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct random_counter counter = {{round, 0, 0, 0}};
        size_t sources = 1 + random_bits(counter, 1).words[0] % MOST_WORDS,
               targets = 1 + random_bits(counter, 1).words[1] % MOST_WORDS,
               count = random_bits(counter, 1).words[2] % (sources + targets + 1);
        struct link links[2 * MOST_WORDS];
        char found[TEXT_BYTES], expected[TEXT_BYTES];
        for (size_t i = 0; i < count; i++) {
            counter.words[1] = (uint32_t)i + 1;
            struct random_counter bits = random_bits(counter, 1);
            links[i] = (struct link){bits.words[0] % sources, bits.words[1] % targets};
        }
        find(links, count, sources, targets, found);
        find_by_definition(links, count, sources, targets, expected);
        ck_assert_msg(strcmp(found, expected) == 0, "round %u: %s, not %s", round, found, expected);
    }
}
END_TEST

Suite *phrase_pairs_suite(void) {
    Suite *suite = suite_create("phrase_pairs");
    TCase *tcase = tcase_create("phrase_pairs");
    tcase_add_test(tcase, chosen);
    tcase_add_test(tcase, by_definition);
    suite_add_tcase(suite, tcase);
    return suite;
}
