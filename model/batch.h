/* A batch has the live rows of one worker. Sentences are admitted, all rows advance one step at a
 * time, and finished sentences leave at once. */
#ifndef ALIGND_BATCH_H
#define ALIGND_BATCH_H

#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>

struct sentence;
struct translator;

struct batch;

/* Makes a batch of at most max_rows rows, for one thread. It allocates everything that a step
 * needs, except search nodes. Returns NULL with ERROR_MEMORY. */
struct batch *batch_create(const struct translator *translator, size_t max_rows, struct error *err);
/* The batch must be empty. Accepts NULL. */
void batch_free(struct batch *batch);
size_t batch_bytes(const struct batch *batch); /* bytes of memory that the batch takes */
/* Frees memory that only many sentences together need; the next ones allocate it again. The batch
 * must be empty. */
void batch_rest(struct batch *batch);
size_t batch_rows(const struct batch *batch); /* live now */
/* batch_past returns the sum of the steps that each live row looks back on; 0 if rows have no past
 * (model/network/network.h). batch_grows returns true if they have one. */
size_t batch_past(const struct batch *batch);
bool batch_grows(const struct batch *batch);
size_t batch_sentences(const struct batch *batch); /* live now */

/* Returns false while new sentences should wait to be admitted together with others: for a few
 * steps, and only while many rows are live. */
bool batch_wants(const struct batch *batch);

/* Encodes these sentences together and adds a row for each. The sum of sentence_max_rows over all
 * live and new sentences must not exceed max_rows. A sentence whose admission fails (memory) comes
 * back from the next batch_step with its error set. */
void batch_admit(struct batch *batch, struct sentence *const *sentences, size_t count);

/* If the encoder can divide its work (encoder_divides), it does one part in each step while other
 * rows are live, so that no client waits long for the next token; sentences admitted then join some
 * steps later. batch_encode does a part now, in place of the next step, for a caller that measures
 * the two and may do several; batch_encodes says whether encoding remains to be done. */
bool batch_encodes(const struct batch *batch);
void batch_divide(struct batch *batch,
                  size_t work); /* multiplications of a part, or somewhat more */
void batch_encode(struct batch *batch);

/* Makes one decoder step for all live rows. Finished, failed and cancelled sentences leave the
 * batch: they are written to done (room for batch_sentences) and counted in the result. */
size_t batch_step(struct batch *batch, struct sentence **done);

#endif
