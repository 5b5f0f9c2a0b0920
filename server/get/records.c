/* This module hides the format of Mozilla's list of models: which records apply to a server, and
 * which model a pair gets. */
#include "server/get/get_parts.h"
#include <fnmatch.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    MOST_RECORDS = 20000,
    MOST_NAME = 128,
    MOST_LOCATION = 512,
    MOST_FILTER = 512,
    MOST_CODE = 24,
    MOST_DEPTH = 16,
    MAJOR = 3, /* the format that Firefox reads today */
    VERSION_NUMBERS = 3
};
static const uint64_t MOST_FILE_BYTES = UINT64_C(4) << 30;

const struct records_view records_released = {"Linux", "release", false};
const struct records_view records_preview = {"Linux", "nightly", true};

/* ---- filter expressions ---- */

struct filter {
    const char *at;
    const struct records_view *view;
    int depth;
    bool wrong;
};

static bool terms(struct filter *filter, bool any);

static void skip_blanks(struct filter *filter) {
    filter->at += strspn(filter->at, " \t\r\n");
}

static bool take(struct filter *filter, const char *token) {
    skip_blanks(filter);
    size_t length = strlen(token);
    if (strncmp(filter->at, token, length) != 0)
        return false;
    filter->at += length;
    return true;
}

/* Reads a string in quotation marks, or a variable whose value is a string. */
static bool take_value(struct filter *filter, const char **text, size_t *length) {
    static const char system[] = "env.appinfo.OS", channel[] = "env.channel";
    skip_blanks(filter);
    char quote = *filter->at;
    if (quote == '\'' || quote == '"') {
        const char *end = strchr(filter->at + 1, quote);
        if (!end || memchr(filter->at, '\\', (size_t)(end - filter->at)))
            return false;
        *text = filter->at + 1;
        *length = (size_t)(end - *text);
        filter->at = end + 1;
        return true;
    }
    size_t name =
        strspn(filter->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._");
    if (name == strlen(system) && memcmp(filter->at, system, name) == 0)
        *text = filter->view->system;
    else if (name == strlen(channel) && memcmp(filter->at, channel, name) == 0)
        *text = filter->view->channel;
    else
        return false;
    *length = strlen(*text);
    filter->at += name;
    return true;
}

static bool comparison(struct filter *filter) {
    const char *left, *right;
    size_t left_length, right_length;
    bool equal = false;
    if (!take_value(filter, &left, &left_length) ||
        !((equal = take(filter, "==")) || take(filter, "!=")) ||
        !take_value(filter, &right, &right_length)) {
        filter->wrong = true;
        return false;
    }
    return (left_length == right_length && memcmp(left, right, left_length) == 0) == equal;
}

static bool unary(struct filter *filter) {
    if (++filter->depth > MOST_DEPTH)
        filter->wrong = true;
    bool value = false;
    skip_blanks(filter);
    if (filter->wrong) {
        value = false;
    } else if (*filter->at == '!' && filter->at[1] != '=') {
        filter->at++;
        value = !unary(filter);
    } else if (take(filter, "(")) {
        value = terms(filter, true);
        filter->wrong |= !take(filter, ")");
    } else if (take(filter, "true")) {
        value = true;
    } else if (!take(filter, "false")) {
        value = comparison(filter);
    }
    filter->depth--;
    return value;
}

/* Reads terms separated by || (any) or &&; each term of || consists of terms separated by &&. */
static bool terms(struct filter *filter, bool any) {
    bool value = any ? terms(filter, false) : unary(filter);
    while (!filter->wrong && take(filter, any ? "||" : "&&")) {
        bool other = any ? terms(filter, false) : unary(filter);
        value = any ? value || other : value && other;
    }
    return value;
}

int records_filter(const char *expression, const struct records_view *view, bool *applies,
                   struct error *err) {
    struct filter filter = {.at = expression, .view = view};
    skip_blanks(&filter);
    bool value = *filter.at == '\0' || terms(&filter, true);
    skip_blanks(&filter);
    if (filter.wrong || *filter.at)
        return error_set(err, ERROR_FORMAT, "the filter expression \"%.80s\" is not supported",
                         expression);
    *applies = value;
    return 0;
}

/* ---- versions ---- */

struct version {
    unsigned long numbers[VERSION_NUMBERS];
    int stage; /* 0 alpha, 1 beta, 2 released */
    unsigned long stage_number;
};

/* Reads a number of at most six digits. */
static bool take_number(const char **at, unsigned long *number) {
    size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > 6)
        return false;
    *number = strtoul(*at, NULL, 10);
    *at += digits;
    return true;
}

