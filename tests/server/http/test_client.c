/* server/http/client: which requests count as one client. */
#include "server/http/client.h"
#include "tests/suites.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

static uint64_t ipv4(const char *text) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(1234)};
    ck_assert_int_eq(inet_pton(AF_INET, text, &address.sin_addr), 1);
    return client_of_peer((const struct sockaddr *)&address);
}

static uint64_t ipv6(const char *text) {
    struct sockaddr_in6 address = {.sin6_family = AF_INET6};
    ck_assert_int_eq(inet_pton(AF_INET6, text, &address.sin6_addr), 1);
    return client_of_peer((const struct sockaddr *)&address);
}

START_TEST(addresses) {
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    ck_assert_uint_eq(ipv4("192.0.2.1"), ipv4("192.0.2.1"));
    ck_assert_uint_ne(ipv4("192.0.2.1"), ipv4("192.0.2.2"));
    ck_assert_uint_eq(ipv6("2001:db8:1:2::1"), ipv6("2001:db8:1:2:ffff::9")); /* one network */
    ck_assert_uint_ne(ipv6("2001:db8:1:2::1"), ipv6("2001:db8:1:3::1"));
    ck_assert_uint_eq(ipv6("::ffff:192.0.2.1"), ipv4("192.0.2.1"));
    ck_assert_uint_ne(ipv6("::c000:201"), ipv4("192.0.2.1"));
    ck_assert_uint_eq(client_of_peer((const struct sockaddr *)&local), client_of_peer(NULL));
    ck_assert_uint_ne(client_of_peer(NULL), ipv4("0.0.0.0"));
    ck_assert_uint_ne(client_of_peer(NULL), ipv6("::"));
}
END_TEST

START_TEST(names) {
    ck_assert_uint_eq(client_of_name("key-1", 5), client_of_name("key-1 and more", 5));
    ck_assert_uint_ne(client_of_name("key-1", 5), client_of_name("key-2", 5));
    ck_assert_uint_ne(client_of_name("192.0.2.1", 9),
                      ipv4("192.0.2.1")); /* who may choose a name is not who has the address */
}
END_TEST

START_TEST(forwarded) {
    static const char *const same[] = {"192.0.2.1", "192.0.2.1:80", "10.0.0.9, 192.0.2.1",
                                       "bogus,,\t192.0.2.1 \t", "[::ffff:192.0.2.1]:80"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        ck_assert_msg(client_of_forwarded(same[i]) == ipv4("192.0.2.1"), "%s", same[i]);
    ck_assert_uint_eq(client_of_forwarded("2001:db8::1"), ipv6("2001:db8::2"));
    ck_assert_uint_eq(client_of_forwarded("[2001:db8::1]:443"), ipv6("2001:db8::2"));
    ck_assert_uint_eq(client_of_forwarded("a, unknown"), client_of_name("unknown", 7));
    ck_assert_uint_eq(client_of_forwarded(""), client_of_name("", 0));
    ck_assert_uint_eq(client_of_forwarded("x,"), client_of_name("", 0));
    char text[5000];
    memset(text, '[', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ck_assert_uint_eq(client_of_forwarded(text), client_of_name(text, sizeof text - 1));
}
END_TEST

Suite *client_suite(void) {
    Suite *suite = suite_create("client");
    TCase *tcase = tcase_create("client");
    tcase_add_test(tcase, addresses);
    tcase_add_test(tcase, names);
    tcase_add_test(tcase, forwarded);
    suite_add_tcase(suite, tcase);
    return suite;
}
