/* This file hides how untrusted files are read: how they are opened and checked to be complete, how
 * archives are unpacked (by libarchive), and how JSON and YAML are parsed (by jansson and libyaml).
 */
#include "model/import/source.h"
#include "model/base/file.h"
#include "model/base/utf8.h"
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

/* ---- messages and paths ---- */

int source_interrupted(import_stop stop, struct error *err) {
    return stop && *stop ? error_set(err, ERROR_INPUT, "interrupted") : 0;
}

char *source_say(struct arena *arena, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1, 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

const char *source_shown(struct arena *arena, const char *text, size_t length) {
    char *line = arena_alloc(arena, length * UTF8_SHOWN_BYTES + 1, 1);
    size_t size = 0;
    for (size_t at = 0; line && at < length;)
        size += utf8_show(text, length, &at, line + size);
    if (line)
        line[size] = '\0';
    return line ? line : "";
}

const char *source_thousands(struct arena *arena, uint64_t number) {
    char digits[32], grouped[48];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)number),
           at = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            grouped[at++] = ',';
        grouped[at++] = digits[i];
    }
    const char *copy = arena_copy(arena, grouped, at);
    return copy ? copy : "";
}

const char *source_path_join(struct arena *arena, const char *folder, const char *name) {
    return source_say(arena, "%s/%s", folder, name);
}

bool source_is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool source_exists(const char *path) {
    return !path || access(path, F_OK) == 0;
}

const char *source_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool source_ends(const char *name, const char *ending) {
    size_t length = strlen(name), end = strlen(ending);
    return length >= end && memcmp(name + length - end, ending, end) == 0;
}

size_t source_plain_length(const char *name) {
    return strlen(name) - (source_ends(name, ".gz") ? 3 : source_ends(name, ".zst") ? 4 : 0);
}

bool source_begins(const char *name, const char *beginning) {
    return strncmp(name, beginning, strlen(beginning)) == 0;
}

int source_by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* ---- files ---- */

static const char LFS_POINTER[] = "version https://git-lfs.github.com/spec/";

enum { MOST_JSON_BYTES = 1 << 26 };

int source_open(const char *path, uint64_t *size, struct error *err) {
    struct stat status;
    char start[sizeof LFS_POINTER - 1];
    if (!path)
        return error_memory(err);
    int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0)
        return error_set(err, ERROR_FILE, "%s: %s", path, strerror(errno));
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(file);
        return error_set(err, ERROR_FILE, "%s: is not a regular file", path);
    }
    if (pread(file, start, sizeof start, 0) == (ssize_t)sizeof start &&
        memcmp(start, LFS_POINTER, sizeof start) == 0) {
        close(file);
        return error_set(
            err, ERROR_FORMAT,
            "%s: is a Git LFS pointer, not the file itself, which `git lfs pull` fetches", path);
    }
    *size = (uint64_t)status.st_size;
    return file;
}

int source_read_at(int file, uint64_t at, void *bytes, size_t count, const char *what,
                   struct error *err) {
    char *next = bytes;
    while (count > 0) {
        ssize_t got = pread(file, next, count, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error_set(err, ERROR_FILE, "%s: %s", what,
                             got < 0 ? strerror(errno) : "the file ends within it");
        next += got;
        at += (uint64_t)got;
        count -= (size_t)got;
    }
    return 0;
}

int source_take(struct source_cursor *cursor, void *out, uint64_t count, const char *what,
                struct error *err) {
    if (count > cursor->size - cursor->at)
        return error_set(err, ERROR_FORMAT, "%s: the file ends within %s", cursor->path, what);
    if (source_read_at(cursor->file, cursor->at, out, (size_t)count, cursor->path, err) != 0)
        return -1;
    cursor->at += count;
    return 0;
}

int source_read(const char *path, size_t most, struct arena *arena, char **bytes, size_t *size,
                struct error *err) {
    uint64_t length;
    int result = -1, file = source_open(path, &length, err);
    if (file < 0)
        return -1;
    char *read = NULL;
    if (length > most)
        error_set(err, ERROR_FILE, "%s: has %llu bytes, more than the allowed %zu", path,
                  (unsigned long long)length, most);
    else if (!(read = arena_alloc(arena, (size_t)length + 1, 1)))
        error_memory(err);
    else
        result = source_read_at(file, 0, read, (size_t)length, path, err);
    close(file);
    if (result == 0) {
        read[length] = '\0';
        *bytes = read;
        *size = (size_t)length;
    }
    return result;
}

/* Replaces CR LF and CR with LF in place. Returns the new length. */
static size_t unify_lines(char *text, size_t length) {
    size_t out = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\r' && i + 1 < length && text[i + 1] == '\n')
            continue;
        text[out++] = text[i] == '\r' ? '\n' : text[i];
    }
    text[out] = '\0';
    return out;
}

