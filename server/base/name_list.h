/* A list of strings as an option gives it: model folders, addresses, origins. */
#ifndef ALIGND_NAME_LIST_H
#define ALIGND_NAME_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct name_list {
    char **names; /* [count], owned */
    size_t count;
};

/* Copies length bytes to the end. -1: memory is out. */
int name_list_add(struct name_list *list, const char *name, size_t length);
bool name_list_has(const struct name_list *list, const char *name);
/* Takes it out, if it is there. */
void name_list_remove(struct name_list *list, const char *name);
/* Frees the strings; the list is empty then. */
void name_list_done(struct name_list *list);

#endif
