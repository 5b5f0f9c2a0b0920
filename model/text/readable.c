#include "model/text/readable.h"
#include "model/base/file.h"
#include "model/base/reserve.h"
#include "model/text/character.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/uloc.h>
#include <unicode/ulocdata.h>
#include <unicode/uset.h>
#include <unistd.h>

/* ---- the letters of a language ---- */

/* Main letters in both cases, with those that the language knows from names and loans. NULL: ICU has none, or no memory. */
static USet *letters_of(const char *language) {
    char name[ULOC_FULLNAME_CAPACITY];
    UErrorCode status = U_ZERO_ERROR;
    int32_t parsed = 0;
    uloc_forLanguageTag(language, name, ULOC_FULLNAME_CAPACITY, &parsed, &status);
    ULocaleData *data = U_SUCCESS(status) ? ulocdata_open(name, &status) : NULL;
    USet *set = data ? ulocdata_getExemplarSet(data, NULL, USET_ADD_CASE_MAPPINGS, ULOCDATA_ES_STANDARD, &status) : NULL;
    ulocdata_close(data);
    return set;
}

/* ---- pieces ---- */

/* The only character of a piece, its mark apart; -1: it has none, or more. */
static int32_t only_character(const char *piece, const char *mark) {
    size_t marked = strlen(mark), length, next = 0;
    if (marked > 0 && strncmp(piece, mark, marked) == 0 && piece[marked])
        piece += marked;
    length = strlen(piece);
    if (length == 0)
        return -1;
    int32_t character = character_next(piece, length, &next);
    return next == length ? character : -1;
}

/* Characters that stand in longer pieces: the corpus had them often. NULL: no memory. */
static USet *common_characters(const struct tokenizer *tokenizer) {
    const char *mark = tokenizer_mark(tokenizer);
    size_t marked = strlen(mark);
    USet *set = uset_openEmpty();
    for (size_t id = 0; set && id < tokenizer_size(tokenizer); id++) {
        const char *piece = tokenizer_piece(tokenizer, (int)id);
        if (tokenizer_find(tokenizer, piece) < 0 || tokenizer_byte(tokenizer, (int)id) >= 0 || only_character(piece, mark) >= 0)
            continue;
        piece += marked > 0 && strncmp(piece, mark, marked) == 0 ? marked : 0;
        for (size_t length = strlen(piece), next = 0; next < length;) {
            int32_t c = character_next(piece, length, &next);
            if (c >= 0x80)
                uset_add(set, c);
        }
    }
    return set;
}

/* The sets of characters that decide whether one is known. */
struct knowledge {
    USet *letters, *common, *copied;
};

static bool is_known(const struct knowledge *knowledge, int32_t c) {
    uint32_t category = U_GET_GC_MASK(c);
    if (uset_contains(knowledge->copied, c))
        return true;
    if (category & U_GC_S_MASK)
        return false;
    if (c < 0x80)
        return c >= ' ';
    return uset_contains(knowledge->common, c) || (knowledge->letters && uset_contains(knowledge->letters, c)) || u_isdigit(c) ||
           (category & U_GC_Z_MASK) != 0;
}

/* ---- making it ---- */

/* The contents of opaque.json. json: NULL without the file. */
struct measured {
    json_t *json;
    const char *copied, *word, *sign;
};

static int read_string(const json_t *json, const char *key, const char **value, const char *path, struct error *err) {
    const json_t *found = json_object_get(json, key);
    if (!found)
        return 0;
    if (!json_is_string(found))
        return error_set(err, ERROR_FORMAT, "%s: %s must be a string", path, key);
    *value = json_string_value(found);
    return 0;
}

static int read_measured(const char *path, struct measured *measured, struct error *err) {
    enum { MOST_BYTES = 1 << 16 };
    char *text;
    size_t length;
    json_error_t where;
    *measured = (struct measured){NULL, "", "X", "*"};
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return 0;
    if (file_read(path, MOST_BYTES, &text, &length, err) != 0)
        return -1;
    measured->json = json_loadb(text, length, 0, &where);
    free(text);
    if (!measured->json || !json_is_object(measured->json))
        return error_set(err, ERROR_FORMAT, "%s: not a JSON object: %s", path, where.text);
    return read_string(measured->json, "copied", &measured->copied, path, err) != 0 ||
                   read_string(measured->json, "word", &measured->word, path, err) != 0 ||
                   read_string(measured->json, "sign", &measured->sign, path, err) != 0
               ? -1
               : 0;
}

static void add_characters(USet *set, const char *text) {
    for (size_t length = strlen(text), next = 0; next < length;)
        uset_add(set, character_next(text, length, &next));
}

/* The id of text as a piece of its own, with the mark or without; -1: there is none. */
static int find_piece(const struct tokenizer *tokenizer, bool marked, const char *text) {
    enum { MOST_BYTES = 32 };
    char piece[MOST_BYTES];
    int written = snprintf(piece, sizeof piece, "%s%s", marked ? tokenizer_mark(tokenizer) : "", text);
    return *text && written < MOST_BYTES ? tokenizer_find(tokenizer, piece) : -1;
}

/* False: one of the vocabularies does not have it. */
static bool choose_stand_in(const struct tokenizer *source, const struct tokenizer *target, const char *text,
                            struct stand_in *out) {
    struct stand_in found = {find_piece(source, true, text), find_piece(source, false, text), find_piece(target, true, text),
                             find_piece(target, false, text)};
    if (found.marked < 0 || found.target < 0)
        return false;
    found.unmarked = found.unmarked < 0 ? found.marked : found.unmarked;
    found.target_unmarked = found.target_unmarked < 0 ? found.target : found.target_unmarked;
    *out = found;
    return true;
}

