#include "server/pace.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

static const double KEEP = 0.95;  /* of the weight of earlier observations at each new one */
static const double ORIGIN = 0.1; /* weight of the knowledge that nothing costs nothing */
static const double WORTH = 3;    /* a round may always cost this many times what it would with a single row */
static const double SPARE = 0.125;
enum { SPARE_OF_ROWS = 128 }; /* with fewer, an eighth would often be less than a beam: they are not held back in vain */

/* What one model's batch costs, and holds. */
struct load {
    struct pace_cost encode, step; /* by tokens, by rows */
    size_t rows;                   /* of the live sentences, at most */
    size_t new_rows, new_tokens;   /* claimed in this round */
};

struct pace {
    size_t models, max_rows;
    double target_us;
    struct load *loads; /* [models] */
};

void pace_observe(struct pace_cost *cost, size_t amount, int64_t duration_us) {
    double x = (double)amount, us = (double)duration_us;
    if (amount == 0)
        return; /* says nothing, and a line needs an amount */
    cost->weight = KEEP * cost->weight + 1;
    cost->x = KEEP * cost->x + x;
    cost->us = KEEP * cost->us + us;
    cost->xx = KEEP * cost->xx + x * x;
    cost->xus = KEEP * cost->xus + x * us;
}

/* Least squares, the origin being one more observation: while all amounts are alike, the line is the one through it, and a large
 * step is not thought to be as cheap as the small ones seen so far. */
double pace_predict(const struct pace_cost *cost, size_t amount) {
    if (amount == 0 || cost->weight <= 0)
        return 0;
    double n = cost->weight + ORIGIN;
    double slope = (n * cost->xus - cost->x * cost->us) / (n * cost->xx - cost->x * cost->x);
    double fixed = (cost->us - slope * cost->x) / n;
    if (slope < 0 || fixed < 0) /* noise */
        return cost->xus / cost->xx * (double)amount;
    return fixed + slope * (double)amount;
}

struct pace *pace_create(size_t models, size_t max_rows, int64_t target_us) {
    struct pace *pace = calloc(1, sizeof *pace);
    struct load *loads = calloc(models, sizeof *loads);
    if (!pace || !loads) {
        free(pace);
        free(loads);
        return NULL;
    }
    *pace = (struct pace){.models = models, .max_rows = max_rows, .target_us = (double)target_us, .loads = loads};
    return pace;
}

void pace_free(struct pace *pace) {
    if (!pace)
        return;
    free(pace->loads);
    free(pace);
}

void pace_round(struct pace *pace) {
    for (size_t i = 0; i < pace->models; i++)
        pace->loads[i].new_rows = pace->loads[i].new_tokens = 0;
}

/* What all models have to do in this round, as claimed so far. */
struct work {
    size_t rows, tokens;
    double step_us, encode_us, least_us; /* least: a step with one row */
};

static struct work work(const struct pace *pace) {
    struct work work = {0};
    for (size_t i = 0; i < pace->models; i++) {
        const struct load *load = &pace->loads[i];
        size_t rows = load->rows + load->new_rows;
        work.rows += rows;
        work.tokens += load->new_tokens;
        work.step_us += pace_predict(&load->step, rows);
        work.least_us += pace_predict(&load->step, rows > 0);
        work.encode_us += pace_predict(&load->encode, load->new_tokens);
    }
    return work;
}

/* before, after: without and with the sentence in question. Where a single row takes most of the target, as it does when the
 * weights come from memory, turning others away would spoil the throughput and save little time. */
static bool within_target(const struct pace *pace, const struct load *load, const struct work *before, const struct work *after,
                          bool spare) {
    if (before->rows == 0)
        return true;
    if (load->step.weight <= 0 && load->rows + load->new_rows > 0)
        return false;
    double limit_us = fmax(pace->target_us, WORTH * after->least_us);
    return after->step_us + (before->tokens > 0 ? after->encode_us : 0) <= limit_us * (spare ? 1 : 1 - SPARE);
}

/* For an idle worker all of them. */
static bool rows_fit(const struct pace *pace, size_t live, size_t rows, bool spare) {
    bool all = spare || live == 0 || pace->max_rows < SPARE_OF_ROWS;
    size_t most = all ? pace->max_rows : pace->max_rows - (size_t)(SPARE * (double)pace->max_rows);
    return live <= most && rows <= most - live;
}

bool pace_claim(struct pace *pace, size_t model, size_t rows, size_t tokens, bool spare) {
    assert(model < pace->models);
    struct load *load = &pace->loads[model];
    struct load unchanged = *load;
    struct work before = work(pace);
    if (!rows_fit(pace, before.rows, rows, spare))
        return false;
    load->new_rows += rows;
    load->new_tokens += tokens;
    struct work after = work(pace);
    if (pace->target_us <= 0 || within_target(pace, &unchanged, &before, &after, spare))
        return true;
    *load = unchanged;
    return false;
}

void pace_enter(struct pace *pace, size_t model, size_t rows) {
    pace->loads[model].rows += rows;
}

void pace_leave(struct pace *pace, size_t model, size_t rows) {
    assert(pace->loads[model].rows >= rows);
    pace->loads[model].rows -= rows;
}

void pace_encoded(struct pace *pace, size_t model, size_t tokens, int64_t duration_us) {
    pace_observe(&pace->loads[model].encode, tokens, duration_us);
}

void pace_stepped(struct pace *pace, size_t model, size_t rows, int64_t duration_us) {
    pace_observe(&pace->loads[model].step, rows, duration_us);
}
