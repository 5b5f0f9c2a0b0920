#include "server/health.h"
#include "server/outgoing.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { REQUEST_BYTES = 1024, STATUS_LINE_BYTES = 64 };

/* A request is short enough for an empty socket to take it in one piece. */
static int send_request(const struct outgoing *server, const char *path, struct error *err) {
    char request[REQUEST_BYTES];
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    if (length < 0 || (size_t)length >= sizeof request)
        return error_set(err, ERROR_INPUT, "the path is too long");
    if (outgoing_send(server, request, (size_t)length) != length)
        return error_set(err, ERROR_FILE, "cannot send: %s", strerror(errno));
    return 0;
}

/* Reads the status line; what follows it is nobody's concern. */
static int read_status(const struct outgoing *server, int *status, struct error *err) {
    char line[STATUS_LINE_BYTES] = "";
    size_t length = 0;
    while (length < sizeof line - 1 && !strchr(line, '\n')) {
        ssize_t count = outgoing_receive(server, line + length, sizeof line - 1 - length);
        if (count < 0)
            return error_set(err, ERROR_FILE, "no reply: %s", strerror(errno));
        if (count == 0)
            break;
        length += (size_t)count;
        line[length] = '\0';
    }
    if (sscanf(line, "HTTP/1.%*1[01] %3d", status) != 1)
        return error_set(err, ERROR_FILE, "the reply is not HTTP");
    return 0;
}

int health_ask(const char *address, const char *path, bool https, int timeout_ms, struct error *err) {
    struct outgoing server;
    if (outgoing_open(&server, address, https, timeout_ms, err) != 0)
        return -1;
    int status = 0, result = -1;
    if (send_request(&server, path, err) == 0 && read_status(&server, &status, err) == 0)
        result = status == 200 ? 0 : error_set(err, ERROR_FILE, "%.100s answered with status %d", path, status);
    outgoing_close(&server);
    return result;
}
