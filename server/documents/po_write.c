/* A PO file with its translations. What a message says for programs must be in its translation, too: where it is not, or where a
 * language has more forms than the two that were translated, the message is fuzzy, which programs leave out and people look at. */
#include "model/base/utf8.h"
#include "server/documents/icu_sentence.h"
#include "server/documents/messages.h"
#include "server/documents/po_directive.h"
#include "server/documents/po_file.h"
#include "server/markup/build.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_WIDTH = 77 /* characters between the marks */, NUMBER_BYTES = 24 };

struct po_writer {
    struct po_file file;
    struct html_bytes written; /* messages that are still to come */
    const char *done;          /* the document up to here is out */
    const char *line_end;
    struct arena *arena;
    struct html_buffer out;
};

/* ---- placeholders ---- */

/* A translation in two notations: as it was made, and with a number in each directive that takes the next argument. */
struct translated {
    struct html_buffer plain, numbered;
    size_t marks; /* directives that do */
    bool ordered; /* they stand as they stood */
    bool is_translated;
};

static void put_both(struct translated *out, const char *bytes, size_t length) {
    html_put(&out->plain, bytes, length);
    html_put(&out->numbered, bytes, length);
}

/* at: MESSAGE_OWN. Behind the directive's first byte. */
static const char *put_marked(struct translated *out, const char *at) {
    size_t which = (size_t)((unsigned char)at[1] - PO_FIRST);
    char number[NUMBER_BYTES];
    snprintf(number, sizeof number, "%zu$", which + 1);
    out->ordered &= which == out->marks++;
    put_both(out, at + 2, 1);
    html_put_string(&out->numbered, number);
    return at + 3;
}

static struct translated read_translated(struct html_bytes message, struct arena *arena) {
    struct translated out = {.plain.arena = arena, .numbered.arena = arena, .ordered = true};
    put_both(&out, "", 0);
    for (const char *at = message.start, *end = at + message.length; at < end;) {
        const char *plain = at;
        while (at < end && *at != MESSAGE_TRANSLATED && *at != MESSAGE_OWN)
            at++;
        put_both(&out, plain, (size_t)(at - plain));
        if (at == end)
            break;
        out.is_translated |= *at == MESSAGE_TRANSLATED;
        at = *at == MESSAGE_OWN ? put_marked(&out, at) : at + 1;
    }
    return out;
}

struct found {
    struct html_bytes *all; /* [count] */
    size_t count, room;
    size_t next;     /* of those that take the next argument */
    bool numberable; /* these can have numbers */
};

static int compare_bytes(const void *a, const void *b) {
    const struct html_bytes *x = a, *y = b;
    int order = memcmp(x->start, y->start, x->length < y->length ? x->length : y->length);
    return order != 0 ? order : x->length < y->length ? -1 : x->length > y->length;
}

/* All placeholders of a text, sorted. -1: memory. */
static int find_all(struct html_bytes text, unsigned notations, struct arena *arena, struct found *out) {
    struct po_scan scan = {.text = text.start, .length = text.length, .notations = notations};
    *out = (struct found){.numberable = notations & PO_NUMBERED};
    for (struct span span; po_scan_next(&scan, &span);) {
        struct html_bytes one = {text.start + span.begin, span.end - span.begin};
        struct html_bytes *all = arena_grow(arena, out->all, out->count, &out->room, 1, sizeof *all);
        if (!all)
            return -1;
        out->all = all;
        all[out->count++] = one;
        bool next = po_takes_next(notations, one.start, one.length);
        out->next += next;
        out->numberable &= next ? po_can_be_numbered(one.start, one.length) : !memchr(one.start, '$', one.length);
    }
    if (out->count > 0)
        qsort(out->all, out->count, sizeof *out->all, compare_bytes);
    return 0;
}

static bool are_same(const struct found *a, const struct found *b) {
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = compare_bytes(&a->all[i], &b->all[i]) == 0;
    return same;
}

/* What a form of a message becomes. */
struct form {
    struct html_bytes text;
    bool translated, sound; /* it has all placeholders and marks of the source, and programs fill in what they did */
};

static int choose(struct po_writer *writer, const struct translated *translated, struct html_bytes source, unsigned notations,
                  struct form *out) {
    struct found there, here;
    struct html_bytes plain = {translated->plain.bytes, translated->plain.length};
    if (icu_source_is(source)) {
        out->translated = translated->is_translated;
        out->sound = messages_settle_icu(source, plain, writer->arena, &out->text);
        return 0;
    }
    if (find_all(source, notations, writer->arena, &there) != 0 || find_all(plain, notations, writer->arena, &here) != 0)
        return -1;
    bool ordered = translated->ordered && translated->marks == there.next;
    bool numbered = !ordered && there.numberable && translated->marks == there.next;
    out->text = numbered ? (struct html_bytes){translated->numbered.bytes, translated->numbered.length} : plain;
    out->translated = translated->is_translated;
    out->sound = are_same(&there, &here) && (ordered || numbered) && html_same_marks(source, plain, true);
    return 0;
}

