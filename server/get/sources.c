/* This module hides the addresses of the sources, and how their lists become the plan of a
 * download. */
#include "model/base/file.h"
#include "server/get/get_parts.h"
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    MOST_LIST_BYTES = 16 << 20,
    MOST_CODE = 24,
    MOST_PACKAGES = 10000,
    NAME_BYTES = 128,
    LIST_ARENA_BYTES = 1 << 16,
    MOST_SOURCE_LANGUAGES = 100
};

static const uint64_t MOST_MODEL_BYTES = UINT64_C(8) << 30; /* limit for each file */

/* The hosts that a mirror replaces. */
static const char settings_host[] = "https://firefox.settings.services.mozilla.com";
static const char attachments_host[] = "https://firefox-settings-attachments.cdn.mozilla.net";
static const char opus_host[] = "https://object.pouta.csc.fi";
static const char raw_host[] = "https://raw.githubusercontent.com";
static const char hub_host[] = "https://huggingface.co";

const char sources_mozilla_licence[] = "MPL-2.0";
static const char opus_licence[] = "CC BY 4.0";
static const char mozilla_attribution[] = "Mozilla and the Bergamot project";
static const char opus_attribution[] = "OPUS-MT, Language Technology at the University of Helsinki";
static const char argos_attribution[] = "Argos Open Technologies and contributors";
static const char hplt_attribution[] = "HPLT, High Performance Language Technologies";

/* ---- names ---- */

static const char *const source_names[SOURCES] = {"mozilla", "opus", "hf", "argos",
                                                  "quickmt", "hplt", "url"};

const char *sources_name_of(enum source_kind kind) {
    return source_names[kind];
}

int sources_parse(const char *asked, enum source_kind *kind, const char **rest, struct error *err) {
    *kind = SOURCE_MOZILLA;
    *rest = asked;
    if (strncasecmp(asked, "http://", 7) == 0 || strncasecmp(asked, "https://", 8) == 0) {
        *kind = SOURCE_URL;
        return 0;
    }
    for (int i = 0; i < SOURCE_URL; i++) {
        size_t length = strlen(source_names[i]);
        if (strncmp(asked, source_names[i], length) == 0 && asked[length] == ':') {
            *kind = (enum source_kind)i;
            *rest = asked + length + 1;
        }
    }
    const char *slash = strchr(*rest, '/'), *dash = strchr(*rest, '-');
    if (*kind == SOURCE_HUGGINGFACE) {
        bool right = slash && slash != *rest && slash[1] && !strchr(slash + 1, '/') &&
                     records_is_made_of(*rest, "-_./") && **rest != '.' && slash[1] != '.' &&
                     strlen(*rest) < NAME_BYTES;
        return right ? 0
                     : error_set(err, ERROR_INPUT, "\"%.60s\" must be hf:ORGANISATION/NAME", asked);
    }
    if (dash && dash != *rest && dash[1] && dash[1] != '-' && strlen(*rest) <= 2 * MOST_CODE &&
        records_is_made_of(*rest, "-"))
        return 0;
    return error_set(err, ERROR_INPUT,
                     "\"%.60s\" must be a pair of languages such as en-fr, opus:en-fr, "
                     "argos:en-fr, quickmt:en-fr or hplt:fr-en, hf:ORGANISATION/NAME, or a URL",
                     asked);
}

__attribute__((format(printf, 2, 3))) static const char *say(struct arena *arena,
                                                             const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1, 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text ? text : ""; /* arena_failed reports the failure */
}

/* Returns the URL of a path on the mirror or, without one, on the host. */
static const char *url_of(const struct source_options *options, const char *host, const char *path,
                          struct arena *arena) {
    const char *base = options->mirror ? options->mirror : host;
    size_t length = strlen(base);
    while (length > 0 && base[length - 1] == '/')
        length--;
    return say(arena, "%.*s%s", (int)length, base, path);
}

/* Returns a URL of a list, with the mirror in place of its host, or NULL if it is not a valid HTTP
 * or HTTPS URL. */
static const char *mirrored(const struct source_options *options, const char *url,
                            struct arena *arena) {
    size_t scheme = strncmp(url, "https://", 8) == 0 ? 8 : strncmp(url, "http://", 7) == 0 ? 7 : 0;
    if (scheme == 0 || strlen(url) > 1024 || strpbrk(url, " \t\r\n\"<>\\"))
        return NULL;
    const char *path = strchr(url + scheme, '/');
    return !options->mirror ? say(arena, "%s", url)
           : path           ? url_of(options, "", path, arena)
                            : NULL;
}

/* ---- lists ---- */

/* A list of a source, or a page that serves as one. */
struct list {
    struct room room; /* in which it was downloaded; lock -1: it was read from where it is kept */
    const char *path; /* path of the list's file in the room */
    const char *kept; /* the path at which the last good one is kept */
    char *text;       /* [length], in the arena */
    size_t length;
};

/* Deletes the download. good: after it has replaced the list that is kept; one that cannot be kept
 * is used all the same. */
static void list_close(struct list *list, bool good) {
    if (list->room.lock < 0)
        return;
    if (good)
        rename(list->path, list->kept);
    folders_delete_model(list->room.path);
    room_release(&list->room);
}

