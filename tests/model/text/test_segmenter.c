#include "model/base/utf8.h"
#include "model/text/spans.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct span *split(const struct segmenter *segmenter, const char *text, size_t length,
                          size_t *count) {
    struct spans spans;
    ck_assert_msg(segmenter_split(segmenter, (struct bytes){text, length}, &arena, &spans, &err) ==
                      0,
                  "%s", err.message);
    *count = spans.count;
    return spans.all;
}

static struct segmenter *open_language(const char *language) {
    struct segmenter *segmenter = segmenter_open(language, &err);
    ck_assert_msg(segmenter != NULL, "%s", err.message);
    return segmenter;
}

/* The sentences with a bar between them. */
static const struct {
    const char *language, *text, *sentences;
} cases[] = {
    {"en", "Mr. Smith went home. He slept.", "Mr. Smith went home.|He slept."},
    {"en", "We met Prof. Jones and Mrs. May. They left",
     "We met Prof. Jones and Mrs. May.|They left"},
    {"fr", "M. Dupont est là. Il dort.", "M. Dupont est là.|Il dort."},
    {"fr", "Il dit : \u00ab Oui ! \u00bb Elle part. \u00ab Non. \u00bb dit-il. \u00ab Non. \u00bb",
     "Il dit : \u00ab Oui ! \u00bb|Elle part.|\u00ab Non. \u00bb dit-il.|\u00ab Non. \u00bb"},
    {"de", "Er ging. \u00bbGut.\u00ab", "Er ging.|\u00bbGut.\u00ab"},
    {"fr", "Oui !\n\u00bb Non", "Oui !|\u00bb Non"},
    {"de", "Das ist z.B. Holz. Gut!", "Das ist z.B. Holz.|Gut!"},
    {"en", "Dr. Brown is here. Ask Lt. Gray.", "Dr. Brown is here.|Ask Lt. Gray."},
    {"en", "The shop opens at 9 a.m. Sundays. It shuts at 5 p.m. Monday.",
     "The shop opens at 9 a.m. Sundays.|It shuts at 5 p.m. Monday."},
    {"en", "It shuts at 5 p.m. Then we go.", "It shuts at 5 p.m.|Then we go."},
    {"en", "We shut at 5 p. m. \"The\" end.", "We shut at 5 p. m.|\"The\" end."},
    {"en", "Fruit, e.g. Apples, i. e. Food.", "Fruit, e.g. Apples, i. e. Food."},
    {"en", "See No. 5 in St. Peter. I said No. We left.",
     "See No. 5 in St. Peter.|I said No.|We left."},
    {"en", "by Dr.\nBrown. He saw the xDr. Then", "by Dr.|Brown.|He saw the xDr.|Then"},
    {"de", "Nimm z. B. Holz, d. h. Eiche, bzw. Buche. Gut!",
     "Nimm z. B. Holz, d. h. Eiche, bzw. Buche.|Gut!"},
    {"de", "Z.\u00a0B. Dr. Braun wohnt in Nr. 5 in St. Gallen.",
     "Z.\u00a0B. Dr. Braun wohnt in Nr. 5 in St. Gallen."},
    {"de", "Der Bd. Er ging.", "Der Bd.|Er ging."},
    {"de", "\u00c4pfel usw. Birnen. Brot usw. Das war es.",
     "\u00c4pfel usw. Birnen.|Brot usw.|Das war es."},
    {"fr", "Mme. Blanc, p. ex. Jeanne. Il est 5 h.", "Mme. Blanc, p. ex. Jeanne.|Il est 5 h."},
    {"es", "El Sr. Blanco y la Dra. Rojo. Viven en EE. UU. Pero no.",
     "El Sr. Blanco y la Dra. Rojo.|Viven en EE. UU.|Pero no."},
    {"xx", "Am z. B. und Dr. Z", "Am z.|B. und Dr.|Z"},
    {"en-US", "One. Two.", "One.|Two."},
    {"xx", "One. Two.", "One.|Two."},
    {"en", "Wait... what? No.", "Wait... what?|No."},
    {"en", "Well\u2026 I go. Now\u2026", "Well\u2026 I go.|Now\u2026"},
    {"en", "He said \"Go.\" Then he left. (He did.) Yes!",
     "He said \"Go.\"|Then he left.|(He did.)|Yes!"},
    {"en", "It costs 3.50 euros. See www.example.org now.",
     "It costs 3.50 euros.|See www.example.org now."},
    {"en", "What?! Really!!! Yes", "What?!|Really!!!|Yes"},
    {"en", "one\ntwo\r\n\r\n three \u2028four\u2029five\r", "one|two|three|four|five"},
    {"en", "by Mr.\nSmith", "by Mr.|Smith"},
    {"de", "Im 19. Jahrhundert war es so. Am 3. Mai 2020 nicht.",
     "Im 19. Jahrhundert war es so.|Am 3. Mai 2020 nicht."},
    {"de-AT", "Das 1. Kapitel. (2. Teil) 18./19. Jahrhundert",
     "Das 1. Kapitel.|(2. Teil) 18./19. Jahrhundert"},
    {"de", "Ludwig XIV. Rex lebt. Papst Pius IX. Er", "Ludwig XIV. Rex lebt.|Papst Pius IX. Er"},
    {"de", "Er kam auf Platz 3. Danach ging er.",
     "Er kam auf Platz 3. Danach ging er."}, /* who could tell */
    {"de", "Das war 2020. Danach ging er.", "Das war 2020.|Danach ging er."},
    {"de", "Es kostet 2,3. Das ist viel. Um 12:30. Ja.",
     "Es kostet 2,3.|Das ist viel.|Um 12:30.|Ja."},
    {"de", "Platz A3. Danach.", "Platz A3.|Danach."},
    {"de", "auf Platz 3! Danach. (Platz 3.) Ja. Platz 3. \u201eGut\u201c.",
     "auf Platz 3!|Danach.|(Platz 3.)|Ja.|Platz 3.|\u201eGut\u201c."},
    {"de", "am 3.\nMai. Am 3.\u2028Mai", "am 3.|Mai.|Am 3.|Mai"},
    {"de", "1. Haus\n2. Hof\n3.", "1. Haus|2. Hof|3."},
    {"de", "Am 3. 5. 2020. X. Tag.", "Am 3. 5. 2020.|X. Tag."},
    {"fi", "XIX. Yy. IIII. Yy. MI. Yy. VX. Yy", "XIX. Yy.|IIII.|Yy.|MI.|Yy.|VX.|Yy"},
    {"cs", "Karel IV. Lucembursk\u00fd vl\u00e1dl. Byl to on.",
     "Karel IV. Lucembursk\u00fd vl\u00e1dl.|Byl to on."},
    {"en", "He came in at number 3. Then he left.", "He came in at number 3.|Then he left."},
    {"fr", "Il a 19. Elle a 20.", "Il a 19.|Elle a 20."},
    {"xx", "In 19. Then.", "In 19.|Then."},
    {"zh", "你好。再见！走吧？", "你好。|再见！|走吧？"},
    {"ja", "猫です。犬です。", "猫です。|犬です。"},
    {"en", "\u00a0Hello.\u00a0\u00a0 World.\u3000", "Hello.|World."},
    {"en", "no end", "no end"},
    {"en", "", ""},
    {"en", " \t\r\n\n \u00a0\u3000\u2003", ""},
    {"en", "...", "..."},
};

