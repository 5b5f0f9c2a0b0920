/* libalignd: translation with attention and word alignment, without a server.
 *
 *     char error[ALIGND_ERROR_BYTES];
 *     const char *options[] = {"--model=en-fr", "--workers=2"};
 *     alignd_engine *engine = alignd_open(options, 2, error);
 *     static const char request[] = "{\"text\": \"The house is small.\"}";
 *     alignd_reply *reply = alignd_call(engine, "translate", request, sizeof request - 1);
 *     puts(alignd_reply_text(reply, NULL));
 *     alignd_reply_free(reply);
 *     alignd_close(engine);
 *
 * Requests and replies are those of the daemon's endpoints of the same names, byte for byte: see
 * server/api/REQUESTS.md. All functions are thread-safe, except that a reply belongs to one thread
 * at a time, and that alignd_close must be the last call for its engine, begun when all others have
 * returned. Several engines may exist in a process. An engine cannot be used by a child of the
 * process that opened it: calls then have status 500. The library handles no signals and writes
 * nothing to stdout or stderr.
 *
 * Functions may be added in later versions; those that there are keep their meaning as long as the
 * library is named libalignd.so.1. */
#ifndef ALIGND_H
#define ALIGND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

enum { ALIGND_ERROR_BYTES = 1024 };

typedef struct alignd_engine alignd_engine; /* models in memory and the threads that decode */
typedef struct alignd_reply alignd_reply;

/* Returns the version of the library, such as "1.0.0". */
const char *alignd_version(void);

/* Opens models and starts threads. options: [count] flags of `alignd --help` under "Modes that
 * decode" and "Serving", such as "--model=DIR"; --model (a folder, or the name or the languages of
 * a model that is installed) or --models must be among them. Neither the environment nor a file of
 * options counts, unless --config names one. Blocks signals in the threads that it starts.
 * "--threads=false" starts none: the models of --model are loaded here, alignd_call decodes, and
 * alignd_call_async does, too, and calls the listener before it returns. Returns NULL on failure;
 * error, which may be NULL, then has a sentence that says why. */
alignd_engine *alignd_open(const char *const *options, size_t count,
                           char error[ALIGND_ERROR_BYTES]);

/* Ends what is still being answered, with status 503, and frees the engine. Accepts NULL. */
void alignd_close(alignd_engine *engine);

/* Answers a request and returns when the reply is there; meanwhile other threads may call, too, and
 * their sentences are decoded together.
 *
 * what: the name of an endpoint, and, after "?", further fields as in a query string:
 *   "translate", "attention", "align", "detect": request is the JSON of POST /translate, ...
 *   "models", "languages", "formats": request may be empty; the reply is that of GET /models, ...
 *   "document": request is the file, and the fields of POST /documents follow what, with "filename"
 *               for the name of the file: "document?target=fr&filename=page.html"
 * request: [length] bytes, which are not used after the call.
 *
 * The caller frees the reply with alignd_reply_free. NULL: out of memory. */
alignd_reply *alignd_call(alignd_engine *engine, const char *what, const char *request,
                          size_t length);

/* Receives what alignd_call_async answers. The functions are called on threads of the engine, or
 * where it has none on the caller's, one at a time for each call. They should return soon and must
 * not close the engine. */
typedef struct alignd_listener {
    /* Gets [length] bytes: a server-sent event of a request with "stream": true. NULL: not called,
     * and the request is not streamed. */
    void (*event)(void *owner, const char *bytes, size_t length);
    /* Gets the reply, last of all and exactly once, and owns it. NULL: out of memory. Its text is
     * empty if the result has already come as an event. */
    void (*end)(void *owner, alignd_reply *reply);
    void *owner; /* their first argument */
} alignd_listener;

/* Begins to answer a request and returns. Returns a number that is greater than 0 and names the
 * call until listener->end is called; 0: out of memory, and end will not be called. */
uint64_t alignd_call_async(alignd_engine *engine, const char *what, const char *request,
                           size_t length, const alignd_listener *listener);
/* Ends a call early: its status is then 499, unless it has been decoded already. Does nothing if it
 * has ended. */
void alignd_cancel(alignd_engine *engine, uint64_t call);

/* The status as in HTTP: 200, or that of an error, whose text is {"error", "code", "field"}. */
unsigned alignd_reply_status(const alignd_reply *reply);
/* The media type, such as "application/json; charset=utf-8". */
const char *alignd_reply_type(const alignd_reply *reply);
/* The text, UTF-8 unless it is a document, followed by a NUL. length: its bytes; may be NULL. */
const char *alignd_reply_text(const alignd_reply *reply, size_t *length);
void alignd_reply_free(alignd_reply *reply); /* accepts NULL */

/* A matrix of a reply, row by row. */
typedef struct alignd_floats {
    const float *values; /* [rows * columns], as long as the reply exists */
    size_t rows, columns;
} alignd_floats;

/* Finds a matrix of a sentence in the reply of "translate" or "attention": "attention" (target
 * tokens x source tokens), "scores", or "alignment" (pairs of a source and a target token), with
 * the digits that the text has. The request must have asked for it. text, sentence: indexes from 0.
 * Returns 0, or -1 if the reply does not have it. */
int alignd_matrix(alignd_reply *reply, const char *what, size_t text, size_t sentence,
                  alignd_floats *matrix);

/* Gets the lines of the log of all engines of the process from now on, each [length] bytes with its
 * line feed; it may be called on any thread. NULL, as at first: nobody does. */
void alignd_set_log(void (*line)(void *owner, const char *text, size_t length), void *owner);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
