/* This module hides how the duration of a round is predicted, and which sentences therefore enter
 * it (the formulas stand in the header). */
#include "server/decode/admission.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* The factor by which the weight of earlier observations shrinks at each new one: about twenty
 * count. */
static const double FORGETTING_FACTOR = 0.95;
/* The weight of the additional observation at the origin, since no work takes no time. */
static const double ORIGIN_WEIGHT = 0.1;
/* Rows and past must each have at least this part of their variance independently of the other. */
static const double MIN_TOLERANCE = 0.02;
/* A round may always take this many times as long as its steps with a single row each. */
static const double MIN_ROUND_STEPS = 3;
/* The share of a round's rows and time that is reserved for newcomers. With fewer rows than
 * RESERVE_MIN_ROWS none are reserved, because an eighth would often be less than a beam. */
static const double RESERVED_SHARE = 0.125;
enum { RESERVE_MIN_ROWS = 128 };
/* The express lane may extend a round by this share of the target, but always has LANE_MIN_ROWS.
 * Its work is limited to LANE_ROW_TOKENS for each row, because it is meant for short sentences. */
static const double LANE_OVERTIME_SHARE = 0.5;
enum { LANE_MIN_ROWS = 4, LANE_ROW_TOKENS = 24 };

struct admission {
    size_t max_rows;    /* rows of the main room, without the lane */
    double target_us;   /* the duration that a round should not exceed; 0: no target */
    double overtime_us; /* the time that newcomers have added to this round beyond the target */
    double encoded_us;  /* the time that encoding has taken in this round */
    struct admission_load *
        *loads; /* [count] in use; each has at least one row, so rows bound them */
    size_t count;
};

/* ---- costs ---- */

void admission_observe(struct admission_cost *cost, size_t amount, int64_t duration_us) {
    double x = (double)amount, y = (double)duration_us;
    if (amount == 0)
        return; /* an amount of 0 does not help to fit the line */
    cost->n = FORGETTING_FACTOR * cost->n + 1;
    cost->x = FORGETTING_FACTOR * cost->x + x;
    cost->y = FORGETTING_FACTOR * cost->y + y;
    cost->xx = FORGETTING_FACTOR * cost->xx + x * x;
    cost->xy = FORGETTING_FACTOR * cost->xy + x * y;
}

double admission_predict(const struct admission_cost *cost, size_t amount) {
    if (amount == 0 || cost->n <= 0)
        return 0;
    double n = cost->n + ORIGIN_WEIGHT;
    double slope = (n * cost->xy - cost->x * cost->y) / (n * cost->xx - cost->x * cost->x);
    double intercept = (cost->y - slope * cost->x) / n;
    if (slope < 0 || intercept < 0) /* noise */
        return cost->xy / cost->xx * (double)amount;
    return intercept + slope * (double)amount;
}

void admission_observe_step(struct admission_step *step, size_t rows, size_t past,
                            int64_t duration_us) {
    double x = (double)rows, p = (double)past;
    if (rows == 0)
        return;
    admission_observe(&step->by_rows, rows, duration_us);
    step->p = FORGETTING_FACTOR * step->p + p;
    step->pp = FORGETTING_FACTOR * step->pp + p * p;
    step->xp = FORGETTING_FACTOR * step->xp + x * p;
    step->py = FORGETTING_FACTOR * step->py + p * (double)duration_us;
}

double admission_predict_step(const struct admission_step *step, size_t rows, size_t past) {
    const struct admission_cost *c = &step->by_rows;
    if (rows == 0 || c->n <= 0)
        return 0;
    double n = c->n + ORIGIN_WEIGHT;
    double xx = c->xx - c->x * c->x / n, xp = step->xp - c->x * step->p / n,
           pp = step->pp - step->p * step->p / n;
    double xy = c->xy - c->x * c->y / n, py = step->py - step->p * c->y / n,
           determinant = xx * pp - xp * xp;
    if (determinant <= MIN_TOLERANCE * xx * pp)
        return admission_predict(c, rows);
    double row_us = (xy * pp - py * xp) / determinant, past_us = (py * xx - xy * xp) / determinant;
    double intercept = (c->y - row_us * c->x - past_us * step->p) / n;
    if (row_us < 0 || past_us < 0 || intercept < 0) /* noise */
        return admission_predict(c, rows);
    return intercept + row_us * (double)rows + past_us * (double)past;
}

/* ---- loads ---- */

size_t admission_all_rows(size_t max_rows) {
    return max_rows + max_rows / ADMISSION_EXPRESS_SHARE;
}

