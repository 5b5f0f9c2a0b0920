/* This file hides the models of Marian and Nematus: the names of their tensors, and how alignd's
 * are assembled from them. Their options are read in marian_options.c. */
#include "model/import/conversion.h"
#include "model/weights/config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tensors ----
 * In the file matrices are [in, out], and vectors [n] or [1, n]; ours are [out, in], and [n]. */

/* The norms within the cells of a recurrent model. */
enum norms { NORM_NONE, NORM_LAYER, NORM_GATES };
static const char *const norm_names[] = {"none", "layer", "gates"};

/* Sizes of the vocabularies. */
struct marian_sizes {
    size_t source, target;
};

struct converter {
    struct tensors *tensors;
    const struct marian_options *options;
    size_t embedding, hidden; /* both are d in a transformer */
    enum norms norm;
    bool before; /* norms come before each block */
};

/* Keeps the int8 of a transformer unchanged, since rounding it again would change it. multiplier:
 * the matrix whose factor, if the file has it, scales the inputs of a product before they are
 * rounded to int8; NULL: there is no product. */
static void keep_given(struct converter *c, struct made *made, const struct stored_tensor *from,
                       const char *multiplier) {
    if (!c->options->transformer || !from || !from->quantised)
        return;
    made->given = from;
    made->input_scale = 0;
    if (!multiplier)
        return;
    struct tensors *tensors = c->tensors;
    struct name own = tensors_named("%s_QuantMultA", multiplier);
    const struct stored_tensor *found = tensors_find(tensors, own.text);
    struct error inner = {0};
    float value = 0;
    if (found)
        tensors_drop(tensors, own.text);
    else if (strcmp(multiplier, "Wemb") == 0)
        found = tensors_find_stored(tensors->from, "none_QuantMultA");
    if (!found || tensors->failed)
        return;
    if (tensors_count(found) != 1 || found->kind > STORED_I8 ||
        tensors_numbers(found, 0, 1, &value, &inner) != 0 || value <= 0)
        tensors_fail(tensors, "%s: must be one positive number", found->name);
    else
        made->input_scale = value;
}

/* Transposes [in, out] in the file to [out, in]. */
static void weight(struct converter *c, const char *theirs, const char *ours, size_t inputs,
                   size_t outputs) {
    const struct stored_tensor *from = tensors_matrix(c->tensors, theirs, inputs, outputs);
    keep_given(c, tensors_transpose(c->tensors, ours, from, inputs, outputs), from, theirs);
}

static void vector(struct converter *c, const char *theirs, const char *ours, size_t size) {
    tensors_copy_vector(c->tensors, ours, tensors_vector(c->tensors, theirs, size), size);
}

/* ---- words ---- */

/* Returns true if the output layer's matrix is the target's embedding. */
static bool ties(const struct marian_options *options) {
    return marian_options_on(options, "tied-embeddings") ||
           marian_options_on(options, "tied-embeddings-all");
}

/* Plans embeddings [V, embedding], and returns V. multiplied: they are the output layer's matrix,
 * too. */
static size_t table(struct converter *c, const char *theirs, const char *ours, bool multiplied) {
    size_t rows = tensors_rows(c->tensors, theirs);
    const struct stored_tensor *from = tensors_matrix(c->tensors, theirs, rows, c->embedding);
    keep_given(c, tensors_copy(c->tensors, ours, from, rows, c->embedding), from,
               multiplied ? theirs : NULL);
    return rows;
}

static struct marian_sizes embeddings(struct converter *c) {
    struct marian_sizes sizes;
    bool multiplied = ties(c->options);
    if (marian_options_share_embedding(c->options)) {
        sizes.source = sizes.target = table(c, "Wemb", "decoder.embedding", multiplied);
    } else {
        sizes.source = table(c, "encoder_Wemb", "encoder.embedding", false);
        sizes.target = table(c, "decoder_Wemb", "decoder.embedding", multiplied);
    }
    return sizes;
}

/* Plans the output layer, whose matrix in newer files is [out, in] under another name. */
static void output(struct converter *c, size_t vocabulary) {
    const char *theirs = c->options->transformer ? "decoder_ff_logit_out" : "decoder_ff_logit_l2";
    struct name older = tensors_named("%s_W", theirs), newer = tensors_named("%s_Wt", theirs);
    if (marian_options_on(c->options, "output-omit-bias"))
        tensors_make_vector(c->tensors, "output.bias", vocabulary);
    else
        vector(c, tensors_named("%s_b", theirs).text, "output.bias", vocabulary);
    if (ties(c->options))
        return;
    if (tensors_find(c->tensors, older.text)) {
        weight(c, older.text, "output.weight", c->embedding, vocabulary);
        return;
    }
    const struct stored_tensor *from =
        tensors_matrix(c->tensors, newer.text, vocabulary, c->embedding);
    tensors_copy(c->tensors, "output.weight", from, vocabulary, c->embedding);
    if (c->options->transformer && from && from->quantised)
        tensors_fail(c->tensors,
                     "%s: is int8, which Marian reads in a different order than it writes it",
                     from->name);
}

/* ---- recurrent models ----
 * They are Marian's of type s2s, and Nematus's of types nematus and amun. A GRU has gates r, z in
 * W, U, b, and the candidate in Wx, Ux, bx. In `final` cells, those of the decoder's first layer
 * from its second cell on, the candidate's bias is inside r * (h Ux); in others it is outside. An
 * LSTM has blocks f, i, c, o. */

/* Renames a tensor. Files of types amun and nematus keep Nematus's names, but the functions below
 * request those of type s2s. */
