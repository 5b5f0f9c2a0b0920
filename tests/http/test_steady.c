/* The answer to a sentence is the same to the last byte for any load: alone, in arrays, among
 * others at once. On the shipped model, whose matrices are large enough for every path of the
 * kernels. */
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHIPPED "weights/en-fr"
#define SOURCE  "tests/bench/sentences.txt"

/* STEADY_SENTENCES sets how many sentences are compared. A sanitizer makes everything ten times
 * slower and does not look for wrong bits. */
enum { USUAL_SENTENCES = 300, SENTENCES_WATCHED = 18 };

enum {
    MOST_SENTENCES = 2000,
    LINES = 64,
    LINE_BYTES = 256,
    TEXT_BYTES = 2 * LINE_BYTES,
    BODY_BYTES = 1 << 16,
    ARRAY = 64,
    FLIGHT = 128,
    STEADY_S = 900
};

/* Ways to ask; sentence i is always asked for in way i % WAYS. */
static const struct {
    const char *path, *array, *options;
} ways[] = {
    {"/translate", "translations",
     "'strategy': 'greedy', 'include': ['tokens', 'log_probs', 'eos']"},
    {"/translate", "translations", "'include': ['tokens', 'log_probs', 'entropy']"},
    {"/attention", "results", "'strategy': 'greedy'"},
    {"/translate", "translations", "'beam_size': 3, 'n_best': 3, 'length_penalty': 0.5"},
    {"/translate", "translations", "'strategy': 'greedy', 'min_length': 15, 'max_length': 15"},
    {"/attention", "results",
     "'beam_size': 12, 'include': ['words', 'attention'], 'max_length': 5"},
};
enum { WAYS = sizeof ways / sizeof *ways };

static size_t sentences;
static char texts[MOST_SENTENCES][TEXT_BYTES];
static char *answers[MOST_SENTENCES]; /* each one alone */

/* ---- the sentences ---- */

/* Quotes become accents: struct call has its own use for them. */
static size_t read_lines(char lines[LINES][LINE_BYTES]) {
    FILE *file = fopen(SOURCE, "r");
    ck_assert_ptr_nonnull(file);
    size_t count = 0;
    for (; count < LINES && fgets(lines[count], LINE_BYTES, file); count++) {
        lines[count][strcspn(lines[count], "\n")] = '\0';
        for (char *quote; (quote = strpbrk(lines[count], "'\"")) != NULL;)
            *quote = '`';
    }
    fclose(file);
    return count;
}

/* Where the second half begins: at the space after the middle, or at the end. */
static size_t middle(const char *line) {
    const char *space = strchr(line + strlen(line) / 2, ' ');
    return space ? (size_t)(space - line) : strlen(line);
}

static bool is_new(const char *text, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(texts[i], text) == 0)
            return false;
    }
    return true;
}

/* The first half of one line and the second of another, in all combinations, as many as are needed.
 */
static void make_texts(void) {
    static char lines[LINES][LINE_BYTES];
    size_t count = read_lines(lines), made = 0;
    for (size_t i = 0; i < count * count && made < sentences; i++) {
        const char *first = lines[i / count], *second = lines[i % count];
        snprintf(texts[made], TEXT_BYTES, "%.*s%s", (int)middle(first), first,
                 second + middle(second));
        made += is_new(texts[made], made);
    }
    ck_assert_uint_eq(made, sentences);
}

/* ---- requests and answers ---- */

/* One sentence, or the first `count` of those that are asked for in the same way from this one on.
 */
static struct call make_call(size_t first, size_t count, char body[BODY_BYTES]) {
    size_t at = (size_t)snprintf(body, BODY_BYTES, "{%s, 'split_sentences': false, 'text': [",
                                 ways[first % WAYS].options);
    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(body + at, BODY_BYTES - at, "%s'%s'", i == 0 ? "" : ", ",
                               texts[first + i * WAYS]);
    snprintf(body + at, BODY_BYTES - at, "]}");
    return (struct call){.path = ways[first % WAYS].path, .json = body};
}

/* The answer to one text of a reply, without what is around it; the caller frees it. */
static char *answer(const struct reply *reply, size_t first, size_t place) {
    ck_assert_msg(reply->status == 200, "%s: %ld %s", texts[first], reply->status,
                  reply->body ? reply->body : "");
    char *text = json_dumps(json_array_get(json_at(reply->json, ways[first % WAYS].array), place),
                            JSON_COMPACT);
    ck_assert_ptr_nonnull(text);
    return text;
}

