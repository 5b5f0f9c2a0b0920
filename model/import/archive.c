#include "model/import/archive.h"
#include "model/base/utf8.h"
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK_BYTES = 1 << 16, NAME_BYTES = 512, MOST_DEPTH = 4, PATH_BYTES = 4096 };

const struct archive_limits archive_usual = {5000, UINT64_C(16) << 30, 200};

/* An archive that is read from beginning to end. */
struct reader {
    const char *path;
    struct archive *archive;
    const struct archive_limits *limits;
    import_stop stop;
    size_t members;
    uint64_t size, bytes; /* of the archive; of its contents so far */
};

static int fail(const struct reader *reader, const char *name, const char *why, struct error *err) {
    return *name ? error_set(err, ERROR_FORMAT, "%s: %s: %s", reader->path, name, why)
                 : error_set(err, ERROR_FORMAT, "%s: %s", reader->path, why);
}

static const char *reason(const struct reader *reader) {
    const char *text = archive_error_string(reader->archive);
    return text ? text : "it is damaged";
}

static bool has_magic(const unsigned char *start, size_t size, const char *magic, size_t at, size_t length) {
    return size >= at + length && memcmp(start + at, magic, length) == 0;
}

int archive_kind_of(const char *path, enum archive_kind *kind, struct error *err) {
    unsigned char start[512];
    uint64_t size;
    int file = source_open(path, &size, err);
    if (file < 0)
        return -1;
    size_t count = size < sizeof start ? (size_t)size : sizeof start;
    int result = source_read_at(file, 0, start, count, path, err);
    close(file);
    if (result != 0)
        return -1;
    bool packed = has_magic(start, count, "\x1f\x8b", 0, 2) || has_magic(start, count, "\x28\xb5\x2f\xfd", 0, 4);
    bool tar = source_ends(path, ".tar.gz") || source_ends(path, ".tgz") || source_ends(path, ".tar.zst");
    *kind = has_magic(start, count, "PK\x03\x04", 0, 4) || has_magic(start, count, "PK\x05\x06", 0, 4) ? ARCHIVE_ZIP
            : has_magic(start, count, "ustar", 257, 5) || (packed && tar)                              ? ARCHIVE_TAR
            : packed                                                                                   ? ARCHIVE_COMPRESSED
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
        archive_read_support_format_zip_seekable(archive); /* by its directory at the end, without which it is torn */
        archive_read_support_format_tar(archive);
    }
    reader->archive = archive;
    if (archive_read_open_filename(archive, reader->path, BLOCK_BYTES) == ARCHIVE_OK)
        return 0;
    fail(reader, "", reason(reader), err);
    archive_read_free(archive);
    return -1;
}

