#include "model/sentence.h"
#include "model/guard.h"
#include "model/model.h"
#include "model/network/output.h"
#include "model/text.h"
#include "model/text/opaque.h"
#include <math.h>
#include <string.h>

/* QUESTION_BYTES, ANSWER_BYTES: of the arena; many sentences wait, and few are decoded. MOST_HELD_BYTES: of a sentence whose runs
 * are found before it is cut; in a longer one an unreadable run may be cut, so that reading it can end at the first sentence too
 * many. */
enum { QUESTION_BYTES = 2 * 1024, ANSWER_BYTES = 32 * 1024, MOST_HELD_BYTES = 64 * 1024 };

/* Target tokens for T source tokens (</s> counted), if the caller asks for no other limit. */
static size_t default_max_length(const struct translator *translator, size_t source_length) {
    size_t length = (size_t)floor(translator->config.limits.max_target_ratio * (double)source_length + 0.5);
    if (length < 1)
        return 1;
    return length < TRANSLATOR_MAX_TARGET ? length : TRANSLATOR_MAX_TARGET;
}

static bool sentence_fits(const struct sentence *sentence) {
    const struct translator *t = sentence->translator;
    return sentence->length <= t->config.limits.max_source_tokens + t->config.encoder.eos;
}

/* The output layer has room for the copies of a sentence within the limit; what cannot be cut may be longer. */
static int find_copies(struct sentence *sentence, struct error *err) {
    const struct translator *t = sentence->translator;
    if (!sentence_fits(sentence))
        return error_set(err, ERROR_LENGTH, "the text has a part of more than %zu tokens that cannot be split",
                         t->config.limits.max_source_tokens);
    sentence->copies =
        copies_find(&(struct copies_between){t->source, t->target}, sentence->tokens, sentence->length, &sentence->arena, err);
    return sentence->copies ? 0 : -1;
}

bool translator_holds(const struct translator *translator) {
    return translator->holds;
}

enum opaque_scope translator_scope(const struct translator *translator, bool verbatim) {
    return verbatim ? OPAQUE_NOTHING : translator->scope;
}

/* How the source is read: around what the search can bring through. */
static struct tokenizer_reading reading_of(const struct translator *translator, const struct search_options *options,
                                           const struct opaque_runs *held, bool verbatim) {
    bool holds = translator->holds && search_constrains(options);
    bool reads = translator->readable.unreadable && !verbatim;
    return (struct tokenizer_reading){.held = holds ? *held : (struct opaque_runs){0},
                                      .stand_ins = translator->readable.unreadable ? &translator->readable.stand_ins : NULL,
                                      .respelling = reads ? &translator->readable.respelling : NULL};
}

/* Also holds the runs that the model cannot read, and then tokenizes the sentence again. */
static int hold_unreadable(struct sentence *sentence, struct tokenizer_reading *how, struct token **tokens, size_t *count,
                           struct error *err) {
    const struct translator *t = sentence->translator;
    const char *text = sentence->text + sentence->source.begin;
    size_t bytes = sentence->source.end - sentence->source.begin, found;
    if (!t->readable.unreadable || !search_constrains(&sentence->options))
        return 0;
    if (readable_hold(&t->readable, text, bytes, *tokens, *count, &how->held, &found, &sentence->arena, err) != 0)
        return -1;
    if (found == 0)
        return 0;
    if (numbers_write_runs(t->source_numbers, t->target_numbers, text, bytes, &how->held, &sentence->arena, err) != 0)
        return -1;
    sentence->held = how->held;
    return tokenizer_encode_around(t->source, text, bytes, how, &sentence->lowered, &sentence->arena, tokens, count, err);
}

/* Tokens of the sentence's own text, with </s> if the encoder reads one; none if nothing in it is visible to the tokenizer. */
static int tokenize(struct sentence *sentence, bool verbatim, struct error *err) {
    const struct translator *t = sentence->translator;
    size_t bytes = sentence->source.end - sentence->source.begin, count;
    struct token *tokens, *with_end;
    struct tokenizer_reading how = reading_of(t, &sentence->options, &sentence->held, verbatim);
    if (tokenizer_encode_around(t->source, sentence->text + sentence->source.begin, bytes, &how, &sentence->lowered,
                                &sentence->arena, &tokens, &count, err) != 0 ||
        (!verbatim && hold_unreadable(sentence, &how, &tokens, &count, err) != 0))
        return -1;
    with_end = arena_alloc(&sentence->arena, count + 1, sizeof *with_end);
    if (!with_end)
        return error_memory(err);
    if (count > 0)
        memcpy(with_end, tokens, count * sizeof *tokens);
    for (size_t i = 0; i < count; i++)
        sentence->unknown += tokens[i].id == tokenizer_unknown(t->source);
    int end = tokenizer_end(t->source);
    if (t->config.encoder.eos && count > 0)
        with_end[count++] = (struct token){.id = end, .piece = tokenizer_piece(t->source, end), .begin = bytes, .end = bytes};
    sentence->tokens = with_end;
    sentence->length = count;
    return 0;
}

