#include "tests/http/sse.h"
#include "tests/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sse_event read_event(const char *block, size_t length) {
    struct sse_event event = {0};
    char *copy = strndup(block, length), *data = strstr(copy, "\ndata: ");
    ck_assert_msg(sscanf(copy, "event: %15[a-z]", event.name) == 1 && data != NULL, "no event: %s",
                  copy);
    event.data = json_loads(data + strlen("\ndata: "), 0, NULL);
    ck_assert_msg(json_is_object(event.data), "no object: %s", data);
    free(copy);
    return event;
}

/* The empty line that ends an event, or NULL. A sanitizer's strstr would read all of the text each
 * time. */
static const char *end_of_event(const char *text) {
    const char *end = strchr(text, '\n');
    while (end && end[1] != '\n')
        end = strchr(end + 1, '\n');
    return end;
}

struct sse sse_read(const char *text) {
    ck_assert_msg(text, "no reply came");
    struct sse sse = {0};
    for (const char *end; (end = end_of_event(text)) != NULL; text = end + 2) {
        if (*text == ':') {
            sse.comments++;
            continue;
        }
        if ((sse.count & (sse.count - 1)) == 0) /* a power of two: the array is full */
            sse.events = realloc(sse.events, 2 * (sse.count + 1) * sizeof *sse.events);
        ck_assert_ptr_nonnull(sse.events);
        sse.events[sse.count++] = read_event(text, (size_t)(end - text));
    }
    ck_assert_str_eq(text, "");
    return sse;
}

void sse_done(struct sse *sse) {
    for (size_t i = 0; i < sse->count; i++)
        json_decref(sse->events[i].data);
    free(sse->events);
    *sse = (struct sse){0};
}

size_t sse_count(const struct sse *sse, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < sse->count; i++)
        count += strcmp(sse->events[i].name, name) == 0;
    return count;
}

const json_t *sse_last(const struct sse *sse, const char *name) {
    ck_assert_uint_gt(sse->count, 0);
    const struct sse_event *last = &sse->events[sse->count - 1];
    ck_assert_str_eq(last->name, name);
    return last->data;
}

static bool is_of(const struct sse_event *event, const char *name, size_t text, size_t sentence) {
    return strcmp(event->name, name) == 0 && (size_t)number_at(event->data, "text_index") == text &&
           (size_t)number_at(event->data, "sentence") == sentence;
}

char *sse_text(const struct sse *sse, size_t text, size_t sentence) {
    char *all = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&all, &length);
    ck_assert_ptr_nonnull(out);
    for (size_t i = 0; i < sse->count; i++) {
        if (is_of(&sse->events[i], "token", text, sentence))
            fputs(text_at(sse->events[i].data, "text"), out);
    }
    ck_assert_int_eq(fclose(out), 0);
    return all;
}

/* Where its sentence event stands. */
static size_t find_sentence(const struct sse *sse, size_t text, size_t sentence) {
    for (size_t i = 0; i < sse->count; i++) {
        if (is_of(&sse->events[i], "sentence", text, sentence))
            return i;
    }
    ck_abort_msg("no sentence event %zu.%zu", text, sentence);
    return 0;
}

static void check_tokens(const struct sse *sse, size_t text, size_t sentence, size_t until,
                         const json_t *object) {
    size_t count = 0;
    for (size_t i = 0; i < sse->count; i++) {
        if (!is_of(&sse->events[i], "token", text, sentence))
            continue;
        ck_assert_uint_lt(i, until);
        const json_t *token = json_array_get(json_object_get(object, "tokens"), count++);
        if (token)
            ck_assert_str_eq(text_at(sse->events[i].data, "token"), json_string_value(token));
    }
    if (count == 0)
        return;
    char *told = sse_text(sse, text, sentence);
    ck_assert_str_eq(told, text_at(object, "text"));
    ck_assert_uint_eq(count, json_array_size(json_at(object, "tokens")));
    free(told);
}

/* The same object, beside the numbers that say where it stands, and how many are left. */
static void check_sentence(const struct sse *sse, size_t at, const json_t *object) {
    json_t *copy = json_copy(sse->events[at].data);
    json_object_del(copy, "text_index");
    json_object_del(copy, "sentence");
    json_object_del(copy, "left");
    ck_assert(json_equal(copy, object));
    json_decref(copy);
}

void sse_check_left(const struct sse *sse) {
    size_t left = sse_count(sse, "sentence");
    for (size_t i = 0; i < sse->count; i++)
        if (strcmp(sse->events[i].name, "sentence") == 0)
            ck_assert_uint_eq((size_t)number_at(sse->events[i].data, "left"), --left);
}

void sse_check(const struct sse *sse, const char *array) {
    const json_t *texts = json_at(sse_last(sse, "result"), array);
    size_t sentences = 0;
    ck_assert_uint_eq(sse_count(sse, "result"), 1);
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const json_t *all = json_at(json_array_get(texts, i), "sentences");
        for (size_t j = 0, before = 0; j < json_array_size(all); j++, sentences++) {
            size_t at = find_sentence(sse, i, j);
            ck_assert(j == 0 || at > before);
            check_sentence(sse, at, json_array_get(all, j));
            check_tokens(sse, i, j, at, json_array_get(all, j));
            before = at;
        }
    }
    ck_assert_uint_eq(sse_count(sse, "sentence"), sentences);
    ck_assert_uint_eq(sse_count(sse, "error"), 0);
    sse_check_left(sse);
}
