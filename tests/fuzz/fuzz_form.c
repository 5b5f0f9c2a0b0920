/* Forms and query strings as libmicrohttpd passes them on: a request over a socket pair to a daemon
 * without a thread. The first byte chooses the content type, the first line is the query string,
 * the rest the body. */
#include "server/http/form.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/requests.h"
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_BYTES = 8192, MAX_QUERY = 1024, MAX_BODY = 65536, MANY_RUNS = 1000 };

struct exchange {
    char body[MAX_BODY];
    size_t length;
    bool begun, over;
};
static struct exchange exchange;

static enum MHD_Result answer(struct MHD_Connection *connection) {
    struct call call = {
        .body = exchange.body,
        .length = exchange.length,
        .content_type = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Type")};
    struct arena arena;
    arena_init(&arena, 4096);
    struct reply refusal = {0};
    if (form_read(connection, &arena, &call, &refusal) != 0)
        FUZZ_CHECK(refusal.status == STATUS_INVALID);
    free(refusal.body);
    for (size_t i = 0; i < call.field_count; i++)
        FUZZ_CHECK(call.fields[i].value[call.fields[i].length] == '\0');
    if (refusal.status == 0)
        fuzz_request("/translate", &call);
    arena_done(&arena);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    enum MHD_Result queued = MHD_queue_response(connection, 200, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result handle(void *closure, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_bytes, void **state) {
    (void)closure, (void)path, (void)method, (void)version;
    if (!exchange.begun) {
        exchange.begun = true;
        *state = &exchange;
        return MHD_YES;
    }
    if (*upload_bytes == 0)
        return answer(connection);
    FUZZ_CHECK(*upload_bytes <= MAX_BODY - exchange.length);
    memcpy(exchange.body + exchange.length, upload, *upload_bytes);
    exchange.length += *upload_bytes;
    *upload_bytes = 0;
    return MHD_YES;
}

static void completed(void *closure, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode code) {
    (void)closure, (void)connection, (void)state, (void)code;
    exchange.over = true;
}

static void ignore(void *closure, const char *format, va_list arguments) {
    (void)closure, (void)format, (void)arguments;
}

static struct MHD_Daemon *start(void) {
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ERROR_LOG, 0, NULL, NULL, handle, NULL,
                         MHD_OPTION_EXTERNAL_LOGGER, ignore, NULL, MHD_OPTION_NOTIFY_COMPLETED,
                         completed, NULL, MHD_OPTION_END);
    FUZZ_CHECK(daemon);
    return daemon;
}

/* Visible ASCII as it stands, so that what an input says of the query string can be read in it; the
 * rest escaped. */
static size_t write_query(const uint8_t *query, size_t length, char *out) {
    size_t written = 0;
    for (size_t i = 0; i < length && i < MAX_QUERY; i++) {
        bool plain = query[i] > ' ' && query[i] < 0x7f && query[i] != '#';
        written += (size_t)sprintf(out + written, plain ? "%c" : "%%%02x", query[i]);
    }
    return written;
}

static void send_request(struct MHD_Daemon *daemon, const char *head, const uint8_t *body,
                         size_t length) {
    int pair[2];
    struct sockaddr_in peer = {.sin_family = AF_INET};
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    FUZZ_CHECK(write(pair[0], head, strlen(head)) == (ssize_t)strlen(head) &&
               write(pair[0], body, length) == (ssize_t)length);
    exchange.begun = exchange.over = false;
    exchange.length = 0;
    MHD_add_connection(daemon, pair[1], (struct sockaddr *)&peer, sizeof peer);
    for (int i = 0; i < MANY_RUNS && !exchange.over; i++)
        MHD_run(daemon);
    FUZZ_CHECK(exchange.over || !exchange.begun); /* one that libmicrohttpd refuses never begins */
    close(pair[0]);
    MHD_run(daemon);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const types[] = {"application/x-www-form-urlencoded",
                                        "multipart/form-data; boundary=b", "application/json",
                                        "text/plain"};
    static struct MHD_Daemon *daemon;
    static char head[HEAD_BYTES], query[3 * MAX_QUERY + 1];
    if (!daemon)
        daemon = start();
    if (size == 0)
        return 0;
    const uint8_t *line = memchr(data, '\n', size), *body = line ? line + 1 : data + size;
    size_t length = (size_t)(data + size - body);
    query[write_query(data + 1, line > data ? (size_t)(line - data - 1) : 0, query)] = '\0';
    snprintf(head, sizeof head,
             "POST /translate?%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: "
             "%s\r\n"
             "Content-Length: %zu\r\n\r\n",
             query, types[data[0] % 4], length < MAX_BODY ? length : MAX_BODY);
    send_request(daemon, head, body, length < MAX_BODY ? length : MAX_BODY);
    return 0;
}
