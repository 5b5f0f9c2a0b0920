/* This file has Microsoft's dialect, versions 3.0 and 2026-06-06 of the Translator API: POST
 * /translate, detection, sentences, languages, and the token that some clients first fetch with
 * their key. In 3.0 the fields are in the query string, and the body is an array of {"Text"}; in
 * 2026-06-06 each of the body's "inputs" has its own. Alignment and lengths count UTF-16 units. */
#include "server/dialects/microsoft.h"
#include "model/base/utf8.h"
#include "server/api/access.h"
#include "server/api/call.h"
#include "server/api/dialect.h"
#include "server/api/languages.h"
#include "server/api/order.h"
#include "server/api/plan.h"
#include "server/api/reply.h"
#include "server/api/terms.h"
#include "server/api/value.h"
#include "server/base/strings.h"
#include "server/dialects/scripts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Error codes have Microsoft's form: the status and three digits, of which 000 adds no detail. */
void microsoft_put_error(struct writer *w, const struct dialect_error *error) {
    static const struct {
        const char *field;
        unsigned detail;
    } details[] = {{"from", 35},
                   {"inputs.language", 35},
                   {"to", 36},
                   {"inputs.targets", 36},
                   {"textType", 18},
                   {"includeAlignment", 17},
                   {"includeSentenceLength", 17},
                   {"api-version", 21}};
    unsigned detail = 0;
    for (size_t i = 0;
         error->field && error->status == STATUS_INVALID && i < sizeof details / sizeof *details;
         i++)
        if (strcmp(details[i].field, error->field) == 0)
            detail = details[i].detail;
    writer_begin_object(w, NULL);
    writer_begin_object(w, "error");
    writer_count(w, "code", error->status * 1000 + detail);
    writer_string(w, "message", error->message);
    writer_end_object(w);
    writer_end_object(w);
}

/* ---- fields ---- */

const char microsoft_key[] = "Ocp-Apim-Subscription-Key: KEY";

enum { MOST_TEXTS = 1000, MOST_LANGUAGES = 64 };

enum version { VERSION_3, VERSION_2026, VERSIONS };
static const char *const versions[] = {[VERSION_3] = "3.0", [VERSION_2026] = "2026-06-06"};

/* An array of objects and "inputs" are no other dialect's, and without a version get an error that
 * names those that there are. */
bool microsoft_speaks(const struct dialect_fields *fields) {
    return dialect_sent(fields->call, "api-version") ||
           json_is_object(json_array_get(fields->root, 0)) || dialect_has(fields, "inputs");
}

/* Returns -1 after setting the reply if there is no such version. */
static int read_version(const struct call *call, enum version *version, struct reply *reply) {
    const struct api_field *sent = dialect_sent(call, "api-version");
    unsigned i = 0;
    while (i < VERSIONS && (!sent || strcmp(sent->value, versions[i]) != 0))
        i++;
    *version = (enum version)i;
    return i < VERSIONS
               ? 0
               : reply_refuse(reply, "api-version", "api-version must be %s or %s, got \"%.60s\"",
                              versions[0], versions[1], sent ? sent->value : "");
}

/* Makes an object of the query string's fields, of the texts under "Text" and, in 2026-06-06, of
 * the body's "inputs". */
static json_t *merge_body(const struct call *call, enum version version, json_t *body,
                          struct reply *reply) {
    if (call_check_fields(call, reply) != 0)
        return NULL;
    json_t *inputs = version == VERSION_3 ? body : json_object_get(body, "inputs");
    if (!json_is_array(inputs)) {
        reply_fail(reply, STATUS_INVALID, NULL,
                   version == VERSION_3
                       ? "the body must be an array of {\"Text\": \"...\"}, got %s"
                       : "the body must be {\"inputs\": [{\"text\": \"...\"}]}, got %s",
                   value_type_name(version == VERSION_3 ? body
                                   : inputs             ? inputs
                                                        : body));
        return NULL;
    }
    json_t *root = order_load(call, reply), *texts = json_array();
    for (size_t i = 0; root && i < json_array_size(inputs); i++) {
        json_t *element = json_array_get(inputs, i), *text = json_object_get(element, "Text");
        if (!text)
            text = json_object_get(element, "text"); /* Microsoft accepts both */
        json_array_append(texts, text ? text : element);
    }
    json_object_set_new(root, "Text", texts);
    if (version == VERSION_2026)
        json_object_set(root, "inputs", inputs);
    if (!root || !value_lacked_memory())
        return root;
    json_decref(root);
    reply_fail_memory(reply);
    return NULL;
}

