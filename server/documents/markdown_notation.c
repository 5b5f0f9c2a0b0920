/* This file hides how Markdown is written: notation that is skipped, notation of other tools that
 * is kept, and text that must not read as notation. */
#include "model/base/utf8.h"
#include "server/documents/document.h"
#include "server/markup/html.h"
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

enum {
    MOST_TAG = 1024, /* bytes of a tag */
    MOST_BACKTICKS = 32,
    MOST_ADDRESS = 512, /* bytes of an address that are examined */
    MOST_DIRECTIVE = 64 /* bytes of a directive's mark and indentation */
};

/* ---- notation that is skipped ---- */

const char *markdown_notation_skip_marks(const char *at, const char *end, char mark, size_t count) {
    for (; count > 0; count--, at++)
        if (at == end || *at != mark)
            return NULL;
    return at;
}

const char *markdown_notation_skip_space(const char *at, const char *end) {
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

const char *markdown_notation_skip_line_end(const char *at, const char *end) {
    at = markdown_notation_skip_space(at, end);
    if (at == end || (*at != '\n' && *at != '\r'))
        return NULL;
    at += *at == '\r' && at + 1 < end && at[1] == '\n' ? 2 : 1;
    while (at < end && (*at == ' ' || *at == '\t' || *at == '>'))
        at++;
    return at;
}

static const char *skip_blanks(const char *at, const char *end) {
    while (at < end && isspace((unsigned char)*at))
        at++;
    return at;
}

const char *markdown_notation_skip_until(const char *at, const char *end, char mark) {
    for (; at < end; at++) {
        if (*at == '\\' && at + 1 < end)
            at++;
        else if (*at == mark)
            return at + 1;
    }
    return NULL;
}

/* Skips an {expression}, in which braces nest; returns NULL if it has no end. */
static const char *skip_expression(const char *at, const char *end) {
    size_t depth = 0;
    for (; at < end; at++) {
        depth += *at == '{';
        depth -= *at == '}';
        if (depth == 0)
            return at + 1;
    }
    return NULL;
}

const char *markdown_notation_skip_tag(const char *at, const char *end) {
    end = end - at > MOST_TAG ? at + MOST_TAG : end;
    at += at + 1 < end && at[1] == '/' ? 2 : 1;
    if (at < end && *at == '>')
        return at + 1;
    if (at >= end || !isalpha((unsigned char)*at))
        return NULL;
    while (at < end && (isalnum((unsigned char)*at) || strchr("-._", *at)))
        at++;
    if (at < end && !isspace((unsigned char)*at) && *at != '/' && *at != '>')
        return NULL;
    while (at && at < end && *at != '>' && *at != '<') {
        bool value = at[-1] == '=' && (*at == '"' || *at == '\'');
        const char *quote = value ? memchr(at + 1, *at, (size_t)(end - at - 1)) : NULL;
        at = *at == '{' ? skip_expression(at, end) : quote ? quote + 1 : at + 1;
    }
    return at && at < end && *at == '>' ? at + 1 : NULL;
}

/* Skips (address "title"); returns NULL if there is none. Parentheses nest in an address, unless it
 * stands in angle brackets. */
static const char *skip_target(const char *at, const char *end) {
    size_t depth = 0;
    if (at == end || *at != '(')
        return NULL;
    const char *address = skip_blanks(at + 1, end);
    bool angles = address < end && *address == '<';
    if (angles)
        address = markdown_notation_skip_until(address + 1, end, '>');
    for (; !angles && address < end && !isspace((unsigned char)*address) &&
           (*address != ')' || depth > 0);
         address++) {
        if (*address == '\\' && address + 1 < end)
            address++;
        else if (*address == '(')
            depth++;
        else if (*address == ')')
            depth--;
    }
    if (!address)
        return NULL;
    at = skip_blanks(address, end);
    if (at < end && at > address && strchr("\"'(", *at)) {
        const char *stop = markdown_notation_skip_until(at + 1, end, *at == '(' ? ')' : *at);
        at = stop ? skip_blanks(stop, end) : end;
    }
    return at < end && *at == ')' ? at + 1 : NULL;
}

const char *markdown_notation_skip_link_end(const char *at, const char *end, bool *by_text) {
    at = markdown_notation_skip_marks(at, end, ']', 1);
    const char *target = at ? skip_target(at, end) : NULL;
    *by_text = false;
    if (target || !at)
        return target;
    const char *name =
        at < end && *at == '[' ? markdown_notation_skip_until(at + 1, end, ']') : NULL;
    *by_text = !name || skip_blanks(at + 1, name) == name - 1;
    return name ? name : at;
}

/* ---- notation of other tools, which is kept ---- */

/* A scan through a place. */
struct keeper {
    const char *source, *end; /* beginning and end of the document */
    const char *begin, *stop; /* beginning and end of the place */
    const struct markdown_place *place;
    bool endless[MOST_BACKTICKS + 1]; /* no run of this many backticks follows */
    bool no_angle, no_comment_end;    /* no '>' follows, no "-->" */
    const char *no_display;           /* no line before this place ends a formula */
    struct arena *arena;
    struct markdown_kept_list *list;
    bool failed;
};

/* Keeps [begin,end) and returns its end. */
static const char *keep(struct keeper *keeper, const char *begin, const char *end,
                        enum markdown_kept_kind kind) {
    struct markdown_kept_list *list = keeper->list;
    struct markdown_kept *all =
        arena_grow(keeper->arena, list->all, list->count, &list->room, 1, sizeof *all);
    if (!all) {
        keeper->failed = true;
        return end;
    }
    list->all = all;
    all[list->count++] = (struct markdown_kept){(size_t)(begin - keeper->source),
                                                (size_t)(end - keeper->source), kind};
    return end;
}

static const char *line_end(const char *at, const char *end) {
    while (at < end && *at != '\n' && *at != '\r')
        at++;
    return at;
}

static bool is_blank(const char *at, const char *end) {
    return markdown_notation_skip_space(at, end) == end;
}

/* Returns the two dollars at the end of a line, or NULL. */
static const char *closing_dollars(const char *at, const char *line) {
    while (line > at && (line[-1] == ' ' || line[-1] == '\t'))
        line--;
    return line - at >= 2 && line[-1] == '$' && line[-2] == '$' ? line - 2 : NULL;
}

/* Returns the end of a formula that has its lines to itself: the end of the line that ends with its
 * marks. Returns NULL if a blank line comes first, or if two dollars follow within the first line.
 */
static const char *find_display(struct keeper *keeper, const char *at) {
    const char *line = line_end(at, keeper->end);
    if (closing_dollars(at + 2, line))
        return line;
    if (memmem(at + 2, (size_t)(line - at - 2), "$$", 2) ||
        (keeper->no_display && at < keeper->no_display))
        return NULL;
    for (const char *next; (next = markdown_notation_skip_line_end(line, keeper->end));) {
        line = line_end(next, keeper->end);
        if (closing_dollars(next, line))
            return line;
        if (is_blank(next, line))
            break;
    }
    keeper->no_display = line;
    return NULL;
}

/* Returns the word after white space at *at, and moves *at past it. */
static struct bytes take_word(const char **at, const char *end) {
    const char *begin = *at = skip_blanks(*at, end);
    while (*at < end && isalpha((unsigned char)**at))
        ++*at;
    return bytes_between(begin, *at);
}

/* True for a block of MDX that is JavaScript: import ... from "...", export const .... */
static bool is_program(const char *at, const char *end) {
    struct bytes first = take_word(&at, end);
    bool imports = bytes_are(first, "import");
    if ((!imports && !bytes_are(first, "export")) || at == end || !isspace((unsigned char)*at))
        return false;
    const char *next = skip_blanks(at, end);
    if (imports && next < end && strchr("\"'", *next))
        return true;
    size_t left = (size_t)(end - next);
    bool from = memmem(next, left, " from \"", 7) || memmem(next, left, " from '", 7) ||
                memmem(next, left, "} from", 6);
    bool declares = bytes_among(take_word(&at, end),
                                "const let var function default class async type interface") &&
                    (memchr(next, '=', left) || memchr(next, '(', left) ||
                     memchr(next, '{', left) || memchr(next, ';', left));
    return from || (!imports && (declares || *next == '{'));
}

/* Returns the name of a directive whose content is indented, "!!! note" or '=== "Title"', or NULL.
 * *title: its quotation mark, or the end of the line. */
static const char *directive_name(const char *at, const char *line, const char **title) {
    static const char *const marks[] = {"!!! ", "??? ", "???+ ", "=== ", "===! ", "===+ "};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (!bytes_begin(at, line, marks[i]))
            continue;
        const char *name = at + strlen(marks[i]), *past = name;
        size_t words = 0;
        for (; past < line && islower((unsigned char)*past); words++) {
            while (past < line && (islower((unsigned char)*past) || *past == '-'))
                past++;
            past = markdown_notation_skip_space(past, line);
        }
        bool quoted = past < line && *past == '"';
        *title = past;
        return quoted || (past == line && words == 1 && *at != '=') ? name : NULL;
    }
    return NULL;
}