/* Where a list is, and the file of the work folder in which it is kept. */
struct list_place {
    const char *url, *name, *token; /* token: NULL if none is needed */
};

/* Downloads a list or, offline, reads the one that is kept. If this returns GET_DONE, the caller
 * must call list_close. */
static enum get_status list_open(const struct source_options *options, struct list_place place,
                                 struct arena *arena, struct list *list, struct error *err) {
    const char *url = place.url;
    enum get_status status = GET_DONE;
    *list =
        (struct list){.room = {.lock = -1}, .kept = say(arena, "%s/%s", options->work, place.name)};
    list->path = list->kept;
    if (options->offline && access(list->kept, F_OK) != 0)
        return get_fail(err, GET_NETWORK, ERROR_FILE,
                        "%.200s is not here, and --offline allows no download", url);
    if (!options->offline && (status = room_make(&list->room, options->work, err)) == GET_DONE) {
        list->path = say(arena, "%s/list", list->room.path);
        const struct download download = {
            .url = url, .path = list->path, .most = MOST_LIST_BYTES, .token = place.token};
        if (arena_failed(arena))
            status = get_fail_memory(err);
        else
            status = download_file(options->manner, &download, err);
    }
    char *bytes = NULL;
    if (status == GET_DONE &&
        file_read(list->path, MOST_LIST_BYTES, &bytes, &list->length, err) != 0)
        status = GET_FAILED;
    if (status == GET_DONE && !(list->text = arena_copy(arena, bytes, list->length)))
        status = get_fail_memory(err);
    free(bytes);
    if (status != GET_DONE)
        list_close(list, false);
    return status;
}

enum get_status sources_records(const struct source_options *options, struct arena *arena,
                                struct records *records, struct error *err) {
    const char *path = options->preview
                           ? "/v1/buckets/main-preview/collections/translations-models-v2/records"
                           : "/v1/buckets/main/collections/translations-models-v2/records";
    const struct records_view *view = options->preview ? &records_preview : &records_released;
    struct error inner = {0};
    struct list list = {.room = {.lock = -1}};
    char *bytes;
    const char *place =
        options->records ? options->records : url_of(options, settings_host, path, arena);
    if (options->records) {
        if (file_read(place, RECORDS_MOST_BYTES, &bytes, &list.length, err) != 0)
            return GET_FAILED;
        list.text = arena_copy(arena, bytes, list.length);
        free(bytes);
    } else {
        const char *kept = options->preview ? ".mozilla-preview.json" : ".mozilla.json";
        enum get_status status =
            list_open(options, (struct list_place){place, kept, NULL}, arena, &list, err);
        if (status != GET_DONE)
            return status;
    }
    if (!list.text)
        return get_fail_memory(err);
    bool read = records_read(list.text, list.length, view, arena, records, &inner) == 0;
    list_close(&list, read && records->count > 0);
    if (read)
        return GET_DONE;
    error_set(err, inner.code, "%.200s: %s", place, inner.message);
    return inner.code == ERROR_MEMORY ? GET_FAILED : GET_REFUSED;
}

static struct plan_file *add_file(struct plan *plan, const char *url, const char *name) {
    assert(plan->count < PLAN_FILES);
    struct plan_file *file = &plan->files[plan->count++];
    *file = (struct plan_file){.url = url, .name = name};
    return file;
}

static uint64_t count_of(const json_t *object, const char *key) {
    json_int_t count = json_integer_value(json_object_get(object, key));
    return count > 0 ? (uint64_t)count : 0;
}

static enum get_status no_such(struct error *err, const char *what, const char *asked,
                               const char *more) {
    return get_fail(err, GET_UNKNOWN, ERROR_INPUT, "%s has no model \"%.60s\"%s", what, asked,
                    more);
}

static enum get_status unusable(struct error *err, const char *what, const char *why) {
    return get_fail(err, GET_REFUSED, ERROR_FORMAT, "%.200s: %s", what, why);
}

/* ---- Mozilla ---- */

static enum get_status plan_mozilla(const struct source_options *options, const char *pair,
                                    struct arena *arena, struct plan *plan, struct error *err) {
    struct records records;
    enum get_status status = sources_records(options, arena, &records, err);
    if (status != GET_DONE)
        return status;
    const struct record_model *model = records_find(&records, pair);
    if (!model && records.left_out > 0)
        return no_such(err, "Mozilla's list", pair,
                       say(arena, ": %zu of its records cannot be used, the first: %s",
                           records.left_out, records.reason));
    if (!model)
        return no_such(
            err, "Mozilla's list", pair,
            ": alignd get --list shows what it has; opus:PAIR and argos:PAIR may have it");
    plan->source = model->source;
    plan->target = model->target;
    plan->name = say(arena, "%s-%s", model->source, model->target);
    plan->asked = say(arena, "mozilla:%s", plan->name);
    plan->version = model->version;
    plan->detail = model->architecture;
    plan->licence = sources_mozilla_licence;
    plan->attribution = mozilla_attribution;
    plan->bytes = model->bytes;
    for (int i = 0; i < RECORD_KINDS; i++) {
        const struct record_file *from = &model->files[i];
        if (!from->name)
            continue;
        struct plan_file *file = add_file(
            plan, url_of(options, attachments_host, say(arena, "/%s", from->location), arena),
            from->name);
        file->sha256 = from->sha256;
        file->bytes = from->bytes;
        file->unpacked_sha256 = from->unpacked_sha256;
        file->unpacked_bytes = from->unpacked_bytes;
        file->packed = from->packed;
    }
    return GET_DONE;
}

