/* This module hides how a document is put together again: its pieces, and the translations of its
 * segments with their elements in place. */
#include "server/markup/linked_data.h"
#include "server/markup/place.h"
#include "server/markup/segment.h"
#include <stdlib.h>

enum {
    BYTES_OF_STEP = 16,       /* bytes of a translation that count as one step of a budget */
    SCRATCH_BYTES = 16 * 1024 /* usually enough to place the nodes of one segment */
};

static const char text_marks[] = "&<>";

/* ---- writing pieces ---- */

struct writing {
    const struct markup *markup;
    const struct markup_translation *translations; /* [markup->count] */
    struct bytes_buffer *out;
    struct arena *scratch;              /* for one segment */
    bool as_it_was;                     /* no value in a tag is rewritten */
    struct markup_trace *trace;         /* NULL: not wanted */
    struct markup_place *const *places; /* places of the translations' bytes; NULL: not wanted */
};

static void trace_piece(const struct writing *writing, size_t piece) {
    struct markup_trace *trace = writing->trace;
    struct markup_traced *all =
        arena_grow(trace->arena, trace->all, trace->count, &trace->room, 1, sizeof *all);
    if (!all) {
        writing->out->failed = true;
        return;
    }
    trace->all = all;
    all[trace->count++] = (struct markup_traced){piece, writing->out->length};
}

static void write_piece(const struct writing *writing, const struct piece *piece) {
    const struct markup *markup = writing->markup;
    struct bytes_buffer *out = writing->out;
    if (writing->trace)
        trace_piece(writing, (size_t)(piece - markup->pieces));
    bool insets = !piece->source && piece->inset > 0 && !writing->as_it_was;
    uint32_t done = 0, own = (uint32_t)(piece - markup->pieces);
    if (piece->source && piece->shown_length == 0) {
        bytes_put(out, piece->source, piece->source_length);
        return;
    }
    if (piece->plain && !insets) {
        if (markup->built) /* white space */
            bytes_put(out, piece->raw, piece->length);
        else
            bytes_put_escaped(out, piece->raw, piece->length, text_marks);
        return;
    }
    for (size_t i = piece->inset - 1;
         insets && i < markup->inset_count && markup->insets[i].piece == own; i++) {
        const struct piece_inset *inset = &markup->insets[i];
        const struct markup_translation *translation =
            inset->language ? NULL : &writing->translations[inset->segment];
        const struct bytes stated = {inset->text, inset->length},
                           from = {markup->from, markup->from ? strlen(markup->from) : 0};
        bool anew = translation
                        ? translation->text != NULL
                        : markup->language &&
                              (inset->root || (markup->from && bytes_same_language(stated, from)));
        if (!anew)
            continue;
        bytes_put(out, piece->raw + done, inset->begin - done);
        if (translation && inset->json)
            linked_data_put(out, (struct bytes){translation->text, translation->length});
        else if (translation)
            bytes_put_escaped(out, translation->text, translation->length, "&<>\"");
        else
            bytes_put_string(out, markup->language);
        done = inset->end;
    }
    bytes_put(out, piece->raw + done, piece->length - done);
}

/* ---- a translation with its nodes ---- */

/* Nodes are written in the order of their parents, and below a parent in the order of their places.
 */
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
    const struct writing *writing;
    const struct markup_translation *translation;
    const struct place_node *nodes; /* [count] */
    const struct order *orders;     /* [count] */
    size_t count;
    struct bytes_buffer *out;
    size_t at;          /* bytes of the translation that have been written */
    size_t fixed;       /* output up to here is a tag, a unit, or white space of the source */
    size_t after_unit;  /* the end of the last unit in the output; 0: none */
    size_t after_blank; /* the same of one that is white space */
    enum piece_notation notation;
    struct markup_place *places; /* places of the translation's bytes; NULL: not wanted */
};

