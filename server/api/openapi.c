/* GET /openapi.json and GET /docs describe the API for programs and for people. Both are files (openapi.json, and docs.html, which
 * docs.py writes from it) that are embedded in the program; tests compare the first with the tables of routes and fields. The
 * version of the daemon, and whether it has API keys, are filled in when a description is sent. */
#include "server/api/endpoint.h"
#include "server/api/page.h"
#include <string.h>

/* The page has one stylesheet and no script. */
static const char policy[] = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/* Writes text, replacing every occurrence of one string by another. */
static void put_replaced(struct writer *w, const char *text, size_t length, const char *what, const char *with) {
    for (const char *end = text + length, *found; text < end; text = found + strlen(what)) {
        found = memmem(text, (size_t)(end - text), what, strlen(what));
        writer_put(w, text, (size_t)((found ? found : end) - text));
        if (!found)
            return;
        writer_put(w, with, strlen(with));
    }
}

/* Writes JSON without the white space between its parts. */
static void put_compact(struct writer *w, const char *json, size_t length) {
    const char *begin = json, *end = json + length;
    bool inside = false; /* a whole string */
    for (const char *c = json; c < end; c++) {
        if (inside && *c == '\\')
            c++;
        else if (*c == '"')
            inside = !inside;
        else if (!inside && (*c == ' ' || *c == '\n')) {
            writer_put(w, begin, (size_t)(c - begin));
            begin = c + 1;
        }
    }
    writer_put(w, begin, (size_t)(end - begin));
}

void api_openapi(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)call;
    (void)request;
    const struct page_file *file = page_find("/openapi.json");
    struct writer compact = {.most = SIZE_MAX}, versioned = {.most = SIZE_MAX}, w = {.most = SIZE_MAX};
    put_compact(&compact, (const char *)file->bytes, file->length);
    put_replaced(&versioned, compact.bytes, compact.length, "\"version\":\"VERSION\"", "\"version\":\"" ALIGND_VERSION "\"");
    /* without API keys, users need none */
    put_replaced(&w, versioned.bytes, versioned.length, ",{}]", service->keys ? "]" : ",{}]");
    if (writer_ended(&compact) || writer_ended(&versioned))
        writer_fail(&w);
    writer_done(&compact);
    writer_done(&versioned);
    api_reply_json(reply, &w);
}

void api_docs(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)service;
    (void)call;
    (void)request;
    const struct page_file *file = page_find("/docs");
    struct writer w = {.most = SIZE_MAX};
    put_replaced(&w, (const char *)file->bytes, file->length, "<h1>alignd VERSION</h1>", "<h1>alignd " ALIGND_VERSION "</h1>");
    api_reply_json(reply, &w);
    if (reply->status == STATUS_OK) {
        reply->content_type = "text/html; charset=utf-8";
        reply->policy = policy;
    }
}
