#include "model/base/utf8.h"
#include "model/text/spans.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

/* Writes the text with its gaps, each between < and >. */
static void show(const char *language, const char *text, struct opaque_runs held, char *shown) {
    struct segmenter *segmenter = language ? segmenter_open(language, &err) : NULL;
    const struct layout_reading reading = {segmenter, text, strlen(text), held};
    struct spans found;
    size_t at = 0;
    ck_assert_msg(!language || segmenter, "%s", err.message);
    ck_assert_int_eq(layout_find(&reading, &arena, &found, &err), 0);
    const struct span *gaps = found.all;
    for (size_t i = 0; i < found.count; i++) {
        ck_assert(at <= gaps[i].begin && gaps[i].begin < gaps[i].end &&
                  gaps[i].end <= reading.length);
        shown = mempcpy(shown, text + at, gaps[i].begin - at);
        *shown++ = '<';
        shown = mempcpy(shown, text + gaps[i].begin, gaps[i].end - gaps[i].begin);
        *shown++ = '>';
        at = gaps[i].end;
    }
    strcpy(shown, text + at);
    segmenter_free(segmenter);
}

static const struct {
    const char *language, *text, *gaps;
} cases[] = {
    {"en", "A lamp, 3 chairs.\nNo layout.", "A lamp, 3 chairs.\nNo layout."},

    /* separators */
    {"en", "lamp\tchair\t\ttable\n\tbed", "lamp<\t>chair<\t\t>table\n\tbed"},
    {"en", "lamp \t chair  bed   sofa\fend\vof", "lamp< \t >chair  bed<   >sofa<\f>end<\v>of"},
    {"en", "| lamp | 3 |\r\n|---|:-:|\r\nred|blue",
     "<| >lamp< | >3< |>\r\n<|---|:-:|>\r\nred<|>blue"},
    {"en", "a lamp || b chair", "a lamp || b chair"},
    {"en", "\u2502 lamp \u2502\n\u2514\u2500\u2500\u2518",
     "<\u2502 >lamp< \u2502>\n<\u2514\u2500\u2500\u2518>"},
    {"en", "Lamps \u00b7 Chairs \u2022 Beds, l\u00b7l",
     "Lamps< \u00b7 >Chairs< \u2022 >Beds, l\u00b7l"},
    {"en", "Lamps > Beds > Red, a > b, Lamps > A", "Lamps< > >Beds< > >Red, a > b, Lamps > A"},
    {"en", "see lamps \u2192 beds \u203a Sofa\u2192a",
     "see lamps< \u2192 >beds< \u203a >Sofa\u2192a"},
    {"en", "Press \u2192 to go.", "Press \u2192 to go."},
    {"en", "Lamp;Old chair;Bed;\nA lamp; a bed;\ni=0;i<n;) ;b",
     "Lamp<;>Old chair<;>Bed<;>\nA lamp; a bed;\ni=0;i<n;) ;b"},
    {"en", "Lamps ..... 12", "Lamps< ..... >12"},
    {"en", "Lamps.........$ 4", "Lamps<.........>$ 4"},
    {"en", "Lamps . . . . . Anna", "Lamps< . . . . . >Anna"},
    {"en", "Well.... no. Well... 5", "Well.... no. Well... 5"},
    {"en", "Lamps ------ 4 $", "Lamps< ------ >4 $"},
    {"en", "Lamp: ____ Chair:___ The ___ bed", "Lamp:< ____ >Chair:<___ >The ___ bed"},
    {"en", "\u2610 lamp  \u2611 bed [ ] chair [x] sofa, [x]1 ",
     "<\u2610 >lamp<  \u2611 >bed< [ ] >chair< [x] >sofa, [x]1 "},

    /* labels */
    {"en", "- lamp\n  * bed\n-- sofa\n\u2013 x", "<- >lamp\n  <* >bed\n<-- >sofa\n<\u2013 >x"},
    {"en", "-lamp\n-5 lamps\n$ 5\n\"Lamp\" \u00ab Bed \u00bb",
     "-lamp\n-5 lamps\n$ 5\n\"Lamp\" \u00ab Bed \u00bb"},
    {"en", "> > lamp\n>>bed\n> - [x] 2) sofa", "<> > >lamp\n<>>>bed\n<> - [x] 2) >sofa"},
    {"en", "[ ] lamp\n[10:30] bed\n(a) sofa\n[lamp] bed",
     "<[ ] >lamp\n<[10:30] >bed\n<(a) >sofa\n[lamp] bed"},
    {"en", "\u2022lamp\n\u26a0\ufe0f bed \u2764\ufe0f",
     "<\u2022>lamp\n<\u26a0\ufe0f >bed< \u2764\ufe0f>"},
    {"en", "## lamp\n###bed\n#sofa\n// lamp", "<## >lamp\n<###>bed\n#sofa\n<// >lamp"},
    {"en", "a) lamp\nii) bed\nIV. sofa\nA. lamp\nI. bed",
     "<a) >lamp\n<ii) >bed\n<IV. >sofa\n<A. >lamp\n<I. >bed"},
    {"en", "12. lamp\n1.2 Bed\n1.2.3. sofa\nA.1) x\n2- x\n3/ x",
     "<12. >lamp\n<1.2 >Bed\n<1.2.3. >sofa\n<A.1) >x\n<2- >x\n<3/ >x"},
    {"en", "Q: Lamp\nq: lamp\nNo: lamp\nI went. A bed",
     "<Q: >Lamp\nq: lamp\nNo: lamp\nI went. A bed"},
    {"en", "2020. A lamp\n2.5 million\n10.30 AM\n1.5kg a",
     "2020. A lamp\n2.5 million\n10.30 AM\n1.5kg a"},
    {"en", "p. 5\nMIX. lamp\nvide) lamp\nx\t1. bed", "p. 5\nMIX. lamp\nvide) lamp\nx<\t1. >bed"},
    {"fr", "M. Blanc\nA. Blanc\no lampe", "M. Blanc\n<A. >Blanc\n<o >lampe"},
    {"it", "o lampada", "o lampada"},
    {"xx", "o lampa", "o lampa"},
    {"de", "1. Mai\n3. Platz\nXX. Jahrhundert\n4. Die Lampe\nII. Das Bett",
     "1. Mai\n3. Platz\nXX. Jahrhundert\n<4. >Die Lampe\n<II. >Das Bett"},
    {"de", "1. Lampe\n2. Bett\n\n3. Tisch", "<1. >Lampe\n<2. >Bett\n\n3. Tisch"},
    {"de", "10.30 Uhr\n1.2 Lampe\n1.2.3. Bett", "10.30 Uhr\n1.2 Lampe\n<1.2.3. >Bett"},
    {NULL, "- lamp\na) bed\n1. sofa\nI. lamp", "<- >lamp\n<a) >bed\n1. sofa\nI. lamp"},

    /* the ends of lines, and lines without words */
    {"en", "=== Lamp ===\n===Bed===\n***Sofa*** a",
     "<=== >Lamp< ===>\n<===>Bed<===>\n***Sofa*** a"},
    {"en", "A lamp -\nA bed? !\n20 %\n20 \u00b0\nC++",
     "A lamp< ->\nA bed? !\n20 %\n20 \u00b0\nC++"},
    {"en", "/* a lamp */\n----\n+--+--+\n?!\n...",
     "</* >a lamp< */>\n<---->\n<+--+--+>\n<?!>\n<...>"},
    {"en", "1.\n a)\n", "<1.>\n <a)>\n"},
    {"en", "~~lamp~~\n- **bed!**\n_a sofa_\n*x y *",
     "<~~>lamp<~~>\n<- **>bed!<**>\n<_>a sofa<_>\n<*>x y< *>"},
    {"en", "*lamp\n**a** or **b**\n~~~a~~\n_lamp\n* *\n**",
     "<*>lamp\n**a** or **b**\n<~~~>a~~\n_lamp\n<* *>\n<**>"},
    {"en", "", ""},
};

