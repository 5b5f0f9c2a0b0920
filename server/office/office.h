/* This module translates documents that are archives of XML: docx, pptx, xlsx; odt, odp, ods; epub.
 * Reading finds the paragraphs of each part and the places where it states its language; writing
 * puts the translated paragraphs there, and every other byte is the source's. Members without text
 * stay byte for byte, in their order. Each part is parsed once. Time is linear; memory is that of
 * one unpacked part at a time, the tags and texts of all paragraphs, and the new archive. The
 * module knows no HTTP. */
#ifndef ALIGND_OFFICE_H
#define ALIGND_OFFICE_H

#include "server/markup/piece.h"

struct office_family;
extern const struct office_family office_docx, office_pptx, office_xlsx, office_odf, office_epub;

enum {
    OFFICE_MOST_PIECES = 1 << 19,
    OFFICE_MOST_TOKENS = 1 << 20,  /* tokens of all paragraphs, which stay in memory */
    OFFICE_MOST_BYTES = 256 << 20, /* bytes of all parts with text together, unpacked */
};

struct office_document {
    const struct office_family *family;
    struct bytes bytes;
    const char *language; /* language of the translation, a BCP 47 code */
    bool bilingual;       /* each translation stands below its source */
};

/* Changes that a user should know about. */
struct office_changes {
    bool signatures; /* were dropped: they would no longer be valid */
    bool accepted;   /* tracked changes were accepted in paragraphs that were translated */
    bool columns;    /* names of columns and texts of cells stay, because formulas refer to them */
};

/* Finds the paragraphs to translate; the arena keeps what out->archive needs. Returns -1 with
 * ERROR_MEMORY, or ERROR_INPUT and a message that names the part at fault. */
int office_read(const struct office_document *document, struct arena *arena, struct markup *out,
                struct error *err);
/* Writes the document that was read into the markup, with its translations [markup->count]. A
 * document in which nothing was translated stays byte for byte. Returns NULL with ERROR_MEMORY. */
char *office_write(const struct markup *markup, const struct markup_translation *translations,
                   struct arena *arena, size_t *out_length, struct office_changes *changes,
                   struct error *err);

/* ==== for the files of this folder ====
 *
 * zip.c hides the container, and office.c hides which of its parts hold text. A part is a document
 * in XML: walk.c finds its paragraphs, and paragraph.c turns one paragraph into pieces and back. */

/* ---- archives (zip.c) ----
 *
 * ZIP archives in memory (PKWARE's APPNOTE 6.3.10), some of whose members are replaced. All others
 * stay byte for byte, with their headers, order and compression: their stored bytes are copied.
 * libarchive recompresses every member, and libzip rewrites every header in one step that cannot be
 * interrupted. So this module reads the container itself, and uses zlib for compression.
 *
 * The costs of an archive are bounded by its directory, before anything is unpacked: the number of
 * members, their names, the size of each and its ratio to what is stored. Members may not overlap.
 * Time is linear but for sorting the directory. Everything is in the arena, whose budget is
 * stepped. */

enum {
    ZIP_MOST_MEMBERS = 10000,
    ZIP_MOST_NAME = 1024,         /* bytes of a name */
    ZIP_MOST_BYTES = 128 << 20,   /* bytes of a member that is unpacked */
    ZIP_MOST_RATIO = 250,         /* a member's ratio to its stored size, beyond ZIP_FREE_BYTES */
    ZIP_FREE_BYTES = 1024 * 1024, /* bytes of a member that may have any ratio */
    ZIP_SHOWN = 60                /* bytes of a name in a message */
};

struct zip_member {
    struct bytes name;    /* as stored: slashes between folders */
    struct bytes packed;  /* its data as stored */
    struct bytes whole;   /* its header, its data, and the descriptor after that */
    struct bytes central; /* its entry in the directory */
    uint64_t size;        /* unpacked, as the directory states it */
    uint32_t crc;
    unsigned flags, method;

    /* zip_write follows these: the caller sets dropped, or zip_pack sets the others. */
    bool dropped, replaced;
    struct bytes new_packed;
    size_t new_size;
    uint32_t new_crc;
};

