/* Allowances of clients and keys: a bucket of tokens for each client, an account for each key. */
#include "server/api/limits.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- rates: buckets of tokens ---- */

/* A client's bucket is one of the WAYS of its set. */
enum { SETS = 1024, WAYS = 8 };

static const double ROUNDING = 1e-9; /* tokens */

/* A zeroed bucket belongs to nobody and has long been full. */
struct bucket {
    uint64_t client;
    struct limit limit;
    double spent;       /* tokens missing from a full bucket at counted_us; above the burst: debt */
    int64_t counted_us; /* 0: unused */
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

/* Finds the client's bucket; a new client takes over the fullest bucket of its set. */
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

/* ---- daily characters ---- */

enum { DAY_S = 24 * 60 * 60, BUCKETS = 1024 };

struct account {
    struct account *next;
    int64_t day; /* today's characters */
    struct usage_count count;
    char name[]; /* NUL-terminated */
};

struct usage {
    pthread_mutex_t lock; /* guards the accounts, one for each name that was ever counted */
    struct account *buckets[BUCKETS];
};

struct usage *usage_create(void) {
    struct usage *usage = calloc(1, sizeof *usage);
    if (usage)
        pthread_mutex_init(&usage->lock, NULL);
    return usage;
}

void usage_free(struct usage *usage) {
    if (!usage)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct account *account = usage->buckets[i], *next; account; account = next) {
            next = account->next;
            free(account);
        }
    pthread_mutex_destroy(&usage->lock);
    free(usage);
}

/* FNV-1a */
static struct account **bucket_of(struct usage *usage, const char *name) {
    uint32_t hash = 2166136261U;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619U;
    return &usage->buckets[hash % BUCKETS];
}

/* Requires the lock, as do the functions below. On another day an account starts again at 0. */
static struct account *usage_account(struct usage *usage, const char *name, int64_t now_s) {
    struct account *account = *bucket_of(usage, name);
    while (account && strcmp(account->name, name) != 0)
        account = account->next;
    if (account && account->day != now_s / DAY_S) {
        account->day = now_s / DAY_S;
        account->count.today = 0;
    }
    return account;
}

static struct account *open_account(struct usage *usage, const char *name, int64_t now_s) {
    struct account **bucket = bucket_of(usage, name), *account = calloc(1, sizeof *account + strlen(name) + 1);
    if (!account)
        return NULL;
    strcpy(account->name, name);
    account->day = now_s / DAY_S;
    account->next = *bucket;
    *bucket = account;
    return account;
}

enum usage_verdict usage_take(struct usage *usage, const char *name, uint64_t characters, uint64_t daily, int64_t now_s) {
    enum usage_verdict verdict = USAGE_MEMORY;
    pthread_mutex_lock(&usage->lock);
    struct account *account = usage_account(usage, name, now_s);
    if (!account)
        account = open_account(usage, name, now_s);
    if (account)
        verdict =
            daily > 0 && (account->count.today > daily || characters > daily - account->count.today) ? USAGE_EXCEEDED : USAGE_TAKEN;
    if (verdict == USAGE_TAKEN) {
        account->count.today += characters;
        account->count.total += characters;
    }
    pthread_mutex_unlock(&usage->lock);
    return verdict;
}

void usage_return(struct usage *usage, const char *name, uint64_t characters, int64_t now_s) {
    pthread_mutex_lock(&usage->lock);
    struct account *account = usage_account(usage, name, now_s);
    if (account) {
        account->count.total -= characters;
        account->count.today -=
            account->count.today < characters ? account->count.today : characters; /* the day may have changed */
    }
    pthread_mutex_unlock(&usage->lock);
}

struct usage_count usage_find(struct usage *usage, const char *name, int64_t now_s) {
    pthread_mutex_lock(&usage->lock);
    const struct account *account = usage_account(usage, name, now_s);
    struct usage_count count = account ? account->count : (struct usage_count){0};
    pthread_mutex_unlock(&usage->lock);
    return count;
}

unsigned usage_rest_s(int64_t now_s) {
    return (unsigned)(DAY_S - now_s % DAY_S);
}
