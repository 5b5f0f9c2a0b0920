/* Load over HTTP: build/tests/bench/clients PORT CONNECTIONS FIELDS [timed] < source.txt
 *
 * Sends each line once as a POST /translate of its own over CONNECTIONS keep-alive connections to 127.0.0.1, each connection with
 * one request under way. FIELDS: what a request asks besides its text, as in JSON: '"strategy":"greedy","include":["attention"]'.
 *
 * As it is, a connection sends the next line when its last one is answered (closed loop). With `timed` each line begins with the
 * second at which it is due, in ascending order, and a tab; it is sent then, whether or not others are answered (open loop), and
 * its time counts from there even where it had to wait for a connection.
 *
 * Prints one line: requests, those not answered 200 (a connection that ended first is one), seconds, requests a second, and mean
 * and percentiles of the time to the answer. The first failure goes to standard error. */
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
    char *text; /* a JSON string's inside */
    double due; /* seconds from the beginning; timed only */
};

struct load {
    int port, epoll;
    bool timed;
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

/* The line as a JSON string's inside. */
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
        escape(begin + (*begin == '\t'), text, sizeof text);
        load->lines = must(realloc(load->lines, (load->count + 1) * sizeof *load->lines));
        load->lines[load->count++] = (struct line){must(strdup(text)), due};
    }
    free(line);
    load->times = must(calloc(load->count + 1, sizeof *load->times));
}

static void open_connection(struct load *load, struct connection *c) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)load->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    int one = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address) != 0)
        die("connect");
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, c->fd, &event) != 0)
        die("epoll");
}

/* Sends the next line. A connection that has ended shows when it is read. */
static void send_next(struct load *load, struct connection *c) {
    char body[17000], message[18000];
    const struct line *line = &load->lines[load->next++];
    int length = snprintf(body, sizeof body, "{\"text\":\"%s\",%s,\"split_sentences\":false}", line->text, load->fields);
    int total = snprintf(message, sizeof message, "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s",
                         length, body);
    c->busy = true;
    c->began = load->timed ? load->began + line->due : now();
    c->received = 0;
    send(c->fd, message, (size_t)total, MSG_NOSIGNAL);
}

/* Bytes of the whole answer, or 0 while the headers are not complete. */
static size_t answer_bytes(const struct connection *c) {
    const char *end = strstr(c->answer, "\r\n\r\n"), *length = strcasestr(c->answer, "\r\nContent-Length:");
    return end && length && length < end ? (size_t)(end + 4 - c->answer) + strtoul(length + 17, NULL, 10) : 0;
}

static void end_request(struct load *load, struct connection *c, bool good) {
    if (!good && load->failed++ == 0)
        fprintf(stderr, "%s\n", c->received > 0 ? c->answer : "the connection ended without an answer");
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
    size_t total = answer_bytes(c);
    if (c->busy && total > 0 && c->received >= total)
        end_request(load, c, strncmp(c->answer, "HTTP/1.1 200", 12) == 0);
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
    printf("connections=%zu requests=%zu failed=%zu seconds=%.3f requests_per_second=%.1f mean_ms=%.3f p50_ms=%.2f p95_ms=%.2f "
           "p99_ms=%.2f max_ms=%.2f %s\n",
           connections, load->done, load->failed, seconds, (double)load->done / seconds, 1e3 * sum / (double)load->done,
           percentile_ms(load, 0.5), percentile_ms(load, 0.95), percentile_ms(load, 0.99), percentile_ms(load, 1), load->fields);
}

int main(int argc, char **argv) {
    bool timed = argc == 5 && strcmp(argv[4], "timed") == 0;
    if ((argc != 4 && !timed) || atoi(argv[2]) < 1 || atoi(argv[2]) > MAX_CONNECTIONS) {
        fprintf(stderr, "usage: clients PORT CONNECTIONS FIELDS [timed] < source.txt\n");
        return 2;
    }
    struct load load = {.port = atoi(argv[1]), .epoll = epoll_create1(0), .timed = timed, .fields = argv[3]};
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
