/* This module finds the marks in text: tags, references, code and links that a string of a program
 * or a pasted text may hold. It also pairs tags, which may be pieces of different texts. */
#include "server/markup/marks.h"
#include "model/base/utf8.h"
#include "model/text/spans.h"
#include "server/markup/html.h"
#include "server/markup/markup.h"
#include "server/markup/segment.h"
#include <ctype.h>

enum {
    NAME_BYTES = 32,
    MOST_TAG = 4096, /* bytes of a tag */
    MOST_CODE = 256, /* bytes of code and links */
    MOST_LABEL = 100 /* bytes of a text that may have the mark of a key */
};

/* ---- tags ---- */

/* A tag, whose '<' and '>' may be written as references. */
struct tag {
    char name[NAME_BYTES];
    bool is_end, is_closed, escaped;
    bool has_attributes, has_values; /* there are attributes; all of them have values */
    const char *attributes, *end;    /* the start of the attributes; the end of the tag */
};

/* Returns the '>' of a tag, or NULL if there is none or another tag begins before it. */
static const char *find_close(const char *at, const char *end, bool escaped) {
    char quote = 0;
    for (; at < end; at++) {
        if (quote == 0 && (escaped ? bytes_begin(at, end, "&gt;") : *at == '>'))
            return at;
        if (quote == 0 && (*at == '<' || (escaped && (*at == '>' || bytes_begin(at, end, "&lt;")))))
            return NULL;
        if (quote == 0 && (*at == '"' || *at == '\'') && at[-1] == '=')
            quote = *at;
        else if (*at == quote)
            quote = 0;
    }
    return NULL;
}

static bool read_tag(const char *at, const char *end, struct tag *tag) {
    size_t opening = *at == '<'                                   ? 1
                     : end - at > 4 && memcmp(at, "&lt;", 4) == 0 ? 4
                                                                  : 0,
           length = 0;
    const char *name = at + opening;
    *tag = (struct tag){.escaped = opening > 1, .has_values = true};
    if (opening == 0)
        return false;
    end = end - at > MOST_TAG ? at + MOST_TAG : end;
    tag->is_end = name < end && *name == '/';
    name += tag->is_end;
    if (name == end || !isalnum((unsigned char)*name))
        return false;
    bool number = isdigit((unsigned char)*name);
    while (name + length < end &&
           (number ? isdigit((unsigned char)name[length]) : html_is_of_name(name[length])))
        length++;
    if (length >= NAME_BYTES || name + length == end ||
        !(byte_is_space(name[length]) || strchr("/>&", name[length])))
        return false;
    memcpy(tag->name, name, length);
    const char *close = find_close(name + length, end, tag->escaped);
    if (!close)
        return false;

    struct html_attribute attribute;
    tag->attributes = name + length;
    for (const char *next = tag->attributes; html_next_attribute(&next, close, &attribute);) {
        tag->has_attributes = true;
        tag->has_values &= attribute.has_value;
    }
    tag->is_closed = close[-1] == '/';
    tag->end = close + (tag->escaped ? 4 : 1);
    if (name[length] == '/' && name + length + 1 != close) /* <http://x> */
        return false;
    return !(number || tag->is_end) || !tag->has_attributes;
}

/* Returns the flags of the tag's element, and sets *known if HTML has an element of this name. */
static unsigned find_element(const struct tag *tag, bool *known) {
    char lower[NAME_BYTES] = "";
    for (size_t i = 0; tag->name[i]; i++)
        lower[i] = (char)tolower((unsigned char)tag->name[i]);
    *known = html_is_known(lower);
    return html_element(lower);
}

void marks_note_tag(struct piece *piece, const char *text, size_t length, bool quoted) {
    struct tag tag;
    if (!read_tag(text, text + length, &tag))
        return;
    bool known;
    unsigned flags = find_element(&tag, &known);
    bool alone = tag.is_closed || (flags & ELEMENT_VOID && !tag.is_end);
    bool firm = alone || (!isdigit((unsigned char)*tag.name) &&
                          (known ? tag.has_values : !tag.has_attributes));
    enum mark_tag kind = alone ? TAG_ALONE : tag.is_end ? TAG_END : TAG_START;
    quoted |= tag.escaped;
    piece->tag = (uint8_t)((unsigned)kind | (firm ? TAG_FIRM : 0) | (quoted ? TAG_QUOTED : 0));
    if (alone && !quoted && flags & ELEMENT_BLOCK)
        piece->kind = PIECE_BREAK;
}

/* ---- scanning ---- */

