#include "server/base/priority.h"
#include <string.h>

const char *const priority_names[PRIORITIES] = {[PRIORITY_INTERACTIVE] = "interactive", [PRIORITY_BATCH] = "batch"};

int priority_find(const char *name, enum priority *priority) {
    for (int i = 0; i < PRIORITIES; i++)
        if (strcmp(priority_names[i], name) == 0) {
            *priority = (enum priority)i;
            return 0;
        }
    return -1;
}
