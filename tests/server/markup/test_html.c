/* Markup to texts and back: nothing is lost, everything nests, and elements follow their words. */
#include "server/markup/markup.h"
#include "server/markup/piece.h"
#include "tests/suites.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(SLOW) /* some twenty times slower */
enum { SNIPPETS = 100, LONG_BYTES = 1 << 17 };
#else
enum { SNIPPETS = 400, LONG_BYTES = 1 << 20 };
#endif
enum { MAX_WORDS = 4096, REPLY_BYTES = 16384 };

static struct arena arena;

static void setup(void) {
    arena_init(&arena, 1 << 16);
}

static void teardown(void) {
    arena_done(&arena);
}

/* ---- translators that need no model ---- */

/* How word i of n words comes out: at which place, and linked or not. */
struct fake {
    bool reversed, linked;
};

static size_t split(const char *text, size_t length, struct span *words) {
    size_t count = 0;
    for (size_t at = 0; at < length && count < MAX_WORDS;) {
        at += strspn(text + at, " ");
        size_t begin = at;
        while (at < length && text[at] != ' ')
            at++;
        if (at > begin && at <= length)
            words[count++] = (struct span){begin, at};
    }
    return count;
}

static struct markup_translation fake_translate(const struct fake *fake,
                                                const struct markup_segment *segment) {
    static struct span words[MAX_WORDS];
    char *source = arena_copy(&arena, segment->text, segment->length),
         *text = arena_alloc(&arena, segment->length + 1, 1);
    size_t count = split(source, segment->length, words), length = 0;
    struct markup_link *links = arena_alloc(&arena, count, sizeof *links);
    for (size_t i = 0; i < count; i++) {
        struct span word = words[fake->reversed ? count - 1 - i : i];
        if (i > 0)
            text[length++] = ' ';
        memcpy(text + length, source + word.begin, word.end - word.begin);
        links[i] = (struct markup_link){word, {length, length + word.end - word.begin}};
        length += word.end - word.begin;
    }
    return (struct markup_translation){
        .text = text, .length = length, .links = links, .link_count = fake->linked ? count : 0};
}

static const struct fake same = {.linked = true}, backwards = {.reversed = true, .linked = true},
                         blind = {.reversed = true};

static char *run_bytes(const struct fake *fake, const char *markup, size_t bytes) {
    struct markup html;
    struct error error = {0};
    ck_assert_msg(markup_parse_html(markup, bytes, &arena, &html, &error) == 0, "%.900s",
                  error.message);
    struct markup_translation *translations =
        arena_zalloc(&arena, html.count, sizeof *translations);
    for (size_t i = 0; i < html.count; i++)
        translations[i] = fake_translate(fake, &html.segments[i]);
    size_t length;
    char *out = markup_write(&html, translations, &arena, &length, &error);
    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(strlen(out), length);
    return out;
}

static char *run(const struct fake *fake, const char *markup) {
    return run_bytes(fake, markup, strlen(markup));
}

/* ---- what must hold of any output ---- */

static bool is_void(const char *name) {
    static const char *const names[] = {"br", "img", "hr", "input", "wbr", "meta", "col", "source"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

/* The letters, digits and '-' at text. */
static bool read_name(const char *text, char name[32]) {
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
    snprintf(name, 32, "%.*s", (int)(length < 31 ? length : 31), text);
    return length > 0;
}

/* As ck_assert_msg, which writes to a file each time and is too slow for a million tags. */
#define REQUIRE(condition, ...)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg(__VA_ARGS__);                                                             \
    } while (0)

/* A reader of tags of its own: the parser shall not be its own judge. */
static void check_nests(const char *out, const char *markup) {
    static char open[MARKUP_MAX_DEPTH + 8][32];
    size_t depth = 0;
    for (const char *at = out; (at = strchr(at, '<')) != NULL;) {
        char name[32] = "";
        if (strncmp(at, "<!--", 4) == 0) {
            at = strstr(at, "-->");
            REQUIRE(at != NULL, "a comment without end in %.900s", out);
            continue;
        }
        const char *end = strchr(at, '>');
        REQUIRE(end != NULL, "a tag without end in %.900s", out);
        if (at[1] == '/' && read_name(at + 2, name)) {
            REQUIRE(depth > 0 && strcasecmp(open[depth - 1], name) == 0,
                    "</%.900s> ends nothing in\n%.2000s\nof\n%.2000s", name, out, markup);
            depth--;
        } else if (read_name(at + 1, name) && !is_void(name) && end[-1] != '/') {
            REQUIRE(depth < MARKUP_MAX_DEPTH + 8, "%zu elements are open", depth);
            strcpy(open[depth++], name);
            if (strcmp(name, "script") == 0 || strcmp(name, "textarea") == 0)
                end = strstr(at, name[0] == 's' ? "</script>" : "</textarea>") - 1;
        }
        at = end + 1;
    }
    REQUIRE(depth == 0, "%.900s is open at the end of\n%.2000s", depth > 0 ? open[depth - 1] : "",
            out);
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        count++;
    return count;
}

/* Generated tags and words carry numbers: each must come out once. doubled: but that an element
 * that no word is linked with may stay as it was, beside its translation. */
static void check_kept(const char *out, const char *markup, size_t numbers, bool doubled) {
    for (size_t i = 0; i < numbers; i++) {
        char tag[32], word[32];
        snprintf(tag, sizeof tag, " n=\"%zu\"", i);
        snprintf(word, sizeof word, "w%zuw", i);
        ck_assert_msg(count_of(out, tag) == count_of(markup, tag),
                      "%.900s is lost or doubled in\n%.900s\nof\n%.900s", tag, out, markup);
        ck_assert_msg(count_of(out, word) == count_of(markup, word) ||
                          (doubled && count_of(out, word) == 2 * count_of(markup, word)),
                      "%.900s is lost or doubled in\n%.900s\nof\n%.900s", word, out, markup);
    }
}

/* ---- generated markup ---- */

struct maker {
    char *text;
    size_t length, number;
    uint32_t state;
};

static uint32_t draw(struct maker *maker, uint32_t below) {
    maker->state = maker->state * 1664525u + 1013904223u;
    return (maker->state >> 8) % below;
}

#define PRINT(maker, ...)                                                                          \
    ((maker)->length += (size_t)sprintf((maker)->text + (maker)->length, __VA_ARGS__))

static const char *const elements[] = {
    "b",      "i",      "a",       "em",    "strong", "span",  "p",        "div",
    "ul",     "li",     "code",    "td",    "tr",     "table", "h1",       "x-y",
    "small",  "pre",    "dl",      "dt",    "dd",     "u",     "B",        "P",
    "select", "option", "section", "label", "font",   "sup",   "template", "blockquote"};
enum { ELEMENTS = sizeof elements / sizeof *elements };

/* One piece: a word, a tag that may have no end, an end tag of something. */
static void make_piece(struct maker *maker, bool broken) {
    const char *name = elements[draw(maker, ELEMENTS)];
    switch (draw(maker, broken ? 9 : 5)) {
    case 0:
        PRINT(maker, "<img n=\"%zu\" alt='a > b'>", maker->number++);
        break;
    case 1:
        PRINT(maker, "<!-- <b> %zu -->", maker->number++);
        break;
    case 2:
        PRINT(maker, " w%zuw, &amp; &unknown; ", maker->number++);
        break;
    case 3:
    case 4:
        PRINT(maker, "w%zuw ", maker->number++);
        break;
    case 5:
    case 6:
        PRINT(maker, "<%s n=\"%zu\">", name, maker->number++);
        break;
    case 7:
        PRINT(maker, "</%s >", name);
        break;
    default:
        PRINT(maker, "%s", draw(maker, 2) ? " a < b & c " : "</><br>");
    }
}

/* Nested as it should be. */
static void make_tree(struct maker *maker, size_t depth) {
    static const char *const inlines[] = {"b", "i", "a", "em", "span", "code", "x-y", "sup"};
    for (uint32_t i = 0, count = 1 + draw(maker, 5); i < count; i++) {
        if (depth == 0 || draw(maker, 3) == 0) {
            make_piece(maker, false);
            continue;
        }
        const char *name = depth > 3 ? "div" : inlines[draw(maker, 8)];
        PRINT(maker, "<%s n=\"%zu\">", name, maker->number++);
        make_tree(maker, depth - 1);
        PRINT(maker, "</%s>", name);
    }
}

static char *make(uint32_t seed, bool broken, size_t *numbers) {
    static char text[1 << 20];
    struct maker maker = {.text = text, .state = seed * 2654435761u + 1};
    text[0] = '\0';
    if (broken) {
        for (uint32_t i = 0, count = 1 + draw(&maker, 60); i < count; i++)
            make_piece(&maker, true);
    } else {
        make_tree(&maker, 2 + draw(&maker, 4));
    }
    *numbers = maker.number;
    return text;
}

START_TEST(generated_markup_keeps_all) {
    static const struct fake *const fakes[] = {&same, &backwards, &blind};
    size_t numbers;
    const char *markup = make((uint32_t)_i, _i % 2, &numbers);
    for (size_t i = 0; i < sizeof fakes / sizeof *fakes; i++) {
        const char *out = run(fakes[i], markup);
        check_nests(out, markup);
        check_kept(out, markup, numbers, fakes[i] == &blind);
    }
}
END_TEST

/* ---- by hand ---- */

struct example {
    const char *markup, *out;
};

static void check_examples(const struct fake *fake, const struct example *examples, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *out = run(fake, examples[i].markup);
        ck_assert_msg(strcmp(out, examples[i].out) == 0, "%.900s became\n%.900s instead of\n%.900s",
                      examples[i].markup, out, examples[i].out);
        check_nests(out, examples[i].markup);
    }
}

