#include "model/import/stored.h"
#include "model/weights/safetensors.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 8192 };

float half_to_float(uint16_t half) {
    uint32_t sign = (uint32_t)(half >> 15) << 31, exponent = half >> 10 & 31, fraction = half & 1023;
    if (exponent == 0) {
        float value = ldexpf((float)fraction, -24);
        return sign ? -value : value;
    }
    uint32_t bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t half_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) /* not a number */
        return sign | 0x7e00;
    if (bits >= 0x477ff000) /* rounds to 65536 or more */
        return sign | 0x7c00;
    if (bits < 0x38800000) { /* a half without a leading one: a multiple of 2^-24 */
        float magnitude;
        memcpy(&magnitude, &bits, sizeof magnitude);
        return sign | (uint16_t)lrintf(ldexpf(magnitude, 24));
    }
    bits += 0xfff + (bits >> 13 & 1);
    return sign | (uint16_t)((bits - 0x38000000) >> 13);
}

const struct stored *stored_find(const struct container *container, const char *name) {
    for (size_t i = 0; i < container->count; i++)
        if (strcmp(container->entries[i].name, name) == 0)
            return &container->entries[i];
    return NULL;
}

uint64_t stored_count(const struct stored *stored) {
    uint64_t count = 1;
    for (size_t i = 0; i < stored->dims; i++)
        count *= stored->shape[i];
    return count;
}

bool stored_size(const size_t *shape, size_t dims, size_t item, uint64_t *bytes) {
    uint64_t product = item;
    bool empty = false, fits = true;
    for (size_t i = 0; i < dims; i++) {
        empty |= shape[i] == 0;
        fits = fits && (shape[i] == 0 || product <= INT64_MAX / shape[i]);
        product *= shape[i] ? shape[i] : 1;
    }
    *bytes = empty ? 0 : product;
    return fits;
}

const char *stored_shape(struct arena *arena, const size_t *shape, size_t dims) {
    char text[STORED_MOST_DIMS * 24 + 8];
    size_t at = (size_t)snprintf(text, sizeof text, "(");
    for (size_t i = 0; i < dims && i < STORED_MOST_DIMS; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%zu", i ? ", " : "", shape[i]);
    snprintf(text + at, sizeof text - at, dims == 1 ? ",)" : ")");
    const char *copy = arena_copy(arena, text, strlen(text));
    return copy ? copy : "";
}

int stored_bytes(const struct stored *stored, uint64_t first, size_t count, void *out, struct error *err) {
    uint64_t at = first * stored->item;
    if (!stored->data)
        return source_read_at(stored->file, stored->at + at, out, count * stored->item, stored->name, err);
    memcpy(out, stored->data + at, count * stored->item);
    return 0;
}

/* One number as it lies in the file, little-endian as all machines that this runs on. */
static float number_at(const struct stored *stored, const unsigned char *bytes) {
    uint16_t half;
    uint32_t bits;
    float single;
    double both;
    switch (stored->kind) {
    case STORED_F32:
        memcpy(&single, bytes, sizeof single);
        return single;
    case STORED_F16:
        memcpy(&half, bytes, sizeof half);
        return half_to_float(half);
    case STORED_BF16:
        memcpy(&half, bytes, sizeof half);
        bits = (uint32_t)half << 16;
        memcpy(&single, &bits, sizeof single);
        return single;
    case STORED_F64:
        memcpy(&both, bytes, sizeof both);
        return (float)both;
    case STORED_I8:
        return (float)(int8_t)*bytes;
    case STORED_I16:
        memcpy(&half, bytes, sizeof half);
        return (float)(int16_t)half;
    case STORED_I32:
        memcpy(&bits, bytes, sizeof bits);
        return (float)(int32_t)bits;
    case STORED_OTHER:
        break;
    }
    return NAN; /* callers refuse such tensors by their type */
}

int stored_numbers(const struct stored *stored, uint64_t first, size_t count, float *out, struct error *err) {
    unsigned char bytes[CHUNK * sizeof(double)];
    uint64_t row = stored->row_scales && count > 0 ? stored_count(stored) / stored->shape[0] : 1; /* numbers of a row */
    for (size_t done = 0, step; done < count; done += step) {
        step = count - done < CHUNK ? count - done : CHUNK;
        if (stored_bytes(stored, first + done, step, bytes, err) != 0)
            return -1;
        for (size_t i = 0; i < step; i++) {
            float value = number_at(stored, bytes + i * stored->item);
            if (stored->quantised)
                value *= stored->row_scales ? stored->row_scales[(first + done + i) / row] : stored->scale;
            if (!isfinite(value))
                return error_set(err, ERROR_FORMAT, "%s: has values that are not numbers", stored->name);
            out[done + i] = value;
        }
    }
    return 0;
}

void container_close(struct container *container) {
    if (container->file >= 0)
        close(container->file);
    safetensors_free(container->mapped);
    for (size_t i = 0; i < container->part_count; i++)
        container_close(&container->parts[i]);
    container->file = -1;
    container->mapped = NULL;
    container->part_count = 0;
}

void container_rest(const struct container *container) {
    if (container->mapped)
        safetensors_rest(container->mapped);
    for (size_t i = 0; i < container->part_count; i++)
        container_rest(&container->parts[i]);
}

int safetensors_container(const char *path, struct arena *arena, struct container *out, struct error *err) {
    static const struct {
        const char *type;
        enum stored_kind kind;
        size_t item;
    } types[] = {[DTYPE_F32] = {"float32", STORED_F32, 4},
                 [DTYPE_F16] = {"float16", STORED_F16, 2},
                 [DTYPE_BF16] = {"bfloat16", STORED_BF16, 2},
                 [DTYPE_I8] = {"int8", STORED_I8, 1},
                 [DTYPE_I32] = {"int32", STORED_OTHER, 4}};
    struct container found = {.path = path, .file = -1};
    struct error inner = {0};
    uint64_t size;
    int file = source_open(path, &size, err);
    if (file < 0)
        return -1;
    close(file);
    found.mapped = safetensors_open(path, &inner);
    if (!found.mapped)
        return error_set(err, inner.code, "%s: %s", path, inner.message);
    found.count = safetensors_count(found.mapped);
    found.entries = arena_zalloc(arena, found.count, sizeof *found.entries);
    for (size_t i = 0; found.entries && i < found.count; i++) {
        const struct tensor *tensor = safetensors_at(found.mapped, i);
        struct stored *entry = &found.entries[i];
        *entry = (struct stored){.name = arena_copy(arena, tensor->name, strlen(tensor->name)),
                                 .type = types[tensor->dtype].type,
                                 .kind = types[tensor->dtype].kind,
                                 .item = types[tensor->dtype].item,
                                 .dims = tensor->dims,
                                 .file = -1,
                                 .data = tensor->data};
        for (size_t d = 0; d < tensor->dims; d++)
            entry->shape[d] = tensor->shape[d];
    }
    if (arena_failed(arena)) {
        container_close(&found);
        return error_memory(err);
    }
    *out = found;
    return 0;
}
