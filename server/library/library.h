/* The engine, as its callers do not see it, and the way of a call through it. */
#ifndef ALIGND_LIBRARY_H
#define ALIGND_LIBRARY_H

#include "server/decode/chores.h"
#include "server/engine/engine.h"
#include "server/library/alignd.h"
#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

struct pending;

struct alignd_engine {
    struct options options;
    struct engine engine;
    char *path;    /* of the file that contains the library; NULL: unknown */
    pid_t process; /* that opened it */

    struct chores *chores; /* for calls that nobody waits for; NULL: there are no threads */
    pthread_mutex_t lock;  /* guards all below */
    pthread_cond_t idle;   /* open became 0 */
    struct pending *pending;
    size_t open;   /* pending calls, and those whose listener is in its `end` */
    uint64_t last; /* number of a call */
};

/* A call of the library: an endpoint's request on its way to a reply. */
struct library_call {
    struct call call;
    struct request request;
    struct reply reply;
};

/* Reads what is called; the reply is set if it cannot be. bytes: [length], must live as long as the
 * call. */
void call_begin(struct library_call *call, alignd_engine *engine, const char *what,
                const char *bytes, size_t length);
/* Frees the call and returns its reply; NULL: out of memory. */
alignd_reply *call_end(struct library_call *call);

/* Cancels all pending calls and waits until they have ended. */
void pending_end(alignd_engine *engine);

/* Writes the names of the endpoints. */
enum { LIBRARY_ROUTES = 8 };
void call_labels(const char *labels[LIBRARY_ROUTES]);

/* Threads that start between these two calls get no signals. */
static inline void library_block_signals(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

static inline void library_restore_signals(const sigset_t *before) {
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

#endif
