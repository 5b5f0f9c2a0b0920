/* A batch holds the live rows of one worker. The rows of a sentence are adjacent, and sentences are
 * in the order of their admission. Each step copies the states of the surviving rows into the other
 * of two matrices, which closes the gaps that finished sentences leave. A sentence passes through
 * this file from top to bottom: it waits, is encoded, starts its search, takes its steps, and
 * leaves with its answer. */
#include "model/batch.h"
#include "model/model.h"
#include "model/network/network.h"
#include "model/sentence.h"
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A step processes its rows in groups of at most GROUP_ROWS: enough to run products at full speed,
 * and few enough to keep their logits in the cache until the searches have read them. */
enum { GROUP_ROWS = 64 };
static_assert((int)SEARCH_MAX_ROWS <= (int)GROUP_ROWS, "a sentence must fit into a group");

/* One part of an encoding, which runs between two steps of the live rows, has PART_WORK
 * multiplications, about 10 ms. The last part may do as many again for the decoder. */
enum { PART_WORK = 1 << 29 };

/* Encoding sentences together is cheaper, because each encoding reads the encoder's weights once
 * per token of its longest sentence. While GATHER_ROWS or more rows are live, new sentences wait up
 * to GATHER_STEPS steps for each other. */
enum { GATHER_ROWS = 16, GATHER_STEPS = 4 };

/* At most ENCODE_TOKENS tokens are encoded together, which bounds scratch memory and the time that
 * an admission delays the other rows. */
enum { ENCODE_TOKENS = 512 };

/* ENCODING_BYTES is large enough for a group of a small model, so that groups of different sizes
 * reuse the same block. The kernel provides only pages that are touched. */
enum { ENCODING_BYTES = 16 << 20 };

/* An empty batch keeps what single sentences need, and returns the memory of larger groups: its
 * encodings have had more than KEPT_TOKENS together, or its scratch memory is more than
 * KEPT_SCRATCH_BYTES. */
enum { KEPT_TOKENS = ENCODE_TOKENS / 4, KEPT_SCRATCH_BYTES = 2 << 20 };

/* The block for a sentence's answer has at most this many bytes, unless one array is larger,
 * because hypotheses may share rows. */
enum { MOST_ANSWER_BYTES = 32 * 1024 };

/* A group of sentences that is being encoded: keys [slots, A], values [slots, P], copy_keys
 * [tokens, K], copy_gates [tokens, 1 or 0], states [n, S]. There are at most as many slots as
 * tokens, and exactly as many if the output copies. */
struct encoding {
    size_t n, tokens; /* 0: no group */
    size_t slots,
        remembered;  /* slots: 0 until there are annotations; remembered: keys and values so far */
    int *ids;        /* [tokens] */
    size_t *lengths; /* [n] */
    struct encoded encoded;
    float *keys, *values, *copy_keys, *copy_gates, *states;
    float *opening; /* [opening_count, n, G] the data that the steps of the opening have added */
    void *parts;    /* the encoder's progress; NULL: it has not begun */
};

struct batch {
    const struct translator *translator;
    size_t max_rows, rows,
        reserved; /* reserved: sum of sentence_max_rows over the live and waiting sentences */
    struct sentence **waiting; /* [max_rows] the first encoding.n are being encoded */
    size_t waiting_count;
    struct encoding encoding;
    size_t part_work;       /* multiplications of a part of an encoding */
    bool part_done;         /* the next step need not encode a part */
    struct sentence **live; /* [max_rows] */
    size_t live_count;
    struct sentence **failed; /* [max_rows] failed admissions, which the next step hands back */
    size_t failed_count;
    size_t steps_since_admission;
    size_t most_tokens;   /* tokens of the largest group that was encoded since batch_rest */
    float *states, *next; /* [max_rows, S] */
    struct row *group;    /* [GROUP_ROWS] the rows of one group in one step */
    float *tops; /* [GROUP_ROWS, H] for rows that show the top layer's output; NULL: the model never
                    needs it */
    struct arena arena;     /* holds all arrays above */
    struct arena encodings; /* holds the group that is being encoded */
    struct arena scratch;
};

