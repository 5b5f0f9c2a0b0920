/* This module finds out how much memory this process may have. */
#ifndef ALIGND_MEMORY_H
#define ALIGND_MEMORY_H

#include <stddef.h>

/* Returns the least limit of the control groups of this process (version 1 or 2) and of those
 * around it, or else the machine's memory, in bytes. root: "", or a folder with the files of
 * another system for tests: ROOT/proc/self/cgroup, ROOT/sys/fs/cgroup, and ROOT/proc/meminfo. */
size_t memory_limit(const char *root);

#endif
