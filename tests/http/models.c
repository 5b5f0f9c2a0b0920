#include "tests/http/models.h"
#include "tests/check.h"
#include "tests/http/folder.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char models_directory[32], models_folders[MODELS_MOST][MODELS_PATH_BYTES];
struct daemon models_served;
static size_t folder_count;

void models_add(const char *name, const char *source, const char *target) {
    char made[] = FOLDER_TEMPLATE, *folder = models_folders[folder_count++];
    folder_make(made, name, source, target);
    ck_assert_int_lt(snprintf(folder, MODELS_PATH_BYTES, "%s/%s", models_directory, name),
                     MODELS_PATH_BYTES);
    ck_assert_int_eq(rename(made, folder), 0);
}

void models_setup(void) {
    strcpy(models_directory, "/tmp/alignd-models-XXXXXX");
    folder_count = 0;
    ck_assert_ptr_nonnull(mkdtemp(models_directory));
    models_add("a", "en", "fr");
    models_add("b", "en", "de");
    models_add("c", "pt-BR", "en");
    models_served = (struct daemon){0};
}

void models_start(const char *option, const char *value) {
    daemon_start(&models_served,
                 ARGUMENTS("--models", models_directory, "--workers", "2", "--step-ms", "0",
                           "--deadline-ms", "30000", option, value));
}

void models_teardown(void) {
    if (models_served.pid)
        daemon_stop(&models_served);
    for (size_t i = 0; i < folder_count; i++)
        folder_remove(models_folders[i]);
    rmdir(models_directory);
}

void models_translate(const char *body, long status, struct reply *reply) {
    client_post(&models_served, "/translate", body, status, reply);
}

void models_ask(const char *body, long status) {
    struct reply reply;
    models_translate(body, status, &reply);
    reply_done(&reply);
}

json_t *shipped_find_downloaded(const json_t *root, const char *name) {
    size_t i;
    json_t *model;
    json_array_foreach(json_at(root, "models"), i, model) {
        if (strcmp(text_at(model, "name"), name) == 0)
            return model;
    }
    return NULL;
}
