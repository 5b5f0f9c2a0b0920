/* This file hides how alignd finds models without a path: where it looks for the models that came
 * with it, and how it finds models by name or by languages. */
#include "server/engine/shipped.h"
#include "model/translator.h"
#include "server/api/pairs.h"
#include "server/models/folders.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { CODE_BYTES = 32, LISTED_BYTES = 120, PAIR_FAR = 2 * LANGUAGE_FAR };

static const char *name_of(const char *folder) {
    return strrchr(folder, '/') + 1;
}

static bool has_file(const char *folder, const char *file) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, file);
    return length > 0 && (size_t)length < sizeof path && access(path, F_OK) == 0;
}

/* ---- the models that came with alignd ---- */

/* Models are where `make install` and the package put them or, in a checkout, beside build/, which
 * contains the program. A library may lie one folder deeper: lib/x86_64-linux-gnu. */
static const struct {
    int up; /* relative to the program's folder */
    const char *name;
} places[] = {{1, "share/alignd"}, {1, "weights"}, {2, "weights"}, {2, "share/alignd"}};
enum { PLACES = sizeof places / sizeof *places };

static const char usual[] = "en-fr";

/* Adds the model folders of a directory, the default model first. A folder without weights is
 * incomplete. Returns -1 with ERROR_MEMORY; a directory that cannot be read has no models. */
static int add_folders(const char *directory, struct name_list *folders, struct error *err) {
    struct name_list found = {0};
    struct error unreadable = {0};
    bool listed = folders_list(&found, directory, &unreadable) == 0;
    bool failed = !listed && unreadable.code == ERROR_MEMORY;
    for (int pass = 0; listed && pass < 2; pass++)
        for (size_t i = 0; !failed && i < found.count; i++) {
            const char *folder = found.names[i];
            bool first = strcmp(name_of(folder), usual) == 0;
            if (first == (pass == 0) && has_file(folder, "model.safetensors"))
                failed = name_list_add(folders, folder, strlen(folder)) != 0;
        }
    name_list_done(&found);
    return failed ? error_memory(err) : 0;
}

/* Finds the models beside the program. program: a path without links and "..". */
static int look_beside(const char *program, struct shipped *shipped, struct error *err) {
    char looked[PLACES][PATH_MAX];
    for (size_t i = 0; i < PLACES; i++) {
        const char *end = strrchr(program, '/');
        for (int up = 0; up < places[i].up && end > program; up++)
            end = memrchr(program, '/', (size_t)(end - program));
        if (snprintf(looked[i], PATH_MAX, "%.*s/%s", (int)(end - program), program,
                     places[i].name) >= PATH_MAX)
            return error_set(err, ERROR_FILE, "the path of alignd is too long");
        if (add_folders(looked[i], &shipped->folders, err) != 0)
            return -1;
        if (shipped->folders.count == 0)
            continue;
        shipped->usual = strcmp(name_of(shipped->folders.names[0]), usual) == 0 ? usual : NULL;
        shipped->directory = strdup(looked[i]);
        return shipped->directory ? 0 : error_memory(err);
    }
    return error_set(err, ERROR_FILE,
                     "found no models in %.60s, %.60s or %.60s: `alignd get en-fr` downloads one; "
                     "or give --model DIR or --models DIR",
                     looked[0], looked[1], looked[2]);
}

int shipped_find_beside(const char *program, struct shipped *shipped, struct error *err) {
    *shipped = (struct shipped){0};
    char *real = program ? realpath(program, NULL) : NULL;
    int result =
        real ? look_beside(real, shipped, err)
             : error_set(err, ERROR_FILE,
                         "cannot determine the path of alignd: give --model DIR or --models DIR");
    if (result != 0)
        shipped_done(shipped);
    free(real);
    return result;
}

