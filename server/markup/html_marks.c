#include "server/markup/html_marks.h"
#include "server/markup/html_attributes.h"
#include "server/markup/html_piece.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    NAME_BYTES = 32,
    MOST_TAG = 4096,     /* bytes of a tag */
    MOST_CODE = 256,     /* of code and links */
    MOST_REFERENCE = 40, /* of a reference */
    HEAD_BYTES = 8       /* in front of a mark, that are looked at */
};

/* ---- references ---- */

static int32_t numbered(const char *digits, const char *end) {
    bool hexadecimal = digits < end && (*digits | 0x20) == 'x';
    long value = 0;
    for (digits += hexadecimal; digits < end; digits++) {
        if (hexadecimal ? !isxdigit((unsigned char)*digits) : !isdigit((unsigned char)*digits))
            return -1;
        value = value * (hexadecimal ? 16 : 10) + (isdigit((unsigned char)*digits) ? *digits - '0' : (*digits | 0x20) - 'a' + 10);
        if (value > 0x10ffff)
            return -1;
    }
    return value < 0x20 && value != '\t' && value != '\n' && value != '\r' ? -1
           : value >= 0xd800 && value < 0xe000                             ? -1
                                                                           : (int32_t)value;
}

static int32_t named(const char *name, size_t length) {
    char copy[MOST_REFERENCE + 1];
    if (length == 4 && memcmp(name, "apos", 4) == 0)
        return '\'';
    memcpy(copy, name, length);
    copy[length] = '\0';
    return html_entity(copy);
}

size_t html_reference(const char *at, const char *end, int32_t *character) {
    const char *begin = at + 1, *c = begin;
    *character = -1;
    if (at == end || *at != '&')
        return 0;
    bool number = c < end && *c == '#';
    for (c += number; c < end && c - begin < MOST_REFERENCE && (isalnum((unsigned char)*c) || (!number && *c == '.')); c++)
        ;
    if (c == end || *c != ';' || c - begin < 2 || (!number && !isalpha((unsigned char)*begin)))
        return 0;
    *character = number ? numbered(begin + 1, c) : named(begin, (size_t)(c - begin));
    return (size_t)(c + 1 - at);
}

/* ---- tags ---- */

/* A tag, whose '<' and '>' may be written as references. */
struct tag {
    char name[NAME_BYTES];
    bool is_end, is_closed, escaped;
    bool has_attributes, has_values; /* there are some; all of them have values */
    const char *attributes, *end;    /* where these begin; behind the tag */
};

static bool is_name_character(char c) {
    return isalnum((unsigned char)c) || (c && strchr("-_.:", c));
}

/* The '>' of a tag; NULL: there is none, or another tag begins before it. */
static const char *find_close(const char *at, const char *end, bool escaped) {
    const char *close = escaped ? "&gt;" : ">";
    size_t length = strlen(close);
    char quote = 0;
    for (; at < end; at++) {
        if (quote == 0 && (size_t)(end - at) >= length && memcmp(at, close, length) == 0)
            return at;
        if (quote == 0 && (*at == '<' || (escaped && (*at == '>' || (end - at > 3 && memcmp(at, "&lt;", 4) == 0)))))
            return NULL;
        if (quote == 0 && (*at == '"' || *at == '\'') && at[-1] == '=')
            quote = *at;
        else if (*at == quote)
            quote = 0;
    }
    return NULL;
}

/* What stands in the tag behind its name is attributes. */
static void read_attributes(struct tag *tag, const char *at, const char *close) {
    struct html_attribute attribute;
    tag->attributes = at;
    tag->has_values = true;
    while (html_next_attribute(&at, close, &attribute)) {
        tag->has_attributes = true;
        tag->has_values &= attribute.has_value;
    }
}

