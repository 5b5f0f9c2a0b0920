/* reStructuredText, AsciiDoc and LaTeX: prose is translated, and their notation stays. */
#include "tests/server/documents/fake.h"
#include "tests/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *source, *expected;
};

static void expect_all(const char *format, enum fake_kind kind, const struct row *rows,
                       size_t count) {
    for (size_t i = 0; i < count; i++)
        fake_expect(format, kind, rows[i].source, rows[i].expected);
}
#define EXPECT_ALL(format, kind, rows) expect_all(format, kind, rows, sizeof rows / sizeof *rows)

START_TEST(rst_blocks) {
    static const struct row rows[] = {
        {"A title\n=======\n\nOne line\nand another.\n",
         "A TITLE\n=======\n\nONE LINE AND ANOTHER.\n"},
        {".. _name:\n\n.. a comment\n   in two lines\n\nA word.\n",
         ".. _name:\n\n.. a comment\n   in two lines\n\nA WORD.\n"},
        {"- one item\n  goes on\n- two\n\n  * three\n\n1. four\n#. five\n",
         "- ONE ITEM GOES ON\n- TWO\n\n  * THREE\n\n1. FOUR\n#. FIVE\n"},
        {"Code::\n\n    x = 1\n\n    y = 2\n\nThe end.\n",
         "CODE::\n\n    x = 1\n\n    y = 2\n\nTHE END.\n"},
        {"::\n\n    x = 1\n\nThe end.\n", "::\n\n    x = 1\n\nTHE END.\n"},
        {".. note:: Take care\n   of it.\n\n   One word.\n\n.. code-block:: c\n   :caption: A "
         "title\n\n"
         "   int x;\n",
         ".. note:: TAKE CARE OF IT.\n\n   ONE WORD.\n\n.. code-block:: c\n   :caption: A TITLE\n\n"
         "   int x;\n"},
        {".. image:: a.png\n   :alt: A cat\n   :width: 3cm\n",
         ".. image:: a.png\n   :alt: A CAT\n   :width: 3cm\n"},
        {"Term\n    Its text.\n\nname : type\n    Its text.\n",
         "TERM\n    ITS TEXT.\n\nname : type\n    ITS TEXT.\n"},
        {":Author: Jane\n:param x: a word\n:type x: int\n",
         ":Author: Jane\n:param x: A WORD\n:type x: int\n"},
        {"| one line\n| two\n", "| ONE LINE\n| TWO\n"},
        {">>> print\nhello\n\nOne.\n", ">>> print\nhello\n\nONE.\n"},
        {"+---+---+\n| a | b |\n+---+---+\n\nOne.\n\n=== ===\nabc def\n=== ===\nabc def\n=== "
         "===\n\nTwo.\n",
         "+---+---+\n| A | B |\n+---+---+\n\nONE.\n\n=== ===\nABC DEF\n=== ===\nABC DEF\n=== "
         "===\n\nTWO.\n"},
        {".. [1] The note.\n\n-o FILE  the output\n", ".. [1] THE NOTE.\n\n-o FILE  THE OUTPUT\n"},
        {".. versionadded:: 1.2 The word.\n\n.. toctree::\n   :caption: All of it\n\n   one\n   "
         "two\n",
         ".. versionadded:: 1.2 THE WORD.\n\n.. toctree::\n   :caption: ALL OF IT\n\n   one\n   "
         "two\n"},
    };
    EXPECT_ALL("rst", FAKE_UPPER, rows);
}
END_TEST

/* The lines around a title are as long as it is. */
START_TEST(rst_titles) {
    fake_expect("rst", FAKE_LONGER, "=====\nTitle\n=====\n\nText\n----\n",
                "===========\nTITLE TITLE\n===========\n\nTEXT TEXT\n---------\n");
    fake_expect("rst", FAKE_LONGER, "=======\n Title\n=======\n",
                "============\n TITLE TITLE\n============\n");
}
END_TEST

