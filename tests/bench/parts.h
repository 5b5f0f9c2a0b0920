/* Measures where decoding spends its time. The linker wraps functions that one object file calls in
 * another (--wrap, see the Makefile), so what is measured is the shipped code. Outside
 * parts_begin...parts_end the wrapped functions are only passed on. */
#ifndef ALIGND_BENCH_PARTS_H
#define ALIGND_BENCH_PARTS_H

enum part {
    PART_ENCODE,    /* encoder_begin and encoder_advance; decoder_start, decoder_remember */
    PART_SELF,      /* heads_look_around, in there */
    PART_STEP,      /* decoder_step: cells, readout and attention */
    PART_ATTENTION, /* attention_run: query, scores, softmax, context; heads_look */
    PART_OUTPUT,    /* output_run */
    PART_SEARCH,    /* search_advance */
    PART_PRODUCTS,  /* linear_apply_all, linear_apply_twice, linear_look_up_rows: within all of the
                       above */
    PART_COUNT
};

struct parts {
    double seconds[PART_COUNT];
    double multiply_adds; /* of all products */
};

/* Adds what this thread does from now on. */
void parts_begin(struct parts *parts);
void parts_end(void);

#endif