struct zip {
    struct bytes bytes;         /* the archive */
    struct zip_member *members; /* [count] in the order of the directory */
    size_t *order;              /* [count] members in the order of their data */
    size_t count;
    struct bytes tail; /* the end record with its comment */
};

/* Reads the directory. Returns -1 with ERROR_INPUT, whose message says what is wrong, or
 * ERROR_MEMORY. bytes outlive the zip. */
int zip_open(struct bytes bytes, struct arena *arena, struct zip *out, struct error *err);
/* Returns the member of this name, whatever the case of ASCII letters, or NULL if there is none. */
struct zip_member *zip_find(const struct zip *zip, const char *name);
/* Unpacks a member and compares its checksum. The result has a NUL after it. Fails like zip_open.
 */
int zip_unpack(const struct zip_member *member, struct arena *arena, struct bytes *out,
               struct error *err);
/* Replaces the contents of a member, compressed by its own method. Returns -1 with ERROR_MEMORY. */
int zip_pack(struct zip_member *member, struct bytes bytes, struct arena *arena, struct error *err);
/* Returns the archive with the replaced members and without the dropped ones, or NULL with
 * ERROR_MEMORY. */
char *zip_write(const struct zip *zip, struct arena *arena, size_t *length, struct error *err);

/* ---- grammars ----
 *
 * A grammar states which elements hold text, and the roles of the elements around it. office.c has
 * those of the formats. */

/* The role of an element in a paragraph. An element without a role is a unit, which moves with the
 * words beside it. */
enum role {
    ROLE_NONE,
    ROLE_PARAGRAPH,   /* holds inline content */
    ROLE_LEAD,        /* properties at the begin of a paragraph */
    ROLE_RUN,         /* holds texts of one format */
    ROLE_FORMAT,      /* the format of a run */
    ROLE_TEXT,        /* holds text and nothing else */
    ROLE_CONTAINER,   /* surrounds inline content: a link, a span */
    ROLE_WRAP,        /* surrounds inline content that a ROLE_CONTENT within it holds */
    ROLE_CONTENT,     /* holds the content of a ROLE_WRAP */
    ROLE_TRANSPARENT, /* its content counts, the element goes: an insertion that is accepted */
    ROLE_DROPPED, /* goes with its content: a deletion that is accepted, a mark of a proofing tool
                   */
    ROLE_BREAK,   /* separates texts: a line break, a tab */
    ROLE_SPACE, /* spaces, as many as its attribute "c" says: two stay where they are, more separate
                   texts */
    ROLE_HYPHEN,      /* a hyphen that does not break */
    ROLE_RANGE_START, /* surrounds inline content up to the ROLE_RANGE_END with the same key */
    ROLE_RANGE_END,
    ROLE_FIELD,    /* begins, separates or ends a field, by its attribute "type" */
    ROLE_OPAQUE,   /* nothing in it is translated, not even paragraphs inside it */
    ROLE_BOUNDARY, /* a block of HTML */
    ROLE_WORD,     /* HTML that is not translated, but may be a word of the sentence */
    ROLE_ALONE,    /* a unit in a separate run: the mark of a note, because text in its run would be
                      taken for the mark */
    ROLE_LANGUAGE, /* its content is the code of the document's language */
};

/* Elements by their canonical names. */
struct role_row {
    const char *names; /* separated by spaces */
    enum role role;
};

/* Documents may bind any prefix to a namespace; a grammar uses one for each. */
struct space_row {
    const char *holds, *ends; /* a part of its address, and the end of the address */
    const char *prefix;       /* "": names have no prefix */
};