int source_text(const char *path, size_t most, struct arena *arena, char **text, size_t *length,
                struct error *err) {
    if (source_read(path, most, arena, text, length, err) != 0)
        return -1;
    if (!utf8_valid(*text, *length))
        return error_set(err, ERROR_FORMAT, "%s: not valid UTF-8", path);
    *length = unify_lines(*text, *length);
    return 0;
}

int source_text_mended(const char *path, size_t most, struct arena *arena, char **text,
                       size_t *length, struct error *err) {
    static const char UNKNOWN[] = "\xef\xbf\xbd";
    char *bytes;
    size_t size;
    if (source_read(path, most, arena, &bytes, &size, err) != 0)
        return -1;
    char *mended = arena_alloc(arena, 3 * size + 1, 1);
    if (!mended)
        return error_memory(err);
    size_t out = 0;
    for (size_t at = 0, step; at < size; at += step) {
        bool valid;
        step = utf8_first(bytes + at, size - at, &valid);
        memcpy(mended + out, valid ? bytes + at : UNKNOWN, valid ? step : 3);
        out += valid ? step : 3;
    }
    mended[out] = '\0';
    *length = unify_lines(mended, out);
    *text = mended;
    return 0;
}

int source_json(const char *path, const char *shown, struct arena *arena, json_t **out,
                struct error *err) {
    char *text;
    size_t length;
    json_error_t problem;
    if (source_read(path, MOST_JSON_BYTES, arena, &text, &length, err) != 0)
        return -1;
    *out = json_loadb(text, length, 0, &problem);
    return *out
               ? 0
               : error_set(err, ERROR_FORMAT, "%s: line %d: %s", shown, problem.line, problem.text);
}

const char *source_json_shown(struct arena *arena, const json_t *value) {
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    const char *copy = text ? arena_copy(arena, text, strlen(text)) : NULL;
    arena->failed |= !text;
    free(text);
    return copy ? copy : "";
}

/* ---- archives ---- */

enum { BLOCK_BYTES = 1 << 16, NAME_BYTES = 512, MOST_DEPTH = 4, PATH_BYTES = 4096 };

const struct archive_limits archive_usual = {5000, UINT64_C(16) << 30, 200};

/* An archive that is read from beginning to end. */
struct reader {
    const char *path;
    struct archive *archive;
    const struct archive_limits *limits;
    import_stop stop;
    size_t members;
    uint64_t size, bytes; /* size of the archive; bytes of its contents so far */
};

static int fail(const struct reader *reader, const char *name, const char *why, struct error *err) {
    return *name ? error_set(err, ERROR_FORMAT, "%s: %s: %s", reader->path, name, why)
                 : error_set(err, ERROR_FORMAT, "%s: %s", reader->path, why);
}

static const char *reason(const struct reader *reader) {
    const char *text = archive_error_string(reader->archive);
    return text ? text : "it is damaged";
}

