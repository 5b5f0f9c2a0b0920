/* This module hides the form of segments: it cuts pieces into the texts to translate, in which at most one word represents a unit,
 * and writes pieces and translations as markup. */
#include "server/markup/piece.h"
#include <stdlib.h>

enum {
    STAND_IN_BYTES = 32, /* the content of a unit represents it if it is one word of at most this length */
    NOTE_BYTES = 12,     /* limit for the mark of a footnote */
    NOTE_PIECES = 8,
    PIECES_OF_STEP = 16,      /* pieces that count as one step of a budget */
    BYTES_OF_STEP = 16,       /* bytes of a translation that count as one step */
    SCRATCH_BYTES = 16 * 1024 /* usually enough to place the nodes of one segment */
};

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

bool bytes_among_any_case(struct html_bytes word, const char *list) {
    for (size_t length; *list; list += length, list += strspn(list, " ")) {
        length = strcspn(list, " ");
        if (length == word.length && strncasecmp(list, word.start, length) == 0)
            return true;
    }
    return false;
}

static struct html_bytes language_of(struct html_bytes code) {
    size_t length = 0;
    while (length < code.length && !strchr("-_@", code.start[length]))
        length++;
    return (struct html_bytes){code.start, length};
}

bool html_same_language(struct html_bytes a, struct html_bytes b) {
    return bytes_same_any_case(language_of(a), language_of(b));
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
    if (buffer->failed)
        return error_memory(err), NULL;
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

/* ---- segments ---- */

struct cutter {
    struct html *html;
    struct arena *arena;
    char *text; /* the unused rest of a buffer that is as long as all pieces */
    size_t capacity;
    bool failed;
};

/* The text of a segment while it is written. */
struct segment_text {
    char *text;
    size_t length;
    bool space; /* white space that follows is omitted, because the last character is a space */
};

static void put_text(struct segment_text *out, const char *raw, size_t length) {
    for (size_t at = 0; at < length; at++) {
        bool space = html_is_space(raw[at]);
        if (!space || !out->space)
            out->text[out->length++] = space ? ' ' : raw[at];
        out->space = space;
    }
}

bool html_has_letters(const char *text, size_t begin, size_t end) {
    while (begin < end) {
        int32_t character = character_next(text, end, &begin);
        if (!character_is_space(character) && !character_is_punctuation(character) && !(character >= '0' && character <= '9'))
            return true;
    }
    return false;
}

/* Writes the text of the pieces [first,end). Returns true if there is something to translate. */
static bool write_segment(struct html_piece *pieces, size_t first, size_t end, struct segment_text *out) {
    bool letters = false;
    out->space = pieces[first].kind == PIECE_TEXT; /* html_write leaves the white space at both ends as it is */
    for (size_t i = first, next; i < end; i = next) {
        struct html_piece *piece = &pieces[i];
        bool unit = piece->kind == PIECE_UNIT || piece->opaque;
        next = unit && piece->kind == PIECE_OPEN ? piece->pair + 1 : i + 1;
        piece->begin = (uint32_t)out->length;
        if (!unit) {
            if (piece->kind == PIECE_TEXT)
                put_text(out, piece->raw, piece->length);
            letters = letters || html_has_letters(out->text, piece->begin, out->length);
        } else if (!piece->blank || (out->length > 0 && !out->space)) {
            if (piece->shown_length > 0)
                put_text(out, piece->source, piece->shown_length);

            /* A name or a command is a word of the sentence. */
            const struct html_piece *inner = next == i + 3 && piece->stands_in ? &pieces[i + 1] : NULL;
            bool word = inner && inner->plain && inner->length <= STAND_IN_BYTES;
            for (size_t k = 0; word && k < inner->length; k++)
                word = !html_is_space(inner->raw[k]);
            if (word)
                put_text(out, inner->raw, inner->length);
            out->space = piece->blank; /* white space is kept on both sides of a unit */
        }
        piece->end = (uint32_t)out->length;
    }
    struct html_piece *last = &pieces[end - 1];
    if (last->end > last->begin && last->kind == PIECE_TEXT && out->text[out->length - 1] == ' ')
        last->end = (uint32_t)--out->length;
    return letters;
}

static void add_segment(struct cutter *cutter, size_t first, size_t end) {
    struct html *html = cutter->html;
    struct segment_text out = {.text = cutter->text};
    if (!budget_step(cutter->arena->budget, 1 + (end - first) / PIECES_OF_STEP))
        cutter->failed = true;
    if (cutter->failed || first == end || !write_segment(html->pieces, first, end, &out))
        return;
    struct html_segment *segments = arena_grow(cutter->arena, html->segments, html->count, &cutter->capacity, 1, sizeof *segments);
    if (!segments) {
        cutter->failed = true;
        return;
    }
    html->segments = segments;
    segments[html->count++] = (struct html_segment){out.text, out.length, first, end};
    cutter->text += out.length;
}

/* Cuts pieces between two breaks. An inline element with blocks inside ends segments, too. */
static void cut_run(struct cutter *cutter, size_t first, size_t end) {
    const struct html_piece *pieces = cutter->html->pieces;
    for (size_t i = first; i < end; i++) {
        bool tag = pieces[i].kind == PIECE_OPEN || pieces[i].kind == PIECE_CLOSE;
        if (tag && (pieces[i].pair < first || pieces[i].pair >= end)) {
            add_segment(cutter, first, i);
            first = i + 1;
        }
    }
    add_segment(cutter, first, end);
}

/* ---- footnotes ---- */

static bool is_name(const struct html_piece *piece, const char *name) {
    size_t length = strlen(name);
    return piece->kind == PIECE_OPEN && piece->length > length + 1 && memcmp(piece->raw + 1, name, length) == 0 &&
           (html_is_space(piece->raw[length + 1]) || piece->raw[length + 1] == '>');
}

/* Makes units of elements that hold the mark of a footnote and no words, which models would change: "[1]", "[a]", "(12)", "*", or
 * nothing but signs. Numbers in <sup> are such marks if they are links. Returns false if the budget is used up. */
static bool hide_notes(struct html_piece *pieces, size_t count, struct budget *budget) {
    for (size_t i = 0; i < count; i++) {
        if (i % PIECES_OF_STEP == 0 && !budget_step(budget, 1))
            return false;
        struct html_piece *piece = &pieces[i];
        char text[NOTE_BYTES];
        size_t length = 0, at = i + 1, end = piece->pair;
        if (piece->kind != PIECE_OPEN || piece->part || piece->opaque || end - i > NOTE_PIECES)
            continue;
        bool link = is_name(piece, "a"), raised = is_name(piece, "sup");
        for (; at < end; at++) {
            const struct html_piece *inner = &pieces[at];
            if (inner->kind == PIECE_TEXT && length + inner->length <= NOTE_BYTES) {
                memcpy(text + length, inner->raw, inner->length);
                length += inner->length;
            } else if ((inner->kind != PIECE_OPEN && inner->kind != PIECE_CLOSE) || inner->opaque) {
                break;
            }
            link |= is_name(inner, "a");
            raised |= is_name(inner, "sup");
        }
        if (at < end)
            continue;

        size_t digits = 0, letters = 0, marks = 0, spaces = 0;
        for (size_t byte = 0; byte < length;) {
            int32_t c = character_next(text, length, &byte);
            bool digit = c >= '0' && c <= '9', mark = character_is_punctuation(c);
            spaces += character_is_space(c);
            digits += digit;
            marks += mark;
            letters += !mark && !digit;
        }
        bool brackets = length > 2 && ((*text == '[' && text[length - 1] == ']') || (*text == '(' && text[length - 1] == ')'));
        bool number = (brackets && letters < 2 && marks == 2) || (link && raised && letters == 0 && marks == 0);
        if (spaces == 0 && (letters + digits == 0 ? marks > 0 : number)) {
            piece->opaque = true;
            i = end;
        }
    }
    return true;
}

/* ---- all segments ---- */

int html_cut(struct html *html, struct arena *arena, struct html *out, struct error *err) {
    size_t length = 0, first = 0, i = 0;
    for (size_t piece = 0; piece < html->piece_count; piece++)
        length += html->pieces[piece].length + html->pieces[piece].shown_length;
    struct cutter cutter = {.arena = arena, .html = html, .text = arena_alloc(arena, length + 1, 1)};
    if (!cutter.text || !hide_notes(html->pieces, html->piece_count, arena->budget))
        return error_memory(err);
    while (i < html->piece_count && !cutter.failed) {
        const struct html_piece *piece = &html->pieces[i];
        if (piece->kind == PIECE_BREAK || piece->kind == PIECE_RAW) {
            cut_run(&cutter, first, i);
            first = i + 1;
        }
        i = piece->kind == PIECE_OPEN && piece->opaque ? piece->pair + 1 : i + 1;
    }
    cut_run(&cutter, first, i);
    if (cutter.failed)
        return error_memory(err);
    *out = *html;
    return 0;
}

static int check_length(size_t length, struct error *err) {
    return length < HTML_MAX_BYTES ? 0 : error_set(err, ERROR_LENGTH, "the markup is too long");
}

int html_parse(const char *markup, size_t length, struct arena *arena, struct html *out, struct error *err) {
    struct html html = {0};
    if (check_length(length, err) != 0 || html_read(markup, length, arena, &html, err) != 0 ||
        html_cut(&html, arena, out, err) != 0)
        return -1;

    /* The values of attributes are segments after those of the pieces. */
    struct html_segment *segments = arena_alloc(arena, out->count + out->inset_count, sizeof *segments);
    if (!segments)
        return error_memory(err);
    if (out->count > 0)
        memcpy(segments, out->segments, out->count * sizeof *segments);
    out->segments = segments;
    for (size_t i = 0; i < out->inset_count; i++) {
        struct html_inset *inset = &out->insets[i];
        if (inset->language)
            continue;
        inset->segment = (uint32_t)out->count;
        segments[out->count++] = (struct html_segment){.text = inset->text, .length = inset->length};
        out->values++;
    }
    return 0;
}

int html_parse_xml(const char *markup, size_t length, const struct html_tags *tags, struct arena *arena, struct html *out,
                   struct error *err) {
    struct html html = {0};
    if (check_length(length, err) != 0 || html_read_xml(markup, length, tags, arena, &html, err) != 0)
        return -1;
    return html_cut(&html, arena, out, err);
}

/* ---- writing pieces ---- */

struct writing {
    const struct html *html;
    const struct html_translation *translations; /* [html->count] */
    struct html_buffer *out;
    struct arena *scratch; /* for one segment */
    bool as_it_was;        /* no value in a tag is rewritten */
};

static void write_piece(const struct writing *writing, const struct html_piece *piece) {
    const struct html *html = writing->html;
    struct html_buffer *out = writing->out;
    bool insets = !piece->source && piece->inset > 0 && !writing->as_it_was;
    uint32_t done = 0, own = (uint32_t)(piece - html->pieces);
    if (piece->source && piece->shown_length == 0) {
        html_put(out, piece->source, piece->source_length);
        return;
    }
    if (piece->plain && !insets) {
        html_put_escaped(out, piece->raw, piece->length, text_marks);
        return;
    }
    for (size_t i = piece->inset - 1; insets && i < html->inset_count && html->insets[i].piece == own; i++) {
        const struct html_inset *inset = &html->insets[i];
        const struct html_translation *translation = inset->language ? NULL : &writing->translations[inset->segment];
        const struct html_bytes stated = {inset->text, inset->length}, from = {html->from, html->from ? strlen(html->from) : 0};
        bool anew = translation ? translation->text != NULL
                                : html->language && (inset->root || (html->from && html_same_language(stated, from)));
        if (!anew)
            continue;
        html_put(out, piece->raw + done, inset->begin - done);
        if (translation)
            html_put_escaped(out, translation->text, translation->length, "&<>\"");
        else
            html_put_string(out, html->language);
        done = inset->end;
    }
    html_put(out, piece->raw + done, piece->length - done);
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
    const struct writing *writing;
    const struct html_translation *translation;
    const struct html_node *nodes; /* [count] */
    const struct order *orders;    /* [count] */
    size_t count;
    struct html_buffer *out;
    size_t at;         /* bytes of the translation that have been written */
    size_t after_unit; /* the end of the last unit in the output; 0: none */
};

static void write_to(struct scribe *scribe, size_t byte) {
    if (byte <= scribe->at)
        return;
    const struct html *html = scribe->writing->html;
    const char *text = scribe->translation->text + scribe->at;
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

/* Writes a unit in place of the words that represented it. White space moves to the side of the unit where it was in the source. */
static void write_unit(struct scribe *scribe, const struct html_node *node) {
    const struct html_translation *translation = scribe->translation;
    const struct html_piece *first = &scribe->writing->html->pieces[node->piece];
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
        write_piece(scribe->writing, &scribe->writing->html->pieces[i]);
    scribe->after_unit = scribe->out->length;
    if (scribe->at < node->past)
        scribe->at = node->past;
    if (point && node->space_after && !at_end && !html_is_space_at(translation->text, translation->length, scribe->at))
        html_put(scribe->out, " ", 1);
}

/* Writes the end of the element in the last frame, which its parent's frame precedes. */
static void write_end(struct scribe *scribe, const struct frame *frame) {
    const struct html *html = scribe->writing->html;
    const struct html_piece *piece = &html->pieces[scribe->nodes[frame->node].end_piece];
    if (!html->close) {
        write_piece(scribe->writing, piece);
        return;
    }
    const struct frame *around = frame - 1;
    const struct html_translation *translation = scribe->translation;
    struct html_end end = {.open = frame->open,
                           .inside = frame->inside,
                           .first = around->node > 0 && around->inside == frame->open,
                           .next = around->node > 0 ? '*' : 0,
                           .written = piece->source ? piece->source : piece->raw,
                           .replaced = piece->raw,
                           .written_length = piece->source ? piece->source_length : piece->length,
                           .replaced_length = piece->length};
    if (around->next < around->end && scribe->nodes[scribe->orders[around->next].node].begin == scribe->at) {
        end.next = '*';
    } else if (scribe->at < scribe->nodes[around->node].past && scribe->at < translation->length) {
        size_t at = scribe->at;
        end.next = character_next(translation->text, translation->length, &at);
    }
    html->close(scribe->out, &end);
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
    const struct html_piece *pieces = writing->html->pieces;
    struct html_buffer *out = writing->out;
    struct html_node *nodes;
    struct order *orders = NULL;
    size_t count = html_place(writing->html, segment, translation, writing->scratch, &nodes);
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
        .writing = writing, .translation = translation, .nodes = nodes, .orders = orders, .count = count, .out = out};
    struct frame stack[HTML_MAX_DEPTH + 1] = {{.node = 0, .next = 1, .end = first_child(&scribe, 1)}};
    write_edge(out, &pieces[segment->first], true);
    for (size_t depth = 1; depth > 0 && !out->failed;) {
        struct frame *frame = &stack[depth - 1];
        if (frame->next == frame->end) {
            write_to(&scribe, nodes[frame->node].past);
            if (frame->node > 0)
                write_end(&scribe, frame);
            depth--;
            continue;
        }
        size_t child = orders[frame->next++].node;
        const struct html_node *node = &nodes[child];
        if (node->unit) {
            write_unit(&scribe, node);
            continue;
        }
        if (pieces[node->piece].part) /* there is nothing between parts */
            scribe.at = node->begin;
        else
            write_to(&scribe, node->begin);
        size_t open = out->length;
        write_piece(writing, &pieces[node->piece]);
        stack[depth++] = (struct frame){child, first_child(&scribe, child), first_child(&scribe, child + 1), open, out->length};
    }
    if (segment->end - segment->first > 1 || pieces[segment->first].begin < pieces[segment->first].end)
        write_edge(out, &pieces[segment->end - 1], false);
    arena_reset(writing->scratch);
}

/* Writes the segment and, unless it is equal, the translation below it. */
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

char *html_write(const struct html *html, const struct html_translation *translations, struct arena *arena, size_t *length,
                 struct error *err) {
    /* The buffer is about as long as the document will be, so that it seldom grows, which leaves a copy in the arena. */
    size_t bytes = 1, segment = 0, segments = html->count - html->values;
    for (size_t i = 0; i < html->piece_count; i++) {
        const struct html_piece *piece = &html->pieces[i];
        bytes += piece->source && piece->shown_length == 0 ? piece->source_length : piece->length;
    }
    for (size_t i = 0; i < html->count; i++) {
        size_t replaced = html->below ? 0 : html->segments[i].length, own = translations[i].length;
        bytes += own > replaced ? own - replaced : 0;
    }
    struct html_buffer out = {.arena = arena, .capacity = bytes, .bytes = arena_alloc(arena, bytes, 1)};
    struct arena scratch;
    const struct writing writing = {html, translations, &out, &scratch, html->below != NULL};
    out.failed = !out.bytes;
    arena_init(&scratch, SCRATCH_BYTES);
    arena_limit(&scratch, arena->budget);
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
