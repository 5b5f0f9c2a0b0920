/* XLIFF 1.2 and 2: units without a target get one, and nothing else changes. */
#include "tests/server/documents/fake.h"
#include "tests/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD                                                                                       \
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<xliff version=\"1.2\"><file "                    \
    "source-language=\"en\""
#define OLD(units)      HEAD " target-language=\"fr\"><body>" units "</body></file></xliff>\n"
#define SAME(old, done) fake_expect("xliff", FAKE_UPPER, OLD(old), OLD(done))

START_TEST(targets) {
    SAME("\n<trans-unit id=\"1\">\n <source>a dog</source>\n <note>keep</note>\n</trans-unit>\n",
         "\n<trans-unit id=\"1\">\n <source>a dog</source>\n <target state=\"translated\">A "
         "DOG</target>\n <note>keep</note>\n"
         "</trans-unit>\n");
    SAME("<trans-unit><source>a</source><target/></trans-unit>",
         "<trans-unit><source>a</source><target state=\"translated\">A</target></trans-unit>");
    SAME("<trans-unit><source>a</source><target></target></trans-unit>",
         "<trans-unit><source>a</source><target state=\"translated\">A</target></trans-unit>");
    SAME("<trans-unit><source>a</source><target id='2' state='new' >a</target></trans-unit>",
         "<trans-unit><source>a</source><target id='2' state='translated'>A</target></trans-unit>");
    SAME("<trans-unit><source>12 <x id=\"1\"/></source></trans-unit>",
         "<trans-unit><source>12 <x id=\"1\"/></source></trans-unit>");
    fake_expect(
        "xliff", FAKE_UPPER,
        "<n:xliff "
        "xmlns:n=\"u\"><n:file><n:trans-unit><n:source>a</n:source></n:trans-unit></n:file></"
        "n:xliff>",
        "<n:xliff xmlns:n=\"u\"><n:file target-language=\"fr\"><n:trans-unit><n:source>a</n:source>"
        "<n:target state=\"translated\">A</n:target></n:trans-unit></n:file></n:xliff>");
}
END_TEST

/* A target may hold what the source holds: it declares the same prefixes, unless it does so
 * already. */
START_TEST(namespaces) {
    SAME("<trans-unit><source xmlns:k='urn:k' xml:lang=\"en\">a <g "
         "k:n=\"1\">b</g></source></trans-unit>",
         "<trans-unit><source xmlns:k='urn:k' xml:lang=\"en\">a <g k:n=\"1\">b</g></source>"
         "<target state=\"translated\" xmlns:k='urn:k'>A <g k:n=\"1\">B</g></target></trans-unit>");
    SAME(
        "<trans-unit><source xmlns:k=\"urn:k\" xmlns:l=\"urn:l\">a</source><target "
        "xmlns:l=\"urn:m\"/></trans-unit>",
        "<trans-unit><source xmlns:k=\"urn:k\" xmlns:l=\"urn:l\">a</source>"
        "<target xmlns:l=\"urn:m\" state=\"translated\" xmlns:k=\"urn:k\">A</target></trans-unit>");
    SAME("<trans-unit><source>a</source><seg-source xmlns:k=\"urn:k\">a</seg-source></trans-unit>",
         "<trans-unit><source>a</source><seg-source xmlns:k=\"urn:k\">a</seg-source>"
         "<target state=\"translated\" xmlns:k=\"urn:k\">A</target></trans-unit>");
}
END_TEST

/* Markup that is written with references is markup all the same. */
START_TEST(escaped_markup) {
    SAME("<trans-unit><source>see &lt;a href=\"x\"&gt;the page&lt;/a&gt; &amp;amp; "
         "go</source></trans-unit>",
         "<trans-unit><source>see &lt;a href=\"x\"&gt;the page&lt;/a&gt; &amp;amp; go</source>"
         "<target state=\"translated\">SEE &lt;a href=\"x\"&gt;THE PAGE&lt;/a&gt; &amp;amp; "
         "GO</target></trans-unit>");
    SAME("<trans-unit><source><![CDATA[a <b>b</b><br>c]]></source></trans-unit>",
         "<trans-unit><source><![CDATA[a <b>b</b><br>c]]></source>"
         "<target state=\"translated\">A &lt;b&gt;B&lt;/b&gt;&lt;br&gt;C</target></trans-unit>");
    SAME("<trans-unit><source>&lt;b&gt;a <x id=\"1\"/> b&lt;/b&gt;</source></trans-unit>",
         "<trans-unit><source>&lt;b&gt;a <x id=\"1\"/> b&lt;/b&gt;</source>"
         "<target state=\"translated\">&lt;b&gt;A <x id=\"1\"/> B&lt;/b&gt;</target></trans-unit>");
}
END_TEST

