#include "server/base/bytes.h"

struct bytes bytes_trimmed(struct bytes bytes) {
    while (bytes.length > 0 && byte_is_space(*bytes.start))
        bytes = bytes_between(bytes.start + 1, bytes.start + bytes.length);
    while (bytes.length > 0 && byte_is_space(bytes.start[bytes.length - 1]))
        bytes.length--;
    return bytes;
}

bool bytes_among(struct bytes word, const char *list) {
    for (const char *at = list; word.length > 0 && *at;) {
        size_t same = 0;
        while (same < word.length && at[same] == word.start[same])
            same++;
        at += same;
        if (same == word.length && (*at == ' ' || *at == '\0'))
            return true;
        while (*at && *at++ != ' ')
            ;
    }
    return false;
}

bool bytes_among_any_case(struct bytes word, const char *list) {
    for (size_t length; *list; list += length, list += strspn(list, " ")) {
        length = strcspn(list, " ");
        if (length == word.length && strncasecmp(list, word.start, length) == 0)
            return true;
    }
    return false;
}

static struct bytes language_of(struct bytes code) {
    size_t length = 0;
    while (length < code.length && !strchr("-_@", code.start[length]))
        length++;
    return (struct bytes){code.start, length};
}

bool bytes_same_language(struct bytes a, struct bytes b) {
    return bytes_same_any_case(language_of(a), language_of(b));
}

void bytes_put(struct bytes_buffer *buffer, const char *bytes, size_t length) {
    char *grown = buffer->failed ? NULL
                                 : arena_grow(buffer->arena, buffer->bytes, buffer->length,
                                              &buffer->capacity, length + 1, 1);
    if (grown)
        buffer->bytes = grown;
    if (!grown || !budget_copy(buffer->arena->budget, grown + buffer->length, bytes, length)) {
        buffer->failed = true;
        return;
    }
    buffer->length += length;
    grown[buffer->length] = '\0';
}

void bytes_put_string(struct bytes_buffer *buffer, const char *string) {
    bytes_put(buffer, string, strlen(string));
}

char *bytes_take(const struct bytes_buffer *buffer, size_t *length, struct error *err) {
    if (buffer->failed)
        return error_memory(err), NULL;
    *length = buffer->length;
    return buffer->bytes;
}

/* Returns the bytes of the character that begins there if XML does not allow it, however it is
 * written, or 0. */
static size_t forbidden_at(const char *text, size_t length) {
    unsigned char c = (unsigned char)*text;
    bool noncharacter = c == 0xef && length > 2 &&
                        (bytes_begin(text, text + length, "\xef\xbf\xbf") ||
                         bytes_begin(text, text + length, "\xef\xbf\xbe"));
    return noncharacter ? 3 : c < ' ' && !strchr("\t\n\r", c);
}

void bytes_put_escaped(struct bytes_buffer *buffer, const char *text, size_t length,
                       const char *marks) {
    for (size_t at = 0, forbidden = 0; at < length && !buffer->failed;
         at += forbidden > 0 ? forbidden : 1) {
        size_t plain = at;
        while (at < length && (forbidden = forbidden_at(text + at, length - at)) == 0 &&
               !memchr(marks, text[at], strlen(marks)))
            at++;
        bytes_put(buffer, text + plain, at - plain);
        if (at == length)
            return;
        bytes_put_string(buffer, forbidden > 0     ? " "
                                 : text[at] == '&' ? "&amp;"
                                 : text[at] == '<' ? "&lt;"
                                 : text[at] == '>' ? "&gt;"
                                                   : "&quot;");
    }
}
