/* `warnings` of a text: what is likely wrong with it or its translation, told without being asked for. */
#include "server/api/api_plan.h"
#include "server/api/language.h"
#include "server/decode/model_set.h"
#include "server/decode/omission.h"
#include <stdarg.h>
#include <stdio.h>

enum { MESSAGE_BYTES = 256, UNKNOWN_PARTS = 3 };

/* The array is begun with the first. */
struct warnings {
    struct writer *out;
    bool any;
};

/* Begins a warning, to be ended with warning_end. */
static __attribute__((format(printf, 3, 4))) void warning_begin(struct warnings *warnings, const char *code, const char *format,
                                                                ...) {
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (!warnings->any)
        writer_begin_array(warnings->out, "warnings");
    warnings->any = true;
    writer_begin_object(warnings->out, NULL);
    writer_strings(warnings->out, "code", code, "message", message, NULL);
}

static void warning_end(struct warnings *warnings) {
    writer_end_object(warnings->out);
}

/* ---- language ---- */

/* What short texts may be in: whatever a model here reads or writes. */
static const char **likely_languages(const struct model_set *models, struct arena *arena, size_t *count) {
    const char **codes = arena_alloc(arena, 2 * models->count, sizeof *codes);
    *count = 0;
    for (size_t i = 0; codes && i < 2 * models->count; i++) {
        const struct translator_info *info = &models->all[i / 2]->info;
        const char *code = i % 2 == 0 ? info->source : info->target;
        if (*code) /* not of a folder that cannot be read */
            codes[(*count)++] = code;
    }
    return codes;
}

static void warn_of_language(const struct request *request, const struct text *text, struct arena *arena,
                             struct warnings *warnings) {
    const char *source = text->second ? text->model->info.source : request->model->info.source;
    char looks[LANGUAGE_NAME_BYTES], reads[LANGUAGE_NAME_BYTES];
    size_t count;
    const char **likely = likely_languages(request->models, arena, &count);
    struct language_other other = {.failed = true};
    if (likely)
        other = language_check(text->source, text->source_length, source, likely, count);
    if (other.failed)
        writer_fail(warnings->out);
    if (!*other.code)
        return;
    language_name(other.code, looks);
    language_name(source, reads);
    warning_begin(warnings, "language", "the text looks like %s, but the model reads %s", looks, reads);
    writer_string(warnings->out, "language", other.code);
    warning_end(warnings);
}

/* ---- unknown ---- */

static void warn_of_unknowns(const struct text *text, struct warnings *warnings) {
    size_t unknown = 0, tokens = 0;
    for (size_t i = 0; i < text->count; i++) {
        unknown += text->sentences[i].unknown;
        tokens += sentence_own(&text->sentences[i]).end - sentence_own(&text->sentences[i]).begin;
    }
    if (UNKNOWN_PARTS * unknown <= tokens)
        return;
    warning_begin(warnings, "unknown", "the model does not know %zu of the text's %zu tokens", unknown, tokens);
    warning_end(warnings);
}

/* ---- shortened ---- */

/* Of its best hypothesis. By the attention, of a model with an alignment head, too: a warning must not depend on what else is
 * asked. */
static int add_omissions(const struct sentence *sentence, struct arena *arena, struct omission *sum) {
    const struct hypothesis *best = &sentence->hypotheses[0];
    return omission_add(best->attention, best->length, sentence_own(sentence), arena, sum, NULL);
}

/* A logical form says less than its question: only translations leave something out. */
static void warn_of_omissions(const struct request *request, const struct text *text, struct arena *arena,
                              struct warnings *warnings) {
    const struct translator_info *info = &request->model->info;
    struct omission sum = {0};
    bool tells = info->attention && info->attention_trained;
    if (text->second)
        tells &= text->model->info.attention && text->model->info.attention_trained;
    for (size_t i = 0; tells && plan_translates(info) && i < text->count; i++)
        if (add_omissions(&text->sentences[i], arena, &sum) != 0)
            writer_fail(warnings->out);
    if (!omission_is_much(&sum))
        return;
    warning_begin(warnings, "shortened", "much of the text may be left untranslated: %zu of its %zu tokens", sum.left, sum.tokens);
    warning_end(warnings);
}

/* ---- all ---- */

void api_put_warnings(const struct request *request, const struct text *text, struct arena *arena, struct writer *out) {
    struct warnings warnings = {.out = out};
    if (text->count == 0)
        return;
    warn_of_language(request, text, arena, &warnings);
    warn_of_unknowns(text, &warnings);
    warn_of_omissions(request, text, arena, &warnings);
    if (warnings.any)
        writer_end_array(out);
}
