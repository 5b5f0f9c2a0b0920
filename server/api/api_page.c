/* GET / and the files that it asks for. */
#include "server/api/api.h"
#include "server/api/page.h"
#include <stdlib.h>
#include <string.h>

/* Nothing inline, nothing from elsewhere; data: is the picture that an export draws. */
static const char policy[] =
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/* If-None-Match: a list of tags, weak ones among them, or *. No tag of ours is a part of another's. */
static bool is_known(const char *tags, const struct page_file *file) {
    return tags && (strcmp(tags, "*") == 0 || strstr(tags, file->etag));
}

void api_page(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)service;
    (void)request;
    const struct page_file *file = page_find(call->path);
    if (!file) {
        api_fail(reply, STATUS_NOT_FOUND, NULL, "this path does not exist");
        return;
    }
    struct reply made = {.status = STATUS_NOT_MODIFIED, .content_type = file->type, .etag = file->etag, .policy = policy};
    if (!is_known(call->if_none_match, file)) {
        made.body = malloc(file->length);
        if (!made.body) {
            api_fail_memory(reply);
            return;
        }
        memcpy(made.body, file->bytes, file->length);
        made.status = STATUS_OK;
        made.length = file->length;
    }
    *reply = made;
}