struct batch *batch_create(const struct translator *translator, size_t max_rows,
                           struct error *err) {
    const struct decoder_shape *shape = &translator->decoder.shape;
    size_t stride = translator->output.stride;
    bool copies = translator->output.copies, aligns = translator->alignment.query.out > 0;
    struct batch *batch = calloc(1, sizeof *batch);
    if (!batch) {
        error_memory(err);
        return NULL;
    }
    struct arena *arena = &batch->arena;
    batch->translator = translator;
    batch->max_rows = max_rows;
    batch->part_work = PART_WORK;
    arena_init(arena, 64 * 1024);
    arena_init(&batch->encodings, ENCODING_BYTES);
    arena_init(&batch->scratch, 1024 * 1024);

    batch->waiting = arena_alloc(arena, max_rows, sizeof(struct sentence *));
    batch->live = arena_alloc(arena, max_rows, sizeof(struct sentence *));
    batch->failed = arena_alloc(arena, max_rows, sizeof(struct sentence *));
    batch->states = arena_alloc(arena, max_rows, shape->state * sizeof(float));
    batch->next = arena_alloc(arena, max_rows, shape->state * sizeof(float));
    batch->group = arena_zalloc(arena, GROUP_ROWS, sizeof *batch->group);
    float *readouts = arena_alloc(arena, GROUP_ROWS, shape->readout * sizeof(float));
    float *logits = arena_alloc(arena, GROUP_ROWS, stride * sizeof(float));
    float *inputs = arena_alloc(arena, copies ? GROUP_ROWS : 0, shape->input * sizeof(float));
    batch->tops =
        copies || aligns ? arena_alloc(arena, GROUP_ROWS, shape->top * sizeof(float)) : NULL;
    struct distribution *distributions = arena_alloc(arena, GROUP_ROWS, sizeof *distributions);
    if (arena_failed(arena)) {
        error_memory(err);
        batch_free(batch);
        return NULL;
    }
    for (size_t r = 0; r < GROUP_ROWS; r++)
        batch->group[r] = (struct row){.readout = readouts + r * shape->readout,
                                       .input = copies ? inputs + r * shape->input : NULL,
                                       .logits = logits + r * stride,
                                       .distribution = &distributions[r]};
    return batch;
}

void batch_free(struct batch *batch) {
    if (!batch)
        return;
    assert(batch_sentences(batch) == 0);
    arena_done(&batch->arena);
    arena_done(&batch->encodings);
    arena_done(&batch->scratch);
    free(batch);
}

size_t batch_bytes(const struct batch *batch) {
    return sizeof *batch + arena_bytes(&batch->arena) + arena_bytes(&batch->scratch) +
           arena_bytes(&batch->encodings);
}

void batch_rest(struct batch *batch) {
    assert(batch_sentences(batch) == 0);
    if (batch->most_tokens > KEPT_TOKENS)
        arena_trim(&batch->encodings);
    if (arena_bytes(&batch->scratch) > KEPT_SCRATCH_BYTES)
        arena_trim(&batch->scratch);
    batch->most_tokens = 0;
}

size_t batch_rows(const struct batch *batch) {
    return batch->rows;
}

bool batch_grows(const struct batch *batch) {
    return batch->translator->decoder.shape.past > 0;
}

size_t batch_past(const struct batch *batch) {
    size_t past = 0;
    for (size_t i = 0; batch_grows(batch) && i < batch->live_count; i++)
        past += batch->live[i]->search.rows * batch->live[i]->search.step;
    return past;
}

size_t batch_sentences(const struct batch *batch) {
    return batch->live_count + batch->failed_count + batch->waiting_count;
}

/* ---- admission: encoding ---- */

enum outcome { FAILED = -1, DONE, MORE };

/* Encodes the first waiting group or, if the encoder divides its work, about this many
 * multiplications of it. */
