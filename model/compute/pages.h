/* Memory for weights: matrices side by side in large blocks, in huge pages where the system lends them. Pages of 4 KiB are too many
 * for the processor's table of them once a model is larger than some 16 MB, and products then wait for that table. One thread's at
 * a time. */
#ifndef ALIGND_PAGES_H
#define ALIGND_PAGES_H

#include <stddef.h>

struct pages_block;

/* Zeroed: empty. */
struct pages {
    struct pages_block *last; /* the one that is being filled; those before it are behind it */
};

/* Aligned to 64, not cleared; stays until pages_done. NULL: memory is out. */
void *pages_alloc(struct pages *pages, size_t bytes);
/* Empty again. */
void pages_done(struct pages *pages);

#endif