/* What translator_prepare_text makes. */
struct prepared {
    const struct translator *translator;
    const struct translator_text *text;
    const struct search_options *options;
    struct arena *arena;
    struct sentence *items;
    size_t count, room;
};

static int sentence_init(struct sentence *sentence, const struct prepared *list, struct span span, struct error *err) {
    *sentence = (struct sentence){.translator = list->translator,
                                  .verbatim = list->text->verbatim,
                                  .text = list->text->text,
                                  .source = span,
                                  .options = *list->options};
    arena_init(&sentence->arena, QUESTION_BYTES);
    arena_limit(&sentence->arena, list->arena->budget);
    int result = opaque_within(&list->text->held, span.begin, span.end, &sentence->arena, &sentence->held, err);
    if (result == 0)
        result = tokenize(sentence, list->text->verbatim, err);
    sentence->arena.block_bytes = ANSWER_BYTES;
    if (result == 0)
        return 0;
    sentence_done(sentence);
    return -1;
}

/* What depends on the source's length. */
static int settle(struct sentence *sentence, struct error *err) {
    if (output_copies(&sentence->translator->output) && find_copies(sentence, err) != 0)
        return -1;
    sentence->usual_length = sentence->options.max_length == 0;
    sentence_limit(sentence);
    return 0;
}

struct span sentence_own(const struct sentence *sentence) {
    return (struct span){sentence->labelled, sentence->length - sentence->translator->config.encoder.eos};
}

void sentence_limit(struct sentence *sentence) {
    if (!sentence->usual_length)
        return;
    size_t usual = default_max_length(sentence->translator, sentence->length), least = sentence->options.min_length;
    sentence->options.max_length = usual > least ? usual : least;
}

/* Marks a sentence whose amounts are to be compared: one with digits, in a search that can hold something and has one best answer.
 */
static int mark_amounts(struct sentence *sentence, struct error *err) {
    const struct translator *t = sentence->translator;
    const char *text = sentence->text + sentence->source.begin;
    if (!t->source_numbers || !t->target_numbers || !search_constrains(&sentence->options) ||
        sentence->options.strategy == &search_sample || !numbers_any(text, sentence->source.end - sentence->source.begin))
        return 0;
    struct sentence_amounts *amounts = arena_zalloc(&sentence->arena, 1, sizeof *amounts);
    if (!amounts)
        return error_memory(err);
    amounts->options = sentence->options;
    sentence->amounts = amounts;
    return 0;
}

static int prepared_add(struct prepared *list, struct sentence *sentence, struct error *err) {
    if (list->count == list->room) {
        size_t room = list->room > 0 ? 2 * list->room : 1;
        struct sentence *grown = arena_alloc(list->arena, room, sizeof *grown);
        if (!grown)
            return error_memory(err);
        if (list->count > 0)
            memcpy(grown, list->items, list->count * sizeof *grown);
        list->items = grown;
        list->room = room;
    }
    if (!budget_add_sentence(list->arena->budget))
        return error_memory(err);
    if (settle(sentence, err) != 0 || (!list->text->verbatim && mark_amounts(sentence, err) != 0))
        return -1;
    arena_limit(&sentence->arena, NULL); /* the sentence keeps what it has taken */
    list->items[list->count++] = *sentence;
    return 0;
}

/* Takes over the sentence. One without tokens is none: zero-width characters and the like. */
static int add_or_end(struct prepared *list, struct sentence *sentence, struct error *err) {
    int result = sentence->length > 0 ? prepared_add(list, sentence, err) : 0;
    if (sentence->length == 0 || result != 0)
        sentence_done(sentence);
    return result;
}

/* A sentence that is too long, in pieces. */
static int add_wrapped(struct prepared *list, struct span span, struct error *err) {
    const struct translator *t = list->translator;
    size_t limit = t->config.limits.max_source_tokens, count;
    struct text_reading reading = {t->source, reading_of(t, list->options, &list->text->held, list->text->verbatim), limit};
    struct span *pieces;
    struct sentence sentence;
    if (text_wrap(&reading, list->text->text, span, list->arena, &pieces, &count, err) != 0)
        return -1;
    if (!list->text->split && count > 1)
        return error_set(err, ERROR_LENGTH, "the text has more than %zu tokens, the most that the model reads at once", limit);
    for (size_t i = 0; i < count; i++) {
        if (sentence_init(&sentence, list, pieces[i], err) != 0 || add_or_end(list, &sentence, err) != 0)
            return -1;
    }
    return 0;
}

