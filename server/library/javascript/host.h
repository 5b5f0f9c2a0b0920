/* Functions of glibc and Linux that the engine calls and that WebAssembly's C library lacks. */
#ifndef ALIGND_HOST_H
#define ALIGND_HOST_H

#include <stdbool.h>
#include <stddef.h>

void qsort_r(void *items, size_t count, size_t size,
             int (*compare)(const void *, const void *, void *), void *context);
int malloc_trim(size_t pad);

/* Gives ICU its data, which must stay. Returns false if it is that of another version. */
bool host_set_data(const void *data);

#endif
