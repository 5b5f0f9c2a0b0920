/* The documents of tests/data/documents in capitals: NAME becomes NAME.upper, which a person has
 * read. Written anew with GOLDEN_WRITE=1 in the environment. */
#include "tests/server/documents/fake.h"
#include "tests/suites.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char folder[] = "tests/data/documents";

/* The bytes of a file, with a NUL. */
static char *file_bytes(const char *path, struct arena *arena) {
    enum { MOST = 1 << 16 };
    char *bytes = arena_alloc(arena, MOST, 1);
    FILE *in = fopen(path, "rb");
    ck_assert_msg(in != NULL, "%s", path);
    size_t length = fread(bytes, 1, MOST - 1, in);
    fclose(in);
    bytes[length] = '\0';
    return bytes;
}

START_TEST(documents_in_capitals) {
    struct arena arena;
    struct dirent *entry;
    size_t count = 0;
    DIR *files = opendir(folder);
    ck_assert_ptr_nonnull(files);
    while ((entry = readdir(files)) != NULL) {
        char path[512], upper[520];
        const struct document_format *format = document_guess(entry->d_name, NULL);
        if (!format)
            continue;
        arena_init(&arena, 1 << 16);
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        snprintf(upper, sizeof upper, "%s.upper", path);
        char *made = fake_document(format->name, FAKE_UPPER, file_bytes(path, &arena), &arena);
        if (getenv("GOLDEN_WRITE")) {
            FILE *out = fopen(upper, "wb");
            fputs(made, out);
            fclose(out);
        }
        ck_assert_msg(strcmp(made, file_bytes(upper, &arena)) == 0, "%s:\n%s", path, made);
        arena_done(&arena);
        count++;
    }
    closedir(files);
    ck_assert_uint_ge(count, 12);
}
END_TEST

/* Categories that the language has beyond those of the file get the text of `other`: CLDR's for
 * Polish are one, few, many and other; for Japanese only other. */