static bool read_tag(const char *at, const char *end, struct tag *tag) {
    size_t opening = *at == '<' ? 1 : end - at > 4 && memcmp(at, "&lt;", 4) == 0 ? 4 : 0, length = 0;
    *tag = (struct tag){.escaped = opening > 1};
    const char *name = at + opening;
    if (opening == 0)
        return false;
    end = end - at > MOST_TAG ? at + MOST_TAG : end;
    tag->is_end = name < end && *name == '/';
    name += tag->is_end;
    if (name == end || !isalnum((unsigned char)*name))
        return false;
    bool number = isdigit((unsigned char)*name);
    while (name + length < end && (number ? isdigit((unsigned char)name[length]) : is_name_character(name[length])))
        length++;
    if (length >= NAME_BYTES || name + length == end || !(html_is_space(name[length]) || strchr("/>&", name[length])))
        return false;
    memcpy(tag->name, name, length);
    const char *close = find_close(name + length, end, tag->escaped);
    if (!close)
        return false;
    read_attributes(tag, name + length, close);
    tag->is_closed = close[-1] == '/';
    tag->end = close + (tag->escaped ? 4 : 1);
    if (name[length] == '/' && name + length + 1 != close) /* <http://x> */
        return false;
    return !(number || tag->is_end) || !tag->has_attributes;
}

static unsigned flags_of(const struct tag *tag) {
    char lower[NAME_BYTES] = "";
    for (size_t i = 0; tag->name[i]; i++)
        lower[i] = (char)tolower((unsigned char)tag->name[i]);
    return html_element(lower);
}

static bool is_known(const struct tag *tag) {
    char lower[NAME_BYTES] = "";
    for (size_t i = 0; tag->name[i]; i++)
        lower[i] = (char)tolower((unsigned char)tag->name[i]);
    return html_is_known(lower);
}

/* ---- marks ---- */

static bool set_mark(struct html_mark_scan *scan, size_t begin, const char *end, enum html_mark_kind kind, struct html_mark *mark) {
    *mark = (struct html_mark){begin, (size_t)(end - scan->text), kind, "", 0};
    scan->at = mark->end;
    return true;
}

static void show(struct html_mark *mark, const char *text, size_t length) {
    if (length == 0 || length > MARK_SHOWN_BYTES || memchr(text, ' ', length) || memchr(text, '\n', length))
        return;
    memcpy(mark->shown, text, length);
    mark->shown_length = length;
}

static bool is_letter_before(const struct html_mark_scan *scan, size_t at) {
    return at > 0 && !character_is_punctuation(character_previous(scan->text, &at)) && !html_is_space(scan->text[at]);
}

static bool is_letter_behind(const struct html_mark_scan *scan, size_t at) {
    if (at >= scan->length)
        return false;
    int32_t c = character_next(scan->text, scan->length, &at);
    return !character_is_space(c) && !character_is_punctuation(c);
}

/* What a reference is to a sentence: a letter of it, a mark that it shows, white space, or nothing. */
static bool take_reference(struct html_mark_scan *scan, const char *at, const char *end, struct html_mark *mark) {
    int32_t c;
    size_t bytes = html_reference(at, end, &c), begin = (size_t)(at - scan->text);
    if (bytes == 0)
        return false;
    set_mark(scan, begin, at + bytes, MARK_UNIT, mark);
    if (scan->quoted || c < 0)
        return true;
    bool within = (c == '\'' || c == 0x2019) && is_letter_before(scan, begin) && is_letter_behind(scan, mark->end);
    char text[4];
    size_t length = character_put(c, text);
    if (c == '\n' || c == '\r')
        mark->kind = MARK_BREAK;
    else if (character_is_space(c))
        mark->kind = MARK_SPACE;
    else if (within || (!character_is_punctuation(c) && !character_is_other(c)))
        mark->kind = MARK_TEXT;
    if (mark->kind == MARK_TEXT || (mark->kind == MARK_UNIT && character_is_mark(c))) /* models do not know symbols */
        show(mark, text, length);
    return true;
}

