/* server/keys: keys that are made are found, files that are wrong are refused by line, and a reload
 * replaces all keys or none. */
#include "server/api/keys.h"
#include "tests/files.h"
#include "tests/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
/* printf %s secret | sha256sum */
#define SECRET_HASH "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"

static struct keys *open_text(const char *text, struct error *err) {
    char *path = file_write(text, strlen(text));
    *err = (struct error){0};
    struct keys *keys = keys_open(path, err);
    file_remove(path);
    return keys;
}

static void rewrite(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static bool find(struct keys *keys, const char *secret, struct key_holder *holder) {
    return keys_find(keys, secret, strlen(secret), holder) == 1;
}

START_TEST(finds_the_holder) {
    struct error err;
    struct key_holder holder;
    struct keys *keys = open_text(
        "# who may\n\n  alice user " ZEROS " # left\r\nbob\tadmin\t" SECRET_HASH "\n", &err);
    ck_assert_msg(keys != NULL, "%s", err.message);
    ck_assert(find(keys, "secret", &holder));
    ck_assert_str_eq(holder.name, "bob");
    ck_assert(holder.admin);
    ck_assert(!find(keys, "Secret", &holder));
    ck_assert(!find(keys, "", &holder));
    ck_assert_int_eq(keys_find(keys, "secret\0x", sizeof "secret\0x" - 1, &holder), 0);
    ck_assert(!find(keys, SECRET_HASH, &holder)); /* who reads the file has no key */
    keys_free(keys);
}
END_TEST

START_TEST(made_keys_are_found) {
    char secret[2][KEY_SECRET_BYTES], line[2][KEY_LINE_BYTES], text[2 * KEY_LINE_BYTES + 2];
    struct error err = {0};
    struct key_holder holder;
    ck_assert_int_eq(keys_make("alice", false, NULL, secret[0], line[0], &err), 0);
    ck_assert_int_eq(keys_make("root", true, "rate=2.5 models=en-fr", secret[1], line[1], &err), 0);
    ck_assert_str_ne(secret[0], secret[1]);
    ck_assert_ptr_null(strstr(line[0], secret[0] + strlen("alignd-")));
    snprintf(text, sizeof text, "%s\n%s", line[0], line[1]);
    struct keys *keys = open_text(text, &err);
    ck_assert_msg(keys != NULL, "%s", err.message);
    ck_assert(find(keys, secret[0], &holder));
    ck_assert_str_eq(holder.name, "alice");
    ck_assert(!holder.admin);
    ck_assert(find(keys, secret[1], &holder));
    ck_assert_str_eq(holder.name, "root");
    ck_assert(holder.admin);
    ck_assert_double_eq(holder.limit.rate, 2.5);
    ck_assert_str_eq(holder.models, "en-fr");
    keys_free(keys);
    ck_assert_int_eq(keys_make("two words", false, NULL, secret[0], line[0], &err), -1);
    ck_assert_int_eq(err.code, ERROR_INPUT);
    ck_assert_int_eq(keys_make("bob", false, "rate=fast", secret[0], line[0], NULL), -1);
}
END_TEST

START_TEST(limits) {
    struct error err;
    struct key_holder holder;
    struct keys *keys =
        open_text("a user " SECRET_HASH
                  " rate=0.5 burst=3 daily=500000 models=en-fr,fr-en priority=batch # all\n",
                  &err);
    ck_assert_msg(keys != NULL, "%s", err.message);
    ck_assert(find(keys, "secret", &holder));
    keys_free(keys);
    ck_assert_double_eq(holder.limit.rate, 0.5);
    ck_assert_uint_eq(holder.limit.burst, 3);
    ck_assert_uint_eq(holder.limit.daily, 500000);
    ck_assert_int_eq(holder.priority, PRIORITY_BATCH);
    ck_assert(keys_allow(&holder, "en-fr") && keys_allow(&holder, "fr-en"));
    ck_assert(!keys_allow(&holder, "en") && !keys_allow(&holder, "en-fr-2") &&
              !keys_allow(&holder, ""));
    keys = open_text("a user " SECRET_HASH " rate=1\n", &err);
    ck_assert(find(keys, "secret", &holder));
    keys_free(keys);
    ck_assert(holder.limit.daily == 0 && keys_allow(&holder, "any"));
    ck_assert_int_eq(holder.priority, PRIORITY_INTERACTIVE);
    keys = open_text("a user " SECRET_HASH " priority=interactive\n", &err);
    ck_assert(find(keys, "secret", &holder));
    keys_free(keys);
    ck_assert_int_eq(holder.priority, PRIORITY_INTERACTIVE);
}
END_TEST

START_TEST(wrong_files) {
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", " contains no key"},
        {"# alice user " ZEROS "\n", " contains no key"},
        {"\nalice user\n", ", line 2: a line must be NAME ROLE HASH"},
        {"alice user " ZEROS " more", ", line 1: a limit must be rate=N"},
        {"alice user " ZEROS " rate=", ", line 1: rate must be a number above 0"},
        {"alice user " ZEROS " rate=0", ", line 1: rate must be a number above 0"},
        {"alice user " ZEROS " burst=1.5", ", line 1: burst must be a whole number above 0"},
        {"alice user " ZEROS " daily=-1", ", line 1: daily must be a whole number above 0"},
        {"alice user " ZEROS " daily=inf", ", line 1: daily must be a whole number above 0"},
        {"alice user " ZEROS " models=", ", line 1: models must be names"},
        {"alice user " ZEROS " priority=high", ", line 1: priority must be interactive or batch"},
        {"alice user " ZEROS " size=1", ", line 1: a limit must be rate=N"},
        {"alice boss " ZEROS, ", line 1: the role must be user or admin"},
        {"alice user 00", ", line 1: the hash must have 64 hexadecimal digits"},
        {"alice user x" SECRET_HASH, ", line 1: the hash must have 64 hexadecimal digits"},
        {"alice user z000000000000000000000000000000000000000000000000000000000000000",
         ", line 1: the hash must have 64"},
        {"al=ice user " ZEROS, ", line 1: a name must have 1 to 63 visible ASCII characters"},
        {"\xc3\xa9 user " ZEROS, ", line 1: a name must have 1 to 63 visible ASCII characters"},
        {"a user " ZEROS "\na user " SECRET_HASH, ", line 2: the name a occurs twice"},
        {"a user " ZEROS "\n#\nb user " ZEROS, ", line 3: b has the same key as a"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error err;
        ck_assert_ptr_null(open_text(rows[i].text, &err));
        ck_assert_int_eq(err.code, ERROR_INPUT);
        ck_assert_msg(strstr(err.message, rows[i].message) != NULL, "%s: %s", rows[i].text,
                      err.message);
    }
    struct error err = {0};
    ck_assert_ptr_null(keys_open("/nonexistent", &err));
    ck_assert_int_eq(err.code, ERROR_FILE);
    ck_assert_str_eq(err.message, "cannot open /nonexistent: No such file or directory");
    err = (struct error){0};
    ck_assert_ptr_null(keys_open("/tmp", &err));
    ck_assert_str_eq(err.message, "cannot read /tmp: not a regular file");
}
END_TEST

START_TEST(reload_takes_all_or_nothing) {
    struct error err = {0};
    struct key_holder holder;
    char *path = file_write("a user " SECRET_HASH, strlen("a user " SECRET_HASH));
    struct keys *keys = keys_open(path, &err);
    rewrite(path, "b admin " ZEROS "\nbroken\n");
    ck_assert_int_eq(keys_reload(keys, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.message, ", line 2: "));
    ck_assert(find(keys, "secret", &holder));
    ck_assert_str_eq(holder.name, "a");
    rewrite(path, "c admin " SECRET_HASH "\n");
    ck_assert_int_eq(keys_reload(keys, NULL), 0);
    ck_assert(find(keys, "secret", &holder));
    ck_assert_str_eq(holder.name, "c");
    rewrite(path, "c admin " ZEROS "\n");
    ck_assert_int_eq(keys_reload(keys, NULL), 0);
    ck_assert(!find(keys, "secret", &holder));
    file_remove(path);
    ck_assert_int_eq(keys_reload(keys, NULL), -1);
    keys_free(keys);
}
END_TEST

Suite *keys_suite(void) {
    Suite *suite = suite_create("keys");
    TCase *tcase = tcase_create("keys");
    tcase_add_test(tcase, finds_the_holder);
    tcase_add_test(tcase, made_keys_are_found);
    tcase_add_test(tcase, limits);
    tcase_add_test(tcase, wrong_files);
    tcase_add_test(tcase, reload_takes_all_or_nothing);
    suite_add_tcase(suite, tcase);
    return suite;
}