void markdown_notation_mark_directives(char *copy, const char *source, size_t length) {
    struct line line = {.next = source};
    while (lines_next(&line, source + length)) {
        const char *at = markdown_notation_skip_space(line.begin, line.end), *title,
                   *name = directive_name(at, line.end, &title);
        for (size_t i = 0; name && at + i < name; i++)
            copy[at - source + (ptrdiff_t)i] = i == 0 ? '-' : i < 4 ? ' ' : ',';
    }
}

/* Returns the end of lines of code between directives of a template, {% highlight c %} and
 * {% endhighlight %}, or NULL. */
static const char *skip_template_code(struct keeper *keeper, const char *at, const char *line) {
    static const char *const names[] = {"highlight", "raw", "verbatim", "comment"};
    if (!bytes_begin(at, line, "{%") || keeper->list->no_expression)
        return NULL;
    at += 2;
    at = markdown_notation_skip_space(at + (at < line && *at == '-'), line);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        char last[16];
        if (!bytes_begin(at, line, names[i]) || isalpha((unsigned char)at[length]))
            continue;
        snprintf(last, sizeof last, "end%s", names[i]);
        const char *found = memmem(line, (size_t)(keeper->end - line), last, length + 3);
        keeper->list->no_expression = !found;
        return found ? line_end(found, keeper->end) : NULL;
    }
    return NULL;
}

