/* Endpoints and dialects share this interface: JSON, the path of a decoding request from its body to its sentences and back, the
 * plans by which other services' requests are translated, alignd's own fields, and warnings. Only server/api, server/dialects and,
 * for the languages of models, the program itself include it. */
#ifndef ALIGND_ENDPOINT_H
#define ALIGND_ENDPOINT_H

#include "server/api/api.h"
#include "server/api/languages.h"
#include "server/api/pairs.h"
#include "server/base/strings.h"
#include "server/decode/outcome.h"
#include "server/documents/document.h"
#include <jansson.h>

/* Returns true, once, if jansson has run out of memory on this thread. A value that it has read may be silently incomplete. */
bool api_lacked_memory(void);
/* json_loadb with reserved memory (model/base/arena.h): jansson aborts if it cannot lengthen the string that it is reading. */
json_t *api_load_json(const char *text, size_t length, size_t flags, json_error_t *error);

/* Sets a JSON reply from the writer's text, which it takes over; 503 if the writer has failed. */
void api_reply_json(struct reply *reply, struct writer *w);
/* The same with another status. */
void api_reply_status(struct reply *reply, unsigned status, struct writer *w);
/* Sets a JSON reply from this text, malloc'ed, which it takes over. */
void api_reply_text(struct reply *reply, unsigned status, char *text);

/* Replies 429 because the server is busy or the client's allowance is used up, counts it, and sets Retry-After to wait_s, at least
 * one second. */
__attribute__((format(printf, 6, 7))) void api_fail_busy(const struct service *service, enum metrics_rejected reason,
                                                         const char *code, double wait_s, struct reply *reply, const char *format,
                                                         ...);

/* This is a macro, so that the compiler sees that the value is -1. */
#define api_refuse(reply, field, ...) (api_fail(reply, STATUS_INVALID, field, __VA_ARGS__), -1)

/* Reads an integer, which may have a fraction of 0, such as 5.0. False: the value is not an integer, or too large. */
bool api_integer(const json_t *value, json_int_t *number);

/* Returns the type of a value with its article: "an array", "null". */
const char *api_type_name(const json_t *value);

enum { API_MAX_TEXTS = 64 }; /* in a request */

/* Parse the body as any JSON value, or as an object. NULL: the reply is set. */
json_t *api_load_value(const struct call *call, struct reply *reply);
json_t *api_load(const struct call *call, struct reply *reply);
/* Returns true if a form field or query parameter of this name holds an API key. */
bool api_is_key(const char *name);
/* Returns -1 after setting the reply if a field of a form or of the query string is not text. */
int api_check_fields(const struct call *call, struct reply *reply);

/* ---- the path of a request ---- */

/* Returns false if the daemon is loading or draining; the reply is set. */
bool api_admit(const struct service *service, const struct request *request, struct reply *reply);
/* Returns true if requests like this one may have models downloaded (--fetch). */
bool api_fetches(const struct service *service, const struct request *request);
/* Returns true if no model in service translates between these languages, and a model that does, or a missing one of two via a
 * pivot, is being downloaded: then either the request waits for it (api_waits) or the reply is set to 503, "fetching". Otherwise
 * returns false. */
bool api_fetch_missing(const struct service *service, const char *source, const char *target, struct request *request,
                       struct reply *reply);

/* Returns false if no model is in service and none can be downloaded for an admitted request; the reply is set. */
bool api_has_models(const struct service *service, const struct request *request, struct reply *reply);
/* Returns true if no models are loaded yet; the reply is set. */
bool api_is_loading(const struct request *request, struct reply *reply);
/* Finds the kept glossary of this name or id for the languages of the request's model, and sets request->glossary and kept. -1: the
 * request may use no such glossary; the reply is set. */
