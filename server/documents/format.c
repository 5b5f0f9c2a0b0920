/* How strings of every format become pieces: lines of plain text, whose sentences may run over line ends; messages in ICU's
 * notation, whose branches are sentences; and lists of messages whose translations are put in place later. */
#include "server/documents/format.h"
#include "model/base/utf8.h"
#include <ctype.h>
#include <strings.h>

enum {
    MOST_LINES = 64, /* of one sentence */
    MOST_NAME = 24   /* bytes of an argument's name that a sentence shows */
};

static const struct html_bytes nothing = {"", 0};

bool bytes_are_language(struct html_bytes code, const char *language) {
    size_t length = strcspn(language, "-_@");
    return code.length >= length && strncasecmp(code.start, language, length) == 0 &&
           (code.length == length || strchr("-_@", code.start[length]));
}

void text_escape_markup(struct html_buffer *out, const char *text, size_t length) {
    html_put_escaped(out, text, length, "&<>");
}

/* ---- lines ---- */

bool line_next(struct line *line, const char *end) {
    const char *begin = line->next, *at = begin;
    if (begin == end)
        return false;
    while (at < end && *at != '\n' && *at != '\r')
        at++;
    const char *next = at < end ? at + 1 : end;
    if (at < end && *at == '\r' && next < end && *next == '\n')
        next++;
    *line = (struct line){begin, at, next, line->number + 1};
    return true;
}

struct html_bytes line_trimmed(const struct line *line) {
    const char *begin = line->begin, *end = line->end;
    while (begin < end && strchr(" \t\f\v", *begin))
        begin++;
    while (end > begin && strchr(" \t\f\v", end[-1]))
        end--;
    return bytes_between(begin, end);
}

static bool is_one_of(int32_t character, const int32_t *all, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (all[i] == character)
            return true;
    return false;
}

bool text_ends_sentence(const char *text, size_t length) {
    static const int32_t ends[] = {'.', '!', '?', ':', 0x2026, 0x3002, 0xff01, 0xff1f, 0x203d, 0x61f, 0x6d4, 0x964, 0x266a, 0x266b};
    static const int32_t closing[] = {'"', '\'', ')', ']', '*', '_', 0xbb, 0x201d, 0x2019, 0x300d};
    while (length > 0) {
        int32_t character = character_previous(text, &length);
        if (is_one_of(character, ends, sizeof ends / sizeof *ends))
            return true;
        if (!character_is_space(character) && !is_one_of(character, closing, sizeof closing / sizeof *closing))
            return false;
    }
    return true;
}

size_t text_bullet(const char *text, size_t length) {
    static const int32_t bullets[] = {'-', '*', '+', 0x2010, 0x2013, 0x2014, 0x2022, 0xb7};
    size_t at = 0;
    if (length == 0 || !is_one_of(character_next(text, length, &at), bullets, sizeof bullets / sizeof *bullets))
        return 0;
    size_t after = at;
    while (after < length && (text[after] == ' ' || text[after] == '\t'))
        after++;
    return after > at && after < length ? after : 0;
}

bool text_goes_on(const char *text, size_t length) {
    size_t at = 0;
    int32_t first = length > 0 ? character_next(text, length, &at) : ' ';
    bool is_letter = !character_is_space(first) && !character_is_punctuation(first) && !(first >= '0' && first <= '9');
    return is_letter && character_lower(first) == first && !character_is_wide(first);
}

/* ---- plain text ---- */

