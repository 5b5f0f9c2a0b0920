/* Files that give spans: a reader reports the places of its file that have text, with what it knows
 * about them, and the pieces of each text (server/markup/markup.h). One writer goes through the
 * file once: the format puts what replaces a span or is inserted at it, and every other byte is the
 * source's. */
#ifndef ALIGND_DOCUMENT_SPANS_H
#define ALIGND_DOCUMENT_SPANS_H

#include "server/documents/document.h"

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
    const void *about; /* what the format knows about it */
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
/* Makes the pieces that were added to the builder from `first` on a text of the last span. */
void spans_end_text(struct document_spans *spans, struct piece_builder *builder, size_t first);
/* Adds a message in ICU's notation as a text of the last span. It outlives the builder's markup.
 * Returns false with an error if it cannot be read: then it is added as it is and will be reported
 * as unsound. */
bool spans_add_message(struct document_spans *spans, struct piece_builder *builder,
                       struct bytes text, struct error *err);
/* Like piece_build for a document that is written from these spans, which outlive the markup. */
int spans_build(const struct document_spans *spans, struct piece_builder *builder,
                markup_escape *escape, struct markup *out, struct error *err);

/* Copies the file up to there, or skips it, unless that has happened already. */
void span_keep(struct span_writer *writer, const char *to);
void span_skip(struct span_writer *writer, const char *to);

#endif
