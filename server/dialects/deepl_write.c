#include "server/dialects/deepl_write.h"
#include "server/api/languages.h"
#include "server/api/order.h"
#include "server/api/reply.h"
#include "server/dialects/deepl.h"
#include <string.h>

/* The models know one style and one tone: their training text's. Others are checked and ignored. */
static int write_read(const json_t *root, struct order *order, struct arena *arena,
                      struct reply *reply) {
    static const char *const styles[] = {
        "default",         "academic",        "business",      "casual",        "simple",
        "prefer_academic", "prefer_business", "prefer_casual", "prefer_simple", NULL};
    static const char *const tones[] = {"default",           "confident",
                                        "diplomatic",        "enthusiastic",
                                        "friendly",          "prefer_confident",
                                        "prefer_diplomatic", "prefer_enthusiastic",
                                        "prefer_friendly",   NULL};
    const char *style, *tone;
    (void)order;
    (void)arena;
    if (order_word(root, "writing_style", styles,
                   "default, or academic, business, casual or simple, with prefer_ or without",
                   &style, reply) != 0 ||
        order_word(root, "tone", tones,
                   "default, or confident, diplomatic, enthusiastic or friendly, with prefer_ or "
                   "without",
                   &tone, reply) != 0)
        return -1;
    return style && tone && strcmp(style, *styles) != 0 && strcmp(tone, *tones) != 0
               ? reply_refuse(reply, "tone",
                              "Both writing_style and tone defined, but they exclude each other")
               : 0;
}

static void write_refuse(enum plan_refusal refusal, const struct plan_reason *reason, size_t most,
                         struct reply *reply) {
    if (refusal == PLAN_LENGTH)
        reply_fail(reply, STATUS_TOO_LARGE, "text",
                   "text must have at most %zu characters, got %zu", most, reason->characters);
    else if (refusal == PLAN_PAIR && !language_same(reason->source, reason->target))
        reply_fail(reply, STATUS_INVALID, "target_lang",
                   "target_lang must be the language of the text, \"%.60s\", or a variant of it, "
                   "got \"%.60s\"",
                   reason->from, reason->to);
    else
        reply_fail(reply, STATUS_INVALID, "target_lang",
                   "Value for 'target_lang' not supported: no models translate from \"%.60s\" and "
                   "back",
                   refusal == PLAN_PAIR ? reason->from : reason->asked);
}

static void write_put(struct writer *w, const struct plan *plan, const struct plan_answers *answers,
                      struct arena *arena) {
    (void)arena;
    writer_begin_object(w, NULL);
    writer_begin_array(w, "improvements");
    for (size_t i = 0; i < plan->count; i++) {
        writer_begin_object(w, NULL);
        order_put_text(w, "text", &answers[i].all[0]);
        writer_strings(w, "detected_source_language", plan_source(plan, i), "target_language",
                       plan->items[i].target_language, NULL);
        writer_end_object(w);
    }
    writer_end_array(w);
    writer_end_object(w);
}

static const struct dialect_field write_fields[] = {
#define DEEPL_WRITE(name, fate, usual, example) {name, FIELD_##fate, usual},
#include "server/dialects/fields.def"
    {NULL, FIELD_HONOURED, NULL}};

const struct dialect dialect_deepl_write = {.name = "deepl-write",
                                            .key = "Authorization: DeepL-Auth-Key KEY, or the "
                                                   "field auth_key",
                                            .fields = write_fields,
                                            .load = order_load,
                                            .several = "text",
                                            .order = {.text_name = "text",
                                                      .source_name = "source_lang",
                                                      .target_name = "target_lang",
                                                      .apart = true,
                                                      .rewrites = true,
                                                      .refuse = write_refuse},
                                            .start = order_begin,
                                            .read = write_read,
                                            .finish = order_finish,
                                            .put = write_put,
                                            .put_error = deepl_put_error,
                                            .status_of = deepl_status};
