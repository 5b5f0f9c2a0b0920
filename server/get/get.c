/* This module hides in which order a model is downloaded, verified, imported and renamed to its
 * final name. */
#include "model/import/import.h"
#include "model/import/source.h"
#include "server/base/print.h"
#include "server/get/get_parts.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARENA_BYTES = 1 << 16, USUAL_STALL_S = 30 };

static const uint64_t MOST_MODEL_BYTES = UINT64_C(8) << 30;

static const struct {
    const char *name;
    int exit_status;
} statuses[] = {[GET_DONE] = {"done", 0},        [GET_PRESENT] = {"present", 0},
                [GET_FAILED] = {"failed", 1},    [GET_UNKNOWN] = {"unknown", 3},
                [GET_NETWORK] = {"network", 4},  [GET_REFUSED] = {"refused", 5},
                [GET_SPACE] = {"space", 6},      [GET_UNREADABLE] = {"unreadable", 7},
                [GET_STOPPED] = {"stopped", 130}};

int get_exit_status(enum get_status status) {
    return statuses[status].exit_status;
}

const char *get_status_name(enum get_status status) {
    return statuses[status].name;
}

/* A model that is being downloaded and imported. */
struct job {
    const struct get_options *options;
    struct arena arena;
    struct download_manner manner;
    struct plan plan;
    char key[256]; /* identifies the model: jobs with the same key and folder run one after the
                      other */
    char work[MODEL_PATH_BYTES];  /* INTO/.get, or INTO/.import */
    struct room room;             /* the key's room */
    char in[MODEL_PATH_BYTES];    /* ROOM/in: the downloaded files */
    char parts[MODEL_PATH_BYTES]; /* ROOM/parts/NAME: the unpacked files */
    char out[MODEL_PATH_BYTES];   /* ROOM/out: the new model folder */
    uint64_t before;              /* bytes of the files that are complete */
};

static void tell(const struct job *job, struct get_event event) {
    event.name = job->plan.name;
    if (job->options->tell)
        job->options->tell(job->options->owner, &event);
}

static void progress(void *owner, uint64_t bytes, uint64_t total) {
    const struct job *job = owner;
    uint64_t whole = job->plan.bytes ? job->plan.bytes : job->plan.count == 1 ? total : 0;
    tell(job,
         (struct get_event){.kind = GET_DOWNLOADS, .bytes = job->before + bytes, .total = whole});
}

static void retried(void *owner, const char *why, size_t wait_ms) {
    tell(owner, (struct get_event){.kind = GET_RETRIES, .text = why, .wait_ms = wait_ms});
}

static bool is_stopped(const struct job *job) {
    return job->options->stop && *job->options->stop;
}

/* ---- the work folder ---- */

static enum get_status make_work(struct job *job, const char *name, struct error *err) {
    return work_make(job->options->into, name, job->work, err);
}

static enum get_status make_rooms(const struct job *job, struct error *err) {
    const char *const paths[] = {job->room.path, job->in, job->out};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (mkdir(paths[i], 0755) != 0 && errno != EEXIST)
            return work_fail(err, paths[i]);
    return GET_DONE;
}

static void tell_wait(void *owner) {
    tell(owner, (struct get_event){.kind = GET_WAITS});
}

/* Takes the room of the job's key, and deletes what killed processes left of others. */
static enum get_status take_room(struct job *job, struct error *err) {
    const struct room_wait wait = {job->options->stop, tell_wait, job};
    enum get_status status = room_take(&job->room, job->work, job->key, &wait, err);
    if (status != GET_DONE)
        return status;
    work_sweep(job->work);
    if (work_path(job->in, "%s/in", job->room.path) &&
        work_path(job->out, "%s/out", job->room.path))
        return GET_DONE;
    room_release(&job->room);
    return get_fail(err, GET_FAILED, ERROR_INPUT, "%.100s: the path is too long",
                    job->options->into);
}

/* ---- installed models ---- */

