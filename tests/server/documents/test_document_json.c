/* JSON: values are translated; names, numbers and notation stay. */
#include "server/documents/document.h"
#include "tests/server/documents/fake.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

START_TEST(values) {
    fake_expect("json", FAKE_UPPER,
                "{\"title\" : \"a dog\",\n \"n\": [1.50, -2e+3, true, null, \"b\", [\"c\"]], "
                "\"o\": {\"k\": \"\"}}\n",
                "{\"title\" : \"A DOG\",\n \"n\": [1.50, -2e+3, true, null, \"B\", [\"C\"]], "
                "\"o\": {\"k\": \"\"}}\n");
    fake_expect("json", FAKE_UPPER, "\"a\"", "\"A\"");
    fake_expect("json", FAKE_UPPER, " 12 ", " 12 ");
    fake_expect("json", FAKE_UPPER, "[]", "[]");
    fake_expect("json", FAKE_UPPER, "{\"a\": {}, \"a\": [[], {}]}", "{\"a\": {}, \"a\": [[], {}]}");
}
END_TEST

START_TEST(escapes) {
    fake_expect("json", FAKE_UPPER, "[\"a \\\"b\\\" \\\\ c\\/d\"]", "[\"A \\\"B\\\" \\\\ C/D\"]");
    fake_expect("json", FAKE_UPPER, "[\"caf\\u00e9 \\ud83d\\ude00\"]",
                "[\"CAF\u00e9 \U0001f600\"]");
    fake_expect("json", FAKE_UPPER, "[\"one\\n\\ttwo\\r\\nthree\"]",
                "[\"ONE\\n\\tTWO\\r\\nTHREE\"]");
    fake_expect("json", FAKE_UPPER, "[\"\\u0031 \\u0032\"]",
                "[\"\\u0031 \\u0032\"]"); /* nothing to translate: as it was */
    fake_expect("json", FAKE_UPPER, "[\"half \\ud83d\", \"a\\u0000b\"]",
                "[\"half \\ud83d\", \"a\\u0000b\"]");
}
END_TEST

/* Whatever the members are called; prose.c has the rule. */
START_TEST(strings_for_programs) {
    fake_expect("json", FAKE_UPPER,
                "{\"a\": \"#00ff7f\", \"b\": [\"a dog\", \"2025-06-01T09:30:00Z\", \"isReady\"], "
                "\"type\": \"module\"}",
                "{\"a\": \"#00ff7f\", \"b\": [\"A DOG\", \"2025-06-01T09:30:00Z\", \"isReady\"], "
                "\"type\": \"module\"}");
    fake_expect(
        "json", FAKE_UPPER,
        "{\"scripts\": {\"a\": \"run all\"}, \"files\": [\"dist\"], \"@a\": {\"b\": [\"A dog\"]}}",
        "{\"scripts\": {\"a\": \"run all\"}, \"files\": [\"dist\"], \"@a\": {\"b\": [\"A dog\"]}}");
    fake_expect("json", FAKE_UPPER, "[\"a dog\\nhttps://example.org\\nfoo_bar\"]",
                "[\"A DOG\\nhttps://example.org\\nfoo_bar\"]");
}
END_TEST

START_TEST(messages_with_branches) {
    fake_expect("json", FAKE_UPPER, "[\"{n, plural, one {# dog} other {# dogs}}\"]",
                "[\"{n, plural, one {# DOG} many {# DOGS} other {# DOGS}}\"]");
    fake_expect("json", FAKE_REVERSED, "[\"{n, plural, =1 {# dog} other {a # b}}\"]",
                "[\"{n, plural, =1 {DOG #} other {B # A}}\"]");
    fake_expect("json", FAKE_UPPER,
                "[\"{g, select, a {he {n, plural, one {one} other {# \\\"x\\\"}}} other "
                "{\\u00e9t\\u00e9 {d, date, short}}}\"]",
                "[\"{g, select, a {{n, plural, one {HE ONE} many {HE # \\\"X\\\"} other {HE # "
                "\\\"X\\\"}}} other "
                "{\u00e9T\u00e9 {d, date, short}}}\"]");
    fake_expect("json", FAKE_UPPER, "[\"{n, plural,\\n one {a\\nb}\\n other {it''s '{c}' d}}\"]",
                "[\"{n, plural,\\n one {A\\nB}\\n many {IT'S '{c}' D}\\n other {IT'S '{c}' D}}\"]");
    fake_expect("json", FAKE_UPPER, "[\"{n, plural, one {} other {#}}\"]",
                "[\"{n, plural, one {} other {#}}\"]");
    /* a message whose translation is itself stays as it was written, though its sentences were
     * translated whole */
    fake_expect("json", FAKE_UPPER, "[\"TWO: {n, plural, one {# A} other {# \\u0042S}} C\"]",
                "[\"TWO: {n, plural, one {# A} other {# \\u0042S}} C\"]");
}
END_TEST

