#include "model/search/search_results.h"
#include "model/search/search_node.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- scores ---- */

double search_normalised(const struct search *search, const struct search_node *last) {
    return last->merit / pow((double)last->depth, search->options.length_penalty);
}

/* Wu et al. 2016: sum over j of log(min(1, sum over i of a_ij)). A token outside the window for good counts log(FLT_MIN). */
static double coverage_of(const struct search *search, const struct search_node *last) {
    double sum = 0;
    for (size_t j = 0; j < search->source_length; j++) {
        double got = 0;
        for (const struct search_node *node = last; node && got < 1; node = node->parent)
            got += (double)node->attention[j];
        sum += log(fmin(1, fmax(got, (double)FLT_MIN)));
    }
    return sum;
}

double search_score(const struct search *search, const struct search_node *last) {
    double score = search_normalised(search, last), beta = search->options.coverage_penalty;
    return beta > 0 ? score + beta * coverage_of(search, last) : score;
}

/* ---- hypotheses ---- */

static enum finish finish_of(const struct search *search, bool ended) {
    if (search->exhausted)
        return FINISH_BUDGET;
    return ended ? FINISH_EOS : FINISH_LENGTH;
}

static int unfold(const struct search *search, const struct search_node *last, struct hypothesis *out) {
    size_t count = last->depth, length = last->token == search->ids.end ? count - 1 : count;
    int *tokens = arena_alloc(search->arena, count, sizeof *tokens);
    float *log_probs = arena_alloc(search->arena, count, sizeof *log_probs);
    float *entropies = arena_alloc(search->arena, count, sizeof *entropies);
    const float **attention = arena_alloc(search->arena, count, sizeof *attention);
    const struct alternatives **alternatives = arena_alloc(search->arena, count, sizeof *alternatives);
    if (arena_failed(search->arena))
        return -1;
    for (const struct search_node *node = last; node; node = node->parent) {
        size_t i = node->depth - 1;
        tokens[i] = node->token;
        log_probs[i] = node->log_prob;
        entropies[i] = node->entropy;
        attention[i] = node->attention;
        alternatives[i] = node->alternatives;
    }
    *out = (struct hypothesis){.tokens = tokens,
                               .length = length,
                               .ended = length < count,
                               .finish = finish_of(search, length < count),
                               .log_probs = log_probs,
                               .entropies = entropies,
                               .attention = attention,
                               .alignment = attention,
                               .alternatives = alternatives,
                               .log_prob = last->total,
                               .score = search_score(search, last)};
    return 0;
}

int search_results(const struct search *search, struct hypothesis **hypotheses, size_t *count, struct error *err) {
    struct hypothesis *list = arena_alloc(search->arena, search->ended_count, sizeof *list);
    if (!list)
        return error_memory(err);
    for (size_t i = 0; i < search->ended_count; i++) {
        struct hypothesis h;
        if (unfold(search, search->ended[i], &h) != 0)
            return error_memory(err);
        size_t place = i; /* insertion: of equal scores the one that ended first stays ahead */
        for (; place > 0 && list[place - 1].score < h.score; place--)
            list[place] = list[place - 1];
        list[place] = h;
    }
    *hypotheses = list;
    *count = search->ended_count < search->options.n_best ? search->ended_count : search->options.n_best;
    return 0;
}
