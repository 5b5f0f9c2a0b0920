/* This file hides the files of CTranslate2's models: model.bin, config.json and the
 * vocabularies. */
#include "model/base/utf8.h"
#include "model/import/ctranslate2.h"
#include <math.h>
#include <string.h>

/* ---- the file ----
 * Layout, little-endian, without padding:
 *
 *   u32 version, 1 to 6; from version 2 on a string, the specification's name, and a u32, its
 * revision u32 number of variables; each: string name, u8 rank, rank times u32, and then from
 * version 4 on: u8 type, u32 bytes; before: u8 size of a number, u32 numbers the numbers from
 * version 3 on: u32 number of aliases, each two strings, a name and the variable's that it stands
 * for
 *
 * A string is a u16, its length with a NUL, and the bytes. The numbers w of an int8 or int16 matrix
 * NAME stand for w / s, where s is NAME_scale: one for all, or one for each row. */

enum {
    LAST_VERSION = 6,
    MOST_VARIABLES = 20000,
    MOST_NAME_BYTES = 1 << 12,
    LEAST_VARIABLE_BYTES = 9,
    LEAST_ALIAS_BYTES = 8
};
enum { SCALE_OF_INT16 = 1000 }; /* in files that do not state it */

/* Indexed by the type's number in the file. Older files state only the size of a number. */
static const enum stored_kind types[] = {STORED_F32, STORED_I8,  STORED_I16,
                                         STORED_I32, STORED_F16, STORED_BF16};
enum { TYPES = sizeof types / sizeof *types, TYPE_FLOAT32 = 0, TYPE_INT8 = 1, TYPE_INT16 = 2 };

static int take_string(struct source_cursor *cursor, const char **out, const char *what,
                       struct error *err) {
    uint16_t length;
    if (source_take(cursor, &length, sizeof length, what, err) != 0)
        return -1;
    if (length > MOST_NAME_BYTES)
        return error_set(err, ERROR_FORMAT, "%s: a name has %u bytes, more than the allowed %d",
                         cursor->path, length, MOST_NAME_BYTES);
    char *text = arena_zalloc(cursor->arena, (size_t)length + 1, 1);
    if (!text)
        return error_memory(err);
    if (source_take(cursor, text, length, what, err) != 0)
        return -1;
    if (length < 2 || strlen(text) != (size_t)length - 1 || !utf8_valid(text, (size_t)length - 1))
        return error_set(err, ERROR_FORMAT, "%s: %s: there is no text that ends with a NUL",
                         cursor->path, what);
    *out = text;
    return 0;
}

/* Reads the number of variables or aliases that follow. least: the bytes that each has at least. */
static int take_count(struct source_cursor *cursor, size_t least, const char *what, size_t *out,
                      struct error *err) {
    uint32_t count;
    if (source_take(cursor, &count, sizeof count, what, err) != 0)
        return -1;
    if (count > (cursor->size - cursor->at) / least)
        return error_set(err, ERROR_FORMAT, "%s: the file ends within %s", cursor->path, what);
    if (count > MOST_VARIABLES)
        return error_set(err, ERROR_FORMAT, "%s: %s: has %u entries, more than the allowed %d",
                         cursor->path, what, count, MOST_VARIABLES);
    *out = count;
    return 0;
}

