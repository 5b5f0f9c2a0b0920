/* This file reads messages in ICU's notation into parts, and moves whole sentences into their
 * branches. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored                                                                     \
    "-Wshadow" /* in C, arena_mark is the name of a struct and of a function */
extern "C" {
#include "server/documents/icu_message.h"
#include "model/base/arena.h"
#include "model/text/spans.h"
#include "server/documents/plurals.h"
}
#pragma GCC diagnostic pop
#include <climits>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <unicode/bytestream.h>
#include <unicode/messagepattern.h>
#include <unicode/uchar.h>

/* ICU reads nested messages recursively. */
static const size_t most_depth = 32, most_bytes = 1 << 16;

static const char *skip_blank(const char *at, const char *end) {
    while (at < end && strchr(" \t\r\n", *at))
        at++;
    return at;
}

/* Looks for an argument's name, a comma, and a kind that has branches. */
bool icu_message_is(const char *text, size_t length) {
    static const char *const kinds[] = {"plural", "selectordinal", "select", "choice"};
    const char *end = text + length;
    for (const char *open = text;
         (open = static_cast<const char *>(memchr(open, '{', static_cast<size_t>(end - open)))) !=
         nullptr;) {
        const char *name = skip_blank(++open, end), *at = name;
        while (at < end && !strchr(" \t\r\n,{}'", *at))
            at++;
        const char *comma = skip_blank(at, end);
        if (at == name || comma == end || *comma != ',')
            continue;
        at = skip_blank(comma + 1, end);
        for (const char *kind : kinds) {
            size_t bytes = strlen(kind);
            bool same = static_cast<size_t>(end - at) >= bytes && memcmp(at, kind, bytes) == 0;
            const char *rest = same ? skip_blank(at + bytes, end) : end;
            if (rest < end && *rest == ',')
                return true;
        }
    }
    return false;
}

/* ---- parts ---- */

struct reader {
    const char *text;
    size_t length, byte;
    int32_t unit; /* the UTF-16 unit that stands at `byte` */
    struct arena *arena;
    struct icu_message *out;
    size_t room, done; /* bytes before `done` are in parts */
    bool failed;
};

/* The byte of a UTF-16 unit; units only grow from call to call. */
static size_t byte_of(struct reader *reader, int32_t unit) {
    while (reader->unit < unit && reader->byte < reader->length) {
        unsigned char lead = static_cast<unsigned char>(reader->text[reader->byte]);
        reader->unit += lead >= 0xf0 ? 2 : 1;
        reader->byte += lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    }
    return reader->byte;
}

/* Adds a part that ends there, unless it is empty. */
static void add(struct reader *reader, enum icu_kind kind, size_t end, bool one) {
    struct icu_message *out = reader->out;
    if (end <= reader->done || reader->failed)
        return;
    void *parts =
        arena_grow(reader->arena, out->parts, out->count, &reader->room, 1, sizeof *out->parts);
    if (!parts) {
        reader->failed = true;
        return;
    }
    out->parts = static_cast<struct icu_part *>(parts);
    out->parts[out->count++] = {reader->done, end, kind, one};
    reader->done = end;
}

