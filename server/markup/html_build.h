/* Pieces of what is neither HTML nor XML: a reader of another format says what stands in its document, one after the other, and
 * html_write puts it together again with the translations. All bytes are borrowed: they outlive the html. */
#ifndef ALIGND_HTML_BUILD_H
#define ALIGND_HTML_BUILD_H

#include "server/markup/html.h"
#include "server/markup/html_buffer.h"
#include <stdint.h>

/* Bytes of the document, or made of them. */
struct html_bytes {
    const char *start; /* [length] */
    size_t length;
};

struct html_builder {
    struct arena *arena;
    struct html_bytes document; /* whose lines errors tell, where pieces stand in it */
    size_t line;                /* the line that errors tell where they do not: of what is added; 0: none */
    struct html html;
    size_t room;
    uint32_t open[HTML_MAX_DEPTH]; /* [depth] pieces */
    size_t depth;
    bool tags;              /* there are tags in text */
    enum error_code failed; /* ERROR_NONE, ERROR_MEMORY or ERROR_INPUT: nothing more is added */
};

/* As it is; the end of a segment. */
void html_add_break(struct html_builder *builder, struct html_bytes raw);
/* What a sentence says. raw: how it is written, as it will be again where the segment stays as it is. */
void html_add_text(struct html_builder *builder, struct html_bytes text, struct html_bytes raw);
/* As it is, within a sentence: it moves as a whole. */
void html_add_unit(struct html_builder *builder, struct html_bytes raw);
/* The same of what the sentence has something else in place of; length 0: nothing. */
void html_add_shown(struct html_builder *builder, struct html_bytes raw, struct html_bytes shown);
/* The same of white space, which it takes the place of in the translation. */
void html_add_space(struct html_builder *builder, struct html_bytes raw);
/* A tag in text (html_marks.h), whose partner is looked for when all is there. raw: how it is written. quoted: it is a thing that
 * the sentence tells of. */
void html_add_tag(struct html_builder *builder, struct html_bytes tag, struct html_bytes raw, bool quoted);
/* The same with a word in it that the sentence may show: `code`. All three as they are. */
void html_add_code(struct html_builder *builder, struct html_bytes before, struct html_bytes word, struct html_bytes behind);
/* A unit for which another word stands in the sentence, such as a formula. */
void html_add_word(struct html_builder *builder, struct html_bytes word, struct html_bytes raw);
/* Around words; what it ends with may be known only then. False, and nothing is added: too many are open, or none is. */
bool html_add_open(struct html_builder *builder, struct html_bytes raw);
bool html_add_close(struct html_builder *builder, struct html_bytes raw);
/* The same, with an end that html.close writes where the words have changed. */
bool html_add_close_or(struct html_builder *builder, struct html_bytes raw, struct html_bytes replaced);
/* The same of a part, such as a cue of subtitles or a line: parts that stand side by side, and nothing between them, have a
 * segment to themselves, and its translation is cut among them in their order, each word where its own words stood. What separates
 * two parts stands in `raw` of the first one's end. */
void html_add_part(struct html_builder *builder);
void html_end_part(struct html_builder *builder, struct html_bytes raw);
/* Elements of its innermost kind that are open. */
size_t html_depth(const struct html_builder *builder);

/* How text of a translation is written: appends it to what stands in the document so far. */
typedef void html_escape(struct html_buffer *out, const char *text, size_t length);

/* Segments of what was added; what is still open is an error of the caller's. escape NULL: as it is. As html_parse. */
int html_build(struct html_builder *builder, html_escape *escape, struct html *out, struct error *err);

#endif
