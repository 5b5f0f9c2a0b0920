/* This file hides how models are distributed: which files a model of each family has, how they are
 * named, and which files beside them identify its origin. */
#include "model/import/conversion.h"
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 10000, MOST_TEXT_BYTES = 1 << 22, HEAD_LINES = 40 };

static const char no_bpe[] =
    "models of BPE pieces cannot be converted, only those of SentencePiece and of words";
static const char OPUS_CARDS[] = "\\bopus\\b|OPUS|Helsinki"; /* in cards of OPUS-MT's models */

/* The names in a folder, sorted. */
struct listing {
    const char *folder;
    const char **names; /* [count] */
    size_t count;
};

/* Returns the folder of a file; "." if its path has none. */
static const char *folder_of(const char *path, struct arena *arena) {
    const char *slash = strrchr(path, '/');
    return slash ? arena_copy(arena, path, slash == path ? 1 : (size_t)(slash - path)) : ".";
}

static bool has(const char *folder, const char *name, struct arena *arena) {
    const char *path = source_path_join(arena, folder, name);
    return path && source_exists(path);
}

static int list_folder(const char *folder, struct arena *arena, struct listing *out,
                       struct error *err) {
    struct listing found = {.folder = folder};
    const struct dirent *entry;
    size_t room = 0;
    DIR *open = opendir(folder);
    if (!open)
        return error_set(err, ERROR_FILE, "%s: %s", folder, strerror(errno));
    while ((entry = readdir(open)) != NULL && found.count < MOST_FILES) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        const char **names = arena_grow(arena, found.names, found.count, &room, 1, sizeof *names);
        if (!names)
            break;
        found.names = names;
        found.names[found.count++] = arena_copy(arena, entry->d_name, strlen(entry->d_name));
    }
    closedir(open);
    if (arena_failed(arena))
        return error_memory(err);
    if (found.count > 0)
        qsort(found.names, found.count, sizeof *found.names, source_by_name);
    *out = found;
    return 0;
}

/* ---- names ---- */

/* Returns the name without .gz or .zst. */
static const char *plain_name(const char *name, struct arena *arena) {
    const char *copy = arena_copy(arena, name, source_plain_length(name));
    return copy ? copy : "";
}

/* Finds the only file of this pattern, compressed or not. except: beginnings of other names, and
 * then NULL. *found is NULL if there is no such file. */
static int find_one(const struct listing *listing, const char *pattern, const char *const *except,
                    struct arena *arena, const char **found, struct error *err) {
    const char *names = NULL;
    size_t count = 0;
    *found = NULL;
    for (size_t i = 0; i < listing->count; i++) {
        const char *name = listing->names[i];
        bool other =
            fnmatch(pattern, name, 0) != 0 && fnmatch(pattern, plain_name(name, arena), 0) != 0;
        for (const char *const *beginning = except; beginning && *beginning; beginning++)
            other |= source_begins(name, *beginning);
        if (other)
            continue;
        names = source_say(arena, "%s%s%s", names ? names : "", names ? ", " : "", name);
        *found = source_path_join(arena, listing->folder, name);
        count++;
    }
    if (count > 1)
        return error_set(err, ERROR_FORMAT, "%s: has %s: %s", listing->folder, names ? names : "",
                         except ? "name the one to convert" : "keep only one of them, or name one");
    return 0;
}

/* Finds the first pair of patterns that exists, or sets found to NULL, NULL. */
static int find_pair(const struct listing *listing, const char *const (*pairs)[2], size_t count,
                     struct arena *arena, const char *found[2], struct error *err) {
    for (size_t i = 0; i < count; i++) {
        for (size_t side = 0; side < 2; side++)
            if (find_one(listing, pairs[i][side], NULL, arena, &found[side], err) != 0)
                return -1;
        if (found[0] && found[1])
            return 0;
    }
    found[0] = found[1] = NULL;
    return 0;
}

/* Finds the best model: int8 with one activation scale for each matrix, then int8 without, then the
 * model as it was trained. */
