#include "model/text/preparation.h"
#include "model/text/character.h"
#include <stdbool.h>
#include <string.h>

/* Of one character at most so many bytes: no more than its own. */
enum { MOST_WRITTEN = 3 };

static const struct {
    int32_t character;
    char written[MOST_WRITTEN + 1];
} replacements[] = {
    {0x2019, "'"}, {0x201c, "\""}, {0x201d, "\""}, {0x2026, "..."}, {0x2236, ":"},  {0x2501, "-"},  {0x3001, ","}, {0x3002, ". "},
    {0x3008, "<"}, {0x3009, ">"},  {0x300a, "\""}, {0x300b, "\""},  {0x300c, "\""}, {0x300d, "\""}, {0x3010, "["}, {0x3011, "]"},
    {0xff01, "!"}, {0xff05, "%"},  {0xff08, "("},  {0xff09, ")"},   {0xff0c, ","},  {0xff0e, ". "}, {0xff10, "0"}, {0xff11, "\""},
    {0xff12, "2"}, {0xff13, "3"},  {0xff14, "4"},  {0xff15, "5"},   {0xff16, "6"},  {0xff17, "7"},  {0xff18, "8"}, {0xff19, "9"},
    {0xff1a, ":"}, {0xff1b, ";"},  {0xff1f, "?"},  {0xff5e, "~"},
};
enum { REPLACEMENTS = sizeof replacements / sizeof *replacements };

/* In ascending order. A plain spelling is no longer than the mark. */
static const struct {
    int32_t character;
    char written[MOST_WRITTEN + 1];
} marks[] = {
    {0xab, "\""},  {0xad, ""},    {0xbb, "\""},   {0x200b, ""},   {0x200c, ""},   {0x200d, ""},   {0x200e, ""},    {0x200f, ""},
    {0x2010, "-"}, {0x2011, "-"}, {0x2012, "-"},  {0x2013, "-"},  {0x2014, "-"},  {0x2015, "-"},  {0x2018, "\""},  {0x2019, "'"},
    {0x201a, "'"}, {0x201b, "'"}, {0x201c, "\""}, {0x201d, "\""}, {0x201e, "\""}, {0x201f, "\""}, {0x2026, "..."}, {0x202a, ""},
    {0x202b, ""},  {0x202c, ""},  {0x202d, ""},   {0x202e, ""},   {0x2039, "'"},  {0x203a, "'"},  {0x2060, ""},    {0x2066, ""},
    {0x2067, ""},  {0x2068, ""},  {0x2069, ""},   {0x2212, "-"},  {0xfeff, ""},
};
_Static_assert(sizeof marks / sizeof *marks == PREPARATION_MARKS, "each mark has its place in struct respelling");

int32_t preparation_mark(size_t i) {
    return i < PREPARATION_MARKS ? marks[i].character : -1;
}

/* NULL: it stays. */
static const char *respelled(const struct respelling *respelling, int32_t character) {
    for (size_t i = 0; i < PREPARATION_MARKS && marks[i].character <= character; i++)
        if (marks[i].character == character && respelling->marks[i])
            return marks[i].written;
    return NULL;
}

/* NULL: it stays. */
static const char *replacement_of(const struct preparation *preparation, int32_t character) {
    if (character == '\n' || character == preparation->kept)
        return NULL;
    if (preparation->respelling && character >= 0x80) {
        const char *written = respelled(preparation->respelling, character);
        if (written)
            return written;
    }
    for (size_t i = 0; preparation->opus && i < REPLACEMENTS; i++)
        if (replacements[i].character == character)
            return replacements[i].written;
    return preparation->opus && character_is_other(character) ? " " : NULL;
}

/* The prepared text as it is made; end: of the last character that is visible, where it was. */
struct making {
    bool opus; /* spaces are taken together */
    char *text;
    size_t *origins, length, end;
};

/* For OPUS-MT a space at the beginning, or after another, is none. */
static void write_byte(struct making *making, char byte, size_t origin, size_t end) {
    if (making->opus && byte == ' ' && (making->length == 0 || making->text[making->length - 1] == ' '))
        return;
    making->text[making->length] = byte;
    making->origins[making->length++] = origin;
    making->end = byte == ' ' && making->opus ? making->end : end;
}

/* The character text[begin, end). A space behind its mark stands for nothing of it. */
static void write_character(struct making *making, const char *text, size_t begin, size_t end, const char *replacement) {
    for (size_t at = begin; !replacement && at < end; at++)
        write_byte(making, text[at], at, end);
    for (size_t i = 0; replacement && replacement[i]; i++)
        write_byte(making, replacement[i], i > 0 && replacement[i] == ' ' ? end : begin, end);
}

static bool is_prepared(const struct preparation *preparation, const char *text, size_t length) {
    bool space = true, changes = false;
    for (size_t at = 0; at < length && !changes;) {
        int32_t character = character_next(text, length, &at);
        changes = replacement_of(preparation, character) || (preparation->opus && character == ' ' && space);
        space = character == ' ';
    }
    return !changes && !(preparation->opus && space && length > 0);
}

/* U+2018 opens a quotation and is read as a double mark, of which a model has seen more than of the single one; U+2019 that ends it
 * must be the same, but one before a letter is an apostrophe. */
static bool closes_quotation(const struct preparation *preparation, int32_t character, const char *text, size_t length, size_t next,
                             bool *quoted) {
    enum { OPENING = 0x2018, CLOSING = 0x2019 };
    if (character == OPENING)
        *quoted = preparation->respelling && respelled(preparation->respelling, OPENING);
    if (character != CLOSING || !*quoted || (next < length && character_is_spaced(character_next(text, length, &next))))
        return false;
    *quoted = false;
    return true;
}

int preparation_make(const struct preparation *preparation, const char *text, size_t length, struct arena *arena,
                     struct prepared_text *out, struct error *err) {
    if ((!preparation->opus && !preparation->respelling) || is_prepared(preparation, text, length)) {
        *out = (struct prepared_text){text, length, NULL};
        return 0;
    }
    struct making making = {.opus = preparation->opus,
                            .text = arena_alloc(arena, length + 1, 1),
                            .origins = arena_alloc(arena, length + 1, sizeof *making.origins)};
    if (arena_failed(arena))
        return error_memory(err);
    bool quoted = false;
    for (size_t at = 0, next = 0; at < length; at = next) {
        int32_t character = character_next(text, length, &next);
        const char *replacement = replacement_of(preparation, character);
        if (closes_quotation(preparation, character, text, length, next, &quoted))
            replacement = "\"";
        write_character(&making, text, at, next, replacement);
    }
    making.length -= making.opus && making.length > 0 && making.text[making.length - 1] == ' ';
    making.text[making.length] = '\0';
    making.origins[making.length] = making.end;
    *out = (struct prepared_text){making.text, making.length, making.origins};
    return 0;
}

void preparation_restore(const struct prepared_text *prepared, struct token *tokens, size_t count) {
    for (size_t i = 0; prepared->origins && i < count; i++) {
        tokens[i].begin = prepared->origins[tokens[i].begin];
        tokens[i].end = prepared->origins[tokens[i].end];
    }
}