/* Comments and such, from one string to another. */
static bool take_other(struct html_mark_scan *scan, const char *at, const char *end, struct html_mark *mark) {
    static const struct {
        const char *begin, *end;
        enum html_mark_kind kind;
    } others[] = {{"<!--", "-->", MARK_UNIT}, {"<?", "?>", MARK_UNIT},        {"<![CDATA[", "", MARK_BREAK},
                  {"]]>", "", MARK_BREAK},    {"<!DOCTYPE", ">", MARK_BREAK}, {"<!doctype", ">", MARK_BREAK}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t length = strlen(others[i].begin), left = (size_t)(end - at);
        if (left < length || memcmp(at, others[i].begin, length) != 0)
            continue;
        left = left > MOST_TAG ? MOST_TAG : left;
        const char *close = memmem(at + length, left - length, others[i].end, strlen(others[i].end));
        return close && set_mark(scan, (size_t)(at - scan->text), close + strlen(others[i].end),
                                 scan->quoted ? MARK_UNIT : others[i].kind, mark);
    }
    return false;
}

/* Its name tells its partner; a block ends sentences, but where tags are only told of. */
static bool take_tag(struct html_mark_scan *scan, const char *at, const char *end, struct html_mark *mark) {
    struct tag tag;
    return read_tag(at, end, &tag) && set_mark(scan, (size_t)(at - scan->text), tag.end, MARK_TAG, mark);
}

/* ---- code and links ---- */

static const char *skip_run(const char *at, const char *end, char c) {
    while (at < end && *at == c)
        at++;
    return at;
}

/* The same run of backticks as before `content`, on the same line, with something between. */
static const char *find_run(const char *content, const char *end, size_t run) {
    end = end - content > MOST_CODE ? content + MOST_CODE : end;
    for (const char *at = content; at < end && *at != '\n'; at++) {
        const char *behind = skip_run(at, end, '`');
        if ((size_t)(behind - at) == run)
            return at > content ? at : NULL;
        at = behind > at ? behind - 1 : at;
    }
    return NULL;
}

/* `:role:` in front of a backtick. Its bytes; 0: there is none. */
static size_t role_length(const char *at, const char *end) {
    const char *c = at + 1;
    while (c < end && c - at < NAME_BYTES && (islower((unsigned char)*c) || *c == ':' || *c == '-'))
        c++;
    return c - at > 2 && c < end && *c == '`' && c[-1] == ':' ? (size_t)(c - at) : 0;
}

/* Where " <url>" begins at the end of a link; NULL: there is none, or no text in front. */
static const char *find_url(const char *content, const char *close) {
    if (close[-1] != '>')
        return NULL;
    const char *open = memrchr(content, '<', (size_t)(close - content));
    if (!open || open == content || !html_is_space(open[-1]) || open + 2 >= close)
        return NULL;
    while (open > content && html_is_space(open[-1]))
        open--;
    return open > content ? open : NULL;
}

/* Backticks: code, or a link of reStructuredText whose text is prose. */
static bool take_ticks(struct html_mark_scan *scan, const char *at, const char *end, struct html_mark *mark) {
    size_t begin = (size_t)(at - scan->text), role = *at == ':' ? role_length(at, end) : 0;
    if ((*at == ':' && role == 0) || (begin > 0 && at[-1] == '`')) /* within a run that was looked at */
        return false;
    const char *ticks = at + role, *content = skip_run(ticks, end, '`');
    size_t run = (size_t)(content - ticks);
    const char *close = run == 0 ? NULL : find_run(content, end, run);
    if (!close || is_letter_before(scan, begin) || (run == 1 && (html_is_space(*content) || html_is_space(close[-1]))))
        return false;
    const char *behind = close + run, *lines = skip_run(behind, end, '_'), *url = run == 1 ? find_url(content, close) : NULL;
    bool link = run == 1 && lines > behind && lines - behind < 3 && !is_letter_behind(scan, (size_t)(lines - scan->text));
    if ((link || role > 0) && (url || role == 0)) {
        scan->close_begin = (size_t)((url ? url : close) - scan->text);
        scan->close_end = (size_t)((link ? lines : behind) - scan->text);
        return set_mark(scan, begin, content, MARK_OPEN, mark);
    }
    if (is_letter_behind(scan, (size_t)(behind - scan->text)) || (run == 1 && memchr(content, '\'', (size_t)(close - content))))
        return false;
    set_mark(scan, begin, behind, MARK_UNIT, mark);
    show(mark, content, (size_t)(close - content));
    return true;
}

