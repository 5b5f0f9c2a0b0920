/* This file hides the output of the commands for model folders, how they end when interrupted, and
 * the order in which the files of a folder change. */
#include "model/base/file.h"
#include "model/base/utf8.h"
#include "model/head.h"
#include "model/import/import.h"
#include "model/translator.h"
#include "server/base/clock.h"
#include "server/base/print.h"
#include "server/commands.h"
#include "server/engine/shipped.h"
#include "server/get/get.h"
#include "server/models/folders.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum {
    BAR = 24,
    DRAW_US = 100 * 1000,
    LINE_US = 10 * 1000 * 1000,
    RATE_US = 500 * 1000,
    EXIT_ABSENT = 3
};
/* `alignd import` packs models of at least this size, because smaller ones load quickly anyway.
 * Freed blocks of MAPPED_BYTES return to the system, so packing does not need its memory in
 * addition to the import's. */
enum { PACKED_PARAMETERS = 30 * 1000 * 1000, MAPPED_BYTES = 128 * 1024 };

static atomic_bool interrupted; /* lock-free, as a handler needs */

static void interrupt(int number) {
    (void)number;
    interrupted = true;
}

/* Long steps check the flag; blocking calls are interrupted. */
static void watch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = interrupt};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

static int check_written(struct error *err) {
    return fflush(stdout) == 0 && !ferror(stdout)
               ? 0
               : error_set(err, ERROR_FILE, "cannot write: %s", strerror(errno));
}

/* ---- progress ---- */

/* The state of the progress on stderr: a bar on a terminal, otherwise a line every few seconds. */
struct view {
    bool terminal, drawn;
    int64_t began_us, shown_us, rated_us;
    uint64_t first, rated; /* bytes present at the beginning, and when the rate was last measured */
    double rate;           /* bytes a second */
};

static void clear(struct view *view) {
    if (view->drawn)
        print_over(stderr, "%s", "");
    view->drawn = false;
}

static void show_progress(struct view *view, const struct get_event *event) {
    int64_t now_us = clock_us();
    if (view->began_us == 0) {
        view->began_us = view->rated_us = now_us;
        view->shown_us = view->terminal ? 0 : now_us;
        view->first = view->rated = event->bytes;
    }
    if (now_us - view->rated_us >= RATE_US && event->bytes >= view->rated) {
        double rate =
            (double)(event->bytes - view->rated) * 1e6 / (double)(now_us - view->rated_us);
        view->rate = view->rate > 0 ? 0.7 * view->rate + 0.3 * rate : rate;
        view->rated_us = now_us;
        view->rated = event->bytes;
    }
    bool last = event->total > 0 && event->bytes >= event->total;
    if (now_us - view->shown_us < (view->terminal ? DRAW_US : LINE_US) && !(last && view->terminal))
        return;
    view->shown_us = now_us;
    char left[48] = "";
    if (view->rate > 0 && event->total > event->bytes) {
        double seconds = (double)(event->total - event->bytes) / view->rate;
        if (seconds < 90)
            snprintf(left, sizeof left, ", %.0f s left", seconds);
        else if (seconds < 5400)
            snprintf(left, sizeof left, ", %.0f min left", seconds / 60);
        else
            snprintf(left, sizeof left, ", %.1f h left", seconds / 3600);
    }
    double share = event->total > 0 ? (double)event->bytes / (double)event->total : 0;
    if (!view->terminal) {
        print_line(stderr, "%s: %.1f of %.1f MB, %.1f MB/s%s", event->name,
                   (double)event->bytes / 1e6, (double)event->total / 1e6, view->rate / 1e6, left);
        return;
    }
    char bar[BAR + 1];
    int full = (int)(share * BAR);
    for (int i = 0; i < BAR; i++)
        bar[i] = i < full ? '#' : '.';
    bar[BAR] = '\0';
    print_over(stderr, "%s [%s] %3.0f %%  %.1f of %.1f MB, %.1f MB/s%s", event->name, bar,
               share * 100, (double)event->bytes / 1e6, (double)event->total / 1e6,
               view->rate / 1e6, left);
    view->drawn = true;
}

