#include "tests/bench/parts.h"
#include "model/network/layers.h"
#include "model/network/network.h"
#include "model/search/search.h"
#include "tests/bench/measure.h"

#include <stddef.h>

static _Thread_local struct parts *parts; /* NULL: not measuring */

void parts_begin(struct parts *into) {
    parts = into;
}

void parts_end(void) {
    parts = NULL;
}

static double begin(void) {
    return parts ? now() : 0;
}

static void end(enum part part, double began) {
    if (parts)
        parts->seconds[part] += now() - began;
}

/* __real_NAME is the function itself; calls of NAME come to __wrap_NAME. */

void __real_linear_apply_all(const struct linear_output *outputs, size_t count, const float *x,
                             size_t ldx, size_t rows);
void __wrap_linear_apply_all(const struct linear_output *outputs, size_t count, const float *x,
                             size_t ldx, size_t rows);
void __wrap_linear_apply_all(const struct linear_output *outputs, size_t count, const float *x,
                             size_t ldx, size_t rows) {
    double began = begin();
    __real_linear_apply_all(outputs, count, x, ldx, rows);
    end(PART_PRODUCTS, began);
    for (size_t i = 0; parts && i < count; i++)
        parts->multiply_adds +=
            (double)rows * (double)outputs[i].linear->out * (double)outputs[i].linear->in;
}

void __real_linear_apply_twice(const struct linear *inner, const struct linear *outer,
                               const float *x, size_t rows, float *wide, float *y);
void __wrap_linear_apply_twice(const struct linear *inner, const struct linear *outer,
                               const float *x, size_t rows, float *wide, float *y);
void __wrap_linear_apply_twice(const struct linear *inner, const struct linear *outer,
                               const float *x, size_t rows, float *wide, float *y) {
    double began = begin();
    __real_linear_apply_twice(inner, outer, x, rows, wide, y);
    end(PART_PRODUCTS, began);
    if (parts)
        parts->multiply_adds +=
            (double)rows * (double)inner->out * (double)(inner->in + outer->out);
}

void __real_linear_look_up_rows(const struct linear *linear, const struct linear_rows *rows,
                                const int *ids, size_t count);
void __wrap_linear_look_up_rows(const struct linear *linear, const struct linear_rows *rows,
                                const int *ids, size_t count);
void __wrap_linear_look_up_rows(const struct linear *linear, const struct linear_rows *rows,
                                const int *ids, size_t count) {
    double began = begin();
    __real_linear_look_up_rows(linear, rows, ids, count);
    end(PART_PRODUCTS, began);
    if (parts)
        parts->multiply_adds += (double)rows->count * (double)count * (double)linear->in;
}

void *__real_encoder_begin(const struct encoder *encoder, const struct encoder_input *input,
                           struct arena *arena, struct encoded *out, struct error *err);
void *__wrap_encoder_begin(const struct encoder *encoder, const struct encoder_input *input,
                           struct arena *arena, struct encoded *out, struct error *err);
void *__wrap_encoder_begin(const struct encoder *encoder, const struct encoder_input *input,
                           struct arena *arena, struct encoded *out, struct error *err) {
    double began = begin();
    void *result = __real_encoder_begin(encoder, input, arena, out, err);
    end(PART_ENCODE, began);
    return result;
}

bool __real_encoder_advance(const struct encoder *encoder, void *all, size_t work);
bool __wrap_encoder_advance(const struct encoder *encoder, void *all, size_t work);
bool __wrap_encoder_advance(const struct encoder *encoder, void *all, size_t work) {
    double began = begin();
    bool result = __real_encoder_advance(encoder, all, work);
    end(PART_ENCODE, began);
    return result;
}

void __real_heads_look(const struct kernels *kernels, const struct heads_shape *heads,
                       const struct gaze *gaze);
void __wrap_heads_look(const struct kernels *kernels, const struct heads_shape *heads,
                       const struct gaze *gaze);
