#include "server/api/usage.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { DAY_S = 24 * 60 * 60, BUCKETS = 1024 };

struct account {
    struct account *next;
    int64_t day; /* of today */
    struct usage_count count;
    char name[]; /* NUL-terminated */
};

struct usage {
    pthread_mutex_t lock; /* guards the accounts: one for each name that was ever counted */
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

/* With the lock, as all below; on another day it starts over. */
static struct account *find(struct usage *usage, const char *name, int64_t now_s) {
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
    struct account *account = find(usage, name, now_s);
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
    struct account *account = find(usage, name, now_s);
    if (account) {
        account->count.total -= characters;
        account->count.today -=
            account->count.today < characters ? account->count.today : characters; /* midnight may have passed */
    }
    pthread_mutex_unlock(&usage->lock);
}

struct usage_count usage_find(struct usage *usage, const char *name, int64_t now_s) {
    pthread_mutex_lock(&usage->lock);
    const struct account *account = find(usage, name, now_s);
    struct usage_count count = account ? account->count : (struct usage_count){0};
    pthread_mutex_unlock(&usage->lock);
    return count;
}

unsigned usage_rest_s(int64_t now_s) {
    return (unsigned)(DAY_S - now_s % DAY_S);
}
