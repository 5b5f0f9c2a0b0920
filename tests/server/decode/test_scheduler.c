/* server/scheduler and the countdown of server/request: no HTTP, no model, fake jobs. Meant to run
 * under ThreadSanitizer too. */
#include "server/base/clock.h"
#include "server/decode/job.h"
#include "server/decode/scheduler.h"
#include "tests/suites.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { CAPACITY = 8, MAX_JOBS = 8, WORK = 1000 };

/* A request with jobs that name no sentence. Static in the tests: teardown ends what is still
 * queued. */
struct fake {
    struct request request;
    struct job jobs[MAX_JOBS];
    atomic_size_t finished;
};

static void fake_finish(struct request *request) {
    struct fake *fake = request->owner;
    atomic_fetch_add(&fake->finished, 1);
}

static void fake_init(struct fake *fake, size_t jobs, uint32_t rows) {
    request_init(&fake->request);
    atomic_init(&fake->finished, 0);
    for (size_t i = 0; i < jobs; i++)
        fake->jobs[i] = (struct job){.request = &fake->request, .rows = rows};
    fake->request.jobs = fake->jobs;
    fake->request.job_count = jobs;
    fake->request.finish = fake_finish;
    fake->request.owner = fake;
}

static size_t end_jobs(struct job *jobs) {
    size_t count = 0;
    while (jobs) {
        struct job *next = jobs->next;
        job_end(jobs);
        jobs = next;
        count++;
    }
    return count;
}

static struct scheduler *scheduler;

static enum scheduler_claim claim(void *owner, struct job *job, bool express) {
    size_t *rows = owner;
    if (express || job->rows > *rows)
        return CLAIM_NO_ROOM;
    *rows -= job->rows;
    return CLAIM_TAKEN;
}

/* scheduler_take with room for so many rows. */
static struct job *take(size_t rows, bool wait) {
    return scheduler_take(scheduler, &(struct scheduler_room){claim, &rows}, wait);
}

static size_t depth(void) {
    return scheduler_depth_of(scheduler, PRIORITY_INTERACTIVE) +
           scheduler_depth_of(scheduler, PRIORITY_BATCH);
}

static void setup(void) {
    scheduler = scheduler_create(&(struct scheduler_limits){CAPACITY, WORK});
}

static void teardown(void) {
    end_jobs(take(SIZE_MAX, false));
    scheduler_free(scheduler);
}

START_TEST(takes_in_order) {
    static struct fake a, b;
    fake_init(&a, 2, 1);
    fake_init(&b, 1, 1);
    ck_assert_int_eq(scheduler_submit(scheduler, &a.request), SCHEDULER_ACCEPTED);
    ck_assert_int_eq(scheduler_submit(scheduler, &b.request), SCHEDULER_ACCEPTED);
    ck_assert_uint_eq(depth(), 3);
    struct job *jobs = take(64, false);
    ck_assert_ptr_eq(jobs, &a.jobs[0]);
    ck_assert_ptr_eq(jobs->next, &a.jobs[1]);
    ck_assert_ptr_eq(jobs->next->next, &b.jobs[0]);
    ck_assert_ptr_null(jobs->next->next->next);
    ck_assert_uint_eq(depth(), 0);
    end_jobs(jobs);
}
END_TEST

START_TEST(last_job_finishes_the_request_once) {
    static struct fake a;
    fake_init(&a, 3, 1);
    scheduler_submit(scheduler, &a.request);
    struct job *jobs = take(2, false);
    ck_assert_uint_eq(end_jobs(jobs), 2);
    ck_assert_uint_eq(atomic_load(&a.finished), 0);
    ck_assert_uint_eq(end_jobs(take(2, false)), 1);
    ck_assert_uint_eq(atomic_load(&a.finished), 1);
}
END_TEST

/* Twins never wait: whoever ends the first job with their sentence ends them. */
START_TEST(twins_are_not_handed_out) {
    static struct fake a;
    fake_init(&a, 5, 1);
    a.jobs[1].original = a.jobs[3].original = a.jobs[4].original = &a.jobs[0];
    a.request.queued.twins = 3;
    a.request.queued.window = 1;
    scheduler_submit(scheduler, &a.request);
    ck_assert_uint_eq(depth(), 1);
    ck_assert_ptr_eq(take(1, false), &a.jobs[0]);
    ck_assert_ptr_eq(take(1, false), &a.jobs[2]);
    ck_assert_uint_eq(depth(), 0);
    job_end(&a.jobs[0]);
    job_end(&a.jobs[2]);
    ck_assert_uint_eq(atomic_load(&a.request.pending), 3);
    job_end(&a.jobs[1]);
    job_end(&a.jobs[3]);
    job_end(&a.jobs[4]);
    ck_assert_uint_eq(atomic_load(&a.finished), 1);
}
END_TEST

