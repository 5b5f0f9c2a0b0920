/* An arena and an error for most suites; both are fresh in each test. */
#ifndef ALIGND_TESTS_SCRATCH_H
#define ALIGND_TESTS_SCRATCH_H

#include "model/base/arena.h"
#include "model/base/error.h"

extern struct arena arena;
extern struct error err;

/* For tcase_add_checked_fixture. */
void scratch_setup(void);
void scratch_teardown(void);

#endif
