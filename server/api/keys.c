/* This file checks API keys and limits their use. It stores only hashes of keys, and a search takes
 * the same time for all keys. */
#include "server/api/keys.h"
#include "model/base/file.h"
#include "server/base/strings.h"
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HASH_BYTES = 32,
    HASH_DIGITS = 2 * HASH_BYTES,
    RANDOM_BYTES = 32,
    MAX_KEYS = 10000,
    MAX_FILE_BYTES = 1 << 24
};

/* The prefix identifies an alignd key that has leaked into a log or a repository. */
#define SECRET_PREFIX "alignd-"
_Static_assert(sizeof SECRET_PREFIX + 2 * RANDOM_BYTES <= KEY_SECRET_BYTES, "a secret fits");
_Static_assert(KEY_NAME_BYTES + sizeof " admin " + HASH_DIGITS + KEY_MODELS_BYTES < KEY_LINE_BYTES,
               "a line fits");

struct key {
    struct key_holder holder;
    unsigned char hash[HASH_BYTES];
};

struct key_table {
    struct key *keys; /* [count] */
    size_t count;
};

struct keys {
    const char *path;
    pthread_mutex_t lock; /* guards table */
    struct key_table table;
};

static void hash_secret(const char *secret, size_t length, unsigned char hash[HASH_BYTES]) {
    struct sha256_ctx state;
    sha256_init(&state);
    sha256_update(&state, length, (const uint8_t *)secret);
    sha256_digest(&state, HASH_BYTES, hash);
}

static bool is_key_name(const char *name) {
    size_t length = strlen(name);
    if (length == 0 || length >= KEY_NAME_BYTES)
        return false;
    for (const char *c = name; *c; c++) {
        if (*c <= ' ' || *c > '~' || strchr("\"#=\\", *c))
            return false;
    }
    return true;
}

/* ---- limits ---- */

static const char blanks[] = " \t\r\n";

/* Reads words of the form NAME=VALUE. Modifies the text. */
static int read_limits(char *text, struct key_holder *holder, struct error *err) {
    enum { MODELS, PRIORITY, RATE, BURST, DAILY, LIMITS };
    static const char *const names[LIMITS] = {"models=", "priority=", "rate=", "burst=", "daily="};
    for (char *rest = text, *word; (word = strtok_r(NULL, blanks, &rest)) != NULL;) {
        size_t which = 0;
        while (which < LIMITS && strncmp(word, names[which], strlen(names[which])) != 0)
            which++;
        if (which == LIMITS)
            return error_set(err, ERROR_INPUT,
                             "a limit must be rate=N, burst=N, daily=N, models=NAME,NAME or "
                             "priority=batch, got \"%.60s\"",
                             word);
        const char *value = word + strlen(names[which]);
        if (which == MODELS) {
            if (!*value || strlen(value) >= KEY_MODELS_BYTES)
                return error_set(err, ERROR_INPUT,
                                 "models must be names separated by ',', at most %d bytes together",
                                 KEY_MODELS_BYTES - 1);
            strcpy(holder->models, value);
            continue;
        }
        if (which == PRIORITY) {
            if (metrics_find_priority(value, &holder->priority) != 0)
                return error_set(err, ERROR_INPUT, "priority must be interactive or batch");
            continue;
        }

        char *end;
        double number = strtod(value, &end), most = which == RATE ? 1e6 : 1e15;
        bool valid = *value >= '0' && *value <= '9' && *end == '\0' && number > 0 && number <= most;
        if (!valid || (which != RATE && number != floor(number)))
            return error_set(err, ERROR_INPUT, "%.*s must be a %snumber above 0",
                             (int)strlen(names[which]) - 1, word, which == RATE ? "" : "whole ");
        if (which == RATE)
            holder->limit.rate = number;
        else if (which == BURST)
            holder->limit.burst = (size_t)number;
        else
            holder->limit.daily = (uint64_t)number;
    }
    return 0;
}

bool keys_allow(const struct key_holder *holder, const char *model) {
    size_t length = strlen(model);
    for (const char *at = holder->models; *at; at += strspn(at, ",")) {
        size_t name = strcspn(at, ",");
        if (name == length && strncmp(at, model, length) == 0)
            return true;
        at += name;
    }
    return *holder->models == '\0';
}

/* ---- the file ---- */

