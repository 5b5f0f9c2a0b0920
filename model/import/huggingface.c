/* This file hides Hugging Face's folders of MarianMT, M2M-100, NLLB-200 and mBART-50 (those of T5
 * are in t5.c): what
 * config.json may say, the names of tensors, and how their vocabularies number tokens. They have
 * one structure: config.json and model.safetensors or pytorch_model.bin, in one file or in several
 * that an index names.
 *
 * MarianMT also has vocab.json (and target_vocab.json), source.spm and target.spm. The model
 * becomes the same folder as the Marian model that it was made from: without the padding token,
 * which has no counterpart there, and with Marian's own positions and epsilon, with which it was
 * trained.
 *
 * M2M-100 and NLLB-200 have sentencepiece.bpe.model, and M2M-100 also has vocab.json, which numbers
 * its pieces. The ids of NLLB-200's pieces are those of the file plus one, and follow <s>, <pad>,
 * </s> and <unk>. The tokens of languages come next, in the order of special_tokens_map.json or
 * else tokenizer_config.json, unless the latter gives their ids. The model becomes the same folder
 * as CTranslate2's conversion of it. */
#include "model/import/conversion.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_SIZE = 1 << 24, MOST_BEAM = 32, MOST_PARTS = 256, MOST_TENSORS = 10000 };
enum { MOST_SPECIAL = 4096, MOST_WORDS = 1 << 20 };
/* The first position of M2M-100 and of mBART, after the one of the padding token. */
enum { MANY_OFFSET = 2 };

/* many: M2M-100, NLLB-200 and mBART-50, whose tokens choose languages. learned: mBART's positions
 * are tables, and its embeddings have a norm. */
static const struct architecture {
    const char *type;
    bool many, learned;
} families[] = {{"marian", false, false}, {"m2m_100", true, false}, {"mbart", true, true}};
enum { MARIAN, M2M100, MBART, FAMILIES };

/* Common types of models that cannot be converted, and the parts that alignd lacks for them. */
static const struct {
    const char *type, *reason;
} unsupported[] = {
    {"bart", "BART's vocabulary is one of bytes, which alignd does not read"},
    {"fsmt",
     "its original is fairseq's, of which CTranslate2's ct2-fairseq-converter makes a folder "
     "that alignd imports"},
    {"nllb-moe", "NLLB-MoE has feed-forward layers of experts, which alignd does not"},
};

/* The values that config.json must have, as JSON, if it has the key. */
static const struct {
    size_t family;
    const char *name, *wanted, *reason;
} fixed[] = {
    {MARIAN, "normalize_before", "false", "Marian's models have a norm after each block"},
    {MARIAN, "normalize_embedding", "false", "Marian's embeddings have no norm"},
    {MARIAN, "add_final_layer_norm", "false", "Marian's models have no norm on top"},
    {MARIAN, "static_position_embeddings", "true", "Marian's models have sinusoidal positions"},
    {M2M100, "normalize_before", "true", "such models have a norm before each block"},
    {M2M100, "normalize_embedding", "false", "such models' embeddings have no norm"},
    {MBART, "normalize_before", "true", "mBART has a norm before each block"},
    {MBART, "normalize_embedding", "true", "mBART's embeddings have a norm"},
    {MBART, "add_final_layer_norm", "true", "mBART has a norm on top"},
    {MBART, "static_position_embeddings", "false", "mBART's positions are learned"},
};
static const char *const activations[][2] = {
    {"swish", "swish"}, {"silu", "swish"}, {"relu", "relu"}, {"gelu", "gelu"}};
static const char *const sizes[] = {"d_model",
                                    "encoder_layers",
                                    "decoder_layers",
                                    "encoder_attention_heads",
                                    "decoder_attention_heads",
                                    "encoder_ffn_dim",
                                    "decoder_ffn_dim"};
enum { ACTIVATIONS = sizeof activations / sizeof *activations };

struct converter {
    const char *folder;
    struct tensors *tensors;
    const json_t *config;
    size_t size; /* d */
    const struct architecture *family;
    bool shared; /* source and target have one embedding */
    bool tied;   /* the output layer's matrix is the target's embedding */
};

/* ---- JSON ---- */

/* Reads a JSON file of the folder. name: also its name in messages. */
static int read_json(const char *folder, const char *name, struct arena *arena, json_t **out,
                     struct error *err) {
    return source_json(source_path_join(arena, folder, name), name, arena, out, err);
}

