/* This file hides how a dictionary is made of two models. A word or short phrase is translated as a
 * sentence of its own, and each translation in its beam is translated back. A translation is an
 * entry if the word is likely among what it is translated back to; the likeliest one always is. */
#include "server/dialects/dictionary.h"
#include "model/base/utf8.h"
#include "server/api/answer.h"
#include "server/api/decode.h"
#include "server/api/order.h"
#include "server/api/reply.h"
#include "server/api/value.h"
#include "server/decode/outcome.h"
#include "server/dialects/microsoft.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_WORDS = 10, /* in a request, each with this many characters, as Microsoft has them */
    MOST_CHARACTERS = 100,
    TRANSLATIONS = 12, /* of a word, and of each of these so many back */
    RETURNS = 8,
    CHARACTER_BYTES = 4,
    CERTAIN = 10000 /* the frequency of a back-translation whose probability is 1 */
};
/* The least probability of a translation that is translated back to the word, and of any other. */
static const double least_confirmed = 0.001, least_probability = 0.01;

/* ---- forms ---- */

/* A form of a word, and the probability of all of its spellings together. */
struct form {
    const char *display, *normalized; /* its likeliest spelling; the same in lower case */
    double probability;
};
struct forms {
    struct form *all; /* [count] */
    size_t count;
};

/* Returns the text without the white space and the punctuation marks around it. */
static struct span trim(const char *text, size_t length) {
    size_t begin = length, end = 0;
    for (size_t at = 0; at < length;) {
        size_t before = at;
        int32_t c = character_next(text, length, &at);
        if (character_is_space(c) || character_is_mark(c))
            continue;
        begin = before < begin ? before : begin;
        end = at;
    }
    return begin < end ? (struct span){begin, end} : (struct span){0, 0};
}

/* Returns -1 if memory runs out. */
static int make_form(const char *text, size_t length, double probability, struct arena *arena,
                     struct form *out) {
    struct span span = trim(text, length);
    size_t bytes = span.end - span.begin, written = 0;
    char *display = arena_copy(arena, text + span.begin, bytes);
    char *normalized = arena_alloc(arena, bytes + 1, CHARACTER_BYTES);
    if (!display || !normalized)
        return -1;
    for (size_t at = 0; at < bytes;)
        written += character_put(character_lower(character_next(display, bytes, &at)),
                                 normalized + written);
    normalized[written] = '\0';
    *out = (struct form){display, normalized, probability};
    return 0;
}

static struct form *find_form(const struct forms *forms, const char *normalized) {
    for (size_t i = 0; i < forms->count; i++)
        if (strcmp(forms->all[i].normalized, normalized) == 0)
            return &forms->all[i];
    return NULL;
}

static int compare_forms(const void *a, const void *b) {
    const struct form *x = a, *y = b;
    return x->probability != y->probability ? (x->probability < y->probability ? 1 : -1)
                                            : strcmp(x->normalized, y->normalized);
}

/* Lists the forms of the translations of a sentence, which is all of the text, the likeliest first.
 * Returns -1 if memory runs out. */
static int list_forms(const struct text *text, const struct sentence *sentence, struct arena *arena,
                      struct forms *out) {
    struct sentence one = *sentence; /* the shared members are only read */
    struct text ranked = *text;
    ranked.sentences = &one;
    *out = (struct forms){.all = arena_alloc(arena, sentence->count, sizeof *out->all)};
    for (size_t i = 0; out->all && i < sentence->count; i++, one.hypotheses++) {
        double probability = exp(one.hypotheses->log_prob);
        struct rendered rendered;
        struct form form;
        if (outcome_text(&ranked, arena, &rendered, NULL) != 0 ||
            make_form(rendered.text, rendered.length, probability, arena, &form) != 0)
            return -1;
        struct form *same = find_form(out, form.normalized);
        if (same)
            same->probability += form.probability;
        else if (*form.normalized)
            out->all[out->count++] = form;
    }
    if (out->count > 1)
        qsort(out->all, out->count, sizeof *out->all, compare_forms);
    return out->all ? 0 : -1;
}