static json_t *merge(const struct call *call, json_t *body, struct reply *reply) {
    enum version version;
    return read_version(call, &version, reply) == 0 ? merge_body(call, version, body, reply) : NULL;
}

json_t *microsoft_merge_3(const struct call *call, json_t *body, struct reply *reply) {
    enum version version = VERSION_3;
    if (dialect_sent(call, "api-version") && read_version(call, &version, reply) != 0)
        return NULL;
    if (version == VERSION_3)
        return merge_body(call, version, body, reply);
    reply_fail(reply, STATUS_INVALID, "api-version", "%s is part of api-version %s only",
               call->path, versions[VERSION_3]);
    return NULL;
}

json_t *microsoft_load(const struct call *call, struct reply *reply) {
    (void)call;
    reply_fail(
        reply, STATUS_INVALID, NULL,
        "the body must be a JSON array of {\"Text\": \"...\"} (content type application/json)");
    return NULL;
}

/* A phrase that its translation has replaced before the text is translated. Bytes [begin,end) of
 * the text to translate stand for the phrase [phrase_begin,phrase_end) in the element
 * [element_begin,element_end) of the text that the client sent. */
struct replaced {
    size_t begin, end, element_begin, element_end, phrase_begin, phrase_end;
};

/* A text as the client sent it, with its phrases [count]; count 0: there are no phrases, and text
 * may be NULL. */
struct sent_text {
    const char *text;
    struct replaced *phrases;
    size_t count;
};

/* The parts of an order that only this dialect has. */
struct wanted {
    bool alignment, lengths;
    struct sent_text *sent; /* [strings] the texts that the client sent */
};

static int read_type(const json_t *root, bool *markup, struct reply *reply) {
    const char *type;
    if (order_string(root, "textType", &type, reply) != 0)
        return -1;
    *markup = type && strcasecmp(type, "html") == 0;
    return !type || *markup || strcasecmp(type, "plain") == 0
               ? 0
               : reply_refuse(reply, "textType", "textType must be plain or html, got \"%.60s\"",
                              type);
}

/* Reads the targets of 3.0: `to` may be repeated, or contain several codes separated by commas. */
static int read_to(const json_t *to, struct order *order, struct arena *arena,
                   struct reply *reply) {
    for (size_t i = 0; i < json_array_size(to); i++) {
        char *codes = arena_copy(arena, json_string_value(json_array_get(to, i)),
                                 json_string_length(json_array_get(to, i)));
        for (char *code, *rest = codes; codes && (code = strsep(&rest, ",")) != NULL;) {
            if (order->target_count == PLAN_MOST_TARGETS)
                return reply_refuse(reply, "to", "at most %d languages may be asked for",
                                    PLAN_MOST_TARGETS);
            order->targets[order->target_count++] = code;
        }
    }
    return order->target_count > 0 ? 0 : reply_refuse(reply, "to", "to is missing");
}

/* The codes of a request's languages, each once, so that equal codes are one pointer. */
struct codes {
    const char *all[MOST_LANGUAGES]; /* [count] */
    size_t count;
};

