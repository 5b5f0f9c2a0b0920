/* A streamed request: two sentences or more are decoded step by step while its events are written.
 * Bytes: search, length, what to include, when the reader reads; then the text. */
#include "model/base/utf8.h"
#include "server/api/api.h"
#include "server/api/event_stream.h"
#include "server/api/reply.h"
#include "server/decode/events.h"
#include "server/decode/job.h"
#include "server/endpoints/routes.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/requests.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 5, MAX_TEXT = 160, ROWS = 64 };

static size_t woken;

static void park(void *owner) {
    (void)owner;
}

static void wake(void *owner) {
    (void)owner;
    woken++;
}

/* Each piece is one event, whole, or a comment: no line feed within its data, which is JSON. */
static void check_event(const struct event_stream *stream) {
    const char *text = stream->text, *data = strstr(text, "\ndata: ");
    FUZZ_CHECK(stream->length > 2 && strlen(text) == stream->length);
    FUZZ_CHECK(strstr(text, "\n\n") == text + stream->length - 2);
    if (text[0] == ':')
        return;
    FUZZ_CHECK(strncmp(text, "event: ", 7) == 0 && data);
    FUZZ_CHECK(strchr(text, '\n') == data && strchr(data + 1, '\n') == text + stream->length - 2);
    json_t *root = json_loads(data + 7, JSON_REJECT_DUPLICATES, NULL);
    FUZZ_CHECK(root);
    json_decref(root);
}

static void read_all(struct event_stream *stream) {
    int next;
    while (!stream->over && (next = event_stream_next(stream)) != 0) {
        FUZZ_CHECK(next > 0);
        check_event(stream);
    }
}

/* After each step: what a worker tells. */
static void tell(struct request *request, struct sentence *const *done, size_t count) {
    for (size_t i = 0; i < request->job_count; i++) {
        struct job *job = &request->jobs[i];
        bool over = false;
        for (size_t j = 0; j < count; j++)
            over |= done[j] == job->sentence;
        if (over)
            job_end(job);
        else if (job->done_us == 0)
            request->progress(job);
    }
}

static void decode(struct request *request, struct batch *batch, struct event_stream *stream,
                   unsigned when) {
    struct sentence *sentences[ROWS], *done[ROWS];
    for (size_t i = 0; i < request->job_count; i++)
        sentences[i] = request->jobs[i].sentence;
    atomic_store(&request->pending, request->job_count);
    batch_admit(batch, sentences, request->job_count);
    for (unsigned step = 0; batch_sentences(batch) > 0; step++) {
        tell(request, done, batch_step(batch, done));
        if (when >> step % 8 & 1)
            read_all(stream);
        if ((when & 0xf) == 9 && step == 4)
            request_cancel(request, CANCEL_DEADLINE);
    }
}

static size_t rows(const struct request *request) {
    size_t sum = 0;
    for (size_t i = 0; i < request->job_count; i++)
        sum += request->jobs[i].rows;
    return sum;
}

static void stream(struct request *request, struct batch *batch, unsigned when) {
    const struct service *service = fuzz_service();
    size_t row;
    struct reply reply = {.dialect = route_dialect(routes_find("/translate", "POST", &row))};
    struct event_stream stream;
    size_t endpoint;
    FUZZ_CHECK(events_follow(request, &(struct events_follower){park, wake, NULL}) == 0);
    FUZZ_CHECK(event_stream_init(&stream, request, &reply, SIZE_MAX) == 0);
    decode(request, batch, &stream, when);
    if (request_reason(request) == CANCEL_NONE)
        routes_find("/translate", "POST", &endpoint)->finish(service, request, &reply);
    else
        reply_fail_cancelled(service, request_reason(request), &reply);
    events_end(request->events);
    read_all(&stream);
    FUZZ_CHECK(stream.over);
    event_stream_done(&stream);
    free(reply.body);
}

static void fill(struct request *request, const uint8_t *data, size_t size) {
    request->id = "fuzz";
    request->parameters.split = true;
    request->parameters.replace_unknowns = data[0] & 8;
    request->wanted.include = data[2] | (unsigned)(data[3] & 7) << 8;
    request->wanted.digits = 1 + (data[3] >> 3) % 9;
    request->texts = arena_zalloc(&request->arena, 1, sizeof *request->texts);
    request->texts[0].source = arena_copy(&request->arena, (const char *)data + HEAD, size - HEAD);
    request->texts[0].source_length = size - HEAD;
    request->text_count = 1;
    request->parameters.search = (struct search_options){
        .strategy = search_nth(data[0] % 3),
        .beam_size = 1 + data[0] / 64,
        .n_best = 1,
        .length_penalty = 1,
        .max_length = 1 + data[1] % 32,
        .repetition_penalty = 1,
        .sampling = {.temperature = 1, .top_p = 1, .seed = data[1]},
        .no_repeat_ngram = data[1] / 64,
        .report = {.alternatives = request->wanted.include & INCLUDE_TOP_K,
                   .tree = request->wanted.include & INCLUDE_BEAM},
        .max_rows = ROWS,
    };
}

/* Valid UTF-8 without a NUL: all that the endpoints let through. */
static bool is_text(const char *text, size_t length) {
    return !memchr(text, '\0', length) && utf8_valid(text, length);
}

static void ignore(struct request *request) {
    (void)request;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct batch *batch;
    const struct service *service = fuzz_service();
    if (size < HEAD || size > HEAD + MAX_TEXT || !is_text((const char *)data + HEAD, size - HEAD))
        return 0;
    struct request request;
    enum request_input input;
    request_init(&request);
    request.models = catalog_acquire(service->catalog);
    request.model = request.models->all[0];
    FUZZ_CHECK(catalog_take(service->catalog, request.model, &request.loaded, NULL) ==
               CATALOG_READY);
    if (!batch)
        batch = batch_create(request.loaded->translator, ROWS, NULL);
    fill(&request, data, size);
    request.keeps = request.wanted.streamed = true;
    request.finish = ignore;
    FUZZ_CHECK(job_list(&request, &input, NULL) == 0);
    if (request.job_count > 0 && rows(&request) <= ROWS)
        stream(&request, batch, data[4]);
    request_done(&request);
    return 0;
}
