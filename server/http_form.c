#include "server/http_form.h"
#include <errno.h>
#include <microhttpd.h>
#include <string.h>

enum { BUFFER_BYTES = 4096, MAX_FIELDS = 256 };

struct form {
    struct arena *arena;
    struct api_field fields[MAX_FIELDS]; /* [count]; further ones are not read */
    size_t count, capacity;              /* capacity: bytes that the last value has room for */
    bool failed;                         /* memory */
};

static void add(struct form *form, const char *name, const char *value, size_t length) {
    if (form->count == MAX_FIELDS || form->failed)
        return;
    struct api_field field = {.name = arena_copy(form->arena, name, strlen(name)),
                              .value = arena_copy(form->arena, value ? value : "", value ? length : 0),
                              .length = value ? length : 0};
    form->failed = !field.name || !field.value;
    form->capacity = field.length + 1;
    form->fields[form->count++] = field;
}

/* The next part of the last field's value. */
static void extend(struct form *form, const char *value, size_t length) {
    struct api_field *field = &form->fields[form->count - 1];
    if (form->capacity <= field->length + length) {
        char *grown = arena_alloc(form->arena, 2 * (field->length + length) + 1, 1);
        form->failed = !grown;
        if (!grown)
            return;
        memcpy(grown, field->value, field->length);
        form->capacity = 2 * (field->length + length) + 1;
        field->value = grown;
    }
    memcpy(field->value + field->length, value, length);
    field->length += length;
    field->value[field->length] = '\0';
}

static enum MHD_Result take_part(void *closure, enum MHD_ValueKind kind, const char *name, const char *file, const char *type,
                                 const char *encoding, const char *value, uint64_t offset, size_t length) {
    (void)kind;
    (void)file;
    (void)type;
    (void)encoding;
    struct form *form = closure;
    if (offset == 0)
        add(form, name ? name : "", value, length);
    else if (length > 0 && !form->failed && form->count > 0 && form->fields[form->count - 1].length == offset)
        extend(form, value, length);
    return form->failed ? MHD_NO : MHD_YES;
}

static enum MHD_Result take_argument(void *closure, enum MHD_ValueKind kind, const char *name, size_t name_length,
                                     const char *value, size_t length) {
    (void)kind;
    (void)name_length;
    add(closure, name, value, length);
    return MHD_YES;
}

static void read_body(struct MHD_Connection *connection, struct form *form, struct call *call) {
    errno = 0; /* all that tells want of memory from a form that is none */
    struct MHD_PostProcessor *processor = MHD_create_post_processor(connection, BUFFER_BYTES, take_part, form);
    call->form = processor != NULL;
    if (processor) {
        MHD_post_process(processor, call->body, call->length);
        MHD_destroy_post_processor(processor); /* the last value may come now */
    }
    form->failed |= errno == ENOMEM;
}

int form_read(struct MHD_Connection *connection, struct arena *arena, struct call *call) {
    struct form *form = arena_alloc(arena, 1, sizeof *form);
    if (!form)
        return -1;
    form->arena = arena;
    form->count = 0;
    form->failed = false;
    if (!api_is_blank(call) && !api_begins_object(call))
        read_body(connection, form, call);
    MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, take_argument, form);
    call->fields = form->fields;
    call->field_count = form->count;
    return form->failed ? -1 : 0;
}
