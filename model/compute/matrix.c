/* This file hides what multiplies and where the weights are: the kernels of an instruction set read
 * packed weights, OpenBLAS reads them as they are. */
#include "model/compute/matrix.h"
#include <assert.h>
#include <cblas.h>
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

/* LINE_BYTES: a cache line. HUGE_BYTES: a huge page of x86-64, and of arm64 with pages of 4 KiB. */
enum { LINE_BYTES = 64, HUGE_BYTES = 2 << 20, BLOCK_BYTES = 8 << 20, MOST_BLOCK_BYTES = 32 << 20 };

const char *compute_name(enum compute compute) {
    static const char *const names[COMPUTE_TYPES] = {"float32", "bfloat16", "int8"};
    return names[compute];
}

/* ---- pages ---- */

struct pages_block {
    struct pages_block *before;
    char *memory; /* [capacity] */
    size_t used, capacity;
};

/* Rounds up to whole units. 0: larger than memory can be. */
static size_t round_up(size_t bytes, size_t unit) {
    return bytes > SIZE_MAX - unit ? 0 : (bytes + unit - 1) / unit * unit;
}

/* Returns the size of a new block: twice the last one, up to 32 MB, since few matrices of a large
 * model fit into 8 MB, much of which would stay empty. */
static size_t block_size(const struct pages *pages, size_t whole) {
    size_t usual = pages->last ? 2 * pages->last->capacity : BLOCK_BYTES;
    usual = usual < MOST_BLOCK_BYTES ? usual : MOST_BLOCK_BYTES;
    return round_up(whole < usual ? usual : whole, HUGE_BYTES);
}

void *pages_alloc(struct pages *pages, size_t bytes) {
    size_t whole = round_up(bytes, LINE_BYTES);
    struct pages_block *block = pages->last;
    if (whole < bytes)
        return NULL;
    while (block && block->capacity - block->used < whole)
        block = block->before;
    if (!block) {
        size_t capacity = block_size(pages, whole);
        char *memory = capacity > 0 ? aligned_alloc(HUGE_BYTES, capacity) : NULL;
        block = memory ? malloc(sizeof *block) : NULL;
        if (!block) {
            free(memory);
            return NULL;
        }
        madvise(memory, capacity, MADV_HUGEPAGE); /* if it fails, the pages are small */
        *block =
            (struct pages_block){.before = pages->last, .memory = memory, .capacity = capacity};
        pages->last = block;
    }
    char *memory = block->memory + block->used;
    block->used += whole;
    return memory;
}

void pages_done(struct pages *pages) {
    for (struct pages_block *block = pages->last, *before; block; block = before) {
        before = block->before;
        free(block->memory);
        free(block);
    }
    *pages = (struct pages){0};
}

/* ---- OpenBLAS ---- */

struct blas {
    __typeof__(cblas_sgemv) *gemv;
    __typeof__(cblas_sgemm) *gemm;
};

static struct blas loaded; /* set before any thread starts */

/* Stores the address of a function of the library in the pointer to which `function` points. */
static bool find_symbol(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

void blas_load(void) {
    struct rlimit all, data;
    bool limited = (getrlimit(RLIMIT_AS, &all) == 0 && all.rlim_cur != RLIM_INFINITY) ||
                   (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY);
    if (loaded.gemm || limited)
        return;
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *library =
        dlopen("libopenblas.so.0",
               RTLD_NOW | RTLD_LOCAL); /* never closed, since models use it to the end */
    struct blas found;
    __typeof__(openblas_set_num_threads) *set_threads;
    if (!library || !find_symbol(library, "cblas_sgemv", &found.gemv) ||
        !find_symbol(library, "cblas_sgemm", &found.gemm))
        return;
    if (find_symbol(library, "openblas_set_num_threads", &set_threads))
        set_threads(1); /* the variant with OpenMP does not read the variable, and starts no thread
                           before a product */
    loaded = found;
}

const struct blas *blas_get(void) {
    return loaded.gemm ? &loaded : NULL;
}

/* ---- backends ---- */

#if defined(__x86_64__)
/* Returns true if the processor multiplies int8 in tiles and the kernel lets this process use them.
 * Linux requires a request, because it must save 8 KB more of state
 * (Documentation/arch/x86/xstate.rst). */
static bool may_use_tiles(void) {
    enum {
        LEAF_FEATURES = 7,
        AMX_TILE = 1 << 24,
        AMX_INT8 = 1 << 25,
        ARCH_REQ_XCOMP_PERM = 0x1023,
        XTILEDATA = 18
    };
    unsigned a, b, c, d;
    return __get_cpuid_count(LEAF_FEATURES, 0, &a, &b, &c, &d) && (d & AMX_TILE) &&
           (d & AMX_INT8) && syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA) == 0;
}
#endif

