/* The answer cache (server/api/cache.h) as the decoding endpoints use it: which questions are the same, and which have one answer.
 */
#include "server/api/api_json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nothing is drawn at random, measured, or told piece by piece. */
static bool has_one_answer(const struct request *request, const json_t *root) {
    bool random = request->search.strategy == &search_sample && !json_object_get(root, "seed");
    return !random && !request->streamed && !(request->include & INCLUDE_TIMING);
}

/* 1.0 is 1. Beyond 2^53, where not every integer is a double, what is written differently stays different. */
static json_t *simpler(const json_t *value) {
    double number = json_is_real(value) ? json_real_value(value) : NAN;
    return number == trunc(number) && fabs(number) < 9007199254740992.0 ? json_integer((json_int_t)number) : NULL;
}

static void simplify(json_t *value) {
    const char *name;
    size_t i;
    json_t *item, *simple;
    json_object_foreach(value, name, item) {
        simplify(item);
        if ((simple = simpler(item)) != NULL)
            json_object_set_new(value, name, simple);
    }
    json_array_foreach(value, i, item) {
        simplify(item);
        if ((simple = simpler(item)) != NULL)
            json_array_set_new(value, i, simple);
    }
}

/* The object in one notation: its fields in order, without blanks. A client's key changes no answer, and is not to be kept. */
static char *canonical(const json_t *root) {
    json_t *copy = json_deep_copy(root);
    json_object_del(copy, "api_key");
    simplify(copy);
    char *text = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(copy);
    if (!api_lacked_memory())
        return text;
    free(text); /* a part may be missing: it would be another question */
    return NULL;
}

/* The same question of two keys that may use other models may have two answers, and a kept glossary's entries may change under its
 * name. NULL when memory is out: then nothing is found, nor kept. */
static const char *make_question(const char *dialect, const json_t *root, struct request *request) {
    char *text = canonical(root), *question = NULL;
    const char *models = request->key ? request->key->limits.models : "";
    size_t glossary = request->kept ? request->kept->number : 0;
    if (text && asprintf(&question, "%s %s %zu %s", dialect, models, glossary, text) < 0)
        question = NULL;
    const char *copy = question ? arena_copy(&request->arena, question, strlen(question)) : NULL;
    free(question);
    free(text);
    return copy;
}

static struct question question_of(const struct request *request) {
    return (struct question){request->question, strlen(request->question), request->models->generation};
}

bool api_recall(const struct service *service, const char *dialect, const json_t *root, struct request *request,
                struct reply *reply) {
    if (!service->cache || !has_one_answer(request, root) ||
        request->question) /* the last: it was asked before it waited for its model */
        return false;
    request->question = make_question(dialect, root, request);
    if (!request->question)
        return false;
    struct question question = question_of(request);
    unsigned warnings = 0;
    char *answer = cache_find(service->cache, &question, &warnings);
    metrics_cache_asked(service->metrics, request->model->metrics, answer != NULL);
    if (answer) {
        api_reply_text(reply, STATUS_OK, answer);
        reply->warnings = warnings;
    }
    return answer != NULL;
}

void api_remember(const struct service *service, const struct request *request, const struct reply *reply) {
    if (!request->question || reply->status != STATUS_OK)
        return;
    struct question question = question_of(request);
    cache_keep(service->cache, &question, reply->body, reply->warnings);
}
