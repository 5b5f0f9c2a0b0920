/* This file translates JSON (RFC 8259). The strings that are values, prose and selected are
 * translated line by line; names of members and everything else stay byte for byte. No library
 * reads it, because a library would lose the place of a value and the notation of numbers and
 * escapes. Comments and a comma after the last member or element are accepted and stay. In messages
 * in ICU's notation the texts of their branches are translated, in vue-i18n's "a | b | c" each
 * alternative. */
#include "model/base/utf8.h"
#include "server/documents/spans.h"
#include <ctype.h>
#include <stdio.h>

enum { MOST_DEPTH = 512, MOST_NAME = 128 /* bytes of a reference */ };

/* ---- path globs ---- */

/* A name of a glob. */
struct name_glob {
    char *text; /* [head + tail] without the star: the text before it, then the text after it */
    size_t head, tail;
    bool star, any; /* any: ** */
};

struct glob {
    struct name_glob names[KEY_GLOB_NAMES];
    size_t count;
    bool excludes;
};

struct key_globs {
    struct glob all[KEY_GLOBS_MOST];
    size_t count;
    bool includes; /* one of them does not exclude */
};

static int refuse_glob(const char *text, size_t length, const char *why, struct error *err) {
    return error_set(err, ERROR_INPUT, "\"%.*s\" is not a path glob: %s",
                     (int)(length < 60 ? length : 60), text, why);
}

/* Reads a glob that has no blanks around it. */
static int read_glob(const char *text, size_t length, struct arena *arena, struct glob *out,
                     struct error *err) {
    const char *at = text, *end = text + length;
    *out = (struct glob){.excludes = *at == '!'};
    at += out->excludes;
    if (length > KEY_GLOB_BYTES)
        return refuse_glob(text, length, "it is longer than 256 bytes", err);
    do {
        if (out->count == KEY_GLOB_NAMES)
            return refuse_glob(text, length, "it has more than 16 names", err);
        struct name_glob *name = &out->names[out->count++];
        size_t stars = 0, bytes = 0;
        if (!(name->text = arena_alloc(arena, (size_t)(end - at) + 1, 1)))
            return error_memory(err);
        for (; at < end && *at != '.'; at++) {
            bool escaped = *at == '\\' && at + 1 < end;
            if (*at == '*') {
                stars++;
                name->head = bytes;
                continue;
            }
            at += escaped;
            name->text[bytes++] = *at;
        }
        name->star = stars > 0;
        name->any = stars == 2 && bytes == 0;
        name->tail = name->star ? bytes - name->head : 0;
        name->head = name->star ? name->head : bytes;
        if (stars > 1 && !name->any)
            return refuse_glob(text, length, "a name may contain only one *", err);
        if (stars == 0 && bytes == 0)
            return refuse_glob(text, length, "a name is empty", err);
    } while (at < end && *at++ == '.');
    return 0;
}

struct key_globs *key_globs_parse(const char *const *texts, size_t count, struct arena *arena,
                                  struct error *err) {
    static const char blanks[] = " \t\r\n";
    struct key_globs *globs = arena_zalloc(arena, 1, sizeof *globs);
    if (!globs)
        return error_memory(err), NULL;
    for (size_t i = 0; i < count; i++)
        for (const char *rest = texts[i]; *rest;) {
            const char *begin = rest, *end = rest; /* up to a comma without a backslash */
            while (*end && *end != ',')
                end += *end == '\\' && end[1] ? 2 : 1;
            rest = *end ? end + 1 : end;
            begin += strspn(begin, blanks);
            while (end > begin && strchr(blanks, end[-1]))
                end--;
            if (end <= begin)
                continue;
            if (globs->count == KEY_GLOBS_MOST)
                return error_set(err, ERROR_INPUT, "at most %d path globs are allowed",
                                 KEY_GLOBS_MOST),
                       NULL;
            struct glob *out = &globs->all[globs->count++];
            if (read_glob(begin, (size_t)(end - begin), arena, out, err) != 0)
                return NULL;
            globs->includes |= !out->excludes;
        }
    return globs;
}

/* "**" may match no name: every position that is matched before it is also matched after it. */
static unsigned close_state(const struct glob *glob, unsigned matched) {
    for (size_t i = 0; i < glob->count; i++)
        if (glob->names[i].any && (matched >> i & 1))
            matched |= 1u << (i + 1);
    return matched;
}

void key_globs_begin(const struct key_globs *globs, struct key_state *out) {
    for (size_t g = 0; g < globs->count; g++)
        out->matched[g] = close_state(&globs->all[g], 1);
}

void key_globs_step(const struct key_globs *globs, const struct key_state *before, const char *name,
                    size_t length, struct key_state *out) {
    for (size_t g = 0; g < globs->count; g++) {
        const struct glob *glob = &globs->all[g];
        unsigned matched = 0;
        for (size_t i = 0; i < glob->count; i++) {
            const struct name_glob *own = &glob->names[i];
            size_t fixed = own->head + own->tail;
            if (!(before->matched[g] >> i & 1))
                continue;
            if (own->any)
                matched |= 1u << i;
            else if ((own->star ? length >= fixed : length == fixed) &&
                     memcmp(name, own->text, own->head) == 0 &&
                     memcmp(name + length - own->tail, own->text + own->head, own->tail) == 0)
                matched |= 1u << (i + 1);
        }
        out->matched[g] = close_state(glob, matched);
    }
}

