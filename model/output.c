#include "model/output.h"

int output_init(struct output *output, const struct model_config *config, size_t vocabulary, struct weights *weights,
                const struct kernels *kernels, struct error *err) {
    size_t size = config_readout_size(config);
    const char *weight = config->output.tied ? "decoder.embedding" : "output.weight";
    *output = (struct output){.kernels = kernels};
    return weights_linear(weights, &(struct linear_names){weight, "output.bias"}, vocabulary, size, &output->linear, err);
}

void output_done(struct output *output) {
    linear_done(&output->linear);
}

void output_run(const struct output *output, const float *readouts, size_t rows, float *logits,
                struct distribution *distributions) {
    size_t vocabulary = output->linear.out;
    linear_apply(&output->linear, readouts, output->linear.in, rows, logits, vocabulary);
    for (size_t r = 0; r < rows; r++) {
        struct row_sums sums = output->kernels->sums(logits + r * vocabulary, vocabulary);
        distributions[r] = (struct distribution){
            .logits = logits + r * vocabulary, .log_sum = sums.log_sum, .entropy = sums.entropy, .size = vocabulary};
    }
}