static enum outcome encode_part(struct batch *batch, size_t work, struct error *err) {
    const struct translator *t = batch->translator;
    const struct decoder_shape *shape = &t->decoder.shape;
    struct encoding *e = &batch->encoding;
    struct arena *arena = &batch->encodings;
    if (e->n == 0) { /* a group of the first sentences that wait */
        do
            e->tokens += batch->waiting[e->n++]->length;
        while (e->n < batch->waiting_count &&
               e->tokens + batch->waiting[e->n]->length <= ENCODE_TOKENS);
        batch->most_tokens = e->tokens > batch->most_tokens ? e->tokens : batch->most_tokens;
        e->ids = arena_alloc(arena, e->tokens, sizeof *e->ids);
        e->lengths = arena_alloc(arena, e->n, sizeof *e->lengths);
        if (arena_failed(arena)) {
            error_memory(err);
            return FAILED;
        }
        for (size_t i = 0, at = 0; i < e->n; i++) {
            e->lengths[i] = batch->waiting[i]->length;
            for (size_t j = 0; j < e->lengths[i]; j++)
                e->ids[at++] = batch->waiting[i]->tokens[j].id;
        }
    }
    if (e->slots == 0) { /* the annotations, and the decoder's and the output layer's beginning */
        if (!e->parts)
            e->parts = encoder_begin(&t->encoder, &(struct encoder_input){e->ids, e->lengths, e->n},
                                     arena, &e->encoded, err);
        if (!e->parts)
            return FAILED;
        if (!encoder_advance(&t->encoder, e->parts, work))
            return MORE;

        /* the keys and values of the group, in the memory that the encoder used for its work */
        e->keys = arena_alloc(arena, e->tokens * shape->key, sizeof(float));
        e->values = arena_alloc(arena, e->tokens * shape->value, sizeof(float));
        e->copy_keys = arena_alloc(arena, e->tokens * t->output.key.out, sizeof(float));
        e->copy_gates = arena_alloc(arena, e->tokens * t->output.gate_context.out, sizeof(float));
        e->states = arena_alloc(arena, e->n * shape->state, sizeof(float));
        if (arena_failed(arena)) {
            error_memory(err);
            return FAILED;
        }
        output_keys(&t->output, e->encoded.annotations, e->tokens, e->copy_keys, e->copy_gates);
        for (size_t i = 0; i < e->n; i++)
            e->slots += decoder_slots(&t->decoder, e->lengths[i]);
        if (decoder_start(&t->decoder, &e->encoded, arena, e->states, err) != 0)
            return FAILED;
    }

    /* the keys and values that the decoder remembers */
    size_t each = shape->outputs * t->encoder.annotation, first = e->remembered;
    size_t count = encoder_part_rows(work, each, e->slots - first);
    e->remembered += count;
    struct memory_part part = {first, count, e->keys + first * shape->key,
                               e->values + first * shape->value};
    if (decoder_remember(&t->decoder, &e->encoded, &part, arena, err) != 0)
        return FAILED;
    return e->remembered < e->slots ? MORE : DONE;
}

/* ---- admission: the opening ---- */

/* The decoder reads all of the opening but its last token, which the first step of the search
 * reads. */
static int read_opening(struct batch *batch, struct error *err) {
    const struct translator *t = batch->translator;
    const struct decoder_shape *shape = &t->decoder.shape;
    struct encoding *e = &batch->encoding;
    struct arena *scratch = &batch->scratch;
    size_t steps = t->opening_count;
    if (steps == 0)
        return 0;
    struct arena_mark mark = arena_mark(scratch);
    e->opening = arena_alloc(&batch->encodings, steps * e->n * shape->past, sizeof(float));
    int result = e->opening ? 0 : error_memory(err);
    for (size_t step = 0; result == 0 && step < steps; step++)
        for (size_t first = 0, slot = 0, count; result == 0 && first < e->n; first += count) {
            count = e->n - first < GROUP_ROWS ? e->n - first : GROUP_ROWS;
            struct memory *memories = arena_alloc(scratch, count, sizeof *memories);
            const float **past = arena_alloc(scratch, count * (step + 1), sizeof *past);
            for (size_t i = first; !arena_failed(scratch) && i < first + count; i++) {
                const struct sentence *sentence = batch->waiting[i];
                struct row *row = &batch->group[i - first];
                size_t length = decoder_slots(&t->decoder, sentence->length),
                       at = (i - first) * (step + 1);
                memories[i - first] = (struct memory){.length = length,
                                                      .keys = e->keys + slot * shape->key,
                                                      .values = e->values + slot * shape->value};
                for (size_t s = 0; s <= step; s++)
                    past[at + s] = e->opening + (s * e->n + i) * shape->past;
                row->token = step == 0 ? DECODER_FIRST : sentence->opening[step - 1];
                row->step = step;
                row->memory = &memories[i - first];
                row->copies = sentence->copies;
                row->forced = NULL;
                row->past = shape->past > 0 ? past + at : NULL;
                row->added = shape->past > 0 ? e->opening + (step * e->n + i) * shape->past : NULL;
                row->state = e->states + i * shape->state;
                row->attention =
                    arena_alloc(scratch, length, sizeof *row->attention); /* not read afterwards */
                row->scores = NULL;
                row->top = NULL;
                slot += length;
            }
            result = arena_failed(scratch)
                         ? error_memory(err)
                         : decoder_step(&t->decoder, batch->group, count, scratch, err);
        }
    arena_release(scratch, mark);
    return result;
}

