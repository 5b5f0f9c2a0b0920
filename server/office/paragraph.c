/* Turns the tokens of a paragraph into pieces of a message, and the message with its translation into the paragraph. */
#include "server/markup/piece.h"
#include "server/office/office.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    NOTE_BYTES = 16,     /* a reference to a token */
    WORD_BYTES = 32,     /* of a unit that is a word of its sentence */
    MOST_PAIRS = 128,    /* open at once */
    NOTE_MARK_BYTES = 12 /* of the mark of a footnote */
};

/* ---- tokens and formats ---- */

struct inline_token *paragraph_add(struct paragraph *paragraph, enum inline_kind kind, const char *begin, const char *end,
                                   struct arena *arena) {
    struct inline_token *tokens =
        arena_grow(arena, paragraph->tokens, paragraph->count, &paragraph->room, 1, sizeof *paragraph->tokens);
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
                                                       .name = nothing,
                                                       .key = nothing};
    return &tokens[own];
}

int paragraph_format(struct paragraph *paragraph, const struct inline_format *format, struct arena *arena, uint32_t *out) {
    enum { LOOKED_BACK = 64 }; /* formats; one from further back is noted again */
    for (size_t i = paragraph->format_count, looked = 0; i-- > 0 && looked < LOOKED_BACK; looked++)
        if (paragraph->formats[i].bare == format->bare && bytes_same(paragraph->formats[i].raw, format->raw)) {
            *out = (uint32_t)i;
            return 0;
        }
    struct inline_format *formats =
        arena_grow(arena, paragraph->formats, paragraph->format_count, &paragraph->format_room, 1, sizeof *formats);
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
            html_has_letters(paragraph->tokens[i].text.start, 0, paragraph->tokens[i].text.length))
            return true;
    return false;
}

