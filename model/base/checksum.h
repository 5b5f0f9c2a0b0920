/* A sum of bytes that tells whether they have changed by accident: a disk's error, a copy that was cut short. It costs little more
 * than reading them, and holds off nobody who means to deceive. */
#ifndef ALIGND_CHECKSUM_H
#define ALIGND_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Of bytes [count], going on from `sum`: 0, or what came of those before. A change of any eight bytes that lie at a multiple of
 * eight changes it always, any other change all but always. */
uint64_t checksum(uint64_t sum, const void *bytes, size_t count);

#endif
