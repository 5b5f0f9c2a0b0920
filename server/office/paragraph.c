/* This file turns the tokens of a paragraph into pieces, and the pieces with their translation into
 * the paragraph. */
#include "server/markup/piece.h"
#include "server/markup/segment.h"
#include "server/markup/xml.h"
#include "server/office/office.h"
#include <stdlib.h>

enum {
    MOST_PAIRS = 128,    /* open at once */
    NOTE_MARK_BYTES = 12 /* bytes of a footnote's mark */
};

/* ---- tokens and formats ---- */

struct inline_token *paragraph_add(struct paragraph *paragraph, enum inline_kind kind,
                                   const char *begin, const char *end, struct arena *arena) {
    struct inline_token *tokens = arena_grow(arena, paragraph->tokens, paragraph->count,
                                             &paragraph->room, 1, sizeof *paragraph->tokens);
    if (!tokens)
        return NULL;
    uint32_t own = (uint32_t)paragraph->count;
    paragraph->tokens = tokens;
    tokens[paragraph->count++] = (struct inline_token){.kind = (uint8_t)kind,
                                                       .begin = (uint32_t)(begin - paragraph->part),
                                                       .end = (uint32_t)(end - paragraph->part),
                                                       .pair = own,
                                                       .last = own,
                                                       .text = nothing,
                                                       .key = nothing};
    return &tokens[own];
}

int paragraph_format(struct paragraph *paragraph, const struct inline_format *format,
                     struct arena *arena, uint32_t *out) {
    enum { LOOKED_BACK = 64 }; /* formats; one from further back is noted again */
    for (size_t i = paragraph->format_count, looked = 0; i-- > 0 && looked < LOOKED_BACK; looked++)
        if (paragraph->formats[i].bare == format->bare &&
            bytes_same(paragraph->formats[i].raw, format->raw)) {
            *out = (uint32_t)i;
            return 0;
        }
    struct inline_format *formats = arena_grow(arena, paragraph->formats, paragraph->format_count,
                                               &paragraph->format_room, 1, sizeof *formats);
    if (!formats)
        return -1;
    paragraph->formats = formats;
    *out = (uint32_t)paragraph->format_count;
    formats[paragraph->format_count++] = *format;
    return 0;
}

/* ---- pairs ---- */

bool paragraph_has_words(const struct paragraph *paragraph) {
    for (size_t i = 0; i < paragraph->count; i++)
        if (paragraph->tokens[i].kind == INLINE_TEXT &&
            segment_has_letters(paragraph->tokens[i].text.start, 0,
                                paragraph->tokens[i].text.length))
            return true;
    return false;
}

static bool is_blank(struct bytes text) {
    for (size_t at = 0; at < text.length;)
        if (!character_is_space(character_next(text.start, text.length, &at)))
            return false;
    return true;
}

/* Makes one unit of the tokens [first,last]. */
static void group(struct paragraph *paragraph, size_t first, size_t last, enum inline_kind kind) {
    struct inline_token *tokens = paragraph->tokens;
    for (size_t i = first + 1; i <= last; i++)
        tokens[i].grouped = true;
    tokens[first].kind = (uint8_t)kind;
    tokens[first].last = (uint32_t)last;
}

bool paragraph_is_data(struct bytes code) {
    static const char names[] =
        "MERGEFIELD DOCPROPERTY DOCVARIABLE AUTHOR LASTSAVEDBY USERNAME FILENAME";
    const char *end = code.start + code.length, *begin = code.start;
    while (begin < end && byte_is_space(*begin))
        begin++;
    const char *after = begin;
    while (after < end && !byte_is_space(*after))
        after++;
    return bytes_among_any_case(bytes_between(begin, after), names);
}

/* Makes a word of the field [begin,end] if its code, before the separator, says that its result is
 * data. The sentence has the result without the marks around it. */
