/* This file hides how a batch run keeps the workers busy. Lines go through a ring: the main thread
 * reads and prepares them, the workers decode, and a writer prints in order. A line's place in the
 * ring is reused once the line is written, so memory is bounded for any length of the input. A
 * document is one request. */
#include "model/base/task.h"
#include "model/base/utf8.h"
#include "server/api/pairs.h"
#include "server/base/clock.h"
#include "server/base/outfile.h"
#include "server/base/print.h"
#include "server/commands.h"
#include "server/decode/admission.h"
#include "server/decode/job.h"
#include "server/decode/links.h"
#include "server/decode/outcome.h"
#include "server/decode/parameters.h"
#include "server/decode/worker.h"
#include "server/documents/review.h"
#include "server/engine/shipped.h"
#include "server/models/catalog.h"
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    EXIT_SKIPPED = 3,
    DIRECTIONS = 2,
    WINDOW_FACTOR = 4,
    MIN_WINDOW = 256,
    PROGRESS_US = 250000,
    READ_BYTES = 1 << 16,
    DOCUMENT_WINDOW = 1024, /* sentences of a document that exist at once */
    ARENA_BLOCK_BYTES = 4096
};

/* A batch run. */
struct offline {
    const struct options *options;
    struct loaded_model
        *models[DIRECTIONS]; /* [directions]; the second model has the opposite direction */
    size_t directions;
    const struct protection *protection; /* NULL: none */
    struct scheduler *scheduler;         /* unbounded */
    FILE *target;                        /* for pairs of lines; NULL: translating */
    struct outfile output;               /* --output; its file NULL: stdout */
    FILE *out;                           /* options of the translation or the alignment */
    size_t skipped;                      /* lines that are longer than the model accepts */
};

/* Returns the variant that --variant selects in this model, or NULL. */
static const char *variant_of(const struct options *options, const struct translator_info *info) {
    const char *asked = options->variant ? options->variant : info->languages ? options->to : NULL;
    const char *variant = asked ? pair_variant(info, asked) : NULL;
    return variant ? variant : pair_variant(info, info->target);
}

static void ask_translation(const struct offline *run, struct request *request) {
    const struct options *options = run->options;
    request->parameters.protection = run->protection;
    request->parameters.replace_unknowns = !options->keep_unknowns;
    request->parameters.verbatim = options->verbatim || options->keep_unknowns;
    request->parameters.search = options->search;
    request->parameters.search.n_best = 1;
    request->parameters.search.max_rows = options->rows;
    parameters_settle(&request->parameters.search, &request->loaded->info, options->rows);
}

static void submit(struct offline *run, struct request *request) {
    enum scheduler_verdict verdict = scheduler_submit(run->scheduler, request);
    assert(verdict == SCHEDULER_ACCEPTED); /* the queue has no bound */
    (void)verdict;
}

/* ---- lines ---- */

/* The request of a line to one model. The second model, if there is one, gets the line's target as
 * the source. */
struct direction {
    struct request request;
    struct text text;     /* source and target are the line's buffers */
    struct markup markup; /* of a line with marks: its segments are the texts of the request */
    bool marked;
    char language[VARIANT_CODE_BYTES]; /* what a marked line is translated into */
    struct batch_line *line;
};

struct batch_line {
    struct direction directions[DIRECTIONS];
    char *source, *target;
    size_t source_length, target_length;
    size_t source_bytes; /* including the line feed, which a NUL replaces */
    struct stream *stream;
    bool skipped;   /* longer than the model accepts: the output has an empty line */
    size_t pending; /* directions that have not ended; guarded by the stream's lock */
};

struct stream {
    struct offline *run;
    const struct links_kind *links; /* for aligning */
    FILE *in, *out;
    struct batch_line *lines; /* [window], the ring */
    size_t window;

    pthread_mutex_t lock; /* guards everything below up to the error, and line.pending */
    pthread_cond_t room;  /* signals that written grew or that the writer failed */
    pthread_cond_t ready; /* signals that the next line to write has ended, or the input */
    size_t read, written; /* counts of lines; the ring holds those in between */
    bool input_ended;
    struct error error; /* the first error, which ends the run */

    /* only the writer uses these until it has ended */
    size_t sentences, target_tokens;
    bool shown; /* progress is shown on a terminal that does not show the output */
    struct headway headway;
    int64_t began_us, shown_us;
};

static void stream_fail(struct stream *stream, const struct error *error) {
    pthread_mutex_lock(&stream->lock);
    error_set(&stream->error, error->code, "%s", error->message);
    pthread_cond_broadcast(&stream->room);
    pthread_mutex_unlock(&stream->lock);
}