START_TEST(rst_notation) {
    static const struct row rows[] = {
        {"A *b c* **d** ``e`` here.\n", "HERE. ``e`` **D** *C B* A\n"},
        {"See `the text <https://a.org>`_ now.\n", "NOW. `TEXT THE <https://a.org>`_ SEE\n"},
        {"See :ref:`the text <name>` and :class:`Name`.\n",
         "SEE :ref:`THE TEXT <name>` AND :class:`Name`."},
        {"One [1]_ and |name| here_ a\\*b.\n", "ONE [1]_ AND |name| here_ A\\*B.\n"},
        {"5 * 3 * 2 is a*b*c\n", "5 \\* 3 \\* 2 IS A\\*B\\*C\n"},
    };
    fake_expect("rst", FAKE_REVERSED, rows[0].source, rows[0].expected);
    fake_expect("rst", FAKE_REVERSED, rows[1].source, rows[1].expected);
    fake_expect("rst", FAKE_UPPER, "See :ref:`the text <name>` and :class:`Name`.\n",
                "SEE :ref:`THE TEXT <name>` AND :class:`Name`.\n");
    fake_expect("rst", FAKE_UPPER, rows[4].source, rows[4].expected);
    /* what touches a letter is no notation */
    fake_expect("rst", FAKE_UPPER, "Two *b*\\ s and\\ |c| d.\n", "TWO *BS* AND\\ |c| D.\n");
    fake_expect_text("rst", "a ``b`` *c*\n", "X b-Y", "*X* ``b``-Y\n");
    fake_expect("rst", FAKE_UPPER, "One name_, `a b`_ and :c:`d` with two__.\n",
                "ONE name_, `a b`_ AND :c:`d` WITH two__.\n");
}
END_TEST

/* References are by name, and the name of a link, a title or an inline target is its text: what is
 * referenced keeps its name, by a target or since the text stays. */
START_TEST(rst_names) {
    static const struct row links[] = {
        {"A `b c <https://a.org>`_\n\n`B\nc`_ d\n",
         "A A `B B C C <https://a.org>`_\n\n`B\nc`_ D D\n\n.. _`B c`: https://a.org\n"},
        {"`a <https://a.org/b\nc>`_ and a_",
         "`A A <https://a.org/b\nc>`_ AND AND a_\n\n.. _`a`: https://a.org/bc\n"},
        {"`a <o_>`_ `b <a_>`_\n\n.. _o: c\n",
         "`A A <o_>`_ `B B <a_>`_\n\n.. _o: c\n\n.. _`a`: o_\n"},
        {"`a <a>`__ `b <b>`_ a_, c_\n", "`A A <a>`__ `B B <b>`_ a_, c_\n"},
        {"`a <a>`_ a_\n\n.. _A: b\n", "`A A <a>`_ a_\n\n.. _A: b\n"},
        {"+-------------+\n| `a <a>`_    |\n+-------------+\n\na_ b\n",
         "+-------------+\n| `A A <a>`_  |\n+-------------+\n\na_ B B\n\n.. _`a`: a\n"},
    };
    static const struct row texts[] = {
        {"See `A *title*`_.\n\nA *title*\n---------\n\n=====\nOther\n=====\n",
         "SEE `A *title*`_.\n\n.. _`A *title*`:\n\nA *TITLE*\n---------\n\n=====\nOTHER\n=====\n"},
        {"=====\nOther\n=====\n\nSee other_.\n",
         ".. _`other`:\n\n=====\nOTHER\n=====\n\nSEE other_.\n"},
        {".. _other:\n\nOther\n=====\n\nSee Other_.\n",
         ".. _other:\n\nOTHER\n=====\n\nSEE Other_.\n"},
        {"`DOG <c_>`_ and DOG_.\n", "`DOG <c_>`_ AND DOG_.\n"},
        {"A _`word` and _`one`, see word_.\n", "A _`word` AND _`ONE`, SEE word_.\n"},
        {"A |word|_ and |one|__.\n\n.. _word: a\n", "A |word|_ AND |one|__.\n\n.. _word: a\n"},
    };
    EXPECT_ALL("rst", FAKE_LONGER, links);
    EXPECT_ALL("rst", FAKE_UPPER, texts);
}
END_TEST

