/* The maximum length of a reply, and the memory of unread replies. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include "tests/http/work.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVERYTHING                                                                                 \
    "'tokens','log_probs','attention','soft_alignment','alignment','words','offsets','entropy','"  \
    "top_k','beam','timing','eos'"

enum {
    TEXTS = 64,
    FEW_TEXTS = 4,
    TEXT_BYTES = 156,
    WORD_BYTES = 12,
    REPLY_KIB = 2048,
    UNREAD_KIB = 4096,
    READERS = 20
};

/* The longest reply that few bytes can ask for. */
static char *long_question(size_t texts, const char *fields) {
    char *body = malloc(texts * (TEXT_BYTES + 3) + strlen(fields) + 400),
         *out = stpcpy(body, "{'text':[");
    for (size_t i = 0; i < texts; i++) {
        out = stpcpy(out, i > 0 ? ",'" : "'");
        for (size_t j = 0; j < TEXT_BYTES / WORD_BYTES; j++)
            out = stpcpy(out, "abababababa ");
        out = stpcpy(out, "'");
    }
    sprintf(out, "],'include':[" EVERYTHING "]%s}", fields);
    return body;
}

static void start(struct daemon *daemon) {
    daemon_start(daemon,
                 ARGUMENTS("--model", MODEL, "--max-reply-bytes", "2097152", "--reply-memory",
                           "4194304", "--deadline-ms", "600000", "--queue-work", "100000000"));
}

static void check_too_large(const struct reply *reply, const char *message) {
    ck_assert_int_eq(reply->status, 413);
    ck_assert_str_eq(text_at(reply->json, "code"), "too_large");
    ck_assert_msg(strncmp(text_at(reply->json, "error"), message, strlen(message)) == 0, "%s",
                  text_at(reply->json, "error"));
}

/* Detected once sentences have been decoded, or only while the reply is written: no part of it is
 * sent. */
START_TEST(too_long_once_decoded) {
    struct daemon daemon;
    struct reply reply;
    start(&daemon);
    char *body = long_question(FEW_TEXTS, ",'beam_size':32,'n_best':32,'max_length':40");
    client_send(&daemon, &(struct call){.path = "/translate", .json = body}, &reply);
    check_too_large(&reply, "the reply must have at most 2097152 bytes, but would have more");
    ck_assert(metric(&daemon, "alignd_rejected_total{reason=\"reply_length\"}") == 1);
    ck_assert(metric(&daemon, "alignd_rows_live") == 0);
    reply_done(&reply);
    free(body);
    client_post(&daemon, "/translate", "{'text':'a b c'}", 200, &reply);
    reply_done(&reply);
    daemon_stop(&daemon);
}
END_TEST

/* The sentences that have been decoded show it: the others are not. */
START_TEST(too_long_before_the_end) {
    struct daemon daemon;
    struct reply reply;
    daemon_start(&daemon,
                 ARGUMENTS("--model", MODEL, "--max-reply-bytes", "2097152", "--workers", "1",
                           "--rows", "32", "--deadline-ms", "600000", "--queue-work", "100000000"));
    char *body = long_question(TEXTS, ",'beam_size':32,'n_best':32,'max_length':40");
    client_send(&daemon, &(struct call){.path = "/translate", .json = body}, &reply);
    check_too_large(&reply, "the reply must have at most 2097152 bytes, but would have more");
    ck_assert_double_eq(metric(&daemon, "alignd_rejected_total{reason=\"reply_length\"}"), 1);
    ck_assert_double_le(
        metric(&daemon, "alignd_sentences_admitted_total{priority=\"interactive\"}"), TEXTS / 4);
    ck_assert_double_eq(metric(&daemon, "alignd_rows_live"), 0);
    reply_done(&reply);
    free(body);
    daemon_stop(&daemon);
}
END_TEST

