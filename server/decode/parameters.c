/* This module hides which parameters of a search exist, who may set them, and their defaults. */
#include "server/decode/parameters.h"
#include "server/base/clock.h"
#include <stdlib.h>
#include <sys/random.h>

enum { ANYWHERE = PARAMETER_REQUEST | PARAMETER_LINES | PARAMETER_DOCUMENT };

#define PLACE(name) offsetof(struct search_options, name)

static const struct parameter table[] = {
    {"strategy", ANYWHERE, PARAMETER_STRATEGY, PLACE(strategy), 0, 0, "beam", NULL, "how to search",
     "NAME", PARAMETERS_STRATEGIES},
    {"beam_size", ANYWHERE, PARAMETER_INTEGER, PLACE(beam_size), 1, SEARCH_MAX_ROWS, "0", NULL,
     "size of the beam; by default the model's, which is 5 for most", "N", NULL},
    {"n_best", PARAMETER_REQUEST, PARAMETER_INTEGER, PLACE(n_best), 1, SEARCH_MAX_ROWS, "1", NULL,
     "number of hypotheses to return; with beam at most beam_size, with greedy 1", NULL, NULL},
    {"length_penalty", ANYWHERE, PARAMETER_REAL, PLACE(length_penalty), 0, 2, "-1", NULL,
     "score = log_prob / length ^ length_penalty; 0: none; by default the model's, which is 1 for "
     "most",
     "P", "score = log_prob / length^P; by default the model's, which is 1 for most"},
    {"min_length", ANYWHERE, PARAMETER_INTEGER, PLACE(min_length), 0, TRANSLATOR_MAX_TARGET, "0",
     NULL, "minimum number of target tokens", "N", NULL},
    {"max_length", ANYWHERE, PARAMETER_INTEGER, PLACE(max_length), 1, TRANSLATOR_MAX_TARGET, "0",
     NULL, "maximum number of target tokens; by default the model's ratio to the source", "N",
     "maximum number of target tokens; 0: the model's ratio"},
    {"coverage_penalty", ANYWHERE, PARAMETER_REAL, PLACE(coverage_penalty), 0, 2, "0", NULL,
     "score += coverage_penalty * sum over the source tokens of log(min(1, attention received))",
     "P", "score += P * sum over source tokens of log(min(1, attention received))"},
    {"no_repeat_ngram", ANYWHERE, PARAMETER_INTEGER, PLACE(no_repeat_ngram), 0, 20, "0", NULL,
     "no sequence of this many tokens may occur twice; 0: off", "N", NULL},
    {"repetition_penalty", ANYWHERE, PARAMETER_REAL, PLACE(repetition_penalty), 1, 10, "1", NULL,
     "factor on the log-probability of a token that has already occurred", "P",
     "factor on the log-probabilities of tokens that have already occurred"},
    {"temperature", ANYWHERE, PARAMETER_REAL, PLACE(sampling.temperature), 0.01, 10, "1",
     &search_sample, "log-probabilities are divided by it", "T",
     "strategy sample: log-probabilities are divided by it"},
    {"top_k", ANYWHERE, PARAMETER_INTEGER, PLACE(sampling.top_k), 0, 1000, "0", &search_sample,
     "draw only from this many of the best tokens; 0: all", "N",
     "strategy sample: draw only from this many of the best tokens; 0: all"},
    {"top_p", ANYWHERE, PARAMETER_REAL, PLACE(sampling.top_p), 0.01, 1, "1", &search_sample,
     "draw only from the fewest best tokens that together have this probability", "P",
     "strategy sample: draw only from the fewest best tokens that together have this probability"},
    {"seed", ANYWHERE, PARAMETER_SEED, PLACE(sampling.seed), 0, 9007199254740991, "0",
     &search_sample, "the same seed gives the same texts; random by default", "N",
     "strategy sample: the same seed gives the same translations"},
    {"exact_steps", PARAMETER_LINES | PARAMETER_DAEMON, PARAMETER_INTEGER, PLACE(max_steps), 1, 1e9,
     "5000", &search_exact, NULL, "N",
     "strategy exact: decoder steps per sentence before the best translation found so far is "
     "returned"},
};

const struct parameter *parameters_nth(size_t i) {
    return i < sizeof table / sizeof *table ? &table[i] : NULL;
}

bool parameters_beam(const struct search_options *options) {
    return options->strategy == &search_beam || options->strategy == &search_exact;
}

struct search_options parameters_default(void) {
    struct search_options options = {0};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const char *fallback = table[i].fallback;
        void *place = (char *)&options + table[i].offset;
        switch (table[i].type) {
        case PARAMETER_STRATEGY:
            *(const struct search_kind **)place = search_find(fallback);
            break;
        case PARAMETER_INTEGER:
            *(size_t *)place = strtoul(fallback, NULL, 10);
            break;
        case PARAMETER_REAL:
            *(double *)place = strtod(fallback, NULL);
            break;
        case PARAMETER_SEED:
            *(uint64_t *)place = strtoull(fallback, NULL, 10);
        }
    }
    return options;
}

uint64_t parameters_seed(void) {
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        seed = (uint64_t)clock_us();
    return seed >> 11;
}

bool parameters_of_model(const struct parameter *parameter) {
    return parameter->offset == PLACE(beam_size) || parameter->offset == PLACE(length_penalty);
}

void parameters_settle(struct search_options *options, const struct translator_info *info,
                       size_t rows) {
    if (options->beam_size == 0)
        options->beam_size = info->beam_size < rows ? info->beam_size : rows;
    if (options->length_penalty < 0)
        options->length_penalty = info->length_penalty;
}
