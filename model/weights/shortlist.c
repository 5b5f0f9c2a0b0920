/* This file hides how shortlists are stored and joined: as sets of target ids with a bit for each. */
#include "model/weights/shortlist.h"
#include "model/weights/safetensors.h"
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SET_BITS = 64 };

struct shortlist {
    struct arena arena; /* all below */
    uint64_t *always;   /* [words]: a set of target ids */
    size_t words;
    const int *offsets; /* [sources + 1]; NULL: there are named lists alone */
    size_t sources;     /* size of the source vocabulary */
    const int *targets; /* [offsets[sources]] */
    size_t vocabulary;  /* size of the target vocabulary */
    size_t multiple;    /* lists are filled up to a multiple of this */
    struct named *named;
};

/* A list that a language has. */
struct named {
    const char *name;
    struct target_ids ids;
    struct named *next;
};

static const char LIST_PREFIX[] = "list.";

static void set_add(uint64_t *set, int id) {
    set[id / SET_BITS] |= UINT64_C(1) << id % SET_BITS;
}

/* ---- reading ---- */

/* Copies the integers, since data in the file may be misaligned. NULL if the file lacks the tensor or memory is out. */
static const int *read_integers(struct arena *arena, const struct safetensors *file, const char *name, size_t *count,
                                struct error *err) {
    const struct tensor *tensor = safetensors_find(file, name);
    if (!tensor || tensor->dtype != DTYPE_I32 || tensor->dims != 1) {
        error_set(err, ERROR_FORMAT, "tensor %s: %s", name, !tensor ? "missing" : "must be I32 with one dimension");
        return NULL;
    }
    _Static_assert(sizeof(int) == 4, "I32 is read as int");
    int *integers = arena_alloc(arena, tensor->shape[0], sizeof *integers);
    if (!integers) {
        error_memory(err);
        return NULL;
    }
    memcpy(integers, tensor->data, tensor->bytes);
    *count = tensor->shape[0];
    return integers;
}

/* Reads the ids of a tensor, each of which must be in the target vocabulary. */
static const int *read_ids(struct shortlist *list, const struct safetensors *file, const char *name, size_t *count,
                           struct error *err) {
    const int *ids = read_integers(&list->arena, file, name, count, err);
    for (size_t i = 0; ids && i < *count; i++) {
        if (ids[i] < 0 || (size_t)ids[i] >= list->vocabulary) {
            error_set(err, ERROR_FORMAT, "tensor %s: id %d is not in the target vocabulary of %zu", name, ids[i], list->vocabulary);
            return NULL;
        }
    }
    return ids;
}

/* Offsets rise from 0 to the number of targets, so every piece's part lies within. */
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

/* Turns a set into the ids of a list. Changes the set. */
static int ids_of_set(const struct shortlist *list, uint64_t *set, struct arena *arena, struct target_ids *found,
                      struct error *err) {
    size_t count = 0;
    for (size_t w = 0; w < list->words; w++)
        count += (size_t)__builtin_popcountll(set[w]);
    for (size_t id = 0; count % list->multiple != 0 && id < list->vocabulary; id++) {
        count += (set[id / SET_BITS] >> id % SET_BITS & 1) == 0;
        set_add(set, (int)id);
    }

    int *ids = arena_alloc(arena, count, sizeof *ids), *next = ids;
    if (!ids)
        return error_memory(err);
    for (size_t w = 0; w < list->words; w++) /* ascending: each step takes the lowest bit */
        for (uint64_t left = set[w]; left != 0; left &= left - 1)
            *next++ = (int)(w * SET_BITS) + __builtin_ctzll(left);
    *found = (struct target_ids){ids, count};
    return 0;
}