/* Whatever has come in between: its request is accepted already. */
START_TEST(a_job_that_comes_back_waits_behind_its_clients) {
    static struct fake a, b;
    fake_init(&a, 2, 1);
    fake_init(&b, CAPACITY - 2, 1);
    scheduler_submit(scheduler, &a.request);
    struct job *jobs = take(1, false);
    ck_assert_ptr_eq(jobs, &a.jobs[0]);
    for (size_t i = 0; i < b.request.job_count; i++)
        b.jobs[i].rows = 1;
    scheduler_submit(scheduler, &b.request);
    scheduler_close(scheduler);
    ck_assert(scheduler_return(scheduler, jobs));
    ck_assert_uint_eq(atomic_load(&a.request.pending), 2);
    ck_assert_ptr_eq(take(1, false), &a.jobs[1]);
    job_end(&a.jobs[1]);
    ck_assert_uint_eq(end_jobs(take(CAPACITY - 2, false)), CAPACITY - 2);
    ck_assert_ptr_eq(take(1, true), &a.jobs[0]);
    ck_assert_uint_eq(atomic_load(&a.finished), 0);
    job_end(&a.jobs[0]);
    ck_assert_uint_eq(atomic_load(&a.finished), 1);
    ck_assert_ptr_null(take(1, true));
}
END_TEST

START_TEST(a_client_never_overtakes_itself) {
    static struct fake wide, narrow;
    fake_init(&wide, 1, 5);
    fake_init(&narrow, 1, 1);
    scheduler_submit(scheduler, &wide.request);
    scheduler_submit(scheduler, &narrow.request);
    ck_assert_ptr_null(take(4, false)); /* the narrow one would fit */
    struct job *jobs = take(5, false);
    ck_assert_ptr_eq(jobs, &wide.jobs[0]);
    ck_assert_ptr_null(jobs->next);
    end_jobs(jobs);
}
END_TEST

/* Before its jobs are made: whether one at least could wait. */
START_TEST(judged_without_jobs) {
    static struct fake queued, unmade;
    fake_init(&unmade, 0, 1);
    fake_init(&queued, CAPACITY - 1, 1);
    unmade.request.account.client = 1;
    ck_assert_int_eq(scheduler_judge(scheduler, &unmade.request), SCHEDULER_ACCEPTED);
    scheduler_submit(scheduler, &queued.request);
    ck_assert_int_eq(scheduler_judge(scheduler, &unmade.request), SCHEDULER_ACCEPTED);
    static struct fake last;
    fake_init(&last, 1, 1);
    last.request.account.client = 2;
    scheduler_submit(scheduler, &last.request);
    ck_assert_int_eq(scheduler_judge(scheduler, &unmade.request), SCHEDULER_FULL);
    ck_assert_uint_eq(depth(), CAPACITY);
    scheduler_close(scheduler);
    ck_assert_int_eq(scheduler_judge(scheduler, &unmade.request), SCHEDULER_CLOSED);
}
END_TEST

START_TEST(all_jobs_of_a_request_or_none) {
    static struct fake a, b, c;
    fake_init(&a, CAPACITY - 1, 1);
    fake_init(&b, 2, 1);
    fake_init(&c, 1, 1);
    c.request.account.client = 7;
    ck_assert_int_eq(scheduler_submit(scheduler, &a.request), SCHEDULER_ACCEPTED);
    ck_assert_int_eq(scheduler_submit(scheduler, &b.request), SCHEDULER_FULL);
    ck_assert_uint_eq(depth(), CAPACITY - 1);
    ck_assert_int_eq(scheduler_submit(scheduler, &c.request), SCHEDULER_ACCEPTED);
    ck_assert_uint_eq(atomic_load(&b.finished), 0);
}
END_TEST

/* ---- clients ---- */

/* So many jobs of one client, one request each, queued. */
static void submit_many(struct fake *fakes, size_t count, uint64_t client, uint32_t rows) {
    for (size_t i = 0; i < count; i++) {
        fake_init(&fakes[i], 1, rows);
        fakes[i].request.account.client = client;
        ck_assert_int_eq(scheduler_submit(scheduler, &fakes[i].request), SCHEDULER_ACCEPTED);
    }
}

/* The only job taken with so many rows; its client. 0: none was. */
static uint64_t taken_client(size_t rows) {
    struct job *job = take(rows, false);
    if (!job)
        return 0;
    ck_assert_ptr_null(job->next);
    uint64_t client = job->request->account.client;
    end_jobs(job);
    return client;
}

START_TEST(clients_take_turns) {
    static struct fake a[4], b[2], c[1];
    static const uint64_t turns[] = {1, 2, 3, 1, 2, 1, 1, 0};
    submit_many(a, 4, 1, 1);
    submit_many(b, 2, 2, 1);
    submit_many(c, 1, 3, 1);
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++)
        ck_assert_uint_eq(taken_client(1), turns[i]);
}
END_TEST

