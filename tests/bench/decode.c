#include "tests/bench/decode.h"
#include "tests/bench/measure.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void die(const char *message) {
    fprintf(stderr, "bench: %s\n", message);
    exit(1);
}

/* ---- the input ---- */

struct lines lines_read(FILE *file) {
    struct lines lines = {0};
    char *line = NULL;
    size_t room = 0;
    for (ssize_t length; (length = getline(&line, &room, file)) > 0;) {
        line[length - (line[length - 1] == '\n')] = '\0';
        if (*line == '\0')
            continue;
        lines.text = must(realloc(lines.text, (lines.count + 1) * sizeof *lines.text));
        lines.text[lines.count++] = must(strdup(line));
    }
    free(line);
    return lines;
}

void lines_free(struct lines *lines) {
    for (size_t i = 0; i < lines->count; i++)
        free(lines->text[i]);
    free(lines->text);
    *lines = (struct lines){0};
}

/* ---- one worker ---- */

struct worker {
    const struct translator *translator;
    struct batch *batch;
    size_t rows;
    struct sentence **sentences; /* [count] */
    size_t count;
    double *admitted;    /* [count] when; a sentence's owner points to its own */
    struct parts *parts; /* NULL: not measured */
    size_t tokens;
    double waited; /* the sum */
    pthread_t thread;
};

static void end(struct worker *worker, struct sentence *sentence) {
    if (sentence->error)
        die(sentence->error->message);
    worker->tokens += sentence->hypotheses[0].length + sentence->hypotheses[0].ended;
    worker->waited += now() - *(const double *)sentence->caller.owner;
    sentence_done(sentence);
}

/* Sentences [from, ...) that find free rows; returns where it stopped. */
static size_t admit(struct worker *worker, size_t from, size_t *free_rows) {
    size_t to = from;
    for (; to < worker->count && sentence_max_rows(worker->sentences[to]) <= *free_rows; to++) {
        *free_rows -= sentence_max_rows(worker->sentences[to]);
        worker->admitted[to] = now();
        worker->sentences[to]->caller.owner = &worker->admitted[to];
    }
    batch_admit(worker->batch, worker->sentences + from, to - from);
    return to;
}

static void *work(void *argument) {
    struct worker *worker = argument;
    struct sentence *done[DECODE_MAX_ROWS];
    size_t free_rows = worker->rows;
    if (worker->parts)
        parts_begin(worker->parts);
    for (size_t next = 0, ended = 0; ended < worker->count;) {
        if (batch_wants(worker->batch))
            next = admit(worker, next, &free_rows);
        size_t count = batch_step(worker->batch, done);
        ended += count;
        for (size_t i = 0; i < count; i++) {
            free_rows += sentence_max_rows(done[i]);
            end(worker, done[i]);
        }
    }
    parts_end();
    return NULL;
}

/* ---- all of them ---- */

static void worker_init(struct worker *worker, const struct translator *translator, size_t rows,
                        size_t room) {
    struct error err = {0};
    *worker = (struct worker){.translator = translator,
                              .rows = rows,
                              .batch = batch_create(translator, rows, &err),
                              .sentences = must(calloc(room, sizeof(struct sentence *))),
                              .admitted = must(calloc(room, sizeof(double)))};
    if (!worker->batch)
        die(err.message);
}

static void worker_done(struct worker *worker) {
    batch_free(worker->batch);
    free(worker->sentences);
    free(worker->admitted);
}

/* Deals the sentences out, one to each worker in turn. */
static void deal(struct worker *workers, const struct lines *lines, const struct decoding *decoding,
                 struct arena *arena) {
    struct search_options options = {.strategy = decoding->strategy,
                                     .beam_size = decoding->beam_size,
                                     .n_best = 1,
                                     .length_penalty = 1};
    for (size_t i = 0; i < decoding->sentences; i++) {
        struct worker *worker = &workers[i % decoding->workers];
        const struct translator_text text = {
            .text = lines->text[i], .length = strlen(lines->text[i]), .verbatim = true};
        struct sentence_list made;
        struct error err = {0};
        if (sentence_prepare(worker->translator, &text, &options, arena, &made, &err) != 0)
            die(err.message);
        if (made.count == 0) /* blank */
            continue;
        struct sentence *list = made.all;
        list->caller.wants_alignment = decoding->aligns;
        worker->sentences[worker->count++] = list;
    }
}

static void run(struct worker *workers, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            die("cannot start a thread");
    work(&workers[0]);
    for (size_t i = 1; i < count; i++)
        pthread_join(workers[i].thread, NULL);
}

struct decoded decode(const struct translator *translator, const struct lines *lines,
                      const struct decoding *decoding, struct parts *parts) {
    struct worker workers[DECODE_MAX_WORKERS];
    struct arena arena;
    size_t sentences = 0;
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < decoding->workers; i++)
        worker_init(&workers[i], translator, decoding->rows, decoding->sentences);
    deal(workers, lines, decoding, &arena);
    workers[0].parts = parts;
    double began = now();
    run(workers, decoding->workers);
    struct decoded decoded = {.seconds = now() - began};
    for (size_t i = 0; i < decoding->workers; i++) {
        decoded.tokens += workers[i].tokens;
        decoded.waited += workers[i].waited;
        sentences += workers[i].count;
        worker_done(&workers[i]);
    }
    decoded.waited /= (double)sentences;
    arena_done(&arena);
    return decoded;
}