static bool is_blank(struct html_bytes text) {
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

static void join(struct paragraph *paragraph, size_t open, size_t close) {
    struct inline_token *tokens = paragraph->tokens;
    tokens[open].kind = INLINE_OPEN;
    tokens[close].kind = INLINE_CLOSE;
    tokens[open].pair = (uint32_t)close;
    tokens[close].pair = (uint32_t)open;
}

/* An element, a range or a field that is open; separator: of a field, 0: it was not read yet. */
struct open {
    size_t token, separator;
};

static bool is_open_field(const struct paragraph *paragraph, const struct open *open) {
    return paragraph->tokens[open->token].role == ROLE_FIELD;
}

/* A field's code, which is not translated, stands before its separator, and its result, which is, after that. */
static size_t end_field(struct paragraph *paragraph, struct open *open, size_t depth, size_t at) {
    size_t top = depth;
    while (top > 0 && paragraph->tokens[open[top - 1].token].role == ROLE_RANGE_START)
        top--;
    if (top == 0 || !is_open_field(paragraph, &open[top - 1]))
        return depth;
    struct open *field = &open[top - 1];
    if (field->separator > 0) {
        group(paragraph, field->token, field->separator, INLINE_OPEN);
        join(paragraph, field->token, at);
    } else {
        group(paragraph, field->token, at, INLINE_UNIT);
    }
    return top - 1;
}

static size_t end_range(struct paragraph *paragraph, const struct open *open, size_t depth, size_t at) {
    struct inline_token *tokens = paragraph->tokens;
    if (depth == 0 || tokens[open[depth - 1].token].role != ROLE_RANGE_START ||
        !bytes_same(tokens[open[depth - 1].token].key, tokens[at].key))
        return depth;
    join(paragraph, open[depth - 1].token, at);
    return depth - 1;
}

/* Ends the innermost element, and with it what is open within. */
static size_t end_element(struct paragraph *paragraph, const struct open *open, size_t depth, size_t at) {
    size_t top = depth;
    while (top > 0 && paragraph->tokens[open[top - 1].token].kind != INLINE_OPEN)
        top--;
    if (top == 0)
        return depth;
    join(paragraph, open[top - 1].token, at);
    return top - 1;
}

/* Elements nest. Fields and ranges become elements if they do; otherwise, a begin or an end of a field stays where it is between
 * the sentences, because others depend on their order, and those of ranges are units. */
static void find_pairs(struct paragraph *paragraph) {
    struct open open[MOST_PAIRS];
    size_t depth = 0;
    for (size_t i = 0; i < paragraph->count; i++) {
        struct inline_token *token = &paragraph->tokens[i];
        bool field = token->role == ROLE_FIELD, begins = field && bytes_are(token->key, "begin");
        if (token->kind == INLINE_CLOSE) {
            depth = end_element(paragraph, open, depth, i);
        } else if (field && bytes_are(token->key, "separate")) {
            size_t top = depth;
            while (top > 0 && paragraph->tokens[open[top - 1].token].role == ROLE_RANGE_START)
                top--;
            if (top > 0 && is_open_field(paragraph, &open[top - 1])) {
                open[top - 1].separator = i;
                depth = top; /* a range that began in the code has no end in it */
            }
        } else if (field && !begins) {
            depth = end_field(paragraph, open, depth, i);
        } else if (token->role == ROLE_RANGE_END) {
            depth = end_range(paragraph, open, depth, i);
        } else if (begins || token->kind == INLINE_OPEN || token->role == ROLE_RANGE_START) {
            if (depth < MOST_PAIRS)
                open[depth++] = (struct open){i, 0};
        }
    }
    for (size_t i = 0; i < paragraph->count; i++) {
        struct inline_token *token = &paragraph->tokens[i];
        bool alone = token->pair == i, tag = token->kind == INLINE_OPEN || token->kind == INLINE_CLOSE;
        if (alone && !token->grouped && (tag || (token->role == ROLE_FIELD && token->last == i)))
            token->kind = INLINE_BREAK;
    }
}

/* The text in an element; more than NOTE_MARK_BYTES: it is longer than the mark of a note. */
static size_t length_within(const struct paragraph *paragraph, size_t open, bool *letters) {
    size_t length = 0;
    *letters = false;
    for (size_t i = open + 1; i < paragraph->tokens[open].pair && length <= NOTE_MARK_BYTES; i++) {
        const struct inline_token *token = &paragraph->tokens[i];
        if (token->grouped || (token->kind != INLINE_TEXT && token->kind != INLINE_WORD))
            continue;
        length += is_blank(token->text) ? 0 : token->text.length;
        *letters |= html_has_letters(token->text.start, 0, token->text.length);
    }
    return length;
}

/* Elements without text are units, and so are links to notes, which have a number and no words. */
static void find_empty(struct paragraph *paragraph) {
    for (size_t i = 0; i < paragraph->count; i++) {
        const struct inline_token *token = &paragraph->tokens[i];
        bool letters;
        if (token->kind != INLINE_OPEN || token->grouped)
            continue;
        size_t length = length_within(paragraph, i, &letters), pair = token->pair;
        bool mark = paragraph->grammar->html && (bytes_are(token->name, "a") || bytes_are(token->name, "sup"));
        if (length == 0 || (mark && !letters && length <= NOTE_MARK_BYTES))
            group(paragraph, i, pair, INLINE_UNIT);
        if (paragraph->tokens[i].kind == INLINE_UNIT)
            i = pair;
    }
}

/* The base is the plainest format, by the length of its notation, of those that a fair share of the text has: whatever gets no
 * place of its own, such as a full stop, then looks plain. */
static void find_base(struct paragraph *paragraph) {
    enum { FAIR_SHARE = 8 };
    size_t all = 0;
    for (size_t i = 0; i < paragraph->count && paragraph->format_count > 0; i++) {
        const struct inline_token *token = &paragraph->tokens[i];
        size_t length = token->kind == INLINE_TEXT ? token->text.length : 0;
        paragraph->formats[token->format].length += length;
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
}

void paragraph_settle(struct paragraph *paragraph) {
    struct inline_token *tokens = paragraph->tokens;
    size_t first = 0, last = paragraph->count;
    find_pairs(paragraph);
    find_empty(paragraph);
    find_base(paragraph);

    /* What stands before or after all words stays there. */
    while (first < last && (tokens[first].grouped || tokens[first].kind != INLINE_TEXT || is_blank(tokens[first].text)))
        first++;
    while (last > first && (tokens[last - 1].grouped || tokens[last - 1].kind != INLINE_TEXT || is_blank(tokens[last - 1].text)))
        last--;
    for (size_t i = 0; i < paragraph->count; i++)
        if ((i < first || i >= last) && tokens[i].kind == INLINE_UNIT)
            tokens[i].kind = INLINE_BREAK;
}

/* ---- reading ---- */

static struct html_bytes note(char kind, size_t token, struct arena *arena) {
    char text[NOTE_BYTES];
    int length = snprintf(text, sizeof text, "%c%zu%c", kind, token, NOTE_END);
    const char *copy = arena_copy(arena, text, (size_t)length);
    return copy ? (struct html_bytes){copy, (size_t)length} : nothing;
}

/* Texts of another format than the base are an element, from the first to the last of them that nothing else stands between. */
struct reading {
    const struct paragraph *paragraph;
    struct html_builder *builder;
    bool formatted;
    uint32_t format; /* of the element that is open, if formatted */
};

static void end_format(struct reading *reading) {
    static const char back[] = {NOTE_BACK};
    if (reading->formatted)
        html_add_close(reading->builder, (struct html_bytes){back, 1});
    reading->formatted = false;
}

/* A copy in the builder's arena, since the part is not kept. */
static struct html_bytes keep(struct html_bytes text, struct html_builder *builder) {
    const char *copy = text.length > 0 ? arena_copy(builder->arena, text.start, text.length) : NULL;
    if (text.length > 0 && !copy)
        builder->failed = ERROR_MEMORY;
    return copy ? (struct html_bytes){copy, text.length} : nothing;
}

static void read_text(struct reading *reading, size_t i) {
    const struct paragraph *paragraph = reading->paragraph;
    const struct inline_token *token = &paragraph->tokens[i];
    bool base = token->format == paragraph->base || paragraph->format_count < 2;
    if (!is_blank(token->text)) {
        if (reading->formatted && (base || reading->format != token->format))
            end_format(reading);
        if (!base && !reading->formatted) {
            reading->formatted = html_add_open(reading->builder, note(NOTE_FORMAT, i, reading->builder->arena));
            reading->format = token->format;
        }
    }
    struct html_bytes text = keep(token->text, reading->builder);
    html_add_text(reading->builder, text, text);
}

void paragraph_read(const struct paragraph *paragraph, struct html_builder *builder) {
    struct reading reading = {.paragraph = paragraph, .builder = builder};
    for (size_t i = 0; i < paragraph->count && builder->failed == ERROR_NONE; i++) {
        const struct inline_token *token = &paragraph->tokens[i];
        if (token->grouped)
            continue;
        if (token->kind == INLINE_TEXT) {
            read_text(&reading, i);
            continue;
        }
        struct html_bytes raw = note(NOTE_TOKEN, i, builder->arena);
        if (token->kind != INLINE_UNIT && token->kind != INLINE_WORD)
            end_format(&reading);
        if (token->kind == INLINE_UNIT)
            html_add_unit(builder, raw);
        else if (token->kind == INLINE_WORD)
            html_add_word(builder, keep(token->text, builder), raw);
        else if (token->kind == INLINE_BREAK)
            html_add_break(builder, raw);
        else if (token->kind == INLINE_OPEN)
            html_add_open(builder, raw);
        else
            html_add_close(builder, raw);
    }
    end_format(&reading);
    html_add_break(builder, (struct html_bytes){"", 1}); /* NOTE_MESSAGE */
}

/* ---- writing ---- */

struct writing {
    const struct paragraph *paragraph;
    const struct paragraph_writer *to;
    uint32_t stack[HTML_MAX_DEPTH]; /* [depth] formats */
    size_t depth;
    bool run_open, text_open;
    uint32_t format; /* of the run that is open */
};

static void put_tag(const struct writing *writing, const char *mark, struct html_bytes name, const char *end) {
    html_put_string(writing->to->out, mark);
    html_put(writing->to->out, name.start, name.length);
    html_put_string(writing->to->out, end);
}

static void close_text(struct writing *writing) {
    if (writing->text_open)
        put_tag(writing, "</", writing->paragraph->text, ">");
    writing->text_open = false;
}

static void close_run(struct writing *writing) {
    close_text(writing);
    if (writing->run_open && !writing->paragraph->formats[writing->format].bare)
        put_tag(writing, "</", writing->paragraph->run, ">");
    writing->run_open = false;
}

static void open_run(struct writing *writing, uint32_t format) {
    const struct inline_format *own = &writing->paragraph->formats[format];
    if (writing->run_open && writing->format == format)
        return;
    close_run(writing);
    if (!own->bare) {
        put_tag(writing, "<", writing->paragraph->run, ">");
        html_put(writing->to->out, own->raw.start, own->raw.length);
    }
    writing->run_open = true;
    writing->format = format;
}

static void write_text(struct writing *writing, const char *text, size_t length) {
    const struct paragraph *paragraph = writing->paragraph;
    if (length == 0)
        return;
    if (paragraph->format_count > 0) {
        open_run(writing, writing->depth > 0 ? writing->stack[writing->depth - 1] : paragraph->base);
        if (!writing->text_open)
            put_tag(writing, "<", paragraph->text, paragraph->spaced ? " xml:space=\"preserve\">" : ">");
        writing->text_open = true;
    }
    html_put_escaped(writing->to->out, text, length, "&<>");
}

/* One token as it was. */
static void write_one(struct writing *writing, const struct inline_token *token) {
    const char *part = writing->paragraph->part;
    if (token->kind == INLINE_TEXT) {
        uint32_t stack = writing->depth < HTML_MAX_DEPTH ? writing->stack[writing->depth] : 0;
        if (writing->depth == HTML_MAX_DEPTH)
            return;
        writing->stack[writing->depth++] = token->format;
        write_text(writing, token->text.start, token->text.length);
        writing->stack[--writing->depth] = stack;
        return;
    }
    if (!token->in_run || token->role == ROLE_ALONE)
        close_run(writing);
    if (token->in_run)
        open_run(writing, token->format);
    close_text(writing);
    writing->to->put_range(writing->to->owner, part + token->begin, part + token->end, writing->to->out);
    if (token->role == ROLE_ALONE)
        close_run(writing);
}

static void write_token(struct writing *writing, size_t i, bool copy) {
    const struct paragraph *paragraph = writing->paragraph;
    const struct inline_token *token = &paragraph->tokens[i];
    enum role copied = token->kind == INLINE_BREAK ? ROLE_BREAK : ROLE_NONE;
    if (copy && (token->kind == INLINE_UNIT || paragraph->tokens[token->kind == INLINE_CLOSE ? token->pair : i].role != copied))
        return;
    for (size_t member = i; member <= token->last; member++)
        write_one(writing, &paragraph->tokens[member]);
}

void paragraph_write(const struct paragraph *paragraph, struct html_bytes message, bool copy, const struct paragraph_writer *to) {
    struct writing writing = {.paragraph = paragraph, .to = to};
    const char *at = message.start, *end = at + message.length;
    while (at < end && !to->out->failed) {
        const char *plain = at;
        while (at < end && (unsigned char)*at > NOTE_END)
            at++;
        write_text(&writing, plain, (size_t)(at - plain));
        if (at == end)
            break;
        char kind = *at++;
        if (kind == NOTE_BACK && writing.depth > 0)
            writing.depth--;
        if (kind != NOTE_TOKEN && kind != NOTE_FORMAT)
            continue;
        char *after;
        size_t token = strtoul(at, &after, 10);
        at = after < end && *after == NOTE_END ? after + 1 : after;
        if (token >= paragraph->count)
            continue;
        if (kind == NOTE_TOKEN)
            write_token(&writing, token, copy);
        else if (writing.depth < HTML_MAX_DEPTH)
            writing.stack[writing.depth++] = paragraph->tokens[token].format;
    }
    close_run(&writing);
}

void paragraph_write_break(const struct paragraph *paragraph, const struct paragraph_writer *to) {
    struct writing writing = {.paragraph = paragraph, .to = to};
    const char *colon = memchr(paragraph->name.start, ':', paragraph->name.length);
    struct html_bytes prefix = colon ? bytes_between(paragraph->name.start, colon + 1) : nothing;
    if (paragraph->format_count > 0)
        open_run(&writing, paragraph->base);
    put_tag(&writing, "<", prefix, paragraph->grammar->line_break);
    html_put_string(to->out, "/>");
    close_run(&writing);
}
