/* One line per event on stderr, as text or as a JSON object:
 *
 *   time=2026-01-31T12:00:00.123Z level=info event=request id=my-id status=200
 *   {"time":"2026-01-31T12:00:00.123Z","level":"info","event":"request","id":"my-id","status":200}
 *
 * Never a user's text. Thread-safe: one write per line. */
#ifndef ALIGND_LOG_H
#define ALIGND_LOG_H

#include "model/base/error.h"
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

/* Lines of this level and the more severe ones are written; the default is LOG_INFO. Call before threads start, both. */
void log_set_level(enum log_level level);
void log_set_format(enum log_format format); /* the default is LOG_TEXT */
/* "error", "warn", "info" or "debug"; "text" or "json". -1 if it is none of them. */
int log_parse_level(const char *name, enum log_level *level);
int log_parse_format(const char *name, enum log_format *format);

/* format: fields, "key=%s key=%zu", with a space between them. Values are escaped where they need it, whatever they hold; a value
 * of which a conversion to a number is all is a number in JSON. Conversions: d i u x (with l, ll or z), f g, s, with a precision or
 * without. Values are cut at LOG_VALUE_BYTES, and a field that the line has no room for is left out. */
enum { LOG_VALUE_BYTES = 512 };
__attribute__((format(printf, 3, 4))) void log_event(enum log_level level, const char *event, const char *format, ...);

/* A line as it is: less than 2 kB, without a line feed. */
void log_message(const char *text);

/* From here on a thread writes the lines, so that nobody waits for who reads stderr: 64 kB of them wait at most, the others are
 * dropped, and a line says how many. Call before other threads start. -1 with ERROR_MEMORY: it cannot be started. */
int log_start(struct error *err);
/* Waits until all is written, a second at most. The last call of all; without log_start it does nothing. */
void log_stop(void);
/* Lines that were not written. Thread-safe. */
uint64_t log_lines_dropped(void);

#endif
