/* This file splits a text into sentences that the network can read, holds runs, tokenizes each
 * sentence, and accepts the parts of the translation that a caller gives. */
#include "model/sentence.h"
#include "model/base/utf8.h"
#include "model/model.h"
#include "model/network/network.h"
#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* The blocks of a sentence's arena are small, and those for its tokens and its answer are only as
 * large as needed, because a document has thousands of sentences in memory. */
enum { BLOCK_BYTES = 2 * 1024, LEAST_BYTES = 64 };
/* The unreadable runs of a span of at most this many bytes are found before it is split. In a
 * longer one such a run may be split, so that reading can stop at the first sentence over the
 * limit. */
enum { MOST_HELD_BYTES = 64 * 1024 };
/* MOST_EXPECTED limits the sentences of a text for which room is allocated at the start. */
enum { MOST_EXPECTED = 16 };

/* ---- long texts ---- */

/* A text is tokenized in windows of this many bytes, because a tokenizer handles its text as a
 * whole and takes a thousand times as much memory. No sentence that a person writes is as long as a
 * window. */
enum {
    SCRATCH_BLOCK_BYTES = 1 << 16,
    SENTENCE_SCRATCH_BYTES = 1 << 13,
    WINDOW_BYTES = 4096,
    WIDEST_CHARACTER = 0xfdfa,
    WIDEST_BYTES = 33,
    HELD_BYTES = 8
};

/* Returns the end of the window that begins at byte begin: the sentence's end if it is near,
 * otherwise the last white space, otherwise any place between two characters. A character weighs as
 * many bytes as the tokenizer makes of it: one of the characters that NFKC lengthens grows far more
 * than the others. A held run counts as one character and is not cut. */
static size_t window_end(const char *text, size_t length, const struct opaque_runs *held,
                         size_t begin) {
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
        weight += character == WIDEST_CHARACTER ? WIDEST_BYTES : at - before;
        if (character_is_space(character))
            space = at;
    }
    return at < length && space > begin ? space : at;
}

bool text_is_short(const char *text, size_t length, const struct opaque_runs *held) {
    return length <= WINDOW_BYTES / WIDEST_BYTES || window_end(text, length, held, 0) == length;
}

