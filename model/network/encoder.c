#include "model/network/encoder.h"

#include <assert.h>
#include <string.h>

static const struct encoder_kind *const kinds[] = {&encoder_recurrent, &encoder_convolutional, &encoder_transformer};

static const struct encoder_kind *find_encoder(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

int encoder_init(struct encoder *encoder, const struct model_config *config, size_t vocabulary, struct weights *weights,
                 const struct kernels *kernels, struct error *err) {
    const struct encoder_config *c = &config->encoder;
    *encoder = (struct encoder){.kind = find_encoder(c->type),
                                .kernels = kernels,
                                .vocabulary = vocabulary,
                                .embedding_size = c->embedding,
                                .annotation = config_annotation_size(config)};
    if (!encoder->kind)
        return error_set(err, ERROR_FORMAT, "encoder.type: %s is not known", c->type);
    const char *embedding = c->embedding_shared ? "decoder.embedding" : "encoder.embedding";
    weights_table(weights, embedding, vocabulary, c->embedding, &encoder->embedding, err);
    if (encoder->kind->init(encoder, config, weights, err) == 0)
        return 0;
    encoder_done(encoder);
    return -1;
}

void encoder_done(struct encoder *encoder) {
    if (encoder->own)
        encoder->kind->done(encoder->own);
    encoder->own = NULL;
}

static float *embed(const struct encoder *e, const int *ids, size_t tokens, struct arena *arena) {
    float *x = arena_alloc(arena, tokens * e->embedding_size, sizeof *x);
    for (size_t i = 0; x && i < tokens; i++) {
        assert(ids[i] >= 0 && (size_t)ids[i] < e->vocabulary);
        weights_row(&e->embedding, (size_t)ids[i], x + i * e->embedding_size);
    }
    return x;
}

static struct sequences sequences_of(const size_t *lengths, size_t n) {
    struct sequences sequences = {.n = n, .lengths = lengths};
    for (size_t i = 0; i < n; i++) {
        assert(lengths[i] > 0);
        sequences.tokens += lengths[i];
    }
    return sequences;
}

int encoder_run(const struct encoder *encoder, const int *ids, const size_t *lengths, size_t n, struct arena *arena,
                struct encoded *out, struct error *err) {
    struct sequences sequences = sequences_of(lengths, n);
    float *x = embed(encoder, ids, sequences.tokens, arena);
    return x && encoder->kind->run(encoder, x, &sequences, arena, out) == 0 ? 0 : error_memory(err);
}

int encoder_look(const struct encoder *encoder, const int *ids, size_t length, struct arena *arena, float *weights,
                 struct error *err) {
    struct sequences sequences = sequences_of(&length, 1);
    struct encoded encoded;
    float *x = embed(encoder, ids, length, arena);
    sequences.looks = weights;
    return x && encoder->kind->run(encoder, x, &sequences, arena, &encoded) == 0 ? 0 : error_memory(err);
}

bool encoder_divides(const struct encoder *encoder) {
    return encoder->kind->begin != NULL;
}

void *encoder_begin(const struct encoder *encoder, const int *ids, const size_t *lengths, size_t n, struct arena *arena,
                    struct encoded *out, struct error *err) {
    struct sequences sequences = sequences_of(lengths, n);
    float *x = embed(encoder, ids, sequences.tokens, arena);
    void *parts = x ? encoder->kind->begin(encoder, x, &sequences, arena, out) : NULL;
    if (!parts)
        error_memory(err);
    return parts;
}

bool encoder_advance(const struct encoder *encoder, void *parts, size_t work) {
    return encoder->kind->advance(encoder, parts, work);
}

size_t encoder_part_rows(size_t work, size_t each, size_t left) {
    enum { FEWEST = 32 };
    size_t rows = each > 0 ? work / each : left;
    rows = rows < FEWEST ? FEWEST : rows;
    return rows < left ? rows : left;
}