static const struct {
    const char *format, *language, *text, *expected;
} forms[] = {
    {"android", "pl",
     "<resources><plurals name=\"a\">\n <item quantity=\"one\">%d dog</item>\n"
     " <item quantity=\"other\">%d <b>dogs</b></item>\n</plurals></resources>",
     "<resources><plurals name=\"a\">\n <item quantity=\"one\">%d DOG</item>\n"
     " <item quantity=\"few\">%d <b>DOGS</b></item>\n"
     " <item quantity=\"many\">%d <b>DOGS</b></item>\n"
     " <item quantity=\"other\">%d <b>DOGS</b></item>\n</plurals></resources>"},
    {"android", "pl", /* those that follow count, too */
     "<resources><plurals name=\"a\"><item quantity=\"other\">the dogs</item><item "
     "quantity=\"few\">few dogs</item></plurals></resources>",
     "<resources><plurals name=\"a\"><item quantity=\"one\">THE DOGS</item><item "
     "quantity=\"many\">THE DOGS</item><item quantity=\"other\">THE DOGS</item><item "
     "quantity=\"few\">FEW DOGS</item></plurals></resources>"},
    {"android", "ja",
     "<resources><plurals name=\"a\"><item quantity=\"one\">a dog</item><item "
     "quantity=\"other\">the dogs</item></plurals></resources>",
     "<resources><plurals name=\"a\"><item quantity=\"one\">A DOG</item><item "
     "quantity=\"other\">THE DOGS</item></plurals></resources>"},
    {"stringsdict", "ru",
     "<plist><dict><key>a</key><dict><key>one</key>\n<string>a dog</string>\n<key>other</key>\n"
     "<string>the dogs</string>\n</dict></dict></plist>",
     "<plist><dict><key>a</key><dict><key>one</key>\n<string>A DOG</string>\n<key>few</key>\n"
     "<string>THE DOGS</string>\n<key>many</key>\n<string>THE DOGS</string>\n<key>other</key>\n"
     "<string>THE DOGS</string>\n</dict></dict></plist>"},
    {"yaml", "cs", "en:\n  a:\n    one: A dog\n    other: The dogs # all\n  other: A cat\n",
     "cs:\n  a:\n    one: A DOG\n    few: THE DOGS\n    many: THE DOGS\n    other: THE DOGS # "
     "all\n  other: A CAT\n"},
    {"yaml", "cs", "a: {one: A dog, 'other': The dogs}\n",
     "a: {one: A DOG, 'few': THE DOGS, 'many': THE DOGS, 'other': THE DOGS}\n"},
    {"json", "pl", "{\"a\": {\"one\": \"A dog\", \"other\": \"The dogs\"}}",
     "{\"a\": {\"one\": \"A DOG\", \"few\": \"THE DOGS\", \"many\": \"THE DOGS\", \"other\": "
     "\"THE DOGS\"}}"},
    {"json", "ru", "{\"a_one\": \"A dog\",\n \"a_other\": \"The dogs\",\n \"b_other\": \"A cat\"}",
     "{\"a_one\": \"A DOG\",\n \"a_few\": \"THE DOGS\",\n \"a_many\": \"THE DOGS\",\n "
     "\"a_other\": \"THE DOGS\",\n \"b_other\": \"A CAT\"}"},
    {"json", "pl", /* no plural: there are other members */
     "{\"one\": \"A dog\", \"other\": \"The dogs\", \"cat\": \"A cat\"}",
     "{\"one\": \"A DOG\", \"other\": \"THE DOGS\", \"cat\": \"A CAT\"}"},
    {"json", "pl", "[\"{n, plural, one {# dog} other {{m, plural, one {# cat} other {# cats}}}}\"]",
     "[\"{n, plural, one {# DOG} few {{m, plural, one {# CAT} few {# CATS} many {# CATS} other {# "
     "CATS}}} many {{m, plural, one {# CAT} few {# CATS} many {# CATS} other {# CATS}}} other {{m, "
     "plural, one {# CAT} few {# CATS} many {# CATS} other {# CATS}}}}\"]"},
    {"json", "pl", "[\"{n, plural, =1 {a dog} other {# dogs}}\"]",
     "[\"{n, plural, =1 {A DOG} other {# DOGS}}\"]"},
    {"ftl", "lv", "a = { $n ->\n    [one] a dog\n   *[other] the dogs\n }\n",
     "a = { $n ->\n    [one] A DOG\n    [zero] THE DOGS\n   *[other] THE DOGS\n }\n"},
    {"ftl", "pl", "a = { $n ->\n    [first] a dog\n   *[other] the dogs\n }\n",
     "a = { $n ->\n    [first] A DOG\n   *[other] THE DOGS\n }\n"},
    {"ts", "pl",
     "<TS><context><message numerus=\"yes\"><source>%n dogs</source><translation "
     "type=\"unfinished\"><numerusform></numerusform></translation></message></context></TS>",
     "<TS language=\"pl\"><context><message numerus=\"yes\"><source>%n dogs</source><translation "
     "type=\"unfinished\">\n            <numerusform>%n DOGS</numerusform>\n            "
     "<numerusform>%n DOGS</numerusform>\n            <numerusform>%n DOGS</numerusform>\n        "
     "</translation></message></context></TS>"},
    {"xcstrings", "pl",
     "{\"sourceLanguage\":\"en\",\"strings\":{\"a\":{\"localizations\":{\"en\":{\"variations\":{"
     "\"plural\":{\"one\":{\"stringUnit\":{\"state\":\"translated\",\"value\":\"%lld dog\"}},"
     "\"other\":{\"stringUnit\":{\"state\":\"translated\",\"value\":\"%lld dogs\"}}}}}}}}}",
     "{\"sourceLanguage\":\"en\",\"strings\":{\"a\":{\"localizations\":{\"pl\" : {\"variations\" : "
     "{\"plural\" : {\"one\" : {\"stringUnit\" : {\"state\" : \"translated\", \"value\" : \"%lld "
     "DOG\"}}, \"few\" : {\"stringUnit\" : {\"state\" : \"needs_review\", \"value\" : \"%lld "
     "DOGS\"}}, \"many\" : {\"stringUnit\" : {\"state\" : \"needs_review\", \"value\" : \"%lld "
     "DOGS\"}}, \"other\" : {\"stringUnit\" : {\"state\" : \"translated\", \"value\" : \"%lld "
     "DOGS\"}}}}},\"en\":{\"variations\":{\"plural\":{\"one\":{\"stringUnit\":{\"state\":"
     "\"translated\",\"value\":\"%lld dog\"}},\"other\":{\"stringUnit\":{\"state\":\"translated\","
     "\"value\":\"%lld dogs\"}}}}}}}}}"},
};

