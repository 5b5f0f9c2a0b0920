/* This file hides how the list of a language is chosen: by counts of pieces, and which pieces any word can be spelled with. */
#include "model/pieces.h"
#include "model/base/utf8.h"
#include "model/model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A script is the text's if this share of its characters have it. */
enum { SCRIPT_SHARE = 100 };

struct pieces {
    struct model_config config;
    struct model_languages languages;
    const struct model_language *language;
    struct tokenizer *target;
    struct arena arena; /* of one text */
    size_t size;
    uint64_t *counts; /* [size] */
};

static int open_folder(struct pieces *pieces, const char *folder, const char *language, struct error *err) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/config.json", folder);
    if (length < 0 || (size_t)length >= sizeof path)
        return error_set(err, ERROR_FILE, "%s: the path is too long", folder);
    if (config_read(path, &pieces->config, err) != 0 || model_languages_read(path, &pieces->languages, err) != 0)
        return -1;
    if (pieces->languages.count == 0)
        return error_set(err, ERROR_INPUT, "model \"%.60s\" has no languages: only models of many have lists of pieces for each",
                         pieces->config.name);
    pieces->language = model_languages_find(&pieces->languages, language);
    if (!pieces->language)
        return error_set(err, ERROR_INPUT, "model \"%.60s\" has no language \"%.60s\"", pieces->config.name, language);
    pieces->target = translator_open_target(folder, &pieces->config, err);
    if (!pieces->target)
        return -1;
    if (tokenizer_end(pieces->target) < 0)
        return error_set(err, ERROR_FORMAT, "tokenizer: the vocabulary has no </s>");
    pieces->size = tokenizer_size(pieces->target);
    pieces->counts = calloc(pieces->size, sizeof *pieces->counts);
    return pieces->counts ? 0 : error_memory(err);
}

struct pieces *pieces_open(const char *folder, const char *language, struct error *err) {
    struct pieces *pieces = calloc(1, sizeof *pieces);
    if (!pieces) {
        error_memory(err);
        return NULL;
    }
    arena_init(&pieces->arena, 64 * 1024);
    if (open_folder(pieces, folder, language, err) == 0)
        return pieces;
    pieces_free(pieces);
    return NULL;
}

void pieces_free(struct pieces *pieces) {
    if (!pieces)
        return;
    tokenizer_free(pieces->target);
    model_languages_done(&pieces->languages);
    arena_done(&pieces->arena);
    free(pieces->counts);
    free(pieces);
}

const char *pieces_language(const struct pieces *pieces) {
    return pieces->language->code;
}

bool pieces_used(const struct pieces *pieces) {
    return pieces->config.defaults.shortlist;
}

int pieces_count(struct pieces *pieces, const char *text, size_t length, struct error *err) {
    struct token *tokens;
    size_t count;
    int result = tokenizer_encode(pieces->target, text, length, NULL, &pieces->arena, &tokens, &count, err);
    for (size_t i = 0; result == 0 && i < count; i++)
        if (tokens[i].id >= 0)
            pieces->counts[tokens[i].id]++;
    arena_reset(&pieces->arena);
    return result;
}

/* ---- spelling ---- */

/* A piece without its mark of white space. */
static const char *text_of(const struct pieces *pieces, size_t id) {
    const char *piece = tokenizer_piece(pieces->target, (int)id), *mark = tokenizer_mark(pieces->target);
    return strncmp(piece, mark, strlen(mark)) == 0 ? piece + strlen(mark) : piece;
}

