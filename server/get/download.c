/* This module hides how a transfer by libcurl is bounded, resumed and retried. */
#include "server/base/clock.h"
#include "server/base/strings.h"
#include "server/get/get_parts.h"
#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    PATH_BYTES = 4096,
    MOST_REDIRECTS = 8,
    MOST_REFUSED_BODY = 1 << 16, /* bytes of a body that is not the file */
    MOST_HEADERS = 1 << 16,
    VALIDATOR_BYTES = 256,
    CONNECT_S = 20,
    FIRST_WAIT_MS = 1000,
    MOST_WAIT_MS = 60 * 1000,
    WAIT_STEP_MS = 50,
    HEADWAY_BYTES = 1 << 20, /* after this many new bytes, retries are counted from zero */
    SPARE_BYTES = 16 << 20,  /* bytes of a disk that always stay free */
    STATUS_OK = 200,
    STATUS_PARTIAL = 206,
    STATUS_RANGE = 416
};

/* ---- addresses ---- */

static bool is_private_4(uint32_t a) {
    static const struct {
        uint32_t net;
        int bits;
    } nets[] = {{0x00000000, 8},  {0x0a000000, 8},  {0x64400000, 10}, {0x7f000000, 8},
                {0xa9fe0000, 16}, {0xac100000, 12}, {0xc0000000, 24}, {0xc0a80000, 16},
                {0xc6120000, 15}, {0xe0000000, 4},  {0xf0000000, 4}};
    for (size_t i = 0; i < sizeof nets / sizeof *nets; i++)
        if ((a ^ nets[i].net) >> (32 - nets[i].bits) == 0)
            return true;
    return false;
}

static uint32_t big_endian(const unsigned char bytes[4]) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* An address and a port as comparable bytes; IPv4 addresses are mapped to IPv6. */
struct peer {
    unsigned char bytes[16];
    unsigned port;
};

/* An address of another family counts as 0.0.0.0. */
static struct peer place_of(const struct sockaddr *address) {
    struct peer place = {.bytes = {[10] = 0xff, [11] = 0xff}};
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        memcpy(place.bytes + 12, &in.sin_addr, 4);
        place.port = ntohs(in.sin_port);
    } else if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, address, sizeof in6);
        memcpy(place.bytes, &in6.sin6_addr, 16);
        place.port = ntohs(in6.sin6_port);
    }
    return place;
}

bool download_address_is_private(const struct sockaddr *address) {
    static const unsigned char zero[12], mapped[12] = {[10] = 0xff, [11] = 0xff},
                                         translated[12] = {0, 0x64, 0xff, 0x9b};
    static const unsigned char local[6] = {0, 0x64, 0xff, 0x9b, 0, 1}, teredo[4] = {0x20, 0x01};
    const struct peer place = place_of(address);
    const unsigned char *b = place.bytes;
    if (memcmp(b, zero, sizeof zero) == 0) /* ::1, ::, and an old way of writing IPv4 */
        return true;
    if (memcmp(b, mapped, sizeof mapped) == 0 || memcmp(b, translated, sizeof translated) == 0)
        return is_private_4(big_endian(b + 12));
    if (memcmp(b, local, sizeof local) == 0 ||
        memcmp(b, teredo, sizeof teredo) == 0) /* translations of any IPv4 address */
        return true;
    if (b[0] == 0x20 && b[1] == 0x02) /* 6to4 */
        return is_private_4(big_endian(b + 2));
    return (b[0] & 0xfe) == 0xfc || (b[0] == 0xfe && (b[1] & 0x80) == 0x80) || b[0] == 0xff;
}

/* True if one of curl's proxies has this address. The administrator chose the proxies, and they
 * decide which addresses can be reached through them. */
