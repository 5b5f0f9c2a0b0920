/* This file has alignd's commands, the order in which the daemon starts and stops, and the signals
 * that it waits for. */
#include "server/api/api.h"
#include "server/api/keys.h"
#include "server/api/value.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/base/print.h"
#include "server/commands.h"
#include "server/endpoints/routes.h"
#include "server/engine/engine.h"
#include "server/engine/shipped.h"
#include "server/get/get.h"
#include "server/http/http.h"
#include "server/models/folders.h"
#include "server/options/options.h"
#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, LAST_REPLIES_MS = 5000, LARGE_BYTES = 1024 * 1024 };

/* ---- signals ---- */

/* All threads block these signals, and one thread waits for them, so no handler interrupts code or
 * system calls. */
static struct {
    pthread_t thread;
    sigset_t awaited;
    sem_t arrived;              /* posted when there is something to do */
    atomic_int stop;            /* the first SIGTERM or SIGINT */
    atomic_bool reload, ending; /* SIGHUP has arrived; the daemon has stopped */
} signals;

/* Waits at most a second for a signal, and frees expired files and the memory of a daemon that has
 * nothing to do. */
static void await_signal(struct kept_files *files, struct http *http) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    sem_clockwait(&signals.arrived, CLOCK_MONOTONIC, &until);
    kept_files_expire(files);
    http_tidy(http);
}

static void *signals_run(void *unused) {
    (void)unused;
    while (!atomic_load(&signals.ending)) {
        int number, none = 0, result = sigwait(&signals.awaited, &number);
        assert(result == 0);
        (void)result;
        if (number == SIGUSR1 || number == SIGUSR2)
            continue;
        if (number == SIGHUP)
            atomic_store(&signals.reload, true);
        else if (!atomic_compare_exchange_strong(&signals.stop, &none, number))
            _exit(EXIT_FAILURE);
        sem_post(&signals.arrived);
    }
    return NULL;
}

/* ---- reloading ---- */

/* A running daemon. */
struct daemon {
    const struct options *options;
    const char *directory; /* folder of the models; NULL: each model was named */
    bool gets;             /* downloaded models are served */
    struct engine *engine;
    struct service *service; /* the engine's */
};

/* Logs the result of a reload. After a failure the old content stays in use. */
static void report_reload(const char *what, int result, const struct error *error) {
    if (result == 0)
        log_event(LOG_INFO, "reloaded", log_text("what", what));
    else
        log_event(LOG_ERROR, "reload_failed", log_text("what", what),
                  log_text("reason", error->message));
}

/* Reports readiness to systemd, unless the catalog was closed because the daemon is stopping. */
static void note_reloaded(struct reload *reload) {
    bool loaded = reload->generation > 0, failed = reload->error.code != ERROR_NONE;
    free(reload);
    if (loaded || failed)
        sd_notify(0, "READY=1");
}

static void reload_all(const struct daemon *daemon, struct http *http) {
    const struct service *service = daemon->service;
    struct error of_keys = {0}, of_certificate = {0}, of_glossaries = {0};
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld", (long long)clock_us());
    if (service->keys)
        report_reload("api_keys", keys_reload(service->keys, &of_keys), &of_keys);
    if (daemon->options->glossary.count > 0)
        report_reload("glossaries", glossaries_reload(service->glossaries, &of_glossaries),
                      &of_glossaries);
    if (daemon->options->tls_cert)
        report_reload("certificate", http_reload_certificate(http, &of_certificate),
                      &of_certificate);

    /* Loading models takes a while; the reload reports its end. If memory is out, the daemon
     * reports readiness at once. */
    struct reload *reload = calloc(1, sizeof *reload);
    if (reload) {
        reload->finish = note_reloaded;
        if (!catalog_reload(service->catalog, reload))
            free(reload);
    } else {
        catalog_reload(service->catalog, NULL);
        sd_notify(0, "READY=1");
    }
}

/* ---- stopping ---- */

static size_t left_ms(int64_t until_us) {
    int64_t left_us = until_us - clock_us();
    return left_us > 0 ? (size_t)(left_us / 1000) : 0;
}

/* Finishes accepted requests within the grace time. Returns whether all of them finished. */
static bool drain(const struct daemon *daemon, struct http *http) {
    struct service *service = daemon->service;
    atomic_store(&service->state, SERVICE_DRAINING);
    sd_notify(0, "STOPPING=1");
    http_quiesce(http);
    int64_t until_us = clock_us() + (int64_t)daemon->options->grace_ms * 1000;
    fetcher_stop(service->fetcher);
    bool clean = catalog_wait(service->catalog, left_ms(until_us));
    clean &= http_wait_chores(http, CHORE_PREPARATION, left_ms(until_us));
    clean &= engine_stop(daemon->engine, left_ms(until_us));
    clean &= http_wait_chores(http, CHORE_RENDERING, left_ms(until_us));
    /* now every connection is resumed; the replies must still be sent */
    return http_wait_idle(http, LAST_REPLIES_MS) && clean;
}

