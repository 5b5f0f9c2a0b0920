/* This module has the certificate of HTTPS, which may change while connections are open: each
 * connection keeps the one that it started with. */
#ifndef ALIGND_TLS_H
#define ALIGND_TLS_H

#include "model/base/error.h"
#include <gnutls/abstract.h>

/* Allows TLS 1.2 and 1.3, always with forward secrecy and an authenticated cipher (no CBC), in
 * GnuTLS's syntax. */
#define TLS_PRIORITIES                                                                             \
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-CIPHER-ALL:+AES-256-GCM:+CHACHA20-POLY1305:" \
    "+AES-128-GCM:-MAC-ALL:+AEAD:"                                                                 \
    "%SERVER_PRECEDENCE"

struct tls;

/* Both files are PEM: the chain, the server's own certificate first, and its unencrypted key.
 * Returns NULL with ERROR_FILE (cannot be read), ERROR_FORMAT (not PEM, or the key is not the
 * certificate's) or ERROR_MEMORY. */
struct tls *tls_open(const char *certificate, const char *key, struct error *err);
/* All sessions must have ended. Accepts NULL. */
void tls_free(struct tls *tls);

/* Reads the files again, for new sessions. Returns -1 with the same errors as tls_open, and then
 * keeps the old certificate and key. Thread-safe. */
int tls_reload(struct tls *tls, struct error *err);

/* GnuTLS calls this for the certificate of a session, whose user pointer is the tls, from any
 * thread. */
gnutls_certificate_retrieve_function3 tls_retrieve;

#endif
