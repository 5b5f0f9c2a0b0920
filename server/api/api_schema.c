/* The shapes of requests and replies, for /openapi.json. */
#include "server/api/api_json.h"
#include <string.h>

/* One property of an object. */
struct property {
    const char *object, *name; /* object NULL: that of the row before */
    const char *type;          /* as of api_schema */
    const char *text;          /* NULL: the name says it */
    bool optional;
};

/* `optional` ones of a Sentence: as `include` and the search ask for. */
static const struct property properties[] = {
    {"Error", "error", "string", "what is wrong", false},
    {NULL, "code", "string", "the kind of error", false},
    {NULL, "field", "string", "the field to blame", true},

    {"Translations", "model", "string", NULL, false},
    {NULL, "source", "string", "language code", false},
    {NULL, "target", "string", "language code", false},
    {NULL, "seed", "integer", "strategy sample: the seed used", true},
    {NULL, "translations", "[Answer]", "one for each text", false},

    {"Attentions", "model", "string", NULL, false},
    {NULL, "source", "string", "language code", false},
    {NULL, "target", "string", "language code", false},
    {NULL, "seed", "integer", "strategy sample: the seed used", true},
    {NULL, "results", "[Answer]", "one for each text", false},

    {"Answer", "text", "string", "with the white space between the sentences", false},
    {NULL, "sentences", "[Sentence]", NULL, false},

    {"Sentence", "source_text", "string", NULL, false},
    {NULL, "text", "string", NULL, false},
    {NULL, "source_tokens", "[string]", "m", true},
    {NULL, "tokens", "[string]", "n", true},
    {NULL, "score", "number", "what hypotheses are ordered by", false},
    {NULL, "log_prob", "number", NULL, false},
    {NULL, "finish_reason", "=eos,length,budget", NULL, false},
    {NULL, "optimal", "boolean", "strategy exact: proven to be the best", true},
    {NULL, "log_probs", "[number]", "of each target token", true},
    {NULL, "attention", "[[number]]", "[n][m]: each row sums to 1", true},
    {NULL, "alignment", "[[integer]]", "pairs of source and target token", true},
    {NULL, "words", "Words", NULL, true},
    {NULL, "offsets", "Offsets", NULL, true},
    {NULL, "entropy", "[number]", "of each step, nats", true},
    {NULL, "top_k", "[[Alternative]]", "the five best tokens of each step", true},
    {NULL, "timing", "Timing", NULL, true},
    {NULL, "beam", "[Branch]", "the search tree", true},
    {NULL, "hypotheses", "[Sentence]", "n_best > 1: all, best first", true},

    {"Words", "source", "[string]", NULL, false},
    {NULL, "target", "[string]", NULL, false},
    {NULL, "attention", "[[number]]", NULL, false},
    {NULL, "alignment", "[[integer]]", NULL, false},

    {"Place", "start", "integer", "UTF-8 bytes", false},
    {NULL, "end", "integer", "exclusive", false},
    {NULL, "start_utf16", "integer", "UTF-16 units", false},
    {NULL, "end_utf16", "integer", "exclusive", false},

    {"Offsets", "source", "[Place]", "of each token in source_text", false},
    {NULL, "target", "[Place]", "of each token in text", false},
    {NULL, "span", "Span", "of the sentence in the whole input and output", true},
    {"Span", "source", "Place", NULL, false},
    {NULL, "target", "Place", NULL, false},

    {"Alternative", "token", "string", NULL, false},
    {NULL, "log_prob", "number", NULL, false},

    {"Branch", "id", "integer", NULL, false},
    {NULL, "parent", "integer?", "null: the start", false},
    {NULL, "step", "integer", NULL, false},
    {NULL, "token", "string", NULL, false},
    {NULL, "log_prob", "number", NULL, false},
    {NULL, "score", "number", NULL, false},
    {NULL, "state", "=kept,pruned,finished", NULL, false},

    {"Timing", "queue_ms", "number", NULL, false},
    {NULL, "decode_ms", "number", NULL, false},
    {NULL, "steps", "integer", NULL, false},

    {"TokenEvent", "text_index", "integer", NULL, false},
    {NULL, "sentence", "integer", "index within the text", false},
    {NULL, "token", "string", NULL, false},
    {NULL, "text", "string", "what it adds to the sentence's text", false},
    {NULL, "log_prob", "number", NULL, false},

    {"ForcedStep", "step", "integer", "0: the first", false},
    {NULL, "weights", "[number]", "one for each source token", false},

    {"Models", "models", "[Model]", NULL, false},
    {NULL, "generation", "integer", "of this set of models: 1, and one more with each reload", false},
    {NULL, "reload", "=none,running,done,failed", "what became of the last one", false},
    {"Model", "name", "string", NULL, false},
    {NULL, "source", "string", "language code", false},
    {NULL, "target", "string", "language code", false},
    {NULL, "task", "string", NULL, false},
    {NULL, "architecture", "string", NULL, false},
    {NULL, "parameters", "integer", NULL, false},
    {NULL, "compute", "string", NULL, false},
    {NULL, "storage", "string", NULL, false},
    {NULL, "vocabulary", "Vocabulary", NULL, false},
    {NULL, "limits", "Limits", NULL, false},
    {"Vocabulary", "source", "integer", NULL, false},
    {NULL, "target", "integer", NULL, false},
    {"Limits", "max_source_tokens", "integer", NULL, false},
    {NULL, "max_target_ratio", "number", NULL, false},
    {NULL, "max_target_tokens", "integer", NULL, false},

    {"Reloaded", "status", "=reloaded", NULL, false},
    {NULL, "generation", "integer", "of the new set", false},

    {"Status", "status", "string", NULL, false},

    {"LibreRequest", "q", "Texts", "what to translate", false},
    {NULL, "source", "string", "language code, or auto", false},
    {NULL, "target", "string", "language code", false},
    {NULL, "format", "=text,html", NULL, true},
    {NULL, "alternatives", "integer", "further translations", true},
    {NULL, "api_key", "string?", NULL, true},

    {"LibreTranslation", "translatedText", "string|[string]", "an array if q is one", false},
    {NULL, "alternatives", "[string]|[[string]]", "if asked for", true},
    {NULL, "detectedLanguage", "Detected|[Detected]", "if source is auto", true},

    {"LibreDetect", "q", "Texts", NULL, false},
    {NULL, "api_key", "string?", NULL, true},
    {"Detected", "confidence", "number", "0 to 100", false},
    {NULL, "language", "string", NULL, false},

    {"Language", "code", "string", NULL, false},
    {NULL, "name", "string", NULL, false},
    {NULL, "targets", "[string]", NULL, false},

    {"Settings", "charLimit", "integer", NULL, false},
    {NULL, "frontendTimeout", "integer", NULL, false},
    {NULL, "apiKeys", "boolean", NULL, false},
    {NULL, "keyRequired", "boolean", NULL, false},
    {NULL, "suggestions", "boolean", NULL, false},
    {NULL, "filesTranslation", "boolean", NULL, false},
    {NULL, "supportedFilesFormat", "[string]", NULL, false},
    {NULL, "language", "object", NULL, false},
};

