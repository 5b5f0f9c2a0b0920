/* What decoder_recurrent.c, which loads a recurrent decoder and starts its rows, shares with decoder_recurrent_step.c, which steps
 * them. */
#ifndef ALIGND_DECODER_RECURRENT_H
#define ALIGND_DECODER_RECURRENT_H

#include "model/network/attention.h"
#include "model/network/cell.h"
#include "model/network/decoder_kind.h"
#include "model/network/norm.h"
#include "model/network/readout.h"

struct recurrent_step;

/* Which cell of layer 0 reads the context: none; the one that reads y, side by side with it; or a second one. */
enum context_reader { NO_CELL, FIRST_CELL, SECOND_CELL };

struct recurrent_style {
    const char *name;
    enum context_reader reader;
    void (*run)(const struct recurrent_step *step);
};

struct recurrent {
    const struct recurrent_style *style;
    const struct kernels *kernels;
    const struct cell_kind *cell;
    const struct norm_kind *norm;               /* of the products with its matrices */
    size_t hidden, layers, annotation, context; /* H, -, D, C */
    size_t layer_size;                          /* of a layer's state: states * H */
    size_t feed;                                /* O with input feeding, else 0 */
    enum initial_state initial_state;
    bool projected, residual;
    bool initial_cell;                     /* an LSTM's c starts as its h does, not at zero */
    size_t transitions, upper_transitions; /* cells that follow the last one of layer 0, and of each layer above it */
    struct cell cells[CONFIG_MAX_LAYERS];
    struct cell conditional;     /* style conditional: the second cell of layer 0, which reads the context */
    struct linear input_context; /* styles bahdanau and fixed: what the cell of layer 0 reads of the context */
    struct linear initial[CONFIG_MAX_LAYERS];
    struct norm initial_norms[CONFIG_MAX_LAYERS];
    struct attention attention; /* no kind and no keys where there is none; always the size P of values */
    struct readout readout;
};

/* The row of this name; NULL as table_find. */
const struct recurrent_style *recurrent_style_find(const char *name, struct error *err);

/* What a cell reads of the context; out 0: none does. */
const struct linear *recurrent_context(const struct recurrent *own);

/* decoder_step. */
int recurrent_step(const struct decoder *decoder, const struct row *rows, size_t count, struct arena *arena, struct error *err);

#endif
