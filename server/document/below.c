/* Documents in both languages: what stands between a sentence and its translation below it. */
#include "server/document/subtitles.h"
#include "server/html/html_piece.h"
#include <string.h>
#include <strings.h>

/* What the segment stands behind in its line. */
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

void text_below(struct html_buffer *out, const struct html *html, const struct html_segment *segment, bool behind) {
    if (behind)
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

void markdown_below(struct html_buffer *out, const struct html *html, const struct html_segment *segment, bool behind) {
    (void)html;
    (void)segment;
    html_put_string(out, behind ? "" : "<br>");
}

/* Elements whose content is text alone. */
static bool holds_text_only(const struct html *html, const struct html_segment *segment) {
    static const char *const names[] = {"<title", "<option"};
    const struct html_piece *before = segment->first > 0 ? &html->pieces[segment->first - 1] : NULL;
    for (size_t i = 0; before && i < sizeof names / sizeof *names; i++)
        if (before->length > strlen(names[i]) && strncasecmp(before->raw, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

void markup_below(struct html_buffer *out, const struct html *html, const struct html_segment *segment, bool behind) {
    bool plain = holds_text_only(html, segment);
    if (behind) {
        html_put_string(out, plain ? "" : "</span>");
    } else if (plain) {
        html_put_string(out, " / ");
    } else {
        html_put_string(out, "<br/><span lang=\"");
        html_put_escaped(out, html->language, strlen(html->language), "&<>\"");
        html_put_string(out, "\">");
    }
}

char *subtitles_below(const struct document *document, const char *wrapped, size_t wrapped_length, bool vtt, struct arena *arena,
                      size_t *out_length, struct error *err) {
    struct html_buffer out = {.arena = arena};
    struct cue_reader sources = {.end = document->source + document->length, .line.next = document->source, .vtt = vtt};
    struct cue_reader cues = {.end = wrapped + wrapped_length, .line.next = wrapped, .vtt = vtt};
    struct cue before, now;
    const char *at = wrapped;
    while (cue_next(&sources, &before, NULL) == 1 && cue_next(&cues, &now, NULL) == 1) {
        struct html_bytes source = before.text, target = now.text;
        if (before.lines == 0 || now.lines == 0 ||
            (source.length == target.length && memcmp(source.start, target.start, source.length) == 0))
            continue;
        html_put(&out, at, (size_t)(target.start - at));
        html_put(&out, source.start, source.length);
        html_put_string(&out, source.start[-1] == '\n' && source.start[-2] == '\r' ? "\r\n" : "\n");
        at = target.start;
    }
    html_put(&out, at, (size_t)(wrapped + wrapped_length - at));
    if (out.failed) {
        error_memory(err);
        return NULL;
    }
    *out_length = out.length;
    return out.bytes;
}
