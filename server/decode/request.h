/* A request has its texts, the sentences they are cut into, and the state that threads share. It is
 * independent of HTTP and JSON: the daemon embeds one in each exchange, and the batch mode makes
 * one for each line.
 *
 * Threads: the owner fills a request and hands its jobs to the scheduler. From then on the workers
 * own it, except that any thread may call request_cancel while the request is known to be alive.
 * The worker that ends the last job calls finish, which returns the request to its owner, and does
 * not use it afterwards. */
#ifndef ALIGND_REQUEST_H
#define ALIGND_REQUEST_H

#include "model/translator.h"
#include "server/base/metrics.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most tokens, on either side, of a sentence whose heads are shown: the number of weights grows
 * with their square. */
enum { REQUEST_HEADS_TOKENS = 128 };
enum { REQUEST_MAX_BEAM = SEARCH_MAX_ROWS };

/* CANCEL_LENGTH: the answer would be too long. */
enum cancel_reason { CANCEL_NONE, CANCEL_CLIENT, CANCEL_DEADLINE, CANCEL_SHUTDOWN, CANCEL_LENGTH };

/* Parts that an answer may contain beside the text, one bit each: INCLUDE_TOKENS. */
enum include {
#define PART(name, NAME, bit, text) INCLUDE_##NAME = 1 << bit,
#include "server/decode/reply.def"
};
/* All of them. */
enum {
    INCLUDE_EVERY = 0
#define PART(name, NAME, bit, text) | INCLUDE_##NAME
#include "server/decode/reply.def"
};

struct events;
struct writer;
struct kept_glossary;
struct links_kind;
struct model_set;
struct served_model;
struct loaded_model;
struct model_wait;
struct reload;
struct fetch_wait;
struct key_holder;

/* Attention weights [count] that the client gives for a decoder step. */
struct forced_step {
    size_t step;
    double *weights;
    size_t count;
};

struct outcome;

/* One sentence to decode: waiting in the scheduler, then live in a worker's batch (job.h). */
struct job {
    struct request *request;
    const struct text *text;
    struct span source; /* the sentence's bytes within the text */
    struct opaque_runs
        runs; /* its opaque runs, at their places in the text; in the request's arena */
    const struct loaded_model *model; /* decodes it now */
    struct sentence *sentence; /* is decoded, or was and is kept (request.keeps); NULL until a
                                  worker takes the job, if only a part of the jobs waits at once */
    struct sentence *retry;    /* decoded in its place if the sentence differs from its source
                                  (model/rendering.h); NULL: not yet, or no more */
    struct sentence *first;  /* the first model's while the second decodes, and while both are kept;
                                NULL: none (yet) */
    struct outcome *outcome; /* the result (outcome.h); NULL: it has not ended, or failed */
    struct job *original;    /* an earlier job with the same sentence: this one is not decoded, but
                                ends with it and gets its outcome; NULL: it is decoded itself */
    struct job *next_twin;   /* the next job with the same sentence; NULL: there are no more */
    /* An earlier job, of which the first of two models has decoded the same sentence: this one is
     * decoded by its own second model after that. NULL: it is decoded from the beginning. */
    struct job *fork_of;
    struct job *next_fork; /* the next such job; NULL: there are no more */
    size_t bytes;          /* the most bytes that decoding takes */
    int64_t queued_us, admitted_us, done_us;
    struct job *next;    /* in the scheduler's queue, or in a list just taken from it */
    uint32_t rows;       /* must be free before it is admitted */
    uint32_t tokens;     /* to be encoded */
    uint32_t steps;      /* expected steps: one per token, or as many as the request asks for */
    uint32_t written;    /* tokens of the translation, once it has ended */
    uint32_t live_index; /* place in its worker's list of live jobs */
    bool express;        /* admitted by the express lane (admission.h) */
};

struct text {
    const char *source; /* valid UTF-8 */
    size_t source_length;
    const char *target; /* to be scored, or NULL: translate */
    size_t target_length;
    struct served_model *model; /* the model that reads it, and its variant; NULL: the request's */
    const struct loaded_model
        *loaded; /* the same in memory, which the request holds; NULL: the request's */
    const char *variant;
    const char *language; /* language of the source, for a model of many languages, as the model's
                             string; NULL: the request's */
    struct served_model
        *second; /* the model that translates what the other writes, and its variant; NULL: none */
    const struct loaded_model *second_loaded;
    const char *second_variant;
    size_t rank, ranks; /* the second model reads the first one's hypothesis of this rank, which is
                           the best of `ranks`; 0: the only one */
    const char *detected; /* code of the detected language, of the model or in the arena; NULL: the
                             client gave the language */
    double confidence;    /* confidence of the detection, 0 to 1 */
    struct job *jobs;     /* [count] */
    struct sentence *sentences; /* [count] the decoded sentences, if the request keeps them; NULL:
                                   it does not. Their members are those of the jobs' sentences */
    size_t count;
    bool placed; /* outcomes have the words of the translation and their links */
};

