#include "tests/load/watch.h"
#include "tests/load/tool.h"
#include <dirent.h>
#include <linux/sock_diag.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LOOKS = 4 /* at resident memory for one at the sockets, of which there may be a thousand */
};
static const double LOOK_S = 0.01;
enum { PATH_BYTES = 512 };

struct watch {
    struct server server;
    double most_mib;
    char group[PATH_BYTES]; /* the file with the group's peak; "": it has no group of its own */
    pthread_t thread;
    atomic_bool stopping;
    struct watch_peak peak;
};

static double socket_bytes(int process, int number) {
    unsigned counts[SK_MEMINFO_VARS] = {0};
    socklen_t size = sizeof counts;
    int fd = (int)syscall(SYS_pidfd_getfd, process, number, 0);
    bool is = fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_MEMINFO, counts, &size) == 0;
    if (fd >= 0)
        close(fd);
    return is ? (double)counts[SK_MEMINFO_RMEM_ALLOC] + counts[SK_MEMINFO_WMEM_QUEUED] +
                    counts[SK_MEMINFO_FWD_ALLOC]
              : 0;
}

static double sockets_mib(int process, pid_t pid) {
    char path[64];
    double bytes = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    for (const struct dirent *file; folder && (file = readdir(folder));)
        if (*file->d_name != '.')
            bytes += socket_bytes(process, atoi(file->d_name));
    if (folder)
        closedir(folder);
    return bytes / (1 << 20);
}

/* Reads the path of the process's group in the hierarchy of memory, whose file of this name has the
 * peak: of version 1 if the machine has it, or else of version 2. Returns "" if there is none. */
static void find_group(const char *process, char path[PATH_BYTES]) {
    char file[64], line[PATH_BYTES], *group;
    snprintf(file, sizeof file, "/proc/%s/cgroup", process);
    FILE *groups = fopen(file, "r");
    for (*path = '\0'; groups && fgets(line, sizeof line, groups);) {
        line[strcspn(line, "\n")] = '\0';
        if ((group = strstr(line, ":memory:")) != NULL)
            snprintf(path, PATH_BYTES, "/sys/fs/cgroup/memory%.400s/memory.max_usage_in_bytes",
                     group + strlen(":memory:"));
        else if (strncmp(line, "0::", 3) == 0 && *path == '\0')
            snprintf(path, PATH_BYTES, "/sys/fs/cgroup%.400s/memory.peak", line + 3);
    }
    if (groups)
        fclose(groups);
}

/* Returns -1 if there is no such file. */
static double read_mib(const char *path) {
    double bytes = -1;
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%lf", &bytes) != 1)
        bytes = -1;
    if (file)
        fclose(file);
    return bytes < 0 ? -1 : bytes / (1 << 20);
}

static void *run(void *argument) {
    struct watch *watch = argument;
    struct watch_peak *peak = &watch->peak;
    int process = (int)syscall(SYS_pidfd_open, watch->server.pid, 0);
    double sockets = 0;
    tool_check(process >= 0, "pidfd_open");
    for (size_t i = 0; !atomic_load(&watch->stopping); i++, tool_sleep(LOOK_S)) {
        double resident = server_resident_mib(&watch->server), group = read_mib(watch->group);
        if (i % LOOKS == 0)
            sockets = sockets_mib(process, watch->server.pid);
        peak->resident = resident > peak->resident ? resident : peak->resident;
        peak->sockets = sockets > peak->sockets ? sockets : peak->sockets;
        peak->both = resident + sockets > peak->both ? resident + sockets : peak->both;
        peak->group = group > peak->group ? group : peak->group;
        if (peak->both > watch->most_mib && !peak->killed) {
            peak->killed = true;
            kill(watch->server.pid, SIGKILL);
        }
    }
    close(process);
    return NULL;
}

struct watch *watch_start(const struct server *server, double most_mib) {
    struct watch *watch = calloc(1, sizeof *watch);
    tool_check(watch, "memory");
    watch->server = *server;
    watch->most_mib = most_mib;
    watch->peak.group = -1;
    char process[16], own[PATH_BYTES];
    snprintf(process, sizeof process, "%d", (int)server->pid);
    find_group(process, watch->group);
    find_group("self", own);
    if (strcmp(watch->group, own) == 0)
        *watch->group = '\0';
    const char *file = strrchr(own, '/');
    watch->peak.within = file && strncmp(watch->group, own, (size_t)(file - own)) == 0;
    tool_check(pthread_create(&watch->thread, NULL, run, watch) == 0, "pthread_create");
    return watch;
}

struct watch_peak watch_stop(struct watch *watch) {
    atomic_store(&watch->stopping, true);
    pthread_join(watch->thread, NULL);
    struct watch_peak peak = watch->peak;
    free(watch);
    return peak;
}
