/* Injects faults: build/tests/load/faults ALIGND [OPTION...] (make check-faults)
 *
 * Each fault meets a daemon of its own. Prints a table, and fails if an accepted request was lost,
 * if something leaked (descriptors, rows, more memory than FAULTS_MIB, 32, once the last reload has
 * ended), if the daemon ended badly or no longer answers, or if an answer was not what such a
 * client may get.
 *
 * Variables: FAULTS_SECONDS (10), of each fault under load; FAULTS_CONNECTS (10000), that send
 * nothing; FAULTS (all), the names of those to run. */
#include "tests/load/peers.h"
#include "tests/load/sentences.h"
#include "tests/load/tool.h"
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_OPTIONS = 24,
    CLIENTS = 48,
    PATIENCE_S = 20,
    CUT_OFF_S = 45, /* more than --read-timeout-ms: connections whose client went without a word end
                       by then */
    TERMINATIONS = 10,
    LEAVERS = 1000,
    HALF_OPEN = 1000,
    RANDOM = 1000
};

/* A fault's own daemon and what became of it. */
struct scene {
    struct server server;
    long count, lost, wrong;
    bool crashed;
    const char *note;
};

static const char *program, *options[MAX_OPTIONS + 8];
static struct message sentences[SENTENCES];
static double load_seconds;

static struct crowd *start_load(const struct server *server, const struct message *messages,
                                size_t count, double leaving) {
    struct crowd_options crowd = {.port = server->port,
                                  .clients = CLIENTS,
                                  .messages = messages,
                                  .count = count,
                                  .leaving = leaving,
                                  .leave_s = 0.2};
    return crowd_start(&crowd);
}

static bool serves(const struct server *server) {
    static const char request[] = "POST /translate HTTP/1.1\r\nHost: localhost\r\nConnection: "
                                  "close\r\nContent-Length: 43\r\n\r\n"
                                  "{\"text\":\"A boy plays.\",\"strategy\":\"greedy\"}";
    return server_ask(server, request, sizeof request - 1, 0, PATIENCE_S, NULL, 0) == 200;
}

/* Ends the load; what was lost or answered otherwise than 200, 429 and 503 counts. */
static void end_load(struct scene *scene, struct crowd *crowd, long lost_allowed) {
    struct crowd_result result = crowd_stop(crowd, PATIENCE_S);
    scene->lost += result.lost > lost_allowed ? result.lost - lost_allowed : 0;
    scene->wrong +=
        result.answered - result.statuses[200] - result.statuses[429] - result.statuses[503];
    scene->wrong += result.statuses[200] == 0;
}

/* ---- faults ---- */

/* Requests under way are lost with the process; no others may be lost. */
static void kill_and_restart(struct scene *scene) {
    struct crowd *crowd = start_load(&scene->server, sentences, SENTENCES, 0);
    for (double until = tool_now() + load_seconds; tool_now() < until; scene->count++) {
        tool_sleep(0.7);
        int port = scene->server.port;
        scene->crashed |= server_end(&scene->server, SIGKILL, PATIENCE_S) != 128 + SIGKILL;
        server_start(&scene->server, program, options, port);
        scene->wrong += !serves(&scene->server);
    }
    tool_sleep(0.7);
    end_load(scene, crowd, scene->count * CLIENTS);
}

static void terminate(struct scene *scene) {
    for (; scene->count < TERMINATIONS; scene->count++) {
        struct crowd *crowd = start_load(&scene->server, sentences, SENTENCES, 0);
        tool_sleep(0.5);
        scene->crashed |= server_end(&scene->server, SIGTERM, PATIENCE_S) != 0;
        end_load(scene, crowd, 0);
        server_start(&scene->server, program, options, 0);
    }
}

static void reload(struct scene *scene) {
    struct crowd *crowd = start_load(&scene->server, sentences, SENTENCES, 0);
    for (double until = tool_now() + load_seconds; tool_now() < until; scene->count++) {
        kill(scene->server.pid, SIGHUP);
        tool_sleep(1);
    }
    end_load(scene, crowd, 0);
}

/* A copy of the first model, which options name in its place. */
static void copy_model(char *folder) {
    char command[512];
    tool_check(mkdtemp(folder), "mkdtemp");
    const char *model = "weights/en-fr";
    for (size_t i = 0; options[i]; i++) {
        if (strcmp(options[i], "--model") == 0) {
            model = options[i + 1];
            options[i + 1] = folder;
            break;
        }
    }
    snprintf(command, sizeof command, "cp -RL '%s'/. '%s'", model, folder);
    tool_check(system(command) == 0, "cp");
}

/* Reloads a model that is `broken` meanwhile: the old one serves on. */
static void reload_broken(struct scene *scene, const char *command) {
    char folder[] = "/tmp/alignd-faults-XXXXXX", line[512];
    const char *before[MAX_OPTIONS + 8];
    memcpy(before, options, sizeof before);
    server_end(&scene->server, SIGTERM, PATIENCE_S);
    copy_model(folder);
    server_start(&scene->server, program, options, 0);
    struct crowd *crowd = start_load(&scene->server, sentences, SENTENCES, 0);
    snprintf(line, sizeof line, "cd '%s' && %s", folder, command);
    tool_check(system(line) == 0, command);
    for (; scene->count < 5; scene->count++) {
        kill(scene->server.pid, SIGHUP);
        tool_sleep(0.5);
        scene->wrong += !serves(&scene->server);
    }
    end_load(scene, crowd, 0);
    memcpy(options, before, sizeof before);
    snprintf(line, sizeof line, "rm -rf '%s'", folder);
    tool_check(system(line) == 0, "rm");
}

/* mv rather than rm: the loaded file stays whole, as it does where a new one is put in its place.
 */
