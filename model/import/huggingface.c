#include "model/import/huggingface.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_JSON_BYTES = 1 << 26, MOST_SIZE = 1 << 24, MOST_BEAM = 32 };

/* The values that config.json must have, as JSON; a missing key is equivalent. */
static const struct {
    const char *name, *wanted, *reason;
    bool required;
} fixed[] = {
    {"model_type", "\"marian\"", "only MarianMT models can be converted", true},
    {"normalize_before", "false", "Marian's models have a norm after each block", false},
    {"normalize_embedding", "false", "alignd's embeddings have no norm", false},
    {"add_final_layer_norm", "false", "Marian's models have no norm on top", false},
    {"static_position_embeddings", "true", "Marian's models have sinusoidal positions", false},
};
static const char *const activations[][2] = {{"swish", "swish"}, {"silu", "swish"}, {"relu", "relu"}, {"gelu", "gelu"}};
static const char *const sizes[] = {
    "d_model",         "encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads",
    "encoder_ffn_dim", "decoder_ffn_dim"};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

struct converter {
    struct tensors *tensors;
    const json_t *config;
    size_t size; /* d */
    bool shared; /* source and target have one embedding */
    bool tied;   /* the output layer's matrix is the target's embedding */
};

/* ---- JSON ---- */

/* name: the name in messages. */
static int read_json(const char *folder, const char *name, struct arena *arena, json_t **out, struct error *err) {
    const char *path = path_join(arena, folder, name);
    char *text;
    size_t length;
    json_error_t problem;
    if (!path)
        return error_memory(err);
    if (source_read(path, MOST_JSON_BYTES, arena, &text, &length, err) != 0)
        return -1;
    *out = json_loadb(text, length, 0, &problem);
    return *out ? 0 : error_set(err, ERROR_FORMAT, "%s: line %d: %s", name, problem.line, problem.text);
}

/* The value as a message shows it, in the arena. */
static const char *shown(const json_t *value, struct arena *arena) {
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    const char *copy = arena_copy(arena, text ? text : "nothing", strlen(text ? text : "nothing"));
    free(text);
    return copy ? copy : "";
}

static size_t size_of(const json_t *config, const char *name) {
    return (size_t)json_integer_value(json_object_get(config, name));
}

static const char *activation_of(const json_t *config) {
    const char *name = json_string_value(json_object_get(config, "activation_function"));
    for (size_t i = 0; name && i < ACTIVATIONS; i++)
        if (strcmp(name, activations[i][0]) == 0)
            return activations[i][1];
    return NULL;
}

static int check_config(const json_t *config, struct arena *arena, struct error *err) {
    if (!json_is_object(config))
        return error_set(err, ERROR_FORMAT, "config.json: is not an object");
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        const json_t *value = json_object_get(config, fixed[i].name);
        if ((!value && !fixed[i].required) || (value && strcmp(shown(value, arena), fixed[i].wanted) == 0))
            continue;
        return error_set(err, ERROR_FORMAT, "config.json: %s %s is not supported: %s (supported: %s)", fixed[i].name,
                         shown(value, arena), fixed[i].reason, fixed[i].wanted);
    }
    if (!activation_of(config))
        return error_set(err, ERROR_FORMAT,
                         "config.json: activation_function %s is not supported (supported: swish, silu, relu, gelu)",
                         shown(json_object_get(config, "activation_function"), arena));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const json_t *value = json_object_get(config, sizes[i]);
        if (!json_is_integer(value) || json_integer_value(value) < 1 || json_integer_value(value) > MOST_SIZE)
            return error_set(err, ERROR_FORMAT, "config.json: %s must be a positive number, got %s", sizes[i], shown(value, arena));
    }
    return 0;
}

/* ---- tensors ---- */

static int open_weights(const char *folder, const struct huggingface_options *options, struct arena *arena, struct container *out,
                        struct error *err) {
    const char *mapped = path_join(arena, folder, "model.safetensors"), *pickle = path_join(arena, folder, "pytorch_model.bin");
    if (!mapped || !pickle)
        return error_memory(err);
    if (source_exists(mapped))
        return safetensors_container(mapped, arena, out, err);
    if (source_exists(pickle))
        return pickle_open(pickle, options->work, arena, options->stop, out, err);
    return error_set(err, ERROR_FORMAT, "%s: has neither model.safetensors nor pytorch_model.bin", folder);
}

