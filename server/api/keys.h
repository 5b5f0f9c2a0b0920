/* API keys: who may use the service. A file has one key a line, as keys_make writes it:
 *
 *     NAME ROLE SHA-256
 *
 * with the hash of the key in hexadecimal, so that the file tells nobody a key; blank lines and what follows a # count for nothing.
 * A key is 256 random bits, which need no slower hash. */
#ifndef ALIGND_KEYS_H
#define ALIGND_KEYS_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>

enum { KEY_NAME_BYTES = 64, KEY_SECRET_BYTES = 72, KEY_LINE_BYTES = 160 };

enum key_role { KEY_USER, KEY_ADMIN };
/* "user" or "admin"; -1 if it is neither. */
int keys_parse_role(const char *name, enum key_role *role);

struct key_holder {
    char name[KEY_NAME_BYTES]; /* visible ASCII without quotes: fit for a log line */
    enum key_role role;
};

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

/* A new key, and the line for the file, without its end. -1 with ERROR_INPUT: no name of that kind. */
int keys_make(const char *name, enum key_role role, char secret[KEY_SECRET_BYTES], char line[KEY_LINE_BYTES], struct error *err);

#endif