static void show(void *owner, const struct get_event *event) {
    struct view *view = owner;
    if (event->kind == GET_DOWNLOADS) {
        show_progress(view, event);
        return;
    }
    clear(view);
    if (event->kind == GET_WAITS)
        print_line(stderr, "%s: another process is downloading it: waiting", event->name);
    else if (event->kind == GET_BEGINS && event->total > 0)
        print_line(stderr, "%s: %.1f MB in %zu file%s from %s", event->name,
                   (double)event->total / 1e6, event->files, event->files == 1 ? "" : "s",
                   event->text);
    else if (event->kind == GET_BEGINS)
        print_line(stderr, "%s: from %s", event->name, event->text);
    else if (event->kind == GET_RETRIES)
        print_line(stderr, "%s: %s: trying again in %.1f s", event->name, event->text,
                   (double)event->wait_ms / 1000);
    else if (event->kind == GET_IMPORTS)
        print_line(stderr, "%s: downloaded and verified; importing", event->name);
    else
        print_line(stderr, "%s: %s", event->name, event->text);
}

/* ---- alignd get ---- */

static struct get_options get_options_of(const struct options *options, const char *into,
                                         struct view *view) {
    return (struct get_options){.into = into,
                                .mirror = options->mirror,
                                .records = options->records,
                                .offline = options->offline,
                                .preview = options->preview,
                                .update = options->update,
                                .name = options->name,
                                .from = options->from,
                                .to = options->to,
                                .retries = options->retries,
                                .stall_s = options->stall_s,
                                .stop = &interrupted,
                                .tell = show,
                                .owner = view};
}

static int list(const struct options *options, const char *into, int *status, struct error *err) {
    struct view view = {.terminal = false};
    const struct get_options with = get_options_of(options, into, &view);
    enum get_status got = GET_DONE;
    for (size_t i = 0; got == GET_DONE && (i < options->paths.count || i == 0); i++)
        got = get_list(&with, options->paths.count > 0 ? options->paths.names[i] : "", stdout, err);
    *status = get_exit_status(got);
    return got == GET_DONE ? check_written(err) : -1;
}

/* Prints a summary on stdout. old: the model that the new one may replace, and whose name it gets;
 * NULL: none. */
static enum get_status get_one(const struct options *options, const char *into, const char *asked,
                               const struct installed *old, struct error *err) {
    struct view view = {.terminal = isatty(STDERR_FILENO)};
    struct get_options with = get_options_of(options, into, &view);
    struct got got;
    with.name = old ? old->name : options->name;
    with.on_demand = old && old->on_demand;
    if (old && get_is_url(asked)) { /* a URL does not state the languages */
        with.from = with.from ? with.from : old->source;
        with.to = with.to ? with.to : old->target;
    }
    enum get_status status = get_model(&with, asked, &got, err);
    clear(&view);
    if (status == GET_PRESENT && *got.newer)
        print_line(stdout, "%s: is there already, version %s; %s is newer: alignd get --update",
                   got.folder, got.origin.version, got.newer);
    else if (status == GET_PRESENT)
        print_line(stdout, "%s: is there already%s%s", got.folder,
                   *got.origin.version ? ", version " : "", got.origin.version);
    else if (status == GET_DONE)
        print_line(stdout, "%s: %s-%s%s%s, %.1f MB, licence: %s%s%s", got.folder, got.source,
                   got.target, *got.origin.version ? " " : "", got.origin.version,
                   (double)got.unpacked / 1e6,
                   *got.origin.licence ? got.origin.licence : "see its README.md",
                   *got.origin.attribution ? ", by " : "", got.origin.attribution);
    return status;
}

/* Keeps the first failure as the result. Models are downloaded one after the other, and a failure
 * does not stop the others. */
static void keep_first(enum get_status *first, enum get_status status, struct error *err,
                       const struct error *inner, bool last) {
    if (status == GET_DONE || status == GET_PRESENT)
        return;
    if (*first == GET_DONE)
        *first = status;
    if (last || err->code != ERROR_NONE || status == GET_STOPPED)
        error_set(err, inner->code, "%s", inner->message);
    else
        print_line(stderr, "alignd: %s", inner->message);
}

