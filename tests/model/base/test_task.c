/* Work beside its caller. */
#include "model/base/task.h"
#include "tests/suites.h"
#include <semaphore.h>

struct meeting {
    sem_t caller, task;
    int met;
};

static void meet(void *context) {
    struct meeting *meeting = context;
    sem_post(&meeting->task);
    sem_wait(&meeting->caller);
    meeting->met++;
}

/* Each waits for the other, which ends only if they run at the same time. */
START_TEST(runs_beside_its_caller) {
    struct meeting meeting = {0};
    struct task task;
    ck_assert_int_eq(sem_init(&meeting.caller, 0, 0), 0);
    ck_assert_int_eq(sem_init(&meeting.task, 0, 0), 0);
    task_start(&task, meet, &meeting);
    sem_wait(&meeting.task);
    sem_post(&meeting.caller);
    task_wait(&task);
    ck_assert_int_eq(meeting.met, 1);
    sem_destroy(&meeting.task);
    sem_destroy(&meeting.caller);
}
END_TEST

static void count(void *context) {
    ++*(int *)context;
}

START_TEST(runs_without_a_thread) {
    int runs = 0;
    struct task task = {.run = count,
                        .context = &runs}; /* as task_start leaves it if there is no thread */
    task_wait(&task);
    ck_assert_int_eq(runs, 1);
}
END_TEST

Suite *task_suite(void) {
    Suite *suite = suite_create("task");
    TCase *tests = tcase_create("task");
    tcase_add_test(tests, runs_beside_its_caller);
    tcase_add_test(tests, runs_without_a_thread);
    suite_add_tcase(suite, tests);
    return suite;
}
