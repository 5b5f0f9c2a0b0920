/* This file is the one reader of what is not language: it finds runs by their characters alone,
 * from tables of notations (placeholders.c, codes.c). Runs are found in one pass, in time
 * proportional to the bytes passed, because a notation of unbounded length is not read again from
 * within. */
#include "model/text/notation.h"
#include "model/base/task.h"
#include <assert.h>
#include <limits.h>
#include <unicode/uchar.h>

/* ---- finding runs ---- */

const char *opaque_name(enum opaque_kind kind) {
    static const char *const names[OPAQUE_KINDS] = {"emoji",  "symbol", "word",  "code",   "number",
                                                    "markup", "url",    "email", "protect"};
    return names[kind];
}

/* True if the character before this place is outside ASCII and not a letter of the Latin script, so
 * that a word may begin here. */
static bool is_other_script(const char *text, size_t at) {
    int32_t c = at > 0 ? character_previous(text, &at) : -1;
    return c >= 0x80 && (!character_is_letter(c) || (c >= 0x0370 && (c < 0x1e00 || c > 0x1eff)));
}

/* The rows of a table, at most 64, and for each byte those that may begin with it, as bits: few of
 * them may begin with a letter, and most characters of a text are letters. */
struct table {
    const struct notation *rows;
    uint64_t begin[UCHAR_MAX + 1];
};

static struct table placeholders = {.rows = notation_placeholders},
                    codes = {.rows = notation_codes};

static void set_up_table(struct table *table, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c <= UCHAR_MAX; c++)
            if (!table->rows[i].first || ascii_among((char)c, table->rows[i].first))
                table->begin[c] |= (uint64_t)1 << i;
}

static void set_up(void) {
    static_assert(NOTATION_PLACEHOLDER_ROWS <= 64 && NOTATION_CODE_ROWS <= 64, "bits of a row");
    set_up_table(&placeholders, NOTATION_PLACEHOLDER_ROWS);
    set_up_table(&codes, NOTATION_CODE_ROWS);
}

static void ensure_set_up(void) {
    static struct task_once once = TASK_ONCE;
    task_once(&once, set_up);
}

/* True if the place is one where a notation may begin whose first byte is there. */
static bool may_begin(const struct notation *notation, const struct scan *scan) {
    char first = scan->text[scan->begin];
    switch (notation->place) {
    case WORD:
        return scan->word;
    case CHUNK:
        return scan->chunk;
    case LINE:
        return scan->line && !ascii_among(first, " \t\n\r");
    default:
        return true;
    }
}

/* Returns false for a tag in braces, which stands for no value that letters could follow:
 * {% if a %} {{#if a}} {/if} {\i1}. */
static bool stands_for_value(const struct scan *scan) {
    enum { MOST_BRACES = 2 };
    size_t open = scan->begin + ascii_among(scan->text[scan->begin], "$%#@"), name = open;
    while (name < open + MOST_BRACES && scan_peek(scan, name) == '{')
        name++;
    return name == open || !ascii_among(scan_peek(scan, name), "%#/\\:!&<>*=^~");
}

/* Finds the run that begins at scan->begin by the rows of one table. */
static bool find_in(const struct table *table, const struct scan *scan, unsigned sets,
                    struct opaque_run *found) {
    uint64_t left = table->begin[(unsigned char)scan->text[scan->begin]];
    for (; left > 0; left &= left - 1) {
        const struct notation *row = &table->rows[__builtin_ctzll(left)];
        if (!(row->sets & sets) ||
            (scan->touching && !(row->place == TOUCHING && stands_for_value(scan))) ||
            !may_begin(row, scan))
            continue;
        size_t end = row->end ? row->end(scan) : expression_end(scan, row->expression), next;
        if (end == scan->begin)
            continue;
        int32_t c = scan_character(scan, scan->begin, &next);
        bool symbol = row->kind == OPAQUE_EMOJI && c > 0x80 &&
                      (c < 0x2190 || !u_hasBinaryProperty(c, UCHAR_EMOJI));
        end = row->place == TOUCHING && stands_for_value(scan) ? scan_affix(scan, end) : end;
        *found = (struct opaque_run){scan->begin, end, symbol ? OPAQUE_SYMBOL : row->kind, NULL};
        return true;
    }
    return false;
}

