#include "model/text/masked.h"
#include "model/text/character.h"

#include <string.h>

enum { HIDDEN_BYTES = sizeof MASKED_HIDDEN - 1 };

int masked_make(const char *text, size_t length, const struct opaque_runs *held, struct arena *arena, struct masked *out,
                struct error *err) {
    size_t *places = arena_alloc(arena, held->count, sizeof *places);
    char *made = arena_alloc(arena, length + held->count * HIDDEN_BYTES + 1, 1);
    if (arena_failed(arena))
        return error_memory(err);
    size_t copied = 0, end = 0;
    for (size_t i = 0; i < held->count; i++) {
        const struct opaque_run *span = &held->all[i];
        memcpy(made + end, text + copied, span->begin - copied);
        places[i] = end + span->begin - copied;
        memcpy(made + places[i], MASKED_HIDDEN, HIDDEN_BYTES);
        end = places[i] + HIDDEN_BYTES;
        copied = span->end;
    }
    memcpy(made + end, text + copied, length - copied);
    *out = (struct masked){made, end + length - copied, held->all, places, held->count};
    return 0;
}

/* Where a byte of the masked text, in no placeholder, was. */
static size_t before(const struct masked *masked, size_t at) {
    size_t first = 0, end = masked->count; /* of the placeholders before it, the last is before `first` */
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (masked->places[middle] + HIDDEN_BYTES <= at)
            first = middle + 1;
        else
            end = middle;
    }
    return first == 0 ? at : at - masked->places[first - 1] - HIDDEN_BYTES + masked->runs[first - 1].end;
}

/* Tokens as they are restored. */
struct restored {
    const struct masked *masked;
    const char *text, *mark;
    const struct stand_ins *stand_ins; /* NULL: unknown */
    int unknown;
    struct arena *arena;
    struct token *tokens;
    size_t count, hidden; /* hidden: placeholders that are there */
};

/* A token of its own: the mark and text[span]. */
static int restored_add(struct restored *r, int id, const char *mark, struct span span) {
    size_t marked = strlen(mark), length = span.end - span.begin;
    char *piece = arena_alloc(r->arena, marked + length + 1, 1);
    if (!piece)
        return -1;
    memcpy(piece, mark, marked);
    memcpy(piece + marked, r->text + span.begin, length);
    piece[marked + length] = '\0';
    r->tokens[r->count++] = (struct token){.id = id, .piece = piece, .begin = span.begin, .end = span.end};
    return 0;
}

static bool touches(const struct restored *r, size_t begin) {
    return begin > 0 && !character_is_space(character_previous(r->text, &begin));
}

static int add_run(struct restored *r) {
    const struct opaque_run *span = &r->masked->runs[r->hidden++];
    const char *mark = touches(r, span->begin) ? "" : r->mark;
    /* the mark before it, where the tokenizer writes it alone, is a part of it */
    if (r->count > 0 && *mark && strcmp(r->tokens[r->count - 1].piece, mark) == 0)
        r->count--;
    const struct stand_in *stand_in = r->stand_ins ? stand_in_of(r->stand_ins, span->kind) : NULL;
    int id = !stand_in ? r->unknown : *mark ? stand_in->marked : stand_in->unmarked;
    return restored_add(r, id, mark, (struct span){span->begin, span->end});
}

/* Bytes of the masked text beside a placeholder, in one token with it: unknown as well, unless they are white space. */
static int add_beside(struct restored *r, size_t begin, size_t end) {
    size_t from = before(r->masked, begin);
    struct span visible = segmenter_trim(r->text + from, end - begin);
    if (visible.begin == visible.end)
        return 0;
    return restored_add(r, r->unknown, "", (struct span){from + visible.begin, from + visible.end});
}

/* A token that has placeholders in it: these, and what stands between them. */
static int restored_split(struct restored *r, const struct token *token) {
    const struct masked *m = r->masked;
    size_t at = token->begin;
    while (r->hidden < m->count && m->places[r->hidden] < token->end) {
        size_t place = m->places[r->hidden];
        if (add_beside(r, at, place) != 0 || add_run(r) != 0)
            return -1;
        at = place + HIDDEN_BYTES;
    }
    return add_beside(r, at, token->end);
}

/* True for a byte of the next hiding character that is not its last: where the vocabulary spells it in bytes, these stand for
 * nothing of the text, and the last one for all of it. */
static bool is_part(const struct restored *r, const struct token *token) {
    return r->hidden < r->masked->count && token->begin == token->end && token->begin == r->masked->places[r->hidden] &&
           strcmp(token->piece, r->mark) != 0;
}

static void shift(struct restored *r, const struct token *token) {
    struct token *to = &r->tokens[r->count++];
    *to = *token;
    to->begin = before(r->masked, token->begin);
    to->end = token->begin == token->end ? to->begin : to->begin + token->end - token->begin;
}

const struct stand_in *stand_in_of(const struct stand_ins *stand_ins, enum opaque_kind kind) {
    return kind == OPAQUE_EMOJI || kind == OPAQUE_SYMBOL ? &stand_ins->sign : &stand_ins->word;
}

int masked_restore(const struct masked *masked, const char *text, const struct stand_ins *stand_ins, int unknown, const char *mark,
                   struct arena *arena, struct token **tokens, size_t *count, struct error *err) {
    struct restored r = {.masked = masked, .text = text, .mark = mark, .stand_ins = stand_ins, .unknown = unknown, .arena = arena};
    r.tokens = arena_alloc(arena, *count + 2 * masked->count, sizeof *r.tokens);
    if (!r.tokens)
        return error_memory(err);
    for (size_t i = 0; i < *count; i++) {
        const struct token *token = &(*tokens)[i];
        if (r.hidden < masked->count && masked->places[r.hidden] < token->end) {
            if (restored_split(&r, token) != 0)
                return error_memory(err);
        } else if (!is_part(&r, token)) {
            shift(&r, token);
        }
    }
    if (r.hidden < masked->count)
        return error_set(err, ERROR_INPUT, "the tokenizer removes private-use characters");
    *tokens = r.tokens;
    *count = r.count;
    return 0;
}
