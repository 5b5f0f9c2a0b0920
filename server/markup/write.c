/* Writes pieces and translations as markup. */
#include "server/markup/place.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char text_marks[] = "&<>";

/* ---- bytes ---- */

bool bytes_among(struct html_bytes word, const char *list) {
    for (const char *at = list; word.length > 0 && *at;) {
        size_t same = 0;
        while (same < word.length && at[same] == word.start[same])
            same++;
        at += same;
        if (same == word.length && (*at == ' ' || *at == '\0'))
            return true;
        while (*at && *at++ != ' ')
            ;
    }
    return false;
}

void html_put(struct html_buffer *buffer, const char *bytes, size_t length) {
    char *grown =
        buffer->failed ? NULL : arena_grow(buffer->arena, buffer->bytes, buffer->length, &buffer->capacity, length + 1, 1);
    if (grown)
        buffer->bytes = grown;
    if (!grown || !budget_copy(buffer->arena->budget, grown + buffer->length, bytes, length)) {
        buffer->failed = true;
        return;
    }
    buffer->length += length;
    grown[buffer->length] = '\0';
}

void html_put_string(struct html_buffer *buffer, const char *string) {
    html_put(buffer, string, strlen(string));
}

char *html_take(const struct html_buffer *buffer, size_t *length, struct error *err) {
    if (buffer->failed) {
        error_memory(err);
        return NULL;
    }
    *length = buffer->length;
    return buffer->bytes;
}

void html_put_escaped(struct html_buffer *buffer, const char *text, size_t length, const char *marks) {
    for (size_t at = 0; at < length && !buffer->failed; at++) {
        size_t plain = at;
        while (at < length && !memchr(marks, text[at], strlen(marks)))
            at++;
        html_put(buffer, text + plain, at - plain);
        if (at < length)
            html_put_string(buffer, text[at] == '&' ? "&amp;" : text[at] == '<' ? "&lt;" : text[at] == '>' ? "&gt;" : "&quot;");
    }
}

/* ---- pieces ---- */

struct writing {
    const struct html *html;
    const struct html_translation *translations; /* [html->count] */
    struct html_buffer *out;
    struct arena *scratch; /* for one segment */
    bool as_it_was;        /* no value in a tag is rewritten */
};

/* True if two codes are of one language, regardless of their regions. */
static bool is_language(const char *code, size_t length, const char *other) {
    size_t primary = strcspn(other, "-_"), at = 0;
    while (at < length && code[at] != '-' && code[at] != '_')
        at++;
    return at == primary && strncasecmp(code, other, primary) == 0;
}

/* Writes a tag some of whose values are rewritten. */
static void write_insets(const struct writing *writing, const struct html_piece *piece) {
    const struct html *html = writing->html;
    uint32_t done = 0, own = (uint32_t)(piece - html->pieces);
    for (size_t i = piece->inset - 1; i < html->inset_count && html->insets[i].piece == own; i++) {
        const struct html_inset *inset = &html->insets[i];
        const struct html_translation *translation = inset->language ? NULL : &writing->translations[inset->segment];
        bool anew = translation
                        ? translation->text != NULL
                        : html->language && (inset->root || (html->from && is_language(inset->text, inset->length, html->from)));
        if (!anew)
            continue;
        html_put(writing->out, piece->raw + done, inset->begin - done);
        if (translation)
            html_put_escaped(writing->out, translation->text, translation->length, "&<>\"");
        else
            html_put_string(writing->out, html->language);
        done = inset->end;
    }
    html_put(writing->out, piece->raw + done, piece->length - done);
}

static void write_piece(const struct writing *writing, const struct html_piece *piece) {
    struct html_buffer *out = writing->out;
    if (piece->source && piece->shown_length == 0)
        html_put(out, piece->source, piece->source_length);
    else if (!piece->source && piece->inset > 0 && !writing->as_it_was)
        write_insets(writing, piece);
    else if (piece->plain)
        html_put_escaped(out, piece->raw, piece->length, text_marks);
    else
        html_put(out, piece->raw, piece->length);
}

/* ---- a translation with its nodes ---- */

/* Nodes are written in the order of their parents, and below a parent in the order of their places. */
struct order {
    size_t parent, begin, node;
};

