/* What strangers can take of a small machine: build/tests/load/attacks ALIGND [OPTION...] (make
 * check-attacks)
 *
 * Each attack meets a daemon of its own that has LIMIT_MIB, in a control group or by what it sees
 * (limited.sh), for ATTACK_SECONDS (3). Meanwhile others, from addresses of their own and on a new
 * connection each time, ask for /health and for a short sentence. Prints a table: what set the
 * limit; the most memory that was resident above the idle daemon's, what the kernel kept for its
 * sockets, and what it charged to the group, cached files included; the longest that a client
 * waited for /health before the attack, where CALM_CLIENTS from each of MAX_ADDRESSES ask at once,
 * each time on a new connection; the longest that the others waited; and how many requests of the
 * attack got which status, or none since their connection was closed or they were still under way
 * at the end. Fails where a bound is missed:
 *
 *   memory     the daemon and its sockets take at most LIMIT_MIB together, and it lives
 *   statuses   what the attack gets is what its row says
 *   others     nothing but 200, within MOST_CALMS times the longest wait before the attack
 *   documents  a client's finished document is there after others have uploaded theirs
 *   group      a control group that limited.sh makes lies within that of this program
 *
 * An attack that misses a bound is tried again, up to TRIES times in all.
 *
 * Variables: ATTACKS (all; ATTACKS=heads): those whose name contains this; ATTACK_SECONDS. */
#include "tests/archive.h"
#include "tests/load/crowd.h"
#include "tests/load/server.h"
#include "tests/load/tool.h"
#include "tests/load/watch.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LIMIT_MIB = 512,
    MOST_CALMS = 10,
    PATIENCE_S = 20,
    MAX_OPTIONS = 16,
    CLIENTS = 64,
    MAX_ADDRESSES = 8,
    CALM_CLIENTS = 48,
    TRIES = 3
};
enum {
    LONG = 1000000,
    LARGE = 9000000,
    UPLOADS = 10,
    HEAD_BYTES = 1024,
    KEYS = 2,
    KEY_BYTES = 128
};
static const double HEALTH_RATE = 20, SENTENCE_RATE = 5, CALM_S = 0.3;

static char keys[KEYS][KEY_BYTES]; /* headers with keys, of the attackers and of others */
static char key_file[] = "/tmp/alignd-attacks-XXXXXX";
static const char *program;
static const char *options[MAX_OPTIONS + 3]; /* the last two are the file of keys */
static size_t option_count;

/* ---- requests ---- */

/* line: method and path. headers: each with its line end. The length is stated unless the headers
 * have an encoding of transfer. */
static struct message make_message(const char *line, const char *headers, const char *body,
                                   size_t length) {
    struct message message = {.bytes = malloc(HEAD_BYTES + length)};
    char stated[64] = "";
    tool_check(message.bytes, "memory");
    if (!strstr(headers, "Transfer-Encoding"))
        snprintf(stated, sizeof stated, "Content-Length: %zu\r\n", length);
    int head = snprintf(message.bytes, HEAD_BYTES, "%s HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n",
                        line, stated, headers);
    tool_check(head > 0 && head < HEAD_BYTES, "a head");
    memcpy(message.bytes + head, body, length);
    message.length = (size_t)head + length;
    return message;
}

/* A sentence, and blanks before the end of the object. The caller frees it. */
static char *make_long(size_t length) {
    static const char start[] = "{\"text\":\"A boy plays.\",\"strategy\":\"greedy\"";
    char *body = malloc(length + 1);
    tool_check(body, "memory");
    memset(body, ' ', length);
    memcpy(body, start, sizeof start - 1);
    strcpy(body + length - 1, "}");
    return body;
}

/* ---- a document ---- */

/* A docx of one sentence and a picture of so many bytes. The caller frees it. */
static char *make_document(size_t picture, size_t *length) {
    static const char text[] =
        "<w:document "
        "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"><w:body><w:p>"
        "<w:r><w:t>A boy plays.</w:t></w:r></w:p></w:body></w:document>";
    char *pixels = malloc(picture + 1);
    tool_check(pixels, "memory");
    memset(pixels, 'x', picture);
    pixels[picture] = '\0';
    char *bytes = archive_make((const struct entry[]){{"word/document.xml", text, true},
                                                      {"word/media/a.png", pixels, true},
                                                      {0}},
                               length);
    free(pixels);
    return bytes;
}

