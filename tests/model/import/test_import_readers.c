/* The readers of foreign containers: what they read, and each way in which a file can be damaged.
 */
#include "tests/model/import/making.h"
#include "tests/scratch.h"
#include "tests/suites.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct folder folder;

static void setup(void) {
    scratch_setup();
    folder = folder_new();
}

static void teardown(void) {
    folder_drop(&folder);
    scratch_teardown();
}

static void expect(int result, const char *message) {
    ck_assert_int_eq(result, -1);
    ck_assert_msg(strstr(err.message, message) != NULL, "\"%s\" is not in \"%s\"", message,
                  err.message);
    err = (struct error){0};
}

/* ---- archives ---- */

static const char *inside(void) {
    static char path[80];
    snprintf(path, sizeof path, "%s/in", folder.path);
    mkdir(path, 0700);
    return path;
}

START_TEST(archives_are_unpacked) {
    static const char *const kinds[][3] = {{"zip", "", "a.zip"},
                                           {"gnutar", "gzip", "a.tar.gz"},
                                           {"gnutar", "zstd", "a.tar.zst"},
                                           {"gnutar", "", "a.tar"}};
    const struct member members[] = {{"top/a", "1", 1, NULL}, {"./top/b/c", "23", 2, NULL}};
    for (size_t i = 0; i < 4; i++) {
        struct folder out = folder_new();
        enum archive_kind kind;
        char read[8] = "", path[128];
        const char *archive =
            put_archive(folder.path, kinds[i][2], kinds[i][0], kinds[i][1], members, 2);
        ck_assert_int_eq(source_archive_kind_of(archive, &kind, &err), 0);
        ck_assert_int_eq(kind, i == 0 ? ARCHIVE_ZIP : ARCHIVE_TAR);
        ck_assert_int_eq(source_archive_unpack(archive, out.path, &archive_usual, NULL, &err), 0);
        snprintf(path, sizeof path, "%s/top/b/c", out.path);
        FILE *file = fopen(path, "rb");
        ck_assert_ptr_nonnull(file);
        ck_assert_uint_eq(fread(read, 1, sizeof read, file), 2);
        fclose(file);
        ck_assert_str_eq(read, "23");
        folder_drop(&out);
    }
}
END_TEST

static const struct {
    const char *name, *link, *message;
} hostile[] = {
    {"/etc/passwd", NULL, "is an absolute path"},
    {"../a", NULL, "leads out of the folder"},
    {"a/../../b", NULL, "leads out of the folder"},
    {"a/./b", NULL, "leads out of the folder"},
    {"a//b", NULL, "leads out of the folder"},
    {"a\tb", NULL, "a character that names must not have"},
    {"a/b/c/d/e/f", NULL, "too many folders"},
    {"a", "/etc", "is a link"},
    {"a", "=ok", "is a link"},
    {"a", "=/etc/passwd", "is a link"},
    {"ok", NULL, "occurs twice"},
    {"ok/inside", NULL, "File exists|Not a directory|occurs twice"},
};

START_TEST(hostile_members_are_refused) {
    const struct member members[] = {{"ok", "1", 1, NULL},
                                     {hostile[_i].name, hostile[_i].link ? "" : "2",
                                      hostile[_i].link ? 0 : 1, hostile[_i].link}};
    const char *archive = put_archive(folder.path, "a.tar", "gnutar", "", members, 2);
    ck_assert_int_eq(source_archive_unpack(archive, inside(), &archive_usual, NULL, &err), -1);
    if (!strchr(hostile[_i].message, '|'))
        ck_assert_msg(strstr(err.message, hostile[_i].message) != NULL, "%s", err.message);
    ck_assert(source_begins(err.message, archive) || strchr(hostile[_i].message, '|'));
}
END_TEST