/* Reads a code, which is a member of the object; NULL: it has none. */
static int read_code(const json_t *object, struct codes *codes, struct arena *arena,
                     const char *name, const char **out, struct reply *reply) {
    const char *code;
    if (order_string(object, "language", &code, reply) != 0)
        return -1;
    for (size_t i = 0; code && i < codes->count; i++)
        if (strcmp(codes->all[i], code) == 0) {
            *out = codes->all[i];
            return 0;
        }
    if (code && codes->count == MOST_LANGUAGES)
        return reply_refuse(reply, name, "at most %d languages may be asked for", MOST_LANGUAGES);
    *out = code ? arena_copy(arena, code, strlen(code)) : NULL;
    if (*out)
        codes->all[codes->count++] = *out;
    return 0;
}

/* Reads what each of the inputs of 2026-06-06 has besides its text. */
static int read_inputs(const json_t *inputs, struct order *order, struct arena *arena,
                       struct reply *reply) {
    struct codes codes = {.count = 0};
    struct order_string *strings = arena_zalloc(arena, order->count, sizeof *strings);
    size_t i, k;
    const json_t *input, *target;
    json_array_foreach(strings ? inputs : NULL, i, input) {
        const json_t *targets = json_object_get(input, "targets");
        size_t count = json_array_size(targets);
        if (!json_is_array(targets) || count < 1 || count > PLAN_MOST_TARGETS)
            return reply_refuse(
                reply, "inputs.targets",
                "inputs[%zu].targets must be an array of 1 to %d objects {\"language\": \"...\"}",
                i, PLAN_MOST_TARGETS);
        const char **all = arena_zalloc(arena, count, sizeof *all);
        if (read_code(input, &codes, arena, "inputs.language", &strings[i].source, reply) != 0 ||
            read_type(input, &strings[i].markup, reply) != 0)
            return -1;
        json_array_foreach(all ? targets : NULL, k, target) {
            if (read_code(target, &codes, arena, "inputs.targets", &all[k], reply) != 0)
                return -1;
            if (!all[k] && !arena_failed(arena))
                return reply_refuse(reply, "inputs.targets",
                                    "inputs[%zu].targets[%zu].language is missing", i, k);
        }
        strings[i].targets = all;
        strings[i].target_count = count;
    }
    order->strings = strings;
    order->source_name = "inputs.language";
    order->target_name = "inputs.targets";
    return arena_failed(arena) ? reply_fail_memory(reply) : 0;
}

static int read_order(json_t *root, struct order *order, struct wanted *wanted, struct arena *arena,
                      struct reply *reply) {
    const json_t *inputs = json_object_get(root, "inputs");
    if (!inputs && (order_string(root, "from", &order->source, reply) != 0 ||
                    read_to(json_object_get(root, "to"), order, arena, reply) != 0))
        return -1;
    if (order_texts(root, order, MOST_TEXTS, reply) != 0 ||
        order_flag(root, "includeAlignment", &wanted->alignment, reply) != 0 ||
        order_flag(root, "includeSentenceLength", &wanted->lengths, reply) != 0)
        return -1;
    order->aligned = wanted->alignment || wanted->lengths;
    return inputs ? read_inputs(inputs, order, arena, reply)
                  : read_type(root, &order->markup, reply);
}

/* ---- phrases with their translation ---- */

/* <mstrans:dictionary translation="Wordomatic">wordomatic</mstrans:dictionary>: the translation
 * replaces the phrase before the text is translated, and is then kept as protected text. */
static const char phrase_begin[] = "<mstrans:dictionary", phrase_end[] = "</mstrans:dictionary>";

/* Decodes the references of markup in place. */
static void decode(char *text) {
    static const char *const references[][2] = {{"&quot;", "\""}, {"&#39;", "'"}, {"&apos;", "'"},
                                                {"&lt;", "<"},    {"&gt;", ">"},  {"&amp;", "&"}};
    char *out = text;
    while (*text) {
        size_t i = 0, count = sizeof references / sizeof *references;
        while (i < count && strncmp(text, references[i][0], strlen(references[i][0])) != 0)
            i++;
        *out++ = i < count ? *references[i][1] : *text;
        text += i < count ? strlen(references[i][0]) : 1;
    }
    *out = '\0';
}

