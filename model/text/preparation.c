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

/* NULL: it stays. */
static const char *replacement_of(int32_t character, int32_t kept) {
    if (character == '\n' || character == kept)
        return NULL;
    for (size_t i = 0; i < REPLACEMENTS; i++)
        if (replacements[i].character == character)
            return replacements[i].written;
    return character_is_other(character) ? " " : NULL;
}

/* The prepared text as it is made; end: of the last character that is visible, where it was. */
struct making {
    char *text;
    size_t *origins, length, end;
};

/* A space at the beginning, or behind another, is none. */
static void write_byte(struct making *making, char byte, size_t origin, size_t end) {
    if (byte == ' ' && (making->length == 0 || making->text[making->length - 1] == ' '))
        return;
    making->text[making->length] = byte;
    making->origins[making->length++] = origin;
    making->end = byte == ' ' ? making->end : end;
}

/* The character text[begin, end). A space behind its mark stands for nothing of it. */
static void write_character(struct making *making, const char *text, size_t begin, size_t end, const char *replacement) {
    for (size_t at = begin; !replacement && at < end; at++)
        write_byte(making, text[at], at, end);
    for (size_t i = 0; replacement && replacement[i]; i++)
        write_byte(making, replacement[i], i > 0 && replacement[i] == ' ' ? end : begin, end);
}

static bool is_prepared(const char *text, size_t length, int32_t kept) {
    bool space = true, changes = false;
    for (size_t at = 0; at < length && !changes;) {
        int32_t character = character_next(text, length, &at);
        changes = replacement_of(character, kept) || (character == ' ' && space);
        space = character == ' ';
    }
    return !changes && !(space && length > 0);
}

int preparation_make(const char *text, size_t length, int32_t kept, struct arena *arena, struct prepared_text *out,
                     struct error *err) {
    if (is_prepared(text, length, kept)) {
        *out = (struct prepared_text){text, length, NULL};
        return 0;
    }
    struct making making = {.text = arena_alloc(arena, length + 1, 1),
                            .origins = arena_alloc(arena, length + 1, sizeof *making.origins)};
    if (arena_failed(arena))
        return error_memory(err);
    for (size_t at = 0, next = 0; at < length; at = next) {
        const char *replacement = replacement_of(character_next(text, length, &next), kept);
        write_character(&making, text, at, next, replacement);
    }
    making.length -= making.length > 0 && making.text[making.length - 1] == ' ';
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
