#include "server/checkpoint.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MORE_BYTES = 1 << 16 }; /* than the conditions: the head, and what is wrong with others */

#define HEAD                                                                                                                       \
    "alignd checkpoint 1\nlines %zu\nskipped %zu\ninput_bytes %" PRIu64 "\ninput_hash %016" PRIx64 "\noutput_bytes %" PRIu64 "\n"
/* the same to be read: there a width is the most digits */
#define HEAD_READ                                                                                                                  \
    "alignd checkpoint 1\nlines %zu\nskipped %zu\ninput_bytes %" SCNu64 "\ninput_hash %16" SCNx64 "\noutput_bytes %" SCNu64 "%n"

uint64_t checkpoint_hash(uint64_t hash, const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* ---- reading ---- */

/* The first line that is not the same in both. */
static int refuse(const char *path, const char *former, const char *conditions, struct error *err) {
    size_t length = strcspn(former, "\n");
    while (length > 0 && length == strcspn(conditions, "\n") && strncmp(former, conditions, length) == 0) {
        former += length + (former[length] != '\0');
        conditions += length + (conditions[length] != '\0');
        length = strcspn(former, "\n");
    }
    return error_set(err, ERROR_INPUT, "%.80s is of another run: of \"%.*s\", and this one is of \"%.*s\"", path,
                     (int)(length < 60 ? length : 60), former,
                     (int)(strcspn(conditions, "\n") < 60 ? strcspn(conditions, "\n") : 60), conditions);
}

static int parse(const char *path, const char *text, const char *conditions, struct checkpoint *checkpoint, struct error *err) {
    struct checkpoint read;
    int length = 0;
    if (sscanf(text, HEAD_READ, &read.lines, &read.skipped, &read.input_bytes, &read.input_hash, &read.output_bytes, &length) !=
            5 ||
        text[length] != '\n')
        return error_set(err, ERROR_FORMAT, "%.80s is no checkpoint of alignd", path);
    if (strcmp(text + length + 1, conditions) != 0)
        return refuse(path, text + length + 1, conditions, err);
    *checkpoint = read;
    return 0;
}

int checkpoint_read(const char *path, const char *conditions, struct checkpoint *checkpoint, struct error *err) {
    FILE *in = fopen(path, "re");
    if (!in && errno == ENOENT) {
        *checkpoint = (struct checkpoint){.input_hash = CHECKPOINT_HASH};
        return 0;
    }
    if (!in)
        return error_set(err, ERROR_FILE, "cannot open %.80s: %s", path, strerror(errno));
    size_t most = strlen(conditions) + MORE_BYTES;
    char *text = calloc(1, most + 1);
    int result = -1;
    if (!text)
        error_memory(err);
    else if (fread(text, 1, most, in) < most && ferror(in))
        error_set(err, ERROR_FILE, "cannot read %.80s: %s", path, strerror(errno));
    else
        result = parse(path, text, conditions, checkpoint, err);
    free(text);
    fclose(in);
    return result;
}

/* ---- writing ---- */

static int write_whole(const char *path, const char *conditions, const struct checkpoint *checkpoint) {
    FILE *out = fopen(path, "we");
    if (!out)
        return -1;
    fprintf(out, HEAD, checkpoint->lines, checkpoint->skipped, checkpoint->input_bytes, checkpoint->input_hash,
            checkpoint->output_bytes);
    fputs(conditions, out);
    bool written = fflush(out) == 0 && !ferror(out) && fsync(fileno(out)) == 0;
    return fclose(out) == 0 && written ? 0 : -1;
}

/* So that the new name lasts, too. */
static int sync_folder(const char *path) {
    char *copy = strdup(path);
    int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int result = fd >= 0 ? fsync(fd) : -1;
    if (fd >= 0)
        close(fd);
    free(copy);
    return result;
}

int checkpoint_write(const char *path, const char *conditions, const struct checkpoint *checkpoint, struct error *err) {
    char *new = NULL;
    if (asprintf(&new, "%s.new", path) < 0)
        return error_memory(err);
    int result = write_whole(new, conditions, checkpoint) == 0 && rename(new, path) == 0 && sync_folder(path) == 0 ? 0 : -1;
    if (result != 0)
        error_set(err, ERROR_FILE, "cannot write %.80s: %s", path, strerror(errno));
    free(new);
    return result;
}
