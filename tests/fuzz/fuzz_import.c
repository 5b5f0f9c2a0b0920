/* A whole import: files of a folder, separated by the byte 0x1e, each "NAME\n" and what is in it.
 * The first byte chooses the storage and whether the folder or its files are given as paths. What
 * begins with "tensors\n" becomes a file of tensors that are all of one number, in a safetensors
 * file or, with the options that follow their list and an empty line, in Marian's .bin. So a few
 * bytes are a model, and names, shapes, options and vocabularies change on their own. A model
 * folder that is made has a valid configuration and finite weights; of an import that fails nothing
 * stays. */
#include "model/import/import.h"
#include "model/weights/config.h"
#include "model/weights/safetensors.h"
#include "tests/fuzz/foreign.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MOST_FILES = 14,
    MOST_TENSORS = 400,
    MOST_TENSOR_BYTES = 1 << 18,
    SEPARATOR = 0x1e,
    STORAGES = 5,
    NAMED = 8
};

static const char list_head[] = "tensors\n";

/* A file: its name and content. */
struct part {
    char name[64];
    const char *text; /* [size] */
    size_t size;
};

/* A tensor of a list. */
struct one {
    char name[100];
    char kind; /* f: float32, h: float16, q: int8 and its scale */
    size_t dims, shape[4];
    size_t bytes; /* of its numbers */
};

static void put(const char *folder, const char *name, const void *bytes, size_t size) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* Reads lines "NAME KIND SIZE SIZE" until one that is empty; those that are wrong are skipped.
 * rest: set to what follows that; NULL: nothing. */
static size_t read_list(const char *text, size_t size, struct one *list, const char **rest) {
    size_t count = 0, total = 0;
    const char *at = text, *last = text + size;
    while (at < last && *at != '\n') {
        const char *stop = memchr(at, '\n', (size_t)(last - at));
        char line[160];
        struct one one = {.dims = 0};
        snprintf(line, sizeof line, "%.*s", (int)((stop ? stop : last) - at), at);
        int fields = sscanf(line, "%99s %c %7zu %7zu %7zu %7zu", one.name, &one.kind, &one.shape[0],
                            &one.shape[1], &one.shape[2], &one.shape[3]);
        size_t item = one.kind == 'f' ? 4 : one.kind == 'h' ? 2 : 1;
        one.dims = fields > 2 ? (size_t)fields - 2 : 0;
        one.bytes = item;
        for (size_t d = 0; d < one.dims; d++)
            one.bytes = one.bytes < MOST_TENSOR_BYTES ? one.bytes * one.shape[d] : one.bytes;
        bool known = fields >= 2 && strchr("fhq", one.kind) &&
                     one.bytes <= MOST_TENSOR_BYTES - total && count < MOST_TENSORS;
        for (size_t i = 0; known && i < count; i++)
            known = strcmp(list[i].name, one.name) != 0;
        if (known) {
            list[count++] = one;
            total += one.bytes;
        }
        at = stop ? stop + 1 : last;
    }
    *rest = at < last ? at + 1 : NULL;
    return count;
}

static void put_safetensors(const char *folder, const char *name, const struct one *list,
                            size_t count) {
    json_t *head = json_object();
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        json_t *shape = json_array();
        for (size_t d = 0; d < list[i].dims; d++)
            json_array_append_new(shape, json_integer((json_int_t)list[i].shape[d]));
        json_object_set_new(head, list[i].name,
                            json_pack("{s:s, s:o, s:[I, I]}", "dtype",
                                      list[i].kind == 'f'   ? "F32"
                                      : list[i].kind == 'h' ? "F16"
                                                            : "I8",
                                      "shape", shape, "data_offsets", (json_int_t)at,
                                      (json_int_t)(at + list[i].bytes)));
        at += list[i].bytes;
    }
    char *text = json_dumps(head, 0);
    uint64_t length = text ? strlen(text) : 0;
    char *bytes = calloc(8 + length + at, 1);
    FUZZ_CHECK(text && bytes);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, text, length);
    memset(bytes + 8 + length, 0x3c, at);
    put(folder, name, bytes, 8 + length + at);
    json_decref(head);
    free(text);
    free(bytes);
}

/* Marian's .bin, version 1: heads, names, shapes, padding, numbers. The options are the last
 * tensor; NULL: the file has none. */
