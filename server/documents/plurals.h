/* Plural forms of languages: CLDR's categories (zero, one, two, few, many, other), which most
 * formats name, and gettext's numbered forms. A file has the categories of its source language.
 * Those that only the language of the translation has are written with the translation of `other`,
 * which programs would take in their place, so that a person finds them and can correct them; those
 * that the language lacks stay, because programs never choose them. */
#ifndef ALIGND_DOCUMENT_PLURALS_H
#define ALIGND_DOCUMENT_PLURALS_H

#include "model/base/utf8.h"
#include <stdbool.h>
#include <stddef.h>

struct bytes_buffer;

enum {
    PLURAL_ZERO,
    PLURAL_ONE,
    PLURAL_TWO,
    PLURAL_FEW,
    PLURAL_MANY,
    PLURAL_OTHER,
    PLURAL_CATEGORIES,
    PLURALS_MOST_BYTES = 1 << 20 /* of a document's added branches */
};

/* Returns the name of a category. */
const char *plurals_name(size_t category);
/* Returns the category of this name, or PLURAL_CATEGORIES. */
size_t plurals_category(struct bytes name);
/* Returns the categories of a language (BCP 47), as bits: of cardinal or of ordinal numbers. Only
 * `other` if the language is unknown. */
unsigned plurals_of(const char *language, bool ordinal);

/* A branch of a file for `other`, beside others. */
struct plural_branch {
    const char *begin, *end; /* with what separates it from the branch before */
    struct bytes name;       /* its category in the file, within it, */
    const char *lead;        /* which is written as this (NULL: nothing) and a category's name */
    const char *separator;   /* is written between two branches; NULL: nothing */
    unsigned present;        /* categories of the branches, as bits */
};
/* Puts copies of the branch, [written], for the categories of the language that the file lacks, as
 * it would stand before it. Nothing is put before the category in the branch but bytes of the file.
 */
void plurals_put(struct bytes_buffer *out, const struct plural_branch *branch, const char *language,
                 struct bytes written);

/* gettext's forms, which Qt's translations have, too. */
struct plural_forms {
    size_t forms, one; /* their number; the index of the form for one thing */
    const char *rule;  /* "nplurals=2; plural=(n != 1);" */
};
/* Finds the forms by the whole code or by its language alone; returns the most common forms if the
 * language is unknown. */
const struct plural_forms *plurals_forms(const char *language);

#endif
