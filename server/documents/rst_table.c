/* This file reads tables that are drawn with signs, and draws them again around the translations of
 * their cells: grids of + - = |, and simple tables between lines of equals signs. */
#include "server/documents/rst_table.h"
#include "model/base/utf8.h"
#include <ctype.h>

enum { MOST_COLUMNS = 32, MOST_BYTES = 64 * 1024 /* of a table; a longer one stays */ };

struct cell {
    struct bytes_buffer lines; /* its lines with spaces between them, while it is read */
    struct bytes text;
    const struct bytes *translation; /* NULL: there is nothing to translate */
    size_t indent;                   /* columns before its first line */
    bool ended;                      /* a blank line follows its text */
};

/* A row of cells, or a line between rows. */
struct row {
    char border;        /* '-' or '=': a line of this sign; '\n': a blank line; 0: cells */
    struct cell *cells; /* [columns] NULL: none */
    struct row *next;
};

struct table {
    struct arena *arena;
    bool grid;
    size_t indent, columns;
    size_t begin[MOST_COLUMNS], end[MOST_COLUMNS]; /* columns of the file */
    struct row *first, **last;
    const char *line_end;
};

/* ---- reading ---- */

static struct row *add_row(struct table *table, char border) {
    struct row *row = arena_zalloc(table->arena, 1, sizeof *row);
    if (!row)
        return NULL;
    row->border = border;
    row->cells = border ? NULL : arena_zalloc(table->arena, table->columns, sizeof *row->cells);
    if (!border && !row->cells)
        return NULL;
    *table->last = row;
    table->last = &row->next;
    return row;
}

/* True for a text that begins a list, a directive or another block. */
static bool begins_block(struct bytes text) {
    const char *end = text.start + text.length, *at = text.start;
    while (at < end && isdigit((unsigned char)*at))
        at++;
    return bytes_begin(text.start, end, "- ") || bytes_begin(text.start, end, "* ") ||
           bytes_begin(text.start, end, "+ ") || bytes_begin(text.start, end, "#. ") ||
           bytes_begin(text.start, end, "..") || bytes_begin(text.start, end, "| ") ||
           bytes_begin(text.start, end, ">>>") || bytes_begin(text.start, end, ":") ||
           (at > text.start && bytes_begin(at, end, ". ")) ||
           (text.length > 1 && end[-1] == ':' && end[-2] == ':');
}

/* Adds a line of a cell. Returns false if it is not one paragraph. */
static bool add_line(struct table *table, struct cell *cell, struct bytes line) {
    size_t indent = 0;
    while (indent < line.length && line.start[indent] == ' ')
        indent++;
    struct bytes says = bytes_trimmed(line);
    bool role = says.length > 0 && *says.start == ':' && memchr(says.start, '`', says.length);
    if (says.length == 0) {
        cell->ended = cell->lines.length > 0;
        return true;
    }
    if (cell->ended || (begins_block(says) && !role) ||
        (cell->lines.length > 0 && cell->indent != indent))
        return false;
    cell->indent = indent;
    cell->lines.arena = table->arena;
    bytes_put_string(&cell->lines, cell->lines.length > 0 ? " " : "");
    bytes_put(&cell->lines, says.start, says.length);
    cell->text = (struct bytes){cell->lines.bytes, cell->lines.length};
    return !cell->lines.failed;
}

/* Moves *at by so many columns. Returns false if a character does not end there. */
static bool skip_columns(const char **at, const char *end, size_t columns) {
    size_t next = 0, length = (size_t)(end - *at), passed = 0;
    while (passed < columns && next < length)
        passed += character_is_wide(character_next(*at, length, &next)) ? 2 : 1;
    *at += next;
    return passed == columns || next == length;
}

/* Reads the columns from the first line. Returns false if there are too many. */
static bool read_columns(struct table *table, struct bytes line) {
    for (size_t i = 0; i < line.length;) {
        size_t begin = i + table->grid;
        char sign = table->grid ? '+' : ' ';
        for (i = begin; i < line.length && line.start[i] != sign;)
            i++;
        if (i > begin && table->columns == MOST_COLUMNS)
            return false;
        if (i > begin) {
            table->begin[table->columns] = begin;
            table->end[table->columns++] = i;
        }
        while (!table->grid && i < line.length && line.start[i] == ' ')
            i++;
    }
    return table->columns > 0;
}