static void check_reply(struct reply *reply, size_t first, size_t count, const char *how) {
    for (size_t i = 0; i < count; i++) {
        char *got = answer(reply, first, i), *want = answers[first + i * WAYS];
        ck_assert_msg(strcmp(got, want) == 0, "%s\nalone: %s\n%s: %s", texts[first + i * WAYS],
                      want, how, got);
        free(got);
    }
    reply_done(reply);
}

static void ask_alone(const struct daemon *daemon) {
    static char body[BODY_BYTES];
    CURL *connection = connection_open();
    for (size_t i = 0; i < sentences; i++) {
        struct reply reply;
        struct call call = make_call(i, 1, body);
        call.connection = connection;
        client_send(daemon, &call, &reply);
        answers[i] = answer(&reply, i, 0);
        reply_done(&reply);
    }
    curl_easy_cleanup(connection);
}

/* Sentences left that are asked for in the same way, up to an array's worth. */
static size_t array_from(size_t first) {
    size_t left = (sentences - first + WAYS - 1) / WAYS;
    return left < ARRAY ? left : ARRAY;
}

static void check_arrays(const struct daemon *daemon) {
    static char body[BODY_BYTES];
    for (size_t way = 0; way < WAYS; way++) {
        for (size_t first = way, count; first < sentences; first += count * WAYS) {
            struct reply reply;
            struct call call = make_call(first, count = array_from(first), body);
            client_send(daemon, &call, &reply);
            check_reply(&reply, first, count, "in an array");
        }
    }
}

/* All ways side by side, in requests of one sentence. */
static void check_crowd(const struct daemon *daemon) {
    static struct reply replies[FLIGHT];
    static char body[BODY_BYTES];
    for (size_t first = 0; first < sentences; first += FLIGHT) {
        size_t count = sentences - first < FLIGHT ? sentences - first : FLIGHT;
        struct flight *flight = flight_open(daemon);
        for (size_t i = 0; i < count; i++) {
            struct call call = make_call(first + i, 1, body);
            flight_send(flight, &call, &replies[i]);
        }
        flight_land(flight);
        flight_close(flight);
        for (size_t i = 0; i < count; i++)
            check_reply(&replies[i], first + i, 1, "in a crowd");
    }
}

/* ---- per type of computation ---- */

static void start(struct daemon *daemon, const char *compute, const char *workers) {
    daemon_start(daemon, ARGUMENTS("--model", SHIPPED, "--compute", compute, "--workers", workers,
                                   "--deadline-ms", "600000"));
}

static bool computes_in(const struct daemon *daemon, const char *compute) {
    struct reply reply;
    client_send(daemon, &(struct call){.path = "/models"}, &reply);
    bool same = strcmp(text_at(reply.json, "models.0.compute"), compute) == 0;
    reply_done(&reply);
    return same;
}

static const char *const types[] = {"float32", "bfloat16", "int8"};

START_TEST(answers_depend_on_nobody_else) {
    struct daemon daemon;
    const char *given = getenv("STEADY_SENTENCES");
    sentences = given                 ? (size_t)atol(given)
                : program_sanitized() ? SENTENCES_WATCHED
                                      : USUAL_SENTENCES;
    ck_assert(sentences >= 1 && sentences <= MOST_SENTENCES);
    make_texts();
    start(&daemon, types[_i], "1");
    bool offered = computes_in(&daemon, types[_i]);
    if (offered)
        ask_alone(&daemon);
    else
        printf("steady: this build or machine does not compute in %s: skipped\n", types[_i]);
    daemon_stop(&daemon);
    if (!offered)
        return;
    start(&daemon, types[_i], "2");
    check_arrays(&daemon);
    check_crowd(&daemon);
    daemon_stop(&daemon);
    for (size_t i = 0; i < sentences; i++)
        free(answers[i]);
}
END_TEST

Suite *steady_suite(void) {
    Suite *suite = suite_create("steady");
    TCase *tcase = tcase_create("steady");
    tcase_set_timeout(tcase, STEADY_S);
    tcase_add_loop_test(tcase, answers_depend_on_nobody_else, 0, sizeof types / sizeof *types);
    suite_add_tcase(suite, tcase);
    return suite;
}