/* ---- OPUS-MT ---- */

/* Returns the newest package in the card that uses SentencePiece, or NULL. Sets *bpe if a package
 * uses BPE. */
static const char *opus_newest(const char *card, struct arena *arena, bool *bpe) {
    const char *section = NULL, *found = NULL;
    size_t section_length = 0, found_length = 0;
    for (const char *line = card; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        size_t end = strcspn(line, "\n");
        if (line[0] == '#' && line[1] == ' ') {
            const char *heading = line + 2 + strspn(line + 2, " ");
            size_t size = strcspn(heading, " \t\r\n");
            if (size > 4 && size < NAME_BYTES && memcmp(heading + size - 4, ".zip", 4) == 0 &&
                *heading != '.') {
                section = heading;
                section_length = size;
            }
        }
        const char *says = memmem(line, end, "pre-processing:", 15);
        if (!section || !says)
            continue;
        bool pieces = memmem(says, end - (size_t)(says - line), "SentencePiece", 13) != NULL;
        *bpe |= !pieces;
        size_t shared = section_length < found_length ? section_length : found_length;
        int order = found ? memcmp(section, found, shared) : 1; /* opus-YYYY-MM-DD.zip: by date */
        if (pieces && (order > 0 || (order == 0 && section_length > found_length))) {
            found = section;
            found_length = section_length;
        }
        section = NULL;
    }
    return found ? arena_copy(arena, found, found_length) : NULL;
}

/* Returns the newest zip in a listing of the container, [{"name": "en-fr/opus-DATE.zip", "bytes":
 * N}, ...], or NULL. */
static const char *opus_listed(const char *text, size_t length, const char *pair,
                               struct arena *arena, uint64_t *bytes) {
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    const char *newest = NULL;
    size_t prefix = strlen(pair) + 1;
    for (size_t i = 0; i < json_array_size(root) && i < MOST_PACKAGES; i++) {
        const json_t *item = json_array_get(root, i);
        const char *name = json_string_value(json_object_get(item, "name"));
        size_t size = name ? strlen(name) : 0;
        if (size <= prefix + 4 || size >= NAME_BYTES || strncmp(name, pair, prefix - 1) != 0 ||
            name[prefix - 1] != '/' || strcmp(name + size - 4, ".zip") != 0 ||
            name[prefix] == '.' || !records_is_made_of(name + prefix, "-_.+"))
            continue;
        if (newest && strcmp(name + prefix, newest) <= 0)
            continue;
        newest = arena_copy(arena, name + prefix, size - prefix);
        *bytes = count_of(item, "bytes");
        if (!newest)
            break;
    }
    json_decref(root);
    return newest;
}

static enum get_status plan_opus(const struct source_options *options, const char *pair,
                                 struct arena *arena, struct plan *plan, struct error *err) {
    struct error inner = {0};
    const char *path = say(arena, "/Helsinki-NLP/OPUS-MT-train/master/models/%s/README.md", pair);
    const char *kept = say(arena, ".opus-%s", pair);
    struct list card, listing;
    uint64_t bytes = 0;
    bool bpe = false;
    enum get_status status = list_open(options,
                                       (struct list_place){url_of(options, raw_host, path, arena),
                                                           say(arena, "%s.md", kept), NULL},
                                       arena, &card, &inner);
    if (status != GET_DONE && status != GET_UNKNOWN) {
        error_set(err, inner.code, "%s", inner.message);
        return status;
    }
    const char *package = status == GET_DONE ? opus_newest(card.text, arena, &bpe) : NULL;
    if (status == GET_DONE)
        list_close(&card, package || bpe);
    if (!package && !bpe) { /* without a card, look at the files in the container */
        path = say(arena, "/OPUS-MT-models?prefix=%s/&format=json", pair);
        status = list_open(options,
                           (struct list_place){url_of(options, opus_host, path, arena),
                                               say(arena, "%s.json", kept), NULL},
                           arena, &listing, err);
        if (status != GET_DONE && status != GET_UNKNOWN)
            return status;
        package = status == GET_DONE
                      ? opus_listed(listing.text, listing.length, pair, arena, &bytes)
                      : NULL;
        if (status == GET_DONE)
            list_close(&listing, package);
    }
    if (!package && arena_failed(arena))
        return get_fail_memory(err);
    if (!package)
        return no_such(err, "OPUS-MT", pair,
                       bpe ? " that SentencePiece cuts: those with BPE files cannot be imported"
                           : "");
    if (!records_is_made_of(package, "-_.+"))
        return unusable(err, "OPUS-MT's card", "a package has a name that is not a file's");
    const char *dash = strchr(pair, '-');
    plan->source = say(arena, "%.*s", (int)(dash - pair), pair);
    plan->target = dash + 1;
    plan->name = pair;
    plan->asked = say(arena, "opus:%s", pair);
    plan->version = say(arena, "%.*s", (int)(strlen(package) - 4), package);
    plan->detail = package;
    plan->licence = opus_licence;
    plan->attribution = opus_attribution;
    plan->bytes = bytes;
    add_file(plan,
             url_of(options, opus_host, say(arena, "/OPUS-MT-models/%s/%s", pair, package), arena),
             package)
        ->bytes = bytes;
    return GET_DONE;
}

