/* Plans: strings or markup in a pair of languages, and the translation of each; dialects of other
 * services share them. */
#ifndef ALIGND_PLAN_H
#define ALIGND_PLAN_H

#include "server/api/api.h"
#include "server/api/languages.h"
#include "server/decode/request.h"
#include "server/documents/review.h"
#include <jansson.h>

/* A likely language of a text. */
struct plan_guess {
    const char *code;
    double confidence; /* 0 to 100 */
    bool unread;       /* no model reads its script: confidence 0 */
};

/* One string in one target language. It is one text of the request or, for markup, one text for
 * each segment. */
struct plan_item {
    const char *source; /* [length], valid UTF-8 */
    size_t length;
    struct text chosen; /* its models and languages, which its texts get; model NULL: it is in the
                         * target language already and is not translated */
    struct plan_guess guess; /* guesses of the source language, if the request does not give it */
    const char *source_language, *target_language; /* the values of lang attributes */
    size_t string;      /* the string that it is of; the items of a string are neighbours */
    bool tagged;        /* it is markup, whatever the plan says of the others */
    struct text *texts; /* [count] */
    size_t count;
    bool parsed; /* html and count are set */
    bool
        marked; /* it is a text with marks (server/markup/markup.h), which is handled like markup */
    struct markup markup;
    struct markup_translation *merged; /* of a review, [markup.count]; NULL: it is decoded */
};

/* The plan by which a request's texts make its answer, in the request's arena. Dialects that use
 * plans set request->plan. */
struct plan {
    struct plan_item
        *items; /* [count]: the first string in all of its target languages, then the next */
    size_t count, strings;
    bool markup;
    bool aligned;              /* plan_align will be called: marks in texts are not recognized */
    bool verbatim;             /* marks in texts are not recognized */
    size_t alternatives;       /* alternatives for each translation; markup has none */
    bool guessed;              /* the source language is detected */
    const struct order *order; /* the order that it carries out */
    const char *pivot;         /* as in struct options */
    const struct warnings *warnings; /* set after its texts are decoded */
};

/* The reason for refusing a request. */
enum plan_refusal {
    PLAN_OK,
    PLAN_MEMORY,
    PLAN_SOURCE,
    PLAN_TARGET,
    PLAN_PAIR,
    PLAN_MARKUP,
    PLAN_LENGTH
};

/* The details of a refusal, for its message. */
struct plan_reason {
    const char *from, *to; /* PLAN_SOURCE, PLAN_TARGET, PLAN_PAIR: the codes that were asked for */
    const char *asked;     /* PLAN_SOURCE, PLAN_TARGET: the code that no model knows */
    const char *source,
        *target; /* PLAN_PAIR: languages without a model between them, as the models name them */
    size_t characters;  /* PLAN_LENGTH: the number of characters */
    struct error error; /* PLAN_MARKUP: the error in it */
};

enum { PLAN_MOST_TARGETS = 16, PLAN_MOST_GLOSSARIES = 5 };

/* What one of the strings of an order has for itself. */
struct order_string {
    const char *source;         /* a language code, in the arena; NULL: detect it */
    const char *const *targets; /* [target_count] the same */
    size_t target_count;
    bool markup;
};

/* The order of a request, in its arena. texts and, until order_start, the codes are borrowed from
 * the JSON. */
struct order {
    const json_t *texts; /* a string, or an array of strings; read by order_texts */
    size_t count;        /* number of texts */
    bool array;          /* texts is an array */
    const char *source;  /* a language code; NULL or "auto": detect it */
    const char *targets[PLAN_MOST_TARGETS]; /* [target_count] */
    size_t target_count;
    const struct order_string
        *strings; /* [count] languages and kinds of the strings, which begin with the same codes if
                     they are the same; NULL: all strings have those of the order */
    const char *glossary; /* name or id of a kept glossary; NULL: none */
    const char *const
        *glossaries; /* [glossary_count] names or ids of several, in the arena, whose
                        first entry of a phrase counts; then glossary is their first */
    size_t glossary_count;
    struct formality_wish formality;     /* its languages are not set */
    const struct search_options *search; /* how to search, before the model's own values are set;
                                            NULL: as usual */
    const char *text_name, *source_name, *target_name; /* the fields' names, for errors */
    bool markup, aligned;                              /* as in a plan */
    bool whole;                                        /* each text is one sentence */
    bool apart;    /* if the source language is not given, each text is detected separately */
    bool joined;   /* a sentence may run over line ends, which stay */
    bool unwarned; /* skip warnings that take time */
    enum document_bilingual bilingual; /* where translations stand in the document */
    const char *columns;               /* the columns of a table, in the arena; NULL: all */
    bool header;                       /* the first row of a table, too */
    size_t alternatives;               /* at most the workers' rows - 1 */
    size_t translations, returns; /* a dictionary: each string is a sentence of one model, with up
                                     to so many translations, and each of these has so many by the
                                     model that translates back, if there is one; 0: strings are
                                     translated */
    bool rewrites; /* each text is translated into another language and back; the one target may be
                      NULL: the text's own language */
    bool review;   /* the answer is a review of the document */
    struct bytes
        merge; /* a review that is merged into the document, in the arena; length 0: none */
    /* Sets the reply to a refusal, which is neither PLAN_OK nor PLAN_MEMORY. most: the limit of
     * characters. NULL: the words of alignd's own dialect. */
    void (*refuse)(enum plan_refusal refusal, const struct plan_reason *reason, size_t most,
                   struct reply *reply);
    const struct xml_tags *tags; /* the markup is XML with these options; NULL: HTML */
    const struct document_format
        *document;     /* the markup is a document of this format; NULL: not a document */
    struct bytes file; /* the document, in the arena; then texts is NULL */
    const struct encoding *encoding; /* the document's encoding, in the arena; NULL: UTF-8 */
    const struct key_globs *keys;    /* the values to translate; NULL: all */
    struct document_notes *notes;    /* the document's name, in the arena */
    void *own;                       /* for the dialect */
};

