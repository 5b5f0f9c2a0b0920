/* gettext's PO: messages without a translation, or with a fuzzy one, get one; everything else stays byte for byte. All directives
 * for programs in a message (%s, %(name)d, {0}, $HOME, according to its flags) must be in its translation, too. If it is not, or if
 * a language has more forms than the two that were translated, the message is fuzzy: programs ignore it, and people review it. */
#include "model/text/spans.h"
#include "server/documents/po.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MOST_BRACES = 64, /* bytes of a directive in braces */
    LINE_WIDTH = 77,  /* characters between the quotation marks of a line */
    NUMBER_BYTES = 24,
    /* In the pieces of a message, MESSAGE_OWN and a byte precede each directive that takes the next argument. The byte tells which
     * of these directives it is, counted from FIRST_MARK. */
    FIRST_MARK = 32,
    MOST_MARKED = 200
};

static const struct html_bytes nothing = {"", 0};

/* ---- directives ---- */

/* The notations that a message may have; 0: the message has no directives. */
enum {
    PERCENT = 1 << 0,  /* %s %-5.2f %(name)s %1$s */
    NUMBERED = 1 << 1, /* those of PERCENT without a number may get one */
    QT = 1 << 2,       /* %1 %L1 %n */
    BRACES = 1 << 3,   /* {name} {0:>8} {} */
    DOLLAR = 1 << 4    /* $name ${name} */
};

static const struct {
    const char *flags; /* separated by spaces */
    unsigned notations;
} notations_of[] = {
    {"c-format objc-format php-format perl-format java-printf-format ruby-format awk-format tcl-format gcc-internal-format",
     PERCENT | NUMBERED},
    {"pascal-format object-pascal-format python-format javascript-format lua-format gfc-internal-format elisp-format librep-format",
     PERCENT},
    {"boost-format", QT | PERCENT},
    {"ycp-format qt-format qt-plural-format kde-format kde-kuit-format", QT},
    {"python-brace-format perl-brace-format java-format csharp-format c++-format rust-format", BRACES},
    {"sh-format", DOLLAR},
};

static unsigned find_notations(const struct po_message *message) {
    struct html_bytes line, flag;
    unsigned notations = 0;
    for (const char *next = message->begin; po_next_comment(message, &next, &line);)
        for (const char *at = NULL; po_next_flag(line, &at, &flag);)
            for (size_t i = 0; i < sizeof notations_of / sizeof *notations_of; i++)
                if (bytes_among(flag, notations_of[i].flags))
                    notations |= notations_of[i].notations;
    return notations;
}

static const char *skip(const char *at, const char *end, const char *set) {
    while (at < end && *at && strchr(set, *at))
        at++;
    return at;
}

/* Skips what two marks hold, such as %(name) and %<PRIu64>; returns `at` if they hold nothing. */
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
    at = skip(held, end, "-+ #0',I");
    at = skip(at, end, "0123456789*$");
    if (at < end && *at == '.')
        at = skip(at + 1, end, "0123456789*$");
    held = skip_held(at, end, "<", ">");
    if (held > at)
        return held;
    at = skip(at, end, "hlLqjztw");
    if (at < end && (isalpha((unsigned char)*at) || *at == '@'))
        return at + 1;
    return at[-1] != '%' && isalpha((unsigned char)at[-1]) ? at : NULL; /* %l, %t and the like without another letter */
}

/* "%1", "%L1", "%n", "%1%": returns its end, or NULL. */
static const char *qt_end(const char *at, const char *end) {
    const char *number = skip(at + 1, end, "L"), *after = skip(number, end, "0123456789");
    if (after > number)
        return after < end && *after == '%' ? after + 1 : after;
    return at + 1 < end && (at[1] == 'n' || at[1] == '%') ? at + 2 : NULL;
}

/* Braces may hold braces: {:{width}}. "{{" and "}}" stand for one. Returns the end, or NULL. */
static const char *braces_end(const char *at, const char *end) {
    size_t depth = 0;
    const char *begin = at;
    if (end - at > 1 && at[1] == *at)
        return at + 2;
    for (; *begin == '{' && at < end && at - begin < MOST_BRACES && *at != '\n'; at++) {
        depth += *at == '{';
        depth -= *at == '}';
        if (depth == 0)
            return at + 1;
    }
    return NULL;
}