static int find_model(const struct listing *listing, struct arena *arena, const char **model,
                      struct error *err) {
    static const char *const patterns[] = {"*.intgemm.alphas.bin", "*.intgemm8.bin", "*.npz",
                                           "*.bin"};
    static const char *const others[] = {"lex.",     "quality",       "vocab",      "srcvocab",
                                         "trgvocab", "pytorch_model", "model.s2t.", NULL};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        int result = find_one(listing, patterns[i], others, arena, model, err);
        if (result != 0 || *model)
            return result;
    }
    if (foreign_check_folder(listing->folder, listing->names, listing->count, err) != 0)
        return -1;
    return error_set(err, ERROR_FORMAT, "%s: has no model: neither .npz nor .bin", listing->folder);
}

bool parts_huggingface(const char *path, struct arena *arena, const char **folder) {
    static const char *const files[] = {"pytorch_model.bin", "model.safetensors", "vocab.json",
                                        "model.safetensors.index.json",
                                        "pytorch_model.bin.index.json"};
    bool named = strcmp(source_name(path), "config.json") == 0, beside = false;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        named |= strcmp(source_name(path), files[i]) == 0;
    *folder = source_is_folder(path) ? path : named ? folder_of(path, arena) : NULL;
    for (size_t i = 0; *folder && i < sizeof files / sizeof *files; i++)
        beside |= has(*folder, files[i], arena);
    return beside && has(*folder, "config.json", arena);
}

/* ---- the model's origin ---- */

static const char opus_attribution[] = "OPUS-MT, Language Technology at the University of Helsinki "
                                       "(https://github.com/Helsinki-NLP/OPUS-MT-train)";
static const char firefox_attribution[] =
    "Mozilla and the Bergamot project (https://github.com/mozilla/firefox-translations-models)";
static const struct {
    const char *words, *name, *brief; /* found in the text of the licence; shown on the card; found
                                         in a head's `license:` */
} licences[] = {
    {"Attribution 4.0 International", "CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/)",
     "cc-by-4.0"},
    {"Apache License", "Apache-2.0 (https://www.apache.org/licenses/LICENSE-2.0)", "apache-2.0"},
    {"Mozilla Public License", "MPL-2.0 (https://www.mozilla.org/MPL/2.0/)", "mpl-2.0"},
    {"MIT License", "MIT", "mit"},
    {"Attribution-NonCommercial 4.0 International",
     "CC BY-NC 4.0 (https://creativecommons.org/licenses/by-nc/4.0/)", "cc-by-nc-4.0"}};
enum { LICENCES = sizeof licences / sizeof *licences, MPL = 2 };

static bool matches(const char *text, const char *pattern, int flags) {
    regex_t compiled;
    if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB | flags) != 0)
        return false;
    bool found = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return found;
}

int conversion_origin_card(const char *folder, struct arena *arena, const char **card,
                           struct error *err) {
    const char *path = source_path_join(arena, folder, "README.md");
    char *text;
    size_t length;
    *card = "";
    if (!source_exists(path))
        return 0;
    if (source_text_mended(path, MOST_TEXT_BYTES, arena, &text, &length, err) != 0)
        return -1;
    *card = text;
    return 0;
}

/* Returns the `license:` in the card's head, as Hugging Face has it; "" if it is missing. */
static const char *licence_of_card(const char *card, struct arena *arena) {
    static const char key[] = "license:";
    const char *line = card;
    for (int i = 0; i < HEAD_LINES && line;
         i++, line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (!source_begins(line, key))
            continue;
        const char *name = line + strlen(key), *end = name + strcspn(name, "\n");
        name += strspn(name, " \t");
        while (end > name && (end[-1] == ' ' || end[-1] == '\t'))
            end--;
        const char *copy = arena_copy(arena, name, end > name ? (size_t)(end - name) : 0);
        for (size_t l = 0; copy && l < LICENCES; l++)
            if (licences[l].brief && strcasecmp(licences[l].brief, copy) == 0)
                copy = licences[l].name;
        return copy ? source_say(arena,
                                 "%s, as the card says of the model that it was converted from",
                                 copy)
                    : NULL;
    }
    return "";
}

