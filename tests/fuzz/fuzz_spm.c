/* SentencePiece's model files: the library must survive every file that model/text/sentencepiece.cc
 * accepts. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_tokenizer("sentencepiece", data, size);
    return 0;
}
