#include "server/offline.h"
#include "server/decode/parameters.h"
#include "server/decode/worker.h"
#include "server/models/loaded_model.h"
#include "server/models/variant.h"
#include "server/offline_modes.h"
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARENA_BLOCK_BYTES = 4096 };

const char *offline_variant(const struct options *options, const struct translator_info *info) {
    const char *variant = options->variant ? variant_for(info, options->variant) : NULL;
    return variant ? variant : variant_usual(info);
}

void offline_ask(const struct offline *offline, struct request *request) {
    const struct options *options = offline->options;
    request->protection = offline->protection;
    request->replace_unknowns = !options->keep_unknowns;
    request->verbatim = options->verbatim;
    request->search = options->search;
    request->search.n_best = 1;
    request->search.max_rows = options->rows;
    parameters_settle(&request->search, &request->loaded->info, options->rows);
}

void offline_submit(struct offline *offline, struct request *request) {
    enum scheduler_verdict verdict = scheduler_submit(offline->scheduler, request);
    assert(verdict == SCHEDULER_ACCEPTED); /* the queue has no bound */
    (void)verdict;
}

static int run(struct offline *offline, struct error *err) {
    bool document = offline->options->file || offline->options->format;
    return document ? offline_document(offline, err) : offline_lines(offline, err);
}

/* Nobody waits for a single token: no step is too long. */
static int decode(struct offline *offline, struct metrics *metrics, struct error *err) {
    struct worker_options options = {
        .workers = offline->options->workers,
        .rows = offline->options->rows,
        .bytes = offline->options->decode_memory,
        .scheduler = offline->scheduler,
        .metrics = metrics,
    };
    struct workers *workers = workers_start(&options, err);
    int result = workers ? run(offline, err) : -1;
    scheduler_close(offline->scheduler);
    workers_free(workers);
    return result;
}

static int check_variants(const struct offline *offline, struct error *err) {
    const struct options *options = offline->options;
    const struct translator_info *first = &offline->models[0]->info;
    if (options->variant && !variant_for(first, options->variant))
        return error_set(err, ERROR_INPUT, "--variant: model \"%s\" has no variant \"%.60s\"", first->name, options->variant);
    for (size_t i = 0; i < offline->directions; i++) {
        const struct translator_info *info = &offline->models[i]->info;
        if (variant_must_be(info) && !offline_variant(options, info))
            return error_set(err, ERROR_INPUT, "--variant NAME is missing: model \"%s\" writes %zu languages, such as %s",
                             info->name, info->variant_count, info->variants[0]);
    }
    return 0;
}

static int check_models(const struct offline *offline, struct error *err) {
    const struct translator_info *first = &offline->models[0]->info, *second = &offline->models[offline->directions - 1]->info;
    for (size_t i = 0; offline->options->command == COMMAND_ATTENTION && i < offline->directions; i++)
        if (!offline->models[i]->info.attention)
            return error_set(err, ERROR_INPUT, "model \"%s\" has no attention, which aligning words needs",
                             offline->models[i]->info.name);
    if (!first->attention && offline->options->search.coverage_penalty > 0)
        return error_set(err, ERROR_INPUT, "--coverage-penalty must be 0: model \"%s\" has no attention", first->name);
    bool opposite = strcmp(first->source, second->target) == 0 && strcmp(first->target, second->source) == 0;
    if (offline->directions > 1 && !opposite)
        return error_set(err, ERROR_INPUT,
                         "--model: the second model must translate in the opposite direction, %s to %s, not %s to %s",
                         first->target, first->source, second->source, second->target);
    return check_variants(offline, err);
}

static int load_models(struct offline *offline, const struct loading *loading, struct error *err) {
    for (size_t i = 0; i < offline->directions; i++) {
        const char *folder = offline->options->models.names[i];
        struct error inner = {0};
        offline->models[i] = loaded_model_open(folder, NULL, loading, &inner);
        if (!offline->models[i])
            return error_set(err, inner.code, "cannot load %s: %s", folder, inner.message);
    }
    return check_models(offline, err);
}

