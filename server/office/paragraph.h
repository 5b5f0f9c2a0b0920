/* A paragraph of a document: texts with their formats, and what stands between and around them. It becomes pieces of a message
 * (server/markup/build.h) in which formats and links are elements around words, so that they follow their words; the message with
 * its translation becomes the paragraph again.
 *
 * In Word's formats, every text stands in a run with its format. Runs of the format that most of the text has become plain text,
 * runs of another one elements; adjacent runs of one format, as spelling checkers leave them, are one element. In a message, bytes
 * that no text has refer to tokens: NOTE_TOKEN and the number of a token, in decimal, and NOTE_END; NOTE_FORMAT, the number of a
 * token whose format begins, and NOTE_END; NOTE_BACK ends that. */
#ifndef ALIGND_OFFICE_PARAGRAPH_H
#define ALIGND_OFFICE_PARAGRAPH_H

#include "server/markup/build.h"
#include "server/office/grammar.h"

enum {
    NOTE_MESSAGE = '\0',    /* ends a message */
    NOTE_TRANSLATED = '\1', /* precedes text of a translation */
    NOTE_TOKEN = '\2',
    NOTE_FORMAT = '\3',
    NOTE_BACK = '\4',
    NOTE_END = '\5',
};

enum inline_kind {
    INLINE_TEXT,
    INLINE_UNIT,
    INLINE_WORD,  /* a unit whose text represents it */
    INLINE_BREAK, /* separates sentences and stays where it is between them */
    INLINE_OPEN,  /* tokens up to `last` precede the content, which ends at `pair` */
    INLINE_CLOSE,
};

struct inline_token {
    uint8_t kind;
    uint8_t role;        /* of ranges, fields and ROLE_ALONE, and of breaks that a copy has, too; otherwise ROLE_NONE */
    bool in_run;         /* it is written in a run */
    bool grouped;        /* it is written with the token that its group begins with */
    uint32_t format;     /* of the paragraph's formats */
    uint32_t begin, end; /* bytes of the part; of a text: of its tag's content */
    uint32_t pair, last;
    struct html_bytes text; /* of INLINE_TEXT and INLINE_WORD, without references */
    struct html_bytes name; /* of INLINE_OPEN: of the element, without prefix */
    struct html_bytes key;  /* of ranges; of a field: "begin", "separate", "end" */
};

/* The text that is written before a paragraph's own. */
struct inline_format {
    bool bare;             /* the text stands in no run */
    struct html_bytes raw; /* the format as it is written; "": none */
    size_t length;         /* of all texts that have it, once the paragraph is settled */
};

struct paragraph {
    struct paragraph *outer; /* that this one stands in, in a text box for example */
    const struct grammar *grammar;
    const char *part;            /* its tokens' bytes count from here */
    struct html_bytes name;      /* of the element, with its prefix */
    const char *begin, *end;     /* its content, without its properties */
    struct inline_token *tokens; /* [count] */
    size_t count, room;
    size_t text_bytes;             /* of its texts together */
    struct inline_format *formats; /* [format_count] */
    size_t format_count, format_room;
    struct html_bytes run, text; /* names of the elements of runs and texts, with their prefixes */
    bool spaced;                 /* <t> has xml:space */
    uint32_t base;               /* the format of plain text */
};

/* Adds a token of zeros but for the kind and the place. Returns NULL if memory runs out. */
struct inline_token *paragraph_add(struct paragraph *paragraph, enum inline_kind kind, const char *begin, const char *end,
                                   struct arena *arena);
/* The number of this format in the paragraph, which may be new. Returns -1 if memory runs out. */
int paragraph_format(struct paragraph *paragraph, const struct inline_format *format, struct arena *arena, uint32_t *out);
/* A format as it is kept: without what proofing tools note, in this language. Returns -1 with ERROR_MEMORY or ERROR_INPUT. */
int paragraph_clean_format(const struct grammar *grammar, struct html_bytes raw, const char *language, struct arena *arena,
                           struct html_bytes *out, struct error *err);

/* True if there is something to translate. */
bool paragraph_has_words(const struct paragraph *paragraph);
/* Pairs what belongs together, once all tokens were added. */
void paragraph_settle(struct paragraph *paragraph);
/* Adds the pieces of a message. */
void paragraph_read(const struct paragraph *paragraph, struct html_builder *builder);

/* Puts bytes of the part, some of which may have been rewritten. */
struct paragraph_writer {
    struct html_buffer *out;
    void (*put_range)(void *owner, const char *begin, const char *end, struct html_buffer *out);
    void *owner;
};
/* Puts the content of the paragraph as the message says. copy: only text, formats and links, as of a translation below its source.
 */
void paragraph_write(const struct paragraph *paragraph, struct html_bytes message, bool copy, const struct paragraph_writer *to);
/* Puts a line break between the source and its translation below it. */
void paragraph_write_break(const struct paragraph *paragraph, const struct paragraph_writer *to);

#endif