/* The next of what was written. -1: memory. */
static int next_form(struct po_writer *writer, struct html_bytes source, unsigned notations, struct form *out) {
    struct translated translated = read_translated(messages_next(&writer->written), writer->arena);
    bool failed = translated.plain.failed || translated.numbered.failed;
    return failed ? -1 : choose(writer, &translated, source, notations, out);
}

/* ---- strings ---- */

static void put_escaped(struct html_buffer *out, struct html_bytes text) {
    static const char means[] = "\n\t\r\"\\", names[] = "ntr\"\\";
    for (size_t at = 0; at < text.length; at++) {
        size_t plain = at;
        while (at < text.length && !strchr(means, text.start[at]))
            at++;
        html_put(out, text.start + plain, at - plain);
        if (at < text.length)
            html_put(out, (const char[]){'\\', names[strchr(means, text.start[at]) - means]}, 2);
    }
}

/* Up to a line's end, or the last white space within the width. */
static size_t line_length(struct html_bytes text) {
    size_t width = 0, space = 0, at = 0;
    for (; at < text.length && text.start[at] != '\n'; at++) {
        width += ((unsigned char)text.start[at] & 0xc0) != 0x80;
        if (width > LINE_WIDTH && space > 0)
            return space;
        if (text.start[at] == ' ')
            space = at + 1;
    }
    return at < text.length ? at + 1 : at;
}

static void put_string(struct html_buffer *out, struct html_bytes text) {
    html_put_string(out, "\"");
    put_escaped(out, text);
    html_put_string(out, "\"");
}

/* In one string, or over lines, as the source is. */
static void put_text(struct po_writer *writer, struct html_bytes text, bool over_lines) {
    put_string(&writer->out, over_lines ? (struct html_bytes){"", 0} : text);
    while (over_lines && text.length > 0) {
        size_t length = line_length(text);
        html_put_string(&writer->out, writer->line_end);
        put_string(&writer->out, (struct html_bytes){text.start, length});
        text = bytes_between(text.start + length, text.start + text.length);
    }
}

/* ---- comments ---- */

/* A line of flags with this one more, or less. */
static void put_flags(struct po_writer *writer, struct html_bytes line, bool fuzzy) {
    struct html_bytes flag;
    size_t count = 0;
    if (fuzzy) {
        html_put_string(&writer->out, "#, fuzzy");
        count++;
    }
    for (const char *at = NULL; po_next_flag(line, &at, &flag);) {
        if (bytes_are(flag, "fuzzy"))
            continue;
        html_put_string(&writer->out, count++ > 0 ? ", " : "#, ");
        html_put(&writer->out, flag.start, flag.length);
    }
    if (count > 0)
        html_put_string(&writer->out, writer->line_end);
}

static bool begins_with(struct html_bytes line, const char *mark) {
    return line.length > 1 && memcmp(line.start, mark, 2) == 0;
}

/* Up to the message's first keyword. A former source (#|) is of the fuzzy translation, which is no more. */
static void put_comments(struct po_writer *writer, bool fuzzy) {
    const struct po_message *message = &writer->file.message;
    bool was_fuzzy = po_is_fuzzy(message), flagged = false;
    struct html_bytes line;
    html_put(&writer->out, writer->done, (size_t)(message->begin - writer->done));
    for (const char *next = message->begin; po_next_comment(message, &next, &line);) {
        if (begins_with(line, "#,") && fuzzy != was_fuzzy) {
            put_flags(writer, line, fuzzy && !flagged);
            flagged = true;
        } else if (!begins_with(line, "#|") || !was_fuzzy) {
            html_put(&writer->out, line.start, line.length);
        }
    }
    if (fuzzy && !was_fuzzy && !flagged) {
        html_put_string(&writer->out, "#, fuzzy");
        html_put_string(&writer->out, writer->line_end);
    }
}

/* ---- messages ---- */

static void put_fields(struct po_writer *writer, struct html_bytes former) {
    struct html_buffer header = {.arena = writer->arena};
    po_header_put(&header, former, writer->file.document->language);
    writer->out.failed |= header.failed;
    put_text(writer, (struct html_bytes){header.bytes, header.length}, true);
}

static void put_header(struct po_writer *writer) {
    const struct po_message *message = &writer->file.message;
    put_comments(writer, false);
    html_put(&writer->out, message->keyword, (size_t)(message->forms[0].begin - message->keyword));
    put_fields(writer, writer->file.id);
    writer->done = message->end;
}