#if defined(__x86_64__)
#define CPU(feature) __builtin_cpu_supports(feature)
#elif defined(__aarch64__)
#define CPU(feature) (getauxval(AT_HWCAP) & (feature))
#endif

const struct kernels *kernels_choose(void) {
    const struct kernels *best = NULL;
#define SET(architecture, name, flags, condition) SETS_##architecture(CHOICE(name, condition))
#define CHOICE(name, condition)                                                                    \
    if (!(condition))                                                                              \
        return best;                                                                               \
    best = &kernels_##name;
#include "model/compute/sets.def"
#undef CHOICE
    return best;
}

struct backend backend_choose(void) {
    const struct kernels *kernels = kernels_choose();
    return (struct backend){.kernels = kernels, .blas = kernels->wants_blas ? blas_get() : NULL};
}

static const struct packing *choose_packing(const struct backend *backend, enum stored stored,
                                            size_t in) {
    const struct packings *packings = backend->kernels->packings;
    if (backend->compute == COMPUTE_INT8 && in <= packings->int8->max_in)
        return packings->int8;
    if (backend->compute == COMPUTE_BFLOAT16)
        return packings->bfloat16;
    return stored == STORED_FLOAT16    ? packings->float16
           : stored == STORED_BFLOAT16 ? packings->bfloat16
                                       : packings->float32;
}

/* ---- linears ---- */

const struct packing *linear_packing(const struct linear_source *source,
                                     const struct backend *backend) {
    const struct packing *packing = choose_packing(backend, source->stored, source->in);
    /* OpenBLAS has only products in float32 */
    bool blas = backend->blas && backend->compute != COMPUTE_BFLOAT16 &&
                packing != backend->kernels->packings->int8;
    return blas ? NULL : packing;
}

/* Allocates packed weights in whole lines. *owned is set to them unless the backend's pages own
 * them. NULL: out of memory. */
static void *make_room(size_t bytes, struct pages *pages, void **owned) {
    void *packed =
        pages ? pages_alloc(pages, bytes) : aligned_alloc(LINE_BYTES, round_up(bytes, LINE_BYTES));
    *owned = pages ? NULL : packed;
    return packed;
}

/* Packs the source into packed and rows unless they are NULL, in parts if it is read in parts.
 * Returns -1 if memory runs out. */
static int pack(const struct linear_source *source, const struct packing *packing, void *packed,
                void *rows) {
    size_t out = source->out, in = source->in,
           most = source->weight || out < PACKED_TOGETHER ? out : PACKED_TOGETHER;
    float *part = source->weight ? NULL : malloc((most * in + 1) * sizeof *part);
    if (!source->weight && !part)
        return -1;
    for (size_t first = 0, count; first < out; first += count) {
        count = out - first < most ? out - first : most;
        if (part)
            source->read(source->context, first, count, part);
        struct unpacked from = {part ? part : source->weight, out,   in,   source->scale,
                                source->input_scale,          first, count};
        if (packed)
            packing->pack(&from, packed);
        if (rows)
            packing->pack_rows(&from, rows);
    }
    free(part);
    return 0;
}

