/* The live rows of one worker. Rows of one sentence stand side by side, sentences in the order of their admission; each step the
 * surviving rows are gathered once into the other half of a pair of state matrices, which closes the gaps that finished sentences
 * leave. */
#include "model/batch.h"
#include "model/answer.h"
#include "model/looks.h"
#include "model/model.h"
#include "model/pending.h"
#include "model/soft_alignment.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A step of many rows is done in groups of GROUP_ROWS at most: enough for the products' full speed, few enough that their logits
 * stay in the cache until the searches have read them. */
enum { GROUP_ROWS = 64 };

/* Multiplications of one part of an encoding, between two tokens of the rows that are live: some 10 ms; the last one makes up to as
 * many for the decoder. */
enum { PART_WORK = 1 << 29 };

/* Sentences are cheaper encoded together, since each time the encoder's weights are read anew for every token of the longest: while
 * GATHER_ROWS or more are live, new ones wait up to GATHER_STEPS steps for each other. */
enum { GATHER_ROWS = 16, GATHER_STEPS = 4 };
static_assert((int)SEARCH_MAX_ROWS <= (int)GROUP_ROWS, "a sentence must fit into a group");

struct batch {
    const struct translator *translator;
    size_t max_rows, rows, reserved; /* reserved: sum of sentence_max_rows over the live sentences */
    struct sentence **live;          /* [max_rows] */
    size_t live_count;
    struct sentence **failed; /* [max_rows] admissions to hand back */
    size_t failed_count;
    size_t steps_since_admission;
    struct pending pending;
    size_t part_work;     /* multiplications of a part of an encoding */
    bool part_done;       /* that of the next step */
    float *states, *next; /* [max_rows, S] */
    struct row *group;    /* [GROUP_ROWS] those of one group in one step */
    float *tops;          /* [GROUP_ROWS, H] of those whose top is wanted; NULL: of a model that never wants one */
    struct arena arena;   /* holds all of the above */
    struct arena scratch;
};

/* The group's rows, with their places in what a step shows of them all. */
static int allocate_group(struct batch *batch) {
    const struct translator *t = batch->translator;
    const struct decoder_shape *shape = &t->decoder.shape;
    struct arena *arena = &batch->arena;
    bool copies = output_copies(&t->output), aligns = t->alignment.query.out > 0;
    batch->group = arena_zalloc(arena, GROUP_ROWS, sizeof *batch->group);
    float *readouts = arena_alloc(arena, GROUP_ROWS, shape->readout * sizeof(float));
    float *logits = arena_alloc(arena, GROUP_ROWS, t->output.stride * sizeof(float));
    float *inputs = arena_alloc(arena, copies ? GROUP_ROWS : 0, shape->input * sizeof(float));
    batch->tops = copies || aligns ? arena_alloc(arena, GROUP_ROWS, shape->top * sizeof(float)) : NULL;
    struct distribution *distributions = arena_alloc(arena, GROUP_ROWS, sizeof *distributions);
    if (arena_failed(arena))
        return -1;
    for (size_t r = 0; r < GROUP_ROWS; r++)
        batch->group[r] = (struct row){.readout = readouts + r * shape->readout,
                                       .input = copies ? inputs + r * shape->input : NULL,
                                       .logits = logits + r * t->output.stride,
                                       .distribution = &distributions[r]};
    return 0;
}

static int batch_allocate(struct batch *batch) {
    size_t rows = batch->max_rows, state = batch->translator->decoder.shape.state;
    struct arena *arena = &batch->arena;
    batch->live = arena_alloc(arena, rows, sizeof(struct sentence *));
    batch->failed = arena_alloc(arena, rows, sizeof(struct sentence *));
    batch->states = arena_alloc(arena, rows, state * sizeof(float));
    batch->next = arena_alloc(arena, rows, state * sizeof(float));
    return pending_init(&batch->pending, batch->translator, rows, arena) == 0 ? allocate_group(batch) : -1;
}

