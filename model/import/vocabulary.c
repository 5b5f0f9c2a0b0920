/* This file hides how foreign models list their tokens: the formats of vocabularies, what alignd's
 * own lists require, and how tokens name languages. */
#include "model/base/utf8.h"
#include "model/import/conversion.h"
#include "model/text/tokenizer.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/uloc.h>
#include <unicode/uscript.h>

enum { MOST_BYTES = 1 << 26, LEAST_WORDS = 3, MOST_WORDS = 1 << 20 };

/* ---- lists of words ---- */

/* A word of a list. */
struct word {
    const char *text;
    uint64_t id;
    size_t line; /* its place among the words of the list, from 1 */
};

static int by_id(const void *a, const void *b) {
    const struct word *one = a, *other = b;
    return one->id != other->id      ? (one->id < other->id ? -1 : 1)
           : one->line < other->line ? -1
                                     : one->line > other->line;
}

static int by_text(const void *a, const void *b) {
    const struct word *one = a, *other = b;
    int order = strcmp(one->text, other->text);
    return order ? order : one->line < other->line ? -1 : one->line > other->line;
}

int vocabulary_of_words(const char *path, const char *const *words, size_t count,
                        struct arena *arena, struct vocabulary *out, struct error *err) {
    size_t bytes = 0;
    if (count < LEAST_WORDS || count > MOST_WORDS)
        return error_set(err, ERROR_FORMAT, "%s: a vocabulary must have %d to %d lines, got %zu",
                         path, LEAST_WORDS, MOST_WORDS, count);
    struct word *sorted = arena_alloc(arena, count, sizeof *sorted);
    if (!sorted)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        if (!*words[i])
            return error_set(err, ERROR_FORMAT, "%s: line %zu is empty", path, i + 1);
        if (strpbrk(words[i], "\t\n\v\f\r "))
            return error_set(err, ERROR_FORMAT, "%s: line %zu contains white space", path, i + 1);
        sorted[i] = (struct word){words[i], 0, i + 1};
        bytes += strlen(words[i]) + 1;
    }
    if (bytes > MOST_BYTES)
        return error_set(err, ERROR_FORMAT, "%s: a vocabulary must have at most %d bytes", path,
                         MOST_BYTES);
    qsort(sorted, count, sizeof *sorted, by_text);
    bool unknown = false;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && strcmp(sorted[i - 1].text, sorted[i].text) == 0)
            return error_set(err, ERROR_FORMAT, "%s: lines %zu and %zu are the same", path,
                             sorted[i - 1].line, sorted[i].line);
        unknown |= strcmp(sorted[i].text, "<unk>") == 0;
    }
    if (!unknown)
        return error_set(err, ERROR_FORMAT, "%s: <unk> is missing", path);
    char *content = arena_alloc(arena, bytes + 1, 1), *at = content;
    if (!content)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(words[i]);
        memcpy(at, words[i], length);
        at[length] = '\n';
        at += length + 1;
    }
    *at = '\0';
    *out = (struct vocabulary){.content = content, .bytes = bytes, .size = count};
    return 0;
}

/* Words and ids in the order of their list. */
struct pairs {
    struct word *words; /* [count] */
    size_t count, room;
    const char *path;
    struct arena *arena;
};

static int add_pair(struct pairs *pairs, const char *word, const char *id, struct error *err) {
    size_t length = strlen(id);
    bool number = length > 0 && length < 19;
    for (size_t i = 0; i < length; i++)
        number = number && isdigit((unsigned char)id[i]);
    if (!number)
        return error_set(err, ERROR_FORMAT, "%s: '%s' has the id %s, which is not a number",
                         pairs->path, word, id);
    pairs->words =
        arena_grow(pairs->arena, pairs->words, pairs->count, &pairs->room, 1, sizeof *pairs->words);
    if (!pairs->words)
        return error_memory(err);
    pairs->words[pairs->count] = (struct word){word, strtoull(id, NULL, 10), pairs->count + 1};
    pairs->count++;
    return 0;
}