/* Copies a text with the translations of phrases in place of their elements. Adds the translations
 * to phrases, and the positions to sent. An element that is incomplete or has no translation stays.
 * Returns NULL if memory runs out. */
static json_t *replace_phrases(const char *text, bool markup, json_t *phrases,
                               struct sent_text *sent, struct arena *arena) {
    size_t length = strlen(text), room = 0;
    char *copy = arena_alloc(arena, length + 1, 1), *out = copy;
    sent->text = arena_copy(arena, text, length);
    if (!sent->text)
        return NULL;
    for (const char *start = text; copy && *text;) {
        const char *begin = strstr(text, phrase_begin), *close = begin ? strchr(begin, '>') : NULL;
        const char *end = close ? strstr(close, phrase_end) : NULL, *value = NULL, *quote = NULL;
        const char *attribute =
            end ? memmem(begin, (size_t)(close - begin), "translation=", 12) : NULL;
        if (attribute && attribute + 13 < close && (attribute[12] == '"' || attribute[12] == '\''))
            quote = memchr(attribute + 13, attribute[12], (size_t)(close - attribute - 13));
        if (quote)
            value = attribute + 13;
        size_t bytes = value ? (size_t)(quote - value) : 0;
        size_t kept = value ? (size_t)(begin - text) : end ? (size_t)(end - text) : strlen(text);
        out = mempcpy(out, text, kept);
        text += kept;
        if (!value && end) {
            out = mempcpy(out, phrase_end, sizeof phrase_end - 1);
            text += sizeof phrase_end - 1;
        }
        if (!value)
            continue;
        char *phrase = arena_copy(arena, value, bytes);
        if (!phrase)
            return NULL;
        decode(phrase);
        if (*phrase)
            json_array_append_new(phrases, json_string(phrase));
        struct replaced *replaced =
            arena_grow(arena, sent->phrases, sent->count, &room, 1, sizeof *replaced);
        if (!replaced)
            return NULL;
        sent->phrases = replaced;
        replaced += sent->count++;
        replaced->begin = (size_t)(out - copy);
        out = markup ? mempcpy(out, value, bytes) : stpcpy(out, phrase);
        text = end + sizeof phrase_end - 1;
        replaced->end = (size_t)(out - copy);
        replaced->element_begin = (size_t)(begin - start);
        replaced->phrase_begin = (size_t)(close + 1 - start);
        replaced->phrase_end = (size_t)(end - start);
        replaced->element_end = (size_t)(text - start);
    }
    return copy ? json_stringn(copy, (size_t)(out - copy)) : NULL;
}

static void microsoft_start(const struct dialect *dialect, const struct service *service,
                            json_t *root, struct request *request, struct reply *reply) {
    struct arena *arena = &request->arena;
    struct wanted *wanted =
        arena_zalloc(arena, 1, sizeof *wanted); /* if memory runs out, order_create reports it */
    struct order *order = order_create(request, &dialect->order, reply);
    if (!order)
        return;
    order->own = wanted;
    if (read_order(root, order, wanted, arena, reply) != 0)
        return;

    json_t *texts = json_object_get(root, "Text"), *phrases = json_array();
    int result = 0;
    wanted->sent = arena_zalloc(arena, json_array_size(texts) + 1, sizeof *wanted->sent);
    for (size_t i = 0; phrases && wanted->sent && i < json_array_size(texts); i++) {
        const char *text = json_string_value(json_array_get(texts, i));
        if (text && strstr(text, phrase_begin))
            json_array_set_new(
                texts, i,
                replace_phrases(text, order->strings ? order->strings[i].markup : order->markup,
                                phrases, &wanted->sent[i], arena));
    }
    if (value_lacked_memory() || arena_failed(arena))
        result = reply_fail_memory(reply);
    else if (json_array_size(phrases) > 0)
        result = terms_read_protect(phrases, request, reply);
    json_decref(phrases);
    if (result == 0)
        order_start(order, dialect, service, root, request, reply);
}

