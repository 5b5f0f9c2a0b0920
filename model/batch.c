/* The live rows of one worker. Rows of one sentence stand side by side, sentences in the order of their admission; each step the
 * surviving rows are gathered once into the other half of a pair of state matrices, which closes the gaps that finished sentences leave. */
#include "model/model.h"
#include "model/translator.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ENCODE_TOKENS = 1024 }; /* encoded together at most: bounds scratch, and how long an admission holds up the other rows */

struct batch {
    const struct translator *translator;
    size_t max_rows, rows, reserved; /* reserved: sum of sentence_max_rows over the live sentences */
    struct sentence **live;          /* [max_rows] */
    size_t live_count;
    struct sentence **failed; /* [max_rows] admissions to hand back */
    size_t failed_count;
    float *states, *next;     /* [max_rows, S] */
    float *readouts, *logits; /* [max_rows, O], [max_rows, V] */
    int *tokens;              /* [max_rows]; these three and distributions are filled anew each step */
    const struct memory **memories;
    float **attention;
    struct distribution *distributions;
    struct arena arena; /* holds all of the above */
    struct arena scratch;
};

static void *allocate(struct batch *batch, size_t size) {
    return arena_alloc(&batch->arena, batch->max_rows, size);
}

struct batch *batch_create(const struct translator *translator, size_t max_rows, struct error *err) {
    const struct decoder *decoder = &translator->decoder;
    struct batch *batch = calloc(1, sizeof *batch);
    if (!batch) {
        error_memory(err);
        return NULL;
    }
    batch->translator = translator;
    batch->max_rows = max_rows;
    arena_init(&batch->arena, 64 * 1024);
    arena_init(&batch->scratch, 1024 * 1024);
    batch->live = allocate(batch, sizeof(struct sentence *));
    batch->failed = allocate(batch, sizeof(struct sentence *));
    batch->states = allocate(batch, decoder->state_size * sizeof(float));
    batch->next = allocate(batch, decoder->state_size * sizeof(float));
    batch->readouts = allocate(batch, decoder->readout_size * sizeof(float));
    batch->logits = allocate(batch, decoder->vocabulary * sizeof(float));
    batch->tokens = allocate(batch, sizeof *batch->tokens);
    batch->memories = allocate(batch, sizeof *batch->memories);
    batch->attention = allocate(batch, sizeof *batch->attention);
    batch->distributions = allocate(batch, sizeof *batch->distributions);
    if (batch->live && batch->failed && batch->states && batch->next && batch->readouts && batch->logits && batch->tokens &&
        batch->memories && batch->attention && batch->distributions)
        return batch;
    error_memory(err);
    batch_free(batch);
    return NULL;
}

void batch_free(struct batch *batch) {
    if (!batch)
        return;
    assert(batch_sentences(batch) == 0);
    arena_done(&batch->arena);
    arena_done(&batch->scratch);
    free(batch);
}

size_t batch_rows(const struct batch *batch) {
    return batch->rows;
}

size_t batch_sentences(const struct batch *batch) {
    return batch->live_count + batch->failed_count;
}

size_t sentence_max_rows(const struct sentence *sentence) {
    return search_max_rows(&sentence->options);
}

/* ---- admission ---- */

/* Copies one sentence's part of what was encoded into its own arena, and starts its search. */
static int settle(const struct batch *batch, struct sentence *sentence, const float *annotations, const float *keys) {
    const struct attention *attention = &batch->translator->decoder.attention;
    size_t length = sentence->length;
    struct memory *memory = arena_alloc(&sentence->arena, 1, sizeof *memory);
    float *own_annotations = arena_alloc(&sentence->arena, length * attention->annotation, sizeof(float));
    float *own_keys = arena_alloc(&sentence->arena, length * attention->size, sizeof(float));
    if (!memory || !own_annotations || !own_keys)
        return error_memory(&sentence->error);
    memcpy(own_annotations, annotations, length * attention->annotation * sizeof(float));
    memcpy(own_keys, keys, length * attention->size * sizeof(float));
    *memory = (struct memory){.length = length, .annotations = own_annotations, .keys = own_keys};
    sentence->memory = memory;
    return search_init(&sentence->search, &sentence->options, tokenizer_end(batch->translator->target), length, &sentence->arena,
                       &sentence->error);
}

/* Encodes n sentences of so many tokens in all; states [n, S]. */
static int encode(struct batch *batch, struct sentence *const *sentences, size_t n, size_t tokens, struct encoded *encoded,
                  float **keys, float **states, struct error *err) {
    const struct translator *t = batch->translator;
    int *ids = arena_alloc(&batch->scratch, tokens, sizeof *ids);
    size_t *lengths = arena_alloc(&batch->scratch, n, sizeof *lengths);
    *keys = arena_alloc(&batch->scratch, tokens * t->decoder.attention.size, sizeof(float));
    *states = arena_alloc(&batch->scratch, n * t->decoder.state_size, sizeof(float));
    if (!ids || !lengths || !*keys || !*states)
        return error_memory(err);
    for (size_t i = 0, at = 0; i < n; i++) {
        lengths[i] = sentences[i]->length;
        for (size_t j = 0; j < lengths[i]; j++)
            ids[at++] = sentences[i]->tokens[j].id;
    }
    if (encoder_run(&t->encoder, ids, lengths, n, &batch->scratch, encoded, err) != 0 ||
        decoder_start(&t->decoder, encoded, lengths, n, &batch->scratch, *states, err) != 0)
        return -1;
    attention_keys(&t->decoder.attention, encoded->annotations, tokens, *keys);
    return 0;
}

