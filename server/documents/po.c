/* This file translates gettext's PO (its manual, "The Format of PO Files"). Messages without a
 * translation, or with a fuzzy one, are translated, the header gets the fields of the language, and
 * everything else stays byte for byte. All directives for programs in a message (%s, %(name)d, {0},
 * $HOME, according to its flags) must be in its translation, too. If they are not, or if a language
 * has more forms than the two that were translated, or fewer than the message had, the message is
 * fuzzy: programs ignore it, and people review it.
 *
 * gettext's library (libgettextpo) is not used: it ends the process if memory runs out, keeps its
 * data in global variables, and does not report where in the file a message stands. */
#include "model/base/utf8.h"
#include "server/documents/plurals.h"
#include "server/documents/spans.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum {
    MOST_FORMS = 16,
    LINE_WIDTH = 77, /* characters between the quotation marks of a line */
    NUMBER_BYTES = 24
};

/* Adjacent strings that make one text: from the first quotation mark to the end of the last string.
 */
struct po_text {
    const char *begin, *end; /* begin NULL: there is none */
    size_t strings;
};

struct po_message {
    const char *begin;       /* beginning of the message's comments */
    const char *keyword;     /* msgctxt or msgid, after them */
    const char *translation; /* msgstr */
    const char *end;         /* end of the last string */
    size_t line;             /* number of msgid's line */
    struct po_text context, id, plural;
    struct po_text *forms; /* [form_count] one, unless it has a plural */
    size_t form_count;
};

/* A message with what its span tells the writer. */
struct po_entry {
    struct po_message message;
    struct plural_forms plurals; /* the file's plural forms at this place */
    unsigned notations;          /* notations of the message's directives, by its flags */
    bool header, fuzzy, wanted;
    bool surplus;            /* it has forms, not empty, beyond those of the language */
    struct bytes id, plural; /* decoded, if it is needed; for the header, id is its text */
};

struct po_file {
    const struct document *document;
    const char *at; /* the file has been read up to here */
    size_t line;    /* from 1 */
    struct error *err;
    char *room;                       /* the rest of the room for decoded texts */
    struct po_text forms[MOST_FORMS]; /* texts of the current message's forms */
    struct po_entry entry;            /* the current one */
    bool has_header;
    const char *line_end; /* the file's line end: "\n" or "\r\n" */
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
    if (!bytes_begin(file->at, end, keyword) ||
        (after < end && (isalnum((unsigned char)*after) || *after == '_')))
        return false;
    file->at = after;
    skip_space(file);
    return true;
}

