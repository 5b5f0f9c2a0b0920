/* Markdown: sentences are translated; code, links, front matter and all notation stay. */
#include "server/documents/document.h"
#include "tests/server/documents/fake.h"
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
    SAME("a\n\n```sh\nb c\n```\n\n    d e\n\n~~~\nf\n~~~\n",
         "A\n\n```sh\nb c\n```\n\n    d e\n\n~~~\nf\n~~~\n");
    SAME("\f\u00a0a\n", "\f\u00a0A\n");
    SAME("[a]: http://b/c \"d e\"\n\nf [a] g\n", "[a]: http://b/c \"d e\"\n\nF [A] G\n");
}
END_TEST

START_TEST(inlines) {
    SAME("a *b* __c d__ ~~e~~ `f g` h\n", "A *B* __C D__ ~~E~~ `f g` H\n");
    SAME("a [b *c*](http://d/e_f \"g h\") ![i](j.png)\n",
         "A [B *C*](http://d/e_f \"g h\") ![I](j.png)\n");
    SAME("a [b][c] [d](<e f> 'g') <http://h/i>.\n\n[c]: d\n",
         "A [B][c] [D](<e f> 'g') <http://h/i>.\n\n[c]: d\n");
    SAME("a <b class=\"c\">d</b> e\n", "A <b class=\"c\">D</b> E\n");
    SAME("a ***b* c** d\n", "A ***B* C** D\n");
    SAME("a[^1] b\n\n[^1]: c d\n", "A[^1] B\n\n[^1]: C D\n");
    fake_expect("md", FAKE_REVERSED, "a **b c** [d](e)\n", "[D](e) **C B** A\n");
    /* the title of a note, and words of a sentence */
    fake_expect("md", FAKE_REVERSED, "> **Note**\n> A dog.\n", "> **NOTE**\n> DOG. A\n");
    fake_expect("md", FAKE_REVERSED, "**the dog**\nruns.\n", "RUNS. **DOG THE**\n");
    SAME("`a`/`b` c\n", "`a` `b` C\n"); /* side by side they would be one */
}
END_TEST

/* Characters of words that would be notation are escaped; escapes are read as their characters. */
START_TEST(notation) {
    SAME("a \\* b &amp; c &lt;d&gt; \\_e\\_ f_g é_é\n", "A \\* B & C \\<D> \\_E\\_ F_G é_é\n");
    SAME("1\\. a\n\n\\# b\n\n\\- c\n", "1\\. A\n\n\\# B\n\n\\- C\n");
    SAME("a &amp;amp; b\n", "A \\&AMP; B\n");
    SAME("12 \\* 34\n", "12 \\* 34\n");
    SAME("a &eacute; b\n\nc&nbsp;&#33;\n", "A \u00e9 B\n\nC\u00a0!\n");
    SAME("&#9;a &#32; b\n",
         "&#9;A &#32; B\n"); /* white space that could not be written otherwise */
    SAME("a &nosuch; b\n", "A \\&NOSUCH; B\n");
}
END_TEST

/* Lines of a paragraph become one, with what stands in front of them. */
START_TEST(lines) {
    SAME("> a *b\n> c* d\n>\n> e\n", "> A *B C* D\n>\n> E\n");
    SAME("- a\n  b\n", "- A B\n");
    SAME("a  \nb\\\nc\n", "A  \nB\\\nC\n");
}
END_TEST

#define LONGER(text, translated) fake_expect("md", FAKE_LONGER, text, translated)

/* A link by its own text keeps its name where the text changes, and is as it was where only
 * capitals do. */
