#include "model/network/attention.h"
#include "model/base/table.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- the scores ---- */

static void load_key(struct attention *a, const char *bias, size_t size, struct weights *weights, struct error *err) {
    a->key_size = size;
    weights_linear(weights, &(struct linear_names){.weight = "attention.key.weight", .bias = bias}, size, a->annotation, &a->key,
                   err);
}

static void load_query(struct attention *a, size_t size, size_t hidden, struct weights *weights, struct error *err) {
    a->query_size = size;
    weights_linear(weights, &(struct linear_names){.weight = "attention.query.weight"}, size, hidden, &a->query, err);
}

/* Luong et al. 2015: e = s . h. The keys are the annotations, or, learned, W h as in the general score. */
static int init_dot(struct attention *a, const struct model_config *config, struct weights *weights, struct error *err) {
    a->key_size = config->decoder.hidden;
    if (config->attention.learned_keys)
        load_key(a, NULL, a->key_size, weights, err);
    else if (a->key_size != a->annotation)
        return error_set(err, ERROR_FORMAT, "attention.score: %s needs annotations (%zu) as large as decoder.hidden (%zu)",
                         a->kind->name, a->annotation, a->key_size);
    return 0;
}

/* Vaswani et al. 2017: e = g s . h, g = 1 / sqrt(A); learned in tf/nmt. */
static int init_scaled_dot(struct attention *a, const struct model_config *config, struct weights *weights, struct error *err) {
    if (init_dot(a, config, weights, err) != 0)
        return -1;
    a->scale = 1 / sqrtf((float)a->key_size);
    if (!config->attention.learned_scale)
        return 0;
    const float *scale = weights_get(weights, "attention.factor", 1, 1, err);
    a->scale = scale ? *scale : 0;
    return 0;
}

/* Luong et al. 2015: e = s^T W h. The keys hold W h. */
static int init_general(struct attention *a, const struct model_config *config, struct weights *weights, struct error *err) {
    load_key(a, NULL, config->decoder.hidden, weights, err);
    return 0;
}

/* The norms of a key and of a query; "gates" treats each as one whole, since it is of one kind. */
static int load_norms(struct attention *a, const struct model_config *config, struct weights *weights, struct error *err) {
    struct norm_names key = {"attention.key.gain", "attention.key.shift", config->attention.size, 0};
    struct norm_names query = {"attention.query.gain", "attention.query.shift", config->attention.size, 0};
    const struct norm_kind *kind = norm_kind_find("attention.normalization", config->attention.normalization, err);
    if (!kind)
        return -1;
    norm_init(&a->key_norm, kind, &key, weights, err);
    norm_init(&a->query_norm, kind, &query, weights, err);
    return 0;
}

/* Bahdanau et al. 2015, A.1.2: e = v . tanh(W s + U h + b). The keys hold U h + b. Where they are normalised, W s and U h + b are,
 * each for itself. With coverage w cov_j enters the tanh, too: Tu et al. 2016, See et al. 2017. */
static int init_additive(struct attention *a, const struct model_config *config, struct weights *weights, struct error *err) {
    size_t size = config->attention.size;
    load_key(a, "attention.key.bias", size, weights, err);
    a->energy = weights_get(weights, "attention.energy", size, 1, err);
    if (config->attention.coverage) {
        a->coverage = weights_get(weights, "attention.coverage", size, 1, err);
        a->reach = config_positions(config);
    }
    load_query(a, size, config->decoder.hidden, weights, err);
    return load_norms(a, config, weights, err);
}

/* Luong et al. 2015: e_j = (W s)_j. There are no keys. */
static int init_location(struct attention *a, const struct model_config *config, struct weights *weights, struct error *err) {
    a->reach = config_positions(config);
    load_query(a, a->reach, config->decoder.hidden, weights, err);
    return 0;
}

static void score_dot(const struct attention *a, const struct view *view) {
    a->kernels->dot(view->query, view->keys, view->length, a->key_size, view->weights);
}

static void score_scaled_dot(const struct attention *a, const struct view *view) {
    score_dot(a, view);
    for (size_t j = 0; j < view->length; j++)
        view->weights[j] *= a->scale;
}

