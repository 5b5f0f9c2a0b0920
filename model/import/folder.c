/* This file hides how a model folder is written: the content of each file, how the shortlists and
 * quality models beside a foreign model are converted, and how all files reach the disk. */
#include "model/base/file.h"
#include "model/base/utf8.h"
#include "model/import/conversion.h"
#include "model/import/import.h"
#include "model/weights/config.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <nettle/sha2.h>
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
    tensors_close(&conversion->container);
    *conversion = (struct conversion){.container = {.file = -1}};
}

int conversion_add_languages(struct conversion *conversion, json_t *languages,
                             const struct tokens *target, struct arena *arena, struct error *err) {
    conversion->vocabulary = target->count;
    if (conversion_tokens_lists(target, languages, arena, &conversion->lists,
                                &conversion->list_count, err) != 0) {
        json_decref(languages);
        return -1;
    }
    int failed = json_object_set_new(conversion->config, "languages", languages);
    failed |= json_object_set_new(conversion->config, "source", json_string("mul"));
    failed |= json_object_set_new(conversion->config, "target", json_string("mul"));
    return failed ? error_memory(err) : 0;
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

/* Keys that were added when the format was already in use. config.json omits them if they have
 * their defaults. */
static const char *const young[] = {"alignment.size",
                                    "tokenizer.pieces",
                                    "tokenizer.target_pieces",
                                    "tokenizer.preparation",
                                    "tokenizer.capitals",
                                    "decoder.alignment_trained",
                                    "defaults.compute",
                                    "defaults.shortlist",
                                    "defaults.beam_size",
                                    "defaults.length_penalty",
                                    "defaults.finished",
                                    "decoder.prefix",
                                    "encoder.position_offset",
                                    "encoder.epsilon",
                                    "decoder.position_offset",
                                    "decoder.epsilon",
                                    "limits.doubt",
                                    "encoder.padded_to",
                                    "decoder.query"};
static const char *const sections[] = {"encoder", "attention", "decoder", "alignment",
                                       "output",  "tokenizer", "limits",  "defaults"};

/* Fills in the defaults of weights/config.def. */
static int config_fill(json_t *config, struct error *err) {
    int failed = 0;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (!json_object_get(config, sections[i]))
            failed |= json_object_set_new(config, sections[i], json_object());
    for (const struct key *key = keys; key < keys + KEYS; key++) {
        const char *dot = strchr(key->path, '.'), *name = dot ? dot + 1 : key->path;
        struct name section = tensors_named("%.*s", (int)(dot ? dot - key->path : 0), key->path);
        json_t *object = dot ? json_object_get(config, section.text) : config;
        json_t *usual =
            strcmp(key->type, "integer") == 0   ? json_integer(strtoll(key->fallback, NULL, 10))
            : strcmp(key->type, "number") == 0  ? json_real(strtod(key->fallback, NULL))
            : strcmp(key->type, "boolean") == 0 ? json_boolean(strcmp(key->fallback, "true") == 0)
                                                : json_string(key->fallback);
        const json_t *own = json_object_get(object, name);
        const char *chosen = json_string_value(
            json_object_get(object, strcmp(section.text, "decoder") == 0 ? "style" : "type"));
        bool has = json_is_object(object) && *key->fallback &&
                   (!*key->only || (chosen && config_lists(key->only, chosen)));
        bool is_young = false;
        for (size_t i = 0; i < sizeof young / sizeof *young; i++)
            is_young |= strcmp(key->path, young[i]) == 0;
        if (is_young && json_equal(own, usual))
            failed |= json_object_del(object, name);
        else if (!is_young && has && !own)
            failed |= json_object_set(object, name, usual);
        json_decref(usual);
    }
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const json_t *object = json_object_get(config, sections[i]);
        if (json_is_object(object) && json_object_size(object) == 0)
            failed |= json_object_del(config, sections[i]);
    }
    return failed ? error_memory(err) : 0;
}

/* Returns the fewest digits that read back as the same number, or 1 if the value is not a real
 * number. */
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

/* Returns the text of config.json, malloc'ed, with only as many digits as its numbers need; NULL if
 * memory runs out. */
