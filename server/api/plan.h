/* Plans, which dialects of other services share: strings or markup in a pair of languages, and the translation of each as text. A
 * dialect reads the strings, writes the refusals and writes the answer. */
#ifndef ALIGND_PLAN_H
#define ALIGND_PLAN_H

#include "server/api/endpoint.h"
#include "server/api/languages.h"
#include "server/documents/document.h"

/* A likely language of a text. */
struct plan_guess {
    const char *code;
    double confidence; /* 0 to 100 */
};

/* One string in one target language. It is one text of the request or, for markup, one text for each segment. */
struct plan_item {
    const char *source; /* [length], valid UTF-8 */
    size_t length;
    struct served_model *model;  /* NULL: it is in the target language already and is not translated */
    const char *language;        /* of the source, for a model of many languages; NULL: the model has one pair */
    const char *variant;         /* the model's variant; NULL: none */
    struct served_model *second; /* the second model, which translates the first one's output, and its variant; NULL: none */
    const char *second_variant;
    struct plan_guess guess;                       /* guesses of the source language, if the request does not give it */
    const char *source_language, *target_language; /* the values of lang attributes */
    struct text *texts;                            /* [count] */
    size_t count;
    bool parsed; /* html and count are set */
    bool marked; /* it is a text with marks (server/markup/markup.h), which is handled like markup */
    struct html html;
};

/* How the texts of a request make its answer. Everything is in the request's arena; such dialects set request->plan. */
struct plan {
    struct plan_item *items; /* [count]: all strings in the first target language, then all in the next */
    size_t count, strings;
    bool markup;
    const struct document_format *document; /* the markup is a document of this format; NULL: not a document */
    const struct html_tags *tags;           /* the markup is XML with these options; NULL: HTML */
    bool whole;                             /* not cut into sentences */
    bool aligned;                           /* plan_align will be called: marks in texts are not recognized */
    bool verbatim;                          /* marks in texts are not recognized */
    bool apart;                             /* if the source language is not given, each string is detected separately */
    size_t alternatives;                    /* alternatives for each translation; markup has none */
    bool guessed;                           /* the source language is detected */
    const struct order *order;              /* the languages it was made for */
    const char *pivot;                      /* as in struct service_options */
    const struct warnings *warnings;        /* set after its texts are decoded (plan_warn) */
};

/* The reason for refusing a request. */
enum plan_refusal { PLAN_OK, PLAN_MEMORY, PLAN_SOURCE, PLAN_TARGET, PLAN_PAIR, PLAN_MARKUP, PLAN_LENGTH };

/* The details of a refusal, for its message. */
struct plan_reason {
    const char *from, *to;       /* PLAN_SOURCE, PLAN_TARGET, PLAN_PAIR: the codes that were asked for */
    const char *asked;           /* PLAN_SOURCE, PLAN_TARGET: the code that no model knows */
    const char *source, *target; /* PLAN_PAIR: languages without a model between them, as the models name them */
    size_t characters;           /* PLAN_LENGTH: the number of characters */
    struct error error;          /* PLAN_MARKUP: the error in it */
};

/* True if the model translates. Models for other tasks, such as parsing, have no languages here. */
bool plan_translates(const struct translator_info *info);

/* Language codes without duplicates, in the arena. */
struct plan_codes {
    char (*all)[VARIANT_CODE_BYTES]; /* [count] */
    size_t count;
};
/* Collects the models' languages: sources first, then targets, as requested; for a model with variants, its variants' languages.
 * Returns -1 if memory is out. */
int plan_languages(const struct model_set *models, bool sources, bool targets, struct arena *arena, struct plan_codes *codes);
/* Collects the targets of one source, by one model or two (pivot: as in struct service_options). */
int plan_targets(const struct model_set *models, const char *source, const char *pivot, struct arena *arena,
                 struct plan_codes *codes);

/* How far a model's source is from this one: language_distance of its own, or 0 or LANGUAGE_FAR for one of many languages. */
int plan_source_distance(const struct translator_info *info, const char *code);
/* At most so many source languages do the models have together. */
size_t plan_sources(const struct model_set *models);
/* Adds those of a model, each once, to codes [count], where there is room for them. */
void plan_add_sources(const struct translator_info *info, const char **codes, size_t *count);

/* Copies the strings of an array, or the one string, to items: [count] >= 1 of them, all strings. Returns -1 if memory is out. */
int plan_read(struct plan *plan, const json_t *strings, size_t count, struct arena *arena);

/* The likeliest of the models' source languages, for count items together. code NULL: memory is out. */
struct plan_guess plan_detect(const struct plan_item *items, size_t count, bool markup, const struct model_set *models);

/* Chooses the model of each item by its pair of languages. In the plan's order, each string gets an item in each target. A model
 * for "en" accepts "en-US". An archive whose language is guessed is parsed. Sets request->model to the first model of an item;
 * NULL: no item has one. */
enum plan_refusal plan_choose(struct plan *plan, struct request *request, struct plan_reason *reason);

/* Makes texts of the request from the items, which may have max_characters together, not counting tags. */
enum plan_refusal plan_prepare(struct plan *plan, size_t max_characters, struct request *request, struct plan_reason *reason);

