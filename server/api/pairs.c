#include "server/api/pairs.h"
#include "server/api/languages.h"
#include "server/models/catalog.h"
#include <string.h>

bool pair_translates(const struct translator_info *info) {
    return strcmp(info->task, "translation") == 0;
}

const char *pair_variant(const struct translator_info *info, const char *code) {
    const char *known_as = info->languages ? translator_language(info, code) : NULL;
    return known_as ? known_as : language_among(info->variants, info->variant_count, code);
}

/* ISO 639-2 calls several languages "mul". What a model reads whose folder does not list them is
 * not known; but if labels choose its target, it was trained between all of these (MADLAD-400). */
static bool reads_any(const struct translator_info *info) {
    return !info->languages && strcmp(info->source, "mul") == 0;
}

bool pair_lists_sources(const struct translator_info *info) {
    return info->languages || (reads_any(info) && pair_needs_variant(info));
}

const char *pair_source_variant(const struct translator_info *info, const char *code) {
    return pair_lists_sources(info) && code ? pair_variant(info, code) : NULL;
}

bool pair_needs_variant(const struct translator_info *info) {
    return info->variant_count > 1;
}

int pair_source_distance(const struct translator_info *info, const char *code) {
    if (info->languages)
        return pair_source_variant(info, code) ? 0 : LANGUAGE_FAR;
    int far = language_distance(info->source, code);
    bool reads = pair_lists_sources(info) ? pair_variant(info, code) != NULL
                                          : reads_any(info) && language_known(code);
    return far == LANGUAGE_FAR && reads ? LANGUAGE_FAR - 1 : far;
}

int pair_target_distance(const struct translator_info *info, const char *code) {
    if (pair_variant(info, code))
        return 0;
    return pair_needs_variant(info) ? LANGUAGE_FAR : language_distance(info->target, code);
}

/* Finds the nearest two models from source to target through another language: this one, or any. */
static bool find_two(const struct model_set *models, const char *through, const char *source,
                     const char *target, struct text *out) {
    int least = 3 * LANGUAGE_FAR;
    for (size_t i = 0; i < models->count; i++) {
        struct served_model *second = models->all[i];
        const char *middle = second->info.source;
        bool meets = pair_translates(&second->info) && !second->info.languages &&
                     language_distance(middle, source) >= LANGUAGE_FAR &&
                     (!through || language_distance(middle, through) < LANGUAGE_FAR);
        int far = meets ? pair_target_distance(&second->info, target) : LANGUAGE_FAR;
        for (size_t j = 0; far < LANGUAGE_FAR && j < models->count;
             j++) { /* find the nearest first model for this second model */
            const struct translator_info *info = &models->all[j]->info;
            int from = pair_translates(info) && !info->languages
                           ? pair_source_distance(info, source)
                           : LANGUAGE_FAR;
            int to = from < LANGUAGE_FAR ? pair_target_distance(info, middle) : LANGUAGE_FAR;
            if (from >= LANGUAGE_FAR || to >= LANGUAGE_FAR || from + to + far >= least)
                continue;
            least = from + to + far;
            out->model = models->all[j];
            out->variant = pair_variant(info, middle);
            out->second = second;
        }
    }
    return least < 3 * LANGUAGE_FAR;
}

bool pair_find_pivot(const struct model_set *models, const char *through, const char *source,
                     const char *target, struct text *out) {
    bool off = through && strcmp(through, "none") == 0;
    return !off && language_distance(target, source) >= LANGUAGE_FAR &&
           find_two(models, through, source, target, out);
}

bool pair_find_return(const struct model_set *models, const char *source, const char *target,
                      struct text *out) {
    return language_distance(target, source) < LANGUAGE_FAR &&
           find_two(models, NULL, source, target, out);
}
