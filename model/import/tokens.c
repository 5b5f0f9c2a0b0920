#include "model/import/tokens.h"
#include "model/base/utf8.h"
#include "model/import/tensors.h"
#include "model/import/vocabulary.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/uloc.h>
#include <unicode/uscript.h>

enum { LEAST_LANGUAGES = 3 };

/* ---- spelling ---- */

static int by_text(const void *a, const void *b) {
    const char *const *one = *(const char *const *const *)a, *const *other = *(const char *const *const *)b;
    int order = strcmp(*one, *other);
    return order ? order : one < other ? -1 : one > other;
}

int tokens_respell(struct tokens *tokens, struct arena *arena, struct error *err) {
    const char ***order = arena_alloc(arena, tokens->count, sizeof *order);
    if (!order)
        return error_memory(err);
    for (size_t i = 0; i < tokens->count; i++)
        order[i] = &tokens->list[i];
    if (tokens->count > 0)
        qsort(order, tokens->count, sizeof *order, by_text);
    for (size_t i = 1, first = 0; i < tokens->count; i++) {
        if (strcmp(*order[i], *order[first]) == 0)
            *order[i] = "";
        else
            first = i;
    }
    for (size_t i = 0; i < tokens->count; i++)
        if (!*tokens->list[i] || strpbrk(tokens->list[i], "\t\n\v\f\r "))
            tokens->list[i] = import_say(arena, "<token:%zu>", i);
    return arena_failed(arena) ? error_memory(err) : 0;
}

int tokens_check_pieces(const struct tokens *tokens, const char *path, struct arena *arena, struct error *err) {
    struct vocabulary file;
    struct ids pieces;
    size_t known = 0;
    uint32_t id;
    if (vocabulary_import(path, 0, arena, &file, err) != 0 || ids_of(&file, arena, &pieces, err) != 0)
        return -1;
    for (size_t i = 0; i < tokens->count; i++)
        known += ids_find(&pieces, tokens->list[i], strlen(tokens->list[i]), &id);
    if (2 * known >= tokens->count || 2 * known >= file.size)
        return 0;
    return error_set(err, ERROR_FORMAT, "%s: is not of this model: %zu of its %zu pieces are tokens of %s", path, known, file.size,
                     tokens->path);
}

/* ---- languages ---- */

/* Languages that have another name in codes of two letters, or in general (CLDR's aliases). */
static const char *const wide[][2] = {{"als", "sq"}, {"arb", "ar"}, {"ayr", "ay"}, {"azj", "az"}, {"ekk", "et"},
                                      {"gaz", "om"}, {"khk", "mn"}, {"kmr", "ku"}, {"knc", "kr"}, {"lvs", "lv"},
                                      {"npi", "ne"}, {"ory", "or"}, {"pbt", "ps"}, {"pes", "fa"}, {"plt", "mg"},
                                      {"quy", "qu"}, {"swh", "sw"}, {"uzn", "uz"}, {"ydd", "yi"}, {"zsm", "ms"}};

/* A token such as fra_Latn or __fr__. *letters: of the language's part, which begins at *begin. */
static bool is_language(const char *token, size_t *begin, size_t *letters) {
    *begin = source_begins(token, "__") ? 2 : 0;
    *letters = strspn(token + *begin, "abcdefghijklmnopqrstuvwxyz");
    const char *rest = token + *begin + *letters;
    if (*letters < 2 || *letters > 3)
        return false;
    if (*begin > 0)
        return strcmp(rest, "__") == 0;
    return *letters == 3 && strlen(rest) == 5 && rest[0] == '_' && isupper((unsigned char)rest[1]) &&
           strspn(rest + 2, "abcdefghijklmnopqrstuvwxyz") == 3;
}