/* Finds a placeholder with letters before it that are no word: v{version}, S%02d. Two small letters
 * may be a word whose space is missing. */
static bool find_after_letters(const struct scan *scan, unsigned sets, struct opaque_run *found) {
    struct scan after = *scan;
    const char *text = scan->text + scan->begin;
    after.begin = scan_affix(scan, scan->begin);
    after.former = after.begin > scan->begin ? scan->text[after.begin - 1] : ' ';
    after.word = after.chunk = after.line = false;
    after.touching = true;
    if (after.begin == scan->begin || !ascii_among(scan_peek(scan, after.begin), "{$%#@<") ||
        opaque_match("[a-z]{2}\\z", text, after.begin - scan->begin) > 0 ||
        !find_in(&placeholders, &after, sets, found))
        return false;
    found->begin = scan->begin;
    return true;
}

static bool find_at(struct scan *scan, unsigned sets, struct opaque_run *found) {
    size_t before = scan->begin;
    scan->former = before > 0 ? scan->text[before - 1] : ' ';
    scan->word = !ascii_word(scan->former) || is_other_script(scan->text, scan->begin) ||
                 (scan->after && !ascii_word(scan->text[scan->begin]));
    scan->chunk = before == 0 || ascii_among(scan->former, "([{\"'<>=,;|") ||
                  character_is_space(character_previous(scan->text, &before));
    return (scan->word && ascii_letter(scan->text[scan->begin]) &&
            find_after_letters(scan, sets, found)) ||
           find_in(&placeholders, scan, sets, found) || find_in(&codes, scan, sets, found);
}

bool opaque_begins(unsigned sets, const char *text, size_t length, size_t at,
                   struct opaque_run *found) {
    struct scan scan = {.text = text,
                        .length = length,
                        .begin = at,
                        .room = sets & NOTATION_MARKDOWN ? length : 0,
                        .line = at == 0 || text[at - 1] == '\n'};
    ensure_set_up();
    return at < length && find_at(&scan, sets, found);
}

size_t opaque_at(unsigned sets, const char *text, size_t length, size_t at) {
    struct opaque_run found;
    return opaque_begins(sets, text, length, at, &found) ? found.end : at;
}

/* Returns the end of the part that begins there: white space, or at most MAX_NAME bytes up to white
 * space. *plain: no run begins in it, since it consists of letters, without a capital after a
 * lower-case letter, and of marks between sentences. */
static size_t chunk_end(const char *text, size_t length, size_t begin, bool *plain) {
    size_t most = length - begin < MAX_NAME ? length : begin + MAX_NAME, end = begin;
    size_t repeated = 0;
    char before = ' ';
    *plain = true;
    for (; end < most && !ascii_among(text[end], " \n\t\r"); before = text[end++]) {
        char c = text[end];
        repeated += c == before;
        bool letter =
            ascii_letter(c) && !(ascii_upper(c) && ascii_letter(before) && !ascii_upper(before));
        bool mark =
            ascii_among(c, ".,!?;'\"-()") &&
            !(c == '.' && ascii_letter(before) && end + 1 < length && ascii_word(text[end + 1])) &&
            !(c == ';' && !ascii_letter(before)) && !(c == '(' && ascii_letter(before)) &&
            !(c == '-' && before == '-') && !(c == '.' && ascii_among(before, " .")) &&
            !(c == '!' && before == ' ' && end + 1 < length && ascii_word(text[end + 1]));
        *plain = *plain && (letter || mark);
    }
    bool compared = ascii_letter(before) && (end < begin + 2 || !ascii_word(text[end - 2])) &&
                    end + 1 < length && text[end] == ' ' &&
                    ascii_among(text[end + 1], "<>=+-*/\xe2");
    bool states = ascii_upper(text[begin]) && ascii_upper(before) &&
                  scan_is_among(text + begin, end - begin, STATEMENTS);
    *plain =
        *plain && !compared && !states && repeated < MAX_REPEATED && end - begin <= MAX_LETTERS;
    return end > begin ? end : begin + 1;
}

bool opaque_next(unsigned sets, const char *text, size_t length, size_t *at,
                 struct opaque_run *found) {
    return opaque_next_paced(NULL, sets, text, length, at, found);
}