int conversion_origin_find(const struct origin_clues *clues, struct arena *arena,
                           struct origin *out, struct error *err) {
    static const char *const files[] = {"LICENSE", "LICENSE.txt", "LICENCE", "LICENSE.md"};
    struct origin made = {.card = clues->card, .attribution = ""};
    for (size_t i = 0; i < sizeof files / sizeof *files && !made.text; i++) {
        const char *path = source_path_join(arena, clues->folder, files[i]);
        char *text;
        if (!source_exists(path))
            continue;
        if (source_read(path, MOST_TEXT_BYTES, arena, &text, &made.text_bytes, err) != 0)
            return -1;
        made.text = text;
    }
    made.licence = made.text ? "that of LICENSE" : licence_of_card(clues->card, arena);
    for (size_t i = 0; made.text && i < LICENCES; i++)
        if (memmem(made.text, made.text_bytes, licences[i].words, strlen(licences[i].words))) {
            made.licence = source_say(arena, "%s, whose text is LICENSE", licences[i].name);
            break;
        }
    if (clues->firefox) {
        if (made.licence && !*made.licence)
            made.licence = source_say(
                arena, "%s, as mozilla/firefox-translations-models says of all its models",
                licences[MPL].name);
        made.attribution = firefox_attribution;
    } else if (matches(clues->name, "opus", REG_ICASE) || matches(clues->card, OPUS_CARDS, 0)) {
        made.attribution = opus_attribution;
    }
    if (!made.licence || arena_failed(arena))
        return error_memory(err);
    *out = made;
    return 0;
}

bool conversion_origin_guided(const char *model, bool bergamot, const struct mapping *training,
                              const char *card) {
    const struct mapping_pair *said =
        training ? source_mapping_find(training, "guided-alignment") : NULL;
    if (said && said->value)
        return *said->value && strcmp(said->value, "none") != 0;
    return bergamot || matches(model, "-align\\b", 0) ||
           matches(card, "\\btransformer[[:alnum:]_-]*-align\\b", 0);
}

bool conversion_origin_languages(const char *name, struct arena *arena, const char **source,
                                 const char **target) {
    static const char *const patterns[] = {
        "^model\\.([a-z]{2})([a-z]{2})\\.", "^model\\.([a-z]{3})([a-z]{3})\\.",
        "^opus-mt-(tc-base-|tc-big-|tc-bible-big-)?([a-z]{2,3})-([a-z]{2,3})$",
        "^(opus-)?([a-z]{2,3})-([a-z]{2,3})$"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        regex_t compiled;
        regmatch_t found[4];
        if (regcomp(&compiled, patterns[i], REG_EXTENDED) != 0)
            continue;
        size_t groups = compiled.re_nsub;
        bool matched = regexec(&compiled, name, 4, found, 0) == 0;
        regfree(&compiled);
        if (!matched)
            continue;
        *source = arena_copy(arena, name + found[groups - 1].rm_so,
                             (size_t)(found[groups - 1].rm_eo - found[groups - 1].rm_so));
        *target = arena_copy(arena, name + found[groups].rm_so,
                             (size_t)(found[groups].rm_eo - found[groups].rm_so));
        return *source && *target;
    }
    return false;
}

/* ---- files that are named, and files beside them ---- */

/* Reads the options in the first file that exists. */
static int read_options(const char *const *paths, size_t count, struct arena *arena,
                        struct mapping *out, struct error *err) {
    *out = (struct mapping){NULL, 0};
    for (size_t i = 0; i < count; i++) {
        char *text;
        size_t length;
        struct error inner = {0};
        if (!paths[i] || !source_exists(paths[i]))
            continue;
        if (source_text(paths[i], MOST_TEXT_BYTES, arena, &text, &length, err) != 0)
            return -1;
        if (source_mapping_read(text, length, arena, out, &inner) != 0)
            return error_set(err, inner.code, "%s: %s", paths[i], inner.message);
        return 0;
    }
    return arena_failed(arena) ? error_memory(err) : 0;
}

/* Counts the options that are single values. */
static size_t values_of(const struct mapping *mapping) {
    size_t count = 0;
    for (size_t i = 0; i < mapping->count; i++)
        count += mapping->pairs[i].value != NULL;
    return count;
}

