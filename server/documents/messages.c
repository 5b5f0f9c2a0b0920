/* This module hides the parts of a program's message that are not words: branches and arguments in
 * ICU's notation. */
#include "model/base/utf8.h"
#include "model/text/spans.h"
#include "server/documents/document.h"

enum {
    MOST_NAME = 24 /* bytes of an argument's name that a sentence shows */
};

/* ---- messages in ICU's notation ---- */

int icu_source_open(struct bytes text, struct arena *arena, struct icu_source *out,
                    struct error *err) {
    out->original = text;
    if (icu_message_expand(text.start, text.length, arena, &out->text.start, &out->text.length,
                           err) != 0)
        return -1;
    return icu_message_read(out->text.start, out->text.length, arena, &out->message, err);
}

/* Returns how these bytes are written in the document. */
static struct bytes write_part(const struct marking *marking, struct bytes part,
                               struct arena *arena) {
    return marking->written ? marking->written(marking, part, arena) : part;
}

/* Adds text as pieces; the end of a line separates sentences. */
static void add_lines(const struct marking *marking, struct piece_builder *builder,
                      struct bytes text) {
    for (size_t begin = 0, end; begin < text.length; begin = end) {
        bool control = (unsigned char)text.start[begin] < ' ';
        for (end = begin; end < text.length && ((unsigned char)text.start[end] < ' ') == control;)
            end++;
        struct bytes line = {text.start + begin, end - begin};
        struct bytes raw = write_part(marking, line, builder->arena);
        if (control)
            piece_add_break(builder, raw);
        else
            piece_add_text(builder, line, raw);
    }
}

void icu_source_add(struct piece_builder *builder, const struct icu_source *source,
                    const struct marking *written) {
    const struct marking own = {
        .owner = written->owner, .written = written->written, .add_text = add_lines};
    for (size_t i = 0; i < source->message.count && !builder->failed; i++) {
        const struct icu_part *part = &source->message.parts[i];
        struct bytes says = {source->text.start + part->begin, part->end - part->begin},
                     word = {"{0}", 3};
        if (part->kind == ICU_TEXT) {
            piece_add_marked(builder, says, &own);
            continue;
        }
        struct bytes raw = write_part(&own, says, builder->arena);
        if (part->kind == ICU_SYNTAX) {
            piece_add_break(builder, raw);
        } else if (part->kind == ICU_QUOTE) {
            piece_add_text(builder, nothing, raw);
        } else if (part->kind == ICU_NUMBER) {
            piece_add_word(builder, (struct bytes){part->one ? "1" : "5", 1}, raw);
        } else { /* {name} represents itself in the sentence; {0} represents any other argument */
            size_t begin = opaque_match("\\{ *", says.start, says.length),
                   length = opaque_match("\\c+", says.start + begin, says.length - begin);
            char *name = begin > 0 && length > 0 && length < MOST_NAME
                             ? arena_alloc(builder->arena, length + 2, 1)
                             : NULL;
            if (name) {
                memcpy(name + 1, says.start + begin, length);
                name[0] = '{';
                name[length + 1] = '}';
                word = (struct bytes){name, length + 2};
            }
            piece_add_word(builder, word, raw);
        }
    }
}

bool icu_source_settle(const struct icu_source *source, struct bytes translation,
                       struct arena *arena, struct bytes *out) {
    if (bytes_same(source->text, translation)) {
        *out = source->original;
        return true;
    }
    for (size_t attempt = 0; attempt < 2; attempt++) {
        struct bytes text = translation;
        struct icu_message message;
        if (attempt > 0) { /* an apostrophe before a brace quotes it; in text it must be doubled */
            struct bytes_buffer doubled = {.arena = arena};
            bytes_put(&doubled, "", 0);
            for (size_t i = 0; i < text.length; i++) {
                bool quotes = text.start[i] == '\'' && i + 1 < text.length &&
                              memchr("{}#|", text.start[i + 1], 4);
                bytes_put(&doubled, quotes ? "''" : text.start + i, quotes ? 2 : 1);
            }
            text = doubled.failed ? nothing : (struct bytes){doubled.bytes, doubled.length};
        }
        if (icu_message_read(text.start, text.length, arena, &message, NULL) != 0 ||
            !icu_message_same(source->text.start, &source->message, text.start, &message) ||
            !marks_same(source->text, text, false))
            continue;
        *out = text;
        return true;
    }
    return false;
}

bool messages_can_hold(struct bytes text) {
    for (size_t i = 0; i < text.length; i++)
        if ((unsigned char)text.start[i] < ' ' && !memchr("\n\t\r", text.start[i], 3))
            return false;
    return utf8_valid(text.start, text.length);
}

bool messages_settle_icu(struct bytes source, struct bytes written, struct arena *arena,
                         struct bytes *out) {
    struct icu_source opened;
    *out = source;
    return icu_source_open(source, arena, &opened, NULL) == 0 &&
           icu_source_settle(&opened, written, arena, out);
}
