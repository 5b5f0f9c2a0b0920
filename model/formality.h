/* How a translation addresses its reader: tu or vous, du or Sie.
 *
 * A search that may not use the words of one form writes the other, and verbs follow by themselves.
 * The words of each language are in formality.def. */

#ifndef ALIGND_FORMALITY_H
#define ALIGND_FORMALITY_H

#include "model/base/arena.h"
#include "model/search/search.h"
#include "model/text/tokenizer.h"
#include <stdbool.h>
#include <stddef.h>

enum formality { FORMALITY_ANY, FORMALITY_LESS, FORMALITY_MORE };

/* The form of address wanted in a translation. Languages are codes such as "de", "de-AT" or
 * "deu_Latn". */
struct formality_wish {
    enum formality form;
    bool prefers; /* another form is as good if this one cannot be had */
    const char *source, *target;
};

/* Sets the form and `prefers` from a name, in letters of either case. Returns false if it is none
 * of FORMALITY_NAMES. */
#define FORMALITY_NAMES "default, more, less, prefer_more or prefer_less"
bool formality_read(const char *name, struct formality_wish *wish);
/* Returns the name of a form, without prefer_. */
const char *formality_name(enum formality form);

/* Returns whether the language has forms of address in the table. Thread-safe, as all of these. */
bool formality_is_known(const char *language);

/* The refusals of one vocabulary, made when they are first asked for. */
struct formality_tables;
/* target must outlive the tables. Returns NULL with ERROR_MEMORY. */
struct formality_tables *formality_open(const struct tokenizer *target, struct error *err);
void formality_free(struct formality_tables *tables); /* accepts NULL */

/* Sets which tokens the translation of a text [length] may not have: those of the other form. The
 * tables own *refusals. Where nothing is refused, all of it is zero. Takes time proportional to the
 * vocabulary once for each language and form, and to the text. Returns -1 with ERROR_MEMORY. */
int formality_refuse(struct formality_tables *tables, const struct formality_wish *wish,
                     const char *text, size_t length, struct search_refusals *refusals,
                     struct error *err);

/* Returns whether a translation has no word of the other form, and at least one of the wanted form
 * if its source addresses somebody. */
bool formality_holds(const struct formality_wish *wish, const char *source, size_t source_length,
                     const char *target, size_t target_length);

#endif
