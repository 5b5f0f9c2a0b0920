/* POST /align: texts and somebody's translations of them become pairs of sentences, and these
 * become words, links, phrase pairs, and what the translation lacks. If only a model of the
 * opposite pair is there (request->parameters.reversed), it aligns the texts with the translations,
 * and the result is transposed. */
#ifndef ALIGND_ALIGN_H
#define ALIGND_ALIGN_H

#include "server/api/api.h"

/* The parts that a reply has even if `include` does not name them. */
enum {
    ALIGN_PARTS =
        INCLUDE_WORDS | INCLUDE_PHRASES | INCLUDE_QUALITY | INCLUDE_ALIGNMENT | INCLUDE_OFFSETS
};

/* Cuts the request's texts, which have targets, into pairs of sentences (server/api/beads.h), and
 * makes each pair a text of the request. Sets request->pairs. whole: each text stays one pair.
 * Returns -1 after setting the reply. */
int align_cut(struct request *request, bool whole, struct reply *reply);

/* Writes {"results": [...]} of a request that was cut, as a member of an object. */
void align_put_results(struct request *request, struct writer *out);

#endif
