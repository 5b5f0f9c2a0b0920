#include "server/greeting.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MODELS = 12 };

static const char unix_prefix[] = "unix:";

static const char *socket_path(const struct greeting *greeting) {
    size_t length = sizeof unix_prefix - 1;
    return strncmp(greeting->address, unix_prefix, length) == 0 ? greeting->address + length : NULL;
}

/* The URL without its path. An address that stands for all of the machine's is met on the loopback one. */
static void put_url(FILE *out, const struct greeting *greeting) {
    static const char *const all[][2] = {{"0.0.0.0:", "127.0.0.1:"}, {"[::]:", "[::1]:"}};
    const char *host = "", *rest = greeting->address;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t length = strlen(all[i][0]);
        if (strncmp(greeting->address, all[i][0], length) == 0) {
            host = all[i][1];
            rest = greeting->address + length;
        }
    }
    fprintf(out, "http%s://%s%s", greeting->tls ? "s" : "", host, rest);
}

static void put_place(FILE *out, const struct greeting *greeting) {
    const char *path = socket_path(greeting);
    fputs("alignd serves ", out);
    if (path)
        fprintf(out, "the socket %s", path);
    else
        put_url(out, greeting);
    fputs(path ? " (Ctrl+C ends it)" : "/ (Ctrl+C ends it)", out);
}

static void put_models(FILE *out, const struct greeting *greeting) {
    fputs("Models: ", out);
    for (size_t i = 0; i < greeting->model_count && i < MOST_MODELS; i++)
        fprintf(out, "%s%s", i > 0 ? ", " : "", greeting->models[i]);
    if (greeting->model_count > MOST_MODELS)
        fprintf(out, " and %zu more", greeting->model_count - MOST_MODELS);
    if (greeting->directory)
        fprintf(out, ", in %s", greeting->directory);
}

static void put_usual(FILE *out, const struct greeting *greeting) {
    fprintf(out, "Default: %s, where neither a model nor languages are asked for (--default-model)", greeting->usual);
}

/* -k: the certificate names a host, and this is an address. */
static void put_command(FILE *out, const struct greeting *greeting) {
    const char *path = socket_path(greeting);
    fputs("Try:    curl", out);
    if (path)
        fprintf(out, " --unix-socket '%s'", path);
    else if (greeting->tls)
        fputs(" -k", out);
    if (greeting->keys)
        fputs(" -H 'Authorization: Bearer KEY'", out);
    fputs(" '", out);
    if (path)
        fputs("http://localhost", out);
    else
        put_url(out, greeting);
    fputs("/translate?text=Where+is+the+train+station%3F'", out);
}

char *greeting_line(const struct greeting *greeting, size_t i) {
    static void (*const lines[])(FILE * out, const struct greeting *greeting) = {put_place, put_models, put_usual, put_command};
    char *text = NULL;
    size_t length = 0, skipped = i >= 2 && (!greeting->usual || greeting->model_count < 2);
    FILE *out = i + skipped < sizeof lines / sizeof *lines ? open_memstream(&text, &length) : NULL;
    if (!out)
        return NULL;
    lines[i + skipped](out, greeting);
    bool written = !ferror(out);
    if (fclose(out) == 0 && written)
        return text;
    free(text);
    return NULL;
}
