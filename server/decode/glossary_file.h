/* Glossaries as a file keeps them: a first line that says so, then of each glossary a line with its id, languages, time, owner,
 * name and how many lines follow, and these: its entries as TSV. */
#ifndef ALIGND_GLOSSARY_FILE_H
#define ALIGND_GLOSSARY_FILE_H

#include "server/decode/kept_glossary.h"

/* The text of so many glossaries, malloc'ed; *length. NULL when memory is out. */
char *glossary_file_write(struct kept_glossary *const *glossaries, size_t count, size_t *length);

/* The same backwards: at most `most` glossaries into all, each with a reference for the caller; *count. -1 with ERROR_INPUT (the
 * message tells the line) or ERROR_MEMORY: all is as it was. */
int glossary_file_read(const char *text, size_t length, size_t most, struct kept_glossary **all, size_t *count, struct error *err);

#endif
