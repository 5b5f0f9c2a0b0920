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
    struct limit limit;
    double spent;       /* of a full bucket, at that time; above the burst: debt */
    int64_t counted_us; /* 0: nobody's */
};

struct limiter {
    pthread_mutex_t lock; /* guards the buckets */
    struct bucket buckets[SETS][WAYS];
};

struct limiter *limiter_create(void) {
    struct limiter *limiter = calloc(1, sizeof *limiter);
    if (limiter)
        pthread_mutex_init(&limiter->lock, NULL);
    return limiter;
}

void limiter_free(struct limiter *limiter) {
    if (!limiter)
        return;
    pthread_mutex_destroy(&limiter->lock);
    free(limiter);
}

static double spent_of(const struct bucket *bucket, int64_t now_us) {
    return fmax(0, bucket->spent - bucket->limit.rate * (double)(now_us - bucket->counted_us) * 1e-6);
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
        if (spent_of(&set[i], now_us) < spent_of(fullest, now_us))
            fullest = &set[i];
    }
    *fullest = (struct bucket){.client = client, .counted_us = now_us};
    return fullest;
}

double limiter_take(struct limiter *limiter, uint64_t client, const struct limit *limit, size_t tokens, int64_t now_us) {
    double wanted = (double)tokens, burst = (double)limit->burst, needed = fmin(wanted, burst), wait_s = 0;
    if (limit->rate <= 0)
        return 0;
    pthread_mutex_lock(&limiter->lock);
    struct bucket *bucket = limiter_find(limiter, client);
    if (!bucket)
        bucket = adopt(limiter, client, now_us);
    bucket->spent = spent_of(bucket, now_us);
    bucket->limit = *limit;
    bucket->counted_us = now_us;
    double left = burst - bucket->spent;
    if (left >= needed - ROUNDING)
        bucket->spent += wanted;
    else
        wait_s = (needed - left) / limit->rate;
    pthread_mutex_unlock(&limiter->lock);
    return wait_s;
}

void limiter_return(struct limiter *limiter, uint64_t client, size_t tokens) {
    pthread_mutex_lock(&limiter->lock);
    struct bucket *bucket = limiter_find(limiter, client);
    if (bucket)
        bucket->spent = fmax(0, bucket->spent - (double)tokens);
    pthread_mutex_unlock(&limiter->lock);
}