/* An element without words is an argument of a message. */
START_TEST(elements_in_messages) {
    SAME("<trans-unit><source>{n, plural, =1 {a dog} other {<x id=\"1\" e=\"{{n}}\"/> dogs &amp; "
         "cats}}</source></trans-unit>",
         "<trans-unit><source>{n, plural, =1 {a dog} other {<x id=\"1\" e=\"{{n}}\"/> dogs &amp; "
         "cats}}</source>"
         "<target state=\"translated\">{n, plural, =1 {A DOG} other {<x id=\"1\" e=\"{{n}}\"/> "
         "DOGS &amp; CATS}}</target>"
         "</trans-unit>");
}
END_TEST

/* Only the attribute `state` says what the state is. */
START_TEST(other_attributes) {
    SAME("<trans-unit><source>a</source><target id=\"final\"/></trans-unit>",
         "<trans-unit><source>a</source><target id=\"final\" "
         "state=\"translated\">A</target></trans-unit>");
    SAME("<trans-unit><source>a</source><target id=\"new\">b</target></trans-unit>",
         "<trans-unit><source>a</source><target id=\"new\">b</target></trans-unit>");
}
END_TEST

/* Units that are finished or must not be translated. */
START_TEST(untouched) {
    static const char *const units[] = {
        "<trans-unit><source>a</source><target>b</target></trans-unit>",
        "<trans-unit><source>a</source><target state=\"translated\">b</target></trans-unit>",
        "<trans-unit><source>a</source><target state=\"final\"/></trans-unit>",
        "<trans-unit approved=\"yes\"><source>a</source><target "
        "state=\"new\">b</target></trans-unit>",
        "<trans-unit translate=\"no\"><source>a</source></trans-unit>",
        "<group translate=\"no\"><trans-unit><source>a</source></trans-unit></group>",
        "<trans-unit><source/></trans-unit>",
        "<trans-unit><source>a</source><target>b</target><alt-trans><source>a</source></"
        "alt-trans></trans-unit>",
        "<unit><segment "
        "state=\"final\"><source>a</source></segment><ignorable><source>a</source></ignorable></"
        "unit>",
        "<unit><segment state=\"reviewed\"><source>a</source><target>b</target></segment></unit>",
        "<bin-unit><bin-source>a</bin-source></bin-unit>",
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        char text[512];
        snprintf(text, sizeof text, OLD("%s"), units[i]);
        fake_expect("xliff", FAKE_UPPER, text, text);
    }
}
END_TEST

#define NEW(language, units)                                                                       \
    "<xliff xmlns=\"urn:oasis:names:tc:xliff:document:2.0\" version=\"2.0\" "                      \
    "srcLang=\"en\"" language "><file id=\"f\">" units "</file></xliff>\n"

START_TEST(segments) {
    fake_expect(
        "xliff", FAKE_UPPER,
        NEW("", "<unit id=\"u\"><originalData><data id=\"d\">&lt;b></data></originalData><segment "
                "id=\"s\" >\n <source>a <pc "
                "id=\"1\">big dog</pc> runs</source>\n</segment><ignorable><source> "
                "</source></ignorable></unit>"),
        NEW(" trgLang=\"fr\"",
            "<unit id=\"u\"><originalData><data id=\"d\">&lt;b></data></originalData><segment "
            "id=\"s\" state=\"translated\" >\n"
            " <source>a <pc id=\"1\">big dog</pc> runs</source>\n <target>A <pc id=\"1\">BIG "
            "DOG</pc> RUNS</target>\n"
            "</segment><ignorable><source> </source></ignorable></unit>"));
    fake_expect("xliff", FAKE_UPPER,
                NEW(" trgLang=\"fr-CA\"",
                    "<unit><segment subState=\"x:y\" state=\"initial\"><source>a</source><target "
                    "xml:lang=\"fr\">a</target></segment></unit>"),
                NEW(" trgLang=\"fr-CA\"",
                    "<unit><segment state=\"translated\"><source>a</source><target "
                    "xml:lang=\"fr\">A</target></segment></unit>"));
}
END_TEST

