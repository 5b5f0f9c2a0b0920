/* Marks in text: recognizing them, and writing each one beside its words. */
#include "server/documents/document.h"
#include "server/markup/marks.h"
#include "tests/suites.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 256 };

static struct arena arena;

static void setup(void) {
    arena_init(&arena, 1 << 16);
}

static void teardown(void) {
    arena_done(&arena);
}

/* In capitals; reversed: the last word comes first. White space after a label of signs stays, and
 * quotation marks are written as in French. */
static struct markup_translation translate(const struct markup_segment *segment, bool reversed) {
    struct span words[MOST_WORDS];
    struct markup_link *links = arena_alloc(&arena, MOST_WORDS, sizeof *links);
    char *text = arena_alloc(&arena, 2 * segment->length + 1, 1);
    size_t count = 0, length = 0;
    for (size_t at = 0; at < segment->length; at++) {
        size_t begin = at;
        while (at < segment->length && segment->text[at] != ' ')
            at++;
        if (at > begin && count < MOST_WORDS)
            words[count++] = (struct span){begin, at};
    }
    for (size_t i = 0; i < count; i++) {
        struct span word = words[reversed ? count - 1 - i : i];
        if (i > 0)
            text[length++] = ' ';
        if (i > 0 && !reversed && segment->text[words[i - 1].begin] == '-' &&
            segment->text[word.begin - 2] == ' ')
            text[length++] = ' ';
        size_t first = length;
        for (size_t at = word.begin; at < word.end; at++) {
            bool opens = strncmp(segment->text + at, "\u201c", 3) == 0;
            if (opens || strncmp(segment->text + at, "\u201d", 3) == 0) {
                length = (size_t)(stpcpy(text + length, opens ? "\u00ab " : " \u00bb") - text);
                at += 2;
            } else {
                text[length++] = (char)toupper((unsigned char)segment->text[at]);
            }
        }
        links[i] = (struct markup_link){word, {first, length}};
    }
    return (struct markup_translation){
        .text = text, .length = length, .links = links, .link_count = count};
}

/* NULL: there are no marks. */
static const char *run(const char *text, bool reversed) {
    struct markup html;
    bool marked;
    size_t length;
    ck_assert_int_eq(markup_parse_marked(text, strlen(text), &arena, &html, &marked, NULL), 0);
    if (!marked)
        return NULL;
    ck_assert(document_text_may_be_marked(text, strlen(text)));
    struct markup_translation *translations =
        arena_zalloc(&arena, html.count, sizeof *translations);
    for (size_t i = 0; i < html.count; i++)
        translations[i] = translate(&html.segments[i], reversed);
    const char *out = markup_write(&html, translations, &arena, &length, NULL);
    ck_assert_ptr_nonnull(out);
    return out;
}

