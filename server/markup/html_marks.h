/* Marks in text: what stands in a sentence for browsers and programs and not for people, where the text itself is no document of
 * HTML. Such are strings of interfaces (PO, XLIFF, JSON), subtitles, and what people paste. The rule, which server/README.md tells:
 *
 *   <b>, </b>, <a href="x">, <0>, </0>   tags, where a start and an end of one name nest; a name begins with a letter, or is a
 * number <br>, <img ...>, <x/>                tags without an end: elements of HTML that have none, and what ends in "/>" <p>,
 * </b>, <file>                    tags without a partner: of HTML's names, if their attributes have values, or without attributes
 *   <!-- -->, <![CDATA[ ]]>, <? ?>       comments and the like
 *   &amp;, &#233;, &brandName;           references of at least two letters; &lt;b&gt; is a tag that is written with references
 *   `code`, ``code``                     code
 *   `text <url>`_, `text`_, :ref:`a <b>` links of reStructuredText, whose text is prose
 *
 * All else is text: "a < b", "<3", "5 > 3", "AT&T", "R&D &c.". */
#ifndef ALIGND_HTML_MARKS_H
#define ALIGND_HTML_MARKS_H

#include "server/markup/html_build.h"

enum html_mark_kind {
    MARK_TAG,   /* html_pair_marks tells what it becomes */
    MARK_UNIT,  /* as it is */
    MARK_SPACE, /* white space that is written as a reference */
    MARK_TEXT,  /* a reference that is read as its character */
    MARK_BREAK, /* as it is, the end of a sentence */
    MARK_OPEN,  /* around words, up to the next MARK_CLOSE */
    MARK_CLOSE,
};

enum { MARK_SHOWN_BYTES = 32 };

struct html_mark {
    size_t begin, end; /* bytes of the text */
    enum html_mark_kind kind;
    char shown[MARK_SHOWN_BYTES]; /* [shown_length] of MARK_UNIT and MARK_TEXT: what the sentence has in its place */
    size_t shown_length;
};

/* A way through a text, from {text, length}. quoted: the text tells of marks and has none, as HTML's own text, in which
 * "&lt;br&gt;" is written: all are tags and units within the sentence. */
struct html_marking;
struct html_mark_scan {
    const char *text; /* [length] */
    size_t length, at;
    bool quoted;
    const struct html_marking *marking; /* whose skip counts; NULL: none */
    size_t close_begin, close_end;      /* of a link that is open */
};
/* The next mark at or behind scan->at, which is moved behind it. False: there are no more. Time is linear in the text. */
bool html_next_mark(struct html_mark_scan *scan, struct html_mark *mark);

/* A reference that begins at `at`: its bytes, 0 if there is none; *character: what it stands for, -1 if that is not known. */
size_t html_reference(const char *at, const char *end, int32_t *character);

/* How marks and the text between them become pieces. Members that are NULL: as they are. */
struct html_marking {
    /* How a mark is written in the document. */
    struct html_bytes (*written)(const struct html_marking *marking, struct html_bytes mark, struct arena *arena);
    void (*add_text)(const struct html_marking *marking, struct html_builder *builder, struct html_bytes text);
    /* Bytes of something that begins there and has no marks; 0: nothing does. */
    size_t (*skip)(const struct html_marking *marking, const char *at, const char *end);
    bool quoted;
};
/* Appends the pieces of a text. Text and marks outlive the builder's html. */
void html_add_marked(struct html_builder *builder, struct html_bytes text, const struct html_marking *marking);

/* True if html_add_marked would find a mark. */
bool html_is_marked(struct html_bytes text);
/* Two texts have the same marks, in any order: of tags the names count. references: they count, too. */
bool html_same_marks(struct html_bytes a, struct html_bytes b, bool references);

/* A text whose lines are apart, as of html_parse. False in *marked, and nothing is read: it has no marks. */
int html_parse_text(const char *text, size_t length, struct arena *arena, struct html *out, bool *marked, struct error *err);

#endif
