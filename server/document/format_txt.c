/* Plain text, of which other formats have some, too. */
#include "server/document/format.h"
#include "server/html/html_marks.h"
#include <string.h>

enum { MOST_LINES = 64 /* of one sentence */ };

struct txt_reader {
    struct html_builder *builder;
    const struct text_line *says;
    struct html_bytes pending; /* the end of the last part, and what is blank before the next */
    size_t parts;              /* lines of the sentence in hand */
    struct html_bytes last;    /* the text of the last one */
};

static bool continues(const struct txt_reader *reader, const struct line *line) {
    struct html_bytes text = line_trimmed(line);
    return reader->parts > 0 && reader->parts < MOST_LINES && text.length > 0 &&
           !text_ends_sentence(reader->last.start, reader->last.length) && text_goes_on(text.start, text.length);
}

/* The sentence in hand ends with its last line. */
static void end_parts(struct txt_reader *reader) {
    if (reader->parts == 0)
        return;
    html_end_part(reader->builder, (struct html_bytes){"", 0});
    html_add_break(reader->builder, reader->pending);
    reader->parts = 0;
}

static void add_line(struct txt_reader *reader, const struct line *line) {
    static const struct html_marking marking;
    struct html_bytes text = line_trimmed(line);
    size_t bullet = (reader->says ? reader->says->lead : text_bullet)(text.start, text.length);
    if (bullet == 0 && continues(reader, line)) {
        html_end_part(reader->builder, bytes_between(reader->pending.start, text.start));
    } else {
        end_parts(reader);
        text = bytes_between(text.start + bullet, text.start + text.length);
        html_add_break(reader->builder, bytes_between(line->begin, text.start));
    }
    reader->last = text;
    reader->pending = bytes_between(text.start + text.length, line->next);
    reader->parts++;
    html_add_part(reader->builder);
    if (reader->says)
        reader->says->add(reader->says, reader->builder, text);
    else
        html_add_marked(reader->builder, text, &marking);
}

void text_add_lines(struct html_builder *builder, struct html_bytes text, const struct text_line *says) {
    struct txt_reader reader = {.builder = builder, .says = says};
    struct line line = {.next = text.start};
    while (line_next(&line, text.start + text.length)) {
        if (line_trimmed(&line).length > 0) {
            add_line(&reader, &line);
            continue;
        }
        end_parts(&reader);
        html_add_break(builder, bytes_between(line.begin, line.next));
    }
    end_parts(&reader);
}

static int txt_read(const struct document *document, struct arena *arena, struct html *out, struct error *err) {
    struct html_builder builder = document_builder(document, arena);
    text_add_lines(&builder, (struct html_bytes){document->source, document->length}, NULL);
    return html_build(&builder, NULL, out, err);
}

const struct document_format format_txt = {.name = "txt",
                                           .extensions = "txt text",
                                           .media_types = "text/plain",
                                           .content_type = "text/plain; charset=utf-8",
                                           .bilingual = true,
                                           .below = text_below,
                                           .read = txt_read};
