/* Three parties and a ring of lines: this thread reads and prepares, the workers decode, a writer prints in order. A line's
 * place in the ring is free again once it is written, so memory is bounded however long the input is. */
#include "server/offline.h"
#include "model/base/utf8.h"
#include "server/base/clock.h"
#include "server/decode/links.h"
#include "server/decode/loaded_model.h"
#include "server/decode/parameters.h"
#include "server/decode/variant.h"
#include "server/decode/worker.h"
#include "server/offline_document.h"
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW_FACTOR = 4, MIN_WINDOW = 256, PROGRESS_LINES = 100 };

enum { DIRECTIONS = 2 };

/* What a model is asked of a line: of the second, if there is one, the line's target as the source. */
struct direction {
    struct request request;
    struct text text; /* source and target: the line's buffers */
    struct line *line;
};

struct line {
    struct direction directions[DIRECTIONS];
    char *source, *target;
    size_t source_length, target_length;
    struct stream *stream;
    bool skipped;   /* longer than a model takes: an empty line stands in its place */
    size_t pending; /* directions not ended; guarded by the stream's lock */
};

/* What the two modes do differently. */
struct mode {
    /* Sets the options of a line's request. */
    void (*ask)(const struct options *options, struct request *request);
    /* Prints the line's answer without the line feed. */
    int (*print)(struct line *line, FILE *out, struct error *err);
};

struct stream {
    const struct options *options;
    const struct mode *mode;
    struct loaded_model *models[DIRECTIONS]; /* [directions] */
    size_t directions;
    const struct links_kind *links; /* aligning */
    struct scheduler *scheduler;
    FILE *in, *target, *out; /* target: NULL when translating */
    struct line *lines;      /* [window] */
    size_t window;

    pthread_mutex_t lock; /* guards all below, and line.pending */
    pthread_cond_t room;  /* written grew, or the writer failed */
    pthread_cond_t ready; /* the next line to be written ended, or the input did */
    size_t read, written; /* lines; the ring holds those between */
    bool input_ended;
    struct error error; /* the first one ends the run */

    size_t skipped;                  /* lines; the reader's */
    size_t sentences, target_tokens; /* the writer's, until it has ended */
};

static void ask_translation(const struct options *options, struct request *request) {
    request->split = options->split_sentences;
    request->replace_unknowns = !options->keep_unknowns;
    request->search = options->search;
    request->search.n_best = 1;
    request->search.max_rows = options->rows;
    parameters_settle(&request->search, &request->loaded->info, options->rows);
}

static void ask_alignment(const struct options *options, struct request *request) {
    (void)options;
    request->aligns = true;
    request->search = (struct search_options){.strategy = &search_greedy, .beam_size = 1, .n_best = 1};
}

static int print_translation(struct line *line, FILE *out, struct error *err) {
    struct rendered rendered;
    struct direction *only = &line->directions[0];
    if (render_text(&only->text, &only->request.arena, &rendered, err) != 0)
        return -1;
    fwrite(rendered.text, 1, rendered.length, out);
    return 0;
}

/* A blank side gives no links. */
static int print_alignment(struct line *line, FILE *out, struct error *err) {
    struct links_direction directions[DIRECTIONS];
    size_t count = line->stream->directions;
    for (size_t i = 0; i < count; i++) {
        if (line->directions[i].text.count == 0)
            return 0;
        directions[i] = (struct links_direction){&line->directions[i].text.sentences[0], &line->directions[i].request.arena};
    }
    return links_print(line->stream->links, directions, count, out, err);
}

static const struct mode translate_mode = {ask_translation, print_translation};
static const struct mode attention_mode = {ask_alignment, print_alignment};

static void stream_fail(struct stream *stream, const struct error *error) {
    pthread_mutex_lock(&stream->lock);
    error_set(&stream->error, error->code, "%s", error->message);
    pthread_cond_broadcast(&stream->room);
    pthread_mutex_unlock(&stream->lock);
}

