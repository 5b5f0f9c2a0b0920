/* This file hides the notation of AsciiDoc (Asciidoctor 2): which of its lines are prose, and what
 * is notation within them. Attributes, listings, comments, macros and everything that is not known
 * stay. */
#include "model/base/utf8.h"
#include "server/documents/texts.h"
#include <ctype.h>
#include <stdlib.h>

/* Styles of a block whose content stays. */
static const char opaque[] = "source listing literal stem latexmath asciimath pass verse ditaa "
                             "plantuml graphviz mermaid comment svgbob diagram csv";
/* Macros whose text is part of the sentence; the content of others is not. */
static const char linking[] = "link xref mailto http https ftp irc";

enum { MOST_NAMES = 4096 /* references, and titles; those of later ones may change */ };

struct names {
    struct bytes *all; /* [count] sorted */
    size_t count, room;
};

struct asciidoc {
    struct text_reader reader; /* first, so that it leads to the others */
    struct names titles;       /* of sections */
    struct names ids;          /* to which references are, unless by a title */
    struct line line;          /* the current one */
    const char *end;
    struct bytes style;  /* of the block that follows: of [style,...]; length 0: none */
    char table;          /* the sign of the table that is open; '\0': none */
    struct bytes wanted; /* the line that ends the table */
    bool blank;          /* the last line was blank */
    bool attributes;     /* the last line that was not blank had attributes of a block, or an id */
    bool attached;       /* it was "+", which attaches what follows to the item before it */
};

/* ---- names ---- */

/* A section's id is made of its title: in small letters, with the same sign, `_` or `-` by the
 * document's attributes, between words, and perhaps one before them. Returns the next character of
 * what both have; 0: it ends. */
static int next_of_id(struct bytes *rest) {
    bool gap = false;
    for (; rest->length > 0; rest->start++, rest->length--) {
        char c = *rest->start;
        if (strchr(" _-.", c)) {
            gap = true;
        } else if (isalnum((unsigned char)c) || (unsigned char)c >= 0x80) {
            if (gap)
                return ' ';
            rest->start++;
            rest->length--;
            return tolower((unsigned char)c);
        }
    }
    return 0;
}

static int compare_ids(const void *a, const void *b) {
    struct bytes one = *(const struct bytes *)a, two = *(const struct bytes *)b;
    int of_one, of_two;
    while (one.length > 0 && strchr(" _-.", *one.start))
        one = bytes_between(one.start + 1, one.start + one.length);
    while (two.length > 0 && strchr(" _-.", *two.start))
        two = bytes_between(two.start + 1, two.start + two.length);
    do {
        of_one = next_of_id(&one);
        of_two = next_of_id(&two);
    } while (of_one == of_two && of_one != 0);
    return of_one - of_two;
}

static int compare_titles(const void *a, const void *b) {
    const struct bytes *one = a, *two = b;
    size_t least = one->length < two->length ? one->length : two->length;
    int order = memcmp(one->start, two->start, least);
    return order != 0 ? order : (one->length > two->length) - (one->length < two->length);
}

static void add_name(struct names *names, struct bytes name, struct arena *arena) {
    struct bytes *all =
        names->count < MOST_NAMES && name.length > 0
            ? arena_grow(arena, names->all, names->count, &names->room, 1, sizeof *all)
            : NULL;
    if (!all)
        return;
    names->all = all;
    all[names->count++] = name;
}

static const struct bytes *find_name(const struct names *names, struct bytes name,
                                     int compare(const void *, const void *)) {
    return names->count > 0 ? bsearch(&name, names->all, names->count, sizeof *names->all, compare)
                            : NULL;
}

/* True for a reference by a title: ids have neither spaces nor capitals. */
static bool is_natural(struct bytes name) {
    for (size_t i = 0; i < name.length; i++)
        if (name.start[i] == ' ' || isupper((unsigned char)name.start[i]))
            return true;
    return false;
}

