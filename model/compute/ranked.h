/* One of the best tokens of a row. It has its own header because all search code needs it, but few files need the kernels. */
#ifndef ALIGND_RANKED_H
#define ALIGND_RANKED_H

struct ranked {
    int token;
    float logit;
};

#endif
