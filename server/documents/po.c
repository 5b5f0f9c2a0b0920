/* The syntax of PO files, the fields of the header, and the messages that need a translation. gettext's library (libgettextpo) is
 * not used: it ends the process if memory runs out, keeps its data in global variables, and does not report where in the file a
 * message stands. */
#include "server/documents/po.h"
#include "model/base/utf8.h"
#include <ctype.h>
#include <strings.h>

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

/* Skips white space and comments. *begin: of the comments that belong to what follows. */
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

/* Reads the [1] after msgstr. */
static int read_index(struct po_file *file, size_t index) {
    size_t number = 0, digits = 0;
    const char *end = end_of(file);
    bool open = file->at < end && *file->at == '[';
    const char *at = file->at + open;
    for (; at < end && isdigit((unsigned char)*at) && digits < 4; at++, digits++)
        number = number * 10 + (size_t)(*at - '0');
    if (!open || digits == 0 || at == end || *at != ']' || number != index)
        return error_set(file->err, ERROR_INPUT, "line %zu: msgstr[%zu] is expected here", file->line, index);
    file->at = at + 1;
    skip_space(file);
    return 0;
}

static int read_translation(struct po_file *file, struct po_message *out) {
    out->translation = file->at;
    if (!out->plural.begin) {
        if (!take_keyword(file, "msgstr"))
            return refuse(file, "msgid_plural or msgstr is expected here");
        if (file->at < end_of(file) && *file->at == '[')
            return refuse(file, "this message has forms, but no msgid_plural");
        out->form_count = 1;
        return read_text(file, &out->forms[0]);
    }
    while (take_keyword(file, "msgstr")) {
        if (out->form_count == PO_MOST_FORMS)
            return refuse(file, "the message has too many forms");
        if (read_index(file, out->form_count) != 0 || read_text(file, &out->forms[out->form_count]) != 0)
            return -1;
        out->form_count++;
    }
    return out->form_count > 0 ? 0 : refuse(file, "msgstr[0] is expected here");
}

/* Like po_file_next, without looking at what the message says. */
static int read_message(struct po_file *file, struct po_message *out) {
    struct po_text domain;
    *out = (struct po_message){0};
    skip_comments(file, &out->begin);
    while (take_keyword(file, "domain")) {
        if (read_text(file, &domain) != 0)
            return -1;
        skip_comments(file, &out->begin);
    }
    if (file->at == end_of(file))
        return 0;
    out->keyword = file->at;
    if (take_keyword(file, "msgctxt") && read_text(file, &out->context) != 0)
        return -1;
    out->line = file->line;
    if (!take_keyword(file, "msgid"))
        return refuse(file, out->context.begin ? "msgid is expected here" : "msgctxt or msgid is expected here");
    if (read_text(file, &out->id) != 0 || (take_keyword(file, "msgid_plural") && read_text(file, &out->plural) != 0) ||
        read_translation(file, out) != 0)
        return -1;
    out->end = out->forms[out->form_count - 1].end;
    return 1;
}

/* The header is the message without a context whose id is empty. */
static bool is_header(const struct po_message *message) {
    return !message->context.begin && is_empty(&message->id);
}

bool po_has_header(const struct document *document) {
    struct po_file file = {.document = document, .at = document->source, .line = 1};
    while (read_message(&file, &file.message) == 1)
        if (is_header(&file.message))
            return true;
    return false;
}

bool po_next_comment(const struct po_message *message, const char **at, struct html_bytes *line) {
    if (*at == message->keyword)
        return false;
    const char *end = memchr(*at, '\n', (size_t)(message->keyword - *at));
    *line = bytes_between(*at, end ? end + 1 : message->keyword);
    *at = line->start + line->length;
    return true;
}

