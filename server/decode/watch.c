#include "server/decode/watch.h"
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

enum { EVENTS = 32 };
static const uint64_t STOP_SERIAL = 0;

struct watch {
    int epoll, stop; /* stop: an eventfd that ends the thread */
    pthread_t thread;
    int64_t pulse_us;

    pthread_mutex_t lock; /* guards the list, last_serial, and that a listed request is alive */
    struct watched *first;
    uint64_t last_serial;
};

static struct watched *watch_find(const struct watch *watch, uint64_t serial) {
    struct watched *watched = watch->first;
    while (watched && watched->serial != serial)
        watched = watched->next;
    return watched;
}

static void hang_up(struct watch *watch, uint64_t serial) {
    pthread_mutex_lock(&watch->lock);
    struct watched *watched = watch_find(watch, serial);
    if (watched)
        request_cancel(watched->request, CANCEL_CLIENT);
    pthread_mutex_unlock(&watch->lock);
}

static void give_pulse(struct watch *watch) {
    pthread_mutex_lock(&watch->lock);
    for (struct watched *watched = watch->first; watched; watched = watched->next) {
        if (watched->request->events)
            events_pulse(watched->request->events);
    }
    pthread_mutex_unlock(&watch->lock);
}

static void *watch_run(void *argument) {
    struct watch *watch = argument;
    struct epoll_event events[EVENTS];
    for (int64_t pulse_us = clock_us() + watch->pulse_us;;) {
        int64_t left_us = pulse_us - clock_us();
        if (left_us <= 0) {
            give_pulse(watch);
            pulse_us += watch->pulse_us - left_us;
            continue;
        }
        int count = epoll_wait(watch->epoll, events, EVENTS, (int)(left_us / 1000 + 1));
        assert(count >= 0 || errno == EINTR);
        for (int i = 0; i < count; i++) {
            if (events[i].data.u64 == STOP_SERIAL)
                return NULL;
            hang_up(watch, events[i].data.u64);
        }
    }
}

static int open_files(struct watch *watch, struct error *err) {
    watch->epoll = epoll_create1(EPOLL_CLOEXEC);
    watch->stop = eventfd(0, EFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = STOP_SERIAL};
    if (watch->epoll < 0 || watch->stop < 0 || epoll_ctl(watch->epoll, EPOLL_CTL_ADD, watch->stop, &event) != 0)
        return error_set(err, ERROR_FILE, "cannot poll sockets: %s", strerror(errno));
    return 0;
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
    watch->epoll = watch->stop = -1;
    watch->last_serial = STOP_SERIAL;
    watch->pulse_us = (int64_t)pulse_ms * 1000;
    pthread_mutex_init(&watch->lock, NULL);
    int result = open_files(watch, err);
    if (result == 0 && pthread_create(&watch->thread, NULL, watch_run, watch) != 0)
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

void watch_add(struct watch *watch, struct watched *watched, struct request *request, int fd) {
    pthread_mutex_lock(&watch->lock);
    *watched = (struct watched){.request = request, .fd = fd, .serial = ++watch->last_serial, .next = watch->first};
    if (watch->first)
        watch->first->previous = watched;
    watch->first = watched;
    /* once is enough: a peer that has hung up stays so */
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLONESHOT, .data.u64 = watched->serial};
    if (epoll_ctl(watch->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        watched->fd = -1;
    pthread_mutex_unlock(&watch->lock);
}

static void forget(struct watch *watch, struct watched *watched) {
    if (watched->fd >= 0)
        epoll_ctl(watch->epoll, EPOLL_CTL_DEL, watched->fd, NULL);
    if (watched->previous)
        watched->previous->next = watched->next;
    else
        watch->first = watched->next;
    if (watched->next)
        watched->next->previous = watched->previous;
    watched->serial = STOP_SERIAL;
}

void watch_remove(struct watch *watch, struct watched *watched) {
    pthread_mutex_lock(&watch->lock);
    if (watched->serial != STOP_SERIAL)
        forget(watch, watched);
    pthread_mutex_unlock(&watch->lock);
}
