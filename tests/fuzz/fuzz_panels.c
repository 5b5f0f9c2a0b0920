/* Files of packed weights (model/weights/weights.h): for any content, products are computed, and if
 * the file is refused they are right. The first byte says what the others are, the file or changes
 * of a right one, and whether the header gets its right sum, so that what lies after it is reached,
 * too. */
#include "model/base/file.h"
#include "model/weights/safetensors.h"
#include "model/weights/weights.h"
#include "tests/fuzz/fuzz.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUT = 5, IN = 6, LINEARS = 2 };

static const struct linear_names names[LINEARS] = {{.weight = "w", .lookups = true},
                                                   {.weight = "w", .first = 2, .columns = IN}};
static const size_t widths[LINEARS] = {IN, 3};

/* A container with w [5, 6]; the path stays. */
static const char *container(void) {
    static const char header[] =
        "{\"w\":{\"dtype\":\"F32\",\"shape\":[5,6],\"data_offsets\":[0,120]}}     ";
    static char path[] = "/tmp/alignd-fuzz-XXXXXX";
    static bool made;
    if (made)
        return path;
    float values[OUT * IN];
    uint64_t length = sizeof header - 1;
    for (size_t i = 0; i < OUT * IN; i++)
        values[i] = (float)i / 7 - 2;
    FILE *file = fdopen(mkstemp(path), "w");
    FUZZ_CHECK(file && fwrite(&length, 8, 1, file) == 1 &&
               fwrite(header, 1, (size_t)length, file) == length &&
               fwrite(values, sizeof values, 1, file) == 1 && fclose(file) == 0);
    made = true;
    return path;
}

static struct weights *open_weights(void) {
    struct backend backend = backend_choose();
    backend.compute = COMPUTE_INT8;
    struct weights *weights = weights_open(container(), NULL);
    FUZZ_CHECK(weights);
    weights_use(weights, &backend);
    return weights;
}

/* y: [LINEARS + 1][OUT] */
static void multiply(struct weights *weights, float *y) {
    static const float x[IN] = {1, -0.5f, 2, 0.25f, -3, 1};
    static const int ids[OUT] = {4, 3, 2, 1, 0};
    for (size_t i = 0; i < LINEARS; i++) {
        struct linear linear;
        FUZZ_CHECK(weights_linear(weights, &names[i], OUT, widths[i], &linear, NULL) == 0);
        linear_apply(&linear, x, IN, 1, y + i * OUT, OUT);
        if (names[i].lookups)
            linear_look_up(&linear, x, ids, OUT, y + LINEARS * OUT);
        linear_done(&linear);
    }
}

/* A file that alignd wrote, with a NUL after it, for the whole run. */
static const char *right_file(size_t *size) {
    static char *file;
    static size_t bytes;
    if (!file) {
        char path[64];
        struct linear linears[LINEARS];
        struct weights *weights = open_weights();
        for (size_t i = 0; i < LINEARS; i++)
            FUZZ_CHECK(weights_linear(weights, &names[i], OUT, widths[i], &linears[i], NULL) == 0);
        snprintf(path, sizeof path, "%s.packed", container());
        FUZZ_CHECK(weights_pack(weights, path, "aa", NULL) == 0 &&
                   file_read(path, 1 << 20, &file, &bytes, NULL) == 0);
        unlink(path);
        for (size_t i = 0; i < LINEARS; i++)
            linear_done(&linears[i]);
        weights_free(weights);
    }
    *size = bytes;
    return file;
}

/* The right file, changed: of three bytes each, the first two say where, the third how. A rest says
 * how much is cut off. */
static uint8_t *change(const uint8_t *data, size_t size, size_t *bytes) {
    const char *right = right_file(bytes);
    uint8_t *file = malloc(*bytes);
    memcpy(file, right, *bytes);
    for (; size >= 3; size -= 3, data += 3)
        file[((size_t)data[0] << 8 | data[1]) % *bytes] ^= data[2];
    for (; size > 0; size--, data++)
        *bytes -= *data;
    return file;
}

static uint8_t *copy(const uint8_t *data, size_t size, size_t *bytes) {
    uint8_t *file = malloc(size + 1);
    memcpy(file, data, size);
    *bytes = size;
    return file;
}

/* The file's own size and sum, whatever it says. */
static void mend(uint8_t *file, size_t size) {
    struct panels_header header;
    if (size < sizeof header)
        return;
    memcpy(&header, file, sizeof header);
    header.bytes = size;
    uint64_t sum = file_checksum(0, &header, offsetof(struct panels_header, sum));
    size_t room = size - sizeof header;
    struct panels_entry *entries = malloc(room + 1);
    memcpy(entries, file + sizeof header, room);
    if (header.entries <= room / sizeof *entries)
        header.sum = file_checksum(sum, entries, header.entries * sizeof *entries);
    free(entries);
    memcpy(file, &header, sizeof header);
}

static void read_file(const uint8_t *file, size_t size) {
    static float expected[(LINEARS + 1) * OUT];
    static bool known;
    float y[(LINEARS + 1) * OUT];
    struct error error = {0};
    struct weights *weights = open_weights();
    if (!known)
        multiply(weights, expected);
    known = true;
    weights_free(weights);
    weights = open_weights();
    int result = weights_map(weights, fuzz_file(file, size), NULL, &error);
    multiply(weights, y);
    FUZZ_CHECK(result == 0 || (error.message[0] != '\0' && memcmp(y, expected, sizeof y) == 0));
    weights_free(weights);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t bytes;
    if (size == 0)
        return 0;
    uint8_t *file = (data[0] & 1 ? change : copy)(data + 1, size - 1, &bytes);
    if (data[0] & 2)
        mend(file, bytes);
    read_file(file, bytes);
    free(file);
    return 0;
}
