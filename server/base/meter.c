#include "server/base/meter.h"
#include <math.h>

static const double MEMORY_US = 10e6; /* after so much time an observation counts 1/e */

void meter_observe(struct meter *meter, double amount, size_t more, int64_t now_us) {
    if (meter->observed_us != 0) {
        double us = (double)(now_us - meter->observed_us), keep = exp(-us / MEMORY_US);
        meter->amount = keep * meter->amount + amount;
        meter->us = keep * meter->us + us;
    }
    meter->observed_us = more > 0 ? now_us : 0;
}

double meter_seconds(const struct meter *meter, double amount) {
    return meter->amount > 0 ? amount * meter->us / meter->amount * 1e-6 : 0;
}
