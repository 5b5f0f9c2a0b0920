/* This file hides how copying competes with the vocabulary, and how words without an id are
 * represented. */
#include "model/network/network.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* writes: it produces words of the vocabulary, from the readout. init loads the parameters of
 * copying. score (NULL: nothing is copied): scores of the row's source positions [T] on the scale
 * of its logits. */
struct output_kind {
    const char *name;
    bool writes;
    void (*init)(struct output *output, const struct model_config *config,
                 const struct loader *loader);
    void (*score)(const struct output *output, const struct row *row, float *scores);
};

/* ---- pointing: e_j = h_j^T V q of a query q [K]; keys hold V^T h ---- */

static void point(const struct output *o, const struct row *row, const float *query,
                  float *scores) {
    o->kernels->dot(query, row->copies->keys, row->copies->length, o->key.out, scores);
}

/* Vinyals et al. 2015: q is s. */
static void init_pointer(struct output *o, const struct model_config *config,
                         const struct loader *loader) {
    block_linear(
        &o->key, "output", "key",
        (struct block_shape){config->decoder.hidden, config_annotation_size(config), false},
        loader);
}

static void score_pointer(const struct output *o, const struct row *row, float *scores) {
    point(o, row, row->top, scores);
}

/* output.gate: w [c; s; y] + b in three parts, where a context is read through the annotations
 * (model/network/decoder_recurrent.c): w c = sum_j a_j (w h_j); or OpenNMT-py's w r + b of the
 * readout. output.pointer: the attention, which has no parameters, or OpenNMT-py's second
 * attention, whose q is the readout. */
static void init_generator(struct output *o, const struct model_config *config,
                           const struct loader *loader) {
    size_t context = config_annotation_size(config), state = config->decoder.hidden,
           input = config->decoder.embedding;
    if (strcmp(config->output.gate, "readout") == 0) {
        block_linear(&o->gate_readout, "output", "gate",
                     (struct block_shape){1, config_readout_size(config), true}, loader);
    } else {
        struct linear_names names = {.weight = "output.gate.weight",
                                     .columns = context + state + input};
        weights_linear(loader->weights, &names, 1, context, &o->gate_context, loader->err);
        names.first = context;
        names.bias = "output.gate.bias";
        weights_linear(loader->weights, &names, 1, state, &o->gate_state, loader->err);
        names.first = context + state;
        names.bias = NULL;
        weights_linear(loader->weights, &names, 1, input, &o->gate_input, loader->err);
    }
    if (strcmp(config->output.pointer, "readout") == 0)
        block_linear(&o->key, "output", "key",
                     (struct block_shape){config_readout_size(config), context, false}, loader);
}

/* See et al. 2017: P = P(copy) p + (1 - P(copy)) softmax(logits), P(copy) = sigmoid(g) (their p_gen
 * is 1 - P(copy)). Dividing both terms by (1 - P(copy)) / exp(L), where L = log sum exp(logits),
 * leaves exp(logits), and exp(L + g) p_j for position j. */
static void score_generator(const struct output *o, const struct row *row, float *scores) {
    size_t length = row->copies->length;
    float gate, log_sum = summarize(o->kernels, row->logits, o->vocabulary, 0, NULL).log_sum;
    if (o->gate_readout.out > 0) {
        linear_apply(&o->gate_readout, row->readout, o->gate_readout.in, 1, &gate, 1);
    } else {
        float context, state, input;
        o->kernels->weighted_sum(row->attention, row->copies->gates, length, 1, &context);
        linear_apply(&o->gate_state, row->top, o->gate_state.in, 1, &state, 1);
        linear_apply(&o->gate_input, row->input, o->gate_input.in, 1, &input, 1);
        gate = context + state + input;
    }

    float shift = gate + log_sum, all = 0;
    if (o->key.out > 0) {
        point(o, row, row->readout, scores);
        all = summarize(o->kernels, scores, length, 0, NULL).log_sum;
    } else {
        for (size_t j = 0; j < length; j++)
            scores[j] = logf(fmaxf(row->attention[j], FLT_MIN));
    }
    for (size_t j = 0; j < length; j++)
        scores[j] = scores[j] - all + shift;
}

