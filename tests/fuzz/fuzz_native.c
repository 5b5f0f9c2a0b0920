/* The native dialect: the first byte chooses the endpoint, the rest is the body. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    struct call call = {
        .body = (const char *)data + 1, .length = size - 1, .content_type = "application/json"};
    fuzz_request(data[0] % 2 == 0 ? "/translate" : "/attention", &call);
    return 0;
}