int text_hold(const struct readable *readable, const struct tokenizer *tokenizer, struct bytes text,
              struct tokenizer_reading *how, struct arena *arena, struct error *err) {
    struct opaque_run *runs = NULL;
    struct arena scratch;
    size_t count = 0, room = 0;
    int result = 0;
    arena_init(&scratch, SCRATCH_BLOCK_BYTES);
    arena_limit(&scratch, arena->budget);
    for (size_t begin = 0, end; begin < text.length && result == 0; begin = end) {
        struct tokenizer_reading window = *how;
        struct token_list tokens;
        end = window_end(text.start, text.length, &how->held, begin);
        const struct bytes part = {text.start + begin, end - begin};
        if (opaque_within(&how->held, begin, end, &scratch, &window.held, err) != 0 ||
            tokenizer_encode(tokenizer, part, &window, &scratch, &tokens, err) != 0 ||
            readable_hold(readable, part, &tokens, &window.held, &scratch, err) < 0) {
            result = -1;
            break;
        }
        struct opaque_run *grown =
            arena_grow(arena, runs, count, &room, window.held.count + 1, sizeof *runs);
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
    return result == 0 ? opaque_merge(&how->held, text.start, runs, count, arena, err) : -1;
}

/* A window of a sentence, to be wrapped; offsets are within it. */
struct wrap {
    const struct tokenizer *tokenizer;
    const char *text;
    size_t length;
    struct tokenizer_reading how;
    struct token_list tokens; /* of the whole window */
    size_t max_tokens;
    struct arena *scratch;
};

/* Rates a cut after a token, from worst to best. */
enum cut { CUT_NEVER, CUT_TOKENS, CUT_SPACE, CUT_CLAUSE };

static enum cut rate_cut(const struct wrap *wrap, size_t token) {
    static const char *const marks[] = {",", ";", ":", "—", "…", "،", "؛", "、", "，", "：", "；"};
    size_t begin = wrap->tokens.all[token].begin, end = wrap->tokens.all[token].end, after = end;
    if (begin == end) /* it belongs to the tokens that follow */
        return CUT_NEVER;
    if (end == wrap->length)
        return CUT_TOKENS;
    int32_t next = character_next(wrap->text, wrap->length, &after);
    bool space = character_is_space(next);
    for (size_t i = 0; (space || character_is_wide(next)) && i < sizeof marks / sizeof *marks;
         i++) {
        size_t size = strlen(marks[i]);
        if (end - begin >= size && memcmp(wrap->text + end - size, marks[i], size) == 0)
            return CUT_CLAUSE;
    }
    return space ? CUT_SPACE : CUT_TOKENS;
}

/* Returns the last token of the best piece of at most width tokens that begins with token first:
 * the last of the best cuts, or the end of the sentence if that is within reach. If there is
 * nowhere to cut, returns the first place beyond. */
static size_t best_cut(const struct wrap *wrap, size_t first, size_t width) {
    if (wrap->tokens.count - first <= width)
        return wrap->tokens.count - 1;
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
    for (best = first + width; best < wrap->tokens.count - 1 && rate_cut(wrap, best) == CUT_NEVER;)
        best++;
    return best;
}

/* Cuts a window into pieces, in the scratch arena. The window is tokenized once to find the places
 * to cut, and each piece again to check that it fits alone. */
static int wrap_window(struct wrap *wrap, struct spans *pieces, struct error *err) {
    if (tokenizer_encode(wrap->tokenizer, (struct bytes){wrap->text, wrap->length}, &wrap->how,
                         wrap->scratch, &wrap->tokens, err) != 0)
        return -1;
    struct span *found = arena_alloc(wrap->scratch, wrap->tokens.count + 1, sizeof *found);
    *pieces = (struct spans){found, 0};
    if (found == NULL)
        return error_memory(err);
    if (wrap->tokens.count <= wrap->max_tokens) {
        found[0] = (struct span){0, wrap->length};
        pieces->count = 1;
        return 0;
    }
    for (size_t first = 0, begin = 0; first < wrap->tokens.count;) {
        size_t last, end;
        for (size_t width = wrap->max_tokens;;) {
            struct token_list alone;
            last = best_cut(wrap, first, width);
            end = last + 1 == wrap->tokens.count ? wrap->length : wrap->tokens.all[last].end;

            /* alone, a piece often has one token more than within the sentence, because the cut may
             * split a word */
            struct arena_mark mark = arena_mark(wrap->scratch);
            struct tokenizer_reading how = wrap->how;
            if (opaque_within(&wrap->how.held, begin, end, wrap->scratch, &how.held, err) != 0 ||
                tokenizer_encode(wrap->tokenizer, (struct bytes){wrap->text + begin, end - begin},
                                 &how, wrap->scratch, &alone, err) != 0)
                return -1;
            arena_release(wrap->scratch, mark);
            if (alone.count <= wrap->max_tokens || width == 1)
                break;
            size_t taken = last - first + 1 < width ? last - first + 1 : width,
                   excess = alone.count - wrap->max_tokens;
            width = taken > excess ? taken - excess : 1;
        }
        struct span visible = segmenter_trim(wrap->text + begin, end - begin);
        if (visible.begin < visible.end)
            found[pieces->count++] = (struct span){begin + visible.begin, begin + visible.end};
        begin = end;
        first = last + 1;
    }
    return 0;
}

int text_wrap(const struct text_reading *reading, const char *text, struct span sentence,
              struct arena *arena, struct spans *out, struct error *err) {
    assert(reading->max_tokens > 0);
    struct span visible = segmenter_trim(text + sentence.begin, sentence.end - sentence.begin),
                *all = NULL;
    size_t offset = sentence.begin + visible.begin, length = visible.end - visible.begin, found = 0,
           room = 0;
    struct opaque_runs held;
    struct arena scratch;
    arena_init(&scratch, SCRATCH_BLOCK_BYTES);
    arena_limit(&scratch, arena->budget);
    int result = opaque_within(&reading->how.held, offset, offset + length, arena, &held, err);
    for (size_t begin = 0, next; result == 0 && begin < length; begin = next) {
        next = window_end(text + offset, length, &held, begin);
        struct wrap window = {.tokenizer = reading->tokenizer,
                              .text = text + offset + begin,
                              .length = next - begin,
                              .how = reading->how,
                              .max_tokens = reading->max_tokens,
                              .scratch = &scratch};
        struct spans pieces = {0};
        if (opaque_within(&held, begin, next, &scratch, &window.how.held, err) != 0 ||
            wrap_window(&window, &pieces, err) != 0) {
            result = -1;
            break;
        }
        /* the last piece ends where the window ends, which is arbitrary, so the next window begins
         * with that piece again */
        if (next < length && pieces.count > 1)
            next = begin + pieces.all[--pieces.count].begin;
        struct span *grown = arena_grow(arena, all, found, &room, pieces.count, sizeof *all);
        if (!grown) {
            result = error_memory(err);
            break;
        }
        all = grown;
        for (size_t i = 0; i < pieces.count; i++)
            all[found++] = (struct span){offset + begin + pieces.all[i].begin,
                                         offset + begin + pieces.all[i].end};
        if (!budget_has_room(arena->budget, found)) /* before the rest is read */
            result = error_memory(err);
        arena_reset(&scratch);
    }
    if (result == 0)
        *out = (struct spans){all, found};
    arena_done(&scratch);
    return result;
}

/* ---- one sentence ---- */

unsigned sentence_notations(const struct translator *translator, bool verbatim) {
    return verbatim ? NOTATION_NONE : translator->notations;
}

bool sentence_holds(const struct translator *translator) {
    return translator->holds;
}

/* The sentences that are made from a text. */
struct prepared {
    const struct translator *translator;
    const struct translator_text *text;
    const struct search_options *options;
    struct arena *arena;
    const struct sentence_taker *taker; /* receives each sentence, so that the list stays empty;
                                           NULL: sentences are listed */
    struct sentence *items;
    size_t count, room, expected;
    bool complete;        /* the runs that the model cannot read are held already */
    struct arena scratch; /* for the tokens of one sentence */
};

static bool reading_holds(const struct prepared *list) {
    return list->translator->holds && search_constrains(list->options);
}

/* Returns how the source is read: around the runs that the search can copy into the translation. */
static struct tokenizer_reading reading_of(const struct prepared *list,
                                           const struct opaque_runs *held) {
    const struct translator *t = list->translator;
    bool knows = t->readable.unreadable;
    return (struct tokenizer_reading){
        .held = reading_holds(list) ? *held : (struct opaque_runs){0},
        .lowers = true,
        .stand_ins = knows ? &t->readable.stand_ins : NULL,
        .respelling = knows && !list->text->verbatim ? &t->readable.respelling : NULL};
}

/* Copies the tokens, with room for one more, and the runs that are held into the sentence's arena.
 * Pieces of the vocabulary are not copied. Returns NULL if memory is out. */
static struct token *keep(struct sentence *sentence, const struct token_list *list) {
    const struct token *tokens = list->all;
    size_t count = list->count;
    const struct tokenizer *source = sentence->translator->source;
    struct opaque_runs *held = &sentence->held;
    struct arena *arena = &sentence->arena;
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += strcmp(tokens[i].piece, tokenizer_piece(source, tokens[i].id)) != 0
                     ? strlen(tokens[i].piece) + 1
                     : 0;
    arena->block_bytes =
        (count + 1) * sizeof *tokens + bytes + held->count * sizeof *held->all + 3 * LEAST_BYTES;
    for (size_t i = 0; i < held->count; i++)
        arena->block_bytes += held->all[i].written ? strlen(held->all[i].written) + LEAST_BYTES : 0;
    struct token *kept = arena_alloc(arena, count + 1, sizeof *kept);
    char *pieces = arena_alloc(arena, bytes, 1);
    arena->block_bytes = BLOCK_BYTES;
    struct opaque_run *all = arena_alloc(arena, held->count, sizeof *all);
    if (!kept || !pieces || !all)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const char *own = tokenizer_piece(source, tokens[i].id);
        kept[i] = tokens[i];
        kept[i].piece = strcmp(tokens[i].piece, own) == 0 ? own : pieces;
        if (kept[i].piece == pieces)
            pieces = stpcpy(pieces, tokens[i].piece) + 1;
    }
    for (size_t i = 0; i < held->count; i++) {
        all[i] = held->all[i];
        if (all[i].written &&
            !(all[i].written = arena_copy(arena, all[i].written, strlen(all[i].written))))
            return NULL;
    }
    held->all = all;
    return kept;
}