/* Values of attributes that state the language of the text. */
struct language_row {
    const char *names; /* names of elements; NULL: every element */
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
    const struct role_row *roles;         /* ended by a row without names; not used if html */
    const struct space_row *spaces;       /* ended by a row without a prefix; NULL: none */
    const struct language_row *languages; /* ended by a row without an attribute; NULL: none */
    bool mixed;                           /* text stands directly in paragraphs */
    bool markup;                          /* blocks of HTML separate paragraphs */
    bool doctype;                         /* a document type declaration may precede */
    const char *root;    /* documents with another root hold no text; NULL: any root */
    const char *key;     /* the attribute that both ends of a range share */
    const char *dropped; /* in formats: elements that are not kept, separated by spaces */
    const char *unkept;  /* in formats: attributes that are not kept */
    const char
        *language; /* in formats: the attribute that states the language; NULL: there is none */
    const char *line_break; /* the local name of a line break between source and translation; NULL:
                               not possible. In books (markup), the translation is an element. */
    const char *values;     /* attributes that people read, separated by spaces; NULL: none */
};

/* ---- paragraphs (paragraph.c) ----
 *
 * A paragraph of a document consists of texts with their formats, and the tokens between and around
 * them. It becomes pieces (server/markup/markup.h) in which formats and links are elements around
 * words, so that they follow their words; the pieces with their translation become the paragraph
 * again.
 *
 * In Word's formats, every text stands in a run with its format. Runs of the base format
 * (paragraph_settle) become plain text, and runs of other formats become elements; adjacent runs of
 * one format, as spelling checkers leave them, become one element. Pieces other than texts have no
 * bytes of their own: the paragraph knows what each of them stands for. */

/* What a piece stands for. */
enum inline_note {
    NOTE_TEXT,
    NOTE_TOKEN,  /* a token with its group */
    NOTE_FORMAT, /* the begin of texts that have the format of a token */
    NOTE_BACK,   /* their end */
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
    uint8_t role;    /* enum role of ranges, fields, ROLE_ALONE and ROLE_SPACE, and of breaks that a
                        copy has, too; otherwise ROLE_NONE */
    bool in_run;     /* it is written in a run */
    bool in_text;    /* it is layout in a text, and written there */
    bool grouped;    /* it is written with the token that its group begins with */
    uint32_t format; /* the number of one of the paragraph's formats */
    uint32_t begin, end; /* bytes of the part */
    uint32_t pair, last;
    struct bytes text; /* text of an INLINE_TEXT or INLINE_WORD, without references */
    struct bytes key;  /* key of a range; for a field "begin", "separate" or "end"; for another
                          INLINE_OPEN the element without prefix */
};

/* The format of a run: an element that is written before the run's text. */
struct inline_format {
    bool bare;        /* the text stands in no run */
    struct bytes raw; /* the format as it is written; "": none */
    size_t length;    /* bytes of all texts that have the format, once the paragraph is settled */
};

struct paragraph {
    struct paragraph *outer; /* the paragraph that contains this one, in a text box for example */
    const struct grammar *grammar;
    const char *part;     /* its tokens' bytes count from here */
    struct bytes name;    /* the element's name, with its prefix */
    uint32_t tag, inside; /* in books, the start tag of <p>, all of whose content this is: bytes of
                             the part; equal: of another block */
    bool value;           /* it is the value of an attribute, with its quotation marks */
    bool drawing; /* it is of DrawingML, in which line breaks stand beside runs, and the properties
                     of the end are last */
    bool alone;   /* no translation may stand below it: a title, an entry of a table of contents */
    uint32_t begin, end;         /* its content, without its properties: bytes of the part */
    struct inline_token *tokens; /* [count] */
    size_t count, room;
    size_t text_bytes;             /* bytes of the paragraph's texts together */
    struct inline_format *formats; /* [format_count] */
    size_t format_count, format_room;
    struct bytes run, text; /* names of the elements of runs and texts, with their prefixes */
    bool spaced;            /* <t> has xml:space */
    uint32_t base;          /* the format of plain text */
    /* Once it is read: its pieces [first_piece,end_piece) and, of each of them, what it stands for,
     * and for which token. */
    size_t first_piece, end_piece;
    uint8_t *notes;
    uint32_t *noted;
};

/* Adds a token with this kind and place, and without a pair yet. Returns NULL if memory runs out.
 */
struct inline_token *paragraph_add(struct paragraph *paragraph, enum inline_kind kind,
                                   const char *begin, const char *end, struct arena *arena);
