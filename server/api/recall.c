/* This module hides which requests have the same answer (the question of the cache). */
#include "server/api/recall.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Converts a real such as 1.0 to an integer. Returns NULL for other values and from 2^53 on, where
 * integers may share a double. */
static json_t *simpler(const json_t *value) {
    double number = json_is_real(value) ? json_real_value(value) : NAN;
    return number == trunc(number) && fabs(number) < 9007199254740992.0
               ? json_integer((json_int_t)number)
               : NULL;
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

static struct question question_of(const struct request *request) {
    return (struct question){request->question, strlen(request->question),
                             request->models->generation};
}

/* The question consists of the dialect, the key's models, the glossary's number, and the object in
 * canonical form: sorted fields without white space. It omits the key, which the cache must not
 * store. The key's models may change the answer, and so may a kept glossary, whose entries may
 * change under its name. If memory runs out, the cache is not used. */
bool recall_answer(const struct service *service, const char *dialect, const json_t *root,
                   struct request *request, struct reply *reply) {
    /* the cache omits answers that are random, timed or streamed */
    bool random =
        request->parameters.search.strategy == &search_sample && !json_object_get(root, "seed");
    if (!service->cache || random || request->wanted.streamed ||
        request->wanted.include & INCLUDE_TIMING ||
        request->question) /* the request was looked up before it waited for its model */
        return false;
    json_t *copy = json_deep_copy(root);
    json_object_del(copy, "api_key");
    json_object_del(copy, "auth_key");
    simplify(copy);
    char *text = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS), *whole = NULL;
    json_decref(copy);
    bool lacked =
        value_lacked_memory(); /* a part may be missing, which would make a different question */
    const char *models = request->key ? request->key->models : "";
    size_t glossary = request->parameters.kept ? request->parameters.kept->number : 0;
    if (lacked || !text || asprintf(&whole, "%s %s %zu %s", dialect, models, glossary, text) < 0)
        whole = NULL;
    request->question = whole ? arena_copy(&request->arena, whole, strlen(whole)) : NULL;
    free(whole);
    free(text);
    if (!request->question)
        return false;

    struct question question = question_of(request);
    unsigned warnings = 0;
    char *answer = cache_find(service->cache, &question, &warnings);
    metrics_cache_asked(service->metrics, request->model->metrics, answer != NULL);
    if (answer) {
        reply_json_text(reply, STATUS_OK, answer);
        reply->warnings = warnings;
    }
    return answer != NULL;
}

void recall_keep(const struct service *service, const struct request *request,
                 const struct reply *reply) {
    if (!request->question || reply->status != STATUS_OK)
        return;
    struct question question = question_of(request);
    cache_keep(service->cache, &question, reply->body, reply->warnings);
}
