/* The recurrent models of Marian (type s2s) and Nematus (types nematus and amun). In the file matrices are [in, out]; ours are
 * [out, in]. GRU: gates r, z in W, U, b, the candidate in Wx, Ux, bx. Its bias stands beside r * (h Ux) in cells that are not
 * `final`, inside it in those that are: the decoder's first layer from its second cell on. LSTM: blocks f, i, c, o. */
#include "model/import/marian.h"
#include <string.h>

/* ---- names ---- */

/* Nematus's names, which types amun and nematus keep in their files, are asked for under those of type s2s. */
static void rename_one(struct tensors *tensors, const char *theirs, const char *ours) {
    for (size_t i = 0; i < tensors->from->count; i++) {
        if (strcmp(tensors->from->entries[i].name, theirs) != 0)
            continue;
        for (size_t other = 0; other < tensors->from->count; other++)
            if (other != i && tensors->names[other] && strcmp(tensors->names[other], ours) == 0)
                tensors_fail(tensors, "%s: is another name of %s", theirs, tensors->from->entries[other].name);
        const char *copy = arena_copy(tensors->arena, ours, strlen(ours));
        if (copy)
            tensors->names[i] = copy;
        else
            tensors_fail(tensors, "out of memory");
    }
}

/* One tensor, and the gain and shift of its norm. */
static void rename_normed(struct tensors *tensors, const char *theirs, const char *ours) {
    static const char *const ends[] = {"", "_lns", "_lnb"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        rename_one(tensors, named("%s%s", theirs, ends[i]).text, named("%s%s", ours, ends[i]).text);
}

static void rename_nematus(struct tensors *tensors, const struct marian_options *options) {
    static const char *const gates[] = {"W", "U", "b", "Wx", "Ux", "bx"}, *const state[] = {"U", "Ux", "b", "bx"};
    static const char *const cells[][2] = {
        {"encoder_", "encoder_bi_"}, {"encoder_r_", "encoder_bi_r_"}, {"decoder_", "decoder_cell1_"}};
    static const char *const second[][2] = {{"Wc", "W"},   {"U_nl", "U"},   {"b_nl", "b"},
                                            {"Wcx", "Wx"}, {"Ux_nl", "Ux"}, {"bx_nl", "bx"}};
    static const char *const start[] = {"W", "b", "ln_s", "ln_b", "gamma"}, *const readout[] = {"W", "b", "ln_s", "ln_b"};
    static const char *const parts[] = {"prev", "lstm", "ctx"}, *const sides[] = {"", "r_"};
    rename_one(tensors, "Wemb_dec", "decoder_Wemb");
    rename_one(tensors, "ff_logit_W", "decoder_ff_logit_l2_W");
    rename_one(tensors, "ff_logit_b", "decoder_ff_logit_l2_b");
    if (!marian_shares(options))
        rename_one(tensors, "Wemb", "encoder_Wemb");
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < 6; i++)
            rename_normed(tensors, named("%s%s", cells[c][0], gates[i]).text, named("%s%s", cells[c][1], gates[i]).text);
    for (size_t i = 0; i < 6; i++)
        rename_normed(tensors, named("decoder_%s", second[i][0]).text, named("decoder_cell2_%s", second[i][1]).text);
    size_t below = marian_number(options, "enc-cell-depth"), above = marian_number(options, "dec-cell-base-depth");
    for (size_t n = 1; n < below; n++)
        for (size_t s = 0; s < 2; s++)
            for (size_t i = 0; i < 4; i++)
                rename_normed(tensors, named("encoder_%s%s_drt_%zu", sides[s], state[i], n).text,
                              named("encoder_bi_%scell%zu_%s", sides[s], n + 1, state[i]).text);
    for (size_t n = 3; n <= above; n++)
        for (size_t i = 0; i < 4; i++)
            rename_normed(tensors, named("decoder_%s_nl_drt_%zu", state[i], n - 2).text,
                          named("decoder_cell%zu_%s", n, state[i]).text);
    for (size_t i = 0; i < 5; i++)
        rename_one(tensors, named("ff_state_%s", start[i]).text, named("decoder_ff_state_%s", start[i]).text);
    for (size_t n = 0; n < 3; n++) {
        for (size_t i = 0; i < 4; i++)
            rename_one(tensors, named("ff_logit_%s_%s", parts[n], readout[i]).text,
                       named("decoder_ff_logit_l1_%s%zu", readout[i], n).text);
        rename_one(tensors, named("ff_logit_l1_gamma%zu", n).text, named("decoder_ff_logit_l1_gamma%zu", n).text);
    }
    for (size_t s = 0; s < 2; s++)
        for (size_t n = 1; n <= 2; n++)
            rename_one(tensors, named("encoder_%sgamma%zu", sides[s], n).text, named("encoder_bi_%sgamma%zu", sides[s], n).text);
}

