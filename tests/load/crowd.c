#include "tests/load/crowd.h"
#include "tests/load/tool.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HEAD_BYTES = 2048,
    TAIL_BYTES = 5,
    EVENTS = 256,
    TICK_MS = 2,
    RECEIVE_BYTES = 1 << 16,
    MAX_TIMES = 1 << 22
};

struct client {
    int fd; /* -1: not connected */
    bool busy, reused;
    const struct message *message;
    size_t sent;
    double began, leaves; /* leaves: 0: never */
    char head[HEAD_BYTES + 1], tail[TAIL_BYTES + 1];
    size_t head_length, tail_length;
    bool in_body, chunked;
    size_t left; /* of the body */
    int status;
};

struct crowd {
    struct crowd_options options;
    struct client *clients; /* [options.clients] */
    size_t *idle;           /* [idle_count] their indexes */
    size_t idle_count;
    int epoll;
    pthread_t thread;
    atomic_bool stopping;
    double began, warm, patience_s, not_before, next;
    long cold; /* replies of 200 before it was warm */
    atomic_long answered, left;
    float *times; /* [time_count] */
    size_t time_count;
    struct crowd_result result;
    struct tool_random random;
    char received[RECEIVE_BYTES];
};

/* No new connection for so long after one was refused: nobody listens. */
static const double REFUSED_S = 0.01;
/* Between two parts of a request that is sent slowly. */
static const double PACE_S = 0.1;

/* ---- messages ---- */

struct message message_post(const char *path, const char *type, const char *body) {
    struct message message = {0};
    int length = asprintf(
        &message.bytes,
        "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s",
        path, type, strlen(body), body);
    tool_check(length > 0, "memory");
    message.length = (size_t)length;
    return message;
}

struct message message_get(const char *path) {
    struct message message = {0};
    int length = asprintf(&message.bytes, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    tool_check(length > 0, "memory");
    message.length = (size_t)length;
    return message;
}

void message_done(struct message *message) {
    free(message->bytes);
}

/* ---- one client ---- */

static void hang_up(struct client *client) {
    if (client->fd >= 0)
        close(client->fd);
    client->fd = -1;
}

static void rest(struct crowd *crowd, struct client *client) {
    client->busy = false;
    crowd->idle[crowd->idle_count++] = (size_t)(client - crowd->clients);
}

/* From an address of the crowd's own, if it has one: the daemon takes it for a client's name. */
static void bind_client(const struct crowd *crowd, int fd) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + crowd->options.source);
    if (crowd->options.source > 0)
        tool_check(bind(fd, (struct sockaddr *)&address, sizeof address) == 0, "bind");
}

static bool connect_client(struct crowd *crowd, struct client *client) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)crowd->options.port)};
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.ptr = client};
    int on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    tool_check(client->fd >= 0, "socket");
    bind_client(crowd, client->fd);
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(client->fd, (struct sockaddr *)&address, sizeof address) != 0 &&
        errno != EINPROGRESS) {
        hang_up(client);
        return false;
    }
    tool_check(epoll_ctl(crowd->epoll, EPOLL_CTL_ADD, client->fd, &event) == 0, "epoll_ctl");
    return true;
}

static void send_some(const struct crowd *crowd, struct client *client) {
    double pace = crowd->options.pace;
    size_t due = client->busy ? client->message->length : 0;
    if (pace > 0 && (tool_now() - client->began) * pace < (double)due)
        due = (size_t)((tool_now() - client->began) * pace);
    while (client->sent < due) {
        ssize_t count = send(client->fd, client->message->bytes + client->sent, due - client->sent,
                             MSG_NOSIGNAL);
        if (count <= 0)
            return; /* later; a broken connection shows when it is read */
        client->sent += (size_t)count;
    }
}

static void begin(struct crowd *crowd, struct client *client) {
    struct crowd_options *options = &crowd->options;
    client->message = &options->messages[tool_random(&crowd->random) % options->count];
    client->busy = true;
    client->sent = client->head_length = client->tail_length = client->left = 0;
    client->in_body = client->chunked = false;
    client->reused = client->fd >= 0;
    client->began = tool_now();
    bool leaves = tool_share(&crowd->random) < options->leaving;
    client->leaves = leaves ? client->began + tool_share(&crowd->random) * options->leave_s : 0;
    crowd->result.begun++;
    if (client->fd < 0 && !connect_client(crowd, client)) {
        crowd->result.refused++;
        rest(crowd, client);
    } else if (client->reused) {
        send_some(crowd, client);
    }
}