/* ---- admission: the search ---- */

/* Copies this many vectors of this size, from the first-th on, for as long as the sentence is
 * decoded, to [layers, count, size / layers]. */
static const float *keep_layers(struct sentence *sentence, const float *from, size_t first,
                                size_t count, size_t size, size_t layers) {
    float *own = arena_alloc(&sentence->decoding.arena, count * size, sizeof *own);
    size_t part = size / layers;
    for (size_t l = 0; own && l < layers; l++)
        for (size_t i = 0; i < count; i++)
            memcpy(own + (l * count + i) * part, from + (first + i) * size + l * part,
                   part * sizeof *own);
    return own;
}

static const float *keep(struct sentence *sentence, const float *from, size_t first, size_t count,
                         size_t size) {
    return keep_layers(sentence, from, first, count, size, 1);
}

/* Adds the tokens of the sentence's phrases to its targets. */
static int add_phrases(struct sentence *sentence, struct error *err) {
    enum { STAND_INS = 2 };
    const struct phrases *phrases = &sentence->options.phrases;
    size_t room = 0, count = 0;
    for (size_t q = 0; q < phrases->count; q++)
        room += phrases->list[q].length + STAND_INS;
    int *ids = arena_alloc(&sentence->decoding.arena, room, sizeof *ids);
    if (!ids)
        return error_memory(err);
    for (const struct phrase *phrase = phrases->list; phrase < phrases->list + phrases->count;
         phrase++) {
        for (size_t i = 0; i < phrase->length; i++)
            if ((size_t)phrase->tokens[i] < phrases->size)
                ids[count++] = phrase->tokens[i];
        for (size_t i = 0; i < STAND_INS; i++)
            if (phrase->stand_ins[i] >= 0)
                ids[count++] = phrase->stand_ins[i];
    }
    return target_ids_add(&sentence->targets, ids, count, &sentence->decoding.arena, err);
}

/* Finds the ids that the sentence's search may choose from: all, if the shortlist has nothing for
 * it but </s>. */
static int find_targets(const struct shortlist *shortlist, struct sentence *sentence,
                        struct error *err) {
    struct target_ids found;
    if (!shortlist || sentence->targets.ids) /* the ids of its language are already set */
        return 0;
    int *source = arena_alloc(&sentence->decoding.arena, sentence->length, sizeof *source);
    if (!source)
        return error_memory(err);
    for (size_t i = 0; i < sentence->length; i++)
        source[i] = sentence->tokens[i].id;
    if (shortlist_of(shortlist, source, sentence->length, &sentence->decoding.arena, &found, err) !=
        0)
        return -1;
    if (found.count > 1)
        sentence->targets = found;
    return 0;
}

/* Starts the search of the i-th sentence of the encoded group. Its steps read copies in the
 * sentence's own arena. slot: where its memory begins. Returns -1 with an error. */