static void add_parts(struct reader *reader, const icu::MessagePattern &pattern) {
    bool one[most_depth + 2] = {false}; /* whether the branch at each depth is the form for one */
    size_t depth = 0;
    for (int32_t i = 0; i < pattern.countParts() && !reader->failed; i++) {
        const icu::MessagePattern::Part &part = pattern.getPart(i);
        size_t begin = byte_of(reader, part.getIndex()), end = byte_of(reader, part.getLimit());
        switch (part.getType()) {
        case UMSGPAT_PART_TYPE_ARG_SELECTOR:
            one[depth] = end - begin >= 2 &&
                         (memcmp(reader->text + begin, "=1", 2) == 0 ||
                          (end - begin == 3 && memcmp(reader->text + begin, "one", 3) == 0));
            break;
        case UMSGPAT_PART_TYPE_MSG_START:
            add(reader, ICU_SYNTAX, end, false);
            depth++;
            one[depth] = one[depth - 1];
            break;
        case UMSGPAT_PART_TYPE_MSG_LIMIT:
            add(reader, ICU_TEXT, begin, false);
            depth--;
            break;
        case UMSGPAT_PART_TYPE_SKIP_SYNTAX:
            add(reader, ICU_TEXT, begin, false);
            add(reader, ICU_QUOTE, end, false);
            break;
        case UMSGPAT_PART_TYPE_REPLACE_NUMBER:
            add(reader, ICU_TEXT, begin, false);
            add(reader, ICU_NUMBER, end, one[depth]);
            break;
        case UMSGPAT_PART_TYPE_ARG_START:
            add(reader, ICU_TEXT, begin, false);
            if (part.getArgType() == UMSGPAT_ARG_TYPE_NONE ||
                part.getArgType() == UMSGPAT_ARG_TYPE_SIMPLE) {
                i = pattern.getLimitPartIndex(i);
                add(reader, ICU_ARGUMENT, byte_of(reader, pattern.getPart(i).getLimit()), false);
            }
            break;
        case UMSGPAT_PART_TYPE_ARG_LIMIT:
            add(reader, ICU_SYNTAX, end, false);
            break;
        default:
            break;
        }
    }
    add(reader, ICU_TEXT, reader->length, false);
}

/* ---- whole sentences in branches ---- */

/* Bounds of what moving text into branches may produce. */
static const size_t most_leaves = 24, most_items = 256;

/* Text of a message, or an argument with branches. */
struct item {
    int32_t begin, end; /* units of UTF-16 */
    int32_t argument;   /* the part of the pattern where it begins; -1: text */
};

struct expansion {
    const icu::MessagePattern &pattern;
    const icu::UnicodeString &text;
    icu::UnicodeString out;
    size_t leaves;
    bool failed, changed;
};

struct items {
    struct item all[most_items];
    size_t count;
};

static void add_item(struct expansion *expansion, struct items *items, const struct item &item) {
    if (items->count == most_items)
        expansion->failed = true;
    else if (item.argument >= 0 || item.begin < item.end)
        items->all[items->count++] = item;
}

/* Adds the items of the message that begins at this part, without its braces. */
static void add_message(struct expansion *expansion, int32_t start, struct items *items) {
    const icu::MessagePattern &pattern = expansion->pattern;
    int32_t limit = pattern.getLimitPartIndex(start), done = pattern.getPart(start).getLimit();
    for (int32_t i = start + 1; i < limit; i++) {
        const icu::MessagePattern::Part &part = pattern.getPart(i);
        if (part.getType() != UMSGPAT_PART_TYPE_ARG_START)
            continue;
        int32_t begin = i;
        i = pattern.getLimitPartIndex(i);
        if (part.getArgType() == UMSGPAT_ARG_TYPE_NONE ||
            part.getArgType() == UMSGPAT_ARG_TYPE_SIMPLE)
            continue;
        add_item(expansion, items, {done, part.getIndex(), -1});
        done = pattern.getPart(i).getLimit();
        add_item(expansion, items, {part.getIndex(), done, begin});
    }
    add_item(expansion, items, {done, pattern.getPatternIndex(limit), -1});
}

/* True if text outside of simple arguments has letters. */
static bool has_letters(const icu::UnicodeString &text, const struct item &item) {
    int32_t depth = 0;
    for (int32_t i = item.begin; i < item.end; i = text.moveIndex32(i, 1)) {
        UChar32 c = text.char32At(i);
        depth += c == '{';
        depth -= c == '}' && depth > 0;
        if (depth == 0 && u_isalpha(c))
            return true;
    }
    return false;
}

/* Returns the last, or the first, place outside of simple arguments where a sentence ends and
 * another may begin: after a mark that ends it, or at the end of a line; -1 if there is none. */
