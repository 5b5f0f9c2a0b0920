/* Messages in ICU's notation as pieces of a document, and their translations as messages again. All formats whose strings may be
 * such messages use these, and so do texts of requests. Included by server/documents/ only. */
#ifndef ALIGND_DOCUMENT_ICU_SENTENCE_H
#define ALIGND_DOCUMENT_ICU_SENTENCE_H

#include "server/documents/icu_message.h"
#include "server/markup/build.h"

/* A message that is translated: whole sentences stand in its branches (icu_message_expand). */
struct icu_source {
    struct html_bytes text;
    struct icu_message message;
};

/* The text has branches, so that it must be a message. */
static inline bool icu_source_is(struct html_bytes text) {
    return icu_message_is(text.start, text.length);
}
/* Reads a text. Its parts are in the arena, and its text is there or is the text itself. Fails as icu_message_read does. */
int icu_source_open(struct html_bytes text, struct arena *arena, struct icu_source *out, struct error *err);

/* Appends the pieces of a message: each branch is a sentence, or a line of it is, which may hold marks; arguments are words of it.
 * The text outlives the builder's html. written: how bytes of the text are written in the document, asked for in their order; as of
 * struct html_marking. */
void icu_source_add(struct html_builder *builder, const struct icu_source *source, const struct html_marking *written);

/* What was written of these pieces, as a message again. *out is the translation, where apostrophes that would quote what follows
 * are doubled. False: it does not have the source's arguments and marks in their branches, or memory is out; *out is unchanged. */
bool icu_source_settle(const struct icu_source *source, struct html_bytes translation, struct arena *arena, struct html_bytes *out);

#endif