START_TEST(archives_have_limits) {
    static char zeros[200000];
    struct member many[20];
    char names[20][8];
    for (size_t i = 0; i < 20; i++) {
        snprintf(names[i], sizeof names[i], "m%zu", i);
        many[i] = (struct member){names[i], "x", 1, NULL};
    }
    const char *archive = put_archive(folder.path, "many.tar", "gnutar", "", many, 20);
    expect(source_archive_unpack(archive, inside(), &(struct archive_limits){10, 1 << 20, 10}, NULL,
                                 &err),
           "has more than 10 members");
    archive = put_archive(folder.path, "large.zip", "zip", "",
                          &(struct member){"a", zeros, sizeof zeros, NULL}, 1);
    expect(source_archive_unpack(archive, inside(), &(struct archive_limits){10, 100000, 10}, NULL,
                                 &err),
           "its contents are larger than 100000 bytes");
    archive = put_archive(folder.path, "x.gz", "raw", "gzip",
                          &(struct member){"a", zeros, sizeof zeros, NULL}, 1);
    char out[96];
    snprintf(out, sizeof out, "%s/x", folder.path);
    expect(
        source_archive_expand(archive, out, &(struct archive_limits){10, 100000, 10}, NULL, &err),
        "its contents are larger than 100000 bytes");
    atomic_bool stop = true;
    snprintf(out, sizeof out, "%s/y", folder.path);
    expect(source_archive_expand(archive, out, &archive_usual, &stop, &err), "interrupted");
}
END_TEST

/* By the limits that import has: of ten thousand members no more than the allowed number is made.
 */
START_TEST(ten_thousand_members_are_refused) {
    enum { MANY = 10000 };
    static char names[MANY][8];
    static struct member many[MANY];
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "m%zu", i);
        many[i] = (struct member){names[i], "", 0, NULL};
    }
    const char *archive = put_archive(folder.path, "a.tar.gz", "gnutar", "gzip", many, MANY);
    expect(source_archive_unpack(archive, inside(), &archive_usual, NULL, &err),
           "has more than 5000 members");
}
END_TEST

START_TEST(compressed_files_are_expanded) {
    static const char *const filters[] = {"gzip", "zstd"};
    for (size_t i = 0; i < 2; i++) {
        char out[96], read[32] = "";
        enum archive_kind kind;
        snprintf(out, sizeof out, "%s/out%zu", folder.path, i);
        const char *path = put_archive(folder.path, filters[i], "raw", filters[i],
                                       &(struct member){"a", "the contents", 12, NULL}, 1);
        ck_assert_int_eq(source_archive_kind_of(path, &kind, &err), 0);
        ck_assert_int_eq(kind, ARCHIVE_COMPRESSED);
        ck_assert_int_eq(source_archive_expand(path, out, &archive_usual, NULL, &err), 0);
        FILE *file = fopen(out, "rb");
        ck_assert_uint_eq(fread(read, 1, sizeof read, file), 12);
        fclose(file);
        ck_assert_str_eq(read, "the contents");
    }
    char out[96];
    snprintf(out, sizeof out, "%s/broken", folder.path);
    expect(source_archive_expand(put_file(folder.path, "b.gz",
                                          "\x1f\x8b"
                                          "broken",
                                          8),
                                 out, &archive_usual, NULL, &err),
           "cannot be unpacked");
    expect(source_archive_unpack(put_file(folder.path, "b.zip", "PK\x03\x04", 4), inside(),
                                 &archive_usual, NULL, &err),
           "b.zip: ");
}
END_TEST

START_TEST(texts_are_read_with_one_kind_of_line) {
    char *text;
    size_t length;
    const char *path = put_text(folder.path, "lines", "a\r\nb\rc\n"),
               *broken = put_text(folder.path, "broken", "a\xff\r\n");
    ck_assert_int_eq(source_text(path, 8, &arena, &text, &length, &err), 0);
    ck_assert_uint_eq(length, 6);
    ck_assert_str_eq(text, "a\nb\nc\n");
    expect(source_text(broken, 8, &arena, &text, &length, &err), "broken: not valid UTF-8");
    ck_assert_int_eq(source_text_mended(broken, 8, &arena, &text, &length, &err), 0);
    ck_assert_str_eq(text, "a\xef\xbf\xbd\n");
    ck_assert_uint_eq(length, 5);
    expect(source_text(path, 6, &arena, &text, &length, &err),
           "lines: has 7 bytes, more than the allowed 6");
    expect(source_text_mended(folder.path, 8, &arena, &text, &length, &err),
           "is not a regular file");
    expect(source_text(inside(), 8, &arena, &text, &length, &err), "is not a regular file");
    char bytes[8];
    uint64_t size;
    int file = source_open(path, &size, &err);
    expect(source_read_at(file, 4, bytes, 8, "numbers", &err), "numbers: the file ends within it");
    struct source_cursor cursor = {.path = path, .file = file, .size = size, .arena = &arena};
    ck_assert_int_eq(source_take(&cursor, bytes, 4, "a head", &err), 0);
    expect(source_take(&cursor, bytes, 8, "a name", &err), "lines: the file ends within a name");
    ck_assert_uint_eq(cursor.at, 4);
    close(file);
    ck_assert_str_eq(source_thousands(&arena, 1234567), "1,234,567");
}
END_TEST