START_TEST(gaps) {
    char shown[300];
    show(cases[_i].language, cases[_i].text, (struct opaque_runs){0}, shown);
    ck_assert_str_eq(shown, cases[_i].gaps);
}
END_TEST

/* A run may be in a gap, but no edge of a gap may be in a run, and a run that is written
 * differently is not copied. */
START_TEST(opaque_runs_are_not_cut) {
    static const struct {
        struct opaque_run run;
        const char *gaps;
    } held[] = {
        {{2, 5, OPAQUE_CODE, NULL}, "<- >a|b lamp<\t>bed"},
        {{0, 5, OPAQUE_CODE, NULL}, "- a|b lamp<\t>bed"},
        {{0, 1, OPAQUE_CODE, NULL}, "<- >a<|>b lamp<\t>bed"},
        {{0, 1, OPAQUE_CODE, "+"}, "- a<|>b lamp<\t>bed"},
        {{6, 12, OPAQUE_PROTECT, NULL}, "<- >a<|>b lamp\tbed"},
    };
    for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
        struct opaque_run run = held[i].run;
        char shown[100];
        show("en", "- a|b lamp\tbed", (struct opaque_runs){&run, 1}, shown);
        ck_assert_msg(strcmp(shown, held[i].gaps) == 0, "case %zu: %s", i, shown);
    }
}
END_TEST

