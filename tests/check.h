/* libcheck, in which an assertion that holds costs nothing. */
#ifndef ALIGND_TESTS_CHECK_H
#define ALIGND_TESTS_CHECK_H

#include <check.h>

/* libcheck writes a record for each assertion that holds, in order to name the last one before a
 * crash, and reads all records of a test when the test ends. Tests that compare thousands of
 * numbers would spend most of their time there. */
#define _mark_point(file, line) ((void)0)

#endif
