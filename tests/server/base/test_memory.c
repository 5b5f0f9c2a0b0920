#include "server/base/memory.h"
#include "tests/suites.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[sizeof "/tmp/alignd-memory-XXXXXX"];

/* Writes ROOT/PATH, and makes the folders above it. */
static void put(const char *path, const char *text) {
    char name[300];
    int length = snprintf(name, sizeof name, "%s/%s", root, path);
    for (int i = (int)sizeof root; i < length; i++)
        if (name[i] == '/') {
            name[i] = '\0';
            mkdir(name, 0700);
            name[i] = '/';
        }
    FILE *file = fopen(name, "w");
    ck_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void setup(void) {
    strcpy(root, "/tmp/alignd-memory-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    put("proc/meminfo", "MemTotal:       2000 kB\nMemFree:        1000 kB\n");
}

static void teardown(void) {
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
}

START_TEST(without_groups_it_is_the_machines) {
    ck_assert_uint_eq(memory_limit(root), 2000 * 1024);
    put("proc/self/cgroup", "0::/\n");
    ck_assert_uint_eq(memory_limit(root), 2000 * 1024);
    put("sys/fs/cgroup/memory.max", "max\n");
    ck_assert_uint_eq(memory_limit(root), 2000 * 1024);
}
END_TEST

START_TEST(a_group_limits_those_within) {
    put("proc/self/cgroup", "0::/system.slice/alignd.service\n");
    put("sys/fs/cgroup/system.slice/alignd.service/memory.max", "max\n");
    put("sys/fs/cgroup/system.slice/memory.max", "1000000\n");
    ck_assert_uint_eq(memory_limit(root), 1000000);
    put("sys/fs/cgroup/system.slice/alignd.service/memory.max", "500000\n");
    ck_assert_uint_eq(memory_limit(root), 500000);
}
END_TEST

START_TEST(version_1_has_a_tree_of_its_own) {
    put("proc/self/cgroup", "5:devices:/x\n4:memory:/a\n0::/\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "700000\n");
    ck_assert_uint_eq(memory_limit(root), 700000);
}
END_TEST

Suite *memory_limit_suite(void) {
    Suite *suite = suite_create("memory_limit");
    TCase *tests = tcase_create("memory");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, without_groups_it_is_the_machines);
    tcase_add_test(tests, a_group_limits_those_within);
    tcase_add_test(tests, version_1_has_a_tree_of_its_own);
    suite_add_tcase(suite, tests);
    return suite;
}
