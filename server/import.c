#include "server/import.h"
#include "model/import/import.h"
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_bool interrupted; /* lock-free, as a handler needs */

static void interrupt(int number) {
    (void)number;
    interrupted = true;
}

/* Long steps check the flag; blocking calls are interrupted. */
static void watch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = interrupt};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

int import_command(const struct options *options, struct error *err) {
    const struct import_options asked = {.paths = (const char *const *)options->paths.names,
                                         .path_count = options->paths.count,
                                         .into = options->into ? options->into : ".",
                                         .name = options->name,
                                         .from = options->from,
                                         .to = options->to,
                                         .storage = options->storage,
                                         .preparation = options->preparation,
                                         .alignment = options->alignment,
                                         .max_source_tokens = options->max_source_tokens,
                                         .max_target_ratio = options->max_target_ratio,
                                         .unknowns = options->allow_unknowns,
                                         .no_shortlist = options->no_shortlist,
                                         .shortlist_first = options->shortlist_first,
                                         .shortlist_best = options->shortlist_best,
                                         .stop = &interrupted};
    char *said;
    watch_signals();
    if (import_run(&asked, &said, err) != 0)
        return -1;
    bool printed = fputs(said, stdout) >= 0 && fflush(stdout) == 0;
    free(said);
    return printed ? 0 : error_set(err, ERROR_FILE, "cannot write: %s", strerror(errno));
}