/* ---- answers ---- */

static int compare_pairs(const void *a, const void *b) {
    const struct plan_pair *x = a, *y = b;
    if (x->source.begin != y->source.begin)
        return x->source.begin < y->source.begin ? -1 : 1;
    return x->target.begin < y->target.begin ? -1 : x->target.begin > y->target.begin;
}

/* Maps a position in the text to translate to the text that the client sent. A word of a phrase's
 * translation maps to the phrase; a sentence that ends with a phrase ends after its element. */
enum edge { WORD_BEGIN, WORD_END, SENTENCE_END };
static size_t sent_place(const struct sent_text *sent, size_t at, enum edge edge) {
    size_t place = at;
    for (size_t i = 0; i < sent->count; i++) {
        const struct replaced *phrase = &sent->phrases[i];
        bool inside = edge == WORD_END ? at <= phrase->end : at < phrase->end;
        if (edge == WORD_BEGIN ? at < phrase->begin : at <= phrase->begin)
            break;
        if (inside)
            return edge == WORD_BEGIN ? phrase->phrase_begin
                   : edge == WORD_END ? phrase->phrase_end
                                      : phrase->element_end;
        place = phrase->element_end + (at - phrase->end);
    }
    return place;
}

/* Writes "0:4-0:6": the first and last character of the source's word and of the target's. */
static void put_projection(struct writer *w, const char *source_text, const struct sent_text *sent,
                           const struct plan_answer *answer, struct plan_alignment *alignment,
                           struct arena *arena) {
    enum { PAIR_BYTES = 88 };
    struct utf16_cursor source = {.text = source_text}, target = {.text = answer->text};
    char *text = arena_alloc(arena, alignment->word_count + 1, PAIR_BYTES);
    size_t length = 0;
    if (!text) {
        writer_fail(w);
        return;
    }
    if (alignment->word_count > 1)
        qsort(alignment->words, alignment->word_count, sizeof *alignment->words, compare_pairs);
    for (size_t i = 0; i < alignment->word_count; i++) {
        const struct plan_pair *pair = &alignment->words[i];
        size_t from =
            character_utf16_position(&source, sent_place(sent, pair->source.begin, WORD_BEGIN));
        size_t last =
            character_utf16_position(&source, sent_place(sent, pair->source.end, WORD_END)) - 1;
        size_t to = character_utf16_position(&target, pair->target.begin);
        length +=
            (size_t)snprintf(text + length, PAIR_BYTES, "%s%zu:%zu-%zu:%zu", i > 0 ? " " : "", from,
                             last, to, character_utf16_position(&target, pair->target.end) - 1);
    }
    writer_begin_object(w, "alignment");
    writer_string_of(w, "proj", text, length);
    writer_end_object(w);
}

/* Writes the lengths of the sentences of the source or, if sent is NULL, of the target. */
static void put_side(struct writer *w, const char *key, const char *text,
                     const struct sent_text *sent, const struct plan_alignment *alignment) {
    struct utf16_cursor cursor = {.text = text};
    size_t at = 0;
    writer_begin_array(w, key);
    for (size_t i = 0; i < alignment->sentence_count; i++) {
        const struct plan_pair *pair = &alignment->sentences[i];
        size_t end = character_utf16_position(
            &cursor, sent ? sent_place(sent, pair->source.end, SENTENCE_END) : pair->target.end);
        writer_count(w, NULL, end - at);
        at = end;
    }
    writer_end_array(w);
}

