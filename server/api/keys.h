/* API keys: who may use the service. A file has one key a line, as keys_make writes it:
 *
 *     NAME ROLE SHA-256 [rate=N] [burst=N] [daily=N] [models=NAME,NAME] [priority=batch]
 *
 * with the hash of the key in hexadecimal, so that the file tells nobody a key; blank lines and what follows a # count for nothing.
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
/* "user" or "admin"; -1 if it is neither. */
int keys_parse_role(const char *name, enum key_role *role);

/* The limits of a key; zeroed: those of any client. */
struct key_limits {
    double rate;                   /* sentences a second; 0: as any client (--rate) */
    size_t burst;                  /* sentences at once; 0: as any client */
    uint64_t daily;                /* characters a day; 0: any number */
    enum priority priority;        /* the best that its requests have */
    char models[KEY_MODELS_BYTES]; /* names with ',' between them; "": all */
};

struct key_holder {
    char name[KEY_NAME_BYTES]; /* visible ASCII without quotes: fit for a log line */
    enum key_role role;
    struct key_limits limits;
};

/* text: those of the line above, with blanks between them. -1 with ERROR_INPUT. */
int keys_parse_limits(const char *text, struct key_limits *limits, struct error *err);
/* Whether the limits let this model be used. */
bool keys_allow(const struct key_limits *limits, const char *model);

struct keys;

/* Reads the file. NULL with ERROR_FILE (it cannot be read), ERROR_INPUT (the message tells the line; or there is no key in it) or
 * ERROR_MEMORY. */
struct keys *keys_open(const char *path, struct error *err);
/* NULL allowed. */
void keys_free(struct keys *keys);

/* Reads the file again. -1 as keys_open: the keys stay as they were. Thread-safe. */
int keys_reload(struct keys *keys, struct error *err);
/* secret: [length] bytes, any. 1: it is the holder's; 0: nobody's, -1: memory is out, and
 * holder is untouched. Takes the same time for any secret of one
 * length. Thread-safe. */
int keys_find(struct keys *keys, const char *secret, size_t length, struct key_holder *holder);

/* A new key, and the line for the file, without its end. limits: as keys_parse_limits reads them; NULL: none. -1 with ERROR_INPUT:
 * no name or limits of that kind. */
int keys_make(const char *name, enum key_role role, const char *limits, char secret[KEY_SECRET_BYTES], char line[KEY_LINE_BYTES],
              struct error *err);

#endif