/* What represents code in its sentence is one token, since several would be words that go
 * elsewhere: all of it, or without its signs, or its first name in braces. */
START_TEST(code_is_one_word) {
    static const char source[] = "The :attr:`~get_name` and :attr:`~.Name.args` of ``name`` now.\n";
    struct arena arena;
    struct markup markup;
    arena_init(&arena, 1 << 14);
    ck_assert_int_eq(fake_read("rst", source, &arena, &markup, NULL), 0);
    ck_assert_uint_eq(markup.count, 1);
    ck_assert_str_eq(fake_string(&markup.segments[0], &arena),
                     "The get_name and {Name} of name now.");
    ck_assert_int_eq(
        fake_read("rst", "The :ref:`a. <B>`:func:`write` here.\n", &arena, &markup, NULL), 0);
    ck_assert_str_eq(fake_string(&markup.segments[0], &arena), "The a.write here.");
    arena_done(&arena);
}
END_TEST

/* Cells are texts, and their columns are as wide as they need; what spans columns stays. */
/* Terms of a glossary stay below their translations, since references are by their names. */
START_TEST(rst_terms) {
    static const struct row rows[] = {
        {"The :term:`source file`, or :term:`files <source file>`.\n",
         "THE :term:`SOURCE FILE <source file>`, OR :term:`FILES <source file>`.\n"},
        {".. glossary::\n   :sorted:\n\n   source file\n   root : r\n      It is\n      text.\n\n  "
         " "
         "X\n      More.\n\nOne.\n",
         ".. glossary::\n   :sorted:\n\n   SOURCE FILE\n   source file\n   ROOT\n   root : r\n     "
         " "
         "IT IS TEXT.\n\n   X\n      MORE.\n\nONE.\n"},
    };
    EXPECT_ALL("rst", FAKE_UPPER, rows);
}
END_TEST

/* What takes more than linear time takes longer than a test may. */
/* Whatever a document ends with, its last line is read once. */
START_TEST(rst_ends) {
    static const char *const ends[] = {"..",
                                       ".. []|",
                                       ".. [1]",
                                       ".. |a|",
                                       ".. a::",
                                       "__ a",
                                       ">>> a",
                                       ":a:",
                                       "|",
                                       "| a",
                                       "-a",
                                       "- ",
                                       "a::",
                                       "a\n==",
                                       "==\na\n==",
                                       "====",
                                       "=== ==",
                                       "+--+\n| |",
                                       ".. a:: b\n   :alt: c"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct arena arena;
        char text[64];
        snprintf(text, sizeof text, "b\n\n%s", ends[i]);
        arena_init(&arena, 1 << 12);
        ck_assert_ptr_nonnull(fake_document("rst", FAKE_UPPER, text, &arena));
        arena_done(&arena);
    }
}
END_TEST

START_TEST(rst_long_cells) {
    struct arena arena;
    char *text = fake_long("===  ===\na    ", "b ", "b\n===  ===\n", 60000);
    arena_init(&arena, 1 << 16);
    const char *found = fake_document("rst", FAKE_UPPER, text, &arena);
    ck_assert_ptr_nonnull(strstr(found, "==\nA    B B B"));
    free(text);
    arena_done(&arena);
}
END_TEST