bool po_next_flag(struct html_bytes line, const char **at, struct html_bytes *flag) {
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

static bool is_fuzzy(const struct po_message *message) {
    struct html_bytes line, flag;
    for (const char *next = message->begin; po_next_comment(message, &next, &line);)
        for (const char *at = NULL; po_next_flag(line, &at, &flag);)
            if (bytes_are(flag, "fuzzy"))
                return true;
    return false;
}

/* ---- plural forms ---- */

/* GNU gettext's manual, "Plural forms", and its table of languages (plural-table.c). */
static const struct {
    const char *languages; /* separated by spaces */
    struct po_plurals plurals;
} table[] = {
    {"ja zh ko vi th id ms lo my km", {1, 0, "nplurals=1; plural=0;"}},
    {"fr pt_br oc", {2, 0, "nplurals=2; plural=(n > 1);"}},
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

/* True if the code is in the list; case does not matter, and '-' in it equals '_'. */
static bool is_listed(const char *list, const char *code, size_t length) {
    for (const char *at = list; *at; at += strspn(at, " ")) {
        size_t bytes = strcspn(at, " "), same = 0;
        while (same < bytes && same < length &&
               (strncasecmp(at + same, code + same, 1) == 0 || (at[same] == '_' && code[same] == '-')))
            same++;
        if (bytes == length && same == length)
            return true;
        at += bytes;
    }
    return false;
}

/* The forms of a language by its whole code or by its language alone; the most common forms if it is unknown. */
static const struct po_plurals *plurals_of(const char *language) {
    size_t lengths[] = {strlen(language), strcspn(language, "-_@")};
    for (size_t whole = 0; whole < 2; whole++)
        for (size_t i = 0; i < sizeof table / sizeof *table; i++)
            if (is_listed(table[i].languages, language, lengths[whole]))
                return &table[i].plurals;
    return &usual;
}

/* ---- the header ---- */

static const char language_field[] = "Language", type_field[] = "Content-Type", plural_field[] = "Plural-Forms";

static bool is_field(const struct line *line, const char *name) {
    size_t length = strlen(name), bytes = (size_t)(line->end - line->begin);
    return bytes > length && strncasecmp(line->begin, name, length) == 0 && line->begin[length] == ':';
}

/* The value of a field. Length 0: the field is empty or missing; if it is missing, start is NULL. */
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
    if (field.length == 0)
        return (struct html_bytes){"", 0};
    const char *end = field.start + field.length;
    for (const char *at = field.start; (size_t)(end - at) > length; at++) {
        if (strncasecmp(at, name, length) != 0 || at[length] != '=')
            continue;
        const char *after = at + length + 1;
        while (after < end && !strchr("; \t", *after))
            after++;
        return bytes_between(at + length + 1, after);
    }
    return (struct html_bytes){"", 0};
}

static bool is_charset(struct html_bytes charset, const char *name) {
    return charset.length == strlen(name) && strncasecmp(charset.start, name, charset.length) == 0;
}

/* False if the character set of the file is not UTF-8. */
static bool is_utf8(struct html_bytes header, struct html_bytes *charset) {
    static const char *const known[] = {"UTF-8", "UTF8", "US-ASCII", "ASCII", "CHARSET" /* of a template */};
    *charset = find_parameter(find_field(header, type_field), "charset");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is_charset(*charset, known[i]))
            return true;
    return charset->length == 0;
}

/* The number of forms; 0 if it is missing or exceeds PO_MOST_FORMS. */
static size_t count_forms(struct html_bytes header) {
    struct html_bytes number = find_parameter(find_field(header, plural_field), "nplurals");
    size_t forms = 0;
    for (size_t i = 0; i < number.length && i < 3; i++) {
        if (number.start[i] < '0' || number.start[i] > '9')
            return 0;
        forms = forms * 10 + (size_t)(number.start[i] - '0');
    }
    return forms <= PO_MOST_FORMS ? forms : 0;
}

/* True if two rules differ only in white space, brackets and semicolons. */
static bool is_same_rule(struct html_bytes a, const char *b) {
    static const char ignored[] = " \t();";
    for (size_t i = 0;; i++, b++) {
        while (i < a.length && strchr(ignored, a.start[i]))
            i++;
        b += strspn(b, ignored);
        if (i == a.length || !*b)
            return i == a.length && !*b;
        if (a.start[i] != *b)
            return false;
    }
}

/* True if the header has a rule that holds for the language. A header that names no language may have been copied from a file in
 * another: its rule holds if it is the rule of this language. */
static bool has_rule(struct html_bytes header, const char *language) {
    struct html_bytes field = find_field(header, language_field);
    if (count_forms(header) == 0)
        return false;
    if (field.length > 0)
        return bytes_are_language(field, language);
    return is_same_rule(find_field(header, plural_field), plurals_of(language)->rule);
}

