/* This file hides the tensors and flags of CTranslate2's TransformerSpec.
 *
 * Matrices are [out, in], as ours. In self-attention the rows of linear_0 are those of query, key
 * and value, one after the other; in cross-attention linear_0 is the query, linear_1 key and value,
 * linear_2 the output. Several heads may share a key and a value (Ainslie et al. 2023); ours are
 * then as many equal ones. */
#include "model/import/ctranslate2.h"
#include <math.h>
#include <string.h>

enum { MOST_LAYERS = 1000, MOST_POSITIONS = 1024, FLAGS_MOVED = 5, STATED_APART = 6 };
enum { MOST_TOKEN_BYTES = 256 };
enum { MOST_WIDTH = 1 << 24, MOST_DISTANCE = 1 << 12 };

struct words {
    size_t source, target; /* sizes of the vocabularies */
    bool shared, tied;
    bool zero;      /* the decoder begins with a zero vector */
    long alignment; /* the layer whose attention aligns, from 0, or a negative number that counts
                       from the last layer, -1 */
};

struct converter {
    const struct ctranslate2_parts *parts;
    struct ctranslate2_settings settings;
    struct words words;
    struct tensors *tensors;
    const struct ctranslate2_head *head;
    size_t size, heads; /* d; heads of the spec, if the file does not state them */
};

/* One side of the model. */
struct side {
    const char *name; /* encoder or decoder */
    size_t layers, heads, filter;
    size_t width; /* columns of all heads, usually d */
    bool biases;  /* linear layers have biases */
    bool plain;   /* scores are not divided by the root of a head's columns */
    /* Relative positions: buckets, and the distance from which on all share the last; 0: none.
     * each: every layer has its own table. */
    size_t buckets, farthest;
    bool each;
    bool before; /* norms come before each block */
    bool rms;    /* norms are by the root mean square */
    bool gated;  /* the feed-forward has a gate */
    bool first;  /* the input of the first block is normalised */
    bool scaled; /* embeddings times sqrt(d) */
    bool stored; /* positions are a table in the file */
    /* How positions rotate queries and keys. size: columns of a head, 0: all, -1: they do not. */
    struct rotation {
        double size, interleave, base;
    } rotation;
    const char *activation;
};

/* ---- names ---- */

/* Replaces the first occurrence of from in the name. */
static void replace(struct name *name, const char *from, const char *to) {
    char *found = strstr(name->text, from);
    if (found)
        *name = tensors_named("%.*s%s%s", (int)(found - name->text), name->text, to,
                              found + strlen(from));
}

/* Renames the tensors of the first revision, which has the names of OpenNMT-tf's variables, and
 * drops the scales of quantised tensors, which have already been read. */
static void name_tensors(struct converter *c) {
    static const char *const pairs[][2] = {{"transformer/", ""},
                                           {":0", ""},
                                           {"w_embs", "embeddings/weight"},
                                           {"kernel", "weight"},
                                           {"LayerNorm", "layer_norm"},
                                           {"dense", "projection"},
                                           {"conv1d_", "linear_"},
                                           {"conv1d", "linear_0"}};
    struct tensors *t = c->tensors;
    for (size_t i = 0; c->head->revision == 1 && i < t->from->count; i++) {
        struct name own = tensors_named("%s", t->names[i]);
        for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
            replace(&own, pairs[p][0], pairs[p][1]);
        if (strstr(own.text, "encoder")) {
            replace(&own, "multi_head", "self_attention");
        } else {
            replace(&own, "masked_multi_head", "self_attention");
            replace(&own, "multi_head", "attention");
        }
        if (!(t->names[i] = arena_copy(t->arena, own.text, strlen(own.text))))
            tensors_fail(t, "memory is out");
    }
    for (size_t i = 0; !t->failed && i < t->from->count; i++)
        if (t->from->entries[i].quantised)
            tensors_drop(t, tensors_named("%s_scale", t->names[i]).text);
}

/* ---- flags ---- */

/* Reads the only number of a tensor. Returns false if the tensor is not a single number. */
static bool number_of(const struct stored_tensor *stored, float *value) {
    struct error ignored = {0};
    return tensors_count(stored) == 1 && tensors_numbers(stored, 0, 1, value, &ignored) == 0;
}

/* Reads the number of a variable. missing: the value if the file lacks it. */
static double number_at(struct converter *c, const char *name, double missing) {
    const struct stored_tensor *found = tensors_find(c->tensors, name);
    float value;
    if (!found)
        return missing;
    tensors_drop(c->tensors, name);
    if (number_of(found, &value) && isfinite(value))
        return (double)value;
    tensors_fail(c->tensors, "%s: must be one number", found->name);
    return missing;
}

/* Reads a flag of this side; older files have one for both sides. missing: the value if the file
 * lacks the flag. */
