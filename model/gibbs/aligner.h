/* Both directions of a corpus, aligned. */
#ifndef ALIGND_GIBBS_ALIGNER_H
#define ALIGND_GIBBS_ALIGNER_H

#include "model/gibbs/sampler.h"

enum { ALIGNER_MAX_SAMPLERS = 16 };

struct aligner_options {
    int samplers; /* 1..ALIGNER_MAX_SAMPLERS, each with a seed of its own; links are what they find
                     together */
    int sweeps;   /* with the whole model; 0: as many as the corpus needs, fewer the larger it is */
    uint64_t seed;
    void (*report)(int direction, int sampler,
                   int samplers); /* called when each sampler is done; NULL: not needed */
};

/* links[0]: [words of side 1] the place on side 0 that each word is linked with, or NO_LINK;
 * links[1]: [words of side 0], the other way round. Both are allocated here, for the caller to
 * free. Returns 0, or -1 with ERROR_MEMORY. */
int aligner_run(const struct corpus *corpus, const struct aligner_options *options,
                uint8_t *links[2], struct error *err);

#endif