/* The next member that is a file. Returns 1, 0 at the end, or -1 with ERROR_FORMAT. name: its path without a leading "./". */
static int next_file(struct reader *reader, char name[NAME_BYTES], struct error *err) {
    struct archive_entry *entry;
    for (;;) {
        if (import_interrupted(reader->stop, err) != 0)
            return -1;
        int status = archive_read_next_header(reader->archive, &entry);
        if (status == ARCHIVE_EOF)
            return 0;
        if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
            return fail(reader, "", reason(reader), err);
        if (++reader->members > reader->limits->members)
            return error_set(err, ERROR_FORMAT, "%s: has more than %zu members", reader->path, reader->limits->members);
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

static int write_all(int file, const char *bytes, size_t count, const char *path, struct error *err) {
    while (count > 0) {
        ssize_t written = write(file, bytes, count);
        if (written < 0 && errno != EINTR)
            return error_set(err, ERROR_FILE, "%s: cannot be unpacked: %s", path, strerror(errno));
        bytes += written > 0 ? written : 0;
        count -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

/* Appends the member's contents to the file. */
static int copy_content(struct reader *reader, const char *name, int file, uint64_t *bytes, struct error *err) {
    char block[BLOCK_BYTES];
    uint64_t ratio = reader->limits->ratio, most = reader->limits->bytes;
    if (reader->size < UINT64_MAX / ratio && reader->size * ratio + ARCHIVE_FREE_BYTES < most)
        most = reader->size * ratio + ARCHIVE_FREE_BYTES;
    *bytes = 0;
    for (;;) {
        la_ssize_t count = archive_read_data(reader->archive, block, sizeof block);
        if (count < 0)
            return error_set(err, ERROR_FORMAT, "%s: %s%scannot be unpacked: %s", reader->path, name, *name ? ": " : "",
                             reason(reader));
        if (count == 0)
            return 0;
        *bytes += (uint64_t)count;
        reader->bytes += (uint64_t)count;
        if (reader->bytes > most)
            return error_set(err, ERROR_FORMAT, "%s: its contents are larger than %llu bytes", reader->path,
                             (unsigned long long)most);
        if (write_all(file, block, (size_t)count, reader->path, err) != 0 || import_interrupted(reader->stop, err) != 0)
            return -1;
    }
}

/* Makes the folders that lead to the member. A name of several components must not leave the folder. */
static int make_folders(const struct reader *reader, const char *folder, const char *name, struct error *err) {
    char path[PATH_BYTES];
    size_t depth = 0;
    if (*name == '/')
        return fail(reader, name, "is an absolute path", err);
    for (const char *part = name;;) {
        size_t length = strcspn(part, "/");
        if (length == 0 || (length == 1 && *part == '.') || (length == 2 && memcmp(part, "..", 2) == 0))
            return fail(reader, name, "is empty or leads out of the folder", err);
        for (size_t i = 0; i < length; i++)
            if ((unsigned char)part[i] < ' ' || part[i] == '\\' || part[i] == 127)
                return fail(reader, name, "has a character that names must not have", err);
        if (part[length] == '\0')
            return 0;
        if (++depth > MOST_DEPTH)
            return fail(reader, name, "lies in too many folders", err);
        part += length + 1;
        int printed = snprintf(path, sizeof path, "%s/%.*s", folder, (int)(part - name - 1), name);
        if (printed < 0 || (size_t)printed >= sizeof path)
            return fail(reader, name, "is too long", err);
        if (mkdir(path, 0700) != 0 && errno != EEXIST)
            return error_set(err, ERROR_FILE, "%s: %s", path, strerror(errno));
    }
}

static int unpack_file(struct reader *reader, const char *folder, const char *name, struct error *err) {
    char path[PATH_BYTES];
    uint64_t bytes;
    if (make_folders(reader, folder, name, err) != 0)
        return -1;
    int printed = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (printed < 0 || (size_t)printed >= sizeof path)
        return fail(reader, name, "is too long", err);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return fail(reader, name, errno == EEXIST || errno == EISDIR || errno == ENOTDIR ? "occurs twice" : strerror(errno), err);
    int result = copy_content(reader, name, file, &bytes, err);
    return close(file) == 0 || result != 0 ? result : error_set(err, ERROR_FILE, "%s: %s", path, strerror(errno));
}

int archive_unpack(const char *path, const char *folder, const struct archive_limits *limits, import_stop stop, struct error *err) {
    struct reader reader = {.path = path, .limits = limits, .stop = stop};
    char name[NAME_BYTES];
    if (open_reader(&reader, false, err) != 0)
        return -1;
    int result, found = 0;
    while ((result = next_file(&reader, name, err)) == 1 && (result = unpack_file(&reader, folder, name, err)) == 0)
        found = 1;
    archive_read_free(reader.archive);
    return result == 0 && !found ? error_set(err, ERROR_FORMAT, "%s: is empty", path) : result;
}

int archive_expand(const char *path, const char *out, const struct archive_limits *limits, import_stop stop, struct error *err) {
    struct reader reader = {.path = path, .limits = limits, .stop = stop};
    char name[NAME_BYTES];
    uint64_t bytes;
    if (open_reader(&reader, true, err) != 0)
        return -1;
    int result = -1, file = open(out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        error_set(err, ERROR_FILE, "%s: %s", out, strerror(errno));
    else if ((result = next_file(&reader, name, err)) == 1 && archive_filter_code(reader.archive, 0) == ARCHIVE_FILTER_NONE)
        result = fail(&reader, "", "cannot be unpacked: its beginning is damaged", err);
    else if (result == 1)
        result = copy_content(&reader, "", file, &bytes, err);
    else if (result == 0)
        result = fail(&reader, "", "cannot be unpacked: it is empty", err);
    if (file >= 0 && close(file) != 0 && result == 0)
        result = error_set(err, ERROR_FILE, "%s: %s", out, strerror(errno));
    archive_read_free(reader.archive);
    return result;
}

/* A file without a name, which is gone when it is closed. */
static int open_nameless(const char *work, struct error *err) {
    char path[PATH_BYTES];
    int file = open(work, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0)
        return file;
    int printed = snprintf(path, sizeof path, "%s/spool-XXXXXX", work); /* a file system without O_TMPFILE */
    if (printed > 0 && (size_t)printed < sizeof path && (file = mkostemp(path, O_CLOEXEC)) >= 0) {
        unlink(path);
        return file;
    }
    return error_set(err, ERROR_FILE, "%s: %s", work, strerror(errno));
}

int archive_spool(const char *path, const char *work, const struct archive_limits *limits, struct arena *arena, import_stop stop,
                  struct archive_members *out, struct error *err) {
    struct reader reader = {.path = path, .limits = limits, .stop = stop};
    struct archive_members found = {.spool = -1};
    char name[NAME_BYTES];
    size_t room = 0;
    if (open_reader(&reader, false, err) != 0)
        return -1;
    int result = -1;
    found.spool = open_nameless(work, err);
    for (uint64_t at = 0; found.spool >= 0 && (result = next_file(&reader, name, err)) == 1;) {
        struct archive_member *member = arena_grow(arena, found.members, found.count, &room, 1, sizeof *member);
        if (!member) {
            result = error_memory(err);
            break;
        }
        found.members = member;
        member = &found.members[found.count++];
        *member = (struct archive_member){.name = arena_copy(arena, name, strlen(name)), .at = at};
        result = member->name ? copy_content(&reader, name, found.spool, &member->bytes, err) : error_memory(err);
        if (result != 0)
            break;
        at += member->bytes;
    }
    archive_read_free(reader.archive);
    if (result != 0 && found.spool >= 0)
        close(found.spool);
    if (result == 0)
        *out = found;
    return result;
}
