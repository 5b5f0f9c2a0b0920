/* Bounds the memory, the sentences and the time that reading an input, or writing an answer, may take.
 *
 * An arena with a budget (arena_limit) looks at it at each allocation, so that whatever allocates as it goes along is bounded
 * without knowing of it: when the budget is used up, allocations come to nothing, as when memory is out, and its owner finds in
 * `spent` why. Where a long loop allocates nothing, it calls budget_step. Every so many steps the owner is asked whether to go on;
 * it may let others have their turn first, so no step may be made while a lock is held. All functions allow NULL: no bounds. Not
 * thread-safe. */
#ifndef ALIGND_BUDGET_H
#define ALIGND_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

enum budget_spent { BUDGET_LEFT, BUDGET_BYTES, BUDGET_SENTENCES, BUDGET_TIME };

struct budget {
    size_t bytes, most_bytes; /* in the arenas that it bounds */
    size_t sentences, most_sentences;
    bool (*go_on)(void *owner);           /* false: nobody wants the result any more. NULL: no bound on time */
    void (*away)(void *owner, bool away); /* budget_away; NULL: nothing is done */
    void *owner;
    size_t steps;            /* since go_on was called */
    enum budget_spent spent; /* the first reason stays */
};

/* So many small steps: a step is a piece, a sentence, an allocation, or a dozen bytes to be tokenized; some microseconds at the
 * most. False: stop, the budget is used up. */
bool budget_step(struct budget *budget, size_t steps);
/* Takes bytes that will be allocated. False: so many are not left. */
bool budget_take(struct budget *budget, size_t bytes);
/* Returns bytes that were freed. */
void budget_give(struct budget *budget, size_t bytes);
/* Counts one more sentence. False: there are too many. */
bool budget_add_sentence(struct budget *budget);
/* Whether so many more sentences, which will be counted later, are not too many. */
bool budget_has_room(struct budget *budget, size_t sentences);

/* From away = true until away = false the caller works where nobody can have a turn, or waits for a lock: its owner lets others go
 * on beside it. Steps in between only ask whether to go on, so locks may be held there. Returns when the caller has its turn again.
 */
void budget_away(struct budget *budget, bool away);

#endif