static void rename_one(struct tensors *tensors, const char *theirs, const char *ours) {
    for (size_t i = 0; i < tensors->from->count; i++) {
        if (strcmp(tensors->from->entries[i].name, theirs) != 0)
            continue;
        for (size_t other = 0; other < tensors->from->count; other++)
            if (other != i && tensors->names[other] && strcmp(tensors->names[other], ours) == 0)
                tensors_fail(tensors, "%s: is another name of %s", theirs,
                             tensors->from->entries[other].name);
        const char *copy = arena_copy(tensors->arena, ours, strlen(ours));
        if (copy)
            tensors->names[i] = copy;
        else
            tensors_fail(tensors, "out of memory");
    }
}

/* Renames a tensor, and the gain and shift of its norm. */
static void rename_normed(struct tensors *tensors, const char *theirs, const char *ours) {
    static const char *const ends[] = {"", "_lns", "_lnb"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        rename_one(tensors, tensors_named("%s%s", theirs, ends[i]).text,
                   tensors_named("%s%s", ours, ends[i]).text);
}

static void rename_nematus(struct tensors *tensors, const struct marian_options *options) {
    static const char *const gates[] = {"W", "U", "b", "Wx", "Ux", "bx"}, *const state[] = {
                                                                              "U", "Ux", "b", "bx"};
    static const char *const cells[][2] = {{"encoder_", "encoder_bi_"},
                                           {"encoder_r_", "encoder_bi_r_"},
                                           {"decoder_", "decoder_cell1_"}};
    static const char *const second[][2] = {{"Wc", "W"},   {"U_nl", "U"},   {"b_nl", "b"},
                                            {"Wcx", "Wx"}, {"Ux_nl", "Ux"}, {"bx_nl", "bx"}};
    static const char *const start[] = {"W", "b", "ln_s", "ln_b", "gamma"}, *const readout[] = {
                                                                                "W", "b", "ln_s",
                                                                                "ln_b"};
    static const char *const parts[] = {"prev", "lstm", "ctx"}, *const sides[] = {"", "r_"};
    rename_one(tensors, "Wemb_dec", "decoder_Wemb");
    rename_one(tensors, "ff_logit_W", "decoder_ff_logit_l2_W");
    rename_one(tensors, "ff_logit_b", "decoder_ff_logit_l2_b");
    if (!marian_options_share_embedding(options))
        rename_one(tensors, "Wemb", "encoder_Wemb");
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < 6; i++)
            rename_normed(tensors, tensors_named("%s%s", cells[c][0], gates[i]).text,
                          tensors_named("%s%s", cells[c][1], gates[i]).text);
    for (size_t i = 0; i < 6; i++)
        rename_normed(tensors, tensors_named("decoder_%s", second[i][0]).text,
                      tensors_named("decoder_cell2_%s", second[i][1]).text);
    size_t below = marian_options_number(options, "enc-cell-depth"),
           above = marian_options_number(options, "dec-cell-base-depth");
    for (size_t n = 1; n < below; n++)
        for (size_t s = 0; s < 2; s++)
            for (size_t i = 0; i < 4; i++)
                rename_normed(
                    tensors, tensors_named("encoder_%s%s_drt_%zu", sides[s], state[i], n).text,
                    tensors_named("encoder_bi_%scell%zu_%s", sides[s], n + 1, state[i]).text);
    for (size_t n = 3; n <= above; n++)
        for (size_t i = 0; i < 4; i++)
            rename_normed(tensors, tensors_named("decoder_%s_nl_drt_%zu", state[i], n - 2).text,
                          tensors_named("decoder_cell%zu_%s", n, state[i]).text);
    for (size_t i = 0; i < 5; i++)
        rename_one(tensors, tensors_named("ff_state_%s", start[i]).text,
                   tensors_named("decoder_ff_state_%s", start[i]).text);
    for (size_t n = 0; n < 3; n++) {
        for (size_t i = 0; i < 4; i++)
            rename_one(tensors, tensors_named("ff_logit_%s_%s", parts[n], readout[i]).text,
                       tensors_named("decoder_ff_logit_l1_%s%zu", readout[i], n).text);
        rename_one(tensors, tensors_named("ff_logit_l1_gamma%zu", n).text,
                   tensors_named("decoder_ff_logit_l1_gamma%zu", n).text);
    }
    for (size_t s = 0; s < 2; s++)
        for (size_t n = 1; n <= 2; n++)
            rename_one(tensors, tensors_named("encoder_%sgamma%zu", sides[s], n).text,
                       tensors_named("encoder_bi_%sgamma%zu", sides[s], n).text);
}

/* ---- cells ---- */

static const struct cell {
    const char *theirs, *ours;
    struct {
        const char *end; /* end of the name of a tensor, which has this many gates */
        size_t gates;
    } parts[2];
    size_t gates, order[4]; /* the place of each of our gates among theirs */
    size_t candidate; /* how many gates, the last ones, have their bias inside r * (U h) in a final
                         cell */
} cells[] = {{"gru", "gru", {{"", 2}, {"x", 1}}, 3, {0, 1, 2}, 1},
             {"gru-nematus", "gru", {{"", 2}, {"x", 1}}, 3, {0, 1, 2}, 1},
             {"lstm", "lstm", {{"", 4}}, 4, {1, 0, 2, 3}, 0},
             {"tanh", "rnn", {{"", 1}}, 1, {0}, 0}};

/* One cell. */
struct cell_place {
    const char *theirs, *ours;
    size_t inputs; /* size of its input; 0: a transition, which has none */
    bool final;
};

static const struct cell *cell_of(const struct converter *c, const char *option) {
    const struct cell *cell = cells;
    while (strcmp(cell->theirs, marian_options_value(c->options, option)) != 0)
        cell++; /* the table of options allows no others */
    return cell;
}

/* Returns the number of the foreign tensor that has their gate, and sets within to the gate's
 * number in that tensor. */
