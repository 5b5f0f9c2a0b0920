/* server/glossaries: valid glossary texts, the file of those that clients make, failures that
 * change nothing, and lookup time that does not grow with the entries. */
#include "model/base/file.h"
#include "server/glossaries/glossaries.h"
#include "tests/files.h"
#include "tests/suites.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct glossary_about winter = {
    .name = "winter", .source = "en", .target = "fr", .owner = "alice"};

static struct kept_glossary *read_text(const char *text, enum glossary_format format,
                                       struct error *err) {
    return kept_glossary_create(&winter, text, strlen(text), format, err);
}

/* ---- entries ---- */

static const struct {
    const char *text;
    enum glossary_format format;
    const char *entries; /* "source=target;"... */
} right[] = {
    {"snow\tneige", GLOSSARY_TSV, "snow=neige;"},
    {"snow\tneige\r\n\n  \n ice \t verglas \r\n", GLOSSARY_TSV, "snow=neige;ice=verglas;"},
    {"snow, wet\tneige|neiges\n", GLOSSARY_TSV, "snow, wet=neige|neiges;"},
    {"Snow\ta\nsnow\tb\n", GLOSSARY_TSV, "Snow=a;snow=b;"},
    {"snow,neige\nice,verglas,en,fr\n", GLOSSARY_CSV, "snow=neige;ice=verglas;"},
    {"\"snow, wet\",\"a \"\"b\"\"\"\r\n\n\"ice\",x", GLOSSARY_CSV, "snow, wet=a \"b\";ice=x;"},
};

START_TEST(what_is_read) {
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        struct error err = {0};
        char found[256] = "";
        struct kept_glossary *glossary = read_text(right[i].text, right[i].format, &err);
        ck_assert_msg(glossary != NULL, "%s: %s", right[i].text, err.message);
        for (size_t j = 0; j < glossary->lexicon.count; j++) {
            const struct glossary_entry *entry = &glossary->lexicon.entries[j];
            size_t used = strlen(found);
            snprintf(found + used, sizeof found - used, "%s=%s;", entry->source, entry->target);
        }
        ck_assert_str_eq(found, right[i].entries);
        kept_glossary_release(glossary);
    }
}
END_TEST

static const struct {
    const char *text;
    enum glossary_format format;
    const char *message;
} wrong[] = {
    {"", GLOSSARY_TSV, "the glossary has no entries"},
    {"\n \n", GLOSSARY_CSV, "the glossary has no entries"},
    {"a\tb\nsnow neige\n", GLOSSARY_TSV, "line 2: a line must have two phrases separated by a tab"},
    {"a\tb\tc\n", GLOSSARY_TSV, "line 1: a line must have two phrases separated by a tab"},
    {"a\tb\n\n\tb\n", GLOSSARY_TSV, "line 3: the source phrase is empty"},
    {"a\t\n", GLOSSARY_TSV, "line 1: the target phrase is empty"},
    {"a\t | |\n", GLOSSARY_TSV, "line 1: the target phrase is empty"},
    {"a\tb\nx\t\xff\n", GLOSSARY_TSV, "line 2: the target phrase is not valid UTF-8"},
    {"a\x01\tb\n", GLOSSARY_TSV, "line 1: the source phrase contains a control character"},
    {"a\tb\nc\td\na\te\n", GLOSSARY_TSV, "\"a\" has two entries"},
    {"a\tb\nA\td\na\te\n", GLOSSARY_TSV, "\"a\" has two entries"},
    {"a,b\nc\n", GLOSSARY_CSV, "line 2: a line must have two phrases separated by a comma"},
    {"a,\"b\n\nc", GLOSSARY_CSV, "line 3: invalid quotation marks"},
    {"\"a\"b,c", GLOSSARY_CSV, "line 1: invalid quotation marks"},
};

