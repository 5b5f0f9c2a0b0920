/* A long mixed load: build/tests/load/soak ALIGND [OPTION...] (make check-soak)
 *
 * For SOAK_MINUTES (20) clients use every endpoint in every way, wrong ones among them, streams,
 * and some that disconnect; every few seconds memory and descriptors are noted. Fails where
 * something was lost or answered 500, where the straight line that fits memory best (least squares,
 * over the last two thirds of the time) rises by more than SOAK_MIB_PER_HOUR (24), where
 * descriptors are left, or where the daemon does not end well. */
#include "tests/load/sentences.h"
#include "tests/load/server.h"
#include "tests/load/tool.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_OPTIONS = 24, CLIENTS = 24, PATIENCE_S = 30, MAX_SAMPLES = 100000, LINES = 20 };

#define JSON      "application/json"
#define FORM      "application/x-www-form-urlencoded"
#define MULTIPART "multipart/form-data; boundary=XX"
#define PART(name, value)                                                                          \
    "--XX\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" value "\r\n"

/* path, type (NULL: a GET), body */
static const char *const requests[][3] = {
    {"/translate", JSON,
     "{\"text\":[\"It is cold.\",\"Where is the train station?\"],\"n_best\":3,\"beam_size\":6}"},
    {"/translate", JSON,
     "{\"text\":\"A boy plays. It "
     "snows.\",\"include\":[\"attention\",\"words\",\"offsets\",\"top_k\",\"beam\",\"entropy\"]}"},
    {"/translate", JSON, "{\"text\":\"I am hungry.\",\"strategy\":\"sample\",\"n_best\":3}"},
    {"/translate", JSON, "{\"text\":\"Go.\",\"strategy\":\"exact\",\"max_length\":4}"},
    {"/translate", JSON,
     "{\"text\":\"A boy {name} plays.\",\"glossary\":{\"boy\":\"chat\"},\"prefix\":\"Un\"}"},
    {"/translate", JSON,
     "{\"text\":\"A boy plays in the snow. It is cold.\",\"strategy\":\"greedy\",\"stream\":true}"},
    {"/translate", JSON, "{\"text\":\"Hello.\",\"model\":\"none\"}"},
    {"/translate", JSON, "{\"text\":[[[[1]]]]}"},
    {"/translate", JSON, "{\"text\":"},
    {"/translate", JSON,
     "{\"q\":\"<p>I like "
     "<b>snow</b>.</p>\",\"source\":\"auto\",\"target\":\"fr\",\"format\":\"html\"}"},
    {"/translate", JSON,
     "{\"q\":[\"I like snow.\"],\"source\":\"en\",\"target\":\"fr\",\"alternatives\":2}"},
    {"/translate", FORM, "q=I+like+snow.&source=en&target=fr"},
    {"/translate", MULTIPART,
     PART("q", "I like snow.") PART("source", "en") PART("target", "fr") "--XX--\r\n"},
    {"/translate", "text/plain", "no form"},
    {"/attention", JSON, "{\"text\":\"I like snow.\",\"translation\":\"J'aime la neige.\"}"},
    {"/attention", JSON, "{\"text\":\"I like snow.\",\"strategy\":\"greedy\"}"},
    {"/detect", JSON, "{\"q\":\"I like snow.\"}"},
    {"/detect", JSON, "[]"},
    {"/languages", NULL, NULL},
    {"/frontend/settings", NULL, NULL},
    {"/formats", NULL, NULL},
    {"/models", NULL, NULL},
    {"/openapi.json", NULL, NULL},
    {"/metrics", NULL, NULL},
    {"/ready", NULL, NULL},
    {"/", NULL, NULL},
    {"/nowhere", NULL, NULL},
};
enum { REQUESTS = sizeof requests / sizeof *requests, MESSAGES = REQUESTS + SENTENCES };

struct sample {
    double hours, mib;
    long fds;
};

