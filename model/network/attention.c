/* This file hides how attention weights are computed: the formulas of scores and windows, and the
 * slopes of multi-head attention. */
#include "model/network/network.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* The part of its sentence that one row sees: `length` tokens from token `first` on. All vectors
 * but the query begin there. */
struct view {
    size_t first, length;
    const float *query;  /* [A] projected, or the state itself */
    const float *keys;   /* [length, A] */
    const float *values; /* [length, P] */
    float *weights;      /* [length] */
    float *coverage;     /* [length]; NULL: none */
};

/* ---- the scores ---- */

/* init loads the score's parameters and sets key_size and query_size. prepare (NULL: nothing to do)
 * turns projected keys and queries x [n] into the form that score reads, once for each instead of
 * once for each pair. score writes e to the view's weights.
 * */
struct attention_kind {
    const char *name;
    int (*init)(struct attention *attention, const struct model_config *config,
                const struct loader *loader);
    void (*prepare)(const struct attention *attention, float *x, size_t n);
    void (*score)(const struct attention *attention, const struct view *view);
};

/* Luong et al. 2015: e = s . h. The keys are the annotations or, if learned, W h as in the general
 * score. */
static int init_dot(struct attention *a, const struct model_config *config,
                    const struct loader *loader) {
    a->key_size = config->decoder.hidden;
    if (config->attention.learned_keys)
        block_linear(&a->key, "attention", "key",
                     (struct block_shape){a->key_size, a->annotation, false}, loader);
    else if (a->key_size != a->annotation)
        return error_set(
            loader->err, ERROR_FORMAT,
            "attention.score: %s needs annotations (%zu) as large as decoder.hidden (%zu)",
            a->kind->name, a->annotation, a->key_size);
    return 0;
}

static void score_dot(const struct attention *a, const struct view *view) {
    a->kernels->dot(view->query, view->keys, view->length, a->key_size, view->weights);
}

/* Luong et al. 2015: e = s^T W h. The keys hold W h. */
static int init_general(struct attention *a, const struct model_config *config,
                        const struct loader *loader) {
    a->key_size = config->decoder.hidden;
    block_linear(&a->key, "attention", "key",
                 (struct block_shape){a->key_size, a->annotation, false}, loader);
    return 0;
}

/* Vaswani et al. 2017: e = g s . h with g = 1 / sqrt(A); tf/nmt learns g. */
static int init_scaled_dot(struct attention *a, const struct model_config *config,
                           const struct loader *loader) {
    if (init_dot(a, config, loader) != 0)
        return -1;
    a->scale = 1 / sqrtf((float)a->key_size);
    if (!config->attention.learned_scale)
        return 0;
    const float *scale = weights_get(loader->weights, "attention.factor", 1, 1, loader->err);
    a->scale = scale ? *scale : 0;
    return 0;
}

static void score_scaled_dot(const struct attention *a, const struct view *view) {
    score_dot(a, view);
    for (size_t j = 0; j < view->length; j++)
        view->weights[j] *= a->scale;
}

/* Bahdanau et al. 2015, A.1.2: e = v . tanh(W s + U h + b). The keys hold U h + b. If they are
 * normalised, W s and U h + b are normalised separately; "gates" treats each as a whole, since it
 * has elements of one kind. With coverage, w cov_j is added inside the tanh: Tu et al. 2016, See et
 * al. 2017. */
static int init_additive(struct attention *a, const struct model_config *config,
                         const struct loader *loader) {
    size_t size = a->key_size = a->query_size = config->attention.size;
    block_linear(&a->key, "attention", "key", (struct block_shape){size, a->annotation, true},
                 loader);
    a->energy = weights_get(loader->weights, "attention.energy", size, 1, loader->err);
    if (config->attention.coverage) {
        a->coverage = weights_get(loader->weights, "attention.coverage", size, 1, loader->err);
        a->reach = config_positions(config);
    }
    block_linear(&a->query, "attention", "query",
                 (struct block_shape){size, config->decoder.hidden, false}, loader);

    struct norm_names key = {"attention.key.", "", size, 0};
    struct norm_names query = {"attention.query.", "", size, 0};
    const struct norm_kind *kind =
        norm_kind_find("attention.normalization", config->attention.normalization, loader->err);
    if (!kind)
        return -1;
    norm_init(&a->key_norm, kind, &key, loader);
    norm_init(&a->query_norm, kind, &query, loader);
    return 0;
}