/* Keys and queries hold exp(2x): kernels' additive. */
static void prepare_additive(const struct attention *a, float *x, size_t n) {
    a->kernels->exp_twice(x, n);
}

static void score_additive(const struct attention *a, const struct view *view) {
    if (a->coverage)
        a->kernels->additive_covered(a->energy, view->query, view->keys, &(struct coverage){a->coverage, view->coverage},
                                     view->length, a->key_size, view->weights);
    else
        a->kernels->additive(a->energy, view->query, view->keys, view->length, a->key_size, view->weights);
}

static void score_location(const struct attention *a, const struct view *view) {
    assert(view->first + view->length <= a->query_size);
    memcpy(view->weights, view->query + view->first, view->length * sizeof *view->weights);
}

static const struct attention_kind kinds[] = {
    {"dot", init_dot, NULL, score_dot},
    {"general", init_general, NULL, score_dot},
    {"additive", init_additive, prepare_additive, score_additive},
    {"scaled_dot", init_scaled_dot, NULL, score_scaled_dot},
    {"location", init_location, NULL, score_location},
};

/* ---- the windows ---- */

/* init (NULL: nothing to do) loads parameters. centre gives p_t for a sentence of so many tokens; NULL: there is none.
 * position [H]: the row's W s, where the window has that matrix; overwritten. lean (NULL: none) changes the scores around p_t. */
struct window_kind {
    const char *name;
    void (*init)(struct attention *attention, const struct model_config *config, struct weights *weights, struct error *err);
    float (*centre)(const struct attention *attention, size_t length, size_t step, float *position);
    void (*lean)(const struct attention *attention, float centre, const struct view *view);
};

/* Luong et al. 2015, section 3.2: p_t = t, or the last token once t is past it. */
static float centre_monotonic(const struct attention *a, size_t length, size_t step, float *position) {
    (void)a, (void)position;
    return (float)(step < length ? step : length - 1);
}

static void init_predictive(struct attention *a, const struct model_config *config, struct weights *weights, struct error *err) {
    size_t hidden = config->decoder.hidden;
    a->position_energy = weights_get(weights, "attention.position.energy", hidden, 1, err);
    weights_linear(weights, &(struct linear_names){.weight = "attention.position.weight"}, hidden, hidden, &a->position, err);
}

/* Luong et al. 2015, section 3.2: p_t = T sigmoid(v . tanh(W s)). */
static float centre_predictive(const struct attention *a, size_t length, size_t step, float *position) {
    (void)step;
    float x;
    a->kernels->tanh(position, a->position.out);
    a->kernels->dot(a->position_energy, position, 1, a->position.out, &x);
    return (float)length / (1 + expf(-x));
}

/* The weights are multiplied by a Gaussian around p_t, sigma = half_width / 2, and sum to 1 again: its logarithm is added to the
 * scores. (In the paper they are not normalised again, which shrinks the context by the Gaussian's mean.) */
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

/* The tokens of `length` that are no farther from p_t than half_width: at least one, since p_t is within the sentence. */
static void narrow(const struct attention *a, float centre, size_t length, struct view *view) {
    float first = ceilf(centre - a->half_width), end = floorf(centre + a->half_width) + 1;
    view->first = first > 0 ? (size_t)first : 0;
    view->length = (end < (float)length ? (size_t)end : length) - view->first;
}

/* ---- loading ---- */

static int find_rows(struct attention *a, const struct attention_config *config, struct error *err) {
    a->kind = TABLE_FIND(kinds, "attention.score", config->score, err);
    a->window = TABLE_FIND(windows, "attention.window", config->window, err);
    return a->kind && a->window ? 0 : -1;
}

static int attention_load(struct attention *a, const struct model_config *config, struct weights *weights, struct error *err) {
    if (a->kind->init(a, config, weights, err) != 0)
        return -1;
    if (a->window->init)
        a->window->init(a, config, weights, err);
    if (config->attention.learned_values)
        weights_linear(weights, &(struct linear_names){.weight = "attention.value.weight"}, a->value, a->annotation, &a->values,
                       err);
    a->scratch = a->query_size + a->position.out;
    return weights_failed(weights) ? -1 : 0;
}