/* Tokenizes the sentence's own text and adds </s> if the encoder reads one; a text without
 * characters that the tokenizer sees has no tokens. The runs that the model cannot read are found
 * in the tokens and held, and then the text is tokenized again. */
static int tokenize(struct sentence *sentence, struct prepared *list, struct error *err) {
    const struct translator *t = sentence->translator;
    const struct bytes text = {sentence->text + sentence->source.begin,
                               sentence->source.end - sentence->source.begin};
    struct arena *scratch = &list->scratch;
    struct token_list tokens;
    struct tokenizer_reading how = reading_of(list, &sentence->held);
    if (tokenizer_encode(t->source, text, &how, scratch, &tokens, err) != 0)
        return -1;
    bool finds = !sentence->reading.verbatim && !list->complete && t->readable.unreadable &&
                 search_constrains(&sentence->options);
    ptrdiff_t found =
        finds ? readable_hold(&t->readable, text, &tokens, &how.held, scratch, err) : 0;
    if (found < 0)
        return -1;
    if (found > 0) {
        if (numbers_write_runs(t->source_numbers, t->target_numbers, text, &how.held, scratch,
                               err) != 0)
            return -1;
        sentence->held = how.held;
        if (tokenizer_encode(t->source, text, &how, scratch, &tokens, err) != 0)
            return -1;
    }
    sentence->reading.lowered = tokens.lowered;
    struct token *kept = keep(sentence, &tokens);
    size_t count = tokens.count;
    if (!kept)
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        sentence->reading.unknown += tokens.all[i].id == tokenizer_unknown(t->source);
    int end = tokenizer_end(t->source);
    if (t->config.encoder.eos && count > 0)
        kept[count++] = (struct token){.id = end,
                                       .piece = tokenizer_piece(t->source, end),
                                       .begin = text.length,
                                       .end = text.length};
    sentence->tokens = kept;
    sentence->length = count;
    return 0;
}

