/* Throughput and overload: build/tests/load/load ALIGND [OPTION...] (make check-load)
 *
 * Starts the daemon and keeps 1, 8, 64 and 512 connections busy, each for LOAD_SECONDS; then sends
 * twice the requests a second that it answered at best. Prints a table, and fails where a bound is
 * missed:
 *
 *   every connection count   nothing but 200, no connection lost
 *   512 connections          at least 95% of the best throughput
 *   overload                 nothing but 200 and 429, no connection lost; 200 within the deadline;
 * as many a second as 90% of the best throughput
 *
 * Variables: LOAD_SECONDS (60), LOAD_FIELDS (what requests ask besides their text, as in JSON),
 * LOAD_FACTOR (2). */
#include "tests/load/sentences.h"
#include "tests/load/server.h"
#include "tests/load/tool.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_OPTIONS = 24, OVERLOAD_CLIENTS = 8192, DEADLINE_S = 10, PATIENCE_S = 30 };

static const double LEAST_AT_MOST_CONNECTIONS = 0.95, LEAST_GOODPUT = 0.9;

static bool failed;

static void check(bool holds, const char *what) {
    if (holds)
        return;
    printf("  missed: %s\n", what);
    failed = true;
}

static struct crowd_result measure(const struct server *server, const struct message *messages,
                                   size_t clients, double rate, double seconds) {
    struct crowd_options options = {.port = server->port,
                                    .clients = clients,
                                    .rate = rate,
                                    .warm_s = seconds / 4,
                                    .messages = messages,
                                    .count = SENTENCES,
                                    .seed = (unsigned)clients};
    struct crowd *crowd = crowd_start(&options);
    tool_sleep(seconds);
    return crowd_stop(crowd, PATIENCE_S);
}

static void print_row(const char *name, const struct crowd_result *result, double mib) {
    long others = result->answered - result->statuses[200] - result->statuses[429];
    printf("%-10s %9.1f %8.1f %8.1f %8.1f %8.1f %9ld %8ld %7ld %6ld %7ld %8.1f\n", name,
           result->rate, 1000 * result->p50, 1000 * result->p99, 1000 * result->p999,
           1000 * result->most, result->statuses[200], result->statuses[429], others, result->lost,
           result->refused, mib);
    fflush(stdout);
}

static void check_answers(const struct crowd_result *result, bool overload) {
    check(result->answered == result->statuses[200] + (overload ? result->statuses[429] : 0),
          "an answer of another status");
    check(result->lost == 0 && result->refused == 0, "a connection was lost or refused");
    check(result->unsent == 0, "this program was too slow to send all requests");
}

static double measure_connections(const struct server *server, const struct message *messages,
                                  double seconds) {
    static const size_t counts[] = {1, 8, 64, 512};
    double best = 0, last = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char name[16];
        struct crowd_result result = measure(server, messages, counts[i], 0, seconds);
        snprintf(name, sizeof name, "%zu", counts[i]);
        print_row(name, &result, server_calm(server, PATIENCE_S).rss_mib);
        check_answers(&result, false);
        last = result.rate;
        best = last > best ? last : best;
    }
    check(last >= LEAST_AT_MOST_CONNECTIONS * best, "throughput at 512 connections");
    return best;
}

static void measure_overload(const struct server *server, const struct message *messages,
                             double best, double seconds) {
    double factor = tool_parameter("LOAD_FACTOR", 2);
    struct crowd_result result =
        measure(server, messages, OVERLOAD_CLIENTS, factor * best, seconds);
    print_row("overload", &result, server_calm(server, PATIENCE_S).rss_mib);
    check_answers(&result, true);
    check(result.statuses[429] > 0 || factor <= 1, "it was no overload");
    check(result.most <= DEADLINE_S, "an answer came after its deadline");
    check(result.rate >= LEAST_GOODPUT * best, "goodput under overload");
}

int main(int argc, char **argv) {
    const char *options[MAX_OPTIONS + 3] = {"--log-level", "info"}, *fields = getenv("LOAD_FIELDS");
    struct message messages[SENTENCES];
    struct server server;
    tool_check(argc >= 2 && argc < MAX_OPTIONS, "usage: load ALIGND [OPTION...]");
    for (int i = 2; i < argc; i++)
        options[i] = argv[i];
    sentences_read(messages, fields ? fields : "\"strategy\":\"greedy\"");
    server_start(&server, argv[1], options, 0);
    printf("%.1f MiB before\n%-10s %9s %8s %8s %8s %8s %9s %8s %7s %6s %7s %8s\n",
           server_state(&server).rss_mib, "clients", "200/s", "p50 ms", "p99 ms", "p99.9", "most",
           "200", "429", "others", "lost", "refused", "MiB");
    double seconds = tool_parameter("LOAD_SECONDS", 60);
    double best = measure_connections(&server, messages, seconds);
    measure_overload(&server, messages, best, seconds);
    check(server_end(&server, SIGTERM, PATIENCE_S) == 0, "a clean end");
    sentences_done(messages);
    puts(failed ? "load: bounds missed" : "load: all bounds hold");
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