static double flag(struct converter *c, const char *side, const char *name, double missing) {
    double both = c->head->revision < FLAGS_MOVED ? number_at(c, name, missing) : missing;
    return number_at(c, tensors_named("%s/%s", side, name).text, both);
}

/* Returns the text whose bytes are the numbers of a variable, or `usual` if the file lacks it. */
static const char *text_in(struct converter *c, const char *name, const char *usual) {
    const struct stored_tensor *found = tensors_find(c->tensors, name);
    float bytes[MOST_TOKEN_BYTES] = {0};
    char text[MOST_TOKEN_BYTES + 1] = {0};
    struct error ignored = {0};
    if (!found)
        return usual;
    size_t count = (size_t)tensors_count(found);
    tensors_drop(c->tensors, name);
    if (found->kind != STORED_I8 || count > MOST_TOKEN_BYTES ||
        tensors_numbers(found, 0, count, bytes, &ignored) != 0) {
        tensors_fail(c->tensors, "%s: must be a token of at most %d bytes", name, MOST_TOKEN_BYTES);
        return usual;
    }
    for (size_t i = 0; i < count; i++)
        text[i] = (char)bytes[i];
    return arena_copy(c->tensors->arena, text, strlen(text));
}

/* Reads what config.json states from version 6 of the format on, and model.bin before. */
static void read_old_settings(struct converter *c) {
    struct ctranslate2_settings *own = &c->settings;
    if (c->head->version >= STATED_APART)
        return;
    own->unknown = text_in(c, "unk_token", own->unknown);
    own->begin = text_in(c, "bos_token", own->begin);
    own->end = text_in(c, "eos_token", own->end);
    own->bos |= number_at(c, "with_source_bos", 0) != 0;
    own->eos |= number_at(c, "with_source_eos", 0) != 0;
    if (number_at(c, "with_target_bos", 1) == 0)
        own->first_input = "eos";
    if (number_at(c, "user_decoder_start_tokens", 0) != 0)
        tensors_fail(c->tensors, "user_decoder_start_tokens: every request must begin the "
                                 "translation: such models cannot be imported");
}

/* Variables, by the ends of their names, that alignd's blocks do not support unless their value has
 * no effect. */
enum harmless { NEVER, ALWAYS, ZERO, HEAD_SIZE, QUERY_SCALE };
static const struct {
    const char *end;
    enum harmless harmless;
    const char *reason;
} lacking[] = {
    {"relative_position_keys", NEVER, "relative positions"},
    {"relative_position_values", NEVER, "relative positions"},
    {"relative_asymmetric_position_keys", NEVER, "relative positions"},
    {"relative_left_max_position", NEVER, "relative positions"},
    {"relative_attention_max_distance", ALWAYS, ""}, /* read_relative */
    {"rotary_dim", ALWAYS, ""},                      /* read_rotation */
    {"rotary_interleave", ALWAYS, ""},
    {"rotary_base", ALWAYS, ""},
    {"rotary_scaling_type", NEVER, "scaled rotary positions"},
    {"rotary_scaling_factor", ALWAYS, ""},
    {"with_relative_position", ALWAYS, ""}, /* the variables above show it */
    {"layernorm_embedding", ALWAYS, ""},    /* the norm itself shows it */
    {"multiply_by_sqrt_depth", ALWAYS, ""}, /* read_embedding_scale */
    {"alibi", ZERO, "CTranslate2's ALiBi"},
    {"alibi_use_positive_positions", ALWAYS, ""},
    {"scale_alibi", ALWAYS, ""},
    {"multi_query_attention", ALWAYS, ""}, /* the rows of the matrices show it */
    {"num_heads_kv", ALWAYS, ""},
    {"head_dim", HEAD_SIZE, "heads of another width"},
    {"sliding_window", ZERO, "a window of self-attention"},
    {"queries_scale", QUERY_SCALE, "another scale of queries"},
    {"embeddings_merge", ALWAYS, ""}, /* matters only with several embeddings */
    {"embeddings_1/weight", NEVER, "a source of several factors"},
    {"project_in/weight", NEVER, "an embedding of another size"},
    {"project_out/weight", NEVER, "an embedding of another size"},
};