enum key_choice key_globs_choose(const struct key_globs *globs, const struct key_state *state) {
    bool in = !globs->includes, asked_for = false;
    for (size_t g = 0; g < globs->count; g++) {
        const struct glob *glob = &globs->all[g];
        if (!(state->matched[g] >> glob->count & 1))
            continue;
        if (glob->excludes)
            return KEY_LEFT_OUT;
        in = asked_for = true;
    }
    return !in ? KEY_LEFT_OUT : asked_for ? KEY_ASKED_FOR : KEY_IN;
}

/* ---- strings ---- */

/* The token that may come next. */
enum expected {
    VALUE,
    ELEMENT /* or the array's end */,
    NAME /* or the object's end */,
    COLON,
    MORE /* a comma, or the end */,
    NOTHING
};

/* Members of an object that are the forms of one text: all of them, {"one": ..., "other": ...}, or
 * those whose names begin alike, "items_one", "items_other". */
struct plurals {
    struct bytes stem;           /* with the '_'; length 0: all members */
    unsigned present;            /* categories, as bits */
    struct plural_branch *other; /* NULL: there was none */
    bool mixed;                  /* the object has other members, too */
};

struct level {
    char open;         /* '{' or '[' */
    struct bytes name; /* name of the current member, or of the member that holds the array */
    size_t index;      /* index of the current element */
    bool about;        /* it is below a member that says something about other members */
    bool message;      /* the object has had a member of this name */
    struct plurals plurals;
};

/* A string of a catalogue of Apple's, while it is read. */
struct entry {
    const char *inside, *localizations; /* after the braces that open it, and its member of this
                                           name; NULL: it has none */
    const char *unfinished, *after;     /* the target's object, whose state is "new"; NULL: none */
    struct bytes key, text; /* text: of the source language; NULL: the key is the text */
    struct bytes one;       /* the source's form for one, and text is that for others; NULL: there
                               are no forms */
    struct bytes state;     /* the target's state; NULL: none */
    bool left;              /* it is not translated, or has forms that are not for numbers alone */
};

struct json_reader {
    struct piece_builder builder;
    struct document_spans *spans;
    bool *messages; /* a string of the file has branches in ICU's notation */
    const struct document *document;
    const char *begin, *at, *end;
    const char *done;      /* the string up to here is in pieces */
    const char *separated; /* after the last comma or opening brace */
    char *decoded;         /* the rest of the room for decoded strings */
    char *scratch;         /* room for the longest string */
    struct level levels[MOST_DEPTH];
    struct key_state *places; /* [MOST_DEPTH + 1] how far the globs match above the first level,
                                 then at each; NULL: no globs */
    size_t depth;
    bool catalog;          /* the file is a catalogue of strings */
    struct bytes language; /* the catalogue's source language */
    struct entry entry;
    struct error *err;
};

static int refuse(const struct json_reader *reader, const char *at, const char *what) {
    return markup_error_at(reader->err, reader->begin, at, "%s", what);
}

static int32_t read_hex(const char *at, const char *end) {
    int32_t value = 0;
    for (size_t i = 0; i < 4; i++, at++) {
        if (at >= end || !isxdigit((unsigned char)*at))
            return -1;
        value = value * 16 +
                (isdigit((unsigned char)*at) ? *at - '0' : tolower((unsigned char)*at) - 'a' + 10);
    }
    return value;
}

/* Returns the bytes of the escape that begins there; 0: it is invalid. *character: -1 for half of a
 * surrogate pair. */