#define UNIT(source) OLD("<trans-unit><source>" source "</source></trans-unit>")
#define FULL(source, target)                                                                       \
    OLD("<trans-unit><source>" source "</source><target state=\"translated\">" target              \
        "</target></trans-unit>")
#define TURNED(source, target)                                                                     \
    fake_expect("xliff", FAKE_REVERSED, UNIT(source), FULL(source, target))

START_TEST(inline_elements) {
    TURNED("the <g id=\"1\">white dog</g> runs", "RUNS <g id=\"1\">DOG WHITE</g> THE");
    TURNED("one <x id=\"1\"/> two <ph id=\"2\">{0}</ph> three",
           "THREE <ph id=\"2\">{0}</ph> TWO ONE <x id=\"1\"/>");
    TURNED("hello <x id=\"INTERPOLATION\"/> and <x id=\"2\" equiv-text=\"{{a}}\"/> dogs",
           "DOGS <x id=\"2\" equiv-text=\"{{a}}\"/> AND <x id=\"INTERPOLATION\"/> HELLO");
    TURNED("one two<x id=\"1\" ctype=\"lb\"/>three four<ph id=\"2\">&lt;br/></ph>five six",
           "TWO ONE<x id=\"1\" ctype=\"lb\"/>FOUR THREE<ph id=\"2\">&lt;br/></ph>SIX FIVE");
    TURNED("the <mrk mtype=\"protected\">dog</mrk> runs",
           "RUNS <mrk mtype=\"protected\">dog</mrk> THE");
    TURNED("a &lt; b &amp; <![CDATA[c > d]]> &#233;", "\u00e9 D &gt; C &amp; B &lt; A");
    TURNED("one <!-- c --> two <g id=\"1\"></g> three",
           "THREE TWO <g id=\"1\"></g> ONE <!-- c -->");
}
END_TEST

/* The two ends of a pair stay in their order, around what became of the words between them. */
START_TEST(pairs) {
    TURNED("the <bpt id=\"1\">&lt;b></bpt>white dog<ept id=\"1\">&lt;/b></ept> runs",
           "RUNS <bpt id=\"1\">&lt;b></bpt>DOG WHITE<ept id=\"1\">&lt;/b></ept> THE");
    TURNED("the <bx id=\"1\" rid=\"3\"/>white dog<ex id=\"2\" rid=\"3\"/> runs",
           "RUNS <bx id=\"1\" rid=\"3\"/>DOG WHITE<ex id=\"2\" rid=\"3\"/> THE");
    TURNED("the <sc id=\"1\"></sc>white dog<ec startRef=\"1\"/> runs",
           "RUNS <sc id=\"1\"></sc>DOG WHITE<ec startRef=\"1\"/> THE");
    TURNED("<bx id=\"1\"/>one <bx id=\"2\"/>two<ex id=\"1\"/> three",
           "THREE <bx id=\"1\"/>TWO ONE <bx id=\"2\"/><ex id=\"1\"/>");
    TURNED("one <g id=\"1\"><bx id=\"2\"/>two</g> three<ex id=\"2\"/>",
           "THREE <g id=\"1\"><bx id=\"2\"/>TWO</g> ONE<ex id=\"2\"/>");
}
END_TEST

START_TEST(sentences_of_units) {
    fake_expect("xliff", FAKE_REVERSED,
                OLD("<trans-unit><source>a b. c d.</source><seg-source><mrk mtype=\"seg\" "
                    "mid=\"1\">a b.</mrk> <mrk mtype=\"seg\" "
                    "mid=\"2\">c d.</mrk></seg-source></trans-unit>"),
                OLD("<trans-unit><source>a b. c d.</source><seg-source><mrk mtype=\"seg\" "
                    "mid=\"1\">a b.</mrk> <mrk mtype=\"seg\" "
                    "mid=\"2\">c d.</mrk></seg-source><target state=\"translated\"><mrk "
                    "mtype=\"seg\" mid=\"1\">B. A</mrk> <mrk "
                    "mtype=\"seg\" mid=\"2\">D. C</mrk></target></trans-unit>"));
}
END_TEST

#define SPACE(unit, source, target)                                                                \
    OLD("<group xml:space=\"preserve\"><trans-unit" unit "><source>" source "</source>" target     \
        "</trans-unit></group>")

