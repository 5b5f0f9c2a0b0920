/* Which strings of a JSON document are translated: those that are language (prose.c) and that a request's globs select.
 *
 * A path consists of the names of members and the numbers of elements on the way to a value, with dots between them:
 * menu.items.0.label. In a glob * stands for one of them or, within a name, for any characters; ** for any number of them; "\." is
 * a dot of a name. "!" in front excludes. A value is selected if a glob without "!" matches its path, or no such glob was given,
 * and no glob with "!" matches. */
#ifndef ALIGND_JSON_DOCUMENT_H
#define ALIGND_JSON_DOCUMENT_H

#include "server/markup/markup.h"

enum { KEY_GLOBS_MOST = 32, KEY_GLOB_BYTES = 256, KEY_GLOB_NAMES = 16 };

struct key_globs;

/* Reads the globs of several texts, [count], each with commas between its globs; blanks around them are ignored. The result is in
 * the arena. Returns NULL with ERROR_INPUT, whose message names the glob, or ERROR_MEMORY. */
struct key_globs *key_globs_parse(const char *const *texts, size_t count, struct arena *arena, struct error *err);

/* How far each glob matches the names so far; a walk keeps one for each level. */
struct key_state {
    unsigned matched[KEY_GLOBS_MOST]; /* bit i: the first i names of the glob may be matched */
};
void key_globs_begin(const struct key_globs *globs, struct key_state *out);
/* Goes one name further. before: the state of the level above. Time is linear in the globs, for any name. */
void key_globs_step(const struct key_globs *globs, const struct key_state *before, const char *name, size_t length,
                    struct key_state *out);
enum key_choice { KEY_LEFT_OUT, KEY_IN, KEY_ASKED_FOR /* a glob without "!" matches */ };
enum key_choice key_globs_choose(const struct key_globs *globs, const struct key_state *state);

enum prose {
    PROSE_PROGRAM,  /* has no words of a language, or is a notation: a date, an address, markup without text */
    PROSE_DOUBTFUL, /* is probably a name or a word for programs: kebab-case, FOO_BAR, "module" as the value of "type" */
    PROSE_LANGUAGE
};

/* The names of the members that hold a string; for an array, those of the member that holds the array. Length 0: no name. */
struct prose_place {
    struct html_bytes name, parent;
};

/* Judges valid UTF-8 by the rule in FORMATS.md ("Which strings are prose"): by the notation of the string first, and by the
 * names of the members that hold it if a single word could be either. scratch: room for as many bytes. Time is linear. */
enum prose prose_judge(struct html_bytes text, const struct prose_place *place, char *scratch);

#endif