/* The same in one go. */
START_TEST(turns_within_one_take) {
    static struct fake a[4], b[2];
    static const uint64_t turns[] = {1, 2, 1, 2, 1, 1};
    submit_many(a, 4, 1, 1);
    submit_many(b, 2, 2, 1);
    struct job *jobs = take(64, false), *job = jobs;
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++, job = job->next)
        ck_assert_uint_eq(job->request->account.client, turns[i]);
    ck_assert_ptr_null(job);
    end_jobs(jobs);
}
END_TEST

START_TEST(a_single_job_is_next_but_one_behind_a_thousand) {
    static struct fake many[1000], one[1];
    scheduler_free(scheduler);
    scheduler = scheduler_create(&(struct scheduler_limits){2000, 2000});
    submit_many(many, 1000, 1, 1);
    submit_many(one, 1, 2, 1);
    ck_assert_uint_eq(taken_client(1), 1);
    ck_assert_uint_eq(taken_client(1), 2);
    ck_assert_uint_eq(depth(), 999);
}
END_TEST

/* Narrow jobs overtake a wide one that does not fit yet, but a limited number of times. */
START_TEST(a_wide_job_gets_its_turn) {
    static struct fake wide[1], narrow[64];
    scheduler_free(scheduler);
    scheduler = scheduler_create(&(struct scheduler_limits){100, 1000});
    submit_many(wide, 1, 1, 32);
    submit_many(narrow, 64, 2, 1);
    size_t before = 0;
    while (taken_client(1) == 2) /* never room for the wide one */
        before++;
    ck_assert_uint_eq(before, 16);
    ck_assert_uint_eq(taken_client(32), 1);
    ck_assert_uint_eq(taken_client(1), 2); /* and on it goes */
}
END_TEST

static enum scheduler_claim claim_of_others(void *owner, struct job *job, bool express) {
    const uint64_t *served = owner;
    (void)express;
    return job->request->account.client == *served ? CLAIM_SERVED : CLAIM_TAKEN;
}

/* One that is being served already is passed as often as there are others. */
START_TEST(who_is_served_stops_nobody) {
    static struct fake hog[4], others[60];
    uint64_t served = 1;
    scheduler_free(scheduler);
    scheduler = scheduler_create(&(struct scheduler_limits){100, 1000});
    submit_many(hog, 4, served, 1);
    for (uint64_t i = 0; i < 60; i++)
        submit_many(&others[i], 1, 2 + i, 1);
    struct job *jobs =
        scheduler_take(scheduler, &(struct scheduler_room){claim_of_others, &served}, false);
    ck_assert_uint_eq(end_jobs(jobs), 60);
    ck_assert_uint_eq(taken_client(1), 1);
}
END_TEST

/* A room for one job, or so; client 3 has a lane. */
static enum scheduler_claim claim_with_lane(void *owner, struct job *job, bool express) {
    const size_t *rows = owner;
    if (job->request->account.client == 3)
        return CLAIM_EXPRESS;
    return !express && job->rows <= *rows ? CLAIM_TAKEN : CLAIM_NO_ROOM;
}

static size_t taken_with_lane(size_t rows) {
    return end_jobs(
        scheduler_take(scheduler, &(struct scheduler_room){claim_with_lane, &rows}, false));
}

/* Where others wait until a wide job has its turn, who goes by the lane does not, and is not in its
 * way. */
START_TEST(the_lane_waits_for_nobody) {
    static struct fake wide[1], narrow[20], lane[100];
    scheduler_free(scheduler);
    scheduler = scheduler_create(&(struct scheduler_limits){200, 1000});
    submit_many(wide, 1, 1, 32);
    submit_many(lane, 100, 3, 1);
    ck_assert_uint_eq(taken_with_lane(1), 100); /* the wide one is not overtaken by these */
    submit_many(narrow, 20, 2, 1);
    ck_assert_uint_eq(taken_with_lane(1), 16);
    ck_assert_uint_eq(taken_with_lane(1), 0);
    submit_many(lane, 100, 3, 1);
    ck_assert_uint_eq(taken_with_lane(1), 100);
    ck_assert_uint_eq(taken_client(32), 1);
    ck_assert_uint_eq(taken_with_lane(1), 4);
}
END_TEST

/* An eighth of the queue is for those who have nothing in it. */
START_TEST(a_client_leaves_room_for_others) {
    static struct fake hog[8], other[1];
    submit_many(hog, 7, 1, 1);
    fake_init(&hog[7], 1, 1);
    hog[7].request.account.client = 1;
    ck_assert_int_eq(scheduler_submit(scheduler, &hog[7].request), SCHEDULER_FULL);
    submit_many(other, 1, 2, 1);
}
END_TEST