/* Returns the value as a message shows it, in the arena. */
static const char *shown(const json_t *value, struct arena *arena) {
    return value ? source_json_shown(arena, value) : "nothing";
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

static int check_config(const json_t *config, const struct architecture **family,
                        struct arena *arena, struct error *err) {
    if (!json_is_object(config))
        return error_set(err, ERROR_FORMAT, "config.json: is not an object");
    const json_t *kind = json_object_get(config, "model_type");
    const char *type = json_string_value(kind);
    size_t own = 0;
    while (own < FAMILIES && !(type && strcmp(type, families[own].type) == 0))
        own++;
    for (size_t i = 0; type && i < sizeof unsupported / sizeof *unsupported; i++)
        if (strcmp(type, unsupported[i].type) == 0)
            return error_set(err, ERROR_FORMAT, "config.json: model_type %s is not supported: %s",
                             shown(kind, arena), unsupported[i].reason);
    if (own == FAMILIES)
        return error_set(
            err, ERROR_FORMAT,
            "config.json: model_type %s is not supported (supported: \"marian\", "
            "\"mbart\", \"t5\", \"mt5\", \"umt5\", and \"m2m_100\", as NLLB-200 has it)",
            shown(kind, arena));
    *family = &families[own];
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        const json_t *value = json_object_get(config, fixed[i].name);
        if (value && fixed[i].family == own && strcmp(shown(value, arena), fixed[i].wanted) != 0)
            return error_set(err, ERROR_FORMAT,
                             "config.json: %s %s is not supported: %s (supported: %s)",
                             fixed[i].name, shown(value, arena), fixed[i].reason, fixed[i].wanted);
    }
    if (!activation_of(config))
        return error_set(err, ERROR_FORMAT,
                         "config.json: activation_function %s is not supported (supported: swish, "
                         "silu, relu, gelu)",
                         shown(json_object_get(config, "activation_function"), arena));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const json_t *value = json_object_get(config, sizes[i]);
        if (!json_is_integer(value) || json_integer_value(value) < 1 ||
            json_integer_value(value) > MOST_SIZE)
            return error_set(err, ERROR_FORMAT, "config.json: %s must be a positive number, got %s",
                             sizes[i], shown(value, arena));
    }
    return 0;
}

/* ---- tensors ---- */

static int open_file(const char *folder, const char *name,
                     const struct transformer_options *options, struct arena *arena,
                     struct container *out, struct error *err) {
    const char *path = source_path_join(arena, folder, name);
    return source_ends(name, ".safetensors")
               ? tensors_open_safetensors(path, arena, out, err)
               : tensors_open_pickle(path, options->work, arena, options->stop, out, err);
}

/* Opens a model in several files, whose index has weight_map, from tensors to files of the folder.
 */
static int open_parts(const char *folder, const char *index,
                      const struct transformer_options *options, struct arena *arena,
                      struct container *out, struct error *err) {
    json_t *root, *place;
    const char *name, *files[MOST_PARTS];
    size_t count = 0;
    if (read_json(folder, index, arena, &root, err) != 0)
        return -1;
    const json_t *map = json_object_get(root, "weight_map");
    int result =
        json_is_object(map) ? 0 : error_set(err, ERROR_FORMAT, "%s: has no weight_map", index);
    if (json_object_size(map) > MOST_TENSORS)
        result =
            error_set(err, ERROR_FORMAT, "%s: names more than %d tensors", index, MOST_TENSORS);
    json_object_foreach((json_t *)(uintptr_t)map, name, place) {
        const char *file = json_string_value(place);
        size_t i = 0;
        if (result == 0 && (!file || !*file || *file == '.' || strchr(file, '/')))
            result = error_set(err, ERROR_FORMAT,
                               "%s: weight_map: %s: must be the name of a file in the folder",
                               index, name);
        while (result == 0 && i < count && strcmp(files[i], file) != 0)
            i++;
        if (result == 0 && i == count && count == MOST_PARTS)
            result =
                error_set(err, ERROR_FORMAT, "%s: names more than %d files", index, MOST_PARTS);
        if (result == 0 && i == count)
            files[count++] = file;
    }
    struct container whole = {.file = -1,
                              .parts = arena_zalloc(arena, count, sizeof *whole.parts),
                              .entries =
                                  arena_alloc(arena, json_object_size(map), sizeof *whole.entries)};
    if (result == 0 && arena_failed(arena))
        result = error_memory(err);

    /* Takes from each file the tensors that the index assigns to it. */
    for (size_t f = 0; result == 0 && f < count; f++) {
        struct container *part = &whole.parts[f];
        result = open_file(folder, files[f], options, arena, part, err);
        whole.part_count += result == 0;
        for (size_t i = 0; result == 0 && i < part->count; i++) {
            const char *file = json_string_value(json_object_get(map, part->entries[i].name));
            if (file && strcmp(file, files[f]) == 0)
                whole.entries[whole.count++] = part->entries[i];
        }
    }
    json_object_foreach((json_t *)(uintptr_t)map, name, place) {
        if (result == 0 && !tensors_find_stored(&whole, name))
            result = error_set(err, ERROR_FORMAT, "%s: %s is not in %s", index, name,
                               json_string_value(place));
    }
    json_decref(root);
    return tensors_finish(&whole, result, out);
}