/* An apostrophe that comes to stand in front of a brace would quote it. A translation without its
 * arguments is none. */
START_TEST(sound_messages) {
    struct arena arena;
    struct document_notes notes = {.arena = &arena};
    static const char text[] = "[\"{n, plural, one {it's {a, date}} other {b}}\"]";
    struct document document = {.format = document_find("json"),
                                .source = text,
                                .length = strlen(text),
                                .language = FAKE_LANGUAGE,
                                .notes = &notes};
    struct markup html;
    size_t length;
    arena_init(&arena, 1 << 14);
    ck_assert_int_eq(document_read(&document, &arena, &html, NULL), 0);
    ck_assert_uint_eq(html.count, 2);
    ck_assert_str_eq(fake_string(&html.segments[0], &arena), "it's {a}");
    const struct span words[] = {{0, 2}, {2, 5}};
    struct markup_translation translations[] = {
        {.text = "l'{a}", .length = 5, .words = words, .word_count = 2},
        {.text = "b", .length = 1}};
    ck_assert_str_eq(document_write(&document, &html, translations, &arena, &length, NULL),
                     "[\"{n, plural, one {l''{a, date}} many {b} other {b}}\"]");
    translations[1] = (struct markup_translation){.text = "{c}", .length = 3};
    ck_assert_str_eq(document_write(&document, &html, translations, &arena, &length, NULL), text);
    ck_assert_uint_eq(notes.count, 1);
    ck_assert_str_eq(notes.all[0].code, "untranslated");
    arena_done(&arena);
}
END_TEST

START_TEST(unreadable_messages) {
    struct arena arena;
    struct document_notes notes = {.arena = &arena};
    static const char text[] = "[\"a dog\",\n\"{n, plural, one {# a dog}\"]";
    struct document document = {.format = document_find("json"),
                                .source = text,
                                .length = strlen(text),
                                .language = FAKE_LANGUAGE,
                                .notes = &notes};
    struct markup html;
    arena_init(&arena, 1 << 14);
    ck_assert_int_eq(document_read(&document, &arena, &html, NULL), 0);
    ck_assert_uint_eq(html.count, 1);
    ck_assert_uint_eq(notes.count, 1);
    ck_assert_uint_eq(notes.all[0].line, 2);
    ck_assert_str_eq(notes.all[0].code, "untranslated");
    arena_done(&arena);
    char *deep = fake_long("[\"{n, plural, ", "other {{n, plural, ", "\"]", 1 << 20);
    fake_expect("json", FAKE_UPPER, deep, deep);
    free(deep);
}
END_TEST

START_TEST(alternatives) {
    fake_expect("json", FAKE_REVERSED, "[\"no dogs | one dog | {n} dogs here\"]",
                "[\"DOGS NO | DOG ONE | HERE DOGS {N}\"]");
    fake_expect("json", FAKE_REVERSED, "[\"{0} a dog|[1,*] b dogs\"]",
                "[\"{0} DOG A|[1,*] DOGS B\"]");
    fake_expect("json", FAKE_REVERSED, "[\"a {b | c} d\"]",
                "[\"D C} | {B A\"]"); /* a pipe of a template */
}
END_TEST

START_TEST(references) {
    fake_expect("json", FAKE_REVERSED, "[\"save $1 to $2 now\", \"only $5.99 now\"]",
                "[\"NOW $2 TO $1 SAVE\", \"NOW $5.99 ONLY\"]");
    fake_expect("json", FAKE_UPPER,
                "[\"a $t(b.c) d\", \"see @:b.c.\", \"of @.lower:b and @:(c)\", \"a $NAME$ b\", \"a "
                ":count b: c\"]",
                "[\"A $t(b.c) D\", \"SEE @:b.c.\", \"OF @.lower:b AND @:(c)\", \"A $NAME$ B\", \"A "
                ":count B: C\"]");
}
END_TEST

