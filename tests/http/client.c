#include "tests/http/client.h"
#include "tests/check.h"
#include "tests/http/suites.h"
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { MOVE_MS = 5, REPLY_S = 55, MAX_FLIGHT = 256 };

/* ---- one request ---- */

/* The bytes of a buffer in which a text of this length stands: a power of two. */
static size_t capacity(size_t length) {
    size_t bytes = 256;
    while (bytes <= length)
        bytes *= 2;
    return bytes;
}

static size_t append(char **text, size_t *length, const char *bytes, size_t count) {
    size_t room = capacity(*length + count);
    if (!*text || room > capacity(*length))
        *text = realloc(*text, room);
    ck_assert_ptr_nonnull(*text);
    memcpy(*text + *length, bytes, count);
    *length += count;
    (*text)[*length] = '\0';
    return count;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *closure) {
    struct reply *reply = closure;
    return append(&reply->body, &reply->length, bytes, size * count);
}

static size_t take_header(char *bytes, size_t size, size_t count, void *closure) {
    struct reply *reply = closure;
    size_t length = reply->headers ? strlen(reply->headers) : 0;
    return append(&reply->headers, &length, bytes, size * count);
}

/* A request on its way. */
struct transfer {
    CURL *easy;
    struct curl_slist *headers;
    struct reply *reply;
    bool own;    /* the easy handle ends with the transfer */
    bool landed; /* of a flight: the reply is complete, one way or the other */
};

static void set_body(CURL *easy, const struct call *call) {
    if (!call->json && !call->body)
        return;
    size_t length = call->json     ? strlen(call->json)
                    : call->length ? call->length
                                   : strlen(call->body);
    char *body = malloc(length + 1);
    ck_assert_ptr_nonnull(body);
    memcpy(body, call->json ? call->json : call->body, length);
    for (size_t i = 0; call->json && i < length; i++) {
        if (body[i] == '\'')
            body[i] = '"';
    }
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
    curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, body);
    free(body);
}

static void set_method(CURL *easy, const char *method) {
    if (method && strcmp(method, "HEAD") == 0)
        curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    else if (method)
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
}

/* "unix:PATH" or "HOST:PORT", where the daemon speaks HTTPS if it has a certificate. */
static void set_address(CURL *easy, const struct daemon *daemon, const char *path) {
    static char url[32 * 1024];
    bool local = strncmp(daemon->address, "unix:", 5) == 0, secure = daemon->certificate && !local;
    ck_assert_int_lt(snprintf(url, sizeof url, "%s://%s%s", secure ? "https" : "http",
                              local ? "localhost" : daemon->address, path),
                     (int)sizeof url);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    if (local)
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, daemon->address + 5);
    if (secure)
        curl_easy_setopt(easy, CURLOPT_CAINFO, daemon->certificate);
}

static void transfer_begin(struct transfer *transfer, const struct daemon *daemon,
                           const struct call *call, struct reply *reply) {
    CURL *easy = call->connection ? call->connection : connection_open();
    *reply = (struct reply){0};
    *transfer = (struct transfer){.easy = easy, .reply = reply, .own = !call->connection};
    curl_easy_reset(easy); /* keeps the connection */
    transfer->headers = curl_slist_append(NULL, "Expect:");
    for (size_t i = 0; i < MAX_HEADERS && call->headers[i]; i++)
        transfer->headers = curl_slist_append(transfer->headers, call->headers[i]);
    set_address(easy, daemon, call->path);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, call->tls_version);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)REPLY_S * program_slowness());
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer->headers);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, reply);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, reply);
    if (call->from)
        curl_easy_setopt(easy, CURLOPT_INTERFACE, call->from);
    set_body(easy, call);
    set_method(easy, call->method);
}

static void transfer_end(struct transfer *transfer, CURLcode code) {
    struct reply *reply = transfer->reply;
    char type[HEADER_BYTES];
    transfer->landed = true;
    if (code == CURLE_OK)
        curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &reply->status);
    if (reply->body && reply_header(reply, "Content-Type", type) &&
        strncmp(type, "application/json", 16) == 0)
        reply->json = json_loadb(reply->body, reply->length, 0, NULL);
    curl_slist_free_all(transfer->headers);
    if (transfer->own)
        curl_easy_cleanup(transfer->easy);
}