/* Refuses features that alignd's blocks lack, and names them. */
static void refuse_lacking(struct converter *c, const struct side sides[2]) {
    struct tensors *t = c->tensors;
    for (size_t i = 0; !t->failed && i < t->from->count; i++)
        for (size_t l = 0; t->left[i] && l < sizeof lacking / sizeof *lacking; l++) {
            const char *name = t->names[i];
            size_t length = strlen(name), end = strlen(lacking[l].end);
            if (!source_ends(name, lacking[l].end) ||
                (length > end && name[length - end - 1] != '/'))
                continue;
            enum harmless kind = lacking[l].harmless;
            float value = 0;
            bool harmless = kind == ALWAYS;
            if (kind != ALWAYS && kind != NEVER && number_of(&t->from->entries[i], &value)) {
                const struct side *side = &sides[!source_begins(name, "encoder")];
                size_t head = side->width / side->heads;
                double given = (double)value, size = (double)head;
                harmless = kind == HEAD_SIZE ? given == size
                           : kind == QUERY_SCALE
                               ? side->plain ? given == 1 : fabs(given * sqrt(size) - 1) < 1e-6
                               : given == 0;
            }
            if (!harmless)
                tensors_fail(t, "%s: the model has %s%s which alignd does not",
                             t->from->entries[i].name, lacking[l].reason,
                             source_ends(lacking[l].reason, ",") ? "" : ",");
            t->left[i] = false;
        }
}

/* ---- matrices and vectors ---- */

/* Our `count` rows are those from `first` on of their `outputs` rows; where `shared` of our heads,
 * of `head` rows each, share one of theirs, each of theirs serves so often. */
struct output_rows {
    size_t outputs, first, count;
    size_t shared, head;
};

/* Returns how many rows are taken at a time. */
static size_t rows_together(const struct output_rows *rows) {
    return rows->shared > 1 ? rows->head : rows->count;
}

/* Returns the row of theirs that becomes our row `row`, the first of some rows_together. */
static size_t theirs_of(const struct output_rows *rows, size_t row) {
    return rows->first + (rows->shared > 1 ? row / rows->head / rows->shared * rows->head : row);
}

/* Plans a matrix of these rows of a matrix [outputs, inputs]. */
static void matrix(struct converter *c, const char *theirs, const char *ours,
                   struct output_rows rows, size_t inputs) {
    size_t first = rows.first, count = rows.count, step = rows_together(&rows);
    const struct stored_tensor *from = tensors_matrix(c->tensors, theirs, rows.outputs, inputs);
    struct made *made = tensors_make(c->tensors, ours, count, inputs);
    for (size_t row = 0; row < count; row += step)
        tensors_patch(c->tensors, made,
                      (struct patch){.from = from,
                                     .row = theirs_of(&rows, row),
                                     .to_row = row,
                                     .rows = step,
                                     .columns = inputs});
    if (from && from->kind == STORED_I8 && rows.shared <= 1 && (from->row_scales || first == 0)) {
        made->given = from;
        made->given_row = first;
    }
}

/* Plans a vector of the numbers of these rows of a bias, or of zeros if the bias is missing. */
static void bias(struct converter *c, const char *theirs, const char *ours,
                 struct output_rows rows) {
    struct made *made = tensors_make_vector(c->tensors, ours, rows.count);
    size_t step = rows_together(&rows);
    if (!tensors_find(c->tensors, theirs))
        return;
    for (size_t row = 0; row < rows.count; row += step)
        tensors_patch(c->tensors, made,
                      (struct patch){.from = tensors_vector(c->tensors, theirs, rows.outputs),
                                     .column = theirs_of(&rows, row),
                                     .to_column = row,
                                     .rows = 1,
                                     .columns = step});
}

static void scaled_norm(struct converter *c, const struct side *side, const char *theirs,
                        const char *ours, float factor) {
    static const char *const parts[][2] = {{"gamma", "gain"}, {"beta", "shift"}};
    for (size_t i = 0; i < (side->rms ? 1 : 2); i++) {
        struct made *made = tensors_make_vector(
            c->tensors, tensors_named("%s.norm.%s", ours, parts[i][1]).text, c->size);
        tensors_patch(c->tensors, made,
                      (struct patch){.from = tensors_vector(
                                         c->tensors,
                                         tensors_named("%s/%s", theirs, parts[i][0]).text, c->size),
                                     .factor = factor,
                                     .rows = 1,
                                     .columns = c->size});
    }
}

static void norm(struct converter *c, const struct side *side, const char *theirs,
                 const char *ours) {
    scaled_norm(c, side, theirs, ours, 1);
}

/* ---- the stacks ---- */

/* Returns the rows of a side's keys, which are whole heads that ours can share; all columns if
 * `rows` are not, so that the matrix's shape is refused. */
static size_t keys_of(const struct side *side, size_t rows) {
    size_t head = side->width / side->heads;
    return rows > 0 && rows % head == 0 && side->width % rows == 0 ? rows : side->width;
}

/* The factor of the decoder's output, which the norm on top takes over. */
static float scale_of_output(struct converter *c) {
    double factor = flag(c, "decoder", "scale_outputs", 1), usual = 1 / sqrt((double)c->size);
    if (factor != 0 && factor != 1 && fabs(factor / usual - 1) > 1e-6)
        tensors_fail(c->tensors,
                     "decoder/scale_outputs: must be 1, or 1 by the root of the size (%g), got %g",
                     usual, factor);
    return factor == 0 ? 1 : (float)factor;
}

