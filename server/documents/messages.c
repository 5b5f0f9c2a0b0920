/* This module hides the parts of a program's message that are not words: branches and arguments in ICU's notation, and directives
 * such as %s, which the flags of a PO file announce. */
#include "model/base/utf8.h"
#include "model/text/spans.h"
#include "server/documents/document.h"
#include <ctype.h>

enum {
    MOST_BRACES = 64, /* bytes of a directive in braces */
    MOST_NAME = 24    /* bytes of an argument's name that a sentence shows */
};

/* ---- messages in ICU's notation ---- */

int icu_source_open(struct bytes text, struct arena *arena, struct icu_source *out, struct error *err) {
    out->original = text;
    if (icu_message_expand(text.start, text.length, arena, &out->text.start, &out->text.length, err) != 0)
        return -1;
    return icu_message_read(out->text.start, out->text.length, arena, &out->message, err);
}

/* Returns how these bytes are written in the document. */
static struct bytes write_part(const struct marking *marking, struct bytes part, struct arena *arena) {
    return marking->written ? marking->written(marking, part, arena) : part;
}

/* Adds text as pieces; the end of a line separates sentences. */
static void add_lines(const struct marking *marking, struct piece_builder *builder, struct bytes text) {
    for (size_t begin = 0, end; begin < text.length; begin = end) {
        bool control = (unsigned char)text.start[begin] < ' ';
        for (end = begin; end < text.length && ((unsigned char)text.start[end] < ' ') == control;)
            end++;
        struct bytes line = {text.start + begin, end - begin};
        struct bytes raw = write_part(marking, line, builder->arena);
        if (control)
            piece_add_break(builder, raw);
        else
            piece_add_text(builder, line, raw);
    }
}

void icu_source_add(struct piece_builder *builder, const struct icu_source *source, const struct marking *written) {
    const struct marking own = {.owner = written->owner, .written = written->written, .add_text = add_lines};
    for (size_t i = 0; i < source->message.count && !builder->failed; i++) {
        const struct icu_part *part = &source->message.parts[i];
        struct bytes says = {source->text.start + part->begin, part->end - part->begin}, word = {"{0}", 3};
        if (part->kind == ICU_TEXT) {
            piece_add_marked(builder, says, &own);
            continue;
        }
        struct bytes raw = write_part(&own, says, builder->arena);
        if (part->kind == ICU_SYNTAX) {
            piece_add_break(builder, raw);
        } else if (part->kind == ICU_QUOTE) {
            piece_add_text(builder, nothing, raw);
        } else if (part->kind == ICU_NUMBER) {
            piece_add_word(builder, (struct bytes){part->one ? "1" : "5", 1}, raw);
        } else { /* {name} represents itself in the sentence; {0} represents any other argument */
            size_t begin = 1, end;
            while (begin < says.length && says.start[begin] == ' ')
                begin++;
            for (end = begin; end < says.length && (isalnum((unsigned char)says.start[end]) || says.start[end] == '_');)
                end++;
            size_t length = end - begin;
            char *name = length > 0 && length < MOST_NAME && *says.start == '{' ? arena_alloc(builder->arena, length + 2, 1) : NULL;
            if (name) {
                memcpy(name + 1, says.start + begin, length);
                name[0] = '{';
                name[length + 1] = '}';
                word = (struct bytes){name, length + 2};
            }
            piece_add_word(builder, word, raw);
        }
    }
}

bool icu_source_settle(const struct icu_source *source, struct bytes translation, struct arena *arena, struct bytes *out) {
    if (bytes_same(source->text, translation)) {
        *out = source->original;
        return true;
    }
    for (size_t attempt = 0; attempt < 2; attempt++) {
        struct bytes text = translation;
        struct icu_message message;
        if (attempt > 0) { /* an apostrophe before a brace quotes it; in text it must be doubled */
            struct bytes_buffer doubled = {.arena = arena};
            bytes_put(&doubled, "", 0);
            for (size_t i = 0; i < text.length; i++) {
                bool quotes = text.start[i] == '\'' && i + 1 < text.length && memchr("{}#|", text.start[i + 1], 4);
                bytes_put(&doubled, quotes ? "''" : text.start + i, quotes ? 2 : 1);
            }
            text = doubled.failed ? nothing : (struct bytes){doubled.bytes, doubled.length};
        }
        if (icu_message_read(text.start, text.length, arena, &message, NULL) != 0 ||
            !icu_message_same(source->text.start, &source->message, text.start, &message) || !marks_same(source->text, text, false))
            continue;
        *out = text;
        return true;
    }
    return false;
}

bool messages_can_hold(struct bytes text) {
    for (size_t i = 0; i < text.length; i++)
        if ((unsigned char)text.start[i] < ' ' && !memchr("\n\t\r", text.start[i], 3))
            return false;
    return utf8_valid(text.start, text.length);
}

bool messages_settle_icu(struct bytes source, struct bytes written, struct arena *arena, struct bytes *out) {
    struct icu_source opened;
    *out = source;
    return icu_source_open(source, arena, &opened, NULL) == 0 && icu_source_settle(&opened, written, arena, out);
}

/* ---- directives ---- */