/* ---- entries ---- */

/* The sentence that the first of an item's models has translated, as part of its text. */
static struct sentence first_sentence(const struct text *text) {
    const struct job *job = text->jobs[0].original ? text->jobs[0].original : &text->jobs[0];
    struct sentence first = job->first ? *job->first : text->sentences[0];
    first.text = text->source;
    first.source = text->jobs[0].source;
    return first;
}

/* Returns the forms to which the translations of this form were translated back. The text that has
 * the likeliest of them counts. -1: memory ran out. */
static int list_returns(const struct plan_item *item, const struct sentence *first,
                        const struct form *form, struct arena *arena, struct forms *out) {
    *out = (struct forms){.count = 0};
    for (size_t rank = 0; item->chosen.second && rank < item->count && rank < first->count;
         rank++) {
        struct sentence one = *first;
        struct forms written;
        one.hypotheses += rank;
        one.count = 1;
        const struct text *text = &item->texts[rank];
        if (list_forms(text, &one, arena, &written) != 0)
            return -1;
        if (find_form(&written, form->normalized))
            return list_forms(text, &text->sentences[0], arena, out);
    }
    return 0;
}

static void put_returns(struct writer *w, const struct forms *returns, const char *word) {
    writer_begin_array(w, "backTranslations");
    for (size_t i = 0; i < returns->count; i++) {
        const struct form *form = &returns->all[i];
        if (form->probability < least_probability && strcmp(form->normalized, word) != 0)
            break;
        writer_begin_object(w, NULL);
        writer_strings(w, "normalizedText", form->normalized, "displayText", form->display, NULL);
        writer_count(w, "numExamples", 0);
        writer_count(w, "frequencyCount", (size_t)lround(form->probability * CERTAIN));
        writer_end_object(w);
    }
    writer_end_array(w);
}

/* Writes the entries of a word. Returns -1 if memory runs out. */
static int put_entries(struct writer *w, const struct plan_item *item, const char *word,
                       struct arena *arena) {
    const struct sentence first = first_sentence(&item->texts[0]);
    struct forms forms, returns;
    if (list_forms(&item->texts[0], &first, arena, &forms) != 0)
        return -1;
    for (size_t i = 0; i < forms.count; i++) {
        const struct form *form = &forms.all[i];
        if (list_returns(item, &first, form, arena, &returns) != 0)
            return -1;
        const struct form *back = find_form(&returns, word);
        bool confirmed = back && back->probability >= least_probability;
        if (i > 0 && form->probability < (confirmed ? least_confirmed : least_probability))
            continue;
        writer_begin_object(w, NULL);
        writer_strings(w, "normalizedTarget", form->normalized, "displayTarget", form->display,
                       "posTag", "OTHER", NULL);
        writer_number(w, "confidence", form->probability);
        writer_string(w, "prefixWord", "");
        put_returns(w, &returns, word);
        writer_end_object(w);
    }
    return 0;
}

/* ---- /dictionary/lookup ---- */

static void lookup_start(const struct dialect *dialect, const struct service *service, json_t *root,
                         struct request *request, struct reply *reply) {
    struct order *order = order_create(request, &dialect->order, reply);
    if (!order || order_texts(root, order, MOST_WORDS, reply) != 0 ||
        order_string(root, "from", &order->source, reply) != 0 ||
        order_string(root, "to", &order->targets[0], reply) != 0)
        return;
    const char *missing = !order->source ? "from" : !order->targets[0] ? "to" : NULL;
    if (missing) {
        reply_fail(reply, STATUS_INVALID, missing, "%s is missing", missing);
        return;
    }
    for (size_t i = 0; i < order->count; i++) {
        const json_t *text = json_array_get(order->texts, i);
        size_t characters = utf8_count(json_string_value(text), json_string_length(text));
        if (characters > MOST_CHARACTERS) {
            reply_fail(reply, STATUS_TOO_LARGE, "Text",
                       "Text must have at most %d characters, got %zu", MOST_CHARACTERS,
                       characters);
            return;
        }
    }
    order->target_count = 1;
    order->translations = TRANSLATIONS;
    order->returns = RETURNS;
    order_start(order, dialect, service, root, request, reply);
}