static void put_translation(struct writer *w, const struct plan *plan, const struct plan_item *item,
                            const struct plan_answer *answer, struct arena *arena) {
    const struct wanted *wanted = plan->order->own;
    const struct sent_text *sent = &wanted->sent[item->string];
    const char *source = sent->count > 0 ? sent->text : item->source;
    bool newer = plan->order->strings != NULL;
    struct plan_alignment alignment = {0};
    writer_begin_object(w, NULL);
    order_put_text(w, "text", answer);
    writer_string(w, newer ? "language" : "to", item->target_language);
    if (newer)
        writer_count(w, "sourceCharacters", utf8_count(source, strlen(source)));
    if (plan->aligned && plan_align(plan, item, arena, &alignment) != 0)
        writer_fail(w);
    if (plan->aligned && wanted->alignment)
        put_projection(w, source, sent, answer, &alignment, arena);
    if (plan->aligned && wanted->lengths) {
        writer_begin_object(w, "sentLen");
        put_side(w, "srcSentLen", source, sent, &alignment);
        put_side(w, "transSentLen", answer->text, NULL, &alignment);
        writer_end_object(w);
    }
    writer_end_object(w);
}

static void microsoft_put_guess(struct writer *w, const char *key, const struct plan_guess *guess) {
    writer_begin_object(w, key);
    writer_string(w, "language", guess->code);
    writer_number(w, "score", guess->confidence / 100);
    writer_end_object(w);
}

/* An array of texts, each with its translations; 2026-06-06 has it under "value". */
static void put_answers(struct writer *w, const struct plan *plan,
                        const struct plan_answers *answers, struct arena *arena) {
    bool newer = plan->order->strings != NULL;
    if (newer)
        writer_begin_object(w, NULL);
    writer_begin_array(w, newer ? "value" : NULL);
    for (size_t i = 0; i < plan->count;) {
        const struct plan_item *first = &plan->items[i];
        writer_begin_object(w, NULL);
        if (first->guess.code)
            microsoft_put_guess(w, "detectedLanguage", &first->guess);
        writer_begin_array(w, "translations");
        for (; i < plan->count && plan->items[i].string == first->string; i++)
            put_translation(w, plan, &plan->items[i], &answers[i].all[0], arena);
        writer_end_array(w);
        writer_end_object(w);
    }
    writer_end_array(w);
    if (newer)
        writer_end_object(w);
}

static const struct dialect_field microsoft_fields[] = {
#define MICROSOFT(name, fate, usual, example) {name, FIELD_##fate, usual},
#include "server/dialects/fields.def"
    {NULL, FIELD_HONOURED, NULL}};

const struct dialect dialect_microsoft = {
    .name = "microsoft",
    .key = microsoft_key,
    .fields = microsoft_fields,
    .speaks = microsoft_speaks,
    .load = microsoft_load,
    .merge = merge,
    .several = "to",
    .order = {.text_name = "Text", .source_name = "from", .target_name = "to", .apart = true},
    .start = microsoft_start,
    .finish = order_finish,
    .put = put_answers,
    .put_error = microsoft_put_error};

/* ---- detection ---- */

static void detect_start(const struct dialect *dialect, const struct service *service, json_t *root,
                         struct request *request, struct reply *reply) {
    (void)dialect;
    (void)service;
    struct plan plan = {0};
    if (order_read(root, "Text", MOST_TEXTS, &plan, &request->arena, reply) != 0)
        return;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_array(&w, NULL);
    for (size_t i = 0; i < plan.count; i++) {
        struct plan_guess guess = plan_detect(&plan.items[i], 1, false, request);
        if (!guess.code)
            writer_fail(&w);
        writer_begin_object(&w, NULL);
        writer_string(&w, "language", guess.code ? guess.code : "");
        writer_number(&w, "score", guess.confidence / 100);
        writer_boolean(&w, "isTranslationSupported", !guess.unread);
        writer_boolean(&w, "isTransliterationSupported", false);
        writer_end_object(&w);
    }
    writer_end_array(&w);
    reply_json(reply, &w);
}