/* Reads a NUL-terminated line into the table. Modifies the line. */
static int read_line(char *line, struct key_table *table, struct error *err) {
    char *rest = line;
    line[strcspn(line, "#")] = '\0';
    const char *name = strtok_r(NULL, blanks, &rest);
    if (!name)
        return 0;
    const char *role = strtok_r(NULL, blanks, &rest);
    char *hash = strtok_r(NULL, blanks, &rest);
    struct key key = {0};
    if (!role || !hash)
        return error_set(err, ERROR_INPUT,
                         "a line must be NAME ROLE HASH, optionally followed by limits");
    if (!is_key_name(name))
        return error_set(err, ERROR_INPUT,
                         "a name must have 1 to %d visible ASCII characters without any of \"#=\\",
                         KEY_NAME_BYTES - 1);
    key.holder.admin = strcmp(role, "admin") == 0;
    if (!key.holder.admin && strcmp(role, "user") != 0)
        return error_set(err, ERROR_INPUT, "the role must be user or admin");
    if (!hex_parse(hash, key.hash, HASH_BYTES))
        return error_set(err, ERROR_INPUT, "the hash must have %d hexadecimal digits", HASH_DIGITS);
    if (read_limits(rest, &key.holder, err) != 0)
        return -1;
    strcpy(key.holder.name, name);

    if (table->count == MAX_KEYS)
        return error_set(err, ERROR_INPUT, "there may be at most %d keys", MAX_KEYS);
    for (size_t i = 0; i < table->count; i++) {
        const struct key *other = &table->keys[i];
        if (strcmp(other->holder.name, name) == 0)
            return error_set(err, ERROR_INPUT, "the name %s occurs twice", name);
        if (memcmp(other->hash, key.hash, HASH_BYTES) == 0)
            return error_set(err, ERROR_INPUT, "%s has the same key as %s", name,
                             other->holder.name);
    }
    struct key *keys = reallocarray(table->keys, table->count + 1, sizeof *keys);
    if (!keys)
        return error_memory(err);
    table->keys = keys;
    table->keys[table->count++] = key;
    return 0;
}

int keys_reload(struct keys *keys, struct error *err) {
    const char *path = keys->path;
    struct key_table read = {0};
    char *text;
    size_t length, number = 0;
    if (file_read(path, MAX_FILE_BYTES, &text, &length, err) != 0)
        return -1;
    int result = strlen(text) == length
                     ? 0
                     : error_set(err, ERROR_INPUT, "%.100s contains a zero byte", path);
    for (char *rest = text, *line; result == 0 && (line = strsep(&rest, "\n")) != NULL;) {
        struct error why = {0};
        number++;
        if (read_line(line, &read, &why) != 0)
            result = error_set(err, why.code, "%.100s, line %zu: %s", path, number, why.message);
    }
    if (result == 0 && read.count == 0) /* another process may be rewriting the file */
        result = error_set(err, ERROR_INPUT, "%.100s contains no key", path);
    free(text);
    if (result == 0) {
        pthread_mutex_lock(&keys->lock);
        struct key_table old = keys->table;
        keys->table = read;
        pthread_mutex_unlock(&keys->lock);
        read = old;
    }
    free(read.keys);
    return result;
}

struct keys *keys_open(const char *path, struct error *err) {
    struct keys *keys = calloc(1, sizeof *keys);
    if (!keys) {
        error_memory(err);
        return NULL;
    }
    keys->path = path;
    pthread_mutex_init(&keys->lock, NULL);
    if (keys_reload(keys, err) == 0)
        return keys;
    keys_free(keys);
    return NULL;
}

void keys_free(struct keys *keys) {
    if (!keys)
        return;
    pthread_mutex_destroy(&keys->lock);
    free(keys->table.keys);
    free(keys);
}

bool keys_find(struct keys *keys, const char *secret, size_t length, struct key_holder *holder) {
    unsigned char hash[HASH_BYTES];
    const struct key *found = NULL;
    hash_secret(secret, length, hash);
    pthread_mutex_lock(&keys->lock);
    for (size_t i = 0; i < keys->table.count;
         i++) { /* compare all keys, so that the time does not reveal which key matched */
        const struct key *key = &keys->table.keys[i];
        found = memeql_sec(key->hash, hash, HASH_BYTES) ? key : found;
    }
    if (found)
        *holder = found->holder;
    pthread_mutex_unlock(&keys->lock);
    return found != NULL;
}

int keys_make(const char *name, bool admin, const char *limits, char secret[KEY_SECRET_BYTES],
              char line[KEY_LINE_BYTES], struct error *err) {
    unsigned char random[RANDOM_BYTES], hash[HASH_BYTES];
    char digits[HASH_DIGITS + 1];
    if (!is_key_name(name))
        return error_set(err, ERROR_INPUT,
                         "--name must have 1 to %d visible ASCII characters without any of \"#=\\, "
                         "got \"%.60s\"",
                         KEY_NAME_BYTES - 1, name);
    struct key_holder holder = {.admin = admin}; /* needed only to check the limits */
    char *copy = strdup(limits ? limits : "");
    int result = copy ? read_limits(copy, &holder, err) : error_memory(err);
    free(copy);
    if (result != 0)
        return -1;
    size_t prefix = sizeof SECRET_PREFIX - 1;
    if (getentropy(random, sizeof random) != 0)
        return error_set(err, ERROR_FILE, "cannot generate random numbers: %s", strerror(errno));
    strcpy(secret, SECRET_PREFIX);
    hex_print(random, sizeof random, secret + prefix);
    hash_secret(secret, strlen(secret), hash);
    hex_print(hash, sizeof hash, digits);
    int length = snprintf(line, KEY_LINE_BYTES, "%s %s %s%s%s", name, admin ? "admin" : "user",
                          digits, limits ? " " : "", limits ? limits : "");
    return length < KEY_LINE_BYTES ? 0 : error_set(err, ERROR_INPUT, "--limits is too long");
}