static size_t part_of(const struct cell *cell, size_t gate, size_t *within) {
    size_t part = gate < cell->parts[0].gates ? 0 : 1;
    *within = part == 0 ? gate : gate - cell->parts[0].gates;
    return part;
}

/* A tensor of a cell's gates. */
struct gates {
    const char *end; /* the end of the foreign names, in which the part's end follows the first
                        letter */
    const char *ours;
    size_t inputs; /* of a matrix, whose gates are side by side [inputs, gates x hidden] in theirs,
                      and one below the other [gates x hidden, inputs] in ours; 0: a vector */
    size_t first, past; /* gates other than first .. past - 1 are zeros */
};

/* Plans our gates from theirs, in our order. */
static void cell_gates(struct converter *c, const struct cell *cell, const struct cell_place *place,
                       struct gates gates) {
    const char *end = gates.end, *ours = gates.ours;
    size_t inputs = gates.inputs, first = gates.first, past = gates.past;
    size_t hidden = c->hidden, within, size = cell->gates * hidden;
    const struct stored_tensor *from[2] = {NULL, NULL};
    struct name own = tensors_named("%s%s", place->ours, ours);
    struct made *made = inputs ? tensors_make(c->tensors, own.text, size, inputs)
                               : tensors_make_vector(c->tensors, own.text, size);
    for (size_t i = 0; i < 2 && cell->parts[i].gates && first < past; i++) {
        struct name theirs =
            tensors_named("%s%c%s%s", place->theirs, *end, cell->parts[i].end, end + 1);
        size = cell->parts[i].gates * hidden;
        from[i] = inputs ? tensors_matrix(c->tensors, theirs.text, inputs, size)
                         : tensors_vector(c->tensors, theirs.text, size);
    }
    for (size_t gate = first; gate < past; gate++) {
        size_t part = part_of(cell, cell->order[gate], &within);
        struct patch row = {.from = from[part],
                            .column = within * hidden,
                            .to_column = gate * hidden,
                            .rows = 1,
                            .columns = hidden};
        struct patch rows = {.from = from[part],
                             .flip = true,
                             .column = within * hidden,
                             .to_row = gate * hidden,
                             .rows = hidden,
                             .columns = inputs};
        tensors_patch(c->tensors, made, inputs ? rows : row);
    }
}

/* Plans a gain of all gates, which is one foreign vector. */
static void cell_gain(struct converter *c, const struct cell *cell, const struct cell_place *place,
                      int number, const char *ours) {
    size_t hidden = c->hidden;
    struct made *made = tensors_make_vector(
        c->tensors, tensors_named("%s%s", place->ours, ours).text, cell->gates * hidden);
    const struct stored_tensor *from = tensors_vector(
        c->tensors, tensors_named("%sgamma%d", place->theirs, number).text, cell->gates * hidden);
    for (size_t gate = 0; gate < cell->gates; gate++)
        tensors_patch(c->tensors, made,
                      (struct patch){.from = from,
                                     .column = cell->order[gate] * hidden,
                                     .to_column = gate * hidden,
                                     .rows = 1,
                                     .columns = hidden});
}

/* The biases of the first `beside` gates are added outside the product with r, and those of the
 * other gates inside. Marian's norm (layer) is of the products alone, without a shift; the biases
 * are added afterwards, so they become shifts. In Nematus's norm (gates) the bias is in the norm of
 * the input or, in a final cell, of the state; in the encoder's transitions it is outside. */
static void one_cell(struct converter *c, const struct cell *cell, struct cell_place place) {
    size_t gates = cell->gates, beside = place.final ? gates - cell->candidate : gates;
    cell_gates(c, cell, &place, (struct gates){"U", "weight_state", c->hidden, 0, gates});
    if (place.inputs)
        cell_gates(c, cell, &place, (struct gates){"W", "weight_input", place.inputs, 0, gates});
    switch (c->norm) {
    case NORM_NONE:
        cell_gates(c, cell, &place, (struct gates){"b", "bias_input", 0, 0, beside});
        cell_gates(c, cell, &place, (struct gates){"b", "bias_state", 0, beside, gates});
        return;
    case NORM_LAYER:
        tensors_make_vector(c->tensors, tensors_named("%sbias_state", place.ours).text,
                            gates * c->hidden);
        cell_gain(c, cell, &place, 2, "gain_state");
        cell_gates(c, cell, &place, (struct gates){"b", "shift_state", 0, beside, gates});
        if (!place.inputs) {
            cell_gates(c, cell, &place, (struct gates){"b", "bias_input", 0, 0, beside});
            return;
        }
        tensors_make_vector(c->tensors, tensors_named("%sbias_input", place.ours).text,
                            gates * c->hidden);
        cell_gain(c, cell, &place, 1, "gain_input");
        cell_gates(c, cell, &place, (struct gates){"b", "shift_input", 0, 0, beside});
        return;
    case NORM_GATES:
        cell_gates(c, cell, &place,
                   (struct gates){"b", "bias_input", 0, 0, place.final ? 0 : gates});
        cell_gates(c, cell, &place,
                   (struct gates){"b", "bias_state", 0, 0, place.final ? gates : 0});
        if (place.inputs) {
            cell_gates(c, cell, &place, (struct gates){"W_lns", "gain_input", 0, 0, gates});
            cell_gates(c, cell, &place, (struct gates){"W_lnb", "shift_input", 0, 0, gates});
        }
        cell_gates(c, cell, &place, (struct gates){"U_lns", "gain_state", 0, 0, gates});
        cell_gates(c, cell, &place, (struct gates){"U_lnb", "shift_state", 0, 0, gates});
    }
}

/* ---- the encoder ---- */

/* Plans two stacks, each of which reads its own output; with bi-unidirectional, only one stack is
 * above the first layer, and reads both directions of that layer. */