static int sentence_init(struct sentence *sentence, struct prepared *list, struct span span,
                         struct error *err) {
    *sentence = (struct sentence){.translator = list->translator,
                                  .reading.verbatim = list->text->verbatim,
                                  .text = list->text->text,
                                  .source = span,
                                  .opening = list->translator->opening,
                                  .options = *list->options};
    arena_init(&sentence->arena, BLOCK_BYTES);
    arena_limit(&sentence->arena, list->arena->budget);
    const struct translator *t = list->translator;
    bool labels = !list->complete && t->source_numbers && t->target_numbers &&
                  reading_holds(list) &&
                  (sentence_notations(t, list->text->verbatim) & NOTATION_CODES);
    int result = opaque_within(&list->text->held, span.begin, span.end, &list->scratch,
                               &sentence->held, err);
    if (result == 0 && labels)
        result = numbers_hold_labels(t->source_numbers, list->text->text + span.begin,
                                     span.end - span.begin, &sentence->held, &list->scratch, err);
    if (result == 0)
        result = tokenize(sentence, list, err);
    arena_reset(&list->scratch);
    if (result != 0)
        sentence_done(sentence);
    return result;
}

static bool sentence_fits(const struct sentence *sentence) {
    const struct model_config *config = &sentence->translator->config;
    return sentence->length <= config->limits.max_source_tokens + config->encoder.eos;
}

/* Sets the default of max_length for the sentence's current length. */
static void limit_target(struct sentence *sentence) {
    if (!sentence->usual_length)
        return;
    size_t usual = (size_t)floor(
        sentence->translator->config.limits.max_target_ratio * (double)sentence->length + 0.5);
    usual = usual < 1 ? 1 : usual < TRANSLATOR_MAX_TARGET ? usual : TRANSLATOR_MAX_TARGET;
    size_t least = sentence->options.min_length;
    sentence->options.max_length = usual > least ? usual : least;
}

/* Puts a token before those of the text. */
static int put_label(struct sentence *sentence, int id, struct error *err) {
    struct token *tokens = arena_alloc(&sentence->arena, sentence->length + 1, sizeof *tokens);
    if (!tokens)
        return error_memory(err);
    tokens[0] =
        (struct token){.id = id, .piece = tokenizer_piece(sentence->translator->source, id)};
    memcpy(tokens + 1, sentence->tokens, sentence->length * sizeof *tokens);
    sentence->tokens = tokens;
    sentence->length++;
    sentence->reading.labels++;
    limit_target(sentence);
    return 0;
}

/* Sets the members that depend on the tokens. */
static int settle(const struct prepared *list, struct sentence *sentence, struct error *err) {
    const struct translator *t = sentence->translator;
    const char *text = sentence->text + sentence->source.begin;

    /* the output layer has room for the copies of a sentence within the limit; a part that cannot
     * be cut may be longer */
    if (t->output.copies) {
        if (!sentence_fits(sentence))
            return error_set(err, ERROR_LENGTH,
                             "the text has a part of more than %zu tokens that cannot be split",
                             t->config.limits.max_source_tokens);
        sentence->copies = copies_find(&(struct copies_between){t->source, t->target},
                                       sentence->tokens, sentence->length, &sentence->arena, err);
        if (!sentence->copies)
            return -1;
    }
    sentence->usual_length = sentence->options.max_length == 0;
    limit_target(sentence);
    if (t->config.encoder.bos && sentence->length > 0 &&
        put_label(sentence, tokenizer_begin(t->source), err) != 0)
        return -1;

    if (list->text->formality.form != FORMALITY_ANY &&
        formality_refuse(t->formality, &list->text->formality, text,
                         sentence->source.end - sentence->source.begin, &sentence->options.refusals,
                         err) != 0)
        return -1;
    /* a translation is compared if the search can hold something and has one best answer */
    if (!sentence->reading.verbatim && t->signs && search_constrains(&sentence->options) &&
        sentence->options.strategy != &search_sample) {
        size_t bytes = sentence->source.end - sentence->source.begin;
        sentence->check = arena_zalloc(&sentence->arena, 1, sizeof *sentence->check);
        if (!sentence->check)
            return error_memory(err);
        sentence->check->options = sentence->options;
        sentence->check->applies[CHECK_NUMBERS] = t->source_numbers && t->target_numbers &&
                                                  numbers_may_stand(t->source_numbers, text, bytes);
        sentence->check->applies[CHECK_SIGNS] =
            signs_any(&t->sign_rules, text, bytes) || signs_any_names(&t->sign_rules, text, bytes);
    }
    if (!list->taker)
        arena_limit(&sentence->arena, NULL); /* the sentence keeps its memory */
    return 0;
}

/* Takes ownership of the sentence. A sentence without tokens, which has only characters such as
 * zero-width ones, is dropped. */
