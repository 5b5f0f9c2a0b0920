#include "server/documents/icu_sentence.h"
#include "server/documents/format.h"
#include "server/markup/markup.h"
#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { MOST_NAME = 24 /* bytes of an argument's name that a sentence shows */ };

int icu_source_open(struct html_bytes text, struct arena *arena, struct icu_source *out, struct error *err) {
    if (icu_message_expand(text.start, text.length, arena, &out->text.start, &out->text.length, err) != 0)
        return -1;
    return icu_message_read(out->text.start, out->text.length, arena, &out->message, err);
}

/* ---- pieces ---- */

struct icu_marking {
    struct html_marking marking;
    const struct html_marking *written; /* the caller's */
};

static struct html_bytes write_as_asked(const struct html_marking *marking, struct html_bytes mark, struct arena *arena) {
    const struct html_marking *written =
        ((const struct icu_marking *)((const char *)marking - offsetof(struct icu_marking, marking)))->written;
    return written->written ? written->written(written, mark, arena) : mark;
}

/* A line's end separates sentences. */
static void add_lines(const struct html_marking *marking, struct html_builder *builder, struct html_bytes text) {
    for (size_t begin = 0, end; begin < text.length; begin = end) {
        bool control = (unsigned char)text.start[begin] < ' ';
        for (end = begin; end < text.length && ((unsigned char)text.start[end] < ' ') == control;)
            end++;
        struct html_bytes line = {text.start + begin, end - begin};
        struct html_bytes raw = write_as_asked(marking, line, builder->arena);
        if (control)
            html_add_break(builder, raw);
        else
            html_add_text(builder, line, raw);
    }
}

/* {name} shows itself; another argument shows a short one. */
static struct html_bytes argument_word(struct html_bytes argument, struct arena *arena) {
    static const struct html_bytes any = {"{0}", 3};
    size_t begin = 1, end;
    while (begin < argument.length && argument.start[begin] == ' ')
        begin++;
    end = begin;
    while (end < argument.length && (isalnum((unsigned char)argument.start[end]) || argument.start[end] == '_'))
        end++;
    bool named = end > begin && end - begin < MOST_NAME && *argument.start == '{';
    char *word = named ? arena_alloc(arena, end - begin + 2, 1) : NULL;
    if (!word)
        return any;
    word[0] = '{';
    memcpy(word + 1, argument.start + begin, end - begin);
    word[end - begin + 1] = '}';
    return (struct html_bytes){word, end - begin + 2};
}

void icu_source_add(struct html_builder *builder, const struct icu_source *source, const struct html_marking *written) {
    static const struct html_bytes one = {"1", 1}, several = {"5", 1}, nothing = {"", 0};
    struct icu_marking own = {.marking = {.written = write_as_asked, .add_text = add_lines}, .written = written};
    for (size_t i = 0; i < source->message.count && !builder->failed; i++) {
        const struct icu_part *part = &source->message.parts[i];
        struct html_bytes says = {source->text.start + part->begin, part->end - part->begin};
        if (part->kind == ICU_TEXT) {
            html_add_marked(builder, says, &own.marking);
            continue;
        }
        struct html_bytes raw = write_as_asked(&own.marking, says, builder->arena);
        if (part->kind == ICU_SYNTAX)
            html_add_break(builder, raw);
        else if (part->kind == ICU_QUOTE)
            html_add_text(builder, nothing, raw);
        else
            html_add_word(builder,
                          part->kind == ICU_ARGUMENT ? argument_word(says, builder->arena)
                          : part->one                ? one
                                                     : several,
                          raw);
    }
}

/* ---- translations ---- */

/* An apostrophe in front of a brace quotes it: in text it stands twice. */
static struct html_bytes double_apostrophes(struct html_bytes text, struct arena *arena) {
    struct html_buffer out = {.arena = arena};
    html_put(&out, "", 0);
    for (size_t i = 0; i < text.length; i++) {
        bool quotes = text.start[i] == '\'' && i + 1 < text.length && memchr("{}#|", text.start[i + 1], 4);
        html_put(&out, quotes ? "''" : text.start + i, quotes ? 2 : 1);
    }
    return out.failed ? (struct html_bytes){"", 0} : (struct html_bytes){out.bytes, out.length};
}

bool icu_source_settle(const struct icu_source *source, struct html_bytes translation, struct arena *arena,
                       struct html_bytes *out) {
    for (size_t attempt = 0; attempt < 2; attempt++) {
        struct html_bytes text = attempt == 0 ? translation : double_apostrophes(translation, arena);
        struct icu_message message;
        if (icu_message_read(text.start, text.length, arena, &message, NULL) != 0 ||
            !icu_message_same(source->text.start, &source->message, text.start, &message) ||
            !html_same_marks(source->text, text, false))
            continue;
        *out = text;
        return true;
    }
    return false;
}
