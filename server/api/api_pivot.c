/* Two models in the place of one that there is not (server/decode/pivot.h): which two, and the way from one to the other. */
#include "server/api/api_plan.h"
#include "server/api/language.h"
#include "server/decode/pivot.h"
#include <string.h>

static int target_distance(const struct translator_info *info, const char *code) {
    if (variant_for(info, code))
        return 0;
    return variant_must_be(info) ? LANGUAGE_FAR : language_distance(info->target, code);
}

static bool meets(const struct translator_info *second, const char *source, const char *through) {
    return plan_translates(second) && language_distance(second->source, source) >= LANGUAGE_FAR &&
           (!through || language_distance(second->source, through) < LANGUAGE_FAR);
}

/* The nearest first model for this second one; least: what it must be nearer than, and is. */
static void choose_first(const struct model_set *models, const char *source, struct served_model *second, int far, int *least,
                         struct api_pivot *out) {
    for (size_t i = 0; i < models->count; i++) {
        const struct translator_info *info = &models->all[i]->info;
        int from = plan_translates(info) ? language_distance(info->source, source) : LANGUAGE_FAR;
        int middle = from < LANGUAGE_FAR ? target_distance(info, second->info.source) : LANGUAGE_FAR;
        if (from >= LANGUAGE_FAR || middle >= LANGUAGE_FAR || from + middle + far >= *least)
            continue;
        *least = from + middle + far;
        *out = (struct api_pivot){models->all[i], second, variant_for(info, second->info.source)};
    }
}

bool api_find_pivot(const struct model_set *models, const char *through, const char *source, const char *target,
                    struct api_pivot *out) {
    int least = 3 * LANGUAGE_FAR;
    bool off = through && strcmp(through, "none") == 0;
    for (size_t i = 0; !off && i < models->count && language_distance(target, source) >= LANGUAGE_FAR; i++) {
        struct served_model *second = models->all[i];
        int far = meets(&second->info, source, through) ? target_distance(&second->info, target) : LANGUAGE_FAR;
        if (far < LANGUAGE_FAR)
            choose_first(models, source, second, far, &least, out);
    }
    return least < 3 * LANGUAGE_FAR;
}

bool api_goes_on(const struct request *request) {
    return pivot_goes_on(request);
}

int api_go_on(struct request *request, struct reply *reply) {
    struct error error = {0};
    if (pivot_go_on(request, &error) == 0)
        return 0;
    if (error.code == ERROR_MEMORY)
        api_fail_memory(reply);
    else
        api_fail(reply, error.code == ERROR_LENGTH ? STATUS_TOO_LARGE : STATUS_INVALID, "text",
                 "what model \"%.60s\" makes of the text cannot be translated further: %s", request->texts[0].model->info.name,
                 error.message);
    return -1;
}
