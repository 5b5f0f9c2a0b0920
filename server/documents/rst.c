/* This file hides the notation of reStructuredText (docutils 0.21, Sphinx): which of its lines are
 * prose, and what is notation within them. Code, tables that are drawn, comments, options of
 * directives and everything that is not known stay. */
#include "model/base/utf8.h"
#include "server/documents/rst_table.h"
#include "server/documents/texts.h"
#include <ctype.h>

enum { MOST_NAMES = 4096 /* names to which references are; those of later ones may change */ };

/* Directives whose content is read like the document around them. */
static const char blocks[] =
    "attention caution danger error hint important note tip warning admonition seealso topic "
    "sidebar rubric epigraph highlights pull-quote compound container figure only versionadded "
    "versionchanged versionremoved deprecated todo list-table table hlist centered glossary "
    "tab-set tab-item grid grid-item grid-item-card card dropdown tab tabs div details collapse "
    "class role rst-class line-block";
/* Those whose arguments are text. */
static const char titles[] =
    "attention caution danger error hint important note tip warning "
    "admonition seealso topic sidebar rubric centered list-table table "
    "todo tab tab-item grid-item-card card dropdown details collapse "
    "contents versionadded versionchanged versionremoved deprecated csv-table "
    "replace";
/* Those whose arguments are one paragraph. */
static const char one_line[] = "topic sidebar rubric centered list-table table csv-table replace "
                               "tab tab-item grid-item-card card dropdown details collapse "
                               "admonition contents";
/* Those whose argument begins with a version. */
static const char versions[] = "versionadded versionchanged versionremoved deprecated";
/* Options and fields whose values are text. */
static const char fields[] = "alt caption param parameter arg argument key keyword kwarg return "
                             "returns raise raises except exception var ivar cvar yield yields "
                             "abstract dedication summary description meta-description synopsis";
/* Fields whose values are data; those of others are text if they have several words. */
static const char data_fields[] =
    "author authors organization contact address version revision status date copyright license "
    "orphan tocdepth nocomments nosearch type rtype vartype paramtype kwtype";
/* Directives that describe parts of programs: what follows their names, up to a blank line, stays,
 * and their content is read. */
static const char objects[] =
    "function method classmethod staticmethod decorator decoratormethod attribute property "
    "exception data option cmdoption envvar describe object confval macro type struct union enum "
    "enumerator member var directive autofunction automethod autoclass automodule autoattribute "
    "autodata autoexception autodecorator";

/* A name to which a reference is: `name`_, name_ or `text <name_>`_. */
struct name {
    struct bytes text;   /* as a reference has it */
    struct bytes target; /* of the link whose text the name is; length 0: there is none */
    bool defined;        /* the translated file has it */
};

struct names {
    struct arena *arena;
    struct name *all; /* [count] sorted */
    size_t count, room;
    bool linked; /* some have targets */
};

struct rst {
    struct text_reader reader; /* first, so that it leads to the others */
    struct names *names;
    struct line line; /* the current one */
    const char *end;
    bool glossary; /* the line is within one, which has */
    size_t above,
        terms; /* the indentation of its directive and that of its terms; 0: no term yet */
};

static bool may_precede(const char *begin, const char *at) {
    return at == begin || byte_is_space(at[-1]) || strchr("'\"([{<-/:", at[-1]);
}

static bool may_follow(const char *at, const char *end) {
    return at == end || byte_is_space(*at) || strchr("'\")]}>-/:.,;!?\\", *at) ||
           (unsigned char)*at >= 0x80;
}

/* ---- names ---- */

/* Returns the next character of a name by which names are compared: case, the amount of white space
 * and marks do not count. -1: the name ends. */
static int32_t next_of_name(const char **at, const char *end) {
    while (*at < end && strchr("*`\\", **at))
        ++*at;
    if (*at == end)
        return -1;
    if (byte_is_space(**at)) {
        while (*at < end && byte_is_space(**at))
            ++*at;
        return ' ';
    }
    size_t length = 0;
    int32_t character = character_next(*at, (size_t)(end - *at), &length);
    *at += length;
    return character_lower(character);
}

static int compare_names(struct bytes a, struct bytes b) {
    const char *at = a.start, *other = b.start;
    int32_t one, two;
    do {
        one = next_of_name(&at, a.start + a.length);
        two = next_of_name(&other, b.start + b.length);
    } while (one == two && one >= 0);
    return one < two ? -1 : one > two;
}

