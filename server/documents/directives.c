/* This module hides the directives for programs in texts, such as %s and {0}, which the flags of a
 * PO file or the rules of a format announce: how they become pieces, and whether a translation has
 * those of its source. */
#include "model/text/spans.h"
#include "server/documents/spans.h"
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBER_BYTES = 24, MOST_NAME = 24 };

/* ---- finding them ---- */

unsigned directive_all(struct bytes flag) {
    static const struct {
        const char *flags; /* separated by spaces */
        unsigned notations;
    } known[] = {
        {"c-format objc-format php-format perl-format java-printf-format ruby-format awk-format "
         "tcl-format gcc-internal-format",
         NOTATION_PERCENT | DIRECTIVE_NUMBERED},
        {"pascal-format object-pascal-format python-format javascript-format lua-format "
         "gfc-internal-format elisp-format "
         "librep-format",
         NOTATION_PERCENT},
        {"boost-format", NOTATION_QT | NOTATION_PERCENT},
        {"ycp-format qt-format qt-plural-format kde-format kde-kuit-format", NOTATION_QT},
        {"python-brace-format perl-brace-format java-format csharp-format c++-format rust-format",
         NOTATION_BRACES},
        {"sh-format", NOTATION_DOLLAR},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (bytes_among(flag, known[i].flags))
            return known[i].notations;
    return 0;
}

bool directive_next(struct directive_scan *scan, struct span *found) {
    const char *text = scan->text;

    /* Find the next placeholder of another kind. A run that looks like an address may hold
     * directives, which then count instead. */
    bool ahead = scan->has_other && scan->other.begin >= scan->at;
    while (!ahead && scan->other_at < scan->length) {
        struct opaque_run run;
        if (scan->other_at < scan->at)
            scan->other_at = scan->at;
        ahead = opaque_next(NOTATION_PLACEHOLDERS, text, scan->length, &scan->other_at, &run);
        if (!ahead)
            continue;
        scan->other = (struct span){run.begin, run.end};
        for (size_t i = run.begin; i < run.end && ahead; i++)
            ahead = opaque_at(scan->notations, text, scan->length, i) == i;
    }
    scan->has_other = ahead;

    size_t end = ahead ? scan->other.begin : scan->length;
    for (size_t i = scan->at; i < end; i++) {
        *found = (struct span){i, opaque_at(scan->notations, text, scan->length, i)};
        if (found->end == i)
            continue;
        scan->at = found->end;
        return true;
    }
    if (!ahead)
        return false;
    *found = scan->other;
    scan->at = scan->other.end;
    return true;
}

bool directive_next_joined(struct directive_scan *scan, struct span *found) {
    if (!directive_next(scan, found))
        return false;
    struct directive_scan ahead = *scan;
    for (struct span next; found->end < scan->length && scan->text[found->end] == ':' &&
                           directive_next(&ahead, &next) && next.begin == found->end + 1;) {
        found->end = next.end;
        *scan = ahead;
    }
    return true;
}

/* Returns a directive without the letters before it that are part of its run: v%s. */
static struct bytes without_letters(struct bytes directive) {
    while (directive.length > 1 && isalnum((unsigned char)*directive.start))
        directive = (struct bytes){directive.start + 1, directive.length - 1};
    return directive;
}

bool directive_takes_next(unsigned notations, struct bytes directive) {
    directive = without_letters(directive);
    const char *start = directive.start;
    size_t length = directive.length;
    if (*start == '{')
        return notations & NOTATION_BRACES && length > 1 &&
               (start[1] == '}' || start[1] == ':' || start[1] == '!');
    bool none = length == 2 && strchr("%mn", start[1]),
         named = length > 1 && strchr("({<", start[1]);
    bool of_type = length > 4 && memcmp(start + 1, "<PRI", 4) == 0;
    bool in_order = notations & NOTATION_PERCENT && !(notations & NOTATION_QT);
    return in_order && *start == '%' && length > 1 && !none && (!named || of_type) &&
           !memchr(start, '$', length);
}

/* The placeholders of a text. */
struct found {
    struct bytes *all; /* [count] sorted */
    size_t count, room;
    size_t next;     /* the number of those that take the next argument */
    bool numberable; /* these can get numbers: no width is an argument, and no other has a number */
};

static int compare_bytes(const void *a, const void *b) {
    const struct bytes *x = a, *y = b;
    int order = memcmp(x->start, y->start, x->length < y->length ? x->length : y->length);
    return order != 0 ? order : x->length < y->length ? -1 : x->length > y->length;
}

/* Finds all placeholders of a text. Returns -1 if memory runs out. */
static int find_all(struct bytes text, unsigned notations, struct arena *arena, struct found *out) {
    struct directive_scan scan = {
        .text = text.start, .length = text.length, .notations = notations};
    *out = (struct found){.numberable = notations & DIRECTIVE_NUMBERED};
    for (struct span span; directive_next(&scan, &span);) {
        struct bytes one = {text.start + span.begin, span.end - span.begin};
        struct bytes *all = arena_grow(arena, out->all, out->count, &out->room, 1, sizeof *all);
        if (!all)
            return -1;
        out->all = all;
        all[out->count++] = one;
        bool next = directive_takes_next(notations, one);
        out->next += next;
        out->numberable &=
            next ? *without_letters(one).start == '%' && !memchr(one.start, '*', one.length)
                 : !memchr(one.start, '$', one.length);
    }
    if (out->count > 0)
        qsort(out->all, out->count, sizeof *out->all, compare_bytes);
    return 0;
}

/* ---- texts with them ---- */

static size_t skip_directive(const struct marking *marking, const char *at, const char *end) {
    const struct directive_notation *own = marking->owner;
    return opaque_at(own->notations, at, (size_t)(end - at), 0);
}

/* Returns how a part of the text is written in the file. */
static struct bytes write_part(const struct marking *marking, struct bytes part,
                               struct arena *arena) {
    const struct directive_notation *own = marking->owner;
    struct bytes_buffer out = {.arena = arena};
    if (!own->escape)
        return part;
    bytes_put(&out, "", 0);
    own->escape(&out, part.start, part.length);
    return out.failed ? nothing : (struct bytes){out.bytes, out.length};
}

struct bytes directive_number(struct bytes reference) {
    static const char numbers[] = "{0}{1}{2}{3}{4}{5}{6}{7}{8}{9}";
    enum { NUMBER = 3 };
    bool digit = reference.length == 2 && isdigit((unsigned char)reference.start[1]);
    return (struct bytes){numbers + NUMBER * (digit ? reference.start[1] - '0' : 0), NUMBER};
}

/* Returns what represents a directive in its sentence: itself or, if it has blanks, its first name
 * in braces, and the number of $1, which looks like a price. */
static struct bytes shown_word(struct bytes word, struct arena *arena) {
    if (word.length == 2 && *word.start == '$')
        return directive_number(word);
    if (*word.start != '{' || !memchr(word.start, ' ', word.length))
        return word;
    size_t begin = 0, end;
    while (begin < word.length && !isalnum((unsigned char)word.start[begin]))
        begin++;
    for (end = begin; end < word.length && end - begin < MOST_NAME &&
                      (isalnum((unsigned char)word.start[end]) || word.start[end] == '_');)
        end++;
    char *name = arena_alloc(arena, end - begin + 2, 1);
    if (!name || end == begin)
        return (struct bytes){"{0}", 3};
    name[0] = '{';
    memcpy(name + 1, word.start + begin, end - begin);
    name[end - begin + 1] = '}';
    return (struct bytes){name, end - begin + 2};
}

static void add_words(const struct marking *marking, struct piece_builder *builder,
                      struct bytes text) {
    const struct directive_notation *own = marking->owner;
    struct directive_scan scan = {
        .text = text.start, .length = text.length, .notations = own->notations};
    size_t at = 0;
    for (struct span found; directive_next_joined(&scan, &found);) {
        struct bytes before = {text.start + at, found.begin - at},
                     word = {text.start + found.begin, found.end - found.begin};
        if (bytes_are(word, "{{") ||
            bytes_are(word, "}}")) /* they stay next to words, like punctuation */
            continue;
        if (before.length > 0)
            piece_add_text(builder, before, write_part(marking, before, builder->arena));
        struct bytes raw = write_part(marking, word, builder->arena),
                     shown = shown_word(word, builder->arena);
        if (raw.start == word.start && shown.start == word.start)
            piece_add_code(builder, nothing, word, nothing);
        else
            piece_add_word(builder, shown, raw);
        at = found.end;
    }
    struct bytes rest = bytes_between(text.start + at, text.start + text.length);
    if (rest.length > 0)
        piece_add_text(builder, rest, write_part(marking, rest, builder->arena));
}

void directives_add_lines(struct piece_builder *builder, struct bytes text,
                          const struct directive_notation *notation, text_lead *lead) {
    const struct marking marking = {.owner = notation,
                                    .written = notation->escape ? write_part : NULL,
                                    .add_text = add_words,
                                    .skip = skip_directive,
                                    .accelerators = true};
    if (lead)
        lines_add(builder, text, lead, &marking);
    else
        piece_add_marked(builder, text, &marking);
}

void directives_add(struct document_spans *spans, struct piece_builder *builder, struct bytes text,
                    unsigned notations, text_lead *lead) {
    const struct directive_notation notation = {notations, NULL};
    size_t first = builder->markup.piece_count;
    if (icu_message_is(text.start, text.length)) {
        spans_add_message(spans, builder, text, &(struct error){0});
        return;
    }
    directives_add_lines(builder, text, &notation, lead);
    spans_end_text(spans, builder, first);
}

/* ---- translations with them ---- */

/* Returns the bytes of a piece as they were written. */
static struct bytes piece_bytes(const struct markup *markup, size_t piece) {
    const struct piece *own = &markup->pieces[piece];
    bool elsewise = own->source && own->shown_length == 0;
    return elsewise ? (struct bytes){own->source, own->source_length}
                    : (struct bytes){own->raw, own->length};
}

/* Counts the directives of these bytes that take the next argument. If `out` is wanted, puts the
 * bytes with a number in each of them, counted from `first`. */
static size_t number_directives(struct bytes bytes, unsigned notations, size_t first,
                                struct bytes_buffer *out) {
    const char *done = bytes.start, *end = done + bytes.length;
    size_t count = 0, length;
    for (const char *at = done; at<end; at += length> 0 ? length : 1) {
        char number[NUMBER_BYTES];
        length = opaque_at(notations, at, (size_t)(end - at), 0);
        if (length == 0 || !directive_takes_next(notations, (struct bytes){at, length}))
            continue;
        count++;
        if (!out)
            continue;
        snprintf(number, sizeof number, "%zu$", first + count);
        const char *sign = without_letters((struct bytes){at, length}).start;
        bytes_put(out, done, (size_t)(sign + 1 - done));
        bytes_put_string(out, number);
        done = sign + 1;
    }
    if (out)
        bytes_put(out, done, (size_t)(end - done));
    return count;
}

/* True if both texts have the same percent signs that are none of these directives but that
 * programs read as one, since a space is a flag: "50% of it" has %o, "50 % de cela" %d. */
static bool same_strays(struct bytes source, struct bytes text, unsigned notations) {
    static const char flags[] = "-+ #0'I123456789*$.hlLqjztw";
    int counts[UCHAR_MAX + 1] = {0};
    for (size_t i = 0; i < 2; i++) {
        const char *at = i == 0 ? source.start : text.start,
                   *end = at + (i == 0 ? source.length : text.length);
        while (at < end && (at = memchr(at, '%', (size_t)(end - at)))) {
            size_t length = opaque_at(notations, at, (size_t)(end - at), 0);
            for (at += length > 0 ? length : 1; length == 0 && at < end && strchr(flags, *at);)
                at++;
            if (length == 0)
                counts[at < end ? (unsigned char)*at : 0] += i == 0 ? 1 : -1;
        }
    }
    for (size_t i = 0; i <= UCHAR_MAX; i++)
        if (counts[i] != 0)
            return false;
    return true;
}

void directives_settle(struct span_writer *writer, struct bytes source, unsigned notations,
                       const struct span_text *from, struct span_written *text) {
    struct arena *arena = writer->out.arena;
    if (from->plain)
        return;

    /* Number the directives that take the next argument by their order in the source. */
    size_t *before = arena_alloc(arena, from->end - from->first + 1, sizeof *before), marks = 0,
           count = 0, done = 0;
    struct bytes_buffer numbered = {.arena = arena};
    bool ordered = true;
    struct found there, here;
    if (!before || find_all(source, notations, arena, &there) != 0 ||
        find_all(text->text, notations, arena, &here) != 0) {
        writer->out.failed = true;
        return;
    }
    for (size_t i = from->first; i < from->end; i++) {
        before[i - from->first] = count;
        count += number_directives(piece_bytes(writer->markup, i), notations, 0, NULL);
    }
    for (size_t i = 0; i < text->trace.count; i++) {
        const struct markup_traced *traced = &text->trace.all[i];
        struct bytes bytes = piece_bytes(writer->markup, traced->piece);
        size_t first = before[traced->piece - from->first];
        bytes_put(&numbered, text->text.start + done, traced->at - done);
        done = traced->at + bytes.length;
        size_t own = number_directives(bytes, notations, first, &numbered);
        ordered &= own == 0 || first == marks;
        marks += own;
    }
    bytes_put(&numbered, text->text.start + done, text->text.length - done);
    bool same = there.count == here.count, complete = marks == there.next;
    for (size_t i = 0; same && i < here.count; i++)
        same = bytes_same(there.all[i], here.all[i]);
    text->sound &= same && complete && (ordered || there.numberable) &&
                   marks_same(source, text->text, !writer->markup->escape);
    if (notations & NOTATION_PERCENT && !(notations & NOTATION_QT))
        text->sound &= same_strays(source, text->text, notations);
    if (!ordered && complete && there.numberable)
        text->text = (struct bytes){numbered.bytes, numbered.length};
    writer->out.failed |= numbered.failed;
}
