#include "tests/memory/shortage.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The internal names of glibc's functions. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

void *memalign(size_t alignment, size_t size);

static struct shortage *shortage; /* NULL: main has not begun, or nobody asked */

static bool fails(void) {
    if (!shortage || atomic_load(&shortage->countdown) < 1 ||
        atomic_fetch_sub(&shortage->countdown, 1) != 1)
        return false;
    atomic_fetch_add(&shortage->failed, 1);
    errno = ENOMEM;
    return true;
}

static void *count(void *block) {
    if (shortage && block)
        atomic_fetch_add(&shortage->live, 1);
    return block;
}

void *malloc(size_t size) {
    return fails() ? NULL : count(__libc_malloc(size));
}

void *calloc(size_t number, size_t size) {
    return fails() ? NULL : count(__libc_calloc(number, size));
}

void *realloc(void *block, size_t size) {
    if (!block)
        return malloc(size);
    if (size == 0) {
        free(block);
        return NULL;
    }
    return fails() ? NULL : __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
    return fails() ? NULL : count(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    void *made = memalign(alignment, size);
    if (!made)
        return ENOMEM;
    *block = made;
    return 0;
}

void free(void *block) {
    if (shortage && block)
        atomic_fetch_sub(&shortage->live, 1);
    __libc_free(block);
}

typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void),
                           void (*)(void), void *);
start_function __libc_start_main;

/* Allocations before main() belong to libraries; counting begins here. */
int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*end)(void), void *stack) {
    void *symbol = dlsym(RTLD_NEXT, "__libc_start_main");
    start_function *start;
    memcpy(&start, &symbol, sizeof start);
    const char *descriptor = getenv(SHORTAGE_VARIABLE);
    void *shared = descriptor ? mmap(NULL, sizeof *shortage, PROT_READ | PROT_WRITE, MAP_SHARED,
                                     atoi(descriptor), 0)
                              : MAP_FAILED;
    if (shared != MAP_FAILED)
        shortage = shared;
    return start(main, argc, argv, init, fini, end, stack);
}
