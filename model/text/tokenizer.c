/* This file hides how a text is read: the steps that change it before the vocabulary's method
 * splits it, how tokens are mapped back to the bytes of the original text, and the vocabularies
 * that are lists. */
#include "model/text/tokenizer.h"
#include "model/base/file.h"
#include "model/base/utf8.h"
#include "model/text/spans.h"
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- vocabularies that are lists ----
 * Ids come from a vocabulary file: UTF-8 text, one token per line, whose id is the number of the
 * line, from 0; every line ends with a line feed. No token is empty, contains ASCII white space (a
 * no-break space is a character of its word here) or occurs twice. The tokens <unk>, </s> and <s>
 * are special, wherever they stand; only <unk> is required.
 *
 * words: text is cut at white space. With `punctuation`, every character of Unicode's categories P
 * and S is a separate token, with a mark, U+FFED, on each side where it touches its neighbour:
 * Don't! is Don, ￭'￭, t, ￭!. Between two such characters the second has the mark. Decoding puts a
 * space between tokens unless a mark forbids it, which gives the text back except for the amount of
 * white space. characters: each character is a token; U+2581 stands for white space between them.
 * numbered: SentencePiece cuts, and the list gives the ids. The list may lack some pieces of the
 * SentencePiece file and have others (OPUS-MT's models have one list for two SentencePiece files).
 * A piece that the list lacks is unknown; one that only the list has is printed as it stands.
 *
 * With `lowercase`, pieces of words and characters are lower case, character by character
 * (Unicode's simple mapping). <unk> is decoded as U+2047, <s> and </s> as nothing.
 * weights/model/tokenizer.py does the same; tests/data/plain_tokens.json has examples for both. */

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

/* Compares by piece, and equal pieces by id. */
static int compare_ids(const void *a, const void *b, void *vocabulary) {
    const struct vocabulary *v = vocabulary;
    int one = *(const int *)a, other = *(const int *)b,
        side = strcmp(v->pieces[one], v->pieces[other]);
    return side != 0 ? side : one - other;
}

/* Returns the id of a token, special or not, or -1. */
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
        return error_set(err, ERROR_FORMAT, "%s: the last line does not end with a line feed",
                         path);
    if (size < MIN_SIZE || size > MAX_SIZE)
        return error_set(err, ERROR_FORMAT, "%s: a vocabulary must have %d to %d lines, got %zu",
                         path, (int)MIN_SIZE, (int)MAX_SIZE, size);
    v->pieces = calloc(size, sizeof *v->pieces);
    v->order = calloc(size, sizeof *v->order);
    if (v->pieces == NULL || v->order == NULL)
        return error_memory(err);

    char *at = v->bytes;
    for (size_t id = 0; id < size; id++) {
        char *end = strchr(at, '\n');
        if (end ==
            NULL) /* strchr stopped at a NUL, because there are as many line feeds as lines */
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
            return error_set(err, ERROR_FORMAT, "%s: lines %d and %d are the same", path,
                             v->order[i - 1] + 1, v->order[i] + 1);
    v->ids.unknown = find_line(v, "<unk>");
    v->ids.begin = find_line(v, "<s>");
    v->ids.end =
        find_line(v, "</s>"); /* not every model needs <s> and </s>; those that do ask for them */
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

static void *open_words(const char *path, const struct tokenizer_options *options,
                        struct tokenizer_ids *ids, struct error *err) {
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

static bool vocabulary_is_text(const void *model, int id) {
    const struct vocabulary *v = model;
    return id != v->ids.unknown && id != v->ids.begin && id != v->ids.end;
}

static const char *vocabulary_piece(const void *model, int id) {
    return ((const struct vocabulary *)model)->pieces[id];
}

static int vocabulary_find(const void *model, const char *piece) {
    int id = find_line(model, piece);
    return vocabulary_is_text(model, id) ? id : -1;
}

static void *open_characters(const char *path, const struct tokenizer_options *options,
                             struct tokenizer_ids *ids, struct error *err) {
    struct vocabulary *v = open_words(path, options, ids, err);
    for (size_t id = 0; v != NULL && id < v->ids.size; id++) {
        size_t length = strlen(v->pieces[id]), next = 0;
        character_next(v->pieces[id], length, &next);
        if (next == length || !vocabulary_is_text(v, (int)id))
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

/* Finds the next token at or after text[*at] and moves *at to its end. Returns false if there is
 * none. White space at the ends of a text is not a token. */
static bool next_cut(const struct vocabulary *v, const char *text, size_t length, size_t *at,
                     struct cut *cut) {
    size_t visible = *at;
    for (size_t next = visible;
         next < length && character_is_space(character_next(text, length, &next));)
        visible = next;
    *cut = (struct cut){
        .begin = *at, .end = visible, .space = v->characters && visible > *at && *at > 0};
    if (visible == length)
        return false;
    if (!cut->space) {
        cut->begin = cut->end = visible;
        int32_t first = character_next(text, length, &cut->end);
        if (!v->characters && stands_alone(v, first)) {
            /* the piece has a mark towards a left neighbour, and towards a right one that has no
             * mark itself */
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

static int list_encode(const void *model, struct bytes bytes, struct arena *arena,
                       struct token_list *out, struct error *err) {
    const struct vocabulary *v = model;
    const char *text = bytes.start;
    size_t length = bytes.length;
    struct cut cut;
    size_t found = 0;
    for (size_t at = 0; next_cut(v, text, length, &at, &cut);)
        found++;
    struct token *made = arena_alloc(arena, found, sizeof *made);
    if (made == NULL)
        return error_memory(err);
    for (size_t at = 0, i = 0; next_cut(v, text, length, &at, &cut); i++) {
        struct arena_mark mark = arena_mark(arena);
        size_t spelled = 0; /* lower case may take more bytes, three for two at most */
        char *piece = arena_alloc(arena, 2 * (cut.end - cut.begin) + 2 * MARK_BYTES + 1, 1);
        if (piece == NULL)
            return error_memory(err);
        if (cut.joins_left || cut.space) {
            memcpy(piece, cut.space ? SPACE : MARK, MARK_BYTES);
            spelled = MARK_BYTES;
        }
        for (size_t next = cut.begin; !cut.space && next < cut.end;) {
            size_t from = next;
            int32_t character = character_next(text, cut.end, &next);
            if (v->options.lowercase && character >= 0) {
                spelled += character_put(character_lower(character), piece + spelled);
            } else {
                memcpy(piece + spelled, text + from, next - from);
                spelled += next - from;
            }
        }
        if (cut.joins_right) {
            memcpy(piece + spelled, MARK, MARK_BYTES);
            spelled += MARK_BYTES;
        }
        piece[spelled] = '\0';

        int id = strlen(piece) == spelled ? vocabulary_find(v, piece)
                                          : -1; /* a text may contain NUL, but no piece does */
        made[i] = (struct token){
            .id = v->ids.unknown, .piece = piece, .begin = cut.begin, .end = cut.end};
        if (id >= 0) { /* the vocabulary has the string */
            arena_release(arena, mark);
            made[i].id = id;
            made[i].piece = v->pieces[id];
        }
    }
    *out = (struct token_list){.all = made, .count = found};
    return 0;
}

/* A piece as it is printed. */
struct shown {
    const char *text;
    size_t length;
    bool joins_left, joins_right; /* no space on this side */
};

static struct shown show(const struct vocabulary *v, const struct token *token) {
    bool special = token->piece == NULL && !vocabulary_is_text(v, token->id);
    const char *piece = special        ? (token->id == v->ids.unknown ? UNKNOWN : "")
                        : token->piece ? token->piece
                                       : v->pieces[token->id];
    struct shown shown = {piece, strlen(piece), v->characters, v->characters};
    if (special)
        return shown;
    if (v->characters && strcmp(piece, SPACE) == 0) {
        shown.text = " ";
        shown.length = 1;
    } else if (!v->characters && v->options.punctuation) { /* a piece that consists of a mark alone
                                                              is a character of the text */
        shown.joins_left = shown.length > MARK_BYTES && memcmp(piece, MARK, MARK_BYTES) == 0;
        if (shown.joins_left) {
            shown.text += MARK_BYTES;
            shown.length -= MARK_BYTES;
        }
        shown.joins_right = shown.length > MARK_BYTES &&
                            memcmp(shown.text + shown.length - MARK_BYTES, MARK, MARK_BYTES) == 0;
        if (shown.joins_right)
            shown.length -= MARK_BYTES;
    }
    return shown;
}

static int list_decode(const void *model, struct token *tokens, size_t count, struct arena *arena,
                       char **text, struct error *err) {
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

static const struct tokenizer_kind tokenizer_words = {
    "",          open_words, vocabulary_free, vocabulary_piece, vocabulary_is_text, vocabulary_find,
    list_encode, list_decode};
static const struct tokenizer_kind tokenizer_characters = {"",
                                                           open_characters,
                                                           vocabulary_free,
                                                           vocabulary_piece,
                                                           vocabulary_is_text,
                                                           vocabulary_find,
                                                           list_encode,
                                                           list_decode};

static void *open_numbered(const char *path, const struct tokenizer_options *options,
                           struct tokenizer_ids *ids, struct error *err) {
    struct tokenizer_ids cutter_ids;
    void *cutter = tokenizer_sentencepiece.open(path, options, &cutter_ids, err);
    struct vocabulary *v = cutter ? open_words(options->pieces, options, ids, err) : NULL;
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

static int numbered_encode(const void *model, struct bytes text, struct arena *arena,
                           struct token_list *out, struct error *err) {
    const struct vocabulary *v = model;
    if (tokenizer_sentencepiece.encode(v->cutter, text, arena, out, err) != 0)
        return -1;
    for (size_t i = 0; i < out->count; i++) {
        int id = vocabulary_find(v, out->all[i].piece);
        out->all[i].id = id >= 0 ? id : v->ids.unknown;
    }
    return 0;
}

/* Gives each token to the SentencePiece model by that model's id, or by its piece if the model
 * lacks the piece. */
static int numbered_decode(const void *model, struct token *tokens, size_t count,
                           struct arena *arena, char **text, struct error *err) {
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

static const struct tokenizer_kind tokenizer_numbered = {
    "\u2581",           open_numbered,   vocabulary_free, vocabulary_piece,
    vocabulary_is_text, vocabulary_find, numbered_encode, numbered_decode};

/* ---- tokenizers ---- */

struct tokenizer {
    const struct tokenizer_kind *kind;
    void *model;
    struct tokenizer_ids ids;
    bool prepares; /* text, before the model reads it */
    bool lowers;   /* text in capitals */
    bool lent;     /* another tokenizer owns the model */
};

struct tokenizer *tokenizer_open(const char *name, const char *path,
                                 const struct tokenizer_options *options, struct error *err) {
    static const struct tokenizer_options none = {0};
    static const struct row {
        const char *name;
        const struct tokenizer_kind *kind;
    } kinds[] = {{"sentencepiece", &tokenizer_sentencepiece},
                 {"words", &tokenizer_words},
                 {"characters", &tokenizer_characters}};
    const struct row *row = TABLE_FIND(kinds, "tokenizer.type", name, err);
    if (row == NULL)
        return NULL;
    if (options == NULL)
        options = &none;
    struct tokenizer *t = malloc(sizeof *t);
    if (t == NULL) {
        error_memory(err);
        return NULL;
    }
    const struct tokenizer_kind *kind = options->pieces != NULL ? &tokenizer_numbered : row->kind;
    *t = (struct tokenizer){.kind = kind, .prepares = options->prepared, .lowers = options->lowers};
    t->model = kind->open(path, options, &t->ids, err);
    bool good = t->model != NULL;
    for (size_t id = 0; good && id < t->ids.size; id++) { /* pieces go into JSON as they are */
        const char *piece = kind->piece(t->model, (int)id);
        good = utf8_valid(piece, strlen(piece));
        if (!good)
            error_set(err, ERROR_FORMAT, "%s: piece %zu is not valid UTF-8", path, id);
    }
    if (good)
        return t;
    tokenizer_free(t);
    return NULL;
}

struct tokenizer *tokenizer_share(const struct tokenizer *tokenizer,
                                  const struct tokenizer_options *options, struct error *err) {
    struct tokenizer *shared = malloc(sizeof *shared);
    if (shared == NULL) {
        error_memory(err);
        return NULL;
    }
    *shared = *tokenizer;
    shared->prepares = options->prepared;
    shared->lowers = options->lowers;
    shared->lent = true;
    return shared;
}

void tokenizer_free(struct tokenizer *tokenizer) {
    if (tokenizer == NULL)
        return;
    if (!tokenizer->lent && tokenizer->model != NULL)
        tokenizer->kind->free(tokenizer->model);
    free(tokenizer);
}

size_t tokenizer_size(const struct tokenizer *tokenizer) {
    return tokenizer->ids.size;
}

int tokenizer_unknown(const struct tokenizer *tokenizer) {
    return tokenizer->ids.unknown;
}

int tokenizer_begin(const struct tokenizer *tokenizer) {
    return tokenizer->ids.begin;
}

int tokenizer_end(const struct tokenizer *tokenizer) {
    return tokenizer->ids.end;
}

const char *tokenizer_piece(const struct tokenizer *tokenizer, int id) {
    assert(id >= 0 && (size_t)id < tokenizer->ids.size);
    return tokenizer->kind->piece(tokenizer->model, id);
}

bool tokenizer_is_text(const struct tokenizer *tokenizer, int id) {
    assert(id >= 0 && (size_t)id < tokenizer->ids.size);
    return tokenizer->kind->is_text(tokenizer->model, id);
}

int tokenizer_find(const struct tokenizer *tokenizer, const char *piece) {
    return tokenizer->kind->find(tokenizer->model, piece);
}

const char *tokenizer_mark(const struct tokenizer *tokenizer) {
    return tokenizer->kind->mark;
}

int tokenizer_byte(const struct tokenizer *tokenizer, int id) {
    static const char digits[] = "0123456789ABCDEF";
    const char *piece = tokenizer_piece(tokenizer, id);
    if (!*tokenizer->kind->mark || strlen(piece) != 6 || strncmp(piece, "<0x", 3) != 0 ||
        piece[5] != '>')
        return -1;
    const char *high = strchr(digits, piece[3]), *low = strchr(digits, piece[4]);
    return high == NULL || low == NULL ? -1 : 16 * (int)(high - digits) + (int)(low - digits);
}

/* ---- capitals ---- */

bool capitals_only(const char *text, size_t length) {
    size_t letters = 0;
    for (size_t at = 0; at < length;) {
        int32_t character = character_next(text, length, &at);
        if (character != character_upper(character))
            return false;
        letters += character != character_lower(character);
    }
    return letters >= CAPITALS_LEAST;
}

/* Replaces a character of `size` bytes if the new one has as many. */
static void replace(char *place, size_t size, int32_t character) {
    char written[4];
    if (character_put(character, written) == size)
        memcpy(place, written, size);
}

void capitals_lower(char *text, size_t length) {
    bool first = true;
    for (size_t at = 0, next = 0; at < length; at = next) {
        int32_t character = character_next(text, length, &next), lower = character_lower(character);
        if (character != lower && !first)
            replace(text + at, next - at, lower);
        first = first && character == lower;
    }
}

void capitals_raise(char *text, size_t length) {
    for (size_t at = 0, next = 0; at < length; at = next) {
        int32_t character = character_next(text, length, &next), upper = character_upper(character);
        if (character != upper)
            replace(text + at, next - at, upper);
    }
}

/* ---- preparing ---- */

enum { MOST_WRITTEN = 3 }; /* bytes that replace a character: no more than its own */

static const struct {
    int32_t character;
    char written[MOST_WRITTEN + 1];
} replacements[] = {
    {0x2019, "'"},  {0x201c, "\""}, {0x201d, "\""}, {0x2026, "..."}, {0x2236, ":"},  {0x2501, "-"},
    {0x3001, ","},  {0x3002, ". "}, {0x3008, "<"},  {0x3009, ">"},   {0x300a, "\""}, {0x300b, "\""},
    {0x300c, "\""}, {0x300d, "\""}, {0x3010, "["},  {0x3011, "]"},   {0xff01, "!"},  {0xff05, "%"},
    {0xff08, "("},  {0xff09, ")"},  {0xff0c, ","},  {0xff0e, ". "},  {0xff10, "0"},  {0xff11, "\""},
    {0xff12, "2"},  {0xff13, "3"},  {0xff14, "4"},  {0xff15, "5"},   {0xff16, "6"},  {0xff17, "7"},
    {0xff18, "8"},  {0xff19, "9"},  {0xff1a, ":"},  {0xff1b, ";"},   {0xff1f, "?"},  {0xff5e, "~"},
};
enum { REPLACEMENTS = sizeof replacements / sizeof *replacements };

/* The marks are in ascending order. A plain spelling is at most as long as its mark. */
static const struct {
    int32_t character;
    char written[MOST_WRITTEN + 1];
} marks[] = {
    {0xab, "\""},   {0xad, ""},     {0xbb, "\""},   {0x200b, ""},   {0x200c, ""},    {0x200d, ""},
    {0x200e, ""},   {0x200f, ""},   {0x2010, "-"},  {0x2011, "-"},  {0x2012, "-"},   {0x2013, "-"},
    {0x2014, "-"},  {0x2015, "-"},  {0x2018, "\""}, {0x2019, "'"},  {0x201a, "'"},   {0x201b, "'"},
    {0x201c, "\""}, {0x201d, "\""}, {0x201e, "\""}, {0x201f, "\""}, {0x2026, "..."}, {0x202a, ""},
    {0x202b, ""},   {0x202c, ""},   {0x202d, ""},   {0x202e, ""},   {0x2039, "'"},   {0x203a, "'"},
    {0x2060, ""},   {0x2066, ""},   {0x2067, ""},   {0x2068, ""},   {0x2069, ""},    {0x2212, "-"},
    {0xfeff, ""},
};
_Static_assert(sizeof marks / sizeof *marks == PREPARATION_MARKS,
               "each mark has its place in struct respelling");

int32_t preparation_mark(size_t i) {
    return i < PREPARATION_MARKS ? marks[i].character : -1;
}

/* Returns the mark's plain spelling, or NULL if the mark stays. */
static const char *respelled(const struct respelling *respelling, int32_t character) {
    for (size_t i = 0; i < PREPARATION_MARKS && marks[i].character <= character; i++)
        if (marks[i].character == character && respelling->marks[i])
            return marks[i].written;
    return NULL;
}

/* Returns the text that replaces the character, or NULL if it stays. */
static const char *replacement_of(const struct preparation *preparation, int32_t character) {
    if (character == '\n' || character == preparation->kept)
        return NULL;
    const char *written = preparation->respelling && character >= 0x80
                              ? respelled(preparation->respelling, character)
                              : NULL;
    if (written)
        return written;
    for (size_t i = 0; preparation->opus && i < REPLACEMENTS; i++)
        if (replacements[i].character == character)
            return replacements[i].written;
    return preparation->opus && character_is_other(character) ? " " : NULL;
}

int preparation_make(const struct preparation *preparation, const char *text, size_t length,
                     struct arena *arena, struct prepared_text *out, struct error *err) {
    enum { OPENING = 0x2018, CLOSING = 0x2019 };
    bool opus = preparation->opus, quoted = false, space = true, changes = false;
    for (size_t at = 0; (opus || preparation->respelling) && at < length && !changes;) {
        int32_t character = character_next(text, length, &at);
        changes = replacement_of(preparation, character) || (opus && character == ' ' && space);
        space = character == ' ';
    }
    if (!changes && !(opus && space && length > 0)) {
        *out = (struct prepared_text){text, length, NULL};
        return 0;
    }

    char *made = arena_alloc(arena, length + 1, 1);
    size_t *origins = arena_alloc(arena, length + 1, sizeof *origins), used = 0, visible_end = 0;
    if (arena_failed(arena))
        return error_memory(err);
    for (size_t at = 0, next = 0; at < length; at = next) {
        int32_t character = character_next(text, length, &next);
        const char *replacement = replacement_of(preparation, character);

        /* U+2018 opens a quotation and is read as a double mark, which a model has seen more often
         * than the single one. The U+2019 that ends it must become a double mark, too, but one
         * before a letter is an apostrophe. */
        if (character == OPENING)
            quoted = preparation->respelling && respelled(preparation->respelling, OPENING);
        size_t after = next;
        if (character == CLOSING && quoted &&
            (next == length || !character_is_spaced(character_next(text, length, &after)))) {
            replacement = "\"";
            quoted = false;
        }

        /* for OPUS-MT a space at the beginning or after another is dropped; the space of ". "
         * stands for no byte */
        size_t count = replacement ? strlen(replacement) : next - at;
        for (size_t i = 0; i < count; i++) {
            char byte = replacement ? replacement[i] : text[at + i];
            if (opus && byte == ' ' && (used == 0 || made[used - 1] == ' '))
                continue;
            made[used] = byte;
            origins[used++] = !replacement ? at + i : i > 0 && byte == ' ' ? next : at;
            visible_end = byte == ' ' && opus ? visible_end : next;
        }
    }
    used -= opus && used > 0 && made[used - 1] == ' ';
    made[used] = '\0';
    origins[used] = visible_end;
    *out = (struct prepared_text){made, used, origins};
    return 0;
}

/* ---- hiding ---- */

/* U+E000 hides a run. It is of the private use area, so no vocabulary has it and normalisation
 * leaves it alone. A hidden run is identified by its position, so a text may contain such
 * characters itself. weights/training/hiding.py does the same. */
#define HIDDEN "\xee\x80\x80"
enum { HIDDEN_CHARACTER = 0xe000, HIDDEN_BYTES = sizeof HIDDEN - 1 };

struct hiding {
    const char *original, *text; /* text: HIDDEN replaces each run */
    size_t original_length, length;
    const struct opaque_run *runs; /* [count] in the original text */
    const size_t *places;          /* [count] where HIDDEN replaces them in text */
    size_t count;
};

/* Returns whether a space is added after a run: a word that touches a symbol before it is read as
 * any other word, and not as the rest of one. */
static bool adds_space(const char *text, size_t length, const struct opaque_run *run) {
    size_t end = run->end;
    return run->kind == OPAQUE_SYMBOL && end < length &&
           character_is_letter(character_next(text, length, &end));
}

/* Returns the original position of a byte of the text with hidden runs; the byte must be outside
 * all of them. */
static size_t original_place(const struct hiding *hiding, size_t at) {
    size_t first = 0, end = hiding->count; /* runs before `first` precede the byte, and runs from
                                              `end` on do not */
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (hiding->places[middle] + HIDDEN_BYTES <= at)
            first = middle + 1;
        else
            end = middle;
    }
    if (first == 0)
        return at;
    const struct opaque_run *run = &hiding->runs[first - 1];
    size_t after = at - hiding->places[first - 1] - HIDDEN_BYTES;
    return run->end + after -
           (after > 0 && adds_space(hiding->original, hiding->original_length, run));
}

/* Makes a token whose piece is the mark and this part of the original text. */
static int make_token(const struct hiding *hiding, int id, const char *mark, struct span part,
                      struct arena *arena, struct token *out) {
    size_t marked = strlen(mark), length = part.end - part.begin;
    char *piece = arena_alloc(arena, marked + length + 1, 1);
    if (!piece)
        return -1;
    memcpy(piece, mark, marked);
    memcpy(piece + marked, hiding->original + part.begin, length);
    piece[marked + length] = '\0';
    *out = (struct token){.id = id, .piece = piece, .begin = part.begin, .end = part.end};
    return 0;
}

const struct stand_in *tokenizer_stand_in(const struct stand_ins *stand_ins,
                                          enum opaque_kind kind) {
    return kind == OPAQUE_EMOJI || kind == OPAQUE_SYMBOL ? &stand_ins->sign : &stand_ins->word;
}

/* Replaces the tokens of the text with hidden runs by those of the original text. A run's token has
 * the id of its stand-in; its piece is its text, after the mark if white space or the beginning of
 * the text precedes it. Bytes that share a token with a hidden run are unknown, too, unless they
 * are white space. */
static int restore_runs(const struct tokenizer *t, const struct hiding *hiding,
                        const struct stand_ins *stand_ins, struct arena *arena,
                        struct token_list *tokens, struct error *err) {
    struct token *made = arena_alloc(arena, tokens->count + 2 * hiding->count, sizeof *made);
    size_t used = 0, next = 0; /* next: the first run that is not restored yet */
    if (!made)
        return error_memory(err);
    for (size_t i = 0; i < tokens->count; i++) {
        const struct token *token = &tokens->all[i];
        if (next == hiding->count || hiding->places[next] >= token->end) {
            /* a vocabulary may spell the hidden character in bytes: all but the last stand for
             * nothing */
            bool part = next < hiding->count && token->begin == token->end &&
                        token->begin == hiding->places[next] &&
                        strcmp(token->piece, t->kind->mark) != 0;
            if (part)
                continue;
            made[used++] =
                (struct token){token->id, token->piece, original_place(hiding, token->begin),
                               original_place(hiding, token->end)};
            continue;
        }
        for (size_t at = token->begin;;) {
            bool more = next < hiding->count && hiding->places[next] < token->end;
            size_t end = more ? hiding->places[next] : token->end,
                   from = original_place(hiding, at);
            struct span visible =
                segmenter_trim(hiding->original + from, original_place(hiding, end) - from);
            if (visible.begin < visible.end &&
                make_token(hiding, t->ids.unknown, "",
                           (struct span){from + visible.begin, from + visible.end}, arena,
                           &made[used++]) != 0)
                return error_memory(err);
            if (!more)
                break;
            const struct opaque_run *run = &hiding->runs[next++];
            size_t before = run->begin;
            bool touches =
                before > 0 && !character_is_space(character_previous(hiding->original, &before));
            const char *mark = touches ? "" : t->kind->mark;
            /* if the tokenizer has written the mark before the run as a separate token, the run's
             * token includes it */
            if (used > 0 && *mark && strcmp(made[used - 1].piece, mark) == 0)
                used--;
            const struct stand_in *stand_in =
                stand_ins ? tokenizer_stand_in(stand_ins, run->kind) : NULL;
            int id = !stand_in ? t->ids.unknown : *mark ? stand_in->marked : stand_in->unmarked;
            if (make_token(hiding, id, mark, (struct span){run->begin, run->end}, arena,
                           &made[used++]) != 0)
                return error_memory(err);
            at = end + HIDDEN_BYTES;
        }
    }
    if (next < hiding->count)
        return error_set(err, ERROR_INPUT, "the tokenizer removes private-use characters");
    tokens->all = made;
    tokens->count = used;
    return 0;
}

/* ---- encoding and decoding ---- */

/* Reduces each token to its visible characters. A token without any becomes empty, at its end. */
static void trim_tokens(const char *text, struct token_list *tokens) {
    for (struct token *token = tokens->all; token < tokens->all + tokens->count; token++) {
        struct span visible = segmenter_trim(text + token->begin, token->end - token->begin);
        token->end = token->begin + visible.end;
        token->begin += visible.begin;
    }
}

int tokenizer_encode(const struct tokenizer *t, struct bytes bytes,
                     const struct tokenizer_reading *reading, struct arena *arena,
                     struct token_list *out, struct error *err) {
    enum { BYTES_OF_STEP = 16 };
    static const struct tokenizer_reading plain = {0};
    const struct tokenizer_reading *how = reading ? reading : &plain;
    const char *text = bytes.start;
    size_t length = bytes.length;
    if (length > INT_MAX)
        return error_set(err, ERROR_LENGTH, "a text of %zu bytes is too long", length);
    if (!budget_step(arena->budget, 1 + length / BYTES_OF_STEP))
        return error_memory(err);

    bool hides = how->held.count > 0;
    struct hiding hiding = {.original = text,
                            .text = text,
                            .original_length = length,
                            .length = length,
                            .runs = how->held.all,
                            .count = how->held.count};
    if (hides) {
        size_t *places = arena_alloc(arena, hiding.count, sizeof *places), copied = 0, end = 0;
        char *made = arena_alloc(arena, length + hiding.count * (HIDDEN_BYTES + 1) + 1, 1);
        if (arena_failed(arena))
            return error_memory(err);
        for (size_t i = 0; i < hiding.count; i++) {
            const struct opaque_run *run = &hiding.runs[i];
            memcpy(made + end, text + copied, run->begin - copied);
            places[i] = end + run->begin - copied;
            memcpy(made + places[i], HIDDEN, HIDDEN_BYTES);
            end = places[i] + HIDDEN_BYTES;
            if (adds_space(text, length, run))
                made[end++] = ' ';
            copied = run->end;
        }
        memcpy(made + end, text + copied, length - copied);
        hiding.text = made;
        hiding.length = end + length - copied;
        hiding.places = places;
    }

    struct prepared_text prepared;
    const struct preparation preparation = {
        t->prepares, how->respelling && how->respelling->any ? how->respelling : NULL,
        hides ? HIDDEN_CHARACTER : -1};
    if (preparation_make(&preparation, hiding.text, hiding.length, arena, &prepared, err) != 0)
        return -1;

    bool lowered = t->lowers && how->lowers && capitals_only(prepared.text, prepared.length);
    if (lowered) {
        char *copy = arena_copy(arena, prepared.text, prepared.length);
        if (!copy)
            return error_memory(err);
        capitals_lower(copy, prepared.length);
        prepared.text = copy;
    }

    struct token_list tokens;
    const struct bytes read = {prepared.text, prepared.length};
    if (t->kind->encode(t->model, read, arena, &tokens, err) != 0)
        return -1;
    for (size_t i = 0; prepared.origins && i < tokens.count; i++) {
        tokens.all[i].begin = prepared.origins[tokens.all[i].begin];
        tokens.all[i].end = prepared.origins[tokens.all[i].end];
    }
    if (hides && restore_runs(t, &hiding, how->stand_ins, arena, &tokens, err) != 0)
        return -1;
    trim_tokens(text, &tokens);
    tokens.lowered = lowered;
    *out = tokens;
    return 0;
}

int tokenizer_decode(const struct tokenizer *t, struct token *tokens, size_t count,
                     struct arena *arena, char **text, struct error *err) {
    for (size_t i = 0; i < count; i++)
        if (tokens[i].piece == NULL && (tokens[i].id < 0 || (size_t)tokens[i].id >= t->ids.size))
            return error_set(err, ERROR_INPUT, "token %d is not in the vocabulary", tokens[i].id);
    if (t->kind->decode(t->model, tokens, count, arena, text, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (tokens[i].piece == NULL)
            tokens[i].piece = tokenizer_piece(t, tokens[i].id);
    trim_tokens(*text, &(struct token_list){tokens, count, false});
    return 0;
}

/* ---- labels ---- */

bool labels_name(const char *piece, size_t length, struct bytes *name) {
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    static const char *const forms[][2] = {{">>", "<<"}, {"<2", ">"}};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        size_t begin = strlen(forms[f][0]), end = strlen(forms[f][1]);
        if (length <= begin + end || memcmp(piece, forms[f][0], begin) != 0 ||
            memcmp(piece + length - end, forms[f][1], end) != 0)
            continue;
        *name = (struct bytes){piece + begin, length - begin - end};
        size_t i = 0;
        while (i < name->length && memchr(allowed, name->start[i], sizeof allowed - 1))
            i++;
        return i == name->length;
    }
    return false;
}

/* Adds the piece if it is a label. The arrays have room for a power of two. Returns -1 if memory
 * runs out. */
static int add_label(struct labels *labels, int id, const char *piece, size_t length) {
    struct bytes name;
    if (!labels_name(piece, length, &name))
        return 0;
    size_t count = labels->count, room = count > 0 ? 2 * count : 1;
    if ((count & (count - 1)) == 0) {
        char **names = realloc(labels->names, room * sizeof *names);
        labels->names = names ? names : labels->names;
        int *ids = names ? realloc(labels->ids, room * sizeof *ids) : NULL;
        labels->ids = ids ? ids : labels->ids;
        if (!ids)
            return -1;
    }
    char *copy = strndup(name.start, name.length);
    if (!copy)
        return -1;
    labels->ids[count] = id;
    labels->names[labels->count++] = copy;
    return 0;
}

/* A SentencePiece file that knows a label as a symbol may begin a text that begins with it with an
 * own piece, a blank; the model was trained so. */
static int find_lead(const struct tokenizer *tokenizer, struct labels *labels, struct error *err) {
    const char *piece = tokenizer_piece(tokenizer, labels->ids[0]);
    struct arena arena;
    struct token_list list;
    arena_init(&arena, 1 << 12);
    int result =
        tokenizer_encode(tokenizer, (struct bytes){piece, strlen(piece)}, NULL, &arena, &list, err);
    if (result == 0 && list.count == 2 && list.all[1].id == labels->ids[0])
        labels->lead = list.all[0].id;
    arena_done(&arena);
    if (result != 0)
        labels_done(labels);
    return result;
}

int labels_find(const struct tokenizer *tokenizer, struct labels *labels, struct error *err) {
    *labels = (struct labels){.lead = -1};
    for (size_t id = 0; id < tokenizer->ids.size; id++) {
        const char *piece = tokenizer_piece(tokenizer, (int)id);
        if (add_label(labels, (int)id, piece, strlen(piece)) != 0) {
            labels_done(labels);
            return error_memory(err);
        }
    }
    return labels->count > 0 ? find_lead(tokenizer, labels, err) : 0;
}

struct label_reading {
    struct labels *labels;
    struct error *err;
};

static int take_label(void *context, int id, const char *piece, size_t length) {
    struct label_reading *reading = context;
    return add_label(reading->labels, id, piece, length) == 0 ? 0 : error_memory(reading->err);
}

int labels_read(const char *path, struct labels *labels, struct error *err) {
    *labels = (struct labels){.lead = -1};
    if (sentencepiece_pieces(path, take_label, &(struct label_reading){labels, err}, err) == 0)
        return 0;
    labels_done(labels);
    return -1;
}

void labels_done(struct labels *labels) {
    for (size_t i = 0; i < labels->count; i++)
        free(labels->names[i]);
    free(labels->names);
    free(labels->ids);
    *labels = (struct labels){0};
}
