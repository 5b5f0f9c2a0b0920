#include "model/output.h"

int output_init(struct output *output, const struct model_config *config, const struct output_options *options,
                struct weights *weights, const struct kernels *kernels, struct error *err) {
    struct linear_names names = {.weight = config->output.tied ? "decoder.embedding" : "output.weight",
                                 .bias = "output.bias",
                                 .lookups = options->shortlists};
    *output = (struct output){.kernels = kernels};
    return weights_linear(weights, &names, options->vocabulary, config_readout_size(config), &output->linear, err);
}

void output_done(struct output *output) {
    linear_done(&output->linear);
}

/* Rows without ids from `row` on, as far as they stand side by side: one product. Returns the row after them. */
static size_t score_vocabulary(const struct linear *linear, const struct output_rows *rows, size_t row) {
    size_t end = row + 1;
    while (end < rows->rows && !rows->targets[end].ids)
        end++;
    linear_apply(linear, rows->readouts + row * linear->in, linear->in, end - row, rows->logits + row * linear->out, linear->out);
    return end;
}

static void score(const struct linear *linear, const struct output_rows *rows) {
    for (size_t r = 0; r < rows->rows;) {
        const struct target_ids *targets = &rows->targets[r];
        if (!targets->ids) {
            r = score_vocabulary(linear, rows, r);
            continue;
        }
        linear_look_up(linear, rows->readouts + r * linear->in, targets->ids, targets->count, rows->logits + r * linear->out);
        r++;
    }
}

static struct distribution summarize(const struct output *output, const struct output_rows *rows, size_t r) {
    const float *logits = rows->logits + r * output->linear.out;
    const int *ids = rows->targets[r].ids;
    struct ranked *top = rows->top + r * SEARCH_MAX_WANTED;
    size_t size = ids ? rows->targets[r].count : output->linear.out;
    struct row_summary summary = output->kernels->summarize(logits, size, rows->wanted[r], top);
    for (size_t i = 0; ids && i < summary.count; i++)
        top[i].token = ids[top[i].token];
    return (struct distribution){.logits = logits,
                                 .ids = ids,
                                 .log_sum = summary.log_sum,
                                 .entropy = summary.entropy,
                                 .size = size,
                                 .top = top,
                                 .top_count = summary.count};
}

void output_run(const struct output *output, const struct output_rows *rows) {
    score(&output->linear, rows);
    for (size_t r = 0; r < rows->rows; r++)
        rows->distributions[r] = summarize(output, rows, r);
}
