/* Every kind of body at its maximum size: build/tests/load/bodies ALIGND [OPTION...] (make check-bodies, a part of make
 * check-abuse)
 *
 * Ten shapes of text, each as a document of every format (as long as --max-body-bytes allows) and as a text in every dialect (as
 * long as --max-text-chars allows), one after the other, with the default options. Meanwhile another client sends requests of 350
 * bytes. Prints a table, and fails where a bound is missed; those of time are multiplied by the factor by which the daemon's
 * threads waited for a processor:
 *
 *   memory     MEMORY_MIB above what the daemon took when it was ready
 *   reading    READING_S of processor time on the threads that read requests and write answers
 *   deadline   the answer comes within LATE_MS of X-Deadline-Ms
 *   others     99 of 100 of their requests are answered within OTHERS_MS
 *
 * BODIES=addresses/md: only those whose name contains this. BODIES_DEADLINE_MS (2500). */
#include "tests/load/crowd.h"
#include "tests/load/server.h"
#include "tests/load/tool.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_MIB = 350, READING_S = 2, LATE_MS = 200, OTHERS_MS = 300 };
enum { BODY_BYTES = 1 << 20, HEAD_BYTES = 2048, TEXT_CHARACTERS = 10000, PATIENCE_S = 120, CLIENTS = 32 };
static const double OTHERS_RATE = 20, BUSY = 2; /* BUSY: a slowdown of others' making, where some of theirs may come too late */
#define BOUNDARY "bodies-boundary"

/* ---- what is sent ---- */

