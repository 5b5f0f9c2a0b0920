/* The parts of a model as it is handed around: an unpacked OPUS-MT package, the files of a Firefox (Bergamot) pair, a
 * translateLocally folder, files that are named one by one, or a folder of Hugging Face or CTranslate2. Finds the role of each
 * file, and the model's origin. */
#ifndef ALIGND_IMPORT_PARTS_H
#define ALIGND_IMPORT_PARTS_H

#include "model/import/source.h"

/* The origin of a model, as far as the files beside it name it; "" if they do not. */
struct origin {
    const char *licence, *attribution; /* as the card has them */
    const char *text;                  /* [text_bytes] of the file LICENSE; NULL: none */
    size_t text_bytes;
    const char *card; /* the card beside the model; "" if there is none */
};

/* Whose programs a model was made for, which decides how it is decoded where nothing else says it. */
enum family { FAMILY_OTHER, FAMILY_BERGAMOT, FAMILY_OPUS }; /* FAMILY_BERGAMOT: Firefox and translateLocally */

struct parts {
    enum family family;
    const char *folder; /* of the model */
    const char *name;   /* the model's file, as messages and the card name it */
    const char *model;
    const char *vocabularies[2], *segmenters[2]; /* segmenters: SentencePiece files beside lists that number; NULL: none */
    const char *shortlist, *quality;             /* NULL: none */
    const char *options;                         /* a file of training options; NULL: not named */
    struct mapping decoder, training;            /* options of the decoder, and of the training */
    struct origin origin;
    bool guided;                 /* its attention was trained to align */
    const char *source, *target; /* languages by the names of the files; NULL: unknown */
};

/* Finds the parts of these paths [count]: one folder, or a model's file and perhaps some of those that it needs; the others are
 * searched for beside the model. shown: the folder's name in messages. Returns -1 with ERROR_FILE or ERROR_FORMAT and a message
 * that begins with a path. */
int parts_find(const char *const *paths, size_t count, const char *shown, struct arena *arena, struct parts *out,
               struct error *err);

/* True if the path is a Hugging Face folder or a file in one; folder: that folder. */
bool parts_huggingface(const char *path, struct arena *arena, const char **folder);

/* name: the model's; firefox: it is one of Mozilla's. */
int origin_find(const char *folder, const char *name, bool firefox, const char *card, struct arena *arena, struct origin *out,
                struct error *err);
/* README.md beside the model, "" if it is missing. */
int origin_card(const char *folder, struct arena *arena, const char **card, struct error *err);
/* True if attention was trained to align, as far as the files say so. */
bool origin_guided(const char *model, bool bergamot, const struct mapping *training, const char *card);
/* Languages by a folder's or file's name, such as opus-mt-de-en or model.enfr.intgemm.alphas.bin. False: the name does not contain
 * them. */
bool origin_languages(const char *name, struct arena *arena, const char **source, const char **target);

/* ---- CTranslate2 ----
 * Models (OpenNMT/CTranslate2) of an encoder and a decoder: a folder of model.bin, vocabularies and perhaps config.json; and
 * packages of Argos Translate and LibreTranslate, which hold such a folder with a SentencePiece model beside it. */

/* Where the parts of a model lie. */
struct ctranslate2_parts {
    const char *folder;          /* of model.bin */
    const char *package;         /* an Argos package's, which has metadata.json; NULL: it is none */
    const char *name;            /* as its card names it */
    const char *source, *target; /* languages by metadata.json; NULL: it does not say */
    const char *prefix;          /* pieces that begin every translation; NULL: none */
    const char *segmenters[2];   /* SentencePiece files; NULL: tokens are separated by white space */
    bool guessed;                /* they lie in the folder around the model's, and may be another's */
};

/* True if the path is such a folder or package, or its model.bin. */
bool ctranslate2_is(const char *path, struct arena *arena);
/* paths [count]: the model, and perhaps SentencePiece files that are named. -1 with ERROR_FORMAT or ERROR_FILE. */
int ctranslate2_find(const char *const *paths, size_t count, struct arena *arena, struct ctranslate2_parts *out, struct error *err);

#endif
