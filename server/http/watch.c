/* This module hides how a client that hangs up is noticed. */
#include "server/http/watch.h"
#include "server/base/clock.h"
#include "server/decode/events.h"
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { POLLED_EVENTS = 32 };
static const uint64_t STOP_SERIAL = 0;

struct watch {
    int epoll, stop; /* stop: an eventfd that ends the thread */
    pthread_t thread;
    int64_t pulse_us;

    pthread_mutex_t lock; /* protects the list and last_serial; while it is held, a listed request
                             stays alive */
    struct watched *first;
    uint64_t last_serial;
};

static void *watch_run(void *argument) {
    struct watch *watch = argument;
    struct epoll_event events[POLLED_EVENTS];
    for (int64_t pulse_us = clock_us() + watch->pulse_us;;) {
        int64_t left_us = pulse_us - clock_us();
        if (left_us <= 0) {
            pthread_mutex_lock(&watch->lock);
            for (struct watched *watched = watch->first; watched; watched = watched->next) {
                if (watched->request->events)
                    events_pulse(watched->request->events);
            }
            pthread_mutex_unlock(&watch->lock);
            pulse_us += watch->pulse_us - left_us;
            continue;
        }
        int count = epoll_wait(watch->epoll, events, POLLED_EVENTS, (int)(left_us / 1000 + 1));
        assert(count >= 0 || errno == EINTR);
        for (int i = 0; i < count; i++) {
            uint64_t serial = events[i].data.u64;
            if (serial == STOP_SERIAL)
                return NULL;
            pthread_mutex_lock(&watch->lock);
            struct watched *watched = watch->first;
            while (watched && watched->serial != serial)
                watched = watched->next;
            if (watched)
                request_cancel(watched->request, CANCEL_CLIENT);
            if (watched && watched->gone)
                watched->gone(watched->request);
            pthread_mutex_unlock(&watch->lock);
        }
    }
}

static void watch_release(struct watch *watch) {
    if (watch->epoll >= 0)
        close(watch->epoll);
    if (watch->stop >= 0)
        close(watch->stop);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

struct watch *watch_start(size_t pulse_ms, struct error *err) {
    struct watch *watch = calloc(1, sizeof *watch);
    if (!watch) {
        error_memory(err);
        return NULL;
    }
    watch->last_serial = STOP_SERIAL;
    watch->pulse_us = (int64_t)pulse_ms * 1000;
    pthread_mutex_init(&watch->lock, NULL);
    watch->epoll = epoll_create1(EPOLL_CLOEXEC);
    watch->stop = eventfd(0, EFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = STOP_SERIAL};
    int result = 0;
    if (watch->epoll < 0 || watch->stop < 0 ||
        epoll_ctl(watch->epoll, EPOLL_CTL_ADD, watch->stop, &event) != 0)
        result = error_set(err, ERROR_FILE, "cannot poll sockets: %s", strerror(errno));
    else if (pthread_create(&watch->thread, NULL, watch_run, watch) != 0)
        result = error_set(err, ERROR_MEMORY, "cannot start the thread that watches sockets");
    if (result != 0) {
        watch_release(watch);
        return NULL;
    }
    return watch;
}

void watch_free(struct watch *watch) {
    if (!watch)
        return;
    assert(!watch->first);
    uint64_t one = 1;
    ssize_t written = write(watch->stop, &one, sizeof one);
    assert(written == sizeof one);
    (void)written;
    pthread_join(watch->thread, NULL);
    watch_release(watch);
}

void watch_add(struct watch *watch, struct watched *watched, struct request *request, int fd,
               void (*gone)(struct request *request)) {
    pthread_mutex_lock(&watch->lock);
    *watched = (struct watched){.request = request,
                                .gone = gone,
                                .fd = fd,
                                .serial = ++watch->last_serial,
                                .next = watch->first};
    if (watch->first)
        watch->first->previous = watched;
    watch->first = watched;
    pthread_mutex_unlock(&watch->lock);

    /* One event is enough: a peer that has hung up does not come back. */
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLONESHOT,
                                .data.u64 = watched->serial};
    if (epoll_ctl(watch->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        watched->fd = -1;
}

void watch_remove(struct watch *watch, struct watched *watched) {
    pthread_mutex_lock(&watch->lock);
    if (watched->serial != STOP_SERIAL) {
        /* Under the lock: whoever is second here may close the descriptor when it returns, and its
         * number may be another connection's by then. */
        if (watched->fd >= 0)
            epoll_ctl(watch->epoll, EPOLL_CTL_DEL, watched->fd, NULL);
        *(watched->previous ? &watched->previous->next : &watch->first) = watched->next;
        if (watched->next)
            watched->next->previous = watched->previous;
        watched->serial = STOP_SERIAL;
    }
    pthread_mutex_unlock(&watch->lock);
}