static bool is_proxy(const struct peer *place) {
    static const char *const variables[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                            "ALL_PROXY"};
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    bool found = false;
    for (size_t i = 0; i < sizeof variables / sizeof *variables && !found; i++) {
        const char *proxy = getenv(variables[i]); /* a URL with or without a scheme */
        if (!proxy || !*proxy)
            continue;
        CURLU *url = curl_url();
        char *host = NULL, *port = NULL, *scheme = NULL;
        struct addrinfo *all = NULL;
        if (url &&
            curl_url_set(url, CURLUPART_URL, proxy,
                         CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
            curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
            curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK) {
            bool with_port = curl_url_get(url, CURLUPART_PORT, &port, 0) == CURLUE_OK;
            unsigned long number = with_port                          ? strtoul(port, NULL, 10)
                                   : strcasecmp(scheme, "https") == 0 ? 443
                                                                      : 1080;
            size_t length = strlen(host);
            bool brackets = *host == '[' && host[length - 1] == ']';
            if (brackets)
                host[length - 1] = '\0';
            if (number == place->port && getaddrinfo(host + brackets, NULL, &hints, &all) != 0)
                all = NULL;
        }
        for (const struct addrinfo *one = all; one && !found; one = one->ai_next) {
            const struct peer its = place_of(one->ai_addr);
            found = memcmp(its.bytes, place->bytes, sizeof its.bytes) == 0;
        }
        if (all)
            freeaddrinfo(all);
        curl_free(host);
        curl_free(port);
        curl_free(scheme);
        curl_url_cleanup(url);
    }
    return found;
}

/* Sets the host and the port of an HTTP or HTTPS URL, which the caller frees with curl_free even if
 * this fails. */
static bool take_host(const char *url, char **host, char **port) {
    CURLU *parsed = curl_url();
    *host = *port = NULL;
    bool taken = parsed && curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
                 curl_url_get(parsed, CURLUPART_HOST, host, 0) == CURLUE_OK &&
                 curl_url_get(parsed, CURLUPART_PORT, port, CURLU_DEFAULT_PORT) == CURLUE_OK;
    curl_url_cleanup(parsed);
    return taken;
}

static bool same_host(const char *a, const char *b) {
    char *host[2], *port[2];
    bool left = take_host(a, &host[0], &port[0]), right = take_host(b, &host[1], &port[1]);
    bool same = left && right && strcasecmp(host[0], host[1]) == 0 && strcmp(port[0], port[1]) == 0;
    for (int i = 0; i < 2; i++) {
        curl_free(host[i]);
        curl_free(port[i]);
    }
    return same;
}

/* True if the URL states a private address or a name of this machine. This is checked because the
 * socket does not show where a redirect leads if a proxy resolves names. */
static bool names_private(const char *url) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    bool is = false;
    char *host, *port;
    if (take_host(url, &host, &port)) {
        size_t length = strlen(host);
        if (*host == '[' && host[length - 1] == ']') {
            host[length - 1] = '\0';
            is = inet_pton(AF_INET6, host + 1, &in6.sin6_addr) == 1 &&
                 download_address_is_private((const struct sockaddr *)&in6);
        } else if (inet_pton(AF_INET, host, &in.sin_addr) == 1) {
            is = download_address_is_private((const struct sockaddr *)&in);
        } else {
            is = strcasecmp(host, "localhost") == 0 ||
                 (length > 10 && strcasecmp(host + length - 10, ".localhost") == 0);
        }
    }
    curl_free(host);
    curl_free(port);
    return is;
}

/* ---- disks and digests ---- */

enum get_status download_check_space(const char *folder, uint64_t bytes, struct error *err) {
    struct statvfs disk;
    if (statvfs(folder, &disk) != 0)
        return GET_DONE; /* writing will report the error */
    uint64_t left = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (bytes <= UINT64_MAX - SPARE_BYTES && left >= bytes + SPARE_BYTES)
        return GET_DONE;
    return get_fail(err, GET_SPACE, ERROR_FILE,
                    "%.200s: needs %.0f MB of disk, and %.0f MB are free", folder,
                    ((double)bytes + SPARE_BYTES) / 1e6, (double)left / 1e6);
}

