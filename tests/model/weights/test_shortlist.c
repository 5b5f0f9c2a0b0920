#include "model/weights/weights.h"
#include "tests/files.h"
#include "tests/suites.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCES = 4, VOCABULARY = 200, END = 2 };

static struct error err;

#define ENTRY(name, dtype, shape, offsets)                                                         \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

/* Piece 0 asks for nothing, 1 for 199 and 64, 2 for 3, 64 and 63, 3 for nothing; 7 and 5 are on
 * every list, and </s>. */
#define ALWAYS  7, 5
#define OFFSETS 0, 0, 2, 5, 5
#define TARGETS 199, 64, 3, 64, 63
static const char HEADER[] = "{" ENTRY("always", "I32", "[2]", "[0,8]") "," ENTRY(
    "offsets", "I32", "[5]", "[8,28]") "," ENTRY("targets", "I32", "[5]", "[28,48]") "}";
static const int32_t DATA[] = {ALWAYS, OFFSETS, TARGETS};

static struct shortlist *open_container(const char *header, const void *data, size_t length) {
    err = (struct error){0};
    char *path = container_write(header, data, length);
    struct shortlist *list = shortlist_open(path, SOURCES, VOCABULARY, END, &err);
    file_remove(path);
    return list;
}

static struct shortlist *open_plain(void) {
    struct shortlist *list = open_container(HEADER, DATA, sizeof DATA);
    ck_assert_msg(list != NULL, "%s", err.message);
    return list;
}

static const struct {
    int source[4];
    size_t length;
    int ids[8];
    size_t count;
} sentences[] = {
    {{0}, 0, {2, 5, 7}, 3},                     /* no piece at all */
    {{0, 3}, 2, {2, 5, 7}, 3},                  /* pieces that ask for nothing */
    {{1}, 1, {2, 5, 7, 64, 199}, 5},            /* the last id of the vocabulary */
    {{2, 1}, 2, {2, 3, 5, 7, 63, 64, 199}, 7},  /* both ask for 64 */
    {{2, 2, 0, 2}, 4, {2, 3, 5, 7, 63, 64}, 6}, /* a piece again */
};

START_TEST(ids_are_sorted_and_unique) {
    struct shortlist *list = open_plain();
    struct arena arena;
    arena_init(&arena, 4096);
    struct target_ids found;
    ck_assert_int_eq(
        shortlist_of(list, sentences[_i].source, sentences[_i].length, &arena, &found, &err), 0);
    ck_assert_uint_eq(found.count, sentences[_i].count);
    ck_assert_mem_eq(found.ids, sentences[_i].ids, found.count * sizeof *found.ids);
    arena_done(&arena);
    shortlist_free(list);
}
END_TEST

static const struct {
    int added[4];
    size_t count;
    int ids[8];
    size_t all;
} additions[] = {
    {{0}, 0, {2, 5, 7}, 3},
    {{5, 2, 5}, 3, {2, 5, 7}, 3},                 /* there already */
    {{199, 0, 6, 0}, 4, {0, 2, 5, 6, 7, 199}, 6}, /* before, between and behind, one twice */
};

START_TEST(ids_are_added) {
    static const int ids[] = {2, 5, 7};
    struct target_ids list = {ids, 3};
    struct arena arena;
    arena_init(&arena, 4096);
    int added[4];
    memcpy(added, additions[_i].added, sizeof added);
    ck_assert_int_eq(target_ids_add(&list, added, additions[_i].count, &arena, &err), 0);
    ck_assert_uint_eq(list.count, additions[_i].all);
    ck_assert_mem_eq(list.ids, additions[_i].ids, list.count * sizeof *list.ids);
    arena_done(&arena);
}
END_TEST

/* One sentence's targets are not in the next one's list, even if the arena returns the same memory.
 */
START_TEST(sentences_do_not_mix) {
    struct shortlist *list = open_plain();
    struct arena arena;
    arena_init(&arena, 4096);
    for (size_t i = sizeof sentences / sizeof *sentences; i-- > 0;) {
        struct target_ids found;
        ck_assert_int_eq(
            shortlist_of(list, sentences[i].source, sentences[i].length, &arena, &found, &err), 0);
        ck_assert_uint_eq(found.count, sentences[i].count);
        arena_reset(&arena);
    }
    arena_done(&arena);
    shortlist_free(list);
}
END_TEST

