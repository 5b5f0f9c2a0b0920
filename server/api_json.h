/* What the endpoints share: JSON replies, and the way of a decoding request from its body to its sentences and back. Included by
 * api_*.c only. */
#ifndef ALIGND_API_JSON_H
#define ALIGND_API_JSON_H

#include "server/api.h"
#include "server/api_splice.h"
#include "server/render.h"
#include <jansson.h>

/* Sets a JSON reply; takes over root. A root that is NULL, as jansson makes when memory is out, becomes a 500. */
void api_reply_json(struct reply *reply, unsigned status, json_t *root);
/* The same of a tree with placeholders. */
void api_reply_spliced(struct reply *reply, unsigned status, json_t *root, const struct splices *splices);

/* The fields and differences of the two decoding endpoints. */
enum api_kind { API_TRANSLATE = 1 << 0, API_ATTENTION = 1 << 1 };

/* Body -> request: everything checked, nothing tokenized. -1: the reply is set. */
int api_parse(const struct service *service, const struct call *call, enum api_kind kind, struct request *request,
              struct reply *reply);

/* The whole of start for both: refuses while loading or draining, parses, prepares the sentences. */
void api_decode_start(const struct service *service, const struct call *call, enum api_kind kind, struct request *request,
                      struct reply *reply);
/* The whole of finish: {"model","source","target", array_name: [{"text","sentences"}]}. */
void api_decode_finish(const struct service *service, const char *array_name, struct request *request, struct reply *reply);

/* One text's answer: {"text","sentences":[...]}, as API.md describes it; its arrays of numbers go to splices. NULL when memory is
 * out. */
json_t *api_render_text(const struct request *request, const struct text *text, struct arena *arena, struct splices *splices);

/* Where a sentence begins in the whole input and output. */
struct api_place {
    size_t bytes, units; /* UTF-8, UTF-16 */
};
struct api_places {
    struct api_place source, target;
};
/* One sentence object of it. at: where sentence i - 1 ended, zeroed for the first; moved to the end of this one. */
json_t *api_render_sentence(const struct request *request, const struct text *text, size_t i, struct api_places *at,
                            struct splices *splices);

/* The placeholders of a hypothesis's top_k, of its first so many rows, and of a sentence's search tree. NULL when memory is out or
 * a number is not finite. */
json_t *api_top_k(const struct sentence *sentence, const struct hypothesis *hypothesis, size_t rows, struct splices *splices);
json_t *api_tree(const struct sentence *sentence, struct splices *splices);

#endif