static void answered(struct crowd *crowd, struct client *client) {
    crowd->result.answered++;
    atomic_fetch_add(&crowd->answered, 1);
    crowd->result.statuses[client->status]++;
    if (client->status == 200 && crowd->time_count < MAX_TIMES)
        crowd->times[crowd->time_count++] = (float)(tool_now() - client->began);
    if (strcasestr(client->head, "connection: close"))
        hang_up(client);
    rest(crowd, client);
}

/* The connection ended. One that was kept may have been closed in the moment when it was used
 * again: then nobody has seen the request, and it is asked anew. */
static void ended(struct crowd *crowd, struct client *client, int reason) {
    bool unseen = client->reused && client->head_length == 0;
    hang_up(client);
    if (!client->busy)
        return;
    if (reason == ECONNREFUSED) {
        crowd->result.refused++;
        crowd->not_before = tool_now() + REFUSED_S;
    } else if (unseen) {
        crowd->result.unseen++;
    } else {
        crowd->result.lost++;
    }
    rest(crowd, client);
}

/* ---- replies ---- */

static void read_head(struct client *client) {
    const char *length = strcasestr(client->head, "\r\ncontent-length:");
    client->in_body = true;
    client->chunked = strcasestr(client->head, "\r\ntransfer-encoding: chunked");
    client->left = length ? strtoul(length + 17, NULL, 10) : 0;
    if (sscanf(client->head, "HTTP/1.%*d %d", &client->status) != 1 || client->status < 0 ||
        client->status >= CROWD_STATUSES)
        client->status = 0;
}

/* The last bytes of a chunked body: "0\r\n\r\n". */
static bool take_tail(struct client *client, const char *bytes, size_t length) {
    size_t kept = length < TAIL_BYTES ? length : TAIL_BYTES,
           old = client->tail_length + kept > TAIL_BYTES ? TAIL_BYTES - kept : client->tail_length;
    memmove(client->tail, client->tail + client->tail_length - old, old);
    memcpy(client->tail + old, bytes + length - kept, kept);
    client->tail_length = old + kept;
    return client->tail_length == TAIL_BYTES && memcmp(client->tail, "0\r\n\r\n", TAIL_BYTES) == 0;
}

/* True: the reply is whole. */
static bool take(struct client *client, const char *bytes, size_t length) {
    if (!client->in_body) {
        size_t room = HEAD_BYTES - client->head_length, count = length < room ? length : room,
               before = client->head_length;
        memcpy(client->head + before, bytes, count);
        client->head[client->head_length += count] = '\0';
        char *end = strstr(client->head, "\r\n\r\n");
        if (!end)
            return false;
        end[2] = '\0';
        read_head(client);
        size_t used = (size_t)(end + 4 - client->head) - before;
        bytes += used;
        length -= used;
    }
    if (client->chunked)
        return take_tail(client, bytes, length);
    client->left -= length < client->left ? length : client->left;
    return client->left == 0;
}

static void receive(struct crowd *crowd, struct client *client) {
    while (client->fd >= 0) {
        ssize_t count = recv(client->fd, crowd->received, sizeof crowd->received, 0);
        if (count > 0 && client->busy && take(client, crowd->received, (size_t)count))
            answered(crowd, client);
        else if (count == 0 || (count < 0 && errno != EAGAIN))
            ended(crowd, client, count < 0 ? errno : 0);
        if (count <= 0)
            return;
    }
}

/* ---- all ---- */

static void leave(struct crowd *crowd) {
    double now = tool_now();
    for (size_t i = 0; crowd->options.leaving > 0 && i < crowd->options.clients; i++) {
        struct client *client = &crowd->clients[i];
        if (!client->busy || client->leaves == 0 || now < client->leaves)
            continue;
        crowd->result.left++;
        atomic_fetch_add(&crowd->left, 1);
        hang_up(client);
        rest(crowd, client);
    }
}

/* What is due by now of the requests that are sent slowly. */
static void go_on(struct crowd *crowd) {
    if (crowd->options.pace == 0 || tool_now() < crowd->next)
        return;
    crowd->next = tool_now() + PACE_S;
    for (size_t i = 0; i < crowd->options.clients; i++)
        if (crowd->clients[i].fd >= 0)
            send_some(crowd, &crowd->clients[i]);
}