/* Finds the titles, and the ids in references, in all of a file. */
static void find_names(struct asciidoc *doc, struct arena *arena) {
    struct line line = {.next = doc->line.next};
    while (lines_next(&line, doc->end)) {
        size_t level = 0;
        while (line.begin + level < line.end && line.begin[level] == '=')
            level++;
        if (level > 1 && level < 7 && bytes_begin(line.begin + level, line.end, " "))
            add_name(&doc->titles, bytes_trimmed(bytes_between(line.begin + level, line.end)),
                     arena);
        for (const char *at = line.begin; at < line.end; at++) {
            bool marks = bytes_begin(at, line.end, "<<");
            if (!marks && !bytes_begin(at, line.end, "xref:"))
                continue;
            const char *begin = at + (marks ? 2 : 5), *past;
            begin += begin < line.end && *begin == '#';
            for (past = begin; past < line.end && !strchr(marks ? ",>" : "[", *past); past++)
                ;
            struct bytes name = bytes_between(begin, past);
            if (past < line.end && !is_natural(name))
                add_name(&doc->ids, name, arena);
            at = past;
        }
    }
    if (doc->titles.count > 0)
        qsort(doc->titles.all, doc->titles.count, sizeof *doc->titles.all, compare_titles);
    if (doc->ids.count > 0)
        qsort(doc->ids.all, doc->ids.count, sizeof *doc->ids.all, compare_ids);
}

/* Adds the title of a section. under: the line below it, or empty. If there are references to the
 * id that is made of it, it gets this id, unless a line with attributes before it may have one. */
static void add_title(struct asciidoc *doc, struct bytes title, struct bytes under,
                      bool attributes) {
    const struct bytes *id =
        attributes ? NULL : find_name(&doc->ids, bytes_trimmed(title), compare_ids);
    struct bytes_buffer anchor = {.arena = doc->reader.builder->arena};
    bytes_put_string(&anchor, "[#");
    if (id)
        bytes_put(&anchor, id->start, id->length);
    bytes_put_string(&anchor, "]\n");
    id = anchor.failed ? NULL : id;
    if (under.length > 0)
        texts_add_title(&doc->reader, title, nothing, under, id ? anchor.bytes : NULL);
    else if (id)
        texts_add_anchored(&doc->reader, title, doc->line.begin, anchor.bytes);
    else
        texts_add(&doc->reader, title.start, title.start + title.length, " / ");
}

/* ---- within texts ---- */

static bool is_word(const char *at) {
    return isalnum((unsigned char)*at) || *at == '_' || (unsigned char)*at >= 0x80;
}

/* name:target[text], name:[text], https://address[text]. */
static bool read_macro(const char *at, const char *end, struct text_token *out) {
    const char *name = at, *open;
    while (at < end && (isalnum((unsigned char)*at) || *at == '-'))
        at++;
    if (at == name || at == end || *at != ':' || at - name > 20)
        return false;
    struct bytes own = bytes_between(name, at);
    for (open = at + 1; open < end && !byte_is_space(*open) && *open != '[' && *open != '<';)
        open++;
    bool address = bytes_begin(at, end, "://");
    if (open == end || *open != '[') {
        if (!address)
            return false;
        while (open > at && strchr(".,;:!?)", open[-1]))
            open--;
        *out = (struct text_token){TEXT_UNIT, .after = open};
        return true;
    }
    const char *close = texts_bracket_end(open, end);
    if (!close || open == at + 1 + (address ? 2 : 0)) {
        if (!close || bytes_are(own, "note") ||
            (!bytes_among(own, "footnote kbd btn stem pass "
                               "latexmath asciimath indexterm indexterm2 menu icon anchor")))
            return false;
    }
    *out = (struct text_token){TEXT_UNIT, close, open + 1, close - 1, nothing};
    const char *comma = memchr(open, ',', (size_t)(close - open));
    if (bytes_among(own, linking)) {
        out->kind = TEXT_ELEMENT;
        if (close[-2] == '^')
            out->past--;
        else if (comma && memchr(comma, '=', (size_t)(close - comma)))
            out->past = comma;
    } else if (bytes_are(own, "footnote")) {
        out->kind = TEXT_INNER;
    } else if (bytes_among(own, "kbd btn menu")) {
        out->kind = TEXT_CODE; /* the sentence is about it: press kbd:[Ctrl+S] to save */
    }
    if (out->past <= out->inside || memchr(out->inside, '=', (size_t)(out->past - out->inside)))
        out->kind = TEXT_UNIT;
    return true;
}