/* Times of words cannot follow words that change places. */
START_TEST(times_of_words_stay) {
    fake_expect("ttml", FAKE_UPPER,
                "<tt><p><span begin=\"1s\">a </span><span begin=\"2s\">dog</span></p><p><span "
                "begin=\"1s\">a cat</span></p></tt>",
                "<tt><p><span begin=\"1s\">a </span><span begin=\"2s\">dog</span></p><p><span "
                "begin=\"1s\">A CAT</span></p></tt>");
}
END_TEST

START_TEST(plural_forms) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct arena arena;
        arena_init(&arena, 1 << 14);
        const struct document document = {.format = document_find(forms[i].format),
                                          .source = forms[i].text,
                                          .length = strlen(forms[i].text),
                                          .language = forms[i].language};
        ck_assert_str_eq(fake_translated(&document, FAKE_UPPER, &arena), forms[i].expected);
        arena_done(&arena);
    }
}
END_TEST

/* A program's placeholders that change places get numbers; what a translation lacks keeps it from
 * being used. */
START_TEST(placeholders) {
    static const char strings[] = "a = \"%s of %d\";",
                      android[] = "<resources><string name=\"a\">%s of %d</string></resources>";
    fake_expect("strings", FAKE_REVERSED, strings, "a = \"%2$d OF %1$s\";");
    fake_expect("strings", FAKE_UPPER, "a = \"Speed: %@x, %dkg\";", "a = \"SPEED: %@x, %dkg\";");
    fake_expect("strings", FAKE_REVERSED, "a = \"v%s of %dkg\";", "a = \"%2$dkg OF v%1$s\";");
    fake_expect("android", FAKE_UPPER, "<resources><string name=\"a\">is %dpx</string></resources>",
                "<resources><string name=\"a\">IS %dpx</string></resources>");
    fake_expect("android", FAKE_REVERSED, android,
                "<resources><string name=\"a\">%2$d OF %1$s</string></resources>");
    fake_expect("properties", FAKE_REVERSED, "a=the {0} of {1}", "a={1} OF {0} THE");
    fake_expect_text("strings", "a = \"at %02d:%02d:%02d\";", "%02d :%02d :%02d",
                     "a = \"at %02d:%02d:%02d\";");
    fake_expect("strings", FAKE_REVERSED, "a = \"%s at %02d:%02d:%02d\";",
                "a = \"%2$02d:%3$02d:%4$02d AT %1$s\";");
    fake_expect("stringsdict", FAKE_REVERSED,
                "<plist><dict><key>NSStringLocalizedFormatKey</key>"
                "<string>%#@days@ until then</string></dict></plist>",
                "<plist><dict><key>NSStringLocalizedFormatKey</key>"
                "<string>THEN UNTIL %#@days@</string></dict></plist>");
    fake_expect("ftl", FAKE_UPPER, "a = one { \"{\" } and { \"\\\"}\" } two\n",
                "a = ONE { \"{\" } AND { \"\\\"}\" } TWO\n");
    fake_expect_text("resx", "<root><data name='a'><value>a {0} b</value></data></root>", "{1}",
                     "<root><data name='a'><value>a {0} b</value></data></root>");
}
END_TEST

