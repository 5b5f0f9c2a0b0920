#include "server/decode/model_folders.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* DIRECTORY/NAME if that is a model folder. -1: memory is out. */
static int list_folder(struct name_list *list, const char *directory, const char *name) {
    char path[4096];
    struct stat status;
    int length = snprintf(path, sizeof path, "%s/%s/config.json", directory, name);
    if (name[0] == '.' || length < 0 || (size_t)length >= sizeof path || stat(path, &status) != 0)
        return 0;
    return name_list_add(list, path, (size_t)length - strlen("/config.json"));
}

int model_folders_list(struct name_list *list, const char *directory, struct error *err) {
    size_t former = list->count;
    DIR *open = opendir(directory);
    if (!open)
        return error_set(err, ERROR_FILE, "cannot open %s: %s", directory, strerror(errno));
    int result = 0;
    for (const struct dirent *entry; result == 0 && (entry = readdir(open)) != NULL;)
        result = list_folder(list, directory, entry->d_name);
    closedir(open);
    if (list->count > former)
        qsort(list->names + former, list->count - former, sizeof *list->names, compare_names);
    return result == 0 ? 0 : error_memory(err);
}
