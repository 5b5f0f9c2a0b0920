/* This file hides how an event is formatted as a line, and which thread writes it. */
#include "server/base/log.h"
#include "model/base/utf8.h"
#include "server/base/clock.h"
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 2048, END_BYTES = 2, WAITING_BYTES = 1 << 16, LAST_US = 1000 * 1000 };

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static const char *const format_names[] = {"text", "json"};
static enum log_level threshold = LOG_INFO;
static enum log_format { LOG_TEXT, LOG_JSON } line_format = LOG_TEXT;

/* Returns the index of the name, or -1. */
static int find_name(const char *const *names, int count, const char *name) {
    while (count > 0 && strcmp(names[count - 1], name) != 0)
        count--;
    return count - 1;
}

int log_set_level(const char *name) {
    int found = find_name(level_names, LOG_DEBUG + 1, name);
    threshold = found >= 0 ? (enum log_level)found : threshold;
    return found >= 0 ? 0 : -1;
}

int log_set_format(const char *name) {
    int found = find_name(format_names, LOG_JSON + 1, name);
    line_format = found >= 0 ? (enum log_format)found : line_format;
    return found >= 0 ? 0 : -1;
}

/* ---- writing lines ---- */

/* Lines that wait to be written to stderr, after log_start was called. */
static struct {
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t filled, taken, written;
    pthread_t thread;
    bool started, stopping;
    bool file;                 /* stderr is a regular file, which takes every line soon */
    bool writing;              /* the thread is writing lines that it has taken */
    char bytes[WAITING_BYTES]; /* [length] whole lines */
    size_t length;
    size_t lost; /* lines dropped for lack of room since the thread last took lines */
    void (*sink)(void *owner, const char *line, size_t length); /* NULL: stderr */
    void *sink_owner;
} waiting = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_uint_fast64_t dropped;

uint64_t log_lines_dropped(void) {
    return atomic_load_explicit(&dropped, memory_order_relaxed);
}

/* Writes a line in one call, unless stderr takes less, so that lines of different threads and
 * programs do not mix. A line that stderr refuses is lost and only counted, since it cannot be
 * reported anywhere. */
static void write_line(const char *line, size_t length) {
    while (length > 0) {
        ssize_t count = write(STDERR_FILENO, line, length);
        if (count > 0) {
            line += count;
            length -= (size_t)count;
        } else if (count < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT}, 1, -1);
        } else if (count == 0 || errno != EINTR) {
            atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
            return;
        }
    }
}

/* Runs as the thread: takes all waiting lines and writes them, until log_stop has been called and
 * no line waits. */
static void *write_all(void *none) {
    char lines[WAITING_BYTES];
    (void)none;
    for (;;) {
        pthread_mutex_lock(&waiting.lock);
        waiting.writing = false;
        pthread_cond_signal(&waiting.written);
        while (waiting.length == 0 && !waiting.stopping)
            pthread_cond_wait(&waiting.filled, &waiting.lock);
        size_t length = waiting.length, lost = waiting.lost;
        memcpy(lines, waiting.bytes, length);
        waiting.writing = length > 0;
        waiting.length = waiting.lost = 0;
        pthread_cond_broadcast(&waiting.taken);
        pthread_mutex_unlock(&waiting.lock);
        if (length == 0)
            return NULL;

        for (const char *line = lines, *end; line < lines + length; line = end) {
            end = (const char *)memchr(line, '\n', (size_t)(lines + length - line)) + 1;
            write_line(line, (size_t)(end - line));
        }
        if (lost > 0)
            log_event(LOG_WARN, "log_lines_dropped", log_count("lines", lost));
    }
}

/* line: [length], with its line feed. The last LINE_BYTES are reserved for the thread, which
 * reports lost lines after each batch that it takes. Others wait for room if stderr is a file; the
 * reader of a pipe may be slow or stopped. */
static void send_line(const char *line, size_t length) {
    pthread_mutex_lock(&waiting.lock);
    void (*sink)(void *owner, const char *line, size_t length) = waiting.sink;
    void *owner = waiting.sink_owner;
    if (sink) {
        pthread_mutex_unlock(&waiting.lock);
        sink(owner, line, length);
        return;
    }
    bool own = waiting.started && pthread_equal(pthread_self(), waiting.thread);
    size_t limit = own ? WAITING_BYTES : WAITING_BYTES - LINE_BYTES;
    while (waiting.started && waiting.file && !own && waiting.length + length > limit)
        pthread_cond_wait(&waiting.taken, &waiting.lock);
    bool direct = !waiting.started, first = waiting.length == 0;
    if (!direct && waiting.length + length <= limit) {
        memcpy(waiting.bytes + waiting.length, line, length);
        waiting.length += length;
    } else if (!direct) {
        waiting.lost++;
        atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&waiting.lock);
    if (direct)
        write_line(line, length);
    else if (first) /* the thread waits only while there is nothing to write */
        pthread_cond_signal(&waiting.filled);
}

