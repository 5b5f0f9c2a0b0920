#include "tests/bench/ceilings.h"
#include "tests/bench/compute.h"
#include "tests/bench/measure.h"
#include "tests/bench/reading.h"

#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>

static const size_t row_counts[CEILING_ROWS] = {1, 8, 32, 64};

enum { LARGE_OUT = 4096, LARGE_IN = 1024, MOST_ROWS = 64 };

struct operands {
    const char *compute; /* NULL: OpenBLAS, float32 */
    struct linear linear;
    size_t out, in, rows;
    float *w, *x, *y;
};

static void multiply(void *what) {
    const struct operands *o = what;
    linear_apply(&o->linear, o->x, o->in, o->rows, o->y, o->out);
}

static void multiply_blas(void *what) {
    const struct operands *o = what;
    int rows = (int)o->rows, out = (int)o->out, in = (int)o->in;
    if (rows == 1)
        cblas_sgemv(CblasRowMajor, CblasNoTrans, out, in, 1, o->w, in, o->x, 1, 0, o->y, 1);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, out, in, 1, o->x, in, o->w, in,
                    0, o->y, out);
}

/* One line of the table. */
static struct ceiling measure(struct operands *o, int runs) {
    struct ceiling ceiling;
    struct error err = {0};
    if (o->compute && compute_linear(o->compute, o->w, o->out, o->in, &o->linear, &err) != 0) {
        fprintf(stderr, "bench: %s\n", err.message);
        exit(1);
    }
    printf("%5zu x %-5zu  %-10s", o->out, o->in, o->compute ? o->compute : "OpenBLAS");
    for (size_t i = 0; i < CEILING_ROWS; i++) {
        o->rows = row_counts[i];
        double operations = 2.0 * (double)o->out * (double)o->in * (double)o->rows;
        ceiling.rates[i] = best_rate(o->compute ? multiply : multiply_blas, o, operations, runs);
        printf("%9.1f", ceiling.rates[i] / 1e9);
    }
    putchar('\n');
    linear_done(&o->linear);
    return ceiling;
}

static void print_products(const char *const *computes, size_t output, size_t readout, int runs,
                           struct ceiling *ceilings) {
    const size_t shapes[][2] = {{1536, 512}, {output, readout}, {LARGE_OUT, LARGE_IN}};
    printf("GFLOP/s (int8: GOP/s)%14s%9s%9s%9s\n", "1 row", "8 rows", "32 rows", "64 rows");
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        size_t out = shapes[s][0], in = shapes[s][1];
        struct operands o = {.out = out,
                             .in = in,
                             .w = random_floats(out * in),
                             .x = random_floats(MOST_ROWS * in),
                             .y = random_floats(MOST_ROWS * out)};
        measure(&o, runs);
        for (size_t i = 0; computes[i]; i++) {
            o.compute = computes[i];
            ceilings[i] = measure(&o, runs); /* the large product comes last and stays */
        }
        free(o.w);
        free(o.x);
        free(o.y);
    }
}

/* ---- reading ---- */

struct reading {
    float (*read)(const float *memory, size_t count);
    const float *memory;
    size_t count;
    float sum;
};

static void read_all(void *what) {
    struct reading *reading = what;
    reading->sum = reading->read(reading->memory, reading->count);
}

/* By the instruction set that the kernels use. */
static float (*choose_reader(void))(const float *memory, size_t count) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return read_v4;
    if (__builtin_cpu_supports("avx2"))
        return read_v3;
#endif
    return read_generic;
}

/* Written numbers where weights lie. */
static const float *fill_pages(struct pages *pages, size_t count) {
    float *memory = must(pages_alloc(pages, count * sizeof *memory));
    for (size_t i = 0; i < count; i++)
        memory[i] = (float)(i % 256);
    return memory;
}

static void print_reading(int runs) {
    static const size_t megabytes[] = {1, 4, 16, 64};
    enum { COUNT = sizeof megabytes / sizeof *megabytes };
    struct pages pages = {0};
    struct reading reading = {.read = choose_reader(),
                              .memory =
                                  fill_pages(&pages, (megabytes[COUNT - 1] << 20) / sizeof(float))};
    printf("\nread by one core:");
    for (size_t i = 0; i < COUNT; i++) {
        size_t bytes = megabytes[i] << 20;
        reading.count = bytes / sizeof(float);
        printf("%s %zu MB %.0f GB/s", i == 0 ? "" : ",", megabytes[i],
               best_rate(read_all, &reading, (double)bytes, runs) / 1e9);
    }
    putchar('\n');
    pages_done(&pages);
}

/* What a sentence of OPUS's shape in int8 reads when it is decoded alone: the encoder's weights
 * once, which lie farther away than what each step reads, the decoder's weights, keys, values and
 * logits. */
static void print_sentence(int runs) {
    enum { ENCODER_MB = 22, STEP_MB = 53, STEPS = 19, FLOATS = 1000000 / sizeof(float) };
    struct pages pages = {0};
    const float *memory = fill_pages(&pages, (ENCODER_MB + STEP_MB) * FLOATS);
    struct reading encoder = {
        .read = choose_reader(), .memory = memory, .count = ENCODER_MB * FLOATS / 64 * 64};
    struct reading step = {.read = encoder.read,
                           .memory = memory + encoder.count,
                           .count = STEP_MB * FLOATS / 64 * 64};
    double encoding = 0, stepping = 0; /* seconds */
    for (int run = -1; run < runs; run++) {
        double began = now();
        read_all(&encoder);
        double encoded = now();
        for (int i = 0; i < STEPS; i++)
            read_all(&step);
        encoding += run < 0 ? 0 : encoded - began; /* the first is warm-up */
        stepping += run < 0 ? 0 : now() - encoded;
    }
    printf(
        "%d MB once and %d MB %d times, as one row of OPUS in int8: %.1f and %.1f GB/s, %.1f ms\n",
        ENCODER_MB, STEP_MB, STEPS, runs * ENCODER_MB * 1e-3 / encoding,
        runs * STEPS * STEP_MB * 1e-3 / stepping, (encoding + stepping) / runs * 1e3);
    pages_done(&pages);
}

void ceilings_print(const char *const *computes, size_t output, size_t readout, int runs,
                    struct ceiling *ceilings) {
    openblas_set_num_threads(1);
    printf("kernels %s, OpenBLAS core %s\n", kernels_choose()->name, openblas_get_corename());
    print_products(computes, output, readout, runs, ceilings);
    print_reading(runs);
    print_sentence(runs);
}

double ceiling_at(const struct ceiling *ceiling, size_t rows) {
    size_t i = 0;
    while (i + 1 < CEILING_ROWS && row_counts[i] < rows)
        i++;
    return ceiling->rates[i];
}