/* Lists with names alone: two of them, and id 9 on each. */
static const char NAMED[] = "{" ENTRY("always", "I32", "[1]", "[0,4]") "," ENTRY(
    "list.Latn", "I32", "[3]", "[4,16]") "," ENTRY("list.Cyrl", "I32", "[0]", "[16,16]") "}";
static const int32_t NAMED_DATA[] = {9, 150, 4, 4};

START_TEST(lists_have_names) {
    struct shortlist *list = open_container(NAMED, NAMED_DATA, sizeof NAMED_DATA);
    struct target_ids found;
    struct arena arena;
    ck_assert_msg(list != NULL, "%s", err.message);
    ck_assert_int_eq(shortlist_named(list, "Latn", &found, &err), 0);
    ck_assert_uint_eq(found.count, 4);
    ck_assert_mem_eq(found.ids, ((const int[]){END, 4, 9, 150}), 4 * sizeof *found.ids);
    ck_assert_int_eq(shortlist_named(list, "Cyrl", &found, &err), 0);
    ck_assert_uint_eq(found.count, 2);
    ck_assert_int_eq(shortlist_named(list, "Grek", &found, &err), -1);
    ck_assert_str_eq(err.message, "tensor list.Grek: missing");
    arena_init(&arena, 4096);
    ck_assert_int_eq(shortlist_of(list, (const int[]){1, 2}, 2, &arena, &found, &err),
                     0); /* source pieces ask for nothing */
    ck_assert_uint_eq(found.count, 2);
    arena_done(&arena);
    shortlist_free(list);
}
END_TEST

START_TEST(lists_are_checked) {
    static const int32_t data[] = {9, 150, 200, 4};
    ck_assert_ptr_null(open_container(NAMED, data, sizeof data));
    ck_assert_str_eq(err.message,
                     "tensor list.Latn: id 200 is not in the target vocabulary of 200");
}
END_TEST

#define THREE(always, offsets, targets) "{" always "," offsets "," targets "}"
#define ALWAYS_ENTRY                    ENTRY("always", "I32", "[2]", "[0,8]")
#define OFFSETS_ENTRY                   ENTRY("offsets", "I32", "[5]", "[8,28]")
#define TARGETS_ENTRY                   ENTRY("targets", "I32", "[5]", "[28,48]")

/* The data is as it should be, the header is not. */
static const struct {
    const char *header, *message;
} corrupt_headers[] = {
    {THREE(ENTRY("usual", "I32", "[2]", "[0,8]"), OFFSETS_ENTRY, TARGETS_ENTRY),
     "tensor always: missing"},
    {THREE(ALWAYS_ENTRY, ENTRY("ends", "I32", "[5]", "[8,28]"), TARGETS_ENTRY),
     "tensor offsets: missing"},
    {THREE(ALWAYS_ENTRY, OFFSETS_ENTRY, ENTRY("ids", "I32", "[5]", "[28,48]")),
     "tensor targets: missing"},
    {THREE(ENTRY("always", "F32", "[2]", "[0,8]"), OFFSETS_ENTRY, TARGETS_ENTRY),
     "tensor always: must be I32 with one dimension"},
    {THREE(ALWAYS_ENTRY, ENTRY("offsets", "I32", "[5,1]", "[8,28]"), TARGETS_ENTRY),
     "tensor offsets: must be I32 with one dimension"},
    {THREE(ALWAYS_ENTRY, OFFSETS_ENTRY, ENTRY("targets", "I8", "[20]", "[28,48]")),
     "tensor targets: must be I32 with one dimension"},
    {THREE(ENTRY("always", "I32", "[3]", "[0,12]"), ENTRY("offsets", "I32", "[4]", "[12,28]"),
           TARGETS_ENTRY),
     "tensor offsets: 4 numbers, but the source vocabulary needs 5"},
    {THREE(ENTRY("always", "I32", "[1]", "[0,4]"), ENTRY("offsets", "I32", "[6]", "[4,28]"),
           TARGETS_ENTRY),
     "tensor offsets: 6 numbers, but the source vocabulary needs 5"},
};

