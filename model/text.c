#include "model/text.h"
#include "model/text/character.h"
#include <assert.h>
#include <stdint.h>
#include <string.h>

/* A sentence is tokenized in windows of so many bytes: what a tokenizer does with a megabyte is done in one piece, and takes a
 * thousand times as much memory. No sentence that anybody wrote is as long. */
enum { SCRATCH_BLOCK_BYTES = 1 << 16, WINDOW_BYTES = 4096, WIDEST_CHARACTER = 0xfdfa, WIDEST_BYTES = 33, HELD_BYTES = 8 };

/* A window of a sentence, to be wrapped; offsets are within it. */
struct wrap {
    const struct tokenizer *tokenizer;
    const char *text;
    size_t length;
    struct tokenizer_reading how;
    const struct token *tokens; /* of the whole window */
    size_t count;
    size_t max_tokens;
    struct arena *scratch;
};

/* How good it is to end a piece after a token, rising. */
enum cut { CUT_NEVER, CUT_TOKENS, CUT_SPACE, CUT_CLAUSE };

static bool ends_with_clause_mark(const char *text, size_t length) {
    static const char *const marks[] = {",", ";", ":", "—", "…", "،", "؛", "、", "，", "：", "；"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t size = strlen(marks[i]);
        if (length >= size && memcmp(text + length - size, marks[i], size) == 0)
            return true;
    }
    return false;
}

static enum cut rate_cut(const struct wrap *wrap, size_t token) {
    size_t begin = wrap->tokens[token].begin, end = wrap->tokens[token].end, after = end;
    if (begin == end) /* what it stands for comes with the tokens that follow */
        return CUT_NEVER;
    if (end == wrap->length)
        return CUT_TOKENS;
    int32_t next = character_next(wrap->text, wrap->length, &after);
    bool space = character_is_space(next);
    if ((space || character_is_wide(next)) && ends_with_clause_mark(wrap->text + begin, end - begin))
        return CUT_CLAUSE;
    return space ? CUT_SPACE : CUT_TOKENS;
}

/* The last token of the best piece of at most width tokens that begins with token first: the last of the best cuts, the end of the
 * sentence if that is within reach. If there is nowhere to cut: the first place beyond. */
static size_t best_cut(const struct wrap *wrap, size_t first, size_t width) {
    if (wrap->count - first <= width)
        return wrap->count - 1;
    size_t best = first;
    enum cut best_rate = CUT_NEVER;
    for (size_t i = first; i < first + width; i++) {
        enum cut rate = rate_cut(wrap, i);
        if (rate != CUT_NEVER && rate >= best_rate) {
            best = i;
            best_rate = rate;
        }
    }
    if (best_rate != CUT_NEVER)
        return best;
    for (best = first + width; best < wrap->count - 1 && rate_cut(wrap, best) == CUT_NEVER;)
        best++;
    return best;
}

static size_t end_of(const struct wrap *wrap, size_t token) {
    return token + 1 == wrap->count ? wrap->length : wrap->tokens[token].end;
}

/* Tokens of text[begin, end) when it stands alone: often one more than within the sentence, for the word that it cuts into. */
static int count_tokens(const struct wrap *wrap, size_t begin, size_t end, size_t *count, struct error *err) {
    struct arena_mark mark = arena_mark(wrap->scratch);
    struct token *tokens;
    struct tokenizer_reading how = wrap->how;
    bool lowered; /* as it will be when the piece is a sentence */
    int result = opaque_within(&wrap->how.held, begin, end, wrap->scratch, &how.held, err);
    if (result == 0)
        result = tokenizer_encode_around(wrap->tokenizer, wrap->text + begin, end - begin, &how, &lowered, wrap->scratch, &tokens,
                                         count, err);
    arena_release(wrap->scratch, mark);
    return result;
}