/* Returns the index of the first name that is not before this one. */
static size_t find_name(const struct names *names, struct bytes text) {
    size_t low = 0, high = names->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_names(names->all[middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns a name to which references are, or NULL. */
static struct name *referenced(const struct names *names, struct bytes text) {
    size_t i = find_name(names, text);
    return i < names->count && compare_names(names->all[i].text, text) == 0 ? &names->all[i] : NULL;
}

/* Adds a name, or notes that it is defined. */
static void add_name(struct names *names, struct bytes text, bool defined) {
    struct name *own = referenced(names, text);
    if (!own && names->count < MOST_NAMES) {
        size_t i = find_name(names, text);
        struct name *all =
            arena_grow(names->arena, names->all, names->count, &names->room, 1, sizeof *all);
        if (!all)
            return;
        names->all = all;
        own = &all[i];
        memmove(own + 1, own, (names->count++ - i) * sizeof *own);
        *own = (struct name){.text = text};
    }
    if (own)
        own->defined |= defined;
}

/* Adds the name of a target that begins at `at`, `.. _name: `, and returns the end of it. */
static const char *read_target(struct names *names, const char *at, const char *end) {
    const char *begin = at + strlen(".. _"), *past = begin;
    bool quoted = begin < end && *begin == '`';
    begin += quoted;
    for (past = begin; past < end && *past != '\n' && (quoted ? *past != '`' : *past != ':');
         past++)
        if (*past == '\\' && past + 1 < end)
            past++;
    if (past > begin && past < end)
        add_name(names, bytes_between(begin, past), true);
    return past;
}

/* Returns the bracket within a link `text <target>`, whose last sign is before `past`, or NULL. */
static const char *find_target(const char *text, const char *past) {
    for (const char *c = past - 1; past[-1] == '>' && c > text; c--)
        if (*c == '<' && byte_is_space(c[-1]))
            return c;
    return NULL;
}

static struct bytes link_text(const char *text, const char *target) {
    while (target > text && byte_is_space(target[-1]))
        target--;
    return bytes_between(text, target);
}

/* Finds the names in all of a file, also in what is no text: a name too many does no harm. written:
 * it is a translation, whose links define names. */
static void find_names(struct names *names, const char *begin, const char *end, bool written) {
    for (const char *at = begin; at < end;) {
        const char *past = NULL;
        if (*at == '\\') {
            past = at + 1 < end ? at + 2 : end;
        } else if ((at == begin || at[-1] == '\n' || at[-1] == ' ') &&
                   bytes_begin(at, end, ".. _") && !bytes_begin(at, end, ".. __")) {
            past = read_target(names, at, end);
        } else if (bytes_begin(at, end, "``")) {
            past = texts_find(at + 2, end, "``");
            past = past ? past + 2 : at + 2;
        } else if (*at == '`' && may_precede(begin, at) && at + 1 < end && !byte_is_space(at[1]) &&
                   (past = texts_find(at + 1, end, "`")) != NULL) {
            const char *text = at + 1, *target = find_target(text, past++);
            bool named = bytes_begin(past, end, "_") && !bytes_begin(past, end, "__");
            struct name *own =
                written && named && target ? referenced(names, link_text(text, target)) : NULL;
            if (own)
                own->defined = true;
            if (named && target && past[-3] == '_') /* `text <name_>`_ */
                add_name(names, bytes_between(target + 1, past - 3), false);
            else if (named && !target)
                add_name(names, bytes_between(text, past - 1), false);
        } else if (*at == '_' && at > begin && isalnum((unsigned char)at[-1]) &&
                   may_follow(at + 1, end)) {
            const char *word = at;
            while (word > begin && at - word < TEXTS_FAR &&
                   (isalnum((unsigned char)word[-1]) || (unsigned char)word[-1] >= 0x80 ||
                    strchr("-_.+:", word[-1])))
                word--;
            add_name(names, bytes_between(word, at), false);
        }
        at = past ? past : at + 1;
    }
}

/* Puts a name with single spaces, or a target without any. */
static void put_name(struct bytes_buffer *out, struct bytes text, const char *space) {
    for (size_t i = 0; i < text.length; i++)
        if (!byte_is_space(text.start[i]))
            bytes_put(out, text.start + i, 1);
        else if (i > 0 && !byte_is_space(text.start[i - 1]))
            bytes_put_string(out, space);
}

/* A text_draw: targets at the end of the file, for the names of links whose texts have become
 * others. */
static bool draw_targets(const void *drawing, bool both, struct bytes before,
                         struct bytes_buffer *out) {
    const struct names *source = drawing;
    const char *end = before.start + before.length;
    struct name *all = arena_alloc(out->arena, source->count, sizeof *all);
    struct names names = {.arena = out->arena, .all = all, .count = source->count};
    (void)both;
    if (!all)
        return false;
    memcpy(all, source->all, source->count * sizeof *all);
    names.room = names.count;
    find_names(&names, before.start, end, true);
    for (size_t i = 0; i < names.count; i++) {
        if (names.all[i].target.length == 0 || names.all[i].defined)
            continue;
        bytes_put_string(out,
                         out->length == 0 && end > before.start && end[-1] != '\n' ? "\n" : "");
        bytes_put_string(out, "\n.. _`");
        put_name(out, names.all[i].text, " ");
        bytes_put_string(out, "`: ");
        put_name(out, names.all[i].target, "");
        bytes_put_string(out, "\n");
    }
    return true;
}

/* Returns the target that a title needs before it to keep its name, or NULL. line: of the title, or
 * the one over it. */
static const char *title_target(struct rst *rst, struct bytes title, const char *line) {
    struct name *name = referenced(rst->names, title);
    struct bytes_buffer out = {.arena = rst->reader.builder->arena};
    if (!name || name->defined)
        return NULL;
    name->defined = true;
    bytes_put_string(&out, ".. _`");
    put_name(&out, name->text, " ");
    bytes_put_string(&out, "`:");
    bytes_put_string(&out, texts_paragraph(&rst->reader, line, 0));
    return out.failed ? NULL : out.bytes;
}

/* ---- within texts ---- */

/* Returns the mark that ends what a mark began, or NULL. */
static const char *find_end(const char *inside, const char *end, const char *mark) {
    size_t length = strlen(mark);
    if (inside == end || byte_is_space(*inside))
        return NULL;
    for (const char *at = inside + 1; (at = texts_find(at, end, mark)) != NULL; at++)
        if (!byte_is_space(at[-1]) && (at[-1] != '\\' || *mark == '`') &&
            (may_follow(at + length, end) || (*mark == '|' && at[1] == '_')) &&
            at - inside < TEXTS_FAR)
            return at;
    return NULL;
}

/* `text`, `text <target>`, with a role before it or a reference's mark after it. */
static void read_interpreted(struct names *names, const char *at, const char *mark, const char *end,
                             struct text_token *out) {
    struct bytes role = mark > at ? bytes_between(at + 1, mark - 1) : nothing;
    const char *past = texts_find(mark + 1, end, "`");
    if (!past || past == mark + 1 || byte_is_space(mark[1]) ||
        (past + 1 < end && past[1] != '_' && !may_follow(past + 1, end)))
        return;
    const char *after = past + 1;
    while (after < end && *after == '_' && after - past < 3)
        after++;
    bool link = after > past + 1;
    const char *target = find_target(mark, past);
    const char *colon = role.start;
    for (const char *c = role.start; c && c < role.start + role.length; c++)
        colon = *c == ':' ? c + 1 : colon;
    struct bytes last = role.length > 0 ? bytes_between(colon, role.start + role.length) : nothing;
    out->after = after;
    out->inside = mark + 1;
    out->past = past;
    if (target) {
        struct bytes text = link_text(mark + 1, target);
        struct name *name = link && after == past + 2 ? referenced(names, text) : NULL;
        out->kind = text.length > 0 ? TEXT_ELEMENT : TEXT_UNIT;
        out->past = mark + 1 + text.length;
        if (name && !name->defined && name->target.length == 0) {
            name->target = bytes_between(target + 1, past - 1);
            names->linked = true;
        }
    } else if (link) {
        out->kind = TEXT_CODE; /* the text is the link's name, so it stays */
    } else if (role.length == 0 || bytes_among(last, "emphasis strong title-reference title t sub "
                                                     "sup dfn guilabel")) {
        out->kind = TEXT_ELEMENT;
    } else if (bytes_are(last, "term") && !strchr("!~", mark[1])) {
        struct bytes_buffer closing = {.arena = names->arena}; /* :term:`translation <term>` */
        bytes_put_string(&closing, " <");
        put_name(&closing, bytes_between(mark + 1, past), " ");
        bytes_put_string(&closing, ">`");
        out->kind = closing.failed ? TEXT_CODE : TEXT_NAMED;
        out->text = (struct bytes){closing.bytes, closing.length};
    } else {
        out->kind = bytes_are(last, "math") ? TEXT_NOUN : TEXT_CODE;
        out->text = (struct bytes){"X", 1};
    }
}

/* name_ and name__: the word is the name of a target, so it stays. */
static void read_reference(const char *begin, const char *at, const char *end,
                           struct text_token *out) {
    const char *past = at;
    if (at > begin && !may_precede(begin, at))
        return;
    while (past < end && past - at < TEXTS_FAR &&
           (isalnum((unsigned char)*past) ||
            (strchr("-_.+:", *past) && past + 1 < end && isalnum((unsigned char)past[1]))))
        past++;
    const char *after = past;
    while (after < end && *after == '_' && after - past < 2)
        after++;
    if (after > past && may_follow(after, end))
        *out = (struct text_token){TEXT_CODE, after, at, past, nothing};
    else
        out->after = past > at ? past : at + 1;
}

/* A text_next. */
static void next(const struct text_reader *reader, const char *begin, const char *at,
                 const char *end, struct text_token *out) {
    static const char *const marks[] = {"``", "**", "*", "|"};
    struct names *names = ((const struct rst *)reader)->names;
    if (*at == '\\' && at + 1 < end) {
        size_t length = 0; /* a backslash and a space are nothing, which `settle` puts anew */
        character_next(at + 1, (size_t)(end - at - 1), &length);
        *out = (struct text_token){TEXT_WORDS, .after = at + 1 + length,
                                   .text = {at + 1, byte_is_space(at[1]) ? 0 : length}};
        return;
    }
    if (isalnum((unsigned char)*at)) {
        read_reference(begin, at, end, out);
        return;
    }
    bool joined = at - begin > 1 && at[-1] == ' ' && at[-2] == '\\'; /* name\ |trade| */
    bool after_mark = at > begin && *at == ':' && at[-1] == '`';     /* :ref:`a`:func:`b` */
    if (!strchr("`*|:[_", *at) || (!after_mark && !may_precede(begin, at)))
        return;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t length = strlen(marks[i]);
        if (!bytes_begin(at, end, marks[i]))
            continue;
        const char *past = find_end(at + length, end, marks[i]);
        if (!past)
            return;
        *out =
            (struct text_token){*at == '`'   ? TEXT_CODE
                                : *at == '|' ? (joined ? TEXT_UNIT : TEXT_NOUN)
                                             : TEXT_ELEMENT,
                                past + length, at + length, past, bytes_between(at + length, past)};
        while (*at == '|' && out->after < end && *out->after == '_')
            out->after++;
        return;
    }
    if (*at == '[') { /* [1]_, [#name]_, [CIT2002]_ */
        const char *past = texts_bracket_end(at, end);
        if (past && past < end && *past == '_' && may_follow(past + 1, end))
            *out = (struct text_token){TEXT_UNIT, .after = past + 1};
        return;
    }
    const char *mark = at;
    if (*at == ':') {
        for (mark++; mark < end && (isalnum((unsigned char)*mark) || strchr("-_.+:", *mark));)
            mark++;
        if (mark == end || mark[-1] != ':' || mark - at < 3)
            return;
    } else if (*at == '_') {
        mark++; /* _`inline target` */
        if (mark < end && *mark == '`')
            read_interpreted(names, mark, mark, end, out);
        if (out->kind == TEXT_ELEMENT && referenced(names, bytes_between(out->inside, out->past)))
            out->kind = TEXT_CODE; /* its text is the name, so it stays */
        return;
    }
    if (*mark == '`')
        read_interpreted(names, at, mark, end, out);
}

/* A markup_escape. */
static void escape(struct bytes_buffer *out, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        bool last = i + 1 == length || !isalnum((unsigned char)text[i + 1]);
        if (strchr("*`|\\", text[i]) ||
            (text[i] == '_' && last && i > 0 && isalnum((unsigned char)text[i - 1])))
            bytes_put_string(out, "\\");
        bytes_put(out, text + i, 1);
    }
}

/* Returns the end of the inline markup that begins there in a written text, in which other marks
 * have backslashes, or NULL. */
static const char *markup_end(const char *at, const char *end) {
    static const char *const marks[] = {"``", "`", "**", "*", "|"};
    const char *mark = at + (*at == '_');
    if (*at == ':') { /* a role */
        for (mark++; mark < end && (isalnum((unsigned char)*mark) || strchr("-_.+:", *mark));)
            mark++;
        if (mark[-1] != ':')
            return NULL;
    }
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        size_t length = strlen(marks[i]);
        if (!bytes_begin(mark, end, marks[i]) || (mark > at && *mark != '`'))
            continue;
        const char *past = mark + length, *limit = texts_limit(mark, end);
        while ((past = texts_find(past, limit, marks[i])) != NULL && i > 0 && past[-1] == '\\')
            past++;
        if (!past)
            return NULL;
        past += length;
        while (length == 1 && *mark != '*' && past < end && *past == '_')
            past++;
        return past;
    }
    return NULL;
}

