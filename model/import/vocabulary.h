/* Vocabularies of foreign models: YAML (.yml), JSON (.json), SentencePiece (.spm, .model), anything else one word a line; and the
 * tokens of a model, some of which stand for languages. */
#ifndef ALIGND_IMPORT_VOCABULARY_H
#define ALIGND_IMPORT_VOCABULARY_H

#include "model/import/tensors.h"

/* One side's, as a model folder holds it. */
struct vocabulary {
    bool sentencepiece;  /* otherwise words */
    const char *content; /* [bytes] of its file */
    size_t bytes;
    size_t size;      /* how many tokens it has */
    const char *list; /* the list that numbers them where the file only segments; NULL: the file numbers them */
    size_t list_bytes;
};

/* size: the number of the model's words. Returns -1 with ERROR_FILE or ERROR_FORMAT; messages begin with the path. */
int vocabulary_import(const char *path, size_t size, struct arena *arena, struct vocabulary *out, struct error *err);
/* path: the SentencePiece file that segments; words: the list that numbers what it makes. */
int vocabulary_segmented(const char *path, const struct vocabulary *words, struct arena *arena, struct vocabulary *out,
                         struct error *err);
/* A list of words; path: the path in messages. */
int vocabulary_of_words(const char *path, const char *const *words, size_t count, struct arena *arena, struct vocabulary *out,
                        struct error *err);

/* The files of a tokenizer, and config.json's section on it. */
struct tokenizer_files {
    json_t *section; /* owned */
    struct {
        const char *name, *content;
        size_t bytes;
    } files[4]; /* [count] */
    size_t count;
    bool one_list; /* source and target have the same tokens under the same ids */
};
int tokenizer_files_of(const struct vocabulary *source, const struct vocabulary *target, struct tokenizer_files *out,
                       struct error *err);

/* The ids of one side's tokens. */
struct ids {
    struct id {
        const char *piece;
        size_t length;
        uint32_t id;
    } * sorted; /* [size], by piece, in the arena */
    size_t size;
};
int ids_of(const struct vocabulary *vocabulary, struct arena *arena, struct ids *out, struct error *err);
/* Returns false if it lacks the piece. */
bool ids_find(const struct ids *ids, const char *piece, size_t length, uint32_t *id);

/* ---- tokens ----
 * The tokens of a model in the order of their ids, as its files list them. */

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
int tokens_lists(const struct tokens *target, json_t *languages, struct arena *arena, struct ready **lists, size_t *count,
                 struct error *err);

#endif
