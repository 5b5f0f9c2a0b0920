#include "server/documents/texts.h"
#include "model/base/utf8.h"

enum {
    MOST_NESTED = 32, /* elements within elements of a text; deeper ones stay */
    MOST_INNER = 64   /* texts within a text; later ones stay */
};

/* A text within another, which is written before that and then takes the place of a unit. */
struct inner {
    size_t piece;         /* the unit */
    size_t length;        /* of its notation */
    size_t before, after; /* bytes of the notation that surround the text */
    struct bytes written; /* length 0: the text was not translated */
    struct inner *next;
};

/* How a span is written. */
struct about {
    text_settle *settle;
    const char *below;
    struct bytes over, under; /* lines around a title */
    const char *before;       /* precedes a title that changes; NULL: nothing does */
    const char *line;         /* where `before` is written; NULL: before `over` or the text */
    bool stays;               /* the text stays below its translation */
    struct inner *own;        /* the span is this text within another, or apart */
    text_draw *draw;          /* writes the span, which has no text; NULL: none */
    const void *drawing;
    struct inner *inner; /* the texts within it, in their order */
};

/* ---- writing ---- */

/* Puts a text with the translations of those within it. */
static void put_text(struct bytes_buffer *out, const struct span_written *text,
                     const struct about *about) {
    size_t done = 0;
    for (size_t i = 0; i < text->trace.count && about->inner; i++) {
        const struct markup_traced *traced = &text->trace.all[i];
        const struct inner *inner = about->inner;
        while (inner && inner->piece != traced->piece)
            inner = inner->next;
        if (!inner || inner->written.length == 0)
            continue;
        bytes_put(out, text->text.start + done, traced->at + inner->before - done);
        bytes_put(out, inner->written.start, inner->written.length);
        done = traced->at + inner->length - inner->after;
    }
    bytes_put(out, text->text.start + done, text->text.length - done);
}

/* Puts a line of one sign that is at least as long as the title, of so many columns; it is as long
 * as the title if it was so before, give or take one. */
static void put_line(struct span_writer *writer, struct bytes line, size_t before, size_t columns) {
    if (line.length == 0)
        return;
    bool same = line.length + 1 >= before && line.length <= before + 1;
    span_keep(writer, same ? line.start : line.start + line.length);
    for (size_t i = same ? 0 : line.length; i < columns; i++)
        bytes_put(&writer->out, line.start, 1);
    if (same)
        span_skip(writer, line.start + line.length);
}

size_t texts_columns(struct bytes text) {
    size_t columns = 0;
    for (size_t at = 0; at < text.length;)
        columns += character_is_wide(character_next(text.start, text.length, &at)) ? 2 : 1;
    return columns;
}

/* A span_put. */
static void put(struct span_writer *writer, const struct document_span *span,
                const struct span_written *texts) {
    const struct about *about = span->about;
    struct bytes_buffer whole = {.arena = writer->out.arena};
    bytes_put(&whole, "", 0);
    if (about->draw) {
        span_keep(writer, span->begin);
        struct bytes before = {writer->out.bytes, writer->out.length};
        bool both = writer->document->bilingual != BILINGUAL_NONE;
        if (writer->out.failed || !about->draw(about->drawing, both, before, &whole))
            return;
        bytes_put(&writer->out, whole.bytes, whole.length);
        span_skip(writer, span->end);
        writer->out.failed |= whole.failed;
        return;
    }
    bool translated = texts[0].translated;
    for (const struct inner *inner = about->inner; inner; inner = inner->next)
        translated |= inner->written.length > 0;
    if (!translated)
        return;
    put_text(&whole, &texts[0], about);
    if (about->settle && !whole.failed) {
        struct bytes written = {whole.bytes, whole.length};
        whole = (struct bytes_buffer){.arena = writer->out.arena};
        bytes_put(&whole, "", 0);
        about->settle(&whole, written);
    }
    struct bytes text = {whole.bytes, whole.length};
    writer->out.failed |= whole.failed;
    if (whole.failed)
        return;
    if (about->own) {
        about->own->written = text;
        return;
    }
    bool both = writer->document->bilingual != BILINGUAL_NONE,
         same = bytes_same(text, bytes_between(span->begin, span->end));
    if (same)
        return;
    if (about->stays) {
        span_keep(writer, span->begin);
        bytes_put(&writer->out, text.start, text.length);
        bytes_put_string(&writer->out, about->below);
        return;
    }
    struct bytes source = both ? bytes_between(span->begin, span->end) : nothing;
    size_t inset = 0; /* a title between two lines may be indented */
    while (span->begin - inset > writer->document->source &&
           span->begin[-1 - (ptrdiff_t)inset] == ' ')
        inset++;
    size_t columns = texts_columns(text) + inset;
    if (both)
        columns += texts_columns(source) + strlen(about->below);
    if (about->before) {
        span_keep(writer, about->line              ? about->line
                          : about->over.length > 0 ? about->over.start
                                                   : span->begin);
        bytes_put_string(&writer->out, about->before);
    }
    size_t before = texts_columns(bytes_between(span->begin, span->end)) + inset;
    put_line(writer, about->over, before, columns);
    span_keep(writer, both ? span->end : span->begin);
    if (both)
        bytes_put_string(&writer->out, about->below);
    bytes_put(&writer->out, text.start, text.length);
    span_skip(writer, span->end);
    put_line(writer, about->under, before, columns);
}

