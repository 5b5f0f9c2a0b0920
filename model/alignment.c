/* Makes alignment rows and heads' weights from finished hypotheses. */
#include "model/alignment.h"
#include "model/model.h"
#include "model/network/output.h"
#include <stdint.h>
#include <string.h>

/* ---- the alignment head ---- */

int soft_alignment_begin(struct sentence *sentence, const float *annotations, struct arena *scratch, struct error *err) {
    const struct translator *t = sentence->translator;
    size_t length = sentence->length, size = t->encoder.embedding_size;
    if (sentence_top(sentence) == 0)
        return 0;
    struct arena_mark mark = arena_mark(scratch);
    float *embeddings = arena_alloc(scratch, length * size, sizeof *embeddings);
    float *keys = arena_alloc(&sentence->decoding, length * t->alignment.key.out, sizeof *keys);
    int status = embeddings && keys ? 0 : error_memory(err);
    for (size_t j = 0; j < length && status == 0; j++)
        weights_row(&t->encoder.embedding, (size_t)sentence->tokens[j].id, embeddings + j * size);
    struct alignment_inputs inputs = {{annotations, t->encoder.annotation}, {embeddings, size}, t->encoder.annotation, length};
    if (status == 0)
        status = alignment_keys(&t->alignment, &inputs, scratch, keys, err);
    sentence->alignment_keys = keys;
    arena_release(scratch, mark);
    return status;
}

/* The place of a step's top layer: inside the row, or in what the step left for later, which is the sentence's own. */
static float *place_of_top(const struct sentence *sentence, const float *attention) {
    float *end = (float *)(uintptr_t)(attention + sentence->length + sentence->options.keep), *added;
    size_t own = sentence_top_inline(sentence);
    if (own > 0)
        return end - own;
    memcpy(&added, end - sizeof(uintptr_t) / sizeof(float), sizeof added);
    return added + sentence->translator->decoder.shape.past;
}

void soft_alignment_keep(const struct sentence *sentence, float *attention, const float *top) {
    size_t size = sentence_top(sentence);
    if (size > 0)
        memcpy(place_of_top(sentence, attention), top, size * sizeof *top);
}

/* The phrase that is a single token, such as a placeholder; NULL if the model has the token. */
static const struct phrase *phrase_of(const struct sentence *sentence, int token) {
    const struct phrases *phrases = &sentence->options.phrases;
    if (!sentence->copies || !copies_token(sentence->copies, token))
        return NULL;
    for (size_t q = 0; q < phrases->count; q++)
        if (phrases->list[q].tokens[0] == token)
            return &phrases->list[q];
    return NULL;
}

/* Makes the rows [count, T] of tokens [count] from the attention rows of the steps that decided them. */
static int make_rows(const struct sentence *sentence, const int *tokens, const float *const *attention, size_t count,
                     struct arena *scratch, float *rows, struct error *err) {
    const struct translator *t = sentence->translator;
    const struct decoder_shape *shape = &t->decoder.shape;
    size_t length = sentence->length;
    struct arena_mark mark = arena_mark(scratch);
    float *embeddings = arena_alloc(scratch, count * shape->input, sizeof *embeddings);
    float *tops = arena_alloc(scratch, count * shape->top, sizeof *tops);
    int status = embeddings && tops ? 0 : error_memory(err);
    for (size_t i = 0; i < count && status == 0; i++) {
        int token = sentence->copies ? copies_input(sentence->copies, tokens[i]) : tokens[i];
        decoder_embed(&t->decoder, token, embeddings + i * shape->input);
        memcpy(tops + i * shape->top, place_of_top(sentence, attention[i]), shape->top * sizeof *tops);
    }
    struct alignment_inputs inputs = {{embeddings, shape->input}, {tops, shape->top}, shape->input, count};
    if (status == 0)
        status = alignment_run(&t->alignment, &inputs, sentence->alignment_keys, length, scratch, rows, err);
    for (size_t i = 0; i < count && status == 0; i++) {
        /* where the head read <unk> for a phrase, the source tokens that the phrase stands for are known */
        const struct phrase *phrase = phrase_of(sentence, tokens[i]);
        if (!phrase || phrase->count == 0)
            continue;
        memset(rows + i * length, 0, length * sizeof *rows);
        for (size_t j = phrase->first; j < phrase->first + phrase->count; j++)
            rows[i * length + j] = 1 / (float)phrase->count;
    }
    arena_release(scratch, mark);
    return status;
}

