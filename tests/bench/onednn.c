/* oneDNN's products of few rows, for comparison with alignd's: OMP_NUM_THREADS=1
 * build/tests/bench/onednn [OUT IN]
 *
 * Prints the rates of matmul with weights in the format that oneDNN likes best, reordered
 * beforehand, at 1, 8, 32 and 64 rows for the shapes of tests/bench/ceilings.c (OUT x IN: the
 * model's own, 8000 x 256 if not given), measured in the same way, on one thread. Built only where
 * dnnl.h is installed; alignd itself does not use the library. */
#include "tests/bench/measure.h"

#include <dnnl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_COUNTS = 4, RUNS = 5 };

static const size_t row_counts[ROW_COUNTS] = {1, 8, 32, 64};

static const struct type {
    const char *name;
    dnnl_data_type_t source, weights, sums;
} types[] = {
    {"float32", dnnl_f32, dnnl_f32, dnnl_f32},
    {"bfloat16", dnnl_bf16, dnnl_bf16, dnnl_f32},
    {"int8", dnnl_s8, dnnl_s8, dnnl_s32},
};

static void check(dnnl_status_t status, const char *what) {
    if (status == dnnl_success)
        return;
    fprintf(stderr, "onednn: %s: status %d\n", what, (int)status);
    exit(1);
}

#define CHECK(call) check(call, #call)

static dnnl_engine_t engine;
static dnnl_stream_t stream;

/* ---- memory ---- */

static dnnl_memory_desc_t describe(size_t rows, size_t cols, dnnl_data_type_t type,
                                   dnnl_format_tag_t tag) {
    dnnl_memory_desc_t description;
    dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)cols};
    CHECK(dnnl_memory_desc_init_by_tag(&description, 2, dims, type, tag));
    return description;
}

static dnnl_memory_t create(const dnnl_memory_desc_t *description) {
    dnnl_memory_t memory;
    CHECK(dnnl_memory_create(&memory, description, engine, DNNL_MEMORY_ALLOCATE));
    return memory;
}

static void reorder(dnnl_memory_t from, const dnnl_memory_desc_t *from_description,
                    dnnl_memory_t to, const dnnl_memory_desc_t *to_description) {
    dnnl_primitive_desc_t description;
    dnnl_primitive_t primitive;
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    CHECK(dnnl_reorder_primitive_desc_create(&description, from_description, engine, to_description,
                                             engine, NULL));
    CHECK(dnnl_primitive_create(&primitive, description));
    CHECK(dnnl_primitive_execute(primitive, stream, 2, arguments));
    CHECK(dnnl_stream_wait(stream));
    CHECK(dnnl_primitive_destroy(primitive));
    CHECK(dnnl_primitive_desc_destroy(description));
}

/* Random numbers in any layout and type: [rows, cols] of float32, reordered. For int8 they are
 * spread over its range first. */
static dnnl_memory_t create_random(const dnnl_memory_desc_t *description, size_t rows, size_t cols,
                                   bool int8) {
    dnnl_memory_desc_t plain = describe(rows, cols, dnnl_f32, dnnl_ab);
    dnnl_memory_t from = create(&plain), to = create(description);
    float *values = random_floats(rows * cols);
    void *handle;
    for (size_t i = 0; int8 && i < rows * cols; i++)
        values[i] *= 254;
    CHECK(dnnl_memory_get_data_handle(from, &handle));
    memcpy(handle, values, rows * cols * sizeof *values);
    reorder(from, &plain, to, description);
    CHECK(dnnl_memory_destroy(from));
    free(values);
    return to;
}

/* ---- one product ---- */

struct product {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t arguments[3];
};

static void multiply(void *what) {
    const struct product *product = what;
    CHECK(dnnl_primitive_execute(product->primitive, stream, 3, product->arguments));
    CHECK(dnnl_stream_wait(stream));
}

/* Operations a second; implementation: oneDNN's name for what it does. */
static double measure(const struct type *type, size_t out, size_t in, size_t rows,
                      char *implementation, size_t room) {
    dnnl_memory_desc_t source = describe(rows, in, type->source, dnnl_ab),
                       sums = describe(rows, out, type->sums, dnnl_ab);
    dnnl_memory_desc_t any = describe(in, out, type->weights, dnnl_format_tag_any);
    dnnl_matmul_desc_t matmul;
    dnnl_primitive_desc_t description;
    struct product product;
    const char *name;
    bool int8 = type->source == dnnl_s8;
    CHECK(dnnl_matmul_desc_init(&matmul, &source, &any, NULL, &sums));
    CHECK(dnnl_primitive_desc_create(&description, &matmul, NULL, engine, NULL));
    CHECK(dnnl_primitive_desc_query(description, dnnl_query_impl_info_str, 0, (void *)&name));
    snprintf(implementation, room, "%s", name);
    const dnnl_memory_desc_t *packed =
        dnnl_primitive_desc_query_md(description, dnnl_query_weights_md, 0);
    product.arguments[0] = (dnnl_exec_arg_t){DNNL_ARG_SRC, create_random(&source, rows, in, int8)};
    product.arguments[1] =
        (dnnl_exec_arg_t){DNNL_ARG_WEIGHTS, create_random(packed, in, out, int8)};
    product.arguments[2] = (dnnl_exec_arg_t){DNNL_ARG_DST, create(&sums)};
    CHECK(dnnl_primitive_create(&product.primitive, description));
    double rate =
        best_rate(multiply, &product, 2.0 * (double)out * (double)in * (double)rows, RUNS);
    CHECK(dnnl_primitive_destroy(product.primitive));
    CHECK(dnnl_primitive_desc_destroy(description));
    for (size_t i = 0; i < 3; i++)
        CHECK(dnnl_memory_destroy(product.arguments[i].memory));
    return rate;
}

static void print_line(const struct type *type, size_t out, size_t in) {
    char implementation[64];
    printf("%5zu x %-5zu  %-10s", out, in, type->name);
    for (size_t i = 0; i < ROW_COUNTS; i++)
        printf("%9.1f",
               measure(type, out, in, row_counts[i], implementation, sizeof implementation) / 1e9);
    printf("  %s\n", implementation);
}

/* A size of the arguments. */
static size_t size_of(const char *text) {
    unsigned long size = strtoul(text, NULL, 10);
    if (size >= 1 && size <= 65536)
        return size;
    fprintf(stderr, "onednn: OUT and IN must be between 1 and 65536, got %s\n", text);
    exit(2);
}

int main(int argc, char **argv) {
    const char *threads = getenv("OMP_NUM_THREADS"); /* OpenMP has read it before main */
    if ((argc != 1 && argc != 3) || !threads || strcmp(threads, "1") != 0) {
        fputs("usage: OMP_NUM_THREADS=1 onednn [OUT IN]\n", stderr);
        return 2;
    }
    const size_t shapes[][2] = {
        {1536, 512},
        {argc == 3 ? size_of(argv[1]) : 8000, argc == 3 ? size_of(argv[2]) : 256},
        {4096, 1024}};
    const dnnl_version_t *version = dnnl_version();
    CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
    CHECK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    printf("oneDNN %d.%d.%d, GFLOP/s (int8: GOP/s)\n", version->major, version->minor,
           version->patch);
    printf("%33s%9s%9s%9s\n", "1 row", "8 rows", "32 rows", "64 rows");
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            print_line(&types[t], shapes[s][0], shapes[s][1]);
    CHECK(dnnl_stream_destroy(stream));
    CHECK(dnnl_engine_destroy(engine));
    return 0;
}
