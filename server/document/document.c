#include "server/document/document.h"
#include "model/base/utf8.h"
#include "server/document/icu_sentence.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct document_format *const formats[] = {&format_txt, &format_srt,  &format_vtt, &format_json,
                                                        &format_md,  &format_html, &format_po,  &format_xliff};
enum { FORMAT_COUNT = sizeof formats / sizeof *formats };

const struct document_format *document_nth(size_t i) {
    return i < FORMAT_COUNT ? formats[i] : NULL;
}

const struct document_format *document_find(const char *name) {
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcasecmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

/* One of the words of a list. */
static bool is_among(const char *list, const char *word, size_t length) {
    for (size_t at = 0; list[at]; at += strspn(list + at, " ")) {
        size_t bytes = strcspn(list + at, " ");
        if (bytes == length && strncasecmp(list + at, word, length) == 0)
            return true;
        at += bytes;
    }
    return false;
}

const struct document_format *document_guess(const char *file_name, const char *media_type) {
    const char *dot = file_name ? strrchr(file_name, '.') : NULL;
    for (size_t i = 0; dot && i < FORMAT_COUNT; i++)
        if (is_among(formats[i]->extensions, dot + 1, strlen(dot + 1)))
            return formats[i];
    for (size_t i = 0; media_type && i < FORMAT_COUNT; i++)
        if (is_among(formats[i]->media_types, media_type, strcspn(media_type, "; \t")))
            return formats[i];
    return NULL;
}

void document_names(char names[DOCUMENT_NAMES_BYTES]) {
    size_t length = 0;
    for (size_t i = 0; i < FORMAT_COUNT && length < DOCUMENT_NAMES_BYTES; i++)
        length += (size_t)snprintf(names + length, DOCUMENT_NAMES_BYTES - length, "%s%s", i > 0 ? ", " : "", formats[i]->name);
}

void document_note(const struct document *document, const char *at, const char *code, const char *format, ...) {
    struct document_notes *notes = document->notes;
    char text[sizeof((struct error *)0)->message];
    if (!notes || notes->count == DOCUMENT_MOST_NOTES)
        return;
    if (!notes->counted || notes->counted > at) {
        notes->counted = document->source;
        notes->line = 1;
    }
    for (; notes->counted < at; notes->counted++)
        notes->line += *notes->counted == '\n';
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *message = arena_copy(notes->arena, text, strlen(text));
    struct document_note *all = arena_grow(notes->arena, notes->all, notes->count, &notes->room, 1, sizeof *all);
    if (!message || !all)
        return;
    notes->all = all;
    all[notes->count++] = (struct document_note){code, message, notes->line};
}

/* The line of the first byte that is not as it must be. */
static int check_text(const char *source, size_t length, struct error *err) {
    size_t line = 1;
    if (utf8_valid(source, length) && !memchr(source, '\0', length))
        return 0;
    for (size_t at = 0; at < length;) {
        bool valid;
        size_t bytes = utf8_first(source + at, length - at, &valid);
        if (!valid || source[at] == '\0')
            return error_set(err, ERROR_INPUT, valid ? "line %zu: there is a zero byte" : "line %zu: it is not valid UTF-8", line);
        line += source[at] == '\n';
        at += bytes;
    }
    return error_set(err, ERROR_INPUT, "it is not valid UTF-8");
}

/* Bytes of the mark that some editors put in front of UTF-8: it stays where it is, and no format need know of it. */
static size_t mark_length(const char *source, size_t length) {
    static const char mark[] = {'\xef', '\xbb', '\xbf'};
    return length >= sizeof mark && memcmp(source, mark, sizeof mark) == 0 ? sizeof mark : 0;
}

/* What stands behind the mark, of `mark` bytes. */
static struct document without_mark(const struct document *document, size_t mark) {
    struct document unmarked = *document;
    unmarked.source += mark;
    unmarked.length -= mark;
    return unmarked;
}

int document_read(const struct document *document, struct arena *arena, struct html *out, struct error *err) {
    if (document->length >= HTML_MAX_BYTES)
        return error_set(err, ERROR_LENGTH, "the document is too long");
    if (check_text(document->source, document->length, err) != 0)
        return -1;
    struct document unmarked = without_mark(document, mark_length(document->source, document->length));
    if (document->format->read(&unmarked, arena, out, err) != 0)
        return -1;
    out->below = document->bilingual ? document->format->below : NULL;
    return 0;
}

static char *put_behind(const char *mark, size_t length, const char *text, struct arena *arena, size_t *text_length,
                        struct error *err) {
    struct html_buffer out = {.arena = arena};
    html_put(&out, mark, length);
    html_put(&out, text, *text_length);
    if (out.failed)
        error_memory(err);
    *text_length = out.length;
    return out.failed ? NULL : out.bytes;
}

char *document_write(const struct document *document, const struct html *html, const struct html_translation *translations,
                     struct arena *arena, size_t *out_length, struct error *err) {
    size_t mark = mark_length(document->source, document->length);
    struct document unmarked = without_mark(document, mark);
    char *written = html_write(html, translations, arena, out_length, err);
    if (written && document->format->finish)
        written = document->format->finish(&unmarked, written, *out_length, arena, out_length, err);
    return written && mark > 0 ? put_behind(document->source, mark, written, arena, out_length, err) : written;
}

/* ---- texts that are no documents ---- */

bool document_is_message(const char *text, size_t length) {
    return icu_source_is((struct html_bytes){text, length});
}

int document_read_text(const char *text, size_t length, struct arena *arena, struct html *out, bool *marked, struct error *err) {
    static const struct html_marking as_it_is;
    struct html_builder builder = {.arena = arena, .document = {text, length}};
    struct html_bytes all = {text, length};
    struct icu_source source;
    struct error error = {0};
    if (!icu_source_is(all))
        return html_parse_text(text, length, arena, out, marked, err);
    *marked = true;
    if (icu_source_open(all, arena, &source, &error) == 0)
        icu_source_add(&builder, &source, &as_it_is);
    else if (error.code == ERROR_MEMORY)
        return error_memory(err);
    if (builder.failed == ERROR_INPUT || error.code != ERROR_NONE) { /* too many parts, or it cannot be read */
        builder = (struct html_builder){.arena = arena, .document = all};
        html_add_break(&builder, all);
    }
    return html_build(&builder, NULL, out, err);
}

char *document_write_text(const char *text, size_t length, const struct html *html, const struct html_translation *translations,
                          struct arena *arena, size_t *out_length, struct error *err) {
    struct html_bytes all = {text, length}, settled = all;
    struct icu_source source;
    char *written = html_write(html, translations, arena, out_length, err);
    if (!written || !icu_source_is(all))
        return written;
    if (icu_source_open(all, arena, &source, NULL) == 0)
        icu_source_settle(&source, (struct html_bytes){written, *out_length}, arena, &settled);
    *out_length = settled.length;
    written = arena_copy(arena, settled.start, settled.length);
    if (!written)
        error_memory(err);
    return written;
}
