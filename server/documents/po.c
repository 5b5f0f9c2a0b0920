/* This file translates gettext's PO (its manual, "The Format of PO Files"). Messages without a translation, or with a fuzzy one,
 * are translated, the header gets the fields of the language, and everything else stays byte for byte. All directives for programs
 * in a message (%s, %(name)d, {0}, $HOME, according to its flags) must be in its translation, too. If they are not, or if a
 * language has more forms than the two that were translated, or fewer than the message had, the message is fuzzy: programs ignore
 * it, and people review it.
 *
 * gettext's library (libgettextpo) is not used: it ends the process if memory runs out, keeps its data in global variables, and
 * does not report where in the file a message stands. */
#include "model/base/utf8.h"
#include "server/documents/document.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum {
    MOST_FORMS = 16,
    LINE_WIDTH = 77, /* characters between the quotation marks of a line */
    NUMBER_BYTES = 24,
    /* In the pieces of a message, MESSAGE_OWN and a byte precede each directive that takes the next argument. The byte is the
     * number of the directive among these, counted from FIRST_MARK. */
    FIRST_MARK = 32,
    MOST_MARKED = 200
};

/* Adjacent strings that make one text: from the first quotation mark to the end of the last string. */
struct po_text {
    const char *begin, *end; /* begin NULL: there is none */
    size_t strings;
};

struct po_message {
    const char *begin;       /* of its comments */
    const char *keyword;     /* msgctxt or msgid, after them */
    const char *translation; /* msgstr */
    const char *end;         /* of the last string */
    size_t line;             /* of msgid */
    struct po_text context, id, plural;
    struct po_text forms[MOST_FORMS]; /* [form_count] one, unless it has a plural */
    size_t form_count;
};

/* The plural forms of a language. */
struct po_plurals {
    size_t forms, one; /* their number; the index of the form for one thing */
    const char *rule;  /* "nplurals=2; plural=(n != 1);" */
};

struct po_file {
    const struct document *document;
    const char *at; /* the file has been read up to here */
    size_t line;    /* from 1 */
    struct error *err;
    struct po_plurals plurals; /* of the messages from here on */
    char *room;                /* the rest of the room for decoded texts */
    struct po_message message; /* the current one */
    bool header, fuzzy, wanted;
    unsigned notations;           /* of its directives, by its flags */
    bool surplus;                 /* it has forms, not empty, beyond those of the language */
    struct html_bytes id, plural; /* decoded, if it is needed; for the header, id is its text */
};

/* ---- tokens ---- */

static const char *end_of(const struct po_file *file) {
    return file->document->source + file->document->length;
}

static int refuse(const struct po_file *file, const char *what) {
    return error_set(file->err, ERROR_INPUT, "line %zu: %s", file->line, what);
}

static void skip_space(struct po_file *file) {
    while (file->at < end_of(file) && strchr(" \t\n\r\f\v", *file->at))
        file->line += *file->at++ == '\n';
}

/* Skips white space and comments. *begin: the begin of the comments that belong to what follows. */
static void skip_comments(struct po_file *file, const char **begin) {
    const char *end = end_of(file);
    skip_space(file);
    *begin = file->at;
    while (file->at < end && *file->at == '#') {
        bool obsolete = end - file->at > 1 && file->at[1] == '~';
        const char *feed = memchr(file->at, '\n', (size_t)(end - file->at));
        file->at = feed ? feed : end;
        skip_space(file);
        if (obsolete)
            *begin = file->at;
    }
}

static bool take_keyword(struct po_file *file, const char *keyword) {
    const char *after = file->at + strlen(keyword), *end = end_of(file);
    if (!bytes_begin(file->at, end, keyword) || (after < end && (isalnum((unsigned char)*after) || *after == '_')))
        return false;
    file->at = after;
    skip_space(file);
    return true;
}

/* Returns the bytes of the escape that begins there; 0: it is invalid. *byte: the byte that it stands for. */
static size_t read_escape(const char *at, const char *end, char *byte) {
    static const char names[] = "nt\"\\rabfv", means[] = "\n\t\"\\\r\a\b\f\v";
    const char *name = at + 1 < end && at[1] ? strchr(names, at[1]) : NULL;
    bool hexadecimal = at + 1 < end && at[1] == 'x';
    const char *digits = at + 1 + hexadecimal, *c = digits;
    unsigned value = 0;
    for (; c < end && c - digits < (hexadecimal ? 2 : 3); c++) {
        if (hexadecimal ? !isxdigit((unsigned char)*c) : *c < '0' || *c > '7')
            break;
        value = value * (hexadecimal ? 16 : 8) +
                (unsigned)(isdigit((unsigned char)*c) ? *c - '0' : tolower((unsigned char)*c) - 'a' + 10);
    }
    *byte = name ? means[name - names] : (char)value;
    return name ? 2 : c > digits ? (size_t)(c - at) : 0;
}

