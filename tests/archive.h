/* Makes archives (ZIP) of texts, for tests. */
#ifndef ALIGND_TESTS_ARCHIVE_H
#define ALIGND_TESTS_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>

struct entry {
    const char *name, *text; /* name NULL: the last */
    bool stored;             /* not compressed */
};

/* Returns an archive with these members, [*length] bytes; the caller frees it. */
char *archive_make(const struct entry *entries, size_t *length);

#endif
