/* Every allocation of the daemon fails in turn, one a request: the request is answered 503, or its
 * connection closed where the HTTP library had no memory, or answered correctly if the allocation
 * was dispensable; the next request is answered as usual, and no memory leaks. MEMORY_STRIDE: how
 * many allocations to pass over between one that fails and the next. */
#include "server/base/clock.h"
#include "tests/http/client.h"
#include "tests/http/suites.h"
#include "tests/memory/shortage.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WALK_S = 3600,
    MANY = 100000,
    SAMPLE_STRIDE = 41,
    CALM_TRIES = 50,
    CALM_US = 200,
    POKE_US = 500000,
    MAX_POKES = 20,
    LEAK_TRIES = 4,
    STARTS_APART = 7
};

#define FORM_TYPE      "Content-Type: application/x-www-form-urlencoded"
#define MULTIPART_TYPE "Content-Type: multipart/form-data; boundary=XX"
#define PART(name, value)                                                                          \
    "--XX\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" value "\r\n"
#define DOCUMENT(name, text)                                                                       \
    "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" name "\"\r\n\r\n" text    \
    "\r\n" PART("target", "fr") "--XX--\r\n"
#define ALL                                                                                        \
    "'include': ['tokens', 'log_probs', 'attention', 'soft_alignment', 'alignment', 'words', "     \
    "'offsets', 'entropy', 'top_k', "                                                              \
    "'eos', 'beam']"

/* printf %s secret | sha256sum */
#define KEYS "all user 2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\n"

enum { WIDE_WEIGHTS = 5000 }; /* more than the arena has room for without a block of its own */
static char wide[64 + 3 * WIDE_WEIGHTS];

enum {
    MOVING = 1 << 0, /* the answer is another one each time */
    KEYED = 1 << 1,  /* of a daemon with API keys */
    HEADED = 1 << 2, /* of a model with an alignment head */
    FORMER = 1 << 3, /* of a transformer */
};

