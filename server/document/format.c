#include "server/document/format.h"
#include "model/text/character.h"
#include <string.h>
#include <strings.h>

/* All that there is to HTML is server/html's. */
static int html_read_document(const struct document *document, struct arena *arena, struct html *out, struct error *err) {
    return html_parse(document->source, document->length, arena, out, err);
}

const struct document_format format_html = {.name = "html",
                                            .extensions = "html htm xhtml",
                                            .media_types = "text/html application/xhtml+xml",
                                            .content_type = "text/html; charset=utf-8",
                                            .bilingual = true,
                                            .below = markup_below,
                                            .read = html_read_document};

bool bytes_are_language(struct html_bytes code, const char *language) {
    size_t length = strcspn(language, "-_@");
    return code.length >= length && strncasecmp(code.start, language, length) == 0 &&
           (code.length == length || strchr("-_@", code.start[length]));
}

bool line_next(struct line *line, const char *end) {
    const char *begin = line->next, *at = begin;
    if (begin == end)
        return false;
    while (at < end && *at != '\n' && *at != '\r')
        at++;
    const char *next = at < end ? at + 1 : end;
    if (at < end && *at == '\r' && next < end && *next == '\n')
        next++;
    *line = (struct line){begin, at, next, line->number + 1};
    return true;
}

struct html_bytes line_trimmed(const struct line *line) {
    const char *begin = line->begin, *end = line->end;
    while (begin < end && strchr(" \t\f\v", *begin))
        begin++;
    while (end > begin && strchr(" \t\f\v", end[-1]))
        end--;
    return bytes_between(begin, end);
}

static bool is_one_of(int32_t character, const int32_t *all, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (all[i] == character)
            return true;
    return false;
}

bool text_ends_sentence(const char *text, size_t length) {
    static const int32_t ends[] = {'.', '!', '?', ':', 0x2026, 0x3002, 0xff01, 0xff1f, 0x203d, 0x61f, 0x6d4, 0x964, 0x266a, 0x266b};
    static const int32_t closing[] = {'"', '\'', ')', ']', '*', '_', 0xbb, 0x201d, 0x2019, 0x300d};
    while (length > 0) {
        int32_t character = character_previous(text, &length);
        if (is_one_of(character, ends, sizeof ends / sizeof *ends))
            return true;
        if (!character_is_space(character) && !is_one_of(character, closing, sizeof closing / sizeof *closing))
            return false;
    }
    return true;
}

size_t text_bullet(const char *text, size_t length) {
    static const int32_t bullets[] = {'-', '*', '+', 0x2010, 0x2013, 0x2014, 0x2022, 0xb7};
    size_t at = 0;
    if (length == 0 || !is_one_of(character_next(text, length, &at), bullets, sizeof bullets / sizeof *bullets))
        return 0;
    size_t behind = at;
    while (behind < length && (text[behind] == ' ' || text[behind] == '\t'))
        behind++;
    return behind > at && behind < length ? behind : 0;
}

bool text_goes_on(const char *text, size_t length) {
    size_t at = 0;
    int32_t first = length > 0 ? character_next(text, length, &at) : ' ';
    bool is_letter = !character_is_space(first) && !character_is_punctuation(first) && !(first >= '0' && first <= '9');
    return is_letter && character_lower(first) == first && !character_is_wide(first);
}

void text_escape_markup(struct html_buffer *out, const char *text, size_t length) {
    html_put_escaped(out, text, length, "&<>");
}