/* A word with signs above or below the line, H~2~O or m^3^: its parts belong together. */
static bool read_formula(const char *at, const char *end, struct text_token *out) {
    const char *past = at;
    bool raised = false;
    while (past < end) {
        const char *inside = past + 1;
        if (is_word(past)) {
            past++;
            continue;
        }
        while (strchr("~^", *past) && inside < end && (is_word(inside) || strchr("+-", *inside)))
            inside++;
        if (inside == past + 1 || inside == end || *inside != *past)
            break;
        raised = true;
        past = inside + 1;
    }
    if (raised)
        *out = (struct text_token){TEXT_NOUN, .after = past, .text = {"X", 1}};
    return raised;
}

/* A text_next. */
static void next(const struct text_reader *reader, const char *begin, const char *at,
                 const char *end, struct text_token *out) {
    static const struct {
        const char *mark;
        enum text_token_kind kind;
    } marks[] = {{"+++", TEXT_UNIT},   {"``", TEXT_CODE},    {"**", TEXT_ELEMENT},
                 {"__", TEXT_ELEMENT}, {"##", TEXT_ELEMENT}, {"++", TEXT_UNIT},
                 {"`", TEXT_CODE},     {"*", TEXT_ELEMENT},  {"_", TEXT_ELEMENT},
                 {"#", TEXT_ELEMENT},  {"+", TEXT_UNIT},     {"^", TEXT_UNIT},
                 {"~", TEXT_UNIT}};
    bool first = at == begin || !is_word(at - 1);
    if (*at == '\\' && at + 1 < end && strchr("*_`#+^~{<[\\", at[1])) {
        *out = (struct text_token){TEXT_UNIT, .after = at + 2};
        return;
    }
    if (*at == '<' && at + 1 < end && at[1] == '<') {
        const char *past = texts_find(at + 2, end, ">>");
        const char *comma = past ? memchr(at, ',', (size_t)(past - at)) : NULL;
        if (past)
            *out = (struct text_token){comma ? TEXT_ELEMENT : TEXT_UNIT, past + 2,
                                       comma ? comma + 1 : NULL, past, nothing};
        if (past && !comma &&
            find_name(&((const struct asciidoc *)reader)->titles, bytes_between(at + 2, past),
                      compare_titles)) { /* it is translated as the title is */
            out->kind = TEXT_INNER;
            out->inside = at + 2;
        }
        while (comma && out->inside < past && *out->inside == ' ')
            out->inside++;
        return;
    }
    if (*at == '(' && at + 1 < end && at[1] == '(') {
        bool three = at + 2 < end && at[2] == '(';
        const char *past = texts_find(at, end, three ? ")))" : "))");
        if (past)
            *out = three ? (struct text_token){TEXT_UNIT, .after = past + 3}
                         : (struct text_token){TEXT_ELEMENT, past + 2, at + 2, past, nothing};
        return;
    }
    if (*at == '[' && first) { /* [[id]], or attributes of the mark that follows */
        const char *past = texts_bracket_end(at, end);
        bool id = past && at + 1 < end && at[1] == '[';
        bool attributes =
            past && past < end && strchr("*_#`+", *past) && at + 1 < end && strchr(".#", at[1]);
        if (!past)
            return;
        if (id)
            *out = (struct text_token){TEXT_UNIT, .after = past};
        if (!attributes)
            return;
        next(reader, begin, past, end, out);
        if (out->kind == TEXT_NONE)
            out->after = at + 1;
        return;
    }
    if (*at == '{') {
        const char *past = at + 1;
        while (past < end && (is_word(past) || strchr("-:", *past)))
            past++;
        if (past == end || *past != '}' || past == at + 1)
            return;
        const char *own = ++past, *close; /* {address}/path[text] */
        while (past < end && !byte_is_space(*past) && !strchr("[],;<>`*", *past))
            past++;
        close = past < end && *past == '[' ? texts_bracket_end(past, end) : NULL;
        bool window = close && close > past + 2 && close[-2] == '^'; /* it opens a window */
        if (close && close > past + 2 + window)
            *out = (struct text_token){TEXT_ELEMENT, close, past + 1, close - 1 - window, nothing};
        else
            *out = (struct text_token){TEXT_NOUN, .after = own < past && *own == '/' ? past : own,
                                       .text = bytes_between(at, own)};
        return;
    }
    if (*at == ' ' && end - at > 2 && at[1] == '+' && (at[2] == '\n' || at[2] == '\r')) {
        bool two = at[2] == '\r' && end - at > 3 && at[3] == '\n';
        *out = (struct text_token){TEXT_BREAK, .after = at + 3 + two};
        return;
    }
    if (isalpha((unsigned char)*at)) {
        if (!first || (!read_macro(at, end, out) && !read_formula(at, end, out)))
            *out = (struct text_token){TEXT_NONE, .after = at + 1};
        return;
    }
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t length = strlen(marks[i].mark);
        bool both = length > 1 || strchr("^~", *at);
        const char *inside = at + length;
        if (!bytes_begin(at, end, marks[i].mark) || (!both && !first))
            continue;
        if (inside == end || byte_is_space(*inside))
            return;
        const char *past = inside, *limit = texts_limit(inside, end);
        while (
            (past = texts_find(past + 1, limit, marks[i].mark)) != NULL &&
            (byte_is_space(past[-1]) || (!both && past + length < end && is_word(past + length))))
            ;
        if (!past || (strchr("^~", *at) && memchr(inside, ' ', (size_t)(past - inside))))
            continue;
        *out = (struct text_token){marks[i].kind, past + length, inside, past, nothing};
        return;
    }
}