/* The kernel passes the path of the program, so /proc, which a chroot may lack, is not needed. */
int shipped_find(struct shipped *shipped, struct error *err) {
    return shipped_find_beside((const char *)getauxval(AT_EXECFN), shipped, err);
}

/* Finds the shipped and the downloaded models. Downloaded models can be used without the shipped
 * ones. */
int shipped_find_downloaded(const char *beside, struct shipped *shipped, struct error *err) {
    char place[MODEL_PATH_BYTES];
    struct error inner = {0};
    int result =
        beside ? shipped_find_beside(beside, shipped, &inner) : shipped_find(shipped, &inner);
    if (installed_place(NULL, false, place, NULL) == 0 && !(shipped->downloaded = strdup(place))) {
        shipped_done(shipped);
        return error_memory(err);
    }
    bool some = result == 0 || (inner.code != ERROR_MEMORY && shipped->downloaded &&
                                folders_any(shipped->downloaded));
    if (result != 0 && some && !(shipped->directory = strdup(shipped->downloaded)))
        some = false;
    if (some)
        return 0;
    shipped_done(shipped);
    return error_set(err, inner.code != ERROR_NONE ? inner.code : ERROR_MEMORY, "%s",
                     inner.message);
}

const char *shipped_usual(const struct shipped *shipped, const struct installed_list *downloaded) {
    const char *name = shipped->usual;
    for (size_t i = 0; shipped->usual && i < downloaded->count; i++) {
        const struct installed *model = &downloaded->models[i];
        char pair[sizeof model->source + sizeof model->target];
        snprintf(pair, sizeof pair, "%s-%s", model->source, model->target);
        if (strcmp(pair, shipped->usual) == 0)
            name = model->model; /* its folder may have another name */
    }
    return name;
}

void shipped_done(struct shipped *shipped) {
    free(shipped->directory);
    free(shipped->downloaded);
    name_list_done(&shipped->folders);
    *shipped = (struct shipped){0};
}

/* ---- models by name ---- */

/* Finds the folders in which names are looked up: those of the downloaded models, then those of the
 * shipped models. */
static int find_place(const struct options *options, struct shipped *place, struct error *err) {
    struct name_list all = {0};
    if (!options->directory) {
        if (shipped_find_downloaded(options->beside, place, err) != 0)
            return -1;
        bool listed = folders_list(&all, place->downloaded ? place->downloaded : "", NULL) == 0 ||
                      all.count == 0;
        for (size_t i = 0; listed && i < place->folders.count; i++)
            listed =
                name_list_add(&all, place->folders.names[i], strlen(place->folders.names[i])) == 0;
        name_list_done(&place->folders);
        place->folders = all;
        if (listed)
            return 0;
        shipped_done(place);
        return error_memory(err);
    }
    *place = (struct shipped){.directory = strdup(options->directory)};
    if (place->directory && folders_list(&place->folders, place->directory, err) == 0)
        return 0;
    shipped_done(place);
    return error_memory(err); /* unless err has another reason */
}

/* Refuses with a message that lists the place's models as far as they fit. */
static int refuse(const struct shipped *place, const char *what, struct error *err) {
    char listed[LISTED_BYTES] = "";
    size_t length = 0;
    for (size_t i = 0; i < place->folders.count; i++) {
        const char *name = name_of(place->folders.names[i]);
        if (length + strlen(name) + sizeof ", and others" >= LISTED_BYTES) {
            strcpy(listed + length, length > 0 ? ", and others" : "several models");
            break;
        }
        length += (size_t)sprintf(listed + length, "%s%s", i > 0 ? ", " : "", name);
    }
    return error_set(err, ERROR_INPUT, "%.80s in %.40s, which has %s%s", what, place->directory,
                     *listed ? listed : "no models",
                     place->downloaded ? "; `alignd get PAIR` downloads others" : "");
}

/* Returns the distance of a model from the requested languages, by which the daemon chooses, too.
 */