static void lookup_finish(const struct service *service, struct request *request,
                          struct reply *reply) {
    const struct plan *plan = request->plan;
    struct arena *arena = &request->arena;
    if (decode_fail(request, reply))
        return;
    struct writer w = answer_begin(service);
    writer_begin_array(&w, NULL);
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_item *item = &plan->items[i];
        struct form word;
        if (make_form(item->source, item->length, 0, arena, &word) != 0) {
            writer_fail(&w);
            break;
        }
        writer_begin_object(&w, NULL);
        writer_strings(&w, "normalizedSource", word.normalized, "displaySource", word.display,
                       NULL);
        writer_begin_array(&w, "translations");
        if (*word.normalized && put_entries(&w, item, word.normalized, arena) != 0)
            writer_fail(&w);
        writer_end_array(&w);
        writer_end_object(&w);
    }
    writer_end_array(&w);
    answer_reply(service, reply, &w);
}

const struct dialect dialect_dictionary_lookup = {.name = "dictionary_lookup",
                                                  .key = microsoft_key,
                                                  .load = microsoft_load,
                                                  .merge = microsoft_merge_3,
                                                  .order = {.text_name = "Text",
                                                            .source_name = "from",
                                                            .target_name = "to",
                                                            .whole = true,
                                                            .unwarned = true},
                                                  .start = lookup_start,
                                                  .finish = lookup_finish,
                                                  .put_error = microsoft_put_error};

/* ---- /dictionary/examples ---- */

/* Adds the pairs, which are in the body. */
static json_t *examples_merge(const struct call *call, json_t *body, struct reply *reply) {
    json_t *root = microsoft_merge_3(call, body, reply);
    if (root)
        json_object_set(root, "pairs", body);
    return root;
}

/* Models are not made of sentences that could be shown: each pair has an empty list of examples. */
static void examples_start(const struct dialect *dialect, const struct service *service,
                           json_t *root, struct request *request, struct reply *reply) {
    (void)dialect;
    (void)service;
    const json_t *pairs = json_object_get(root, "pairs"), *pair;
    size_t i;
    struct order order = {.text_name = "Text"};
    if (order_texts(root, &order, MOST_WORDS, reply) != 0)
        return;
    struct writer w = {.most = SIZE_MAX};
    writer_begin_array(&w, NULL);
    json_array_foreach(pairs, i, pair) {
        const char *names[] = {"Text", "Translation"};
        struct form forms[2];
        for (size_t k = 0; k < 2; k++) {
            const json_t *value = json_object_get(pair, names[k]);
            size_t length = json_string_length(value);
            if (!json_is_string(value) ||
                utf8_count(json_string_value(value), length) > MOST_CHARACTERS) {
                writer_done(&w);
                reply_fail(reply, STATUS_INVALID, names[k],
                           "%s must be a string of at most %d characters", names[k],
                           MOST_CHARACTERS);
                return;
            }
            if (make_form(json_string_value(value), length, 0, &request->arena, &forms[k]) != 0) {
                writer_done(&w);
                reply_fail_memory(reply);
                return;
            }
        }
        writer_begin_object(&w, NULL);
        writer_strings(&w, "normalizedSource", forms[0].normalized, "normalizedTarget",
                       forms[1].normalized, NULL);
        writer_begin_array(&w, "examples");
        writer_end_array(&w);
        writer_end_object(&w);
    }
    writer_end_array(&w);
    reply_json(reply, &w);
}

const struct dialect dialect_dictionary_examples = {.name = "dictionary_examples",
                                                    .key = microsoft_key,
                                                    .load = microsoft_load,
                                                    .merge = examples_merge,
                                                    .start = examples_start,
                                                    .put_error = microsoft_put_error};
