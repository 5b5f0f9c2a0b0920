/* XLIFF 1.2 and 2: sources whose target is missing, or is none yet by its state, get one; all else stays byte for byte. */
#include "server/documents/messages.h"
#include "server/documents/xliff.h"

static void escape(struct html_buffer *out, const char *text, size_t length) {
    messages_put_mark(out);
    text_escape_markup(out, text, length);
}

static int xliff_read(const struct document *document, struct arena *arena, struct html *out, struct error *err) {
    struct html_builder builder = document_builder(document, arena);
    struct xliff xliff;
    if (xliff_open(document, arena, &xliff, err) != 0)
        return -1;
    size_t *room = arena_zalloc(arena, xliff.piece_count, sizeof *room);
    if (!room)
        return error_memory(err);
    for (size_t i = 0; i < xliff.count; i++)
        xliff_add_content(&xliff, &xliff.units[i], room, &builder);
    return html_build(&builder, escape, out, err);
}

const struct document_format format_xliff = {.name = "xliff",
                                             .extensions = "xliff xlf",
                                             .media_types = "application/xliff+xml application/x-xliff+xml",
                                             .content_type = "application/xliff+xml; charset=utf-8",
                                             .read = xliff_read,
                                             .finish = xliff_write};