static void note_present(struct got *got, const struct installed *model) {
    snprintf(got->folder, sizeof got->folder, "%s", model->folder);
    snprintf(got->source, sizeof got->source, "%s", model->source);
    snprintf(got->target, sizeof got->target, "%s", model->target);
    got->origin = model->origin;
    got->unpacked = model->bytes;
}

/* Returns GET_PRESENT if there is nothing to do, GET_DONE if the model must be downloaded, or
 * GET_FAILED with an error. */
static enum get_status look(const struct job *job, struct got *got, struct error *err) {
    const struct plan *plan = &job->plan;
    char folder[MODEL_PATH_BYTES];
    struct installed_list list = {NULL, 0};
    struct installed model;
    struct error unreadable = {0};
    bool found = false;
    if (!work_path(folder, "%s/%s", job->options->into, plan->name))
        return work_fail(err, job->options->into);

    /* A model from this URL may have any name. */
    if (plan->kind == SOURCE_URL && installed_list(job->options->into, &list, NULL) == 0)
        for (size_t i = 0; i < list.count && !found; i++) {
            found = strcmp(list.models[i].origin.asked, plan->asked) == 0;
            if (found)
                note_present(got, &list.models[i]);
        }
    installed_list_done(&list);
    if (found && !job->options->update)
        return GET_PRESENT;

    if (access(folder, F_OK) != 0)
        return GET_DONE;
    if (installed_read(folder, &model, &unreadable) != 0)
        return get_fail(err, GET_FAILED, ERROR_INPUT,
                        "%.300s is there already, and is not a model: give another --name", folder);
    bool same = strcmp(model.origin.asked, plan->asked) == 0;
    bool version = same && strcmp(model.origin.version, plan->version) == 0 && *plan->version;
    enum get_status status = !same                              ? GET_FAILED
                             : version || !job->options->update ? GET_PRESENT
                                                                : GET_DONE;
    note_present(got, &model);
    if (same && !version && *plan->version && !job->options->update)
        snprintf(got->newer, sizeof got->newer, "%s", plan->version);
    if (!same)
        error_set(err, ERROR_INPUT,
                  "%.300s is there already, from %.60s: give another --name, or remove it", folder,
                  *model.origin.asked ? model.origin.asked : "elsewhere");
    installed_done(&model);
    return status;
}

/* ---- the files ---- */

/* Downloads all files, except those that an earlier try has completed and verified. */
static enum get_status download_all(struct job *job, struct error *err) {
    const struct plan *plan = &job->plan;
    const uint64_t most = job->options->most_bytes ? job->options->most_bytes
                                                   : MOST_MODEL_BYTES; /* all files together */
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_file *file = &plan->files[i];
        char path[MODEL_PATH_BYTES], sha256[65];
        bool archive = plan->kind != SOURCE_MOZILLA && plan->kind != SOURCE_HUGGINGFACE,
             there = false;
        struct stat now;
        enum get_status status = GET_DONE;
        if (!work_path(path, "%s/%s%s", job->in, file->name, file->packed ? ".zst" : ""))
            return work_fail(err, job->in);
        char *slash = strrchr(file->name, '/') ? strrchr(path, '/')
                                               : NULL; /* another file has the same name */
        if (slash) {
            *slash = '\0';
            if (mkdir(path, 0755) != 0 && errno != EEXIST)
                return work_fail(err, path);
            *slash = '/';
        }

        if (stat(path, &now) == 0) {
            if (file->sha256 && (uint64_t)now.st_size == file->bytes) {
                status = download_digest(path, job->options->stop, sha256, err);
                there = status == GET_DONE && strcmp(sha256, file->sha256) == 0;
            }
            if (status == GET_DONE && !there)
                unlink(path);
        }
        const struct download download = {.url = file->url,
                                          .path = path,
                                          .sha256 = file->sha256,
                                          .bytes = file->bytes,
                                          .most = job->before < most ? most - job->before : 0,
                                          .spare = archive ? 2 : 0,
                                          .outside = file->outside,
                                          .token = *plan->token ? plan->token : NULL};
        if (status == GET_DONE && !there)
            status = download_file(&job->manner, &download, err);
        if (status != GET_DONE)
            return status;
        job->before += stat(path, &now) == 0 ? (uint64_t)now.st_size : 0;
    }
    return GET_DONE;
}

