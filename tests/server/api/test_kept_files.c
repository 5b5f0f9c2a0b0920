/* server/api/kept_files: files are found unchanged until they have expired, or younger ones need
 * their space. */
#include "server/api/kept.h"
#include "tests/suites.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 3, BYTES = 10, TRIES = 10000, TRY_US = 1000 };
static const int64_t HOUR_US = 3600000000;

static struct kept_files *open_files(int64_t keep_us, int64_t sent_us) {
    struct kept_files *files =
        kept_files_create(&(struct kept_files_limits){keep_us, sent_us, COUNT, BYTES});
    ck_assert_ptr_nonnull(files);
    return files;
}

static int add_of(uint64_t owner, struct kept_files *files, const char *text,
                  char id[KEPT_ID_BYTES], struct error *err) {
    struct kept_file file = {
        .owner = owner, .name = "a.txt", .content_type = "text/plain", .length = strlen(text)};
    return kept_files_add(files, &file, text, id, err);
}

static int add(struct kept_files *files, const char *text, char id[KEPT_ID_BYTES],
               struct error *err) {
    return add_of(1, files, text, id, err);
}

static bool has(struct kept_files *files, const char *id, const char *text) {
    struct kept_view found;
    struct error error = {0};
    char *copy;
    if (kept_files_find(files, &(struct kept_query){.id = id}, &found, &copy, &error) != 0) {
        ck_assert_int_eq(error.code, ERROR_INPUT);
        return false;
    }
    ck_assert_int_eq(found.state, KEPT_READY);
    ck_assert_str_eq(found.id, id);
    ck_assert_str_eq(copy, text);
    ck_assert_uint_eq(found.file.length, strlen(text));
    ck_assert_str_eq(found.file.name, "a.txt");
    ck_assert_str_eq(found.file.content_type, "text/plain");
    free(copy);
    return true;
}

START_TEST(files_are_found) {
    struct kept_files *files = open_files(HOUR_US, HOUR_US);
    char one[KEPT_ID_BYTES], other[KEPT_ID_BYTES];
    ck_assert_int_eq(add(files, "one", one, NULL), 0);
    ck_assert_int_eq(add(files, "", other, NULL), 0);
    ck_assert_uint_eq(strlen(one), KEPT_ID_BYTES - 1);
    ck_assert_str_ne(one, other);
    ck_assert(has(files, one, "one"));
    ck_assert(has(files, one, "one"));
    ck_assert(has(files, other, ""));
    ck_assert(!has(files, "", "") && !has(files, "00000000000000000000000000000000", ""));
    kept_files_free(files);
}
END_TEST

/* First, last and in between. */
START_TEST(what_was_sent_makes_room) {
    for (size_t i = 0; i < COUNT; i++) {
        struct kept_files *files = open_files(HOUR_US, HOUR_US);
        char ids[COUNT][KEPT_ID_BYTES], more[KEPT_ID_BYTES];
        for (size_t j = 0; j < COUNT; j++)
            add(files, "abc", ids[j], NULL);
        kept_files_sent(files, "");
        kept_files_sent(files, ids[i]);
        kept_files_sent(files, ids[i]);
        ck_assert_uint_eq(kept_files_expire(files), COUNT);
        ck_assert(has(files, ids[i], "abc"));
        add(files, "abcd", more, NULL); /* in its room */
        for (size_t j = 0; j < COUNT; j++)
            ck_assert_int_eq(has(files, ids[j], "abc"), j != i);
        ck_assert(has(files, more, "abcd"));
        kept_files_free(files);
    }
}
END_TEST

static void await_count(struct kept_files *files, size_t count) {
    for (size_t tries = 0; kept_files_expire(files) > count; tries++) {
        ck_assert_uint_lt(tries, TRIES);
        usleep(TRY_US);
    }
}

/* It expires before those that are older. */
START_TEST(what_was_sent_expires_first) {
    struct kept_files *files = open_files(HOUR_US, 1);
    char ids[COUNT][KEPT_ID_BYTES];
    for (size_t i = 0; i < COUNT; i++)
        add(files, "abc", ids[i], NULL);
    kept_files_sent(files, ids[COUNT - 1]);
    await_count(files, COUNT - 1);
    ck_assert(has(files, ids[0], "abc") && !has(files, ids[COUNT - 1], "abc"));
    kept_files_sent(files, ids[0]);
    await_count(files, COUNT - 2);
    ck_assert(!has(files, ids[0], "abc"));
    kept_files_free(files);
}
END_TEST

