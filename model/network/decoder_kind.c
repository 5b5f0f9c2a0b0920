#include "model/network/decoder_kind.h"

#include <assert.h>
#include <string.h>

void decoder_embed(const struct decoder *decoder, int token, float *x) {
    size_t size = decoder->shape.input;
    token = token == DECODER_FIRST ? decoder->first : token;
    assert(token == DECODER_FIRST || (token >= 0 && (size_t)token < decoder->vocabulary));
    if (token == DECODER_FIRST)
        memset(x, 0, size * sizeof *x);
    else
        weights_row(&decoder->embedding, (size_t)token, x);
}
