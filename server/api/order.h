/* Orders are the path of most dialects: from the fields of a request to a plan and its answer. */
#ifndef ALIGND_ORDER_H
#define ALIGND_ORDER_H

#include "server/api/plan.h"

/* Converts a form and the query string, in valid UTF-8, to an object of strings, without API keys
 * (access_is_key). If a field is repeated, the first one counts, but the dialect's `several`
 * becomes an array. NULL: the reply is set. */
json_t *order_load(const struct call *call, struct reply *reply);
/* Reads a string. NULL in *out: absent, null or "". -1: the value is not a string; the reply is
 * set. */
int order_string(const json_t *root, const char *name, const char **out, struct reply *reply);
/* The same for a string that must be one of these words. words: NULL-terminated. allowed: the words
 * as an error message lists them.
 */
int order_word(const json_t *root, const char *name, const char *const *words, const char *allowed,
               const char **out, struct reply *reply);
/* Reads a flag: true, 1 or "1", "true", "on"; false if absent. -1: the value is neither a flag nor
 * its opposite; the reply is set. */
int order_flag(const json_t *root, const char *name, bool *out, struct reply *reply);
/* Sets order->texts and count from the field text_name: at most `most` strings. -1: the reply is
 * set. */
int order_texts(const json_t *root, struct order *order, size_t most, struct reply *reply);
/* The same for this field, read into a separate plan, for requests that are answered without a
 * translation. */
int order_read(const json_t *root, const char *name, size_t most, struct plan *plan,
               struct arena *arena, struct reply *reply);

struct dialect;
/* Makes a new order that begins as this one. NULL: the reply is set, also if the request's arena
 * lacked memory earlier. */
struct order *order_create(struct request *request, const struct order *begun, struct reply *reply);
/* Makes jobs of the order, or sets the reply. root: as for recall_answer; NULL: the answer is not
 * cached. */
void order_start(struct order *order, const struct dialect *dialect, const struct service *service,
                 const json_t *root, struct request *request, struct reply *reply);

/* The start of a dialect: reads texts (its `several`, if the object has that field), languages and
 * the dialect's other fields
 * (`read`), and starts. */
void order_begin(const struct dialect *dialect, const struct service *service, json_t *root,
                 struct request *request, struct reply *reply);

/* Sets the reply to the output of the dialect's put, after the jobs have ended. */
void order_finish(const struct service *service, struct request *request, struct reply *reply);
/* Writes a translation as a string. */
void order_put_text(struct writer *w, const char *key, const struct plan_answer *answer);
/* Writes a language code in DeepL's notation: "EN", "PT-BR". */
void order_put_code(struct writer *w, const char *key, const char *code);

/* Collects the languages (plan_languages) for an endpoint that lists them. -1: models are loading,
 * or memory runs out; the reply is set. */
int order_list(struct request *request, bool sources, bool targets, struct plan_codes *codes,
               struct reply *reply);

#endif
