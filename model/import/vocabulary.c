#include "model/import/vocabulary.h"
#include "model/base/utf8.h"
#include "model/import/source.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 26, LEAST_WORDS = 3, MOST_WORDS = 1 << 20 };

/* ---- lists of words ---- */

/* A word as a list has it. */
struct word {
    const char *text;
    uint64_t id;
    size_t line; /* its place among the words of the list, from 1 */
};

static int by_id(const void *a, const void *b) {
    const struct word *one = a, *other = b;
    return one->id != other->id ? (one->id < other->id ? -1 : 1) : one->line < other->line ? -1 : one->line > other->line;
}

static int by_text(const void *a, const void *b) {
    const struct word *one = a, *other = b;
    int order = strcmp(one->text, other->text);
    return order ? order : one->line < other->line ? -1 : one->line > other->line;
}

int vocabulary_of_words(const char *path, const char *const *words, size_t count, struct arena *arena, struct vocabulary *out,
                        struct error *err) {
    size_t bytes = 0;
    if (count < LEAST_WORDS || count > MOST_WORDS)
        return error_set(err, ERROR_FORMAT, "%s: a vocabulary must have %d to %d lines, got %zu", path, LEAST_WORDS, MOST_WORDS,
                         count);
    struct word *sorted = arena_alloc(arena, count, sizeof *sorted);
    if (!sorted)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        if (!*words[i])
            return error_set(err, ERROR_FORMAT, "%s: line %zu is empty", path, i + 1);
        if (strpbrk(words[i], "\t\n\v\f\r "))
            return error_set(err, ERROR_FORMAT, "%s: line %zu contains white space", path, i + 1);
        sorted[i] = (struct word){words[i], 0, i + 1};
        bytes += strlen(words[i]) + 1;
    }
    if (bytes > MOST_BYTES)
        return error_set(err, ERROR_FORMAT, "%s: a vocabulary must have at most %d bytes", path, MOST_BYTES);
    qsort(sorted, count, sizeof *sorted, by_text);
    bool unknown = false;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && strcmp(sorted[i - 1].text, sorted[i].text) == 0)
            return error_set(err, ERROR_FORMAT, "%s: lines %zu and %zu are the same", path, sorted[i - 1].line, sorted[i].line);
        unknown |= strcmp(sorted[i].text, "<unk>") == 0;
    }
    if (!unknown)
        return error_set(err, ERROR_FORMAT, "%s: <unk> is missing", path);
    char *content = arena_alloc(arena, bytes + 1, 1), *at = content;
    if (!content)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(words[i]);
        memcpy(at, words[i], length);
        at[length] = '\n';
        at += length + 1;
    }
    *at = '\0';
    *out = (struct vocabulary){.content = content, .bytes = bytes, .size = count};
    return 0;
}

/* Words and ids as a list has them; id: the text of the number. */
struct pairs {
    struct word *words; /* [count] */
    size_t count, room;
    const char *path;
    struct arena *arena;
};

static int add_pair(struct pairs *pairs, const char *word, const char *id, struct error *err) {
    size_t length = strlen(id);
    bool number = length > 0 && length < 19;
    for (size_t i = 0; i < length; i++)
        number = number && isdigit((unsigned char)id[i]);
    if (!number)
        return error_set(err, ERROR_FORMAT, "%s: '%s' has the id %s, which is not a number", pairs->path, word, id);
    struct word *grown = arena_grow(pairs->arena, pairs->words, pairs->count, &pairs->room, 1, sizeof *grown);
    if (!grown)
        return error_memory(err);
    pairs->words = grown;
    pairs->words[pairs->count] = (struct word){word, strtoull(id, NULL, 10), pairs->count + 1};
    pairs->count++;
    return 0;
}

/* Nematus's names of the first two. */
static const char *special(const char *word, const char *id) {
    bool first = strcmp(id, "0") == 0 || strcmp(id, "1") == 0;
    if (first && (strcmp(word, "eos") == 0 || strcmp(word, "<EOS>") == 0))
        return "</s>";
    return first && (strcmp(word, "UNK") == 0 || strcmp(word, "<UNK>") == 0) ? "<unk>" : word;
}

