/* This module hides how the certificate of HTTPS is read, kept and handed to handshakes. */
#include "server/http/tls.h"
#include "model/base/file.h"
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CHAIN = 16, MAX_FILE_BYTES = 1 << 20 }; /* MAX_CHAIN: certificates in the file */

/* Both are PEM: GnuTLS takes over the credentials of a handshake, so each handshake parses its own
 * copy. */
struct identity {
    gnutls_datum_t certificate, key;
};

struct tls {
    char *certificate, *key; /* file names */
    pthread_mutex_t lock;    /* guards identity */
    struct identity identity;
};

static void wipe(gnutls_datum_t *datum) {
    if (datum->data)
        gnutls_memset(datum->data, 0, datum->size);
    free(datum->data);
    *datum = (gnutls_datum_t){0};
}

static void identity_done(struct identity *identity) {
    wipe(&identity->certificate);
    wipe(&identity->key);
}

static int load_file(const char *name, gnutls_datum_t *datum, struct error *err) {
    char *bytes;
    size_t size;
    if (file_read(name, MAX_FILE_BYTES, &bytes, &size, err) != 0)
        return -1;
    *datum = (gnutls_datum_t){(unsigned char *)bytes, (unsigned)size};
    return 0;
}

int tls_reload(struct tls *tls, struct error *err) {
    struct identity loaded = {0}, old;
    gnutls_certificate_credentials_t credentials;
    int result = load_file(tls->certificate, &loaded.certificate, err);
    if (result == 0)
        result = load_file(tls->key, &loaded.key, err);
    if (result == 0 && gnutls_certificate_allocate_credentials(&credentials) != 0) {
        result = error_memory(err);
    } else if (result == 0) { /* fails if a handshake would */
        int code = gnutls_certificate_set_x509_key_mem(credentials, &loaded.certificate,
                                                       &loaded.key, GNUTLS_X509_FMT_PEM);
        gnutls_certificate_free_credentials(credentials);
        if (code < 0)
            result = error_set(err, ERROR_FORMAT, "cannot use %.80s with %.80s: %s",
                               tls->certificate, tls->key, gnutls_strerror(code));
    }
    if (result != 0) {
        identity_done(&loaded);
        return -1;
    }
    pthread_mutex_lock(&tls->lock);
    old = tls->identity;
    tls->identity = loaded;
    pthread_mutex_unlock(&tls->lock);
    identity_done(&old);
    return 0;
}

struct tls *tls_open(const char *certificate, const char *key, struct error *err) {
    struct tls *tls = calloc(1, sizeof *tls);
    if (!tls) {
        error_memory(err);
        return NULL;
    }
    pthread_mutex_init(&tls->lock, NULL);
    tls->certificate = strdup(certificate);
    tls->key = strdup(key);
    if (!tls->certificate || !tls->key)
        error_memory(err);
    else if (tls_reload(tls, err) == 0)
        return tls;
    tls_free(tls);
    return NULL;
}

void tls_free(struct tls *tls) {
    if (!tls)
        return;
    identity_done(&tls->identity);
    pthread_mutex_destroy(&tls->lock);
    free(tls->certificate);
    free(tls->key);
    free(tls);
}

int tls_retrieve(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                 gnutls_pcert_st **chain, unsigned *count, gnutls_ocsp_data_st **stapled,
                 unsigned *stapled_count, gnutls_privkey_t *key, unsigned *flags) {
    (void)info;
    struct tls *tls = gnutls_session_get_ptr(session);
    *chain = gnutls_calloc(MAX_CHAIN, sizeof **chain);
    if (!*chain)
        return GNUTLS_E_MEMORY_ERROR;
    *count = MAX_CHAIN;
    *stapled = NULL;
    *stapled_count = 0;
    *flags = GNUTLS_CERT_RETR_DEINIT_ALL;
    pthread_mutex_lock(&tls->lock);
    const struct identity *identity = &tls->identity;
    int code = gnutls_privkey_init(key);
    bool made = code == 0;
    if (code == 0)
        code = gnutls_privkey_import_x509_raw(*key, &identity->key, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (code == 0)
        code = gnutls_pcert_list_import_x509_raw(*chain, count, &identity->certificate,
                                                 GNUTLS_X509_FMT_PEM, 0);
    if (code != 0 && made)
        gnutls_privkey_deinit(*key);
    pthread_mutex_unlock(&tls->lock);
    if (code != 0)
        gnutls_free(*chain);
    return code == 0 ? 0 : -1;
}