/* How many requests are due by now. */
static long due(const struct crowd *crowd) {
    if (crowd->options.rate == 0)
        return (long)crowd->idle_count;
    return (long)((tool_now() - crowd->began) * crowd->options.rate) - crowd->result.begun -
           crowd->result.unsent;
}

static void begin_due(struct crowd *crowd) {
    long count = tool_now() < crowd->not_before ? 0 : due(crowd);
    for (; count > 0; count--) {
        if (crowd->idle_count > 0)
            begin(crowd, &crowd->clients[crowd->idle[--crowd->idle_count]]);
        else
            crowd->result.unsent++;
    }
}

/* Requests during the warm-up do not count. */
static void warm_up(struct crowd *crowd) {
    if (crowd->warm == 0 && tool_now() >= crowd->began + crowd->options.warm_s) {
        crowd->warm = tool_now();
        crowd->cold = crowd->result.statuses[200];
    }
}

static double rate(const struct crowd *crowd) {
    return crowd->warm > 0
               ? (double)(crowd->result.statuses[200] - crowd->cold) / (tool_now() - crowd->warm)
               : 0;
}

static void *run(void *argument) {
    struct crowd *crowd = argument;
    struct epoll_event events[EVENTS];
    double stop = 0;
    while (stop == 0 || (crowd->idle_count < crowd->options.clients && tool_now() < stop)) {
        if (stop == 0 && atomic_load(&crowd->stopping)) {
            crowd->result.seconds = tool_now() - crowd->began;
            crowd->result.rate = rate(crowd);
            stop = tool_now() + crowd->patience_s;
        }
        if (stop == 0)
            begin_due(crowd);
        warm_up(crowd);
        int count = epoll_wait(crowd->epoll, events, EVENTS, TICK_MS);
        for (int i = 0; i < count; i++) {
            struct client *client = events[i].data.ptr;
            if (client->fd < 0)
                continue;
            receive(crowd, client); /* first, to get the reason why a connection failed */
            if (client->fd >= 0)
                send_some(crowd, client);
        }
        leave(crowd);
        go_on(crowd);
    }
    return NULL;
}

struct crowd *crowd_start(const struct crowd_options *options) {
    struct crowd *crowd = calloc(1, sizeof *crowd);
    struct rlimit files;
    tool_check(crowd && getrlimit(RLIMIT_NOFILE, &files) == 0, "memory");
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    crowd->options = *options;
    crowd->random.state = options->seed + 1;
    crowd->clients = calloc(options->clients, sizeof *crowd->clients);
    crowd->idle = calloc(options->clients, sizeof *crowd->idle);
    crowd->times = malloc(MAX_TIMES * sizeof *crowd->times);
    crowd->epoll = epoll_create1(EPOLL_CLOEXEC);
    tool_check(crowd->clients && crowd->idle && crowd->times && crowd->epoll >= 0, "memory");
    for (size_t i = options->clients; i-- > 0;) {
        crowd->clients[i].fd = -1;
        rest(crowd, &crowd->clients[i]);
    }
    crowd->began = tool_now();
    tool_check(pthread_create(&crowd->thread, NULL, run, crowd) == 0, "pthread_create");
    return crowd;
}

long crowd_answered(const struct crowd *crowd) {
    return atomic_load(&crowd->answered);
}

long crowd_left(const struct crowd *crowd) {
    return atomic_load(&crowd->left);
}

static int compare(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double percentile(const struct crowd *crowd, double share) {
    return crowd->time_count > 0
               ? (double)crowd->times[(size_t)((double)(crowd->time_count - 1) * share)]
               : 0;
}

struct crowd_result crowd_stop(struct crowd *crowd, double patience_s) {
    crowd->patience_s = patience_s;
    atomic_store(&crowd->stopping, true);
    pthread_join(crowd->thread, NULL);
    struct crowd_result result = crowd->result;
    result.lost +=
        (long)(crowd->options.clients - crowd->idle_count); /* no reply came in all this time */
    qsort(crowd->times, crowd->time_count, sizeof *crowd->times, compare);
    result.p50 = percentile(crowd, 0.5);
    result.p99 = percentile(crowd, 0.99);
    result.p999 = percentile(crowd, 0.999);
    result.most = percentile(crowd, 1);
    for (size_t i = 0; i < crowd->options.clients; i++)
        hang_up(&crowd->clients[i]);
    close(crowd->epoll);
    free(crowd->clients);
    free(crowd->idle);
    free(crowd->times);
    free(crowd);
    return result;
}