/* Called by the worker that decoded the last sentence, or by the main thread if there is nothing to
 * decode. */
static void end_direction(struct request *request) {
    const struct direction *direction = request->owner;
    struct batch_line *line = direction->line;
    struct stream *stream = line->stream;
    pthread_mutex_lock(&stream->lock);
    line->pending--;
    if (line->pending == 0 && line == &stream->lines[stream->written % stream->window])
        pthread_cond_signal(&stream->ready);
    pthread_mutex_unlock(&stream->lock);
}

static void release_line(struct batch_line *line) {
    for (size_t i = 0; i < line->stream->run->directions; i++)
        request_done(&line->directions[i].request);
    free(line->source);
    free(line->target);
}

/* ---- reading lines ---- */

/* Returns 1 for a line, without its line feed, 0 at the end, or -1. */
static int read_text(FILE *file, size_t number, char **text, size_t *length, struct error *err) {
    size_t capacity = 0;
    ssize_t bytes = getline(text, &capacity, file);
    if (bytes < 0)
        return feof(file) ? 0
                          : error_set(err, ERROR_FILE, "cannot read line %zu: %s", number,
                                      strerror(errno));
    if (bytes > 0 && (*text)[bytes - 1] == '\n')
        (*text)[--bytes] = '\0';
    *length = (size_t)bytes;
    return utf8_valid(*text, *length)
               ? 1
               : error_set(err, ERROR_INPUT, "line %zu is not valid UTF-8", number);
}

/* Makes the segments of markup the texts of a request. */
static int take_segments(struct request *request, const struct markup *markup, struct error *err) {
    request->texts = arena_zalloc(&request->arena, markup->count, sizeof *request->texts);
    if (!request->texts)
        return error_memory(err);
    for (size_t i = 0; i < markup->count; i++) {
        const struct markup_segment *segment = &markup->segments[i];
        request->texts[i] = (struct text){.source = segment->text,
                                          .source_length = segment->length,
                                          .placed = markup_is_placed(markup, segment)};
    }
    request->text_count = markup->count;
    request->wanted.aligns = true;
    return 0;
}

/* Translates the texts of a request that are such segments. NULL: memory runs out. */
static struct markup_translation *translate_segments(struct request *request) {
    struct markup_translation *translations =
        arena_zalloc(&request->arena, request->text_count, sizeof *translations);
    for (size_t i = 0; translations && i < request->text_count; i++) {
        if (document_translate(&request->texts[i], &request->arena, &translations[i]) != 0)
            return NULL;
    }
    return translations;
}

/* Asks for a line's translation. Marks in it are kept, as in a text of /translate, unless it shall
 * be translated as it is. */
static int ask_line(struct direction *direction, const struct stream *stream, struct error *err) {
    struct request *request = &direction->request;
    const struct text *text = &direction->text;
    ask_translation(stream->run, request);
    request->parameters.split = stream->run->options->split_sentences;
    if (request->parameters.verbatim ||
        !document_text_may_be_marked(text->source, text->source_length))
        return 0;
    const struct translator_info *info = &request->loaded->info;
    const char *variant = request->parameters.variant;
    struct markup *markup = &direction->markup;
    if (document_read_text((struct bytes){text->source, text->source_length}, false,
                           &request->arena, markup, &direction->marked, err) != 0)
        return -1;
    if (!direction->marked)
        return 0;
    variant_code(variant ? variant : info->target, direction->language);
    markup->language = direction->language;
    markup->from = info->source;
    return take_segments(request, markup, err);
}

/* Prepares the requests of a line that has been read. A line that is too long for the model is
 * wrapped instead of refused, unless it has a target or, in a model that copies, a part that cannot
 * be split. */
static int prepare_line(struct batch_line *line, struct error *err) {
    const struct stream *stream = line->stream;
    const struct options *options = stream->run->options;
    line->pending = stream->run->directions;
    for (size_t i = 0; i < stream->run->directions; i++) {
        struct direction *direction = &line->directions[i];
        struct request *request = &direction->request;
        struct loaded_model *model = stream->run->models[i];
        bool there = i == 0;
        direction->line = line;
        direction->text =
            (struct text){.source = there ? line->source : line->target,
                          .source_length = there ? line->source_length : line->target_length,
                          .target = there ? line->target : line->source,
                          .target_length = there ? line->target_length : line->source_length};
        request->loaded = loaded_model_acquire(model);
        request->parameters.variant = variant_of(options, &model->info);
        request->parameters.language = pair_source_variant(&model->info, options->from);
        request->parameters.number = (uint32_t)stream->read;
        request->texts = &direction->text;
        request->text_count = 1;
        request->target_name = "target";
        request->finish = end_direction;
        request->owner = direction;
        if (options->command == COMMAND_ATTENTION) {
            request->wanted.aligns = request->keeps = true;
            request->parameters.search =
                (struct search_options){.strategy = &search_greedy, .beam_size = 1, .n_best = 1};
        } else if (ask_line(direction, stream, err) != 0) {
            return -1;
        }

        enum request_input input;
        struct error refused = {0};
        int result = job_list(request, &input, &refused);
        if (result != 0 && refused.code == ERROR_LENGTH && !request->parameters.split &&
            !direction->text.target) {
            request->parameters.split = true;
            result = job_list(request, &input, err);
        } else if (result != 0) {
            error_set(err, refused.code, "line %zu: %s", stream->read + 1, refused.message);
        }
        if (result != 0)
            return -1;
    }
    return 0;
}