/* ---- starting ---- */

/* Logs the addresses, and warns of those on which anyone may translate. Returns the first one for
 * users, or NULL. */
static const char *tell_addresses(const struct daemon *daemon, const struct http *http) {
    static const char *const of_this_machine[] = {"127.", "[::1]", "localhost:", "unix:"};
    const char *address, *first = NULL;
    bool admin;
    for (size_t i = 0; (address = http_address(http, i, &admin)) != NULL; i++) {
        log_event(LOG_INFO, admin ? "listening_for_administrators" : "listening",
                  log_text("address", address));
        bool anybody = !admin && !daemon->service->keys;
        for (size_t j = 0; j < sizeof of_this_machine / sizeof *of_this_machine; j++)
            anybody &= strncmp(address, of_this_machine[j], strlen(of_this_machine[j])) != 0;
        if (anybody)
            log_event(LOG_WARN, "open_to_everybody", log_text("address", address),
                      log_text("reason", "anybody may translate: --api-keys is not set"));
        if (!admin && !first)
            first = address;
    }
    return first;
}

/* Logs the bytes that each bound allows, and warns if those beside the models are more than half of
 * the memory. */
static void tell_memory(const struct daemon *daemon, const struct http *http) {
    const struct options *options = daemon->options;
    size_t decoding = options->workers * options->decode_memory,
           connections = http_most_connections(http) * CONNECTION_MEMORY;
    size_t beside = options->body_memory + options->request_memory + options->reply_memory +
                    decoding + options->keep_files_bytes + options->cache_bytes + connections;
    size_t models = catalog_bytes(daemon->service->catalog);
    models = options->model_memory > models ? options->model_memory : models;
    log_event(beside > options->memory / 2 ? LOG_WARN : LOG_INFO, "memory_plan",
              log_count("memory", options->memory), log_count("sum", models + beside),
              log_count("models", models), log_count("bodies", options->body_memory),
              log_count("requests", options->request_memory),
              log_count("replies", options->reply_memory), log_count("decoding", decoding),
              log_count("files", options->keep_files_bytes),
              log_count("cache", options->cache_bytes), log_count("connections", connections));
}

/* Logs that requests are answered. On a terminal, whose user may be new to alignd, a greeting
 * follows. */
static void tell_ready(const struct daemon *daemon, const char *address) {
    struct model_set *models = catalog_acquire(daemon->service->catalog);
    log_event(LOG_INFO, "ready", log_count("models", models->count),
              log_count("workers", daemon->options->workers));
    if (isatty(STDERR_FILENO) && strcmp(daemon->options->log_format, "text") == 0 && address) {
        const char **names = calloc(models->count + 1, sizeof *names);
        const struct greeting greeting = {.address = address,
                                          .tls = daemon->options->tls_cert != NULL,
                                          .keys = daemon->service->keys != NULL,
                                          .directory = daemon->directory,
                                          .gets = daemon->gets,
                                          .usual = daemon->options->default_model,
                                          .models = names,
                                          .model_count = models->count};
        for (size_t i = 0; names && i < models->count; i++)
            names[i] = models->all[i]->info.name;
        char *text = names ? greeting_write(&greeting) : NULL;
        for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;)
            log_message(line);
        free(text);
        free(names);
    }
    model_set_release(models);
}

/* One thread serves the short requests of four workers and more. With two, a connection is accepted
 * while another is read. */
static size_t http_threads(const struct options *options) {
    size_t quarter = options->workers / 4;
    if (options->http_threads > 0)
        return options->http_threads;
    return quarter > 2 ? quarter : 2;
}

/* /health answers while the models are still loading. */
static int serve_until_stopped(const struct daemon *daemon, bool *clean, struct error *err) {
    const struct options *options = daemon->options;
    struct service *service = daemon->service;
    const struct http_options with = {
        .connections = {.most = options->connections,
                        .memory = options->memory / 32,
                        .requests = options->queue + options->workers * options->rows,
                        .most_per_peer = options->connections_per_address,
                        .trusts_proxy = options->client_header != NULL,
                        .read_timeout_ms = options->read_timeout_ms,
                        .send_timeout_ms = options->send_timeout_ms,
                        .admin = options->admin_listen.count > 0},
        .listeners = {.listen = &options->listen,
                      .admin_listen = &options->admin_listen,
                      .standard = OPTIONS_LISTEN,
                      .socket_mode = options->socket_mode,
                      .threads = http_threads(options)},
        .tls_cert = options->tls_cert,
        .tls_key = options->tls_key,
    };
    struct http *http = http_start(service, &with, err);
    if (!http)
        return -1;
    const char *address = tell_addresses(daemon, http);
    int result = engine_start(daemon->engine, err);
    if (result == 0) {
        tell_memory(daemon, http);
        tell_ready(daemon, address);
        sd_notify(0, "READY=1");
        int number;
        while ((number = atomic_load(&signals.stop)) == 0) {
            if (atomic_exchange(&signals.reload, false)) /* several reloads count as one */
                reload_all(daemon, http);
            else
                await_signal(service->files, http); /* the loop then checks both flags again */
        }
        log_event(LOG_INFO, "draining",
                  log_text("signal", number == SIGTERM ? "SIGTERM" : "SIGINT"));
        *clean = drain(daemon, http);
    }
    http_stop(http);
    return result;
}