START_TEST(references) {
    LONGER("a [b c] d.\n\n[b c]: e\n", "A A [B B C C][b c] D. D.\n\n[b c]: e\n");
    LONGER("[a][] b\n\n[A]: c\n", "[A A][a] B B\n\n[A]: c\n");
    LONGER("![a *b*]\n\n[a *b*]: c\n", "![A A *B B*][a *b*]\n\n[a *b*]: c\n");
    SAME("\\![a]\n\n[a]: b\n", "\\![A]\n\n[a]: b\n");
    LONGER("[a][b]\n\n[b]: c\n", "[A A][b]\n\n[b]: c\n");
    LONGER("> a [b\n> c] d\n\n[b c]: e\n", "> A A [B B C C][b c] D D\n\n[b c]: e\n");
    SAME("[a b][] [c]\n\n[a b]: d\n[c]: e\n", "[A B][] [C]\n\n[a b]: d\n[c]: e\n");
    SAME("[a]: b\nc d\n\n[a]\n",
         "[a]: b\nC D\n\n[A]\n"); /* a paragraph after a definition, in its lines */
    SAME("[a]: b\n\"c\" d\n\n[a]\n", "[a]: b\n\"c\" d\n\n[A]\n"); /* it could become a title */
}
END_TEST

/* The text that is written after this. */
static void expect_escaped(const char *before, const char *text, const char *expected) {
    struct arena arena;
    arena_init(&arena, 1 << 10);
    struct bytes_buffer out = {.arena = &arena};
    bytes_put_string(&out, before);
    markdown_notation_escape(&out, text, strlen(text));
    ck_assert_str_eq(out.bytes + strlen(before), expected);
    arena_done(&arena);
}

/* Its meaning depends on the preceding character. */
START_TEST(escapes) {
    expect_escaped("[a]", "(b)", "\\(b)");   /* an address */
    expect_escaped("> [a]", ": b", "\\: b"); /* a definition */
    expect_escaped("a [b]", ": c", ": c");
    expect_escaped("a\\]", "(b)", "(b)");
    expect_escaped("http://a.b/c", "* d*",
                   "* d\\*"); /* the backslash would be one of the address */
    expect_escaped("http://a.b/c", "<d e", "<d e");
    expect_escaped("http://a.b/c", "<d> e", "\\<d> e");
    expect_escaped("a", "* b*", "\\* b\\*");
    expect_escaped("a ", "~~b ~c d~ e~f", "\\~\\~b ~c d\\~ e\\~f");
    expect_escaped("", "1. a", "1\\. a");
}
END_TEST

START_TEST(alerts) {
    SAME("> [!NOTE]\n> a\n> b\n", "> [!NOTE]\n> A B\n");
    SAME("> [!tip]- a *b*\n> c\n>\n> [!x]\n", "> [!tip]- A *B*\n> C\n>\n> \\[!X\\]\n");
    SAME("- > [!WARNING]  \n  > a\n", "- > [!WARNING]  \n  > A\n");
    SAME("[!NOTE]\n\na\n", "\\[!NOTE\\]\n\nA\n"); /* in no quotation */
    SAME(":::note\na\n:::\n\n!!! note \"b\"\n\n[[_TOC_]]\n",
         ":::note\nA\n:::\n\n!!! note \"B\"\n\n[[_TOC_]]\n");
    SAME("!!! B\n", "!!! B\n");
}
END_TEST

START_TEST(formulas) {
    SAME("a $x_1 * y*$ b\n", "A $x_1 * y*$ B\n");
    SAME("a $$x$$ $`y z`$, b\n", "A $$x$$ $`y z`$, B\n");
    SAME("a $x +\ny$ b\n", "A $x +\ny$ B\n");
    SAME("a\n$$\n- x\n=\n# y\n$$\nb\n", "A\n$$\n- x\n=\n# y\n$$\nB\n");
    SAME("> $$ x\n> y $$  \n> b\n", "> $$ x\n> y $$  \n> B\n");
    SAME("| a $x$ | b |\n|---|---|\n| $y | c$ |\n", "| A $x$ | B |\n|---|---|\n| $Y | C$ |\n");
    /* these are amounts, names, code */
    SAME("a $5 b $6, $7 cd (or $8), $9 ab$\n", "A $5 B $6, $7 CD (OR $8), $9 AB$\n");
    SAME("$ab and c$d a$ \\$x$ `$y` z$\n", "$AB AND C$D A$ $X$ `$y` Z$\n");
    SAME("$$\na\n\nb\n", "$$ A\n\nB\n");
    fake_expect("md", FAKE_REVERSED, "a $x$ b\n", "B $x$ A\n");
}
END_TEST

