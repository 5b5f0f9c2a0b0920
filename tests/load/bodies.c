/* Every kind of body at its maximum size: build/tests/load/bodies ALIGND [OPTION...] (make
 * check-bodies, a part of make check-abuse and of .ci/run)
 *
 * Shapes of text that repeat one unit, each as a document of every format (of a megabyte; those of
 * archives take a few kB when they are sent) and as a text in every dialect (as long as
 * --max-text-chars allows), one after the other, with the default options. Meanwhile another client
 * sends requests of 350 bytes. Prints a table, and fails where a bound is missed:
 *
 *   answer     a document: a translation, or a reason why it is refused other than the deadline. A
 *              text, whose work is to be decoded, may also come to its deadline, TEXT_DEADLINE_MS
 *   memory     MEMORY_MIB above the idle daemon, which has answered one sentence, so that
 *              pages of libraries that every request reads are in memory
 *   processor  PROCESSOR_S of processor time, of all threads of the daemon, those that decode among
 *              them
 *   others     99 of 100 of their requests (all but one, if there are fewer) are answered within
 *              OTHERS_MS, times the factor by which the daemon's threads waited for a processor
 *
 * On a machine that needs more than ORDINARY_S for the ordinary document, the last two are as many
 * times as long. A body that misses a bound meets a daemon that rests again, up to TRIES times in
 * all: what the daemon causes comes again, what other programs or the body before cause does not.
 *
 * BODIES=addresses/md: only those whose name contains this. */
#include "tests/archive.h"
#include "tests/load/crowd.h"
#include "tests/load/server.h"
#include "tests/load/tool.h"
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEMORY_MIB = 61, /* 64 MB */
    PROCESSOR_S = 3,
    OTHERS_MS = 300,
    TEXT_DEADLINE_MS = 1000,
    TRIES = 3
};
enum {
    BODY_BYTES = 1 << 20,
    ARCHIVE_BYTES = 900000,
    HEAD_BYTES = 2048,
    TEXT_CHARACTERS = 50000,
    RUNS = 30000
};
enum { PATIENCE_S = 120, CLIENTS = 32, WARMING_SENTENCES = 300 };
static const double
    OTHERS_RATE = 20,
    LEAST_S = 0.25; /* LEAST_S: the time of a body, in which some of the others' requests come */
static const double ORDINARY_S =
    0.6; /* of processor time, for the ordinary document on the machine that the bounds are for */
static const double BUSY =
    2; /* a slowdown of others' making, where some of theirs may come too late */
