/* This file writes what a terminal shows once alignd serves. */
#include "server/base/print.h"
#include "server/commands.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GREETED_MODELS = 12 };

/* Writes the URL without its path. An address that stands for the whole machine becomes the
 * loopback address. */
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

char *greeting_write(const struct greeting *greeting) {
    static const char unix_prefix[] = "unix:";
    size_t prefix = sizeof unix_prefix - 1, length = 0;
    const char *path =
        strncmp(greeting->address, unix_prefix, prefix) == 0 ? greeting->address + prefix : NULL;
    char *text = NULL;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    if (path) {
        fputs("alignd serves the socket ", out);
        print_part(out, path);
        fputs(" (Ctrl+C ends it)\n", out);
    } else {
        fputs("alignd serves ", out);
        put_url(out, greeting);
        fputs("/ (Ctrl+C ends it)\n", out);
    }

    fputs("Models: ", out);
    for (size_t i = 0; i < greeting->model_count && i < GREETED_MODELS; i++) {
        fputs(i > 0 ? ", " : "", out);
        print_part(out, greeting->models[i]);
    }
    if (greeting->model_count > GREETED_MODELS)
        fprintf(out, " and %zu more", greeting->model_count - GREETED_MODELS);
    fputs(greeting->directory ? ", in " : "", out);
    print_part(out, greeting->directory ? greeting->directory : "");
    fputs("\n", out);
    if (greeting->usual && greeting->model_count > 1) {
        fputs("Default: ", out);
        print_part(out, greeting->usual);
        fputs(", for requests without model and languages (--default-model)\n", out);
    }

    fputs("Try:    curl", out);
    if (path)
        fprintf(out, " --unix-socket '%s'", path);
    else if (greeting->tls)
        fputs(" -k", out); /* the certificate names a host, but the URL has an address */
    fprintf(out, "%s '%s", greeting->keys ? " -H 'Authorization: Bearer KEY'" : "",
            path ? "http://localhost" : "");
    if (!path)
        put_url(out, greeting);
    fputs("/translate?text=Where+is+the+train+station%3F'", out);
    if (greeting->gets)
        fputs("\nMore:   alignd get de-en downloads a model of Mozilla; alignd get --list shows "
              "which there are",
              out);
    bool written = !ferror(out);
    if (fclose(out) == 0 && written)
        return text;
    free(text);
    return NULL;
}
