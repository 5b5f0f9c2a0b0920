/* Where the time goes: build/tests/bench/bench MODEL_FOLDER < source.txt
 *
 * Prints, from one run on one core: the machine's ceiling (OpenBLAS, a large product), the products of this model's shapes at 1, 8,
 * 32 and 64 rows by alignd and by OpenBLAS, and for greedy and beam 5 at 64 rows the target tokens a second, the share of time
 * inside products with weights, and the share of the ceiling that those products reach. linear_apply is wrapped by the linker
 * (--wrap), so what is measured is the shipped code. */
#include "model/matrix.h"
#include "model/translator.h"

#include <cblas.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- products with weights, counted ---- */

static double product_seconds, product_flops;

void __real_linear_apply(const struct linear *linear, const float *x, size_t ldx, size_t rows, float *y, size_t ldy);
void __wrap_linear_apply(const struct linear *linear, const float *x, size_t ldx, size_t rows, float *y, size_t ldy);

void __wrap_linear_apply(const struct linear *linear, const float *x, size_t ldx, size_t rows, float *y, size_t ldy) {
    double begin = now();
    __real_linear_apply(linear, x, ldx, rows, y, ldy);
    product_seconds += now() - begin;
    product_flops += 2.0 * (double)rows * (double)linear->out * (double)linear->in;
}

/* ---- the machine ---- */

static float *random_floats(size_t count) {
    float *x = aligned_alloc(64, (count * sizeof *x + 63) / 64 * 64);
    uint32_t state = 1;
    if (!x)
        abort();
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525U + 1013904223U;
        x[i] = (float)(state >> 8) / 16777216.0f - 0.5f;
    }
    return x;
}

static void blas(const float *w, size_t out, size_t in, const float *x, size_t rows, float *y) {
    if (rows == 1)
        cblas_sgemv(CblasRowMajor, CblasNoTrans, (int)out, (int)in, 1, w, (int)in, x, 1, 0, y, 1);
    else
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)out, (int)in, 1, x, (int)in, w, (int)in, 0, y,
                    (int)out);
}

/* Best of 5 of about 50 ms each, GFLOP/s. linear NULL: OpenBLAS. */
static double measure(const struct linear *linear, const float *w, size_t out, size_t in, const float *x, size_t rows, float *y) {
    double flops = 2.0 * (double)rows * (double)out * (double)in, best = 0;
    int repeats = (int)(2.5e9 / flops) + 1;
    for (int run = 0; run < 5; run++) {
        double begin = now();
        for (int i = 0; i < repeats; i++) {
            if (linear)
                __real_linear_apply(linear, x, in, rows, y, out);
            else
                blas(w, out, in, x, rows, y);
        }
        double rate = flops * repeats / (now() - begin) / 1e9;
        best = rate > best ? rate : best;
    }
    return best;
}

static double print_machine(void) {
    static const size_t shapes[][2] = {{1536, 512}, {5000, 256}, {4096, 1024}}, rows[] = {1, 8, 32, 64};
    const struct kernels *kernels = kernels_choose();
    float *w = random_floats(4096 * 1024), *x = random_floats(2048 * 1024), *y = random_floats(2048 * 5000);
    double ceiling = measure(NULL, w, 2048, 1024, x, 2048, y);
    printf("kernels %s, OpenBLAS core %s, ceiling (OpenBLAS sgemm 2048 x 2048 x 1024) %.1f GFLOP/s\n", kernels->name,
           openblas_get_corename(), ceiling);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct linear linear;
        struct linear_source source = {.weight = w, .out = shapes[s][0], .in = shapes[s][1]};
        if (linear_init(&linear, &source, &(struct backend){kernels, COMPUTE_FLOAT32}, NULL) != 0)
            abort();
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
            double own = measure(&linear, NULL, linear.out, linear.in, x, rows[r], y);
            double other = measure(NULL, w, linear.out, linear.in, x, rows[r], y);
            printf("product %4zu x %4zu, %2zu rows: alignd %6.1f, OpenBLAS %6.1f GFLOP/s, ratio %.2f\n", linear.out, linear.in,
                   rows[r], own, other, own / other);
        }
        linear_done(&linear);
    }
    free(w);
    free(x);
    free(y);
    return ceiling;
}