int api_use_glossary(const struct service *service, const char *asked, struct request *request, struct reply *reply);
/* Sets request->protection from protect. -1: the reply is set. */
int api_read_protect(const json_t *value, struct request *request, struct reply *reply);
/* Returns the owner of glossaries that this request makes (struct glossary_about). */
const char *api_glossary_owner(const struct request *request);
/* Makes jobs of the request's texts, or sets the reply. field: the name that errors about a text use. */
void api_prepare(const struct service *service, const char *field, struct request *request, struct reply *reply);
/* Returns the minimum length of the answer to a prepared request. */
size_t api_least_bytes(const struct request *request);
/* Makes a prepared request end, as api_fail_length does, when the sentences that have been decoded make its answer too long. */
void api_bound_answer(const struct service *service, struct request *request);
/* Replies 413 and counts it. least: the minimum length of the answer; 0: unknown, but over the limit. */
void api_fail_length(const struct service *service, size_t least, struct reply *reply);
/* Return the writer of a decoding request's answer, limited to --max-reply-bytes, and set the reply, which is 413 if the answer is
 * too long. */
struct writer api_begin_answer(const struct service *service);
void api_reply_answer(const struct service *service, struct reply *reply, struct writer *w);
/* Returns true and sets the reply if the answer to a parsed request is in the cache; otherwise the answer may be kept later. The
 * question is root without api_key, the dialect, the models of the request's key, and its kept glossary. */
bool api_recall(const struct service *service, const char *dialect, const json_t *root, struct request *request,
                struct reply *reply);
/* Replies 500, or 503 if memory runs out, and returns true if a sentence failed. */
bool api_fail_decoded(const struct request *request, struct reply *reply);

/* ---- plans: strings or markup in a pair of languages, and the translation of each; dialects of other services share them ---- */

/* A likely language of a text. */
struct plan_guess {
    const char *code;
    double confidence; /* 0 to 100 */
};

/* One string in one target language. It is one text of the request or, for markup, one text for each segment. */
struct plan_item {
    const char *source; /* [length], valid UTF-8 */
    size_t length;
    struct text chosen; /* its models and languages, which its texts get; model NULL: it is in the target language already and is
                         * not translated */
    struct plan_guess guess;                       /* guesses of the source language, if the request does not give it */
    const char *source_language, *target_language; /* the values of lang attributes */
    struct text *texts;                            /* [count] */
    size_t count;
    bool parsed; /* html and count are set */
    bool marked; /* it is a text with marks (server/markup/markup.h), which is handled like markup */
    struct markup markup;
};