/* Language codes without duplicates, of the models or in the arena. */
struct plan_codes {
    const char **all; /* [count] */
    size_t count;
};
/* Collects the models' languages: sources first, then targets, as requested; for a model with
 * variants, its variants' languages. Returns -1 if memory runs out. */
int plan_languages(const struct model_set *models, bool sources, bool targets, struct arena *arena,
                   struct plan_codes *codes);
/* Collects the targets of one source, by one model or two (pivot: as in struct options). */
int plan_targets(const struct model_set *models, const char *source, const char *pivot,
                 struct arena *arena, struct plan_codes *codes);

/* Returns the maximum number of codes of all models' languages together. */
size_t plan_most_codes(const struct model_set *models);
/* Adds the source languages of a model. */
void plan_add_sources(const struct translator_info *info, struct arena *arena,
                      struct plan_codes *codes);

/* Copies the strings of an array, or the one string, to items: [count] >= 1 of them, all strings.
 * Returns -1 if memory runs out. */
int plan_read(struct plan *plan, const json_t *strings, size_t count, struct arena *arena);

/* Detects the likeliest of the models' source languages, for count items together. A text in a
 * script that no model reads keeps its own language, or "und". code, in the request's arena if it
 * is not a model's, NULL: out of memory. */
struct plan_guess plan_detect(const struct plan_item *items, size_t count, bool markup,
                              struct request *request);

/* Chooses the model of each item by its pair of languages. In the plan's order, each string gets an
 * item in each target. A model for "en" accepts "en-US". An archive whose language is guessed is
 * parsed. Sets request->model to the first model of an item; NULL: no item has one. */
enum plan_refusal plan_choose(struct plan *plan, struct request *request,
                              struct plan_reason *reason);

/* Makes one text of the request for each item, or for each segment of an item that is markup.
 * Returns -1 if memory runs out. */
int plan_cut(struct plan *plan, struct request *request);
/* Parses the chosen items, then does the same. Refuses with PLAN_LENGTH if they have more than
 * max_characters together, not counting tags. */
enum plan_refusal plan_prepare(struct plan *plan, size_t max_characters, struct request *request,
                               struct plan_reason *reason);

/* Parses items that are markup, and texts with marks. Returns -1 with ERROR_INPUT or ERROR_MEMORY.
 */
int plan_parse(struct plan *plan, struct arena *arena, struct error *err);
/* True if the item is markup. */
static inline bool plan_is_markup(const struct plan *plan, const struct plan_item *item) {
    return plan->markup || item->tagged;
}
/* Returns the number of characters of item i without tags. */
size_t plan_characters(const struct plan *plan, size_t i);

/* Sets the decoding options of the request to those of a native request that sets no fields. rows:
 * of a worker. request->model must be set. */
void plan_search(const struct plan *plan, size_t rows, struct request *request);

/* The answers of one item: its translation, followed by the requested alternatives. */
struct plan_answer {
    const char *text;
    size_t length;
};
struct plan_answers {
    struct plan_answer *all; /* [count] without duplicates */
    size_t count;
};

/* Writes the translation of one item that is markup or has marks. Returns -1 if memory runs out. */
int plan_write(const struct plan *plan, const struct plan_item *item, struct arena *arena,
               struct plan_answer *answer);

/* Returns the answers of all items in their order, once the request is decoded. NULL: out of
 * memory. */
const struct plan_answers *plan_answers(const struct plan *plan, struct arena *arena);

/* Returns the source language of item i: the given one, or the guess. */
const char *plan_source(const struct plan *plan, size_t i);

/* Bytes of an item's source and of its answer that correspond. */
struct plan_pair {
    struct span source, target;
};
/* Aligned words, as in words.alignment of the native dialect, and sentences. A sentence includes
 * the white space after it, and the first also the white space before it, so that sentences cover
 * both texts. */
struct plan_alignment {
    struct plan_pair *words, *sentences; /* [word_count], [sentence_count] */
    size_t word_count, sentence_count;
};
/* Aligns an item that is not a document, in a plan that is aligned; the places are those in the
 * item's source and in its answer, also of markup. Everything is in the arena. Returns -1 if memory
 * runs out. */
int plan_align(const struct plan *plan, const struct plan_item *item, struct arena *arena,
               struct plan_alignment *out);

#endif
