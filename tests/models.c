#include "tests/models.h"
#include "model/compute/kernels.h"
#include "tests/check.h"
#include "tests/files.h"
#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const computes[] = {"int8", "bfloat16", "float32"};

int exact_computes(void) {
    return kernels_choose()->wants_blas ? COMPUTES - 1 : COMPUTES;
}

const char *exact_compute(void) {
    return computes[exact_computes() - 1];
}

struct translator *model_open(const char *folder) {
    return model_open_with(folder, "float32");
}

struct translator *model_open_with(const char *folder, const char *compute) {
    struct error err = {0};
    translator_setup();
    struct translator *translator =
        translator_open(folder, &(struct translator_options){.compute = compute}, &err);
    ck_assert_msg(translator != NULL, "%s", err.message);
    return translator;
}

/* The container; its ids are below 97: in every vocabulary here. Returns its path. */
static char *list_write(const struct made_list *list, size_t pieces) {
    size_t offsets = list->count, targets = offsets + pieces + 1,
           all = targets + pieces * list->each;
    int *data = calloc(all, sizeof *data);
    ck_assert_ptr_nonnull(data);
    for (size_t i = 0; i < list->count; i++)
        data[i] = list->always[i];
    for (size_t i = 0; i <= pieces; i++)
        data[offsets + i] = (int)(i * list->each);
    for (size_t i = 0; i < pieces * list->each; i++)
        data[targets + i] = (int)(i * i * 31 % 97);
    char header[512];
    snprintf(header, sizeof header,
             "{\"always\":{\"dtype\":\"I32\",\"shape\":[%zu],\"data_offsets\":[0,%zu]},"
             "\"offsets\":{\"dtype\":\"I32\",\"shape\":[%zu],\"data_offsets\":[%zu,%zu]},"
             "\"targets\":{\"dtype\":\"I32\",\"shape\":[%zu],\"data_offsets\":[%zu,%zu]}}",
             list->count, 4 * offsets, pieces + 1, 4 * offsets, 4 * targets, all - targets,
             4 * targets, 4 * all);
    char *path = container_write(header, data, all * sizeof *data);
    free(data);
    return path;
}

static void link_into(const char *folder, const char *name, const char *target) {
    char path[256], *whole = realpath(target, NULL);
    ck_assert_ptr_nonnull(whole);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ck_assert_int_eq(symlink(whole, path), 0);
    free(whole);
}

static void folder_remove(const char *folder, const char *const *names, size_t count) {
    char path[256];
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

struct translator *model_open_listed(const char *folder, const char *compute,
                                     const struct made_list *list) {
    static const char *const names[] = {"config.json", "model.safetensors", "source.spm",
                                        "target.spm", "shortlist.safetensors"};
    enum { NAMES = sizeof names / sizeof *names };
    struct translator *plain = model_open(folder);
    char *path = list_write(list, translator_info(plain).source_vocabulary),
         with[] = "/tmp/alignd-test-XXXXXX", original[256];
    translator_free(plain);
    ck_assert_ptr_nonnull(mkdtemp(with));
    for (size_t i = 0; i + 1 < NAMES; i++) {
        snprintf(original, sizeof original, "%s/%s", folder, names[i]);
        link_into(with, names[i], original);
    }
    link_into(with, names[NAMES - 1], path);
    struct error err = {0};
    struct translator *listed = translator_open(
        with, &(struct translator_options){.compute = compute, .shortlist = SWITCH_ON}, &err);
    folder_remove(with, names, NAMES);
    file_remove(path);
    ck_assert_msg(listed != NULL, "%s", err.message);
    return listed;
}

char *model_folder(const char *folder) {
    static const char *const names[] = {"config.json", "model.safetensors", "source.spm",
                                        "target.spm"};
    char *with = strdup("/tmp/alignd-test-XXXXXX"), original[256];
    ck_assert_ptr_nonnull(with);
    ck_assert_ptr_nonnull(mkdtemp(with));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(original, sizeof original, "%s/%s", folder, names[i]);
        link_into(with, names[i], original);
    }
    return with;
}

char *model_folder_with(const char *folder, const char *defaults) {
    char *with = strdup("/tmp/alignd-test-XXXXXX"), path[512];
    ck_assert_ptr_nonnull(with);
    ck_assert_ptr_nonnull(mkdtemp(with));
    DIR *open = opendir(folder);
    ck_assert_ptr_nonnull(open);
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "config.json") != 0)
            link_into(with, entry->d_name, path);
    }
    closedir(open);
    snprintf(path, sizeof path, "%s/config.json", folder);
    json_t *config = json_load_file(path, 0, NULL);
    ck_assert_int_eq(json_object_set_new(config, "defaults", json_loads(defaults, 0, NULL)), 0);
    snprintf(path, sizeof path, "%s/config.json", with);
    ck_assert_int_eq(json_dump_file(config, path, 0), 0);
    json_decref(config);
    return with;
}