static const char *dollar_end(const char *at, const char *end) {
    const char *held = skip_held(at + 1, end, "{", "}"), *name = at + 1;
    while (name < end && (isalnum((unsigned char)*name) || *name == '_'))
        name++;
    return held > at + 1 ? held : name > at + 1 ? name : NULL;
}

/* Returns the bytes of the directive that begins there, or 0. */
static size_t directive_at(unsigned notations, const char *at, const char *end) {
    const char *after = NULL;
    if (*at == '%' && notations & PERCENT)
        after = percent_end(at, end);
    if (*at == '%' && !after && notations & QT)
        after = qt_end(at, end);
    if ((*at == '{' || *at == '}') && notations & BRACES)
        after = braces_end(at, end);
    if (*at == '$' && notations & DOLLAR)
        after = dollar_end(at, end);
    return after ? (size_t)(after - at) : 0;
}

/* A scan for directives and for placeholders of other kinds (model/text/spans.h). */
struct scan {
    const char *text; /* [length] */
    size_t length, at;
    unsigned notations;
    size_t other_at;   /* other placeholders were looked for up to here; */
    struct span other; /* the next one, */
    bool has_other;    /* if there is one */
};

/* A run that looks like an address may hold directives, which then count instead. */
static void find_other(struct scan *scan) {
    bool ahead = scan->has_other && scan->other.begin >= scan->at;
    while (!ahead && scan->other_at < scan->length) {
        struct opaque_run run;
        if (scan->other_at < scan->at)
            scan->other_at = scan->at;
        ahead = opaque_next(OPAQUE_PLACEHOLDERS, scan->text, scan->length, &scan->other_at, &run);
        if (!ahead)
            continue;
        scan->other = (struct span){run.begin, run.end};
        for (size_t i = run.begin; i < run.end && ahead; i++)
            ahead = directive_at(scan->notations, scan->text + i, scan->text + scan->length) == 0;
    }
    scan->has_other = ahead;
}

/* Finds the next placeholder. Returns false at the end. */
static bool scan_next(struct scan *scan, struct span *found) {
    find_other(scan);
    size_t end = scan->has_other ? scan->other.begin : scan->length;
    for (size_t i = scan->at; i < end; i++) {
        size_t length = directive_at(scan->notations, scan->text + i, scan->text + scan->length);
        if (length == 0)
            continue;
        *found = (struct span){i, i + length};
        scan->at = i + length;
        return true;
    }
    if (!scan->has_other)
        return false;
    *found = scan->other;
    scan->at = scan->other.end;
    return true;
}

/* True if it takes the next argument of those without a number: %s, {}. */
static bool takes_next(unsigned notations, struct html_bytes directive) {
    const char *start = directive.start;
    size_t length = directive.length;
    if (*start == '{')
        return notations & BRACES && length > 1 && (start[1] == '}' || start[1] == ':' || start[1] == '!');
    bool none = length == 2 && strchr("%mn", start[1]), named = length > 1 && strchr("({<", start[1]);
    bool of_type = length > 4 && memcmp(start + 1, "<PRI", 4) == 0;
    bool in_order = notations & PERCENT && !(notations & QT);
    return in_order && *start == '%' && length > 1 && !none && (!named || of_type) && !memchr(start, '$', length);
}

/* ---- messages become pieces ---- */

/* The owner of a marking. */
struct message_owner {
    struct arena *arena;
    unsigned notations;
    size_t *marked; /* counts the directives so far that took the next argument */
};

/* A text_lead: a bullet, or the option that a line of help describes, up to the column where the description begins. */
static size_t find_lead(const char *text, size_t length) {
    for (size_t at = 1; *text == '-' && at + 1 < length; at++) {
        bool gap = text[at] == '\t' || (text[at] == ' ' && text[at + 1] == ' ');
        while (gap && (text[at] == ' ' || text[at] == '\t'))
            if (++at == length)
                return 0;
        if (gap)
            return at;
    }
    return text_bullet(text, length);
}