static int take_variable(struct source_cursor *cursor, uint32_t version, struct container *out,
                         struct error *err) {
    struct stored_tensor *entry = &out->entries[out->count];
    uint8_t rank, code;
    uint32_t shape[STORED_MOST_DIMS], count;
    uint64_t needed = 0;
    if (take_string(cursor, &entry->name, "the list of variables", err) != 0)
        return -1;
    if (tensors_find_stored(out, entry->name))
        return error_set(err, ERROR_FORMAT, "%s: %s: there twice", cursor->path, entry->name);
    if (source_take(cursor, &rank, sizeof rank, entry->name, err) != 0)
        return -1;
    if (rank > STORED_MOST_DIMS)
        return error_set(err, ERROR_FORMAT, "%s: %s: has %u dimensions, more than the allowed %d",
                         cursor->path, entry->name, rank, STORED_MOST_DIMS);
    if (source_take(cursor, shape, rank * sizeof *shape, entry->name, err) != 0)
        return -1;
    entry->dims = rank;
    for (size_t i = 0; i < rank; i++)
        entry->shape[i] = shape[i];

    if (source_take(cursor, &code, sizeof code, entry->name, err) != 0 ||
        source_take(cursor, &count, sizeof count, entry->name, err) != 0)
        return -1;
    size_t type = version >= 4 ? code
                  : code == 4  ? TYPE_FLOAT32
                  : code == 2  ? TYPE_INT16
                  : code == 1  ? TYPE_INT8
                               : TYPES;
    if (type >= TYPES)
        return error_set(err, ERROR_FORMAT, "%s: %s: has the type %u, which cannot be read",
                         cursor->path, entry->name, code);
    entry->kind = types[type];
    uint64_t bytes = version >= 4 ? count : (uint64_t)count * stored_types[entry->kind].bytes;
    if (!tensors_size(entry, &needed) || needed != bytes)
        return error_set(err, ERROR_FORMAT,
                         "%s: %s: has %llu bytes, which is not what its shape %s of %s needs",
                         cursor->path, entry->name, (unsigned long long)bytes,
                         tensors_shape(cursor->arena, entry->shape, entry->dims),
                         stored_types[entry->kind].name);
    if (bytes > cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: %s: the file ends within it", cursor->path,
                         entry->name);
    entry->file = cursor->file;
    entry->at = cursor->at;
    cursor->at += bytes;
    out->count++;
    return 0;
}

/* Sets the scales of matrices of int8 and int16, whose numbers w stand for w / s, to 1 / s, one for
 * each row or one for all; s is in a separate tensor. A tensor without dimensions is a flag and has
 * no scale. */
static int set_scales(struct source_cursor *cursor, const struct container *found,
                      struct error *err) {
    for (size_t i = 0; i < found->count; i++) {
        struct stored_tensor *entry = &found->entries[i];
        if ((entry->kind != STORED_I8 && entry->kind != STORED_I16) || entry->dims == 0)
            continue;
        const char *name = source_say(cursor->arena, "%s_scale", entry->name);
        const struct stored_tensor *from = name ? tensors_find_stored(found, name) : NULL;
        if (!name)
            return error_memory(err);
        if (!from && entry->kind == STORED_I16 && entry->dims == 2) {
            entry->quantised = true;
            entry->scale = 1.0f / (float)SCALE_OF_INT16;
        }
        if (!from)
            continue;

        uint64_t count = tensors_count(from), rows = entry->shape[0];
        struct error inner = {0};
        if (from->kind != STORED_F32 || (count != 1 && count != rows))
            return error_set(err, ERROR_FORMAT,
                             "%s: %s: is %s of the shape %s, expected one float32 for each of %llu "
                             "rows, or for all",
                             cursor->path, from->name, stored_types[from->kind].name,
                             tensors_shape(cursor->arena, from->shape, from->dims),
                             (unsigned long long)rows);
        float *scales = arena_alloc(cursor->arena, (size_t)count, sizeof *scales);
        if (!scales)
            return error_memory(err);
        if (tensors_numbers(from, 0, (size_t)count, scales, &inner) != 0)
            return error_set(err, inner.code, "%s: %s", cursor->path, inner.message);
        for (size_t s = 0; s < count; s++) {
            if (!(scales[s] > 0) || !isfinite(1 / scales[s]))
                return error_set(err, ERROR_FORMAT,
                                 "%s: %s: has a scale that is not a positive number", cursor->path,
                                 from->name);
            scales[s] = 1 / scales[s];
        }
        entry->quantised = true;
        if (count == 1 && rows != 1)
            entry->scale = scales[0];
        else
            entry->row_scales = scales;
    }
    return 0;
}