#define CHECK(fake, examples) check_examples(fake, examples, sizeof(examples) / sizeof *(examples))

/* ---- elements that keep words ---- */

enum { FRAGMENTS = 40, SEEDS = 100, MOST_ELEMENTS = 256 };

/* Words and nested elements, each with attributes that no browser knows; notes and signs among
 * them. */
static void make_inline(struct maker *maker, size_t depth) {
    static const char *const names[] = {"b", "i", "q", "em", "span", "sup", "x-y", "kbd"};
    static const char *const attributes[] = {
        "@click=\"a\"", "[href]=\"b &amp; c\"", "(go)=\"d()\"",  "*ngIf=\"e\"",
        "#ref",         ":key=\"f\"",           "viewBox=\"g\"", "v-on:x.y=\"h\""};
    for (uint32_t i = 0, count = 1 + draw(maker, 4); i < count; i++) {
        uint32_t kind = draw(maker, depth > 0 ? 8 : 4);
        if (kind < 2)
            PRINT(maker, "%sword%u%s ", draw(maker, 6) ? "" : "#", draw(maker, 100),
                  draw(maker, 5) ? "" : ",");
        else if (kind == 2)
            PRINT(maker, draw(maker, 2) ? "(one two)! " : "'x' ");
        else if (kind == 3)
            PRINT(maker, "<sup n=\"%zu\"><a>[%u]</a></sup> ", maker->number++, draw(maker, 9));
        if (kind < 4)
            continue;
        const char *name = names[draw(maker, 8)];
        PRINT(maker, "<%s n=\"%zu\" %s %s>", name, maker->number++, attributes[draw(maker, 4)],
              attributes[4 + draw(maker, 4)]);
        make_inline(maker, depth - 1);
        PRINT(maker, "</%s>%s", name, draw(maker, 3) ? " " : draw(maker, 2) ? "." : "");
    }
}

/* As models translate: words are left out, doubled, moved, and linked with the wrong ones; marks
 * are words of their own. */
static struct markup_translation translate_badly(struct maker *maker,
                                                 const struct markup_segment *segment) {
    static struct span words[MAX_WORDS], made[MAX_WORDS];
    static char text[1 << 17];
    size_t count =
               split(arena_copy(&arena, segment->text, segment->length), segment->length, words),
           length = 0, written = 0, linked = 0;
    struct markup_link *links = arena_alloc(&arena, 4 * count + 4, sizeof *links);
    uint32_t lost = draw(maker, 10);
    for (size_t i = 0; i < count; i++) {
        struct span word = words[draw(maker, 8) ? i : draw(maker, (uint32_t)count)];
        if (draw(maker, 10) < lost)
            continue;
        length += length > 0 && draw(maker, 9) ? (size_t)sprintf(text + length, " ") : 0;
        for (size_t at = word.begin; at < word.end;) {
            bool letter = isalnum((unsigned char)segment->text[at]);
            size_t begin = length;
            do
                text[length++] = segment->text[at++];
            while (letter && at < word.end && isalnum((unsigned char)segment->text[at]));
            made[written++] = (struct span){begin, length};
        }
        if (draw(maker, 4) > 0)
            links[linked++] = (struct markup_link){
                words[draw(maker, 6) ? i : draw(maker, (uint32_t)count)], made[written - 1]};
    }
    return (struct markup_translation){
        .text = arena_copy(&arena, text, length),
        .length = length,
        .words =
            memcpy(arena_alloc(&arena, written + 1, sizeof *made), made, written * sizeof *made),
        .word_count = written,
        .links = links,
        .link_count = linked};
}

/* Which elements have words in them, by their numbers. */
static void find_words(const char *markup, bool *has) {
    size_t open[MARKUP_MAX_DEPTH], depth = 0;
    for (const char *at = markup; *at; at++) {
        if (*at == '<') {
            const char *number = strstr(at, "n=\""), *end = strchr(at, '>');
            if (at[1] == '/')
                depth--;
            else
                open[depth++] =
                    number && number < end ? strtoul(number + 3, NULL, 10) : MOST_ELEMENTS;
            at = end;
        } else if (isalnum((unsigned char)*at)) {
            for (size_t i = 0; i < depth; i++)
                has[open[i]] = true;
        }
    }
}

/* Start tags come out as they were, each once. */
static void check_tags(const char *out, const char *markup) {
    for (const char *at = markup; (at = strchr(at, '<')) != NULL; at++) {
        char tag[256];
        snprintf(tag, sizeof tag, "%.*s", (int)(strchr(at, '>') + 1 - at), at);
        if (at[1] != '/')
            ck_assert_msg(count_of(out, tag) == count_of(markup, tag), "%s is not in\n%s\nof\n%s",
                          tag, out, markup);
    }
}