/* Returns the bytes of the escape that begins there; 0: it is invalid. *byte: the byte that it
 * stands for. */
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
                (unsigned)(isdigit((unsigned char)*c) ? *c - '0'
                                                      : tolower((unsigned char)*c) - 'a' + 10);
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
static struct bytes decode(struct po_file *file, const struct po_text *text) {
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
    *out = (struct po_message){.forms = file->forms};
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
        return refuse(file, out->context.begin ? "msgid is expected here"
                                               : "msgctxt or msgid is expected here");
    if (read_text(file, &out->id) != 0 ||
        (take_keyword(file, "msgid_plural") && read_text(file, &out->plural) != 0))
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
            return error_set(file->err, ERROR_INPUT, "line %zu: msgstr[%zu] is expected here",
                             file->line, out->form_count);
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

static bool next_comment(const struct po_message *message, const char **at, struct bytes *line) {
    if (*at == message->keyword)
        return false;
    const char *end = memchr(*at, '\n', (size_t)(message->keyword - *at));
    *line = bytes_between(*at, end ? end + 1 : message->keyword);
    *at = line->start + line->length;
    return true;
}

static bool next_flag(struct bytes line, const char **at, struct bytes *flag) {
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

/* ---- the header ---- */

static const char language_field[] = "Language", type_field[] = "Content-Type",
                  plural_field[] = "Plural-Forms";

static bool is_field(const struct line *line, const char *name) {
    size_t length = strlen(name), bytes = (size_t)(line->end - line->begin);
    return bytes > length && strncasecmp(line->begin, name, length) == 0 &&
           line->begin[length] == ':';
}

/* Returns the value of a field. Length 0: the field is empty or missing; if it is missing, start is
 * NULL. */
static struct bytes find_field(struct bytes header, const char *name) {
    struct line line = {.next = header.start};
    while (lines_next(&line, header.start + header.length))
        if (is_field(&line, name)) {
            line.begin += strlen(name) + 1;
            return lines_trimmed(&line);
        }
    return (struct bytes){NULL, 0};
}

/* Returns the value after `name=` in a field, up to a semicolon or white space. */
static struct bytes find_parameter(struct bytes field, const char *name) {
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
static size_t count_forms(struct bytes header) {
    struct bytes number = find_parameter(find_field(header, plural_field), "nplurals");
    size_t forms = 0;
    for (size_t i = 0; i < number.length && i < 3; i++) {
        if (number.start[i] < '0' || number.start[i] > '9')
            return 0;
        forms = forms * 10 + (size_t)(number.start[i] - '0');
    }
    return forms <= MOST_FORMS ? forms : 0;
}

/* True if the header has a rule that holds for the language. A header that names no language may
 * have been copied from a file in another: its rule holds if it is the rule of this language, but
 * for white space, brackets and semicolons. */
static bool has_rule(struct bytes header, const char *language) {
    static const char ignored[] = " \t();";
    struct bytes field = find_field(header, language_field),
                 rule = find_field(header, plural_field);
    const char *own = plurals_forms(language)->rule;
    if (count_forms(header) == 0)
        return false;
    if (field.length > 0)
        return bytes_same_language(field, bytes_of(language));
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

static void put_field(struct bytes_buffer *out, const char *name, const char *value) {
    bytes_put_string(out, name);
    bytes_put_string(out, ": ");
    for (; *value; value++) /* the name of a locale has '_' */
        bytes_put(out, name == language_field && *value == '-' ? "_" : value, 1);
    bytes_put_string(out, "\n");
}

/* ---- the file ---- */

static bool lacks(const struct po_entry *entry, size_t form) {
    return entry->fuzzy || form >= entry->message.form_count ||
           is_empty(&entry->message.forms[form]);
}

/* True for the messages in which GNOME's and KDE's programs expect the names and addresses of their
 * translators. */
static bool names_translators(struct bytes id) {
    static const char *const ids[] = {"translator-credits", "translator_credits", "Your names",
                                      "Your emails"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (bytes_are(id, ids[i]))
            return true;
    return false;
}

static int next_message(struct po_file *file) {
    struct po_entry *entry = &file->entry;
    const struct po_message *message = &entry->message;
    const char *language = file->document->language;
    struct bytes line, flag;
    int found = read_message(file, &entry->message);
    if (found != 1)
        return found;
    entry->header = is_header(message);
    file->has_header |= entry->header;
    entry->fuzzy = entry->wanted = entry->surplus = false;
    entry->notations = NOTATION_DIGIT;
    for (const char *next = message->begin; next_comment(message, &next, &line);)
        for (const char *at = NULL; next_flag(line, &at, &flag);) {
            entry->fuzzy |= bytes_are(flag, "fuzzy");
            entry->notations |= directive_all(flag);
        }

    if (entry->header) {
        entry->id = decode(file, &message->forms[0]);
        entry->header = messages_can_hold(entry->id);
        if (!entry->header) /* the header is not text and stays unchanged */
            return 1;
        size_t forms = count_forms(entry->id);
        entry->plurals = *plurals_forms(language);
        if (has_rule(entry->id, language) && forms != entry->plurals.forms)
            entry->plurals = (struct plural_forms){forms, 0, NULL};
        return 1;
    }

    /* A message may have fewer forms than its language, as in the file of a language with one form:
     * the missing ones need translations, too. It may have more forms, by the former rule of the
     * file; those are surplus. */
    size_t forms = message->plural.begin ? entry->plurals.forms : 1;
    for (size_t i = forms; message->plural.begin && i < message->form_count; i++)
        entry->surplus |= !is_empty(&message->forms[i]);
    for (size_t i = 0; i < forms; i++)
        entry->wanted |= lacks(entry, i);
    if (!entry->wanted)
        return 1;
    entry->id = decode(file, &message->id);
    entry->plural = message->plural.begin ? decode(file, &message->plural) : entry->id;
    entry->wanted = messages_can_hold(entry->id) && messages_can_hold(entry->plural) &&
                    !names_translators(entry->id);
    return 1;
}

/* ---- writing strings ---- */

static void put_string(struct bytes_buffer *out, struct bytes text) {
    static const char means[] = "\n\t\r\"\\", names[] = "ntr\"\\";
    bytes_put_string(out, "\"");
    for (size_t at = 0; at < text.length; at++) {
        size_t plain = at;
        while (at < text.length && !strchr(means, text.start[at]))
            at++;
        bytes_put(out, text.start + plain, at - plain);
        if (at < text.length)
            bytes_put(out, (const char[]){'\\', names[strchr(means, text.start[at]) - means]}, 2);
    }
    bytes_put_string(out, "\"");
}

static const char *line_end_of(const struct span_writer *writer) {
    return ((const struct po_file *)writer->about)->line_end;
}

/* Puts a text in one string, or over lines, each of which ends after its "\n" or after the last
 * space within the width. */
static void put_text(struct span_writer *writer, struct bytes text, bool over_lines) {
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
        bytes_put_string(&writer->out, line_end_of(writer));
        put_string(&writer->out, (struct bytes){text.start, length});
        text = bytes_between(text.start + length, text.start + text.length);
    }
}

/* Puts the former header with the fields that a translation needs. */
static void put_fields(struct span_writer *writer, struct bytes former) {
    const char *language = writer->document->language;
    const struct bytes charset = find_parameter(find_field(former, type_field), "charset");
    const struct bytes field = find_field(former, language_field);
    const struct {
        const char *name, *value;
        bool anew; /* an existing field is rewritten; a missing one is always added */
    } fields[] = {
        {language_field, language,
         field.length == 0 || !bytes_same_language(field, bytes_of(language))},
        {"MIME-Version", "1.0", false},
        {type_field, "text/plain; charset=UTF-8", !bytes_are_any_case(charset, "UTF-8")},
        {"Content-Transfer-Encoding", "8bit", false},
        {plural_field, plurals_forms(language)->rule, !has_rule(former, language)},
    };
    const size_t count = sizeof fields / sizeof *fields;
    struct bytes_buffer header = {.arena = writer->out.arena};
    struct line line = {.next = former.start};
    while (lines_next(&line, former.start + former.length)) {
        size_t i = 0;
        while (i < count && (!fields[i].anew || !is_field(&line, fields[i].name)))
            i++;
        if (i < count)
            put_field(&header, fields[i].name, fields[i].value);
        else
            bytes_put(&header, line.begin, (size_t)(line.next - line.begin));
    }
    if (former.length > 0 && former.start[former.length - 1] != '\n')
        bytes_put_string(&header, "\n");
    for (size_t i = 0; i < count; i++)
        if (!find_field(former, fields[i].name).start)
            put_field(&header, fields[i].name, fields[i].value);
    writer->out.failed |= header.failed;
    put_text(writer, (struct bytes){header.bytes, header.length}, true);
}

/* ---- writing messages ---- */

/* Puts a line of flags with "fuzzy" at its begin, or without it. */
static void put_flags(struct span_writer *writer, struct bytes line, bool fuzzy) {
    struct bytes flag;
    size_t count = fuzzy;
    bytes_put_string(&writer->out, fuzzy ? "#, fuzzy" : "");
    for (const char *at = NULL; next_flag(line, &at, &flag);) {
        if (bytes_are(flag, "fuzzy"))
            continue;
        bytes_put_string(&writer->out, count++ > 0 ? ", " : "#, ");
        bytes_put(&writer->out, flag.start, flag.length);
    }
    if (count > 0)
        bytes_put_string(&writer->out, line_end_of(writer));
}

/* Puts everything up to the first keyword of the message. A former source (#|) is dropped with the
 * fuzzy translation. */
static void put_comments(struct span_writer *writer, const struct po_entry *entry, bool fuzzy) {
    const struct po_message *message = &entry->message;
    bool flagged = false;
    struct bytes line;
    span_keep(writer, message->begin);
    for (const char *next = message->begin; next_comment(message, &next, &line);) {
        char kind = line.length > 1 && *line.start == '#' ? line.start[1] : ' ';
        if (kind == ',' && fuzzy != entry->fuzzy) {
            put_flags(writer, line, fuzzy && !flagged);
            flagged = true;
        } else if (kind != '|' || !entry->fuzzy) {
            bytes_put(&writer->out, line.start, line.length);
        }
    }
    if (fuzzy && !entry->fuzzy && !flagged)
        put_flags(writer, nothing, true);
    span_skip(writer, message->keyword);
}

/* Puts a message that needs a translation, if it has one; finished forms stay. */
static void put_wanted(struct span_writer *writer, const struct po_entry *entry,
                       const struct document_span *span, const struct span_written *texts) {
    const struct po_message *message = &entry->message;
    const struct plural_forms *plurals = &entry->plurals;
    struct span_written one = texts[0], many = {.sound = true};
    bool plural = message->plural.begin;
    directives_settle(writer, entry->id, entry->notations, &span->texts[0], &one);
    if (plural) {
        many = texts[1];
        directives_settle(writer, entry->plural, entry->notations, &span->texts[1], &many);
    }
    if (!one.translated && !many.translated)
        return;
    put_comments(writer, entry,
                 !one.sound || !many.sound || (plural && (plurals->forms > 2 || entry->surplus)));
    span_keep(writer, plural ? message->translation : message->forms[0].begin);
    if (!plural)
        put_text(writer, one.text, message->id.strings > 1);
    for (size_t i = 0; plural && i < plurals->forms; i++) {
        bool is_one = plurals->forms > 1 && i == plurals->one;
        char index[sizeof "msgstr[] " + NUMBER_BYTES];
        snprintf(index, sizeof index, "msgstr[%zu] ", i);
        bytes_put_string(&writer->out, i > 0 ? line_end_of(writer) : "");
        bytes_put_string(&writer->out, index);
        if (lacks(entry, i))
            put_text(writer, is_one ? one.text : many.text,
                     (is_one ? &message->id : &message->plural)->strings > 1);
        else
            bytes_put(&writer->out, message->forms[i].begin,
                      (size_t)(message->forms[i].end - message->forms[i].begin));
    }
    span_skip(writer, message->end);
}

/* A span_put. */
static void put_entry(struct span_writer *writer, const struct document_span *span,
                      const struct span_written *texts) {
    const struct po_entry *entry = span->about;
    const struct po_file *file = writer->about;
    if (!entry && !file->has_header) { /* without a header the file has no character set */
        bytes_put_string(&writer->out, "msgid \"\"");
        bytes_put_string(&writer->out, line_end_of(writer));
        bytes_put_string(&writer->out, "msgstr ");
        put_fields(writer, nothing);
        bytes_put_string(&writer->out, line_end_of(writer));
        bytes_put_string(&writer->out, line_end_of(writer));
    }
    if (!entry)
        return;
    const struct po_message *message = &entry->message;
    if (entry->header) {
        put_comments(writer, entry, false);
        span_keep(writer, message->forms[0].begin);
        put_fields(writer, entry->id);
        span_skip(writer, message->end);
    } else if (entry->wanted) {
        put_wanted(writer, entry, span, texts);
    }
    if (entry->surplus && writer->done < message->end) {
        /* The language has fewer forms than the message: the first ones stay, for a person to
         * review. */
        put_comments(writer, entry, true);
        span_keep(writer, message->forms[entry->plurals.forms - 1].end);
        span_skip(writer, message->end);
    }
}

/* ---- messages become pieces ---- */

/* A text_lead: a bullet, or the option that a line of help describes, up to the column where the
 * description begins. */
static size_t find_lead(const char *text, size_t length) {
    for (size_t at = 1; *text == '-' && at + 1 < length; at++) {
        bool gap = text[at] == '\t' || (text[at] == ' ' && text[at + 1] == ' ');
        while (gap && (text[at] == ' ' || text[at] == '\t'))
            if (++at == length)
                return 0;
        if (gap)
            return at;
    }
    return lines_label(text, length);
}

/* Copies a message that a translated file changes, with its forms. Returns NULL if memory runs out.
 */
static struct po_entry *keep_entry(const struct po_entry *entry, struct arena *arena) {
    struct po_entry *kept = arena_alloc(arena, 1, sizeof *kept);
    struct po_text *forms = arena_alloc(arena, entry->message.form_count, sizeof *forms);
    if (!kept || !forms)
        return NULL;
    memcpy(forms, entry->message.forms, entry->message.form_count * sizeof *forms);
    *kept = *entry;
    kept->message.forms = forms;
    return kept;
}

int po_read(const struct document *document, struct arena *arena, struct markup *out,
            struct error *err) {
    /* its pieces are decoded messages instead of bytes of the document */
    struct piece_builder builder = {.arena = arena, .markup.spaced = true};
    struct document_spans *spans = arena_zalloc(arena, 1, sizeof *spans);
    struct po_file *file = arena_zalloc(arena, 1, sizeof *file);
    char *room = arena_alloc(arena, document->length + 1, 1);
    const char *source = document->source, *feed = memchr(source, '\n', document->length);
    int found = 0;
    if (arena_failed(arena))
        return error_memory(err);
    *file = (struct po_file){.document = document,
                             .at = source,
                             .line = 1,
                             .err = err,
                             .entry.plurals = *plurals_forms(document->language),
                             .room = room,
                             .line_end = feed && feed > source && feed[-1] == '\r' ? "\r\n" : "\n"};
    spans->about = file;
    spans->put = put_entry;
    spans_add(spans, &builder, source, source, NULL); /* the place of a header that is missing */
    while (!builder.failed && (found = next_message(file)) == 1) {
        const struct po_entry *entry = &file->entry;
        builder.line = entry->message.line;
        if (!entry->header && !entry->wanted && !entry->surplus)
            continue;
        struct po_entry *kept = keep_entry(entry, arena);
        spans_add(spans, &builder, entry->message.begin, entry->message.end, kept);
        if (kept && entry->wanted)
            directives_add(spans, &builder, entry->id, entry->notations, find_lead);
        if (kept && entry->wanted && entry->message.plural.begin)
            directives_add(spans, &builder, entry->plural, entry->notations, find_lead);
    }
    if (found < 0)
        return -1;
    return arena_failed(arena) ? error_memory(err) : spans_build(spans, &builder, NULL, out, err);
}
