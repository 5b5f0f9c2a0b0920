/* This file finds what is rewritten in a part: paragraphs, and attributes that state the language;
 * and rewrites it. */
#include "server/markup/html.h"
#include "server/markup/piece.h"
#include "server/markup/xml.h"
#include "server/office/office.h"
#include <ctype.h>
#include <stdlib.h>

enum {
    NAME_BYTES = 64, /* bytes of a canonical name; longer ones have no role */
    MOST_PREFIXES = 32,
    MOST_PARAGRAPHS = 16, /* nested paragraphs; deeper ones are not translated */
    WORD_BYTES = 32,      /* bytes of the text that represents a unit in its sentence */
    SPACES_OF_BREAK =
        3, /* so many spaces in a row are a column or an indentation, and separate texts */
    /* limits of a paragraph, so that it is settled within one turn; real paragraphs are shorter */
    MOST_TOKENS = 1 << 15,
    MOST_TEXT_BYTES = 1 << 20,
};

struct prefix {
    struct bytes name; /* "": of names without a prefix */
    const char *canonical;
};

/* An element that is open. */
struct element {
    uint8_t role;
    const char *begin, *inside; /* its start tag, and the bytes after that */
};

/* The elements around a place: a run, a text, an element that is one token. */
struct state {
    size_t run, text, skip; /* depths of these elements; 0: there is none */
    enum role skipped;      /* the role of the element at that depth */
    const char *wrap, *close;
    uint32_t format; /* number of the run's format */
    bool formatted;  /* the run has one */
};

struct walk {
    const struct walk_part *part;
    struct arena *arena;
    struct error *err;
    struct xml_scan scan;
    struct prefix prefixes[MOST_PREFIXES]; /* [prefix_count] that the root binds */
    size_t prefix_count;
    struct element open[MARKUP_MAX_DEPTH]; /* [scan.depth] */
    size_t opaque;   /* the depth of the outermost element that is not translated; 0: none */
    size_t contents; /* the depth of the outermost <nav>, of books; 0: none */

    /* The current paragraph, and the states of all open paragraphs from the outermost on. */
    struct paragraph *paragraph; /* NULL: there is none */
    struct state states[MOST_PARAGRAPHS];
    size_t begun[MOST_PARAGRAPHS]; /* depths of the paragraphs' elements; 0: of a flow of HTML */
    size_t nested;                 /* the number of open paragraphs */
    struct paragraph *unused;      /* earlier paragraphs, whose memory is used again */

    bool tracked; /* the current paragraph has tracked changes */
    struct walk_changes *changes;
    struct bytes root_language;
};

/* ---- names ---- */

/* Returns the name with the prefix that the grammar uses. A name whose prefix the root does not
 * bind stays as it is. */
static struct bytes canonical_name(const struct walk *walk, struct bytes name,
                                   char out[NAME_BYTES]) {
    struct bytes local = xml_local_name(name);
    struct bytes prefix = {name.start,
                           local.length < name.length ? name.length - local.length - 1 : 0};
    for (size_t i = 0; i < walk->prefix_count; i++) {
        size_t length = strlen(walk->prefixes[i].canonical);
        if (!bytes_same(walk->prefixes[i].name, prefix))
            continue;
        if (length == 0 || local.length + length + 2 > NAME_BYTES)
            return local;
        char *end = mempcpy(out, walk->prefixes[i].canonical, length);
        *end++ = ':';
        memcpy(end, local.start, local.length);
        return (struct bytes){out, length + 1 + local.length};
    }
    return name;
}

/* ---- roles ---- */

/* Returns the role of an element by its canonical name; tag: for its attributes. */
static enum role find_role(const struct grammar *grammar, struct bytes canonical,
                           const struct xml_token *tag) {
    if (!grammar->markup) {
        for (const struct role_row *row = grammar->roles; row->names; row++)
            if (bytes_among(canonical, row->names))
                return row->role;

        /* A cell of a spreadsheet that is a number, a date or the result of a formula makes its
         * text from that value. */
        struct bytes value;
        bool calculated =
            tag->kind == XML_START && bytes_are(canonical, "table:table-cell") &&
            (xml_attribute(tag, "formula", &value) ||
             (xml_attribute(tag, "value-type", &value) && !bytes_are(value, "string")));
        return calculated ? ROLE_OPAQUE : ROLE_NONE;
    }
    char lower[16] = "";
    if (canonical.length >= sizeof lower)
        return ROLE_CONTAINER;
    for (size_t i = 0; i < canonical.length; i++)
        lower[i] = (char)tolower((unsigned char)canonical.start[i]);
    unsigned flags = html_element(lower);
    bool forbids = tag->kind != XML_END &&
                   html_translate(tag->name.start + tag->name.length, tag->end) == TRANSLATE_NO;
    if (strcmp(lower, "br") == 0)
        return ROLE_BREAK;
    if (flags & ELEMENT_BESIDE)
        return ROLE_NONE;
    if (flags & ELEMENT_OPAQUE || forbids)
        return flags & ELEMENT_BLOCK || flags & ELEMENT_CODE ? ROLE_OPAQUE : ROLE_WORD;
    if (flags & ELEMENT_BLOCK)
        return ROLE_BOUNDARY;
    return flags & ELEMENT_VOID ? ROLE_NONE : ROLE_CONTAINER;
}