START_TEST(the_oldest_make_room) {
    struct kept_files *files = open_files(HOUR_US, HOUR_US);
    char ids[5][KEPT_ID_BYTES];
    struct error error = {0};
    for (size_t i = 0; i < 4; i++)
        add(files, "abc", ids[i], NULL);
    ck_assert(!has(files, ids[0], "abc") && has(files, ids[1], "abc") && has(files, ids[3], "abc"));
    add(files, "0123456", ids[4], NULL);
    ck_assert(!has(files, ids[1], "abc") && !has(files, ids[2], "abc"));
    ck_assert(has(files, ids[3], "abc") && has(files, ids[4], "0123456"));
    ck_assert_int_eq(add(files, "01234567890", ids[0], &error), -1);
    ck_assert_int_eq(error.code, ERROR_LENGTH);
    ck_assert_uint_eq(kept_files_expire(files), 2);
    kept_files_free(files);
}
END_TEST

START_TEST(files_expire) {
    struct kept_files *files = open_files(1, HOUR_US);
    char id[KEPT_ID_BYTES];
    for (size_t i = 0; i < 2; i++) {
        add(files, "one", id, NULL);
        await_count(files, 0);
        ck_assert(!has(files, id, "one"));
    }
    kept_files_free(files);
}
END_TEST

/* ---- orders ---- */

static bool look(struct kept_files *files, const char *id, const char *key,
                 struct kept_view *order) {
    return kept_files_find(files, &(struct kept_query){id, key, NULL}, order, NULL, NULL) == 0;
}

/* An order is found by id and key only, before and after its file has been made, and by nobody who
 * knows its id alone. */
START_TEST(orders_have_a_key) {
    struct kept_files *files = open_files(HOUR_US, HOUR_US);
    const struct kept_file file = {.name = "a.txt", .content_type = "text/plain", .length = 3};
    char id[KEPT_ID_BYTES], key[KEPT_KEY_BYTES];
    struct kept_view order;
    char *text = id;
    atomic_size_t left = 4;
    ck_assert_int_eq(kept_files_order(files, &(struct kept_order){1, &left, 7, 20}, id, key, NULL),
                     0);
    ck_assert_uint_eq(strspn(id, "0123456789ABCDEF"), 32); /* as in DeepL's handles */
    ck_assert_uint_eq(strlen(id), 32);
    ck_assert_uint_eq(strspn(key, "0123456789ABCDEF"), 64);
    ck_assert_uint_eq(strlen(key), 64);
    ck_assert(!look(files, id, "", &order) && !look(files, id, id, &order));
    ck_assert(!look(files, key, key, &order) && !has(files, id, ""));
    ck_assert(look(files, id, key, &order));
    ck_assert(order.state == KEPT_PENDING && order.total == 7 && order.left == 4 &&
              order.characters == 20);
    ck_assert_int_eq(
        kept_files_find(files, &(struct kept_query){id, key, NULL}, &order, &text, NULL), 0);
    ck_assert_ptr_null(text);
    kept_files_end(files, id, &file, "one", NULL);
    ck_assert(look(files, id, key, &order) && order.state == KEPT_READY);
    ck_assert(!has(files, id, "one"));
    ck_assert_int_eq(
        kept_files_find(files, &(struct kept_query){id, key, NULL}, &order, &text, NULL), 0);
    ck_assert_str_eq(text, "one");
    ck_assert_str_eq(order.file.name, "a.txt");
    free(text);
    kept_files_sent(files, id);
    ck_assert(!look(files, id, key, &order));
    ck_assert_uint_eq(kept_files_expire(files), 0);
    add(files, "two", id, NULL);
    ck_assert(
        has(files, id, "two") &&
        !look(files, id, "", &order)); /* a file without an order is not one with an empty key */
    kept_files_free(files);
}
END_TEST

/* A failed order has its reason, and so does a file that is larger than all may be together. A file
 * that was removed to make room is not found. */
START_TEST(orders_fail) {
    struct kept_files *files = open_files(HOUR_US, HOUR_US);
    const struct kept_file file = {.name = "a.txt", .content_type = "text/plain", .length = 3},
                           large = {
                               .name = "a.txt", .content_type = "text/plain", .length = BYTES + 1};
    char ids[COUNT + 1][KEPT_ID_BYTES], keys[COUNT + 1][KEPT_KEY_BYTES];
    struct kept_view order;
    atomic_size_t left = 1;
    for (size_t i = 0; i < COUNT; i++)
        kept_files_order(files, &(struct kept_order){1, &left, 1, 3}, ids[i], keys[i], NULL);
    kept_files_end(files, ids[0], NULL, NULL, "why");
    ck_assert(look(files, ids[0], keys[0], &order) && order.state == KEPT_FAILED);
    ck_assert_str_eq(order.message, "why");
    kept_files_end(files, ids[1], &large, "01234567890", NULL);
    ck_assert(look(files, ids[1], keys[1], &order) && order.state == KEPT_FAILED);
    kept_files_order(files, &(struct kept_order){1, &left, 1, 3}, ids[COUNT], keys[COUNT], NULL);
    ck_assert(!look(files, ids[0], keys[0], &order));
    kept_files_end(files, ids[0], &file, "one", NULL);
    kept_files_end(files, ids[2], &file, "one", NULL);
    ck_assert(look(files, ids[2], keys[2], &order) && order.state == KEPT_READY);
    ck_assert_uint_eq(kept_files_expire(files), COUNT);
    kept_files_free(files);
}
END_TEST

