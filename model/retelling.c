/* This file gives a hypothesis other tokens: those of its text with signs put in and taken out, or
 * with other marks at the end. */
#include "model/base/utf8.h"
#include "model/glossary.h"
#include "model/model.h"
#include "model/rendering.h"
#include <stdlib.h>
#include <string.h>

/* ---- tokens ---- */

int retelling_make(struct hypothesis *h, const struct retold_token *tokens, size_t count,
                   struct arena *arena) {
    size_t room = count + h->ended,
           next = 0; /* next: the first step whose log-probability has no token yet */
    int *ids = arena_alloc(arena, count + 1, sizeof *ids);
    const char **pieces = arena_alloc(arena, count, sizeof *pieces);
    bool any_piece = false;
    float *log_probs = arena_zalloc(arena, room, sizeof *log_probs),
          *entropies = arena_zalloc(arena, room, sizeof *entropies);
    const float **attention = arena_alloc(arena, room, sizeof *attention);
    const float **alignment =
        h->alignment == h->attention ? attention : arena_alloc(arena, room, sizeof *alignment);
    const struct step_row **rows = arena_alloc(arena, room, sizeof *rows);
    if (!ids || !pieces || !log_probs || !entropies || !attention || !alignment || !rows)
        return -1;
    for (size_t to = 0; to < room; to++) {
        size_t step = to < count ? tokens[to].step : h->length;
        bool added = to < count && tokens[to].added;
        if (to < count) {
            ids[to] = tokens[to].id;
            pieces[to] = tokens[to].piece;
            any_piece |= tokens[to].piece != NULL;
        }
        attention[to] = h->attention[step];
        alignment[to] = h->alignment[step];
        rows[to] = h->rows[step];
        entropies[to] = added ? 0 : h->entropies[step];
        for (; !added && next <= step; next++)
            log_probs[to] += h->log_probs[next];
    }
    h->tokens = ids;
    h->pieces = any_piece ? pieces : NULL;
    h->length = count;
    h->log_probs = log_probs;
    h->entropies = entropies;
    h->attention = attention;
    h->alignment = alignment;
    h->rows = rows;
    return 0;
}

/* ---- edits of the text ---- */

/* Marks before which no space is put. */
#define ENDING_MARKS L".,;:!?\u2026"

static int compare_edits(const void *left, const void *right) {
    const struct edit *a = left, *b = right;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->removed != b->removed) /* what is put comes before what is taken out */
        return a->removed < b->removed ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* An edited text. from [length + 1]: the byte of the former text from which each comes; that of a
 * byte that was put in is the one before which it stands. */
struct edited {
    char *text;
    size_t length, *from;
    bool *put; /* [length] */
};

static void edited_add(struct edited *edited, char byte, size_t from, bool put) {
    edited->from[edited->length] = from;
    edited->put[edited->length] = put;
    edited->text[edited->length++] = byte;
    edited->text[edited->length] = '\0';
}

/* Adds a space before what comes next, unless there is one. */
static void edited_part(struct edited *edited, size_t from) {
    if (edited->length > 0 && !character_space_before(edited->text, edited->length))
        edited_add(edited, ' ', from, true);
}

/* edits: in order; what is put into a part that is taken out comes after it. Returns false if
 * memory is out. */
static bool write_edits(const char *text, const struct edit *edits, size_t count,
                        struct edited *out, struct arena *arena) {
    size_t length = strlen(text), bytes = length, at = 0;
    bool parts = false;
    for (size_t i = 0; i < count; i++)
        bytes += edits[i].length + 2;
    *out = (struct edited){arena_alloc(arena, bytes + 1, 1), 0,
                           arena_alloc(arena, bytes + 1, sizeof *out->from),
                           arena_zalloc(arena, bytes + 1, sizeof *out->put)};
    if (!out->text || !out->from || !out->put)
        return false;
    for (size_t i = 0; i <= count; i++) {
        size_t stop = i < count ? edits[i].at : length;
        for (; at < stop; at++) {
            size_t next = at;
            if (parts && !character_is_among(character_next(text, length, &next), ENDING_MARKS) &&
                text[at] != ' ')
                edited_part(out, at);
            parts = false;
            if (text[at] != ' ' || out->length > 0)
                edited_add(out, text[at], at, false);
        }
        if (i < count && edits[i].length > 0 && (parts || edits[i].apart))
            edited_part(out, at);
        for (size_t k = 0; i < count && k < edits[i].length; k++)
            edited_add(out, edits[i].put[k], at, true);
        parts = i < count && (edits[i].apart || (parts && edits[i].length == 0));
        if (i < count && edits[i].at + edits[i].removed > at)
            at = edits[i].at + edits[i].removed;
    }
    out->from[out->length] = length;
    return true;
}