static int32_t find_boundary(const icu::UnicodeString &text, const struct item &item, bool last) {
    int32_t depth = 0, found = -1;
    for (int32_t i = item.begin; i < item.end && (last || found < 0); i++) {
        char16_t c = text.charAt(i), before = i > item.begin ? text.charAt(i - 1) : u' ';
        bool mark = before == u'.' || before == u'!' || before == u'?' || (last && before == u':');
        depth += c == u'{';
        depth -= c == u'}' && depth > 0;
        if (depth == 0 && (c == u'\n' || (mark && u_isWhitespace(c))))
            found = i;
    }
    bool ends = !last && found < 0 && item.end > item.begin &&
                u_isWhitespace(text.charAt(item.end - 1)) == 0 &&
                memchr(".!?", text.charAt(item.end - 1) < 128 ? text.charAt(item.end - 1) : 0, 3);
    return ends ? item.end : found;
}

static void put(struct expansion *expansion, int32_t begin, int32_t end) {
    expansion->out.append(expansion->text, begin, end - begin);
    expansion->failed |= expansion->out.length() > static_cast<int32_t>(most_bytes) / 4;
}

static void put_message(struct expansion *expansion, const struct items *items, size_t depth);

/* Writes the branches of an argument with the same text before and after each of them. */
static void put_branches(struct expansion *expansion, const struct items *items, size_t which,
                         size_t depth) {
    const icu::MessagePattern &pattern = expansion->pattern;
    int32_t start = items->all[which].argument, limit = pattern.getLimitPartIndex(start),
            done = items->all[which].begin;
    std::unique_ptr<struct items> own(new (std::nothrow) struct items);
    if (!own || depth >= most_depth) {
        expansion->failed = true;
        return;
    }
    for (int32_t i = start + 1; i < limit && !expansion->failed; i++) {
        if (pattern.getPartType(i) != UMSGPAT_PART_TYPE_MSG_START)
            continue;
        put(expansion, done, pattern.getPart(i).getLimit());
        own->count = 0;
        for (size_t k = 0; k < which; k++)
            add_item(expansion, own.get(), items->all[k]);
        add_message(expansion, i, own.get());
        for (size_t k = which + 1; k < items->count; k++)
            add_item(expansion, own.get(), items->all[k]);
        put_message(expansion, own.get(), depth + 1);
        i = pattern.getLimitPartIndex(i);
        done = pattern.getPatternIndex(i);
    }
    put(expansion, done, items->all[which].end);
}

/* True if the other items mean the same in any branch: a # would not. */
static bool can_move(const struct expansion *expansion, const struct items *items, size_t but) {
    for (size_t k = 0; k < items->count; k++)
        for (int32_t i = items->all[k].begin;
             k != but && items->all[k].argument < 0 && i < items->all[k].end; i++)
            if (expansion->text.charAt(i) == u'#')
                return false;
    return expansion->pattern.getPart(items->all[but].argument).getArgType() !=
           UMSGPAT_ARG_TYPE_CHOICE;
}

/* Writes a message sentence by sentence. A sentence with words beside its branches becomes branches
 * with whole sentences. */