/* A markup_close: marks that touch letters are doubled. */
static void close_mark(struct bytes_buffer *out, const struct markup_end *end) {
    size_t open = end->open;
    char mark = end->written_length == 1 ? *end->written : ' ';
    bool single = strchr("*_#", mark) && out->bytes[end->inside - 1] == mark;
    bool touches = (open > 0 && is_word(out->bytes + open - 1)) ||
                   (end->next != 0 && end->next != '*' && character_is_letter(end->next));
    bytes_put(out, end->written, end->written_length);
    if (!single || !touches)
        return;
    bytes_put(out, "  ", 2);
    if (out->failed)
        return;
    size_t inside = end->inside;
    memmove(out->bytes + inside + 1, out->bytes + inside, out->length - inside - 2);
    out->bytes[inside] = out->bytes[out->length - 1] = mark;
}

/* A text_settle: an apostrophe before a literal would be read as a quotation mark with it. */
static void settle(struct bytes_buffer *out, struct bytes text) {
    for (size_t i = 0; i < text.length; i++) {
        bool both = text.start[i] == '\'' && i > 0 && is_word(text.start + i - 1) &&
                    i + 1 < text.length && text.start[i + 1] == '`';
        bytes_put(out, both ? "\u2019" : text.start + i, both ? strlen("\u2019") : 1);
    }
}

/* ---- lines ---- */

static bool next_line(struct asciidoc *doc) {
    struct bytes text = lines_trimmed(&doc->line);
    doc->blank = text.length == 0 || bytes_begin(text.start, text.start + text.length, "//");
    return lines_next(&doc->line, doc->end);
}

static struct bytes text_of(const struct line *line) {
    struct bytes text = bytes_between(line->begin, line->end);
    while (text.length > 0 && byte_is_space(text.start[text.length - 1]))
        text.length--;
    return text;
}

/* True for a line of four or more of the same sign, or a fence. */
static bool is_delimiter(struct bytes text, const char *signs) {
    if (text.length < 4 || !strchr(signs, *text.start))
        return false;
    for (size_t i = 1; i < text.length; i++)
        if (text.start[i] != *text.start)
            return false;
    return true;
}

