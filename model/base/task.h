/* This module runs a function beside its caller, which does something else meanwhile. */
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

#endif