START_TEST(corrupt_header_is_refused) {
    ck_assert_ptr_null(open_container(corrupt_headers[_i].header, DATA, sizeof DATA));
    ck_assert_int_eq(err.code, ERROR_FORMAT);
    ck_assert_str_eq(err.message, corrupt_headers[_i].message);
}
END_TEST

static const struct {
    int32_t data[12];
    const char *message;
} corrupt_data[] = {
    {{7, 200, OFFSETS, TARGETS}, "tensor always: id 200 is not in the target vocabulary of 200"},
    {{-1, 5, OFFSETS, TARGETS}, "tensor always: id -1 is not in the target vocabulary of 200"},
    {{ALWAYS, OFFSETS, 199, 64, 3, 64, 2147483647},
     "tensor targets: id 2147483647 is not in the target vocabulary of 200"},
    {{ALWAYS, OFFSETS, -2147483647, 64, 3, 64, 63},
     "tensor targets: id -2147483647 is not in the target vocabulary of 200"},
    {{ALWAYS, 1, 1, 2, 5, 5, TARGETS}, "tensor offsets: must begin with 0"},
    {{ALWAYS, -1, 0, 2, 5, 5, TARGETS}, "tensor offsets: must begin with 0"},
    {{ALWAYS, 0, 3, 2, 5, 5, TARGETS}, "tensor offsets: number 2 is less than the one before it"},
    {{ALWAYS, 0, 9, 9, 9, 5, TARGETS}, "tensor offsets: number 4 is less than the one before it"},
    {{ALWAYS, 0, 0, 2, 5, 4, TARGETS}, "tensor offsets: number 4 is less than the one before it"},
    {{ALWAYS, 0, 0, 2, 5, 6, TARGETS}, "tensor offsets: end with 6, but there are 5 targets"},
    {{ALWAYS, 0, 0, 2, 4, 4, TARGETS}, "tensor offsets: end with 4, but there are 5 targets"},
};

START_TEST(corrupt_data_is_refused) {
    ck_assert_ptr_null(open_container(HEADER, corrupt_data[_i].data, sizeof corrupt_data[_i].data));
    ck_assert_int_eq(err.code, ERROR_FORMAT);
    ck_assert_str_eq(err.message, corrupt_data[_i].message);
}
END_TEST

/* shortlist_open reads the files of weights/training/shortlist.py. */
START_TEST(shipped_lists_are_read) {
    static const char *const paths[] = {"weights/en-fr/shortlist.safetensors",
                                        "weights/fr-en/shortlist.safetensors"};
    err = (struct error){0};
    struct shortlist *list = shortlist_open(paths[_i], 8000, 8000, END, &err);
    ck_assert_msg(list != NULL, "%s", err.message);
    shortlist_free(list);
}
END_TEST

START_TEST(empty_lists_are_accepted) {
    static const int32_t offsets[SOURCES + 1] = {0};
    struct shortlist *list = open_container(
        "{" ENTRY("always", "I32", "[0]", "[0,0]") "," ENTRY(
            "targets", "I32", "[0]", "[0,0]") "," ENTRY("offsets", "I32", "[5]", "[0,20]") "}",
        offsets, sizeof offsets);
    ck_assert_msg(list != NULL, "%s", err.message);
    struct arena arena;
    arena_init(&arena, 4096);
    struct target_ids found;
    ck_assert_int_eq(shortlist_of(list, (const int[]){1}, 1, &arena, &found, &err), 0);
    ck_assert_uint_eq(found.count, 1);
    ck_assert_int_eq(found.ids[0], END);
    arena_done(&arena);
    shortlist_free(list);
}
END_TEST