/* A daemon that rests has no more than REST_MIB above the idle one, or has rested for REST_S. */
static const double REST_MIB = 16, REST_S = 4;
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
    {"digits", "7"},
    {"dotted", "a.a.a."},
    {"brackets", "("},
    {"braces", "{"},
    {"squares", "["},
    {"templates", "<?a "},
    {"quotes", "\xe2\x80\x9d"},
    {"combining", "\xcc\x81"},
    {"joiners", "\xe2\x80\x8d"},
    {"pictures", "\xf0\x9f\x98\x80"},
    {"feeds", "\n"},
    {"runs", NULL}, /* RUNS elements of a word each, in one paragraph */
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* The parts around the text. A document goes to /documents; a text's body is JSON. */
static const struct kind {
    const char *name, *path, *head, *tail;
    const char *feed; /* how a line feed is written */
    const char *run;  /* a word as an element */
    const char *part; /* the name of the text in an archive; NULL: no archive */
} kinds[] = {
    {"txt", NULL, "", "", "\n", "a ", NULL},
    {"csv", NULL, "a,b\n", ",c\n", " ", "a,", NULL},
    {"srt", NULL, "1\n00:00:01,000 --> 00:00:02,000\n", "\n", "\n", "<i>a </i>", NULL},
    {"vtt", NULL, "WEBVTT\n\n00:01.000 --> 00:02.000\n", "\n", "\n", "<i>a </i>", NULL},
    {"json", NULL, "{\"a\":\"", "\"}", "\",\"a\":\"", "<i>a </i>", NULL},
    {"md", NULL, "# a\n\n", "\n", "\n", "*a* ", NULL},
    {"html", NULL, "<p>", "</p>", "<br>", "<span>a </span>", NULL},
    {"po", NULL, "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=UTF-8\\n\"\n\nmsgid \"",
     "\"\nmsgstr \"\"\n", "\\n", "<i>a </i>", NULL},
    {"xliff", NULL,
     "<xliff version=\"1.2\" xmlns=\"urn:oasis:names:tc:xliff:document:1.2\"><file "
     "source-language=\"en\" target-language=\"fr\" "
     "datatype=\"plaintext\" original=\"a\"><body><trans-unit id=\"1\"><source>",
     "</source></trans-unit></body></file></xliff>", "\n", "<g id=\"1\">a </g>", NULL},
    {"docx", NULL,
     "<w:document "
     "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/"
     "main\"><w:body><w:p><w:r><w:t>",
     "</w:t></w:r></w:p></w:body></w:document>", "\n", "a </w:t></w:r><w:r><w:t>",
     "word/document.xml"},
    {"xlsx", NULL,
     "<sst xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><si><r><t>",
     "</t></r></si></sst>", "\n", "a </t></r><r><t>", "xl/sharedStrings.xml"},
    {"pptx", NULL,
     "<p:sld xmlns:p=\"http://schemas.openxmlformats.org/presentationml/2006/main\" "
     "xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\"><p:txBody><a:p><a:r><a:t>",
     "</a:t></a:r></a:p></p:txBody></p:sld>", "\n", "a </a:t></a:r><a:r><a:t>",
     "ppt/slides/slide1.xml"},
    {"odt", NULL,
     "<office:document-content xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
     "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"><office:body><office:text><"
     "text:p>",
     "</text:p></office:text></office:body></office:document-content>", "\n",
     "<text:span>a </text:span>", "content.xml"},
    {"epub", NULL, "<html xmlns=\"http://www.w3.org/1999/xhtml\"><body><p>", "</p></body></html>",
     "<br/>", "<b>a </b>", "a.xhtml"},
    {"native", "/translate", "{\"source\":\"en\",\"target\":\"fr\",\"text\":\"", "\"}", "\\n",
     "<i>a </i>", NULL},
    {"libre", "/translate", "{\"source\":\"en\",\"target\":\"fr\",\"q\":\"", "\"}", "\\n",
     "<i>a </i>", NULL},
    {"deepl", "/v2/translate", "{\"target_lang\":\"FR\",\"source_lang\":\"EN\",\"text\":[\"",
     "\"]}", "\\n", "<i>a </i>", NULL},
    {"google", "/language/translate/v2", "{\"source\":\"en\",\"target\":\"fr\",\"q\":\"", "\"}",
     "\\n", "<i>a </i>", NULL},
    {"microsoft", "/translate?api-version=3.0&from=en&to=fr", "[{\"Text\":\"", "\"}]", "\\n",
     "<i>a </i>", NULL},
    {"deeplx", "/deeplx", "{\"source_lang\":\"EN\",\"target_lang\":\"FR\",\"text\":\"", "\"}",
     "\\n", "<i>a </i>", NULL},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static size_t characters_in(const char *unit) {
    size_t count = 0;
    for (; *unit; unit++)
        count += ((unsigned char)*unit & 0xc0) != 0x80;
    return count;
}

/* Writes the unit as the kind has it, and "<" as a reference where that is markup. */
static void write_unit(const struct shape *shape, const struct kind *kind, char unit[64]) {
    bool marked = strncmp(kind->head, "<", 1) == 0;
    *unit = '\0';
    if (!shape->unit)
        strcpy(unit, kind->run);
    for (const char *c = shape->unit; c && *c; c++)
        *c == '\n'            ? strcat(unit, kind->feed)
        : *c == '<' && marked ? strcat(unit, "&lt;")
                              : strncat(unit, c, 1);
}

/* As many units as the limits allow. The caller frees it. */
static char *make_text(const struct shape *shape, const struct kind *kind) {
    char unit[64];
    write_unit(shape, kind, unit);
    size_t length = strlen(unit),
           count = (size_t)((kind->part ? ARCHIVE_BYTES : BODY_BYTES) - HEAD_BYTES) / length;
    if (kind->path)
        count = TEXT_CHARACTERS / characters_in(shape->unit ? shape->unit : unit);
    else if (!shape->unit)
        count = RUNS;
    char *text = malloc(strlen(kind->head) + count * length + strlen(kind->tail) + 1),
         *end = stpcpy(text, kind->head);
    tool_check(text, "memory");
    for (size_t i = 0; i < count; i++)
        end = mempcpy(end, unit, length);
    strcpy(end, kind->tail);
    return text;
}

/* Frees the text. */
static struct message make_request(const struct kind *kind, char *text) {
    static const char form[] =
        "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"source\"\r\n\r\nen\r\n--" BOUNDARY
        "\r\nContent-Disposition: form-data; name=\"target\"\r\n\r\nfr\r\n--" BOUNDARY
        "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.%s\"\r\n\r\n";
    static const char end[] = "\r\n--" BOUNDARY "--\r\n";
    const struct entry entries[] = {
        {"mimetype", "application/zip", true}, {kind->part, text, false}, {NULL, NULL, false}};
    size_t content_length = strlen(text), body_length, length;
    char *content = kind->part ? archive_make(entries, &content_length) : text, *body = NULL,
         *bytes = NULL;
    FILE *out = open_memstream(&body, &body_length);
    tool_check(out && content, "memory");
    if (!kind->path)
        fprintf(out, form, kind->name);
    fwrite(content, 1, content_length, out);
    fprintf(out, "%s", kind->path ? "" : end);
    fclose(out);
    out = open_memstream(&bytes, &length);
    tool_check(out, "memory");
    char deadline[64] = "";
    if (kind->path)
        snprintf(deadline, sizeof deadline, "X-Deadline-Ms: %d\r\n", (int)TEXT_DEADLINE_MS);
    fprintf(out,
            "POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%sContent-Type: "
            "%s\r\nContent-Length: %zu\r\n\r\n",
            kind->path ? kind->path : "/documents", deadline,
            kind->path ? "application/json" : "multipart/form-data; boundary=" BOUNDARY,
            body_length);
    fwrite(body, 1, body_length, out);
    fclose(out);
    free(body);
    if (content != text)
        free(content);
    free(text);
    return (struct message){.bytes = bytes, .length = length};
}

/* One sentence. */
static struct message make_first(void) {
    size_t i = 0;
    while (strcmp(kinds[i].name, "native") != 0)
        i++;
    char *text = strdup("{\"source\":\"en\",\"target\":\"fr\",\"text\":\"A dog runs.\"}");
    tool_check(text, "memory");
    return make_request(&kinds[i], text);
}

/* A document of sentences that differ. */
static struct message make_ordinary(void) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    tool_check(out, "memory");
    for (size_t i = 0; i < WARMING_SENTENCES; i++)
        fprintf(out, "The small dog number %zu runs in the white snow, and a boy plays.\n", i);
    fclose(out);
    return make_request(&kinds[0], text);
}

