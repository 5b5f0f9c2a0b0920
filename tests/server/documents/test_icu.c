/* Messages in ICU's notation: whole sentences in their branches, in every kind of document. */
#include "server/documents/icu_message.h"
#include "tests/server/documents/fake.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>
#include <unicode/umsg.h>
#include <unicode/ustring.h>

enum { FORMATTED = 8192 };

static void expect_expanded(const char *text, const char *expected) {
    struct arena arena;
    struct error error = {0};
    const char *out;
    size_t length;
    arena_init(&arena, 1 << 12);
    ck_assert_msg(icu_message_expand(text, strlen(text), &arena, &out, &length, &error) == 0, "%s",
                  error.message);
    ck_assert_str_eq(arena_copy(&arena, out, length), expected);
    arena_done(&arena);
}

START_TEST(sentences_go_into_branches) {
    expect_expanded("You have {n, plural, one {# file} other {# files}} left.",
                    "{n, plural, one {You have # file left.} other {You have # files left.}}");
    expect_expanded("Hello. You have {n, plural, =0 {none} other {#}} left. Bye!",
                    "Hello. {n, plural, =0 {You have none left.} other {You have # left.}} Bye!");
    expect_expanded("{who} has {n, plural, offset:1 one {a {pet}} other {# pets}}",
                    "{n, plural, offset:1 one {{who} has a {pet}} other {{who} has # pets}}");
    expect_expanded("A\n\nb {g, select, x {c} other {}} d\ne",
                    "A\n\n{g, select, x {b c d} other {b  d}}\ne");
    expect_expanded(
        "{g, select, x {He} other {They}} sold {n, plural, one {# dog} other {# dogs}}.",
        "{g, select, x {{n, plural, one {He sold # dog.} other {He sold # dogs.}}} "
        "other {{n, plural, one {They sold # dog.} other {They sold # dogs.}}}}");
    expect_expanded("{g, select, x {he {n, plural, one {a} other {b}} it} other {c}}",
                    "{g, select, x {{n, plural, one {he a it} other {he b it}}} other {c}}");
    expect_expanded(
        "{n, plural, one {a dog} other {# dogs}} saw {m, plural, one {it} other {# cats}}",
        "{n, plural, one {{m, plural, one {a dog saw it} other {a dog saw # cats}}} "
        "other {# dogs saw {m, plural, one {it} other {# cats}}}}");
    expect_expanded("It''s '{'so'}' {n, plural, one {a} other {b}}",
                    "{n, plural, one {It''s '{'so'}' a} other {It''s '{'so'}' b}}");
    expect_expanded("caf\u00e9 \U0001f600 {n, plural, other {b}}",
                    "{n, plural, other {caf\u00e9 \U0001f600 b}}");
}
END_TEST