static const struct output_kind kinds[] = {
    {"vocabulary", true, NULL, NULL},
    {"characters", true, NULL, NULL}, /* <unk> is spelled when it is printed */
    {"pointer", false, init_pointer, score_pointer},
    {"pointer_generator", true, init_generator, score_generator},
    {"copy", true, init_pointer,
     score_pointer}, /* Jia & Liang 2016 (whose scores are the attention's own) */
};

/* Returns the floats from row to row of logits: whole lines of 16, so that no vector lies in two of
 * them, and an odd number, so that rows do not compete for the same places in the caches. */
static size_t stride_of(size_t logits) {
    return ((logits + 15) / 16 | 1) * 16;
}

int output_init(struct output *output, const struct model_config *config, size_t vocabulary,
                bool shortlists, const struct loader *loader) {
    *output = (struct output){.kernels = loader->kernels, .vocabulary = vocabulary};
    output->kind = TABLE_FIND(kinds, "output.type", config->output.type, loader->err);
    if (!output->kind)
        return -1;
    output->writes = output->kind->writes;
    output->copies = output->kind->score != NULL;
    output->stride =
        stride_of(output->vocabulary + (output->copies ? config->limits.max_source_tokens : 0));
    if (output->writes) {
        struct linear_names names = {.weight = config->output.tied ? "decoder.embedding"
                                                                   : "output.weight",
                                     .bias = "output.bias",
                                     .lookups = shortlists};
        weights_linear(loader->weights, &names, output->vocabulary, config_readout_size(config),
                       &output->linear, loader->err);
    }
    if (output->kind->init)
        output->kind->init(output, config, loader);
    return weights_failed(loader->weights) ? -1 : 0;
}

/* ---- running ---- */

void output_keys(const struct output *output, const float *annotations, size_t tokens, float *keys,
                 float *gates) {
    if (output->key.out)
        linear_apply(&output->key, annotations, output->key.in, tokens, keys, output->key.out);
    if (output->gate_context.out)
        linear_apply(&output->gate_context, annotations, output->gate_context.in, tokens, gates, 1);
}

/* Returns log(exp(a) + exp(b)) of a finite b; NaN if one of them is NaN. */
static float log_add(float a, float b) {
    return a > b ? a + log1pf(expf(b - a)) : b + log1pf(expf(a - b));
}

/* Adds the row's copies to its logits, with scores [T] as scratch, and finds the best of them, top
 * [row->wanted]. */
static struct distribution distribute(const struct output *output, const struct row *row,
                                      struct ranked *top, float *scores) {
    const int *ids = row->targets ? row->targets->ids : NULL;
    size_t size = ids ? row->targets->count : output->vocabulary;
    if (output->copies) {
        const struct copies *copies = row->copies;
        float *logits = row->logits;
        size += copies->count;
        assert(size <= output->stride && !row->targets);
        for (size_t i = output->writes ? output->vocabulary : 0; i < size; i++)
            logits[i] = -INFINITY;
        output->kind->score(output, row, scores);
        for (size_t j = 0; j < copies->length; j++)
            logits[copies->words[j]] = log_add(logits[copies->words[j]], scores[j]);
    }
    struct row_summary summary = summarize(output->kernels, row->logits, size, row->wanted, top);
    for (size_t i = 0; ids && i < summary.count; i++)
        top[i].token = ids[top[i].token];
    return (struct distribution){.logits = row->logits,
                                 .ids = ids,
                                 .log_sum = summary.log_sum,
                                 .entropy = summary.entropy,
                                 .size = size,
                                 .top = top,
                                 .top_count = summary.count};
}

