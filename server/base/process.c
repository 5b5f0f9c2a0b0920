#include "server/base/process.h"
#include <dirent.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void write_value(FILE *out, const char *name, const char *type, const char *help, double value) {
    fprintf(out, "# HELP process_%s %s\n# TYPE process_%s %s\nprocess_%s %.15g\n", name, help, name, type, name, value);
}

static void write_memory(FILE *out) {
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long virtual_pages, resident_pages;
    if (file && fscanf(file, "%lu %lu", &virtual_pages, &resident_pages) == 2) {
        double page = (double)sysconf(_SC_PAGESIZE);
        write_value(out, "virtual_memory_bytes", "gauge", "Virtual memory size.", (double)virtual_pages * page);
        write_value(out, "resident_memory_bytes", "gauge", "Resident memory size.", (double)resident_pages * page);
    }
    if (file)
        fclose(file);
}

static void write_files(FILE *out) {
    DIR *folder = opendir("/proc/self/fd");
    if (folder) {
        double count = -1; /* the folder itself is open too */
        for (struct dirent *entry; (entry = readdir(folder));)
            count += entry->d_name[0] != '.';
        closedir(folder);
        write_value(out, "open_fds", "gauge", "Open file descriptors.", count);
    }
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        write_value(out, "max_fds", "gauge", "Maximum number of open file descriptors.", (double)limit.rlim_cur);
}

/* Seconds from boot to the start of this process: field 22 of /proc/self/stat; the second field is in parentheses and may hold
 * spaces. */
static double start_after_boot(void) {
    char line[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    if (!file)
        return -1;
    size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = '\0';
    const char *at = strrchr(line, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    unsigned long long ticks;
    if (!at || sscanf(at, "%llu", &ticks) != 1)
        return -1;
    return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void process_write_metrics(FILE *out) {
    write_value(out, "cpu_seconds_total", "counter", "User and system CPU time.", seconds(CLOCK_PROCESS_CPUTIME_ID));
    write_memory(out);
    write_files(out);
    double after_boot = start_after_boot();
    if (after_boot >= 0)
        write_value(out, "start_time_seconds", "gauge", "Start of the process since the Unix epoch.",
                    seconds(CLOCK_REALTIME) - seconds(CLOCK_BOOTTIME) + after_boot);
}
