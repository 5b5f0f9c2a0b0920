/* Ordinal numbers that are written with a full stop: am 3. Mai, im 19. Jahrhundert, Ludwig XIV. */
#ifndef ALIGND_ORDINAL_H
#define ALIGND_ORDINAL_H

#include <stdbool.h>
#include <stddef.h>

/* language: BCP-47. */
bool ordinal_has_stop(const char *language);

/* True if the text's last word is one or two digits, or a Roman numeral from I to XXXIX, with a full stop. */
bool ordinal_ends(const char *text, size_t length);

#endif