/* The plan by which a request's texts make its answer, in the request's arena. Dialects that use plans set request->plan. */
struct plan {
    struct plan_item *items; /* [count]: all strings in the first target language, then all in the next */
    size_t count, strings;
    bool markup;
    bool aligned;                    /* plan_align will be called: marks in texts are not recognized */
    bool verbatim;                   /* marks in texts are not recognized */
    size_t alternatives;             /* alternatives for each translation; markup has none */
    bool guessed;                    /* the source language is detected */
    const struct order *order;       /* the order that it carries out */
    const char *pivot;               /* as in struct service_options */
    const struct warnings *warnings; /* set after its texts are decoded */
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

/* Language codes without duplicates, of the models or in the arena. */
struct plan_codes {
    const char **all; /* [count] */
    size_t count;
};
/* Collects the models' languages: sources first, then targets, as requested; for a model with variants, its variants' languages.
 * Returns -1 if memory runs out. */
int plan_languages(const struct model_set *models, bool sources, bool targets, struct arena *arena, struct plan_codes *codes);
/* The same for an endpoint that lists them. -1: models are loading, or memory runs out; the reply is set. */
int plan_list(struct request *request, bool sources, bool targets, struct plan_codes *codes, struct reply *reply);
/* Collects the targets of one source, by one model or two (pivot: as in struct service_options). */
int plan_targets(const struct model_set *models, const char *source, const char *pivot, struct arena *arena,
                 struct plan_codes *codes);

/* Returns the maximum number of codes of all models' languages together. */
size_t plan_most_codes(const struct model_set *models);
/* Adds the source languages of a model. */
void plan_add_sources(const struct translator_info *info, struct plan_codes *codes);

/* Copies the strings of an array, or the one string, to items: [count] >= 1 of them, all strings. Returns -1 if memory runs out. */
int plan_read(struct plan *plan, const json_t *strings, size_t count, struct arena *arena);

/* Detects the likeliest of the models' source languages, for count items together. code NULL: out of memory. */
struct plan_guess plan_detect(const struct plan_item *items, size_t count, bool markup, const struct model_set *models);

/* Chooses the model of each item by its pair of languages. In the plan's order, each string gets an item in each target. A model
 * for "en" accepts "en-US". An archive whose language is guessed is parsed. Sets request->model to the first model of an item;
 * NULL: no item has one. */
enum plan_refusal plan_choose(struct plan *plan, struct request *request, struct plan_reason *reason);

/* Makes one text of the request for each item, or for each segment of an item that is markup. Returns -1 if memory runs out. */
int plan_cut(struct plan *plan, struct request *request);
/* Parses the chosen items, then does the same. Refuses with PLAN_LENGTH if they have more than max_characters together, not
 * counting tags. */
enum plan_refusal plan_prepare(struct plan *plan, size_t max_characters, struct request *request, struct plan_reason *reason);

/* Parses items that are markup, and texts with marks. Returns -1 with ERROR_INPUT or ERROR_MEMORY. */
int plan_parse(struct plan *plan, struct arena *arena, struct error *err);
/* Returns the number of characters of item i without tags. */
size_t plan_characters(const struct plan *plan, size_t i);

/* Sets the decoding options of the request to those of a native request that sets no fields. rows: of a worker. request->model must
 * be set. */
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
    bool markup, aligned;                              /* as in a plan */
    bool whole;                                        /* each text is one sentence */
    bool apart;                                        /* if the source language is not given, each text is detected separately */
    bool joined;                                       /* a sentence may run over line ends, which stay */
    bool unwarned;                                     /* skip warnings that take time */
    bool bilingual;                                    /* the document contains both its source and the translation */
    size_t alternatives;                               /* at most the workers' rows - 1 */
    /* Sets the reply to a refusal, which is neither PLAN_OK nor PLAN_MEMORY. most: the limit of characters. NULL: the words of
     * alignd's own dialect. */
    void (*refuse)(enum plan_refusal refusal, const struct plan_reason *reason, size_t most, struct reply *reply);
    const struct xml_tags *tags;            /* the markup is XML with these options; NULL: HTML */
    const struct document_format *document; /* the markup is a document of this format; NULL: not a document */
    struct bytes file;                      /* the document, in the arena; then texts is NULL */
    const struct encoding *encoding;        /* of the document, in the arena; NULL: UTF-8 */
    const struct key_globs *keys;           /* the values to translate; NULL: all */
    struct document_notes *notes;           /* the document's name, in the arena */
    void *own;                              /* for the dialect */
};

/* Converts a form and the query string, in valid UTF-8, to an object of strings, without API keys (api_is_key). If a field is
 * repeated, the first one counts, but the dialect's `several` becomes an array. NULL: the reply is set. */
json_t *order_load(const struct call *call, struct reply *reply);
/* Reads a string. NULL in *out: absent, null or "". -1: the value is not a string; the reply is set. */
int order_string(const json_t *root, const char *name, const char **out, struct reply *reply);
/* The same for a string that must be one of these words. words: NULL-terminated. allowed: the words as an error message lists them.
 */
int order_word(const json_t *root, const char *name, const char *const *words, const char *allowed, const char **out,
               struct reply *reply);
/* Reads a flag: true, 1 or "1", "true", "on"; false if absent. -1: the value is neither a flag nor its opposite; the reply is
 * set. */
int order_flag(const json_t *root, const char *name, bool *out, struct reply *reply);
/* Sets order->texts and count from the field text_name: at most `most` strings. -1: the reply is set. */
int order_texts(const json_t *root, struct order *order, size_t most, struct reply *reply);
/* The same for this field, read into a separate plan, for requests that are answered without a translation. */
int order_read(const json_t *root, const char *name, size_t most, struct plan *plan, struct arena *arena, struct reply *reply);

/* Makes a new order that begins as this one. NULL: the reply is set, also if the request's arena lacked memory earlier. */
struct order *order_create(struct request *request, const struct order *begun, struct reply *reply);
struct dialect;
/* Makes jobs of the order, or sets the reply. root: as for api_recall; NULL: the answer is not cached. */
void order_start(struct order *order, const struct dialect *dialect, const struct service *service, const json_t *root,
                 struct request *request, struct reply *reply);

/* The start of a dialect: reads texts (its `several`, if the object has that field), languages and the dialect's other fields
 * (`read`), and starts. */
void order_begin(const struct dialect *dialect, const struct service *service, json_t *root, struct request *request,
                 struct reply *reply);

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
int plan_write(const struct plan *plan, const struct plan_item *item, struct arena *arena, struct plan_answer *answer);