/* Skips lines up to one that is the same as this. */
static bool skip_to(struct asciidoc *doc, struct bytes delimiter) {
    bool more = next_line(doc);
    while (more && !bytes_same(text_of(&doc->line), delimiter))
        more = next_line(doc);
    return more && next_line(doc);
}

/* Returns the bytes of what precedes the text of a list's item: marks, numbers, boxes to tick,
 * callouts. 0: it is no item. */
static size_t list_mark(struct bytes text) {
    const char *at = text.start, *end = at + text.length, *begin = at;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    const char *mark = at;
    if (at < end && strchr("*.-", *at)) {
        while (at < end && *at == *mark)
            at++;
        if (*mark == '-' && at - mark > 1)
            return 0;
    } else if (at < end && *at == '<') {
        at = memchr(at, '>', (size_t)(end - at));
        at = at && at - mark < 5 ? at + 1 : mark;
    } else {
        while (at < end && isalnum((unsigned char)*at) && at - mark < 3)
            at++;
        at =
            at > mark && at < end && *at == '.' && (isdigit((unsigned char)*mark) || at == mark + 1)
                ? at + 1
                : mark;
    }
    if (at == mark || at == end || *at != ' ')
        return 0;
    while (at < end && *at == ' ')
        at++;
    if (end - at > 4 && *at == '[' && strchr("x *", at[1]) && at[2] == ']' && at[3] == ' ')
        at += 4;
    return (size_t)(at - begin);
}

/* Returns the place of the separator of a term's description, or NULL. */
static const char *find_term(struct bytes text) {
    const char *end = text.start + text.length;
    for (const char *at = text.start + 1; at + 1 < end; at++)
        if ((bytes_begin(at, end, "::") || bytes_begin(at, end, ";;")) && at[-1] != ':') {
            const char *past = at;
            while (past < end && *past == *at)
                past++;
            if (past == end || *past == ' ')
                return at;
            at = past;
        }
    return NULL;
}

/* True for a line that ends a paragraph. */
static bool ends_paragraph(const struct asciidoc *doc, struct bytes text) {
    return text.length == 0 || bytes_are(text, "+") || list_mark(text) > 0 ||
           (*text.start == '[' && text.start[text.length - 1] == ']') ||
           is_delimiter(text, "-.=*_/+") || bytes_are(text, "--") ||
           bytes_begin(text.start, text.start + text.length, "```") ||
           bytes_begin(text.start, text.start + text.length, "ifdef::") ||
           bytes_begin(text.start, text.start + text.length, "endif::") ||
           bytes_begin(text.start, text.start + text.length, "//") || find_term(text) ||
           (doc->table && memchr(text.start, doc->table, text.length));
}

/* Adds the paragraph that begins at `begin` in the current line. A line after one in quotation
 * marks says whose words these are, and stays. */
static bool add_paragraph(struct asciidoc *doc, const char *begin, const char *below) {
    const char *end = doc->line.begin + text_of(&doc->line).length;
    bool more, attributed = false;
    while ((more = next_line(doc)) && !attributed && !ends_paragraph(doc, text_of(&doc->line))) {
        attributed =
            *begin == '"' && end[-1] == '"' && bytes_begin(doc->line.begin, doc->line.end, "-- ");
        end = attributed ? end : doc->line.begin + text_of(&doc->line).length;
    }
    texts_add(&doc->reader, begin, end, below);
    return more;
}

/* ---- tables ---- */

/* Adds the cells of a line. Numbers and letters before a separator say how its cell is drawn. */
static bool read_row(struct asciidoc *doc) {
    struct bytes text = text_of(&doc->line);
    const char *end = text.start + text.length, *cell = text.start;
    if (bytes_same(text, doc->wanted)) {
        doc->table = '\0';
        return next_line(doc);
    }
    for (const char *at = cell; at <= end; at++) {
        if (at < end && (*at != doc->table || (at > text.start && at[-1] == '\\')))
            continue;
        const char *past = at;
        while (at < end && past > cell && !byte_is_space(past[-1]))
            past--;
        bool drawn = at < end; /* 2+^.>s| */
        for (const char *c = past; c < at; c++)
            drawn &= (isdigit((unsigned char)*c) || strchr("+*.<^>adehlmsv", *c)) && at - past < 8;
        texts_add(&doc->reader, cell, drawn ? past : at, " +\n");
        cell = at + 1;
    }
    return next_line(doc);
}

