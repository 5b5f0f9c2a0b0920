/* This file hides how tensors get from a foreign file into model.safetensors: how their numbers are
 * stored, from which parts a new tensor is assembled, and how it is rounded and written. */
#include "model/import/tensors.h"
#include "model/base/utf8.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 8192, BLOCK = 1 << 18, ALIGNMENT = 64, MOST_LOADED = 4 };

/* ---- the tensors of a file ---- */

const struct stored_type stored_types[STORED_KINDS] = {
    [STORED_F32] = {"float32", 4}, [STORED_F16] = {"float16", 2}, [STORED_BF16] = {"bfloat16", 2},
    [STORED_F64] = {"float64", 8}, [STORED_I8] = {"int8", 1},     [STORED_I16] = {"int16", 2},
    [STORED_I32] = {"int32", 4},   [STORED_I64] = {"int64", 8},   [STORED_U8] = {"uint8", 1},
    [STORED_U16] = {"uint16", 2},  [STORED_U32] = {"uint32", 4},  [STORED_U64] = {"uint64", 8},
    [STORED_BOOL] = {"bool", 1}};

const struct stored_tensor *tensors_find_stored(const struct container *container,
                                                const char *name) {
    for (size_t i = 0; i < container->count; i++)
        if (strcmp(container->entries[i].name, name) == 0)
            return &container->entries[i];
    return NULL;
}

uint64_t tensors_count(const struct stored_tensor *stored) {
    uint64_t count = 1;
    for (size_t i = 0; i < stored->dims; i++)
        count *= stored->shape[i];
    return count;
}

bool tensors_size(const struct stored_tensor *stored, uint64_t *bytes) {
    uint64_t product = stored_types[stored->kind].bytes;
    bool empty = false, fits = true;
    for (size_t i = 0; i < stored->dims; i++) {
        size_t size = stored->shape[i];
        empty |= size == 0;
        fits = fits && (size == 0 || product <= INT64_MAX / size);
        product *= size ? size : 1;
    }
    *bytes = empty ? 0 : product;
    return fits;
}