static int update(const struct options *options, const char *into, int *status, struct error *err) {
    struct installed_list found = {NULL, 0};
    enum get_status first = GET_DONE;
    size_t looked = 0;
    int result = installed_list(into, &found, err);
    for (size_t i = 0; result == 0 && i < found.count && first != GET_STOPPED; i++) {
        const struct installed *model = &found.models[i];
        struct error inner = {0};
        if (!*model->origin.asked ||
            (options->paths.count > 0 && !name_list_has(&options->paths, model->name)))
            continue;
        looked++;
        keep_first(&first, get_one(options, into, model->origin.asked, model, &inner), err, &inner,
                   false);
    }
    for (size_t i = 0; result == 0 && first == GET_DONE && i < options->paths.count; i++) {
        bool there = false;
        for (size_t j = 0; j < found.count; j++)
            there |= strcmp(found.models[j].name, options->paths.names[i]) == 0 &&
                     *found.models[j].origin.asked;
        if (!there) {
            error_set(err, ERROR_INPUT, "%.300s has no model \"%.60s\" that was downloaded", into,
                      options->paths.names[i]);
            first = GET_UNKNOWN;
        }
    }
    if (result == 0 && looked == 0 && first == GET_DONE)
        print_line(stdout, "%s: no downloaded models", into);
    installed_list_done(&found);
    *status = result == 0 ? get_exit_status(first) : EXIT_FAILURE;
    if (result == 0 && first != GET_DONE && err->code == ERROR_NONE)
        return error_set(err, ERROR_FILE, "not all models were updated");
    return result == 0 && first == GET_DONE ? check_written(err) : -1;
}

static int get_all(const struct options *options, const char *into, int *status,
                   struct error *err) {
    enum get_status first = GET_DONE;
    for (size_t i = 0; i < options->paths.count && first != GET_STOPPED; i++) {
        struct error inner = {0};
        struct get_choice choice = {.asked = ""};
        struct view view = {.terminal = false};
        const struct get_options with = get_options_of(options, into, &view);
        const char *asked = options->paths.names[i];
        enum get_status got = options->best ? get_best(&with, asked, &choice, &inner) : GET_DONE;
        if (options->best && got == GET_DONE)
            print_line(stdout, "%s", choice.why);
        if (got == GET_DONE)
            got = get_one(options, into, options->best ? choice.asked : asked, NULL, &inner);
        keep_first(&first, got, err, &inner, i + 1 == options->paths.count);
    }
    *status = get_exit_status(first);
    if (first != GET_DONE && err->code == ERROR_NONE)
        return error_set(err, ERROR_FILE, "not all models were downloaded");
    return first == GET_DONE ? check_written(err) : -1;
}

int command_get(struct options *options, int *status, struct error *err) {
    char into[MODEL_PATH_BYTES];
    *status = EXIT_FAILURE;
    if (installed_place(options->into ? options->into : options->directory, true, into, err) != 0)
        return -1;
    if (download_begin(err) != 0)
        return -1;
    watch_signals();
    int result = options->list     ? list(options, into, status, err)
                 : options->update ? update(options, into, status, err)
                                   : get_all(options, into, status, err);
    download_end();
    return result;
}

/* ---- alignd models, alignd remove ---- */

static void print_model(const struct installed *model, const char *from) {
    char pair[80];
    snprintf(pair, sizeof pair, "%s-%s", model->source, model->target);
    print_line(stdout, "%-20s %-12s %-9s %-18s %9.1f MB  %s", model->name, pair,
               *model->origin.from ? model->origin.from : from,
               *model->origin.version ? model->origin.version : "-", (double)model->bytes / 1e6,
               *model->origin.licence ? model->origin.licence : "see README.md");
}

int command_models(struct options *options, int *status, struct error *err) {
    char place[MODEL_PATH_BYTES];
    struct installed_list found = {NULL, 0};
    struct shipped shipped = {.directory = NULL};
    *status = EXIT_FAILURE;
    if (installed_place(options->directory, false, place, err) != 0 ||
        installed_list(place, &found, err) != 0)
        return -1;
    bool others = !options->directory && shipped_find(&shipped, NULL) == 0;
    print_line(stdout, "%-20s %-12s %-9s %-18s %12s  %s", "NAME", "LANGUAGES", "FROM", "VERSION",
               "SIZE", "LICENCE");
    for (size_t i = 0; i < found.count; i++)
        print_model(&found.models[i], "-");
    for (size_t i = 0; others && i < shipped.folders.count; i++) {
        struct installed model;
        if (installed_read(shipped.folders.names[i], &model, NULL) != 0)
            continue;
        print_model(&model, "shipped");
        installed_done(&model);
    }
    print_line(stderr, "%s: %zu model%s%s%s", place, found.count, found.count == 1 ? "" : "s",
               others ? "; shipped: " : "", others ? shipped.directory : "");
    installed_list_done(&found);
    shipped_done(&shipped);
    *status = EXIT_SUCCESS;
    return check_written(err);
}