/* ---- changes ---- */

static int add_change(struct walk *walk, const char *begin, const char *end, struct bytes bytes,
                      const struct paragraph *paragraph) {
    struct walk_changes *changes = walk->changes;
    const char *part = walk->part->bytes.start;
    struct walk_change *all =
        arena_grow(walk->part->arena, changes->all, changes->count, &changes->room, 1, sizeof *all);
    if (!all)
        return error_memory(walk->err);
    changes->all = all;
    all[changes->count++] = (struct walk_change){(uint32_t)(begin - part), (uint32_t)(end - part),
                                                 bytes, paragraph, paragraph && walk->tracked};
    return 0;
}

/* ---- the language ---- */

/* Finds attributes that state the language. In books, these are "lang" at the root and where its
 * language is that of the root. */
static int find_languages(struct walk *walk, const struct xml_token *tag, struct bytes canonical,
                          bool root) {
    const char *language = walk->part->language;
    struct bytes primary = {language, strcspn(language, "-_")};
    const char *region = language[primary.length] ? language + primary.length + 1 : "none";
    struct xml_attribute attribute;
    for (const char *at = NULL; xml_next_attribute(tag, &at, &attribute);)
        for (const struct language_row *row = walk->part->grammar->languages; row && row->attribute;
             row++) {
            if ((row->names && !bytes_among(canonical, row->names)) ||
                !bytes_are(xml_local_name(attribute.name), row->attribute))
                continue;
            struct bytes value = bytes_of(language), stated = attribute.value;
            if (row->part == LANGUAGE_PRIMARY)
                value = primary;
            else if (row->part == LANGUAGE_REGION)
                value = bytes_of(strlen(region) == 2 || strlen(region) == 4 ? region : "none");
            if (!row->names && root)
                walk->root_language = stated;
            if ((row->part == LANGUAGE_EAST && !bytes_among(primary, "zh ja ko")) ||
                (row->part == LANGUAGE_COMPLEX && !bytes_among(primary, "ar he fa ur yi")) ||
                value.length == 0 ||
                (!row->names && !bytes_same_language(stated, walk->root_language)) ||
                stated.length == 0 || bytes_are(stated, "zxx") ||
                (row->part == LANGUAGE_PRIMARY && bytes_are(stated, "none")))
                continue;
            if (add_change(walk, stated.start, stated.start + stated.length, value, NULL) != 0)
                return -1;
        }
    return 0;
}

/* ---- paragraphs ---- */

static int begin_paragraph(struct walk *walk, struct bytes name, const char *content,
                           size_t depth) {
    struct paragraph *paragraph = walk->unused;
    if (paragraph)
        walk->unused = paragraph->outer;
    else if (!(paragraph = arena_zalloc(walk->arena, 1, sizeof *paragraph)))
        return error_memory(walk->err);
    *paragraph = (struct paragraph){.outer = walk->paragraph,
                                    .grammar = walk->part->grammar,
                                    .part = walk->part->bytes.start,
                                    .name = name,
                                    .begin = (uint32_t)(content - walk->part->bytes.start),
                                    .run = nothing,
                                    .text = nothing,
                                    .tokens = paragraph->tokens,
                                    .room = paragraph->room,
                                    .formats = paragraph->formats,
                                    .format_room = paragraph->format_room};
    walk->paragraph = paragraph;
    walk->begun[walk->nested] = depth;
    walk->states[walk->nested++] = (struct state){0};
    return 0;
}

/* Ends the paragraph, whose text is read. */
static int end_paragraph(struct walk *walk, const char *end) {
    struct paragraph *paragraph = walk->paragraph;
    struct piece_builder *builder = walk->part->builder;
    int result = 0;
    paragraph->end = (uint32_t)(end - walk->part->bytes.start);
    walk->paragraph = paragraph->outer;
    walk->nested--;
    if (builder && paragraph_has_words(paragraph) &&
        !walk->part->keeps(walk->part->owner, paragraph)) {
        paragraph_settle(paragraph);
        *walk->part->tokens += paragraph->count;
        if (*walk->part->tokens > OFFICE_MOST_TOKENS)
            return markup_error_at(walk->err, walk->scan.begin, end,
                                   "the paragraphs have more than %d texts and tags",
                                   OFFICE_MOST_TOKENS);
        const struct paragraph *kept = paragraph_read(paragraph, builder);
        if (kept) /* otherwise piece_build reports why */
            result = add_change(walk, paragraph->part + paragraph->begin, end, nothing, kept);
    }
    if (!walk->paragraph)
        walk->tracked = false;
    paragraph->outer = walk->unused;
    walk->unused = paragraph;
    return result;
}