/* Returns the sign of a line between rows that has all columns; 0: it is none. */
static char border_of(const struct table *table, struct bytes line) {
    char sign = line.length > table->begin[0] ? line.start[table->begin[0]] : '\0';
    size_t last = table->end[table->columns - 1] + table->grid;
    if ((sign != '=' && (sign != '-' || !table->grid)) || line.length != last)
        return '\0';
    for (size_t i = 0, column = 0; i < last; i++) {
        while (column + 1 < table->columns && i >= table->begin[column + 1])
            column++;
        bool inside = i >= table->begin[column] && i < table->end[column];
        if (line.start[i] != (inside ? sign : table->grid ? '+' : ' '))
            return '\0';
    }
    return sign;
}

/* Adds the cells of a line to the row. Returns false if they are not those of the columns. */
static bool read_cells(struct table *table, struct row *row, struct bytes line) {
    const char *at = line.start, *end = at + line.length;
    char sign = table->grid ? '|' : ' ';
    for (size_t i = 0; i < table->columns; i++) {
        bool last = i + 1 == table->columns;
        size_t gap = table->begin[i] - (i > 0 ? table->end[i - 1] : 0);
        for (size_t k = 0; k < gap; k++)
            if (at == end ? table->grid : *at++ != sign)
                return false;
        const char *begin = at;
        if (!table->grid && last)
            at = end;
        else if (!skip_columns(&at, end, table->end[i] - table->begin[i]))
            return false;
        if (!add_line(table, &row->cells[i], bytes_between(begin, at)))
            return false;
    }
    return !table->grid || (at < end && *at == '|' && at + 1 == end);
}

/* Reads a table. Returns false if it stays. */
static bool read_table(struct table *table, struct bytes text) {
    struct line line = {.next = text.start};
    struct row *row = NULL;
    const char *end = text.start + text.length;
    size_t borders = 0;
    while (lines_next(&line, end)) {
        const char *begin = line.begin;
        struct bytes says = lines_trimmed(&line);
        if (line.number == 1) {
            table->indent = (size_t)(says.start - line.begin);
            table->line_end = line.next > line.end && *line.end == '\r' ? "\r\n" : "\n";
            if (!read_columns(table, says))
                return false;
        }
        if (says.length == 0) {
            if (table->grid || !add_row(table, '\n'))
                return false;
            row = NULL;
            continue;
        }
        if ((size_t)(says.start - begin) < table->indent ||
            memchr(begin, '\t', (size_t)(says.start + says.length - begin)))
            return false;
        says = bytes_between(begin + table->indent, says.start + says.length);
        char border = border_of(table, says);
        if (border) {
            row = NULL;
            borders++;
            if (!add_row(table, border))
                return false;
            continue;
        }
        if (table->grid ? *says.start != '|' : strspn(says.start, "- ") >= says.length)
            return false;
        bool goes_on = row && (table->grid || strspn(says.start, " ") >= table->end[0]);
        row = goes_on ? row : add_row(table, '\0');
        if (!row || !read_cells(table, row, says))
            return false;
    }
    return borders > 1;
}

/* ---- drawing ---- */

static struct bytes shown(const struct table *table, const struct cell *cell, bool both) {
    struct bytes_buffer out = {.arena = table->arena};
    struct bytes text =
        cell->translation && cell->translation->length > 0 ? *cell->translation : cell->text;
    if (!both || bytes_same(text, cell->text))
        return text;
    bytes_put(&out, cell->text.start, cell->text.length);
    bytes_put_string(&out, " / ");
    bytes_put(&out, text.start, text.length);
    return out.failed ? text : (struct bytes){out.bytes, out.length};
}

/* Takes the next line of a text: as many words as fit, at least one. */
static struct bytes take_line(struct bytes *text, size_t width) {
    const char *begin = text->start, *end = begin + text->length, *stop = begin, *at = begin;
    size_t columns = 0; /* up to `at` */
    while (at < end) {
        while (at < end && *at != ' ')
            at++;
        columns += texts_columns(bytes_between(stop, at));
        if (stop > begin && columns > width)
            break;
        stop = at;
        while (at < end && *at == ' ')
            at++;
    }
    const char *rest = stop;
    while (rest < end && *rest == ' ')
        rest++;
    *text = bytes_between(rest, end);
    return bytes_between(begin, stop);
}