/* Notes that bytes [begin,end) of the translation stand from `at` to the end of the output. */
static void note_places(struct scribe *scribe, size_t begin, size_t end, size_t at) {
    for (; scribe->places && begin < end; begin++)
        scribe->places[begin] = (struct markup_place){(uint32_t)at, (uint32_t)scribe->out->length};
}

/* Writes text of the translation with references, and notes the places of its characters. */
static void write_placed(struct scribe *scribe, size_t length) {
    const char *text = scribe->translation->text;
    size_t end = scribe->at + length;
    for (size_t at = scribe->at, begin = at; at < end; begin = at) {
        size_t before = scribe->out->length;
        character_next(text, end, &at);
        bytes_put_escaped(scribe->out, text + begin, at - begin, text_marks);
        note_places(scribe, begin, at, before);
    }
}

/* Writes the translation up to this byte. A segment is one line: a line end of the translation,
 * which might end a cue, a row or a message, becomes a space. */
static void write_to(struct scribe *scribe, size_t byte) {
    const struct markup *markup = scribe->writing->markup;
    bool references = !markup->built || scribe->notation == PIECE_ESCAPED;
    markup_escape *escape =
        markup->escape && scribe->notation == PIECE_BY_FORMAT ? markup->escape : bytes_put;
    while (scribe->at < byte) {
        const char *text = scribe->translation->text + scribe->at;
        size_t length = 0;
        while (scribe->at + length < byte && text[length] != '\n' && text[length] != '\r')
            length++;
        if (references && scribe->places)
            write_placed(scribe, length);
        else if (references)
            bytes_put_escaped(scribe->out, text, length, text_marks);
        else
            escape(scribe->out, text, length);
        scribe->at += length;
        if (scribe->at < byte) {
            bytes_put(scribe->out, " ", 1);
            scribe->at++;
        }
    }
}

static size_t skip_space(const struct markup_translation *translation, size_t at) {
    while (bytes_space_at(translation->text, translation->length, at))
        character_next(translation->text, translation->length, &at);
    return at;
}

/* True if the output ends in white space of the translation. */
static bool ends_in_space(const struct scribe *scribe) {
    return scribe->out->length > scribe->fixed &&
           scribe->out->bytes[scribe->out->length - 1] == ' ';
}

static bool is_letter_at(const struct markup_translation *translation, size_t at) {
    return at < translation->length &&
           character_is_letter(character_next(translation->text, translation->length, &at));
}

static bool is_letter_before(const struct markup_translation *translation, size_t at) {
    while (at > 0 && translation->text[at - 1] == ' ')
        at--;
    return at > 0 && character_is_letter(character_previous(translation->text, &at));
}

static void put_unit(struct scribe *scribe, const struct place_node *node) {
    struct bytes_buffer *out = scribe->out;
    for (size_t i = node->piece; i <= node->end_piece; i++) {
        const struct piece *piece = &scribe->writing->markup->pieces[i];
        size_t before = out->length;
        write_piece(scribe->writing, piece);
        if (piece->plain) /* the content of an element, which stands for it */
            note_places(scribe, node->begin, node->past, before);
    }
    scribe->fixed = scribe->after_unit = out->length;
    if (scribe->at < node->past)
        scribe->at = node->past;
}

/* Writes white space that replaces that of the translation. */
static void write_blank(struct scribe *scribe, const struct place_node *node) {
    size_t rest = skip_space(scribe->translation, scribe->at);
    bool before = ends_in_space(scribe),
         yields = scribe->writing->markup->pieces[node->piece].yields;
    if (yields && !before && rest == scribe->at)
        return;
    scribe->out->length -= before && yields;
    scribe->at = rest;
    put_unit(scribe, node);
    scribe->after_unit = 0; /* it is the space before what follows */
    scribe->after_blank = scribe->out->length;
}

/* Writes a unit between two words. White space is on the side where it was in the source;
 * otherwise, where the unit had a word beside it, it is between the two, and any other is where the
 * translation has it. */
