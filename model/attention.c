#include "model/attention.h"

#include <string.h>

static int load_key(struct attention *a, const char *bias, size_t size, struct weights *weights, struct error *err) {
    a->size = size;
    return weights_linear(weights, &(struct linear_names){.weight = "attention.key.weight", .bias = bias}, size, a->annotation,
                          &a->key, err);
}

/* Luong et al. 2015: e = s . h. The keys are the annotations. */
static int init_dot(struct attention *a, const struct model_config *config, struct weights *weights, struct error *err) {
    (void)weights;
    a->size = config->decoder.hidden;
    if (a->size != a->annotation)
        return error_set(err, ERROR_FORMAT, "attention.score: dot needs annotations (%zu) as large as decoder.hidden (%zu)",
                         a->annotation, a->size);
    return 0;
}

/* Luong et al. 2015: e = s^T W h. The keys hold W h. */
static int init_general(struct attention *a, const struct model_config *config, struct weights *weights, struct error *err) {
    return load_key(a, NULL, config->decoder.hidden, weights, err);
}

/* Bahdanau et al. 2015, A.1.2: e = v . tanh(W s + U h + b). The keys hold U h + b. */
static int init_additive(struct attention *a, const struct model_config *config, struct weights *weights, struct error *err) {
    size_t size = config->attention.size, hidden = config->decoder.hidden;
    if (load_key(a, "attention.key.bias", size, weights, err) != 0)
        return -1;
    a->energy = weights_get(weights, "attention.energy", size, 1, err);
    return weights_linear(weights, &(struct linear_names){.weight = "attention.query.weight", .bias = NULL}, size, hidden,
                          &a->query, err);
}

static void score_dot(const struct attention *a, const float *q, const struct memory *memory, float *e) {
    a->kernels->dot(q, memory->keys, memory->length, a->size, e);
}

/* Keys and queries hold exp(2x): kernels' additive. */
static void prepare_additive(const struct attention *a, float *x, size_t n) {
    a->kernels->exp_twice(x, n);
}

static void score_additive(const struct attention *a, const float *q, const struct memory *memory, float *e) {
    a->kernels->additive(a->energy, q, memory->keys, memory->length, a->size, e);
}

static const struct attention_kind kinds[] = {
    {"dot", init_dot, NULL, score_dot},
    {"general", init_general, NULL, score_dot},
    {"additive", init_additive, prepare_additive, score_additive},
};

int attention_init(struct attention *attention, const struct model_config *config, struct weights *weights,
                   const struct kernels *kernels, struct error *err) {
    *attention = (struct attention){.kernels = kernels, .annotation = config_annotation_size(config)};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, config->attention.score) == 0)
            attention->kind = &kinds[i];
    if (!attention->kind)
        return error_set(err, ERROR_FORMAT, "attention.score: %s is not known", config->attention.score);
    if (attention->kind->init(attention, config, weights, err) == 0)
        return 0;
    attention_done(attention);
    return -1;
}

void attention_done(struct attention *attention) {
    linear_done(&attention->key);
    linear_done(&attention->query);
}

void attention_keys(const struct attention *attention, const float *annotations, size_t tokens, float *keys) {
    if (attention->key.out)
        linear_apply(&attention->key, annotations, attention->annotation, tokens, keys, attention->size);
    else
        memcpy(keys, annotations, tokens * attention->size * sizeof *keys);
    if (attention->kind->prepare)
        attention->kind->prepare(attention, keys, tokens * attention->size);
}

void attention_run(const struct attention *attention, const float *queries, size_t ld, size_t rows,
                   const struct memory *const *memories, float *const *weights, float *contexts, float *scratch) {
    if (attention->query.out) {
        linear_apply(&attention->query, queries, ld, rows, scratch, attention->size);
        if (attention->kind->prepare)
            attention->kind->prepare(attention, scratch, rows * attention->size);
        queries = scratch;
        ld = attention->size;
    }
    for (size_t r = 0; r < rows; r++) {
        const struct memory *memory = memories[r];
        attention->kind->score(attention, queries + r * ld, memory, weights[r]);
        attention->kernels->softmax(weights[r], memory->length);
        attention->kernels->weighted_sum(weights[r], memory->annotations, memory->length, attention->annotation,
                                         contexts + r * attention->annotation);
    }
}