void client_send(const struct daemon *daemon, const struct call *call, struct reply *reply) {
    struct transfer transfer;
    transfer_begin(&transfer, daemon, call, reply);
    transfer_end(&transfer, curl_easy_perform(transfer.easy));
}

void client_post(const struct daemon *daemon, const char *path, const char *json, long status,
                 struct reply *reply) {
    client_send(daemon, &(struct call){.path = path, .json = json}, reply);
    ck_assert_msg(reply->status == status, "%s %s: %ld %s", path, json, reply->status,
                  reply->body ? reply->body : "");
    ck_assert_ptr_nonnull(reply->json);
}

void client_ask(const struct daemon *daemon, const char *path, const char *text, const char *fields,
                long status, struct reply *reply) {
    char json[32768];
    int length =
        snprintf(json, sizeof json, "{'text': '%s'%s%s}", text, *fields ? ", " : "", fields);
    ck_assert_int_lt(length, sizeof json);
    client_post(daemon, path, json, status, reply);
}

void reply_done(struct reply *reply) {
    free(reply->headers);
    free(reply->body);
    json_decref(reply->json);
    *reply = (struct reply){0};
}

bool reply_header(const struct reply *reply, const char *name, char value[HEADER_BYTES]) {
    size_t length = strlen(name);
    for (const char *line = reply->headers; line && *line;) {
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            const char *begin = line + length + 1 + strspn(line + length + 1, " ");
            snprintf(value, HEADER_BYTES, "%.*s", (int)strcspn(begin, "\r\n"), begin);
            return true;
        }
        line = strchr(line, '\n');
        line += line ? 1 : 0;
    }
    return false;
}

CURL *connection_open(void) {
    CURL *easy = curl_easy_init();
    ck_assert_ptr_nonnull(easy);
    return easy;
}

/* ---- many at once ---- */

struct flight {
    const struct daemon *daemon;
    CURLM *multi;
    struct transfer transfers[MAX_FLIGHT];
    size_t count, landed;
};

struct flight *flight_open(const struct daemon *daemon) {
    struct flight *flight = calloc(1, sizeof *flight);
    ck_assert_ptr_nonnull(flight);
    flight->daemon = daemon;
    flight->multi = curl_multi_init();
    ck_assert_ptr_nonnull(flight->multi);
    return flight;
}

void flight_send(struct flight *flight, const struct call *call, struct reply *reply) {
    ck_assert_uint_lt(flight->count, MAX_FLIGHT);
    struct transfer *transfer = &flight->transfers[flight->count++];
    transfer_begin(transfer, flight->daemon, call, reply);
    curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
    ck_assert_int_eq(curl_multi_add_handle(flight->multi, transfer->easy), CURLM_OK);
}

size_t flight_move(struct flight *flight) {
    int running, queued;
    ck_assert_int_eq(curl_multi_perform(flight->multi, &running), CURLM_OK);
    for (CURLMsg *message; (message = curl_multi_info_read(flight->multi, &queued)) != NULL;
         flight->landed++) {
        struct transfer *transfer;
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        curl_multi_remove_handle(flight->multi, transfer->easy);
        transfer_end(transfer, code);
    }
    if (flight->landed < flight->count)
        curl_multi_poll(flight->multi, NULL, 0, MOVE_MS, NULL);
    return flight->count - flight->landed;
}

void flight_land(struct flight *flight) {
    while (flight_move(flight) > 0) { /* bounded by REPLY_S */
    }
}

void flight_close(struct flight *flight) {
    for (size_t i = 0; i < flight->count; i++) {
        struct transfer *transfer = &flight->transfers[i];
        if (transfer->landed)
            continue;
        curl_multi_remove_handle(flight->multi, transfer->easy);
        transfer_end(transfer, CURLE_ABORTED_BY_CALLBACK);
    }
    curl_multi_cleanup(flight->multi);
    free(flight);
}

/* ---- metrics ---- */

static const char *find_line(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *line = text; line && *line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, name, length) == 0 && line[length] == ' ')
            return line + length;
    }
    return NULL;
}

double metric(const struct daemon *daemon, const char *name) {
    struct reply reply;
    client_send(daemon, &(struct call){.path = "/metrics"}, &reply);
    ck_assert_int_eq(reply.status, 200);
    const char *value = find_line(reply.body, name);
    ck_assert_msg(value != NULL || strchr(name, '{'), "no metric %s", name);
    double number = value ? strtod(value, NULL) : 0;
    reply_done(&reply);
    return number;
}

