#include "model/text/labels.h"
#include <stdlib.h>
#include <string.h>

#define OPENING ">>"
#define CLOSING "<<"
enum { BRACKET = sizeof OPENING - 1 };

/* Bytes of the name in a label; 0: the piece is none. */
static size_t name_length(const char *piece) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    if (strncmp(piece, OPENING, BRACKET) != 0)
        return 0;
    size_t length = strspn(piece + BRACKET, allowed);
    return strcmp(piece + BRACKET + length, CLOSING) == 0 ? length : 0;
}

static size_t count_labels(const struct tokenizer *tokenizer) {
    size_t count = 0;
    for (size_t id = 0; id < tokenizer_size(tokenizer); id++)
        count += name_length(tokenizer_piece(tokenizer, (int)id)) > 0;
    return count;
}

/* Room for count was made. */
static int add_label(struct labels *labels, const char *piece, int id) {
    labels->ids[labels->count] = id;
    labels->names[labels->count] = strndup(piece + BRACKET, name_length(piece));
    return labels->names[labels->count++] ? 0 : -1;
}

int labels_find(const struct tokenizer *tokenizer, struct labels *labels, struct error *err) {
    size_t count = count_labels(tokenizer);
    *labels = (struct labels){.names = calloc(count + 1, sizeof *labels->names), .ids = calloc(count + 1, sizeof *labels->ids)};
    int result = labels->names && labels->ids ? 0 : -1;
    for (size_t id = 0; result == 0 && id < tokenizer_size(tokenizer); id++) {
        const char *piece = tokenizer_piece(tokenizer, (int)id);
        if (name_length(piece) > 0)
            result = add_label(labels, piece, (int)id);
    }
    if (result == 0)
        return 0;
    labels_done(labels);
    return error_memory(err);
}

void labels_done(struct labels *labels) {
    for (size_t i = 0; i < labels->count; i++)
        free(labels->names[i]);
    free(labels->names);
    free(labels->ids);
    *labels = (struct labels){0};
}