unsigned directives_of(struct bytes flag) {
    static const struct {
        const char *flags; /* separated by spaces */
        unsigned notations;
    } known[] = {
        {"c-format objc-format php-format perl-format java-printf-format ruby-format awk-format tcl-format gcc-internal-format",
         DIRECTIVE_PERCENT | DIRECTIVE_NUMBERED},
        {"pascal-format object-pascal-format python-format javascript-format lua-format gfc-internal-format elisp-format "
         "librep-format",
         DIRECTIVE_PERCENT},
        {"boost-format", DIRECTIVE_QT | DIRECTIVE_PERCENT},
        {"ycp-format qt-format qt-plural-format kde-format kde-kuit-format", DIRECTIVE_QT},
        {"python-brace-format perl-brace-format java-format csharp-format c++-format rust-format", DIRECTIVE_BRACES},
        {"sh-format", DIRECTIVE_DOLLAR},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (bytes_among(flag, known[i].flags))
            return known[i].notations;
    return 0;
}

static const char *skip(const char *at, const char *end, const char *set) {
    while (at < end && *at && strchr(set, *at))
        at++;
    return at;
}

/* Skips a pair of marks and their content, such as %(name) and %<PRIu64>; returns `at` if they are empty. */
static const char *skip_held(const char *at, const char *end, const char *open, const char *close) {
    const char *mark = at < end && *at ? strchr(open, *at) : NULL;
    if (!mark)
        return at;
    size_t most = (size_t)(end - at) < MOST_BRACES ? (size_t)(end - at) : MOST_BRACES;
    const char *after = memchr(at, close[mark - open], most);
    return after && !memchr(at, '\n', (size_t)(after - at)) ? after + 1 : at;
}

/* "%-5.2lf", "%1$s", "%(name)s", "%<PRIu64>", "%{name}", "%%": returns its end, or NULL. */
static const char *percent_end(const char *at, const char *end) {
    if (++at < end && *at == '%')
        return at + 1;
    const char *number = skip(at, end, "0123456789");
    if (number > at && number < end && *number == '$')
        at = number + 1;
    const char *held = skip_held(at, end, "(<{", ")>}");
    if (held > at && *at == '{')
        return held;
    const char *flags = at = held;
    at = skip(at, end, "-+ #0',I");
    bool spaced = memchr(flags, ' ', (size_t)(at - flags)) != NULL; /* then a word may follow, as in "50 % of it" */
    at = skip(at, end, "0123456789*$");
    if (at < end && *at == '.')
        at = skip(at + 1, end, "0123456789*$");
    held = skip_held(at, end, "<", ">");
    if (held > at)
        return held;
    at = skip(at, end, "hlLqjztw");
    if (spaced && end - at > 1 && (ascii_word(at[1]) || at[1] == '\''))
        return NULL;
    if (at < end && (isalpha((unsigned char)*at) || *at == '@'))
        return at + 1;
    return at[-1] != '%' && isalpha((unsigned char)at[-1]) ? at : NULL; /* %l, %t and the like without another letter */
}

size_t directive_at(unsigned notations, const char *at, const char *end) {
    const char *after = NULL, *name = at + 1;
    if (*at == '%' && notations & DIRECTIVE_PERCENT)
        after = percent_end(at, end);
    if (*at == '%' && !after && notations & DIRECTIVE_QT) { /* "%1", "%L1", "%n", "%1%" */
        const char *number = skip(name, end, "L"), *past = skip(number, end, "0123456789");
        if (past > number)
            after = past < end && *past == '%' ? past + 1 : past;
        else if (name < end && (*name == 'n' || *name == '%'))
            after = name + 1;
    }
    if ((*at == '{' || *at == '}') && notations & DIRECTIVE_BRACES) { /* which may hold braces: {:{width}} */
        size_t depth = 0;
        if (end - at > 1 && *name == *at) /* "{{" and "}}" stand for one */
            after = at + 2;
        for (const char *c = at; *at == '{' && !after && c < end && c - at < MOST_BRACES && *c != '\n'; c++) {
            depth += *c == '{';
            depth -= *c == '}';
            if (depth == 0)
                after = c + 1;
        }
    }
    if (*at == '$' && notations & DIRECTIVE_DOLLAR) {
        const char *held = skip_held(name, end, "{", "}"), *past = name;
        while (past < end && (isalnum((unsigned char)*past) || *past == '_'))
            past++;
        after = held > name ? held : past > name ? past : NULL;
    }
    return after ? (size_t)(after - at) : 0;
}

bool directive_next(struct directive_scan *scan, struct span *found) {
    const char *text = scan->text, *stop = text + scan->length;

    /* Find the next placeholder of another kind. A run that looks like an address may hold directives, which then count instead. */
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
            ahead = directive_at(scan->notations, text + i, stop) == 0;
    }
    scan->has_other = ahead;

    size_t end = ahead ? scan->other.begin : scan->length;
    for (size_t i = scan->at; i < end; i++) {
        size_t length = directive_at(scan->notations, text + i, stop);
        if (length == 0)
            continue;
        *found = (struct span){i, i + length};
        scan->at = i + length;
        return true;
    }
    if (!ahead)
        return false;
    *found = scan->other;
    scan->at = scan->other.end;
    return true;
}

bool directive_takes_next(unsigned notations, struct bytes directive) {
    const char *start = directive.start;
    size_t length = directive.length;
    if (*start == '{')
        return notations & DIRECTIVE_BRACES && length > 1 && (start[1] == '}' || start[1] == ':' || start[1] == '!');
    bool none = length == 2 && strchr("%mn", start[1]), named = length > 1 && strchr("({<", start[1]);
    bool of_type = length > 4 && memcmp(start + 1, "<PRI", 4) == 0;
    bool in_order = notations & DIRECTIVE_PERCENT && !(notations & DIRECTIVE_QT);
    return in_order && *start == '%' && length > 1 && !none && (!named || of_type) && !memchr(start, '$', length);
}
