/* API keys identify the clients that may use the service. A file has one key a line, as keys_make
 * writes it:
 *
 *     NAME ROLE SHA-256 [rate=N] [burst=N] [daily=N] [models=NAME,NAME] [priority=batch]
 *
 * with the hash of the key in hexadecimal, so that the file reveals no key. Blank lines and text
 * after a # are ignored. A key is 256 random bits, which need no slower hash. */
#ifndef ALIGND_KEYS_H
#define ALIGND_KEYS_H

#include "model/base/error.h"
#include "server/base/metrics.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEY_NAME_BYTES = 64, KEY_SECRET_BYTES = 72, KEY_MODELS_BYTES = 512, KEY_LINE_BYTES = 1024 };

/* The allowance of a client. */
struct limit {
    double rate;    /* sentences a second; 0: no limit */
    size_t burst;   /* sentences at once */
    uint64_t daily; /* characters a day; 0: no limit */
};

struct key_holder {
    char name[KEY_NAME_BYTES];     /* visible ASCII without quotes: fit for a log line */
    bool admin;                    /* the role */
    struct limit limit;            /* rate, burst 0: those of any client (--rate, --burst) */
    enum priority priority;        /* the highest priority of its requests */
    char models[KEY_MODELS_BYTES]; /* names separated by ','; "": all */
};

/* Returns true if the holder may use this model. */
bool keys_allow(const struct key_holder *holder, const char *model);

struct keys;

/* Reads the file; path must outlive the keys. Returns NULL with ERROR_FILE (the file cannot be
 * read), ERROR_INPUT (the message names the line, or says that the file contains no key) or
 * ERROR_MEMORY. */
struct keys *keys_open(const char *path, struct error *err);
/* Accepts NULL. */
void keys_free(struct keys *keys);

/* Reads the file again. Returns -1 as keys_open does; the keys then stay as they were. Thread-safe.
 */
int keys_reload(struct keys *keys, struct error *err);
/* Finds the holder of a secret, [length] bytes of any value. Returns true and sets holder, or
 * leaves it untouched and returns false if the secret is unknown. It takes the same time for all
 * secrets of one length. Thread-safe. */
bool keys_find(struct keys *keys, const char *secret, size_t length, struct key_holder *holder);

/* Makes a new key and its line for the file, without the line end. limits: as in the line above;
 * NULL: none. Returns -1 with ERROR_INPUT if the name or the limits are invalid. */
int keys_make(const char *name, bool admin, const char *limits, char secret[KEY_SECRET_BYTES],
              char line[KEY_LINE_BYTES], struct error *err);

/* ---- how much clients and keys have asked for; thread-safe ----
 *
 * Each client has a bucket of tokens, one per sentence, which is refilled at a steady rate up to a
 * burst. A request for more than a burst needs a full bucket and leaves it in debt. Memory is
 * bounded: if many clients come at once, the fullest buckets are dropped, which gives their clients
 * little.
 *
 * Each key has an account of the characters of accepted texts that it has translated today, a UTC
 * day, and since the start. The accounts are in memory only: they begin at 0 when the daemon
 * starts. */

struct limiter;

/* The amounts of a request, and the client and the key that they are charged to. */
struct charge {
    uint64_t client;
    const char *name; /* the key's name; "": requests without a key */
    size_t sentences;
    uint64_t characters;
    int64_t now_us, now_s; /* by clock_us(), and by time() */
};

struct usage_count {
    uint64_t today, total;
};

/* Returns NULL if memory runs out. */
struct limiter *limiter_create(void);
void limiter_free(struct limiter *limiter); /* Accepts NULL. */

enum limiter_verdict { LIMITER_TAKEN, LIMITER_RATE, LIMITER_DAILY, LIMITER_MEMORY };
/* Takes the charge if the limit, which is the client's from now on, allows it. RATE, DAILY: takes
 * nothing, and wait_s is the time until there will be enough sentences, or until the day ends. */
enum limiter_verdict limiter_take(struct limiter *limiter, const struct charge *charge,
                                  const struct limit *limit, double *wait_s);
/* Takes back the charge of a request that was refused; the characters of today only if they were
 * counted today. */
void limiter_return(struct limiter *limiter, const struct charge *charge);
struct usage_count limiter_usage(struct limiter *limiter, const char *name, int64_t now_s);

#endif