static int open_weights(const char *folder, const struct transformer_options *options,
                        struct arena *arena, struct container *out, struct error *err) {
    static const char *const files[] = {"model.safetensors", "model.safetensors.index.json",
                                        "pytorch_model.bin", "pytorch_model.bin.index.json"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (source_exists(source_path_join(arena, folder, files[i])))
            return (source_ends(files[i], ".json") ? open_parts : open_file)(
                folder, files[i], options, arena, out, err);
    return error_set(err, ERROR_FORMAT, "%s: has neither model.safetensors nor pytorch_model.bin",
                     folder);
}

static void vector(struct converter *c, const char *theirs, const char *ours, size_t size) {
    tensors_copy_vector(c->tensors, ours, tensors_vector(c->tensors, theirs, size), size);
}

static void dense(struct converter *c, const char *theirs, const char *ours, size_t inputs,
                  size_t outputs) {
    tensors_copy(
        c->tensors, tensors_named("%s.weight", ours).text,
        tensors_matrix(c->tensors, tensors_named("%s.weight", theirs).text, outputs, inputs),
        outputs, inputs);
    vector(c, tensors_named("%s.bias", theirs).text, tensors_named("%s.bias", ours).text, outputs);
}

static void norm(struct converter *c, const char *theirs, const char *ours) {
    vector(c, tensors_named("%s.weight", theirs).text, tensors_named("%s.norm.gain", ours).text,
           c->size);
    vector(c, tensors_named("%s.bias", theirs).text, tensors_named("%s.norm.shift", ours).text,
           c->size);
}

static void heads(struct converter *c, const char *theirs, const char *ours) {
    static const char *const blocks[][2] = {
        {"q_proj", "query"}, {"k_proj", "key"}, {"v_proj", "value"}, {"out_proj", "output"}};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        dense(c, tensors_named("%s.%s", theirs, blocks[i][0]).text,
              tensors_named("%s.%s", ours, blocks[i][1]).text, c->size, c->size);
    norm(c, tensors_named("%s_layer_norm", theirs).text, ours);
}

static void stack(struct converter *c, const char *side) {
    size_t layers = size_of(c->config, tensors_named("%s_layers", side).text),
           filter = size_of(c->config, tensors_named("%s_ffn_dim", side).text);
    for (size_t i = 0; i < layers && !c->tensors->failed; i++) {
        struct name theirs = tensors_named("model.%s.layers.%zu", side, i),
                    ours = tensors_named("%s.layers.%zu", side, i);
        heads(c, tensors_named("%s.self_attn", theirs.text).text,
              tensors_named("%s.self", ours.text).text);
        if (strcmp(side, "decoder") == 0)
            heads(c, tensors_named("%s.encoder_attn", theirs.text).text,
                  tensors_named("%s.cross", ours.text).text);
        dense(c, tensors_named("%s.fc1", theirs.text).text,
              tensors_named("%s.filter.input", ours.text).text, c->size, filter);
        dense(c, tensors_named("%s.fc2", theirs.text).text,
              tensors_named("%s.filter.output", ours.text).text, filter, c->size);
        norm(c, tensors_named("%s.final_layer_norm", theirs.text).text,
             tensors_named("%s.filter", ours.text).text);
    }
    if (c->family->many)
        norm(c, tensors_named("model.%s.layer_norm", side).text, side);
    if (c->family->learned) {
        struct name positions = tensors_named("model.%s.embed_positions.weight", side);
        size_t rows = tensors_rows(c->tensors, positions.text);
        norm(c, tensors_named("model.%s.layernorm_embedding", side).text,
             tensors_named("%s.embedding", side).text);
        tensors_copy(c->tensors, tensors_named("%s.positions", side).text,
                     tensors_matrix(c->tensors, positions.text, rows, c->size), rows, c->size)
            ->exact = true;
    }
}

/* Copies a table without its last row, the padding token's. */
static void table(struct converter *c, const char *theirs, const char *ours, size_t words) {
    tensors_copy(c->tensors, ours, tensors_matrix(c->tensors, theirs, words + 1, c->size), words,
                 c->size);
}

/* Sets the sizes of the vocabularies without the padding token, and plans their tensors. */
static int words(struct converter *c, size_t *source, size_t *target, struct error *err) {
    static const char encoder[] = "model.encoder.embed_tokens.weight",
                      decoder[] = "model.decoder.embed_tokens.weight";
    static const char one[] = "model.shared.weight", head[] = "lm_head.weight";
    struct tensors *t = c->tensors;
    c->shared = tensors_find(t, one) ||
                !json_is_false(json_object_get(c->config, "share_encoder_decoder_embeddings"));
    c->tied = c->shared || !json_is_false(json_object_get(c->config, "tie_word_embeddings"));
    const struct stored_tensor *bias = tensors_find(t, "final_logits_bias");
    if (!bias || bias->dims == 0 || bias->shape[bias->dims - 1] < 2)
        return error_set(err, ERROR_FORMAT, "final_logits_bias: %s, expected (1, words)",
                         bias ? source_say(t->arena, "shape %s",
                                           tensors_shape(t->arena, bias->shape, bias->dims))
                              : "missing from the file");
    *target = bias->shape[bias->dims - 1] - 1;
    *source = c->shared ? *target : tensors_rows(t, encoder) - 1;

    if (!c->shared)
        table(c, encoder, "encoder.embedding", *source);
    table(c, c->shared && tensors_find(t, one) ? one : decoder, "decoder.embedding", *target);
    if (!c->tied)
        table(c, head, "output.weight", *target);
    tensors_copy_vector(t, "output.bias", tensors_vector(t, "final_logits_bias", *target + 1),
                        *target);
    tensors_drop(t, head);
    if (c->shared) {
        tensors_drop(t, encoder);
        tensors_drop(t, decoder);
    }
    tensors_drop(t, "model.encoder.embed_positions.weight");
    tensors_drop(t, "model.decoder.embed_positions.weight");
    return 0;
}

/* Plans the same tensors for M2M-100, NLLB-200 and mBART-50. Returns the size of the vocabulary. */
static size_t many_words(struct converter *c) {
    struct tensors *t = c->tensors;
    if (!c->family->learned) { /* what older files have is computed */
        tensors_drop(t, "model.encoder.embed_positions.weights");
        tensors_drop(t, "model.decoder.embed_positions.weights");
    }
    return tensors_copy_words(t, "model.", c->size, c->tied);
}

/* ---- words ---- */

/* Reads both sides' files of pieces and ids, the last of which is the padding token. counts: sizes
 * without that token, the source's first. */
static int read_words(const struct converter *c, const size_t counts[2], struct arena *arena,
                      struct conversion *out, struct error *err) {
    struct vocabulary lists[2], sides[2];
    const char *folder = c->folder, **pieces = NULL, *piece;
    const char *const names[] = {"vocab.json", c->shared ? "vocab.json" : "target_vocab.json"};
    static const char *const files[] = {"source.spm", "target.spm"};
    for (size_t side = 0; side < 2; side++) {
        const char *path = source_path_join(arena, folder, files[side]);
        json_t *root, *value;
        if (side == 1 && c->shared) {
            lists[1] = lists[0];
        } else {
            if (read_json(folder, names[side], arena, &root, err) != 0)
                return -1;
            size_t count = json_object_size(root), size = counts[side];
            if (size == 0) /* any */
                size = count ? count - 1 : 0;
            pieces = arena_zalloc(arena, count + 1, sizeof *pieces);
            bool fits = json_is_object(root) && count == size + 1;
            json_object_foreach(root, piece, value) {
                json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
                fits = fits && pieces && id >= 0 && (size_t)id <= size && !pieces[id];
                if (fits)
                    pieces[id] = arena_copy(arena, piece, strlen(piece));
            }
            json_decref(root);
            if (arena_failed(arena))
                return error_memory(err);
            if (!fits)
                return error_set(err, ERROR_FORMAT,
                                 "%s: must give each of the ids 0 to %zu to one piece", names[side],
                                 size);
            if (strcmp(pieces[size], "<pad>") != 0)
                return error_set(err, ERROR_FORMAT, "%s: the last piece is '%s', not <pad>",
                                 names[side], pieces[size]);
            if (vocabulary_of_words(names[side], pieces, size, arena, &lists[side], err) != 0)
                return -1;
        }
        if (vocabulary_segmented(path, &lists[side], arena, &sides[side], err) != 0)
            return -1;
    }
    const json_t *eos = json_object_get(c->config, "eos_token_id");
    json_int_t end = eos ? json_integer_value(eos) : 0;
    if ((eos && !json_is_integer(eos)) || end < 0 || (size_t)end >= counts[1] ||
        strcmp(pieces[end], "</s>") != 0)
        return error_set(err, ERROR_FORMAT,
                         "config.json: eos_token_id %s is not the id of </s> in %s",
                         shown(eos, arena), names[1]);
    return conversion_tokenizer_files_of(&sides[0], &sides[1], &out->tokenizer, err);
}

/* ---- the tokens of M2M-100, NLLB-200 and mBART-50 ---- */

/* The tokens so far; NULL stands for an id that no file has named yet. */
struct numbered {
    struct tokens tokens;
    size_t next; /* the next id for tokens that a list names in order */
};

static int place(struct numbered *numbered, json_int_t id, const char *token, const char *file,
                 struct arena *arena, struct error *err) {
    if (id < 0 || (size_t)id >= numbered->tokens.count)
        return error_set(err, ERROR_FORMAT, "%s: %s has the id %lld, but the model has %s tokens",
                         file, token, (long long)id,
                         source_thousands(arena, numbered->tokens.count));
    const char **slot = &numbered->tokens.list[id];
    if (*slot && strcmp(*slot, token) != 0)
        return error_set(err, ERROR_FORMAT, "%s: %s has the id %lld, and so has %s", file, token,
                         (long long)id, *slot);
    if (!(*slot = arena_copy(arena, token, strlen(token))))
        return error_memory(err);
    return 0;
}

/* Adds M2M-100's pieces with their ids in vocab.json. */
static int place_listed(struct numbered *numbered, const char *folder, struct arena *arena,
                        struct error *err) {
    json_t *root, *id;
    const char *token;
    if (read_json(folder, "vocab.json", arena, &root, err) != 0)
        return -1;
    int result =
        json_is_object(root) ? 0 : error_set(err, ERROR_FORMAT, "vocab.json: is not an object");
    json_object_foreach(root, token, id) {
        if (result == 0 && !json_is_integer(id))
            result =
                error_set(err, ERROR_FORMAT, "vocab.json: the id of '%s' is not a number", token);
        if (result == 0)
            result = place(numbered, json_integer_value(id), token, "vocab.json", arena, err);
    }
    numbered->next = json_object_size(root);
    json_decref(root);
    return result;
}

/* Adds the pieces of NLLB-200 or mBART-50, whose ids are those of the file plus one, after four
 * special tokens, which replace the file's first three. */
static int place_shifted(struct numbered *numbered, const char *path, struct arena *arena,
                         struct error *err) {
    static const char *const first[] = {"<s>", "<pad>", "</s>", "<unk>"};
    enum { SPECIAL = 3, FIRST = sizeof first / sizeof *first };
    struct vocabulary file;
    struct ids ids;
    if (vocabulary_import(path, 0, arena, &file, err) != 0 ||
        conversion_ids_of(&file, arena, &ids, err) != 0)
        return -1;
    for (size_t i = 0; i < FIRST; i++)
        if (place(numbered, (json_int_t)i, first[i], source_name(path), arena, err) != 0)
            return -1;
    for (size_t i = 0; i < ids.size; i++) {
        const char *piece = arena_copy(arena, ids.sorted[i].piece, ids.sorted[i].length);
        if (!piece)
            return error_memory(err);
        if (ids.sorted[i].id >= SPECIAL &&
            place(numbered, ids.sorted[i].id + 1, piece, source_name(path), arena, err) != 0)
            return -1;
    }
    numbered->next = ids.size + 1;
    return 0;
}

/* Returns the text of a special token, which is a string or an object. */
static const char *content_of(const json_t *token) {
    return json_string_value(json_is_object(token) ? json_object_get(token, "content") : token);
}

/* Adds the languages: tokenizer_config.json's added_tokens_decoder gives ids, and lists of
 * additional tokens are in order. mask: adds <mask> next if the files do not name it. */
static int place_special(struct numbered *numbered, const char *folder, bool mask,
                         struct arena *arena, struct error *err) {
    static const char *const files[] = {"tokenizer_config.json", "special_tokens_map.json"};
    json_t *roots[2] = {NULL, NULL}, *value;
    const char *id;
    size_t i;
    int result = 0;
    for (size_t f = 0; f < 2 && result == 0; f++) {
        const char *path = source_path_join(arena, folder, files[f]);
        if (source_exists(path))
            result = read_json(folder, files[f], arena, &roots[f], err);
    }
    json_object_foreach(json_object_get(roots[0], "added_tokens_decoder"), id, value) {
        const char *token = content_of(value);
        char *end;
        long long number = strtoll(id, &end, 10);
        if (result == 0 && (!token || *end || end == id))
            result = error_set(err, ERROR_FORMAT,
                               "%s: added_tokens_decoder: '%.60s' must be an id with its content",
                               files[0], id);
        if (result == 0)
            result = place(numbered, number, token, files[0], arena, err);
    }
    const json_t *listed = json_object_get(roots[1], "additional_special_tokens");
    size_t from = listed ? 1 : 0;
    if (!listed)
        listed = json_object_get(roots[0], "additional_special_tokens");
    if (result == 0 && json_array_size(listed) > MOST_SPECIAL)
        result = error_set(err, ERROR_FORMAT, "%s: additional_special_tokens: has more than %d",
                           files[from], MOST_SPECIAL);
    json_array_foreach((json_t *)(uintptr_t)listed, i, value) {
        if (result != 0)
            break;
        const char *token = content_of(value);
        bool there = false;
        for (size_t k = numbered->next;
             token && k < numbered->tokens.count && numbered->tokens.list[k] && !there; k++)
            there = strcmp(numbered->tokens.list[k], token) == 0;
        if (!token)
            result = error_set(err, ERROR_FORMAT,
                               "%s: additional_special_tokens: element %zu is not a token",
                               files[from], i);
        while (numbered->next < numbered->tokens.count && numbered->tokens.list[numbered->next] &&
               !there)
            numbered->next++;
        if (result == 0 && !there)
            result = place(numbered, (json_int_t)numbered->next, token, files[from], arena, err);
    }
    while (numbered->next < numbered->tokens.count && numbered->tokens.list[numbered->next])
        numbered->next++;
    for (size_t k = 0; mask && k < numbered->tokens.count; k++)
        mask = !numbered->tokens.list[k] || strcmp(numbered->tokens.list[k], "<mask>") != 0;
    if (result == 0 && mask && numbered->next < numbered->tokens.count)
        result = place(numbered, (json_int_t)numbered->next, "<mask>", files[0], arena, err);
    json_decref(roots[0]);
    json_decref(roots[1]);
    return result;
}

static int many_tokens(const char *folder, const struct converter *c, size_t size,
                       struct arena *arena, struct conversion *out, struct error *err) {
    struct numbered numbered = {.tokens = {.path = folder, .count = size}};
    struct vocabulary list, side;
    json_t *languages;
    const char *segmenter = source_path_join(arena, folder, "sentencepiece.bpe.model"),
               *vocab = source_path_join(arena, folder, "vocab.json");
    if (!segmenter || !vocab)
        return error_memory(err);
    if (size > MOST_WORDS)
        return error_set(err, ERROR_FORMAT, "a vocabulary must have at most %d tokens, got %zu",
                         MOST_WORDS, size);
    if (!source_exists(segmenter))
        return error_set(err, ERROR_FORMAT, "%s: has no sentencepiece.bpe.model", folder);
    numbered.tokens.list = arena_zalloc(arena, size + 1, sizeof *numbered.tokens.list);
    if (!numbered.tokens.list)
        return error_memory(err);
    bool listed = source_exists(vocab);
    if ((listed ? place_listed(&numbered, folder, arena, err)
                : place_shifted(&numbered, segmenter, arena, err)) != 0 ||
        place_special(&numbered, folder, !listed, arena, err) != 0)
        return -1;
    for (size_t i = 0, unnamed = 0; i < size;
         i++) /* the names that CTranslate2's converter gives them */
        if (!numbered.tokens.list[i])
            numbered.tokens.list[i] = source_say(arena, "madeupword%zu", unnamed++);
    const json_t *start = json_object_get(c->config, "decoder_start_token_id");
    json_int_t end = start ? json_integer_value(start) : 2;
    if ((start && !json_is_integer(start)) || end < 0 || (size_t)end >= size ||
        strcmp(numbered.tokens.list[end], "</s>") != 0)
        return error_set(err, ERROR_FORMAT,
                         "config.json: decoder_start_token_id %s is not the id of </s>",
                         shown(start, arena));
    if (conversion_tokens_respell(&numbered.tokens, arena, err) != 0 ||
        conversion_tokens_check_pieces(&numbered.tokens, segmenter, arena, err) != 0 ||
        vocabulary_of_words(listed ? "vocab.json" : source_name(segmenter), numbered.tokens.list,
                            size, arena, &list, err) != 0 ||
        vocabulary_segmented(segmenter, &list, arena, &side, err) != 0 ||
        conversion_tokens_languages(&numbered.tokens, &numbered.tokens, arena, &languages, err) !=
            0)
        return -1;
    if (!languages)
        return error_set(err, ERROR_FORMAT,
                         "tokenizer_config.json and special_tokens_map.json name no tokens of "
                         "languages, such as __fr__, fra_Latn or fr_XX");
    return conversion_add_languages(out, languages, &numbered.tokens, arena, err) == 0
               ? conversion_tokenizer_files_of(&side, &side, &out->tokenizer, err)
               : -1;
}

/* ---- the configuration ---- */

static json_t *section_of(const struct converter *c, const char *side) {
    bool scaled = json_is_true(json_object_get(c->config, "scale_embedding"));
    json_t *section =
        json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:s, s:b, s:b}",
                  strcmp(side, "encoder") == 0 ? "type" : "style", "transformer", "layers",
                  (int)size_of(c->config, tensors_named("%s_layers", side).text), "embedding",
                  (int)c->size, "hidden", (int)c->size, "heads",
                  (int)size_of(c->config, tensors_named("%s_attention_heads", side).text), "filter",
                  (int)size_of(c->config, tensors_named("%s_ffn_dim", side).text), "activation",
                  activation_of(c->config), "norm", c->family->many ? "pre" : "post", "positions",
                  c->family->learned ? "stored" : "sinusoidal", "embedding_scale", (int)scaled,
                  "embedding_norm", (int)c->family->learned);
    if (c->family->many &&
        (json_object_set_new(section, "position_offset", json_integer(MANY_OFFSET)) |
         json_object_set_new(section, "epsilon", json_real(1e-5))) != 0) {
        json_decref(section);
        return NULL;
    }
    return section;
}

