/* What each key has translated: characters of texts that were accepted, today and since the start. A day is one of UTC. Kept in
 * memory: a daemon that starts again begins at 0. Thread-safe. */
#ifndef ALIGND_USAGE_H
#define ALIGND_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct usage;

struct usage_count {
    uint64_t today, total;
};

/* NULL when memory is out. */
struct usage *usage_create(void);
void usage_free(struct usage *usage); /* NULL allowed */

enum usage_verdict { USAGE_TAKEN, USAGE_EXCEEDED, USAGE_MEMORY };
/* Counts so many characters for this name ("": requests without a key), unless that would be more than daily (0: no limit).
 * now_s: of time(). */
enum usage_verdict usage_take(struct usage *usage, const char *name, uint64_t characters, uint64_t daily, int64_t now_s);
/* What was counted on that day has been of no use. */
void usage_return(struct usage *usage, const char *name, uint64_t characters, int64_t now_s);
struct usage_count usage_find(struct usage *usage, const char *name, int64_t now_s);
/* Until the day ends. */
unsigned usage_rest_s(int64_t now_s);

#endif
