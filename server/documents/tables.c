/* This file hides the notation of tables that programs exchange as text: records of cells with
 * commas or other separators (RFC 4180), or tabs, between them. A cell is translated if its words
 * are for people. Its quotation marks stay, and come where a translation needs them; separators and
 * line ends stay. */
#include "model/base/utf8.h"
#include "server/documents/spans.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    SAMPLE_RECORDS = 20,    /* records by which the separator is chosen */
    MOST_COLUMNS = 1 << 10, /* columns that a client may choose from */
    HEADER_BYTES = 60,      /* bytes of a column's name, */
    HEADER_WORDS = 4        /* and its words */
};

struct table_cell {
    const char *begin, *end; /* with its quotation marks */
    bool quoted;
};

/* A column of the first record. */
struct column {
    struct bytes name; /* as it is written, without quotation marks */
    bool asked_for;    /* the client names it, */
    bool chosen;       /* or names none */
    bool doubled;      /* the translation is in a column of its own */
};

struct table {
    const struct document *document;
    const char *begin, *end; /* the records */
    char separator;
    bool header;            /* the first record has the names of the columns */
    struct column *columns; /* [column_count] */
    size_t column_count;
    char *scratch; /* room for the longest cell */
};

/* A cell in the file that is written; it outlives the markup. */
struct table_place {
    char separator;
    bool quoted;
    bool marked; /* its text begins with a quotation mark that is text */
    bool header; /* it is the name of a column that is doubled and not translated */
    bool beside; /* the translation is a cell of its own */
};

/* ---- cells ---- */

/* Reads the cell at *at and moves *at to the separator or line end after it, or to the end. A
 * quotation mark without another before a separator or a line end is text. */
static struct table_cell read_cell(const char **at, const char *end, char separator) {
    const char *begin = *at, *next = begin;
    if (begin < end && *begin == '"') {
        for (next++; next < end && (*next != '"' || (next + 1 < end && next[1] == '"')); next++)
            next += *next == '"';
        const char *after = next < end ? next + 1 : end;
        if (next < end &&
            (after == end || *after == separator || *after == '\n' || *after == '\r')) {
            *at = after;
            return (struct table_cell){begin, after, true};
        }
    }
    for (next = begin; next < end && *next != separator && *next != '\n' && *next != '\r';)
        next++;
    *at = next;
    return (struct table_cell){begin, next, false};
}

/* Moves past what follows a cell. Returns true if another cell of the record follows. */
static bool skip_separator(const char **at, const char *end, char separator) {
    if (*at < end && **at == separator) {
        ++*at;
        return true;
    }
    bool returns = *at < end && **at == '\r';
    *at += returns;
    *at += *at < end && **at == '\n';
    return false;
}

/* Returns a cell's text; the scratch has room for it. */
static struct bytes text_of(const struct table_cell *cell, char *scratch) {
    const char *begin = cell->begin + cell->quoted, *end = cell->end - cell->quoted;
    if (!cell->quoted || !memmem(begin, (size_t)(end - begin), "\"\"", 2))
        return bytes_between(begin, end);
    char *out = scratch;
    for (const char *at = begin; at < end; at++) {
        *out++ = *at;
        at += *at == '"' && at + 1 < end;
    }
    return bytes_between(scratch, out);
}

/* ---- the separator and the header ---- */

/* Returns the number of cells of the next records if all have as many; otherwise 0. */
static size_t count_columns(const char *at, const char *end, char separator) {
    size_t columns = 0;
    for (size_t records = 0; at < end && records < SAMPLE_RECORDS; records++) {
        size_t cells = 0;
        bool more = true;
        while (more) {
            read_cell(&at, end, separator);
            more = skip_separator(&at, end, separator);
            cells++;
        }
        if (records > 0 && cells != columns)
            return 0;
        columns = cells;
    }
    return columns;
}

/* Skips lines before the records that begin with a sign of comments and have no tab, as Anki and
 * programs of statistics write them. */
static void skip_comments(struct table *table) {
    struct line line = {.next = table->begin};
    while (lines_next(&line, table->end) && line.begin < line.end && *line.begin == '#' &&
           !memchr(line.begin, '\t', (size_t)(line.end - line.begin)))
        table->begin = line.next;
}

/* Chooses the separator by which the records have equally many cells, and most of them. A first
 * line such as "sep=;", which spreadsheets write, names it. */
static void find_separator(struct table *table) {
    static const char separators[] = {',', ';', '\t', '|'};
    struct line line = {.next = table->begin};
    size_t most = 1;
    if (strcmp(table->document->format->name, "tsv") == 0) {
        skip_comments(table);
        table->separator = '\t';
        return;
    }
    table->separator = ',';
    if (lines_next(&line, table->end) && line.end - line.begin == 5 &&
        bytes_begin(line.begin, line.end, "sep=")) {
        table->separator = line.begin[4];
        table->begin = line.next;
        return;
    }
    for (size_t i = 0; i < sizeof separators; i++) {
        size_t columns = count_columns(table->begin, table->end, separators[i]);
        if (columns > most) {
            most = columns;
            table->separator = separators[i];
        }
    }
}