/* A text_settle: puts "\ ", which is nothing, between inline markup and a letter, beside which it
 * would not be read as such. */
static void settle(struct bytes_buffer *out, struct bytes text) {
    static const char gap[] = "\\ ";
    const char *at = text.start, *end = at + text.length, *done = at;
    size_t begin = out->length;
    while (at < end) {
        const char *after = strchr("`*|:_", *at) ? markup_end(at, end) : NULL;
        if (!after) {
            at += *at == '\\' && at + 1 < end ? 2 : 1;
            continue;
        }
        bytes_put(out, done, (size_t)(at - done));
        bool second = *at == ':' && at > text.start && at[-1] == '`'; /* :ref:`a`:func:`b` */
        if (!out->failed && !second && !may_precede(out->bytes + begin, out->bytes + out->length))
            bytes_put_string(out, gap);
        bytes_put(out, at, (size_t)(after - at));
        second = bytes_begin(after, end, ":") && markup_end(after, end);
        if (!second && !may_follow(after, end))
            bytes_put_string(out, gap);
        at = done = after;
    }
    bytes_put(out, done, (size_t)(end - done));
}

/* ---- lines ---- */

static size_t indent_of(const struct line *line) {
    size_t columns = 0;
    for (const char *at = line->begin; at < line->end && (*at == ' ' || *at == '\t'); at++)
        columns = *at == '\t' ? (columns / 8 + 1) * 8 : columns + 1;
    return columns;
}