/* Keeps notation at the beginning of a line. Returns its end, or `at`. */
static const char *keep_line(struct keeper *keeper, const char *at) {
    const struct markdown_place *place = keeper->place;
    const char *line = line_end(at, keeper->end), *end = NULL;
    if (!place->paragraph || at == line)
        return at;
    bool first = at == keeper->begin;
    if (first && place->quotes_first &&
        bytes_begin(at, line, "[!")) { /* [!NOTE], with the signs that other tools allow after it */
        const char *c = at + 2;
        while (c < line && (isalnum((unsigned char)*c) || *c == '-' || *c == '_'))
            c++;
        if (c > at + 2 && c < line && *c == ']') {
            c += c + 1 < line && (c[1] == '+' || c[1] == '-') ? 2 : 1;
            keep(keeper, at, is_blank(c, line) ? line : c, MARKDOWN_LINE);
            return keep(keeper, line, line, MARKDOWN_LINE);
        }
    }

    /* Directives name the kind of the lines after them, perhaps with a title in quotation marks.
     * '--8<-- "file"' stands for a file. */
    bool directive = bytes_begin(at, line, ":::") || bytes_begin(at, line, "--8<-- ");
    const char *begin = at, *title;
    while (begin > keeper->source && begin[-1] != '\n' && at - begin < MOST_DIRECTIVE)
        begin--; /* cmark sees the mark of an item in place of the directive's */
    begin = markdown_notation_skip_space(begin, line);
    const char *name = directive_name(begin, line, &title);
    name = name ? name : directive_name(at, line, &title);
    if (name && at <= name) {
        const char *past = line;
        while (past > at && (past[-1] == ' ' || past[-1] == '\t'))
            past--;
        directive = true;
        if (past - title > 2 && past[-1] == '"' &&
            !memchr(title + 1, '"', (size_t)(past - title) - 2)) {
            keep(keeper, at, title + 1, MARKDOWN_LINE);
            return keep(keeper, past - 1, line, MARKDOWN_LINE);
        }
    }
    const char *last = line;
    while (first && last > at && (last[-1] == ' ' || last[-1] == '\t'))
        last--;
    if (first && (at == keeper->source || at[-1] == '\n') && is_program(at, keeper->stop)) {
        const char *stop = keeper->stop;
        while (stop > at && isspace((unsigned char)stop[-1]))
            stop--;
        return keep(keeper, at, stop, MARKDOWN_LINE);
    }
    if (first && *at == '{' && (at == keeper->source || at[-1] == '\n') &&
        !keeper->list->no_expression) { /* of MDX; its blank lines end no paragraph */
        const char *stop = skip_expression(at, keeper->end);
        if (stop && stop > keeper->stop && is_blank(stop, line_end(stop, keeper->end)))
            return keep(keeper, at, stop, MARKDOWN_LINE);
        keeper->list->no_expression = !stop || stop > keeper->stop;
    }
    const char *code = first ? skip_template_code(keeper, at, line) : NULL;
    if (code)
        return keep(keeper, at, code, MARKDOWN_LINE);
    bool contents =
        first && bytes_among_any_case(bytes_between(at, last), "[TOC] [[TOC]] [[_TOC_]]");
    const char *named = bytes_begin(at, line, "*[") ? memchr(at, ']', (size_t)(line - at)) : NULL;
    if (named && named + 1 < line && named[1] == ':') /* *[HTML]: what it stands for */
        end = markdown_notation_skip_space(named + 2, line);
    else if (bytes_begin(at, line, "$$"))
        end = find_display(keeper, at);
    else if (directive || contents)
        end = line;
    else if (*at == ':' && at + 1 < line && (at[1] == ' ' || at[1] == '\t') &&
             !is_blank(at + 1, line))
        end = markdown_notation_skip_space(at + 1, line); /* defines the term in the line before */
    return end ? keep(keeper, at, end, MARKDOWN_LINE) : at;
}

