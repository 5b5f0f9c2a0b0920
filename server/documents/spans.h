/* Files that give spans: a reader reports the places of its file that have text, with what it knows
 * about them, and the pieces of each text (server/markup/markup.h). One writer goes through the
 * file once: the format puts what replaces a span or is inserted at it, and every other byte is the
 * source's. */
#ifndef ALIGND_DOCUMENT_SPANS_H
#define ALIGND_DOCUMENT_SPANS_H

#include "server/documents/document.h"
#include "server/documents/plurals.h"

enum { SPAN_TEXTS = 2 };

/* The pieces [first,end) of a text. */
struct span_text {
    size_t first, end;
    const struct icu_source
        *message; /* the text is a message in ICU's notation; NULL: it is not, or cannot be read */
    bool plain;   /* its pieces are not escaped: the whole text is, once it is complete */
    bool unreadable; /* it looks like such a message and stays */
};

struct document_span {
    const char *begin, *end; /* bytes of the file; equal: a place where something is inserted */
    struct span_text texts[SPAN_TEXTS]; /* [count] */
    size_t count;
    const void *about;                  /* what the format knows about it */
    const struct plural_branch *plural; /* it is only where this branch begins or ends */
};

/* A text as it was written for the translation. */
struct span_written {
    struct bytes text;         /* escaped */
    bool translated;           /* it holds a translation, or is unreadable */
    bool unchanged;            /* it is a message that is as it was */
    bool sound;                /* nothing that the source has is known to be lost */
    struct markup_trace trace; /* where its pieces are, in a text that is not plain */
};

/* The file that is being written. */
struct span_writer {
    const struct document *document;
    const struct markup *markup;
    const void *about; /* what the format knows about the file */
    const char *done;  /* the file up to here is in the output, or replaced */
    struct bytes_buffer out;
    size_t branch_at, branches; /* where the open branch of a plural begins in `out`; how many are
                                   open */
    size_t added;               /* bytes of added branches */
};
/* Puts a span with its texts [span->count]. What it neither puts nor skips is kept. Spans without a
 * translation come, too, if any text of the file has one. */
typedef void span_put(struct span_writer *writer, const struct document_span *span,
                      const struct span_written *texts);

struct document_spans {
    struct document_span *all; /* [count] in the order of their places */
    size_t count, room;
    const void *about;
    span_put *put;
};

/* Adds a span without texts. If memory runs out, the builder has failed. */
void spans_add(struct document_spans *spans, struct piece_builder *builder, const char *begin,
               const char *end, const void *about);
/* Adds the place where a branch of a plural begins, at branch->begin; and the one where it ends, at
 * `end`, after the spans of its texts. The rest of the branch may be set later; it is in the arena.
 * Returns NULL if memory runs out. Categories that the language of the translation has beyond those
 * of the file are written before the branch (plurals_put), if its translation differs. */
struct plural_branch *spans_begin_plural(struct document_spans *spans,
                                         struct piece_builder *builder, const char *begin);
void spans_end_plural(struct document_spans *spans, struct piece_builder *builder,
                      struct plural_branch *branch, const char *end);
/* Makes the pieces that were added to the builder from `first` on a text of the last span. */
void spans_end_text(struct document_spans *spans, struct piece_builder *builder, size_t first);
/* Adds a message in ICU's notation as a text of the last span. It outlives the builder's markup.
 * Returns false with an error if it cannot be read: then it is added as it is and will be reported
 * as unsound. */
bool spans_add_message(struct document_spans *spans, struct piece_builder *builder,
                       struct bytes text, struct error *err);
/* ---- texts with directives for programs (directives.c) ---- */

/* The directives in a text of a file, and how text is written there. */
struct directive_notation {
    unsigned notations;    /* directive_all */
    markup_escape *escape; /* writes decoded text; NULL: pieces are written as they are */
};
/* Adds a part of a text: its lines, or, if lead is NULL, all of it as one sentence or a part of
 * one. */
void directives_add_lines(struct piece_builder *builder, struct bytes text,
                          const struct directive_notation *notation, text_lead *lead);
/* Adds the lines of a text as a text of the last span, or a message in ICU's notation. Directives
 * of these notations (directive_all) and other placeholders are words that stay. The text outlives
 * the builder's markup. */
void directives_add(struct document_spans *spans, struct piece_builder *builder, struct bytes text,
                    unsigned notations, text_lead *lead);
/* Compares a text that is written for its translation with its source: it is not sound if it lacks
 * placeholders or marks, or has others. Directives that take the next argument get numbers if their
 * order has changed. */
void directives_settle(struct span_writer *writer, struct bytes source, unsigned notations,
                       const struct span_text *from, struct span_written *text);

/* ---- writing ---- */

/* Like piece_build for a document that is written from these spans, which outlive the markup. */
int spans_build(const struct document_spans *spans, struct piece_builder *builder,
                markup_escape *escape, struct markup *out, struct error *err);

/* Copies the file up to there, or skips it, unless that has happened already. */
void span_keep(struct span_writer *writer, const char *to);
void span_skip(struct span_writer *writer, const char *to);

#endif