static int mark_pieces(struct readable *readable, const struct tokenizer *tokenizer, const struct knowledge *knowledge,
                       struct error *err) {
    size_t size = tokenizer_size(tokenizer);
    readable->unreadable = calloc(size, sizeof *readable->unreadable);
    if (!readable->unreadable)
        return error_memory(err);
    for (size_t id = 0; id < size; id++) {
        int32_t only = only_character(tokenizer_piece(tokenizer, (int)id), tokenizer_mark(tokenizer));
        bool unknown = (int)id == tokenizer_unknown(tokenizer) || tokenizer_byte(tokenizer, (int)id) >= 0;
        readable->unreadable[id] = unknown || (only >= 0 && !is_known(knowledge, only));
    }
    return 0;
}

/* True if the tokenizer makes of this character a piece that cannot be read. */
static int is_lost(const struct readable *readable, const struct tokenizer *tokenizer, int32_t character, bool *lost,
                   struct error *err) {
    char text[8] = "a";
    size_t length = 1 + character_put(character, text + 1), count;
    struct arena arena;
    struct token *tokens;
    arena_init(&arena, 1024);
    text[length++] = 'a';
    int result = tokenizer_encode(tokenizer, text, length, NULL, &arena, &tokens, &count, err);
    *lost = false;
    for (size_t i = 0; result == 0 && i < count; i++)
        *lost = *lost || readable->unreadable[tokens[i].id];
    arena_done(&arena);
    return result;
}

static int choose_marks(struct readable *readable, const struct tokenizer *tokenizer, struct error *err) {
    struct respelling *respelling = &readable->respelling;
    for (size_t i = 0; preparation_mark(i) >= 0; i++) {
        if (is_lost(readable, tokenizer, preparation_mark(i), &respelling->marks[i], err) != 0)
            return -1;
        respelling->any = respelling->any || respelling->marks[i];
    }
    return 0;
}

int readable_init(struct readable *readable, const struct tokenizer *source, const struct tokenizer *target, const char *language,
                  const char *path, struct error *err) {
    *readable = (struct readable){0};
    if (reserve_fill(err) != 0)
        return -1;
    struct measured measured;
    struct knowledge knowledge = {letters_of(language), common_characters(source), uset_openEmpty()};
    int result = knowledge.common && knowledge.copied ? 0 : error_memory(err);
    if (read_measured(path, &measured, err) != 0)
        result = -1;
    if (result == 0) {
        add_characters(knowledge.copied, measured.copied);
        result = mark_pieces(readable, source, &knowledge, err);
    }
    if (result == 0)
        result = choose_marks(readable, source, err);
    if (result == 0) {
        int unknown = tokenizer_unknown(source);
        readable->stand_ins.word = (struct stand_in){unknown, unknown, tokenizer_unknown(target), tokenizer_unknown(target)};
        choose_stand_in(source, target, measured.word, &readable->stand_ins.word);
        readable->stand_ins.sign = readable->stand_ins.word;
        choose_stand_in(source, target, measured.sign, &readable->stand_ins.sign);
    }
    json_decref(measured.json);
    uset_close(knowledge.letters);
    uset_close(knowledge.common);
    uset_close(knowledge.copied);
    return result;
}

void readable_done(struct readable *readable) {
    free(readable->unreadable);
    readable->unreadable = NULL;
}

/* ---- using it ---- */

/* The runs found so far. */
struct holding {
    const char *text;
    size_t length;
    struct opaque_run *runs; /* [count] */
    size_t count, room;
    struct arena *arena;
};

/* Holds each visible character of text[begin, end), which cannot be read, with the run that it belongs to. */
static int hold_characters(struct holding *holding, size_t begin, size_t end) {
    for (size_t at = begin, next = begin; at < end; at = next) {
        int32_t c = character_next(holding->text, holding->length, &next);
        if (character_is_space(c) || u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT))
            continue;
        struct opaque_run *runs = arena_grow(holding->arena, holding->runs, holding->count, &holding->room, 1, sizeof *runs);
        if (!runs)
            return -1;
        holding->runs = runs;
        runs[holding->count] = opaque_around(holding->text, holding->length, at, next);
        struct opaque_run *last = holding->count > 0 ? &runs[holding->count - 1] : NULL;
        if (last && runs[holding->count].begin < last->end) { /* they overlap: one run */
            last->end = runs[holding->count].end > last->end ? runs[holding->count].end : last->end;
            next = last->end > next ? last->end : next;
        } else {
            next = runs[holding->count].end;
            holding->count++;
        }
    }
    return 0;
}

int readable_hold(const struct readable *readable, const char *text, size_t length, const struct token *tokens, size_t count,
                  struct opaque_runs *held, size_t *found, struct arena *arena, struct error *err) {
    struct holding holding = {.text = text, .length = length, .arena = arena};
    size_t next = 0, done = 0; /* next: of what is held; done: bytes that are in a run, or have been looked at */
    for (size_t i = 0; i < count; i++) {
        while (next < held->count && held->all[next].end <= tokens[i].begin)
            next++;
        bool inside = next < held->count && held->all[next].begin <= tokens[i].begin && tokens[i].begin < held->all[next].end;
        size_t begin = tokens[i].begin > done ? tokens[i].begin : done;
        if (inside || !readable->unreadable[tokens[i].id] || begin >= tokens[i].end)
            continue;
        if (hold_characters(&holding, begin, tokens[i].end) != 0)
            return error_memory(err);
        done = holding.count > 0 ? holding.runs[holding.count - 1].end : done;
    }
    *found = holding.count;
    return holding.count > 0 ? opaque_merge(held, text, holding.runs, holding.count, arena, err) : 0;
}