static void reload_missing(struct scene *scene) {
    reload_broken(scene, "mv config.json elsewhere.json");
}

static void reload_cut_short(struct scene *scene) {
    reload_broken(scene, "head -c 4096 model.safetensors >cut && mv cut model.safetensors");
}

/* Nothing that it logs can be written. */
static void log_disk_full(struct scene *scene) {
    server_end(&scene->server, SIGTERM, PATIENCE_S);
    server_start_logging_to(&scene->server, program, options, "/dev/full");
    struct crowd *crowd = start_load(&scene->server, sentences, SENTENCES, 0);
    while (crowd_answered(crowd) < SENTENCES)
        tool_sleep(0.01);
    scene->count = crowd_answered(crowd);
    end_load(scene, crowd, 0);
}

static void silent(struct scene *scene) {
    scene->count = peers_silent(&scene->server, (long)tool_parameter("FAULTS_CONNECTS", 10000), 2);
}

static void half_open(struct scene *scene) {
    scene->count = peers_half_open(&scene->server, HALF_OPEN, 2);
}

static void random_bytes(struct scene *scene) {
    scene->count = peers_random_bytes(&scene->server, RANDOM, &scene->wrong);
}

static void truncated(struct scene *scene) {
    scene->count = peers_truncated(&scene->server, &scene->wrong);
}

static void deep_json(struct scene *scene) {
    scene->count = peers_deep_json(&scene->server, &scene->wrong);
}

static void leaving(struct scene *scene) {
    struct message messages[] = {
        message_post(
            "/translate", "application/json",
            "{\"text\":\"A boy plays in the snow.\",\"min_length\":200,\"max_length\":200}"),
        message_post("/translate", "application/json",
                     "{\"text\":\"A boy "
                     "plays.\",\"strategy\":\"greedy\",\"stream\":true,\"min_length\":300,\"max_"
                     "length\":300}"),
        message_post("/attention", "application/json",
                     "{\"text\":\"A boy plays in the snow. It is cold.\"}"),
    };
    enum { COUNT = sizeof messages / sizeof *messages };
    struct crowd *crowd = start_load(&scene->server, messages, COUNT, 1);
    struct crowd_result result;
    do {
        tool_sleep(0.1);
        scene->count = crowd_left(crowd);
    } while (scene->count < LEAVERS);
    result = crowd_stop(crowd, PATIENCE_S);
    scene->lost = result.lost;
    for (size_t i = 0; i < COUNT; i++)
        message_done(&messages[i]);
}

static const struct fault {
    const char *name, *title;
    void (*run)(struct scene *scene);
} faults[] = {
    {"kill", "kill -9 and restart under load", kill_and_restart},
    {"term", "SIGTERM under load", terminate},
    {"hup", "SIGHUP every second under load", reload},
    {"missing", "reload, a file of the model missing", reload_missing},
    {"short", "reload, a model cut short (full disk)", reload_cut_short},
    {"full", "log on a full disk", log_disk_full},
    {"silent", "connects that send nothing", silent},
    {"half", "half-open connections", half_open},
    {"random", "random bytes", random_bytes},
    {"truncated", "bodies truncated at every offset", truncated},
    {"deep", "JSON depth bombs", deep_json},
    {"leaving", "clients that disconnect", leaving},
};

/* ---- one after the other ---- */

/* True: it did no harm. */
static bool run(const struct fault *fault) {
    struct scene scene = {0};
    server_start(&scene.server, program, options, 0);
    long fds = server_calm(&scene.server, PATIENCE_S).fds;
    struct crowd *crowd = start_load(&scene.server, sentences, SENTENCES,
                                     0); /* what is allocated once is, from here on */
    tool_sleep(1);
    crowd_stop(crowd, PATIENCE_S);
    struct server_state before = server_settled(&scene.server, fds, INFINITY, PATIENCE_S);
    fault->run(&scene);
    double most_mib = before.rss_mib + tool_parameter("FAULTS_MIB", 32);
    struct server_state after = server_settled(&scene.server, fds, most_mib, CUT_OFF_S);
    bool answers = serves(&scene.server);
    scene.crashed |= server_end(&scene.server, SIGTERM, PATIENCE_S) != 0;
    double grown = after.rss_mib - before.rss_mib;
    bool leaked = after.fds > fds || after.rows != 0 || after.queued != 0 || after.in_flight != 0 ||
                  after.rss_mib > most_mib;
    bool fine = answers && !scene.crashed && !leaked && scene.lost == 0 && scene.wrong == 0;
    printf("%-38s %7ld %5ld %6ld %4ld %5.0f %7.1f  %-4s %s\n", fault->title, scene.count,
           scene.lost, scene.wrong, after.fds - fds, after.rows, grown,
           scene.crashed ? "yes" : "no",
           fine      ? ""
           : answers ? "FAILED"
                     : "FAILED: silent");
    fflush(stdout);
    return fine;
}

int main(int argc, char **argv) {
    const char *only = getenv("FAULTS");
    bool fine = true;
    tool_check(argc >= 2 && argc < MAX_OPTIONS, "usage: faults ALIGND [OPTION...]");
    program = argv[1];
    for (int i = 2; i < argc; i++)
        options[i - 2] = argv[i];
    load_seconds = tool_parameter("FAULTS_SECONDS", 10);
    sentences_read(sentences, "\"strategy\":\"greedy\"");
    printf("%-38s %7s %5s %6s %4s %5s %7s  %s\n", "fault", "count", "lost", "wrong", "fds", "rows",
           "MiB", "crashed");
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (only && *only && !strstr(only, faults[i].name))
            continue;
        fine &= run(&faults[i]);
    }
    sentences_done(sentences);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