/* The BCP-47 code of such a token; the script is kept of Chinese, and where it is not the usual one. */
static const char *code_of(const char *token, size_t begin, size_t letters, struct arena *arena) {
    char language[ULOC_LANG_CAPACITY], given[ULOC_FULLNAME_CAPACITY], likely[ULOC_FULLNAME_CAPACITY], script[ULOC_SCRIPT_CAPACITY];
    UErrorCode status = U_ZERO_ERROR;
    snprintf(given, sizeof given, "%.*s", (int)letters, token + begin);
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (strcmp(given, wide[i][0]) == 0)
            snprintf(given, sizeof given, "%s", wide[i][1]);
    uloc_getLanguage(given, language, sizeof language, &status);
    if (U_FAILURE(status) || !*language)
        return import_say(arena, "%.*s", (int)letters, token + begin);
    const char *own = begin > 0 ? "" : token + letters + 1;
    uloc_addLikelySubtags(language, likely, sizeof likely, &status);
    uloc_getScript(likely, script, sizeof script, &status);
    bool usual = !*own || (U_SUCCESS(status) && strcmp(script, own) == 0 && strcmp(language, "zh") != 0);
    return import_say(arena, "%s%s%s", language, usual ? "" : "-", usual ? "" : own);
}

/* other: the other side's tokens; NULL: they are the same. */
static int add_language(json_t *section, const char *token, const struct tokens *other, struct arena *arena, struct error *err) {
    size_t begin, letters;
    bool both = !other;
    if (!is_language(token, &begin, &letters))
        return 0;
    for (size_t i = 0; !both && i < other->count; i++)
        both = strcmp(other->list[i], token) == 0;
    const char *code = both ? code_of(token, begin, letters, arena) : "";
    if (both && code && json_object_get(section, code)) /* another has it: its own name */
        code =
            import_say(arena, "%.*s%s%s", (int)letters, token + begin, begin > 0 ? "" : "-", begin > 0 ? "" : token + letters + 1);
    if (!code)
        return error_memory(err);
    if (!both || json_object_get(section, code))
        return 0;
    json_t *language = json_pack("{s:s, s:s, s:[s]}", "source", token, "target", token, "aliases", token);
    return json_object_set_new(section, code, language) == 0 ? 0 : error_memory(err);
}

int tokens_languages(const struct tokens *source, const struct tokens *target, struct arena *arena, json_t **out,
                     struct error *err) {
    *out = NULL;
    json_t *section = json_object();
    int result = section ? 0 : error_memory(err);
    for (size_t i = 0; result == 0 && i < source->count; i++)
        result = add_language(section, source->list[i], source->list == target->list ? NULL : target, arena, err);
    if (result == 0 && json_object_size(section) >= LEAST_LANGUAGES)
        *out = json_incref(section);
    json_decref(section);
    return result;
}

/* ---- lists by script ---- */

/* Pieces of plain letters that are on every list: those with the first ids, which are the most frequent, and those so short. */
enum { PLAIN_FIRST = 32768, PLAIN_SHORT = 3 };

/* Names of several scripts together; the last one may be there twice. */
static const struct {
    const char *name;
    UScriptCode scripts[3];
} together[] = {{"Jpan", {USCRIPT_HIRAGANA, USCRIPT_KATAKANA, USCRIPT_HAN}},
                {"Kore", {USCRIPT_HANGUL, USCRIPT_HAN, USCRIPT_HAN}},
                {"Hang", {USCRIPT_HANGUL, USCRIPT_HAN, USCRIPT_HAN}},
                {"Hans", {USCRIPT_HAN, USCRIPT_BOPOMOFO, USCRIPT_HAN}},
                {"Hant", {USCRIPT_HAN, USCRIPT_BOPOMOFO, USCRIPT_HAN}}};

/* Languages that are written in several scripts, of those that tokens name without a script. */
static const char *const several[] = {"az", "bs", "ff", "ha", "kk", "ku", "ky", "mn", "ms",
                                      "pa", "sd", "sr", "su", "tg", "tt", "ug", "uz"};

/* The name of the script of a language: four letters in name [5]. False: it is not one. */
static bool script_of(const char *token, char name[5]) {
    char likely[ULOC_FULLNAME_CAPACITY], script[ULOC_SCRIPT_CAPACITY], language[8];
    size_t begin, letters;
    UErrorCode status = U_ZERO_ERROR;
    if (!is_language(token, &begin, &letters))
        return false;
    if (begin == 0) {
        memcpy(name, token + letters + 1, 5); /* four letters and the NUL, as is_language has seen */
        return true;
    }
    snprintf(language, sizeof language, "%.*s", (int)letters, token + begin);
    for (size_t i = 0; i < sizeof several / sizeof *several; i++)
        if (strcmp(language, several[i]) == 0)
            return false;
    uloc_addLikelySubtags(language, likely, sizeof likely, &status);
    uloc_getScript(likely, script, sizeof script, &status);
    bool known = U_SUCCESS(status) && strlen(script) == 4;
    if (known)
        memcpy(name, script, 5);
    return known;
}

