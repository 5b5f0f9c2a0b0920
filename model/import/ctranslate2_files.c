#include "model/import/transformers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LIST_BYTES = 1 << 26, MOST_WORDS = 1 << 20, MANY_MARKED = 10 };
static const double USUAL_EPSILON = 1e-5;

/* ---- which files ---- */

static bool has(const char *folder, const char *name, struct arena *arena) {
    const char *path = path_join(arena, folder, name);
    return path && source_exists(path);
}

/* The folder of a file; "." if its path has none. */
static const char *folder_of(const char *path, struct arena *arena) {
    const char *slash = strrchr(path, '/');
    return slash ? arena_copy(arena, path, slash == path ? 1 : (size_t)(slash - path)) : ".";
}

static bool is_model(const char *folder, struct arena *arena) {
    static const char *const files[] = {"shared_vocabulary.json",  "shared_vocabulary.txt",   "source_vocabulary.json",
                                        "source_vocabulary.txt",   "vocabulary.json",         "vocabulary.txt",
                                        "source_1_vocabulary.txt", "source_1_vocabulary.json"};
    bool beside = false;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        beside |= has(folder, files[i], arena);
    return beside && has(folder, "model.bin", arena);
}

/* folder, package: as in struct ctranslate2_parts. */
static bool locate(const char *path, struct arena *arena, const char **folder, const char **package) {
    *package = NULL;
    *folder = is_folder(path) ? path : strcmp(source_name(path), "model.bin") == 0 ? folder_of(path, arena) : NULL;
    if (!*folder)
        return false;
    if (has(*folder, "metadata.json", arena) && has(*folder, "model/model.bin", arena)) {
        *package = *folder;
        *folder = path_join(arena, *folder, "model");
        return *folder != NULL;
    }
    return is_model(*folder, arena);
}

bool ctranslate2_is(const char *path, struct arena *arena) {
    const char *folder, *package;
    return locate(path, arena, &folder, &package);
}

/* Argos's names of languages that others call differently. */
static const char *language_of(const json_t *metadata, const char *key, struct arena *arena) {
    static const char *const others[][2] = {{"zt", "zh-Hant"}, {"pb", "pt-BR"}};
    const char *code = json_string_value(json_object_get(metadata, key));
    for (size_t i = 0; code && i < sizeof others / sizeof *others; i++)
        if (strcmp(code, others[i][0]) == 0)
            return others[i][1];
    return code && *code ? arena_copy(arena, code, strlen(code)) : NULL;
}

/* An Argos package's metadata.json. */
static int read_metadata(struct ctranslate2_parts *parts, struct arena *arena, struct error *err) {
    const char *path = path_join(arena, parts->package, "metadata.json");
    json_t *root;
    if (!path)
        return error_memory(err);
    if (source_json(path, path, arena, &root, err) != 0)
        return -1;
    const char *type = json_string_value(json_object_get(root, "type"));
    const char *prefix = json_string_value(json_object_get(root, "target_prefix"));
    int result = !json_is_object(root) ? error_set(err, ERROR_FORMAT, "%s: is not an object", path) : 0;
    if (result == 0 && type && strcmp(type, "translate") != 0)
        result = error_set(err, ERROR_FORMAT,
                           "%s: is a package of the type %.60s: only those of the type translate can be imported", path, type);
    parts->source = language_of(root, "from_code", arena);
    parts->target = language_of(root, "to_code", arena);
    parts->prefix = prefix && *prefix ? arena_copy(arena, prefix, strlen(prefix)) : NULL;
    json_decref(root);
    return result == 0 && arena_failed(arena) ? error_memory(err) : result;
}

