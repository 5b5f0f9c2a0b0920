#include "model/import/folder.h"
#include "model/weights/config.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHA256_BYTES = 32, READ_BYTES = 1 << 16, REMOVE_DEPTH = 16 };

void conversion_done(struct conversion *conversion) {
    if (!conversion)
        return;
    json_decref(conversion->config);
    json_decref(conversion->tokenizer.section);
    container_close(&conversion->container);
    *conversion = (struct conversion){.container = {.file = -1}};
}

/* ---- config.json ---- */

static const struct key {
    const char *path, *type, *fallback, *only;
} keys[] = {
#define KEY(path, field, type, fallback, allowed, only) {#path, #type, fallback, only},
#define RULE(message, when, unless)
#include "weights/config.def"
#undef KEY
#undef RULE
};
enum { KEYS = sizeof keys / sizeof *keys };

/* Keys that came after the format had been in use: config.json does not mention them where they have their defaults. */
static const char *const young[] = {
    "alignment.size",          "tokenizer.pieces",          "tokenizer.target_pieces", "tokenizer.preparation",
    "tokenizer.capitals",      "decoder.alignment_trained", "defaults.compute",        "defaults.shortlist",
    "defaults.beam_size",      "defaults.length_penalty",   "defaults.finished",       "decoder.prefix",
    "encoder.position_offset", "encoder.epsilon",           "decoder.position_offset", "decoder.epsilon"};
static const char *const sections[] = {"encoder", "attention", "decoder", "alignment", "output", "tokenizer", "limits", "defaults"};

static json_t *fallback_of(const struct key *key) {
    if (strcmp(key->type, "integer") == 0)
        return json_integer(strtoll(key->fallback, NULL, 10));
    if (strcmp(key->type, "number") == 0)
        return json_real(strtod(key->fallback, NULL));
    return strcmp(key->type, "boolean") == 0 ? json_boolean(strcmp(key->fallback, "true") == 0) : json_string(key->fallback);
}

/* The list "one, two" has the value; "": any. */
static bool listed(const char *list, const char *value) {
    size_t length = value ? strlen(value) : 0;
    if (!*list)
        return true;
    for (const char *at = list; *at; at += strspn(at, ", ")) {
        size_t item = strcspn(at, ",");
        if (item == length && memcmp(at, value, item) == 0)
            return true;
        at += item;
    }
    return false;
}

int config_fill(json_t *config, struct error *err) {
    int failed = 0;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (!json_object_get(config, sections[i]))
            failed |= json_object_set_new(config, sections[i], json_object());
    for (size_t i = 0; i < KEYS; i++) {
        const char *dot = strchr(keys[i].path, '.'), *name = dot ? dot + 1 : keys[i].path;
        struct name section = named("%.*s", (int)(dot ? dot - keys[i].path : 0), keys[i].path);
        json_t *object = dot ? json_object_get(config, section.text) : config;
        const char *chosen = json_string_value(json_object_get(object, strcmp(section.text, "decoder") == 0 ? "style" : "type"));
        bool has = json_is_object(object) && listed(keys[i].only, chosen) && *keys[i].fallback;
        if (has && !json_object_get(object, name))
            failed |= json_object_set_new(object, name, fallback_of(&keys[i]));
    }
    for (size_t i = 0; i < sizeof young / sizeof *young; i++) {
        const struct key *key = keys;
        while (strcmp(key->path, young[i]) != 0)
            key++; /* config.def has them all */
        const char *dot = strchr(key->path, '.');
        json_t *object = json_object_get(config, named("%.*s", (int)(dot - key->path), key->path).text), *usual = fallback_of(key);
        if (json_is_object(object) && json_equal(json_object_get(object, dot + 1), usual))
            failed |= json_object_del(object, dot + 1);
        json_decref(usual);
    }
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const json_t *object = json_object_get(config, sections[i]);
        if (json_is_object(object) && json_object_size(object) == 0)
            failed |= json_object_del(config, sections[i]);
    }
    return failed ? error_memory(err) : 0;
}

/* The fewest digits after which a number reads as the same one. */
static size_t digits_of(const json_t *value) {
    double number = json_real_value(value);
    for (int digits = 1; json_is_real(value) && digits < 17; digits++) {
        char text[40];
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            return (size_t)digits;
    }
    return json_is_real(value) ? 17 : 1;
}