static void recurrent_encoder(struct converter *c) {
    const struct cell *cell = cell_of(c, "enc-cell");
    bool together = strcmp(marian_options_value(c->options, "enc-type"), "bi-unidirectional") == 0;
    size_t depth = marian_options_number(c->options, "enc-depth"),
           cell_depth = marian_options_number(c->options, "enc-cell-depth");
    static const char *const stacks[][2] = {{"encoder_bi_", "forward"},
                                            {"encoder_bi_r_", "backward"}};
    for (size_t i = 1; i <= depth; i++) {
        for (size_t s = 0; s < 2; s++) {
            for (size_t j = 1; j <= cell_depth; j++) {
                struct name layer = tensors_named(i > 1 ? "l%zu_" : "%.0zu", i > 1 ? i : 0);
                struct name number =
                    i > 1 || j > 1 ? tensors_named("cell%zu_", j) : tensors_named("%s", "");
                struct name theirs =
                    together && i > 1
                        ? tensors_named("encoder_l%zu_cell%zu_", i, j)
                        : tensors_named("%s%s%s", stacks[s][0], layer.text, number.text);
                struct name transition =
                    j > 1 ? tensors_named("transitions.%zu.", j - 2) : tensors_named("%s", "");
                struct name ours =
                    tensors_named("encoder.layers.%zu.%s.%s", i - 1, stacks[s][1], transition.text);
                size_t inputs = i == 1               ? c->embedding
                                : together && i == 2 ? 2 * c->hidden
                                                     : c->hidden;
                one_cell(c, cell,
                         (struct cell_place){theirs.text, ours.text, j > 1 ? 0 : inputs, false});
            }
            if (together && i > 1)
                break;
        }
    }
}

static const char *stack_of(const struct converter *c) {
    const char *type = marian_options_value(c->options, "enc-type");
    if (marian_options_number(c->options, "enc-depth") == 1)
        return "joined";
    return strcmp(type, "bidirectional") == 0 ? "separate"
           : strcmp(type, "alternating") == 0 ? "alternating"
                                              : "forward";
}

static size_t annotation(const struct converter *c) {
    return c->hidden * (strcmp(stack_of(c), "forward") == 0 ? 1 : 2);
}

/* ---- the decoder ---- */

/* Plans the bias of a product, and the gain and shift of its norm. Their names end with a number,
 * ours with a letter. */
static void bias_and_norm(struct converter *c, const char *theirs, const char *number,
                          const char *ours, const char *letter, size_t size) {
    struct name bias = tensors_named("%sbias%s", ours, letter),
                gain = tensors_named("%sgain%s", ours, letter),
                shift = tensors_named("%sshift%s", ours, letter);
    struct name their_bias = tensors_named("%sb%s", theirs, number);
    if (c->norm == NORM_LAYER) {
        tensors_make_vector(c->tensors, bias.text, size);
        vector(c, tensors_named("%sgamma%s", theirs, number).text, gain.text, size);
        vector(c, their_bias.text, shift.text, size);
        return;
    }
    vector(c, their_bias.text, bias.text, size);
    if (c->norm == NORM_GATES) {
        vector(c, tensors_named("%sln_s%s", theirs, number).text, gain.text, size);
        vector(c, tensors_named("%sln_b%s", theirs, number).text, shift.text, size);
    }
}

/* Plans the cells, and for each layer a copy of the one projection that its initial state starts
 * from. */
static void recurrent_decoder(struct converter *c) {
    const struct cell *cell = cell_of(c, "dec-cell");
    size_t base = marian_options_number(c->options, "dec-cell-base-depth"),
           high = marian_options_number(c->options, "dec-cell-high-depth");
    size_t depth = marian_options_number(c->options, "dec-depth");
    one_cell(c, cell,
             (struct cell_place){"decoder_cell1_", "decoder.layers.0.", c->embedding, false});
    for (size_t j = 2; j <= base; j++) {
        struct name ours = j > 2 ? tensors_named("decoder.conditional.transitions.%zu.", j - 3)
                                 : tensors_named("%s", "decoder.conditional.");
        one_cell(c, cell,
                 (struct cell_place){tensors_named("decoder_cell%zu_", j).text, ours.text,
                                     j == 2 ? annotation(c) : 0, true});
    }
    for (size_t i = 2; i <= depth; i++)
        for (size_t j = 1; j <= high; j++) {
            struct name ours =
                j > 1 ? tensors_named("decoder.layers.%zu.transitions.%zu.", i - 1, j - 2)
                      : tensors_named("decoder.layers.%zu.", i - 1);
            one_cell(c, cell,
                     (struct cell_place){tensors_named("decoder_l%zu_cell%zu_", i, j).text,
                                         ours.text, j == 1 ? c->hidden : 0, false});
        }
    for (size_t i = 0; i < depth; i++) {
        struct name ours = tensors_named("decoder.initial.%zu.", i);
        weight(c, "decoder_ff_state_W", tensors_named("%sweight", ours.text).text, annotation(c),
               c->hidden);
        bias_and_norm(c, "decoder_ff_state_", "", ours.text, "", c->hidden);
    }
}