START_TEST(definitions) {
    SAME("a b\n: c *d*\n: e\nf\n", "A B\n: C *D*\n: E F\n");
    SAME("a\n\n:   b\n", "A\n\n:   B\n");
    SAME("a :b\n:c\n", "A :B :C\n");
}
END_TEST

/* Within a sentence, and as they are. */
START_TEST(units) {
    SAME("a <!-- b -- c --> d <!--> e <!-- f --> g\n",
         "A <!-- b -- c --> D <!--> E <!-- f --> G\n");
    SAME("<!-- a -- b\nc -->\n\nd\n", "<!-- a -- b\nc -->\n\nD\n");
    SAME("a <!-- b --\n", "A \\<!-- B --\n");
    SAME("a :tada: :+1: b 12:30:45 c:d:e ::f:: :g\n", "A :tada: :+1: B 12:30:45 C:D:E ::F:: :G\n");
    SAME("a {{ b.c }} {% d %} e {f} {{g\n\n# h {#i}\n",
         "A {{ b.c }} {% d %} E {f} {{G\n\n# H {#i}\n");
    SAME("a http://b.c/d_*e* www.f.g/h&amp;i j@k.la.\n",
         "A http://b.c/d_*e* www.f.g/h&amp;i j@k.la.\n");
    SAME("a <http://b.c/d> <e@f.ga>.\n", "A <http://b.c/d> <e@f.ga>.\n");
}
END_TEST

/* Pairs of tags stay around their words; what is between some of them is for programs. */
START_TEST(tags) {
    fake_expect("md", FAKE_REVERSED, "a <b>c <i>d</i></b> e\n", "E <b><i>D</i> C</b> A\n");
    SAME("a <kbd>b</kbd> <code>c *d*</code> e<br>f <b>g <i>h</b></i>\n",
         "A <kbd>B</kbd> <code>c *d*</code> E<br>F <b>G <i>H</b></i>\n");
    SAME("*a <b>c* d</b>\n", "*A <b>C* D</b>\n");
    SAME("a\n</pre>\n", "A\n</pre>\n");
}
END_TEST

/* Links and images in a row have no sentence. */
START_TEST(rows) {
    fake_expect("md", FAKE_REVERSED, "[![a b](c)](d) [e f](g)\n[h](i) | [j](k)\n",
                "[![B A](c)](d) [F E](g)\n[H](i) | [J](k)\n");
    fake_expect("md", FAKE_REVERSED, "[a b](c) · 👍🏽 [d](e)\n",
                "[B A](c) · 👍🏽 [D](e)\n");
    fake_expect("md", FAKE_REVERSED, "[a b](c) и [d](e)\n", "[D](e) и [B A](c)\n");
}
END_TEST

/* An element that was written as open, text, and what follows. */
static void expect_end(const char *open, const char *before, const char *inside, int32_t next,
                       const char *expected) {
    struct arena arena;
    arena_init(&arena, 1 << 10);
    struct bytes_buffer out = {.arena = &arena};
    bytes_put_string(&out, before);
    struct markup_end end = {.open = out.length, .next = next, .written = open, .replaced = open};
    end.written_length = end.replaced_length = strlen(open);
    bytes_put_string(&out, open);
    end.inside = out.length;
    bytes_put_string(&out, inside);
    markdown_notation_close(&out, &end);
    ck_assert_str_eq(out.bytes, expected);
    arena_done(&arena);
}

/* Marks of emphasis come to stand where they are read as such. */
START_TEST(emphasis) {
    expect_end("**", "a ", "b", ' ', "a **b**");
    expect_end("_", "a ", "b", 's', "a *b*");
    expect_end("_", "a", "b", ' ', "a*b*");
    expect_end("**", "", "l'", 'a', "**l**'");
    expect_end("*", "L", "'b", ' ', "L'*b*");
    expect_end("**", "a ", "b ", 0, "a **b** ");
    expect_end("**", "a", " b", 0, "a **b**");
    expect_end("**", "a ", "", 'b', "a ");
    expect_end("**", "a", "`b`", 'c', "a<strong>`b`</strong>");
    expect_end("*", "*a*", "b", ' ', "*a*<em>b</em>");
    expect_end("~", "a", "(b)", 'c', "a<del>(b)</del>");
    expect_end("*", "a\\*", "b", ' ', "a\\**b*");
    SAME("**a *b*** ***c*** *d **e *f* g** h*\n", "**A *B*** ***C*** *D **E *F* G** H*\n");
}
END_TEST