/* The one of the first i hypotheses that begins most like hypothesis i, or NULL; *common: the rows that they share, because the
 * same steps decided the same tokens. Up to there they are one path through the search's tree. */
static const struct hypothesis *closest(const struct sentence *sentence, size_t i, size_t *common) {
    const struct hypothesis *found = NULL, *h = &sentence->hypotheses[i];
    *common = 0;
    for (size_t k = 0; k < i; k++) {
        const struct hypothesis *earlier = &sentence->hypotheses[k];
        size_t count = 0;
        while (count < earlier->length && count < h->length && earlier->attention[count] == h->attention[count] &&
               earlier->tokens[count] == h->tokens[count])
            count++;
        if (count > *common) {
            found = earlier;
            *common = count;
        }
    }
    return found;
}

int soft_alignment_end(struct sentence *sentence, struct arena *scratch, struct error *err) {
    size_t length = sentence->length;
    int status = 0;
    for (size_t i = 0; sentence_top(sentence) > 0 && i < sentence->count && status == 0; i++) {
        struct hypothesis *h = &sentence->hypotheses[i];
        size_t common;
        const struct hypothesis *earlier = closest(sentence, i, &common);
        size_t own = h->length + h->ended - common;
        struct arena_mark mark = arena_mark(scratch);
        int *tokens = arena_alloc(scratch, h->length + 1, sizeof *tokens); /* with </s>, which a hypothesis does not list */
        float *rows = arena_alloc(&sentence->arena, own * length, sizeof *rows);
        const float **alignment = arena_alloc(&sentence->arena, common + own, sizeof *alignment);
        status = tokens && rows && alignment ? 0 : error_memory(err);
        if (status == 0) {
            if (h->length > 0)
                memcpy(tokens, h->tokens, h->length * sizeof *tokens);
            tokens[h->length] = tokenizer_end(sentence->translator->target);
            status = make_rows(sentence, tokens + common, h->attention + common, own, scratch, rows, err);
        }
        for (size_t j = 0; j < common + own && status == 0; j++)
            alignment[j] = j < common ? earlier->alignment[j] : rows + (j - common) * length;
        if (status == 0)
            h->alignment = alignment;
        arena_release(scratch, mark);
    }
    return status;
}

const float *soft_alignment_row(const struct sentence *sentence, int token, const float *attention, struct arena *arena,
                                struct error *err) {
    if (sentence_top(sentence) == 0)
        return attention;
    float *row = arena_alloc(arena, sentence->length, sizeof *row);
    if (!row) {
        error_memory(err);
        return NULL;
    }
    return make_rows(sentence, &token, &attention, 1, arena, row, err) == 0 ? row : NULL;
}

/* ---- the heads of a transformer ---- */

/* The weights of a part. Rows before the i-th of the decoder hold 1 + 2 + ... + i weights of each head. */
static size_t part_count(const struct looks *looks, enum looks_part part) {
    size_t n = looks->target, heads = looks->parts[part].layers * looks->parts[part].heads;
    if (part == LOOKS_DECODER)
        return heads * (n * (n + 1) / 2);
    return heads * looks->source * (part == LOOKS_ENCODER ? looks->source : n);
}

