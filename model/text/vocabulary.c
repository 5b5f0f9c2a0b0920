/* Tokenizers whose ids come from a vocabulary file: UTF-8 text, one token a line, whose id is the number of the line, from 0; every
 * line ends with a line feed. No token is empty, contains ASCII white space (a no-break space is a character of its word here) or
 * comes twice. The tokens <unk>, </s> and <s> are special, wherever they stand; only <unk> is required.
 *
 * words: text is cut at white space. With `punctuation`, every character of Unicode's categories P and S is a separate token,
 *     with a mark, U+FFED, on each side where it touches its neighbour: Don't! is Don, ￭'￭, t, ￭!. Between two such characters the
 *     second has the mark. Decoding puts a space between tokens unless a mark forbids it, which gives the text back except for
 *     the amount of white space.
 * characters: one token a character; U+2581 stands for white space between them.
 * numbered: SentencePiece cuts, and the list gives the ids. The list may lack some pieces of the SentencePiece file and have others
 *     (OPUS-MT's models have one list for two SentencePiece files). A piece that the list lacks is unknown; one that only the list
 *     has is printed as it stands.
 *
 * With `lowercase`, pieces of words and characters are lower case, character by character (Unicode's simple mapping). <unk> is
 * decoded as U+2047, <s> and </s> as nothing. weights/model/tokenizer.py does the same, and tests/data/plain_tokens.json holds both
 * to it. */
#include "model/base/file.h"
#include "model/text/character.h"
#include "model/text/tokenizer.h"
#include <stdlib.h>
#include <string.h>

#define MARK    "\xef\xbf\xad" /* U+FFED: no space on this side */
#define SPACE   "\xe2\x96\x81" /* U+2581 */
#define UNKNOWN "\xe2\x81\x87" /* U+2047 */

enum { MARK_BYTES = sizeof MARK - 1 };
enum { MAX_BYTES = 1 << 26, MIN_SIZE = 3, MAX_SIZE = 1 << 20 };

struct vocabulary {
    struct tokenizer_ids ids;
    const char **pieces; /* [size], within bytes */
    char *bytes;         /* the file, its line feeds turned to NUL */
    int *order;          /* [size] the ids, by piece */
    bool characters;     /* a token is one character, not one word */
    struct tokenizer_options options;
    void *cutter;    /* numbered: the SentencePiece model, or NULL */
    int *cutter_ids; /* numbered: [size] each piece's id in that model, or -1 */
};

/* ---- the file ---- */

/* Compares by piece, and equal pieces by id. */
static int compare_ids(const void *a, const void *b, void *vocabulary) {
    const struct vocabulary *v = vocabulary;
    int one = *(const int *)a, other = *(const int *)b, side = strcmp(v->pieces[one], v->pieces[other]);
    return side != 0 ? side : one - other;
}

