/* Three parties and a ring of lines: this thread reads and prepares, the workers decode, a writer prints in order. A line's
 * place in the ring is free again once it is written, so memory is bounded however long the input is. */
#include "model/base/utf8.h"
#include "server/base/clock.h"
#include "server/decode/render.h"
#include "server/headway.h"
#include "server/models/loaded_model.h"
#include "server/offline_modes.h"
#include "server/offline_resume.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW_FACTOR = 4, MIN_WINDOW = 256, PROGRESS_US = 250000 };

/* What a model is asked of a line: of the second, if there is one, the line's target as the source. */
struct direction {
    struct request request;
    struct text text; /* source and target: the line's buffers */
    struct line *line;
};

struct line {
    struct direction directions[OFFLINE_DIRECTIONS];
    char *source, *target;
    size_t source_length, target_length;
    size_t source_bytes; /* with the line feed that a NUL stands for */
    struct stream *stream;
    bool skipped;   /* longer than a model takes: an empty line stands in its place */
    size_t pending; /* directions not ended; guarded by the stream's lock */
};

/* What the two modes do differently. */
struct mode {
    /* Sets the options of a line's request. */
    void (*ask)(const struct offline *run, struct request *request);
    /* Prints the line's answer without the line feed. */
    int (*print)(struct line *line, FILE *out, struct error *err);
};

struct stream {
    struct offline *run;
    const struct mode *mode;
    const struct links_kind *links; /* aligning */
    FILE *in, *out;
    struct share share; /* of the input; its end UINT64_MAX: all that comes */
    size_t before;      /* lines of the input that are not read here, but stand before those that are */
    uint64_t passed;    /* bytes of the share that are read; the reader's */
    struct line *lines; /* [window] */
    size_t window;

    pthread_mutex_t lock; /* guards all below, and line.pending */
    pthread_cond_t room;  /* written grew, or the writer failed */
    pthread_cond_t ready; /* the next line to be written ended, or the input did */
    size_t read, written; /* lines; the ring holds those between */
    bool input_ended;
    struct error error; /* the first one ends the run */

    /* the writer's, until it has ended */
    size_t sentences, target_tokens;
    struct resume resume;
    bool shown; /* progress, on a terminal that the output does not go to */
    struct headway headway;
    int64_t began_us, shown_us;
};

static void ask_translation(const struct offline *run, struct request *request) {
    offline_ask(run, request);
    request->split = run->options->split_sentences;
}