/* A code may refer to the original data of its unit. */
START_TEST(original_data) {
#define DATA                                                                                       \
    "<unit id=\"1\"><originalData><data id=\"a\">{0}</data><data id=\"b\">&lt;br/></data>"         \
    "</originalData><segment%s><source>one <ph id=\"1\" dataRef=\"a\"/> two<ph id=\"2\" "          \
    "dataRef=\"b\"/>three four</source>"
    static const char head[] =
        "<xliff version=\"2.0\" srcLang=\"en\" trgLang=\"fr\"><file id=\"f\">",
                      tail[] = "</segment></unit></file></xliff>";
    char source[1024], expected[1024];
    size_t length = (size_t)snprintf(source, sizeof source, "%s", head);
    snprintf(expected, sizeof expected, "%s", head);
    snprintf(source + length, sizeof source - length, DATA "%s", "", tail);
    snprintf(expected + length, sizeof expected - length, DATA "%s%s", " state=\"translated\"",
             "<target>TWO <ph id=\"1\" dataRef=\"a\"/> ONE<ph id=\"2\" dataRef=\"b\"/>FOUR "
             "THREE</target>",
             tail);
    fake_expect("xliff", FAKE_REVERSED, source, expected);
}
END_TEST

START_TEST(white_space) {
    fake_expect("xliff", FAKE_REVERSED, SPACE("", "a b\n  c d", ""),
                SPACE("", "a b\n  c d", "<target state=\"translated\">B A\n  D C</target>"));
    fake_expect("xliff", FAKE_REVERSED, SPACE(" xml:space=\"default\"", "a b\n  c d", ""),
                SPACE(" xml:space=\"default\"", "a b\n  c d",
                      "<target state=\"translated\">D C B A</target>"));
    /* a line end that is written as a reference counts */
    fake_expect("xliff", FAKE_REVERSED,
                OLD("<trans-unit><source>a b&#xD;&#10;c &amp; d&#10;\n e f</source></trans-unit>"),
                OLD("<trans-unit><source>a b&#xD;&#10;c &amp; d&#10;\n e f</source><target "
                    "state=\"translated\">"
                    "B A&#xD;&#10;D &amp; C&#10;\n F E</target></trans-unit>"));
}
END_TEST