int command_remove(struct options *options, int *status, struct error *err) {
    char place[MODEL_PATH_BYTES];
    *status = EXIT_FAILURE;
    if (installed_place(options->directory, true, place, err) != 0)
        return -1;
    for (size_t i = 0; i < options->paths.count; i++) {
        char *removed;
        struct error inner = {0};
        if (installed_remove(place, options->paths.names[i], &removed, &inner) != 0) {
            *status = inner.code == ERROR_INPUT ? EXIT_ABSENT : EXIT_FAILURE;
            return error_set(err, inner.code, "%s", inner.message);
        }
        print_line(stdout, "%s/%s: removed", place, removed);
        free(removed);
    }
    *status = EXIT_SUCCESS;
    return check_written(err);
}

/* ---- alignd pack ---- */

static int pack_folder(const struct translator_options *choices, struct integrity *integrity,
                       const char *folder, struct error *err) {
    char sha256[SHA256_DIGITS + 1], path[MODEL_PATH_BYTES];
    struct integrity_found found;
    if (integrity_check(integrity, folder, INTEGRITY_WHOLE, &found, err) != 0 ||
        manifest_digest_weights(folder, sha256, err) != 0)
        return -1;
    struct translator *translator = translator_open(folder, choices, err);
    int result =
        translator ? translator_pack(translator, folder, sha256, path, sizeof path, err) : -1;
    if (result == 0)
        print_line(stdout, "%s: %zu matrices", path, translator_info(translator).matrices);
    translator_free(translator);
    return result;
}

int command_pack(struct options *options, int *status, struct error *err) {
    (void)status;
    if (shipped_find_named(options, err) != 0)
        return -1;
    const struct translator_options choices = {.compute = options->compute,
                                               .shortlist = options->shortlist,
                                               .pack = true,
                                               .stop = &interrupted};
    struct integrity *integrity = integrity_create();
    int result = integrity ? 0 : error_memory(err);
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    watch_signals();
    for (size_t i = 0; result == 0 && i < options->models.count; i++) {
        const char *folder = options->models.names[i];
        struct error inner = {0};
        if (pack_folder(&choices, integrity, folder, &inner) != 0)
            result = error_set(err, inner.code, "cannot pack %s: %s", folder, inner.message);
    }
    integrity_free(integrity);
    return result == 0 ? check_written(err) : -1;
}

/* ---- alignd import ---- */

int command_import(struct options *options, int *status, struct error *err) {
    struct import_made made;
    const struct import_options asked = {.paths = (const char *const *)options->paths.names,
                                         .path_count = options->paths.count,
                                         .into = options->into ? options->into : ".",
                                         .name = options->name,
                                         .from = options->from,
                                         .to = options->to,
                                         .storage = options->storage,
                                         .preparation = options->preparation,
                                         .alignment = options->alignment,
                                         .licence = options->licence,
                                         .max_source_tokens = options->max_source_tokens,
                                         .max_target_ratio = options->max_target_ratio,
                                         .unknowns = options->allow_unknowns,
                                         .no_shortlist = options->no_shortlist,
                                         .shortlist_first = options->shortlist_first,
                                         .shortlist_best = options->shortlist_best,
                                         .stop = &interrupted,
                                         .made = &made};
    char *said;
    bool urls = false; /* some paths are URLs, which are downloaded */
    *status = EXIT_FAILURE;
    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    watch_signals();
    for (size_t i = 0; i < asked.path_count; i++)
        urls |= get_is_url(asked.paths[i]);
    if (urls) {
        struct view view = {.terminal = isatty(STDERR_FILENO)};
        const struct get_options with = get_options_of(options, asked.into, &view);
        if (download_begin(err) != 0)
            return -1;
        enum get_status got = get_import(&with, &asked, &said, err);
        clear(&view);
        download_end();
        if (got != GET_DONE) {
            *status = get_exit_status(got);
            return -1;
        }
    } else if (import_run(&asked, &said, err) != 0) {
        return -1;
    }

    *status = EXIT_SUCCESS;
    print_text(stdout, said);
    free(said);
    if (made.parameters >= PACKED_PARAMETERS && !options->no_pack && !interrupted) {
        const struct translator_options choices = {.pack = true, .stop = &interrupted};
        struct integrity *integrity = integrity_create();
        malloc_trim(0);
        struct error inner = {0};
        if (!integrity || pack_folder(&choices, integrity, made.folder, &inner) !=
                              0) /* the model is complete without it */
            print_line(stdout, "not packed: %s", integrity ? inner.message : "memory is out");
        integrity_free(integrity);
    }
    free(made.folder);
    return check_written(err);
}

