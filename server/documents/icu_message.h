/* This module reads messages in ICU's notation, {count, plural, one {# file} other {# files}}, by
 * ICU's MessagePattern. */
#ifndef ALIGND_DOCUMENT_ICU_MESSAGE_H
#define ALIGND_DOCUMENT_ICU_MESSAGE_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include "model/base/utf8.h"
#include <stdbool.h>
#include <stddef.h>

enum icu_kind {
    ICU_SYNTAX,   /* between texts: "{count, plural, one {", "} other {", "}}" */
    ICU_TEXT,     /* to translate */
    ICU_QUOTE,    /* an apostrophe that quotes the text beside it */
    ICU_ARGUMENT, /* {name}, {date, date, short}, or notation in apostrophes */
    ICU_NUMBER    /* # in a plural */
};

struct icu_part {
    size_t begin, end; /* bytes of the message */
    enum icu_kind kind;
    bool one; /* an ICU_NUMBER stands in the form for one */
};

struct icu_message {
    struct icu_part *parts; /* [count] in order; together they are the whole message */
    size_t count;
};

/* True if the text has a plural, a select or a choice in it, and so must be a message. */
bool icu_message_is(const char *text, size_t length);
/* Reads valid UTF-8; the result is in the arena. Returns -1 with ERROR_MEMORY, or ERROR_INPUT if it
 * is not a message, has more than 64 KiB, or has braces that nest deeper than 32. Time is linear in
 * the length. */
int icu_message_read(const char *text, size_t length, struct arena *arena, struct icu_message *out,
                     struct error *err);
/* Moves whole sentences into the branches: "You have {n, plural, one {# file} other {# files}}
 * left." becomes "{n, plural, one {You have # file left.} other {You have # files left.}}", which
 * means the same and can be translated. *expanded is the text itself if no words stand beside a
 * plural or select, if a # would change its meaning there, or if there would be more than 24
 * sentences or 16384 units of UTF-16. Otherwise it is in the arena. Fails like icu_message_read. */
int icu_message_expand(const char *text, size_t length, struct arena *arena, const char **expanded,
                       size_t *expanded_length, struct error *err);
/* Writes the categories that plurals of the language have and the message lacks, each with what
 * `other` has, before that. *completed is the text itself if none is missing, if the text is no
 * message, or if it would be longer than messages may be. Otherwise it is in the arena. */
void icu_message_complete(struct bytes text, const char *language, struct arena *arena,
                          struct bytes *completed);
/* True if the translation has the arguments of the source, each in the same branch and equally
 * often. */
bool icu_message_same(const char *source, const struct icu_message *from, const char *translation,
                      const struct icu_message *to);

#endif