/* The files that the user names besides the model: the decoder's options, lists of words, and
 * SentencePiece files. */
struct named_files {
    const char *decoder;            /* the decoder's options; NULL: not named */
    const char *lists[2], *spms[2]; /* [list_count], [spm_count] */
    size_t list_count, spm_count;
};

/* Assigns a named file to its part of the model. */
static int take_named(const char *path, struct arena *arena, struct parts *parts,
                      struct named_files *named, struct error *err) {
    const char *name = plain_name(source_name(path), arena);
    const char **place = NULL;
    if (source_begins(name, "lex.") || source_ends(name, ".s2t.bin") || source_ends(name, ".s2t"))
        place = &parts->shortlist;
    else if (source_begins(name, "quality"))
        place = &parts->quality;
    else if (strcmp(name, "decoder.yml") == 0 || source_ends(name, ".decoder.yml") ||
             fnmatch("config.*.yml", name, 0) == 0)
        place = &named->decoder;
    else if (source_ends(name, ".npz.json") || source_ends(name, "model.yml") ||
             source_ends(name, ".npz.yml"))
        place = &parts->options;
    else if (source_ends(name, ".npz") || source_ends(name, ".bin"))
        place = &parts->model;
    if (place) {
        if (*place)
            return error_set(err, ERROR_INPUT,
                             "%s: is named together with %s, but only one of them can be used",
                             path, *place);
        *place = path;
        return 0;
    }
    bool spm = source_ends(name, ".spm") || source_ends(name, ".model");
    size_t *count = spm ? &named->spm_count : &named->list_count;
    if (*count == 2)
        return error_set(err, ERROR_INPUT, "%s: is a third vocabulary, but a model has at most two",
                         path);
    (spm ? named->spms : named->lists)[(*count)++] = path;
    return 0;
}

/* Searches the folder for files that are not named. vocabularies: true if they are named. */
static int look_beside(const struct listing *listing, bool vocabularies, struct arena *arena,
                       struct parts *parts, struct error *err) {
    static const char *const spm_pairs[][2] = {
        {"srcvocab.*.spm", "trgvocab.*.spm"}, {"vocab.*.spm", "vocab.*.spm"},
        {"joint.spm", "joint.spm"},           {"vocab.spm", "vocab.spm"},
        {"source.spm", "target.spm"},         {"srcvocab.spm", "trgvocab.spm"}};
    static const char *const list_pairs[][2] = {{"*.src.vocab", "*.trg.vocab"},
                                                {"*.vocab.yml", "*.vocab.yml"},
                                                {"vocab.yml", "vocab.yml"},
                                                {"source.yml", "target.yml"}};
    static const char *const shortlists[] = {"lex.*s2t.bin", "lex.s2t", "model.s2t.bin"};
    const char *numbering[2] = {NULL, NULL}, *cutting[2] = {NULL, NULL};
    if (!vocabularies) {
        if (find_pair(listing, list_pairs, sizeof list_pairs / sizeof *list_pairs, arena, numbering,
                      err) != 0 ||
            find_pair(listing, spm_pairs, sizeof spm_pairs / sizeof *spm_pairs, arena, cutting,
                      err) != 0)
            return -1;
        for (size_t i = 0; i < listing->count && !cutting[0];
             i++) { /* another program made these pieces */
            const char *name = listing->names[i];
            if (source_ends(name, ".bpe") || strcmp(name, "bpe.model") == 0 ||
                source_ends(name, ".tcmodel"))
                return error_set(err, ERROR_FORMAT, "%s: has %s: %s", listing->folder, name,
                                 no_bpe);
        }
        if (!numbering[0] && !cutting[0])
            return error_set(
                err, ERROR_FORMAT,
                "%s: has no vocabularies: neither SentencePiece files nor lists of words",
                listing->folder);
        for (size_t side = 0; side < 2; side++) {
            parts->vocabularies[side] = numbering[0] ? numbering[side] : cutting[side];
            parts->segmenters[side] = numbering[0] ? cutting[side] : NULL;
        }
    }
    for (size_t i = 0; i < sizeof shortlists / sizeof *shortlists && !parts->shortlist; i++)
        if (find_one(listing, shortlists[i], NULL, arena, &parts->shortlist, err) != 0)
            return -1;
    return parts->quality ? 0
                          : find_one(listing, "quality*.bin", NULL, arena, &parts->quality, err);
}