/* Answers an agent's messages until stdin ends. */
static int serve_stdio(const struct daemon *daemon, bool *clean, struct error *err) {
    struct engine *engine = daemon->engine;
    if (engine_start(engine, err) != 0)
        return -1;
    int result = command_serve_stdio(engine, stdin, stdout, err);
    fetcher_stop(daemon->service->fetcher);
    *clean = engine_stop(engine, LAST_REPLIES_MS);
    return result;
}

/* shipped: the models to serve if the options name none. */
static int serve(const struct options *options, const struct shipped *shipped, bool *clean,
                 struct error *err) {
    const char *labels[ROUTES_MOST_LABELS];
    bool gets = shipped->downloaded != NULL;
    struct engine_plan plan = {.options = options,
                               .folders = shipped->directory ? &shipped->folders : &options->models,
                               .directory = gets ? shipped->downloaded : options->directory,
                               .downloads = gets,
                               .labels = labels,
                               .label_count = routes_labels(labels)};
    struct engine engine;
    struct service *service = &engine.service;
    const struct daemon daemon = {.options = options,
                                  .directory =
                                      shipped->directory ? shipped->directory : options->directory,
                                  .gets = gets,
                                  .engine = &engine,
                                  .service = service};
    char place[MODEL_PATH_BYTES];
    bool downloads = !options->offline &&
                     installed_place(plan.directory, true, place, options->fetch ? err : NULL) == 0;
    if (options->fetch && (!downloads || installed_make(place, err) != 0))
        return -1;
    if (downloads && plan.directory) /* the same path, without a slash at the end */
        plan.directory = place;
    /* download_begin is called before any thread starts; the end of the process undoes it */
    if ((downloads && download_begin(err) != 0) || log_start(err) != 0)
        return -1;
    /* Freeing models returns their memory to the system. Keys and values of a sentence, which are
     * smaller, are used again: new pages would be cleared for each. */
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    value_init();
    int result = engine_make(&engine, &plan, err);
    if (result == 0 && downloads)
        service->fetcher = fetcher_create(&(struct fetcher_options){
            .into = place,
            .sources = options->fetch,
            .pairs = options->fetch_pairs,
            .most_bytes =
                options->fetch_bytes == OPTION_AUTO ? FETCH_BYTES_AUTO : options->fetch_bytes,
            .mirror = options->mirror,
            .records = options->records,
            .retries = options->retries,
            .stall_s = options->stall_s,
            .metrics = service->metrics,
            .catalog = service->catalog});
    if (result == 0 && downloads && !service->fetcher)
        result = error_memory(err);
    if (result == 0)
        result = options->command == COMMAND_MCP ? serve_stdio(&daemon, clean, err)
                                                 : serve_until_stopped(&daemon, clean, err);
    fetcher_free(service->fetcher);
    engine_free(&engine);
    return result;
}

/* ---- commands ---- */

/* Prints the line for the file of keys to stdout, and the key to stderr, where it is shown only
 * once. */
static int key_command(struct options *options, int *status, struct error *err) {
    char secret[KEY_SECRET_BYTES], line[KEY_LINE_BYTES];
    (void)status;
    if (keys_make(options->name, strcmp(options->role, "admin") == 0, options->limits, secret, line,
                  err) != 0)
        return -1;
    print_line(stdout, "%s", line);
    if (fflush(stdout) != 0 || ferror(stdout))
        return error_set(err, ERROR_FILE, "cannot write: %s", strerror(errno));
    print_line(stderr, "The key of %s, which will not be shown again: %s", options->name, secret);
    return 0;
}

static int health_command(struct options *options, int *status, struct error *err) {
    (void)status;
    return health_ask(options->admin_address ? options->admin_address : options->address,
                      options->path, options->tls_cert != NULL, HEALTH_TIMEOUT_MS, err);
}

/* Serves the models that came with alignd, and those that were downloaded. The first one answers
 * requests that name neither a model nor languages. */
