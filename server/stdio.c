/* This file hides how messages of agents come on stdin and go to stdout, a line each, one at a
 * time: the endpoint is that of POST /mcp, without a port that others could reach. */
#include "server/api/reply.h"
#include "server/base/clock.h"
#include "server/commands.h"
#include "server/dialects/mcp.h"
#include "server/endpoints/routes.h"
#include "server/engine/engine.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENVELOPE_BYTES = 64 * 1024, /* bytes of a message beside its file or texts */
    CLIENT = 1
};

/* ---- lines ---- */

struct message_line {
    char *text; /* [length] without the line feed, then a NUL */
    size_t length, capacity;
    bool too_long; /* the rest of it was read and discarded */
};

/* Reads a line of up to `most` bytes. Returns 1, or 0 at the end of the input, or -1. */
static int read_line(FILE *in, size_t most, struct message_line *line, struct error *err) {
    int c;
    line->length = 0;
    line->too_long = false;
    while ((c = getc_unlocked(in)) != EOF && c != '\n') {
        if (line->length + 1 >= line->capacity && !line->too_long) {
            size_t capacity = 2 * line->capacity + 4096;
            char *text = realloc(line->text, capacity);
            if (!text)
                return error_memory(err);
            line->text = text;
            line->capacity = capacity;
        }
        line->too_long |= line->length == most;
        if (!line->too_long)
            line->text[line->length++] = (char)c;
    }
    if (c == EOF && ferror(in))
        return error_set(err, ERROR_FILE, "cannot read from stdin: %s", strerror(errno));
    if (line->length > 0)
        line->text[line->length] = '\0';
    return c != EOF || line->length > 0;
}

/* ---- messages ---- */

static int answer_line(struct engine *engine, const struct route *route,
                       const struct message_line *line, FILE *out, struct error *err) {
    struct service *service = &engine->service;
    struct reply reply = {.dialect = &dialect_mcp};
    struct request request;
    const struct call call = {
        .body = line->text, .length = line->length, .path = route->path, .route = route};
    request_init(&request);
    request.id = "stdio";
    request.account.client = CLIENT;
    request.waits.fetches = true;
    request.parameters.verbatim = service->options->verbatim;
    request.deadline_us = request.latest_us =
        clock_us() + (int64_t)service->options->document_ms * 1000;
    if (line->too_long)
        reply_fail(&reply, STATUS_TOO_LARGE, NULL, "a message must have at most %zu bytes",
                   line->length);
    else
        engine_answer(engine, &call, &request, &reply);
    mcp_name_failure(&request, &reply);
    request_done(&request);
    bool written = reply.length == 0 || (fwrite(reply.body, reply.length, 1, out) == 1 &&
                                         putc('\n', out) != EOF && fflush(out) == 0);
    free(reply.body);
    return written ? 0 : error_set(err, ERROR_FILE, "cannot write to stdout: %s", strerror(errno));
}

int command_serve_stdio(struct engine *engine, FILE *in, FILE *out, struct error *err) {
    const struct service *service = &engine->service;
    size_t index, documents = service->options->document_bytes,
                  texts = service->options->max_body_bytes;
    size_t most = (documents > texts ? documents : texts) / 3 * 4 + ENVELOPE_BYTES; /* base64 */
    const struct route *route = routes_find("/mcp", "POST", &index);
    struct message_line line = {0};
    int result;
    while ((result = read_line(in, most, &line, err)) > 0) {
        if (line.length > 0 && (result = answer_line(engine, route, &line, out, err)) != 0)
            break;
    }
    free(line.text);
    return result;
}