/* So long at least that nothing need be decoded to know. */
START_TEST(too_long_from_the_start) {
    struct daemon daemon;
    struct reply reply;
    start(&daemon);
    char *body =
        long_question(TEXTS, ",'strategy':'sample','n_best':32,'min_length':40,'max_length':40");
    client_send(&daemon, &(struct call){.path = "/translate", .json = body}, &reply);
    check_too_large(&reply, "the reply must have at most 2097152 bytes, but would have ");
    ck_assert(metric(&daemon, "alignd_step_duration_seconds_count") == 0);
    reply_done(&reply);
    free(body);
    daemon_stop(&daemon);
}
END_TEST

/* What a reply must have at least is never more than what it has: one that is exactly as long as it
 * may be is sent. */
START_TEST(as_long_as_it_may_be) {
    static const char *const questions[] = {
        "{'text':['It snows today.','A boy plays.'],'include':[" EVERYTHING
        "],'beam_size':4,'n_best':3,'max_length':12}",
        "{'text':['It snows today.','A boy "
        "plays.'],'include':['top_k','beam','offsets'],'min_length':5,'max_length':12}",
        "{'text':'It "
        "snows.','include':['tokens','attention'],'strategy':'sample','seed':3,'n_best':4,'max_"
        "length':12}",
        "{'text':'It "
        "snows.','prefix':'Il','max_length':12,'include':['tokens','attention','offsets','top_k']"
        "}"};
    const char *question = questions[_i];
    struct daemon daemon;
    struct reply reply;
    char most[32], *timeless = strdup(question), *timing = strstr(timeless, "'timing',");
    if (timing)
        memmove(timing, timing + strlen("'timing',"), strlen(timing + strlen("'timing',")) + 1);
    start(&daemon);
    client_send(&daemon, &(struct call){.path = "/translate", .json = timeless}, &reply);
    ck_assert_msg(reply.status == 200, "%s", reply.body);
    daemon_stop(&daemon);
    for (size_t less = 0; less < 2; less++) {
        struct reply bounded;
        snprintf(most, sizeof most, "%zu", reply.length - less);
        daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--max-reply-bytes", most));
        client_send(&daemon, &(struct call){.path = "/translate", .json = timeless}, &bounded);
        ck_assert_msg(bounded.status == (less ? 413 : 200), "%s", bounded.body);
        reply_done(&bounded);
        daemon_stop(&daemon);
    }
    reply_done(&reply);
    free(timeless);
}
END_TEST

