#include "model/looks.h"
#include "model/model.h"

#include <string.h>

/* ---- what there is ---- */

static struct look_set set_of(const struct lookers *lookers) {
    return (struct look_set){.layers = lookers->layers, .heads = lookers->heads};
}

static struct looks shape_of(const struct translator *t, size_t source, size_t target) {
    return (struct looks){.source = source,
                          .target = target,
                          .parts = {[LOOKS_ENCODER] = set_of(&t->encoder.self),
                                    [LOOKS_DECODER] = set_of(&t->decoder.self),
                                    [LOOKS_CROSS] = set_of(&t->decoder.cross)}};
}

/* Rows before the i-th of the decoder hold 1 + 2 + ... + i weights of each head. */
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

/* ---- finding them ---- */

static int look_at_source(const struct sentence *sentence, const struct looks *looks, struct arena *scratch, struct error *err) {
    const struct translator *t = sentence->translator;
    struct arena_mark mark = arena_mark(scratch);
    int *ids = looks->parts[LOOKS_ENCODER].layers > 0 ? arena_alloc(scratch, sentence->length, sizeof *ids) : NULL;
    if (!ids)
        return looks->parts[LOOKS_ENCODER].layers > 0 ? error_memory(err) : 0;
    for (size_t j = 0; j < sentence->length; j++)
        ids[j] = sentence->tokens[j].id;
    int status = encoder_look(&t->encoder, ids, sentence->length, scratch, looks->parts[LOOKS_ENCODER].weights, err);
    arena_release(scratch, mark);
    return status;
}

/* The hypothesis, step by step, as rows that continue one another. */
struct walk {
    const struct sentence *sentence;
    const struct looks *looks;
    const int *tokens;  /* [n] */
    const float **past; /* [n] */
    float *added;       /* [n, G] */
    float *state;       /* [S] */
    struct row *rows;   /* [WALK_ROWS] */
    float *readouts;    /* [WALK_ROWS, O] */
    float *attention;   /* [T] nobody reads it */
};

/* Steps taken at once, where no state goes from one to the next. */
enum { WALK_ROWS = 32 };

static int allocate_walk(struct walk *walk, struct arena *arena) {
    const struct decoder_shape *shape = &walk->sentence->translator->decoder.shape;
    size_t steps = walk->looks->target;
    walk->past = arena_alloc(arena, steps, sizeof *walk->past);
    walk->added = arena_alloc(arena, steps * shape->past, sizeof *walk->added);
    walk->state = arena_zalloc(arena, shape->state, sizeof *walk->state);
    walk->rows = arena_alloc(arena, WALK_ROWS, sizeof *walk->rows);
    walk->readouts = arena_alloc(arena, WALK_ROWS * shape->readout, sizeof *walk->readouts);
    walk->attention = arena_alloc(arena, walk->looks->source, sizeof *walk->attention);
    for (size_t i = 0; !arena_failed(arena) && i < steps; i++)
        walk->past[i] = walk->added + i * shape->past;
    return arena_failed(arena) ? -1 : 0;
}

static int read_at(const struct walk *walk, size_t step) {
    const struct copies *copies = walk->sentence->copies;
    if (step == 0)
        return DECODER_FIRST;
    return copies ? copies_input(copies, walk->tokens[step - 1]) : walk->tokens[step - 1];
}

/* The weights of all layers and heads of one step lie together. */
static float *weights_at(const struct walk *walk, enum looks_part part, size_t step) {
    size_t count;
    const struct look_set *set = &walk->looks->parts[part];
    return set->layers > 0 ? set->weights + (looks_row(walk->looks, part, 0, 0, step, &count) - set->weights) : NULL;
}

static struct row row_at(const struct walk *walk, size_t step, size_t place) {
    const struct sentence *sentence = walk->sentence;
    const struct decoder_shape *shape = &sentence->translator->decoder.shape;
    return (struct row){.token = read_at(walk, step),
                        .step = step,
                        .memory = sentence->memory,
                        .copies = sentence->copies,
                        .forced = sentence_forced(sentence, step),
                        .past = shape->past > 0 ? walk->past : NULL,
                        .added = shape->past > 0 ? walk->added + step * shape->past : NULL,
                        .state = walk->state,
                        .attention = walk->attention,
                        .readout = walk->readouts + place * shape->readout,
                        .looks = {.self = weights_at(walk, LOOKS_DECODER, step), .cross = weights_at(walk, LOOKS_CROSS, step)}};
}

static int look_at_steps(struct walk *walk, struct arena *scratch, struct error *err) {
    const struct decoder *decoder = &walk->sentence->translator->decoder;
    size_t together = decoder->shape.state > 0 ? 1 : WALK_ROWS;
    for (size_t step = 0, count; step < walk->looks->target; step += count) {
        size_t left = walk->looks->target - step;
        count = left < together ? left : together;
        for (size_t r = 0; r < count; r++)
            walk->rows[r] = row_at(walk, step + r, r);
        if (decoder_step(decoder, walk->rows, count, scratch, err) != 0)
            return -1;
    }
    return 0;
}

static int look_at_target(const struct sentence *sentence, const struct looks *looks, struct arena *scratch, struct error *err) {
    struct arena_mark mark = arena_mark(scratch);
    struct walk walk = {.sentence = sentence, .looks = looks, .tokens = sentence->hypotheses[0].tokens};
    int status = 0;
    if (looks->parts[LOOKS_CROSS].layers > 0)
        status = allocate_walk(&walk, scratch) == 0 ? look_at_steps(&walk, scratch, err) : error_memory(err);
    arena_release(scratch, mark);
    return status;
}

int looks_end(struct sentence *sentence, struct arena *scratch, struct error *err) {
    const struct hypothesis *best = &sentence->hypotheses[0];
    if (!sentence->wants_looks)
        return 0;
    struct looks *looks = arena_alloc(&sentence->arena, 1, sizeof *looks);
    if (!looks)
        return error_memory(err);
    *looks = shape_of(sentence->translator, sentence->length, best->length + best->ended);
    for (int part = 0; part < LOOKS_PARTS; part++) {
        looks->parts[part].weights = arena_alloc(&sentence->arena, part_count(looks, (enum looks_part)part), sizeof(float));
        if (!looks->parts[part].weights)
            return error_memory(err);
    }
    if (look_at_source(sentence, looks, scratch, err) != 0 || look_at_target(sentence, looks, scratch, err) != 0)
        return -1;
    sentence->looks = looks;
    return 0;
}