/* Returns the end of code, or of its backticks if it has no end. */
static const char *skip_code(struct keeper *keeper, const char *at) {
    const char *open = at;
    while (open < keeper->stop && *open == '`')
        open++;
    size_t marks = (size_t)(open - at);
    if (marks > MOST_BACKTICKS || keeper->endless[marks])
        return open;
    for (const char *run = open; (run = memchr(run, '`', (size_t)(keeper->stop - run)));) {
        const char *close = run;
        while (close < keeper->stop && *close == '`')
            close++;
        if ((size_t)(close - run) == marks)
            return close;
        run = close;
    }
    keeper->endless[marks] = true;
    return open;
}

/* Keeps a comment that cmark does not recognize; skips other comments, and tags. */
static const char *skip_angle(struct keeper *keeper, const char *at) {
    const char *stop = keeper->stop;
    if (bytes_begin(at, stop, "<!--")) {
        const char *close =
            keeper->no_comment_end ? NULL : memmem(at + 2, (size_t)(stop - at - 2), "-->", 3);
        keeper->no_comment_end = !close;
        if (!close)
            return at + 1;
        bool plain = close > at + 4 && !memmem(at + 4, (size_t)(close - at - 4), "--", 2) &&
                     at[4] != '>' && at[4] != '-' && close[-1] != '-';
        return plain ? close + 3 : keep(keeper, at, close + 3, MARKDOWN_UNIT);
    }
    const char *after = markdown_notation_skip_tag(at, stop), *name = at;
    while (after && name < after && !isspace((unsigned char)*name))
        name++;
    for (const char *c = at; after && c < after;
         c++) { /* cmark reads no names with points and no expressions */
        const char *end = *c == '{'               ? skip_expression(c, after)
                          : *c == '.' && c < name ? c + 1
                                                  : NULL;
        if (end)
            c = keep(keeper, c, end, MARKDOWN_VALUE) - 1;
        const char *quote = c > at && c[-1] == '=' && (*c == '"' || *c == '\'')
                                ? memchr(c + 1, *c, (size_t)(after - c - 1))
                                : NULL;
        c = quote ? quote : c;
    }
    if (after)
        return isalpha((unsigned char)at[1 + (at[1] == '/')])
                   ? after
                   : keep(keeper, at, after, MARKDOWN_UNIT);
    bool tag = at + 1 < stop && (isalpha((unsigned char)at[1]) || strchr("/!?", at[1]));
    const char *close = tag && !keeper->no_angle ? memchr(at, '>', (size_t)(stop - at)) : NULL;
    keeper->no_angle = keeper->no_angle || (tag && !close);
    return close ? close + 1 : at + 1;
}

