/* What dialects of other services share: strings, or markup, in a pair of languages, and the translation of each as text. A dialect
 * reads them, words the refusals and writes the answer. */
#ifndef ALIGND_API_PLAN_H
#define ALIGND_API_PLAN_H

#include "server/api/api_json.h"
#include "server/html/html.h"

/* One string: a text of the request, or, as markup, one for each of its segments. */
struct plan_item {
    const char *source; /* [length], valid UTF-8 */
    size_t length;
    struct text *texts; /* [count] */
    size_t count;
    struct html html;
};

/* A language that a text is likely in. */
struct plan_guess {
    const char *code;
    double confidence; /* 0 to 100 */
};

/* How the texts of a request make its answer. In its arena, as all that it holds; request->plan of such dialects. */
struct plan {
    struct plan_item *items; /* [count] */
    size_t count;
    bool markup, same;   /* same: source and target are one language, nothing is translated */
    size_t alternatives; /* wanted beside each translation; of markup there are none */
    bool guessed;        /* the source language was not given; then guess is what it is taken for */
    struct plan_guess guess;
};

/* Why a request is refused. */
enum plan_refusal { PLAN_OK, PLAN_MEMORY, PLAN_SOURCE, PLAN_TARGET, PLAN_PAIR, PLAN_MARKUP, PLAN_LENGTH };

/* What a dialect may say of it. */
struct plan_reason {
    const char *source, *target; /* PLAN_PAIR: the languages that no model has a way between, as the models name them */
    size_t characters;           /* PLAN_LENGTH: how many there are */
    struct error error;          /* PLAN_MARKUP: what is wrong with it */
};

/* A model of another task, such as parsing, has no languages here. */
bool plan_translates(const struct translator_info *info);

/* Copies the strings of an array, or the one, to items: [count] >= 1 of them, all strings. -1: memory is out. */
int plan_read(struct plan *plan, const json_t *strings, size_t count, struct arena *arena);

/* The likeliest of the models' source languages, for all items together. code NULL: memory is out. */
struct plan_guess plan_detect(const struct plan *plan, const struct model_set *models);

/* Chooses the model by the pair of languages: request->model, or plan->same. "en-US" is met by a model for "en". source: "auto" for
 * the likeliest. */
enum plan_refusal plan_choose(struct plan *plan, const char *source, const char *target, struct request *request,
                              struct plan_reason *reason);

/* Items -> texts of the request, of at most max_characters together, tags not counted. */
enum plan_refusal plan_prepare(struct plan *plan, size_t max_characters, struct request *request, struct plan_reason *reason);

/* How such a request is decoded: as one of the native dialect that says nothing of it. rows: of a worker. */
void plan_search(const struct plan *plan, size_t rows, struct request *request);

/* The answers of one item: its translation, then, as far as they were asked for, alternatives to it. */
struct plan_answer {
    const char *text;
    size_t length;
};
struct plan_answers {
    struct plan_answer *all; /* [count] none twice */
    size_t count;
};

/* Of each item, in their order, once the request is decoded. NULL: memory is out. */
const struct plan_answers *plan_answers(const struct plan *plan, struct arena *arena);

#endif
