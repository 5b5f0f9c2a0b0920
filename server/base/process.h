/* Prometheus's standard process_* metrics, from /proc (Linux); what cannot be read is left out. */
#ifndef ALIGND_PROCESS_H
#define ALIGND_PROCESS_H

#include <stdio.h>

void process_write_metrics(FILE *out);

#endif
