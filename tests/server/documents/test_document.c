/* Documents of every format, and plain text: prose is translated, and nothing else changes. */
#include "tests/server/documents/fake.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

START_TEST(formats_by_name_and_type) {
    static const struct {
        const char *file, *type, *format;
    } cases[] = {{"a.txt", NULL, "txt"},
                 {"Film.FR.SRT", "application/octet-stream", "srt"},
                 {"a.htm", NULL, "html"},
                 {"talk.vtt", "text/plain", "vtt"},
                 {NULL, "text/html; charset=utf-8", "html"},
                 {"de", "application/json", "json"},
                 {"README.md", "application/octet-stream", "md"},
                 {"notes", "text/plain", "txt"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_ptr_eq(document_guess(cases[i].file, cases[i].type), document_find(cases[i].format));
    ck_assert_ptr_null(document_guess("a.docx", NULL));
    ck_assert_ptr_null(document_guess("srt", NULL));
    ck_assert_ptr_null(document_guess(NULL, "application/octet-stream"));
    ck_assert_ptr_null(document_find("doc"));
}
END_TEST

/* Input that is not text, in every format. */
START_TEST(bytes_that_are_no_text) {
    struct arena arena;
    arena_init(&arena, 1 << 14);
    for (size_t i = 0; document_nth(i); i++) {
        struct html html;
        struct error invalid = {0}, zero = {0};
        ck_assert_int_eq(
            document_read(
                &(struct document){.format = document_nth(i), .source = "a\nb\n\xff", .length = 5, .language = FAKE_LANGUAGE},
                &arena, &html, &invalid),
            -1);
        ck_assert_str_eq(invalid.message, "line 3 is not valid UTF-8");
        ck_assert_int_eq(
            document_read(&(struct document){.format = document_nth(i), .source = "a\n\0b", .length = 4, .language = FAKE_LANGUAGE},
                          &arena, &html, &zero),
            -1);
        ck_assert_str_eq(zero.message, "line 2 contains a zero byte");
    }
    arena_done(&arena);
}
END_TEST

START_TEST(txt_lines) {
    fake_expect("txt", FAKE_UPPER, "", "");
    fake_expect("txt", FAKE_UPPER, "One.\n\n  two three  \r\nFour", "ONE.\n\n  TWO THREE  \r\nFOUR");
    fake_expect("txt", FAKE_UPPER, "12 34\n\n--\n", "12 34\n\n--\n");
    fake_expect("txt", FAKE_UPPER, "a\rb.\rC\r", "A\rB.\rC\r");
    fake_expect("txt", FAKE_UPPER, "\xef\xbb\xbfOne.\n", "\xef\xbb\xbfONE.\n");
    fake_expect("txt", FAKE_UPPER, "a < b & c\n", "A < B & C\n");
}
END_TEST

/* A sentence over lines is one text, and its words stay in their lines. */
START_TEST(txt_sentences_over_lines) {
    struct arena arena;
    struct html html;
    const char *text = "the dog runs\n  in the snow.\nIt is white.\n";
    arena_init(&arena, 1 << 14);
    ck_assert_int_eq(fake_read("txt", text, &arena, &html, NULL), 0);
    ck_assert_uint_eq(html.count, 2);
    ck_assert_uint_eq(html.segments[0].length, strlen("the dog runs in the snow."));
    ck_assert_int_eq(memcmp(html.segments[0].text, "the dog runs in the snow.", html.segments[0].length), 0);
    arena_done(&arena);
    fake_expect("txt", FAKE_UPPER, text, "THE DOG RUNS\n  IN THE SNOW.\nIT IS WHITE.\n");
    fake_expect("txt", FAKE_LONGER, "a b\nc.\n", "A A B B\nC. C.\n");
}
END_TEST

/* A list, or verses, are no sentence. */
START_TEST(txt_lines_apart) {
    fake_expect("txt", FAKE_REVERSED, "Red wine\nBlue cheese\n- a dog\n- a cat\n", "WINE RED\nCHEESE BLUE\n- DOG A\n- CAT A\n");
}
END_TEST

/* As few as can be are in another line than they came from, and each line has one at least. */
START_TEST(txt_words_that_change_places) {
    fake_expect("txt", FAKE_REVERSED, "a b c\nd\n", "D C B\nA\n");
    fake_expect("txt", FAKE_REVERSED, "one two three four\nfive six seven eight\n", "EIGHT\nSEVEN SIX FIVE FOUR THREE TWO ONE\n");
}
END_TEST

START_TEST(html_is_as_ever) {
    fake_expect("html", FAKE_UPPER, "<p>a <b>b</b></p><pre>c</pre>", "<p>A <b>B</b></p><pre>c</pre>");
}
END_TEST

/* Too much of something is found in its line. */
START_TEST(limits_name_lines) {
    char *deep = fake_long("<p>\n", "<i>", "", 1 << 11), *deep_xml = fake_long("<xliff>\n", "<a>", "", 1 << 11);
    fake_refused("html", deep, "line 2: elements nest deeper than 256");
    fake_refused("xliff", deep_xml, "line 2, column 766: elements nest deeper than 256");
    free(deep);
    free(deep_xml);
}
END_TEST

/* Where each format has text. */
static const struct {
    const char *format, *begin, *end;
} bombed[] = {
    {"txt", "", ""},
    {"md", "", ""},
    {"html", "<p>", "</p>"},
    {"json", "[\"", "\"]"},
    {"srt", "1\n00:00:01,000 --> 00:00:02,000\n", "\n"},
    {"vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n", "\n"},
    {"po", "#, c-format, sh-format, python-brace-format\nmsgid \"", "\"\nmsgstr \"\"\n"},
    {"xliff", "<xliff><segment><source>", "</source></segment></xliff>"},
};

/* Whatever is repeated in whichever format: it is refused with a message, or its translation is a document again, and neither takes
 * more memory than so much for each byte; what takes more than linear time takes longer than a test may. */
START_TEST(bombs_of_every_format) {
    enum { BYTES = 1 << 16, MEMORY_OF_A_BYTE = 400 };
    static const char *const middles[] = {"a",    "a ",     "<",    "<b>",       "</b>", "<b a='",   "&",        "&amp;", "&lol;",
                                          "&#1;", "\"",     "\\",   "\\n",       "{",    "}",        "{a} ",     "[",     "](",
                                          "%s ",  "%1",     "$a ",  "*",         "_",    "`",        "|",        "~",     "\n",
                                          "\r",   "\n\n- ", "<!--", "<![CDATA[", "<?a ", "\xcc\x81", "http://a "};
    for (size_t i = 0; i < sizeof middles / sizeof *middles; i++) {
        struct arena arena;
        struct html html;
        struct error error = {0};
        char *text = fake_long(bombed[_i].begin, middles[i], bombed[_i].end, BYTES);
        arena_init(&arena, 1 << 14);
        if (fake_read(bombed[_i].format, text, &arena, &html, &error) == 0)
            fake_document(bombed[_i].format, FAKE_REVERSED, text, &arena);
        else
            ck_assert_msg(error.code == ERROR_INPUT && *error.message, "%s, %s", bombed[_i].format, middles[i]);
        ck_assert_msg(arena_bytes(&arena) <= (size_t)BYTES * MEMORY_OF_A_BYTE, "%s, %s: %zu", bombed[_i].format, middles[i],
                      arena_bytes(&arena));
        free(text);
        arena_done(&arena);
    }
}
END_TEST

START_TEST(txt_without_end) {
    struct arena arena;
    char *text = fake_long("", "word ", "", 1 << 20), *lines = fake_long("", "word\n", "", 1 << 17);
    arena_init(&arena, 1 << 16);
    ck_assert_uint_eq(strlen(fake_document("txt", FAKE_UPPER, text, &arena)), strlen(text));
    ck_assert_uint_eq(strlen(fake_document("txt", FAKE_UPPER, lines, &arena)), strlen(lines));
    free(text);
    free(lines);
    arena_done(&arena);
}
END_TEST

Suite *document_suite(void) {
    Suite *suite = suite_create("document");
    TCase *cases = tcase_create("document");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, formats_by_name_and_type);
    tcase_add_test(cases, bytes_that_are_no_text);
    tcase_add_test(cases, txt_lines);
    tcase_add_test(cases, txt_sentences_over_lines);
    tcase_add_test(cases, txt_lines_apart);
    tcase_add_test(cases, txt_words_that_change_places);
    tcase_add_test(cases, html_is_as_ever);
    tcase_add_test(cases, limits_name_lines);
    tcase_add_loop_test(cases, bombs_of_every_format, 0, sizeof bombed / sizeof *bombed);
    tcase_add_test(cases, txt_without_end);
    return suite;
}