/* A model that a request works with; in its arena. */
struct held_model {
    struct served_model *model;
    struct loaded_model *loaded; /* a reference; NULL: not in memory yet */
    struct held_model *next;
};

/* How texts are translated. */
struct request_parameters {
    struct search_options search;
    const char *language; /* language of the source, for a model of many languages; NULL: the model
                             has one pair */
    const char *variant;  /* the variant of the model's target language, in the request's arena or
                             owned by the model; NULL: none */
    struct formality_wish formality; /* its languages are not set: request_wish */
    bool reversed; /* the model translates the opposite pair: the texts' sources are the client's
                      translations, and their targets its texts (server/api/align.h) */
    bool split;    /* cut texts into sentences */
    bool replace_unknowns;
    bool verbatim; /* show the model's own output: keep only what the client protects, check and
                      estimate nothing */
    const char *prefix; /* the beginning of each translation; NULL or "": any */
    size_t prefix_length;
    const char *suffix; /* the end of each translation; NULL or "": any */
    struct glossary glossary;
    struct kept_glossary *kept; /* the owner of the entries: a reference; NULL: the request's own */
    const struct protection *protection; /* text that is kept, besides placeholders; in the
                                            request's arena; NULL: nothing */
    struct forced_step *forced;          /* [forced_count] */
    size_t forced_count;
    uint32_t number; /* distinguishes requests that share a seed, so that each samples independently
                      */
};

/* What the answer has. */
struct request_wanted {
    unsigned include;               /* enum include */
    int digits;                     /* significant digits of written weights */
    const struct links_kind *links; /* how the words of an answer are linked
                                       (server/decode/outcome.h); NULL: best */
    bool aligns;                    /* it depends on the alignment */
    bool streamed;                  /* it is wanted piece by piece */
    bool warns;                     /* it includes the warnings that cost time */
};

/* Whom the request is charged to, and how much. */
struct request_account {
    uint64_t client; /* the client whose turns the jobs take (server/http/client.h); any number if
                      * there is only one client */
    enum priority priority;
    size_t characters; /* characters of all texts */
};

/* How many of the jobs the scheduler has. */
struct request_queued {
    size_t window; /* the most jobs that wait at once, whose sentences exist only from then on, as
                      for a document; 0: all, and each exists from the beginning */
    size_t long_jobs, long_window; /* a request with more than long_jobs jobs gets the window
                                      long_window while they are listed; 0: it has none */
    size_t twins;                  /* how many of the jobs share another's decoding */
    size_t handed, waiting;        /* under the scheduler's lock: it was given the jobs before
                                      jobs[handed]; how many of them wait */
};

/* Where outcomes are kept; workers share it. */
struct request_outcomes {
    struct arena arena;
    pthread_mutex_t lock;
};

/* Why a sentence has failed, if one has: the others need not be decoded. */
struct request_failure {
    atomic_bool any;
    struct error *first; /* in the request's arena; valid once all jobs have ended */
};

/* NULL, or a function that returns how many bytes a job that has ended adds to the answer at least.
 * Past most_bytes of them the request is cancelled. */
struct request_limit {
    size_t (*least_bytes)(const struct job *job);
    size_t most_bytes;
    atomic_size_t bytes; /* bytes that the jobs that have ended add to the answer at least */
};

struct request_cancellation {
    atomic_int reason; /* enum cancel_reason; the first one stays */
    atomic_bool flag;  /* true once reason is set; the request's sentences check it */
};

/* What a request without jobs waits for; NULLs. */
struct request_waits {
    struct model_wait *model; /* its model is loaded */
    struct fetch_wait *fetch; /* a model is downloaded */
    struct reload *reload;    /* the models are reloaded */
    bool fetches;             /* models may be downloaded for it */
    bool accepted;            /* it is answered even if the daemon is draining */
};

struct request {
    struct arena arena;   /* texts, sentences, jobs: everything with the request's lifetime */
    struct budget budget; /* limits of the arena, while the request is read and while its answer is
                             written */
    const char *id;       /* for log lines and messages; the owner keeps it */
    const struct key_holder *key; /* the holder of its API key (server/api/keys.h); in the arena;
                                     NULL: no key was required */
    struct request_account account;
    int64_t deadline_us; /* clock_us; INT64_MAX: none */
    int64_t latest_us;   /* the deadline of a long text is not moved past this, as by its client */