struct batch *batch_create(const struct translator *translator, size_t max_rows, struct error *err) {
    struct batch *batch = calloc(1, sizeof *batch);
    if (!batch) {
        error_memory(err);
        return NULL;
    }
    batch->translator = translator;
    batch->max_rows = max_rows;
    batch->part_work = PART_WORK;
    arena_init(&batch->arena, 64 * 1024);
    arena_init(&batch->scratch, 1024 * 1024);
    if (batch_allocate(batch) == 0)
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
    pending_done(&batch->pending);
    free(batch);
}

size_t batch_bytes(const struct batch *batch) {
    return sizeof *batch + arena_bytes(&batch->arena) + arena_bytes(&batch->scratch) + arena_bytes(&batch->pending.arena);
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
    return batch->live_count + batch->failed_count + batch->pending.count;
}

/* ---- admission ---- */

/* The i-th sentence that has been encoded comes to life; slot: where its memory begins. -1: it has failed. */
static int batch_begin(struct batch *batch, size_t i, size_t slot) {
    const struct encoding *encoding = &batch->pending.encoding;
    struct sentence *sentence = batch->pending.sentences[i];
    size_t size = batch->translator->decoder.shape.state;
    const float *state = encoding->states + i * size;
    if (encoding_settle(encoding, slot, state, sentence, &batch->scratch) != 0)
        return -1;
    sentence->first_row = batch->rows;
    memcpy(batch->states + batch->rows++ * size, state, size * sizeof(float));
    batch->live[batch->live_count++] = sentence;
    return 0;
}

/* The n sentences that have been encoded, or could not be. */
static void begin_all(struct batch *batch, size_t n, const struct error *err) {
    for (size_t i = 0, slot = 0; i < n; i++) {
        struct sentence *sentence = batch->pending.sentences[i];
        sentence->error = *err;
        if (err->code != ERROR_NONE || batch_begin(batch, i, slot) != 0) {
            batch->reserved -= sentence_max_rows(sentence);
            sentence_leave(sentence);
            batch->failed[batch->failed_count++] = sentence;
        }
        slot += decoder_slots(&batch->translator->decoder, sentence->length);
    }
}

static void encode_some(struct batch *batch, size_t work) {
    struct error err = {0};
    size_t n = pending_encode(&batch->pending, work, &err);
    if (n == 0)
        return;
    begin_all(batch, n, &err);
    pending_remove(&batch->pending);
}

bool batch_encodes(const struct batch *batch) {
    return batch->pending.count > 0;
}

void batch_divide(struct batch *batch, size_t work) {
    batch->part_work = work;
}

void batch_encode(struct batch *batch) {
    if (batch->pending.count > 0 && !batch->part_done)
        encode_some(batch, batch->part_work);
    batch->part_done = true;
}

bool batch_wants(const struct batch *batch) {
    return batch->pending.count == 0 && (batch->rows < GATHER_ROWS || batch->steps_since_admission >= GATHER_STEPS);
}

/* While nobody waits for his next token, and where the encoder does not divide, all at once. */
void batch_admit(struct batch *batch, struct sentence *const *sentences, size_t count) {
    struct pending *pending = &batch->pending;
    bool at_once = batch->rows == 0 || !encoder_divides(&batch->translator->encoder);
    for (size_t i = 0; i < count; i++) {
        assert(sentences[i]->translator == batch->translator && sentences[i]->length > 0);
        pending_add(pending, sentences[i]);
        batch->reserved += sentence_max_rows(sentences[i]);
    }
    while (at_once && pending->count > 0)
        encode_some(batch, SIZE_MAX);
    batch->steps_since_admission = 0;
    assert(batch->reserved <= batch->max_rows && batch_sentences(batch) <= batch->max_rows);
}

/* ---- one step ---- */

/* Sentences live [first, end) and their rows. */
struct group {
    size_t first, end, first_row, rows;
};

/* The group that begins at this sentence. */
static struct group next_group(const struct batch *batch, size_t first) {
    struct group group = {.first = first, .end = first, .first_row = batch->live[first]->first_row};
    do
        group.rows += batch->live[group.end++]->search.rows;
    while (group.end < batch->live_count && group.rows + batch->live[group.end]->search.rows <= GROUP_ROWS);
    return group;
}