/* Keeps what the one reader finds there, and braces as in any text, which MDX evaluates. */
static const char *keep_notation(struct keeper *keeper, const char *at) {
    unsigned sets = NOTATION_MARKDOWN | (*at == '{' ? NOTATION_PLACEHOLDERS : 0);
    struct opaque_run run;
    if (opaque_begins(sets, keeper->begin, (size_t)(keeper->stop - keeper->begin),
                      (size_t)(at - keeper->begin), &run))
        return keep(keeper, at, keeper->begin + run.end,
                    run.kind == OPAQUE_CODE ? MARKDOWN_NOUN : MARKDOWN_UNIT);
    return at + (*at == '\\' && at + 1 < keeper->stop && ispunct((unsigned char)at[1]) ? 2 : 1);
}

int markdown_notation_find_kept(const char *source, size_t length,
                                const struct markdown_place *place, struct arena *arena,
                                struct markdown_kept_list *list) {
    size_t from = list->count > 0 && list->all[list->count - 1].end > place->begin
                      ? list->all[list->count - 1].end
                      : place->begin;
    struct keeper keeper = {.source = source,
                            .end = source + length,
                            .begin = source + from,
                            .stop = source + (place->end > from ? place->end : from),
                            .place = place,
                            .arena = arena,
                            .list = list};
    const char *at = keeper.begin;
    if (at < keeper.stop && from == place->begin)
        at = keep_line(&keeper, at);
    while (at < keeper.stop && !keeper.failed) {
        const char *next =
            *at == '\n' || *at == '\r' ? markdown_notation_skip_line_end(at, keeper.stop) : NULL;
        if (next) {
            at = keep_line(&keeper, next);
            continue;
        }
        switch (*at) {
        case '`':
            at = skip_code(&keeper, at);
            break;
        case '<':
            at = skip_angle(&keeper, at);
            break;
        default:
            at = ascii_among(*at, "\\$:{![]=%^") ? keep_notation(&keeper, at) : at + 1;
        }
    }
    return keeper.failed ? -1 : 0;
}

void markdown_notation_hide_kept(char *copy, const struct markdown_kept *kept, size_t quotes) {
    bool value = kept->kind == MARKDOWN_VALUE && kept->begin > 0 && copy[kept->begin - 1] == '=';
    bool lines = kept->kind == MARKDOWN_LINE && copy[kept->begin] == '{'; /* they may be blank */
    for (size_t at = kept->begin; at < kept->end;) {
        if (lines || (copy[at] != '\n' && copy[at] != '\r')) {
            bool ends = at == kept->begin || at + 1 == kept->end, quoted = ends && value;
            copy[at++] = quoted ? '"' : kept->kind == MARKDOWN_VALUE ? 'x' : ',';
            continue;
        }
        at++;
        for (size_t left = quotes; at < kept->end && (copy[at] == ' ' || copy[at] == '\t' ||
                                                      (copy[at] == '>' && left > 0));
             at++)
            left -= copy[at] == '>';
    }
}

/* ---- text that must not read as notation ---- */

/* True if only indentation and marks of blocks stand before the end of the output in its line. */
static bool begins_block(const struct bytes_buffer *out) {
    size_t at = out->length;
    while (at > 0 && strchr(" \t>*+-#.)0123456789|", out->bytes[at - 1]))
        at--;
    return at == 0 || out->bytes[at - 1] == '\n' || out->bytes[at - 1] == '\r';
}