static int append(struct prepared *list, struct sentence *sentence, struct error *err) {
    int result = -1;
    if (sentence->length == 0) {
        sentence_done(sentence);
        return 0;
    }
    if (!list->taker &&
        list->count ==
            list->room) { /* not arena_grow, because sentences are large and often alone */
        size_t least = list->expected < MOST_EXPECTED ? list->expected : MOST_EXPECTED;
        size_t room = list->room > 0 ? 2 * list->room : least;
        struct sentence *grown = arena_alloc(list->arena, room, sizeof *grown);
        if (!grown) {
            error_memory(err);
            goto done;
        }
        if (list->count > 0)
            memcpy(grown, list->items, list->count * sizeof *grown);
        list->items = grown;
        list->room = room;
    }
    if (!budget_add_sentence(list->arena->budget)) {
        error_memory(err);
        goto done;
    }
    result = settle(list, sentence, err);
    if (result == 0 && list->taker)
        result = list->taker->take(list->taker->owner, sentence, err);
    else if (result == 0)
        list->items[list->count++] = *sentence;
done:
    if (result != 0)
        sentence_done(sentence);
    return result;
}

/* ---- a text ---- */

/* Adds the pieces of a sentence that is too long. */
static int add_wrapped(struct prepared *list, struct span span, struct error *err) {
    const struct translator *t = list->translator;
    size_t limit = t->config.limits.max_source_tokens;
    struct text_reading reading = {t->source, reading_of(list, &list->text->held), limit};
    struct spans pieces;
    struct sentence sentence;
    if (text_wrap(&reading, list->text->text, span, list->arena, &pieces, err) != 0)
        return -1;
    if (!list->text->split && pieces.count > 1)
        return error_set(err, ERROR_LENGTH,
                         "the text has more than %zu tokens, the most that the model reads at once",
                         limit);
    for (size_t i = 0; i < pieces.count; i++)
        if (sentence_init(&sentence, list, pieces.all[i], err) != 0 ||
            append(list, &sentence, err) != 0)
            return -1;
    return 0;
}

/* Adds a span as one sentence if it is short enough to be tokenized as a whole and fits; otherwise
 * in pieces. *whole is set to whether it is short enough. wraps: a longer span is added in pieces;
 * otherwise it is not added. */
static int add_sentence(struct prepared *list, struct span span, bool wraps, bool *whole,
                        struct error *err) {
    struct opaque_runs held = reading_of(list, &list->text->held).held, within;
    struct arena_mark mark = arena_mark(list->arena);
    struct sentence sentence;
    if (opaque_within(&held, span.begin, span.end, list->arena, &within, err) != 0)
        return -1;
    *whole = text_is_short(list->text->text + span.begin, span.end - span.begin, &within);
    arena_release(list->arena, mark);
    if (!*whole)
        return wraps ? add_wrapped(list, span, err) : 0;
    if (sentence_init(&sentence, list, span, err) != 0)
        return -1;
    if (sentence_fits(&sentence))
        return append(list, &sentence, err);
    sentence_done(&sentence);
    return add_wrapped(list, span, err);
}

static int add_span(struct prepared *list, struct span span, struct error *err) {
    const struct translator *t = list->translator;
    const struct translator_text *text = list->text;
    struct span visible = segmenter_trim(text->text + span.begin, span.end - span.begin);
    size_t begin = span.begin + visible.begin, length = visible.end - visible.begin;
    const struct bytes part = {text->text + begin, length};
    bool finds = !text->verbatim && t->readable.unreadable && search_constrains(list->options) &&
                 length <= MOST_HELD_BYTES,
         whole;
    span = (struct span){begin, begin + length};
    if (add_sentence(list, span, !finds, &whole, err) != 0)
        return -1;
    if (whole || !finds)
        return 0;

    /* the span is too long to be tokenized as a whole, so the runs that the model cannot read are
     * found before it is split */
    struct tokenizer_reading how = reading_of(list, &text->held);
    if (opaque_within(&how.held, begin, begin + length, list->arena, &how.held, err) != 0 ||
        text_hold(&t->readable, t->source, part, &how, list->arena, err) != 0 ||
        numbers_write_runs(t->source_numbers, t->target_numbers, part, &how.held, list->arena,
                           err) != 0)
        return -1;
    for (size_t i = 0; i < how.held.count; i++) {
        how.held.all[i].begin += begin;
        how.held.all[i].end += begin;
    }
    struct translator_text around =
        *text; /* with the runs that are held within the span, and no others */
    around.held = how.held;
    list->text = &around;
    int result = add_sentence(list, span, true, &whole, err);
    list->text = text;
    return result;
}