int source_archive_kind_of(const char *path, enum archive_kind *kind, struct error *err) {
    char start[512] = "";
    uint64_t size;
    int file = source_open(path, &size, err);
    if (file < 0)
        return -1;
    size_t count = size < sizeof start ? (size_t)size : sizeof start;
    int result = source_read_at(file, 0, start, count, path, err);
    close(file);
    if (result != 0)
        return -1;
    bool packed = memcmp(start, "\x1f\x8b", 2) == 0 || memcmp(start, "\x28\xb5\x2f\xfd", 4) == 0;
    bool tar =
        source_ends(path, ".tar.gz") || source_ends(path, ".tgz") || source_ends(path, ".tar.zst");
    *kind = memcmp(start, "PK\x03\x04", 4) == 0 || memcmp(start, "PK\x05\x06", 4) == 0 ? ARCHIVE_ZIP
            : memcmp(start + 257, "ustar", 5) == 0 || (packed && tar)                  ? ARCHIVE_TAR
            : packed ? ARCHIVE_COMPRESSED
                     : ARCHIVE_NONE;
    return 0;
}

/* raw: the file is not an archive but one compressed file. */
static int open_reader(struct reader *reader, bool raw, struct error *err) {
    int file = source_open(reader->path, &reader->size, err);
    if (file < 0)
        return -1;
    close(file);
    struct archive *archive = archive_read_new();
    if (!archive)
        return error_memory(err);
    archive_read_support_filter_gzip(archive);
    archive_read_support_filter_zstd(archive);
    if (raw) {
        archive_read_support_format_raw(archive);
    } else {
        archive_read_support_format_zip_seekable(
            archive); /* reads the directory at the end, so that a truncated zip is refused */
        archive_read_support_format_tar(archive);
    }
    reader->archive = archive;
    if (archive_read_open_filename(archive, reader->path, BLOCK_BYTES) == ARCHIVE_OK)
        return 0;
    fail(reader, "", reason(reader), err);
    archive_read_free(archive);
    return -1;
}

/* Finds the next member that is a file. Returns 1, 0 at the end, or -1 with ERROR_FORMAT or
 * ERROR_INPUT (interrupted). name: set to the member's path without a leading "./". */
static int next_file(struct reader *reader, char name[NAME_BYTES], struct error *err) {
    struct archive_entry *entry;
    for (;;) {
        if (source_interrupted(reader->stop, err) != 0)
            return -1;
        int status = archive_read_next_header(reader->archive, &entry);
        if (status == ARCHIVE_EOF)
            return 0;
        if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
            return fail(reader, "", reason(reader), err);
        if (++reader->members > reader->limits->members)
            return error_set(err, ERROR_FORMAT, "%s: has more than %zu members", reader->path,
                             reader->limits->members);
        const char *path = archive_entry_pathname_utf8(entry);
        if (!path)
            path = archive_entry_pathname(entry);
        if (!path || !*path || strlen(path) >= NAME_BYTES || !utf8_valid(path, strlen(path)))
            return fail(reader, "", "a member's name is empty, too long or not UTF-8", err);
        while (strncmp(path, "./", 2) == 0)
            path += 2;
        snprintf(name, NAME_BYTES, "%s", path);
        if (archive_entry_hardlink(entry) || archive_entry_symlink(entry))
            return fail(reader, name, "is a link, and only files and folders are unpacked", err);
        if (archive_entry_filetype(entry) == AE_IFDIR)
            continue;
        if (archive_entry_filetype(entry) != AE_IFREG)
            return fail(reader, name, "is neither a file nor a folder", err);
        return 1;
    }
}

/* Appends the member's contents to the file. */
static int copy_content(struct reader *reader, const char *name, int file, struct error *err) {
    char block[BLOCK_BYTES];
    uint64_t ratio = reader->limits->ratio, most = reader->limits->bytes;
    if (reader->size < UINT64_MAX / ratio && reader->size * ratio + ARCHIVE_FREE_BYTES < most)
        most = reader->size * ratio + ARCHIVE_FREE_BYTES;
    for (;;) {
        la_ssize_t count = archive_read_data(reader->archive, block, sizeof block);
        if (count < 0)
            return error_set(err, ERROR_FORMAT, "%s: %s%scannot be unpacked: %s", reader->path,
                             name, *name ? ": " : "", reason(reader));
        if (count == 0)
            return 0;
        reader->bytes += (uint64_t)count;
        if (reader->bytes > most)
            return error_set(err, ERROR_FORMAT, "%s: its contents are larger than %llu bytes",
                             reader->path, (unsigned long long)most);
        if (file_write_all(file, block, (size_t)count) != 0)
            return error_set(err, ERROR_FILE, "%s: cannot be unpacked: %s", reader->path,
                             strerror(errno));
        if (source_interrupted(reader->stop, err) != 0)
            return -1;
    }
}

