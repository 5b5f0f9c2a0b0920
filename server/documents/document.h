/* Documents are files in formats that hold more than sentences. The reader of a format reports the
 * text to translate and everything around it as pieces (server/markup/markup.h); markup_write
 * inserts the translations. Everything else stays byte for byte, except that HTML is written in one
 * notation (server/markup/markup.h). Archives of XML are in server/office. This module is
 * independent of HTTP.
 *
 * A new format is a file with its functions and a row in the table of document.c. Readers take time
 * and memory linear in the length of any document, and do not recurse. */
#ifndef ALIGND_DOCUMENT_H
#define ALIGND_DOCUMENT_H

#include "server/decode/request.h"
#include "server/documents/icu_message.h"
#include "server/documents/lines.h"
#include "server/markup/encoding.h"
#include "server/markup/marks.h"
#include "server/markup/piece.h"
#include <string.h>

/* Where translations stand in a document that keeps its source. */
enum document_bilingual { BILINGUAL_NONE, BILINGUAL_BELOW, BILINGUAL_BESIDE };

struct document_format;
struct key_globs;
struct office_family;

/* A remark about a translated document, such as a place that was left unchanged. */
struct document_note {
    const char *code, *message; /* such as "untranslated"; a sentence */
    size_t line;                /* number of the line in the source; 0: none */
};

/* Notes in the order in which they were made. The caller zeroes this except for the arena, which
 * holds them. */
struct document_notes {
    struct arena *arena;
    struct document_note *all; /* [count] */
    size_t count, room;
    const char *counted; /* lines before this place have been counted */
    size_t line;
};
enum { DOCUMENT_MOST_NOTES = 1000 }; /* later notes are dropped */

/* A file that was sent. */
struct document {
    const struct document_format *format;
    const char *source; /* [length] */
    size_t length;
    const struct encoding *encoding; /* the file's encoding; source is decoded; NULL: UTF-8 */
    const char *language;            /* language of the translation, a BCP 47 code */
    enum document_bilingual bilingual;
    const struct key_globs *keys; /* the values of a JSON document to translate; NULL: all */
    const char *columns;          /* names or numbers from 1 of a table's columns; NULL: all */
    bool header; /* a table's first row is translated, too, if it names the columns */
    struct document_notes *notes; /* notes on reading and writing the document; NULL: not wanted */
};

/* Reads a document, whose source is valid UTF-8 without zero bytes, unless it is an archive, and
 * outlives the markup. Returns and fails like markup_parse_html; messages name the line, or the
 * part of an archive. */
typedef int document_reader(const struct document *document, struct arena *arena,
                            struct markup *out, struct error *err);
/* Writes the document with the translations of its segments, like markup_write. */
typedef char *document_writer(const struct document *document, const struct markup *markup,
                              const struct markup_translation *translations, struct arena *arena,
                              size_t *out_length, struct error *err);

struct document_format {
    const char *name;         /* "srt" */
    const char *extensions;   /* extensions of file names, without the dot; separated by spaces */
    const char *media_types;  /* separated by spaces */
    const char *content_type; /* the media type of an answer in UTF-8, */
    const char *bare_type;    /* or in another encoding */
    bool older_encodings;     /* Windows-1252 is guessed where files state no encoding */
    /* Returns the encoding that a file states; NULL: files state none. */
    struct bytes (*stated)(struct bytes text);
    bool references; /* a file may have references to characters that its encoding lacks */
    document_reader *read;
    document_writer *write; /* NULL: as its markup says */
    /* Values of `bilingual`, and names of other parts of a request that only some formats take;
     * separated by spaces, NULL: none. */
    const char *bilingual, *options;
    markup_below *below; /* in such a document, for each segment; NULL: `write` does it */
    /* The file is an archive with text in it (server/office), and not text itself; NULL: it is
     * text. */
    const struct office_family *archive;
};

