#include "model/output.h"

int output_init(struct output *output, const struct model_config *config, size_t vocabulary, struct weights *weights,
                const struct kernels *kernels, struct error *err) {
    size_t size = config_readout_size(config);
    const char *weight = config->output.tied ? "decoder.embedding" : "output.weight";
    *output = (struct output){.kernels = kernels};
    return weights_linear(weights, &(struct linear_names){.weight = weight, .bias = "output.bias"}, vocabulary, size,
                          &output->linear, err);
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
        struct row_summary summary = output->kernels->summarize(logits, vocabulary, rows->wanted[r], top);
        rows->distributions[r] = (struct distribution){.logits = logits,
                                                       .log_sum = summary.log_sum,
                                                       .entropy = summary.entropy,
                                                       .size = vocabulary,
                                                       .top = top,
                                                       .top_count = summary.count};
    }
}
