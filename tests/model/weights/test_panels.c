/* The file of packed weights (model/weights/weights.h): packed matrices are found with the same
 * bits, and nothing is read from another or a damaged file. */
#include "model/base/file.h"
#include "model/weights/safetensors.h"
#include "model/weights/weights.h"
#include "tests/files.h"
#include "tests/numbers.h"
#include "tests/suites.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRY(name, dtype, shape, offsets)                                                         \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

/* w [OUT, 2 IN], of which two linears are made; v [OUT, IN], which has lookups. */
enum { OUT = 37, IN = 21, VALUES = OUT * IN * 3, LINEARS = 3 };
static const char HEADER[] = "{" ENTRY("w", "F32", "[37,42]", "[0,6216]") "," ENTRY(
    "v", "F32", "[37,21]", "[6216,9324]") "}";

static const struct linear_names names[LINEARS] = {{.weight = "w", .columns = 2 * IN},
                                                   {.weight = "w", .first = IN, .columns = 2 * IN},
                                                   {.weight = "v", .lookups = true}};

static float values[VALUES];
static char path[64];
static struct error err;

/* One value of the parameters is another. changed VALUES: none is. */
static struct weights *open_weights(enum compute compute, size_t changed) {
    float content[VALUES];
    struct backend backend = backend_choose();
    backend.blas = NULL;
    backend.compute = compute;
    memcpy(content, values, sizeof content);
    if (changed < VALUES)
        content[changed] += 1;
    char *container = container_write(HEADER, content, sizeof content);
    struct weights *weights = weights_open(container, &err);
    file_remove(container);
    ck_assert_msg(weights != NULL, "%s", err.message);
    weights_use(weights, &backend);
    return weights;
}

/* The products of one input, and the lookups: [LINEARS + 1][OUT]. */
struct outputs {
    float y[LINEARS + 1][OUT];
};

static struct outputs multiply(struct weights *weights) {
    struct outputs outputs;
    struct linear linears[LINEARS];
    float x[IN];
    int ids[OUT];
    for (size_t i = 0; i < IN; i++)
        x[i] = (float)(i * i % 11) / 7 - 0.6f;
    for (int i = 0; i < OUT; i++)
        ids[i] = OUT - 1 - i;
    for (size_t i = 0; i < LINEARS; i++) {
        ck_assert_int_eq(weights_linear(weights, &names[i], OUT, IN, &linears[i], &err), 0);
        linear_apply(&linears[i], x, IN, 1, outputs.y[i], OUT);
    }
    linear_look_up(&linears[2], x, ids, OUT, outputs.y[LINEARS]);
    ck_assert_int_eq(weights_all_used(weights, &err), 0);
    for (size_t i = 0; i < LINEARS; i++)
        linear_done(&linears[i]);
    return outputs;
}

/* How many of the linears were mapped, if the file was not refused; what they say is right in any
 * case. */
static size_t mapped_with(enum compute compute, const char *sha256, bool *refused) {
    struct weights *packed = open_weights(compute, VALUES),
                   *weights = open_weights(compute, VALUES);
    err = (struct error){0};
    *refused = weights_map(weights, path, sha256, &err) != 0;
    ck_assert(!*refused || err.message[0] != '\0');
    err = (struct error){0};
    struct outputs expected = multiply(packed), found = multiply(weights);
    ck_assert_mem_eq(&found, &expected, sizeof found);
    size_t mapped = weights_linears(weights).mapped;
    ck_assert_uint_eq(weights_linears(weights).packed, LINEARS);
    ck_assert_uint_eq(weights_bytes(weights) >= weights_bytes(packed), 1);
    weights_free(packed);
    weights_free(weights);
    return mapped;
}

