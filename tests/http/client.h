/* Requests to a daemon under test, one at a time or many at once, and raw bytes that no HTTP
 * library would send. */
#ifndef ALIGND_TESTS_HTTP_CLIENT_H
#define ALIGND_TESTS_HTTP_CLIENT_H

#include "tests/http/daemon.h"
#include <curl/curl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { MAX_HEADERS = 4, HEADER_BYTES = 256 };

struct call {
    const char *method; /* NULL: POST if there is a body, GET otherwise */
    const char *path;
    const char *json; /* the body, with ' in place of " */
    const char *body; /* or the body as it is, [length] bytes; length 0: NUL-terminated */
    size_t length;
    const char *headers[MAX_HEADERS]; /* "Name: value", up to the first NULL. Without one, a body is
                                         sent as curl -d would */
    const char
        *from; /* address that it is sent from, such as "127.0.0.2"; NULL: the system's choice */
    long tls_version; /* CURL_SSLVERSION_..., 0: any */
    CURL *connection; /* from connection_open; NULL: a connection of its own */
};

struct reply {
    long status;   /* 0: there was no complete reply */
    char *headers; /* as received */
    char *body;    /* [length], NUL-terminated */
    size_t length;
    json_t *json; /* the body, if the content type says JSON and it is JSON; else NULL */
};

/* End every reply with reply_done. */
void client_send(const struct daemon *daemon, const struct call *call, struct reply *reply);
void reply_done(struct reply *reply);
/* POST, which must be answered with this status. */
void client_post(const struct daemon *daemon, const char *path, const char *json, long status,
                 struct reply *reply);
/* The same of a text and what else the body has, such as "'beam_size': 2", or "". */
void client_ask(const struct daemon *daemon, const char *path, const char *text, const char *fields,
                long status, struct reply *reply);
/* Copies the header's value; false if it is missing. */
bool reply_header(const struct reply *reply, const char *name, char value[HEADER_BYTES]);

/* A connection that is kept from request to request; end it with curl_easy_cleanup. */
CURL *connection_open(void);

/* ---- many at once ---- */

struct flight;
struct flight *flight_open(const struct daemon *daemon);
/* Starts a request; its reply, to live as long as the flight, is filled in while the flight moves
 * on. */
void flight_send(struct flight *flight, const struct call *call, struct reply *reply);
/* Sends and receives what can be, for a few milliseconds at most. Returns how many have not landed.
 */
size_t flight_move(struct flight *flight);
/* Moves on until all have landed. */
void flight_land(struct flight *flight);
/* Hangs up on what has not landed. */
void flight_close(struct flight *flight);

/* ---- the rest ---- */

/* The value of the metric whose line begins with this name (labels included), which must be there
 * if it has none; 0 if nothing has been counted under its labels yet. */
double metric(const struct daemon *daemon, const char *name);
/* Polls until the metric has this value. flight: NULL, or moved on meanwhile. */
void metric_await(const struct daemon *daemon, const char *name, double value,
                  struct flight *flight);
/* The same, until it has at least this value. */
void metric_await_least(const struct daemon *daemon, const char *name, double value,
                        struct flight *flight);

/* A connection for bytes that no HTTP library would send; the caller closes it. Writing stops where
 * the daemon has closed it. */
int raw_open(const struct daemon *daemon);
/* The same from an address such as "127.0.0.2". */
int raw_open_from(const struct daemon *daemon, const char *from);
/* True once the daemon has closed it: what comes before is thrown away. Waits as long as it takes,
 * within reason. */
bool raw_closed(int connection);
void raw_write(int connection, const char *bytes, size_t length);
/* Sends bytes over a connection of its own; half_close: then tells that nothing more comes. Returns
 * all that comes back until the connection is closed, NUL-terminated; the caller frees it. */
char *raw_send(const struct daemon *daemon, const char *bytes, size_t length, bool half_close);

/* How often the part occurs. */
size_t count_of(const char *text, const char *part);

/* The value at a path such as "translations.0.text", which must be there. */
json_t *json_at(const json_t *root, const char *path);
const char *text_at(const json_t *root, const char *path);
double number_at(const json_t *root, const char *path);

/* Bytes from start to before end. */
struct slice {
    size_t start, end;
};

/* An object of `offsets`, checked against the text that it is of: in it, and the same in UTF-16. */
struct slice slice_at(const json_t *offset, const char *text);

#endif
