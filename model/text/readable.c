/* This file hides which pieces of its source vocabulary a model can read, and how it reads the
 * others. The folder's opaque.json and ICU's letters of the language decide. */
#include "model/base/arena.h"
#include "model/base/file.h"
#include "model/base/utf8.h"
#include "model/text/tokenizer.h"

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

/* ---- pieces ---- */

/* Returns the only character of a piece, apart from its mark, or -1 if it has another number of
 * characters. */
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

/* Returns the characters outside ASCII of longer pieces, which were frequent in the corpus, and the
 * main letters of the language in both cases, if ICU has them. Returns NULL if memory runs out. */
static USet *known_characters(const struct tokenizer *tokenizer, const char *language) {
    const char *mark = tokenizer_mark(tokenizer);
    size_t marked = strlen(mark);
    char name[ULOC_FULLNAME_CAPACITY];
    UErrorCode status = U_ZERO_ERROR;
    int32_t parsed = 0;
    uloc_forLanguageTag(language, name, ULOC_FULLNAME_CAPACITY, &parsed, &status);
    ULocaleData *data = U_SUCCESS(status) ? ulocdata_open(name, &status) : NULL;
    USet *letters = data ? ulocdata_getExemplarSet(data, NULL, USET_ADD_CASE_MAPPINGS,
                                                   ULOCDATA_ES_STANDARD, &status)
                         : NULL;
    ulocdata_close(data);

    USet *set = letters ? letters : uset_openEmpty();
    for (size_t id = 0; set && id < tokenizer_size(tokenizer); id++) {
        const char *piece = tokenizer_piece(tokenizer, (int)id);
        if (!tokenizer_is_text(tokenizer, (int)id) || tokenizer_byte(tokenizer, (int)id) >= 0 ||
            only_character(piece, mark) >= 0)
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

/* ---- opening ---- */

/* The contents of opaque.json. json: NULL if the folder has no such file. */
struct measured {
    json_t *json;
    const char *copied, *word, *sign;
};

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
    const struct {
        const char *key, **value;
    } strings[] = {
        {"copied", &measured->copied}, {"word", &measured->word}, {"sign", &measured->sign}};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        const json_t *found = json_object_get(measured->json, strings[i].key);
        if (found && !json_is_string(found))
            return error_set(err, ERROR_FORMAT, "%s: %s must be a string", path, strings[i].key);
        *strings[i].value = found ? json_string_value(found) : *strings[i].value;
    }
    return 0;
}

/* Finds the ids of text as a single piece, with and without the mark of a word's beginning; -1: the
 * vocabulary lacks it. */
static void find_piece(const struct tokenizer *tokenizer, const char *text, int *marked,
                       int *unmarked) {
    char piece[32];
    int written = snprintf(piece, sizeof piece, "%s%s", tokenizer_mark(tokenizer), text);
    *marked = *text && written < (int)sizeof piece ? tokenizer_find(tokenizer, piece) : -1;
    *unmarked = *text && strlen(text) < sizeof piece ? tokenizer_find(tokenizer, text) : -1;
}

/* Leaves *out as it is if one of the vocabularies lacks the text with the mark of a word's
 * beginning. */
static void choose_stand_in(const struct tokenizer *source, const struct tokenizer *target,
                            const char *text, struct stand_in *out) {
    struct stand_in found;
    find_piece(source, text, &found.marked, &found.unmarked);
    find_piece(target, text, &found.target, &found.target_unmarked);
    if (found.marked < 0 || found.target < 0)
        return;
    found.unmarked = found.unmarked < 0 ? found.marked : found.unmarked;
    found.target_unmarked = found.target_unmarked < 0 ? found.target : found.target_unmarked;
    *out = found;
}

/* A vocabulary of fewer pieces spells common words, too. */
enum { LEAST_PIECES = 2000 };

