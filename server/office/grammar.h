/* Which elements of which parts of an archive hold text, and what stands around it. A format is rows of these tables. */
#ifndef ALIGND_OFFICE_GRAMMAR_H
#define ALIGND_OFFICE_GRAMMAR_H

#include "server/office/xml_scan.h"

/* The role of an element in a paragraph. An element without a role is a unit, which moves with the words beside it. */
enum role {
    ROLE_NONE,
    ROLE_PARAGRAPH,   /* holds inline content */
    ROLE_LEAD,        /* properties at the begin of a paragraph */
    ROLE_RUN,         /* holds texts of one format */
    ROLE_FORMAT,      /* the format of a run */
    ROLE_TEXT,        /* holds text and nothing else */
    ROLE_CONTAINER,   /* surrounds inline content: a link, a span */
    ROLE_WRAP,        /* the same, if a ROLE_CONTENT within holds the content */
    ROLE_CONTENT,     /* see there */
    ROLE_TRANSPARENT, /* its content counts, the element goes: an insertion that is accepted */
    ROLE_DROPPED,     /* goes with its content: a deletion that is accepted, a mark of a proofing tool */
    ROLE_BREAK,       /* separates sentences: a line break, a tab */
    ROLE_SPACE,       /* white space */
    ROLE_HYPHEN,      /* a hyphen that does not break */
    ROLE_RANGE_START, /* surrounds inline content up to the ROLE_RANGE_END with the same key */
    ROLE_RANGE_END,
    ROLE_FIELD,    /* begins, separates or ends a field, by its attribute "type" */
    ROLE_OPAQUE,   /* nothing in it is translated, even in paragraphs of its own */
    ROLE_BOUNDARY, /* a block of HTML */
    ROLE_WORD,     /* HTML that is not translated, but may be a word of the sentence */
    ROLE_ALONE,    /* a unit in a run of its own: the mark of a note, whose run's text would be taken for the mark */
    ROLE_LANGUAGE, /* its content is the code of the document's language */
};

/* Elements by their canonical names. */
struct role_row {
    const char *names; /* separated by spaces */
    enum role role;
};

/* Documents may bind any prefix to a namespace; here each has one. */
struct space_row {
    const char *holds, *ends; /* what its address holds, and how it ends */
    const char *prefix;       /* "": names have no prefix */
};

/* Values of attributes that state the language of the text. */
struct language_row {
    const char *names; /* of elements; NULL: every element */
    const char *attribute;
    enum language_part {
        LANGUAGE_WHOLE,   /* "pt-BR" */
        LANGUAGE_PRIMARY, /* "pt" */
        LANGUAGE_REGION,  /* "BR", or "none" */
        LANGUAGE_EAST,    /* the whole, if the language is Chinese, Japanese or Korean */
        LANGUAGE_COMPLEX, /* the whole, if it is written from right to left */
    } part;
};

struct grammar {
    const struct role_row *roles;         /* ended by a row without names */
    const struct space_row *spaces;       /* ended by a row without a prefix */
    const struct language_row *languages; /* ended by a row without an attribute */
    bool mixed;                           /* text stands directly in paragraphs */
    bool html;                            /* blocks of HTML separate paragraphs */
    bool doctype;                         /* a document type declaration may precede */
    const char *root;                     /* documents with another root hold no text; NULL: any root */
    const char *key;                      /* the attribute that both ends of a range share */
    const char *dropped;                  /* in formats: elements that are not kept, separated by spaces */
    const char *unkept;                   /* in formats: attributes that are not kept */
    const char *language;                 /* in formats: the attribute that states the language; NULL: there is none */
    const char *line_break;               /* the local name of a line break between source and translation; NULL: not possible */
};

/* Parts of an archive that are read alike. */
struct part_rule {
    const char *folder;       /* "word/"; NULL: any folder */
    const char *begin, *ends; /* of the name in the folder; ends: any of several, separated by spaces */
    const struct grammar *grammar;
    bool text; /* holds paragraphs; otherwise only the language is written */
};

struct office_family {
    const char *name;
    const struct part_rule *rules; /* ended by a rule without a grammar */
    const char *main;              /* one of the parts with text has a name that begins so */
    bool odf, epub;
};

extern const struct office_family office_docx, office_pptx, office_xlsx, office_odf, office_epub;

/* The rule for a member; NULL: it is not read. */
const struct part_rule *office_rule(const struct office_family *family, struct html_bytes name);
/* The role of an element by its canonical name; tag: for its attributes. */
enum role grammar_role(const struct grammar *grammar, struct html_bytes canonical, const struct xml_token *tag);

#endif