/* Returns 1 if the line can be decoded, 0 if the input has ended, or -1. If the model does not
 * accept a line, only that line is skipped. */
static int read_line(struct stream *stream, struct batch_line *line, struct error *err) {
    FILE *target = stream->run->target;
    size_t number = stream->read + 1;
    memset(line, 0, sizeof *line);
    line->stream = stream;
    for (size_t i = 0; i < stream->run->directions; i++)
        request_init(&line->directions[i].request);
    int result = read_text(stream->in, number, &line->source, &line->source_length, err);
    line->source_bytes = line->source_length + (result == 1 && !feof(stream->in));
    if (result >= 0 && target) {
        int other = read_text(target, number, &line->target, &line->target_length, err);
        if (other >= 0 && result != other)
            other = error_set(err, ERROR_INPUT, "%s has %s lines than the source",
                              stream->run->options->target, result ? "fewer" : "more");
        result = other;
    }

    struct error refused = {0};
    if (result == 1 && prepare_line(line, &refused) != 0) {
        if (refused.code == ERROR_LENGTH) {
            line->skipped = true;
            line->pending = 1;
            stream->run->skipped++;
            print_line(stderr, "alignd: %s: skipped", refused.message);
        } else {
            result = error_set(err, refused.code, "%s", refused.message);
        }
    }
    if (result != 1)
        release_line(line);
    return result;
}

static void read_all(struct stream *stream) {
    struct error error = {0};
    int result = 1;
    while (result == 1) {
        pthread_mutex_lock(&stream->lock);
        while (stream->read - stream->written == stream->window && stream->error.code == ERROR_NONE)
            pthread_cond_wait(&stream->room, &stream->lock);
        bool failed = stream->error.code != ERROR_NONE;
        struct batch_line *line = &stream->lines[stream->read % stream->window];
        pthread_mutex_unlock(&stream->lock);
        if (failed)
            break;

        result = read_line(stream, line, &error);
        if (result != 1)
            break;
        pthread_mutex_lock(&stream->lock);
        stream->read++;
        pthread_mutex_unlock(&stream->lock);
        size_t directions =
            line->skipped ? 1
                          : stream->run->directions; /* after the last one the line may be freed */
        for (size_t i = 0; i < directions; i++) {
            if (line->directions[i].request.job_count == 0 || line->skipped)
                end_direction(&line->directions[i].request);
            else
                submit(stream->run, &line->directions[i].request);
        }
    }
    if (result < 0)
        stream_fail(stream, &error);
    pthread_mutex_lock(&stream->lock);
    stream->input_ended = true;
    pthread_cond_signal(&stream->ready);
    pthread_mutex_unlock(&stream->lock);
}

/* ---- writing lines ---- */

/* Returns whether nothing can be printed yet: the next line is being decoded, or has not arrived.
 * Requires the lock. */
static bool must_wait(const struct stream *stream) {
    if (stream->written == stream->read)
        return !stream->input_ended;
    return stream->lines[stream->written % stream->window].pending > 0;
}

/* Prints a line's translation. */
static int print_translation(struct direction *direction, FILE *out, struct error *err) {
    struct request *request = &direction->request;
    if (direction->marked) {
        struct markup_translation *translations = translate_segments(request);
        struct bytes source = {direction->text.source, direction->text.source_length};
        size_t length;
        char *text = translations ? document_write_text(source, &direction->markup, translations,
                                                        &request->arena, &length, err)
                                  : NULL;
        if (!text)
            return translations ? -1 : error_memory(err);
        fwrite(text, 1, length, out);
        return 0;
    }
    struct rendered rendered;
    if (outcome_text(&direction->text, &request->arena, &rendered, err) != 0)
        return -1;
    fwrite(rendered.text, 1, rendered.length, out);
    return 0;
}

