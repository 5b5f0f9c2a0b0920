#include "model/weights/safetensors.h"
#include "tests/files.h"
#include "tests/suites.h"
#include <string.h>
#include <unistd.h>

static const unsigned char DATA[64] = {1, 2, 3, 4, 5, 6, 7, 8};

static struct error err;

static struct safetensors *open_container(const char *header, size_t data_bytes) {
    err = (struct error){0};
    char *path = container_write(header, DATA, data_bytes);
    struct safetensors *file = safetensors_open(path, &err);
    file_remove(path); /* the mapping stays */
    return file;
}

/* 8 bytes of length and whatever follows. */
static struct safetensors *open_bytes(const void *bytes, size_t length) {
    err = (struct error){0};
    char *path = file_write(bytes, length);
    struct safetensors *file = safetensors_open(path, &err);
    file_remove(path);
    return file;
}

/* One tensor "a" with its entry spelt out. */
#define ONE(entry) "{\"a\":{" entry "}}"
/* Tensors a and b with these offsets, each float32 [1]. */
#define TWO(first, second)                                                                         \
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[" first "]},"                       \
    "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[" second "]}}"

static const struct {
    const char *header;
    size_t data_bytes;
    const char *message; /* a part of it */
} corrupt[] = {
    /* not JSON, or not the right JSON */
    {"", 0, "header: "},
    {"{", 0, "header: "},
    {"{} {}", 0, "header: "},
    {"\xff", 0, "header: "},
    {"[]", 0, "header: must be an object"},
    {"{\"a\\u0000b\":{}}", 0, "header: "},
    {"{\"a\":3}", 0, "tensor a: must be an object"},
    {"{\"__metadata__\":3}", 0, "__metadata__: must be an object"},
    {"{\"__metadata__\":{\"seed\":1}}", 0, "__metadata__: seed: must be a string"},
    {TWO("0,4", "4,8") "}", 8, "header: "},
    /* duplicate keys */
    {"{\"a\":{\"dtype\":\"I8\",\"shape\":[],\"data_offsets\":[0,1]},\"a\":{\"dtype\":\"I8\","
     "\"shape\":[],\"data_offsets\":[1,2]}}",
     2, "duplicate"},
    {ONE("\"dtype\":\"I8\",\"dtype\":\"I8\",\"shape\":[],\"data_offsets\":[0,1]"), 1, "duplicate"},
    /* dtype */
    {ONE("\"shape\":[1],\"data_offsets\":[0,4]"), 4, "tensor a: dtype must be a string"},
    {ONE("\"dtype\":4,\"shape\":[1],\"data_offsets\":[0,4]"), 4,
     "tensor a: dtype must be a string"},
    {ONE("\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]"), 8,
     "tensor a: unknown dtype F64"},
    {ONE("\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]"), 4,
     "tensor a: unknown dtype f32"},
    /* shape */
    {ONE("\"dtype\":\"F32\",\"data_offsets\":[0,4]"), 4, "tensor a: shape must be an array"},
    {ONE("\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]"), 4,
     "tensor a: shape must be an array"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]"), 4,
     "tensor a: shape must be an array of at most 8"},
    {ONE("\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]"), 4,
     "tensor a: shape must contain integers from 0"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]"), 4,
     "tensor a: shape must contain integers from 0"},
    {ONE("\"dtype\":\"F32\",\"shape\":[true],\"data_offsets\":[0,4]"), 4,
     "tensor a: shape must contain integers from 0"},
    {ONE("\"dtype\":\"F32\",\"shape\":[\"1\"],\"data_offsets\":[0,4]"), 4,
     "tensor a: shape must contain integers from 0"},
    /* overflow: the product, and numbers over 64 bits; 2^62 x 4 bytes would wrap to the 0 bytes
       that are there */
    {ONE("\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]"), 0,
     "tensor a: shape is larger"},
    {ONE("\"dtype\":\"I8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]"), 0,
     "tensor a: shape is larger"},
    {ONE("\"dtype\":\"I8\",\"shape\":[18446744073709551617],\"data_offsets\":[0,1]"), 1,
     "header: "},
    {ONE("\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,18446744073709551617]"), 1,
     "header: "},
    /* offsets */
    {ONE("\"dtype\":\"F32\",\"shape\":[1]"), 4, "tensor a: data_offsets must be two integers"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]"), 4,
     "tensor a: data_offsets must be two integers"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]"), 4,
     "tensor a: data_offsets must be two integers"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4.0]"), 4,
     "tensor a: data_offsets must be two integers"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]"), 4,
     "tensor a: data_offsets must be two integers"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]"), 4,
     "tensor a: data_offsets end before they begin"},
    {ONE("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]"), 7,
     "tensor a: data_offsets are past the end of the file"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[9223372036854775803,"
         "9223372036854775807]"),
     4, "past the end of the file"},
    /* size */
    {ONE("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]"), 4,
     "tensor a: 4 bytes of data, 8 by dtype and shape"},
    {ONE("\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[0,4]"), 4,
     "tensor a: 4 bytes of data, 2 by dtype and shape"},
    {ONE("\"dtype\":\"BF16\",\"shape\":[0,2],\"data_offsets\":[0,4]"), 4,
     "tensor a: 4 bytes of data, 0 by dtype and shape"},
    /* coverage */
    {TWO("0,4", "5,9"), 9, "tensor b: there is a gap before its data"},
    {TWO("5,9", "0,4"), 9, "tensor a: there is a gap before its data"},
    {TWO("1,5", "5,9"), 9, "tensor a: there is a gap before its data"},
    {TWO("0,4", "3,7"), 7, "tensor b: overlaps another"},
    {TWO("0,4", "0,4"), 4, ": overlaps another"},
    {TWO("0,4", "4,8"), 9, "header: 1 bytes at the end of the file belong to no tensor"},
    {"{}", 3, "header: 3 bytes at the end of the file belong to no tensor"},
};

