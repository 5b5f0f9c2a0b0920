/* This module hides how the time of a round is predicted and shared: durations are fitted by least squares. */
#include "server/decode/admission.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

static const double KEEP = 0.95;   /* the weight of earlier observations at each new one */
static const double ORIGIN = 0.1;  /* the weight of one more observation at the origin: no work takes no time */
static const double WORTH = 3;     /* a round may always take this many times as long as with a single row */
static const double SPARE = 0.125; /* the part that is reserved for newcomers */
static const double APART = 0.02;  /* rows and past must each have this part of their variance independently */
static const double EXPRESS = 0.5; /* the part of the target that the lane adds, unless it has only EXPRESS_LEAST rows */
enum { EXPRESS_LEAST = 4, EXPRESS_TOKENS = 24 }; /* the lane's work per row, in tokens: short sentences */
enum { SPARE_OF_ROWS = 128 };                    /* no rows are reserved of fewer: an eighth would often be less than a beam */

struct admission {
    size_t max_rows;
    double target_us, over_us;     /* over: what newcomers have added to this round beyond the target */
    double encoded_us;             /* the time that encoding has taken of this round */
    struct admission_load **loads; /* [count]; each has at least one row, so rows bound their number */
    size_t count;
};

/* ---- what things cost ---- */

void admission_observe(struct admission_cost *cost, size_t amount, int64_t duration_us) {
    double x = (double)amount, us = (double)duration_us;
    if (amount == 0)
        return; /* an amount of 0 does not help to fit the line */
    cost->weight = KEEP * cost->weight + 1;
    cost->x = KEEP * cost->x + x;
    cost->us = KEEP * cost->us + us;
    cost->xx = KEEP * cost->xx + x * x;
    cost->xus = KEEP * cost->xus + x * us;
}

/* The origin counts as one more observation. While all amounts are similar, the line goes through it, and a large step is not
 * expected to be as cheap as the small ones seen so far. */
double admission_predict(const struct admission_cost *cost, size_t amount) {
    if (amount == 0 || cost->weight <= 0)
        return 0;
    double n = cost->weight + ORIGIN;
    double slope = (n * cost->xus - cost->x * cost->us) / (n * cost->xx - cost->x * cost->x);
    double fixed = (cost->us - slope * cost->x) / n;
    if (slope < 0 || fixed < 0) /* noise */
        return cost->xus / cost->xx * (double)amount;
    return fixed + slope * (double)amount;
}

void admission_observe_step(struct admission_step *step, size_t rows, size_t past, int64_t duration_us) {
    double x = (double)rows, p = (double)past;
    if (rows == 0)
        return;
    admission_observe(&step->by_rows, rows, duration_us);
    step->past = KEEP * step->past + p;
    step->past2 = KEEP * step->past2 + p * p;
    step->cross = KEEP * step->cross + x * p;
    step->past_us = KEEP * step->past_us + p * (double)duration_us;
}

/* us = fixed + row rows + back past. If the observations cannot separate the two costs, rows alone predict. */
double admission_predict_step(const struct admission_step *step, size_t rows, size_t past) {
    const struct admission_cost *c = &step->by_rows;
    if (rows == 0 || c->weight <= 0)
        return 0;
    double n = c->weight + ORIGIN;
    double xx = c->xx - c->x * c->x / n, xp = step->cross - c->x * step->past / n, pp = step->past2 - step->past * step->past / n;
    double xu = c->xus - c->x * c->us / n, pu = step->past_us - step->past * c->us / n, all = xx * pp - xp * xp;
    if (all <= APART * xx * pp)
        return admission_predict(c, rows);
    double row = (xu * pp - pu * xp) / all, back = (pu * xx - xu * xp) / all;
    double fixed = (c->us - row * c->x - back * step->past) / n;
    if (row < 0 || back < 0 || fixed < 0)
        return admission_predict(c, rows);
    return fixed + row * (double)rows + back * (double)past;
}

/* ---- the loads ---- */

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
    *admission = (struct admission){.max_rows = max_rows, .target_us = (double)target_us, .loads = loads};
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
    admission->over_us = admission->encoded_us = 0;
    for (size_t i = 0; i < admission->count; i++)
        forget_claims(admission->loads[i]);
}

/* Returns the number of earlier steps that the rows look back on when the sentence ends. */
static size_t past_of(const struct admission_load *load, size_t rows, size_t tokens) {
    return load->grows ? rows * tokens : 0;
}

void admission_enter(struct admission *admission, struct admission_load *load, size_t rows, size_t tokens, bool express) {
    struct admission_rows *part = express ? &load->express : &load->main;
    use(admission, load);
    part->rows += rows;
    part->past += past_of(load, rows, tokens);
    part->work += rows * tokens;
}

void admission_leave(struct admission *admission, struct admission_load *load, size_t rows, size_t tokens, bool express) {
    struct admission_rows *part = express ? &load->express : &load->main;
    assert(part->rows >= rows && part->past >= past_of(load, rows, tokens));
    part->rows -= rows;
    part->past -= past_of(load, rows, tokens);
    part->work -= rows * tokens;
    forget_if_empty(admission, load);
}

/* ---- admission ---- */

/* The work of all models in this round, including what has been claimed so far. */
struct work {
    size_t rows, tokens;
    double step_us, encode_us, least_us; /* least: a step with one row */
    size_t express_rows, express_work;
    double express_us; /* the time that these add to the step */
};

