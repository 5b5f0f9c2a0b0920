/* Admission decides how many sentences a worker decodes at a time, by a prediction of how long its
 * next round will take.
 *
 * Between two tokens of a sentence a worker does one round: it encodes the sentences just admitted,
 * or a part of them, then steps the batch of every model. A sentence is admitted if its rows are
 * free and
 *
 *   sum over models (step_us(rows, past) + encode_us(tokens)) <= max(target_us, 3 sum step_us(1,
 * 0))
 *
 * with
 *
 *   encode_us(tokens)   = a + b tokens
 *   step_us(rows, past) = a + b rows + c past
 *
 * where rows, past and tokens include the sentence, and past is the number of earlier steps that
 * the rows attend to. Each coefficient is fitted by least squares to what the worker has measured,
 * with exponential forgetting (factor 0.95). The origin counts as a tenth of an observation: while
 * all amounts are similar the line goes through it, so that a large step is not expected to be as
 * cheap as the small ones seen so far. If rows and past have always been in proportion, as for
 * sentences that run side by side, or if a coefficient would be negative, fewer coefficients are
 * fitted.
 *
 * A sentence that does not fit waits for a round with less to do. None waits forever: an idle
 * worker takes any sentence, one that is too long to be encoded within the target is admitted as
 * the only one of its round, and a client that has nothing live lengthens the round instead of
 * waiting for the long sentences of others. If a single row nearly uses up the target, as it does
 * when the weights come from memory, refusing others would cost throughput and save little time;
 * the second term of the maximum therefore lets the target be exceeded.
 *
 * Beside this main room there is an express lane with an eighth of its rows, which may exceed the
 * target by half. While others fill the main room, it takes short sentences of clients that have
 * little live. It takes nothing from the main room, so jobs that wait for the main room never wait
 * for the lane.
 *
 * Each worker has its own admission, since it measures the time of its own thread. Not thread-safe.
 */
#ifndef ALIGND_ADMISSION_H
#define ALIGND_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A duration y that grows with an amount x along a line: sums over the observations, in which older
 * ones weigh less. */
struct admission_cost {
    double n, x, y, xx, xy; /* n: the sum of the weights; y in us */
};
void admission_observe(struct admission_cost *cost, size_t amount, int64_t duration_us);
/* Returns the predicted duration in us, or 0 if the amount is 0 or there are no observations. */
double admission_predict(const struct admission_cost *cost, size_t amount);

/* The duration of a step. It grows with the rows x and, if a row attends to all of its earlier
 * steps, with the past p, their number summed over the rows. */
struct admission_step {
    struct admission_cost by_rows;
    double p, pp, xp, py; /* sums, as above */
};
void admission_observe_step(struct admission_step *step, size_t rows, size_t past,
                            int64_t duration_us);
/* Returns the predicted duration in us, or 0 without rows or observations. */
double admission_predict_step(const struct admission_step *step, size_t rows, size_t past);

/* Upper bounds of the rows of live sentences, and of the earlier steps that they will attend to
 * before they end; new_: the same for rows claimed in this round. */
struct admission_rows {
    size_t rows, past, work, new_rows, new_past, new_work; /* work: rows x tokens */
};

/* The costs of the batch of one model, and the rows in it. Zeroed at first, except for the caller's
 * members; it must live as long as it is in use. */
struct admission_load {
    void *owner;                  /* the caller's */
    bool grows;                   /* the caller's: its rows have a past */
    struct admission_cost encode; /* by tokens; the caller observes it */
    struct admission_step step;   /* the caller observes it */
    struct admission_rows main, express;
    size_t new_tokens; /* claimed in this round */
    bool used;         /* it is one of the admission's loads, */
    size_t index;      /* at this place */
};

struct admission;

/* The lane has one row for each ADMISSION_EXPRESS_SHARE rows of the main room. */
enum { ADMISSION_EXPRESS_SHARE = 8 };
/* Returns how many rows may be live at once, with those of the lane, if the main room has max_rows.
 */
size_t admission_all_rows(size_t max_rows);

/* max_rows: of the main room. target_us: 0 if rows are the only limit. Returns NULL if memory runs
 * out. */
struct admission *admission_create(size_t max_rows, int64_t target_us);
void admission_free(struct admission *admission); /* accepts NULL */

/* Begins a round: claims from now on add to the live rows. */
void admission_round(struct admission *admission);
/* The part that a sentence may take of the target and, if there are 128 or more, of the rows. */
enum admission_share {
    ADMISSION_UNRESERVED, /* all but an eighth, which is reserved for clients that have nothing
                          live; batch jobs get the same */
    ADMISSION_ALL,        /* all */
    ADMISSION_NEWCOMER /* all, and, if others use up the target, an eighth of it on top, which all
                          newcomers of a round share */
};
/* Claims room for one more sentence, or returns false. A translation is expected to become as long
 * as its source, tokens. Until a model has been measured, only one sentence is admitted to it. */
bool admission_claim(struct admission *admission, struct admission_load *load, size_t rows,
                     size_t tokens, enum admission_share share);
/* Claims room in the lane. own: the work of the client in the main room and in the lane. Including
 * the sentence's, it may not exceed the part of the lane that would stay free, so that there is
 * always room for the next client. tokens: of the source or of the translation, whichever is
 * larger. */
bool admission_claim_express(struct admission *admission, struct admission_load *load, size_t rows,
                             size_t tokens, size_t own);
/* Notes that a part of an encoding took part_us in this round. Returns true if another part of that
 * length still fits beside the steps, so that the encoding ends some rounds earlier for those that
 * wait. Each round has at least one part. */
bool admission_encoded(struct admission *admission, int64_t part_us);
/* Drops the loads that have claims but no admitted sentence. */
void admission_settle(struct admission *admission);

/* Notes that a sentence was admitted, or left; express: by the lane. When its last sentence leaves,
 * the admission drops the load, and its owner may free it. */
void admission_enter(struct admission *admission, struct admission_load *load, size_t rows,
                     size_t tokens, bool express);
void admission_leave(struct admission *admission, struct admission_load *load, size_t rows,
                     size_t tokens, bool express);

/* Returns the loads in use, which have live sentences or claims: [*count], changed by the calls
 * above. The last one moves to the place of a dropped one. */
struct admission_load *const *admission_loads(const struct admission *admission, size_t *count);

#endif