/* A file without a header has no character set. */
static void put_new_header(struct po_writer *writer) {
    html_put_string(&writer->out, "msgid \"\"");
    html_put_string(&writer->out, writer->line_end);
    html_put_string(&writer->out, "msgstr ");
    put_fields(writer, (struct html_bytes){"", 0});
    html_put_string(&writer->out, writer->line_end);
    html_put_string(&writer->out, writer->line_end);
}

static void put_single(struct po_writer *writer, const struct form *form) {
    const struct po_message *message = &writer->file.message;
    put_comments(writer, !form->sound);
    html_put(&writer->out, message->keyword, (size_t)(message->forms[0].begin - message->keyword));
    put_text(writer, form->text, message->id.strings > 1);
    writer->done = message->end;
}

static void put_index(struct html_buffer *out, size_t i) {
    char index[sizeof "msgstr[] " + NUMBER_BYTES];
    snprintf(index, sizeof index, "msgstr[%zu] ", i);
    html_put_string(out, index);
}

/* Forms that were there stay. */
static void put_forms(struct po_writer *writer, const struct form *one, const struct form *many) {
    const struct po_message *message = &writer->file.message;
    const struct po_plurals *plurals = &writer->file.plurals;
    put_comments(writer, !one->sound || !many->sound || plurals->forms > 2 || writer->file.surplus);
    html_put(&writer->out, message->keyword, (size_t)(message->translation - message->keyword));
    for (size_t i = 0; i < plurals->forms; i++) {
        bool is_one = plurals->forms > 1 && i == plurals->one;
        if (i > 0)
            html_put_string(&writer->out, writer->line_end);
        put_index(&writer->out, i);
        if (po_file_lacks(&writer->file, i))
            put_text(writer, is_one ? one->text : many->text, (is_one ? &message->id : &message->plural)->strings > 1);
        else
            html_put(&writer->out, message->forms[i].begin, (size_t)(message->forms[i].end - message->forms[i].begin));
    }
    writer->done = message->end;
}

/* Forms of another rule than the language's, which has fewer: those that it has stay, for somebody to look at. */
static void put_without_surplus(struct po_writer *writer) {
    const struct po_message *message = &writer->file.message;
    put_comments(writer, true);
    html_put(&writer->out, message->keyword, (size_t)(message->forms[writer->file.plurals.forms - 1].end - message->keyword));
    writer->done = message->end;
}

static int put_wanted(struct po_writer *writer) {
    const struct po_file *file = &writer->file;
    unsigned notations = po_notations(&file->message);
    struct form one, many = {0};
    bool plural = file->message.plural.begin;
    if (next_form(writer, file->id, notations, &one) != 0 || (plural && next_form(writer, file->plural, notations, &many) != 0))
        return -1;
    if (plural && (one.translated || many.translated))
        put_forms(writer, &one, &many);
    else if (!plural && one.translated)
        put_single(writer, &one);
    return 0;
}

/* One of its messages is a header. */
static bool has_header(const struct document *document) {
    struct po_reader reader = {document->source, document->source + document->length, 1, NULL};
    struct po_message message;
    while (po_next(&reader, &message) == 1)
        if (po_is_header(&message))
            return true;
    return false;
}

static int put_all(struct po_writer *writer, const struct document *document, struct error *err) {
    if (po_file_open(&writer->file, document, writer->arena, err) != 0)
        return -1;
    if (!has_header(document))
        put_new_header(writer);
    while (po_file_next(&writer->file) == 1) {
        if (writer->file.header)
            put_header(writer);
        else if (writer->file.wanted && put_wanted(writer) != 0)
            return error_memory(err);
        else if (writer->file.surplus && writer->done < writer->file.message.end)
            put_without_surplus(writer);
    }
    html_put(&writer->out, writer->done, (size_t)(document->source + document->length - writer->done));
    return writer->out.failed ? error_memory(err) : 0;
}

char *po_write(const struct document *document, const char *written, size_t written_length, struct arena *arena, size_t *out_length,
               struct error *err) {
    struct po_writer writer = {.written = {written, written_length}, .done = document->source, .arena = arena, .out.arena = arena};
    const char *end = memchr(document->source, '\n', document->length);
    writer.line_end = end && end > document->source && end[-1] == '\r' ? "\r\n" : "\n";
    html_put(&writer.out, "", 0);
    if (!messages_translated(writer.written))
        html_put(&writer.out, document->source, document->length);
    else if (put_all(&writer, document, err) != 0)
        return NULL;
    if (writer.out.failed) {
        error_memory(err);
        return NULL;
    }
    *out_length = writer.out.length;
    return writer.out.bytes;
}
