/* SentencePiece's model files: what model/text/sentencepiece.cc lets through, the library must survive. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_tokenizer("sentencepiece", data, size);
    return 0;
}
