/* Shortlists of Marian, binary and text: all targets are ids, sorted for each word, and each once.
 * The first byte chooses: even, one list for both sides; its third bit: the file is a quality
 * model, whose weights are numbers. */
#include "model/import/conversion.h"
#include "tests/fuzz/foreign.h"
#include <math.h>

static void check_quality(const char *path) {
    struct error error = {0};
    struct arena arena;
    float weights[QUALITY_WEIGHTS];
    arena_init(&arena, 1 << 16);
    int result = conversion_import_quality(path, &arena, weights, &error);
    FUZZ_CHECK(result == 0 || error.message[0] != 0);
    for (size_t i = 0; result == 0 && i < QUALITY_WEIGHTS; i++)
        FUZZ_CHECK(isfinite(weights[i]));
    arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 0 && data[0] & 4) {
        check_quality(fuzz_file(data + 1, size - 1));
        return 0;
    }
    struct error error = {0};
    struct arena arena;
    arena_init(&arena, 1 << 16);
    const char *const words[] = {"</s>", "<unk>", "a", "b", "c"};
    struct vocabulary list;
    struct ids ids;
    struct conversion_import_shortlist made;
    FUZZ_CHECK(vocabulary_of_words("v", words, 5, &arena, &list, NULL) == 0 &&
               conversion_ids_of(&list, &arena, &ids, NULL) == 0);
    const struct shortlist_options options = {&ids, &ids, size > 0 && data[0] % 2 == 0, 3, 2};
    int result = conversion_import_shortlist(fuzz_file(data + (size > 0), size - (size > 0)),
                                             &options, &arena, &made, &error);
    FUZZ_CHECK(result == 0 || error.message[0] != 0);
    for (size_t i = 0; result == 0 && i + 1 < made.offset_count; i++)
        for (int32_t t = made.offsets[i]; t < made.offsets[i + 1]; t++)
            FUZZ_CHECK(made.targets[t] >= 0 && made.targets[t] < 5 &&
                       (t == made.offsets[i] || made.targets[t - 1] < made.targets[t]));
    arena_done(&arena);
    return 0;
}
