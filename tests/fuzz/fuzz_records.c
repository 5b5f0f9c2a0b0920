/* Mozilla's list of models. The first byte chooses: the list for a server, the same with previews,
 * or a filter expression and a pair of versions in the text. What is read names files that stay in
 * their folder, and each model has all its files. */
#include "server/get/get_parts.h"
#include "tests/fuzz/fuzz.h"
#include <stdio.h>
#include <string.h>

static void check_file(const struct record_file *file) {
    FUZZ_CHECK(*file->name && *file->name != '.' && !strchr(file->name, '/'));
    FUZZ_CHECK(*file->location && *file->location != '/' && *file->location != '.' &&
               !strstr(file->location, "/."));
    FUZZ_CHECK(strlen(file->sha256) == 64 && strlen(file->unpacked_sha256) == 64);
    FUZZ_CHECK(file->bytes > 0 && file->unpacked_bytes > 0 &&
               (file->packed || file->bytes == file->unpacked_bytes));
}

static void check_model(const struct records *records, const struct record_model *model) {
    uint64_t bytes = 0, unpacked = 0;
    char pair[64];
    for (int i = 0; i < RECORD_KINDS; i++) {
        if (!model->files[i].name)
            continue;
        check_file(&model->files[i]);
        bytes += model->files[i].bytes;
        unpacked += model->files[i].unpacked_bytes;
    }
    FUZZ_CHECK(model->files[RECORD_MODEL].name && model->files[RECORD_LEX].name);
    FUZZ_CHECK(model->bytes == bytes && model->unpacked_bytes == unpacked);
    snprintf(pair, sizeof pair, "%s-%s", model->source, model->target);
    FUZZ_CHECK(records_find(records, pair) != NULL);
}

static void try_expression(const char *text) {
    bool applies;
    int order, opposite;
    struct error error = {0};
    const char *other = strchr(text, ' ');
    FUZZ_CHECK(records_filter(text, &records_released, &applies, &error) == 0 || error.message[0]);
    if (other && records_versions(text, other + 1, &order))
        FUZZ_CHECK(records_versions(other + 1, text, &opposite) && (order > 0) == (opposite < 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena arena;
    struct records records;
    struct error error = {0};
    arena_init(&arena, 1 << 16);
    const char *text = size > 0 ? arena_copy(&arena, (const char *)data + 1, size - 1) : "";
    if (size > 0 && data[0] % 3 == 2) {
        try_expression(text);
    } else if (records_read(text, size > 0 ? size - 1 : 0,
                            size > 0 && data[0] % 3 ? &records_preview : &records_released, &arena,
                            &records, &error) == 0) {
        for (size_t i = 0; i < records.count; i++)
            check_model(&records, &records.models[i]);
        FUZZ_CHECK(records.left_out == 0 ? !records.reason : records.reason != NULL);
    } else {
        FUZZ_CHECK(error.message[0] != 0);
    }
    arena_done(&arena);
    return 0;
}