#define BOUNDARY  "attacks-boundary"
#define MULTIPART "Content-Type: multipart/form-data; boundary=" BOUNDARY "\r\n"
#define FIELD(name, value)                                                                         \
    "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" value "\r\n"

/* The fields are those of every endpoint for documents. */
static struct message make_upload(const char *line, const char *headers, size_t picture) {
    static const char start[] = FIELD("source", "en") FIELD(
        "target",
        "fr") "--" BOUNDARY
              "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.docx\"\r\n\r\n";
    static const char deepl[] = FIELD("source_lang", "EN") FIELD(
        "target_lang",
        "FR") "--" BOUNDARY
              "\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.docx\"\r\n\r\n";
    static const char end[] = "\r\n--" BOUNDARY "--\r\n";
    const char *fields = strstr(line, "/v2/") ? deepl : start;
    size_t length;
    char *document = make_document(picture, &length),
         *body = malloc(strlen(fields) + length + sizeof end), all[HEAD_BYTES];
    tool_check(body, "memory");
    memcpy(stpcpy(body, fields), document, length);
    strcpy(body + strlen(fields) + length, end);
    snprintf(all, sizeof all, "%s%s", headers, MULTIPART);
    struct message message =
        make_message(line, all, body, strlen(fields) + length + sizeof end - 1);
    free(document);
    free(body);
    return message;
}

/* ---- the attacks ---- */

#define JSON    "Content-Type: application/json\r\n"
#define PAGE    "Sec-Fetch-Site: cross-site\r\nOrigin: https://example.org\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"

enum { MOST_MESSAGES = 3, MOST_STATUSES = 6 };

struct attack {
    const char *name;
    bool keyed;                /* the daemon has keys */
    size_t addresses, clients; /* clients: of each address */
    double pace;               /* bytes a second of each client; 0: as fast as they are taken */
    struct {
        enum { QUESTION, KEYED_QUESTION, DOCUMENT } kind; /* KEYED: it has a key */
        const char *line, *headers;
        size_t length; /* of the body; 0: none */
    } messages[MOST_MESSAGES];
    int statuses[MOST_STATUSES]; /* that its requests may get; none: they get no answer */
};

/* Statuses of well-formed requests, where there are too many. 413: there is no room for the
 * document. */
#define HONEST                                                                                     \
    { 200, 413, 429, 503, 504 }

static const struct attack attacks[] = {
    {"an unknown path", false, 1, 900, 0, {{QUESTION, "POST /nope", JSON, LONG}}, {404}},
    {"a wrong method", false, 1, 900, 0, {{QUESTION, "PUT /translate", JSON, LONG}}, {405}},
    {"a length over the limit",
     false,
     1,
     900,
     0,
     {{QUESTION, "POST /translate", JSON, 2 * LONG}},
     {413}},
    {"gzip",
     false,
     1,
     900,
     0,
     {{QUESTION, "POST /translate", JSON "Content-Encoding: gzip\r\n", LONG}},
     {415}},
    {"another page",
     false,
     1,
     900,
     0,
     {{QUESTION, "POST /models", JSON PAGE, LONG}, {QUESTION, "POST /v2/document", PAGE, LONG}},
     {403}},
    {"a wrong key",
     true,
     1,
     1100,
     0,
     {{QUESTION, "POST /translate", JSON "Authorization: Bearer x\r\n", LONG}},
     {403}},
    {"no key", true, 1, 1100, 0, {{QUESTION, "POST /translate", JSON, LONG}}, {401}},
    {"slow bodies", false, 1, 900, LONG / 2, {{QUESTION, "POST /translate", JSON, LONG}}, HONEST},
    {"slow bodies with a key",
     true,
     1,
     900,
     LONG / 2,
     {{KEYED_QUESTION, "POST /translate", JSON, LONG}},
     HONEST},
    {"slow bodies, 8 addresses",
     false,
     8,
     120,
     LONG / 2,
     {{QUESTION, "POST /translate", JSON, LONG}},
     HONEST},
    {"bodies in chunks",
     false,
     1,
     900,
     0,
     {{QUESTION, "POST /translate", JSON CHUNKED, LONG}},
     HONEST},
    {"slow heads, 4 addresses",
     false,
     4,
     300,
     5,
     {{QUESTION, "GET /languages", "Connection: close\r\n", 0}},
     {0}},
    {"documents of 9 MB",
     false,
     2,
     60,
     0,
     {{DOCUMENT, "POST /documents", "", LARGE},
      {DOCUMENT, "POST /translate_file", "", LARGE},
      {DOCUMENT, "POST /v2/document", "", LARGE}},
     HONEST},
};