static int read_json(struct pairs *pairs, const char *text, size_t length, struct error *err) {
    json_error_t problem;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem), *value;
    const char *word;
    int result = 0;
    if (!root)
        return error_set(err, ERROR_FORMAT, "%s: line %d: %s", pairs->path, problem.line,
                         problem.text);
    if (!json_is_object(root))
        result = error_set(err, ERROR_FORMAT, "%s: is not an object of words and ids", pairs->path);
    json_object_foreach(root, word, value) {
        if (result != 0)
            break;
        char *id = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        const char *copy = id ? arena_copy(pairs->arena, word, strlen(word)) : NULL;
        if (copy &&
            (strcmp(id, "0") == 0 || strcmp(id, "1") == 0)) { /* Nematus's names of the first two */
            if (strcmp(copy, "eos") == 0 || strcmp(copy, "<EOS>") == 0)
                copy = "</s>";
            else if (strcmp(copy, "UNK") == 0 || strcmp(copy, "<UNK>") == 0)
                copy = "<unk>";
        }
        result =
            copy ? add_pair(pairs, copy, json_is_string(value) ? json_string_value(value) : id, err)
                 : error_memory(err);
        free(id);
    }
    json_decref(root);
    return result;
}

/* ---- SentencePiece ---- */

static int count_piece(void *context, int id, const char *piece, size_t length) {
    *(size_t *)context = (size_t)id + 1;
    return utf8_valid(piece, length) ? 0 : -1;
}

static int read_sentencepiece(const char *path, size_t size, struct arena *arena,
                              struct vocabulary *out, struct error *err) {
    char *content;
    size_t bytes, count = 0;
    if (source_read(path, MOST_BYTES, arena, &content, &bytes, err) != 0)
        return -1;
    if (sentencepiece_each(path, content, bytes, count_piece, &count, err) != 0 ||
        sentencepiece_check(path, content, bytes, err) != 0)
        return -1;
    if (size && count != size)
        return error_set(err, ERROR_FORMAT, "%s: has %s pieces, the model %s", path,
                         source_thousands(arena, count), source_thousands(arena, size));
    *out = (struct vocabulary){
        .sentencepiece = true, .content = content, .bytes = bytes, .size = count};
    return 0;
}

int vocabulary_segmented(const char *path, const struct vocabulary *words, struct arena *arena,
                         struct vocabulary *out, struct error *err) {
    struct vocabulary file;
    if (words->sentencepiece)
        return error_set(err, ERROR_FORMAT,
                         "%s: segments text, and so does the vocabulary beside it: give a list of "
                         "pieces as the vocabulary",
                         path);
    if (read_sentencepiece(path, 0, arena, &file, err) != 0)
        return -1;
    file.size = words->size;
    file.list = words->content;
    file.list_bytes = words->bytes;
    *out = file;
    return 0;
}

/* Only the words of a list's first `size` ids are imported: to Marian, too, the others are unknown.
 */
int vocabulary_import(const char *path, size_t size, struct arena *arena, struct vocabulary *out,
                      struct error *err) {
    struct pairs pairs = {.path = path, .arena = arena};
    char *text;
    size_t length, missing = 0;
    if (source_ends(path, ".spm") || source_ends(path, ".model"))
        return read_sentencepiece(path, size, arena, out, err);
    if (source_text(path, MOST_BYTES, arena, &text, &length, err) != 0)
        return -1;
    if (source_ends(path, ".json")) {
        if (read_json(&pairs, text, length, err) != 0)
            return -1;
    } else if (source_ends(path, ".yml") || source_ends(path, ".yaml")) {
        struct mapping mapping;
        struct error inner = {0};
        if (source_mapping_read(text, length, arena, &mapping, &inner) != 0)
            return error_set(err, inner.code, "%s: %s", path, inner.message);
        for (size_t i = 0; i < mapping.count; i++)
            if (add_pair(&pairs, mapping.pairs[i].key,
                         source_mapping_shown(arena, &mapping.pairs[i]), err) != 0)
                return -1;
    } else {
        if (strlen(text) != length)
            return error_set(err, ERROR_FORMAT, "%s: contains a NUL", path);
        if (length > 0 && text[length - 1] == '\n')
            text[--length] = '\0';
        for (char *line = text, *end; line; line = end ? end + 1 : NULL) {
            char id[24];
            snprintf(id, sizeof id, "%zu", pairs.count);
            if ((end = strchr(line, '\n')) != NULL)
                *end = '\0';
            if (add_pair(&pairs, line, id, err) != 0)
                return -1;
        }
    }

    if (pairs.count > 0)
        qsort(pairs.words, pairs.count, sizeof *pairs.words, by_id);
    for (size_t i = 1; i < pairs.count; i++)
        if (pairs.words[i - 1].id == pairs.words[i].id)
            return error_set(err, ERROR_FORMAT, "%s: '%s' has the same id %llu as another word",
                             path, pairs.words[i].text, (unsigned long long)pairs.words[i].id);
    while (missing < size && missing < pairs.count && pairs.words[missing].id == missing)
        missing++;
    if (missing < size)
        return error_set(err, ERROR_FORMAT,
                         "%s: the model has %s words, but the id %zu is missing here", path,
                         source_thousands(arena, size), missing);
    const char **words = arena_alloc(arena, size, sizeof *words);
    bool ended = false;
    if (!words)
        return error_memory(err);
    for (size_t i = 0; i < size; i++) {
        words[i] = pairs.words[i].text;
        ended |= strcmp(words[i], "</s>") == 0;
    }
    if (!ended)
        return error_set(err, ERROR_FORMAT, "%s: </s> is missing", path);
    return vocabulary_of_words(path, words, size, arena, out, err);
}