/* Writes the logits of neighbouring rows that choose from the same targets, or from all, in one
 * product. */
static void write_logits(const struct output *output, const struct row *rows, size_t count) {
    const struct linear *linear = &output->linear;
    const int *ids = rows->targets ? rows->targets->ids : NULL;
    size_t size = ids ? rows->targets->count : 0;
    if (ids && !linear_outruns_lookups(linear, count, size)) {
        const struct linear_rows looked_up = {rows->readout, linear->in, count, rows->logits,
                                              output->stride};
        linear_look_up_rows(linear, &looked_up, ids, size);
        return;
    }
    linear_apply(linear, rows->readout, linear->in, count, rows->logits, output->stride);
    for (size_t r = 0; r < count; r++)
        for (size_t i = 0; i < size; i++) /* the ids ascend */
            rows[r].logits[i] = rows[r].logits[ids[i]];
}

/* ---- the whole vocabulary ----
 * Rows that choose from it take part in one product, wherever they stand. Their logits are more
 * than a core's own caches hold, so they are added up some columns at a time, and only those that a
 * search reads are kept. */

enum { PART = 3 * SUMMED_TOGETHER, PART_BYTES = 192 * 1024 };
_Static_assert(PART % PACKED_TOGETHER == 0, "parts have whole panels");

struct adding {
    struct taker taker; /* first: add_logits gets this one */
    const struct kernels *kernels;
    const struct row *const *rows; /* [n] */
    struct row_sums *sums;         /* [n] */
    const float *logits;           /* [n, ld] of the columns at hand */
    size_t ld;
};

static void add_logits(const struct taker *taker, size_t row, size_t rows, size_t column,
                       size_t count) {
    const struct adding *adding = (const struct adding *)taker;
    for (size_t r = row; r < row + rows; r++) {
        const float *logits = adding->logits + r * adding->ld;
        adding->kernels->sum_row(&adding->sums[r], logits, count);
        if (adding->rows[r]->reads_all)
            memcpy(adding->rows[r]->logits + column, logits, count * sizeof *logits);
    }
}

/* Returns the columns that n rows compute at a time. */
static size_t columns_of(const struct output *output, size_t n) {
    size_t parts = PART_BYTES / (n * PART * sizeof(float)),
           columns = (parts > 0 ? parts : 1) * PART;
    return 2 * columns < output->vocabulary ? columns
                                            : (output->vocabulary + PART - 1) / PART * PART;
}

/* Returns the readouts of rows [n] side by side: where they are, or a copy. NULL: out of memory. */
static const float *gather(const struct row *const *rows, size_t n, size_t size,
                           struct arena *arena) {
    if (rows[n - 1] == rows[0] + n - 1)
        return rows[0]->readout;
    float *x = arena_alloc(arena, n * size, sizeof *x);
    for (size_t r = 0; x && r < n; r++)
        memcpy(x + r * size, rows[r]->readout, size * sizeof *x);
    return x;
}

/* Finds the distributions of rows [n]. Returns -1 if memory runs out. */
static int distribute_whole(const struct output *output, const struct row *const *rows, size_t n,
                            struct arena *arena) {
    size_t columns = columns_of(output, n), ld = stride_of(columns), in = output->linear.in,
           wanted = 0;
    for (size_t r = 0; r < n; r++)
        wanted += rows[r]->wanted;
    struct ranked *top = arena_alloc(arena, wanted, sizeof *top);
    struct arena_mark mark = arena_mark(arena);
    struct row_sums *sums = arena_alloc(arena, n, sizeof *sums);
    float *logits = arena_alloc(arena, n * ld, sizeof *logits);
    const float *x = gather(rows, n, in, arena);
    if (arena_failed(arena))
        return -1;
    for (size_t r = 0; r < n; top += rows[r++]->wanted)
        sums[r] = row_sums_begin(rows[r]->wanted, top);
    const struct adding adding = {{columns, add_logits}, output->kernels, rows, sums, logits, ld};
    const struct linear_output product = {
        .linear = &output->linear, .y = logits, .ldy = ld, .taker = &adding.taker};
    linear_apply_all(&product, 1, x, in, n);
    for (size_t r = 0; r < n; r++) {
        struct row_summary summary = output->kernels->summary(&sums[r]);
        *rows[r]->distribution =
            (struct distribution){.logits = rows[r]->reads_all ? rows[r]->logits : NULL,
                                  .log_sum = summary.log_sum,
                                  .entropy = summary.entropy,
                                  .size = output->vocabulary,
                                  .top = sums[r].best,
                                  .top_count = summary.count};
    }
    arena_release(arena, mark);
    return 0;
}