static void put_field(struct html_buffer *out, const char *name, const char *value) {
    html_put_string(out, name);
    html_put_string(out, ": ");
    for (; *value; value++) /* the name of a locale has '_' */
        html_put(out, name == language_field && *value == '-' ? "_" : value, 1);
    html_put_string(out, "\n");
}

void po_header_put(struct html_buffer *out, struct html_bytes header, const char *language) {
    struct html_bytes charset, field = find_field(header, language_field);
    const struct {
        const char *name, *value;
        bool anew; /* it is rewritten if it is there; it is added if not */
    } fields[] = {
        {language_field, language, field.length == 0 || !bytes_are_language(field, language)},
        {"MIME-Version", "1.0", false},
        {type_field, "text/plain; charset=UTF-8", !is_utf8(header, &charset) || !is_charset(charset, "UTF-8")},
        {"Content-Transfer-Encoding", "8bit", false},
        {plural_field, plurals_of(language)->rule, !has_rule(header, language)},
    };
    const size_t count = sizeof fields / sizeof *fields;
    struct line line = {.next = header.start};
    while (line_next(&line, header.start + header.length)) {
        size_t i = 0;
        while (i < count && (!fields[i].anew || !is_field(&line, fields[i].name)))
            i++;
        if (i < count)
            put_field(out, fields[i].name, fields[i].value);
        else
            html_put(out, line.begin, (size_t)(line.next - line.begin));
    }
    if (header.length > 0 && header.start[header.length - 1] != '\n')
        html_put_string(out, "\n");
    for (size_t i = 0; i < count; i++)
        if (!find_field(header, fields[i].name).start)
            put_field(out, fields[i].name, fields[i].value);
}

/* ---- the file ---- */

int po_file_open(struct po_file *file, const struct document *document, struct arena *arena, struct error *err) {
    *file = (struct po_file){.document = document,
                             .at = document->source,
                             .line = 1,
                             .err = err,
                             .plurals = *plurals_of(document->language),
                             .room = arena_alloc(arena, document->length + 1, 1)};
    return file->room ? 0 : error_memory(err);
}

bool po_file_lacks(const struct po_file *file, size_t form) {
    return file->fuzzy || form >= file->message.form_count || is_empty(&file->message.forms[form]);
}

/* A header that is not text stays as it is. */
static int read_header(struct po_file *file) {
    struct html_bytes charset;
    const char *language = file->document->language;
    bool ascii = true;
    file->id = decode(file, &file->message.forms[0]);
    file->header = messages_can_hold(file->id);
    if (!file->header)
        return 1;
    for (size_t i = 0; i < file->document->length && ascii; i++)
        ascii = (unsigned char)file->document->source[i] < 0x80;
    if (!is_utf8(file->id, &charset) && !ascii)
        return error_set(file->err, ERROR_INPUT,
                         "line %zu: the character set must be UTF-8, got %.*s (msgconv --to-code=UTF-8 converts the file)",
                         file->message.line, (int)utf8_clip(charset.start, charset.length, 20), charset.start);
    size_t forms = count_forms(file->id);
    file->plurals = *plurals_of(language);
    if (has_rule(file->id, language) && forms != file->plurals.forms)
        file->plurals = (struct po_plurals){forms, 0, NULL};
    return 1;
}

/* A message may have fewer forms than its language, like templates of a language with one form: the missing ones need translations,
 * too. It may have more, from the rule that the file had before; those are surplus. */
static void find_wanted(struct po_file *file) {
    const struct po_message *message = &file->message;
    size_t forms = message->plural.begin ? file->plurals.forms : 1;
    for (size_t i = forms; message->plural.begin && i < message->form_count; i++)
        file->surplus |= !is_empty(&message->forms[i]);
    for (size_t i = 0; i < forms; i++)
        file->wanted |= po_file_lacks(file, i);
    if (!file->wanted)
        return;
    file->id = decode(file, &message->id);
    file->plural = message->plural.begin ? decode(file, &message->plural) : file->id;
    file->wanted = messages_can_hold(file->id) && messages_can_hold(file->plural);
}

int po_file_next(struct po_file *file) {
    int found = read_message(file, &file->message);
    if (found != 1)
        return found;
    file->header = is_header(&file->message);
    file->fuzzy = is_fuzzy(&file->message);
    file->wanted = file->surplus = false;
    if (file->header)
        return read_header(file);
    find_wanted(file);
    return 1;
}