char *config_text(const json_t *config) {
    size_t digits = 1;
    const json_t *section, *value;
    const char *name;
    json_object_foreach((json_t *)(uintptr_t)config, name, section) {
        const char *key;
        json_object_foreach((json_t *)(uintptr_t)section, key, value) {
            digits = digits_of(value) > digits ? digits_of(value) : digits;
        }
    }
    return json_dumps(config, JSON_INDENT(2) | JSON_REAL_PRECISION(digits));
}

/* ---- the card ---- */

static const char *string_of(const json_t *section, const char *key) {
    const char *text = json_string_value(json_object_get(section, key));
    return text ? text : "";
}

static long long number_of(const json_t *section, const char *key) {
    return json_integer_value(json_object_get(section, key));
}

/* One stack of a transformer. */
static const char *describe_blocks(const json_t *section, struct arena *arena) {
    const char *mixer = string_of(section, "mixer");
    mixer = strcmp(mixer, "ssru") == 0 ? "SSRU" : strcmp(mixer, "average") == 0 ? "average attention" : "self-attention";
    return import_say(arena, "%lld x %lld transformer, %s, %lld heads, feed-forward %lld %s, norm %s, positions %s",
                      number_of(section, "layers"), number_of(section, "hidden"), mixer, number_of(section, "heads"),
                      number_of(section, "filter"), string_of(section, "activation"), string_of(section, "norm"),
                      string_of(section, "positions"));
}

static const char *describe_cell(const json_t *section, struct arena *arena) {
    char *kind = arena_copy(arena, string_of(section, "cell"), strlen(string_of(section, "cell")));
    for (char *c = kind; c && *c; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    return import_say(arena, "%lld x %lld %s, embeddings %lld%s", number_of(section, "layers"), number_of(section, "hidden"),
                      kind ? kind : "", number_of(section, "embedding"),
                      json_is_true(json_object_get(section, "residual")) ? ", residual" : "");
}

/* The licence and the author of the model, from the files beside it or else from the place of the download. */
static void settle_origin(struct conversion *c) {
    const struct import_origin *from = c->downloaded;
    if (from && !*c->origin.licence)
        c->origin.licence = from->licence;
    if (from && !*c->origin.attribution)
        c->origin.attribution = from->attribution;
}

/* A row of the card's table. */
static const char *downloaded_row(const struct conversion *c, struct arena *arena) {
    const struct import_origin *from = c->downloaded;
    return from
               ? import_say(arena, "| downloaded | %s%s%s, %s |\n", from->from, *from->version ? " " : "", from->version, from->url)
               : "";
}

/* origin.json: the same for programs. The licence is its name alone. A model that was not downloaded has a licence at most. */
static const char *origin_text(const struct conversion *c, struct arena *arena) {
    static const struct import_origin elsewhere = {"", "", "", "", "", ""};
    const struct import_origin *from = c->downloaded ? c->downloaded : &elsewhere;
    size_t length = strcspn(c->origin.licence, "(,");
    while (length > 0 && c->origin.licence[length - 1] == ' ')
        length--;
    const char *brief = arena_copy(arena, c->origin.licence, length);
    if (brief && strcmp(brief, "that of LICENSE") == 0)
        brief = "see LICENSE";
    json_t *json =
        json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s}", "format", 1, "from", from->from, "asked", from->asked, "version",
                  from->version, "url", from->url, "licence", brief ? brief : "", "attribution", c->origin.attribution);
    char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    const char *line = text ? import_say(arena, "%s\n", text) : NULL;
    free(text);
    json_decref(json);
    return line;
}