START_TEST(rst_tables) {
#define SPANS "+---+---+\n| a dog |\n+---+---+\n| c | d |\n+---+---+\n"
#define LIST  "===  =====\na    - one\n===  =====\n"
    fake_expect(
        "rst", FAKE_UPPER,
        "+------+------+\n| a    | 12   |\n+======+======+\n| two  | b c  |\n| rows |      |\n"
        "+------+------+\n",
        "+------+------+\n| A    | 12   |\n+======+======+\n| TWO  | B C  |\n| ROWS |      |\n"
        "+------+------+\n");
    fake_expect(
        "rst", FAKE_LONGER,
        "  ===  ===\n  a    b\n  ===  ===\n  c    ``d e``\n       f\n\n  g    h\n  ===  ===\n\ni\n",
        "  ===  ===========\n  A A  B B\n  ===  ===========\n  C C  ``d e`` F F\n\n  G G  H H\n  "
        "===  "
        "===========\n\nI "
        "I\n");
    /* only a row whose first cell is blank goes on */
    fake_expect("rst", FAKE_UPPER, "===  ===\na    b\n===  ===\n c   d\n e   f\n===  ===\n",
                "===  ===\nA    B\n===  ===\nC    D\nE    F\n===  ===\n");
    fake_expect("rst", FAKE_LONGER, "+---+\n| a |\n+---+\n", "+---+\n| A |\n| A |\n+---+\n");
    fake_expect("rst", FAKE_UPPER, SPANS "\nend\n", SPANS "\nEND\n");
    fake_expect("rst", FAKE_UPPER, LIST "\nend\n", LIST "\nEND\n");
}
END_TEST

START_TEST(adoc_blocks) {
    static const struct row rows[] = {
        {"= A title\nJane Doe <j@a.org>\n:toc:\n:description: A text\n\n== Section\n\nOne "
         "line\nand another.\n",
         "= A TITLE\nJane Doe <j@a.org>\n:toc:\n:description: A TEXT\n\n== SECTION\n\nONE LINE AND "
         "ANOTHER.\n"},
        {".A title\n[source,c]\n----\nint x;\n----\n\nOne.\n",
         ".A TITLE\n[source,c]\n----\nint x;\n----\n\nONE.\n"},
        {"[source]\nint x;\nint y;\n\nOne.\n", "[source]\nint x;\nint y;\n\nONE.\n"},
        {"* one\n** two\n. three\n- four\n* [x] five\n<1> six\n+\nseven\n",
         "* ONE\n** TWO\n. THREE\n- FOUR\n* [x] FIVE\n<1> SIX\n+\nSEVEN\n"},
        {"Term:: Its text.\nother word::\nIts text.\n",
         "TERM:: ITS TEXT.\nOTHER WORD::\nITS TEXT.\n"},
        {"NOTE: Take care.\n\n====\nOne.\n====\n\n////\nno text\n////\n\n// no text\nTwo.\n",
         "NOTE: TAKE CARE.\n\n====\nONE.\n====\n\n////\nno text\n////\n\n// no text\nTWO.\n"},
        {"|===\n|One |Two\n2+|Three\n|`code`\n|===\n\nFour.\n",
         "|===\n|ONE |TWO\n2+|THREE\n|`code`\n|===\n\nFOUR.\n"},
        {"image::a.png[A cat, 100]\ninclude::b.adoc[]\n\n literal text\n\nOne.\n",
         "image::a.png[A CAT, 100]\ninclude::b.adoc[]\n\n literal text\n\nONE.\n"},
        {"```c\nint x;\n```\nOne. +\nTwo.\n", "```c\nint x;\n```\nONE. +\nTWO.\n"},
    };
    EXPECT_ALL("adoc", FAKE_UPPER, rows);
}
END_TEST

START_TEST(adoc_notation) {
    static const struct row rows[] = {
        {"A *b c* _d_ `e` here.\n", "HERE. `e` _D_ *C B* A\n"},
        {"See https://a.org[the text] now.\n", "NOW. https://a.org[TEXT THE] SEE\n"},
        {"See <<id,the text>> now.\n", "NOW. <<id,TEXT THE>> SEE\n"},
        /* a note is a text of its own */
        {"One wordfootnote:[a b] here.\n", "HERE. WORDfootnote:[B A] ONE\n"},
        {"A kbd:[Ctrl+T] {name} here\n", "HERE {name} kbd:[Ctrl+T] A\n"},
    };
    fake_expect("adoc", FAKE_REVERSED, rows[0].source, rows[0].expected);
    fake_expect("adoc", FAKE_REVERSED, rows[1].source, rows[1].expected);
    fake_expect("adoc", FAKE_REVERSED, rows[2].source, rows[2].expected);
    fake_expect("adoc", FAKE_UPPER, "One word.footnote:[a note] More.\n",
                "ONE WORD.footnote:[A NOTE] MORE.\n");
    fake_expect_text("adoc", "One word.\n", "l'`code`.", "l\u2019`code`.\n");
    fake_expect_text("adoc", "Press kbd:[Ctrl+T] to save.\n", "Tapez Ctrl+T pour enregistrer.",
                     "Tapez kbd:[Ctrl+T] pour enregistrer.\n");
    fake_expect("adoc", FAKE_REVERSED, "See {a}/b/[the text] now.\n",
                "NOW. {a}/b/[TEXT THE] SEE\n");
    fake_expect("adoc", FAKE_UPPER, "A kbd:[Ctrl+T] {name} here\n", "A kbd:[Ctrl+T] {name} HERE\n");
}
END_TEST