/* Returns the i-th format, or NULL after the last. */
const struct document_format *document_nth(size_t i);
/* Returns the format of this name, or NULL if there is none. */
const struct document_format *document_find(const char *name);
/* Guesses the format from a file's name, then from its media type; either may be NULL. Returns NULL
 * if both are unknown. */
const struct document_format *document_guess(const char *file_name, const char *media_type);
/* Explains why a file with this extension cannot be translated and what to do instead, as a
 * sentence without a full stop. Returns NULL for all other files. */
const char *document_refusal(const char *file_name);
/* Reads where translations stand in a document of this format; NULL: they replace the source.
 * Returns -1 with ERROR_INPUT and a message that begins with what is wrong with the value. */
int document_bilingual(const struct document_format *format, const char *value,
                       enum document_bilingual *out, struct error *err);
#define DOCUMENT_CODE_REFUSAL                                                                      \
    "files of programs cannot be translated, because their texts stand among code: write the "     \
    "texts "                                                                                       \
    "as JSON, as php -r 'echo json_encode(require \"en.php\");' does for PHP, and translate that"
/* Returns true if one of these words, which spaces separate (NULL: none), is the word. */
static inline bool document_takes(const char *words, const char *word) {
    return words && bytes_among(bytes_of(word), words);
}
/* Write the names of all formats, of those that may have both languages, and of those that
 * take `keys`: "txt, srt, ...". */
enum { DOCUMENT_NAMES_BYTES = 1024 };
void document_names(char names[DOCUMENT_NAMES_BYTES]);
void document_names_bilingual(char names[DOCUMENT_NAMES_BYTES]);
void document_names_keys(char names[DOCUMENT_NAMES_BYTES]);

/* Converts the source to UTF-8, in the arena, from the encoding that its bytes show, that its media
 * type (NULL: unknown) or the file itself states, or that is guessed for older files of its format;
 * document_write writes it in the same, unless it was guessed or lacks characters. language: of the
 * text; NULL if it is unknown. Returns -1 with ERROR_MEMORY, or with ERROR_INPUT if the source is
 * invalid. */
int document_decode(struct document *document, const char *media_type, const char *language,
                    struct arena *arena, struct error *err);
/* Returns the content type of the answer. */
const char *document_type(const struct document_format *format, const struct encoding *encoding);

/* Finds the segments to translate. The source may be any bytes, and must outlive the markup.
 * Returns -1 with ERROR_MEMORY, ERROR_LENGTH, or ERROR_INPUT with a message that says what is
 * wrong, and where. */
int document_read(const struct document *document, struct arena *arena, struct markup *out,
                  struct error *err);
/* Writes the document with its translations, like markup_write. */
char *document_write(const struct document *document, const struct markup *markup,
                     const struct markup_translation *translations, struct arena *arena,
                     size_t *out_length, struct error *err);

/* Returns false if the text (NUL-terminated) lacks all characters with which marks and messages
 * begin, so that document_read_text would find it plain. */
static inline bool document_text_may_be_marked(const char *text, size_t length) {
    return strcspn(text, "<]&`:{") < length;
}

/* Reads a text of a request that is not a document, but may have marks in it
 * (server/markup/markup.h) or be a message in ICU's notation. wrapped: its sentences may run over
 * line ends, which stay (lines_add). If it is plain, *marked is false and nothing is read. A
 * message that cannot be parsed, or has too many parts, has no segments and stays unchanged. Fails
 * like markup_parse_marked. */
int document_read_text(struct bytes text, bool wrapped, struct arena *arena, struct markup *out,
                       bool *marked, struct error *err);
/* Writes such a text with its translations, like markup_write. A message whose translation is not
 * valid stays unchanged. */
char *document_write_text(struct bytes text, const struct markup *markup,
                          const struct markup_translation *translations, struct arena *arena,
                          size_t *length, struct error *err);

/* Makes the translation of a decoded text of a request, with the links of its words, in the arena.
 * Its text is NULL if it is blank, so that the segment stays unchanged. Returns -1 if memory runs
 * out. */
