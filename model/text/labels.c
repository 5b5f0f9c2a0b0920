#include "model/text/labels.h"
#include "model/text/spm_file.h"
#include <stdlib.h>
#include <string.h>

#define OPENING ">>"
#define CLOSING "<<"
enum { BRACKET = sizeof OPENING - 1, BRACKETS = 2 * BRACKET };

/* Bytes of the name in a label; 0: the piece [length] is none. */
static size_t name_length(const char *piece, size_t length) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    if (length <= BRACKETS || memcmp(piece, OPENING, BRACKET) != 0 || memcmp(piece + length - BRACKET, CLOSING, BRACKET) != 0)
        return 0;
    for (size_t i = BRACKET; i < length - BRACKET; i++)
        if (!memchr(allowed, piece[i], sizeof allowed - 1))
            return 0;
    return length - BRACKETS;
}

/* For one more; how much there is room for is a power of two. */
static int make_room(struct labels *labels) {
    size_t count = labels->count, room = count > 0 ? 2 * count : 1;
    if ((count & (count - 1)) != 0)
        return 0;
    char **names = realloc(labels->names, room * sizeof *names);
    if (!names)
        return -1;
    labels->names = names;
    int *ids = realloc(labels->ids, room * sizeof *ids);
    if (!ids)
        return -1;
    labels->ids = ids;
    return 0;
}

/* If it is a label. */
static int add_piece(struct labels *labels, int id, const char *piece, size_t length) {
    size_t name = name_length(piece, length);
    if (name == 0)
        return 0;
    char *copy = make_room(labels) == 0 ? strndup(piece + BRACKET, name) : NULL;
    if (!copy)
        return -1;
    labels->ids[labels->count] = id;
    labels->names[labels->count++] = copy;
    return 0;
}

int labels_find(const struct tokenizer *tokenizer, struct labels *labels, struct error *err) {
    *labels = (struct labels){0};
    for (size_t id = 0, size = tokenizer_size(tokenizer); id < size; id++) {
        const char *piece = tokenizer_piece(tokenizer, (int)id);
        if (add_piece(labels, (int)id, piece, strlen(piece)) != 0) {
            labels_done(labels);
            return error_memory(err);
        }
    }
    return 0;
}

struct reading {
    struct labels *labels;
    struct error *err;
};

static int read_piece(void *context, int id, const char *piece, size_t length) {
    struct reading *reading = context;
    return add_piece(reading->labels, id, piece, length) == 0 ? 0 : error_memory(reading->err);
}

int labels_read(const char *path, struct labels *labels, struct error *err) {
    *labels = (struct labels){0};
    if (spm_file_pieces(path, read_piece, &(struct reading){labels, err}, err) == 0)
        return 0;
    labels_done(labels);
    return -1;
}

void labels_done(struct labels *labels) {
    for (size_t i = 0; i < labels->count; i++)
        free(labels->names[i]);
    free(labels->names);
    free(labels->ids);
    *labels = (struct labels){0};
}