static void write_point(struct scribe *scribe, const struct place_node *node) {
    const struct markup_translation *translation = scribe->translation;
    size_t rest = skip_space(translation, scribe->at);
    bool head = scribe->at == 0, tail = rest == translation->length, spaced = ends_in_space(scribe);
    bool before = node->space_before, after = node->space_after && !tail;
    if (node->last) {
        before &= !spaced;
    } else if (spaced || rest > scribe->at) {
        before |=
            !node->word_before && (node->word_after || is_letter_before(translation, scribe->at));
        after |= !tail && (is_letter_at(translation, rest) ? !node->word_after || !before
                                                           : !before || rest > scribe->at);
        /* white space on both sides of the unit is two blanks beside each other in the translation
         * of a label, whose white space stays */
        for (bool both = node->space_before && node->space_after; spaced; both = false) {
            scribe->out->length--;
            spaced = both && ends_in_space(scribe);
        }
        scribe->at = rest;
    }
    if (before && !head && scribe->after_blank != scribe->out->length)
        bytes_put(scribe->out, " ", 1);
    put_unit(scribe, node);
    if (after)
        bytes_put(scribe->out, " ", 1);
}

/* Writes a unit, in place of the words that represented it. */
static void write_unit(struct scribe *scribe, const struct place_node *node) {
    const struct piece *first = &scribe->writing->markup->pieces[node->piece];
    write_to(scribe, node->begin);
    if (node->given) {
        put_unit(scribe, node);
        return;
    }
    if (first->blank) {
        write_blank(scribe, node);
        return;
    }
    bool beside = scribe->after_unit > 0 &&
                  scribe->after_unit == scribe->out->length; /* everything between was removed */
    bool merges = beside && first->length > 0 &&
                  scribe->out->bytes[scribe->out->length - 1] == '`' && *first->raw == '`';
    if (node->first == node->end && !merges) {
        write_point(scribe, node);
        return;
    }
    if (merges || (beside && node->space_before))
        bytes_put(scribe->out, " ", 1);
    put_unit(scribe, node);
}

/* Writes the end of the element in the last frame, which its parent's frame precedes. */
static void write_end(struct scribe *scribe, const struct frame *frame) {
    const struct markup *markup = scribe->writing->markup;
    const struct piece *piece = &markup->pieces[scribe->nodes[frame->node].end_piece];
    if (!markup->close) {
        write_piece(scribe->writing, piece);
        return;
    }
    const struct frame *around = frame - 1;
    const struct markup_translation *translation = scribe->translation;
    struct markup_end end = {.open = frame->open,
                             .inside = frame->inside,
                             .first = around->node > 0 && around->inside == frame->open,
                             .next = around->node > 0 ? '*' : 0,
                             .written = piece->source ? piece->source : piece->raw,
                             .replaced = piece->raw,
                             .written_length = piece->source ? piece->source_length : piece->length,
                             .replaced_length = piece->length};
    if (around->next < around->end &&
        scribe->nodes[scribe->orders[around->next].node].begin == scribe->at) {
        end.next = '*';
    } else if (scribe->at < scribe->nodes[around->node].past && scribe->at < translation->length) {
        size_t at = scribe->at;
        end.next = character_next(translation->text, translation->length, &at);
    }
    markup->close(scribe->out, &end);
}

