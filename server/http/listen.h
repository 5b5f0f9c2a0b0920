/* Listening sockets: TCP, Unix, and those that systemd opened before it started the daemon. */
#ifndef ALIGND_LISTEN_H
#define ALIGND_LISTEN_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum { LISTEN_ADDRESS_BYTES = 128, LISTEN_MAX = 32 };

struct listener {
    int fd;                             /* does not block; the owner closes it */
    char address[LISTEN_ADDRESS_BYTES]; /* "127.0.0.1:8080", "[::1]:8080", "unix:/run/alignd/alignd.socket" */
    bool local;                         /* a Unix socket */
    bool own;                           /* opened by listen_open: nobody else has it */
    bool made;                          /* its file is ours to remove; these two tell that it still is that file */
    dev_t device;
    ino_t inode;
};

/* A number from 0 to 65535: the system would take the rest of a larger one. */
bool listen_is_port(const char *port);

/* where: "127.0.0.1:8080", "[::1]:8080" (IPv6 alone), "localhost:8080", ":8080" (every IPv4 address); port 0: a free one; or
 * "unix:PATH". mode: permissions of a Unix socket. One that is left over at PATH, with nobody listening, is replaced; any other
 * file stays. -1 with ERROR_INPUT (not an address) or ERROR_FILE (in use, not ours). It changes the umask for a moment: no other
 * thread may be making files. */
int listen_open(const char *where, mode_t mode, struct listener *listener, struct error *err);

/* The sockets that systemd hands over (LISTEN_FDS), to listeners [LISTEN_MAX]; returns how many, and forgets the variables. -1 with
 * ERROR_FILE: one is no listening stream socket, or they are too many. */
int listen_inherit(struct listener *listeners, struct error *err);

/* Removes the file of a Unix socket made by listen_open. */
void listen_remove(struct listener *listener);

/* Nobody comes in any more: the file is removed; TCP's handshakes get no answer, and are refused once the socket is closed. Who
 * came before can still be accepted. A socket of systemd's stays as it is: who comes waits there for the next daemon. */
void listen_refuse(struct listener *listener);

#endif