static char *config_text(const json_t *config) {
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

/* ---- shortlists and quality models ---- */

/* Binary shortlists are little-endian: u64 magic, checksum of all that follows, number F of first
 * ids, number of best, W = source words + 1, L; u64 offsets [W]; u32 targets [L]. Those of text are
 * lines of `target source probability`. The ids 0 .. F - 1 are on every list. */
#define SHORTLIST_MAGIC UINT64_C(0xF11A48D5013417F5)
#define QUALITY_MAGIC   UINT64_C(0x78CC336F1D54B180)

enum {
    HEAD_BYTES = 48,
    MULTIPLE = 8 /* Marian fills each list up with the lowest ids that it lacks */,
    QUALITY_FEATURES = 4
};
enum { MOST_LIST_BYTES = 1 << 30 };

static int by_number(const void *a, const void *b) {
    int32_t one = *(const int32_t *)a, other = *(const int32_t *)b;
    return one < other ? -1 : one > other;
}

/* Appends a source word's targets, sorted and without duplicates, and if own is true the word's own
 * id. make_room has made room for all of them. */
static void append(struct conversion_import_shortlist *list, const int32_t *targets, size_t count,
                   bool own) {
    size_t begin = list->target_count, end = begin;
    for (size_t i = 0; i < count; i++)
        list->targets[end++] = targets[i];
    if (own)
        list->targets[end++] = (int32_t)list->offset_count - 1;
    qsort(list->targets + begin, end - begin, sizeof *list->targets, by_number);
    for (size_t i = begin; i < end; i++)
        if (i == begin || list->targets[i] != list->targets[list->target_count - 1])
            list->targets[list->target_count++] = list->targets[i];
    list->offsets[list->offset_count++] = (int32_t)list->target_count;
}

/* Makes room for this many targets of this many source words, and for the ids that are always
 * listed. */
static int make_room(struct conversion_import_shortlist *list, size_t words, size_t targets,
                     size_t first, struct arena *arena, struct error *err) {
    list->always = arena_alloc(arena, first, sizeof *list->always);
    list->offsets = arena_alloc(arena, words + 1, sizeof *list->offsets);
    list->targets = arena_alloc(arena, targets + words, sizeof *list->targets);
    if (!list->always || !list->offsets || !list->targets)
        return error_memory(err);
    for (size_t i = 0; i < first; i++)
        list->always[list->always_count++] = (int32_t)i;
    list->offsets[list->offset_count++] = 0;
    return 0;
}

static int read_binary(const char *path, struct bytes file, const struct shortlist_options *options,
                       struct arena *arena, struct conversion_import_shortlist *list,
                       struct error *err) {
    const char *content = file.start;
    uint64_t head[6];
    size_t size = file.length;
    size_t sources = options->source->size, targets = options->target->size;
    if (size < HEAD_BYTES)
        return error_set(err, ERROR_FORMAT, "%s: a shortlist has at least %d bytes", path,
                         HEAD_BYTES);
    memcpy(head, content, sizeof head);
    uint64_t first = head[2], words = head[4], count = head[5];
    if (head[0] != SHORTLIST_MAGIC)
        return error_set(err, ERROR_FORMAT, "%s: is not a binary shortlist of Marian", path);
    if (words > size / 8 || count > size / 4 || HEAD_BYTES + 8 * words + 4 * count != size)
        return error_set(err, ERROR_FORMAT,
                         "%s: its size does not match its %llu offsets and %llu targets", path,
                         (unsigned long long)words, (unsigned long long)count);
    if (words != sources + 1)
        return error_set(err, ERROR_FORMAT, "%s: has %s source words, the model %s", path,
                         source_thousands(arena, words ? words - 1 : 0),
                         source_thousands(arena, sources));
    if (first > targets)
        return error_set(err, ERROR_FORMAT, "%s: puts %s ids on every list, but the model has %s",
                         path, source_thousands(arena, first), source_thousands(arena, targets));
    uint64_t
        sum = 0,
        part; /* the checksum covers whole words of eight bytes, but not a remainder at the end */
    for (size_t i = 16; i + 8 <= size; i += 8) {
        memcpy(&part, content + i, sizeof part);
        sum ^= part + 0x9e3779b9 + (sum << 6) + (sum >> 2);
    }
    if (sum != head[1])
        return error_set(err, ERROR_FORMAT, "%s: its checksum is wrong", path);
    const char *offsets = content + HEAD_BYTES, *ids = offsets + 8 * words;
    uint64_t begin, end, last = 0;
    for (uint64_t i = 0; i < words; i++, last = end) {
        memcpy(&end, offsets + 8 * i, sizeof end);
        if (end < last || end > count || (i == 0 && end != 0) || (i + 1 == words && end != count))
            return error_set(err, ERROR_FORMAT, "%s: its offsets do not rise from 0 to %llu", path,
                             (unsigned long long)count);
    }
    if (make_room(list, sources, (size_t)count, (size_t)first, arena, err) != 0)
        return -1;
    int32_t *row = arena_alloc(arena, (size_t)count, sizeof *row);
    if (!row)
        return error_memory(err);
    memcpy(row, ids, (size_t)count * sizeof *row);
    uint32_t largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = (uint32_t)row[i] > largest ? (uint32_t)row[i] : largest;
    if (count > 0 && largest >= targets)
        return error_set(err, ERROR_FORMAT, "%s: has the target %u, but the model has %s", path,
                         largest, source_thousands(arena, targets));
    for (size_t word = 0; word < sources; word++) {
        memcpy(&begin, offsets + 8 * word, sizeof begin);
        memcpy(&end, offsets + 8 * word + 8, sizeof end);
        append(list, row + begin, (size_t)(end - begin), options->one_list);
    }
    return 0;
}

struct line {
    uint32_t source, target;
    size_t number; /* number of the line in its file, from 1; the last line for a pair counts */
    double probability;
};

static int by_pair(const void *a, const void *b) {
    const struct line *one = a, *other = b;
    if (one->source != other->source)
        return one->source < other->source ? -1 : 1;
    if (one->target != other->target)
        return one->target < other->target ? -1 : 1;
    return one->number < other->number ? -1 : one->number > other->number;
}

/* Compares lines: the most probable comes first, and of equals the one with the larger id. */
static int by_probability(const void *a, const void *b) {
    const struct line *one = a, *other = b;
    if (one->probability != other->probability)
        return one->probability > other->probability ? -1 : 1;
    return one->target > other->target ? -1 : one->target < other->target;
}

static bool is_null(const char *word, size_t length) {
    return length == 4 && memcmp(word, "NULL", 4) == 0;
}

/* Returns the number of lines, or -1. */
static ptrdiff_t read_lines(const char *path, char *text, const struct shortlist_options *options,
                            struct arena *arena, struct line **out, struct error *err) {
    static const char blanks[] = " \t\r\v\f";
    struct line *lines = NULL;
    size_t count = 0, room = 0, number = 0;
    uint32_t unknown_source, unknown_target;
    if (!conversion_ids_find(options->source, "<unk>", 5, &unknown_source) ||
        !conversion_ids_find(options->target, "<unk>", 5, &unknown_target))
        return error_set(err, ERROR_FORMAT, "%s: a shortlist of text needs vocabularies with <unk>",
                         path);
    for (char *line = text, *end; line; line = end ? end + 1 : NULL) {
        if ((end = strchr(line, '\n')) != NULL)
            *end = '\0';
        number++;
        const char *fields[3] = {"", "", ""};
        size_t lengths[3] = {0}, found = 0;
        for (char *at = line + strspn(line, blanks); *at && found < 3; at += strspn(at, blanks)) {
            fields[found] = at;
            lengths[found] = strcspn(at, blanks);
            at += lengths[found++];
        }
        if (found == 0 || is_null(fields[0], lengths[0]) || is_null(fields[1], lengths[1]))
            continue;
        char *past = NULL;
        double probability = found == 3 ? strtod(fields[2], &past) : NAN;
        if (found < 3 || past != fields[2] + lengths[2] || !isfinite(probability))
            return error_set(err, ERROR_FORMAT,
                             "%s: line %zu is not a target, a source and a probability", path,
                             number);
        lines = arena_grow(arena, lines, count, &room, 1, sizeof *lines);
        if (!lines)
            return error_memory(err);
        struct line *made = &lines[count++];
        *made = (struct line){unknown_source, unknown_target, number, probability};
        conversion_ids_find(options->target, fields[0], lengths[0], &made->target);
        conversion_ids_find(options->source, fields[1], lengths[1], &made->source);
    }
    *out = lines;
    return (ptrdiff_t)count;
}

static int read_text(const char *path, const struct shortlist_options *options, struct arena *arena,
                     struct conversion_import_shortlist *list, struct error *err) {
    char *text;
    size_t length,
        first = options->first < options->target->size ? options->first : options->target->size;
    struct line *lines = NULL;
    if (source_text(path, MOST_LIST_BYTES, arena, &text, &length, err) != 0)
        return -1;
    ptrdiff_t count = read_lines(path, text, options, arena, &lines, err);
    if (count < 0 || make_room(list, options->source->size, (size_t)count, first, arena, err) != 0)
        return -1;
    int32_t *row = arena_alloc(arena, options->best, sizeof *row);
    if (!row)
        return error_memory(err);
    if (count > 0)
        qsort(lines, (size_t)count, sizeof *lines, by_pair);
    const struct line *past = lines ? lines + count : NULL;
    struct line *at = lines;
    for (uint32_t word = 0; word < options->source->size; word++) {
        struct line *kept = at, *begin = at;
        for (; at < past && at->source == word; at++) {
            bool last = at + 1 == past || at[1].source != word || at[1].target != at->target;
            if (last && at->probability > 0)
                *kept++ = *at;
        }
        size_t found = (size_t)(kept - begin),
               taken = found < options->best ? found : options->best;
        if (found > 0)
            qsort(begin, found, sizeof *begin, by_probability);
        for (size_t i = 0; i < taken; i++)
            row[i] = (int32_t)begin[i].target;
        append(list, row, taken, options->one_list);
    }
    return 0;
}

int conversion_import_shortlist(const char *path, const struct shortlist_options *options,
                                struct arena *arena, struct conversion_import_shortlist *out,
                                struct error *err) {
    struct conversion_import_shortlist list = {.always = NULL};
    char *content;
    size_t size;
    if (source_read(path, MOST_LIST_BYTES, arena, &content, &size, err) != 0)
        return -1;
    const uint64_t magic = SHORTLIST_MAGIC;
    bool binary = source_ends(path, ".bin") ||
                  (size >= sizeof magic && memcmp(content, &magic, sizeof magic) == 0);
    if ((binary ? read_binary(path, (struct bytes){content, size}, options, arena, &list, err)
                : read_text(path, options, arena, &list, err)) != 0)
        return -1;
    *out = list;
    return 0;
}

/* The file is little-endian: u64 magic, u64 4, float32 deviation [4], mean [4], coefficient [4],
 * intercept. They form a logistic regression that predicts that a word is wrong; the weights are
 * its complement: one for each unscaled feature, and a constant. */
int conversion_import_quality(const char *path, struct arena *arena, float weights[QUALITY_WEIGHTS],
                              struct error *err) {
    enum { NUMBERS = 3 * QUALITY_FEATURES + 1, SIZE = 16 + 4 * NUMBERS };
    char *content;
    size_t size;
    uint64_t head[2] = {0, 0};
    float stored[NUMBERS];
    double made[QUALITY_WEIGHTS], constant;
    if (source_read(path, MOST_LIST_BYTES, arena, &content, &size, err) != 0)
        return -1;
    if (size >= sizeof head)
        memcpy(head, content, sizeof head);
    if (head[0] != QUALITY_MAGIC)
        return error_set(err, ERROR_FORMAT, "%s: is not a quality model of Bergamot", path);
    if (head[1] != QUALITY_FEATURES)
        return error_set(err, ERROR_FORMAT, "%s: has %llu features, not %d", path,
                         (unsigned long long)head[1], QUALITY_FEATURES);
    if (size != SIZE)
        return error_set(err, ERROR_FORMAT, "%s: has %zu bytes, not %d", path, size, SIZE);
    memcpy(stored, content + sizeof head, sizeof stored);
    const float *deviation = stored, *mean = stored + QUALITY_FEATURES,
                *coefficient = stored + 2 * QUALITY_FEATURES;
    for (size_t i = 0; i < NUMBERS; i++)
        if (!isfinite(stored[i]) || (i < QUALITY_FEATURES && stored[i] <= 0))
            return error_set(err, ERROR_FORMAT,
                             "%s: its numbers are not finite, or a deviation is not positive",
                             path);
    constant = -(double)stored[NUMBERS - 1];
    double product = 0;
    for (size_t i = 0; i < QUALITY_FEATURES; i++) {
        made[i] = -(double)coefficient[i] / (double)deviation[i];
        product += made[i] * (double)mean[i];
    }
    made[QUALITY_FEATURES] = constant - product;
    for (size_t i = 0; i < QUALITY_WEIGHTS; i++)
        if (!isfinite((float)made[i]))
            return error_set(err, ERROR_FORMAT, "%s: its numbers are too large", path);
    for (size_t i = 0; i < QUALITY_WEIGHTS; i++)
        weights[i] = (float)made[i];
    return 0;
}

/* ---- the card ---- */

static const char *string_of(const json_t *section, const char *key) {
    const char *text = json_string_value(json_object_get(section, key));
    return text ? text : "";
}

static long long number_of(const json_t *section, const char *key) {
    return json_integer_value(json_object_get(section, key));
}

/* Describes one stack of a transformer. */
static const char *describe_blocks(const json_t *section, struct arena *arena) {
    const char *mixer = string_of(section, "mixer");
    mixer = strcmp(mixer, "ssru") == 0      ? "SSRU"
            : strcmp(mixer, "average") == 0 ? "average attention"
                                            : "self-attention";
    return source_say(
        arena,
        "%lld x %lld transformer, %s, %lld heads, feed-forward %lld %s, norm %s, positions %s",
        number_of(section, "layers"), number_of(section, "hidden"), mixer,
        number_of(section, "heads"), number_of(section, "filter"), string_of(section, "activation"),
        string_of(section, "norm"), string_of(section, "positions"));
}

static const char *describe_cell(const json_t *section, struct arena *arena) {
    char *kind = arena_copy(arena, string_of(section, "cell"), strlen(string_of(section, "cell")));
    for (char *c = kind; c && *c; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    return source_say(arena, "%lld x %lld %s, embeddings %lld%s", number_of(section, "layers"),
                      number_of(section, "hidden"), kind ? kind : "",
                      number_of(section, "embedding"),
                      json_is_true(json_object_get(section, "residual")) ? ", residual" : "");
}

/* Returns the card's text in the arena, or NULL if memory runs out. */
static const char *card_text(const struct conversion *c, uint64_t weights, struct arena *arena) {
    const json_t *encoder = json_object_get(c->config, "encoder"),
                 *decoder = json_object_get(c->config, "decoder");
    const json_t *attention = json_object_get(c->config, "attention"),
                 *output = json_object_get(c->config, "output");
    bool blocks = strcmp(string_of(encoder, "type"), "transformer") == 0;
    bool both = json_is_true(json_object_get(encoder, "bidirectional")),
         forward = strcmp(string_of(encoder, "stack"), "forward") == 0;
    const char *name = string_of(c->config, "name"), *decoded, *attended, *read, *row = "";
    const struct import_origin *from = c->downloaded;
    if (from)
        row = source_say(arena, "| downloaded | %s%s%s, %s |\n", from->from,
                         *from->version ? " " : "", from->version, from->url);
    const char *encoded = blocks ? describe_blocks(encoder, arena)
                                 : source_say(arena, "%s%s", describe_cell(encoder, arena),
                                              both ? ", bidirectional" : "");
    if (blocks) {
        decoded = describe_blocks(decoder, arena);
        read = source_say(arena, "the top layer (%lld)", number_of(decoder, "hidden"));
        attended = source_say(arena, "%lld heads in each layer", number_of(decoder, "heads"));
    } else {
        decoded =
            source_say(arena, "%s, %s; initial state %s, projected", string_of(decoder, "style"),
                       describe_cell(decoder, arena), string_of(decoder, "initial_state"));
        read = source_say(arena, "%s readout (%lld)", string_of(decoder, "readout"),
                          number_of(decoder, "readout_size"));
        attended = source_say(arena, "%s (%lld) over annotations of %lld",
                              string_of(attention, "score"), number_of(attention, "size"),
                              number_of(encoder, "hidden") * (both && !forward ? 2 : 1));
    }
    return source_say(
        arena,
        "# %s\n\nConverted from %s by `alignd import`. Loaded by `alignd --model %s`.\n\n| | "
        "|\n|---|---|\n| from | "
        "%s |\n| into | %s |\n"
        "| encoder | %s |\n| attention | %s |\n| decoder | %s |\n| output | %s, softmax over the "
        "target pieces%s "
        "|\n| tokens | %s |\n"
        "| parameters | %s |\n| stored as | %s, vectors as float32; %.1f MB |\n%s\n"
        "Data and training are those of the model that it was converted from. Licence: %s.%s%s%s\n",
        name, c->from, name, string_of(c->config, "source"), string_of(c->config, "target"),
        encoded, attended, decoded, read,
        json_is_true(json_object_get(output, "tied")) ? ", tied to the target embedding" : "",
        strcmp(string_of(json_object_get(c->config, "tokenizer"), "type"), "words") == 0
            ? "words"
            : "SentencePiece unigram",
        source_thousands(arena, tensors_parameters(&c->tensors)), storage_names[c->storage],
        (double)weights / 1e6, row,
        *c->origin.licence ? c->origin.licence : "that of the model that it was converted from",
        *c->origin.attribution ? " Attribution: " : "", c->origin.attribution,
        *c->origin.attribution ? "." : "");
}

/* ---- files ---- */

/* Writes a new file and syncs it to the disk. */
static int write_file(const char *folder, const char *name, const char *bytes, size_t count,
                      struct arena *arena, struct error *err) {
    const char *path = source_path_join(arena, folder, name);
    if (!path)
        return error_memory(err);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int result = file >= 0 && file_write_all(file, bytes, count) == 0 && fsync(file) == 0
                     ? 0
                     : error_set(err, ERROR_FILE, "%s: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
    return result;
}

/* Writes a JSON file and frees its text, which is malloc'ed, or NULL if memory ran out. */
static int write_json(const char *folder, const char *name, char *text, struct arena *arena,
                      struct error *err) {
    const char *line = text ? source_say(arena, "%s\n", text) : NULL;
    free(text);
    return line ? write_file(folder, name, line, strlen(line), arena, err) : error_memory(err);
}

/* Computes the SHA-256 of a file, 64 digits and a NUL, and the size. */
static int digest(const char *path, import_stop stop, uint64_t *size,
                  char sha256[2 * SHA256_BYTES + 1], struct error *err) {
    unsigned char hash[SHA256_BYTES], bytes[READ_BYTES];
    struct sha256_ctx state;
    int file = source_open(path, size, err);
    if (file < 0)
        return -1;
    int result = 0;
    sha256_init(&state);
    for (uint64_t at = 0; result == 0 && at < *size;) {
        size_t step = *size - at < sizeof bytes ? (size_t)(*size - at) : sizeof bytes;
        result = source_interrupted(stop, err);
        if (result == 0)
            result = source_read_at(file, at, bytes, step, path, err);
        if (result == 0)
            sha256_update(&state, step, bytes);
        at += step;
    }
    sha256_digest(&state, sizeof hash, hash);
    close(file);
    for (size_t i = 0; result == 0 && i < SHA256_BYTES; i++)
        snprintf(sha256 + 2 * i, 3, "%02x", hash[i]);
    return result;
}

/* Writes origin.json, the card's facts about the licence and the download for programs, with only
 * the name of the licence. For a model that was not downloaded, only the licence and the
 * attribution may be set. */
static int write_origin(const char *folder, const struct conversion *c, struct arena *arena,
                        struct error *err) {
    static const struct import_origin elsewhere = {"", "", "", "", "", ""};
    const struct import_origin *from = c->downloaded ? c->downloaded : &elsewhere;
    size_t length = strcspn(c->origin.licence, "(,");
    while (length > 0 && c->origin.licence[length - 1] == ' ')
        length--;
    const char *brief = arena_copy(arena, c->origin.licence, length);
    if (brief && strcmp(brief, "that of LICENSE") == 0)
        brief = "see LICENSE";
    json_t *json = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s}", "format", 1, "from", from->from,
                             "asked", from->asked, "version", from->version, "url", from->url,
                             "licence", brief, "attribution", c->origin.attribution);
    char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
    json_decref(json);
    return write_json(folder, "origin.json", text, arena, err);
}

/* Writes manifest.json, the size and the SHA-256 of each of these files. names: sorted. */
static int write_manifest(const char *folder, const char *const *names, size_t count,
                          struct arena *arena, import_stop stop, struct error *err) {
    json_t *files = json_object(), *manifest = json_pack("{s:i, s:o}", "format", 1, "files", files);
    int result = manifest ? 0 : error_memory(err);
    for (size_t i = 0; result == 0 && i < count; i++) {
        char sha256[2 * SHA256_BYTES + 1];
        uint64_t size;
        result = digest(source_path_join(arena, folder, names[i]), stop, &size, sha256, err);
        if (result == 0 && json_object_set_new(files, names[i],
                                               json_pack("{s:I, s:s}", "bytes", (json_int_t)size,
                                                         "sha256", sha256)) != 0)
            result = error_memory(err);
    }
    if (result == 0)
        result =
            write_json(folder, "manifest.json", json_dumps(manifest, JSON_INDENT(2)), arena, err);
    json_decref(manifest);
    return result;
}

int folder_write(const char *folder, struct conversion *c, struct arena *arena, import_stop stop,
                 uint64_t *weights, struct error *err) {
    static const int32_t multiple = MULTIPLE;
    const struct conversion_import_shortlist *list = &c->shortlist;
    const struct ready shortlist[] = {{"always", true, list->always_count, list->always},
                                      {"offsets", true, list->offset_count, list->offsets},
                                      {"targets", true, list->target_count, list->targets},
                                      {"multiple", true, 1, &multiple}};
    const struct ready quality = {"log_probs", false, QUALITY_WEIGHTS, c->quality};
    const char *names[16];
    size_t count = 0;
    struct model_config config;
    struct error inner = {0};
    if (c->tensors.failed || config_fill(c->config, err) != 0)
        return -1;
    const char *path = source_path_join(arena, folder, names[count++] = "config.json");
    if (!path)
        return error_memory(err);
    if (write_json(folder, "config.json", config_text(c->config), arena, err) != 0)
        return -1;
    if (config_read(path, &config, &inner) != 0)
        return error_set(err, inner.code, "the model's configuration: %s", inner.message);

    path = source_path_join(arena, folder, names[count++] = "model.safetensors");
    if (tensors_write(&c->tensors, &(struct tensors_file){path, c->storage, c->from}, stop, weights,
                      err) != 0)
        return -1;
    for (size_t i = 0; i < c->tokenizer.count; i++)
        if (write_file(folder, names[count++] = c->tokenizer.files[i].name,
                       c->tokenizer.files[i].content, c->tokenizer.files[i].bytes, arena, err) != 0)
            return -1;
    if (c->origin.text && write_file(folder, names[count++] = "LICENSE", c->origin.text,
                                     c->origin.text_bytes, arena, err) != 0)
        return -1;
    if (*c->origin.card && write_file(folder, "README.original.md", c->origin.card,
                                      strlen(c->origin.card), arena, err) != 0)
        return -1;
    if (c->has_shortlist || c->list_count > 0) {
        const struct ready *tensors = c->has_shortlist ? shortlist : c->lists;
        size_t tensor_count =
            c->has_shortlist ? sizeof shortlist / sizeof *shortlist : c->list_count;
        path = source_path_join(arena, folder, names[count++] = "shortlist.safetensors");
        if (tensors_write_ready(path, tensors, tensor_count, arena, err) != 0)
            return -1;
    }
    if (c->has_quality) {
        path = source_path_join(arena, folder, names[count++] = "quality.safetensors");
        if (tensors_write_ready(path, &quality, 1, arena, err) != 0)
            return -1;
    }

    /* The origin of the download supplies the licence and the attribution if the files beside the
     * model do not. */
    if (c->downloaded && !*c->origin.licence)
        c->origin.licence = c->downloaded->licence;
    if (c->downloaded && !*c->origin.attribution)
        c->origin.attribution = c->downloaded->attribution;
    const char *card = card_text(c, *weights, arena);
    if (!card || arena_failed(arena))
        return error_memory(err);
    if (write_file(folder, "README.md", card, strlen(card), arena, err) != 0 ||
        ((c->downloaded || *c->origin.licence) && write_origin(folder, c, arena, err) != 0))
        return -1;
    qsort(names, count, sizeof *names, source_by_name);
    return write_manifest(folder, names, count, arena, stop, err);
}

static int sync_folder(const char *path, struct error *err) {
    int file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int result = file >= 0 && fsync(file) == 0
                     ? 0
                     : error_set(err, ERROR_FILE, "%s: %s", path, strerror(errno));
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
                         errno == EEXIST || errno == ENOTEMPTY ? "already exists"
                                                               : strerror(errno));
    const char *slash = strrchr(out, '/');
    char *parent =
        slash && slash > out ? strndup(out, (size_t)(slash - out)) : strdup(slash ? "/" : ".");
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

/* ---- lists that are added later ---- */

enum { MOST_CONFIG_BYTES = 1 << 20 };

/* Adds a tensor to the container, or replaces the one of this name. Makes the container if it is
 * missing. */
static int add_to_shortlist(const char *path, const struct ready *added, struct arena *arena,
                            struct error *err) {
    int result = -1;
    size_t count = 0, room = 0;
    struct safetensors *file = NULL;
    const char *next = source_say(arena, "%s.new", path);
    if (!next)
        return error_memory(err);
    if (source_exists(path)) {
        if (!(file = safetensors_open(path, err)))
            return -1;
        room = safetensors_count(file);
    }
    struct ready *tensors = arena_alloc(arena, room + 2, sizeof *tensors);
    if (!tensors) {
        error_memory(err);
        goto done;
    }
    if (!file)
        tensors[count++] = (struct ready){.name = "always", .integers = true, .numbers = ""};
    for (size_t i = 0; i < room; i++) {
        const struct tensor *tensor = safetensors_at(file, i);
        if (tensor->dtype != DTYPE_I32 || tensor->dims != 1) {
            error_set(err, ERROR_FORMAT,
                      "shortlist.safetensors: tensor %s: must be I32 with one dimension",
                      tensor->name);
            goto done;
        }
        if (strcmp(tensor->name, added->name) != 0)
            tensors[count++] = (struct ready){tensor->name, true, tensor->shape[0], tensor->data};
    }
    tensors[count++] = *added;

    unlink(next); /* a process that was interrupted may have left it */
    result = tensors_write_ready(next, tensors, count, arena, err);
    if (result == 0 && rename(next, path) != 0)
        result = error_set(err, ERROR_FILE, "cannot write %s: %s", path, strerror(errno));
done:
    if (result != 0)
        unlink(next);
    safetensors_free(file);
    return result;
}

/* Reads config.json. Returns NULL with ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY. */
static json_t *read_config(const char *path, struct error *err) {
    char *text = NULL;
    size_t length;
    json_error_t problem;
    if (file_read(path, MOST_CONFIG_BYTES, &text, &length, err) != 0)
        return NULL;
    json_t *config = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    free(text);
    if (!config)
        error_set(err, ERROR_FORMAT, "%s: line %d, column %d: %s", path, problem.line,
                  problem.column, problem.text);
    return config;
}

static int replace_config(const char *path, const char *text, struct error *err) {
    const struct file_part parts[] = {{text, strlen(text)}, {"\n", 1}};
    return file_replace_parts(path, parts, sizeof parts / sizeof *parts, err);
}

int import_put_lists(const char *folder, const char *code, const int32_t *ids, size_t count,
                     struct error *err) {
    struct arena arena;
    arena_init(&arena, 16 * 1024);
    const char *path = source_path_join(&arena, folder, "config.json"),
               *shortlist = source_path_join(&arena, folder, "shortlist.safetensors"),
               *name = source_say(&arena, "list.%s", code), *key;
    json_t *config = NULL, *other;
    char *text = NULL;
    int result = -1;
    if (arena_failed(&arena)) {
        error_memory(err);
        goto done;
    }
    if (!(config = read_config(path, err)))
        goto done;
    json_t *languages = json_object_get(config, "languages"),
           *language = json_object_get(languages, code);
    if (!json_is_object(language)) {
        error_set(err, ERROR_INPUT, "config.json has no language %.60s", code);
        goto done;
    }
    json_object_foreach(languages, key, other) {
        const char *list = json_string_value(json_object_get(other, "list"));
        if (other != language && list && strcmp(list, code) == 0) {
            error_set(err, ERROR_INPUT,
                      "languages.%.60s.list of config.json has the name of another language's "
                      "list, %.60s",
                      key, code);
            goto done;
        }
    }
    if (json_object_set_new(language, "list", json_string(code)) != 0 ||
        !(text = config_text(config))) {
        error_memory(err);
        goto done;
    }
    if (add_to_shortlist(shortlist, &(struct ready){name, true, count, ids}, &arena, err) == 0)
        result = replace_config(path, text, err);
done:
    json_decref(config);
    free(text);
    arena_done(&arena);
    return result;
}

/* ---- alignment heads that are added later ---- */

/* Returns the header of a container that can be opened, as an object. */
static json_t *read_header(const char *path, struct error *err) {
    enum { LENGTH_BYTES = 8 };
    unsigned char length[LENGTH_BYTES];
    json_t *header = NULL;
    json_error_t problem;
    FILE *file = fopen(path, "rbe");
    if (file && fread(length, 1, sizeof length, file) == sizeof length)
        header = json_loadf(file, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &problem);
    if (file)
        fclose(file);
    if (!json_is_object(header)) {
        json_decref(header);
        error_set(err, ERROR_FORMAT, "%s: the header cannot be read", path);
        return NULL;
    }
    return header;
}

/* Appends a tensor's entry, whose data are the part. */
static void put_entry(json_t *entries, const char *name, json_t *entry, size_t bytes,
                      uint64_t *end) {
    json_object_set_new(entry, "data_offsets",
                        json_pack("[I, I]", (json_int_t)*end, (json_int_t)(*end + bytes)));
    json_object_set_new(entries, name, entry);
    *end += bytes;
}

/* Writes the container again with the head's tensors after the others. header: of the file. */
static int replace_tensors(const char *path, const struct safetensors *file, const json_t *header,
                           const struct import_head *head, struct error *err) {
    static const char prefix[] = "alignment.";
    const struct {
        const char *name;
        const float *values;
        size_t rows, columns; /* 0 columns: one dimension */
    } added[] = {{"alignment.query.weight", head->query, head->size, head->query_in},
                 {"alignment.query.bias", head->bias, head->size, 0},
                 {"alignment.key.weight", head->key, head->size, head->key_in}};
    enum { ADDED = sizeof added / sizeof *added, BEFORE = 2, ROUND = 8 };
    size_t count = safetensors_count(file), used = BEFORE;
    uint64_t end = 0;
    struct file_part *parts = calloc(BEFORE + count + ADDED, sizeof *parts);
    json_t *entries = json_object();
    char *text = NULL;
    int result = -1;
    if (json_object_get(header, "__metadata__"))
        json_object_set(entries, "__metadata__", json_object_get(header, "__metadata__"));
    for (size_t i = 0; parts && i < count; i++) {
        const struct tensor *tensor = safetensors_at(file, i);
        if (strncmp(tensor->name, prefix, sizeof prefix - 1) == 0)
            continue;
        put_entry(entries, tensor->name, json_copy(json_object_get(header, tensor->name)),
                  tensor->bytes, &end);
        parts[used++] = (struct file_part){tensor->data, tensor->bytes};
    }
    for (size_t i = 0; parts && i < ADDED; i++) {
        size_t columns = added[i].columns, numbers = added[i].rows * (columns > 0 ? columns : 1);
        json_t *shape = columns > 0
                            ? json_pack("[I, I]", (json_int_t)added[i].rows, (json_int_t)columns)
                            : json_pack("[I]", (json_int_t)added[i].rows);
        put_entry(entries, added[i].name, json_pack("{s:s, s:o}", "dtype", "F32", "shape", shape),
                  numbers * sizeof(float), &end);
        parts[used++] = (struct file_part){added[i].values, numbers * sizeof(float)};
    }
    char *dumped = parts ? json_dumps(entries, JSON_COMPACT) : NULL;
    if (dumped && json_object_size(entries) + BEFORE >= used) {
        size_t length = strlen(dumped), room = (length + ROUND - 1) / ROUND * ROUND;
        unsigned char size[ROUND];
        text = malloc(room + 1);
        for (size_t i = 0; i < ROUND; i++)
            size[i] = (unsigned char)((uint64_t)room >> (8 * i));
        if (text) { /* the header is filled with spaces, so that the data are aligned */
            snprintf(text, room + 1, "%-*s", (int)room, dumped);
            parts[0] = (struct file_part){size, sizeof size};
            parts[1] = (struct file_part){text, room};
            result = file_replace_parts(path, parts, used, err);
        }
    }
    if (!text)
        error_memory(err);
    free(text);
    free(dumped);
    free(parts);
    json_decref(entries);
    return result;
}

int import_put_head(const char *folder, const struct import_head *head, struct error *err) {
    struct arena arena;
    arena_init(&arena, 16 * 1024);
    const char *path = source_path_join(&arena, folder, "config.json"),
               *weights = source_path_join(&arena, folder, "model.safetensors");
    json_t *config = NULL, *header = NULL;
    struct safetensors *file = NULL;
    char *text = NULL;
    int result = -1;
    if (arena_failed(&arena)) {
        error_memory(err);
    } else if ((config = read_config(path, err)) && (file = safetensors_open(weights, err)) &&
               (header = read_header(weights, err))) {
        if (json_object_set_new(config, "alignment",
                                json_pack("{s:I}", "size", (json_int_t)head->size)) != 0 ||
            !(text = config_text(config)))
            error_memory(err);
        else if (replace_tensors(weights, file, header, head, err) == 0)
            result = replace_config(path, text, err);
    }
    safetensors_free(file);
    json_decref(header);
    json_decref(config);
    free(text);
    arena_done(&arena);
    return result;
}
