#include "model/text/plain.h"
#include "model/text/character.h"
#include "model/text/vocabulary.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MARK    "\xef\xbf\xad" /* U+FFED: no space on this side */
#define SPACE   "\xe2\x96\x81" /* U+2581 */
#define UNKNOWN "\xe2\x81\x87" /* U+2047 */

enum { MARK_BYTES = sizeof MARK - 1 };

/* A token found in a text: its bytes, and what its piece is made of. */
struct cut {
    size_t begin, end;
    bool space;                   /* the piece is SPACE */
    bool joins_left, joins_right; /* the piece has a mark there */
};

/* A piece as it is printed. */
struct shown {
    const char *text;
    size_t length;
    bool joins_left, joins_right; /* no space on this side */
};

struct plain;

/* How text is cut and put together again. */
struct rule {
    /* The next token at or behind text[*at], moving *at behind it; false: there is none. */
    bool (*next)(const struct plain *plain, const char *text, size_t length, size_t *at, struct cut *cut);
    struct shown (*show)(const struct plain *plain, const char *piece);
};

struct plain {
    const struct rule *rule;
    struct tokenizer_options options;
    struct vocabulary vocabulary;
};

/* ---- words ---- */

static size_t skip_space(const char *text, size_t length, size_t at) {
    for (size_t next = at; next < length; at = next)
        if (!character_is_space(character_next(text, length, &next)))
            break;
    return at;
}

static bool stands_alone(const struct plain *plain, int32_t character) {
    return plain->options.punctuation && character_is_punctuation(character);
}

/* The end of the word of which a first character ends here. */
static size_t word_end(const struct plain *plain, const char *text, size_t length, size_t end) {
    for (size_t next = end; next < length; end = next) {
        int32_t character = character_next(text, length, &next);
        if (character_is_space(character) || stands_alone(plain, character))
            break;
    }
    return end;
}

/* Where punctuation touches its neighbours: always on the left, on the right unless that has its own mark. */
static void mark_cut(const struct plain *plain, const char *text, size_t length, struct cut *cut) {
    size_t before = cut->begin, after = cut->end;
    cut->joins_left = before > 0 && !character_is_space(character_previous(text, &before));
    if (after == length)
        return;
    int32_t right = character_next(text, length, &after);
    cut->joins_right = !character_is_space(right) && !stands_alone(plain, right);
}

static bool next_word(const struct plain *plain, const char *text, size_t length, size_t *at, struct cut *cut) {
    *cut = (struct cut){.begin = skip_space(text, length, *at)};
    if (cut->begin == length)
        return false;
    cut->end = cut->begin;
    if (stands_alone(plain, character_next(text, length, &cut->end)))
        mark_cut(plain, text, length, cut);
    else
        cut->end = word_end(plain, text, length, cut->end);
    *at = cut->end;
    return true;
}

/* A piece that is nothing but a mark is a character of the text. */
static struct shown show_word(const struct plain *plain, const char *piece) {
    struct shown shown = {.text = piece, .length = strlen(piece)};
    if (!plain->options.punctuation)
        return shown;
    shown.joins_left = shown.length > MARK_BYTES && memcmp(piece, MARK, MARK_BYTES) == 0;
    if (shown.joins_left) {
        shown.text += MARK_BYTES;
        shown.length -= MARK_BYTES;
    }
    shown.joins_right = shown.length > MARK_BYTES && memcmp(shown.text + shown.length - MARK_BYTES, MARK, MARK_BYTES) == 0;
    if (shown.joins_right)
        shown.length -= MARK_BYTES;
    return shown;
}

/* ---- characters ---- */

/* White space at the ends of the text is no token. */
static bool next_character(const struct plain *plain, const char *text, size_t length, size_t *at, struct cut *cut) {
    (void)plain;
    size_t visible = skip_space(text, length, *at);
    *cut = (struct cut){.begin = *at, .end = visible, .space = visible > *at && *at > 0};
    if (visible == length)
        return false;
    if (!cut->space) {
        cut->begin = visible;
        cut->end = visible;
        character_next(text, length, &cut->end);
    }
    *at = cut->end;
    return true;
}

static struct shown show_character(const struct plain *plain, const char *piece) {
    (void)plain;
    const char *text = strcmp(piece, SPACE) == 0 ? " " : piece;
    return (struct shown){.text = text, .length = strlen(text), .joins_left = true, .joins_right = true};
}

/* ---- opening ---- */

static void *open_plain(const struct rule *rule, const char *path, const struct tokenizer_options *options, struct error *err) {
    struct plain *plain = malloc(sizeof *plain);
    if (plain == NULL) {
        error_memory(err);
        return NULL;
    }
    *plain = (struct plain){.rule = rule, .options = *options};
    if (vocabulary_read(&plain->vocabulary, path, err) == 0)
        return plain;
    free(plain);
    return NULL;
}

void *plain_open_words(const char *path, const struct tokenizer_options *options, struct error *err) {
    static const struct rule words = {next_word, show_word};
    return open_plain(&words, path, options, err);
}

/* No text becomes a longer piece. */
static int check_characters(const struct vocabulary *vocabulary, const char *path, struct error *err) {
    for (size_t id = 0; id < vocabulary->size; id++) {
        const char *piece = vocabulary->pieces[id];
        size_t length = strlen(piece), next = 0;
        character_next(piece, length, &next);
        if (next != length && !vocabulary_is_special(vocabulary, (int)id))
            return error_set(err, ERROR_FORMAT, "%s: line %zu is not one character", path, id + 1);
    }
    return 0;
}