/* What a translation has that the notation of a file would read as something else. */
START_TEST(notation_in_translations) {
    fake_expect_text("properties", "a=b c", "d\\e", "a=d\\\\e");
    fake_expect_text("properties", "a=caf\u00e9 b", "\u00e9t\u00e9", "a=\u00e9t\u00e9");
    fake_expect_text("properties", "a=b c", "\u00e9 \U0001f600", "a=\\u00e9 \\ud83d\\ude00");
    fake_expect_text("properties", "a={0} b", "l'{0}", "a=l''{0}");
    fake_expect_text("properties", "a={0,choice,0#b c|1#d e}", "l'eau",
                     "a={0,choice,0#l\\u2019eau|1#l\\u2019eau}");
    fake_expect_text("properties", "a={0,choice,0#don't|1#d e}", "l'eau",
                     "a={0,choice,0#l'eau|1#l'eau}");
    fake_expect("strings", FAKE_UPPER, "a = \"b\\tc d\";", "a = \"B\\tC D\";");
    fake_expect_text("strings", "a = \"b c\";", "d \"e\" \\", "a = \"d \\\"e\\\" \\\\\";");
    fake_expect_text(
        "android", "<resources><string name='a'>b c</string></resources>", "@l'a & \"<b\"",
        "<resources><string name='a'>\\@l\\'a &amp; \\\"&lt;b\\\"</string></resources>");
    fake_expect_text("ass", "[Events]\nDialogue: 0,0,0,0,0,0,0,0,0,b c\n", "{d} \\N",
                     "[Events]\nDialogue: 0,0,0,0,0,0,0,0,0,(d) /N\n");
    fake_expect("ass", FAKE_UPPER, "[Events]\nDialogue: 0,0,0,0,0,0,0,0,0,see\\N{\\b1}all here\n",
                "[Events]\nDialogue: 0,0,0,0,0,0,0,0,0,SEE\\N{\\b1}ALL HERE\n");
    fake_expect_text("yaml", "b c\n", "\xef\xbb\xbf\"d\" e", "\"\\ufeff\\\"d\\\" e\"\n");
    fake_expect_text("yaml", "b c\n\t\n", "d: e", "b c\n\t\n");
    fake_expect_text("yaml", "a: |\n  b c\n", " \xef\xbb\xbf d e", "a: |\n  d e\n");
    fake_expect_text("yaml", "b c\n", "--- d", "\"--- d\"\n");
    fake_expect_text("yaml", "a: b c\n", "d: e", "a: \"d: e\"\n");
    fake_expect_text("yaml", "a: b c\n", "no", "a: \"no\"\n");
    fake_expect_text("yaml", "a: 'b c'\n", "l'a", "a: 'l''a'\n");
    fake_expect_text("yaml", "{a: b c}\n", "d, e", "{a: \"d, e\"}\n");
    fake_expect_text("yaml", "a: \"b c\"\n", "\"d\" \\", "a: \"\\\"d\\\" \\\\\"\n");
    fake_expect_text("yaml", "a: b c\n", "d\f e\u2028", "a: \"d\\u000c e\\u2028\"\n");
    fake_expect_text("yaml", "a: 'b c'\n", "d\ufeff \xc2\x85", "a: \"d\\ufeff \\u0085\"\n");
    fake_expect_text("yaml", "a: |\n  b c\n", "d\f\u2028e", "a: |\n  d  e\n");
}
END_TEST

/* A line does not begin with a mark that follows a word. */
START_TEST(marks_at_line_ends) {
    static const char source[] = "[Events]\nDialogue: 0,0,0,0,0,0,0,0,0,the book\\N that\n";
    struct span words[] = {{0, 3}, {4, 8}, {8, 9}, {10, 14}};
    struct markup_link links[] = {
        {{0, 3}, {0, 3}}, {{4, 8}, {4, 8}}, {{9, 13}, {10, 14}}}; /* "the book that" */
    const struct markup_translation translation = {.text = "the book, that",
                                                   .length = 14,
                                                   .words = words,
                                                   .word_count = 4,
                                                   .links = links,
                                                   .link_count = 3};
    struct arena arena;
    struct markup markup;
    size_t length;
    const struct document document = {.format = document_find("ass"),
                                      .source = source,
                                      .length = strlen(source),
                                      .language = FAKE_LANGUAGE};
    arena_init(&arena, 1 << 14);
    ck_assert_int_eq(document_read(&document, &arena, &markup, NULL), 0);
    ck_assert_uint_eq(markup.count, 1);
    ck_assert_str_eq(fake_string(&markup.segments[0], &arena), "the book that");
    ck_assert_str_eq(document_write(&document, &markup, &translation, &arena, &length, NULL),
                     "[Events]\nDialogue: 0,0,0,0,0,0,0,0,0,the book,\\Nthat\n");
    arena_done(&arena);
}
END_TEST

START_TEST(roots_of_languages) {
    /* a template of Qt's that states the language of its sources */
    fake_expect("ts", FAKE_UPPER,
                "<TS language=\"en_US\"><message><source>a dog</source><translation "
                "type=\"unfinished\"/></message></TS>",
                "<TS language=\"fr\"><message><source>a dog</source><translation>A DOG"
                "</translation></message></TS>");
    fake_expect("yaml", FAKE_UPPER, "en-GB:\n  a: a dog\n", "fr:\n  a: A DOG\n");
    fake_expect("yaml", FAKE_UPPER, "en: a dog\n", "en: A DOG\n");
    /* names below a language say nothing about programs, but those below `on` do */
    fake_expect("yaml", FAKE_UPPER, "# Texts\n---\nen:\n  files:\n    a: a dog\n    type: dog\n",
                "# Texts\n---\nfr:\n  files:\n    a: A DOG\n    type: DOG\n");
    fake_expect("yaml", FAKE_UPPER, "on:\n  files:\n    a: a dog\njobs:\n  a: a cat\n",
                "on:\n  files:\n    a: a dog\njobs:\n  a: A CAT\n");
    fake_expect("yaml", FAKE_UPPER, "en:\n  a: a dog\nde:\n  a: a cat\n",
                "en:\n  a: A DOG\nde:\n  a: A CAT\n");
    fake_expect("yaml", FAKE_UPPER, "menu:\n  a: a dog\n", "menu:\n  a: A DOG\n");
}
END_TEST