/* Prints the answer to a line, unless one of its sentences failed, and counts it. A line with a
 * blank side has no links. */
static int write_line(struct stream *stream, struct batch_line *line, struct error *err) {
    struct direction *directions = line->directions;
    struct links_direction linked[DIRECTIONS];
    size_t count = line->skipped ? 0 : stream->run->directions;
    bool links = count > 0 && stream->run->options->command == COMMAND_ATTENTION;
    for (size_t i = 0; i < count; i++) {
        const struct request *request = &directions[i].request;
        if (atomic_load(&request->failure.any))
            return error_set(err, request->failure.first->code, "line %zu: %s", stream->written + 1,
                             request->failure.first->message);
        for (size_t j = 0; j < request->job_count; j++) {
            const struct job *job = &request->jobs[j];
            stream->sentences++;
            stream->target_tokens += job->outcome->steps;
        }
        links &= directions[i].text.count > 0;
        linked[i] =
            (struct links_direction){directions[i].text.sentences, &directions[i].request.arena};
    }
    if (links && links_print(stream->links, linked, count, stream->out, err) != 0)
        return -1;
    if (count > 0 && stream->run->options->command != COMMAND_ATTENTION &&
        print_translation(&directions[0], stream->out, err) != 0)
        return -1;
    putc('\n', stream->out);
    if (ferror(stream->out))
        return error_set(err, ERROR_FILE, "cannot write: %s", strerror(errno));

    stream->headway.done += line->source_bytes;
    stream->headway.lines++;
    return 0;
}

static const double least_seconds = 1; /* an earlier estimate would be a guess */

void headway_say(const struct headway *headway, char line[HEADWAY_BYTES]) {
    memset(line, 0, HEADWAY_BYTES);
    FILE *out = fmemopen(line, HEADWAY_BYTES - 1, "w");
    if (!out)
        return;
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%zu", headway->lines);
    for (int i = 0; i < length; i++) /* 1,234,567 */
        fprintf(out, "%s%c", i > 0 && (length - i) % 3 == 0 ? "," : "", digits[i]);
    fputs(" lines", out);
    if (headway->seconds >= least_seconds)
        fprintf(out, ", %.0f per second", (double)headway->lines / headway->seconds);
    if (headway->of_bytes > 0) {
        double share = (double)headway->done / (double)headway->of_bytes;
        share = share > 1 ? 1 : share; /* the input may have grown meanwhile */
        fprintf(out, ", %.0f%%", 100 * share);
        if (headway->done > 0 && headway->seconds >= least_seconds) { /* 2:05, 2:02:05 */
            unsigned long long left =
                (unsigned long long)(headway->seconds / share * (1 - share) + 0.5);
            unsigned long long hours = left / 3600, minutes = left / 60 % 60;
            if (hours > 0)
                fprintf(out, ", %llu:%02llu:%02llu left", hours, minutes, left % 60);
            else
                fprintf(out, ", %llu:%02llu left", minutes, left % 60);
        }
    }
    fclose(out);
}

/* Pads the text to overwrite the previous content of the terminal's line. */
static void show_progress(struct stream *stream, bool last) {
    int64_t now_us = clock_us();
    if (!stream->shown || (!last && now_us - stream->shown_us < PROGRESS_US))
        return;
    char text[HEADWAY_BYTES];
    stream->shown_us = now_us;
    stream->headway.seconds = (double)(now_us - stream->began_us) / 1e6;
    headway_say(&stream->headway, text);
    print_over(stderr, "%s", text);
    if (last)
        print_line(stderr, "%s", "");
}

/* The writer's thread prints the lines in order, once each has ended. Before it waits it flushes
 * its output, so that the reader of a pipe need not wait for a full buffer. After an error it only
 * releases lines, until the workers have returned all of them. */