/* Titles and descriptions are translated, if they are values in one line, and keep their notation.
 */
START_TEST(front_matter) {
    SAME("---\ntitle: a b # c\ndate: d\ntags: [title, e]\nx:\n  title: f\nDescription: \"g "
         "\\\"h\\\"\"\n---\n\ni\n",
         "---\ntitle: A B # c\ndate: d\ntags: [title, e]\nx:\n  title: f\nDescription: \"G "
         "\\\"H\\\"\"\n---\n\nI\n");
    SAME("---\r\n\u00e9: \u00e9\r\ntitle: 'a ''b'' c'\r\nsummary: >\r\n  d\r\n  e\r\n---\r\nf\r\n",
         "---\r\n\u00e9: \u00e9\r\ntitle: 'A ''B'' C'\r\nsummary: >\r\n  d\r\n  e\r\n---\r\nF\r\n");
    SAME("---\ntitle: yes b\nsubtitle: &x abc\nsummary: *x\n---\n",
         "---\ntitle: YES B\nsubtitle: &x abc\nsummary: *x\n---\n");
    SAME("---\ntitle: '*: a* [b]'\ndescription: a *b*\n---\n",
         "---\ntitle: '*: A* [B]'\ndescription: A *B*\n---\n");
    SAME("---\ntitle: a: b\n---\n\nc\n", "---\ntitle: a: b\n---\n\nC\n"); /* it is not YAML */
    SAME("---\ntitle: {{ a\n---\n\nb\n", "---\ntitle: {{ a\n---\n\nB\n");
    SAME("+++\ntitle = \"a \\\"b\\\"\" # c\nsummary='d'\ndescription = \"e\\u0020\"\nsubtitle = "
         "\"\"\"f\"\"\"\n[x]\ntitle = "
         "\"g\"\n+++\nh\n",
         "+++\ntitle = \"A \\\"B\\\"\" # c\nsummary='D'\ndescription = \"e\\u0020\"\nsubtitle = "
         "\"\"\"f\"\"\"\n[x]\ntitle = "
         "\"g\"\n+++\nH\n");
    SAME("---\na\n", "---\nA\n"); /* a line between paragraphs */
    fake_expect("md", FAKE_REVERSED, "---\ntitle: dogs &amp [cats\n---\n",
                "---\ntitle: \"[CATS &AMP DOGS\"\n---\n");
    fake_expect("md", FAKE_REVERSED, "---\ntitle: dogs big \"cats\n---\n",
                "---\ntitle: \"\\\"CATS BIG DOGS\"\n---\n");
}
END_TEST

/* A request's globs choose the values. */
START_TEST(keys_of_front_matter) {
    static const char *const globs[] = {"hero, tag*", "!title"};
    static const char *const after[] = {
        "---\ntitle: a b\nhero: C D\ntagline: E F\nsummary: g h\n---\nI\n",
        "---\ntitle: a b\nhero: c d\ntagline: e f\nsummary: G H\n---\nI\n"};
    static const char before[] = "---\ntitle: a b\nhero: c d\ntagline: e f\nsummary: g h\n---\ni\n";
    struct arena arena;
    arena_init(&arena, 1 << 14);
    for (size_t i = 0; i < 2; i++) {
        const struct document document = {.format = document_find("md"),
                                          .source = before,
                                          .length = strlen(before),
                                          .language = FAKE_LANGUAGE,
                                          .keys = key_globs_parse(&globs[i], 1, &arena, NULL)};
        ck_assert_str_eq(fake_translated(&document, FAKE_UPPER, &arena), after[i]);
    }
    arena_done(&arena);
}
END_TEST