/* Returns the answers of all items in their order, once the request is decoded. NULL: out of memory. */
const struct plan_answers *plan_answers(const struct plan *plan, struct arena *arena);

/* Sets the reply to the output of the dialect's put, after the jobs have ended. */
void order_finish(const struct service *service, struct request *request, struct reply *reply);

/* Returns the source language of item i: the given one, or the guess. */
const char *plan_source(const struct plan *plan, size_t i);
/* Writes a language code in DeepL's notation: "EN", "PT-BR". */
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
/* Aligns an item that is not markup, in a plan that is aligned. Everything is in the arena. Returns -1 if memory runs out. */
int plan_align(const struct plan_item *item, struct arena *arena, struct plan_alignment *out);

/* ---- dialects ---- */

/* A dialect defines what requests for a decoding endpoint look like and how they are answered. Several dialects may share a path;
 * the fields of a request then show which one it speaks. A new dialect is a file that defines one, and its place in the rows of the
 * table of routes (server/endpoints/routes.c). */

/* The fields of a request: those of a JSON object or, if that is NULL, of a form and the query string. */
struct dialect_fields {
    const json_t *root;
    const struct call *call;
};
bool dialect_has(const struct dialect_fields *fields, const char *name);
/* Returns the field of this name in the form or the query string, regardless of the body. NULL: there is no such field. */
const struct api_field *dialect_sent(const struct call *call, const char *name);
/* Returns the first of the route's dialects whose fields these are, or else the first of all. */
const struct dialect *route_spoken(const struct route *route, const struct dialect_fields *fields);

/* An error before it is written; strings as for api_fail_coded. */
struct dialect_error {
    unsigned status;
    const char *code, *field, *message; /* field NULL: no field is to blame */
    const double *progress;             /* progress of a download that the client should wait for; NULL: none */
};

struct dialect {
    const char *name; /* part of the cache's question (api_recall) */
    /* Returns true if the fields belong to this dialect. NULL if it shares no route with others. */
    bool (*speaks)(const struct dialect_fields *fields);
    /* Converts a form or a query string, in valid UTF-8, to the object that start takes. NULL: the reply is set. */
    json_t *(*load)(const struct call *call, struct reply *reply);
    /* Converts a JSON body and the query string to that object; the caller still owns the body. Returns NULL after setting the
     * reply. If this member is NULL, the body itself is that object. */
    json_t *(*merge)(const struct call *call, json_t *body, struct reply *reply);
    /* Makes jobs of the object (api_prepare), or sets the reply. */
    void (*start)(const struct dialect *dialect, const struct service *service, json_t *root, struct request *request,
                  struct reply *reply);
    /* Sets the reply after the jobs have ended. */
    api_finish *finish;
    /* For order_load: the field that may be repeated; NULL: none. */
    const char *several;
    /* For order_begin: how each order begins, the most texts (0: API_MAX_TEXTS), and the bytes of order->own (0: it has none). */
    struct order order;
    size_t most_texts, own_bytes;
    /* For order_begin: reads the other fields. Returns -1 after setting the reply. NULL: there are no others. */
    int (*read)(const json_t *root, struct order *order, struct arena *arena, struct reply *reply);
    /* For order_finish: writes the answer. */
    void (*put)(struct writer *w, const struct plan *plan, const struct plan_answers *answers, struct arena *arena);
    /* Writes the body of an error reply, which is one object. NULL: as api_fail_coded does. */
    void (*put_error)(struct writer *w, const struct dialect_error *error);
    /* Refuses a kept glossary that does not exist (NULL: with 400), or that has no entries for the languages (NULL: as one that
     * does not exist). message: what alignd's own dialect says. Returns -1 after setting the reply. */
    int (*lacks_glossary)(bool exists, const char *message, struct reply *reply);
    /* The status of an error, if the other service uses another one. NULL: the error's own status. */
    unsigned (*status_of)(const struct dialect_error *error);
};

extern const struct dialect dialect_translate, dialect_attention, dialect_libre, dialect_libre_detect, dialect_microsoft_detect;
extern const struct dialect dialect_deepl, dialect_google, dialect_google_detect, dialect_microsoft, dialect_microsoft_break,
    dialect_immersive, dialect_kiss, dialect_deeplx;

