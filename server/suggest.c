#include "server/suggest.h"
#include <string.h>

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Row i of the table holds the distances of a's first i letters to each beginning of b. */
size_t suggest_distance(const char *a, const char *b) {
    size_t rows[3][SUGGEST_MOST_BYTES + 1], width = strlen(b);
    for (size_t j = 0; j <= width; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= strlen(a); i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], second[j - 2] + 1);
        }
    }
    return rows[strlen(a) % 3][width];
}

/* Half of a short word may be wrong by chance. */
static size_t most_wrong(size_t length) {
    return length < 4 ? 0 : length < 6 ? 1 : length < 12 ? 2 : 3;
}

/* The beginning of a word stands for it where nothing else is nearer. */
void suggest(struct suggestion *suggestion, const char *word) {
    size_t length = strlen(suggestion->asked);
    if (length > SUGGEST_MOST_BYTES || strlen(word) > SUGGEST_MOST_BYTES)
        return;
    size_t most = most_wrong(length), distance = suggest_distance(suggestion->asked, word);
    if (distance > most && length >= 3 && strncmp(word, suggestion->asked, length) == 0)
        distance = most;
    if (distance > most || (suggestion->nearest && distance >= suggestion->distance))
        return;
    suggestion->nearest = word;
    suggestion->distance = distance;
}
