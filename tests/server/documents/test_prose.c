/* Which strings of a data file are language. */
#include "server/documents/document.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

static enum prose judge(const char *text, const char *name, const char *parent) {
    struct prose_place place = {{name, strlen(name)}, {parent, strlen(parent)}};
    char *scratch = malloc(strlen(text) + 1);
    enum prose prose = prose_judge((struct bytes){text, strlen(text)}, &place, scratch);
    free(scratch);
    return prose;
}

static void expect(const char *const *texts, enum prose prose) {
    for (; *texts; texts++)
        ck_assert_msg(judge(*texts, "", "") == prose, "\"%s\" is %d", *texts,
                      judge(*texts, "", ""));
}

START_TEST(language) {
    static const char *const texts[] = {"Save",
                                        "OK",
                                        "FAQ",
                                        "save",
                                        "no",
                                        "Remove file?",
                                        "remove file",
                                        "E-mail",
                                        "e-mail",
                                        "Sign-in",
                                        "Wi-Fi",
                                        "Name:",
                                        "Loading...",
                                        "Loading\u2026",
                                        "Yes/No",
                                        "and/or",
                                        "N/A",
                                        "R&D",
                                        "entry(s)",
                                        "Price (net)*",
                                        "(optional)",
                                        "Don't",
                                        "l'eau",
                                        "2nd",
                                        "PDFs",
                                        "3 days",
                                        "June 1, 2025",
                                        "Page {page} of {total}",
                                        "{name}'s house",
                                        "<b>Save</b>",
                                        "Read <a href=\"/help\">this</a>",
                                        "\u0421\u043e\u0445\u0440\u0430\u043d\u0438\u0442\u044c",
                                        "\u4fdd\u5b58",
                                        "\u00dcber uns",
                                        "well-known reader",
                                        "a car | cars",
                                        "car|cars",
                                        "Terms & conditions",
                                        "Open notes.pdf",
                                        "Log in / Sign up",
                                        "Version 1.2.3",
                                        "Price in $",
                                        "A long word in \\n prose",
                                        "The dog (which runs) is here.",
                                        "go to page 3",
                                        "make it 3-D",
                                        "%d files",
                                        "Total: %s",
                                        NULL};
    expect(texts, PROSE_LANGUAGE);
}
END_TEST

/* Strings that stay unchanged for any selection. */
START_TEST(programs) {
    static const char *const texts[] = {"",
                                        " ",
                                        "12",
                                        "--",
                                        "1,234.50",
                                        "$5",
                                        "2025-06-01",
                                        "2025-06-01T09:30:00Z",
                                        "09:30",
                                        "2025-06-01 09:30",
                                        "Sun, 01 Jun 2025 09:30:00 GMT",
                                        "YYYY-MM-DD",
                                        "dd/MM/yyyy HH:mm",
                                        "h:mm a",
                                        "EEEE, d MMMM y",
                                        "#00ff7f",
                                        "rgba(10, 20, 30, 0.5)",
                                        "2px solid #eee",
                                        "var(--accent)",
                                        "color: red; margin: 0 auto",
                                        "Arial, Helvetica, sans-serif",
                                        "width=device-width, initial-scale=1",
                                        "(min-width: 600px)",
                                        "10 px",
                                        "1.5 MB",
                                        "0b8a2f1e-9d3c-4c55-8a51-0f3f1d2c4b5a",
                                        "image/svg+xml",
                                        "/usr/share/doc",
                                        "./src/index.ts",
                                        "~/notes",
                                        "C:\\Users\\ann",
                                        "../a b/c.txt",
                                        "notes_final_2.pdf",
                                        "*.tsx",
                                        "**/*.{js,ts}",
                                        "https://example.org/a?b=c",
                                        "ann@example.org",
                                        "@scope/thing",
                                        "Europe/Vienna",
                                        "America/Argentina/Salta",
                                        "^[0-9a-f]+$",
                                        "/[a-z]+/gi",
                                        "\\d{3}-\\d{4}",
                                        "(?:one|two)",
                                        "() => 1",
                                        "x && y",
                                        "<br/>",
                                        "<img src=\"a.png\" alt=\"A dog\">",
                                        "&nbsp;",
                                        "&copy; 2025",
                                        "%s",
                                        "%1$d",
                                        "%(name)s",
                                        "{name}",
                                        "{{count}}",
                                        "${x}px",
                                        "$t(menu.save)",
                                        "true",
                                        "NaN",
                                        "\u00dcbersicht.txt",
                                        "null",
                                        "^4.17.21",
                                        ">=18",
                                        "workspace:*",
                                        "sha256-Zm9vYmFy+/=",
                                        "M10 10 H 90 V 90 Z",
                                        "0 0 * * *",
                                        "{\"a\": \"b c\"}",
                                        "[\"a\", \"b\"]",
                                        "Ann Lee <ann@example.org> (https://example.org)",
                                        NULL};
    expect(texts, PROSE_PROGRAM);
}
END_TEST

/* What stays unless a glob asks for it. */
START_TEST(doubtful) {
    static const char *const texts[] = {"isReady",
                                        "MainView",
                                        "FOO_BAR",
                                        "foo_bar",
                                        "foo.bar.baz",
                                        "text-center",
                                        "x-large",
                                        "b2c4d6",
                                        "v3",
                                        "en",
                                        "en-GB",
                                        "de_AT",
                                        "zh-Hant-TW",
                                        "text/html",
                                        "owner/name",
                                        "Content-Type",
                                        "btn btn-lg",
                                        "md:flex p-4",
                                        "npm run test",
                                        "tsc -p .",
                                        "docker run -it x",
                                        "SELECT a FROM b",
                                        "UTC",
                                        "EUR",
                                        "src",
                                        "GitHub",
                                        NULL};
    expect(texts, PROSE_DOUBTFUL);
}
END_TEST