/* Returns true if the request speaks Microsoft's dialect; microsoft_languages answers its GET /languages. */
bool microsoft_speaks(const struct dialect_fields *fields);
void microsoft_languages(const struct call *call, struct request *request, struct reply *reply);

/* Writes the error object of alignd's own dialect: {"error","code","field"}. */
void dialect_put_error(struct writer *w, const struct dialect_error *error);

/* ---- the fields of alignd's own dialect ----
 *
 * JSON, forms and query strings send them. One table (fields.c) has the type, range and destination of each; the searches'
 * parameters (server/decode/request.c) extend it. */

enum api_kind { API_TRANSLATE = 1 << 0, API_ATTENTION = 1 << 1 }; /* the two endpoints */

struct field;

/* `include` "all" means everything that the model has, except heads and beam. */
#define INCLUDE_ALL (1u << 31)

/* Strings and values are borrowed from the JSON. */
struct api_form {
    json_t *text, *translation, *force_attention, *glossary, *protect;
    const char *model, *source, *target_language, *variant, *prefix, *format;
    const struct links_kind *links;
    struct search_options search; /* the strategy's parameters: server/decode/request.h */
    bool split, split_given, stream, replace_unknowns, warns, verbatim;
    unsigned include;
    size_t digits;      /* significant digits of weights */
    bool attention;     /* only for /attention */
    struct text *texts; /* in the request's arena; their models and languages are set first */
};

struct field_type {
    /* Checks the value and writes it to its place in struct api_form. Returns -1 after setting the reply. */
    int (*read)(const struct field *field, json_t *value, void *out, struct reply *reply);
    /* Converts the text of a form's field to a JSON value. text: NUL-terminated, without a NUL in it. Returns NULL if the text does
     * not have this type; read will then refuse the string. If this member is NULL, the value is the string. */
    json_t *(*from_text)(const char *text, size_t length);
    bool several; /* a form may repeat it: an array */
};

struct field {
    const char *name;
    int kinds; /* enum api_kind: the endpoints that accept it */
    const struct field_type *type;
    size_t offset;                     /* in struct api_form; split_sentences: 0 */
    const struct parameter *parameter; /* its range, and the strategy that uses it; NULL: neither */
};

/* Sets *field to the i-th field. Returns false after the last. */
bool field_nth(size_t i, struct field *field);
/* Returns false if the endpoint has no such field. */
bool field_find(const char *name, enum api_kind kind, struct field *field);
/* Returns the i-th name that `include` may have, without "all", or NULL after the last. */
const char *field_include_name(size_t i);

/* Returns the values of a body without fields; the model has the other defaults (parameters_settle). */
struct api_form api_default_form(enum api_kind kind);
/* Sets the fields that the object has, over the defaults. It refuses unknown fields, so that a typo is not silently ignored, and
 * fields that the strategy does not use. -1: the reply is set. */
int api_read_form(json_t *root, enum api_kind kind, struct api_form *form, struct reply *reply);

/* Sets request->forced from force_attention. -1: the reply is set. */
int api_read_forced(json_t *value, struct request *request, struct reply *reply);
/* Sets request->glossary from glossary, once the request has its model. -1: the reply is set. */
int api_read_glossary(const struct service *service, json_t *value, struct request *request, struct reply *reply);

/* ---- the answers of alignd's own dialect ---- */

/* Writes one text's answer, {"text","sentences":[...]} and any "warnings", as the README describes it. It stops early if the writer
 * has ended or the request is over. markup: replaces "text" if the text was cut at its tags; its sentences then have no offsets in
 * the whole. NULL: "text" is made of the sentences. source: the text of the markup, unless it is a document with tags. */
void api_render_text(struct request *request, const struct text *text, const struct bytes *source, const struct bytes *markup,
                     struct writer *out);
/* Holds a position in the whole source or target text. */
struct api_place {
    size_t bytes, units; /* UTF-8, UTF-16 */
};
struct api_places {
    struct api_place source, target;
};
/* Writes two offsets, each in bytes of UTF-8 and in UTF-16 units. */
void api_put_place(struct writer *out, const char *key, struct api_place begin, struct api_place end);
/* Writes the members of the object of the text's sentence i, which begins at *at, and moves *at to its end. */
void api_put_sentence(struct request *request, const struct text *text, size_t i, struct api_places *at, struct writer *out);
/* The names by enum finish. */
extern const char *const finish_reasons[];
/* Writes "pivot", the names of a text's two models. */
void api_put_pivot(const struct text *text, struct writer *out);
/* The same as api_render_text for an item of request->plan. */
void api_render_item(struct request *request, const struct plan_item *item, struct writer *out);

