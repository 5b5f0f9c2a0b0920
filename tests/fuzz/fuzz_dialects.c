/* Other services' dialects: the first byte chooses the endpoint, the first line has the fields of
 * the query string
 * ("name=value&..."), the rest is a JSON body or, if it is empty, everything is in the query. */
#include "server/http/form.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/requests.h"
#include <string.h>

static const char *const paths[] = {"/v2/translate",
                                    "/language/translate/v2",
                                    "/language/translate/v2/detect",
                                    "/translate",
                                    "/detect",
                                    "/breaksentence",
                                    "/imme",
                                    "/kiss",
                                    "/deeplx"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    const char *query = (const char *)data + 1, *end = memchr(query, '\n', size - 1);
    size_t length = end ? (size_t)(end - query) : size - 1;
    struct arena arena;
    arena_init(&arena, 4096);
    struct form_fields fields = {.arena = &arena};
    if (form_parse(&fields, "application/x-www-form-urlencoded", query, length, NULL) == 0) {
        struct call call = {.body = end ? end + 1 : "",
                            .length = end ? size - 2 - length : 0,
                            .content_type = "application/json",
                            .fields = fields.all,
                            .field_count = fields.count};
        fuzz_request(paths[data[0] % (sizeof paths / sizeof *paths)], &call);
    }
    arena_done(&arena);
    return 0;
}
