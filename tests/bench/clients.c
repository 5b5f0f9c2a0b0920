/* Load over HTTP: build/tests/bench/clients PORT CONNECTIONS FIELDS [timed] < source.txt
 *
 * Sends each line once as a POST /translate of its own over CONNECTIONS keep-alive connections to
 * 127.0.0.1, each connection with one request under way. FIELDS: what a request asks besides its
 * text, as in JSON: '"strategy":"greedy","include":["attention"]'. If FIELDS is `websocket`, each
 * line is a text message to the WebSocket /translate instead, which marian-server answers with one.
 *
 * As it is, a connection sends the next line when its last one is answered (closed loop). With
 * `timed` each line begins with the second at which it is due, in ascending order, and a tab; it is
 * sent then, whether or not others are answered (open loop), and its time counts from there even
 * where it had to wait for a connection.
 *
 * Prints one line: requests, those without an answer of status 200 (over a WebSocket: without a
 * text), seconds, requests a second, and mean and percentiles of the time to the answer. The first
 * failure goes to standard error. */
#include "tests/bench/measure.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES = 1 << 20, MAX_CONNECTIONS = 1024, EVENTS = 64, PATIENCE_S = 60 };

struct connection {
    int fd;
    bool busy;
    double began; /* seconds of now(); timed: when the request was due */
    size_t received;
    char *answer; /* [ANSWER_BYTES] */
};

struct line {
    char *text; /* as it is sent: over HTTP the inside of a JSON string */
    double due; /* seconds from the beginning; timed only */
};

struct load {
    int port, epoll;
    bool timed, websocket;
    const char *fields;
    struct line *lines; /* [count] */
    size_t count, next, done, failed;
    double began;
    double *times;            /* [done] seconds */
    struct connection **idle; /* [idle_count] */
    size_t idle_count;
};

static void die(const char *what) {
    perror(what);
    exit(1);
}

/* Copies a line as the inside of a JSON string. */
static void escape(const char *line, char *out, size_t room) {
    size_t at = 0;
    for (; *line && at + 7 < room; line++) {
        if (*line == '"' || *line == '\\')
            out[at++] = '\\';
        if ((unsigned char)*line >= ' ')
            out[at++] = *line;
    }
    out[at] = '\0';
}

static void read_lines(struct load *load) {
    char *line = NULL, text[16384];
    size_t room = 0;
    for (ssize_t length; (length = getline(&line, &room, stdin)) > 0;) {
        line[length - (line[length - 1] == '\n')] = '\0';
        char *begin = line;
        double due = load->timed ? strtod(line, &begin) : 0;
        begin += *begin == '\t';
        escape(begin, text, sizeof text);
        load->lines = must(realloc(load->lines, (load->count + 1) * sizeof *load->lines));
        load->lines[load->count++] =
            (struct line){must(strndup(load->websocket ? begin : text, sizeof text - 1)), due};
    }
    free(line);
    load->times = must(calloc(load->count + 1, sizeof *load->times));
}

/* The opening handshake of RFC 6455, section 4. The server's acceptance of the key is not checked.
 */
static void upgrade(int fd) {
    static const char request[] =
        "GET /translate HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: "
        "Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    char answer[4096] = "";
    size_t received = 0;
    if (send(fd, request, sizeof request - 1, MSG_NOSIGNAL) < 0)
        die("send");
    while (!strstr(answer, "\r\n\r\n")) {
        ssize_t count = read(fd, answer + received, sizeof answer - 1 - received);
        if (count <= 0)
            die("the server does not speak WebSocket");
        received += (size_t)count;
    }
}

static void open_connection(struct load *load, struct connection *c) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)load->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    int one = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) != 0)
        die("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (load->websocket)
        upgrade(c->fd);
    if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, c->fd, &event) != 0)
        die("epoll");
}

/* Writes a whole text message as one frame whose mask is zero (RFC 6455, section 5.2); returns its
 * bytes. */
static size_t write_frame(char *frame, const char *text) {
    size_t length = strlen(text), at = 0;
    frame[at++] = (char)0x81;
    frame[at++] = (char)(0x80 | (length < 126 ? length : 126));
    if (length >= 126) {
        frame[at++] = (char)(length >> 8);
        frame[at++] = (char)(length & 0xff);
    }
    memset(frame + at, 0, 4);
    memcpy(frame + at + 4, text, length);
    return at + 4 + length;
}

/* Sends the next line. A connection that has ended shows when it is read. */
static void send_next(struct load *load, struct connection *c) {
    char body[17000], message[18000];
    const struct line *line = &load->lines[load->next++];
    size_t total;
    if (load->websocket)
        total = write_frame(message, line->text);
    else {
        int length = snprintf(body, sizeof body, "{\"text\":\"%s\",%s,\"split_sentences\":false}",
                              line->text, load->fields);
        total = (size_t)snprintf(
            message, sizeof message,
            "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", length,
            body);
    }
    c->busy = true;
    c->began = load->timed ? load->began + line->due : now();
    c->received = 0;
    send(c->fd, message, total, MSG_NOSIGNAL);
}

/* Bytes of the first frame, or 0 while its header is not complete. A server's frames are not
 * masked. */
