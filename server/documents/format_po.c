/* gettext's PO: messages without a translation, and those whose translation is fuzzy, get one; all else stays byte for byte. No
 * library reads it: gettext's own (libgettextpo) ends the process where it gets no memory, keeps what it reads in variables of its
 * own, and tells nothing of where a message stands in its file. */
#include "server/documents/icu_sentence.h"
#include "server/documents/messages.h"
#include "server/documents/po_directive.h"
#include "server/documents/po_file.h"
#include "server/markup/build.h"
#include <stddef.h>

/* A line of a message: words, and what they hold for programs. */
struct message_line {
    struct text_line line;
    struct html_marking marking;
    struct arena *arena;
    unsigned notations;
    size_t *marked; /* directives that took the next argument so far */
};

/* A bullet, or the option that a line of help tells of, up to the column where it does. */
static size_t lead(const char *text, size_t length) {
    for (size_t at = 1; *text == '-' && at + 1 < length; at++) {
        bool gap = text[at] == '\t' || (text[at] == ' ' && text[at + 1] == ' ');
        while (gap && (text[at] == ' ' || text[at] == '\t'))
            if (++at == length)
                return 0;
        if (gap)
            return at;
    }
    return text_bullet(text, length);
}

/* Of those that take the next argument: which it is. */
static struct html_bytes mark_of(const struct message_line *line, const char *directive, size_t length) {
    char *mark =
        po_takes_next(line->notations, directive, length) && *line->marked < PO_MOST_MARKED ? arena_alloc(line->arena, 2, 1) : NULL;
    if (!mark)
        return (struct html_bytes){"", 0};
    mark[0] = MESSAGE_OWN;
    mark[1] = (char)(PO_FIRST + (*line->marked)++);
    return (struct html_bytes){mark, 2};
}

/* What stands for one: "{{". */
static bool is_brace(const struct po_scan *scan, struct span found) {
    const char *text = scan->text + found.begin;
    return found.end - found.begin == 2 && text[0] == text[1] && (*text == '{' || *text == '}');
}

static const struct message_line *line_of(const struct html_marking *marking) {
    return (const struct message_line *)((const char *)marking - offsetof(struct message_line, marking));
}

static size_t skip_directive(const struct html_marking *marking, const char *at, const char *end) {
    return po_directive_at(line_of(marking)->notations, at, end);
}

/* A tag may hold directives, too: <a href="%s">. */
static struct html_bytes write_mark(const struct html_marking *marking, struct html_bytes mark, struct arena *arena) {
    const struct message_line *line = line_of(marking);
    struct po_scan scan = {.text = mark.start, .length = mark.length, .notations = line->notations};
    struct html_buffer out = {.arena = arena};
    size_t at = 0;
    for (struct span found; line->notations != 0 && po_scan_next(&scan, &found); at = found.begin) {
        struct html_bytes own = mark_of(line, mark.start + found.begin, found.end - found.begin);
        html_put(&out, mark.start + at, found.begin - at);
        html_put(&out, own.start, own.length);
    }
    if (at == 0)
        return mark;
    html_put(&out, mark.start + at, mark.length - at);
    return out.failed ? mark : (struct html_bytes){out.bytes, out.length};
}

static void add_words(const struct html_marking *marking, struct html_builder *builder, struct html_bytes text) {
    const struct message_line *line = line_of(marking);
    struct po_scan scan = {.text = text.start, .length = text.length, .notations = line->notations};
    size_t at = 0;
    for (struct span found; po_scan_next(&scan, &found);) {
        if (is_brace(&scan, found)) /* beside words, as a mark of punctuation is */
            continue;
        struct html_bytes before = {text.start + at, found.begin - at}, word = {text.start + found.begin, found.end - found.begin};
        if (before.length > 0)
            html_add_text(builder, before, before);
        html_add_code(builder, mark_of(line, word.start, word.length), word, (struct html_bytes){"", 0});
        at = found.end;
    }
    struct html_bytes rest = bytes_between(text.start + at, text.start + text.length);
    if (rest.length > 0)
        html_add_text(builder, rest, rest);
}

static void add_line(const struct text_line *says, struct html_builder *builder, struct html_bytes text) {
    html_add_marked(builder, text, &((const struct message_line *)says)->marking);
}

static void add_message(struct html_builder *builder, struct html_bytes text, unsigned notations) {
    size_t marked = 0;
    if (icu_source_is(text)) {
        messages_add_icu(builder, text, NULL);
        return;
    }
    struct message_line line = {.line = {lead, add_line},
                                .marking = {.written = write_mark, .add_text = add_words, .skip = skip_directive},
                                .arena = builder->arena,
                                .notations = notations,
                                .marked = &marked};
    text_add_lines(builder, text, &line.line);
    messages_end(builder);
}

static void escape(struct html_buffer *out, const char *text, size_t length) {
    messages_put_mark(out);
    html_put(out, text, length);
}

static int po_read(const struct document *document, struct arena *arena, struct html *out, struct error *err) {
    struct html_builder builder = {.arena = arena}; /* its pieces are what messages say, not what is written */
    struct po_file file;
    int found = 0;
    if (po_file_open(&file, document, arena, err) != 0)
        return -1;
    while (!builder.failed && (found = po_file_next(&file)) == 1) {
        builder.line = file.message.line;
        unsigned notations = file.wanted ? po_notations(&file.message) : 0;
        if (file.wanted)
            add_message(&builder, file.id, notations);
        if (file.wanted && file.message.plural.begin)
            add_message(&builder, file.plural, notations);
    }
    if (found < 0)
        return -1;
    return arena_failed(arena) ? error_memory(err) : html_build(&builder, escape, out, err);
}

const struct document_format format_po = {.name = "po",
                                          .extensions = "po pot",
                                          .media_types = "text/x-gettext-translation text/x-po application/x-gettext",
                                          .content_type = "text/x-gettext-translation; charset=utf-8",
                                          .read = po_read,
                                          .finish = po_write};