static bool read_version(const char *text, struct version *version) {
    *version = (struct version){.stage = 2};
    for (int i = 0; i < VERSION_NUMBERS; i++) {
        if (!take_number(&text, &version->numbers[i]))
            return false;
        if (*text != '.')
            break;
        text++;
    }
    if (*text == 'a' || *text == 'b') {
        version->stage = *text++ == 'a' ? 0 : 1;
        if (*text && !take_number(&text, &version->stage_number))
            return false;
    }
    return *text == '\0';
}

static int order_of(unsigned long a, unsigned long b) {
    return (a > b) - (a < b);
}

static int compare_versions(const struct version *a, const struct version *b) {
    for (int i = 0; i < VERSION_NUMBERS; i++)
        if (a->numbers[i] != b->numbers[i])
            return order_of(a->numbers[i], b->numbers[i]);
    return a->stage != b->stage ? a->stage - b->stage : order_of(a->stage_number, b->stage_number);
}

bool records_versions(const char *a, const char *b, int *order) {
    struct version left, right;
    if (!read_version(a, &left) || !read_version(b, &right))
        return false;
    *order = compare_versions(&left, &right);
    return true;
}

/* ---- one record ---- */

static const char *const kind_names[RECORD_KINDS] = {"model",    "lex",      "vocab",
                                                     "srcvocab", "trgvocab", "qualityModel"};

struct record {
    const char *source, *target, *architecture, *version, *filter;
    struct version parsed;
    enum record_kind kind;
    struct record_file file;
    json_int_t modified;
};

/* Copies a string field of at most `most` bytes, which may be "" only if `empty` is set. Returns
 * NULL if it is invalid. */
static const char *take_string(const json_t *object, const char *key, size_t most, bool empty,
                               struct arena *arena) {
    const json_t *value = json_object_get(object, key);
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);
    if (!text || length > most || (length == 0 && !empty) || strlen(text) != length)
        return NULL;
    return arena_copy(arena, text, length);
}

bool records_is_listed(const char *list, const char *word, int flags) {
    char glob[64];
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
        at += strspn(at, " ");
        size_t length = strcspn(at, ", ");
        snprintf(glob, sizeof glob, "%.*s", (int)length, at);
        if (length > 0 && length < sizeof glob && fnmatch(glob, word, flags) == 0)
            return true;
    }
    return false;
}

bool records_is_made_of(const char *text, const char *also) {
    for (; *text; text++) {
        bool word = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                    (*text >= '0' && *text <= '9');
        if (!word && !strchr(also, *text))
            return false;
    }
    return true;
}

/* True for a relative path below the folder of attachments. */
static bool is_location(const char *location) {
    if (!location || *location == '/' || !records_is_made_of(location, "._-/"))
        return false;
    for (const char *part = location; part; part = strchr(part, '/'), part = part ? part + 1 : NULL)
        if (*part == '.' || *part == '/' || *part == '\0')
            return false;
    return true;
}