int attention_init(struct attention *attention, const struct model_config *config, struct weights *weights,
                   const struct kernels *kernels, struct error *err) {
    *attention = (struct attention){.kernels = kernels,
                                    .annotation = config_annotation_size(config),
                                    .value = config_context_size(config),
                                    .reach = SIZE_MAX,
                                    .source_depth = config->attention.source_depth,
                                    .half_width = (float)config->attention.half_width};
    if (find_rows(attention, &config->attention, err) == 0 && attention_load(attention, config, weights, err) == 0)
        return 0;
    attention_done(attention);
    return -1;
}

void attention_done(struct attention *attention) {
    linear_done(&attention->key);
    linear_done(&attention->query);
    linear_done(&attention->values);
    linear_done(&attention->position);
}

/* ---- one run ---- */

void attention_keys(const struct attention *attention, const float *annotations, size_t tokens, float *keys) {
    if (attention->key.out)
        linear_apply(&attention->key, annotations, attention->annotation, tokens, keys, attention->key_size);
    else
        memcpy(keys, annotations, tokens * attention->key_size * sizeof *keys);
    norm_apply(&attention->key_norm, attention->kernels, tokens, keys, attention->key_size);
    if (attention->kind->prepare)
        attention->kind->prepare(attention, keys, tokens * attention->key_size);
}

/* What row r looks at; centre: p_t, where the window has one. */
static struct view view_of(const struct attention *a, const struct attention_step *step, const struct row *row, size_t r,
                           size_t length, float centre) {
    struct view view = {.length = length};
    if (a->window->centre)
        narrow(a, centre, length, &view);
    else if (a->source_depth && a->source_depth < length)
        view = (struct view){.first = length - a->source_depth, .length = a->source_depth};
    view.query = a->query.out ? step->scratch + r * a->query_size : step->queries.x + r * step->queries.distance;
    view.keys = row->memory->keys + view.first * a->key_size;
    view.values = row->memory->values + view.first * a->value;
    view.weights = row->attention + view.first;
    view.coverage = a->coverage ? row->state + step->coverage + view.first : NULL;
    return view;
}

static size_t reached(const struct attention *a, const struct memory *memory) {
    return memory->length < a->reach ? memory->length : a->reach;
}

/* Given weights, wherever the window stands. */
static void impose(const struct attention *a, const struct attention_step *step, const struct row *row, size_t r) {
    const struct memory *memory = row->memory;
    memcpy(row->attention, row->forced, memory->length * sizeof *row->attention);
    a->kernels->weighted_sum(row->attention, memory->values, memory->length, a->value, step->contexts + r * a->value);
    if (a->coverage)
        a->kernels->add(row->attention, reached(a, memory), row->state + step->coverage);
}

/* positions [R, H]: W s of all rows, where the window has that matrix. */
static void attend(const struct attention *a, const struct attention_step *step, const struct row *row, size_t r,
                   float *positions) {
    size_t length = reached(a, row->memory);
    float centre = a->window->centre ? a->window->centre(a, length, row->step, positions + r * a->position.out) : 0;
    struct view view = view_of(a, step, row, r, length, centre);
    memset(row->attention, 0, row->memory->length * sizeof *view.weights);
    a->kind->score(a, &view);
    if (a->window->lean)
        a->window->lean(a, centre, &view);
    a->kernels->softmax(view.weights, view.length);
    a->kernels->weighted_sum(view.weights, view.values, view.length, a->value, step->contexts + r * a->value);
    if (view.coverage)
        a->kernels->add(view.weights, view.length, view.coverage);
}

void attention_run(const struct attention *attention, const struct row *rows, size_t count, const struct attention_step *step) {
    const struct attention *a = attention;
    float *queries = step->scratch, *positions = step->scratch + count * a->query_size;
    if (a->query.out) {
        linear_apply(&a->query, step->queries.x, step->queries.distance, count, queries, a->query_size);
        norm_apply(&a->query_norm, a->kernels, count, queries, a->query_size);
        if (a->kind->prepare)
            a->kind->prepare(a, queries, count * a->query_size);
    }
    if (a->position.out)
        linear_apply(&a->position, step->queries.x, step->queries.distance, count, positions, a->position.out);
    for (size_t r = 0; r < count; r++) {
        if (rows[r].forced)
            impose(a, step, &rows[r], r);
        else
            attend(a, step, &rows[r], r, positions);
    }
}
