/* XML to texts and back: elements that end segments, untranslated parts, and refusals. */
#include "server/markup/markup.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

static const char *const x[] = {"x", "keep"}, *const par[] = {"par", "br"}, *const b[] = {"b"};
static const struct xml_tags outline = {.ignored = {x, 2},
                                        .splitting = {par, 2},
                                        .inline_names = {b, 1},
                                        .outline = true},
                             flat = {.ignored = {x, 2}, .splitting = {par, 2}};

static const struct {
    const char *markup;
    const struct xml_tags *tags;
    const char *texts[5]; /* of the segments */
} cases[] = {
    {"A boy plays.", &outline, {"A boy plays."}},
    {"A <i>boy</i> plays.", &outline, {"A boy plays."}},
    {"A boy <keep>Mary Ann</keep> plays.", &outline, {"A boy  plays."}},
    {"A boy <x id=\"1\"></x> plays <x id=\"2\"/>.", &outline, {"A boy  plays ."}},
    {"A boy <x>%s</x> plays.", &outline, {"A boy %s plays."}}, /* one word stands in for itself */
    {"<doc><title>A title</title><p>A <i>boy</i>.</p></doc>", &outline, {"A title", "A boy."}},
    {"<doc><title>A title</title><p>A <i>boy</i>.</p></doc>", &flat, {"A titleA boy."}},
    {"<b>A boy</b> <b>and a dog</b>", &outline, {"A boy and a dog"}}, /* never splitting */
    {"<p>A boy<par>and</par>a dog</p>", &outline, {"A boy", "and", "a dog"}},
    {"<p>A boy<i>and</i></p>", &flat, {"A boyand"}},
    {"Tom &amp; &lt;Ann&gt; &#233;t&#xE9; &quot;x&quot;",
     &outline,
     {"Tom & <Ann> \xc3\xa9t\xc3\xa9 \"x\""}},
    {"Tom & Ann &c", &outline, {"Tom & Ann &c"}},
    {"A &nbsp; boy", &outline, {"A  boy"}},                /* a unit */
    {"A &#1; &#xffff; boy&#9;.", &outline, {"A   boy ."}}, /* XML has no such characters */
    {"A <![CDATA[boy < dog]]> plays", &outline, {"A boy < dog plays"}},
    {"<?xml version=\"1.0\"?>\n<!-- no --><p title='a > b'>A boy</p>", &outline, {"A boy"}},
    {"<p translate=\"no\">A boy</p> <p>A dog</p>", &outline, {"A dog"}},
    {"<i=\"no\">A boy</i=\"no\">", &flat, {"A boy"}}, /* text before the tag is not an attribute */
    {"<i x-translate='no'>A boy</i>", &flat, {"A boy"}},
    {"<p>A boy<x/>A dog<x>1</x>Cats <x/>run<x/>.</p>",
     &flat,
     {"A boy", "A dog", "Cats run."}}, /* parts words without space */
    {"<p>caf&eacute;s<!-- a -->b</p>", &flat, {"cafsb"}},
    {"", &outline, {NULL}},
    {" \n ", &outline, {NULL}},
    {"<p>12</p>", &outline, {NULL}},
    {"caf\xc3\xa9 <i>\xc3\xa9</i>", &flat, {"caf\xc3\xa9 \xc3\xa9"}},
};

/* And untranslated, all comes out as it was, but for references that are not needed. */
START_TEST(segments) {
    struct markup html;
    ck_assert_int_eq(markup_parse_xml(cases[_i].markup, strlen(cases[_i].markup), cases[_i].tags,
                                      &arena, &html, &err),
                     0);
    size_t count = 0, length;
    while (count < 5 && cases[_i].texts[count])
        count++;
    ck_assert_uint_eq(html.count, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(html.segments[i].length, strlen(cases[_i].texts[i]));
        ck_assert_mem_eq(html.segments[i].text, cases[_i].texts[i], html.segments[i].length);
    }
    struct markup_translation *none = arena_zalloc(&arena, count, sizeof *none);
    const char *written = markup_write(&html, none, &arena, &length, NULL);
    ck_assert_ptr_nonnull(written);
    if (!strpbrk(cases[_i].markup, "&[")) /* no references, no CDATA */
        ck_assert_str_eq(written, cases[_i].markup);
}
END_TEST

START_TEST(references_are_written_again) {
    static const char markup[] = "<p>Tom &amp; &lt;Ann&gt; &quot;x&quot; &nbsp;</p>";
    struct markup html;
    struct markup_translation none = {0};
    size_t length;
    ck_assert_int_eq(markup_parse_xml(markup, strlen(markup), &outline, &arena, &html, NULL), 0);
    ck_assert_str_eq(markup_write(&html, &none, &arena, &length, NULL),
                     "<p>Tom &amp; &lt;Ann&gt; \"x\" &nbsp;</p>");
    /* control characters are white space, for which there is nothing to translate */
    ck_assert_int_eq(markup_parse_xml("<p>\x01</p>", 8, &outline, &arena, &html, NULL), 0);
    ck_assert_uint_eq(html.count, 0);
    ck_assert_str_eq(markup_write(&html, &none, &arena, &length, NULL), "<p> </p>");
}
END_TEST

static const struct {
    const char *markup, *message;
} wrong[] = {
    {"<a>x", "line 1, column 5: missing end tag: a"},
    {"x\n<a></b>", "line 2, column 4: mismatched end tag: b"},
    {"\u00e9\u00e9 <b", "line 1, column 4: incomplete tag"},
    {"</a>", "line 1, column 1: end tag without a start tag: a"},
    {"x <", "line 1, column 3: incomplete tag"},
    {"x < y", "line 1, column 3: incomplete tag"},
    {"<a b=\"x>", "line 1, column 1: incomplete tag"},
    {"<a <b>", "line 1, column 1: incomplete tag"},
    {"<!-- x", "line 1, column 1: missing end of <!--"},
    {"<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
     "line 1, column 1: declarations, such as a document type, are not allowed"},
};

START_TEST(refusals) {
    struct markup html;
    ck_assert_int_eq(
        markup_parse_xml(wrong[_i].markup, strlen(wrong[_i].markup), &outline, &arena, &html, &err),
        -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    ck_assert_str_eq(err.message, wrong[_i].message);
}
END_TEST

START_TEST(depth) {
    char *markup = malloc(7 * (MARKUP_MAX_DEPTH + 1) + 1), *end = markup;
    struct markup html;
    for (size_t i = 0; i <= MARKUP_MAX_DEPTH; i++)
        end = mempcpy(end, "<a>", 3);
    for (size_t i = 0; i < MARKUP_MAX_DEPTH; i++)
        end = mempcpy(end, "</a>", 4);
    ck_assert_int_eq(
        markup_parse_xml(markup + 3, (size_t)(end - markup) - 3, &outline, &arena, &html, &err), 0);
    ck_assert_int_eq(
        markup_parse_xml(markup, (size_t)(end - markup), &outline, &arena, &html, &err), -1);
    ck_assert_str_eq(err.message, "line 1, column 769: elements nest deeper than 256");
    free(markup);
}
END_TEST

Suite *xml_suite(void) {
    Suite *suite = suite_create("xml");
    TCase *tcase = tcase_create("xml");
    tcase_add_checked_fixture(tcase, scratch_setup, scratch_teardown);
    tcase_add_loop_test(tcase, segments, 0, (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tcase, references_are_written_again);
    tcase_add_loop_test(tcase, refusals, 0, (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(tcase, depth);
    suite_add_tcase(suite, tcase);
    return suite;
}