START_TEST(what_is_refused) {
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct error err = {0};
        ck_assert_ptr_null(read_text(wrong[i].text, wrong[i].format, &err));
        ck_assert_int_eq(err.code, ERROR_INPUT);
        ck_assert_str_eq(err.message, wrong[i].message);
    }
    char text[GLOSSARY_PHRASE_BYTES + 8];
    struct error err = {0};
    memset(text, 'a', sizeof text);
    memcpy(text + GLOSSARY_PHRASE_BYTES, "\tb", 3);
    struct kept_glossary *glossary = read_text(text, GLOSSARY_TSV, &err);
    ck_assert_ptr_nonnull(glossary);
    kept_glossary_release(glossary);
    memcpy(text + GLOSSARY_PHRASE_BYTES, "a\tb", 4);
    ck_assert_ptr_null(read_text(text, GLOSSARY_TSV, &err));
    ck_assert_str_eq(err.message,
                     "line 1: the source phrase must have at most 1024 bytes, got 1025");
    ck_assert_ptr_null(kept_glossary_create(&winter, "a\tb\0", 4, GLOSSARY_TSV, NULL));
}
END_TEST

/* ---- the store ---- */

static char folder[] = "/tmp/alignd-glossaries-XXXXXX", path[64], fixed[64];
static struct name_list options;

static void setup(void) {
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/made", folder);
    snprintf(fixed, sizeof fixed, "%s/fixed.tsv", folder);
}