/* MiB an hour, of the samples from first on. */
static double slope(const struct sample *samples, size_t first, size_t count) {
    double n = (double)(count - first), x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = first; i < count; i++) {
        x += samples[i].hours;
        y += samples[i].mib;
        xx += samples[i].hours * samples[i].hours;
        xy += samples[i].hours * samples[i].mib;
    }
    double spread = n * xx - x * x;
    return spread > 0 ? (n * xy - x * y) / spread : 0;
}

static void make_messages(struct message messages[MESSAGES]) {
    for (size_t i = 0; i < REQUESTS; i++)
        messages[i] = requests[i][1] ? message_post(requests[i][0], requests[i][1], requests[i][2])
                                     : message_get(requests[i][0]);
    sentences_read(messages + REQUESTS, "\"strategy\":\"beam\"");
}

/* Samples as long as the load lasts, printing some. */
static size_t watch(const struct server *server, const struct crowd *crowd, double minutes,
                    struct sample *samples) {
    size_t count = 0, every = (size_t)fmax(1, minutes * 60 / 2 / LINES);
    double began = tool_now(), until = began + minutes * 60;
    for (; tool_now() < until && count < MAX_SAMPLES; count++) {
        tool_sleep(2);
        struct server_state state = server_state(server);
        samples[count] = (struct sample){(tool_now() - began) / 3600, state.rss_mib, state.fds};
        if (count % every == 0)
            printf("%8.1f %8.1f %6ld %10ld\n", samples[count].hours * 60, state.rss_mib, state.fds,
                   crowd_answered(crowd));
        fflush(stdout);
    }
    return count;
}

static bool check(bool holds, const char *what) {
    if (!holds)
        printf("  missed: %s\n", what);
    return holds;
}

int main(int argc, char **argv) {
    static struct sample samples[MAX_SAMPLES];
    static struct message messages[MESSAGES];
    const char *options[MAX_OPTIONS + 1] = {NULL};
    struct server server;
    tool_check(argc >= 2 && argc < MAX_OPTIONS, "usage: soak ALIGND [OPTION...]");
    for (int i = 2; i < argc; i++)
        options[i - 2] = argv[i];
    make_messages(messages);
    server_start(&server, argv[1], options, 0);
    long fds = server_calm(&server, PATIENCE_S).fds;
    printf("%8s %8s %6s %10s\n", "minutes", "MiB", "fds", "answered");
    struct crowd *crowd = crowd_start(&(struct crowd_options){.port = server.port,
                                                              .clients = CLIENTS,
                                                              .messages = messages,
                                                              .count = MESSAGES,
                                                              .leaving = 0.05,
                                                              .leave_s = 0.1});
    size_t count = watch(&server, crowd, tool_parameter("SOAK_MINUTES", 20), samples);
    struct crowd_result result = crowd_stop(crowd, PATIENCE_S);
    struct server_state after = server_settled(&server, fds, INFINITY, PATIENCE_S);
    double rise = slope(samples, count / 3, count);
    printf("%ld answered (%ld of them 200), %ld left, %ld lost; %.1f MiB at the end, rising by "
           "%.1f MiB an hour; %ld descriptors "
           "more\n",
           result.answered, result.statuses[200], result.left, result.lost, after.rss_mib, rise,
           after.fds - fds);
    bool fine = check(result.lost == 0 && result.refused == 0, "a request was lost");
    fine &= check(result.statuses[500] == 0 && result.statuses[0] == 0, "an answer of 500");
    fine &= check(rise <= tool_parameter("SOAK_MIB_PER_HOUR", 24), "memory rises");
    fine &= check(after.fds <= fds && after.rows == 0 && after.in_flight == 0,
                  "descriptors or rows are left");
    fine &= check(server_end(&server, SIGTERM, PATIENCE_S) == 0, "a clean end");
    for (size_t i = 0; i < MESSAGES; i++)
        message_done(&messages[i]);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