/* Plans the tables of relative positions. */
static void relative(struct converter *c, const struct side *side) {
    for (size_t i = 0; side->buckets > 0 && i < side->layers; i++) {
        struct name theirs =
            tensors_named("%s/layer_%zu/self_attention/relative_attention_bias", side->name, i);
        const struct stored_tensor *from =
            tensors_matrix(c->tensors, theirs.text, side->buckets, side->heads);
        if (side->each || i == 0)
            tensors_copy(c->tensors,
                         side->each
                             ? tensors_named("%s.layers.%zu.self.positions", side->name, i).text
                             : tensors_named("%s.positions", side->name).text,
                         from, side->buckets, side->heads)
                ->exact = true;
    }
}

static void stack(struct converter *c, struct side *side) {
    bool crosses = strcmp(side->name, "decoder") == 0;
    const struct name self = tensors_named("%s/layer_0/self_attention/linear_0/weight", side->name),
                      cross = tensors_named("%s/layer_0/attention/linear_1/weight", side->name);
    size_t d = c->size, w = side->width, f = side->filter, head = w / side->heads,
           all = tensors_rows(c->tensors, self.text),
           own = keys_of(side, all > w ? (all - w) / 2 : w), shared = w / own,
           other = crosses ? keys_of(side, tensors_rows(c->tensors, cross.text) / 2) : w,
           shared_cross = w / other;
    const struct {
        const char *theirs, *ours;
        size_t inputs;           /* columns of their matrix; 0: the block is a norm */
        struct output_rows rows; /* our rows of it */
    } blocks[] = {
        {"self_attention/linear_0", "self.query", d, {w + 2 * own, 0, w, 1, 0}},
        {"self_attention/linear_0", "self.key", d, {w + 2 * own, w, w, shared, head}},
        {"self_attention/linear_0", "self.value", d, {w + 2 * own, w + own, w, shared, head}},
        {"self_attention/linear_1", "self.output", w, {d, 0, d, 1, 0}},
        {"self_attention/layer_norm", "self", 0, {0}},
        {"attention/linear_0", "cross.query", d, {w, 0, w, 1, 0}},
        {"attention/linear_1", "cross.key", d, {2 * other, 0, w, shared_cross, head}},
        {"attention/linear_1", "cross.value", d, {2 * other, other, w, shared_cross, head}},
        {"attention/linear_2", "cross.output", w, {d, 0, d, 1, 0}},
        {"attention/layer_norm", "cross", 0, {0}},
        {"ffn/linear_0", "filter.input", d, {f, 0, f, 1, 0}},
        {"ffn/linear_0_noact", "filter.gate", d, {f, 0, f, 1, 0}},
        {"ffn/linear_1", "filter.output", f, {d, 0, d, 1, 0}},
        {"ffn/layer_norm", "filter", 0, {0}}};
    for (size_t i = 0; i < side->layers && !c->tensors->failed; i++)
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
            struct name theirs = tensors_named("%s/layer_%zu/%s", side->name, i, blocks[b].theirs);
            struct name ours = tensors_named("%s.layers.%zu.%s", side->name, i, blocks[b].ours);
            if ((!crosses && source_begins(blocks[b].theirs, "attention/")) ||
                (!side->gated && source_ends(blocks[b].theirs, "_noact")))
                continue;
            if (!blocks[b].inputs) {
                norm(c, side, theirs.text, ours.text);
                continue;
            }
            matrix(c, tensors_named("%s/weight", theirs.text).text,
                   tensors_named("%s.weight", ours.text).text, blocks[b].rows, blocks[b].inputs);
            if (side->biases)
                bias(c, tensors_named("%s/bias", theirs.text).text,
                     tensors_named("%s.bias", ours.text).text, blocks[b].rows);
        }
    float factor = crosses ? scale_of_output(c) : 1;
    if (side->before)
        scaled_norm(c, side, tensors_named("%s/layer_norm", side->name).text, side->name, factor);
    else if (factor != 1)
        tensors_fail(c->tensors, "decoder/scale_outputs: needs a norm on top");
    relative(c, side);
    if (side->first)
        norm(c, side, tensors_named("%s/layernorm_embedding", side->name).text,
             tensors_named("%s.embedding", side->name).text);

    struct name theirs = tensors_named("%s/position_encodings/encodings", side->name);
    side->stored = tensors_find(c->tensors, theirs.text) != NULL;
    if (!side->stored)
        return;
    size_t rows = tensors_rows(c->tensors, theirs.text);
    const struct stored_tensor *from = tensors_matrix(c->tensors, theirs.text, rows, d);
    size_t kept = rows < MOST_POSITIONS ? rows : MOST_POSITIONS; /* alignd has no later positions */
    tensors_copy(c->tensors, tensors_named("%s.positions", side->name).text, from, kept, d)->exact =
        true;
}