START_TEST(sentences) {
    struct segmenter *segmenter = open_language(cases[_i].language);
    size_t count, length = 0;
    const char *text = cases[_i].text;
    struct span *spans = split(segmenter, text, strlen(text), &count);
    char joined[200] = "";
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            joined[length++] = '|';
        memcpy(joined + length, text + spans[i].begin, spans[i].end - spans[i].begin);
        length += spans[i].end - spans[i].begin;
    }
    ck_assert_str_eq(joined, cases[_i].sentences);
    segmenter_free(segmenter);
}
END_TEST

static void check_only_space(const char *text, size_t begin, size_t end) {
    while (begin < end)
        ck_assert(character_is_space(character_next(text, end, &begin)));
}

START_TEST(nothing_visible_is_left_out) {
    static const char *const pieces[] = {"Mr. ", "He. ", "\n",      "\u00a0", "你。", "\U0001f600",
                                         "... ", "a",    "\"B?\" ", "\u200b", "\x01", "\u2028"};
    struct segmenter *segmenter = open_language("en");
    unsigned state = 1;
    for (int round = 0; round < 200; round++) {
        char text[256] = "";
        for (int i = 0; i < 30; i++) {
            state = state * 1103515245 + 12345;
            strcat(text, pieces[(state >> 16) % (sizeof pieces / sizeof *pieces)]);
        }
        size_t count, end = 0;
        struct span *spans = split(segmenter, text, strlen(text), &count);
        for (size_t i = 0; i < count; end = spans[i++].end) {
            ck_assert(end <= spans[i].begin && spans[i].begin < spans[i].end);
            check_only_space(text, end, spans[i].begin);
        }
        check_only_space(text, end, strlen(text));
    }
    segmenter_free(segmenter);
}
END_TEST