/* Unpacks a member and makes the folders that lead to it. The name must not lead out of the folder.
 */
static int unpack_file(struct reader *reader, const char *folder, const char *name,
                       struct error *err) {
    char path[PATH_BYTES];
    size_t depth = 0;
    if (*name == '/')
        return fail(reader, name, "is an absolute path", err);
    for (const char *part = name;;) {
        size_t length = strcspn(part, "/");
        if (length == 0 || (length == 1 && *part == '.') ||
            (length == 2 && memcmp(part, "..", 2) == 0))
            return fail(reader, name, "is empty or leads out of the folder", err);
        for (size_t i = 0; i < length; i++)
            if ((unsigned char)part[i] < ' ' || part[i] == '\\' || part[i] == 127)
                return fail(reader, name, "has a character that names must not have", err);
        bool last = part[length] == '\0';
        if (!last && ++depth > MOST_DEPTH)
            return fail(reader, name, "lies in too many folders", err);
        int printed =
            snprintf(path, sizeof path, "%s/%.*s", folder, (int)(part + length - name), name);
        if (printed < 0 || (size_t)printed >= sizeof path)
            return fail(reader, name, "is too long", err);
        if (last)
            break;
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return error_set(err, ERROR_FILE, "%s: %s", path, strerror(errno));
        part += length + 1;
    }
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return fail(reader, name,
                    errno == EEXIST || errno == EISDIR || errno == ENOTDIR ? "occurs twice"
                                                                           : strerror(errno),
                    err);
    int result = copy_content(reader, name, file, err);
    return close(file) == 0 || result != 0
               ? result
               : error_set(err, ERROR_FILE, "%s: %s", path, strerror(errno));
}

int source_archive_unpack(const char *path, const char *folder, const struct archive_limits *limits,
                          import_stop stop, struct error *err) {
    struct reader reader = {.path = path, .limits = limits, .stop = stop};
    char name[NAME_BYTES];
    if (open_reader(&reader, false, err) != 0)
        return -1;
    int result, found = 0;
    while ((result = next_file(&reader, name, err)) == 1 &&
           (result = unpack_file(&reader, folder, name, err)) == 0)
        found = 1;
    archive_read_free(reader.archive);
    return result == 0 && !found ? error_set(err, ERROR_FORMAT, "%s: is empty", path) : result;
}

