/* This file hides which endpoints a program may call, and what a reply holds. */
#include "server/api/decode.h"
#include "server/api/dialect.h"
#include "server/api/documents.h"
#include "server/api/models.h"
#include "server/api/reply.h"
#include "server/base/clock.h"
#include "server/dialects/plain.h"
#include "server/library/library.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CLIENT = 1, /* all calls of a program take turns as those of one client */
    MOST_FIELDS = 64,
    STATUS_CANCELLED = 499
};

/* ---- endpoints ---- */

#define SPEAKS(spoken)                                                                             \
    (const struct dialect *const[]) {                                                              \
        &spoken, NULL                                                                              \
    }

/* Everything is allowed: who calls the library has the process. */
static const struct route routes[] = {
    {"translate", "POST", ACCESS_OPEN, decode_start, decode_finish, SPEAKS(dialect_translate),
     PAGES_ANY, 0},
    {"attention", "POST", ACCESS_OPEN, decode_start, decode_finish, SPEAKS(dialect_attention),
     PAGES_ANY, 0},
    {"align", "POST", ACCESS_OPEN, decode_start, decode_finish, SPEAKS(dialect_align), PAGES_ANY,
     0},
    {"detect", "POST", ACCESS_OPEN, decode_start, NULL, SPEAKS(dialect_libre_detect), PAGES_ANY, 0},
    {"models", "GET", ACCESS_OPEN, models_list, NULL, NULL, PAGES_ANY, 0},
    {"languages", "GET", ACCESS_OPEN, plain_languages, NULL, NULL, PAGES_ANY, 0},
    {"formats", "GET", ACCESS_OPEN, documents_formats, NULL, NULL, PAGES_ANY, 0},
    {"document", "POST", ACCESS_OPEN, documents_start, documents_finish, NULL, PAGES_ANY,
     ROUTE_LASTS},
};
_Static_assert(sizeof routes / sizeof *routes == LIBRARY_ROUTES, "all endpoints");

static const struct route *find_route(const char *what, size_t length) {
    for (size_t i = 0; i < LIBRARY_ROUTES; i++)
        if (strlen(routes[i].path) == length && memcmp(routes[i].path, what, length) == 0)
            return &routes[i];
    return NULL;
}

void call_labels(const char *labels[LIBRARY_ROUTES]) {
    for (size_t i = 0; i < LIBRARY_ROUTES; i++)
        labels[i] = routes[i].path;
}

/* ---- calls ---- */

/* Sets the fields of a query string, in the request's arena; file: and the bytes as a part of a
 * form, named by the field "filename". Otherwise sets the reply. */
static void read_fields(struct library_call *call, const char *query, bool file) {
    struct arena *arena = &call->request.arena;
    struct api_field *fields = arena_zalloc(arena, MOST_FIELDS, sizeof *fields);
    char *rest = fields ? arena_copy(arena, query, strlen(query)) : NULL;
    char *bytes = file && rest ? arena_copy(arena, call->call.body, call->call.length) : NULL;
    if (!rest || (file && !bytes)) {
        reply_fail_memory(&call->reply);
        return;
    }
    if (file)
        fields[call->call.field_count++] =
            (struct api_field){.name = "file", .value = bytes, .length = call->call.length};
    for (char *field; call->call.field_count < MOST_FIELDS && (field = strsep(&rest, "&"));) {
        char *value = field + strcspn(field, "=");
        if (*field == '\0')
            continue;
        if (*value)
            *value++ = '\0';
        size_t length = percent_decode(value, strlen(value), value);
        value[length] = '\0';
        fields[call->call.field_count++] =
            (struct api_field){.name = field, .value = value, .length = length};
        if (file && strcmp(field, "filename") == 0) { /* in a form, an attribute of the part */
            fields[0].file_name = value;
            call->call.field_count--;
        }
    }
    call->call.fields = fields;
    if (rest)
        reply_fail(&call->reply, STATUS_INVALID, NULL, "there are more than %d fields",
                   MOST_FIELDS - 1);
}

void call_begin(struct library_call *call, alignd_engine *engine, const char *what,
                const char *bytes, size_t length) {
    const struct options *options = engine->engine.service.options;
    const char *query = what + strcspn(what, "?");
    const struct route *route = find_route(what, (size_t)(query - what));
    bool lasts = route && route_has(route, ROUTE_LASTS);
    size_t most = lasts && options->document_bytes > options->max_body_bytes
                      ? options->document_bytes
                      : options->max_body_bytes;
    query += *query == '?';
    memset(call, 0, sizeof *call);
    request_init(&call->request);
    call->call = (struct call){.body = bytes,
                               .length = length,
                               .content_type = "application/json",
                               .form = lasts,
                               .path = route ? route->path : what,
                               .route = route,
                               .administrator = true};
    call->reply.dialect = route_dialect(route);
    call->request.id = "library";
    call->request.account.client = CLIENT;
    call->request.parameters.verbatim = options->verbatim;
    call->request.deadline_us =
        clock_us() + (int64_t)(lasts ? options->document_ms : options->deadline_ms) * 1000;
    if (engine->process != getpid())
        reply_fail_coded(&call->reply, STATUS_INTERNAL, "forked", NULL,
                         "the engine belongs to the parent of this process");
    else if (!route)
        reply_fail(&call->reply, STATUS_NOT_FOUND, NULL, "there is no endpoint \"%.60s\"", what);
    else if (length > most)
        reply_fail(&call->reply, STATUS_TOO_LARGE, NULL, "the request must have at most %zu bytes",
                   most);
    else
        read_fields(call, query, lasts);
}

