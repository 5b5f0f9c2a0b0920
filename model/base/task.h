/* This module runs a function beside its caller, which does something else meanwhile, or once for
 * all callers. */
#ifndef ALIGND_TASK_H
#define ALIGND_TASK_H

#include <pthread.h>
#include <stdbool.h>

struct task {
    void (*run)(void *context);
    void *context;
    pthread_t thread;
    bool beside; /* false: no thread could be started */
};

/* Begins run(context) in a thread of its own. Each task must be waited for once. */
void task_start(struct task *task, void (*run)(void *context), void *context);
/* Returns when `run` has returned, whose results the caller may then read. Runs it here if no
 * thread could be started. */
void task_wait(struct task *task);

/* Remembers whether something has been set up in this process. Initialise it with TASK_ONCE. */
struct task_once {
    pthread_once_t once;
};
#define TASK_ONCE                                                                                  \
    { PTHREAD_ONCE_INIT }
/* The first call runs set_up; all calls return after it has returned. */
void task_once(struct task_once *once, void (*set_up)(void));

#endif