/* Cuts a text into sentences: those of the segmenter without the layout between and within them. */
static int split_text(const struct prepared *list, const struct opaque_runs *held,
                      struct spans *out, struct error *err) {
    const struct translator_text *text = list->text;
    const struct segmenter *segmenter = list->translator->segmenter;
    const struct layout_reading reading = {segmenter, text->text, text->length, *held};
    struct spans split, gaps = {0};
    size_t next_run = 0, gap = 0, parts = 0;
    if (segmenter_split(segmenter, (struct bytes){text->text, text->length}, list->arena, &split,
                        err) != 0 ||
        (!text->verbatim && layout_find(&reading, list->arena, &gaps, err) != 0))
        return -1;
    struct span *found = split.all;
    for (size_t i = 0; i < split.count;
         i++) { /* sentences seem to end within some runs, which must not be cut */
        while (next_run < held->count && held->all[next_run].end <= found[i].begin)
            next_run++;
        if (parts > 0 && next_run < held->count && held->all[next_run].begin < found[i].begin)
            found[parts - 1].end = found[i].end;
        else
            found[parts++] = found[i];
    }
    *out = (struct spans){found, parts};
    if (gaps.count == 0)
        return 0;
    struct span *kept = arena_alloc(list->arena, parts + gaps.count, sizeof *kept);
    if (!kept)
        return error_memory(err);
    *out = (struct spans){kept, 0};
    for (size_t i = 0; i < parts; i++) {
        size_t begin = found[i].begin, end = found[i].end;
        for (; gap < gaps.count && gaps.all[gap].begin < end; gap++) {
            if (gaps.all[gap].begin > begin)
                kept[out->count++] = (struct span){begin, gaps.all[gap].begin};
            begin = gaps.all[gap].end > begin ? gaps.all[gap].end : begin;
            if (begin >= end) /* the gap may reach into the next sentence */
                break;
        }
        if (begin < end)
            kept[out->count++] = (struct span){begin, end};
    }
    return 0;
}

/* Makes the sentences of the list's text. */
static int read_text(struct prepared *list, struct error *err) {
    const struct translator_text *text = list->text;
    struct opaque_runs held = reading_of(list, &text->held).held;
    struct span whole = {0, text->length};
    struct spans spans = {&whole, text->length > 0};
    if (text->split && split_text(list, &held, &spans, err) != 0)
        return -1;
    int result = 0;
    list->expected = spans.count;
    arena_init(&list->scratch, SENTENCE_SCRATCH_BYTES);
    arena_limit(&list->scratch, list->arena->budget);
    for (size_t i = 0; i < spans.count && result == 0; i++)
        result = add_span(list, spans.all[i], err);
    arena_done(&list->scratch);
    while (result != 0 && list->count > 0)
        sentence_done(&list->items[--list->count]);
    return result;
}

int sentence_prepare(const struct translator *translator, const struct translator_text *text,
                     const struct search_options *options, struct arena *arena,
                     struct sentence_list *out, struct error *err) {
    struct prepared list = {
        .translator = translator, .text = text, .options = options, .arena = arena};
    if (read_text(&list, err) != 0)
        return -1;
    *out = (struct sentence_list){list.items, list.count};
    return 0;
}

int sentence_read_text(const struct translator *translator, const struct translator_text *text,
                       const struct search_options *options, const struct sentence_taker *taker,
                       struct arena *arena, struct error *err) {
    return read_text(&(struct prepared){.translator = translator,
                                        .text = text,
                                        .options = options,
                                        .arena = arena,
                                        .taker = taker},
                     err);
}

int sentence_prepare_again(const struct translator *translator, const struct translator_text *text,
                           struct span span, const struct search_options *options,
                           struct sentence *sentence, struct error *err) {
    struct prepared list = {
        .translator = translator, .text = text, .options = options, .complete = true};
    arena_init(&list.scratch, SENTENCE_SCRATCH_BYTES);
    list.arena = &list.scratch;
    int result = sentence_init(sentence, &list, span, err);
    if (result == 0 && settle(&list, sentence, err) != 0) {
        sentence_done(sentence);
        result = -1;
    }
    arena_done(&list.scratch);
    return result;
}

/* ---- given targets and prefixes ---- */

int sentence_choose_variant(struct sentence *sentence, const char *variant, struct error *err) {
    const struct translator *t = sentence->translator;
    size_t i = 0;
    while (i < t->variants.count && strcmp(t->variants.names[i], variant) != 0)
        i++;
    if (i == t->variants.count)
        return error_set(err, ERROR_INPUT, "model \"%.60s\" has no variant \"%.60s\"",
                         t->config.name, variant);
    if (put_label(sentence, t->variants.ids[i], err) != 0)
        return -1;
    return t->variants.lead >= 0 ? put_label(sentence, t->variants.lead, err) : 0;
}

int sentence_choose_languages(struct sentence *sentence, const char *source, const char *target,
                              struct error *err) {
    const struct translator *t = sentence->translator;
    if (t->languages.count == 0) /* a label names the target alone */
        return sentence_choose_variant(sentence, target, err);
    const struct model_language *from = model_languages_find(&t->languages, source),
                                *to = model_languages_find(&t->languages, target);
    if (!from || !to)
        return error_set(err, ERROR_INPUT, "model \"%.60s\" has no language \"%.60s\"",
                         t->config.name, from ? target : source);
    sentence->opening = &t->language_ids[to - t->languages.all].target;
    sentence->targets = t->language_ids[to - t->languages.all].list;
    return put_label(sentence, t->language_ids[from - t->languages.all].source, err);
}

