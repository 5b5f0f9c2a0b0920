/* This file hides how a text of any size is read in a bounded amount of memory, and in which order the files of a folder change. */
#include "server/shortlist_command.h"
#include "model/base/utf8.h"
#include "model/import/lists.h"
#include "model/translator.h"
#include "server/models/folders.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* A longer line is counted in several parts. */
enum { PART_BYTES = 64 * 1024 };

/* ---- the text ---- */

struct text {
    const char *name;
    int file;
    size_t filled, line; /* line: the number of the one that is being read */
    char bytes[PART_BYTES];
};

/* How many of the bytes can be counted: whole lines, or of a line that does not fit whole words or, if it has no blank, whole
 * characters. last: no more follow. */
static size_t whole_of(const struct text *text, bool last) {
    const char *line = memrchr(text->bytes, '\n', text->filled), *blank;
    if (last)
        return text->filled;
    if (line)
        return (size_t)(line - text->bytes) + 1;
    if (text->filled < sizeof text->bytes)
        return 0;
    blank = memrchr(text->bytes, ' ', text->filled);
    if (blank && blank > text->bytes)
        return (size_t)(blank - text->bytes);
    size_t end = text->filled - 1; /* the first byte of the last character */
    while (end > text->filled - 4 && ((unsigned char)text->bytes[end] & 0xc0) == 0x80)
        end--;
    return end;
}

/* Counts the first bytes of the text, line by line. */
static int count_lines(struct pieces *pieces, struct text *text, size_t whole, struct error *err) {
    for (size_t at = 0; at < whole;) {
        const char *line = text->bytes + at, *end = memchr(line, '\n', whole - at);
        size_t length = end ? (size_t)(end - line) : whole - at;
        struct error inner = {0};
        if (!utf8_valid(line, length))
            return error_set(err, ERROR_INPUT, "%.150s, line %zu: is not UTF-8", text->name, text->line);
        if (pieces_count(pieces, line, length, &inner) != 0)
            return error_set(err, inner.code, "%.150s, line %zu: %s", text->name, text->line, inner.message);
        text->line += end != NULL;
        at += length + (end != NULL);
    }
    return 0;
}

/* Counts the text of an open file to its end. */
static int count_text(struct pieces *pieces, struct text *text, struct error *err) {
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    bool begins = true;
    for (ssize_t got = 1; got > 0;) {
        do
            got = read(text->file, text->bytes + text->filled, sizeof text->bytes - text->filled);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            return error_set(err, ERROR_FILE, "cannot read %.150s: %s", text->name, strerror(errno));
        text->filled += (size_t)got;
        size_t mark = begins && text->filled >= 3 && memcmp(text->bytes, byte_order_mark, 3) == 0 ? 3 : 0;
        begins = begins && text->filled < 3;
        text->filled -= mark;
        memmove(text->bytes, text->bytes + mark, text->filled);

        size_t whole = whole_of(text, got == 0);
        if (count_lines(pieces, text, whole, err) != 0)
            return -1;
        text->filled -= whole;
        memmove(text->bytes, text->bytes + whole, text->filled);
    }
    return 0;
}

/* path NULL: stdin. */
static int count_file(struct pieces *pieces, const char *path, struct error *err) {
    struct text *text = calloc(1, sizeof *text);
    if (!text)
        return error_memory(err);
    text->name = path ? path : "standard input";
    text->line = 1;
    text->file = path ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    int result = text->file >= 0 ? count_text(pieces, text, err)
                                 : error_set(err, ERROR_FILE, "cannot open %.150s: %s", path, strerror(errno));
    if (path && text->file >= 0)
        close(text->file);
    free(text);
    return result;
}

/* ---- the folder ---- */

/* Other processes that give the folder a list wait until the descriptor is closed. -1: an error. */
static int lock_folder(const char *folder, struct error *err) {
    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), result = lock;
    while (lock >= 0 && (result = flock(lock, LOCK_EX)) != 0 && errno == EINTR)
        ;
    if (result >= 0)
        return lock;
    error_set(err, ERROR_FILE, "cannot be %s: %s", lock < 0 ? "opened" : "locked", strerror(errno));
    if (lock >= 0)
        close(lock);
    return -1;
}

/* Requires the lock, because others may have written a file and not yet its entry. */
static int check_folder(const char *folder, struct error *err) {
    struct integrity *integrity = integrity_create();
    struct integrity_found found;
    int result = integrity ? integrity_check(integrity, folder, INTEGRITY_QUICK, &found, err) : error_memory(err);
    integrity_free(integrity);
    return result;
}

static struct pieces *open_pieces(const char *folder, const char *language, struct error *err) {
    int lock = lock_folder(folder, err);
    struct pieces *pieces = lock >= 0 && check_folder(folder, err) == 0 ? pieces_open(folder, language, err) : NULL;
    if (lock >= 0)
        close(lock);
    return pieces;
}

static int put_list(const char *folder, const struct pieces *pieces, const struct pieces_list *list, struct error *err) {
    static const char *const changed[] = {"config.json", "shortlist.safetensors"};
    int lock = lock_folder(folder, err), result = lock >= 0 ? check_folder(folder, err) : -1;
    if (result == 0)
        result = lists_put(folder, pieces_language(pieces), list->ids, list->count, err);
    if (result == 0)
        result = manifest_update(folder, changed, sizeof changed / sizeof *changed, err);
    if (lock >= 0)
        close(lock);
    return result;
}

static int check_written(struct error *err) {
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : error_set(err, ERROR_FILE, "cannot write: %s", strerror(errno));
}

static int make_list(const struct options *options, struct pieces *pieces, struct error *err) {
    const char *folder = options->models.names[0];
    const struct pieces_wanted wanted = {options->share, options->count};
    struct pieces_list list;
    struct error inner = {0};
    if (options->paths.count == 0 && count_file(pieces, NULL, err) != 0)
        return -1;
    for (size_t i = 0; i < options->paths.count; i++)
        if (count_file(pieces, options->paths.names[i], err) != 0)
            return -1;
    if (pieces_choose(pieces, &wanted, &list, err) != 0)
        return -1;
    int result = put_list(folder, pieces, &list, &inner);
    free(list.ids);
    if (result != 0)
        return error_set(err, inner.code, "%s: %s", folder, inner.message);
    const char *code = pieces_language(pieces);
    printf("%s: list.%s has %zu pieces: %zu by their counts and %zu to spell other words with; they make up %.4f %% of the %" PRIu64
           " in the text\n",
           folder, code, list.count, list.counted, list.count - list.counted, 100 * (double)list.covered / (double)list.tokens,
           list.tokens);
    if (!pieces_used(pieces))
        printf("%s: lists are used with --shortlist; defaults.shortlist of config.json is false\n", folder);
    return check_written(err);
}

int shortlist_command(const struct options *options, struct error *err) {
    const char *folder = options->models.names[0];
    struct error inner = {0};
    struct pieces *pieces = open_pieces(folder, options->to, &inner);
    if (!pieces)
        return error_set(err, inner.code, "%s: %s", folder, inner.message);
    int result = make_list(options, pieces, err);
    pieces_free(pieces);
    return result;
}