START_TEST(pointers_of_git_lfs_are_refused) {
    uint64_t size;
    const char *path =
        put_text(folder.path, "model.npz",
                 "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n");
    expect(source_open(path, &size, &err), "is a Git LFS pointer");
    expect(source_open(folder.path, &size, &err), "is not a regular file");
    expect(source_open("/nowhere", &size, &err), "/nowhere: No such file");
}
END_TEST

/* ---- .npz ---- */

static int open_npy(const char *name, const char *start, const char *header, size_t data) {
    struct container container = {.file = -1};
    struct made_bytes bytes = {NULL, 0};
    bytes_add(&bytes, start, 8);
    bytes_add(&bytes, (const char[]){(char)strlen(header), 0}, 2);
    bytes_text(&bytes, header);
    for (size_t i = 0; i < data; i++)
        bytes_add(&bytes, "\0", 1);
    const char *path = put_archive(folder.path, "x.npz", "zip", "",
                                   &(struct member){name, bytes.at, bytes.count, NULL}, 1);
    bytes_done(&bytes);
    int result = tensors_open_npz(path, folder.path, &arena, NULL, &container, &err);
    tensors_close(&container);
    return result;
}

#define NPY "\x93NUMPY\x01"
static const struct {
    const char *name, *start, *header;
    size_t data;
    const char *message;
} arrays[] = {
    {"a.npy", NPY, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }\n", 4,
     "a: shape (1000000000000,) of float32 does not fit its 4 bytes"},
    {"a.npy", NPY, "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }\n", 4,
     "in Fortran order"},
    {"a.npy", NPY, "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n", 4,
     "a: must hold plain numbers in C order, not |O"},
    {"a.npy", NPY, "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }\n", 4,
     "a: must hold plain numbers"},
    {"a.npy", NPY, "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 8), }\n", 4,
     "a: its header cannot be read"},
    {"a.npy", NPY, "{'descr': '<f4', 'fortran_order': False, 'shape': ('8', 8), }\n", 4,
     "a: its header cannot be read"},
    {"a.npy", NPY, "{'descr': '<f4', 'fortran_order': False, 'shape': (4), }\n", 16,
     "a: its header cannot be read"},
    {"a.npy", NPY, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'shape': (1,), }\n", 4,
     "a: its header cannot be read"},
    {"a.npy", NPY, "{'descr': '<f4', 'shape': (1,), }\n", 4, "a: its header cannot be read"},
    {"a.npy", NPY, "__import__('os')\n", 0, "a: its header cannot be read"},
    {"a.npy", "\x93NUMPY\x03", "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n", 4,
     "a: its header cannot be read"},
    {"a.npy", NPY,
     "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1), }\n", 4,
     "a: its header cannot be read"},
    {"a.txt", NPY, "", 0, "a.txt: not an array"},
};

START_TEST(arrays_are_refused_by_name) {
    expect(open_npy(arrays[_i].name, arrays[_i].start, arrays[_i].header, arrays[_i].data),
           arrays[_i].message);
}
END_TEST

