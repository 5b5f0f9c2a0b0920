/* Which sentences belong together, by their lengths. */
#include "server/api/beads.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <stdio.h>
#include <string.h>

enum { MOST = 12 };

/* Spans of these lengths, up to the first 0. */
static size_t spans_of(const size_t *lengths, struct span *spans) {
    size_t count = 0, at = 0;
    for (; lengths[count] > 0; at += lengths[count++] + 1)
        spans[count] = (struct span){at, at + lengths[count]};
    return count;
}

START_TEST(lengths) {
    static const struct {
        size_t sources[MOST], targets[MOST];
        const char *beads;
    } cases[] = {
        {{10}, {12}, "1-1"},
        {{40, 90, 20}, {44, 99, 22}, "1-1 1-1 1-1"},
        {{40, 90, 20}, {44, 124}, "1-1 2-1"},             /* two became one */
        {{40, 110, 40}, {44, 66, 55, 44}, "1-1 1-2 1-1"}, /* one became two */
        {{40, 90, 20}, {44, 22}, "2-1 1-1"},              /* one is missing */
        {{20, 21, 19, 22, 100}, {90, 110}, "4-1 1-1"},
        {{60, 60}, {20, 20, 21, 22, 83}, "1-4 1-1"},
        {{10, 10, 10, 10, 10}, {55}, "5-1"}, /* beyond four, all are one */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct span sources[MOST], targets[MOST];
        size_t source_count = spans_of(cases[i].sources, sources),
               target_count = spans_of(cases[i].targets, targets), source = 0, target = 0;
        struct beads found;
        char text[100] = "";
        ck_assert_int_eq(beads_find(&(struct spans){sources, source_count},
                                    &(struct spans){targets, target_count}, &arena, &found, &err),
                         0);
        const struct bead *beads = found.all;
        for (size_t k = 0; k < found.count; k++) {
            ck_assert_uint_eq(beads[k].source, source);
            ck_assert_uint_eq(beads[k].target, target);
            source += beads[k].source_count;
            target += beads[k].target_count;
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%zu-%zu", k > 0 ? " " : "",
                     beads[k].source_count, beads[k].target_count);
        }
        ck_assert_uint_eq(source, source_count);
        ck_assert_uint_eq(target, target_count);
        ck_assert_msg(strcmp(text, cases[i].beads) == 0, "case %zu: %s", i, text);
    }
}
END_TEST

Suite *beads_suite(void) {
    Suite *suite = suite_create("beads");
    TCase *tcase = tcase_create("beads");
    tcase_add_checked_fixture(tcase, scratch_setup, scratch_teardown);
    tcase_add_test(tcase, lengths);
    suite_add_tcase(suite, tcase);
    return suite;
}
