/* model/base/file.h: changes of the bytes change the checksum. */
#include "model/base/file.h"
#include "tests/suites.h"

enum { MOST = 100 };

/* Each byte counts, at each length, and so do the length and what came before. */
START_TEST(every_byte_counts) {
    unsigned char bytes[MOST] = {0};
    for (size_t count = 0; count < MOST; count++) {
        uint64_t sum = file_checksum(0, bytes, count);
        ck_assert_uint_eq(file_checksum(0, bytes, count), sum);
        ck_assert_uint_ne(file_checksum(1, bytes, count), sum);
        ck_assert_uint_ne(file_checksum(0, bytes, count + 1), sum);
        for (size_t i = 0; i < count; i++) {
            bytes[i] = 1;
            ck_assert_uint_ne(file_checksum(0, bytes, count), sum);
            bytes[i] = 0;
        }
    }
}
END_TEST

START_TEST(order_counts) {
    unsigned char bytes[MOST];
    for (size_t i = 0; i < MOST; i++)
        bytes[i] = (unsigned char)i;
    uint64_t sum = file_checksum(0, bytes, MOST);
    for (size_t i = 1; i < MOST; i++) {
        bytes[i - 1] = (unsigned char)i;
        bytes[i] = (unsigned char)(i - 1);
        ck_assert_uint_ne(file_checksum(0, bytes, MOST), sum);
        bytes[i - 1] = (unsigned char)(i - 1);
        bytes[i] = (unsigned char)i;
    }
}
END_TEST

/* Files have it: it stays what it is. */
START_TEST(a_known_sum) {
    ck_assert_uint_eq(file_checksum(0, "alignd packs its weights into panels", 36),
                      0x680d1bf14d341f3b);
}
END_TEST

Suite *checksum_suite(void) {
    Suite *suite = suite_create("checksum");
    TCase *tcase = tcase_create("checksum");
    tcase_add_test(tcase, every_byte_counts);
    tcase_add_test(tcase, order_counts);
    tcase_add_test(tcase, a_known_sum);
    suite_add_tcase(suite, tcase);
    return suite;
}