/* Adds the placeholders that follow after a colon alone, {host}:{port} %02d:%02d, since languages
 * write a colon between words otherwise. */
static void add_joined(const struct scan *scan, unsigned sets, struct opaque_run *found) {
    struct scan next = *scan;
    struct opaque_run other;
    next.touching = true;
    for (bool value = find_in(&placeholders, &next, sets, &other);
         value && found->end - found->begin < MAX_WORD && scan_peek(scan, found->end) == ':' &&
         ascii_among(scan_peek(scan, found->end + 1), "{$%#@<");) {
        next.begin = found->end + 1;
        next.former = ':';
        value = find_in(&placeholders, &next, sets, &other);
        found->end = value ? other.end : found->end;
    }
}

bool opaque_next_paced(struct budget *budget, unsigned sets, const char *text, size_t length,
                       size_t *at, struct opaque_run *found) {
    bool layout = (sets & NOTATION_LAYOUT) != 0, line = true;
    ensure_set_up();
    for (size_t i = *at; layout && i > 0 && line && text[i - 1] != '\n'; i--)
        line = ascii_among(text[i - 1], " \t\r");
    for (size_t begin = *at, end; sets != NOTATION_NONE && begin < length && budget_step(budget, 1);
         begin = end) {
        bool plain, white = ascii_among(text[begin], " \n\t\r");
        end = chunk_end(text, length, begin, &plain);
        line = line || text[begin] == '\n';
        plain = layout ? plain && !line && !white : plain || white;
        for (struct scan scan = {.text = text,
                                .length = length,
                                .begin = begin,
                                .line = line,
                                .after = begin == *at};
             !plain && scan.begin < end; scan.begin++, scan.line = scan.after = false)
            if (((unsigned char)text[scan.begin] & 0xc0) != 0x80 && find_at(&scan, sets, found)) {
                if (found->end < length && text[found->end] == ':')
                    add_joined(&scan, sets, found);
                *at = found->end;
                return true;
            }
        line = line && white;
    }
    *at = length;
    return false;
}

/* ---- lists of runs ---- */

int opaque_within(const struct opaque_runs *held, size_t begin, size_t end, struct arena *arena,
                  struct opaque_runs *out, struct error *err) {
    size_t first = 0; /* the first run that ends after begin */
    for (size_t last = held->count; first < last;) {
        size_t middle = first + (last - first) / 2;
        if (held->all[middle].end <= begin)
            first = middle + 1;
        else
            last = middle;
    }
    size_t last = first;
    while (last < held->count && held->all[last].end <= end)
        last++;
    first += first < last && held->all[first].begin < begin;
    struct opaque_run *all = arena_alloc(arena, last - first, sizeof *all);
    if (!all)
        return error_memory(err);
    for (size_t i = first; i < last; i++) {
        all[i - first] = held->all[i];
        all[i - first].begin -= begin;
        all[i - first].end -= begin;
    }
    *out = (struct opaque_runs){all, last - first};
    return 0;
}

int opaque_merge(struct opaque_runs *held, const char *text, const struct opaque_run *more,
                 size_t count, struct arena *arena, struct error *err) {
    struct opaque_run *all = arena_alloc(arena, held->count + count, sizeof *all);
    size_t merged = 0;
    if (!all)
        return error_memory(err);
    for (size_t i = 0, j = 0; i < held->count || j < count;) {
        bool old = j == count || (i < held->count && held->all[i].begin <= more[j].begin);
        struct opaque_run next = old ? held->all[i++] : more[j++];
        struct opaque_run *last = merged > 0 ? &all[merged - 1] : NULL;
        bool words = last && last->kind == OPAQUE_WORD && next.kind == OPAQUE_WORD;
        for (size_t at = words ? last->end : 0; words && at < next.begin;
             at++) /* with only spaces between them */
            words = text[at] == ' ';
        if (last && (next.begin < last->end || words ||
                     (next.begin == last->end && !old && !last->written))) {
            last->end = next.end > last->end ? next.end : last->end;
            last->kind = next.kind == OPAQUE_WORD ? next.kind : last->kind;
        } else {
            all[merged++] = next;
        }
    }
    *held = (struct opaque_runs){all, merged};
    return 0;
}