/* ---- blocks ---- */

/* Reads the header after a document's title: author, revision and attributes. */
static bool read_header(struct asciidoc *doc) {
    bool more = true;
    while (more && lines_trimmed(&doc->line).length > 0 &&
           !is_delimiter(text_of(&doc->line), "-.=*_/+")) {
        static const char description[] = ":description:";
        struct bytes text = text_of(&doc->line);
        if (bytes_begin(text.start, text.start + text.length, description))
            texts_add(&doc->reader, text.start + strlen(description), text.start + text.length,
                      " / ");
        more = next_line(doc);
    }
    return more;
}

/* Sets the style of the block that follows; that of a table whose cells have no bars before them is
 * csv. */
static void read_style(struct asciidoc *doc, struct bytes text) {
    static const char *const formats[] = {"format=csv",   "format=tsv",   "format=dsv",
                                          "format=\"csv", "format=\"tsv", "format=\"dsv"};
    const char *begin = text.start + 1;
    size_t length = strcspn(begin, ",%#.]\"= ");
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (memmem(text.start, text.length, formats[i], strlen(formats[i]))) {
            doc->style = bytes_of("csv");
            return;
        }
    if (*begin == ',')
        doc->style = bytes_of("source"); /* [,ruby] */
    else if (length > 0 && begin[length] != '=')
        doc->style = (struct bytes){begin, length};
}

/* image::target[text]: the text for those who do not see it. */
static bool read_block_macro(struct asciidoc *doc, struct bytes text) {
    const char *end = text.start + text.length, *open = memchr(text.start, '[', text.length);
    bool image = bytes_begin(text.start, end, "image::");
    if (!open || end[-1] != ']' || !memmem(text.start, (size_t)(open - text.start), "::", 2) ||
        memchr(text.start, ' ', (size_t)(open - text.start)))
        return false;
    const char *past = memchr(open, ',', (size_t)(end - open));
    past = past ? past : end - 1;
    if (image && !memchr(open, '=', (size_t)(past - open)) && open[1] != '"')
        texts_add(&doc->reader, open + 1, past, " / ");
    return true;
}

/* Returns the line of = - ~ ^ or + below a title, which is as long as this, give or take one;
 * empty: the current line is no title. */
static struct bytes title_line(const struct asciidoc *doc, struct bytes text) {
    struct line next = doc->line;
    if (text.length == 0 || !is_word(text.start) || !lines_next(&next, doc->end))
        return nothing;
    struct bytes under = text_of(&next);
    size_t columns = texts_columns(text);
    bool same = under.length > 2 && strchr("=-~^+", *under.start) && under.length + 1 >= columns &&
                under.length <= columns + 1;
    for (size_t i = 1; i < under.length && same; i++)
        same = under.start[i] == *under.start;
    return same ? under : nothing;
}