/* Finds the distributions of neighbouring rows that choose from the same targets, or from all.
 * Returns -1 if memory runs out. */
static int distribute_some(const struct output *output, const struct row *rows, size_t n,
                           struct arena *arena) {
    size_t wanted = 0, longest = 0;
    for (size_t r = 0; r < n; r++) {
        wanted += rows[r].wanted;
        if (output->copies && rows[r].copies->length > longest)
            longest = rows[r].copies->length;
    }
    float *scores = arena_alloc(arena, longest, sizeof *scores);
    struct ranked *top = arena_alloc(arena, wanted, sizeof *top);
    if (arena_failed(arena))
        return -1;
    if (output->writes)
        write_logits(output, rows, n);
    for (size_t r = 0; r < n; top += rows[r++].wanted)
        *rows[r].distribution = distribute(output, &rows[r], top, scores);
    return 0;
}

int output_run(const struct output *output, const struct row *rows, size_t count,
               struct arena *arena, struct error *err) {
    bool adds = output->linear.packed && !output->copies;
    const struct row **whole = arena_alloc(arena, count, sizeof(struct row *));
    size_t n = 0;
    if (!whole)
        return error_memory(err);
    for (size_t first = 0, next; first < count; first = next) {
        const int *ids = rows[first].targets ? rows[first].targets->ids : NULL;
        for (next = first + 1;
             next < count && (rows[next].targets ? rows[next].targets->ids : NULL) == ids;)
            next++;
        for (size_t r = first; adds && !ids && r < next; r++)
            whole[n++] = &rows[r];
        if ((!adds || ids) && distribute_some(output, &rows[first], next - first, arena) != 0)
            return error_memory(err);
    }
    return n == 0 || distribute_whole(output, whole, n, arena) == 0 ? 0 : error_memory(err);
}

/* ---- copies ---- */

/* Returns the number of a piece among the temporary ids, or count if it has none. */
static size_t find_extra(const struct token *const *extra, size_t count, const char *piece) {
    size_t i = 0;
    while (i < count && strcmp(extra[i]->piece, piece) != 0)
        i++;
    return i;
}

struct copies *copies_find(const struct copies_between *vocabularies, const struct token *tokens,
                           size_t length, struct arena *arena, struct error *err) {
    const struct tokenizer *target = vocabularies->target;
    struct copies *copies = arena_alloc(arena, 1, sizeof *copies);
    int *words = arena_alloc(arena, length, sizeof *words);
    const struct token **extra = arena_alloc(arena, length, sizeof *extra);
    if (arena_failed(arena)) {
        error_memory(err);
        return NULL;
    }
    size_t count = 0;
    for (size_t j = 0; j < length; j++) {
        bool end = tokens[j].id == tokenizer_end(vocabularies->source);
        words[j] = end ? tokenizer_end(target) : tokenizer_find(target, tokens[j].piece);
        if (words[j] >= 0)
            continue;
        size_t i = find_extra(extra, count, tokens[j].piece);
        words[j] = (int)(tokenizer_size(target) + i);
        extra[i] = i == count ? &tokens[j] : extra[i];
        count += i == count;
    }
    *copies = (struct copies){
        .target = target, .words = words, .length = length, .extra = extra, .count = count};
    return copies;
}