static int begin_sentence(struct batch *batch, size_t i, size_t slot, struct error *err) {
    const struct translator *t = batch->translator;
    const struct encoding *e = &batch->encoding;
    struct sentence *sentence = batch->waiting[i];
    struct arena *decoding = &sentence->decoding.arena;
    const struct decoder_shape *shape = &t->decoder.shape;
    size_t length = decoder_slots(&t->decoder, sentence->length), size = shape->state;
    const float *state = e->states + i * size;
    arena_init(decoding, SENTENCE_BLOCK_BYTES);
    struct memory *memory = arena_alloc(decoding, 1, sizeof *memory);
    const float *keys = keep_layers(sentence, e->keys, slot, length, shape->key, shape->layers);
    const float *values =
        keep_layers(sentence, e->values, slot, length, shape->value, shape->layers);
    const float *copy_keys = keep(sentence, e->copy_keys, slot, length, t->output.key.out);
    const float *copy_gates =
        keep(sentence, e->copy_gates, slot, length, t->output.gate_context.out);
    const float **opening =
        t->opening_count > 0 ? arena_alloc(decoding, t->opening_count, sizeof *opening) : NULL;
    for (size_t s = 0; opening && s < t->opening_count; s++)
        opening[s] = keep(sentence, e->opening, s * e->n + i, 1, shape->past);
    if (arena_failed(decoding))
        return error_memory(err);
    *memory = (struct memory){.length = length, .keys = keys, .values = values, .by_layer = true};
    sentence->decoding.memory = memory;
    sentence->decoding.opening_past = opening;
    if (sentence->copies) {
        sentence->copies->keys = copy_keys;
        sentence->copies->gates = copy_gates;
    }
    const float *annotations =
        e->encoded.annotations +
        slot * t->encoder.annotation; /* with an alignment head, each slot is a token */
    if (soft_alignment_begin(sentence, annotations, &batch->scratch, err) != 0)
        return -1;

    bool resumes = search_resumes(&sentence->options),
         looks = sentence->caller.wants_looks && t->opening_count > 0;
    if ((resumes || looks) && !(sentence->decoding.first_state = keep(sentence, state, 0, 1, size)))
        return error_memory(err);
    const struct search_setting setting = {
        .ids = {.end = tokenizer_end(t->target),
                .banned = t->config.output.unknowns ? -1 : tokenizer_unknown(t->target),
                .bytes = sentence->reading.verbatim ? NULL : t->bytes,
                .size = tokenizer_size(t->target)},
        .source_length = t->decoder.attends ? sentence->length : 0,
        .stored = {.readout = sentence_readout(sentence),
                   .scores = sentence_scores(sentence),
                   .top = sentence_top_inline(sentence),
                   .state = resumes ? size : 0},
        .replaces = t->config.defaults.replaces,
        .opening_length = t->opening_count};
    arena_init(&sentence->decoding.searching, SENTENCE_SEARCH_BYTES);
    struct arena *arena =
        sentence_drops(sentence) ? &sentence->decoding.searching : &sentence->arena;
    if (search_init(&sentence->search, &sentence->options, &setting, arena, err) != 0)
        return -1;
    sentence->search.tree.arena = &sentence->arena;
    if (sentence_added(sentence) > 0)
        decoding->block_bytes = sentence_past_block(sentence);
    if (find_targets(t->shortlist, sentence, err) != 0 ||
        (sentence->targets.ids && sentence->options.phrases.count > 0 &&
         add_phrases(sentence, err) != 0))
        return -1;

    sentence->decoding.first_row = batch->rows;
    memcpy(batch->states + batch->rows++ * size, state, size * sizeof(float));
    batch->live[batch->live_count++] = sentence;
    return 0;
}

/* Encodes a part of the first group. When all of it is encoded, the searches of its sentences
 * start; if that fails, the sentences are handed back. */
static void encode_some(struct batch *batch, size_t work) {
    struct error err = {0};
    enum outcome outcome = encode_part(batch, work, &err);
    if (outcome == MORE)
        return;
    if (outcome == DONE)
        read_opening(batch, &err);
    size_t n = batch->encoding.n;
    for (size_t i = 0, slot = 0; i < n; i++) {
        struct sentence *sentence = batch->waiting[i];
        struct error error = err;
        if (error.code != ERROR_NONE || begin_sentence(batch, i, slot, &error) != 0) {
            sentence_fail(sentence, &error);
            batch->reserved -= sentence_max_rows(sentence);
            sentence_leave(sentence);
            batch->failed[batch->failed_count++] = sentence;
        }
        slot += decoder_slots(&batch->translator->decoder, sentence->length);
    }
    batch->waiting_count -= n;
    memmove(batch->waiting, batch->waiting + n, batch->waiting_count * sizeof *batch->waiting);
    batch->encoding = (struct encoding){0};
    arena_reset(&batch->encodings);
}

bool batch_encodes(const struct batch *batch) {
    return batch->waiting_count > 0;
}

void batch_divide(struct batch *batch, size_t work) {
    batch->part_work = work;
}

void batch_encode(struct batch *batch) {
    if (batch->waiting_count > 0)
        encode_some(batch, batch->part_work);
    batch->part_done = true;
}