/* Plans the attention and returns its size. */
static size_t attention(struct converter *c) {
    size_t size = tensors_rows(c->tensors, "decoder_U_att"), inputs = annotation(c);
    if (c->norm == NORM_LAYER) {
        vector(c, "decoder_att_gamma1", "attention.key.gain", size);
        vector(c, "decoder_b_att", "attention.key.shift", size);
        tensors_make_vector(c->tensors, "attention.key.bias", size);
        vector(c, "decoder_att_gamma2", "attention.query.gain", size);
        tensors_make_vector(c->tensors, "attention.query.shift", size);
    } else if (c->norm == NORM_GATES) {
        vector(c, "decoder_Wc_att_lns", "attention.key.gain", size);
        vector(c, "decoder_Wc_att_lnb", "attention.key.shift", size);
        vector(c, "decoder_W_comb_att_lns", "attention.query.gain", size);
        vector(c, "decoder_W_comb_att_lnb", "attention.query.shift", size);
    }
    if (c->norm != NORM_LAYER)
        vector(c, "decoder_b_att", "attention.key.bias", size);
    weight(c, "decoder_Wc_att", "attention.key.weight", inputs, size);
    weight(c, "decoder_W_comb_att", "attention.query.weight", c->hidden, size);
    vector(c, "decoder_U_att", "attention.energy", size);
    return size;
}

/* Plans the readout: tanh of the sum of three products, of y, s and c. Without norms, the sum of
 * their biases is one vector. */
static void readout(struct converter *c) {
    static const char theirs[] = "decoder_ff_logit_l1_", *const letters[] = {".y", ".s", ".c"};
    size_t size = c->embedding, inputs[] = {c->embedding, c->hidden, annotation(c)}, at = 0;
    struct made *made =
        tensors_make(c->tensors, "readout.weight", size, inputs[0] + inputs[1] + inputs[2]);
    for (size_t i = 0; i < 3; at += inputs[i++])
        tensors_patch(c->tensors, made,
                      (struct patch){.from = tensors_matrix(c->tensors,
                                                            tensors_named("%sW%zu", theirs, i).text,
                                                            inputs[i], size),
                                     .flip = true,
                                     .to_column = at,
                                     .rows = size,
                                     .columns = inputs[i]});
    if (c->norm == NORM_NONE) {
        made = tensors_make_vector(c->tensors, "readout.bias", size);
        for (size_t i = 0; i < 3; i++)
            tensors_patch(
                c->tensors, made,
                (struct patch){.from = tensors_vector(
                                   c->tensors, tensors_named("%sb%zu", theirs, i).text, size),
                               .add = true,
                               .rows = 1,
                               .columns = size});
        return;
    }
    for (size_t i = 0; i < 3; i++)
        bias_and_norm(c, theirs, tensors_named("%zu", i).text, "readout.", letters[i], size);
}

static json_t *convert_recurrent(struct converter *c, struct marian_sizes *sizes) {
    const char *type = marian_options_value(c->options, "type");
    bool normal = marian_options_on(c->options, "layer-normalization");
    c->norm = !normal ? NORM_NONE : strcmp(type, "nematus") == 0 ? NORM_GATES : NORM_LAYER;
    if (strcmp(type, "s2s") != 0)
        rename_nematus(c->tensors, c->options);
    recurrent_encoder(c);
    recurrent_decoder(c);
    size_t attention_size = attention(c);
    readout(c);
    *sizes = embeddings(c);
    output(c, sizes->target);
    if (c->tensors->failed)
        return NULL;

    size_t below = marian_options_number(c->options, "enc-depth"),
           above = marian_options_number(c->options, "dec-depth");
    bool skips = marian_options_on(c->options, "skip");
    const char *stack = stack_of(c), *norm = norm_names[c->norm];
    /* with bi-unidirectional the second layer's input and output differ in size, so it has no
     * residual connection */
    size_t first = strcmp(stack, "forward") == 0 ? 2 : 1;
    json_t *encoder_section = json_pack(
        "{s:s, s:i, s:i, s:i, s:s, s:b, s:s, s:i, s:b}", "cell", cell_of(c, "enc-cell")->ours,
        "layers", (int)below, "embedding", (int)c->embedding, "hidden", (int)c->hidden, "stack",
        stack, "residual", (int)(skips && below > first), "normalization", norm, "transitions",
        (int)marian_options_number(c->options, "enc-cell-depth") - 1, "embedding_shared",
        (int)marian_options_share_embedding(c->options));
    const char *cell = cell_of(c, "dec-cell")->ours;
    json_t *decoder_section = json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:s, s:b, s:s, s:i, s:s, s:b, s:s, s:i, s:i, s:s}", "style",
        "conditional", "cell", cell, "layers", (int)above, "embedding", (int)c->embedding, "hidden",
        (int)c->hidden, "initial_state", "mean", "initial_projection", 1, "readout", "tanh",
        "readout_size", (int)c->embedding, "first_input", "zero", "residual",
        (int)(skips && above > 1), "normalization", norm, "transitions",
        (int)marian_options_number(c->options, "dec-cell-base-depth") - 2, "upper_transitions",
        above > 1 ? (int)marian_options_number(c->options, "dec-cell-high-depth") - 1 : 0,
        "initial_cell", strcmp(cell, "lstm") == 0 ? "state" : "zero");
    return json_pack("{s:o, s:o, s:{s:s, s:i, s:s}, s:{s:b}}", "encoder", encoder_section,
                     "decoder", decoder_section, "attention", "score", "additive", "size",
                     (int)attention_size, "normalization", norm, "output", "tied",
                     (int)ties(c->options));
}

/* ---- transformers ----
 * A block's norm has the name of the block's last matrix: `..._Wo_ln_scale` for attention, even in
 * models without such a matrix, and `..._ffn_ffn_ln_scale` for the feed-forward; the names of norms
 * before a block end with `_pre`. */

/* Plans the matrix theirs_W<end> and the bias theirs_b<end>. */
static void dense(struct converter *c, const char *theirs, const char *end, const char *ours,
                  size_t inputs, size_t outputs) {
    weight(c, tensors_named("%s_W%s", theirs, end).text, tensors_named("%s.weight", ours).text,
           inputs, outputs);
    vector(c, tensors_named("%s_b%s", theirs, end).text, tensors_named("%s.bias", ours).text,
           outputs);
}

