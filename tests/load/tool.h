/* Functions that the programs of this folder share: time, random numbers, parameters, and an exit
 * with a message if they fail. */
#ifndef ALIGND_TESTS_LOAD_TOOL_H
#define ALIGND_TESTS_LOAD_TOOL_H

#include <stdbool.h>
#include <stdint.h>

/* Ends the program with status 2, unless it holds. */
void tool_check(bool holds, const char *what);

double tool_now(void); /* seconds, monotonic */
void tool_sleep(double seconds);

/* The same numbers in every run. */
struct tool_random {
    uint32_t state;
};
uint32_t tool_random(struct tool_random *random);
double tool_share(struct tool_random *random); /* 0 <= x < 1 */

/* The environment variable as a number; fallback where it is not set. */
double tool_parameter(const char *name, double fallback);

#endif
