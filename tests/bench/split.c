/* What one sentence would gain from a second core: the products of a transformer's encoder and
 * decoder steps on one thread, and with the outputs of each halved between two, which meet after
 * every product. It contains no other part of decoding. Each thread needs its own core. */
#include "tests/bench/compute.h"
#include "tests/bench/measure.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, MOST_MATRICES = 16, ROUNDS = 300 };

static const struct shape {
    const char *name;
    size_t width, inner, encoder_layers, decoder_layers;
} shapes[] = {{"TINY", 256, 1536, 6, 2}, {"BASE", 512, 2048, 6, 2}, {"OPUS", 512, 2048, 6, 6}};

/* A matrix, whole and in halves. */
struct matrix {
    size_t out, in;
    struct linear whole, halves[THREADS];
};

/* Products that follow each other, `layers` times, on so many rows; all of it `steps` times. */
struct part {
    struct matrix matrices[MOST_MATRICES];
    size_t count, layers, rows, steps;
};

struct crew {
    struct part *part;
    bool split;
    float *x, *y;
    atomic_size_t arrived;
    atomic_bool over;
    pthread_barrier_t begin;
};

/* No longer than a product: the core is theirs. */
static void meet(atomic_size_t *arrived, size_t *meetings) {
    size_t all = ++*meetings * THREADS;
    atomic_fetch_add(arrived, 1);
    while (atomic_load(arrived) < all)
        ;
}

/* A thread's share of a part. */
static void work(struct crew *crew, size_t thread, size_t *meetings) {
    const struct part *part = crew->part;
    for (size_t i = 0; i < part->steps * part->layers * part->count; i++) {
        const struct matrix *matrix = &part->matrices[i % part->count];
        const struct linear *linear = crew->split ? &matrix->halves[thread] : &matrix->whole;
        float *y = crew->y + (crew->split ? thread * matrix->halves[0].out : 0);
        linear_apply(linear, crew->x, matrix->in, part->rows, y, matrix->out);
        if (crew->split)
            meet(&crew->arrived, meetings);
    }
}

static void *help(void *argument) {
    struct crew *crew = argument;
    for (;;) {
        size_t meetings = 0;
        pthread_barrier_wait(&crew->begin); /* asleep until there is work, as a worker is */
        if (atomic_load(&crew->over))
            return NULL;
        work(crew, 1, &meetings);
        pthread_barrier_wait(&crew->begin);
    }
}

/* Microseconds, the helper's waking included. */
static double run_once(struct crew *crew) {
    size_t meetings = 0;
    double began = now();
    if (crew->split)
        pthread_barrier_wait(&crew->begin);
    work(crew, 0, &meetings);
    double took = now() - began;
    if (crew->split)
        pthread_barrier_wait(&crew->begin);
    atomic_store(&crew->arrived, 0);
    return 1e6 * took;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The middle of all rounds, one way and the other in turn. */
static void compare(struct crew *crew, const char *name) {
    static double times[2][ROUNDS];
    for (size_t round = 0; round < ROUNDS; round++)
        for (int split = 0; split < 2; split++) {
            crew->split = split;
            times[split][round] = run_once(crew);
        }
    for (int split = 0; split < 2; split++)
        qsort(times[split], ROUNDS, sizeof **times, ascending);
    double one = times[0][ROUNDS / 2], two = times[1][ROUNDS / 2];
    printf("  %-8s %8.0f us on one thread %8.0f on two: %.2f\n", name, one, two, one / two);
}

static void add_matrix(struct part *part, size_t out, size_t in) {
    struct matrix *matrix = &part->matrices[part->count++];
    float *weight = random_floats(out * in);
    struct error err = {0};
    *matrix = (struct matrix){.out = out, .in = in};
    if (compute_linear("int8", weight, out, in, &matrix->whole, &err) != 0 ||
        compute_linear("int8", weight, out / THREADS, in, &matrix->halves[0], &err) != 0 ||
        compute_linear("int8", weight + out / THREADS * in, out / THREADS, in, &matrix->halves[1],
                       &err) != 0) {
        fprintf(stderr, "split: %s\n", err.message);
        exit(1);
    }
    free(weight);
}

static void free_part(struct part *part) {
    for (size_t i = 0; i < part->count; i++) {
        linear_done(&part->matrices[i].whole);
        linear_done(&part->matrices[i].halves[0]);
        linear_done(&part->matrices[i].halves[1]);
    }
}

/* `squares` products of the width, and the feed-forward's two. */
static struct part make_part(const struct shape *shape, size_t squares, size_t layers, size_t rows,
                             size_t steps) {
    struct part part = {.layers = layers, .rows = rows, .steps = steps};
    for (size_t i = 0; i < squares; i++)
        add_matrix(&part, shape->width, shape->width);
    add_matrix(&part, shape->inner, shape->width);
    add_matrix(&part, shape->width, shape->inner);
    return part;
}

int main(int argc, char **argv) {
    size_t words = argc == 2 ? strtoul(argv[1], NULL, 10) : 20;
    if (argc > 2 || words == 0) {
        fprintf(stderr, "usage: split [WORDS]\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *shape = &shapes[i];
        struct part encoder = make_part(shape, 4, shape->encoder_layers, words + 1, 1);
        struct part decoder = make_part(shape, 4, shape->decoder_layers, 1,
                                        words + 1); /* an SSRU's two, a query, an output */
        struct crew crew = {.x = random_floats((words + 1) * shape->inner),
                            .y = random_floats((words + 1) * shape->inner)};
        pthread_t helper;
        pthread_barrier_init(&crew.begin, NULL, THREADS);
        if (pthread_create(&helper, NULL, help, &crew) != 0)
            return 1;
        printf("%s, int8, %zu words\n", shape->name, words);
        crew.part = &encoder;
        compare(&crew, "encoder");
        crew.part = &decoder;
        compare(&crew, "decoder");
        atomic_store(&crew.over, true);
        pthread_barrier_wait(&crew.begin);
        pthread_join(helper, NULL);
        pthread_barrier_destroy(&crew.begin);
        free(crew.x);
        free(crew.y);
        free_part(&encoder);
        free_part(&decoder);
    }
    return 0;
}