bool records_is_sha256(const char *text) {
    return text && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static bool take_bytes(const json_t *object, const char *key, uint64_t *bytes) {
    const json_t *value = json_object_get(object, key);
    json_int_t number = json_integer_value(value);
    *bytes = (uint64_t)number;
    return json_is_integer(value) && number > 0 && (uint64_t)number <= MOST_FILE_BYTES;
}

static bool is_code(const char *code) {
    return code && *code != '-' && records_is_made_of(code, "-");
}

/* Returns NULL if the record is valid, or else the reason why not. */
static const char *read_record(const json_t *json, struct arena *arena, struct record *record) {
    const char *kind = json_string_value(json_object_get(json, "fileType"));
    record->kind = RECORD_KINDS;
    for (int i = 0; kind && i < RECORD_KINDS; i++)
        if (strcmp(kind, kind_names[i]) == 0)
            record->kind = (enum record_kind)i;
    if (record->kind == RECORD_KINDS)
        return "fileType must be model, lex, vocab, srcvocab, trgvocab or qualityModel";
    if (!is_code(record->source = take_string(json, "sourceLanguage", MOST_CODE, false, arena)) ||
        !is_code(record->target = take_string(json, "targetLanguage", MOST_CODE, false, arena)))
        return "sourceLanguage and targetLanguage must be language codes";
    record->architecture = take_string(json, "architecture", MOST_NAME, false, arena);
    if (!record->architecture || !records_is_made_of(record->architecture, "._-"))
        return "architecture must be a word";
    record->version = take_string(json, "version", MOST_CODE, false, arena);
    if (!record->version || !read_version(record->version, &record->parsed))
        return "version must be like 3.0 or 3.0a1";
    const json_t *filter = json_object_get(json, "filter_expression");
    record->filter = filter ? take_string(json, "filter_expression", MOST_FILTER, true, arena) : "";
    if (!record->filter)
        return "filter_expression must be a string";
    record->modified = json_integer_value(json_object_get(json, "last_modified"));

    const json_t *attachment = json_object_get(json, "attachment");
    struct record_file *file = &record->file;
    const char *name = file->name = take_string(json, "name", MOST_NAME, false, arena);
    if (!name || *name == '.' || *name == '-' ||
        !records_is_made_of(name, "._-")) /* the name must have no folder and not be hidden */
        return "name must be a file's name";
    if (!is_location(file->location =
                         take_string(attachment, "location", MOST_LOCATION, false, arena)))
        return "attachment.location must be a relative path";
    if (!records_is_sha256(file->sha256 = take_string(attachment, "hash", 64, false, arena)))
        return "attachment.hash must be a SHA-256 in digits";
    if (!take_bytes(attachment, "size", &file->bytes))
        return "attachment.size must be between 1 and 4 GiB";

    const char *filename = take_string(attachment, "filename", MOST_NAME, false, arena);
    size_t length = filename ? strlen(filename) : 0;
    file->packed = length > 4 && strcmp(filename + length - 4, ".zst") == 0;
    if (!file->packed) {
        file->unpacked_sha256 = file->sha256;
        file->unpacked_bytes = file->bytes;
        return NULL;
    }
    if (!records_is_sha256(file->unpacked_sha256 =
                               take_string(json, "decompressedHash", 64, false, arena)))
        return "decompressedHash must be a SHA-256 in digits";
    return take_bytes(json, "decompressedSize", &file->unpacked_bytes)
               ? NULL
               : "decompressedSize must be between 1 and 4 GiB";
}

/* ---- the list ---- */

static int compare_groups(const struct record *a, const struct record *b) {
    int order = strcmp(a->source, b->source);
    order = order != 0 ? order : strcmp(a->target, b->target);
    order = order != 0 ? order : -compare_versions(&a->parsed, &b->parsed);
    order = order != 0 ? order : strcmp(a->architecture, b->architecture);
    return order != 0 ? order : strcmp(a->filter, b->filter);
}

/* Orders records by model, then by file, and then the newer one first. */
static int compare_records(const void *left, const void *right) {
    const struct record *a = left, *b = right;
    int order = compare_groups(a, b);
    order = order != 0 ? order : (int)a->kind - (int)b->kind;
    order = order != 0 ? order : (a->modified < b->modified) - (a->modified > b->modified);
    return order != 0 ? order : strcmp(a->file.sha256, b->file.sha256);
}

/* Makes a model of the records [count]. Returns false if files are missing or two have the same
 * name. */
static bool make_model(const struct record *records, size_t count, struct record_model *model) {
    *model = (struct record_model){
        records->source, records->target, records->architecture, records->version, {{0}}, 0, 0};
    for (size_t i = 0; i < count; i++) {
        struct record_file *file = &model->files[records[i].kind];
        if (file->name)
            continue;
        *file = records[i].file;
        model->bytes += file->bytes;
        model->unpacked_bytes += file->unpacked_bytes;
    }
    for (int i = 0; i < RECORD_KINDS;
         i++) /* one of two files with the same name would overwrite the other */
        for (int j = 0; j < i; j++)
            if (model->files[i].name && model->files[j].name &&
                strcmp(model->files[i].name, model->files[j].name) == 0)
                return false;
    const struct record_file *files = model->files;
    bool vocabularies =
        files[RECORD_VOCAB].name || (files[RECORD_SRCVOCAB].name && files[RECORD_TRGVOCAB].name);
    return files[RECORD_MODEL].name && files[RECORD_LEX].name && vocabularies;
}

/* Makes a model for each pair in the records [count]. */
static int choose(struct record *records, size_t count, struct arena *arena, struct records *out,
                  struct error *err) {
    size_t room = 0;
    if (count > 0)
        qsort(records, count, sizeof *records, compare_records);
    for (size_t first = 0, last; first < count; first = last) {
        struct record_model model;
        for (last = first + 1;
             last < count && compare_groups(&records[first], &records[last]) == 0;)
            last++;
        if (!make_model(&records[first], last - first, &model))
            continue;
        struct record_model *before = out->count > 0 ? &out->models[out->count - 1] : NULL;
        bool same = before && strcmp(before->source, model.source) == 0 &&
                    strcmp(before->target, model.target) == 0;
        int order = 0;
        if (same && records_versions(model.version, before->version, &order) && order == 0 &&
            model.unpacked_bytes > before->unpacked_bytes)
            *before = model;
        if (same)
            continue;
        struct record_model *models =
            arena_grow(arena, out->models, out->count, &room, 1, sizeof *models);
        if (!models)
            return error_memory(err);
        out->models = models;
        out->models[out->count++] = model;
    }
    return 0;
}

int records_read(const char *text, size_t length, const struct records_view *view,
                 struct arena *arena, struct records *out, struct error *err) {
    json_error_t wrong;
    struct records found = {0};
    if (length > RECORDS_MOST_BYTES)
        return error_set(err, ERROR_FORMAT,
                         "the list of models has %zu bytes, more than the allowed %d", length,
                         RECORDS_MOST_BYTES);
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &wrong);
    const json_t *data = json_object_get(root, "data");
    int result = -1;
    struct record *records = NULL;
    size_t count = 0;
    if (!root && json_error_code(&wrong) == json_error_out_of_memory)
        error_memory(err);
    else if (!root)
        error_set(err, ERROR_FORMAT, "the list of models is not JSON: line %d: %s", wrong.line,
                  wrong.text);
    else if (!json_is_array(data))
        error_set(err, ERROR_FORMAT, "the list of models must be an object with an array \"data\"");
    else if (json_array_size(data) > MOST_RECORDS)
        error_set(err, ERROR_FORMAT, "the list of models has %zu records, more than the allowed %d",
                  json_array_size(data), MOST_RECORDS);
    else if (!(records = arena_alloc(arena, json_array_size(data) + 1, sizeof *records)))
        error_memory(err);
    else
        result = 0;
    for (size_t i = 0; result == 0 && i < json_array_size(data); i++) {
        struct record *record = &records[count];
        struct error inner = {0};
        bool applies = false;
        const char *why = read_record(json_array_get(data, i), arena, record);
        if (!why && records_filter(record->filter, view, &applies, &inner) != 0)
            why = inner.message;
        if (why && found.left_out++ == 0) {
            char first[256];
            snprintf(first, sizeof first, "record %zu: %.200s", i, why);
            const char *copy = arena_copy(arena, first, strlen(first));
            found.reason = copy ? copy : "";
        }
        if (!why)
            count += applies && record->parsed.numbers[0] == MAJOR &&
                     (view->preview || record->parsed.stage == 2);
        if (arena_failed(arena))
            result = error_memory(err);
    }
    json_decref(root);
    if (result == 0)
        result = choose(records, count, arena, &found, err);
    if (result == 0)
        *out = found;
    return result;
}