/* ---- both sides ---- */

/* Adds two files, or one if they are equal. Their names begin with joint, source or target. */
static void add_files(struct tokenizer_files *files, const char *const names[3],
                      const char *const contents[2], const size_t bytes[2]) {
    bool joint = bytes[0] == bytes[1] && memcmp(contents[0], contents[1], bytes[0]) == 0;
    for (size_t side = 0; side < (joint ? 1 : 2); side++, files->count++) {
        files->files[files->count].name = names[joint ? 0 : side + 1];
        files->files[files->count].content = contents[side];
        files->files[files->count].bytes = bytes[side];
    }
}

int conversion_tokenizer_files_of(const struct vocabulary *source, const struct vocabulary *target,
                                  struct tokenizer_files *out, struct error *err) {
    static const char *const pieces[] = {"joint.spm", "source.spm", "target.spm"},
                             *const words[] = {"joint.vocab", "source.vocab", "target.vocab"};
    static const char *const kinds[] = {"words", "sentencepiece"};
    struct tokenizer_files made = {.count = 0};
    if (source->sentencepiece != target->sentencepiece)
        return error_set(
            err, ERROR_FORMAT,
            "the source's vocabulary is %s, the target's %s: a model has one kind of tokens",
            kinds[source->sentencepiece], kinds[target->sentencepiece]);
    add_files(&made, source->sentencepiece ? pieces : words,
              (const char *const[]){source->content, target->content},
              (const size_t[]){source->bytes, target->bytes});
    made.section = json_pack("{s:s, s:s, s:s}", "type", kinds[source->sentencepiece], "source",
                             made.files[0].name, "target", made.files[made.count - 1].name);
    int failed = made.section ? 0 : -1;
    made.one_list = made.count == 1;
    if (source->list && target->list) {
        size_t first = made.count;
        add_files(&made, words, (const char *const[]){source->list, target->list},
                  (const size_t[]){source->list_bytes, target->list_bytes});
        made.one_list = made.count == first + 1;
        failed |= json_object_set_new(made.section, "pieces", json_string(made.files[first].name));
        if (!made.one_list)
            failed |= json_object_set_new(made.section, "target_pieces",
                                          json_string(made.files[first + 1].name));
    }
    if (failed) {
        json_decref(made.section);
        return error_memory(err);
    }
    *out = made;
    return 0;
}

/* ---- ids ---- */

static int by_piece(const void *a, const void *b) {
    const struct id *one = a, *other = b;
    size_t shorter = one->length < other->length ? one->length : other->length;
    int order = memcmp(one->piece, other->piece, shorter);
    if (order)
        return order;
    if (one->length != other->length)
        return one->length < other->length ? -1 : 1;
    return one->id < other->id ? -1 : one->id > other->id;
}

static int add_id(void *context, int id, const char *piece, size_t length) {
    struct ids *ids = context;
    ids->sorted[ids->size++] = (struct id){piece, length, (uint32_t)id};
    return 0;
}