static void end_direction(struct direction *direction) {
    struct line *line = direction->line;
    struct stream *stream = line->stream;
    pthread_mutex_lock(&stream->lock);
    line->pending--;
    if (line->pending == 0 && line == &stream->lines[stream->written % stream->window])
        pthread_cond_signal(&stream->ready);
    pthread_mutex_unlock(&stream->lock);
}

/* On the worker that decoded the last sentence. */
static void direction_finish(struct request *request) {
    end_direction(request->owner);
}

/* The place of the next line, or NULL when the run has failed. */
static struct line *claim_line(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    while (stream->read - stream->written == stream->window && stream->error.code == ERROR_NONE)
        pthread_cond_wait(&stream->room, &stream->lock);
    struct line *line = stream->error.code == ERROR_NONE ? &stream->lines[stream->read % stream->window] : NULL;
    pthread_mutex_unlock(&stream->lock);
    return line;
}

/* 1: a line, without its line feed; 0: the end; -1. */
static int read_text(FILE *file, size_t number, char **text, size_t *length, struct error *err) {
    size_t capacity = 0;
    ssize_t bytes = getline(text, &capacity, file);
    if (bytes < 0)
        return feof(file) ? 0 : error_set(err, ERROR_FILE, "cannot read line %zu: %s", number, strerror(errno));
    if (bytes > 0 && (*text)[bytes - 1] == '\n')
        (*text)[--bytes] = '\0';
    *length = (size_t)bytes;
    return utf8_valid(*text, *length) ? 1 : error_set(err, ERROR_INPUT, "line %zu is not valid UTF-8", number);
}

static int read_texts(struct stream *stream, struct line *line, struct error *err) {
    size_t number = stream->read + 1;
    int source = read_text(stream->in, number, &line->source, &line->source_length, err);
    if (source < 0 || !stream->target)
        return source;
    int target = read_text(stream->target, number, &line->target, &line->target_length, err);
    if (target >= 0 && source != target)
        return error_set(err, ERROR_INPUT, "%s has %s lines than the source", stream->options->target, source ? "fewer" : "more");
    return target;
}

/* A line too long for the model is wrapped rather than refused, unless it has a target or, of a model that copies, a part that
 * cannot be cut. */
static int direction_prepare(struct direction *direction, struct error *err) {
    struct request *request = &direction->request;
    const struct stream *stream = direction->line->stream;
    enum request_input input;
    struct error refused = {0};
    stream->mode->ask(stream->options, request);
    if (request_prepare(request, request->loaded->translator, &input, &refused) == 0)
        return 0;
    if (refused.code == ERROR_LENGTH && !request->split && !direction->text.target) {
        request->split = true;
        return request_prepare(request, request->loaded->translator, &input, err);
    }
    return error_set(err, refused.code, "line %zu: %s", stream->read + 1, refused.message);
}

/* What a line's request says to this model. */
static const char *variant_of(const struct options *options, const struct translator_info *info) {
    const char *variant = options->variant ? variant_for(info, options->variant) : NULL;
    return variant ? variant : variant_usual(info);
}

static int prepare_line(struct line *line, struct error *err) {
    const struct stream *stream = line->stream;
    line->pending = stream->directions;
    for (size_t i = 0; i < stream->directions; i++) {
        struct direction *direction = &line->directions[i];
        bool there = i == 0;
        direction->line = line;
        direction->text = (struct text){.source = there ? line->source : line->target,
                                        .source_length = there ? line->source_length : line->target_length,
                                        .target = there ? line->target : line->source,
                                        .target_length = there ? line->target_length : line->source_length};
        direction->request.loaded = loaded_model_acquire(stream->models[i]);
        direction->request.variant = variant_of(stream->options, &stream->models[i]->info);
        direction->request.number = (uint32_t)stream->read;
        direction->request.texts = &direction->text;
        direction->request.text_count = 1;
        direction->request.target_name = "target";
        direction->request.finish = direction_finish;
        direction->request.owner = direction;
        if (direction_prepare(direction, err) != 0)
            return -1;
    }
    return 0;
}

/* A line that a model does not take fails alone. */
static void skip_line(struct line *line, const struct error *why) {
    line->skipped = true;
    line->pending = 1;
    line->stream->skipped++;
    fprintf(stderr, "alignd: %s: skipped\n", why->message);
}

