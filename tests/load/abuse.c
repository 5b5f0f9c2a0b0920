/* Clients that ask for the worst that the limits allow: build/tests/load/abuse ALIGND [OPTION...]
 * (make check-abuse)
 *
 * None, one and four clients send such bodies, each as soon as the last is answered, for
 * ABUSE_SECONDS (60), while others, from addresses of their own, ask for /health and for a short
 * sentence. Then the memory that the longest answers take: 64 texts with 32 hypotheses each and
 * everything that can be included, again and again, and clients that do not read theirs. Prints
 * tables, and fails where a bound is missed:
 *
 *   /health    99 of 100 answers within HEALTH_MS, the slowest within SLOWEST_MS
 *   sentences  99 of 100 answers within SENTENCE_MS, times the daemon's slowdown: the factor by
 * which its threads waited for a processor. Nothing but 200; where they take most of the machine,
 * 504, too memory     what it was at first, and ROOM_MIB; the answers that may be held:
 * --reply-memory and one of --max-reply-bytes; and DECODE_MIB, for two workers with --decode-memory
 * 64M */
#include "tests/load/sentences.h"
#include "tests/load/server.h"
#include "tests/load/tool.h"
#include "tests/load/worst.h"
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* /health is answered by a thread that has slept, which gets its turn at once on a busy machine,
 * too. */
enum {
    HEALTH_MS = 100,
    SLOWEST_MS = 1000,
    SENTENCE_MS = 3000,
    ROOM_MIB = 60,
    REPLY_MIB = 32,
    REPLIES_MIB = 128,
    DECODE_MIB = 2 * 64 * 9 / 8
};

enum {
    MAX_OPTIONS = 24,
    OPTIONS = 6,
    PATIENCE_S = 60,
    MESSAGES = WORST_BODIES + 1,
    CLIENTS = 64,
    QUESTIONS = 3,
    DEAF = 14
};

static const double HEALTH_RATE = 50, SENTENCE_RATE = 10,
                    BUSY = 2; /* BUSY: a slowdown of others' making */

static bool failed;

static void check(bool holds, const char *what) {
    if (holds)
        return;
    printf("  missed: %s\n", what);
    failed = true;
}

/* ---- others meanwhile ---- */

static struct crowd *start_others(const struct server *server, unsigned source, double rate,
                                  const struct message *messages, size_t count) {
    return crowd_start(&(struct crowd_options){.port = server->port,
                                               .source = source,
                                               .clients = CLIENTS,
                                               .rate = rate,
                                               .messages = messages,
                                               .count = count});
}

static void print_row(size_t attackers, const char *who, const struct crowd_result *result,
                      double slower) {
    printf("%-9zu %-10s %7ld %7ld %8.1f %8.1f %8.1f %8.2f\n", attackers, who, result->answered,
           result->answered - result->statuses[200], 1000 * result->p50, 1000 * result->p99,
           1000 * result->most, slower);
    fflush(stdout);
}

/* The factor by which all work of the daemon took longer since then, for want of a processor. */
static double slowdown(const struct server *server, const struct server_time *before) {
    struct server_time after = server_time(server);
    return 1 + (after.waited_s - before->waited_s) / (after.run_s - before->run_s);
}

static void check_others(const struct crowd_result *health, const struct crowd_result *sentences,
                         double slower) {
    long late = slower > BUSY ? sentences->statuses[504] : 0;
    check(1000 * health->p99 <= HEALTH_MS, "/health, 99 of 100");
    check(1000 * health->most <= SLOWEST_MS, "/health, the slowest");
    check(1000 * sentences->p99 <= SENTENCE_MS * slower, "sentences, 99 of 100");
    check(health->answered == health->statuses[200] &&
              sentences->answered == sentences->statuses[200] + late,
          "nothing but 200");
    check(health->lost + health->unsent + sentences->lost + sentences->unsent == 0,
          "a request was lost");
    check(health->statuses[200] > 0 && sentences->statuses[200] > 0, "others were answered");
}

/* Their replies do not matter, as long as there were some. */
static void end_attack(struct crowd **attack, size_t attackers) {
    long answered = 0;
    for (size_t i = 0; i < attackers; i++) {
        struct crowd_result result = crowd_stop(attack[i], PATIENCE_S);
        answered += result.answered;
        check(result.answered > 0 && result.lost == 0, "every attack was answered");
    }
    if (attackers > 0)
        printf("%-9zu %-10s %7ld\n", attackers, "attacks", answered);
}

static void meet(const struct server *server, size_t attackers, const struct message *worst,
                 const struct message *sentences) {
    struct crowd *attack[DEAF];
    struct message health = message_get("/health");
    for (size_t i = 0; i < attackers; i++)
        attack[i] = crowd_start(&(struct crowd_options){.port = server->port,
                                                        .source = (unsigned)i + 3,
                                                        .clients = 1,
                                                        .messages = worst,
                                                        .count = MESSAGES,
                                                        .seed = (unsigned)i});
    struct server_time before = server_time(server);
    struct crowd *asking = start_others(server, 1, HEALTH_RATE, &health, 1),
                 *translating = start_others(server, 2, SENTENCE_RATE, sentences, SENTENCES);
    tool_sleep(tool_parameter("ABUSE_SECONDS", 60));
    struct crowd_result of_health = crowd_stop(asking, PATIENCE_S),
                        of_sentences = crowd_stop(translating, PATIENCE_S);
    double slower = slowdown(server, &before);
    print_row(attackers, "/health", &of_health, slower);
    print_row(attackers, "sentences", &of_sentences, slower);
    check_others(&of_health, &of_sentences, slower);
    end_attack(attack, attackers);
    message_done(&health);
}