/* ---- alignd shortlist: a text of any size is read in a bounded amount of memory ---- */

/* A line longer than PART_BYTES is counted in several parts. */
enum { PART_BYTES = 64 * 1024 };

struct counted_file {
    const char *name;
    int file;
    size_t filled, line; /* line: the number of the line that is being read */
    char bytes[PART_BYTES];
};

/* Returns how many of the bytes can be counted: whole lines; for a line that does not fit, whole
 * words or, without a blank, whole characters. last: no more bytes follow. */
static size_t whole_of(const struct counted_file *text, bool last) {
    const char *line = memrchr(text->bytes, '\n', text->filled), *blank;
    if (last)
        return text->filled;
    if (line)
        return (size_t)(line - text->bytes) + 1;
    if (text->filled < sizeof text->bytes)
        return 0;
    blank = memrchr(text->bytes, ' ', text->filled);
    if (blank && blank > text->bytes)
        return (size_t)(blank - text->bytes);
    size_t end = text->filled - 1; /* the first byte of the last character */
    while (end > text->filled - 4 && ((unsigned char)text->bytes[end] & 0xc0) == 0x80)
        end--;
    return end;
}

/* Counts the text of an open file to its end, line by line. */
static int count_text(struct pieces *pieces, struct counted_file *text, struct error *err) {
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    bool begins = true;
    for (ssize_t got = 1; got > 0;) {
        size_t room = sizeof text->bytes - text->filled;
        do
            got = read(text->file, text->bytes + text->filled, room);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            return error_set(err, ERROR_FILE, "cannot read %.150s: %s", text->name,
                             strerror(errno));
        text->filled += (size_t)got;
        size_t mark =
            begins && text->filled >= 3 && memcmp(text->bytes, byte_order_mark, 3) == 0 ? 3 : 0;
        begins = begins && text->filled < 3;
        text->filled -= mark;
        memmove(text->bytes, text->bytes + mark, text->filled);

        size_t whole = whole_of(text, got == 0);
        for (size_t at = 0; at < whole;) {
            const char *line = text->bytes + at, *end = memchr(line, '\n', whole - at);
            size_t length = end ? (size_t)(end - line) : whole - at;
            struct error inner = {0};
            if (!utf8_valid(line, length))
                return error_set(err, ERROR_INPUT, "%.150s, line %zu: is not UTF-8", text->name,
                                 text->line);
            if (pieces_count(pieces, line, length, &inner) != 0)
                return error_set(err, inner.code, "%.150s, line %zu: %s", text->name, text->line,
                                 inner.message);
            text->line += end != NULL;
            at += length + (end != NULL);
        }
        text->filled -= whole;
        memmove(text->bytes, text->bytes + whole, text->filled);
    }
    return 0;
}

/* Counts the text of a file. path NULL: stdin. */
static int count_file(struct pieces *pieces, const char *path, struct error *err) {
    struct counted_file *text = calloc(1, sizeof *text);
    if (!text)
        return error_memory(err);
    text->name = path ? path : "standard input";
    text->line = 1;
    text->file = path ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    int result = text->file >= 0
                     ? count_text(pieces, text, err)
                     : error_set(err, ERROR_FILE, "cannot open %.150s: %s", path, strerror(errno));
    if (path && text->file >= 0)
        close(text->file);
    free(text);
    return result;
}

