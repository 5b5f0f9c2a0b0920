/* gettext's PO: messages without a translation get one, and nothing else changes. */
#include "tests/server/documents/fake.h"
#include "tests/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS                                                                                     \
    "\"Language: fr\\n\"\n\"MIME-Version: 1.0\\n\"\n\"Content-Type: text/plain; "                  \
    "charset=UTF-8\\n\"\n"                                                                         \
    "\"Content-Transfer-Encoding: 8bit\\n\"\n"
#define HEADER                                                                                     \
    "msgid \"\"\nmsgstr \"\"\n" FIELDS "\"Plural-Forms: nplurals=2; plural=(n > 1);\\n\"\n\n"
#define SAME(text, translated)    fake_expect("po", FAKE_UPPER, HEADER text, HEADER translated)
#define TURNED(text, translated)  fake_expect("po", FAKE_REVERSED, HEADER text, HEADER translated)
#define DOUBLED(text, translated) fake_expect("po", FAKE_LONGER, HEADER text, HEADER translated)

START_TEST(messages) {
    SAME("", "");
    SAME("# a\n#. b\n#: c.c:1\n#, no-wrap\nmsgid \"a dog\"\nmsgstr \"\"\n",
         "# a\n#. b\n#: c.c:1\n#, no-wrap\nmsgid \"a dog\"\nmsgstr \"A DOG\"\n");
    SAME("msgctxt \"menu\"\nmsgid \"a\"\nmsgstr \"\"\n\nmsgctxt \"b\"\nmsgid \"\"\nmsgstr \"\"\n",
         "msgctxt \"menu\"\nmsgid \"a\"\nmsgstr \"A\"\n\nmsgctxt \"b\"\nmsgid \"\"\nmsgstr \"\"\n");
    SAME("msgid \"a\" msgstr \"\" msgid \"b\" msgstr \"\"",
         "msgid \"a\" msgstr \"A\" msgid \"b\" msgstr \"B\"");
    SAME("msgid \"12 %\"\nmsgstr \"\"\n", "msgid \"12 %\"\nmsgstr \"\"\n");
    SAME("msgid \"a\"\nmsgstr \"\"\n\n#, fuzzy\n#~ msgid \"b\"\n#~ msgstr \"c\"\n",
         "msgid \"a\"\nmsgstr \"A\"\n\n#, fuzzy\n#~ msgid \"b\"\n#~ msgstr \"c\"\n");
    SAME("#, fuzzy\n#~ msgid \"b\"\n#~ msgstr \"c\"\n\nmsgid \"a\"\nmsgstr \"d\"\n",
         "#, fuzzy\n#~ msgid \"b\"\n#~ msgstr \"c\"\n\nmsgid \"a\"\nmsgstr \"d\"\n");
    SAME("domain \"a\"\nmsgid \"a\"\nmsgstr \"\"\n", "domain \"a\"\nmsgid \"a\"\nmsgstr \"A\"\n");
}
END_TEST

/* Programs show who translated them. */
START_TEST(credits) {
    SAME("msgid \"translator-credits\"\nmsgstr \"\"\n\nmsgid \"a\"\nmsgstr \"\"\n",
         "msgid \"translator-credits\"\nmsgstr \"\"\n\nmsgid \"a\"\nmsgstr \"A\"\n");
    SAME("msgctxt \"NAME OF TRANSLATORS\"\nmsgid \"Your names\"\nmsgstr \"\"\n",
         "msgctxt \"NAME OF TRANSLATORS\"\nmsgid \"Your names\"\nmsgstr \"\"\n");
}
END_TEST

/* Existing translations stay, except fuzzy ones, which belong to another source, shown by #|. */
START_TEST(translated_and_fuzzy) {
    SAME("msgid \"a\"\nmsgstr \"b\"\n", "msgid \"a\"\nmsgstr \"b\"\n");
    SAME("#: a.c\n#, fuzzy, c-format\n#| msgid \"b\"\nmsgid \"a\"\nmsgstr \"b\"\n",
         "#: a.c\n#, c-format\nmsgid \"a\"\nmsgstr \"A\"\n");
    SAME("#, fuzzy\nmsgid \"a\"\nmsgstr \"b\"\n", "msgid \"a\"\nmsgstr \"A\"\n");
    SAME("#, fuzzy\nmsgid \"12\"\nmsgstr \"b\"\n", "#, fuzzy\nmsgid \"12\"\nmsgstr \"b\"\n");
    SAME("#, fuzzy\n#| msgid \"c\"\nmsgid \"a\"\nmsgid_plural \"b\"\nmsgstr[0] \"c\"\nmsgstr[1] "
         "\"d\"\n",
         "msgid \"a\"\nmsgid_plural \"b\"\nmsgstr[0] \"A\"\nmsgstr[1] \"B\"\n");
}
END_TEST