static size_t skip_directive(const struct html_marking *marking, const char *at, const char *end) {
    const struct message_owner *own = marking->owner;
    return directive_at(own->notations, at, end);
}

/* The mark before a directive that takes the next argument; nothing for others. */
static struct html_bytes mark_of(const struct message_owner *own, struct html_bytes directive) {
    bool next = takes_next(own->notations, directive) && *own->marked < MOST_MARKED;
    char *mark = next ? arena_alloc(own->arena, 2, 1) : NULL;
    if (!mark)
        return nothing;
    mark[0] = MESSAGE_OWN;
    mark[1] = (char)(FIRST_MARK + (*own->marked)++);
    return (struct html_bytes){mark, 2};
}

/* Tags may hold directives, too: <a href="%s">. */
static struct html_bytes write_mark(const struct html_marking *marking, struct html_bytes mark, struct arena *arena) {
    const struct message_owner *owner = marking->owner;
    struct scan scan = {.text = mark.start, .length = mark.length, .notations = owner->notations};
    struct html_buffer out = {.arena = arena};
    size_t at = 0;
    for (struct span found; scan.notations != 0 && scan_next(&scan, &found); at = found.begin) {
        struct html_bytes own = mark_of(owner, (struct html_bytes){mark.start + found.begin, found.end - found.begin});
        html_put(&out, mark.start + at, found.begin - at);
        html_put(&out, own.start, own.length);
    }
    if (at == 0)
        return mark;
    html_put(&out, mark.start + at, mark.length - at);
    return out.failed ? mark : (struct html_bytes){out.bytes, out.length};
}

static void add_words(const struct html_marking *marking, struct html_builder *builder, struct html_bytes text) {
    const struct message_owner *owner = marking->owner;
    struct scan scan = {.text = text.start, .length = text.length, .notations = owner->notations};
    size_t at = 0;
    for (struct span found; scan_next(&scan, &found);) {
        struct html_bytes before = {text.start + at, found.begin - at}, word = {text.start + found.begin, found.end - found.begin};
        if (bytes_are(word, "{{") || bytes_are(word, "}}")) /* they stay beside words, like punctuation */
            continue;
        if (before.length > 0)
            html_add_text(builder, before, before);
        html_add_code(builder, mark_of(owner, word), word, nothing);
        at = found.end;
    }
    struct html_bytes rest = bytes_between(text.start + at, text.start + text.length);
    if (rest.length > 0)
        html_add_text(builder, rest, rest);
}

static void add_message(struct html_builder *builder, struct html_bytes text, unsigned notations) {
    size_t marked = 0;
    const struct message_owner owner = {builder->arena, notations, &marked};
    const struct html_marking marking = {.owner = &owner, .written = write_mark, .add_text = add_words, .skip = skip_directive};
    if (icu_message_is(text.start, text.length)) {
        messages_add_icu(builder, text, NULL);
        return;
    }
    text_add_lines(builder, text, find_lead, &marking);
    messages_end(builder);
}

static void mark_translated(struct html_buffer *out, const char *text, size_t length) {
    messages_put_mark(out);
    html_put(out, text, length);
}

int po_read(const struct document *document, struct arena *arena, struct html *out, struct error *err) {
    struct html_builder builder = {.arena = arena}; /* its pieces are what messages say, and do not stand in the document */
    struct po_file file;
    int found = 0;
    if (po_file_open(&file, document, arena, err) != 0)
        return -1;
    while (!builder.failed && (found = po_file_next(&file)) == 1) {
        builder.line = file.message.line;
        if (!file.wanted)
            continue;
        unsigned notations = find_notations(&file.message);
        add_message(&builder, file.id, notations);
        if (file.message.plural.begin)
            add_message(&builder, file.plural, notations);
    }
    if (found < 0)
        return -1;
    return arena_failed(arena) ? error_memory(err) : html_build(&builder, mark_translated, out, err);
}

/* ---- translations with their placeholders ---- */