int conversion_ids_of(const struct vocabulary *vocabulary, struct arena *arena, struct ids *out,
                      struct error *err) {
    struct ids made = {.sorted = arena_alloc(arena, vocabulary->size, sizeof *made.sorted)};
    if (!made.sorted)
        return error_memory(err);
    const char *content = vocabulary->content;
    const char *list = vocabulary->list            ? vocabulary->list
                       : vocabulary->sentencepiece ? NULL
                                                   : content;
    if (!list && sentencepiece_each("", content, vocabulary->bytes, add_id, &made, err) != 0)
        return -1;
    for (size_t length; list && *list; list += length + 1, made.size++) {
        length = strcspn(list, "\n");
        made.sorted[made.size] = (struct id){list, length, (uint32_t)made.size};
    }
    qsort(made.sorted, made.size, sizeof *made.sorted, by_piece);
    *out = made;
    return 0;
}

bool conversion_ids_find(const struct ids *ids, const char *piece, size_t length, uint32_t *id) {
    const struct id wanted = {piece, length, UINT32_MAX};
    size_t low = 0, high = ids->size; /* finally, the last id of this piece is before `low` */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_piece(&ids->sorted[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || ids->sorted[low - 1].length != length ||
        memcmp(ids->sorted[low - 1].piece, piece, length) != 0)
        return false;
    *id = ids->sorted[low - 1].id;
    return true;
}

/* ---- the tokens of a model ---- */

static int by_spelling(const void *a, const void *b) {
    const char *const *one = *(const char *const *const *)a, *const *other =
                                                                 *(const char *const *const *)b;
    int order = strcmp(*one, *other);
    return order ? order : one < other ? -1 : one > other;
}

int conversion_tokens_respell(struct tokens *tokens, struct arena *arena, struct error *err) {
    const char ***order = arena_alloc(arena, tokens->count, sizeof *order);
    if (!order)
        return error_memory(err);
    for (size_t i = 0; i < tokens->count; i++)
        order[i] = &tokens->list[i];
    if (tokens->count > 0)
        qsort(order, tokens->count, sizeof *order, by_spelling);
    for (size_t i = 1, first = 0; i < tokens->count; i++) {
        if (strcmp(*order[i], *order[first]) == 0)
            *order[i] = "";
        else
            first = i;
    }
    for (size_t i = 0; i < tokens->count; i++)
        if (!*tokens->list[i] || strpbrk(tokens->list[i], "\t\n\v\f\r "))
            tokens->list[i] = source_say(arena, "<token:%zu>", i);
    return arena_failed(arena) ? error_memory(err) : 0;
}

int conversion_tokens_check_pieces(const struct tokens *tokens, const char *path,
                                   struct arena *arena, struct error *err) {
    struct vocabulary file;
    struct ids pieces;
    size_t known = 0;
    uint32_t id;
    if (vocabulary_import(path, 0, arena, &file, err) != 0 ||
        conversion_ids_of(&file, arena, &pieces, err) != 0)
        return -1;
    for (size_t i = 0; i < tokens->count; i++)
        known += conversion_ids_find(&pieces, tokens->list[i], strlen(tokens->list[i]), &id);
    if (2 * known >= tokens->count || 2 * known >= file.size)
        return 0;
    return error_set(err, ERROR_FORMAT,
                     "%s: is not of this model: %zu of its %zu pieces are tokens of %s", path,
                     known, file.size, tokens->path);
}

/* ---- languages ---- */

enum { LEAST_LANGUAGES = 3 };

/* Codes of three letters, and the codes of two letters that are usual for these languages (CLDR's
 * aliases). */
static const char *const wide[][2] = {{"als", "sq"}, {"arb", "ar"}, {"ayr", "ay"}, {"azj", "az"},
                                      {"ekk", "et"}, {"gaz", "om"}, {"khk", "mn"}, {"kmr", "ku"},
                                      {"knc", "kr"}, {"lvs", "lv"}, {"npi", "ne"}, {"ory", "or"},
                                      {"pbt", "ps"}, {"pes", "fa"}, {"plt", "mg"}, {"quy", "qu"},
                                      {"swh", "sw"}, {"uzn", "uz"}, {"ydd", "yi"}, {"zsm", "ms"}};

static const char small[] = "abcdefghijklmnopqrstuvwxyz", capital[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* A token such as fra_Latn, __fr__, fr_XX or [fr_XX]. */
struct language_token {
    const char *language;
    size_t letters;     /* of the language */
    const char *script; /* "" if the token has none */
    bool region;
};

/* Returns true if the token has one of these forms. */
static bool is_language(const char *token, struct language_token *out) {
    bool framed = source_begins(token, "__"), boxed = *token == '[';
    *out = (struct language_token){.language = token + (framed ? 2 : boxed ? 1 : 0), .script = ""};
    out->letters = strspn(out->language, small);
    const char *rest = out->language + out->letters;
    if (out->letters < 2 || out->letters > 3)
        return false;
    if (framed)
        return strcmp(rest, "__") == 0;
    out->region = out->letters == 2;
    if (out->region)
        return rest[0] == '_' && strspn(rest + 1, capital) == 2 &&
               strcmp(rest + 3, boxed ? "]" : "") == 0;
    out->script = rest + 1;
    return !boxed && strlen(rest) == 5 && rest[0] == '_' && strspn(rest + 1, capital) == 1 &&
           strspn(rest + 2, small) == 3;
}

/* Returns whether tokens of a language and a region, such as fr_XX, stand for languages: mBART's
 * do, and English is always one of them. Elsewhere they may be text. */
static bool names_regions(const struct tokens *tokens) {
    bool found = false;
    for (size_t i = 0; i < tokens->count && !found; i++)
        found = strcmp(tokens->list[i], "en_XX") == 0 || strcmp(tokens->list[i], "[en_XX]") == 0;
    return found;
}

/* Adds the language that the token stands for, if both sides have it. other: the other side's
 * tokens; NULL: they are the same. regions: tokens with a region stand for languages. */
static int add_language(json_t *section, const char *token, const struct tokens *other,
                        bool regions, struct arena *arena, struct error *err) {
    char language[ULOC_LANG_CAPACITY], given[ULOC_FULLNAME_CAPACITY],
        likely[ULOC_FULLNAME_CAPACITY], script[ULOC_SCRIPT_CAPACITY];
    UErrorCode status = U_ZERO_ERROR;
    struct language_token named;
    const char *code;
    bool both = !other;
    if (!is_language(token, &named) || (named.region && !regions))
        return 0;
    for (size_t i = 0; !both && i < other->count; i++)
        both = strcmp(other->list[i], token) == 0;
    if (!both)
        return 0;

    /* If the token names a script, the BCP-47 code has it unless it is the language's usual one,
     * and always for Chinese. */
    snprintf(given, sizeof given, "%.*s", (int)named.letters, named.language);
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (strcmp(given, wide[i][0]) == 0)
            snprintf(given, sizeof given, "%s", wide[i][1]);
    uloc_getLanguage(given, language, sizeof language, &status);
    if (U_FAILURE(status) || !*language) {
        code = source_say(arena, "%.*s", (int)named.letters, named.language);
    } else {
        uloc_addLikelySubtags(language, likely, sizeof likely, &status);
        uloc_getScript(likely, script, sizeof script, &status);
        bool usual = !*named.script || (U_SUCCESS(status) && strcmp(script, named.script) == 0 &&
                                        strcmp(language, "zh") != 0);
        code = source_say(arena, "%s%s%s", language, usual ? "" : "-", usual ? "" : named.script);
    }
    if (code &&
        json_object_get(section, code)) /* the code is taken: the token's own name is used */
        code = source_say(arena, "%.*s%s%s", (int)named.letters, named.language,
                          *named.script ? "-" : "", named.script);
    if (!code)
        return error_memory(err);
    if (json_object_get(section, code))
        return 0;
    json_t *made =
        json_pack("{s:s, s:s, s:[s]}", "source", token, "target", token, "aliases", token);
    return json_object_set_new(section, code, made) == 0 ? 0 : error_memory(err);
}

int conversion_tokens_languages(const struct tokens *source, const struct tokens *target,
                                struct arena *arena, json_t **out, struct error *err) {
    *out = NULL;
    json_t *section = json_object();
    int result = section ? 0 : error_memory(err);
    bool regions = names_regions(source);
    for (size_t i = 0; result == 0 && i < source->count; i++)
        result = add_language(section, source->list[i],
                              source->list == target->list ? NULL : target, regions, arena, err);
    if (result == 0 && json_object_size(section) >= LEAST_LANGUAGES)
        *out = json_incref(section);
    json_decref(section);
    return result;
}

/* ---- lists by script ---- */

/* Pieces of plain letters that are on every list: those with the first ids, which are the most
 * frequent, and short ones. */
enum { PLAIN_FIRST = 32768, PLAIN_SHORT = 3 };

/* Names that stand for several scripts; the last script may be listed twice. */
static const struct {
    const char *name;
    UScriptCode scripts[3];
} together[] = {{"Jpan", {USCRIPT_HIRAGANA, USCRIPT_KATAKANA, USCRIPT_HAN}},
                {"Kore", {USCRIPT_HANGUL, USCRIPT_HAN, USCRIPT_HAN}},
                {"Hang", {USCRIPT_HANGUL, USCRIPT_HAN, USCRIPT_HAN}},
                {"Hans", {USCRIPT_HAN, USCRIPT_BOPOMOFO, USCRIPT_HAN}},
                {"Hant", {USCRIPT_HAN, USCRIPT_BOPOMOFO, USCRIPT_HAN}}};

/* Languages that tokens name without a script, and that are written in several scripts. */
static const char *const several[] = {"az", "bs", "ff", "ha", "kk", "ku", "ky", "mn", "ms",
                                      "pa", "sd", "sr", "su", "tg", "tt", "ug", "uz"};

/* Finds the name of the script of a language: four letters in name [5]. Returns false if the token
 * is not a language's, or the script is unknown or one of several. */
static bool script_of(const char *token, char name[5]) {
    char likely[ULOC_FULLNAME_CAPACITY], script[ULOC_SCRIPT_CAPACITY], language[8];
    struct language_token named;
    UErrorCode status = U_ZERO_ERROR;
    if (!is_language(token, &named))
        return false;
    if (*named.script) {
        memcpy(name, named.script, 5); /* four letters and the NUL, as is_language has checked */
        return true;
    }
    snprintf(language, sizeof language, "%.*s", (int)named.letters, named.language);
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

/* Makes the list of a script. Returns NULL if memory runs out or the script is unknown. */
static int32_t *list_of(const char *script, const struct tokens *target, struct arena *arena,
                        size_t *count) {
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
        size_t size = strlen(piece), length = 0;
        struct language_token named;
        bool all = true, plain = true; /* all: each character has one of these scripts, or none;
                                          plain: all letters are ASCII */
        for (size_t next = 0; next < size; length++) {
            int32_t character = character_next(piece, size, &next);
            UErrorCode status = U_ZERO_ERROR;
            UScriptCode own =
                character < 0 ? USCRIPT_UNKNOWN : uscript_getScript(character, &status);
            bool fits = own == USCRIPT_COMMON || own == USCRIPT_INHERITED || own == USCRIPT_UNKNOWN;
            plain = plain && (character < 0x80 || fits);
            for (size_t i = 0; !fits && i < known; i++)
                fits = own == scripts[i] || uscript_hasScript(character, scripts[i]);
            all = all && fits;
        }
        if ((all || (plain && (id < PLAIN_FIRST || length <= PLAIN_SHORT))) &&
            !is_language(piece, &named))
            ids[(*count)++] = (int32_t)id;
    }
    return ids;
}

int conversion_tokens_lists(const struct tokens *target, json_t *languages, struct arena *arena,
                            struct ready **lists, size_t *count, struct error *err) {
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
        const char *name = source_say(arena, "list.%s", script);
        size_t i = 1;
        while (name && i < used && strcmp(made[i].name, name) != 0)
            i++;
        if (name && i == used) {
            size_t ids = 0;
            const int32_t *numbers = list_of(script, target, arena, &ids);
            if (numbers)
                made[used++] = (struct ready){name, true, ids, numbers};
        }
        if (arena_failed(arena) ||
            (i < used && json_object_set_new(language, "list", json_string(script)) != 0))
            return error_memory(err);
    }
    *lists = made;
    *count = used;
    return 0;
}