/* ---- reading ---- */

struct text_reader texts_reader(const struct document *document, struct piece_builder *builder,
                                text_next *next) {
    struct document_spans *spans = arena_zalloc(builder->arena, 1, sizeof *spans);
    if (spans)
        spans->put = put;
    else
        builder->failed = ERROR_MEMORY;
    builder->markup.spaced = false;
    return (struct text_reader){.document = document,
                                .spans = spans,
                                .builder = builder,
                                .next = next,
                                .end = document->source + document->length};
}

/* An element that is open. */
struct open {
    const char *past, *after;
    struct bytes closing; /* what is written at its end */
};

/* A walk through the notation of a text. */
struct walk {
    struct text_reader *reader;
    const char *begin, *end;
    struct open open[MOST_NESTED]; /* [depth] */
    size_t depth;
    struct inner **inner; /* the next text within it */
};

static bool is_element(const struct text_token *token) {
    return token->kind == TEXT_ELEMENT || token->kind == TEXT_NAMED;
}

/* Reads the notation at `at`, which ends where the element around it does at the latest. White
 * space with a line end is a space. */
static void next_token(const struct walk *walk, const char *at, struct text_token *token) {
    const char *limit = walk->depth > 0 ? walk->open[walk->depth - 1].past : walk->end, *space = at;
    bool line = false;
    *token = (struct text_token){TEXT_NONE, .after = at + 1};
    for (; space < limit && byte_is_space(*space); space++)
        line |= *space == '\n';
    if (line) {
        *token = (struct text_token){TEXT_WORDS, .after = space, .text = {" ", 1}};
        return;
    }
    walk->reader->next(walk->reader, walk->begin, at, limit, token);
    for (; token->after < limit && ((unsigned char)*token->after & 0xc0) == 0x80; token->after++)
        if (token->kind == TEXT_WORDS && token->text.start + token->text.length == token->after)
            token->text.length++; /* a backslash precedes all of a character */
    if (token->after > limit ||
        (token->kind >= TEXT_CODE && token->kind <= TEXT_INNER && token->past <= token->inside))
        *token = (struct text_token){token->after > limit ? TEXT_NONE : TEXT_UNIT,
                                     .after = token->after > limit ? at + 1 : token->after};
    if (is_element(token) && walk->depth == MOST_NESTED)
        token->kind = TEXT_UNIT;
}