/* Unpacks a file, which must have exactly the size and the SHA-256 that the list states. */
static enum get_status unpack(const struct job *job, const struct plan_file *file,
                              struct error *err) {
    char from[MODEL_PATH_BYTES], to[MODEL_PATH_BYTES], sha256[65];
    struct error inner = {0};
    struct stat now;
    if (!work_path(from, "%s/%s%s", job->in, file->name, file->packed ? ".zst" : "") ||
        !work_path(to, "%s/%s", job->parts, file->name))
        return work_fail(err, job->in);
    if (!file->packed)
        return link(from, to) == 0 || rename(from, to) == 0 ? GET_DONE : work_fail(err, to);
    const struct archive_limits limits = {1, file->unpacked_bytes, UINT64_MAX};
    if (source_archive_expand(from, to, &limits, job->options->stop, &inner) != 0) {
        if (is_stopped(job))
            return get_fail_stopped(err);
        error_set(err, inner.code, "%s", inner.message);
        return inner.code == ERROR_FORMAT ? GET_REFUSED : GET_FAILED;
    }
    enum get_status status = download_digest(to, job->options->stop, sha256, err);
    if (status != GET_DONE)
        return status;
    if (stat(to, &now) != 0 || (uint64_t)now.st_size != file->unpacked_bytes ||
        strcmp(sha256, file->unpacked_sha256) != 0)
        return get_fail(err, GET_REFUSED, ERROR_FORMAT,
                        "%.300s: unpacked, it has the SHA-256 %.16s..., and the list says %.16s...",
                        file->url, sha256, file->unpacked_sha256);
    return GET_DONE;
}

/* ---- the import ---- */

/* Removes the path of the work folder from a message. */
static void hide(const char *path, char *message) {
    size_t length = strlen(path);
    for (char *at = message; (at = strstr(at, path)) != NULL;)
        memmove(at, at + length + (at[length] == '/'),
                strlen(at + length + (at[length] == '/')) + 1);
}

/* Sets the error of a failed import, and returns its status. */
static enum get_status fail_import(const struct job *job, struct error *inner, struct error *err) {
    if (is_stopped(job))
        return get_fail_stopped(err);
    hide(job->in, inner->message);
    error_set(err, inner->code, "%s", inner->message);
    return inner->code == ERROR_FORMAT || inner->code == ERROR_INPUT ? GET_UNREADABLE : GET_FAILED;
}

/* Returns the URL of the largest file, or of the first one if no sizes are known. */
static const char *main_url(const struct plan *plan) {
    const struct plan_file *largest = &plan->files[0];
    for (size_t i = 1; i < plan->count; i++)
        if (plan->files[i].bytes > largest->bytes)
            largest = &plan->files[i];
    return largest->url;
}

static const char *or_null(const char *text) {
    return text && *text ? text : NULL;
}

/* Imports the files. Sets *made to the path of the model folder, which the caller frees. */
static enum get_status import(struct job *job, char **made, struct error *err) {
    const struct plan *plan = &job->plan;
    const struct get_options *o = job->options;
    bool archive = plan->kind != SOURCE_MOZILLA && plan->kind != SOURCE_HUGGINGFACE;
    const char *slash = strrchr(plan->detail, '/');
    char path[MODEL_PATH_BYTES], above[MODEL_PATH_BYTES], *said = NULL;
    struct error inner = {0};
    struct import_made result;
    enum get_status status = GET_DONE;
    tell(job, (struct get_event){.kind = GET_IMPORTS});
    if (!work_path(above, "%s/parts", job->room.path) ||
        !work_path(job->parts, "%s/%s", above,
                   plan->kind == SOURCE_HUGGINGFACE && slash ? slash + 1 : "model"))
        return work_fail(err, job->room.path);