void __wrap_heads_look(const struct kernels *kernels, const struct heads_shape *heads,
                       const struct gaze *gaze) {
    double began = begin();
    __real_heads_look(kernels, heads, gaze);
    end(PART_ATTENTION, began);
}

void __real_heads_look_around(const struct kernels *kernels, const struct heads_shape *heads,
                              const struct mutual *mutual);
void __wrap_heads_look_around(const struct kernels *kernels, const struct heads_shape *heads,
                              const struct mutual *mutual);
void __wrap_heads_look_around(const struct kernels *kernels, const struct heads_shape *heads,
                              const struct mutual *mutual) {
    double began = begin();
    __real_heads_look_around(kernels, heads, mutual);
    end(PART_SELF, began);
}

int __real_decoder_start(const struct decoder *decoder, const struct encoded *encoded,
                         struct arena *arena, float *states, struct error *err);
int __wrap_decoder_start(const struct decoder *decoder, const struct encoded *encoded,
                         struct arena *arena, float *states, struct error *err);
int __wrap_decoder_start(const struct decoder *decoder, const struct encoded *encoded,
                         struct arena *arena, float *states, struct error *err) {
    double began = begin();
    int result = __real_decoder_start(decoder, encoded, arena, states, err);
    end(PART_ENCODE, began);
    return result;
}

int __real_decoder_remember(const struct decoder *decoder, const struct encoded *encoded,
                            const struct memory_part *part, struct arena *arena, struct error *err);
int __wrap_decoder_remember(const struct decoder *decoder, const struct encoded *encoded,
                            const struct memory_part *part, struct arena *arena, struct error *err);
int __wrap_decoder_remember(const struct decoder *decoder, const struct encoded *encoded,
                            const struct memory_part *part, struct arena *arena,
                            struct error *err) {
    double began = begin();
    int result = __real_decoder_remember(decoder, encoded, part, arena, err);
    end(PART_ENCODE, began);
    return result;
}

int __real_decoder_step(const struct decoder *decoder, const struct row *rows, size_t count,
                        struct arena *arena, struct error *err);
int __wrap_decoder_step(const struct decoder *decoder, const struct row *rows, size_t count,
                        struct arena *arena, struct error *err);
int __wrap_decoder_step(const struct decoder *decoder, const struct row *rows, size_t count,
                        struct arena *arena, struct error *err) {
    double began = begin();
    int result = __real_decoder_step(decoder, rows, count, arena, err);
    end(PART_STEP, began);
    return result;
}

void __real_attention_run(const struct attention *attention, const struct row *rows, size_t count,
                          const struct attention_step *step);
void __wrap_attention_run(const struct attention *attention, const struct row *rows, size_t count,
                          const struct attention_step *step);
void __wrap_attention_run(const struct attention *attention, const struct row *rows, size_t count,
                          const struct attention_step *step) {
    double began = begin();
    __real_attention_run(attention, rows, count, step);
    end(PART_ATTENTION, began);
}

int __real_output_run(const struct output *output, const struct row *rows, size_t count,
                      struct arena *arena, struct error *err);
int __wrap_output_run(const struct output *output, const struct row *rows, size_t count,
                      struct arena *arena, struct error *err);
int __wrap_output_run(const struct output *output, const struct row *rows, size_t count,
                      struct arena *arena, struct error *err) {
    double began = begin();
    int result = __real_output_run(output, rows, count, arena, err);
    end(PART_OUTPUT, began);
    return result;
}

int __real_search_advance(struct search *search, const struct distribution *rows,
                          struct error *err);
int __wrap_search_advance(struct search *search, const struct distribution *rows,
                          struct error *err);
int __wrap_search_advance(struct search *search, const struct distribution *rows,
                          struct error *err) {
    double began = begin();
    int result = __real_search_advance(search, rows, err);
    end(PART_SEARCH, began);
    return result;
}