/* True if a closing bracket stands right before, and would be read as part of a link (c is '(') or
 * of a definition (c is ':'). */
static bool follows_bracket(const struct bytes_buffer *out, char c) {
    size_t at = out->length;
    if ((c != '(' && c != ':') || at < 2 || out->bytes[at - 1] != ']' || out->bytes[at - 2] == '\\')
        return false;
    for (at--; c == ':' && at > 0 && out->bytes[at] != '['; at--)
        if (out->bytes[at] == '\n')
            return false;
    struct bytes_buffer head = {.bytes = out->bytes, .length = at};
    return c == '(' || begins_block(&head);
}

/* True if the byte would be read as notation. before: the byte before the text. */
static bool is_marked(const char *text, size_t length, size_t at, char before) {
    bool inside = at > 0 && at + 1 < length && ascii_word(text[at - 1]) && ascii_word(text[at + 1]);
    switch (text[at]) {
    case '\\':
    case '`':
    case '*':
    case '[':
    case ']':
    case '<':
    case '|':
        return true;
    case '_':
        return !inside;
    case '~': /* two tildes, or one that could end a strikethrough */
        before = at > 0 ? text[at - 1] : before;
        return (at + 1 < length && text[at + 1] == '~') || !isspace((unsigned char)before);
    case '&':
        return html_reference(text + at, text + length, &(int32_t){0}) > 0;
    default:
        return false;
    }
}

void markdown_notation_escape(struct bytes_buffer *out, const char *text, size_t length) {
    size_t first = length, bare = 0, digits = 0;
    if (length > 0 &&
        begins_block(
            out)) { /* a backslash keeps the text from being a list, a heading or a quotation */
        while (digits < length && isdigit((unsigned char)text[digits]))
            digits++;
        if (strchr("#>+-=", *text))
            first = 0;
        else if (digits > 0 && digits < length && (text[digits] == '.' || text[digits] == ')'))
            first = digits;
    }
    if (length > 0 && follows_bracket(out, *text))
        first = 0;

    /* A backslash directly after an address without brackets would become part of it. A bracket
     * ends such an address; it stays as it is unless it could open a tag. */
    bool closing = length > 0 && *text == '<' && !memchr(text, '>', length);
    if (length > 0 && (closing || strchr("*_~&", *text))) {
        size_t end = out->length, at = end;
        while (at > 0 && end - at < MOST_ADDRESS && !isspace((unsigned char)out->bytes[at - 1]) &&
               !strchr("<>`]", out->bytes[at - 1]))
            at--;
        const char *word = out->bytes + at;
        if (end - at > 3 && (memchr(word, '@', end - at) || memmem(word, end - at, "://", 3) ||
                             memmem(word, end - at, "www.", 4)))
            bare = strspn(text, closing ? "<" : "*_~&");
    }
    char before = out->length > 0 ? out->bytes[out->length - 1] : ' ';
    for (size_t at = 0, plain = 0; at <= length; at++) {
        bool marked =
            at < length && (at == first || (at >= bare && is_marked(text, length, at, before)));
        if (!marked && at < length)
            continue;
        bytes_put(out, text + plain, at - plain);
        if (marked)
            bytes_put(out, "\\", 1);
        plain = at;
    }
}

void markdown_notation_escape_mdx(struct bytes_buffer *out, const char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        size_t brace = at;
        while (brace < length && !ascii_among(text[brace], "{}"))
            brace++;
        markdown_notation_escape(out, text + at, brace - at);
        if (brace < length) {
            bytes_put(out, "\\", 1);
            bytes_put(out, text + brace, 1);
        }
        at = brace + 1;
    }
}

/* ---- ends of links and emphasis ---- */

static void insert(struct bytes_buffer *out, size_t at, const char *bytes, size_t length) {
    size_t stop = out->length - at;
    bytes_put(out, bytes, length); /* room for it */
    if (out->failed)
        return;
    memmove(out->bytes + at + length, out->bytes + at, stop);
    memcpy(out->bytes + at, bytes, length);
}

/* True for punctuation that may also stand outside of the marks. */
static bool may_leave(int32_t c) {
    return character_is_among(c, L"'\".,:?\u2019\u2018\u201c\u201d\u201e\u00ab\u00bb");
}