/* Pictures and what follows them at the end of a line, if all of it is held. */
START_TEST(trailing_runs) {
    static const struct {
        const char *text, *gaps;
        struct opaque_run runs[3];
        size_t count;
    } rows[] = {
        {"Come :) a.b #c",
         "Come< :) a.b #c>",
         {{5, 7, OPAQUE_EMOJI, NULL}, {8, 11, OPAQUE_URL, NULL}, {12, 14, OPAQUE_CODE, NULL}},
         3},
        {"Read a.b :)",
         "Read a.b< :)>",
         {{5, 8, OPAQUE_URL, NULL}, {9, 11, OPAQUE_EMOJI, NULL}},
         2},
        {"Come home :).", "Come home< :).>", {{10, 12, OPAQUE_EMOJI, NULL}}, 1},
        {"Come home :)...", "Come home :)...", {{10, 12, OPAQUE_EMOJI, NULL}}, 1},
        {"Come home :)!", "Come home :)!", {{10, 12, OPAQUE_EMOJI, NULL}}, 1},
        {"Read a.b #c", "Read a.b #c", {{5, 8, OPAQUE_URL, NULL}, {9, 11, OPAQUE_CODE, NULL}}, 2},
        {"Go :) to a.b",
         "Go :) to a.b",
         {{3, 5, OPAQUE_EMOJI, NULL}, {9, 12, OPAQUE_URL, NULL}},
         2},
        {"Go :) a.b", "Go :) a.b", {{3, 5, OPAQUE_EMOJI, NULL}, {6, 9, OPAQUE_URL, "c"}}, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct opaque_run runs[3];
        char shown[100];
        memcpy(runs, rows[i].runs, sizeof runs);
        show("en", rows[i].text, (struct opaque_runs){runs, rows[i].count}, shown);
        ck_assert_str_eq(shown, rows[i].gaps);
    }
}
END_TEST

/* Each of these would take hours if a place were examined once for each sign before it. */
START_TEST(a_long_line_is_not_slow) {
    static const char *const parts[] = {"\t",  "- ",     "1. ", "-_-___",  "....",
                                        ". ",  "|",      " | ", "a ---",   "(1",
                                        "   ", "____ :", "X",   "\u2022 ", ">"};
    enum { BYTES = 1 << 20 };
    char *text = malloc(BYTES + 1), *shown = malloc(3 * BYTES);
    ck_assert(text && shown);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t size = strlen(parts[i]), length = 0;
        for (; length + size + 1 < BYTES; length += size)
            memcpy(text + length, parts[i], size);
        text[length++] = 'a';
        text[length] = '\0';
        show(i % 2 == 0 ? "de" : "en", text, (struct opaque_runs){0}, shown);
        arena_reset(&arena);
    }
    free(text);
    free(shown);
}
END_TEST

Suite *layout_suite(void) {
    Suite *suite = suite_create("layout");
    TCase *tests = tcase_create("layout");
    tcase_add_checked_fixture(tests, scratch_setup, scratch_teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, gaps, 0, sizeof cases / sizeof *cases);
    tcase_add_test(tests, opaque_runs_are_not_cut);
    tcase_add_test(tests, trailing_runs);
    tcase_add_test(tests, a_long_line_is_not_slow);
    suite_add_tcase(suite, tests);
    return suite;
}