/* Returns whether a token of the hypothesis is no vocabulary's. */
static bool hypothesis_keeps(const struct sentence *sentence, const struct hypothesis *h,
                             size_t i) {
    return (size_t)h->tokens[i] >= tokenizer_size(sentence->translator->target) ||
           (h->pieces && h->pieces[i]);
}

/* The parts of an edited text that are one token each: tokens of the hypothesis that no vocabulary
 * has, and signs that were put in although the vocabulary lacks them. */
struct kept_tokens {
    struct opaque_runs runs;
    int *ids; /* [runs.count] */
};

static void kept_add(struct kept_tokens *kept, size_t begin, size_t end, int id) {
    size_t i = kept->runs.count++;
    for (; i > 0 && kept->runs.all[i - 1].begin > begin; i--) {
        kept->runs.all[i] = kept->runs.all[i - 1];
        kept->ids[i] = kept->ids[i - 1];
    }
    kept->runs.all[i] = (struct opaque_run){.begin = begin, .end = end};
    kept->ids[i] = id;
}

/* puts: also lists the signs that were put in. Returns false if an edit is within a token of no
 * vocabulary, or memory is out. */
static bool list_kept(const struct sentence *sentence, const struct rendering *rendering,
                      const struct edited *edited, bool puts, struct kept_tokens *out,
                      struct arena *scratch) {
    const struct hypothesis *h = &sentence->hypotheses[0];
    size_t at = 0, most = h->length + (puts ? edited->length : 0);
    *out = (struct kept_tokens){{arena_zalloc(scratch, most, sizeof *out->runs.all), 0},
                                arena_alloc(scratch, most, sizeof(int))};
    if (!out->runs.all || !out->ids)
        return false;
    for (size_t i = 0; i < h->length; i++) {
        size_t begin = rendering->tokens[i].begin, end = rendering->tokens[i].end;
        if (!hypothesis_keeps(sentence, h, i))
            continue;
        while (begin < end && character_space_after(rendering->text, begin))
            character_next(rendering->text, end, &begin);
        while (at < edited->length && (edited->put[at] || edited->from[at] < begin))
            at++;
        if (begin == end || edited->from[at] >= end) /* it has been taken out */
            continue;
        if (at + end - begin > edited->length || edited->from[at] != begin ||
            edited->from[at + (end - begin) - 1] != end - 1 || edited->put[at + (end - begin) - 1])
            return false;
        kept_add(out, at, at + end - begin, h->tokens[i]);
    }
    for (size_t end = 0; puts && end < edited->length;) {
        size_t begin = end++;
        if (!edited->put[begin])
            continue;
        while (end < edited->length && edited->put[end])
            end++;
        size_t next = end;
        while (begin < end && character_space_after(edited->text, begin))
            character_next(edited->text, end, &begin);
        while (end > begin && character_space_before(edited->text, end) &&
               character_space_after(edited->text, next))
            character_previous(edited->text, &end);
        if (begin < end)
            kept_add(out, begin, end, tokenizer_unknown(sentence->translator->target));
        end = next;
    }
    return true;
}

/* Returns how the token at text[begin,end) is printed. */
static const char *piece_of(const struct sentence *sentence, const char *text, size_t begin,
                            size_t end, struct arena *arena) {
    const char *mark =
        character_space_before(text, begin) ? tokenizer_mark(sentence->translator->target) : "";
    size_t marked = strlen(mark);
    char *piece = arena_alloc(arena, marked + end - begin + 1, 1);
    if (piece) {
        memcpy(piece, mark, marked);
        memcpy(piece + marked, text + begin, end - begin);
        piece[marked + end - begin] = '\0';
    }
    return piece;
}