/* Locks a folder whose files match its manifest. Other processes that add a list wait until the
 * descriptor is closed; the files are checked under the lock, because another process may have
 * written a file but not yet its entry. Returns -1 on error. */
static int lock_folder(const char *folder, struct error *err) {
    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), result = lock;
    while (lock >= 0 && (result = flock(lock, LOCK_EX)) != 0 && errno == EINTR)
        ;
    if (result < 0) {
        error_set(err, ERROR_FILE, "cannot be %s: %s", lock < 0 ? "opened" : "locked",
                  strerror(errno));
    } else {
        struct integrity *integrity = integrity_create();
        struct integrity_found found;
        result = integrity ? integrity_check(integrity, folder, INTEGRITY_QUICK, &found, err)
                           : error_memory(err);
        integrity_free(integrity);
    }
    if (result >= 0)
        return lock;
    if (lock >= 0)
        close(lock);
    return -1;
}

int command_shortlist(struct options *options, int *status, struct error *err) {
    static const char *const changed[] = {"config.json", "shortlist.safetensors"};
    (void)status;
    if (shipped_find_named(options, err) != 0)
        return -1;
    const char *folder = options->models.names[0];
    const struct pieces_wanted wanted = {options->share, options->count};
    struct error inner = {0};
    int lock = lock_folder(folder, &inner);
    struct pieces *pieces = lock >= 0 ? pieces_open(folder, options->to, &inner) : NULL;
    if (lock >= 0)
        close(lock);
    if (!pieces)
        return error_set(err, inner.code, "%s: %s", folder, inner.message);

    struct pieces_list list = {0};
    const char *code = pieces_language(pieces);
    int result = 0;
    for (size_t i = 0; result == 0 && (i < options->paths.count || i == 0); i++)
        result = count_file(pieces, options->paths.count > 0 ? options->paths.names[i] : NULL, err);
    if (result == 0)
        result = pieces_choose(pieces, &wanted, &list, err);
    if (result == 0) {
        lock = lock_folder(folder, &inner);
        result = lock >= 0 ? import_put_lists(folder, code, list.ids, list.count, &inner) : -1;
        if (result == 0)
            result = manifest_update(folder, changed, sizeof changed / sizeof *changed, &inner);
        if (lock >= 0)
            close(lock);
        free(list.ids);
        if (result != 0)
            error_set(err, inner.code, "%s: %s", folder, inner.message);
    }
    if (result == 0) {
        print_line(stdout,
                   "%s: list.%s has %zu pieces: %zu by their counts and %zu to spell other words "
                   "with; they make up %.4f %% of the "
                   "%" PRIu64 " in the text",
                   folder, code, list.count, list.counted, list.count - list.counted,
                   100 * (double)list.covered / (double)list.tokens, list.tokens);
        if (!pieces_used(pieces))
            print_line(
                stdout,
                "%s: lists are used with --shortlist; defaults.shortlist of config.json is false",
                folder);
        result = check_written(err);
    }
    pieces_free(pieces);
    return result;
}

/* ---- alignd align-head ---- */

/* The lines of a file. */
struct line_file {
    char *text;          /* owned */
    struct bytes *lines; /* [count] without their ends; owned */
    size_t count;
};

static void line_file_done(struct line_file *file) {
    free(file->text);
    free(file->lines);
}

static int read_lines(const char *path, struct line_file *file, struct error *err) {
    enum { MOST_BYTES = 256 * 1024 * 1024, MOST_LINES = 2000000 };
    size_t length, room = 1;
    if (file_read(path, MOST_BYTES, &file->text, &length, err) != 0)
        return -1;
    for (size_t i = 0; i < length; i++)
        room += file->text[i] == '\n';
    if (room - 1 > MOST_LINES)
        return error_set(err, ERROR_INPUT, "%.150s has more than %d lines", path, (int)MOST_LINES);
    if (!(file->lines = calloc(room, sizeof *file->lines)))
        return error_memory(err);
    for (char *at = file->text, *end = at + length, *next; at < end; at = next) {
        char *feed = memchr(at, '\n', (size_t)(end - at));
        next = feed ? feed + 1 : end;
        size_t bytes = (size_t)((feed ? feed : end) - at);
        bytes -= bytes > 0 && at[bytes - 1] == '\r';
        if (!utf8_valid(at, bytes))
            return error_set(err, ERROR_INPUT, "%.150s, line %zu: is not UTF-8", path,
                             file->count + 1);
        file->lines[file->count++] = (struct bytes){at, bytes};
    }
    return 0;
}