static size_t read_escape(const char *at, const char *end, int32_t *character) {
    static const char names[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    const char *name = at + 1 < end && at[1] ? strchr(names, at[1]) : NULL;
    if (name) {
        *character = means[name - names];
        return 2;
    }
    int32_t high = at + 1 < end && at[1] == 'u' ? read_hex(at + 2, end) : -1, low = -1;
    if (high < 0)
        return 0;
    bool first = high >= 0xd800 && high < 0xdc00, second = high >= 0xdc00 && high < 0xe000;
    if (first && end - at > 7 && at[6] == '\\' && at[7] == 'u')
        low = read_hex(at + 8, end);
    bool pair = low >= 0xdc00 && low < 0xe000;
    *character = pair              ? 0x10000 + (high - 0xd800) * 0x400 + (low - 0xdc00)
                 : first || second ? -1
                                   : high;
    return pair ? 12 : 6;
}

/* Reads the string whose first quotation mark is at reader->at. *raw: without the marks. *whole:
 * every escape stands for a character that a text may have. */
static int read_string(struct json_reader *reader, struct bytes *raw, bool *whole) {
    const char *begin = ++reader->at;
    *whole = true;
    while (reader->at < reader->end && *reader->at != '"') {
        int32_t character = (unsigned char)*reader->at;
        size_t bytes = *reader->at == '\\' ? read_escape(reader->at, reader->end, &character) : 1;
        if (bytes == 0)
            return refuse(reader, reader->at, "invalid escape sequence");
        if (bytes == 1 && character < ' ')
            return refuse(reader, reader->at,
                          "a control character in a string must be written as an escape sequence");
        *whole &= character > 0;
        reader->at += bytes;
    }
    if (reader->at >= reader->end)
        return refuse(reader, begin - 1, "unterminated string");
    *raw = bytes_between(begin, reader->at++);
    *reader->messages = *reader->messages || icu_message_is(raw->start, raw->length);
    return 0;
}

struct json_string {
    struct bytes raw, text; /* as written, and decoded; the same if there are no escapes */
    size_t at;              /* a place in the text */
    const char *raw_at;     /* the same place in raw; callers ask for places in order */
};

/* Decodes a valid string into the room. Pieces borrow the text. */
static struct json_string decode(char **room, struct bytes raw) {
    struct json_string string = {.raw = raw, .text = raw, .raw_at = raw.start};
    if (!memchr(raw.start, '\\', raw.length))
        return string;
    char *out = *room;
    for (const char *at = raw.start, *end = at + raw.length; at < end;) {
        int32_t character;
        size_t bytes = *at == '\\' ? read_escape(at, end, &character) : 1;
        if (bytes > 1)
            out += character_put(character, out);
        else
            *out++ = *at;
        at += bytes;
    }
    string.text = bytes_between(*room, out);
    *room = out;
    return string;
}

/* Returns the place where a byte of the text is written. */
static const char *raw_of(struct json_string *string, size_t byte) {
    const char *end = string->raw.start + string->raw.length;
    char ignored[4];
    if (string->text.start == string->raw.start)
        return string->raw.start + byte;
    while (string->at < byte) {
        int32_t character;
        size_t bytes = *string->raw_at == '\\' ? read_escape(string->raw_at, end, &character) : 1;
        string->at += bytes > 1 ? character_put(character, ignored) : 1;
        string->raw_at += bytes;
    }
    return string->raw_at;
}

static void json_escape(struct bytes_buffer *out, const char *text, size_t length) {
    static const char digits[] = "0123456789abcdef", names[] = "\"\\bfnrt",
                      means[] = "\"\\\b\f\n\r\t";
    for (size_t at = 0; at < length; at++) {
        size_t plain = at;
        while (at < length && text[at] != '"' && text[at] != '\\' && (unsigned char)text[at] >= ' ')
            at++;
        bytes_put(out, text + plain, at - plain);
        if (at == length)
            return;
        unsigned char c = (unsigned char)text[at];
        const char *name = c > 0 ? strchr(means, c) : NULL;
        const char escape[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]},
                   mark[] = {'\\', name ? names[name - means] : 'u'};
        bytes_put(out, name ? mark : escape, name ? sizeof mark : sizeof escape);
    }
}

/* ---- pieces ---- */

/* The owner of a marking: a string and its reader. */
struct string_owner {
    struct json_reader *reader;
    struct json_string *string;
};

/* Returns the written form of a part; callers ask for parts in order. */
static struct bytes write_part(const struct marking *marking, struct bytes part,
                               struct arena *arena) {
    const struct string_owner *own = marking->owner;
    size_t begin = (size_t)(part.start - own->string->text.start);
    const char *from = raw_of(own->string, begin), *to = raw_of(own->string, begin + part.length);
    (void)arena;
    own->reader->done = to;
    return bytes_between(from, to);
}

/* Adds text between marks, in which references stay as they are. */
static void add_words(const struct marking *marking, struct piece_builder *builder,
                      struct bytes text) {
    const struct json_string *string = ((const struct string_owner *)marking->owner)->string;
    const char *whole = string->text.start;
    size_t begin = (size_t)(text.start - whole), end = begin + text.length;
    struct opaque_run run;
    for (size_t at = begin, plain = begin; plain < end; plain = run.end) {
        if (!opaque_next(NOTATION_REFERENCES | NOTATION_DIGIT, whole, end, &at, &run))
            run.begin = run.end = end;
        struct bytes before = {whole + plain, run.begin - plain},
                     reference = {whole + run.begin, run.end - run.begin};
        if (before.length > 0)
            piece_add_text(builder, before, write_part(marking, before, builder->arena));
        if (reference.length > 0)
            piece_add_word(builder, directive_number(reference),
                           write_part(marking, reference, builder->arena));
    }
}

/* Adds the sentences of a line: each of the alternatives between bars, as vue-i18n's plurals are
 * written. */
