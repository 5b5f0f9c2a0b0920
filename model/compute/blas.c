#include "model/compute/blas.h"
#include <assert.h>
#include <cblas.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define LIBRARY "libopenblas.so.0"

struct blas {
    __typeof__(cblas_sgemv) *gemv;
    __typeof__(cblas_sgemm) *gemm;
};

static struct blas loaded; /* set before any thread starts */

/* function: the address of a pointer to a function of the library. */
static bool find_symbol(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool space_is_limited(void) {
    struct rlimit all, data;
    return (getrlimit(RLIMIT_AS, &all) == 0 && all.rlim_cur != RLIM_INFINITY) ||
           (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY);
}

void blas_load(void) {
    if (loaded.gemm || space_is_limited())
        return;
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL); /* never closed: what is immutable uses it to the end */
    struct blas found;
    __typeof__(openblas_set_num_threads) *set_threads;
    if (!library || !find_symbol(library, "cblas_sgemv", &found.gemv) || !find_symbol(library, "cblas_sgemm", &found.gemm))
        return;
    if (find_symbol(library, "openblas_set_num_threads", &set_threads))
        set_threads(1); /* the variant with OpenMP does not read that variable, and starts no thread before a product */
    loaded = found;
}

const struct blas *blas_get(void) {
    return loaded.gemm ? &loaded : NULL;
}

void blas_multiply(const struct blas *blas, const struct blas_product *p) {
    assert(p->in <= INT_MAX && p->out <= INT_MAX && p->rows <= INT_MAX && p->ldx <= INT_MAX && p->ldy <= INT_MAX);
    float beta = p->bias ? 1.0f : 0.0f;
    for (size_t r = 0; p->bias && r < p->rows; r++)
        memcpy(p->y + r * p->ldy, p->bias, p->out * sizeof *p->y);
    if (p->rows == 1)
        blas->gemv(CblasRowMajor, CblasNoTrans, (int)p->out, (int)p->in, 1.0f, p->weight, (int)p->in, p->x, 1, beta, p->y, 1);
    else
        blas->gemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)p->rows, (int)p->out, (int)p->in, 1.0f, p->x, (int)p->ldx,
                   p->weight, (int)p->in, beta, p->y, (int)p->ldy);
}