/* ---- pairs ---- */

bool records_codes_match(const char *a, size_t length, const char *b, bool loose) {
    size_t other = strlen(b), shared = length < other ? length : other;
    if (strncasecmp(a, b, shared) != 0)
        return false;
    if (length == other)
        return true;
    const char *longer = length > other ? a : b;
    return loose && shared >= 2 && longer[shared] == '-';
}

/* Whether one code is that of a macrolanguage (ISO 639-3) to which the other's language belongs. */
static bool codes_contain(const char *a, size_t length, const char *b) {
    static const char *const rows[][2] = {
        {"nb", "no"}, {"nn", "no"}, {"bs", "hbs"}, {"hr", "hbs"}, {"sr", "hbs"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 2; k++)
            if (strcasecmp(b, rows[i][k]) == 0 && records_codes_match(a, length, rows[i][!k], true))
                return true;
    return false;
}

static bool codes_fit(const char *a, size_t length, const char *b, int looseness) {
    return records_codes_match(a, length, b, looseness > 0) ||
           (looseness > 1 && codes_contain(a, length, b));
}

const struct record_model *records_find(const struct records *records, const char *pair) {
    for (int looseness = 0; looseness < 3; looseness++)
        for (const char *dash = strchr(pair, '-'); dash; dash = strchr(dash + 1, '-'))
            for (size_t i = 0; i < records->count; i++) {
                const struct record_model *model = &records->models[i];
                if (codes_fit(pair, (size_t)(dash - pair), model->source, looseness) &&
                    codes_fit(dash + 1, strlen(dash + 1), model->target, looseness))
                    return model;
            }
    return NULL;
}