static bool group_data(struct paragraph *paragraph, size_t begin, size_t separator, size_t end) {
    static const char instruction[] = "instrText";
    struct inline_token *tokens = paragraph->tokens;
    const char *stop = paragraph->part + tokens[separator].begin,
               *code = paragraph->part + tokens[begin].end;
    code = memmem(code, (size_t)(stop - code), instruction, strlen(instruction));
    code = code ? memchr(code, '>', (size_t)(stop - code)) : NULL;
    const char *after = code ? memchr(code, '<', (size_t)(stop - code)) : NULL;
    if (!after || !paragraph_is_data(bytes_between(code + 1, after)))
        return false;
    struct bytes shown = nothing;
    for (size_t i = separator; i < end && shown.length == 0; i++)
        shown = tokens[i].kind == INLINE_TEXT ? tokens[i].text : shown;
    size_t last = shown.length, first = 0, at = 0;
    while (at < last && !segment_has_letters(shown.start, first, at)) {
        first = at;
        character_next(shown.start, last, &at);
    }
    while (last > first && !segment_has_letters(shown.start, last, shown.length)) {
        shown.length = last;
        character_previous(shown.start, &last);
    }
    group(paragraph, begin, end, shown.length > first ? INLINE_WORD : INLINE_UNIT);
    tokens[begin].text = (struct bytes){shown.start + first, shown.length - first};
    return true;
}

/* An element, a range or a field that is open; separator: of a field; 0: it has not been read yet.
 */
struct open {
    size_t token, separator;
};

/* Elements nest. Fields and ranges become elements if they nest; otherwise, a begin or an end of a
 * field stays where it is between the sentences, because others depend on their order, and those of
 * ranges are units. A field's code, which is not translated, stands before its separator, and its
 * result, which is, after that. */
static void find_pairs(struct paragraph *paragraph) {
    struct inline_token *tokens = paragraph->tokens;
    struct open open[MOST_PAIRS];
    size_t depth = 0;
    for (size_t i = 0; i < paragraph->count; i++) {
        const struct inline_token *token = &tokens[i];
        bool field = token->role == ROLE_FIELD, begins = field && bytes_are(token->key, "begin"),
             ends = false;
        size_t top = depth;
        if (token->kind ==
            INLINE_CLOSE) { /* ends the innermost element and everything open within it */
            while (top > 0 && tokens[open[top - 1].token].kind != INLINE_OPEN)
                top--;
            ends = top > 0;
        } else if (field && !begins) {
            while (top > 0 && tokens[open[top - 1].token].role == ROLE_RANGE_START)
                top--;
            ends = top > 0 && tokens[open[top - 1].token].role == ROLE_FIELD;
        } else if (token->role == ROLE_RANGE_END) {
            const struct inline_token *start = top > 0 ? &tokens[open[top - 1].token] : NULL;
            ends = start && start->role == ROLE_RANGE_START && bytes_same(start->key, token->key);
        } else if ((begins || token->kind == INLINE_OPEN || token->role == ROLE_RANGE_START) &&
                   depth < MOST_PAIRS) {
            open[depth++] = (struct open){i, 0};
        }
        if (!ends)
            continue;
        struct open *last = &open[top - 1];
        if (field && bytes_are(token->key, "separate")) {
            last->separator = i;
            depth = top; /* a range that began in the code has no end in it */
            continue;
        }
        depth = top - 1;
        if (field && last->separator == 0) {
            group(paragraph, last->token, i, INLINE_UNIT);
            continue;
        }
        if (field && group_data(paragraph, last->token, last->separator, i))
            continue;
        if (field)
            group(paragraph, last->token, last->separator, INLINE_OPEN);
        tokens[last->token].kind = INLINE_OPEN;
        tokens[last->token].pair = (uint32_t)i;
        tokens[i].kind = INLINE_CLOSE;
        tokens[i].pair = (uint32_t)last->token;
    }
    for (size_t i = 0; i < paragraph->count; i++) {
        struct inline_token *token = &tokens[i];
        bool alone = token->pair == i,
             tag = token->kind == INLINE_OPEN || token->kind == INLINE_CLOSE;
        if (alone && !token->grouped && (tag || (token->role == ROLE_FIELD && token->last == i)))
            token->kind = INLINE_BREAK;
    }
}

