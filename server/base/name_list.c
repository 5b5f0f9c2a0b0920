#include "server/base/name_list.h"
#include <stdlib.h>
#include <string.h>

int name_list_add(struct name_list *list, const char *name, size_t length) {
    char *copy = strndup(name, length);
    char **names = copy ? reallocarray(list->names, list->count + 1, sizeof *names) : NULL;
    if (!names) {
        free(copy);
        return -1;
    }
    list->names = names;
    names[list->count++] = copy;
    return 0;
}

/* Returns the index of the name, or count if the list does not contain it. */
static size_t find(const struct name_list *list, const char *name) {
    size_t i = 0;
    while (i < list->count && strcmp(list->names[i], name) != 0)
        i++;
    return i;
}

bool name_list_has(const struct name_list *list, const char *name) {
    return find(list, name) < list->count;
}

void name_list_remove(struct name_list *list, const char *name) {
    size_t i = find(list, name);
    if (i == list->count)
        return;
    free(list->names[i]);
    memmove(&list->names[i], &list->names[i + 1], (list->count - i - 1) * sizeof *list->names);
    list->count--;
}

void name_list_done(struct name_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
    *list = (struct name_list){0};
}