static bool is_in_word(int32_t c) {
    return c > 0 && !character_is_space(c) && !character_is_punctuation(c);
}

static void close_emphasis(struct bytes_buffer *out, const struct markup_end *end) {
    const char *text = out->bytes;
    size_t marks = end->inside - end->open, begin = end->inside, stop = out->length, at = end->open;
    int32_t before = at > 0 ? character_previous(text, &at) : ' ';
    int32_t next = end->next > 0 ? end->next : ' ';

    /* White space and some punctuation at both ends stay outside: marks beside white space, or
     * between a word and punctuation, are not read as such. */
    while (begin < stop) {
        at = begin;
        int32_t c = character_next(text, stop, &at);
        if (!character_is_space(c) && !(is_in_word(before) && may_leave(c)))
            break;
        before = c;
        begin = at;
    }
    while (stop > begin) {
        at = stop;
        int32_t c = character_previous(text, &at);
        if (!character_is_space(c) && !(is_in_word(next) && may_leave(c)))
            break;
        next = c;
        stop = at;
    }
    if (begin == stop) { /* marks around nothing would not be marks */
        memmove(out->bytes + end->open, out->bytes + end->inside, out->length - end->inside);
        out->length -= marks;
        out->bytes[out->length] = '\0';
        return;
    }
    size_t head = begin - end->inside;
    char former = text[end->open], mark[2] = {former, former};
    if (mark[0] == '_' && (is_in_word(before) || is_in_word(next)))
        mark[0] = mark[1] = '*';
    else if (mark[0] == '*' && marks == 1 && head == 0 && end->first && before == '*' &&
             next == '*')
        mark[0] = '_'; /* three stars on both sides would be read the other way round */
    char opening[16] = {mark[0], marks == 2 ? mark[1] : '\0'}, closing[16] = {mark[0], opening[1]};

    /* Marks are read as such if words end where they stand, and no other marks of the same kind
     * touch them. */
    size_t after = begin, last = stop;
    int32_t first_inside = character_next(text, stop, &after),
            last_inside = character_previous(text, &last);
    bool touches = head == 0 && !end->first && end->open > 0 && text[end->open - 1] == former &&
                   (end->open < 2 || text[end->open - 2] != '\\');
    if (touches || (!is_in_word(first_inside) && is_in_word(before)) ||
        (!is_in_word(last_inside) && is_in_word(next))) {
        const char *name = mark[0] == '~' ? "del" : marks == 2 ? "strong" : "em";
        snprintf(opening, sizeof opening, "<%s>", name);
        snprintf(closing, sizeof closing, "</%s>", name);
    }
    insert(out, stop, closing, strlen(closing));
    memmove(out->bytes + end->open, out->bytes + end->inside,
            head); /* the former marks make room */
    memcpy(out->bytes + end->open + head, opening, marks);
    insert(out, end->open + head + marks, opening + marks, strlen(opening) - marks);
}

void markdown_notation_close(struct bytes_buffer *out, const struct markup_end *end) {
    if (front_matter_close(out, end))
        return;
    if (out->failed || end->inside == end->open || end->inside > out->length) {
        bytes_put(out, end->written, end->written_length);
        return;
    }
    if (strchr("*_~", out->bytes[end->open])) {
        close_emphasis(out, end);
        return;
    }

    /* A link by its own text needs a name if that text has changed in more than case. */
    bool named = end->replaced != end->written; /* replaced: "][name]" */
    size_t length = out->length - end->inside, at = end->open;
    if (!named || (length == end->replaced_length - 3 &&
                   strncasecmp(out->bytes + end->inside, end->replaced + 2, length) == 0))
        bytes_put(out, end->written, end->written_length);
    else
        bytes_put(out, end->replaced, end->replaced_length);
    if (!out->failed && at > 0 && out->bytes[at] == '[' && out->bytes[at - 1] == '!' &&
        (at < 2 || out->bytes[at - 2] != '\\'))
        insert(out, at - 1, "\\", 1); /* otherwise it would be an image */
}