const char *tensors_shape(struct arena *arena, const size_t *shape, size_t dims) {
    char text[STORED_MOST_DIMS * 24 + 8];
    size_t at = (size_t)snprintf(text, sizeof text, "(");
    for (size_t i = 0; i < dims && i < STORED_MOST_DIMS; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%zu", i ? ", " : "", shape[i]);
    snprintf(text + at, sizeof text - at, dims == 1 ? ",)" : ")");
    const char *copy = arena_copy(arena, text, strlen(text));
    return copy ? copy : "";
}

int tensors_bytes(const struct stored_tensor *stored, uint64_t first, size_t count, void *out,
                  struct error *err) {
    size_t item = stored_types[stored->kind].bytes;
    uint64_t at = first * item;
    if (!stored->data)
        return source_read_at(stored->file, stored->at + at, out, count * item, stored->name, err);
    memcpy(out, stored->data + at, count * item);
    return 0;
}

int tensors_numbers(const struct stored_tensor *stored, uint64_t first, size_t count, float *out,
                    struct error *err) {
    union { /* numbers as in the file: little-endian, as are all supported machines */
        int8_t i8[CHUNK];
        int16_t i16[CHUNK];
        int32_t i32[CHUNK];
        uint16_t half[CHUNK];
        float f32[CHUNK];
        double f64[CHUNK];
    } chunk;
    uint64_t row = stored->row_scales && count > 0 ? tensors_count(stored) / stored->shape[0]
                                                   : 1; /* numbers of a row */
    for (size_t done = 0, step; done < count; done += step) {
        step = count - done < CHUNK ? count - done : CHUNK;
        if (tensors_bytes(stored, first + done, step, &chunk, err) != 0)
            return -1;
        for (size_t i = 0; i < step; i++) {
            enum stored_kind kind = stored->kind;
            float value = kind == STORED_F16    ? half_to_float(chunk.half[i])
                          : kind == STORED_F32  ? chunk.f32[i]
                          : kind == STORED_BF16 ? float_of_bits((uint32_t)chunk.half[i] << 16)
                          : kind == STORED_F64  ? (float)chunk.f64[i]
                          : kind == STORED_I8   ? (float)chunk.i8[i]
                          : kind == STORED_I16  ? (float)chunk.i16[i]
                          : kind == STORED_I32
                              ? (float)chunk.i32[i]
                              : NAN; /* callers refuse such tensors by their type */
            if (stored->quantised)
                value *= stored->row_scales ? stored->row_scales[(first + done + i) / row]
                                            : stored->scale;
            if (!isfinite(value))
                return error_set(err, ERROR_FORMAT, "%s: has values that are not numbers",
                                 stored->name);
            out[done + i] = value;
        }
    }
    return 0;
}

void tensors_close(struct container *container) {
    if (container->file >= 0)
        close(container->file);
    safetensors_free(container->mapped);
    for (size_t i = 0; i < container->part_count; i++)
        tensors_close(&container->parts[i]);
    container->file = -1;
    container->mapped = NULL;
    container->part_count = 0;
}

int tensors_finish(struct container *opened, int result, struct container *out) {
    if (result == 0)
        *out = *opened;
    else
        tensors_close(opened);
    return result;
}

int tensors_open_safetensors(const char *path, struct arena *arena, struct container *out,
                             struct error *err) {
    static const enum stored_kind kinds[] = {[DTYPE_F32] = STORED_F32,
                                             [DTYPE_F16] = STORED_F16,
                                             [DTYPE_BF16] = STORED_BF16,
                                             [DTYPE_I8] = STORED_I8,
                                             [DTYPE_I32] = STORED_I32};
    struct container found = {.file = -1};
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
        struct stored_tensor *entry = &found.entries[i];
        *entry =
            (struct stored_tensor){.name = arena_copy(arena, tensor->name, strlen(tensor->name)),
                                   .kind = kinds[tensor->dtype],
                                   .dims = tensor->dims,
                                   .file = -1,
                                   .data = tensor->data};
        for (size_t d = 0; d < tensor->dims; d++)
            entry->shape[d] = tensor->shape[d];
    }
    return tensors_finish(&found, arena_failed(arena) ? error_memory(err) : 0, out);
}

/* ---- requested tensors ---- */

struct name tensors_named(const char *format, ...) {
    struct name made;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(made.text, sizeof made.text, format, arguments);
    va_end(arguments);
    return made;
}

int tensors_init(struct tensors *tensors, const struct container *from, struct arena *arena,
                 struct error *err) {
    *tensors = (struct tensors){.arena = arena, .from = from, .err = err};
    tensors->last = &tensors->made;
    tensors->names = arena_alloc(arena, from->count, sizeof *tensors->names);
    tensors->left = arena_alloc(arena, from->count, sizeof *tensors->left);
    if (!tensors->names || !tensors->left)
        return error_memory(err);
    for (size_t i = 0; i < from->count; i++) {
        tensors->names[i] = from->entries[i].name;
        tensors->left[i] = true;
    }
    return 0;
}