static void put_message(struct expansion *expansion, const struct items *items, size_t depth) {
    size_t first = 0;
    while (first < items->count && items->all[first].argument < 0)
        first++;
    if (first == items->count) {
        for (size_t k = 0; k < items->count; k++)
            put(expansion, items->all[k].begin, items->all[k].end);
        expansion->failed |= ++expansion->leaves > most_leaves;
        return;
    }
    std::unique_ptr<struct items> sentence(new (std::nothrow) struct items),
        rest(new (std::nothrow) struct items);
    if (!sentence || !rest) {
        expansion->failed = true;
        return;
    }

    /* Find the sentence of the first argument: where it begins, */
    sentence->count = rest->count = 0;
    size_t begin = first;
    int32_t from = -1;
    while (begin > 0 && from < 0)
        from = find_boundary(expansion->text, items->all[--begin], true);
    for (size_t k = 0; k < begin; k++)
        put(expansion, items->all[k].begin, items->all[k].end);
    while (from >= 0 && from < items->all[begin].end &&
           u_isWhitespace(expansion->text.charAt(from)))
        from++;
    if (from >= 0) {
        put(expansion, items->all[begin].begin, from);
        add_item(expansion, sentence.get(), {from, items->all[begin++].end, -1});
    }

    /* and where it ends; what follows is the rest. */
    bool over = false;
    for (size_t k = begin; k < items->count; k++) {
        const struct item &item = items->all[k];
        int32_t end = k > first && item.argument < 0 && !over
                          ? find_boundary(expansion->text, item, false)
                          : -1;
        if (end >= 0)
            add_item(expansion, sentence.get(), {item.begin, end, -1});
        add_item(expansion, (over || end >= 0 ? rest : sentence).get(),
                 {end >= 0 ? end : item.begin, item.end, item.argument});
        over |= end >= 0;
    }

    /* Write it: around its first argument if words stand beside that, else item by item. */
    size_t which = 0;
    bool words = false;
    for (size_t k = 0; k < sentence->count; k++)
        words |= sentence->all[k].argument < 0 && has_letters(expansion->text, sentence->all[k]);
    while (which < sentence->count && sentence->all[which].argument < 0)
        which++;
    if (words && can_move(expansion, sentence.get(), which)) {
        expansion->changed = true;
        put_branches(expansion, sentence.get(), which, depth);
    } else {
        for (size_t k = 0; k < sentence->count; k++) {
            struct items one = {{sentence->all[k]}, 1};
            if (sentence->all[k].argument < 0)
                put(expansion, sentence->all[k].begin, sentence->all[k].end);
            else
                put_branches(expansion, &one, 0, depth);
        }
    }
    if (rest->count > 0 && !expansion->failed)
        put_message(expansion, rest.get(), depth);
}

/* ---- reading ---- */

/* A parsed text. */
struct parsed {
    icu::UnicodeString units;
    icu::MessagePattern pattern;
};

static int parse(struct parsed *parsed, struct error *err) {
    UErrorCode status = U_ZERO_ERROR;
    UParseError where = {};
    parsed->pattern.parse(parsed->units, &where, status);
    if (status == U_MEMORY_ALLOCATION_ERROR || parsed->units.isBogus())
        return error_memory(err);
    if (U_FAILURE(status))
        return error_set(err, ERROR_INPUT, "the message cannot be read from character %d on",
                         where.offset + 1);
    return 0;
}

static int open_text(const char *text, size_t length, struct parsed *parsed, struct error *err) {
    size_t depth = 0, deepest = 0;
    for (size_t i = 0; i < length; i++) {
        depth += text[i] == '{';
        depth -= text[i] == '}' && depth > 0;
        deepest = depth > deepest ? depth : deepest;
    }
    if (deepest > most_depth || length > most_bytes)
        return error_set(err, ERROR_INPUT,
                         "the message is too long, or its braces nest deeper than %d",
                         static_cast<int>(most_depth));
    if (reserve_fill(err) != 0)
        return -1;
    parsed->units =
        icu::UnicodeString::fromUTF8(icu::StringPiece(text, static_cast<int32_t>(length)));
    return parse(parsed, err);
}

static bool is_name(const char *text, const struct icu_part &part) {
    size_t length = part.end - part.begin;
    return part.kind == ICU_TEXT && opaque_match("\\c+", text + part.begin, length) == length;
}

static bool is_quoted(const char *text, const struct icu_part &part) {
    return part.kind == ICU_ARGUMENT && text[part.begin] == '\'';
}