/* The tokens of an edited text. */
struct edited_tokens {
    struct token *all; /* [count] */
    size_t count;
    const char **pieces; /* [count] of those that are kept; otherwise NULL */
};

/* Reads the edited text as tokens. puts: what was put in is kept. Returns 1; 0 if the vocabulary
 * cannot write the text, or writes other signs; -1 if memory is out. */
static int read_edited(const struct sentence *sentence, const struct edited *edited,
                       const struct kept_tokens *kept, bool puts, struct edited_tokens *out,
                       struct arena *scratch) {
    const struct tokenizer *tokenizer = sentence->translator->target;
    const struct tokenizer_reading how = {.held = kept->runs, .lowers = true};
    struct token_list tokens;
    size_t next = 0;
    if (tokenizer_encode(tokenizer, (struct bytes){edited->text, edited->length}, &how, scratch,
                         &tokens, NULL) != 0)
        return -1;
    char *printed;
    size_t count = tokens.count;
    struct token *copy = arena_zalloc(scratch, count, sizeof *copy);
    const char **pieces = arena_zalloc(scratch, count, sizeof *pieces);
    for (size_t i = 0; copy && pieces && i < count; i++) {
        struct token *token = &tokens.all[i];
        const struct opaque_run *run = next < kept->runs.count ? &kept->runs.all[next] : NULL;
        if (run && token->begin == run->begin && token->end > token->begin) {
            token->id = kept->ids[next++];
            pieces[i] = piece_of(sentence, edited->text, run->begin, run->end, scratch);
            if (!pieces[i])
                return -1;
        } else if (token->id == tokenizer_unknown(tokenizer)) {
            return 0;
        }
        copy[i] = (struct token){.id = token->id, .piece = pieces[i]};
    }
    if (!copy || !pieces || tokenizer_decode(tokenizer, copy, count, scratch, &printed, NULL) != 0)
        return -1;
    *out = (struct edited_tokens){tokens.all, count, pieces};
    return count > 0 && next == kept->runs.count && (puts || strcmp(printed, edited->text) == 0);
}

/* Gives the hypothesis the tokens of the edited text. Each takes over the rows of the token from
 * which its first byte comes; the first of those that replace a token takes over its
 * log-probability, too. Returns false, and changes nothing, if the text cannot be written or memory
 * is out. */
static bool rewrite(struct sentence *sentence, const struct rendering *rendering,
                    const struct edited *edited, struct arena *scratch) {
    struct hypothesis *h = &sentence->hypotheses[0];
    struct kept_tokens kept;
    struct edited_tokens made = {0};
    size_t old = 0;
    int read = 0;
    for (int puts = 0; read == 0 && puts < 2; puts++)
        read = h->length > 0 && list_kept(sentence, rendering, edited, puts, &kept, scratch)
                   ? read_edited(sentence, edited, &kept, puts, &made, scratch)
                   : -1;
    if (read != 1)
        return false;
    struct retold_token *tokens = arena_alloc(scratch, made.count, sizeof *tokens);
    if (!tokens)
        return false;
    for (size_t i = 0; i < made.count; i++) {
        const char *kept_piece = made.pieces[i];
        while (old + 1 < h->length && rendering->tokens[old].end <= edited->from[made.all[i].begin])
            old++;
        const char *piece =
            kept_piece ? arena_copy(&sentence->arena, kept_piece, strlen(kept_piece)) : NULL;
        tokens[i] = (struct retold_token){made.all[i].id, old, false, piece};
    }
    return !arena_failed(&sentence->arena) &&
           retelling_make(h, tokens, made.count, &sentence->arena) == 0;
}

bool retelling_edit(struct sentence *sentence, const struct rendering *rendering,
                    struct edit *edits, size_t count, struct arena *scratch) {
    struct edited edited;
    if (count > 1)
        qsort(edits, count, sizeof *edits, compare_edits);
    return write_edits(rendering->text, edits, count, &edited, scratch) &&
           rewrite(sentence, rendering, &edited, scratch);
}
