#include "server/named_models.h"
#include "model/translator.h"
#include "server/api/languages.h"
#include "server/decode/model_folders.h"
#include "server/decode/variant.h"
#include "server/shipped.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CODE_BYTES = 32, LISTED_BYTES = 120, PAIR_FAR = 2 * LANGUAGE_FAR };

/* Where names are looked up. */
struct place {
    char *directory;
    struct name_list folders;
};

static void place_done(struct place *place) {
    free(place->directory);
    name_list_done(&place->folders);
}

static int place_find(const struct options *options, struct place *place, struct error *err) {
    struct shipped shipped;
    *place = (struct place){.directory = NULL};
    if (!options->directory) {
        if (shipped_find(&shipped, err) != 0)
            return -1;
        *place = (struct place){shipped.directory, shipped.folders};
        return 0;
    }
    place->directory = strdup(options->directory);
    if (place->directory && model_folders_list(&place->folders, place->directory, err) == 0)
        return 0;
    place_done(place);
    return error_memory(err); /* unless there is another reason */
}

static bool is_folder(const char *name) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/config.json", name);
    return length > 0 && (size_t)length < sizeof path && access(path, F_OK) == 0;
}

/* ---- one model of a pair ---- */

/* As the daemon chooses: how far a model is from what is asked for. */
static int distance_of(const struct translator_info *info, const char *from, const char *to) {
    if (strcmp(info->task, "translation") != 0)
        return PAIR_FAR;
    int source = language_distance(info->source, from);
    int target = variant_for(info, to) ? 0 : variant_must_be(info) ? LANGUAGE_FAR : language_distance(info->target, to);
    return source < LANGUAGE_FAR && target < LANGUAGE_FAR ? source + target : PAIR_FAR;
}

static int set_folder(char **at, const char *folder, struct error *err) {
    char *copy = strdup(folder);
    if (!copy)
        return error_memory(err);
    free(*at);
    *at = copy;
    return 0;
}

/* A folder that cannot be read is none that could be meant. */
static int find_pair(const struct place *place, const char *from, const char *to, const char **folder, struct error *err) {
    int least = PAIR_FAR;
    for (size_t i = 0; i < place->folders.count; i++) {
        struct error unreadable = {0};
        struct translator_card *card = translator_card_read(place->folders.names[i], &unreadable);
        if (!card && unreadable.code == ERROR_MEMORY)
            return error_memory(err);
        if (!card)
            continue;
        struct translator_info info = translator_card_info(card);
        int far = distance_of(&info, from, to);
        if (far < least) {
            least = far;
            *folder = place->folders.names[i];
        }
        translator_card_free(card);
    }
    return 0;
}

/* ---- one model of a name ---- */

static bool has_name(const char *folder, const char *name) {
    struct translator_card *card = translator_card_read(folder, NULL);
    bool same = card && strcmp(translator_card_info(card).name, name) == 0;
    translator_card_free(card);
    return same;
}

/* The folder that is called so comes first: mostly it is the one. */
static const char *find_name(const struct place *place, const char *name) {
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < place->folders.count; i++) {
            const char *folder = place->folders.names[i];
            bool called = strcmp(strrchr(folder, '/') + 1, name) == 0;
            if (called == (pass == 0) && has_name(folder, name))
                return folder;
        }
    return NULL;
}

/* The names of the folders, as far as they fit. */
static void list_names(const struct place *place, char listed[LISTED_BYTES]) {
    size_t length = 0;
    *listed = '\0';
    for (size_t i = 0; i < place->folders.count; i++) {
        const char *name = strrchr(place->folders.names[i], '/') + 1;
        if (length + strlen(name) + sizeof ", and others" >= LISTED_BYTES) {
            strcpy(listed + length, length > 0 ? ", and others" : "several");
            return;
        }
        length += (size_t)sprintf(listed + length, "%s%s", i > 0 ? ", " : "", name);
    }
}

static int refuse(const struct place *place, const char *what, struct error *err) {
    char listed[LISTED_BYTES];
    list_names(place, listed);
    return error_set(err, ERROR_INPUT, "%.80s in %.40s: there is %s", what, place->directory, *listed ? listed : "none");
}

/* "en-fr" is also a pair of languages, cut at any of its dashes. */
static int find_named(const struct place *place, char **name, struct error *err) {
    char from[CODE_BYTES], what[LISTED_BYTES];
    const char *folder = find_name(place, *name);
    for (const char *dash = strchr(*name, '-'); !folder && dash; dash = strchr(dash + 1, '-')) {
        snprintf(from, sizeof from, "%.*s", (int)(dash - *name), *name);
        if (find_pair(place, from, dash + 1, &folder, err) != 0)
            return -1;
    }
    snprintf(what, sizeof what, "--model: no model \"%.50s\"", *name);
    return folder ? set_folder(name, folder, err) : refuse(place, what, err);
}

/* ---- all ---- */

static int check_pair(const struct options *options, const char *folder, struct error *err) {
    struct translator_card *card = translator_card_read(folder, err);
    if (!card)
        return -1;
    struct translator_info info = translator_card_info(card);
    bool fits = distance_of(&info, options->from, options->to) < PAIR_FAR;
    translator_card_free(card);
    return fits ? 0
                : error_set(err, ERROR_INPUT, "%.100s does not translate from %.20s to %.20s", folder, options->from, options->to);
}

/* Of a model that writes several languages, which one. */
static int set_variant(struct options *options, struct error *err) {
    struct translator_card *card = options->variant ? NULL : translator_card_read(options->models.names[0], err);
    if (!card)
        return options->variant ? 0 : -1;
    struct translator_info info = translator_card_info(card);
    bool several = variant_for(&info, options->to) != NULL;
    translator_card_free(card);
    if (several && !(options->variant = strdup(options->to)))
        return error_memory(err);
    return 0;
}

static int find_languages(struct options *options, const struct place *place, struct error *err) {
    const char *folder = NULL;
    char what[LISTED_BYTES];
    if (find_pair(place, options->from, options->to, &folder, err) != 0)
        return -1;
    snprintf(what, sizeof what, "no model translates from %.20s to %.20s", options->from, options->to);
    if (!folder)
        return refuse(place, what, err);
    return name_list_add(&options->models, folder, strlen(folder)) == 0 ? 0 : error_memory(err);
}

int named_models_find(struct options *options, struct error *err) {
    struct name_list *models = &options->models;
    struct place place = {.directory = NULL};
    int result = 0;
    for (size_t i = 0; result == 0 && i < models->count; i++) {
        if (is_folder(models->names[i]) || strchr(models->names[i], '/'))
            continue;
        result = place.directory ? 0 : place_find(options, &place, err);
        if (result == 0)
            result = find_named(&place, &models->names[i], err);
    }
    if (result == 0 && options->from && models->count > 0)
        result = check_pair(options, models->names[0], err);
    else if (result == 0 && options->from)
        result = place_find(options, &place, err) == 0 ? find_languages(options, &place, err) : -1;
    if (result == 0 && options->from)
        result = set_variant(options, err);
    place_done(&place);
    return result;
}