int document_translate(const struct text *text, struct arena *arena,
                       struct markup_translation *out);

/* ---- values of a JSON document ----
 *
 * A string of a JSON document is translated if a request's globs select it and it is language
 * (prose.c), a doubtful string that a glob without "!" matches, or a message in ICU's notation.
 *
 * A path consists of the names of members and the numbers of elements on the way to a value, with
 * dots between them: menu.items.0.label. In a glob, * stands for one name or number or, once within
 * a name, for any characters; ** stands for any number of names. A backslash precedes a dot, star
 * or comma that belongs to a name. "!" in front excludes. A value is selected if a glob without "!"
 * matches its path, or no such glob was given, and no glob with "!" matches. */

enum { KEY_GLOBS_MOST = 32, KEY_GLOB_BYTES = 256, KEY_GLOB_NAMES = 16 };

/* Reads the globs of several texts, [count], each with commas between its globs; blanks around them
 * are ignored. The result is in the arena. Returns NULL with ERROR_INPUT, whose message names the
 * glob, or ERROR_MEMORY. */
struct key_globs *key_globs_parse(const char *const *texts, size_t count, struct arena *arena,
                                  struct error *err);

/* The progress of each glob along the path so far. A walk keeps a state for each level. */
struct key_state {
    unsigned matched[KEY_GLOBS_MOST]; /* bit i: the first i names of the glob match the path */
};
void key_globs_begin(const struct key_globs *globs, struct key_state *out);
/* Advances by one name. before: the state of the level above. Time is linear in the globs, for any
 * name. */
void key_globs_step(const struct key_globs *globs, const struct key_state *before, const char *name,
                    size_t length, struct key_state *out);
enum key_choice { KEY_LEFT_OUT, KEY_IN, KEY_ASKED_FOR /* a glob without "!" matches */ };
enum key_choice key_globs_choose(const struct key_globs *globs, const struct key_state *state);

enum prose {
    PROSE_PROGRAM,  /* has no words of a language, or is a notation: a date, an address, markup
                       without text */
    PROSE_DOUBTFUL, /* is probably a name or a word for programs: kebab-case, FOO_BAR, "module" as
                       the value of "type" */
    PROSE_LANGUAGE
};

/* The names of the members that hold a string; for an array, those of the member that holds the
 * array. Length 0: no name. */
struct prose_place {
    struct bytes name, parent;
};

/* Judges valid UTF-8 by the rule in FORMATS.md ("Which strings are prose"): by the notation of the
 * string first, and by the names of the members that hold it if a single word could be either.
 * scratch: room for as many bytes. Time is linear. */
enum prose prose_judge(struct bytes text, const struct prose_place *place, char *scratch);

/* ---- tools that readers share ---- */

document_reader asciidoc_read, latex_read, rst_read;
document_reader subtitles_read, json_document_read, markdown_read, po_read, tables_read,
    xliff_read_tmx, xliff_read, properties_read, apple_read_strings, apple_read_plist, android_read,
    resx_read, qt_read, ass_read, timed_read_sbv, timed_read_lrc, ttml_read, fluent_read,
    yaml_document_read;
document_writer subtitles_write;
/* Returns ISO-8859-1 for a file that is not UTF-8. */
struct bytes properties_stated(struct bytes file);

/* Writes a document that gives spans (server/documents/spans.h), like markup_write. */
char *spans_write(const struct document *document, const struct markup *markup,
                  const struct markup_translation *translations, struct arena *arena,
                  size_t *out_length, struct error *err);

/* Adds a note about this place of the source; NULL: about all of it. If memory runs out, the notes'
 * arena has failed. */
__attribute__((format(printf, 4, 5))) void document_note(const struct document *document,
                                                         const char *at, const char *code,
                                                         const char *format, ...);

static inline struct piece_builder document_builder(const struct document *document,
                                                    struct arena *arena) {
    return (struct piece_builder){
        .arena = arena, .document = {document->source, document->length}, .markup.spaced = true};
}

