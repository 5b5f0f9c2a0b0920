/* A format of documents, and what their readers share. */
#ifndef ALIGND_DOCUMENT_FORMAT_H
#define ALIGND_DOCUMENT_FORMAT_H

#include "server/html/html_build.h"
#include <string.h>

struct document_format;
struct key_globs;

/* What a user should know of a document though it is translated: a place that stays as it was, for example. */
struct document_note {
    const char *code, *message; /* "untranslated"; a sentence */
    size_t line;                /* of the source; 0: none */
};

/* In the order in which they were made: a caller's, zeroed but for the arena, in which they are. */
struct document_notes {
    struct arena *arena;
    struct document_note *all; /* [count], room for more */
    size_t count, room;
    const char *counted; /* lines before it have been counted */
    size_t line;
};
enum { DOCUMENT_MOST_NOTES = 1000 }; /* more are not kept */

/* A file that was sent, or what is translated of it. */
struct document {
    const struct document_format *format;
    const char *source; /* [length] */
    size_t length;
    const char *language;         /* that it is translated to, a BCP 47 code */
    bool bilingual;               /* the translation stands below the source */
    const struct key_globs *keys; /* which values of a JSON document are translated; NULL: all */
    struct document_notes *notes; /* of reading and writing it; NULL: nobody reads them */
};

/* at: in the source. What fails shows in the arena. */
__attribute__((format(printf, 4, 5))) void document_note(const struct document *document, const char *at, const char *code,
                                                         const char *format, ...);

/* For pieces of the document. */
static inline struct html_builder document_builder(const struct document *document, struct arena *arena) {
    return (struct html_builder){.arena = arena, .document = {document->source, document->length}};
}

struct document_format {
    const char *name;         /* "srt" */
    const char *extensions;   /* of file names, without the dot; separated by spaces */
    const char *media_types;  /* the same */
    const char *content_type; /* of an answer */
    bool bilingual;           /* a file may have the translation below its source */
    html_below *below;        /* in such a file, of each segment; NULL: finish does that */
    bool older_encodings;     /* its files may be in others than UTF-8: document_decode */
    /* Its source: valid UTF-8 without zero bytes, which outlives the html. As html_parse; messages name the line. */
    int (*read)(const struct document *document, struct arena *arena, struct html *out, struct error *err);
    /* Of what has been written, what is still to be done, such as breaking lines. All in the arena. NULL with ERROR_MEMORY. The
     * member NULL: nothing. */
    char *(*finish)(const struct document *document, const char *written, size_t written_length, struct arena *arena,
                    size_t *out_length, struct error *err);
};

extern const struct document_format format_txt, format_srt, format_vtt, format_json, format_md, format_html, format_po,
    format_xliff;

static inline struct html_bytes bytes_between(const char *begin, const char *end) {
    return (struct html_bytes){begin, (size_t)(end - begin)};
}
static inline bool bytes_are(struct html_bytes bytes, const char *text) {
    return bytes.length == strlen(text) && memcmp(bytes.start, text, bytes.length) == 0;
}
/* The code of a language, as a file has it, is of the same language as the other, whatever their regions. */
bool bytes_are_language(struct html_bytes code, const char *language);

/* The line in hand, and where the next begins. */
struct line {
    const char *begin, *end; /* without its end: LF, CR LF or CR */
    const char *next;
    size_t number; /* from 1; 0: none has been read */
};
/* False: there is none behind it. *line zeroed but for next, the document's begin: before the first. */
bool line_next(struct line *line, const char *end);
/* The text of it without white space (of ASCII) on both sides. */
struct html_bytes line_trimmed(const struct line *line);

/* How a line becomes pieces: bytes in front of what it says, as of text_bullet; what it says. */
struct text_line {
    size_t (*lead)(const char *text, size_t length);
    void (*add)(const struct text_line *says, struct html_builder *builder, struct html_bytes text);
};
/* Plain text as pieces: each line by itself, but that a sentence may run over line ends, as in text that was wrapped. Such lines
 * are parts of one segment, and the translation has line ends where their words do. says NULL: a line is words. */
void text_add_lines(struct html_builder *builder, struct html_bytes text, const struct text_line *says);

/* The last character of text is one that ends a sentence (quotation marks and brackets behind it not counted), or there is none. */
bool text_ends_sentence(const char *text, size_t length);
/* Bytes in front of what a line says: a dash or a bullet with the white space behind it, of text without white space around. */
size_t text_bullet(const char *text, size_t length);
/* It begins as a sentence in the middle does: with a small letter. */
bool text_goes_on(const char *text, size_t length);

/* As an html_below: of plain text; a line for it, or as many as the sentence has, indented as the sentence is. Of Markdown: <br>,
 * which may stand wherever a sentence may. Of HTML: <br/>, and an element that tells the language. */
html_below text_below, markdown_below, markup_below;

/* As an html_escape: "&amp;", "&lt;", "&gt;". */
void text_escape_markup(struct html_buffer *out, const char *text, size_t length);

#endif