bool batch_wants(const struct batch *batch) {
    return batch->waiting_count == 0 &&
           (batch->rows < GATHER_ROWS || batch->steps_since_admission >= GATHER_STEPS);
}

/* Encodes all sentences at once if no live row waits for its next token, or if the encoder does not
 * divide its work. */
void batch_admit(struct batch *batch, struct sentence *const *sentences, size_t count) {
    bool at_once = batch->rows == 0 || !encoder_divides(&batch->translator->encoder);
    for (size_t i = 0; i < count; i++) {
        assert(sentences[i]->translator == batch->translator && sentences[i]->length > 0);
        batch->waiting[batch->waiting_count++] = sentences[i];
        batch->reserved += sentence_max_rows(sentences[i]);
    }
    while (at_once && batch->waiting_count > 0)
        encode_some(batch, SIZE_MAX);
    batch->steps_since_admission = 0;
    assert(batch->reserved <= batch->max_rows && batch_sentences(batch) <= batch->max_rows);
}

/* ---- one step ---- */

/* Live sentences [first, end) and their rows. */
struct group {
    size_t first, end, first_row, rows;
};

/* Allocates the memory that the step adds to the row's past, followed by the memory that the
 * alignment head will read, and lists the past in the scratch arena. A search that returns to a
 * step reuses the memory of that step. Returns -1 if memory is out. */
static int find_past(struct batch *batch, struct sentence *sentence, size_t r, struct row *row) {
    const struct search *search = &sentence->search;
    struct step_row *shown = search->shown[r];
    size_t size = batch->translator->decoder.shape.past;
    if (!shown->added) {
        shown->added =
            arena_alloc(&sentence->decoding.arena, sentence_added(sentence), sizeof *shown->added);
        if (!shown->added)
            return -1;
        if (sentence_added(sentence) > size)
            shown->top = shown->added + size;
    }
    if (size == 0)
        return 0;
    size_t opened = batch->translator->opening_count;
    const float **past = arena_alloc(&batch->scratch, opened + search->step + 1, sizeof *past);
    if (!past)
        return -1;
    if (opened > 0)
        memcpy(past, sentence->decoding.opening_past, opened * sizeof *past);
    search_past(search, r, past + opened);
    past[opened + search->step] = row->added = shown->added;
    row->past = past;
    return 0;
}

/* Computes the distributions of the group's rows. */
static int compute(struct batch *batch, const struct group *group, struct error *err) {
    const struct translator *t = batch->translator;
    struct row *row = batch->group;
    for (size_t i = group->first; i < group->end; i++) {
        struct sentence *sentence = batch->live[i];
        const struct search *search = &sentence->search;
        bool all = search_is_given(search) || !sentence->targets.ids;
        bool top = t->output.copies || sentence_top(sentence) > 0;
        for (size_t r = 0; r < search->rows; r++, row++) {
            int first =
                t->opening_count > 0 ? sentence->opening[t->opening_count - 1] : DECODER_FIRST;
            int token = search->step == 0 ? first : search->tokens[r];
            row->token = sentence->copies && search->step > 0
                             ? copies_input(sentence->copies, token)
                             : token;
            row->step = t->opening_count + search->step;
            row->memory = sentence->decoding.memory;
            row->copies = sentence->copies;
            row->targets = all ? NULL : &sentence->targets;
            row->wanted = search_wanted(search);
            row->reads_all = search_reads_all(search);
            row->forced = sentence_forced(sentence, search->step);
            row->attention = search->shown[r]->attention;
            row->scores = search->shown[r]->scores;
            row->top =
                top ? batch->tops + (size_t)(row - batch->group) * t->decoder.shape.top : NULL;
            row->state =
                batch->states + (sentence->decoding.first_row + r) * t->decoder.shape.state;
            if (sentence_added(sentence) > 0 && find_past(batch, sentence, r, row) != 0)
                return error_memory(err);
        }
    }
    if (decoder_step(&t->decoder, batch->group, group->rows, &batch->scratch, err) != 0)
        return -1;

    /* stores the rest of what the step shows */
    row = batch->group;
    for (size_t i = group->first; i < group->end; i++) {
        const struct sentence *sentence = batch->live[i];
        const struct search *search = &sentence->search;
        const struct search_stored *stored = &search->setting.stored;
        size_t top = sentence_top(sentence);
        for (size_t r = 0; r < search->rows; r++, row++) {
            struct step_row *shown = search->shown[r];
            if (stored->readout > 0)
                memcpy(shown->readout, row->readout, stored->readout * sizeof *shown->readout);
            if (top > 0)
                memcpy(shown->top, row->top, top * sizeof *shown->top);
            if (search->returns && stored->state > 0)
                memcpy(shown->state, row->state, stored->state * sizeof *shown->state);
        }
    }
    return output_run(&t->output, batch->group, group->rows, &batch->scratch, err);
}

