/* This module hides which lines of a plain text are rows of a table whose cells commas or
 * semicolons separate, as spreadsheets export them, and how a translation is written in a cell. */
#include "server/documents/document.h"

enum {
    LEAST_COLUMNS = 2,
    LEAST_ROWS = 2,
    LEAST_CELLS = 6, /* cells of all rows together */
};

static const char separators[] = {',', ';'};

/* A cell of a row. */
struct cell {
    const char *begin, *end; /* without its quotation marks */
    bool quoted;
};

/* Reads the cell that begins at *at, and moves *at to the separator after it, or to the end.
 * Returns false if it cannot be one: in prose a space follows a comma, and no quotation mark begins
 * or ends within words. */
static bool read_cell(const char **at, const char *end, char separator, struct cell *out) {
    const char *begin = *at, *next = begin;
    long open = 0; /* brackets: those of a program are closed in another cell */
    if (begin < end && *begin == '"') {
        for (next++; next < end && (*next != '"' || (next + 1 < end && next[1] == '"')); next++)
            next += *next == '"';
        *out = (struct cell){begin + 1, next, true};
        *at = next + 1;
        return next < end && (*at == end || **at == separator);
    }
    for (; next < end && *next != separator; next++) {
        if (*next == '"' || open < 0)
            return false;
        open += (*next == '(') - (*next == ')');
    }
    *out = (struct cell){begin, next, false};
    *at = next;
    return open == 0 && (next == begin || (!byte_is_space(*begin) && !byte_is_space(next[-1])));
}

/* Returns the number of cells in a line, or 0 if it is no row. */
static size_t count_cells(const struct line *line, char separator) {
    struct cell cell;
    size_t count = 0;
    for (const char *at = line->begin;; at++) {
        if (!read_cell(&at, line->end, separator, &cell))
            return 0;
        count++;
        if (at == line->end)
            return count;
    }
}

/* True if all lines of a paragraph are rows with the same number of cells. */
static bool is_table(struct line line, const char *end, char separator) {
    size_t rows = 0, columns = 0;
    while (lines_next(&line, end)) {
        size_t count = count_cells(&line, separator);
        columns = rows == 0 ? count : columns;
        rows++;
        if (count < LEAST_COLUMNS || count != columns)
            return false;
    }
    return rows >= LEAST_ROWS && rows * columns >= LEAST_CELLS;
}

struct bytes cells_find(struct bytes text, char *separator) {
    const char *end = text.start + text.length;
    struct line line = {.next = text.start};
    while (line.next < end) {
        const struct line first = line;
        const char *stop = line.next;
        while (lines_next(&line, end) && lines_trimmed(&line).length > 0)
            stop = line.next;
        for (size_t i = 0; i < sizeof separators && stop > first.next; i++)
            if (is_table(first, stop, separators[i])) {
                *separator = separators[i];
                return bytes_between(first.next, stop);
            }
    }
    return bytes_between(end, end);
}

/* The ends of cells are elements of these bytes, so that write_cell knows them. */
static const char plain_end[] = "", quoted_end[] = "\"";

void cells_add(struct piece_builder *builder, struct bytes table, char separator) {
    static const struct marking as_it_is;
    const char *end = table.start + table.length, *added = table.start;
    struct line line = {.next = table.start};
    while (lines_next(&line, end)) {
        struct cell cell;
        for (const char *at = line.begin;; at++) {
            bool read = read_cell(&at, line.end, separator, &cell);
            if (!read || at > line.end)
                break;
            if (cell.end > cell.begin) {
                piece_add_break(builder, bytes_between(added, cell.begin));
                piece_add_part(builder);
                piece_add_marked(builder, bytes_between(cell.begin, cell.end), &as_it_is);
                piece_add_close(builder, (struct bytes){cell.quoted ? quoted_end : plain_end, 0});
                added = cell.end;
            }
            if (at == line.end)
                break;
        }
    }
    piece_add_break(builder, bytes_between(added, end));
}

void cells_write(struct bytes_buffer *out, const struct markup_end *end) {
    bool plain = end->written == plain_end, quoted = end->written == quoted_end;
    bytes_put(out, end->written, end->written_length);
    if ((!plain && !quoted) || out->failed)
        return;
    size_t length = out->length - end->inside;
    char *text = arena_copy(out->arena, out->bytes + end->inside, length);
    if (!text) {
        out->failed = true;
        return;
    }
    if (plain && strcspn(text, ",;\"\n") == length)
        return;
    out->length = end->inside;
    bytes_put(out, "\"", plain);
    for (size_t at = 0; at < length;) { /* quotation marks are written twice */
        size_t run = strcspn(text + at, "\""), marks = strspn(text + at + run, "\"");
        bytes_put(out, text + at, run + marks);
        bytes_put(out, "\"", quoted ? marks % 2 : 0);
        for (size_t i = 0; plain && i < marks; i++)
            bytes_put(out, "\"", 1);
        at += run + marks;
    }
    bytes_put(out, "\"", plain);
}
