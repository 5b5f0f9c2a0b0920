/* The held parts of a text: placeholders, strings and patterns together. */
#include "model/glossary.h"
#include "tests/suites.h"
#include <stdio.h>
#include <string.h>

static struct arena arena;
static struct error err;

static void setup(void) {
    arena_init(&arena, 4096);
    err = (struct error){0};
}

static void teardown(void) {
    arena_done(&arena);
}

enum { MOST = 4 };

/* strings, patterns: NULL after the last. */
struct wanted {
    const char *strings[MOST], *patterns[MOST];
};

static struct protection make_protection(const struct wanted *wanted) {
    static struct glossary_entry entries[MOST];
    struct protection protection = {.patterns = wanted->patterns};
    size_t count = 0;
    for (; count < MOST && wanted->strings[count]; count++)
        entries[count] = (struct glossary_entry){wanted->strings[count], wanted->strings[count]};
    while (protection.pattern_count < MOST && wanted->patterns[protection.pattern_count])
        protection.pattern_count++;
    ck_assert_int_eq(lexicon_init(&protection.strings, entries, count, &arena, &err), 0);
    return protection;
}

/* The finds, each in angle brackets. */
static void write_held(const char *text, const struct opaque_runs *held, char out[256]) {
    *out = '\0';
    for (size_t i = 0; i < held->count; i++) {
        size_t used = strlen(out);
        ck_assert(held->all[i].begin < held->all[i].end &&
                  (i == 0 || held->all[i - 1].end <= held->all[i].begin));
        snprintf(out + used, 256 - used, "<%.*s>", (int)(held->all[i].end - held->all[i].begin),
                 text + held->all[i].begin);
    }
}

static const struct {
    struct wanted wanted;
    const char *text, *held;
} rows[] = {
    {{{0}, {0}}, "See {a} and Foo Bar.", "<{a}>"},
    {{{"Foo Bar"}, {0}}, "See {a} and Foo Bar.", "<{a}><Foo Bar>"},
    {{{"Foo", "Foo Bar"}, {0}},
     "Foo Bar, Foo, Foobar",
     "<Foo Bar><Foo>"}, /* the longest; whole words */
    {{{"Foo Bar"}, {"Bar \\d"}}, "Foo Bar 1, Bar 2", "<Foo Bar><Bar 2>"}, /* the first */
    {{{"Foo"}, {"Foo-\\d"}},
     "Foo-1 Foo",
     "<Foo-1><Foo>"}, /* the longest of those that begin together */
    {{{0}, {"\\d+", "[A-Z]\\d"}},
     "A12 3",
     "<A1><2><3>"}, /* what goes on after another begins anew */
    {{{0}, {"a\\{.*z"}}, "a{b} z {c}", "<a{b} z><{c}>"}, /* around a placeholder */
    {{{0}, {"\\{b"}}, "a {b} {b", "<{b}><{b>"},          /* a placeholder is longer */
    {{{"example"}, {0}}, "https://example.com example", "<https://example.com><example>"},
    {{{"\xc3\x89"
       "cole"},
      {0}},
     "L'\xc3\x89"
     "cole, \xc3\xa9"
     "cole",
     "<\xc3\x89"
     "cole><\xc3\xa9"
     "cole>"},
};

START_TEST(all_kinds_are_held) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct protection protection = make_protection(&rows[i].wanted);
        struct opaque_runs held;
        struct guard guard;
        char found[256];
        ck_assert_int_eq(guard_open(&guard, &protection, &err), 0);
        ck_assert_int_eq(guard_find(&guard, NOTATION_PLACEHOLDERS,
                                    (struct bytes){rows[i].text, strlen(rows[i].text)}, &arena,
                                    &held, &err),
                         0);
        write_held(rows[i].text, &held, found);
        ck_assert_msg(strcmp(found, rows[i].held) == 0, "%s: %s, not %s", rows[i].text, found,
                      rows[i].held);
        guard_done(&guard);
    }
}
END_TEST

START_TEST(a_wrong_pattern) {
    struct protection protection = make_protection(&(struct wanted){{0}, {"a", "(", "b"}});
    struct guard guard;
    ck_assert_int_eq(guard_open(&guard, &protection, &err), -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    guard_done(&guard);
}
END_TEST

/* The patterns' time is limited for all texts together. */
START_TEST(time_of_all_texts) {
    static const char text[] = "A {name} is 12.";
    struct protection protection = make_protection(&(struct wanted){{"name"}, {"\\d+"}});
    struct opaque_runs held;
    struct guard guard;
    ck_assert_int_eq(guard_open(&guard, &protection, &err), 0);
    int64_t before_ns = guard.left_ns;
    ck_assert_int_eq(guard_find(&guard, NOTATION_PLACEHOLDERS, (struct bytes){text, strlen(text)},
                                &arena, &held, &err),
                     0);
    ck_assert_int_lt(guard.left_ns, before_ns);
    guard.left_ns = 0;
    ck_assert_int_eq(guard_find(&guard, NOTATION_PLACEHOLDERS, (struct bytes){text, strlen(text)},
                                &arena, &held, &err),
                     -1);
    ck_assert_int_eq(err.code, ERROR_LENGTH);
    guard_done(&guard);
    guard = (struct guard){
        .strings = &protection.strings}; /* strings and placeholders take what they take */
    ck_assert_int_eq(guard_find(&guard, NOTATION_PLACEHOLDERS, (struct bytes){text, strlen(text)},
                                &arena, &held, &err),
                     0);
    ck_assert_uint_eq(held.count, 1);
}
END_TEST

Suite *guard_suite(void) {
    Suite *suite = suite_create("guard");
    TCase *cases = tcase_create("all");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, all_kinds_are_held);
    tcase_add_test(cases, a_wrong_pattern);
    tcase_add_test(cases, time_of_all_texts);
    suite_add_tcase(suite, cases);
    return suite;
}
