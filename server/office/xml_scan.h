/* Reads the tags and texts of an XML document one after the other, each with its place, so that whoever rewrites the document keeps
 * all other bytes. libxml2's reader does not state where in the bytes a tag begins, and the reader of server/markup holds a whole
 * document as pieces; a part of a text document may have millions. Nothing is expanded or looked up: a document type declaration is
 * refused or skipped as a whole. Memory does not depend on the length, time is linear. */
#ifndef ALIGND_OFFICE_XML_SCAN_H
#define ALIGND_OFFICE_XML_SCAN_H

#include "server/markup/markup.h"

enum xml_kind {
    XML_START, /* <name ...> */
    XML_END,   /* </name> */
    XML_EMPTY, /* <name .../> */
    XML_TEXT,  /* up to the next tag; with references */
    XML_CDATA, /* <![CDATA[...]]>: begin and end are those of its content */
    XML_OTHER, /* comments, instructions, a document type declaration */
};

struct xml_token {
    enum xml_kind kind;
    const char *begin, *end; /* in the document */
    struct html_bytes name;  /* of a tag, with its prefix */
};

struct xml_scan {
    const char *begin, *at, *end;           /* the document; read up to `at` */
    struct budget *budget;                  /* NULL: none */
    bool doctype;                           /* a document type declaration is skipped; otherwise it is refused */
    bool rooted;                            /* the root was read */
    struct html_bytes open[HTML_MAX_DEPTH]; /* [depth] names of open elements */
    size_t depth;
};

/* Begins with a document, which outlives the scan. A mark of UTF-8 before it is skipped. */
void xml_scan_begin(struct xml_scan *scan, struct html_bytes document, bool doctype, struct budget *budget);
/* Returns 1 with the next token, 0 after the last, or -1 with ERROR_INPUT, whose message names line and column, or ERROR_MEMORY if
 * the budget is used up. After XML_START the depth includes the element, after XML_END it no longer does. */
int xml_next(struct xml_scan *scan, struct xml_token *token, struct error *err);

/* The value of an attribute by its name without prefix, as it is written. Returns false if the tag has none. */
bool xml_attribute(const struct xml_token *tag, const char *name, struct html_bytes *value);
struct xml_attribute {
    const char *begin, *end; /* with the white space before it */
    struct html_bytes name, value;
};
/* Reads the next attribute of a tag from *at, which is NULL at first. */
bool xml_next_attribute(const struct xml_token *tag, const char **at, struct xml_attribute *out);

/* The text without references, which borrows or is in the arena. Returns -1 with ERROR_INPUT if a reference is unknown, or
 * ERROR_MEMORY. scan: for the place in a message. */
int xml_decode(const struct xml_scan *scan, const struct xml_token *token, struct arena *arena, struct html_bytes *out,
               struct error *err);

/* The name without its prefix. */
struct html_bytes xml_local_name(struct html_bytes name);

/* Where a short text first stands in the bytes, which may be long: others have their turn in between. NULL: nowhere, or the budget
 * is used up. */
const char *xml_find(struct html_bytes bytes, const char *text, struct budget *budget);

#endif
