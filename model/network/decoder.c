/* Hides which kind of decoder a model has. */
#include "model/network/decoder.h"

#include <assert.h>
#include <string.h>

static const struct decoder_kind *const kinds[] = {&decoder_recurrent, &decoder_transformer};

int decoder_init(struct decoder *decoder, const struct model_config *config, size_t vocabulary, int first, struct weights *weights,
                 const struct kernels *kernels, struct error *err) {
    const struct decoder_config *c = &config->decoder;
    *decoder = (struct decoder){.kernels = kernels,
                                .vocabulary = vocabulary,
                                .first = c->first_input == FIRST_ZERO ? DECODER_FIRST : first,
                                .shape = {.input = c->embedding}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i]->has(c->style))
            decoder->kind = kinds[i];
    if (!decoder->kind)
        return error_set(err, ERROR_FORMAT, "decoder.style: %s is not known", c->style);
    weights_table(weights, "decoder.embedding", vocabulary, c->embedding, &decoder->embedding, err);
    if (decoder->kind->init(decoder, config, weights, err) == 0)
        return 0;
    decoder_done(decoder);
    return -1;
}

void decoder_done(struct decoder *decoder) {
    if (decoder->own)
        decoder->kind->done(decoder->own);
    decoder->own = NULL;
}

int decoder_start(const struct decoder *decoder, const struct encoded *encoded, const size_t *lengths, size_t n,
                  struct arena *arena, float *states, struct error *err) {
    return decoder->kind->start(decoder, encoded, lengths, n, arena, states, err);
}

size_t decoder_slots(const struct decoder *decoder, size_t length) {
    return decoder->attends ? length : 1;
}

int decoder_remember(const struct decoder *decoder, const struct encoded *encoded, size_t first, size_t count, struct arena *arena,
                     float *keys, float *values, struct error *err) {
    return decoder->kind->remember(decoder, encoded, first, count, arena, keys, values, err);
}

int decoder_step(const struct decoder *decoder, const struct row *rows, size_t count, struct arena *arena, struct error *err) {
    for (size_t r = 0; r < count; r++) { /* the rows lie side by side */
        assert(rows[r].state == rows->state + r * decoder->shape.state);
        assert(rows[r].readout == rows->readout + r * decoder->shape.readout);
    }
    return decoder->kind->step(decoder, rows, count, arena, err);
}

void decoder_embed(const struct decoder *decoder, int token, float *x) {
    size_t size = decoder->shape.input;
    token = token == DECODER_FIRST ? decoder->first : token;
    assert(token == DECODER_FIRST || (token >= 0 && (size_t)token < decoder->vocabulary));
    if (token == DECODER_FIRST)
        memset(x, 0, size * sizeof *x);
    else
        weights_row(&decoder->embedding, (size_t)token, x);
}