/* ---- usage of clients and keys ---- */

/* A client uses one of the WAYS buckets of its set. */
enum { SETS = 1024, WAYS = 8, DAY_S = 24 * 60 * 60 };

static const double ROUNDING = 1e-9; /* tokens */

/* A zeroed bucket has no client and is full. */
struct bucket {
    uint64_t client;
    double rate;
    double spent; /* tokens missing from a full bucket at counted_us; more than the burst is debt */
    int64_t counted_us; /* 0: unused */
};

struct account {
    char name[KEY_NAME_BYTES];
    int64_t day; /* UTC day of count.today */
    struct usage_count count;
};

struct limiter {
    pthread_mutex_t lock; /* guards everything below */
    struct bucket buckets[SETS][WAYS];
    struct account *accounts; /* [account_count], one for each charged name */
    size_t account_count;
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
    free(limiter->accounts);
    free(limiter);
}

static double spent_of(const struct bucket *bucket, int64_t now_us) {
    return fmax(0, bucket->spent - bucket->rate * (double)(now_us - bucket->counted_us) * 1e-6);
}

/* Requires the lock. A new client takes over the fullest bucket of its set if `open` is set;
 * otherwise returns NULL. */
static struct bucket *find_bucket(struct limiter *limiter, uint64_t client, int64_t now_us,
                                  bool open) {
    struct bucket *set = limiter->buckets[client % SETS], *fullest = set;
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].counted_us != 0 && set[i].client == client)
            return &set[i];
        if (spent_of(&set[i], now_us) < spent_of(fullest, now_us))
            fullest = &set[i];
    }
    if (!open)
        return NULL;
    *fullest = (struct bucket){.client = client, .counted_us = now_us};
    return fullest;
}

/* Requires the lock. Resets count.today on a new day. Returns NULL if no account exists or memory
 * runs out. */
static struct account *find_account(struct limiter *limiter, const char *name, int64_t now_s,
                                    bool open) {
    size_t i = 0;
    while (i < limiter->account_count && strcmp(limiter->accounts[i].name, name) != 0)
        i++;
    if (i == limiter->account_count) {
        struct account *accounts =
            open ? reallocarray(limiter->accounts, i + 1, sizeof *accounts) : NULL;
        if (!accounts)
            return NULL;
        limiter->accounts = accounts;
        limiter->account_count++;
        accounts[i] = (struct account){.day = 0};
        snprintf(accounts[i].name, sizeof accounts[i].name, "%s", name);
    }
    struct account *account = &limiter->accounts[i];
    if (account->day != now_s / DAY_S) {
        account->day = now_s / DAY_S;
        account->count.today = 0;
    }
    return account;
}

enum limiter_verdict limiter_take(struct limiter *limiter, const struct charge *charge,
                                  const struct limit *limit, double *wait_s) {
    enum limiter_verdict verdict = LIMITER_TAKEN;
    double wanted = (double)charge->sentences, burst = (double)limit->burst,
           needed = fmin(wanted, burst), left = needed;
    pthread_mutex_lock(&limiter->lock);
    struct bucket *bucket =
        limit->rate > 0 ? find_bucket(limiter, charge->client, charge->now_us, true) : NULL;
    if (bucket) {
        bucket->spent = spent_of(bucket, charge->now_us);
        bucket->rate = limit->rate;
        bucket->counted_us = charge->now_us;
        left = burst - bucket->spent;
    }
    struct account *account = find_account(limiter, charge->name, charge->now_s, true);
    if (left < needed - ROUNDING) {
        verdict = LIMITER_RATE;
        *wait_s = (needed - left) / limit->rate;
    } else if (!account) {
        verdict = LIMITER_MEMORY;
    } else if (limit->daily > 0 && (account->count.today > limit->daily ||
                                    charge->characters > limit->daily - account->count.today)) {
        verdict = LIMITER_DAILY;
        *wait_s = (double)(DAY_S - charge->now_s % DAY_S);
    } else {
        if (bucket)
            bucket->spent += wanted;
        account->count.today += charge->characters;
        account->count.total += charge->characters;
    }
    pthread_mutex_unlock(&limiter->lock);
    return verdict;
}

void limiter_return(struct limiter *limiter, const struct charge *charge) {
    pthread_mutex_lock(&limiter->lock);
    struct bucket *bucket = find_bucket(limiter, charge->client, charge->now_us, false);
    if (bucket)
        bucket->spent = fmax(0, bucket->spent - (double)charge->sentences);
    struct account *account = find_account(limiter, charge->name, charge->now_s, false);
    if (account) {
        uint64_t today = account->count.today; /* the day may have changed */
        account->count.today = today < charge->characters ? 0 : today - charge->characters;
        account->count.total -= charge->characters;
    }
    pthread_mutex_unlock(&limiter->lock);
}

struct usage_count limiter_usage(struct limiter *limiter, const char *name, int64_t now_s) {
    pthread_mutex_lock(&limiter->lock);
    const struct account *account = find_account(limiter, name, now_s, false);
    struct usage_count count = account ? account->count : (struct usage_count){0};
    pthread_mutex_unlock(&limiter->lock);
    return count;
}
