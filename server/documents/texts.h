/* Texts with the notation of a markup language (AsciiDoc, reStructuredText, LaTeX): a format finds
 * the ranges of its file that are prose, and the notation within them; this module makes spans of
 * them and writes these. */
#ifndef ALIGND_TEXTS_H
#define ALIGND_TEXTS_H

#include "server/documents/spans.h"

enum { TEXTS_FAR = 2000 /* bytes within which notation must end */ };

/* Notation within a text. */
struct text_token {
    enum text_token_kind {
        TEXT_NONE,    /* the byte is text */
        TEXT_UNIT,    /* stays unchanged within its sentence */
        TEXT_BREAK,   /* stays and ends a sentence */
        TEXT_NOUN,    /* stays; `text` represents it in the sentence */
        TEXT_SPACE,   /* stays; it is white space */
        TEXT_CODE,    /* stays; its content is a word of the sentence */
        TEXT_ELEMENT, /* surrounds its content, which is part of the sentence */
        TEXT_NAMED,   /* an element that is written with `text` in place of [past,after) */
        TEXT_INNER,   /* surrounds a text that is not part of the sentence, such as a footnote */
        TEXT_WORDS    /* is read as `text` */
    } kind;
    const char *after;         /* the notation ends here */
    const char *inside, *past; /* TEXT_CODE to TEXT_INNER: the content [inside,past) */
    struct bytes text;
};

struct text_reader;
/* Reads the notation that begins at `at`, in a text [begin,end). Looks at most TEXTS_FAR bytes
 * ahead. */
typedef void text_next(const struct text_reader *reader, const char *begin, const char *at,
                       const char *end, struct text_token *out);

/* Appends a translation that is written in the file, where its notation would not be read as such
 * beside other signs. */
typedef void text_settle(struct bytes_buffer *out, struct bytes text);

struct text_reader {
    const struct document *document;
    struct document_spans *spans;
    struct piece_builder *builder;
    text_next *next;
    text_settle *settle; /* NULL: translations are as they are */
    const char *end;     /* of the document */
};

/* Returns a reader whose spans are in the builder's arena, or fails the builder. */
struct text_reader texts_reader(const struct document *document, struct piece_builder *builder,
                                text_next *next);
/* Adds the text [begin,end) without the white space at its ends. below: what separates it from a
 * translation below it, in the arena or constant. */
void texts_add(struct text_reader *reader, const char *begin, const char *end, const char *below);
/* Adds a text that stays below its translation, since references name it. below: as of texts_add.
 */
void texts_add_name(struct text_reader *reader, const char *begin, const char *end,
                    const char *below);
/* Adds a title in one line. over, under: lines that consist of one sign and are at least as long as
 * the title, or empty; one that is as long as the title, give or take one, remains so. before: what
 * precedes both if the title changes, or NULL. */
void texts_add_title(struct text_reader *reader, struct bytes title, struct bytes over,
                     struct bytes under, const char *before);
/* Adds a text; if it changes, `before` is written at `line`, the begin of its line. */
void texts_add_anchored(struct text_reader *reader, struct bytes text, const char *line,
                        const char *before);
/* Adds a text that is not in one place of the file, such as the lines of a drawn cell; it is in the
 * arena, and `place` is where it counts as being. Returns what its translation becomes, which is
 * empty while there is none, or NULL if memory runs out. */
const struct bytes *texts_add_apart(struct text_reader *reader, struct bytes text,
                                    const char *place);
/* Writes what replaces a place of the file, from the translations of the texts that were added
 * before it. both: with their sources; before: what the file has up to there. Returns false if it
 * stays. */
typedef bool text_draw(const void *drawing, bool both, struct bytes before,
                       struct bytes_buffer *out);
void texts_add_drawing(struct text_reader *reader, struct bytes place, text_draw *draw,
                       const void *drawing);
/* Returns "\n\n" and the indentation of the line that begins there, plus `more` spaces. */
const char *texts_paragraph(struct text_reader *reader, const char *line, size_t more);

/* Returns the columns that a text takes, of which wide characters have two. */
size_t texts_columns(struct bytes text);
/* Returns how far notation that begins at `at` may reach: TEXTS_FAR bytes, or the end. */
const char *texts_limit(const char *at, const char *end);
/* Returns the first occurrence of `what` in [at,end) within TEXTS_FAR bytes, or NULL. Who looks for
 * another one gives the same limit, so that notation is found in linear time. */
const char *texts_find(const char *at, const char *end, const char *what);
/* Returns the end of what the bracket at `at` begins, after its partner, within TEXTS_FAR bytes, or
 * NULL. A backslash precedes a bracket that does not count. */
const char *texts_bracket_end(const char *at, const char *end);

#endif
