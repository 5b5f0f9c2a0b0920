/* This file has the APIs of other servers that people run themselves, so that their clients work
 * with this one: MTranServer, two servers of NLLB models, Lingva, and the custom API of the
 * extension hcfy. It hides their field names, their names for languages, and their replies. */
#include "server/dialects/selfhosted.h"
#include "server/api/languages.h"
#include "server/api/order.h"
#include "server/api/plan.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include <string.h>

static const char mtran_key[] =
    "Authorization: KEY, X-Api-Token: KEY, or ?token=KEY in the address";
static const char bearer_key[] = "Authorization: Bearer KEY, or ?token=KEY in the address";

/* {"result"}, or {"results": [...]} for an array of texts */
static void put_result(struct writer *w, const struct plan *plan,
                       const struct plan_answers *answers, struct arena *arena) {
    (void)arena;
    bool array = plan->order->array;
    writer_begin_object(w, NULL);
    if (array)
        writer_begin_array(w, "results");
    for (size_t i = 0; i < plan->count; i++)
        order_put_text(w, array ? NULL : "result", &answers[i].all[0]);
    if (array)
        writer_end_array(w);
    writer_end_object(w);
}

/* Replies {"language"}, and the confidence if the request asks for it; code: as the client writes
 * it. */
static void reply_language(const char *code, const struct plan_guess *guess, bool confidence,
                           struct reply *reply) {
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_string(&w, "language", code);
    if (confidence)
        writer_number(&w, "confidence", guess->confidence / 100);
    writer_end_object(&w);
    reply_json(reply, &w);
}

/* Detects the language of the string in the field "text". Returns -1 after setting the reply. */
static int detect_text(const json_t *root, struct request *request, struct plan_guess *guess,
                       struct reply *reply) {
    struct plan plan = {0};
    if (order_read(root, "text", 1, &plan, &request->arena, reply) != 0)
        return -1;
    *guess = plan_detect(plan.items, 1, false, request);
    return guess->code ? 0 : reply_fail_memory(reply);
}

/* ---- MTranServer ---- */

static bool mtran_speaks(const struct dialect_fields *fields) {
    return dialect_has(fields, "from") && dialect_has(fields, "to");
}

static int mtran_read(const json_t *root, struct order *order, struct arena *arena,
                      struct reply *reply) {
    (void)arena;
    return order_flag(root, "html", &order->markup, reply);
}

static void mtran_start(const struct dialect *dialect, const struct service *service, json_t *root,
                        struct request *request, struct reply *reply) {
    if (json_is_array(json_object_get(root, "text")))
        reply_fail(reply, STATUS_INVALID, "text",
                   "text must be a string; send arrays to /translate/batch");
    else
        order_begin(dialect, service, root, request, reply);
}

static const struct dialect_field mtran_fields[] = {
#define MTRANSERVER(name, fate, usual, example) {name, FIELD_##fate, usual},
#include "server/dialects/fields.def"
    {NULL, FIELD_HONOURED, NULL}};

const struct dialect dialect_mtran = {
    .name = "mtran",
    .key = mtran_key,
    .fields = mtran_fields,
    .speaks = mtran_speaks,
    .load = order_load,
    .order = {.text_name = "text", .source_name = "from", .target_name = "to", .apart = true},
    .start = mtran_start,
    .read = mtran_read,
    .finish = order_finish,
    .put = put_result};

static void mtran_batch_start(const struct dialect *dialect, const struct service *service,
                              json_t *root, struct request *request, struct reply *reply) {
    if (json_is_string(json_object_get(root, "texts")))
        reply_fail(reply, STATUS_INVALID, "texts", "texts must be an array of strings");
    else
        order_begin(dialect, service, root, request, reply);
}

const struct dialect dialect_mtran_batch = {
    .name = "mtran_batch",
    .key = mtran_key,
    .fields = mtran_fields,
    .load = order_load,
    .several = "texts",
    .order = {.text_name = "texts", .source_name = "from", .target_name = "to", .apart = true},
    .start = mtran_batch_start,
    .read = mtran_read,
    .finish = order_finish,
    .put = put_result};

static bool mtran_detect_speaks(const struct dialect_fields *fields) {
    return dialect_has(fields, "text");
}