/* A mark that touches a letter is doubled at both ends. */
START_TEST(adoc_marks_within_words) {
    static const char source[] = "I *like*\n";
    struct arena arena;
    struct markup markup;
    const struct document document = {.format = document_find("adoc"),
                                      .source = source,
                                      .length = strlen(source),
                                      .language = FAKE_LANGUAGE};
    const struct span words[] = {{0, 1}, {1, 5}};
    struct markup_link links[] = {{{0, 1}, {0, 1}}, {{2, 6}, {1, 5}}};
    struct markup_translation translation = {.text = "jaime",
                                             .length = 5,
                                             .words = words,
                                             .word_count = 2,
                                             .links = links,
                                             .link_count = 2};
    size_t length;
    arena_init(&arena, 1 << 14);
    ck_assert_int_eq(document_read(&document, &arena, &markup, NULL), 0);
    ck_assert_str_eq(document_write(&document, &markup, &translation, &arena, &length, NULL),
                     "j**aime**\n");
    arena_done(&arena);
}
END_TEST

/* A line below a title is as long as the title. */
START_TEST(adoc_titles) {
    static const struct row rows[] = {
        {"A title\n=======\n\nFirst\n-----\n\n<<first>> now\n",
         "A A TITLE TITLE\n===============\n\n[#first]\nFIRST FIRST\n-----------\n\n<<first>> NOW "
         "NOW\n"},
        {"A long line\n----\nno text\n----\n", "A A LONG LONG LINE LINE\n----\nno text\n----\n"},
    };
    EXPECT_ALL("adoc", FAKE_LONGER, rows);
}
END_TEST

/* References are by titles, or by the ids that are made of them. */
START_TEST(adoc_references) {
    static const struct row rows[] = {
        {"== First steps\n\nSee <<First steps>> or <<No title>> now.\n",
         "== FIRST STEPS\n\nSEE <<FIRST STEPS>> OR <<No title>> NOW.\n"},
        {"=== First steps!\n\nSee xref:first-steps[the text].\n",
         "[#first-steps]\n=== FIRST STEPS!\n\nSEE xref:first-steps[THE TEXT].\n"},
        {"= A title\n\n[#own]\n== First steps\n\nSee <<_first_steps>> and <<_a_title>>.\n",
         "= A TITLE\n\n[#own]\n== FIRST STEPS\n\nSEE <<_first_steps>> AND <<_a_title>>.\n"},
    };
    EXPECT_ALL("adoc", FAKE_UPPER, rows);
}
END_TEST

#define BODY(text) "\\documentclass{a}\n\\begin{document}\n" text "\\end{document}\n"

/* A backslash precedes all of a character. */
START_TEST(escaped_characters) {
    fake_expect("tex", FAKE_UPPER, "a \\\xe2\x80\x93 dog\n", "A \\\xe2\x80\x93 DOG\n");
    fake_expect("rst", FAKE_UPPER, "a dog \\\xc3\xa9t\n", "A DOG \xc3\xa9T\n");
}
END_TEST

START_TEST(adoc_links_and_breaks) {
    fake_expect("adoc", FAKE_REVERSED, "See the {url-a}[old guide^] now.\n",
                "NOW. {url-a}[GUIDE OLD^] THE SEE\n");
    fake_expect("adoc", FAKE_REVERSED, "a dog +\r\na cat\r\n", "DOG A +\r\nCAT A\r\n");
}
END_TEST