/* Reads one list that has a name. */
static int read_named(struct shortlist *list, const struct safetensors *file, const char *tensor, struct error *err) {
    size_t count;
    const int *ids = read_ids(list, file, tensor, &count, err);
    struct named *named = ids ? arena_zalloc(&list->arena, 1, sizeof *named) : NULL;
    uint64_t *set = named ? arena_alloc(&list->arena, list->words, sizeof *set) : NULL;
    if (!ids)
        return -1;
    if (!set || !(named->name = arena_copy(&list->arena, tensor + strlen(LIST_PREFIX), strlen(tensor) - strlen(LIST_PREFIX))))
        return error_memory(err);
    memcpy(set, list->always, list->words * sizeof *set);
    for (size_t i = 0; i < count; i++)
        set_add(set, ids[i]);
    named->next = list->named;
    list->named = named;
    return ids_of_set(list, set, &list->arena, &named->ids, err);
}

static int read_lists(struct shortlist *list, const struct safetensors *file, int end, struct error *err) {
    size_t multiples, always, offsets, targets;
    list->multiple = 1;
    if (safetensors_find(file, "multiple")) {
        const int *multiple = read_integers(&list->arena, file, "multiple", &multiples, err);
        if (!multiple)
            return -1;
        if (multiples != 1 || *multiple < 1)
            return error_set(err, ERROR_FORMAT, "tensor multiple: must be one positive number");
        list->multiple = (size_t)*multiple;
    }

    const int *ids = read_ids(list, file, "always", &always, err);
    if (!ids)
        return -1;
    list->words = (list->vocabulary + SET_BITS - 1) / SET_BITS;
    list->always = arena_zalloc(&list->arena, list->words, sizeof *list->always);
    if (!list->always)
        return error_memory(err);
    for (size_t i = 0; i < always; i++)
        set_add(list->always, ids[i]);
    set_add(list->always, end);

    for (size_t i = 0; i < safetensors_count(file); i++) {
        const struct tensor *tensor = safetensors_at(file, i);
        if (strncmp(tensor->name, LIST_PREFIX, strlen(LIST_PREFIX)) == 0 && read_named(list, file, tensor->name, err) != 0)
            return -1;
    }
    if (list->named && !safetensors_find(file, "offsets"))
        return 0;
    list->offsets = read_integers(&list->arena, file, "offsets", &offsets, err);
    list->targets = list->offsets ? read_ids(list, file, "targets", &targets, err) : NULL;
    return list->targets ? check_offsets(list->offsets, offsets, list->sources, targets, err) : -1;
}

struct shortlist *shortlist_open(const char *path, size_t source_vocabulary, size_t target_vocabulary, int end, struct error *err) {
    assert(end >= 0 && (size_t)end < target_vocabulary);
    struct shortlist *list = calloc(1, sizeof *list);
    if (!list) {
        error_memory(err);
        return NULL;
    }
    arena_init(&list->arena, 64 * 1024);
    list->sources = source_vocabulary;
    list->vocabulary = target_vocabulary;
    struct safetensors *file = safetensors_open(path, err);
    int result = file ? read_lists(list, file, end, err) : -1;
    safetensors_free(file);
    if (result == 0)
        return list;
    shortlist_free(list);
    return NULL;
}

void shortlist_free(struct shortlist *list) {
    if (!list)
        return;
    arena_done(&list->arena);
    free(list);
}

/* ---- the list of a sentence ---- */

int shortlist_of(const struct shortlist *list, const int *source_ids, size_t length, struct arena *arena, struct target_ids *found,
                 struct error *err) {
    uint64_t *set = arena_alloc(arena, list->words, sizeof *set);
    if (!set)
        return error_memory(err);
    memcpy(set, list->always, list->words * sizeof *set);
    for (size_t i = 0; list->offsets && i < length; i++) {
        int piece = source_ids[i];
        assert(piece >= 0 && (size_t)piece < list->sources);
        for (int t = list->offsets[piece]; t < list->offsets[piece + 1]; t++)
            set_add(set, list->targets[t]);
    }
    return ids_of_set(list, set, arena, found, err);
}

int shortlist_named(struct shortlist *list, const char *name, struct target_ids *found, struct error *err) {
    const struct named *named = list->named;
    while (named && strcmp(named->name, name) != 0)
        named = named->next;
    if (!named)
        return error_set(err, ERROR_FORMAT, "tensor %s%.60s: missing", LIST_PREFIX, name);
    *found = named->ids;
    return 0;
}