/* Reads adjacent strings. */
static int read_text(struct po_file *file, struct po_text *text) {
    const char *end = end_of(file);
    *text = (struct po_text){.begin = file->at};
    while (file->at < end && *file->at == '"') {
        for (file->at++; file->at < end && *file->at != '"'; file->at++) {
            char byte;
            size_t escape = *file->at == '\\' ? read_escape(file->at, end, &byte) : 1;
            if (*file->at == '\n')
                return refuse(file, "unterminated string");
            if (escape == 0)
                return refuse(file, "invalid escape sequence");
            file->at += escape - 1;
        }
        if (file->at >= end)
            return refuse(file, "unterminated string");
        text->end = ++file->at;
        text->strings++;
        skip_space(file);
    }
    return text->strings > 0 ? 0 : refuse(file, "a string is expected here");
}

/* Decodes a text into the room. */
static struct html_bytes decode(struct po_file *file, const struct po_text *text) {
    char *begin = file->room;
    bool inside = false;
    for (const char *at = text->begin; at < text->end;) {
        size_t bytes = inside && *at == '\\' ? read_escape(at, text->end, file->room) : 1;
        if (bytes > 1)
            file->room++;
        else if (*at == '"')
            inside = !inside;
        else if (inside)
            *file->room++ = *at;
        at += bytes;
    }
    return bytes_between(begin, file->room);
}

/* True if there is no text, or only empty strings. */
static bool is_empty(const struct po_text *text) {
    bool inside = false;
    for (const char *at = text->begin; at < text->end; at++) {
        if (inside && *at != '"')
            return false;
        inside ^= *at == '"';
    }
    return true;
}

/* ---- messages ---- */

/* Returns 1 with the next message, 0 at the end, or -1 with ERROR_INPUT. */
static int read_message(struct po_file *file, struct po_message *out) {
    const char *end = end_of(file);
    struct po_text domain;
    *out = (struct po_message){0};
    skip_comments(file, &out->begin);
    while (take_keyword(file, "domain")) {
        if (read_text(file, &domain) != 0)
            return -1;
        skip_comments(file, &out->begin);
    }
    if (file->at == end)
        return 0;
    out->keyword = file->at;
    if (take_keyword(file, "msgctxt") && read_text(file, &out->context) != 0)
        return -1;
    out->line = file->line;
    if (!take_keyword(file, "msgid"))
        return refuse(file, out->context.begin ? "msgid is expected here" : "msgctxt or msgid is expected here");
    if (read_text(file, &out->id) != 0 || (take_keyword(file, "msgid_plural") && read_text(file, &out->plural) != 0))
        return -1;

    out->translation = file->at;
    if (!out->plural.begin && !take_keyword(file, "msgstr"))
        return refuse(file, "msgid_plural or msgstr is expected here");
    if (!out->plural.begin && file->at < end && *file->at == '[')
        return refuse(file, "this message has forms, but no msgid_plural");
    if (!out->plural.begin && read_text(file, &out->forms[out->form_count++]) != 0)
        return -1;
    while (out->plural.begin && take_keyword(file, "msgstr")) {
        if (out->form_count == MOST_FORMS)
            return refuse(file, "the message has too many forms");
        size_t number = 0, digits = 0;
        bool open = file->at < end && *file->at == '[';
        const char *at = file->at + open;
        for (; at < end && isdigit((unsigned char)*at) && digits < 4; at++, digits++)
            number = number * 10 + (size_t)(*at - '0');
        if (!open || digits == 0 || at == end || *at != ']' || number != out->form_count)
            return error_set(file->err, ERROR_INPUT, "line %zu: msgstr[%zu] is expected here", file->line, out->form_count);
        file->at = at + 1;
        skip_space(file);
        if (read_text(file, &out->forms[out->form_count++]) != 0)
            return -1;
    }
    if (out->form_count == 0)
        return refuse(file, "msgstr[0] is expected here");
    out->end = out->forms[out->form_count - 1].end;
    return 1;
}