static bool set_mark(struct mark_scan *scan, size_t begin, const char *end, enum mark_kind kind,
                     struct mark *mark) {
    *mark = (struct mark){begin, (size_t)(end - scan->text), kind, "", 0};
    scan->at = mark->end;
    return true;
}

static void show(struct mark *mark, const char *text, size_t length) {
    if (length == 0 || length > MARK_SHOWN_BYTES || memchr(text, ' ', length) ||
        memchr(text, '\n', length))
        return;
    memcpy(mark->shown, text, length);
    mark->shown_length = length;
}

static bool is_letter_before(const struct mark_scan *scan, size_t at) {
    return at > 0 && !character_is_punctuation(character_previous(scan->text, &at)) &&
           !byte_is_space(scan->text[at]);
}

static bool is_letter_after(const struct mark_scan *scan, size_t at) {
    if (at >= scan->length)
        return false;
    int32_t c = character_next(scan->text, scan->length, &at);
    return !character_is_space(c) && !character_is_punctuation(c);
}

/* Takes a reference: a letter, white space, a line end, or a unit, which a symbol may represent in
 * the sentence. */
static bool take_reference(struct mark_scan *scan, const char *at, const char *end,
                           struct mark *mark) {
    int32_t c;
    size_t bytes = html_reference(at, end, &c), begin = (size_t)(at - scan->text);
    if (bytes == 0)
        return false;
    set_mark(scan, begin, at + bytes, MARK_UNIT, mark);
    if (scan->quoted || c < 0)
        return true;
    bool within = (c == '\'' || c == 0x2019) && is_letter_before(scan, begin) &&
                  is_letter_after(scan, mark->end);
    char text[4];
    size_t length = character_put(c, text);
    if (c == '\n' || c == '\r')
        mark->kind = MARK_BREAK;
    else if (character_is_space(c))
        mark->kind = MARK_SPACE;
    else if (within || (!character_is_punctuation(c) && !character_is_other(c)))
        mark->kind = MARK_TEXT;
    if (mark->kind == MARK_TEXT ||
        (mark->kind == MARK_UNIT && character_is_mark(c))) /* models do not know these symbols */
        show(mark, text, length);
    return true;
}

/* Takes a comment or a similar mark, from one string to another. */
static bool take_other(struct mark_scan *scan, const char *at, const char *end, struct mark *mark) {
    static const struct {
        const char *begin, *end;
        enum mark_kind kind;
    } others[] = {{"<!--", "-->", MARK_UNIT},     {"<?", "?>", MARK_UNIT},
                  {"<![CDATA[", "", MARK_BREAK},  {"]]>", "", MARK_BREAK},
                  {"<!DOCTYPE", ">", MARK_BREAK}, {"<!doctype", ">", MARK_BREAK}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t length = strlen(others[i].begin),
               left = end - at > MOST_TAG ? MOST_TAG : (size_t)(end - at);
        if (!bytes_begin(at, end, others[i].begin))
            continue;
        const char *close =
            memmem(at + length, left - length, others[i].end, strlen(others[i].end));
        return close && set_mark(scan, (size_t)(at - scan->text), close + strlen(others[i].end),
                                 scan->quoted ? MARK_UNIT : others[i].kind, mark);
    }
    return false;
}

static bool take_tag(struct mark_scan *scan, const char *at, const char *end, struct mark *mark) {
    struct tag tag;
    return read_tag(at, end, &tag) &&
           set_mark(scan, (size_t)(at - scan->text), tag.end, MARK_TAG, mark);
}

static const char *skip_run(const char *at, const char *end, char c) {
    while (at < end && *at == c)
        at++;
    return at;
}

/* Returns the next run of as many backticks as before `content`, on the same line, or NULL if the
 * run or the content is missing. */
static const char *find_run(const char *content, const char *end, size_t run) {
    end = end - content > MOST_CODE ? content + MOST_CODE : end;
    for (const char *at = content; at < end && *at != '\n'; at++) {
        const char *after = skip_run(at, end, '`');
        if ((size_t)(after - at) == run)
            return at > content ? at : NULL;
        at = after > at ? after - 1 : at;
    }
    return NULL;
}