    folders_delete_model(above);
    folders_delete_model(job->out);
    if (mkdir(above, 0755) != 0 || mkdir(job->parts, 0755) != 0 || mkdir(job->out, 0755) != 0)
        return work_fail(err, above);
    for (size_t i = 0; !archive && status == GET_DONE && i < plan->count; i++)
        status = unpack(job, &plan->files[i], err);
    if (status != GET_DONE)
        return status;
    if (archive ? !work_path(path, "%s/%s", job->in, plan->files[0].name)
                : !work_path(path, "%s", job->parts))
        return work_fail(err, job->in);

    const struct import_origin origin = {sources_name_of(plan->kind),
                                         plan->asked,
                                         plan->version,
                                         main_url(plan),
                                         plan->licence,
                                         plan->attribution};
    bool named = o->name || plan->kind != SOURCE_URL;
    const struct import_options options = {.paths = (const char *const[]){path},
                                           .path_count = 1,
                                           .into = job->out,
                                           .name = named ? plan->name : NULL,
                                           .from = o->from ? o->from : or_null(plan->source),
                                           .to = o->to ? o->to : or_null(plan->target),
                                           .origin = &origin,
                                           .made = &result,
                                           .stop = o->stop};
    if (import_run(&options, &said, &inner) != 0) {
        hide(above, inner.message);
        return fail_import(job, &inner, err);
    }
    for (char *line = said, *end; (end = strchr(line, '\n')) != NULL && end[1];
         line = end + 1) { /* the last names the folder */
        *end = '\0';
        tell(job, (struct get_event){.kind = GET_SAYS, .text = line});
    }
    free(said);
    *made = result.folder;
    return *made ? GET_DONE : get_fail_memory(err);
}

/* Renames `made`, the folder that the import has made, to its final name. */
static enum get_status publish(const struct job *job, const char *made, struct got *got,
                               struct error *err) {
    char folder[MODEL_PATH_BYTES];
    const char *name = strrchr(made, '/') + 1;
    if (!work_path(folder, "%s/%s", job->options->into, name))
        return work_fail(err, job->out);
    struct installed model;
    if (job->options->make_room) {
        if (installed_read(made, &model, err) != 0)
            return GET_FAILED;
        enum get_status status =
            job->options->make_room(job->options->owner, name, model.bytes, err);
        installed_done(&model);
        if (status != GET_DONE)
            return status;
    }
    if (job->options->on_demand && installed_mark(made, true, err) != 0)
        return GET_FAILED;
    bool there = access(folder, F_OK) == 0;
    int renamed = -1;
    if (there && job->options->update) /* processes that have the old model open keep it; it is
                                          deleted with the work folder */
        renamed = renameat2(AT_FDCWD, made, AT_FDCWD, folder, RENAME_EXCHANGE);
    else if (!there)
        renamed = rename(made, folder);
    else
        errno = EEXIST;
    if (renamed != 0)
        return work_fail(err, folder);
    int directory = open(job->options->into, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0) {
        fsync(directory);
        close(directory);
    }
    if (installed_read(folder, &model, err) != 0)
        return GET_FAILED;
    note_present(got, &model);
    got->newer[0] = '\0';
    installed_done(&model);
    return GET_DONE;
}

/* ---- one model ---- */

/* Gets a model. Requires the room. */
static enum get_status get_locked(struct job *job, struct got *got, struct error *err) {
    const struct plan *plan = &job->plan;
    char text[512], *made = NULL;
    enum get_status status = look(job, got, err);
    if (status == GET_PRESENT)
        folders_delete_model(
            job->room.path); /* a process may have been killed after the model had got its name */
    if (status != GET_DONE)
        return status;
    if (job->options->offline)
        return get_fail(err, GET_NETWORK, ERROR_FILE,
                        "%s is not here, and --offline allows no download", plan->asked);

