/* This file computes what a model attended to, after a search has ended: the rows of its alignment
 * head, and the weights of a transformer's heads.
 *
 * For the alignment head, the batch keeps the output of the decoder's top layer of each step until
 * the sentence leaves, and rows are computed for finished hypotheses only. For the heads, nothing
 * is kept: the best hypothesis is run through the network again. Rows do not influence each other,
 * so this gives the same weights, bit by bit. */
#include "model/model.h"
#include "model/rendering.h"
#include <stdint.h>
#include <string.h>

/* ---- the alignment head ---- */

int alignment_init(struct alignment *alignment, const struct model_config *config,
                   const struct loader *loader) {
    size_t size = config->alignment.size;
    *alignment = (struct alignment){.kernels = loader->kernels};
    if (size == 0)
        return 0;
    block_linear(
        &alignment->query, "alignment", "query",
        (struct block_shape){size, config->decoder.embedding + config->decoder.hidden, true},
        loader);
    block_linear(&alignment->key, "alignment", "key",
                 (struct block_shape){
                     size, config_annotation_size(config) + config->encoder.embedding, false},
                 loader);
    return weights_failed(loader->weights) ? -1 : 0;
}

int soft_alignment_begin(struct sentence *sentence, const float *annotations, struct arena *scratch,
                         struct error *err) {
    const struct translator *t = sentence->translator;
    const struct linear *key = &t->alignment.key;
    size_t length = sentence->length, size = t->encoder.annotation;
    if (sentence_top(sentence) == 0)
        return 0;
    struct arena_mark mark = arena_mark(scratch);
    float *x = arena_alloc(scratch, length * key->in, sizeof *x);
    float *keys = arena_alloc(&sentence->decoding.arena, length * key->out, sizeof *keys);
    if (!x || !keys) {
        arena_release(scratch, mark);
        return error_memory(err);
    }
    for (size_t j = 0; j < length; j++) {
        memcpy(x + j * key->in, annotations + j * size, size * sizeof *x);
        weights_row(&t->encoder.embedding, (size_t)sentence->tokens[j].id, x + j * key->in + size);
    }
    linear_apply(key, x, key->in, length, keys, key->out);
    sentence->decoding.alignment_keys = keys;
    arena_release(scratch, mark);
    return 0;
}

void alignment_rows(const struct alignment *alignment, const struct alignment_inputs *inputs,
                    float *queries, float *rows) {
    const struct linear *query = &alignment->query;
    size_t length = inputs->length;
    linear_apply(query, inputs->x, query->in, inputs->n, queries, query->out);
    for (size_t i = 0; i < inputs->n; i++) {
        alignment->kernels->dot(queries + i * query->out, inputs->keys, length, query->out,
                                rows + i * length);
        alignment->kernels->softmax(rows + i * length, length);
    }
}

/* Tokens, and the steps that decided them. */
struct decided {
    const int *tokens;                  /* [count] */
    const struct step_row *const *rows; /* [count] */
    size_t count;
};

/* Makes the rows [decided->count, T] of these tokens. */
static int make_rows(const struct sentence *sentence, const struct decided *decided,
                     struct arena *scratch, float *rows, struct error *err) {
    const int *tokens = decided->tokens;
    size_t count = decided->count;
    const struct translator *t = sentence->translator;
    const struct decoder_shape *shape = &t->decoder.shape;
    size_t length = sentence->length, size = t->alignment.query.in;
    struct arena_mark mark = arena_mark(scratch);
    float *x = arena_alloc(scratch, count * size, sizeof *x);
    float *queries = arena_alloc(scratch, count * t->alignment.query.out, sizeof *queries);
    if (!x || !queries) {
        arena_release(scratch, mark);
        return error_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        int token = sentence->copies ? copies_input(sentence->copies, tokens[i]) : tokens[i];
        decoder_embed(&t->decoder, token, x + i * size);
        memcpy(x + i * size + shape->input, decided->rows[i]->top, shape->top * sizeof *x);
    }
    alignment_rows(&t->alignment,
                   &(struct alignment_inputs){x, count, sentence->decoding.alignment_keys, length},
                   queries, rows);
    arena_release(scratch, mark);

    /* if the head read <unk> for a phrase of a single token, such as a placeholder, the source
     * tokens of the phrase are used */
    const struct phrases *phrases = &sentence->options.phrases;
    for (size_t i = 0; sentence->copies && i < count; i++) {
        if (!copies_token(sentence->copies, tokens[i]))
            continue;
        size_t q = 0;
        while (q < phrases->count && phrases->list[q].tokens[0] != tokens[i])
            q++;
        if (q == phrases->count || phrases->list[q].count == 0)
            continue;
        const struct phrase *phrase = &phrases->list[q];
        memset(rows + i * length, 0, length * sizeof *rows);
        for (size_t j = phrase->first; j < phrase->first + phrase->count; j++)
            rows[i * length + j] = 1 / (float)phrase->count;
    }
    return 0;
}