/* Adds the sections. Of the transformers library's search options, in generation_config.json or
 * config.json, only num_beams becomes a default. */
static int add_sections(const struct converter *c, const struct transformer_options *options,
                        bool guided, struct arena *arena, struct conversion *out,
                        struct error *err) {
    json_t *encoder = section_of(c, "encoder"), *decoder = section_of(c, "decoder"),
           *generation = NULL;
    struct error ignored = {0};
    if (read_json(c->folder, "generation_config.json", arena, &generation, &ignored) != 0)
        generation = NULL;
    const json_t *beams = json_object_get(generation, "num_beams");
    if (!beams)
        beams = json_object_get(c->config, "num_beams");
    json_int_t count = json_is_integer(beams) ? json_integer_value(beams) : 0;
    json_t *defaults =
        count > 0 ? json_pack("{s:i}", "beam_size", count < MOST_BEAM ? (int)count : MOST_BEAM)
                  : json_object();
    json_decref(generation);

    const char *preparation = options->preparation ? options->preparation
                              : c->family->many    ? "none"
                                                   : "opus";
    int failed = json_object_set_new(encoder, "embedding_shared", json_boolean(c->shared));
    failed |= json_object_update_new(
        decoder, json_pack("{s:s, s:s, s:b}", "mixer", "self_attention", "first_input",
                           c->family->many ? "eos" : "zero", "alignment_trained", (int)guided));
    if (c->family->many) /* as in the transformers library and in CTranslate2 */
        failed |= json_object_set_new(defaults, "finished", json_string("replaced"));
    failed |= json_object_set_new(out->tokenizer.section, "preparation", json_string(preparation));
    failed |= json_object_update_new(
        out->config, json_pack("{s:o, s:o, s:n, s:{s:b, s:b}, s:O, s:o}", "encoder", encoder,
                               "decoder", decoder, "attention", "output", "tied", (int)c->tied,
                               "unknowns", (int)(options->unknowns || c->family->many), "tokenizer",
                               out->tokenizer.section, "defaults", defaults));
    return failed ? error_memory(err) : 0;
}