static void release_line(struct line *line) {
    for (size_t i = 0; i < line->stream->directions; i++)
        request_done(&line->directions[i].request);
    free(line->source);
    free(line->target);
}

/* 1: the line is on its way; 0: the input has ended; -1. */
static int read_line(struct stream *stream, struct line *line, struct error *err) {
    memset(line, 0, sizeof *line);
    line->stream = stream;
    for (size_t i = 0; i < stream->directions; i++)
        request_init(&line->directions[i].request);
    int result = read_texts(stream, line, err);
    struct error refused = {0};
    if (result == 1 && prepare_line(line, &refused) != 0) {
        if (refused.code == ERROR_LENGTH)
            skip_line(line, &refused);
        else
            result = error_set(err, refused.code, "%s", refused.message);
    }
    if (result != 1)
        release_line(line);
    return result;
}

static void submit(struct stream *stream, struct direction *direction) {
    if (direction->request.job_count == 0) {
        end_direction(direction);
        return;
    }
    enum scheduler_verdict verdict = scheduler_submit(stream->scheduler, &direction->request);
    assert(verdict == SCHEDULER_ACCEPTED); /* the ring is the bound, the queue has none */
    (void)verdict;
}

static void hand_over(struct stream *stream, struct line *line) {
    pthread_mutex_lock(&stream->lock);
    stream->read++;
    pthread_mutex_unlock(&stream->lock);
    size_t directions = stream->directions; /* after the last one the line may be gone */
    if (line->skipped) {
        end_direction(&line->directions[0]);
        return;
    }
    for (size_t i = 0; i < directions; i++)
        submit(stream, &line->directions[i]);
}

static void read_all(struct stream *stream) {
    struct error error = {0};
    int result = 1;
    struct line *line;
    while (result == 1 && (line = claim_line(stream)) != NULL) {
        result = read_line(stream, line, &error);
        if (result == 1)
            hand_over(stream, line);
    }
    if (result < 0)
        stream_fail(stream, &error);
    pthread_mutex_lock(&stream->lock);
    stream->input_ended = true;
    pthread_cond_signal(&stream->ready);
    pthread_mutex_unlock(&stream->lock);
}

/* Nothing to print yet: the next line is being decoded, or has not come in. The lock is held. */
static bool must_wait(const struct stream *stream) {
    if (stream->written == stream->read)
        return !stream->input_ended;
    return stream->lines[stream->written % stream->window].pending > 0;
}

/* The next line in order once it has ended, or NULL after the last. Before a wait, what was printed is sent on: the reader of a
 * pipe need not wait for a full buffer. */
static struct line *next_line(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    if (must_wait(stream)) {
        pthread_mutex_unlock(&stream->lock);
        fflush(stream->out);
        pthread_mutex_lock(&stream->lock);
    }
    while (must_wait(stream))
        pthread_cond_wait(&stream->ready, &stream->lock);
    struct line *line = stream->written < stream->read ? &stream->lines[stream->written % stream->window] : NULL;
    pthread_mutex_unlock(&stream->lock);
    return line;
}

/* The first failure of a direction's sentences, or what they are counted as. */
static int count(struct stream *stream, const struct direction *direction, struct error *err) {
    for (size_t i = 0; i < direction->request.job_count; i++) {
        const struct sentence *sentence = direction->request.jobs[i].sentence;
        if (sentence->error.code != ERROR_NONE)
            return error_set(err, sentence->error.code, "line %zu: %s", stream->written + 1, sentence->error.message);
        stream->sentences++;
        stream->target_tokens += sentence->hypotheses[0].length + sentence->hypotheses[0].ended;
    }
    return 0;
}

static int print_line(struct stream *stream, struct line *line, struct error *err) {
    for (size_t i = 0; !line->skipped && i < stream->directions; i++)
        if (count(stream, &line->directions[i], err) != 0)
            return -1;
    if (!line->skipped && stream->mode->print(line, stream->out, err) != 0)
        return -1;
    putc('\n', stream->out);
    return ferror(stream->out) ? error_set(err, ERROR_FILE, "cannot write: %s", strerror(errno)) : 0;
}