/* With minConfidence the reply has the confidence, and no language if it is less than that. */
static void mtran_detect_start(const struct dialect *dialect, const struct service *service,
                               json_t *root, struct request *request, struct reply *reply) {
    (void)dialect;
    (void)service;
    const json_t *least = json_object_get(root, "minConfidence");
    struct plan_guess guess;
    if (least && !json_is_number(least)) {
        reply_fail(reply, STATUS_INVALID, "minConfidence", "minConfidence must be a number");
        return;
    }
    if (detect_text(root, request, &guess, reply) != 0)
        return;
    bool sure = !least || guess.confidence / 100 >= json_number_value(least);
    reply_language(sure ? guess.code : "", &guess, least != NULL, reply);
}

const struct dialect dialect_mtran_detect = {.name = "mtran_detect",
                                             .key = mtran_key,
                                             .fields = mtran_fields,
                                             .speaks = mtran_detect_speaks,
                                             .load = order_load,
                                             .start = mtran_detect_start};

void selfhosted_mtran_version(const struct service *service, const struct call *call,
                              struct request *request, struct reply *reply) {
    (void)service;
    (void)call;
    (void)request;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_string(&w, "version", ALIGND_VERSION);
    writer_end_object(&w);
    reply_json(reply, &w);
}

/* ---- servers of NLLB models: nllb-serve and nllb-api ---- */

/* Their codes are those of Flores-200, "eng_Latn". */
static const char *nllb_code(const char *code, struct arena *arena) {
    char own[VARIANT_CODE_BYTES];
    if (!code || strlen(code) >= sizeof own) /* no such language; the error repeats the code */
        return code;
    variant_code(code, own);
    return arena_copy(arena, own, strlen(own));
}

static int nllb_read(const json_t *root, struct order *order, struct arena *arena,
                     struct reply *reply) {
    (void)root;
    (void)reply;
    order->source = nllb_code(order->source, arena);
    order->targets[0] = nllb_code(order->targets[0], arena);
    return 0;
}

static bool nllb_speaks(const struct dialect_fields *fields) {
    return dialect_has(fields, "src_lang") && dialect_has(fields, "tgt_lang");
}

static void put_flores(struct writer *w, const char *key, const char *code) {
    char own[VARIANT_CODE_BYTES];
    language_flores(code, own);
    writer_string(w, key, own);
}

static void nllb_put(struct writer *w, const struct plan *plan, const struct plan_answers *answers,
                     struct arena *arena) {
    (void)arena;
    writer_begin_object(w, NULL);
    writer_begin_array(w, "source");
    for (size_t i = 0; i < plan->count; i++)
        writer_string_of(w, NULL, plan->items[i].source, plan->items[i].length);
    writer_end_array(w);
    put_flores(w, "src_lang", plan_source(plan, 0));
    put_flores(w, "tgt_lang", plan->order->targets[0]);
    writer_begin_array(w, "translation");
    for (size_t i = 0; i < plan->count; i++)
        order_put_text(w, NULL, &answers[i].all[0]);
    writer_end_array(w);
    writer_end_object(w);
}

static const struct dialect_field nllb_serve_fields[] = {
#define NLLB_SERVE(name, fate, usual, example) {name, FIELD_##fate, usual},
#include "server/dialects/fields.def"
    {NULL, FIELD_HONOURED, NULL}};

const struct dialect dialect_nllb = {.name = "nllb",
                                     .key = bearer_key,
                                     .fields = nllb_serve_fields,
                                     .speaks = nllb_speaks,
                                     .load = order_load,
                                     .several = "source",
                                     .order = {.text_name = "source",
                                               .source_name = "src_lang",
                                               .target_name = "tgt_lang",
                                               .apart = true},
                                     .start = order_begin,
                                     .read = nllb_read,
                                     .finish = order_finish,
                                     .put = nllb_put};

static const struct dialect_field nllb_api_fields[] = {
#define NLLB_API(name, fate, usual, example) {name, FIELD_##fate, usual},
#include "server/dialects/fields.def"
    {NULL, FIELD_HONOURED, NULL}};

const struct dialect dialect_nllb_api = {
    .name = "nllb_api",
    .key = bearer_key,
    .fields = nllb_api_fields,
    .load = order_load,
    .order = {.text_name = "text", .source_name = "source", .target_name = "target", .apart = true},
    .start = order_begin,
    .read = nllb_read,
    .finish = order_finish,
    .put = put_result};

static void nllb_detect_start(const struct dialect *dialect, const struct service *service,
                              json_t *root, struct request *request, struct reply *reply) {
    (void)dialect;
    (void)service;
    struct plan_guess guess;
    char code[VARIANT_CODE_BYTES];
    if (detect_text(root, request, &guess, reply) != 0)
        return;
    language_flores(guess.code, code);
    reply_language(code, &guess, true, reply);
}