/* Parses items that are markup, and texts with marks. Returns -1 with ERROR_INPUT or ERROR_MEMORY. */
int plan_parse(struct plan *plan, struct arena *arena, struct error *err);
/* The number of characters of item i without tags. */
size_t plan_characters(const struct plan *plan, size_t i);

/* The decoding options of such a request: the same as those of a native request that sets no fields. rows: of a worker.
 * request->model is set. */
void plan_search(const struct plan *plan, size_t rows, struct request *request);

/* ---- the path of most dialects ---- */

enum { PLAN_MOST_TARGETS = 16 };

/* The order of a request, in its arena. texts and, until order_start, the codes are borrowed from the JSON. */
struct order {
    const json_t *texts;                    /* a string, or an array of strings; read by order_texts */
    size_t count;                           /* number of texts */
    bool array;                             /* texts is an array */
    const char *source;                     /* a language code; NULL or "auto": detect it */
    const char *targets[PLAN_MOST_TARGETS]; /* [target_count] */
    size_t target_count;
    const char *glossary;                              /* name or id of a kept glossary; NULL: none */
    const char *text_name, *source_name, *target_name; /* the fields' names, for errors */
    bool markup, whole, aligned, apart;                /* as in a plan */
    bool joined;                                       /* a line end is white space and does not end a sentence */
    bool unwarned;                                     /* skip warnings that cost time */
    bool bilingual;                                    /* the document contains both its source and the translation */
    size_t alternatives;
    /* Sets the reply to a refusal, which is neither PLAN_OK nor PLAN_MEMORY. most: the limit of characters. NULL: the words of
     * alignd's own dialect. */
    void (*refuse)(enum plan_refusal refusal, const struct order *order, const struct plan_reason *reason, size_t most,
                   struct reply *reply);
    const struct html_tags *tags; /* as in a plan; in the arena */
    const struct document_format *document;
    struct html_bytes file;       /* the document, in the arena; then texts is NULL */
    const struct key_globs *keys; /* the values to translate; NULL: all */
    struct document_notes *notes; /* the document's name, in the arena */
    void *own;                    /* for the dialect */
};

/* A form and the query string, in valid UTF-8, as an object of strings, without API keys (api_is_key). If a field is repeated, the
 * first one counts, but the dialect's `several` becomes an array. NULL: the reply is set. */
json_t *order_load(const struct call *call, struct reply *reply);
/* Reads a string. NULL in *out: absent, null or "". -1: the value is not a string; the reply is set. */
int order_string(const json_t *root, const char *name, const char **out, struct reply *reply);
/* Reads a flag: true, 1 or "1", "true", "on"; false if absent. -1: the value is neither a flag nor its opposite; the reply is
 * set. */
int order_flag(const json_t *root, const char *name, bool *out, struct reply *reply);
/* Sets order->texts and count from the field text_name: at most `most` strings. -1: the reply is set. */
int order_texts(const json_t *root, struct order *order, size_t most, struct reply *reply);
/* The same for this field, read into a separate plan, for requests that are answered without a translation. */
int order_read(const json_t *root, const char *name, size_t most, struct plan *plan, struct arena *arena, struct reply *reply);

/* A new order that begins with `begin`. NULL: the reply is set, also if the request's arena lacked memory earlier. */
struct order *order_create(struct request *request, const struct order *begun, struct reply *reply);
/* Makes jobs of the order, or sets the reply. root: as for api_recall; NULL: the answer is not cached. */
void order_start(struct order *order, const struct dialect *dialect, const struct service *service, const json_t *root,
                 struct request *request, struct reply *reply);

/* The answers of one item: its translation, then, as requested, alternatives to it. */
struct plan_answer {
    const char *text;
    size_t length;
};
struct plan_answers {
    struct plan_answer *all; /* [count] without duplicates */
    size_t count;
};

/* The translation of one item that is markup or has marks. Returns -1 if memory is out. */
int plan_write(const struct plan *plan, const struct plan_item *item, struct arena *arena, struct plan_answer *answer);

/* The answers of all items in their order, once the request is decoded. NULL: memory is out. */
const struct plan_answers *plan_answers(const struct plan *plan, struct arena *arena);

/* Sets the plan's warnings after the jobs have ended. Returns -1 if memory is out. */
int plan_warn(struct request *request);

/* Sets the reply to the output of the dialect's put, after the jobs have ended. */
void order_finish(const struct service *service, struct request *request, struct reply *reply);

/* The source language of item i: the given one, or the guess. */
const char *plan_source(const struct plan *plan, size_t i);
/* A language code in DeepL's notation: "EN", "PT-BR". */
void order_put_code(struct writer *w, const char *key, const char *code);

/* Bytes of an item's source and of its answer that correspond. */
struct plan_pair {
    struct span source, target;
};
/* Aligned words, as in words.alignment of the native dialect, and sentences. A sentence includes the white space after it, and the
 * first also the white space before it, so that sentences cover both texts. */
struct plan_alignment {
    struct plan_pair *words, *sentences; /* [word_count], [sentence_count] */
    size_t word_count, sentence_count;
};
/* The alignment of an item that is not markup, in a plan that is aligned. Everything is in the arena. Returns -1 if memory is
 * out. */
int plan_align(const struct plan_item *item, struct arena *arena, struct plan_alignment *out);

#endif