/* Finds the last token of the piece that begins at byte begin, with token first: the best cut that still fits when alone. */
static int find_piece(const struct wrap *wrap, size_t first, size_t begin, size_t *last, struct error *err) {
    for (size_t width = wrap->max_tokens;;) {
        size_t cut = best_cut(wrap, first, width), alone;
        if (count_tokens(wrap, begin, end_of(wrap, cut), &alone, err) != 0)
            return -1;
        if (alone <= wrap->max_tokens || width == 1) {
            *last = cut;
            return 0;
        }
        size_t taken = cut - first + 1 < width ? cut - first + 1 : width, excess = alone - wrap->max_tokens;
        width = taken > excess ? taken - excess : 1;
    }
}

/* pieces: room for one span per token. */
static int cut_pieces(const struct wrap *wrap, struct span *pieces, size_t *count, struct error *err) {
    size_t begin = 0, found = 0;
    for (size_t first = 0, last; first < wrap->count; first = last + 1) {
        if (find_piece(wrap, first, begin, &last, err) != 0)
            return -1;
        size_t end = end_of(wrap, last);
        struct span visible = segmenter_trim(wrap->text + begin, end - begin);
        if (visible.begin < visible.end)
            pieces[found++] = (struct span){begin + visible.begin, begin + visible.end};
        begin = end;
    }
    *count = found;
    return 0;
}

/* A window is tokenized once, for the places to cut; each piece again, to see that it fits. */
static int wrap_window(struct wrap *wrap, struct span **pieces, size_t *count, struct error *err) {
    struct token *tokens;
    bool lowered;
    if (tokenizer_encode_around(wrap->tokenizer, wrap->text, wrap->length, &wrap->how, &lowered, wrap->scratch, &tokens,
                                &wrap->count, err) != 0)
        return -1;
    wrap->tokens = tokens;
    *pieces = arena_alloc(wrap->scratch, wrap->count + 1, sizeof **pieces);
    if (*pieces == NULL)
        return error_memory(err);
    if (wrap->count > wrap->max_tokens)
        return cut_pieces(wrap, *pieces, count, err);
    (*pieces)[0] = (struct span){0, wrap->length};
    *count = 1;
    return 0;
}

/* A character weighs as many bytes as the tokenizer makes of it. Of the characters that NFKC makes longer, one grows far more than
 * the others. */
static size_t weight_of(int32_t character, size_t bytes) {
    return character == WIDEST_CHARACTER ? WIDEST_BYTES : bytes;
}

/* The end of the window that begins at byte begin: the sentence's end if it is near, otherwise the last white space, otherwise any
 * place between two characters. A held run counts as one character and is not cut. */
static size_t window_end(const char *text, size_t length, const struct opaque_runs *held, size_t begin) {
    size_t weight = 0, at = begin, space = begin, next_held = 0;
    while (next_held < held->count && held->all[next_held].end <= begin)
        next_held++;
    while (at < length && weight < WINDOW_BYTES) {
        size_t before = at;
        if (next_held < held->count && held->all[next_held].begin <= at) {
            at = held->all[next_held].end < length ? held->all[next_held].end : length;
            next_held++;
            weight += HELD_BYTES;
            continue;
        }
        int32_t character = character_next(text, length, &at);
        weight += weight_of(character, at - before);
        if (character_is_space(character))
            space = at;
    }
    return at < length && space > begin ? space : at;
}

bool text_is_short(const char *text, size_t length, const struct opaque_runs *held) {
    return length <= WINDOW_BYTES / WIDEST_BYTES || window_end(text, length, held, 0) == length;
}

