/* Tables: cells with words are translated; separators, quotation marks and line ends stay. */
#include "tests/server/documents/fake.h"
#include "tests/suites.h"
#include <stdio.h>
#include <string.h>

struct row {
    const char *format, *columns;
    bool header;
    enum document_bilingual bilingual;
    const char *source, *expected;
};

static void expect(const struct row *row) {
    struct arena arena;
    arena_init(&arena, 1 << 14);
    const struct document document = {.format = document_find(row->format),
                                      .source = row->source,
                                      .length = strlen(row->source),
                                      .language = FAKE_LANGUAGE,
                                      .columns = row->columns,
                                      .header = row->header,
                                      .bilingual = row->bilingual};
    ck_assert_str_eq(fake_translated(&document, FAKE_UPPER, &arena), row->expected);
    arena_done(&arena);
}

START_TEST(cells) {
    static const struct row rows[] = {
        {"csv", NULL, false, 0,
         "id,title\r\nA-1,Red apple\r\n\"A-2\",\"A \"\"big\"\", red one\"\r\n",
         "id,title\r\nA-1,RED APPLE\r\n\"A-2\",\"A \"\"BIG\"\", RED ONE\"\r\n"},
        {"csv", NULL, false, 0, "a;b\nOne apple;1,5\nTwo apples;2,5\n",
         "a;b\nONE APPLE;1,5\nTWO APPLES;2,5\n"},
        {"csv", NULL, false, 0, "sep=|\na|b\nOne, two|x1\n", "sep=|\na|b\nONE, TWO|x1\n"},
        /* lines of a cell are texts; a formula, an address and a date stay */
        {"csv", NULL, false, 0,
         "a,b\n\"First line.\nSecond line.\",=SUM(A1)\nhttps://a.org/b,2024-01-01",
         "a,b\n\"FIRST LINE.\nSECOND LINE.\",=SUM(A1)\nhttps://a.org/b,2024-01-01"},
        /* sentences name no columns, and one column has no name unless the client uses it */
        {"csv", NULL, false, 0, "Where is it?,Here it is.\nOne apple,Two apples\n",
         "WHERE IS IT?,HERE IT IS.\nONE APPLE,TWO APPLES\n"},
        {"csv", NULL, false, 0, "Good morning\nGood night\n", "GOOD MORNING\nGOOD NIGHT\n"},
        {"csv", NULL, true, 0, "The id,The title\nA-1,Red apple\n",
         "THE ID,THE TITLE\nA-1,RED APPLE\n"},
        /* a mark that is not closed is text, and so is one in tabs */
        {"csv", NULL, false, 0, "a,b\n\"Red apple,Big pear\n", "a,b\n\"RED APPLE,BIG PEAR\n"},
        {"tsv", NULL, false, 0, "a\tb\n\"Stop,\" she said\tRed, ripe apple\n",
         "a\tb\n\"STOP,\" SHE SAID\tRED, RIPE APPLE\n"},
        {"csv", "title", false, 0, "id,title,text\nx1,go home,Red apple\n",
         "id,title,text\nx1,GO HOME,Red apple\n"},
        {"csv", "3, 1", false, 0, "a name,title,text\nmy word,Red apple,One pear\n",
         "a name,title,text\nMY WORD,Red apple,ONE PEAR\n"},
        {"csv", "a\\,b", false, 0, "\"a,b\",c\nRed apple,One pear\n",
         "\"a,b\",c\nRED APPLE,One pear\n"},
        {"csv", NULL, false, 0, "a,b\n\n\r\n\r\rRed apple,x1\n\n",
         "a,b\n\n\r\n\r\rRED APPLE,x1\n\n"},
        {"csv", NULL, false, 0, "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(&rows[i]);
}
END_TEST

/* Each column that has a translation gets one beside it, in all rows. */
START_TEST(both_languages) {
    static const struct row rows[] = {
        {"csv", NULL, false, BILINGUAL_BESIDE, "id,title\nA-1,Red apple\nA-2,\n",
         "id,title,title (fr)\nA-1,Red apple,RED APPLE\nA-2,,\n"},
        {"tsv", NULL, false, BILINGUAL_BESIDE, "\"id\"\t\"a\"\r\n\"x1\"\t\"Red \"\"apple\"\"\"\r\n",
         "\"id\"\t\"a\"\t\"a (fr)\"\r\n\"x1\"\t\"Red \"\"apple\"\"\"\t\"RED \"\"APPLE\"\"\"\r\n"},
        {"csv", NULL, false, BILINGUAL_BELOW, "id,title\nA-1,Red apple\n",
         "id,title\nA-1,\"Red apple\nRED APPLE\"\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(&rows[i]);
}
END_TEST

/* A translation gets quotation marks where it needs them. */
START_TEST(quotation_marks) {
    fake_expect_text("csv", "a,b\nRed apple,x1\n", "one, \"two\"",
                     "a,b\n\"one, \"\"two\"\"\",x1\n");
    fake_expect_text("csv", "a,b\nRed apple,x1\n", "one \"two\"", "a,b\none \"two\",x1\n");
    fake_expect_text("csv", "a,b\nRed apple,x1\n", "\"one", "a,b\n\"\"\"one\",x1\n");
}
END_TEST

START_TEST(unknown_columns) {
    struct arena arena;
    struct markup html;
    static const char *const columns[] = {"price", "0", "3"};
    arena_init(&arena, 1 << 14);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const struct document document = {.format = document_find("csv"),
                                          .source = "id,title\n1,2\n",
                                          .length = 13,
                                          .columns = columns[i]};
        struct error error = {0};
        char message[128];
        snprintf(message, sizeof message,
                 "columns: there is no column \"%s\"; the file has 2 columns: id, title",
                 columns[i]);
        ck_assert_int_eq(document_read(&document, &arena, &html, &error), -1);
        ck_assert_str_eq(error.message, message);
    }
    arena_done(&arena);
}
END_TEST

/* Lines of comments before the records have no cells. */
START_TEST(comments_of_tables) {
    fake_expect("tsv", FAKE_UPPER, "#separator:tab\n#html:true\nA dog.\tThe cat.\n",
                "#separator:tab\n#html:true\nA DOG.\tTHE CAT.\n");
    fake_expect("tsv", FAKE_UPPER, "#id\tname\n1\tA dog.\n", "#id\tname\n1\tA DOG.\n");
}
END_TEST

Suite *tables_suite(void) {
    Suite *suite = suite_create("tables");
    TCase *cases = tcase_create("tables");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, cells);
    tcase_add_test(cases, both_languages);
    tcase_add_test(cases, quotation_marks);
    tcase_add_test(cases, unknown_columns);
    tcase_add_test(cases, comments_of_tables);
    return suite;
}