    uint64_t unpacked = 0, most = job->options->most_bytes;
    for (size_t i = 0; i < plan->count; i++)
        unpacked +=
            plan->files[i].unpacked_bytes ? plan->files[i].unpacked_bytes : plan->files[i].bytes;
    if (most > 0 && (plan->bytes > most || unpacked > most))
        return get_fail(err, GET_SPACE, ERROR_FILE, "%s needs %.0f MB, and %.0f MB are allowed",
                        plan->name, (double)(unpacked > plan->bytes ? unpacked : plan->bytes) / 1e6,
                        (double)most / 1e6);
    if (plan->bytes > 0) /* space for the downloaded files, the unpacked files and the model */
        status = download_check_space(job->work, plan->bytes + 2 * unpacked, err);
    if (status == GET_DONE)
        status = make_rooms(job, err);
    if (status != GET_DONE)
        return status;

    bool detailed =
        *plan->detail && strncmp(plan->detail, plan->version, strlen(plan->version)) != 0;
    snprintf(text, sizeof text, "%s%s%s%s%s%s%s%s%s", sources_name_of(plan->kind),
             *plan->version ? " " : "", plan->version, detailed ? ", " : "",
             detailed ? plan->detail : "", *plan->licence ? "; licence: " : "", plan->licence,
             *plan->attribution ? "; by " : "", plan->attribution);
    tell(job, (struct get_event){
                  .kind = GET_BEGINS, .text = text, .total = plan->bytes, .files = plan->count});
    status = download_all(job, err);
    if (status == GET_DONE)
        status = import(job, &made, err);
    if (status == GET_DONE)
        status = publish(job, made, got, err);
    free(made);
    if (status == GET_DONE || status == GET_REFUSED || status == GET_UNREADABLE ||
        status == GET_UNKNOWN)
        folders_delete_model(job->room.path); /* otherwise the next try continues there */
    return status;
}

/* The caller must call arena_done(&job->arena). */
static void job_init(struct job *job, const struct get_options *options) {
    *job = (struct job){.options = options, .room = {.lock = -1}};
    job->manner =
        (struct download_manner){.retries = options->retries,
                                 .stall_s = options->stall_s ? options->stall_s : USUAL_STALL_S,
                                 .stop = options->stop};
    arena_init(&job->arena, ARENA_BYTES);
}

static void show_downloads(struct job *job) {
    job->manner.progress = progress;
    job->manner.retried = retried;
    job->manner.owner = job;
}

static struct source_options sources_of(const struct job *job) {
    const struct get_options *o = job->options;
    return (struct source_options){o->mirror,  o->records, job->work,
                                   o->offline, o->preview, &job->manner};
}

enum get_status get_model(const struct get_options *options, const char *asked, struct got *got,
                          struct error *err) {
    struct job job;
    struct got found = {.folder = ""};
    job_init(&job, options);
    enum get_status status = make_work(&job, ".get", err);
    if (status == GET_DONE) {
        const struct source_options sources = sources_of(&job);
        status = sources_plan(&sources, asked, &job.arena, &job.plan, err);
    }
    if (status == GET_DONE) {
        const char *name = job.plan.name = options->name ? options->name : job.plan.name;
        if (!*name || *name == '.' || strlen(name) >= 200 ||
            strpbrk(name, "/\n\r")) /* the name must not lead to another folder */
            status = get_fail(err, GET_FAILED, ERROR_INPUT,
                              "\"%.60s\" cannot be the name of a model folder: give another --name",
                              name);
    }
    if (status == GET_DONE) {
        snprintf(job.key, sizeof job.key, "%s", job.plan.name);
        show_downloads(&job);
        status = take_room(&job, err);
    }
    if (status == GET_DONE) {
        status = get_locked(&job, &found, err);
        if (status == GET_PRESENT && !options->on_demand &&
            installed_mark(found.folder, false, err) != 0)
            status = GET_FAILED;
        room_release(&job.room);
    }
    if (status == GET_DONE || status == GET_PRESENT)
        *got = found;
    arena_done(&job.arena);
    return status;
}

/* ---- the best source ---- */

struct candidate {
    enum source_kind kind;
    enum get_status status; /* GET_DONE: the source has the pair */
    double quality;         /* 0: not published */
};