/* ---- the Hugging Face hub ---- */

/* The files that an import may need; pytorch_model.bin is downloaded only if there is no
 * model.safetensors. */
static const char hub_files[] =
    "config.json,generation_config.json,tokenizer_config.json,vocab.json,target_vocab.json,source."
    "spm,"
    "target.spm,README.md,LICENSE,model.safetensors,pytorch_model.bin,model.bin,"
    "shared_vocabulary.json,shared_vocabulary.txt,source_vocabulary.json,source_vocabulary.txt,"
    "target_vocabulary.json,target_vocabulary.txt,src.spm.model,tgt.spm.model,joint.spm.model";

static struct plan_file *find_file(struct plan *plan, const char *name) {
    for (size_t i = 0; i < plan->count; i++)
        if (strcmp(plan->files[i].name, name) == 0)
            return &plan->files[i];
    return NULL;
}

/* Returns "" if the string is missing, is too long, or has control characters, which a terminal
 * would obey. jansson has checked that the string is UTF-8. */
static const char *printable(const json_t *object, const char *key, struct arena *arena) {
    const char *text = json_string_value(json_object_get(object, key));
    if (!text || strlen(text) >= NAME_BYTES)
        return "";
    for (const char *at = text; *at; at++) {
        unsigned char byte = (unsigned char)*at, next = (unsigned char)at[1];
        if (byte < ' ' || byte == 0x7f || (byte == 0xc2 && next < 0xa0))
            return "";
    }
    return say(arena, "%s", text);
}

/* Sets the languages and the name of the plan: opus-mt-en-fr -> en, fr. */
static void hub_languages(const char *name, struct arena *arena, struct plan *plan) {
    const char *last = strrchr(name, '-'), *before = last;
    while (before && before > name && before[-1] != '-')
        before--;
    bool codes = last && before && before > name && last - before >= 2 && last - before <= 3 &&
                 strlen(last + 1) >= 2 && strlen(last + 1) <= 3 && records_is_made_of(before, "-");
    plan->source = codes ? say(arena, "%.*s", (int)(last - before), before) : "";
    plan->target = codes ? last + 1 : "";
    plan->name = codes ? say(arena, "%s-%s", plan->source, plan->target) : name;
}

static enum get_status plan_hub(const struct source_options *options, const char *repository,
                                struct arena *arena, struct plan *plan, struct error *err) {
    const char *endpoint = getenv("HF_ENDPOINT"), *token = getenv("HF_TOKEN"),
               *name = strchr(repository, '/') + 1;
    const char *base = endpoint && *endpoint ? endpoint : hub_host, *revision = "main";
    const char *kept =
        say(arena, ".hf-%.*s-%s.json", (int)(name - 1 - repository), repository, name);
    struct error inner = {0};
    struct list list;
    const char *url =
        url_of(options, base, say(arena, "/api/models/%s?blobs=true", repository), arena);
    bool hub = strncmp(url, hub_host, strlen(hub_host)) == 0 &&
               url[strlen(hub_host)] == '/'; /* the token is sent to no other host */
    plan->token = hub && token ? token : "";
    enum get_status status =
        list_open(options, (struct list_place){url, kept, plan->token}, arena, &list, &inner);
    if (status == GET_UNKNOWN) { /* a mirror may have only the list of files */
        url = url_of(options, base,
                     say(arena, "/api/models/%s/tree/main?recursive=true", repository), arena);
        status = list_open(options, (struct list_place){url, kept, plan->token}, arena, &list,
                           &(struct error){0});
    }
    if (status == GET_UNKNOWN)
        return no_such(err, "The Hugging Face hub", repository, "");
    if (status != GET_DONE) {
        error_set(err, inner.code, "%s", inner.message);
        return status;
    }

    json_t *root = json_loadb(list.text, list.length, JSON_REJECT_DUPLICATES, NULL);
    const json_t *files = json_is_array(root) ? root : json_object_get(root, "siblings");
    const char *sha = json_string_value(json_object_get(root, "sha"));
    if (sha && strlen(sha) == 40 && strspn(sha, "0123456789abcdef") == 40)
        revision = say(arena, "%s", sha);
    for (size_t i = 0; i < json_array_size(files) && i < MOST_PACKAGES && !arena_failed(arena);
         i++) {
        const json_t *item = json_array_get(files, i), *lfs = json_object_get(item, "lfs");
        const char *path = json_string_value(
            json_object_get(item, "rfilename")); /* the list of files has "path" instead */
        path = path ? path : json_string_value(json_object_get(item, "path"));
        if (!path || !records_is_listed(hub_files, path, 0) || find_file(plan, path))
            continue;
        const char *sha256 = json_string_value(json_object_get(lfs, "sha256"));
        sha256 = sha256 ? sha256 : json_string_value(json_object_get(lfs, "oid"));
        const char *place = say(arena, "/%s/resolve/%s/%s", repository, revision, path);
        struct plan_file *file =
            add_file(plan, url_of(options, base, place, arena), say(arena, "%s", path));
        file->sha256 = records_is_sha256(sha256) ? say(arena, "%s", sha256) : NULL;
        file->bytes = lfs ? count_of(lfs, "size") : count_of(item, "size");
        plan->bytes += file->bytes;
    }
    plan->licence = printable(json_object_get(root, "cardData"), "license", arena);
    json_decref(root);

    struct plan_file *weights = find_file(plan, "model.safetensors"),
                     *pickled = find_file(plan, "pytorch_model.bin");
    bool usable = weights || pickled || find_file(plan, "model.bin");
    list_close(&list, usable);
    if (!usable)
        return unusable(err, url,
                        "names neither model.safetensors, pytorch_model.bin nor model.bin");
    if (weights && pickled) {
        plan->bytes -= pickled->bytes;
        plan->count--;
        memmove(pickled, pickled + 1,
                (size_t)(&plan->files[plan->count] - pickled) * sizeof *pickled);
    }
    hub_languages(say(arena, "%s", name), arena, plan);
    plan->asked = say(arena, "hf:%s", repository);
    plan->version = strcmp(revision, "main") == 0 ? revision : say(arena, "%.12s", revision);
    plan->detail = say(arena, "%s", repository);
    plan->attribution = strncmp(repository, "Helsinki-NLP/", 13) == 0
                            ? opus_attribution
                            : say(arena, "%.*s", (int)(name - 1 - repository), repository);
    return GET_DONE;
}