/* ---- cells ---- */

static const struct cell {
    const char *theirs, *ours;
    struct {
        const char *end; /* end of the name of a tensor, which has this many gates */
        size_t gates;
    } parts[2];
    size_t gates, order[4]; /* where each of our gates is among theirs */
    size_t candidate;       /* the gates whose bias is inside r * (U h) in a final cell, the last ones */
} cells[] = {{"gru", "gru", {{"", 2}, {"x", 1}}, 3, {0, 1, 2}, 1},
             {"gru-nematus", "gru", {{"", 2}, {"x", 1}}, 3, {0, 1, 2}, 1},
             {"lstm", "lstm", {{"", 4}}, 4, {1, 0, 2, 3}, 0},
             {"tanh", "rnn", {{"", 1}}, 1, {0}, 0}};

enum norms { NORM_NONE, NORM_LAYER, NORM_GATES };
static const char *const norm_names[] = {"none", "layer", "gates"};

struct converter {
    struct tensors *tensors;
    const struct marian_options *options;
    size_t embedding, hidden;
    enum norms norm;
};

/* One cell. */
struct place {
    const char *theirs, *ours;
    size_t inputs; /* what it reads; 0: nothing, it is a transition */
    bool final;
};

static const struct cell *cell_of(const struct converter *c, const char *option) {
    const struct cell *cell = cells;
    while (strcmp(cell->theirs, marian_option(c->options, option)) != 0)
        cell++; /* the table of options allows these alone */
    return cell;
}

/* The foreign tensor that has their gate, and the gate's number in it. */
static size_t part_of(const struct cell *cell, size_t gate, size_t *within) {
    size_t part = gate < cell->parts[0].gates ? 0 : 1;
    *within = part == 0 ? gate : gate - cell->parts[0].gates;
    return part;
}

/* Their gates side by side [in, gates x hidden] become ours, one below the other [gates x hidden, in]. */
static void cell_weight(struct converter *c, const struct cell *cell, const struct place *place, const char *letter,
                        const char *ours, size_t inputs) {
    size_t hidden = c->hidden, within;
    const struct stored *from[2] = {NULL, NULL};
    struct made *made = tensors_make(c->tensors, named("%s%s", place->ours, ours).text, cell->gates * hidden, inputs);
    for (size_t i = 0; i < 2 && cell->parts[i].gates; i++)
        from[i] = tensors_matrix(c->tensors, named("%s%s%s", place->theirs, letter, cell->parts[i].end).text, inputs,
                                 cell->parts[i].gates * hidden);
    for (size_t gate = 0; gate < cell->gates; gate++) {
        size_t part = part_of(cell, cell->order[gate], &within);
        tensors_patch(c->tensors, made,
                      (struct patch){.from = from[part],
                                     .flip = true,
                                     .column = within * hidden,
                                     .to_row = gate * hidden,
                                     .rows = hidden,
                                     .columns = inputs});
    }
}