static size_t frame_bytes(const struct connection *c) {
    const unsigned char *frame = (const unsigned char *)c->answer;
    size_t short_length = c->received < 2 ? 0 : frame[1] & 0x7fU, header = short_length < 126 ? 2
                                                                           : short_length == 126
                                                                               ? 4
                                                                               : 10;
    if (c->received < header)
        return 0;
    size_t length = header == 2 ? short_length : 0;
    for (size_t i = 2; i < header; i++)
        length = length << 8 | frame[i];
    return header + length;
}

/* Bytes of the whole answer, or 0 while the headers are not complete. */
static size_t answer_bytes(const struct load *load, const struct connection *c) {
    if (load->websocket)
        return frame_bytes(c);
    const char *end = strstr(c->answer, "\r\n\r\n"),
               *length = strcasestr(c->answer, "\r\nContent-Length:");
    return end && length && length < end
               ? (size_t)(end + 4 - c->answer) + strtoul(length + 17, NULL, 10)
               : 0;
}

static void end_request(struct load *load, struct connection *c, bool good) {
    if (!good && load->failed++ == 0)
        fprintf(stderr, "%s\n",
                c->received > 0 ? c->answer : "the connection ended without an answer");
    load->times[load->done++] = now() - c->began;
    c->busy = false;
    load->idle[load->idle_count++] = c;
}

/* Reads what is there. Where the other side has closed, opens the connection anew. */
static void receive(struct load *load, struct connection *c) {
    ssize_t count = read(c->fd, c->answer + c->received, ANSWER_BYTES - 1 - c->received);
    if (count <= 0) {
        close(c->fd);
        open_connection(load, c);
        if (c->busy)
            end_request(load, c, false);
        return;
    }
    c->received += (size_t)count;
    c->answer[c->received] = '\0';
    size_t total = answer_bytes(load, c);
    if (c->busy && total > 0 && c->received >= total)
        end_request(load, c,
                    load->websocket ? (unsigned char)c->answer[0] == 0x81
                                    : strncmp(c->answer, "HTTP/1.1 200", 12) == 0);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sends what is due; returns the seconds until the next line is. */
static double send_due(struct load *load) {
    while (load->next < load->count && load->idle_count > 0) {
        double wait = load->timed ? load->began + load->lines[load->next].due - now() : 0;
        if (wait > 0)
            return wait;
        send_next(load, load->idle[--load->idle_count]);
    }
    return PATIENCE_S;
}

static void run(struct load *load) {
    while (load->done < load->count) {
        struct epoll_event events[EVENTS];
        double wait = send_due(load);
        struct timespec timeout = {(time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9)};
        int ready = epoll_pwait2(load->epoll, events, EVENTS, &timeout, NULL);
        if (ready < 0 || (ready == 0 && wait >= PATIENCE_S))
            die("no answer within a minute");
        for (int i = 0; i < ready; i++)
            receive(load, events[i].data.ptr);
    }
}

static double percentile_ms(const struct load *load, double share) {
    return load->done > 0 ? 1e3 * load->times[(size_t)((double)(load->done - 1) * share)] : 0;
}

static void report(struct load *load, size_t connections, double seconds) {
    double sum = 0;
    for (size_t i = 0; i < load->done; i++)
        sum += load->times[i];
    qsort(load->times, load->done, sizeof *load->times, by_value);
    printf("connections=%zu requests=%zu failed=%zu seconds=%.3f requests_per_second=%.1f "
           "mean_ms=%.3f p50_ms=%.2f p95_ms=%.2f "
           "p99_ms=%.2f max_ms=%.2f %s\n",
           connections, load->done, load->failed, seconds, (double)load->done / seconds,
           1e3 * sum / (double)load->done, percentile_ms(load, 0.5), percentile_ms(load, 0.95),
           percentile_ms(load, 0.99), percentile_ms(load, 1), load->fields);
}

int main(int argc, char **argv) {
    bool timed = argc == 5 && strcmp(argv[4], "timed") == 0;
    if ((argc != 4 && !timed) || atoi(argv[2]) < 1 || atoi(argv[2]) > MAX_CONNECTIONS) {
        fprintf(stderr, "usage: clients PORT CONNECTIONS FIELDS|websocket [timed] < source.txt\n");
        return 2;
    }
    struct load load = {
        .port = atoi(argv[1]), .epoll = epoll_create1(0), .timed = timed, .fields = argv[3]};
    load.websocket = strcmp(load.fields, "websocket") == 0;
    read_lines(&load);
    size_t count = (size_t)atoi(argv[2]);
    struct connection *connections = must(calloc(count, sizeof *connections));
    load.idle = must(calloc(count, sizeof(struct connection *)));
    for (size_t i = count; i-- > 0;) {
        connections[i].answer = must(malloc(ANSWER_BYTES));
        open_connection(&load, &connections[i]);
        load.idle[load.idle_count++] = &connections[i];
    }
    load.began = now();
    run(&load);
    report(&load, count, now() - load.began);
    for (size_t i = 0; i < count; i++) {
        close(connections[i].fd);
        free(connections[i].answer);
    }
    free(connections);
    free(load.idle);
    for (size_t i = 0; i < load.count; i++)
        free(load.lines[i].text);
    free(load.lines);
    free(load.times);
    close(load.epoll);
    return load.failed > 0;
}