static void show_progress(const struct stream *stream, bool last) {
    if (last || stream->written % PROGRESS_LINES == 0)
        fprintf(stderr, "\r%zu lines%s", stream->written, last ? "\n" : "");
}

/* After an error lines are only released, until all are back from the workers. */
static void *write_all(void *argument) {
    struct stream *stream = argument;
    struct error error = {0};
    bool terminal = isatty(STDERR_FILENO) != 0;
    for (struct line *line; (line = next_line(stream)) != NULL;) {
        if (error.code == ERROR_NONE && print_line(stream, line, &error) != 0)
            stream_fail(stream, &error);
        release_line(line);
        pthread_mutex_lock(&stream->lock);
        stream->written++;
        pthread_cond_signal(&stream->room);
        pthread_mutex_unlock(&stream->lock);
        if (terminal)
            show_progress(stream, false);
    }
    if (terminal)
        show_progress(stream, true);
    if (error.code == ERROR_NONE && fflush(stream->out) != 0) {
        error_set(&error, ERROR_FILE, "cannot write: %s", strerror(errno));
        stream_fail(stream, &error);
    }
    return NULL;
}

static void print_stats(const struct stream *stream, int64_t duration_us) {
    double seconds = (double)duration_us / 1e6;
    fprintf(stderr, "sentences=%zu target_tokens=%zu seconds=%.3f tokens_per_second=%.1f\n", stream->sentences,
            stream->target_tokens, seconds, (double)stream->target_tokens / seconds);
}

static int run_stream(struct stream *stream, struct error *err) {
    pthread_t writer;
    int64_t began_us = clock_us();
    if (pthread_create(&writer, NULL, write_all, stream) != 0)
        return error_set(err, ERROR_MEMORY, "cannot start the writer thread");
    read_all(stream);
    pthread_join(writer, NULL);
    if (stream->error.code != ERROR_NONE)
        return error_set(err, stream->error.code, "%s", stream->error.message);
    if (stream->skipped > 0)
        fprintf(stderr, "alignd: %zu of %zu lines were skipped\n", stream->skipped, stream->read);
    if (stream->options->stats)
        print_stats(stream, clock_us() - began_us);
    return 0;
}

static int open_stream(struct stream *stream, struct error *err) {
    const struct options *options = stream->options;
    size_t window = WINDOW_FACTOR * options->workers * options->rows;
    stream->window = window < MIN_WINDOW ? MIN_WINDOW : window;
    stream->mode = options->command == COMMAND_ATTENTION ? &attention_mode : &translate_mode;
    stream->links = options->links ? links_kind_find(options->links) : NULL;
    stream->directions = options->models.count;
    stream->in = stdin;
    stream->out = stdout;
    if (options->target && !(stream->target = fopen(options->target, "re")))
        return error_set(err, ERROR_FILE, "cannot open %s: %s", options->target, strerror(errno));
    stream->lines = calloc(stream->window, sizeof *stream->lines);
    stream->scheduler = scheduler_create(&(struct scheduler_limits){SIZE_MAX, SIZE_MAX});
    return stream->lines && stream->scheduler ? 0 : error_memory(err);
}

static void close_stream(struct stream *stream) {
    if (stream->target)
        fclose(stream->target);
    free(stream->lines);
    scheduler_free(stream->scheduler);
    pthread_cond_destroy(&stream->ready);
    pthread_cond_destroy(&stream->room);
    pthread_mutex_destroy(&stream->lock);
}

static int run(struct stream *stream, struct error *err) {
    const struct options *options = stream->options;
    if (!options->file && !options->format)
        return run_stream(stream, err);
    struct loaded_model *model = stream->models[0];
    return offline_document(options, model, variant_of(options, &model->info), stream->scheduler, err);
}

