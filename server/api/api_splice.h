/* Arrays of numbers in JSON replies, past jansson: an object and a printf for every number would add 7% to the cost of a
 * greedy translation. The tree holds a placeholder instead of each array; the array's text takes its place when
 * the tree is written. Included by api_*.c only. */
#ifndef ALIGND_API_SPLICE_H
#define ALIGND_API_SPLICE_H

#include "model/translator.h"
#include <jansson.h>
#include <stdbool.h>

/* The arrays (or other values) of one tree; starts as {.arena = ...}. A placeholder is the array [null,offset] and so names its
 * text: trees may be put together in any order. No other array in the tree may begin with null. */
struct splices {
    struct arena *arena;
    char *text; /* [length], room for [capacity] bytes: the arrays, each with a NUL behind it */
    size_t length, capacity;
    size_t count; /* of arrays */
};

/* The placeholder of an array of these numbers. NULL when memory is out or, as from json_real(), a number is not finite. */
json_t *splice_numbers(struct splices *splices, const float *values, size_t count);

/* The placeholder of a value that is JSON already: NUL-terminated, [length]. NULL when memory is out. */
json_t *splice_text(struct splices *splices, const char *json, size_t length);

/* From now on it is known when jansson lacks memory. Call before threads start. */
void splice_init(void);
/* True, once: jansson has lacked memory on this thread. It takes the NULL of a part that could not be made for no part at all, and
 * leaves out what it has no room to write. */
bool splice_lacked(void);

/* The JSON of a tree that holds every placeholder once, to be freed. NULL when memory is out, or was since the last dump on this
 * thread, or root is NULL. */
char *splice_dump(const struct splices *splices, const json_t *root);

#endif