START_TEST(many_clients_come_and_go) {
    enum { CLIENTS = 5000 };
    struct fake *fakes = calloc(CLIENTS, sizeof *fakes);
    ck_assert_ptr_nonnull(fakes);
    scheduler_free(scheduler);
    scheduler = scheduler_create(&(struct scheduler_limits){2 * CLIENTS, 2 * CLIENTS});
    for (int round = 0; round < 2; round++) {
        size_t waiting = 0;
        for (uint64_t i = 0; i < CLIENTS; i++) {
            fake_init(&fakes[i], 1, 1);
            fakes[i].request.account.client = 1000 * i + 17;
            enum scheduler_verdict verdict = scheduler_submit(scheduler, &fakes[i].request);
            ck_assert(verdict == (waiting < 4096 ? SCHEDULER_ACCEPTED
                                                 : SCHEDULER_FULL)); /* so many clients at once */
            waiting += verdict == SCHEDULER_ACCEPTED;
        }
        for (uint64_t i = 0; i < 4096; i++)
            ck_assert_uint_eq(taken_client(1), 1000 * i + 17);
        ck_assert_uint_eq(depth(), 0);
    }
    free(fakes);
}
END_TEST

static void give_tokens(struct fake *fake, uint32_t tokens) {
    for (size_t i = 0; i < fake->request.job_count; i++)
        fake->jobs[i].tokens = tokens;
}

/* ---- priorities: work is rows, of one token each ---- */

static void submit_with(struct fake *fakes, size_t count, enum priority priority, uint64_t client,
                        uint32_t rows) {
    for (size_t i = 0; i < count; i++) {
        fake_init(&fakes[i], 1, rows);
        give_tokens(&fakes[i], 1);
        fakes[i].request.account.client = client;
        fakes[i].request.account.priority = priority;
        ck_assert_int_eq(scheduler_submit(scheduler, &fakes[i].request), SCHEDULER_ACCEPTED);
    }
}

static void make_large_scheduler(void) {
    scheduler_free(scheduler);
    scheduler = scheduler_create(&(struct scheduler_limits){4000, 100000});
}

START_TEST(batch_waits_for_interactive) {
    static struct fake batch[3], interactive[3];
    static const uint64_t order[] = {2, 2, 2, 1, 1, 1};
    submit_with(batch, 3, PRIORITY_BATCH, 1, 1);
    submit_with(interactive, 3, PRIORITY_INTERACTIVE, 2, 1);
    ck_assert_uint_eq(scheduler_depth_of(scheduler, PRIORITY_BATCH), 3);
    ck_assert_uint_eq(scheduler_depth_of(scheduler, PRIORITY_INTERACTIVE), 3);
    struct job *jobs = take(64, false), *job = jobs;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++, job = job->next)
        ck_assert_uint_eq(job->request->account.client, order[i]);
    ck_assert_ptr_null(job);
    end_jobs(jobs);
    ck_assert_uint_eq(depth(), 0);
}
END_TEST

/* Nothing else waits: it gets all there is, again and again. */
START_TEST(an_idle_machine_is_batch_s) {
    static struct fake batch[40];
    make_large_scheduler();
    submit_with(batch, 40, PRIORITY_BATCH, 1, 1);
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(end_jobs(take(10, false)), 10);
}
END_TEST

/* Batch jobs that would fit do not overtake an interactive job that waits for room. */
START_TEST(batch_does_not_pass_who_waits) {
    static struct fake wide[1], batch[1];
    submit_with(wide, 1, PRIORITY_INTERACTIVE, 1, 5);
    submit_with(batch, 1, PRIORITY_BATCH, 2, 1);
    ck_assert_ptr_null(take(4, false));
    struct job *jobs = take(6, false);
    ck_assert_ptr_eq(jobs, wide[0].jobs);
    ck_assert_ptr_eq(jobs->next, batch[0].jobs);
    end_jobs(jobs);
}
END_TEST

/* Jobs of client 1 among those taken in so many rounds with so many rows, which others keep full;
 * least: jobs of others before its first. */
static size_t count_batch(size_t rounds, size_t rows, size_t least) {
    size_t batch = 0, others = 0;
    for (size_t i = 0; i < rounds; i++) {
        struct job *jobs = take(rows, false);
        for (struct job *job = jobs; job; job = job->next) {
            batch += job->request->account.client == 1;
            others += job->request->account.client != 1;
            ck_assert(batch == 0 || others >= least);
        }
        ck_assert_uint_eq(end_jobs(jobs), rows);
    }
    return batch;
}

START_TEST(batch_gets_a_tenth_while_rows_are_full) {
    static struct fake batch[100], interactive[2000];
    make_large_scheduler();
    submit_with(interactive, 1000, PRIORITY_INTERACTIVE, 2, 1);
    submit_with(interactive + 1000, 1000, PRIORITY_INTERACTIVE, 3, 1);
    ck_assert_uint_eq(count_batch(50, 1, 0), 0); /* before it waits nothing becomes due */
    submit_with(batch, 100, PRIORITY_BATCH, 1, 1);
    ck_assert_uint_eq(count_batch(200, 1, 9), 20);
    ck_assert_uint_eq(count_batch(50, 8, 0), 40); /* within one round, too */
}
END_TEST

/* A tenth of the work, not of the jobs: nine times its own must have gone before. Then it waits for
 * its rows as everybody does. */