static void await_between(const struct daemon *daemon, const char *name, double least, double most,
                          struct flight *flight) {
    for (struct patience patience = {0};;) {
        if (flight)
            flight_move(flight);
        double now = metric(daemon, name);
        if (now >= least && now <= most)
            return;
        patience_wait(&patience, name);
    }
}

void metric_await(const struct daemon *daemon, const char *name, double value,
                  struct flight *flight) {
    await_between(daemon, name, value, value, flight);
}

void metric_await_least(const struct daemon *daemon, const char *name, double value,
                        struct flight *flight) {
    await_between(daemon, name, value, INFINITY, flight);
}

/* ---- raw bytes ---- */

int raw_open(const struct daemon *daemon) {
    return raw_open_from(daemon, "0.0.0.0");
}

int raw_open_from(const struct daemon *daemon, const char *from) {
    struct sockaddr_in source = {.sin_family = AF_INET};
    ck_assert_int_eq(inet_pton(AF_INET, from, &source.sin_addr), 1);
    const char *colon = strrchr(daemon->address, ':');
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct timeval limit = {.tv_sec = REPLY_S * program_slowness()};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit), 0);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&source, sizeof source), 0);
    ck_assert_int_eq(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

bool raw_closed(int connection) {
    char buffer[4096];
    ssize_t count;
    while ((count = recv(connection, buffer, sizeof buffer, 0)) > 0) {
    }
    return count == 0 || errno == ECONNRESET;
}

void raw_write(int connection, const char *bytes, size_t length) {
    for (size_t sent = 0; sent < length;) {
        ssize_t count = send(connection, bytes + sent, length - sent, MSG_NOSIGNAL);
        if (count <= 0)
            return;
        sent += (size_t)count;
    }
}

char *raw_send(const struct daemon *daemon, const char *bytes, size_t length, bool half_close) {
    char buffer[4096], *text = NULL;
    size_t received = 0;
    int fd = raw_open(daemon);
    raw_write(fd, bytes, length);
    if (half_close)
        shutdown(fd, SHUT_WR);
    append(&text, &received, "", 0);
    for (ssize_t count; (count = recv(fd, buffer, sizeof buffer, 0)) > 0;)
        append(&text, &received, buffer, (size_t)count);
    close(fd);
    return text;
}

/* ---- JSON ---- */

size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        count++;
    return count;
}

json_t *json_at(const json_t *root, const char *path) {
    json_t *value = NULL;
    for (const char *at = path; at;) {
        char key[64];
        size_t length = strcspn(at, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, at);
        value = json_is_array(root) ? json_array_get(root, strtoul(key, NULL, 10))
                                    : json_object_get(root, key);
        ck_assert_msg(value != NULL, "nothing at \"%s\" (%s)", path, key);
        root = value;
        at = at[length] == '.' ? at + length + 1 : NULL;
    }
    return value;
}

const char *text_at(const json_t *root, const char *path) {
    const json_t *value = json_at(root, path);
    ck_assert_msg(json_is_string(value), "no string at \"%s\"", path);
    return json_string_value(value);
}

double number_at(const json_t *root, const char *path) {
    const json_t *value = json_at(root, path);
    ck_assert_msg(json_is_number(value), "no number at \"%s\"", path);
    return json_number_value(value);
}

/* UTF-16 units of the first bytes of a text. */
static size_t utf16_units(const char *text, size_t bytes) {
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)text[i];
        count += (byte & 0xC0) != 0x80; /* a character begins here */
        count += byte >= 0xF0;          /* beyond the basic plane: two units */
    }
    return count;
}

struct slice slice_at(const json_t *offset, const char *text) {
    struct slice slice = {(size_t)number_at(offset, "start"), (size_t)number_at(offset, "end")};
    ck_assert_uint_eq(json_object_size(offset), 4);
    ck_assert_uint_le(slice.start, slice.end);
    ck_assert_uint_le(slice.end, strlen(text));
    ck_assert_uint_eq((size_t)number_at(offset, "start_utf16"), utf16_units(text, slice.start));
    ck_assert_uint_eq((size_t)number_at(offset, "end_utf16"), utf16_units(text, slice.end));
    return slice;
}
