/* Whose sentences are decoded first (server/decode/scheduler.h). */
#ifndef ALIGND_PRIORITY_H
#define ALIGND_PRIORITY_H

enum priority { PRIORITY_INTERACTIVE, PRIORITY_BATCH, PRIORITIES };

extern const char *const priority_names[PRIORITIES];
/* -1: none has this name. */
int priority_find(const char *name, enum priority *priority);

#endif