/* Finds or adds a format of the paragraph; *out is its number. Returns -1 if memory runs out. */
int paragraph_format(struct paragraph *paragraph, const struct inline_format *format,
                     struct arena *arena, uint32_t *out);

/* True for the code of a field whose result comes from elsewhere and is not language: a name in a
 * letter for many. */
bool paragraph_is_data(struct bytes code);
/* True if there is something to translate. */
bool paragraph_has_words(const struct paragraph *paragraph);
/* Pairs tokens that belong together and chooses the format of plain text, once all tokens were
 * added. */
void paragraph_settle(struct paragraph *paragraph);
/* Adds its pieces. Returns a copy of the paragraph that paragraph_write needs, in the builder's
 * arena, or NULL if the builder has failed. */
const struct paragraph *paragraph_read(struct paragraph *paragraph, struct piece_builder *builder);

/* The pieces of a paragraph as they were written. */
struct paragraph_written {
    struct bytes text;
    const struct markup_trace *trace;
};

/* Puts bytes of the part, some of which may have been rewritten. */
struct paragraph_writer {
    struct bytes_buffer *out;
    const char *part; /* the part's bytes */
    void (*put_range)(void *owner, const char *begin, const char *end, struct bytes_buffer *out);
    void *owner;
};
/* Returns where the properties of a DrawingML paragraph's end begin in its content, or `end`. */
const char *paragraph_drawing_end(const struct paragraph *paragraph, const char *begin,
                                  const char *end);
/* True for a text of a sheet, which is below its source on the same line, after " / ": a line end
 * shows only in cells whose style wraps text. */
bool paragraph_is_cell(const struct paragraph *paragraph);
/* Puts a tag of a run in such a text, after "<" or "</". */
void paragraph_put_cell_run(const struct paragraph *paragraph, const char *mark,
                            struct bytes_buffer *out);
/* Puts the content of the paragraph as its pieces say. copy: puts a line break, if the grammar has
 * one, then only text, formats, links, line breaks and tabs, without their ids, because the source
 * stays above. */
void paragraph_write(const struct paragraph *paragraph, const struct paragraph_written *written,
                     bool copy, const struct paragraph_writer *to);

/* ---- all paragraphs of a part (walk.c) ----
 *
 * Walks through a part of an archive and finds what is rewritten in it, in an order that depends
 * only on the part: a paragraph inside another, such as one in a text box or a note, comes before
 * the outer one. */

/* A place of a part that is rewritten. */
struct walk_change {
    uint32_t begin, end;               /* bytes of the part */
    struct bytes bytes;                /* they replace these, */
    const struct paragraph *paragraph; /* unless it is the content of this paragraph */
    bool tracked;                      /* which had tracked changes */
};

struct walk_changes {
    struct walk_change *all; /* [count] */
    size_t count, room;
};

struct walk_part {
    struct bytes bytes; /* unpacked */
    const struct grammar *grammar;
    const char *language; /* language of the translation, a BCP 47 code; outlives the changes */
    /* True for a paragraph that stays unchanged, because formulas refer to it by its words. */
    bool (*keeps)(const void *owner, const struct paragraph *paragraph);
    const void *owner;
    struct piece_builder
        *builder;        /* it gets the pieces of paragraphs; NULL: only languages are looked for */
    struct arena *arena; /* the arena of the changes */
    size_t *tokens;      /* the tokens of all paragraphs so far */
};

/* Reads a part, which need not outlive the call. Returns -1 with ERROR_INPUT, whose message names
 * line and column, or ERROR_MEMORY. */
int walk_read(const struct walk_part *part, struct walk_changes *out, struct arena *scratch,
              struct error *err);

struct walk_writing {
    struct markup_writing *pieces; /* of the paragraphs, in their order; NULL: there are none */
    const char *language;          /* of the translation */
    bool below;                    /* a translation stands below its source */
    bool accepted;                 /* set if tracked changes were accepted */
};

/* Appends a part with its changes. Returns -1 with ERROR_MEMORY. */
int walk_write(struct bytes part, const struct walk_changes *changes, struct walk_writing *writing,
               struct bytes_buffer *out, struct error *err);

#endif