/* Texts of HTML are written as HTML, without backslashes; what is for programs stays. */
START_TEST(blocks_of_html) {
    SAME("<div>\na <b>b</b> &amp; *c* &lt; d\n</div>\n\ne\n",
         "<div>\nA <b>B</b> &amp; *C* &lt; D\n</div>\n\nE\n");
    SAME("<details open>\n<summary>a b</summary>\n\nc\n\n</details>\n",
         "<details open>\n<summary>A B</summary>\n\nC\n\n</details>\n");
    SAME("<table>\n<tr><td>a</td>\n    <td class=\"x\">b c<br>d</td></tr>\n</table>\n",
         "<table>\n<tr><td>A</td>\n    <td class=\"x\">B C<br>D</td></tr>\n</table>\n");
    SAME("- a\n\n  <p align=\"center\">\n  b\n  </p>\n\n> <p>c\n> d</p>\n>\n> e\n",
         "- A\n\n  <p align=\"center\">\n  B\n  </p>\n\n> <p>C\n> D</p>\n>\n> E\n");
    SAME("<div>a<script>b < c</script>d<pre>e</pre><p translate=\"no\">f<p>g</p></p>h</div>\n",
         "<div>A<script>b < c</script>D<pre>e</pre><p translate=\"no\">f<p>g</p></p>H</div>\n");
    SAME("<!-- a -->\n\n<style>\nb\n</style>\n\n<pre>\nc\n</pre>\n\n<div><!-- d\n",
         "<!-- a -->\n\n<style>\nb\n</style>\n\n<pre>\nc\n</pre>\n\n<div><!-- d\n");
    SAME("<a href=\"b\">\n\nc *d*\n\n</a>\n", "<a href=\"b\">\n\nC *D*\n\n</a>\n");
}
END_TEST

/* An expression of MDX may have blank lines. */
START_TEST(expressions_of_mdx) {
    SAME("a\n\n{(function () {\n  const a = b\n\n  return c\n})()}\n\nd\n",
         "A\n\n{(function () {\n  const a = b\n\n  return c\n})()}\n\nD\n");
    SAME("{a\n\nb c\n", "{A\n\nB C\n");
    SAME("{a\n\nb} c\n", "{A\n\nB} C\n");
}
END_TEST

/* Notation of wikis and of MDX. */
START_TEST(notation_of_wikis) {
    SAME("see [[other page]] and ![[big cat.png]] now\n",
         "SEE [[other page]] AND ![[big cat.png]] NOW\n");
    SAME("a ==red dog== runs\n", "A ==RED DOG== RUNS\n");
    SAME("a dog %%hidden cat%% runs\n", "A DOG %%hidden cat%% RUNS\n");
    SAME("a dog ^old-dog\n\n^x y\n", "A DOG ^old-dog\n\n^X Y\n");
    SAME("*[ABC]: a big cat\n", "*[ABC]: A BIG CAT\n");
    SAME("{/* a hidden cat */}\n\na dog\n", "{/* a hidden cat */}\n\nA DOG\n");
    SAME("a = b and 5 % of [it]\n", "A = B AND 5 % OF \\[IT\\]\n");
}
END_TEST

START_TEST(notation_of_mdx) {
    SAME("import A from 'b'\nimport {\n  C,\n} from \"d\";\n\nexport const e = {\n  f: 'g "
         "h'\n}\n\ni\n",
         "import A from 'b'\nimport {\n  C,\n} from \"d\";\n\nexport const e = {\n  f: 'g "
         "h'\n}\n\nI\n");
    SAME("import a dog\n\nexport of cats from b\n", "IMPORT A DOG\n\nEXPORT OF CATS FROM B\n");
    SAME("a <B c={() => d(e)} {...f} g=\"{h\">i j</B> k <L.M n={{ o: 1 }}/> p\n",
         "A <B c={() => d(e)} {...f} g=\"{h\">I J</B> K <L.M n={{ o: 1 }}/> P\n");
    SAME("<Tabs a={b > c}>\n<Item d=\"e\">\n\nf *g*\n\n</Item>\n</Tabs>\n",
         "<Tabs a={b > c}>\n<Item d=\"e\">\n\nF *G*\n\n</Item>\n</Tabs>\n");
    SAME("<>\na {b.c} d {e ? 'f' : \"g h\"} i {j k} l\n</>\n",
         "<>\nA {b.c} D {e ? 'f' : \"g h\"} I {J K} L\n</>\n");
}
END_TEST