START_TEST(arrays_are_read) {
    struct container container;
    float numbers[6];
    struct made_bytes a = npy_of("(2, 3)", 6, NULL), b = npy_of("()", 1, NULL),
                      c = npy_of("(0, 4)", 0, NULL);
    const struct member members[] = {{"a.npy", a.at, a.count, NULL},
                                     {"b.npy", b.at, b.count, NULL},
                                     {"c.npy", c.at, c.count, NULL}};
    const char *path = put_archive(folder.path, "x.npz", "zip", "", members, 3);
    ck_assert_int_eq(tensors_open_npz(path, folder.path, &arena, NULL, &container, &err), 0);
    ck_assert_uint_eq(container.count, 3);
    const struct stored_tensor *stored = tensors_find_stored(&container, "a");
    ck_assert_str_eq(tensors_shape(&arena, stored->shape, stored->dims), "(2, 3)");
    ck_assert_int_eq(tensors_numbers(stored, 0, 6, numbers, &err), 0);
    ck_assert_float_eq(numbers[5], 3);
    ck_assert_uint_eq(tensors_find_stored(&container, "b")->dims, 0);
    ck_assert_uint_eq(tensors_count(tensors_find_stored(&container, "c")), 0);
    ck_assert_ptr_null(tensors_find_stored(&container, "d"));
    tensors_close(&container);
    ck_assert(folder_holds(folder.path, "x.npz")); /* what is unpacked has no name */
    expect(tensors_open_npz(put_file(folder.path, "t.npz", "PK\x03\x04 torn", 9), folder.path,
                            &arena, NULL, &container, &err),
           "not a whole .npz file");
    const struct member twice[] = {members[0], members[0]};
    expect(tensors_open_npz(put_archive(folder.path, "y.npz", "zip", "", twice, 2), folder.path,
                            &arena, NULL, &container, &err),
           "a.npy: occurs twice");
    bytes_done(&a);
    bytes_done(&b);
    bytes_done(&c);
}
END_TEST

START_TEST(checksums_are_checked) {
    struct container container;
    struct made_bytes a = npy_of("(2, 3)", 6, NULL);
    const char *path = put_archive(folder.path, "x.npz", "zip", "",
                                   &(struct member){"a.npy", a.at, a.count, NULL}, 1);
    char *bytes;
    size_t size;
    ck_assert_int_eq(source_read(path, 1 << 20, &arena, &bytes, &size, &err), 0);
    bytes_done(&a);
    bytes[size / 3] ^= 1;
    put_file(folder.path, "x.npz", bytes, size);
    ck_assert_int_eq(tensors_open_npz(path, folder.path, &arena, NULL, &container, &err), -1);
    ck_assert(strstr(err.message, "x.npz: ") != NULL);
}
END_TEST

/* ---- .bin ---- */

static const struct given items[] = {{"first_Wq", 2, 4}, {"bias", 1, 4}};

static int open_bin(const struct made_bytes *bytes) {
    struct container container = {.file = -1};
    int result = tensors_open_marian(put_file(folder.path, "m.bin", bytes->at, bytes->count),
                                     &arena, &container, &err);
    tensors_close(&container);
    return result;
}

/* Where things are in the file of `items`: heads at 16, 48, 80; names; five dimensions; padding;
 * data. */
enum {
    HEAD_Q = 16,
    NAMES = 16 + 3 * 32,
    DIMENSIONS = NAMES + 9 + 5 + 18,
    PADDING = DIMENSIONS + 20,
    DATA = PADDING + 8 + 3
};
static const struct {
    size_t at;
    size_t count;
    uint64_t number;
    const char *message;
} damages[] = {
    {0, 8, 7, "version 7 is unknown"},
    {0, 8, 2, "its beginning is encrypted"},
    {8, 8, UINT64_C(1) << 62, "the file ends within the list of tensors"},
    {HEAD_Q, 8, UINT64_C(1) << 60, "the file ends within the names"},
    {HEAD_Q, 8, 0, "is not text that ends with a NUL"},
    {NAMES + 8, 1, 'A', "is not text that ends with a NUL"},
    {NAMES + 3, 1, 0, "is not text that ends with a NUL"},
    {NAMES + 3, 1, 0xff, "is not text that ends with a NUL"},
    {HEAD_Q + 16, 8, 0, "first_Wq: has 0 dimensions"},
    {HEAD_Q + 16, 8, UINT64_C(1) << 40, "first_Wq: has 1099511627776 dimensions"},
    {DIMENSIONS, 4, (uint32_t)-8, "first_Wq: has the shape (-8, 4)"},
    {DIMENSIONS, 4, 0, "first_Wq: has the shape (0, 4)"},
    {DIMENSIONS + 8, 8, UINT64_C(0x7fffffff7fffffff),
     "bias: shape (2147483647, 2147483647) needs 18446744056529682436 bytes"},
    {DIMENSIONS, 4, 800, "first_Wq: shape (800, 4) needs 3204 bytes, and there are 256"},
    {PADDING, 8, UINT64_C(1) << 50, "the file ends within the padding"},
    {HEAD_Q + 24, 8, UINT64_C(1) << 50, "first_Wq: the file ends within it"},
    {HEAD_Q + 24, 8, 255, "1 bytes follow the last tensor"},
    {HEAD_Q + 8, 8, 0x11001, "first_Wq: is of type intgemm8avx2, which cannot be read"},
    {HEAD_Q + 8, 8, 0x4102, "first_Wq: is of type intgemm16"},
    {HEAD_Q + 8, 8, 0x9999, "first_Wq: is of type 0x9999"},
    {DATA + 8, 4, 0, "first_Wq: its multiplier is 0.0"},
    {DATA + 8, 4, 0x7fc00000, "first_Wq: its multiplier is nan"},
    {DATA + 8, 4, 0x7f800000, "first_Wq: its multiplier is inf"},
    {DATA + 8, 4, 0xbf800000, "first_Wq: its multiplier is -1.0"},
};

