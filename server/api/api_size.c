/* How long an answer will be, before it is written, and may be. */
#include "server/api/api_plan.h"
#include <string.h>

enum { LARGE_BYTES = 64 * 1024 }; /* takes a millisecond or two to write */

/* Bytes of one object, token, number and pair of offsets, roughly; a weight has some beside its digits. */
enum {
    OBJECT_BYTES = 160,
    TOKEN_BYTES = 8,
    NUMBER_BYTES = 12,
    WEIGHT_BYTES = 6,
    OFFSET_BYTES = 64,
    STEP_BYTES = 200,
    BRANCH_BYTES = 100
};

/* About as long as the source, where there is no hypothesis yet. */
static size_t target_length(const struct sentence *sentence, size_t i) {
    return sentence->hypotheses && i < sentence->count ? sentence->hypotheses[i].length : sentence->length;
}

static size_t count_of(unsigned bits) {
    size_t count = 0;
    for (; bits != 0; bits &= bits - 1)
        count++;
    return count;
}

static size_t weight_bytes(const struct request *request) {
    return (size_t)request->digits + WEIGHT_BYTES;
}

static size_t hypothesis_bytes(const struct request *request, const struct sentence *sentence, size_t i) {
    size_t source = sentence->length, target = target_length(sentence, i), both = source + target;
    unsigned include = request->include;
    size_t matrices = count_of(include & (INCLUDE_ATTENTION | INCLUDE_SOFT_ALIGNMENT)) + (include & INCLUDE_WORDS ? 2 : 0),
           lists = count_of(include & (INCLUDE_LOG_PROBS | INCLUDE_ENTROPY | INCLUDE_ALIGNMENT | INCLUDE_QUALITY));
    return OBJECT_BYTES + sentence_text_length(sentence) + both * TOKEN_BYTES + matrices * source * target * weight_bytes(request) +
           lists * target * NUMBER_BYTES + (include & INCLUDE_OFFSETS ? both * OFFSET_BYTES : 0) +
           (include & INCLUDE_TOP_K ? target * STEP_BYTES : 0);
}

static size_t sentence_bytes(const struct request *request, const struct sentence *sentence) {
    size_t bytes = hypothesis_bytes(request, sentence, 0), count = sentence->hypotheses ? sentence->count : request->search.n_best;
    for (size_t i = 0; count > 1 && i < count; i++)
        bytes += hypothesis_bytes(request, sentence, i);
    if (request->include & INCLUDE_HEADS)
        bytes += sentence_looks(sentence, target_length(sentence, 0) + 1) * weight_bytes(request);
    size_t branches = sentence->hypotheses ? sentence->search.tree.count : sentence->length * request->search.beam_size;
    return bytes + (request->include & INCLUDE_BEAM ? branches * BRANCH_BYTES : 0);
}

static size_t markup_bytes(const struct plan *plan) {
    size_t bytes = 0;
    for (size_t i = 0; plan && i < plan->count; i++)
        bytes += plan->items[i].length;
    return bytes;
}

bool api_is_large(const struct request *request) {
    size_t bytes = markup_bytes(request->plan);
    for (size_t i = 0; i < request->job_count && bytes < LARGE_BYTES; i++)
        bytes += sentence_bytes(request, request->jobs[i].sentence);
    return bytes >= LARGE_BYTES;
}

/* ---- limits ---- */

/* Of one object, without what may be empty: keys, and what is known of the source. */
static size_t least_of(const struct request *request, const struct sentence *sentence) {
    static const char object[] = "{\"source_text\":\"\",\"text\":\"\",\"score\":0,\"log_prob\":0,\"finish_reason\":\"eos\"}",
                      offset[] = "{\"start\":0,\"end\":0,\"start_utf16\":0,\"end_utf16\":0},";
    size_t bytes = sizeof object - 1 + sentence_text_length(sentence), steps = sentence->options.min_length;
    for (size_t j = 0; request->include & INCLUDE_TOKENS && j < sentence->length; j++)
        bytes += strlen(sentence->tokens[j].piece) + strlen("\"\",");
    if (request->include & INCLUDE_OFFSETS)
        bytes += (sentence->length + steps) * (sizeof offset - 1);
    bytes += count_of(request->include & (INCLUDE_ATTENTION | INCLUDE_SOFT_ALIGNMENT)) * steps * sentence->length * strlen("0,");
    return bytes;
}

/* What only the best hypothesis has. */
static size_t least_once(const struct request *request, const struct sentence *sentence) {
    size_t steps = sentence->options.min_length;
    return request->include & INCLUDE_HEADS ? sentence_looks(sentence, steps) * strlen("0,") : 0;
}

/* A sample has as many hypotheses as were asked for; a beam one at least, which is the sentence object, too. */
size_t api_least_bytes(const struct request *request) {
    bool sample = request->search.strategy == &search_sample;
    size_t objects = request->search.n_best == 1 ? 1 : sample ? 1 + request->search.n_best : 2, bytes = 0;
    for (size_t i = 0; i < request->job_count && !request->plan; i++)
        bytes += objects * least_of(request, request->jobs[i].sentence) + least_once(request, request->jobs[i].sentence);
    return bytes;
}

void api_fail_length(const struct service *service, size_t least, struct reply *reply) {
    size_t most = service->options.max_reply_bytes;
    metrics_rejected(service->metrics, REJECTED_REPLY_LENGTH);
    if (least > 0)
        api_fail(reply, STATUS_TOO_LARGE, NULL, "the reply must have at most %zu bytes, but would have at least %zu", most, least);
    else
        api_fail(reply, STATUS_TOO_LARGE, NULL, "the reply must have at most %zu bytes, but would have more", most);
}

void api_fail_unread(const struct service *service, struct reply *reply) {
    metrics_rejected(service->metrics, REJECTED_REPLY_MEMORY);
    api_fail(reply, STATUS_UNAVAILABLE, NULL, "too many replies are waiting to be read");
    reply->retry_after_s = 1;
}

struct writer api_begin_answer(const struct service *service) {
    return (struct writer){.most = service->options.max_reply_bytes};
}

void api_reply_answer(const struct service *service, struct reply *reply, struct writer *w) {
    bool too_long = w->too_long;
    api_reply_json(reply, w);
    if (too_long)
        api_fail_length(service, 0, reply);
}
