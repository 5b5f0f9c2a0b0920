#include "server/documents/lines.h"
#include "model/base/utf8.h"
#include <string.h>

enum {
    MOST_LINES = 64, /* lines of one sentence */
    LEAST_OF_LIST = 3,
    WIDEST_OF_LIST = 40, /* characters; prose is not wrapped so narrowly */
};

bool lines_next(struct line *line, const char *end) {
    const char *begin = line->next, *at = begin;
    if (begin == end) {
        *line = (struct line){end, end, end, line->number};
        return false;
    }
    while (at < end && *at != '\n' && *at != '\r')
        at++;
    const char *next = at < end ? at + 1 : end;
    if (at < end && *at == '\r') {
        if (end - next > 1 && next[0] == '\r' && next[1] == '\n')
            next++;
        next += next < end && *next == '\n';
    }
    *line = (struct line){begin, at, next, line->number + 1};
    return true;
}

struct bytes lines_trimmed(const struct line *line) {
    const char *begin = line->begin, *end = line->end;
    while (begin < end && strchr(" \t\f\v", *begin))
        begin++;
    while (end > begin && strchr(" \t\f\v", end[-1]))
        end--;
    return bytes_between(begin, end);
}

bool lines_end_sentence(const char *text, size_t length) {
    static const wchar_t ends[] =
        L".!?:\u2026\u3002\uff01\uff1f\u203d\u061f\u06d4\u0964\u266a\u266b";
    static const wchar_t closing[] = L"\"')]*_\u00bb\u201d\u2019\u300d";
    while (length > 0) {
        int32_t character = character_previous(text, &length);
        if (character_is_among(character, ends))
            return true;
        if (!character_is_space(character) && !character_is_among(character, closing))
            return false;
    }
    return true;
}

size_t lines_label(const char *text, size_t length) {
    const struct layout_reading reading = {.text = text, .length = length};
    size_t label = layout_label(&reading, 0, length);
    return label < length ? label : 0;
}

/* ---- plain text ---- */

/* Lines up to an empty one. */
struct block {
    const char *end;
    bool list; /* of short lines without labels, none of which ends a sentence: none goes on in the
                  next */
};

/* Reads the block that begins with this line. */
static struct block block_of(struct line line, const char *end, text_lead *lead) {
    struct block block = {.list = true};
    size_t count = 0;
    do {
        struct bytes says = lines_trimmed(&line);
        block.end = line.next;
        if (says.length == 0)
            break;
        count++;
        block.list = block.list && utf8_count(says.start, says.length) <= WIDEST_OF_LIST &&
                     lead(says.start, says.length) == 0 &&
                     !lines_end_sentence(says.start, says.length);
    } while (lines_next(&line, end));
    block.list = block.list && count >= LEAST_OF_LIST;
    return block;
}

void lines_add(struct piece_builder *builder, struct bytes text, text_lead *lead,
               const struct marking *marking) {
    struct bytes last = nothing; /* the last line of the sentence */
    const char *end = text.start + text.length, *added = text.start;
    size_t parts = 0; /* the number of its lines */
    struct line line = {.next = text.start};
    struct block block = {.end = text.start};
    for (bool more = true; more;) {
        more = lines_next(&line, end);
        if (more && line.begin >= block.end)
            block = block_of(line, end, lead);
        struct bytes says = more ? lines_trimmed(&line) : nothing;
        size_t bullet = says.length > 0 ? lead(says.start, says.length) : 0;
        size_t first = 0;
        int32_t letter = says.length > 0 ? character_next(says.start, says.length, &first) : ' ';
        bool small = !character_is_space(letter) && !character_is_punctuation(letter) &&
                     !(letter >= '0' && letter <= '9') && character_lower(letter) == letter &&
                     !character_is_wide(letter); /* this may be the middle of a sentence */
        small = small && (says.length < first + 1 ||
                          !strchr(".)", says.start[first])); /* a. is the label of an item */
        bool continues = parts > 0 && parts < MOST_LINES && small && bullet == 0 && !block.list &&
                         !lines_end_sentence(last.start, last.length);
        if (continues) {
            piece_add_close(builder, bytes_between(added, says.start));
        } else if (parts > 0) {
            piece_add_close(builder, nothing);
            parts = 0;
        }
        if (says.length == 0)
            continue;
        last = bytes_between(says.start + bullet, says.start + says.length);
        if (!continues)
            piece_add_break(builder, bytes_between(added, last.start));
        added = last.start + last.length;
        parts++;
        piece_add_part(builder);
        piece_add_marked(builder, last, marking);
    }
    piece_add_break(builder, bytes_between(added, end));
}

void lines_escape_markup(struct bytes_buffer *out, const char *text, size_t length) {
    bytes_put_escaped(out, text, length, "&<>");
}