/* The gates first .. past - 1 of a vector; the others are zeros. end: of the foreign names. */
static void cell_vector(struct converter *c, const struct cell *cell, const struct place *place, const char *end, const char *ours,
                        size_t first, size_t past) {
    size_t hidden = c->hidden, within;
    struct made *made = tensors_make_vector(c->tensors, named("%s%s", place->ours, ours).text, cell->gates * hidden);
    const struct stored *from[2] = {NULL, NULL};
    for (size_t i = 0; i < 2 && cell->parts[i].gates && first < past; i++)
        from[i] = tensors_vector(c->tensors, named("%s%c%s%s", place->theirs, *end, cell->parts[i].end, end + 1).text,
                                 cell->parts[i].gates * hidden);
    for (size_t gate = first; gate < past; gate++) {
        size_t part = part_of(cell, cell->order[gate], &within);
        tensors_patch(c->tensors, made,
                      (struct patch){
                          .from = from[part], .column = within * hidden, .to_column = gate * hidden, .rows = 1, .columns = hidden});
    }
}

/* A gain of all gates in one foreign vector. */
static void cell_gain(struct converter *c, const struct cell *cell, const struct place *place, int number, const char *ours) {
    size_t hidden = c->hidden;
    struct made *made = tensors_make_vector(c->tensors, named("%s%s", place->ours, ours).text, cell->gates * hidden);
    const struct stored *from = tensors_vector(c->tensors, named("%sgamma%d", place->theirs, number).text, cell->gates * hidden);
    for (size_t gate = 0; gate < cell->gates; gate++)
        tensors_patch(
            c->tensors, made,
            (struct patch){
                .from = from, .column = cell->order[gate] * hidden, .to_column = gate * hidden, .rows = 1, .columns = hidden});
}

/* Biases and norms. beside and within: the gates whose bias is added beside, and within, what r multiplies.
 * Marian's norm (layer) is of the products alone, without a shift; the biases are added afterwards. In Nematus's (gates) the bias
 * is in the input's norm or, of a final cell, in the state's; the encoder's transitions have it outside. */
static void cell_biases(struct converter *c, const struct cell *cell, const struct place *place) {
    size_t gates = cell->gates, beside = place->final ? gates - cell->candidate : gates;
    switch (c->norm) {
    case NORM_NONE:
        cell_vector(c, cell, place, "b", "bias_input", 0, beside);
        cell_vector(c, cell, place, "b", "bias_state", beside, gates);
        return;
    case NORM_LAYER:
        tensors_make_vector(c->tensors, named("%sbias_state", place->ours).text, gates * c->hidden);
        cell_gain(c, cell, place, 2, "gain_state");
        cell_vector(c, cell, place, "b", "shift_state", beside, gates);
        if (!place->inputs) {
            cell_vector(c, cell, place, "b", "bias_input", 0, beside);
            return;
        }
        tensors_make_vector(c->tensors, named("%sbias_input", place->ours).text, gates * c->hidden);
        cell_gain(c, cell, place, 1, "gain_input");
        cell_vector(c, cell, place, "b", "shift_input", 0, beside);
        return;
    case NORM_GATES:
        cell_vector(c, cell, place, "b", "bias_input", 0, place->final ? 0 : gates);
        cell_vector(c, cell, place, "b", "bias_state", 0, place->final ? gates : 0);
        if (place->inputs) {
            cell_vector(c, cell, place, "W_lns", "gain_input", 0, gates);
            cell_vector(c, cell, place, "W_lnb", "shift_input", 0, gates);
        }
        cell_vector(c, cell, place, "U_lns", "gain_state", 0, gates);
        cell_vector(c, cell, place, "U_lnb", "shift_state", 0, gates);
    }
}