/* The header is the message without a context whose id is empty. */
static bool is_header(const struct po_message *message) {
    return !message->context.begin && is_empty(&message->id);
}

static bool next_comment(const struct po_message *message, const char **at, struct html_bytes *line) {
    if (*at == message->keyword)
        return false;
    const char *end = memchr(*at, '\n', (size_t)(message->keyword - *at));
    *line = bytes_between(*at, end ? end + 1 : message->keyword);
    *at = line->start + line->length;
    return true;
}

static bool next_flag(struct html_bytes line, const char **at, struct html_bytes *flag) {
    if (line.length < 2 || memcmp(line.start, "#,", 2) != 0)
        return false;
    const char *end = line.start + line.length, *begin = *at ? *at : line.start + 2;
    while (begin < end && strchr(", \t\r\n", *begin))
        begin++;
    const char *after = begin;
    while (after < end && !strchr(", \t\r\n", *after))
        after++;
    *flag = bytes_between(begin, after);
    *at = after;
    return after > begin;
}

/* ---- plural forms ---- */

/* The rules are those of GNU gettext's manual, "Plural forms", and of its table of languages (plural-table.c). */
static const struct {
    const char *languages; /* separated by spaces */
    struct po_plurals plurals;
} table[] = {
    {"ja zh ko vi th id ms lo my km", {1, 0, "nplurals=1; plural=0;"}},
    {"fr pt-br pt_br oc", {2, 0, "nplurals=2; plural=(n > 1);"}},
    {"lv", {3, 0, "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2);"}},
    {"ga", {3, 0, "nplurals=3; plural=n==1 ? 0 : n==2 ? 1 : 2;"}},
    {"ro", {3, 0, "nplurals=3; plural=n==1 ? 0 : (n==0 || (n%100 > 0 && n%100 < 20)) ? 1 : 2;"}},
    {"lt", {3, 0, "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && (n%100<10 || n%100>=20) ? 1 : 2);"}},
    {"ru uk be sr hr bs",
     {3, 0, "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"}},
    {"cs sk", {3, 0, "nplurals=3; plural=(n==1) ? 0 : (n>=2 && n<=4) ? 1 : 2;"}},
    {"pl", {3, 0, "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"}},
    {"sl", {4, 0, "nplurals=4; plural=(n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || n%100==4 ? 2 : 3);"}},
    {"ar", {6, 1, "nplurals=6; plural=n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5;"}},
};
static const struct po_plurals usual = {2, 0, "nplurals=2; plural=(n != 1);"};

/* Finds the forms by the whole code or by its language alone; returns the most common forms if the language is unknown. */
static const struct po_plurals *plurals_of(const char *language) {
    size_t lengths[] = {strlen(language), strcspn(language, "-_@")};
    for (size_t whole = 0; whole < 2; whole++)
        for (size_t i = 0; i < sizeof table / sizeof *table; i++)
            if (bytes_among_any_case((struct html_bytes){language, lengths[whole]}, table[i].languages))
                return &table[i].plurals;
    return &usual;
}

/* ---- the header ---- */

static const char language_field[] = "Language", type_field[] = "Content-Type", plural_field[] = "Plural-Forms";

static bool is_field(const struct line *line, const char *name) {
    size_t length = strlen(name), bytes = (size_t)(line->end - line->begin);
    return bytes > length && strncasecmp(line->begin, name, length) == 0 && line->begin[length] == ':';
}

/* Returns the value of a field. Length 0: the field is empty or missing; if it is missing, start is NULL. */
static struct html_bytes find_field(struct html_bytes header, const char *name) {
    struct line line = {.next = header.start};
    while (line_next(&line, header.start + header.length))
        if (is_field(&line, name)) {
            line.begin += strlen(name) + 1;
            return line_trimmed(&line);
        }
    return (struct html_bytes){NULL, 0};
}

/* Returns the value after `name=` in a field, up to a semicolon or white space. */
static struct html_bytes find_parameter(struct html_bytes field, const char *name) {
    size_t length = strlen(name);
    if (!field.start)
        return field;
    const char *end = field.start + field.length;
    for (const char *at = field.start; (size_t)(end - at) > length; at++) {
        if (strncasecmp(at, name, length) != 0 || at[length] != '=')
            continue;
        const char *after = at + length + 1;
        while (after < end && !strchr("; \t", *after))
            after++;
        return bytes_between(at + length + 1, after);
    }
    return nothing;
}