static void add_token(struct walk *walk, const char *at, const struct text_token *token) {
    struct piece_builder *builder = walk->reader->builder;
    struct bytes raw = bytes_between(at, token->after);
    if (token->kind == TEXT_WORDS) {
        piece_add_text(builder, token->text, raw);
    } else if (token->kind == TEXT_NOUN) {
        piece_add_word(builder, token->text, raw);
    } else if (token->kind == TEXT_SPACE) {
        piece_add_space(builder, raw);
        if (!builder->failed) /* it replaces a space of the translation */
            builder->markup.pieces[builder->markup.piece_count - 1].yields = true;
    } else if (token->kind == TEXT_BREAK) {
        piece_add_break(builder, raw);
    } else if (token->kind == TEXT_CODE) {
        piece_add_code(builder, bytes_between(at, token->inside),
                       bytes_between(token->inside, token->past),
                       bytes_between(token->past, token->after));
    } else if (is_element(token)) {
        struct bytes closing =
            token->kind == TEXT_NAMED ? token->text : bytes_between(token->past, token->after);
        if (piece_add_open(builder, bytes_between(at, token->inside)))
            walk->open[walk->depth++] = (struct open){token->past, token->after, closing};
    } else {
        if (token->kind == TEXT_INNER && *walk->inner) {
            (*walk->inner)->piece = builder->markup.piece_count;
            walk->inner = &(*walk->inner)->next;
        }
        piece_add_unit(builder, raw);
    }
}

/* Adds the pieces of a text. inner: those of its texts that have spans. */
static void add_pieces(struct text_reader *reader, const char *begin, const char *end,
                       struct inner **inner) {
    struct piece_builder *builder = reader->builder;
    struct walk walk = {.reader = reader, .begin = begin, .end = end, .inner = inner};
    const char *plain = begin;
    for (const char *at = begin; (at < end || walk.depth > 0) && !builder->failed;) {
        const struct open *open = walk.depth > 0 ? &walk.open[walk.depth - 1] : NULL;
        struct text_token token = {.kind = TEXT_NONE};
        bool closes = open && at == open->past;
        if (!closes)
            next_token(&walk, at, &token);
        if (!closes && token.kind == TEXT_NONE) {
            at = token.after;
            continue;
        }
        if (at > plain)
            piece_add_text(builder, bytes_between(plain, at), bytes_between(plain, at));
        if (closes) {
            piece_add_close(builder, open->closing);
            at = open->after;
            walk.depth--;
        } else {
            add_token(&walk, at, &token);
            at = is_element(&token) ? token.inside : token.after;
        }
        plain = at;
    }
    if (end > plain && !builder->failed)
        piece_add_text(builder, bytes_between(plain, end), bytes_between(plain, end));
}

static struct about *add_span(struct text_reader *reader, const char *begin, const char *end,
                              const struct about *about, struct inner **inner) {
    struct piece_builder *builder = reader->builder;
    struct about *own = builder->failed ? NULL : arena_alloc(builder->arena, 1, sizeof *own);
    if (!own) {
        builder->failed = builder->failed ? builder->failed : ERROR_MEMORY;
        return NULL;
    }
    *own = *about;
    own->settle = reader->settle;
    spans_add(reader->spans, builder, begin, end, own);
    size_t first = builder->markup.piece_count;
    if (!builder->failed)
        add_pieces(reader, begin, end, inner);
    if (!builder->failed)
        spans_end_text(reader->spans, builder, first);
    return own;
}

/* Adds the texts within a text as spans of their own, which precede it. */
static struct inner *add_inner(struct text_reader *reader, const char *begin, const char *end) {
    struct walk walk = {.reader = reader, .begin = begin, .end = end};
    struct inner *first = NULL, **next = &first;
    size_t count = 0;
    for (const char *at = begin; at < end && !reader->builder->failed;) {
        struct text_token token;
        while (walk.depth > 0 && at >= walk.open[walk.depth - 1].past)
            at = walk.open[--walk.depth].after;
        if (at >= end)
            break;
        next_token(&walk, at, &token);
        const char *after = token.after;
        if (is_element(&token)) {
            walk.open[walk.depth++] = (struct open){token.past, token.after, nothing};
            after = token.inside;
        } else if (token.kind == TEXT_INNER && count++ < MOST_INNER) {
            struct inner *inner = arena_zalloc(reader->builder->arena, 1, sizeof *inner),
                         *none = NULL;
            if (!inner) {
                reader->builder->failed = ERROR_MEMORY;
                return NULL;
            }
            inner->length = (size_t)(token.after - at);
            inner->before = (size_t)(token.inside - at);
            inner->after = (size_t)(token.after - token.past);
            add_span(reader, token.inside, token.past, &(struct about){.own = inner}, &none);
            *next = inner;
            next = &inner->next;
        }
        at = after;
    }
    return first;
}