static int decode_with_models(struct offline *offline, struct metrics *metrics, struct error *err) {
    atomic_size_t taken = 0;
    struct integrity *integrity = integrity_create();
    if (!integrity)
        return error_memory(err);
    const struct loading loading = {.compute = offline->options->compute,
                                    .shortlist = offline->options->shortlist,
                                    .half_past = offline->options->half_past,
                                    .workers = offline->options->workers,
                                    .rows = admission_all_rows(offline->options->rows),
                                    .state_bytes = worker_state_bytes(),
                                    .metrics = metrics,
                                    .taken = &taken,
                                    .integrity = integrity,
                                    .extent = INTEGRITY_WHOLE};
    int result = load_models(offline, &loading, err);
    if (result == 0)
        result = decode(offline, metrics, err);
    for (size_t i = 0; i < offline->directions; i++)
        loaded_model_release(offline->models[i]);
    integrity_free(integrity);
    return result;
}

static int check_not_read(const struct offline *offline, const char *path, struct error *err) {
    struct stat in, out;
    bool same =
        path ? stat(path, &in) == 0 && fstat(fileno(offline->out), &out) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino
             : outfile_same(STDIN_FILENO, fileno(offline->out));
    return same ? error_set(err, ERROR_INPUT, "--output %.100s is also %s: with --checkpoint they must be two files",
                            offline->options->output, path ? "the checkpoint" : "the input")
                : 0;
}

/* With a checkpoint the output is written in place, and what is to stay of it the checkpoint says. Two runs that write the same
 * file would spoil it. */
static int open_to_continue(struct offline *offline, struct error *err) {
    const struct options *options = offline->options;
    if (outfile_open_in_place(&offline->output, options->output, err) != 0)
        return -1;
    offline->out = offline->output.file;
    if (check_not_read(offline, NULL, err) != 0 || check_not_read(offline, options->checkpoint, err) != 0)
        return -1;
    if (flock(fileno(offline->out), LOCK_EX | LOCK_NB) == 0)
        return 0;
    return error_set(err, ERROR_FILE, "cannot lock %s: %s", options->output,
                     errno == EWOULDBLOCK ? "another run writes it" : strerror(errno));
}

static int open_output(struct offline *offline, struct error *err) {
    const struct options *options = offline->options;
    offline->out = stdout;
    if (!options->output)
        return 0;
    if (options->checkpoint)
        return open_to_continue(offline, err);
    if (outfile_open(&offline->output, options->output, err) != 0)
        return -1;
    offline->out = offline->output.file;
    return 0;
}

/* What has been written stays only if the run has come to its end, or is to be continued. */
static int close_output(struct offline *offline, bool ended, struct error *err) {
    int result = outfile_close(&offline->output, ended || offline->options->checkpoint, err);
    return ended ? result : -1;
}

static int check_patterns(const struct name_list *patterns, struct error *err) {
    for (size_t i = 0; i < patterns->count; i++) {
        struct error inner = {0};
        struct pattern *pattern = pattern_open(patterns->names[i], &inner);
        if (!pattern)
            return error_set(err, inner.code, "--protect-pattern \"%.60s\": %s", patterns->names[i], inner.message);
        pattern_free(pattern);
    }
    return 0;
}

static int make_protection(struct offline *offline, struct arena *arena, struct error *err) {
    const struct name_list *strings = &offline->options->protect, *patterns = &offline->options->protect_patterns;
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
    offline->protection = protection;
    return lexicon_init(&protection->strings, entries, strings->count, arena, err) == 0 ? check_patterns(patterns, err) : -1;
}

static int open_offline(struct offline *offline, struct error *err) {
    const struct options *options = offline->options;
    if (options->target && !(offline->target = fopen(options->target, "re")))
        return error_set(err, ERROR_FILE, "cannot open %s: %s", options->target, strerror(errno));
    if (open_output(offline, err) != 0)
        return -1;
    offline->scheduler = scheduler_create(&(struct scheduler_limits){SIZE_MAX, SIZE_MAX});
    return offline->scheduler ? 0 : error_memory(err);
}

int offline_run(const struct options *options, size_t *skipped, struct error *err) {
    static const char *const labels[] = {"none"};
    struct offline offline = {.options = options, .directions = options->models.count};
    struct metrics *metrics = metrics_create(labels, 1, err); /* with nowhere to be read */
    struct arena arena;
    arena_init(&arena, ARENA_BLOCK_BYTES);
    int result = metrics && make_protection(&offline, &arena, err) == 0 ? open_offline(&offline, err) : -1;
    if (result == 0)
        result = decode_with_models(&offline, metrics, err);
    arena_done(&arena);
    *skipped = offline.skipped;
    if (offline.target)
        fclose(offline.target);
    result = close_output(&offline, result == 0, err);
    scheduler_free(offline.scheduler);
    metrics_free(metrics);
    return result;
}
