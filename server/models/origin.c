#include "server/models/origin.h"
#include "model/base/file.h"
#include "model/base/utf8.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 16, PATH_BYTES = 4096 };

/* Copies whole characters. */
static void keep(const json_t *root, const char *key, char *out, size_t room) {
    const char *text = json_string_value(json_object_get(root, key));
    size_t length = text ? strlen(text) : 0;
    if (length >= room)
        length = room - 1;
    while (length > 0 && !utf8_valid(text, length))
        length--;
    if (length > 0)
        memcpy(out, text, length);
    out[length] = '\0';
}

bool model_origin_read(const char *folder, struct model_origin *out) {
    char path[PATH_BYTES], *bytes;
    size_t size;
    *out = (struct model_origin){.from = ""};
    int length = snprintf(path, sizeof path, "%s/origin.json", folder);
    if (length < 0 || (size_t)length >= sizeof path || file_read(path, MOST_BYTES, &bytes, &size, NULL) != 0)
        return false;
    json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
    free(bytes);
    if (!json_is_object(root)) {
        json_decref(root);
        return false;
    }
    keep(root, "from", out->from, sizeof out->from);
    keep(root, "asked", out->asked, sizeof out->asked);
    keep(root, "version", out->version, sizeof out->version);
    keep(root, "licence", out->licence, sizeof out->licence);
    keep(root, "attribution", out->attribution, sizeof out->attribution);
    json_decref(root);
    return true;
}
