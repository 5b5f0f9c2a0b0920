/* What a request takes of what its client, or its key, may ask for: sentences of a rate, characters of a day. */
#include "server/api/api_json.h"
#include "server/base/clock.h"
#include <time.h>

static struct limit rate_of(const struct service *service, const struct key_holder *key) {
    struct limit limit = {service->options.rate, service->options.burst};
    if (key && key->limits.rate > 0)
        limit.rate = key->limits.rate;
    if (key && key->limits.burst > 0)
        limit.burst = key->limits.burst;
    return limit;
}

static const char *account_of(const struct request *request) {
    return request->key ? request->key->name : "";
}

static bool within_day(const struct service *service, const struct request *request, struct reply *reply) {
    uint64_t daily = request->key ? request->key->limits.daily : 0;
    int64_t now_s = time(NULL);
    switch (usage_take(service->usage, account_of(request), request->characters, daily, now_s)) {
    case USAGE_TAKEN:
        return true;
    case USAGE_EXCEEDED:
        api_fail_quota(service, daily, usage_rest_s(now_s), reply);
        return false;
    case USAGE_MEMORY:
        break;
    }
    api_fail_memory(reply);
    return false;
}

bool api_charge(const struct service *service, const struct request *request, struct reply *reply) {
    struct limit limit = rate_of(service, request->key);
    double wait_s = limiter_take(service->limiter, request->client, &limit, request->job_count, clock_us());
    if (wait_s > 0) {
        api_fail_rate(service, limit.rate, wait_s, reply);
        return false;
    }
    if (within_day(service, request, reply))
        return true;
    limiter_return(service->limiter, request->client, request->job_count);
    return false;
}

void api_refund(const struct service *service, const struct request *request, size_t sentences) {
    limiter_return(service->limiter, request->client, sentences);
    usage_return(service->usage, account_of(request), request->characters, time(NULL));
}