/* Which values, and that a glob asks for what is doubtful, but never for what is certain. */
START_TEST(selected_values) {
    static const struct {
        const char *keys, *expected;
    } cases[] = {
        {"a.*", "{\"a\": {\"b\": \"DOG\", \"c\": \"FOO-BAR\", \"d\": \"#ff00aa\"}, \"e\": "
                "[\"dog\", {\"b\": \"dog\"}]}"},
        {"!a.**", "{\"a\": {\"b\": \"dog\", \"c\": \"foo-bar\", \"d\": \"#ff00aa\"}, \"e\": "
                  "[\"DOG\", {\"b\": \"DOG\"}]}"},
        {"e.0,e.*.b,!a.b", "{\"a\": {\"b\": \"dog\", \"c\": \"foo-bar\", \"d\": \"#ff00aa\"}, "
                           "\"e\": [\"DOG\", {\"b\": \"DOG\"}]}"},
        {"**.b", "{\"a\": {\"b\": \"DOG\", \"c\": \"foo-bar\", \"d\": \"#ff00aa\"}, \"e\": "
                 "[\"dog\", {\"b\": \"DOG\"}]}"},
    };
    static const char text[] = "{\"a\": {\"b\": \"dog\", \"c\": \"foo-bar\", \"d\": \"#ff00aa\"}, "
                               "\"e\": [\"dog\", {\"b\": \"dog\"}]}";
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena;
        arena_init(&arena, 1 << 14);
        struct document document = {.format = document_find("json"),
                                    .source = text,
                                    .length = strlen(text),
                                    .language = FAKE_LANGUAGE};
        document.keys = key_globs_parse(&cases[i].keys, 1, &arena, NULL);
        ck_assert_str_eq(fake_translated(&document, FAKE_UPPER, &arena), cases[i].expected);
        arena_done(&arena);
    }
}
END_TEST

/* Settings of editors and compilers have comments, and commas after the last member. */
START_TEST(comments) {
    fake_expect("json", FAKE_UPPER,
                "// \"a\": \"b\"\n{/* c \"d\" */ \"e\": [\"one dog\", // one cat\n],}\n// the end",
                "// \"a\": \"b\"\n{/* c \"d\" */ \"e\": [\"ONE DOG\", // one cat\n],}\n// the end");
    fake_expect("json", FAKE_UPPER, "{\"a\": \"one // two /* three */\"}",
                "{\"a\": \"ONE // TWO /* THREE */\"}");
}
END_TEST

START_TEST(lines_of_values) {
    fake_expect("jsonl", FAKE_UPPER, "{\"a\": \"one dog\"}\n\n[\"one cat\"]\n",
                "{\"a\": \"ONE DOG\"}\n\n[\"ONE CAT\"]\n");
    fake_expect("jsonl", FAKE_UPPER, "", "");
    fake_refused("jsonl", "{\"a\": 1}\n{\"a\"", "line 2, column 5: unexpected end of the document");
}
END_TEST

/* What is said about a text for translators and programs stays. */
START_TEST(metadata) {
    fake_expect("json", FAKE_UPPER,
                "{\"@@locale\": \"en\", \"a\": \"One dog\", \"@a\": {\"description\": \"A dog\", "
                "\"x\": {\"y\": {\"type\": \"String\"}}}}",
                "{\"@@locale\": \"fr\", \"a\": \"ONE DOG\", \"@a\": {\"description\": \"A dog\", "
                "\"x\": {\"y\": {\"type\": \"String\"}}}}");
    fake_expect("json", FAKE_UPPER,
                "{\"a\": {\"message\": \"One dog\", \"description\": \"A dog\", \"placeholders\": "
                "{\"b\": {\"example\": \"A cat\"}}}}",
                "{\"a\": {\"message\": \"ONE DOG\", \"description\": \"A dog\", \"placeholders\": "
                "{\"b\": {\"example\": \"A cat\"}}}}");
    fake_expect("json", FAKE_UPPER, "{\"@@locale\": \"en\", \"a\": 1}",
                "{\"@@locale\": \"en\", \"a\": 1}");
}
END_TEST