/* The id of any token, or -1. */
static int find_line(const struct vocabulary *v, const char *piece) {
    size_t low = 0, high = v->ids.size;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int id = v->order[middle], side = strcmp(piece, v->pieces[id]);
        if (side == 0)
            return id;
        if (side < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

static int read_lines(struct vocabulary *v, const char *path, struct error *err) {
    size_t bytes, size = 0;
    if (file_read(path, MAX_BYTES, &v->bytes, &bytes, err) != 0)
        return -1;
    for (size_t i = 0; i < bytes; i++)
        size += v->bytes[i] == '\n';
    v->ids.size = size;
    if (bytes > 0 && v->bytes[bytes - 1] != '\n')
        return error_set(err, ERROR_FORMAT, "%s: the last line does not end with a line feed", path);
    if (size < MIN_SIZE || size > MAX_SIZE)
        return error_set(err, ERROR_FORMAT, "%s: a vocabulary must have %d to %d lines, got %zu", path, (int)MIN_SIZE,
                         (int)MAX_SIZE, size);
    v->pieces = calloc(size, sizeof *v->pieces);
    v->order = calloc(size, sizeof *v->order);
    if (v->pieces == NULL || v->order == NULL)
        return error_memory(err);

    char *at = v->bytes;
    for (size_t id = 0; id < size; id++) {
        char *end = strchr(at, '\n');
        if (end == NULL) /* strchr stopped at a NUL, because there are as many line feeds as lines */
            return error_set(err, ERROR_FORMAT, "%s: line %zu contains a NUL", path, id + 1);
        *end = '\0';
        if (end == at)
            return error_set(err, ERROR_FORMAT, "%s: line %zu is empty", path, id + 1);
        if (strpbrk(at, "\t\n\v\f\r ") != NULL)
            return error_set(err, ERROR_FORMAT, "%s: line %zu contains white space", path, id + 1);
        v->pieces[id] = at;
        v->order[id] = (int)id;
        at = end + 1;
    }

    qsort_r(v->order, size, sizeof *v->order, compare_ids, v);
    for (size_t i = 1; i < size; i++)
        if (strcmp(v->pieces[v->order[i]], v->pieces[v->order[i - 1]]) == 0)
            return error_set(err, ERROR_FORMAT, "%s: lines %d and %d are the same", path, v->order[i - 1] + 1, v->order[i] + 1);
    v->ids.unknown = find_line(v, "<unk>");
    v->ids.begin = find_line(v, "<s>");
    v->ids.end = find_line(v, "</s>"); /* not every model needs <s> and </s>; those that do ask for them */
    if (v->ids.unknown < 0)
        return error_set(err, ERROR_FORMAT, "%s: <unk> is missing", path);
    return 0;
}

static void vocabulary_free(void *model) {
    struct vocabulary *v = model;
    if (v == NULL)
        return;
    if (v->cutter != NULL)
        tokenizer_sentencepiece.free(v->cutter);
    free(v->pieces);
    free(v->order);
    free(v->bytes);
    free(v->cutter_ids);
    free(v);
}

static struct vocabulary *vocabulary_open(const char *path, const struct tokenizer_options *options, struct tokenizer_ids *ids,
                                          struct error *err) {
    struct vocabulary *v = calloc(1, sizeof *v);
    if (v == NULL) {
        error_memory(err);
        return NULL;
    }
    v->options = *options;
    if (read_lines(v, path, err) != 0) {
        vocabulary_free(v);
        return NULL;
    }
    *ids = v->ids;
    return v;
}

static bool is_special(const struct vocabulary *v, int id) {
    return id == v->ids.unknown || id == v->ids.begin || id == v->ids.end;
}

static const char *vocabulary_piece(const void *model, int id) {
    return ((const struct vocabulary *)model)->pieces[id];
}

static int vocabulary_find(const void *model, const char *piece) {
    int id = find_line(model, piece);
    return is_special(model, id) ? -1 : id;
}

/* ---- words and characters: text to tokens ---- */

static void *open_words(const char *path, const struct tokenizer_options *options, struct tokenizer_ids *ids, struct error *err) {
    return vocabulary_open(path, options, ids, err);
}

static void *open_characters(const char *path, const struct tokenizer_options *options, struct tokenizer_ids *ids,
                             struct error *err) {
    struct vocabulary *v = vocabulary_open(path, options, ids, err);
    for (size_t id = 0; v != NULL && id < v->ids.size; id++) {
        size_t length = strlen(v->pieces[id]), next = 0;
        character_next(v->pieces[id], length, &next);
        if (next == length || is_special(v, (int)id))
            continue;
        error_set(err, ERROR_FORMAT, "%s: line %zu is not one character", path, id + 1);
        vocabulary_free(v);
        return NULL;
    }
    if (v != NULL)
        v->characters = true;
    return v;
}

/* The part of a text that becomes a token, and how its piece is made. */
struct cut {
    size_t begin, end;
    bool space;                   /* the piece is SPACE */
    bool joins_left, joins_right; /* the piece has a mark there */
};

static bool stands_alone(const struct vocabulary *v, int32_t character) {
    return v->options.punctuation && character_is_punctuation(character);
}

/* Finds the next token at or after text[*at] and moves *at to its end. False: there is none. White space at the ends of a text is
 * not a token. */
static bool next_cut(const struct vocabulary *v, const char *text, size_t length, size_t *at, struct cut *cut) {
    size_t visible = *at;
    for (size_t next = visible; next < length && character_is_space(character_next(text, length, &next));)
        visible = next;
    *cut = (struct cut){.begin = *at, .end = visible, .space = v->characters && visible > *at && *at > 0};
    if (visible == length)
        return false;
    if (!cut->space) {
        cut->begin = cut->end = visible;
        int32_t first = character_next(text, length, &cut->end);
        if (!v->characters && stands_alone(v, first)) {
            /* the mark touches its neighbours: always on the left, on the right unless that neighbour has its own mark */
            size_t before = cut->begin, after = cut->end;
            cut->joins_left = before > 0 && !character_is_space(character_previous(text, &before));
            if (after < length) {
                int32_t right = character_next(text, length, &after);
                cut->joins_right = !character_is_space(right) && !stands_alone(v, right);
            }
        } else if (!v->characters) {
            for (size_t next = cut->end; next < length; cut->end = next) {
                int32_t character = character_next(text, length, &next);
                if (character_is_space(character) || stands_alone(v, character))
                    break;
            }
        }
    }
    *at = cut->end;
    return true;
}

/* Writes the piece of a cut, NUL-terminated, and returns its length. Lower case may take more bytes, three for two at most. */
static size_t spell(const struct vocabulary *v, const char *text, const struct cut *cut, char *to) {
    size_t at = 0;
    if (cut->joins_left || cut->space) {
        memcpy(to, cut->space ? SPACE : MARK, MARK_BYTES);
        at = MARK_BYTES;
    }
    for (size_t next = cut->begin, from; !cut->space && next < cut->end;) {
        from = next;
        int32_t character = character_next(text, cut->end, &next);
        if (v->options.lowercase && character >= 0)
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

static int list_encode(const void *model, const char *text, size_t length, struct arena *arena, struct token **tokens,
                       size_t *count, struct error *err) {
    const struct vocabulary *v = model;
    struct cut cut;
    size_t found = 0;
    for (size_t at = 0; next_cut(v, text, length, &at, &cut);)
        found++;
    struct token *made = arena_alloc(arena, found, sizeof *made);
    if (made == NULL)
        return error_memory(err);
    for (size_t at = 0, i = 0; next_cut(v, text, length, &at, &cut); i++) {
        struct arena_mark mark = arena_mark(arena);
        char *piece = arena_alloc(arena, 2 * (cut.end - cut.begin) + 2 * MARK_BYTES + 1, 1);
        if (piece == NULL)
            return error_memory(err);
        size_t spelled = spell(v, text, &cut, piece);
        int id = strlen(piece) == spelled ? vocabulary_find(v, piece) : -1; /* a text may contain NUL, a piece does not */
        made[i] = (struct token){.id = v->ids.unknown, .piece = piece, .begin = cut.begin, .end = cut.end};
        if (id >= 0) { /* the vocabulary has the string */
            arena_release(arena, mark);
            made[i].id = id;
            made[i].piece = v->pieces[id];
        }
    }
    *tokens = made;
    *count = found;
    return 0;
}

/* ---- words and characters: tokens to text ---- */

/* A piece as it is printed. */
struct shown {
    const char *text;
    size_t length;
    bool joins_left, joins_right; /* no space on this side */
};

static struct shown show(const struct vocabulary *v, const struct token *token) {
    bool special = token->piece == NULL && is_special(v, token->id);
    const char *piece = special ? (token->id == v->ids.unknown ? UNKNOWN : "") : token->piece ? token->piece : v->pieces[token->id];
    struct shown shown = {piece, strlen(piece), v->characters, v->characters};
    if (special)
        return shown;
    if (v->characters && strcmp(piece, SPACE) == 0) {
        shown.text = " ";
        shown.length = 1;
    } else if (!v->characters && v->options.punctuation) { /* a piece that is nothing but a mark is a character of the text */
        shown.joins_left = shown.length > MARK_BYTES && memcmp(piece, MARK, MARK_BYTES) == 0;
        if (shown.joins_left) {
            shown.text += MARK_BYTES;
            shown.length -= MARK_BYTES;
        }
        shown.joins_right = shown.length > MARK_BYTES && memcmp(shown.text + shown.length - MARK_BYTES, MARK, MARK_BYTES) == 0;
        if (shown.joins_right)
            shown.length -= MARK_BYTES;
    }
    return shown;
}

static int list_decode(const void *model, struct token *tokens, size_t count, struct arena *arena, char **text, struct error *err) {
    const struct vocabulary *v = model;
    size_t size = 1, at = 0;
    for (size_t i = 0; i < count; i++)
        size += show(v, &tokens[i]).length + 1;
    char *out = arena_alloc(arena, size, 1);
    if (out == NULL)
        return error_memory(err);
    bool joined = true; /* no space at the beginning */
    for (size_t i = 0; i < count; i++) {
        struct shown shown = show(v, &tokens[i]);
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

const struct tokenizer_kind tokenizer_words = {"words",         "",          open_words, vocabulary_free, vocabulary_piece,
                                               vocabulary_find, list_encode, list_decode};
const struct tokenizer_kind tokenizer_characters = {
    "characters", "", open_characters, vocabulary_free, vocabulary_piece, vocabulary_find, list_encode, list_decode};

/* ---- numbered ---- */

static void *open_numbered(const char *path, const struct tokenizer_options *options, struct tokenizer_ids *ids,
                           struct error *err) {
    struct tokenizer_ids cutter_ids;
    void *cutter = tokenizer_sentencepiece.open(path, options, &cutter_ids, err);
    struct vocabulary *v = cutter ? vocabulary_open(options->pieces, options, ids, err) : NULL;
    if (v == NULL) {
        if (cutter != NULL)
            tokenizer_sentencepiece.free(cutter);
        return NULL;
    }
    v->cutter = cutter;
    v->cutter_ids = calloc(v->ids.size, sizeof *v->cutter_ids);
    if (v->cutter_ids == NULL) {
        error_memory(err);
        vocabulary_free(v);
        return NULL;
    }
    for (size_t i = 0; i < v->ids.size; i++)
        v->cutter_ids[i] = tokenizer_sentencepiece.find(cutter, v->pieces[i]);
    v->cutter_ids[v->ids.unknown] = cutter_ids.unknown;
    if (v->ids.begin >= 0)
        v->cutter_ids[v->ids.begin] = cutter_ids.begin;
    if (v->ids.end >= 0)
        v->cutter_ids[v->ids.end] = cutter_ids.end;
    return v;
}

static int numbered_encode(const void *model, const char *text, size_t length, struct arena *arena, struct token **tokens,
                           size_t *count, struct error *err) {
    const struct vocabulary *v = model;
    if (tokenizer_sentencepiece.encode(v->cutter, text, length, arena, tokens, count, err) != 0)
        return -1;
    for (size_t i = 0; i < *count; i++) {
        int id = vocabulary_find(v, (*tokens)[i].piece);
        (*tokens)[i].id = id >= 0 ? id : v->ids.unknown;
    }
    return 0;
}

/* The SentencePiece model gets each token by its own id, or by the piece if it does not have that. */
static int numbered_decode(const void *model, struct token *tokens, size_t count, struct arena *arena, char **text,
                           struct error *err) {
    const struct vocabulary *v = model;
    struct token *own = arena_alloc(arena, count, sizeof *own);
    if (own == NULL)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        own[i] = tokens[i];
        if (tokens[i].piece == NULL && v->cutter_ids[tokens[i].id] >= 0)
            own[i].id = v->cutter_ids[tokens[i].id];
        else if (tokens[i].piece == NULL)
            own[i].piece = v->pieces[tokens[i].id];
    }
    if (tokenizer_sentencepiece.decode(v->cutter, own, count, arena, text, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        tokens[i].begin = own[i].begin;
        tokens[i].end = own[i].end;
    }
    return 0;
}

const struct tokenizer_kind tokenizer_numbered = {"sentencepiece",  "\u2581",        open_numbered,   vocabulary_free,
                                                  vocabulary_piece, vocabulary_find, numbered_encode, numbered_decode};