const struct dialect dialect_microsoft_detect = {.name = "microsoft_detect",
                                                 .key = microsoft_key,
                                                 .speaks = microsoft_speaks,
                                                 .load = microsoft_load,
                                                 .merge = microsoft_merge_3,
                                                 .start = detect_start,
                                                 .put_error = microsoft_put_error};

/* ---- sentences ---- */

static void break_start(const struct dialect *dialect, const struct service *service, json_t *root,
                        struct request *request, struct reply *reply) {
    (void)dialect;
    (void)service;
    struct plan plan = {0};
    const char *language;
    if (order_read(root, "Text", MOST_TEXTS, &plan, &request->arena, reply) != 0 ||
        order_string(root, "language", &language, reply) != 0)
        return;
    struct writer w = {.most = SIZE_MAX};
    struct error err = {0};
    struct segmenter *segmenter =
        NULL; /* kept for the next text, because opening one takes longer than segmenting a text */
    const char *open = NULL; /* its language */
    writer_begin_array(&w, NULL);
    for (size_t i = 0; i < plan.count && err.code != ERROR_FORMAT; i++) {
        const struct plan_item *item = &plan.items[i];
        struct plan_guess guess = language
                                      ? (struct plan_guess){.code = language, .confidence = 100}
                                      : plan_detect(item, 1, false, request);
        struct utf16_cursor cursor = {.text = item->source};
        struct spans spans;
        size_t at = 0;
        err = (struct error){0};
        if (guess.code && (!open || strcmp(open, guess.code) != 0)) {
            segmenter_free(segmenter);
            segmenter = segmenter_open(guess.code, &err);
            open = segmenter ? guess.code : NULL;
        }
        bool split = guess.code && open &&
                     segmenter_split(segmenter, (struct bytes){item->source, item->length},
                                     &request->arena, &spans, NULL) == 0;
        writer_begin_object(&w, NULL);
        if (!language && guess.code)
            microsoft_put_guess(&w, "detectedLanguage", &guess);
        if (split)
            writer_begin_array(&w, "sentLen");
        else if (err.code != ERROR_FORMAT)
            writer_fail(&w);
        for (size_t s = 0; split && (s < spans.count || s == 0);
             s++) { /* a sentence includes the white space after it */
            size_t end = character_utf16_position(
                &cursor, s + 1 < spans.count ? spans.all[s + 1].begin : item->length);
            writer_count(&w, NULL, end - at);
            at = end;
        }
        if (split)
            writer_end_array(&w);
        writer_end_object(&w);
    }
    writer_end_array(&w);
    segmenter_free(segmenter);
    if (err.code != ERROR_FORMAT) {
        reply_json(reply, &w);
        return;
    }
    writer_done(&w);
    reply_fail(reply, STATUS_INVALID, "language", "language: \"%.60s\" is not supported", language);
}

const struct dialect dialect_microsoft_break = {.name = "microsoft_break",
                                                .key = microsoft_key,
                                                .load = microsoft_load,
                                                .merge = microsoft_merge_3,
                                                .start = break_start,
                                                .put_error = microsoft_put_error};

/* ---- scripts ---- */

enum { MOST_CONVERTED = 10, MOST_CONVERTED_CHARACTERS = 5000 }; /* as Microsoft has them */

