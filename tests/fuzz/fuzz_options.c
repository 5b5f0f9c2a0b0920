/* The command line and the environment: each line is an argument, or a variable if it begins with
 * ALIGND_. */
#include "server/options/options.h"
#include "tests/fuzz/fuzz.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_LINES = 24, MAX_BYTES = 1024 };

static bool is_variable(const char *line) {
    return strncmp(line, "ALIGND_", 7) == 0 && strchr(line, '=');
}

static void check(int count, char *const *arguments) {
    struct options options = {0};
    struct error error = {0};
    if (options_parse(&options, count, arguments, &error) != 0)
        FUZZ_CHECK(error.message[0] != '\0');
    else if (!options.help && !options.version)
        FUZZ_CHECK(options.models.count > 0 && options.workers > 0 && options.rows > 0 &&
                   options.compute);
    options_done(&options);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char text[MAX_BYTES + 1], program[] = "alignd", *arguments[MAX_LINES + 1] = {program},
                              *variables[MAX_LINES];
    int count = 1;
    size_t variable_count = 0, length = size < MAX_BYTES ? size : MAX_BYTES;
    memcpy(text, data, length);
    text[length] = '\0';
    for (char *rest = text, *line;
         count < MAX_LINES && variable_count < MAX_LINES && (line = strsep(&rest, "\n"));) {
        if (is_variable(line))
            variables[variable_count++] = line;
        else
            arguments[count++] = line;
    }
    for (size_t i = 0; i < variable_count; i++)
        putenv(variables[i]);
    check(count, arguments);
    for (size_t i = 0; i < variable_count; i++) {
        *strchr(variables[i], '=') = '\0';
        unsetenv(variables[i]);
    }
    return 0;
}
