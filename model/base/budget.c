#include "model/base/budget.h"

enum { STEPS = 128 }; /* between two looks at the clock */

static bool budget_end(struct budget *budget, enum budget_spent why) {
    if (budget->spent == BUDGET_LEFT)
        budget->spent = why;
    return false;
}

bool budget_step(struct budget *budget, size_t steps) {
    if (!budget)
        return true;
    if (budget->spent != BUDGET_LEFT)
        return false;
    budget->steps += steps;
    if (budget->steps < STEPS)
        return true;
    budget->steps = 0;
    return !budget->go_on || budget->go_on(budget->owner) || budget_end(budget, BUDGET_TIME);
}

bool budget_take(struct budget *budget, size_t bytes) {
    if (!budget)
        return true;
    if (budget->spent != BUDGET_LEFT)
        return false;
    if (bytes > budget->most_bytes - budget->bytes)
        return budget_end(budget, BUDGET_BYTES);
    budget->bytes += bytes;
    return true;
}

void budget_give(struct budget *budget, size_t bytes) {
    if (budget)
        budget->bytes -= bytes;
}

bool budget_add_sentence(struct budget *budget) {
    if (!budget)
        return true;
    if (budget->sentences == budget->most_sentences)
        return budget_end(budget, BUDGET_SENTENCES);
    budget->sentences++;
    return budget_step(budget, 1);
}

bool budget_has_room(struct budget *budget, size_t sentences) {
    return !budget || sentences <= budget->most_sentences - budget->sentences || budget_end(budget, BUDGET_SENTENCES);
}

void budget_away(struct budget *budget, bool away) {
    if (budget && budget->away)
        budget->away(budget->owner, away);
}