START_TEST(strings) {
    SAME("msgid \"a \\\"b\\\" \\\\c\\tD\\r\"\nmsgstr \"\"\n",
         "msgid \"a \\\"b\\\" \\\\c\\tD\\r\"\nmsgstr \"A \\\"B\\\" \\\\C\\tD\\r\"\n");
    SAME("msgid \"caf\\303\\251 \\x41\"\nmsgstr \"\"\n",
         "msgid \"caf\\303\\251 \\x41\"\nmsgstr \"CAF\u00e9 A\"\n");
    SAME("msgid \"a \\303\"\nmsgstr \"\"\n\nmsgid \"b \\001\"\nmsgstr \"\"\n", /* no text */
         "msgid \"a \\303\"\nmsgstr \"\"\n\nmsgid \"b \\001\"\nmsgstr \"\"\n");
    SAME("msgid \"\\n  a\\n\\nb.\\n\"\nmsgstr \"\"\n",
         "msgid \"\\n  a\\n\\nb.\\n\"\nmsgstr \"\\n  A\\n\\nB.\\n\"\n");
    SAME("msgid \"\"\n\"a\\n\"\n\"b\"\nmsgstr \"\"\n",
         "msgid \"\"\n\"a\\n\"\n\"b\"\nmsgstr \"\"\n\"A\\n\"\n\"B\"\n");
    SAME("msgid \"a\"\r\nmsgstr \"\"\r\n", "msgid \"a\"\r\nmsgstr \"A\"\r\n");
    DOUBLED("msgid \"\"\n\"abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi\"\nmsgstr \"\"\n",
            "msgid \"\"\n\"abcdefghi abcdefghi abcdefghi abcdefghi abcdefghi\"\nmsgstr \"\"\n"
            "\"ABCDEFGHI ABCDEFGHI ABCDEFGHI ABCDEFGHI ABCDEFGHI ABCDEFGHI ABCDEFGHI "
            "\"\n\"ABCDEFGHI ABCDEFGHI ABCDEFGHI\"\n");
}
END_TEST

/* A sentence over lines is one text; a table's columns stay. */
START_TEST(lines_of_messages) {
    TURNED("msgid \"one two\\nthree four.\\n\"\nmsgstr \"\"\n",
           "msgid \"one two\\nthree four.\\n\"\nmsgstr \"FOUR.\\nTHREE TWO ONE\\n\"\n");
    TURNED("msgid \"  -v, --version    one two\\n\"\nmsgstr \"\"\n",
           "msgid \"  -v, --version    one two\\n\"\nmsgstr \"  -v, --version    TWO ONE\\n\"\n");
}
END_TEST

START_TEST(plurals) {
    SAME("msgid \"a\"\nmsgid_plural \"b\"\nmsgstr[0] \"\"\nmsgstr[1] \"\"\n",
         "msgid \"a\"\nmsgid_plural \"b\"\nmsgstr[0] \"A\"\nmsgstr[1] \"B\"\n");
    SAME("msgid \"a\"\nmsgid_plural \"b\"\nmsgstr[0] \"c\"\nmsgstr[1] \"\"\n",
         "msgid \"a\"\nmsgid_plural \"b\"\nmsgstr[0] \"c\"\nmsgstr[1] \"B\"\n");
    SAME("msgid \"a\"\nmsgid_plural \"b\"\nmsgstr[0] \"c\"\nmsgstr[1] \"d\"\n",
         "msgid \"a\"\nmsgid_plural \"b\"\nmsgstr[0] \"c\"\nmsgstr[1] \"d\"\n");
}
END_TEST

/* The mark of a label's key stays before a letter, and does not divide the word for the model. */
START_TEST(accelerators) {
    SAME("msgid \"_File\"\nmsgstr \"\"\n", "msgid \"_File\"\nmsgstr \"_FILE\"\n");
    TURNED("msgid \"Save &as...\"\nmsgstr \"\"\n",
           "msgid \"Save &as...\"\nmsgstr \"AS... &SAVE\"\n");
    TURNED("msgid \"_Two words\"\nmsgstr \"\"\n", "msgid \"_Two words\"\nmsgstr \"_WORDS TWO\"\n");
    TURNED("msgid \"Then e&xit\"\nmsgstr \"\"\n", "msgid \"Then e&xit\"\nmsgstr \"E&XIT THEN\"\n");
    TURNED("msgid \"E_xit\"\nmsgstr \"\"\n", "msgid \"E_xit\"\nmsgstr \"_EXIT\"\n");
    TURNED("msgid \"R&D _a_ max_size &\"\nmsgstr \"\"\n",
           "msgid \"R&D _a_ max_size &\"\nmsgstr \"& MAX_SIZE _A_ R&D\"\n");
}
END_TEST