int icu_message_read(const char *text, size_t length, struct arena *arena, struct icu_message *out,
                     struct error *err) {
    UErrorCode status = U_ZERO_ERROR;
    struct parsed parsed = {icu::UnicodeString(),
                            icu::MessagePattern(UMSGPAT_APOS_DOUBLE_OPTIONAL, status)};
    if (open_text(text, length, &parsed, err) != 0)
        return -1;
    *out = {nullptr, 0};
    struct reader reader = {text, length, 0, 0, arena, out, 0, 0, false};
    add_parts(&reader, parsed.pattern);
    if (reader.failed)
        return error_memory(err);

    /* Quoted text with braces becomes an argument, together with the apostrophes around it, and so
     * does a name between two of them: '{'name'}'. */
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++) {
        struct icu_part part = out->parts[i];
        bool braces = false;
        for (size_t at = part.begin; at < part.end && part.kind == ICU_TEXT; at++)
            braces |= strchr("{}#|", text[at]) != nullptr;
        if (braces && i + 1 < out->count && kept > 0 && out->parts[kept - 1].kind == ICU_QUOTE &&
            out->parts[i + 1].kind == ICU_QUOTE) {
            part = {out->parts[--kept].begin, out->parts[i + 1].end, ICU_ARGUMENT, false};
            i++;
            if (kept > 1 && is_name(text, out->parts[kept - 1]) &&
                is_quoted(text, out->parts[kept - 2])) {
                kept -= 2;
                part.begin = out->parts[kept].begin;
            }
        }
        out->parts[kept++] = part;
    }
    out->count = kept;
    return 0;
}

/* Returns false if memory runs out. */
static bool to_bytes(const icu::UnicodeString &units, struct arena *arena, struct bytes *out) {
    size_t room = static_cast<size_t>(units.length()) * 3;
    char *bytes = static_cast<char *>(arena_alloc(arena, room + 1, 1));
    if (!bytes)
        return false;
    icu::CheckedArrayByteSink sink(bytes, static_cast<int32_t>(room));
    units.toUTF8(sink);
    *out = {bytes, static_cast<size_t>(sink.NumberOfBytesWritten())};
    return true;
}

int icu_message_expand(const char *text, size_t length, struct arena *arena, const char **expanded,
                       size_t *expanded_length, struct error *err) {
    UErrorCode status = U_ZERO_ERROR;
    struct parsed parsed = {icu::UnicodeString(),
                            icu::MessagePattern(UMSGPAT_APOS_DOUBLE_OPTIONAL, status)};
    *expanded = text;
    *expanded_length = length;
    if (open_text(text, length, &parsed, err) != 0)
        return -1;
    struct expansion expansion = {parsed.pattern, parsed.units, icu::UnicodeString(), 0,
                                  false,          false};
    std::unique_ptr<struct items> items(new (std::nothrow) struct items);
    if (!items)
        return 0;
    items->count = 0;
    add_message(&expansion, 0, items.get());
    put_message(&expansion, items.get(), 0);
    if (!expansion.changed || expansion.failed || expansion.out.isBogus())
        return 0;

    /* The result must be a message, too. */
    parsed.units = expansion.out;
    if (parse(&parsed, nullptr) != 0)
        return 0;
    struct bytes bytes;
    if (!to_bytes(parsed.units, arena, &bytes))
        return error_memory(err);
    *expanded = bytes.start;
    *expanded_length = bytes.length;
    return 0;
}

/* ---- categories ---- */

static size_t category_of(const icu::UnicodeString &units, const icu::MessagePattern::Part &part) {
    char name[8] = "";
    if (part.getLength() >= static_cast<int32_t>(sizeof name))
        return PLURAL_CATEGORIES;
    units.extract(part.getIndex(), part.getLength(), name, sizeof name,
                  icu::UnicodeString::kInvariant);
    return plurals_category({name, strlen(name)});
}

/* Completes the last argument that lacks categories of the language. Returns false if there is
 * none. */
