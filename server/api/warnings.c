/* Warnings: the codes and the check for each. A check reads a decoded text and adds at most one warning. */
#include "model/base/utf8.h"
#include "model/translator.h"
#include "server/api/endpoint.h"
#include "server/decode/outcome.h"
#include "server/models/catalog.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 256, UNKNOWN_PARTS = 3, LANGUAGE_BYTES = 4096 };

/* Adds a warning, whose put and detail are for its other members. detail NULL with a put: memory is out. Returns -1 if memory is
 * out. */
__attribute__((format(printf, 6, 7))) static int add_warning(struct warnings *warnings, struct arena *arena, enum warning_code code,
                                                             void (*put)(struct writer *w, const struct warning *warning),
                                                             const void *detail, const char *format, ...) {
    char message[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    struct warning *warning = arena_zalloc(arena, 1, sizeof *warning);
    const char *copy = arena_copy(arena, message, strlen(message));
    if (!warning || !copy || (put && !detail))
        return -1;
    *warning = (struct warning){.code = code, .message = copy, .put = put, .detail = detail};
    *(warnings->last ? &warnings->last->next : &warnings->first) = warning;
    warnings->last = warning;
    warnings->codes |= 1u << code;
    return 0;
}

/* Returns -1 if memory is out. */
static int judge_sentence(const struct request *request, const struct text *text, size_t i, struct arena *arena,
                          struct judgement *out) {
    const struct sentence *first = text->pivot ? &text->pivot->first[i] : NULL;
    return text->jobs ? outcome_judgement(text->jobs[i].outcome, arena, out)
                      : judgement_make(request, text, &text->sentences[i], first, arena, out);
}

/* ---- language ---- */

static void put_language(struct writer *w, const struct warning *warning) {
    writer_string(w, "language", warning->detail);
}

/* Warns if these bytes of a text appear to be in another language than `source`. */
static int warn_of_language(const struct request *request, const char *source, const char *bytes, size_t length,
                            struct arena *arena, struct warnings *warnings) {
    char looks[LANGUAGE_NAME_BYTES], reads[LANGUAGE_NAME_BYTES];
    const struct model_set *models = request->models;
    size_t count = 0;
    const char **likely = arena_alloc(arena, 2 * models->count, sizeof *likely); /* all that the loaded models read or write */
    for (size_t i = 0; likely && i < 2 * models->count; i++) {
        const struct translator_info *info = &models->all[i / 2]->info;
        const char *code = i % 2 == 0 ? info->source : info->target;
        if (*code) /* a folder that cannot be read has no languages */
            likely[count++] = code;
    }
    struct language_other other = {.failed = true};
    if (likely)
        other = language_check(bytes, length, source, likely, count);
    if (other.failed || !*other.code)
        return other.failed ? -1 : 0;
    language_name(other.code, looks);
    language_name(source, reads);
    return add_warning(warnings, arena, WARNING_LANGUAGE, put_language, arena_copy(arena, other.code, strlen(other.code)),
                       "the text looks like %s, but the model reads %s", looks, reads);
}

/* A text without sentences that should be an ICU message could not be parsed. */
static int warn_of_message(const char *text, size_t length, struct arena *arena, struct warnings *warnings) {
    if (!icu_message_is(text, length))
        return 0;
    return add_warning(warnings, arena, WARNING_UNTRANSLATED, NULL, NULL,
                       "the text was returned unchanged: it has braces but is not a valid ICU message");
}

/* ---- numbers ---- */

/* Numbers as they are written, in all sentences of a text. */
struct number_lists {
    const char **source, **target;
    size_t source_count, target_count;
};

static void put_list(struct writer *w, const char *name, const char *const *strings, size_t count) {
    writer_begin_array(w, name);
    for (size_t i = 0; i < count; i++)
        writer_string(w, NULL, strings[i]);
    writer_end_array(w);
}

static void put_numbers(struct writer *w, const struct warning *warning) {
    const struct number_lists *lists = warning->detail;
    put_list(w, "source", lists->source, lists->source_count);
    put_list(w, "target", lists->target, lists->target_count);
}

static void add_all(const char *const *strings, size_t count, const char **list, size_t *used) {
    for (size_t i = 0; i < count; i++)
        list[(*used)++] = strings[i];
}

static int warn_of_numbers(const struct request *request, const struct text *text, const struct judgement *all, struct arena *arena,
                           struct warnings *warnings) {
    struct number_lists *lists = arena_zalloc(arena, 1, sizeof *lists);
    const char **source = arena_alloc(arena, all->source_count, sizeof *source);
    const char **target = arena_alloc(arena, all->target_count, sizeof *target);
    if (!lists || !source || !target)
        return -1;
    for (size_t i = 0; i < text->count; i++) {
        struct judgement one;
        if (judge_sentence(request, text, i, arena, &one) != 0)
            return -1;
        add_all(one.source, one.source_count, source, &lists->source_count);
        add_all(one.target, one.target_count, target, &lists->target_count);
    }
    lists->source = source;
    lists->target = target;
    return add_warning(warnings, arena, WARNING_NUMBERS, put_numbers, lists,
                       "the numbers in the translation differ from those in the text");
}

static void put_doubt(struct writer *w, const struct warning *warning) {
    writer_number(w, "quality", *(const double *)warning->detail);
}

/* ---- all ---- */

static const char *const names[WARNING_CODES] = {
    [WARNING_LANGUAGE] = "language",   [WARNING_UNTRANSLATED] = "untranslated", [WARNING_UNKNOWN] = "unknown",
    [WARNING_SHORTENED] = "shortened", [WARNING_NUMBERS] = "numbers",           [WARNING_DOUBTFUL] = "doubtful",
    [WARNING_ENCODING] = "encoding",   [WARNING_CHANGED] = "changed",
};

/* Adds the warnings of a text. language: its language is judged, too. Returns -1 if memory is out. */
static int check_text(const struct request *request, const struct text *text, bool language, struct arena *arena,
                      struct warnings *warnings) {
    struct judgement one, all = {.estimate = 1}; /* all: the sums; its estimate: the lowest of those that are doubtful */
    size_t doubtful = 0;
    if (text->count == 0)
        return warn_of_message(text->source, text->source_length, arena, warnings);
    for (size_t i = 0; i < text->count; i++) {
        if (judge_sentence(request, text, i, arena, &one) != 0)
            return -1;
        all.untranslated |= one.untranslated;
        all.unknown += one.unknown;
        all.tokens += one.tokens;
        all.omission.tokens += one.omission.tokens;
        all.omission.left += one.omission.left;
        all.source_count += one.source_count;
        all.target_count += one.target_count;
        doubtful += one.doubtful;
        all.estimate = one.doubtful && one.estimate < all.estimate ? one.estimate : all.estimate;
    }

    const struct served_model *reader = text->model ? text->model : request->model;
    if (language && warn_of_language(request, reader->info.source, text->source, text->source_length, arena, warnings) != 0)
        return -1;
    if (all.untranslated && add_warning(warnings, arena, WARNING_UNTRANSLATED, NULL, NULL,
                                        "a sentence was returned unchanged: the model can read none or few of its letters") != 0)
        return -1;
    if (UNKNOWN_PARTS * all.unknown > all.tokens &&
        add_warning(warnings, arena, WARNING_UNKNOWN, NULL, NULL, "the model does not know %zu of the text's %zu tokens",
                    all.unknown, all.tokens) != 0)
        return -1;
    if (omission_is_much(&all.omission) && add_warning(warnings, arena, WARNING_SHORTENED, NULL, NULL,
                                                       "much of the text may be left untranslated: %zu of its %zu tokens",
                                                       all.omission.left, all.omission.tokens) != 0)
        return -1;
    if (all.source_count + all.target_count > 0 && warn_of_numbers(request, text, &all, arena, warnings) != 0)
        return -1;
    if (doubtful == 0 || !request->warns) /* a request may switch this one off with "warnings": false */
        return 0;

    /* the lowest estimate of the sentences counts: one wrong sentence makes a text wrong */
    double *estimate = arena_alloc(arena, 1, sizeof *estimate);
    if (estimate)
        *estimate = all.estimate;
    if (text->count == 1)
        return add_warning(warnings, arena, WARNING_DOUBTFUL, put_doubt, estimate,
                           "the translation is probably wrong: the model is not sure of it");
    return add_warning(warnings, arena, WARNING_DOUBTFUL, put_doubt, estimate,
                       "%zu of the %zu sentences are probably translated wrong: the model is not sure of them", doubtful,
                       text->count);
}

int warnings_of_plan(struct request *request) {
    struct plan *plan = request->plan;
    struct arena *arena = &request->arena;
    struct warnings *warnings = arena_zalloc(arena, 1, sizeof *warnings);
    plan->warnings = warnings;
    if (!warnings)
        return -1;
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_item *item = &plan->items[i];
        bool segments = plan->markup || item->marked;
        if (segments && item->count > 0 && i < plan->strings) { /* the segments' language, judged together */
            char *joined = arena_alloc(arena, LANGUAGE_BYTES, 1);
            size_t length = 0;
            for (size_t j = 0; joined && j < item->count && length < LANGUAGE_BYTES; j++) {
                const struct text *text = &item->texts[j];
                size_t bytes = utf8_clip(text->source, text->source_length, LANGUAGE_BYTES - length - 1);
                memcpy(joined + length, text->source, bytes);
                length += bytes;
                joined[length++] = '\n';
            }
            if (!joined || warn_of_language(request, item->model->info.source, joined, length, arena, warnings) != 0)
                return -1;
        }
        if (!plan->markup && item->marked && item->count == 0 && item->model &&
            warn_of_message(item->source, item->length, arena, warnings) != 0)
            return -1;
        for (size_t j = 0; j < item->count; j++) {
            struct warning *last = warnings->last;
            if (check_text(request, &item->texts[j], !segments, arena, warnings) != 0)
                return -1;
            for (struct warning *added = last ? last->next : warnings->first; added; added = added->next)
                added->text = (size_t)(&item->texts[j] - request->texts);
        }
    }
    return 0;
}

/* ---- written ---- */

void warning_begin(struct writer *w, const struct warning *warning) {
    writer_begin_object(w, NULL);
    writer_strings(w, "code", names[warning->code], "message", warning->message, NULL);
    if (warning->put)
        warning->put(w, warning);
}

void api_put_warnings(const struct request *request, const struct text *text, struct arena *arena, struct writer *out) {
    struct warnings warnings = {0};
    if (check_text(request, text, true, arena, &warnings) != 0)
        writer_fail(out);
    if (!warnings.first)
        return;
    writer_begin_array(out, "warnings");
    for (const struct warning *warning = warnings.first; warning; warning = warning->next) {
        warning_begin(out, warning);
        writer_end_object(out);
    }
    writer_end_array(out);
}

const char *warning_name(size_t code) {
    return code < WARNING_CODES ? names[code] : NULL;
}

void api_name_warnings(const struct reply *reply, char text[API_WARNINGS_BYTES]) {
    size_t length = 0;
    *text = '\0';
    for (size_t code = 0; code < WARNING_CODES; code++)
        if (reply->warnings & 1u << code)
            length += (size_t)snprintf(text + length, API_WARNINGS_BYTES - length, "%s%s", length > 0 ? ", " : "", names[code]);
}
