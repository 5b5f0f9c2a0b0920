#include "tests/load/peers.h"
#include "tests/load/tool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_BYTES = 256, RANDOM_BYTES = 4096, PATIENCE_S = 10 };

static const char body[] = "{\"text\":[\"A boy plays in the "
                           "snow.\",\"\\u00e9t\\u00e9\"],\"beam_size\":3,\"include\":[\"tokens\","
                           "\"attention\"],\"glossary\":{\"boy\":\"gar\\u00e7on\"}}";

static void allow_files(void) {
    struct rlimit files;
    tool_check(getrlimit(RLIMIT_NOFILE, &files) == 0, "getrlimit");
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

static void reset_connection(int fd) {
    struct linger linger = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(fd);
}

long peers_silent(const struct server *server, long count, double seconds) {
    int *fds = calloc((size_t)count, sizeof *fds);
    long made = 0;
    tool_check(fds, "memory");
    allow_files();
    while (made < count && (fds[made] = server_connect(server, true)) >= 0)
        made++;
    tool_sleep(seconds);
    for (long i = 0; i < made; i++)
        close(fds[i]);
    free(fds);
    return made;
}

static size_t write_head(char *head, size_t length) {
    return (size_t)snprintf(
        head, HEAD_BYTES,
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n", length);
}

long peers_half_open(const struct server *server, long count, double seconds) {
    char bytes[HEAD_BYTES + sizeof body];
    size_t length = write_head(bytes, sizeof body - 1);
    int *fds = calloc((size_t)count, sizeof *fds);
    long made = 0;
    memcpy(bytes + length, body, sizeof body);
    length += sizeof body - 1;
    tool_check(fds, "memory");
    allow_files();
    for (; made < count && (fds[made] = server_connect(server, true)) >= 0; made++) {
        (void)!send(fds[made], bytes, (size_t)made * 7 % length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (made % 2 == 0)
            shutdown(fds[made], SHUT_WR);
    }
    tool_sleep(seconds);
    for (long i = 0; i < made; i++)
        reset_connection(fds[i]);
    free(fds);
    return made;
}

static long is_wrong(int status) {
    return (status >= 200 && status < 300) || status >= 500;
}

long peers_random_bytes(const struct server *server, long count, long *wrong) {
    struct tool_random random = {1};
    char bytes[RANDOM_BYTES];
    for (long i = 0; i < count; i++) {
        size_t length = tool_random(&random) % sizeof bytes;
        for (size_t j = 0; j < length; j++)
            bytes[j] = (char)tool_random(&random);
        int status = server_ask(server, bytes, length, 1, PATIENCE_S, NULL, 0);
        *wrong +=
            is_wrong(status) && status != 505; /* "HTTP version not supported" is a fair answer */
    }
    return count;
}

long peers_truncated(const struct server *server, long *wrong) {
    char bytes[HEAD_BYTES + sizeof body];
    size_t head = write_head(bytes, sizeof body - 1);
    memcpy(bytes + head, body, sizeof body);
    for (size_t length = 0; length < sizeof body - 1; length++)
        *wrong += is_wrong(server_ask(server, bytes, head + length, 1, PATIENCE_S, NULL, 0));
    for (size_t length = 0; length < sizeof body - 1;
         length++) { /* the same bodies, with a head that tells the truth */
        size_t shorter = write_head(bytes, length);
        memcpy(bytes + shorter, body, length);
        *wrong += server_ask(server, bytes, shorter + length, 1, PATIENCE_S, NULL, 0) / 100 != 4;
    }
    return 2 * (long)(sizeof body - 1);
}

/* {"text":OPEN...OPEN1CLOSE...CLOSE} */
static long send_bomb(const struct server *server, const char *open, const char *close,
                      size_t depth) {
    size_t room = HEAD_BYTES + depth * (strlen(open) + strlen(close)) + 64;
    char *bytes = malloc(room), *text = malloc(room), *end = text;
    tool_check(bytes && text, "memory");
    end += sprintf(end, "{\"text\":");
    for (size_t i = 0; i < depth; i++)
        end = stpcpy(end, open);
    end = stpcpy(end, "1");
    for (size_t i = 0; i < depth; i++)
        end = stpcpy(end, close);
    end = stpcpy(end, "}");
    size_t head = write_head(bytes, (size_t)(end - text));
    memcpy(bytes + head, text, (size_t)(end - text));
    /* without ending its half of the connection: who does that while a body is read counts as gone
     */
    int status = server_ask(server, bytes, head + (size_t)(end - text), 0, PATIENCE_S, NULL, 0);
    free(bytes);
    free(text);
    return status != 400;
}

long peers_deep_json(const struct server *server, long *wrong) {
    static const char *const shapes[][2] = {
        {"[", "]"}, {"{\"a\":", "}"}, {"[{\"a\":", "}]"}, {"[", ""}, {"[[],", "]"}};
    static const size_t depths[] = {10, 100, 1000, 2047, 2048, 2049, 10000, 100000};
    long count = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (size_t j = 0; j < sizeof depths / sizeof *depths; j++, count++)
            *wrong += send_bomb(server, shapes[i][0], shapes[i][1], depths[j]);
    }
    return count;
}