static void admit_group(struct batch *batch, struct sentence *const *sentences, size_t n, size_t tokens) {
    const struct decoder *decoder = &batch->translator->decoder;
    struct encoded encoded;
    struct error err = {0};
    float *keys, *states;
    int failed = encode(batch, sentences, n, tokens, &encoded, &keys, &states, &err);
    for (size_t i = 0, at = 0; i < n; at += sentences[i]->length, i++) {
        struct sentence *sentence = sentences[i];
        if (failed)
            sentence->error = err;
        else if (settle(batch, sentence, encoded.annotations + at * decoder->annotation, keys + at * decoder->attention.size) ==
                 0) {
            sentence->first_row = batch->rows;
            memcpy(batch->states + batch->rows++ * decoder->state_size, states + i * decoder->state_size,
                   decoder->state_size * sizeof *states);
            batch->live[batch->live_count++] = sentence;
            batch->reserved += sentence_max_rows(sentence);
            continue;
        }
        batch->failed[batch->failed_count++] = sentence;
    }
    arena_reset(&batch->scratch);
}

void batch_admit(struct batch *batch, struct sentence *const *sentences, size_t count) {
    for (size_t begin = 0, end = 0; begin < count; begin = end) {
        size_t tokens = 0;
        do {
            assert(sentences[end]->translator == batch->translator && sentences[end]->length > 0);
            tokens += sentences[end++]->length;
        } while (end < count && tokens + sentences[end]->length <= ENCODE_TOKENS);
        admit_group(batch, sentences + begin, end - begin, tokens);
    }
    assert(batch->reserved <= batch->max_rows && batch_sentences(batch) <= batch->max_rows);
}

/* ---- one step ---- */

static int compute(struct batch *batch, struct error *err) {
    for (size_t i = 0; i < batch->live_count; i++) {
        const struct sentence *sentence = batch->live[i];
        for (size_t r = 0; r < sentence->search.rows; r++) {
            size_t row = sentence->first_row + r;
            batch->tokens[row] = sentence->search.step == 0 ? DECODER_FIRST : sentence->search.tokens[r];
            batch->memories[row] = sentence->memory;
            batch->attention[row] = sentence->search.attention[r];
        }
    }
    struct decoder_rows rows = {.rows = batch->rows,
                                .tokens = batch->tokens,
                                .memories = batch->memories,
                                .states = batch->states,
                                .attention = batch->attention,
                                .readouts = batch->readouts};
    if (decoder_step(&batch->translator->decoder, &rows, &batch->scratch, err) != 0)
        return -1;
    output_run(&batch->translator->output, batch->readouts, batch->rows, batch->logits, batch->distributions);
    return 0;
}

/* Advances one sentence; false: it leaves the batch. */
static bool advance(struct sentence *sentence, const struct distribution *distributions) {
    if (sentence->cancelled && atomic_load_explicit(sentence->cancelled, memory_order_relaxed)) {
        sentence->dropped = true;
        return false;
    }
    sentence->steps++;
    if (search_advance(&sentence->search, distributions + sentence->first_row, &sentence->error) != 0)
        return false;
    if (sentence->search.rows > 0)
        return true;
    if (search_results(&sentence->search, &sentence->hypotheses, &sentence->count, &sentence->error) == 0 && sentence->count == 0)
        error_set(&sentence->error, ERROR_FORMAT, "the model's scores are not numbers");
    return false;
}

/* Moves the rows that go on into the next state matrix, behind those already there. */
static void gather(struct batch *batch, struct sentence *sentence, size_t at) {
    size_t size = batch->translator->decoder.state_size;
    for (size_t r = 0; r < sentence->search.rows; r++)
        memcpy(batch->next + (at + r) * size, batch->states + (sentence->first_row + sentence->search.parents[r]) * size,
               size * sizeof(float));
    sentence->first_row = at;
}

static size_t hand_back_failed(struct batch *batch, struct sentence **done) {
    size_t count = batch->failed_count;
    memcpy(done, batch->failed, count * sizeof(struct sentence *));
    batch->failed_count = 0;
    return count;
}

size_t batch_step(struct batch *batch, struct sentence **done) {
    size_t done_count = hand_back_failed(batch, done), rows = 0, kept = 0;
    if (batch->live_count == 0)
        return done_count;
    struct error err = {0};
    bool computed = compute(batch, &err) == 0;
    for (size_t i = 0; i < batch->live_count; i++) {
        struct sentence *sentence = batch->live[i];
        if (!computed)
            sentence->error = err;
        if (computed && advance(sentence, batch->distributions)) {
            gather(batch, sentence, rows);
            rows += sentence->search.rows;
            batch->live[kept++] = sentence;
        } else {
            batch->reserved -= sentence_max_rows(sentence);
            done[done_count++] = sentence;
        }
    }
    batch->live_count = kept;
    batch->rows = rows;
    float *states = batch->states;
    batch->states = batch->next;
    batch->next = states;
    return done_count;
}