static int read_file(struct source_cursor *cursor, struct ctranslate2_head *head,
                     struct container *out, struct error *err) {
    static const char aliases[] = "the list of aliases";
    *head = (struct ctranslate2_head){.spec = "TransformerBase",
                                      .revision = 1}; /* the values of the first version */
    if (source_take(cursor, &head->version, sizeof head->version, "its beginning", err) != 0)
        return -1;
    if (head->version < 1 || head->version > LAST_VERSION)
        return error_set(
            err, ERROR_FORMAT,
            "%s: not a model of CTranslate2 that can be read: its version must be 1 to %d, got %u",
            cursor->path, LAST_VERSION, head->version);
    if (head->version >= 2 &&
        (take_string(cursor, &head->spec, "its beginning", err) != 0 ||
         source_take(cursor, &head->revision, sizeof head->revision, "its beginning", err) != 0))
        return -1;

    size_t count, alias_count = 0;
    if (take_count(cursor, LEAST_VARIABLE_BYTES, "the list of variables", &count, err) != 0)
        return -1;
    if (!(out->entries = arena_zalloc(cursor->arena, count, sizeof *out->entries)))
        return error_memory(err);
    while (out->count < count)
        if (take_variable(cursor, head->version, out, err) != 0)
            return -1;
    if (set_scales(cursor, out, err) != 0)
        return -1;

    if (head->version >= 3 &&
        take_count(cursor, LEAST_ALIAS_BYTES, aliases, &alias_count, err) != 0)
        return -1;
    if (alias_count > 0) {
        struct stored_tensor *entries =
            arena_alloc(cursor->arena, count + alias_count, sizeof *entries);
        if (!entries)
            return error_memory(err);
        out->entries = memcpy(entries, out->entries, count * sizeof *entries);
    }
    for (size_t i = 0; i < alias_count; i++) {
        const char *alias, *name;
        if (take_string(cursor, &alias, aliases, err) != 0 ||
            take_string(cursor, &name, aliases, err) != 0)
            return -1;
        const struct stored_tensor *variable = tensors_find_stored(out, name);
        if (!variable)
            return error_set(err, ERROR_FORMAT, "%s: %s: is an alias of %s, which is missing",
                             cursor->path, alias, name);
        if (tensors_find_stored(out, alias))
            return error_set(err, ERROR_FORMAT, "%s: %s: there twice", cursor->path, alias);
        out->entries[out->count] = *variable;
        out->entries[out->count++].name = alias;
    }
    if (cursor->at != cursor->size)
        return error_set(err, ERROR_FORMAT, "%s: %llu bytes follow the last variable", cursor->path,
                         (unsigned long long)(cursor->size - cursor->at));
    return 0;
}

int ctranslate2_open(const char *path, struct arena *arena, struct container *out,
                     struct ctranslate2_head *head, struct error *err) {
    struct source_cursor cursor = {.path = path, .arena = arena};
    struct container found = {.file = source_open(path, &cursor.size, err)};
    if (found.file < 0)
        return -1;
    cursor.file = found.file;
    return tensors_finish(&found, read_file(&cursor, head, &found, err), out);
}

/* ---- config.json ---- */

static const char *token_of(const json_t *root, const char *key, const char *usual,
                            struct arena *arena) {
    const char *text = json_string_value(json_object_get(root, key));
    return arena_copy(arena, text ? text : usual, strlen(text ? text : usual));
}

int ctranslate2_read_settings(const struct ctranslate2_parts *parts, struct arena *arena,
                              struct ctranslate2_settings *out, struct error *err) {
    const char *path = source_path_join(arena, parts->folder, "config.json");
    json_t *root = NULL;
    if (source_exists(path) && source_json(path, path, arena, &root, err) != 0)
        return -1;
    struct ctranslate2_settings made = {
        .unknown = token_of(root, "unk_token", "<unk>", arena),
        .begin = token_of(root, "bos_token", "<s>", arena),
        .end = token_of(root, "eos_token", "</s>", arena),
        .eos = json_is_true(json_object_get(root, "add_source_eos")),
        .bos = json_is_true(json_object_get(root, "add_source_bos"))};
    const char *start = token_of(root, "decoder_start_token", "", arena);
    const json_t *epsilon = json_object_get(root, "layer_norm_epsilon");
    int result = arena_failed(arena) ? error_memory(err) : 0;
    if (json_is_number(epsilon))
        made.epsilon = json_number_value(epsilon);
    if (result == 0 && json_is_number(epsilon) && !(made.epsilon >= 1e-12 && made.epsilon <= 0.1))
        result = error_set(err, ERROR_FORMAT,
                           "%s: layer_norm_epsilon must be between 1e-12 and 0.1, got %g", path,
                           made.epsilon);
    if (result == 0 && json_is_null(json_object_get(root, "decoder_start_token")))
        result = error_set(err, ERROR_FORMAT,
                           "%s: decoder_start_token is null, so every request must begin the "
                           "translation: such models cannot be imported",
                           path);
    if (result == 0) {
        /* quickmt's programs, whose files have these names, add </s> themselves */
        made.eos |= parts->segmenters[0] && source_ends(parts->segmenters[0], ".spm.model");
        made.first_input = !*start || strcmp(start, made.begin) == 0 ? "bos"
                           : strcmp(start, made.end) == 0            ? "eos"
                                                                     : NULL;
        made.start = start;
        *out = made;
    }
    json_decref(root);
    return result;
}