/* ---- the answer ---- */

static void *copy(struct arena *arena, const void *from, size_t count, size_t size) {
    void *own = arena_alloc(arena, count, size);
    if (own && count > 0)
        memcpy(own, from, count * size);
    return own;
}

/* Copies the sentence's hypotheses and their rows from the arena of its search into its own; rows
 * that several of them share are copied once. The tree and the alignment's rows are already there.
 * Returns -1 with ERROR_MEMORY and leaves the hypotheses unchanged. */
static int keep_answer(struct sentence *sentence, struct error *err) {
    struct arena *arena = &sentence->arena;
    struct hypothesis *kept = arena_alloc(arena, sentence->count, sizeof *kept);
    size_t length = sentence->search.setting.source_length, readout = sentence_readout(sentence),
           scores = sentence_scores(sentence),
           size = length + readout + scores; /* floats of a row that the answer needs */
    if (!kept)
        return error_memory(err);
    for (size_t i = 0; i < sentence->count; i++) {
        const struct hypothesis *from = &sentence->hypotheses[i];
        size_t common, other = sentence_closest(sentence, i, false, &common),
                       steps = hypothesis_steps(from), own = steps - common;
        const float **attention = arena_alloc(arena, steps, sizeof *attention);
        const struct step_row **rows = arena_alloc(arena, steps, sizeof *rows);
        struct step_row *copies = arena_alloc(arena, own, sizeof *copies);
        float *floats = arena_alloc(arena, own, size * sizeof *floats);
        struct alternatives *alternatives = arena_alloc(
            arena, sentence->options.report.alternatives ? own : 0, sizeof *alternatives);
        kept[i] = *from;
        kept[i].tokens = copy(arena, from->tokens, from->length, sizeof *from->tokens);
        kept[i].log_probs = copy(arena, from->log_probs, steps, sizeof *from->log_probs);
        kept[i].entropies = copy(arena, from->entropies, steps, sizeof *from->entropies);
        if (arena_failed(arena))
            return error_memory(err);
        for (size_t j = 0; j < common; j++) {
            attention[j] = kept[other].attention[j];
            rows[j] = kept[other].rows[j];
        }
        for (size_t j = common; j < steps; j++) {
            const struct step_row *row = from->rows[j];
            struct step_row *own_row = &copies[j - common];
            float *own_floats = floats + (j - common) * size;
            *own_row =
                (struct step_row){.attention = own_floats,
                                  .readout = own_floats + length,
                                  .scores = scores > 0 ? own_floats + length + readout : NULL};
            memcpy(own_floats, row->attention, size * sizeof *own_floats);
            if (row->alternatives) {
                own_row->alternatives = &alternatives[j - common];
                *own_row->alternatives = *row->alternatives;
            }
            attention[j] = own_floats;
            rows[j] = own_row;
        }
        kept[i].attention = attention;
        kept[i].rows = rows;
        if (from->alignment == from->attention)
            kept[i].alignment = attention;
    }
    sentence->hypotheses = kept;
    return 0;
}

/* Makes the answer of a search that has ended. A small answer of copied hypotheses alone gets a
 * block of exactly its size. */