static void add_work(struct work *work, const struct admission_load *load) {
    const struct admission_rows *main = &load->main, *express = &load->express;
    size_t rows = main->rows + main->new_rows, past = main->past + main->new_past, more = express->rows + express->new_rows;
    double step_us = admission_predict_step(&load->step, rows, past);
    work->rows += rows;
    work->express_rows += more;
    work->express_work += express->work + express->new_work;
    work->tokens += load->new_tokens;
    work->step_us += step_us;
    work->express_us += admission_predict_step(&load->step, rows + more, past + express->past + express->new_past) - step_us;
    work->least_us += admission_predict_step(&load->step, rows + more > 0, 0);
    work->encode_us += admission_predict(&load->encode, load->new_tokens);
}

/* load: counted even if it is not in use. */
static struct work sum_work(const struct admission *admission, const struct admission_load *load) {
    struct work work = {0};
    for (size_t i = 0; i < admission->count; i++)
        add_work(&work, admission->loads[i]);
    if (!load->used)
        add_work(&work, load);
    return work;
}

/* If a single row takes most of the target, as it does when the weights come from memory, refusing others would cost throughput and
 * save little time. */
static double limit_us(const struct admission *admission, const struct work *work) {
    return fmax(admission->target_us, WORTH * work->least_us);
}

bool admission_encoded(struct admission *admission, int64_t part_us) {
    struct work work = {0};
    for (size_t i = 0; i < admission->count; i++) { /* the claims of this round are among the rows by now */
        const struct admission_load *load = admission->loads[i];
        size_t rows = load->main.rows + load->express.rows;
        work.step_us += admission_predict_step(&load->step, rows, load->main.past + load->express.past);
        work.least_us += admission_predict_step(&load->step, rows > 0, 0);
    }
    admission->encoded_us += (double)part_us;
    double us = work.step_us + admission->encoded_us + (double)part_us;
    return admission->target_us <= 0 || us <= limit_us(admission, &work);
}

/* Adds the time that a newcomer takes of a round beyond the target. Returns false if others took too much before it. */
static bool add_over(struct admission *admission, double added_us, double most_us) {
    if (admission->over_us + added_us > most_us)
        return false;
    admission->over_us += added_us;
    return true;
}

/* True if one sentence has been admitted whose duration is not known yet. */
static bool is_unknown(const struct admission_load *load) {
    const struct admission_rows *main = &load->main, *express = &load->express;
    return load->step.by_rows.weight <= 0 && main->rows + main->new_rows + express->rows + express->new_rows > 0;
}

/* before, after: the work without and with the sentence in question. former: the load without it. */
static bool within_target(struct admission *admission, const struct admission_load *former, const struct work *before,
                          const struct work *after, enum admission_share share) {
    if (admission->target_us <= 0 || before->rows == 0)
        return true;
    if (is_unknown(former))
        return false;
    bool encoding = before->tokens > 0; /* the first sentence to be encoded always fits */
    double most_us = limit_us(admission, after), spare_us = SPARE * most_us;
    double us = after->step_us + (encoding ? after->encode_us : 0);
    double before_us = before->step_us + (encoding ? before->encode_us : 0);
    if (us <= most_us - (share == ADMISSION_MOST ? spare_us : 0))
        return true;
    return share == ADMISSION_NEWCOMER && add_over(admission, us - before_us, spare_us);
}

static void claim(struct admission_load *load, struct admission_rows *part, size_t rows, size_t tokens) {
    part->new_rows += rows;
    part->new_past += past_of(load, rows, tokens);
    part->new_work += rows * tokens;
    load->new_tokens += tokens;
}

bool admission_claim(struct admission *admission, struct admission_load *load, size_t rows, size_t tokens,
                     enum admission_share share) {
    const struct admission_load former = *load;
    struct work before = sum_work(admission, load);
    /* An idle worker offers all its rows to anybody. */
    bool spare = share == ADMISSION_MOST && before.rows > 0 && admission->max_rows >= SPARE_OF_ROWS;
    size_t most = admission->max_rows - (spare ? (size_t)(SPARE * (double)admission->max_rows) : 0);
    if (before.rows > most || rows > most - before.rows)
        return false;
    claim(load, &load->main, rows, tokens);
    struct work after = sum_work(admission, load);
    if (within_target(admission, &former, &before, &after, share)) {
        use(admission, load);
        return true;
    }
    *load = former;
    return false;
}

/* Returns the lane's rows: as many as take its time, as far as that is known. */
static size_t lane_rows(const struct admission *admission, const struct work *after) {
    size_t most = admission->max_rows / ADMISSION_EXPRESS_SHARE, least = most < EXPRESS_LEAST ? most : EXPRESS_LEAST;
    double each_us = after->express_us / (double)after->express_rows, most_us = EXPRESS * limit_us(admission, after);
    if (admission->target_us <= 0 || each_us * (double)most <= most_us)
        return most;
    return each_us * (double)least >= most_us ? least : (size_t)(most_us / each_us);
}

/* own: the work of its client, including the sentence's. */
static bool within_lane(struct admission *admission, const struct admission_load *former, const struct work *before,
                        const struct work *after, size_t own) {
    size_t rows = lane_rows(admission, after), most = rows * EXPRESS_TOKENS;
    if (is_unknown(former) || after->express_rows > rows || after->express_work > most || own > most - after->express_work)
        return false;
    double encode_us = after->encode_us - before->encode_us;
    return admission->target_us <= 0 || before->tokens == 0 || add_over(admission, encode_us, EXPRESS * limit_us(admission, after));
}

bool admission_claim_express(struct admission *admission, struct admission_load *load, size_t rows, size_t tokens, size_t own) {
    const struct admission_load former = *load;
    struct work before = sum_work(admission, load);
    claim(load, &load->express, rows, tokens);
    struct work after = sum_work(admission, load);
    if (within_lane(admission, &former, &before, &after, own + rows * tokens)) {
        use(admission, load);
        return true;
    }
    *load = former;
    return false;
}
