/* Parameters of a search.
 *
 * A request or an operator may set them. One table defines them for JSON and form requests,
 * /openapi.json, the command line, the environment and --help. The other dialects use its defaults.
 *
 * To add one, add a member to struct search_options (model/search/search.h), a row to the table,
 * and the search that uses it. */

#ifndef ALIGND_PARAMETERS_H
#define ALIGND_PARAMETERS_H

#include "model/translator.h"

/* The type of its member in struct search_options. */
enum parameter_type {
    PARAMETER_STRATEGY, /* const struct search_kind * */
    PARAMETER_INTEGER,  /* size_t */
    PARAMETER_REAL,     /* double */
    PARAMETER_SEED,     /* uint64_t */
};
enum { PARAMETER_TYPES = PARAMETER_SEED + 1 };

/* The sources that may set it. */
enum {
    PARAMETER_REQUEST = 1 << 0,
    PARAMETER_LINES = 1 << 1,
    PARAMETER_DAEMON = 1 << 2,
    PARAMETER_DOCUMENT = 1 << 3
}; /* PARAMETER_LINES: alignd translate; PARAMETER_DOCUMENT: a request for a document */

struct parameter {
    const char *name; /* the field's name; the flag has - for _ */
    int setters;
    enum parameter_type type;
    size_t offset; /* in struct search_options */
    double minimum, maximum;
    const char *fallback; /* its default; if that is out of range, text explains it, and a flag may
                             set it unless the model does */
    const struct search_kind *only; /* the only strategy that uses it; NULL: all */
    const char *text;               /* its meaning, for /openapi.json */
    const char *metavar, *help;     /* the flag's placeholder and its help; help NULL: text */
};

/* Returns the i-th parameter, or NULL after the last. */
const struct parameter *parameters_nth(size_t i);

/* Returns the defaults. Defaults that each model sets itself are out of range: beam_size 0,
 * length_penalty -1. */
struct search_options parameters_default(void);
bool parameters_of_model(const struct parameter *parameter);
/* Returns the seed of a request that has none: any number that every client can send back, since a
 * JavaScript number has 53 bits. */
uint64_t parameters_seed(void);
/* Sets these from the model. rows: of a worker, which bounds a default beam. */
void parameters_settle(struct search_options *options, const struct translator_info *info,
                       size_t rows);

/* Returns whether the search uses a beam of beam_size, at least in the beginning. */
bool parameters_beam(const struct search_options *options);

/* The names of the strategies (search_nth), for messages and --help. */
#define PARAMETERS_STRATEGIES "greedy, beam, sample or exact"

#endif