/* Formulas in brackets with backslashes, and texts with attributes. */
START_TEST(brackets) {
    SAME("a \\\\(x_1 * y*\\\\) b \\\\[z\\\\] c \\(ab = c\\), \\[d^2\\]\n",
         "A \\\\(x_1 * y*\\\\) B \\\\[z\\\\] C \\(ab = c\\), \\[d^2\\]\n");
    SAME("a \\(b \\[\\frac x\\] \\[c \\* d ef\\]\n", "A (B \\[\\frac x\\] \\[C \\* D EF\\]\n");
    SAME("a \\[see here\\] b \\(or not\\)\n", "A \\[SEE HERE\\] B (OR NOT)\n");
    SAME("a [b c]{.d} e [f]{#g .h} [i] {.j}\n", "A [B C]{.d} E [F]{#g .h} \\[I\\] {.j}\n");
}
END_TEST

START_TEST(bombs) {
    static const char *const middles[] = {
        "[",         "![",       "*a ",    "**a",     "`",        "> ",    "- ",   "<",
        "<p>",       "<p a={",   "a={",    "{a",      "\\(",      "\\\\[", "[a]{", "<div>\n\n",
        "<div><!--", "<p><pre>", "[a](",   "a _",     "\\",       "&",     "[^a",  "~~a ",
        "|a\n|-\n",  "$",        "$a ",    "$$\n",    "$$a\n",    ":a:",   "{{",   "{#",
        "<!--",      "<b>",      "<b><i>", "http://", "www.a.b ", "a@b.c", "a@",   "[a]: b\n"};
    for (size_t i = 0; i < sizeof middles / sizeof *middles; i++) {
        struct arena arena;
        struct markup html;
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

/* A megabyte of input that cmark would read repeatedly. */
START_TEST(endless) {
    char *text = fake_long("a ", "<?", "\n", 1 << 20);
    fake_refused("md", text, "the document has too many marks");
    free(text);
}
END_TEST

/* A megabyte in one line of what may begin a template takes no more time for each than one of them
 * in a short line. */
START_TEST(braces_in_a_long_line) {
    struct arena arena;
    struct markup html;
    char *text = fake_long("a ", "{a b} %s ", "\n", 1 << 20);
    arena_init(&arena, 1 << 16);
    ck_assert_int_eq(fake_read("md", text, &arena, &html, NULL), 0);
    free(text);
    arena_done(&arena);
}
END_TEST

/* A reader who does not wait, and how often cmark was beside other work. */
struct leaver {
    size_t begun, ended;
};

static bool leave(void *owner) {
    const struct leaver *leaver = owner;
    return leaver->begun == leaver->ended;
}

static void count_away(void *owner, bool away) {
    struct leaver *leaver = owner;
    leaver->begun += away;
    leaver->ended += !away;
}

/* cmark is ended in the middle of its work. */
START_TEST(a_reader_leaves) {
    struct arena arena;
    struct markup html;
    struct leaver leaver = {0, 0};
    struct budget budget = {
        .most_bytes = SIZE_MAX, .go_on = leave, .away = count_away, .owner = &leaver};
    char *text = fake_long("a ", "a\n", "\n", 1 << 20);
    arena_init(&arena, 1 << 16);
    arena_limit(&arena, &budget);
    ck_assert_int_eq(fake_read("md", text, &arena, &html, NULL), -1);
    ck_assert_int_eq(budget.spent, BUDGET_TIME);
    ck_assert_uint_eq(leaver.begun, 1);
    ck_assert_uint_eq(leaver.ended, 1);
    free(text);
    arena_done(&arena);
}
END_TEST

/* Other tools' lines before a block, with titles. */
START_TEST(titles_of_directives) {
    SAME("!!! note \"a b\"\n    c d\n", "!!! note \"A B\"\n    C D\n");
    SAME("???+ tip \"a `b`\"\n    c d\n", "???+ tip \"A `b`\"\n    C D\n");
    SAME("=== \"a b\"\n\n--8<-- \"a.md\"\n", "=== \"A B\"\n\n--8<-- \"a.md\"\n");
    SAME("!!! note \"\"\n    c d\n", "!!! note \"\"\n    C D\n");
    /* their content is indented, also after a blank line */
    SAME("=== \"a b\"\n\n    c `d`\n\n    ``` c\n    int a;\n    ```\n\n    !!! note\n\n        e "
         "f\n\n        - g\n\ng h\n\n    "
         "int b;\n",
         "=== \"A B\"\n\n    C `d`\n\n    ``` c\n    int a;\n    ```\n\n    !!! note\n\n        E "
         "F\n\n        - G\n\nG H\n\n    "
         "int b;\n");
    SAME("???+ tip inline end \"a b\"\n\n    c d\n\n    !!! e\n",
         "???+ tip inline end \"A B\"\n\n    C D\n\n    !!! e\n");
    SAME("- a\n\n    !!! note \"b c\"\n        d e\n",
         "- A\n\n    !!! note \"B C\"\n        D E\n");
}
END_TEST

START_TEST(code_of_templates) {
    SAME("a b\n\n{% highlight c %}\nint a;\n\nint b;\n{% endhighlight %}\n\nc d\n",
         "A B\n\n{% highlight c %}\nint a;\n\nint b;\n{% endhighlight %}\n\nC D\n");
    SAME("{%- raw -%}\n{{ a }} b\n{%- endraw -%}\nc d\n",
         "{%- raw -%}\n{{ a }} b\n{%- endraw -%}\nC D\n");
    SAME("{% highlight c %}\nint a;\n", "{% highlight c %}\nINT A;\n"); /* without an end */
}
END_TEST

/* Braces that are text would be read as an expression. */
START_TEST(braces_of_mdx) {
    fake_expect("mdx", FAKE_UPPER, "a \\{ b \\} *c* {d}\n", "A \\{ B \\} *C* {d}\n");
    fake_expect_text("mdx", "a b\n", "c {d} *", "c \\{d\\} \\*\n");
    fake_expect_text("md", "a b\n", "c {d}", "c {d}\n");
}
END_TEST

Suite *markdown_suite(void) {
    Suite *suite = suite_create("markdown");
    TCase *cases = tcase_create("markdown");
    tcase_set_timeout(cases, 30); /* of bombs, by the clock */
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, blocks);
    tcase_add_test(cases, untouched);
    tcase_add_test(cases, inlines);
    tcase_add_test(cases, notation);
    tcase_add_test(cases, lines);
    tcase_add_test(cases, references);
    tcase_add_test(cases, escapes);
    tcase_add_test(cases, alerts);
    tcase_add_test(cases, formulas);
    tcase_add_test(cases, definitions);
    tcase_add_test(cases, units);
    tcase_add_test(cases, tags);
    tcase_add_test(cases, rows);
    tcase_add_test(cases, emphasis);
    tcase_add_test(cases, front_matter);
    tcase_add_test(cases, keys_of_front_matter);
    tcase_add_test(cases, blocks_of_html);
    tcase_add_test(cases, expressions_of_mdx);
    tcase_add_test(cases, notation_of_wikis);
    tcase_add_test(cases, notation_of_mdx);
    tcase_add_test(cases, brackets);
    tcase_add_test(cases, bombs);
    tcase_add_test(cases, endless);
    tcase_add_test(cases, braces_in_a_long_line);
    tcase_add_test(cases, a_reader_leaves);
    tcase_add_test(cases, titles_of_directives);
    tcase_add_test(cases, code_of_templates);
    tcase_add_test(cases, braces_of_mdx);
    return suite;
}