#define PLURAL_OF(count, rule)                                                                     \
    "msgid \"\"\nmsgstr \"\"\n" FIELDS "\"Plural-Forms: nplurals=" count "; plural=" rule          \
    ";\\n\"\n\n"
#define PLURAL       "msgid \"a\"\nmsgid_plural \"b\"\n"
#define EMPTY_PLURAL PLURAL "msgstr[0] \"\"\nmsgstr[1] \"\"\n"

/* The file's own rule holds where the file is in the language; more forms than two need somebody to
 * look at them. */
START_TEST(rules) {
    fake_expect("po", FAKE_UPPER, PLURAL_OF("INTEGER", "EXPRESSION") EMPTY_PLURAL,
                HEADER PLURAL "msgstr[0] \"A\"\nmsgstr[1] \"B\"\n");
    fake_expect("po", FAKE_UPPER, PLURAL_OF("1", "0") PLURAL "msgstr[0] \"\"\n",
                PLURAL_OF("1", "0") PLURAL "msgstr[0] \"B\"\n");
    fake_expect("po", FAKE_UPPER,
                PLURAL_OF("3", "n") PLURAL "msgstr[0] \"\"\nmsgstr[1] \"\"\nmsgstr[2] \"\"\n",
                PLURAL_OF("3", "n") "#, fuzzy\n" PLURAL
                                    "msgstr[0] \"A\"\nmsgstr[1] \"B\"\nmsgstr[2] \"B\"\n");
    fake_expect("po", FAKE_UPPER,
                "msgid \"\"\nmsgstr \"\"\n\"Language: ru\\n\"\n\"Plural-Forms: nplurals=3; "
                "plural=n;\\n\"\n\n" PLURAL "msgstr[0] \"\"\nmsgstr[1] \"\"\nmsgstr[2] \"\"\n",
                "msgid \"\"\nmsgstr \"\"\n\"Language: fr\\n\"\n\"Plural-Forms: nplurals=2; "
                "plural=(n > 1);\\n\"\n"
                "\"MIME-Version: 1.0\\n\"\n\"Content-Type: text/plain; "
                "charset=UTF-8\\n\"\n\"Content-Transfer-Encoding: 8bit\\n\"\n"
                "\n" PLURAL "msgstr[0] \"A\"\nmsgstr[1] \"B\"\n");
}
END_TEST

/* Of a template of another language: forms that lack are translated, surplus ones are left out for
 * somebody to look at. */
START_TEST(other_numbers_of_forms) {
    SAME("msgid \"a\"\nmsgid_plural \"b\"\nmsgstr[0] \"\"\n",
         "msgid \"a\"\nmsgid_plural \"b\"\nmsgstr[0] \"A\"\nmsgstr[1] \"B\"\n");
    SAME("msgid \"a\"\nmsgid_plural \"b\"\nmsgstr[0] \"c\"\n",
         "msgid \"a\"\nmsgid_plural \"b\"\nmsgstr[0] \"c\"\nmsgstr[1] \"B\"\n");
    fake_expect("po", FAKE_UPPER, PLURAL_OF("3", "n") EMPTY_PLURAL,
                PLURAL_OF("3", "n") "#, fuzzy\n" PLURAL
                                    "msgstr[0] \"A\"\nmsgstr[1] \"B\"\nmsgstr[2] \"B\"\n");
    SAME("msgid \"a\"\nmsgid_plural \"b\"\nmsgstr[0] \"c\"\nmsgstr[1] \"d\"\nmsgstr[2] "
         "\"e\"\n\nmsgid \"f\"\nmsgstr \"\"\n",
         "#, fuzzy\nmsgid \"a\"\nmsgid_plural \"b\"\nmsgstr[0] \"c\"\nmsgstr[1] \"d\"\n\nmsgid "
         "\"f\"\nmsgstr \"F\"\n");
}
END_TEST

