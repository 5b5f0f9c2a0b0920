#include "tests/load/server.h"
#include "tests/load/tool.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ARGUMENTS = 32, LOG_BYTES = 4096, METRICS_BYTES = 1 << 18, READY_S = 60 };

static size_t append(char **all, size_t count, const char *const *words) {
    for (; *words && count < MAX_ARGUMENTS; words++)
        all[count++] = strdup(*words);
    return count;
}

static void become(const struct server *server, const char *const *command,
                   const char *const *arguments, int port) {
    char listen[32], *all[MAX_ARGUMENTS + 1] = {NULL};
    snprintf(listen, sizeof listen, "127.0.0.1:%d", port);
    size_t count = append(all, 0, command);
    count = append(all, count, (const char *const[]){"--listen", listen, NULL});
    append(all, count, arguments);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(server->log, STDERR_FILENO);
    execv(all[0], all);
    perror(all[0]);
    _exit(127);
}

/* The log's beginning holds this key: what follows it. NULL: not yet. */
static const char *logged(const struct server *server, const char *key) {
    static char text[LOG_BYTES];
    ssize_t count = pread(server->log, text, sizeof text - 1, 0);
    text[count > 0 ? count : 0] = '\0';
    const char *found = strstr(text, key);
    return found && strchr(found, '\n') ? found + strlen(key) : NULL;
}

static void await_address(struct server *server) {
    const char *address;
    for (double until = tool_now() + READY_S;
         !(address = logged(server, "event=listening address=")); tool_sleep(0.005)) {
        int status;
        bool alive = waitpid(server->pid, &status, WNOHANG) == 0;
        if (!alive || tool_now() > until)
            server_print_log(server);
        tool_check(alive, "the daemon ended");
        tool_check(tool_now() < until, "the daemon does not listen");
    }
    server->port = atoi(strchr(address, ':') + 1);
}

static void await_ready(const struct server *server) {
    static const char request[] =
        "GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    double until = tool_now() + READY_S;
    while (server_ask(server, request, sizeof request - 1, 0, READY_S, NULL, 0) != 200) {
        tool_check(tool_now() < until, "the daemon is not ready");
        tool_sleep(0.01);
    }
}

static void start_process(struct server *server, const char *const *command,
                          const char *const *arguments, int port) {
    server->pid = fork();
    tool_check(server->pid >= 0, "fork");
    if (server->pid == 0)
        become(server, command, arguments, port);
}

static void start(struct server *server, const char *const *command, const char *const *arguments,
                  int port) {
    server->log = memfd_create("log", MFD_CLOEXEC);
    tool_check(server->log >= 0 && fcntl(server->log, F_SETFL, O_APPEND) == 0, "memfd_create");
    start_process(server, command, arguments, port);
    await_address(server);
    await_ready(server);
}

void server_start(struct server *server, const char *program, const char *const *arguments,
                  int port) {
    start(server, (const char *const[]){program, NULL}, arguments, port);
}

void server_start_within(struct server *server, const char *const *command,
                         const char *const *arguments) {
    start(server, command, arguments, 0);
}

static int free_port(void) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    tool_check(bind(fd, (struct sockaddr *)&address, sizeof address) == 0, "bind");
    tool_check(getsockname(fd, (struct sockaddr *)&address, &size) == 0, "getsockname");
    close(fd);
    return ntohs(address.sin_port);
}

void server_start_logging_to(struct server *server, const char *program,
                             const char *const *arguments, const char *path) {
    server->log = open(path, O_WRONLY | O_CLOEXEC);
    tool_check(server->log >= 0, path);
    server->port = free_port();
    start_process(server, (const char *const[]){program, NULL}, arguments, server->port);
    await_ready(server);
}

int server_end(struct server *server, int signal, double patience_s) {
    int status;
    if (signal)
        kill(server->pid, signal);
    for (double until = tool_now() + patience_s; waitpid(server->pid, &status, WNOHANG) == 0;
         tool_sleep(0.002)) {
        if (tool_now() < until)
            continue;
        kill(server->pid, SIGKILL);
        waitpid(server->pid, &status, 0);
        status = -1;
        break;
    }
    close(server->log);
    return status == -1 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void server_logged(const struct server *server, const char *key, char *value, size_t room) {
    const char *found = logged(server, key);
    snprintf(value, room, "%.*s", found ? (int)strcspn(found, " \n") : 0, found ? found : "");
}

void server_print_log(const struct server *server) {
    char text[LOG_BYTES];
    off_t end = lseek(server->log, 0, SEEK_END),
          from = end > (off_t)sizeof text ? end - (off_t)sizeof text : 0;
    ssize_t count = pread(server->log, text, sizeof text, from);
    fprintf(stderr, "%.*s", (int)(count > 0 ? count : 0), text);
}

int server_connect(const struct server *server, bool at_once) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)server->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | (at_once ? SOCK_NONBLOCK : 0), 0);
    tool_check(fd >= 0, "socket");
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 || errno == EINPROGRESS)
        return fd;
    close(fd);
    return -1;
}