/* The body as one chunk. */
static struct message make_chunked(const char *line, const char *headers, const char *body,
                                   size_t length) {
    char *chunked = malloc(length + 64);
    tool_check(chunked, "memory");
    int head = sprintf(chunked, "%zx\r\n", length);
    memcpy(chunked + head, body, length);
    strcpy(chunked + (size_t)head + length, "\r\n0\r\n\r\n");
    struct message message = make_message(line, headers, chunked, (size_t)head + length + 7);
    free(chunked);
    return message;
}

static struct message make_attack(const struct attack *attack, size_t i) {
    char headers[HEAD_BYTES];
    size_t length = attack->messages[i].length;
    snprintf(headers, sizeof headers, "%s%s",
             attack->messages[i].kind == KEYED_QUESTION ? keys[0] : "",
             attack->messages[i].headers);
    if (attack->messages[i].kind == DOCUMENT)
        return make_upload(attack->messages[i].line, headers, length);
    char *body = length > 0 ? make_long(length) : NULL;
    struct message message = (strstr(headers, CHUNKED) ? make_chunked : make_message)(
        attack->messages[i].line, headers, body, length);
    free(body);
    return message;
}

/* ---- the daemon and other clients ---- */

static void make_key(const char *name, char header[KEY_BYTES]) {
    char command[256], line[256] = "";
    snprintf(command, sizeof command, "%s key --name %s 2>&1 >>%s", program, name, key_file);
    FILE *out = popen(command, "r");
    tool_check(out && fgets(line, sizeof line, out) && pclose(out) == 0 && strrchr(line, ' '),
               command);
    line[strcspn(line, "\n")] = '\0';
    snprintf(header, KEY_BYTES, "Authorization: Bearer %s\r\n", strrchr(line, ' ') + 1);
}

static void start_daemon(struct server *server, bool keyed) {
    char limit[16];
    const char *const command[] = {"/bin/sh", "tests/load/limited.sh", limit, program, NULL};
    snprintf(limit, sizeof limit, "%d", LIMIT_MIB);
    options[option_count] = keyed ? "--api-keys" : NULL;
    options[option_count + 1] = keyed ? key_file : NULL;
    server_start_within(server, command, options);
}

struct others {
    struct message health, sentence;
    struct crowd *asking, *translating;
    struct crowd_result of_health, of_sentences;
};

/* The longest that a client waits for /health on a new connection, where many ask at once and
 * nobody attacks. */
static double measure_calm(const struct server *server) {
    struct message health = make_message("GET /health", "Connection: close\r\n", NULL, 0);
    struct crowd *crowds[MAX_ADDRESSES];
    double most = 0;
    for (size_t i = 0; i < MAX_ADDRESSES; i++)
        crowds[i] = crowd_start(&(struct crowd_options){.port = server->port,
                                                        .source = (unsigned)i + 3,
                                                        .clients = CALM_CLIENTS,
                                                        .messages = &health,
                                                        .count = 1});
    tool_sleep(CALM_S);
    for (size_t i = 0; i < MAX_ADDRESSES; i++) {
        struct crowd_result result = crowd_stop(crowds[i], PATIENCE_S);
        most = result.most > most ? result.most : most;
    }
    message_done(&health);
    return most;
}

static void others_start(struct others *others, const struct server *server) {
    static const char body[] = "{\"text\":\"A girl reads.\",\"strategy\":\"greedy\"}";
    char headers[HEAD_BYTES];
    snprintf(headers, sizeof headers, "%sConnection: close\r\n" JSON, keys[1]);
    others->health = make_message("GET /health", "Connection: close\r\n", NULL, 0);
    others->sentence = make_message("POST /translate", headers, body, sizeof body - 1);
    struct crowd_options crowd = {.port = server->port,
                                  .source = 1,
                                  .clients = CLIENTS,
                                  .rate = HEALTH_RATE,
                                  .messages = &others->health,
                                  .count = 1};
    others->asking = crowd_start(&crowd);
    crowd.source = 2;
    crowd.rate = SENTENCE_RATE;
    crowd.messages = &others->sentence;
    others->translating = crowd_start(&crowd);
}

static void others_stop(struct others *others) {
    others->of_health = crowd_stop(others->asking, PATIENCE_S);
    others->of_sentences = crowd_stop(others->translating, PATIENCE_S);
    message_done(&others->health);
    message_done(&others->sentence);
}