/* Makes the translation begin with a text. what: "target" or "prefix". */
static int give(struct sentence *sentence, const char *what, const char *text, size_t length,
                struct error *err) {
    struct token_list list;
    /* a translation that will be in capitals again is made of small letters */
    const struct tokenizer_reading how = {.lowers = sentence->reading.lowered};
    if (tokenizer_encode(sentence->translator->target, (struct bytes){text, length}, &how,
                         &sentence->arena, &list, err) != 0)
        return -1;
    struct token *tokens = list.all;
    size_t count = list.count;
    if (count > TRANSLATOR_MAX_TARGET)
        return error_set(err, ERROR_LENGTH, "the %s has %zu tokens, more than %d", what, count,
                         (int)TRANSLATOR_MAX_TARGET);
    int *ids = arena_alloc(&sentence->arena, count, sizeof *ids);
    const char *copy = arena_copy(&sentence->arena, text, length);
    if (arena_failed(&sentence->arena))
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        ids[i] = sentence->copies ? copies_id(sentence->copies, &tokens[i]) : tokens[i].id;
        if (!sentence->translator->output.writes && !copies_have(sentence->copies, ids[i]))
            return error_set(err, ERROR_INPUT,
                             "the model can only copy words, and the text has no %s",
                             tokens[i].piece);
    }
    sentence->given.text = copy;
    sentence->given.tokens = tokens;
    sentence->options.prefix = ids;
    sentence->options.prefix_length = count;
    return 0;
}

int sentence_force(struct sentence *sentence, const char *target, size_t length,
                   struct error *err) {
    if (give(sentence, "target", target, length, err) != 0)
        return -1;
    sentence->options.strategy = &search_forced;
    sentence->options.n_best = 1;
    return 0;
}

int sentence_begin_with(struct sentence *sentence, const char *prefix, size_t length,
                        struct error *err) {
    struct search_options *options = &sentence->options;
    if (give(sentence, "prefix", prefix, length, err) != 0)
        return -1;
    if (sentence->usual_length && options->max_length <= options->prefix_length)
        options->max_length = options->prefix_length + 1;
    return options->prefix_length <= options->max_length
               ? 0
               : error_set(err, ERROR_INPUT, "the prefix has %zu tokens, max_length is %zu",
                           options->prefix_length, options->max_length);
}

int sentence_end_with(struct sentence *sentence, const char *suffix, size_t length,
                      struct error *err) {
    size_t begin = 0, next;
    for (next = 0; next < length && character_is_space(character_next(suffix, length, &next));)
        begin = next;
    if (begin == length)
        return error_set(err, ERROR_INPUT, "the suffix must not be blank");
    sentence->given.suffix = arena_copy(&sentence->arena, suffix + begin, length - begin);
    return sentence->given.suffix ? 0 : error_memory(err);
}

int sentence_attend(struct sentence *sentence, size_t step, const double *weights, size_t count,
                    struct error *err) {
    if (count != sentence->length)
        return error_set(err, ERROR_INPUT,
                         "step %zu has %zu weights; the text has %zu source tokens", step, count,
                         sentence->length);
    float *own = arena_alloc(&sentence->arena, count, sizeof *own);
    double sum = 0;
    if (!sentence->given.attention) /* allocated once, for all possible steps */
        sentence->given.attention = arena_alloc(&sentence->arena, TRANSLATOR_MAX_TARGET + 1,
                                                sizeof *sentence->given.attention);
    if (!own || !sentence->given.attention)
        return error_memory(err);
    for (size_t j = 0; j < count; j++)
        sum += weights[j];
    for (size_t j = 0; j < count; j++)
        own[j] = (float)(weights[j] / sum);
    sentence->given.attention[sentence->given.attention_count++] =
        (struct forced_attention){step, own};
    return 0;
}

void sentence_fail(struct sentence *sentence, const struct error *error) {
    static const struct error no_memory = {ERROR_MEMORY, "out of memory"};
    struct error *kept = sentence->error || error->code == ERROR_MEMORY
                             ? NULL
                             : arena_alloc(&sentence->arena, 1, sizeof *kept);
    if (kept)
        *kept = *error;
    if (!sentence->error)
        sentence->error = kept ? kept : &no_memory;
}

void sentence_leave(struct sentence *sentence) {
    sentence->targets.ids = NULL;
    arena_done(&sentence->decoding.arena);
    arena_done(&sentence->decoding.searching);
}

const char *sentence_text(const struct sentence *sentence) {
    return sentence->text + sentence->source.begin;
}

size_t sentence_text_length(const struct sentence *sentence) {
    return sentence->source.end - sentence->source.begin;
}

void sentence_done(struct sentence *sentence) {
    sentence_leave(sentence);
    arena_done(&sentence->arena);
}

/* ---- the rows and memory of a sentence ---- */

struct span sentence_own(const struct sentence *sentence) {
    return (struct span){sentence->reading.labels,
                         sentence->length - sentence->translator->config.encoder.eos};
}