const struct dialect dialect_nllb_detect = {.name = "nllb_detect",
                                            .key = bearer_key,
                                            .fields = nllb_api_fields,
                                            .load = order_load,
                                            .start = nllb_detect_start};

/* ---- Lingva: GET /api/v1/{source}/{target}/{text} ---- */

/* Makes an object of the three parts of the path. */
static json_t *lingva_load(const struct call *call, struct reply *reply) {
    static const char *const names[] = {"source", "target", "query"};
    const char *part = call->path + strlen("/api/v1/");
    json_t *root = json_object();
    for (size_t i = 0; i < 3; i++) {
        size_t length = i < 2 ? strcspn(part, "/") : strlen(part);
        json_object_set_new(root, names[i], json_stringn(part, length));
        part += length + (part[length] == '/');
    }
    if (!value_lacked_memory())
        return root;
    json_decref(root);
    reply_fail_memory(reply);
    return NULL;
}

static void lingva_put(struct writer *w, const struct plan *plan,
                       const struct plan_answers *answers, struct arena *arena) {
    (void)arena;
    writer_begin_object(w, NULL);
    order_put_text(w, "translation", &answers[0].all[0]);
    if (plan->guessed) {
        writer_begin_object(w, "info");
        writer_string(w, "detectedSource", plan_source(plan, 0));
        writer_end_object(w);
    }
    writer_end_object(w);
}

static void lingva_put_error(struct writer *w, const struct dialect_error *error) {
    writer_begin_object(w, NULL);
    writer_string(w, "error", error->message);
    writer_end_object(w);
}

static const struct dialect_field lingva_fields[] = {
#define LINGVA(name, fate, usual, example) {name, FIELD_##fate, usual},
#include "server/dialects/fields.def"
    {NULL, FIELD_HONOURED, NULL}};

const struct dialect dialect_lingva = {.name = "lingva",
                                       .key = bearer_key,
                                       .fields = lingva_fields,
                                       .load = lingva_load,
                                       .order = {.text_name = "query",
                                                 .source_name = "source",
                                                 .target_name = "target",
                                                 .apart = true},
                                       .start = order_begin,
                                       .finish = order_finish,
                                       .put = lingva_put,
                                       .put_error = lingva_put_error};

/* GET /api/v1/languages, also with /source or /target after it */
void selfhosted_lingva_languages(const struct service *service, const struct call *call,
                                 struct request *request, struct reply *reply) {
    (void)service;
    size_t length;
    const char *type = route_part(call->route, call->path, &length);
    bool sources = type && length == 6 && memcmp(type, "source", length) == 0,
         targets = type && length == 6 && memcmp(type, "target", length) == 0;
    struct plan_codes codes;
    if (type && !sources && !targets) {
        reply_fail(reply, STATUS_INVALID, NULL, "Type should be 'source', 'target' or empty");
        return;
    }
    if (order_list(request, !targets, !sources, &codes, reply) != 0)
        return;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_begin_array(&w, "languages");
    for (size_t i = 0; i < codes.count; i++) {
        char name[LANGUAGE_NAME_BYTES];
        language_name(codes.all[i], name);
        writer_begin_object(&w, NULL);
        writer_strings(&w, "code", codes.all[i], "name", name, NULL);
        writer_end_object(&w);
    }
    writer_end_array(&w);
    writer_end_object(&w);
    reply_json(reply, &w);
}

/* ---- hcfy: languages by their Chinese names, a result for each line ---- */

enum { HCFY_MOST_LINES = 1000 };

/* The reply repeats these strings of the request. */
struct hcfy_own {
    const char *text, *destination; /* in the arena */
};

/* Finds the code of a language by its Chinese name; a name that is none is taken for a code. */
static const char *hcfy_code(const char *name, const struct plan_codes *codes) {
    static const char *const chinese[][2] = {{"中文(简体)", "zh-Hans"}, {"中文(繁体)", "zh-Hant"}};
    for (size_t i = 0; i < sizeof chinese / sizeof *chinese; i++)
        if (strcmp(chinese[i][0], name) == 0)
            return chinese[i][1];
    for (size_t i = 0; i < codes->count; i++) {
        char own[LANGUAGE_NAME_BYTES];
        language_name_in(codes->all[i], "zh", own);
        if (strcmp(own, name) == 0)
            return codes->all[i];
    }
    return name;
}

