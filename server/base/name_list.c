#include "server/base/name_list.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

int name_list_add(struct name_list *list, const char *name, size_t length) {
    assert(list->count < NAME_LIST_MAX);
    char *copy = strndup(name, length);
    if (!copy)
        return -1;
    list->names[list->count++] = copy;
    return 0;
}

bool name_list_has(const struct name_list *list, const char *name) {
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->names[i], name) == 0)
            return true;
    }
    return false;
}

void name_list_done(struct name_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    list->count = 0;
}
