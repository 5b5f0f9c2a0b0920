#include "model/weights/shortlist.h"
#include "model/weights/safetensors.h"
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SET_BITS = 64 };

struct shortlist {
    struct arena arena; /* all below */
    uint64_t *always;   /* [words]: a set of target ids, one bit each */
    size_t words;
    const int *offsets; /* [sources + 1] */
    size_t sources;     /* size of the source vocabulary */
    const int *targets; /* [offsets[sources]] */
    size_t vocabulary;  /* size of the target's */
    size_t multiple;    /* lists are filled up to a multiple of this */
};

static void set_add(uint64_t *set, int id) {
    set[id / SET_BITS] |= UINT64_C(1) << id % SET_BITS;
}

/* A copy, since data in the file may be misaligned. NULL if there is no such tensor or memory is out. */
static const int *read_integers(struct arena *arena, const struct safetensors *file, const char *name, size_t *count,
                                struct error *err) {
    const struct tensor *tensor = safetensors_find(file, name);
    if (tensor == NULL || tensor->dtype != DTYPE_I32 || tensor->dims != 1) {
        error_set(err, ERROR_FORMAT, "tensor %s: %s", name, tensor == NULL ? "missing" : "must be I32 with one dimension");
        return NULL;
    }
    _Static_assert(sizeof(int) == 4, "I32 is read as int");
    int *integers = arena_alloc(arena, tensor->shape[0], sizeof *integers);
    if (integers == NULL) {
        error_memory(err);
        return NULL;
    }
    memcpy(integers, tensor->data, tensor->bytes);
    *count = tensor->shape[0];
    return integers;
}

/* The ids of a tensor, each in the target vocabulary. */
static const int *read_ids(struct arena *arena, const struct safetensors *file, const char *name, size_t vocabulary, size_t *count,
                           struct error *err) {
    const int *ids = read_integers(arena, file, name, count, err);
    for (size_t i = 0; ids != NULL && i < *count; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= vocabulary) {
            error_set(err, ERROR_FORMAT, "tensor %s: id %d is not in the target vocabulary of %zu", name, ids[i], vocabulary);
            return NULL;
        }
    }
    return ids;
}

/* They rise from 0 to the number of targets, so that every piece's part lies within. */
static int check_offsets(const int *offsets, size_t count, size_t sources, size_t targets, struct error *err) {
    if (count != sources + 1)
        return error_set(err, ERROR_FORMAT, "tensor offsets: %zu numbers, but the source vocabulary needs %zu", count, sources + 1);
    if (offsets[0] != 0)
        return error_set(err, ERROR_FORMAT, "tensor offsets: must begin with 0");
    for (size_t i = 0; i < sources; i++) {
        if (offsets[i] > offsets[i + 1])
            return error_set(err, ERROR_FORMAT, "tensor offsets: number %zu is less than the one before it", i + 1);
    }
    if ((size_t)offsets[sources] != targets)
        return error_set(err, ERROR_FORMAT, "tensor offsets: end with %d, but there are %zu targets", offsets[sources], targets);
    return 0;
}

static int make_always(struct shortlist *list, const int *ids, size_t count, size_t vocabulary, int end, struct error *err) {
    list->words = (vocabulary + SET_BITS - 1) / SET_BITS;
    list->always = arena_zalloc(&list->arena, list->words, sizeof *list->always);
    if (list->always == NULL)
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        set_add(list->always, ids[i]);
    set_add(list->always, end);
    return 0;
}

/* Not every file has it. */
static int read_multiple(struct shortlist *list, const struct safetensors *file, struct error *err) {
    size_t count;
    list->multiple = 1;
    if (safetensors_find(file, "multiple") == NULL)
        return 0;
    const int *multiple = read_integers(&list->arena, file, "multiple", &count, err);
    if (multiple == NULL)
        return -1;
    if (count != 1 || *multiple < 1)
        return error_set(err, ERROR_FORMAT, "tensor multiple: must be one positive number");
    list->multiple = (size_t)*multiple;
    return 0;
}

static int read_lists(struct shortlist *list, const struct safetensors *file, size_t vocabulary, int end, struct error *err) {
    struct arena *arena = &list->arena;
    if (read_multiple(list, file, err) != 0)
        return -1;
    size_t always_count, offset_count, target_count;
    const int *always = read_ids(arena, file, "always", vocabulary, &always_count, err);
    if (always == NULL || make_always(list, always, always_count, vocabulary, end, err) != 0)
        return -1;
    list->offsets = read_integers(arena, file, "offsets", &offset_count, err);
    list->targets = list->offsets != NULL ? read_ids(arena, file, "targets", vocabulary, &target_count, err) : NULL;
    return list->targets != NULL ? check_offsets(list->offsets, offset_count, list->sources, target_count, err) : -1;
}

struct shortlist *shortlist_open(const char *path, size_t source_vocabulary, size_t target_vocabulary, int end, struct error *err) {
    assert(end >= 0 && (size_t)end < target_vocabulary);
    struct shortlist *list = calloc(1, sizeof *list);
    if (list == NULL) {
        error_memory(err);
        return NULL;
    }
    arena_init(&list->arena, 64 * 1024);
    list->sources = source_vocabulary;
    list->vocabulary = target_vocabulary;
    struct safetensors *file = safetensors_open(path, err);
    int result = file != NULL ? read_lists(list, file, target_vocabulary, end, err) : -1;
    safetensors_free(file);
    if (result == 0)
        return list;
    shortlist_free(list);
    return NULL;
}

void shortlist_free(struct shortlist *list) {
    if (list == NULL)
        return;
    arena_done(&list->arena);
    free(list);
}

static void add_piece(const struct shortlist *list, int piece, uint64_t *set) {
    assert(piece >= 0 && (size_t)piece < list->sources);
    for (int i = list->offsets[piece]; i < list->offsets[piece + 1]; i++)
        set_add(set, list->targets[i]);
}

static size_t set_count(const uint64_t *set, size_t words) {
    size_t count = 0;
    for (size_t w = 0; w < words; w++)
        count += (size_t)__builtin_popcountll(set[w]);
    return count;
}

/* With the lowest ids that are not in it, as long as there are any. -> its size. */
static size_t set_fill(uint64_t *set, size_t count, size_t multiple, size_t vocabulary) {
    for (size_t id = 0; count % multiple != 0 && id < vocabulary; id++) {
        if ((set[id / SET_BITS] >> id % SET_BITS & 1) == 0) {
            set_add(set, (int)id);
            count++;
        }
    }
    return count;
}

/* Ascending, since each step takes the lowest bit. */
static void set_list(const uint64_t *set, size_t words, int *ids) {
    for (size_t w = 0; w < words; w++)
        for (uint64_t left = set[w]; left != 0; left &= left - 1)
            *ids++ = (int)(w * SET_BITS) + __builtin_ctzll(left);
}

int shortlist_of(const struct shortlist *list, const int *source_ids, size_t length, struct arena *arena, struct target_ids *found,
                 struct error *err) {
    uint64_t *set = arena_alloc(arena, list->words, sizeof *set);
    if (set == NULL)
        return error_memory(err);
    memcpy(set, list->always, list->words * sizeof *set);
    for (size_t i = 0; i < length; i++)
        add_piece(list, source_ids[i], set);
    size_t count = set_fill(set, set_count(set, list->words), list->multiple, list->vocabulary);
    int *ids = arena_alloc(arena, count, sizeof *ids);
    if (ids == NULL)
        return error_memory(err);
    set_list(set, list->words, ids);
    *found = (struct target_ids){ids, count};
    return 0;
}