/* A request that others wait for: two sentences in a body of 350 bytes. */
static struct message make_small(void) {
    char body[400];
    int used = snprintf(body, sizeof body,
                        "{\"source\":\"en\",\"target\":\"fr\",\"strategy\":\"greedy\",\"text\":"
                        "\"The dog runs. A boy plays.\"");
    snprintf(body + used, sizeof body - (size_t)used, "%*s}", 350 - used - 1, "");
    return message_post("/translate", "application/json", body);
}

/* ---- one after the other ---- */

struct outcome {
    int status;
    double answer_s, processor_s, memory_mib, others_s, slower;
    long others_missed;
};

static struct outcome try_one(const struct server *server, const struct message *request,
                              const struct message *small) {
    struct outcome outcome;
    server_forget_peak(server);
    struct server_time before = server_time(server);
    struct crowd *others = crowd_start(&(struct crowd_options){.port = server->port,
                                                               .source = 2,
                                                               .clients = CLIENTS,
                                                               .rate = OTHERS_RATE,
                                                               .messages = small,
                                                               .count = 1});
    double began = tool_now();
    outcome.status = server_ask(server, request->bytes, request->length, 0, PATIENCE_S, NULL, 0);
    outcome.answer_s = tool_now() - began;
    if (outcome.answer_s < LEAST_S)
        tool_sleep(LEAST_S - outcome.answer_s);
    struct crowd_result result = crowd_stop(others, PATIENCE_S);
    struct server_time after = server_time(server);
    outcome.processor_s = after.run_s - before.run_s;
    outcome.slower = 1 + (after.waited_s - before.waited_s) / outcome.processor_s;
    outcome.memory_mib = server_peak_mib(server);
    outcome.others_s = result.p99;
    bool busy = outcome.slower > BUSY;
    outcome.others_missed =
        result.begun - result.statuses[200] + (busy ? -result.statuses[504] : result.unsent);
    return outcome;
}

