/* The files beside CTranslate2's model.bin: config.json, vocabularies and an Argos package's
 * metadata.json, separated by the byte 0x1e. The first byte chooses which of them are there, the
 * next two are the sizes of the model's vocabularies. */
#include "model/import/ctranslate2.h"
#include "tests/fuzz/foreign.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES = 1, TWO_SIDES = 2, PACKAGE = 4, SEGMENTED = 8, HEAD_BYTES = 3, SEPARATOR = 0x1e };

static char folder[64], inner[80];

static void put(const char *name, const uint8_t *bytes, size_t size) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* Writes the next part under this name; NULL: skips it. */
static void put_part(const char *name, const uint8_t **at, const uint8_t *end) {
    const uint8_t *stop = memchr(*at, SEPARATOR, (size_t)(end - *at));
    stop = stop ? stop : end;
    if (name)
        put(name, *at, (size_t)(stop - *at));
    *at = stop + (stop < end);
}

static void make_folder(void) {
    static const char *const names[] = {"metadata.json",
                                        "model/config.json",
                                        "model/shared_vocabulary.txt",
                                        "model/shared_vocabulary.json",
                                        "model/source_vocabulary.txt",
                                        "model/source_vocabulary.json",
                                        "model/target_vocabulary.txt",
                                        "model/target_vocabulary.json"};
    if (!*folder) {
        snprintf(folder, sizeof folder, "/dev/shm/alignd-fuzz-XXXXXX");
        FUZZ_CHECK(mkdtemp(folder) != NULL);
        snprintf(inner, sizeof inner, "%s/model", folder);
        FUZZ_CHECK(mkdir(inner, 0700) == 0);
        put("model/model.bin", (const uint8_t *)"", 0);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[160];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < HEAD_BYTES)
        return 0;
    const uint8_t *at = data + HEAD_BYTES, *end = data + size;
    bool lines = data[0] & LINES, two = data[0] & TWO_SIDES, package = data[0] & PACKAGE;
    make_folder();
    put_part("model/config.json", &at, end);
    put_part(two     ? lines ? "model/source_vocabulary.txt" : "model/source_vocabulary.json"
             : lines ? "model/shared_vocabulary.txt"
                     : "model/shared_vocabulary.json",
             &at, end);
    put_part(!two    ? NULL
             : lines ? "model/target_vocabulary.txt"
                     : "model/target_vocabulary.json",
             &at, end);
    put_part(package ? "metadata.json" : NULL, &at, end);

    struct error error = {0};
    struct arena arena;
    struct ctranslate2_parts parts;
    struct ctranslate2_settings settings;
    struct tokenizer_files files;
    struct tokens target;
    json_t *languages = NULL;
    const char *const paths[] = {package ? folder : inner, "tests/data/tiny.en.spm"};
    arena_init(&arena, 1 << 16);
    int result =
        conversion_ctranslate2_find(paths, data[0] & SEGMENTED ? 2 : 1, &arena, &parts, &error);
    if (result == 0)
        result = ctranslate2_read_settings(&parts, &arena, &settings, &error);
    if (result == 0)
        result = ctranslate2_read_languages(&parts, &arena, &languages, &target, &error);
    if (result == 0)
        result = ctranslate2_read_words(&parts, &settings, (const size_t[]){data[1], data[2]},
                                        &arena, &files, &error);
    FUZZ_CHECK(result == 0 ? files.count > 0 : error.message[0] != '\0');
    if (result == 0)
        json_decref(files.section);
    json_decref(languages);
    arena_done(&arena);
    return 0;
}