/* True if a cell of the first record may be the name of a column. */
static bool is_name(struct bytes text) {
    size_t spaces = 0, digits = 0;
    if (text.length == 0 || text.length > HEADER_BYTES || memchr(text.start, '\n', text.length))
        return false;
    for (size_t i = 0; i < text.length; i++) {
        spaces += text.start[i] == ' ';
        digits += !!strchr("0123456789.,-+%/ ", text.start[i]);
    }
    bool sentence = spaces > 0 && strchr(".!?", text.start[text.length - 1]);
    return digits < text.length && !sentence && spaces < HEADER_WORDS;
}

/* Reads the first record: it is a header if it has several cells, all of which may be names of
 * columns and differ. */
static int read_columns(struct table *table, struct arena *arena, struct error *err) {
    size_t room = 0;
    bool names = true;
    const char *at = table->begin;
    for (bool more = at < table->end; more && table->column_count < MOST_COLUMNS;) {
        struct table_cell cell = read_cell(&at, table->end, table->separator);
        struct column *columns =
            arena_grow(arena, table->columns, table->column_count, &room, 1, sizeof *columns);
        if (!columns)
            return error_memory(err);
        struct bytes name =
            bytes_trimmed(bytes_between(cell.begin + cell.quoted, cell.end - cell.quoted));
        names &= is_name(name);
        for (size_t i = 0; i < table->column_count && names; i++)
            names = !bytes_same(columns[i].name, name);
        table->columns = columns;
        columns[table->column_count++] = (struct column){.name = name};
        more = skip_separator(&at, table->end, table->separator);
    }
    table->header =
        names && at < table->end &&
        (table->column_count > 1 || (table->document->columns && *table->document->columns));
    return 0;
}

/* Fails with the names of the columns. */
static int refuse_column(const struct table *table, struct bytes asked, struct error *err) {
    char names[120] = "";
    size_t length = 0;
    for (size_t i = 0; i < table->column_count && table->header && length < sizeof names; i++)
        length +=
            (size_t)snprintf(names + length, sizeof names - length, "%s%.*s", i > 0 ? ", " : "",
                             (int)table->columns[i].name.length, table->columns[i].name.start);
    names[utf8_clip(names, strlen(names), sizeof names - 1)] = '\0';
    return error_set(err, ERROR_INPUT,
                     "columns: there is no column \"%.*s\"; the file has %zu columns%s%s",
                     (int)utf8_clip(asked.start, asked.length, HEADER_BYTES), asked.start,
                     table->column_count, *names ? ": " : "", names);
}

/* Marks the columns that the client names, by their names or their numbers from 1. */
static int choose_columns(struct table *table, struct arena *arena, struct error *err) {
    const char *at = table->document->columns;
    bool all = !at || !*at;
    for (size_t i = 0; i < table->column_count; i++)
        table->columns[i].chosen = all;
    for (bool more = !all; more;) {
        struct bytes_buffer asked = {.arena = arena};
        bytes_put(&asked, "", 0);
        for (; *at && *at != ','; at++) {
            at += *at == '\\' && at[1] == ',';
            bytes_put(&asked, at, 1);
        }
        more = *at == ',';
        at += more;
        if (asked.failed)
            return error_memory(err);
        struct bytes name = bytes_trimmed((struct bytes){asked.bytes, asked.length});
        char *end;
        size_t found = table->column_count, number = strspn(name.start, "0123456789") == name.length
                                                         ? strtoul(name.start, &end, 10)
                                                         : 0;
        for (size_t i = 0; i < table->column_count && table->header; i++)
            if (found == table->column_count && bytes_same(table->columns[i].name, name))
                found = i;
        if (found == table->column_count && number > 0)
            found = number - 1;
        if (found >= table->column_count)
            return refuse_column(table, name, err);
        table->columns[found].chosen = table->columns[found].asked_for = true;
    }
    return 0;
}

/* ---- reading ---- */

/* True if the words of a cell are for people. A cell of a column that the client names may be a
 * single word that could be for programs. A formula stays. */
static bool is_prose(const struct table *table, size_t column, struct bytes text) {
    static const struct column beyond;
    const struct column *own = column < table->column_count ? &table->columns[column] : &beyond;
    const struct prose_place place = {.name = table->header ? own->name : nothing};
    bool chosen = own->chosen || (column >= MOST_COLUMNS && !table->document->columns);
    if (!chosen || text.length == 0 || *text.start == '=')
        return false;
    return prose_judge(text, &place, table->scratch + text.length) >=
           (own->asked_for ? PROSE_DOUBTFUL : PROSE_LANGUAGE);
}

