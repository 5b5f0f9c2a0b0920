/* This file searches a text for the regular expressions of clients. It searches in windows, so that
 * the time of a search can be limited between them. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored                                                                     \
    "-Wshadow" /* arena_mark is a struct and a function: C keeps their names apart */
extern "C" {
#include "model/base/arena.h"
#include "model/text/spans.h"
}
#pragma GCC diagnostic pop
#include <ctime>
#include <memory>
#include <new>
#include <re2/re2.h>

/* A match that begins in the first half of a window lies within it. */
static const size_t WINDOW_BYTES = 2 * PATTERN_MATCH_BYTES;

struct pattern {
    re2::RE2 expression;

    pattern(const char *text, const re2::RE2::Options &options) : expression(text, options) {
    }
};

/* Runs a call into the library, which throws only if memory runs out. */
template <typename Call> static int guarded(struct error *err, Call call) noexcept {
    if (reserve_fill(err) != 0)
        return -1;
    try {
        return call();
    } catch (...) {
        return error_memory(err);
    }
}

struct pattern *pattern_open(const char *expression, struct error *err) {
    struct pattern *pattern = nullptr;
    guarded(err, [&] {
        re2::RE2::Options options;
        options.set_log_errors(false);
        options.set_never_nl(true);
        options.set_max_mem(PATTERN_MEMORY_BYTES);
        auto made = std::make_unique<struct pattern>(expression, options);
        if (!made->expression.ok())
            return error_set(err, ERROR_INPUT, "%.200s", made->expression.error().c_str());
        if (re2::RE2::PartialMatch("", made->expression))
            return error_set(err, ERROR_INPUT, "it matches an empty text");
        pattern = made.release();
        return 0;
    });
    return pattern;
}

void pattern_free(struct pattern *pattern) {
    delete pattern;
}

static bool is_boundary(const char *text, size_t length, size_t at) {
    return at == length || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
}

/* Returns the first boundary between characters from `at` on. */
static size_t boundary(const char *text, size_t length, size_t at) {
    if (at >= length)
        return length;
    while (!is_boundary(text, length, at))
        at++;
    return at;
}

int64_t pattern_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

int pattern_next(struct pattern *pattern, struct bytes bytes, size_t *at, struct span *found,
                 int64_t until_ns, struct error *err) {
    return guarded(err, [&] {
        const char *const text = bytes.start;
        const size_t length = bytes.length;
        for (size_t begin = *at; begin < length;) {
            size_t end = boundary(text, length, begin + WINDOW_BYTES);
            if (pattern_clock_ns() >= until_ns)
                return error_set(err, ERROR_LENGTH,
                                 "the patterns take too long to be looked for in so long a text");
            size_t half = boundary(text, length, begin + WINDOW_BYTES / 2);
            re2::StringPiece part; /* the expression sees the rest of the text around the window */
            if (!pattern->expression.Match(re2::StringPiece(text, length), begin, end,
                                           re2::RE2::UNANCHORED, &part, 1)) {
                begin = end == length ? length : half;
                continue;
            }
            size_t first = static_cast<size_t>(part.data() - text), last = first + part.size();
            if (first > half && end < length) {
                begin = boundary(text, length, first); /* the match may go on after the window */
                continue;
            }
            bool whole = is_boundary(text, length, first) && is_boundary(text, length, last);
            struct span visible = segmenter_trim(part.data(), whole ? part.size() : 0);
            size_t matched = visible.end - visible.begin;
            if (matched > 0 && matched <= PATTERN_MATCH_BYTES) {
                *found = {first + visible.begin, first + visible.end};
                *at = found->end;
                return 1;
            }
            begin = boundary(text, length, first + 1);
        }
        *at = length;
        return 0;
    });
}