START_TEST(damaged) {
    static const char *const cases[][2] = {
        {"", "line 1, column 1: unexpected end of the document"},
        {"{\"a\": \"b\"", "line 1, column 10: unexpected end of the document"},
        {"[1, 2}", "line 1, column 6: a comma or ] is expected here"},
        {"{\"a\" \"b\"}", "line 1, column 6: a colon is expected here"},
        {"{\"a\": 1 \"b\"}", "line 1, column 9: a comma or } is expected here"},
        {"{\n a: 1}", "line 2, column 2: the name of a member is expected here"},
        {"[,]", "line 1, column 2: a value is expected here"},
        {"{\"a\": 1,,}", "line 1, column 9: the name of a member is expected here"},
        {"[1 /* a", "line 1, column 4: unterminated comment"},
        {"[01]", "line 1, column 2: invalid number"},
        {"[1.]", "line 1, column 2: invalid number"},
        {"[-]", "line 1, column 2: invalid number"},
        {"[1e]", "line 1, column 2: invalid number"},
        {"[\"\u00e9\", \"\\x\"]", "line 1, column 8: invalid escape sequence"},
        {"[\"\\u12g4\"]", "line 1, column 3: invalid escape sequence"},
        {"[\"a\nb\"]",
         "line 1, column 4: a control character in a string must be written as an escape sequence"},
        {"[\"abc]", "line 1, column 2: unterminated string"},
        {"[\"abc\\\"]", "line 1, column 2: unterminated string"},
        {"1 2", "line 1, column 3: unexpected text after the value"},
        {"]", "line 1, column 1: a value is expected here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        fake_refused("json", cases[i][0], cases[i][1]);
}
END_TEST

START_TEST(bombs) {
    struct arena arena;
    char *deep = fake_long("", "[", "", 1 << 20),
         *string = fake_long("\"", "a\\n\\u0061 ", "\"", 1 << 20);
    char *many = fake_long("[\"a\"", ",\n\"a\"", "]", 1 << 20);
    fake_refused("json", deep, "line 1, column 513: objects and arrays nest deeper than 512");
    fake_refused("json", many, "line 65536: the document has more than 131072 texts and marks");
    arena_init(&arena, 1 << 16);
    fake_refused("json", string, "line 1: the document has more than 131072 texts and marks");
    arena_done(&arena);
    free(deep);
    free(string);
    free(many);
}
END_TEST

#define CATALOG(strings) "{\"sourceLanguage\":\"en\",\"strings\":{" strings "},\"version\":\"1.0\"}"
#define UNIT(state, value)                                                                         \
    "{\"stringUnit\" : {\"state\" : \"" state "\", \"value\" : \"" value "\"}}"

/* The key is the text unless the source language has one; what is translated stays. */
START_TEST(catalogs_of_strings) {
    fake_expect("xcstrings", FAKE_UPPER, CATALOG("\"a \\\"b\\\" <i>c</i> %lld d\":{}"),
                CATALOG("\"a \\\"b\\\" <i>c</i> %lld d\":{\"localizations\" : {\"fr\" : " UNIT(
                    "translated", "A \\\"B\\\" <i>C</i> %lld D") "}}"));
    fake_expect("xcstrings", FAKE_UPPER,
                CATALOG("\"a_b\": {\"comment\": \"c d\", \"localizations\": {\"en\": " UNIT(
                    "new", "e f") "}}"),
                CATALOG("\"a_b\": {\"comment\": \"c d\", \"localizations\": {\"fr\" : " UNIT(
                    "translated", "E F") ",\"en\": " UNIT("new", "e f") "}}"));
    fake_expect("xcstrings", FAKE_UPPER,
                CATALOG("\"a b %@ %@\": {\"localizations\": {\"fr\": " UNIT(
                    "new", "") ", \"de\": " UNIT("new", "") "}}"),
                CATALOG("\"a b %@ %@\": {\"localizations\": {\"fr\": " UNIT(
                    "needs_review", "A B %@ %@") ", \"de\": " UNIT("new", "") "}}"));
#define STAYS                                                                                      \
    CATALOG("\"a b\": {\"localizations\": {\"fr\": " UNIT(                                         \
        "translated", "c") "}}, \"d e\": {\"shouldTranslate\": false}, \"%@\": {}, "               \
                           "\"f g\": {\"localizations\": {\"en\": {\"variations\": {\"plural\": "  \
                           "{\"one\": " UNIT("new", "h") "}}}}}")
    fake_expect("xcstrings", FAKE_UPPER, STAYS, STAYS);
}
END_TEST

START_TEST(lines_of_catalogs_stay) {
    fake_expect("xcstrings", FAKE_REVERSED, CATALOG("\"A b.\\n\\nC d\":{}"),
                CATALOG("\"A b.\\n\\nC d\":{\"localizations\" : {\"fr\" : " UNIT(
                    "translated", "B. A\\n\\nD C") "}}"));
}
END_TEST

Suite *document_json_suite(void) {
    Suite *suite = suite_create("document_json");
    TCase *cases = tcase_create("document_json");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, values);
    tcase_add_test(cases, escapes);
    tcase_add_test(cases, strings_for_programs);
    tcase_add_test(cases, messages_with_branches);
    tcase_add_test(cases, sound_messages);
    tcase_add_test(cases, unreadable_messages);
    tcase_add_test(cases, alternatives);
    tcase_add_test(cases, references);
    tcase_add_test(cases, selected_values);
    tcase_add_test(cases, comments);
    tcase_add_test(cases, lines_of_values);
    tcase_add_test(cases, metadata);
    tcase_add_test(cases, damaged);
    tcase_add_test(cases, bombs);
    tcase_add_test(cases, catalogs_of_strings);
    tcase_add_test(cases, lines_of_catalogs_stay);
    return suite;
}