static void block_norm(struct converter *c, const char *theirs, const char *ours, bool before) {
    const char *end = before ? "_pre" : "";
    vector(c, tensors_named("%s_ln_scale%s", theirs, end).text,
           tensors_named("%s.norm.gain", ours).text, c->hidden);
    vector(c, tensors_named("%s_ln_bias%s", theirs, end).text,
           tensors_named("%s.norm.shift", ours).text, c->hidden);
}

static void heads(struct converter *c, const char *theirs, const char *ours) {
    static const char *const parts[][2] = {{"q", "query"}, {"k", "key"}, {"v", "value"}};
    struct name output = tensors_named("%s.output", ours);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        dense(c, theirs, parts[i][0], tensors_named("%s.%s", ours, parts[i][1]).text, c->hidden,
              c->hidden);
    if (marian_options_on(c->options, "transformer-no-projection")) {
        tensors_make(c->tensors, tensors_named("%s.weight", output.text).text, c->hidden, c->hidden)
            ->identity = true;
        tensors_make_vector(c->tensors, tensors_named("%s.bias", output.text).text, c->hidden);
    } else {
        dense(c, theirs, "o", output.text, c->hidden, c->hidden);
    }
    block_norm(c, tensors_named("%s_Wo", theirs).text, ours, c->before);
}

static void filter(struct converter *c, const char *theirs, const char *ours, size_t middle) {
    dense(c, theirs, "1", tensors_named("%s.input", ours).text, c->hidden, middle);
    dense(c, theirs, "2", tensors_named("%s.output", ours).text, middle, c->hidden);
    block_norm(c, tensors_named("%s_ffn", theirs).text, ours, c->before);
}

/* ---- the mixers ---- */

static void self_attention(struct converter *c, const char *theirs, const char *ours) {
    heads(c, tensors_named("%s_self", theirs).text, tensors_named("%s.self", ours).text);
}

static void ssru(struct converter *c, const char *theirs, const char *ours) {
    weight(c, tensors_named("%s_rnn_W", theirs).text,
           tensors_named("%s.ssru.candidate.weight", ours).text, c->hidden, c->hidden);
    dense(c, tensors_named("%s_rnn", theirs).text, "f", tensors_named("%s.ssru.forget", ours).text,
          c->hidden, c->hidden);
    block_norm(c, tensors_named(c->before ? "%s_rnn" : "%s_rnn_ffn", theirs).text,
               tensors_named("%s.ssru", ours).text, c->before);
}

/* Returns the size of the feed-forward of average attention; 0: it has none. */
static size_t average_filter(const struct converter *c) {
    return marian_options_number(c->options, "transformer-aan-depth") == 2
               ? marian_options_number(c->options, "transformer-dim-aan")
               : 0;
}

static void average(struct converter *c, const char *theirs, const char *ours) {
    size_t middle = average_filter(c);
    struct name aan = tensors_named("%s_aan", theirs), to = tensors_named("%s.average", ours);
    if (middle)
        dense(c, aan.text, "1", tensors_named("%s.input", to.text).text, c->hidden, middle);
    if (middle && middle != c->hidden)
        dense(c, aan.text, "2", tensors_named("%s.output", to.text).text, middle, c->hidden);
    if (!marian_options_on(c->options, "transformer-aan-nogate")) {
        dense(c, aan.text, "i", tensors_named("%s.gate.input", to.text).text, c->hidden, c->hidden);
        dense(c, aan.text, "f", tensors_named("%s.gate.output", to.text).text, c->hidden,
              c->hidden);
    }
    block_norm(c, tensors_named("%s_ffn", aan.text).text, to.text, c->before);
}

static const struct mixer {
    const char *theirs, *ours;
    void (*convert)(struct converter *c, const char *theirs, const char *ours);
} mixers[] = {{"self-attention", "self_attention", self_attention},
              {"rnn", "ssru", ssru},
              {"average-attention", "average", average}};

/* ---- the stacks ---- */

/* kind: the key whose value is "transformer". */
static json_t *stack_section(const struct converter *c, const char *kind, const char *depth,
                             size_t middle) {
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:s, s:b}", kind, "transformer",
                     "layers", (int)marian_options_number(c->options, depth), "embedding",
                     (int)c->hidden, "hidden", (int)c->hidden, "heads",
                     (int)marian_options_number(c->options, "transformer-heads"), "filter",
                     (int)middle, "activation",
                     marian_options_value(c->options, "transformer-ffn-activation"), "norm",
                     c->options->norm, "positions", "sinusoidal", "embedding_scale", 1);
}

