/* What a run reads of a file of lines: all of it, or one of several shares that together are the file. */
#ifndef ALIGND_SHARE_H
#define ALIGND_SHARE_H

#include "model/base/error.h"
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct share {
    uint64_t begin, end; /* bytes of the file: whole lines */
    size_t lines;        /* before begin */
};

/* The index-th of count shares, from 0: the lines that begin in that part of the file's bytes. What becomes of the shares, one
 * behind the other, is what becomes of the file; each has about as many bytes, and may have none. The file is read up to the share,
 * to count lines, and left where that begins. -1 with ERROR_INPUT (not a file that can be read from anywhere) or ERROR_FILE. */
int share_find(FILE *file, size_t index, size_t count, struct share *share, struct error *err);

#endif