void paragraph_settle(struct paragraph *paragraph) {
    enum { FAIR_SHARE = 8 };
    struct inline_token *tokens = paragraph->tokens;
    size_t first = 0, last = paragraph->count, all = 0;
    find_pairs(paragraph);

    /* Elements without text are units, and so are links to notes, which have a number and no words.
     */
    for (size_t i = 0; i < paragraph->count; i++) {
        size_t length = 0, pair = tokens[i].pair;
        bool letters = false;
        if (tokens[i].kind != INLINE_OPEN || tokens[i].grouped)
            continue;
        for (size_t k = i + 1; k < pair && length <= NOTE_MARK_BYTES; k++) {
            if (tokens[k].grouped ||
                (tokens[k].kind != INLINE_TEXT && tokens[k].kind != INLINE_WORD))
                continue;
            length += is_blank(tokens[k].text) ? 0 : tokens[k].text.length;
            letters |= segment_has_letters(tokens[k].text.start, 0, tokens[k].text.length);
        }
        bool mark = paragraph->grammar->markup &&
                    (bytes_are(tokens[i].key, "a") || bytes_are(tokens[i].key, "sup"));
        if (length == 0 || (mark && !letters && length <= NOTE_MARK_BYTES))
            group(paragraph, i, pair, INLINE_UNIT);
        if (tokens[i].kind == INLINE_UNIT)
            i = pair;
    }

    /* The base is the plainest format, by the length of its notation, of those that a fair share of
     * the text has: text whose place is unknown, such as a full stop, then looks plain. */
    for (size_t i = 0; i < paragraph->count && paragraph->format_count > 0; i++) {
        size_t length = tokens[i].kind == INLINE_TEXT ? tokens[i].text.length : 0;
        paragraph->formats[tokens[i].format].length += length;
        all += length;
    }
    const struct inline_format *best = NULL;
    for (size_t i = 0; i < paragraph->format_count; i++) {
        const struct inline_format *format = &paragraph->formats[i];
        if (FAIR_SHARE * format->length < all)
            continue;
        if (!best || format->raw.length < best->raw.length ||
            (format->raw.length == best->raw.length && format->length > best->length)) {
            best = format;
            paragraph->base = (uint32_t)i;
        }
    }

    /* Units before or after all texts stay there. */
    while (first < last && (tokens[first].grouped || tokens[first].kind != INLINE_TEXT ||
                            is_blank(tokens[first].text)))
        first++;
    while (last > first && (tokens[last - 1].grouped || tokens[last - 1].kind != INLINE_TEXT ||
                            is_blank(tokens[last - 1].text)))
        last--;
    for (size_t i = 0; i < paragraph->count; i++)
        if ((i < first || i >= last) && tokens[i].kind == INLINE_UNIT)
            tokens[i].kind = INLINE_BREAK;
}

/* ---- reading ---- */

/* A paragraph whose pieces are added. */
struct reading {
    struct paragraph *paragraph;
    struct piece_builder *builder;
    size_t room, noted;
    const struct inline_token *open; /* the first text of the format that is open; NULL: the base */
};

/* Notes what the pieces stand for that were added since the last note: the first of them, which is
 * written with the others. */
static void note(struct reading *reading, enum inline_note kind, size_t token) {
    struct paragraph *paragraph = reading->paragraph;
    struct piece_builder *builder = reading->builder;
    size_t count = builder->markup.piece_count - paragraph->first_piece, room = reading->room;
    while (reading->noted < count) {
        uint8_t *notes =
            arena_grow(builder->arena, paragraph->notes, reading->noted, &room, 1, sizeof *notes);
        uint32_t *noted = arena_grow(builder->arena, paragraph->noted, reading->noted,
                                     &reading->room, 1, sizeof *noted);
        if (!notes || !noted) {
            builder->failed = ERROR_MEMORY;
            return;
        }
        paragraph->notes = notes;
        paragraph->noted = noted;
        notes[reading->noted] = (uint8_t)kind;
        noted[reading->noted++] = (uint32_t)token;
        kind = NOTE_TEXT;
    }
}

/* Ends the element of a format that is open, if there is one. */
static void end_format(struct reading *reading) {
    if (reading->open && piece_add_close(reading->builder, nothing))
        note(reading, NOTE_BACK, 0);
    reading->open = NULL;
}

/* Copies text to the builder's arena, because the part is not kept. */
static struct bytes keep(struct bytes text, struct piece_builder *builder) {
    const char *copy = text.length > 0 ? arena_copy(builder->arena, text.start, text.length) : NULL;
    if (text.length > 0 && !copy)
        builder->failed = ERROR_MEMORY;
    return copy ? (struct bytes){copy, text.length} : nothing;
}

/* Texts of one format other than the base are an element; it ends before a text of another format,
 * a break or a tag, but may hold blanks and units. */
