/* How much a worker takes on at once. What it does between two tokens of a sentence is a round: it encodes the sentences just
 * admitted, then steps the batch of every model. A job is admitted if its rows are free and the round is still predicted to end
 * within the target; failing that, it waits for a round with less to do. Never does it wait for ever: an idle worker takes any job,
 * one sentence too long to be encoded within the target still goes in as a round's only one, and a client that has nothing live
 * does not wait for others' long sentences: it lengthens the round. A target that a single row nearly uses up is exceeded.
 *
 * Beside this main room there is an express lane, with an eighth of its rows on top and up to half of the target: for short
 * sentences of clients that have little live, while others fill the main room, for as long as theirs may take. It takes nothing
 * from the room, so that nobody who waits for that has to wait for the lane.
 *
 * Each worker has an admission of its own, since what it measures is its own thread's time. Not thread-safe. */
#ifndef ALIGND_ADMISSION_H
#define ALIGND_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A duration that grows with an amount along a line, of which the last few dozen observations count. */
struct admission_cost {
    double weight, x, us, xx, xus; /* sums over observations, the older the less */
};
void admission_observe(struct admission_cost *cost, size_t amount, int64_t duration_us);
/* 0 where the amount is 0 or nothing has been observed. */
double admission_predict(const struct admission_cost *cost, size_t amount);

/* Of a step, whose duration grows with its rows, and where a row looks back on all of its own earlier steps with those, too: past,
 * the sum of them over the rows. */
struct admission_step {
    struct admission_cost by_rows;
    double past, past2, cross, past_us; /* sums of past, past^2, rows past, past us; likewise */
};
void admission_observe_step(struct admission_step *step, size_t rows, size_t past, int64_t duration_us);
/* Where rows and past have always been in proportion, as those of sentences that run side by side are, by the rows alone. */
double admission_predict_step(const struct admission_step *step, size_t rows, size_t past);

/* Of the live sentences, at most, and claimed in this round: rows, and what these will look back on before they end. */
struct admission_rows {
    size_t rows, past, work, new_rows, new_past, new_work; /* work: rows x tokens */
};

/* What one model's batch costs, and holds. Zeroed at first, but for the owner; it lives at least as long as it is in use. */
struct admission_load {
    void *owner;                  /* the caller's */
    bool grows;                   /* its rows have a past; the caller's */
    struct admission_cost encode; /* by tokens */
    struct admission_step step;
    struct admission_rows main, express;
    size_t new_tokens; /* claimed in this round */
    bool used;         /* among the admission's loads, */
    size_t index;      /* where it has this place */
};

struct admission;

/* Of the main room, the lane has so large a part on top. */
enum { ADMISSION_EXPRESS_SHARE = 8 };
/* Rows that are live at once where the main room has so many: those of the lane, too. */
size_t admission_all_rows(size_t max_rows);

/* max_rows: of the main room. target_us 0: rows are the only limit. NULL when memory is out. */
struct admission *admission_create(size_t max_rows, int64_t target_us);
void admission_free(struct admission *admission); /* NULL allowed */

/* Begins a round: what is claimed from now on adds to the rows that are live. */
void admission_round(struct admission *admission);
/* What a sentence may take of the target and, where there are 128 or more, of the rows. */
enum admission_share {
    ADMISSION_MOST,     /* all but an eighth, which is kept for clients that have nothing live; of batch jobs all */
    ADMISSION_ALL,      /* all */
    ADMISSION_NEWCOMER, /* all, and where others use up the target, however long they do, an eighth of it on top: in a round for all
                           newcomers together */
};
/* Counts in one more sentence, or says false. A translation is taken to become about as long as its source, tokens. Until a model
 * has been measured, only one sentence of it. */
bool admission_claim(struct admission *admission, struct admission_load *load, size_t rows, size_t tokens,
                     enum admission_share share);
/* The same for the lane. own: work of its client in the room and in the lane: with the sentence's it may be no more than what that
 * leaves free of the lane, so that there is always something for the next client. tokens: of the source or of the translation,
 * whichever are more. */
bool admission_claim_express(struct admission *admission, struct admission_load *load, size_t rows, size_t tokens, size_t own);
/* Forgets the loads that got nothing of what was claimed. */
void admission_settle(struct admission *admission);

/* A sentence that was admitted, or that left; express: by the lane. With its last sentence a load is forgotten: it may be freed
 * then. */
void admission_enter(struct admission *admission, struct admission_load *load, size_t rows, size_t tokens, bool express);
void admission_leave(struct admission *admission, struct admission_load *load, size_t rows, size_t tokens, bool express);

/* The loads in use, of live sentences or claimed: [*count], changed by the calls above. One that is forgotten gives its place to
 * the last. */
struct admission_load *const *admission_loads(const struct admission *admission, size_t *count);

void admission_encoded(struct admission_load *load, size_t tokens, int64_t duration_us);
void admission_stepped(struct admission_load *load, size_t rows, size_t past, int64_t duration_us);

#endif