/* Writes why this candidate is chosen, and what is known of the others. */
static void write_why(const char *pair, const struct candidate *best,
                      const struct candidate *candidates, size_t count, struct get_choice *choice) {
    char *why = choice->why;
    const size_t size = sizeof choice->why;
    const char *name = sources_name_of(best->kind);
    int length =
        best->quality > 0
            ? snprintf(why, size, "%s: %s, with the highest COMET on Flores, %.3f", pair, name,
                       best->quality)
            : snprintf(why, size, "%s: %s, since none publishes COMET on Flores", pair, name);
    for (const struct candidate *other = candidates; other < candidates + count; other++) {
        if (other == best || length < 0 || (size_t)length >= size)
            continue;
        char *at = why + length;
        size_t left = size - (size_t)length;
        name = sources_name_of(other->kind);
        if (other->status == GET_DONE && other->quality > 0)
            length += snprintf(at, left, "; %s %.3f", name, other->quality);
        else
            length += snprintf(at, left, "; %s %s", name,
                               other->status == GET_DONE      ? "publishes none"
                               : other->status == GET_UNKNOWN ? "lacks it"
                                                              : "cannot be used");
    }
}

enum get_status get_best(const struct get_options *options, const char *pair,
                         struct get_choice *choice, struct error *err) {
    struct candidate candidates[] = {{.kind = SOURCE_MOZILLA},
                                     {.kind = SOURCE_QUICKMT},
                                     {.kind = SOURCE_OPUS},
                                     {.kind = SOURCE_HPLT},
                                     {.kind = SOURCE_ARGOS}};
    enum { CANDIDATES = sizeof candidates / sizeof *candidates };
    const struct candidate *best = NULL;
    struct error first = {0};
    struct job job;
    enum source_kind kind;
    const char *rest;
    if (sources_parse(pair, &kind, &rest, err) != 0)
        return GET_UNKNOWN;
    if (kind != SOURCE_MOZILLA || rest != pair)
        return get_fail(err, GET_UNKNOWN, ERROR_INPUT,
                        "--best chooses the source of a pair such as en-fr, not of \"%.60s\"",
                        pair);
    job_init(&job, options);
    enum get_status status = make_work(&job, ".get", err);
    const struct source_options sources = sources_of(&job);
    for (size_t i = 0; status == GET_DONE && i < CANDIDATES; i++) {
        struct error inner = {0};
        snprintf(choice->asked, sizeof choice->asked, "%s:%s", sources_name_of(candidates[i].kind),
                 pair);
        candidates[i].status = sources_plan(&sources, choice->asked, &job.arena, &job.plan, &inner);
        if (candidates[i].status == GET_STOPPED)
            status = get_fail_stopped(err);
        if (i == 0)
            first = inner;
    }
    if (status == GET_DONE) {
        double quality[SOURCES];
        sources_quality(&sources, pair, &job.arena, quality);
        for (struct candidate *one = candidates; one < candidates + CANDIDATES; one++) {
            one->quality = quality[one->kind];
            if (one->status == GET_DONE && (!best || one->quality > best->quality))
                best = one;
        }
    }
    if (status == GET_DONE && !best) {
        status = candidates[0].status;
        error_set(err, first.code, "%s", first.message);
    }
    if (best) {
        write_why(pair, best, candidates, CANDIDATES, choice);
        snprintf(choice->asked, sizeof choice->asked, "%s:%s", sources_name_of(best->kind), pair);
    }
    arena_done(&job.arena);
    return status;
}

/* ---- an import from URLs ---- */

bool get_is_url(const char *path) {
    enum source_kind kind;
    const char *rest;
    return sources_parse(path, &kind, &rest, NULL) == 0 && kind == SOURCE_URL;
}

