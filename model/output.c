#include "model/output.h"

int output_init(struct output *output, const struct model_config *config, size_t vocabulary, const float *embedding,
                struct weights *weights, const struct kernels *kernels, struct error *err) {
    size_t size = config_readout_size(config);
    *output = (struct output){0};
    if (!config->output.tied)
        return weights_linear(weights, &(struct linear_names){"output.weight", "output.bias"}, vocabulary, size, kernels,
                              &output->linear, err);
    const float *bias = weights_get(weights, "output.bias", vocabulary, 1, err);
    return bias ? linear_init(&output->linear, embedding, bias, vocabulary, size, kernels, err) : -1;
}

void output_done(struct output *output) {
    linear_done(&output->linear);
}

void output_run(const struct output *output, const struct output_rows *rows) {
    size_t vocabulary = output->linear.out;
    linear_apply(&output->linear, rows->readouts, output->linear.in, rows->rows, rows->logits, vocabulary);
    for (size_t r = 0; r < rows->rows; r++) {
        const float *logits = rows->logits + r * vocabulary;
        struct ranked *top = rows->top + r * SEARCH_MAX_WANTED;
        struct row_summary summary = output->linear.kernels->summarize(logits, vocabulary, rows->wanted[r], top);
        rows->distributions[r] = (struct distribution){.logits = logits,
                                                       .log_sum = summary.log_sum,
                                                       .entropy = summary.entropy,
                                                       .size = vocabulary,
                                                       .top = top,
                                                       .top_count = summary.count};
    }
}
