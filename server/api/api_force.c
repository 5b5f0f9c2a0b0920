/* force_attention: [{"step": 0, "weights": [0.2, 0.8]}, ...]. */
#include "server/api/api_form.h"
#include <string.h>

static const char name[] = "force_attention";

static int read_step(const json_t *item, size_t i, size_t *step, struct reply *reply) {
    const json_t *value = json_object_get(item, "step");
    json_int_t number;
    if (!api_integer(value, &number))
        return api_refuse(reply, name, "%s[%zu].step must be an integer, got %s", name, i, value ? api_type_name(value) : "none");
    if (number < 0 || number > TRANSLATOR_MAX_TARGET)
        return api_refuse(reply, name, "%s[%zu].step must be between 0 and %d, got %lld", name, i, (int)TRANSLATOR_MAX_TARGET,
                          (long long)number);
    *step = (size_t)number;
    return 0;
}

/* Of a sum that a float32 can hold to the full, whatever the model. */
static int read_weight(const json_t *value, size_t i, size_t j, double *weight, struct reply *reply) {
    if (!json_is_number(value))
        return api_refuse(reply, name, "%s[%zu].weights[%zu] must be a number, got %s", name, i, j, api_type_name(value));
    *weight = json_number_value(value);
    if (!(*weight >= 0 && *weight <= 1e9))
        return api_refuse(reply, name, "%s[%zu].weights[%zu] must be between 0 and 1e+09, got %g", name, i, j, *weight);
    return 0;
}

static int read_weights(const json_t *item, size_t i, struct forced_step *out, struct arena *arena, struct reply *reply) {
    const json_t *array = json_object_get(item, "weights");
    if (!json_is_array(array))
        return api_refuse(reply, name, "%s[%zu].weights must be an array of numbers, got %s", name, i,
                          array ? api_type_name(array) : "none");
    double sum = 0;
    out->count = json_array_size(array);
    out->weights = arena_alloc(arena, out->count, sizeof *out->weights);
    if (!out->weights) {
        api_fail_memory(reply);
        return -1;
    }
    for (size_t j = 0; j < out->count; j++) {
        if (read_weight(json_array_get(array, j), i, j, &out->weights[j], reply) != 0)
            return -1;
        sum += out->weights[j];
    }
    if (!(sum > 0))
        return api_refuse(reply, name, "%s[%zu].weights must not all be 0", name, i);
    return 0;
}

static int read_item(json_t *item, size_t i, struct request *request, struct reply *reply) {
    const char *key;
    json_t *value;
    struct forced_step *out = &request->forced[i];
    if (!json_is_object(item))
        return api_refuse(reply, name, "%s must be an array of objects, got %s at index %zu", name, api_type_name(item), i);
    json_object_foreach(item, key, value) {
        if (strcmp(key, "step") != 0 && strcmp(key, "weights") != 0)
            return api_refuse(reply, name, "unknown field \"%.60s\" in %s[%zu]", key, name, i);
    }
    if (read_step(item, i, &out->step, reply) != 0 || read_weights(item, i, out, &request->arena, reply) != 0)
        return -1;
    for (size_t other = 0; other < i; other++) {
        if (request->forced[other].step == out->step)
            return api_refuse(reply, name, "%s[%zu].step: step %zu occurs twice", name, i, out->step);
    }
    return 0;
}

int api_read_forced(json_t *value, struct request *request, struct reply *reply) {
    if (!json_is_array(value))
        return api_refuse(reply, name, "%s must be an array of objects, got %s", name, api_type_name(value));
    size_t count = json_array_size(value);
    if (count > TRANSLATOR_MAX_TARGET + 1)
        return api_refuse(reply, name, "%s must contain at most %d steps, got %zu", name, TRANSLATOR_MAX_TARGET + 1, count);
    request->forced = arena_alloc(&request->arena, count, sizeof *request->forced);
    if (!request->forced) {
        api_fail_memory(reply);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (read_item(json_array_get(value, i), i, request, reply) != 0)
            return -1;
    }
    request->forced_count = count;
    return 0;
}
