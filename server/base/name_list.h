/* A list of strings for an option: model folders, addresses, origins. */
#ifndef ALIGND_NAME_LIST_H
#define ALIGND_NAME_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct name_list {
    char **names; /* [count], owned */
    size_t count;
};

/* Appends a copy of length bytes. Returns -1 if memory is out. */
int name_list_add(struct name_list *list, const char *name, size_t length);
bool name_list_has(const struct name_list *list, const char *name);
/* Removes the name if the list contains it. */
void name_list_remove(struct name_list *list, const char *name);
/* Frees the strings and empties the list. */
void name_list_done(struct name_list *list);

#endif