/* Orders the changes of one tag by their places. */
static int compare_changes(const void *a, const void *b) {
    const struct walk_change *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* ---- tokens ---- */

static struct inline_token *add(struct walk *walk, enum inline_kind kind, const char *begin,
                                const char *end) {
    const struct state *state = &walk->states[walk->nested - 1];
    if (walk->paragraph->count == MOST_TOKENS) {
        markup_error_at(walk->err, walk->scan.begin, begin,
                        "a paragraph has more than %d texts and tags", MOST_TOKENS);
        return NULL;
    }
    struct inline_token *token = paragraph_add(walk->paragraph, kind, begin, end, walk->arena);
    if (!token) {
        error_memory(walk->err);
        return NULL;
    }
    token->in_run = state->run > 0;
    token->format = state->format;
    return token;
}

static int refuse_text(struct walk *walk, const char *begin) {
    return markup_error_at(walk->err, walk->scan.begin, begin,
                           "a paragraph has more than %d MiB of text", MOST_TEXT_BYTES >> 20);
}

static int add_text(struct walk *walk, const char *begin, const char *end, struct bytes text) {
    struct paragraph *paragraph = walk->paragraph;
    struct state *state = &walk->states[walk->nested - 1];
    const struct inline_format bare = {.bare = true, .raw = nothing};
    if (!walk->part->grammar->mixed && state->run == 0 &&
        paragraph_format(paragraph, &bare, walk->arena, &state->format) != 0)
        return error_memory(walk->err);
    struct inline_token *token = add(walk, INLINE_TEXT, begin, end);
    if (!token)
        return -1;
    token->text = text;
    paragraph->text_bytes += text.length;
    return paragraph->text_bytes > MOST_TEXT_BYTES ? refuse_text(walk, begin) : 0;
}

/* ---- layout in text ---- */

/* Returns the bytes of the tab, line end or other control character that begins there, however it
 * is written; 0: there is none. */
static size_t control_at(const char *at, const char *end, bool references) {
    int32_t character = ' ';
    size_t bytes = 1;
    if (*at == '&' && references) {
        bytes = html_reference(at, end, &character);
    } else if (*at == '_') { /* OOXML's own notation: "_x000D_" */
        bool is = end - at > 6 && (at[1] | ' ') == 'x' && at[6] == '_';
        for (bytes = 2; bytes < 6 && is; bytes++)
            is = isxdigit((unsigned char)at[bytes]);
        character = is ? (int32_t)strtol(at + 2, NULL, 16) : character;
        bytes = 7;
    } else if ((unsigned char)*at < ' ') {
        character = *at;
    } else if (*at == '\xe2' && end - at > 2 && at[1] == '\x80' &&
               (at[2] == '\xa8' || at[2] == '\xa9')) {
        character = '\n'; /* U+2028 and U+2029 */
        bytes = 3;
    }
    return character >= 0 && character < ' ' ? bytes : 0;
}

/* Returns the bytes of the layout that begins there: control characters and the spaces around them,
 * or several spaces. *separates: the words on its sides are separate texts. */
static size_t layout_at(const char *at, const char *end, bool references, bool *separates) {
    const char *begin = at;
    size_t spaces = 0, controls = 0;
    for (size_t bytes; at < end; at += bytes) {
        bytes = control_at(at, end, references);
        controls += bytes > 0;
        spaces += *at == ' ';
        if (bytes == 0 && *at != ' ')
            break;
        bytes += bytes == 0;
    }
    *separates = controls > 0 || spaces >= SPACES_OF_BREAK;
    return *separates || spaces > 1 ? (size_t)(at - begin) : 0;
}

/* Adds spaces, or what separates texts: both stay as they are. */
static int add_layout(struct walk *walk, const char *begin, const char *end, bool in_text,
                      bool separates) {
    struct inline_token *token = add(walk, separates ? INLINE_BREAK : INLINE_UNIT, begin, end);
    if (!token)
        return -1;
    token->role = separates ? ROLE_BREAK : ROLE_SPACE;
    token->in_text = in_text;
    return 0;
}

/* Adds a text whose white space is layout, as it is in OOXML. */
static int add_preserved(struct walk *walk, const struct xml_token *token) {
    struct xml_token plain = *token;
    for (const char *at = token->begin; at < token->end;) {
        bool separates = false, divides = walk->paragraph->count < MOST_TOKENS / 2;
        size_t layout = 0;
        for (plain.begin = at; at < token->end && layout == 0; at += layout == 0)
            layout = divides ? layout_at(at, token->end, token->kind == XML_TEXT, &separates) : 0;
        plain.end = at;
        struct bytes text;
        if (plain.end > plain.begin &&
            (xml_decode(walk->scan.begin, &plain, walk->arena, &text, walk->err) != 0 ||
             add_text(walk, plain.begin, plain.end, text) != 0))
            return -1;
        if (layout > 0 && add_layout(walk, at, at + layout, true, separates) != 0)
            return -1;
        at += layout;
    }
    return 0;
}

/* Adds an element that stands for spaces, with those in the text before it: OpenDocument writes the
 * first of several as itself. */
static int add_spaces(struct walk *walk, const struct xml_token *tag) {
    struct paragraph *paragraph = walk->paragraph;
    struct inline_token *last =
        paragraph->count > 0 ? &paragraph->tokens[paragraph->count - 1] : NULL;
    struct bytes count;
    const char *begin = tag->begin;
    size_t spaces = xml_attribute(tag, "c", &count) ? strtoul(count.start, NULL, 10) : 1;
    if (last && last->kind == INLINE_TEXT && paragraph->part + last->end == begin) {
        while (last->text.length > 0 && last->end > last->begin && begin[-1] == ' ') {
            begin--;
            last->end--;
            last->text.length--;
            spaces++;
        }
    } else if (last && last->role == ROLE_SPACE && paragraph->part + last->end == begin) {
        last->kind = INLINE_BREAK;
    }
    return add_layout(walk, begin, tag->end, false, spaces >= SPACES_OF_BREAK);
}

/* Adds an element that is one token, from its start to its end. */
static int add_whole(struct walk *walk, enum role role, const struct xml_token *tag,
                     const char *begin, const char *end) {
    bool separates = role == ROLE_BREAK || (role == ROLE_OPAQUE && walk->part->grammar->markup);
    struct inline_token *token = add(walk, separates ? INLINE_BREAK : INLINE_UNIT, begin, end);
    const char *key = role == ROLE_FIELD ? "fldCharType" : walk->part->grammar->key;
    if (!token)
        return -1;
    if (role == ROLE_FIELD || role == ROLE_RANGE_START || role == ROLE_RANGE_END) {
        token->role = (uint8_t)role;
        xml_attribute(tag, key, &token->key);
    }
    if (role == ROLE_ALONE)
        token->role = ROLE_ALONE;
    struct bytes type;
    if (role == ROLE_BREAK &&
        !xml_attribute(tag, "type", &type)) /* others end a page or a column */
        token->role = ROLE_BREAK;
    if (role != ROLE_WORD)
        return 0;

    /* An element that holds nothing but a word is a word of the sentence. */
    const char *inside = memchr(begin, '>', (size_t)(end - begin)),
               *close = memrchr(begin, '<', (size_t)(end - begin));
    struct bytes word = inside && close > inside ? bytes_between(inside + 1, close) : nothing;
    bool plain = word.length > 0 && word.length <= WORD_BYTES;
    for (size_t i = 0; i < word.length && plain; i++)
        plain = !byte_is_space(word.start[i]) && !strchr("<>&", word.start[i]);
    if (plain) {
        token->kind = INLINE_WORD;
        token->text = word;
    }
    return 0;
}

/* ---- formats ---- */

/* Makes the format to keep: without the notes of proofing tools, in this language. Returns -1 with
 * ERROR_MEMORY or ERROR_INPUT. */
static int clean_format(const struct grammar *grammar, struct bytes raw, const char *language,
                        struct arena *arena, struct bytes *out, struct error *err) {
    struct xml_scan scan; /* on the stack, because each run needs one, of 4 KB */
    struct bytes_buffer kept = {.arena = arena};
    struct xml_token token;
    size_t skipped = 0, inner = 0,
           attributes = 0; /* skipped: the depth of the element that is not kept */
    int read;
    xml_scan_begin(&scan, raw, false, arena->budget);
    while ((read = xml_next(&scan, &token, err)) > 0) {
        struct xml_attribute attribute;
        bool tag = token.kind == XML_START || token.kind == XML_EMPTY;
        size_t depth = scan.depth + (token.kind == XML_END);
        if (skipped > 0) {
            skipped = token.kind == XML_END && depth == skipped ? 0 : skipped;
            continue;
        }
        if (tag && scan.depth == (token.kind == XML_START ? 2 : 1) && grammar->dropped &&
            bytes_among(token.name, grammar->dropped)) {
            skipped = token.kind == XML_START ? depth : 0;
            continue;
        }
        inner += tag;
        bool outermost = tag && inner == 1;
        size_t before = kept.length;
        const char *done = token.begin;
        for (const char *at = NULL;
             outermost && grammar->unkept && xml_next_attribute(&token, &at, &attribute);) {
            bool states = grammar->language && bytes_are(attribute.name, grammar->language);
            if (!states && !bytes_among(attribute.name, grammar->unkept))
                continue;
            bytes_put(&kept, done,
                      (size_t)((states ? attribute.value.start : attribute.begin) - done));
            if (states)
                bytes_put_escaped(&kept, language, strlen(language), "&<\"");
            done = states ? attribute.value.start + attribute.value.length : attribute.end;
        }
        bytes_put(&kept, done, (size_t)(token.end - done));
        if (outermost)
            attributes = kept.length - before > token.name.length + 3;
    }
    if (read < 0)
        return -1;
    if (kept.failed)
        return error_memory(err);
    *out = inner > 1 || attributes ? (struct bytes){kept.bytes, kept.length} : nothing;
    return 0;
}

/* Sets the format of the run; a run without one has an empty format. */
static int note_format(struct walk *walk, struct bytes raw) {
    struct state *state = &walk->states[walk->nested - 1];
    struct inline_format format = {.raw = nothing};
    if (raw.length > 0 && clean_format(walk->part->grammar, raw, walk->part->language, walk->arena,
                                       &format.raw, walk->err) != 0)
        return -1;
    state->formatted = true;
    return paragraph_format(walk->paragraph, &format, walk->arena, &state->format) == 0
               ? 0
               : error_memory(walk->err);
}

/* ---- values of attributes ---- */

/* Reads the values of a tag's attributes that people read. Each is a paragraph. */
static int read_values(struct walk *walk, const struct xml_token *tag) {
    const char *names = walk->part->grammar->values;
    struct xml_attribute attribute;
    for (const char *at = NULL; names && xml_next_attribute(tag, &at, &attribute);) {
        const char *begin = attribute.value.start, *end = begin + attribute.value.length;
        const struct xml_token value = {.kind = XML_TEXT, .begin = begin, .end = end};
        struct bytes text;
        if (begin == end || end - begin > MOST_TEXT_BYTES || walk->nested == MOST_PARAGRAPHS ||
            !bytes_among(attribute.name, names))
            continue;
        bool tracked = walk->tracked;
        if (begin_paragraph(walk, nothing, begin - 1, 0) != 0)
            return -1;
        walk->paragraph->value = true;
        if (xml_decode(walk->scan.begin, &value, walk->arena, &text, walk->err) != 0 ||
            add_text(walk, begin, end, text) != 0 || end_paragraph(walk, end + 1) != 0)
            return -1;
        walk->tracked = tracked;
    }
    return 0;
}

/* ---- tags ---- */

/* Reads a start tag, or a tag without content, in a paragraph and outside of tokens. */
static int read_inline(struct walk *walk, enum role role, const struct xml_token *tag) {
    struct state *state = &walk->states[walk->nested - 1];
    struct paragraph *paragraph = walk->paragraph;
    bool empty = tag->kind == XML_EMPTY;
    struct inline_token *token;
    struct bytes code;
    if ((state->wrap || state->close) &&
        role != ROLE_CONTENT) { /* it is copied with the element around it */
        if (!empty) {
            state->skip = walk->scan.depth;
            state->skipped = ROLE_DROPPED;
        }
        return 0;
    }
    if (role != ROLE_FORMAT && state->run > 0 && !state->formatted &&
        note_format(walk, nothing) != 0)
        return -1;
    switch (role) {
    case ROLE_RUN:
        if (empty || state->run > 0)
            return 0;
        state->run = walk->scan.depth;
        state->formatted = false;
        if (paragraph->run.length == 0)
            paragraph->run = tag->name;
        return 0;
    case ROLE_TEXT:
        if (paragraph->text.length == 0) {
            paragraph->text = tag->name;
            paragraph->spaced = !(tag->name.length > 2 && memcmp(tag->name.start, "a:", 2) == 0);
        }
        state->text = empty ? state->text : walk->scan.depth;
        return 0;
    case ROLE_CONTAINER:
        if (!empty && xml_attribute(tag, "instr", &code) && paragraph_is_data(code))
            break;
        if (empty)
            return add_whole(walk, role, tag, tag->begin, tag->end);
        token = add(walk, INLINE_OPEN, tag->begin, tag->end);
        if (token)
            token->key = xml_local_name(tag->name);
        return token ? 0 : -1;
    case ROLE_CONTENT:
        if (!empty && state->wrap) {
            token = add(walk, INLINE_OPEN, state->wrap, tag->end);
            state->wrap = NULL;
            return token ? 0 : -1;
        }
        return 0;
    case ROLE_WRAP:
        state->wrap = empty ? state->wrap : tag->begin;
        return 0;
    case ROLE_TRANSPARENT:
        walk->tracked = true;
        return 0;
    case ROLE_SPACE:
        return add_spaces(walk, tag);
    case ROLE_HYPHEN:
        return add_text(walk, tag->begin, tag->end, (struct bytes){"\u2011", 3});
    default:
        break;
    }
    if (role == ROLE_DROPPED && tag->name.length > 4)
        walk->tracked |= bytes_are(xml_local_name(tag->name), "del") ||
                         bytes_are(xml_local_name(tag->name), "moveFrom");
    if (!empty) { /* the token is added at its end */
        state->skip = walk->scan.depth;
        state->skipped = role;
        return 0;
    }
    if (role == ROLE_LEAD && paragraph->count == 0)
        paragraph->begin = (uint32_t)(tag->end - walk->part->bytes.start);
    if (role == ROLE_FORMAT)
        return state->run > 0 ? note_format(walk, bytes_between(tag->begin, tag->end)) : 0;
    if (role == ROLE_DROPPED || role == ROLE_LEAD)
        return 0;
    return add_whole(walk, role, tag, tag->begin, tag->end);
}

static bool in_token(const struct walk *walk) {
    return walk->paragraph && walk->states[walk->nested - 1].skip > 0;
}

/* Begins a paragraph, and ends the one before: blocks of HTML separate paragraphs. */
static int read_boundary(struct walk *walk, const struct xml_token *tag) {
    if (walk->paragraph)
        walk->paragraph->alone |= walk->contents > 0;
    if (walk->paragraph && end_paragraph(walk, tag->begin) != 0)
        return -1;
    return begin_paragraph(walk, nothing, tag->end, 0);
}

static int read_start(struct walk *walk, const struct xml_token *tag) {
    char buffer[NAME_BYTES];
    bool root = walk->scan.depth == (tag->kind == XML_START ? 1 : 0),
         empty = tag->kind == XML_EMPTY;
    struct xml_attribute attribute;
    for (const char *at = NULL;
         root && walk->prefix_count < MOST_PREFIXES && xml_next_attribute(tag, &at, &attribute);) {
        struct bytes name = attribute.name, value = attribute.value;
        if (name.length < 5 || memcmp(name.start, "xmlns", 5) != 0 ||
            (name.length > 5 && name.start[5] != ':'))
            continue;
        for (const struct space_row *space = walk->part->grammar->spaces; space && space->prefix;
             space++) {
            size_t ends = strlen(space->ends);
            if (value.length < ends ||
                memcmp(value.start + value.length - ends, space->ends, ends) != 0 ||
                !memmem(value.start, value.length, space->holds, strlen(space->holds)))
                continue;
            struct bytes prefix =
                name.length > 5 ? bytes_between(name.start + 6, name.start + name.length) : nothing;
            walk->prefixes[walk->prefix_count++] = (struct prefix){prefix, space->prefix};
            break;
        }
    }
    struct bytes canonical = canonical_name(walk, tag->name, buffer);
    enum role role = find_role(walk->part->grammar, canonical, tag);
    size_t depth = walk->scan.depth;
    if (!empty)
        walk->open[depth - 1] = (struct element){(uint8_t)role, tag->begin, tag->end};
    bool within = in_token(walk),
         dropped = within && walk->states[walk->nested - 1].skipped != ROLE_NONE;
    size_t first = walk->changes->count;
    if (walk->opaque == 0 && !within &&
        html_translate(tag->name.start + tag->name.length, tag->end) != TRANSLATE_NO &&
        read_values(walk, tag) != 0)
        return -1;
    if (find_languages(walk, tag, canonical, root) != 0)
        return -1;
    if (walk->changes->count > first + 1)
        qsort(walk->changes->all + first, walk->changes->count - first, sizeof *walk->changes->all,
              compare_changes);
    if (walk->opaque > 0)
        return 0;
    if (walk->part->grammar->markup && walk->contents == 0 && !empty && bytes_are(canonical, "nav"))
        walk->contents = depth;
    if (role == ROLE_OPAQUE && !empty && !dropped) {
        walk->opaque = depth;
        if (walk->paragraph && !within)
            return read_inline(walk, role, tag);
        return 0;
    }
    if (role == ROLE_PARAGRAPH && (!walk->paragraph || (within && !dropped)) &&
        walk->nested < MOST_PARAGRAPHS) {
        if (!empty && begin_paragraph(walk, tag->name, tag->end, depth) != 0)
            return -1;
        if (!empty)
            walk->paragraph->drawing = bytes_are(canonical, "a:p");
        return 0;
    }
    if (role == ROLE_BOUNDARY && !within)
        return read_boundary(walk, tag);
    if (!walk->paragraph || within)
        return 0;
    return read_inline(walk, role == ROLE_PARAGRAPH ? ROLE_NONE : role, tag);
}

static int read_end(struct walk *walk, const struct xml_token *tag) {
    size_t depth = walk->scan.depth + 1;
    const struct element *element = &walk->open[depth - 1];
    struct paragraph *paragraph = walk->paragraph;
    if (walk->opaque == depth)
        walk->opaque = 0;
    if (walk->opaque > 0 || !walk->paragraph)
        return 0;
    if (walk->begun[walk->nested - 1] == depth)
        return end_paragraph(walk, tag->begin);
    if (element->role == ROLE_BOUNDARY && !in_token(walk)) {
        bool whole = paragraph->part + paragraph->begin == element->inside;
        struct bytes name = xml_local_name(tag->name);
        paragraph->alone = walk->contents > 0 || bytes_among(name, "title option button");
        if (whole && bytes_are(name, "p")) {
            paragraph->tag = (uint32_t)(element->begin - paragraph->part);
            paragraph->inside = paragraph->begin;
            paragraph->name = tag->name;
        }
        walk->contents = walk->contents == depth ? 0 : walk->contents;
        return read_boundary(walk, tag);
    }
    struct state *state = &walk->states[walk->nested - 1];
    if (state->skip > 0 && state->skip != depth)
        return 0;
    if (state->skip > 0) { /* the element was skipped as a whole */
        enum role role = state->skipped;
        const struct xml_token start = {
            XML_START, element->begin, element->inside, {element->begin + 1, tag->name.length}};
        state->skip = 0;
        if (role == ROLE_FORMAT)
            return state->run > 0 ? note_format(walk, bytes_between(element->begin, tag->end)) : 0;
        if (role == ROLE_LEAD && walk->paragraph->count == 0)
            walk->paragraph->begin = (uint32_t)(tag->end - walk->part->bytes.start);
        if (role == ROLE_LEAD || role == ROLE_DROPPED)
            return 0;
        return add_whole(walk, role, &start, element->begin, tag->end);
    }

    const char *close = state->close, *wrap = state->wrap;
    switch (element->role) {
    case ROLE_RUN:
        state->run = state->run == depth ? 0 : state->run;
        state->format = 0;
        return 0;
    case ROLE_TEXT:
        state->text = state->text == depth ? 0 : state->text;
        return 0;
    case ROLE_CONTAINER:
        return add(walk, INLINE_CLOSE, tag->begin, tag->end) ? 0 : -1;
    case ROLE_CONTENT:
        state->close = tag->begin;
        return 0;
    case ROLE_WRAP:
        state->close = state->wrap = NULL;
        if (close)
            return add(walk, INLINE_CLOSE, close, tag->end) ? 0 : -1;
        return !wrap || add(walk, INLINE_UNIT, wrap, tag->end) ? 0 : -1;
    default:
        return 0;
    }
}

static int read_text(struct walk *walk, const struct xml_token *token) {
    const struct element *parent = walk->scan.depth > 0 ? &walk->open[walk->scan.depth - 1] : NULL;
    if (parent && parent->role == ROLE_LANGUAGE && walk->opaque == 0)
        return add_change(walk, token->begin, token->end, bytes_of(walk->part->language), NULL);
    if (!walk->paragraph || walk->opaque > 0 || in_token(walk))
        return 0;
    struct bytes text;
    if (!walk->part->grammar->mixed && walk->states[walk->nested - 1].text == 0)
        return 0;
    if (token->end - token->begin > MOST_TEXT_BYTES)
        return refuse_text(walk, token->begin);
    if (!walk->part->grammar->mixed)
        return add_preserved(walk, token);
    if (xml_decode(walk->scan.begin, token, walk->arena, &text, walk->err) != 0)
        return -1;
    return add_text(walk, token->begin, token->end, text);
}

int walk_read(const struct walk_part *part, struct walk_changes *out, struct arena *scratch,
              struct error *err) {
    const struct grammar *grammar = part->grammar;
    struct walk *walk = arena_zalloc(scratch, 1, sizeof *walk);
    struct xml_token token;
    bool first = true;
    int read;
    if (!walk)
        return error_memory(err);
    walk->part = part;
    walk->arena = scratch;
    walk->err = err;
    walk->root_language = nothing;
    walk->changes = out;
    xml_scan_begin(&walk->scan, part->bytes, grammar->doctype, scratch->budget);
    while ((read = xml_next(&walk->scan, &token, err)) > 0) {
        bool start = token.kind == XML_START || token.kind == XML_EMPTY;
        int result = 0;
        if (start && first && grammar->root &&
            !bytes_are(xml_local_name(token.name), grammar->root))
            break;
        first &= !start;
        if (start)
            result = read_start(walk, &token);
        else if (token.kind == XML_END)
            result = read_end(walk, &token);
        else if (token.kind != XML_OTHER)
            result = read_text(walk, &token);
        else if (grammar->markup && walk->paragraph && !in_token(walk) && walk->opaque == 0)
            result = add(walk, INLINE_UNIT, token.begin, token.end) ? 0 : -1;
        if (result != 0)
            return -1;
    }
    if (read < 0)
        return -1;
    while (walk->paragraph) /* after the last block */
        if (end_paragraph(walk, walk->scan.end) != 0)
            return -1;
    return 0;
}

/* ---- writing ---- */

/* Bytes of the part that are rewritten, in order and without overlaps. */
struct patch {
    const char *begin, *end;
    struct bytes bytes;
};

struct patches {
    struct patch *all; /* [count] */
    size_t count;
};

/* Finds the first patch at or after a place. */
static size_t patch_from(const struct patches *patches, const char *at) {
    size_t low = 0, high = patches->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (patches->all[middle].begin >= at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void put_range(void *owner, const char *begin, const char *end, struct bytes_buffer *out) {
    const struct patches *patches = owner;
    for (size_t i = patch_from(patches, begin); i < patches->count && patches->all[i].end <= end;
         i++) {
        const struct patch *patch = &patches->all[i];
        bytes_put(out, begin, (size_t)(patch->begin - begin));
        bytes_put(out, patch->bytes.start, patch->bytes.length);
        begin = patch->end;
        out->failed |= !budget_step(out->arena->budget, 1);
    }
    bytes_put(out, begin, (size_t)(end - begin));
}

/* Puts what separates a text of a book from its translation: the begin of a paragraph of its own,
 * which the end of the source's paragraph ends, or of an element in the same block. */
static void begin_below(const struct paragraph *paragraph, const char *part, const char *language,
                        struct bytes_buffer *out) {
    const struct xml_token tag = {.kind = XML_START,
                                  .begin = part + paragraph->tag,
                                  .end = part + paragraph->inside,
                                  .name = {part + paragraph->tag + 1, paragraph->name.length}};
    bool whole = paragraph->tag < paragraph->inside;
    struct bytes own = nothing;
    if (whole) {
        xml_attribute(&tag, "class", &own);
        bytes_put_string(out, "</");
        bytes_put(out, tag.name.start, tag.name.length);
        bytes_put_string(out, ">\n<");
        bytes_put(out, tag.name.start, tag.name.length);
        struct xml_attribute attribute; /* namespaces that only this element declares */
        for (const char *at = NULL; xml_next_attribute(&tag, &at, &attribute);)
            if (bytes_begin(attribute.name.start, attribute.end, "xmlns"))
                bytes_put(out, attribute.begin, (size_t)(attribute.end - attribute.begin));
    } else {
        bytes_put_string(out, "<br/><span");
    }
    bytes_put_string(out, " lang=\"");
    bytes_put_escaped(out, language, strlen(language), "&<>\"");
    bytes_put_string(out, "\" xml:lang=\"");
    bytes_put_escaped(out, language, strlen(language), "&<>\"");
    bytes_put_string(out, "\" class=\"");
    for (size_t i = 0; i < own.length; i++)
        bytes_put(out, own.start[i] == '"' ? " " : own.start + i, 1);
    bytes_put_string(out, own.length > 0 ? " translation\">" : "translation\">");
}

/* Writes the content of a paragraph. Returns false if nothing of it is translated. */
static bool write_paragraph(const char *part, const struct walk_change *change,
                            const struct walk_writing *writing, struct patches *patches,
                            struct bytes_buffer *out) {
    const struct paragraph *paragraph = change->paragraph;
    const struct grammar *grammar = paragraph->grammar;
    const bool below = writing->below && (grammar->line_break || grammar->markup);
    struct bytes_buffer text = {.arena = out->arena};
    struct markup_trace trace = {.arena = out->arena};
    const struct paragraph_writer to = {out, part, put_range, patches};
    bytes_put(&text, "", 0);
    bytes_put(out, "", 0);
    writing->pieces->out = &text;
    writing->pieces->trace = &trace;
    if (!markup_write_pieces(writing->pieces, paragraph->first_piece, paragraph->end_piece) &&
        !text.failed)
        return false;
    out->failed |= text.failed;
    const struct paragraph_written written = {{text.bytes, text.length}, &trace};
    if (writing->below && (paragraph->value || paragraph->alone || !below))
        return false;
    const bool cell = below && paragraph_is_cell(paragraph),
               bare =
                   cell && paragraph->format_count > 0 && paragraph->formats[paragraph->base].bare;
    if (cell && (memmem(part + change->begin, change->end - change->begin, "phonetic", 8) ||
                 memmem(part + change->begin, change->end - change->begin, "rPh", 3)))
        return false; /* readings are of the whole text */
    if (bare)
        paragraph_put_cell_run(paragraph, "<", out);
    const char *end_of_source = part + change->end;
    if (below && paragraph->drawing)
        end_of_source = paragraph_drawing_end(paragraph, part + change->begin, end_of_source);
    if (below)
        put_range(patches, part + change->begin, end_of_source, out);
    if (bare)
        paragraph_put_cell_run(paragraph, "</", out);
    size_t end = out->length;
    if (below && grammar->markup)
        begin_below(paragraph, part, writing->language, out);
    size_t begin = out->length;
    if (paragraph->value)
        bytes_put_string(out, "\"");
    if (!out->failed)
        paragraph_write(paragraph, &written, below, &to);
    if (paragraph->value)
        bytes_put_string(out, "\"");
    if (below)
        put_range(patches, end_of_source, part + change->end, out);
    if (!below || !grammar->markup || out->failed)
        return true;
    if (bytes_same((struct bytes){out->bytes + begin, out->length - begin},
                   (struct bytes){out->bytes, end}))
        out->length = end; /* it is the same in both languages */
    else if (paragraph->tag == paragraph->inside)
        bytes_put_string(out, "</span>");
    return true;
}

int walk_write(struct bytes part, const struct walk_changes *changes, struct walk_writing *writing,
               struct bytes_buffer *out, struct error *err) {
    struct patches patches = {arena_alloc(out->arena, changes->count, sizeof *patches.all), 0};
    if (!patches.all)
        return error_memory(err);
    for (size_t i = 0; i < changes->count && !out->failed; i++) {
        const struct walk_change *change = &changes->all[i];
        struct patch patch = {part.start + change->begin, part.start + change->end, change->bytes};
        if (change->paragraph) {
            struct bytes_buffer content = {.arena = out->arena};
            if (!write_paragraph(part.start, change, writing, &patches, &content))
                continue;
            out->failed |= content.failed;
            patch.bytes = (struct bytes){content.bytes, content.length};
            patches.count = patch_from(&patches, patch.begin); /* those within it are written */
            writing->accepted |= change->tracked;
        }
        patches.all[patches.count++] = patch;
    }
    if (!out->failed)
        put_range(&patches, part.start, part.start + part.length, out);
    return out->failed ? error_memory(err) : 0;
}
