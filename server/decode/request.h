/* One unit of answering: texts, the sentences they were cut into, and the state that the threads share about them.
 * Knows neither HTTP nor JSON: the daemon embeds one in each exchange, the batch mode makes one for each line.
 *
 * Threads: the owner fills a request and hands its jobs to the scheduler. From then on it belongs to the workers, except for
 * request_cancel, which anyone who knows the request to be alive may call. The worker that ends the last job calls finish, which
 * gives the request back to its owner: the worker touches it no more. */
#ifndef ALIGND_REQUEST_H
#define ALIGND_REQUEST_H

#include "model/translator.h"
#include "server/base/metrics.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a sentence whose heads are shown, on either side: their weights are as many as the square of its tokens. */
enum { REQUEST_HEADS_TOKENS = 128 };
enum { REQUEST_MAX_BEAM = SEARCH_MAX_ROWS };

enum cancel_reason { CANCEL_NONE, CANCEL_CLIENT, CANCEL_DEADLINE, CANCEL_SHUTDOWN, CANCEL_REASONS };

/* What an answer may hold beside the text. */
enum include {
    INCLUDE_TOKENS = 1 << 0,
    INCLUDE_LOG_PROBS = 1 << 1,
    INCLUDE_ATTENTION = 1 << 2,
    INCLUDE_ALIGNMENT = 1 << 3,
    INCLUDE_WORDS = 1 << 4,
    INCLUDE_OFFSETS = 1 << 5,
    INCLUDE_ENTROPY = 1 << 6,
    INCLUDE_TIMING = 1 << 7,
    INCLUDE_EOS = 1 << 8,
    INCLUDE_TOP_K = 1 << 9,
    INCLUDE_BEAM = 1 << 10,
    INCLUDE_SOFT_ALIGNMENT = 1 << 11,
    INCLUDE_QUALITY = 1 << 12,
    INCLUDE_HEADS = 1 << 13,
};

struct events;
struct kept_glossary;
struct model_set;
struct served_model;
struct loaded_model;
struct model_wait;
struct reload;
struct key_holder;

/* Weights [count] that a decoder step takes as its attention, as asked for. */
struct forced_step {
    size_t step;
    double *weights;
    size_t count;
};

/* One sentence on its way: waiting in the scheduler, then live in a worker's batch. */
struct job {
    struct request *request;
    struct sentence *sentence;
    struct sentence
        *second; /* that is decoded instead, because the amounts of the first differ (model/amounts.h); NULL: none yet */
    const struct loaded_model *model;
    size_t rows;   /* that must be free before it is admitted */
    size_t tokens; /* to be encoded */
    size_t steps;  /* that decoding it takes, as far as is known: one a token, or what was asked for */
    size_t bytes;  /* that decoding it takes at most */
    int64_t queued_us, admitted_us, done_us;
    struct job *next;  /* in the scheduler's queue, or in a list just taken from it */
    size_t live_index; /* place in its worker's list of live jobs */
    bool express;      /* admitted by the express lane (admission.h) */
};

/* Of a text that is decoded twice (server/decode/pivot.h); in the request's arena. */
struct pivot {
    struct sentence *first, **second; /* [count]: what the first model read; what the second read of it */
    struct rendering *renderings;     /* [count] what the first wrote */
    const char *text;                 /* all of it, [length] */
    size_t length, count;
};

struct text {
    const char *source; /* valid UTF-8 */
    size_t source_length;
    const char *target; /* to be scored, or NULL: translate */
    size_t target_length;
    struct served_model *model;        /* that reads it, and its variant; NULL: the request's */
    const struct loaded_model *loaded; /* that in memory, which the request holds; NULL: the request's */
    const char *variant;
    struct served_model *second; /* that translates what the other writes, and its variant; NULL: none */
    const struct loaded_model *second_loaded;
    const char *second_variant;
    const char *detected; /* the code of the language that it was taken to be in; a model's; NULL: that was given */
    double confidence;    /* of that, 0 to 1 */
    struct text *twin;    /* an earlier one that the same model reads, also for a second: it shares the sentences; NULL: none */
    struct pivot *pivot;  /* NULL: not yet, or never */
    struct sentence *sentences; /* [count] */
    size_t count;
};

/* A model that a request works with; in its arena. */
struct held_model {
    struct served_model *model;
    struct loaded_model *loaded; /* a reference; NULL: it is not in memory yet */
    struct held_model *next;
};

struct request {
    struct arena arena;           /* texts, sentences, jobs: everything with the request's lifetime */
    struct budget budget;         /* of the arena, while the request is read and while its answer is written */
    const char *id;               /* for log lines and messages; the owner's */
    const struct key_holder *key; /* whose API key it came with (server/api/keys.h); in the arena; NULL: none was asked for */
    size_t characters;            /* of its texts */
    uint64_t client;              /* whose turn the jobs take (client.h); any number where there is but one */
    enum priority priority;

