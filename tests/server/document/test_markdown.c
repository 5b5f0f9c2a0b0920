/* Markdown: sentences are translated; code, links, front matter and all notation stay. */
#include "tests/server/document/fake.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

#define SAME(text, translated) fake_expect("md", FAKE_UPPER, text, translated)

START_TEST(blocks) {
    SAME("", "");
    SAME("# a dog\n\nb c\n===\n\n## d ##\n", "# A DOG\n\nB C\n===\n\n## D ##\n");
    SAME("- a\n- b\n  1. c\n\n> d\n> e\n\n***\n", "- A\n- B\n  1. C\n\n> D E\n\n***\n");
    SAME("| a | b |\n|---|:-:|\n| c d | e |\n", "| A | B |\n|---|:-:|\n| C D | E |\n");
    SAME("- [ ] a\n", "- [ ] A\n");
    SAME("\xef\xbb\xbf# a\r\n\r\nb\r\n", "\xef\xbb\xbf# A\r\n\r\nB\r\n");
}
END_TEST

START_TEST(untouched) {
    SAME("---\ntitle: a b\n---\n\nc\n", "---\ntitle: a b\n---\n\nC\n");
    SAME("+++\ntitle = \"a\"\n+++\nc\n", "+++\ntitle = \"a\"\n+++\nC\n");
    SAME("a\n\n```sh\nb c\n```\n\n    d e\n\n~~~\nf\n~~~\n", "A\n\n```sh\nb c\n```\n\n    d e\n\n~~~\nf\n~~~\n");
    SAME("<div>\na <b>b</b>\n</div>\n\nc\n", "<div>\na <b>b</b>\n</div>\n\nC\n");
    SAME("[a]: http://b/c \"d e\"\n\nf [a] g\n", "[a]: http://b/c \"d e\"\n\nF [A] G\n");
}
END_TEST

START_TEST(inlines) {
    SAME("a *b* __c d__ ~~e~~ `f g` h\n", "A *B* __C D__ ~~E~~ `f g` H\n");
    SAME("a [b *c*](http://d/e_f \"g h\") ![i](j.png)\n", "A [B *C*](http://d/e_f \"g h\") ![I](j.png)\n");
    SAME("a [b][c] [d](<e f> 'g') <http://h/i>.\n\n[c]: d\n", "A [B][c] [D](<e f> 'g') <http://h/i>.\n\n[c]: d\n");
    SAME("a <b class=\"c\">d</b> e\n", "A <b class=\"c\">D</b> E\n");
    SAME("a ***b* c** d\n", "A ***B* C** D\n");
    SAME("a[^1] b\n\n[^1]: c d\n", "A[^1] B\n\n[^1]: C D\n");
    fake_expect("md", FAKE_REVERSED, "a **b c** [d](e)\n", "[D](e) **C B** A\n");
}
END_TEST

/* What words hold that would be a mark is escaped; what was escaped is what it stands for. */
START_TEST(notation) {
    SAME("a \\* b &amp; c &lt;d&gt; \\_e\\_ f_g é_é\n", "A \\* B & C \\<D> \\_E\\_ F_G é_é\n");
    SAME("1\\. a\n\n\\# b\n\n\\- c\n", "1\\. A\n\n\\# B\n\n\\- C\n");
    SAME("a &amp;amp; b\n", "A \\&AMP; B\n");
    SAME("12 \\* 34\n", "12 \\* 34\n");
    SAME("a &eacute; b\n\nc&nbsp;&#33;\n", "a &eacute; b\n\nC\u00a0!\n"); /* not one of those that are known: as it is */
}
END_TEST

/* Lines of a paragraph become one, with what stands in front of them. */
START_TEST(lines) {
    SAME("> a *b\n> c* d\n>\n> e\n", "> A *B C* D\n>\n> E\n");
    SAME("- a\n  b\n", "- A B\n");
    SAME("a  \nb\\\nc\n", "A  \nB\\\nC\n");
}
END_TEST

START_TEST(bombs) {
    static const char *const middles[] = {"[",    "![",  "*a ",      "**a", "`", "> ",  "- ",  "<",
                                          "[a](", "a _", "|a\n|-\n", "\\",  "&", "[^a", "~~a "};
    for (size_t i = 0; i < sizeof middles / sizeof *middles; i++) {
        struct arena arena;
        struct html html;
        struct error error = {0};
        char *text = fake_long("a ", middles[i], "\n", 1 << 15);
        arena_init(&arena, 1 << 16);
        if (fake_read("md", text, &arena, &html, &error) != 0)
            ck_assert_int_eq(error.code, ERROR_INPUT);
        free(text);
        arena_done(&arena);
    }
}
END_TEST

/* What cmark would look at again and again, a megabyte of it. */
START_TEST(endless) {
    char *text = fake_long("a ", "<?", "\n", 1 << 20);
    fake_refused("md", text, "its marks are too many to be sorted out");
    free(text);
}
END_TEST

Suite *markdown_suite(void) {
    Suite *suite = suite_create("markdown");
    TCase *cases = tcase_create("markdown");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, blocks);
    tcase_add_test(cases, untouched);
    tcase_add_test(cases, inlines);
    tcase_add_test(cases, notation);
    tcase_add_test(cases, lines);
    tcase_add_test(cases, bombs);
    tcase_add_test(cases, endless);
    return suite;
}
