/* config.json. */
#include "model/weights/config.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct model_config config;
    struct error error = {0};
    if (config_read(fuzz_file(data, size), &config, &error) != 0) {
        FUZZ_CHECK(error.message[0] != '\0');
        return 0;
    }
    FUZZ_CHECK(config_positions(&config) > 0 && config_annotation_size(&config) > 0 && config_readout_size(&config) > 0);
    FUZZ_CHECK(!strchr(config.tokenizer.source.file, '/') && !strchr(config.tokenizer.target.file, '/'));
    return 0;
}
