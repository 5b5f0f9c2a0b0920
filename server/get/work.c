/* This module hides which process writes in which folder of the work folder, and how the next one
 * finds out what a killed process left there. */
#include "server/get/get_parts.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WAIT_STEP_US = 100 * 1000 };

static const char lock_ending[] = ".lock";

bool work_path(char path[MODEL_PATH_BYTES], const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(path, MODEL_PATH_BYTES, format, arguments);
    va_end(arguments);
    return length >= 0 && length < MODEL_PATH_BYTES;
}

enum get_status work_fail(struct error *err, const char *path) {
    return get_fail(err, GET_FAILED, ERROR_FILE, "%.400s: %s", path, strerror(errno));
}

static enum get_status fail_length(struct error *err, const char *path) {
    return get_fail(err, GET_FAILED, ERROR_INPUT, "%.100s: the path is too long", path);
}

enum get_status work_make(const char *into, const char *name, char work[MODEL_PATH_BYTES],
                          struct error *err) {
    if (installed_make(into, err) != 0)
        return GET_FAILED;
    if (!work_path(work, "%s/%s", into, name))
        return fail_length(err, into);
    if (mkdir(work, 0755) != 0 && errno != EEXIST)
        return work_fail(err, work);
    return GET_DONE;
}

/* ---- rooms ---- */

static void close_lock(struct room *room) {
    if (room->lock >= 0)
        close(room->lock);
    room->lock = -1;
}

enum locked { LOCK_OURS, LOCK_HELD, LOCK_GONE, LOCK_FAILED };

/* Locks the open lock file of a room. HELD: another process has it. GONE: it was released
 * meanwhile, and its name with it. FAILED: with errno. */
static enum locked try_lock(const struct room *room) {
    struct stat mine, there;
    if (flock(room->lock, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK || errno == EINTR ? LOCK_HELD : LOCK_FAILED;
    bool named = fstat(room->lock, &mine) == 0 && stat(room->lock_path, &there) == 0 &&
                 mine.st_ino == there.st_ino;
    return named ? LOCK_OURS : LOCK_GONE;
}

enum get_status room_take(struct room *room, const char *work, const char *key,
                          const struct room_wait *wait, struct error *err) {
    bool waits = false;
    room->lock = -1;
    if (!work_path(room->path, "%s/%s", work, key) ||
        !work_path(room->lock_path, "%s%s", room->path, lock_ending))
        return fail_length(err, work);
    for (;;) {
        room->lock = open(room->lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (room->lock < 0 && errno == ENOENT &&
            (mkdir(work, 0755) == 0 || errno == EEXIST)) /* another import removed it */
            continue;
        if (room->lock < 0)
            return work_fail(err, room->lock_path);
        enum locked locked = try_lock(room);
        if (locked == LOCK_OURS)
            return GET_DONE;
        enum get_status status = locked == LOCK_FAILED ? work_fail(err, room->lock_path) : GET_DONE;
        close_lock(room);
        if (status != GET_DONE)
            return status;
        if (locked == LOCK_GONE)
            continue;
        if (!waits && wait->begins)
            wait->begins(wait->owner);
        waits = true;
        usleep(WAIT_STEP_US);
        if (wait->stop && *wait->stop)
            return get_fail_stopped(err);
    }
}

enum get_status room_make(struct room *room, const char *work, struct error *err) {
    for (;;) {
        if (!work_path(room->lock_path, "%s/.list-XXXXXX%s", work, lock_ending))
            return fail_length(err, work);
        room->lock = mkostemps(room->lock_path, (int)strlen(lock_ending), O_CLOEXEC);
        if (room->lock < 0)
            return work_fail(err, work);
        enum locked locked = try_lock(room);
        if (locked == LOCK_OURS ||
            locked == LOCK_FAILED) /* a file system without locks: nobody can take it, either */
            break;
        close_lock(room); /* another process took it for one that was left behind, and deletes it */
    }
    snprintf(room->path, sizeof room->path, "%.*s",
             (int)(strlen(room->lock_path) - strlen(lock_ending)), room->lock_path);
    if (mkdir(room->path, 0700) == 0)
        return GET_DONE;
    enum get_status status = work_fail(err, room->path);
    room_release(room);
    return status;
}

void room_release(struct room *room) {
    if (room->lock < 0)
        return;
    unlink(room->lock_path);
    close_lock(room);
}

void work_sweep(const char *work) {
    DIR *directory = opendir(work);
    for (const struct dirent *entry; directory && (entry = readdir(directory)) != NULL;) {
        struct room room;
        size_t length = strlen(entry->d_name), ending = strlen(lock_ending);
        if (length <= ending || strcmp(entry->d_name + length - ending, lock_ending) != 0 ||
            !work_path(room.lock_path, "%s/%s", work, entry->d_name))
            continue;
        snprintf(room.path, sizeof room.path, "%.*s", (int)(strlen(room.lock_path) - ending),
                 room.lock_path);
        room.lock = open(room.lock_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (room.lock >= 0 && try_lock(&room) == LOCK_OURS) {
            folders_delete_model(room.path);
            room_release(&room);
        }
        close_lock(&room);
    }
    if (directory)
        closedir(directory);
}
