/* API keys: who may use the service. A file has one key a line, as keys_make writes it:
 *
 *     NAME ROLE SHA-256 [rate=N] [burst=N] [daily=N] [models=NAME,NAME] [priority=batch]
 *
 * with the hash of the key in hexadecimal, so that the file reveals no key. Blank lines and text after a # are ignored.
 * A key is 256 random bits, which need no slower hash. */
#ifndef ALIGND_KEYS_H
#define ALIGND_KEYS_H

#include "model/base/error.h"
#include "server/base/metrics.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEY_NAME_BYTES = 64, KEY_SECRET_BYTES = 72, KEY_MODELS_BYTES = 512, KEY_LINE_BYTES = 1024 };

enum key_role { KEY_USER, KEY_ADMIN };
/* "user" or "admin"; returns -1 if name is neither. */
int keys_parse_role(const char *name, enum key_role *role);

/* The limits of a key. Zeroed, they are the limits of any client. */
struct key_limits {
    double rate;                   /* sentences a second; 0: the limit of any client (--rate) */
    size_t burst;                  /* sentences at once; 0: the limit of any client */
    uint64_t daily;                /* characters a day; 0: no limit */
    enum priority priority;        /* the highest priority of its requests */
    char models[KEY_MODELS_BYTES]; /* names separated by ','; "": all */
};

struct key_holder {
    char name[KEY_NAME_BYTES]; /* visible ASCII without quotes: fit for a log line */
    enum key_role role;
    struct key_limits limits;
};

/* text: limits as in the line above, separated by blanks. Returns -1 with ERROR_INPUT. */
int keys_parse_limits(const char *text, struct key_limits *limits, struct error *err);
/* True if the limits allow this model. */
bool keys_allow(const struct key_limits *limits, const char *model);

struct keys;

/* Reads the file. NULL with ERROR_FILE (the file cannot be read), ERROR_INPUT (the message names the line, or says that the file
 * contains no key) or ERROR_MEMORY. */
struct keys *keys_open(const char *path, struct error *err);
/* Accepts NULL. */
void keys_free(struct keys *keys);

/* Reads the file again. Returns -1 as keys_open does; the keys then stay as they were. Thread-safe. */
int keys_reload(struct keys *keys, struct error *err);
/* Finds the holder of a secret, [length] bytes of any value. Returns 1 and sets holder; 0 if nobody holds it, or -1 if memory is
 * out, and holder is untouched. It takes the same time for all secrets of one length. Thread-safe. */
int keys_find(struct keys *keys, const char *secret, size_t length, struct key_holder *holder);

/* Makes a new key and its line for the file, without the line end. limits: as keys_parse_limits reads them; NULL: none. Returns -1
 * with ERROR_INPUT if the name or the limits are invalid. */
int keys_make(const char *name, enum key_role role, const char *limits, char secret[KEY_SECRET_BYTES], char line[KEY_LINE_BYTES],
              struct error *err);

/* ---- how much clients and keys may ask for: sentences by a rate, and characters of a day; thread-safe ---- */

/* Each client has a bucket of tokens, one per sentence, which is refilled at a steady rate up to a burst. A request for more than a
 * burst needs a full bucket and leaves it in debt. Memory is bounded: if many clients come at once, the fullest buckets are
 * dropped, which gives their clients little. */
struct limiter;

/* rate: tokens a second; 0: everything is allowed. burst: tokens, at least 1. */
struct limit {
    double rate;
    size_t burst;
};

/* Returns NULL if memory is out. */
struct limiter *limiter_create(void);
void limiter_free(struct limiter *limiter); /* Accepts NULL. */

/* Takes this many tokens from the client's bucket, which has this limit from now on, and returns 0. If there are too few, takes
 * none and returns the seconds until there will be enough. */
double limiter_take(struct limiter *limiter, uint64_t client, const struct limit *limit, size_t tokens, int64_t now_us);
/* Gives back tokens of a request that was refused. */
void limiter_return(struct limiter *limiter, uint64_t client, size_t tokens);

/* The characters of accepted texts that each key has translated today and since the start. Days are UTC days. The counts are in
 * memory only: they begin at 0 when the daemon starts. */
struct usage;

struct usage_count {
    uint64_t today, total;
};

/* Returns NULL if memory is out. */
struct usage *usage_create(void);
void usage_free(struct usage *usage); /* Accepts NULL. */

enum usage_verdict { USAGE_TAKEN, USAGE_EXCEEDED, USAGE_MEMORY };
/* Counts this many characters for the name ("": requests without a key), unless the count would exceed daily (0: no limit). now_s:
 * by time(). */
enum usage_verdict usage_take(struct usage *usage, const char *name, uint64_t characters, uint64_t daily, int64_t now_s);
/* Takes back the characters of a request that was refused, if they were counted on the same day. */
void usage_return(struct usage *usage, const char *name, uint64_t characters, int64_t now_s);
struct usage_count usage_find(struct usage *usage, const char *name, int64_t now_s);
/* The seconds until the day ends. */
unsigned usage_rest_s(int64_t now_s);

#endif