START_TEST(corrupt_header_is_refused) {
    ck_assert_ptr_null(open_container(corrupt[_i].header, corrupt[_i].data_bytes));
    ck_assert_int_eq(err.code, ERROR_FORMAT);
    ck_assert_msg(strstr(err.message, corrupt[_i].message) != NULL, "%s -> %s", corrupt[_i].header,
                  err.message);
}
END_TEST

START_TEST(file_without_header_is_refused) {
    ck_assert_ptr_null(open_bytes("", 0));
    ck_assert_int_eq(err.code, ERROR_FORMAT);
    ck_assert_ptr_null(open_bytes("\2\0\0\0\0\0\0", 7));
    ck_assert_str_eq(err.message, "header: the file is too short to have one");
}
END_TEST

START_TEST(header_past_the_end_is_refused) {
    ck_assert_ptr_null(open_bytes("\3\0\0\0\0\0\0\0{}", 10));
    ck_assert_str_eq(err.message, "header: a length of 3 bytes is beyond the end of the file");
    ck_assert_ptr_null(open_bytes("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10));
    ck_assert_str_eq(err.message,
                     "header: a length of 18446744073709551615 bytes is beyond the limit");
}
END_TEST

/* The file is large enough for its header (and sparse), but no header may be that long. */
START_TEST(header_over_the_limit_is_refused) {
    err = (struct error){0};
    char *path = file_write("\x01\xe1\xf5\x05\0\0\0\0", 8);
    ck_assert_int_eq(truncate(path, 100000100), 0);
    ck_assert_ptr_null(safetensors_open(path, &err));
    file_remove(path);
    ck_assert_str_eq(err.message, "header: a length of 100000001 bytes is beyond the limit");
}
END_TEST

START_TEST(unreadable_file_is_a_file_error) {
    err = (struct error){0};
    ck_assert_ptr_null(safetensors_open("/nowhere/model.safetensors", &err));
    ck_assert_int_eq(err.code, ERROR_FILE);
    ck_assert_str_eq(err.message,
                     "cannot open /nowhere/model.safetensors: No such file or directory");
    err = (struct error){0};
    ck_assert_ptr_null(safetensors_open("/tmp", &err));
    ck_assert_int_eq(err.code, ERROR_FILE);
    ck_assert_str_eq(err.message, "cannot read /tmp: not a regular file");
    ck_assert_ptr_null(safetensors_open("/nowhere/model.safetensors", NULL));
}
END_TEST

START_TEST(tensors_are_found_and_sorted) {
    struct safetensors *file =
        open_container("{\"__metadata__\":{\"format\":\"pt\"},"
                       "\"w\":{\"dtype\":\"BF16\",\"shape\":[1,2],\"data_offsets\":[2,6]},"
                       "\"b\":{\"dtype\":\"I8\",\"shape\":[2],\"data_offsets\":[0,2]}}",
                       6);
    ck_assert_msg(file != NULL, "%s", err.message);
    ck_assert_uint_eq(safetensors_count(file), 2);
    ck_assert_str_eq(safetensors_at(file, 0)->name, "b");
    const struct tensor *tensor = safetensors_find(file, "w");
    ck_assert_ptr_eq(tensor, safetensors_at(file, 1));
    ck_assert_int_eq(tensor->dtype, DTYPE_BF16);
    ck_assert_uint_eq(tensor->dims, 2);
    ck_assert_uint_eq(tensor->shape[0], 1);
    ck_assert_uint_eq(tensor->shape[1], 2);
    ck_assert_uint_eq(tensor->bytes, 4);
    ck_assert_mem_eq(tensor->data, DATA + 2, 4);
    ck_assert_ptr_null(safetensors_find(file, "W"));
    ck_assert_ptr_null(safetensors_find(file, "__metadata__"));
    safetensors_free(file);
}
END_TEST

static const struct {
    const char *header;
    size_t data_bytes, count;
} allowed[] = {
    {"{}", 0, 0},
    {"{\"__metadata__\":{}}", 0, 0},
    {"{}       ", 0, 0}, /* space padding */
    /* a scalar */
    {ONE("\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]"), 4, 1},
    /* the most dimensions */
    {ONE("\"dtype\":\"I8\",\"shape\":[1,1,1,1,1,1,1,3],\"data_offsets\":[0,3]"), 3, 1},
    {ONE("\"dtype\":\"I32\",\"shape\":[3],\"data_offsets\":[0,12]"), 12, 1},
    /* zero size: alone, and before, between and after others */
    {ONE("\"dtype\":\"F32\",\"shape\":[3,0],\"data_offsets\":[0,0]"), 0, 1},
    {"{\"b\":{\"dtype\":\"I8\",\"shape\":[3],\"data_offsets\":[0,3]},\"a\":{\"dtype\":\"I8\","
     "\"shape\":[0],\"data_offsets\":[0,0]},"
     "\"d\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[3,4]},\"c\":{\"dtype\":\"I8\","
     "\"shape\":[0],\"data_offsets\":[3,3]},"
     "\"e\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[4,4]}}",
     4, 5},
    /* misaligned float32 */
    {"{\"a\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]},\"b\":{\"dtype\":\"F32\","
     "\"shape\":[1],\"data_offsets\":[1,5]}"
     "}",
     5, 2},
};

START_TEST(rare_but_right_is_accepted) {
    struct safetensors *file = open_container(allowed[_i].header, allowed[_i].data_bytes);
    ck_assert_msg(file != NULL, "%s -> %s", allowed[_i].header, err.message);
    ck_assert_uint_eq(safetensors_count(file), allowed[_i].count);
    safetensors_free(file);
}
END_TEST

START_TEST(free_accepts_null) {
    safetensors_free(NULL);
}
END_TEST

Suite *safetensors_suite(void) {
    Suite *suite = suite_create("safetensors");
    TCase *cases = tcase_create("safetensors");
    tcase_add_loop_test(cases, corrupt_header_is_refused, 0,
                        (int)(sizeof corrupt / sizeof *corrupt));
    tcase_add_test(cases, file_without_header_is_refused);
    tcase_add_test(cases, header_past_the_end_is_refused);
    tcase_add_test(cases, header_over_the_limit_is_refused);
    tcase_add_test(cases, unreadable_file_is_a_file_error);
    tcase_add_test(cases, tensors_are_found_and_sorted);
    tcase_add_loop_test(cases, rare_but_right_is_accepted, 0,
                        (int)(sizeof allowed / sizeof *allowed));
    tcase_add_test(cases, free_accepts_null);
    suite_add_tcase(suite, cases);
    return suite;
}