static bool is_blank(const struct line *line) {
    return lines_trimmed(line).length == 0;
}

/* Returns the line after this one; at the end, an empty one. */
static struct line peek(const struct rst *rst, const struct line *line) {
    struct line next = *line;
    return lines_next(&next, rst->end) ? next : (struct line){rst->end, rst->end, rst->end, 0};
}

/* True for a line of one sign, which underlines a title or draws a table. */
static bool is_adornment(const struct line *line) {
    struct bytes text = lines_trimmed(line);
    if (text.length < 2 || isalnum((unsigned char)*text.start) ||
        (unsigned char)*text.start >= 0x80)
        return false;
    for (size_t i = 1; i < text.length; i++)
        if (text.start[i] != *text.start)
            return false;
    return true;
}

/* Skips lines that are indented more than this, and blank lines. Leaves the first other line the
 * current one; returns false at the end. */
static bool skip_block(struct rst *rst, size_t indent) {
    bool more = true;
    while (more && (is_blank(&rst->line) || indent_of(&rst->line) > indent))
        more = lines_next(&rst->line, rst->end);
    return more;
}

/* Returns the bytes of a list's mark with the white space after it; 0: there is none. */
static size_t list_mark(struct bytes text) {
    size_t length = 0;
    const char *at = text.start, *end = at + text.length;
    if (bytes_begin(at, end, "| ") || (text.length > 1 && strchr("-*+", *at) && at[1] == ' '))
        length = 1;
    else if (bytes_begin(at, end, "\u2022 "))
        length = 3;
    else {
        bool open = at < end && *at == '(';
        const char *digits = at + open, *past = digits;
        while (past < end && isdigit((unsigned char)*past) && past - digits < 4)
            past++;
        if (past == digits && past < end && (isalpha((unsigned char)*past) || *past == '#'))
            past++;
        bool closed = past > digits && past < end && (*past == ')' || (!open && *past == '.'));
        length = closed ? (size_t)(past + 1 - at) : 0;
    }
    size_t spaces = length;
    while (length > 0 && spaces < text.length && text.start[spaces] == ' ')
        spaces++;
    return spaces > length ? spaces : 0;
}