int soft_alignment_end(struct sentence *sentence, struct arena *scratch, struct error *err) {
    size_t length = sentence->length;
    int status = 0;
    for (size_t i = 0; sentence_top(sentence) > 0 && i < sentence->count && status == 0; i++) {
        struct hypothesis *h = &sentence->hypotheses[i];
        size_t common; /* the rows of the same tokens, decided by the same steps */
        size_t earlier = sentence_closest(sentence, i, true, &common);
        size_t own = h->length + h->ended - common;
        struct arena_mark mark = arena_mark(scratch);
        int *tokens = arena_alloc(scratch, h->length + 1,
                                  sizeof *tokens); /* with </s>, which a hypothesis does not list */
        float *rows = arena_alloc(&sentence->arena, own * length, sizeof *rows);
        const float **alignment = arena_alloc(&sentence->arena, common + own, sizeof *alignment);
        status = tokens && rows && alignment ? 0 : error_memory(err);
        if (status == 0) {
            if (h->length > 0)
                memcpy(tokens, h->tokens, h->length * sizeof *tokens);
            tokens[h->length] = tokenizer_end(sentence->translator->target);
            status = make_rows(sentence, &(struct decided){tokens + common, h->rows + common, own},
                               scratch, rows, err);
        }
        for (size_t j = 0; j < common + own && status == 0; j++)
            alignment[j] = j < common ? sentence->hypotheses[earlier].alignment[j]
                                      : rows + (j - common) * length;
        if (status == 0)
            h->alignment = alignment;
        arena_release(scratch, mark);
    }
    return status;
}

const float *soft_alignment_row(const struct sentence *sentence, const struct decision *decision,
                                struct arena *arena, struct error *err) {
    if (sentence_top(sentence) == 0)
        return decision->row->attention;
    float *row = arena_alloc(arena, sentence->length, sizeof *row);
    if (!row) {
        error_memory(err);
        return NULL;
    }
    return make_rows(sentence, &(struct decided){&decision->token, &decision->row, 1}, arena, row,
                     err) == 0
               ? row
               : NULL;
}

/* ---- the heads of a transformer ---- */

/* Rows before the i-th of the decoder hold 1 + 2 + ... + i weights of each head. */
const float *looks_row(const struct looks *looks, enum looks_part part, size_t layer, size_t head,
                       size_t i, size_t *count) {
    const struct look_set *set = &looks->parts[part];
    size_t heads = set->heads, of_all = set->layers * heads;
    *count = part == LOOKS_DECODER ? i + 1 : looks->source;
    if (part == LOOKS_ENCODER)
        return set->weights + ((layer * looks->source + i) * heads + head) * *count;
    size_t before = part == LOOKS_DECODER ? i * (i + 1) / 2 : i * looks->source;
    return set->weights + of_all * before + (layer * heads + head) * *count;
}

bool looks_there(const struct translator *translator) {
    return translator->encoder.self.layers > 0 || translator->decoder.cross.layers > 0;
}

/* Returns the weights of all layers and heads of one step, which are adjacent, or NULL if the part
 * has no layers. */
static float *weights_at(const struct looks *looks, enum looks_part part, size_t step) {
    size_t count;
    const struct look_set *set = &looks->parts[part];
    return set->layers > 0
               ? set->weights + (looks_row(looks, part, 0, 0, step, &count) - set->weights)
               : NULL;
}

