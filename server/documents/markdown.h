/* A parsed Markdown document of cmark's (GitHub's flavour). Included by server/documents/ only. */
#ifndef ALIGND_DOCUMENT_MARKDOWN_H
#define ALIGND_DOCUMENT_MARKDOWN_H

#include "model/base/budget.h"
#include "model/base/error.h"
#include <cmark-gfm-core-extensions.h>
#include <cmark-gfm.h>
#include <stdbool.h>
#include <stddef.h>

struct markdown;

/* Time is that of cmark; memory at most 256 times the length, and at most 64 MiB. budget: bounds the time, and is away meanwhile.
 * NULL with ERROR_MEMORY, also where the budget is used up, or ERROR_INPUT: it needs more memory. Thread-safe: one parses at a
 * time. */
struct markdown *markdown_open(const char *source, size_t length, struct budget *budget, struct error *err);
void markdown_free(struct markdown *markdown); /* NULL allowed */

/* The root; it and all below it are the document's. Their literals can be read, nothing may be changed. */
cmark_node *markdown_document(const struct markdown *markdown);

/* A walk through all below a root: each node is entered and, after what it holds, left. */
struct markdown_step {
    cmark_node *node;
    bool enter;
};
/* From {root, true}; false: the walk has ended. */
bool markdown_next(cmark_node *root, struct markdown_step *step);

#endif
