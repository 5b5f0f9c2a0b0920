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

struct events;
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

/* One sentence to decode: waiting in the scheduler, then live in a worker's batch. */
struct job {
    struct request *request;
    struct sentence *sentence; /* of a lean request: NULL except from job_open until outcome_take */
    struct sentence *second;   /* decoded in its place if the first differs from its source
                                  (model/rendering.h); NULL: not yet */
    const struct loaded_model *model;
    size_t bytes; /* the most bytes that decoding takes */
    int64_t queued_us, admitted_us, done_us;
    struct job *next;    /* in the scheduler's queue, or in a list just taken from it */
    uint32_t rows;       /* must be free before it is admitted */
    uint32_t tokens;     /* to be encoded */
    uint32_t steps;      /* expected steps: one per token, or as many as the request asks for */
    uint32_t written;    /* tokens of the translation, once it has ended */
    uint32_t live_index; /* place in its worker's list of live jobs */
    bool express;        /* admitted by the express lane (admission.h) */

    /* of a lean request */
    const struct text *text;
    struct span source;      /* the sentence's bytes within it */
    struct opaque_runs held; /* its runs, at their places in the text; in the request's arena */
    struct sentence
        *first; /* the first model's sentence while the second model decodes; NULL: none (yet) */
    struct outcome *outcome; /* the result that is kept of the sentence (server/decode/outcome.h);
                                NULL: it has not ended, or failed */
    bool twin; /* an earlier job has the same sentence: this one is not decoded, but ends with it
                  and gets its outcome */
    struct job *next_twin; /* the next job with the same sentence; NULL: there are no more */
};

/* The first of two decodings of a text (server/decode/outcome.h); in the request's arena. */
struct pivot {
    struct sentence *first, **second; /* [count] read by the first model, and by the second */
    struct rendering *renderings;     /* [count] written by the first */
    const char *text;                 /* [length] the joined text */
    size_t length, count;
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
    const char *language; /* of the source, for a model of many languages, as the model's string;
                             NULL: the request's */
    struct served_model
        *second; /* the model that translates what the other writes, and its variant; NULL: none */
    const struct loaded_model *second_loaded;
    const char *second_variant;
    const char *detected; /* code of the detected language, which the model owns; NULL: the client
                             gave the language */
    double confidence;    /* confidence of the detection, 0 to 1 */
    struct text *
        twin; /* an earlier text with the same first model, whose sentences it shares; NULL: none */
    struct pivot *pivot;        /* NULL: not decoded twice, or not yet */
    struct sentence *sentences; /* [count]; NULL: the request is lean */
    struct job *jobs;           /* [count] of a lean request; otherwise NULL */
    size_t count;
    bool placed; /* of a lean request: the words of the translation and their links are wanted */
};

/* A model that a request works with; in its arena. */
struct held_model {
    struct served_model *model;
    struct loaded_model *loaded; /* a reference; NULL: not in memory yet */
    struct held_model *next;
};

struct request {
    struct arena arena; /* texts, sentences, jobs: everything with the request's lifetime */
    struct budget
        budget; /* limits of the arena, while the request is read and while its answer is written */
    const char *id;               /* for log lines and messages; the owner keeps it */
    const struct key_holder *key; /* the holder of its API key (server/api/keys.h); in the arena;
                                     NULL: no key was required */
    size_t characters;            /* characters of its texts */
    uint64_t client; /* the client whose turns the jobs take (server/http/message.h); any number if
                      * there is only one client */
    enum priority priority;

    struct model_set *models;    /* a reference; NULL: none */
    struct served_model *model;  /* one of them */
    struct loaded_model *loaded; /* the same in memory: a reference; NULL: not yet */
    struct held_model *held;     /* all models of its texts */
    struct search_options search;
    unsigned include; /* enum include */
    int digits;       /* significant digits of written weights */
    const struct links_kind
        *links; /* how the words of an answer are linked (server/decode/outcome.h); NULL: best */
    const char
        *language; /* of the source, for a model of many languages; NULL: the model has one pair */
    const char *variant; /* the variant of the model's target language, in the arena or owned by the
                            model; NULL: none */
    bool split;          /* cut texts into sentences */
    bool replace_unknowns;
    bool verbatim; /* show the model's own output: keep only what the client protects, check and
                      estimate nothing */
    bool aligns;   /* the answer depends on the alignment */
    bool streamed; /* the answer is wanted piece by piece */
    bool warns;    /* the answer includes the warnings that cost time */
    bool fetches;  /* models may be downloaded for it */
    bool accepted; /* answer it even if the daemon is draining */
    bool lean;     /* a document: its sentences are in memory only while they are decoded, one
                      hypothesis of each, nothing is given */
    struct text *texts;
    size_t text_count;
    const char *target_name; /* of the field with their targets; static */