START_TEST(a_wide_batch_job_gets_its_turn) {
    static struct fake wide[1], narrow[400];
    make_large_scheduler();
    submit_with(wide, 1, PRIORITY_BATCH, 1, 32);
    submit_with(narrow, 400, PRIORITY_INTERACTIVE, 2, 1);
    size_t before = 0;
    while (taken_client(1) == 2)
        before++;
    ck_assert_uint_eq(before, 9 * 32 + 16);
    ck_assert_uint_eq(taken_client(32), 1);
    ck_assert_uint_eq(taken_client(1), 2);
}
END_TEST

/* client 1 has something live: there is room for more of it in the wide. */
static enum scheduler_claim claim_beside_its_own(void *owner, struct job *job, bool express) {
    size_t *rows = owner;
    if (job->request->account.client == 1 && *rows < 4)
        return CLAIM_SERVED;
    return claim(owner, job, express);
}

static uint64_t taken_beside_its_own(size_t rows) {
    struct job *jobs =
        scheduler_take(scheduler, &(struct scheduler_room){claim_beside_its_own, &rows}, false);
    uint64_t client = jobs ? jobs->request->account.client : 0;
    end_jobs(jobs);
    return client;
}

/* Batch jobs keep their tenth even if some of them are being decoded. */
START_TEST(what_is_due_is_held_back_for_no_longer) {
    static struct fake batch[2], interactive[100];
    make_large_scheduler();
    submit_with(batch, 2, PRIORITY_BATCH, 1, 1);
    submit_with(interactive, 100, PRIORITY_INTERACTIVE, 2, 1);
    size_t before = 0;
    while (taken_beside_its_own(1) == 2)
        before++;
    ck_assert_uint_eq(before, 9 + 16);
    ck_assert_uint_eq(taken_beside_its_own(4), 1);
}
END_TEST

static enum scheduler_claim hold_back(void *owner, struct job *job, bool express) {
    const uint64_t *held_back = owner;
    ck_assert(!express); /* no room is reserved for a job that is held back */
    return job->request->account.client == *held_back ? CLAIM_HELD_BACK : CLAIM_TAKEN;
}

/* Nobody waits for a job that is held back although there is room, not even if it is a batch job
 * that is due. */
START_TEST(who_is_held_back_stops_nobody) {
    static struct fake document[4], others[60];
    static const enum priority priorities[] = {PRIORITY_INTERACTIVE, PRIORITY_BATCH};
    uint64_t held_back = 1;
    make_large_scheduler();
    submit_with(document, 4, priorities[_i], held_back, 1);
    for (uint64_t i = 0; i < 60; i++)
        submit_with(&others[i], 1, PRIORITY_INTERACTIVE, 2 + i, 1);
    struct job *jobs =
        scheduler_take(scheduler, &(struct scheduler_room){hold_back, &held_back}, false);
    ck_assert_uint_eq(end_jobs(jobs), 60);
    ck_assert_uint_eq(taken_client(1), 1);
}
END_TEST

START_TEST(batch_clients_take_turns) {
    static struct fake a[3], b[2], interactive[1];
    static const uint64_t turns[] = {3, 1, 2, 1, 2, 1, 0};
    submit_with(a, 3, PRIORITY_BATCH, 1, 1);
    submit_with(b, 2, PRIORITY_BATCH, 2, 1);
    submit_with(interactive, 1, PRIORITY_INTERACTIVE, 3, 1);
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++)
        ck_assert_uint_eq(taken_client(1), turns[i]);
}
END_TEST

/* A client's own batch jobs do not stand before what it asks for now. */
START_TEST(a_client_of_both_priorities) {
    static struct fake batch[3], now[2];
    submit_with(batch, 3, PRIORITY_BATCH, 1, 1);
    submit_with(now, 2, PRIORITY_INTERACTIVE, 1, 1);
    struct job *jobs = take(3, false);
    ck_assert_ptr_eq(jobs, now[0].jobs);
    ck_assert_ptr_eq(jobs->next, now[1].jobs);
    ck_assert_ptr_eq(jobs->next->next, batch[0].jobs);
    end_jobs(jobs);
}
END_TEST

START_TEST(cancelled_batch_jobs_leave) {
    static struct fake batch[2], interactive[1];
    submit_with(batch, 2, PRIORITY_BATCH, 1, 1);
    submit_with(interactive, 1, PRIORITY_INTERACTIVE, 2, 5);
    request_cancel(&batch[0].request, CANCEL_CLIENT);
    struct job *jobs = take(1, false); /* nothing fits whose turn it is */
    ck_assert_ptr_eq(jobs, batch[0].jobs);
    ck_assert_uint_eq(end_jobs(jobs), 1);
    ck_assert_uint_eq(scheduler_depth_of(scheduler, PRIORITY_BATCH), 1);
}
END_TEST