START_TEST(damaged_binaries_are_refused) {
    struct made_bytes bytes = bin_of(items, 2, "type: s2s\n", true);
    memcpy(bytes.at + damages[_i].at, &damages[_i].number, damages[_i].count);
    expect(open_bin(&bytes), damages[_i].message);
    bytes_done(&bytes);
}
END_TEST

START_TEST(binaries_that_are_cut_anywhere_are_refused) {
    struct made_bytes bytes = bin_of(items, 2, "type: s2s\n", true), cut = bytes;
    ck_assert_int_eq(open_bin(&bytes), 0);
    for (cut.count = 0; cut.count < bytes.count; cut.count += 7)
        expect(open_bin(&cut), "the file ends within");
    bytes_add(&bytes, "x", 1);
    expect(open_bin(&bytes), "1 bytes follow the last tensor");
    bytes_done(&bytes);
    const struct given twins[] = {{"twin", 1, 2}, {"twin", 1, 2}};
    bytes = bin_of(twins, 2, "type: s2s\n", false);
    expect(open_bin(&bytes), "twin: occurs twice");
    bytes_done(&bytes);
}
END_TEST

START_TEST(int8_is_read_as_what_it_stands_for) {
    struct made_bytes bytes = bin_of(items, 2, "type: s2s\n", true);
    struct container container;
    float numbers[8];
    ck_assert_int_eq(tensors_open_marian(put_file(folder.path, "m.bin", bytes.at, bytes.count),
                                         &arena, &container, &err),
                     0);
    bytes_done(&bytes);
    const struct stored_tensor *stored = tensors_find_stored(&container, "first_Wq");
    ck_assert(stored->quantised && stored->transposed);
    ck_assert_float_eq(stored->scale, 0.25F);
    ck_assert_int_eq(tensors_numbers(stored, 0, 8, numbers, &err), 0);
    for (int i = 0; i < 8; i++)
        ck_assert_float_eq(numbers[i], (float)i / 4);
    tensors_close(&container);
}
END_TEST

/* ---- pickles ---- */

/* The output of torch.save for {"w": a tensor [2, 3] of float32}, protocol 2. */
static const char program[] = "\x80\x02}q\0X\1\0\0\0wq\1ctorch._utils\n_rebuild_tensor_v2\nq\2(("
                              "X\7\0\0\0storageq\3ctorch\nFloatStorage\nq\4X\1\0\0\0"
                              "0q\5X\3\0\0\0cpuq\6K\6tq\7QK\0K\2K\3\x86q\10K\3K\1\x86q\11\x89"
                              "ccollections\nOrderedDict\nq\12)Rq\13tq\14Rq\15s.";

static int open_pickle(const void *bytes, size_t count, size_t numbers, struct container *out) {
    float data[6] = {1, 2, 3, 4, 5, 6};
    const struct member members[] = {{"archive/data.pkl", bytes, count, NULL},
                                     {"archive/data/0", data, numbers * sizeof *data, NULL}};
    struct container container = {.file = -1};
    int result = tensors_open_pickle(put_archive(folder.path, "p.bin", "zip", "", members, 2),
                                     folder.path, &arena, NULL, &container, &err);
    if (out)
        *out = container;
    else
        tensors_close(&container);
    return result;
}

