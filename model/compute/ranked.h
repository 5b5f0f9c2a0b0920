/* One of the best tokens of a row. It has a header of its own because all code that searches sees it, and few files see the
 * kernels. */
#ifndef ALIGND_RANKED_H
#define ALIGND_RANKED_H

struct ranked {
    int token;
    float logit;
};

#endif
