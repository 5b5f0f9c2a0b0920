/* Which values of a JSON document are translated: path globs. A path is the names of members, and the numbers of elements, on the
 * way to a value, with dots between them: menu.items.0.label. In a glob * stands for one of them or, within a name, for any
 * characters; ** for any number of them, also none; "\." is a dot of a name. "!" in front excludes. A value is selected if a glob
 * without "!" matches its path, or there is none, and no glob with "!" does. */
#ifndef ALIGND_DOCUMENT_KEY_GLOBS_H
#define ALIGND_DOCUMENT_KEY_GLOBS_H

#include "model/base/arena.h"
#include "model/base/error.h"
#include <stdbool.h>
#include <stddef.h>

enum { KEY_GLOBS_MOST = 32, KEY_GLOB_BYTES = 256, KEY_GLOB_NAMES = 16 };

struct key_globs;

/* The globs of several texts, [count], each with commas between its globs; blanks around them do not count. In the arena. NULL with
 * ERROR_INPUT: the message names the glob; or ERROR_MEMORY. */
struct key_globs *key_globs_parse(const char *const *texts, size_t count, struct arena *arena, struct error *err);

/* How far each glob matches the names on the way so far: what a walk keeps for each level. */
struct key_state {
    unsigned matched[KEY_GLOBS_MOST]; /* a bit for each number of the glob's names that may be matched */
};
void key_globs_begin(const struct key_globs *globs, struct key_state *out);
/* One name further. before: at the level above. Takes time linear in the globs, whatever the name is. */
void key_globs_step(const struct key_globs *globs, const struct key_state *before, const char *name, size_t length,
                    struct key_state *out);
enum key_choice { KEY_LEFT_OUT, KEY_IN, KEY_ASKED_FOR /* a glob without "!" matches it */ };
/* Of the value at this path. */
enum key_choice key_globs_choose(const struct key_globs *globs, const struct key_state *state);

#endif