struct admission *admission_create(size_t max_rows, int64_t target_us) {
    struct admission *admission = calloc(1, sizeof *admission);
    struct admission_load **loads = calloc(admission_all_rows(max_rows), sizeof *loads);
    if (!admission || !loads) {
        free(admission);
        free(loads);
        return NULL;
    }
    *admission =
        (struct admission){.max_rows = max_rows, .target_us = (double)target_us, .loads = loads};
    return admission;
}

void admission_free(struct admission *admission) {
    if (!admission)
        return;
    free(admission->loads);
    free(admission);
}

static void use(struct admission *admission, struct admission_load *load) {
    if (load->used)
        return;
    assert(admission->count < admission_all_rows(admission->max_rows));
    load->used = true;
    load->index = admission->count;
    admission->loads[admission->count++] = load;
}

static void forget_claims(struct admission_load *load) {
    load->main.new_rows = load->main.new_past = load->express.new_rows = load->express.new_past = 0;
    load->main.new_work = load->express.new_work = load->new_tokens = 0;
}

static void forget_if_empty(struct admission *admission, struct admission_load *load) {
    if (load->main.rows + load->express.rows > 0)
        return;
    struct admission_load *last = admission->loads[--admission->count];
    last->index = load->index;
    admission->loads[last->index] = last;
    load->used = false;
    forget_claims(load);
}

struct admission_load *const *admission_loads(const struct admission *admission, size_t *count) {
    *count = admission->count;
    return admission->loads;
}

void admission_settle(struct admission *admission) {
    for (size_t i = admission->count; i-- > 0;)
        forget_if_empty(admission, admission->loads[i]);
}

void admission_round(struct admission *admission) {
    admission_settle(admission);
    admission->overtime_us = admission->encoded_us = 0;
    for (size_t i = 0; i < admission->count; i++)
        forget_claims(admission->loads[i]);
}

/* Returns the number of earlier steps that the rows look back on when the sentence ends. */
static size_t past_of(const struct admission_load *load, size_t rows, size_t tokens) {
    return load->grows ? rows * tokens : 0;
}

void admission_enter(struct admission *admission, struct admission_load *load, size_t rows,
                     size_t tokens, bool express) {
    struct admission_rows *part = express ? &load->express : &load->main;
    use(admission, load);
    part->rows += rows;
    part->past += past_of(load, rows, tokens);
    part->work += rows * tokens;
}

void admission_leave(struct admission *admission, struct admission_load *load, size_t rows,
                     size_t tokens, bool express) {
    struct admission_rows *part = express ? &load->express : &load->main;
    assert(part->rows >= rows && part->past >= past_of(load, rows, tokens));
    part->rows -= rows;
    part->past -= past_of(load, rows, tokens);
    part->work -= rows * tokens;
    forget_if_empty(admission, load);
}

/* ---- claims ---- */

/* The work of all models in this round, including what has been claimed so far. */
struct forecast {
    size_t rows, tokens;
    double step_us, encode_us, single_us; /* single: steps with one row each */
    size_t express_rows, express_work;
    double express_us; /* the time that the express rows add to the step */
};

static void forecast_add(struct forecast *forecast, const struct admission_load *load) {
    const struct admission_rows *main = &load->main, *express = &load->express;
    size_t rows = main->rows + main->new_rows, past = main->past + main->new_past,
           more = express->rows + express->new_rows;
    double step_us = admission_predict_step(&load->step, rows, past);
    forecast->rows += rows;
    forecast->express_rows += more;
    forecast->express_work += express->work + express->new_work;
    forecast->tokens += load->new_tokens;
    forecast->step_us += step_us;
    forecast->express_us +=
        admission_predict_step(&load->step, rows + more, past + express->past + express->new_past) -
        step_us;
    forecast->single_us += admission_predict_step(&load->step, rows + more > 0, 0);
    forecast->encode_us += admission_predict(&load->encode, load->new_tokens);
}

/* Sums the work of all loads. load: included even if it is not in use. */
static struct forecast forecast_round(const struct admission *admission,
                                      const struct admission_load *load) {
    struct forecast forecast = {0};
    for (size_t i = 0; i < admission->count; i++)
        forecast_add(&forecast, admission->loads[i]);
    if (!load->used)
        forecast_add(&forecast, load);
    return forecast;
}

/* If a single row takes most of the target, as it does when the weights come from memory, refusing
 * others would cost throughput and save little time. */
static double round_limit_us(const struct admission *admission, const struct forecast *forecast) {
    return fmax(admission->target_us, MIN_ROUND_STEPS * forecast->single_us);
}