static int read_json(struct pairs *pairs, const char *text, size_t length, struct error *err) {
    json_error_t problem;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem), *value;
    const char *word;
    int result = 0;
    if (!root)
        return error_set(err, ERROR_FORMAT, "%s: line %d: %s", pairs->path, problem.line, problem.text);
    if (!json_is_object(root))
        result = error_set(err, ERROR_FORMAT, "%s: is not an object of words and ids", pairs->path);
    json_object_foreach(root, word, value) {
        char *id = result == 0 ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
        const char *copy = id ? arena_copy(pairs->arena, word, strlen(word)) : NULL;
        if (result == 0)
            result = copy ? add_pair(pairs, special(copy, id), json_is_string(value) ? json_string_value(value) : id, err)
                          : error_memory(err);
        free(id);
    }
    json_decref(root);
    return result;
}

static int read_yaml(struct pairs *pairs, const char *text, size_t length, struct error *err) {
    struct mapping mapping;
    struct error inner = {0};
    if (mapping_read(text, length, pairs->arena, &mapping, &inner) != 0)
        return error_set(err, inner.code, "%s: %s", pairs->path, inner.message);
    for (size_t i = 0; i < mapping.count; i++) {
        const char *id = mapping_shown(pairs->arena, &mapping.pairs[i]);
        if (add_pair(pairs, mapping.pairs[i].key, id, err) != 0)
            return -1;
    }
    return 0;
}

static int read_lines(struct pairs *pairs, char *text, size_t length, struct error *err) {
    if (strlen(text) != length)
        return error_set(err, ERROR_FORMAT, "%s: contains a NUL", pairs->path);
    if (length > 0 && text[length - 1] == '\n')
        text[--length] = '\0';
    for (char *line = text, *end; line; line = end ? end + 1 : NULL) {
        char id[24];
        snprintf(id, sizeof id, "%zu", pairs->count);
        if ((end = strchr(line, '\n')) != NULL)
            *end = '\0';
        if (add_pair(pairs, line, id, err) != 0)
            return -1;
    }
    return 0;
}

/* By id, the first `size`: Marian takes the others for unknown, too. */
static int read_list(const char *path, size_t size, struct arena *arena, struct vocabulary *out, struct error *err) {
    struct pairs pairs = {.path = path, .arena = arena};
    char *text;
    size_t length, missing = 0;
    if (source_text(path, MOST_BYTES, arena, &text, &length, err) != 0)
        return -1;
    bool yaml = source_ends(path, ".yml") || source_ends(path, ".yaml");
    int result = source_ends(path, ".json") ? read_json(&pairs, text, length, err)
                 : yaml                     ? read_yaml(&pairs, text, length, err)
                                            : read_lines(&pairs, text, length, err);
    if (result != 0)
        return -1;
    if (pairs.count > 0)
        qsort(pairs.words, pairs.count, sizeof *pairs.words, by_id);
    for (size_t i = 1; i < pairs.count; i++)
        if (pairs.words[i - 1].id == pairs.words[i].id)
            return error_set(err, ERROR_FORMAT, "%s: '%s' has the same id %llu as another word", path, pairs.words[i].text,
                             (unsigned long long)pairs.words[i].id);
    while (missing < size && missing < pairs.count && pairs.words[missing].id == missing)
        missing++;
    if (missing < size)
        return error_set(err, ERROR_FORMAT, "%s: the model has %s words, but the id %zu is missing here", path,
                         import_thousands(arena, size), missing);
    const char **words = arena_alloc(arena, size, sizeof *words);
    bool ended = false;
    if (!words)
        return error_memory(err);
    for (size_t i = 0; i < size; i++) {
        words[i] = pairs.words[i].text;
        ended |= strcmp(words[i], "</s>") == 0;
    }
    if (!ended)
        return error_set(err, ERROR_FORMAT, "%s: </s> is missing", path);
    return vocabulary_of_words(path, words, size, arena, out, err);
}

/* ---- SentencePiece ---- */

