/* Word alignment by Gibbs sampling, one direction: each target word is linked with one source word
 * or with none.
 *
 * The model is that of Östling and Tiedemann (2016), "Efficient word alignment with Markov chain
 * Monte Carlo": p(target word | source word) with a sparse Dirichlet prior, so that each source
 * word prefers few target words; a distribution over jumps from the place of one link to that of
 * the next (Vogel et al. 1996); and for each source word one over its fertility, the number of
 * words linked with it. A link is drawn given all others, of which only counts are kept. */
#ifndef ALIGND_GIBBS_SAMPLER_H
#define ALIGND_GIBBS_SAMPLER_H

#include "model/gibbs/corpus.h"
#include "model/gibbs/counts.h"

/* Which parts of the model a sweep draws with, each besides those before. The first sweep over a
 * corpus is a START: it makes links near the diagonal, for any words, so that early pairs do not
 * decide for later ones. */
enum stage { STAGE_START, STAGE_WORDS, STAGE_JUMPS, STAGE_FERTILITY };

enum { FERTILITIES = 8, JUMP_REACH = CORPUS_LONGEST + 1, NO_LINK = UINT8_MAX };

struct sampler {
    const struct side *source, *target; /* sides of a corpus of `pairs` pairs, the caller's */
    size_t pairs;
    struct counts
        words;        /* (source word, target word): links between them; source word 0: no link */
    uint32_t *totals; /* [source vocabulary] links of each source word */
    uint32_t *fertilities; /* [source vocabulary, FERTILITIES] occurrences of the word with 0, 1,
                              ... links; last: or more */
    uint8_t *links; /* [target words] the place of the source word in its sentence, or NO_LINK */
    float jumps[2 * JUMP_REACH + 1];
    float fertility_prior[FERTILITIES]; /* what a word's counts are smoothed with */
    uint64_t random;                    /* state of the generator */
};

/* Returns 0, or -1 with ERROR_MEMORY. sampler_done releases the contents. */
int sampler_init(struct sampler *sampler, const struct side *source, const struct side *target,
                 size_t pairs, uint64_t seed, struct error *err);
void sampler_done(struct sampler *sampler);

/* Draws each link of the corpus anew, given the others. Returns 0, or -1 with ERROR_MEMORY; then
 * the sampler is only good to be released. */
int sampler_sweep(struct sampler *sampler, enum stage stage, struct error *err);

/* Draws the links of one pair `sweeps` times, and adds to sums [target length, source length + 1]
 * how likely each link was each time, the last column: none. Returns 0, or -1 with ERROR_MEMORY. */
int sampler_observe(struct sampler *sampler, size_t pair, int sweeps, float *sums,
                    struct error *err);

#endif
