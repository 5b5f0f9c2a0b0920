#include "model/pending.h"
#include "model/model.h"
#include "model/soft_alignment.h"

#include <stdint.h>
#include <string.h>

/* ENCODE_TOKENS are encoded together at most: this bounds scratch, and how long an admission holds up the other rows. */
enum { ENCODE_TOKENS = 512 };

/* ---- a group ---- */

/* Room for the encoding of n sentences of so many tokens in all, and what the encoder reads. */
static int lay_out_encoding(const struct translator *t, struct sentence *const *sentences, struct encoding *out,
                            struct arena *arena) {
    size_t n = out->n, tokens = out->tokens;
    out->ids = arena_alloc(arena, tokens, sizeof *out->ids);
    out->lengths = arena_alloc(arena, n, sizeof *out->lengths);
    out->keys = arena_alloc(arena, tokens * t->decoder.shape.key, sizeof(float));
    out->values = arena_alloc(arena, tokens * t->decoder.shape.value, sizeof(float));
    out->copy_keys = arena_alloc(arena, tokens * t->output.key.out, sizeof(float));
    out->copy_gates = arena_alloc(arena, tokens * t->output.gate_context.out, sizeof(float));
    out->states = arena_alloc(arena, n * t->decoder.shape.state, sizeof(float));
    if (arena_failed(arena))
        return -1;
    for (size_t i = 0, at = 0; i < n; i++) {
        out->lengths[i] = sentences[i]->length;
        for (size_t j = 0; j < out->lengths[i]; j++)
            out->ids[at++] = sentences[i]->tokens[j].id;
    }
    return 0;
}

/* What the decoder and the output layer begin with, of the encoder's annotations. */
static int start_decoder(const struct translator *t, struct encoding *out, struct arena *arena, struct error *err) {
    output_keys(&t->output, out->encoded.annotations, out->tokens, out->copy_keys, out->copy_gates);
    for (size_t i = 0; i < out->n; i++)
        out->slots += decoder_slots(&t->decoder, out->lengths[i]);
    return decoder_start(&t->decoder, &out->encoded, out->lengths, out->n, arena, out->states, err);
}

/* ---- one sentence of it ---- */

/* The ids that the sentence's search may choose from. All, if it had nothing to choose but </s>. */
static int find_targets(const struct shortlist *shortlist, struct sentence *sentence) {
    struct target_ids found;
    if (!shortlist)
        return 0;
    int *source = arena_alloc(&sentence->arena, sentence->length, sizeof *source);
    if (!source)
        return error_memory(&sentence->error);
    for (size_t i = 0; i < sentence->length; i++)
        source[i] = sentence->tokens[i].id;
    if (shortlist_of(shortlist, source, sentence->length, &sentence->arena, &found, &sentence->error) != 0)
        return -1;
    if (found.count > 1)
        sentence->targets = found;
    return 0;
}

/* A copy of so many vectors of this size, from the first-th on, while the sentence is decoded. */
static const float *keep(struct sentence *sentence, const float *from, size_t first, size_t count, size_t size) {
    float *own = arena_alloc(&sentence->decoding, count * size, sizeof *own);
    if (own)
        memcpy(own, from + first * size, count * size * sizeof *own);
    return own;
}

static size_t kept_past(const struct sentence *sentence) {
    return sentence_added(sentence) > 0 ? sizeof(uintptr_t) / sizeof(float) : 0;
}

/* Starts the sentence's search; state: its first. */
static int start_search(const struct translator *t, struct sentence *sentence, const float *state) {
    bool resumes = search_resumes(&sentence->options);
    sentence->options.keep = sentence_readout(sentence) + kept_past(sentence) + sentence_top_inline(sentence);
    sentence->options.keep_state = resumes ? t->decoder.shape.state : 0;
    if (resumes && !(sentence->first_state = keep(sentence, state, 0, 1, t->decoder.shape.state)))
        return error_memory(&sentence->error);
    size_t seen = t->decoder.attends ? sentence->length : 0;
    struct search_ids ids = {.end = tokenizer_end(t->target),
                             .banned = t->config.output.unknowns ? -1 : tokenizer_unknown(t->target),
                             .bytes = sentence->verbatim ? NULL : t->bytes,
                             .size = tokenizer_size(t->target)};
    arena_init(&sentence->searching, SENTENCE_SEARCH_BYTES);
    struct arena *arena = sentence_drops(sentence) ? &sentence->searching : &sentence->arena;
    if (search_init(&sentence->search, &sentence->options, ids, seen, arena, &sentence->error) != 0)
        return -1;
    sentence->search.tree.arena = &sentence->arena;
    return 0;
}