void text_add_lines(struct html_builder *builder, struct html_bytes text, text_lead *lead, const struct html_marking *marking) {
    struct html_bytes last = nothing; /* line of the sentence */
    const char *end = text.start + text.length, *added = text.start;
    size_t parts = 0; /* lines of the sentence */
    struct line line = {.next = text.start};
    for (bool more = true; more;) {
        more = line_next(&line, end);
        struct html_bytes says = more ? line_trimmed(&line) : nothing;
        size_t bullet = says.length > 0 ? lead(says.start, says.length) : 0;
        bool continues = parts > 0 && parts < MOST_LINES && says.length > 0 && bullet == 0 &&
                         !text_ends_sentence(last.start, last.length) && text_goes_on(says.start, says.length);
        if (continues) {
            html_end_part(builder, bytes_between(added, says.start));
        } else if (parts > 0) {
            html_end_part(builder, nothing);
            parts = 0;
        }
        if (says.length == 0)
            continue;
        last = bytes_between(says.start + bullet, says.start + says.length);
        if (!continues)
            html_add_break(builder, bytes_between(added, last.start));
        added = last.start + last.length;
        parts++;
        html_add_part(builder);
        html_add_marked(builder, last, marking);
    }
    html_add_break(builder, bytes_between(added, end));
}

int txt_read(const struct document *document, struct arena *arena, struct html *out, struct error *err) {
    static const struct html_marking as_it_is;
    struct html_builder builder = document_builder(document, arena);
    text_add_lines(&builder, (struct html_bytes){document->source, document->length}, text_bullet, &as_it_is);
    return html_build(&builder, NULL, out, err);
}

/* ---- messages in ICU's notation ---- */

int icu_source_open(struct html_bytes text, struct arena *arena, struct icu_source *out, struct error *err) {
    out->original = text;
    if (icu_message_expand(text.start, text.length, arena, &out->text.start, &out->text.length, err) != 0)
        return -1;
    return icu_message_read(out->text.start, out->text.length, arena, &out->message, err);
}

/* Writes with the caller's marking, which is the owner. */
static struct html_bytes write_as_asked(const struct html_marking *marking, struct html_bytes mark, struct arena *arena) {
    const struct html_marking *asked = marking->owner;
    return asked->written ? asked->written(asked, mark, arena) : mark;
}

/* The end of a line separates sentences. */
static void add_lines(const struct html_marking *marking, struct html_builder *builder, struct html_bytes text) {
    for (size_t begin = 0, end; begin < text.length; begin = end) {
        bool control = (unsigned char)text.start[begin] < ' ';
        for (end = begin; end < text.length && ((unsigned char)text.start[end] < ' ') == control;)
            end++;
        struct html_bytes line = {text.start + begin, end - begin};
        struct html_bytes raw = write_as_asked(marking, line, builder->arena);
        if (control)
            html_add_break(builder, raw);
        else
            html_add_text(builder, line, raw);
    }
}

/* {name} represents itself in the sentence; a short word represents any other argument. */
static struct html_bytes argument_word(struct html_bytes argument, struct arena *arena) {
    size_t begin = 1, end;
    while (begin < argument.length && argument.start[begin] == ' ')
        begin++;
    end = begin;
    while (end < argument.length && (isalnum((unsigned char)argument.start[end]) || argument.start[end] == '_'))
        end++;
    bool named = end > begin && end - begin < MOST_NAME && *argument.start == '{';
    char *word = named ? arena_alloc(arena, end - begin + 2, 1) : NULL;
    if (!word)
        return (struct html_bytes){"{0}", 3};
    word[0] = '{';
    memcpy(word + 1, argument.start + begin, end - begin);
    word[end - begin + 1] = '}';
    return (struct html_bytes){word, end - begin + 2};
}

void icu_source_add(struct html_builder *builder, const struct icu_source *source, const struct html_marking *written) {
    const struct html_marking own = {.owner = written, .written = write_as_asked, .add_text = add_lines};
    for (size_t i = 0; i < source->message.count && !builder->failed; i++) {
        const struct icu_part *part = &source->message.parts[i];
        struct html_bytes says = {source->text.start + part->begin, part->end - part->begin};
        if (part->kind == ICU_TEXT) {
            html_add_marked(builder, says, &own);
            continue;
        }
        struct html_bytes raw = write_as_asked(&own, says, builder->arena);
        if (part->kind == ICU_SYNTAX)
            html_add_break(builder, raw);
        else if (part->kind == ICU_QUOTE)
            html_add_text(builder, nothing, raw);
        else if (part->kind == ICU_ARGUMENT)
            html_add_word(builder, argument_word(says, builder->arena), raw);
        else
            html_add_word(builder, (struct html_bytes){part->one ? "1" : "5", 1}, raw);
    }
}