/* Finds the scripts that the text is written in. */
static void find_scripts(const struct pieces *pieces, bool used[CHARACTER_SCRIPTS]) {
    uint64_t counts[CHARACTER_SCRIPTS] = {0}, all = 0;
    for (size_t id = 0; id < pieces->size; id++) {
        const char *text = text_of(pieces, id);
        size_t length = pieces->counts[id] > 0 && (int)id != tokenizer_unknown(pieces->target) ? strlen(text) : 0;
        for (size_t next = 0; next < length;)
            counts[character_script(character_next(text, length, &next))] += pieces->counts[id];
    }
    for (size_t script = 1; script < CHARACTER_SCRIPTS; script++)
        all += counts[script];
    used[0] = true; /* what belongs to no script */
    for (size_t script = 1; script < CHARACTER_SCRIPTS; script++)
        used[script] = counts[script] > 0 && counts[script] >= all / SCRIPT_SHARE;
}

/* Whether words are spelled with the piece: a byte, a mark alone, or one character of these scripts. */
static bool is_spelling(const struct pieces *pieces, size_t id, const bool used[CHARACTER_SCRIPTS]) {
    const char *text = text_of(pieces, id);
    size_t length = strlen(text), next = 0;
    if (tokenizer_byte(pieces->target, (int)id) >= 0)
        return true;
    if (length == 0)
        return *tokenizer_piece(pieces->target, (int)id) != '\0';
    int32_t character = character_next(text, length, &next);
    return next == length && character >= 0 && (character < 0x80 || used[character_script(character)]);
}

/* ---- the list ---- */

struct counted {
    size_t id;
    uint64_t count;
};

/* The most frequent first; of equals the lower id. */
static int by_count(const void *a, const void *b) {
    const struct counted *one = a, *other = b;
    if (one->count != other->count)
        return one->count > other->count ? -1 : 1;
    return one->id < other->id ? -1 : one->id > other->id;
}

/* Sets chosen [size] for the most frequent pieces, and out's counted and tokens. Returns -1 if memory is out. */
static int choose_counted(const struct pieces *pieces, const struct pieces_wanted *wanted, bool *chosen, struct pieces_list *out) {
    struct counted *found = calloc(pieces->size, sizeof *found);
    size_t count = 0;
    uint64_t covered = 0;
    if (!found)
        return -1;
    for (size_t id = 0; id < pieces->size; id++) {
        if (pieces->counts[id] == 0 || (int)id == tokenizer_unknown(pieces->target))
            continue;
        found[count++] = (struct counted){id, pieces->counts[id]};
        out->tokens += pieces->counts[id];
    }
    qsort(found, count, sizeof *found, by_count);
    double enough = wanted->share * (double)out->tokens;
    size_t most = wanted->most > 0 && wanted->most < count ? wanted->most : count;
    for (; out->counted < most && (double)covered < enough; out->counted++) {
        chosen[found[out->counted].id] = true;
        covered += found[out->counted].count;
    }
    free(found);
    return 0;
}

int pieces_choose(const struct pieces *pieces, const struct pieces_wanted *wanted, struct pieces_list *out, struct error *err) {
    struct pieces_list list = {.ids = NULL};
    bool used[CHARACTER_SCRIPTS];
    bool *chosen = calloc(pieces->size, sizeof *chosen);
    int unknown = tokenizer_unknown(pieces->target);
    list.ids = calloc(pieces->size, sizeof *list.ids);
    if (!chosen || !list.ids || choose_counted(pieces, wanted, chosen, &list) != 0) {
        free(chosen);
        free(list.ids);
        return error_memory(err);
    }
    find_scripts(pieces, used);
    chosen[tokenizer_end(pieces->target)] = true;
    if (unknown >= 0)
        chosen[unknown] = true;
    for (size_t id = 0; id < pieces->size; id++) {
        if (!chosen[id] && !is_spelling(pieces, id, used))
            continue;
        list.ids[list.count++] = (int32_t)id;
        list.covered += (int)id == unknown ? 0 : pieces->counts[id];
    }
    free(chosen);
    if (list.tokens == 0) {
        free(list.ids);
        return error_set(err, ERROR_INPUT, "the text has no pieces of the vocabulary");
    }
    *out = list;
    return 0;
}
