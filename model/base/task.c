/* This file hides whether there is a thread for a task. */
#include "model/base/task.h"

static void *run_task(void *argument) {
    const struct task *task = argument;
    task->run(task->context);
    return NULL;
}

void task_start(struct task *task, void (*run)(void *context), void *context) {
    *task = (struct task){.run = run, .context = context};
    task->beside = pthread_create(&task->thread, NULL, run_task, task) == 0;
}

void task_wait(struct task *task) {
    if (task->beside)
        pthread_join(task->thread, NULL);
    else
        task->run(task->context);
}

void task_once(struct task_once *once, void (*set_up)(void)) {
    pthread_once(&once->once, set_up);
}
