#include "server/pack.h"
#include "server/models/manifest.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

static int write_packed(const struct translator *translator, const char *folder, const char *sha256, struct error *err) {
    char path[PATH_BYTES];
    if (translator_pack(translator, folder, sha256, path, sizeof path, err) != 0)
        return -1;
    if (printf("%s: %zu matrices\n", path, translator_info(translator).matrices) < 0 || fflush(stdout) != 0)
        return error_set(err, ERROR_FILE, "cannot write: %s", strerror(errno));
    return 0;
}

static int pack_folder(const struct options *options, struct integrity *integrity, const char *folder, struct error *err) {
    char sha256[SHA256_DIGITS + 1];
    struct integrity_found found;
    const struct translator_options choices = {.compute = options->compute, .shortlist = options->shortlist, .pack = true};
    if (integrity_check(integrity, folder, INTEGRITY_WHOLE, &found, err) != 0 || manifest_digest_weights(folder, sha256, err) != 0)
        return -1;
    struct translator *translator = translator_open(folder, &choices, err);
    int result = translator ? write_packed(translator, folder, sha256, err) : -1;
    translator_free(translator);
    return result;
}

int pack_run(const struct options *options, struct error *err) {
    struct integrity *integrity = integrity_create();
    int result = integrity ? 0 : error_memory(err);
    for (size_t i = 0; result == 0 && i < options->models.count; i++) {
        const char *folder = options->models.names[i];
        struct error inner = {0};
        if (pack_folder(options, integrity, folder, &inner) != 0)
            result = error_set(err, inner.code, "cannot pack %s: %s", folder, inner.message);
    }
    integrity_free(integrity);
    return result;
}
