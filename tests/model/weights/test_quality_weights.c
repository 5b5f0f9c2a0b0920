/* quality.safetensors: read, and refused. */
#include "model/weights/weights.h"
#include "tests/files.h"
#include "tests/suites.h"
#include <math.h>
#include <string.h>

#define ENTRY(name, dtype, shape, offsets)                                                         \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define WORDS    ENTRY("words", "F32", "[6]", "[0,24]")
#define SENTENCE ENTRY("sentence", "F32", "[6]", "[24,48]")

static const float values[] = {1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, -6, 0};

static struct error read_container(const char *header, const float *data, size_t count,
                                   struct quality_weights *out) {
    struct error err = {0};
    char *path = container_write(header, data, count * sizeof *data);
    int result = weights_read_quality(path, out, &err);
    file_remove(path);
    ck_assert_int_eq(result, err.code == ERROR_NONE ? 0 : -1);
    return err;
}

START_TEST(both_are_read) {
    struct quality_weights read;
    struct error err = read_container(
        "{\"__metadata__\":{\"report\":\"{}\"}," WORDS "," SENTENCE "}", values, 12, &read);
    ck_assert_msg(err.code == ERROR_NONE, "%s", err.message);
    ck_assert_mem_eq(read.words.weights, values, sizeof read.words.weights);
    ck_assert_float_eq(read.words.constant, 6);
    ck_assert_float_eq(read.sentence.weights[QUALITY_SHARPNESS], -5);
    ck_assert_float_eq(read.sentence.constant, -6);
}
END_TEST

START_TEST(refused) {
    static const struct {
        const char *header;
        size_t count;
        const char *message;
    } rows[] = {
        {"{" WORDS "}", 6, "tensor sentence: missing"},
        {"{" ENTRY("words", "F32", "[5]", "[0,20]") "," ENTRY("sentence", "F32", "[6]",
                                                              "[20,44]") "}",
         11, "tensor words: must be F32 of 6 numbers"},
        {"{" ENTRY("words", "F32", "[2,3]", "[0,24]") "," SENTENCE "}", 12,
         "tensor words: must be F32 of 6 numbers"},
        {"{" ENTRY("words", "I32", "[6]", "[0,24]") "," SENTENCE "}", 12,
         "tensor words: must be F32 of 6 numbers"},
        {"{" WORDS "," SENTENCE "," ENTRY("more", "F32", "[1]", "[48,52]") "}", 13,
         "must hold words and sentence alone"},
    };
    struct quality_weights read, before;
    memset(&read, 7, sizeof read);
    before = read;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error err = read_container(rows[i].header, values, rows[i].count, &read);
        ck_assert_int_eq(err.code, ERROR_FORMAT);
        ck_assert_str_eq(err.message, rows[i].message);
        ck_assert_mem_eq(&read, &before, sizeof read);
    }
}
END_TEST

START_TEST(log_probabilities_alone) {
    struct quality_weights read;
    struct error err =
        read_container("{" ENTRY("log_probs", "F32", "[5]", "[0,20]") "}", values, 5, &read);
    ck_assert_msg(err.code == ERROR_NONE, "%s", err.message);
    ck_assert(read.log_probs_alone);
    ck_assert_float_eq(read.log_probs.weights[QUALITY_OVERALL], 4);
    ck_assert_float_eq(read.log_probs.constant, 5);
    err = read_container("{" ENTRY("log_probs", "F32", "[6]", "[0,24]") "}", values, 6, &read);
    ck_assert_str_eq(err.message, "tensor log_probs: must be F32 of 5 numbers");
    err = read_container("{" ENTRY("log_probs", "F32", "[5]",
                                   "[0,20]") "," ENTRY("words", "F32", "[6]", "[20,44]") "}",
                         values, 11, &read);
    ck_assert_str_eq(err.message, "must hold log_probs alone");
}
END_TEST

START_TEST(numbers_are_finite) {
    struct quality_weights read;
    float wrong[12];
    memcpy(wrong, values, sizeof wrong);
    wrong[9] = NAN;
    struct error err = read_container("{" WORDS "," SENTENCE "}", wrong, 12, &read);
    ck_assert_str_eq(err.message, "tensor sentence: must hold finite numbers");
}
END_TEST

Suite *quality_weights_suite(void) {
    Suite *suite = suite_create("quality_weights");
    TCase *tests = tcase_create("quality_weights");
    tcase_add_test(tests, both_are_read);
    tcase_add_test(tests, refused);
    tcase_add_test(tests, log_probabilities_alone);
    tcase_add_test(tests, numbers_are_finite);
    suite_add_tcase(suite, tests);
    return suite;
}