static bool is_firefox(const char *name) {
    return matches(name, "^model\\.[[:alnum:]_]+\\.intgemm\\.alphas\\.bin", 0);
}

/* Sets the program, `guided`, and for Bergamot's models without decoder options those of Firefox.
 * firefox: it is one of Mozilla's models. card: "" if there is none. */
static void set_program(struct parts *parts, bool firefox, const char *card) {
    static struct mapping_pair firefox_decoder[] = {
        {"beam-size", "1", NULL, 0},
        {"normalize", "1", NULL, 0},
        {"max-length-factor", "2", NULL, 0},
        {"max-length-break", "128", NULL, 0},
        {"gemm-precision", "int8shiftAlphaAll", NULL, 0}};
    bool bergamot = firefox || strstr(parts->name, "intgemm") != NULL;
    bool opus = parts->segmenters[0] || matches(parts->name, "opus", REG_ICASE) ||
                matches(card, OPUS_CARDS, 0);
    parts->program = bergamot ? PROGRAM_BERGAMOT : opus ? PROGRAM_OPUS : PROGRAM_OTHER;
    if (values_of(&parts->decoder) == 0 && bergamot)
        parts->decoder =
            (struct mapping){firefox_decoder, sizeof firefox_decoder / sizeof *firefox_decoder};
    parts->guided = conversion_origin_guided(parts->name, bergamot, &parts->training, card);
}

int parts_find(const char *const *paths, size_t count, const char *shown, struct arena *arena,
               struct parts *out, struct error *err) {
    struct parts parts = {.origin = {.licence = "", .attribution = "", .card = ""}};
    struct named_files files = {.decoder = NULL};
    const char *folder = NULL, *card = "";
    struct listing listing;
    for (size_t i = 0; i < count; i++) {
        if (source_is_folder(paths[i]) && !folder)
            folder = paths[i];
        else if (take_named(paths[i], arena, &parts, &files, err) != 0)
            return -1;
    }
    if (!folder && !parts.model)
        return error_set(err, ERROR_INPUT,
                         "%s: is not a model: neither .npz nor .bin, nor a folder with one",
                         paths[0]);
    bool whole = folder != NULL, named = files.list_count + files.spm_count > 0;
    parts.folder = whole ? folder : folder_of(parts.model, arena);
    if (!parts.folder || list_folder(parts.folder, arena, &listing, err) != 0 ||
        (!parts.model && find_model(&listing, arena, &parts.model, err) != 0))
        return parts.folder ? -1 : error_memory(err);
    for (size_t side = 0; side < 2 && named;
         side++) { /* lists, SentencePiece files, or lists and the files that segment */
        const char *list = files.lists[files.list_count == 2 ? side : 0],
                   *spm = files.spms[files.spm_count == 2 ? side : 0];
        parts.vocabularies[side] = list ? list : spm;
        parts.segmenters[side] = list ? spm : NULL;
    }
    parts.name = source_name(parts.model);
    const char *training[] = {
        source_path_join(arena, parts.folder, source_say(arena, "%s.yml", parts.name))};
    if (!whole && named) { /* all required files are named, so only options are searched for */
        if (read_options((const char *const[]){files.decoder}, 1, arena, &parts.decoder, err) !=
                0 ||
            read_options(training, 1, arena, &parts.training, err) != 0)
            return -1;
        set_program(&parts, is_firefox(parts.name), "");
        conversion_origin_languages(parts.name, arena, &parts.source, &parts.target);
        *out = parts;
        return 0;
    }
    if (look_beside(&listing, named, arena, &parts, err) != 0)
        return -1;
    bool firefox = has(parts.folder, "metadata.json", arena) || is_firefox(parts.name);
    const char *configured = NULL;
    if (find_one(&listing, "config.*.yml", NULL, arena, &configured, err) != 0)
        return -1;
    const char *decoders[] = {
        files.decoder, source_path_join(arena, parts.folder, "decoder.yml"),
        source_path_join(arena, parts.folder, source_say(arena, "%s.decoder.yml", parts.name)),
        configured};
    if (read_options(decoders, sizeof decoders / sizeof *decoders, arena, &parts.decoder, err) !=
            0 ||
        read_options(training, 1, arena, &parts.training, err) != 0 ||
        (whole && conversion_origin_card(folder, arena, &card, err) != 0) ||
        conversion_origin_find(&(struct origin_clues){parts.folder, parts.name, firefox, card},
                               arena, &parts.origin, err) != 0)
        return -1;
    set_program(&parts, firefox, card);
    if (!conversion_origin_languages(parts.name, arena, &parts.source, &parts.target))
        conversion_origin_languages(shown, arena, &parts.source, &parts.target);
    if (!parts.source && strstr(parts.name, "intgemm") &&
        matches(shown, "^[a-z]{4}$", 0)) { /* Firefox's pairs have such names */
        parts.source = arena_copy(arena, shown, 2);
        parts.target = arena_copy(arena, shown + 2, 2);
    }
    const char *metadata =
        source_path_join(arena, parts.folder, "metadata.json"); /* a file of Mozilla's models */
    json_t *root = metadata ? json_load_file(metadata, 0, NULL) : NULL;
    const char *source = json_string_value(json_object_get(root, "sourceLanguage"));
    const char *target = json_string_value(json_object_get(root, "targetLanguage"));
    if (source && target) {
        parts.source = arena_copy(arena, source, strlen(source));
        parts.target = arena_copy(arena, target, strlen(target));
    }
    json_decref(root);
    *out = parts;
    return arena_failed(arena) ? error_memory(err) : 0;
}