/* Takes backticks, which surround code, or a link of reStructuredText whose text is prose. */
static bool take_ticks(struct mark_scan *scan, const char *at, const char *end, struct mark *mark) {
    size_t begin = (size_t)(at - scan->text);
    const char *ticks = at;
    if (*at == ':') { /* a `:role:` may precede them */
        for (ticks++; ticks < end && ticks - at < NAME_BYTES &&
                      (islower((unsigned char)*ticks) || *ticks == ':' || *ticks == '-');)
            ticks++;
        if (ticks - at <= 2 || ticks == end || *ticks != '`' || ticks[-1] != ':')
            return false;
    }
    if (begin > 0 && at[-1] == '`') /* the run was examined before */
        return false;
    const char *content = skip_run(ticks, end, '`');
    size_t run = (size_t)(content - ticks);
    const char *close = run == 0 ? NULL : find_run(content, end, run);
    if (!close || is_letter_before(scan, begin) ||
        (run == 1 && (byte_is_space(*content) || byte_is_space(close[-1]))))
        return false;

    /* The end of a link may be " <url>". */
    const char *url =
        run == 1 && close[-1] == '>' ? memrchr(content, '<', (size_t)(close - content)) : NULL;
    if (url && (url == content || !byte_is_space(url[-1]) || url + 2 >= close))
        url = NULL;
    while (url && url > content && byte_is_space(url[-1]))
        url--;
    if (url == content) /* no text precedes it */
        url = NULL;
    const char *after = close + run, *lines = skip_run(after, end, '_');
    bool link = run == 1 && lines > after && lines - after < 3 &&
                !is_letter_after(scan, (size_t)(lines - scan->text));
    if ((link || ticks > at) && (url || ticks == at)) {
        scan->close_begin = (size_t)((url ? url : close) - scan->text);
        scan->close_end = (size_t)((link ? lines : after) - scan->text);
        return set_mark(scan, begin, content, MARK_OPEN, mark);
    }
    if (is_letter_after(scan, (size_t)(after - scan->text)) ||
        (run == 1 && memchr(content, '\'', (size_t)(close - content))))
        return false;
    set_mark(scan, begin, after, MARK_UNIT, mark);
    size_t length = (size_t)(close - content);
    if (length <= MARK_SHOWN_BYTES && segment_is_word(content, length))
        show(mark, content, length);
    return true;
}

/* Takes the only & or _ of a label if it stands before a letter, at the beginning of a word or
 * within one: Save &As, E&xit, and E_xit, which is all of its label. R&D and max_size are words. */
static bool take_accelerator(struct mark_scan *scan, const char *at, struct mark *mark) {
    const char *text = scan->text, *end = text + scan->length, *word = at;
    size_t begin = (size_t)(at - text);
    if (!is_letter_after(scan, begin + 1) || memchr(at + 1, '_', (size_t)(end - at) - 1) ||
        memchr(at + 1, '&', (size_t)(end - at) - 1) || memchr(text, '_', begin) ||
        memchr(text, '&', begin))
        return false;
    while (word > text && ascii_letter(word[-1]))
        word--;
    bool starts = word == text || byte_is_space(word[-1]), whole = *at == '&';
    for (const char *c = text; !whole && c < end && !byte_is_space(*c);)
        whole = ++c == end;
    bool within = whole && ascii_upper(*word) && ascii_letter(at[1]) && !ascii_upper(at[1]);
    return starts && (word == at || within) && set_mark(scan, begin, at + 1, MARK_UNIT, mark);
}