/* ---- the notation ---- */

static json_t *schema(const char *type, size_t length);

/* The parts between these characters. */
static json_t *list(const char *text, size_t length, char separator, json_t *(*make)(const char *part, size_t part_length)) {
    json_t *array = json_array();
    for (const char *end = text + length; text < end;) {
        const char *next = memchr(text, separator, (size_t)(end - text));
        size_t part = (size_t)((next ? next : end) - text);
        json_array_append_new(array, make(text, part));
        text += part + 1;
    }
    return array;
}

static json_t *name(const char *type, size_t length) {
    static const char *const plain[] = {"string", "integer", "number", "boolean", "object"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (strlen(plain[i]) == length && memcmp(plain[i], type, length) == 0)
            return json_pack("{s:s}", "type", plain[i]);
    }
    return json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%.*s", (int)length, type));
}

static json_t *string(const char *text, size_t length) {
    return json_stringn(text, length);
}

static json_t *schema(const char *type, size_t length) {
    if (type[0] == '=')
        return json_pack("{s:s, s:o}", "type", "string", "enum", list(type + 1, length - 1, ',', string));
    if (memchr(type, '|', length))
        return json_pack("{s:o}", "oneOf", list(type, length, '|', schema));
    if (type[0] == '[')
        return json_pack("{s:s, s:o}", "type", "array", "items", schema(type + 1, length - 2));
    if (type[length - 1] == '?')
        return json_pack("{s:s%, s:b}", "type", type, length - 1, "nullable", 1);
    return name(type, length);
}

json_t *api_schema(const char *type) {
    return schema(type, strlen(type));
}

/* ---- the components ---- */

/* A reference can have nothing beside it: it goes into an allOf. So does a schema with a default, since openapi-typescript takes a
 * property that has one for required. */
json_t *api_described(json_t *value, const char *text) {
    if (!text)
        return value;
    if (json_object_get(value, "$ref") || json_object_get(value, "default"))
        value = json_pack("{s:[o]}", "allOf", value);
    json_object_set_new(value, "description", json_string(text));
    return value;
}

static json_t *texts(void) {
    return json_pack("{s:[{s:s}, {s:s, s:{s:s}, s:i, s:i}]}", "oneOf", "type", "string", "type", "array", "items", "type", "string",
                     "minItems", 1, "maxItems", API_MAX_TEXTS);
}

json_t *api_schemas(void) {
    json_t *all = json_object(), *object = NULL;
    json_object_set_new(all, "Texts", texts());
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        const struct property *p = &properties[i];
        if (p->object) {
            object = json_pack("{s:s, s:{}, s:[]}", "type", "object", "properties", "required");
            json_object_set_new(all, p->object, object);
        }
        json_object_set_new(json_object_get(object, "properties"), p->name, api_described(api_schema(p->type), p->text));
        if (!p->optional)
            json_array_append_new(json_object_get(object, "required"), json_string(p->name));
    }
    return all;
}