/* A mark begins there. */
static bool take_mark(struct html_mark_scan *scan, const char *at, const char *end, struct html_mark *mark) {
    switch (*at) {
    case '<':
        return take_other(scan, at, end, mark) || take_tag(scan, at, end, mark);
    case ']':
        return take_other(scan, at, end, mark);
    case '&':
        return take_tag(scan, at, end, mark) || take_reference(scan, at, end, mark);
    case '`':
    case ':':
        return !scan->quoted && scan->close_end == 0 && take_ticks(scan, at, end, mark);
    default:
        return false;
    }
}

bool html_next_mark(struct html_mark_scan *scan, struct html_mark *mark) {
    size_t stop = scan->close_end > 0 ? scan->close_begin : scan->length;
    const struct html_marking *marking = scan->marking && scan->marking->skip ? scan->marking : NULL;
    for (const char *at = scan->text + scan->at, *end = scan->text + stop; at < end; at++) {
        size_t skipped = marking ? marking->skip(marking, at, end) : 0;
        if (skipped > 0)
            at += skipped - 1;
        else if (take_mark(scan, at, end, mark))
            return true;
    }
    if (scan->close_end == 0) {
        scan->at = scan->length;
        return false;
    }
    set_mark(scan, scan->close_begin, scan->text + scan->close_end, MARK_CLOSE, mark);
    scan->close_begin = scan->close_end = 0;
    return true;
}

/* ---- pieces ---- */

void html_note_tag(struct html_piece *piece, const char *text, size_t length, bool quoted) {
    struct tag tag;
    if (!read_tag(text, text + length, &tag))
        return;
    bool is_void = flags_of(&tag) & ELEMENT_VOID, alone = tag.is_closed || (is_void && !tag.is_end);
    bool firm = alone || (!isdigit((unsigned char)*tag.name) && (is_known(&tag) ? tag.has_values : !tag.has_attributes));
    piece->tag = (uint8_t)((alone        ? TAG_ALONE
                            : tag.is_end ? TAG_END
                                         : TAG_START) |
                           (firm ? TAG_FIRM : 0) | (quoted || tag.escaped ? TAG_QUOTED : 0));
    if (alone && !(piece->tag & TAG_QUOTED) && flags_of(&tag) & ELEMENT_BLOCK)
        piece->kind = PIECE_BREAK;
}

static struct html_bytes written(const struct html_marking *marking, struct html_bytes mark, struct arena *arena) {
    return marking->written ? marking->written(marking, mark, arena) : mark;
}

static void add_between(struct html_builder *builder, struct html_bytes text, const struct html_marking *marking) {
    if (text.length == 0)
        return;
    if (marking->add_text)
        marking->add_text(marking, builder, text);
    else
        html_add_text(builder, text, written(marking, text, builder->arena));
}

