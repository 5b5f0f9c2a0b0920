/* A list of strings as an option gives it: model folders, addresses, origins. */
#ifndef ALIGND_NAME_LIST_H
#define ALIGND_NAME_LIST_H

#include <stdbool.h>
#include <stddef.h>

enum { NAME_LIST_MAX = 32 };

struct name_list {
    char *names[NAME_LIST_MAX]; /* [count], owned */
    size_t count;
};

/* Copies length bytes to the end; the list has room. -1: memory is out. */
int name_list_add(struct name_list *list, const char *name, size_t length);
bool name_list_has(const struct name_list *list, const char *name);
/* Frees the strings; the list is empty then. */
void name_list_done(struct name_list *list);

#endif