static void vector(struct converter *c, const char *theirs, const char *ours, size_t size) {
    tensors_copy_vector(c->tensors, ours, tensors_vector(c->tensors, theirs, size), size);
}

static void dense(struct converter *c, const char *theirs, const char *ours, size_t inputs, size_t outputs) {
    tensors_copy(c->tensors, named("%s.weight", ours).text,
                 tensors_matrix(c->tensors, named("%s.weight", theirs).text, outputs, inputs), outputs, inputs);
    vector(c, named("%s.bias", theirs).text, named("%s.bias", ours).text, outputs);
}

static void norm(struct converter *c, const char *theirs, const char *ours) {
    vector(c, named("%s.weight", theirs).text, named("%s.norm.gain", ours).text, c->size);
    vector(c, named("%s.bias", theirs).text, named("%s.norm.shift", ours).text, c->size);
}

static void heads(struct converter *c, const char *theirs, const char *ours) {
    static const char *const blocks[][2] = {{"q_proj", "query"}, {"k_proj", "key"}, {"v_proj", "value"}, {"out_proj", "output"}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        dense(c, named("%s.%s", theirs, blocks[i][0]).text, named("%s.%s", ours, blocks[i][1]).text, c->size, c->size);
    norm(c, named("%s_layer_norm", theirs).text, ours);
}

static void stack(struct converter *c, const char *side) {
    size_t layers = size_of(c->config, named("%s_layers", side).text), filter = size_of(c->config, named("%s_ffn_dim", side).text);
    for (size_t i = 0; i < layers && !c->tensors->failed; i++) {
        struct name theirs = named("model.%s.layers.%zu", side, i), ours = named("%s.layers.%zu", side, i);
        heads(c, named("%s.self_attn", theirs.text).text, named("%s.self", ours.text).text);
        if (strcmp(side, "decoder") == 0)
            heads(c, named("%s.encoder_attn", theirs.text).text, named("%s.cross", ours.text).text);
        dense(c, named("%s.fc1", theirs.text).text, named("%s.filter.input", ours.text).text, c->size, filter);
        dense(c, named("%s.fc2", theirs.text).text, named("%s.filter.output", ours.text).text, filter, c->size);
        norm(c, named("%s.final_layer_norm", theirs.text).text, named("%s.filter", ours.text).text);
    }
}

/* Without the padding token, the last. */
static void table(struct converter *c, const char *theirs, const char *ours, size_t words) {
    tensors_copy(c->tensors, ours, tensors_matrix(c->tensors, theirs, words + 1, c->size), words, c->size);
}

/* source, target: sizes of the vocabularies without the padding token. */
static void words(struct converter *c, size_t source, size_t target) {
    static const char *const encoder = "model.encoder.embed_tokens.weight", *const decoder = "model.decoder.embed_tokens.weight";
    static const char *const one = "model.shared.weight", *const head = "lm_head.weight";
    static const char *const positions[] = {"model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"};
    if (!c->shared)
        table(c, encoder, "encoder.embedding", source);
    table(c, c->shared && tensors_find(c->tensors, one) ? one : decoder, "decoder.embedding", target);
    if (!c->tied)
        table(c, head, "output.weight", target);
    tensors_copy_vector(c->tensors, "output.bias", tensors_vector(c->tensors, "final_logits_bias", target + 1), target);
    tensors_drop(c->tensors, head);
    if (c->shared)
        tensors_drop(c->tensors, encoder), tensors_drop(c->tensors, decoder);
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++)
        tensors_drop(c->tensors, positions[i]);
}

/* ---- words ---- */

struct entry {
    const char *piece;
    json_int_t id;
};

static int by_id(const void *a, const void *b) {
    const struct entry *one = a, *other = b;
    return one->id < other->id ? -1 : one->id > other->id;
}

