/* server/shipped: the address in the form that a browser and curl accept. */
#include "server/commands.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>

#define QUESTION "/translate?text=Where+is+the+train+station%3F'"

static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g",
                                    "h", "i", "j", "k", "l", "m", "n"};

static const struct {
    struct greeting greeting;
    const char *lines[5];
} rows[] = {
    {{.address = "127.0.0.1:8080",
      .directory = "/usr/share/alignd",
      .models = names,
      .model_count = 2},
     {"alignd serves http://127.0.0.1:8080/ (Ctrl+C ends it)", "Models: a, b, in /usr/share/alignd",
      "Try:    curl 'http://127.0.0.1:8080" QUESTION}},
    {{.address = "127.0.0.1:8080", .models = names, .model_count = 2, .usual = "b"},
     {"alignd serves http://127.0.0.1:8080/ (Ctrl+C ends it)", "Models: a, b",
      "Default: b, for requests without model and languages (--default-model)",
      "Try:    curl 'http://127.0.0.1:8080" QUESTION}},
    {{.address = "127.0.0.1:8080", .models = names, .model_count = 1, .gets = true},
     {"alignd serves http://127.0.0.1:8080/ (Ctrl+C ends it)", "Models: a",
      "Try:    curl 'http://127.0.0.1:8080" QUESTION,
      "More:   alignd get de-en downloads a model of Mozilla; alignd get --list shows which there "
      "are"}},
    {{.address = "0.0.0.0:80", .usual = "a", .models = names, .model_count = 1, .keys = true},
     {"alignd serves http://127.0.0.1:80/ (Ctrl+C ends it)", "Models: a",
      "Try:    curl -H 'Authorization: Bearer KEY' 'http://127.0.0.1:80" QUESTION}},
    {{.address = "[::]:8443", .tls = true, .models = names, .model_count = 14},
     {"alignd serves https://[::1]:8443/ (Ctrl+C ends it)",
      "Models: a, b, c, d, e, f, g, h, i, j, k, l and 2 more",
      "Try:    curl -k 'https://[::1]:8443" QUESTION}},
    {{.address = "unix:/run/alignd.socket", .tls = true, .models = names, .model_count = 12},
     {"alignd serves the socket /run/alignd.socket (Ctrl+C ends it)",
      "Models: a, b, c, d, e, f, g, h, i, j, k, l",
      "Try:    curl --unix-socket '/run/alignd.socket' 'http://localhost" QUESTION}},
};

START_TEST(lines) {
    char *text = greeting_write(&rows[_i].greeting), *rest = text;
    for (size_t i = 0; i < 5 && rows[_i].lines[i]; i++)
        ck_assert_str_eq(strsep(&rest, "\n"), rows[_i].lines[i]);
    ck_assert_ptr_null(rest);
    free(text);
}
END_TEST

Suite *greeting_suite(void) {
    Suite *suite = suite_create("greeting");
    TCase *tests = tcase_create("greeting");
    tcase_add_loop_test(tests, lines, 0, sizeof rows / sizeof *rows);
    suite_add_tcase(suite, tests);
    return suite;
}
