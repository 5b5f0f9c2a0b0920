/* This file stands in for what glibc and Linux have, and WebAssembly's C library does not, and
 * gives ICU its data. */
#include "server/library/javascript/host.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <unicode/udata.h>
#include <unistd.h>

/* How items [size] are sorted. */
struct order {
    size_t size;
    int (*compare)(const void *, const void *, void *);
    void *context;
};

/* Sorts by merging. other: room for as many items. */
static void merge(const struct order *order, char *items, char *other, size_t count) {
    size_t size = order->size, half = count / 2, first = 0, second = half;
    if (count < 2)
        return;
    merge(order, items, other, half);
    merge(order, items + half * size, other, count - half);
    memcpy(other, items, count * size);
    for (size_t i = 0; i < count; i++) {
        bool takes = second == count ||
                     (first < half && order->compare(other + first * size, other + second * size,
                                                     order->context) <= 0);
        memcpy(items + i * size, other + (takes ? first++ : second++) * size, size);
    }
}

void qsort_r(void *items, size_t count, size_t size,
             int (*compare)(const void *, const void *, void *), void *context) {
    const struct order order = {size, compare, context};
    char *other = malloc(count * size + 1);
    if (!other)
        abort(); /* it cannot fail */
    merge(&order, items, other, count);
    free(other);
}

void *reallocarray(void *memory, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(memory, bytes);
}

ssize_t getrandom(void *bytes, size_t count, unsigned flags) {
    (void)flags;
    return getentropy(bytes, count) == 0 ? (ssize_t)count : -1;
}

int pthread_setname_np(pthread_t thread, const char *name) {
    (void)thread, (void)name;
    return 0;
}

int malloc_trim(size_t pad) {
    (void)pad;
    return 0; /* memory does not shrink */
}

/* There is no other code to load. */
void *dlopen(const char *file, int mode) {
    (void)file, (void)mode;
    return NULL;
}

void *dlsym(void *restrict library, const char *restrict name) {
    (void)library, (void)name;
    return NULL;
}

int dladdr(const void *address, Dl_info *info) {
    (void)address, (void)info;
    return 0;
}

unsigned long getauxval(unsigned long type) {
    (void)type;
    return 0;
}

bool host_set_data(const void *data) {
    UErrorCode status = U_ZERO_ERROR;
    udata_setCommonData(data, &status);
    return U_SUCCESS(status);
}
