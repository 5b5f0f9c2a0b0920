/* Mozilla's list of models: which records count, and which model a pair gets. */
#include "server/get/get_parts.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <stdio.h>
#include <string.h>

START_TEST(test_filter_expressions) {
    static const struct {
        const char *expression;
        int released, preview; /* -1: it is not supported */
    } rows[] = {
        {"", 1, 1},
        {"  ", 1, 1},
        {"env.appinfo.OS == 'Android'", 0, 0},
        {"env.appinfo.OS != 'Android'", 1, 1},
        {"env.channel == 'default' || env.channel == 'nightly'", 0, 1},
        {"env.channel == \"release\" && env.appinfo.OS == 'Linux'", 1, 0},
        {"!(env.channel == 'nightly')", 1, 0},
        {"env.channel == 'a' || env.channel == 'b' && env.channel == 'release' || 'x' == 'x'", 1,
         1},
        {"'x' == 'y' && ('x' == 'x' || 'x' == 'x')", 0, 0},
        {"true", 1, 1},
        {"false", 0, 0},
        {"env.version|versionCompare('130.0') >= 0", -1, -1},
        {"env.locale == 'de'", -1, -1},
        {"env.channel = 'x'", -1, -1},
        {"env.channel == 'x", -1, -1},
        {"(env.channel == 'x'", -1, -1},
        {"env.channel == 'x') ", -1, -1},
        {"((((((((((((((((((((((((((((((true))))))))))))))))))))))))))))))", -1, -1},
        {"env.channel == 'a\\'b'", -1, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool applies;
        struct error error = {0};
        int result = records_filter(rows[i].expression, &records_released, &applies, &error);
        ck_assert_msg(result == (rows[i].released < 0 ? -1 : 0), "%s: %s", rows[i].expression,
                      error.message);
        if (result == 0)
            ck_assert_msg(applies == (rows[i].released == 1), "%s", rows[i].expression);
        error = (struct error){0};
        result = records_filter(rows[i].expression, &records_preview, &applies, &error);
        ck_assert_msg(result == 0 ? applies == (rows[i].preview == 1) : rows[i].preview < 0, "%s",
                      rows[i].expression);
    }
}
END_TEST

START_TEST(test_versions_are_ordered) {
    static const char *const rising[] = {"2",   "2.9",   "3.0a1", "3.0a2", "3.0a10", "3.0b1",
                                         "3.0", "3.0.1", "3.1",   "3.9",   "3.10",   "10.0"};
    int order;
    for (size_t i = 0; i < sizeof rising / sizeof *rising; i++)
        for (size_t j = 0; j < sizeof rising / sizeof *rising; j++) {
            ck_assert(records_versions(rising[i], rising[j], &order));
            ck_assert_msg((order > 0) - (order < 0) == (i > j) - (i < j), "%s %s", rising[i],
                          rising[j]);
        }
    static const char *const wrong[] = {"",        "a",       "3.", "3.x", "3.0c1", "3.0a1b",
                                        "3.0.0.0", "1234567", " 3", "3 ",  "-1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!records_versions(wrong[i], "3.0", &order), "%s", wrong[i]);
}
END_TEST

/* ---- lists ---- */

enum { ROOM = 1 << 16 };
static char list[ROOM];

static void begin(void) {
    strcpy(list, "{\"data\": [");
}

static void add(const char *source, const char *target, const char *architecture,
                const char *version, const char *filter, const char *kind, int bytes) {
    char record[1024];
    snprintf(record, sizeof record,
             "%s{\"name\": \"%s.%s.bin\", \"fileType\": \"%s\", \"sourceLanguage\": \"%s\", "
             "\"targetLanguage\": \"%s\", "
             "\"architecture\": \"%s\", \"version\": \"%s\", \"filter_expression\": \"%s\", "
             "\"attachment\": {\"filename\": "
             "\"x.zst\", \"location\": \"a/b/%s%s%d.zst\", \"hash\": \"%064d\", \"size\": %d}, "
             "\"decompressedHash\": \"%064d\", "
             "\"decompressedSize\": %d, \"last_modified\": %d}",
             strchr(list, '}') ? ", " : "", kind, version, kind, source, target, architecture,
             version, filter, kind, version, bytes, bytes, bytes, bytes + 1, 2 * bytes, bytes);
    ck_assert_uint_lt(strlen(list) + strlen(record), ROOM - 3);
    strcat(list, record);
}

static void add_model(const char *source, const char *target, const char *architecture,
                      const char *version, const char *filter, int bytes) {
    static const char *const kinds[] = {"vocab", "model", "lex"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        add(source, target, architecture, version, filter, kinds[i], bytes);
}

static struct records read_list(const struct records_view *view) {
    struct records records;
    strcat(list, "]}");
    ck_assert_msg(records_read(list, strlen(list), view, &arena, &records, &err) == 0, "%s",
                  err.message);
    return records;
}

START_TEST(test_the_highest_complete_version_for_a_server_counts) {
    begin();
    add_model("en", "ja", "base-memory", "3.5", "env.appinfo.OS == 'Android'", 10);
    add_model("en", "ja", "base", "3.1", "env.appinfo.OS != 'Android'", 20);
    add_model("en", "ja", "tiny", "3.0", "", 30);
    add_model("en", "ja", "tiny", "3.9a1", "env.channel == 'nightly'", 40);
    add_model("en", "ja", "tiny", "4.0", "", 50);
    add("en", "ja", "tiny", "3.8", "", "model", 60); /* without a vocabulary and a shortlist */
    struct records records = read_list(&records_released);
    ck_assert_uint_eq(records.count, 1);
    ck_assert_str_eq(records.models[0].version, "3.1");
    ck_assert_str_eq(records.models[0].architecture, "base");
    ck_assert_uint_eq(records.models[0].bytes, 60);
    ck_assert_uint_eq(records.models[0].unpacked_bytes, 120);
    ck_assert_str_eq(records.models[0].files[RECORD_LEX].name, "lex.3.1.bin");
    ck_assert_ptr_null(records.models[0].files[RECORD_SRCVOCAB].name);
    list[strlen(list) - 2] = '\0';
    records = read_list(&records_preview);
    ck_assert_str_eq(records.models[0].version, "3.9a1");
}
END_TEST

START_TEST(test_of_equal_versions_the_largest_counts_and_of_one_file_the_youngest) {
    begin();
    add_model("en", "fr", "base", "3.0", "", 20);
    add_model("en", "fr", "tiny", "3.0", "", 10);
    add("en", "fr", "base", "3.0", "", "lex", 25);
    struct records records = read_list(&records_released);
    ck_assert_uint_eq(records.count, 1);
    ck_assert_str_eq(records.models[0].architecture, "base");
    ck_assert_uint_eq(records.models[0].files[RECORD_LEX].bytes, 25);
    ck_assert_uint_eq(records.models[0].bytes, 65);
}
END_TEST

START_TEST(test_pairs_are_found_by_code_then_by_language) {
    begin();
    add_model("zh-Hans", "en", "base", "3.0", "", 1);
    add_model("en", "zh-Hans", "base", "3.0", "", 2);
    add_model("pt", "en", "base", "3.0", "", 3);
    add_model("en", "zh", "base", "3.0", "", 4);
    add_model("nb", "en", "base", "3.0", "", 5);
    add_model("nn", "en", "base", "3.0", "", 6);
    add_model("hbs", "en", "base", "3.0", "", 7);
    add_model("sr", "en", "base", "3.0", "", 8);
    struct records records = read_list(&records_released);
    static const struct {
        const char *pair, *source, *target; /* NULL: none */
    } rows[] = {{"zh-Hans-en", "zh-Hans", "en"},
                {"zh-en", "zh-Hans", "en"},
                {"ZH-HANS-EN", "zh-Hans", "en"},
                {"en-zh", "en", "zh"},
                {"en-zh-Hans", "en", "zh-Hans"},
                {"pt-BR-en", "pt", "en"},
                {"no-en", "nb", "en"},
                {"nn-en", "nn", "en"},
                {"hr-en", "hbs", "en"},
                {"sr-Latn-en", "sr", "en"},
                {"bs-Cyrl-en", "hbs", "en"},
                {"en-no", NULL, NULL},
                {"da-en", NULL, NULL},
                {"p-en", NULL, NULL},
                {"en", NULL, NULL},
                {"en-pt", NULL, NULL},
                {"", NULL, NULL},
                {"-", NULL, NULL},
                {"zho-en", NULL, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct record_model *model = records_find(&records, rows[i].pair);
        ck_assert_msg(!model == !rows[i].source, "%s", rows[i].pair);
        if (model) {
            ck_assert_str_eq(model->source, rows[i].source);
            ck_assert_str_eq(model->target, rows[i].target);
        }
    }
}
END_TEST

/* Replaces a part of the only model's first record. */
static void check_left_out(const char *part, const char *by, const char *reason) {
    char changed[ROOM];
    struct records records;
    struct error error = {0};
    const char *at = strstr(list, part);
    ck_assert_ptr_nonnull(at);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - list), list, by, at + strlen(part));
    ck_assert_msg(
        records_read(changed, strlen(changed), &records_released, &arena, &records, &error) == 0,
        "%s", error.message);
    ck_assert_msg(records.count == 0 && records.left_out == 1, "%s", by);
    ck_assert_msg(strstr(records.reason, reason) && strstr(records.reason, "record 0: "), "%s: %s",
                  by, records.reason);
}

START_TEST(test_records_that_are_wrong_are_left_out) {
    begin();
    add_model("en", "fr", "tiny", "3.0", "", 7);
    strcat(list, "]}");
    check_left_out("vocab.3.0.bin", "../vocab", "name must be");
    check_left_out("vocab.3.0.bin", "a/b", "name must be");
    check_left_out("vocab.3.0.bin", ".hidden", "name must be");
    check_left_out("vocab.3.0.bin", "", "name must be");
    check_left_out("a/b/vocab", "/a/b/vocab", "location must be");
    check_left_out("a/b/vocab", "a/../vocab", "location must be");
    check_left_out("a/b/vocab", "a//vocab", "location must be");
    check_left_out("a/b/vocab", "http://x/", "location must be");
    check_left_out("a/b/vocab", "a?b", "location must be");
    check_left_out("\"hash\": \"0", "\"hash\": \"", "hash must be");
    check_left_out("\"hash\": \"0", "\"hash\": \"g", "hash must be");
    check_left_out("\"size\": 7", "\"size\": 0", "size must be");
    check_left_out("\"size\": 7", "\"size\": 7.5", "size must be");
    check_left_out("\"size\": 7", "\"size\": 99999999999", "size must be");
    check_left_out("\"decompressedSize\": 14", "\"decompressedSize\": -1",
                   "decompressedSize must be");
    check_left_out("\"vocab\"", "\"virus\"", "fileType must be");
    check_left_out("\"en\"", "\"e n\"", "sourceLanguage and targetLanguage");
    check_left_out("\"en\"", "5", "sourceLanguage and targetLanguage");
    check_left_out("\"tiny\"", "\"ti/ny\"", "architecture must be");
    check_left_out("\"version\": \"3.0\"", "\"version\": \"x\"", "version must be");
    check_left_out("\"filter_expression\": \"\"", "\"filter_expression\": \"x\"",
                   "is not supported");
    check_left_out("\"filter_expression\": \"\"", "\"filter_expression\": 1",
                   "filter_expression must be");
}
END_TEST

START_TEST(test_what_is_not_a_list) {
    static const char *const texts[] = {
        "", "[]", "{", "{}", "{\"data\": {}}", "{\"data\": [], \"data\": []}", "\xff"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct records records;
        struct error error = {0};
        ck_assert_msg(records_read(texts[i], strlen(texts[i]), &records_released, &arena, &records,
                                   &error) == -1,
                      "%s", texts[i]);
        ck_assert_int_eq(error.code, ERROR_FORMAT);
    }
    begin();
    struct records records = read_list(&records_released);
    ck_assert_uint_eq(records.count, 0);
    ck_assert_ptr_null(records_find(&records, "en-fr"));
}
END_TEST

Suite *records_suite(void) {
    Suite *suite = suite_create("records");
    TCase *tests = tcase_create("records");
    tcase_add_checked_fixture(tests, scratch_setup, scratch_teardown);
    tcase_add_test(tests, test_filter_expressions);
    tcase_add_test(tests, test_versions_are_ordered);
    tcase_add_test(tests, test_the_highest_complete_version_for_a_server_counts);
    tcase_add_test(tests, test_of_equal_versions_the_largest_counts_and_of_one_file_the_youngest);
    tcase_add_test(tests, test_pairs_are_found_by_code_then_by_language);
    tcase_add_test(tests, test_records_that_are_wrong_are_left_out);
    tcase_add_test(tests, test_what_is_not_a_list);
    suite_add_tcase(suite, tests);
    return suite;
}