/* Units of a translation memory get the variant that they lack. */
START_TEST(memories) {
#define TMX(units)                                                                                 \
    "<!DOCTYPE tmx SYSTEM \"tmx14.dtd\"><tmx><header srclang=\"en\"/><body>" units "</body></tmx>"
#define EN(text) "<tuv xml:lang=\"en-US\"><seg>" text "</seg></tuv>"
#define FR(text) "<tuv xml:lang=\"fr\"><seg>" text "</seg></tuv>"
    static const char *const cases[][2] = {
        {TMX("<tu>\n <tuv xml:lang=\"de\"><seg>d</seg></tuv>\n " EN("a dog") "\n</tu>"),
         TMX("<tu>\n <tuv xml:lang=\"de\"><seg>d</seg></tuv>\n " EN("a dog") "\n " FR(
             "DOG A") "\n</tu>")},
        {TMX("<tu>" EN("a dog") "<tuv xml:lang='fr-FR'><seg>c</seg></tuv></tu>"),
         TMX("<tu>" EN("a dog") "<tuv xml:lang='fr-FR'><seg>c</seg></tuv></tu>")},
        {TMX("<tu><tuv lang='fr'><seg/></tuv>" EN("a dog") "</tu>"),
         TMX("<tu><tuv lang='fr'><seg>DOG A</seg></tuv>" EN("a dog") "</tu>")},
        {TMX("<tu>" EN("<bpt i=\"1\">&lt;b></bpt>a dog<ept i=\"1\">&lt;/b></ept> runs") "</tu>"),
         TMX("<tu>" EN("<bpt i=\"1\">&lt;b></bpt>a dog<ept i=\"1\">&lt;/b></ept> runs")
                 FR("RUNS <bpt i=\"1\">&lt;b></bpt>DOG A<ept i=\"1\">&lt;/b></ept>") "</tu>")},
        {TMX("<tu srclang=\"de\">" EN("a") "<tuv xml:lang=\"de\"><seg>b</seg></tuv></tu>"),
         TMX("<tu srclang=\"de\">" EN("a") "<tuv xml:lang=\"de\"><seg>b</seg></tuv>" FR(
             "B") "</tu>")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        fake_expect("tmx", FAKE_REVERSED, cases[i][0], cases[i][1]);
    fake_refused("tmx", "<xliff></xliff>", "line 1, column 1: the element <tmx> is expected here");
}
END_TEST

START_TEST(damaged_xliff) {
    static const char *const cases[][2] = {
        {"", "line 1, column 1: the element <xliff> is expected here"},
        {"\n<tmx></tmx>", "line 2, column 1: the element <xliff> is expected here"},
        {"<xliff>\n\u00e9<a></xliff>", "line 2, column 5: mismatched end tag: xliff"},
        {"<!DOCTYPE x [<!ENTITY a \"b\">]><xliff></xliff>",
         "line 1, column 1: declarations, such as a document type, are not allowed"},
        {HEAD " target-language=\"de\"><trans-unit><source>a</source></trans-unit></file></xliff>",
         "line 2, column 66: the document has targets in another language: \"de\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        fake_refused("xliff", cases[i][0], cases[i][1]);
}
END_TEST

/* A megabyte of whatever might be looked at again and again. */
START_TEST(xliff_bombs) {
    static const char *const cases[][3] = {
        {"<xliff><file>", "<trans-unit><source>a</source></trans-unit>", "</file></xliff>"},
        {"<xliff><segment><source>a", "<ex id='1'/>", "</source></segment></xliff>"},
        {"<xliff><segment><source>a", "<bx id='1'/>", "b</source></segment></xliff>"},
        {"<xliff><segment><source>", "word ", "</source></segment></xliff>"},
        {"<xliff><segment><source", " a='b'", ">a</source></segment></xliff>"},
        {"<xliff><segment><source>", "&amp;&x;", "</source></segment></xliff>"},
        {"<xliff><segment xml:space='preserve'><source>", "a\n", "</source></segment></xliff>"},
        {"<xliff>", "<a>", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena;
        struct markup html;
        struct error error = {0};
        char *text = fake_long(cases[i][0], cases[i][1], cases[i][2], 1 << 18);
        arena_init(&arena, 1 << 16);
        if (fake_read("xliff", text, &arena, &html, &error) == 0)
            fake_document("xliff", FAKE_REVERSED, text, &arena);
        else
            ck_assert_int_eq(error.code, ERROR_INPUT);
        free(text);
        arena_done(&arena);
    }
}
END_TEST

/* More that is open than pieces may be: what is within moves as a whole. */
START_TEST(deep_content) {
    enum { DEPTH = 200, MOST = 128 };
    char source[4096] = "", *at = source, text[2 * sizeof source];
    struct arena arena;
    for (size_t i = 0; i < DEPTH; i++)
        at = stpcpy(at, "<g>");
    at = stpcpy(at, "a");
    for (size_t i = 0; i < DEPTH; i++)
        at = stpcpy(at, "</g>");
    snprintf(text, sizeof text, UNIT("one %s"), source);
    arena_init(&arena, 1 << 16);
    const char *written = fake_document("xliff", FAKE_UPPER, text, &arena),
               *target = strstr(written, "<target");
    ck_assert(target && strstr(target, "ONE"));
    ck_assert_ptr_nonnull(strstr(target, source + MOST * strlen("<g>")));
    ck_assert_str_eq(fake_document("xliff", FAKE_UPPER, written, &arena),
                     written); /* it can be read, and has a target */
    arena_done(&arena);
}
END_TEST

/* XML has no notation for some characters, and a line is one text. */
START_TEST(characters_that_xml_lacks) {
    fake_expect_text("xliff", OLD("<trans-unit><source>a</source></trans-unit>"),
                     "A\x01"
                     "B\x1b\uffff C\tD\nE<\uffef",
                     OLD("<trans-unit><source>a</source><target state=\"translated\">A B   C\tD "
                         "E&lt;\uffef</target></trans-unit>"));
}
END_TEST

Suite *xliff_suite(void) {
    Suite *suite = suite_create("xliff");
    TCase *cases = tcase_create("xliff");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, targets);
    tcase_add_test(cases, namespaces);
    tcase_add_test(cases, escaped_markup);
    tcase_add_test(cases, elements_in_messages);
    tcase_add_test(cases, other_attributes);
    tcase_add_test(cases, untouched);
    tcase_add_test(cases, segments);
    tcase_add_test(cases, inline_elements);
    tcase_add_test(cases, pairs);
    tcase_add_test(cases, sentences_of_units);
    tcase_add_test(cases, original_data);
    tcase_add_test(cases, white_space);
    tcase_add_test(cases, memories);
    tcase_add_test(cases, damaged_xliff);
    tcase_add_test(cases, xliff_bombs);
    tcase_add_test(cases, deep_content);
    tcase_add_test(cases, characters_that_xml_lacks);
    return suite;
}
