/* Hides how a document shows both languages: the separator between a sentence and the translation below it. */
#include "server/documents/format.h"
#include "server/markup/piece.h"
#include <string.h>
#include <strings.h>

/* Returns what precedes the segment in its line. */
static struct html_bytes lead_of(const struct html *html, const struct html_segment *segment) {
    const struct html_piece *before = segment->first > 0 ? &html->pieces[segment->first - 1] : NULL;
    struct html_bytes lead = {"", 0};
    if (!before || before->kind != PIECE_BREAK)
        return lead;
    lead = (struct html_bytes){before->raw, before->length};
    for (const char *c = before->raw; c < before->raw + before->length; c++)
        if (*c == '\n' || *c == '\r')
            lead = bytes_between(c + 1, before->raw + before->length);
    return lead;
}

void text_below(struct html_buffer *out, const struct html *html, const struct html_segment *segment, bool after) {
    if (after)
        return;
    struct html_bytes rest = {"\n", 1}, lead = lead_of(html, segment);
    if (segment->end < html->piece_count)
        rest = (struct html_bytes){html->pieces[segment->end].raw, html->pieces[segment->end].length};
    const char *line_end = memmem(rest.start, rest.length, "\r\n", 2) ? "\r\n"
                           : memchr(rest.start, '\r', rest.length)    ? "\r"
                                                                      : "\n";
    html_put_string(out, line_end);
    for (size_t i = 0; i < lead.length; i++)
        if (lead.start[i] == '\t')
            html_put(out, "\t", 1);
        else if (((unsigned char)lead.start[i] & 0xc0) != 0x80) /* a character, of a bullet for example */
            html_put(out, " ", 1);
}

void markdown_below(struct html_buffer *out, const struct html *html, const struct html_segment *segment, bool after) {
    (void)html;
    (void)segment;
    html_put_string(out, after ? "" : "<br>");
}

/* Returns whether the segment is in an element that may contain only text. */
static bool holds_text_only(const struct html *html, const struct html_segment *segment) {
    static const char *const names[] = {"<title", "<option"};
    const struct html_piece *before = segment->first > 0 ? &html->pieces[segment->first - 1] : NULL;
    for (size_t i = 0; before && i < sizeof names / sizeof *names; i++)
        if (before->length > strlen(names[i]) && strncasecmp(before->raw, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

void markup_below(struct html_buffer *out, const struct html *html, const struct html_segment *segment, bool after) {
    bool plain = holds_text_only(html, segment);
    if (after) {
        html_put_string(out, plain ? "" : "</span>");
    } else if (plain) {
        html_put_string(out, " / ");
    } else {
        html_put_string(out, "<br/><span lang=\"");
        html_put_escaped(out, html->language, strlen(html->language), "&<>\"");
        html_put_string(out, "\">");
    }
}