/* A unit again and again; a line feed is written as the format has it. */
static const struct shape {
    const char *name, *unit;
} shapes[] = {
    {"sentences", "A. "},
    {"addresses", "http://"},
    {"wide", "\xef\xb7\xba"}, /* U+FDFA: each becomes 18 characters */
    {"word", "ab"},
    {"transcript", "and to you "},
    {"ideographs", "\xe4\xbd\xa0"},
    {"marks", "([. "},
    {"lines", "a\n"},
    {"placeholders", "{a} %s "},
    {"emoji", "\xf0\x9f\x98\x80"
              "e\xcc\x81"},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* The parts around the text. A document goes to /documents; a text's body is JSON. feed: how a line feed is written. */
static const struct kind {
    const char *name, *path, *head, *tail, *feed;
} kinds[] = {
    {"txt", NULL, "", "", "\n"},
    {"srt", NULL, "1\n00:00:01,000 --> 00:00:02,000\n", "\n", "\n"},
    {"vtt", NULL, "WEBVTT\n\n00:01.000 --> 00:02.000\n", "\n", "\n"},
    {"json", NULL, "{\"a\":\"", "\"}", "\",\"a\":\""},
    {"md", NULL, "# a\n\n", "\n", "\n"},
    {"html", NULL, "<p>", "</p>", "<br>"},
    {"po", NULL, "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=UTF-8\\n\"\n\nmsgid \"", "\"\nmsgstr \"\"\n", "\\n"},
    {"xliff", NULL,
     "<xliff version=\"1.2\" xmlns=\"urn:oasis:names:tc:xliff:document:1.2\"><file source-language=\"en\" target-language=\"fr\" "
     "datatype=\"plaintext\" original=\"a\"><body><trans-unit id=\"1\"><source>",
     "</source></trans-unit></body></file></xliff>", "\n"},
    {"native", "/translate", "{\"source\":\"en\",\"target\":\"fr\",\"text\":\"", "\"}", "\\n"},
    {"libre", "/translate", "{\"source\":\"en\",\"target\":\"fr\",\"q\":\"", "\"}", "\\n"},
    {"deepl", "/v2/translate", "{\"target_lang\":\"FR\",\"source_lang\":\"EN\",\"text\":[\"", "\"]}", "\\n"},
    {"google", "/language/translate/v2", "{\"source\":\"en\",\"target\":\"fr\",\"q\":\"", "\"}", "\\n"},
    {"microsoft", "/translate?api-version=3.0&from=en&to=fr", "[{\"Text\":\"", "\"}]", "\\n"},
    {"deeplx", "/deeplx", "{\"source_lang\":\"EN\",\"target_lang\":\"FR\",\"text\":\"", "\"}", "\\n"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static size_t characters_in(const char *unit) {
    size_t count = 0;
    for (; *unit; unit++)
        count += ((unsigned char)*unit & 0xc0) != 0x80;
    return count;
}

/* As many units as the limits allow. The caller frees it. */
static char *make_text(const struct shape *shape, const struct kind *kind) {
    char unit[32] = "";
    for (const char *c = shape->unit; *c; c++)
        *c == '\n' ? strcat(unit, kind->feed) : strncat(unit, c, 1);
    size_t length = strlen(unit), count = (BODY_BYTES - HEAD_BYTES) / length;
    if (kind->path)
        count = TEXT_CHARACTERS / characters_in(shape->unit);
    char *text = malloc(strlen(kind->head) + count * length + strlen(kind->tail) + 1), *end = stpcpy(text, kind->head);
    tool_check(text, "memory");
    for (size_t i = 0; i < count; i++)
        end = mempcpy(end, unit, length);
    strcpy(end, kind->tail);
    return text;
}

static struct message make_request(const struct shape *shape, const struct kind *kind, unsigned deadline_ms) {
    char *text = make_text(shape, kind), *body = NULL, *type = NULL;
    struct message message = {0};
    int made = kind->path ? asprintf(&body, "%s", text)
                          : asprintf(&body,
                                     "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"source\"\r\n\r\nen\r\n--" BOUNDARY
                                     "\r\nContent-Disposition: form-data; name=\"target\"\r\n\r\nfr\r\n--" BOUNDARY
                                     "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.%s\"\r\n\r\n%s\r\n--" BOUNDARY
                                     "--\r\n",
                                     kind->name, text);
    made = made > 0 ? asprintf(&type, "%s", kind->path ? "application/json" : "multipart/form-data; boundary=" BOUNDARY) : made;
    tool_check(made > 0, "memory");
    made = asprintf(
        &message.bytes,
        "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Deadline-Ms: %u\r\nContent-Type: %s\r\nContent-Length: "
        "%zu\r\n\r\n%s",
        kind->path ? kind->path : "/documents", deadline_ms, type, strlen(body), body);
    tool_check(made > 0, "memory");
    message.length = (size_t)made;
    free(type);
    free(body);
    free(text);
    return message;
}

/* A request that others wait for: two sentences in a body of 350 bytes. */
static struct message make_small(void) {
    char body[400];
    int used = snprintf(body, sizeof body,
                        "{\"source\":\"en\",\"target\":\"fr\",\"strategy\":\"greedy\",\"text\":\"The dog runs. A boy plays.\"");
    snprintf(body + used, sizeof body - (size_t)used, "%*s}", 350 - used - 1, "");
    return message_post("/translate", "application/json", body);
}

/* ---- one after the other ---- */

struct outcome {
    int status;
    double answer_s, reading_s, memory_mib, others_s, slower;
    long others_missed;
};

static struct outcome try_one(const struct server *server, const struct message *request, const struct message *small) {
    struct outcome outcome;
    server_forget_peak(server);
    struct server_time before = server_time(server);
    double read_before = server_chores_s(server);
    struct crowd *others = crowd_start(&(struct crowd_options){
        .port = server->port, .source = 2, .clients = CLIENTS, .rate = OTHERS_RATE, .messages = small, .count = 1});
    double began = tool_now();
    outcome.status = server_ask(server, request->bytes, request->length, 0, PATIENCE_S, NULL, 0);
    outcome.answer_s = tool_now() - began;
    if (outcome.answer_s < 0.5)
        tool_sleep(0.5 - outcome.answer_s); /* some of the others' requests */
    struct crowd_result result = crowd_stop(others, PATIENCE_S);
    struct server_time after = server_time(server);
    outcome.slower = 1 + (after.waited_s - before.waited_s) / (after.run_s - before.run_s);
    outcome.reading_s = server_chores_s(server) - read_before;
    outcome.memory_mib = server_peak_mib(server);
    outcome.others_s = result.p99;
    bool busy = outcome.slower > BUSY;
    outcome.others_missed = result.begun - result.statuses[200] + (busy ? -result.statuses[504] : result.unsent);
    return outcome;
}

static bool print_missed(bool missed, const char *what) {
    if (missed)
        printf("  missed: %s", what);
    return missed;
}

/* True: all bounds hold. */
static bool print_outcome(const char *name, const struct message *request, const struct outcome *outcome, double ready_mib,
                          double deadline_s) {
    printf("%-24s %8zu %6d %8.0f %8.2f %8.0f %8.0f %8.1f", name, request->length, outcome->status, 1000 * outcome->answer_s,
           outcome->reading_s, outcome->memory_mib - ready_mib, 1000 * outcome->others_s, outcome->slower);
    bool missed = print_missed(outcome->status == 0 || outcome->status == 500, "an answer");
    missed |= print_missed(outcome->memory_mib - ready_mib > MEMORY_MIB, "memory");
    missed |= print_missed(outcome->reading_s > READING_S, "reading");
    missed |= print_missed(outcome->answer_s > deadline_s + LATE_MS * outcome->slower / 1000, "deadline");
    missed |= print_missed(outcome->others_s > OTHERS_MS * outcome->slower / 1000 || outcome->others_missed > 0, "others");
    printf("\n");
    fflush(stdout);
    return !missed;
}

int main(int argc, char **argv) {
    tool_check(argc >= 2, "usage: bodies ALIGND [OPTION...]");
    const char *only = getenv("BODIES");
    double deadline_ms = tool_parameter("BODIES_DEADLINE_MS", 2500);
    struct message small = make_small();
    struct server server;
    bool held = true;
    server_start(&server, argv[1], (const char *const *)argv + 2, 0);
    double ready_mib = server_state(&server).rss_mib;
    printf("%.0f MiB when ready\n%-24s %8s %6s %8s %8s %8s %8s %8s\n", ready_mib, "text/as", "bytes", "status", "ms", "read, s",
           "MiB", "p99, ms", "slowdown");
    for (size_t i = 0; i < SHAPES * KINDS; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s/%s", shapes[i / KINDS].name, kinds[i % KINDS].name);
        if (only && !strstr(name, only))
            continue;
        struct message request = make_request(&shapes[i / KINDS], &kinds[i % KINDS], (unsigned)deadline_ms);
        struct outcome outcome = try_one(&server, &request, &small);
        held &= print_outcome(name, &request, &outcome, ready_mib, deadline_ms / 1000);
        message_done(&request);
    }
    int ended = server_end(&server, SIGTERM, PATIENCE_S);
    message_done(&small);
    printf("%s\n", held && ended == 0 ? "all bounds hold" : "a bound was missed");
    return held && ended == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