START_TEST(files_that_cannot_be_read) {
    fake_refused("strings", "a = b", "line 1, column 6: a semicolon is expected here");
    fake_refused("strings", "\"a\n", "line 1, column 1: unterminated string");
    fake_refused("android", "<a></a>\n",
                 "line 1, column 1: the root of a file of Android's strings "
                 "must be resources");
    fake_refused("ts", "<TS language=\"de\"></TS>",
                 "line 1, column 1: the file's language is de, and the target is fr");
    fake_refused("ttml", "<a></a>", "line 1, column 1: the root of Timed Text must be tt");
    fake_refused("sbv", "a dog\n",
                 "line 1, column 1: a line of times such as 0:00:01.000,0:00:04.000 is expected "
                 "here");
    struct arena arena;
    struct markup html;
    struct error error = {0};
    arena_init(&arena, 1 << 14);
    ck_assert_int_eq(fake_read("ts", "export default {}", &arena, &html, &error), -1);
    ck_assert_ptr_nonnull(strstr(error.message, "as JSON"));
    error = (struct error){0};
    ck_assert_int_eq(fake_read("yaml", "a: [b\n", &arena, &html, &error), -1);
    ck_assert_msg(strncmp(error.message, "line 2", 6) == 0, "%s", error.message);
    ck_assert_ptr_nonnull(strstr(document_refusal("fr.php"), "json_encode"));
    arena_done(&arena);
}
END_TEST

