/* This module builds the pieces of a document in any format. */
#include "server/markup/piece.h"
#include "model/base/utf8.h"
#include "server/markup/marks.h"
#include "server/markup/segment.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

int markup_error_at(struct error *err, const char *document, const char *at, const char *format,
                    ...) {
    struct utf8_place place = utf8_place(document, at);
    char message[sizeof((struct error *)0)->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return error_set(err, ERROR_INPUT, "line %zu, column %zu: %s", place.line, place.column,
                     message);
}

/* ---- pieces ---- */

static size_t most_pieces(const struct piece_builder *builder) {
    return builder->most > 0 ? builder->most : MARKUP_MAX_PIECES;
}

static struct piece *add(struct piece_builder *builder, enum piece_kind kind, struct bytes raw) {
    struct markup *markup = &builder->markup;
    if (builder->failed)
        return NULL;
    if (markup->piece_count == most_pieces(builder)) {
        builder->failed = ERROR_INPUT;
        return NULL;
    }
    struct piece *pieces = arena_grow(builder->arena, markup->pieces, markup->piece_count,
                                      &builder->room, 1, sizeof *pieces);
    if (!pieces) {
        builder->failed = ERROR_MEMORY;
        return NULL;
    }
    markup->pieces = pieces;
    struct piece *piece = &pieces[markup->piece_count++];
    *piece =
        (struct piece){.raw = raw.start, .length = (uint32_t)raw.length, .kind = (uint8_t)kind};
    return piece;
}

/* Sets the notation of the piece in the document. */
static void set_source(struct piece *piece, struct bytes raw) {
    piece->source = raw.start;
    piece->source_length = (uint32_t)raw.length;
}

void piece_add_break(struct piece_builder *builder, struct bytes raw) {
    add(builder, PIECE_BREAK, raw);
}

void piece_add_unit(struct piece_builder *builder, struct bytes raw) {
    add(builder, PIECE_UNIT, raw);
}

void piece_add_space(struct piece_builder *builder, struct bytes raw) {
    struct piece *piece = add(builder, PIECE_UNIT, raw);
    if (!piece)
        return;
    piece->blank = true;
    piece->source = " ";
    piece->shown_length = 1;
}

void piece_add_text(struct piece_builder *builder, struct bytes text, struct bytes raw) {
    /* No-break spaces become units if the text is written as it is, and while there is room for so
     * many. */
    bool as_it_is = text.start == raw.start && text.length == raw.length;
    size_t at = 0, part;
    do {
        bool blank = false,
             room = as_it_is && builder->markup.piece_count < most_pieces(builder) / 2;
        part =
            room ? segment_next_part(text.start + at, text.length - at, &blank) : text.length - at;
        struct piece *piece = add(builder, PIECE_TEXT, (struct bytes){text.start + at, part});
        if (!piece)
            return;
        piece->plain = true;
        if (blank)
            piece_set_blank(piece);
        else
            set_source(piece, as_it_is ? (struct bytes){text.start + at, part} : raw);
        at += part;
    } while (at < text.length);
}

bool piece_add_open(struct piece_builder *builder, struct bytes raw) {
    if (builder->failed || builder->depth == MARKUP_MAX_DEPTH)
        return false;
    builder->open[builder->depth] = (uint32_t)builder->markup.piece_count;
    if (!add(builder, PIECE_OPEN, raw))
        return false;
    builder->depth++;
    return true;
}

bool piece_add_close(struct piece_builder *builder, struct bytes raw) {
    struct markup *markup = &builder->markup;
    if (builder->depth == 0 || !add(builder, PIECE_CLOSE, raw))
        return false;
    uint32_t begin = builder->open[--builder->depth], end = (uint32_t)markup->piece_count - 1;
    markup->pieces[begin].pair = end;
    markup->pieces[end].pair = begin;
    return true;
}

bool piece_add_close_or(struct piece_builder *builder, struct bytes raw, struct bytes replaced) {
    if (!piece_add_close(builder, replaced))
        return false;
    set_source(&builder->markup.pieces[builder->markup.piece_count - 1], raw);
    return true;
}

/* Adds a unit with one text, which represents it. */
static void add_around(struct piece_builder *builder, struct bytes before, struct bytes word,
                       struct bytes raw, struct bytes after) {
    size_t begin = builder->markup.piece_count;
    if (!piece_add_open(builder, before))
        return;
    piece_add_text(builder, word, raw);
    if (piece_add_close(builder, after))
        builder->markup.pieces[begin].opaque = builder->markup.pieces[begin].stands_in = true;
}

void piece_add_word(struct piece_builder *builder, struct bytes word, struct bytes raw) {
    add_around(builder, nothing, word, raw, nothing);
}

void piece_add_code(struct piece_builder *builder, struct bytes before, struct bytes word,
                    struct bytes after) {
    add_around(builder, before, word, word, after);
}

void piece_add_part(struct piece_builder *builder) {
    const struct markup *markup = &builder->markup;
    const struct piece *last =
        markup->piece_count > 0 ? &markup->pieces[markup->piece_count - 1] : NULL;
    bool follows = last && last->kind == PIECE_CLOSE && markup->pieces[last->pair].part;
    if (follows) /* the sentence has a space between two parts */
        piece_add_text(builder, (struct bytes){" ", 1}, nothing);
    if (piece_add_open(builder, nothing))
        builder->markup.pieces[builder->markup.piece_count - 1].part = true;
}

bool piece_add_link(struct piece_builder *builder, struct bytes raw) {
    bool added = piece_add_open(builder, raw);
    if (added)
        builder->markup.pieces[builder->markup.piece_count - 1].bond = BOND_LINK;
    return added;
}

int piece_build(struct piece_builder *builder, markup_escape *escape, struct markup *out,
                struct error *err) {
    const struct bytes *document = &builder->document;
    if (builder->failed == ERROR_MEMORY)
        return error_memory(err);
    if (builder->failed) {
        size_t line = builder->line;
        char where[32] = "";
        /* Without a line from the caller, the error names the line of the last piece in the
         * document. */
        for (size_t i = builder->markup.piece_count; document->start && line == 0 && i-- > 0;) {
            const struct piece *piece = &builder->markup.pieces[i];
            const char *at = piece->plain ? piece->source : piece->raw;
            if ((uintptr_t)at >= (uintptr_t)document->start &&
                (uintptr_t)at <= (uintptr_t)(document->start + document->length))
                line = utf8_place(document->start, at).line;
        }
        if (line > 0)
            snprintf(where, sizeof where, "line %zu: ", line);
        return error_set(err, ERROR_INPUT, "%sthe document has more than %zu texts and marks",
                         where, most_pieces(builder));
    }
    assert(builder->depth == 0);
    if (builder->tags)
        marks_pair_tags(builder->markup.pieces, builder->markup.piece_count);
    builder->markup.built = true;
    builder->markup.escape = escape;
    return segment_cut(&builder->markup, builder->arena, out, err);
}

/* ---- marks become pieces ---- */

static struct bytes written(const struct marking *marking, struct bytes mark, struct arena *arena) {
    return marking->written ? marking->written(marking, mark, arena) : mark;
}

static void add_between(struct piece_builder *builder, struct bytes text,
                        const struct marking *marking) {
    if (text.length == 0)
        return;
    if (marking->add_text)
        marking->add_text(marking, builder, text);
    else
        piece_add_text(builder, text, written(marking, text, builder->arena));
}

static void add_mark(struct piece_builder *builder, const struct mark *mark, struct bytes text,
                     const struct marking *marking) {
    struct bytes raw = written(marking, text, builder->arena),
                 shown = {mark->shown, mark->shown_length};
    if (shown.length > 0)
        shown.start = arena_copy(builder->arena, mark->shown, shown.length);
    if (shown.length > 0 && !shown.start)
        return;
    if (mark->kind == MARK_TEXT) {
        piece_add_text(builder, shown, raw);
    } else if (mark->kind == MARK_OPEN) {
        piece_add_open(builder, raw);
    } else if (mark->kind == MARK_CLOSE) {
        piece_add_close(builder, raw);
    } else if (mark->kind == MARK_BREAK) {
        piece_add_break(builder, raw);
    } else if (mark->kind == MARK_SPACE) {
        piece_add_space(builder, raw);
    } else {
        struct piece *piece = add(builder, PIECE_UNIT, mark->kind == MARK_TAG ? text : raw);
        if (piece && mark->kind == MARK_TAG) {
            set_source(piece, raw);
            marks_note_tag(piece, text.start, text.length, false);
            builder->tags = true;
        } else if (piece && shown.length > 0) {
            piece->source = shown.start;
            piece->shown_length = (uint8_t)shown.length;
        }
    }
}

void piece_add_marked(struct piece_builder *builder, struct bytes text,
                      const struct marking *marking) {
    struct mark_scan scan = {.text = text.start, .length = text.length, .marking = marking};
    struct mark mark;
    size_t at = 0;
    while (marks_next(&scan, &mark)) {
        add_between(builder, (struct bytes){text.start + at, mark.begin - at}, marking);
        add_mark(builder, &mark, (struct bytes){text.start + mark.begin, mark.end - mark.begin},
                 marking);
        at = mark.end;
    }
    add_between(builder, (struct bytes){text.start + at, text.length - at}, marking);
}

/* ---- whole texts ---- */

static void add_lines(const struct marking *marking, struct piece_builder *builder,
                      struct bytes text) {
    (void)marking;
    for (const char *at = text.start, *end = at + text.length; at < end;) {
        const char *feed = memchr(at, '\n', (size_t)(end - at)), *stop = feed ? feed : end;
        struct bytes line = bytes_between(at, stop);
        if (line.length > 0)
            piece_add_text(builder, line, line);
        if (feed)
            piece_add_break(builder, (struct bytes){feed, 1});
        at = feed ? feed + 1 : end;
    }
}

int markup_parse_marked(const char *text, size_t length, struct arena *arena, struct markup *out,
                        bool *marked, struct error *err) {
    static const struct marking marking = {.add_text = add_lines};
    struct piece_builder builder = {
        .arena = arena, .document = {text, length}, .markup.spaced = true};
    *marked = false;
    if (length >= MARKUP_MAX_BYTES || !marks_are_in((struct bytes){text, length}, NULL))
        return 0;
    piece_add_marked(&builder, (struct bytes){text, length}, &marking);
    if (builder.failed == ERROR_INPUT) /* a text with too many pieces is plain text */
        return 0;
    if (piece_build(&builder, NULL, out, err) != 0)
        return -1;
    for (size_t i = 0; i < out->piece_count && !*marked;
         i++) { /* everything except words and line ends is a mark */
        const struct piece *piece = &out->pieces[i];
        *marked = piece->kind == PIECE_TEXT
                      ? piece->source != piece->raw
                      : (piece->kind != PIECE_BREAK || piece->length != 1 || *piece->raw != '\n');
    }
    return 0;
}