static enum get_status plan_quickmt(const struct source_options *options, const char *pair,
                                    struct arena *arena, struct plan *plan, struct error *err) {
    plan->kind = SOURCE_HUGGINGFACE;
    return plan_hub(options, say(arena, "quickmt/quickmt-%s", pair), arena, plan, err);
}

/* ---- Argos ---- */

static const char argos_path[] = "/argosopentech/argospm-index/main/index.json";

/* Reads a list in JSON that has an array of packages, which is the list itself or, with a key, its
 * member. The caller must call json_decref(*root). */
static enum get_status read_packages(const struct source_options *options, struct list_place place,
                                     const char *key, json_t **root, struct error *err) {
    struct arena arena;
    struct list list;
    arena_init(&arena, LIST_ARENA_BYTES);
    enum get_status status = list_open(options, place, &arena, &list, err);
    *root = NULL;
    if (status == GET_DONE) {
        *root = json_loadb(list.text, list.length, JSON_REJECT_DUPLICATES, NULL);
        const json_t *packages = key ? json_object_get(*root, key) : *root;
        bool usable = json_is_array(packages) && json_array_size(packages) <= MOST_PACKAGES;
        list_close(&list, usable && json_array_size(packages) > 0);
        status = usable ? GET_DONE : unusable(err, place.url, "must be a list of packages");
    }
    if (status != GET_DONE) {
        json_decref(*root);
        *root = NULL;
    }
    arena_done(&arena);
    return status;
}

static enum get_status argos_index(const struct source_options *options, struct arena *arena,
                                   json_t **root, struct error *err) {
    const char *url = url_of(options, raw_host, argos_path, arena);
    return read_packages(options, (struct list_place){url, ".argos.json", NULL}, NULL, root, err);
}

/* Converts two codes that only Argos uses: zt is traditional Chinese, pb Brazilian Portuguese. */
static const char *argos_code(const char *code) {
    return strcmp(code, "zt") == 0 ? "zh-Hant" : strcmp(code, "pb") == 0 ? "pt-BR" : code;
}

/* Reads a package's languages as standard codes, and its version. Returns false if the package
 * cannot be used. */
static bool argos_package(const json_t *item, const char **source, const char **target,
                          const char **version) {
    const char *from = json_string_value(json_object_get(item, "from_code"));
    const char *to = json_string_value(json_object_get(item, "to_code"));
    const char *type = json_string_value(json_object_get(item, "type"));
    *version = json_string_value(json_object_get(item, "package_version"));
    int order;
    if (!from || !to || !*from || !*to || strlen(from) > MOST_CODE || strlen(to) > MOST_CODE ||
        !records_is_made_of(from, "-_") || !records_is_made_of(to, "-_") || !*version ||
        !records_versions(*version, *version, &order) || (type && strcmp(type, "translate") != 0))
        return false;
    *source = argos_code(from);
    *target = argos_code(to);
    return true;
}