int source_archive_expand(const char *path, const char *out, const struct archive_limits *limits,
                          import_stop stop, struct error *err) {
    struct reader reader = {.path = path, .limits = limits, .stop = stop};
    char name[NAME_BYTES];
    if (open_reader(&reader, true, err) != 0)
        return -1;
    int result = -1, file = open(out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        error_set(err, ERROR_FILE, "%s: %s", out, strerror(errno));
    else if ((result = next_file(&reader, name, err)) == 1 &&
             archive_filter_code(reader.archive, 0) == ARCHIVE_FILTER_NONE)
        result = fail(&reader, "", "cannot be unpacked: its beginning is damaged", err);
    else if (result == 1)
        result = copy_content(&reader, "", file, err);
    else if (result == 0)
        result = fail(&reader, "", "cannot be unpacked: it is empty", err);
    if (file >= 0 && close(file) != 0 && result == 0)
        result = error_set(err, ERROR_FILE, "%s: %s", out, strerror(errno));
    archive_read_free(reader.archive);
    return result;
}

/* Opens a file without a name, which disappears when it is closed. */
static int open_nameless(const char *work, struct error *err) {
    char path[PATH_BYTES];
    int file = open(work, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0)
        return file;
    int printed =
        snprintf(path, sizeof path, "%s/spool-XXXXXX", work); /* a file system without O_TMPFILE */
    if (printed > 0 && (size_t)printed < sizeof path && (file = mkostemp(path, O_CLOEXEC)) >= 0) {
        unlink(path);
        return file;
    }
    return error_set(err, ERROR_FILE, "%s: %s", work, strerror(errno));
}

int source_archive_spool(const char *path, const char *work, struct arena *arena, import_stop stop,
                         struct archive_members *out, struct error *err) {
    struct reader reader = {.path = path, .limits = &archive_usual, .stop = stop};
    struct archive_members found = {.spool = -1};
    char name[NAME_BYTES];
    size_t room = 0;
    if (open_reader(&reader, false, err) != 0)
        return -1;
    int result = -1;
    found.spool = open_nameless(work, err);
    while (found.spool >= 0 && (result = next_file(&reader, name, err)) == 1) {
        const char *copy = arena_copy(arena, name, strlen(name));
        found.members =
            arena_grow(arena, found.members, found.count, &room, 1, sizeof *found.members);
        if (!copy || !found.members) {
            result = error_memory(err);
            break;
        }
        struct archive_member *member = &found.members[found.count++];
        *member = (struct archive_member){.name = copy, .at = reader.bytes};
        if ((result = copy_content(&reader, name, found.spool, err)) != 0)
            break;
        member->bytes = reader.bytes - member->at;
    }
    archive_read_free(reader.archive);
    if (result != 0 && found.spool >= 0)
        close(found.spool);
    if (result == 0)
        *out = found;
    return result;
}

/* ---- YAML ---- */

enum { SHOWN_ITEMS = 20 };

/* The kinds of event that may come next, and the message for any other event. */
enum expected { MAPPING, KEY, VALUE, ITEM };
static const char *const expectations[] = {
    "a mapping of keys and values is expected here", "a key must be a plain value",
    "only plain values and lists of them are read", "only lists of plain values are read"};

struct parsing {
    yaml_parser_t parser;
    struct arena *arena;
    enum expected next;
    struct mapping found;
    size_t room, item_room; /* capacity of found.pairs, and of the items of the last pair */
    struct error *err;
};

static int refuse(struct parsing *parsing, const yaml_event_t *event, const char *what) {
    return error_set(parsing->err, ERROR_FORMAT, "line %zu: %s", event->start_mark.line + 1, what);
}

/* Processes one event of the parser: the mapping's beginning, a key, a value, an item or an end. */
static int take_event(struct parsing *parsing, const yaml_event_t *event) {
    enum expected next = parsing->next;
    struct mapping *found = &parsing->found;
    struct mapping_pair *pair = found->count > 0 ? &found->pairs[found->count - 1] : NULL;
    switch (event->type) {
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
    case YAML_STREAM_END_EVENT:
        return 0;
    case YAML_MAPPING_START_EVENT:
        if (next != MAPPING)
            break;
        parsing->next = KEY;
        return found->pairs ? refuse(parsing, event, "only one mapping is read") : 0;
    case YAML_MAPPING_END_EVENT:
        parsing->next = MAPPING;
        return 0;
    case YAML_SEQUENCE_START_EVENT:
        if (next != VALUE)
            break;
        parsing->next = ITEM;
        parsing->item_room = 0;
        return 0;
    case YAML_SEQUENCE_END_EVENT:
        parsing->next = KEY;
        return 0;
    case YAML_SCALAR_EVENT: {
        if (next == MAPPING)
            break;
        const char *text = (const char *)event->data.scalar.value;
        size_t length = event->data.scalar.length;
        if (event->data.scalar.anchor)
            return refuse(parsing, event, "anchors are not read");
        if (strlen(text) != length)
            return refuse(parsing, event, "a NUL");
        if (!(text = arena_copy(parsing->arena, text, length)))
            return error_memory(parsing->err);
        if (next == KEY) {
            found->pairs = arena_grow(parsing->arena, found->pairs, found->count, &parsing->room, 1,
                                      sizeof *pair);
            if (!found->pairs)
                return error_memory(parsing->err);
            found->pairs[found->count++] = (struct mapping_pair){.key = text};
        } else if (next == VALUE) {
            pair->value = text;
        } else {
            pair->items = arena_grow(parsing->arena, pair->items, pair->count, &parsing->item_room,
                                     1, sizeof *pair->items);
            if (!pair->items)
                return error_memory(parsing->err);
            pair->items[pair->count++] = text;
        }
        parsing->next = next == KEY ? VALUE : next == VALUE ? KEY : ITEM;
        return 0;
    }
    default:
        break;
    }
    return refuse(parsing, event, expectations[next]);
}

static int by_key(const void *a, const void *b) {
    const struct mapping_pair *const *one = a, *const *other = b;
    return strcmp((*one)->key, (*other)->key);
}

static int refuse_twins(const struct parsing *parsing) {
    size_t count = parsing->found.count;
    const struct mapping_pair **sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted)
        return error_memory(parsing->err);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &parsing->found.pairs[i];
    qsort(sorted, count, sizeof *sorted, by_key);
    int result = 0;
    for (size_t i = 1; i < count && result == 0; i++)
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0)
            result = error_set(parsing->err, ERROR_FORMAT, "'%s' occurs twice", sorted[i]->key);
    free(sorted);
    return result;
}