void tensors_fail(struct tensors *tensors, const char *format, ...) {
    char message[sizeof tensors->err->message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    error_set(tensors->err, ERROR_FORMAT, "%s", message);
    tensors->failed = true;
}

static void out_of_memory(struct tensors *tensors) {
    error_memory(tensors->err);
    tensors->failed = true;
}

const struct stored_tensor *tensors_find(const struct tensors *tensors, const char *name) {
    for (size_t i = 0; i < tensors->from->count; i++)
        if (tensors->names[i] && strcmp(tensors->names[i], name) == 0)
            return &tensors->from->entries[i];
    return NULL;
}

static const struct stored_tensor *need(struct tensors *tensors, const char *name) {
    const struct stored_tensor *found = tensors_find(tensors, name);
    if (!found)
        tensors_fail(tensors, "%s: missing from the file", name);
    return found;
}

size_t tensors_rows(struct tensors *tensors, const char *name) {
    const struct stored_tensor *found = need(tensors, name);
    if (found && found->dims == 0)
        tensors_fail(tensors, "%s: shape (), expected a matrix", found->name);
    return found && found->dims > 0 && found->shape[0] > 0 ? found->shape[0] : 1;
}

/* found: NULL after an error. wanted: [dims] */
static const struct stored_tensor *take(struct tensors *tensors, const struct stored_tensor *found,
                                        bool fits, const size_t *wanted, size_t dims) {
    if (!found)
        return NULL;
    if (!fits) {
        tensors_fail(tensors, "%s: shape %s, expected %s", found->name,
                     tensors_shape(tensors->arena, found->shape, found->dims),
                     tensors_shape(tensors->arena, wanted, dims));
        return NULL;
    }
    if (found->kind > STORED_I32 || (found->kind >= STORED_I8 && !found->quantised)) {
        tensors_fail(tensors,
                     "%s: holds %s; only models of floating-point numbers, or of int8 with a "
                     "scale, can be converted",
                     found->name, stored_types[found->kind].name);
        return NULL;
    }
    tensors->left[found - tensors->from->entries] = false;
    return found;
}

const struct stored_tensor *tensors_matrix(struct tensors *tensors, const char *name, size_t rows,
                                           size_t columns) {
    const struct stored_tensor *found = tensors->failed ? NULL : need(tensors, name);
    const size_t wanted[] = {rows, columns};
    bool fits = found && found->dims == 2 && found->shape[0] == rows && found->shape[1] == columns;
    return take(tensors, found, fits, wanted, 2);
}

const struct stored_tensor *tensors_vector(struct tensors *tensors, const char *name, size_t size) {
    const struct stored_tensor *found = tensors->failed ? NULL : need(tensors, name);
    bool one = found && found->dims == 1 && found->shape[0] == size;
    bool two = found && found->dims == 2 && found->shape[0] * found->shape[1] == size &&
               (found->shape[0] == 1 || found->shape[1] == 1);
    return take(tensors, found, one || two, &size, 1);
}

void tensors_drop(struct tensors *tensors, const char *name) {
    const struct stored_tensor *found = tensors_find(tensors, name);
    if (found)
        tensors->left[found - tensors->from->entries] = false;
}

void tensors_check_left(struct tensors *tensors, const char *what) {
    size_t first = tensors->from->count;
    for (size_t i = 0; i < tensors->from->count; i++)
        if (tensors->left[i] && tensors->names[i] &&
            (first == tensors->from->count || strcmp(tensors->names[i], tensors->names[first]) < 0))
            first = i;
    if (first < tensors->from->count)
        tensors_fail(tensors, "%s: %s", tensors->from->entries[first].name, what);
}

/* ---- new tensors ---- */

static struct made *add(struct tensors *tensors, const char *name, size_t dims, size_t rows,
                        size_t columns) {
    struct made *made = tensors->failed ? NULL : arena_zalloc(tensors->arena, 1, sizeof *made);
    const char *copy = made ? arena_copy(tensors->arena, name, strlen(name)) : NULL;
    if (!copy) {
        out_of_memory(tensors);
        return &tensors->nobody;
    }
    *made = (struct made){.name = copy, .dims = dims, .rows = rows, .columns = columns};
    made->last = &made->patches;
    *tensors->last = made;
    tensors->last = &made->next;
    tensors->count++;
    return made;
}

struct made *tensors_make(struct tensors *tensors, const char *name, size_t rows, size_t columns) {
    return add(tensors, name, 2, rows, columns);
}

struct made *tensors_make_vector(struct tensors *tensors, const char *name, size_t size) {
    return add(tensors, name, 1, 1, size);
}

void tensors_patch(struct tensors *tensors, struct made *made, struct patch patch) {
    if (tensors->failed || !patch.from)
        return;
    struct patch *copy = arena_alloc(tensors->arena, 1, sizeof *copy);
    if (!copy) {
        out_of_memory(tensors);
        return;
    }
    *copy = patch;
    copy->next = NULL;
    *made->last = copy;
    made->last = &copy->next;
}

struct made *tensors_copy(struct tensors *tensors, const char *name,
                          const struct stored_tensor *from, size_t rows, size_t columns) {
    struct made *made = tensors_make(tensors, name, rows, columns);
    tensors_patch(tensors, made, (struct patch){.from = from, .rows = rows, .columns = columns});
    return made;
}

struct made *tensors_transpose(struct tensors *tensors, const char *name,
                               const struct stored_tensor *from, size_t inputs, size_t outputs) {
    struct made *made = tensors_make(tensors, name, outputs, inputs);
    tensors_patch(tensors, made,
                  (struct patch){.from = from, .flip = true, .rows = outputs, .columns = inputs});
    return made;
}

struct made *tensors_copy_vector(struct tensors *tensors, const char *name,
                                 const struct stored_tensor *from, size_t size) {
    struct made *made = tensors_make_vector(tensors, name, size);
    tensors_patch(tensors, made, (struct patch){.from = from, .rows = 1, .columns = size});
    return made;
}

uint64_t tensors_parameters(const struct tensors *tensors) {
    uint64_t sum = 0;
    for (const struct made *made = tensors->made; made; made = made->next)
        sum += (uint64_t)made->rows * made->columns;
    return sum;
}

/* ---- assembling ---- */

/* Foreign matrices that are in memory, because the new tensor reads their columns. */
struct loaded {
    const struct stored_tensor *from[MOST_LOADED];
    float *numbers[MOST_LOADED];
    size_t count;
    float *row; /* room for one row of a patch */
};

static int load(struct loaded *loaded, const struct stored_tensor *from, const float **numbers,
                struct error *err) {
    for (size_t i = 0; i < loaded->count; i++)
        if (loaded->from[i] == from) {
            *numbers = loaded->numbers[i];
            return 0;
        }
    assert(loaded->count < MOST_LOADED); /* no new tensor reads the columns of more matrices */
    uint64_t count = tensors_count(from);
    float *room =
        count <= SIZE_MAX / sizeof *room ? malloc((size_t)count * sizeof *room + 1) : NULL;
    if (!room)
        return error_memory(err);
    if (tensors_numbers(from, 0, (size_t)count, room, err) != 0) {
        free(room);
        return -1;
    }
    loaded->from[loaded->count] = from;
    loaded->numbers[loaded->count++] = room;
    *numbers = room;
    return 0;
}

/* Assembles rows begin .. end - 1 as float32. */
static int make_rows(const struct made *made, size_t begin, size_t end, struct loaded *loaded,
                     float *out, struct error *err) {
    float *row = loaded->row;
    memset(out, 0, (end - begin) * made->columns * sizeof *out);
    for (size_t i = begin; made->identity && i < end; i++)
        out[(i - begin) * made->columns + i] = 1;
    for (const struct patch *patch = made->patches; patch; patch = patch->next) {
        const struct stored_tensor *from = patch->from;
        size_t first = begin > patch->to_row ? begin : patch->to_row;
        size_t past = end < patch->to_row + patch->rows ? end : patch->to_row + patch->rows;
        if (first >= past)
            continue;
        bool vector = made->dims == 1; /* in either orientation */
        bool by_columns = !vector && patch->flip != from->transposed;
        size_t last = from->dims == 0 ? 1 : from->shape[from->dims - 1]; /* a vector is one row */
        size_t width = vector             ? 0
                       : from->transposed ? from->shape[0]
                                          : last; /* as it lies in the file */

        if (!vector && !by_columns && !patch->add && patch->columns == width &&
            width == made->columns) { /* whole rows */
            uint64_t at = (uint64_t)((from->transposed ? patch->column : patch->row) + first -
                                     patch->to_row) *
                          width;
            if (tensors_numbers(from, at, (past - first) * width, out + (first - begin) * width,
                                err) != 0)
                return -1;
            continue;
        }
        const float *numbers = NULL;
        if (by_columns && load(loaded, from, &numbers, err) != 0)
            return -1;
        for (size_t i = first; i < past; i++) {
            float *to = out + (i - begin) * made->columns + patch->to_column;
            size_t line = i - patch->to_row;
            const float *source = row;
            size_t step = 1;
            if (by_columns) { /* element j lies `width` numbers after element j - 1 */
                source = from->transposed ? numbers + patch->column * width + patch->row + line
                                          : numbers + patch->row * width + patch->column + line;
                step = width;
            } else {
                uint64_t at = vector ? patch->column
                              : from->transposed
                                  ? (uint64_t)(patch->column + line) * width + patch->row
                                  : (uint64_t)(patch->row + line) * width + patch->column;
                if (tensors_numbers(from, at, patch->columns, row, err) != 0)
                    return -1;
            }
            float factor = vector && patch->factor != 0 ? patch->factor : 1;
            for (size_t j = 0; j < patch->columns; j++)
                to[j] = patch->add ? to[j] + source[j * step] : factor * source[j * step];
        }
    }
    return 0;
}

/* ---- writing ---- */

const char *const storage_names[STORAGE_KINDS] = {"float32", "float16", "bfloat16", "int8"};

/* A tensor of the file. */
struct slot {
    const char *name;
    enum dtype dtype;
    size_t dims, shape[2];
    uint64_t *place; /* set to its offset in the data */
};

struct places {
    uint64_t numbers, scale, input_scale;
};

static int by_size_and_name(const void *a, const void *b) {
    const struct slot *one = a, *other = b;
    size_t size = dtypes[one->dtype].bytes, other_size = dtypes[other->dtype].bytes;
    return size != other_size ? (size > other_size ? -1 : 1) : strcmp(one->name, other->name);
}

/* Writes a JSON string. Bytes that are not UTF-8, which the name of a file may contain, become
 * U+FFFD. */
static void write_string(FILE *out, const char *text) {
    fputc('"', out);
    for (size_t length = strlen(text), next = 0; next < length;) {
        int32_t character = character_next(text, length, &next);
        uint32_t point = character < 0 ? 0xfffd : (uint32_t)character;
        if (point == '"' || point == '\\')
            fprintf(out, "\\%c", (char)point);
        else if (point >= ' ' && point < 127)
            fputc((char)point, out);
        else if (point == '\n' || point == '\t' || point == '\r')
            fprintf(out, "\\%c", point == '\n' ? 'n' : point == '\t' ? 't' : 'r');
        else if (point < 0x10000)
            fprintf(out, "\\u%04x", point);
        else
            fprintf(out, "\\u%04x\\u%04x", 0xd800 + ((point - 0x10000) >> 10),
                    0xdc00 + ((point - 0x10000) & 0x3ff));
    }
    fputc('"', out);
}

/* A file that is being written. */
struct output {
    int file;
    const char *path;
    uint64_t data, bytes; /* the offset of the data; the size of the file */
};

static int put(const struct output *output, uint64_t at, const void *bytes, size_t count,
               struct error *err) {
    const char *next = bytes;
    while (count > 0) {
        ssize_t written = pwrite(output->file, next, count, (off_t)at);
        if (written < 0 && errno != EINTR)
            return error_set(err, ERROR_FILE, "%s: %s", output->path, strerror(errno));
        next += written > 0 ? written : 0;
        at += written > 0 ? (uint64_t)written : 0;
        count -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

/* Creates the file and writes the length of the header, and the header. Larger types of numbers
 * come first, so that every tensor is aligned to its own numbers without gaps. */
static int output_open(struct output *output, const char *path, struct slot *slots, size_t count,
                       const char *origin, struct error *err) {
    char *text = NULL;
    size_t bytes;
    uint64_t end = 0;
    FILE *out = path ? open_memstream(&text, &bytes) : NULL;
    if (!out)
        return error_memory(err);
    qsort(slots, count, sizeof *slots, by_size_and_name);
    fwrite("\0\0\0\0\0\0\0\0{", 1, 9, out);
    if (origin) {
        fputs("\"__metadata__\":{\"converted_from\":", out);
        write_string(out, origin);
        fputs(count ? "}," : "}", out);
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = end, size = dtypes[slots[i].dtype].bytes;
        write_string(out, slots[i].name);
        fprintf(out, ":{\"dtype\":\"%s\",\"shape\":[", dtypes[slots[i].dtype].name);
        for (size_t d = 0; d < slots[i].dims; d++) {
            fprintf(out, "%s%zu", d ? "," : "", slots[i].shape[d]);
            size *= slots[i].shape[d];
        }
        end += size;
        fprintf(out, "],\"data_offsets\":[%llu,%llu]}%s", (unsigned long long)begin,
                (unsigned long long)end, i + 1 < count ? "," : "");
        *slots[i].place = begin;
    }
    fputc('}', out);
    for (long length = ftell(out); length % ALIGNMENT != 0; length++)
        fputc(' ', out);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        return error_memory(err);
    }
    uint64_t header = bytes - sizeof header;
    memcpy(text, &header, sizeof header);

    *output = (struct output){.path = path, .data = bytes, .bytes = bytes + end};
    output->file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int result = output->file >= 0 ? put(output, 0, text, bytes, err)
                                   : error_set(err, ERROR_FILE, "%s: %s", path, strerror(errno));
    if (result == 0 && ftruncate(output->file, (off_t)output->bytes) != 0)
        result = error_set(err, ERROR_FILE, "%s: %s", path, strerror(errno));
    free(text);
    if (result != 0 && output->file >= 0)
        close(output->file);
    return result;
}

static int output_close(struct output *output, int result, struct error *err) {
    if (result == 0 && fsync(output->file) != 0)
        result = error_set(err, ERROR_FILE, "%s: %s", output->path, strerror(errno));
    close(output->file);
    return result;
}

uint16_t tensors_half(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) /* not a number */
        return sign | 0x7e00;
    if (bits >= 0x477ff000) /* rounds to 65536 or more */
        return sign | 0x7c00;
    if (bits < 0x38800000) { /* a subnormal half: a multiple of 2^-24 */
        float magnitude;
        memcpy(&magnitude, &bits, sizeof magnitude);
        return sign | (uint16_t)lrintf(ldexpf(magnitude, 24));
    }
    bits += 0xfff + (bits >> 13 & 1);
    return sign | (uint16_t)((bits - 0x38000000) >> 13);
}

static int write_given(const struct output *output, const struct made *made,
                       const struct places *places, void *room, import_stop stop,
                       struct error *err) {
    uint64_t count = (uint64_t)made->rows * made->columns,
             first = (uint64_t)made->given_row * made->columns;
    const float *scales = made->given->row_scales;
    for (uint64_t done = 0, step; done < count; done += step) {
        step = count - done < BLOCK ? count - done : BLOCK;
        if (source_interrupted(stop, err) != 0 ||
            tensors_bytes(made->given, first + done, (size_t)step, room, err) != 0 ||
            put(output, output->data + places->numbers + done, room, (size_t)step, err) != 0)
            return -1;
    }
    if (put(output, output->data + places->scale,
            scales ? scales + made->given_row : &made->given->scale,
            (scales ? made->rows : 1) * sizeof(float), err) != 0)
        return -1;
    return made->input_scale > 0 ? put(output, output->data + places->input_scale,
                                       &made->input_scale, sizeof(float), err)
                                 : 0;
}

static int write_made(const struct output *output, const struct made *made, enum storage_kind kind,
                      const struct places *places, import_stop stop, struct error *err) {
    size_t columns = made->columns ? made->columns : 1,
           rows = BLOCK / columns ? BLOCK / columns : 1;
    if (rows > made->rows)
        rows = made->rows ? made->rows : 1;
    if (made->dims == 1 || made->exact)
        kind = STORAGE_FLOAT32; /* vectors are few, and biases are added to float32 sums */
    size_t room = rows * columns > BLOCK ? rows * columns : BLOCK;
    float *numbers = malloc(room * sizeof *numbers), *scales = malloc(rows * sizeof *scales);
    struct loaded loaded = {.row = malloc(columns * sizeof(float))};
    void *packed = malloc(room * sizeof *numbers);
    uint16_t *halves = packed;
    int8_t *small = packed;
    uint64_t at = output->data + places->numbers, scale = output->data + places->scale;
    int result = numbers && loaded.row && scales && packed ? 0 : error_memory(err);
    bool given = kind == STORAGE_INT8 && made->given;
    if (result == 0 && given)
        result = write_given(output, made, places, packed, stop, err);
    for (size_t begin = 0; result == 0 && !given && begin < made->rows; begin += rows) {
        size_t end = begin + rows < made->rows ? begin + rows : made->rows,
               count = (end - begin) * made->columns;
        result = source_interrupted(stop, err);
        if (result == 0)
            result = make_rows(made, begin, end, &loaded, numbers, err);
        if (result != 0)
            break;
        for (size_t i = 0; kind == STORAGE_FLOAT16 && i < count; i++)
            halves[i] = tensors_half(numbers[i]);
        for (size_t i = 0; kind == STORAGE_BFLOAT16 && i < count; i++) {
            uint32_t bits;
            memcpy(&bits, &numbers[i], sizeof bits);
            halves[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        }
        for (size_t r = 0; kind == STORAGE_INT8 && r < end - begin; r++) {
            const float *x = numbers + r * made->columns;
            float largest = 0;
            for (size_t i = 0; i < made->columns; i++)
                largest = fmaxf(largest, fabsf(x[i]));
            scales[r] = largest > 0 ? largest / 127 : 1;
            for (size_t i = 0; i < made->columns; i++)
                small[r * made->columns + i] =
                    (int8_t)fmaxf(-127, fminf(127, rintf(x[i] / scales[r])));
        }
        size_t bytes = count * dtypes[kind].bytes;
        result = put(output, at, kind == STORAGE_FLOAT32 ? numbers : packed, bytes, err);
        at += bytes;
        if (result == 0 && kind == STORAGE_INT8)
            result = put(output, scale, scales, (end - begin) * sizeof *scales, err);
        scale += (end - begin) * sizeof *scales;
    }
    for (size_t i = 0; i < loaded.count; i++)
        free(loaded.numbers[i]);
    free(numbers);
    free(loaded.row);
    free(scales);
    free(packed);
    return result;
}

/* Forgets pages of mapped files that have been read. */
static void container_rest(const struct container *container) {
    if (container->mapped)
        safetensors_rest(container->mapped);
    for (size_t i = 0; i < container->part_count; i++)
        container_rest(&container->parts[i]);
}

int tensors_write(struct tensors *tensors, const struct tensors_file *file, import_stop stop,
                  uint64_t *bytes, struct error *err) {
    const char *path = file->path;
    enum storage_kind kind = file->kind;
    if (tensors->failed)
        return -1;
    struct slot *slots = arena_alloc(tensors->arena, 3 * tensors->count, sizeof *slots);
    struct places *places = arena_zalloc(tensors->arena, tensors->count, sizeof *places),
                  *own = places;
    if (!slots || !places)
        return error_memory(err);
    size_t count = 0;
    for (const struct made *made = tensors->made; made; made = made->next, own++) {
        bool exact = made->dims == 1 || made->exact, one = made->given && !made->given->row_scales;
        _Static_assert((int)STORAGE_FLOAT32 == DTYPE_F32 && (int)STORAGE_FLOAT16 == DTYPE_F16 &&
                           (int)STORAGE_BFLOAT16 == DTYPE_BF16 && (int)STORAGE_INT8 == DTYPE_I8,
                       "a storage is the dtype of the same number");
        enum dtype dtype = exact ? DTYPE_F32 : (enum dtype)kind;
        size_t first = made->dims == 1 ? made->columns : made->rows;
        slots[count++] =
            (struct slot){made->name, dtype, made->dims, {first, made->columns}, &own->numbers};
        if (dtype != DTYPE_I8)
            continue;
        const char *scale = source_say(tensors->arena, "%s.scale", made->name);
        slots[count++] = (struct slot){scale, DTYPE_F32, 1, {one ? 1 : made->rows, 0}, &own->scale};
        if (made->given && made->input_scale > 0) {
            const char *input = source_say(tensors->arena, "%s.input_scale", made->name);
            slots[count++] = (struct slot){input, DTYPE_F32, 1, {1, 0}, &own->input_scale};
        }
    }
    struct output output;
    if (count == 0 || arena_failed(tensors->arena))
        return error_memory(err);
    if (output_open(&output, path, slots, count, file->origin, err) != 0)
        return -1;
    int result = 0;
    for (const struct made *made = tensors->made; result == 0 && made;
         made = made->next, places++) {
        result = write_made(&output, made, kind, places, stop, err);
        container_rest(tensors->from);
    }
    *bytes = output.bytes;
    return output_close(&output, result, err);
}

int tensors_write_ready(const char *path, const struct ready *tensors, size_t count,
                        struct arena *arena, struct error *err) {
    struct slot *slots = arena_alloc(arena, count, sizeof *slots);
    uint64_t *places = arena_alloc(arena, count, sizeof *places);
    struct output output;
    if (!slots || !places)
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        slots[i] = (struct slot){tensors[i].name,
                                 tensors[i].integers ? DTYPE_I32 : DTYPE_F32,
                                 1,
                                 {tensors[i].count, 0},
                                 &places[i]};
    if (output_open(&output, path, slots, count, NULL, err) != 0)
        return -1;
    int result = 0;
    for (size_t i = 0; result == 0 && i < count; i++)
        result =
            put(&output, output.data + places[i], tensors[i].numbers, tensors[i].count * 4, err);
    return output_close(&output, result, err);
}

size_t tensors_copy_words(struct tensors *tensors, const char *prefix, size_t size, bool tied) {
    static const char *const names[] = {"shared", "decoder.embed_tokens", "encoder.embed_tokens"};
    enum { NAMES = sizeof names / sizeof *names };
    static const char head[] = "lm_head.weight", bias[] = "final_logits_bias";
    struct name used = {.text = ""}, name;
    for (size_t i = 0; i < NAMES && !*used.text; i++) {
        name = tensors_named("%s%s.weight", prefix, names[i]);
        if (tensors_find(tensors, name.text))
            used = name;
    }
    const char *embedding = *used.text ? used.text : head;
    size_t count = tensors_rows(tensors, embedding);
    tensors_copy(tensors, "decoder.embedding", tensors_matrix(tensors, embedding, count, size),
                 count, size);
    if (!tied)
        tensors_copy(tensors, "output.weight", tensors_matrix(tensors, head, count, size), count,
                     size);
    struct made *made = tensors_make_vector(tensors, "output.bias", count);
    if (tensors_find(tensors, bias))
        tensors_patch(tensors, made,
                      (struct patch){.from = tensors_vector(tensors, bias, count),
                                     .rows = 1,
                                     .columns = count});
    for (size_t i = 0; i < NAMES; i++)
        tensors_drop(tensors, tensors_named("%s%s.weight", prefix, names[i]).text);
    tensors_drop(tensors, head);
    return count;
}