/* A header that names no language has its rule from wherever it was copied. */
START_TEST(rule_of_no_language) {
    static const char *const written[] = {"nplurals=2; plural=(n != 1);", "nplurals=3; plural=n;",
                                          "nplurals=1; plural=0;", "nplurals=2; plural=n>1"};
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        char source[512], expected[512];
        static const char form[] =
            "msgid \"\"\nmsgstr \"\"\n\"Language: %s\\n\"\n\"MIME-Version: 1.0\\n\"\n"
            "\"Content-Type: text/plain; charset=UTF-8\\n\"\n\"Content-Transfer-Encoding: "
            "8bit\\n\"\n"
            "\"Plural-Forms: %s\\n\"\n\nmsgid \"a\"\nmsgstr \"%s\"\n";
        snprintf(source, sizeof source, form, "", written[i], "");
        snprintf(expected, sizeof expected, form, "fr",
                 i == 3 ? written[i] : "nplurals=2; plural=(n > 1);", "A");
        fake_expect("po", FAKE_UPPER, source, expected);
    }
}
END_TEST

START_TEST(headers) {
    fake_expect(
        "po", FAKE_UPPER,
        "msgid \"\"\nmsgstr \"Language: \\0\\n\"\n\nmsgid \"a\"\nmsgstr \"\"\n", /* no text */
        "msgid \"\"\nmsgstr \"Language: \\0\\n\"\n\nmsgid \"a\"\nmsgstr \"A\"\n");
    fake_expect("po", FAKE_UPPER, "msgid \"a\"\nmsgstr \"\"\n",
                HEADER "msgid \"a\"\nmsgstr \"A\"\n");
    fake_expect("po", FAKE_UPPER, "msgid \"a\"\nmsgstr \"b\"\n",
                "msgid \"a\"\nmsgstr \"b\"\n"); /* nothing to do: as it was */
    fake_expect("po", FAKE_UPPER,               /* nothing beyond ASCII: UTF-8, whatever it says */
                "msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; "
                "charset=nonesuch\\n\"\n\nmsgid \"a\"\nmsgstr \"\"\n",
                "msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; "
                "charset=UTF-8\\n\"\n\"Language: fr\\n\"\n"
                "\"MIME-Version: 1.0\\n\"\n\"Content-Transfer-Encoding: 8bit\\n\"\n"
                "\"Plural-Forms: nplurals=2; plural=(n > 1);\\n\"\n\nmsgid \"a\"\nmsgstr \"A\"\n");
    fake_expect(
        "po", FAKE_UPPER,
        "# t\n#, fuzzy\nmsgid \"\"\nmsgstr \"\"\n\"X: charset=latin1\\n\"\n\"Language: "
        "\\n\"\n\"MIME-Version: 1.0\\n\"\n"
        "\"content-type: text/plain; charset=CHARSET\\n\"\n\"Content-Transfer-Encoding: 8bit\\n\"\n"
        "\"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n\"\n\nmsgid \"a\u00e9\"\nmsgstr "
        "\"\"\n",
        "# t\nmsgid \"\"\nmsgstr \"\"\n\"X: charset=latin1\\n\"\n\"Language: "
        "fr\\n\"\n\"MIME-Version: 1.0\\n\"\n"
        "\"Content-Type: text/plain; charset=UTF-8\\n\"\n\"Content-Transfer-Encoding: 8bit\\n\"\n"
        "\"Plural-Forms: nplurals=2; plural=(n > 1);\\n\"\n\nmsgid \"a\u00e9\"\nmsgstr "
        "\"A\u00e9\"\n");
}
END_TEST

/* Directives for programs are kept; if they cannot be, or change their order, the message is fuzzy.
 */
