/* This file hides Hugging Face's folders of T5, T5 v1.1, mT5, UMT5 and MADLAD-400: what config.json
 * may say, the names of tensors, and how spiece.model numbers tokens.
 *
 * The blocks have norms by the root mean square before them and no biases; scores are not divided
 * by the root of a head's size and change by relative positions, whose table the first layer has
 * for all, and in UMT5 each layer for itself. An output layer that is tied to the embedding reads
 * its input times d^-0.5, which the gain of the last norm takes over.
 *
 * MADLAD-400 translates into the language of a piece such as <2fr> before the source, which a
 * request chooses (struct labels in tokenizer.h). */
#include "model/import/conversion.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { MOST_SIZE = 1 << 24, MOST_LAYERS = 64, MOST_WORDS = 1 << 20 };
static const double USUAL_EPSILON = 1e-6;

static const char *const types[] = {"t5", "mt5", "umt5"};

/* feed_forward_proj. The gelu with a gate is the one by tanh, and the one without is exact. */
static const struct {
    const char *name, *activation;
    bool gated;
} filters[] = {{"relu", "relu", false},
               {"gated-gelu", "gelu_tanh", true},
               {"gated-silu", "swish", true},
               {"gated-relu", "relu", true},
               {"gelu", "gelu", false},
               {"gelu_new", "gelu_tanh", false},
               {"gated-gelu_new", "gelu_tanh", true}};
enum { FILTERS = sizeof filters / sizeof *filters };

struct converter {
    struct tensors *tensors;
    size_t size, head, heads, filter, buckets, farthest; /* d; columns of a head; ... */
    size_t layers[2];                                    /* of the encoder and of the decoder */
    const char *activation;
    bool gated, tied, each; /* each: every layer has its own relative positions */
    double epsilon;
    size_t words;
};
enum { ENCODER, DECODER };
static const char *const sides[] = {"encoder", "decoder"};

