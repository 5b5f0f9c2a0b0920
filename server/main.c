/* alignd: start and stop order. */
#include "server/api.h"
#include "server/http.h"
#include "server/log.h"
#include "server/offline.h"
#include "server/worker.h"
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, LAST_REPLIES_MS = 5000 };

static atomic_int stop_signal; /* the first SIGTERM or SIGINT */
static sem_t stop_asked;

/* The second one quits at once. */
static void note_stop(int number) {
    int none = 0;
    if (!atomic_compare_exchange_strong(&stop_signal, &none, number))
        _exit(EXIT_FAILURE);
    sem_post(&stop_asked);
}

/* Handled rather than blocked and waited for: OpenBLAS has threads of its own since before main, where a blocked signal would still
 * kill. */
static void catch_stop_signals(void) {
    struct sigaction action = {.sa_handler = note_stop, .sa_flags = SA_RESTART};
    sem_init(&stop_asked, 0, 0);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

static void wait_for_stop(void) {
    while (sem_wait(&stop_asked) != 0) { /* interrupted */
    }
    log_event(LOG_INFO, "draining", "signal=%s", atomic_load(&stop_signal) == SIGTERM ? "SIGTERM" : "SIGINT");
}

/* Nothing accepted is lost, unless it takes longer than the grace time. True: clean. */
static bool drain(struct service *service, struct http *http, struct workers *workers) {
    atomic_store(&service->state, SERVICE_DRAINING);
    http_quiesce(http);
    scheduler_close(service->scheduler);
    bool clean = workers_wait(workers, service->options->grace_ms);
    if (!clean)
        workers_abandon(workers);
    workers_free(workers);
    /* every connection is resumed now; the replies still have to go out */
    return http_wait_idle(http, LAST_REPLIES_MS) && clean;
}

static int start_decoding(struct service *service, struct workers **workers, struct error *err) {
    if (models_load(&service->models, service->options, service->metrics, err) != 0)
        return -1;
    struct worker_options options = {
        .workers = service->options->workers,
        .rows = service->options->rows,
        .step_us = (int64_t)service->options->step_ms * 1000,
        .models = &service->models,
        .scheduler = service->scheduler,
        .metrics = service->metrics,
    };
    *workers = workers_start(&options, err);
    return *workers ? 0 : -1;
}

/* /health answers while the models are being loaded. */
static int serve_until_stopped(struct service *service, bool *clean, struct error *err) {
    struct http *http = http_start(service, err);
    if (!http)
        return -1;
    log_event(LOG_INFO, "listening", "address=%s", http_address(http));
    struct workers *workers = NULL;
    int result = start_decoding(service, &workers, err);
    if (result == 0) {
        atomic_store(&service->state, SERVICE_READY);
        log_event(LOG_INFO, "ready", "models=%zu workers=%zu", service->models.count, service->options->workers);
        wait_for_stop();
        *clean = drain(service, http, workers);
    }
    http_stop(http);
    return result;
}

static int serve(const struct options *options, bool *clean, struct error *err) {
    size_t label_count;
    const char *const *labels = api_labels(&label_count);
    struct service service = {.options = options};
    int result = -1;
    api_init();
    catch_stop_signals();
    service.metrics = metrics_create(labels, label_count, options->models.count, err);
    service.scheduler = scheduler_create(options->queue);
    if (service.metrics && service.scheduler)
        result = serve_until_stopped(&service, clean, err);
    else
        error_memory(err);
    models_free(&service.models);
    scheduler_free(service.scheduler);
    metrics_free(service.metrics);
    return result;
}

static int run(const struct options *options) {
    struct error error = {0};
    bool clean = true;
    enum log_level level;
    if (log_parse_level(options->log_level, &level) == 0)
        log_set_level(level);
    int result = options->command == COMMAND_SERVE ? serve(options, &clean, &error) : offline_run(options, &error);
    if (result != 0)
        fprintf(stderr, "alignd: %s\n", error.message);
    else if (!clean)
        log_event(LOG_WARN, "stopped", "clean=false");
    else if (options->command == COMMAND_SERVE)
        log_event(LOG_INFO, "stopped", "clean=true");
    return result == 0 && clean ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int print(const char *text) {
    return text && fputs(text, stdout) >= 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    struct options options;
    struct error error = {0};
    if (options_parse(&options, argc, argv, &error) != 0) {
        bool usage = error.code != ERROR_MEMORY;
        fprintf(stderr, "alignd: %s%s\n", error.message, usage ? " (see alignd --help)" : "");
        return usage ? EXIT_USAGE : EXIT_FAILURE;
    }
    int status;
    if (options.help) {
        char *help = options_help();
        status = print(help);
        free(help);
    } else if (options.version) {
        status = print("alignd " ALIGND_VERSION "\n");
    } else {
        status = run(&options);
    }
    options_done(&options);
    return status;
}