/* Adds a paragraph that begins at `begin` in the current line, and goes on in lines with this
 * indentation. below: as of texts_add; NULL: a paragraph in the same column. Afterwards the current
 * line is the first that was not read; returns false at the end. */
static bool add_paragraph(struct rst *rst, const char *begin, size_t indent, const char *below) {
    struct line last = rst->line;
    size_t own = indent_of(&rst->line);
    const char *first = last.begin, *words = lines_trimmed(&last).start;
    bool more;
    while ((more = lines_next(&rst->line, rst->end)) && !is_blank(&rst->line) &&
           indent_of(&rst->line) == indent)
        last = rst->line;
    struct bytes text = bytes_between(begin, last.end);
    while (text.length > 0 && byte_is_space(text.start[text.length - 1]))
        text.length--;
    const char *end = text.start + text.length;
    bool literal = text.length > 1 && end[-1] == ':' && end[-2] == ':';
    if (!below)
        below = texts_paragraph(&rst->reader, first, begin > words ? (size_t)(begin - words) : 0);
    texts_add(&rst->reader, begin, literal ? end - 2 : end, below);
    if (!literal || !more)
        return more;
    while (more && is_blank(&rst->line))
        more = lines_next(&rst->line, rst->end);
    /* the literal block is indented, or each of its lines begins with the same sign */
    if (more && indent_of(&rst->line) > own)
        return skip_block(rst, own);
    char sign = more ? *lines_trimmed(&rst->line).start : ' ';
    while (more && !isalnum((unsigned char)sign) && !is_blank(&rst->line) &&
           *lines_trimmed(&rst->line).start == sign)
        more = lines_next(&rst->line, rst->end);
    return more;
}