static void one_cell(struct converter *c, const struct cell *cell, struct place place) {
    cell_weight(c, cell, &place, "U", "weight_state", c->hidden);
    if (place.inputs)
        cell_weight(c, cell, &place, "W", "weight_input", place.inputs);
    cell_biases(c, cell, &place);
}

/* ---- the encoder ---- */

/* Two stacks, each of which reads itself; with bi-unidirectional, one above the first layer, which reads both directions of it. */
static void encoder(struct converter *c) {
    const struct cell *cell = cell_of(c, "enc-cell");
    bool together = strcmp(marian_option(c->options, "enc-type"), "bi-unidirectional") == 0;
    size_t depth = marian_number(c->options, "enc-depth"), cell_depth = marian_number(c->options, "enc-cell-depth");
    static const char *const stacks[][2] = {{"encoder_bi_", "forward"}, {"encoder_bi_r_", "backward"}};
    for (size_t i = 1; i <= depth; i++) {
        for (size_t s = 0; s < 2; s++) {
            for (size_t j = 1; j <= cell_depth; j++) {
                struct name layer = named(i > 1 ? "l%zu_" : "%.0zu", i > 1 ? i : 0);
                struct name number = i > 1 || j > 1 ? named("cell%zu_", j) : named("%s", "");
                struct name theirs = together && i > 1 ? named("encoder_l%zu_cell%zu_", i, j)
                                                       : named("%s%s%s", stacks[s][0], layer.text, number.text);
                struct name transition = j > 1 ? named("transitions.%zu.", j - 2) : named("%s", "");
                struct name ours = named("encoder.layers.%zu.%s.%s", i - 1, stacks[s][1], transition.text);
                size_t inputs = i == 1 ? c->embedding : together && i == 2 ? 2 * c->hidden : c->hidden;
                one_cell(c, cell, (struct place){theirs.text, ours.text, j > 1 ? 0 : inputs, false});
            }
            if (together && i > 1)
                break;
        }
    }
}

static const char *stack_of(const struct converter *c) {
    const char *type = marian_option(c->options, "enc-type");
    if (marian_number(c->options, "enc-depth") == 1)
        return "joined";
    return strcmp(type, "bidirectional") == 0 ? "separate" : strcmp(type, "alternating") == 0 ? "alternating" : "forward";
}

static size_t annotation(const struct converter *c) {
    return c->hidden * (strcmp(stack_of(c), "forward") == 0 ? 1 : 2);
}

/* ---- the decoder ---- */

static void decoder(struct converter *c) {
    const struct cell *cell = cell_of(c, "dec-cell");
    size_t base = marian_number(c->options, "dec-cell-base-depth"), high = marian_number(c->options, "dec-cell-high-depth");
    size_t depth = marian_number(c->options, "dec-depth");
    one_cell(c, cell, (struct place){"decoder_cell1_", "decoder.layers.0.", c->embedding, false});
    for (size_t j = 2; j <= base; j++) {
        struct name ours = j > 2 ? named("decoder.conditional.transitions.%zu.", j - 3) : named("%s", "decoder.conditional.");
        one_cell(c, cell, (struct place){named("decoder_cell%zu_", j).text, ours.text, j == 2 ? annotation(c) : 0, true});
    }
    for (size_t i = 2; i <= depth; i++)
        for (size_t j = 1; j <= high; j++) {
            struct name ours =
                j > 1 ? named("decoder.layers.%zu.transitions.%zu.", i - 1, j - 2) : named("decoder.layers.%zu.", i - 1);
            one_cell(c, cell, (struct place){named("decoder_l%zu_cell%zu_", i, j).text, ours.text, j == 1 ? c->hidden : 0, false});
        }
}

static void vector(struct converter *c, const char *theirs, const char *ours, size_t size) {
    tensors_copy_vector(c->tensors, ours, tensors_vector(c->tensors, theirs, size), size);
}