/* A translation in two notations: as it was made, and with a number in each directive that takes the next argument. */
struct translated {
    struct html_buffer plain, numbered;
    size_t marks;       /* directives that do */
    bool ordered;       /* they are in the order of the source */
    bool is_translated; /* there are words of a translation */
};

static void put_both(struct translated *out, const char *bytes, size_t length) {
    html_put(&out->plain, bytes, length);
    html_put(&out->numbered, bytes, length);
}

static struct translated read_translated(struct html_bytes message, struct arena *arena) {
    struct translated out = {.plain.arena = arena, .numbered.arena = arena, .ordered = true};
    put_both(&out, "", 0);
    for (const char *at = message.start, *end = at + message.length; at < end;) {
        const char *plain = at;
        while (at < end && *at != MESSAGE_TRANSLATED && *at != MESSAGE_OWN)
            at++;
        put_both(&out, plain, (size_t)(at - plain));
        if (at == end)
            break;
        if (*at == MESSAGE_TRANSLATED) {
            out.is_translated = true;
            at++;
            continue;
        }
        size_t which = (size_t)((unsigned char)at[1] - FIRST_MARK);
        char number[NUMBER_BYTES];
        snprintf(number, sizeof number, "%zu$", which + 1);
        out.ordered &= which == out.marks++;
        put_both(&out, at + 2, 1);
        html_put_string(&out.numbered, number);
        at += 3;
    }
    return out;
}

struct found {
    struct html_bytes *all; /* [count] sorted */
    size_t count, room;
    size_t next;     /* those that take the next argument */
    bool numberable; /* all of these can have numbers: none has a width that is an argument, too */
};

static int compare_bytes(const void *a, const void *b) {
    const struct html_bytes *x = a, *y = b;
    int order = memcmp(x->start, y->start, x->length < y->length ? x->length : y->length);
    return order != 0 ? order : x->length < y->length ? -1 : x->length > y->length;
}

/* Finds all placeholders of a text. Returns -1 if memory runs out. */
static int find_all(struct html_bytes text, unsigned notations, struct arena *arena, struct found *out) {
    struct scan scan = {.text = text.start, .length = text.length, .notations = notations};
    *out = (struct found){.numberable = notations & NUMBERED};
    for (struct span span; scan_next(&scan, &span);) {
        struct html_bytes one = {text.start + span.begin, span.end - span.begin};
        struct html_bytes *all = arena_grow(arena, out->all, out->count, &out->room, 1, sizeof *all);
        if (!all)
            return -1;
        out->all = all;
        all[out->count++] = one;
        bool next = takes_next(notations, one);
        out->next += next;
        out->numberable &= next ? *one.start == '%' && !memchr(one.start, '*', one.length) : !memchr(one.start, '$', one.length);
    }
    if (out->count > 0)
        qsort(out->all, out->count, sizeof *out->all, compare_bytes);
    return 0;
}

static bool are_same(const struct found *a, const struct found *b) {
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = compare_bytes(&a->all[i], &b->all[i]) == 0;
    return same;
}

/* ---- writing strings ---- */

struct po_writer {
    struct po_file file;
    struct html_bytes written; /* the messages that are still to come */
    const char *done;          /* the document up to here is in the output */
    const char *line_end;
    struct arena *arena;
    struct html_buffer out;
};

static void put_string(struct html_buffer *out, struct html_bytes text) {
    static const char means[] = "\n\t\r\"\\", names[] = "ntr\"\\";
    html_put_string(out, "\"");
    for (size_t at = 0; at < text.length; at++) {
        size_t plain = at;
        while (at < text.length && !strchr(means, text.start[at]))
            at++;
        html_put(out, text.start + plain, at - plain);
        if (at < text.length)
            html_put(out, (const char[]){'\\', names[strchr(means, text.start[at]) - means]}, 2);
    }
    html_put_string(out, "\"");
}

/* Returns the bytes up to the end of a line, or to the last space within the width. */
static size_t line_length(struct html_bytes text) {
    size_t width = 0, space = 0, at = 0;
    for (; at < text.length && text.start[at] != '\n'; at++) {
        width += ((unsigned char)text.start[at] & 0xc0) != 0x80;
        if (width > LINE_WIDTH && space > 0)
            return space;
        if (text.start[at] == ' ')
            space = at + 1;
    }
    return at < text.length ? at + 1 : at;
}

