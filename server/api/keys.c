/* Who may use the service, and how much of it. Only hashes of keys are stored, and a search takes the same time for all keys. */
#include "server/api/keys.h"
#include "model/base/file.h"
#include "server/base/strings.h"
#include <assert.h>
#include <gnutls/crypto.h>
#include <math.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_BYTES = 32, HASH_DIGITS = 2 * HASH_BYTES, RANDOM_BYTES = 32, MAX_KEYS = 10000, MAX_FILE_BYTES = 1 << 24 };

/* Identifies an alignd key where one is found by mistake, in a log or a repository. */
#define SECRET_PREFIX "alignd-"
_Static_assert(sizeof SECRET_PREFIX + 2 * RANDOM_BYTES <= KEY_SECRET_BYTES, "a secret fits");
_Static_assert(KEY_NAME_BYTES + sizeof " admin " + HASH_DIGITS + KEY_MODELS_BYTES < KEY_LINE_BYTES, "a line fits");

static const char *const roles[] = {[KEY_USER] = "user", [KEY_ADMIN] = "admin"};

struct key {
    struct key_holder holder;
    unsigned char hash[HASH_BYTES];
};

struct key_table {
    struct key *keys; /* [count] */
    size_t count;
};

struct keys {
    char *path;
    pthread_mutex_t lock; /* guards table */
    struct key_table table;
};

int keys_parse_role(const char *name, enum key_role *role) {
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (strcmp(name, roles[i]) == 0) {
            *role = (enum key_role)i;
            return 0;
        }
    }
    return -1;
}

