/* The members of a sentence's object in a reply of alignd's own dialect, and their least length. */
#ifndef ALIGND_MEMBERS_H
#define ALIGND_MEMBERS_H

#include "server/api/value.h"
#include "server/decode/request.h"

/* Writes the sentences of one text, one after the other. */
struct members {
    struct request *request;
    const struct text *text;
    struct arena *arena; /* scratch, released after each hypothesis but the best */
    struct writer *out;
    struct value_places *at; /* where the last sentence that was written ended, in the whole text */
    bool apart;              /* sentences have no offsets in the whole text */
};

/* Writes the members of the object of sentence i with its best hypothesis, and moves *at to its
 * end. The output keeps the white space that precedes the sentence in the source. best: how the
 * best hypothesis is rendered. Stops early once the writer has ended or the request is over. */
void members_put(const struct members *members, size_t i, const struct rendering *best);

/* Writes the object of a decoded sentence for members_put_shown, which writes the same as it does
 * where its text has the sentence (struct request.show). */
void members_show(struct request *request, const struct sentence *sentence, struct writer *out);
/* Writes the object of sentence i, of which the request has kept what members_show has written, and
 * moves *at to its end. */
void members_put_shown(const struct members *members, size_t i);

/* The names by enum finish. */
extern const char *const members_finish_reasons[];

/* Returns true if the client no longer needs the rest of the answer. */
bool members_are_over(const struct members *members);

/* Counts the object of a sentence in a writer that counts (writer_counts), without rendering a
 * hypothesis. Before the sentence has been decoded, it counts what the request alone shows. The
 * length that was counted is at most that of the object with numbers of WRITER_LEAST_NUMBER. */
void members_count(struct request *request, const struct sentence *sentence, struct writer *out);

#endif