/* Uploads of one owner remove its own files, however many, and never those of another who has less.
 */
START_TEST(owners_have_shares) {
    struct kept_files *files = open_files(HOUR_US, HOUR_US);
    char victim[KEPT_ID_BYTES], id[KEPT_ID_BYTES], former[KEPT_ID_BYTES] = "";
    struct error error = {0};
    ck_assert_int_eq(add_of(1, files, "one", victim, NULL), 0);
    for (size_t i = 0; i < 10; i++) {
        ck_assert_int_eq(add_of(2, files, "other", id, NULL), 0);
        ck_assert(has(files, victim, "one") && has(files, id, "other"));
        ck_assert(!has(files, former, "other"));
        strcpy(former, id);
    }
    ck_assert_int_eq(add_of(2, files, "123456789", id, &error),
                     -1); /* no room beside the other's */
    ck_assert_int_eq(error.code, ERROR_LENGTH);
    ck_assert(has(files, victim, "one"));
    for (size_t i = 0; i < 10; i++)
        ck_assert_int_eq(add_of(2, files, "", id, NULL),
                         0); /* the number of files has shares, too */
    ck_assert(has(files, victim, "one") && has(files, id, ""));
    kept_files_free(files);
}
END_TEST

/* A file that needs the space of many removes those of the owner with the most, down to its share,
 * and then of others who have more than theirs. */
START_TEST(many_make_room) {
    enum { FILES = 1000, FIRST = 500, SECOND = 400, LARGE = 300 };
    struct kept_files *files =
        kept_files_create(&(struct kept_files_limits){HOUR_US, HOUR_US, 2 * FILES, FILES});
    static char ids[FILES][KEPT_ID_BYTES];
    char large[LARGE + 1] = "", id[KEPT_ID_BYTES];
    for (size_t i = 0; i < FILES; i++)
        ck_assert_int_eq(add_of(i < FIRST            ? 1
                                : i < FIRST + SECOND ? 2
                                                     : i,
                                files, "a", ids[i], NULL),
                         0);
    memset(large, 'a', LARGE);
    ck_assert_int_eq(add_of(0, files, large, id, NULL), 0);
    for (size_t i = 0; i < FILES; i++) { /* 250 of the first's, and 50 of the second's */
        bool gone = i < FIRST ? i < FILES / 4 : i >= FIRST && i < FIRST + 50;
        ck_assert_msg(has(files, ids[i], "a") == !gone, "%zu", i);
    }
    kept_files_free(files);
}
END_TEST

START_TEST(an_order_is_its_owners) {
    struct kept_files *files = open_files(HOUR_US, HOUR_US);
    char id[KEPT_ID_BYTES], key[KEPT_KEY_BYTES];
    const uint64_t own = 1, other = 2;
    struct kept_view order;
    atomic_size_t left = 1;
    ck_assert_int_eq(kept_files_order(files, &(struct kept_order){own, &left, 1, 3}, id, key, NULL),
                     0);
    kept_files_end(files, id,
                   &(struct kept_file){.name = "a.txt", .content_type = "text/plain", .length = 3},
                   "one", NULL);
    ck_assert_int_eq(
        kept_files_find(files, &(struct kept_query){id, key, &other}, &order, NULL, NULL), -1);
    ck_assert_int_eq(
        kept_files_find(files, &(struct kept_query){id, key, &own}, &order, NULL, NULL), 0);
    kept_files_free(files);
}
END_TEST

Suite *kept_files_suite(void) {
    Suite *suite = suite_create("kept_files");
    TCase *cases = tcase_create("kept_files");
    suite_add_tcase(suite, cases);
    tcase_add_test(cases, files_are_found);
    tcase_add_test(cases, owners_have_shares);
    tcase_add_test(cases, many_make_room);
    tcase_add_test(cases, an_order_is_its_owners);
    tcase_add_test(cases, what_was_sent_makes_room);
    tcase_add_test(cases, what_was_sent_expires_first);
    tcase_add_test(cases, the_oldest_make_room);
    tcase_add_test(cases, files_expire);
    tcase_add_test(cases, orders_have_a_key);
    tcase_add_test(cases, orders_fail);
    return suite;
}
