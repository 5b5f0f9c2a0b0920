#include "server/signals.h"
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_t thread;
static sigset_t awaited;
static atomic_int stop_signal;   /* the first SIGTERM or SIGINT */
static atomic_bool reload_asked; /* SIGHUP */
static sem_t asked;              /* one of them came */
static atomic_bool stopping;

static void take(int number) {
    int none = 0;
    if (number == SIGUSR1 || number == SIGUSR2)
        return;
    if (number == SIGHUP)
        atomic_store(&reload_asked, true);
    else if (!atomic_compare_exchange_strong(&stop_signal, &none, number))
        _exit(EXIT_FAILURE);
    sem_post(&asked);
}

static void *take_all(void *none) {
    (void)none;
    for (int number; !atomic_load(&stopping); take(number)) {
        int result = sigwait(&awaited, &number);
        assert(result == 0);
        (void)result;
    }
    return NULL;
}

int signals_start(struct error *err) {
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
    sem_init(&asked, 0, 0);
    sigemptyset(&awaited);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&awaited, numbers[i]);
    pthread_sigmask(SIG_BLOCK, &awaited, NULL);
    if (pthread_create(&thread, NULL, take_all, NULL) != 0)
        return error_set(err, ERROR_MEMORY, "cannot start the thread that waits for signals");
    return 0;
}

void signals_stop(void) {
    atomic_store(&stopping, true);
    pthread_kill(thread, SIGUSR1); /* for it to look */
    pthread_join(thread, NULL);
}

int signals_wait(void) {
    for (;;) {
        int number = atomic_load(&stop_signal);
        if (number != 0)
            return number;
        if (atomic_exchange(&reload_asked, false))
            return SIGHUP;
        sem_wait(&asked); /* should it be interrupted, both are looked at once more */
    }
}
