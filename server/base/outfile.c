/* This module hides how a file gets its new content as a whole. */
#include "server/base/outfile.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40, MOST_NAMES = 100, COPY_BYTES = 1 << 16, LINK_BYTES = 64 };

/* Follows links to the regular file that path leads to, which need not exist. Returns false if it
 * leads to anything else, which can only be written in place. /dev/stdout and /dev/fd/3 lead to
 * links in /proc, which stand for descriptors instead of names. */
static bool find_file(const char *path, char at[PATH_MAX]) {
    char target[PATH_MAX], folder[PATH_MAX];
    struct stat status, proc;
    bool has_proc = stat("/proc/self/", &proc) == 0;
    int length = snprintf(at, PATH_MAX, "%s", path);
    if (length == 0 || length >= PATH_MAX || at[length - 1] == '/')
        return false;
    for (int links = 0; lstat(at, &status) == 0 && S_ISLNK(status.st_mode); links++) {
        ssize_t bytes = readlink(at, target, sizeof target - 1);
        if (links == MOST_LINKS || (has_proc && status.st_dev == proc.st_dev) || bytes < 0)
            return false;
        target[bytes] = '\0';
        memcpy(folder, at, PATH_MAX);
        length = *target == '/' ? snprintf(at, PATH_MAX, "%s", target)
                                : snprintf(at, PATH_MAX, "%s/%s", dirname(folder), target);
        if (length >= PATH_MAX)
            return false;
    }
    return stat(at, &status) != 0 || S_ISREG(status.st_mode);
}

/* Tries names beside path until one is free, and links the nameless descriptor's file to it;
 * descriptor -1: creates a new file. Returns the descriptor, or -1 with errno. *name: malloc'ed;
 * NULL: no name. */
static int take_name(const char *path, int descriptor, char **name) {
    char link[LINK_BYTES];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    for (int i = 0; i < MOST_NAMES; i++) {
        if (asprintf(name, "%s.%ld-%d.new", path, (long)getpid(), i) < 0) {
            *name = NULL;
            errno = ENOMEM;
            return -1;
        }
        int result = descriptor < 0 ? open(*name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                                    : linkat(AT_FDCWD, link, AT_FDCWD, *name, AT_SYMLINK_FOLLOW);
        if (result >= 0)
            return descriptor < 0 ? result : descriptor;
        free(*name);
        *name = NULL;
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

/* Opens a file without a name, if it can get one later, or with a temporary name. there: the file
 * exists; if no other file can be created beside it, a temporary file elsewhere holds the new
 * content until it is copied. */
static int open_new(struct outfile *output, bool there) {
    char folder[PATH_MAX], link[LINK_BYTES];
    snprintf(folder, sizeof folder, "%s", output->path);
    int descriptor = open(dirname(folder), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    if (descriptor >= 0 && access(link, F_OK) == 0)
        return descriptor;
    if (descriptor >= 0)
        close(descriptor);
    descriptor = take_name(output->path, -1, &output->temporary);
    if (descriptor >= 0 || !there || (errno != EACCES && errno != EROFS && errno != EPERM))
        return descriptor;
    const char *elsewhere = getenv("TMPDIR");
    return open(elsewhere ? elsewhere : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

int outfile_open(struct outfile *output, const char *name, struct error *err) {
    char path[PATH_MAX];
    bool whole = find_file(name, path);
    struct outfile opened = {.name = name, .path = whole ? strdup(path) : NULL};
    struct stat former;
    int descriptor = -1;
    if (whole && !opened.path)
        return error_memory(err);
    if (whole) {
        bool there = stat(path, &former) == 0;
        if (!there || faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0)
            descriptor = open_new(&opened, there);
        if (descriptor >= 0 && there) { /* only root can change owners; for other users the owner is
                                           the same or stays different */
            if (fchown(descriptor, former.st_uid, former.st_gid) != 0 &&
                fchown(descriptor, (uid_t)-1, former.st_gid) != 0)
                errno = 0;
            fchmod(descriptor, former.st_mode & 07777);
        }
    } else { /* a file that the shell has opened with >> keeps growing */
        descriptor = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_APPEND, 0666);
    }
    if (descriptor < 0)
        error_set(err, ERROR_FILE, "cannot open %.150s: %s", name, strerror(errno));
    else if ((opened.file = fdopen(descriptor, whole ? "w+" : "r+")) != NULL) {
        *output = opened;
        return 0;
    } else {
        error_memory(err);
        close(descriptor);
    }
    if (opened.temporary)
        unlink(opened.temporary);
    free(opened.temporary);
    free(opened.path);
    return -1;
}

/* Copies the new content into a file that can be written but not replaced: a file that is a mount
 * point, as in containers, or one in another user's folder. */
static int copy_into_place(const struct outfile *output, int from) {
    char bytes[COPY_BYTES];
    ssize_t count = -1;
    int to = open(output->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (to < 0)
        return -1;
    for (off_t at = 0; (count = pread(from, bytes, sizeof bytes, at)) > 0; at += count) {
        ssize_t done = 0, written = 0;
        while (done < count && (written = write(to, bytes + done, (size_t)(count - done))) >= 0)
            done += written;
        if (written < 0) {
            count = -1;
            break;
        }
    }
    int result = count == 0 ? fsync(to) : -1;
    return close(to) == 0 ? result : -1;
}

/* Gives the new content its final name. */
static int put_in_place(struct outfile *output) {
    int descriptor = fileno(output->file);
    if (fsync(descriptor) != 0)
        return -1;
    bool named = output->temporary || take_name(output->path, descriptor, &output->temporary) >= 0;
    if (named && rename(output->temporary, output->path) == 0) {
        free(output->temporary);
        output->temporary = NULL;
    } else if (copy_into_place(output, descriptor) != 0) {
        return -1;
    }

    /* Makes the new name survive a power failure, if the file system can. */
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", output->path);
    int opened = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened >= 0) {
        fsync(opened);
        close(opened);
    }
    return 0;
}

int outfile_close(struct outfile *output, bool keep, struct error *err) {
    int result = 0;
    if (!output->file)
        return 0;
    if (keep && (fflush(output->file) != 0 || ferror(output->file) ||
                 (output->path && put_in_place(output) != 0)))
        result =
            error_set(err, ERROR_FILE, "cannot write %.150s: %s", output->name, strerror(errno));
    if (output->temporary)
        unlink(output->temporary);
    if (fclose(output->file) != 0 && keep && result == 0)
        result =
            error_set(err, ERROR_FILE, "cannot write %.150s: %s", output->name, strerror(errno));
    free(output->temporary);
    free(output->path);
    *output = (struct outfile){.file = NULL};
    return result;
}