int readable_init(struct readable *readable, const struct tokenizer *source,
                  const struct tokenizer *target, const char *language, const char *path,
                  struct error *err) {
    *readable = (struct readable){0};
    if (reserve_fill(err) != 0)
        return -1;
    struct measured measured;
    USet *known = known_characters(source, language);
    int result = known ? 0 : error_memory(err);
    if (read_measured(path, &measured, err) != 0)
        result = -1;
    if (result == 0) {
        size_t size = tokenizer_size(source);
        readable->unreadable = calloc(size, sizeof *readable->unreadable);
        readable->has_words = size >= LEAST_PIECES;
        result = readable->unreadable ? 0 : error_memory(err);
        for (size_t id = 0; id < size && result == 0; id++) {
            int32_t c = only_character(tokenizer_piece(source, (int)id), tokenizer_mark(source));
            bool unreadable =
                (int)id == tokenizer_unknown(source) || tokenizer_byte(source, (int)id) >= 0;
            if (c >= 0) {
                char text[8] = "";
                character_put(c, text);
                bool symbol = (U_GET_GC_MASK(c) & U_GC_S_MASK) != 0,
                     copied = strstr(measured.copied, text) != NULL;
                bool common = c < 0x80 ? c >= ' '
                                       : uset_contains(known, c) || u_isdigit(c) ||
                                             (U_GET_GC_MASK(c) & U_GC_Z_MASK) != 0;
                unreadable = unreadable || (!copied && (symbol || !common));
            }
            readable->unreadable[id] = unreadable;
        }
    }

    /* a mark is respelled if the tokenizer turns it into a piece that cannot be read, or an
     * invisible one into a space */
    const char *mark = tokenizer_mark(source);
    for (size_t i = 0; result == 0 && preparation_mark(i) >= 0; i++) {
        char text[8] = "a";
        size_t length = 1 + character_put(preparation_mark(i), text + 1);
        struct arena arena;
        struct token_list tokens;
        arena_init(&arena, 1024);
        text[length++] = 'a';
        result = tokenizer_encode(source, (struct bytes){text, length}, NULL, &arena, &tokens, err);
        for (size_t k = 0; result == 0 && k < tokens.count; k++)
            if (readable->unreadable[tokens.all[k].id] ||
                (k > 0 && u_charType(preparation_mark(i)) == U_FORMAT_CHAR && *mark &&
                 strncmp(tokenizer_piece(source, tokens.all[k].id), mark, strlen(mark)) == 0))
                readable->respelling.any = readable->respelling.marks[i] = true;
        arena_done(&arena);
    }
    if (result == 0) {
        int unknown = tokenizer_unknown(source);
        readable->stand_ins.word = (struct stand_in){unknown, unknown, tokenizer_unknown(target),
                                                     tokenizer_unknown(target)};
        choose_stand_in(source, target, measured.word, &readable->stand_ins.word);
        readable->stand_ins.sign = readable->stand_ins.word;
        choose_stand_in(source, target, measured.sign, &readable->stand_ins.sign);
    }
    json_decref(measured.json);
    uset_close(known);
    return result;
}

void readable_done(struct readable *readable) {
    free(readable->unreadable);
    readable->unreadable = NULL;
}

/* ---- around a character that cannot be read ---- */

