/* Vocabularies of foreign models: YAML (.yml), JSON (.json), SentencePiece (.spm, .model), anything else one word a line. */
#ifndef ALIGND_IMPORT_VOCABULARY_H
#define ALIGND_IMPORT_VOCABULARY_H

#include "model/import/source.h"

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

#endif