/* Says what is being done: on a terminal in one line, otherwise in a line when it is done. */
static void show_head(void *owner, enum head_stage stage, size_t done, size_t of) {
    static const char *const says[] = {[HEAD_READS] = "sentence pairs read",
                                       [HEAD_ALIGNS] = "pairs with links between their words",
                                       [HEAD_DECODES] = "pairs decoded",
                                       [HEAD_FITS] = "pairs learned from"};
    struct view *view = owner;
    if (view->terminal) {
        print_over(stderr, "%s: %zu of %zu", says[stage], done, of);
        view->drawn = true;
    } else if (done == of) {
        print_line(stderr, "%s: %zu", says[stage], of);
    }
}

/* Trains a head for the model of the folder. */
static int train_head(const struct options *options, const char *folder,
                      const struct head_pairs *pairs, struct head *head, struct error *err) {
    const struct translator_options choices = {.compute = options->compute};
    struct view view = {.terminal = isatty(STDERR_FILENO)};
    struct head_options how = {.size = options->head_size,
                               .epochs = options->head_epochs,
                               .most_bytes = options->head_memory,
                               .seed = 1,
                               .report = show_head,
                               .owner = &view};
    struct translator *translator = translator_open(folder, &choices, err);
    if (!translator)
        return -1;
    const struct translator_info info = translator_info(translator);
    how.from =
        info.languages && options->from ? translator_language(&info, options->from) : options->from;
    how.to = info.languages && options->to ? translator_language(&info, options->to) : options->to;
    int result = head_train(translator, pairs, &how, head, err);
    clear(&view);
    translator_free(translator);
    return result;
}

/* Puts the head into the folder, whose files must be those that its manifest lists. */
static int put_head(const char *folder, const struct head *head, struct error *err) {
    static const char *const changed[] = {"config.json", "model.safetensors"};
    int lock = lock_folder(folder, err);
    if (lock < 0)
        return -1;
    const struct import_head made = {head->size,  head->query_in, head->key_in,
                                     head->query, head->bias,     head->key};
    int result = import_put_head(folder, &made, err);
    if (result == 0)
        result = manifest_update(folder, changed, sizeof changed / sizeof *changed, err);
    close(lock);
    return result;
}

int command_align_head(struct options *options, int *status, struct error *err) {
    struct line_file text = {0}, translation = {0};
    struct head head = {0};
    struct error inner = {0};
    struct head_pair *pairs = NULL;
    (void)status;
    if (shipped_find_named(options, err) != 0)
        return -1;
    const char *folder = options->models.names[0];
    int result = read_lines(options->file, &text, err);
    if (result == 0)
        result = read_lines(options->target, &translation, err);
    if (result == 0 && text.count != translation.count)
        result = error_set(err, ERROR_INPUT, "%.150s has %zu lines, and %.150s has %zu",
                           options->file, text.count, options->target, translation.count);
    if (result == 0 && !(pairs = calloc(text.count + 1, sizeof *pairs)))
        result = error_memory(err);
    for (size_t i = 0; result == 0 && i < text.count; i++)
        pairs[i] = (struct head_pair){text.lines[i], translation.lines[i]};
    if (result == 0 &&
        (train_head(options, folder, &(struct head_pairs){pairs, text.count}, &head, &inner) != 0 ||
         put_head(folder, &head, &inner) != 0))
        result = error_set(err, inner.code, "%s: %s", folder, inner.message);
    if (result == 0) {
        print_line(stdout,
                   "%s: an alignment head of %zu parameters, from %zu of %zu pairs; loss %.3f",
                   folder, head.size * (head.query_in + 1 + head.key_in), head.used, text.count,
                   head.loss);
        result = check_written(err);
    }
    head_done(&head);
    free(pairs);
    line_file_done(&text);
    line_file_done(&translation);
    return result;
}
