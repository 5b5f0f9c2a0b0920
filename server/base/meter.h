/* How fast work is done, while there is some: an average over the last seconds. Not thread-safe. */
#ifndef ALIGND_METER_H
#define ALIGND_METER_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed: nothing measured. */
struct meter {
    double amount, us;   /* done, in so much time; the older the less */
    int64_t observed_us; /* 0: since the last observation there was nothing to do */
};

/* amount: done since the last observation. more: there is still something to do. What is taken from the first heap is not counted:
 * it may have gone to hands that were idle. */
void meter_observe(struct meter *meter, double amount, size_t more, int64_t now_us);
/* Seconds that such an amount takes; 0: nothing has been measured. */
double meter_seconds(const struct meter *meter, double amount);

#endif
