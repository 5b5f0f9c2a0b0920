/* CTranslate2's model.bin: every number of every variable can be read, and the model is planned as
 * far as its flags and names allow, beside a vocabulary of nine tokens. */
#include "model/import/ctranslate2.h"
#include "tests/fuzz/foreign.h"
#include <stdio.h>
#include <stdlib.h>

static const char words[] =
    "[\"<blank>\", \"<s>\", \"</s>\", \"a\", \"b\", \"c\", \"d\", \"e\", \"<unk>\"]";

static void put(const char *folder, const char *name, const void *bytes, size_t size) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char folder[64];
    if (!*folder) {
        snprintf(folder, sizeof folder, "/dev/shm/alignd-fuzz-XXXXXX");
        FUZZ_CHECK(mkdtemp(folder) != NULL);
        put(folder, "shared_vocabulary.json", words, sizeof words - 1);
    }
    put(folder, "model.bin", data, size);

    struct error error = {0}, inner = {0};
    struct arena arena;
    struct ctranslate2_head head;
    struct container container = {.file = -1};
    struct conversion conversion = {.container = {.file = -1}, .config = json_object()};
    char path[80];
    arena_init(&arena, 1 << 16);
    snprintf(path, sizeof path, "%s/model.bin", folder);
    foreign_check(ctranslate2_open(path, &arena, &container, &head, &error), &container, &error);

    struct ctranslate2_parts parts;
    const char *paths[] = {folder};
    FUZZ_CHECK(conversion.config &&
               conversion_ctranslate2_find(paths, 1, &arena, &parts, &inner) == 0);
    const struct transformer_options options = {.preparation = "none"};
    int result = ctranslate2_convert(&parts, &options, &arena, &conversion, &inner);
    FUZZ_CHECK(result == 0 || inner.message[0] != '\0');
    FUZZ_CHECK(result != 0 || error.code == ERROR_NONE); /* what is not read is not converted */
    conversion_done(&conversion);
    arena_done(&arena);
    return 0;
}