/* ---- warnings ----
 *
 * They report likely errors in a text or in its translation, without being requested. The native dialect writes them beside a
 * text's sentences. Dialects that have no place for warnings, and documents, send the codes in a header; a document's stream sends
 * an event for each. */

/* In the order in which they are written. */
enum warning_code {
    WARNING_LANGUAGE,     /* the text appears to be in another language than the model reads */
    WARNING_UNTRANSLATED, /* returned unchanged: the model cannot read any of its letters */
    WARNING_UNKNOWN,      /* many of its tokens are unknown to the model */
    WARNING_SHORTENED,    /* much of it may have been left out */
    WARNING_NUMBERS,      /* the translation has different numbers */
    WARNING_SIGNS,        /* the translation has different signs */
    WARNING_GLOSSARY,     /* it lacks entries of the glossary */
    WARNING_DOUBTFUL,     /* the model's own estimate is low */
    WARNING_ENCODING,     /* the document is not UTF-8; its encoding was guessed */
    WARNING_CHANGED,      /* a document was changed beside its text: a signature was removed, for example */
    WARNING_CODES
};

struct warning {
    enum warning_code code;
    const char *message;
    /* Writes the other members of the warning's object. NULL: it has none. */
    void (*put)(struct writer *w, const struct warning *warning);
    const void *detail; /* an argument for put */
    size_t text;        /* the text's index in the request */
    struct warning *next;
};

/* The list and everything in it are in an arena. */
struct warnings {
    struct warning *first, *last;
    unsigned codes; /* a bit for each code in the list: 1 << code */
};

/* Sets the plan's warnings, of all its texts, after the jobs have ended. The language of markup is judged by all its segments
 * together, since a title or a name is often in another language. answers: of the items, whose texts are compared as a whole; NULL:
 * they are not. Returns -1 if memory runs out. */
int warnings_of_plan(struct request *request, const struct plan_answers *answers);
/* The text that a client sent, and its translation as the client gets it. */
struct whole {
    struct bytes source, translation;
};
/* Writes the member "warnings" of a text's object if the text has warnings. apart: the object has no text in which sentences have
 * places. arena provides scratch memory. */
void warnings_put(const struct request *request, const struct text *text, const struct whole *whole, bool apart,
                  struct arena *arena, struct writer *out);

/* Writes {"code","message"} and the other members; the caller may add members before it ends the object. */
void warning_begin(struct writer *w, const struct warning *warning);

/* Returns NULL after the last. */
const char *warning_name(size_t code);

/* ---- the endpoints; their paths are in the table of routes ---- */

api_start api_decode_start, api_models, api_add_model, api_remove_model, api_reload_start, api_document_start,
    api_deepl_document_start, api_deepl_document_status, api_deepl_document_result, api_file_start, api_file, api_health, api_ready,
    api_metrics, api_deepl_languages, api_deepl_usage, api_deepl_glossary_pairs, api_deepl_glossaries, api_deepl_make_glossary,
    api_deepl_glossary, api_deepl_remove_glossary, api_deepl_change_multilingual, api_deepl_dictionary_entries,
    api_deepl_set_dictionary, api_deepl_remove_dictionary, api_deepl_entries, api_google_languages, api_microsoft_token,
    api_languages, api_settings, api_openapi, api_docs, api_spec, api_page;
api_finish api_decode_finish, api_reload_finish, api_document_finish, api_file_finish;

/* ---- the page ---- */

/* The files of server/page/, made part of the program by server/page/embed.sh. */
struct page_file {
    const char *path, *type; /* its path on the server, its content type */
    const char *etag;        /* a hash of its bytes, in quotes */
    const unsigned char *bytes;
    size_t length;
};

extern const struct page_file page_files[];
extern const size_t page_file_count;

/* Returns NULL if the page has no such path. */
const struct page_file *page_find(const char *path);

#endif