/* Imports from URLs. Requires the room. */
static enum get_status import_locked(struct job *job, const struct import_options *import,
                                     const char **local, char **said, struct error *err) {
    const struct plan *plan = &job->plan;
    enum get_status status = make_rooms(job, err);
    struct error inner = {0};
    if (status != GET_DONE)
        return status;
    tell(job,
         (struct get_event){.kind = GET_BEGINS, .text = plan->files[0].url, .files = plan->count});
    status = download_all(job, err);
    bool kept = status == GET_NETWORK || status == GET_SPACE ||
                status == GET_STOPPED; /* the next try continues there */
    for (size_t i = 0; status == GET_DONE && i < import->path_count; i++) {
        size_t room = strlen(job->in) + strlen(local[i]) + 2;
        char *path = get_is_url(import->paths[i]) ? arena_alloc(&job->arena, room, 1) : NULL;
        if (path) {
            snprintf(path, room, "%s/%s", job->in, local[i]);
            local[i] = path;
        }
    }
    if (status == GET_DONE && arena_failed(&job->arena))
        status = get_fail_memory(err);
    if (status == GET_DONE) {
        const struct import_origin origin = {
            sources_name_of(SOURCE_URL), "", "", main_url(plan), "", ""};
        struct import_options options = *import;
        options.paths = local;
        options.origin = &origin;
        tell(job, (struct get_event){.kind = GET_IMPORTS});
        if (import_run(&options, said, &inner) != 0)
            status = fail_import(job, &inner, err);
    }
    if (!kept || rmdir(job->in) == 0) /* nothing was downloaded */
        folders_delete_model(job->room.path);
    return status;
}

