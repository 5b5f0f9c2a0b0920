#include "server/base/log.h"
#include "model/base/utf8.h"
#include "server/base/clock.h"
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 2048, END_BYTES = 2, KEY_BYTES = 32, WAITING_BYTES = 1 << 16, LAST_MS = 1000 };

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static const char *const format_names[] = {"text", "json"};
static enum log_level threshold = LOG_INFO;
static enum log_format line_format = LOG_TEXT;

void log_set_level(enum log_level level) {
    threshold = level;
}

void log_set_format(enum log_format format) {
    line_format = format;
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

int log_parse_format(const char *name, enum log_format *format) {
    for (int i = LOG_TEXT; i <= LOG_JSON; i++) {
        if (strcmp(name, format_names[i]) == 0) {
            *format = (enum log_format)i;
            return 0;
        }
    }
    return -1;
}

/* ---- the writing ---- */

/* Lines on their way to stderr, once log_start has been called. */
static struct {
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t filled, written;
    pthread_t thread;
    bool started, stopping;
    bool writing;              /* the thread has lines that are not in here any more */
    char bytes[WAITING_BYTES]; /* [length] whole lines */
    size_t length;
    size_t lost; /* lines for which there was no room since the thread last took some */
} waiting = {.lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_uint_fast64_t dropped;

uint64_t log_lines_dropped(void) {
    return atomic_load_explicit(&dropped, memory_order_relaxed);
}

/* One write, so that lines of different threads and programs do not mix, unless stderr takes less at once. What it does not take at
 * all is lost: there is nobody to tell. */
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

static void write_lines(const char *lines, size_t length) {
    for (const char *end; length > 0; lines = end) {
        end = (const char *)memchr(lines, '\n', length) + 1;
        write_line(lines, (size_t)(end - lines));
        length -= (size_t)(end - lines);
    }
}

/* Takes what is waiting. False: nothing is, and nothing will be. */
static bool take_lines(char lines[WAITING_BYTES], size_t *length, size_t *lost) {
    pthread_mutex_lock(&waiting.lock);
    waiting.writing = false;
    pthread_cond_signal(&waiting.written);
    while (waiting.length == 0 && !waiting.stopping)
        pthread_cond_wait(&waiting.filled, &waiting.lock);
    *length = waiting.length;
    *lost = waiting.lost;
    memcpy(lines, waiting.bytes, *length);
    waiting.writing = *length > 0;
    waiting.length = waiting.lost = 0;
    pthread_mutex_unlock(&waiting.lock);
    return *length > 0;
}

static void *write_all(void *none) {
    char lines[WAITING_BYTES];
    size_t length, lost;
    (void)none;
    while (take_lines(lines, &length, &lost)) {
        write_lines(lines, length);
        if (lost > 0)
            log_event(LOG_WARN, "log_lines_dropped", "lines=%zu", lost);
    }
    return NULL;
}

/* Bytes that a line may have. The last LINE_BYTES are the thread's own: it has a word to say about lost lines, once between two
 * times of taking all. The lock is held. */
static size_t room(void) {
    size_t limit = WAITING_BYTES - (pthread_equal(pthread_self(), waiting.thread) ? 0 : LINE_BYTES);
    return waiting.length < limit ? limit - waiting.length : 0;
}

/* line: [length], with its line feed. */
static void send_line(const char *line, size_t length) {
    pthread_mutex_lock(&waiting.lock);
    bool direct = !waiting.started;
    if (!direct && length <= room()) {
        memcpy(waiting.bytes + waiting.length, line, length);
        waiting.length += length;
        pthread_cond_signal(&waiting.filled);
    } else if (!direct) {
        waiting.lost++;
        atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&waiting.lock);
    if (direct)
        write_line(line, length);
}

int log_start(struct error *err) {
    pthread_cond_init(&waiting.filled, NULL);
    clock_condition_init(&waiting.written);
    waiting.stopping = false;
    if (pthread_create(&waiting.thread, NULL, write_all, NULL) != 0)
        return error_set(err, ERROR_MEMORY, "cannot start the thread that writes the log");
    pthread_mutex_lock(&waiting.lock);
    waiting.started = true;
    pthread_mutex_unlock(&waiting.lock);
    return 0;
}

/* A thread that is still writing then writes to nobody: it ends with the program. */
void log_stop(void) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += LAST_MS / 1000;
    pthread_mutex_lock(&waiting.lock);
    bool started = waiting.started;
    int late = 0;
    waiting.stopping = true;
    pthread_cond_signal(&waiting.filled);
    while (started && late == 0 && (waiting.length > 0 || waiting.writing))
        late = pthread_cond_timedwait(&waiting.written, &waiting.lock, &until);
    waiting.started &= late != 0;
    pthread_mutex_unlock(&waiting.lock);
    if (started && late == 0)
        pthread_join(waiting.thread, NULL);
    else if (started)
        pthread_detach(waiting.thread);
}

/* ---- the line ---- */

struct line {
    char text[LINE_BYTES];
    size_t length; /* at most LINE_BYTES - END_BYTES until the line ends */
    bool full;     /* something did not fit */
};

static void line_put(struct line *line, const char *bytes, size_t count) {
    if (count > LINE_BYTES - END_BYTES - line->length) {
        line->full = true;
        return;
    }
    memcpy(line->text + line->length, bytes, count);
    line->length += count;
}

static void line_put_text(struct line *line, const char *text) {
    line_put(line, text, strlen(text));
}

/* As the inside of a JSON string. Bytes that are not UTF-8 become question marks. */
static void put_escaped(struct line *line, const char *value) {
    size_t length = strlen(value);
    for (size_t at = 0, next = 0; at < length; at = next) {
        char code[8];
        unsigned char byte = (unsigned char)value[at];
        bool valid;
        next = at + utf8_first(value + at, length - at, &valid);
        if (!valid)
            line_put_text(line, "?");
        else if (byte < 0x20 || byte == 0x7f)
            line_put(line, code, (size_t)snprintf(code, sizeof code, "\\u%04x", byte));
        else {
            if (byte == '"' || byte == '\\')
                line_put_text(line, "\\");
            line_put(line, value + at, next - at);
        }
    }
}

/* In a text line a value stands as it is, unless one could not tell where it ends. */
static bool is_plain(const char *value) {
    for (const char *c = value; *c; c++) {
        if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f || strchr("\"\\=", *c))
            return false;
    }
    return *value != '\0';
}