/* Keys and queries hold exp(2x): see the kernel additive. */
static void prepare_additive(const struct attention *a, float *x, size_t n) {
    a->kernels->exp_twice(x, n);
}

static void score_additive(const struct attention *a, const struct view *view) {
    if (a->coverage)
        a->kernels->additive_covered(a->energy, view->query, view->keys,
                                     &(struct coverage){a->coverage, view->coverage}, view->length,
                                     a->key_size, view->weights);
    else
        a->kernels->additive(a->energy, view->query, view->keys, view->length, a->key_size,
                             view->weights);
}

/* Luong et al. 2015: e_j = (W s)_j, without keys. */
static int init_location(struct attention *a, const struct model_config *config,
                         const struct loader *loader) {
    a->reach = a->query_size = config_positions(config);
    block_linear(&a->query, "attention", "query",
                 (struct block_shape){a->query_size, config->decoder.hidden, false}, loader);
    return 0;
}

static void score_location(const struct attention *a, const struct view *view) {
    assert(view->first + view->length <= a->query_size);
    memcpy(view->weights, view->query + view->first, view->length * sizeof *view->weights);
}

static const struct attention_kind scores[] = {
    {"dot", init_dot, NULL, score_dot},
    {"general", init_general, NULL, score_dot},
    {"additive", init_additive, prepare_additive, score_additive},
    {"scaled_dot", init_scaled_dot, NULL, score_scaled_dot},
    {"location", init_location, NULL, score_location},
};

/* ---- the windows ---- */

/* init (NULL: nothing to do) loads parameters. centre computes p_t for a sentence of this many
 * tokens; NULL: the window has no centre. position [H]: the row's W s, where the window has that
 * matrix; overwritten. lean (NULL: none) changes the scores around p_t. */
struct window_kind {
    const char *name;
    void (*init)(struct attention *attention, const struct model_config *config,
                 const struct loader *loader);
    float (*centre)(const struct attention *attention, size_t length, size_t step, float *position);
    void (*lean)(const struct attention *attention, float centre, const struct view *view);
};

/* Luong et al. 2015, section 3.2: p_t = t, or the last token once t is past it. */
static float centre_monotonic(const struct attention *a, size_t length, size_t step,
                              float *position) {
    (void)a, (void)position;
    return (float)(step < length ? step : length - 1);
}

static void init_predictive(struct attention *a, const struct model_config *config,
                            const struct loader *loader) {
    size_t hidden = config->decoder.hidden;
    a->position_energy =
        weights_get(loader->weights, "attention.position.energy", hidden, 1, loader->err);
    block_linear(&a->position, "attention", "position", (struct block_shape){hidden, hidden, false},
                 loader);
}

/* Luong et al. 2015, section 3.2: p_t = T sigmoid(v . tanh(W s)). */
static float centre_predictive(const struct attention *a, size_t length, size_t step,
                               float *position) {
    (void)step;
    float x;
    a->kernels->tanh(position, a->position.out);
    a->kernels->dot(a->position_energy, position, 1, a->position.out, &x);
    return (float)length / (1 + expf(-x));
}

/* Multiplies the weights by a Gaussian around p_t with sigma = half_width / 2, by adding its
 * logarithm to the scores, so that they still sum to 1. (The paper does not normalise them again,
 * which shrinks the context by the Gaussian's mean.) */
static void lean_gaussian(const struct attention *a, float centre, const struct view *view) {
    for (size_t j = 0; j < view->length; j++) {
        float distance = ((float)(view->first + j) - centre) / a->half_width;
        view->weights[j] -= 2 * distance * distance;
    }
}

