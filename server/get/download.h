/* Downloads one file over HTTP or HTTPS, by libcurl. This module hides how a transfer is bounded, resumed and tried again.
 *
 * The file is written to PATH.part, which is kept after a failure so that the next download goes on from there, and gets its name
 * once it is whole and its SHA-256 is right. Proxies are those of curl (http_proxy, https_proxy, all_proxy, no_proxy), certificates
 * those of CURL_CA_BUNDLE, SSL_CERT_FILE and SSL_CERT_DIR, otherwise the system's.
 *
 * A server can do no harm: it sends at most as many bytes as are allowed, and not more slowly than at MIN_BYTES_PER_SECOND; a
 * redirect leads only to HTTP or HTTPS, from HTTPS only to HTTPS, and never to a private address, unless that is where the download
 * began. */
#ifndef ALIGND_DOWNLOAD_H
#define ALIGND_DOWNLOAD_H

#include "model/base/error.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* How getting a model ends. */
enum get_status {
    GET_DONE,
    GET_PRESENT,    /* it was there already */
    GET_FAILED,     /* a file cannot be written, or memory is out */
    GET_UNKNOWN,    /* the source has no such model or file */
    GET_NETWORK,    /* no server answered, or it answered with an error */
    GET_REFUSED,    /* what came is not what the list promises, or it is not allowed */
    GET_SPACE,      /* the disk has too little space */
    GET_UNREADABLE, /* the model cannot be imported */
    GET_STOPPED     /* `stop` was set */
};

/* How all downloads of a command behave. */
struct download_manner {
    size_t retries;          /* after a failure of the network */
    size_t stall_s;          /* a transfer below MIN_BYTES_PER_SECOND for so long has failed */
    const atomic_bool *stop; /* NULL: never */
    /* Called often while bytes arrive: so many of the file's are there. NULL: nobody is interested. */
    void (*progress)(void *owner, uint64_t bytes, uint64_t total);
    /* Called for each failure after which it is tried again. NULL: nobody is interested. */
    void (*retried)(void *owner, const char *why, size_t wait_ms);
    void *owner;
};

struct download {
    const char *url;
    const char *path;   /* that the file gets; its folder is there */
    const char *sha256; /* in digits; NULL: it is not known */
    uint64_t bytes;     /* 0: not known */
    uint64_t most;      /* bytes that it may have; ignored if `bytes` is known */
    uint64_t spare;     /* bytes of disk that must stay free beside the file, for each of its own */
    bool outside;       /* the URL comes from a list: it may not lead to a private address either */
    const char *token;  /* sent to the URL's own host as a bearer token; NULL: none */
};

enum { MIN_BYTES_PER_SECOND = 4096, DOWNLOAD_USUAL_RETRIES = 4, DOWNLOAD_USUAL_STALL_S = 30 };

/* Prepares the library that downloads. Called once, before another thread starts or after all have ended, because the library does
 * not promise that this is thread-safe. -1 with ERROR_MEMORY. */
int downloads_begin(struct error *err);
void downloads_end(void);

/* Returns GET_DONE, or another status with an error that names the URL. */
enum get_status download_file(const struct download_manner *manner, const struct download *download, struct error *err);

/* Computes the SHA-256 of a file in digits. Returns GET_DONE, GET_STOPPED or GET_FAILED. */
enum get_status download_digest(const char *path, const atomic_bool *stop, char sha256[65], struct error *err);

/* True if an address is of this machine, a private network or a link, or is otherwise not on the public internet. */
bool address_is_private(const struct sockaddr *address);

/* Checks that the file system of this folder has room for more bytes. Returns GET_DONE or GET_SPACE. */
enum get_status space_check(const char *folder, uint64_t bytes, struct error *err);

#endif
