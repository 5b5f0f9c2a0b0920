#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* in C, arena_mark is the name of a struct and of a function */
extern "C" {
#include "server/document/icu_message.h"
#include "model/base/reserve.h"
}
#pragma GCC diagnostic pop
#include <climits>
#include <cstdint>
#include <cstring>
#include <unicode/messagepattern.h>

/* ICU reads what is nested by recursion. */
static const size_t most_depth = 32, most_bytes = 1 << 16;

static const char *skip_blank(const char *at, const char *end) {
    while (at < end && strchr(" \t\r\n", *at))
        at++;
    return at;
}

/* An argument's name, a comma, and one of the kinds that have branches. */
static bool has_branches(const char *at, const char *end) {
    static const char *const kinds[] = {"plural", "selectordinal", "select", "choice"};
    const char *name = skip_blank(at, end);
    for (at = name; at < end && !strchr(" \t\r\n,{}'", *at);)
        at++;
    const char *comma = skip_blank(at, end);
    if (at == name || comma == end || *comma != ',')
        return false;
    at = skip_blank(comma + 1, end);
    for (const char *kind : kinds) {
        size_t length = strlen(kind);
        if (static_cast<size_t>(end - at) < length || memcmp(at, kind, length) != 0)
            continue;
        const char *behind = skip_blank(at + length, end);
        if (behind < end && *behind == ',')
            return true;
    }
    return false;
}

bool icu_message_is(const char *text, size_t length) {
    const char *end = text + length;
    for (const char *at = text; (at = static_cast<const char *>(memchr(at, '{', static_cast<size_t>(end - at)))) != nullptr; at++)
        if (has_branches(at + 1, end))
            return true;
    return false;
}

/* ---- parts ---- */

struct reader {
    const char *text;
    size_t length, byte;
    int32_t unit; /* of UTF-16, that stands at `byte` */
    struct arena *arena;
    struct icu_message *out;
    size_t room, done; /* bytes that are in parts */
    bool failed;
};

/* Units only grow. */
static size_t byte_of(struct reader *reader, int32_t unit) {
    while (reader->unit < unit && reader->byte < reader->length) {
        unsigned char lead = static_cast<unsigned char>(reader->text[reader->byte]);
        reader->unit += lead >= 0xf0 ? 2 : 1;
        reader->byte += lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    }
    return reader->byte;
}

/* Up to there, if anything is. */
static void add(struct reader *reader, enum icu_kind kind, size_t end, bool one) {
    struct icu_message *out = reader->out;
    if (end <= reader->done || reader->failed)
        return;
    void *parts = arena_grow(reader->arena, out->parts, out->count, &reader->room, 1, sizeof *out->parts);
    if (!parts) {
        reader->failed = true;
        return;
    }
    out->parts = static_cast<struct icu_part *>(parts);
    out->parts[out->count++] = {reader->done, end, kind, one};
    reader->done = end;
}

static void add_parts(struct reader *reader, const icu::MessagePattern &pattern) {
    bool one[most_depth + 2] = {false}; /* the branch in hand at each depth */
    size_t depth = 0;
    for (int32_t i = 0; i < pattern.countParts() && !reader->failed; i++) {
        const icu::MessagePattern::Part &part = pattern.getPart(i);
        size_t begin = byte_of(reader, part.getIndex()), end = byte_of(reader, part.getLimit());
        switch (part.getType()) {
        case UMSGPAT_PART_TYPE_ARG_SELECTOR:
            one[depth] = end - begin >= 2 && (memcmp(reader->text + begin, "=1", 2) == 0 ||
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
            if (part.getArgType() == UMSGPAT_ARG_TYPE_NONE || part.getArgType() == UMSGPAT_ARG_TYPE_SIMPLE) {
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

static bool has_braces(const char *text, const struct icu_part &part) {
    for (size_t i = part.begin; i < part.end; i++)
        if (strchr("{}#|", text[i]))
            return true;
    return false;
}

/* Text with braces stands in apostrophes, and is like an argument together with these. */
static void join_literals(const char *text, struct icu_message *out) {
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++) {
        struct icu_part part = out->parts[i];
        if (part.kind == ICU_TEXT && i > 0 && i + 1 < out->count && kept > 0 && out->parts[kept - 1].kind == ICU_QUOTE &&
            out->parts[i + 1].kind == ICU_QUOTE && has_braces(text, part)) {
            part = {out->parts[--kept].begin, out->parts[i + 1].end, ICU_ARGUMENT, false};
            i++;
        }
        out->parts[kept++] = part;
    }
    out->count = kept;
}

int icu_message_read(const char *text, size_t length, struct arena *arena, struct icu_message *out, struct error *err) {
    size_t depth = 0, deepest = 0;
    for (size_t i = 0; i < length; i++) {
        depth += text[i] == '{';
        depth -= text[i] == '}' && depth > 0;
        deepest = depth > deepest ? depth : deepest;
    }
    if (deepest > most_depth || length > most_bytes)
        return error_set(err, ERROR_INPUT, "the message is too long, or its braces nest deeper than %d",
                         static_cast<int>(most_depth));
    if (reserve_fill(err) != 0)
        return -1;
    UErrorCode status = U_ZERO_ERROR;
    UParseError where = {};
    icu::UnicodeString units = icu::UnicodeString::fromUTF8(icu::StringPiece(text, static_cast<int32_t>(length)));
    icu::MessagePattern pattern(UMSGPAT_APOS_DOUBLE_OPTIONAL, status);
    pattern.parse(units, &where, status);
    if (status == U_MEMORY_ALLOCATION_ERROR || units.isBogus())
        return error_memory(err);
    if (U_FAILURE(status))
        return error_set(err, ERROR_INPUT, "the message cannot be read from character %d on", where.offset + 1);
    *out = {nullptr, 0};
    struct reader reader = {text, length, 0, 0, arena, out, 0, 0, false};
    add_parts(&reader, pattern);
    if (reader.failed)
        return error_memory(err);
    join_literals(text, out);
    return 0;
}

/* ---- comparison ---- */

/* Of the arguments of one branch, in any order. */
static uint64_t hash(const char *text, const struct icu_part &part) {
    uint64_t value = 1469598103934665603u + part.kind;
    for (size_t i = part.begin; i < part.end; i++)
        value = (value ^ static_cast<unsigned char>(text[i])) * 1099511628211u;
    return value;
}

/* The next syntax, at or behind *at, which is moved behind it; NULL: there is none. *sum: of the arguments before it. */
static const struct icu_part *next_branch(const char *text, const struct icu_message *message, size_t *at, uint64_t *sum) {
    for (*sum = 0; *at < message->count;) {
        const struct icu_part *part = &message->parts[(*at)++];
        if (part->kind == ICU_SYNTAX)
            return part;
        if (part->kind == ICU_ARGUMENT || part->kind == ICU_NUMBER)
            *sum += hash(text, *part);
    }
    return nullptr;
}

bool icu_message_same(const char *source, const struct icu_message *from, const char *translation, const struct icu_message *to) {
    size_t at = 0, other = 0;
    for (;;) {
        uint64_t sum, other_sum;
        const struct icu_part *part = next_branch(source, from, &at, &sum), *its = next_branch(translation, to, &other, &other_sum);
        if (sum != other_sum || !part != !its)
            return false;
        if (!part)
            return true;
        if (part->end - part->begin != its->end - its->begin ||
            memcmp(source + part->begin, translation + its->begin, part->end - part->begin) != 0)
            return false;
    }
}