const float *looks_row(const struct looks *looks, enum looks_part part, size_t layer, size_t head, size_t i, size_t *count) {
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

static int look_at_source(const struct sentence *sentence, const struct looks *looks, struct arena *scratch, struct error *err) {
    const struct look_set *set = &looks->parts[LOOKS_ENCODER];
    struct arena_mark mark = arena_mark(scratch);
    if (set->layers == 0)
        return 0;
    int *ids = arena_alloc(scratch, sentence->length, sizeof *ids);
    if (!ids)
        return error_memory(err);
    for (size_t j = 0; j < sentence->length; j++)
        ids[j] = sentence->tokens[j].id;
    int status = encoder_look(&sentence->translator->encoder, ids, sentence->length, scratch, set->weights, err);
    arena_release(scratch, mark);
    return status;
}

/* The place of the weights of all layers and heads of one step, which lie together. */
static float *weights_at(const struct looks *looks, enum looks_part part, size_t step) {
    size_t count;
    const struct look_set *set = &looks->parts[part];
    return set->layers > 0 ? set->weights + (looks_row(looks, part, 0, 0, step, &count) - set->weights) : NULL;
}

/* Takes the steps of the best hypothesis again, as rows that continue one another. */
static int look_at_target(const struct sentence *sentence, const struct looks *looks, struct arena *scratch, struct error *err) {
    enum { ROWS = 32 }; /* steps taken at once, where no state goes from one to the next */
    const struct decoder *decoder = &sentence->translator->decoder;
    const struct decoder_shape *shape = &decoder->shape;
    const int *tokens = sentence->hypotheses[0].tokens;
    size_t steps = looks->target, together = shape->state > 0 ? 1 : ROWS;
    if (looks->parts[LOOKS_CROSS].layers == 0)
        return 0;
    struct arena_mark mark = arena_mark(scratch);
    const float **past = arena_alloc(scratch, steps, sizeof *past);
    float *added = arena_alloc(scratch, steps * shape->past, sizeof *added);
    float *state = arena_zalloc(scratch, shape->state, sizeof *state);
    struct row *rows = arena_alloc(scratch, ROWS, sizeof *rows);
    float *readouts = arena_alloc(scratch, ROWS * shape->readout, sizeof *readouts);
    float *attention = arena_alloc(scratch, looks->source, sizeof *attention); /* nothing reads it */
    int status = arena_failed(scratch) ? error_memory(err) : 0;
    for (size_t i = 0; status == 0 && i < steps; i++)
        past[i] = added + i * shape->past;
    for (size_t first = 0, count; status == 0 && first < steps; first += count) {
        count = steps - first < together ? steps - first : together;
        for (size_t r = 0; r < count; r++) {
            size_t step = first + r;
            int token = step == 0 ? DECODER_FIRST : tokens[step - 1];
            rows[r] = (struct row){
                .token = sentence->copies && step > 0 ? copies_input(sentence->copies, token) : token,
                .step = step,
                .memory = sentence->memory,
                .copies = sentence->copies,
                .forced = sentence_forced(sentence, step),
                .past = shape->past > 0 ? past : NULL,
                .added = shape->past > 0 ? added + step * shape->past : NULL,
                .state = state,
                .attention = attention,
                .readout = readouts + r * shape->readout,
                .looks = {.self = weights_at(looks, LOOKS_DECODER, step), .cross = weights_at(looks, LOOKS_CROSS, step)}};
        }
        status = decoder_step(decoder, rows, count, scratch, err);
    }
    arena_release(scratch, mark);
    return status;
}

int looks_end(struct sentence *sentence, struct arena *scratch, struct error *err) {
    const struct translator *t = sentence->translator;
    const struct hypothesis *best = &sentence->hypotheses[0];
    const struct lookers *lookers[LOOKS_PARTS] = {&t->encoder.self, &t->decoder.self, &t->decoder.cross};
    if (!sentence->wants_looks)
        return 0;
    struct looks *looks = arena_zalloc(&sentence->arena, 1, sizeof *looks);
    if (!looks)
        return error_memory(err);
    looks->source = sentence->length;
    looks->target = best->length + best->ended;
    for (size_t part = 0; part < LOOKS_PARTS; part++) {
        struct look_set *set = &looks->parts[part];
        set->layers = lookers[part]->layers;
        set->heads = lookers[part]->heads;
        set->weights = arena_alloc(&sentence->arena, part_count(looks, (enum looks_part)part), sizeof(float));
        if (!set->weights)
            return error_memory(err);
    }
    if (look_at_source(sentence, looks, scratch, err) != 0 || look_at_target(sentence, looks, scratch, err) != 0)
        return -1;
    sentence->looks = looks;
    return 0;
}