/* ---- tables in plain text (cells.c) ---- */

/* Finds the next table in plain text: a paragraph of lines that are rows with equally many cells,
 * which commas or semicolons
 * (*separator) separate, perhaps in quotation marks (cells.c). Returns an empty range at the end if
 * there is none. Time is linear.
 */
struct bytes cells_find(struct bytes text, char *separator);
/* Adds a table, whose cells are segments. */
void cells_add(struct piece_builder *builder, struct bytes table, char separator);
/* A markup_close: puts quotation marks around a cell whose translation needs them. */
void cells_write(struct bytes_buffer *out, const struct markup_end *end);

/* ---- messages in ICU's notation ---- */

/* A message with whole sentences in its branches (icu_message_expand). */
struct icu_source {
    struct bytes original; /* as it was read, before whole sentences moved into its branches */
    struct bytes text;
    struct icu_message message;
};

/* Reads a text. The results are in the arena, or borrow the text. Fails like icu_message_read. */
int icu_source_open(struct bytes text, struct arena *arena, struct icu_source *out,
                    struct error *err);
/* Appends its pieces: each line of a branch is a sentence, which may hold marks; arguments are
 * words of it. The text outlives the builder's markup. written: its function returns how bytes of
 * the text are written in the document, and is called in their order. */
void icu_source_add(struct piece_builder *builder, const struct icu_source *source,
                    const struct marking *written);
/* Makes a message from the written form of these pieces; if it is not valid, apostrophes that quote
 * what follows are doubled. If nothing changed, *out is the original. Returns false, and leaves
 * *out, if the message does not have the arguments of the source in their branches, or not the
 * marks of the source, or if memory runs out. */
bool icu_source_settle(const struct icu_source *source, struct bytes translation,
                       struct arena *arena, struct bytes *out);

/* ---- directives for programs ---- */

/* With NOTATION_PERCENT among the notations of a message: directives without a number may get one.
 */
enum { DIRECTIVE_NUMBERED = 1 << 16 };
/* Returns the notations (model/text/spans.h) that a flag of gettext's, such as c-format, announces;
 * 0: none. */
unsigned directive_all(struct bytes flag);
/* True if the directive has no number and takes the next argument: %s, {}. */
bool directive_takes_next(unsigned notations, struct bytes directive);
/* Returns what represents a reference to a value in its sentence: {1} for $1, {0} for others. */
struct bytes directive_number(struct bytes reference);

/* A scan for directives and for placeholders of other kinds (model/text/spans.h), which starts as
 * {text, length, notations}. */
struct directive_scan {
    const char *text; /* [length] */
    size_t length;
    unsigned notations;
    size_t at;
    size_t other_at;   /* other placeholders have been searched for up to here */
    struct span other; /* the next of them */
    bool has_other;    /* `other` is valid */
};
/* Finds the next placeholder. Returns false at the end. */
bool directive_next(struct directive_scan *scan, struct span *found);
/* The same with those that follow it after a colon without a space, as in times and in places of
 * files, %02d:%02d and %s:%d: they are one word of the text. */
bool directive_next_joined(struct directive_scan *scan, struct span *found);

/* True if the bytes are valid UTF-8 without control characters other than tabs and line ends. */
bool messages_can_hold(struct bytes text);
/* Makes the translation of a message in ICU's notation from its written form. Returns false, with
 * the source in *out, if the translation is not valid. */
bool messages_settle_icu(struct bytes source, struct bytes written, struct arena *arena,
                         struct bytes *out);

/* ---- front matter (front_matter.c) ---- */

/* Adds the front matter of a document, with its title, description and the like as texts if they
 * are translated, or with the values that keys (NULL: none) select; other notation stays. Returns
 * its end, which is the document's begin if there is none. Memory that lacks leaves it as it is, or
 * fails the builder. */
const char *front_matter_read(struct piece_builder *builder, struct bytes document, bool translated,
                              const struct key_globs *keys);