static int serve_shipped(struct options *options, struct shipped *shipped, struct error *err) {
    struct installed_list found = {NULL, 0};
    if (shipped_find_downloaded(NULL, shipped, err) != 0 ||
        (shipped->downloaded && installed_list(shipped->downloaded, &found, err) != 0))
        return -1;
    if (found.count > 0)
        log_event(LOG_INFO, "downloaded_models_found", log_text("directory", shipped->downloaded),
                  log_count("models", found.count));
    const char *usual = shipped_usual(shipped, &found);
    int result = 0;
    if (!options->default_model && usual && !(options->default_model = strdup(usual)))
        result = error_memory(err);
    installed_list_done(&found);
    if (result != 0 || shipped->folders.count == 0)
        return result;
    log_event(LOG_INFO, "models_found", log_text("directory", shipped->directory),
              log_count("models", shipped->folders.count));
    return 0;
}

/* Signals are blocked before any thread starts, because threads inherit the mask. Until the daemon
 * has stopped, the second SIGTERM or SIGINT ends the process at once, with EXIT_FAILURE; SIGUSR1
 * and SIGUSR2 do nothing. */
static int serve_command(struct options *options, int *status, struct error *err) {
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};
    bool clean = true, named = options->models.count > 0 || options->directory,
         daemon = options->command == COMMAND_SERVE;
    struct shipped shipped = {0};
    int result = named ? shipped_find_named(options, err) : serve_shipped(options, &shipped, err);
    if (result == 0 && daemon) {
        sem_init(&signals.arrived, 0, 0);
        sigemptyset(&signals.awaited);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            sigaddset(&signals.awaited, numbers[i]);
        pthread_sigmask(SIG_BLOCK, &signals.awaited, NULL);
        if (pthread_create(&signals.thread, NULL, signals_run, NULL) != 0)
            result = error_set(err, ERROR_MEMORY, "cannot start the thread that waits for signals");
    }
    bool waits = result == 0 && daemon; /* an agent ends its process by a signal, or by stdin */
    if (result == 0)
        result = serve(options, &shipped, &clean, err);
    if (waits) {
        atomic_store(&signals.ending, true);
        pthread_kill(signals.thread, SIGUSR1); /* wakes the thread */
        pthread_join(signals.thread, NULL);
    }
    shipped_done(&shipped);
    if (result == 0)
        log_event(clean ? LOG_INFO : LOG_WARN, "stopped",
                  log_text("clean", clean ? "true" : "false"));
    *status = clean ? EXIT_SUCCESS : EXIT_FAILURE;
    return result;
}

static const struct {
    enum command command;
    int (*run)(struct options *options, int *status, struct error *err);
} commands[] = {
    {COMMAND_SERVE, serve_command},
    {COMMAND_MCP, serve_command},
    {COMMAND_TRANSLATE, command_offline},
    {COMMAND_ATTENTION, command_offline},
    {COMMAND_KEY, key_command},
    {COMMAND_HEALTH, health_command},
    {COMMAND_PACK, command_pack},
    {COMMAND_SHORTLIST, command_shortlist},
    {COMMAND_ALIGN_HEAD, command_align_head},
    {COMMAND_IMPORT, command_import},
    {COMMAND_GET, command_get},
    {COMMAND_MODELS, command_models},
    {COMMAND_REMOVE, command_remove},
};

static int print(const char *text) {
    if (text)
        print_text(stdout, text);
    return text && fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ,
           SIG_IGN); /* makes writing a file that may not grow fail instead of ending the process */
    translator_setup();
    struct options options;
    struct error error = {0};
    if (options_parse(&options, argc, argv, &error) != 0) {
        bool usage = error.code != ERROR_MEMORY;
        const char *word = option_command_word((int)options_command(argc, argv));
        if (usage)
            print_line(stderr, "alignd: %s (see alignd %s%s--help)", error.message, word,
                       *word ? " " : "");
        else
            print_line(stderr, "alignd: %s", error.message);
        return usage ? EXIT_USAGE : EXIT_FAILURE;
    }
    int status;
    if (options.help) {
        char *help = options_help(options.command);
        status = print(help);
        free(help);
    } else if (options.version) {
        status = print("alignd " ALIGND_VERSION "\n");
    } else {
        status = EXIT_SUCCESS;
        if (options.log_level)
            log_set_level(options.log_level);
        if (options.log_format)
            log_set_format(options.log_format);
        size_t command = 0;
        while (commands[command].command != options.command)
            command++;
        int result = commands[command].run(&options, &status, &error);
        if (result != 0 && options.log_format && strcmp(options.log_format, "json") == 0) {
            log_event(LOG_ERROR, "failed", log_text("message", error.message));
        } else if (result != 0) {
            char line[sizeof error.message + 16];
            snprintf(line, sizeof line, "alignd: %s", error.message);
            log_message(line);
        }
        log_stop();
        if (result != 0 && status == EXIT_SUCCESS)
            status = EXIT_FAILURE;
    }
    options_done(&options);
    return status;
}