/* The memory of the idle daemon, and the time for the ordinary document as a multiple of
 * ORDINARY_S, at least 1. */
struct usual {
    double idle_mib, slowness;
};

static struct usual have_ordinary(const struct server *server) {
    struct message first = make_first(), document = make_ordinary();
    tool_check(server_ask(server, first.bytes, first.length, 0, PATIENCE_S, NULL, 0) == 200,
               "a sentence");
    message_done(&first);
    double idle_mib = server_resident_mib(server), began = server_time(server).run_s;
    tool_check(server_ask(server, document.bytes, document.length, 0, PATIENCE_S, NULL, 0) == 200,
               "an ordinary document");
    double taken = server_time(server).run_s - began;
    message_done(&document);
    printf(
        "idle: %.0f MiB; an ordinary document: %.2f s of processor time, at most %.0f MiB more\n",
        idle_mib, taken, server_peak_mib(server) - idle_mib);
    return (struct usual){idle_mib, taken > ORDINARY_S ? taken / ORDINARY_S : 1};
}

/* Returns the names of the bounds that are missed, "" if all hold. */
static const char *find_missed(bool text, const struct outcome *outcome,
                               const struct usual *usual) {
    static char missed[128];
    bool answered = outcome->status == 200 || outcome->status == 400 || outcome->status == 413 ||
                    (text && outcome->status == 504);
    snprintf(missed, sizeof missed, "%s%s%s%s", answered ? "" : " answer",
             outcome->memory_mib - usual->idle_mib > MEMORY_MIB ? " memory" : "",
             outcome->processor_s > PROCESSOR_S * usual->slowness ? " processor" : "",
             outcome->others_s > OTHERS_MS * outcome->slower * usual->slowness / 1000 ||
                     outcome->others_missed > 0
                 ? " others"
                 : "");
    return missed;
}

/* Returns true if all bounds hold in one of the tries. */
static bool try_some(const struct server *server, const char *name, bool text,
                     const struct message *request, const struct message *small,
                     const struct usual *usual) {
    for (size_t i = 0; i < TRIES; i++) {
        struct outcome outcome = try_one(server, request, small);
        const char *missed = find_missed(text, &outcome, usual);
        printf("%-24s %8zu %6d %8.0f %8.2f %8.0f %8.0f %8.1f%s%s\n", name, request->length,
               outcome.status, 1000 * outcome.answer_s, outcome.processor_s,
               outcome.memory_mib - usual->idle_mib, 1000 * outcome.others_s, outcome.slower,
               *missed ? "  missed:" : "", missed);
        fflush(stdout);
        if (!*missed)
            return true;
        server_settled(server, LONG_MAX, usual->idle_mib + REST_MIB, REST_S);
    }
    return false;
}

int main(int argc, char **argv) {
    tool_check(argc >= 2, "usage: bodies ALIGND [OPTION...]");
    const char *only = getenv("BODIES");
    struct message small = make_small();
    struct server server;
    bool held = true;
    server_start(&server, argv[1], (const char *const *)argv + 2, 0);
    const struct usual usual = have_ordinary(&server);
    printf("%-24s %8s %6s %8s %8s %8s %8s %8s\n", "text/as", "bytes", "status", "ms", "cpu, s",
           "MiB", "p99, ms", "slowdown");
    for (size_t i = 0; i < SHAPES * KINDS; i++) {
        const struct shape *shape = &shapes[i / KINDS];
        const struct kind *kind = &kinds[i % KINDS];
        char name[64];
        snprintf(name, sizeof name, "%s/%s", shape->name, kind->name);
        if (only && !strstr(name, only))
            continue;
        struct message request = make_request(kind, make_text(shape, kind));
        held &= try_some(&server, name, kind->path != NULL, &request, &small, &usual);
        message_done(&request);
    }
    int ended = server_end(&server, SIGTERM, PATIENCE_S);
    message_done(&small);
    printf("%s\n", held && ended == 0 ? "all bounds hold" : "a bound was missed");
    return held && ended == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