/* The bias of a product, and the gain and shift of its norm. Theirs have a number at the end of their names, ours a letter. */
static void dense(struct converter *c, const char *theirs, const char *number, const char *ours, const char *letter, size_t size) {
    struct name bias = named("%sbias%s", ours, letter), gain = named("%sgain%s", ours, letter),
                shift = named("%sshift%s", ours, letter);
    struct name their_bias = named("%sb%s", theirs, number);
    if (c->norm == NORM_LAYER)
        tensors_make_vector(c->tensors, bias.text, size);
    else
        vector(c, their_bias.text, bias.text, size);
    if (c->norm == NORM_LAYER) {
        vector(c, named("%sgamma%s", theirs, number).text, gain.text, size);
        vector(c, their_bias.text, shift.text, size);
    } else if (c->norm == NORM_GATES) {
        vector(c, named("%sln_s%s", theirs, number).text, gain.text, size);
        vector(c, named("%sln_b%s", theirs, number).text, shift.text, size);
    }
}

/* One projection, which every layer starts from. */
static void start(struct converter *c) {
    size_t depth = marian_number(c->options, "dec-depth");
    for (size_t i = 0; i < depth; i++) {
        struct name ours = named("decoder.initial.%zu.", i);
        tensors_transpose(c->tensors, named("%sweight", ours.text).text,
                          tensors_matrix(c->tensors, "decoder_ff_state_W", annotation(c), c->hidden), annotation(c), c->hidden);
        dense(c, "decoder_ff_state_", "", ours.text, "", c->hidden);
    }
}

/* Returns its size. */
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
    tensors_transpose(c->tensors, "attention.key.weight", tensors_matrix(c->tensors, "decoder_Wc_att", inputs, size), inputs, size);
    tensors_transpose(c->tensors, "attention.query.weight", tensors_matrix(c->tensors, "decoder_W_comb_att", c->hidden, size),
                      c->hidden, size);
    vector(c, "decoder_U_att", "attention.energy", size);
    return size;
}

/* tanh of the sum of three products, of y, s and c. Where they have no norms, one bias serves. */
static void readout(struct converter *c) {
    static const char theirs[] = "decoder_ff_logit_l1_", *const letters[] = {".y", ".s", ".c"};
    size_t size = c->embedding, inputs[] = {c->embedding, c->hidden, annotation(c)}, at = 0;
    struct made *made = tensors_make(c->tensors, "readout.weight", size, inputs[0] + inputs[1] + inputs[2]);
    for (size_t i = 0; i < 3; at += inputs[i++])
        tensors_patch(c->tensors, made,
                      (struct patch){.from = tensors_matrix(c->tensors, named("%sW%zu", theirs, i).text, inputs[i], size),
                                     .flip = true,
                                     .to_column = at,
                                     .rows = size,
                                     .columns = inputs[i]});
    if (c->norm == NORM_NONE) {
        made = tensors_make_vector(c->tensors, "readout.bias", size);
        for (size_t i = 0; i < 3; i++)
            tensors_patch(c->tensors, made,
                          (struct patch){.from = tensors_vector(c->tensors, named("%sb%zu", theirs, i).text, size),
                                         .add = true,
                                         .rows = 1,
                                         .columns = size});
        return;
    }
    for (size_t i = 0; i < 3; i++)
        dense(c, theirs, named("%zu", i).text, "readout.", letters[i], size);
}

/* ---- words ---- */

static size_t table(struct converter *c, const char *theirs, const char *ours) {
    size_t rows = tensors_rows(c->tensors, theirs);
    tensors_copy(c->tensors, ours, tensors_matrix(c->tensors, theirs, rows, c->embedding), rows, c->embedding);
    return rows;
}

