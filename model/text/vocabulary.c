#include "model/text/vocabulary.h"
#include "model/base/file.h"
#include <stdlib.h>
#include <string.h>

static const char *const special[VOCABULARY_SPECIAL] = {"<unk>", "<s>", "</s>"};

/* ---- the file ---- */

static size_t count_lines(const char *bytes, size_t size) {
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += bytes[i] == '\n';
    return count;
}

/* ---- its lines ---- */

static const char *fault_of(const char *piece, size_t length) {
    if (length == 0)
        return "is empty";
    return strpbrk(piece, "\t\n\v\f\r ") != NULL ? "contains white space" : NULL;
}

/* Turns the line feeds to NUL. */
static int take_lines(struct vocabulary *v, const char *path, struct error *err) {
    char *at = v->bytes;
    for (size_t id = 0; id < v->size; id++) {
        char *end = strchr(at, '\n');
        if (end == NULL) /* strchr stopped at a NUL: there are as many line feeds as lines */
            return error_set(err, ERROR_FORMAT, "%s: line %zu contains a NUL", path, id + 1);
        *end = '\0';
        const char *fault = fault_of(at, (size_t)(end - at));
        if (fault != NULL)
            return error_set(err, ERROR_FORMAT, "%s: line %zu %s", path, id + 1, fault);
        v->pieces[id] = at;
        at = end + 1;
    }
    return 0;
}

/* By piece; equal ones by id. */
static int compare_ids(const void *a, const void *b, void *vocabulary) {
    const struct vocabulary *v = vocabulary;
    int one = *(const int *)a, other = *(const int *)b, side = strcmp(v->pieces[one], v->pieces[other]);
    return side != 0 ? side : one - other;
}

static int sort(struct vocabulary *v, const char *path, struct error *err) {
    for (size_t i = 0; i < v->size; i++)
        v->order[i] = (int)i;
    qsort_r(v->order, v->size, sizeof *v->order, compare_ids, v);
    for (size_t i = 1; i < v->size; i++)
        if (strcmp(v->pieces[v->order[i]], v->pieces[v->order[i - 1]]) == 0)
            return error_set(err, ERROR_FORMAT, "%s: lines %d and %d are the same", path, v->order[i - 1] + 1, v->order[i] + 1);
    return 0;
}

/* Any token's id, or -1. */
static int find_piece(const struct vocabulary *v, const char *piece) {
    size_t low = 0, high = v->size;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int id = v->order[middle], side = strcmp(piece, v->pieces[id]);
        if (side == 0)
            return id;
        if (side < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

/* Not every model needs <s> and </s>: whoever does asks for them. */
static int find_special(struct vocabulary *v, const char *path, struct error *err) {
    for (int i = 0; i < VOCABULARY_SPECIAL; i++) {
        v->special[i] = find_piece(v, special[i]);
        if (v->special[i] < 0 && i == VOCABULARY_UNKNOWN)
            return error_set(err, ERROR_FORMAT, "%s: %s is missing", path, special[i]);
    }
    return 0;
}

static int take_all(struct vocabulary *v, const char *path, size_t bytes, struct error *err) {
    v->size = count_lines(v->bytes, bytes);
    if (bytes > 0 && v->bytes[bytes - 1] != '\n')
        return error_set(err, ERROR_FORMAT, "%s: the last line does not end with a line feed", path);
    if (v->size < VOCABULARY_MIN_SIZE || v->size > VOCABULARY_MAX_SIZE)
        return error_set(err, ERROR_FORMAT, "%s: a vocabulary must have %d to %d lines, got %zu", path, (int)VOCABULARY_MIN_SIZE,
                         (int)VOCABULARY_MAX_SIZE, v->size);
    v->pieces = calloc(v->size, sizeof *v->pieces);
    v->order = calloc(v->size, sizeof *v->order);
    if (v->pieces == NULL || v->order == NULL)
        return error_memory(err);
    return take_lines(v, path, err) == 0 && sort(v, path, err) == 0 ? find_special(v, path, err) : -1;
}

int vocabulary_read(struct vocabulary *vocabulary, const char *path, struct error *err) {
    size_t bytes;
    struct vocabulary v = {0};
    if (file_read(path, VOCABULARY_MAX_BYTES, &v.bytes, &bytes, err) != 0)
        return -1;
    if (take_all(&v, path, bytes, err) != 0) {
        vocabulary_done(&v);
        return -1;
    }
    *vocabulary = v;
    return 0;
}

void vocabulary_done(struct vocabulary *vocabulary) {
    free(vocabulary->pieces);
    free(vocabulary->order);
    free(vocabulary->bytes);
    *vocabulary = (struct vocabulary){0};
}

bool vocabulary_is_special(const struct vocabulary *vocabulary, int id) {
    for (int i = 0; i < VOCABULARY_SPECIAL; i++)
        if (vocabulary->special[i] == id)
            return true;
    return false;
}

int vocabulary_find(const struct vocabulary *vocabulary, const char *piece) {
    int id = find_piece(vocabulary, piece);
    return vocabulary_is_special(vocabulary, id) ? -1 : id;
}