static void add_alternatives(struct json_reader *reader, struct json_string *string, size_t begin,
                             size_t end) {
    struct string_owner own = {reader, string};
    const struct marking marking = {
        .owner = &own, .written = write_part, .add_text = add_words, .accelerators = true};
    const char *text = string->text.start;
    size_t depth = 0;
    bool alternatives = false;
    for (size_t at = begin; at <= end; at++) {
        char c = at < end ? text[at] : '|';
        depth += c == '{';
        depth -= c == '}' && depth > 0;
        if (c != '|' || (depth > 0 && at < end))
            continue;
        alternatives |= at < end;

        /* Skip Laravel's conditions before an alternative: {0} and [2,*]. */
        size_t open = begin, after;
        while (open < at && text[open] == ' ')
            open++;
        bool braces = open < at && text[open] == '{';
        for (after = open + 1;
             after < at && strchr(braces ? "0123456789" : "0123456789,*-Inf", text[after]);)
            after++;
        bool range = (braces || (open < at && text[open] == '[')) && after > open + 1 &&
                     after < at && text[after] == (braces ? '}' : ']');
        if (alternatives && range)
            begin = after + 1;
        if (begin < at) {
            const char *from = raw_of(string, begin);
            if (from > reader->done)
                piece_add_break(&reader->builder, bytes_between(reader->done, from));
            reader->done = from;
            piece_add_marked(&reader->builder, bytes_between(text + begin, text + at), &marking);
        }
        begin = at + 1;
    }
}

static const char locale_name[] = "@@locale"; /* ARB's */

/* True if the current member says something about other members instead of holding text for readers
 * of the program: ARB's members that begin with "@", and what stands beside a "message" of a
 * WebExtension. */
static bool says_about(const struct level *level) {
    return level->open == '{' && ((level->name.length > 0 && *level->name.start == '@') ||
                                  bytes_are(level->name, "placeholders") ||
                                  (level->message && bytes_are(level->name, "description")));
}

/* Keeps the decoded text of a string for its span. Returns NULL if memory runs out. */
static const struct bytes *keep_text(struct json_reader *reader, struct bytes text) {
    struct bytes *kept = arena_alloc(reader->builder.arena, 1, sizeof *kept);
    if (kept)
        *kept = text;
    return kept;
}

/* Adds the span of a value unless it is for programs or cannot be read. */
static void add_value(struct json_reader *reader, struct bytes raw, enum key_choice choice) {
    static const struct prose_place nowhere = {{"", 0}, {"", 0}};
    struct prose_place place = nowhere;
    struct piece_builder *builder = &reader->builder;
    struct document_spans *spans = reader->spans;
    struct json_string string = decode(&reader->decoded, raw);
    struct bytes text = string.text;
    const char *raw_end = raw.start + raw.length;
    const struct level *level = reader->depth > 0 ? &reader->levels[reader->depth - 1] : NULL;
    size_t first = builder->markup.piece_count;
    struct error error = {0};
    if (builder->failed) /* piece_build reports why */
        return;
    if (reader->depth == 1 &&
        bytes_are(level->name, locale_name)) { /* becomes the language of the translation */
        spans_add(spans, builder, raw.start, raw_end, NULL);
        return;
    }
    if (level && choice != KEY_ASKED_FOR && (level->about || says_about(level)))
        return;
    if (icu_message_is(text.start, text.length)) {
        spans_add(spans, builder, raw.start, raw_end, keep_text(reader, text));
        if (spans_add_message(spans, builder, text, &error))
            return;
        document_note(reader->document, raw.start, "untranslated", "%s, so it is unchanged",
                      error.message);
        spans->count--;
        return;
    }
    if (reader->depth > 0)
        place.name = reader->levels[reader->depth - 1].name;
    for (size_t above = reader->depth; above-- > 1 && place.parent.length == 0;)
        if (reader->levels[above].open == '{') /* the member that holds this object */
            place.parent = reader->levels[above - 1].name;
    enum prose prose = prose_judge(text, &place, reader->scratch);
    if (prose != PROSE_LANGUAGE && (prose != PROSE_DOUBTFUL || choice != KEY_ASKED_FOR))
        return;

    /* Each of several lines may be for programs, too. */
    reader->done = raw.start;
    for (size_t begin = 0, end; begin < text.length && !builder->failed; begin = end + 1) {
        end = begin;
        while (end < text.length && (unsigned char)text.start[end] >= ' ')
            end++;
        struct bytes line = {text.start + begin, end - begin};
        if (line.length > 0 && (line.length == text.length ||
                                prose_judge(line, &nowhere, reader->scratch) == PROSE_LANGUAGE))
            add_alternatives(reader, &string, begin, end);
    }
    if (builder->markup.piece_count == first)
        return;
    if (reader->done < raw_end)
        piece_add_break(builder, bytes_between(reader->done, raw_end));
    spans_add(spans, builder, raw.start, raw_end, keep_text(reader, text));
    spans_end_text(spans, builder, first);
}

/* ---- catalogues of strings ----
 *
 * {"sourceLanguage": "en", "strings": {KEY: {"localizations": {LANGUAGE: {"stringUnit": {"state",
 * "value"}}}}}} */

enum {
    LEVEL_STRINGS = 1,
    LEVEL_ENTRY,
    LEVEL_LOCALIZATIONS,
    LEVEL_LANGUAGE,
    LEVEL_UNIT,
    LEVEL_CATEGORY = LEVEL_UNIT + 1 /* of a plural, below "variations" */
};

/* True if the value at reader->at, a member of the last level, belongs to the strings. */
static bool in_strings(const struct json_reader *reader) {
    return reader->catalog && reader->depth > LEVEL_STRINGS &&
           reader->levels[LEVEL_STRINGS].open == '{' &&
           bytes_are(reader->levels[0].name, "strings");
}

