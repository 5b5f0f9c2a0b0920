/* This module prints lines for people: every command's output on stdout and stderr, except texts
 * that are the output themselves, such as translations. Whatever the parts of a line came from, no
 * terminal obeys them: characters are shown as by utf8_show.
 *
 * Nothing else in model/ and server/ prints, except the log (log.h); `make layers` checks this.
 * Errors of writing stick to the stream, as those of fprintf do. Thread-safe: each line is one
 * write. */
#ifndef ALIGND_PRINT_H
#define ALIGND_PRINT_H

#include <stdio.h>

/* Formats a line, to which a line feed is added, and prints it. */
__attribute__((format(printf, 2, 3))) void print_line(FILE *out, const char *format, ...);
/* Prints a part of a line. */
void print_part(FILE *out, const char *text);
/* Prints text of several lines, in which line feeds stay. */
void print_text(FILE *out, const char *text);
/* Replaces the last line of a terminal, which has no line feed yet; an empty format erases it. */
__attribute__((format(printf, 2, 3))) void print_over(FILE *out, const char *format, ...);

#endif