/* ---- decoder.yml ---- */

enum { MOST_BEAM = 32, MOST_TOKENS = 1000 };
static const double MOST_PENALTY = 2, LEAST_RATIO = 0.1, MOST_RATIO = 20,
                    USUAL_RATIO = 3; /* the last one is Marian's own */

/* Returns the value of an option of the decoder, or NULL if it is missing or a list. */
static const char *decoder_option(const struct mapping *options, const char *name) {
    const struct mapping_pair *pair = source_mapping_find(options, name);
    return pair ? pair->value : NULL;
}

/* Reads an option that is a number; without a value it is 1. */
static int decoder_number(const struct mapping *options, const char *name, double fallback,
                          double *number, struct error *err) {
    const char *text = decoder_option(options, name);
    char *end = NULL;
    *number = !text ? fallback : *text ? strtod(text, &end) : 1;
    bool whole = !text || !*text || (end != text && end[strspn(end, " ")] == '\0');
    if (!whole || !isfinite(*number) || (*number < 0 && strcmp(name, "word-penalty") != 0))
        return error_set(err, ERROR_FORMAT, "decoder option %s: %s is not a number in its range",
                         name, text);
    return 0;
}

static double within(const char *name, double value, double least, double most, struct arena *arena,
                     const char **said) {
    double taken = value < least ? least : value > most ? most : value;
    if (taken != value)
        *said = source_say(
            arena,
            "%sdecoder option %s: %g is out of alignd's range, %g to %g; %g is used instead\n",
            *said, name, value, least, most, taken);
    return taken;
}

static bool decoder_on(const struct mapping *options, const char *name) {
    const char *text = decoder_option(options, name);
    return text && strcmp(text, "true") == 0;
}