/* Computes the steps of the best hypothesis again, as rows that continue one another. */
static int look_at_target(const struct sentence *sentence, const struct looks *looks,
                          struct arena *scratch, struct error *err) {
    enum { ROWS = 32 }; /* steps computed at once, if the decoder has no state */
    const struct decoder *decoder = &sentence->translator->decoder;
    const struct decoder_shape *shape = &decoder->shape;
    const int *tokens = sentence->hypotheses[0].tokens;
    size_t opened = sentence->translator->opening_count;
    int begin = opened > 0 ? sentence->opening[opened - 1] : DECODER_FIRST;
    const struct look_set *self = &looks->parts[LOOKS_DECODER];
    size_t heads = self->layers * self->heads;
    size_t steps = looks->target, together = shape->state > 0 ? 1 : ROWS;
    if (looks->parts[LOOKS_CROSS].layers == 0)
        return 0;
    struct arena_mark mark = arena_mark(scratch);
    const float **past = arena_alloc(scratch, opened + steps, sizeof *past);
    float *wide = arena_alloc(scratch, opened > 0 ? ROWS * heads * (opened + steps) : 0,
                              sizeof *wide); /* including the columns of the opening */
    float *added = arena_alloc(scratch, steps * shape->past, sizeof *added);
    float *state = arena_zalloc(scratch, shape->state, sizeof *state);
    struct row *rows = arena_alloc(scratch, ROWS, sizeof *rows);
    float *readouts = arena_alloc(scratch, ROWS * shape->readout, sizeof *readouts);
    float *attention =
        arena_alloc(scratch, looks->source, sizeof *attention); /* nothing reads it */
    int status = arena_failed(scratch) ? error_memory(err) : 0;
    if (status == 0 && opened > 0)
        memcpy(past, sentence->decoding.opening_past, opened * sizeof *past);
    if (status == 0 && opened > 0 && shape->state > 0)
        memcpy(state, sentence->decoding.first_state, shape->state * sizeof *state);
    for (size_t i = 0; status == 0 && i < steps; i++)
        past[opened + i] = added + i * shape->past;
    for (size_t first = 0, count; status == 0 && first < steps; first += count) {
        count = steps - first < together ? steps - first : together;
        for (size_t r = 0; r < count; r++) {
            size_t step = first + r;
            int token = step == 0 ? begin : tokens[step - 1];
            float *seen = weights_at(looks, LOOKS_DECODER, step);
            rows[r] = (struct row){
                .token =
                    sentence->copies && step > 0 ? copies_input(sentence->copies, token) : token,
                .step = opened + step,
                .memory = sentence->decoding.memory,
                .copies = sentence->copies,
                .forced = sentence_forced(sentence, step),
                .past = shape->past > 0 ? past : NULL,
                .added = shape->past > 0 ? added + step * shape->past : NULL,
                .state = state,
                .attention = attention,
                .readout = readouts + r * shape->readout,
                .looks = {.self = seen && opened > 0 ? wide + r * heads * (opened + steps) : seen,
                          .cross = weights_at(looks, LOOKS_CROSS, step)}};
        }
        status = decoder_step(decoder, rows, count, scratch, err);
        for (size_t r = 0; status == 0 && opened > 0 && self->layers > 0 && r < count; r++) {
            size_t own = first + r + 1; /* columns of the answer's tokens */
            for (size_t h = 0; h < heads; h++)
                memcpy(weights_at(looks, LOOKS_DECODER, first + r) + h * own,
                       rows[r].looks.self + h * (opened + own) + opened, own * sizeof *wide);
        }
    }
    arena_release(scratch, mark);
    return status;
}

int looks_end(struct sentence *sentence, struct arena *scratch, struct error *err) {
    const struct translator *t = sentence->translator;
    const struct hypothesis *best = &sentence->hypotheses[0];
    const struct lookers *lookers[LOOKS_PARTS] = {&t->encoder.self, &t->decoder.self,
                                                  &t->decoder.cross};
    if (!sentence->caller.wants_looks)
        return 0;
    struct looks *looks = arena_zalloc(&sentence->arena, 1, sizeof *looks);
    if (!looks)
        return error_memory(err);
    looks->source = sentence->length;
    looks->target = best->length + best->ended;
    for (size_t part = 0; part < LOOKS_PARTS; part++) {
        struct look_set *set = &looks->parts[part];
        size_t n = looks->target;
        size_t pairs = part == LOOKS_DECODER
                           ? n * (n + 1) / 2
                           : looks->source * (part == LOOKS_ENCODER ? looks->source : n);
        set->layers = lookers[part]->layers;
        set->heads = lookers[part]->heads;
        set->weights =
            arena_alloc(&sentence->arena, set->layers * set->heads * pairs, sizeof(float));
        if (!set->weights)
            return error_memory(err);
    }
    if (t->encoder.self.layers > 0) {
        struct arena_mark mark = arena_mark(scratch);
        int *ids = arena_alloc(scratch, sentence->length, sizeof *ids);
        if (!ids)
            return error_memory(err);
        for (size_t j = 0; j < sentence->length; j++)
            ids[j] = sentence->tokens[j].id;
        if (encoder_look(&t->encoder, ids, sentence->length, scratch,
                         looks->parts[LOOKS_ENCODER].weights, err) != 0)
            return -1;
        arena_release(scratch, mark);
    }
    if (look_at_target(sentence, looks, scratch, err) != 0)
        return -1;
    sentence->looks = looks;
    return 0;
}