/* ---- the model ---- */

struct lines {
    char **text;
    size_t count;
};

static struct lines read_lines(FILE *file) {
    struct lines lines = {0};
    char *line = NULL;
    size_t room = 0;
    for (ssize_t length; (length = getline(&line, &room, file)) > 0;) {
        line[length - (line[length - 1] == '\n')] = '\0';
        lines.text = realloc(lines.text, (lines.count + 1) * sizeof *lines.text);
        if (!lines.text || !(lines.text[lines.count++] = strdup(line)))
            abort();
    }
    free(line);
    return lines;
}

/* Target tokens, </s> counted; ends the sentence. */
static size_t finish(struct sentence *sentence) {
    size_t tokens = sentence->count > 0 ? sentence->hypotheses[0].length + sentence->hypotheses[0].ended : 0;
    if (sentence->error.code != ERROR_NONE) {
        fprintf(stderr, "bench: %s\n", sentence->error.message);
        exit(1);
    }
    sentence_done(sentence);
    return tokens;
}

static size_t decode(const struct translator *translator, struct sentence **sentences, size_t count, size_t max_rows) {
    struct batch *batch = batch_create(translator, max_rows, NULL);
    struct sentence *done[1024];
    size_t next = 0, finished = 0, tokens = 0, free_rows = max_rows;
    while (batch && finished < count) {
        size_t from = next;
        while (next < count && sentence_max_rows(sentences[next]) <= free_rows)
            free_rows -= sentence_max_rows(sentences[next++]);
        batch_admit(batch, sentences + from, next - from);
        size_t left = batch_step(batch, done);
        finished += left;
        for (size_t i = 0; i < left; i++) {
            free_rows += sentence_max_rows(done[i]);
            tokens += finish(done[i]);
        }
    }
    batch_free(batch);
    return tokens;
}

static void print_decoding(const struct translator *translator, const struct lines *lines, const char *strategy, size_t beam,
                           size_t rows, double ceiling) {
    struct search_options options = {.strategy = strategy, .beam_size = beam, .n_best = 1, .length_penalty = 1};
    struct arena arena;
    arena_init(&arena, 1 << 20);
    struct sentence **all = arena_alloc(&arena, lines->count, sizeof *all);
    size_t count = 0;
    for (size_t i = 0; all && i < lines->count; i++) {
        struct sentence *list;
        size_t n;
        struct error err = {0};
        if (translator_prepare(translator, lines->text[i], strlen(lines->text[i]), false, &options, &arena, &list, &n, &err) != 0) {
            fprintf(stderr, "bench: line %zu: %s\n", i + 1, err.message);
            exit(1);
        }
        if (n == 1)
            all[count++] = list;
    }
    product_seconds = product_flops = 0;
    double begin = now();
    size_t tokens = decode(translator, all, count, rows);
    double seconds = now() - begin, rate = product_flops / product_seconds / 1e9;
    printf("%s %zu, %zu rows: %zu sentences, %zu target tokens, %.0f tokens/s, %.0f%% of the time in products, at %.1f GFLOP/s: "
           "%.0f%% of "
           "the ceiling\n",
           strategy, beam, rows, count, tokens, (double)tokens / seconds, 100 * product_seconds / seconds, rate,
           100 * rate / ceiling);
    arena_done(&arena);
}

int main(int argc, char **argv) {
    struct error err = {0};
    if (argc != 2) {
        fprintf(stderr, "usage: bench MODEL_FOLDER < source.txt\n");
        return 2;
    }
    struct translator *translator = translator_open(argv[1], NULL, &err);
    if (!translator) {
        fprintf(stderr, "bench: %s\n", err.message);
        return 1;
    }
    struct lines lines = read_lines(stdin);
    double ceiling = print_machine();
    static const size_t rows[] = {1, 8, 32, 64};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        print_decoding(translator, &lines, "greedy", 1, rows[i], ceiling);
    print_decoding(translator, &lines, "beam", 5, 5, ceiling);
    print_decoding(translator, &lines, "beam", 5, 64, ceiling);
    print_decoding(translator, &lines, "beam", 5, 160, ceiling);
    for (size_t i = 0; i < lines.count; i++)
        free(lines.text[i]);
    free(lines.text);
    translator_free(translator);
    return 0;
}
