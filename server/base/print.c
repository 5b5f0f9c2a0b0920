#include "server/base/print.h"
#include "model/base/utf8.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 4096 };

/* Bytes on their way to a stream. stderr has no buffer of its own, and a line shall be one write.
 */
struct output {
    FILE *to;
    size_t filled;
    char bytes[BUFFER_BYTES];
};

static void output_flush(struct output *output) {
    fwrite(output->bytes, 1, output->filled, output->to);
    output->filled = 0;
}

/* count: at most BUFFER_BYTES. */
static void output_put(struct output *output, const char *bytes, size_t count) {
    if (count > BUFFER_BYTES - output->filled)
        output_flush(output);
    memcpy(output->bytes + output->filled, bytes, count);
    output->filled += count;
}

/* Prints a text between two short strings that are not escaped. breaks: its line feeds stay. */
static void print_shown(FILE *out, const char *before, const char *text, const char *after,
                        bool breaks) {
    struct output output = {.to = out};
    output_put(&output, before, strlen(before));
    for (size_t at = 0, length = strlen(text); at < length;) {
        char shown[UTF8_SHOWN_BYTES];
        if (breaks && text[at] == '\n')
            output_put(&output, &text[at++], 1);
        else
            output_put(&output, shown, utf8_show(text, length, &at, shown));
    }
    output_put(&output, after, strlen(after));
    output_flush(&output);
}

__attribute__((format(printf, 3, 0))) static void print_formatted(FILE *out, const char *before,
                                                                  const char *format,
                                                                  va_list arguments,
                                                                  const char *after) {
    char *text;
    bool made = vasprintf(&text, format, arguments) >= 0;
    print_shown(out, before, made ? text : "out of memory", after, false);
    if (made)
        free(text);
}

void print_line(FILE *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_formatted(out, "", format, arguments, "\n");
    va_end(arguments);
}

void print_over(FILE *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_formatted(out, "\r\033[K", format, arguments, "");
    va_end(arguments);
}

void print_part(FILE *out, const char *text) {
    print_shown(out, "", text, "", false);
}

void print_text(FILE *out, const char *text) {
    print_shown(out, "", text, "", true);
}