/* Nothing beside the branches, or something that would mean something else in them. */
START_TEST(others_stay) {
    static const char *const all[] = {
        "{n, plural, one {# file} other {# files}}",
        "({n, plural, one {# file} other {# files}})",
        "{name}: {n, plural, one {# file} other {# files}}.",
        "Item #5 of {n, plural, one {# file} other {# files}}",
        "{n, plural, other {# files in {m, plural, other {# folders}}}}",
        "There {n, choice, 0#are none|1#is one|1<are many}.",
        "Hello {name}!",
        "no message"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        expect_expanded(all[i], all[i]);
}
END_TEST

/* Three arguments of three branches would be 27 sentences. */
START_TEST(expansion_is_bounded) {
#define THREE(n) "{" n ", select, x {a} y {b} other {c}}"
    expect_expanded("see " THREE("a") " and " THREE("b") " and " THREE("c"),
                    "see " THREE("a") " and " THREE("b") " and " THREE("c"));
    char *text = fake_long("see {a, select, x {b} other {c}} ", "or {a, select, x {b} other {c}} ",
                           "d", 1 << 15);
    expect_expanded(text, text);
    free(text);
    text = fake_long("see {a, select, x {b} other {c}} ", "word ", "d", 1 << 14);
    expect_expanded(text, text);
    free(text);
}
END_TEST

static void format(const char *message, int32_t first, const char *second, char out[FORMATTED]) {
    UChar pattern[FORMATTED], text[FORMATTED], argument[32];
    UErrorCode status = U_ZERO_ERROR;
    UParseError where;
    u_strFromUTF8(pattern, FORMATTED, NULL, message, -1, &status);
    u_strFromUTF8(argument, 32, NULL, second, -1, &status);
    UMessageFormat *format = umsg_open(pattern, -1, "en", &where, &status);
    ck_assert_msg(U_SUCCESS(status), "%s: %s", message, u_errorName(status));
    umsg_format(format, text, FORMATTED, &status, (double)first, argument);
    u_strToUTF8(out, FORMATTED, NULL, text, -1, &status);
    ck_assert_msg(U_SUCCESS(status), "%s: %s", message, u_errorName(status));
    umsg_close(format);
}

/* Whatever its arguments are, the message says what it said. Parts are joined at random, from a
 * fixed seed. */
START_TEST(expanded_messages_say_the_same) {
    static const char *const parts[] = {
        "We saw ",
        "it. ",
        "{0, plural, =0 {none} one {# dog} other {# dogs}}",
        "{1, select, x {him} other {them {0, plural, one {once} other {often}}}}",
        " and '{'",
        " it''s ",
        "{1}",
        "\n",
        "{0, number}! ",
        "# "};
    unsigned state = 7;
    size_t expanded = 0;
    for (int round = 0; round < 500; round++) {
        char text[512] = "", was[FORMATTED], is[FORMATTED];
        struct arena arena;
        const char *out;
        size_t length;
        arena_init(&arena, 1 << 12);
        for (int i = 0; i < 5; i++) {
            state = state * 1103515245 + 12345;
            strcat(text, parts[(state >> 16) % (sizeof parts / sizeof *parts)]);
        }
        strcat(text, ". {0, number} {1}"); /* what takes them must know their types */
        ck_assert_int_eq(icu_message_expand(text, strlen(text), &arena, &out, &length, NULL), 0);
        out = arena_copy(&arena, out, length);
        expanded += strcmp(out, text) != 0;
        for (int32_t n = 0; n < 3; n++) {
            for (const char *who = "x"; who; who = *who == 'x' ? "y" : NULL) {
                format(text, n, who, was);
                format(out, n, who, is);
                ck_assert_msg(strcmp(was, is) == 0, "%s: '%s', and not '%s'", out, is, was);
            }
        }
        arena_done(&arena);
    }
    ck_assert_uint_gt(expanded, 50);
}
END_TEST

#define PO                                                                                         \
    "msgid \"\"\nmsgstr \"\"\n\"Language: fr\\n\"\n\"MIME-Version: 1.0\\n\"\n\"Content-Type: "     \
    "text/plain; charset=UTF-8\\n\"\n"                                                             \
    "\"Content-Transfer-Encoding: 8bit\\n\"\n\"Plural-Forms: nplurals=2; plural=(n > 1);\\n\"\n\n"
#define XLIFF                                                                                      \
    "<xliff version=\"1.2\"><file source-language=\"en\" "                                         \
    "target-language=\"fr\"><body><trans-unit><source>"
#define BEHIND   "</trans-unit></body></file></xliff>\n"
#define BRANCHES "{n, plural, one {# dog} other {# <b>old</b> dogs}}"
#define RAISED   "{n, plural, one {# DOG} many {# <b>OLD</b> DOGS} other {# <b>OLD</b> DOGS}}"

START_TEST(formats) {
    fake_expect("po", FAKE_UPPER, PO "msgid \"" BRANCHES "\"\nmsgstr \"\"\n",
                PO "msgid \"" BRANCHES "\"\nmsgstr \"" RAISED "\"\n");
    fake_expect(
        "po", FAKE_UPPER,
        PO "#, python-brace-format\nmsgid \"a {n, plural, other {# \\\"b\\\"}}\"\nmsgstr \"\"\n",
        PO "#, python-brace-format\nmsgid \"a {n, plural, other {# \\\"b\\\"}}\"\nmsgstr \"{n, "
           "plural, other {A # \\\"B\\\"}}\"\n");
    fake_expect("xliff", FAKE_UPPER,
                XLIFF "see {n, plural, other {# &amp; &lt;b&gt;it&lt;/b&gt;}}</source>" BEHIND,
                XLIFF "see {n, plural, other {# &amp; &lt;b&gt;it&lt;/b&gt;}}</source><target "
                      "state=\"translated\">"
                      "{n, plural, other {SEE # &amp; &lt;b&gt;IT&lt;/b&gt;}}</target>" BEHIND);
    fake_expect(
        "json", FAKE_UPPER, "[\"a \\\"b\\\" {n, plural, one {c} other {d}}\"]",
        "[\"{n, plural, one {A \\\"B\\\" C} many {A \\\"B\\\" D} other {A \\\"B\\\" D}}\"]");
    fake_expect("json", FAKE_REVERSED, "[\"press <b>it</b> &amp; go\"]",
                "[\"GO &amp; <b>IT</b> PRESS\"]");
}
END_TEST

START_TEST(quoted_braces_stay) {
    fake_expect("json", FAKE_REVERSED, "[\"{n, plural, other {# files of '{'all'}'}}\"]",
                "[\"{n, plural, other {'{'all'}' OF FILES #}}\"]");
}
END_TEST

/* People look at it, and programs do not show it. */
START_TEST(unreadable_messages_are_marked) {
    static const char message[] = "{n, plural, one {# dog} other # dogs}";
    fake_expect("po", FAKE_UPPER,
                PO "msgid \"{n, plural, one {# dog} other # dogs}\"\nmsgstr \"\"\n",
                PO "#, fuzzy\nmsgid \"{n, plural, one {# dog} other # dogs}\"\nmsgstr \"{n, "
                   "plural, one {# dog} other # dogs}\"\n");
    fake_expect(
        "xliff", FAKE_UPPER, XLIFF "{n, plural, one {&amp;} other # dogs}</source>" BEHIND,
        XLIFF
        "{n, plural, one {&amp;} other # dogs}</source><target state=\"needs-review-translation\">"
        "{n, plural, one {&amp;} other # dogs}</target>" BEHIND);
    struct arena arena;
    struct markup html;
    bool marked;
    arena_init(&arena, 1 << 12);
    ck_assert_int_eq(document_read_text((struct bytes){message, strlen(message)}, false, &arena,
                                        &html, &marked, NULL),
                     0);
    ck_assert(marked && document_text_may_be_marked(message, strlen(message)));
    ck_assert_uint_eq(html.count, 0);
    arena_done(&arena);
}
END_TEST

/* Of a request. A translation that loses an argument is none. */
START_TEST(texts) {
    static const char text[] = "you saw " BRANCHES;
    struct arena arena;
    struct markup html;
    struct markup_translation translations[2];
    bool marked;
    size_t length;
    arena_init(&arena, 1 << 12);
    ck_assert_int_eq(
        document_read_text((struct bytes){text, strlen(text)}, false, &arena, &html, &marked, NULL),
        0);
    ck_assert(marked);
    ck_assert_uint_eq(html.count, 2);
    ck_assert_str_eq(fake_string(&html.segments[0], &arena), "you saw 1 dog");
    ck_assert_str_eq(fake_string(&html.segments[1], &arena), "you saw 5 old dogs");
    for (size_t i = 0; i < 2; i++)
        translations[i] =
            fake_translation(FAKE_UPPER, html.segments[i].text, html.segments[i].length, &arena);
    ck_assert_str_eq(document_write_text((struct bytes){text, strlen(text)}, &html, translations,
                                         &arena, &length, NULL),
                     "{n, plural, one {YOU SAW # DOG} other {YOU SAW # <b>OLD</b> DOGS}}");
    translations[0] = (struct markup_translation){.text = "a {b", .length = 4};
    ck_assert_str_eq(document_write_text((struct bytes){text, strlen(text)}, &html, translations,
                                         &arena, &length, NULL),
                     text);
    ck_assert_uint_eq(length, strlen(text));
    arena_done(&arena);
}
END_TEST

Suite *icu_suite(void) {
    Suite *suite = suite_create("icu");
    TCase *cases = tcase_create("icu");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, sentences_go_into_branches);
    tcase_add_test(cases, others_stay);
    tcase_add_test(cases, expansion_is_bounded);
    tcase_add_test(cases, expanded_messages_say_the_same);
    tcase_add_test(cases, formats);
    tcase_add_test(cases, quoted_braces_stay);
    tcase_add_test(cases, unreadable_messages_are_marked);
    tcase_add_test(cases, texts);
    return suite;
}