static void *write_all(void *argument) {
    struct stream *stream = argument;
    struct error error = {0};
    for (;;) {
        pthread_mutex_lock(&stream->lock);
        if (must_wait(stream)) {
            pthread_mutex_unlock(&stream->lock);
            fflush(stream->out);
            pthread_mutex_lock(&stream->lock);
        }
        while (must_wait(stream))
            pthread_cond_wait(&stream->ready, &stream->lock);
        struct batch_line *line = stream->written < stream->read
                                      ? &stream->lines[stream->written % stream->window]
                                      : NULL;
        pthread_mutex_unlock(&stream->lock);
        if (!line)
            break;

        if (error.code == ERROR_NONE && write_line(stream, line, &error) != 0)
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
    if (error.code != ERROR_NONE)
        stream_fail(stream, &error);
    return NULL;
}

/* ---- all lines ---- */

static int run_lines(struct offline *run, struct error *err) {
    const struct options *options = run->options;
    size_t window = WINDOW_FACTOR * options->workers * options->rows;
    struct stream stream = {.run = run,
                            .window = window < MIN_WINDOW ? MIN_WINDOW : window,
                            .links = options->links ? links_kind_find(options->links) : NULL,
                            .in = stdin,
                            .out = run->out,
                            .shown = isatty(STDERR_FILENO) && !isatty(fileno(run->out))};
    struct stat status;
    off_t at = ftello(stdin);
    if (at >= 0 && fstat(fileno(stdin), &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size > at)
        stream.headway.of_bytes = (uint64_t)(status.st_size - at);
    pthread_mutex_init(&stream.lock, NULL);
    pthread_cond_init(&stream.room, NULL);
    pthread_cond_init(&stream.ready, NULL);
    stream.lines = calloc(stream.window, sizeof *stream.lines);
    stream.began_us = clock_us();

    pthread_t writer;
    int result = stream.lines ? 0 : error_memory(err);
    if (result == 0 && pthread_create(&writer, NULL, write_all, &stream) != 0)
        result = error_set(err, ERROR_MEMORY, "cannot start the writer thread");
    if (result == 0) {
        read_all(&stream);
        pthread_join(writer, NULL);
        if (stream.error.code != ERROR_NONE)
            result = error_set(err, stream.error.code, "%s", stream.error.message);
    }
    if (result == 0 && run->skipped > 0)
        print_line(stderr, "alignd: %zu of %zu lines were skipped", run->skipped, stream.read);
    if (result == 0 && options->stats) {
        double seconds = (double)(clock_us() - stream.began_us) / 1e6;
        print_line(stderr, "sentences=%zu target_tokens=%zu seconds=%.3f tokens_per_second=%.1f",
                   stream.sentences, stream.target_tokens, seconds,
                   (double)stream.target_tokens / seconds);
    }
    free(stream.lines);
    pthread_cond_destroy(&stream.ready);
    pthread_cond_destroy(&stream.room);
    pthread_mutex_destroy(&stream.lock);
    return result;
}

/* ---- a document ---- */

/* A file in memory. */
struct content {
    char *bytes; /* malloc'ed, [length] */
    size_t length, room;
};

struct document_work {
    const struct options *options;
    const char *name;         /* the file's name, for messages */
    struct document document; /* known after the bytes are read */
    struct content file;
    char language[VARIANT_CODE_BYTES];
    struct key_globs *keys; /* NULL: none */
    struct document_notes notes;
    struct markup markup;
    struct request request;
    sem_t done;
};

static int find_format(struct document_work *work, struct error *err) {
    const struct options *options = work->options;
    const struct name_list *keys = &options->keys;
    work->document.format =
        options->format ? document_find(options->format) : document_guess(options->file, NULL);
    if (!work->document.format) {
        char all[DOCUMENT_NAMES_BYTES];
        const char *why = options->format ? NULL : document_refusal(options->file);
        document_names(all);
        if (why)
            return error_set(err, ERROR_INPUT, "%s: %s", work->name, why);
        return options->format
                   ? error_set(err, ERROR_INPUT, "--format must be one of %s, got \"%.60s\"", all,
                               options->format)
                   : error_set(err, ERROR_INPUT,
                               "--format is missing, and the file name has no known extension: it "
                               "must be one of %s",
                               all);
    }
    struct error inner = {0};
    if (document_bilingual(work->document.format, options->bilingual, &work->document.bilingual,
                           &inner) != 0)
        return error_set(err, ERROR_INPUT, "--bilingual %s", inner.message);
    if ((options->columns || options->header) &&
        !document_takes(work->document.format->options, "columns"))
        return error_set(err, ERROR_INPUT, "--columns and --header are not possible in %s files",
                         work->document.format->name);
    if (keys->count == 0)
        return 0;
    if (!document_takes(work->document.format->options, "keys"))
        return error_set(err, ERROR_INPUT, "--keys is not possible in %s files",
                         work->document.format->name);
    work->keys = key_globs_parse((const char *const *)keys->names, keys->count,
                                 &work->request.arena, &inner);
    return work->keys ? 0 : error_set(err, inner.code, "--keys: %s", inner.message);
}

/* Reads a file, or the input if its name is NULL. */
static int read_file(const char *file, struct content *out, struct error *err) {
    const char *name = file ? file : "the input";
    FILE *in = file ? fopen(file, "re") : stdin;
    int result = in ? 0 : error_set(err, ERROR_FILE, "cannot open %s: %s", name, strerror(errno));
    while (result == 0 && !feof(in) && !ferror(in)) {
        if (out->room - out->length < READ_BYTES) {
            size_t room = 2 * out->room + READ_BYTES;
            char *longer = out->length < MARKUP_MAX_BYTES ? realloc(out->bytes, room) : NULL;
            if (!longer) {
                result = out->length < MARKUP_MAX_BYTES
                             ? error_memory(err)
                             : error_set(err, ERROR_LENGTH, "%s is too long", name);
                break;
            }
            out->bytes = longer;
            out->room = room;
        }
        out->length += fread(out->bytes + out->length, 1, READ_BYTES, in);
    }
    if (result == 0 && ferror(in))
        result = error_set(err, ERROR_FILE, "cannot read %s: %s", name, strerror(errno));
    if (in && in != stdin)
        fclose(in);
    return result;
}

static void document_finish(struct request *request) {
    struct document_work *work = request->owner;
    sem_post(&work->done);
}

/* Sets what is known of the document, once its bytes are read. */
static void set_document(struct document_work *work, const char *language) {
    work->document = (struct document){.format = work->document.format,
                                       .source = work->file.bytes,
                                       .length = work->file.length,
                                       .language = language,
                                       .bilingual = work->document.bilingual,
                                       .keys = work->keys,
                                       .columns = work->options->columns,
                                       .header = work->options->header,
                                       .notes = &work->notes};
}

/* Translates the document that has been read: its parts are the texts of one request. */
static int decode_document(struct document_work *work, struct offline *run, struct error *err) {
    struct request *request = &work->request;
    struct loaded_model *model = run->models[0];
    const struct translator_info *info = &model->info;
    const char *variant = variant_of(work->options, info);
    enum request_input input;
    struct error inner = {0};
    variant_code(variant ? variant : info->target, work->language);
    set_document(work, work->language);
    if (document_decode(&work->document, NULL, info->source, &request->arena, &inner) != 0 ||
        document_read(&work->document, &request->arena, &work->markup, &inner) != 0)
        return error_set(err, inner.code, "%s: %s", work->name, inner.message);
    work->markup.language = work->language;
    work->markup.from = info->source;

    request->loaded = loaded_model_acquire(model);
    request->parameters.variant = variant;
    request->parameters.language = pair_source_variant(info, work->options->from);
    ask_translation(run, request);
    request->parameters.split = true;
    request->queued.window = DOCUMENT_WINDOW;
    if (take_segments(request, &work->markup, err) != 0)
        return -1;
    request->finish = document_finish;
    request->owner = work;
    if (job_list(request, &input, err) != 0)
        return -1;
    if (request->job_count == 0)
        return 0;
    submit(run, request);
    while (sem_wait(&work->done) != 0) /* repeat if a signal interrupted it */
        ;
    return atomic_load(&request->failure.any)
               ? error_set(err, request->failure.first->code, "%s", request->failure.first->message)
               : 0;
}

/* Writes the document, and the notes on it to the log. */
static int put_document(const struct document_work *work, const char *text, size_t length,
                        FILE *out, struct error *err) {
    fwrite(text, 1, length, out);
    for (size_t i = 0; i < work->notes.count; i++) {
        const struct document_note *note = &work->notes.all[i];
        if (note->line > 0)
            print_line(stderr, "alignd: %s: line %zu: %s", work->name, note->line, note->message);
        else
            print_line(stderr, "alignd: %s: %s", work->name, note->message);
    }
    return fflush(out) == 0 && !ferror(out)
               ? 0
               : error_set(err, ERROR_FILE, "cannot write: %s", strerror(errno));
}

static int print_document(struct document_work *work, FILE *out, struct error *err) {
    struct arena *arena = &work->request.arena;
    struct markup_translation *translations = translate_segments(&work->request);
    size_t length;
    if (!translations)
        return error_memory(err);
    char *text =
        work->options->review
            ? review_write(&work->markup, translations, work->request.texts, arena, &length, err)
            : document_write(&work->document, &work->markup, translations, arena, &length, err);
    return text ? put_document(work, text, length, out, err) : -1;
}

static int run_document(struct offline *run, struct error *err) {
    struct document_work work = {.options = run->options,
                                 .name = run->options->file ? run->options->file : "the input"};
    sem_init(&work.done, 0, 0);
    request_init(&work.request);
    work.notes.arena = &work.request.arena;
    int result = find_format(&work, err) == 0 &&
                         read_file(run->options->file, &work.file, err) == 0 &&
                         decode_document(&work, run, err) == 0
                     ? print_document(&work, run->out, err)
                     : -1;
    request_done(&work.request);
    free(work.file.bytes);
    sem_destroy(&work.done);
    return result;
}

/* Puts the targets of a review into their document. No model is needed. */
static int merge_review(const struct options *options, FILE *out, struct error *err) {
    struct document_work work = {.options = options,
                                 .name = options->file ? options->file : "the input"};
    struct content review = {0};
    struct arena *arena = &work.request.arena;
    struct error inner = {0};
    request_init(&work.request);
    work.notes.arena = arena;
    int result = find_format(&work, err) == 0 && read_file(options->file, &work.file, err) == 0 &&
                         read_file(options->merge, &review, err) == 0
                     ? 0
                     : -1;
    const struct bytes bytes = {review.bytes, review.length};
    const char *language = result == 0 ? review_language(bytes, arena, &inner) : NULL, *text = NULL;
    struct markup_translation *translations = NULL;
    size_t length = 0;
    if (language) {
        set_document(&work, language);
        if (document_decode(&work.document, NULL, NULL, arena, &inner) == 0 &&
            document_read(&work.document, arena, &work.markup, &inner) == 0)
            translations = arena_zalloc(arena, work.markup.count + 1, sizeof *translations);
        work.markup.language = language;
    }
    if (translations &&
        review_read(bytes, &work.document, &work.markup, arena, translations, &inner) == 0)
        text = document_write(&work.document, &work.markup, translations, arena, &length, &inner);
    if (result == 0 && !text)
        result = error_set(err, inner.code ? inner.code : ERROR_MEMORY, "%s: %s",
                           translations ? options->merge : work.name,
                           inner.code ? inner.message : "out of memory");
    if (result == 0)
        result = put_document(&work, text, length, out, err);
    request_done(&work.request);
    free(work.file.bytes);
    free(review.bytes);
    return result;
}

/* ---- models and workers ---- */

static int check_models(const struct offline *run, struct error *err) {
    const struct options *options = run->options;
    const struct translator_info *first = &run->models[0]->info,
                                 *second = &run->models[run->directions - 1]->info;
    for (size_t i = 0; options->command == COMMAND_ATTENTION && i < run->directions; i++)
        if (!run->models[i]->info.attention)
            return error_set(err, ERROR_INPUT,
                             "model \"%s\" has no attention, which aligning words needs",
                             run->models[i]->info.name);
    if (!first->attention && options->search.coverage_penalty > 0)
        return error_set(err, ERROR_INPUT,
                         "--coverage-penalty must be 0: model \"%s\" has no attention",
                         first->name);
    bool opposite =
        strcmp(first->source, second->target) == 0 && strcmp(first->target, second->source) == 0;
    if (run->directions > 1 && !opposite)
        return error_set(err, ERROR_INPUT,
                         "--model: the second model must translate in the opposite direction, %s "
                         "to %s, not %s to %s",
                         first->target, first->source, second->source, second->target);
    if (options->variant && !pair_variant(first, options->variant))
        return error_set(err, ERROR_INPUT, "--variant: model \"%s\" has no variant \"%.60s\"",
                         first->name, options->variant);
    for (size_t i = 0; i < run->directions; i++) {
        const struct translator_info *info = &run->models[i]->info;
        if (info->languages &&
            (!variant_of(options, info) || !pair_source_variant(info, options->from)))
            return error_set(err, ERROR_INPUT,
                             "--from and --to are missing: model \"%s\" translates between %zu "
                             "languages, such as %s",
                             info->name, info->variant_count, info->variants[0]);
        if (pair_needs_variant(info) && !variant_of(options, info))
            return error_set(
                err, ERROR_INPUT,
                "--variant NAME is missing: model \"%s\" writes %zu languages, such as %s",
                info->name, info->variant_count, info->variants[0]);
    }
    return 0;
}

/* A comparison of a model's files with its manifest, beside loading them. */
struct checking {
    const char *folder;
    struct integrity *integrity;
    struct error error;
};

static void check_files(void *context) {
    struct checking *checking = context;
    struct integrity_found found;
    integrity_check(checking->integrity, checking->folder, INTEGRITY_WHOLE, &found,
                    &checking->error);
}

/* Returns the model, or NULL if it cannot be loaded or one of its files is another than the
 * manifest lists. */
static struct loaded_model *load_model(const char *folder, const struct loading *loading,
                                       struct error *err) {
    struct checking checking = {.folder = folder, .integrity = loading->integrity};
    struct error inner = {0};
    struct task task;
    task_start(&task, check_files, &checking);
    struct loaded_model *model = loaded_model_open(folder, NULL, loading, &inner);
    task_wait(&task);
    if (checking.error.code !=
        ERROR_NONE) { /* this may be the reason that the model cannot be loaded */
        inner = checking.error;
        loaded_model_release(model);
        model = NULL;
    }
    if (!model)
        error_set(err, inner.code, "cannot load %s: %s", folder, inner.message);
    return model;
}

static int run_with_models(struct offline *run, struct metrics *metrics, struct error *err) {
    atomic_size_t taken = 0;
    struct integrity *integrity = integrity_create();
    if (!integrity)
        return error_memory(err);
    const struct loading loading = {.compute = run->options->compute,
                                    .shortlist = run->options->shortlist,
                                    .half_past = run->options->half_past,
                                    .workers = run->options->workers,
                                    .rows = admission_all_rows(run->options->rows),
                                    .state_bytes = worker_state_bytes(),
                                    .metrics = metrics,
                                    .taken = &taken,
                                    .integrity = integrity,
                                    .extent = INTEGRITY_QUICK};
    int result = 0;
    for (size_t i = 0; result == 0 && i < run->directions; i++) {
        run->models[i] = load_model(run->options->models.names[i], &loading, err);
        result = run->models[i] ? 0 : -1;
    }
    if (result == 0)
        result = check_models(run, err);
    if (result == 0) {
        const struct worker_options options = {
            /* step_us is not set: no client waits for a single token, so no step is too long */
            .workers = run->options->workers,
            .rows = run->options->rows,
            .bytes = run->options->decode_memory,
            .scheduler = run->scheduler,
            .metrics = metrics,
        };
        struct workers *workers = workers_start(&options, err);
        bool document = run->options->file || run->options->format;
        result = !workers ? -1 : document ? run_document(run, err) : run_lines(run, err);
        scheduler_close(run->scheduler);
        workers_free(workers);
    }
    for (size_t i = 0; i < run->directions; i++)
        loaded_model_release(run->models[i]);
    integrity_free(integrity);
    return result;
}

/* ---- the run ---- */

static int make_protection(struct offline *run, struct arena *arena, struct error *err) {
    const struct name_list *strings = &run->options->protect,
                           *patterns = &run->options->protect_patterns;
    if (strings->count + patterns->count == 0)
        return 0;
    struct protection *protection = arena_zalloc(arena, 1, sizeof *protection);
    struct glossary_entry *entries = arena_alloc(arena, strings->count, sizeof *entries);
    if (!protection || !entries)
        return error_memory(err);
    for (size_t i = 0; i < strings->count; i++)
        entries[i] = (struct glossary_entry){strings->names[i], strings->names[i]};
    protection->patterns = (const char *const *)patterns->names;
    protection->pattern_count = patterns->count;
    run->protection = protection;
    if (lexicon_init(&protection->strings, entries, strings->count, arena, err) != 0)
        return -1;
    for (size_t i = 0; i < patterns->count; i++) {
        struct error inner = {0};
        struct pattern *pattern = pattern_open(patterns->names[i], &inner);
        if (!pattern)
            return error_set(err, inner.code, "--protect-pattern \"%.60s\": %s", patterns->names[i],
                             inner.message);
        pattern_free(pattern);
    }
    return 0;
}

int command_offline(struct options *options, int *status, struct error *err) {
    static const char *const labels[] = {"none"};
    if (shipped_find_named(options, err) != 0)
        return -1;
    struct offline run = {.options = options, .directions = options->models.count};
    struct metrics *metrics =
        metrics_create(labels, 1, err); /* required by the workers, but never read */
    struct arena arena;
    arena_init(&arena, ARENA_BLOCK_BYTES);
    int result = metrics ? make_protection(&run, &arena, err) : -1;
    if (result == 0 && options->target && !(run.target = fopen(options->target, "re")))
        result = error_set(err, ERROR_FILE, "cannot open %s: %s", options->target, strerror(errno));
    if (result == 0 && options->output)
        result = outfile_open(&run.output, options->output, err);
    run.out = options->output ? run.output.file : stdout;
    if (result == 0 &&
        !(run.scheduler = scheduler_create(&(struct scheduler_limits){SIZE_MAX, SIZE_MAX})))
        result = error_memory(err);
    if (result == 0)
        result = options->merge ? merge_review(options, run.out, err)
                                : run_with_models(&run, metrics, err);
    arena_done(&arena);
    if (run.target)
        fclose(run.target);

    int closed = outfile_close(&run.output, result == 0, err);
    scheduler_free(run.scheduler);
    metrics_free(metrics);
    if (result == 0 && closed == 0 && run.skipped > 0)
        *status = EXIT_SKIPPED;
    return result == 0 ? closed : result;
}
