/* The parameters of a search that a request or an operator may set: one table. Requests in JSON and in forms
 * (server/api/fields.c), the command line, the environment and --help (option_table.c) read it; the other dialects take its
 * defaults.
 *
 * To add one: its place in struct search_options (model/search/search.h), a row of the table, and the search that uses it. */
#ifndef ALIGND_PARAMETERS_H
#define ALIGND_PARAMETERS_H

#include "model/translator.h"

/* What its place in struct search_options holds. */
enum parameter_type {
    PARAMETER_STRATEGY, /* const struct search_kind * */
    PARAMETER_INTEGER,  /* size_t */
    PARAMETER_REAL,     /* double */
    PARAMETER_SEED,     /* uint64_t */
};
enum { PARAMETER_TYPES = PARAMETER_SEED + 1 };

/* Who may set it. */
enum { PARAMETER_REQUEST = 1 << 0, PARAMETER_LINES = 1 << 1, PARAMETER_DAEMON = 1 << 2 }; /* PARAMETER_LINES: alignd translate */

struct parameter {
    const char *name; /* of the field; the flag has - for _ */
    int setters;
    enum parameter_type type;
    size_t offset; /* in struct search_options */
    double minimum, maximum;
    const char *fallback;           /* its default, which may be out of range: then it stands for what text says. A flag may say it,
                                       but for a model's (parameters_settle) */
    const struct search_kind *only; /* the one strategy that a request may set it for; NULL: any */
    const char *text;               /* what it means, for /openapi.json */
    const char *metavar, *help;     /* of the flag; help NULL: text */
};

/* The i-th; NULL: there are no more. */
const struct parameter *parameters_nth(size_t i);

/* What a search has where nothing is said, but for what is the model's: beam_size 0, length_penalty -1. */
struct search_options parameters_default(void);
bool parameters_of_model(const struct parameter *parameter);
/* Takes these from the model. rows: of a worker; no beam that nobody asked for is wider. */
void parameters_settle(struct search_options *options, const struct translator_info *info, size_t rows);

/* True if it takes a beam of beam_size: of its own, or to begin with. */
bool parameters_beam(const struct search_options *options);

/* The strategies by name (search_nth), for messages and --help. */
#define PARAMETERS_STRATEGIES "greedy, beam, sample or exact"

#endif