/* Bytes before the text in the same buffer are not part of it. */
START_TEST(nothing_before_the_text_is_read) {
    static const char text[] = "A19. Mai", numeral[] = "VXI. Tag";
    struct segmenter *segmenter = open_language("fi");
    size_t count;
    for (size_t begin = 0; begin < 3; begin++) { /* A19., 19., 9. */
        split(segmenter, text + begin, sizeof text - 1 - begin, &count);
        ck_assert_uint_eq(count, begin == 0 ? 2 : 1);
        split(segmenter, numeral + begin, sizeof numeral - 1 - begin, &count);
        ck_assert_uint_eq(count, begin == 0 ? 2 : 1);
    }
    split(segmenter, text + 3, sizeof text - 4, &count); /* the full stop alone */
    ck_assert_uint_eq(count, 2);
    segmenter_free(segmenter);
}
END_TEST

START_TEST(nul_is_a_character) {
    static const char text[] = "A b\0c. D\0.";
    struct segmenter *segmenter = open_language("en");
    size_t count;
    struct span *spans = split(segmenter, text, sizeof text - 1, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert(spans[0].begin == 0 && spans[0].end == 6 && spans[1].begin == 7 &&
              spans[1].end == 10);
    segmenter_free(segmenter);
}
END_TEST

START_TEST(ill_formed_text_is_survived) {
    struct segmenter *segmenter = open_language("en");
    size_t count;
    struct span *spans = split(segmenter, "\xff. A\xc3", 5, &count);
    ck_assert_uint_eq(spans[count - 1].end, 5);
    segmenter_free(segmenter);
}
END_TEST

/* A megabyte of sentences, and one of a single sentence. */
START_TEST(a_long_text_is_not_slow) {
    static const char *const units[] = {"Mr. B ran. ", "abcdefghij "};
    enum { UNIT = 11, TIMES = 100000 };
    struct segmenter *segmenter = open_language("en");
    char *text = arena_alloc(&arena, UNIT, TIMES);
    size_t count;
    for (size_t i = 0; i < TIMES; i++)
        memcpy(text + UNIT * i, units[0], UNIT);
    struct span *spans = split(segmenter, text, (size_t)UNIT * TIMES, &count);
    ck_assert_uint_eq(count, TIMES);
    for (size_t i = 0; i < count; i++)
        ck_assert(spans[i].begin == UNIT * i && spans[i].end == UNIT * i + 10);
    for (size_t i = 0; i < TIMES; i++)
        memcpy(text + UNIT * i, units[1], UNIT);
    split(segmenter, text, (size_t)UNIT * TIMES, &count);
    ck_assert_uint_eq(count, 1);
    segmenter_free(segmenter);
}
END_TEST

static void *split_often(void *shared) {
    static const char text[] = "Mr. Smith went home. He slept. Mrs. Jones did not.";
    struct arena own;
    arena_init(&own, 4096);
    size_t good = 0;
    for (int i = 0; i < 500; i++) {
        struct spans spans;
        good += segmenter_split(shared, (struct bytes){text, sizeof text - 1}, &own, &spans,
                                NULL) == 0 &&
                spans.count == 3 && spans.all[1].begin == 21;
        arena_reset(&own);
    }
    arena_done(&own);
    return good == 500 ? shared : NULL;
}

START_TEST(threads_share_a_segmenter) {
    pthread_t threads[4];
    struct segmenter *segmenter = open_language("en");
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, split_often, segmenter), 0);
    for (size_t i = 0; i < 4; i++) {
        void *result;
        ck_assert_int_eq(pthread_join(threads[i], &result), 0);
        ck_assert_ptr_eq(result, segmenter);
    }
    segmenter_free(segmenter);
}
END_TEST