START_TEST(a_dictionary_of_tensors_is_read) {
    struct container container;
    float numbers[6];
    ck_assert_int_eq(open_pickle(program, sizeof program - 1, 6, &container), 0);
    ck_assert_uint_eq(container.count, 1);
    const struct stored_tensor *stored = tensors_find_stored(&container, "w");
    ck_assert_str_eq(tensors_shape(&arena, stored->shape, stored->dims), "(2, 3)");
    ck_assert_int_eq(tensors_numbers(stored, 0, 6, numbers, &err), 0);
    ck_assert_float_eq(numbers[4], 5);
    tensors_close(&container);
    expect(open_pickle(program, sizeof program - 1, 5, NULL), "differs from its pickle's");
}
END_TEST

START_TEST(pickles_that_are_cut_or_changed_are_refused) {
    for (size_t count = 0; count < sizeof program - 1; count++)
        expect(open_pickle(program, count, 6, NULL), "p.bin: ");
    for (size_t at = 0; at < sizeof program - 1;
         at++) { /* whatever a byte becomes, it is read or refused */
        char changed[sizeof program];
        memcpy(changed, program, sizeof program);
        changed[at] = (char)(changed[at] ^ 0x15);
        err = (struct error){0};
        struct container container = {.file = -1};
        ck_assert(open_pickle(changed, sizeof program - 1, 6, &container) == 0 ||
                  strstr(err.message, "p.bin: ") != NULL);
        tensors_close(&container);
    }
}
END_TEST

static const struct {
    const char *bytes;
    size_t count;
    const char *message;
} pickles[] = {
#define PICKLE(bytes, message)                                                                     \
    { bytes, sizeof(bytes) - 1, message }
    PICKLE("\x80\x02"
           "cos\nsystem\nX\2\0\0\0ls\x85R.",
           "its pickle calls os.system, but only dictionaries of tensors can be read"),
    PICKLE("\x80\x02"
           "cbuiltins\nprint\nX\2\0\0\0ls\x85R.",
           "its pickle calls builtins.print"),
    PICKLE("\x80\x02\x8c\2os\x8c\6system\x93.", "its pickle has the opcode 0x93"),
    PICKLE("\x80\x02(X\1\0\0\0aios\nsystem\n.", "its pickle has the opcode 0x69"),
    PICKLE("\x80\x02}X\1\0\0\0aK\1s.", "must contain only tensors, but a is a number"),
    PICKLE("\x80\x02K\1.", "contains a number instead of a dictionary of tensors"),
    PICKLE("\x80\x02}K\1K\2s.", "must contain only tensors, but a key is a number"),
    PICKLE("\x80\x09}.", "its pickle is of an unknown protocol"),
    PICKLE("\x80\x02(lh\x05.", "its pickle has the opcode 0x6c"),
    PICKLE("\x80\x02h\x05.", "its pickle is damaged"),
    PICKLE("\x80\x02}q\7.", "its pickle is damaged"),
    PICKLE("\x80\x02X\xff\xff\xff\x7f"
           "a.",
           "its pickle is damaged"),
    PICKLE("\x80\x02t.", "its pickle is damaged"),
    PICKLE("\x80\x02(K\1Q.", "its pickle refers to numbers of an unknown kind"),
};

START_TEST(pickles_that_do_other_things_are_refused) {
    expect(open_pickle(pickles[_i].bytes, pickles[_i].count, 6, NULL), pickles[_i].message);
}
END_TEST

START_TEST(an_older_file_is_read) {
    static const char start[] =
        "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.";
    static const char keys[] = "\x80\x02]q\0X\1\0\0\0"
                               "0q\1a.";
    float data[6] = {1, 2, 3, 4, 5, 6};
    struct made_bytes bytes = {NULL, 0};
    struct container container = {.file = -1};
    float number;
    bytes_add(&bytes, start, sizeof start - 1);
    bytes_add(&bytes, program, sizeof program - 1);
    bytes_add(&bytes, keys, sizeof keys - 1);
    bytes_u64(&bytes, 6);
    bytes_add(&bytes, data, sizeof data);
    ck_assert_int_eq(tensors_open_pickle(put_file(folder.path, "o.bin", bytes.at, bytes.count),
                                         folder.path, &arena, NULL, &container, &err),
                     0);
    ck_assert_int_eq(tensors_numbers(tensors_find_stored(&container, "w"), 5, 1, &number, &err), 0);
    ck_assert_float_eq(number, 6);
    tensors_close(&container);
    for (size_t count = 0; count < bytes.count; count++)
        expect(tensors_open_pickle(put_file(folder.path, "o.bin", bytes.at, count), folder.path,
                                   &arena, NULL, &container, &err),
               "o.bin: ");
    bytes_done(&bytes);
}
END_TEST

