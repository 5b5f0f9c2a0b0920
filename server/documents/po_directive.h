/* What stands in messages for programs: %s, %(name)d, {0}, $HOME, as a message's flags say. Included by server/documents/ only. */
#ifndef ALIGND_DOCUMENT_PO_DIRECTIVE_H
#define ALIGND_DOCUMENT_PO_DIRECTIVE_H

#include "model/text/opaque.h"
#include "server/documents/po.h"

/* The notations that a message may have, as its flags have them ("c-format"); those of no program: 0. */
enum {
    PO_PERCENT = 1 << 0,  /* %s %-5.2f %(name)s %1$s */
    PO_NUMBERED = 1 << 1, /* of which those without a number may get one */
    PO_QT = 1 << 2,       /* %1 %L1 %n */
    PO_BRACES = 1 << 3,   /* {name} {0:>8} {} */
    PO_DOLLAR = 1 << 4    /* $name ${name} */
};
unsigned po_notations(const struct po_message *message);

/* Bytes of one that begins there; 0: none does. */
size_t po_directive_at(unsigned notations, const char *at, const char *end);

/* A way through a text. */
struct po_scan {
    const char *text; /* [length] */
    size_t length, at;
    unsigned notations;
    size_t other_at;   /* placeholders of other kinds (model/text/opaque.h): found up to here; */
    struct span other; /* the next one, */
    bool has_other;    /* if there is one */
};
/* From {text, length, 0, notations}: the next one. False: there are no more. */
bool po_scan_next(struct po_scan *scan, struct span *found);

/* It takes the next argument of those that have no number: %s, {}. */
bool po_takes_next(unsigned notations, const char *directive, size_t length);
/* Such a one of PO_NUMBERED can get a number behind its first byte: it has no width that is an argument, too. */
bool po_can_be_numbered(const char *directive, size_t length);

#endif