static enum get_status plan_argos(const struct source_options *options, const char *pair,
                                  struct arena *arena, struct plan *plan, struct error *err) {
    json_t *root = NULL;
    const json_t *best = NULL;
    const char *version = NULL, *source = "", *target = "";
    enum get_status status = argos_index(options, arena, &root, err);
    if (status != GET_DONE)
        return status;
    for (int loose = 0; loose < 2 && !best; loose++)
        for (size_t i = 0; i < json_array_size(root); i++) {
            const json_t *item = json_array_get(root, i);
            const char *from, *to, *its;
            bool fits = false;
            int order = 1;
            if (!argos_package(item, &from, &to, &its))
                continue;
            for (const char *dash = strchr(pair, '-'); dash && !fits; dash = strchr(dash + 1, '-'))
                fits = records_codes_match(pair, (size_t)(dash - pair), from, loose) &&
                       records_codes_match(dash + 1, strlen(dash + 1), to, loose);
            if (!fits || (best && records_versions(its, version, &order) && order <= 0))
                continue;
            best = item;
            version = its;
            source = from;
            target = to;
        }
    const json_t *links = json_object_get(best, "links");
    const char *url = NULL;
    for (size_t i = 0; i < json_array_size(links) && !url; i++) {
        const char *link = json_string_value(json_array_get(links, i));
        url = link ? mirrored(options, link, arena) : NULL;
    }
    if (best) {
        plan->source = say(arena, "%s", source);
        plan->target = say(arena, "%s", target);
        plan->name = say(arena, "%s-%s", source, target);
        plan->asked = say(arena, "argos:%s", plan->name);
        plan->version = say(arena, "%s", version);
        plan->detail = printable(best, "code", arena);
        plan->attribution = argos_attribution;
    }
    json_decref(root);
    if (!best)
        return no_such(err, "Argos's index", pair, "");
    if (!url)
        return unusable(err, plan->name, "Argos's index has no http link to it");
    add_file(plan, url, say(arena, "%s.argosmodel", plan->name))->outside = options->mirror == NULL;
    return GET_DONE;
}

/* ---- HPLT: students of translateLocally's kind, of one or several languages into one ---- */

static const char hplt_path[] = "/hplt-project/bitextor-mt-models/refs/heads/main/models.json";

static enum get_status hplt_list(const struct source_options *options, struct arena *arena,
                                 json_t **root, struct error *err) {
    const char *url = url_of(options, raw_host, hplt_path, arena);
    return read_packages(options, (struct list_place){url, ".hplt.json", NULL}, "models", root,
                         err);
}

/* Converts a code that the list has wrong: Malay's is given as ml, which is Malayalam's. */
static const char *hplt_code(const char *code, const json_t *language) {
    const char *name = json_string_value(language);
    return name && strcmp(name, "Malay") == 0 ? "ms" : code;
}

/* Returns the target of a model of the list, or NULL if the model cannot be used. */
static const char *hplt_target(const json_t *item) {
    const char *target = json_string_value(json_object_get(item, "trgTag"));
    json_t *sources = json_object_get(item, "srcTags"), *language;
    const char *code;
    if (!target || !*target || strlen(target) > MOST_CODE || !records_is_made_of(target, "-") ||
        !json_is_object(sources) || json_object_size(sources) > MOST_SOURCE_LANGUAGES ||
        !json_is_integer(json_object_get(item, "version")))
        return NULL;
    json_object_foreach(sources, code, language) {
        if (!*code || strlen(code) > MOST_CODE || !records_is_made_of(code, "-"))
            return NULL;
    }
    return target;
}

/* Returns the code of a source language of the model that fits the pair, or NULL. */
static const char *hplt_source(const json_t *item, const char *pair) {
    const char *target = hplt_target(item), *code;
    json_t *language, *sources = json_object_get(item, "srcTags");
    json_object_foreach(sources, code, language) {
        const char *source = hplt_code(code, language);
        for (const char *dash = strchr(pair, '-'); target && dash; dash = strchr(dash + 1, '-'))
            if (records_codes_match(pair, (size_t)(dash - pair), source, true) &&
                records_codes_match(dash + 1, strlen(dash + 1), target, true))
                return source;
    }
    return NULL;
}

/* A model of one language is preferred to one of several, and a newer one to an older. */
static enum get_status plan_hplt(const struct source_options *options, const char *pair,
                                 struct arena *arena, struct plan *plan, struct error *err) {
    json_t *root;
    enum get_status status = hplt_list(options, arena, &root, err);
    if (status != GET_DONE)
        return status;
    const json_t *models = json_object_get(root, "models"), *best = NULL;
    const char *source = NULL;
    for (size_t i = 0; i < json_array_size(models); i++) {
        const json_t *item = json_array_get(models, i);
        const char *code = hplt_source(item, pair);
        size_t languages = json_object_size(json_object_get(item, "srcTags")),
               least = json_object_size(json_object_get(best, "srcTags"));
        if (!code || (best && languages > least) ||
            (best && languages == least && count_of(item, "version") <= count_of(best, "version")))
            continue;
        best = item;
        source = code;
    }
    const char *place = json_string_value(json_object_get(best, "url")), *url = NULL;
    const char *sha256 = json_string_value(json_object_get(best, "checksum"));
    if (best) {
        url = place ? mirrored(options, place, arena) : NULL;
        sha256 = records_is_sha256(sha256) ? say(arena, "%s", sha256) : NULL;
        plan->source = say(arena, "%s", source);
        plan->target = say(arena, "%s", hplt_target(best));
        plan->name = say(arena, "%s-%s", plan->source, plan->target);
        plan->asked = say(arena, "hplt:%s", plan->name);
        plan->version = say(arena, "%u", (unsigned)count_of(best, "version"));
        plan->detail = printable(best, "shortName", arena);
        plan->attribution = hplt_attribution;
    }
    json_decref(root);
    if (!best)
        return no_such(err, "HPLT's list", pair, ": alignd get --list hplt: shows what it has");
    if (!url || !sha256)
        return unusable(err, plan->name, "HPLT's list has no http link to it with a SHA-256");
    struct plan_file *file = add_file(plan, url, say(arena, "%s.tar.gz", plan->name));
    file->sha256 = sha256;
    file->outside = options->mirror == NULL;
    return GET_DONE;
}