/* Whether the span is short enough to be tokenized as a whole, around what is held. */
static int is_short(const struct prepared *list, struct span span, bool *answer, struct error *err) {
    struct opaque_runs held = reading_of(list->translator, list->options, &list->text->held, list->text->verbatim).held, within;
    struct arena_mark mark = arena_mark(list->arena);
    if (opaque_within(&held, span.begin, span.end, list->arena, &within, err) != 0)
        return -1;
    *answer = text_is_short(list->text->text + span.begin, span.end - span.begin, &within);
    arena_release(list->arena, mark);
    return 0;
}

/* The runs that are held within the span, and those that the model cannot read. A span that is too long to be tokenized as a whole
 * cannot leave them to its sentence (hold_unreadable). */
static int hold_within(const struct prepared *list, struct span span, struct opaque_runs *out, struct error *err) {
    const struct translator *t = list->translator;
    const char *text = list->text->text + span.begin;
    size_t length = span.end - span.begin;
    struct tokenizer_reading how = reading_of(t, list->options, &list->text->held, list->text->verbatim);
    if (opaque_within(&how.held, span.begin, span.end, list->arena, &how.held, err) != 0 ||
        text_hold(&t->readable, t->source, text, length, &how, list->arena, err) != 0 ||
        numbers_write_runs(t->source_numbers, t->target_numbers, text, length, &how.held, list->arena, err) != 0)
        return -1;
    for (size_t i = 0; i < how.held.count; i++) {
        how.held.all[i].begin += span.begin;
        how.held.all[i].end += span.begin;
    }
    *out = how.held;
    return 0;
}

static int add_short(struct prepared *list, struct span span, struct error *err) {
    struct sentence sentence;
    if (sentence_init(&sentence, list, span, err) != 0)
        return -1;
    if (sentence_fits(&sentence))
        return add_or_end(list, &sentence, err);
    sentence_done(&sentence);
    return add_wrapped(list, span, err);
}

static int add_span(struct prepared *list, struct span span, struct error *err) {
    struct span visible = segmenter_trim(list->text->text + span.begin, span.end - span.begin);
    struct span trimmed = {span.begin + visible.begin, span.begin + visible.end};
    const struct translator_text *text = list->text;
    struct translator_text around = *text; /* with the runs that are held within the span, and no others */
    bool whole;
    if (is_short(list, trimmed, &whole, err) != 0)
        return -1;
    if (whole)
        return add_short(list, trimmed, err);
    bool finds = !text->verbatim && list->translator->readable.unreadable && search_constrains(list->options);
    if (!finds || trimmed.end - trimmed.begin > MOST_HELD_BYTES)
        return add_wrapped(list, trimmed, err);
    if (hold_within(list, trimmed, &around.held, err) != 0)
        return -1;
    list->text = &around;
    int result = is_short(list, trimmed, &whole, err);
    if (result == 0)
        result = whole ? add_short(list, trimmed, err) : add_wrapped(list, trimmed, err);
    list->text = text;
    return result;
}

/* Makes one of the spans that a placeholder goes across: sentences seem to end in some. */
static void spans_join(const struct opaque_runs *held, struct span *spans, size_t *count) {
    size_t next = 0, kept = 0;
    for (size_t i = 0; i < *count; i++) {
        while (next < held->count && held->all[next].end <= spans[i].begin)
            next++;
        if (kept > 0 && next < held->count && held->all[next].begin < spans[i].begin)
            spans[kept - 1].end = spans[i].end;
        else
            spans[kept++] = spans[i];
    }
    *count = kept;
}

static int add_all(struct prepared *list, struct error *err) {
    const struct translator *t = list->translator;
    const struct translator_text *text = list->text;
    struct opaque_runs held = reading_of(t, list->options, &text->held, text->verbatim).held;
    struct span whole = {0, text->length}, *spans = &whole;
    size_t count = text->length > 0;
    if (text->split && segmenter_split(t->segmenter, text->text, text->length, list->arena, &spans, &count, err) != 0)
        return -1;
    spans_join(&held, spans, &count);
    for (size_t i = 0; i < count; i++) {
        if (add_span(list, spans[i], err) != 0)
            return -1;
    }
    return 0;
}