    struct model_set *models;    /* a reference; NULL: none */
    struct served_model *model;  /* one of them */
    struct loaded_model *loaded; /* the same in memory: a reference; NULL: not yet */
    struct held_model *held;     /* all models of its texts */
    struct request_waits waits;

    struct request_parameters parameters;
    struct request_wanted wanted;
    struct text *texts; /* [text_count] */
    size_t text_count;
    const char *target_name; /* name of the field with the texts' targets; static */

    struct job *jobs; /* [job_count] */
    size_t job_count;
    struct request_queued queued;
    atomic_size_t pending; /* jobs not ended */
    bool keeps;            /* the answer needs the decoded sentences: their tokens, weights, or
                              several hypotheses; otherwise only outcomes stay */
    /* NULL, or a function that writes what the answer shows of a decoded sentence. A request with a
     * window keeps that instead of its sentences: job_list then clears keeps. Workers call it. */
    void (*show)(struct request *request, const struct sentence *sentence, struct writer *out);
    struct request_outcomes outcomes;
    struct request_limit limit;
    struct request_failure failure;
    struct request_cancellation cancellation;

    void (*finish)(struct request *request);
    void *owner;
    void *plan;    /* for the endpoint: how the texts make its answer; in the arena */
    void *message; /* the message of an agent that the answer is for (server/dialects/mcp.c); in the
                      arena; NULL: none */
    void *pairs;   /* the same for texts with translations that are aligned (server/api/align.c) */

    /* NULL, or a function that the job's worker calls after each round that leaves the job live,
     * and when the job has ended (done_us is set). */
    void (*progress)(struct job *job);
    struct events *events; /* events that progress notes for the reader of a stream; NULL: not
                              streamed */
    const char *question; /* key of its answer in the cache (server/api/kept.h), in the arena; NULL:
                             it is not cached */
};

void request_init(struct request *request);
/* Ends the sentences, frees everything and releases the models. No job may be waiting or live. It
 * may be called twice. */
void request_done(struct request *request);

/* The input that made job_list fail. */
enum request_input {
    REQUEST_TEXT,
    REQUEST_TARGET,
    REQUEST_SPLIT,
    REQUEST_PREFIX,
    REQUEST_SUFFIX,
    REQUEST_FORCE,
    REQUEST_HEADS,
    REQUEST_GLOSSARY,
    REQUEST_PROTECT,
    REQUEST_FORMALITY
};

/* Makes the sentences leave at the next step. Thread-safe; only the first reason counts. */
void request_cancel(struct request *request, enum cancel_reason reason);
enum cancel_reason request_reason(const struct request *request);
/* Returns whether the request is cancelled; if its deadline has passed, it is cancelled now.
 * Thread-safe. */
bool request_is_over(struct request *request);

/* Moves the deadline of a long text: the time `usual_us`, which is that of so many characters, is
 * given once more for as many characters as the text has beyond them, in proportion. */
void request_extend(struct request *request, int64_t usual_us, size_t usual_characters);

/* Returns the bytes of memory that it holds now. */
size_t request_bytes(const struct request *request);

/* Finds the opaque runs of a text that this translator reads. guard: opened with
 * parameters->protection. Returns -1 with ERROR_INPUT (the model cannot keep anything),
 * ERROR_LENGTH or ERROR_MEMORY. */
int request_hold(const struct request_parameters *parameters, const struct translator *translator,
                 struct guard *guard, struct translator_text *text, struct arena *arena,
                 struct error *err);

/* Returns roughly the work of decoding: source tokens x rows. */
size_t request_job_work(const struct job *job);
/* Returns the next job at or after jobs[*at] that is to be decoded and moves *at past it; NULL:
 * there are no more. */
struct job *request_next_job(const struct request *request, size_t *at);
/* Returns how many jobs wait in the scheduler at once, at most, and the work of the first so many,
 * by both models if there are two: a request is accepted as a whole. */
size_t request_window(const struct request *request);
size_t request_work(const struct request *request);
/* Returns the most bytes that decoding one of its sentences takes. */
size_t request_decoding_bytes(const struct request *request);
/* Returns about how many bytes the outcomes take until the request is answered, if translations are
 * as long as expected. 0 for a request that keeps sentences, whose number the queue bounds. */
size_t request_answer_bytes(const struct request *request);

/* Returns how the translation of a text is to address its reader; without its languages if the
 * request has no model. */
struct formality_wish request_wish(const struct request *request, const struct text *text);

/* Notes why a sentence has failed. Thread-safe; the first reason counts. */
void request_fail(struct request *request, const struct error *error);

/* Ends the job's sentences, if it has any. */
void request_drop_job(struct job *job);

#endif