static void read_text(struct reading *reading, size_t i) {
    const struct paragraph *paragraph = reading->paragraph;
    const struct inline_token *token = &paragraph->tokens[i];
    bool base = token->format == paragraph->base || paragraph->format_count < 2,
         blank = is_blank(token->text);
    if (!blank && reading->open && (base || reading->open->format != token->format))
        end_format(reading);
    if (!blank && !base && !reading->open && piece_add_open(reading->builder, nothing)) {
        note(reading, NOTE_FORMAT, i);
        reading->open = token;
    }
    struct bytes text = keep(token->text, reading->builder);
    piece_add_text(reading->builder, text, text);
    note(reading, NOTE_TEXT, 0);
}

static void read_token(struct reading *reading, size_t i) {
    const struct inline_token *token = &reading->paragraph->tokens[i];
    struct piece_builder *builder = reading->builder;
    if (token->kind != INLINE_UNIT && token->kind != INLINE_WORD)
        end_format(reading);
    if (token->kind == INLINE_UNIT && token->role == ROLE_SPACE)
        piece_add_space(builder, nothing);
    else if (token->kind == INLINE_UNIT)
        piece_add_unit(builder, nothing);
    else if (token->kind == INLINE_WORD)
        piece_add_word(builder, keep(token->text, builder), nothing);
    else if (token->kind == INLINE_BREAK)
        piece_add_break(builder, nothing);
    else if (token->kind == INLINE_CLOSE)
        piece_add_close(builder, nothing);
    else if (token->role == ROLE_FIELD ||
             (token->role == ROLE_NONE && bytes_among(token->key, "a fldSimple hyperlink")))
        piece_add_link(builder, nothing);
    else
        piece_add_open(builder, nothing);
    note(reading, NOTE_TOKEN, i);
}

/* Returns a copy with all that is needed to write the paragraph when its part and its tokens are no
 * longer in memory: texts are pieces by now, except those in groups. */
static const struct paragraph *keep_paragraph(const struct paragraph *paragraph,
                                              struct piece_builder *builder) {
    struct arena *arena = builder->arena;
    struct paragraph *kept = arena_alloc(arena, 1, sizeof *kept);
    struct inline_token *tokens = arena_alloc(arena, paragraph->count, sizeof *tokens);
    struct inline_format *formats = arena_alloc(arena, paragraph->format_count, sizeof *formats);
    if (arena_failed(arena)) {
        builder->failed = ERROR_MEMORY;
        return NULL;
    }
    for (size_t i = 0; i < paragraph->count; i++) {
        tokens[i] = paragraph->tokens[i];
        tokens[i].text = tokens[i].grouped && tokens[i].kind == INLINE_TEXT
                             ? keep(tokens[i].text, builder)
                             : nothing;
        tokens[i].key = nothing;
    }
    for (size_t i = 0; i < paragraph->format_count; i++) {
        formats[i] = paragraph->formats[i];
        formats[i].raw = keep(formats[i].raw, builder);
    }
    *kept = *paragraph;
    kept->outer = NULL;
    kept->part = NULL;
    kept->tokens = tokens;
    kept->formats = formats;
    kept->name = keep(paragraph->name, builder);
    kept->run = keep(paragraph->run, builder);
    kept->text = keep(paragraph->text, builder);
    return builder->failed == ERROR_NONE ? kept : NULL;
}

const struct paragraph *paragraph_read(struct paragraph *paragraph, struct piece_builder *builder) {
    struct reading reading = {.paragraph = paragraph, .builder = builder};
    paragraph->first_piece = builder->markup.piece_count;
    paragraph->notes = NULL;
    paragraph->noted = NULL;
    for (size_t i = 0; i < paragraph->count && builder->failed == ERROR_NONE; i++) {
        if (paragraph->tokens[i].grouped)
            continue;
        if (paragraph->tokens[i].kind == INLINE_TEXT)
            read_text(&reading, i);
        else
            read_token(&reading, i);
    }
    end_format(&reading);
    paragraph->end_piece = builder->markup.piece_count;
    piece_add_break(builder, nothing); /* no sentence runs from one paragraph to the next */
    return builder->failed == ERROR_NONE ? keep_paragraph(paragraph, builder) : NULL;
}

/* ---- writing ---- */