static json_t *convert_transformer(struct converter *c, struct marian_sizes *sizes) {
    size_t depth = marian_options_number(c->options, "enc-depth"),
           middle = marian_options_number(c->options, "transformer-dim-ffn");
    size_t above = marian_options_number(c->options, "dec-depth"),
           upper = marian_options_number(c->options, "transformer-decoder-dim-ffn");
    const struct mixer *mixer = mixers;
    while (strcmp(mixer->theirs, marian_options_value(c->options, "transformer-decoder-autoreg")) !=
           0)
        mixer++; /* the table of options allows only these three */
    c->before = strcmp(c->options->norm, "pre") == 0;
    upper = upper ? upper : middle;
    if (tensors_find(c->tensors, "Wpos"))
        tensors_fail(c->tensors, "Wpos: learned positions are not supported: Marian reads the "
                                 "first of them in every step of a translation");

    for (size_t i = 1; i <= depth; i++) {
        heads(c, tensors_named("encoder_l%zu_self", i).text,
              tensors_named("encoder.layers.%zu.self", i - 1).text);
        filter(c, tensors_named("encoder_l%zu_ffn", i).text,
               tensors_named("encoder.layers.%zu.filter", i - 1).text, middle);
    }
    if (c->before)
        block_norm(c, "encoder_top", "encoder", false);
    for (size_t i = 0; i < above; i++) {
        struct name theirs = tensors_named("decoder_l%zu", c->options->tied_layers[i]),
                    ours = tensors_named("decoder.layers.%zu", i);
        mixer->convert(c, theirs.text, ours.text);
        heads(c, tensors_named("%s_context", theirs.text).text,
              tensors_named("%s.cross", ours.text).text);
        filter(c, tensors_named("%s_ffn", theirs.text).text,
               tensors_named("%s.filter", ours.text).text, upper);
    }
    if (c->before)
        block_norm(c, "decoder_top", "decoder", false);
    *sizes = embeddings(c);
    output(c, sizes->target);
    if (c->tensors->failed)
        return NULL;

    const char *layer = marian_options_value(c->options, "transformer-guided-alignment-layer");
    json_t *encoder = stack_section(c, "type", "enc-depth", middle);
    json_t *decoder = stack_section(c, "style", "dec-depth", upper);
    int failed = json_object_set_new(encoder, "embedding_shared",
                                     json_boolean(marian_options_share_embedding(c->options)));
    failed |= json_object_update_new(
        decoder, json_pack("{s:s, s:s}", "first_input", "zero", "mixer", mixer->ours));
    if (strcmp(mixer->ours, "average") == 0)
        failed |= json_object_update_new(
            decoder,
            json_pack("{s:i, s:s, s:b}", "average_filter", (int)average_filter(c),
                      "average_activation",
                      marian_options_value(c->options, "transformer-aan-activation"),
                      "average_gate", !marian_options_on(c->options, "transformer-aan-nogate")));
    failed |= json_object_update_new(
        decoder, json_pack("{s:i, s:i}", "alignment_layer", (int)strtol(layer, NULL, 10),
                           "alignment_head", 0)); /* "last" is read as 0 */
    json_t *sections = json_pack("{s:o, s:o, s:n, s:{s:b}}", "encoder", encoder, "decoder", decoder,
                                 "attention", "output", "tied", (int)ties(c->options));
    if (!failed)
        return sections;
    json_decref(sections);
    return NULL;
}

/* Plans all tensors. sections: encoder, decoder, attention and output of config.json, as far as the
 * model determines them, in a new object that the caller owns; NULL after an error, which the
 * tensors hold. */
static struct marian_sizes plan(struct tensors *tensors, const struct marian_options *options,
                                json_t **sections) {
    struct converter c = {
        .tensors = tensors,
        .options = options,
        .embedding = marian_options_number(options, "dim-emb"),
        .hidden = marian_options_number(options, options->transformer ? "dim-emb" : "dim-rnn")};
    struct marian_sizes sizes;
    *sections = (options->transformer ? convert_transformer : convert_recurrent)(&c, &sizes);
    if (!tensors->failed && !*sections) {
        tensors->failed = true;
        error_memory(tensors->err);
    }
    return sizes;
}

/* ---- the model ---- */

/* The most source tokens of a sentence if the decoder's options do not state them. */
static const size_t program_tokens[] = {
    [PROGRAM_OTHER] = 100, [PROGRAM_BERGAMOT] = 128, [PROGRAM_OPUS] = 512};

static const char SPECIAL_OPTIONS[] = "special:model.yml";
enum { MOST_OPTIONS_BYTES = 1 << 22, USUAL_LISTED = 100 };

/* Tensors that are not converted; sorted. */
static const struct {
    const char *name, *what;
} dropped[] = {{"decoder_c_tt", "an empty array for old programs"},
               {"history_errs", "Nematus's validation errors"},
               {"none_QuantMultA", "a copy of the multiplier of Wemb"},
               {SPECIAL_OPTIONS, "the options"},
               {"uidx", "Nematus's count of updates"}};
enum { DROPPED = sizeof dropped / sizeof *dropped };

static int read_options(struct import *import, const struct parts *parts,
                        struct marian_options *options, struct error *err) {
    struct arena *arena = &import->arena;
    const struct stored_tensor *own =
        tensors_find_stored(&import->conversion.container, SPECIAL_OPTIONS);
    if (own) {
        uint64_t size = tensors_count(own) * stored_types[own->kind].bytes;
        char *text = size <= MOST_OPTIONS_BYTES ? arena_zalloc(arena, (size_t)size + 1, 1) : NULL;
        if (!text)
            return error_set(err, ERROR_FORMAT, "%s: is too large", SPECIAL_OPTIONS);
        if (tensors_bytes(own, 0, (size_t)tensors_count(own), text, err) != 0)
            return -1;
        while (size > 0 && text[size - 1] == '\0')
            size--;
        if (strlen(text) != size)
            return error_set(err, ERROR_FORMAT, "%s: has a NUL in the middle", SPECIAL_OPTIONS);
        return marian_options_read(text, (size_t)size, true, arena, options, err);
    }
    const char *path =
        parts->options ? parts->options
                       : source_say(arena, "%s/%s.json", parts->folder, source_name(parts->model));
    char *text;
    size_t length;
    if (!source_exists(path))
        return error_set(err, ERROR_FORMAT,
                         "%s: has no options (%s): name a file of options, such as %s.json",
                         parts->model, SPECIAL_OPTIONS, parts->name);
    return source_text(path, MOST_OPTIONS_BYTES, arena, &text, &length, err) == 0
               ? marian_options_read(text, length, false, arena, options, err)
               : -1;
}

/* A model of Marian that is imported. */
struct marian_model {
    const struct parts *parts;
    struct marian_options options;
    struct marian_defaults defaults;
    struct marian_sizes sizes;
    json_t *sections; /* encoder, decoder, attention and output of config.json */
};