static void put_signs(struct bytes_buffer *out, char sign, size_t count) {
    for (size_t i = 0; i < count; i++)
        bytes_put(out, &sign, 1);
}

/* Puts what stands before a column: a sign of a grid, or as many blanks as in the file. */
static void put_gap(const struct table *table, size_t column, const char *sign,
                    struct bytes_buffer *out) {
    if (table->grid)
        bytes_put_string(out, sign);
    else if (column > 0 && column < table->columns)
        put_signs(out, ' ', table->begin[column] - table->end[column - 1]);
}

/* Puts the cells of a row, in as many lines as they need. */
static void put_row(const struct table *table, struct bytes *texts, const size_t *widths,
                    struct bytes_buffer *out) {
    for (bool more = true; more;) {
        more = false;
        put_signs(out, ' ', table->indent);
        for (size_t i = 0; i < table->columns; i++) {
            bool last = i + 1 == table->columns;
            struct bytes line = take_line(&texts[i], table->grid ? widths[i] - 2 : SIZE_MAX);
            put_gap(table, i, "| ", out);
            bytes_put(out, line.start, line.length);
            size_t used = texts_columns(line) + (table->grid ? 1 : 0);
            if (table->grid || !last)
                put_signs(out, ' ', widths[i] > used ? widths[i] - used : 0);
            more |= texts[i].length > 0;
        }
        bytes_put_string(out, table->grid ? "|" : "");
        bytes_put_string(out, table->line_end);
    }
}

/* A text_draw. */
static bool draw(const void *drawing, bool both, struct bytes before, struct bytes_buffer *out) {
    (void)before;
    const struct table *table = drawing;
    size_t widths[MOST_COLUMNS];
    bool translated = false;
    for (size_t i = 0; i < table->columns; i++) {
        widths[i] = table->end[i] - table->begin[i];
        for (const struct row *row = table->first; row; row = row->next) {
            if (row->border)
                continue;
            struct bytes text = shown(table, &row->cells[i], both);
            translated |= !bytes_same(text, row->cells[i].text);
            while (text.length > 0) {
                size_t own = texts_columns(take_line(&text, table->grid ? 1 : SIZE_MAX));
                own += table->grid ? 2 : 0;
                widths[i] = own > widths[i] ? own : widths[i];
            }
        }
    }
    for (const struct row *row = table->first; row && translated; row = row->next) {
        struct bytes texts[MOST_COLUMNS];
        if (row->border == '\n') {
            bytes_put_string(out, table->line_end);
        } else if (row->border) {
            put_signs(out, ' ', table->indent);
            for (size_t i = 0; i < table->columns; i++) {
                put_gap(table, i, "+", out);
                put_signs(out, row->border, widths[i]);
            }
            bytes_put_string(out, table->grid ? "+" : "");
            bytes_put_string(out, table->line_end);
        } else {
            for (size_t i = 0; i < table->columns; i++)
                texts[i] = shown(table, &row->cells[i], both);
            put_row(table, texts, widths, out);
        }
    }
    return translated;
}

void rst_table_add(struct text_reader *reader, struct bytes text) {
    struct table *table = arena_zalloc(reader->builder->arena, 1, sizeof *table);
    if (!table) {
        reader->builder->failed = ERROR_MEMORY;
        return;
    }
    table->arena = reader->builder->arena;
    table->last = &table->first;
    const char *first = text.start, *end = text.start + text.length;
    while (first < end && *first == ' ')
        first++;
    table->grid = first < end && *first == '+';
    if (text.length > MOST_BYTES || !read_table(table, text) || arena_failed(table->arena))
        return;
    for (struct row *row = table->first; row; row = row->next)
        for (size_t i = 0; i < table->columns && !row->border; i++)
            if (row->cells[i].text.length > 0 && !reader->builder->failed)
                row->cells[i].translation = texts_add_apart(reader, row->cells[i].text, text.start);
    texts_add_drawing(reader, text, draw, table);
}