struct writing {
    const struct paragraph *paragraph;
    const struct paragraph_writer *to;
    uint32_t stack[MARKUP_MAX_DEPTH]; /* [depth] formats */
    size_t depth;
    bool run_open, text_open;
    bool cell;       /* a copy in a cell of a sheet, whose texts are all in runs */
    uint32_t format; /* number of the open run's format */
};

static void put_tag(const struct writing *writing, const char *mark, struct bytes name,
                    const char *end) {
    bytes_put_string(writing->to->out, mark);
    bytes_put(writing->to->out, name.start, name.length);
    bytes_put_string(writing->to->out, end);
}

static struct bytes prefix_of(const struct paragraph *paragraph) {
    const char *colon = memchr(paragraph->name.start, ':', paragraph->name.length);
    return colon ? bytes_between(paragraph->name.start, colon + 1) : nothing;
}

bool paragraph_is_cell(const struct paragraph *paragraph) {
    size_t prefix = prefix_of(paragraph).length;
    struct bytes name = {paragraph->name.start + prefix, paragraph->name.length - prefix};
    return paragraph->grammar->line_break && bytes_among(name, "si is text");
}

const char *paragraph_drawing_end(const struct paragraph *paragraph, const char *begin,
                                  const char *end) {
    char name[64] = "<";
    struct bytes prefix = prefix_of(paragraph);
    size_t length = prefix.length < sizeof name / 2 ? prefix.length : 0;
    memcpy(name + 1, prefix.start, length);
    memcpy(name + 1 + length, "endParaRPr", sizeof "endParaRPr");
    const char *found = memmem(begin, (size_t)(end - begin), name, strlen(name));
    return found ? found : end;
}

void paragraph_put_cell_run(const struct paragraph *paragraph, const char *mark,
                            struct bytes_buffer *out) {
    struct bytes prefix = prefix_of(paragraph);
    bytes_put_string(out, mark);
    bytes_put(out, prefix.start, prefix.length);
    bytes_put_string(out, "r>");
}

static void close_text(struct writing *writing) {
    if (writing->text_open)
        put_tag(writing, "</", writing->paragraph->text, ">");
    writing->text_open = false;
}

/* Puts a tag of a run that has no name in the paragraph, which lacks runs. */
static void put_run(const struct writing *writing, const char *mark) {
    const struct paragraph *paragraph = writing->paragraph;
    bool other = paragraph->formats[writing->format].bare;
    if (!other)
        put_tag(writing, mark, paragraph->run, ">");
    else if (writing->cell)
        paragraph_put_cell_run(paragraph, mark, writing->to->out);
}

static void close_run(struct writing *writing) {
    close_text(writing);
    if (writing->run_open)
        put_run(writing, "</");
    writing->run_open = false;
}

static void open_run(struct writing *writing, uint32_t format) {
    const struct inline_format *own = &writing->paragraph->formats[format];
    if (writing->run_open && writing->format == format)
        return;
    close_run(writing);
    writing->run_open = true;
    writing->format = format;
    put_run(writing, "<");
    if (!own->bare)
        bytes_put(writing->to->out, own->raw.start, own->raw.length);
}

static void open_text(struct writing *writing, uint32_t format) {
    const struct paragraph *paragraph = writing->paragraph;
    if (paragraph->format_count == 0)
        return;
    open_run(writing, format);
    if (!writing->text_open)
        put_tag(writing, "<", paragraph->text,
                paragraph->spaced ? " xml:space=\"preserve\">" : ">");
    writing->text_open = true;
}

static void write_text(struct writing *writing, uint32_t format, const char *text, size_t length) {
    if (length == 0)
        return;
    open_text(writing, format);
    bytes_put_escaped(writing->to->out, text, length, writing->paragraph->value ? "&<>\"" : "&<>");
}

/* Puts a token. without_ids: ids in it, which may occur only once in a document, are left out. */
static void put_token(const struct writing *writing, const struct inline_token *token,
                      bool without_ids) {
    const struct paragraph_writer *to = writing->to;
    const char *begin = to->part + token->begin, *end = to->part + token->end, *done = begin;
    for (const char *at = begin;
         without_ids && at < end && (at = memchr(at, '<', (size_t)(end - at)));) {
        const char *close = memchr(at, '>', (size_t)(end - at)), *name = at + 1;
        while (close && name < close && !byte_is_space(*name) && *name != '/')
            name++;
        const struct xml_token tag = {.kind = XML_START,
                                      .begin = at,
                                      .end = close ? close + 1 : end,
                                      .name = bytes_between(at + 1, name)};
        struct xml_attribute attribute;
        for (const char *next = NULL; close && at[1] != '/' && at[1] != '!' && at[1] != '?' &&
                                      xml_next_attribute(&tag, &next, &attribute);) {
            if (!bytes_among(attribute.name, "id xml:id name"))
                continue;
            to->put_range(to->owner, done, attribute.begin, to->out);
            done = attribute.end;
        }
        at = tag.end;
    }
    to->put_range(to->owner, done, end, to->out);
}