static void write_packed(enum compute compute, const char *sha256) {
    struct weights *weights = open_weights(compute, VALUES);
    ck_assert_int_eq(weights_pack(weights, path, sha256, &err), -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    err = (struct error){0};
    struct linear linears[LINEARS];
    for (size_t i = 0; i < LINEARS; i++)
        ck_assert_int_eq(weights_linear(weights, &names[i], OUT, IN, &linears[i], &err), 0);
    ck_assert_int_eq(weights_pack(weights, path, sha256, &err), 0);
    for (size_t i = 0; i < LINEARS; i++)
        linear_done(&linears[i]);
    weights_free(weights);
}

static void setup(void) {
    err = (struct error){0};
    for (size_t i = 0; i < VALUES; i++)
        values[i] = (float)(i * 7919 % 1009) / 500 - 1;
    char *unused = file_write("", 0);
    strcpy(path, unused);
    file_remove(unused);
}

static void teardown(void) {
    unlink(path);
}

START_TEST(the_same_bits) {
    bool refused;
    for (enum compute compute = 0; compute < COMPUTE_TYPES; compute++) {
        write_packed(compute, "");
        ck_assert_uint_eq(mapped_with(compute, "", &refused), LINEARS);
    }
}
END_TEST

/* Written anew of what is mapped it has the same content, and who has the old one mapped keeps it.
 */
START_TEST(a_file_is_replaced) {
    write_packed(COMPUTE_INT8, "");
    char *before, *after;
    size_t bytes, size;
    ck_assert_int_eq(file_read(path, SIZE_MAX / 2, &before, &bytes, &err), 0);
    struct weights *weights = open_weights(COMPUTE_INT8, VALUES);
    ck_assert_int_eq(weights_map(weights, path, NULL, &err), 0);
    struct outputs expected = multiply(weights);
    ck_assert_int_eq(weights_pack(weights, path, NULL, &err), 0);
    ck_assert_int_eq(file_read(path, SIZE_MAX / 2, &after, &size, &err), 0);
    ck_assert_uint_eq(size, bytes);
    ck_assert_mem_eq(after, before, bytes);
    struct outputs found = multiply(weights);
    ck_assert_mem_eq(&found, &expected, sizeof found);
    weights_free(weights);
    free(before);
    free(after);
}
END_TEST

/* Lookups that were not packed: such a matrix is packed as ever. */
START_TEST(what_is_missing_is_packed) {
    struct weights *weights = open_weights(COMPUTE_INT8, VALUES);
    struct linear linear;
    bool refused;
    ck_assert_int_eq(
        weights_linear(weights, &(struct linear_names){.weight = "v"}, OUT, IN, &linear, &err), 0);
    ck_assert_int_eq(weights_pack(weights, path, NULL, &err), 0);
    linear_done(&linear);
    weights_free(weights);
    ck_assert_uint_eq(mapped_with(COMPUTE_INT8, NULL, &refused), 0);
    ck_assert(!refused);
}
END_TEST

/* Another compute type; another digest; weights of which any tensor is another; no file. */
START_TEST(a_file_of_something_else) {
    bool refused;
    write_packed(COMPUTE_INT8, "aa");
    ck_assert_uint_eq(mapped_with(COMPUTE_FLOAT32, NULL, &refused), 0);
    ck_assert(refused);
    ck_assert_uint_eq(mapped_with(COMPUTE_INT8, "ab", &refused), 0);
    ck_assert(refused);
    ck_assert_uint_eq(mapped_with(COMPUTE_INT8, "aa", &refused), LINEARS);
    ck_assert_uint_eq(mapped_with(COMPUTE_INT8, NULL, &refused), LINEARS);
    for (size_t tensor = 0; tensor < 2; tensor++) {
        struct weights *weights = open_weights(COMPUTE_INT8, tensor == 0 ? 0 : VALUES - 1);
        err = (struct error){0};
        ck_assert_int_eq(weights_map(weights, path, NULL, &err), -1);
        ck_assert_str_eq(err.message, "made from another model.safetensors");
        weights_free(weights);
    }
    unlink(path);
    ck_assert_uint_eq(mapped_with(COMPUTE_INT8, NULL, &refused), 0);
    ck_assert(refused);
}
END_TEST

/* The shape is that of the tensor, whatever the file has. */
START_TEST(a_shape_that_the_model_does_not_have) {
    struct linear linear;
    write_packed(COMPUTE_INT8, "");
    struct weights *weights = open_weights(COMPUTE_INT8, VALUES);
    ck_assert_int_eq(weights_map(weights, path, NULL, &err), 0);
    ck_assert_int_eq(
        weights_linear(weights, &(struct linear_names){.weight = "v"}, IN, OUT, &linear, &err), -1);
    ck_assert_str_eq(err.message, "tensor v: shape [37, 21], but the model needs [21, 37]");
    err = (struct error){0};
    ck_assert_int_eq(
        weights_linear(weights, &(struct linear_names){.weight = "none"}, IN, OUT, &linear, &err),
        -1);
    ck_assert_str_eq(err.message, "tensor none: missing");
    weights_free(weights);
}
END_TEST

/* ---- damage ---- */

static char *content;
static size_t content_bytes;

static void read_packed(void) {
    write_packed(COMPUTE_INT8, "aa");
    ck_assert_int_eq(file_read(path, SIZE_MAX / 2, &content, &content_bytes, &err), 0);
}

static void put(size_t bytes) {
    char *written = file_write(content, bytes);
    ck_assert_int_eq(rename(written, path), 0);
    free(written);
}

/* A changed byte of header or entries: nothing is used; of a matrix: that is packed anew; of what
 * lies between: nobody reads it. */
START_TEST(every_byte_is_checked) {
    bool refused;
    size_t head = sizeof(struct panels_header) + LINEARS * sizeof(struct panels_entry), lost = 0;
    read_packed();
    for (size_t i = 0; i < content_bytes; i += i < head ? 13 : 97) {
        content[i] ^= 16;
        put(content_bytes);
        size_t mapped = mapped_with(COMPUTE_INT8, "aa", &refused);
        content[i] ^= 16;
        ck_assert(i >= head || (refused && mapped == 0));
        ck_assert(i < head || (!refused && mapped >= LINEARS - 1));
        lost += i >= head && mapped < LINEARS;
    }
    ck_assert_uint_gt(lost, 10);
    free(content);
}
END_TEST

START_TEST(a_file_cut_short_is_refused) {
    bool refused;
    read_packed();
    for (size_t bytes = 0; bytes < content_bytes;
         bytes += bytes < sizeof(struct panels_header) + 64 ? 1 : 501) {
        put(bytes);
        ck_assert_uint_eq(mapped_with(COMPUTE_INT8, "aa", &refused), 0);
        ck_assert(refused);
    }
    free(content);
}
END_TEST

/* Who writes the sums knows how. */
typedef void change(struct panels_header *header, struct panels_entry *entries);

static void end_no_name(struct panels_header *header, struct panels_entry *entries) {
    (void)header;
    memset(entries[1].name, 'x', PANELS_NAME);
}
static void end_no_packing(struct panels_header *header, struct panels_entry *entries) {
    (void)header;
    memset(entries[2].packing, 'x', PANELS_WORD);
}
static void end_no_digest(struct panels_header *header, struct panels_entry *entries) {
    (void)entries;
    memset(header->origin.source_sha256, 'a', PANELS_SHA256);
}
static void claim_entries(struct panels_header *header, struct panels_entry *entries) {
    (void)entries;
    header->entries = UINT32_MAX;
}
static void claim_version(struct panels_header *header, struct panels_entry *entries) {
    (void)entries;
    header->version++;
}
static void claim_bytes(struct panels_header *header, struct panels_entry *entries) {
    (void)entries;
    header->bytes--;
}
static void claim_processor(struct panels_header *header, struct panels_entry *entries) {
    (void)entries;
    strcpy(header->origin.processor, "z80");
}
static void point_behind(struct panels_header *header, struct panels_entry *entries) {
    for (size_t i = 0; i < LINEARS; i++)
        entries[i].panels_at = header->bytes / PANELS_ALIGNMENT * PANELS_ALIGNMENT;
}
static void point_far(struct panels_header *header, struct panels_entry *entries) {
    (void)header;
    for (size_t i = 0; i < LINEARS; i++)
        entries[i].panels_at = UINT64_MAX - PANELS_ALIGNMENT + 1;
}
static void point_askew(struct panels_header *header, struct panels_entry *entries) {
    (void)header;
    for (size_t i = 0; i < LINEARS; i++)
        entries[i].panels_at++;
}
static void point_rows_far(struct panels_header *header, struct panels_entry *entries) {
    (void)header;
    entries[2].rows_at = UINT64_MAX - PANELS_ALIGNMENT + 1;
}

START_TEST(sums_that_are_right_of_what_is_not) {
    static const struct {
        change *change;
        bool refused;
        size_t mapped;
    } rows[] = {
        {end_no_name, true, 0},     {end_no_packing, true, 0}, {end_no_digest, true, 0},
        {claim_entries, true, 0},   {claim_version, true, 0},  {claim_bytes, true, 0},
        {point_behind, false, 0},   {point_far, false, 0},     {claim_processor, true, 0},
        {point_rows_far, false, 2}, {point_askew, false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool refused;
        read_packed();
        struct panels_header header;
        struct panels_entry entries[LINEARS];
        memcpy(&header, content, sizeof header);
        memcpy(entries, content + sizeof header, sizeof entries);
        rows[i].change(&header, entries);
        header.sum = file_checksum(file_checksum(0, &header, offsetof(struct panels_header, sum)),
                                   entries, sizeof entries);
        memcpy(content, &header, sizeof header);
        memcpy(content + sizeof header, entries, sizeof entries);
        put(content_bytes);
        ck_assert_uint_eq(mapped_with(COMPUTE_INT8, "aa", &refused), rows[i].mapped);
        ck_assert_int_eq(refused, rows[i].refused);
        free(content);
    }
}
END_TEST

/* A name that does not fit; a folder that is not there. */
START_TEST(what_cannot_be_written) {
    char name[PANELS_NAME + 1];
    memset(name, 'n', PANELS_NAME);
    name[PANELS_NAME] = '\0';
    struct panels_matrix matrix = {.name = name};
    ck_assert_int_eq(panels_write(path, &(struct panels_origin){0}, &matrix, 1, &err), -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    err = (struct error){0};
    ck_assert_int_eq(panels_write("/nowhere/packed", &(struct panels_origin){0}, NULL, 0, &err),
                     -1);
    ck_assert_int_eq(err.code, ERROR_FILE);
}
END_TEST

/* ---- the format ----
 * A later alignd reads a file of its version as it was written: what changes raises PANELS_VERSION.
 */

/* Of a file with the same weights in all types, for each instruction set. */
static const struct {
    const char *processor;
    uint64_t sum;
} formats[] = {
    {"x86-64-generic", 0x46a4fead85463c49}, {"x86-64-v3", 0x733cef8359ab7761},
    {"x86-64-v4", 0xafbf2059f4b6968d},      {"x86-64-vnni", 0x3e2f38fe6a908e77},
    {"arm64-generic", 0xa48418935a6d748d},  {"arm64-dotprod", 0xf4a9030627757682},
};

/* A matrix [MANY_OUT, IN] of each type that weights are packed as, the last with scales that were
 * given. */
enum { TYPES = 5, MANY_OUT = VALUES / IN };

static const struct linear_source types[TYPES] = {
    {.stored = STORED_FLOAT32},
    {.stored = STORED_FLOAT16},
    {.stored = STORED_BFLOAT16},
    {.stored = STORED_INT8},
    {.stored = STORED_INT8, .scale = 1.0f / 64, .input_scale = 50},
};

static void write_types(const struct kernels *kernels) {
    struct linear linears[TYPES];
    struct panels_matrix matrices[TYPES];
    struct panels_origin origin = {.source_bytes = 1, .source_sample = 2, .source_sha256 = "aa"};
    for (size_t i = 0; i < TYPES; i++) {
        struct linear_source source = types[i];
        struct backend backend = {.kernels = kernels,
                                  .compute = source.stored == STORED_INT8 ? COMPUTE_INT8
                                                                          : COMPUTE_FLOAT32};
        source.weight = values;
        source.out = MANY_OUT;
        source.in = IN;
        source.lookups = true;
        ck_assert_int_eq(linear_init(&linears[i], &source, &backend, &err), 0);
        matrices[i] = (struct panels_matrix){.name = "w",
                                             .out = MANY_OUT,
                                             .in = IN,
                                             .packing = linears[i].packing,
                                             .packed = linears[i].packed,
                                             .rows = linears[i].rows};
    }
    strcpy(origin.processor, kernels->processor);
    ck_assert_int_eq(panels_write(path, &origin, matrices, TYPES, &err), 0);
    for (size_t i = 0; i < TYPES; i++)
        linear_done(&linears[i]);
}

static uint64_t sum_of_format(const char *processor) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].processor, processor) == 0)
            return formats[i].sum;
    ck_abort_msg("%s has no sum here", processor);
}