/* Returns the value of a field or an option `:name: value`, and sets its name; length 0 and start
 * NULL: it is none. */
static struct bytes field_of(struct bytes text, struct bytes *name) {
    const char *end = text.start + text.length;
    if (text.length < 3 || *text.start != ':' || byte_is_space(text.start[1]) ||
        text.start[1] == ':')
        return (struct bytes){NULL, 0};
    for (const char *at = text.start + 1; at < end; at++)
        if (*at == ':' && at[-1] != '\\' && (at + 1 == end || byte_is_space(at[1]))) {
            *name = bytes_between(text.start + 1, at);
            name->length = strcspn(name->start, " :");
            return bytes_between(at + 1, end);
        }
    return (struct bytes){NULL, 0};
}

/* Reads `.. name:: argument` and the options below it. Returns false at the end of the document. */
static bool read_directive(struct rst *rst, struct bytes text) {
    size_t indent = indent_of(&rst->line);
    const char *end = text.start + text.length, *at = text.start + 2;
    while (at < end && *at == ' ')
        at++;
    const char *name = at;
    if (at < end && *at == '|') { /* .. |name| replace:: text */
        const char *bar = memchr(at + 1, '|', (size_t)(end - at - 1));
        for (name = bar ? bar + 1 : at; bar && name < end && *name == ' ';)
            name++;
    }
    const char *colons = memmem(name, (size_t)(end - name), "::", 2);
    struct bytes kind = colons ? bytes_between(name, colons) : nothing;
    const char *domain = memchr(kind.start, ':', kind.length); /* py:function */
    if (domain)
        kind = bytes_between(domain + 1, colons);
    if (at < end && *at == '[') { /* a footnote or a citation */
        const char *past = texts_bracket_end(at, end);
        if (past && past < end && *past == ' ')
            return add_paragraph(rst, past + 1, indent + (size_t)(at - text.start), NULL);
        bool more = lines_next(&rst->line, rst->end);
        return more && skip_block(rst, indent);
    }
    if (!colons || kind.length == 0 || memchr(kind.start, ' ', kind.length)) {
        bool more = lines_next(&rst->line, rst->end);
        return more && skip_block(rst, indent);
    }
    const char *argument = colons + 2;
    while (argument < end && *argument == ' ')
        argument++;
    if (bytes_among(kind, versions)) {
        while (argument < end && *argument != ' ')
            argument++;
        while (argument < end && *argument == ' ')
            argument++;
    }
    struct line next = peek(rst, &rst->line);
    bool goes_on = next.begin < next.end && !is_blank(&next) && indent_of(&next) > indent &&
                   *lines_trimmed(&next).start != ':';
    bool more;
    if (argument < end && bytes_among(kind, titles))
        more = add_paragraph(rst, argument, goes_on ? indent_of(&next) : SIZE_MAX,
                             bytes_among(kind, one_line)
                                 ? " / "
                                 : texts_paragraph(&rst->reader, rst->line.begin, 3));
    else
        more = lines_next(&rst->line, rst->end);
    bool object = bytes_among(kind, objects);
    while (more && !is_blank(&rst->line) && indent_of(&rst->line) > indent) {
        struct bytes option;
        struct bytes value = field_of(lines_trimmed(&rst->line), &option);
        if (!value.start && !object)
            break;
        if (value.start && bytes_among(option, "alt caption synopsis") && value.length > 0)
            texts_add(&rst->reader, value.start, value.start + value.length, " / ");
        more = lines_next(&rst->line, rst->end);
    }
    if (more && !bytes_among(kind, blocks) && !object)
        more = skip_block(rst, indent);
    if (bytes_are(kind, "glossary")) {
        rst->glossary = true;
        rst->above = indent;
        rst->terms = 0;
    }
    return more;
}

