/* A program that downloads nothing, such as the library, is linked with this file in place of the
 * others of this room, and so without curl. It has no fetcher. */
#include "server/get/get.h"

int fetcher_check_sources(const char *sources, struct error *err) {
    return error_set(err, ERROR_INPUT, "nothing can be downloaded from %.60s", sources);
}

enum fetch_answer fetcher_ask(struct fetcher *fetcher, const char *source, const char *target,
                              double *progress) {
    (void)fetcher, (void)source, (void)target, (void)progress;
    return FETCH_NONE;
}

bool fetcher_is_on(const struct fetcher *fetcher) {
    (void)fetcher;
    return false;
}

bool fetcher_could(struct fetcher *fetcher, const char *source, const char *target) {
    (void)fetcher, (void)source, (void)target;
    return false;
}

bool fetcher_failed(struct fetcher *fetcher, const char *source, const char *target,
                    unsigned *retry_s) {
    (void)fetcher, (void)source, (void)target, (void)retry_s;
    return false;
}

size_t fetcher_sources(struct fetcher *fetcher, const char *target, char (*codes)[32],
                       size_t most) {
    (void)fetcher, (void)target, (void)codes, (void)most;
    return 0;
}

int fetcher_order(struct fetcher *fetcher, const char *asked, struct error *err) {
    (void)fetcher;
    return error_set(err, ERROR_INPUT, "%.60s cannot be downloaded", asked);
}

enum fetch_list fetcher_available(struct fetcher *fetcher, bool asks, struct get_pair **pairs,
                                  size_t *count, char reason[256]) {
    (void)fetcher, (void)asks, (void)reason;
    *pairs = NULL;
    *count = 0;
    return FETCH_LIST_UNKNOWN;
}

bool fetcher_await(struct fetcher *fetcher, struct fetch_wait *wait) {
    (void)fetcher, (void)wait;
    return false;
}

size_t fetcher_list(struct fetcher *fetcher, struct fetch_view views[FETCH_MOST_VIEWS]) {
    (void)fetcher, (void)views;
    return 0;
}