/* A protocol buffer's bytes. */
struct buffer {
    const unsigned char *at, *end;
    bool fits;
};

static uint64_t varint(struct buffer *buffer) {
    uint64_t value = 0;
    for (unsigned shift = 0; buffer->at < buffer->end && shift < 64; shift += 7) {
        unsigned char byte = *buffer->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    buffer->fits = false;
    return 0;
}

static void skip(struct buffer *buffer, uint64_t count) {
    if (count > (uint64_t)(buffer->end - buffer->at))
        buffer->fits = false;
    else
        buffer->at += count;
}

/* The next field that has a length; others, numbers of 32 or any bits, are skipped. False at the end, or if it is not a protocol
 * buffer. */
static bool next_field(struct buffer *buffer, uint64_t *number, struct buffer *field) {
    while (buffer->fits && buffer->at < buffer->end) {
        uint64_t tag = varint(buffer), length;
        switch (tag & 7) {
        case 0:
            varint(buffer);
            break;
        case 2:
            length = varint(buffer);
            *field = (struct buffer){buffer->at, buffer->at, true};
            skip(buffer, length);
            field->end = buffer->at;
            *number = tag >> 3;
            return buffer->fits;
        case 5:
            skip(buffer, 4);
            break;
        default:
            buffer->fits = false;
        }
    }
    return false;
}

/* Calls with each piece: the first field of each field 1 of the top. Returns the number of pieces, or -1 if it is not a
 * SentencePiece model. */
static long each_piece(const char *content, size_t bytes, void (*take)(void *context, const char *piece, size_t length),
                       void *context) {
    struct buffer top = {(const unsigned char *)content, (const unsigned char *)content + bytes, true}, piece, field;
    uint64_t number, inner;
    long count = 0;
    while (next_field(&top, &number, &piece)) {
        if (number != 1)
            continue;
        struct buffer text = {.at = NULL};
        while (next_field(&piece, &inner, &field))
            if (inner == 1)
                text = field;
        if (!piece.fits || !text.at || !utf8_valid((const char *)text.at, (size_t)(text.end - text.at)))
            return -1;
        if (take)
            take(context, (const char *)text.at, (size_t)(text.end - text.at));
        count++;
    }
    return top.fits ? count : -1;
}

static int read_sentencepiece(const char *path, size_t size, struct arena *arena, struct vocabulary *out, struct error *err) {
    char *content;
    size_t bytes;
    if (source_read(path, MOST_BYTES, arena, &content, &bytes, err) != 0)
        return -1;
    long count = each_piece(content, bytes, NULL, NULL);
    if (count < 0 || (count == 0 && size == 0))
        return error_set(err, ERROR_FORMAT, "%s: is not a SentencePiece model", path);
    if (size && (size_t)count != size)
        return error_set(err, ERROR_FORMAT, "%s: has %s pieces, the model %s", path, import_thousands(arena, (uint64_t)count),
                         import_thousands(arena, size));
    *out = (struct vocabulary){.sentencepiece = true, .content = content, .bytes = bytes, .size = (size_t)count};
    return 0;
}

int vocabulary_segmented(const char *path, const struct vocabulary *words, struct arena *arena, struct vocabulary *out,
                         struct error *err) {
    struct vocabulary file;
    if (words->sentencepiece)
        return error_set(err, ERROR_FORMAT,
                         "%s: segments text, and so does the vocabulary beside it: give a list of pieces as the vocabulary", path);
    if (read_sentencepiece(path, 0, arena, &file, err) != 0)
        return -1;
    file.size = words->size;
    file.list = words->content;
    file.list_bytes = words->bytes;
    *out = file;
    return 0;
}

int vocabulary_import(const char *path, size_t size, struct arena *arena, struct vocabulary *out, struct error *err) {
    bool sentencepiece = source_ends(path, ".spm") || source_ends(path, ".model");
    return sentencepiece ? read_sentencepiece(path, size, arena, out, err) : read_list(path, size, arena, out, err);
}

/* ---- both sides ---- */

static bool same(const char *one, size_t bytes, const char *other, size_t other_bytes) {
    return bytes == other_bytes && memcmp(one, other, bytes) == 0;
}

/* Two files, or one if they are equal. Their names begin with joint, source or target. */
static void add_files(struct tokenizer_files *files, const char *const names[3], const char *source, size_t source_bytes,
                      const char *target, size_t target_bytes) {
    bool joint = same(source, source_bytes, target, target_bytes);
    files->files[files->count].name = names[joint ? 0 : 1];
    files->files[files->count].content = source;
    files->files[files->count++].bytes = source_bytes;
    if (joint)
        return;
    files->files[files->count].name = names[2];
    files->files[files->count].content = target;
    files->files[files->count++].bytes = target_bytes;
}

int tokenizer_files_of(const struct vocabulary *source, const struct vocabulary *target, struct tokenizer_files *out,
                       struct error *err) {
    static const char *const pieces[] = {"joint.spm", "source.spm", "target.spm"}, *const words[] = {"joint.vocab", "source.vocab",
                                                                                                     "target.vocab"};
    static const char *const kinds[] = {"words", "sentencepiece"};
    struct tokenizer_files made = {.count = 0};
    if (source->sentencepiece != target->sentencepiece)
        return error_set(err, ERROR_FORMAT, "the source's vocabulary is %s, the target's %s: a model has one kind of tokens",
                         kinds[source->sentencepiece], kinds[target->sentencepiece]);
    add_files(&made, source->sentencepiece ? pieces : words, source->content, source->bytes, target->content, target->bytes);
    made.section = json_pack("{s:s, s:s, s:s}", "type", kinds[source->sentencepiece], "source", made.files[0].name, "target",
                             made.files[made.count - 1].name);
    int failed = made.section ? 0 : -1;
    made.one_list = made.count == 1;
    if (source->list && target->list) {
        size_t first = made.count;
        add_files(&made, words, source->list, source->list_bytes, target->list, target->list_bytes);
        made.one_list = made.count == first + 1;
        failed |= json_object_set_new(made.section, "pieces", json_string(made.files[first].name));
        if (!made.one_list)
            failed |= json_object_set_new(made.section, "target_pieces", json_string(made.files[first + 1].name));
    }
    if (failed) {
        json_decref(made.section);
        return error_memory(err);
    }
    *out = made;
    return 0;
}

/* ---- ids ---- */

static int by_piece(const void *a, const void *b) {
    const struct id *one = a, *other = b;
    size_t shorter = one->length < other->length ? one->length : other->length;
    int order = memcmp(one->piece, other->piece, shorter);
    if (order)
        return order;
    if (one->length != other->length)
        return one->length < other->length ? -1 : 1;
    return one->id < other->id ? -1 : one->id > other->id;
}

static void add_id(void *context, const char *piece, size_t length) {
    struct ids *ids = context;
    ids->sorted[ids->size] = (struct id){piece, length, (uint32_t)ids->size};
    ids->size++;
}

int ids_of(const struct vocabulary *vocabulary, struct arena *arena, struct ids *out, struct error *err) {
    struct ids made = {.sorted = arena_alloc(arena, vocabulary->size, sizeof *made.sorted)};
    if (!made.sorted)
        return error_memory(err);
    const char *list = vocabulary->list ? vocabulary->list : vocabulary->sentencepiece ? NULL : vocabulary->content;
    if (!list)
        each_piece(vocabulary->content, vocabulary->bytes, add_id, &made);
    for (size_t length; list && *list; list += length + 1) {
        length = strcspn(list, "\n");
        add_id(&made, list, length);
    }
    qsort(made.sorted, made.size, sizeof *made.sorted, by_piece);
    *out = made;
    return 0;
}

bool ids_find(const struct ids *ids, const char *piece, size_t length, uint32_t *id) {
    const struct id wanted = {piece, length, UINT32_MAX};
    size_t low = 0, high = ids->size; /* the last one of this piece stands before `low` */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_piece(&ids->sorted[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || ids->sorted[low - 1].length != length || memcmp(ids->sorted[low - 1].piece, piece, length) != 0)
        return false;
    *id = ids->sorted[low - 1].id;
    return true;
}
