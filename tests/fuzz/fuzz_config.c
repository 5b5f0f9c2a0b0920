/* config.json, and its section of languages. */
#include "model/weights/config.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

static void read_languages(const char *path) {
    struct model_languages languages;
    struct error error = {0};
    if (model_languages_read(path, &languages, &error) != 0) {
        FUZZ_CHECK(error.message[0] != '\0');
        return;
    }
    FUZZ_CHECK(languages.count != 1 && languages.count <= MODEL_LANGUAGES_MOST);
    for (size_t i = 0; i < languages.count; i++) {
        const struct model_language *language = &languages.all[i];
        FUZZ_CHECK(*language->code && *language->source && *language->target &&
                   strlen(language->list) < MODEL_LANGUAGE_BYTES);
        FUZZ_CHECK(model_languages_find(&languages, languages.codes[i]) != NULL);
    }
    for (size_t i = 0; i < languages.alias_count; i++)
        FUZZ_CHECK(languages.aliases[i].language < languages.count);
    model_languages_done(&languages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct model_config config;
    struct error error = {0};
    const char *path = fuzz_file(data, size);
    read_languages(path);
    if (config_read(path, &config, &error) != 0) {
        FUZZ_CHECK(error.message[0] != '\0');
        return 0;
    }
    FUZZ_CHECK(config_positions(&config) > 0 && config_annotation_size(&config) > 0 &&
               config_readout_size(&config) > 0);
    FUZZ_CHECK(!strchr(config.tokenizer.source.file, '/') &&
               !strchr(config.tokenizer.target.file, '/'));
    return 0;
}