static bool in_localization(const struct json_reader *reader, const char *language, size_t length) {
    return reader->depth > LEVEL_LOCALIZATIONS &&
           bytes_are(reader->levels[LEVEL_ENTRY].name, "localizations") &&
           bytes_same(reader->levels[LEVEL_LOCALIZATIONS].name, (struct bytes){language, length});
}

/* Notes an object that begins at reader->at. */
static void catalog_open(struct json_reader *reader) {
    struct entry *entry = &reader->entry;
    const struct level *level = &reader->levels[reader->depth - 1];
    const char *target = reader->document->language;
    if (!in_strings(reader))
        return;
    if (reader->depth == LEVEL_ENTRY)
        *entry = (struct entry){.inside = reader->at + 1, .key = level->name};
    else if (reader->depth == LEVEL_ENTRY + 1 && bytes_are(level->name, "localizations"))
        entry->localizations = reader->at + 1;
    else if (reader->depth == LEVEL_LOCALIZATIONS + 1 &&
             in_localization(reader, target, strlen(target)))
        entry->unfinished = reader->at;
    else if (reader->depth == LEVEL_LANGUAGE + 1 && bytes_are(level->name, "substitutions"))
        entry->left = true;
    else if (reader->depth == LEVEL_UNIT + 1 &&
             bytes_are(reader->levels[LEVEL_LANGUAGE].name, "variations") &&
             !bytes_are(level->name, "plural"))
        entry->left = true;
    else if (reader->depth > LEVEL_CATEGORY + 1 && bytes_are(level->name, "variations"))
        entry->left = true;
}

/* Notes a string, or a word. */
static void catalog_value(struct json_reader *reader, struct bytes raw) {
    const struct level *level = &reader->levels[reader->depth - 1];
    const char *target = reader->document->language;
    struct entry *entry = &reader->entry;
    bool unit = in_strings(reader) && reader->depth == LEVEL_UNIT + 1 &&
                bytes_are(reader->levels[LEVEL_LANGUAGE].name, "stringUnit");
    bool form = in_strings(reader) && reader->depth == LEVEL_CATEGORY + 3 &&
                bytes_are(reader->levels[LEVEL_CATEGORY + 1].name, "stringUnit");
    struct bytes category = form ? reader->levels[LEVEL_CATEGORY].name : nothing;
    if (reader->depth == 1 && bytes_are(level->name, "sourceLanguage"))
        reader->language = raw;
    else if (in_strings(reader) && reader->depth == LEVEL_ENTRY + 1 &&
             bytes_are(level->name, "shouldTranslate"))
        entry->left = bytes_are(raw, "false");
    else if (unit && in_localization(reader, target, strlen(target)) &&
             bytes_are(level->name, "state"))
        entry->state = raw;
    else if (unit && in_localization(reader, reader->language.start, reader->language.length) &&
             bytes_are(level->name, "value"))
        entry->text = decode(&reader->decoded, raw).text;
    else if (form && in_localization(reader, reader->language.start, reader->language.length) &&
             bytes_are(level->name, "value") && bytes_are(category, "one"))
        entry->one = decode(&reader->decoded, raw).text;
    else if (form && in_localization(reader, reader->language.start, reader->language.length) &&
             bytes_are(level->name, "value") && bytes_are(category, "other"))
        entry->text = decode(&reader->decoded, raw).text;
}

/* Adds text between marks: directives of a format are words of it. */
static void add_formats(const struct marking *marking, struct piece_builder *builder,
                        struct bytes text) {
    struct directive_scan scan = {
        .text = text.start, .length = text.length, .notations = NOTATION_PERCENT};
    struct span found = {0, 0};
    (void)marking;
    for (size_t at = 0; at < text.length; at = found.end) {
        if (!directive_next_joined(&scan, &found))
            found = (struct span){text.length, text.length};
        struct bytes before = {text.start + at, found.begin - at},
                     directive = {text.start + found.begin, found.end - found.begin};
        if (before.length > 0)
            piece_add_text(builder, before, before);
        if (directive.length > 0)
            piece_add_word(builder, directive, directive);
    }
}

/* Adds the span of the entry that ends at reader->at. */
static void catalog_close(struct json_reader *reader) {
    static const struct prose_place nowhere = {{"", 0}, {"", 0}};
    static const struct marking marking = {.add_text = add_formats, .accelerators = true};
    struct piece_builder *builder = &reader->builder;
    struct document_spans *spans = reader->spans;
    struct entry *entry = &reader->entry;
    struct bytes text = entry->text.start ? entry->text : entry->key;
    if (in_strings(reader) && reader->depth == LEVEL_LANGUAGE + 1 && entry->unfinished &&
        !entry->after)
        entry->after = reader->at + 1;
    if (!in_strings(reader) || reader->depth != LEVEL_ENTRY + 1)
        return;
    bool wanted = !entry->unfinished || bytes_are(entry->state, "new");
    if (entry->one.start && !entry->text.start)
        return;
    bool chosen = !reader->places || key_globs_choose(reader->document->keys,
                                                      &reader->places[LEVEL_ENTRY]) != KEY_LEFT_OUT;
    struct entry *kept = arena_alloc(builder->arena, 1, sizeof *kept);
    if (!kept || entry->left || !wanted || !chosen ||
        prose_judge(text, &nowhere, reader->scratch) == PROSE_PROGRAM)
        return;
    *kept = *entry;
    const char *place = entry->unfinished      ? entry->unfinished
                        : entry->localizations ? entry->localizations
                                               : entry->inside;
    spans_add(spans, builder, place, entry->unfinished ? entry->after : place, kept);
    const struct bytes forms[] = {text, entry->one};
    for (size_t i = 0; i < SPAN_TEXTS && forms[i].start; i++) {
        size_t own = builder->markup.piece_count;
        lines_add(builder, forms[i], lines_label, &marking);
        spans_end_text(spans, builder, own);
        if (!builder->failed)
            spans->all[spans->count - 1].texts[i].plain = true;
    }
}

