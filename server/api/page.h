/* The files of the page. */
#ifndef ALIGND_PAGE_H
#define ALIGND_PAGE_H

#include <stddef.h>

/* The files of server/page/, made part of the program by server/page/embed.sh. */
struct page_file {
    const char *path, *type; /* its path on the server, its content type */
    const char *etag;        /* a hash of its bytes, in quotes */
    const unsigned char *bytes;
    size_t length;
};

extern const struct page_file page_files[];
extern const size_t page_file_count;

/* Returns NULL if the page has no such path. */
const struct page_file *page_find(const char *path);

#endif