START_TEST(tex_blocks) {
    static const struct row rows[] = {
        {"\\documentclass{a}\n\\title{A title}\n% no \\title{text}\n\\newcommand{\\x}{no "
         "text}\n\\begin{document}\nOne\nline.\n\\end{document}\nnothing\n",
         "\\documentclass{a}\n\\title{A TITLE}\n% no \\title{text}\n\\newcommand{\\x}{no "
         "text}\n\\begin{document}\nONE LINE.\n\\end{document}\nnothing\n"},
        {BODY("\\section{One title}\\label{a}\nText.\n\nMore.\n"),
         BODY("\\section{ONE TITLE}\\label{a}\nTEXT.\n\nMORE.\n")},
        {BODY("\\begin{itemize}\n\\item One\n\\item[Two] Three\n\\end{itemize}\n"),
         BODY("\\begin{itemize}\n\\item ONE\n\\item[TWO] THREE\n\\end{itemize}\n")},
        {BODY("\\begin{verbatim}\nno text\n\\end{verbatim}\n\\begin{equation}x\\end{equation}\n\\[ "
              "y \\]\nOne.\n"),
         BODY("\\begin{verbatim}\nno text\n\\end{verbatim}\n\\begin{equation}x\\end{equation}\n\\[ "
              "y \\]\nONE.\n")},
        {BODY("\\begin{tabular}{ll}\nOne & Two \\\\\nThree & Four\n\\end{tabular}\n"),
         BODY("\\begin{tabular}{ll}\nONE & TWO \\\\\nTHREE & FOUR\n\\end{tabular}\n")},
        {BODY("\\begin{figure}[ht]\n\\includegraphics[width=1cm]{a}\n\\caption{A "
              "cat}\n\\end{figure}\n"),
         BODY("\\begin{figure}[ht]\n\\includegraphics[width=1cm]{a}\n\\caption{A "
              "CAT}\n\\end{figure}\n")},
        {BODY("\\begin{frame}{The title}\nOne.\n\\end{frame}\n"),
         BODY("\\begin{frame}{THE TITLE}\nONE.\n\\end{frame}\n")},
        {BODY("One % no text\nline.\n% no text\n\nTwo.\n"),
         BODY("ONE % no text\nLINE.\n% no text\n\nTWO.\n")},
    };
    EXPECT_ALL("tex", FAKE_UPPER, rows);
}
END_TEST

/* Letters that are written with commands, with or without braces, are letters of their words. */
START_TEST(tex_letters) {
    static const struct row rows[] = {
        {"Wei{\\ss}bach na\\\"{\\i}ve na\\\"\\i ve \\\"{o}l {\\'e}t\\'{e}.\n",
         "WEI\u00dfBACH NA\u00efVE NA\u00efVE \u00f6L \u00e9T\u00e9.\n"},
        {"c\\oe ur c{\\oe}ur {\\ae}ra \\L{}\\'od\\'z \\v{c}a \\v ca gar\\c{c}on.\n",
         "C\u0153UR C\u0153UR \u00e6RA \u0141\u00f3D\u017a \u010dA \u010dA GAR\u00e7ON.\n"},
        {"One\\dots\\ two\\ldots{} three {\\dots} four...\n",
         "ONE\\ldots{}\\ TWO\\ldots{} THREE \\ldots{} FOUR\\ldots{}\n"},
    };
    EXPECT_ALL("tex", FAKE_UPPER, rows);
}
END_TEST