static void ask_alignment(const struct offline *run, struct request *request) {
    (void)run;
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
    struct links_direction directions[OFFLINE_DIRECTIONS];
    size_t count = line->stream->run->directions;
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

/* The number, as people count, of a line that is read or written. */
static size_t line_number(const struct stream *stream, size_t index) {
    return stream->before + index + 1;
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
    size_t number = line_number(stream, stream->read);
    if (stream->passed >= stream->share.end - stream->share.begin)
        return 0;
    int source = read_text(stream->in, number, &line->source, &line->source_length, err);
    line->source_bytes = line->source_length + (source == 1 && !feof(stream->in));
    stream->passed += line->source_bytes;
    if (source < 0 || !stream->run->target)
        return source;
    int target = read_text(stream->run->target, number, &line->target, &line->target_length, err);
    if (target >= 0 && source != target)
        return error_set(err, ERROR_INPUT, "%s has %s lines than the source", stream->run->options->target,
                         source ? "fewer" : "more");
    return target;
}

/* A line too long for the model is wrapped rather than refused, unless it has a target or, of a model that copies, a part that
 * cannot be cut. */
static int direction_prepare(struct direction *direction, struct error *err) {
    struct request *request = &direction->request;
    const struct stream *stream = direction->line->stream;
    enum request_input input;
    struct error refused = {0};
    stream->mode->ask(stream->run, request);
    if (request_prepare(request, request->loaded->translator, &input, &refused) == 0)
        return 0;
    if (refused.code == ERROR_LENGTH && !request->split && !direction->text.target) {
        request->split = true;
        return request_prepare(request, request->loaded->translator, &input, err);
    }
    return error_set(err, refused.code, "line %zu: %s", line_number(stream, stream->read), refused.message);
}

static int prepare_line(struct line *line, struct error *err) {
    const struct stream *stream = line->stream;
    line->pending = stream->run->directions;
    for (size_t i = 0; i < stream->run->directions; i++) {
        struct direction *direction = &line->directions[i];
        bool there = i == 0;
        direction->line = line;
        direction->text = (struct text){.source = there ? line->source : line->target,
                                        .source_length = there ? line->source_length : line->target_length,
                                        .target = there ? line->target : line->source,
                                        .target_length = there ? line->target_length : line->source_length};
        direction->request.loaded = loaded_model_acquire(stream->run->models[i]);
        direction->request.variant = offline_variant(stream->run->options, &stream->run->models[i]->info);
        direction->request.number = (uint32_t)(stream->before + stream->read);
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
    line->stream->run->skipped++;
    fprintf(stderr, "alignd: %s: skipped\n", why->message);
}

static void release_line(struct line *line) {
    for (size_t i = 0; i < line->stream->run->directions; i++)
        request_done(&line->directions[i].request);
    free(line->source);
    free(line->target);
}

/* 1: the line is on its way; 0: the input has ended; -1. */
static int read_line(struct stream *stream, struct line *line, struct error *err) {
    memset(line, 0, sizeof *line);
    line->stream = stream;
    for (size_t i = 0; i < stream->run->directions; i++)
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
    if (direction->request.job_count == 0)
        end_direction(direction);
    else
        offline_submit(stream->run, &direction->request); /* the ring is the bound */
}

static void hand_over(struct stream *stream, struct line *line) {
    pthread_mutex_lock(&stream->lock);
    stream->read++;
    pthread_mutex_unlock(&stream->lock);
    size_t directions = stream->run->directions; /* after the last one the line may be gone */
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
            return error_set(err, sentence->error.code, "line %zu: %s", line_number(stream, stream->written),
                             sentence->error.message);
        stream->sentences++;
        stream->target_tokens += sentence->hypotheses[0].length + sentence->hypotheses[0].ended;
    }
    return 0;
}

static int print_line(struct stream *stream, struct line *line, struct error *err) {
    for (size_t i = 0; !line->skipped && i < stream->run->directions; i++)
        if (count(stream, &line->directions[i], err) != 0)
            return -1;
    if (!line->skipped && stream->mode->print(line, stream->out, err) != 0)
        return -1;
    putc('\n', stream->out);
    return ferror(stream->out) ? error_set(err, ERROR_FILE, "cannot write: %s", strerror(errno)) : 0;
}

/* A line is written: counts it, for the next run, too. */
static int note_line(struct stream *stream, struct line *line, struct error *err) {
    stream->headway.done += line->source_bytes;
    stream->headway.lines++;
    if (line->source_bytes > line->source_length)
        line->source[line->source_length] = '\n';
    resume_note(&stream->resume, line->source, line->source_bytes, line->skipped);
    return resume_save(&stream->resume, stream->out, false, err);
}

/* What stood in the line before is covered. */
static void show_progress(struct stream *stream, bool last) {
    int64_t now_us = clock_us();
    if (!stream->shown || (!last && now_us - stream->shown_us < PROGRESS_US))
        return;
    char text[HEADWAY_BYTES];
    stream->shown_us = now_us;
    stream->headway.seconds = (double)(now_us - stream->began_us) / 1e6;
    headway_say(&stream->headway, text);
    fprintf(stderr, "\r%-60s%s", text, last ? "\n" : "");
}

/* After an error lines are only released, until all are back from the workers. */
static void *write_all(void *argument) {
    struct stream *stream = argument;
    struct error error = {0};
    for (struct line *line; (line = next_line(stream)) != NULL;) {
        if (error.code == ERROR_NONE && (print_line(stream, line, &error) != 0 || note_line(stream, line, &error) != 0))
            stream_fail(stream, &error);
        release_line(line);
        pthread_mutex_lock(&stream->lock);
        stream->written++;
        pthread_cond_signal(&stream->room);
        pthread_mutex_unlock(&stream->lock);
        show_progress(stream, false);
    }
    show_progress(stream, true);
    if (error.code == ERROR_NONE && fflush(stream->out) != 0)
        error_set(&error, ERROR_FILE, "cannot write: %s", strerror(errno));
    if (error.code == ERROR_NONE)
        resume_save(&stream->resume, stream->out, true, &error);
    if (error.code != ERROR_NONE)
        stream_fail(stream, &error);
    return NULL;
}

static void print_stats(const struct stream *stream, int64_t duration_us) {
    double seconds = (double)duration_us / 1e6;
    fprintf(stderr, "sentences=%zu target_tokens=%zu seconds=%.3f tokens_per_second=%.1f\n", stream->sentences,
            stream->target_tokens, seconds, (double)stream->target_tokens / seconds);
}

static int run_stream(struct stream *stream, struct error *err) {
    pthread_t writer;
    stream->began_us = clock_us();
    if (pthread_create(&writer, NULL, write_all, stream) != 0)
        return error_set(err, ERROR_MEMORY, "cannot start the writer thread");
    read_all(stream);
    pthread_join(writer, NULL);
    if (stream->error.code != ERROR_NONE)
        return error_set(err, stream->error.code, "%s", stream->error.message);
    if (stream->run->skipped > 0)
        fprintf(stderr, "alignd: %zu of %zu lines were skipped\n", stream->run->skipped,
                stream->before - stream->share.lines + stream->read);
    if (stream->run->options->stats)
        print_stats(stream, clock_us() - stream->began_us);
    return 0;
}

/* What is left of the input. 0: it is no file, and nobody knows, or nothing. */
static uint64_t left_bytes(const struct stream *stream) {
    struct stat status;
    off_t at = ftello(stream->in);
    if (stream->share.end != UINT64_MAX)
        return stream->share.end - (uint64_t)at;
    bool known = at >= 0 && fstat(fileno(stream->in), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > at;
    return known ? (uint64_t)(status.st_size - at) : 0;
}

/* Goes to where the first line to be read begins. */
static int open_share(struct stream *stream, struct error *err) {
    const struct options *options = stream->run->options;
    bool whole = options->shard.count == 0;
    stream->share = (struct share){.end = UINT64_MAX};
    if (!whole || options->checkpoint) {
        if (share_find(stream->in, options->shard.index, whole ? 1 : options->shard.count, &stream->share, err) != 0)
            return -1;
    }
    if (resume_begin(&stream->resume, stream->run, stream->in, &stream->share, err) != 0)
        return -1;
    stream->before = stream->share.lines + stream->resume.at.lines;
    stream->passed = stream->resume.at.input_bytes;
    stream->run->skipped = stream->resume.at.skipped;
    stream->headway.of_bytes = left_bytes(stream);
    return 0;
}

static int open_stream(struct stream *stream, struct error *err) {
    const struct options *options = stream->run->options;
    size_t window = WINDOW_FACTOR * options->workers * options->rows;
    stream->window = window < MIN_WINDOW ? MIN_WINDOW : window;
    stream->mode = options->command == COMMAND_ATTENTION ? &attention_mode : &translate_mode;
    stream->links = options->links ? links_kind_find(options->links) : NULL;
    stream->in = stdin;
    stream->out = stream->run->out;
    stream->shown = isatty(STDERR_FILENO) && !isatty(fileno(stream->out));
    stream->lines = calloc(stream->window, sizeof *stream->lines);
    return stream->lines ? open_share(stream, err) : error_memory(err);
}

int offline_lines(struct offline *run, struct error *err) {
    struct stream stream = {.run = run};
    pthread_mutex_init(&stream.lock, NULL);
    pthread_cond_init(&stream.room, NULL);
    pthread_cond_init(&stream.ready, NULL);
    int result = open_stream(&stream, err);
    if (result == 0)
        result = run_stream(&stream, err);
    free(stream.lines);
    resume_done(&stream.resume);
    pthread_cond_destroy(&stream.ready);
    pthread_cond_destroy(&stream.room);
    pthread_mutex_destroy(&stream.lock);
    return result;
}