/* The stream has begun: it ends with the error, and has no sentence that is too long. */
START_TEST(too_long_for_a_stream) {
    struct daemon daemon;
    struct reply reply;
    start(&daemon);
    char *body =
        long_question(FEW_TEXTS, ",'beam_size':32,'n_best':32,'max_length':40,'stream':true");
    client_send(&daemon, &(struct call){.path = "/translate", .json = body}, &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_ptr_nonnull(strstr(
        reply.body, "event: error\ndata: {\"error\":\"the reply must have at most 2097152 bytes"));
    ck_assert_ptr_null(strstr(reply.body, "event: result"));
    reply_done(&reply);
    free(body);
    daemon_stop(&daemon);
}
END_TEST

/* The same of events that the connection's own thread writes. */
START_TEST(too_long_for_a_small_stream) {
    struct daemon daemon;
    struct reply reply;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--max-reply-bytes", "1024"));
    client_send(&daemon,
                &(struct call){
                    .path = "/translate",
                    .json =
                        "{'text':'It snows "
                        "today.','include':['top_k','words','entropy','log_probs'],'stream':true}"},
                &reply);
    ck_assert_int_eq(reply.status, 200);
    ck_assert_ptr_null(strstr(reply.body, "event: sentence\n"));
    ck_assert_ptr_nonnull(strstr(
        reply.body, "event: error\ndata: {\"error\":\"the reply must have at most 1024 bytes"));
    reply_done(&reply);
    daemon_stop(&daemon);
}
END_TEST

/* True once replies have been refused for lack of memory, and there is room again: while there is
 * not, /metrics is refused, too. */
static bool is_cut(const struct daemon *daemon) {
    struct reply reply;
    client_send(daemon, &(struct call){.path = "/metrics"}, &reply);
    bool cut = reply.status == 200 && !strstr(reply.body, "{reason=\"reply_memory\"} 0");
    reply_done(&reply);
    return cut;
}

/* Events that are not read take memory, too: if there is no room for them, the stream ends with
 * that error. */
START_TEST(unread_stream_has_no_room) {
    static const char error[] = "event: error\ndata: {\"error\":\"too many replies are waiting to "
                                "be read\",\"code\":\"unavailable\"}\n\n";
    struct daemon daemon;
    char *text = NULL, part[4096];
    size_t length = 0;
    daemon_start(&daemon, ARGUMENTS("--model", MODEL, "--max-reply-bytes", "12M", "--reply-memory",
                                    "12M", "--deadline-ms", "600000"));
    int connection = work_unread(&daemon, true, WORK_UNREAD_TEXTS);
    for (struct patience patience = {0}; !is_cut(&daemon);)
        patience_wait(&patience, "the stream to be cut");
    static const char last[] = "\r\n0\r\n\r\n"; /* chunk */
    size_t ending = sizeof last - 1;
    FILE *out = open_memstream(&text, &length);
    for (ssize_t count; length < ending || memcmp(text + length - ending, last, ending) != 0;
         fflush(out)) {
        ck_assert_int_gt(count = recv(connection, part, sizeof part, 0), 0);
        fwrite(part, 1, (size_t)count, out);
    }
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_msg(strstr(text, error) != NULL, "%s", text + length - (length < 400 ? length : 400));
    ck_assert_ptr_null(strstr(text, "event: result"));
    free(text);
    close(connection);
    daemon_stop(&daemon);
}
END_TEST

/* Events that are written beside the connection's thread come whole and once, and the last one is
 * the reply. */
START_TEST(large_stream) {
    struct daemon daemon;
    struct reply whole, streamed;
    start(&daemon);
    char *body = long_question(1, ",'beam_size':4,'n_best':2,'max_length':20"),
         *timing = strstr(body, "'timing',"), *stream;
    memmove(timing, timing + strlen("'timing',"), strlen(timing + strlen("'timing',")) + 1);
    client_send(&daemon, &(struct call){.path = "/translate", .json = body}, &whole);
    ck_assert_int_eq(whole.status, 200);
    ck_assert_uint_gt(whole.length, 64 * 1024);
    ck_assert_int_gt(asprintf(&stream, "%.*s,'stream':true}", (int)strlen(body) - 1, body), 0);
    client_send(&daemon, &(struct call){.path = "/translate", .json = stream}, &streamed);
    ck_assert_int_eq(streamed.status, 200);
    const char *result = strstr(streamed.body, "event: result\ndata: ");
    ck_assert_ptr_nonnull(result);
    result += strlen("event: result\ndata: ");
    ck_assert_uint_eq(strlen(result), whole.length + 2);
    ck_assert(memcmp(result, whole.body, whole.length) == 0);
    const char *sentence = strstr(streamed.body, "event: sentence\n");
    ck_assert_ptr_nonnull(sentence);
    metric_await_least(&daemon, "alignd_chore_duration_seconds_count{kind=\"rendering\"}", 2, NULL);
    reply_done(&whole);
    reply_done(&streamed);
    free(stream);
    free(body);
    daemon_stop(&daemon);
}
END_TEST

/* Replies of several megabytes, more than sockets hold: with so many unread the next ones are
 * refused, but for small ones, and those that are read make room. */
START_TEST(unread) {
    enum { LEFT_BYTES = 16 };
    struct daemon daemon;
    struct reply reply;
    daemon_start(&daemon,
                 ARGUMENTS("--model", MODEL, "--max-reply-bytes", "16777216", "--reply-memory",
                           "33554432", "--deadline-ms", "600000", "--queue-work", "100000000"));
    char *body = long_question(8, ",'beam_size':8,'n_best':8,'max_length':24,'min_length':24"),
         *head = malloc(strlen(body) + 200);
    for (char *c = body; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    sprintf(head, "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s",
            strlen(body), body);
    client_send(&daemon, &(struct call){.path = "/translate", .body = body}, &reply);
    ck_assert_int_eq(reply.status, 200);
    size_t length = reply.length, fit = ((size_t)32 << 20) / length;
    ck_assert_msg(length > 6 << 20 && fit >= 1 && fit + 1 < READERS, "%zu",
                  length); /* more than sockets hold */
    reply_done(&reply);
    daemon_stop(&daemon);
    char room[32]; /* for `fit` of them, and no more than LEFT_BYTES beside */
    snprintf(room, sizeof room, "%zu", fit * length + LEFT_BYTES);
    daemon_start(&daemon,
                 ARGUMENTS("--model", MODEL, "--max-reply-bytes", "16777216", "--reply-memory",
                           room, "--deadline-ms", "600000", "--queue-work", "100000000"));
    int readers[READERS];
    size_t count = 0;
    for (;;) { /* one more does not read, until a reply is refused */
        client_send(&daemon, &(struct call){.path = "/translate", .body = body}, &reply);
        if (reply.status != 200)
            break;
        reply_done(&reply);
        ck_assert_uint_lt(count, READERS);
        readers[count] = raw_open(&daemon);
        raw_write(readers[count++], head, strlen(head));
    }
    ck_assert_int_eq(reply.status, 503);
    char seconds[HEADER_BYTES];
    ck_assert(reply_header(&reply, "Retry-After", seconds));
    ck_assert_str_eq(text_at(reply.json, "error"), "too many replies are waiting to be read");
    reply_done(&reply);
    client_post(&daemon, "/translate", "{'text':'a b c'}", 200, &reply); /* a small one */
    ck_assert_uint_gt(reply.length, LEFT_BYTES);
    reply_done(&reply);
    for (size_t i = 0; i < count; i++)
        close(readers[i]);
    metric_await(&daemon, "alignd_reply_bytes", 0, NULL);
    client_send(&daemon, &(struct call){.path = "/translate", .body = body}, &reply);
    ck_assert_int_eq(reply.status, 200);
    reply_done(&reply);
    free(head);
    free(body);
    daemon_stop(&daemon);
}
END_TEST

/* The data of an answer are freed with it. */
START_TEST(memory_comes_back) {
    struct daemon daemon;
    struct reply reply;
    start(&daemon);
    client_post(&daemon, "/translate", "{'text':'a b c'}", 200, &reply);
    reply_done(&reply);
    double before = metric(&daemon, "process_resident_memory_bytes");
    char *body =
        long_question(TEXTS, ",'beam_size':32,'n_best':32,'max_length':100,'min_length':100");
    for (int i = 0; i < 3; i++) {
        client_send(&daemon, &(struct call){.path = "/translate", .json = body}, &reply);
        ck_assert_int_eq(reply.status, 413);
        reply_done(&reply);
    }
    double after = metric(&daemon, "process_resident_memory_bytes");
    ck_assert_msg(after - before < 1024 * (60 * 1024 + REPLY_KIB + UNREAD_KIB),
                  "%.0f bytes before, %.0f after", before, after);
    free(body);
    daemon_stop(&daemon);
}
END_TEST

Suite *replies_suite(void) {
    Suite *suite = suite_create("replies");
    TCase *tests = tcase_create("replies");
    tcase_set_timeout(tests, TEST_TIMEOUT_S);
    tcase_add_test(tests, too_long_once_decoded);
    tcase_add_test(tests, too_long_before_the_end);
    tcase_add_test(tests, too_long_from_the_start);
    tcase_add_loop_test(tests, as_long_as_it_may_be, 0, 4);
    tcase_add_test(tests, too_long_for_a_stream);
    tcase_add_test(tests, too_long_for_a_small_stream);
    tcase_add_test(tests, unread_stream_has_no_room);
    tcase_add_test(tests, large_stream);
    tcase_add_test(tests, unread);
    if (!program_sanitized())
        tcase_add_test(tests, memory_comes_back);
    suite_add_tcase(suite, tests);
    return suite;
}