START_TEST(directives) {
    /* printf takes a space for a flag, and reads %o here and %O there */
    TURNED("#, c-format\nmsgid \"one 50% of %d\"\nmsgstr \"\"\n",
           "#, fuzzy, c-format\nmsgid \"one 50% of %d\"\nmsgstr \"%d OF 50% ONE\"\n");
    TURNED("#, c-format\nmsgid \"one %d of 50%\"\nmsgstr \"\"\n",
           "#, fuzzy, c-format\nmsgid \"one %d of 50%\"\nmsgstr \"50% OF %d ONE\"\n");
    TURNED("msgid \"$1 of $2\"\nmsgstr \"\"\n", "msgid \"$1 of $2\"\nmsgstr \"$2 OF $1\"\n");
    TURNED("#, c-format\nmsgid \"one %s two %%\"\nmsgstr \"\"\n",
           "#, c-format\nmsgid \"one %s two %%\"\nmsgstr \"%% TWO %s ONE\"\n");
    TURNED(
        "#, c-format\nmsgid \"one %s two %5.2<PRIu64>\"\nmsgstr \"\"\n",
        "#, c-format\nmsgid \"one %s two %5.2<PRIu64>\"\nmsgstr \"%2$5.2<PRIu64> TWO %1$s ONE\"\n");
    TURNED("#, c-format\nmsgid \"one %<PRIu64> two %I\"\nmsgstr \"\"\n",
           "#, c-format\nmsgid \"one %<PRIu64> two %I\"\nmsgstr \"%2$I TWO %1$<PRIu64> ONE\"\n");
    TURNED("#, c-format\nmsgid \"one %2$s two %1$s\"\nmsgstr \"\"\n",
           "#, c-format\nmsgid \"one %2$s two %1$s\"\nmsgstr \"%1$s TWO %2$s ONE\"\n");
    TURNED("#, c-format\nmsgid \"one %*d two %s\"\nmsgstr \"\"\n",
           "#, fuzzy, c-format\nmsgid \"one %*d two %s\"\nmsgstr \"%s TWO %*d ONE\"\n");
    TURNED("#, python-format\nmsgid \"one %s two %d\"\nmsgstr \"\"\n",
           "#, fuzzy, python-format\nmsgid \"one %s two %d\"\nmsgstr \"%d TWO %s ONE\"\n");
    TURNED("#, python-format\nmsgid \"one %(a)s two %(b)d\"\nmsgstr \"\"\n",
           "#, python-format\nmsgid \"one %(a)s two %(b)d\"\nmsgstr \"%(b)d TWO %(a)s ONE\"\n");
    TURNED("#, python-brace-format\nmsgid \"one {a} two {b!r:>{c}} {{three}}\"\nmsgstr \"\"\n",
           "#, python-brace-format\nmsgid \"one {a} two {b!r:>{c}} {{three}}\"\nmsgstr \"{{THREE}} "
           "{b!r:>{c}} TWO {a} ONE\"\n");
    TURNED("#, sh-format\nmsgid \"one $HOME two ${x}\"\nmsgstr \"\"\n",
           "#, sh-format\nmsgid \"one $HOME two ${x}\"\nmsgstr \"${x} TWO $HOME ONE\"\n");
    TURNED("#, qt-format\nmsgid \"one %1 two %L2 %n\"\nmsgstr \"\"\n",
           "#, qt-format\nmsgid \"one %1 two %L2 %n\"\nmsgstr \"%n %L2 TWO %1 ONE\"\n");
    TURNED("msgid \"one {a} https://b.c/d\"\nmsgstr \"\"\n",
           "msgid \"one {a} https://b.c/d\"\nmsgstr \"https://b.c/d {a} ONE\"\n");
}
END_TEST

/* A translation that says for programs what its source does not. */
START_TEST(directives_too_many) {
    struct arena arena;
    struct markup html;
    const char *source = HEADER "#: a.c\nmsgid \"a %s\"\nmsgstr \"\"\n";
    struct document document = {.format = document_find("po"),
                                .source = source,
                                .length = strlen(source),
                                .language = FAKE_LANGUAGE};
    struct markup_translation translation = {.text = "b %s %d", .length = 7};
    size_t length;
    arena_init(&arena, 1 << 14);
    ck_assert_int_eq(document_read(&document, &arena, &html, NULL), 0);
    ck_assert_uint_eq(html.count, 1);
    ck_assert_str_eq(document_write(&document, &html, &translation, &arena, &length, NULL),
                     HEADER "#: a.c\n#, fuzzy\nmsgid \"a %s\"\nmsgstr \"b %s %d\"\n");
    arena_done(&arena);
}
END_TEST