size_t sentence_max_rows(const struct sentence *sentence) {
    return search_max_rows(&sentence->options);
}

bool sentence_drops(const struct sentence *sentence) {
    return sentence_max_rows(sentence) > 1 || search_resumes(&sentence->options);
}

bool sentence_replaces(const struct sentence *sentence) {
    return sentence->caller.replace_unknowns && sentence->reading.unknown > 0;
}

const float *sentence_forced(const struct sentence *sentence, size_t step) {
    for (size_t i = 0; i < sentence->given.attention_count; i++)
        if (sentence->given.attention[i].step == step)
            return sentence->given.attention[i].weights;
    return NULL;
}

size_t sentence_readout(const struct sentence *sentence) {
    const struct translator *t = sentence->translator;
    return t->characters ? t->decoder.shape.readout : 0;
}

size_t sentence_scores(const struct sentence *sentence) {
    bool wanted = sentence->caller.wants_scores && sentence->translator->decoder.attends;
    return wanted ? sentence->length : 0;
}

size_t sentence_top(const struct sentence *sentence) {
    const struct translator *t = sentence->translator;
    bool asked = sentence->caller.wants_alignment || sentence_replaces(sentence);
    return t->alignment.query.out > 0 && asked ? t->decoder.shape.top : 0;
}

size_t sentence_top_inline(const struct sentence *sentence) {
    return search_resumes(&sentence->options) ? sentence_top(sentence) : 0;
}

size_t sentence_added(const struct sentence *sentence) {
    return sentence->translator->decoder.shape.past + sentence_top(sentence) -
           sentence_top_inline(sentence);
}

/* The pasts of this many steps share a block, each in its own cache lines. */
enum { PAST_TOGETHER = 8 };

size_t sentence_past_block(const struct sentence *sentence) {
    enum { LINE = 64 };
    size_t bytes = sentence_added(sentence) * sizeof(float);
    return PAST_TOGETHER * ((bytes + LINE - 1) / LINE * LINE);
}

static size_t weights_of(const struct lookers *lookers, size_t pairs) {
    return lookers->layers * lookers->heads * pairs;
}

size_t sentence_looks(const struct sentence *sentence, size_t steps) {
    const struct translator *t = sentence->translator;
    size_t length = sentence->length;
    return weights_of(&t->encoder.self, length * length) +
           weights_of(&t->decoder.cross, length * steps) +
           weights_of(&t->decoder.self, steps * (steps + 1) / 2);
}

/* LOOSE_BYTES covers blocks that are not full, small pieces, and the gaps between them. */
enum { LOOSE_BYTES = 4 * SENTENCE_BLOCK_BYTES };

size_t sentence_max_bytes(const struct sentence *sentence) {
    const struct translator *t = sentence->translator;
    const struct decoder_shape *shape = &t->decoder.shape;
    const struct search_options *o = &sentence->options;
    size_t slots = decoder_slots(&t->decoder, sentence->length), seen, past, bytes, looks = 0;
    size_t head = sentence_top(sentence) > 0 ? t->alignment.key.out : 0;
    size_t each = shape->key + shape->value + head +
                  (sentence->copies ? t->output.key.out + t->output.gate_context.out : 0);
    /* the weights, and the pass through the network that finds them */
    if (sentence->caller.wants_looks) {
        size_t steps = 1 + (o->max_length > o->prefix_length ? o->max_length : o->prefix_length);
        looks = (sentence_looks(sentence, steps) + steps * shape->past) * sizeof(float);
    }
    looks += sentence_scores(sentence) > 0
                 ? search_max_shown(o) * sentence_scores(sentence) * sizeof(float)
                 : 0;
    looks += t->opening_count * (shape->past * sizeof(float) + sizeof(float *));
    if (__builtin_mul_overflow(slots, each * sizeof(float), &seen) ||
        __builtin_mul_overflow(search_max_shown(o) / PAST_TOGETHER + 1,
                               sentence_past_block(sentence), &past) ||
        __builtin_add_overflow(seen, past, &bytes) ||
        __builtin_add_overflow(bytes, LOOSE_BYTES + shape->state * sizeof(float), &bytes) ||
        __builtin_add_overflow(bytes, looks, &bytes))
        return SIZE_MAX;
    return bytes;
}

/* ---- the answer ---- */

size_t sentence_closest(const struct sentence *sentence, size_t i, bool decided, size_t *common) {
    const struct hypothesis *h = &sentence->hypotheses[i];
    size_t found = 0;
    *common = 0;
    for (size_t k = 0; k < i; k++) {
        const struct hypothesis *other = &sentence->hypotheses[k];
        size_t own = decided ? h->length : hypothesis_steps(h),
               most = decided ? other->length : hypothesis_steps(other), count = 0;
        while (count < own && count < most && other->attention[count] == h->attention[count] &&
               (!decided || other->tokens[count] == h->tokens[count]))
            count++;
        if (count > *common) {
            found = k;
            *common = count;
        }
    }
    return found;
}