static void add_mark(struct html_builder *builder, const struct html_mark *mark, struct html_bytes text,
                     const struct html_marking *marking) {
    struct html_bytes raw = written(marking, text, builder->arena), shown = {mark->shown, mark->shown_length};
    if (shown.length > 0)
        shown.start = arena_copy(builder->arena, mark->shown, shown.length);
    if (shown.length > 0 && !shown.start)
        return;
    switch (mark->kind) {
    case MARK_TAG:
        html_add_tag(builder, text, raw, marking->quoted);
        break;
    case MARK_UNIT:
        html_add_shown(builder, raw, shown);
        break;
    case MARK_SPACE:
        html_add_space(builder, raw);
        break;
    case MARK_TEXT:
        html_add_text(builder, shown, raw);
        break;
    case MARK_BREAK:
        html_add_break(builder, raw);
        break;
    case MARK_OPEN:
        html_add_open(builder, raw);
        break;
    default: /* MARK_CLOSE */
        html_add_close(builder, raw);
    }
}

void html_add_marked(struct html_builder *builder, struct html_bytes text, const struct html_marking *marking) {
    struct html_mark_scan scan = {.text = text.start, .length = text.length, .quoted = marking->quoted, .marking = marking};
    struct html_mark mark;
    size_t at = 0;
    while (html_next_mark(&scan, &mark)) {
        add_between(builder, (struct html_bytes){text.start + at, mark.begin - at}, marking);
        add_mark(builder, &mark, (struct html_bytes){text.start + mark.begin, mark.end - mark.begin}, marking);
        at = mark.end;
    }
    add_between(builder, (struct html_bytes){text.start + at, text.length - at}, marking);
}

/* ---- pairs ---- */

/* A start tag, or an element in which tags have their partners. */
struct open {
    size_t piece;
    bool element;
    size_t content; /* pieces before it that are text or end a segment */
};

static struct html_bytes name_of(const struct html_piece *piece) {
    const char *at = piece->raw + (*piece->raw == '<' ? 1 : 4), *end = piece->raw + piece->length;
    at += at < end && *at == '/';
    const char *begin = at;
    while (at < end && is_name_character(*at))
        at++;
    return (struct html_bytes){begin, (size_t)(at - begin)};
}

static bool are_partners(const struct html_piece *start, const struct html_piece *end) {
    struct html_bytes a = name_of(start), b = name_of(end);
    return *start->raw == *end->raw && a.length == b.length && strncasecmp(a.start, b.start, a.length) == 0;
}

static void join(struct html_piece *pieces, size_t first, size_t last, bool empty) {
    struct html_piece *start = &pieces[first], *end = &pieces[last];
    struct tag tag;
    unsigned flags = 0;
    if (!(start->tag & TAG_QUOTED) && read_tag(start->raw, start->raw + start->length, &tag)) {
        flags = flags_of(&tag);
        if (html_attributes_forbid(tag.attributes, start->raw + start->length))
            flags |= ELEMENT_OPAQUE;
    }
    bool block = flags & ELEMENT_BLOCK && !(flags & ELEMENT_OPAQUE);
    start->kind = block ? PIECE_BREAK : PIECE_OPEN;
    end->kind = block ? PIECE_BREAK : PIECE_CLOSE;
    start->opaque = !block && (empty || flags & ELEMENT_OPAQUE);
    start->stands_in = start->opaque && !(flags & ELEMENT_CODE);
    start->pair = (uint32_t)last;
    end->pair = (uint32_t)first;
    start->tag = end->tag = TAG_NONE;
}

