/* Reviews of documents of several formats, and the way back. */
#include "server/documents/review.h"
#include "tests/server/documents/fake.h"
#include "tests/suites.h"
#include <string.h>

struct reviewed {
    struct arena arena;
    struct document document;
    struct document_notes notes;
    struct markup markup;
    struct markup_translation *translations;
    char *review, *written;
};

static void begin(struct reviewed *out, const char *format, const char *source,
                  enum fake_kind kind) {
    size_t length;
    *out = (struct reviewed){.document = {.format = document_find(format),
                                          .source = source,
                                          .length = strlen(source),
                                          .language = FAKE_LANGUAGE}};
    arena_init(&out->arena, 1 << 14);
    out->notes.arena = &out->arena;
    out->document.notes = &out->notes;
    ck_assert_int_eq(document_read(&out->document, &out->arena, &out->markup, NULL), 0);
    out->markup.from = "en";
    out->markup.language = FAKE_LANGUAGE;
    out->translations = arena_zalloc(&out->arena, out->markup.count, sizeof *out->translations);
    for (size_t i = 0; i < out->markup.count; i++)
        out->translations[i] = fake_translation(kind, out->markup.segments[i].text,
                                                out->markup.segments[i].length, &out->arena);
    out->review = review_write(&out->markup, out->translations, NULL, &out->arena, &length, NULL);
    out->written =
        document_write(&out->document, &out->markup, out->translations, &out->arena, &length, NULL);
}

/* Reads a review into the document. Returns the document, or NULL with an error. */
static char *merge(struct reviewed *reviewed, const char *review, struct error *err) {
    size_t length;
    struct markup_translation *translations =
        arena_zalloc(&reviewed->arena, reviewed->markup.count + 1, sizeof *translations);
    if (review_read((struct bytes){review, strlen(review)}, &reviewed->document, &reviewed->markup,
                    &reviewed->arena, translations, err) != 0)
        return NULL;
    return document_write(&reviewed->document, &reviewed->markup, translations, &reviewed->arena,
                          &length, err);
}

/* The text with its first `from` replaced. */
static char *replaced(struct reviewed *reviewed, const char *text, const char *from,
                      const char *to) {
    struct bytes_buffer out = {.arena = &reviewed->arena};
    const char *at = strstr(text, from);
    ck_assert_msg(at != NULL, "%s", text);
    bytes_put(&out, text, (size_t)(at - text));
    bytes_put_string(&out, to);
    bytes_put_string(&out, at + strlen(from));
    return out.bytes;
}

/* What was not corrected becomes the same document, in every format. */
START_TEST(there_and_back) {
    static const char *const rows[][2] = {
        {"txt", "  - One word\n    and another.\n\n42\n\tTwo\u00a0words.\n"},
        {"md", "# A *b c* `d` [e](f)\n\n- one & two\n"},
        {"html", "<p title=\"a\"> One <b>two <i>three</i></b>&nbsp;four <img "
                 "alt=\"b\"/><code>x</code> five </p>"},
        {"srt", "1\n00:00:01,000 --> 00:00:02,000\none two\nthree\n\n2\n00:00:03,000 --> "
                "00:00:04,000\nfour <i>five</i>.\n"},
        {"po", "msgid \"One %s and <b>two</b>\"\nmsgstr \"\"\n"},
        {"csv", "id,text\n1,\"One, \"\"two\"\"\"\n"},
        {"tex", "One \\emph{two} three.\\footnote{Four.} $x$\n"},
        {"json",
         "{\"a\": \"One {name} two\", \"b\": \"{n, plural, one {a file} other {# files}}\"}"},
    };
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        struct reviewed reviewed;
        struct error error = {0};
        begin(&reviewed, rows[i / 2][0], rows[i / 2][1], i % 2 ? FAKE_REVERSED : FAKE_UPPER);
        char *merged = merge(&reviewed, reviewed.review, &error);
        ck_assert_msg(merged != NULL, "%s\n%s", error.message, reviewed.review);
        ck_assert_str_eq(merged, reviewed.written);
        ck_assert_uint_eq(reviewed.notes.count, 0);
        arena_done(&reviewed.arena);
    }
}
END_TEST

