/* POST /attention: the alignment of the model's own translation, or of a given target. */
#include "server/api/api_form.h"

void api_attention_start(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    if (!api_admit(service, request, reply))
        return;
    json_t *root = api_is_form(call) ? api_native_load(call, API_ATTENTION, reply) : api_load(call, reply);
    api_decode_start(service, root, API_ATTENTION, request, reply);
    json_decref(root);
}

void api_attention_finish(const struct service *service, struct request *request, struct reply *reply) {
    api_decode_finish(service, "results", request, reply);
    api_remember(service, request, reply);
}