/* Adds the content of the files beside the tensors to the configuration and the tokenizer. */
static int describe(struct import *import, const struct marian_model *model, struct error *err) {
    const struct parts *parts = model->parts;
    const struct marian_options *options = &model->options;
    const struct marian_defaults *defaults = &model->defaults;
    const struct import_options *o = import->options;
    struct arena *arena = &import->arena;
    struct conversion *c = &import->conversion;
    struct vocabulary sides[2];
    const size_t counts[] = {model->sizes.source, model->sizes.target};
    for (size_t side = 0; side < 2; side++) {
        if (vocabulary_import(parts->vocabularies[side], counts[side], arena, &sides[side], err) !=
            0)
            return -1;
        const struct vocabulary list = sides[side];
        if (parts->segmenters[side] &&
            vocabulary_segmented(parts->segmenters[side], &list, arena, &sides[side], err) != 0)
            return -1;
    }
    if (conversion_tokenizer_files_of(&sides[0], &sides[1], &c->tokenizer, err) != 0)
        return -1;
    if (marian_options_share_embedding(options) && !c->tokenizer.one_list)
        return error_set(err, ERROR_FORMAT,
                         "source and target have one embedding, but their vocabularies differ");
    const struct model_limits limits = {defaults->source_tokens ? defaults->source_tokens
                                                                : program_tokens[parts->program],
                                        defaults->ratio};
    if (conversion_begin(import, &limits, parts->source, parts->target, err) != 0)
        return -1;

    bool guided = o->alignment ? strcmp(o->alignment, "trained") == 0 : parts->guided;
    int failed = json_object_set(c->config, "defaults", defaults->section) |
                 json_object_update(c->config, model->sections);
    failed |= json_object_set_new(json_object_get(c->config, "output"), "unknowns",
                                  json_boolean(o->unknowns || defaults->unknowns));
    if (options->transformer)
        failed |= json_object_set_new(json_object_get(c->config, "decoder"), "alignment_trained",
                                      json_boolean(guided));
    if (parts->segmenters[0])
        failed |= json_object_set_new(c->tokenizer.section, "preparation",
                                      json_string(o->preparation ? o->preparation : "opus"));
    failed |= json_object_set(c->config, "tokenizer", c->tokenizer.section);
    if (failed)
        return error_memory(err);

    if (parts->shortlist && !o->no_shortlist) {
        struct ids source, target;
        struct shortlist_options list = {&source, &target, c->tokenizer.one_list,
                                         o->shortlist_first ? o->shortlist_first : USUAL_LISTED,
                                         o->shortlist_best ? o->shortlist_best : USUAL_LISTED};
        if (conversion_ids_of(&sides[0], arena, &source, err) != 0 ||
            conversion_ids_of(&sides[1], arena, &target, err) != 0 ||
            conversion_import_shortlist(parts->shortlist, &list, arena, &c->shortlist, err) != 0)
            return -1;
        c->has_shortlist = true;
    }
    c->has_quality = parts->quality != NULL;
    if (c->has_quality && conversion_import_quality(parts->quality, arena, c->quality, err) != 0)
        return -1;
    if (c->has_shortlist && (defaults->lists || parts->program == PROGRAM_BERGAMOT) &&
        json_object_set_new(defaults->section, "shortlist", json_true()) != 0)
        return error_memory(err);
    return 0;
}

static int convert_parts(struct import *import, struct parts *parts, struct error *err) {
    struct arena *arena = &import->arena;
    struct conversion *c = &import->conversion;
    struct marian_model model = {.parts = parts};
    enum archive_kind kind;
    if (conversion_expand(import, parts, err) != 0 ||
        source_archive_kind_of(parts->model, &kind, err) != 0)
        return -1;
    bool zip = kind == ARCHIVE_ZIP || source_ends(parts->model, ".npz");
    int result = zip ? tensors_open_npz(parts->model, import->work, arena, import->options->stop,
                                        &c->container, err)
                     : tensors_open_marian(parts->model, arena, &c->container, err);
    if (result != 0 || read_options(import, parts, &model.options, err) != 0 ||
        conversion_marian_decoder_read(&parts->decoder, arena, &model.defaults, err) != 0)
        return -1;
    result = tensors_init(&c->tensors, &c->container, arena, err);
    for (size_t d = 0; result == 0 && d < DROPPED; d++)
        for (size_t i = 0; i < c->container.count; i++)
            if (strcmp(c->container.entries[i].name, dropped[d].name) == 0) {
                c->tensors.names[i] = NULL;
                c->tensors.left[i] = false;
                fprintf(import->said, "dropped: %s, %s\n", dropped[d].name, dropped[d].what);
            }
    if (result == 0) {
        model.sizes = plan(&c->tensors, &model.options, &model.sections);
        tensors_check_left(&c->tensors, "unknown, so the options do not describe this model");
        result = c->tensors.failed ? -1 : describe(import, &model, err);
    }
    c->compute = model.defaults.compute;
    c->from = source_name(parts->model);
    c->origin = parts->origin;
    if (result == 0)
        fprintf(import->said, "%s%s%s%s", model.defaults.said,
                *model.options.ignored ? "options of training, ignored: " : "",
                model.options.ignored, *model.options.ignored ? "\n" : "");
    json_decref(model.sections);
    json_decref(model.defaults.section);
    return result;
}

static int convert(struct import *import, struct error *err) {
    struct parts parts;
    const char *shown = conversion_stem(source_name(import->shown), &import->arena);
    if (parts_find(import->paths, import->options->path_count, shown, &import->arena, &parts,
                   err) != 0)
        return -1;
    return convert_parts(import, &parts, err);
}

/* Errors name what is missing from a model of Marian. */
static bool is_any(struct import *import) {
    (void)import;
    return true;
}

const struct import_family import_marian = {is_any, convert};
