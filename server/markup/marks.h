/* This module finds marks in text: parts of a sentence that are meant for browsers and programs
 * instead of people, although the text is not an HTML document. Strings of user interfaces (PO,
 * XLIFF, JSON), subtitles and pasted text have them. server/documents/FORMATS.md has the rule
 * ("Marks in text").
 */
#ifndef ALIGND_MARKS_H
#define ALIGND_MARKS_H

#include "model/base/arena.h"
#include "server/base/bytes.h"

struct piece;
struct piece_builder;

enum mark_kind {
    MARK_TAG,   /* marks_pair_tags decides what it becomes */
    MARK_UNIT,  /* stays as it is */
    MARK_SPACE, /* a reference to white space */
    MARK_TEXT,  /* a reference that is read as its character */
    MARK_BREAK, /* stays as it is and ends a sentence */
    MARK_OPEN,  /* surrounds words up to the next MARK_CLOSE */
    MARK_CLOSE,
};

enum { MARK_SHOWN_BYTES = 32 };

struct mark {
    size_t begin, end; /* bytes of the text */
    enum mark_kind kind;
    char shown[MARK_SHOWN_BYTES]; /* [shown_length] represents MARK_UNIT and MARK_TEXT in the
                                     sentence */
    size_t shown_length;
};

/* The functions that turn marks and the text between them into pieces. Members may be NULL: bytes
 * are then written as they are. */
struct marking {
    const void *owner; /* the caller's data */
    /* Returns the notation in the document of a mark or, without add_text, of text. */
    struct bytes (*written)(const struct marking *marking, struct bytes mark, struct arena *arena);
    void (*add_text)(const struct marking *marking, struct piece_builder *builder,
                     struct bytes text);
    /* Returns the length of a part of the text that begins at `at` and has no marks, or 0. */
    size_t (*skip)(const struct marking *marking, const char *at, const char *end);
    bool accelerators; /* the text may be a label with the mark of its key: _File, &Open, E&xit */
};

/* A scan through a text, which starts as {text, length}. quoted: the text mentions marks instead of
 * having them, like text in HTML with "&lt;br&gt;"; all marks are then tags and units within the
 * sentence. */
struct mark_scan {
    const char *text; /* [length] */
    size_t length, at;
    bool quoted;
    const struct marking *marking; /* its `skip` is used; NULL: none */
    size_t close_begin, close_end; /* the end of a link that is open */
};
/* Finds the next mark at or after scan->at, and moves scan->at past it. Returns false at the end. A
 * scan takes linear time. */
bool marks_next(struct mark_scan *scan, struct mark *mark);

/* True if the text has a mark. marking: as in struct mark_scan. */
bool marks_are_in(struct bytes text, const struct marking *marking);
/* True if two texts have the same tags, compared by name, in any order. references: compare all
 * other marks but MARK_TEXT, too. */
bool marks_same(struct bytes a, struct bytes b, bool references);

/* A tag in text whose partner marks_pair_tags finds, with flags. */
enum mark_tag { TAG_NONE, TAG_START, TAG_END, TAG_ALONE };
enum {
    TAG_FIRM = 1 << 2 /* is a tag even without a partner */,
    TAG_QUOTED = 1 << 3 /* never leaves its sentence */
};

/* Sets the kind of tag of a unit that is a tag in text. */
void marks_note_tag(struct piece *piece, const char *text, size_t length, bool quoted);
/* Turns noted tags whose start and end nest into elements, and unpaired tags without TAG_FIRM into
 * text, in linear time. */
void marks_pair_tags(struct piece *pieces, size_t count);

#endif