static void teardown(void) {
    char command[128];
    name_list_done(&options);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void write_text(const char *file, const char *text) {
    FILE *out = fopen(file, "w");
    ck_assert_ptr_nonnull(out);
    ck_assert(fputs(text, out) >= 0 && fclose(out) == 0);
}

static struct glossaries *open_all(void) {
    struct error err = {0};
    struct glossaries *glossaries =
        glossaries_open(&(struct glossaries_options){&options, path}, &err);
    ck_assert_msg(glossaries != NULL, "%s", err.message);
    return glossaries;
}

static int add_it(struct glossary_list *list, void *glossary, struct error *err) {
    return glossaries_list_add(list, kept_glossary_acquire(glossary), err);
}

/* Returns the code of the error. */
static enum error_code add(struct glossaries *glossaries, const char *text,
                           char id[GLOSSARY_ID_BYTES]) {
    struct kept_glossary *glossary = read_text(text, GLOSSARY_TSV, NULL);
    struct error err = {0};
    ck_assert_int_eq(glossaries_name(&glossary->about, &err), 0);
    int result = glossaries_change(glossaries, add_it, glossary, &err);
    if (id)
        memcpy(id, glossary->about.id, GLOSSARY_ID_BYTES);
    ck_assert_int_eq(result, err.code == ERROR_NONE ? 0 : -1);
    ck_assert(result == 0 || err.message[0]);
    kept_glossary_release(glossary);
    return err.code;
}

/* Returns a reference; NULL: there is none of this id. */
static struct kept_glossary *find(struct glossaries *glossaries, const char *id) {
    struct glossary_list list;
    struct kept_glossary *found = NULL;
    ck_assert_int_eq(glossaries_all(glossaries, &list, NULL), 0);
    for (size_t i = 0; i < list.count; i++) {
        if (strcmp(list.all[i]->about.id, id) == 0)
            found = kept_glossary_acquire(list.all[i]);
    }
    glossaries_list_done(&list);
    return found;
}

static int remove_it(struct glossary_list *list, void *glossary, struct error *err) {
    (void)err;
    glossaries_list_remove(list, glossary);
    return 0;
}

/* Empties the list, and then changes its mind. */
static int refuse(struct glossary_list *list, void *context, struct error *err) {
    (void)context;
    glossaries_list_done(list);
    return error_set(err, ERROR_INPUT, "refused");
}

static enum error_code take_out(struct glossaries *glossaries, struct kept_glossary *glossary) {
    struct error err = {0};
    ck_assert_int_eq(glossaries_change(glossaries, remove_it, glossary, &err),
                     err.code == ERROR_NONE ? 0 : -1);
    return err.code;
}

static size_t count_all(struct glossaries *glossaries) {
    struct glossary_list list;
    ck_assert_int_eq(glossaries_all(glossaries, &list, NULL), 0);
    size_t count = list.count;
    glossaries_list_done(&list);
    return count;
}

START_TEST(a_restart_loses_nothing) {
    char first[GLOSSARY_ID_BYTES], second[GLOSSARY_ID_BYTES];
    struct glossaries *glossaries = open_all();
    struct stat status;
    ck_assert(add(glossaries, "snow\tneige\nice\tverglas", first) == ERROR_NONE);
    ck_assert(add(glossaries, "\"a\"\tb|c", second) == ERROR_NONE);
    ck_assert_str_ne(first, second);
    struct kept_glossary *gone = find(glossaries, first);
    ck_assert(take_out(glossaries, gone) == ERROR_NONE);
    ck_assert_ptr_null(find(glossaries, first));
    ck_assert_int_eq(glossaries_change(glossaries, refuse, NULL, NULL), -1);
    ck_assert_uint_eq(count_all(glossaries), 1);
    kept_glossary_release(gone);
    ck_assert(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600);
    struct kept_glossary *before = find(glossaries, second);
    glossaries_free(glossaries);
    glossaries = open_all();
    ck_assert_uint_eq(count_all(glossaries), 1);
    struct kept_glossary *after = find(glossaries, second);
    ck_assert(after->about.created_ms > 1600000000000 &&
              after->about.created_ms == before->about.created_ms);
    ck_assert_int_eq(memcmp(&after->about, &before->about, sizeof after->about), 0);
    ck_assert_str_eq(after->lexicon.entries[0].source, "\"a\"");
    ck_assert_str_eq(after->lexicon.entries[0].target, "b|c");
    kept_glossary_release(before);
    kept_glossary_release(after);
    glossaries_free(glossaries);
}
END_TEST

/* If the file cannot be written, nothing changes, neither in memory nor on the disk. */
START_TEST(what_cannot_be_written) {
    char id[GLOSSARY_ID_BYTES], next[80];
    struct glossaries *glossaries = open_all();
    ck_assert(add(glossaries, "a\tb", id) == ERROR_NONE);
    snprintf(next, sizeof next, "%s.new", path);
    ck_assert_int_eq(mkdir(next, 0700), 0);
    ck_assert(add(glossaries, "c\td", NULL) == ERROR_FILE);
    struct kept_glossary *stays = find(glossaries, id);
    ck_assert(take_out(glossaries, stays) == ERROR_FILE);
    kept_glossary_release(stays);
    ck_assert_uint_eq(count_all(glossaries), 1);
    glossaries_free(glossaries);
    glossaries = open_all();
    ck_assert_uint_eq(count_all(glossaries), 1);
    glossaries_free(glossaries);
}
END_TEST

/* ---- many at once ---- */

enum { WRITERS = 24 };

struct change {
    struct glossaries *glossaries;
    pthread_t thread;
    enum error_code code;
    char id[GLOSSARY_ID_BYTES];
    bool kept; /* its file had it when the change was confirmed */
};

static void *make_change(void *argument) {
    struct change *change = argument;
    change->code = add(change->glossaries, "snow\tneige", change->id);
    char *text = NULL;
    size_t length = 0;
    change->kept = file_read(path, 1 << 20, &text, &length, NULL) == 0 &&
                   memmem(text, length, change->id, strlen(change->id));
    free(text);
    return NULL;
}

/* Each finds its own in the file as soon as it is confirmed, whoever wrote it. */
START_TEST(changes_of_many_threads) {
    struct change changes[WRITERS];
    struct glossaries *glossaries = open_all();
    for (size_t i = 0; i < WRITERS; i++) {
        changes[i] = (struct change){.glossaries = glossaries};
        ck_assert_int_eq(pthread_create(&changes[i].thread, NULL, make_change, &changes[i]), 0);
    }
    for (size_t i = 0; i < WRITERS; i++) {
        pthread_join(changes[i].thread, NULL);
        ck_assert_int_eq(changes[i].code, ERROR_NONE);
        ck_assert(changes[i].kept);
    }
    ck_assert_uint_eq(count_all(glossaries), WRITERS);
    glossaries_free(glossaries);
    glossaries = open_all();
    ck_assert_uint_eq(count_all(glossaries), WRITERS);
    glossaries_free(glossaries);
}
END_TEST

START_TEST(there_are_bounds) {
    char *text = malloc(GLOSSARY_MOST_ENTRIES * 12), *end = text;
    struct glossaries *glossaries = open_all();
    for (size_t i = 0; i < GLOSSARY_MOST_ENTRIES; i++)
        end += sprintf(end, "w%zu\tx\n", i);
    ck_assert(add(glossaries, text, NULL) == ERROR_NONE);
    ck_assert(add(glossaries, text, NULL) == ERROR_NONE);
    ck_assert(add(glossaries, "a\tb", NULL) == ERROR_LENGTH);
    strcpy(end, "a\tb\n");
    ck_assert_ptr_null(read_text(text, GLOSSARY_TSV, NULL));
    free(text);
    glossaries_free(glossaries);
    unlink(path);
    glossaries = open_all();
    for (size_t i = 0; i < GLOSSARIES_MOST_OF_OWNER; i++)
        ck_assert(add(glossaries, "a\tb", NULL) == ERROR_NONE);
    ck_assert(add(glossaries, "a\tb", NULL) == ERROR_LENGTH);
    glossaries_free(glossaries);
}
END_TEST

static void set_option(const char *name) {
    char option[160];
    name_list_done(&options);
    snprintf(option, sizeof option, "%s=%s", name, fixed);
    ck_assert_int_eq(name_list_add(&options, option, strlen(option)), 0);
}

START_TEST(options_are_read_again) {
    struct error err = {0};
    char message[160];
    write_text(fixed, "snow\tneige\n");
    set_option("winter:en:fr");
    struct glossaries *glossaries = open_all();
    struct kept_glossary *before = find(glossaries, "winter"), *after;
    ck_assert_str_eq(before->about.source, "en");
    ck_assert_str_eq(before->about.target, "fr");
    write_text(fixed, "snow\tpoudreuse\n");
    ck_assert_int_eq(glossaries_reload(glossaries, &err), 0);
    after = find(glossaries, "winter");
    ck_assert_str_eq(before->lexicon.entries[0].target, "neige"); /* for those who have it */
    ck_assert_str_eq(after->lexicon.entries[0].target, "poudreuse");
    ck_assert_uint_ne(before->number, after->number);
    kept_glossary_release(before);
    write_text(fixed, "snow\n");
    ck_assert_int_eq(glossaries_reload(glossaries, &err), -1);
    snprintf(message, sizeof message, "%s: line 1: a line must have two phrases separated by a tab",
             fixed);
    ck_assert_str_eq(err.message, message);
    before = find(glossaries, "winter");
    ck_assert_ptr_eq(before, after);
    kept_glossary_release(before);
    kept_glossary_release(after);
    glossaries_free(glossaries);
}
END_TEST

START_TEST(wrong_options_and_files) {
    static const char *const names[] = {
        "", "a:b", "a:b:", ":b:c", "a::c", "a:b:0123456789012345678901234567890123456"};
    static const char *const files[] = {"x", "alignd glossaries 1\nx\n",
                                        "alignd glossaries 1\nid\ten\tfr\t1\t\t2\tname\na\tb\n",
                                        "alignd glossaries 1\nid\ten\tfr\t-1\t\t1\tname\na\tb\n",
                                        "alignd glossaries 1\nid\ten\tfr\t1\t\t1\tname\na\n"};
    write_text(fixed, "snow\tneige\n");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct error err = {0};
        set_option(names[i]);
        ck_assert_ptr_null(glossaries_open(&(struct glossaries_options){&options, path}, &err));
        ck_assert_msg(strncmp(err.message, "--glossary must be NAME=FILE", 28) == 0, "%s",
                      err.message);
    }
    name_list_done(&options);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct error err = {0};
        write_text(path, files[i]);
        ck_assert_ptr_null(glossaries_open(&(struct glossaries_options){&options, path}, &err));
        ck_assert_msg(err.code == ERROR_INPUT && strncmp(err.message, path, strlen(path)) == 0,
                      "%s", err.message);
    }
}
END_TEST

Suite *glossaries_suite(void) {
    Suite *suite = suite_create("glossaries");
    TCase *cases = tcase_create("all");
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, what_is_read);
    tcase_add_test(cases, what_is_refused);
    tcase_add_test(cases, a_restart_loses_nothing);
    tcase_add_test(cases, what_cannot_be_written);
    tcase_add_test(cases, changes_of_many_threads);
    tcase_add_test(cases, there_are_bounds);
    tcase_add_test(cases, options_are_read_again);
    tcase_add_test(cases, wrong_options_and_files);
    suite_add_tcase(suite, cases);
    return suite;
}