static bool is_written(int32_t c) {
    return c >= 0 &&
           (u_isalpha(c) || (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0 || c == 0x200c || c == 0x200d);
}

/* Returns the run of letters and digits around text[begin, end), and of hyphens that join more
 * letters to them. */
static struct opaque_run word_around(const char *text, size_t length, size_t begin, size_t end) {
    struct opaque_run run = {begin, end, OPAQUE_WORD, NULL};
    for (size_t at = begin; at > 0; run.begin = at) {
        size_t before = at;
        int32_t c = character_previous(text, &before);
        if (c == '-' && before > 0 && at == run.begin) {
            size_t letter = before;
            if (!is_written(character_previous(text, &letter)))
                break;
            before = letter;
        } else if (!is_written(c) && !u_isdigit(c)) {
            break;
        }
        at = before;
    }
    for (size_t at = end; at < length; run.end = at) {
        size_t after = at;
        int32_t c = character_next(text, length, &after);
        if (c == '-' && after < length) {
            if (!is_written(character_next(text, length, &after)))
                break;
        } else if (!is_written(c) && !u_isdigit(c)) {
            break;
        }
        at = after;
    }
    return run;
}

static bool is_narrow_space(int32_t c) {
    return c == ' ' || c == 0xa0 || c == 0x202f || c == 0x2009;
}

static size_t skip_digits(const char *text, size_t length, size_t at) {
    while (at < length && ascii_digit(text[at]))
        at++;
    return at;
}

/* Returns the run of a currency sign and the number beside it: $5, 5 €, US$1,250.50, £20k, -€5. */
static struct opaque_run amount_around(const char *text, size_t length, size_t begin, size_t end) {
    struct opaque_run run = {begin, end, OPAQUE_SYMBOL, NULL};
    size_t at = end, next = end;
    if (at < length && is_narrow_space(character_next(text, length, &next)) && next < length &&
        ascii_digit(text[next]))
        at = next;

    /* the number after it: digits in groups with a mark or a space between them */
    size_t after = skip_digits(text, length, at);
    while (after > at && after < length) {
        next = after;
        int32_t c = character_next(text, length, &next);
        size_t group = skip_digits(text, length, next) - next;
        bool mark = c == '.' || c == ',' || c == '\'';
        if (!(mark ? group > 0 : is_narrow_space(c) && group == 3))
            break;
        after = next + group;
    }
    if (after > at) {
        run.kind = OPAQUE_NUMBER;
        run.end = after;
        size_t letters = after;
        while (letters < length && letters < after + 3 && ascii_letter(text[letters]))
            letters++;
        if (letters > after && (letters == length || !ascii_word(text[letters])))
            run.end = letters;
        while (run.begin > 0 && begin - run.begin < 3 && ascii_upper(text[run.begin - 1]))
            run.begin--;
        if (run.begin > 0 && (text[run.begin - 1] == '-' || text[run.begin - 1] == '+'))
            run.begin--;
        return run;
    }

    /* the number before it */
    size_t last = begin, before = begin, group = 0;
    if (begin > 0 && is_narrow_space(character_previous(text, &before)))
        last = before;
    size_t first = last;
    for (at = last; at > 0; at = before) {
        before = at;
        int32_t c = character_previous(text, &before);
        bool digit = c >= '0' && c <= '9';
        bool separates = group > 0 && before > 0 && ascii_digit(text[before - 1]) &&
                         (c == '.' || c == ',' || c == '\'' || (is_narrow_space(c) && group == 3));
        if (!digit && !separates)
            break;
        first = digit ? before : first;
        group = digit ? group + 1 : 0;
    }
    if (first < last) {
        run.kind = OPAQUE_NUMBER;
        run.begin =
            first > 0 && (text[first - 1] == '-' || text[first - 1] == '+') ? first - 1 : first;
    }
    return run;
}

static bool is_operator(int32_t c) {
    return (U_GET_GC_MASK(c) & U_GC_SM_MASK) != 0 || c == '-';
}

struct opaque_run readable_around(const char *text, size_t length, size_t begin, size_t end) {
    struct opaque_run run = {begin, end, OPAQUE_SYMBOL, NULL};
    size_t next = begin;
    int32_t c = character_next(text, length, &next);
    if (is_written(c))
        return word_around(text, length, begin, end);
    if (u_charType(c) == U_CURRENCY_SYMBOL)
        return amount_around(text, length, begin, end);
    if (u_charType(c) != U_MATH_SYMBOL)
        return run;

    /* symbols side by side, hyphens that belong to arrows, and a whole number that touches them: ±5
     */
    for (size_t before = run.begin;
         run.begin > 0 && is_operator(character_previous(text, &before));)
        run.begin = before;
    for (size_t after = run.end;
         run.end < length && is_operator(character_next(text, length, &after));)
        run.end = after;
    size_t digits = skip_digits(text, length, run.end);
    bool fraction = digits + 1 < length && (text[digits] == '.' || text[digits] == ',') &&
                    ascii_digit(text[digits + 1]);
    run.end = fraction || (digits < length && ascii_word(text[digits])) ? run.end : digits;
    return run;
}

/* ---- rare words ---- */

static bool is_cased(int32_t c) {
    return c >= 0 && u_hasBinaryProperty(c, UCHAR_CASED);
}

/* Returns whether the word that begins with tokens[0] is spelt almost letter by letter: 13 or more
 * tokens for 20 letters, and no part between hyphens in few tokens, as in DBCOLUMNDESC-Struktur.
 * The words of languages that write no spaces have no case. */
static bool is_rare(const char *text, size_t length, const struct token *tokens, size_t count,
                    struct opaque_run *word) {
    enum { LEAST_LETTERS = 16, LEAST_TOKENS = 11, PER_TOKENS = 13, PER_LETTERS = 20 };
    if (count < LEAST_TOKENS)
        return false;
    for (size_t i = 1; i < LEAST_TOKENS; i++) /* which almost no word passes */
        if (tokens[i].begin != tokens[i - 1].end)
            return false;
    size_t at = tokens[0].begin, before = at, letters = 0, used = 0;
    int32_t left = at > 0 ? character_previous(text, &before) : ' ';
    if (!is_cased(character_next(text, length, &at)) || is_written(left) ||
        left == '-') /* the word begins elsewhere */
        return false;
    *word = word_around(text, length, tokens[0].begin, at);
    for (size_t begin = word->begin; begin < word->end;
         begin = at) { /* the parts that hyphens join */
        int32_t c = 0;
        size_t spelt = used, part = 0;
        for (at = begin; at < word->end && c != '-'; part++, letters++) {
            c = character_next(text, length, &at);
            if (c != '-' && !is_written(c))
                return false;
        }
        while (used < count && tokens[used].begin < at)
            used++;
        if ((used - spelt) * 2 < part)
            return false;
    }
    return letters >= LEAST_LETTERS && used * PER_LETTERS >= letters * PER_TOKENS;
}

/* ---- holding ---- */

/* Adds a run that begins in the last one or after it; runs that overlap become one. Returns NULL if
 * memory is out. */
static struct opaque_run *add_run(struct arena *arena, struct opaque_run *runs, size_t *count,
                                  size_t *room, struct opaque_run run) {
    struct opaque_run *last = *count > 0 ? &runs[*count - 1] : NULL;
    if (last && run.begin < last->end) {
        last->end = run.end > last->end ? run.end : last->end;
        return runs;
    }
    runs = arena_grow(arena, runs, *count, room, 1, sizeof *runs);
    if (runs)
        runs[(*count)++] = run;
    return runs;
}

ptrdiff_t readable_hold(const struct readable *readable, struct bytes bytes,
                        const struct token_list *list, struct opaque_runs *held,
                        struct arena *arena, struct error *err) {
    const char *text = bytes.start;
    const struct token *tokens = list->all;
    struct opaque_run *runs = NULL;
    size_t run_count = 0, room = 0, next_held = 0,
           done = 0; /* done: bytes that are in a run or have been looked at */
    for (size_t i = 0; i < list->count; i++) {
        while (next_held < held->count && held->all[next_held].end <= tokens[i].begin)
            next_held++;
        bool inside = next_held < held->count && held->all[next_held].begin <= tokens[i].begin;
        struct opaque_run word;
        if (!inside && readable->has_words &&
            is_rare(text, bytes.length, tokens + i, list->count - i, &word)) {
            runs = add_run(arena, runs, &run_count, &room, word);
            if (!runs)
                return error_memory(err);
            done = word.end;
        }
        if (inside || !readable->unreadable[tokens[i].id])
            continue;
        /* each visible character of the token is held with the run that it belongs to */
        for (size_t at = tokens[i].begin > done ? tokens[i].begin : done, next; at < tokens[i].end;
             at = next) {
            next = at;
            int32_t c = character_next(text, bytes.length, &next);
            if (character_is_space(c) || u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT))
                continue;
            runs = add_run(arena, runs, &run_count, &room,
                           readable_around(text, bytes.length, at, next));
            if (!runs)
                return error_memory(err);
            next = runs[run_count - 1].end > next ? runs[run_count - 1].end : next;
        }
        done = run_count > 0 ? runs[run_count - 1].end : done;
    }
    if (run_count > 0 && opaque_merge(held, text, runs, run_count, arena, err) != 0)
        return -1;
    return (ptrdiff_t)run_count;
}