/* Reads a term of a glossary, before the sign of its classifier. Returns false if the current line
 * is none. */
static bool read_term(struct rst *rst, bool *more) {
    size_t indent = indent_of(&rst->line);
    struct bytes text = lines_trimmed(&rst->line);
    const char *end = text.start + text.length;
    if (rst->glossary && indent <= rst->above)
        rst->glossary = false;
    if (!rst->glossary || bytes_begin(text.start, end, ".. "))
        return false;
    if (rst->terms == 0)
        rst->terms = indent;
    if (indent != rst->terms)
        return false;
    const char *key = memmem(text.start, text.length, " : ", 3);
    struct bytes_buffer below = {.arena = rst->reader.builder->arena};
    bytes_put_string(&below, "\n");
    bytes_put(&below, rst->line.begin, (size_t)(text.start - rst->line.begin));
    if (!below.failed)
        texts_add_name(&rst->reader, text.start, key ? key : end, below.bytes);
    *more = lines_next(&rst->line, rst->end);
    return true;
}

/* Reads a table that is drawn, or a title; *more: as add_paragraph. Returns false if it is neither.
 */
static bool read_adorned(struct rst *rst, bool *more) {
    struct bytes text = lines_trimmed(&rst->line);
    struct line next = peek(rst, &rst->line), after = peek(rst, &next);
    bool drawn = text.length > 2 && (bytes_begin(text.start, text.start + text.length, "+-") ||
                                     bytes_begin(text.start, text.start + text.length, "==="));
    for (size_t i = 0; i < text.length; i++)
        drawn &= !!strchr("+-= ", text.start[i]);
    drawn &= memchr(text.start, ' ', text.length) || memchr(text.start, '+', text.length);
    if (drawn && indent_of(&next) >= indent_of(&rst->line) && next.begin < next.end) {
        bool simple = *text.start == '=';
        const char *begin = rst->line.begin, *past = rst->line.next;
        size_t rules = 0; /* a simple table ends after its last line of equals signs */
        for (*more = true; *more;) {
            struct bytes own = lines_trimmed(&rst->line);
            rules += own.length > 0 && *own.start == '=';
            past = rst->line.next;
            *more = lines_next(&rst->line, rst->end);
            if (*more && is_blank(&rst->line) &&
                (!simple || (own.length > 0 && *own.start == '=' && rules > 1)))
                break;
        }
        rst_table_add(&rst->reader, bytes_between(begin, past));
        return true;
    }
    bool over = is_adornment(&rst->line) && !is_blank(&next) && is_adornment(&after) &&
                *text.start == *lines_trimmed(&after).start;
    bool under = !over && is_adornment(&next) && indent_of(&rst->line) == 0 &&
                 indent_of(&next) == 0 && !is_adornment(&rst->line) &&
                 (lines_trimmed(&next).length > 3 || lines_trimmed(&next).length >= text.length);
    if (over || under) {
        texts_add_title(
            &rst->reader, lines_trimmed(over ? &next : &rst->line), over ? text : nothing,
            lines_trimmed(over ? &after : &next),
            title_target(rst, lines_trimmed(over ? &next : &rst->line), rst->line.begin));
        rst->line = over ? after : next;
        *more = lines_next(&rst->line, rst->end);
        return true;
    }
    if (!is_adornment(&rst->line) || text.length < 4)
        return false;
    *more = lines_next(&rst->line, rst->end);
    return true;
}