/* Reads to the end; the beginning stays. */
static size_t read_reply(int fd, double patience_s, char *reply, size_t room) {
    char rest[4096];
    size_t length = 0;
    for (double until = tool_now() + patience_s, left; (left = until - tool_now()) > 0;) {
        struct pollfd poller = {.fd = fd, .events = POLLIN};
        if (poll(&poller, 1, (int)(left * 1000) + 1) <= 0)
            break;
        bool keep = length + 1 < room;
        ssize_t count =
            keep ? recv(fd, reply + length, room - length - 1, 0) : recv(fd, rest, sizeof rest, 0);
        if (count <= 0)
            break;
        length += keep ? (size_t)count : 0;
    }
    reply[length] = '\0';
    return length;
}

int server_ask(const struct server *server, const char *bytes, size_t length, int half_close,
               double patience_s, char *reply, size_t room) {
    char head[64];
    int status = 0, fd = server_connect(server, false);
    if (fd < 0)
        return 0;
    for (size_t sent = 0; sent < length;) {
        ssize_t count = send(fd, bytes + sent, length - sent, MSG_NOSIGNAL);
        if (count <= 0)
            break;
        sent += (size_t)count;
    }
    if (half_close)
        shutdown(fd, SHUT_WR);
    read_reply(fd, patience_s, reply ? reply : head, reply ? room : sizeof head);
    close(fd);
    return sscanf(reply ? reply : head, "HTTP/1.%*d %d", &status) == 1 ? status : 0;
}

/* ---- state ---- */

double server_resident_mib(const struct server *server) {
    char path[64];
    long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)server->pid);
    FILE *file = fopen(path, "r");
    bool read = file && fscanf(file, "%*d %ld", &pages) == 1;
    if (file)
        fclose(file);
    return read ? (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20) : -1;
}

/* The time of the threads of this name; NULL: of all. */
static struct server_time time_of(const struct server *server, const char *name) {
    char path[320], own[32] = "";
    struct server_time time = {0};
    snprintf(path, sizeof path, "/proc/%d/task", (int)server->pid);
    DIR *folder = opendir(path);
    tool_check(folder, path);
    for (const struct dirent *task; (task = readdir(folder));) {
        unsigned long long run_ns = 0, waited_ns = 0;
        snprintf(path, sizeof path, "/proc/%d/task/%s/comm", (int)server->pid, task->d_name);
        FILE *names = *task->d_name != '.' && name ? fopen(path, "r") : NULL;
        bool counts = !name || (names && fgets(own, sizeof own, names) &&
                                strncmp(own, name, strlen(name)) == 0);
        if (names)
            fclose(names);
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)server->pid, task->d_name);
        FILE *file = *task->d_name != '.' && counts ? fopen(path, "r") : NULL;
        if (file && fscanf(file, "%llu %llu", &run_ns, &waited_ns) == 2) {
            time.run_s += (double)run_ns / 1e9;
            time.waited_s += (double)waited_ns / 1e9;
        }
        if (file)
            fclose(file);
    }
    closedir(folder);
    return time;
}

struct server_time server_time(const struct server *server) {
    return time_of(server, NULL);
}

double server_chores_s(const struct server *server) {
    return time_of(server, "chore").run_s;
}

void server_forget_peak(const struct server *server) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/clear_refs", (int)server->pid);
    FILE *file = fopen(path, "w");
    tool_check(file && fputs("5", file) >= 0, path);
    fclose(file);
}

double server_peak_mib(const struct server *server) {
    char path[64], line[256];
    double kib = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)server->pid);
    FILE *file = fopen(path, "r");
    tool_check(file, path);
    while (kib < 0 && fgets(line, sizeof line, file))
        kib = strncmp(line, "VmHWM:", 6) == 0 ? strtod(line + 6, NULL) : kib;
    fclose(file);
    return kib / 1024;
}

static long count_fds(pid_t pid) {
    char path[64];
    long count = -2; /* . and .. */
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

static double value_of(const char *metrics, const char *name) {
    const char *found = strstr(metrics, name);
    return found ? strtod(found + strlen(name), NULL) : -1;
}

struct server_state server_state(const struct server *server) {
    static const char request[] =
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    static char reply[METRICS_BYTES];
    struct server_state state = {server_resident_mib(server), count_fds(server->pid), -1, -1, -1};
    if (server_ask(server, request, sizeof request - 1, 0, 5, reply, sizeof reply) != 200)
        return state;
    state.rows = value_of(reply, "\nalignd_rows_live ");
    state.queued = value_of(reply, "\nalignd_queue_depth ");
    state.in_flight = value_of(reply, "\nalignd_requests_in_flight ") - 1;
    return state;
}

struct server_state server_calm(const struct server *server, double patience_s) {
    return server_settled(server, LONG_MAX, INFINITY, patience_s);
}

struct server_state server_settled(const struct server *server, long fds, double rss_mib,
                                   double patience_s) {
    struct server_state state = server_state(server);
    for (double until = tool_now() + patience_s; tool_now() < until; state = server_state(server)) {
        if (state.rows == 0 && state.queued == 0 && state.in_flight == 0 && state.fds <= fds &&
            state.rss_mib <= rss_mib)
            break;
        tool_sleep(0.05);
    }
    return state;
}