static void put_value(struct line *line, const char *value, bool number) {
    bool quoted = line_format == LOG_JSON ? !number : !is_plain(value);
    line_put_text(line, quoted ? "\"" : "");
    put_escaped(line, value);
    line_put_text(line, quoted ? "\"" : "");
}

/* Whole, or not at all. */
static void put_field(struct line *line, const char *key, const char *value, bool number) {
    size_t before = line->length;
    if (line_format == LOG_JSON)
        line_put_text(line, before > 0 ? ",\"" : "{\"");
    else
        line_put_text(line, before > 0 ? " " : "");
    line_put_text(line, key);
    line_put_text(line, line_format == LOG_JSON ? "\":" : "=");
    put_value(line, value, number);
    if (line->full)
        line->length = before;
    line->full = false;
}

/* ---- the fields ---- */

static long long signed_argument(const char *size, va_list *arguments) {
    if (strncmp(size, "ll", 2) == 0)
        return va_arg(*arguments, long long);
    return *size == 'l' ? va_arg(*arguments, long) : *size == 'z' ? va_arg(*arguments, ssize_t) : va_arg(*arguments, int);
}

static unsigned long long unsigned_argument(const char *size, va_list *arguments) {
    if (strncmp(size, "ll", 2) == 0)
        return va_arg(*arguments, unsigned long long);
    return *size == 'l'   ? va_arg(*arguments, unsigned long)
           : *size == 'z' ? va_arg(*arguments, size_t)
                          : va_arg(*arguments, unsigned);
}

/* Prints the argument of the conversion behind the %, and returns where that ends. */
static const char *convert(const char *at, va_list *arguments, char *out, size_t room) {
    char *end = NULL;
    int precision = *at == '.' ? (int)strtol(at + 1, &end, 10) : -1;
    const char *size = end ? end : at, *kind = size + strspn(size, "lz");
    switch (*kind) {
    case 's':
        snprintf(out, room, "%.*s", precision, va_arg(*arguments, const char *));
        break;
    case 'f':
        snprintf(out, room, "%.*f", precision, va_arg(*arguments, double));
        break;
    case 'g':
        snprintf(out, room, "%.*g", precision, va_arg(*arguments, double));
        break;
    case 'x':
        snprintf(out, room, "%llx", unsigned_argument(size, arguments));
        break;
    case 'u':
        snprintf(out, room, "%llu", unsigned_argument(size, arguments));
        break;
    default:
        assert(*kind == 'd' || *kind == 'i');
        snprintf(out, room, "%lld", signed_argument(size, arguments));
    }
    return kind + 1;
}

/* The value at `at`, up to a space or the end of the format, which is returned. */
static const char *read_value(const char *at, va_list *arguments, char value[LOG_VALUE_BYTES], bool *number) {
    const char *begin = at;
    size_t length = 0;
    value[0] = '\0';
    *number = false;
    while (*at && *at != ' ') {
        if (*at != '%') {
            snprintf(value + length, LOG_VALUE_BYTES - length, "%c", *at++);
        } else {
            bool first = at == begin;
            at = convert(at + 1, arguments, value + length, LOG_VALUE_BYTES - length);
            *number = first && (*at == ' ' || *at == '\0') && strchr("diufg", at[-1]) && !strchr(value, 'n'); /* nor nan, inf */
        }
        length += strlen(value + length);
    }
    return at;
}

static void put_fields(struct line *line, const char *format, va_list *arguments) {
    while (*format) {
        char key[KEY_BYTES], value[LOG_VALUE_BYTES];
        bool number;
        size_t length = strcspn(format, "=");
        assert(format[length] == '=' && length < KEY_BYTES);
        memcpy(key, format, length);
        key[length] = '\0';
        format = read_value(format + length + 1, arguments, value, &number);
        put_field(line, key, value, number);
        format += *format == ' ';
    }
}

static void put_time(struct line *line) {
    char seconds[32], time[48];
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(time, sizeof time, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
    put_field(line, "time", time, false);
}

void log_event(enum log_level level, const char *event, const char *format, ...) {
    if (level > threshold)
        return;
    struct line line = {.length = 0};
    put_time(&line);
    put_field(&line, "level", level_names[level], false);
    put_field(&line, "event", event, false);
    va_list arguments;
    va_start(arguments, format);
    put_fields(&line, format, &arguments);
    va_end(arguments);
    if (line_format == LOG_JSON)
        line.text[line.length++] = '}';
    line.text[line.length++] = '\n';
    send_line(line.text, line.length);
}

void log_message(const char *text) {
    struct line line = {.length = 0};
    line_put_text(&line, text);
    line.text[line.length++] = '\n';
    send_line(line.text, line.length);
}