/* Puts a text in one string, or over lines, as its source is. */
static void put_text(struct po_writer *writer, struct html_bytes text, bool over_lines) {
    put_string(&writer->out, over_lines ? nothing : text);
    while (over_lines && text.length > 0) {
        size_t length = line_length(text);
        html_put_string(&writer->out, writer->line_end);
        put_string(&writer->out, (struct html_bytes){text.start, length});
        text = bytes_between(text.start + length, text.start + text.length);
    }
}

static void put_fields(struct po_writer *writer, struct html_bytes former) {
    struct html_buffer header = {.arena = writer->arena};
    po_header_put(&header, former, writer->file.document->language);
    writer->out.failed |= header.failed;
    put_text(writer, (struct html_bytes){header.bytes, header.length}, true);
}

static void put_between(struct po_writer *writer, const char *begin, const char *end) {
    html_put(&writer->out, begin, (size_t)(end - begin));
}

/* ---- writing messages ---- */

/* Puts a line of flags with "fuzzy" at its begin, or without it. */
static void put_flags(struct po_writer *writer, struct html_bytes line, bool fuzzy) {
    struct html_bytes flag;
    size_t count = fuzzy;
    html_put_string(&writer->out, fuzzy ? "#, fuzzy" : "");
    for (const char *at = NULL; po_next_flag(line, &at, &flag);) {
        if (bytes_are(flag, "fuzzy"))
            continue;
        html_put_string(&writer->out, count++ > 0 ? ", " : "#, ");
        html_put(&writer->out, flag.start, flag.length);
    }
    if (count > 0)
        html_put_string(&writer->out, writer->line_end);
}

/* Puts everything up to the first keyword of the message. A former source (#|) belongs to a fuzzy translation that is replaced. */
static void put_comments(struct po_writer *writer, bool fuzzy) {
    const struct po_message *message = &writer->file.message;
    bool was_fuzzy = writer->file.fuzzy, flagged = false;
    struct html_bytes line;
    put_between(writer, writer->done, message->begin);
    for (const char *next = message->begin; po_next_comment(message, &next, &line);) {
        char kind = line.length > 1 && *line.start == '#' ? line.start[1] : ' ';
        if (kind == ',' && fuzzy != was_fuzzy) {
            put_flags(writer, line, fuzzy && !flagged);
            flagged = true;
        } else if (kind != '|' || !was_fuzzy) {
            html_put(&writer->out, line.start, line.length);
        }
    }
    if (fuzzy && !was_fuzzy && !flagged)
        put_flags(writer, nothing, true);
}

static void put_header(struct po_writer *writer) {
    const struct po_message *message = &writer->file.message;
    put_comments(writer, false);
    put_between(writer, message->keyword, message->forms[0].begin);
    put_fields(writer, writer->file.id);
    writer->done = message->end;
}

/* The translation of a form of a message. */
struct form {
    struct html_bytes text;
    bool translated;
    bool sound; /* it has all placeholders and marks of the source, and programs fill in the same */
};

/* Takes the next form from what was written. Returns -1 if memory runs out. */
static int next_form(struct po_writer *writer, struct html_bytes source, unsigned notations, struct form *out) {
    struct translated translated = read_translated(messages_next(&writer->written), writer->arena);
    struct html_bytes plain = {translated.plain.bytes, translated.plain.length};
    struct found there, here;
    *out = (struct form){.text = plain, .translated = translated.is_translated};
    if (translated.plain.failed || translated.numbered.failed)
        return -1;
    if (icu_message_is(source.start, source.length)) {
        out->sound = messages_settle_icu(source, plain, writer->arena, &out->text);
        return 0;
    }
    if (find_all(source, notations, writer->arena, &there) != 0 || find_all(plain, notations, writer->arena, &here) != 0)
        return -1;
    bool complete = translated.marks == there.next, ordered = translated.ordered && complete;
    bool numbered = !ordered && there.numberable && complete;
    if (numbered)
        out->text = (struct html_bytes){translated.numbered.bytes, translated.numbered.length};
    out->sound = are_same(&there, &here) && (ordered || numbered) && html_same_marks(source, plain, true);
    return 0;
}

