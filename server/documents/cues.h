/* Cues of subtitles: when a sentence runs over several of them, and how such a sentence becomes one
 * text in formats that give spans. */
#ifndef ALIGND_DOCUMENT_CUES_H
#define ALIGND_DOCUMENT_CUES_H

#include "server/documents/spans.h"

/* A sentence that is being read. */
struct cue_sentence {
    size_t parts;      /* its cues so far */
    struct bytes last; /* the text of the last one */
};

/* True if the text of a cue continues the sentence. Titles and repeated words do not, though no
 * mark ends them. */
bool cues_continue(const struct cue_sentence *sentence, struct bytes text);
/* Returns the text without tags at its end: `going on</i>`. */
struct bytes cues_without_last_mark(struct bytes text);

/* Takes the line of a cue's text that begins at *at, and moves *at to the next. */
struct bytes cues_line(struct bytes text, const char **at);
/* Returns the bytes before the words of its first line: a dash, ">>", a note, the name of the
 * speaker; with the end of a line that has nothing else. */
size_t cues_lead(struct bytes text);

#define CUES_BREAK "[br]" /* SubViewer's line break */

/* As lines_next for the lines of a cue. */
bool cues_next_line(struct line *line, const char *end);
/* True if a line after the first has a label, as another speaker's has. */
bool cues_have_speakers(struct bytes text);

struct values;
struct value;
struct group;

/* The texts of a file of cues; values is set first. */
struct cue_texts {
    struct values *values;
    struct cue_sentence sentence;
    struct value *value; /* of the current text; NULL: there is none */
    struct group *group;
    size_t first; /* its first piece */
};

/* Begins a cue, whose pieces the caller adds next: in the text of the cue before it, if the
 * sentence runs on, or in a new one. raw: its text in the file; says: the same without notation,
 * which lives until the next cue. Returns false if memory runs out. */
bool cues_begin(struct cue_texts *texts, struct bytes raw, struct bytes says);
/* Ends the current text, if there is one. */
void cues_end(struct cue_texts *texts);
/* Puts the translation of a text, or of a value that is a cue by itself, as a value_put: a cue
 * without a word of it keeps its own, and in a document in both languages each cue has both, with
 * line_end between them. */
void cues_put(struct span_writer *writer, const struct value *value, struct bytes text,
              const char *line_end);

#endif