/* However many they are, they leave an eighth of the queue to others. */
START_TEST(batch_clients_leave_room_for_others) {
    static struct fake batch[CAPACITY], other[1];
    submit_with(batch, CAPACITY - 2, PRIORITY_BATCH, 1, 1);
    submit_with(&batch[CAPACITY - 2], 1, PRIORITY_BATCH, 2, 1);
    fake_init(&batch[CAPACITY - 1], 1, 1);
    batch[CAPACITY - 1].request.account.client = 3;
    batch[CAPACITY - 1].request.account.priority = PRIORITY_BATCH;
    ck_assert_int_eq(scheduler_submit(scheduler, &batch[CAPACITY - 1].request), SCHEDULER_FULL);
    submit_with(other, 1, PRIORITY_INTERACTIVE, 1, 1);
}
END_TEST

/* ---- work ---- */

START_TEST(work_is_bounded) {
    static struct fake a, b, c;
    fake_init(&a, 2, 5);
    fake_init(&b, 1, 5);
    fake_init(&c, 1, 5);
    give_tokens(&a, 80); /* 800 of 1000 */
    give_tokens(&b, 20);
    give_tokens(&c, 20);
    b.request.account.client = c.request.account.client = 2;
    ck_assert_int_eq(scheduler_submit(scheduler, &a.request), SCHEDULER_ACCEPTED);
    ck_assert_int_eq(scheduler_submit(scheduler, &b.request), SCHEDULER_ACCEPTED);
    ck_assert_int_eq(scheduler_submit(scheduler, &c.request),
                     SCHEDULER_FULL_WORK); /* it has something waiting */
    end_jobs(take(5, false));
    ck_assert_int_eq(scheduler_submit(scheduler, &c.request), SCHEDULER_ACCEPTED);
}
END_TEST

/* Until the clock shows another time. */
static void await_tick(void) {
    for (int64_t now_us = clock_us(); clock_us() == now_us;)
        continue;
}

/* The time that a client must wait: its excess at the pace at which work has left the queue. */
START_TEST(waiting_time_is_measured) {
    static struct fake many[200], late, earlier;
    scheduler_free(scheduler);
    scheduler = scheduler_create(&(struct scheduler_limits){1000, 2000});
    for (size_t i = 0; i < 200; i++) {
        fake_init(&many[i], 1, 1);
        give_tokens(&many[i], 5);
        ck_assert_int_eq(scheduler_submit(scheduler, &many[i].request), SCHEDULER_ACCEPTED);
    }
    fake_init(&late, 1, 100);
    give_tokens(&late,
                100); /* 10000: 9250 too many when 1000 wait and 1750 may, 9000 when 750 do */
    fake_init(&earlier, 1, 100);
    give_tokens(&earlier, 30);
    ck_assert(scheduler_wait_s(scheduler, &late.request) <= 0);
    end_jobs(take(1, false)); /* the first does not count */
    ck_assert(scheduler_wait_s(scheduler, &late.request) <= 0);
    for (size_t i = 0; i < 49; i++) {
        await_tick();
        end_jobs(take(1, false));
    }
    ck_assert_int_eq(scheduler_submit(scheduler, &late.request), SCHEDULER_FULL_WORK);
    double wait_s = scheduler_wait_s(scheduler, &late.request);
    ck_assert_double_ge(wait_s, 0.999 * 49 * 1e-6 / (49 * 5) * 9000);
    ck_assert_double_eq_tol(scheduler_wait_s(scheduler, &earlier.request) / wait_s, 2000. / 9000,
                            1e-9);
    late.request.account.client = 1; /* that has nothing waiting: 2000 may */
    ck_assert_double_eq_tol(scheduler_wait_s(scheduler, &earlier.request) /
                                scheduler_wait_s(scheduler, &late.request),
                            2000. / 8750, 1e-9);
}
END_TEST

START_TEST(closed_accepts_nothing_but_hands_out_the_rest) {
    static struct fake a, b;
    fake_init(&a, 1, 1);
    fake_init(&b, 1, 1);
    scheduler_submit(scheduler, &a.request);
    scheduler_close(scheduler);
    ck_assert_int_eq(scheduler_submit(scheduler, &b.request), SCHEDULER_CLOSED);
    ck_assert_uint_eq(end_jobs(take(64, true)), 1);
    ck_assert_ptr_null(take(64, true)); /* does not block */
}
END_TEST

START_TEST(cancelled_job_leaves_from_the_middle) {
    static struct fake wide, gone, narrow;
    fake_init(&wide, 1, 9);
    fake_init(&gone, 2, 9);
    fake_init(&narrow, 1, 1);
    scheduler_submit(scheduler, &wide.request);
    scheduler_submit(scheduler, &gone.request);
    scheduler_submit(scheduler, &narrow.request);
    request_cancel(&gone.request, CANCEL_CLIENT);
    struct job *jobs = take(1, false); /* no room for any of the wide ones */
    ck_assert_ptr_eq(jobs, &gone.jobs[0]);
    ck_assert_uint_eq(end_jobs(jobs), 2);
    ck_assert_uint_eq(atomic_load(&gone.finished), 1);
    ck_assert_uint_eq(depth(), 2);
    jobs = take(10, false);
    ck_assert_ptr_eq(jobs, &wide.jobs[0]);
    ck_assert_ptr_eq(jobs->next, &narrow.jobs[0]); /* the links around the gap hold */
    end_jobs(jobs);
}
END_TEST