/* Returns the number of forms; 0 if it is missing, not a number or exceeds MOST_FORMS. */
static size_t count_forms(struct html_bytes header) {
    struct html_bytes number = find_parameter(find_field(header, plural_field), "nplurals");
    size_t forms = 0;
    for (size_t i = 0; i < number.length && i < 3; i++) {
        if (number.start[i] < '0' || number.start[i] > '9')
            return 0;
        forms = forms * 10 + (size_t)(number.start[i] - '0');
    }
    return forms <= MOST_FORMS ? forms : 0;
}

/* True if the header has a rule that holds for the language. A header that names no language may have been copied from a file in
 * another: its rule holds if it is the rule of this language, but for white space, brackets and semicolons. */
static bool has_rule(struct html_bytes header, const char *language) {
    static const char ignored[] = " \t();";
    struct html_bytes field = find_field(header, language_field), rule = find_field(header, plural_field);
    const char *own = plurals_of(language)->rule;
    if (count_forms(header) == 0)
        return false;
    if (field.length > 0)
        return html_same_language(field, bytes_of(language));
    for (size_t i = 0;; i++, own++) {
        while (i < rule.length && strchr(ignored, rule.start[i]))
            i++;
        own += strspn(own, ignored);
        if (i == rule.length || !*own)
            return i == rule.length && !*own;
        if (rule.start[i] != *own)
            return false;
    }
}

static void put_field(struct html_buffer *out, const char *name, const char *value) {
    html_put_string(out, name);
    html_put_string(out, ": ");
    for (; *value; value++) /* the name of a locale has '_' */
        html_put(out, name == language_field && *value == '-' ? "_" : value, 1);
    html_put_string(out, "\n");
}

/* ---- the file ---- */

static int open_file(struct po_file *file, const struct document *document, struct arena *arena, struct error *err) {
    *file = (struct po_file){.document = document,
                             .at = document->source,
                             .line = 1,
                             .err = err,
                             .plurals = *plurals_of(document->language),
                             .room = arena_alloc(arena, document->length + 1, 1)};
    return file->room ? 0 : error_memory(err);
}

static bool lacks(const struct po_file *file, size_t form) {
    return file->fuzzy || form >= file->message.form_count || is_empty(&file->message.forms[form]);
}

static int next_message(struct po_file *file) {
    const struct po_message *message = &file->message;
    const char *language = file->document->language;
    struct html_bytes line, flag;
    int found = read_message(file, &file->message);
    if (found != 1)
        return found;
    file->header = is_header(message);
    file->fuzzy = file->wanted = file->surplus = false;
    file->notations = 0;
    for (const char *next = message->begin; next_comment(message, &next, &line);)
        for (const char *at = NULL; next_flag(line, &at, &flag);) {
            file->fuzzy |= bytes_are(flag, "fuzzy");
            file->notations |= directives_of(flag);
        }

    if (file->header) {
        file->id = decode(file, &message->forms[0]);
        file->header = messages_can_hold(file->id);
        if (!file->header) /* the header is not text and stays unchanged */
            return 1;
        size_t forms = count_forms(file->id);
        file->plurals = *plurals_of(language);
        if (has_rule(file->id, language) && forms != file->plurals.forms)
            file->plurals = (struct po_plurals){forms, 0, NULL};
        return 1;
    }

    /* A message may have fewer forms than its language, as in the file of a language with one form: the missing ones need
     * translations, too. It may have more forms, by the former rule of the file; those are surplus. */
    size_t forms = message->plural.begin ? file->plurals.forms : 1;
    for (size_t i = forms; message->plural.begin && i < message->form_count; i++)
        file->surplus |= !is_empty(&message->forms[i]);
    for (size_t i = 0; i < forms; i++)
        file->wanted |= lacks(file, i);
    if (!file->wanted)
        return 1;
    file->id = decode(file, &message->id);
    file->plural = message->plural.begin ? decode(file, &message->plural) : file->id;
    file->wanted = messages_can_hold(file->id) && messages_can_hold(file->plural);
    return 1;
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
    return text_label(text, length);
}

static size_t skip_directive(const struct html_marking *marking, const char *at, const char *end) {
    const struct message_owner *own = marking->owner;
    return directive_at(own->notations, at, end);
}

