/* This module reads the tags and texts of an XML document one after the other, each with its place,
 * so that a caller that rewrites the document can keep all other bytes. libxml2's reader does not
 * state the byte at which a tag begins, and a document may have millions of pieces. Nothing is
 * expanded or looked up: a document type declaration is refused or skipped as a whole. Memory does
 * not depend on the length; time is linear. markup_parse_xml makes pieces instead. */
#ifndef ALIGND_XML_H
#define ALIGND_XML_H

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
    struct bytes name;       /* a tag's name, with its prefix */
};

struct xml_scan {
    const char *begin, *at, *end; /* the document; read up to `at` */
    struct budget *budget;        /* NULL: none */
    bool doctype; /* a document type declaration is skipped; otherwise it is refused */
    bool rooted;  /* the root was read */
    struct bytes open[MARKUP_MAX_DEPTH]; /* [depth] names of open elements */
    size_t depth;
};

/* Starts a scan of a document, which must outlive the scan. Skips a byte order mark. */
void xml_scan_begin(struct xml_scan *scan, struct bytes document, bool doctype,
                    struct budget *budget);
/* Returns 1 with the next token, 0 after the last, or -1 with ERROR_INPUT (the message names the
 * place, except for invalid UTF-8) or ERROR_MEMORY (the budget is used up). The depth includes the
 * element after XML_START, but not after XML_END. */
int xml_next(struct xml_scan *scan, struct xml_token *token, struct error *err);

/* Sets the undecoded value of an attribute, whose name may omit the prefix. Returns false if the
 * tag has no such attribute. */
bool xml_attribute(const struct xml_token *tag, const char *name, struct bytes *value);
struct xml_attribute {
    const char *begin, *end; /* with the white space before it */
    struct bytes name, value;
};
/* Reads the next attribute of a tag from *at, which is NULL at first. */
bool xml_next_attribute(const struct xml_token *tag, const char **at, struct xml_attribute *out);

/* Decodes a text, which then borrows from the document or is in the arena. Returns -1 with
 * ERROR_INPUT if a reference is unknown (the message names its place in the document), or
 * ERROR_MEMORY. */
int xml_decode(const char *document, const struct xml_token *token, struct arena *arena,
               struct bytes *out, struct error *err);

/* Returns the name without its prefix. */
struct bytes xml_local_name(struct bytes name);

/* Finds the first occurrence of a short text in the bytes, which may be long: the budget lets
 * others run in between. Returns NULL if the text is not found or the budget is used up. */
const char *xml_find(struct bytes bytes, const char *text, struct budget *budget);

/* Like markup_parse_xml, but the pieces are not cut into segments. */
int xml_pieces(const char *text, size_t length, const struct xml_tags *tags, struct arena *arena,
               struct markup *out, struct error *err);

#endif
