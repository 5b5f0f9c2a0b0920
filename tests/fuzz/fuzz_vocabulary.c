/* Vocabulary files: the first byte chooses words or characters, the rest is the file. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 0)
        fuzz_tokenizer(data[0] % 2 == 0 ? "words" : "characters", data + 1, size - 1);
    return 0;
}