/* ---- vocabularies ---- */

enum { MOST_LIST_BYTES = 1 << 26, MOST_WORDS = 1 << 20, MANY_MARKED = 10 };

static int read_array(struct tokens *tokens, struct arena *arena, struct error *err) {
    json_t *root, *value;
    size_t i;
    if (source_json(tokens->path, tokens->path, arena, &root, err) != 0)
        return -1;
    tokens->count = json_array_size(root);
    tokens->list = arena_alloc(arena, tokens->count + 1, sizeof *tokens->list);
    int result = !json_is_array(root)
                     ? error_set(err, ERROR_FORMAT, "%s: is not an array of strings", tokens->path)
                     : 0;
    json_array_foreach(root, i, value) {
        if (result == 0 && !json_is_string(value))
            result =
                error_set(err, ERROR_FORMAT, "%s: element %zu is not a string", tokens->path, i);
        if (result == 0 && tokens->list)
            tokens->list[i] =
                arena_copy(arena, json_string_value(value), json_string_length(value));
    }
    json_decref(root);
    return result == 0 && arena_failed(arena) ? error_memory(err) : result;
}

/* Reads one token a line. If each line ends with a carriage return, these are removed; otherwise
 * they belong to the tokens. */
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

/* Reads NAME_vocabulary.json or .txt. Returns 1 if both are missing. */
static int read_tokens(const char *folder, const char *name, struct arena *arena,
                       struct tokens *out, struct error *err) {
    const char *json =
        source_path_join(arena, folder, source_say(arena, "%s_vocabulary.json", name));
    const char *lines =
        source_path_join(arena, folder, source_say(arena, "%s_vocabulary.txt", name));
    *out = (struct tokens){.path = source_exists(json) ? json : lines};
    if (!source_exists(out->path))
        return 1;
    return out->path == json ? read_array(out, arena, err) : read_lines(out, arena, err);
}

int ctranslate2_read_languages(const struct ctranslate2_parts *parts, struct arena *arena,
                               json_t **out, struct tokens *target, struct error *err) {
    struct tokens sides[2];
    int shared = read_tokens(parts->folder, "shared", arena, &sides[0], err);
    *out = NULL;
    if (shared == 0)
        sides[1] = sides[0];
    else if (shared < 0 || read_tokens(parts->folder, "source", arena, &sides[0], err) != 0 ||
             read_tokens(parts->folder, "target", arena, &sides[1], err) != 0)
        return err->code != ERROR_NONE ? -1 : 0; /* ctranslate2_read_words reports missing files */
    *target = sides[1];
    return conversion_tokens_languages(&sides[0], &sides[1], arena, out, err);
}

/* Gives the model's own three tokens alignd's names. size: the number of tokens that the model has.
 * ends: </s> must be one of them. */
