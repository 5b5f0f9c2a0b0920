/* Marian's options: a mapping, and the model that it describes. An odd first byte: the options of a
 * decoder. */
#include "model/import/conversion.h"
#include "tests/fuzz/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error error = {0};
    struct arena arena;
    arena_init(&arena, 1 << 16);
    struct mapping mapping;
    struct marian_options options;
    struct marian_defaults defaults;
    const char *text = size > 0 ? arena_copy(&arena, (const char *)data + 1, size - 1) : "";
    int result = source_mapping_read(text, size > 0 ? size - 1 : 0, &arena, &mapping, &error);
    FUZZ_CHECK(result == 0 || error.message[0]);
    if (result == 0 && size > 0 && data[0] % 2 == 1) {
        result = conversion_marian_decoder_read(&mapping, &arena, &defaults, &error);
        FUZZ_CHECK(result == 0 ? json_is_object(defaults.section) : error.message[0] != 0);
        if (result == 0)
            json_decref(defaults.section);
    } else if (size > 0) {
        error = (struct error){0};
        result = marian_options_read(text, size - 1, data[0] % 4 == 0, &arena, &options, &error);
        FUZZ_CHECK(result == 0 ? options.count > 0 : error.message[0] != 0);
    }
    arena_done(&arena);
    return 0;
}
