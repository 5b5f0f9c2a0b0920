/* The live rows of one worker. */
#ifndef ALIGND_BATCH_H
#define ALIGND_BATCH_H

#include "model/sentence.h"

struct translator;
struct batch;

/* A batch of at most max_rows rows, for one thread. Everything a step needs is allocated here, once. */
struct batch *batch_create(const struct translator *translator, size_t max_rows, struct error *err);
/* The batch must be empty. NULL allowed. */
void batch_free(struct batch *batch);
size_t batch_bytes(const struct batch *batch); /* of memory */
size_t batch_rows(const struct batch *batch);  /* live now */
/* Steps that the live rows look back on, each its own; 0 where they have no past (model/network/row.h). And whether they have. */
size_t batch_past(const struct batch *batch);
bool batch_grows(const struct batch *batch);
size_t batch_sentences(const struct batch *batch); /* live now */

/* False while new sentences had better wait for others to be admitted with: for a few steps, and only while many rows are live. */
bool batch_wants(const struct batch *batch);

/* Encodes these sentences together and adds a row for each. The sum of sentence_max_rows over all live and new sentences must not
 * exceed max_rows. A sentence whose admission fails (memory) comes back from the next batch_step with its error set. */
void batch_admit(struct batch *batch, struct sentence *const *sentences, size_t count);

/* Where the encoder can (encoder_divides), it does its work in parts while other rows are live, one in each step, so that nobody
 * waits long for his next token: sentences admitted then join some steps later. batch_encode does the next step's part now, as a
 * caller that measures the two wants it; batch_encodes: there is more to do. */
bool batch_encodes(const struct batch *batch);
void batch_divide(struct batch *batch, size_t work); /* multiplications of a part, or somewhat more */
void batch_encode(struct batch *batch);

/* One decoder step for all live rows. Finished, failed and cancelled sentences leave the batch: they are written to done
 * (room for batch_sentences) and counted in the result. */
size_t batch_step(struct batch *batch, struct sentence **done);

#endif
