/* What the process is asked for by signals. They are blocked in every thread but one of their own, which waits for them: no handler
 * runs in the middle of anything, and no call is interrupted. */
#ifndef ALIGND_SERVER_SIGNALS_H
#define ALIGND_SERVER_SIGNALS_H

#include "model/base/error.h"

/* Before any thread is started: those that are inherit what is blocked. Until signals_stop the second SIGTERM or SIGINT ends the
 * process at once, with EXIT_FAILURE. SIGUSR1 and SIGUSR2 mean nothing. Once in a process. */
int signals_start(struct error *err);
void signals_stop(void);

/* Blocks until there is something to do: SIGHUP, any number of which are one, or the first of SIGTERM and SIGINT, which is returned
 * from then on. One thread at a time. */
int signals_wait(void);

#endif