/* The first character of a text, which takes *step bytes; -1: it is not UTF-8. */
static int32_t first_of(const char *text, size_t size, size_t *step) {
    bool valid;
    *step = utf8_first(text, size, &valid);
    int32_t character = *step == 1 ? (unsigned char)*text : (unsigned char)*text & 0x7f >> *step;
    for (size_t i = 1; i < *step; i++)
        character = character << 6 | ((unsigned char)text[i] & 0x3f);
    return valid ? character : -1;
}

/* The characters of a piece: whether each has one of these scripts, or none; plain: all letters are ASCII's. */
static bool has_scripts(const char *piece, const UScriptCode *scripts, size_t count, bool *plain, size_t *length) {
    bool all = true;
    *plain = true;
    *length = 0;
    for (size_t size = strlen(piece), step; size > 0; size -= step, piece += step, (*length)++) {
        int32_t character = first_of(piece, size, &step);
        UErrorCode status = U_ZERO_ERROR;
        UScriptCode script = character < 0 ? USCRIPT_UNKNOWN : uscript_getScript(character, &status);
        bool own = script == USCRIPT_COMMON || script == USCRIPT_INHERITED || script == USCRIPT_UNKNOWN;
        *plain = *plain && (character < 0x80 || own);
        for (size_t i = 0; !own && i < count; i++)
            own = script == scripts[i] || uscript_hasScript(character, scripts[i]);
        all = all && own;
    }
    return all;
}

/* Makes the list of a script. Returns NULL if memory is out, or the script is not known. */
static int32_t *list_of(const char *script, const struct tokens *target, struct arena *arena, size_t *count) {
    UScriptCode scripts[3];
    size_t known = 0;
    for (size_t i = 0; i < sizeof together / sizeof *together; i++)
        if (strcmp(script, together[i].name) == 0) {
            memcpy(scripts, together[i].scripts, sizeof scripts);
            known = 3;
        }
    if (known == 0) {
        int32_t code = u_getPropertyValueEnum(UCHAR_SCRIPT, script);
        if (code == UCHAR_INVALID_CODE)
            return NULL;
        scripts[known++] = (UScriptCode)code;
    }
    int32_t *ids = arena_alloc(arena, target->count, sizeof *ids);
    *count = 0;
    for (size_t id = 0; ids && id < target->count; id++) {
        const char *piece = target->list[id];
        size_t length, begin, letters;
        bool plain;
        bool own = has_scripts(piece, scripts, known, &plain, &length);
        if ((own || (plain && (id < PLAIN_FIRST || length <= PLAIN_SHORT))) && !is_language(piece, &begin, &letters))
            ids[(*count)++] = (int32_t)id;
    }
    return ids;
}

int tokens_lists(const struct tokens *target, json_t *languages, struct arena *arena, struct ready **lists, size_t *count,
                 struct error *err) {
    struct ready *made = arena_alloc(arena, json_object_size(languages) + 1, sizeof *made);
    json_t *language;
    const char *code;
    size_t used = 1;
    if (!made)
        return error_memory(err);
    made[0] = (struct ready){.name = "always", .integers = true, .numbers = ""};
    json_object_foreach(languages, code, language) {
        char script[5];
        if (!script_of(json_string_value(json_object_get(language, "target")), script))
            continue;
        const char *name = import_say(arena, "list.%s", script);
        size_t i = 1;
        while (name && i < used && strcmp(made[i].name, name) != 0)
            i++;
        if (name && i == used) {
            size_t ids = 0;
            const int32_t *numbers = list_of(script, target, arena, &ids);
            if (numbers)
                made[used++] = (struct ready){name, true, ids, numbers};
        }
        if (arena_failed(arena) || (i < used && json_object_set_new(language, "list", json_string(script)) != 0))
            return error_memory(err);
    }
    *lists = made;
    *count = used;
    return 0;
}