/* The token that a live row of the search reads. */
static int input_of(const struct sentence *sentence, size_t row) {
    if (sentence->search.step == 0)
        return DECODER_FIRST;
    int token = sentence->search.tokens[row];
    return sentence->copies ? copies_input(sentence->copies, token) : token;
}

/* Where the step shows what the row's top layer puts out, if anything is to read it. */
static float *top_of(const struct batch *batch, const struct sentence *sentence, const struct row *row) {
    const struct translator *t = batch->translator;
    bool wanted = output_copies(&t->output) || sentence_top(sentence) > 0;
    return wanted ? batch->tops + (size_t)(row - batch->group) * t->decoder.shape.top : NULL;
}

/* What a live row of the search reads and where the step shows what it keeps: all but what stays as batch_create set it. */
static void lay_out_row(const struct batch *batch, const struct sentence *sentence, size_t r, struct row *row) {
    const struct search *search = &sentence->search;
    bool all = search_looks_up(search) || !sentence->targets.ids;
    row->token = input_of(sentence, r);
    row->step = search->step;
    row->memory = sentence->memory;
    row->copies = sentence->copies;
    row->targets = all ? NULL : &sentence->targets;
    row->wanted = search_wanted(search);
    row->forced = sentence_forced(sentence, search->step);
    row->attention = search->attention[r];
    row->top = top_of(batch, sentence, row);
}

/* What the step adds to the row's past, and behind that the place of what the alignment head will read; a search that comes back to
 * a step finds what it has added. NULL: memory is out. */
static float *find_added(struct sentence *sentence, float *behind) {
    float *added;
    memcpy(&added, behind, sizeof added);
    if (!added)
        added = arena_alloc(&sentence->decoding, sentence_added(sentence), sizeof *added);
    memcpy(behind, &added, sizeof added);
    return added;
}

/* The row's past, in the scratch arena. -1: memory is out. */
static int find_past(struct batch *batch, struct sentence *sentence, size_t r, struct row *row) {
    const struct search *search = &sentence->search;
    size_t before = sentence_readout(sentence);
    float *added = find_added(sentence, row->attention + search->source_length + before);
    if (!added)
        return -1;
    if (batch->translator->decoder.shape.past == 0)
        return 0;
    const float **past = arena_alloc(&batch->scratch, search->step + 1, sizeof *past);
    if (!past)
        return -1;
    row->added = added;
    search_past(search, r, past);
    for (size_t i = 0; i < search->step; i++)
        memcpy(&past[i], past[i] + before, sizeof past[i]);
    past[search->step] = row->added;
    row->past = past;
    return 0;
}

static int lay_out(struct batch *batch, const struct group *group) {
    const struct decoder_shape *shape = &batch->translator->decoder.shape;
    struct row *row = batch->group;
    for (size_t i = group->first; i < group->end; i++)
        for (size_t r = 0; r < batch->live[i]->search.rows; r++, row++) {
            lay_out_row(batch, batch->live[i], r, row);
            row->state = batch->states + (batch->live[i]->first_row + r) * shape->state;
            if (sentence_added(batch->live[i]) > 0 && find_past(batch, batch->live[i], r, row) != 0)
                return -1;
        }
    return 0;
}

/* What the sentence's search shall find behind the attention of its rows, besides what the step has written there itself. */
static void keep_behind(const struct sentence *sentence, const struct row *rows) {
    const struct search *search = &sentence->search;
    size_t readout = sentence_readout(sentence), state = search->returns ? search->options.keep_state : 0,
           top = sentence_top(sentence);
    for (size_t r = 0; readout + state + top > 0 && r < search->rows; r++) {
        float *behind = rows[r].attention + search->source_length;
        memcpy(behind, rows[r].readout, readout * sizeof *behind);
        soft_alignment_keep(sentence, rows[r].attention, rows[r].top);
        memcpy(behind + search->options.keep, rows[r].state, state * sizeof *behind);
    }
}

