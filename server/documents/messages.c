#include "server/documents/messages.h"
#include "model/base/utf8.h"
#include "server/documents/icu_sentence.h"
#include <stddef.h>
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

struct escaped_marking {
    struct html_marking marking;
    html_escape *escape;
};

static struct html_bytes write_escaped(const struct html_marking *marking, struct html_bytes text, struct arena *arena) {
    const struct escaped_marking *own =
        (const struct escaped_marking *)((const char *)marking - offsetof(struct escaped_marking, marking));
    struct html_buffer out = {.arena = arena};
    if (!own->escape)
        return text;
    html_put(&out, "", 0);
    own->escape(&out, text.start, text.length);
    return out.failed ? (struct html_bytes){"", 0} : (struct html_bytes){out.bytes, out.length};
}

void messages_add_icu(struct html_builder *builder, struct html_bytes text, html_escape *escape) {
    static const char translated[] = {MESSAGE_TRANSLATED};
    const struct escaped_marking own = {{.written = write_escaped}, escape};
    struct icu_source source;
    struct error error = {0};
    if (icu_source_open(text, builder->arena, &source, &error) == 0) {
        icu_source_add(builder, &source, &own.marking);
    } else if (error.code == ERROR_MEMORY) {
        builder->failed = ERROR_MEMORY;
    } else {
        html_add_break(builder, (struct html_bytes){translated, 1});
        html_add_break(builder, write_escaped(&own.marking, text, builder->arena));
    }
    messages_end(builder);
}

bool messages_settle_icu(struct html_bytes source, struct html_bytes written, struct arena *arena, struct html_bytes *out) {
    struct icu_source opened;
    *out = source;
    return icu_source_open(source, arena, &opened, NULL) == 0 && icu_source_settle(&opened, written, arena, out);
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