void html_pair_marks(struct html_piece *pieces, size_t first, size_t end) {
    struct open open[HTML_MAX_DEPTH];
    size_t depth = 0, content = 0;
    for (size_t i = first; i < end; i++) {
        struct html_piece *piece = &pieces[i];
        content += piece->kind == PIECE_TEXT || piece->kind == PIECE_BREAK;
        if (piece->kind == PIECE_OPEN && piece->opaque) {
            i = piece->pair;
        } else if (piece->kind == PIECE_OPEN || (piece->kind == PIECE_UNIT && (piece->tag & TAG_ALONE) == TAG_START)) {
            if (depth == HTML_MAX_DEPTH)
                break;
            open[depth++] = (struct open){i, piece->kind == PIECE_OPEN, content};
        } else if (piece->kind == PIECE_CLOSE) {
            while (depth > 0 && !open[--depth].element)
                ;
        } else if (piece->kind == PIECE_UNIT && (piece->tag & TAG_ALONE) == TAG_END) {
            size_t at = depth;
            while (at > 0 && !open[at - 1].element && !are_partners(&pieces[open[at - 1].piece], piece))
                at--;
            if (at == 0 || open[at - 1].element)
                continue;
            depth = at - 1;
            join(pieces, open[depth].piece, i, content == open[depth].content);
        }
    }
    for (size_t i = first; i < end; i++) {
        if (pieces[i].kind != PIECE_UNIT || pieces[i].tag == TAG_NONE || pieces[i].tag & TAG_FIRM)
            continue;
        pieces[i].kind = PIECE_TEXT;
        pieces[i].plain = true;
    }
}

bool html_is_marked(struct html_bytes text) {
    struct html_mark_scan scan = {.text = text.start, .length = text.length};
    struct html_mark mark;
    return html_next_mark(&scan, &mark);
}

/* FNV-1a, of bytes in small letters. */
static uint64_t hash(const char *bytes, size_t length, uint64_t sum) {
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ (uint64_t)tolower((unsigned char)bytes[i])) * 0x100000001b3u;
    return sum;
}

/* A sum over the marks of a text that does not depend on their order. */
static uint64_t sum_marks(struct html_bytes text, bool references) {
    struct html_mark_scan scan = {.text = text.start, .length = text.length};
    struct html_mark mark;
    uint64_t sum = 0;
    while (html_next_mark(&scan, &mark)) {
        const char *at = text.start + mark.begin;
        struct tag tag;
        if (mark.kind == MARK_TAG && read_tag(at, text.start + mark.end, &tag))
            sum += hash(tag.name, strlen(tag.name), 0xcbf29ce484222325u + tag.is_end);
        else if (references && mark.kind != MARK_TEXT)
            sum += hash(at, mark.end - mark.begin, 0xcbf29ce484222325u);
    }
    return sum;
}

bool html_same_marks(struct html_bytes a, struct html_bytes b, bool references) {
    return sum_marks(a, references) == sum_marks(b, references);
}

/* ---- texts ---- */

static void add_lines(const struct html_marking *marking, struct html_builder *builder, struct html_bytes text) {
    (void)marking;
    for (const char *at = text.start, *end = at + text.length; at < end;) {
        const char *feed = memchr(at, '\n', (size_t)(end - at)), *stop = feed ? feed : end;
        struct html_bytes line = {at, (size_t)(stop - at)};
        if (line.length > 0)
            html_add_text(builder, line, line);
        if (feed)
            html_add_break(builder, (struct html_bytes){feed, 1});
        at = feed ? feed + 1 : end;
    }
}

/* Something stands in it that is neither words nor a line's end. */
static bool has_marks(const struct html *html) {
    for (size_t i = 0; i < html->piece_count; i++) {
        const struct html_piece *piece = &html->pieces[i];
        if (piece->kind == PIECE_TEXT ? piece->source != piece->raw
                                      : (piece->kind != PIECE_BREAK || piece->length != 1 || *piece->raw != '\n'))
            return true;
    }
    return false;
}

int html_parse_text(const char *text, size_t length, struct arena *arena, struct html *out, bool *marked, struct error *err) {
    static const struct html_marking marking = {.add_text = add_lines};
    struct html_builder builder = {.arena = arena, .document = {text, length}};
    *marked = false;
    if (length >= HTML_MAX_BYTES || !html_is_marked((struct html_bytes){text, length}))
        return 0;
    html_add_marked(&builder, (struct html_bytes){text, length}, &marking);
    if (builder.failed == ERROR_INPUT) /* it is taken as it is */
        return 0;
    if (html_build(&builder, NULL, out, err) != 0)
        return -1;
    *marked = has_marks(out);
    return 0;
}
