#include "tests/fuzz/fuzz.h"
#include "server/api/api.h"
#include "server/api/value.h"
#include "server/base/log.h"
#include "server/endpoints/routes.h"
#include "server/options.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char model[] = "tests/golden/luong-general-gru";

void fuzz_fail(const char *file, int line, const char *promise) {
    fprintf(stderr, "%s:%d: broken: %s\n", file, line, promise);
    abort();
}

const char *fuzz_file(const uint8_t *data, size_t size) {
    static int fd = -1;
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    FUZZ_CHECK(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    return path;
}

static void start(struct service *service) {
    static char program[] = "alignd", flag[] = "--model", folder[sizeof model];
    static struct options options;
    snprintf(folder, sizeof folder, "%s", model);
    static const char *names[ROUTES_MOST_LABELS];
    const size_t labels = routes_labels(names);
    FUZZ_CHECK(options_parse(&options, 3, (char *const[]){program, flag, folder}, NULL) == 0);
    log_set_level("error");
    value_init();
    service->options = (struct service_options){.workers = options.workers,
                                                .rows = options.rows,
                                                .queue = options.queue,
                                                .max_body_bytes = options.max_body_bytes,
                                                .max_text_chars = options.max_text_chars,
                                                .max_reply_bytes = options.max_reply_bytes,
                                                .request_memory = options.request_memory,
                                                .reply_memory = options.reply_memory,
                                                .max_steps = options.search.max_steps,
                                                .deadline_ms = options.deadline_ms};
    service->metrics = metrics_create(names, labels, NULL);
    service->scheduler =
        scheduler_create(&(struct scheduler_limits){options.queue, options.queue_work});
    const struct catalog_options models = {.folders = &options.models,
                                           .loading.compute = options.compute,
                                           .loading.shortlist = options.shortlist,
                                           .loading.half_past = options.half_past,
                                           .loading.workers = options.workers,
                                           .loading.rows = options.rows,
                                           .most_waiting = options.queue};
    service->catalog = catalog_create(&models, service->metrics);
    static const struct name_list none;
    service->glossaries = glossaries_open(&(struct glossaries_options){.fixed = &none}, NULL);
    FUZZ_CHECK(service->metrics && service->scheduler && service->catalog && service->glossaries &&
               catalog_open(service->catalog, NULL) == 0);
    atomic_store(&service->state, SERVICE_READY);
}

const struct service *fuzz_service(void) {
    static struct service service;
    if (!service.metrics)
        start(&service);
    return &service;
}