bool icu_source_settle(const struct icu_source *source, struct html_bytes translation, struct arena *arena,
                       struct html_bytes *out) {
    if (bytes_same(source->text, translation)) {
        *out = source->original;
        return true;
    }
    for (size_t attempt = 0; attempt < 2; attempt++) {
        struct html_bytes text = translation;
        struct icu_message message;
        if (attempt > 0) { /* an apostrophe before a brace quotes it; in text it must be doubled */
            struct html_buffer doubled = {.arena = arena};
            html_put(&doubled, "", 0);
            for (size_t i = 0; i < text.length; i++) {
                bool quotes = text.start[i] == '\'' && i + 1 < text.length && memchr("{}#|", text.start[i + 1], 4);
                html_put(&doubled, quotes ? "''" : text.start + i, quotes ? 2 : 1);
            }
            text = doubled.failed ? nothing : (struct html_bytes){doubled.bytes, doubled.length};
        }
        if (icu_message_read(text.start, text.length, arena, &message, NULL) != 0 ||
            !icu_message_same(source->text.start, &source->message, text.start, &message) ||
            !html_same_marks(source->text, text, false))
            continue;
        *out = text;
        return true;
    }
    return false;
}

/* ---- lists of messages ---- */

bool messages_can_hold(struct html_bytes text) {
    for (size_t i = 0; i < text.length; i++)
        if ((unsigned char)text.start[i] < ' ' && !memchr("\n\t\r", text.start[i], 3))
            return false;
    return utf8_valid(text.start, text.length);
}

void messages_end(struct html_builder *builder) {
    html_add_break(builder, (struct html_bytes){"", 1});
}

/* The owner points to the html_escape. */
static struct html_bytes write_escaped(const struct html_marking *marking, struct html_bytes text, struct arena *arena) {
    html_escape *const *escape = marking->owner;
    struct html_buffer out = {.arena = arena};
    if (!*escape)
        return text;
    html_put(&out, "", 0);
    (*escape)(&out, text.start, text.length);
    return out.failed ? nothing : (struct html_bytes){out.bytes, out.length};
}

void messages_add_icu(struct html_builder *builder, struct html_bytes text, html_escape *escape) {
    static const char translated[] = {MESSAGE_TRANSLATED};
    const struct html_marking own = {.owner = &escape, .written = write_escaped};
    struct icu_source source;
    struct error error = {0};
    if (icu_source_open(text, builder->arena, &source, &error) == 0) {
        icu_source_add(builder, &source, &own);
    } else if (error.code == ERROR_MEMORY) {
        builder->failed = ERROR_MEMORY;
    } else {
        html_add_break(builder, (struct html_bytes){translated, 1});
        html_add_break(builder, write_escaped(&own, text, builder->arena));
    }
    messages_end(builder);
}

bool messages_settle_icu(struct html_bytes source, struct html_bytes written, struct arena *arena, struct html_bytes *out) {
    struct icu_source opened;
    *out = source;
    return icu_source_open(source, arena, &opened, NULL) == 0 && icu_source_settle(&opened, written, arena, out);
}

void messages_put_mark(struct html_buffer *out) {
    html_put(out, (const char[]){MESSAGE_TRANSLATED}, 1);
}

bool messages_translated(struct html_bytes written) {
    return memchr(written.start, MESSAGE_TRANSLATED, written.length) != NULL;
}

struct html_bytes messages_next(struct html_bytes *written) {
    const char *end = memchr(written->start, '\0', written->length), *all = written->start + written->length;
    struct html_bytes message = bytes_between(written->start, end ? end : all);
    *written = bytes_between(end ? end + 1 : all, all);
    return message;
}

void messages_put(struct html_buffer *out, struct html_bytes message) {
    for (const char *at = message.start, *end = at + message.length; at < end; at++) {
        const char *plain = at;
        while (at < end && *at != MESSAGE_TRANSLATED)
            at++;
        html_put(out, plain, (size_t)(at - plain));
    }
}
