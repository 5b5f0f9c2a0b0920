#include "server/api/limiter.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/* A client's bucket is one of the WAYS of its set. */
enum { SETS = 1024, WAYS = 8 };
static const double ROUNDING = 1e-9; /* tokens */

/* Zeroed: nobody's, and long full. */
struct bucket {
    uint64_t client;
    double tokens;      /* at that time; below 0: debt */
    int64_t counted_us; /* 0: nobody's */
};

struct limiter {
    double rate, burst; /* constant */

    pthread_mutex_t lock; /* guards the buckets */
    struct bucket buckets[SETS][WAYS];
};

struct limiter *limiter_create(double rate, size_t burst) {
    struct limiter *limiter = calloc(1, sizeof *limiter);
    if (!limiter)
        return NULL;
    limiter->rate = rate;
    limiter->burst = (double)burst;
    pthread_mutex_init(&limiter->lock, NULL);
    return limiter;
}

void limiter_free(struct limiter *limiter) {
    if (!limiter)
        return;
    pthread_mutex_destroy(&limiter->lock);
    free(limiter);
}

static double tokens_of(const struct limiter *limiter, const struct bucket *bucket, int64_t now_us) {
    if (bucket->counted_us == 0)
        return limiter->burst;
    return fmin(limiter->burst, bucket->tokens + limiter->rate * (double)(now_us - bucket->counted_us) * 1e-6);
}

static struct bucket *limiter_find(struct limiter *limiter, uint64_t client) {
    struct bucket *set = limiter->buckets[client % SETS];
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].counted_us != 0 && set[i].client == client)
            return &set[i];
    }
    return NULL;
}

/* The fullest of its set is made the client's. */
static struct bucket *adopt(struct limiter *limiter, uint64_t client, int64_t now_us) {
    struct bucket *set = limiter->buckets[client % SETS], *fullest = set;
    for (size_t i = 1; i < WAYS; i++) {
        if (tokens_of(limiter, &set[i], now_us) > tokens_of(limiter, fullest, now_us))
            fullest = &set[i];
    }
    *fullest = (struct bucket){.client = client, .tokens = limiter->burst, .counted_us = now_us};
    return fullest;
}

double limiter_take(struct limiter *limiter, uint64_t client, size_t tokens, int64_t now_us) {
    double wanted = (double)tokens, needed = fmin(wanted, limiter->burst), wait_s = 0;
    if (limiter->rate <= 0)
        return 0;
    pthread_mutex_lock(&limiter->lock);
    struct bucket *bucket = limiter_find(limiter, client);
    if (!bucket)
        bucket = adopt(limiter, client, now_us);
    bucket->tokens = tokens_of(limiter, bucket, now_us);
    bucket->counted_us = now_us;
    if (bucket->tokens >= needed - ROUNDING)
        bucket->tokens -= wanted;
    else
        wait_s = (needed - bucket->tokens) / limiter->rate;
    pthread_mutex_unlock(&limiter->lock);
    return wait_s;
}

void limiter_return(struct limiter *limiter, uint64_t client, size_t tokens) {
    pthread_mutex_lock(&limiter->lock);
    struct bucket *bucket = limiter_find(limiter, client);
    if (bucket)
        bucket->tokens = fmin(limiter->burst, bucket->tokens + (double)tokens);
    pthread_mutex_unlock(&limiter->lock);
}
