/* Subtitles, SubRip and WebVTT alike: a line of times, then what is shown, up to a blank line or the next times. Included by
 * server/document/ only. */
#ifndef ALIGND_DOCUMENT_SUBTITLES_H
#define ALIGND_DOCUMENT_SUBTITLES_H

#include "server/document/format.h"

enum { SUBTITLES_WIDTH = 42 /* characters that a line should have at most */ };

struct cue {
    struct html_bytes text; /* its lines with the ends between them; length 0: it shows nothing */
    size_t lines;
};

struct cue_reader {
    const char *end;
    struct line line; /* the last one read; zeroed but for next, the document's begin: none */
    size_t number;    /* of cues so far */
    bool vtt;
};

/* 1: the next cue. 0: there are no more. -1 with ERROR_INPUT: a block is no cue; the message tells the line and the cue. */
int cue_next(struct cue_reader *reader, struct cue *cue, struct error *err);

/* One line of a cue's text: from *at, which is moved to the next one; at the text's end there are no more. */
struct html_bytes cue_line(struct html_bytes text, const char **at);
/* Its lines are said by several: one begins with a dash. */
bool cue_is_dialogue(const struct cue *cue);

/* Tags and the like of a cue. Zeroed, then kept from cue to cue: its room is the builder's arena's. */
struct cue_marks {
    struct mark *all; /* [count], room for more */
    size_t count, room;
};

/* Appends a cue's text as pieces: tags that have an end go around their words, others are units, and so are references. -1 with
 * ERROR_INPUT, it has too many tags, or ERROR_MEMORY. */
int cue_add_marked(struct html_builder *builder, struct html_bytes text, bool vtt, struct cue_marks *marks, struct error *err);

/* As an html_escape, of SubRip: text of a translation that reads as text again. */
void srt_escape(struct html_buffer *out, const char *text, size_t length);

/* As finish of a format: a cue has as many lines as it had, of at most SUBTITLES_WIDTH characters, or more lines where it does not
 * fit. One that got no word of the sentence that it has a part in keeps its own text, which is noted. */
char *subtitles_wrap(const struct document *document, const char *written, size_t written_length, bool vtt, struct arena *arena,
                     size_t *out_length, struct error *err);
/* The same of what subtitles_wrap has written: each cue gets the lines of its source back, above the translation. */
char *subtitles_below(const struct document *document, const char *wrapped, size_t wrapped_length, bool vtt, struct arena *arena,
                      size_t *out_length, struct error *err);

#endif