START_TEST(what_is_no_language) {
    static const char *const names[] = {"", "english language", "e", "en_US!",
                                        "much-too-long-a-subtag"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct error refused = {0};
        ck_assert_ptr_null(segmenter_open(names[i], &refused));
        ck_assert_int_eq(refused.code, ERROR_FORMAT);
        ck_assert_msg(strncmp(refused.message, "not a BCP-47 language: ", 23) == 0, "%s",
                      refused.message);
    }
    segmenter_free(NULL);
}
END_TEST

START_TEST(a_text_too_long_is_refused) {
    struct segmenter *segmenter = open_language("en");
    struct spans spans = {NULL, 7};
    ck_assert_int_eq(
        segmenter_split(segmenter, (struct bytes){"", (size_t)1 << 31}, &arena, &spans, &err), -1);
    ck_assert_int_eq(err.code, ERROR_LENGTH);
    ck_assert(spans.all == NULL && spans.count == 7);
    segmenter_free(segmenter);
}
END_TEST

START_TEST(trimming) {
    static const struct {
        const char *text;
        size_t begin, end;
    } trims[] = {
        {"", 0, 0},
        {"a", 0, 1},
        {" a ", 1, 2},
        {"a b", 0, 3},
        {"\u00a0\u3000", 5, 5},
        {"\u2003\u00e9\u3000", 3, 5},
        {" \xff\x80 ", 1, 3},
        {"\xa0", 0, 1},
        {"\u200b ", 0, 3},
        {" \xe3\x80", 1, 3},
    };
    for (size_t i = 0; i < sizeof trims / sizeof *trims; i++) {
        struct span span = segmenter_trim(trims[i].text, strlen(trims[i].text));
        ck_assert_msg(span.begin == trims[i].begin && span.end == trims[i].end,
                      "case %zu: %zu..%zu", i, span.begin, span.end);
    }
}
END_TEST

Suite *segmenter_suite(void) {
    Suite *suite = suite_create("segmenter");
    TCase *tests = tcase_create("segmenter");
    tcase_add_checked_fixture(tests, scratch_setup, scratch_teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, sentences, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tests, nothing_visible_is_left_out);
    tcase_add_test(tests, nothing_before_the_text_is_read);
    tcase_add_test(tests, nul_is_a_character);
    tcase_add_test(tests, ill_formed_text_is_survived);
    tcase_add_test(tests, a_long_text_is_not_slow);
    tcase_add_test(tests, threads_share_a_segmenter);
    tcase_add_test(tests, what_is_no_language);
    tcase_add_test(tests, a_text_too_long_is_refused);
    tcase_add_test(tests, trimming);
    suite_add_tcase(suite, tests);
    return suite;
}
