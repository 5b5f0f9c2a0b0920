#include "server/shipped.h"
#include "server/models/manifest.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* As `make install` and the package lay them; then those of a checkout, where the program is in build/ or in a folder of it. */
static const struct {
    int up; /* from the program's own folder */
    const char *name;
} places[] = {{1, "share/alignd"}, {1, "weights"}, {2, "weights"}};
enum { PLACES = sizeof places / sizeof *places };

static const char usual[] = "en-fr";

/* A folder without its weights is yet to be filled. */
static bool is_whole(const char *folder) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/model.safetensors", folder);
    return length > 0 && (size_t)length < sizeof path && access(path, F_OK) == 0;
}

static bool is_usual(const char *folder) {
    return strcmp(strrchr(folder, '/') + 1, usual) == 0;
}

static int add(struct name_list *to, const struct name_list *found, bool usual_ones) {
    for (size_t i = 0; i < found->count; i++) {
        const char *folder = found->names[i];
        if (is_whole(folder) && is_usual(folder) == usual_ones && name_list_add(to, folder, strlen(folder)) != 0)
            return -1;
    }
    return 0;
}

static int look(const char *directory, struct name_list *folders, struct error *err) {
    struct name_list found = {0};
    struct error unreadable = {0};
    bool listed = model_folders_list(&found, directory, &unreadable) == 0;
    bool lacking = !listed && unreadable.code == ERROR_MEMORY;
    if (listed)
        lacking = add(folders, &found, true) != 0 || add(folders, &found, false) != 0;
    name_list_done(&found);
    return lacking ? error_memory(err) : 0;
}

/* program: a path without links and "..". */
static int name_place(const char *program, size_t i, char directory[PATH_MAX]) {
    const char *end = strrchr(program, '/');
    for (int up = 0; up < places[i].up && end > program; up++)
        end = memrchr(program, '/', (size_t)(end - program));
    return snprintf(directory, PATH_MAX, "%.*s/%s", (int)(end - program), program, places[i].name) < PATH_MAX ? 0 : -1;
}

static int look_beside(const char *program, struct shipped *shipped, struct error *err) {
    char looked[PLACES][PATH_MAX];
    for (size_t i = 0; i < PLACES; i++) {
        if (name_place(program, i, looked[i]) != 0)
            return error_set(err, ERROR_FILE, "the path of alignd is too long");
        if (look(looked[i], &shipped->folders, err) != 0)
            return -1;
        if (shipped->folders.count == 0)
            continue;
        shipped->usual = is_usual(shipped->folders.names[0]) ? usual : NULL;
        shipped->directory = strdup(looked[i]);
        return shipped->directory ? 0 : error_memory(err);
    }
    return error_set(err, ERROR_FILE, "no models in %.60s, %.60s or %.60s: give --model DIR or --models DIR", looked[0], looked[1],
                     looked[2]);
}

int shipped_find_beside(const char *program, struct shipped *shipped, struct error *err) {
    *shipped = (struct shipped){0};
    char *real = program ? realpath(program, NULL) : NULL;
    int result = real ? look_beside(real, shipped, err)
                      : error_set(err, ERROR_FILE, "it cannot be told where alignd is: give --model DIR or --models DIR");
    if (result != 0)
        shipped_done(shipped);
    free(real);
    return result;
}

/* As the kernel was told to start it: /proc, which a chroot may lack, is not needed. */
int shipped_find(struct shipped *shipped, struct error *err) {
    return shipped_find_beside((const char *)getauxval(AT_EXECFN), shipped, err);
}

void shipped_done(struct shipped *shipped) {
    free(shipped->directory);
    name_list_done(&shipped->folders);
    *shipped = (struct shipped){0};
}