static long count_missed(const struct crowd_result *result) {
    return result->begun + result->unsent - result->statuses[200];
}

/* ---- a row of the table ---- */

struct row {
    const char *name;
    double idle_mib, calm_s;
    struct watch_peak peak;
    char limited_by[32]; /* as limited.sh says */
    struct others others;
    long statuses[CROWD_STATUSES], unanswered;
    const int *expected;    /* [MOST_STATUSES], up to a 0 */
    bool slow, lives, lost; /* slow: its requests may be under way to the end; lost: a document */
};

static bool is_expected(const struct row *row, int status) {
    for (size_t i = 0; i < MOST_STATUSES && row->expected[i] > 0; i++)
        if (row->expected[i] == status)
            return true;
    return false;
}

static bool print_missed(bool missed, const char *what) {
    if (missed)
        printf("  missed: %s", what);
    return missed;
}

static bool print_row(const struct row *row) {
    double above = row->peak.resident - row->idle_mib;
    double health_s = row->others.of_health.most, sentence_s = row->others.of_sentences.most;
    bool unexpected = false, any = false, missed = false;
    printf("| %s | %s | %.0f | %.0f |", row->name, row->limited_by, above, row->peak.sockets);
    printf(row->peak.group < 0 ? " |" : " %.0f |", row->peak.group);
    printf(" %.2f |", row->calm_s);
    if (row->lives)
        printf(" %.2f | %.2f |", health_s, sentence_s);
    else
        printf(" killed | |");
    for (int status = 0; status < CROWD_STATUSES; status++) {
        if (row->statuses[status] == 0)
            continue;
        printf(" %d: %ld,", status, row->statuses[status]);
        any = true;
        unexpected |= !is_expected(row, status);
    }
    printf(" none: %ld |", row->unanswered);
    missed |= print_missed(row->peak.killed || !row->lives, "the daemon's life");
    missed |= print_missed(row->peak.both > LIMIT_MIB, "memory");
    missed |= print_missed(unexpected || !(any || row->slow), "statuses");
    missed |= print_missed(row->lost, "a document");
    missed |= print_missed(strncmp(row->limited_by, "group", 5) == 0 && !row->peak.within,
                           "a control group within this program's");
    missed |= print_missed(count_missed(&row->others.of_health) > 0, "an answer to /health");
    missed |= print_missed(count_missed(&row->others.of_sentences) > 0, "an answer to a sentence");
    missed |= print_missed(health_s > MOST_CALMS * row->calm_s, "/health");
    missed |= print_missed(sentence_s > MOST_CALMS * row->calm_s, "sentences");
    printf("\n");
    fflush(stdout);
    return !missed;
}

/* Starts a daemon, and meets it with an attack, while others ask. Returns true if all bounds hold.
 */
static bool meet(struct row *row, bool keyed,
                 void (*attack)(struct row *row, const struct server *server, const void *closure),
                 const void *closure) {
    struct server server;
    start_daemon(&server, keyed);
    server_logged(&server, "limited_by=", row->limited_by, sizeof row->limited_by);
    row->idle_mib = server_resident_mib(&server);
    row->calm_s = measure_calm(&server);
    struct watch *watch = watch_start(&server, LIMIT_MIB);
    others_start(&row->others, &server);
    attack(row, &server, closure);
    others_stop(&row->others);
    row->peak = watch_stop(watch);
    row->lives = server_end(&server, SIGTERM, PATIENCE_S) == 0;
    return print_row(row);
}

/* Meets up to TRIES daemons, until all bounds hold: what an attack causes comes again, what other
 * programs on the machine cause does not. */
static bool meet_some(const struct row *fresh, bool keyed,
                      void (*attack)(struct row *row, const struct server *server,
                                     const void *closure),
                      const void *closure) {
    bool held = false;
    for (size_t i = 0; i < TRIES && !held; i++) {
        struct row row = *fresh;
        held = meet(&row, keyed, attack, closure);
    }
    return held;
}