/* True for the tags of an element that would not be valid in a copy, which has no readings. */
static bool is_ruby(const struct writing *writing, const struct inline_token *token) {
    const char *begin = writing->to->part + token->begin, *end = writing->to->part + token->end;
    return token->end > token->begin &&
           (bytes_begin(begin, end, "<ruby") || bytes_begin(begin, end, "</ruby"));
}

/* Writes a token and its group as they were. copy: leaves out units other than spaces, ranges,
 * breaks of pages, and of fields all but their text. */
static void write_token(struct writing *writing, size_t i, bool copy) {
    const struct paragraph *paragraph = writing->paragraph;
    const struct inline_token *tokens = paragraph->tokens;
    enum role role = tokens[tokens[i].kind == INLINE_CLOSE ? tokens[i].pair : i].role;
    bool layout = role == ROLE_BREAK || role == ROLE_SPACE,
         alone = tokens[i].kind == INLINE_UNIT || tokens[i].kind == INLINE_BREAK;
    bool data = tokens[i].kind == INLINE_WORD && role == ROLE_FIELD;
    if (copy && !data && (alone ? !layout : role != ROLE_NONE || is_ruby(writing, &tokens[i])))
        return;
    for (size_t member = i; member <= tokens[i].last; member++) {
        const struct inline_token *token = &tokens[member];
        if (token->kind == INLINE_TEXT) {
            if (writing->depth < MARKUP_MAX_DEPTH)
                write_text(writing, token->format, token->text.start, token->text.length);
            continue;
        }
        if (copy && data)
            continue;
        if (token->in_text) {
            open_text(writing, token->format);
        } else {
            if (!token->in_run || token->role == ROLE_ALONE)
                close_run(writing);
            if (token->in_run)
                open_run(writing, token->format);
            close_text(writing);
        }
        put_token(writing, token, copy && paragraph->grammar->markup);
        if (token->role == ROLE_ALONE)
            close_run(writing);
    }
}

void paragraph_write(const struct paragraph *paragraph, const struct paragraph_written *written,
                     bool copy, const struct paragraph_writer *to) {
    struct writing writing = {.paragraph = paragraph, .to = to};
    size_t done = 0;
    if (copy) { /* a copy stands on a separate line */
        writing.cell = paragraph_is_cell(paragraph);
        if (paragraph->format_count > 0 && !paragraph->drawing)
            open_run(&writing, paragraph->base);
        if (writing.cell) {
            write_text(&writing, paragraph->base, " / ", 3);
        } else if (paragraph->grammar->line_break) {
            put_tag(&writing, "<", prefix_of(paragraph), paragraph->grammar->line_break);
            bytes_put_string(to->out, "/>");
        }
        close_run(&writing);
    }
    for (size_t i = 0; i <= written->trace->count && !to->out->failed; i++) {
        const struct markup_traced *traced =
            i < written->trace->count ? &written->trace->all[i] : NULL;
        size_t stop = traced ? traced->at : written->text.length;
        write_text(&writing, writing.depth > 0 ? writing.stack[writing.depth - 1] : paragraph->base,
                   written->text.start + done, stop - done);
        done = stop;
        if (!traced)
            break;
        size_t token = paragraph->noted[traced->piece - paragraph->first_piece];
        enum inline_note kind = paragraph->notes[traced->piece - paragraph->first_piece];
        if (kind == NOTE_BACK && writing.depth > 0)
            writing.depth--;
        else if (kind == NOTE_TOKEN)
            write_token(&writing, token, copy);
        else if (kind == NOTE_FORMAT && writing.depth < MARKUP_MAX_DEPTH)
            writing.stack[writing.depth++] = paragraph->tokens[token].format;
    }
    close_run(&writing);
}