int text_hold(const struct readable *readable, const struct tokenizer *tokenizer, const char *text, size_t length,
              struct tokenizer_reading *how, struct arena *arena, struct error *err) {
    struct opaque_run *runs = NULL;
    struct arena scratch;
    size_t count = 0, room = 0;
    int result = 0;
    arena_init(&scratch, SCRATCH_BLOCK_BYTES);
    arena_limit(&scratch, arena->budget);
    for (size_t begin = 0, end; begin < length && result == 0; begin = end) {
        struct tokenizer_reading window = *how;
        struct token *tokens;
        bool lowered;
        size_t token_count, found;
        end = window_end(text, length, &how->held, begin);
        if (opaque_within(&how->held, begin, end, &scratch, &window.held, err) != 0 ||
            tokenizer_encode_around(tokenizer, text + begin, end - begin, &window, &lowered, &scratch, &tokens, &token_count,
                                    err) != 0 ||
            readable_hold(readable, text + begin, end - begin, tokens, token_count, &window.held, &found, &scratch, err) != 0) {
            result = -1;
            break;
        }
        struct opaque_run *grown = arena_grow(arena, runs, count, &room, window.held.count + 1, sizeof *runs);
        if (!grown) {
            result = error_memory(err);
            break;
        }
        runs = grown;
        for (size_t i = 0; i < window.held.count; i++) {
            struct opaque_run run = window.held.all[i];
            run.begin += begin;
            run.end += begin;
            runs[count++] = run;
        }
        arena_reset(&scratch);
    }
    arena_done(&scratch);
    return result == 0 ? opaque_merge(&how->held, text, runs, count, arena, err) : -1;
}

/* Pieces as they are found, in the caller's arena; offset: of the sentence in its text. */
struct found_pieces {
    struct arena *arena;
    struct span *all; /* [count], room for more */
    size_t count, room, offset;
};

static int add_pieces(struct found_pieces *found, const struct span *pieces, size_t count, size_t begin, struct error *err) {
    struct span *all = arena_grow(found->arena, found->all, found->count, &found->room, count, sizeof *all);
    if (!all)
        return error_memory(err);
    found->all = all;
    for (size_t i = 0; i < count; i++) {
        size_t offset = found->offset + begin;
        all[found->count++] = (struct span){offset + pieces[i].begin, offset + pieces[i].end};
    }
    return 0;
}

/* The last piece of a window ends where the window ends, which is arbitrary, so the next window begins with that piece again. */
static int wrap_windows(const struct wrap *sentence, struct found_pieces *found, struct error *err) {
    for (size_t begin = 0, next; begin < sentence->length; begin = next) {
        struct wrap window = *sentence;
        struct span *pieces;
        size_t count = 0;
        next = window_end(sentence->text, sentence->length, &sentence->how.held, begin);
        window.text += begin;
        window.length = next - begin;
        if (opaque_within(&sentence->how.held, begin, next, window.scratch, &window.how.held, err) != 0 ||
            wrap_window(&window, &pieces, &count, err) != 0)
            return -1;
        if (next < sentence->length && count > 1)
            next = begin + pieces[--count].begin;
        if (add_pieces(found, pieces, count, begin, err) != 0)
            return -1;
        if (!budget_has_room(found->arena->budget, found->count)) /* before the rest is read */
            return error_memory(err);
        arena_reset(window.scratch);
    }
    return 0;
}

int text_wrap(const struct text_reading *reading, const char *text, struct span sentence, struct arena *arena, struct span **spans,
              size_t *count, struct error *err) {
    assert(reading->max_tokens > 0);
    struct span visible = segmenter_trim(text + sentence.begin, sentence.end - sentence.begin);
    struct found_pieces found = {.arena = arena, .offset = sentence.begin + visible.begin};
    struct arena scratch;
    arena_init(&scratch, SCRATCH_BLOCK_BYTES);
    arena_limit(&scratch, arena->budget);
    struct wrap whole = {.tokenizer = reading->tokenizer,
                         .text = text + found.offset,
                         .length = visible.end - visible.begin,
                         .how = reading->how,
                         .max_tokens = reading->max_tokens,
                         .scratch = &scratch};
    int result = opaque_within(&reading->how.held, found.offset, found.offset + whole.length, arena, &whole.how.held, err);
    if (result == 0)
        result = wrap_windows(&whole, &found, err);
    if (result == 0) {
        *spans = found.all;
        *count = found.count;
    }
    arena_done(&scratch);
    return result;
}
