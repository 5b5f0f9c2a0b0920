#include "server/outfile.h"
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40, MOST_NAMES = 100, COPY_BYTES = 1 << 16 };

/* ---- what is at a path ---- */

/* /dev/stdout and /dev/fd/3 lead to links in /proc/self/fd, which stand for descriptors rather than for names. */
static bool is_descriptor(const struct stat *link) {
    struct stat proc;
    return stat("/proc/self/", &proc) == 0 && link->st_dev == proc.st_dev;
}

/* to: the path that a link at path leads to. */
static int follow(const char *path, char to[PATH_MAX]) {
    char target[PATH_MAX], folder[PATH_MAX];
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0)
        return -1;
    target[length] = '\0';
    snprintf(folder, sizeof folder, "%s", path);
    int written = *target == '/' ? snprintf(to, PATH_MAX, "%s", target) : snprintf(to, PATH_MAX, "%s/%s", dirname(folder), target);
    return written < PATH_MAX ? 0 : -1;
}

/* Follows links to the regular file that path leads to, there or yet to be made. False: it leads to something else, which can only
 * be written in place. */
static bool find_file(const char *path, char at[PATH_MAX]) {
    char next[PATH_MAX];
    struct stat status;
    int length = snprintf(at, PATH_MAX, "%s", path);
    if (length == 0 || length >= PATH_MAX || at[length - 1] == '/')
        return false;
    for (int links = 0; lstat(at, &status) == 0 && S_ISLNK(status.st_mode); links++) {
        if (links == MOST_LINKS || is_descriptor(&status) || follow(at, next) != 0)
            return false;
        memcpy(at, next, PATH_MAX);
    }
    return stat(at, &status) != 0 || S_ISREG(status.st_mode);
}

/* ---- names that nothing has yet ---- */