/* Returns the mark to put before a directive that takes the next argument, and nothing for others. */
static struct html_bytes mark_of(const struct message_owner *own, struct html_bytes directive) {
    bool next = directive_takes_next(own->notations, directive) && *own->marked < MOST_MARKED;
    char *mark = next ? arena_alloc(own->arena, 2, 1) : NULL;
    if (!mark)
        return nothing;
    mark[0] = MESSAGE_OWN;
    mark[1] = (char)(FIRST_MARK + (*own->marked)++);
    return (struct html_bytes){mark, 2};
}

/* Marks the directives in a tag: <a href="%s">. */
static struct html_bytes write_mark(const struct html_marking *marking, struct html_bytes mark, struct arena *arena) {
    const struct message_owner *owner = marking->owner;
    struct directive_scan scan = {.text = mark.start, .length = mark.length, .notations = owner->notations};
    struct html_buffer out = {.arena = arena};
    size_t at = 0;
    for (struct span found; scan.notations != 0 && directive_next(&scan, &found); at = found.begin) {
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
    struct directive_scan scan = {.text = text.start, .length = text.length, .notations = owner->notations};
    size_t at = 0;
    for (struct span found; directive_next(&scan, &found);) {
        struct html_bytes before = {text.start + at, found.begin - at}, word = {text.start + found.begin, found.end - found.begin};
        if (bytes_are(word, "{{") || bytes_are(word, "}}")) /* they stay next to words, like punctuation */
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

int po_read(const struct document *document, struct arena *arena, struct html *out, struct error *err) {
    struct html_builder builder = {.arena = arena,
                                   .html.spaced = true}; /* its pieces are decoded messages instead of bytes of the document */
    struct po_file file;
    int found = 0;
    if (open_file(&file, document, arena, err) != 0)
        return -1;
    while (!builder.failed && (found = next_message(&file)) == 1) {
        builder.line = file.message.line;
        if (!file.wanted)
            continue;
        add_message(&builder, file.id, file.notations);
        if (file.message.plural.begin)
            add_message(&builder, file.plural, file.notations);
    }
    if (found < 0)
        return -1;
    return arena_failed(arena) ? error_memory(err) : html_build(&builder, messages_put_translated, out, err);
}

/* ---- translations with their placeholders ---- */

struct found {
    struct html_bytes *all; /* [count] sorted */
    size_t count, room;
    size_t next;     /* the number of those that take the next argument */
    bool numberable; /* these can get numbers: no width is an argument, and no other has a number */
};

static int compare_bytes(const void *a, const void *b) {
    const struct html_bytes *x = a, *y = b;
    int order = memcmp(x->start, y->start, x->length < y->length ? x->length : y->length);
    return order != 0 ? order : x->length < y->length ? -1 : x->length > y->length;
}

/* Finds all placeholders of a text. Returns -1 if memory runs out. */
static int find_all(struct html_bytes text, unsigned notations, struct arena *arena, struct found *out) {
    struct directive_scan scan = {.text = text.start, .length = text.length, .notations = notations};
    *out = (struct found){.numberable = notations & DIRECTIVE_NUMBERED};
    for (struct span span; directive_next(&scan, &span);) {
        struct html_bytes one = {text.start + span.begin, span.end - span.begin};
        struct html_bytes *all = arena_grow(arena, out->all, out->count, &out->room, 1, sizeof *all);
        if (!all)
            return -1;
        out->all = all;
        all[out->count++] = one;
        bool next = directive_takes_next(notations, one);
        out->next += next;
        out->numberable &= next ? *one.start == '%' && !memchr(one.start, '*', one.length) : !memchr(one.start, '$', one.length);
    }
    if (out->count > 0)
        qsort(out->all, out->count, sizeof *out->all, compare_bytes);
    return 0;
}

/* ---- writing strings ---- */

struct po_writer {
    struct po_file file;
    struct html_bytes written; /* the messages that are still to come */
    const char *done;          /* the document up to here is in the output */
    const char *line_end;
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

/* Puts a text in one string, or over lines, each of which ends after its "\n" or after the last space within the width. */
static void put_text(struct po_writer *writer, struct html_bytes text, bool over_lines) {
    put_string(&writer->out, over_lines ? nothing : text);
    while (over_lines && text.length > 0) {
        size_t length = 0, width = 0, space = 0;
        for (; length < text.length && text.start[length] != '\n'; length++) {
            width += ((unsigned char)text.start[length] & 0xc0) != 0x80;
            if (width > LINE_WIDTH && space > 0)
                break;
            if (text.start[length] == ' ')
                space = length + 1;
        }
        if (length < text.length)
            length = text.start[length] == '\n' ? length + 1 : space;
        html_put_string(&writer->out, writer->line_end);
        put_string(&writer->out, (struct html_bytes){text.start, length});
        text = bytes_between(text.start + length, text.start + text.length);
    }
}

/* Puts the former header with the fields that a translation needs. */
static void put_fields(struct po_writer *writer, struct html_bytes former) {
    const char *language = writer->file.document->language;
    const struct html_bytes charset = find_parameter(find_field(former, type_field), "charset");
    const struct html_bytes field = find_field(former, language_field);
    const struct {
        const char *name, *value;
        bool anew; /* an existing field is rewritten; a missing one is always added */
    } fields[] = {
        {language_field, language, field.length == 0 || !html_same_language(field, bytes_of(language))},
        {"MIME-Version", "1.0", false},
        {type_field, "text/plain; charset=UTF-8", !bytes_are_any_case(charset, "UTF-8")},
        {"Content-Transfer-Encoding", "8bit", false},
        {plural_field, plurals_of(language)->rule, !has_rule(former, language)},
    };
    const size_t count = sizeof fields / sizeof *fields;
    struct html_buffer header = {.arena = writer->out.arena};
    struct line line = {.next = former.start};
    while (line_next(&line, former.start + former.length)) {
        size_t i = 0;
        while (i < count && (!fields[i].anew || !is_field(&line, fields[i].name)))
            i++;
        if (i < count)
            put_field(&header, fields[i].name, fields[i].value);
        else
            html_put(&header, line.begin, (size_t)(line.next - line.begin));
    }
    if (former.length > 0 && former.start[former.length - 1] != '\n')
        html_put_string(&header, "\n");
    for (size_t i = 0; i < count; i++)
        if (!find_field(former, fields[i].name).start)
            put_field(&header, fields[i].name, fields[i].value);
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
    for (const char *at = NULL; next_flag(line, &at, &flag);) {
        if (bytes_are(flag, "fuzzy"))
            continue;
        html_put_string(&writer->out, count++ > 0 ? ", " : "#, ");
        html_put(&writer->out, flag.start, flag.length);
    }
    if (count > 0)
        html_put_string(&writer->out, writer->line_end);
}

/* Puts everything up to the first keyword of the message. A former source (#|) is dropped with the fuzzy translation. */
static void put_comments(struct po_writer *writer, bool fuzzy) {
    const struct po_message *message = &writer->file.message;
    bool was_fuzzy = writer->file.fuzzy, flagged = false;
    struct html_bytes line;
    put_between(writer, writer->done, message->begin);
    for (const char *next = message->begin; next_comment(message, &next, &line);) {
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

/* The translation of a form of a message. */
struct form {
    struct html_bytes text;
    bool translated;
    bool sound; /* it has all placeholders and marks of the source, and programs fill them alike */
};

/* Takes the next form from the written messages. Returns -1 if memory runs out. */
static int next_form(struct po_writer *writer, struct html_bytes source, struct form *out) {
    struct arena *arena = writer->out.arena;
    unsigned notations = writer->file.notations;
    struct html_bytes message = messages_next(&writer->written);
    struct html_buffer plain = {.arena = arena}, numbered = {.arena = arena};
    size_t marks = 0;
    bool ordered = true;
    *out = (struct form){0};

    /* Write the form as it was made, and with a number in each directive that takes the next argument. */
    html_put(&plain, "", 0);
    html_put(&numbered, "", 0);
    for (const char *at = message.start, *end = at + message.length; at < end;) {
        const char *begin = at;
        while (at < end && *at != MESSAGE_TRANSLATED && *at != MESSAGE_OWN)
            at++;
        html_put(&plain, begin, (size_t)(at - begin));
        html_put(&numbered, begin, (size_t)(at - begin));
        if (at < end && *at == MESSAGE_TRANSLATED) {
            out->translated = true;
            at++;
        } else if (at < end) {
            size_t which = (size_t)((unsigned char)at[1] - FIRST_MARK);
            char number[NUMBER_BYTES];
            snprintf(number, sizeof number, "%zu$", which + 1);
            ordered &= which == marks++;
            html_put(&plain, at + 2, 1);
            html_put(&numbered, at + 2, 1);
            html_put_string(&numbered, number);
            at += 3;
        }
    }
    if (plain.failed || numbered.failed)
        return -1;
    out->text = (struct html_bytes){plain.bytes, plain.length};
    if (icu_message_is(source.start, source.length)) {
        struct html_bytes written = out->text;
        out->sound = messages_settle_icu(source, written, arena, &out->text);
        return 0;
    }

    struct found there, here;
    if (find_all(source, notations, arena, &there) != 0 || find_all(out->text, notations, arena, &here) != 0)
        return -1;
    bool same = there.count == here.count, complete = marks == there.next;
    for (size_t i = 0; same && i < here.count; i++)
        same = bytes_same(there.all[i], here.all[i]);
    out->sound = same && complete && (ordered || there.numberable) && html_same_marks(source, out->text, true);
    if (!ordered && complete && there.numberable)
        out->text = (struct html_bytes){numbered.bytes, numbered.length};
    return 0;
}

/* Puts a message that needs a translation, if it has one; finished forms stay. Returns -1 if memory runs out. */
static int put_wanted(struct po_writer *writer) {
    const struct po_file *file = &writer->file;
    const struct po_message *message = &file->message;
    const struct po_plurals *plurals = &file->plurals;
    struct form one, many = {.sound = true};
    bool plural = message->plural.begin;
    if (next_form(writer, file->id, &one) != 0 || (plural && next_form(writer, file->plural, &many) != 0))
        return -1;
    if (!one.translated && !many.translated)
        return 0;
    put_comments(writer, !one.sound || !many.sound || (plural && (plurals->forms > 2 || file->surplus)));
    put_between(writer, message->keyword, plural ? message->translation : message->forms[0].begin);
    if (!plural)
        put_text(writer, one.text, message->id.strings > 1);
    for (size_t i = 0; plural && i < plurals->forms; i++) {
        bool is_one = plurals->forms > 1 && i == plurals->one;
        char index[sizeof "msgstr[] " + NUMBER_BYTES];
        snprintf(index, sizeof index, "msgstr[%zu] ", i);
        html_put_string(&writer->out, i > 0 ? writer->line_end : "");
        html_put_string(&writer->out, index);
        if (lacks(file, i))
            put_text(writer, is_one ? one.text : many.text, (is_one ? &message->id : &message->plural)->strings > 1);
        else
            put_between(writer, message->forms[i].begin, message->forms[i].end);
    }
    writer->done = message->end;
    return 0;
}

char *po_finish(const struct document *document, const char *written, size_t written_length, struct arena *arena,
                size_t *out_length, struct error *err) {
    struct po_writer writer = {.written = {written, written_length}, .done = document->source, .out.arena = arena};
    struct po_file ahead = {.document = document, .at = document->source, .line = 1};
    const struct po_file *file = &writer.file;
    const struct po_message *message = &file->message;
    const char *feed = memchr(document->source, '\n', document->length);
    int header;
    writer.line_end = feed && feed > document->source && feed[-1] == '\r' ? "\r\n" : "\n";
    html_put(&writer.out, "", 0);
    if (!messages_translated(writer.written)) {
        html_put(&writer.out, document->source, document->length);
        return html_take(&writer.out, out_length, err);
    }
    if (open_file(&writer.file, document, arena, err) != 0)
        return NULL;
    while ((header = read_message(&ahead, &ahead.message)) == 1 && !is_header(&ahead.message))
        ;
    if (header != 1) { /* without a header the file has no character set */
        html_put_string(&writer.out, "msgid \"\"");
        html_put_string(&writer.out, writer.line_end);
        html_put_string(&writer.out, "msgstr ");
        put_fields(&writer, nothing);
        html_put_string(&writer.out, writer.line_end);
        html_put_string(&writer.out, writer.line_end);
    }
    while (next_message(&writer.file) == 1) {
        if (file->header) {
            put_comments(&writer, false);
            put_between(&writer, message->keyword, message->forms[0].begin);
            put_fields(&writer, file->id);
            writer.done = message->end;
        } else if (file->wanted && put_wanted(&writer) != 0) {
            return error_memory(err), NULL;
        } else if (file->surplus && writer.done < message->end) {
            /* The language has fewer forms than the message: the first ones stay, for a person to review. */
            put_comments(&writer, true);
            put_between(&writer, message->keyword, message->forms[file->plurals.forms - 1].end);
            writer.done = message->end;
        }
    }
    put_between(&writer, writer.done, document->source + document->length);
    return html_take(&writer.out, out_length, err);
}