/* True if the file has this variable of the side. */
static bool has(const struct converter *c, const struct side *side, const char *name) {
    return tensors_find(c->tensors, tensors_named("%s/%s", side->name, name).text) != NULL;
}

/* Returns a number of a layer's self-attention, or `missing` if the file lacks it. */
static double number_in(const struct converter *c, const struct name *layer, const char *name,
                        double missing) {
    float value;
    const struct stored_tensor *found =
        tensors_find(c->tensors, tensors_named("%s/self_attention/%s", layer->text, name).text);
    return found && number_of(found, &value) ? (double)value : missing;
}

/* Reads how positions rotate, which must be the same in all layers. */
static void read_rotation(struct converter *c, struct side *side) {
    struct rotation *rotation = &side->rotation;
    for (size_t i = 0; i < side->layers; i++) {
        const struct name layer = tensors_named("%s/layer_%zu", side->name, i);
        const struct rotation own = {number_in(c, &layer, "rotary_dim", -1),
                                     number_in(c, &layer, "rotary_interleave", 1),
                                     number_in(c, &layer, "rotary_base", 10000)};
        if (i > 0 && (own.size != rotation->size || own.interleave != rotation->interleave ||
                      own.base != rotation->base))
            tensors_fail(c->tensors, "%s: its positions are not those of the layers before it",
                         layer.text);
        *rotation = own;
    }
    size_t columns = side->width / side->heads;
    double head = (double)columns;
    if (rotation->size != -1 && !(rotation->size >= 0 && rotation->size <= head &&
                                  rotation->base >= 1 && rotation->base <= 1e9))
        tensors_fail(
            c->tensors,
            "%s/layer_0/self_attention/rotary_dim: %g columns of heads of %g with the base "
            "%g are not supported",
            side->name, rotation->size, head, rotation->base);
}

/* Reads if scores stay as they are, which must be so in all attentions of the side or in none. */
static void read_scale(struct converter *c, struct side *side) {
    static const char *const attentions[] = {"self_attention", "attention"};
    size_t plain = 0, all = 0;
    for (size_t i = 0; i < 2 * side->layers; i++) {
        const struct stored_tensor *found =
            tensors_find(c->tensors, tensors_named("%s/layer_%zu/%s/queries_scale", side->name,
                                                   i / 2, attentions[i % 2])
                                         .text);
        float value;
        plain += found && number_of(found, &value) && value == 1;
        all += i % 2 == 0 || strcmp(side->name, "decoder") == 0;
    }
    side->plain = plain == all && side->width != side->heads;
}

/* Reads how wide the heads are, whether scores are scaled and whether linear layers have biases. */
static void read_shape(struct converter *c, struct side *side) {
    struct tensors *t = c->tensors;
    const struct stored_tensor *output = tensors_find(
        t, tensors_named("%s/layer_0/self_attention/linear_1/weight", side->name).text);
    side->width = output && output->dims == 2 ? (size_t)output->shape[1] : c->size;
    if (side->width == 0 || side->width % side->heads != 0 || side->width > MOST_WIDTH) {
        tensors_fail(t, "%s/num_heads: must divide the %zu columns of all heads, got %zu",
                     side->name, side->width, side->heads);
        side->width = side->heads;
    }
    read_scale(c, side);
    for (size_t i = 0; i < t->from->count; i++)
        side->biases |= source_begins(t->names[i], side->name) &&
                        source_begins(t->names[i] + strlen(side->name), "/layer_") &&
                        source_ends(t->names[i], "/bias");
}

/* Reads the relative positions, whose tables may be the first layer's under other names. */
static void read_relative(struct converter *c, struct side *side) {
    const struct stored_tensor *first = NULL;
    for (size_t i = 0; i < side->layers; i++) {
        const struct name layer = tensors_named("%s/layer_%zu", side->name, i);
        struct name name = tensors_named("%s/self_attention/relative_attention_bias", layer.text);
        const struct stored_tensor *own = tensors_find(c->tensors, name.text);
        double farthest = number_in(c, &layer, "relative_attention_max_distance", 128);
        if (i == 0 && !own)
            return;
        if (!own || !(farthest >= 1 && farthest <= MOST_DISTANCE) ||
            (i > 0 && (size_t)farthest != side->farthest)) {
            tensors_fail(c->tensors, "%s: its relative positions are not supported", layer.text);
            return;
        }
        first = first ? first : own;
        side->each |= own->at != first->at;
        side->farthest = (size_t)farthest;
        side->buckets = tensors_rows(c->tensors, name.text);
    }
}

