/* LibreTranslate's dialect of POST /translate: its fields, its words for errors, its answers. Unknown fields are ignored, since its
 * clients send some of their own. */
#include "server/api/api_libre.h"
#include "server/api/language.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fields as sent; strings are borrowed from the JSON. */
struct libre_form {
    const json_t *q;
    size_t count, alternatives;
    const char *source, *target, *format;
};

/* What the answer needs. */
struct libre {
    struct plan plan; /* the first member: request->plan is this */
    bool array;       /* q is one, and so are the members of the answer */
};

/* ---- fields ---- */

/* Without text it is LibreTranslate's where only its clients would send such a thing. */
static bool libre_speaks(const struct dialect_fields *fields) {
    return dialect_has(fields, "q") || (dialect_has(fields, "source") && dialect_has(fields, "target")) ||
           dialect_has(fields, "format") || dialect_has(fields, "alternatives") || dialect_has(fields, "api_key");
}

json_t *libre_load(const struct call *call, struct reply *reply) {
    json_t *root = json_object();
    for (size_t i = 0; root && i < call->field_count; i++) {
        const struct api_field *field = &call->fields[i];
        if (!json_object_get(root, field->name)) /* the first one counts */
            json_object_set_new(root, field->name, json_stringn(field->value, field->length));
    }
    if (!api_lacked_memory())
        return root;
    json_decref(root);
    api_fail_memory(reply);
    return NULL;
}

int libre_count(const json_t *q, size_t *count, struct reply *reply) {
    *count = json_is_array(q) ? json_array_size(q) : 1;
    if (!q || json_is_null(q) || *count == 0 || (json_is_string(q) && json_string_length(q) == 0))
        return api_refuse(reply, "q", "Invalid request: missing q parameter");
    if (*count > API_MAX_TEXTS)
        return api_refuse(reply, "q", "Invalid request: request (%zu) exceeds text limit (%d)", *count, API_MAX_TEXTS);
    for (size_t i = 0; i < *count; i++) {
        if (!json_is_string(json_is_array(q) ? json_array_get(q, i) : q))
            return api_refuse(reply, "q", "Invalid request: q parameter is not a string or an array of strings");
    }
    return 0;
}

static int libre_read_string(const json_t *root, const char *name, const char **out, struct reply *reply) {
    const json_t *value = json_object_get(root, name);
    if (value && !json_is_null(value) && !json_is_string(value))
        return api_refuse(reply, name, "Invalid request: %s parameter is not a string", name);
    *out = json_is_string(value) && json_string_length(value) > 0 ? json_string_value(value) : NULL;
    return 0;
}

static int read_code(const json_t *root, const char *name, const char **out, struct reply *reply) {
    if (libre_read_string(root, name, out, reply) != 0)
        return -1;
    return *out ? 0 : api_refuse(reply, name, "Invalid request: missing %s parameter", name);
}

/* A number, or one in a string as forms have it. */
static int read_alternatives(const json_t *root, size_t most, size_t *out, struct reply *reply) {
    const char *name = "alternatives";
    const json_t *value = json_object_get(root, name);
    if (!value || json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0))
        return 0;
    long long number = json_integer_value(value);
    char *end = NULL;
    errno = 0;
    if (json_is_string(value))
        number = strtoll(json_string_value(value), &end, 10);
    if (errno != 0 || (json_is_string(value) ? *end != '\0' : !json_is_integer(value)))
        return api_refuse(reply, name, "Invalid request: alternatives parameter is not a number");
    if (number > (long long)most)
        return api_refuse(reply, name, "Invalid request: alternatives parameter must be <= %zu", most);
    *out = number > 0 ? (size_t)number : 0;
    return 0;
}

static int read_form(const json_t *root, size_t rows, struct libre_form *form, struct reply *reply) {
    size_t beam = rows < REQUEST_MAX_BEAM ? rows : REQUEST_MAX_BEAM;
    form->q = json_object_get(root, "q");
    if (libre_count(form->q, &form->count, reply) != 0 || read_code(root, "source", &form->source, reply) != 0 ||
        read_code(root, "target", &form->target, reply) != 0 || libre_read_string(root, "format", &form->format, reply) != 0 ||
        read_alternatives(root, beam - 1, &form->alternatives, reply) != 0)
        return -1;
    if (form->format && strcmp(form->format, "text") != 0 && strcmp(form->format, "html") != 0)
        return api_refuse(reply, "format", "%.60s format is not supported", form->format);
    return 0;
}

/* ---- refusals ---- */

static void fail_pair(const struct plan_reason *reason, struct reply *reply) {
    char from[LANGUAGE_NAME_BYTES], to[LANGUAGE_NAME_BYTES];
    language_name(reason->source, from);
    language_name(reason->target, to);
    api_fail(reply, STATUS_INVALID, "target", "%s (%s) is not available as a target language from %s (%s)", to, reason->target,
             from, reason->source);
}