    struct model_set *models;    /* a reference; NULL: none */
    struct served_model *model;  /* one of them */
    struct loaded_model *loaded; /* it, in memory: a reference; NULL: not yet */
    struct held_model *held;     /* all that its texts are for */
    struct search_options search;
    unsigned include;    /* enum include */
    int digits;          /* significant, with which weights are written */
    const char *variant; /* of the model's target language (model/variants.h), in the arena or the model's; NULL: none */
    bool split;          /* cut texts into sentences */
    bool replace_unknowns;
    bool verbatim; /* nothing is held but what the client protects, nothing checked or estimated: what the model does */
    bool aligns;   /* the answer depends on the alignment */
    bool streamed; /* the answer is wanted piece by piece */
    bool warns;    /* the answer has warnings that cost time, too */
    bool accepted; /* to be answered even if the daemon is draining by now */
    struct text *texts;
    size_t text_count;
    const char *target_name; /* of the field that their targets came in; static */

    struct job *jobs;
    size_t job_count;
    const char *prefix; /* of the translation of each text; NULL or "": any */
    size_t prefix_length;
    struct glossary glossary;            /* what phrases are translated as */
    struct kept_glossary *kept;          /* whose entries these are: a reference; NULL: the request's own */
    const struct protection *protection; /* what comes through as it is, beside placeholders; in the arena; NULL: nothing */
    struct forced_step *forced;          /* [forced_count] */
    size_t forced_count;
    uint32_t number;     /* of requests with one seed; each samples on its own */
    int64_t deadline_us; /* clock_us; INT64_MAX: none */

    atomic_size_t pending; /* jobs not ended */
    atomic_int reason;     /* enum cancel_reason; the first one stays */
    atomic_bool cancelled; /* reason is set; the sentences of the request watch it */
    void (*finish)(struct request *request);
    void *owner;
    void *plan; /* the endpoint's own: how the texts make its answer; in the arena */

    /* NULL, or called on the job's worker: after each round that leaves it live, and when it has ended (done_us is set). */
    void (*progress)(struct job *job);
    struct events *events; /* what progress told, for whoever streams it; NULL: nobody does */

    const char *question;    /* what its answer is kept by (server/api/cache.h), in the arena; NULL: it is not */
    struct model_wait *wait; /* NULL, or: it has no jobs yet but waits for its model (server/decode/residence.h) */
    struct reload *reload;   /* NULL, or: it has no jobs but waits for the models to be reloaded (server/decode/catalog.h) */
};

void request_init(struct request *request);
/* Ends the sentences, frees everything and gives the models back. No job may be waiting or live. May be called again. */
void request_done(struct request *request);

/* Why request_prepare failed, beside the error: which input it was. */
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

/* Cuts texts into sentences by the options above, and makes one job of each. translator: of the texts that name no model. -1 with
 * ERROR_MEMORY, or with ERROR_INPUT or ERROR_LENGTH and *input set; also where the request is over before that is done. */
int request_prepare(struct request *request, const struct translator *translator, enum request_input *input, struct error *err);

/* Asks the sentences to leave at the next step. Thread-safe; only the first reason counts. */
void request_cancel(struct request *request, enum cancel_reason reason);
enum cancel_reason request_reason(const struct request *request);
/* True: it is cancelled, or its deadline has passed and it is now. Thread-safe. */
bool request_is_over(struct request *request);

/* Bytes of memory that it holds, as it is now. */
size_t request_bytes(const struct request *request);

/* What is held of text[length], that this translator reads for the request. guard: of its protection. -1 with ERROR_INPUT (the
 * model cannot hold anything), ERROR_LENGTH or ERROR_MEMORY. */
int request_hold(const struct request *request, const struct translator *translator, struct guard *guard,
                 struct translator_text *text, struct arena *arena, struct error *err);

/* What it takes to decode, roughly: source tokens x rows. */
size_t job_work(const struct job *job);
size_t request_work(const struct request *request);
/* The most that decoding one of its sentences takes. */
size_t request_decoding_bytes(const struct request *request);

/* The job of a sentence that is prepared; number: of the request's, which samples on its own. */
void job_init(struct job *job, struct request *request, struct sentence *sentence, const struct loaded_model *model, size_t number);

/* The sentence that is decoded for it now. */
struct sentence *job_sentence(const struct job *job);
/* A sentence of the job has been decoded. True: there is a second one to decode in its place, with the job's sizes set anew. */
bool job_goes_on(struct job *job);
/* The second one cannot be decoded: the first stays. */
void job_gives_up(struct job *job);

/* One job has ended. The last one calls finish: the caller must not touch job or request afterwards. */
void job_end(struct job *job);

/* The sentence's text, and the job that carries it. */
const char *sentence_text(const struct sentence *sentence);
size_t sentence_text_length(const struct sentence *sentence);
const struct job *sentence_job(const struct sentence *sentence);

#endif
