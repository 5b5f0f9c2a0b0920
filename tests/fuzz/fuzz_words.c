/* Vocabularies: the first byte chooses YAML, JSON, SentencePiece or one word a line. */
#include "model/import/vocabulary.h"
#include "tests/fuzz/foreign.h"
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct error error = {0};
    struct arena arena;
    arena_init(&arena, 1 << 16);
    static const char *const endings[] = {"yml", "json", "spm", "txt"};
    struct vocabulary made;
    struct ids ids;
    char path[96];
    snprintf(path, sizeof path, "%s/v.%s", foreign_work(), endings[size > 0 ? data[0] % 4 : 3]);
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file && fwrite(data + (size > 0), 1, size - (size > 0), file) == size - (size > 0) && fclose(file) == 0);
    int result = vocabulary_import(path, 4, &arena, &made, &error);
    FUZZ_CHECK(result == 0 ? made.size == 4 && ids_of(&made, &arena, &ids, &error) == 0 && ids.size == 4 : error.message[0] != 0);
    arena_done(&arena);
    return 0;
}