static void add_text(struct text_reader *reader, const char *begin, const char *end,
                     const struct about *about) {
    struct about own = *about;
    while (begin < end && byte_is_space(*begin))
        begin++;
    while (end > begin && byte_is_space(end[-1]))
        end--;
    if (begin == end)
        return;
    own.inner = add_inner(reader, begin, end);
    struct inner *inner = own.inner;
    add_span(reader, begin, end, &own, &inner);
}

void texts_add(struct text_reader *reader, const char *begin, const char *end, const char *below) {
    add_text(reader, begin, end, &(struct about){.below = below});
}

void texts_add_name(struct text_reader *reader, const char *begin, const char *end,
                    const char *below) {
    add_text(reader, begin, end, &(struct about){.below = below, .stays = true});
}

void texts_add_anchored(struct text_reader *reader, struct bytes text, const char *line,
                        const char *before) {
    add_text(reader, text.start, text.start + text.length,
             &(struct about){.below = " / ", .line = line, .before = before});
}

const struct bytes *texts_add_apart(struct text_reader *reader, struct bytes text,
                                    const char *place) {
    struct inner *own = arena_zalloc(reader->builder->arena, 1, sizeof *own), *none = NULL;
    const char *end = text.start + text.length;
    if (!own) {
        reader->builder->failed = ERROR_MEMORY;
        return NULL;
    }
    add_span(reader, text.start, end, &(struct about){.own = own}, &none);
    if (reader->builder->failed)
        return NULL;
    struct document_span *span = &reader->spans->all[reader->spans->count - 1];
    span->begin = span->end = place;
    return &own->written;
}

void texts_add_drawing(struct text_reader *reader, struct bytes place, text_draw *draw,
                       const void *drawing) {
    struct about *own = arena_zalloc(reader->builder->arena, 1, sizeof *own);
    if (!own) {
        reader->builder->failed = ERROR_MEMORY;
        return;
    }
    *own = (struct about){.draw = draw, .drawing = drawing};
    spans_add(reader->spans, reader->builder, place.start, place.start + place.length, own);
}

void texts_add_title(struct text_reader *reader, struct bytes title, struct bytes over,
                     struct bytes under, const char *before) {
    add_text(reader, title.start, title.start + title.length,
             &(struct about){.below = " / ", .over = over, .under = under, .before = before});
}

const char *texts_paragraph(struct text_reader *reader, const char *line, size_t more) {
    struct bytes_buffer out = {.arena = reader->builder->arena};
    const char *end = line;
    while (end < reader->end && (*end == ' ' || *end == '\t'))
        end++;
    bytes_put_string(&out, "\n\n");
    bytes_put(&out, line, (size_t)(end - line));
    for (size_t i = 0; i < more; i++)
        bytes_put(&out, " ", 1);
    return out.failed ? "\n\n" : out.bytes;
}

/* ---- notation ---- */

const char *texts_limit(const char *at, const char *end) {
    return end - at > TEXTS_FAR ? at + TEXTS_FAR : end;
}

const char *texts_find(const char *at, const char *end, const char *what) {
    const char *limit = texts_limit(at, end);
    return at < limit ? memmem(at, (size_t)(limit - at), what, strlen(what)) : NULL;
}

const char *texts_bracket_end(const char *at, const char *end) {
    char open = *at, close = open == '{' ? '}' : open == '[' ? ']' : open == '(' ? ')' : '>';
    size_t depth = 0;
    const char *limit = texts_limit(at, end);
    for (; at < limit; at++) {
        if (*at == '\\')
            at++;
        else if (*at == open)
            depth++;
        else if (*at == close && --depth == 0)
            return at + 1;
    }
    return NULL;
}