/* Reads what begins in the current line. Returns false at the end of the document. */
static bool read_block(struct asciidoc *doc) {
    struct bytes text = text_of(&doc->line), style = doc->style;
    const char *end = text.start + text.length;
    bool stays = style.length > 0 && bytes_among(style, opaque);
    if (doc->table)
        if (text.length == 0 || bytes_same(text, doc->wanted) ||
            memchr(text.start, doc->table, text.length))
            return read_row(doc);
    if (text.length == 0)
        return next_line(doc);
    bool attributes = doc->attributes, attached = doc->attached;
    doc->attributes = false;
    doc->attached = bytes_are(text, "+");
    if (*text.start == '[' && end[-1] == ']') {
        read_style(doc, text);
        doc->attributes = true;
        return next_line(doc);
    }
    if (*text.start == '.' && text.length > 1 && !strchr(". ", text.start[1])) {
        texts_add(&doc->reader, text.start + 1, end, " / ");
        return next_line(doc);
    }
    doc->style = nothing;
    struct bytes under = doc->table || stays ? nothing : title_line(doc, text);
    if (under.length > 0) {
        bool first = *under.start == '=';
        add_title(doc, text, under, first || attributes);
        next_line(doc); /* `under` */
        bool more = next_line(doc);
        return more && first ? read_header(doc) : more;
    }
    bool fence = bytes_begin(text.start, end, "```");
    if (is_delimiter(text, "-./+") || fence ||
        (stays && (is_delimiter(text, "_=*") || bytes_are(text, "--")))) {
        struct bytes last = fence ? (struct bytes){text.start, 3} : text;
        return skip_to(doc, last);
    }
    if (text.length >= 4 && strchr("|,:!", *text.start) &&
        bytes_begin(text.start + 1, end, "===")) {
        if (*text.start != '|' || stays)
            return skip_to(doc, text);
        doc->table = '|';
        doc->wanted = text;
        return next_line(doc);
    }
    if (is_delimiter(text, "=*_") || bytes_are(text, "--") || bytes_are(text, "+") ||
        bytes_are(text, "'''") || bytes_are(text, "<<<") || bytes_begin(text.start, end, "//") ||
        read_block_macro(doc, text))
        return next_line(doc);
    size_t level = strspn(text.start, "=");
    level = level > 0 ? level : strspn(text.start, "#");
    if (level > 0 && level < 7 && level < text.length && text.start[level] == ' ') {
        add_title(doc, bytes_between(text.start + level, end), nothing, level == 1 || attributes);
        bool first = level == 1;
        bool more = next_line(doc);
        return more && first ? read_header(doc) : more;
    }
    if (*text.start == ':' && text.length > 2 && !byte_is_space(text.start[1])) {
        const char *colon = memchr(text.start + 1, ':', text.length - 1);
        if (colon && !memchr(text.start, ' ', (size_t)(colon - text.start))) {
            bool goes_on;
            do {
                goes_on = text_of(&doc->line).length > 0 &&
                          text_of(&doc->line).start[text_of(&doc->line).length - 1] == '\\';
                if (!next_line(doc))
                    return false;
            } while (goes_on);
            return true;
        }
    }
    size_t mark = list_mark(text);
    const char *term = mark > 0 ? NULL : find_term(text);
    if (term) {
        const char *past = term;
        while (past < end && *past == *term)
            past++;
        while (past < end && *past == ' ')
            past++;
        texts_add(&doc->reader, text.start, term, " / ");
        return past < end ? add_paragraph(doc, past, "\n+\n") : next_line(doc);
    }
    if (stays ||
        (mark == 0 && byte_is_space(*text.start) && doc->blank)) { /* a literal paragraph */
        bool more = next_line(doc);
        while (more && lines_trimmed(&doc->line).length > 0)
            more = next_line(doc);
        return more;
    }
    size_t label = strspn(text.start, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    bool labelled = label > 2 && bytes_begin(text.start + label, end, ": ");
    return add_paragraph(doc, text.start + (labelled ? label + 2 : mark),
                         labelled               ? " +\n"
                         : mark > 0 || attached ? "\n+\n"
                                                : "\n\n");
}

int asciidoc_read(const struct document *document, struct arena *arena, struct markup *out,
                  struct error *err) {
    struct piece_builder builder = document_builder(document, arena);
    struct asciidoc doc = {.reader = texts_reader(document, &builder, next),
                           .line = {.next = document->source},
                           .end = document->source + document->length,
                           .style = nothing};
    if (builder.failed)
        return error_memory(err);
    builder.markup.close = close_mark;
    doc.reader.settle = settle;
    find_names(&doc, arena);
    for (bool more = lines_next(&doc.line, doc.end); more && !builder.failed;)
        more = read_block(&doc);
    return spans_build(doc.reader.spans, &builder, NULL, out, err);
}
