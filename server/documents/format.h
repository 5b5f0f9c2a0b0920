/* The parts of a format of documents, and the tools that readers share: lines, text as pieces, and messages. */
#ifndef ALIGND_DOCUMENT_FORMAT_H
#define ALIGND_DOCUMENT_FORMAT_H

#include "server/documents/icu_message.h"
#include "server/markup/build.h"

struct document_format;
struct key_globs;

/* Something that a user should know about a document although it is translated, such as a place that stayed unchanged. */
struct document_note {
    const char *code, *message; /* "untranslated"; a sentence */
    size_t line;                /* of the source; 0: none */
};

/* Notes in the order in which they were made. The caller zeroes this except for the arena, which holds them. */
struct document_notes {
    struct arena *arena;
    struct document_note *all; /* [count] */
    size_t count, room;
    const char *counted; /* lines before this place have been counted */
    size_t line;
};
enum { DOCUMENT_MOST_NOTES = 1000 }; /* others are dropped */

/* A file that was sent. */
struct document {
    const struct document_format *format;
    const char *source; /* [length] */
    size_t length;
    const char *language;         /* of the translation, a BCP 47 code */
    bool bilingual;               /* the translation stands below the source */
    const struct key_globs *keys; /* the values of a JSON document to translate; NULL: all */
    struct document_notes *notes; /* of reading and writing it; NULL: not wanted */
};

/* Adds a note about this place of the source. If memory runs out, the notes' arena has failed. */
__attribute__((format(printf, 4, 5))) void document_note(const struct document *document, const char *at, const char *code,
                                                         const char *format, ...);

static inline struct html_builder document_builder(const struct document *document, struct arena *arena) {
    return (struct html_builder){.arena = arena, .document = {document->source, document->length}};
}

/* The source is valid UTF-8 without zero bytes, and outlives the html. Like html_parse; messages name the line. */
typedef int document_reader(const struct document *document, struct arena *arena, struct html *out, struct error *err);
/* Finishes a document that was written, for example by breaking lines. The result is in the arena. Returns NULL with
 * ERROR_MEMORY. */
typedef char *document_finisher(const struct document *document, const char *written, size_t written_length, struct arena *arena,
                                size_t *out_length, struct error *err);

struct document_format {
    const char *name;         /* "srt" */
    const char *extensions;   /* of file names, without the dot; separated by spaces */
    const char *media_types;  /* separated by spaces */
    const char *content_type; /* of an answer */
    bool older_encodings;     /* files may be in encodings other than UTF-8 (document_decode) */
    document_reader *read;
    document_finisher *finish; /* NULL: nothing is left to do */
    bool bilingual;            /* a document may have the translation below its source */
    html_below *below;         /* in such a document, for each segment; NULL: the finisher does it */
};

document_reader txt_read, subtitles_read, json_read, md_read, po_read, xliff_read;
/* For plain text: a line below, indented as the sentence is. For Markdown: <br>, which may stand wherever a sentence may. For HTML:
 * <br/>, and an element that states the language. */
html_below text_below, markdown_below, markup_below;
document_finisher subtitles_finish, json_finish, po_finish, xliff_finish;

/* True if the code of a language, as a file has it, is of the same language as the other, regardless of their regions. */
bool bytes_are_language(struct html_bytes code, const char *language);

/* ---- lines and plain text ---- */

struct line {
    const char *begin, *end; /* without its LF, CR LF or CR */
    const char *next;        /* where the next line begins */
    size_t number;           /* from 1; 0 before the first line */
};
/* Moves to the next line; false after the last. Begins with a *line that is zeroed but for next, the begin of the document. */
bool line_next(struct line *line, const char *end);
/* Its text without ASCII white space at either end. */
struct html_bytes line_trimmed(const struct line *line);

/* Returns the bytes of a bullet or similar mark, with the white space after it, before a line's text. */
typedef size_t text_lead(const char *text, size_t length);
/* Adds plain text as pieces. Each line is a segment, except that a sentence may run over line ends, as in wrapped text: its lines
 * are parts of one segment, and the translation has line ends where their words do. marking: for the text of a line. */
void text_add_lines(struct html_builder *builder, struct html_bytes text, text_lead *lead, const struct html_marking *marking);

/* A text_lead: a dash or a bullet. The text has no white space at its begin. */
size_t text_bullet(const char *text, size_t length);
/* True if the last character, quotation marks and brackets aside, ends a sentence, or the text is blank. */
bool text_ends_sentence(const char *text, size_t length);
/* True if the text begins with a small letter, as the middle of a sentence does. */
bool text_goes_on(const char *text, size_t length);

/* An html_escape: "&amp;", "&lt;", "&gt;". */
void text_escape_markup(struct html_buffer *out, const char *text, size_t length);

/* ---- messages in ICU's notation ---- */

/* A message with whole sentences in its branches (icu_message_expand). */
struct icu_source {
    struct html_bytes original; /* as it was read, before whole sentences moved into its branches */
    struct html_bytes text;
    struct icu_message message;
};

/* Reads a text. The results are in the arena, or borrow the text. Fails like icu_message_read. */
int icu_source_open(struct html_bytes text, struct arena *arena, struct icu_source *out, struct error *err);
/* Appends its pieces: each line of a branch is a sentence, which may hold marks; arguments are words of it. The text outlives the
 * builder's html. written: how bytes of the text are written in the document, called in their order. */
void icu_source_add(struct html_builder *builder, const struct icu_source *source, const struct html_marking *written);
/* Makes a message from the written form of these pieces, in which apostrophes that would quote what follows are doubled. Returns
 * false, and leaves *out, if it does not have the arguments and marks of the source in their branches, or memory runs out. */
bool icu_source_settle(const struct icu_source *source, struct html_bytes translation, struct arena *arena, struct html_bytes *out);

/* ---- lists of messages ---- */

/* Some formats (po, xliff) have translations beside their sources. Their readers produce only the document's messages, one after
 * the other, and their finishers put the written messages in place. Bytes that no message may contain mark the end of a message and
 * the words that were translated. */
enum { MESSAGE_TRANSLATED = '\1' /* precedes words of a translation */, MESSAGE_OWN = '\2' /* for the format's own use */ };

/* True if the bytes are text without control characters. */
bool messages_can_hold(struct html_bytes text);
/* Ends the pieces of a message. */
void messages_end(struct html_builder *builder);
/* Adds a message in ICU's notation with its end. escape: how its text is written; NULL: as it is. A message that cannot be read is
 * written unchanged and marked as translated: messages_settle_icu reports that it was not. */
void messages_add_icu(struct html_builder *builder, struct html_bytes text, html_escape *escape);
/* Makes the translation of such a message from its written form, without marks and escapes. Returns false, with the source in *out,
 * if that is not valid. */
bool messages_settle_icu(struct html_bytes source, struct html_bytes written, struct arena *arena, struct html_bytes *out);
/* An html_escape that wraps another and marks text as translated. */
void messages_put_mark(struct html_buffer *out);

/* True if the written text contains a translation. */
bool messages_translated(struct html_bytes written);
/* Takes the next message, with its marks, from *written. */
struct html_bytes messages_next(struct html_bytes *written);
/* Appends a message, or a part of it, without marks of translations. */
void messages_put(struct html_buffer *out, struct html_bytes message);

#endif