/* Puts the forms of a message with a plural; forms that were there stay. */
static void put_forms(struct po_writer *writer, const struct form *one, const struct form *many) {
    const struct po_message *message = &writer->file.message;
    const struct po_plurals *plurals = &writer->file.plurals;
    put_comments(writer, !one->sound || !many->sound || plurals->forms > 2 || writer->file.surplus);
    put_between(writer, message->keyword, message->translation);
    for (size_t i = 0; i < plurals->forms; i++) {
        bool is_one = plurals->forms > 1 && i == plurals->one;
        char index[sizeof "msgstr[] " + NUMBER_BYTES];
        snprintf(index, sizeof index, "msgstr[%zu] ", i);
        html_put_string(&writer->out, i > 0 ? writer->line_end : "");
        html_put_string(&writer->out, index);
        if (po_file_lacks(&writer->file, i))
            put_text(writer, is_one ? one->text : many->text, (is_one ? &message->id : &message->plural)->strings > 1);
        else
            put_between(writer, message->forms[i].begin, message->forms[i].end);
    }
    writer->done = message->end;
}

/* Puts a message that needs a translation, if it has one. Returns -1 if memory runs out. */
static int put_wanted(struct po_writer *writer) {
    const struct po_file *file = &writer->file;
    const struct po_message *message = &file->message;
    unsigned notations = find_notations(message);
    struct form one, many = {0};
    bool plural = message->plural.begin;
    if (next_form(writer, file->id, notations, &one) != 0 || (plural && next_form(writer, file->plural, notations, &many) != 0))
        return -1;
    if (plural && (one.translated || many.translated)) {
        put_forms(writer, &one, &many);
    } else if (!plural && one.translated) {
        put_comments(writer, !one.sound);
        put_between(writer, message->keyword, message->forms[0].begin);
        put_text(writer, one.text, message->id.strings > 1);
        writer->done = message->end;
    }
    return 0;
}

static int put_all(struct po_writer *writer, const struct document *document, struct error *err) {
    const struct po_file *file = &writer->file;
    if (po_file_open(&writer->file, document, writer->arena, err) != 0)
        return -1;
    if (!po_has_header(document)) { /* without a header the file has no character set */
        html_put_string(&writer->out, "msgid \"\"");
        html_put_string(&writer->out, writer->line_end);
        html_put_string(&writer->out, "msgstr ");
        put_fields(writer, nothing);
        html_put_string(&writer->out, writer->line_end);
        html_put_string(&writer->out, writer->line_end);
    }
    while (po_file_next(&writer->file) == 1) {
        const struct po_message *message = &file->message;
        if (file->header) {
            put_header(writer);
        } else if (file->wanted && put_wanted(writer) != 0) {
            return error_memory(err);
        } else if (file->surplus && writer->done < message->end) {
            /* The language has fewer forms than the message: the first ones stay, for a person to review. */
            put_comments(writer, true);
            put_between(writer, message->keyword, message->forms[file->plurals.forms - 1].end);
            writer->done = message->end;
        }
    }
    put_between(writer, writer->done, document->source + document->length);
    return writer->out.failed ? error_memory(err) : 0;
}

char *po_finish(const struct document *document, const char *written, size_t written_length, struct arena *arena,
                size_t *out_length, struct error *err) {
    struct po_writer writer = {.written = {written, written_length}, .done = document->source, .arena = arena, .out.arena = arena};
    const char *end = memchr(document->source, '\n', document->length);
    writer.line_end = end && end > document->source && end[-1] == '\r' ? "\r\n" : "\n";
    html_put(&writer.out, "", 0);
    if (!messages_translated(writer.written))
        html_put(&writer.out, document->source, document->length);
    else if (put_all(&writer, document, err) != 0)
        return NULL;
    return html_take(&writer.out, out_length, err);
}
