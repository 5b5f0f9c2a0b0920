/* How far a batch run is, as a line on a terminal. */
#ifndef ALIGND_HEADWAY_H
#define ALIGND_HEADWAY_H

#include <stddef.h>
#include <stdint.h>

struct headway {
    size_t lines;            /* written in this run */
    double seconds;          /* since it began */
    uint64_t done, of_bytes; /* of the input, in this run; of_bytes 0: nobody knows how long it is */
};

enum { HEADWAY_BYTES = 96 };

/* "1,234 lines, 512 per second, 37%, 2:05 left"; what is not known yet is left out. */
void headway_say(const struct headway *headway, char line[HEADWAY_BYTES]);

#endif
