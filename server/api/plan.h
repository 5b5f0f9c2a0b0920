/* The parts that dialects of other services share: strings or markup in a pair of languages, and the translation of each as text. A
 * dialect reads the strings, words the refusals and writes the answer. */
#ifndef ALIGND_PLAN_H
#define ALIGND_PLAN_H

#include "server/api/endpoint.h"
#include "server/documents/document.h"
#include "server/models/variant.h"

/* A language that a text is likely in. */
struct plan_guess {
    const char *code;
    double confidence; /* 0 to 100 */
};

/* One string in one target language: a text of the request, or, as markup, one for each of its segments. */
struct plan_item {
    const char *source; /* [length], valid UTF-8 */
    size_t length;
    struct served_model *model;  /* NULL: it is in the target language already, nothing is translated */
    const char *variant;         /* of the model; NULL: none */
    struct served_model *second; /* that goes on from what the other writes, and its variant; NULL: none */
    const char *second_variant;
    struct plan_guess guess;                       /* of the source language, where that was not given */
    const char *source_language, *target_language; /* what lang attributes name */
    struct text *texts;                            /* [count] */
    size_t count;
    bool marked; /* it is a text with marks (server/markup/build.h), which is read as markup is */
    struct html html;
};

/* How the texts of a request make its answer. In its arena, as all that it holds; request->plan of such dialects. */
struct plan {
    struct plan_item *items; /* [count]: all strings in the first target language, then in the next */
    size_t count, strings;
    bool markup;
    const struct document_format *document; /* the markup is a document of this format; NULL: it is none */
    const struct html_tags *tags;           /* it is XML, and this is said of it; NULL: it is HTML */
    bool whole;                             /* not cut into sentences */
    bool aligned;                           /* plan_align will be asked for: marks in texts are not looked for */
    bool verbatim;                          /* nor are they then */
    bool apart;                             /* where the source language is not given, each string may be in another */
    size_t alternatives;                    /* wanted beside each translation; of markup there are none */
    bool guessed;                           /* the source language was not given */
    const struct order *order;              /* what it was made for */
    const char *pivot;                      /* as of struct service_options */
    const struct warnings *warnings;        /* of its texts, once they are decoded (plan_warn) */
};

/* Why a request is refused. */
enum plan_refusal { PLAN_OK, PLAN_MEMORY, PLAN_SOURCE, PLAN_TARGET, PLAN_PAIR, PLAN_MARKUP, PLAN_LENGTH };

/* The details of a refusal, for its message. */
struct plan_reason {
    const char *from, *to;       /* PLAN_SOURCE, PLAN_TARGET, PLAN_PAIR: the codes that were asked for */
    const char *asked;           /* PLAN_SOURCE, PLAN_TARGET: the code that no model knows */
    const char *source, *target; /* PLAN_PAIR: the languages that no model has a way between, as the models name them */
    size_t characters;           /* PLAN_LENGTH: how many there are */
    struct error error;          /* PLAN_MARKUP: what is wrong with it */
};

/* A model of another task, such as parsing, has no languages here. */
bool plan_translates(const struct translator_info *info);

/* Language codes, each once, in the arena. */
struct plan_codes {
    char (*all)[VARIANT_CODE_BYTES]; /* [count] */
    size_t count;
};
/* The models' languages: those that are sources, then those that are targets, as far as they are asked for; of a model with
 * variants, these. -1: memory is out. */
int plan_languages(const struct model_set *models, bool sources, bool targets, struct arena *arena, struct plan_codes *codes);
/* The targets of one source, by one model or two (pivot: as of struct service_options). */
int plan_targets(const struct model_set *models, const char *source, const char *pivot, struct arena *arena,
                 struct plan_codes *codes);

/* Copies the strings of an array, or the one, to items: [count] >= 1 of them, all strings. -1: memory is out. */
int plan_read(struct plan *plan, const json_t *strings, size_t count, struct arena *arena);

/* The likeliest of the models' source languages, for count items together. code NULL: memory is out. */
struct plan_guess plan_detect(const struct plan_item *items, size_t count, bool markup, const struct model_set *models);

/* Chooses the model of each item by its pair of languages, as the plan's order has them: each string gets an item in each target.
 * "en-US" is met by a model for "en". request->model is the first that an item has; NULL: none. */
enum plan_refusal plan_choose(struct plan *plan, struct request *request, struct plan_reason *reason);

/* Items -> texts of the request, of at most max_characters together, tags not counted. */
enum plan_refusal plan_prepare(struct plan *plan, size_t max_characters, struct request *request, struct plan_reason *reason);

/* The item's document. */
struct document plan_document(const struct plan *plan, const struct plan_item *item);

/* Reads items that are markup, and texts with marks. -1 with ERROR_INPUT or ERROR_MEMORY. */
int plan_parse(struct plan *plan, struct arena *arena, struct error *err);
/* The characters of item i without tags. */
size_t plan_characters(const struct plan *plan, size_t i);

