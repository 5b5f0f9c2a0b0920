/* Model folders made for one test: links to the files of MODEL, with their own config.json. */
#ifndef ALIGND_TESTS_HTTP_FOLDER_H
#define ALIGND_TESTS_HTTP_FOLDER_H

#include <stddef.h>

#define FOLDER_TEMPLATE "/tmp/alignd-http-XXXXXX"

/* folder: FOLDER_TEMPLATE in, the path out. The model has another name and other languages: the
 * weights do not care. */
void folder_make(char *folder, const char *name, const char *source, const char *target);
/* Sets another field of a made folder's config.json. */
void folder_set(const char *folder, const char *key, const char *value);
/* Merges the object, with ' in place of ", into a section, which is made if it is not there. */
void folder_set_json(const char *folder, const char *section, const char *json);
/* A copy of MODEL whose config.json is blocked. */
void folder_make_waiting(char *folder);
void folder_release(const char *folder);
/* The config.json of a made folder, one at a time, is leased: who loads it waits until
 * folder_unblock, which waits for somebody who does, but for no longer than the kernel leaves it
 * leased (45 s). */
void folder_block(const char *folder);
void folder_unblock(const char *folder);
/* A file of it keeps only its first half; or is gone. */
void folder_truncate(const char *folder, const char *file);
void folder_lose(const char *folder, const char *file);
/* A file of so many zeros, and a manifest that lists it with that SHA-256. */
void folder_list(const char *folder, const char *file, size_t bytes, const char *sha256);
/* Another made folder takes its place and name, by rename. */
void folder_replace(const char *folder, const char *with);
void folder_remove(const char *folder);

#endif