int copies_id(const struct copies *copies, const struct token *token) {
    if (token->id != tokenizer_unknown(copies->target))
        return token->id;
    size_t i = find_extra(copies->extra, copies->count, token->piece);
    return i < copies->count ? (int)(tokenizer_size(copies->target) + i) : token->id;
}

bool copies_have(const struct copies *copies, int id) {
    for (size_t j = 0; j < copies->length; j++)
        if (copies->words[j] == id)
            return true;
    return false;
}

const struct token *copies_token(const struct copies *copies, int id) {
    size_t vocabulary = tokenizer_size(copies->target);
    return (size_t)id < vocabulary ? NULL : copies->extra[(size_t)id - vocabulary];
}

int copies_input(const struct copies *copies, int id) {
    if (!copies_token(copies, id))
        return id;
    return copies->inputs ? copies->inputs[(size_t)id - tokenizer_size(copies->target)]
                          : tokenizer_unknown(copies->target);
}

/* ---- the speller ---- */

enum { CHARACTER_BYTES = 4 };

int speller_init(struct speller *speller, const struct model_config *config,
                 const struct tokenizer *characters, const struct loader *loader) {
    size_t size = tokenizer_size(characters), embedding = config->output.character_embedding,
           hidden = config_readout_size(config);
    *speller = (struct speller){
        .characters = characters, .kernels = loader->kernels, .embedding_size = embedding};
    speller->embedding =
        weights_get(loader->weights, "speller.embedding", size, embedding, loader->err);
    cell_init(&speller->cell, cell_kind_find("speller", "lstm", loader->err), "speller.",
              &(struct cell_shape){.in = embedding, .hidden = hidden}, loader);
    block_linear(&speller->output, "speller", "output", (struct block_shape){size, hidden, true},
                 loader);
    return weights_failed(loader->weights) ? -1 : 0;
}

int speller_run(const struct speller *speller, const float *readout, struct arena *arena,
                const char **word, struct error *err) {
    const struct cell *cell = &speller->cell;
    const struct tokenizer *characters = speller->characters;
    int begin = tokenizer_begin(characters), unknown = tokenizer_unknown(characters),
        end = tokenizer_end(characters);
    size_t hidden = cell->hidden, gates = cell->input.out, size = speller->embedding_size;
    char *text = arena_alloc(arena, SPELLER_MAX_CHARACTERS * CHARACTER_BYTES + 1, 1);
    struct arena_mark mark = arena_mark(arena);
    float *gates_x = arena_alloc(arena, gates, sizeof *gates_x);
    float *gates_u = arena_alloc(arena, gates, sizeof *gates_u);
    float *state = arena_zalloc(arena, 2 * hidden, sizeof *state); /* h, c */
    float *logits = arena_alloc(arena, speller->output.out, sizeof *logits);
    if (arena_failed(arena))
        return error_memory(err);
    memcpy(state, readout, hidden * sizeof *readout);

    char *at = text;
    int character = begin;
    for (size_t i = 0; i < SPELLER_MAX_CHARACTERS; i++) {
        linear_apply(&cell->input, speller->embedding + (size_t)character * size, size, 1, gates_x,
                     gates);
        cell_step(cell, &(struct cell_inputs){gates_x, gates, NULL}, 1, state, 2 * hidden, gates_u);
        linear_apply(&speller->output, state, hidden, 1, logits, speller->output.out);
        struct ranked best[3]; /* <unk> and <s> are never written */
        size_t count = summarize(speller->kernels, logits, speller->output.out, 3, best).count,
               k = 0;
        while (k < count && (best[k].token == unknown || best[k].token == begin))
            k++;
        character = k < count ? best[k].token : end;
        if (character == end)
            break;
        at = stpcpy(at, tokenizer_piece(characters, character));
    }
    arena_release(arena, mark);
    *word = at > text ? text : NULL;
    return 0;
}
