/* A terminal that the program under test writes to, and what it shows. */
#ifndef ALIGND_TESTS_HTTP_TERMINAL_H
#define ALIGND_TESTS_HTTP_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

struct terminal {
    int reader;      /* ours */
    int writer;      /* the program's */
    char text[8192]; /* [length] and a NUL: all that was written */
    size_t length;
};

void terminal_open(struct terminal *terminal);
/* Takes in what has been written. True: that text is in it. */
bool terminal_shows(struct terminal *terminal, const char *text);
void terminal_close(struct terminal *terminal);

#endif