static void put_bin(const char *folder, const char *name, const struct one *list, size_t count,
                    const char *options, size_t size) {
    static const char own[] = "special:model.yml";
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file != NULL);
    size_t all = count + (options != NULL);
    fwrite((uint64_t[]){1, all}, 16, 1, file);
    for (size_t i = 0; i < all; i++) {
        bool small = i < count && list[i].kind == 'q';
        size_t bytes = i == count ? size + 1 : list[i].bytes + (small ? 4 : 0);
        uint64_t type = i == count            ? 0x0101
                        : small               ? 0x4101
                        : list[i].kind == 'h' ? 0x0402
                                              : 0x0404;
        fwrite((uint64_t[]){i == count ? sizeof own : strlen(list[i].name) + 1, type,
                            i == count ? 1 : list[i].dims,
                            i == count ? bytes : (bytes + 255) / 256 * 256},
               32, 1, file);
    }
    for (size_t i = 0; i < all; i++)
        fwrite(i == count ? own : list[i].name,
               (i == count ? strlen(own) : strlen(list[i].name)) + 1, 1, file);
    for (size_t i = 0; i < all; i++)
        for (size_t d = 0; d < (i == count ? 1 : list[i].dims); d++)
            fwrite(&(int32_t){(int32_t)(i == count ? size + 1 : list[i].shape[d])}, 4, 1, file);
    fwrite(&(uint64_t){0}, 8, 1, file);
    for (size_t i = 0; i < count; i++) {
        size_t bytes = list[i].bytes + (list[i].kind == 'q' ? 4 : 0);
        for (size_t b = 0; b < (bytes + 255) / 256 * 256; b++)
            fputc(0x3c, file);
    }
    if (options) {
        fwrite(options, size, 1, file);
        fputc(0, file);
    }
    FUZZ_CHECK(!ferror(file) && fclose(file) == 0);
}

static void put_part(const char *folder, const struct part *part) {
    static struct one list[MOST_TENSORS];
    size_t head = strlen(list_head), length = strlen(part->name);
    if (part->size < head || memcmp(part->text, list_head, head) != 0) {
        put(folder, part->name, part->text, part->size);
        return;
    }
    const char *rest;
    size_t count = read_list(part->text + head, part->size - head, list, &rest);
    if (length > 4 && strcmp(part->name + length - 4, ".bin") == 0)
        put_bin(folder, part->name, list, count, rest,
                rest ? (size_t)(part->text + part->size - rest) : 0);
    else
        put_safetensors(folder, part->name, list, count);
}

/* The next part; its name stays in the folder. */
static bool next_part(const char **at, const char *end, struct part *part) {
    const char *stop = *at < end ? memchr(*at, SEPARATOR, (size_t)(end - *at)) : NULL;
    stop = stop ? stop : end;
    const char *line = *at < stop ? memchr(*at, '\n', (size_t)(stop - *at)) : NULL;
    if (!line || line == *at || line - *at >= (ptrdiff_t)sizeof part->name)
        return false;
    snprintf(part->name, sizeof part->name, "%.*s", (int)(line - *at), *at);
    part->text = line + 1;
    part->size = (size_t)(stop - part->text);
    *at = stop + (stop < end);
    return *part->name && *part->name != '.' && !strchr(part->name, '/');
}

/* A model folder that was made can be read. */
static void check_made(const char *folder) {
    struct error error = {0};
    struct model_config config;
    char path[160];
    snprintf(path, sizeof path, "%s/config.json", folder);
    FUZZ_CHECK(config_read(path, &config, &error) == 0);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    struct safetensors *file = safetensors_open(path, &error);
    FUZZ_CHECK(file != NULL);
    safetensors_free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const storages[] = {NULL, "float32", "float16", "bfloat16", "int8"};
    const char *work = foreign_work(), *at = (const char *)data + 1,
               *end = (const char *)data + size, *paths[MOST_FILES];
    static char names[MOST_FILES][160];
    char in[80], into[80], out[96], *said = NULL;
    struct part part;
    size_t count = 0;
    if (size < 1)
        return 0;
    snprintf(in, sizeof in, "%s/en-fr", work);
    snprintf(into, sizeof into, "%s/models", work);
    FUZZ_CHECK(mkdir(in, 0700) == 0);
    while (count < MOST_FILES && next_part(&at, end, &part)) {
        put_part(in, &part);
        snprintf(names[count], sizeof names[0], "%s/%s", in, part.name);
        paths[count] = names[count];
        count++;
    }
    bool named = data[0] & NAMED && count > 0;
    if (!named)
        paths[0] = in;
    struct error error = {0};
    const struct import_options options = {.paths = paths,
                                           .path_count = named ? count : 1,
                                           .into = into,
                                           .name = "made",
                                           .storage = storages[(data[0] & 7) % STORAGES],
                                           .shortlist_first = 2,
                                           .shortlist_best = 2};
    int result = import_run(&options, &said, &error);
    snprintf(out, sizeof out, "%s/made", into);
    if (result == 0)
        check_made(out);
    else
        FUZZ_CHECK(error.message[0] != '\0' && access(into, F_OK) != 0);
    free(said);
    return 0;
}