static const struct window_kind windows[] = {
    {"global", NULL, NULL, NULL},
    {"local_m", NULL, centre_monotonic, NULL},
    {"local_p", init_predictive, centre_predictive, lean_gaussian},
};

/* ---- one head ---- */

int attention_init(struct attention *attention, const struct model_config *config,
                   const struct loader *loader) {
    const struct attention_config *c = &config->attention;
    struct attention *a = attention;
    *a = (struct attention){.kernels = loader->kernels,
                            .annotation = config_annotation_size(config),
                            .value = config_context_size(config),
                            .reach = SIZE_MAX,
                            .source_depth = c->source_depth,
                            .half_width = (float)c->half_width};
    a->kind = TABLE_FIND(scores, "attention.score", c->score, loader->err);
    a->window = TABLE_FIND(windows, "attention.window", c->window, loader->err);
    if (!a->kind || !a->window || a->kind->init(a, config, loader) != 0)
        return -1;
    if (a->window->init)
        a->window->init(a, config, loader);
    if (c->learned_values)
        block_linear(&a->values, "attention", "value",
                     (struct block_shape){a->value, a->annotation, false}, loader);
    a->scratch = a->query_size + a->position.out;
    return weights_failed(loader->weights) ? -1 : 0;
}

void attention_keys(const struct attention *attention, const float *annotations, size_t tokens,
                    float *keys) {
    if (attention->key.out)
        linear_apply(&attention->key, annotations, attention->annotation, tokens, keys,
                     attention->key_size);
    else
        memcpy(keys, annotations, tokens * attention->key_size * sizeof *keys);
    norm_apply(&attention->key_norm, attention->kernels, tokens, keys, attention->key_size);
    if (attention->kind->prepare)
        attention->kind->prepare(attention, keys, tokens * attention->key_size);
}

/* Computes the attention and the context of row r. positions [R, H]: W s of all rows, where the
 * window has that matrix. */
static void attend(const struct attention *a, const struct attention_step *step,
                   const struct row *row, size_t r, float *positions) {
    const struct memory *memory = row->memory;
    size_t length = memory->length < a->reach ? memory->length : a->reach;
    float centre = 0, *context = step->contexts + r * a->value;
    for (size_t j = 0; row->scores && j < memory->length; j++)
        row->scores[j] = NAN;
    if (row->forced) { /* the given weights apply wherever the window stands */
        memcpy(row->attention, row->forced, memory->length * sizeof *row->attention);
        a->kernels->weighted_sum(row->attention, memory->values, memory->length, a->value, context);
        if (a->coverage)
            a->kernels->add(row->attention, length, row->state + step->coverage);
        return;
    }
    struct view view = {.length = length};
    if (a->window->centre) { /* no token farther from p_t than half_width; at least one, since p_t
                                is within the sentence */
        centre = a->window->centre(a, length, row->step, positions + r * a->position.out);
        float first = ceilf(centre - a->half_width), end = floorf(centre + a->half_width) + 1;
        view.first = first > 0 ? (size_t)first : 0;
        view.length = (end < (float)length ? (size_t)end : length) - view.first;
    } else if (a->source_depth && a->source_depth < length) {
        view = (struct view){.first = length - a->source_depth, .length = a->source_depth};
    }
    view.query = a->query.out ? step->scratch + r * a->query_size
                              : step->queries.x + r * step->queries.distance;
    view.keys = memory->keys + view.first * a->key_size;
    view.values = memory->values + view.first * a->value;
    view.weights = row->attention + view.first;
    view.coverage = a->coverage ? row->state + step->coverage + view.first : NULL;

    memset(row->attention, 0, memory->length * sizeof *view.weights);
    a->kind->score(a, &view);
    if (a->window->lean)
        a->window->lean(a, centre, &view);
    if (row->scores)
        memcpy(row->scores + view.first, view.weights, view.length * sizeof *view.weights);
    a->kernels->softmax(view.weights, view.length);
    a->kernels->weighted_sum(view.weights, view.values, view.length, a->value, context);
    if (view.coverage)
        a->kernels->add(view.weights, view.length, view.coverage);
}

