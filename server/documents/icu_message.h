/* Messages in ICU's notation, {count, plural, one {# file} other {# files}}, read by ICU's MessagePattern. Included by
 * server/documents/ only. */
#ifndef ALIGND_DOCUMENT_ICU_MESSAGE_H
#define ALIGND_DOCUMENT_ICU_MESSAGE_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>

enum icu_kind {
    ICU_SYNTAX,   /* between texts: "{count, plural, one {", "} other {", "}}" */
    ICU_TEXT,     /* to be translated */
    ICU_QUOTE,    /* an apostrophe that says how the text beside it is meant */
    ICU_ARGUMENT, /* {name}, {date, date, short}, or braces in apostrophes */
    ICU_NUMBER    /* # in a plural */
};

struct icu_part {
    size_t begin, end; /* bytes of the message */
    enum icu_kind kind;
    bool one; /* of ICU_NUMBER: it stands in the form for one */
};

struct icu_message {
    struct icu_part *parts; /* [count] in order; together they are the whole message */
    size_t count;
};

/* A text that has a plural, a select or a choice in it, and so must be a message. */
bool icu_message_is(const char *text, size_t length);
/* text: valid UTF-8. All in the arena. -1 with ERROR_INPUT: it is no message; or ERROR_MEMORY. Time is linear in the length. */
int icu_message_read(const char *text, size_t length, struct arena *arena, struct icu_message *out, struct error *err);
/* The same message with whole sentences in its branches: "You have {n, plural, one {# file} other {# files}} left." becomes
 * "{n, plural, one {You have # file left.} other {You have # files left.}}", which says the same and can be translated. *expanded
 * is the text itself where no words stand beside branches, where a # would then mean something else, or where that makes more than
 * 24 sentences or 16 KiB. Otherwise it is in the arena. Fails as icu_message_read does. */
int icu_message_expand(const char *text, size_t length, struct arena *arena, const char **expanded, size_t *expanded_length,
                       struct error *err);
/* The translation has the arguments of the source, each in the same branch and as often. */
bool icu_message_same(const char *source, const struct icu_message *from, const char *translation, const struct icu_message *to);

#endif