alignd_reply *alignd_call(alignd_engine *engine, const char *what, const char *request,
                          size_t length) {
    struct library_call call;
    call_begin(&call, engine, what, request, length);
    if (call.reply.status == 0)
        engine_answer(&engine->engine, &call.call, &call.request, &call.reply);
    return call_end(&call);
}

/* ---- replies ---- */

/* A matrix that was asked for. */
struct found {
    char *what;
    size_t text, sentence;
    alignd_floats floats;
    struct found *next;
};

struct alignd_reply {
    unsigned status;
    const char *type; /* static */
    char *text;       /* [length], then a NUL */
    size_t length;
    json_t *root; /* the text as JSON, once a matrix was asked for */
    struct found *found;
};

alignd_reply *call_end(struct library_call *call) {
    struct reply *reply = &call->reply;
    if (request_reason(&call->request) == CANCEL_CLIENT && reply->status != STATUS_OK) {
        free(reply->body);
        reply->body = NULL;
        reply_fail_coded(reply, STATUS_CANCELLED, "cancelled", NULL, "the call was cancelled");
    }
    alignd_reply *made = calloc(1, sizeof *made);
    char *text = made ? realloc(reply->body, reply->length + 1) : NULL;
    if (text) {
        text[reply->length] = '\0';
        *made = (alignd_reply){.status = reply->status,
                               .type = reply->content_type ? reply->content_type : "",
                               .text = text,
                               .length = reply->length};
    } else {
        free(reply->body);
        free(made);
    }
    request_done(&call->request);
    return text ? made : NULL;
}

unsigned alignd_reply_status(const alignd_reply *reply) {
    return reply->status;
}

const char *alignd_reply_type(const alignd_reply *reply) {
    return reply->type;
}

const char *alignd_reply_text(const alignd_reply *reply, size_t *length) {
    if (length)
        *length = reply->length;
    return reply->text;
}

void alignd_reply_free(alignd_reply *reply) {
    if (!reply)
        return;
    for (struct found *found = reply->found, *next; found; found = next) {
        next = found->next;
        free((void *)(uintptr_t)found->floats.values);
        free(found->what);
        free(found);
    }
    json_decref(reply->root);
    free(reply->text);
    free(reply);
}

/* Returns the matrix's rows in the reply of "translate" or "attention", or NULL. */
static const json_t *find_rows(const json_t *root, const struct found *asked) {
    const json_t *texts = json_object_get(root, "translations");
    texts = texts ? texts : json_object_get(root, "results");
    const json_t *sentences = json_object_get(json_array_get(texts, asked->text), "sentences");
    return json_object_get(json_array_get(sentences, asked->sentence), asked->what);
}

/* null stands for an excluded position, whose score is minus infinity. */
static int read_rows(const json_t *rows, alignd_floats *floats) {
    size_t count = json_array_size(rows), columns = json_array_size(json_array_get(rows, 0));
    if (!json_is_array(rows))
        return -1;
    float *values = calloc(count * columns + 1, sizeof *values);
    bool whole = values != NULL;
    for (size_t i = 0; whole && i < count; i++) {
        const json_t *row = json_array_get(rows, i);
        whole = json_is_array(row) && json_array_size(row) == columns;
        for (size_t j = 0; whole && j < columns; j++) {
            const json_t *value = json_array_get(row, j);
            whole = json_is_number(value) || json_is_null(value);
            values[i * columns + j] =
                json_is_null(value) ? -HUGE_VALF : (float)json_number_value(value);
        }
    }
    if (!whole)
        free(values);
    *floats = (alignd_floats){whole ? values : NULL, count, columns};
    return whole ? 0 : -1;
}

int alignd_matrix(alignd_reply *reply, const char *what, size_t text, size_t sentence,
                  alignd_floats *matrix) {
    for (struct found *known = reply->found; known; known = known->next)
        if (strcmp(known->what, what) == 0 && known->text == text && known->sentence == sentence) {
            *matrix = known->floats;
            return 0;
        }
    struct found *found = calloc(1, sizeof *found);
    int result = -1;
    if (!reply->root && reply->status == STATUS_OK)
        reply->root = json_loadb(reply->text, reply->length, 0, NULL);
    if (reply->root && found && (found->what = strdup(what)) != NULL) {
        found->text = text;
        found->sentence = sentence;
        result = read_rows(find_rows(reply->root, found), &found->floats);
    }
    if (result == 0) {
        *matrix = found->floats;
        found->next = reply->found;
        reply->found = found;
    } else if (found) {
        free(found->what);
        free(found);
    }
    return result;
}
