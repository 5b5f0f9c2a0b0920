#include "model/import/shortlist_import.h"
#include "model/import/tensors.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Binary shortlists, little-endian: u64 magic, checksum of all that follows, number F of first ids, number of best, W = source
 * words + 1, L; u64 offsets [W]; u32 targets [L]. Text: lines of `target source probability`. The ids 0 .. F - 1 are on every list.
 */
#define SHORTLIST_MAGIC UINT64_C(0xF11A48D5013417F5)
#define QUALITY_MAGIC   UINT64_C(0x78CC336F1D54B180)

enum { HEAD_BYTES = 48, MULTIPLE = 8 /* Marian fills each list up with the lowest ids that it lacks */, QUALITY_FEATURES = 4 };
enum { MOST_BYTES = 1 << 30 };

/* The checksum covers whole words of eight bytes, but not a remainder at the end. */
static uint64_t checksum_of(const char *bytes, size_t count) {
    uint64_t h = 0, word;
    for (size_t i = 0; i + 8 <= count; i += 8) {
        memcpy(&word, bytes + i, sizeof word);
        h ^= word + 0x9e3779b9 + (h << 6) + (h >> 2);
    }
    return h;
}

static int by_number(const void *a, const void *b) {
    int32_t one = *(const int32_t *)a, other = *(const int32_t *)b;
    return one < other ? -1 : one > other;
}