/* Sets the codes "from" and "to" of the object from the names in source and destination. If the
 * text is in the first language of destination, it is translated into the second. Returns -1 after
 * setting the reply. */
static int hcfy_choose(json_t *root, struct request *request, struct reply *reply) {
    const json_t *all = json_object_get(root, "destination");
    const json_t *first = json_is_array(all) ? json_array_get(all, 0) : all,
                 *second = json_is_array(all) ? json_array_get(all, 1) : NULL;
    const char *source, *from;
    struct plan_guess guess;
    struct plan_codes codes;
    if (!json_is_string(first) || (second && !json_is_string(second)))
        return reply_refuse(reply, "destination", "destination must be an array of languages");
    if (order_list(request, true, true, &codes, reply) != 0 ||
        order_string(root, "source", &source, reply) != 0)
        return -1;
    if (source && strcmp(source, "auto") != 0)
        from = hcfy_code(source, &codes);
    else if (detect_text(root, request, &guess, reply) == 0)
        from = guess.unread ? "auto" : guess.code;
    else
        return -1;
    const char *to = hcfy_code(json_string_value(first), &codes);
    if (second && language_distance(to, from) == 0)
        to = hcfy_code(json_string_value(first = second), &codes);
    json_object_set_new(root, "from", json_string(from));
    json_object_set_new(root, "to", json_string(to));
    json_object_set_new(root, "chosen", json_string(json_string_value(first)));
    return 0;
}

static size_t count_lines(const char *text) {
    size_t count = 1;
    while ((text = strchr(text, '\n')) != NULL) {
        text++;
        count++;
    }
    return count;
}

static void hcfy_start(const struct dialect *dialect, const struct service *service, json_t *root,
                       struct request *request, struct reply *reply) {
    json_t *text = json_object_get(root, "text"), *lines = json_array();
    size_t count = json_is_string(text) ? count_lines(json_string_value(text)) : 0;
    if (count == 0) {
        reply_fail(reply, STATUS_INVALID, "text", "text must be a string");
    } else if (count > HCFY_MOST_LINES) {
        reply_fail(reply, STATUS_TOO_LARGE, "text", "text must have at most %d lines, got %zu",
                   HCFY_MOST_LINES, count);
    } else if (hcfy_choose(root, request, reply) == 0) {
        const char *line = json_string_value(text);
        for (size_t length; line; line = line[length] ? line + length + 1 : NULL) {
            length = strcspn(line, "\n");
            json_array_append_new(lines, json_stringn(line, length));
        }
        json_object_set(root, "lines", lines);
        if (value_lacked_memory())
            reply_fail_memory(reply);
        else
            order_begin(dialect, service, root, request, reply);
    }
    json_decref(lines);
}

static int hcfy_read(const json_t *root, struct order *order, struct arena *arena,
                     struct reply *reply) {
    (void)reply;
    const json_t *text = json_object_get(root, "text"), *chosen = json_object_get(root, "chosen");
    if (order->own)
        *(struct hcfy_own *)order->own = (struct hcfy_own){
            arena_copy(arena, json_string_value(text), json_string_length(text)),
            arena_copy(arena, json_string_value(chosen), json_string_length(chosen))};
    return 0;
}

static void hcfy_put(struct writer *w, const struct plan *plan, const struct plan_answers *answers,
                     struct arena *arena) {
    (void)arena;
    const struct hcfy_own *own = plan->order->own;
    char from[LANGUAGE_NAME_BYTES];
    language_name_in(plan_source(plan, 0), "zh", from);
    writer_begin_object(w, NULL);
    writer_strings(w, "text", own->text, "from", from, "to", own->destination, NULL);
    writer_begin_array(w, "result");
    for (size_t i = 0; i < plan->count; i++)
        order_put_text(w, NULL, &answers[i].all[0]);
    writer_end_array(w);
    writer_end_object(w);
}

static const struct dialect_field hcfy_fields[] = {
#define HCFY(name, fate, usual, example) {name, FIELD_##fate, usual},
#include "server/dialects/fields.def"
    {NULL, FIELD_HONOURED, NULL}};

const struct dialect dialect_hcfy = {
    .name = "hcfy",
    .key = "?token=KEY in the address",
    .fields = hcfy_fields,
    .load = order_load,
    .most_texts = HCFY_MOST_LINES,
    .own_bytes = sizeof(struct hcfy_own),
    .order = {.text_name = "lines", .source_name = "from", .target_name = "to"},
    .start = hcfy_start,
    .read = hcfy_read,
    .finish = order_finish,
    .put = hcfy_put};
