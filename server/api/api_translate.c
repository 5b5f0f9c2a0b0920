/* POST /translate: its dialects. */
#include "server/api/api_form.h"

/* The body's dialect tells by its fields, of JSON as of a form. */
void api_translate_start(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    if (!api_admit(service, request, reply))
        return;
    bool form = api_is_form(call), native = form && api_native_speaks(call);
    json_t *root = native ? api_native_load(call, API_TRANSLATE, reply)
                   : form ? api_libre_load(call, reply)
                          : api_load(call, reply);
    if (root && !native && api_libre_speaks(root))
        api_libre_start(service, root, request, reply);
    else if (root && form && !native)
        api_native_fail(reply);
    else
        api_decode_start(service, root, API_TRANSLATE, request, reply);
    json_decref(root);
}

void api_translate_finish(const struct service *service, struct request *request, struct reply *reply) {
    if (request->plan)
        api_libre_finish(service, request, reply);
    else
        api_decode_finish(service, "translations", request, reply);
    api_remember(service, request, reply);
}