    struct job *jobs;
    size_t job_count, twins; /* twins: of the jobs (struct job) */
    size_t window;           /* the most jobs that wait in the scheduler at once; 0: all */
    size_t handed, waiting;  /* under the scheduler's lock: it was given the jobs before
                                jobs[handed]; how many of them wait */
    const char *prefix;      /* the beginning of each translation; NULL or "": any */
    size_t prefix_length;
    struct glossary glossary;
    struct kept_glossary *kept; /* the owner of the entries: a reference; NULL: the request's own */
    const struct protection
        *protection; /* text that is kept, besides placeholders; in the arena; NULL: nothing */
    struct forced_step *forced; /* [forced_count] */
    size_t forced_count;
    uint32_t
        number; /* distinguishes requests that share a seed, so that each samples independently */
    int64_t deadline_us; /* clock_us; INT64_MAX: none */

    struct arena outcomes; /* of a lean request; workers share it, so they lock: */
    pthread_mutex_t keeping;
    atomic_bool failed; /* a sentence of a lean request has failed: the others need not be decoded.
                           The reason: */
    struct error *failure; /* in the arena; the first one stays; valid once all jobs have ended */
    atomic_size_t pending; /* jobs not ended */
    /* NULL, or a function that tells how many bytes a job that has ended adds to the answer at
     * least. Past most_bytes of them the request is cancelled. */
    size_t (*least_bytes)(const struct job *job);
    size_t most_bytes;
    atomic_size_t bytes;   /* of the jobs that have ended */
    atomic_int reason;     /* enum cancel_reason; the first one stays */
    atomic_bool cancelled; /* true once reason is set; the request's sentences check it */
    void (*finish)(struct request *request);
    void *owner;
    void *plan; /* for the endpoint: how the texts make its answer; in the arena */

    /* NULL, or a function that the job's worker calls after each round that leaves the job live,
     * and when the job has ended (done_us is set). */
    void (*progress)(struct job *job);
    struct events
        *events; /* events that progress notes for the reader of a stream; NULL: not streamed */

    const char *question; /* key of its answer in the cache (server/api/kept.h), in the arena; NULL:
                             it is not cached */
    struct model_wait *wait; /* set while it has no jobs but waits for its model */
    struct fetch_wait
        *fetch;            /* set while it has no jobs but waits for a model that is downloaded */
    struct reload *reload; /* set while it has no jobs but waits for the models to be reloaded */
};

void request_init(struct request *request);
/* Ends the sentences, frees everything and releases the models. No job may be waiting or live. It
 * may be called twice. */
void request_done(struct request *request);

/* The input that made request_prepare fail. */
enum request_input {
    REQUEST_TEXT,
    REQUEST_TARGET,
    REQUEST_SPLIT,
    REQUEST_PREFIX,
    REQUEST_FORCE,
    REQUEST_HEADS,
    REQUEST_GLOSSARY,
    REQUEST_PROTECT
};

/* Cuts the texts into sentences by the options above, and makes a job of each. translator: for the
 * texts that do not name a model. Returns -1 with ERROR_MEMORY, or with ERROR_INPUT or ERROR_LENGTH
 * and *input set; also if the request is over before that is done. */
int request_prepare(struct request *request, const struct translator *translator,
                    enum request_input *input, struct error *err);

/* Makes a job of each prepared sentence of a request that is not lean: of those that the texts'
 * models read, as request_prepare does, or of those of the second decoding
 * (server/decode/outcome.h). Returns -1 with ERROR_MEMORY. */
int request_make_jobs(struct request *request, bool second, struct error *err);

/* Makes the sentences leave at the next step. Thread-safe; only the first reason counts. */
void request_cancel(struct request *request, enum cancel_reason reason);
enum cancel_reason request_reason(const struct request *request);
/* Returns whether the request is cancelled; if its deadline has passed, it is cancelled now.
 * Thread-safe. */
bool request_is_over(struct request *request);

/* Returns the bytes of memory that it holds now. */
size_t request_bytes(const struct request *request);

