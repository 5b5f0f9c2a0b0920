/* This file stands in for what glibc and Linux have, and WebAssembly's C library does not, gives
 * ICU its data, and connects calls with JavaScript. */
#include "server/library/javascript/host.h"
#include "model/base/task.h"
#include "server/library/alignd.h"
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

/* ---- tasks: in place of model/base/task.c ---- */

/* Models are loaded by the thread that has the files. Another would wait for it at each of them. */
void task_start(struct task *task, void (*run)(void *context), void *context) {
    *task = (struct task){.run = run, .context = context};
}

void task_wait(struct task *task) {
    task->run(task->context);
}

void task_once(struct task_once *once, void (*set_up)(void)) {
    pthread_once(&once->once, set_up);
}

/* ---- JavaScript ---- */

bool host_set_data(const void *data) {
    UErrorCode status = U_ZERO_ERROR;
    udata_setCommonData(data, &status);
    return U_SUCCESS(status);
}

static void forward_event(void *owner, const char *bytes, size_t length) {
    host_event((unsigned)(uintptr_t)owner, bytes, length);
}

static void forward_end(void *owner, alignd_reply *reply) {
    size_t length = 0;
    const char *text = reply ? alignd_reply_text(reply, &length) : "";
    unsigned status = reply ? alignd_reply_status(reply) : 0;
    host_end((unsigned)(uintptr_t)owner, status, text, length);
    alignd_reply_free(reply);
}

unsigned host_call(alignd_engine *engine, const char *message, size_t length, unsigned call,
                   bool streamed) {
    const alignd_listener listener = {streamed ? forward_event : NULL, forward_end,
                                      (void *)(uintptr_t)call};
    size_t name = strlen(message) + 1;
    return (unsigned)alignd_call_async(engine, message, message + name, length - name, &listener);
}

void host_cancel(alignd_engine *engine, unsigned number) {
    alignd_cancel(engine, number);
}
