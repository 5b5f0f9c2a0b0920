/* What somebody who misspelt a word may have meant. */
#ifndef ALIGND_SUGGEST_H
#define ALIGND_SUGGEST_H

#include <stddef.h>

enum { SUGGEST_MOST_BYTES = 64 }; /* of a word; of longer ones nothing is suggested */

/* Looks at one word after the other, and keeps the nearest. Zeroed but for `asked` at first. */
struct suggestion {
    const char *asked;
    const char *nearest; /* NULL: no word is near */
    size_t distance;
};
void suggest(struct suggestion *suggestion, const char *word);

/* Letters to be inserted, left out, replaced or exchanged with the next one (optimal string alignment). Both of at most
 * SUGGEST_MOST_BYTES. */
size_t suggest_distance(const char *a, const char *b);

#endif