/* Returns the length of the longest beginning of the path that exists. */
static size_t length_there(const char *path) {
    char folder[MODEL_PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    while (*folder && access(folder, F_OK) != 0) {
        char *slash = strrchr(folder, '/');
        *(slash ? slash : folder) = '\0';
    }
    return strlen(folder);
}

/* Removes the empty folders at the end of the path that did not exist before. */
static void unmake(const char *path, size_t length_before) {
    char folder[MODEL_PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    while (strlen(folder) > length_before && (rmdir(folder) == 0 || errno == ENOENT)) {
        char *slash = strrchr(folder, '/');
        if (!slash)
            return;
        *slash = '\0';
    }
}

enum get_status get_import(const struct get_options *options, const struct import_options *import,
                           char **said, struct error *err) {
    /* A path that does not exist, and a model folder that does, are refused before anything is
     * downloaded. */
    char folder[MODEL_PATH_BYTES] = "";
    for (size_t i = 0; i < import->path_count; i++)
        if (!get_is_url(import->paths[i]) && source_refuse(import->paths[i], err) != 0)
            return GET_FAILED;
    bool fits = import->name ? work_path(folder, "%s/%s", import->into, import->name)
                : import->from && import->to
                    ? work_path(folder, "%s/%s-%s", import->into, import->from, import->to)
                    : true;
    if (!fits || !*import->into || strlen(import->into) > MODEL_PATH_BYTES / 2)
        return get_fail(err, GET_FAILED, ERROR_INPUT, "\"%.100s\": the path is empty or too long",
                        import->into);
    if (*folder && access(folder, F_OK) == 0)
        return get_fail(err, GET_FAILED, ERROR_INPUT, "%.400s: already exists", folder);

    /* Plan the download of the URLs, with a key that only an import of the same URLs has. */
    struct job job;
    job_init(&job, options);
    show_downloads(&job);
    size_t before = length_there(options->into);
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    const char **local = arena_alloc(&job.arena, import->path_count,
                                     sizeof *local); /* the paths once the files are there */
    enum get_status status = local ? GET_DONE : get_fail_memory(err);
    for (size_t i = 0; status == GET_DONE && i < import->path_count; i++) {
        const struct plan_file *file;
        const char *path = local[i] = import->paths[i];
        if (!get_is_url(path))
            continue;
        status = sources_plan_url(path, &job.arena, &job.plan, &file, err);
        for (size_t c = 0; status == GET_DONE && c <= strlen(path); c++)
            hash = (hash ^ (unsigned char)path[c]) * UINT64_C(0x100000001b3);
        if (status == GET_DONE)
            local[i] = file->name;
    }
    snprintf(job.key, sizeof job.key, "%016" PRIx64, hash);

    if (status == GET_DONE)
        status = make_work(&job, ".import", err);
    if (status == GET_DONE)
        status = take_room(&job, err);
    if (status == GET_DONE) {
        status = import_locked(&job, import, local, said, err);
        room_release(&job.room);
    }
    if (*job.work)
        rmdir(job.work); /* fails if another import is running, or the next try continues there */
    if (status != GET_DONE)
        unmake(options->into, before);
    arena_done(&job.arena);
    return status;
}

/* ---- lists ---- */

/* True if a pair matches a pattern: its beginning "en-", its end "-en", a pair "en-fr", or "" for
 * all pairs. */
static bool fits(const char *pair, const char *pattern) {
    size_t length = strlen(pair), size = strlen(pattern);
    if (*pattern == '-')
        return length > size && strcasecmp(pair + length - size, pattern) == 0;
    if (strncasecmp(pair, pattern, size) != 0)
        return false;
    return size == 0 || pattern[size - 1] == '-' || pair[size] == '\0' ||
           pair[size] == '-'; /* "en-zh" matches en-zh-Hans, too */
}

enum get_status get_list(const struct get_options *options, const char *what, FILE *out,
                         struct error *err) {
    struct job job;
    struct listed *list = NULL;
    size_t count = 0, shown = 0;
    enum source_kind kind = SOURCE_MOZILLA;
    const char *pattern = what;
    for (int i = 0; i < SOURCES; i++) {
        const char *name = sources_name_of((enum source_kind)i);
        if (strncmp(what, name, strlen(name)) == 0 && what[strlen(name)] == ':') {
            kind = (enum source_kind)i;
            pattern = what + strlen(name) + 1;
        }
    }
    job_init(&job, options);
    enum get_status status = make_work(&job, ".get", err);
    const struct source_options sources = sources_of(&job);
    if (status == GET_DONE)
        status = sources_list(&sources, kind, &job.arena, &list, &count, err);
    for (size_t i = 0; status == GET_DONE && i < count; i++) {
        char size[32] = "-", folder[MODEL_PATH_BYTES];
        if (!fits(list[i].pair, pattern))
            continue;
        if (list[i].bytes)
            snprintf(size, sizeof size, "%.1f MB", (double)list[i].bytes / 1e6);
        bool here = work_path(folder, "%s/%s/config.json", options->into, list[i].pair) &&
                    access(folder, F_OK) == 0;
        print_line(out, "%-12s %-6s %9s  %-20s %s%s", list[i].pair, list[i].version, size,
                   list[i].detail, list[i].licence, here ? "  (installed)" : "");
        shown++;
    }
    if (status == GET_DONE && shown == 0)
        status = get_fail(err, GET_UNKNOWN, ERROR_INPUT,
                          "no pair of languages matches \"%.60s\": en- lists those from English, "
                          "-en those into it",
                          pattern);
    arena_done(&job.arena);
    return status;
}

enum get_status get_pairs(const struct get_options *options, struct get_pair **pairs, size_t *count,
                          struct error *err) {
    struct job job;
    struct records records = {0};
    job_init(&job, options);
    enum get_status status = make_work(&job, ".get", err);
    const struct source_options sources = sources_of(&job);
    if (status == GET_DONE)
        status = sources_records(&sources, &job.arena, &records, err);
    if (status == GET_DONE) {
        *pairs = calloc(records.count + 1, sizeof **pairs);
        *count = *pairs ? records.count : 0;
        if (!*pairs)
            status = get_fail_memory(err);
    }
    for (size_t i = 0; status == GET_DONE && i < records.count; i++) {
        snprintf((*pairs)[i].source, sizeof(*pairs)[i].source, "%s", records.models[i].source);
        snprintf((*pairs)[i].target, sizeof(*pairs)[i].target, "%s", records.models[i].target);
        snprintf((*pairs)[i].version, sizeof(*pairs)[i].version, "%s", records.models[i].version);
        snprintf((*pairs)[i].architecture, sizeof(*pairs)[i].architecture, "%s",
                 records.models[i].architecture);
        (*pairs)[i].licence = sources_mozilla_licence;
        (*pairs)[i].bytes = records.models[i].bytes;
    }
    arena_done(&job.arena);
    return status;
}