/* The card's text in the arena. */
static const char *card_text(const struct conversion *c, uint64_t weights, struct arena *arena) {
    const json_t *encoder = json_object_get(c->config, "encoder"), *decoder = json_object_get(c->config, "decoder");
    const json_t *attention = json_object_get(c->config, "attention"), *output = json_object_get(c->config, "output");
    bool blocks = strcmp(string_of(encoder, "type"), "transformer") == 0;
    bool both = json_is_true(json_object_get(encoder, "bidirectional")),
         forward = strcmp(string_of(encoder, "stack"), "forward") == 0;
    const char *name = string_of(c->config, "name"), *decoded, *attended, *read;
    const char *encoded = blocks ? describe_blocks(encoder, arena)
                                 : import_say(arena, "%s%s", describe_cell(encoder, arena), both ? ", bidirectional" : "");
    if (blocks) {
        decoded = describe_blocks(decoder, arena);
        read = import_say(arena, "the top layer (%lld)", number_of(decoder, "hidden"));
        attended = import_say(arena, "%lld heads in each layer", number_of(decoder, "heads"));
    } else {
        decoded = import_say(arena, "%s, %s; initial state %s, projected", string_of(decoder, "style"),
                             describe_cell(decoder, arena), string_of(decoder, "initial_state"));
        read = import_say(arena, "%s readout (%lld)", string_of(decoder, "readout"), number_of(decoder, "readout_size"));
        attended = import_say(arena, "%s (%lld) over annotations of %lld", string_of(attention, "score"),
                              number_of(attention, "size"), number_of(encoder, "hidden") * (both && !forward ? 2 : 1));
    }
    return import_say(
        arena,
        "# %s\n\nConverted from %s by `alignd import`. Loaded by `alignd --model %s`.\n\n| | |\n|---|---|\n| from | "
        "%s |\n| into | %s |\n"
        "| encoder | %s |\n| attention | %s |\n| decoder | %s |\n| output | %s, softmax over the target pieces%s "
        "|\n| tokens | %s |\n"
        "| parameters | %s |\n| stored as | %s, vectors as float32; %.1f MB |\n%s\n"
        "Data and training are those of the model that it was converted from. Licence: %s.%s%s%s\n",
        name, c->from, name, string_of(c->config, "source"), string_of(c->config, "target"), encoded, attended, decoded, read,
        json_is_true(json_object_get(output, "tied")) ? ", tied to the target embedding" : "",
        strcmp(string_of(json_object_get(c->config, "tokenizer"), "type"), "words") == 0 ? "words" : "SentencePiece unigram",
        import_thousands(arena, tensors_parameters(&c->tensors)), storage_names[c->storage], (double)weights / 1e6,
        downloaded_row(c, arena), *c->origin.licence ? c->origin.licence : "that of the model that it was converted from",
        *c->origin.attribution ? " Attribution: " : "", c->origin.attribution, *c->origin.attribution ? "." : "");
}

/* ---- files ---- */

