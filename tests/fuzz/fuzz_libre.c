/* LibreTranslate's dialect as JSON: the first byte chooses the endpoint, the rest is the body. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const paths[] = {"/translate", "/detect", "/languages"};
    if (size == 0)
        return 0;
    struct call call = {.body = (const char *)data + 1, .length = size - 1};
    fuzz_request(paths[data[0] % 3], &call);
    return 0;
}
