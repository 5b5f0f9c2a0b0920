#include "model/guard.h"
#include <stdlib.h>

/* What patterns may take of a processor in all texts of a request: a few megabytes are looked through in a hundredth of it. */
enum { MAX_NS = 250000000 };

int guard_open(struct guard *guard, const struct protection *protection, struct error *err) {
    *guard = (struct guard){0};
    if (!protection)
        return 0;
    guard->strings = &protection->strings;
    guard->left_ns = MAX_NS;
    if (protection->pattern_count == 0)
        return 0;
    guard->patterns = calloc(protection->pattern_count, sizeof *guard->patterns);
    if (!guard->patterns)
        return error_memory(err);
    for (; guard->pattern_count < protection->pattern_count; guard->pattern_count++) {
        struct pattern *pattern = pattern_open(protection->patterns[guard->pattern_count], err);
        if (!pattern)
            return -1;
        guard->patterns[guard->pattern_count] = pattern;
    }
    return 0;
}

void guard_done(struct guard *guard) {
    while (guard->pattern_count > 0)
        pattern_free(guard->patterns[--guard->pattern_count]);
    free(guard->patterns);
    *guard = (struct guard){0};
}

/* A text that is looked through for all kinds at once: placeholders, strings, and each of the patterns. */
struct scan {
    struct guard *guard;
    enum opaque_scope scope;
    const char *text;
    size_t length;
    struct finder *finders; /* [count] */
    size_t count;
    int64_t until_ns; /* by pattern_clock_ns */
};

/* What a kind finds next. */
struct finder {
    struct opaque_run next;
    bool ended;
};

enum { PLACEHOLDERS, STRINGS, PATTERNS };

/* Kind i, from there on. */
static int find_next(const struct scan *scan, size_t i, size_t at, struct error *err) {
    struct guard *guard = scan->guard;
    struct opaque_run *next = &scan->finders[i].next;
    struct span span;
    const struct glossary_entry *entry;
    int found;
    if (i == PLACEHOLDERS)
        found = opaque_next(scan->scope, scan->text, scan->length, &at, next);
    else if (i == STRINGS)
        found = guard->strings && lexicon_next(guard->strings, scan->text, scan->length, &at, &span, &entry);
    else
        found = pattern_next(guard->patterns[i - PATTERNS], scan->text, scan->length, &at, &span, scan->until_ns, err);
    if (i != PLACEHOLDERS && found > 0)
        *next = (struct opaque_run){span.begin, span.end, OPAQUE_PROTECT, NULL};
    scan->finders[i].ended = found == 0;
    return found < 0 ? -1 : 0;
}

static bool goes_before(struct opaque_run a, struct opaque_run b) {
    return a.begin < b.begin || (a.begin == b.begin && a.end > b.end);
}

/* NULL: there is nothing more. */
static const struct opaque_run *first_of(const struct scan *scan) {
    const struct opaque_run *first = NULL;
    for (size_t i = 0; i < scan->count; i++)
        if (!scan->finders[i].ended && (!first || goes_before(scan->finders[i].next, *first)))
            first = &scan->finders[i].next;
    return first;
}

/* What overlaps what is held already is no find. */
static int go_behind(const struct scan *scan, size_t end, struct error *err) {
    for (size_t i = 0; i < scan->count; i++)
        if (!scan->finders[i].ended && scan->finders[i].next.begin < end && find_next(scan, i, end, err) != 0)
            return -1;
    return 0;
}

static int add(struct opaque_runs *out, size_t *room, struct opaque_run span, struct arena *arena, struct error *err) {
    struct opaque_run *all = arena_grow(arena, out->all, out->count, room, 1, sizeof *all);
    if (!all)
        return error_memory(err);
    all[out->count++] = span;
    out->all = all;
    return 0;
}

static int find_all(const struct scan *scan, struct arena *arena, struct opaque_runs *out, struct error *err) {
    size_t room = 0;
    for (size_t i = 0; i < scan->count; i++)
        if (find_next(scan, i, 0, err) != 0)
            return -1;
    for (const struct opaque_run *first; (first = first_of(scan)) != NULL;) {
        if (!budget_step(arena->budget, 1))
            return error_memory(err);
        if (add(out, &room, *first, arena, err) != 0 || go_behind(scan, out->all[out->count - 1].end, err) != 0)
            return -1;
    }
    return 0;
}

int guard_find(struct guard *guard, enum opaque_scope scope, const char *text, size_t length, struct arena *arena,
               struct opaque_runs *out, struct error *err) {
    int64_t began_ns = guard->pattern_count > 0 ? pattern_clock_ns() : 0;
    struct scan scan = {guard, scope, text, length, NULL, PATTERNS + guard->pattern_count, began_ns + guard->left_ns};
    struct opaque_runs found = {0};
    scan.finders = arena_zalloc(arena, scan.count, sizeof *scan.finders);
    if (!scan.finders)
        return error_memory(err);
    if (find_all(&scan, arena, &found, err) != 0)
        return -1;
    if (guard->pattern_count > 0)
        guard->left_ns -= pattern_clock_ns() - began_ns;
    *out = found;
    return 0;
}
