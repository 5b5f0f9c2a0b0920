/* server/cache: entries that are kept or evicted, and no client gets another client's answer. Meant
 * to run under ThreadSanitizer too. */
#include "server/api/kept.h"
#include "tests/suites.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY = 4000 };

static struct cache *cache;

static void setup(void) {
    cache = cache_create(CAPACITY);
}

static void teardown(void) {
    cache_free(cache);
}

static struct question ask(const char *text) {
    return (struct question){text, strlen(text), 1};
}

static void keep(const char *text, const char *answer) {
    struct question question = ask(text);
    cache_keep(cache, &question, answer, 0);
}

/* expected: NULL for none. */
static void assert_answer(const struct question *question, const char *expected) {
    char *answer = cache_find(cache, question, NULL);
    ck_assert_msg((answer != NULL) == (expected != NULL), "got %s", answer ? answer : "none");
    if (expected)
        ck_assert_str_eq(answer, expected);
    free(answer);
}

static void assert_found(const char *text, const char *expected) {
    struct question question = ask(text);
    assert_answer(&question, expected);
}

START_TEST(what_was_kept_is_found) {
    assert_found("a", NULL);
    keep("a", "1");
    keep("", "empty");
    assert_found("a", "1");
    assert_found("", "empty");
    keep("a", "2");
    assert_found("a", "2");
}
END_TEST

START_TEST(the_mark_comes_with_it) {
    struct question question = ask("a");
    unsigned mark = 0;
    cache_keep(cache, &question, "1", 5);
    free(cache_find(cache, &question, &mark));
    ck_assert_uint_eq(mark, 5);
}
END_TEST

/* Prefixes, and bytes that differ after a NUL. */
START_TEST(questions_are_compared_whole) {
    struct question first = {"a\0b", 3, 1}, second = {"a\0c", 3, 1};
    keep("question", "1");
    assert_found("question ", NULL);
    assert_found("questio", NULL);
    assert_found("Question", NULL);
    cache_keep(cache, &first, "b", 0);
    assert_answer(&second, NULL);
    cache_keep(cache, &second, "c", 0);
    assert_answer(&first, "b");
    assert_answer(&second, "c");
    assert_found("a", NULL);
}
END_TEST

START_TEST(bytes_are_bounded) {
    char text[32], answer[300];
    memset(answer, 'x', sizeof answer - 1);
    answer[sizeof answer - 1] = '\0';
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof text, "question %d", i);
        keep(text, answer);
        ck_assert_uint_le(cache_bytes(cache), CAPACITY);
        assert_found(text, answer);
    }
    ck_assert_uint_gt(cache_bytes(cache), CAPACITY / 2);
    assert_found("question 0", NULL);
}
END_TEST

START_TEST(the_one_not_asked_for_goes) {
    char text[32], answer[300];
    memset(answer, 'x', sizeof answer - 1);
    answer[sizeof answer - 1] = '\0';
    keep("asked", answer);
    keep("not asked", answer);
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "question %d", i);
        keep(text, answer);
        assert_found("asked", answer);
    }
    assert_found("not asked", NULL);
}
END_TEST

START_TEST(too_large_is_not_kept) {
    char answer[CAPACITY + 1];
    memset(answer, 'x', CAPACITY);
    answer[CAPACITY] = '\0';
    keep("small", "1");
    keep("large", answer);
    assert_found("large", NULL);
    assert_found("small", "1");
}
END_TEST

START_TEST(a_new_epoch_forgets) {
    struct question now = ask("a"), next = {"a", 1, 2};
    cache_keep(cache, &now, "old", 0);
    assert_answer(&next, NULL);
    ck_assert_uint_eq(cache_bytes(cache), 0);
    cache_keep(cache, &now, "late", 0); /* decoded with the models before */
    assert_answer(&now, NULL);
    cache_keep(cache, &next, "new", 0);
    assert_answer(&next, "new");
    assert_answer(&now, NULL);
}
END_TEST

enum { THREADS = 4, ROUNDS = 5000, QUESTIONS = 40 };

/* Each answer repeats its question. */
static void *ask_and_keep(void *argument) {
    unsigned seed = (unsigned)*(size_t *)argument;
    for (size_t i = 0; i < ROUNDS; i++) {
        char text[32];
        snprintf(text, sizeof text, "question %d", rand_r(&seed) % QUESTIONS);
        struct question question = ask(text);
        char *answer = cache_find(cache, &question, NULL);
        if (answer)
            ck_assert_str_eq(answer, text);
        else
            cache_keep(cache, &question, text, 0);
        free(answer);
    }
    return NULL;
}

START_TEST(threads) {
    pthread_t all[THREADS];
    size_t seeds[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        seeds[i] = i;
        pthread_create(&all[i], NULL, ask_and_keep, &seeds[i]);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
    ck_assert_uint_le(cache_bytes(cache), CAPACITY);
}
END_TEST

Suite *cache_suite(void) {
    Suite *suite = suite_create("cache");
    TCase *tcase = tcase_create("cache");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, what_was_kept_is_found);
    tcase_add_test(tcase, questions_are_compared_whole);
    tcase_add_test(tcase, the_mark_comes_with_it);
    tcase_add_test(tcase, bytes_are_bounded);
    tcase_add_test(tcase, the_one_not_asked_for_goes);
    tcase_add_test(tcase, too_large_is_not_kept);
    tcase_add_test(tcase, a_new_epoch_forgets);
    tcase_add_test(tcase, threads);
    suite_add_tcase(suite, tcase);
    return suite;
}