/* ---- a URL ---- */

/* Returns a plan without files. */
static struct plan empty_plan(enum source_kind kind, const char *asked) {
    return (struct plan){.kind = kind,
                         .asked = asked,
                         .name = "",
                         .source = "",
                         .target = "",
                         .version = "",
                         .licence = "",
                         .attribution = "",
                         .detail = "",
                         .token = ""};
}

enum get_status sources_plan_url(const char *url, struct arena *arena, struct plan *plan,
                                 const struct plan_file **file, struct error *err) {
    size_t length = strcspn(url, "?#");
    const char *end = url + length, *name = end;
    while (name > url && name[-1] != '/')
        name--;
    const char *own = say(arena, "%.*s", (int)(end - name), name);
    for (size_t i = 0; i < plan->count; i++)
        if (strcmp(plan->files[i].url, url) == 0) {
            *file = &plan->files[i];
            return GET_DONE;
        }
    if (plan->count == PLAN_FILES)
        return unusable(err, url, "exceeds the number of URLs that one import may have");
    if (length > 2000 || !*own || *own == '.' || strlen(own) >= NAME_BYTES ||
        !records_is_made_of(own, "-_.+"))
        return unusable(err, url, "must end with the name of a file, such as .../model.zip");
    char *stem = arena_copy(arena, own, strlen(own));
    static const char *const endings[] = {".argosmodel", ".zip", ".tgz", ".gz", ".zst", ".tar"};
    for (size_t i = 0; stem && i < sizeof endings / sizeof *endings; i++) {
        size_t size = strlen(stem), ending = strlen(endings[i]);
        if (size > ending && strcmp(stem + size - ending, endings[i]) == 0)
            stem[size - ending] = '\0';
    }
    if (plan->count == 0) {
        *plan = empty_plan(SOURCE_URL, url);
        plan->name = stem ? stem : "";
        plan->detail = own;
    }
    *file =
        add_file(plan, url, find_file(plan, own) ? say(arena, "%zu/%s", plan->count, own) : own);
    return arena_failed(arena) ? get_fail_memory(err) : GET_DONE;
}

enum get_status sources_plan(const struct source_options *options, const char *asked,
                             struct arena *arena, struct plan *plan, struct error *err) {
    static enum get_status (*const planners[])(const struct source_options *, const char *,
                                               struct arena *, struct plan *, struct error *) = {
        [SOURCE_MOZILLA] = plan_mozilla, [SOURCE_OPUS] = plan_opus,
        [SOURCE_HUGGINGFACE] = plan_hub, [SOURCE_ARGOS] = plan_argos,
        [SOURCE_QUICKMT] = plan_quickmt, [SOURCE_HPLT] = plan_hplt};
    enum source_kind kind;
    const char *rest;
    const struct plan_file *file;
    if (sources_parse(asked, &kind, &rest, err) != 0)
        return GET_UNKNOWN;
    struct plan made = empty_plan(kind, asked);
    enum get_status status = kind == SOURCE_URL ? sources_plan_url(rest, arena, &made, &file, err)
                                                : planners[kind](options, rest, arena, &made, err);
    if (status != GET_DONE)
        return status;
    if (arena_failed(arena))
        return get_fail_memory(err);
    for (size_t i = 0; i < made.count; i++)
        if (made.files[i].bytes > MOST_MODEL_BYTES)
            return unusable(err, made.files[i].url, "is larger than 8 GiB");
    *plan = made;
    return GET_DONE;
}

/* ---- quality ---- */

static const char comet_path[] =
    "/mozilla/firefox-translations-models/main/evaluation/comet-results.json";

/* Takes the COMET of Mozilla's comparison on Flores' test set, in which Mozilla's, OPUS-MT's and
 * Argos's models are columns; 0: not measured. */
static void take_compared(json_t *root, const char *pair, double quality[SOURCES]) {
    static const char *const columns[SOURCES] = {
        [SOURCE_MOZILLA] = "bergamot", [SOURCE_OPUS] = "opusmt", [SOURCE_ARGOS] = "argos"};
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value) {
        if (strcasecmp(key, pair) != 0)
            continue;
        const json_t *row = json_object_get(value, "flores-test");
        for (int i = 0; i < SOURCES; i++)
            if (columns[i])
                quality[i] = json_number_value(json_object_get(row, columns[i]));
    }
}

