#include "server/document/messages.h"
#include "model/base/utf8.h"
#include <string.h>

bool messages_can_hold(struct html_bytes text) {
    for (size_t i = 0; i < text.length; i++)
        if ((unsigned char)text.start[i] < ' ' && !memchr("\n\t\r", text.start[i], 3))
            return false;
    return utf8_valid(text.start, text.length);
}

void messages_end(struct html_builder *builder) {
    html_add_break(builder, (struct html_bytes){"", 1});
}

void messages_put_mark(struct html_buffer *out) {
    html_put(out, (const char[]){MESSAGE_TRANSLATED}, 1);
}

bool messages_translated(struct html_bytes written) {
    return memchr(written.start, MESSAGE_TRANSLATED, written.length) != NULL;
}

struct html_bytes messages_next(struct html_bytes *written) {
    const char *end = memchr(written->start, '\0', written->length), *all = written->start + written->length;
    struct html_bytes message = bytes_between(written->start, end ? end : all);
    *written = bytes_between(end ? end + 1 : all, all);
    return message;
}

void messages_put(struct html_buffer *out, struct html_bytes message) {
    for (const char *at = message.start, *end = at + message.length; at < end; at++) {
        const char *plain = at;
        while (at < end && *at != MESSAGE_TRANSLATED)
            at++;
        html_put(out, plain, (size_t)(at - plain));
    }
}