/* Fills in the container, the tensors, the tokenizer and the origin, and adds sections to the
 * configuration. Messages begin with the name of a file in the folder or of a tensor. */
static int convert_folder(const char *folder, const struct transformer_options *options,
                          struct arena *arena, struct conversion *out, struct error *err) {
    json_t *config = NULL;
    const char *card;
    int result = -1;
    struct converter c = {.folder = folder, .tensors = &out->tensors};
    if (read_json(folder, "config.json", arena, &config, err) != 0)
        return -1;
    bool t5 = t5_is(config);
    if ((!t5 && check_config(config, &c.family, arena, err) != 0) ||
        open_weights(folder, options, arena, &out->container, err) != 0 ||
        tensors_init(&out->tensors, &out->container, arena, err) != 0 ||
        conversion_origin_card(folder, arena, &card, err) != 0 ||
        conversion_origin_find(&(struct origin_clues){folder, options->name, false, card}, arena,
                               &out->origin, err) != 0)
        goto done;
    bool guided = options->alignment ? strcmp(options->alignment, "trained") == 0
                                     : conversion_origin_guided("", false, NULL, card);
    out->from = options->name;
    if (t5) {
        result = t5_convert(folder, config, guided, arena, out, err);
        goto done;
    }
    c.config = config;
    c.size = size_of(config, "d_model");
    size_t source = 0, target = 0;
    if (c.family->many) {
        c.shared = true;
        c.tied = !json_is_false(json_object_get(config, "tie_word_embeddings"));
        source = target = many_words(&c);
    } else if (words(&c, &source, &target, err) != 0) {
        goto done;
    }
    stack(&c, "encoder");
    stack(&c, "decoder");
    tensors_check_left(&out->tensors, "unknown, so config.json does not describe this model");
    if (out->tensors.failed ||
        (c.family->many ? many_tokens(folder, &c, target, arena, out, err)
                        : read_words(&c, (const size_t[]){source, target}, arena, out, err)) != 0)
        goto done;
    result = add_sections(&c, options, guided, arena, out, err);
done:
    json_decref(config);
    return result;
}

