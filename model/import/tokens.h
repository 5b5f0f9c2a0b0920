/* The tokens of a model in the order of their ids, as its files list them: their spelling, and the languages that some of them
 * stand for. */
#ifndef ALIGND_IMPORT_TOKENS_H
#define ALIGND_IMPORT_TOKENS_H

#include "model/import/source.h"

struct tokens {
    const char *path;  /* of the file, in messages */
    const char **list; /* [count], with room for one more */
    size_t count;
};

/* alignd's lists hold no token twice, none that is empty and none with white space: such a token, which no text becomes, gets
 * another spelling. -1 with ERROR_MEMORY. */
int tokens_respell(struct tokens *tokens, struct arena *arena, struct error *err);
/* path: a SentencePiece file that cuts text. At least half of its pieces, or of the tokens, must be the same. -1 with ERROR_FILE,
 * ERROR_FORMAT or ERROR_MEMORY. */
int tokens_check_pieces(const struct tokens *tokens, const char *path, struct arena *arena, struct error *err);
/* The languages of a model of many, by tokens that both sides have, such as __fr__ (M2M-100) and fra_Latn (NLLB-200):
 * config.json's section, a new object, the caller's; *out NULL: it has no such tokens. */
int tokens_languages(const struct tokens *source, const struct tokens *target, struct arena *arena, json_t **out,
                     struct error *err);

/* Lists of target ids by script, for the languages of tokens_languages, which get their lists' names: pieces of the language's
 * script, pieces without a script such as digits, and the usual pieces of plain Latin letters, which names have. A language that
 * is written in several scripts has no list, unless its token names the script. lists [count], each with its ids: tensors
 * list.NAME, and always, which is empty. -1 with ERROR_MEMORY. */
struct ready;
int tokens_lists(const struct tokens *target, json_t *languages, struct arena *arena, struct ready **lists, size_t *count,
                 struct error *err);

#endif