static void overrun(struct row *row, const struct server *server, const void *closure) {
    const struct attack *attack = closure;
    struct message messages[MOST_MESSAGES];
    struct crowd *crowds[MAX_ADDRESSES];
    size_t count = 0;
    for (; count < MOST_MESSAGES && attack->messages[count].line; count++)
        messages[count] = make_attack(attack, count);
    for (size_t i = 0; i < attack->addresses; i++)
        crowds[i] = crowd_start(&(struct crowd_options){.port = server->port,
                                                        .source = (unsigned)i + 3,
                                                        .clients = attack->clients,
                                                        .pace = attack->pace,
                                                        .messages = messages,
                                                        .count = count,
                                                        .seed = (unsigned)i});
    tool_sleep(tool_parameter("ATTACK_SECONDS", 3));
    for (size_t i = 0; i < attack->addresses; i++) {
        struct crowd_result result = crowd_stop(crowds[i], 0);
        for (size_t j = 0; j < CROWD_STATUSES; j++)
            row->statuses[j] += result.statuses[j];
        row->unanswered += result.begun - result.refused - result.answered;
    }
    for (size_t i = 0; i < count; i++)
        message_done(&messages[i]);
}

/* ---- documents that are kept ---- */

struct order {
    char id[80], key[80];
};

/* Returns the status. reply: [HEAD_BYTES], its beginning. */
static int ask(const struct server *server, const struct message *message, char *reply) {
    return server_ask(server, message->bytes, message->length, 0, PATIENCE_S, reply, HEAD_BYTES);
}

static int ask_about(const struct server *server, const struct order *order, const char *what,
                     const char *key, char *reply) {
    char line[200], headers[HEAD_BYTES], body[128];
    snprintf(line, sizeof line, "POST /v2/document/%s%s", order->id, what);
    snprintf(headers, sizeof headers, "%sConnection: close\r\n" JSON, key);
    snprintf(body, sizeof body, "{\"document_key\":\"%s\"}", order->key);
    struct message message = make_message(line, headers, body, strlen(body));
    int status = ask(server, &message, reply);
    message_done(&message);
    return status;
}

/* Uploads a document and waits until it is done or has failed. Returns the status of the upload. */
static int upload(const struct server *server, const char *key, size_t picture,
                  struct order *order) {
    char headers[HEAD_BYTES], reply[HEAD_BYTES];
    snprintf(headers, sizeof headers, "%sConnection: close\r\n", key);
    struct message message = make_upload("POST /v2/document", headers, picture);
    int status = ask(server, &message, reply);
    const char *found = strstr(reply, "{\"document_id\":");
    message_done(&message);
    if (found && sscanf(found, "{\"document_id\":\"%79[^\"]\",\"document_key\":\"%79[^\"]",
                        order->id, order->key) == 2)
        while (ask_about(server, order, "", key, reply) == 200 && !strstr(reply, "\"done\"") &&
               !strstr(reply, "\"error\""))
            tool_sleep(0.01);
    return status;
}

static void upload_many(struct row *row, const struct server *server, const void *closure) {
    struct order own = {"", ""}, other = {"", ""};
    char reply[HEAD_BYTES];
    (void)closure;
    row->lost = upload(server, keys[1], 1, &own) != 200;
    for (size_t i = 0; i < UPLOADS; i++)
        row->statuses[upload(server, keys[0], LARGE, &other)]++;
    row->lost |= ask_about(server, &own, "/result", keys[1], reply) != 200;
}

int main(int argc, char **argv) {
    static const int honest[MOST_STATUSES] = HONEST;
    static const char uploads[] = "ten uploads of 9 MB";
    const char *only = getenv("ATTACKS");
    bool held = true;
    tool_check(argc >= 2 && argc < MAX_OPTIONS, "usage: attacks ALIGND [OPTION...]");
    program = argv[1];
    for (int i = 2; i < argc; i++)
        options[option_count++] = argv[i];
    close(mkstemp(key_file));
    make_key("attacker", keys[0]);
    make_key("other", keys[1]);
    printf("| attack | limited by | MiB above idle | MiB of sockets | MiB of the group | calm, s "
           "| /health, s | sentence, s | statuses of the attack "
           "|\n|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++) {
        struct row row = {
            .name = attacks[i].name, .expected = attacks[i].statuses, .slow = attacks[i].pace > 0};
        if (!only || strstr(row.name, only))
            held &= meet_some(&row, attacks[i].keyed, overrun, &attacks[i]);
    }
    struct row row = {.name = uploads, .expected = honest};
    if (!only || strstr(row.name, only))
        held &= meet_some(&row, true, upload_many, NULL);
    unlink(key_file);
    puts(held ? "attacks: all bounds hold" : "attacks: bounds missed");
    return held ? EXIT_SUCCESS : EXIT_FAILURE;
}