/* Tags, references and links of a message, also those that hold directives. */
START_TEST(marks_of_messages) {
    SAME("msgid \"see <a href=\\\"x\\\">the page</a> &amp; go\"\nmsgstr \"\"\n",
         "msgid \"see <a href=\\\"x\\\">the page</a> &amp; go\"\nmsgstr \"SEE <a "
         "href=\\\"x\\\">THE PAGE</a> &amp; GO\"\n");
    TURNED("msgid \"one <b>two</b><br/>three `four <u>`_\"\nmsgstr \"\"\n",
           "msgid \"one <b>two</b><br/>three `four <u>`_\"\nmsgstr \"<b>TWO</b> ONE<br/>`FOUR "
           "<u>`_ THREE\"\n");
    SAME("#, c-format\nmsgid \"a <a href=\\\"%s\\\">b</a> %d <PRI>\"\nmsgstr \"\"\n",
         "#, c-format\nmsgid \"a <a href=\\\"%s\\\">b</a> %d <PRI>\"\nmsgstr \"A <a "
         "href=\\\"%s\\\">B</a> %d <PRI>\"\n");
    TURNED("#, c-format\nmsgid \"a <a href=\\\"%s\\\">b</a> %d\"\nmsgstr \"\"\n",
           "#, c-format\nmsgid \"a <a href=\\\"%s\\\">b</a> %d\"\nmsgstr \"%2$d <a "
           "href=\\\"%1$s\\\">B</a> A\"\n");
}
END_TEST

START_TEST(damaged_po) {
    static const char *const cases[][2] = {
        {"msgid \"a\"\nmsgstr \"b\n", "line 2: unterminated string"},
        {"msgid \"a\\q\"\nmsgstr \"\"\n", "line 1: invalid escape sequence"},
        {"msgid \"a\"\n\n# b\nmsgid \"c\"\n", "line 3: msgid_plural or msgstr is expected here"},
        {"msgid a\n", "line 1: a string is expected here"},
        {"msgctxt \"a\"\nmsgstr \"b\"\n", "line 2: msgid is expected here"},
        {"\n\"a\"\n", "line 2: msgctxt or msgid is expected here"},
        {"msgid \"a\"\nmsgstr[0] \"b\"\n", "line 2: this message has forms, but no msgid_plural"},
        {PLURAL "msgstr \"b\"\n", "line 3: msgstr[0] is expected here"},
        {PLURAL "msgstr[0] \"b\"\nmsgstr[2] \"c\"\n", "line 4: msgstr[1] is expected here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        fake_refused("po", cases[i][0], cases[i][1]);
}
END_TEST

/* A megabyte of whatever might be looked at again and again. */
START_TEST(bombs) {
    static const char *const cases[][2] = {
        {"msgid \"a", "%"},
        {"msgid \"a", "{a"},
        {"msgid \"a", "%s "},
        {"msgid \"a", "https://%s"},
        {"msgid \"a", "\"\n\""},
        {"msgid \"\"\nmsgstr \"", "Language: x\\n"},
        {"#, fuzzy", ", c-format"},
        {"", "# a\n#, c-format\n"},
        {"", "msgid \"a\" msgstr \"b\"\n"},
        {"", "domain \"a\"\n"},
        {"msgid \"a\"", "\n#~ a\n#"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena;
        struct markup html;
        struct error error = {0};
        char *text = fake_long(cases[i][0], cases[i][1],
                               i < 5   ? " a\"\nmsgstr \"\"\n"
                               : i < 6 ? "\"\n"
                                       : "\nmsgid \"a\"\nmsgstr \"\"\n",
                               1 << 18);
        arena_init(&arena, 1 << 16);
        if (fake_read("po", text, &arena, &html, &error) == 0)
            fake_document("po", FAKE_REVERSED, text, &arena);
        else
            ck_assert_int_eq(error.code, ERROR_INPUT);
        free(text);
        arena_done(&arena);
    }
}
END_TEST

START_TEST(too_many_pieces) {
    char *text = fake_long("msgid \"a\"\nmsgstr \"\"\n\n#, c-format\nmsgid \"", "%d a ",
                           "\"\nmsgstr \"\"\n", 1 << 20);
    fake_refused("po", text, "line 5: the document has more than 131072 texts and marks");
    free(text);
}
END_TEST

Suite *po_suite(void) {
    Suite *suite = suite_create("po");
    TCase *cases = tcase_create("po");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, messages);
    tcase_add_test(cases, credits);
    tcase_add_test(cases, translated_and_fuzzy);
    tcase_add_test(cases, strings);
    tcase_add_test(cases, lines_of_messages);
    tcase_add_test(cases, plurals);
    tcase_add_test(cases, other_numbers_of_forms);
    tcase_add_test(cases, rule_of_no_language);
    tcase_add_test(cases, marks_of_messages);
    tcase_add_test(cases, accelerators);
    tcase_add_test(cases, rules);
    tcase_add_test(cases, headers);
    tcase_add_test(cases, directives);
    tcase_add_test(cases, directives_too_many);
    tcase_add_test(cases, damaged_po);
    tcase_add_test(cases, bombs);
    tcase_add_test(cases, too_many_pieces);
    return suite;
}