int conversion_marian_decoder_read(const struct mapping *options, struct arena *arena,
                                   struct marian_defaults *out, struct error *err) {
    double beam = 1, penalty, words, ratio, tokens;
    const char *said = "";
    if (decoder_number(options, "beam-size", 1, &beam, err) != 0 ||
        decoder_number(options, "normalize", 0, &penalty, err) != 0 ||
        decoder_number(options, "word-penalty", 0, &words, err) != 0 ||
        decoder_number(options, "max-length-factor", USUAL_RATIO, &ratio, err) != 0 ||
        decoder_number(options, "max-length-break", 0, &tokens, err) != 0)
        return -1;
    json_t *section = json_object();
    int failed = section ? 0 : -1;
    if (decoder_option(options, "beam-size")) {
        beam = floor(within("beam-size", beam, 1, MOST_BEAM, arena, &said));
        failed |= json_object_set_new(section, "beam_size", json_integer((json_int_t)beam));
    }
    if (values_of(options) > 0)
        failed |= json_object_set_new(
            section, "length_penalty",
            json_real(within("normalize", penalty, 0, MOST_PENALTY, arena, &said)));
    if (words != 0 && said)
        said = source_say(
            arena, "%sdecoder option word-penalty: %g is not supported: searches go without\n",
            said, words);
    if (decoder_on(options, "skip-cost") && beam > 1 && said)
        said = source_say(arena,
                          "%sdecoder option skip-cost: alignd's beam sums log-probabilities "
                          "instead of raw scores\n",
                          said);
    if (decoder_on(options, "allow-special") && said)
        said = source_say(
            arena, "%sdecoder option allow-special: alignd has no special pieces to allow\n", said);
    ratio = within("max-length-factor", ratio, LEAST_RATIO, MOST_RATIO, arena, &said);
    if (decoder_option(options, "max-length-break"))
        tokens = floor(within("max-length-break", tokens, 1, MOST_TOKENS, arena, &said));

    /* int8, int8shift, int8shiftAlphaAll and the like of Bergamot's fork are all int8 here. */
    const char *precision = decoder_option(options, "gemm-precision"), *compute = precision;
    if (precision && strcmp(precision, "float32") != 0) {
        compute = source_begins(precision, "int8") ? "int8" : "float32";
        if (!source_begins(precision, "int8"))
            said = source_say(
                arena,
                "%sdecoder option gemm-precision: %s is not supported: products are of float32\n",
                said, source_shown(arena, precision, strlen(precision)));
    }
    if (failed || !said || arena_failed(arena)) {
        json_decref(section);
        return error_memory(err);
    }
    *out = (struct marian_defaults){.section = section,
                                    .compute = compute,
                                    .lists = source_mapping_find(options, "shortlist") != NULL,
                                    .source_tokens = (size_t)tokens,
                                    .ratio = ratio,
                                    .unknowns = decoder_on(options, "allow-unk"),
                                    .said = said};
    return 0;
}

/* ---- CTranslate2's folders, and packages of Argos ---- */

/* folder, package: as in struct ctranslate2_parts. */
static bool locate(const char *path, struct arena *arena, const char **folder,
                   const char **package) {
    static const char *const files[] = {"shared_vocabulary.json",  "shared_vocabulary.txt",
                                        "source_vocabulary.json",  "source_vocabulary.txt",
                                        "vocabulary.json",         "vocabulary.txt",
                                        "source_1_vocabulary.txt", "source_1_vocabulary.json"};
    *package = NULL;
    *folder = source_is_folder(path)                        ? path
              : strcmp(source_name(path), "model.bin") == 0 ? folder_of(path, arena)
                                                            : NULL;
    if (!*folder)
        return false;
    if (has(*folder, "metadata.json", arena) && has(*folder, "model/model.bin", arena)) {
        *package = *folder;
        *folder = source_path_join(arena, *folder, "model");
        return *folder != NULL;
    }
    bool beside = false;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        beside |= has(*folder, files[i], arena);
    return beside && has(*folder, "model.bin", arena);
}

bool conversion_ctranslate2_is(const char *path, struct arena *arena) {
    const char *folder, *package;
    return locate(path, arena, &folder, &package);
}

/* Returns the code of a language; Argos has codes of its own for some. */
static const char *language_of(const json_t *metadata, const char *key, struct arena *arena) {
    static const char *const others[][2] = {{"zt", "zh-Hant"}, {"pb", "pt-BR"}};
    const char *code = json_string_value(json_object_get(metadata, key));
    for (size_t i = 0; code && i < sizeof others / sizeof *others; i++)
        if (strcmp(code, others[i][0]) == 0)
            return others[i][1];
    return code && *code ? arena_copy(arena, code, strlen(code)) : NULL;
}