/* Nesting that would cost memory or time beyond its length. */
START_TEST(deep_files) {
    struct arena arena;
    struct markup html;
    static const char *const rows[][3] = {
        {"yaml", "[", ""}, {"yaml", "a: {", ""}, {"ftl", "a = { $b ->\n [c] { $d ->\n [e] ", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *deep = fake_long("", rows[i][1], rows[i][2], 1 << 18);
        arena_init(&arena, 1 << 14);
        fake_read(rows[i][0], deep, &arena, &html, NULL);
        arena_done(&arena);
        free(deep);
    }
}
END_TEST

/* Values that a request's globs select. */
START_TEST(chosen_values) {
    struct arena arena;
    static const char *const globs[] = {"menu.*"};
    arena_init(&arena, 1 << 14);
    struct key_globs *keys = key_globs_parse(globs, 1, &arena, NULL);
    static const struct {
        const char *format, *source, *expected;
    } rows[] = {
        {"properties", "menu.a=a dog\nb=a cat\n", "menu.a=A DOG\nb=a cat\n"},
        {"yaml", "menu:\n  a: a dog\nb: a cat\n", "menu:\n  a: A DOG\nb: a cat\n"},
        {"strings", "\"menu.a\" = \"a dog\";\nb = \"a cat\";",
         "\"menu.a\" = \"A DOG\";\nb = \"a cat\";"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_str_eq(fake_translated(&(struct document){.format = document_find(rows[i].format),
                                                            .source = rows[i].source,
                                                            .length = strlen(rows[i].source),
                                                            .language = FAKE_LANGUAGE,
                                                            .keys = keys},
                                         FAKE_UPPER, &arena),
                         rows[i].expected);
    arena_done(&arena);
}
END_TEST

START_TEST(both_languages) {
    static const struct {
        const char *format, *source, *expected;
    } rows[] = {
        {"ass", "[Events]\nDialogue: 0,0,0,0,0,0,0,0,0,a dog\n",
         "[Events]\nDialogue: 0,0,0,0,0,0,0,0,0,a dog\\NA DOG\n"},
        {"sbv", "0:00:01.000,0:00:02.000\na dog\n", "0:00:01.000,0:00:02.000\na dog\nA DOG\n"},
        {"ttml", "<tt><p>a dog</p></tt>", "<tt><p>a dog<br/>A DOG</p></tt>"},
    };
    struct arena arena;
    arena_init(&arena, 1 << 14);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_str_eq(fake_translated(&(struct document){.format = document_find(rows[i].format),
                                                            .source = rows[i].source,
                                                            .length = strlen(rows[i].source),
                                                            .language = FAKE_LANGUAGE,
                                                            .bilingual = true},
                                         FAKE_UPPER, &arena),
                         rows[i].expected);
    arena_done(&arena);
}
END_TEST

/* A file of Java's in Latin-1 stays in it, and other characters become numbers. */
START_TEST(properties_in_latin) {
    static const char source[] = "a=caf\xe9 b\n";
    struct arena arena;
    struct error error = {0};
    struct markup html;
    size_t length;
    arena_init(&arena, 1 << 14);
    struct document document = {.format = document_find("properties"),
                                .source = source,
                                .length = strlen(source),
                                .language = FAKE_LANGUAGE};
    ck_assert_int_eq(document_decode(&document, NULL, NULL, &arena, &error), 0);
    ck_assert_int_eq(document_read(&document, &arena, &html, &error), 0);
    ck_assert_uint_eq(html.count, 1);
    struct markup_translation translation = {.text = "\u0153uf \u00e9", .length = 7};
    ck_assert_str_eq(document_write(&document, &html, &translation, &arena, &length, &error),
                     "a=\\u0153uf \\u00e9\n");
    arena_done(&arena);
}
END_TEST

/* What programs take away or read otherwise at the ends of a text, or between its lines. */
START_TEST(white_space_of_programs) {
    fake_expect("android", FAKE_UPPER,
                "<resources><string name=\"a\">The sum:\\u0020</string><string "
                "name=\"b\">\" a b \"</string></resources>",
                "<resources><string name=\"a\">THE SUM:\\u0020</string><string "
                "name=\"b\">\" A B \"</string></resources>");
    fake_expect("android", FAKE_REVERSED,
                "<resources><string name=\"a\"><b>a b</b><br/>c d</string></resources>",
                "<resources><string name=\"a\"><b>B A</b><br/>D C</string></resources>");
    fake_expect("properties", FAKE_UPPER, "a=The sum:\\ \n", "a=THE SUM:\\ \n");
}
END_TEST

/* References to entities that the file declares. */
START_TEST(entities_of_android) {
    fake_expect("android", FAKE_UPPER,
                "<!DOCTYPE resources [<!ENTITY app \"A b\">]><resources><string name=\"a\">About "
                "&app; &amp; <b>it</b></string><string name=\"c\">&app;</string></resources>",
                "<!DOCTYPE resources [<!ENTITY app \"A b\">]><resources><string name=\"a\">ABOUT "
                "&app; &amp; <b>IT</b></string><string name=\"c\">&app;</string></resources>");
}
END_TEST

/* Apostrophes are doubled in a text without arguments, too, if its author doubled them. */
START_TEST(doubled_apostrophes) {
    fake_expect_text("properties", "a=It''s good", "l'eau", "a=l''eau");
    fake_expect("properties", FAKE_UPPER, "a='{'0'}' is {0}, isn''t it",
                "a='{'0'}' IS {0}, ISN''T IT");
    fake_expect_text("properties", "a=Use '' here", "l'eau", "a=l'eau");
}
END_TEST

/* Qt would not read a text beside the elements of its lengths. */
START_TEST(variants_of_length_stay) {
#define VARIANTS                                                                                   \
    "<message><source>a dog</source><translation type=\"unfinished\" variants=\"yes\">"            \
    "<lengthvariant></lengthvariant></translation></message>"
    fake_expect("ts", FAKE_UPPER, "<TS><context>" VARIANTS "</context></TS>",
                "<TS><context>" VARIANTS "</context></TS>");
}
END_TEST

Suite *values_suite(void) {
    Suite *suite = suite_create("values");
    TCase *cases = tcase_create("values");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, documents_in_capitals);
    tcase_add_test(cases, placeholders);
    tcase_add_test(cases, plural_forms);
    tcase_add_test(cases, times_of_words_stay);
    tcase_add_test(cases, notation_in_translations);
    tcase_add_test(cases, marks_at_line_ends);
    tcase_add_test(cases, roots_of_languages);
    tcase_add_test(cases, files_that_cannot_be_read);
    tcase_add_test(cases, deep_files);
    tcase_add_test(cases, chosen_values);
    tcase_add_test(cases, both_languages);
    tcase_add_test(cases, properties_in_latin);
    tcase_add_test(cases, white_space_of_programs);
    tcase_add_test(cases, doubled_apostrophes);
    tcase_add_test(cases, variants_of_length_stay);
    tcase_add_test(cases, entities_of_android);
    return suite;
}
