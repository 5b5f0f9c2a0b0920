/* Which addresses a redirect may not lead to. What downloads do is tested by tests/test_get.py,
 * against a server. */
#include "server/get/get_parts.h"
#include "tests/suites.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static bool is_private(const char *text) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
        return download_address_is_private((const struct sockaddr *)&in);
    ck_assert_msg(inet_pton(AF_INET6, text, &in6.sin6_addr) == 1, "%s", text);
    return download_address_is_private((const struct sockaddr *)&in6);
}

START_TEST(test_private_addresses) {
    static const char *const private[] = {"0.0.0.0",
                                          "10.0.0.1",
                                          "10.255.255.255",
                                          "100.64.0.1",
                                          "100.127.255.255",
                                          "127.0.0.1",
                                          "127.255.255.254",
                                          "169.254.169.254",
                                          "172.16.0.1",
                                          "172.31.255.255",
                                          "192.0.0.1",
                                          "192.168.1.1",
                                          "198.18.0.1",
                                          "198.19.255.255",
                                          "224.0.0.1",
                                          "240.0.0.1",
                                          "255.255.255.255",
                                          "::",
                                          "::1",
                                          "fc00::1",
                                          "fd12:3456::1",
                                          "fe80::1",
                                          "fec0::1",
                                          "ff02::1",
                                          "::ffff:10.0.0.1",
                                          "::ffff:127.0.0.1",
                                          "64:ff9b::a00:1",
                                          "64:ff9b:1::101:101",
                                          "2001::1",
                                          "2002:a00:1::1",
                                          "::127.0.0.1"};
    static const char *const public[] = {
        "1.1.1.1",         "9.255.255.255",    "11.0.0.0",        "100.63.255.255",
        "100.128.0.0",     "172.15.0.1",       "172.32.0.0",      "192.0.1.1",
        "192.167.255.255", "198.20.0.0",       "223.255.255.255", "2001:4860::1",
        "::ffff:1.1.1.1",  "64:ff9b::101:101", "2002:101:101::1", "2620:fe::fe"};
    for (size_t i = 0; i < sizeof private / sizeof *private; i++)
        ck_assert_msg(is_private(private[i]), "%s", private[i]);
    for (size_t i = 0; i < sizeof public / sizeof *public; i++)
        ck_assert_msg(!is_private(public[i]), "%s", public[i]);
    ck_assert(download_address_is_private(&(struct sockaddr){.sa_family = AF_UNIX}));
}
END_TEST

START_TEST(test_space) {
    struct error error = {0};
    ck_assert_int_eq(download_check_space("/tmp", 1, &error), GET_DONE);
    ck_assert_int_eq(download_check_space("/tmp", UINT64_MAX, &error), GET_SPACE);
    ck_assert_ptr_nonnull(strstr(error.message, "are free"));
}
END_TEST

Suite *download_suite(void) {
    Suite *suite = suite_create("download");
    TCase *tests = tcase_create("download");
    tcase_add_test(tests, test_private_addresses);
    tcase_add_test(tests, test_space);
    suite_add_tcase(suite, tests);
    return suite;
}