START_TEST(overdue_job_leaves_with_its_reason) {
    static struct fake late;
    fake_init(&late, 1, 9);
    late.request.deadline_us = clock_us() - 1;
    scheduler_submit(scheduler, &late.request);
    ck_assert_uint_eq(end_jobs(take(1, false)), 1);
    ck_assert_int_eq(request_reason(&late.request), CANCEL_DEADLINE);
    request_cancel(&late.request, CANCEL_CLIENT); /* only the first reason counts */
    ck_assert_int_eq(request_reason(&late.request), CANCEL_DEADLINE);
}
END_TEST

/* Only the jobs in the window wait; another follows when there are fewer. Two requests that are
 * longer than the queue fit into it.
 */
START_TEST(long_requests_wait_in_their_windows) {
    static struct fake a, b;
    fake_init(&a, MAX_JOBS, 1);
    fake_init(&b, MAX_JOBS, 1);
    a.request.queued.window = b.request.queued.window = CAPACITY / 4;
    ck_assert_int_eq(scheduler_submit(scheduler, &a.request), SCHEDULER_ACCEPTED);
    ck_assert_int_eq(scheduler_submit(scheduler, &b.request), SCHEDULER_ACCEPTED);
    ck_assert_uint_eq(depth(), CAPACITY / 2);
    ck_assert_uint_eq(atomic_load(&a.request.pending), MAX_JOBS);
    struct job *job = take(1, false);
    ck_assert_ptr_eq(job, &a.jobs[0]);
    ck_assert_uint_eq(depth(), CAPACITY / 2);
    ck_assert(
        scheduler_return(scheduler, job)); /* one too many: none follows the next that is taken */
    ck_assert_ptr_eq(take(1, false), &a.jobs[1]);
    job_end(&a.jobs[1]);
    ck_assert_uint_eq(depth(), CAPACITY / 2);
    scheduler_close(scheduler); /* what was accepted is handed out whole */
    size_t taken = 1;
    for (struct job *jobs; (jobs = take(3, true)) != NULL;)
        taken += end_jobs(jobs);
    ck_assert_uint_eq(taken, 2 * MAX_JOBS);
    ck_assert_uint_eq(atomic_load(&a.finished), 1);
    ck_assert_uint_eq(atomic_load(&b.finished), 1);
}
END_TEST

START_TEST(a_long_request_leaves_as_a_whole) {
    static struct fake wide, gone;
    fake_init(&wide, 1, 9);
    fake_init(&gone, MAX_JOBS, 9);
    gone.request.queued.window = 2;
    scheduler_submit(scheduler, &wide.request);
    scheduler_submit(scheduler, &gone.request);
    request_cancel(&gone.request, CANCEL_CLIENT);
    ck_assert_uint_eq(end_jobs(take(1, false)), MAX_JOBS);
    ck_assert_uint_eq(atomic_load(&gone.finished), 1);
    ck_assert_uint_eq(depth(), 1);
}
END_TEST

static void *take_when_there_is_one(void *argument) {
    (void)argument;
    size_t *count = malloc(sizeof *count);
    *count = end_jobs(take(64, true));
    return count;
}

static size_t joined(pthread_t thread) {
    void *result;
    pthread_join(thread, &result);
    size_t count = *(size_t *)result;
    free(result);
    return count;
}

static void await_idle(size_t workers) {
    while (scheduler_idle(scheduler) < workers)
        sched_yield();
}

START_TEST(burst_is_spread_over_idle_workers) {
    static struct fake a;
    pthread_t threads[2];
    fake_init(&a, 8, 1);
    for (size_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, take_when_there_is_one, NULL);
    await_idle(2);
    scheduler_submit(scheduler, &a.request);
    ck_assert_uint_eq(joined(threads[0]), 4);
    ck_assert_uint_eq(joined(threads[1]), 4);
    ck_assert_uint_eq(atomic_load(&a.finished), 1);
}
END_TEST

START_TEST(busy_worker_leaves_a_single_job_to_an_idle_one) {
    static struct fake a;
    pthread_t idle;
    fake_init(&a, 1, 1);
    pthread_create(&idle, NULL, take_when_there_is_one, NULL);
    await_idle(1);
    scheduler_submit(scheduler, &a.request);
    end_jobs(take(64, false)); /* gets it only if the idle one was there first and it is gone */
    ck_assert_uint_eq(joined(idle), 1);
}
END_TEST

START_TEST(closing_wakes_who_waits) {
    pthread_t idle;
    pthread_create(&idle, NULL, take_when_there_is_one, NULL);
    await_idle(1);
    scheduler_close(scheduler);
    ck_assert_uint_eq(joined(idle), 0);
}
END_TEST