static bool is_stopped(const atomic_bool *stop) {
    return stop && *stop;
}

enum get_status download_digest(const char *path, const atomic_bool *stop, char sha256[65],
                                struct error *err) {
    unsigned char digest[SHA256_BYTES];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return get_fail(err, GET_FAILED, ERROR_FILE, "%.300s: %s", path, strerror(errno));
    int result = folders_digest_file(file, path, stop, digest, err);
    close(file);
    if (result != 0)
        return is_stopped(stop) ? get_fail_stopped(err) : GET_FAILED;
    hex_print(digest, sizeof digest, sha256);
    return GET_DONE;
}

/* ---- a transfer ---- */

struct transfer {
    const struct download_manner *manner;
    const struct download *download;
    CURL *curl;
    char part[PATH_BYTES], validator_path[PATH_BYTES], folder[PATH_BYTES];
    char validator[VALIDATOR_BYTES]; /* validator of the content of PATH.part; "": none */
    int file;
    uint64_t at;   /* bytes in PATH.part */
    uint64_t most; /* limit for the bytes in PATH.part */

    /* state of the current reply */
    bool begun;       /* the first bytes of its body have been examined */
    bool wanted;      /* its body is part of the file */
    uint64_t passed;  /* bytes of a body that is not part of the file */
    uint64_t total;   /* bytes of the whole file according to the reply; 0: unknown */
    uint64_t headers; /* bytes of headers */

    /* state of the chain of redirects */
    bool first;      /* nothing has been redirected yet */
    bool has_origin; /* it began at the private address `origin` */
    struct peer origin;
    char address[INET6_ADDRSTRLEN]; /* the private address that was refused; "": none */
    enum get_status status;         /* status of the callback that ended the transfer */
    struct error *err;
};

static size_t end_transfer(struct transfer *t, enum get_status status) {
    t->status = status;
    return 0;
}

/* Refuses private addresses, except a proxy's, the one at which the download begins (unless its URL
 * is from a list), and that one again. */
