/* The log has one line per event, on stderr, as text or as a JSON object:
 *
 *   time=2026-01-31T12:00:00.123Z level=info event=request id=my-id status=200
 *   {"time":"2026-01-31T12:00:00.123Z","level":"info","event":"request","id":"my-id","status":200}
 *
 * A line never holds a user's text. Thread-safe: each line is one write. */
#ifndef ALIGND_LOG_H
#define ALIGND_LOG_H

#include "model/base/error.h"
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Sets the least severe level that is written ("error", "warn", "info" or "debug"; the default is
 * "info") and the format ("text", the default, or "json"). Both return -1 for any other name. Call
 * both before threads start. */
int log_set_level(const char *name);
int log_set_format(const char *name);

/* A field of a line. A text is escaped as in JSON and as in utf8_show, and cut below
 * LOG_VALUE_BYTES; a finite number is a number in JSON. */
struct log_field {
    const char *key;
    enum { LOG_FIELD_TEXT, LOG_FIELD_COUNT, LOG_FIELD_REAL } kind;
    union {
        const char *text;
        size_t count;
        double real; /* written with three decimals */
    };
};
enum { LOG_VALUE_BYTES = 512 };

static inline struct log_field log_text(const char *key, const char *text) {
    return (struct log_field){.key = key, .kind = LOG_FIELD_TEXT, .text = text};
}
static inline struct log_field log_count(const char *key, size_t count) {
    return (struct log_field){.key = key, .kind = LOG_FIELD_COUNT, .count = count};
}
static inline struct log_field log_real(const char *key, double real) {
    return (struct log_field){.key = key, .kind = LOG_FIELD_REAL, .real = real};
}

/* log_event(LOG_INFO, "ready", log_count("models", 2), log_text("folder", "weights")) writes a
 * line. A field for which the line has no room is left out. */
#define log_event(level, event, ...)                                                               \
    log_fields(level, event, (const struct log_field[]){__VA_ARGS__},                              \
               sizeof((const struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field))
void log_fields(enum log_level level, const char *event, const struct log_field *fields,
                size_t count);

/* Writes a text as a line, with escapes as in utf8_show; what is beyond 2 kB is left out. */
void log_message(const char *text);

/* Gets each line, [length] bytes with its line feed, on the thread that logs it. NULL, as at first:
 * lines go to stderr. Thread-safe. */
void log_set_sink(void (*sink)(void *owner, const char *line, size_t length), void *owner);

/* Starts a thread that writes the lines from now on, so that no caller waits for the reader of
 * stderr. At most 64 kB of lines wait; further lines are dropped, and a line reports how many,
 * unless stderr is a regular file: callers then wait for room. Call before other threads start.
 * Returns -1 with ERROR_MEMORY if the thread cannot start. */
int log_start(struct error *err);
/* Waits until everything is written, at most one second. It must be the last call; without
 * log_start it does nothing. */
void log_stop(void);
/* The number of lines that were not written. Thread-safe. */
uint64_t log_lines_dropped(void);

#endif
