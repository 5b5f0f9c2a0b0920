#include "server/options_file.h"
#include "model/base/file.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20 };

static const char byte_order_mark[] = "\xef\xbb\xbf";

static char *trim(char *text) {
    while (isspace((unsigned char)*text))
        text++;
    for (size_t length = strlen(text); length > 0 && isspace((unsigned char)text[length - 1]);)
        text[--length] = '\0';
    return text;
}

static void cut_comment(char *line) {
    char *c = line;
    while (*c && (*c != '#' || (c > line && !isspace((unsigned char)c[-1]))))
        c++;
    *c = '\0';
}

static int refuse_name(const struct option_table *table, const char *name, struct error *err) {
    char flag[OPTION_NAME_BYTES];
    const struct option *near = option_suggest(table, name, ~0);
    if (!near)
        return error_set(err, ERROR_INPUT, "unknown option \"%.60s\"", name);
    option_flag(near, flag);
    return error_set(err, ERROR_INPUT, "unknown option \"%.60s\": did you mean %s?", name, flag + 2);
}

/* seen: options that have stood in the file already. */
static int read_line(struct options *options, const struct option_table *table, char *line, bool seen[OPTIONS_MOST],
                     struct error *err) {
    cut_comment(line);
    char *equals = strchr(line, '='), *value = equals ? trim(equals + 1) : NULL;
    if (equals)
        *equals = '\0';
    const char *name = trim(line);
    if (*name == '\0' && !equals)
        return 0;
    const struct option *option = option_find(table, name, (int)options->command);
    if (!option)
        return option_find(table, name, ~0) ? 0 : refuse_name(table, name, err);
    if (strcmp(option->flag, "config") == 0)
        return error_set(err, ERROR_INPUT, "config cannot be set in a file");
    if (option->metavar && !value)
        return error_set(err, ERROR_INPUT, "%s needs a value: %s = %s", name, name, option->metavar);
    if (value && *value == '\0' && !option_may_be_empty(option))
        return error_set(err, ERROR_INPUT, "%s needs a value", name);
    bool *again = &seen[option - table->options];
    if (!*again)
        option_done(option, option_field(option, options));
    *again = true;
    return option_set(option, name, value, option_field(option, options), err);
}

int options_file_read(struct options *options, const struct option_table *table, const char *path, struct error *err) {
    bool seen[OPTIONS_MOST] = {false};
    char *text;
    size_t length, number = 0;
    int result = 0;
    if (file_read(path, MOST_BYTES, &text, &length, err) != 0)
        return -1;
    if (strlen(text) != length)
        result = error_set(err, ERROR_INPUT, "%.100s is not a text: it has a zero byte", path);
    size_t mark = strlen(byte_order_mark);
    char *rest = text + (strncmp(text, byte_order_mark, mark) == 0 ? mark : 0);
    for (char *line; result == 0 && (line = strsep(&rest, "\n")) != NULL;) {
        struct error inner = {0};
        number++;
        if (read_line(options, table, line, seen, &inner) != 0)
            result = error_set(err, inner.code, "%.100s, line %zu: %s", path, number, inner.message);
    }
    free(text);
    return result;
}
