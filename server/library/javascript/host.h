/* Functions of glibc and Linux that the engine calls and that WebAssembly's C library lacks, and
 * those that worker.js calls. */
#ifndef ALIGND_HOST_H
#define ALIGND_HOST_H

#include <stdbool.h>
#include <stddef.h>

void qsort_r(void *items, size_t count, size_t size,
             int (*compare)(const void *, const void *, void *), void *context);
int malloc_trim(size_t pad);

/* Gives ICU its data, which must stay. Returns false if it is that of another version. */
bool host_set_data(const void *data);

/* Begins a call, which JavaScript has numbered. message [length]: the name of an endpoint with its
 * fields, a NUL, and the request. streamed: a request with "stream": true has events. Returns the
 * number for host_cancel; 0: out of memory. */
struct alignd_engine;
unsigned host_call(struct alignd_engine *engine, const char *message, size_t length, unsigned call,
                   bool streamed);
void host_cancel(struct alignd_engine *engine, unsigned number);

/* Defined in host.js. status 0: out of memory. */
void host_event(unsigned call, const char *bytes, size_t length);
void host_end(unsigned call, unsigned status, const char *bytes, size_t length);

#endif
