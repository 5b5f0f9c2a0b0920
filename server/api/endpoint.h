/* The path of a decoding request from its body to its sentences and back, and the endpoints. */
#ifndef ALIGND_ENDPOINT_H
#define ALIGND_ENDPOINT_H

#include "server/api/api.h"
#include "server/api/plan.h"
#include <jansson.h>

/* Finds the kept glossary of this name or id for the languages of the request's model, and sets
 * request->glossary and kept. -1: the request may use no such glossary; the reply is set. */
int api_use_glossary(const struct service *service, const char *asked, struct request *request,
                     struct reply *reply);
/* Sets request->protection from protect. -1: the reply is set. */
int api_read_protect(const json_t *value, struct request *request, struct reply *reply);
/* Returns the owner of glossaries that this request makes (struct glossary_about). */
const char *api_glossary_owner(const struct request *request);
/* Makes jobs of the request's texts, or sets the reply. field: the name that errors about a text
 * use. */
void api_prepare(const struct service *service, const char *field, struct request *request,
                 struct reply *reply);
/* Returns the minimum length of the answer to a prepared request. */
size_t api_least_bytes(struct request *request);
/* Makes a prepared request end, as api_fail_length does, when the sentences that have been decoded
 * make its answer too long. */
void api_bound_answer(const struct service *service, struct request *request);
/* Replies 413 and counts it. least: the minimum length of the answer; 0: unknown, but over the
 * limit. */
void api_fail_length(const struct service *service, size_t least, struct reply *reply);
/* Return the writer of a decoding request's answer, limited to --max-reply-bytes, and set the
 * reply, which is 413 if the answer is too long. */
struct writer api_begin_answer(const struct service *service);
void api_reply_answer(const struct service *service, struct reply *reply, struct writer *w);
/* Replies 500, or 503 if memory runs out, and returns true if a sentence failed. */
bool api_fail_decoded(const struct request *request, struct reply *reply);

/* ---- the endpoints; their paths are in the table of routes ---- */

api_start api_decode_start, api_models, api_add_model, api_remove_model, api_reload_start,
    api_document_start, api_deepl_document_start, api_deepl_document_status,
    api_deepl_document_result, api_file_start, api_file, api_health, api_ready, api_metrics,
    api_deepl_languages, api_deepl_usage, api_deepl_glossary_pairs, api_deepl_glossaries,
    api_deepl_make_glossary, api_deepl_glossary, api_deepl_remove_glossary,
    api_deepl_change_multilingual, api_deepl_dictionary_entries, api_deepl_set_dictionary,
    api_deepl_remove_dictionary, api_deepl_entries, api_google_languages, api_microsoft_token,
    api_languages, api_settings, api_openapi, api_docs, api_spec, api_page;
api_finish api_decode_finish, api_reload_finish, api_document_finish, api_file_finish;

#endif