/* Reads if embeddings are times the root of the size: by a flag, or by the factor itself. */
static void read_embedding_scale(struct converter *c, struct side *side) {
    const struct name places[] = {
        tensors_named("%s/scale_embeddings", side->name), tensors_named("scale_embeddings"),
        tensors_named("%s/embeddings/multiply_by_sqrt_depth", side->name)};
    size_t place = 0;
    while (place + 1 < sizeof places / sizeof *places &&
           !tensors_find(c->tensors, places[place].text))
        place++;
    const struct stored_tensor *stored = tensors_find(c->tensors, places[place].text);
    double factor = number_at(c, places[place].text, 1), root = sqrt((double)c->size);
    bool whole = !stored || stored->kind == STORED_I8 || stored->kind == STORED_I16;
    side->scaled = whole ? factor != 0 : factor != 1;
    if (!whole && factor != 1 && fabs(factor / root - 1) > 1e-6)
        tensors_fail(c->tensors, "%s: must be 1 or the root of the size (%g), got %g",
                     places[place].text, root, factor);
}

static void read_side(struct converter *c, struct side *side) {
    static const char *const activations[] = {"relu", "gelu_tanh", "swish", "gelu"};
    static const char *const names[] = {"relu", "gelu by tanh", "swish", "gelu", "gelu by sigmoid",
                                        "tanh", "sigmoid"};
    double heads = flag(c, side->name, "num_heads", (double)c->heads),
           kind = flag(c, side->name, "activation", 0);
    side->before = flag(c, side->name, "pre_norm", 1) != 0;
    side->rms = has(c, side, "layer_0/ffn/layer_norm/gamma") &&
                !has(c, side, "layer_0/ffn/layer_norm/beta");
    side->gated = has(c, side, "layer_0/ffn/linear_0_noact/weight");
    side->first = has(c, side, "layernorm_embedding/gamma");
    if (!(heads >= 1 && heads <= (double)c->size))
        tensors_fail(c->tensors, "%s/num_heads: must be between 1 and %zu, got %g", side->name,
                     c->size, heads);
    side->heads = heads >= 1 && heads <= (double)c->size ? (size_t)heads : 1;
    side->activation = kind >= 0 && kind <= 3 ? activations[(size_t)kind] : NULL;
    if (!side->activation)
        tensors_fail(
            c->tensors,
            "%s/activation: %s is not supported (supported: relu, swish, gelu, gelu by tanh)",
            side->name, kind >= 0 && kind <= 6 ? names[(size_t)kind] : "an unknown one");
    read_embedding_scale(c, side);
    struct name first = tensors_named("%s/layer_0/ffn/linear_0/weight", side->name);
    side->filter = tensors_rows(c->tensors, first.text);
    while (side->layers < MOST_LAYERS &&
           tensors_find(
               c->tensors,
               tensors_named("%s/layer_%zu/ffn/linear_0/weight", side->name, side->layers).text))
        side->layers++;
    read_shape(c, side);
    read_rotation(c, side);
    read_relative(c, side);
}

/* ---- embeddings and output ---- */

/* Returns true if both are the same numbers of the file. */
static bool same(const struct stored_tensor *one, const struct stored_tensor *other) {
    return one && other && one->at == other->at && one->kind == other->kind;
}

static void embeddings(struct converter *c) {
    struct words *words = &c->words;

    static const char decoder[] = "decoder/embeddings/weight",
                      output[] = "decoder/projection/weight";
    const char *encoder = tensors_find(c->tensors, "encoder/embeddings_0/weight")
                              ? "encoder/embeddings_0/weight"
                              : "encoder/embeddings/weight";
    words->shared = same(tensors_find(c->tensors, encoder), tensors_find(c->tensors, decoder));
    words->tied = same(tensors_find(c->tensors, output), tensors_find(c->tensors, decoder));
    words->source = tensors_rows(c->tensors, encoder);
    words->target = tensors_rows(c->tensors, decoder);
    const struct output_rows source = {words->source, 0, words->source, 1, 0},
                             target = {words->target, 0, words->target, 1, 0};
    if (words->shared)
        tensors_drop(c->tensors, encoder);
    else
        matrix(c, encoder, "encoder.embedding", source, c->size);
    matrix(c, decoder, "decoder.embedding", target, c->size);
    if (words->tied)
        tensors_drop(c->tensors, output);
    else
        matrix(c, output, "output.weight", target, c->size);
    bias(c, "decoder/projection/bias", "output.bias", target);
    words->zero = flag(c, "decoder", "start_from_zero_embedding", 0) != 0;
    double alignment = flag(c, "decoder", "alignment_layer", -1);
    words->alignment = (long)fmin(fmax(alignment, -MOST_LAYERS),
                                  MOST_LAYERS); /* the file may contain any number */
    flag(c, "decoder", "alignment_heads", 1);
}