START_TEST(tex_notation) {
    static const struct row rows[] = {
        {"A \\emph{b c} \\textbf{d} here.\n", "HERE. \\textbf{D} \\emph{C B} A\n"},
        {"One $x^2$ and \\texttt{code}.\n", NULL},
        {"See Section~\\ref{a}.\n", NULL},
        {"A word.\\footnote{A note.} More.\n", NULL},
        {"5\\,\\% of 10\\$ \\& more ``here''---now.\n", NULL},
        {"Caf\\'e na\\\"{\\i}ve fa\\c{c}ade.\n", NULL},
        {"A {\\bf word} \\cite[p. 1]{a,b} \\unknown{no text}.\n", NULL},
    };
    fake_expect("tex", FAKE_REVERSED, rows[0].source, rows[0].expected);
    fake_expect("tex", FAKE_UPPER, rows[1].source, "ONE $x^2$ AND \\texttt{code}.\n");
    fake_expect("tex", FAKE_UPPER, rows[2].source, "SEE SECTION~\\ref{a}.\n");
    fake_expect("tex", FAKE_REVERSED, "see the numbers~\\cite{x} here.\n",
                "HERE. NUMBERS~\\cite{x} THE SEE\n");
    fake_expect("tex", FAKE_UPPER, rows[3].source, "A WORD.\\footnote{A NOTE.} MORE.\n");
    fake_expect("tex", FAKE_UPPER, rows[4].source, "5\\,\\% OF 10\\$ \\& MORE ``HERE''---NOW.\n");
    fake_expect("tex", FAKE_UPPER, "Caf\\'e fa\\c{c}ade.\n", "CAFé FAçADE.\n");
    fake_expect("tex", FAKE_UPPER, rows[6].source,
                "A {\\bf WORD} \\cite[p. 1]{a,b} \\unknown{no text}.\n");
    fake_expect("tex", FAKE_UPPER, "{\\bf c\\/} and {\\bf D}{\\bf E\\/}{\\bf F}\n",
                "{\\bf C} AND {\\bf D}{\\bf E}{\\bf F}\n");
    fake_expect_text("tex", "One word.\n", "« 5 % »~#_{x} œ",
                     "``5 \\%''\\textasciitilde{}\\#\\_\\{x\\} œ\n");
}
END_TEST

/* The translation stands below a paragraph, and beside a title. */
START_TEST(below) {
    static const struct {
        const char *format, *source, *expected;
    } rows[] = {
        {"rst", "Title\n=====\n\n- one\n  two\n",
         "Title / TITLE\n=============\n\n- one\n  two\n\n  ONE TWO\n"},
        {"adoc", "= Title\n\n* one\n", "= Title / TITLE\n\n* one\n+\nONE\n"},
        {"adoc", "* one\n+\ntwo\n\nthree\n", "* one\n+\nONE\n+\ntwo\n+\nTWO\n\nthree\n\nTHREE\n"},
        {"tex", "\\section{Title}\nOne\n", "\\section{Title / TITLE}\nOne\n\nONE\n"},
        {"tex", "\\begin{tabular}{l}a & b \\\\\\end{tabular}\n",
         "\\begin{tabular}{l}a / A & b / B \\\\\\end{tabular}\n"},
    };
    struct arena arena;
    arena_init(&arena, 1 << 14);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct document document = {.format = document_find(rows[i].format),
                                          .source = rows[i].source,
                                          .length = strlen(rows[i].source),
                                          .language = FAKE_LANGUAGE,
                                          .bilingual = BILINGUAL_BELOW};
        ck_assert_str_eq(fake_translated(&document, FAKE_UPPER, &arena), rows[i].expected);
    }
    arena_done(&arena);
}
END_TEST

/* Fields, and directives that describe parts of programs: what is said about them is translated. */
START_TEST(rst_fields_and_objects) {
    static const struct row rows[] = {
        {":Abstract: One line\n   and another.\n:Date: 3 of\n   May\n:License: A b\n:A b: c d\n:a: "
         "b\n",
         ":Abstract: ONE LINE AND ANOTHER.\n:Date: 3 of\n   May\n:License: A b\n:A b: C D\n:a: "
         "b\n"},
        {".. py:function:: open(a, b)\n                 close(a)\n   :noindex:\n\n   One word.\n\n"
         "   :param str a: the name\n      of it\n   :type a: list of str\n",
         ".. py:function:: open(a, b)\n                 close(a)\n   :noindex:\n\n   ONE WORD.\n\n"
         "   :param str a: THE NAME OF IT\n   :type a: list of str\n"},
        {".. contents:: A title\n   :depth: 2\n\n.. tab:: A title\n\n   One word.\n",
         ".. contents:: A TITLE\n   :depth: 2\n\n.. tab:: A TITLE\n\n   ONE WORD.\n"},
    };
    EXPECT_ALL("rst", FAKE_UPPER, rows);
}
END_TEST