/* A target's text and the places of its elements are those of the document. */
START_TEST(corrections) {
    static const char source[] = "One *two* `three` four.\n";
    struct reviewed reviewed;
    struct error error = {0};
    begin(&reviewed, "md", source, FAKE_UPPER);
    ck_assert_ptr_nonnull(strstr(reviewed.review, "<source>One <pc id=\"2\">two</pc> <ph id=\"6\" "
                                                  "disp=\"three\"/> four.</source>"));
    const char *own = strstr(reviewed.review, "<target>");
    ck_assert_ptr_nonnull(own);
    char *target = arena_copy(&reviewed.arena, own, strcspn(own, "\n"));
    char *review = replaced(&reviewed, reviewed.review, target,
                            "<target><ph id=\"6\"/> <mrk id=\"m1\" type=\"comment\">A &lt; B</mrk> "
                            "<pc id=\"2\">two\nwords</pc>.</target>");
    ck_assert_str_eq(merge(&reviewed, review, &error), "`three` A \\< B *two words*.\n");
    /* emphasis may go, code may not */
    review = replaced(&reviewed, reviewed.review, target, "<target>A <ph id=\"6\"/></target>");
    ck_assert_str_eq(merge(&reviewed, review, &error), "A `three`\n");
    ck_assert_uint_eq(reviewed.notes.count, 0);
    review = replaced(&reviewed, reviewed.review, target, "<target>A B</target>");
    ck_assert_str_eq(merge(&reviewed, review, &error), source);
    ck_assert_uint_eq(reviewed.notes.count, 1);
    ck_assert_str_eq(reviewed.notes.all[0].message,
                     "unit 1 stays, because its target lacks the inline element 6");
    review = replaced(&reviewed, reviewed.review, target, "");
    ck_assert_str_eq(merge(&reviewed, review, &error), source);
    arena_done(&reviewed.arena);
}
END_TEST

/* A text that is one part has no marks for it, and may have those of another writer. */
START_TEST(texts_of_one_part) {
    struct reviewed reviewed;
    struct error error = {0};
    begin(&reviewed, "yaml", "a: One *dog* %{b}.\n", FAKE_UPPER);
    char *own = strstr(reviewed.review, "<target>");
    ck_assert_ptr_nonnull(own);
    ck_assert_ptr_null(strstr(reviewed.review, "<pc"));
    char *target = arena_copy(&reviewed.arena, own, strcspn(own, "\n")),
         *id = strstr(target, "<ph id=\"");
    ck_assert_ptr_nonnull(id);
    char *unit = arena_copy(&reviewed.arena, id, strcspn(id, ">") + 1);
    struct bytes_buffer plain = {.arena = &reviewed.arena}, marked = {.arena = &reviewed.arena};
    bytes_put_string(&plain, "<target> A cat ");
    bytes_put_string(&plain, unit);
    bytes_put_string(&plain, " ! </target>");
    bytes_put_string(&marked, "<target> <pc id=\"1\">A cat ");
    bytes_put_string(&marked, unit);
    bytes_put_string(&marked, " !</pc> </target>");
    ck_assert_str_eq(
        merge(&reviewed, replaced(&reviewed, reviewed.review, target, plain.bytes), &error),
        "a: A cat %{b} !\n");
    ck_assert_str_eq(
        merge(&reviewed, replaced(&reviewed, reviewed.review, target, marked.bytes), &error),
        "a: A cat %{b} !\n");
    ck_assert_uint_eq(reviewed.notes.count, 0);
    arena_done(&reviewed.arena);
}
END_TEST

/* A review of another document, or no review, is refused. */
START_TEST(other_reviews) {
    static const struct {
        const char *from, *to, *message;
    } rows[] = {
        {">One word.</source>", ">Two.</source>",
         "line 9, column 1: the source of unit 1 is not that of the document"},
        {"unit id=\"1\"", "unit id=\"2\"",
         "line 4, column 1: the document has no text with the number of this unit; it has 1"},
        {"unit id=\"1\"", "group id=\"1\"", NULL},
    };
    struct reviewed reviewed;
    begin(&reviewed, "txt", "One word.\n", FAKE_UPPER);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error error = {0};
        char *review = replaced(&reviewed, reviewed.review, rows[i].from, rows[i].to);
        ck_assert_ptr_null(merge(&reviewed, review, &error));
        ck_assert_int_eq(error.code, ERROR_INPUT);
        if (rows[i].message)
            ck_assert_str_eq(error.message, rows[i].message);
    }
    struct error error = {0};
    ck_assert_ptr_null(merge(&reviewed, "<xliff version=\"2.0\" trgLang=\"fr\"/>", &error));
    ck_assert_str_eq(error.message, "the review has 0 units, and the document has 1 texts");
    ck_assert_str_eq(review_language(bytes_of(reviewed.review), &reviewed.arena, &error), "fr");
    ck_assert_ptr_null(
        review_language(bytes_of("<xliff version=\"1.2\"/>"), &reviewed.arena, &error));
    arena_done(&reviewed.arena);
}
END_TEST

Suite *review_suite(void) {
    Suite *suite = suite_create("review");
    TCase *cases = tcase_create("review");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, there_and_back);
    tcase_add_test(cases, corrections);
    tcase_add_test(cases, other_reviews);
    tcase_add_test(cases, texts_of_one_part);
    return suite;
}