bool admission_encoded(struct admission *admission, int64_t part_us) {
    struct forecast forecast = {0};
    for (size_t i = 0; i < admission->count;
         i++) { /* the claims of this round are already among the rows */
        const struct admission_load *load = admission->loads[i];
        size_t rows = load->main.rows + load->express.rows;
        forecast.step_us +=
            admission_predict_step(&load->step, rows, load->main.past + load->express.past);
        forecast.single_us += admission_predict_step(&load->step, rows > 0, 0);
    }
    admission->encoded_us += (double)part_us;
    double us = forecast.step_us + admission->encoded_us + (double)part_us;
    return admission->target_us <= 0 || us <= round_limit_us(admission, &forecast);
}

/* Adds the time by which a newcomer extends a round beyond the target, or returns false if the sum
 * would exceed most_us. */
static bool add_overtime(struct admission *admission, double added_us, double most_us) {
    if (admission->overtime_us + added_us > most_us)
        return false;
    admission->overtime_us += added_us;
    return true;
}

/* Returns whether a sentence has been admitted before any step of the model was measured. */
static bool is_unknown(const struct admission_load *load) {
    const struct admission_rows *main = &load->main, *express = &load->express;
    return load->step.by_rows.n <= 0 &&
           main->rows + main->new_rows + express->rows + express->new_rows > 0;
}

static void add_claim(struct admission_load *load, struct admission_rows *part, size_t rows,
                      size_t tokens) {
    part->new_rows += rows;
    part->new_past += past_of(load, rows, tokens);
    part->new_work += rows * tokens;
    load->new_tokens += tokens;
}

bool admission_claim(struct admission *admission, struct admission_load *load, size_t rows,
                     size_t tokens, enum admission_share share) {
    const struct admission_load former = *load;
    struct forecast before = forecast_round(admission, load);
    /* An idle worker offers all its rows to any client. */
    bool reserves =
        share == ADMISSION_UNRESERVED && before.rows > 0 && admission->max_rows >= RESERVE_MIN_ROWS;
    size_t most = admission->max_rows -
                  (reserves ? (size_t)(RESERVED_SHARE * (double)admission->max_rows) : 0);
    if (before.rows > most || rows > most - before.rows)
        return false;
    add_claim(load, &load->main, rows, tokens);
    struct forecast after = forecast_round(admission, load);
    bool fits = admission->target_us <= 0 || before.rows == 0;
    if (!fits && !is_unknown(&former)) {
        bool encoding = before.tokens > 0; /* the first sentence to be encoded always fits */
        double most_us = round_limit_us(admission, &after), reserved_us = RESERVED_SHARE * most_us;
        double us = after.step_us + (encoding ? after.encode_us : 0);
        double before_us = before.step_us + (encoding ? before.encode_us : 0);
        fits =
            us <= most_us - (share == ADMISSION_UNRESERVED ? reserved_us : 0) ||
            (share == ADMISSION_NEWCOMER && add_overtime(admission, us - before_us, reserved_us));
    }
    if (fits)
        use(admission, load);
    else
        *load = former;
    return fits;
}

bool admission_claim_express(struct admission *admission, struct admission_load *load, size_t rows,
                             size_t tokens, size_t own) {
    const struct admission_load former = *load;
    struct forecast before = forecast_round(admission, load);
    add_claim(load, &load->express, rows, tokens);
    struct forecast after = forecast_round(admission, load);

    /* The lane has as many rows as are predicted to fill its time, but at least `least`. */
    size_t lane = admission->max_rows / ADMISSION_EXPRESS_SHARE,
           least = lane < LANE_MIN_ROWS ? lane : LANE_MIN_ROWS;
    double each_us = after.express_us / (double)after.express_rows,
           most_us = LANE_OVERTIME_SHARE * round_limit_us(admission, &after);
    if (admission->target_us > 0 && each_us * (double)lane > most_us)
        lane = each_us * (double)least >= most_us ? least : (size_t)(most_us / each_us);
    size_t most = lane * LANE_ROW_TOKENS,
           all = own + rows * tokens; /* all: the client's work, including this sentence */
    bool fits = !is_unknown(&former) && after.express_rows <= lane && after.express_work <= most &&
                all <= most - after.express_work;
    if (fits && admission->target_us > 0 && before.tokens > 0)
        fits = add_overtime(admission, after.encode_us - before.encode_us, most_us);
    if (fits)
        use(admission, load);
    else
        *load = former;
    return fits;
}