/* Nobody waits for a single token: no step is too long. */
static int decode_stream(struct stream *stream, struct metrics *metrics, struct error *err) {
    struct worker_options options = {
        .workers = stream->options->workers,
        .rows = stream->options->rows,
        .bytes = stream->options->decode_memory,
        .scheduler = stream->scheduler,
        .metrics = metrics,
    };
    struct workers *workers = workers_start(&options, err);
    int result = workers ? run(stream, err) : -1;
    scheduler_close(stream->scheduler);
    workers_free(workers);
    return result;
}

static int check_variants(const struct stream *stream, struct error *err) {
    const struct options *options = stream->options;
    const struct translator_info *first = &stream->models[0]->info;
    if (options->variant && !variant_for(first, options->variant))
        return error_set(err, ERROR_INPUT, "--variant: model \"%s\" has no variant \"%.60s\"", first->name, options->variant);
    for (size_t i = 0; i < stream->directions; i++) {
        const struct translator_info *info = &stream->models[i]->info;
        if (variant_must_be(info) && !variant_of(options, info))
            return error_set(err, ERROR_INPUT, "--variant NAME is missing: model \"%s\" writes %zu languages, such as %s",
                             info->name, info->variant_count, info->variants[0]);
    }
    return 0;
}

static int check_models(const struct stream *stream, struct error *err) {
    const struct translator_info *first = &stream->models[0]->info, *second = &stream->models[stream->directions - 1]->info;
    for (size_t i = 0; stream->mode == &attention_mode && i < stream->directions; i++)
        if (!stream->models[i]->info.attention)
            return error_set(err, ERROR_INPUT, "model \"%s\" has no attention, which aligning words needs",
                             stream->models[i]->info.name);
    if (!first->attention && stream->options->search.coverage_penalty > 0)
        return error_set(err, ERROR_INPUT, "--coverage-penalty must be 0: model \"%s\" has no attention", first->name);
    bool opposite = strcmp(first->source, second->target) == 0 && strcmp(first->target, second->source) == 0;
    if (stream->directions > 1 && !opposite)
        return error_set(err, ERROR_INPUT,
                         "--model: the second model must translate in the opposite direction, %s to %s, not %s to %s",
                         first->target, first->source, second->source, second->target);
    return check_variants(stream, err);
}

static int load_models(struct stream *stream, const struct loading *loading, struct error *err) {
    for (size_t i = 0; i < stream->directions; i++) {
        const char *folder = stream->options->models.names[i];
        struct error inner = {0};
        stream->models[i] = loaded_model_open(folder, NULL, loading, &inner);
        if (!stream->models[i])
            return error_set(err, inner.code, "cannot load %s: %s", folder, inner.message);
    }
    return check_models(stream, err);
}

static int decode_with_models(struct stream *stream, struct metrics *metrics, struct error *err) {
    atomic_size_t taken = 0;
    struct integrity *integrity = integrity_create();
    if (!integrity)
        return error_memory(err);
    const struct loading loading = {.compute = stream->options->compute,
                                    .shortlist = stream->options->shortlist,
                                    .half_past = stream->options->half_past,
                                    .workers = stream->options->workers,
                                    .rows = stream->options->rows,
                                    .metrics = metrics,
                                    .taken = &taken,
                                    .integrity = integrity,
                                    .extent = INTEGRITY_WHOLE};
    int result = load_models(stream, &loading, err);
    if (result == 0)
        result = decode_stream(stream, metrics, err);
    for (size_t i = 0; i < stream->directions; i++)
        loaded_model_release(stream->models[i]);
    integrity_free(integrity);
    return result;
}

int offline_run(const struct options *options, size_t *skipped, struct error *err) {
    static const char *const labels[] = {"none"};
    struct stream stream = {.options = options};
    struct metrics *metrics = metrics_create(labels, 1, err); /* with nowhere to be read */
    pthread_mutex_init(&stream.lock, NULL);
    pthread_cond_init(&stream.room, NULL);
    pthread_cond_init(&stream.ready, NULL);
    int result = metrics ? open_stream(&stream, err) : -1;
    if (result == 0)
        result = decode_with_models(&stream, metrics, err);
    *skipped = stream.skipped;
    close_stream(&stream);
    metrics_free(metrics);
    return result;
}
