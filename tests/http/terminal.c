#include "tests/http/terminal.h"
#include "tests/check.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void terminal_open(struct terminal *terminal) {
    *terminal =
        (struct terminal){.reader = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)};
    ck_assert(terminal->reader >= 0 && grantpt(terminal->reader) == 0 &&
              unlockpt(terminal->reader) == 0);
    terminal->writer = open(ptsname(terminal->reader), O_RDWR | O_NOCTTY | O_CLOEXEC);
    ck_assert_int_ge(terminal->writer, 0);
}

bool terminal_shows(struct terminal *terminal, const char *text) {
    ssize_t count;
    while ((count = read(terminal->reader, terminal->text + terminal->length,
                         sizeof terminal->text - 1 - terminal->length)) > 0)
        terminal->length += (size_t)count;
    return strstr(terminal->text, text) != NULL;
}

void terminal_close(struct terminal *terminal) {
    close(terminal->reader);
    close(terminal->writer);
}