START_TEST(elements_keep_words) {
    static char text[1 << 16];
    struct maker maker = {.text = text, .state = (uint32_t)_i * 2654435761u + 7};
    for (size_t i = 0; i < FRAGMENTS; i++) {
        bool before[MOST_ELEMENTS + 1] = {false}, after[MOST_ELEMENTS + 1] = {false};
        struct markup html;
        size_t length;
        maker.length = maker.number = 0;
        do
            make_inline(&maker, 3);
        while (draw(&maker, 2) && maker.number < MOST_ELEMENTS / 8);
        ck_assert_uint_lt(maker.number, MOST_ELEMENTS);
        ck_assert_int_eq(markup_parse_html(text, maker.length, &arena, &html, NULL), 0);
        struct markup_translation *translations =
            arena_zalloc(&arena, html.count, sizeof *translations);
        for (size_t j = 0; j < html.count; j++)
            translations[j] = translate_badly(&maker, &html.segments[j]);
        const char *out = markup_write(&html, translations, &arena, &length, NULL);
        check_nests(out, text);
        check_tags(out, text);
        find_words(text, before);
        find_words(out, after);
        for (size_t j = 0; j < maker.number; j++)
            ck_assert_msg(!before[j] || after[j], "element %zu is empty in\n%s\nof\n%s", j, out,
                          text);
        arena_reset(&arena);
    }
}
END_TEST

/* ---- attributes ---- */

START_TEST(odd_attributes) {
    static const char *const snippets[] = {
        "<a [href]=\"u\" (click)=\"go()\" *ngIf=\"a\" #b :c @d.e=\"f\" v-on:g>h</a>",
        "<p x-on:click=\"a\" @click.prevent=\"b\" viewBox=\"0 0\">c</p>",
        "<i data-a=\"&copy;=1&amp;b=2\" B=\"c\">d</i>",
        "<script>if (a <b c=\"d\" && e> f) \"<p @g=h>\"</script><p @i=\"j\">k</p>",
        "<!-- <p @a=b> --><p @c=\"d\">e</p>",
        "<style>a > b { c: \"<i @d>\" }</style><p #e>f</p>",
        "<p>a<? b c=\"d> e</p><p @f=\"g\">h</p>",
        "<![if !IE]><p @a=\"b\">c</p><![endif]>",
        "<p>a<!b c=\"d> e</p><p @f=\"g\">h</p>",
    };
    for (size_t i = 0; i < sizeof snippets / sizeof *snippets; i++)
        ck_assert_str_eq(run(&same, snippets[i]), snippets[i]);
    ck_assert_str_eq(run(&same, "<a @b='c\"d' e=f/g h=i>j</a>"),
                     "<a @b=\"c&quot;d\" e=\"f/g\" h=\"i\">j</a>");
}
END_TEST

/* Every second word of a value, which tells that it was translated. */
static char *run_values(const char *markup, const char *language, const char *from) {
    struct markup html;
    size_t length;
    ck_assert_int_eq(markup_parse_html(markup, strlen(markup), &arena, &html, NULL), 0);
    struct markup_translation *translations =
        arena_zalloc(&arena, html.count, sizeof *translations);
    for (size_t i = html.count - html.values; i < html.count; i++) {
        char *text = arena_copy(&arena, html.segments[i].text, html.segments[i].length);
        for (char *c = text; *c; c++)
            *c = (char)toupper((unsigned char)*c);
        translations[i] =
            (struct markup_translation){.text = text, .length = html.segments[i].length};
    }
    html.language = language;
    html.from = from;
    return markup_write(&html, translations, &arena, &length, NULL);
}

