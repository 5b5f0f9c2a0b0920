#include "server/markup/html_build.h"
#include "server/markup/html_piece.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

static struct html_piece *add(struct html_builder *builder, enum html_kind kind, struct html_bytes raw) {
    struct html *html = &builder->html;
    if (builder->failed)
        return NULL;
    if (html->piece_count == HTML_MAX_PIECES) {
        builder->failed = ERROR_INPUT;
        return NULL;
    }
    struct html_piece *pieces = arena_grow(builder->arena, html->pieces, html->piece_count, &builder->room, 1, sizeof *pieces);
    if (!pieces) {
        builder->failed = ERROR_MEMORY;
        return NULL;
    }
    html->pieces = pieces;
    struct html_piece *piece = &pieces[html->piece_count++];
    *piece = (struct html_piece){.raw = raw.start, .length = (uint32_t)raw.length, .kind = (uint8_t)kind};
    return piece;
}

void html_add_break(struct html_builder *builder, struct html_bytes raw) {
    add(builder, PIECE_BREAK, raw);
}

void html_add_text(struct html_builder *builder, struct html_bytes text, struct html_bytes raw) {
    struct html_piece *piece = add(builder, PIECE_TEXT, text);
    if (!piece)
        return;
    piece->plain = true;
    piece->source = raw.start;
    piece->source_length = (uint32_t)raw.length;
}

void html_add_unit(struct html_builder *builder, struct html_bytes raw) {
    add(builder, PIECE_UNIT, raw);
}

void html_add_shown(struct html_builder *builder, struct html_bytes raw, struct html_bytes shown) {
    struct html_piece *piece = add(builder, PIECE_UNIT, raw);
    if (!piece || shown.length == 0)
        return;
    piece->source = shown.start;
    piece->shown_length = (uint8_t)shown.length;
}

void html_add_space(struct html_builder *builder, struct html_bytes raw) {
    struct html_piece *piece = add(builder, PIECE_UNIT, raw);
    if (!piece)
        return;
    piece->blank = true;
    piece->source = " ";
    piece->shown_length = 1;
}

void html_add_tag(struct html_builder *builder, struct html_bytes tag, struct html_bytes raw, bool quoted) {
    struct html_piece *piece = add(builder, PIECE_UNIT, tag);
    if (!piece)
        return;
    piece->source = raw.start;
    piece->source_length = (uint32_t)raw.length;
    html_note_tag(piece, tag.start, tag.length, quoted);
    builder->tags = true;
}

static bool open_element(struct html_builder *builder, struct html_bytes raw) {
    if (builder->failed || builder->depth == HTML_MAX_DEPTH)
        return false;
    builder->open[builder->depth] = (uint32_t)builder->html.piece_count;
    if (!add(builder, PIECE_OPEN, raw))
        return false;
    builder->depth++;
    return true;
}

static bool close_element(struct html_builder *builder, struct html_bytes raw) {
    struct html *html = &builder->html;
    if (builder->depth == 0 || !add(builder, PIECE_CLOSE, raw))
        return false;
    uint32_t begin = builder->open[--builder->depth], end = (uint32_t)html->piece_count - 1;
    html->pieces[begin].pair = end;
    html->pieces[end].pair = begin;
    return true;
}

bool html_add_open(struct html_builder *builder, struct html_bytes raw) {
    return open_element(builder, raw);
}

bool html_add_close(struct html_builder *builder, struct html_bytes raw) {
    return close_element(builder, raw);
}

bool html_add_close_or(struct html_builder *builder, struct html_bytes raw, struct html_bytes replaced) {
    if (!close_element(builder, replaced))
        return false;
    struct html_piece *piece = &builder->html.pieces[builder->html.piece_count - 1];
    piece->source = raw.start;
    piece->source_length = (uint32_t)raw.length;
    return true;
}

void html_add_word(struct html_builder *builder, struct html_bytes word, struct html_bytes raw) {
    static const struct html_bytes nothing = {"", 0};
    size_t begin = builder->html.piece_count;
    if (!open_element(builder, nothing))
        return;
    html_add_text(builder, word, raw);
    if (close_element(builder, nothing))
        builder->html.pieces[begin].opaque = builder->html.pieces[begin].stands_in = true;
}

void html_add_code(struct html_builder *builder, struct html_bytes before, struct html_bytes word, struct html_bytes behind) {
    size_t begin = builder->html.piece_count;
    if (!open_element(builder, before))
        return;
    html_add_text(builder, word, word);
    if (close_element(builder, behind))
        builder->html.pieces[begin].opaque = builder->html.pieces[begin].stands_in = true;
}

static bool is_end_of_part(const struct html *html) {
    const struct html_piece *last = html->piece_count > 0 ? &html->pieces[html->piece_count - 1] : NULL;
    return last && last->kind == PIECE_CLOSE && html->pieces[last->pair].part;
}

void html_add_part(struct html_builder *builder) {
    if (is_end_of_part(&builder->html)) /* a space for the sentence, which is none of the document's */
        html_add_text(builder, (struct html_bytes){" ", 1}, (struct html_bytes){"", 0});
    if (open_element(builder, (struct html_bytes){"", 0}))
        builder->html.pieces[builder->html.piece_count - 1].part = true;
}

void html_end_part(struct html_builder *builder, struct html_bytes raw) {
    close_element(builder, raw);
}

size_t html_depth(const struct html_builder *builder) {
    return builder->depth;
}

/* Of the last piece that stands in the document; 0: none does. */
static size_t last_line(const struct html_builder *builder) {
    const struct html_bytes *document = &builder->document;
    for (size_t i = builder->html.piece_count; document->start && i-- > 0;) {
        const struct html_piece *piece = &builder->html.pieces[i];
        const char *at = piece->plain ? piece->source : piece->raw;
        if ((uintptr_t)at < (uintptr_t)document->start || (uintptr_t)at > (uintptr_t)(document->start + document->length))
            continue;
        size_t line = 1;
        for (const char *feed = document->start; (feed = memchr(feed, '\n', (size_t)(at - feed))); feed++)
            line++;
        return line;
    }
    return 0;
}

int html_build(struct html_builder *builder, html_escape *escape, struct html *out, struct error *err) {
    if (builder->failed == ERROR_MEMORY)
        return error_memory(err);
    if (builder->failed) {
        size_t line = builder->line > 0 ? builder->line : last_line(builder);
        char where[32] = "";
        if (line > 0)
            snprintf(where, sizeof where, "line %zu: ", line);
        return error_set(err, ERROR_INPUT, "%sthere are more than %d texts and marks", where, HTML_MAX_PIECES);
    }
    assert(builder->depth == 0);
    if (builder->tags)
        html_pair_marks(builder->html.pieces, 0, builder->html.piece_count);
    builder->html.built = true;
    builder->html.escape = escape;
    return html_cut(&builder->html, builder->arena, out, err);
}