int source_mapping_read(const char *text, size_t length, struct arena *arena, struct mapping *out,
                        struct error *err) {
    struct parsing parsing = {.arena = arena, .err = err};
    if (!yaml_parser_initialize(&parsing.parser))
        return error_memory(err);
    yaml_parser_set_encoding(&parsing.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parsing.parser, (const unsigned char *)text, length);
    int result = 0;
    for (bool ended = false; result == 0 && !ended;) {
        yaml_event_t event;
        const yaml_parser_t *parser = &parsing.parser;
        if (yaml_parser_parse(&parsing.parser, &event)) {
            ended = event.type == YAML_STREAM_END_EVENT;
            result = take_event(&parsing, &event);
            yaml_event_delete(&event);
        } else if (parser->error == YAML_MEMORY_ERROR) {
            result = error_memory(err);
        } else {
            size_t line =
                parser->error == YAML_READER_ERROR ? parser->mark.line : parser->problem_mark.line;
            result = error_set(err, ERROR_FORMAT, "line %zu: cannot be read: %s", line + 1,
                               parser->problem ? parser->problem : "it is damaged");
        }
    }
    yaml_parser_delete(&parsing.parser);
    if (result == 0)
        result = refuse_twins(&parsing);
    if (result == 0)
        *out = parsing.found;
    return result;
}

const struct mapping_pair *source_mapping_find(const struct mapping *mapping, const char *key) {
    for (size_t i = 0; i < mapping->count; i++)
        if (strcmp(mapping->pairs[i].key, key) == 0)
            return &mapping->pairs[i];
    return NULL;
}

const char *source_mapping_shown(struct arena *arena, const struct mapping_pair *pair) {
    if (pair->value)
        return pair->value;
    const char *text = "[";
    for (size_t i = 0; i < pair->count && i < SHOWN_ITEMS && text; i++)
        text = source_say(arena, "%s%s%s", text, i ? ", " : "", pair->items[i]);
    text = text ? source_say(arena, "%s%s]", text, pair->count > SHOWN_ITEMS ? ", ..." : "") : NULL;
    return text ? text : "";
}

int source_refuse(const char *path, struct error *err) {
    if (strstr(path, "://"))
        return error_set(err, ERROR_INPUT,
                         "%s: is not a path: only http:// and https:// addresses are downloaded",
                         path);
    return source_exists(path) ? 0 : error_set(err, ERROR_FILE, "%s: does not exist", path);
}