void model_folder_remove(char *folder) {
    char path[512];
    DIR *open = opendir(folder);
    ck_assert_ptr_nonnull(open);
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    closedir(open);
    rmdir(folder);
    free(folder);
}

/* The folder's config.json with another tokenizer.source. */
static void write_config(const char *folder, const char *with, const char *source) {
    char path[256];
    snprintf(path, sizeof path, "%s/config.json", folder);
    json_t *config = json_load_file(path, 0, NULL);
    ck_assert_ptr_nonnull(config);
    json_object_set_new(json_object_get(config, "tokenizer"), "source", json_string(source));
    snprintf(path, sizeof path, "%s/config.json", with);
    ck_assert_int_eq(json_dump_file(config, path, 0), 0);
    json_decref(config);
}

struct error model_error_with(const char *folder, const char *vocabulary) {
    static const char *const names[] = {"config.json", "own.source", "model.safetensors",
                                        "target.spm"};
    enum { NAMES = sizeof names / sizeof *names };
    char with[] = "/tmp/alignd-test-XXXXXX", original[256];
    struct error err = {0};
    ck_assert_ptr_nonnull(mkdtemp(with));
    write_config(folder, with, names[1]);
    link_into(with, names[1], vocabulary);
    for (size_t i = 2; i < NAMES; i++) {
        snprintf(original, sizeof original, "%s/%s", folder, names[i]);
        link_into(with, names[i], original);
    }
    translator_free(translator_open(with, NULL, &err));
    folder_remove(with, names, NAMES);
    return err;
}

static struct pages pages;

struct weights *parameters_open(const char *header, const float *values, size_t count,
                                struct backend backend) {
    struct error err = {0};
    char *path = container_write(header, values, count * sizeof *values);
    struct weights *weights = weights_open(path, &err);
    ck_assert_msg(weights != NULL, "%s", err.message);
    file_remove(path);
    backend.pages = &pages;
    weights_use(weights, &backend);
    return weights;
}

void parameters_close(struct weights *weights) {
    weights_free(weights);
    pages_done(&pages);
}

const char *const model_texts[MODEL_TEXTS] = {
    "I",
    "This is mine.",
    "Place the ladder against the wall.",
    "Tom is quite different.",
    "How can I tell if I am really in love with Tom, who is not here?",
    "Do you want another piece of pie?"};

struct token_list model_tokens(const struct tokenizer *tokenizer, const char *text,
                               const struct tokenizer_reading *how, struct arena *arena) {
    struct token_list list;
    struct error err = {0};
    ck_assert_msg(tokenizer_encode(tokenizer, (struct bytes){text, strlen(text)}, how, arena, &list,
                                   &err) == 0,
                  "%s", err.message);
    return list;
}

int model_sentences(const struct translator *translator, struct translator_text text,
                    const struct search_options *options, struct arena *arena,
                    struct sentence_list *out, struct error *err) {
    struct guard guard = {0};
    text.verbatim = true;
    ck_assert_int_eq(guard_find(&guard, NOTATION_PLACEHOLDERS,
                                (struct bytes){text.text, text.length}, arena, &text.held, NULL),
                     0);
    return sentence_prepare(translator, &text, options, arena, out, err);
}

struct sentence *model_prepare(const struct translator *translator, const char *text,
                               const struct search_options *options, struct arena *arena) {
    const struct translator_text whole = {.text = text, .length = strlen(text)};
    struct sentence_list list;
    ck_assert_int_eq(model_sentences(translator, whole, options, arena, &list, NULL), 0);
    ck_assert_uint_eq(list.count, 1);
    return list.all;
}

struct sentence *model_prepare_forced(const struct translator *translator, const char *text,
                                      const int *tokens, size_t length, struct arena *arena) {
    static const struct search_options forced = {
        .strategy = &search_forced, .beam_size = 1, .n_best = 1};
    struct sentence *sentence = model_prepare(translator, text, &forced, arena);
    sentence->options.prefix = tokens;
    sentence->options.prefix_length = length;
    return sentence;
}

void model_decode(const struct translator *translator, struct sentence **sentences, size_t count) {
    enum { ROWS = 128 };
    struct batch *batch = batch_create(translator, ROWS, NULL);
    struct sentence *done[ROWS];
    batch_admit(batch, sentences, count);
    while (batch_sentences(batch) > 0)
        batch_step(batch, done);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(!sentences[i]->error, "%s", sentences[i]->error->message);
    batch_free(batch);
}