static int distance_of(const struct translator_info *info, const char *from, const char *to) {
    if (strcmp(info->task, "translation") != 0)
        return PAIR_FAR;
    if (info->languages) /* a model of two languages is preferred */
        return pair_source_variant(info, from) && pair_variant(info, to) ? PAIR_FAR - 1 : PAIR_FAR;
    int source = pair_source_distance(info, from), target = pair_target_distance(info, to);
    return source < LANGUAGE_FAR && target < LANGUAGE_FAR ? source + target : PAIR_FAR;
}

/* Sets *folder to the nearest model that translates, or leaves it unchanged. Folders that cannot be
 * read are skipped. */
static int find_pair(const struct shipped *place, const char *from, const char *to,
                     const char **folder, struct error *err) {
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

/* Replaces a model's name with its folder. A folder with the same name is tried first, because it
 * usually has that model. "en-fr" may also be a pair of languages, separated at any of the dashes.
 */
static int find_named(const struct shipped *place, char **name, struct error *err) {
    const char *folder = NULL;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; !folder && i < place->folders.count; i++) {
            const char *candidate = place->folders.names[i];
            if ((strcmp(name_of(candidate), *name) == 0) != (pass == 0))
                continue;
            struct translator_card *card = translator_card_read(candidate, NULL);
            if (card && strcmp(translator_card_info(card).name, *name) == 0)
                folder = candidate;
            translator_card_free(card);
        }
    for (const char *dash = strchr(*name, '-'); !folder && dash; dash = strchr(dash + 1, '-')) {
        char from[CODE_BYTES];
        snprintf(from, sizeof from, "%.*s", (int)(dash - *name), *name);
        if (find_pair(place, from, dash + 1, &folder, err) != 0)
            return -1;
    }
    if (!folder) {
        char what[LISTED_BYTES];
        snprintf(what, sizeof what, "--model: no model \"%.50s\"", *name);
        return refuse(place, what, err);
    }
    char *copy = strdup(folder);
    if (!copy)
        return error_memory(err);
    free(*name);
    *name = copy;
    return 0;
}

/* Checks that the first model, if there is one, translates between the languages; otherwise finds
 * one that does. */
static int find_languages(struct options *options, struct shipped *place, struct error *err) {
    const char *from = options->from, *to = options->to, *folder = NULL;
    if (options->models.count == 0) {
        if (!place->directory && find_place(options, place, err) != 0)
            return -1;
        if (find_pair(place, from, to, &folder, err) != 0)
            return -1;
        if (!folder) {
            char what[LISTED_BYTES];
            snprintf(what, sizeof what, "no model translates from %.20s to %.20s", from, to);
            return refuse(place, what, err);
        }
        if (name_list_add(&options->models, folder, strlen(folder)) != 0)
            return error_memory(err);
    }
    folder = options->models.names[0];
    struct translator_card *card = translator_card_read(folder, err);
    if (!card)
        return -1;
    struct translator_info info = translator_card_info(card);
    bool fits = distance_of(&info, from, to) < PAIR_FAR, several = pair_variant(&info, to) != NULL;
    translator_card_free(card);
    if (!fits)
        return error_set(err, ERROR_INPUT, "%.100s does not translate from %.20s to %.20s", folder,
                         from, to);
    if (several && !options->variant && !(options->variant = strdup(to)))
        return error_memory(err);
    return 0;
}

int shipped_find_named(struct options *options, struct error *err) {
    struct name_list *models = &options->models;
    struct shipped place = {.directory = NULL};
    int result = 0;
    for (size_t i = 0; result == 0 && i < models->count; i++) {
        if (has_file(models->names[i], "config.json") || strchr(models->names[i], '/'))
            continue;
        result = place.directory ? 0 : find_place(options, &place, err);
        if (result == 0)
            result = find_named(&place, &models->names[i], err);
    }
    if (result == 0 && options->from)
        result = find_languages(options, &place, err);
    shipped_done(&place);
    return result;
}
