#include "tests/model/import/making.h"
#include "model/import/conversion.h"
#include "tests/check.h"
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct folder folder_new(void) {
    struct folder folder = {"/tmp/alignd-import-XXXXXX"};
    ck_assert_ptr_nonnull(mkdtemp(folder.path));
    return folder;
}

void folder_drop(const struct folder *folder) {
    folder_remove(folder->path);
}

bool folder_holds(const char *folder, const char *names) {
    const struct dirent *entry;
    size_t found = 0, wanted = *names != '\0';
    DIR *open = opendir(folder);
    bool all = open != NULL;
    for (const char *c = names; *c; c++)
        wanted += *c == ' ';
    while (open && (entry = readdir(open)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        const char *at = strstr(names, entry->d_name);
        all = all && at && (at == names || at[-1] == ' ');
        found++;
    }
    if (open)
        closedir(open);
    return all && found == wanted;
}

static const char *path_in(const char *folder, const char *name) {
    enum { PATHS = 8 };
    static char paths[PATHS][512];
    static size_t next;
    char *path = paths[next++ % PATHS];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

const char *put_file(const char *folder, const char *name, const void *bytes, size_t count) {
    const char *path = path_in(folder, name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

const char *put_text(const char *folder, const char *name, const char *text) {
    return put_file(folder, name, text, strlen(text));
}

const char *put_archive(const char *folder, const char *name, const char *format,
                        const char *filter, const struct member *members, size_t count) {
    const char *path = path_in(folder, name);
    struct archive *archive = archive_write_new();
    ck_assert_int_eq(archive_write_set_format_by_name(archive, format), ARCHIVE_OK);
    if (*filter)
        ck_assert_int_eq(archive_write_add_filter_by_name(archive, filter), ARCHIVE_OK);
    ck_assert_int_eq(archive_write_open_filename(archive, path), ARCHIVE_OK);
    for (size_t i = 0; i < count; i++) {
        struct archive_entry *entry = archive_entry_new();
        archive_entry_set_pathname(entry, members[i].name);
        bool hard = members[i].link && *members[i].link == '=';
        archive_entry_set_filetype(entry, members[i].link && !hard ? AE_IFLNK : AE_IFREG);
        archive_entry_set_perm(entry, 0644);
        archive_entry_set_size(entry, (la_int64_t)members[i].count);
        if (hard)
            archive_entry_set_hardlink(entry, members[i].link + 1);
        else if (members[i].link)
            archive_entry_set_symlink(entry, members[i].link);
        ck_assert_int_eq(archive_write_header(archive, entry), ARCHIVE_OK);
        if (members[i].count)
            ck_assert_int_eq(archive_write_data(archive, members[i].bytes, members[i].count),
                             (la_ssize_t)members[i].count);
        archive_entry_free(entry);
    }
    ck_assert_int_eq(archive_write_close(archive), ARCHIVE_OK);
    archive_write_free(archive);
    return path;
}

void bytes_add(struct made_bytes *bytes, const void *more, size_t count) {
    bytes->at = realloc(bytes->at, bytes->count + count + 1);
    ck_assert_ptr_nonnull(bytes->at);
    if (count)
        memcpy(bytes->at + bytes->count, more, count);
    bytes->count += count;
}

void bytes_text(struct made_bytes *bytes, const char *text) {
    bytes_add(bytes, text, strlen(text));
}

void bytes_u64(struct made_bytes *bytes, uint64_t number) {
    bytes_add(bytes, &number, sizeof number);
}

void bytes_done(struct made_bytes *bytes) {
    free(bytes->at);
    *bytes = (struct made_bytes){NULL, 0};
}

struct made_bytes npy_of(const char *shape, size_t count, const float *numbers) {
    char header[128];
    int length = snprintf(header, sizeof header,
                          "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }\n", shape);
    struct made_bytes made = {NULL, 0};
    bytes_add(&made, "\x93NUMPY\x01", 8);
    bytes_add(&made, (const char[]){(char)length, 0}, 2);
    bytes_text(&made, header);
    for (size_t i = 0; i < count; i++)
        bytes_add(&made, numbers ? &numbers[i] : &(float){(float)(i + 1) / 2}, sizeof(float));
    return made;
}

const char *put_npz(const char *folder, const char *name, const struct given *tensors, size_t count,
                    const char *options) {
    struct member members[64];
    struct made_bytes contents[64] = {{NULL, 0}};
    char names[64][128];
    ck_assert_uint_lt(count, 63);
    for (size_t i = 0; i < count; i++) {
        char shape[64];
        snprintf(shape, sizeof shape, "(%zu, %zu)", tensors[i].rows, tensors[i].columns);
        snprintf(names[i], sizeof names[i], "%s.npy", tensors[i].name);
        contents[i] = npy_of(shape, tensors[i].rows * tensors[i].columns, NULL);
        members[i] = (struct member){names[i], contents[i].at, contents[i].count, NULL};
    }
    char header[128];
    int length = snprintf(header, sizeof header,
                          "{'descr': '|i1', 'fortran_order': False, 'shape': (%zu,), }\n",
                          strlen(options) + 1);
    bytes_add(&contents[count], "\x93NUMPY\x01", 8);
    bytes_add(&contents[count], (const char[]){(char)length, 0}, 2);
    bytes_text(&contents[count], header);
    bytes_add(&contents[count], options, strlen(options) + 1);
    members[count] =
        (struct member){"special:model.yml.npy", contents[count].at, contents[count].count, NULL};
    const char *path = put_archive(folder, name, "zip", "", members, count + 1);
    for (size_t i = 0; i <= count; i++)
        bytes_done(&contents[i]);
    return path;
}

struct made_bytes bin_of(const struct given *tensors, size_t count, const char *options,
                         bool int8) {
    struct made_bytes heads = {NULL, 0}, names = {NULL, 0}, shapes = {NULL, 0}, data = {NULL, 0};
    bytes_u64(&heads, 1);
    bytes_u64(&heads, count + 1);
    for (size_t i = 0; i < count; i++) {
        bool small = int8 && (strstr(tensors[i].name, "_W") || strstr(tensors[i].name, "Wemb"));
        size_t numbers = tensors[i].rows * tensors[i].columns,
               bytes = small ? numbers + 4 : 4 * numbers, padding = (256 - bytes % 256) % 256;
        bytes_u64(&heads, strlen(tensors[i].name) + 1);
        bytes_u64(&heads, small ? 0x4101 : 0x0404);
        bytes_u64(&heads, 2);
        bytes_u64(&heads, bytes + padding);
        bytes_add(&names, tensors[i].name, strlen(tensors[i].name) + 1);
        bytes_add(&shapes, &(int32_t){(int32_t)tensors[i].rows}, 4);
        bytes_add(&shapes, &(int32_t){(int32_t)tensors[i].columns}, 4);
        for (size_t n = 0; n < numbers; n++) {
            int8_t whole = (int8_t)(n % 100);
            float number = (float)(n + 1) / 2;
            bytes_add(&data, small ? (const void *)&whole : &number, small ? 1 : 4);
        }
        if (small)
            bytes_add(&data, &(float){4}, 4);
        for (size_t p = 0; p < padding; p++)
            bytes_add(&data, "U", 1);
    }
    bytes_u64(&heads, strlen("special:model.yml") + 1);
    bytes_u64(&heads, 0x0101);
    bytes_u64(&heads, 1);
    bytes_u64(&heads, strlen(options) + 1);
    bytes_add(&names, "special:model.yml", strlen("special:model.yml") + 1);
    bytes_add(&shapes, &(int32_t){(int32_t)strlen(options) + 1}, 4);
    bytes_add(&data, options, strlen(options) + 1);
    bytes_add(&heads, names.at, names.count);
    bytes_add(&heads, shapes.at, shapes.count);
    bytes_u64(&heads, 3);
    bytes_add(&heads, "\0\0\0", 3);
    bytes_add(&heads, data.at, data.count);
    bytes_done(&names);
    bytes_done(&shapes);
    bytes_done(&data);
    return heads;
}

#define HEADS(name)                                                                                \
    {name "_Wq", 8, 8}, {name "_bq", 1, 8}, {name "_Wk", 8, 8}, {name "_bk", 1, 8},                \
        {name "_Wv", 8, 8}, {name "_bv", 1, 8}, {name "_Wo", 8, 8}, {name "_bo", 1, 8},            \
        {name "_Wo_ln_scale", 1, 8}, {                                                             \
        name "_Wo_ln_bias", 1, 8                                                                   \
    }
#define FILTER(name)                                                                               \
    {name "_W1", 8, 12}, {name "_b1", 1, 12}, {name "_W2", 12, 8}, {name "_b2", 1, 8},             \
        {name "_ffn_ln_scale", 1, 8}, {                                                            \
        name "_ffn_ln_bias", 1, 8                                                                  \
    }

const struct given tiny_tensors[] = {HEADS("encoder_l1_self"),
                                     FILTER("encoder_l1_ffn"),
                                     {"decoder_l1_rnn_W", 8, 8},
                                     {"decoder_l1_rnn_Wf", 8, 8},
                                     {"decoder_l1_rnn_bf", 1, 8},
                                     {"decoder_l1_rnn_ffn_ln_scale", 1, 8},
                                     {"decoder_l1_rnn_ffn_ln_bias", 1, 8},
                                     HEADS("decoder_l1_context"),
                                     FILTER("decoder_l1_ffn"),
                                     {"Wemb", 9, 8},
                                     {"decoder_ff_logit_out_b", 1, 9}};
const size_t tiny_count = sizeof tiny_tensors / sizeof *tiny_tensors;
const char tiny_options[] = "type: transformer\ndim-emb: 8\nenc-depth: 1\ndec-depth: "
                            "1\ntransformer-heads: 2\ntransformer-dim-ffn: 12\n"
                            "tied-embeddings-all: true\ntransformer-decoder-autoreg: "
                            "rnn\ndec-cell: ssru\nversion: v1.12.43 0 2026-11-20 07:56:24 +0000\n";
const char tiny_words[] = "</s>\n<unk>\na\nb\nc\nd\ne\nf\ng\n";