/* Returns the number of directives that take the next argument, which may have changed places. */
static size_t count_in_order(struct bytes source) {
    struct directive_scan scan = {
        .text = source.start, .length = source.length, .notations = NOTATION_PERCENT};
    size_t in_order = 0;
    for (struct span found; directive_next(&scan, &found);)
        in_order += directive_takes_next(
            NOTATION_PERCENT, (struct bytes){source.start + found.begin, found.end - found.begin});
    return in_order;
}

/* Puts a translation with its state. */
static void put_unit(struct bytes_buffer *out, struct bytes source, const struct span_written *text,
                     bool copied) {
    bool sound = text->sound && !copied && count_in_order(source) < 2;
    bytes_put_string(out, "{\"stringUnit\" : {\"state\" : \"");
    bytes_put_string(out, sound ? "translated" : "needs_review");
    bytes_put_string(out, "\", \"value\" : \"");
    bytes_put(out, text->text.start, text->text.length);
    bytes_put_string(out, "\"}}");
}

/* Puts the forms that the language has. Those that the source lacks have the text of `other`. */
static void put_forms(struct bytes_buffer *out, const struct entry *entry, const char *language,
                      const struct span_written *texts) {
    unsigned categories = plurals_of(language, false);
    bool first = true;
    bytes_put_string(out, "{\"variations\" : {\"plural\" : {");
    for (size_t i = 0; i < PLURAL_CATEGORIES; i++) {
        bool one = i == PLURAL_ONE;
        if (!(categories & 1U << i))
            continue;
        bytes_put_string(out, first ? "\"" : ", \"");
        bytes_put_string(out, plurals_name(i));
        bytes_put_string(out, "\" : ");
        put_unit(out, one ? entry->one : entry->text, &texts[one], !one && i != PLURAL_OTHER);
        first = false;
    }
    bytes_put_string(out, "}}}");
}

/* A span_put: puts the target's object, or a member with it. */
static void put_entry(struct span_writer *writer, const struct document_span *span,
                      const struct span_written *text) {
    const struct entry *entry = span->about;
    struct bytes_buffer *out = &writer->out;
    const char *next = span->end, *end = writer->document->source + writer->document->length;
    if (!text->translated)
        return;
    span_keep(writer, span->begin);
    if (!entry->localizations)
        bytes_put_string(out, "\"localizations\" : {");
    if (!entry->unfinished) {
        bytes_put_string(out, "\"");
        bytes_put_string(out, writer->document->language);
        bytes_put_string(out, "\" : ");
    }
    if (span->count > 1)
        put_forms(out, entry, writer->document->language, text);
    else
        put_unit(out, entry->text.start ? entry->text : entry->key, text, false);
    bytes_put_string(out, entry->localizations ? "" : "}");
    while (next < end && strchr(" \t\r\n", *next))
        next++;
    if (!entry->unfinished && next < end && *next != '}')
        bytes_put_string(out, ",");
    span_skip(writer, span->end);
}

/* ---- plural forms ---- */

/* Ends the forms of a text. */
static void end_plurals(struct plurals *plurals) {
    bool several = (plurals->present & (plurals->present - 1)) != 0 &&
                   !(plurals->mixed && plurals->stem.length == 0);
    if (plurals->other && several)
        plurals->other->present = plurals->present;
    else if (plurals->other)
        plurals->other->name.start = NULL;
    *plurals = (struct plurals){.mixed = plurals->mixed};
}

/* Notes a member's name, raw. */
static void note_member(struct json_reader *reader, struct bytes raw) {
    static const char ordinal[] = "_ordinal_";
    struct plurals *plurals = &reader->levels[reader->depth - 1].plurals;
    const char *end = raw.start + raw.length, *line = memrchr(raw.start, '_', raw.length);
    struct bytes stem = line ? bytes_between(raw.start, line + 1) : nothing;
    struct bytes name = bytes_between(raw.start + stem.length, end);
    size_t category = plurals_category(name), length = strlen(ordinal);
    bool ordinals =
        stem.length >= length && memcmp(stem.start + stem.length - length, ordinal, length) == 0;
    plurals->mixed |= category == PLURAL_CATEGORIES || stem.length > 0;
    if (category == PLURAL_CATEGORIES || ordinals || !bytes_same(stem, plurals->stem))
        end_plurals(plurals);
    if (category == PLURAL_CATEGORIES || ordinals || reader->catalog)
        return;
    plurals->stem = stem;
    plurals->present |= 1U << category;
    if (category != PLURAL_OTHER || plurals->other)
        return;
    plurals->other = spans_begin_plural(reader->spans, &reader->builder, reader->separated);
    if (plurals->other) {
        plurals->other->name = name;
        plurals->other->separator = ",";
    }
}