static bool complete_one(struct parsed *parsed, const unsigned wanted[2]) {
    const icu::MessagePattern &pattern = parsed->pattern;
    for (int32_t start = pattern.countParts(); start-- > 0;) {
        const icu::MessagePattern::Part &part = pattern.getPart(start);
        if (part.getType() != UMSGPAT_PART_TYPE_ARG_START ||
            !UMSGPAT_ARG_TYPE_HAS_PLURAL_STYLE(part.getArgType()))
            continue;
        unsigned missing = wanted[part.getArgType() == UMSGPAT_ARG_TYPE_SELECTORDINAL], present = 0;
        int32_t limit = pattern.getLimitPartIndex(start), before = 0, begin = 0, name_end = 0,
                end = 0, last = part.getLimit();
        for (int32_t i = start + 1; i < limit; i++) {
            const icu::MessagePattern::Part &inner = pattern.getPart(i);
            if (inner.getType() == UMSGPAT_PART_TYPE_ARG_SELECTOR) {
                size_t category = category_of(parsed->units, inner);
                missing &= ~(1U << category);
                present |= 1U << category;
                if (category == PLURAL_OTHER) {
                    before = last;
                    begin = inner.getIndex();
                    name_end = inner.getLimit();
                }
            } else if (inner.getType() == UMSGPAT_PART_TYPE_MSG_START) {
                i = pattern.getLimitPartIndex(i);
                end = end == 0 && begin > 0 ? pattern.getPart(i).getLimit() : end;
            }
            last = pattern.getPart(i).getLimit();
        }
        bool several = (present & (1U << PLURAL_OTHER)) && (present & ((1U << PLURAL_OTHER) - 1));
        if (missing == 0 || !several || end == 0)
            continue;
        icu::UnicodeString more;
        for (size_t i = 0; i < PLURAL_OTHER; i++)
            if (missing & 1U << i) {
                more.append(
                    icu::UnicodeString(plurals_name(i), -1, icu::UnicodeString::kInvariant));
                more.append(parsed->units, name_end, end - name_end);
                more.append(parsed->units, before, begin - before);
            }
        parsed->units.insert(begin, more);
        return true;
    }
    return false;
}

void icu_message_complete(struct bytes text, const char *language, struct arena *arena,
                          struct bytes *completed) {
    UErrorCode status = U_ZERO_ERROR;
    struct parsed parsed = {icu::UnicodeString(),
                            icu::MessagePattern(UMSGPAT_APOS_DOUBLE_OPTIONAL, status)};
    const unsigned wanted[] = {plurals_of(language, false), plurals_of(language, true)};
    bool changed = false;
    *completed = text;
    if (open_text(text.start, text.length, &parsed, nullptr) != 0)
        return;
    for (size_t count = 0; count < most_leaves && complete_one(&parsed, wanted); count++) {
        changed = true;
        if (parsed.units.length() > static_cast<int32_t>(most_bytes) / 4 ||
            parse(&parsed, nullptr) != 0)
            return;
    }
    if (changed)
        to_bytes(parsed.units, arena, completed);
}

/* ---- comparison ---- */

/* Returns the next syntax at or after *at, and moves *at past it; NULL at the end. *sum: the hashes
 * of the arguments before it, added so that those of a branch may stand in any order. */
static const struct icu_part *next_branch(const char *text, const struct icu_message *message,
                                          size_t *at, uint64_t *sum) {
    for (*sum = 0; *at < message->count;) {
        const struct icu_part *part = &message->parts[(*at)++];
        uint64_t hash = 1469598103934665603u + part->kind;
        if (part->kind == ICU_SYNTAX)
            return part;
        if (part->kind != ICU_ARGUMENT && part->kind != ICU_NUMBER)
            continue;
        for (size_t i = part->begin; i < part->end; i++)
            hash = (hash ^ static_cast<unsigned char>(text[i])) * 1099511628211u;
        *sum += hash;
    }
    return nullptr;
}

bool icu_message_same(const char *source, const struct icu_message *from, const char *translation,
                      const struct icu_message *to) {
    size_t at = 0, other = 0;
    for (;;) {
        uint64_t sum, other_sum;
        const struct icu_part *part = next_branch(source, from, &at, &sum),
                              *its = next_branch(translation, to, &other, &other_sum);
        if (sum != other_sum || !part != !its)
            return false;
        if (!part)
            return true;
        if (part->end - part->begin != its->end - its->begin ||
            memcmp(source + part->begin, translation + its->begin, part->end - part->begin) != 0)
            return false;
    }
}