void attention_run(const struct attention *attention, const struct row *rows, size_t count,
                   const struct attention_step *step) {
    const struct attention *a = attention;
    float *queries = step->scratch, *positions = step->scratch + count * a->query_size;
    if (a->query.out) {
        linear_apply(&a->query, step->queries.x, step->queries.distance, count, queries,
                     a->query_size);
        norm_apply(&a->query_norm, a->kernels, count, queries, a->query_size);
        if (a->kind->prepare)
            a->kind->prepare(a, queries, count * a->query_size);
    }
    if (a->position.out)
        linear_apply(&a->position, step->queries.x, step->queries.distance, count, positions,
                     a->position.out);
    for (size_t r = 0; r < count; r++)
        attend(a, step, &rows[r], r, positions);
}

/* ---- many heads ---- */

/* Returns ALiBi's slope of head h (from 0): 2^(-8 (h + 1) / H). Where H is not a power of two, the
 * first heads have the slopes of the power below it, and the others every second one of the power
 * above it. */
static float slope_of(size_t heads, size_t h) {
    size_t below = 1;
    while (2 * below <= heads)
        below *= 2;
    if (h < below)
        return exp2f(-8 * (float)(h + 1) / (float)below);
    return exp2f(-4 * (float)(2 * (h - below) + 1) / (float)below);
}

/* The scores of a head for the entries that a row attends to, before they are multiplied by
 * `scale`: the row's own place is number `place` of the n entries. */
struct scored {
    size_t head, place, n;
    float scale;
    float *e; /* [n] */
};

/* Adds to the scores what they change by. */
static void lean_scores(const struct heads_shape *heads, const struct lean *lean,
                        const struct scored *row) {
    if (lean->alibi) {
        float slope = slope_of(heads->count, row->head) / row->scale;
        for (size_t j = 0; j < row->n; j++)
            row->e[j] -= slope * (float)(j > row->place ? j - row->place : row->place - j);
    }
    for (size_t j = 0; lean->biases && j < row->n; j++) {
        bool later = j > row->place;
        size_t apart = later ? j - row->place : row->place - j;
        apart = apart < lean->reach ? apart : lean->reach;
        size_t bucket = lean->buckets[later ? lean->reach + apart : lean->reach - apart];
        row->e[j] += lean->biases[bucket * heads->count + row->head] / row->scale;
    }
}

void heads_look(const struct kernels *kernels, const struct heads_shape *heads,
                const struct gaze *gaze) {
    size_t count = gaze->count;
    float scale = heads->scale, *e = gaze->weights;
    if (gaze->forced) {
        for (size_t h = 0; h < heads->count; h++, e += count)
            memcpy(e, gaze->forced, count * sizeof *e);
        for (size_t j = 0; gaze->scores && j < count; j++)
            gaze->scores[j] = NAN;
    } else {
        kernels->blocks->scores(heads, gaze->query, &gaze->keys, count, e);
        for (size_t h = 0; gaze->lean && h < heads->count; h++, e += count)
            lean_scores(heads, gaze->lean, &(struct scored){h, gaze->position, count, scale, e});
        for (size_t j = 0; gaze->scores && j < count; j++)
            gaze->scores[j] = scale * gaze->weights[gaze->scored * count + j];
        kernels->blocks->weigh(heads->count, count, scale, gaze->weights);
    }
    kernels->blocks->sums(heads, gaze->weights, &gaze->values, count, gaze->context);
}

void heads_look_around(const struct kernels *kernels, const struct heads_shape *heads,
                       const struct mutual *mutual) {
    kernels->blocks->attend(heads, mutual);
}

void heads_lean(const struct heads_shape *heads, const struct lean *lean, size_t n, float *table) {
    size_t distances = 2 * n - 1;
    memset(table, 0, heads->count * distances * sizeof *table);
    for (size_t h = 0; h < heads->count; h++)
        lean_scores(heads, lean, &(struct scored){h, n - 1, distances, 1, table + h * distances});
}