/* The SentencePiece files of a folder; false: it has none. */
static bool find_segmenters(const char *folder, struct arena *arena, const char *out[2]) {
    static const char *const pairs[][2] = {{"source.spm", "target.spm"},
                                           {"src.spm.model", "tgt.spm.model"},
                                           {"joint.spm", "joint.spm"},
                                           {"joint.spm.model", "joint.spm.model"},
                                           {"sentencepiece.model", "sentencepiece.model"},
                                           {"sentencepiece.bpe.model", "sentencepiece.bpe.model"},
                                           {"spm.128k.model", "spm.128k.model"},
                                           {"flores200_sacrebleu_tokenizer_spm.model", "flores200_sacrebleu_tokenizer_spm.model"},
                                           {"spm.model", "spm.model"},
                                           {"source.model", "target.model"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (!has(folder, pairs[i][0], arena) || !has(folder, pairs[i][1], arena))
            continue;
        out[0] = path_join(arena, folder, pairs[i][0]);
        out[1] = path_join(arena, folder, pairs[i][1]);
        return true;
    }
    return false;
}

int ctranslate2_find(const char *const *paths, size_t count, struct arena *arena, struct ctranslate2_parts *out,
                     struct error *err) {
    static const char *const bpe[] = {"bpe.model", "source.bpe", "target.bpe", "bpe.codes"};
    struct ctranslate2_parts parts = {.folder = NULL};
    size_t named = 0;
    for (size_t i = 0; i < count; i++) {
        bool spm = source_ends(paths[i], ".spm") || source_ends(paths[i], ".model");
        if (!parts.folder && ctranslate2_is(paths[i], arena)) {
            if (!locate(paths[i], arena, &parts.folder, &parts.package))
                return error_memory(err);
        } else if (spm && named < 2) {
            parts.segmenters[named++] = paths[i];
        } else {
            return error_set(err, ERROR_INPUT,
                             "%s: cannot be used beside a CTranslate2 model, only one or two SentencePiece files can", paths[i]);
        }
    }
    if (named == 1)
        parts.segmenters[1] = parts.segmenters[0];
    const char *around = parts.package ? parts.package : parts.folder;
    if (parts.package && read_metadata(&parts, arena, err) != 0)
        return -1;
    for (size_t i = 0; named == 0 && i < sizeof bpe / sizeof *bpe; i++)
        if (has(around, bpe[i], arena))
            return error_set(err, ERROR_FORMAT,
                             "%s: has %s: models of BPE pieces cannot be converted, only those of SentencePiece and of words",
                             around, bpe[i]);
    if (named == 0 && !find_segmenters(parts.folder, arena, parts.segmenters)) {
        const char *outer = parts.package ? parts.package : path_join(arena, parts.folder, "..");
        parts.guessed = outer && find_segmenters(outer, arena, parts.segmenters) && !parts.package;
    }
    if (named == 0 && !parts.segmenters[0] && parts.package)
        return error_set(err, ERROR_FORMAT, "%s: has no sentencepiece.model", parts.package);
    parts.name = source_name(around);
    *out = parts;
    return arena_failed(arena) ? error_memory(err) : 0;
}

/* ---- config.json ---- */

static const char *token_of(const json_t *root, const char *key, const char *usual, struct arena *arena) {
    const char *text = json_string_value(json_object_get(root, key));
    return arena_copy(arena, text ? text : usual, strlen(text ? text : usual));
}

int ctranslate2_read_settings(const struct ctranslate2_parts *parts, struct arena *arena, struct ctranslate2_settings *out,
                              struct error *err) {
    const char *path = path_join(arena, parts->folder, "config.json");
    json_t *root = NULL;
    if (!path)
        return error_memory(err);
    if (source_exists(path) && source_json(path, path, arena, &root, err) != 0)
        return -1;
    struct ctranslate2_settings made = {.unknown = token_of(root, "unk_token", "<unk>", arena),
                                        .begin = token_of(root, "bos_token", "<s>", arena),
                                        .end = token_of(root, "eos_token", "</s>", arena),
                                        .eos = json_is_true(json_object_get(root, "add_source_eos")),
                                        .epsilon = USUAL_EPSILON};
    const char *start = token_of(root, "decoder_start_token", "", arena);
    const json_t *epsilon = json_object_get(root, "layer_norm_epsilon");
    int result = arena_failed(arena) ? error_memory(err) : 0;
    if (result == 0 && json_is_true(json_object_get(root, "add_source_bos")))
        result = error_set(err, ERROR_FORMAT, "%s: add_source_bos true is not supported: no model of alignd reads <s>", path);
    if (json_is_number(epsilon))
        made.epsilon = json_number_value(epsilon);
    if (result == 0 && !(made.epsilon >= 1e-12 && made.epsilon <= 0.1))
        result = error_set(err, ERROR_FORMAT, "%s: layer_norm_epsilon must be between 1e-12 and 0.1, got %g", path, made.epsilon);
    if (result == 0) {
        /* quickmt's programs add </s> themselves, and their files have these names */
        made.eos |= parts->segmenters[0] && source_ends(parts->segmenters[0], ".spm.model");
        made.first_input = !*start || strcmp(start, made.begin) == 0 ? "bos" : strcmp(start, made.end) == 0 ? "eos" : NULL;
        *out = made;
    }
    json_decref(root);
    return result;
}

/* ---- vocabularies ---- */

static int read_array(struct tokens *tokens, struct arena *arena, struct error *err) {
    json_t *root, *value;
    size_t i;
    if (source_json(tokens->path, tokens->path, arena, &root, err) != 0)
        return -1;
    tokens->count = json_array_size(root);
    tokens->list = arena_alloc(arena, tokens->count + 1, sizeof *tokens->list);
    int result = !json_is_array(root) ? error_set(err, ERROR_FORMAT, "%s: is not an array of strings", tokens->path) : 0;
    json_array_foreach(root, i, value) {
        if (result == 0 && !json_is_string(value))
            result = error_set(err, ERROR_FORMAT, "%s: element %zu is not a string", tokens->path, i);
        if (result == 0 && tokens->list)
            tokens->list[i] = arena_copy(arena, json_string_value(value), json_string_length(value));
    }
    json_decref(root);
    return result == 0 && arena_failed(arena) ? error_memory(err) : result;
}

/* A carriage return at the end of every line belongs to the lines' ends, otherwise to the tokens. */
static int read_lines(struct tokens *tokens, struct arena *arena, struct error *err) {
    char *text;
    size_t length, lines = 0, returns = 0;
    if (source_read(tokens->path, MOST_LIST_BYTES, arena, &text, &length, err) != 0)
        return -1;
    if (strlen(text) != length)
        return error_set(err, ERROR_FORMAT, "%s: contains a NUL", tokens->path);
    for (size_t i = 0; i < length; i++) {
        lines += text[i] == '\n';
        returns += text[i] == '\n' && i > 0 && text[i - 1] == '\r';
    }
    lines += length > 0 && text[length - 1] != '\n';
    tokens->list = arena_alloc(arena, lines + 1, sizeof *tokens->list);
    if (!tokens->list)
        return error_memory(err);
    for (char *line = text, *end; tokens->count < lines; line = end + 1) {
        size_t size = strcspn(line, "\n");
        end = line + size;
        *end = '\0';
        if (returns == lines && size > 0)
            end[-1] = '\0';
        tokens->list[tokens->count++] = line;
    }
    return 0;
}

/* NAME_vocabulary.json or .txt. Returns 1: there is neither. */
static int read_tokens(const char *folder, const char *name, struct arena *arena, struct tokens *out, struct error *err) {
    const char *json = path_join(arena, folder, import_say(arena, "%s_vocabulary.json", name));
    const char *lines = path_join(arena, folder, import_say(arena, "%s_vocabulary.txt", name));
    if (!json || !lines)
        return error_memory(err);
    *out = (struct tokens){.path = source_exists(json) ? json : lines};
    if (!source_exists(out->path))
        return 1;
    return out->path == json ? read_array(out, arena, err) : read_lines(out, arena, err);
}

/* The model's own three tokens get alignd's names. */
static int respell(struct tokens *tokens, const struct ctranslate2_settings *settings, struct arena *arena, struct error *err) {
    const char *const special[][2] = {{settings->unknown, "<unk>"}, {settings->begin, "<s>"}, {settings->end, "</s>"}};
    for (size_t s = 0; s < 3; s++) {
        if (strcmp(special[s][0], special[s][1]) == 0)
            continue;
        for (size_t i = 0; i < tokens->count; i++)
            tokens->list[i] = strcmp(tokens->list[i], special[s][1]) == 0   ? "" /* another token of this name */
                              : strcmp(tokens->list[i], special[s][0]) == 0 ? special[s][1]
                                                                            : tokens->list[i];
    }
    return tokens_respell(tokens, arena, err);
}

/* size: how many tokens the model has. Without <unk> in the list, it is one more. */
static int check_size(struct tokens *tokens, size_t size, struct arena *arena, struct error *err) {
    bool known = false;
    for (size_t i = 0; i < tokens->count; i++)
        known |= strcmp(tokens->list[i], "<unk>") == 0;
    if (!known)
        tokens->list[tokens->count++] = "<unk>";
    if (tokens->count == size)
        return 0;
    return error_set(err, ERROR_FORMAT, "%s: has %s tokens, the model %s", tokens->path, import_thousands(arena, tokens->count),
                     import_thousands(arena, size));
}

/* Without a SentencePiece file tokens are separated by white space, which pieces are not. */
static int refuse_pieces(const struct tokens *tokens, struct error *err) {
    static const char *const marks[][2] = {
        {"\xe2\x96\x81", "are SentencePiece's, but no SentencePiece file lies beside the model: name it"},
        {"\xef\xbf\xad", "are cut by OpenNMT's Tokenizer, and such models cannot be converted"},
        {"@@", "are BPE pieces, and such models cannot be converted"}};
    for (size_t m = 0; m < sizeof marks / sizeof *marks; m++) {
        size_t found = 0;
        for (size_t i = 0; i < tokens->count; i++)
            found += m == 0   ? source_begins(tokens->list[i], marks[m][0])
                     : m == 1 ? source_begins(tokens->list[i], marks[m][0]) || source_ends(tokens->list[i], marks[m][0])
                              : source_ends(tokens->list[i], marks[m][0]);
        if (found > MANY_MARKED)
            return error_set(err, ERROR_FORMAT, "%s: its tokens %s", tokens->path, marks[m][1]);
    }
    return 0;
}

/* ---- languages ---- */

int ctranslate2_read_languages(const struct ctranslate2_parts *parts, struct arena *arena, json_t **out, struct tokens *target,
                               struct error *err) {
    struct tokens sides[2];
    int shared = read_tokens(parts->folder, "shared", arena, &sides[0], err);
    *out = NULL;
    if (shared == 0)
        sides[1] = sides[0];
    else if (shared < 0 || read_tokens(parts->folder, "source", arena, &sides[0], err) != 0 ||
             read_tokens(parts->folder, "target", arena, &sides[1], err) != 0)
        return err->code != ERROR_NONE ? -1 : 0; /* that they are missing is said when they are read */
    *target = sides[1];
    return tokens_languages(&sides[0], &sides[1], arena, out, err);
}

/* ---- both sides ---- */

static int read_side(const struct ctranslate2_parts *parts, const struct ctranslate2_settings *settings, struct tokens *tokens,
                     size_t side, size_t size, struct arena *arena, struct vocabulary *out, struct error *err) {
    struct vocabulary list;
    bool ended = false;
    if (respell(tokens, settings, arena, err) != 0 || check_size(tokens, size, arena, err) != 0)
        return -1;
    for (size_t i = 0; i < tokens->count; i++)
        ended |= strcmp(tokens->list[i], "</s>") == 0;
    if (!ended && (side == 1 || settings->eos))
        return error_set(err, ERROR_FORMAT, "%s: %s is missing", tokens->path, settings->end);
    if (vocabulary_of_words(tokens->path, tokens->list, tokens->count, arena, &list, err) != 0)
        return -1;
    struct error other = {0};
    bool fits = parts->segmenters[side] && tokens_check_pieces(tokens, parts->segmenters[side], arena, &other) == 0;
    if (!parts->segmenters[side] || (!fits && parts->guessed)) {
        *out = list;
        return refuse_pieces(tokens, err);
    }
    if (!fits)
        return error_set(err, other.code, "%s", other.message);
    return vocabulary_segmented(parts->segmenters[side], &list, arena, out, err);
}

int ctranslate2_read_words(const struct ctranslate2_parts *parts, const struct ctranslate2_settings *settings, size_t source,
                           size_t target, struct arena *arena, struct tokenizer_files *out, struct error *err) {
    static const char *const names[] = {"source", "target"};
    const size_t sizes[] = {source, target};
    struct vocabulary sides[2];
    struct tokens tokens;
    int shared = read_tokens(parts->folder, "shared", arena, &tokens, err);
    if (shared < 0)
        return -1;
    for (size_t side = 0; side < 2; side++) {
        if ((side == 1 || shared == 1) &&
            read_tokens(parts->folder, shared == 0 ? "shared" : names[side], arena, &tokens, err) != 0)
            return err->code != ERROR_NONE
                       ? -1
                       : error_set(err, ERROR_FORMAT, "%s: has no %s_vocabulary.json or .txt", parts->folder, names[side]);
        if (tokens.count > MOST_WORDS)
            return error_set(err, ERROR_FORMAT, "%s: a vocabulary must have at most %d tokens, got %zu", tokens.path, MOST_WORDS,
                             tokens.count);
        if (read_side(parts, settings, &tokens, side, sizes[side], arena, &sides[side], err) != 0)
            return -1;
    }
    return tokenizer_files_of(&sides[0], &sides[1], out, err);
}