START_TEST(translated_attributes) {
    static const struct example examples[] = {
        {"<p>a <img src=\"b\" alt=\" two  dogs\" title='c \"d\"'/> e</p>",
         "<p>a <img src=\"b\" alt=\"TWO DOGS\" title=\"C &quot;D&quot;\"/> e</p>"},
        {"<input type=\"submit\" value=\"a\"/><input type=\"text\" value=\"b\"/>",
         "<input type=\"submit\" value=\"A\"/><input type=\"text\" value=\"b\"/>"},
        {"<option label=\"a\" value=\"b\">c</option><i label=\"d\">e</i>",
         "<option label=\"A\" value=\"b\">c</option><i label=\"d\">e</i>"},
        {"<meta property=\"og:title\" content=\"a\"/><meta property=\"og:type\" content=\"b\"/>",
         "<meta property=\"og:title\" content=\"A\"/><meta property=\"og:type\" content=\"b\"/>"},
        {"<i aria-description=\"a\" aria-controls=\"b\">c</i>",
         "<i aria-description=\"A\" aria-controls=\"b\">c</i>"},
        {"<input placeholder=\"a &amp; b\" value=\"c\"/>",
         "<input placeholder=\"A &amp; B\" value=\"c\"/>"},
        {"<textarea placeholder=\"a\">b</textarea>", "<textarea placeholder=\"A\">b</textarea>"},
        {"<button aria-label=\"a\">b</button>", "<button aria-label=\"A\">b</button>"},
        {"<meta name=\"description\" content=\"a\"/><meta name=\"author\" content=\"b\"/>",
         "<meta name=\"description\" content=\"A\"/><meta name=\"author\" content=\"b\"/>"},
        {"<b translate=\"no\" title=\"a\"><i title=\"b\">c</i></b>",
         "<b translate=\"no\" title=\"a\"><i title=\"b\">c</i></b>"},
        {"<i title=\"12\" alt=\"\">a</i>", "<i title=\"12\" alt=\"\">a</i>"},
        {"<script type=\"application/ld+json\">{\"@type\": \"Article\", \"name\": \"a \\\"b\\\"\", "
         "\"url\": \"c\", \"author\": [{\"name\": \"d\", \"@type\": [\"Person\"], "
         "\"description\": \"\\u00e9 e\"}]}</script>",
         "<script type=\"application/ld+json\">{\"@type\": \"Article\", \"name\": \"A \\\"B\\\"\", "
         "\"url\": \"c\", \"author\": [{\"name\": \"d\", \"@type\": [\"Person\"], "
         "\"description\": \"\u00e9 E\"}]}</script>"},
        {"<script type=\"application/ld+json\">{\"name\": \"a\"</script>",
         "<script type=\"application/ld+json\">{\"name\": \"a\"</script>"},
        {"<script>{\"name\": \"a\"}</script>", "<script>{\"name\": \"a\"}</script>"},
        {"<i title=\"&nonesuch; a\">b</i>", "<i title=\"&nonesuch; a\">b</i>"},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        ck_assert_str_eq(run_values(examples[i].markup, NULL, NULL), examples[i].out);
}
END_TEST

START_TEST(languages) {
    static const char page[] =
        "<html lang=\"en\" xml:lang=\"en\"><body><p lang=\"en-GB\">a</p><p lang=\"la\">b</p>"
        "<i lang=\"en\" translate=\"no\">c</i></body></html>";
    ck_assert_str_eq(run_values(page, NULL, NULL), page);
    ck_assert_str_eq(
        run_values(page, "fr", "en"),
        "<html lang=\"fr\" xml:lang=\"fr\"><body><p lang=\"fr\">a</p><p lang=\"la\">b</p>"
        "<i lang=\"en\" translate=\"no\">c</i></body></html>");
    ck_assert_str_eq(run_values("<p lang=\"en\">a</p>", "fr", "de"), "<p lang=\"en\">a</p>");
    ck_assert_str_eq(run_values("<html lang=\"{{ en }}\"><body>a</body></html>", "fr", "en"),
                     "<html lang=\"{{ en }}\"><body>a</body></html>");
}
END_TEST

/* Tags that a text mentions are not text, and notes and signs stay in place. */
START_TEST(tags_in_text) {
    static const struct example examples[] = {
        {"<p>Use the &lt;div&gt; element &lt;b&gt;now&lt;/b&gt;.</p>",
         "<p>&lt;b&gt;now&lt;/b&gt;. element the &lt;div&gt; Use</p>"},
        {"<p>one<sup><a href=\"#1\">[1]</a></sup> two</p>",
         "<p>two one<sup><a href=\"#1\">[1]</a></sup></p>"},
        {"<p>a &amp;nbsp; b</p>", "<p>b a &amp;nbsp;</p>"},
    };
    CHECK(&backwards, examples);
}
END_TEST

START_TEST(markup_that_nests_is_unchanged) {
    static const char *const snippets[] = {
        "",
        " \n ",
        "plain",
        "  two\tspaces ",
        "<p>Hello <b>world</b>!</p>",
        "<p>\n  Hello <b>world</b>!\n</p>\n",
        "a <i>b <u>c</u> d</i> e",
        "<b><i><u>all</u></i></b>",
        "<a href=\"?a=1&amp;b=2\" title=\"x &gt; y &quot;z&quot;\">link</a> text",
        "AT&amp;T &lt;b&gt; \xc3\xa9",
        "5 &unknown; 6 and &check; it",
        "x<br/>y<br/>z",
        "one <img src=\"x\" alt=\"\" hidden/> two <img src=\"y\"/>three",
        "w<sup>2</sup> and H<sub>2</sub>O",
        "<ul><li>one</li><li>two <b>x</b></li></ul>",
        "<table><tr><td>a</td><td>b</td></tr></table>",
        "<!DOCTYPE html><html><head><title>A &amp; B</title><meta "
        "charset=\"x\"/></head><body><p>c</p></body></html>",
        "<script>if (a < b && c > d) \"</b>\";</script><p>x</p>",
        "a <script>1 < 2</script> b",
        "<style>p > b { }</style>text",
        "<pre>\n  keep   this <b>x</b>\n</pre>",
        "<textarea>a &lt;b&gt; c</textarea> d",
        "run <code>ls -l</code> now",
        "a <span translate=\"no\">b <i>c</i></span> d",
        "a <span class=\"x notranslate y\">b</span> d",
        "<div class=\"notranslate\"><p>a</p><p>b</p></div><p>c</p>",
        "<template><p>a</p></template>b",
        "<svg><path d=\"x\"></path><text>a</text></svg> b",
        "a <!-- c --> b",
        "<!-- <p> -->a",
        "<b></b>a<i></i>",
        "<x-placeholder id=\"1\"></x-placeholder> text <x id=\"2\"></x>",
        "<a href=\"x\"><div>b</div></a>",
        "2024 \xe2\x80\x94 3.5",
        "<p>\xc2\xa0</p>",
        "<picture><source srcset=\"x\"/><img src=\"y\"/></picture> a",
        "<?php echo 1?><p>a</p>",
        /* templates: outside of the body, where the parser would begin a paragraph */
        "---\na: b\n---\n<!DOCTYPE html><html><head>\n{{ a }}\n<title>{{ b }} c</title>{% if a < b "
        "%}\n<link/>\n{% endif %}</head>\n{% block a %}\n<body><p>c {{ d }}</p></body>\n"
        "{% endblock %}\n</html>{{ e }}",
        "{% a %}<html><head>{{ b }}<script>\"<b\"</script>{{ c }}</head></html>",
        "<html lang=\"{{ a | default: \"en-US\" }}\"><body>a</body></html>",
        "<select><option>a</option><option>b</option></select>",
        "<p><span class=\"h-card\"><a href=\"https://x.y/@z\" class=\"u-url "
        "mention\">@<span>z</span></a></span> hello</p>",
    };
    for (size_t i = 0; i < sizeof snippets / sizeof *snippets; i++) {
        const char *out = run(&same, snippets[i]), *collapsed = "two spaces";
        bool equal = strcmp(out, snippets[i]) == 0 || strstr(out, collapsed);
        ck_assert_msg(equal, "%.900s became\n%.900s", snippets[i], out);
    }
}
END_TEST

START_TEST(one_form_of_markup) {
    static const struct example examples[] = {
        {"<A HREF=x>link</A>", "<a HREF=\"x\">link</a>"},
        {"<I>a</i >", "<i>a</i>"},
        {"<a title='x > \"y\"' n=1 n=2>a</a>",
         "<a title=\"x &gt; &quot;y&quot;\" n=\"1\" n=\"2\">a</a>"},
        {"x<br>y<br />z", "x<br/>y<br/>z"},
        {"<x id=\"1\"/> a", "<x id=\"1\"></x> a"},
        {"&apos;a&quot; &copy; &#233;&#xE9;", "'a\" \xc2\xa9 \xc3\xa9\xc3\xa9"},
        {"&amp;check; &amp;lt;", "&amp;check; &amp;lt;"},
        {"<!DOCTYPE HTML PUBLIC \"a\" \"b\"><html><body>c</body></html>",
         "<!DOCTYPE HTML PUBLIC \"a\" \"b\"><html><body>c</body></html>"},
    };
    CHECK(&same, examples);
}
END_TEST

START_TEST(broken_markup_is_mended) {
    static const struct example examples[] = {
        {"<b>a", "<b>a</b>"},
        {"a</b>", "a"},
        {"<b>a <i>b</b> c</i>", "<b>a <i>b</i></b> c"},
        {"<p>a<p>b", "<p>a</p><p>b</p>"},
        {"<ul><li>a<li>b</ul>", "<ul><li>a</li><li>b</li></ul>"},
        {"<ul><li>a<ul><li>b</ul><li>c</ul>", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"},
        {"<dl><dt>a<dd>b<dt>c</dl>", "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>"},
        {"<table><tr><td>a<td>b<tr><td>c</table>",
         "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>"},
        {"<div><table><tr><td>a</div>b</table></div>",
         "<div><table><tr><td>ab</td></tr></table></div>"},
        {"<b>a <p>b</p></b>", "<b>a </b><p>b</p>"},
        {"<b><p>a</b> c</p>", "<b></b><p>a c</p>"},
        {"a < b", "a &lt; b"},
        {"a <b", "a <b></b>"},
        {"<p>a <html", "<p>a </p>"},
        {"a <b c=\"d>e</b> f", "a <b c=\"d&gt;e&lt;/b&gt; f\"></b>"},
        {"a <", "a &lt;"},
        {"a </", "a "},
        {"a </>b", "a &gt;b"},
        {"a <!-- x", "a "},
        {"<script>a", "<script>a</script>"},
        {"<script>a</scripts><p b=\"c\">d</p></script><p e=\"f\">g</p>",
         "<script>a</scripts><p b=\"c\">d</p></script><p e=\"f\">g</p>"},
        {"<script></c</script><p b=\"c\">d</p>", "<script></c</script><p b=\"c\">d</p>"},
        {"<code>a", "<code>a</code>"},
        {"<p><code>a</p>b", "<p><code>a</code></p>b"},
        {"AT&T &; &#x110000;a", "AT&amp;T &amp;; a"},
    };
    CHECK(&same, examples);
}
END_TEST

START_TEST(elements_follow_their_words) {
    static const struct example examples[] = {
        {"a <b>b</b> c", "c <b>b</b> a"},
        {"<b>a b</b> c d", "d c <b>b a</b>"},
        {"<b>a <i>b</i></b> c d", "d c <b><i>b</i> a</b>"},
        {"<p><b>a</b> b</p><p>c <i>d</i></p>", "<p>b <b>a</b></p><p><i>d</i> c</p>"},
        {"x <a href=\"y\">a</a> <a href=\"z\">b</a>", "<a href=\"z\">b</a> <a href=\"y\">a</a> x"},
        {"see <b>snow</b>. now", "now <b>snow</b>. see"},
        {"run <code>ls</code> now", "now <code>ls</code> run"},
        {"run <code>ls</code>, now", "now <code>ls</code>, run"},
        {"a <img src=x> b", "b a <img src=\"x\"/>"},
        {"a no<img src=x>w", "now a<img src=\"x\"/>"},
    };
    CHECK(&backwards, examples);
}
END_TEST

/* Texts as the translator gets them. */
START_TEST(segments) {
    static const char markup[] =
        "<p>A &amp; <b>b</b>\n c "
        "<code>x</code>.</p>\n<ul><li>1.</li><li>d<br>e</li></ul><pre>f</pre>g";
    static const char *const texts[] = {"A & b c x.", "d", "e", "g"};
    struct markup html;
    ck_assert_int_eq(markup_parse_html(markup, sizeof markup - 1, &arena, &html, NULL), 0);
    ck_assert_uint_eq(html.count, sizeof texts / sizeof *texts);
    for (size_t i = 0; i < html.count; i++)
        ck_assert_str_eq(arena_copy(&arena, html.segments[i].text, html.segments[i].length),
                         texts[i]);
}
END_TEST

/* Which neighbours are texts of their own: the texts, with a bar between them. */
static const struct example apart_cases[] = {
    {"<nav><a>Cats</a> <a>big dogs</a> <a>Owls</a></nav>", "Cats|big dogs|Owls"},
    {"<p><a>Cats</a><a>Dogs</a></p>", "Cats|Dogs"},
    {"<p><a>Cats</a>, <a>Dogs</a> (<a>Owls</a>)</p>", "Cats|Dogs|Owls"},
    {"<p><a>Cats</a> > <em>Dogs</em> > <a>Owls</a></p>", "Cats|Dogs|Owls"},
    {"<p>Here: <a>Cats</a> > <a>Dogs</a> > Owls</p>", "Here: Cats|Dogs|Owls"},
    {"<p>Here: <a>Cats</a>\u00a0|\u00a0<a>Dogs</a></p>", "Here: Cats|Dogs"},
    {"<p>\u00ab <a>Cats</a> \u00bb and dogs</p>", "\u00ab Cats \u00bb and dogs"},
    {"<p>a | b <b>c</b> | d</p>", "a | b c | d"},
    {"<p><a>Cats</a> and <a>dogs</a></p>", "Cats and dogs"},
    {"<p>See <a>big</a> <a>dogs</a></p>", "See big dogs"},
    {"<p><i>See</i> <a>dogs</a></p>", "See dogs"},
    {"<p><a>1</a> <a>2</a> <a>Next</a></p>", "Next"},
    {"<p><b>3</b> <a>dogs</a></p>", "3 dogs"},
    {"<p><a>Really</a>?</p>", "Really?"},
    {"<p><b>Big</b> <i>dogs</i></p>", "Big dogs"},
    {"<p><b>Cats</b> | <i>Dogs</i></p>", "Cats|Dogs"},
    {"<p><b>Cats</b>, <i>Dogs</i></p>", "Cats, Dogs"},
    {"<p><span>Big cats</span> <span>Owls</span></p>", "Big cats|Owls"},
    {"<p><span>Big cats</span><span>Owls</span></p>", "Big cats|Owls"},
    {"<p><span>The </span><span>Big Cats</span></p>", "The Big Cats"},
    {"<p><span>The</span> <span>cats</span></p>", "The cats"},
    {"<p><span>Cats</span> <x-y>Owls</x-y></p>", "Cats Owls"},
    {"<div><b><span><a>Cats</a> <a>Dogs</a></span></b></div>", "Cats|Dogs"},
    {"<p>Press <button>Stop</button> now</p>", "Press|Stop|now"},
    {"<label>Cats</label><label>Dogs</label>", "Cats|Dogs"},
    {"<p><img src=\"x\"/> Cats <code>ls</code> <br/></p>", "Cats ls"},
};

START_TEST(neighbours) {
    struct markup html;
    struct bytes_buffer texts = {.arena = &arena};
    const char *markup = apart_cases[_i].markup;
    ck_assert_int_eq(markup_parse_html(markup, strlen(markup), &arena, &html, NULL), 0);
    for (size_t i = 0; i < html.count; i++) {
        bytes_put_string(&texts, i > 0 ? "|" : "");
        bytes_put(&texts, html.segments[i].text, html.segments[i].length);
    }
    ck_assert_str_eq(texts.bytes, apart_cases[_i].out);
}
END_TEST

/* Elements that hold all words keep them, and so do elements that are texts of their own. */
START_TEST(texts_of_their_own_stay) {
    static const struct example examples[] = {
        {"<p><a>a b</a> | <a>c d</a></p>", "<p><a>b a</a> | <a>d c</a></p>"},
        {"<p> <img src=\"x\"/> <b> a <i>b</i></b> </p>",
         "<p> <img src=\"x\"/> <b> <i>b</i> a</b> </p>"},
        {"<button><svg></svg> a b</button>", "<button><svg></svg> b a</button>"},
        {"<p>a b <img src=\"x\"/></p>", "<p>b a <img src=\"x\"/></p>"},
    };
    CHECK(&backwards, examples);
}
END_TEST

/* White space stays inside of elements, or outside, and no-break spaces remain. */
START_TEST(white_space_stays) {
    static const char *const kept[] = {
        "<p>a<b> b</b> c</p>",
        "<p>a <b>b </b>c</p>",
        "<p>a<b> b </b>c <i> d </i> e</p>",
        "<p>a <img src=\"x\"/>, b</p>",
        "<p>a<img src=\"x\"/> b</p>",
        "<p>a (<img src=\"x\"/> b)</p>",
        "<p>a 5\u00a0kg b\u202fc</p>",
        "<p><b>a:</b>\u00a0b</p>",
        "<p>\u00a0 a \u00a0 b \u00a0</p>",
        "<p>a<b> </b>b</p>",
    };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        ck_assert_str_eq(run(&same, kept[i]), kept[i]);
    static const struct example examples[] = {
        {"<p>a<b> b</b></p>", "<p><b> b</b> a</p>"},
        {"<p><b>a </b>b</p>", "<p>b <b>a </b></p>"},
        {"<p>a <i>b</i><img src=\"x\"/> c</p>", "<p>c <i>b</i><img src=\"x\"/> a</p>"},
    };
    CHECK(&backwards, examples);
}
END_TEST

/* A translation has its own no-break spaces: those of the source replace white space or go. */
START_TEST(no_break_spaces_replace_spaces) {
    static const struct {
        const char *text, *expected;
    } examples[] = {{"a ?", "<p>a\u00a0?</p>"}, {"a?", "<p>a?</p>"}, {"ab?", "<p>ab?</p>"}};
    static const char markup[] = "<p>a\u00a0?</p>";
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        struct markup html;
        size_t length;
        ck_assert_int_eq(markup_parse_html(markup, sizeof markup - 1, &arena, &html, NULL), 0);
        ck_assert_str_eq(arena_copy(&arena, html.segments->text, html.segments->length), "a ?");
        struct markup_link links[] = {{{0, 1}, {0, 1}}};
        struct markup_translation translation = {.text = examples[i].text,
                                                 .length = strlen(examples[i].text),
                                                 .links = links,
                                                 .link_count = 1};
        ck_assert_str_eq(markup_write(&html, &translation, &arena, &length, NULL),
                         examples[i].expected);
    }
}
END_TEST

START_TEST(translated_within_untranslated) {
    static const struct example examples[] = {
        {"<p translate=\"no\">a b <i><b translate=\"yes\">c d</b> e f</i> g</p> h i",
         "<p translate=\"no\">a b <i><b translate=\"yes\">d c</b> e f</i> g</p> i h"},
        {"a <span class=\"notranslate\">b c <b translate=\"\">d <i translate=\"no\">e f</i> "
         "g</b></span> h",
         "a <span class=\"notranslate\">b c <b translate=\"\">g d <i translate=\"no\">e "
         "f</i></b></span> h"},
        {"<code>a b <img translate=\"yes\"/> c d</code> e f",
         "<code>a b <img translate=\"yes\"/> c d</code> f e"},
        {"<script>a <b translate=\"yes\">b</b></script>c d",
         "<script>a <b translate=\"yes\">b</b></script>d c"},
        {"<code translate=\"yes\">a b</code>", "<code translate=\"yes\">b a</code>"},
    };
    CHECK(&backwards, examples);
}
END_TEST

/* A base is part of its sentence, and its reading follows it. */
START_TEST(rubies) {
    static const struct example examples[] = {
        {"<p>a <ruby>b<rt>x</rt></ruby> c</p>", "<p>c <ruby>b<rt>x</rt></ruby> a</p>"},
        {"<p>a <ruby><rb>b</rb><rp>(</rp><rt>x</rt><rp>)</rp></ruby> c</p>",
         "<p>c <ruby><rb>b</rb><rp>(</rp><rt>x</rt><rp>)</rp></ruby> a</p>"},
    };
    CHECK(&backwards, examples);
}
END_TEST

/* A translation may be empty, or be missing. */
START_TEST(odd_translations) {
    static const char markup[] = "<p>a <b>b</b> <i></i></p>";
    struct markup html;
    size_t length;
    ck_assert_int_eq(markup_parse_html(markup, sizeof markup - 1, &arena, &html, NULL), 0);
    struct markup_translation translation = {0};
    ck_assert_str_eq(markup_write(&html, &translation, &arena, &length, NULL), markup);
    translation.text = "";
    ck_assert_str_eq(markup_write(&html, &translation, &arena, &length, NULL), markup);
    struct markup_link links[] = {{{2, 3}, {0, 1}}, {{0, 1}, {2, 3}}, {{0, 1}, {50, 60}}};
    translation =
        (struct markup_translation){.text = "x < y", .length = 5, .links = links, .link_count = 3};
    check_nests(markup_write(&html, &translation, &arena, &length, NULL), markup);
}
END_TEST

/* Words that do not have white space between them: the translation's, with a bar before each, and
 * links from words of the source.
 */
static const struct {
    const char *markup, *words, *expected;
    struct {
        const char *source;
        size_t word;
    } links[5];
} cut_cases[] = {
    {"I <b>like</b> snow.",
     "J'|aime| la| neige|.",
     "J'<b>aime</b> la neige.",
     {{"I", 0}, {"like", 1}, {"snow", 3}, {".", 4}}},
    {"<i>I</i> like <b>snow</b>.",
     "J'|aime| la| neige|.",
     "<i>J'</i>aime la <b>neige</b>.",
     {{"I", 0}, {"like", 1}, {"snow", 3}, {".", 4}}},
    {"We <b>like</b> snow",
     "L’|amour| de| neige",
     "<b>L’</b>amour de neige",
     {{"We", 3}, {"like", 0}, {"snow", 3}}},
    {"He gave <b>us</b> all",
     "Il| nous| donna| tout",
     "Il <b>nous</b> donna tout",
     {{"He", 0}, {"gave", 2}, {"us", 1}, {"all", 3}}},
    {"<b>Tom</b>'s cat", "Tom's| chat", "<b>Tom</b>'s chat", {{"Tom's", 0}, {"cat", 1}}},
    {"no<b>us</b> all", "nous| tous", "no<b>us</b> tous", {{"nous", 0}, {"all", 1}}},
    {"Go <b>on</b>.", "Va|.", "<b>Va</b>.", {{"Go", 0}, {".", 1}}},
    {"It costs <b>$5</b> now",
     "Il| co\xc3\xbbte| 5\xc2\xa0$| maintenant",
     "Il co\xc3\xbbte <b>5\xc2\xa0$</b> maintenant",
     {{"It", 0}, {"costs", 1}, {"$5", 2}, {"now", 3}}},
    {"$<b>5</b> now",
     "5\xc2\xa0$| maintenant",
     "<b>5</b>\xc2\xa0$ maintenant",
     {{"$5", 0}, {"now", 1}}},
    /* "require" is not in "require_relative" */
    {"Use <b>require</b> or <b>require_relative</b>",
     "Exiger| ou| require_relative",
     "<b>Exiger</b> ou <b>require_relative</b>",
     {{"require", 0}, {"or", 1}, {"require_relative", 2}}},
    {"Call <code>get</code> or <code>get_all</code>",
     "Appelez| prendre| ou| get_all",
     "Appelez <code>get</code> ou <code>get_all</code>",
     {{"Call", 0}, {"get", 1}, {"or", 2}, {"get_all", 3}}},
    /* a word of the text is not the code that has the same letters */
    {"Then check it. Use <code>check</code>",
     "Puis| check| cela|.| Utiliser| check",
     "Puis check cela. Utiliser <code>check</code>",
     {{"Then", 0}, {"check", 1}, {"it", 2}, {"Use", 4}}},
    {"Only 19<b>99</b> now",
     "1999| maintenant",
     "19<b>99</b> maintenant",
     {{"1999", 0}, {"now", 1}}},
};

START_TEST(elements_of_words_without_space) {
    struct markup html;
    struct span words[8];
    struct markup_link links[5];
    size_t length, count = 0, linked = 0, at = 0;
    const char *markup = cut_cases[_i].markup;
    ck_assert_int_eq(markup_parse_html(markup, strlen(markup), &arena, &html, NULL), 0);
    char *text = arena_alloc(&arena, strlen(cut_cases[_i].words) + 1, 1),
         *source = arena_copy(&arena, html.segments[0].text, html.segments[0].length);
    for (const char *word = cut_cases[_i].words; *word;
         word += word[strcspn(word, "|")] == '|' ? strcspn(word, "|") + 1 : strlen(word)) {
        size_t bytes = strcspn(word, "|"), space = *word == ' ';
        memcpy(text + at, word, bytes);
        words[count++] = (struct span){at + space, at + bytes};
        at += bytes;
    }
    text[at] = '\0';
    for (; linked < 5 && cut_cases[_i].links[linked].source; linked++) {
        const char *word = cut_cases[_i].links[linked].source;
        size_t begin = (size_t)(strstr(source, word) - source);
        links[linked] = (struct markup_link){{begin, begin + strlen(word)},
                                             words[cut_cases[_i].links[linked].word]};
    }
    struct markup_translation translation = {.text = text,
                                             .length = at,
                                             .words = words,
                                             .word_count = count,
                                             .links = links,
                                             .link_count = linked};
    ck_assert_str_eq(markup_write(&html, &translation, &arena, &length, NULL),
                     cut_cases[_i].expected);
}
END_TEST

/* ---- without end ---- */

static char *repeat(const char *unit, size_t bytes) {
    char *text = arena_alloc(&arena, bytes + 1, 1);
    size_t length = strlen(unit);
    for (size_t i = 0; i < bytes; i++)
        text[i] = unit[i % length];
    text[bytes] = '\0';
    return text;
}

/* deep: libxml2 leaves all of them open. */
static const struct {
    const char *unit;
    bool deep;
} units[] = {
    {"<b>", true},         {"<div>", true},      {"<b>a ", true},
    {"</b>", false},       {"<b></i>", true},    {"<p><b>", false},
    {"<", false},          {"<a ", false},       {"<a b=\"", false},
    {"<a b='>", false},    {"<!--", false},      {"<!", false},
    {"</", false},         {"&", false},         {"&#x", false},
    {"&unknown;", false},  {"<i>a</i> ", false}, {"a ", false},
    {"<table>", true},     {"<li>", false},      {"<script>", false},
    {"<title>", true},     {"<b><p>", false},    {"<td></b>", false},
    {"<code>", true},      {"</script", false},  {"<a b=c ", false},
    {"<b>a</b>", false},   {"<i></i>", false},   {"<b><i><u>a </b>", false},
    {"<ul><li>", true},    {"\xc3\xa9", false},  {"<svg><p>", true},
    {"<textarea><", true}, {"</a<", false},      {"a<!---->", false},
};

enum { LEAST_BYTES = LONG_BYTES / 8 };

/* As many bytes of it as have no more than MARKUP_MAX_PIECES, or half of that. */
static struct error parse_as_much(const char *unit, size_t *length, struct markup *html) {
    struct error error;
    for (*length = LONG_BYTES;; *length /= 2) {
        error = (struct error){0};
        bool parsed = markup_parse_html(repeat(unit, *length), *length, &arena, html, &error) == 0;
        if (parsed || !strstr(error.message, "tags, texts and comments"))
            return error;
    }
}

START_TEST(many_of_it) {
    struct markup html;
    size_t length;
    struct error error = parse_as_much(units[_i].unit, &length, &html);
    ck_assert_int_eq(error.code, units[_i].deep ? ERROR_INPUT : ERROR_NONE);
    ck_assert_uint_ge(length, LEAST_BYTES);
    if (units[_i].deep)
        return;
    struct markup_translation *translations =
        arena_zalloc(&arena, html.count, sizeof *translations);
    for (size_t i = 0; i < html.count; i++)
        translations[i] = fake_translate(&backwards, &html.segments[i]);
    const char *out = markup_write(&html, translations, &arena, &length, NULL);
    ck_assert_ptr_nonnull(out);
    if (!strpbrk(units[_i].unit, "'\"")) /* check_nests knows no quotes */
        check_nests(out, units[_i].unit);
}
END_TEST

/* As many elements may be open as MARKUP_MAX_DEPTH. */
START_TEST(depth) {
    char *markup = repeat("<i>", 3 * MARKUP_MAX_DEPTH);
    struct markup html;
    ck_assert_int_eq(markup_parse_html(markup, strlen(markup), &arena, &html, NULL), 0);
    markup = repeat("<i>", 3 * (MARKUP_MAX_DEPTH + 1));
    struct error error = {0};
    ck_assert_int_eq(markup_parse_html(markup, strlen(markup), &arena, &html, &error), -1);
    ck_assert_int_eq(error.code, ERROR_INPUT);
    ck_assert_str_eq(error.message, "line 1: elements nest deeper than 256");
}
END_TEST

/* A tag of so many attributes, no two of them the same. */
static char *many_attributes(size_t count) {
    char *markup = arena_alloc(&arena, 16 * count + sizeof "<i>x</i>", 1),
         *out = stpcpy(markup, "<i");
    for (size_t i = 0; i < count; i++)
        out += sprintf(out, " a%zx", i);
    strcpy(out, ">x</i>");
    return markup;
}

/* libxml2 takes time for each pair of attributes in a tag: of 200,000, the last here, minutes. */
START_TEST(attributes) {
    char *markup = many_attributes(MARKUP_MAX_ATTRIBUTES);
    struct markup html;
    ck_assert_int_eq(markup_parse_html(markup, strlen(markup), &arena, &html, NULL), 0);
    ck_assert_uint_eq(html.count, 1);
    const size_t too_many[] = {MARKUP_MAX_ATTRIBUTES + 1, 2 * MARKUP_MAX_ATTRIBUTES,
                               10 * MARKUP_MAX_ATTRIBUTES, 200000};
    for (size_t i = 0; i < sizeof too_many / sizeof *too_many; i++) {
        struct error error = {0};
        markup = many_attributes(too_many[i]);
        ck_assert_int_eq(markup_parse_html(markup, strlen(markup), &arena, &html, &error), -1);
        ck_assert_int_eq(error.code, ERROR_INPUT);
        ck_assert_str_eq(error.message, "line 1: a tag has more than 256 attributes");
    }
}
END_TEST

/* Small pieces take little more memory than their bytes and their places. */
START_TEST(pieces) {
    enum { UNIT_BYTES = 4 };
    struct markup html;
    struct error error = {0};
    char *markup = repeat("<hr>", (size_t)UNIT_BYTES * (MARKUP_MAX_PIECES + 1));
    struct arena own;
    arena_init(&own, 16 * 1024);
    ck_assert_int_eq(
        markup_parse_html(markup, (size_t)UNIT_BYTES * MARKUP_MAX_PIECES, &own, &html, NULL), 0);
    ck_assert_uint_eq(html.piece_count, MARKUP_MAX_PIECES);
    ck_assert_uint_lt(arena_bytes(&own), (size_t)MARKUP_MAX_PIECES * 160);
    arena_reset(&own);
    ck_assert_int_eq(markup_parse_html(markup, strlen(markup), &own, &html, &error), -1);
    ck_assert_int_eq(error.code, ERROR_INPUT);
    ck_assert_str_eq(error.message,
                     "line 1: the markup has more than 131072 tags, texts and comments");
    arena_done(&own);
}
END_TEST

/* A tag begins with a letter: the parser takes anything else after '<' for text, and so must what
 * hides attributes from it. It reads on after an end tag without a name. */
START_TEST(tags_begin_with_letters) {
    ck_assert_str_eq(run(&same, "<:b x=1>hi there"), "&lt;:b x=1&gt;hi there");
    ck_assert_str_eq(run(&same, "<p>a <_b x=1>c</p>"), "<p>a &lt;_b x=1&gt;c</p>");
    ck_assert_str_eq(run(&same, "<b:c x=1>hi</b:c>"), "<b:c x=\"1\">hi</b:c>");
    ck_assert_ptr_null(strstr(run(&blind, "<:ul<bo>>netd>x</table></p>"), "alignd-"));
    ck_assert_ptr_null(strstr(run(&blind, "</<a href=\"i>[1]</a><b c=d>e</b>\">f</a>"), "alignd-"));
}
END_TEST

/* ---- turns ---- */

static bool look(void *looks) {
    ++*(size_t *)looks;
    return true;
}

/* Others have their turn while a long document is cut and written: the clock is looked at after so
 * many segments, and so many bytes of translations. */
START_TEST(long_documents_take_turns) {
    enum { SEGMENTS = 4000, BYTES = 640, SEGMENTS_OF_LOOK = 128, BYTES_OF_LOOK = 4096 };
    size_t looks = 0;
    struct budget budget = {
        .most_bytes = SIZE_MAX, .most_sentences = SIZE_MAX, .go_on = look, .owner = &looks};
    char *text = arena_alloc(&arena, BYTES, 1);
    struct piece_builder builder = {.arena = &arena};
    struct markup_translation *translations = arena_zalloc(&arena, SEGMENTS, sizeof *translations);
    struct markup html;
    size_t length;
    memset(text, 'a', BYTES);
    for (size_t i = 0; i < SEGMENTS; i++) {
        piece_add_text(&builder, (struct bytes){text, BYTES}, (struct bytes){text, BYTES});
        piece_add_break(&builder, (struct bytes){"\n", 1});
        translations[i] = (struct markup_translation){.text = text, .length = BYTES};
    }
    arena_limit(&arena, &budget);
    ck_assert_int_eq(piece_build(&builder, NULL, &html, NULL), 0);
    ck_assert_uint_eq(html.count, SEGMENTS);
    ck_assert_uint_ge(looks, SEGMENTS / SEGMENTS_OF_LOOK);
    looks = 0;
    ck_assert_ptr_nonnull(markup_write(&html, translations, &arena, &length, NULL));
    ck_assert_uint_ge(looks, SEGMENTS * BYTES / BYTES_OF_LOOK);
    arena_limit(&arena, NULL);
}
END_TEST

/* ---- places ---- */

/* True if a place of HTML writes the character, of which c is the first byte, alone, as a reference
 * or as part of a unit. */
static bool writes(const char *html, struct markup_place place, char c) {
    static const char *const references[][2] = {
        {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&#65;", "A"}, {"&eacute;", "\xc3"}};
    for (size_t i = 0; i < sizeof references / sizeof *references; i++)
        if (place.end - place.begin == strlen(references[i][0]) &&
            strncmp(html + place.begin, references[i][0], place.end - place.begin) == 0)
            return references[i][1][0] == c;
    return place.end > 0 && memchr(html + place.begin, c, place.end - place.begin);
}

/* Every character of a segment stands in the HTML, and every one of its translation in the result,
 * in a place that writes it. */
START_TEST(every_character_has_its_place) {
    static const char *const pages[] = {
        "A dog.",
        "<p>A <b>big</b> dog &amp; a boy</p><p>It   snows.\n</p>",
        "<script>var a = '<b>A dog';</script><style>p { }</style><p>A dog</p>",
        "<!-- A dog --><p>A dog <!-- big --> runs</p><!doctype A>",
        "&#65; &eacute;t&eacute; &lt;b&gt; 1 < 2 & 3 &unknown; x",
        "<p title='A > dog'>A <i>b<u>i</u>g</i> d\xc3\xb6g</P><ul><li>One<li>Two</ul>",
        "The <code>ls</code> command, <span translate=\"no\">Rex</span> run. <pre>A dog</pre> End",
        "<div>A</div>dog<br>runs<img alt='A dog'>fast <textarea>A &amp; dog</textarea> home",
        "One&nbsp;two <b>three</b>&nbsp;four",
        "</p>A</b> dog<b",
        "A <b>dog</b"};
    for (size_t page = 0; page < sizeof pages / sizeof *pages; page++) {
        const char *html = pages[page];
        struct markup markup;
        struct error error = {0};
        ck_assert_int_eq(markup_parse_html(html, strlen(html), &arena, &markup, &error), 0);
        struct markup_place **places = markup_find_places(&markup, html, strlen(html), &arena);
        struct markup_place **targets = arena_zalloc(&arena, markup.count + 1, sizeof *targets);
        struct markup_translation *translations =
            arena_zalloc(&arena, markup.count + 1, sizeof *translations);
        for (size_t i = 0; i < markup.count; i++) {
            translations[i] = fake_translate(&backwards, &markup.segments[i]);
            targets[i] = arena_zalloc(&arena, translations[i].length + 1, sizeof *targets[i]);
        }
        size_t length;
        const char *out =
            markup_write_places(&markup, translations, targets, &arena, &length, &error);
        ck_assert_ptr_nonnull(out);
        for (size_t i = 0; i + markup.values < markup.count; i++) {
            const struct markup_segment *segment = &markup.segments[i];
            for (size_t at = 0; at < segment->length; at++)
                if (segment->text[at] != ' ' && (segment->text[at] & 0xc0) != 0x80)
                    ck_assert_msg(writes(html, places[i][at], segment->text[at]),
                                  "%s: '%s' byte %zu is at %u", html, segment->text, at,
                                  places[i][at].begin);
            for (size_t at = 0; at < translations[i].length; at++) {
                char c = translations[i].text[at];
                if (c != ' ' && (c & 0xc0) != 0x80 && targets[i][at].end > 0)
                    ck_assert_msg(writes(out, targets[i][at], c), "%s: '%c' is at %u", out, c,
                                  targets[i][at].begin);
            }
        }
    }
}
END_TEST

/* Text that is not there ends the search soon. */
START_TEST(places_take_linear_time) {
    size_t length = 1 << 20;
    char *html = arena_alloc(&arena, length + 1, 1);
    for (size_t i = 0; i < length; i++)
        html[i] = "<b>x</b> "[i % 9];
    html[length] = '\0';
    struct markup markup;
    struct error error = {0};
    ck_assert_int_eq(markup_parse_html("A dog runs", 10, &arena, &markup, &error), 0);
    struct markup_place **places = markup_find_places(&markup, html, length, &arena);
    ck_assert_ptr_nonnull(places);
    ck_assert_uint_eq(places[0][2].end, 0);
}
END_TEST

Suite *html_suite(void) {
    Suite *suite = suite_create("html");
    TCase *tests = tcase_create("html");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, elements_keep_words, 0, SEEDS);
    tcase_add_test(tests, odd_attributes);
    tcase_add_test(tests, tags_begin_with_letters);
    tcase_add_test(tests, translated_attributes);
    tcase_add_test(tests, languages);
    tcase_add_test(tests, tags_in_text);
    tcase_add_loop_test(tests, generated_markup_keeps_all, 0, SNIPPETS);
    tcase_add_test(tests, markup_that_nests_is_unchanged);
    tcase_add_test(tests, one_form_of_markup);
    tcase_add_test(tests, broken_markup_is_mended);
    tcase_add_test(tests, depth);
    tcase_add_test(tests, attributes);
    tcase_add_test(tests, pieces);
    tcase_add_test(tests, elements_follow_their_words);
    tcase_add_test(tests, segments);
    tcase_add_loop_test(tests, neighbours, 0, sizeof apart_cases / sizeof *apart_cases);
    tcase_add_test(tests, texts_of_their_own_stay);
    tcase_add_test(tests, white_space_stays);
    tcase_add_test(tests, no_break_spaces_replace_spaces);
    tcase_add_test(tests, translated_within_untranslated);
    tcase_add_test(tests, rubies);
    tcase_add_test(tests, odd_translations);
    tcase_add_test(tests, long_documents_take_turns);
    tcase_add_test(tests, every_character_has_its_place);
    tcase_add_test(tests, places_take_linear_time);
    tcase_add_loop_test(tests, elements_of_words_without_space, 0,
                        sizeof cut_cases / sizeof *cut_cases);
    tcase_add_loop_test(tests, many_of_it, 0, (int)(sizeof units / sizeof *units));
    suite_add_tcase(suite, tests);
    return suite;
}
