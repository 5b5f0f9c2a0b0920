/* Load over HTTP: build/tests/bench/clients PORT CONNECTIONS FIELDS < source.txt
 *
 * Sends each line once as a POST /translate of its own over CONNECTIONS keep-alive connections to 127.0.0.1, each connection with
 * one request under way. FIELDS: what a request asks besides its text, as in JSON: '"strategy":"greedy","include":["attention"]'.
 * Prints one line: requests, those not answered 200, seconds, requests a second, and percentiles of the time to the answer. The
 * first answer that is not a 200 goes to standard error. */
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

enum { ANSWER_BYTES = 1 << 20, MAX_CONNECTIONS = 1024 };

struct connection {
    int fd;
    double began;
    size_t received;
    char *answer; /* [ANSWER_BYTES] */
};

struct load {
    char **lines;
    size_t count, next, done, failed;
    const char *fields;
    double *times; /* [count] seconds */
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
        escape(line, text, sizeof text);
        load->lines = must(realloc(load->lines, (load->count + 1) * sizeof *load->lines));
        load->lines[load->count++] = must(strdup(text));
    }
    free(line);
    load->times = must(calloc(load->count + 1, sizeof *load->times));
}

static int open_connection(int port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

/* Sends the next line; false if there is none left. */
static bool send_next(struct load *load, struct connection *c) {
    char body[17000], message[18000];
    if (load->next == load->count)
        return false;
    int length =
        snprintf(body, sizeof body, "{\"text\":\"%s\",%s,\"split_sentences\":false}", load->lines[load->next++], load->fields);
    int total = snprintf(message, sizeof message, "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s",
                         length, body);
    c->began = now();
    c->received = 0;
    if (write(c->fd, message, (size_t)total) != total)
        die("write");
    return true;
}

/* Bytes of the whole answer, or 0 while the headers are not complete. */
static size_t answer_bytes(const struct connection *c) {
    const char *end = strstr(c->answer, "\r\n\r\n"), *length = strcasestr(c->answer, "\r\nContent-Length:");
    return end && length && length < end ? (size_t)(end + 4 - c->answer) + strtoul(length + 17, NULL, 10) : 0;
}

/* Reads what is there; true when the answer is complete. */
static bool receive(struct connection *c) {
    ssize_t count = read(c->fd, c->answer + c->received, ANSWER_BYTES - 1 - c->received);
    if (count <= 0)
        die("the daemon closed the connection");
    c->received += (size_t)count;
    c->answer[c->received] = '\0';
    size_t total = answer_bytes(c);
    return total > 0 && c->received >= total;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run(struct load *load, struct connection *connections, size_t count) {
    int epoll = epoll_create1(0);
    size_t open = 0;
    for (size_t i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[i]};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, connections[i].fd, &event) != 0)
            die("epoll");
        open += send_next(load, &connections[i]);
    }
    while (open > 0) {
        struct epoll_event events[64];
        int ready = epoll_wait(epoll, events, 64, 60000);
        if (ready <= 0)
            die("no answer within a minute");
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            if (!receive(c))
                continue;
            if (strncmp(c->answer, "HTTP/1.1 200", 12) != 0 && load->failed++ == 0)
                fprintf(stderr, "%s\n", c->answer);
            load->times[load->done++] = now() - c->began;
            open -= !send_next(load, c);
        }
    }
    close(epoll);
}

int main(int argc, char **argv) {
    if (argc != 4 || atoi(argv[2]) < 1 || atoi(argv[2]) > MAX_CONNECTIONS) {
        fprintf(stderr, "usage: clients PORT CONNECTIONS FIELDS < source.txt\n");
        return 2;
    }
    struct load load = {.fields = argv[3]};
    read_lines(&load);
    size_t count = (size_t)atoi(argv[2]);
    struct connection *connections = must(calloc(count, sizeof *connections));
    for (size_t i = 0; i < count; i++)
        connections[i] = (struct connection){.fd = open_connection(atoi(argv[1])), .answer = must(malloc(ANSWER_BYTES))};
    double begin = now();
    run(&load, connections, count);
    double seconds = now() - begin;
    qsort(load.times, load.done, sizeof *load.times, by_value);
    printf("connections=%zu requests=%zu failed=%zu seconds=%.3f requests_per_second=%.1f p50_ms=%.2f p99_ms=%.2f max_ms=%.2f %s\n",
           count, load.done, load.failed, seconds, (double)load.done / seconds, 1e3 * load.times[load.done / 2],
           1e3 * load.times[load.done * 99 / 100], 1e3 * load.times[load.done ? load.done - 1 : 0], load.fields);
    for (size_t i = 0; i < count; i++) {
        close(connections[i].fd);
        free(connections[i].answer);
    }
    free(connections);
    for (size_t i = 0; i < load.count; i++)
        free(load.lines[i]);
    free(load.lines);
    free(load.times);
    return load.failed > 0;
}