/* Writes the file to the disk. */
static int write_file(const char *folder, const char *name, const char *bytes, size_t count, struct arena *arena,
                      struct error *err) {
    const char *path = path_join(arena, folder, name);
    int file = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
    if (!path)
        return error_memory(err);
    bool written = file >= 0;
    while (written && count > 0) {
        ssize_t done = write(file, bytes, count);
        written = done >= 0 || errno == EINTR;
        bytes += done > 0 ? done : 0;
        count -= done > 0 ? (size_t)done : 0;
    }
    written = written && fsync(file) == 0;
    int result = written ? 0 : error_set(err, ERROR_FILE, "%s: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
    return result;
}

/* sha256: [64] and a NUL. */
static int digest(const char *path, import_stop stop, uint64_t *size, char sha256[2 * SHA256_BYTES + 1], struct error *err) {
    unsigned char hash[SHA256_BYTES], bytes[READ_BYTES];
    gnutls_hash_hd_t state;
    int file = source_open(path, size, err);
    if (file < 0)
        return -1;
    int result = gnutls_hash_init(&state, GNUTLS_DIG_SHA256) == 0 ? 0 : error_memory(err);
    if (result == 0) {
        for (uint64_t at = 0; result == 0 && at < *size;) {
            size_t step = *size - at < sizeof bytes ? (size_t)(*size - at) : sizeof bytes;
            result = import_interrupted(stop, err);
            if (result == 0)
                result = source_read_at(file, at, bytes, step, path, err);
            if (result == 0 && gnutls_hash(state, bytes, step) != 0)
                result = error_set(err, ERROR_FILE, "SHA-256 is not available");
            at += step;
        }
        gnutls_hash_deinit(state, hash);
    }
    close(file);
    for (size_t i = 0; result == 0 && i < SHA256_BYTES; i++)
        snprintf(sha256 + 2 * i, 3, "%02x", hash[i]);
    return result;
}

/* manifest.json: the SHA-256 of each file that alignd reads. names: sorted. */
static int write_manifest(const char *folder, const char *const *names, size_t count, struct arena *arena, import_stop stop,
                          struct error *err) {
    json_t *files = json_object(), *manifest = json_pack("{s:i, s:O}", "format", 1, "files", files);
    int result = manifest ? 0 : error_memory(err);
    for (size_t i = 0; result == 0 && i < count; i++) {
        const char *path = path_join(arena, folder, names[i]);
        char sha256[2 * SHA256_BYTES + 1];
        uint64_t size;
        result = path ? digest(path, stop, &size, sha256, err) : error_memory(err);
        if (result == 0 &&
            json_object_set_new(files, names[i], json_pack("{s:I, s:s}", "bytes", (json_int_t)size, "sha256", sha256)) != 0)
            result = error_memory(err);
    }
    char *text = result == 0 ? json_dumps(manifest, JSON_INDENT(2)) : NULL;
    const char *line = text ? import_say(arena, "%s\n", text) : NULL;
    if (result == 0)
        result = line ? write_file(folder, "manifest.json", line, strlen(line), arena, err) : error_memory(err);
    free(text);
    json_decref(files);
    json_decref(manifest);
    return result;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int folder_write(const char *folder, struct conversion *c, struct arena *arena, import_stop stop, uint64_t *weights,
                 struct error *err) {
    const char *names[16];
    size_t count = 0;
    struct model_config config;
    struct error inner = {0};
    if (c->tensors.failed || config_fill(c->config, err) != 0)
        return -1;
    char *text = config_text(c->config);
    const char *line = text ? import_say(arena, "%s\n", text) : NULL;
    const char *path = path_join(arena, folder, names[count++] = "config.json");
    free(text);
    if (!line || !path)
        return error_memory(err);
    if (write_file(folder, "config.json", line, strlen(line), arena, err) != 0)
        return -1;
    if (config_read(path, &config, &inner) != 0)
        return error_set(err, inner.code, "the model's configuration: %s", inner.message);
    path = path_join(arena, folder, names[count++] = "model.safetensors");
    if (!path)
        return error_memory(err);
    if (tensors_write(&c->tensors, path, c->storage, c->from, stop, weights, err) != 0)
        return -1;
    for (size_t i = 0; i < c->tokenizer.count; i++)
        if (write_file(folder, names[count++] = c->tokenizer.files[i].name, c->tokenizer.files[i].content,
                       c->tokenizer.files[i].bytes, arena, err) != 0)
            return -1;
    if (c->origin.text && write_file(folder, names[count++] = "LICENSE", c->origin.text, c->origin.text_bytes, arena, err) != 0)
        return -1;
    if (*c->origin.card && write_file(folder, "README.original.md", c->origin.card, strlen(c->origin.card), arena, err) != 0)
        return -1;
    bool lists = c->has_shortlist || c->list_count > 0;
    path = lists ? path_join(arena, folder, names[count++] = "shortlist.safetensors") : "";
    if (!path || (lists && (c->has_shortlist ? shortlist_import_write(path, &c->shortlist, arena, err)
                                             : ready_write(path, c->lists, c->list_count, arena, err)) != 0))
        return path ? -1 : error_memory(err);
    path = c->has_quality ? path_join(arena, folder, names[count++] = "quality.safetensors") : "";
    if (!path || (c->has_quality && quality_import_write(path, c->quality, arena, err) != 0))
        return path ? -1 : error_memory(err);
    settle_origin(c);
    const char *card = card_text(c, *weights, arena), *origin = c->downloaded || *c->origin.licence ? origin_text(c, arena) : "";
    if (!card || !origin || arena_failed(arena))
        return error_memory(err);
    if (write_file(folder, "README.md", card, strlen(card), arena, err) != 0)
        return -1;
    if (*origin && write_file(folder, "origin.json", origin, strlen(origin), arena, err) != 0)
        return -1;
    qsort(names, count, sizeof *names, by_name);
    return write_manifest(folder, names, count, arena, stop, err);
}

static int sync_folder(const char *path, struct error *err) {
    int file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = file >= 0 && fsync(file) == 0 ? 0 : error_set(err, ERROR_FILE, "%s: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
    return result;
}

int folder_publish(const char *folder, const char *out, struct error *err) {
    if (sync_folder(folder, err) != 0)
        return -1;
    int result = renameat2(AT_FDCWD, folder, AT_FDCWD, out, RENAME_NOREPLACE);
    if (result != 0 && (errno == EINVAL || errno == ENOSYS) && access(out, F_OK) != 0)
        result = rename(folder, out); /* for file systems without RENAME_NOREPLACE */
    if (result != 0)
        return error_set(err, ERROR_FILE, "%s: %s", out,
                         errno == EEXIST || errno == ENOTEMPTY ? "already exists" : strerror(errno));
    const char *slash = strrchr(out, '/');
    char *parent = slash && slash > out ? strndup(out, (size_t)(slash - out)) : strdup(slash ? "/" : ".");
    result = parent ? sync_folder(parent, err) : error_memory(err);
    free(parent);
    return result;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

void folder_remove(const char *folder) {
    nftw(folder, remove_one, REMOVE_DEPTH, FTW_DEPTH | FTW_PHYS);
}