static const struct kind {
    const char *name;
    struct call call;
    unsigned traits;
} kinds[] = {
    {"greedy",
     {.path = "/translate",
      .json = "{'text': 'A boy plays. It snows.', 'strategy': 'greedy', " ALL "}"},
     0},
    {"beam",
     {.path = "/translate",
      .json = "{'text': ['A boy plays.', 'It snows.'], 'n_best': 2, 'max_length': 9, " ALL "}"},
     0},
    {"sample",
     {.path = "/translate",
      .json = "{'text': 'A boy plays.', 'strategy': 'sample', 'seed': 7, 'n_best': 2}"},
     0},
    {"exact",
     {.path = "/translate",
      .json = "{'text': 'A boy.', 'strategy': 'exact', 'max_length': 3, 'prefix': 'Un'}"},
     0},
    {"glossary",
     {.path = "/translate",
      .json = "{'text': 'A boy {name} plays.', 'glossary': {'boy': 'chat'}, 'max_length': 9}"},
     0},
    {"protect",
     {.path = "/translate",
      .json = "{'text': 'A boy sees AB-12.', 'max_length': 9, 'protect': ['boy', {'pattern': "
              "'[A-Z]{2}-\\\\d+'}]}"},
     0},
    {"wrong pattern",
     {.path = "/translate", .json = "{'text': 'A boy.', 'protect': [{'pattern': '[a-'}]}"},
     0},
    {"stream",
     {.path = "/translate",
      .json = "{'text': 'A boy plays.', 'strategy': 'greedy', 'stream': true}"},
     0},
    {"attention", {.path = "/attention", .json = "{'text': 'A boy plays.'}"}, 0},
    {"head",
     {.path = "/translate",
      .json = "{'text': ['A boy plays.', 'It snows.'], 'n_best': 2, 'max_length': 9, " ALL "}"},
     HEADED},
    {"head stream",
     {.path = "/attention",
      .json = "{'text': 'A boy plays.', 'strategy': 'greedy', 'stream': true}"},
     HEADED},
    {"transformer",
     {.path = "/translate",
      .json = "{'text': ['A boy plays.', 'It snows.'], 'n_best': 2, 'max_length': 9, " ALL "}"},
     FORMER},
    {"heads",
     {.path = "/attention",
      .json = "{'text': 'A boy plays.', 'max_length': 9, 'include': ['heads', 'eos']}"},
     FORMER},
    {"exact past",
     {.path = "/attention",
      .json = "{'text': 'A boy.', 'strategy': 'exact', 'max_length': 3, 'include': ['heads']}"},
     FORMER},
    {"native form",
     {.path = "/attention", .body = "text=A+boy&text=plays.&beam_size=2&include=tokens,alignment"},
     0},
    {"target",
     {.path = "/attention", .json = "{'text': 'A boy plays.', 'target': 'Un chat joue.'}"},
     0},
    {"force",
     {.path = "/attention",
      .json = "{'text': 'A', 'force_attention': [{'step': 0, 'weights': [1, 0, 0]}]}"},
     0},
    {"wide", {.path = "/attention", .json = wide}, 0},
    {"key",
     {.path = "/translate", .json = "{'text': 'A'}", .headers = {"Authorization: Bearer secret"}},
     KEYED},
    {"member",
     {.path = "/translate",
      .json = "{'q': 'A', 'source': 'en', 'target': 'fr', 'api_key': 'secret'}"},
     KEYED},
    {"libre",
     {.path = "/translate",
      .json = "{'q': ['A boy plays.', 'It snows.'], 'source': 'auto', 'target': 'fr', "
              "'alternatives': 2}"},
     0},
    {"html",
     {.path = "/translate",
      .json =
          "{'q': '<p>A <b>boy</b> plays.</p>', 'source': 'en', 'target': 'fr', 'format': 'html'}"},
     0},
    {"form",
     {.path = "/translate", .body = "q=A+boy+plays.&source=en&target=fr", .headers = {FORM_TYPE}},
     0},
    {"multipart",
     {.path = "/translate",
      .body = PART("q", "A boy.") PART("source", "en") PART("target", "fr") "--XX--\r\n",
      .headers = {MULTIPART_TYPE}},
     0},
    {"txt",
     {.path = "/documents",
      .body = DOCUMENT("a.txt", "A boy\nplays.\n\n- It snows.\n"),
      .headers = {MULTIPART_TYPE}},
     0},
    {"srt",
     {.path = "/documents",
      .body = DOCUMENT(
          "a.srt",
          "1\n00:00:01,000 --> 00:00:02,000\nA <i>boy</i>\n\n2\n00:00:02,000 --> 00:00:03,000\n"
          "plays in the white, white, white snow.\n"),
      .headers = {MULTIPART_TYPE}},
     0},
    {"vtt",
     {.path = "/documents",
      .body = DOCUMENT("a.vtt",
                       "WEBVTT\n\n00:01.000 --> 00:02.000\n<v B>A boy</v> &amp; <c>plays</c>.\n"),
      .headers = {MULTIPART_TYPE}},
     0},
    {"json",
     {.path = "/documents",
      .body = DOCUMENT("a.json", "{\"a\": [\"A \\u0062oy.\", 1]}"),
      .headers = {MULTIPART_TYPE}},
     0},
    {"md",
     {.path = "/documents",
      .body = DOCUMENT("a.md", "# A *boy*\n\n- plays &amp; `x`\n"),
      .headers = {MULTIPART_TYPE}},
     0},
    {"html file",
     {.path = "/documents",
      .body = DOCUMENT("a.html", "<p>A <b>boy</b>.</p>"),
      .headers = {MULTIPART_TYPE}},
     0},
    {"po",
     {.path = "/documents",
      .body =
          DOCUMENT("a.po", "#, c-format\nmsgid \"%s boy\"\nmsgid_plural \"%d\\tboys\\nplay.\\n\"\n"
                           "msgstr[0] \"\"\nmsgstr[1] \"\"\n"),
      .headers = {MULTIPART_TYPE}},
     0},
    {"xliff",
     {.path = "/documents",
      .body = DOCUMENT("a.xlf", "<xliff><file><trans-unit><source>A <g id='1'>boy</g> &amp; <bx "
                                "id='1'/>snow<ex id='1'/>.</source>"
                                "</trans-unit></file></xliff>"),
      .headers = {MULTIPART_TYPE}},
     0},
    {"streamed file",
     {.path = "/documents",
      .body = PART("stream", "true") DOCUMENT("a.txt", "A boy."),
      .headers = {MULTIPART_TYPE}},
     0},
    {"kept file",
     {.path = "/translate_file",
      .body = PART("source", "en") DOCUMENT("a.txt", "A boy."),
      .headers = {MULTIPART_TYPE}},
     MOVING},
    {"bilingual file",
     {.path = "/documents",
      .body = PART("bilingual", "below")
          DOCUMENT("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nA boy.\n"),
      .headers = {MULTIPART_TYPE}},
     0},
    {"document to fetch",
     {.path = "/v2/document",
      .body = PART("target_lang", "fr") DOCUMENT("a.txt", "A boy."),
      .headers = {MULTIPART_TYPE}},
     MOVING},
    {"wrong file",
     {.path = "/documents",
      .body = DOCUMENT("a.json", "{\"a\": oops}"),
      .headers = {MULTIPART_TYPE}},
     0},
    {"deepl",
     {.path = "/v2/translate",
      .json = "{'text': ['A <b>boy</b> <x>plays</x> &amp; \nruns.'], 'source_lang': 'EN', "
              "'target_lang': 'FR', 'tag_handling': 'xml', "
              "'ignore_tags': ['x'], 'splitting_tags': 'p,q', 'split_sentences': 'nonewlines', "
              "'show_billed_characters': true}"},
     0},
    {"google",
     {.path = "/language/translate/v2?q=A+boy+plays.&q=It+snows.&target=fr&format=text"},
     0},
    {"microsoft",
     {.path =
          "/translate?api-version=3.0&to=fr,en&includeAlignment=true&includeSentenceLength=true",
      .json = "[{'Text': 'A boy plays. It snows.'}, {'Text': 'It snows.'}]"},
     0},
    {"sentences",
     {.path = "/breaksentence?api-version=3.0", .json = "[{'Text': 'A boy plays. It snows.'}]"},
     0},
    {"names", {.path = "/languages?api-version=3.0"}, 0},
    {"deeplx",
     {.path = "/deeplx", .json = "{'text': 'A boy.', 'source_lang': 'auto', 'target_lang': 'FR'}"},
     0},
    {"wrong", {.path = "/translate", .json = "{'text': 'A boy.', 'beam_size': 99}"}, 0},
    {"detect", {.path = "/detect", .json = "{'q': 'A boy plays in the snow.'}"}, 0},
    {"glossaries", {.path = "/v2/glossaries"}, 0},
    {"dictionaries", {.path = "/v3/glossaries"}, 0},
    {"dictionary", {.path = "/v3/glossaries/ours/entries?source_lang=en&target_lang=fr"}, 0},
    {"entries", {.path = "/v2/glossaries/ours/entries"}, 0},
    {"kept glossary",
     {.path = "/translate",
      .json = "{'text': 'A boy plays.', 'glossary': 'ours', 'strategy': 'greedy'}"},
     0},
    {"languages", {.path = "/languages"}, 0},
    {"settings", {.path = "/frontend/settings"}, 0},
    {"formats", {.path = "/formats"}, 0},
    {"models", {.path = "/models"}, 0},
    {"openapi", {.path = "/openapi.json"}, 0},
    {"metrics", {.path = "/metrics"}, MOVING},
    {"page", {.path = "/"}, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static struct shortage *shortage;

/* ---- the program ---- */

static const char *library(void) {
    static char path[4096];
    snprintf(path, sizeof path, "%.*s/tests/memory/shortage.so",
             (int)(strrchr(program, '/') - program), program);
    return path;
}

/* From here on, programs that are started have their allocations counted. */
static void prepare(void) {
    char descriptor[16];
    int fd = memfd_create("shortage", 0);
    ck_assert(fd >= 0 && ftruncate(fd, sizeof *shortage) == 0);
    shortage = mmap(NULL, sizeof *shortage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(shortage, MAP_FAILED);
    snprintf(descriptor, sizeof descriptor, "%d", fd);
    setenv(SHORTAGE_VARIABLE, descriptor, 1);
    setenv("LD_PRELOAD", library(), 1);
}

static size_t stride(void) {
    const char *given = getenv("MEMORY_STRIDE");
    return given ? (size_t)atol(given) : SAMPLE_STRIDE;
}

/* ---- one request ---- */

struct answer {
    long status;
    char *body;
};

/* libmicrohttpd's loop forgets whom to look at where it has no room for the list of its sockets,
 * until something else happens. */
static void poke(const struct daemon *daemon) {
    struct reply reply;
    client_send(daemon, &(struct call){.path = "/health"}, &reply);
    reply_done(&reply);
}

static struct answer ask(const struct daemon *daemon, const struct kind *kind) {
    struct reply reply;
    struct flight *flight = flight_open(daemon);
    int64_t began_us = clock_us();
    size_t pokes = 0;
    flight_send(flight, &kind->call, &reply);
    while (flight_move(flight) > 0) {
        if (clock_us() - began_us < (int64_t)(pokes + 1) * POKE_US)
            continue;
        poke(daemon);
        ck_assert_msg(++pokes < MAX_POKES, "%s: no answer", kind->name);
    }
    flight_close(flight);
    struct answer answer = {reply.status, reply.body ? strdup(reply.body) : strdup("")};
    reply_done(&reply);
    return answer;
}

/* Of a stream the last event counts: without memory for its tokens they are sent late, or not at
 * all. */
static const char *essence(const struct answer *answer) {
    const char *last = strstr(answer->body, "event: result");
    return last ? last : answer->body;
}

static bool same(const struct kind *kind, const struct answer *a, const struct answer *b) {
    return a->status == b->status &&
           ((kind->traits & MOVING) || strcmp(essence(a), essence(b)) == 0);
}

static bool is_stream(const struct call *call) {
    return (call->json && strstr(call->json, "'stream'")) ||
           (call->body && strstr(call->body, "\"stream\""));
}

/* An answer that tells of the shortage. A stream has sent its status before, and ends with the
 * error or without an end. */
static bool tells(const struct kind *kind, const struct answer *answer) {
    bool cut =
        answer->status == 0 || (is_stream(&kind->call) && !strstr(answer->body, "event: result"));
    return cut || (answer->status == 503 && strstr(answer->body, "out of memory"));
}

static long calm_blocks(long most) {
    for (int i = 0; i < CALM_TRIES && atomic_load(&shortage->live) > most; i++)
        usleep(CALM_US);
    return atomic_load(&shortage->live);
}

static void arm(long allocation) {
    atomic_store(&shortage->failed, 0);
    atomic_store(&shortage->countdown, allocation);
}

static void disarm(void) {
    atomic_store(&shortage->countdown, 0);
}

/* The so many-th allocation of a request fails; false: it has not so many. */
static bool fail_one(const struct daemon *daemon, const struct kind *kind, long allocation,
                     const struct answer *right) {
    arm(allocation);
    struct answer got = ask(daemon, kind);
    disarm();
    bool failed = atomic_load(&shortage->failed) > 0;
    bool fine = same(kind, &got, right) || (failed && tells(kind, &got));
    ck_assert_msg(fine, "%s, allocation %ld: %ld %.500s", kind->name, allocation, got.status,
                  got.body);
    free(got.body);
    struct answer next = ask(daemon, kind);
    ck_assert_msg(same(kind, &next, right), "%s, after allocation %ld: %ld %.500s", kind->name,
                  allocation, next.status, next.body);
    free(next.body);
    return failed;
}

/* The same, and again where there are more blocks after it than before: what stays the same each
 * time is kept for reuse, what grows each time leaks. */
static bool check_one(const struct daemon *daemon, const struct kind *kind, long allocation,
                      const struct answer *right) {
    for (int i = 0; i < LEAK_TRIES; i++) {
        long before = atomic_load(&shortage->live);
        bool failed = fail_one(daemon, kind, allocation, right);
        if (calm_blocks(before) <= before)
            return failed;
    }
    ck_abort_msg("%s, allocation %ld: blocks are left behind each time", kind->name, allocation);
    return false;
}

/* ---- tests ---- */

static struct daemon served;

static void write_wide(void) {
    size_t length = (size_t)snprintf(wide, sizeof wide,
                                     "{'text': 'A', 'force_attention': [{'step': 0, 'weights': [1");
    for (int i = 1; i < WIDE_WEIGHTS; i++)
        length += (size_t)snprintf(wide + length, sizeof wide - length, ", 1");
    ck_assert_int_lt(snprintf(wide + length, sizeof wide - length, "]}]}"),
                     (int)(sizeof wide - length));
}

static void start(const struct kind *kind) {
    char path[32];
    int keys = memory_file(KEYS);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), keys);
    setenv("ALIGND_API_KEYS", (kind->traits & KEYED) ? path : "", 1);
    write_wide();
    prepare();
    const char *model = (kind->traits & HEADED)   ? "tests/golden/alignment-luong-gru"
                        : (kind->traits & FORMER) ? "tests/golden/transformer-alignment"
                                                  : MODEL;
    char option[64];
    int glossary = memory_file("boy\tgars|jeune homme\n");
    snprintf(option, sizeof option, "ours:en:fr=/proc/%d/fd/%d", (int)getpid(), glossary);
    daemon_start(&served, ARGUMENTS("--model", model, "--workers", "1", "--heartbeat-ms", "60000",
                                    "--keep-files-bytes", "1", "--glossary",
                                    option)); /* one kept file takes the place of the other */
    close(glossary);
    close(keys);
}

static void check_empty(void) {
    metric_await(&served, "alignd_requests_in_flight", 1, NULL);
    metric_await(&served, "alignd_queue_depth", 0, NULL);
    metric_await(&served, "alignd_rows_live", 0, NULL);
}

static void walk(const struct kind *kind) {
    struct answer right = ask(&served, kind);
    long allocation = 1, step = (long)stride();
    ck_assert_msg(right.status == 200 || right.status == 400, "%s: %ld %.500s", kind->name,
                  right.status, right.body);
    for (int i = 0; i < 3; i++) /* what libraries keep from their first calls on */
        free(ask(&served, kind).body);
    while (allocation < MANY && check_one(&served, kind, allocation, &right))
        allocation += step;
    ck_assert_int_lt(allocation, MANY);
    printf("memory: %-10s %6ld allocations\n", kind->name, allocation - 1);
    free(right.body);
}

START_TEST(each_allocation) {
    start(&kinds[_i]);
    walk(&kinds[_i]);
    check_empty();
    daemon_stop(&served);
}
END_TEST

/* Translates a line, from start to end. */
static void run_offline(struct outcome *outcome) {
    program_run(ARGUMENTS("translate", "--model", MODEL), "A boy plays.\n", outcome);
}

static bool has_ended(pid_t pid) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Serves until it is ready, if it gets so far. */
static void run_daemon(struct outcome *outcome) {
    struct daemon daemon = {.log = memory_file("")};
    int nothing = memory_file("");
    daemon.pid =
        program_start(ARGUMENTS("--listen", "127.0.0.1:0", "--model", MODEL, "--workers", "1"),
                      nothing, nothing, daemon.log);
    for (struct patience patience = {0};
         !has_ended(daemon.pid) && !daemon_logged(&daemon, "event=ready");)
        patience_wait(&patience, "an end or a beginning");
    kill(daemon.pid, SIGTERM);
    outcome->status = program_wait(daemon.pid);
    outcome->out = strdup("");
    outcome->err = read_from_start(daemon.log);
    close(nothing);
    close(daemon.log);
}

static const struct {
    const char *name;
    void (*run)(struct outcome *outcome);
} starts[] = {{"translate", run_offline}, {"serve", run_daemon}};

/* An end with a message, or a program that works. */
START_TEST(starting) {
    struct outcome right;
    prepare();
    starts[_i].run(&right);
    ck_assert_int_eq(right.status, 0);
    long step = stride() > 1 ? (long)stride() * STARTS_APART : 1, allocation = 1;
    for (bool failed = true; failed; allocation += step) {
        struct outcome outcome;
        arm(allocation);
        starts[_i].run(&outcome);
        failed = atomic_load(&shortage->failed) > 0;
        disarm();
        bool works = outcome.status == 0 && strcmp(outcome.out, right.out) == 0;
        ck_assert_msg(works || (failed && outcome.status == 1 && strstr(outcome.err, "alignd: ")),
                      "%s, allocation %ld: status %d: %.500s", starts[_i].name, allocation,
                      outcome.status, outcome.err);
        outcome_done(&outcome);
    }
    printf("memory: %-10s %6ld allocations\n", starts[_i].name, allocation - step);
    outcome_done(&right);
}
END_TEST

Suite *memory_suite(void) {
    Suite *suite = suite_create("memory");
    TCase *tcase = tcase_create("memory");
    tcase_set_timeout(tcase, WALK_S);
    if (!program_sanitized()) {
        tcase_add_loop_test(tcase, each_allocation, 0, KINDS);
        tcase_add_loop_test(tcase, starting, 0, sizeof starts / sizeof *starts);
    }
    suite_add_tcase(suite, tcase);
    return suite;
}