START_TEST(no_marks) {
    static const char *const texts[] = {
        "",
        "a\nb\r\n",
        "Tim & Eve <3 mice",
        "a < b and c > d",
        "7 > 2",
        "AT&T",
        "R&D &c.",
        "Q&A; more",
        "if x <b and c> d",
        "Enter <your name> here",
        "<http://a.b/c> <me@a.b>",
        "<3> <",
        "a <b",
        "dear <<b>>, see <<c>>",
        "GNU's `quotes' and `more'",
        "a ` b ` c",
        "note: see :this",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(run(texts[i], false) == NULL, "%s has marks", texts[i]);
}
END_TEST

/* The same order of words, and the opposite. */
static const struct {
    const char *text, *same, *reversed;
} cases[] = {
    {"a <b>b</b> c", "A <b>B</b> C", "C <b>B</b> A"},
    {"a <0>b</0> <1/> c", "A <0>B</0> <1/> C", NULL},
    {"a <a href=\"x > y\" t='<'>b</a>", "A <a href=\"x > y\" t='<'>B</a>",
     "<a href=\"x > y\" t='<'>B</a> A"},
    {"a b.<br />c d", "A B.<br />C D", "B. A<br />D C"},
    {"<p>a b</p>\n<p>c</p>", "<p>A B</p>\n<p>C</p>", "<p>B A</p>\n<p>C</p>"},
    {"a <b>b <i>c</b> d", "A <b>B <i>C</b> D", NULL},
    {"say <name> now", "SAY <name> NOW", NULL},
    {"the <div> tag", "THE <div> TAG", NULL},
    {"a </b> b", "A </b> B", NULL},
    {"a <img src=x hidden> b", "A <img src=x hidden> B", NULL},
    {"a <code>b</code> c", "A <code>b</code> C", "C <code>b</code> A"},
    {"a <i translate=\"no\">b c</i> d", "A <i translate=\"no\">b c</i> D", NULL},
    {"the \u201c<x/>word\u201d here", "THE \u00ab <x/>WORD \u00bb HERE", NULL},
    {"- <img src=x> a", "- <img src=x> A", NULL},
    {"a <!-- b --> c", "A <!-- b --> C", NULL},
    {"<![CDATA[a <b>b</b>]]>", "<![CDATA[A <b>B</b>]]>", "<![CDATA[<b>B</b> A]]>"},
    {"10&nbsp;km &copy; a", "10&nbsp;KM &copy; A", NULL},
    {"a &amp; b", "A &amp; B", "B &amp; A"},
    {"don&#39;t &eacute;t&#xe9;", "DON'T \u00e9T\u00e9", NULL},
    {"&quot;a&quot; b", "&quot;A&quot; B", NULL},
    {"a &brandName; b", "A &brandName; B", NULL},
    {"a &lt;b&gt;b&lt;/b&gt; c", "A &lt;b&gt;B&lt;/b&gt; C", "C &lt;b&gt;B&lt;/b&gt; A"},
    {"run `make all` now", "RUN `make all` NOW", NULL},
    {"see ``x`` now", "SEE ``x`` NOW", "NOW ``x`` SEE"},
    {"see `the book <http://a.b>`_ now", "SEE `THE BOOK <http://a.b>`_ NOW",
     "NOW `BOOK THE <http://a.b>`_ SEE"},
    {"see `it`_ now", "SEE `IT`_ NOW", NULL},
    {"see :ref:`the book <a-b>` now", "SEE :ref:`THE BOOK <a-b>` NOW",
     "NOW :ref:`BOOK THE <a-b>` SEE"},
    {"see :class:`Foo` now", "SEE :class:`Foo` NOW", NULL},
};

START_TEST(marks) {
    const char *same = run(cases[_i].text, false), *reversed = run(cases[_i].text, true);
    ck_assert_msg(same != NULL, "%s has no marks", cases[_i].text);
    ck_assert_str_eq(same, cases[_i].same);
    if (cases[_i].reversed)
        ck_assert_str_eq(reversed, cases[_i].reversed);
}
END_TEST

/* A word of code, or one sign, is a word of the sentence; several signs would be several. */
START_TEST(signs_alone_are_no_word) {
    static const char *const texts[][2] = {
        {"press `a<b` now", "press a<b now"}, {"press `<` now", "press < now"},
        {"press `\\<` now", "press  now"},    {"press `{{}` now", "press  now"},
        {"press `404` now", "press 404 now"}, {"press `ls -l` now", "press  now"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct markup html;
        bool marked;
        const char *text = texts[i][0];
        ck_assert_int_eq(markup_parse_marked(text, strlen(text), &arena, &html, &marked, NULL), 0);
        ck_assert(marked);
        ck_assert_uint_eq(html.segments[0].length, strlen(texts[i][1]));
        ck_assert_mem_eq(html.segments[0].text, texts[i][1], html.segments[0].length);
    }
}
END_TEST

START_TEST(same_marks) {
    static const struct {
        const char *a, *b;
        bool references, same;
    } pairs[] = {
        {"a <b>b</b> &amp; c", "&amp; <b>d</b>", true, true},
        {"<b>a</b>", "a", true, false},
        {"<b>a</b>", "<b>a<b>", true, false},
        {"a &amp; b", "a et b", true, false},
        {"a &amp; b", "a et b", false, true},
        {"<a x=\"1\">a</a>", "<a x='1'>b</a>", false, true},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct bytes a = {pairs[i].a, strlen(pairs[i].a)}, b = {pairs[i].b, strlen(pairs[i].b)};
        ck_assert_msg(marks_same(a, b, pairs[i].references) == pairs[i].same, "%s and %s",
                      pairs[i].a, pairs[i].b);
    }
}
END_TEST

Suite *marks_suite(void) {
    Suite *suite = suite_create("marks");
    TCase *tests = tcase_create("marks");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, no_marks);
    tcase_add_loop_test(tests, marks, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tests, signs_alone_are_no_word);
    tcase_add_test(tests, same_marks);
    suite_add_tcase(suite, tests);
    return suite;
}