/* ---- the configuration ---- */

/* The epsilon of norms for which the file states none. */
static const double USUAL_EPSILON = 1e-5, USUAL_EPSILON_RMS = 1e-6;

static json_t *section_of(const struct converter *c, const struct side *side) {
    double epsilon = c->settings.epsilon > 0 ? c->settings.epsilon
                     : side->rms             ? USUAL_EPSILON_RMS
                                             : USUAL_EPSILON;
    const struct rotation *rotation = &side->rotation;
    bool rotary = rotation->size >= 0, computed = !side->stored && !rotary && !side->buckets;
    const char *positions = rotary          ? "rotary"
                            : side->buckets ? "relative"
                            : side->stored  ? "stored"
                                            : "sinusoidal";
    json_t *section = json_pack(
        "{s:s, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:s, s:i, s:f, s:b, s:s, s:b, s:b}",
        strcmp(side->name, "encoder") == 0 ? "type" : "style", "transformer", "layers",
        (int)side->layers, "embedding", (int)c->size, "hidden", (int)c->size, "heads",
        (int)side->heads, "filter", (int)side->filter, "activation", side->activation, "norm",
        side->before ? "pre" : "post", "positions", positions, "position_offset", (int)computed,
        "epsilon", epsilon, "embedding_scale", (int)side->scaled, "norm_type",
        side->rms ? "rms" : "layer", "gated", (int)side->gated, "embedding_norm", (int)side->first);
    json_t *turns = json_pack("{s:i, s:s, s:f}", "rotary_size", rotary ? (int)rotation->size : 0,
                              "rotary_pairs", rotation->interleave != 0 ? "neighbours" : "halves",
                              "rotary_base", rotation->base);
    int failed = rotary ? json_object_update(section, turns) : 0;
    json_decref(turns);
    failed |= json_object_update_new(
        section, json_pack("{s:i, s:b, s:b}", "head_size",
                           side->width == c->size ? 0 : (int)(side->width / side->heads),
                           "scaled_scores", (int)!side->plain, "biases", (int)side->biases));
    if (side->buckets > 0)
        failed |= json_object_update_new(section, json_pack("{s:i, s:i, s:b}", "relative_buckets",
                                                            (int)side->buckets, "relative_distance",
                                                            (int)side->farthest, "relative_shared",
                                                            (int)!side->each));
    if (failed) {
        json_decref(section);
        section = NULL;
    }
    return section;
}

static int add_sections(const struct converter *c, const struct side sides[2],
                        const struct transformer_options *options, bool guided,
                        struct conversion *out, struct error *err) {
    const struct words *words = &c->words;
    const struct ctranslate2_parts *parts = c->parts;
    const struct ctranslate2_settings *settings = &c->settings;
    json_t *encoder = section_of(c, &sides[0]), *decoder = section_of(c, &sides[1]);
    long layers = (long)sides[1].layers,
         shown = words->alignment < 0 ? layers + words->alignment : words->alignment;
    json_t *defaults = parts->package
                           ? json_pack("{s:i, s:f}", "beam_size", 4, "length_penalty", 0.2)
                           : json_object();
    int failed = json_object_set_new(defaults, "finished", json_string("replaced"));
    failed |= json_object_update_new(
        encoder, json_pack("{s:b, s:b, s:b}", "embedding_shared", (int)words->shared, "bos",
                           (int)settings->bos, "eos", (int)settings->eos));
    failed |= json_object_update_new(
        decoder, json_pack("{s:s, s:s, s:i, s:b, s:s*}", "mixer", "self_attention", "first_input",
                           words->zero ? "zero" : settings->first_input, "alignment_layer",
                           (int)(shown >= 0 && shown < layers - 1 ? shown + 1 : 0),
                           "alignment_trained", (int)guided, "prefix", parts->prefix));
    if (parts->segmenters[0])
        failed |=
            json_object_set_new(out->tokenizer.section, "preparation",
                                json_string(options->preparation ? options->preparation : "none"));
    failed |= json_object_update_new(out->config,
                                     json_pack("{s:o, s:o, s:n, s:{s:b, s:b}, s:O, s:o}", "encoder",
                                               encoder, "decoder", decoder, "attention", "output",
                                               "tied", (int)words->tied, "unknowns", 1, "tokenizer",
                                               out->tokenizer.section, "defaults", defaults));
    return failed ? error_memory(err) : 0;
}