bool marks_next(struct mark_scan *scan, struct mark *mark) {
    size_t stop = scan->close_end > 0 ? scan->close_begin : scan->length;
    const struct marking *marking = scan->marking && scan->marking->skip ? scan->marking : NULL;
    bool accelerators = scan->marking && scan->marking->accelerators && scan->close_end == 0 &&
                        scan->length <= MOST_LABEL;
    for (const char *at = scan->text + scan->at, *end = scan->text + stop; at < end; at++) {
        size_t skipped = marking ? marking->skip(marking, at, end) : 0;
        if (bytes_begin(at, end, "<<")) { /* <<name>> is no tag */
            size_t begin = (size_t)(at - scan->text);
            skipped = opaque_at(NOTATION_CODES, scan->text, scan->length, begin) - begin;
        }
        bool found = false;
        if (skipped > 0) {
            at += skipped - 1;
            continue;
        }
        switch (*at) {
        case '<':
            found = take_other(scan, at, end, mark) || take_tag(scan, at, end, mark);
            break;
        case ']':
            found = take_other(scan, at, end, mark);
            break;
        case '&':
            found = take_tag(scan, at, end, mark) || take_reference(scan, at, end, mark) ||
                    (accelerators && take_accelerator(scan, at, mark));
            break;
        case '_':
            found = accelerators && take_accelerator(scan, at, mark);
            break;
        case '`':
        case ':':
            found = !scan->quoted && scan->close_end == 0 && take_ticks(scan, at, end, mark);
            break;
        default:
            break;
        }
        if (found)
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

/* ---- pairs ---- */

/* A start tag, or an element within which tags are paired. */
struct open {
    size_t piece;
    bool element;
    size_t content; /* the number of earlier pieces that are text or end a segment */
};

static struct bytes name_of(const struct piece *piece) {
    const char *at = piece->raw + (*piece->raw == '<' ? 1 : 4), *end = piece->raw + piece->length;
    at += at < end && *at == '/';
    const char *begin = at;
    while (at < end && html_is_of_name(*at))
        at++;
    return bytes_between(begin, at);
}

void marks_pair_tags(struct piece *pieces, size_t count) {
    struct open open[MARKUP_MAX_DEPTH];
    size_t depth = 0, content = 0;
    for (size_t i = 0; i < count; i++) {
        struct piece *piece = &pieces[i];
        content += piece->kind == PIECE_TEXT || piece->kind == PIECE_BREAK;
        if (piece->kind == PIECE_OPEN && piece->opaque) {
            i = piece->pair;
        } else if (piece->kind == PIECE_OPEN ||
                   (piece->kind == PIECE_UNIT && (piece->tag & TAG_ALONE) == TAG_START)) {
            if (depth == MARKUP_MAX_DEPTH)
                break;
            open[depth++] = (struct open){i, piece->kind == PIECE_OPEN, content};
        } else if (piece->kind == PIECE_CLOSE) {
            while (depth > 0 && !open[--depth].element)
                ;
        }
        if (piece->kind != PIECE_UNIT || (piece->tag & TAG_ALONE) != TAG_END)
            continue;

        /* The end pairs with the last start of the same name and the same notation: with '<', or
         * with a reference. */
        size_t at = depth;
        struct bytes name = name_of(piece);
        while (at > 0 && !open[at - 1].element &&
               (*pieces[open[at - 1].piece].raw != *piece->raw ||
                !bytes_same_any_case(name_of(&pieces[open[at - 1].piece]), name)))
            at--;
        if (at == 0 || open[at - 1].element)
            continue;
        depth = at - 1;
        struct piece *start = &pieces[open[depth].piece];
        struct tag tag;
        unsigned flags = 0;
        if (!(start->tag & TAG_QUOTED) && read_tag(start->raw, start->raw + start->length, &tag)) {
            bool forbids =
                     html_translate(tag.attributes, start->raw + start->length) == TRANSLATE_NO,
                 known;
            flags = find_element(&tag, &known) | (forbids ? (unsigned)ELEMENT_OPAQUE : 0);
        }
        bool block = flags & ELEMENT_BLOCK && !(flags & ELEMENT_OPAQUE),
             empty = content == open[depth].content;
        start->kind = block ? PIECE_BREAK : PIECE_OPEN;
        piece->kind = block ? PIECE_BREAK : PIECE_CLOSE;
        start->opaque = !block && (empty || flags & ELEMENT_OPAQUE);
        start->stands_in = start->opaque && !(flags & (ELEMENT_CODE | ELEMENT_BESIDE));
        start->bond = flags & ELEMENT_LINK ? BOND_LINK : BOND_PHRASE;
        start->pair = (uint32_t)i;
        piece->pair = (uint32_t)open[depth].piece;
        start->tag = piece->tag = TAG_NONE;
    }
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].kind != PIECE_UNIT || pieces[i].tag == TAG_NONE || pieces[i].tag & TAG_FIRM)
            continue;
        pieces[i].kind = PIECE_TEXT;
        pieces[i].plain = true;
    }
}

/* ---- comparison ---- */

bool marks_are_in(struct bytes text, const struct marking *marking) {
    struct mark_scan scan = {.text = text.start, .length = text.length, .marking = marking};
    struct mark mark;
    return marks_next(&scan, &mark);
}

/* Returns the FNV-1a hash of the bytes in lower case, which continues from sum. */
static uint64_t hash(const char *bytes, size_t length, uint64_t sum) {
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ (uint64_t)tolower((unsigned char)bytes[i])) * 0x100000001b3u;
    return sum;
}

/* Returns a sum over the marks of a text that does not depend on their order. */
static uint64_t sum_marks(struct bytes text, bool references) {
    struct mark_scan scan = {.text = text.start, .length = text.length};
    struct mark mark;
    uint64_t sum = 0;
    while (marks_next(&scan, &mark)) {
        const char *at = text.start + mark.begin;
        struct tag tag;
        if (mark.kind == MARK_TAG && read_tag(at, text.start + mark.end, &tag))
            sum += hash(tag.name, strlen(tag.name), 0xcbf29ce484222325u + tag.is_end);
        else if (references && mark.kind != MARK_TEXT)
            sum += hash(at, mark.end - mark.begin, 0xcbf29ce484222325u);
    }
    return sum;
}

bool marks_same(struct bytes a, struct bytes b, bool references) {
    return sum_marks(a, references) == sum_marks(b, references);
}
