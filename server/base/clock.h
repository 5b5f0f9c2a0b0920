/* This header provides monotonic time in microseconds, and conditions that wait until such a time.
 */
#ifndef ALIGND_CLOCK_H
#define ALIGND_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static inline int64_t clock_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Makes a condition for clock_wait. */
static inline void clock_condition_init(pthread_cond_t *condition) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* Waits as pthread_cond_timedwait does, until a time of clock_us; INT64_MAX: without a limit.
 * clock_condition_init must have made the condition. */
static inline int clock_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t until_us) {
    if (until_us == INT64_MAX)
        return pthread_cond_wait(condition, lock);
    const struct timespec until = {until_us / 1000000, until_us % 1000000 * 1000};
    return pthread_cond_timedwait(condition, lock, &until);
}

/* Waits, with the lock not yet held, until a count that the lock protects is 0; the condition
 * signals that. Returns false after timeout_ms. */
static inline bool clock_wait_zero(pthread_cond_t *condition, pthread_mutex_t *lock,
                                   const size_t *count, size_t timeout_ms) {
    int64_t until_us = clock_us() + (int64_t)timeout_ms * 1000;
    int result = 0;
    pthread_mutex_lock(lock);
    while (*count > 0 && result == 0)
        result = clock_wait(condition, lock, until_us);
    bool zero = *count == 0;
    pthread_mutex_unlock(lock);
    return zero;
}

#endif