/* An markup_close for the texts of front matter; returns false for other ends. */
bool front_matter_close(struct bytes_buffer *out, const struct markup_end *end);

/* ---- Markdown's notation (markdown_notation.c) ----
 *
 * These functions skip the notation between texts, and escape text that would be read as notation.
 */

/* Each of these skips notation from `at` on and returns its end, at most `end`. */

/* Skips exactly `count` marks; returns NULL if there are fewer. */
const char *markdown_notation_skip_marks(const char *at, const char *end, char mark, size_t count);
/* Skips spaces and tabs. */
const char *markdown_notation_skip_space(const char *at, const char *end);
/* Skips the end of a line, and the indentation and marks of quotations in the next line. Returns
 * NULL if no line ends there. */
const char *markdown_notation_skip_line_end(const char *at, const char *end);
/* Skips everything up to the first mark without a backslash, and the mark; returns NULL if there is
 * none. */
const char *markdown_notation_skip_until(const char *at, const char *end, char mark);
/* Skips a tag of HTML or of JSX, whose values may be {expressions}, or a fragment's <> and </>;
 * returns NULL if there is none. */
const char *markdown_notation_skip_tag(const char *at, const char *end);
/* Skips ](address), ][name], ][] or ]; returns NULL if nothing of that kind follows. *by_text: one
 * of the last two follows, so that the link's own text is its name. */
const char *markdown_notation_skip_link_end(const char *at, const char *end, bool *by_text);

/* Notation of tools other than cmark, which must stay unchanged: formulas, marks of alerts,
 * :shortcodes: and similar. */
struct markdown_kept {
    size_t begin,
        end; /* bytes of the source; equal: a line ends there that no sentence runs over */
    enum markdown_kept_kind {
        MARKDOWN_LINE, /* stands by itself */
        MARKDOWN_UNIT, /* is a unit of a sentence */
        MARKDOWN_NOUN, /* is a unit that a word, or a {name} itself, represents in the sentence */
        MARKDOWN_VALUE /* {stands} for a value, or for attributes, in a tag of JSX */
    } kind;
};
struct markdown_kept_list {
    struct markdown_kept *all; /* [count] in order, without overlaps */
    size_t count, room;
    bool no_expression; /* an {expression} of several paragraphs has no end */
};
/* The place of a block's text, as cmark reports it. */
struct markdown_place {
    size_t begin, end; /* bytes of the source */
    size_t quotes;     /* the number of quotations around it */
    bool paragraph;    /* the block is a paragraph: no heading or cell */
    bool markup;       /* the block is HTML */
    bool quotes_first; /* the first paragraph of a quotation */
};
/* Adds the kept notation of a place to that of earlier places. The notation may end after the
 * place. Time is linear in the bytes examined. Returns -1 if memory runs out. */
int markdown_notation_find_kept(const char *source, size_t length,
                                const struct markdown_place *place, struct arena *arena,
                                struct markdown_kept_list *list);
/* Overwrites kept notation, in a copy of the source, with a character that has no meaning for
 * cmark; lines and quotations stay. */
void markdown_notation_hide_kept(char *copy, const struct markdown_kept *kept, size_t quotes);
/* Writes marks of items in place of those of directives, whose content is indented in the same way,
 * into a copy of the source. */
void markdown_notation_mark_directives(char *copy, const char *source, size_t length);

/* An markup_escape that puts a backslash before bytes that would be read as notation after the
 * output so far. */
void markdown_notation_escape(struct bytes_buffer *out, const char *text, size_t length);
/* The same for MDX, in which braces in text would be read as an expression. */
void markdown_notation_escape_mdx(struct bytes_buffer *out, const char *text, size_t length);
/* An markup_close: a link by its text whose text has changed gets its former text as its name;
 * marks of emphasis move to where they are read as such, or become HTML tags if there is no such
 * place. */
void markdown_notation_close(struct bytes_buffer *out, const struct markup_end *end);

#endif