/* Returns the COMET on Flores' test set that a repository's card states, of 1; 0: it states none.
 */
static double comet_of_card(const json_t *root) {
    const json_t *index = json_object_get(root, "model-index");
    index = index ? index : json_object_get(json_object_get(root, "cardData"), "model-index");
    const json_t *results = json_object_get(json_array_get(index, 0), "results");
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        const char *set =
            json_string_value(json_object_get(json_object_get(result, "dataset"), "name"));
        const json_t *metrics = json_object_get(result, "metrics");
        bool flores = set && strncasecmp(set, "flores", 6) == 0 && strstr(set, "devtest");
        for (size_t k = 0; flores && k < json_array_size(metrics); k++) {
            const json_t *metric = json_array_get(metrics, k);
            const char *type = json_string_value(json_object_get(metric, "type"));
            double value = json_number_value(json_object_get(metric, "value"));
            if (type && strcmp(type, "comet") == 0)
                return value > 1 ? value / 100 : value;
        }
    }
    return 0;
}

void sources_quality(const struct source_options *options, const char *pair, struct arena *arena,
                     double quality[SOURCES]) {
    memset(quality, 0, SOURCES * sizeof *quality);
    const struct list_place compared = {url_of(options, raw_host, comet_path, arena), ".comet.json",
                                        NULL};
    struct source_options here = *options;
    here.offline = true; /* the list with which the plan was made */
    const struct list_place card = {"the hub", say(arena, ".hf-quickmt-quickmt-%s.json", pair),
                                    NULL};
    for (int i = 0; i < 2; i++) {
        struct list list;
        struct error none = {0};
        if (list_open(i == 0 ? options : &here, i == 0 ? compared : card, arena, &list, &none) !=
            GET_DONE)
            continue;
        json_t *root = json_loadb(list.text, list.length, JSON_REJECT_DUPLICATES, NULL);
        list_close(&list, json_is_object(root));
        if (i == 0)
            take_compared(root, pair, quality);
        else
            quality[SOURCE_QUICKMT] = comet_of_card(root);
        json_decref(root);
    }
    for (int i = 0; i < SOURCES; i++)
        if (!(quality[i] > 0 && quality[i] <= 1))
            quality[i] = 0;
}

/* ---- lists for users ---- */

static int by_pair(const void *a, const void *b) {
    return strcmp(((const struct listed *)a)->pair, ((const struct listed *)b)->pair);
}

enum get_status sources_list(const struct source_options *options, enum source_kind kind,
                             struct arena *arena, struct listed **list, size_t *count,
                             struct error *err) {
    struct records records = {0};
    json_t *root = NULL;
    if (kind != SOURCE_MOZILLA && kind != SOURCE_ARGOS && kind != SOURCE_HPLT)
        return get_fail(err, GET_UNKNOWN, ERROR_INPUT,
                        "--list shows the models of mozilla, argos or hplt, not of %s",
                        sources_name_of(kind));
    enum get_status status = kind == SOURCE_MOZILLA ? sources_records(options, arena, &records, err)
                             : kind == SOURCE_ARGOS ? argos_index(options, arena, &root, err)
                                                    : hplt_list(options, arena, &root, err);
    if (status != GET_DONE)
        return status;

    const json_t *models = json_object_get(root, "models"); /* HPLT's; a row for each language */
    size_t pairs = 0;
    for (size_t i = 0; i < json_array_size(models); i++)
        if (hplt_target(json_array_get(models, i)))
            pairs += json_object_size(json_object_get(json_array_get(models, i), "srcTags"));
    *list = arena_alloc(arena, records.count + json_array_size(root) + pairs + 1, sizeof **list);
    *count = 0;
    for (size_t i = 0; *list && i < records.count; i++) {
        const struct record_model *model = &records.models[i];
        (*list)[(*count)++] =
            (struct listed){say(arena, "%s-%s", model->source, model->target), model->version,
                            model->architecture, sources_mozilla_licence, model->bytes};
    }
    for (size_t i = 0; *list && i < json_array_size(root); i++) {
        const json_t *item = json_array_get(root, i);
        const char *source, *target, *version;
        if (argos_package(item, &source, &target, &version))
            (*list)[(*count)++] =
                (struct listed){say(arena, "%s-%s", source, target), say(arena, "%s", version),
                                printable(item, "code", arena), "see the package", 0};
    }
    for (size_t i = 0; *list && i < json_array_size(models); i++) {
        const json_t *item = json_array_get(models, i);
        const char *target = hplt_target(item), *code;
        json_t *language, *sources = target ? json_object_get(item, "srcTags") : NULL;
        json_object_foreach(sources, code, language) {
            (*list)[(*count)++] =
                (struct listed){say(arena, "%s-%s", hplt_code(code, language), target),
                                say(arena, "%u", (unsigned)count_of(item, "version")),
                                printable(item, "shortName", arena), "see the package", 0};
        }
    }
    json_decref(root);
    if (arena_failed(arena))
        return get_fail_memory(err);
    if (*count > 0)
        qsort(*list, *count, sizeof **list, by_pair);
    return GET_DONE;
}