static int compute(struct batch *batch, const struct group *group, struct error *err) {
    const struct translator *t = batch->translator;
    if (lay_out(batch, group) != 0)
        return error_memory(err);
    if (decoder_step(&t->decoder, batch->group, group->rows, &batch->scratch, err) != 0)
        return -1;
    const struct row *rows = batch->group;
    for (size_t i = group->first; i < group->end; rows += batch->live[i++]->search.rows)
        keep_behind(batch->live[i], rows);
    return output_run(&t->output, batch->group, group->rows, &batch->scratch, err);
}

/* The search has ended. */
static int batch_finish(struct sentence *sentence, struct arena *scratch) {
    struct error *err = &sentence->error;
    if (search_results(&sentence->search, &sentence->hypotheses, &sentence->count, err) != 0)
        return -1;
    if (sentence->count == 0)
        return error_set(err, ERROR_FORMAT, "the model's scores are not numbers");
    if (soft_alignment_end(sentence, scratch, err) != 0 || looks_end(sentence, scratch, err) != 0)
        return -1;
    return sentence_drops(sentence) ? answer_keep(sentence, err) : 0;
}

/* Advances one sentence by its rows' distributions; false: it leaves the batch. */
static bool batch_advance(struct sentence *sentence, const struct distribution *distributions, struct arena *scratch) {
    if (sentence->cancelled && atomic_load_explicit(sentence->cancelled, memory_order_relaxed)) {
        sentence->dropped = true;
        return false;
    }
    sentence->steps++;
    if (search_advance(&sentence->search, distributions, &sentence->error) != 0)
        return false;
    if (sentence->search.rows > 0)
        return true;
    if (batch_finish(sentence, scratch) != 0)
        sentence->hypotheses = NULL;
    return false;
}

/* The state that a row goes on from: that of the step before, unless its search comes back to an earlier one. */
static const float *state_before(const struct batch *batch, const struct sentence *sentence, size_t row) {
    if (!sentence->search.returns)
        return batch->states + (sentence->first_row + sentence->search.parents[row]) * batch->translator->decoder.shape.state;
    const float *kept = search_kept(&sentence->search, row);
    return kept ? kept : sentence->first_state;
}

/* Moves the rows that go on into the next state matrix, behind those already there. */
static void gather(struct batch *batch, struct sentence *sentence, size_t at) {
    size_t size = batch->translator->decoder.shape.state;
    for (size_t r = 0; r < sentence->search.rows; r++)
        memcpy(batch->next + (at + r) * size, state_before(batch, sentence, r), size * sizeof(float));
    sentence->first_row = at;
}

struct survivors {
    size_t sentences, rows;
};

static size_t hand_back_failed(struct batch *batch, struct sentence **done) {
    size_t count = batch->failed_count;
    memcpy(done, batch->failed, count * sizeof(struct sentence *));
    batch->failed_count = 0;
    return count;
}

/* One step of one group; its survivors follow the kept sentences and rows. The distributions' best tokens are in the scratch
 * arena. */
static void step_group(struct batch *batch, const struct group *group, struct survivors *kept, struct sentence **done,
                       size_t *done_count) {
    struct error err = {0};
    struct arena_mark mark = arena_mark(&batch->scratch);
    bool computed = compute(batch, group, &err) == 0;
    for (size_t i = group->first; i < group->end; i++) {
        struct sentence *sentence = batch->live[i];
        if (!computed)
            sentence->error = err;
        if (computed &&
            batch_advance(sentence, batch->group[sentence->first_row - group->first_row].distribution, &batch->scratch)) {
            gather(batch, sentence, kept->rows);
            kept->rows += sentence->search.rows;
            batch->live[kept->sentences++] = sentence;
        } else {
            batch->reserved -= sentence_max_rows(sentence);
            sentence_leave(sentence);
            done[(*done_count)++] = sentence;
        }
    }
    arena_release(&batch->scratch, mark);
}

size_t batch_step(struct batch *batch, struct sentence **done) {
    batch_encode(batch);
    batch->part_done = false;
    size_t done_count = hand_back_failed(batch, done);
    struct survivors kept = {0};
    for (size_t first = 0; first < batch->live_count;) {
        struct group group = next_group(batch, first);
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