/* Finds the opaque runs of a text that this translator reads for the request. guard: opened with
 * the request's protection. Returns -1 with ERROR_INPUT (the model cannot keep anything),
 * ERROR_LENGTH or ERROR_MEMORY. */
int request_hold(const struct request *request, const struct translator *translator,
                 struct guard *guard, struct translator_text *text, struct arena *arena,
                 struct error *err);

/* Returns roughly the work of decoding: source tokens x rows. */
size_t job_work(const struct job *job);
/* Returns the next job at or after jobs[*at] that is to be decoded and moves *at past it; NULL:
 * there are no more. */
struct job *request_next_job(const struct request *request, size_t *at);
/* Returns how many jobs wait in the scheduler at once, at most, and the work of the first so many.
 */
size_t request_window(const struct request *request);
size_t request_work(const struct request *request);
/* Returns the most bytes that decoding one of its sentences takes. */
size_t request_decoding_bytes(const struct request *request);
/* Returns about how many bytes a lean request keeps of its sentences until it is answered, if their
 * translations are as long as expected. 0 for other requests, whose sentences the queue bounds. */
size_t request_answer_bytes(const struct request *request);

/* Makes the sentence of a lean request's job before it is decoded; jobs of other requests already
 * have one. Returns -1 if that fails, and the job must end. */
int job_open(struct job *job);
/* Makes this sentence the one that is decoded for the job. */
void job_set(struct job *job, struct sentence *sentence);
/* Notes why a sentence of a lean request has failed. Thread-safe; the first reason counts. */
void request_fail(struct request *request, const struct error *error);

/* Returns the sentence that is decoded for the job now. */
struct sentence *job_sentence(const struct job *job);
/* Notes that a sentence of the job has been decoded. Returns true if a second attempt is to be
 * decoded in its place; the job's sizes are then set again. */
bool job_goes_on(struct job *job);
/* Notes that the second attempt cannot be decoded, so that the first one counts. */
void job_gives_up(struct job *job);

/* Ends a job, but not its twins. The last one calls finish: the caller must not touch job or
 * request afterwards. */
void job_end(struct job *job);

const char *sentence_text(const struct sentence *sentence);
size_t sentence_text_length(const struct sentence *sentence);
const struct job *sentence_job(const struct sentence *sentence);

/* ---- parameters of a search ----
 *
 * A request or an operator may set them. One table defines them for JSON and form requests,
 * /openapi.json, the command line, the environment and --help. The other dialects use its defaults.
 *
 * To add one, add a member to struct search_options (model/search/search.h), a row to the table,
 * and the search that uses it. */

/* The type of its member in struct search_options. */
enum parameter_type {
    PARAMETER_STRATEGY, /* const struct search_kind * */
    PARAMETER_INTEGER,  /* size_t */
    PARAMETER_REAL,     /* double */
    PARAMETER_SEED,     /* uint64_t */
};
enum { PARAMETER_TYPES = PARAMETER_SEED + 1 };

/* The sources that may set it. */
enum {
    PARAMETER_REQUEST = 1 << 0,
    PARAMETER_LINES = 1 << 1,
    PARAMETER_DAEMON = 1 << 2
}; /* PARAMETER_LINES: alignd translate */

struct parameter {
    const char *name; /* of the field; the flag has - for _ */
    int setters;
    enum parameter_type type;
    size_t offset; /* in struct search_options */
    double minimum, maximum;
    const char *fallback; /* its default; if that is out of range, text explains it, and a flag may
                             set it unless the model does */
    const struct search_kind *only; /* the only strategy that uses it; NULL: all */
    const char *text;               /* its meaning, for /openapi.json */
    const char *metavar, *help;     /* of the flag; help NULL: text */
};

/* Returns the i-th parameter, or NULL after the last. */
const struct parameter *parameters_nth(size_t i);

/* Returns the defaults. Defaults that each model sets itself are out of range: beam_size 0,
 * length_penalty -1. */
struct search_options parameters_default(void);
bool parameters_of_model(const struct parameter *parameter);
/* Sets these from the model. rows: of a worker, which bounds a default beam. */
void parameters_settle(struct search_options *options, const struct translator_info *info,
                       size_t rows);

/* Returns whether the search uses a beam of beam_size, at least in the beginning. */
bool parameters_beam(const struct search_options *options);

/* The names of the strategies (search_nth), for messages and --help. */
#define PARAMETERS_STRATEGIES "greedy, beam, sample or exact"

#endif