static void output(struct converter *c, size_t vocabulary) {
    static const char older[] = "decoder_ff_logit_l2_W", newer[] = "decoder_ff_logit_l2_Wt";
    vector(c, "decoder_ff_logit_l2_b", "output.bias", vocabulary);
    if (marian_ties(c->options))
        return;
    if (tensors_find(c->tensors, older))
        tensors_transpose(c->tensors, "output.weight", tensors_matrix(c->tensors, older, c->embedding, vocabulary), c->embedding,
                          vocabulary);
    else
        tensors_copy(c->tensors, "output.weight", tensors_matrix(c->tensors, newer, vocabulary, c->embedding), vocabulary,
                     c->embedding);
}

static json_t *sections_of(const struct converter *c, size_t attention_size) {
    size_t below = marian_number(c->options, "enc-depth"), above = marian_number(c->options, "dec-depth");
    bool skips = marian_on(c->options, "skip");
    const char *stack = stack_of(c), *norm = norm_names[c->norm];
    /* with bi-unidirectional the second layer reads another size than it puts out, and skips nothing */
    size_t first = strcmp(stack, "forward") == 0 ? 2 : 1;
    json_t *encoder_section =
        json_pack("{s:s, s:i, s:i, s:i, s:s, s:b, s:s, s:i, s:b}", "cell", cell_of(c, "enc-cell")->ours, "layers", (int)below,
                  "embedding", (int)c->embedding, "hidden", (int)c->hidden, "stack", stack, "residual",
                  (int)(skips && below > first), "normalization", norm, "transitions",
                  (int)marian_number(c->options, "enc-cell-depth") - 1, "embedding_shared", (int)marian_shares(c->options));
    const char *cell = cell_of(c, "dec-cell")->ours;
    json_t *decoder_section = json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:s, s:b, s:s, s:i, s:s, s:b, s:s, s:i, s:i, s:s}", "style", "conditional", "cell", cell,
        "layers", (int)above, "embedding", (int)c->embedding, "hidden", (int)c->hidden, "initial_state", "mean",
        "initial_projection", 1, "readout", "tanh", "readout_size", (int)c->embedding, "first_input", "zero", "residual",
        (int)(skips && above > 1), "normalization", norm, "transitions", (int)marian_number(c->options, "dec-cell-base-depth") - 2,
        "upper_transitions", above > 1 ? (int)marian_number(c->options, "dec-cell-high-depth") - 1 : 0, "initial_cell",
        strcmp(cell, "lstm") == 0 ? "state" : "zero");
    return json_pack("{s:o, s:o, s:{s:s, s:i, s:s}, s:{s:b}}", "encoder", encoder_section, "decoder", decoder_section, "attention",
                     "score", "additive", "size", (int)attention_size, "normalization", norm, "output", "tied",
                     (int)marian_ties(c->options));
}

struct marian_sizes marian_recurrent(struct tensors *tensors, const struct marian_options *options, json_t **sections) {
    struct converter c = {.tensors = tensors,
                          .options = options,
                          .embedding = marian_number(options, "dim-emb"),
                          .hidden = marian_number(options, "dim-rnn")};
    bool nematus = strcmp(marian_option(options, "type"), "nematus") == 0;
    c.norm = !marian_on(options, "layer-normalization") ? NORM_NONE : nematus ? NORM_GATES : NORM_LAYER;
    if (strcmp(marian_option(options, "type"), "s2s") != 0)
        rename_nematus(tensors, options);
    encoder(&c);
    decoder(&c);
    start(&c);
    size_t attention_size = attention(&c);
    readout(&c);
    struct marian_sizes sizes;
    if (marian_shares(options)) {
        sizes.source = sizes.target = table(&c, "Wemb", "decoder.embedding");
    } else {
        sizes.source = table(&c, "encoder_Wemb", "encoder.embedding");
        sizes.target = table(&c, "decoder_Wemb", "decoder.embedding");
    }
    output(&c, sizes.target);
    *sections = tensors->failed ? NULL : sections_of(&c, attention_size);
    if (!tensors->failed && !*sections) {
        tensors->failed = true;
        error_memory(tensors->err);
    }
    return sizes;
}