/* name: of a file of pieces and ids, the last of which is the padding token. size: without it; 0: any, and it is set. */
static int read_pieces(const char *folder, const char *name, size_t *size, struct arena *arena, struct vocabulary *out,
                       const char ***pieces, struct error *err) {
    json_t *root, *value;
    const char *piece;
    if (read_json(folder, name, arena, &root, err) != 0)
        return -1;
    size_t count = json_object_size(root), used = 0, wanted = *size ? *size : count ? count - 1 : 0;
    struct entry *entries = arena_alloc(arena, count, sizeof *entries);
    *pieces = arena_alloc(arena, count + 1, sizeof **pieces);
    bool fits = json_is_object(root) && count == wanted + 1;
    json_object_foreach(root, piece, value) {
        fits = fits && json_is_integer(value);
        if (fits && entries && *pieces)
            entries[used++] = (struct entry){arena_copy(arena, piece, strlen(piece)), json_integer_value(value)};
    }
    json_decref(root);
    if (arena_failed(arena))
        return error_memory(err);
    if (fits)
        qsort(entries, used, sizeof *entries, by_id);
    for (size_t i = 0; fits && i < used; i++) {
        fits = entries[i].id == (json_int_t)i;
        (*pieces)[i] = entries[i].piece;
    }
    if (!fits)
        return error_set(err, ERROR_FORMAT, "%s: must give each of the ids 0 to %zu to one piece", name, wanted);
    if (strcmp((*pieces)[wanted], "<pad>") != 0)
        return error_set(err, ERROR_FORMAT, "%s: the last piece is '%s', not <pad>", name, (*pieces)[wanted]);
    *size = wanted;
    return vocabulary_of_words(name, *pieces, wanted, arena, out, err);
}

static int read_words(const char *folder, const struct converter *c, size_t source, size_t target, struct arena *arena,
                      struct conversion *out, struct error *err) {
    struct vocabulary lists[2], sides[2];
    const char **pieces[2];
    size_t counts[] = {source, target};
    const char *const names[] = {"vocab.json", c->shared ? "vocab.json" : "target_vocab.json"}, *const files[] = {"source.spm",
                                                                                                                  "target.spm"};
    for (size_t side = 0; side < 2; side++) {
        const char *path = path_join(arena, folder, files[side]);
        if (side == 1 && c->shared) {
            lists[1] = lists[0];
            pieces[1] = pieces[0];
        } else if (read_pieces(folder, names[side], &counts[side], arena, &lists[side], &pieces[side], err) != 0) {
            return -1;
        }
        if (!path)
            return error_memory(err);
        if (vocabulary_segmented(path, &lists[side], arena, &sides[side], err) != 0)
            return -1;
    }
    const json_t *eos = json_object_get(c->config, "eos_token_id");
    json_int_t end = eos ? json_integer_value(eos) : 0;
    if ((eos && !json_is_integer(eos)) || end < 0 || (size_t)end >= target || strcmp(pieces[1][end], "</s>") != 0)
        return error_set(err, ERROR_FORMAT, "config.json: eos_token_id %s is not the id of </s> in %s", shown(eos, arena),
                         names[1]);
    return tokenizer_files_of(&sides[0], &sides[1], &out->tokenizer, err);
}

/* ---- the configuration ---- */

static json_t *section_of(const struct converter *c, const char *side) {
    bool scaled = json_is_true(json_object_get(c->config, "scale_embedding"));
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:s, s:b}", strcmp(side, "encoder") == 0 ? "type" : "style",
                     "transformer", "layers", (int)size_of(c->config, named("%s_layers", side).text), "embedding", (int)c->size,
                     "hidden", (int)c->size, "heads", (int)size_of(c->config, named("%s_attention_heads", side).text), "filter",
                     (int)size_of(c->config, named("%s_ffn_dim", side).text), "activation", activation_of(c->config), "norm",
                     "post", "positions", "sinusoidal", "embedding_scale", (int)scaled);
}

