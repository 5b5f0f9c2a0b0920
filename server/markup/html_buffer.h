#ifndef ALIGND_HTML_BUFFER_H
#define ALIGND_HTML_BUFFER_H

#include "model/base/arena.h"

/* Bytes that grow in an arena. */
struct html_buffer {
    struct arena *arena;
    char *bytes; /* [length] and a NUL, once something was put */
    size_t length, capacity;
    bool failed; /* memory: nothing more is put */
};

void html_put(struct html_buffer *buffer, const char *bytes, size_t length);
void html_put_string(struct html_buffer *buffer, const char *string);
/* With references for the marks: of "&<>\"" those that would be markup here. */
void html_put_escaped(struct html_buffer *buffer, const char *text, size_t length, const char *marks);

#endif
