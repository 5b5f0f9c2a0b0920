/* One line per event on stderr: `level=info event=NAME key=value ...`. Never a user's text. Thread-safe: one write per line. */
#ifndef ALIGND_LOG_H
#define ALIGND_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Lines of this level and the more severe ones are written; the default is LOG_INFO. Call before threads start. */
void log_set_level(enum log_level level);
/* "error", "warn", "info" or "debug"; -1 if it is none of them. */
int log_parse_level(const char *name, enum log_level *level);

/* format: "key=value key=value"; values with spaces are the caller's to quote. */
__attribute__((format(printf, 3, 4))) void log_event(enum log_level level, const char *event, const char *format, ...);

#endif
