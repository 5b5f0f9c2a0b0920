/* One of the best tokens of a row. */
#ifndef ALIGND_RANKED_H
#define ALIGND_RANKED_H

struct ranked {
    int token;
    float logit;
};

#endif
