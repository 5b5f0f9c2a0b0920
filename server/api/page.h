/* The page: the files of server/page/, made part of the program by server/page/embed.sh. */
#ifndef ALIGND_PAGE_H
#define ALIGND_PAGE_H

#include <stddef.h>

struct page_file {
    const char *path, *type; /* where it is served, its content type */
    const char *etag;        /* of its bytes, in quotes */
    const unsigned char *bytes;
    size_t length;
};

extern const struct page_file page_files[];
extern const size_t page_file_count;

/* NULL: the page has no such path. */
const struct page_file *page_find(const char *path);

#endif
