/* Documents of every format, and plain text: prose is translated, and nothing else changes. */
#include "server/decode/outcome.h"
#include "tests/server/documents/fake.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

#if defined(SLOW) /* some twenty times slower */
enum { BOMB_BYTES = 1 << 15 };
#else
enum { BOMB_BYTES = 1 << 16 };
#endif

START_TEST(formats_by_name_and_type) {
    static const struct {
        const char *file, *type, *format;
    } cases[] = {{"a.txt", NULL, "txt"},
                 {"Film.FR.SRT", "application/octet-stream", "srt"},
                 {"a.htm", NULL, "html"},
                 {"talk.vtt", "text/plain", "vtt"},
                 {NULL, "text/html; charset=utf-8", "html"},
                 {"de", "application/json", "json"},
                 {"report.DOCM", NULL, "docx"},
                 {"book", "application/epub+zip", "epub"},
                 {"README.md", "application/octet-stream", "md"},
                 {"notes", "text/plain", "txt"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_ptr_eq(document_guess(cases[i].file, cases[i].type),
                         document_find(cases[i].format));
    ck_assert_ptr_null(document_guess("a.doc", NULL));
    ck_assert_ptr_nonnull(strstr(document_refusal("a.PDF"), "pdftotext"));
    ck_assert_ptr_nonnull(strstr(document_refusal("a.b.doc"), "docx"));
    ck_assert_ptr_null(document_refusal("a.docx"));
    ck_assert_ptr_null(document_refusal(NULL));
    ck_assert_ptr_null(document_guess("srt", NULL));
    ck_assert_ptr_null(document_guess(NULL, "application/octet-stream"));
    ck_assert_ptr_null(document_find("doc"));
}
END_TEST

/* A translation that lacks a sign is marked in a file that can have such a mark; otherwise the text
 * stays, with a note. */
START_TEST(translations_that_lack_something) {
    static const struct {
        const char *format, *source, *lossy, *complete;
    } rows[] = {
        {"po", "msgid \"a (b)\"\nmsgstr \"\"\n", "#, fuzzy\nmsgid \"a (b)\"\nmsgstr \"c\"\n",
         "\n\nmsgid \"a (b)\"\nmsgstr \"c\"\n"},
        {"xliff",
         "<xliff><trans-unit><source>a (b)</source><target state=\"new\"/></trans-unit></xliff>",
         "<xliff target-language=\"fr\"><trans-unit><source>a (b)</source><target "
         "state=\"needs-review-translation\">c</target></trans-unit></xliff>",
         "<xliff target-language=\"fr\"><trans-unit><source>a (b)</source><target "
         "state=\"translated\">c</target></trans-unit></xliff>"},
        {"json", "{\"title\": \"a (b) here\"}", "{\"title\": \"a (b) here\"}",
         "{\"title\": \"c\"}"},
    };
    struct arena arena;
    arena_init(&arena, 1 << 14);
    struct outcome *outcome = arena_zalloc(&arena, 1, sizeof *outcome + 8);
    outcome->length = 1;
    outcome->text[0] = 'c';
    for (size_t i = 0; i < 2 * (sizeof rows / sizeof *rows); i++) {
        bool lossy = i % 2;
        struct document_notes notes = {.arena = &arena};
        struct document document = {.format = document_find(rows[i / 2].format),
                                    .source = rows[i / 2].source,
                                    .length = strlen(rows[i / 2].source),
                                    .language = FAKE_LANGUAGE,
                                    .notes = &notes};
        struct markup html;
        ck_assert_int_eq(document_read(&document, &arena, &html, NULL), 0);
        ck_assert_uint_eq(html.count, 1);
        struct job job = {.source = {0, html.segments->length}, .outcome = outcome};
        struct text text = {.source = html.segments->text,
                            .source_length = html.segments->length,
                            .jobs = &job,
                            .count = 1};
        struct markup_translation translation;
        size_t length;
        outcome->lists[CHECK_SIGNS].source_count = lossy;
        ck_assert_int_eq(document_translate(&text, &arena, &translation), 0);
        ck_assert_int_eq(translation.lossy, lossy);
        const char *written = document_write(&document, &html, &translation, &arena, &length, NULL);
        ck_assert_msg(strstr(written, lossy ? rows[i / 2].lossy : rows[i / 2].complete), "%s",
                      written);
        ck_assert_uint_eq(notes.count, lossy && i / 2 == 2);
    }
    arena_done(&arena);
}
END_TEST

/* Input that is not text, in every format. */
START_TEST(bytes_that_are_no_text) {
    struct arena arena;
    arena_init(&arena, 1 << 14);
    for (size_t i = 0; document_nth(i); i++) {
        if (document_nth(i)->archive)
            continue;
        struct markup html;
        struct error invalid = {0}, zero = {0};
        ck_assert_int_eq(document_read(&(struct document){.format = document_nth(i),
                                                          .source = "a\nb\n\xff",
                                                          .length = 5,
                                                          .language = FAKE_LANGUAGE},
                                       &arena, &html, &invalid),
                         -1);
        ck_assert_str_eq(invalid.message, "line 3 is not valid UTF-8");
        ck_assert_int_eq(document_read(&(struct document){.format = document_nth(i),
                                                          .source = "a\n\0b",
                                                          .length = 4,
                                                          .language = FAKE_LANGUAGE},
                                       &arena, &html, &zero),
                         -1);
        ck_assert_str_eq(zero.message, "line 2 contains a zero byte");
    }
    arena_done(&arena);
}
END_TEST

struct encoded {
    const char *format, *type, *before;
    size_t before_length;
    const char *translation, *after; /* of every segment; the file, or the error */
    size_t after_length;
    size_t notes;
};
#define BYTES(text) text, sizeof text - 1
#define PO_HEAD(charset)                                                                           \
    "msgid \"\"\nmsgstr \"\"\n\"Language: fr\\n\"\n\"MIME-Version: 1.0\\n\"\n\"Content-Type: "     \
    "text/plain; charset=" charset                                                                 \
    "\\n\"\n\"Content-Transfer-Encoding: 8bit\\n\"\n\"Plural-Forms: nplurals=2; plural=(n > "      \
    "1);\\n\"\n\n"

/* A file is read in the encoding that its bytes show, or that its sender or the file itself states,
 * and written in the same. */
START_TEST(encodings) {
    static const struct encoded cases[] = {
        {"txt", NULL, BYTES("\xff\xfe\xe9\0\n\0"), "e\u0300 \u0153",
         BYTES("\xff\xfe"
               "e\0\0\x03 \0\x53\x01\n\0"),
         0},
        {"txt", NULL, BYTES("\xff\xfe\0\0\xe9\0\0\0"), "a", BYTES("\xff\xfe\0\0a\0\0\0"), 0},
        {"md", NULL, BYTES("\0a\0b"), "c", BYTES("\0c"), 0},
        {"txt", "text/plain; charset=\"koi8-r\"", BYTES("\xc1"), "\u0431", BYTES("\xc2"), 0},
        {"txt", "text/plain; charset=iso-8859-1", BYTES("\xe9."), "\u0153", BYTES("\u0153"), 1},
        {"html", NULL, BYTES("<meta charset=\"windows-1252\"/><p>caf\xe9 \x80</p>"),
         "\u0153 \u03b1 <", BYTES("<meta charset=\"windows-1252\"/><p>\x9c &#945; &lt;</p>"), 0},
        {"html", NULL,
         BYTES("<!-- <meta charset=utf-8> --><meta content=\"text/html; "
               "charset=Shift_JIS\"/>\x83\x65"),
         "\u30c6",
         BYTES("<!-- <meta charset=utf-8> --><meta content=\"text/html; "
               "charset=Shift_JIS\"/>\x83\x65"),
         0},
        {"html", NULL, BYTES("<meta charset=\"iso-8859-1\"/>\xc3\xa9"), "\u0153",
         BYTES("<meta charset=\"iso-8859-1\"/>\u0153"), 0},
        {"html", NULL, BYTES("<meta charset=\"utf-16\"/>a"), "b",
         BYTES("<meta charset=\"utf-16\"/>b"), 0},
        {"html", NULL, BYTES("<meta charset=utf-8>\n\xe9"), NULL,
         BYTES("line 2 is not valid UTF-8"), 0},
        {"html", NULL, BYTES("<meta charset=euc-jp>\n\n\xe9"), NULL,
         BYTES("line 3 is not valid euc-jp"), 0},
        {"html", NULL, BYTES("<meta charset=x-none>\xe9"), NULL,
         BYTES("the encoding \"x-none\" is not known"), 0},
        {"xliff", NULL,
         BYTES("<?xml version='1.0' encoding='ISO-8859-1'?>\n<xliff version='1.2'><file "
               "source-language='en' target-language='fr'>"
               "<trans-unit><source>\xe9</source></trans-unit></file></xliff>"),
         "\u0153\u00e8",
         BYTES("<?xml version='1.0' encoding='ISO-8859-1'?>\n<xliff version='1.2'><file "
               "source-language='en' target-language='fr'>"
               "<trans-unit><source>\xe9</source><target "
               "state=\"translated\">&#339;\xe8</target></trans-unit></file></xliff>"),
         0},
        {"po", NULL, BYTES("# \xe9\n" PO_HEAD("ISO-8859-1") "msgid \"\xe9\"\nmsgstr \"\"\n"),
         "\u00e8", BYTES("# \xe9\n" PO_HEAD("ISO-8859-1") "msgid \"\xe9\"\nmsgstr \"\xe8\"\n"), 0},
        {"po", NULL, BYTES(PO_HEAD("ISO-8859-1") "msgid \"\xe9\"\nmsgstr \"\"\n"), "\u0153",
         BYTES(PO_HEAD("UTF-8") "msgid \"\u00e9\"\nmsgstr \"\u0153\"\n"), 1},
        {"po", NULL, BYTES(PO_HEAD("CHARSET") "msgid \"a\"\nmsgstr \"\"\n"), "\u0153",
         BYTES(PO_HEAD("UTF-8") "msgid \"a\"\nmsgstr \"\u0153\"\n"), 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct encoded *own = &cases[i];
        struct arena arena;
        struct document_notes notes = {.arena = &arena};
        struct document document = {.format = document_find(own->format),
                                    .source = own->before,
                                    .length = own->before_length,
                                    .language = FAKE_LANGUAGE,
                                    .notes = &notes};
        struct markup html;
        struct error error = {0};
        size_t length;
        arena_init(&arena, 1 << 14);
        int result = document_decode(&document, own->type, NULL, &arena, &error);
        result = result == 0 ? document_read(&document, &arena, &html, &error) : result;
        if (!own->translation) {
            ck_assert_int_eq(result, -1);
            ck_assert_str_eq(error.message, own->after);
        } else {
            ck_assert_msg(result == 0, "%zu: %s", i, error.message);
            const struct markup_translation translation = {.text = own->translation,
                                                           .length = strlen(own->translation)};
            ck_assert_msg(html.count == 1, "%zu: %zu texts", i, html.count);
            const char *out =
                document_write(&document, &html, &translation, &arena, &length, &error);
            ck_assert_ptr_nonnull(out);
            ck_assert_msg(length == own->after_length && memcmp(out, own->after, length) == 0,
                          "%zu: %.*s", i, (int)length, out);
            ck_assert_uint_eq(notes.count, own->notes);
        }
        arena_done(&arena);
    }
}
END_TEST

START_TEST(txt_lines) {
    fake_expect("txt", FAKE_UPPER, "", "");
    fake_expect("txt", FAKE_UPPER, "One.\n\n  two three  \r\nFour",
                "ONE.\n\n  TWO THREE  \r\nFOUR");
    fake_expect("txt", FAKE_UPPER, "12 34\n\n--\n", "12 34\n\n--\n");
    fake_expect("txt", FAKE_UPPER, "a\rb.\rC\r", "A\rB.\rC\r");
    fake_expect("txt", FAKE_UPPER, "\xef\xbb\xbfOne.\n", "\xef\xbb\xbfONE.\n");
    fake_expect("txt", FAKE_UPPER, "a < b & c\n", "A < B & C\n");
    fake_expect("txt", FAKE_UPPER, "a\tb  d\t\n\te\n", "A\tB D\t\n\tE\n");
    fake_expect("txt", FAKE_REVERSED, "- a b\n\u2022c d\n > a) e f\nb. g h\nj k\n",
                "- B A\n\u2022D C\n > a) F E\nK J H G\nB.\n");
}
END_TEST

/* Cells of what is clearly a table are texts. The same words as prose, or with a row too short, run
 * on. */
START_TEST(txt_tables) {
    fake_expect("txt", FAKE_REVERSED,
                "A b.\n\nbig dog,an old cat\r\na b,\nc d,\"e \"\"f\"\", g\"\n\nA b",
                "B. A\n\nDOG BIG,CAT OLD AN\r\nB A,\nD C,\"G \"\"F\"\", E\"\n\nB A");
    fake_expect("txt", FAKE_REVERSED, "a b;c d;e f\n12;g (h i);j k", "B A;D C;F E\n12;I) (H G;K J");
    fake_expect("txt", FAKE_REVERSED, "a; b,c d,e\nf g,h,i",
                "\"B A;\",D C,E\nG F,H,I"); /* needs quotation marks now */
    fake_expect("txt", FAKE_REVERSED, "A b,c d\nE f,g h", "D B,C A\nH F,G E"); /* too few cells */
    fake_expect("txt", FAKE_REVERSED, "A b, c d, e f\nG h, i j, k l",
                "F E D, C B, A\nL K J, I H, G");
    fake_expect("txt", FAKE_REVERSED, "A b,c d\nE f,g h\nI j", "D B,C A\nH F,G E\nJ I");
    fake_expect("txt", FAKE_REVERSED, "Call f(a,b)\nCall g(c,d)\nCall h(e,f)",
                "F(A,B) CALL\nG(C,D) CALL\nH(E,F) CALL");
}
END_TEST

/* A sentence over lines is one text, and its words stay in their lines. */
START_TEST(txt_sentences_over_lines) {
    struct arena arena;
    struct markup html;
    const char *text = "the dog runs\n  in the snow.\nIt is white.\n";
    arena_init(&arena, 1 << 14);
    ck_assert_int_eq(fake_read("txt", text, &arena, &html, NULL), 0);
    ck_assert_uint_eq(html.count, 2);
    ck_assert_uint_eq(html.segments[0].length, strlen("the dog runs in the snow."));
    ck_assert_int_eq(
        memcmp(html.segments[0].text, "the dog runs in the snow.", html.segments[0].length), 0);
    arena_done(&arena);
    fake_expect("txt", FAKE_UPPER, text, "THE DOG RUNS\n  IN THE SNOW.\nIT IS WHITE.\n");
    fake_expect("txt", FAKE_LONGER, "a b\nc.\n", "A A B B\nC. C.\n");
}
END_TEST

/* A list, or verses, are no sentence. */
START_TEST(txt_lines_apart) {
    fake_expect("txt", FAKE_REVERSED, "Red wine\nBlue cheese\n- a dog\n- a cat\n",
                "WINE RED\nCHEESE BLUE\n- DOG A\n- CAT A\n");
    fake_expect(
        "txt", FAKE_REVERSED, "red wine\nblue cheese\nold bread\n\na b\nc d\n",
        "WINE RED\nCHEESE BLUE\nBREAD OLD\n\nD\nC B A\n"); /* a list of three, prose of two */
    fake_expect("txt", FAKE_REVERSED, "red wine\nblue cheese\nold bread.\n",
                "BREAD.\nOLD CHEESE BLUE WINE\nRED\n");
}
END_TEST

/* As few as can be are in another line than they came from, and each line has one at least. */
START_TEST(txt_words_that_change_places) {
    fake_expect("txt", FAKE_REVERSED, "a b c\nd\n", "D C B\nA\n");
    fake_expect("txt", FAKE_REVERSED, "one two three four\nfive six seven eight\n",
                "EIGHT\nSEVEN SIX FIVE FOUR THREE TWO ONE\n");
}
END_TEST

START_TEST(html_is_as_ever) {
    fake_expect("html", FAKE_UPPER, "<p>a <b>b</b></p><pre>c</pre>",
                "<p>A <b>B</b></p><pre>c</pre>");
}
END_TEST

/* Directives of templates stay where they are and separate texts; what writes a value is a word. */
START_TEST(html_of_templates) {
    static const char *const rows[][2] = {
        {"{% extends \"a\" %}\n{% block b %}a b{% endblock %}\n<p>{% if c < 1 %}c d{% else %}{{E}} "
         "f{% endif %} g h</p>",
         "{% extends \"a\" %}\n{% block b %}B A{% endblock %}\n<p>{% if c < 1 %}D C{% else %}F "
         "{{E}}{% endif %} H G</p>"},
        {"<p>a b {{#if c}}d e{{else}}f g{{/if}}</p>{{> part}}{{! no }}<p>{# no #}a b</p>",
         "<p>B A {{#if c}}E D{{else}}G F{{/if}}</p>{{> part}}{{! no }}<p>{# no #}B A</p>"},
        {"{{- range $a := .B }}<p>{{ if .C }}a b{{ else }}c d{{ end }}</p>{{~#if a}}b c{{~/if}}",
         "{{- range $a := .B }}<p>{{ if .C }}B A{{ else }}D C{{ end }}</p>{{~#if a}}C B{{~/if}}"},
        {"<% if (a < b && c > d) { %><p>a b</p><% } %><p><%= a.b %> c</p>",
         "<% if (a < b && c > d) { %><p>B A</p><% } %><p>C <%= a.b %></p>"},
        {"<?php if ($a->b > 3): ?><p>a <?= $b->c ?> d</p><?php endif; ?>",
         "<?php if ($a->b > 3): ?><p>D <?= $b->c ?> A</p><?php endif; ?>"},
        {"<html><head><title>{% block t %}a b{% endblock %}</title></head><body>a b</body></html>",
         "<html><head><title>{% block t %}B A{% endblock %}</title></head><body>B A</body></html>"},
        {"<li <%= a %> title=\"a b\">a b</li><li <% if (a > 1) { %>class=\"b\"<% } %>>a b</li>",
         "<li <%= a %> title=\"B A\">B A</li><li <% if (a > 1) { %> class=\"b\" <% } %>>B A</li>"},
        {"<a href=\"<%= b(\"c\") %>?a<b\" title=\"<?= $a ?>\">a b</a><input a<% } %> title='a b'>",
         "<a href=\"<%= b(\"c\") %>?a&lt;b\" title=\"<?= $a ?>\">B A</a><input a <% } %> title=\"B "
         "A\"/>"},
        {"<p>5 <% of a</p><?php b", "<p>A OF &lt;% 5</p><?php b"}, /* without an end */
        {"<p>a {% b {{#c <b>d</b></p>", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct arena arena;
        arena_init(&arena, 1 << 14);
        char *made = fake_document("html", FAKE_REVERSED, rows[i][0], &arena);
        if (rows[i][1])
            ck_assert_str_eq(made, rows[i][1]);
        arena_done(&arena);
    }
}
END_TEST

/* Too much of something is found in its line. */
START_TEST(limits_name_lines) {
    char *deep = fake_long("<p>\n", "<i>", "", 1 << 11),
         *deep_xml = fake_long("<xliff>\n", "<a>", "", 1 << 11);
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
    {"csv", "a,b\n\"", ""},
    {"rst", "", ""},
    {"adoc", "", ""},
    {"tex", "", ""},
    {"xcstrings", "{\"sourceLanguage\":\"en\",\"strings\":{\"", "\":{}}}"},
};

/* Whatever is repeated in whichever format: it is refused with a message, or its translation is a
 * document again, and neither takes more memory than so much for each byte; what takes more than
 * linear time takes longer than a test may. */
START_TEST(bombs_of_every_format) {
    enum { MEMORY_OF_A_BYTE = 400 };
    static const char *const middles[] = {
        "a",        "a ",        "<",      "<b>",   "</b>",   "<b a='", "&",         "&amp;",
        "&lol;",    "&#1;",      "\"",     "\\",    "\\n",    "{",      "}",         "{a} ",
        "[",        "](",        "%s ",    "%1",    "$a ",    "*",      "_",         "`",
        "|",        "~",         "\n",     "\r",    "\n\n- ", "<!--",   "<![CDATA[", "<?a ",
        "\xcc\x81", "http://a ", "{% if ", "{{#a ", "<% "};
    for (size_t i = 0; i < sizeof middles / sizeof *middles; i++) {
        struct arena arena;
        struct markup html;
        struct error error = {0};
        char *text = fake_long(bombed[_i].begin, middles[i], bombed[_i].end, BOMB_BYTES);
        arena_init(&arena, 1 << 14);
        if (fake_read(bombed[_i].format, text, &arena, &html, &error) == 0)
            fake_document(bombed[_i].format, FAKE_REVERSED, text, &arena);
        else
            ck_assert_msg(error.code == ERROR_INPUT && *error.message, "%s, %s", bombed[_i].format,
                          middles[i]);
        ck_assert_msg(arena_bytes(&arena) <= (size_t)BOMB_BYTES * MEMORY_OF_A_BYTE, "%s, %s: %zu",
                      bombed[_i].format, middles[i], arena_bytes(&arena));
        free(text);
        arena_done(&arena);
    }
}
END_TEST

/* White space is looked at once, however many lines it has. */
START_TEST(line_feeds_without_end) {
    struct arena arena;
    char *text = fake_long("<p>a", "\n", "b</p>", 1 << 20);
    arena_init(&arena, 1 << 16);
    ck_assert_ptr_nonnull(fake_document("html", FAKE_UPPER, text, &arena));
    free(text);
    arena_done(&arena);
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
    tcase_add_test(cases, translations_that_lack_something);
    tcase_add_test(cases, encodings);
    tcase_add_test(cases, txt_lines);
    tcase_add_test(cases, txt_tables);
    tcase_add_test(cases, txt_sentences_over_lines);
    tcase_add_test(cases, txt_lines_apart);
    tcase_add_test(cases, txt_words_that_change_places);
    tcase_add_test(cases, html_is_as_ever);
    tcase_add_test(cases, html_of_templates);
    tcase_add_test(cases, limits_name_lines);
    tcase_add_loop_test(cases, bombs_of_every_format, 0, sizeof bombed / sizeof *bombed);
    tcase_add_test(cases, line_feeds_without_end);
    tcase_add_test(cases, txt_without_end);
    return suite;
}
