/* What Microsoft's Translator API 3.0 has beside its translation: detection, sentences, languages, and the token that some clients
 * fetch with their key first. */
#include "model/base/utf8.h"
#include "server/api/api_microsoft.h"
#include "server/api/language.h"
#include <stdlib.h>
#include <string.h>

/* ---- detection ---- */

static void detect_start(const struct dialect *dialect, const struct service *service, json_t *root, struct request *request,
                         struct reply *reply) {
    (void)dialect;
    (void)service;
    struct plan plan = {0};
    if (order_read(root, "Text", MICROSOFT_MOST_TEXTS, &plan, &request->arena, reply) != 0)
        return;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_array(&w, NULL);
    for (size_t i = 0; i < plan.count; i++) {
        struct plan_guess guess = plan_detect(&plan.items[i], 1, false, request->models);
        if (!guess.code)
            writer_fail(&w);
        writer_begin_object(&w, NULL);
        writer_string(&w, "language", guess.code ? guess.code : "");
        writer_number(&w, "score", guess.confidence / 100);
        writer_boolean(&w, "isTranslationSupported", true);
        writer_boolean(&w, "isTransliterationSupported", false);
        writer_end_object(&w);
    }
    writer_end_array(&w);
    api_reply_json(reply, &w);
}

const struct dialect dialect_microsoft_detect = {.name = "microsoft_detect",
                                                 .path = "/detect",
                                                 .speaks = microsoft_speaks,
                                                 .load = microsoft_load,
                                                 .merge = microsoft_merge,
                                                 .start = detect_start,
                                                 .put_error = microsoft_put_error};

/* ---- sentences ---- */

/* Lengths with the white space behind; what is before the first is the first's. */
static int put_sentences(struct writer *w, const struct segmenter *segmenter, const struct plan_item *item, struct arena *arena) {
    struct utf16_cursor cursor = {.text = item->source};
    struct span *spans;
    size_t count, at = 0;
    if (segmenter_split(segmenter, item->source, item->length, arena, &spans, &count, NULL) != 0)
        return -1;
    writer_begin_array(w, "sentLen");
    for (size_t i = 0; i < count || i == 0; i++) {
        size_t end = utf16_position(&cursor, i + 1 < count ? spans[i + 1].begin : item->length);
        writer_count(w, NULL, end - at);
        at = end;
    }
    writer_end_array(w);
    return 0;
}

/* Of the language of the last text: opening one takes longer than cutting a text. */
struct cutter {
    struct segmenter *segmenter;
    const char *language; /* NULL: none is open */
};

static int cutter_open(struct cutter *cutter, const char *language, struct error *err) {
    if (cutter->language && strcmp(cutter->language, language) == 0)
        return 0;
    segmenter_free(cutter->segmenter);
    cutter->segmenter = segmenter_open(language, err);
    cutter->language = cutter->segmenter ? language : NULL;
    return cutter->segmenter ? 0 : -1;
}

static int put_item(struct writer *w, const char *language, const struct plan_item *item, struct cutter *cutter,
                    struct request *request, struct reply *reply) {
    struct plan_guess guess = language ? (struct plan_guess){language, 100} : plan_detect(item, 1, false, request->models);
    struct error err = {0};
    bool open = guess.code && cutter_open(cutter, guess.code, &err) == 0;
    writer_begin_object(w, NULL);
    if (!language && guess.code)
        microsoft_put_guess(w, "detectedLanguage", &guess);
    int result = open ? put_sentences(w, cutter->segmenter, item, &request->arena) : -1;
    writer_end_object(w);
    if (result != 0 && err.code == ERROR_FORMAT)
        return api_refuse(reply, "language", "language: \"%.60s\" is not supported", language);
    if (result != 0)
        writer_fail(w);
    return 0;
}

static void break_start(const struct dialect *dialect, const struct service *service, json_t *root, struct request *request,
                        struct reply *reply) {
    (void)dialect;
    (void)service;
    struct plan plan = {0};
    const char *language;
    if (order_read(root, "Text", MICROSOFT_MOST_TEXTS, &plan, &request->arena, reply) != 0 ||
        order_string(root, "language", &language, reply) != 0)
        return;
    struct writer w = {.most = SIZE_MAX};
    struct cutter cutter = {0};
    bool refused = false;
    writer_begin_array(&w, NULL);
    for (size_t i = 0; i < plan.count && !refused; i++)
        refused = put_item(&w, language, &plan.items[i], &cutter, request, reply) != 0;
    writer_end_array(&w);
    segmenter_free(cutter.segmenter);
    if (refused)
        writer_done(&w);
    else
        api_reply_json(reply, &w);
}

const struct dialect dialect_microsoft_break = {.name = "microsoft_break",
                                                .load = microsoft_load,
                                                .merge = microsoft_merge,
                                                .start = break_start,
                                                .put_error = microsoft_put_error};

/* ---- languages ---- */

void microsoft_languages(const struct call *call, struct request *request, struct reply *reply) {
    char in[LANGUAGE_CODE_BYTES];
    language_preferred(call->accept_language, in);
    struct plan_codes codes;
    if (plan_languages(request->models, true, true, &request->arena, &codes) != 0) {
        api_fail_memory(reply);
        return;
    }
    struct writer w = {.most = SIZE_MAX};
    writer_begin_object(&w, NULL);
    writer_begin_object(&w, "translation");
    for (size_t i = 0; i < codes.count; i++) {
        char name[LANGUAGE_NAME_BYTES], own[LANGUAGE_NAME_BYTES];
        language_name_in(codes.all[i], in, name);
        language_name_in(codes.all[i], codes.all[i], own);
        writer_begin_object(&w, codes.all[i]);
        writer_strings(&w, "name", name, "nativeName", own, "dir", language_is_rtl(codes.all[i]) ? "rtl" : "ltr", NULL);
        writer_end_object(&w);
    }
    writer_end_object(&w);
    writer_end_object(&w);
    api_reply_json(reply, &w);
}

/* ---- the token ---- */

static const char *sent_key(const struct call *call) {
    for (size_t i = 0; i < API_KEY_HEADERS; i++)
        if (call->api_keys[i])
            return call->api_keys[i];
    for (size_t i = 0; i < call->field_count; i++)
        if (api_is_key(call->fields[i].name))
            return call->fields[i].value;
    return "none";
}

/* The key itself: it goes on as Authorization: Bearer. */
void api_microsoft_token(const struct service *service, const struct call *call, struct request *request, struct reply *reply) {
    (void)service;
    (void)request;
    const char *key = sent_key(call);
    char *body = strdup(key);
    if (body)
        *reply = (struct reply){.status = STATUS_OK, .content_type = "application/jwt", .body = body, .length = strlen(body)};
    else
        api_fail_memory(reply);
}