/* Tries one name after the other beside path until `take` succeeds. Returns what it did, or -1 with errno; *name: malloc'ed. */
static int take_name(const char *path, int (*take)(const char *name, int with), int with, char **name) {
    for (int i = 0; i < MOST_NAMES; i++) {
        if (asprintf(name, "%s.%ld-%d.new", path, (long)getpid(), i) < 0) {
            *name = NULL;
            errno = ENOMEM;
            return -1;
        }
        int result = take(*name, with);
        if (result >= 0)
            return result;
        free(*name);
        *name = NULL;
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

static int create(const char *name, int mode) {
    return open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
}

static int link_descriptor(const char *name, int descriptor) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    return linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* ---- opening ---- */

static int give_stream(struct outfile *output, int descriptor, const char *mode, struct error *err) {
    output->file = fdopen(descriptor, mode);
    if (output->file)
        return 0;
    close(descriptor);
    return error_memory(err);
}

/* Without a name where that can be given later. there: the file is; if no other may be made beside it, the new content waits in
 * a temporary file elsewhere, to be copied into it. */
static int open_new(struct outfile *output, bool there) {
    char folder[PATH_MAX], link[64];
    snprintf(folder, sizeof folder, "%s", output->path);
    int descriptor = open(dirname(folder), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    if (descriptor >= 0 && access(link, F_OK) == 0)
        return descriptor;
    if (descriptor >= 0)
        close(descriptor);
    descriptor = take_name(output->path, create, 0666, &output->temporary);
    if (descriptor >= 0 || !there || (errno != EACCES && errno != EROFS && errno != EPERM))
        return descriptor;
    const char *elsewhere = getenv("TMPDIR");
    return open(elsewhere ? elsewhere : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* As the file that it will replace. Only root may give files away; others had it as their own, or leave it so. */
static void take_after(int descriptor, const struct stat *former) {
    if (fchown(descriptor, former->st_uid, former->st_gid) != 0 && fchown(descriptor, (uid_t)-1, former->st_gid) != 0)
        errno = 0;
    fchmod(descriptor, former->st_mode & 07777);
}

static int open_whole(struct outfile *output, const char *path, struct error *err) {
    struct stat former;
    bool there = stat(output->path, &former) == 0;
    bool may = !there || faccessat(AT_FDCWD, output->path, W_OK, AT_EACCESS) == 0;
    int descriptor = may ? open_new(output, there) : -1;
    if (descriptor < 0)
        return error_set(err, ERROR_FILE, "cannot open %.150s: %s", path, strerror(errno));
    if (there)
        take_after(descriptor, &former);
    return give_stream(output, descriptor, "w+", err);
}

static int open_as_it_is(struct outfile *output, const char *path, int flags, struct error *err) {
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | flags, 0666);
    if (descriptor < 0)
        return error_set(err, ERROR_FILE, "cannot open %.150s: %s", path, strerror(errno));
    return give_stream(output, descriptor, "r+", err);
}

/* What the shell has opened for us with >> goes on to grow. */
int outfile_open(struct outfile *output, const char *path, struct error *err) {
    char found[PATH_MAX];
    struct outfile opened = {.name = path};
    int result;
    if (!find_file(path, found))
        result = open_as_it_is(&opened, path, O_APPEND, err);
    else if ((opened.path = strdup(found)) != NULL)
        result = open_whole(&opened, path, err);
    else
        result = error_memory(err);
    if (result == 0) {
        *output = opened;
        return 0;
    }
    if (opened.temporary)
        unlink(opened.temporary);
    free(opened.temporary);
    free(opened.path);
    return -1;
}

int outfile_open_in_place(struct outfile *output, const char *path, struct error *err) {
    struct outfile opened = {.name = path};
    if (open_as_it_is(&opened, path, 0, err) != 0)
        return -1;
    *output = opened;
    return 0;
}

/* ---- closing ---- */

static int write_all(int descriptor, const char *bytes, ssize_t size) {
    for (ssize_t at = 0, count; at < size; at += count)
        if ((count = write(descriptor, bytes + at, (size_t)(size - at))) < 0)
            return -1;
    return 0;
}

static int copy_all(int from, int to) {
    char bytes[COPY_BYTES];
    ssize_t count;
    for (off_t at = 0; (count = pread(from, bytes, sizeof bytes, at)) > 0; at += count)
        if (write_all(to, bytes, count) != 0)
            return -1;
    return count == 0 ? fsync(to) : -1;
}

/* For a file that can be written but not replaced: one that is mounted on its own, as containers have them, or one in a folder of
 * somebody else. */
static int copy_into_place(const struct outfile *output, int descriptor) {
    int file = open(output->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int result = file >= 0 ? copy_all(descriptor, file) : -1;
    return file >= 0 && close(file) == 0 ? result : -1;
}

static int rename_into_place(struct outfile *output, int descriptor) {
    if (!output->temporary && take_name(output->path, link_descriptor, descriptor, &output->temporary) < 0)
        return -1;
    if (rename(output->temporary, output->path) != 0)
        return -1;
    free(output->temporary);
    output->temporary = NULL;
    return 0;
}

/* So that the new name is there after a power cut. What cannot do that has done all it can. */
static void sync_folder(const char *path) {
    char copy_of[PATH_MAX];
    snprintf(copy_of, sizeof copy_of, "%s", path);
    int folder = open(dirname(copy_of), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return;
    fsync(folder);
    close(folder);
}

static int put_in_place(struct outfile *output) {
    int descriptor = fileno(output->file);
    if (fsync(descriptor) != 0)
        return -1;
    if (rename_into_place(output, descriptor) != 0 && copy_into_place(output, descriptor) != 0)
        return -1;
    sync_folder(output->path);
    return 0;
}

int outfile_close(struct outfile *output, bool keep, struct error *err) {
    int result = 0;
    if (!output->file)
        return 0;
    if (keep && (fflush(output->file) != 0 || ferror(output->file) || (output->path && put_in_place(output) != 0)))
        result = error_set(err, ERROR_FILE, "cannot write %.150s: %s", output->name, strerror(errno));
    if (output->temporary)
        unlink(output->temporary);
    if (fclose(output->file) != 0 && keep && result == 0)
        result = error_set(err, ERROR_FILE, "cannot write %.150s: %s", output->name, strerror(errno));
    free(output->temporary);
    free(output->path);
    *output = (struct outfile){.file = NULL};
    return result;
}

bool outfile_same(int descriptor, int other) {
    struct stat a, b;
    return fstat(descriptor, &a) == 0 && fstat(other, &b) == 0 && S_ISREG(a.st_mode) && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}