/* generation_config.json's, or config.json's: the transformers library's search options, as far as alignd has them. */
static json_t *search_of(const char *folder, const struct converter *c, struct arena *arena) {
    json_t *own = NULL;
    struct error ignored = {0};
    if (read_json(folder, "generation_config.json", arena, &own, &ignored) != 0)
        own = NULL;
    const json_t *beams = json_object_get(own, "num_beams");
    if (!beams)
        beams = json_object_get(c->config, "num_beams");
    json_int_t count = json_is_integer(beams) ? json_integer_value(beams) : 0;
    json_t *search = count > 0 ? json_pack("{s:i}", "beam_size", count < MOST_BEAM ? (int)count : MOST_BEAM) : json_object();
    json_decref(own);
    return search;
}

static int add_sections(const char *folder, const struct converter *c, const struct huggingface_options *options, bool guided,
                        struct arena *arena, struct conversion *out, struct error *err) {
    json_t *encoder = section_of(c, "encoder"), *decoder = section_of(c, "decoder");
    int failed = json_object_set_new(encoder, "embedding_shared", json_boolean(c->shared));
    failed |= json_object_set_new(decoder, "mixer", json_string("self_attention"));
    failed |= json_object_set_new(decoder, "first_input", json_string("zero"));
    failed |= json_object_set_new(decoder, "alignment_trained", json_boolean(guided));
    failed |= json_object_set_new(out->config, "encoder", encoder);
    failed |= json_object_set_new(out->config, "decoder", decoder);
    failed |= json_object_set_new(out->config, "attention", json_null());
    failed |= json_object_set_new(out->config, "output",
                                  json_pack("{s:b, s:b}", "tied", (int)c->tied, "unknowns", (int)options->unknowns));
    failed |= json_object_set_new(out->tokenizer.section, "preparation", json_string(options->preparation));
    failed |= json_object_set(out->config, "tokenizer", out->tokenizer.section);
    failed |= json_object_set_new(out->config, "defaults", search_of(folder, c, arena));
    return failed ? error_memory(err) : 0;
}

int huggingface_convert(const char *folder, const struct huggingface_options *options, struct arena *arena, struct conversion *out,
                        struct error *err) {
    json_t *config = NULL;
    const char *card;
    int result = -1;
    struct converter c = {.tensors = &out->tensors};
    if (read_json(folder, "config.json", arena, &config, err) != 0 || check_config(config, arena, err) != 0 ||
        open_weights(folder, options, arena, &out->container, err) != 0 ||
        tensors_init(&out->tensors, &out->container, arena, err) != 0)
        goto done;
    c.config = config;
    c.size = size_of(config, "d_model");
    c.shared = tensors_find(&out->tensors, "model.shared.weight") ||
               !json_is_false(json_object_get(config, "share_encoder_decoder_embeddings"));
    c.tied = c.shared || !json_is_false(json_object_get(config, "tie_word_embeddings"));
    const struct stored *bias = tensors_find(&out->tensors, "final_logits_bias");
    if (!bias || bias->dims == 0 || bias->shape[bias->dims - 1] < 2) {
        error_set(err, ERROR_FORMAT, "final_logits_bias: %s, expected (1, words)",
                  bias ? import_say(arena, "shape %s", stored_shape(arena, bias->shape, bias->dims)) : "missing from the file");
        goto done;
    }
    size_t target = bias->shape[bias->dims - 1] - 1;
    size_t source = c.shared ? target : tensors_rows(&out->tensors, "model.encoder.embed_tokens.weight") - 1;
    stack(&c, "encoder");
    stack(&c, "decoder");
    words(&c, source, target);
    tensors_check_left(&out->tensors, "unknown, so config.json does not describe this model");
    if (out->tensors.failed || read_words(folder, &c, source, target, arena, out, err) != 0 ||
        origin_card(folder, arena, &card, err) != 0)
        goto done;
    bool guided = options->alignment ? strcmp(options->alignment, "trained") == 0
                                     : origin_guided("", false, &(struct mapping){NULL, 0}, card);
    out->from = options->name;
    if (add_sections(folder, &c, options, guided, arena, out, err) == 0 &&
        origin_find(folder, options->name, false, card, arena, &out->origin, err) == 0)
        result = 0;
done:
    json_decref(config);
    return result;
}
