/* An engine answers calls, whichever door they come through: it has the models, the queue, the
 * threads that decode, and what is kept between calls (glossaries, files, answers). The daemon, the
 * agents' door on stdin, and the library each make one. An engine knows nothing of HTTP, and
 * several of them may exist in a process. */
#ifndef ALIGND_ENGINE_H
#define ALIGND_ENGINE_H

#include "server/api/api.h"
#include "server/decode/worker.h"
#include "server/options/options.h"

struct engine {
    struct service service;
    struct workers *workers; /* NULL: it does not decode yet */
    bool threadless;
};

/* The strings must outlive the engine. */
struct engine_plan {
    const struct options *options;
    const struct name_list *folders; /* of models, in the order in which they are chosen */
    const char *directory;           /* a folder of more model folders; NULL: none */
    bool threadless;                 /* starts no thread: engine_answer decodes */
    bool resident;  /* the models of `folders` are loaded at the start and stay, as they do in a
                       threadless engine */
    bool downloads; /* it is the folder of downloaded models, and may be missing */
    const char *const *labels; /* [label_count] of the endpoints, for the metrics */
    size_t label_count;
};

/* Reads keys, glossaries and the models' descriptions; nothing decodes yet. Returns -1 with
 * ERROR_INPUT, ERROR_FILE, ERROR_FORMAT or ERROR_MEMORY; engine_free must be called in any case. */
int engine_make(struct engine *engine, const struct engine_plan *plan, struct error *err);
/* Loads the models that are loaded at the start, starts the workers and is ready. Returns -1 with
 * the error of either. */
int engine_start(struct engine *engine, struct error *err);
/* Refuses further requests, and ends the workers once the accepted ones are decoded, or after so
 * many milliseconds cancels them. Returns whether all of them were decoded. An engine that has not
 * been started is stopped already. */
bool engine_stop(struct engine *engine, size_t most_ms);
/* The engine must have been stopped. */
void engine_free(struct engine *engine);

/* Answers a call on the caller's thread, which waits while others decode. The call's route says
 * how; whoever calls this has initialized the request and set whose it is, and frees it afterwards.
 * Thread-safe. */
void engine_answer(struct engine *engine, const struct call *call, struct request *request,
                   struct reply *reply);

/* The parts of it, for callers that do not wait: prepare the request, submit it (decode_submit),
 * and once it has finished, prepare it again if it waited for a model, or conclude. */

/* Prepares the request's jobs, or sets the reply. Returns true if it must wait for a model first.
 */
bool engine_prepare(struct engine *engine, const struct call *call, struct request *request,
                    struct reply *reply);
/* Sets the reply, unless it is set. */
void engine_conclude(struct engine *engine, const struct call *call, struct request *request,
                     struct reply *reply);

#endif
