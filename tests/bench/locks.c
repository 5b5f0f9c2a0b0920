/* Preloaded into alignd by locks.py: how long each mutex is held and waited for. The table is
 * written to the file in LOCKS_OUTPUT when the program ends, a line for each place that was the
 * first to lock a mutex:
 *
 *   FILE OFFSET  of the code; mutexes that this place was the first to lock;
 *   times locked, times of these that it was held by another thread, ns held, ns waited for;
 *   ns that the most held of these mutexes was held
 *
 * A time includes the reading of a clock, some 25 ns. A mutex in memory that was another's before
 * counts as that one. */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOTS = 1 << 16, PLACES = 4096 };

/* What belongs to a mutex is written by whoever holds it. */
struct lock {
    _Atomic(pthread_mutex_t *) mutex;
    const void *place;
    uint64_t since_ns, count, contended, held_ns, waited_ns;
};

static struct lock locks[SLOTS];

static struct {
    int (*lock)(pthread_mutex_t *mutex);
    int (*unlock)(pthread_mutex_t *mutex);
    int (*wait)(pthread_cond_t *condition, pthread_mutex_t *mutex);
    int (*timed_wait)(pthread_cond_t *condition, pthread_mutex_t *mutex,
                      const struct timespec *until);
} real;

static void find(const char *name, const char *version, void *function) {
    void *symbol = version ? dlvsym(RTLD_NEXT, name, version) : dlsym(RTLD_NEXT, name);
    if (!symbol)
        abort();
    memcpy(function, &symbol, sizeof symbol);
}

/* The conditions of glibc before 2.3.2 have the same names. */
__attribute__((constructor)) static void find_all(void) {
    if (real.lock)
        return;
    find("pthread_mutex_unlock", NULL, &real.unlock);
    find("pthread_cond_wait", "GLIBC_2.3.2", &real.wait);
    find("pthread_cond_timedwait", "GLIBC_2.3.2", &real.timed_wait);
    find("pthread_mutex_lock", NULL, &real.lock);
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Returns NULL if there is no slot left. */
static struct lock *slot_of(pthread_mutex_t *mutex) {
    size_t first = (size_t)((uintptr_t)mutex / sizeof(void *) * 11400714819323198485u >> 48);
    for (size_t i = 0; i < SLOTS; i++) {
        struct lock *lock = &locks[(first + i) % SLOTS];
        pthread_mutex_t *owner = NULL;
        if (atomic_load(&lock->mutex) == mutex ||
            atomic_compare_exchange_strong(&lock->mutex, &owner, mutex) || owner == mutex)
            return lock;
    }
    return NULL;
}

static void begin(pthread_mutex_t *mutex, const void *place, bool contended, uint64_t asked_ns) {
    struct lock *lock = slot_of(mutex);
    if (!lock)
        return;
    lock->place = lock->place ? lock->place : place;
    lock->since_ns = now_ns();
    lock->count++;
    lock->contended += contended;
    lock->waited_ns += contended ? lock->since_ns - asked_ns : 0;
}

static void end(pthread_mutex_t *mutex) {
    struct lock *lock = slot_of(mutex);
    if (lock && lock->since_ns > 0)
        lock->held_ns += now_ns() - lock->since_ns;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    find_all();
    uint64_t asked_ns = now_ns();
    bool contended = pthread_mutex_trylock(mutex) != 0;
    int result = contended ? real.lock(mutex) : 0;
    begin(mutex, __builtin_return_address(0), contended, asked_ns);
    return result;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    find_all();
    end(mutex);
    return real.unlock(mutex);
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    end(mutex);
    int result = real.wait(condition, mutex);
    begin(mutex, __builtin_return_address(0), false, 0);
    return result;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *until) {
    end(mutex);
    int result = real.timed_wait(condition, mutex, until);
    begin(mutex, __builtin_return_address(0), false, 0);
    return result;
}

__attribute__((destructor)) static void write_table(void) {
    static struct {
        struct lock sum;
        uint64_t mutexes, most_ns;
    } places[PLACES];
    size_t count = 0;
    const char *path = getenv("LOCKS_OUTPUT");
    FILE *file = path ? fopen(path, "w") : NULL;
    for (size_t i = 0; file && i < SLOTS; i++) {
        const struct lock *lock = &locks[i];
        size_t k = 0;
        while (k < count && places[k].sum.place != lock->place)
            k++;
        if (!lock->place || k == PLACES)
            continue;
        count += k == count;
        places[k].sum.place = lock->place;
        places[k].sum.count += lock->count;
        places[k].sum.contended += lock->contended;
        places[k].sum.held_ns += lock->held_ns;
        places[k].sum.waited_ns += lock->waited_ns;
        places[k].mutexes++;
        places[k].most_ns = lock->held_ns > places[k].most_ns ? lock->held_ns : places[k].most_ns;
    }
    for (size_t k = 0; k < count; k++) {
        Dl_info info = {0};
        dladdr(places[k].sum.place, &info);
        fprintf(file,
                "%s %" PRIxPTR " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                " %" PRIu64 "\n",
                info.dli_fname ? info.dli_fname : "?",
                (uintptr_t)places[k].sum.place - (uintptr_t)info.dli_fbase, places[k].mutexes,
                places[k].sum.count, places[k].sum.contended, places[k].sum.held_ns,
                places[k].sum.waited_ns, places[k].most_ns);
    }
    if (file)
        fclose(file);
}