static curl_socket_t open_socket(void *owner, curlsocktype purpose, struct curl_sockaddr *address) {
    struct transfer *t = owner;
    (void)purpose;
    struct peer place = place_of(&address->addr);
    if (download_address_is_private(&address->addr) && !is_proxy(&place)) {
        bool begins = t->first && !t->download->outside;
        bool again = t->has_origin &&
                     memcmp(place.bytes, t->origin.bytes, sizeof place.bytes) == 0 &&
                     (place.port == t->origin.port || (t->origin.port == 80 && place.port == 443));
        if (!begins && !again) {
            const struct in6_addr *shown = (const struct in6_addr *)(const void *)place.bytes;
            if (address->family == AF_INET)
                inet_ntop(AF_INET, place.bytes + 12, t->address, sizeof t->address);
            else
                inet_ntop(AF_INET6, shown, t->address, sizeof t->address);
            return CURL_SOCKET_BAD;
        }
        if (begins) {
            t->has_origin = true;
            t->origin = place;
        }
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static size_t take_header(char *line, size_t size, size_t count, void *owner) {
    struct transfer *t = owner;
    size_t length = size * count;
    (void)line;
    t->headers += length;
    if (t->headers > MOST_HEADERS) {
        error_set(t->err, ERROR_FORMAT, "its headers have more than %d bytes", MOST_HEADERS);
        return end_transfer(t, GET_REFUSED);
    }
    return length;
}

/* Returns a header of the current reply, or "" if it is missing. */
static const char *header_of(const struct transfer *t, const char *name) {
    struct curl_header *header;
    return curl_easy_header(t->curl, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK
               ? header->value
               : "";
}

/* Empties PATH.part. Returns -1 with errno. */
static int start_over(struct transfer *t) {
    t->at = 0;
    return ftruncate(t->file, 0) == 0 && lseek(t->file, 0, SEEK_SET) == 0 ? 0 : -1;
}

/* True for a strong entity tag without control characters, which may be sent back (RFC
 * 9110, 8.8.3). */
static bool is_strong(const char *etag) {
    size_t length = strlen(etag);
    if (length < 2 || length >= VALIDATOR_BYTES || etag[0] != '"' || etag[length - 1] != '"')
        return false;
    for (size_t i = 1; i + 1 < length; i++)
        if (etag[i] <= ' ' || etag[i] == '"' || etag[i] > '~')
            return false;
    return true;
}

/* Decides, at the first bytes of a body, if the body is the file, and how long the file is. Returns
 * false if the transfer ends. */
static bool begin_body(struct transfer *t) {
    long code = 0;
    curl_off_t length = -1;
    unsigned long long from = 0;
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_getinfo(t->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    t->begun = true;
    t->wanted = code == STATUS_OK || code == STATUS_PARTIAL;
    if (!t->wanted)
        return true;
    if (code == STATUS_PARTIAL) {
        if (sscanf(header_of(t, "content-range"), "bytes %llu-", &from) != 1 || from != t->at) {
            error_set(t->err, ERROR_FORMAT, "the server sent a different range than requested");
            return end_transfer(t, GET_REFUSED);
        }
    } else {
        if (t->at > 0 && start_over(t) != 0) {
            error_set(t->err, ERROR_FILE, "%.300s: %s", t->part, strerror(errno));
            return end_transfer(t, GET_FAILED);
        }
        /* The validator is kept beside PATH.part, so that only the rest of the same file is
         * requested. */
        const char *etag = header_of(t, "etag");
        bool strong = is_strong(etag);
        snprintf(t->validator, sizeof t->validator, "%s", strong ? etag : "");
        unlink(t->validator_path);
        int file = strong ? open(t->validator_path,
                                 O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)
                          : -1;
        size_t size = strlen(t->validator);
        if (file >= 0 && write(file, t->validator, size) != (ssize_t)size)
            unlink(t->validator_path);
        if (file >= 0)
            close(file);
    }

    uint64_t rest = length > 0 ? (uint64_t)length : 0;
    t->total = rest > 0 ? t->at + rest : 0;
    if (t->total > t->most || (t->download->bytes && t->total && t->total != t->download->bytes)) {
        if (t->download->bytes)
            error_set(t->err, ERROR_FORMAT, "has %" PRIu64 " bytes, and the list says %" PRIu64,
                      t->total, t->download->bytes);
        else
            error_set(t->err, ERROR_FORMAT, "has %" PRIu64 " bytes, more than the allowed %" PRIu64,
                      t->total, t->most);
        return end_transfer(t, GET_REFUSED);
    }

    uint64_t whole = t->total ? t->total : t->download->bytes;
    uint64_t needed = whole - (whole > t->at ? t->at : 0) + whole * t->download->spare;
    enum get_status status = whole ? download_check_space(t->folder, needed, t->err) : GET_DONE;
    return status == GET_DONE || end_transfer(t, status);
}

static size_t take_body(char *bytes, size_t size, size_t count, void *owner) {
    struct transfer *t = owner;
    size_t length = size * count, written = 0;
    if (!t->begun && !begin_body(t))
        return 0;
    if (!t->wanted) {
        t->passed += length;
        return t->passed <= MOST_REFUSED_BODY ? length : 0;
    }
    if (length > t->most - t->at) {
        error_set(t->err, ERROR_FORMAT, "sends more than the %" PRIu64 " bytes that %s", t->most,
                  t->download->bytes ? "the list says" : "are allowed");
        return end_transfer(t, GET_REFUSED);
    }
    while (written < length) {
        ssize_t step = write(t->file, bytes + written, length - written);
        if (step < 0 && errno == EINTR)
            continue;
        if (step <= 0) {
            bool full = errno == ENOSPC || errno == EDQUOT;
            error_set(t->err, ERROR_FILE, "%.300s: %s", t->part, strerror(errno));
            return end_transfer(t, full ? GET_SPACE : GET_FAILED);
        }
        written += (size_t)step;
        t->at += (uint64_t)step;
    }
    if (t->manner->progress)
        t->manner->progress(t->manner->owner, t->at,
                            t->download->bytes ? t->download->bytes : t->total);
    return length;
}

static int watch(void *owner, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    const struct transfer *t = owner;
    (void)a, (void)b, (void)c, (void)d;
    return is_stopped(t->manner->stop);
}

/* Opens PATH.part. Its content is kept if the server or a SHA-256 can verify that it is the
 * beginning of the same file. */
static enum get_status open_part(struct transfer *t) {
    struct stat now;
    const struct download *download = t->download;
    t->file = open(t->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (t->file < 0 || fstat(t->file, &now) != 0 || !S_ISREG(now.st_mode))
        return get_fail(t->err, GET_FAILED, ERROR_FILE, "%.300s: %s", t->part,
                        t->file < 0 ? strerror(errno) : "is not a regular file");
    int file = open(t->validator_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t length = file >= 0 ? read(file, t->validator, sizeof t->validator - 1) : 0;
    if (file >= 0)
        close(file);
    t->validator[length > 0 ? length : 0] = '\0';
    if (!is_strong(t->validator))
        t->validator[0] = '\0';
    t->at = (uint64_t)now.st_size;
    bool known = download->sha256 || t->validator[0];
    if (t->at > 0 && (!known || t->at > t->most || (t->at == t->most && !download->bytes)))
        t->at = 0;
    if (ftruncate(t->file, (off_t)t->at) != 0 || lseek(t->file, (off_t)t->at, SEEK_SET) < 0)
        return get_fail(t->err, GET_FAILED, ERROR_FILE, "%.300s: %s", t->part, strerror(errno));
    return GET_DONE;
}

/* ---- redirects ---- */

static bool add_line(struct curl_slist **list, const char *name, const char *value) {
    char line[VALIDATOR_BYTES + 64];
    int length = snprintf(line, sizeof line, "%s: %s", name, value);
    struct curl_slist *longer =
        length > 0 && (size_t)length < sizeof line ? curl_slist_append(*list, line) : NULL;
    *list = longer ? longer : *list;
    return longer != NULL;
}

/* Sends one request, and sets the code of the reply. curl does not follow redirects, because each
 * is checked first. */
static CURLcode ask(struct transfer *t, const char *url, long *code) {
    struct curl_slist *headers = NULL;
    char range[32], bearer[VALIDATOR_BYTES];
    const char *token = t->download->token, *bundle = getenv("CURL_CA_BUNDLE"),
               *folder = getenv("SSL_CERT_DIR");
    bool made = true;
    *code = 0;
    if (t->at > 0 && t->validator[0])
        made = add_line(&headers, "If-Range", t->validator);
    if (made && token && *token && strlen(token) < sizeof bearer - 8 && !strpbrk(token, "\r\n") &&
        same_host(url, t->download->url)) {
        snprintf(bearer, sizeof bearer, "Bearer %s", token);
        made = add_line(&headers, "Authorization", bearer);
    }
    if (!made) {
        curl_slist_free_all(headers);
        return CURLE_OUT_OF_MEMORY;
    }

    curl_easy_reset(t->curl);
    curl_easy_setopt(t->curl, CURLOPT_URL, url);
    curl_easy_setopt(t->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(t->curl, CURLOPT_QUICK_EXIT,
                     1L); /* does not wait for a name that is still being looked up */
    curl_easy_setopt(t->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(t->curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(t->curl, CURLOPT_USERAGENT, "alignd/" ALIGND_VERSION);
    curl_easy_setopt(t->curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    curl_easy_setopt(t->curl, CURLOPT_LOW_SPEED_LIMIT, (long)MIN_BYTES_PER_SECOND);
    curl_easy_setopt(t->curl, CURLOPT_LOW_SPEED_TIME, (long)t->manner->stall_s);
    curl_easy_setopt(t->curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(t->curl, CURLOPT_OPENSOCKETDATA, t);
    curl_easy_setopt(t->curl, CURLOPT_FRESH_CONNECT,
                     1L); /* so that the address of each connection is checked */
    curl_easy_setopt(t->curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(t->curl, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(t->curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(t->curl, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(t->curl, CURLOPT_XFERINFOFUNCTION, watch);
    curl_easy_setopt(t->curl, CURLOPT_XFERINFODATA, t);
    curl_easy_setopt(t->curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(t->curl, CURLOPT_HTTPHEADER, headers);
    if (!bundle || !*bundle)
        bundle = getenv("SSL_CERT_FILE");
    if (bundle && *bundle)
        curl_easy_setopt(t->curl, CURLOPT_CAINFO, bundle);
    if (folder && *folder)
        curl_easy_setopt(t->curl, CURLOPT_CAPATH, folder);
    if (t->at > 0) {
        snprintf(range, sizeof range, "%" PRIu64 "-", t->at);
        curl_easy_setopt(t->curl, CURLOPT_RANGE, range);
    }

    t->begun = t->wanted = false;
    t->passed = t->total = t->headers = 0;
    t->address[0] = '\0';
    t->status = GET_DONE;
    CURLcode result = curl_easy_perform(t->curl);
    curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, code);
    curl_slist_free_all(headers);
    return result;
}

/* The result of a try. */
struct outcome {
    enum get_status status; /* unless GET_DONE, err has a message */
    bool again;             /* another try may help */
    size_t wait_ms;         /* the wait that the server asks for; 0: none */
};

static struct outcome judge(struct transfer *t, CURLcode result, long code, struct error *err) {
    static const CURLcode fatal[] = {CURLE_UNSUPPORTED_PROTOCOL,
                                     CURLE_URL_MALFORMAT,
                                     CURLE_OUT_OF_MEMORY,
                                     CURLE_SSL_CONNECT_ERROR,
                                     CURLE_PEER_FAILED_VERIFICATION,
                                     CURLE_SSL_CACERT_BADFILE,
                                     CURLE_SSL_ISSUER_ERROR};
    char reason[256];
    curl_off_t wait_s = 0;
    if (result == CURLE_OPERATION_TIMEDOUT && t->begun)
        snprintf(reason, sizeof reason, "sends less than %d bytes a second for %zu s",
                 MIN_BYTES_PER_SECOND, t->manner->stall_s);
    else
        snprintf(reason, sizeof reason, "%s", curl_easy_strerror(result));
    if (is_stopped(t->manner->stop))
        return (struct outcome){get_fail_stopped(err), false, 0};
    if (t->status != GET_DONE) /* a callback has set the reason */
        return (struct outcome){t->status, false, 0};
    if (t->address[0] && result != CURLE_OK) {
        error_set(err, ERROR_FORMAT, "leads to the private address %s: only --mirror may have one",
                  t->address);
        return (struct outcome){GET_REFUSED, false, 0};
    }
    if (code == STATUS_OK || code == STATUS_PARTIAL) {
        uint64_t whole = t->download->bytes ? t->download->bytes : t->total;
        if (result == CURLE_OK && (t->at == whole || whole == 0) && t->begun)
            return (struct outcome){GET_DONE, false, 0};
        if (result == CURLE_OK)
            error_set(err, ERROR_FILE, "ends after %" PRIu64 " of %" PRIu64 " bytes", t->at, whole);
        else
            error_set(err, ERROR_FILE, "%s", reason);
        return (struct outcome){GET_NETWORK, true, 0};
    }
    if (result != CURLE_OK && code < 300) {
        bool again = true;
        for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
            again = again && result != fatal[i];
        error_set(err, result == CURLE_OUT_OF_MEMORY ? ERROR_MEMORY : ERROR_FILE, "%s", reason);
        return (struct outcome){result == CURLE_OUT_OF_MEMORY ? GET_FAILED : GET_NETWORK, again, 0};
    }
    curl_easy_getinfo(t->curl, CURLINFO_RETRY_AFTER, &wait_s);
    error_set(err, ERROR_FILE, "the server answers %ld", code);
    bool later = code == 408 || code == 425 || code == 429 || code >= 500;
    size_t wait_ms = wait_s > 0 && wait_s < MOST_WAIT_MS / 1000 ? (size_t)wait_s * 1000
                     : wait_s > 0                               ? (size_t)MOST_WAIT_MS
                                                                : 0;
    return (struct outcome){code == 404 || code == 410 ? GET_UNKNOWN : GET_NETWORK, later, wait_ms};
}

/* Follows redirects from the URL to the file. */
static struct outcome try_once(struct transfer *t, struct error *err) {
    char *url = strdup(t->download->url);
    t->first = true;
    t->has_origin = false;
    t->err = err;
    for (int hops = 0; url; hops++) {
        long code = 0;
        CURLcode result = ask(t, url, &code);
        char *next = NULL;
        bool redirects = code == 301 || code == 302 || code == 303 || code == 307 || code == 308;
        if (code == STATUS_RANGE && t->at > 0 && start_over(t) == 0 && hops < MOST_REDIRECTS)
            continue; /* PATH.part is not the beginning of the file */
        if (redirects && t->status == GET_DONE)
            curl_easy_getinfo(t->curl, CURLINFO_REDIRECT_URL, &next);
        if (!next) {
            free(url);
            return judge(t, result, code, err);
        }

        bool was_http = strncasecmp(url, "http://", 7) == 0;
        bool http = strncasecmp(next, "http://", 7) == 0,
             https = strncasecmp(next, "https://", 8) == 0;
        free(url);
        if (hops == MOST_REDIRECTS)
            error_set(err, ERROR_FORMAT, "redirects more than %d times", MOST_REDIRECTS);
        else if (!http && !https)
            error_set(err, ERROR_FORMAT,
                      "redirects to %.100s, and only http:// and https:// are followed", next);
        else if (http && !was_http)
            error_set(err, ERROR_FORMAT, "redirects from https:// to %.100s", next);
        else if (names_private(next) &&
                 !t->has_origin) /* otherwise the check of the socket decides */
            error_set(err, ERROR_FORMAT,
                      "redirects to the private address %.100s: only --mirror may have one", next);
        if (err->code != ERROR_NONE)
            return (struct outcome){GET_REFUSED, false, 0};
        url = strdup(next);
        t->first = false;
    }
    error_memory(err);
    return (struct outcome){GET_FAILED, false, 0};
}

/* ---- the file ---- */

int download_begin(struct error *err) {
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : error_memory(err);
}

void download_end(void) {
    curl_global_cleanup();
}

/* Verifies PATH.part, which is complete, syncs it to the disk and renames it. */
static enum get_status finish(struct transfer *t, struct error *err) {
    char sha256[65];
    if (t->download->sha256) {
        enum get_status status = download_digest(t->part, t->manner->stop, sha256, err);
        if (status != GET_DONE)
            return status;
        if (strcmp(sha256, t->download->sha256) != 0)
            return get_fail(err, GET_REFUSED, ERROR_FORMAT,
                            "has the SHA-256 %.16s..., and the list says %.16s...", sha256,
                            t->download->sha256);
    }
    if (fsync(t->file) != 0 || rename(t->part, t->download->path) != 0)
        return get_fail(err, GET_FAILED, ERROR_FILE, "%.300s: %s", t->download->path,
                        strerror(errno));
    unlink(t->validator_path);
    return GET_DONE;
}

/* Retries until the file is complete, or no retries are left. */
static enum get_status transfer_all(struct transfer *t, struct error *err) {
    uint64_t reached =
        t->at; /* the bytes that PATH.part had when the retries were last counted from zero */
    size_t wait_ms = FIRST_WAIT_MS;
    bool old = t->at > 0; /* a part from an earlier run, which may be of another file */
    for (size_t tries = 0;;) {
        struct error inner = {0};
        bool whole = t->download->bytes > 0 && t->at == t->download->bytes;
        struct outcome outcome = whole ? (struct outcome){GET_DONE, false, 0} : try_once(t, &inner);
        if (outcome.status == GET_DONE) {
            outcome.status = finish(t, &inner);
            if (outcome.status == GET_REFUSED && old) { /* start over, once */
                old = false;
                t->validator[0] = '\0';
                if (start_over(t) == 0)
                    continue;
            }
        }
        if (t->at >= reached + HEADWAY_BYTES) { /* bytes that are downloaded again after starting
                                                   over do not count */
            reached = t->at;
            tries = 0;
            wait_ms = FIRST_WAIT_MS;
        }
        if (outcome.status == GET_DONE || !outcome.again || tries++ >= t->manner->retries) {
            error_set(err, inner.code, "%.500s: %s", t->download->url, inner.message);
            return outcome.status;
        }
        bool belongs =
            t->download->sha256 || t->validator[0]; /* if false, the rest may be of another file */
        if (t->at > 0 && !belongs && start_over(t) != 0)
            return get_fail(err, GET_FAILED, ERROR_FILE, "%.300s: %s", t->part, strerror(errno));
        size_t pause_ms = outcome.wait_ms > wait_ms ? outcome.wait_ms : wait_ms;
        if (t->manner->retried)
            t->manner->retried(t->manner->owner, inner.message, pause_ms);
        for (int64_t until_us = clock_us() + (int64_t)pause_ms * 1000; clock_us() < until_us;) {
            const struct timespec step = {0, WAIT_STEP_MS * 1000000L};
            if (is_stopped(t->manner->stop))
                return get_fail_stopped(err);
            nanosleep(&step, NULL);
        }
        wait_ms = wait_ms * 2 < MOST_WAIT_MS ? wait_ms * 2 : (size_t)MOST_WAIT_MS;
    }
}

enum get_status download_file(const struct download_manner *manner, const struct download *download,
                              struct error *err) {
    struct transfer t = {.manner = manner,
                         .download = download,
                         .file = -1,
                         .most = download->bytes ? download->bytes : download->most};
    struct error inner = {0};
    t.err = &inner;
    const char *slash = strrchr(download->path, '/');
    snprintf(t.folder, sizeof t.folder, "%.*s", slash ? (int)(slash - download->path) : 1,
             slash ? download->path : ".");
    int length = snprintf(t.part, sizeof t.part, "%s.part", download->path);
    snprintf(t.validator_path, sizeof t.validator_path, "%s.etag", download->path);
    if (length < 0 || (size_t)length >= sizeof t.part)
        return get_fail(err, GET_FAILED, ERROR_FILE, "%.100s: the path is too long",
                        download->path);
    if (strncasecmp(download->url, "http://", 7) != 0 &&
        strncasecmp(download->url, "https://", 8) != 0)
        return get_fail(err, GET_REFUSED, ERROR_INPUT,
                        "%.200s: must begin with http:// or https://", download->url);
    enum get_status status = GET_FAILED;
    t.curl = curl_easy_init();
    if (t.curl)
        status = open_part(&t);
    else
        error_memory(&inner);
    if (t.curl && status == GET_DONE)
        status = transfer_all(&t, &inner);
    bool nothing = t.file >= 0 && t.at == 0;
    if (t.file >= 0)
        close(t.file);
    if (status == GET_REFUSED || status == GET_UNKNOWN || status == GET_DONE || nothing) {
        unlink(t.part);
        unlink(t.validator_path);
    }
    curl_easy_cleanup(t.curl);
    if (status != GET_DONE)
        error_set(err, inner.code, "%s", inner.message);
    return status;
}
