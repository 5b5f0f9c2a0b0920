/* One line per event on stderr, as text or as a JSON object:
 *
 *   time=2026-01-31T12:00:00.123Z level=info event=request id=my-id status=200
 *   {"time":"2026-01-31T12:00:00.123Z","level":"info","event":"request","id":"my-id","status":200}
 *
 * A line never holds a user's text. Thread-safe: each line is one write. */
#ifndef ALIGND_LOG_H
#define ALIGND_LOG_H

#include "model/base/error.h"
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

/* Sets the least severe level that is written; the default is LOG_INFO. Call both before threads start. */
void log_set_level(enum log_level level);
void log_set_format(enum log_format format); /* the default is LOG_TEXT */
/* Parse "error", "warn", "info" or "debug", and "text" or "json". Both return -1 for any other name. */
int log_parse_level(const char *name, enum log_level *level);
int log_parse_format(const char *name, enum log_format *format);

/* format: the fields, "key=%s key=%zu", separated by spaces. Values are escaped where necessary, and a value that consists of one
 * numeric conversion is a number in JSON. Conversions: d i u x (with l, ll or z), f g, s, with or without a precision. Values are
 * truncated to LOG_VALUE_BYTES, and a field for which the line has no room is omitted. */
enum { LOG_VALUE_BYTES = 512 };
__attribute__((format(printf, 3, 4))) void log_event(enum log_level level, const char *event, const char *format, ...);

/* Writes a line unchanged; it must have less than 2 kB and no line feed. */
void log_message(const char *text);

/* From now on a thread writes the lines, so that no caller waits for the reader of stderr. At most 64 kB of lines wait; further
 * lines are dropped, and a line reports how many. Call before other threads start. Returns -1 with ERROR_MEMORY if the thread
 * cannot start. */
int log_start(struct error *err);
/* Waits until everything is written, at most one second. It must be the last call; without log_start it does nothing. */
void log_stop(void);
/* The number of lines that were not written. Thread-safe. */
uint64_t log_lines_dropped(void);

#endif