/* True, and the reply is set, if it is one. most: characters. */
static bool fails(enum plan_refusal refusal, const struct libre_form *form, const struct plan_reason *reason, size_t most,
                  struct reply *reply) {
    switch (refusal) {
    case PLAN_OK:
        break;
    case PLAN_MEMORY:
        api_fail_memory(reply);
        break;
    case PLAN_SOURCE:
        api_fail(reply, STATUS_INVALID, "source", "%.60s is not supported", form->source);
        break;
    case PLAN_TARGET:
        api_fail(reply, STATUS_INVALID, "target", "%.60s is not supported", form->target);
        break;
    case PLAN_PAIR:
        fail_pair(reason, reply);
        break;
    case PLAN_MARKUP:
        api_fail(reply, STATUS_INVALID, "q", "Invalid request: %s", reason->error.message);
        break;
    case PLAN_LENGTH:
        api_fail(reply, STATUS_TOO_LARGE, "q", "Invalid request: request (%zu) exceeds text limit (%zu)", reason->characters, most);
        break;
    }
    return refusal != PLAN_OK;
}

/* Its clients know by this word that they are to ask again. */
static void libre_put_error(struct writer *w, const struct dialect_error *error) {
    char message[API_MESSAGE_BYTES];
    struct dialect_error own = *error;
    snprintf(message, sizeof message, "Slowdown: %s", error->message);
    if (error->status == STATUS_QUEUE_FULL)
        own.message = message;
    dialect_put_error(w, &own);
}

/* ---- from the fields to the jobs ---- */

static struct libre *libre_create(const struct libre_form *form, struct request *request, struct reply *reply) {
    struct libre *libre = arena_zalloc(&request->arena, 1, sizeof *libre);
    if (!libre || plan_read(&libre->plan, form->q, form->count, &request->arena) != 0) {
        api_fail_memory(reply);
        return NULL;
    }
    libre->array = json_is_array(form->q);
    libre->plan.markup = form->format && strcmp(form->format, "html") == 0;
    libre->plan.alternatives = form->alternatives;
    return libre;
}

static void libre_start(const struct dialect *dialect, const struct service *service, json_t *root, struct request *request,
                        struct reply *reply) {
    size_t rows = service->options.rows, most = service->options.max_text_chars;
    struct libre_form form = {0};
    struct plan_reason reason = {0};
    struct libre *libre = read_form(root, rows, &form, reply) == 0 ? libre_create(&form, request, reply) : NULL;
    if (!libre)
        return;
    struct plan *plan = request->plan = &libre->plan;
    if (fails(plan_choose(plan, form.source, form.target, request, &reason), &form, &reason, most, reply) ||
        fails(plan_prepare(plan, most, request, &reason), &form, &reason, most, reply))
        return;
    plan_search(plan, rows, request);
    if (!plan->same && !api_recall(service, dialect->name, root, request, reply))
        api_prepare(service, "q", request, reply);
}

/* ---- the answer ---- */

/* A member for all items: an array with an element of each, or, if q is no array, that of the one. */
static void put_member(struct writer *w, const char *key, const struct libre *libre, const struct plan_answers *answers,
                       void (*put)(struct writer *w, const char *key, const struct plan *plan,
                                   const struct plan_answers *answers)) {
    if (libre->array)
        writer_begin_array(w, key);
    for (size_t i = 0; i < libre->plan.count; i++)
        put(w, libre->array ? NULL : key, &libre->plan, &answers[i]);
    if (libre->array)
        writer_end_array(w);
}

static void put_translated(struct writer *w, const char *key, const struct plan *plan, const struct plan_answers *answers) {
    (void)plan;
    writer_string_of(w, key, answers->all[0].text, answers->all[0].length);
}

static void put_alternatives(struct writer *w, const char *key, const struct plan *plan, const struct plan_answers *answers) {
    (void)plan;
    writer_begin_array(w, key);
    for (size_t i = 1; i < answers->count; i++)
        writer_string_of(w, NULL, answers->all[i].text, answers->all[i].length);
    writer_end_array(w);
}

void libre_put_guess(struct writer *w, const char *key, const struct plan_guess *guess) {
    writer_begin_object(w, key);
    writer_number(w, "confidence", guess->confidence);
    writer_string(w, "language", guess->code);
    writer_end_object(w);
}

static void put_detected(struct writer *w, const char *key, const struct plan *plan, const struct plan_answers *answers) {
    (void)answers;
    libre_put_guess(w, key, &plan->guess);
}

static void put_answers(struct writer *w, const struct libre *libre, const struct plan_answers *answers) {
    put_member(w, "translatedText", libre, answers, put_translated);
    if (libre->plan.alternatives > 0)
        put_member(w, "alternatives", libre, answers, put_alternatives);
    if (libre->plan.guessed)
        put_member(w, "detectedLanguage", libre, answers, put_detected);
}

static void libre_finish(const struct service *service, struct request *request, struct reply *reply) {
    if (api_fail_decoded(request, reply))
        return;
    const struct libre *libre = request->plan;
    const struct plan_answers *answers = plan_answers(&libre->plan, &request->arena);
    struct writer w = api_begin_answer(service);
    writer_begin_object(&w, NULL);
    if (answers)
        put_answers(&w, libre, answers);
    else
        writer_fail(&w);
    writer_end_object(&w);
    api_reply_answer(service, reply, &w);
}

const struct dialect dialect_libre = {"libre", "/translate", libre_speaks, libre_load, libre_start, libre_finish, libre_put_error};