/* One word without a capital is a program's where programs have theirs. */
START_TEST(places) {
    ck_assert_int_eq(judge("module", "type", ""), PROSE_DOUBTFUL);
    ck_assert_int_eq(judge("Module", "type", ""), PROSE_LANGUAGE);
    ck_assert_int_eq(judge("type", "type", ""), PROSE_LANGUAGE);
    ck_assert_int_eq(judge("module", "label", ""), PROSE_LANGUAGE);
    ck_assert_int_eq(judge("a module that loads", "type", ""), PROSE_LANGUAGE);
    ck_assert_int_eq(judge("latest", "thing", "devDependencies"), PROSE_DOUBTFUL);
    ck_assert_int_eq(judge("MIT", "license", ""), PROSE_DOUBTFUL);
    ck_assert_int_eq(judge("present", "state", "apt"), PROSE_DOUBTFUL);
    ck_assert_int_eq(judge("#!/bin/sh\necho Good day\n", "run", ""), PROSE_PROGRAM);
    ck_assert_int_eq(judge("run all checks", "check", "scripts"), PROSE_DOUBTFUL);
    ck_assert_int_eq(judge("tap", "check", "scripts"), PROSE_DOUBTFUL);
    ck_assert_int_eq(judge("Ann Lee", "name", "author"), PROSE_DOUBTFUL);
    ck_assert_int_eq(judge("Author", "author", ""), PROSE_LANGUAGE);
    ck_assert_int_eq(judge("ann <ann@example.org>", "contact", ""), PROSE_PROGRAM);
    ck_assert_int_eq(judge("Run all checks", "check", "commands"), PROSE_LANGUAGE);
    ck_assert_int_eq(judge("Shown on the first page", "description", "@title"), PROSE_DOUBTFUL);
}
END_TEST

/* ---- globs ---- */

/* path: names with "/" between them. */
static enum key_choice choose(const char *globs, const char *path) {
    struct arena arena;
    struct error error = {0};
    struct key_state states[8];
    size_t depth = 0;
    arena_init(&arena, 1 << 12);
    struct key_globs *all = key_globs_parse(&globs, 1, &arena, &error);
    ck_assert_msg(all != NULL, "%s", error.message);
    key_globs_begin(all, &states[0]);
    for (const char *at = path; *at;
         at += at[strcspn(at, "/")] ? strcspn(at, "/") + 1 : strcspn(at, "/")) {
        key_globs_step(all, &states[depth], at, strcspn(at, "/"), &states[depth + 1]);
        depth++;
    }
    enum key_choice choice = key_globs_choose(all, &states[depth]);
    arena_done(&arena);
    return choice;
}

START_TEST(globs) {
    static const struct {
        const char *globs, *path;
        enum key_choice choice;
    } cases[] = {
        {"menu.*.label", "menu/file/label", KEY_ASKED_FOR},
        {"menu.*.label", "menu/label", KEY_LEFT_OUT},
        {"menu.*.label", "menu/file/label/x", KEY_LEFT_OUT},
        {"menu.**", "menu", KEY_ASKED_FOR},
        {"menu.**", "menu/a/b/c", KEY_ASKED_FOR},
        {"menu.**", "other", KEY_LEFT_OUT},
        {"**.label", "label", KEY_ASKED_FOR},
        {"**.label", "a/b/label", KEY_ASKED_FOR},
        {"**.a.**.b", "x/a/y/z/b", KEY_ASKED_FOR},
        {"**.a.**.b", "x/y/z/b", KEY_LEFT_OUT},
        {"!meta.**", "meta/title", KEY_LEFT_OUT},
        {"!meta.**", "title", KEY_IN},
        {"a.**, !a.b.*", "a/b/c", KEY_LEFT_OUT},
        {"a.**, !a.b.*", "a/c", KEY_ASKED_FOR},
        {"items.0.name", "items/0/name", KEY_ASKED_FOR},
        {"t*e.a*", "title/abc", KEY_ASKED_FOR},
        {"t*e", "te", KEY_ASKED_FOR},
        {"te*e", "te", KEY_LEFT_OUT},
        {"a\\.b.c\\,d", "a.b/c,d", KEY_ASKED_FOR},
        {" , a ,, ", "a", KEY_ASKED_FOR},
        {"", "a", KEY_IN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(choose(cases[i].globs, cases[i].path) == cases[i].choice, "%s at %s",
                      cases[i].globs, cases[i].path);
}
END_TEST

START_TEST(wrong_globs) {
    static const struct {
        const char *globs, *message;
    } cases[] = {
        {"a..b", "\"a..b\" is not a path glob: a name is empty"},
        {"!", "\"!\" is not a path glob: a name is empty"},
        {"a.*b*", "\"a.*b*\" is not a path glob: a name may contain only one *"},
        {"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q",
         "\"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q\" is not a path glob: it has more than 16 names"},
        {"a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a",
         "at most 32 path globs are allowed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena arena;
        struct error error = {0};
        arena_init(&arena, 1 << 12);
        ck_assert_ptr_null(key_globs_parse(&cases[i].globs, 1, &arena, &error));
        ck_assert_int_eq(error.code, ERROR_INPUT);
        ck_assert_str_eq(error.message, cases[i].message);
        arena_done(&arena);
    }
}
END_TEST

Suite *prose_suite(void) {
    Suite *suite = suite_create("prose");
    TCase *cases = tcase_create("prose");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, language);
    tcase_add_test(cases, programs);
    tcase_add_test(cases, doubtful);
    tcase_add_test(cases, places);
    tcase_add_test(cases, globs);
    tcase_add_test(cases, wrong_globs);
    return suite;
}
