/* This file keeps the notes about a document, and counts its lines as far as they need it. */
#include "server/documents/document.h"
#include <stdarg.h>
#include <stdio.h>

void document_note(const struct document *document, const char *at, const char *code,
                   const char *format, ...) {
    struct document_notes *notes = document->notes;
    char text[sizeof((struct error *)0)->message];
    if (!notes || notes->count == DOCUMENT_MOST_NOTES)
        return;
    if (at && (!notes->counted || notes->counted > at)) {
        notes->counted = document->source;
        notes->line = 1;
    }
    for (; at && notes->counted < at; notes->counted++)
        notes->line += *notes->counted == '\n';
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *message = arena_copy(notes->arena, text, strlen(text));
    struct document_note *all =
        arena_grow(notes->arena, notes->all, notes->count, &notes->room, 1, sizeof *all);
    if (!message || !all)
        return;
    notes->all = all;
    all[notes->count++] = (struct document_note){code, message, at ? notes->line : 0};
}
