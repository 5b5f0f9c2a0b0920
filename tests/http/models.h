/* Functions that the tests of --models share: a daemon with its own directory of the folders a (en
 * to fr), b (en to de) and c (pt-BR to en), and requests to it. */
#ifndef ALIGND_TESTS_HTTP_MODELS_H
#define ALIGND_TESTS_HTTP_MODELS_H

#include "tests/http/client.h"

#define TRANSLATE(model) "{'text': 'A boy plays.', 'model': '" model "', 'include': []}"

enum { MODELS_PATH_BYTES = 256, MODELS_MOST = 8 };

extern char models_directory[32],
    models_folders[MODELS_MOST][MODELS_PATH_BYTES]; /* paths, in the order of their making */
extern struct daemon models_served;

/* Around each test. models_teardown also stops the daemon, unless its pid is 0. */
void models_setup(void);
void models_teardown(void);
/* Starts the daemon, with one more option. */
void models_start(const char *option, const char *value);
/* Another folder in the directory. */
void models_add(const char *name, const char *source, const char *target);

/* POST /translate, which must be answered with this status. */
void models_translate(const char *body, long status, struct reply *reply);
void models_ask(const char *body, long status);
/* The one of GET /models with this name, NULL if there is none. */
json_t *shipped_find_downloaded(const json_t *root, const char *name);

#endif