/* How such a request is decoded: as one of the native dialect that says nothing of it. rows: of a worker. request->model is set. */
void plan_search(const struct plan *plan, size_t rows, struct request *request);

/* ---- the way of most dialects ---- */

enum { PLAN_MOST_TARGETS = 16 };

/* The order of a request, in its arena. texts is borrowed from the JSON, for order_start; so are the codes until then. */
struct order {
    const json_t *texts;                    /* a string, or an array of strings; read by order_texts */
    size_t count;                           /* how many */
    bool array;                             /* they are an array */
    const char *source;                     /* a language code; NULL or "auto": to be found out */
    const char *targets[PLAN_MOST_TARGETS]; /* [target_count] */
    size_t target_count;
    const char *glossary;                              /* name or id of one that is kept; NULL: none */
    const char *text_name, *source_name, *target_name; /* of the fields, for what is refused */
    bool markup, whole, aligned, apart;                /* as of a plan */
    bool joined;                                       /* a line's end is white space, not a sentence's end */
    bool unwarned;                                     /* no warnings that cost time */
    bool bilingual;                                    /* a document that has both its source and the translation */
    size_t alternatives;
    /* Sets the reply to a refusal, which is not PLAN_OK or PLAN_MEMORY. most: characters. NULL: in alignd's own words. */
    void (*refuse)(enum plan_refusal refusal, const struct order *order, const struct plan_reason *reason, size_t most,
                   struct reply *reply);
    const struct html_tags *tags; /* as of a plan; in the arena */
    const struct document_format *document;
    struct html_bytes file;       /* the document, in the arena; then texts is NULL */
    const struct key_globs *keys; /* which of its values are translated; NULL: all */
    struct document_notes *notes; /* of it, in the arena */
    void *own;                    /* the dialect's */
};

/* A form and the query string, of valid UTF-8, as an object of strings, without keys (api_is_key); of fields of the same name the
 * first counts, but those of the dialect's `several` become an array. NULL: the reply is set. */
json_t *order_load(const struct call *call, struct reply *reply);
/* NULL in *out: absent, null or "". -1: it is no string; the reply is set. */
int order_string(const json_t *root, const char *name, const char **out, struct reply *reply);
/* true, 1 or "1", "true", "on"; false where it is absent. -1: it is neither that nor the opposite; the reply is set. */
int order_flag(const json_t *root, const char *name, bool *out, struct reply *reply);
/* order->texts and count from the field text_name: at most `most` strings. -1: the reply is set. */
int order_texts(const json_t *root, struct order *order, size_t most, struct reply *reply);
/* The same for this field, read into a plan of its own, for requests that are answered without a translation. */
int order_read(const json_t *root, const char *name, size_t most, struct plan *plan, struct arena *arena, struct reply *reply);

/* A new one that begins as this; NULL: the reply is set, as it is where the request's arena had no memory before. */
struct order *order_create(struct request *request, const struct order *begun, struct reply *reply);
/* Order -> jobs, or the reply is set. root: as of api_recall; NULL: the answer is not kept. */
void order_start(struct order *order, const struct dialect *dialect, const struct service *service, const json_t *root,
                 struct request *request, struct reply *reply);

/* The answers of one item: its translation, then, as far as they were asked for, alternatives to it. */
struct plan_answer {
    const char *text;
    size_t length;
};
struct plan_answers {
    struct plan_answer *all; /* [count] none twice */
    size_t count;
};

/* The translation of one item that is markup or has marks. -1: memory is out. */
int plan_write(const struct plan *plan, const struct plan_item *item, struct arena *arena, struct plan_answer *answer);

/* The answers of all items, in their order, once the request is decoded. NULL: memory is out. */
const struct plan_answers *plan_answers(const struct plan *plan, struct arena *arena);

/* Sets the plan's warnings, once the jobs have ended. -1: memory is out. */
int plan_warn(struct request *request);

/* Sets the reply to what the dialect's put writes, once the jobs have ended. */
void order_finish(const struct service *service, struct request *request, struct reply *reply);

/* The source language of item i: the one given, or the guess. */
const char *plan_source(const struct plan *plan, size_t i);
/* A language as DeepL writes it: "EN", "PT-BR". */
void order_put_code(struct writer *w, const char *key, const char *code);

/* Bytes of an item's source and of its answer that belong together. */
struct plan_pair {
    struct span source, target;
};
/* Words that are aligned, as words.alignment of the native dialect has them, and sentences with the white space after them (the
 * first also with what is before it), which cover both texts. */
struct plan_alignment {
    struct plan_pair *words, *sentences; /* [word_count], [sentence_count] */
    size_t word_count, sentence_count;
};
/* The alignment of an item that is not markup, in a plan that is aligned. All in the arena. -1: memory is out. */
int plan_align(const struct plan_item *item, struct arena *arena, struct plan_alignment *out);

#endif
