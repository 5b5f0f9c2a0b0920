#include "server/checkpoint.h"
#include "model/base/file.h"
#include "server/outfile.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MORE_BYTES = 1 << 20 }; /* than the conditions: the head, and what is wrong with others */

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
    size_t length, most = strlen(conditions) + MORE_BYTES;
    char *text;
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        *checkpoint = (struct checkpoint){.input_hash = CHECKPOINT_HASH};
        return 0;
    }
    if (file_read(path, most, &text, &length, err) != 0)
        return -1;
    int result = parse(path, text, conditions, checkpoint, err);
    free(text);
    return result;
}

/* ---- writing ---- */

int checkpoint_write(const char *path, const char *conditions, const struct checkpoint *checkpoint, struct error *err) {
    struct outfile output;
    if (outfile_open(&output, path, err) != 0)
        return -1;
    fprintf(output.file, HEAD, checkpoint->lines, checkpoint->skipped, checkpoint->input_bytes, checkpoint->input_hash,
            checkpoint->output_bytes);
    fputs(conditions, output.file);
    return outfile_close(&output, true, err);
}