/* [{"text","script"}]; 2026-06-06 has it under "value". */
static void scripts_start(const struct dialect *dialect, const struct service *service,
                          json_t *root, struct request *request, struct reply *reply) {
    (void)dialect;
    (void)service;
    static const char *const names[] = {"language", "fromScript", "toScript"};
    struct plan plan = {0};
    const char *values[3];
    size_t characters = 0;
    bool newer = json_object_get(root, "inputs") != NULL;
    for (size_t i = 0; i < 3; i++) {
        if (order_string(root, names[i], &values[i], reply) != 0)
            return;
        if (!values[i]) {
            reply_fail(reply, STATUS_INVALID, names[i], "%s is missing", names[i]);
            return;
        }
    }
    if (order_read(root, "Text", MOST_CONVERTED, &plan, &request->arena, reply) != 0)
        return;
    for (size_t i = 0; i < plan.count; i++)
        characters += utf8_count(plan.items[i].source, plan.items[i].length);
    if (characters > MOST_CONVERTED_CHARACTERS) {
        reply_fail(reply, STATUS_TOO_LARGE, "Text", "Text must have at most %d characters, got %zu",
                   MOST_CONVERTED_CHARACTERS, characters);
        return;
    }
    struct writer w = {.most = SIZE_MAX};
    struct error err = {0};
    if (newer)
        writer_begin_object(&w, NULL);
    writer_begin_array(&w, newer ? "value" : NULL);
    for (size_t i = 0; i < plan.count && err.code == ERROR_NONE; i++) {
        const char *text = "";
        scripts_convert(values[1], values[2],
                        (struct bytes){plan.items[i].source, plan.items[i].length}, &request->arena,
                        &text, &err);
        writer_begin_object(&w, NULL);
        writer_strings(&w, "text", text, "script", values[2], NULL);
        writer_end_object(&w);
    }
    writer_end_array(&w);
    if (newer)
        writer_end_object(&w);
    if (err.code == ERROR_NONE) {
        reply_json(reply, &w);
        return;
    }
    writer_done(&w);
    if (err.code == ERROR_INPUT)
        reply_fail(reply, STATUS_INVALID, "toScript", "%s", err.message);
    else
        reply_fail_memory(reply);
}

const struct dialect dialect_microsoft_scripts = {.name = "microsoft_scripts",
                                                  .key = microsoft_key,
                                                  .load = microsoft_load,
                                                  .merge = merge,
                                                  .start = scripts_start,
                                                  .put_error = microsoft_put_error};

/* ---- languages ---- */

void microsoft_languages(const struct call *call, struct request *request, struct reply *reply) {
    char in[LANGUAGE_CODE_BYTES];
    enum version version;
    language_preferred(call->accept_language, in);
    struct plan_codes codes;
    reply->dialect = &dialect_microsoft; /* for errors: the path is LibreTranslate's, too */
    if (read_version(call, &version, reply) != 0)
        return;
    if (order_list(request, true, true, &codes, reply) != 0)
        return;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_begin_object(&w, "translation");
    for (size_t i = 0; i < codes.count; i++) {
        char name[LANGUAGE_NAME_BYTES], own[LANGUAGE_NAME_BYTES];
        language_name_in(codes.all[i], in, name);
        language_name_in(codes.all[i], codes.all[i], own);
        writer_begin_object(&w, codes.all[i]);
        writer_strings(&w, "name", name, "nativeName", own, "dir",
                       language_is_rtl(codes.all[i]) ? "rtl" : "ltr", NULL);
        if (version == VERSION_2026) {
            writer_begin_array(&w, "models"); /* there are no language models */
            writer_end_array(&w);
        }
        writer_end_object(&w);
    }
    writer_end_object(&w);
    writer_end_object(&w);
    reply_json(reply, &w);
}

/* ---- the token ---- */

/* Replies with the key itself, which clients then send as Authorization: Bearer. */
void microsoft_token(const struct service *service, const struct call *call,
                     struct request *request, struct reply *reply) {
    (void)service;
    (void)request;
    const char *key = NULL;
    for (size_t i = 0; i < ACCESS_KEY_HEADERS && !key; i++)
        key = call->api_keys[i];
    for (size_t i = 0; i < call->field_count && !key; i++)
        key = access_is_key(call->fields[i].name) ? call->fields[i].value : NULL;
    if (!key)
        key = "none";
    char *body = strdup(key);
    if (body)
        *reply = (struct reply){.status = STATUS_OK,
                                .content_type = "application/jwt",
                                .body = body,
                                .length = strlen(body)};
    else
        reply_fail_memory(reply);
}