START_TEST(adoc_words_and_tables) {
    static const struct row rows[] = {
        {"One H~2~O and m^3^, x~a~.\n", "ONE H~2~O AND m^3^, x~a~.\n"},
        {"[%header,format=csv]\n|===\nA b,C\n\"D, e\",F\n|===\n\nOne.\n",
         "[%header,format=csv]\n|===\nA b,C\n\"D, e\",F\n|===\n\nONE.\n"},
        {"\"One word.\"\n-- A Name\n\nOne\n-- two.\n", "\"ONE WORD.\"\n-- A Name\n\nONE -- TWO.\n"},
    };
    EXPECT_ALL("adoc", FAKE_UPPER, rows);
}
END_TEST

/* Shorthands of babel's German are letters and quotation marks; straight ones would be read as
 * such, or as closing. */
START_TEST(tex_german) {
#define GERMAN(text)                                                                               \
    "\\documentclass{article}\n\\usepackage[ngerman]{babel}\n\\begin{document}\n" text             \
    "\n\\end{document}\n"
    fake_expect("tex", FAKE_UPPER, GERMAN("\"`Stra\"se\"' u\"a Donau\"=Schiff wei\"-ter"),
                GERMAN("``STRA\u00dfE'' U\u00e4 DONAU-SCHIFF WEITER"));
    fake_expect("tex", FAKE_UPPER, "\"`One\"' word.\n", "``ONE'' WORD.\n");
    fake_expect("tex", FAKE_UPPER, "Two \"at words.\n", "TWO ``AT WORDS.\n");
    fake_expect_text("tex", "One word.\n", "a \"b c\" (\"d\")", "a ``b c'' (``d'')\n");
}
END_TEST

START_TEST(tex_arguments) {
    static const struct row rows[] = {
        {"\\section[A b]{One word} \\note{Two words.}\n",
         "\\section[A B]{ONE WORD} \\note{TWO WORDS.}\n"},
        {"\\begin{tabular}{ll}\\multicolumn{2}{c}{One word} & "
         "\\multirow{2}{*}{two}\\end{tabular}\n",
         "\\begin{tabular}{ll}\\multicolumn{2}{c}{ONE WORD} & "
         "\\multirow{2}{*}{TWO}\\end{tabular}\n"},
    };
    EXPECT_ALL("tex", FAKE_UPPER, rows);
}
END_TEST

Suite *texts_suite(void) {
    Suite *suite = suite_create("texts");
    TCase *cases = tcase_create("texts");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, rst_blocks);
    tcase_add_test(cases, rst_titles);
    tcase_add_test(cases, rst_notation);
    tcase_add_test(cases, rst_names);
    tcase_add_test(cases, rst_terms);
    tcase_add_test(cases, code_is_one_word);
    tcase_add_test(cases, rst_tables);
    tcase_add_test(cases, rst_ends);
    tcase_add_test(cases, rst_long_cells);
    tcase_add_test(cases, adoc_blocks);
    tcase_add_test(cases, adoc_references);
    tcase_add_test(cases, adoc_marks_within_words);
    tcase_add_test(cases, adoc_titles);
    tcase_add_test(cases, adoc_notation);
    tcase_add_test(cases, escaped_characters);
    tcase_add_test(cases, adoc_links_and_breaks);
    tcase_add_test(cases, tex_blocks);
    tcase_add_test(cases, tex_notation);
    tcase_add_test(cases, tex_letters);
    tcase_add_test(cases, below);
    tcase_add_test(cases, rst_fields_and_objects);
    tcase_add_test(cases, adoc_words_and_tables);
    tcase_add_test(cases, tex_german);
    tcase_add_test(cases, tex_arguments);
    return suite;
}