START_TEST(what_changes_has_another_version) {
    const struct kernels *kernels = kernel_set(_i);
    char *bytes;
    size_t size;
    write_types(kernels);
    ck_assert_int_eq(file_read(path, SIZE_MAX / 2, &bytes, &size, &err), 0);
    uint64_t sum = file_checksum(0, bytes, size);
    ck_assert_msg(sum == sum_of_format(kernels->processor),
                  "files for %s are not what version %d says they are: raise PANELS_VERSION, then "
                  "write their sum here, 0x%016" PRIx64,
                  kernels->processor, PANELS_VERSION, sum);
    free(bytes);
}
END_TEST

Suite *panels_suite(void) {
    Suite *suite = suite_create("panels");
    TCase *tcase = tcase_create("panels");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, the_same_bits);
    tcase_add_test(tcase, a_file_is_replaced);
    tcase_add_test(tcase, what_is_missing_is_packed);
    tcase_add_test(tcase, a_file_of_something_else);
    tcase_add_test(tcase, a_shape_that_the_model_does_not_have);
    tcase_add_test(tcase, every_byte_is_checked);
    tcase_add_test(tcase, a_file_cut_short_is_refused);
    tcase_add_test(tcase, sums_that_are_right_of_what_is_not);
    tcase_add_test(tcase, what_cannot_be_written);
    tcase_add_loop_test(tcase, what_changes_has_another_version, 0, kernel_sets());
    suite_add_tcase(suite, tcase);
    return suite;
}
