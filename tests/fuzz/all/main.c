/* Runs the fuzz targets on their corpora without libFuzzer: corpus FOLDER. FOLDER/TARGET has the
 * inputs of a target. Each input is read once as it is, and once repeated until it has an
 * eighth of a megabyte, which shows what grows faster than the input. The targets are those of
 * TARGETS, which the Makefile defines as X(html) X(xml) and so on. Each runs in a process of its
 * own. */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    LONG = 1 << 17,      /* bytes that a repeated input has at least */
    MOST = 1 << 20,      /* bytes that an input has at most, as a request */
    SECONDS = 10,        /* of processor time for an input; FUZZ_TIMEOUT sets another limit */
    LONG_SECONDS = 5,    /* times as long for a repeated one */
    SHOWN = BUFSIZ + 64, /* bytes of a path and what is said of it */
};

#define X(name) int fuzz_target_##name(const uint8_t *data, size_t size);
TARGETS
#undef X

#define X(name) {#name, fuzz_target_##name},
static const struct target {
    const char *name;
    int (*run)(const uint8_t *data, size_t size);
} targets[] = {TARGETS};
#undef X

/* The input that is being read, in memory that the processes share. */
static char *current;

static _Noreturn void fail(const char *what) {
    perror(what);
    exit(EXIT_FAILURE);
}

/* Ends the process with SIGPROF after so many seconds of processor time. 0: never. */
static void limit_time(unsigned seconds) {
    const struct itimerval limit = {.it_value.tv_sec = (time_t)seconds};
    if (setitimer(ITIMER_PROF, &limit, NULL) != 0)
        fail("setitimer");
}

/* The data stands in a block of exactly its size, so that AddressSanitizer sees each byte too far.
 */
static void run(const struct target *target, const uint8_t *data, size_t size, unsigned seconds) {
    uint8_t *block = malloc(size > 0 ? size : 1); /* a target may pass it on, so never NULL */
    if (!block)
        fail("malloc");
    memcpy(block, data, size);
    limit_time(seconds);
    target->run(block, size);
    limit_time(0);
    free(block);
}

static void run_file(const struct target *target, const char *path, uint8_t *data) {
    const char *limit = getenv("FUZZ_TIMEOUT");
    const unsigned seconds = limit ? (unsigned)strtoul(limit, NULL, 10) : SECONDS;
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path);
    size_t size = fread(data, 1, MOST, file);
    fclose(file);

    snprintf(current, SHOWN, "%s", path);
    run(target, data, size, seconds);
    if (size == 0)
        return;
    while (size < LONG) {
        memcpy(data + size, data, size);
        size *= 2;
    }
    snprintf(current, SHOWN, "%s, repeated to %zu bytes", path, size);
    run(target, data, size, seconds * LONG_SECONDS);
}

static _Noreturn void run_target(const struct target *target, const char *folder) {
    char path[BUFSIZ];
    struct dirent **entries;
    uint8_t *data = malloc(MOST);
    snprintf(path, sizeof path, "%s/%s", folder, target->name);
    const int count = scandir(path, &entries, NULL, alphasort);
    if (!data || count < 0)
        fail(path);
    int inputs = 0;
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s/%s", folder, target->name, entries[i]->d_name);
            run_file(target, path, data);
            inputs++;
        }
        free(entries[i]);
    }
    free(entries);
    free(data);
    printf("%-20s %4d inputs\n", target->name, inputs);
    exit(inputs > 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

int main(int argc, char **argv) {
    bool failed = false;
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    current = mmap(NULL, SHOWN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (current == MAP_FAILED)
        fail("mmap");
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        int status = 0;
        current[0] = '\0';
        const pid_t child = fork();
        if (child < 0)
            fail("fork");
        if (child == 0)
            run_target(&targets[i], argv[1]);
        if (waitpid(child, &status, 0) != child)
            fail("waitpid");
        if (status != 0) {
            fprintf(stderr, "%s failed (%s %d) at %s\n", targets[i].name,
                    WIFSIGNALED(status) ? "signal" : "status",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), current);
            failed = true;
        }
    }
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
