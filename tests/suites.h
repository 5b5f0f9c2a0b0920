/* One suite per module, each in tests/test_<module>.c; tests/main.c runs them all. */
#ifndef ALIGND_TESTS_SUITES_H
#define ALIGND_TESTS_SUITES_H

#include "tests/check.h"

/* One a line: a tests/test_*.c has Suite *<name>_suite(void). */
/* clang-format off */
#define SUITES(X) \
    X(arena) \
    X(file) \
    X(checksum) \
    X(safetensors) \
    X(panels) \
    X(weights) \
    X(config) \
    X(tokenizer) \
    X(labels) \
    X(numbered) \
    X(preparation) \
    X(capitals) \
    X(bytes) \
    X(segmenter) \
    X(layout) \
    X(numbers) \
    X(text) \
    X(kernels) \
    X(blocks) \
    X(transformer) \
    X(matrix) \
    X(pages) \
    X(cell) \
    X(attention) \
    X(output) \
    X(search) \
    X(golden) \
    X(shortlist) \
    X(batch) \
    X(answer) \
    X(amounts) \
    X(signs) \
    X(ending) \
    X(translator) \
    X(rendering) \
    X(parameters) \
    X(variant) \
    X(options) \
    X(health) \
    X(shipped) \
    X(records) \
    X(download) \
    X(outfile) \
    X(headway) \
    X(compress) \
    X(greeting) \
    X(request) \
    X(scheduler) \
    X(integrity) \
    X(pivot) \
    X(usage) \
    X(kept_files) \
    X(chores) \
    X(meter) \
    X(admission) \
    X(metrics) \
    X(decimal) \
    X(writer) \
    X(api) \
    X(api_json) \
    X(api_dialect) \
    X(plain) \
    X(render) \
    X(copies) \
    X(links) \
    X(omission) \
    X(quality) \
    X(quality_weights) \
    X(strategies) \
    X(exact) \
    X(past) \
    X(table) \
    X(backpointers) \
    X(html) \
    X(marks) \
    X(document) \
    X(document_json) \
    X(prose) \
    X(icu) \
    X(markdown) \
    X(po) \
    X(xliff) \
    X(office) \
    X(subtitles) \
    X(xml) \
    X(language) \
    X(events) \
    X(phrases) \
    X(opaque) \
    X(readable) \
    X(pattern) \
    X(guard) \
    X(glossary) \
    X(formality) \
    X(client) \
    X(limiter) \
    X(keys) \
    X(glossaries) \
    X(bodies) \
    X(memory_limit) \
    X(print) \
    X(cutoff) \
    X(form) \
    X(api_access) \
    X(listen) \
    X(catalog) \
    X(cache) \
    X(log) \
    X(reserve) \
    X(task) \
    X(gibbs) \
    X(soft_alignment) \
    X(looks) \
    X(words) \
    X(phrase_pairs) \
    X(beads) \
    X(import_readers) \
    X(import) \
    X(ctranslate2) \
/* clang-format on */

#define DECLARE(name) Suite *name##_suite(void);
SUITES(DECLARE)
#undef DECLARE
/* Parts of the kernels' suite: compute/test_products.c and network/test_softmax.c. */
TCase *products_cases(void);
TCase *softmax_cases(void);

#endif