/* Reads an Argos package's metadata.json. */
static int read_argos(struct ctranslate2_parts *parts, struct arena *arena, struct error *err) {
    const char *path = source_path_join(arena, parts->package, "metadata.json");
    json_t *root;
    if (source_json(path, path, arena, &root, err) != 0)
        return -1;
    const char *type = json_string_value(json_object_get(root, "type"));
    const char *prefix = json_string_value(json_object_get(root, "target_prefix"));
    int result =
        !json_is_object(root) ? error_set(err, ERROR_FORMAT, "%s: is not an object", path) : 0;
    if (result == 0 && type && strcmp(type, "translate") != 0)
        result = error_set(
            err, ERROR_FORMAT,
            "%s: is a package of the type %.60s: only those of the type translate can be imported",
            path, type);
    parts->source = language_of(root, "from_code", arena);
    parts->target = language_of(root, "to_code", arena);
    parts->prefix = prefix && *prefix ? arena_copy(arena, prefix, strlen(prefix)) : NULL;
    json_decref(root);
    return result == 0 && arena_failed(arena) ? error_memory(err) : result;
}

/* Finds the SentencePiece files of a folder. Returns false if there are no such files. */
static bool find_segmenters(const char *folder, struct arena *arena, const char *out[2]) {
    static const char *const pairs[][2] = {
        {"source.spm", "target.spm"},
        {"src.spm.model", "tgt.spm.model"},
        {"joint.spm", "joint.spm"},
        {"joint.spm.model", "joint.spm.model"},
        {"sentencepiece.model", "sentencepiece.model"},
        {"sentencepiece.bpe.model", "sentencepiece.bpe.model"},
        {"spm.128k.model", "spm.128k.model"},
        {"flores200_sacrebleu_tokenizer_spm.model", "flores200_sacrebleu_tokenizer_spm.model"},
        {"spiece.model", "spiece.model"},
        {"spm.model", "spm.model"},
        {"source.model", "target.model"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (!has(folder, pairs[i][0], arena) || !has(folder, pairs[i][1], arena))
            continue;
        out[0] = source_path_join(arena, folder, pairs[i][0]);
        out[1] = source_path_join(arena, folder, pairs[i][1]);
        return true;
    }
    return false;
}

int conversion_ctranslate2_find(const char *const *paths, size_t count, struct arena *arena,
                                struct ctranslate2_parts *out, struct error *err) {
    static const char *const bpe[] = {"bpe.model", "source.bpe", "target.bpe", "bpe.codes"};
    struct ctranslate2_parts parts = {.folder = NULL};
    size_t named = 0;
    for (size_t i = 0; i < count; i++) {
        bool spm = source_ends(paths[i], ".spm") || source_ends(paths[i], ".model");
        if (!parts.folder && conversion_ctranslate2_is(paths[i], arena)) {
            if (!locate(paths[i], arena, &parts.folder, &parts.package))
                return error_memory(err);
        } else if (spm && named < 2) {
            parts.segmenters[named++] = paths[i];
        } else {
            return error_set(err, ERROR_INPUT,
                             "%s: cannot be used beside a CTranslate2 model, only one or two "
                             "SentencePiece files can",
                             paths[i]);
        }
    }
    if (named == 1)
        parts.segmenters[1] = parts.segmenters[0];
    const char *around = parts.package ? parts.package : parts.folder;
    if (parts.package && read_argos(&parts, arena, err) != 0)
        return -1;
    for (size_t i = 0; named == 0 && i < sizeof bpe / sizeof *bpe; i++)
        if (has(around, bpe[i], arena))
            return error_set(err, ERROR_FORMAT, "%s: has %s: %s", around, bpe[i], no_bpe);
    if (named == 0 && !find_segmenters(parts.folder, arena, parts.segmenters)) {
        const char *outer =
            parts.package ? parts.package : source_path_join(arena, parts.folder, "..");
        parts.guessed = outer && find_segmenters(outer, arena, parts.segmenters) && !parts.package;
    }
    if (named == 0 && !parts.segmenters[0] && parts.package)
        return error_set(err, ERROR_FORMAT, "%s: has no sentencepiece.model", parts.package);
    parts.name = source_name(around);
    *out = parts;
    return arena_failed(arena) ? error_memory(err) : 0;
}
