/* This file hides how an error is kept: the first message stays. */
#include "model/base/error.h"
#include <stdarg.h>
#include <stdio.h>

int error_set(struct error *err, enum error_code code, const char *format, ...) {
    if (err == NULL || err->code != ERROR_NONE)
        return -1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    err->code = code;
    return -1;
}

int error_memory(struct error *err) {
    return error_set(err, ERROR_MEMORY, "out of memory");
}