int linear_init(struct linear *linear, const struct linear_source *source,
                const struct backend *backend, struct error *err) {
    bool packs = linear_packing(source, backend) != NULL;
    if (!source->packed && !source->weight && !(packs && source->read))
        return -1;
    size_t out = source->out, in = source->in;
    const struct packing *packing = choose_packing(backend, source->stored, in);
    struct linear made = {.out = out,
                          .in = in,
                          .bias = source->bias,
                          .input_scale = source->input_scale,
                          .packing = packing};
    if (source->packed) {
        assert(packs && (source->rows || !source->lookups));
        made.packed = source->packed;
        made.rows = source->rows;
    } else {
        void *packed = NULL, *rows = NULL;
        if (packs)
            made.packed = packed =
                make_room(packing->bytes(out, in), backend->pages, &made.owned[0]);
        if (source->lookups)
            made.rows = rows =
                make_room(packing->rows_bytes(out, in), backend->pages, &made.owned[1]);
        if (!packs) {
            made.weight = source->weight;
            made.blas = backend->blas;
        }
        bool full = (!packs || packed) && (!source->lookups || rows);
        if (!full || ((packs || rows) && pack(source, packing, packed, rows) != 0)) {
            linear_done(&made);
            return error_memory(err);
        }
    }
    *linear = made;
    return 0;
}

void linear_done(struct linear *linear) {
    free(linear->owned[0]);
    free(linear->owned[1]);
    *linear = (struct linear){0};
}

size_t linear_bytes(const struct linear *linear) {
    size_t packed = linear->packed ? linear->packing->bytes(linear->out, linear->in) : 0;
    return packed + (linear->rows ? linear->packing->rows_bytes(linear->out, linear->in) : 0);
}

/* Multiplies with OpenBLAS, on the calling thread. */
static void apply_blas(const struct linear_output *output, const float *x, size_t ldx,
                       size_t rows) {
    const struct linear *l = output->linear;
    float *y = output->y;
    size_t ldy = output->ldy;
    assert(!output->taker && l->in <= INT_MAX && l->out <= INT_MAX && rows <= INT_MAX &&
           ldx <= INT_MAX && ldy <= INT_MAX);
    int in = (int)l->in, out = (int)l->out;
    float beta = l->bias ? 1.0f : 0.0f;
    for (size_t r = 0; l->bias && r < rows; r++)
        memcpy(y + r * ldy, l->bias, l->out * sizeof *y);
    if (rows == 1)
        l->blas->gemv(CblasRowMajor, CblasNoTrans, out, in, 1.0f, l->weight, in, x, 1, beta, y, 1);
    else
        l->blas->gemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, out, in, 1.0f, x,
                      (int)ldx, l->weight, in, beta, y, (int)ldy);
    for (size_t r = 0; output->relu && r < rows; r++)
        for (size_t i = 0; i < l->out; i++)
            y[r * ldy + i] = y[r * ldy + i] < 0 ? 0 : y[r * ldy + i];
}

static struct product product_of(const struct linear_output *output, const float *x, size_t ldx,
                                 size_t rows) {
    const struct linear *linear = output->linear;
    return (struct product){.packed = linear->packed,
                            .bias = linear->bias,
                            .out = linear->out,
                            .in = linear->in,
                            .input_scale = linear->input_scale,
                            .x = x,
                            .ldx = ldx,
                            .rows = rows,
                            .y = output->y,
                            .ldy = output->ldy,
                            .relu = output->relu,
                            .taker = output->taker};
}

void linear_apply_all(const struct linear_output *outputs, size_t count, const float *x, size_t ldx,
                      size_t rows) {
    struct product products[LINEAR_OUTPUTS];
    assert(count <= LINEAR_OUTPUTS);
    if (rows == 0)
        return;
    for (size_t i = 0, together; i < count; i += together) {
        const struct packing *packing = outputs[i].linear->packing;
        for (together = 0; i + together < count; together++) {
            const struct linear *linear = outputs[i + together].linear;
            if (!linear->packed || linear->packing != packing)
                break;
            products[together] = product_of(&outputs[i + together], x, ldx, rows);
        }
        if (together > 0)
            packing->multiply(products, together);
        else
            apply_blas(&outputs[i + together++], x, ldx, rows);
    }
}