/* Adds a cell as a span. translated: its text is one of the span. */
static void add_cell(const struct table *table, const struct table_cell *cell, bool translated,
                     const struct table_place *place, struct document_spans *spans,
                     struct piece_builder *builder) {
    static const struct marking as_it_is;
    struct table_place *own = arena_alloc(builder->arena, 1, sizeof *own);
    size_t first = builder->markup.piece_count;
    if (!own) {
        builder->failed = ERROR_MEMORY;
        return;
    }
    *own = *place;
    spans_add(spans, builder, cell->begin, cell->end, own);
    if (!translated || builder->failed)
        return;
    struct bytes text = text_of(cell, table->scratch);
    if (text.start == table->scratch)
        text.start = arena_copy(builder->arena, text.start, text.length);
    if (!text.start) {
        builder->failed = ERROR_MEMORY;
        return;
    }
    lines_add(builder, text, lines_label, &as_it_is);
    spans_end_text(spans, builder, first);
}

/* Goes through the cells: marks the columns that get a column beside them or, with a builder, adds
 * what is translated. */
static void walk(struct table *table, struct document_spans *spans, struct piece_builder *builder) {
    bool beside = table->document->bilingual == BILINGUAL_BESIDE,
         keeps = table->header && !table->document->header;
    const char *at = table->begin;
    for (size_t record = 0; at < table->end; record++) {
        bool more = true;
        for (size_t i = 0; more; i++) {
            struct table_cell cell = read_cell(&at, table->end, table->separator);
            bool names = record == 0 && keeps,
                 prose = !names && is_prose(table, i, text_of(&cell, table->scratch));
            bool doubled = beside && i < table->column_count && table->columns[i].doubled;
            const struct table_place place = {
                .separator = table->separator,
                .quoted = cell.quoted,
                .marked = !cell.quoted && cell.begin < cell.end && *cell.begin == '"',
                .beside = beside,
                .header = names,
            };
            if (builder && (prose || doubled))
                add_cell(table, &cell, prose && (!beside || doubled), &place, spans, builder);
            if (!builder && prose && i < table->column_count)
                table->columns[i].doubled = true;
            more = skip_separator(&at, table->end, table->separator);
        }
        if (builder && builder->failed)
            return;
    }
}

/* ---- writing ---- */

/* Puts text in quotation marks if it needs or had them. */
static void put_text(struct bytes_buffer *out, struct bytes text, const struct table_place *place) {
    const char marks[] = {place->separator, '\n', '\r', '\0'};
    bool quoted = place->quoted || strcspn(text.start, marks) < text.length ||
                  (text.length > 0 && *text.start == '"' && !place->marked);
    bytes_put(out, "\"", quoted);
    for (size_t i = 0; i < text.length; i++) {
        bytes_put(out, text.start + i, 1);
        bytes_put(out, "\"", quoted && text.start[i] == '"');
    }
    bytes_put(out, "\"", quoted);
}

/* A span_put. */
static void put_cell(struct span_writer *writer, const struct document_span *span,
                     const struct span_written *texts) {
    const struct table_place *place = span->about;
    struct bytes_buffer *out = &writer->out, both = {.arena = out->arena};
    bool translated = span->count > 0 && texts[0].translated;
    struct bytes source = bytes_between(span->begin + place->quoted, span->end - place->quoted);
    if (place->beside) {
        span_keep(writer, span->end);
        bytes_put(out, &place->separator, 1);
        if (translated) {
            put_text(out, texts[0].text, place);
        } else if (place->header) {
            bytes_put(out, "\"", place->quoted);
            bytes_put(out, source.start, source.length);
            bytes_put_string(out, " (");
            bytes_put_string(out, writer->document->language);
            bytes_put_string(out, place->quoted ? ")\"" : ")");
        }
        return;
    }
    if (!translated)
        return;
    span_keep(writer, span->begin);
    if (writer->document->bilingual) {
        bytes_put(&both, source.start, source.length);
        bytes_put_string(&both, "\n");
        for (size_t i = 0; i < texts[0].text.length; i++) {
            bytes_put(&both, texts[0].text.start + i, 1);
            bytes_put(&both, "\"", texts[0].text.start[i] == '"');
        }
        bytes_put_string(out, "\"");
        bytes_put(out, both.bytes, both.length);
        bytes_put_string(out, "\"");
        out->failed |= both.failed;
    } else {
        put_text(out, texts[0].text, place);
    }
    span_skip(writer, span->end);
}

int tables_read(const struct document *document, struct arena *arena, struct markup *out,
                struct error *err) {
    struct piece_builder builder = document_builder(document, arena);
    struct document_spans *spans = arena_zalloc(arena, 1, sizeof *spans);
    struct table table = {.document = document,
                          .begin = document->source,
                          .end = document->source + document->length,
                          .scratch = arena_alloc(arena, 2 * document->length + 1, 1)};
    if (!spans || !table.scratch)
        return error_memory(err);
    spans->put = put_cell;
    find_separator(&table);
    if (read_columns(&table, arena, err) != 0 || choose_columns(&table, arena, err) != 0)
        return -1;
    if (document->bilingual == BILINGUAL_BESIDE)
        walk(&table, NULL, NULL);
    walk(&table, spans, &builder);
    return spans_build(spans, &builder, NULL, out, err);
}