/* Appends a source word's targets, sorted and each once. Room is there for all, and one more a word. */
static void append(struct shortlist_import *list, const int32_t *targets, size_t count, bool own) {
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

/* Makes room for this many targets of this many source words, and for the ids that are always listed. */
static int make_room(struct shortlist_import *list, size_t words, size_t targets, size_t first, struct arena *arena,
                     struct error *err) {
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

static int read_binary(const char *path, const char *content, size_t size, const struct shortlist_options *options,
                       struct arena *arena, struct shortlist_import *list, struct error *err) {
    uint64_t head[6];
    size_t sources = options->source->size, targets = options->target->size;
    if (size < HEAD_BYTES)
        return error_set(err, ERROR_FORMAT, "%s: a shortlist has at least %d bytes", path, HEAD_BYTES);
    memcpy(head, content, sizeof head);
    uint64_t first = head[2], words = head[4], count = head[5];
    if (head[0] != SHORTLIST_MAGIC)
        return error_set(err, ERROR_FORMAT, "%s: is not a binary shortlist of Marian", path);
    if (words > size / 8 || count > size / 4 || HEAD_BYTES + 8 * words + 4 * count != size)
        return error_set(err, ERROR_FORMAT, "%s: its size does not match its %llu offsets and %llu targets", path,
                         (unsigned long long)words, (unsigned long long)count);
    if (words != sources + 1)
        return error_set(err, ERROR_FORMAT, "%s: has %s source words, the model %s", path,
                         import_thousands(arena, words ? words - 1 : 0), import_thousands(arena, sources));
    if (first > targets)
        return error_set(err, ERROR_FORMAT, "%s: puts %s ids on every list, but the model has %s", path,
                         import_thousands(arena, first), import_thousands(arena, targets));
    if (checksum_of(content + 16, size - 16) != head[1])
        return error_set(err, ERROR_FORMAT, "%s: its checksum is wrong", path);
    const char *offsets = content + HEAD_BYTES, *ids = offsets + 8 * words;
    uint64_t begin, end, last = 0;
    for (uint64_t i = 0; i < words; i++, last = end) {
        memcpy(&end, offsets + 8 * i, sizeof end);
        if (end < last || end > count || (i == 0 && end != 0) || (i + 1 == words && end != count))
            return error_set(err, ERROR_FORMAT, "%s: its offsets do not rise from 0 to %llu", path, (unsigned long long)count);
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
        return error_set(err, ERROR_FORMAT, "%s: has the target %u, but the model has %s", path, largest,
                         import_thousands(arena, targets));
    for (size_t word = 0; word < sources; word++) {
        memcpy(&begin, offsets + 8 * word, sizeof begin);
        memcpy(&end, offsets + 8 * word + 8, sizeof end);
        append(list, row + begin, (size_t)(end - begin), options->one_list);
    }
    return 0;
}

/* ---- text ---- */

struct line {
    uint32_t source, target;
    size_t number; /* of the line: of those for one pair the last counts */
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

/* The most probable first; of equals the larger id. */
static int by_probability(const void *a, const void *b) {
    const struct line *one = a, *other = b;
    if (one->probability != other->probability)
        return one->probability > other->probability ? -1 : 1;
    return one->target > other->target ? -1 : one->target < other->target;
}

static bool is_null(const char *word, size_t length) {
    return length == 4 && memcmp(word, "NULL", 4) == 0;
}

/* Returns the lines' number, or -1. */
static ptrdiff_t read_lines(const char *path, char *text, const struct shortlist_options *options, struct arena *arena,
                            struct line **out, struct error *err) {
    static const char blanks[] = " \t\r\v\f";
    struct line *lines = NULL;
    size_t count = 0, room = 0, number = 0;
    uint32_t unknown_source, unknown_target;
    if (!ids_find(options->source, "<unk>", 5, &unknown_source) || !ids_find(options->target, "<unk>", 5, &unknown_target))
        return error_set(err, ERROR_FORMAT, "%s: a shortlist of text needs vocabularies with <unk>", path);
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
            return error_set(err, ERROR_FORMAT, "%s: line %zu is not a target, a source and a probability", path, number);
        struct line *grown = arena_grow(arena, lines, count, &room, 1, sizeof *lines);
        if (!grown)
            return error_memory(err);
        lines = grown;
        struct line made = {unknown_source, unknown_target, number, probability};
        ids_find(options->target, fields[0], lengths[0], &made.target);
        ids_find(options->source, fields[1], lengths[1], &made.source);
        lines[count++] = made;
    }
    *out = lines;
    return (ptrdiff_t)count;
}

static int read_text(const char *path, const struct shortlist_options *options, struct arena *arena, struct shortlist_import *list,
                     struct error *err) {
    char *text;
    size_t length, first = options->first < options->target->size ? options->first : options->target->size;
    struct line *lines = NULL;
    if (source_text(path, MOST_BYTES, arena, &text, &length, err) != 0)
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
        size_t found = (size_t)(kept - begin), taken = found < options->best ? found : options->best;
        if (found > 0)
            qsort(begin, found, sizeof *begin, by_probability);
        for (size_t i = 0; i < taken; i++)
            row[i] = (int32_t)begin[i].target;
        append(list, row, taken, options->one_list);
    }
    return 0;
}

int shortlist_import(const char *path, const struct shortlist_options *options, struct arena *arena, struct shortlist_import *out,
                     struct error *err) {
    struct shortlist_import list = {.always = NULL};
    char *content;
    size_t size;
    if (source_read(path, MOST_BYTES, arena, &content, &size, err) != 0)
        return -1;
    const uint64_t magic = SHORTLIST_MAGIC;
    bool binary = source_ends(path, ".bin") || (size >= sizeof magic && memcmp(content, &magic, sizeof magic) == 0);
    if ((binary ? read_binary(path, content, size, options, arena, &list, err) : read_text(path, options, arena, &list, err)) != 0)
        return -1;
    *out = list;
    return 0;
}

int shortlist_import_write(const char *path, const struct shortlist_import *list, struct arena *arena, struct error *err) {
    static const int32_t multiple = MULTIPLE;
    const struct ready tensors[] = {{"always", true, list->always_count, list->always},
                                    {"offsets", true, list->offset_count, list->offsets},
                                    {"targets", true, list->target_count, list->targets},
                                    {"multiple", true, 1, &multiple}};
    return ready_write(path, tensors, sizeof tensors / sizeof *tensors, arena, err);
}

/* ---- quality models ---- */

/* In the file, little-endian: u64 magic, u64 4, float32 deviation [4], mean [4], coefficient [4], intercept: a logistic regression
 * of whether a word is wrong. Here its complement, a weight for each feature as it is, and a constant. */
int quality_import(const char *path, struct arena *arena, float weights[QUALITY_WEIGHTS], struct error *err) {
    enum { NUMBERS = 3 * QUALITY_FEATURES + 1, SIZE = 16 + 4 * NUMBERS };
    char *content;
    size_t size;
    uint64_t head[2] = {0, 0};
    float stored[NUMBERS];
    double made[QUALITY_WEIGHTS], constant;
    if (source_read(path, MOST_BYTES, arena, &content, &size, err) != 0)
        return -1;
    if (size >= sizeof head)
        memcpy(head, content, sizeof head);
    if (head[0] != QUALITY_MAGIC)
        return error_set(err, ERROR_FORMAT, "%s: is not a quality model of Bergamot", path);
    if (head[1] != QUALITY_FEATURES)
        return error_set(err, ERROR_FORMAT, "%s: has %llu features, not %d", path, (unsigned long long)head[1], QUALITY_FEATURES);
    if (size != SIZE)
        return error_set(err, ERROR_FORMAT, "%s: has %zu bytes, not %d", path, size, SIZE);
    memcpy(stored, content + sizeof head, sizeof stored);
    const float *deviation = stored, *mean = stored + QUALITY_FEATURES, *coefficient = stored + 2 * QUALITY_FEATURES;
    for (size_t i = 0; i < NUMBERS; i++)
        if (!isfinite(stored[i]) || (i < QUALITY_FEATURES && stored[i] <= 0))
            return error_set(err, ERROR_FORMAT, "%s: its numbers are not finite, or a deviation is not positive", path);
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

int quality_import_write(const char *path, const float weights[QUALITY_WEIGHTS], struct arena *arena, struct error *err) {
    return ready_write(path, &(struct ready){"log_probs", false, QUALITY_WEIGHTS, weights}, 1, arena, err);
}