int translator_prepare_text(const struct translator *translator, const struct translator_text *text,
                            const struct search_options *options, struct arena *arena, struct sentence **sentences, size_t *count,
                            struct error *err) {
    struct prepared list = {.translator = translator, .text = text, .options = options, .arena = arena};
    if (add_all(&list, err) != 0) {
        while (list.count > 0)
            sentence_done(&list.items[--list.count]);
        return -1;
    }
    *sentences = list.items;
    *count = list.count;
    return 0;
}

int translator_prepare(const struct translator *translator, const char *text, size_t length, bool split,
                       const struct search_options *options, struct arena *arena, struct sentence **sentences, size_t *count,
                       struct error *err) {
    struct guard placeholders = {0};
    struct translator_text whole = {text, length, {0}, split, true};
    if (guard_find(&placeholders, OPAQUE_PLACEHOLDERS, text, length, arena, &whole.held, err) != 0)
        return -1;
    return translator_prepare_text(translator, &whole, options, arena, sentences, count, err);
}

void sentence_leave(struct sentence *sentence) {
    arena_done(&sentence->decoding);
    arena_done(&sentence->searching);
}

void sentence_done(struct sentence *sentence) {
    sentence_leave(sentence);
    arena_done(&sentence->arena);
}

size_t sentence_max_rows(const struct sentence *sentence) {
    return search_max_rows(&sentence->options);
}

bool sentence_drops(const struct sentence *sentence) {
    return sentence_max_rows(sentence) > 1 || search_resumes(&sentence->options);
}

/* What steps add lies so many together. */
enum { PAST_TOGETHER = 8 };

bool sentence_replaces(const struct sentence *sentence) {
    return sentence->replace_unknowns && sentence->unknown > 0;
}

const float *sentence_forced(const struct sentence *sentence, size_t step) {
    for (size_t i = 0; i < sentence->forced_count; i++)
        if (sentence->forced_attention[i].step == step)
            return sentence->forced_attention[i].weights;
    return NULL;
}

size_t sentence_readout(const struct sentence *sentence) {
    const struct translator *t = sentence->translator;
    return t->characters ? t->decoder.shape.readout : 0;
}

size_t sentence_top(const struct sentence *sentence) {
    const struct translator *t = sentence->translator;
    bool asked = sentence->wants_alignment || sentence_replaces(sentence);
    return t->alignment.query.out > 0 && asked ? t->decoder.shape.top : 0;
}

size_t sentence_top_inline(const struct sentence *sentence) {
    return search_resumes(&sentence->options) ? sentence_top(sentence) : 0;
}

size_t sentence_added(const struct sentence *sentence) {
    return sentence->translator->decoder.shape.past + sentence_top(sentence) - sentence_top_inline(sentence);
}

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
    return weights_of(&t->encoder.self, length * length) + weights_of(&t->decoder.cross, length * steps) +
           weights_of(&t->decoder.self, steps * (steps + 1) / 2);
}

/* What they, and finding them, take. */
static size_t looks_bytes(const struct sentence *sentence) {
    const struct search_options *o = &sentence->options;
    size_t steps = 1 + (o->max_length > o->prefix_length ? o->max_length : o->prefix_length);
    if (!sentence->wants_looks)
        return 0;
    return (sentence_looks(sentence, steps) + steps * sentence->translator->decoder.shape.past) * sizeof(float);
}

/* Blocks that are not full, of what is smaller than one, and what lies between. */
enum { LOOSE_BYTES = 4 * SENTENCE_BLOCK_BYTES };

size_t sentence_max_bytes(const struct sentence *sentence) {
    const struct translator *t = sentence->translator;
    const struct decoder_shape *shape = &t->decoder.shape;
    bool copies = sentence->copies != NULL;
    size_t slots = decoder_slots(&t->decoder, sentence->length), seen, past, bytes;
    size_t head = sentence_top(sentence) > 0 ? t->alignment.key.out : 0;
    size_t each = shape->key + shape->value + head + (copies ? t->output.key.out + t->output.gate_context.out : 0);
    if (__builtin_mul_overflow(slots, each * sizeof(float), &seen) ||
        __builtin_mul_overflow(search_max_shown(&sentence->options) / PAST_TOGETHER + 1, sentence_past_block(sentence), &past) ||
        __builtin_add_overflow(seen, past, &bytes) ||
        __builtin_add_overflow(bytes, LOOSE_BYTES + shape->state * sizeof(float), &bytes) ||
        __builtin_add_overflow(bytes, looks_bytes(sentence), &bytes))
        return SIZE_MAX;
    return bytes;
}