static bool is_folder(struct import *import) {
    const char *folder;
    return import->options->path_count == 1 &&
           parts_huggingface(import->paths[0], &import->arena, &folder);
}

static int convert(struct import *import, struct error *err) {
    const struct import_options *o = import->options;
    const char *source = NULL, *target = NULL, *shown = source_name(import->shown), *folder;
    if (!parts_huggingface(import->paths[0], &import->arena, &folder))
        return error_memory(err);
    char *real =
        strcmp(folder, ".") == 0 || strcmp(shown, "..") == 0 ? realpath(folder, NULL) : NULL;
    if (real)
        shown = arena_copy(&import->arena, source_name(real), strlen(source_name(real)));
    free(real);
    if (import->inner)
        shown = import->inner;
    else if (!source_is_folder(import->shown) &&
             strcmp(folder, import->paths[0]) != 0) /* a file in it was named */
        shown = source_name(folder);
    if (!shown)
        return error_memory(err);
    conversion_origin_languages(conversion_stem(shown, &import->arena), &import->arena, &source,
                                &target);
    const struct transformer_options options = {.name = shown,
                                                .work = import->work,
                                                .preparation = o->preparation,
                                                .alignment = o->alignment,
                                                .unknowns = o->unknowns,
                                                .stop = o->stop};
    return conversion_begin(import, NULL, source, target, err) == 0
               ? convert_folder(folder, &options, &import->arena, &import->conversion, err)
               : -1;
}

const struct import_family import_huggingface = {is_folder, convert};
