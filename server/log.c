#include "server/log.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 1024 };

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static enum log_level threshold = LOG_INFO;

void log_set_level(enum log_level level) {
    threshold = level;
}

int log_parse_level(const char *name, enum log_level *level) {
    for (int i = LOG_ERROR; i <= LOG_DEBUG; i++) {
        if (strcmp(name, level_names[i]) == 0) {
            *level = (enum log_level)i;
            return 0;
        }
    }
    return -1;
}

void log_event(enum log_level level, const char *event, const char *format, ...) {
    if (level > threshold)
        return;
    char line[LINE_BYTES];
    size_t used = (size_t)snprintf(line, sizeof line, "level=%s event=%s ", level_names[level], event);
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(line + used, sizeof line - used, format, arguments);
    va_end(arguments);
    used += written < 0 ? 0 : (size_t)written;
    if (used > sizeof line - 1)
        used = sizeof line - 1; /* a line too long is cut */
    line[used] = '\n';
    /* one write, so that lines of different threads do not mix; there is nobody to tell when stderr fails */
    (void)!write(STDERR_FILENO, line, used + 1);
}