/* Ends the branch of the member that has ended at reader->at. */
static void end_member(struct json_reader *reader) {
    struct level *level = &reader->levels[reader->depth - 1];
    struct plural_branch *other = level->plurals.other;
    if (level->open == '{' && other && !other->end)
        spans_end_plural(reader->spans, &reader->builder, other, reader->at);
}

/* ---- values ---- */

static size_t skip_digits(struct json_reader *reader) {
    const char *begin = reader->at;
    while (reader->at < reader->end && isdigit((unsigned char)*reader->at))
        reader->at++;
    return (size_t)(reader->at - begin);
}

/* Moves the globs one level down, to a value of this name. */
static void enter(struct json_reader *reader, const char *name, size_t length) {
    if (reader->places)
        key_globs_step(reader->document->keys, &reader->places[reader->depth - 1], name, length,
                       &reader->places[reader->depth]);
}

static int read_value(struct json_reader *reader, enum expected *expected) {
    static const char *const words[] = {"true", "false", "null"};
    const char *begin = reader->at, *end = reader->end;
    char first = *begin;
    struct level *level = reader->depth > 0 ? &reader->levels[reader->depth - 1] : NULL;
    if (level && level->open == '[') {
        char number[24];
        enter(reader, number, (size_t)snprintf(number, sizeof number, "%zu", level->index++));
    }
    if (first == '{' || first == '[') {
        if (reader->depth == MOST_DEPTH)
            return refuse(reader, begin, "objects and arrays nest deeper than 512");
        struct bytes name = level ? level->name : (struct bytes){"", 0};
        bool about = level && (level->about || says_about(level));
        if (level && first == '{')
            catalog_open(reader);
        reader->levels[reader->depth++] =
            (struct level){.open = first, .name = name, .about = about};
        reader->separated = ++reader->at;
        *expected = first == '{' ? NAME : ELEMENT;
        return 0;
    }
    *expected = reader->depth > 0 ? MORE : NOTHING;
    if (first == '"') {
        struct bytes raw;
        bool whole;
        if (read_string(reader, &raw, &whole) != 0)
            return -1;
        if (reader->catalog) {
            if (level && whole)
                catalog_value(reader, raw);
            return 0;
        }
        enum key_choice choice = reader->places ? key_globs_choose(reader->document->keys,
                                                                   &reader->places[reader->depth])
                                                : KEY_IN;
        if (whole && choice != KEY_LEFT_OUT)
            add_value(reader, raw, choice);
        return 0;
    }
    if (first == '-' || isdigit((unsigned char)first)) {
        reader->at += first == '-';
        bool zero = reader->at < end && *reader->at == '0';
        size_t digits = skip_digits(reader), others = 1;
        if (reader->at < end && *reader->at == '.') {
            reader->at++;
            others = skip_digits(reader);
        }
        if (others > 0 && reader->at < end && (*reader->at == 'e' || *reader->at == 'E')) {
            reader->at++;
            reader->at += reader->at < end && (*reader->at == '+' || *reader->at == '-');
            others = skip_digits(reader);
        }
        return digits == 0 || (zero && digits > 1) || others == 0
                   ? refuse(reader, begin, "invalid number")
                   : 0;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (bytes_begin(begin, end, words[i])) {
            reader->at += strlen(words[i]);
            if (level)
                catalog_value(reader, bytes_of(words[i]));
            return 0;
        }
    return refuse(reader, begin, "a value is expected here");
}

/* Reads the token that begins at a character that is not white space. *expected: the tokens allowed
 * here, then those allowed next. */
static int read_next(struct json_reader *reader, enum expected *expected) {
    bool object = reader->depth > 0 && reader->levels[reader->depth - 1].open == '{';
    bool may_end = *expected == MORE || *expected == NAME || *expected == ELEMENT;
    if (may_end && *reader->at == (object ? '}' : ']')) {
        if (object) {
            catalog_close(reader);
            end_plurals(&reader->levels[reader->depth - 1].plurals);
        }
        reader->at++;
        reader->depth--;
        *expected = reader->depth > 0 ? MORE : NOTHING;
        return 0;
    }
    struct bytes raw;
    bool whole;
    switch (*expected) {
    case VALUE:
    case ELEMENT:
        return read_value(reader, expected);
    case NAME:
        *expected = COLON;
        if (*reader->at != '"')
            return refuse(reader, reader->at, "the name of a member is expected here");
        if (read_string(reader, &raw, &whole) != 0)
            return -1;
        note_member(reader, raw);
        raw = whole ? decode(&reader->decoded, raw).text : raw;
        reader->levels[reader->depth - 1].name = raw;
        reader->levels[reader->depth - 1].message |= bytes_are(raw, "message");
        enter(reader, raw.start, raw.length);
        return 0;
    case COLON:
        if (*reader->at++ != ':')
            return refuse(reader, reader->at - 1, "a colon is expected here");
        *expected = VALUE;
        return 0;
    case MORE:
        if (*reader->at++ != ',')
            return refuse(reader, reader->at - 1,
                          object ? "a comma or } is expected here"
                                 : "a comma or ] is expected here");
        reader->separated = reader->at;
        *expected = object ? NAME : ELEMENT;
        return 0;
    default:
        return refuse(reader, reader->at, "unexpected text after the value");
    }
}

/* Skips white space and comments. */
static int skip_space(struct json_reader *reader) {
    const char *end = reader->end;
    while (reader->at < end) {
        const char *at = reader->at, *after = at + 1;
        bool line = bytes_begin(at, end, "//"), comment = bytes_begin(at, end, "/*");
        if (line)
            after = memchr(at, '\n', (size_t)(end - at));
        else if (comment)
            after = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
        else if (!strchr(" \t\r\n", *at))
            return 0;
        if (comment && !after)
            return refuse(reader, at, "unterminated comment");
        reader->at = !after ? end : comment ? after + 2 : after;
    }
    return 0;
}

/* Puts the translation of a message, or keeps the source if the translation does not have what the
 * source has. If one string of a file has branches, others are messages, too, in which apostrophes
 * may quote. */
static void put_string(struct span_writer *writer, const struct document_span *span,
                       const struct span_written *text) {
    const struct bytes *source = span->about;
    const bool *messages = writer->about;
    struct arena *arena = writer->out.arena;
    struct bytes written = span->count > 0 ? text->text : nothing;
    struct bytes_buffer settled = {.arena = arena};
    if (span->count == 0) { /* the locale has '_' */
        span_keep(writer, span->begin);
        for (const char *c = writer->document->language; *c; c++)
            bytes_put(&writer->out, *c == '-' ? "_" : c, 1);
        span_skip(writer, span->end);
        return;
    }
    if (!text->translated || (text->sound && text->unchanged))
        return;
    if (!text->sound) {
        document_note(
            writer->document, span->begin, "untranslated",
            span->texts[0].plain
                ? "the translation of the message has different arguments, so the message is "
                  "unchanged"
                : "the translation lacks something that the text has, so the text is unchanged");
        return;
    }
    if (*messages && !span->texts[0].plain && memchr(source->start, '{', source->length)) {
        char *room = arena_alloc(arena, written.length + 1, 1);
        struct bytes translated = room ? decode(&room, written).text : nothing, out = translated;
        struct icu_source message;
        if (room && icu_source_open(*source, arena, &message, NULL) == 0 &&
            icu_source_settle(&message, translated, arena, &out) && out.start != translated.start) {
            bytes_put(&settled, "", 0);
            json_escape(&settled, out.start, out.length);
            written = (struct bytes){settled.bytes, settled.length};
        }
        writer->out.failed |= settled.failed || arena_failed(arena);
    }
    span_keep(writer, span->begin);
    bytes_put(&writer->out, written.start, written.length);
    span_skip(writer, span->end);
}

int json_document_read(const struct document *document, struct arena *arena, struct markup *out,
                       struct error *err) {
    const char *source = document->source, *end = source + document->length;
    struct json_reader *reader = arena_zalloc(arena, 1, sizeof *reader);
    struct document_spans *spans = arena_zalloc(arena, 1, sizeof *spans);
    bool *messages = arena_zalloc(arena, 1, sizeof *messages),
         lines = strcmp(document->format->name, "jsonl") == 0;
    char *decoded = arena_alloc(arena, document->length + 1, 1),
         *scratch = arena_alloc(arena, document->length + 1, 1);
    struct key_state *places =
        document->keys ? arena_alloc(arena, MOST_DEPTH + 1, sizeof *places) : NULL;
    if (arena_failed(arena))
        return error_memory(err);
    *reader = (struct json_reader){.builder = document_builder(document, arena),
                                   .spans = spans,
                                   .messages = messages,
                                   .document = document,
                                   .begin = source,
                                   .at = source,
                                   .end = end,
                                   .done = source,
                                   .decoded = decoded,
                                   .scratch = scratch,
                                   .places = places,
                                   .catalog = strcmp(document->format->name, "xcstrings") == 0,
                                   .err = err};
    if (places)
        key_globs_begin(document->keys, &places[0]);
    spans->about = messages;
    spans->put = reader->catalog ? put_entry : put_string;
    for (enum expected expected = VALUE;;) {
        if (skip_space(reader) != 0)
            return -1;
        if (reader->at == end && expected != NOTHING && !(lines && reader->depth == 0))
            return refuse(reader, end, "unexpected end of the document");
        if (reader->at == end)
            break;
        if (lines && expected == NOTHING)
            expected = VALUE;
        if (read_next(reader, &expected) != 0)
            return -1;
        if (expected == MORE)
            end_member(reader);
    }
    return spans_build(spans, &reader->builder, json_escape, out, err);
}