static int rename_special(const struct ctranslate2_settings *settings, struct tokens *tokens,
                          size_t size, bool ends, struct arena *arena, struct error *err) {
    /* another token that already has such a name gets another spelling */
    const char *const special[][2] = {
        {settings->unknown, "<unk>"}, {settings->begin, "<s>"}, {settings->end, "</s>"}};
    bool known = false, ended = false;
    for (size_t s = 0; s < 3; s++)
        for (size_t i = 0; strcmp(special[s][0], special[s][1]) != 0 && i < tokens->count; i++)
            tokens->list[i] = strcmp(tokens->list[i], special[s][1]) == 0   ? ""
                              : strcmp(tokens->list[i], special[s][0]) == 0 ? special[s][1]
                                                                            : tokens->list[i];
    if (conversion_tokens_respell(tokens, arena, err) != 0)
        return -1;
    for (size_t i = 0; i < tokens->count; i++) {
        known |= strcmp(tokens->list[i], "<unk>") == 0;
        ended |= strcmp(tokens->list[i], "</s>") == 0;
    }
    if (!known)
        tokens->list[tokens->count++] = "<unk>";
    if (tokens->count != size)
        return error_set(err, ERROR_FORMAT, "%s: has %s tokens, the model %s", tokens->path,
                         source_thousands(arena, tokens->count), source_thousands(arena, size));
    return ended || !ends
               ? 0
               : error_set(err, ERROR_FORMAT, "%s: %s is missing", tokens->path, settings->end);
}

/* segmenter: NULL if there is none; guessed: it may not belong to the model. */
static int read_vocabulary(const struct tokens *tokens, const char *segmenter, bool guessed,
                           struct arena *arena, struct vocabulary *out, struct error *err) {
    struct vocabulary list;
    struct error other = {0};
    if (vocabulary_of_words(tokens->path, tokens->list, tokens->count, arena, &list, err) != 0)
        return -1;
    bool fits = segmenter && conversion_tokens_check_pieces(tokens, segmenter, arena, &other) == 0;
    if (fits)
        return vocabulary_segmented(segmenter, &list, arena, out, err);
    if (segmenter && !guessed)
        return error_set(err, other.code, "%s", other.message);

    /* Without a SentencePiece file, text is split into tokens only at white space, so tokens that
     * are pieces are refused. */
    static const struct {
        const char *begin, *end, *why;
    } marks[] = {{"\xe2\x96\x81", NULL,
                  "are SentencePiece's, but no SentencePiece file lies beside the model: name it"},
                 {"\xef\xbf\xad", "\xef\xbf\xad",
                  "are cut by OpenNMT's Tokenizer, and such models cannot be converted"},
                 {NULL, "@@", "are BPE pieces, and such models cannot be converted"}};
    for (size_t m = 0; m < sizeof marks / sizeof *marks; m++) {
        size_t found = 0;
        for (size_t i = 0; i < tokens->count; i++)
            found += (marks[m].begin && source_begins(tokens->list[i], marks[m].begin)) ||
                     (marks[m].end && source_ends(tokens->list[i], marks[m].end));
        if (found > MANY_MARKED)
            return error_set(err, ERROR_FORMAT, "%s: its tokens %s", tokens->path, marks[m].why);
    }
    *out = list;
    return 0;
}

int ctranslate2_read_words(const struct ctranslate2_parts *parts,
                           const struct ctranslate2_settings *settings, const size_t sizes[2],
                           struct arena *arena, struct tokenizer_files *out, struct error *err) {
    static const char *const names[] = {"source", "target"};
    struct vocabulary sides[2];
    struct tokens tokens;
    int shared = read_tokens(parts->folder, "shared", arena, &tokens, err);
    if (shared < 0)
        return -1;
    for (size_t side = 0; side < 2; side++) {
        if ((side == 1 || shared == 1) &&
            read_tokens(parts->folder, shared == 0 ? "shared" : names[side], arena, &tokens, err) !=
                0)
            return err->code != ERROR_NONE
                       ? -1
                       : error_set(err, ERROR_FORMAT, "%s: has no %s_vocabulary.json or .txt",
                                   parts->folder, names[side]);
        if (tokens.count > MOST_WORDS)
            return error_set(err, ERROR_FORMAT,
                             "%s: a vocabulary must have at most %d tokens, got %zu", tokens.path,
                             MOST_WORDS, tokens.count);
        if (rename_special(settings, &tokens, sizes[side], side == 1 || settings->eos, arena,
                           err) != 0 ||
            read_vocabulary(&tokens, parts->segmenters[side], parts->guessed, arena, &sides[side],
                            err) != 0)
            return -1;
    }
    return conversion_tokenizer_files_of(&sides[0], &sides[1], out, err);
}
