/* This module hides how translations get back into files that give spans: which pieces belong to
 * which place of the file, how messages in ICU's notation are checked, and that everything between
 * the spans stays. */
#include "server/documents/spans.h"

/* ---- reading ---- */

void spans_add(struct document_spans *spans, struct piece_builder *builder, const char *begin,
               const char *end, const void *about) {
    struct document_span *all =
        arena_grow(builder->arena, spans->all, spans->count, &spans->room, 1, sizeof *all);
    if (!all) {
        builder->failed = ERROR_MEMORY;
        return;
    }
    spans->all = all;
    all[spans->count++] = (struct document_span){.begin = begin, .end = end, .about = about};
}

struct plural_branch *spans_begin_plural(struct document_spans *spans,
                                         struct piece_builder *builder, const char *begin) {
    struct plural_branch *branch = arena_zalloc(builder->arena, 1, sizeof *branch);
    if (branch)
        branch->begin = begin;
    else
        builder->failed = ERROR_MEMORY;
    spans_add(spans, builder, begin, begin, NULL);
    if (!builder->failed)
        spans->all[spans->count - 1].plural = branch;
    return branch;
}

void spans_end_plural(struct document_spans *spans, struct piece_builder *builder,
                      struct plural_branch *branch, const char *end) {
    branch->end = end;
    spans_add(spans, builder, end, end, NULL);
    if (!builder->failed)
        spans->all[spans->count - 1].plural = branch;
}

void spans_end_text(struct document_spans *spans, struct piece_builder *builder, size_t first) {
    size_t end = builder->markup.piece_count;
    piece_add_break(builder, nothing); /* no sentence runs from one text to the next */
    if (builder->failed)
        return;
    struct document_span *last = &spans->all[spans->count - 1];
    last->texts[last->count++] = (struct span_text){.first = first, .end = end};
}

bool spans_add_message(struct document_spans *spans, struct piece_builder *builder,
                       struct bytes text, struct error *err) {
    static const struct marking as_it_is;
    struct icu_source *source = arena_alloc(builder->arena, 1, sizeof *source);
    size_t first = builder->markup.piece_count;
    bool readable = source && icu_source_open(text, builder->arena, source, err) == 0;
    if (readable)
        icu_source_add(builder, source, &as_it_is);
    else if (!source || err->code == ERROR_MEMORY)
        builder->failed = ERROR_MEMORY;
    else
        piece_add_break(builder, text);
    spans_end_text(spans, builder, first);
    if (builder->failed)
        return true;
    struct document_span *last = &spans->all[spans->count - 1];
    struct span_text *added = &last->texts[last->count - 1];
    added->plain = true;
    added->unreadable = !readable;
    added->message = readable ? source : NULL;
    return readable;
}

int spans_build(const struct document_spans *spans, struct piece_builder *builder,
                markup_escape *escape, struct markup *out, struct error *err) {
    if (piece_build(builder, escape, out, err) != 0)
        return -1;
    out->spans = spans;
    return 0;
}

/* ---- writing ---- */

void span_keep(struct span_writer *writer, const char *to) {
    if (to > writer->done)
        bytes_put(&writer->out, writer->done, (size_t)(to - writer->done));
    span_skip(writer, to);
}

void span_skip(struct span_writer *writer, const char *to) {
    if (to > writer->done)
        writer->done = to;
}

/* Writes a text into a buffer of its own. */
static void write_text(struct markup_writing *writing, struct span_writer *writer,
                       const struct span_text *text, struct span_written *out) {
    struct arena *arena = writer->out.arena;
    struct bytes_buffer buffer = {.arena = arena}, escaped = {.arena = arena};
    markup_escape *escape = writer->markup->escape;
    struct markup markup = *writer->markup;
    markup.escape = text->plain ? NULL : escape;
    *out = (struct span_written){.sound = !text->unreadable, .trace.arena = arena};
    bytes_put(&buffer, "", 0);
    bytes_put(&escaped, "", 0);
    writing->markup = &markup;
    writing->out = &buffer;
    writing->trace = text->plain ? NULL : &out->trace;
    out->translated = markup_write_pieces(writing, text->first, text->end) || text->unreadable;
    out->sound &= !writing->lossy;
    out->text = (struct bytes){buffer.bytes, buffer.length};
    if (text->message && !buffer.failed) {
        struct bytes written = out->text;
        out->text = text->message->original;
        out->sound &= icu_source_settle(text->message, written, arena, &out->text);
        out->unchanged = out->text.start == text->message->original.start;
        if (out->sound && !out->unchanged)
            icu_message_complete(out->text, writer->document->language, arena, &out->text);
    }
    if (text->plain && escape && !buffer.failed) {
        escape(&escaped, out->text.start, out->text.length);
        out->text = (struct bytes){escaped.bytes, escaped.length};
    }
    writer->out.failed |= buffer.failed || escaped.failed || arena_failed(arena);
}

/* Goes to the place where a branch of a plural begins or ends; then the branches that the language
 * of the translation needs are put before it. */
static void pass_branch(struct span_writer *writer, const struct document_span *span) {
    const struct plural_branch *branch = span->plural;
    struct bytes_buffer *out = &writer->out, more = {.arena = out->arena};
    span_keep(writer, span->begin);
    if (span->begin == branch->begin) {
        writer->branch_at = writer->branches++ > 0 ? SIZE_MAX : out->length;
        return;
    }
    bool own = writer->branches-- == 1 && writer->branch_at != SIZE_MAX;
    if (!own || !branch->name.start || out->failed)
        return;
    struct bytes written = {out->bytes + writer->branch_at, out->length - writer->branch_at};
    bool changed = !bytes_same(written, bytes_between(branch->begin, branch->end)),
         room = writer->added < PLURALS_MOST_BYTES / PLURAL_CATEGORIES &&
                written.length < PLURALS_MOST_BYTES / PLURAL_CATEGORIES;
    if (!changed || !room)
        return;
    plurals_put(&more, branch, writer->document->language, written);
    writer->added += more.length;
    bytes_put(&more, written.start, written.length);
    out->length = writer->branch_at;
    bytes_put(out, more.bytes, more.length);
    out->failed |= more.failed;
}

char *spans_write(const struct document *document, const struct markup *markup,
                  const struct markup_translation *translations, struct arena *arena,
                  size_t *out_length, struct error *err) {
    const struct document_spans *spans = markup->spans;
    const char *end = document->source + document->length;
    struct markup_writing writing = {.markup = markup, .translations = translations};
    struct span_writer writer = {.document = document,
                                 .markup = markup,
                                 .about = spans->about,
                                 .done = document->source,
                                 .out.arena = arena};
    bool changed = false;
    for (size_t i = 0; i < markup->count && !changed; i++)
        changed = translations[i].text != NULL;
    for (size_t i = 0; i < spans->count && !changed; i++)
        for (size_t k = 0; k < spans->all[i].count; k++)
            changed |= spans->all[i].texts[k].unreadable;
    bytes_put(&writer.out, "", 0);
    for (size_t i = 0; i < spans->count && changed && !writer.out.failed; i++) {
        const struct document_span *span = &spans->all[i];
        struct span_written texts[SPAN_TEXTS];
        if (span->plural) {
            pass_branch(&writer, span);
            continue;
        }
        for (size_t k = 0; k < span->count; k++)
            write_text(&writing, &writer, &span->texts[k], &texts[k]);
        if (!writer.out.failed)
            spans->put(&writer, span, texts);
    }
    span_keep(&writer, end);
    return bytes_take(&writer.out, out_length, err);
}