/* Returns the first order of the children of this parent, or else of a later one. */
static size_t first_child(const struct scribe *scribe, size_t parent) {
    size_t low = 1, high = scribe->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (scribe->orders[middle].parent >= parent)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Writes the white space at one end of a segment as it was in the source. */
static void write_edge(struct bytes_buffer *out, const struct piece *piece, bool head) {
    size_t blank = 0;
    if (piece->kind != PIECE_TEXT)
        return;
    while (blank < piece->length &&
           byte_is_space(head ? piece->raw[blank] : piece->raw[piece->length - 1 - blank]))
        blank++;
    bytes_put(out, head ? piece->raw : piece->raw + piece->length - blank, blank);
}

/* True if an element has only white space, which is both its head and its tail. */
static bool is_all_blank(const struct place_node *node, const struct piece *pieces) {
    const struct piece *content = &pieces[node->piece + 1];
    return content == &pieces[node->end_piece - 1] &&
           segment_is_blank(content->raw, content->length);
}

/* Writes the start tag of an element, after the white space that precedes it and before that in it:
 * white space that the element began with does not leave it. */
static void write_start(struct scribe *scribe, struct frame *frame) {
    const struct place_node *node = &scribe->nodes[frame->node];
    const struct piece *pieces = scribe->writing->markup->pieces;
    struct bytes_buffer *out = scribe->out;
    bool moves = node->inner_head && !node->space_before;
    write_to(scribe, node->begin);
    while (moves && out->length > scribe->fixed && byte_is_space(out->bytes[out->length - 1]))
        out->length--;
    frame->open = out->length;
    write_piece(scribe->writing, &pieces[node->piece]);
    frame->inside = out->length;
    if (node->inner_head)
        write_edge(out, &pieces[node->piece + 1], true);
    scribe->fixed = out->length;
}

static void write_translation(const struct writing *writing, const struct markup_segment *segment,
                              const struct markup_translation *translation) {
    const struct piece *pieces = writing->markup->pieces;
    struct bytes_buffer *out = writing->out;
    struct place_node *nodes;
    struct order *orders = NULL;
    size_t count = place_elements(writing->markup, segment, translation, writing->scratch, &nodes);
    if (count > 0)
        orders = arena_alloc(writing->scratch, count, sizeof *orders);
    if (!orders) {
        out->failed = true;
        return;
    }
    orders[0] = (struct order){0};
    for (size_t i = 1; i < count; i++)
        orders[i] = (struct order){nodes[i].parent, nodes[i].begin, i};
    qsort(orders + 1, count - 1, sizeof *orders, compare_orders);

    struct scribe scribe = {
        .writing = writing,
        .translation = translation,
        .nodes = nodes,
        .orders = orders,
        .count = count,
        .out = out,
        .notation = pieces[segment->first].notation,
        .places = writing->places ? writing->places[translation - writing->translations] : NULL};
    struct frame stack[MARKUP_MAX_DEPTH + 1] = {
        {.node = 0, .next = 1, .end = first_child(&scribe, 1)}};
    write_edge(out, &pieces[segment->first], true);
    scribe.fixed = out->length;
    for (size_t depth = 1; depth > 0 && !out->failed;) {
        struct frame *frame = &stack[depth - 1];
        if (frame->next == frame->end) {
            write_to(&scribe, nodes[frame->node].past);
            if (frame->node > 0) {
                const struct place_node *node = &nodes[frame->node];
                if (node->inner_tail && !is_all_blank(node, pieces))
                    write_edge(out, &pieces[node->end_piece - 1], false);
                write_end(&scribe, frame);
                scribe.fixed = out->length;
                if (node->inner_tail && !node->outer_tail)
                    scribe.at = skip_space(translation, scribe.at);
            }
            depth--;
            continue;
        }
        size_t child = orders[frame->next++].node;
        const struct place_node *node = &nodes[child];
        if (node->unit) {
            write_unit(&scribe, node);
            continue;
        }
        if (node->part) /* there is nothing between parts */
            scribe.at = node->begin;
        stack[depth] = (struct frame){child, first_child(&scribe, child),
                                      first_child(&scribe, child + 1), 0, 0};
        write_start(&scribe, &stack[depth++]);
    }
    if (segment->end - segment->first > 1 ||
        pieces[segment->first].begin < pieces[segment->first].end)
        write_edge(out, &pieces[segment->end - 1], false);
    arena_reset(writing->scratch);
}

/* Writes the segment and, unless it is equal, the translation below it. */
static void write_below(const struct writing *writing, const struct markup_segment *segment,
                        const struct markup_translation *translation) {
    struct writing anew = *writing;
    anew.as_it_was = false;
    struct bytes_buffer *out = writing->out;
    size_t begin = out->length;
    for (size_t i = segment->first; i < segment->end; i++)
        write_piece(writing, &writing->markup->pieces[i]);
    size_t end = out->length;
    writing->markup->below(out, writing->markup, segment, false);
    size_t below = out->length;
    write_translation(&anew, segment, translation);
    if (out->failed)
        return;
    if (out->length - below == end - begin &&
        memcmp(out->bytes + below, out->bytes + begin, end - begin) == 0)
        out->bytes[out->length = end] = '\0';
    else
        writing->markup->below(out, writing->markup, segment, true);
}

/* Writes the pieces [first,end); *segment: the first segment that may be among them, then the first
 * after them. Returns true if there is a translation among them. */
static bool write_pieces(const struct writing *writing, size_t first, size_t end, size_t *segment,
                         bool *lossy) {
    const struct markup *markup = writing->markup;
    struct bytes_buffer *out = writing->out;
    size_t segments = markup->count - markup->values;
    bool translated = false;
    for (size_t i = first; i < end && !out->failed;) {
        const struct markup_segment *next =
            *segment < segments ? &markup->segments[*segment] : NULL;
        const struct markup_translation *translation =
            next ? &writing->translations[*segment] : NULL;
        if (next && next->first == i && translation->text &&
            !segment_is_blank(translation->text, translation->length)) {
            out->failed |= !budget_step(out->arena->budget, translation->length / BYTES_OF_STEP);
            (markup->below ? write_below : write_translation)(writing, next, translation);
            translated = true;
            *lossy |= translation->lossy;
            i = next->end;
        } else {
            write_piece(writing, &markup->pieces[i++]);
            if (!next || i < next->end)
                continue;
        }
        (*segment)++;
    }
    return translated;
}

bool markup_write_pieces(struct markup_writing *part, size_t first, size_t end) {
    struct arena scratch;
    const struct writing writing = {part->markup, part->translations, part->out, &scratch,
                                    false,        part->trace,        NULL};
    arena_init(&scratch, SCRATCH_BYTES);
    arena_limit(&scratch, part->out->arena->budget);
    part->lossy = false;
    bool translated = write_pieces(&writing, first, end, &part->segment, &part->lossy);
    arena_done(&scratch);
    return translated;
}

char *markup_write_places(const struct markup *markup,
                          const struct markup_translation *translations,
                          struct markup_place *const *places, struct arena *arena, size_t *length,
                          struct error *err) {
    /* The buffer is about as long as the document will be, so that it seldom grows, which leaves a
     * copy in the arena. */
    size_t bytes = 1, segment = 0;
    bool lossy = false;
    for (size_t i = 0; i < markup->piece_count; i++) {
        const struct piece *piece = &markup->pieces[i];
        bytes += piece->source && piece->shown_length == 0 ? piece->source_length : piece->length;
    }
    for (size_t i = 0; i < markup->count; i++) {
        size_t replaced = markup->below ? 0 : markup->segments[i].length,
               own = translations[i].length;
        bytes += own > replaced ? own - replaced : 0;
    }
    struct bytes_buffer out = {
        .arena = arena, .capacity = bytes, .bytes = arena_alloc(arena, bytes, 1)};
    struct arena scratch;
    const struct writing writing = {markup, translations, &out, &scratch, markup->below != NULL,
                                    NULL,   places};
    out.failed = !out.bytes;
    arena_init(&scratch, SCRATCH_BYTES);
    arena_limit(&scratch, arena->budget);
    bytes_put(&out, "", 0);
    write_pieces(&writing, 0, markup->piece_count, &segment, &lossy);
    arena_done(&scratch);
    return bytes_take(&out, length, err);
}

char *markup_write(const struct markup *markup, const struct markup_translation *translations,
                   struct arena *arena, size_t *length, struct error *err) {
    return markup_write_places(markup, translations, NULL, arena, length, err);
}