/* Reads what begins in the current line. Returns false at the end of the document. */
static bool read_block(struct rst *rst) {
    struct bytes text = lines_trimmed(&rst->line), name;
    const char *end = text.start + text.length;
    size_t indent = indent_of(&rst->line);
    bool more;
    if (read_term(rst, &more) || read_adorned(rst, &more))
        return more;
    if (bytes_begin(text.start, end, ".. ") || bytes_are(text, "..") ||
        bytes_begin(text.start, end, "__ "))
        return read_directive(rst, text);
    if (bytes_begin(text.start, end, ">>>")) {
        do
            more = lines_next(&rst->line, rst->end);
        while (more && !is_blank(&rst->line));
        return more;
    }
    struct bytes value = field_of(text, &name);
    if (value.start) {
        value = bytes_trimmed(value);
        bool known = bytes_among_any_case(name, fields),
             data = !known && (bytes_among_any_case(name, data_fields) ||
                               (value.length > 0 && !memchr(value.start, ' ', value.length)));
        if (!data && value.length > 0) {
            struct line next = peek(rst, &rst->line);
            return add_paragraph(rst, value.start,
                                 indent_of(&next) > indent ? indent_of(&next) : SIZE_MAX, NULL);
        }
        more = lines_next(&rst->line, rst->end);
        return data && more ? skip_block(rst, indent) : more;
    }
    const char *begin = text.start;
    bool bar = bytes_begin(begin, end, "| ");
    if (bytes_are(text, "|"))
        return lines_next(&rst->line, rst->end);
    for (size_t mark, marks = 0; marks < 4 && (mark = list_mark(bytes_between(begin, end))) > 0;
         marks++) /* an item may begin with another list */
        begin += mark;
    if (*text.start == '-' && text.length > 1 && begin == text.start) { /* -o FILE  text */
        const char *gap = memmem(text.start, text.length, "  ", 2);
        if (!gap)
            return lines_next(&rst->line, rst->end);
        for (begin = gap; begin < end && *begin == ' ';)
            begin++;
    }
    size_t column = indent + (size_t)(begin - text.start);
    if (bar)
        return add_paragraph(rst, begin, SIZE_MAX, " / ");
    struct line after = peek(rst, &rst->line);
    if (begin == text.start && memmem(begin, text.length, " : ", 3) && !is_blank(&after) &&
        indent_of(&after) > indent) /* a term with a classifier: the name of a parameter */
        return lines_next(&rst->line, rst->end);
    return add_paragraph(rst, begin, begin > text.start ? column : indent, NULL);
}

int rst_read(const struct document *document, struct arena *arena, struct markup *out,
             struct error *err) {
    struct piece_builder builder = document_builder(document, arena);
    const char *end = document->source + document->length;
    struct names *names = arena_zalloc(arena, 1, sizeof *names);
    struct rst rst = {.reader = texts_reader(document, &builder, next),
                      .names = names,
                      .line = {.next = document->source},
                      .end = end};
    if (builder.failed || !names)
        return error_memory(err);
    rst.reader.settle = settle;
    names->arena = arena;
    find_names(names, document->source, end, false);
    for (bool more = lines_next(&rst.line, rst.end); more && !builder.failed;)
        more = is_blank(&rst.line) ? lines_next(&rst.line, rst.end) : read_block(&rst);
    if (names->linked && !builder.failed)
        texts_add_drawing(&rst.reader, (struct bytes){end, 0}, draw_targets, names);
    return spans_build(rst.reader.spans, &builder, escape, out, err);
}