bool t5_is(const json_t *config) {
    const char *type = json_string_value(json_object_get(config, "model_type"));
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

/* ---- config.json ---- */

/* A key with a number from 1 to most, which is `missing` without the key; 0: the key is needed. */
struct number {
    const char *name;
    size_t most, missing, *out;
};

static int read_number(const json_t *config, const struct number *number, struct arena *arena,
                       struct error *err) {
    const json_t *value = json_object_get(config, number->name);
    if ((!value || json_is_null(value)) && number->missing > 0) {
        *number->out = number->missing;
        return 0;
    }
    if (!json_is_integer(value) || json_integer_value(value) < 1 ||
        json_integer_value(value) > (json_int_t)number->most)
        return error_set(err, ERROR_FORMAT,
                         "config.json: %s must be a number from 1 to %zu, got %s", number->name,
                         number->most, value ? source_json_shown(arena, value) : "nothing");
    *number->out = (size_t)json_integer_value(value);
    return 0;
}

/* A T5 of many tasks translates a text after a sentence that names the task, which no request
 * writes. */
static int refuse_tasks(const json_t *config, struct arena *arena, struct error *err) {
    const char *task;
    json_t *value;
    json_object_foreach(json_object_get(config, "task_specific_params"), task, value) {
        const json_t *prefix = json_object_get(value, "prefix");
        if (source_begins(task, "translation") && json_is_string(prefix))
            return error_set(
                err, ERROR_FORMAT,
                "config.json: the model is a T5 of several tasks, which reads %s before "
                "each text that it is to translate; alignd has no such sentences, and "
                "imports those that translate all that they read, or that choose the "
                "target with a token such as <2fr>, as MADLAD-400 does",
                source_json_shown(arena, prefix));
    }
    return 0;
}

static int read_config(struct converter *c, const json_t *config, struct arena *arena,
                       struct error *err) {
    const json_t *filter = json_object_get(config, "feed_forward_proj"),
                 *tied = json_object_get(config, "tie_word_embeddings"),
                 *start = json_object_get(config, "decoder_start_token_id"),
                 *epsilon = json_object_get(config, "layer_norm_epsilon");
    const char *name = filter ? json_string_value(filter) : "relu";
    bool multilingual =
        strcmp(json_string_value(json_object_get(config, "model_type")), "mt5") == 0;
    const struct number numbers[] = {
        {"d_model", MOST_SIZE, 0, &c->size},
        {"d_kv", MOST_SIZE, 0, &c->head},
        {"num_heads", MOST_SIZE, 0, &c->heads},
        {"d_ff", MOST_SIZE, 0, &c->filter},
        {"num_layers", MOST_LAYERS, 0, &c->layers[ENCODER]},
        {"num_decoder_layers", MOST_LAYERS, SIZE_MAX, &c->layers[DECODER]},
        {"relative_attention_num_buckets", MOST_SIZE, 32, &c->buckets},
        {"relative_attention_max_distance", MOST_SIZE, 128, &c->farthest}};
    if (refuse_tasks(config, arena, err) != 0)
        return -1;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (read_number(config, &numbers[i], arena, err) != 0)
            return -1;
    if (c->layers[DECODER] == SIZE_MAX)
        c->layers[DECODER] = c->layers[ENCODER];
    size_t f = 0;
    while (f < FILTERS && !(name && strcmp(name, filters[f].name) == 0))
        f++;
    if (f == FILTERS)
        return error_set(
            err, ERROR_FORMAT,
            "config.json: feed_forward_proj %s is not supported (supported: relu, gelu, "
            "gated-gelu, gated-silu, gated-relu)",
            source_json_shown(arena, filter));
    if (start && json_integer_value(start) != 0)
        return error_set(err, ERROR_FORMAT, "config.json: decoder_start_token_id must be 0, got %s",
                         source_json_shown(arena, start));
    c->activation = filters[f].activation;
    c->gated = filters[f].gated;
    c->tied = json_is_boolean(tied) ? json_is_true(tied) : !multilingual;
    c->epsilon = json_is_number(epsilon) ? json_number_value(epsilon) : USUAL_EPSILON;
    return 0;
}

/* ---- tensors ---- */

static void matrix(struct converter *c, const char *theirs, const char *ours, size_t outputs,
                   size_t inputs) {
    tensors_copy(
        c->tensors, tensors_named("%s.weight", ours).text,
        tensors_matrix(c->tensors, tensors_named("%s.weight", theirs).text, outputs, inputs),
        outputs, inputs);
}

static void norm(struct converter *c, const char *theirs, const char *ours, float factor) {
    struct made *made =
        tensors_make_vector(c->tensors, tensors_named("%s.norm.gain", ours).text, c->size);
    tensors_patch(c->tensors, made,
                  (struct patch){.from = tensors_vector(
                                     c->tensors, tensors_named("%s.weight", theirs).text, c->size),
                                 .factor = factor,
                                 .rows = 1,
                                 .columns = c->size});
}

static void biases(struct converter *c, const char *attention, const char *ours) {
    struct name theirs = tensors_named("%s.relative_attention_bias.weight", attention);
    tensors_copy(c->tensors, ours, tensors_matrix(c->tensors, theirs.text, c->buckets, c->heads),
                 c->buckets, c->heads)
        ->exact = true;
}

static void heads(struct converter *c, const char *theirs, const char *ours) {
    static const char *const blocks[][2] = {{"q", "query"}, {"k", "key"}, {"v", "value"}};
    size_t width = c->heads * c->head;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        matrix(c, tensors_named("%s.%s", theirs, blocks[i][0]).text,
               tensors_named("%s.%s", ours, blocks[i][1]).text, width, c->size);
    matrix(c, tensors_named("%s.o", theirs).text, tensors_named("%s.output", ours).text, c->size,
           width);
}

static void stack(struct converter *c, size_t side) {
    static const char *const blocks[][3] = {{"self", "SelfAttention"},
                                            {"cross", "EncDecAttention"}};
    for (size_t i = 0; i < c->layers[side] && !c->tensors->failed; i++) {
        struct name theirs = tensors_named("%s.block.%zu.layer", sides[side], i),
                    ours = tensors_named("%s.layers.%zu", sides[side], i), place;
        size_t sublayers = side == DECODER ? 2 : 1;
        for (size_t b = 0; b < sublayers; b++) {
            place = tensors_named("%s.%zu.%s", theirs.text, b, blocks[b][1]);
            heads(c, place.text, tensors_named("%s.%s", ours.text, blocks[b][0]).text);
            norm(c, tensors_named("%s.%zu.layer_norm", theirs.text, b).text,
                 tensors_named("%s.%s", ours.text, blocks[b][0]).text, 1);
            if (b == 0 && c->each)
                biases(c, place.text, tensors_named("%s.self.positions", ours.text).text);
            else if (b == 0 && i == 0)
                biases(c, place.text, tensors_named("%s.positions", sides[side]).text);
            else /* T5 has once had one here that it does not use */
                tensors_drop(c->tensors,
                             tensors_named("%s.relative_attention_bias.weight", place.text).text);
        }
        place = tensors_named("%s.%zu.DenseReluDense", theirs.text, sublayers);
        matrix(c, tensors_named("%s.wi%s", place.text, c->gated ? "_0" : "").text,
               tensors_named("%s.filter.input", ours.text).text, c->filter, c->size);
        if (c->gated)
            matrix(c, tensors_named("%s.wi_1", place.text).text,
                   tensors_named("%s.filter.gate", ours.text).text, c->filter, c->size);
        matrix(c, tensors_named("%s.wo", place.text).text,
               tensors_named("%s.filter.output", ours.text).text, c->size, c->filter);
        norm(c, tensors_named("%s.%zu.layer_norm", theirs.text, sublayers).text,
             tensors_named("%s.filter", ours.text).text, 1);
    }
    float factor = side == DECODER && c->tied ? 1 / sqrtf((float)c->size) : 1;
    norm(c, tensors_named("%s.final_layer_norm", sides[side]).text, sides[side], factor);
}

/* ---- tokens ---- */

/* Rows of the embedding past the pieces of the file are the tokens <extra_id_...>, which no text
 * has, or fill the table up. */
static int tokens(const char *folder, const struct converter *c, struct arena *arena,
                  struct conversion *out, struct error *err) {
    const char *segmenter = source_path_join(arena, folder, "spiece.model");
    struct tokens all = {.path = folder, .count = c->words};
    struct vocabulary file, list, side;
    struct ids ids;
    if (!segmenter)
        return error_memory(err);
    if (c->words > MOST_WORDS)
        return error_set(err, ERROR_FORMAT, "a vocabulary must have at most %d tokens, got %zu",
                         MOST_WORDS, c->words);
    if (!source_exists(segmenter))
        return error_set(err, ERROR_FORMAT, "%s: has no spiece.model", folder);
    if (vocabulary_import(segmenter, 0, arena, &file, err) != 0 ||
        conversion_ids_of(&file, arena, &ids, err) != 0)
        return -1;
    if (ids.size > c->words)
        return error_set(err, ERROR_FORMAT, "spiece.model: has %s pieces, the model %s tokens",
                         source_thousands(arena, ids.size), source_thousands(arena, c->words));
    all.list = arena_zalloc(arena, c->words + 1, sizeof *all.list);
    for (size_t i = 0; all.list && i < ids.size; i++)
        all.list[ids.sorted[i].id] = arena_copy(arena, ids.sorted[i].piece, ids.sorted[i].length);
    for (size_t i = 0, extra = 0; all.list && i < c->words; i++)
        if (!all.list[i])
            all.list[i] = source_say(arena, "<extra_id_%zu>", extra++);
    if (arena_failed(arena))
        return error_memory(err);
    return conversion_tokens_respell(&all, arena, err) == 0 &&
                   vocabulary_of_words("spiece.model", all.list, c->words, arena, &list, err) ==
                       0 &&
                   vocabulary_segmented(segmenter, &list, arena, &side, err) == 0
               ? conversion_tokenizer_files_of(&side, &side, &out->tokenizer, err)
               : -1;
}

/* ---- the configuration ---- */

static json_t *section_of(const struct converter *c, size_t side) {
    return json_pack(
        "{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:b, s:s, s:s, s:s, s:f, s:i, s:i, "
        "s:b, s:b, s:b, s:b}",
        side == ENCODER ? "type" : "style", "transformer", "layers", (int)c->layers[side],
        "embedding", (int)c->size, "hidden", (int)c->size, "heads", (int)c->heads, "head_size",
        (int)c->head, "filter", (int)c->filter, "activation", c->activation, "gated", (int)c->gated,
        "norm", "pre", "norm_type", "rms", "positions", "relative", "epsilon", c->epsilon,
        "relative_buckets", (int)c->buckets, "relative_distance", (int)c->farthest,
        "relative_shared", (int)!c->each, "embedding_scale", 0, "biases", 0, "scaled_scores", 0);
}

int t5_convert(const char *folder, const json_t *config, bool guided, struct arena *arena,
               struct conversion *out, struct error *err) {
    struct converter c = {.tensors = &out->tensors};
    if (read_config(&c, config, arena, err) != 0)
        return -1;
    for (size_t side = ENCODER; side <= DECODER; side++)
        c.each |= tensors_find(c.tensors, tensors_named("%s.block.1.layer.0.SelfAttention."
                                                        "relative_attention_bias.weight",
                                                        sides[side])
                                              .text) != NULL;
    c.words = tensors_copy_words(c.tensors, "", c.size, c.tied);
    stack(&c, ENCODER);
    stack(&c, DECODER);
    tensors_check_left(&out->tensors, "unknown, so config.json does not describe this model");
    if (out->tensors.failed || tokens(folder, &c, arena, out, err) != 0)
        return -1;
    json_t *encoder = section_of(&c, ENCODER), *decoder = section_of(&c, DECODER);
    int failed = json_object_set_new(encoder, "embedding_shared", json_true());
    failed |= json_object_update_new(decoder, json_pack("{s:s, s:s, s:b}", "mixer",
                                                        "self_attention", "first_input", "id_0",
                                                        "alignment_trained", (int)guided));
    failed |= json_object_set_new(out->tokenizer.section, "preparation", json_string("none"));
    failed |= json_object_update_new(
        out->config, json_pack("{s:o, s:o, s:n, s:{s:b}, s:O, s:{s:s}}", "encoder", encoder,
                               "decoder", decoder, "attention", "output", "tied", (int)c.tied,
                               "tokenizer", out->tokenizer.section, "defaults", "finished",
                               "replaced")); /* as in the transformers library and CTranslate2 */
    return failed ? error_memory(err) : 0;
}
