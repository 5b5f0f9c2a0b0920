/* Models and parameters for tests; a test that cannot open what it needs fails with the message. */
#ifndef ALIGND_TESTS_MODELS_H
#define ALIGND_TESTS_MODELS_H

#include "model/text/tokenizer.h"
#include "model/translator.h"
#include "model/weights/weights.h"

struct translator *model_open(const char *folder); /* in float32 */
struct translator *model_open_with(const char *folder,
                                   const char *compute); /* as in struct translator_options */

/* All types of translator_options.compute. With the first exact_computes() of them a sentence has
 * the same bits alone and in company: with float32, the last, only where its products are not
 * OpenBLAS's. exact_compute: the last of those that have it.
 */
enum { COMPUTES = 3 };
extern const char *const computes[COMPUTES];
int exact_computes(void);
const char *exact_compute(void);

/* A vocabulary shortlist: always [count] for every sentence, and for each source piece so many ids
 * more, made up. */
struct made_list {
    const int *always;
    size_t count, each;
};

/* The model with such a shortlist in use. */
struct translator *model_open_listed(const char *folder, const char *compute,
                                     const struct made_list *list);

/* Sentences short and long, for the models of tests/golden. */
enum { MODEL_TEXTS = 6 };
extern const char *const model_texts[MODEL_TEXTS];

/* The tokens of a text. how: NULL for no options. */
struct token_list model_tokens(const struct tokenizer *tokenizer, const char *text,
                               const struct tokenizer_reading *how, struct arena *arena);
/* sentence_prepare of a text that is read verbatim but for the placeholders of programs. */
int model_sentences(const struct translator *translator, struct translator_text text,
                    const struct search_options *options, struct arena *arena,
                    struct sentence_list *out, struct error *err);
/* A text as one sentence, ready to be admitted. */
struct sentence *model_prepare(const struct translator *translator, const char *text,
                               const struct search_options *options, struct arena *arena);
/* The same, to be decoded as these tokens. */
struct sentence *model_prepare_forced(const struct translator *translator, const char *text,
                                      const int *tokens, size_t length, struct arena *arena);
/* Side by side; none may fail. */
void model_decode(const struct translator *translator, struct sentence **sentences, size_t count);

/* A new folder, in which the model's files are links to this one's, to be ended with
 * model_folder_remove. */
char *model_folder(const char *folder);
/* The same of every file, but config.json has these defaults, a JSON object. */
char *model_folder_with(const char *folder, const char *defaults);
/* With all that was written into it. */
void model_folder_remove(char *folder);

/* The error of opening the model (ERROR_NONE: it opens) if the source side has this vocabulary in
 * its own file. */
struct error model_error_with(const char *folder, const char *vocabulary);

/* Parameters from the header of a container and the float32 values [count] after it. */
struct weights *parameters_open(const char *header, const float *values, size_t count,
                                struct backend backend);
void parameters_close(struct weights *weights);

#endif