int encoding_settle(const struct encoding *encoding, size_t first, const float *state, struct sentence *sentence,
                    struct arena *scratch) {
    const struct translator *t = sentence->translator;
    size_t length = decoder_slots(&t->decoder, sentence->length);
    arena_init(&sentence->decoding, SENTENCE_BLOCK_BYTES);
    struct memory *memory = arena_alloc(&sentence->decoding, 1, sizeof *memory);
    const float *keys = keep(sentence, encoding->keys, first, length, t->decoder.shape.key);
    const float *values = keep(sentence, encoding->values, first, length, t->decoder.shape.value);
    const float *copy_keys = keep(sentence, encoding->copy_keys, first, length, t->output.key.out);
    const float *copy_gates = keep(sentence, encoding->copy_gates, first, length, t->output.gate_context.out);
    if (arena_failed(&sentence->decoding))
        return error_memory(&sentence->error);
    *memory = (struct memory){.length = length, .keys = keys, .values = values};
    sentence->memory = memory;
    if (sentence->copies) {
        sentence->copies->keys = copy_keys;
        sentence->copies->gates = copy_gates;
    }
    const float *annotations =
        encoding->encoded.annotations + first * t->encoder.annotation; /* there is a head: slots are tokens */
    if (soft_alignment_begin(sentence, annotations, scratch, &sentence->error) != 0 || start_search(t, sentence, state) != 0)
        return -1;
    if (sentence_added(sentence) > 0)
        sentence->decoding.block_bytes = sentence_past_block(sentence);
    return find_targets(t->shortlist, sentence);
}

/* ---- those that wait ---- */

int pending_init(struct pending *pending, const struct translator *translator, size_t most, struct arena *arena) {
    *pending = (struct pending){.translator = translator, .sentences = arena_alloc(arena, most, sizeof(struct sentence *))};
    arena_init(&pending->arena, 1024 * 1024);
    return pending->sentences ? 0 : -1;
}

void pending_done(struct pending *pending) {
    arena_done(&pending->arena);
}

void pending_add(struct pending *pending, struct sentence *sentence) {
    pending->sentences[pending->count++] = sentence;
}

/* The first of those that wait, as many as are encoded together. */
static int take_group(struct pending *pending, struct error *err) {
    struct encoding *e = &pending->encoding;
    do
        e->tokens += pending->sentences[e->n++]->length;
    while (e->n < pending->count && e->tokens + pending->sentences[e->n]->length <= ENCODE_TOKENS);
    return lay_out_encoding(pending->translator, pending->sentences, e, &pending->arena) == 0 ? 0 : error_memory(err);
}

/* What a part of the work came to. */
enum outcome { FAILED = -1, DONE, MORE };

/* The group's annotations. */
static enum outcome annotate(struct pending *pending, size_t work, struct error *err) {
    const struct encoder *encoder = &pending->translator->encoder;
    struct encoding *e = &pending->encoding;
    if (!encoder_divides(encoder))
        return encoder_run(encoder, e->ids, e->lengths, e->n, &pending->arena, &e->encoded, err) == 0 ? DONE : FAILED;
    if (!pending->parts)
        pending->parts = encoder_begin(encoder, e->ids, e->lengths, e->n, &pending->arena, &e->encoded, err);
    if (!pending->parts)
        return FAILED;
    return encoder_advance(encoder, pending->parts, work) ? DONE : MORE;
}

/* What the decoder remembers of them. */
static enum outcome remember(struct pending *pending, size_t work, struct error *err) {
    const struct decoder *decoder = &pending->translator->decoder;
    const struct decoder_shape *shape = &decoder->shape;
    struct encoding *e = &pending->encoding;
    size_t each = (shape->key + shape->value) * pending->translator->encoder.annotation, first = e->remembered;
    size_t count = encoder_part_rows(work, each, e->slots - first);
    e->remembered += count;
    if (decoder_remember(decoder, &e->encoded, first, count, &pending->arena, e->keys + first * shape->key,
                         e->values + first * shape->value, err) != 0)
        return FAILED;
    return e->remembered < e->slots ? MORE : DONE;
}

static enum outcome encode_some(struct pending *pending, size_t work, struct error *err) {
    struct encoding *e = &pending->encoding;
    enum outcome outcome = DONE;
    if (e->n == 0 && take_group(pending, err) != 0)
        return FAILED;
    if (e->slots == 0 && (outcome = annotate(pending, work, err)) == DONE &&
        start_decoder(pending->translator, e, &pending->arena, err) != 0)
        outcome = FAILED;
    return outcome == DONE ? remember(pending, work, err) : outcome;
}

size_t pending_encode(struct pending *pending, size_t work, struct error *err) {
    return encode_some(pending, work, err) == MORE ? 0 : pending->encoding.n;
}

void pending_remove(struct pending *pending) {
    size_t n = pending->encoding.n;
    pending->count -= n;
    memmove(pending->sentences, pending->sentences + n, pending->count * sizeof *pending->sentences);
    pending->encoding = (struct encoding){0};
    pending->parts = NULL;
    arena_reset(&pending->arena);
}
