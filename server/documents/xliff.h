/* What an XLIFF document, 1.2 or 2, has to translate: its units, and their sources and targets. Included by server/documents/ only.
 */
#ifndef ALIGND_DOCUMENT_XLIFF_H
#define ALIGND_DOCUMENT_XLIFF_H

#include "server/documents/format.h"
#include "server/markup/piece.h"

/* Of pieces: the first is none of those that matter. */
enum { XLIFF_NONE = 0 };

/* A <trans-unit>, or a <segment> of a <unit>, whose target is missing or still to be translated. All of it indices of pieces. */
struct xliff_unit {
    size_t language;             /* whose attribute tells the targets' language: the <file>, or <xliff> */
    size_t unit, source, target; /* target XLIFF_NONE: there is none */
    size_t content;              /* what is translated, which a new target stands behind: the source, or its <seg-source> */
    bool segment;                /* it is of XLIFF 2 */
    bool preserve;               /* white space counts */
};

struct xliff {
    const char *begin, *end;   /* the document */
    struct html_piece *pieces; /* [piece_count] */
    size_t piece_count;
    struct xliff_unit *units; /* [count] in their order */
    size_t count;
};

/* As format->read. ERROR_INPUT also where its targets are in another language. */
int xliff_open(const struct document *document, struct arena *arena, struct xliff *out, struct error *err);

/* The element's name behind its prefix is this; of its start. */
bool xliff_is(const struct html_piece *piece, const char *name);
/* An attribute of a tag. */
struct xliff_attribute {
    const char *begin, *end;       /* with the white space in front of it */
    struct html_bytes name, value; /* as they are written */
};
/* The next; from *at, which is NULL at first. */
bool xliff_next_attribute(const struct html_piece *piece, const char **at, struct xliff_attribute *out);
bool xliff_find(const struct html_piece *piece, const char *name, struct xliff_attribute *out);
bool xliff_says(const struct html_piece *piece, const char *name, const char *value);

/* Behind the element that begins with the piece, or behind the piece. */
size_t xliff_behind(const struct xliff *xliff, size_t i);
/* How it is written: of a text, what stands between the pieces beside it. */
struct html_bytes xliff_written(const struct xliff *xliff, size_t i);
/* A text of white space. */
bool xliff_is_blank(const struct html_piece *piece);
/* It holds code, and no words: bpt, ept, it, ph. */
bool xliff_is_code(const struct html_piece *piece);

/* The pieces of what a unit says (xliff_content.c). room: [piece_count] zeroes, which are left as they are used. */
void xliff_add_content(const struct xliff *xliff, const struct xliff_unit *unit, size_t *room, struct html_builder *builder);

/* What a unit says is one text, and that is a message in ICU's notation. */
bool xliff_message(const struct xliff *xliff, const struct xliff_unit *unit, struct html_bytes *text);

/* Targets in their places, as finish of a format. */
char *xliff_write(const struct document *document, const char *written, size_t written_length, struct arena *arena,
                  size_t *out_length, struct error *err);

#endif
