#include "model/network/speller.h"
#include "model/compute/kernels.h"
#include <string.h>

enum { CHARACTER_BYTES = 4 };

int speller_init(struct speller *speller, const struct model_config *config, const struct tokenizer *characters,
                 struct weights *weights, const struct kernels *kernels, struct error *err) {
    size_t size = tokenizer_size(characters), embedding = config->output.character_embedding, hidden = config_readout_size(config);
    *speller = (struct speller){.characters = characters, .kernels = kernels, .embedding_size = embedding};
    speller->embedding = weights_get(weights, "speller.embedding", size, embedding, err);
    cell_init(&speller->cell, cell_kind_find("speller", "lstm", err), "speller.",
              &(struct cell_shape){.in = embedding, .hidden = hidden}, weights, kernels, err);
    struct linear_names names = {.weight = "speller.output.weight", .bias = "speller.output.bias"};
    return weights_linear(weights, &names, size, hidden, &speller->output, err);
}

void speller_done(struct speller *speller) {
    cell_done(&speller->cell);
    linear_done(&speller->output);
}

/* The work of one word. */
struct spelling {
    float *gates_x, *gates_u; /* [4 O] */
    float *state;             /* [2 O]: h, c */
    float *logits;            /* [C] */
};

static bool speller_start(const struct speller *s, const float *readout, struct arena *arena, struct spelling *work) {
    size_t hidden = s->cell.hidden, gates = s->cell.input.out;
    *work = (struct spelling){.gates_x = arena_alloc(arena, gates, sizeof(float)),
                              .gates_u = arena_alloc(arena, gates, sizeof(float)),
                              .state = arena_zalloc(arena, 2 * hidden, sizeof(float)),
                              .logits = arena_alloc(arena, s->output.out, sizeof(float))};
    if (arena_failed(arena))
        return false;
    memcpy(work->state, readout, hidden * sizeof *readout);
    return true;
}

/* The best character after this one, or </s>; <unk> and <s> are never written. */
static int next_character(const struct speller *s, const struct spelling *work, int previous) {
    linear_apply(&s->cell.input, s->embedding + (size_t)previous * s->embedding_size, s->embedding_size, 1, work->gates_x,
                 s->cell.input.out);
    cell_step(&s->cell, &(struct cell_inputs){work->gates_x, s->cell.input.out, NULL}, 1, work->state, 2 * s->cell.hidden,
              work->gates_u);
    linear_apply(&s->output, work->state, s->cell.hidden, 1, work->logits, s->output.out);
    struct ranked best[3];
    size_t count = s->kernels->summarize(work->logits, s->output.out, 3, best).count;
    for (size_t i = 0; i < count; i++)
        if (best[i].token != tokenizer_unknown(s->characters) && best[i].token != tokenizer_begin(s->characters))
            return best[i].token;
    return tokenizer_end(s->characters);
}

int speller_run(const struct speller *speller, const float *readout, struct arena *arena, const char **word, struct error *err) {
    char *text = arena_alloc(arena, SPELLER_MAX_CHARACTERS * CHARACTER_BYTES + 1, 1);
    struct arena_mark mark = arena_mark(arena);
    struct spelling work;
    if (!speller_start(speller, readout, arena, &work))
        return error_memory(err);
    size_t length = 0;
    int character = tokenizer_begin(speller->characters), end = tokenizer_end(speller->characters);
    for (size_t i = 0; i < SPELLER_MAX_CHARACTERS && (character = next_character(speller, &work, character)) != end; i++) {
        const char *piece = tokenizer_piece(speller->characters, character);
        memcpy(text + length, piece, strlen(piece));
        length += strlen(piece);
    }
    text[length] = '\0';
    arena_release(arena, mark);
    *word = length > 0 ? text : NULL;
    return 0;
}