static int hash_secret(const char *secret, size_t length, unsigned char hash[HASH_BYTES]) {
    return gnutls_hash_fast(GNUTLS_DIG_SHA256, secret, length, hash) == 0 ? 0 : -1;
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

/* Reads words of the form NAME=VALUE. rest: for strtok_r. */
static int read_limits(char **rest, struct key_limits *limits, struct error *err) {
    enum { MODELS, PRIORITY, RATE, BURST, DAILY, LIMITS };
    static const char *const names[LIMITS] = {"models=", "priority=", "rate=", "burst=", "daily="};
    for (const char *word; (word = strtok_r(NULL, blanks, rest)) != NULL;) {
        size_t which = 0;
        while (which < LIMITS && strncmp(word, names[which], strlen(names[which])) != 0)
            which++;
        if (which == LIMITS)
            return error_set(err, ERROR_INPUT,
                             "a limit must be rate=N, burst=N, daily=N, models=NAME,NAME or priority=batch, got \"%.60s\"", word);
        const char *value = word + strlen(names[which]);
        if (which == MODELS) {
            if (!*value || strlen(value) >= KEY_MODELS_BYTES)
                return error_set(err, ERROR_INPUT, "models must be names separated by ',', at most %d bytes together",
                                 KEY_MODELS_BYTES - 1);
            strcpy(limits->models, value);
            continue;
        }
        if (which == PRIORITY) {
            if (priority_find(value, &limits->priority) != 0)
                return error_set(err, ERROR_INPUT, "priority must be interactive or batch");
            continue;
        }

        char *end;
        double number = strtod(value, &end), most = which == RATE ? 1e6 : 1e15;
        bool valid = *value >= '0' && *value <= '9' && *end == '\0' && number > 0 && number <= most;
        if (!valid || (which != RATE && number != floor(number)))
            return error_set(err, ERROR_INPUT, "%.*s must be a %snumber above 0", (int)strlen(names[which]) - 1, word,
                             which == RATE ? "" : "whole ");
        if (which == RATE)
            limits->rate = number;
        else if (which == BURST)
            limits->burst = (size_t)number;
        else
            limits->daily = (uint64_t)number;
    }
    return 0;
}

int keys_parse_limits(const char *text, struct key_limits *limits, struct error *err) {
    char *copy = strdup(text), *rest = copy;
    struct key_limits read = {0};
    int result = copy ? read_limits(&rest, &read, err) : error_memory(err);
    if (result == 0)
        *limits = read;
    free(copy);
    return result;
}

bool keys_allow(const struct key_limits *limits, const char *model) {
    size_t length = strlen(model);
    for (const char *at = limits->models; *at; at += strspn(at, ",")) {
        size_t name = strcspn(at, ",");
        if (name == length && strncmp(at, model, length) == 0)
            return true;
        at += name;
    }
    return *limits->models == '\0';
}

/* ---- the file ---- */

/* line: NUL-terminated; the function changes it. */
static int read_line(char *line, struct key_table *table, struct error *err) {
    char *rest;
    line[strcspn(line, "#")] = '\0';
    const char *name = strtok_r(line, blanks, &rest);
    if (!name)
        return 0;
    const char *role = strtok_r(NULL, blanks, &rest);
    char *hash = strtok_r(NULL, blanks, &rest);
    struct key key = {0};
    if (!role || !hash)
        return error_set(err, ERROR_INPUT, "a line must be NAME ROLE HASH, optionally followed by limits");
    if (!is_key_name(name))
        return error_set(err, ERROR_INPUT, "a name must have 1 to %d visible ASCII characters without any of \"#=\\",
                         KEY_NAME_BYTES - 1);
    if (keys_parse_role(role, &key.holder.role) != 0)
        return error_set(err, ERROR_INPUT, "the role must be user or admin");
    if (!hex_parse(hash, key.hash, HASH_BYTES))
        return error_set(err, ERROR_INPUT, "the hash must have %d hexadecimal digits", HASH_DIGITS);
    if (read_limits(&rest, &key.holder.limits, err) != 0)
        return -1;
    strcpy(key.holder.name, name);

    if (table->count == MAX_KEYS)
        return error_set(err, ERROR_INPUT, "there may be at most %d keys", MAX_KEYS);
    for (size_t i = 0; i < table->count; i++) {
        const struct key *other = &table->keys[i];
        if (strcmp(other->holder.name, name) == 0)
            return error_set(err, ERROR_INPUT, "the name %s occurs twice", name);
        if (memcmp(other->hash, key.hash, HASH_BYTES) == 0)
            return error_set(err, ERROR_INPUT, "%s has the same key as %s", name, other->holder.name);
    }
    table->keys[table->count++] = key;
    return 0;
}

int keys_reload(struct keys *keys, struct error *err) {
    const char *path = keys->path;
    struct key_table read = {0};
    char *text;
    size_t length, number = 0, lines = 1;
    if (file_read(path, MAX_FILE_BYTES, &text, &length, err) != 0)
        return -1;
    for (const char *c = text; *c && lines < MAX_KEYS; c++)
        lines += *c == '\n';
    read.keys = calloc(lines, sizeof *read.keys);
    int result = read.keys ? 0 : error_memory(err);
    if (result == 0 && strlen(text) != length)
        result = error_set(err, ERROR_INPUT, "%.100s contains a zero byte", path);
    for (char *line = text, *next; result == 0 && *line; line = next) {
        struct error why = {0};
        size_t bytes = strcspn(line, "\n");
        next = line + bytes + (line[bytes] == '\n');
        line[bytes] = '\0';
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
    if (!keys || !(keys->path = strdup(path))) {
        free(keys);
        error_memory(err);
        return NULL;
    }
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
    free(keys->path);
    free(keys);
}

int keys_find(struct keys *keys, const char *secret, size_t length, struct key_holder *holder) {
    unsigned char hash[HASH_BYTES];
    const struct key *found = NULL;
    if (hash_secret(secret, length, hash) != 0)
        return -1;
    pthread_mutex_lock(&keys->lock);
    for (size_t i = 0; i < keys->table.count; i++) { /* compares all keys, so that the time does not reveal which one matched */
        const struct key *key = &keys->table.keys[i];
        found = gnutls_memcmp(key->hash, hash, HASH_BYTES) == 0 ? key : found;
    }
    if (found)
        *holder = found->holder;
    pthread_mutex_unlock(&keys->lock);
    return found != NULL;
}

int keys_make(const char *name, enum key_role role, const char *limits, char secret[KEY_SECRET_BYTES], char line[KEY_LINE_BYTES],
              struct error *err) {
    unsigned char random[RANDOM_BYTES], hash[HASH_BYTES];
    char digits[HASH_DIGITS + 1];
    if (!is_key_name(name))
        return error_set(err, ERROR_INPUT, "--name must have 1 to %d visible ASCII characters without any of \"#=\\, got \"%.60s\"",
                         KEY_NAME_BYTES - 1, name);
    struct key_limits known;
    if (limits && keys_parse_limits(limits, &known, err) != 0)
        return -1;
    size_t prefix = sizeof SECRET_PREFIX - 1;
    int code = gnutls_rnd(GNUTLS_RND_KEY, random, sizeof random);
    if (code != 0)
        return error_set(err, ERROR_FILE, "cannot generate random numbers: %s", gnutls_strerror(code));
    strcpy(secret, SECRET_PREFIX);
    hex_print(random, sizeof random, secret + prefix);
    if (hash_secret(secret, strlen(secret), hash) != 0)
        return error_set(err, ERROR_FILE, "SHA-256 is not available");
    hex_print(hash, sizeof hash, digits);
    int length = snprintf(line, KEY_LINE_BYTES, "%s %s %s%s%s", name, roles[role], digits, limits ? " " : "", limits ? limits : "");
    return length < KEY_LINE_BYTES ? 0 : error_set(err, ERROR_INPUT, "--limits is too long");
}

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

double limiter_take(struct limiter *limiter, uint64_t client, const struct limit *limit, size_t tokens, int64_t now_us) {
    double wanted = (double)tokens, burst = (double)limit->burst, needed = fmin(wanted, burst), wait_s = 0;
    if (limit->rate <= 0)
        return 0;
    pthread_mutex_lock(&limiter->lock);
    struct bucket *bucket = limiter_find(limiter, client);
    if (!bucket) { /* a new client takes over the fullest bucket of its set */
        struct bucket *set = bucket = limiter->buckets[client % SETS];
        for (size_t i = 1; i < WAYS; i++) {
            if (spent_of(&set[i], now_us) < spent_of(bucket, now_us))
                bucket = &set[i];
        }
        *bucket = (struct bucket){.client = client, .counted_us = now_us};
    }
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

enum { DAY_S = 24 * 60 * 60 };

struct account {
    int64_t day; /* today's characters */
    struct usage_count count;
    char name[KEY_NAME_BYTES];
};

struct usage {
    pthread_mutex_t lock; /* guards the accounts, one for each name that was ever counted */
    void *accounts;       /* by name (tsearch) */
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
    tdestroy(usage->accounts, free);
    pthread_mutex_destroy(&usage->lock);
    free(usage);
}

static int compare_accounts(const void *a, const void *b) {
    return strcmp(((const struct account *)a)->name, ((const struct account *)b)->name);
}

/* Requires the lock. On another day an account starts again at 0. NULL: there is none or, if it would be opened, memory is out. */
static struct account *usage_account(struct usage *usage, const char *name, int64_t now_s, bool open) {
    struct account key = {.name = ""}, *account = NULL;
    snprintf(key.name, sizeof key.name, "%s", name);
    void **node = tfind(&key, &usage->accounts, compare_accounts);
    if (node) {
        account = *node;
    } else if (open && (account = calloc(1, sizeof *account))) {
        *account = key;
        if (!tsearch(account, &usage->accounts, compare_accounts)) {
            free(account);
            return NULL;
        }
    }
    if (account && account->day != now_s / DAY_S) {
        account->day = now_s / DAY_S;
        account->count.today = 0;
    }
    return account;
}

enum usage_verdict usage_take(struct usage *usage, const char *name, uint64_t characters, uint64_t daily, int64_t now_s) {
    enum usage_verdict verdict = USAGE_MEMORY;
    pthread_mutex_lock(&usage->lock);
    struct account *account = usage_account(usage, name, now_s, true);
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
    struct account *account = usage_account(usage, name, now_s, false);
    if (account) {
        account->count.total -= characters;
        account->count.today -=
            account->count.today < characters ? account->count.today : characters; /* the day may have changed */
    }
    pthread_mutex_unlock(&usage->lock);
}

struct usage_count usage_find(struct usage *usage, const char *name, int64_t now_s) {
    pthread_mutex_lock(&usage->lock);
    const struct account *account = usage_account(usage, name, now_s, false);
    struct usage_count count = account ? account->count : (struct usage_count){0};
    pthread_mutex_unlock(&usage->lock);
    return count;
}

unsigned usage_rest_s(int64_t now_s) {
    return (unsigned)(DAY_S - now_s % DAY_S);
}