int ctranslate2_convert(const struct ctranslate2_parts *parts,
                        const struct transformer_options *options, struct arena *arena,
                        struct conversion *out, struct error *err) {
    static const struct {
        const char *name;
        size_t heads; /* if the file does not state them */
    } specs[] = {{"TransformerSpec", 8}, {"TransformerBase", 8}, {"TransformerBig", 16}};
    struct ctranslate2_head head;
    struct side sides[2] = {{.name = "encoder"}, {.name = "decoder"}};
    struct converter c = {.parts = parts, .tensors = &out->tensors, .head = &head};
    const char *path = source_path_join(arena, parts->folder, "model.bin"), *card;
    json_t *languages = NULL;
    if (ctranslate2_open(path, arena, &out->container, &head, err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        c.heads = strcmp(head.spec, specs[i].name) == 0 ? specs[i].heads : c.heads;
    if (c.heads == 0)
        return error_set(err, ERROR_FORMAT,
                         "%s: is a model of the kind %.100s: only those of an encoder and a "
                         "decoder that translate text can be "
                         "imported (TransformerSpec)",
                         path, head.spec);
    struct tokens target = {0};
    if (tensors_init(&out->tensors, &out->container, arena, err) != 0 ||
        ctranslate2_read_settings(parts, arena, &c.settings, err) != 0 ||
        ctranslate2_read_languages(parts, arena, &languages, &target, err) != 0)
        return -1;
    if (languages) {
        if (conversion_add_languages(out, languages, &target, arena, err) != 0)
            return -1;
        c.settings.eos = true; /* every program ends the source of multilingual models with </s> */
    }
    read_old_settings(&c);
    name_tensors(&c);
    const struct stored_tensor *embedding = tensors_find(c.tensors, "decoder/embeddings/weight");
    if (!embedding || embedding->dims != 2 || embedding->shape[1] == 0)
        tensors_fail(c.tensors, "decoder/embeddings/weight: there is no such matrix");
    c.size = c.tensors->failed ? 1 : embedding->shape[1];
    for (size_t i = 0; i < 2; i++)
        read_side(&c, &sides[i]);
    refuse_lacking(&c, sides);
    if (sides[0].buckets > 0) /* every program ends the source of T5 with </s> */
        c.settings.eos = true;
    if (!c.settings.first_input && target.count > 0 &&
        strcmp(c.settings.start, target.list[0]) == 0)
        c.settings.first_input = "id_0";
    for (size_t i = 0; i < 2 && !c.tensors->failed; i++)
        stack(&c, &sides[i]);
    embeddings(&c);
    c.settings.eos |= c.words.zero; /* every program ends the source of Marian's with </s> */
    tensors_check_left(c.tensors, "unknown, so the model has a part that alignd does not have");
    if (c.tensors->failed ||
        ctranslate2_read_words(parts, &c.settings, (const size_t[]){c.words.source, c.words.target},
                               arena, &out->tokenizer, err) != 0)
        return -1;
    if (!c.words.zero && !c.settings.first_input)
        return error_set(
            err, ERROR_FORMAT,
            "config.json: decoder_start_token must be that of <s> or </s>, or the first token");
    if (c.words.shared && !out->tokenizer.one_list)
        return error_set(err, ERROR_FORMAT,
                         "source and target have one embedding, but their vocabularies differ");
    const char *folder = parts->package ? parts->package : parts->folder;
    if (conversion_origin_card(folder, arena, &card, err) != 0 ||
        conversion_origin_find(&(struct origin_clues){folder, parts->name, false, card}, arena,
                               &out->origin, err) != 0)
        return -1;
    bool guided = options->alignment ? strcmp(options->alignment, "trained") == 0
                                     : conversion_origin_guided(parts->name, false, NULL, card);
    out->from = parts->name;
    return add_sections(&c, sides, options, guided, out, err);
}

static bool is_any(struct import *import) {
    bool found = false;
    for (size_t i = 0; i < import->options->path_count; i++)
        found |= conversion_ctranslate2_is(import->paths[i], &import->arena);
    return found;
}

static int convert(struct import *import, struct error *err) {
    const struct import_options *o = import->options;
    struct ctranslate2_parts parts;
    const struct transformer_options options = {.preparation = o->preparation,
                                                .alignment = o->alignment};
    if (conversion_ctranslate2_find(import->paths, o->path_count, &import->arena, &parts, err) != 0)
        return -1;
    if (import->inner && strcmp(parts.name, import->inner) != 0)
        parts.name = import->inner;
    if (!parts.source || !parts.target) {
        const char *shown = conversion_stem(source_name(import->shown), &import->arena);
        if (!conversion_origin_languages(conversion_stem(parts.name, &import->arena),
                                         &import->arena, &parts.source, &parts.target) &&
            shown)
            conversion_origin_languages(shown, &import->arena, &parts.source, &parts.target);
    }
    return conversion_begin(import, NULL, parts.source, parts.target, err) == 0
               ? ctranslate2_convert(&parts, &options, &import->arena, &import->conversion, err)
               : -1;
}

const struct import_family import_ctranslate2 = {is_any, convert};