void log_set_sink(void (*sink)(void *owner, const char *line, size_t length), void *owner) {
    pthread_mutex_lock(&waiting.lock);
    waiting.sink = sink;
    waiting.sink_owner = owner;
    pthread_mutex_unlock(&waiting.lock);
}

int log_start(struct error *err) {
    struct stat status;
    waiting.file = fstat(STDERR_FILENO, &status) == 0 && S_ISREG(status.st_mode);
    pthread_cond_init(&waiting.filled, NULL);
    pthread_cond_init(&waiting.taken, NULL);
    clock_condition_init(&waiting.written);
    waiting.stopping = false;
    if (pthread_create(&waiting.thread, NULL, write_all, NULL) != 0)
        return error_set(err, ERROR_MEMORY, "cannot start the thread that writes the log");
    pthread_mutex_lock(&waiting.lock);
    waiting.started = true;
    pthread_mutex_unlock(&waiting.lock);
    return 0;
}

/* A thread that cannot write in time is abandoned, and ends with the program. */
void log_stop(void) {
    int64_t until_us = clock_us() + LAST_US;
    pthread_mutex_lock(&waiting.lock);
    bool started = waiting.started;
    int late = 0;
    waiting.stopping = true;
    pthread_cond_signal(&waiting.filled);
    while (started && late == 0 && (waiting.length > 0 || waiting.writing))
        late = clock_wait(&waiting.written, &waiting.lock, until_us);
    waiting.started &= late != 0;
    pthread_mutex_unlock(&waiting.lock);
    if (started && late == 0)
        pthread_join(waiting.thread, NULL);
    else if (started)
        pthread_detach(waiting.thread);
}

/* ---- making a line ---- */

struct line {
    char text[LINE_BYTES];
    size_t length; /* at most LINE_BYTES - END_BYTES until the line ends */
    bool full;     /* a field did not fit */
};

static void line_put(struct line *line, const char *bytes, size_t count) {
    line->full |= count > LINE_BYTES - END_BYTES - line->length;
    if (line->full)
        return;
    memcpy(line->text + line->length, bytes, count);
    line->length += count;
}

static void line_put_text(struct line *line, const char *text) {
    line_put(line, text, strlen(text));
}

/* Puts a text as people may see it. quoted: its quotation marks and backslashes are escaped, too,
 * as in JSON. */
static void line_show(struct line *line, const char *text, bool quoted) {
    for (size_t at = 0, length = strlen(text); at < length;) {
        char shown[UTF8_SHOWN_BYTES];
        size_t count = utf8_show(text, length, &at, shown);
        if (quoted && count == 1 && (shown[0] == '"' || shown[0] == '\\'))
            line_put_text(line, "\\");
        line_put(line, shown, count);
    }
}

/* Puts a field, or nothing if it does not fit. In a text line, a value is quoted unless its end is
 * clear and all of it is visible ASCII. */
static void put_field(struct line *line, const char *key, const char *value, bool number) {
    size_t before = line->length;
    bool json = line_format == LOG_JSON, quoted = json ? !number : *value == '\0';
    for (const char *c = value; !json && *c; c++)
        quoted |= (unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f || strchr("\"\\=", *c);
    line_put_text(line, json ? before > 0 ? ",\"" : "{\"" : before > 0 ? " " : "");
    line_put_text(line, key);
    line_put_text(line, json ? "\":" : "=");
    line_put_text(line, quoted ? "\"" : "");
    line_show(line, value, true);
    line_put_text(line, quoted ? "\"" : "");
    if (line->full)
        line->length = before;
    line->full = false;
}

void log_fields(enum log_level level, const char *event, const struct log_field *fields,
                size_t count) {
    if (level > threshold)
        return;
    struct line line = {.length = 0};
    char seconds[32], time[48];
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(time, sizeof time, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
    put_field(&line, "time", time, false);
    put_field(&line, "level", level_names[level], false);
    put_field(&line, "event", event, false);
    for (size_t i = 0; i < count; i++) {
        const struct log_field *field = &fields[i];
        char value[LOG_VALUE_BYTES];
        if (field->kind == LOG_FIELD_COUNT)
            snprintf(value, sizeof value, "%zu", field->count);
        else if (field->kind == LOG_FIELD_REAL)
            snprintf(value, sizeof value, "%.3f", field->real);
        else
            snprintf(value, sizeof value, "%s", field->text);
        put_field(&line, field->key, value,
                  field->kind == LOG_FIELD_COUNT ||
                      (field->kind == LOG_FIELD_REAL && isfinite(field->real)));
    }
    if (line_format == LOG_JSON)
        line.text[line.length++] = '}';
    line.text[line.length++] = '\n';
    send_line(line.text, line.length);
}

void log_message(const char *text) {
    struct line line = {.length = 0};
    line_show(&line, text, false);
    line.text[line.length++] = '\n';
    send_line(line.text, line.length);
}