void linear_apply_twice(const struct linear *inner, const struct linear *outer, const float *x,
                        size_t rows, float *wide, float *y) {
    struct linear_output first = {.linear = inner, .y = wide, .ldy = inner->out, .relu = true},
                         second = {.linear = outer, .y = y, .ldy = outer->out};
    if (rows == 0 || !inner->packed || !outer->packed || inner->packing != outer->packing) {
        linear_apply_all(&first, 1, x, inner->in, rows);
        linear_apply_all(&second, 1, wide, outer->in, rows);
        return;
    }
    struct product next = product_of(&second, wide, outer->in, rows),
                   product = product_of(&first, x, inner->in, rows);
    product.next = &next;
    inner->packing->multiply(&product, 1);
}

void linear_look_up_rows(const struct linear *linear, const struct linear_rows *rows,
                         const int *ids, size_t count) {
    assert(linear->rows && rows->count > 0);
    struct lookup lookup = {.rows = linear->rows,
                            .bias = linear->bias,
                            .out = linear->out,
                            .in = linear->in,
                            .input_scale = linear->input_scale,
                            .x = rows->x,
                            .ids = ids,
                            .count = count,
                            .y = rows->y,
                            .x_rows = rows->count,
                            .ldx = rows->ldx,
                            .ldy = rows->ldy};
    linear->packing->look_up(&lookup);
}

bool linear_outruns_lookups(const struct linear *linear, size_t rows, size_t count) {
    size_t least = linear->packed ? linear->packing->product_rows : 0;
    return least > 0 && rows >= least && count >= linear->out / 5 * 2;
}

/* ---- the fastest compute type ---- */

enum { TRIAL_ROWS = 32, TRIALS = 3 };

/* Returns the CPU time of the calling thread in seconds, so that other programs do not count. */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Measures a product of one row and one of TRIAL_ROWS, each as the best of several trials; x
 * [TRIAL_ROWS, in], y [TRIAL_ROWS, out]. One row counts as much as TRIAL_ROWS together, since both
 * loads are common. */
static int measure(const struct linear_source *source, const struct backend *backend,
                   const float *x, float *y, double *seconds, struct error *err) {
    static const size_t rows[] = {1, TRIAL_ROWS};
    struct linear linear;
    if (linear_init(&linear, source, backend, err) != 0)
        return -1;
    *seconds = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double best = HUGE_VAL;
        for (int run = 0; run < TRIALS; run++) {
            double began = now();
            linear_apply(&linear, x, linear.in, rows[i], y, linear.out);
            best = fmin(best, now() - began);
        }
        *seconds += best;
    }
    linear_done(&linear);
    return 0;
}

int compute_fastest(const struct backend *backend, const struct linear_source *shape,
                    enum compute *fastest, struct error *err) {
    size_t out = shape->out, in = shape->in;
    float *weight = calloc(out * in, sizeof *weight), *x = calloc(TRIAL_ROWS * in, sizeof *x),
          *y = calloc(TRIAL_ROWS * out, sizeof *y);
    struct linear_source source = {.weight = weight, .out = out, .in = in, .stored = shape->stored};
    struct backend trial = *backend;
    trial.pages = NULL;
    double least = HUGE_VAL;
    int result = weight && x && y ? 0 : error_memory(err);
    for (trial.compute = 0; result == 0 && trial.compute < COMPUTE_TYPES; trial.compute++) {
        double seconds;
        result = measure(&source, &trial, x, y, &seconds, err);
        if (result == 0 && seconds < least) {
            least = seconds;
            *fastest = trial.compute;
        }
    }
    free(weight);
    free(x);
    free(y);
    return result;
}
