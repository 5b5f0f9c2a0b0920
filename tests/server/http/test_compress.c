/* server/http/message: clients that accept gzip, and valid gzip output. */
#include "server/http/compress.h"
#include "tests/suites.h"
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

START_TEST(who_takes_it) {
    static const char *const yes[] = {"gzip",
                                      "gzip, deflate, br",
                                      "br;q=1.0, GZIP;q=0.5, *;q=0.1",
                                      "*",
                                      " gzip ",
                                      "identity,gzip;q=0.001",
                                      "deflate,\tgzip",
                                      "br, *",
                                      "*;q=0, gzip"};
    static const char *const no[] = {"",       "identity",    "gzip;q=0", "gzip; q=0.000, *",
                                     "x-gzip", "br, deflate", "*;q=0",    ",,;,",
                                     "gzipp",  "gzip;Q=0"};
    ck_assert(!compress_is_accepted(NULL));
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        ck_assert_msg(compress_is_accepted(yes[i]), "%s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        ck_assert_msg(!compress_is_accepted(no[i]), "%s", no[i]);
}
END_TEST

static struct reply reply_of(size_t length, bool random) {
    struct reply reply = {.status = STATUS_OK, .body = malloc(length), .length = length};
    unsigned state = 1;
    for (size_t i = 0; i < length; i++) {
        state = state * 1103515245 + 12345;
        reply.body[i] = random ? (char)(state >> 16) : "[0.5,"[i % 5];
    }
    return reply;
}

START_TEST(it_comes_back) {
    struct reply reply = reply_of(100000, false), whole = reply_of(100000, false);
    char *out = malloc(whole.length);
    ck_assert(compress_is_worthwhile(&reply));
    compress_reply(&reply);
    ck_assert(reply.compressed && reply.length < whole.length / 20);
    z_stream stream = {.next_in = (Bytef *)reply.body,
                       .avail_in = (uInt)reply.length,
                       .next_out = (Bytef *)out,
                       .avail_out = (uInt)whole.length};
    ck_assert_int_eq(inflateInit2(&stream, 15 + 16), Z_OK);
    ck_assert_int_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
    ck_assert_uint_eq(stream.total_out, whole.length);
    ck_assert_int_eq(memcmp(out, whole.body, whole.length), 0);
    inflateEnd(&stream);
    free(out);
    free(reply.body);
    free(whole.body);
}
END_TEST

/* Bodies that do not shrink stay unchanged. */
START_TEST(not_worth_it) {
    struct reply reply = reply_of(5000, true), same = reply_of(5000, true);
    compress_reply(&reply);
    ck_assert(!reply.compressed && reply.length == 5000 &&
              memcmp(reply.body, same.body, 5000) == 0);
    reply.length = 1023;
    ck_assert(!compress_is_worthwhile(&reply));
    reply.length = 1024;
    ck_assert(compress_is_worthwhile(&reply));
    reply.streamed = true;
    ck_assert(!compress_is_worthwhile(&reply));
    free(reply.body);
    free(same.body);
}
END_TEST

Suite *compress_suite(void) {
    Suite *suite = suite_create("compress");
    TCase *tests = tcase_create("compress");
    tcase_add_test(tests, who_takes_it);
    tcase_add_test(tests, it_comes_back);
    tcase_add_test(tests, not_worth_it);
    suite_add_tcase(suite, tests);
    return suite;
}