static struct shortlist *open_filled(int32_t multiple) {
    static const char header[] = "{" ENTRY("always", "I32", "[2]", "[0,8]") "," ENTRY(
        "offsets", "I32", "[5]", "[8,28]") "," ENTRY("targets", "I32", "[5]",
                                                     "[28,48]") "," ENTRY("multiple", "I32", "[1]",
                                                                          "[48,52]") "}";
    const int32_t data[] = {ALWAYS, OFFSETS, TARGETS, multiple};
    return open_container(header, data, sizeof data);
}

static const struct {
    int32_t multiple;
    int ids[9];
    size_t count;
} fillings[] = {{1, {2, 5, 7, 64, 199}, 5},
                {5, {2, 5, 7, 64, 199}, 5},
                {3, {0, 2, 5, 7, 64, 199}, 6},
                {8, {0, 1, 2, 3, 5, 7, 64, 199}, 8},
                {150, {0, 1, 2, 3, 4, 5, 6, 7, 8}, 150},
                {1000, {0, 1, 2, 3, 4, 5, 6, 7, 8}, VOCABULARY}}; /* there are no more */

/* Lists are filled with the lowest ids that they lack; of long lists the first ids are compared. */
START_TEST(lists_are_filled) {
    struct shortlist *list = open_filled(fillings[_i].multiple);
    ck_assert_msg(list != NULL, "%s", err.message);
    struct arena arena;
    arena_init(&arena, 4096);
    struct target_ids found;
    ck_assert_int_eq(shortlist_of(list, (const int[]){1}, 1, &arena, &found, &err), 0);
    ck_assert_uint_eq(found.count, fillings[_i].count);
    ck_assert_mem_eq(found.ids, fillings[_i].ids,
                     (found.count < 9 ? found.count : 9) * sizeof *found.ids);
    for (size_t i = 1; i < found.count; i++)
        ck_assert_int_lt(found.ids[i - 1], found.ids[i]);
    arena_done(&arena);
    shortlist_free(list);
}
END_TEST

START_TEST(a_wrong_multiple_is_refused) {
    ck_assert_ptr_null(open_filled(_i == 0 ? 0 : -8));
    ck_assert_str_eq(err.message, "tensor multiple: must be one positive number");
}
END_TEST

START_TEST(unreadable_file_is_a_file_error) {
    err = (struct error){0};
    ck_assert_ptr_null(
        shortlist_open("/nowhere/shortlist.safetensors", SOURCES, VOCABULARY, END, &err));
    ck_assert_int_eq(err.code, ERROR_FILE);
    ck_assert_ptr_null(open_container("{", NULL, 0));
    ck_assert_int_eq(err.code, ERROR_FORMAT);
}
END_TEST

START_TEST(free_accepts_null) {
    shortlist_free(NULL);
}
END_TEST

Suite *shortlist_suite(void) {
    Suite *suite = suite_create("shortlist");
    TCase *cases = tcase_create("shortlist");
    tcase_add_loop_test(cases, ids_are_sorted_and_unique, 0,
                        (int)(sizeof sentences / sizeof *sentences));
    tcase_add_loop_test(cases, ids_are_added, 0, sizeof additions / sizeof *additions);
    tcase_add_test(cases, sentences_do_not_mix);
    tcase_add_test(cases, lists_have_names);
    tcase_add_test(cases, lists_are_checked);
    tcase_add_loop_test(cases, corrupt_header_is_refused, 0,
                        (int)(sizeof corrupt_headers / sizeof *corrupt_headers));
    tcase_add_loop_test(cases, corrupt_data_is_refused, 0,
                        (int)(sizeof corrupt_data / sizeof *corrupt_data));
    tcase_add_loop_test(cases, shipped_lists_are_read, 0, 2);
    tcase_add_test(cases, empty_lists_are_accepted);
    tcase_add_loop_test(cases, lists_are_filled, 0, (int)(sizeof fillings / sizeof *fillings));
    tcase_add_loop_test(cases, a_wrong_multiple_is_refused, 0, 2);
    tcase_add_test(cases, unreadable_file_is_a_file_error);
    tcase_add_test(cases, free_accepts_null);
    suite_add_tcase(suite, cases);
    return suite;
}
