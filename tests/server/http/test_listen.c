/* server/http/listen: Unix sockets, files at their path, and IPv6. */
#include "server/http/http.h"
#include "tests/suites.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char folder[32], where[64];
static const char *path;
static struct listener listener;
static struct error err;

static void setup(void) {
    strcpy(folder, "/tmp/alignd-listen-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(where, sizeof where, "unix:%s/socket", folder);
    path = where + strlen("unix:");
    err = (struct error){0};
}

static void teardown(void) {
    unlink(path);
    rmdir(folder);
}

static bool exists(void) {
    struct stat file;
    return lstat(path, &file) == 0;
}

START_TEST(file_of_a_socket) {
    struct stat file;
    mode_t before = umask(022);
    ck_assert_int_eq(listen_open(where, 0660, &listener, &err), 0);
    ck_assert_int_eq(umask(before), 022);
    ck_assert_str_eq(listener.address, where);
    ck_assert(listener.local);
    ck_assert_int_eq(lstat(path, &file), 0);
    ck_assert(S_ISSOCK(file.st_mode));
    ck_assert_int_eq(file.st_mode & 07777, 0660);
    close(listener.fd);
    listen_remove(&listener);
    ck_assert(!exists());
    ck_assert_int_eq(listen_open(where, 0600, &listener, &err), 0);
    ck_assert_int_eq(lstat(path, &file), 0);
    ck_assert_int_eq(file.st_mode & 07777, 0600);
    close(listener.fd);
}
END_TEST

START_TEST(dead_socket_is_replaced) {
    ck_assert_int_eq(listen_open(where, 0660, &listener, &err), 0);
    close(listener.fd); /* as after SIGKILL */
    ck_assert(exists());
    ck_assert_int_eq(listen_open(where, 0660, &listener, &err), 0);
    close(listener.fd);
}
END_TEST

START_TEST(live_socket_stays) {
    struct listener second = {.fd = -2};
    ck_assert_int_eq(listen_open(where, 0660, &listener, &err), 0);
    ck_assert_int_eq(listen_open(where, 0660, &second, &err), -1);
    ck_assert_int_eq(second.fd, -2);
    ck_assert_int_eq(err.code, ERROR_FILE);
    ck_assert_ptr_nonnull(strstr(err.message, "Address already in use"));
    ck_assert(exists());
    close(listener.fd);
}
END_TEST

START_TEST(other_files_stay) {
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fclose(file);
    ck_assert_int_eq(listen_open(where, 0660, &listener, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, "Address already in use"));
    ck_assert(exists());
}
END_TEST

/* A second daemon that took the place over keeps its socket when the first one ends. */
START_TEST(removes_only_its_own) {
    struct listener second;
    ck_assert_int_eq(listen_open(where, 0660, &listener, &err), 0);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(listen_open(where, 0660, &second, &err), 0);
    listen_remove(&listener);
    ck_assert(exists());
    listen_remove(&second);
    ck_assert(!exists());
    close(listener.fd);
    close(second.fd);
}
END_TEST

START_TEST(unusable_paths) {
    char longest[256] = "unix:/tmp/";
    memset(longest + strlen(longest), 'x', 120);
    ck_assert_int_eq(listen_open(longest, 0660, &listener, &err), -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    err = (struct error){0};
    ck_assert_int_eq(listen_open("unix:", 0660, &listener, &err), -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    err = (struct error){0};
    ck_assert_int_eq(listen_open("unix:/nonexistent/socket", 0660, &listener, &err), -1);
    ck_assert_str_eq(err.message,
                     "cannot listen on unix:/nonexistent/socket: No such file or directory");
}
END_TEST

/* The system would listen on 99999 modulo 65536. */
START_TEST(ports_out_of_range) {
    static const char *const wrong[] = {"127.0.0.1:65536", "127.0.0.1:99999", "[::1]:100000",
                                        ":4294967376",     "127.0.0.1:-1",    "127.0.0.1:http",
                                        "127.0.0.1:80x",   "127.0.0.1: 80"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char message[100];
        err = (struct error){0};
        ck_assert_msg(listen_open(wrong[i], 0, &listener, &err) == -1, "%s", wrong[i]);
        ck_assert_int_eq(err.code, ERROR_INPUT);
        snprintf(message, sizeof message, "the port must be a number from 0 to 65535, got \"%s\"",
                 wrong[i]);
        ck_assert_str_eq(err.message, message);
    }
    static const char *const right[] = {"[::1]:0", "::1:65535", ":00080"}, *const hosts[] = {
                                                                               "::1", "::1", ""};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        char host[LISTEN_HOST_BYTES];
        const char *port;
        ck_assert_int_eq(listen_split(right[i], host, &port, &err), 0);
        ck_assert_str_eq(host, hosts[i]);
        ck_assert_str_eq(port, strrchr(right[i], ':') + 1);
    }
}
END_TEST

/* The same port on [::] and 0.0.0.0. A port that is free for the one may be taken for the other, by
 * a daemon of another test, so several are tried. */
START_TEST(both_families) {
    enum { TRIES = 20 };
    struct listener six[TRIES], four = {.fd = -1};
    char again[32];
    int tries = 0;
    while (four.fd < 0 && tries < TRIES) {
        err = (struct error){0};
        if (listen_open("[::]:0", 0, &six[tries], &err) != 0)
            return; /* a machine without IPv6 */
        ck_assert_int_eq(strncmp(six[tries].address, "[::]:", 5), 0);
        snprintf(again, sizeof again, "0.0.0.0:%lu", strtoul(six[tries++].address + 5, NULL, 10));
        if (listen_open(again, 0, &four, &err) != 0)
            ck_assert_msg(strstr(err.message, "Address already in use") != NULL, "%s", err.message);
    }
    ck_assert_msg(four.fd >= 0, "%s", err.message);
    ck_assert_str_eq(four.address, again);
    ck_assert(!four.local);
    while (tries > 0)
        close(six[--tries].fd);
    close(four.fd);
}
END_TEST

/* A client of the listener; its handshake may not have ended. */
static int client(void) {
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    ck_assert_int_eq(getsockname(listener.fd, (struct sockaddr *)&address, &size), 0);
    int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
    ck_assert_int_ge(fd, 0);
    if (connect(fd, (struct sockaddr *)&address, size) != 0)
        ck_assert_msg(errno == EINPROGRESS || errno == ENOENT || errno == ECONNREFUSED, "%s",
                      strerror(errno));
    return fd;
}

/* A client that comes too late never gets a connection, so it can try elsewhere without losing
 * data. */
START_TEST(refuses_the_late) {
    ck_assert_int_eq(listen_open(_i == 0 ? "127.0.0.1:0" : where, 0600, &listener, &err), 0);
    int early = client(), accepted[2];
    listen_refuse(&listener);
    struct pollfd late = {.fd = client(), .events = POLLOUT};
    for (int i = 0; i < 2; i++)
        accepted[i] = accept(listener.fd, NULL, NULL);
    ck_assert_int_ge(accepted[0], 0);
    ck_assert_int_eq(accepted[1], -1);
    ck_assert(poll(&late, 1, 0) == 0 || late.revents & POLLHUP);
    close(listener.fd);
    ck_assert_int_eq(poll(&late, 1, 3000), 1); /* TCP asks again after a second */
    ck_assert(late.revents & POLLHUP);
    close(late.fd);
    close(early);
    close(accepted[0]);
}
END_TEST

Suite *listen_suite(void) {
    Suite *suite = suite_create("listen");
    TCase *tcase = tcase_create("listen");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, file_of_a_socket);
    tcase_add_test(tcase, dead_socket_is_replaced);
    tcase_add_test(tcase, live_socket_stays);
    tcase_add_test(tcase, other_files_stay);
    tcase_add_test(tcase, removes_only_its_own);
    tcase_add_test(tcase, unusable_paths);
    tcase_add_test(tcase, ports_out_of_range);
    tcase_add_test(tcase, both_families);
    tcase_add_loop_test(tcase, refuses_the_late, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite;
}