/* ---- YAML ---- */

START_TEST(mappings_keep_strings) {
    static const char text[] = "---\n# x\non: 0\n00: 1\n000: 2\n\"\\\"\": 3\n'it''s': "
                               "4\n\"\\u00e9\\x41\\n\": 5\na:b: 6\nlist:\n  - 1\n  - 'b, c'\n"
                               "empty:\n  []\nflow: [a, b]\n?x: 7\nnull: ~\nnothing:\n";
    static const char *const wanted[][2] = {{"on", "0"},
                                            {"00", "1"},
                                            {"000", "2"},
                                            {"\"", "3"},
                                            {"it's", "4"},
                                            {"\xc3\xa9"
                                             "A\n",
                                             "5"},
                                            {"a:b", "6"},
                                            {"list", "[1, b, c]"},
                                            {"empty", "[]"},
                                            {"flow", "[a, b]"},
                                            {"?x", "7"},
                                            {"null", "~"},
                                            {"nothing", ""}};
    struct mapping mapping;
    ck_assert_int_eq(source_mapping_read(text, strlen(text), &arena, &mapping, &err), 0);
    ck_assert_uint_eq(mapping.count, sizeof wanted / sizeof *wanted);
    for (size_t i = 0; i < mapping.count; i++) {
        ck_assert_str_eq(mapping.pairs[i].key, wanted[i][0]);
        ck_assert_str_eq(source_mapping_shown(&arena, &mapping.pairs[i]), wanted[i][1]);
    }
}
END_TEST

static const char *const not_mappings[][2] = {
    {"a: 1\na: 2", "'a' occurs twice"},
    {"a: &x 1", "anchors are not read"},
    {"a: *x", "line 1: "},
    {"a", "a mapping of keys and values"},
    {"\"a: 1", "cannot be read"},
    {"a: \"\\q\"", "cannot be read"},
    {"a: b: c", "cannot be read"},
    {"a: {b: 1}", "only plain values"},
    {"- a", "a mapping of keys and values"},
    {"a:\n  - [b]", "only lists of plain values"},
    {"x: 1\n---\ny: 1", "only one mapping is read"},
    {"[a]: b", "a key must be a plain value"},
    {"a: \"\\0\"", "a NUL"},
};

START_TEST(other_yaml_is_refused) {
    struct mapping mapping;
    expect(source_mapping_read(not_mappings[_i][0], strlen(not_mappings[_i][0]), &arena, &mapping,
                               &err),
           not_mappings[_i][1]);
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))

Suite *import_readers_suite(void) {
    Suite *suite = suite_create("import_readers");
    TCase *tcase = tcase_create("import_readers");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, archives_are_unpacked);
    tcase_add_loop_test(tcase, hostile_members_are_refused, 0, COUNT(hostile));
    tcase_add_test(tcase, archives_have_limits);
    tcase_add_test(tcase, ten_thousand_members_are_refused);
    tcase_add_test(tcase, compressed_files_are_expanded);
    tcase_add_test(tcase, texts_are_read_with_one_kind_of_line);
    tcase_add_test(tcase, pointers_of_git_lfs_are_refused);
    tcase_add_loop_test(tcase, arrays_are_refused_by_name, 0, COUNT(arrays));
    tcase_add_test(tcase, arrays_are_read);
    tcase_add_test(tcase, checksums_are_checked);
    tcase_add_loop_test(tcase, damaged_binaries_are_refused, 0, COUNT(damages));
    tcase_add_test(tcase, binaries_that_are_cut_anywhere_are_refused);
    tcase_add_test(tcase, int8_is_read_as_what_it_stands_for);
    tcase_add_test(tcase, a_dictionary_of_tensors_is_read);
    tcase_add_test(tcase, pickles_that_are_cut_or_changed_are_refused);
    tcase_add_loop_test(tcase, pickles_that_do_other_things_are_refused, 0, COUNT(pickles));
    tcase_add_test(tcase, an_older_file_is_read);
    tcase_add_test(tcase, mappings_keep_strings);
    tcase_add_loop_test(tcase, other_yaml_is_refused, 0, COUNT(not_mappings));
    suite_add_tcase(suite, tcase);
    return suite;
}