static int batch_finish(struct sentence *sentence, struct arena *scratch, struct error *err) {
    enum { LINE = 64, ARRAYS = 9 };
    size_t usual = sentence->arena.block_bytes;
    bool drops = sentence_drops(sentence);
    if (search_results(&sentence->search, &sentence->hypotheses, &sentence->count, err) != 0)
        return -1;
    if (sentence->count == 0)
        return error_set(err, ERROR_FORMAT, "the model's scores are not numbers");
    if (drops) { /* bytes of the hypotheses that are kept if they share nothing */
        size_t rows = sentence->search.setting.source_length + sentence_readout(sentence) +
                      sentence_scores(sentence),
               bytes = LINE;
        size_t each = sizeof(int) + 2 * sizeof(float) + 2 * sizeof(void *) +
                      sizeof(struct step_row) + rows * sizeof(float);
        each += sentence->options.report.alternatives ? sizeof(struct alternatives) : 0;
        each += sentence_top(sentence) > 0 ? sentence->length * sizeof(float) + sizeof(void *) : 0;
        for (size_t i = 0; i < sentence->count; i++)
            bytes += sizeof *sentence->hypotheses +
                     hypothesis_steps(&sentence->hypotheses[i]) * each + ARRAYS * LINE;
        sentence->arena.block_bytes = bytes < MOST_ANSWER_BYTES ? bytes : MOST_ANSWER_BYTES;
    }
    int result = soft_alignment_end(sentence, scratch, err);
    if (result == 0)
        result = looks_end(sentence, scratch, err);
    if (result == 0 && drops)
        result = keep_answer(sentence, err);
    sentence->arena.block_bytes = usual;
    return result;
}

/* The sentences and rows that continue after the step. */
struct survivors {
    size_t sentences, rows;
};

/* Makes one step of one group; the states of its survivors follow those of earlier groups in the
 * next state matrix. The distributions' best tokens are in the scratch arena. */
static void step_group(struct batch *batch, const struct group *group, struct survivors *kept,
                       struct sentence **done, size_t *done_count) {
    struct error err = {0};
    struct arena_mark mark = arena_mark(&batch->scratch);
    size_t size = batch->translator->decoder.shape.state;
    bool computed = compute(batch, group, &err) == 0;
    for (size_t i = group->first; i < group->end; i++) {
        struct sentence *sentence = batch->live[i];
        const struct search *search = &sentence->search;
        bool goes_on = false;
        if (!computed) {
            sentence_fail(sentence, &err);
        } else if (sentence->caller.cancelled &&
                   atomic_load_explicit(sentence->caller.cancelled, memory_order_relaxed)) {
            sentence->dropped = true;
        } else {
            const struct distribution *distributions =
                batch->group[sentence->decoding.first_row - group->first_row].distribution;
            struct error error = {0};
            sentence->steps++;
            int result = search_advance(&sentence->search, distributions, &error);
            goes_on = result == 0 && search->rows > 0;
            if (result == 0 && !goes_on)
                result = batch_finish(sentence, &batch->scratch, &error);
            if (result != 0) {
                sentence->hypotheses = NULL;
                sentence_fail(sentence, &error);
            }
        }
        if (!goes_on) {
            batch->reserved -= sentence_max_rows(sentence);
            sentence_leave(sentence);
            done[(*done_count)++] = sentence;
            continue;
        }

        /* a row continues from the state of the previous step, unless its search returns to an
         * earlier one */
        for (size_t r = 0; r < search->rows; r++) {
            const float *state = search->returns ? search_state(search, r) : NULL;
            if (!state)
                state = search->returns
                            ? sentence->decoding.first_state
                            : batch->states +
                                  (sentence->decoding.first_row + search->parents[r]) * size;
            memcpy(batch->next + (kept->rows + r) * size, state, size * sizeof(float));
        }
        sentence->decoding.first_row = kept->rows;
        kept->rows += search->rows;
        batch->live[kept->sentences++] = sentence;
    }
    arena_release(&batch->scratch, mark);
}

size_t batch_step(struct batch *batch, struct sentence **done) {
    if (!batch->part_done)
        batch_encode(batch);
    batch->part_done = false;
    size_t done_count = batch->failed_count;
    memcpy(done, batch->failed, done_count * sizeof(struct sentence *));
    batch->failed_count = 0;

    struct survivors kept = {0};
    for (size_t first = 0; first < batch->live_count;) {
        struct group group = {
            .first = first, .end = first, .first_row = batch->live[first]->decoding.first_row};
        do
            group.rows += batch->live[group.end++]->search.rows;
        while (group.end < batch->live_count &&
               group.rows + batch->live[group.end]->search.rows <= GROUP_ROWS);
        step_group(batch, &group, &kept, done, &done_count);
        first = group.end;
    }
    batch->steps_since_admission++;
    batch->live_count = kept.sentences;
    batch->rows = kept.rows;
    float *states = batch->states;
    batch->states = batch->next;
    batch->next = states;
    return done_count;
}