/* Producers, workers and a canceller at once: every accepted request is finished exactly once, no
 * other is touched. */

enum { PRODUCERS = 3, WORKERS = 3, REQUESTS = 400 };

static struct fake crowd[PRODUCERS][REQUESTS];
static atomic_size_t accepted, ended;

static void *produce(void *argument) {
    struct fake *fakes = argument;
    for (size_t i = 0; i < REQUESTS; i++) {
        fake_init(&fakes[i], 1 + i % 4, (uint32_t)(1 + i % 3));
        fakes[i].request.account.priority = i % 2 == 0 ? PRIORITY_BATCH : PRIORITY_INTERACTIVE;
        while (scheduler_submit(scheduler, &fakes[i].request) != SCHEDULER_ACCEPTED)
            sched_yield();
        atomic_fetch_add(&accepted, 1 + i % 4);
        if (i % 5 == 0)
            request_cancel(&fakes[i].request, CANCEL_CLIENT);
    }
    return NULL;
}

static void *work(void *argument) {
    (void)argument;
    for (struct job *jobs; (jobs = take(4, true)) != NULL;)
        atomic_fetch_add(&ended, end_jobs(jobs));
    return NULL;
}

START_TEST(crowd_loses_nothing) {
    pthread_t producers[PRODUCERS], workers[WORKERS];
    for (size_t i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, work, NULL);
    for (size_t i = 0; i < PRODUCERS; i++)
        pthread_create(&producers[i], NULL, produce, crowd[i]);
    for (size_t i = 0; i < PRODUCERS; i++)
        pthread_join(producers[i], NULL);
    scheduler_close(scheduler);
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    ck_assert_uint_eq(atomic_load(&ended), atomic_load(&accepted));
    for (size_t i = 0; i < PRODUCERS; i++) {
        for (size_t j = 0; j < REQUESTS; j++) {
            ck_assert_uint_eq(atomic_load(&crowd[i][j].finished), 1);
            request_done(&crowd[i][j].request);
        }
    }
}
END_TEST

Suite *scheduler_suite(void) {
    Suite *suite = suite_create("scheduler");
    TCase *tcase = tcase_create("scheduler");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, takes_in_order);
    tcase_add_test(tcase, last_job_finishes_the_request_once);
    tcase_add_test(tcase, twins_are_not_handed_out);
    tcase_add_test(tcase, a_job_that_comes_back_waits_behind_its_clients);
    tcase_add_test(tcase, a_client_never_overtakes_itself);
    tcase_add_test(tcase, judged_without_jobs);
    tcase_add_test(tcase, all_jobs_of_a_request_or_none);
    tcase_add_test(tcase, clients_take_turns);
    tcase_add_test(tcase, turns_within_one_take);
    tcase_add_test(tcase, a_single_job_is_next_but_one_behind_a_thousand);
    tcase_add_test(tcase, a_wide_job_gets_its_turn);
    tcase_add_test(tcase, who_is_served_stops_nobody);
    tcase_add_loop_test(tcase, who_is_held_back_stops_nobody, 0, 2);
    tcase_add_test(tcase, the_lane_waits_for_nobody);
    tcase_add_test(tcase, a_client_leaves_room_for_others);
    tcase_add_test(tcase, many_clients_come_and_go);
    tcase_add_test(tcase, batch_waits_for_interactive);
    tcase_add_test(tcase, an_idle_machine_is_batch_s);
    tcase_add_test(tcase, batch_does_not_pass_who_waits);
    tcase_add_test(tcase, batch_gets_a_tenth_while_rows_are_full);
    tcase_add_test(tcase, a_wide_batch_job_gets_its_turn);
    tcase_add_test(tcase, what_is_due_is_held_back_for_no_longer);
    tcase_add_test(tcase, batch_clients_take_turns);
    tcase_add_test(tcase, a_client_of_both_priorities);
    tcase_add_test(tcase, cancelled_batch_jobs_leave);
    tcase_add_test(tcase, batch_clients_leave_room_for_others);
    tcase_add_test(tcase, work_is_bounded);
    tcase_add_test(tcase, waiting_time_is_measured);
    tcase_add_test(tcase, closed_accepts_nothing_but_hands_out_the_rest);
    tcase_add_test(tcase, cancelled_job_leaves_from_the_middle);
    tcase_add_test(tcase, overdue_job_leaves_with_its_reason);
    tcase_add_test(tcase, long_requests_wait_in_their_windows);
    tcase_add_test(tcase, a_long_request_leaves_as_a_whole);
    tcase_add_test(tcase, burst_is_spread_over_idle_workers);
    tcase_add_test(tcase, busy_worker_leaves_a_single_job_to_an_idle_one);
    tcase_add_test(tcase, closing_wakes_who_waits);
    tcase_add_test(tcase, crowd_loses_nothing);
    suite_add_tcase(suite, tcase);
    return suite;
}