/* The bodies that take long to read, and the question that takes long to answer. */
static void make_worst(struct message worst[MESSAGES]) {
    for (size_t i = 0; i < WORST_BODIES; i++) {
        char *body = worst_body(i);
        worst[i] = message_post("/translate", worst_type(i), body);
        free(body);
    }
    char *question = worst_question(64, ",\"beam_size\":32,\"n_best\":32");
    worst[WORST_BODIES] = message_post("/translate", "application/json", question);
    free(question);
}

static void measure_others(const char *program, const char *const *options) {
    static const size_t attackers[] = {0, 1, 4};
    struct message worst[MESSAGES], sentences[SENTENCES];
    struct server server;
    make_worst(worst);
    sentences_read(sentences, "\"strategy\":\"greedy\"");
    server_start(&server, program, options, 0);
    printf("%-9s %-10s %7s %7s %8s %8s %8s %8s\n", "attackers", "asked", "answers", "not 200",
           "p50 ms", "p99 ms", "most", "slowdown");
    for (size_t i = 0; i < sizeof attackers / sizeof *attackers; i++)
        meet(&server, attackers[i], worst, sentences);
    check(server_end(&server, SIGTERM, PATIENCE_S) == 0, "a clean end");
    sentences_done(sentences);
    for (size_t i = 0; i < MESSAGES; i++)
        message_done(&worst[i]);
}

/* ---- memory ---- */

static int ask(const struct server *server, const struct message *message) {
    int fd = server_connect(server, false), status = 0;
    char reply[64];
    tool_check(fd >= 0 && send(fd, message->bytes, message->length, MSG_NOSIGNAL) ==
                              (ssize_t)message->length,
               "send");
    ssize_t count = recv(fd, reply, sizeof reply - 1, 0);
    reply[count > 0 ? count : 0] = '\0';
    close(fd);
    return sscanf(reply, "HTTP/1.1 %d", &status) == 1 ? status : 0;
}

static void ask_again_and_again(const struct server *server) {
    char *body = worst_question(64, ",\"beam_size\":32,\"n_best\":32");
    struct message question = message_post("/translate", "application/json", body);
    for (size_t i = 0; i < QUESTIONS; i++) {
        int status = ask(server, &question);
        check(status == 413 || status == 504, "an answer that is too long is refused");
    }
    message_done(&question);
    free(body);
}

/* A quarter of it, by clients that do not read. */
static void ask_and_keep_still(const struct server *server) {
    char *body = worst_question(16, ",\"beam_size\":32,\"n_best\":32,\"max_length\":100");
    struct message question = message_post("/translate", "application/json", body);
    int fds[DEAF];
    for (size_t i = 0; i < DEAF; i++) {
        fds[i] = server_connect(server, false);
        tool_check(fds[i] >= 0 && send(fds[i], question.bytes, question.length, MSG_NOSIGNAL) ==
                                      (ssize_t)question.length,
                   "send");
    }
    for (size_t i = 0; i < DEAF; i++) {
        struct pollfd poller = {.fd = fds[i], .events = POLLIN};
        check(poll(&poller, 1, PATIENCE_S * 1000) == 1, "every one is answered");
    }
    for (size_t i = 0; i < DEAF; i++)
        close(fds[i]);
    message_done(&question);
    free(body);
}

static void measure_memory(const char *program, const char *const *options, const char *name,
                           void (*run)(const struct server *server)) {
    struct server server;
    struct message sentence =
        message_post("/translate", "application/json", "{\"text\":\"A boy plays.\"}");
    server_start(&server, program, options, 0);
    check(ask(&server, &sentence) == 200, "a sentence");
    double before = server_state(&server).rss_mib;
    run(&server);
    double most = server_peak_mib(&server) - before;
    printf("%-42s %8.1f %8.1f %8.1f\n", name, before, most,
           server_calm(&server, PATIENCE_S).rss_mib - before);
    fflush(stdout);
    check(most <= ROOM_MIB + REPLY_MIB + REPLIES_MIB + DECODE_MIB, "memory");
    check(server_end(&server, SIGTERM, PATIENCE_S) == 0, "a clean end");
    message_done(&sentence);
}

int main(int argc, char **argv) {
    const char *options[MAX_OPTIONS + OPTIONS + 1] = {"--deadline-ms",   "30000", "--workers", "2",
                                                      "--decode-memory", "64M"};
    tool_check(argc >= 2 && argc < MAX_OPTIONS, "usage: abuse ALIGND [OPTION...]");
    for (int i = 2; i < argc; i++)
        options[OPTIONS + i - 2] = argv[i];
    measure_others(argv[1], options + OPTIONS);
    printf("%-42s %8s %8s %8s\n", "MiB", "before", "most", "after");
    measure_memory(argv[1], options, "64 texts, 32 hypotheses, everything", ask_again_and_again);
    measure_memory(argv[1], options, "14 clients that do not read", ask_and_keep_still);
    puts(failed ? "abuse: bounds missed" : "abuse: all bounds hold");
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