void *plain_open_characters(const char *path, const struct tokenizer_options *options, struct error *err) {
    static const struct rule characters = {next_character, show_character};
    struct plain *plain = open_plain(&characters, path, options, err);
    if (plain != NULL && check_characters(&plain->vocabulary, path, err) != 0) {
        plain_free(plain);
        return NULL;
    }
    return plain;
}

void plain_free(void *model) {
    struct plain *plain = model;
    if (plain == NULL)
        return;
    vocabulary_done(&plain->vocabulary);
    free(plain);
}

size_t plain_size(const void *model) {
    return ((const struct plain *)model)->vocabulary.size;
}

static int special_of(const struct plain *plain, int which) {
    return plain->vocabulary.special[which];
}

int plain_unknown(const void *model) {
    return special_of(model, VOCABULARY_UNKNOWN);
}

int plain_begin(const void *model) {
    return special_of(model, VOCABULARY_BEGIN);
}

int plain_end(const void *model) {
    return special_of(model, VOCABULARY_END);
}

const char *plain_piece(const void *model, int id) {
    return ((const struct plain *)model)->vocabulary.pieces[id];
}

int plain_find(const void *model, const char *piece) {
    return vocabulary_find(&((const struct plain *)model)->vocabulary, piece);
}

/* ---- text to tokens ---- */

/* The piece of a cut, NUL-terminated; returns its length. Lower case may take more bytes, three for two at most. */
static size_t spell(const struct plain *plain, const char *text, const struct cut *cut, char *to) {
    size_t at = 0;
    if (cut->joins_left || cut->space) {
        memcpy(to, cut->space ? SPACE : MARK, MARK_BYTES);
        at = MARK_BYTES;
    }
    for (size_t next = cut->begin, from; !cut->space && next < cut->end;) {
        from = next;
        int32_t character = character_next(text, cut->end, &next);
        if (plain->options.lowercase && character >= 0)
            at += character_put(character_lower(character), to + at);
        else
            for (; from < next; from++)
                to[at++] = text[from];
    }
    if (cut->joins_right) {
        memcpy(to + at, MARK, MARK_BYTES);
        at += MARK_BYTES;
    }
    to[at] = '\0';
    return at;
}

/* A known piece is the vocabulary's own string. */
static int make_token(const struct plain *plain, const char *text, const struct cut *cut, struct arena *arena, struct token *token,
                      struct error *err) {
    struct arena_mark mark = arena_mark(arena);
    char *piece = arena_alloc(arena, 2 * (cut->end - cut->begin) + 2 * MARK_BYTES + 1, 1);
    if (piece == NULL)
        return error_memory(err);
    size_t length = spell(plain, text, cut, piece);
    int id = strlen(piece) == length ? plain_find(plain, piece) : -1; /* a text may hold NUL, a piece none */
    *token = (struct token){.id = plain_unknown(plain), .piece = piece, .begin = cut->begin, .end = cut->end};
    if (id >= 0) {
        arena_release(arena, mark);
        token->id = id;
        token->piece = plain_piece(plain, id);
    }
    return 0;
}

int plain_encode(const void *model, const char *text, size_t length, struct arena *arena, struct token **tokens, size_t *count,
                 struct error *err) {
    const struct plain *plain = model;
    struct cut cut;
    size_t found = 0;
    for (size_t at = 0; plain->rule->next(plain, text, length, &at, &cut);)
        found++;
    struct token *made = arena_alloc(arena, found, sizeof *made);
    if (made == NULL)
        return error_memory(err);
    for (size_t at = 0, i = 0; plain->rule->next(plain, text, length, &at, &cut); i++)
        if (make_token(plain, text, &cut, arena, &made[i], err) != 0)
            return -1;
    *tokens = made;
    *count = found;
    return 0;
}

/* ---- tokens to text ---- */

static struct shown plain_show(const struct plain *plain, const struct token *token) {
    if (token->piece != NULL)
        return plain->rule->show(plain, token->piece);
    if (!vocabulary_is_special(&plain->vocabulary, token->id))
        return plain->rule->show(plain, plain_piece(plain, token->id));
    struct shown shown = plain->rule->show(plain, "");
    shown.text = token->id == plain_unknown(plain) ? UNKNOWN : "";
    shown.length = strlen(shown.text);
    return shown;
}

int plain_decode(const void *model, struct token *tokens, size_t count, struct arena *arena, char **text, struct error *err) {
    const struct plain *plain = model;
    size_t size = 1, at = 0;
    for (size_t i = 0; i < count; i++)
        size += plain_show(plain, &tokens[i]).length + 1;
    char *out = arena_alloc(arena, size, 1);
    if (out == NULL)
        return error_memory(err);
    bool joined = true; /* no space at the beginning */
    for (size_t i = 0; i < count; i++) {
        struct shown shown = plain_show(plain, &tokens[i]);
        if (!joined && !shown.joins_left && shown.length > 0)
            out[at++] = ' ';
        memcpy(out + at, shown.text, shown.length);
        tokens[i].begin = at;
        tokens[i].end = at += shown.length;
        joined = shown.length > 0 ? shown.joins_right : joined;
    }
    out[at] = '\0';
    *text = out;
    return 0;
}