static int compare_orders(const void *a, const void *b) {
    const struct order *x = a, *y = b;
    const size_t left[] = {x->parent, x->begin, x->node}, right[] = {y->parent, y->begin, y->node};
    for (size_t i = 0; i < 3; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* A node that is being written. */
struct frame {
    size_t node, next, end; /* orders [next,end) are its remaining children */
    size_t open, inside;    /* where its start tag, and the text after that, begin in the output */
};

struct scribe {
    const struct placer *placer;
    const struct order *orders; /* [placer->count] */
    const struct writing *writing;
    struct html_buffer *out;
    size_t at;         /* bytes of the translation that are written */
    size_t after_unit; /* where the last unit ended in the output; 0: none */
};

static void write_to(struct scribe *scribe, size_t byte) {
    if (byte <= scribe->at)
        return;
    const struct html *html = scribe->placer->html;
    const char *text = scribe->placer->translation->text + scribe->at;
    size_t length = byte - scribe->at;
    if (!html->built)
        html_put_escaped(scribe->out, text, length, text_marks);
    else
        (html->escape ? html->escape : html_put)(scribe->out, text, length);
    scribe->at = byte;
}

static size_t skip_space(const struct html_translation *translation, size_t at) {
    while (html_is_space_at(translation->text, translation->length, at))
        character_next(translation->text, translation->length, &at);
    return at;
}

/* A unit takes the place of the words that represented it. White space moves to the side of it where it stood in the source. */
static void write_unit(struct scribe *scribe, const struct node *node) {
    const struct html_translation *translation = scribe->placer->translation;
    const struct html_piece *first = &scribe->placer->html->pieces[node->piece];
    size_t blank = 0;
    while (blank < node->begin && html_is_space_at(translation->text, translation->length, blank))
        character_next(translation->text, translation->length, &blank);
    if (scribe->at == 0 && blank == node->begin && !node->space_before)
        scribe->at = blank;
    write_to(scribe, node->begin);
    if (first->blank) {
        write_piece(scribe->writing, first);
        scribe->at = skip_space(translation, scribe->at);
        return;
    }
    size_t rest = skip_space(translation, scribe->at);
    bool point = node->first == node->end, at_end = rest == translation->length;
    if (point && node->space_before && at_end)
        scribe->at = rest;
    bool beside = scribe->after_unit > 0 && scribe->after_unit == scribe->out->length; /* everything between was removed */
    bool merges = beside && first->length > 0 && scribe->out->bytes[scribe->out->length - 1] == '`' && *first->raw == '`';
    if (merges || (node->space_before && (beside || (point && at_end && scribe->at > 0))))
        html_put(scribe->out, " ", 1);
    for (size_t i = node->piece; i <= node->end_piece; i++)
        write_piece(scribe->writing, &scribe->placer->html->pieces[i]);
    scribe->after_unit = scribe->out->length;
    if (scribe->at < node->past)
        scribe->at = node->past;
    if (point && node->space_after && !at_end && !html_is_space_at(translation->text, translation->length, scribe->at))
        html_put(scribe->out, " ", 1);
}

/* Writes the end of the element in the last frame, which its parent's frame precedes. */
static void write_end(struct scribe *scribe, const struct frame *frame) {
    const struct placer *placer = scribe->placer;
    const struct html *html = placer->html;
    const struct html_piece *piece = &html->pieces[placer->nodes[frame->node].end_piece];
    if (!html->close) {
        write_piece(scribe->writing, piece);
        return;
    }
    const struct frame *around = frame - 1;
    const struct html_translation *translation = placer->translation;
    struct html_end end = {.open = frame->open,
                           .inside = frame->inside,
                           .first = around->node > 0 && around->inside == frame->open,
                           .next = around->node > 0 ? '*' : 0,
                           .written = piece->source ? piece->source : piece->raw,
                           .replaced = piece->raw,
                           .written_length = piece->source ? piece->source_length : piece->length,
                           .replaced_length = piece->length};
    if (around->next < around->end && placer->nodes[scribe->orders[around->next].node].begin == scribe->at) {
        end.next = '*';
    } else if (scribe->at < placer->nodes[around->node].past && scribe->at < translation->length) {
        size_t at = scribe->at;
        end.next = character_next(translation->text, translation->length, &at);
    }
    html->close(scribe->out, &end);
}

/* The first order of this parent's children or of a later parent's. */
static size_t first_child(const struct scribe *scribe, size_t parent) {
    size_t low = 1, high = scribe->placer->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (scribe->orders[middle].parent >= parent)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void write_nodes(struct scribe *scribe) {
    const struct placer *placer = scribe->placer;
    const struct html_piece *pieces = placer->html->pieces;
    struct frame stack[HTML_MAX_DEPTH + 1] = {{.node = 0, .next = 1, .end = first_child(scribe, 1)}};
    for (size_t depth = 1; depth > 0 && !scribe->out->failed;) {
        struct frame *frame = &stack[depth - 1];
        if (frame->next == frame->end) {
            write_to(scribe, placer->nodes[frame->node].past);
            if (frame->node > 0)
                write_end(scribe, frame);
            depth--;
            continue;
        }
        size_t child = scribe->orders[frame->next++].node;
        const struct node *node = &placer->nodes[child];
        if (node->unit) {
            write_unit(scribe, node);
            continue;
        }
        if (pieces[node->piece].part) /* nothing stands between parts */
            scribe->at = node->begin;
        else
            write_to(scribe, node->begin);
        size_t open = scribe->out->length;
        write_piece(scribe->writing, &pieces[node->piece]);
        stack[depth++] =
            (struct frame){child, first_child(scribe, child), first_child(scribe, child + 1), open, scribe->out->length};
    }
}

/* White space at either end of a segment stays as it was in the source. */
static void write_edge(struct html_buffer *out, const struct html_piece *piece, bool head) {
    size_t blank = 0;
    if (piece->kind != PIECE_TEXT)
        return;
    while (blank < piece->length && html_is_space(head ? piece->raw[blank] : piece->raw[piece->length - 1 - blank]))
        blank++;
    html_put(out, head ? piece->raw : piece->raw + piece->length - blank, blank);
}

static void write_translation(const struct writing *writing, const struct html_segment *segment,
                              const struct html_translation *translation) {
    const struct html *html = writing->html;
    struct html_buffer *out = writing->out;
    struct placer placer = {.html = html, .segment = segment, .translation = translation};
    struct order *orders = NULL;
    if (html_place(&placer, writing->scratch) == 0)
        orders = arena_alloc(writing->scratch, placer.count, sizeof *orders);
    if (!orders) {
        out->failed = true;
        return;
    }
    orders[0] = (struct order){0};
    for (size_t i = 1; i < placer.count; i++)
        orders[i] = (struct order){placer.nodes[i].parent, placer.nodes[i].begin, i};
    qsort(orders + 1, placer.count - 1, sizeof *orders, compare_orders);

    struct scribe scribe = {.placer = &placer, .orders = orders, .writing = writing, .out = out};
    write_edge(out, &html->pieces[segment->first], true);
    write_nodes(&scribe);
    if (segment->end - segment->first > 1 || html->pieces[segment->first].begin < html->pieces[segment->first].end)
        write_edge(out, &html->pieces[segment->end - 1], false);
    arena_reset(writing->scratch);
}

/* A translation that equals its segment is not written. */
static void write_below(const struct writing *writing, const struct html_segment *segment,
                        const struct html_translation *translation) {
    struct writing anew = *writing;
    anew.as_it_was = false;
    struct html_buffer *out = writing->out;
    size_t begin = out->length;
    for (size_t i = segment->first; i < segment->end; i++)
        write_piece(writing, &writing->html->pieces[i]);
    size_t end = out->length;
    writing->html->below(out, writing->html, segment, false);
    size_t below = out->length;
    write_translation(&anew, segment, translation);
    if (out->failed)
        return;
    if (out->length - below == end - begin && memcmp(out->bytes + below, out->bytes + begin, end - begin) == 0)
        out->bytes[out->length = end] = '\0';
    else
        writing->html->below(out, writing->html, segment, true);
}

/* Bytes of a translation that count as one step of a budget; of what one segment is placed with, in general. */
enum { BYTES_OF_STEP = 16, SCRATCH_BYTES = 16 * 1024 };

/* About as long as the document will be, so that the buffer seldom grows: each time it does, it leaves a copy. */
static size_t expected_bytes(const struct html *html, const struct html_translation *translations) {
    size_t bytes = 1;
    for (size_t i = 0; i < html->piece_count; i++) {
        const struct html_piece *piece = &html->pieces[i];
        bytes += piece->source && piece->shown_length == 0 ? piece->source_length : piece->length;
    }
    for (size_t i = 0; i < html->count; i++) {
        size_t replaced = html->below ? 0 : html->segments[i].length, length = translations[i].length;
        bytes += length > replaced ? length - replaced : 0;
    }
    return bytes;
}

char *html_write(const struct html *html, const struct html_translation *translations, struct arena *arena, size_t *length,
                 struct error *err) {
    struct html_buffer out = {.arena = arena, .capacity = expected_bytes(html, translations)};
    struct arena scratch;
    const struct writing writing = {html, translations, &out, &scratch, html->below != NULL};
    out.bytes = arena_alloc(arena, out.capacity, 1);
    out.failed = !out.bytes;
    arena_init(&scratch, SCRATCH_BYTES);
    arena_limit(&scratch, arena->budget);
    size_t segment = 0, segments = html->count - html->values;
    html_put(&out, "", 0);
    for (size_t i = 0; i < html->piece_count && !out.failed;) {
        const struct html_segment *next = segment < segments ? &html->segments[segment] : NULL;
        if (next && next->first == i && translations[segment].text) {
            out.failed |= !budget_step(arena->budget, translations[segment].length / BYTES_OF_STEP);
            (html->below ? write_below : write_translation)(&writing, next, &translations[segment]);
            i = next->end;
        } else {
            write_piece(&writing, &html->pieces[i++]);
            if (!next || i < next->end)
                continue;
        }
        segment++;
    }
    arena_done(&scratch);
    return html_take(&out, length, err);
}
