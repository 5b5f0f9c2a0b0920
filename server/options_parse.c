#include "server/options_parse.h"
#include "server/decode/parameters.h"
#include "server/option_table.h"
#include "server/options_check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *field_of(struct options *options, const struct option *option) {
    return (char *)options + option->offset;
}

static int set_default(struct options *options, const struct option *option, struct error *err) {
    if (!option->fallback)
        return 0;
    char cores[32];
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(cores, sizeof cores, "%ld", online < 1 ? 1 : online > 1024 ? 1024 : online);
    const char *value = strcmp(option->fallback, "cores") == 0 ? cores : option->fallback;
    return option_set(option, option->flag, value, field_of(options, option), err);
}

/* Takes the place of the default; an empty one mostly counts as unset, as compose files produce them. */
static int set_from_environment(struct options *options, const struct option *option, struct error *err) {
    char name[OPTION_NAME_BYTES];
    option_variable(option, name);
    const char *value = getenv(name);
    if (!value || (*value == '\0' && !option_may_be_empty(option)))
        return 0;
    option_done(option, field_of(options, option));
    return option_set(option, name, value, field_of(options, option), err);
}

static int set_defaults(struct options *options, const struct option_table *table, struct error *err) {
    for (size_t i = 0; i < table->count; i++) {
        const struct option *option = &table->options[i];
        if (!(option->commands & (int)options->command))
            continue;
        if (set_default(options, option, err) != 0 || set_from_environment(options, option, err) != 0)
            return -1;
    }
    return 0;
}

/* argument: a flag, up to '=' or the end. */
static const struct option *find_option(const struct option_table *table, const char *argument, enum command command) {
    size_t length = strcspn(argument, "=");
    for (size_t i = 0; i < table->count; i++) {
        const struct option *option = &table->options[i];
        char name[OPTION_NAME_BYTES];
        option_flag(option, name);
        if (strncmp(name, argument, length) == 0 && name[length] == '\0' && (option->commands & (int)command))
            return option;
    }
    return NULL;
}

struct arguments {
    struct option_table table;
    int count;
    char *const *values;
    int next;
    bool given[OPTIONS_MOST]; /* by a flag */
};

static int parse_flag(struct options *options, struct arguments *arguments, struct error *err) {
    const char *argument = arguments->values[arguments->next++];
    const struct option *option = find_option(&arguments->table, argument, options->command);
    if (!option)
        return error_set(err, ERROR_INPUT, "unknown argument \"%.60s\"", argument);
    char name[OPTION_NAME_BYTES];
    option_flag(option, name);
    const char *equals = strchr(argument, '=');
    const char *value = equals ? equals + 1 : NULL;
    if (option->metavar && !value) {
        if (arguments->next == arguments->count)
            return error_set(err, ERROR_INPUT, "%s needs a value", name);
        value = arguments->values[arguments->next++];
    }
    bool *given = &arguments->given[option - arguments->table.options];
    if (!*given) /* the first takes the place of default and variable */
        option_done(option, field_of(options, option));
    *given = true;
    return option_set(option, name, value, field_of(options, option), err);
}

/* What is no flag: the document. */
static int parse_file(struct options *options, struct arguments *arguments, struct error *err) {
    options->file = strdup(arguments->values[arguments->next++]);
    return options->file ? 0 : error_memory(err);
}

static int parse_argument(struct options *options, struct arguments *arguments, struct error *err) {
    bool file = options->command == COMMAND_TRANSLATE && !options->file && arguments->values[arguments->next][0] != '-';
    return file ? parse_file(options, arguments, err) : parse_flag(options, arguments, err);
}

static enum command parse_command(struct arguments *arguments) {
    static const struct {
        const char *word;
        enum command command;
    } commands[] = {{"translate", COMMAND_TRANSLATE},
                    {"attention", COMMAND_ATTENTION},
                    {"key", COMMAND_KEY},
                    {"health", COMMAND_HEALTH},
                    {"pack", COMMAND_PACK}};
    arguments->next = 1;
    for (size_t i = 0; arguments->count > 1 && i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(arguments->values[1], commands[i].word) == 0) {
            arguments->next = 2;
            return commands[i].command;
        }
    }
    return COMMAND_SERVE;
}

static bool asked_for(const struct arguments *arguments, const char *flag) {
    for (int i = arguments->next; i < arguments->count; i++) {
        if (strcmp(arguments->values[i], flag) == 0)
            return true;
    }
    return false;
}

int options_parse(struct options *options, int argc, char *const *argv, struct error *err) {
    struct arguments arguments = {.count = argc, .values = argv};
    struct options parsed = {.command = parse_command(&arguments)};
    if (parsed.command == COMMAND_TRANSLATE)
        parsed.search = parameters_default();
    parsed.help = asked_for(&arguments, "--help") || asked_for(&arguments, "-h");
    parsed.version = asked_for(&arguments, "--version");
    if (!parsed.help && !parsed.version) {
        option_table_make(&arguments.table);
        if (set_defaults(&parsed, &arguments.table, err) != 0)
            goto failed;
        while (arguments.next < arguments.count) {
            if (parse_argument(&parsed, &arguments, err) != 0)
                goto failed;
        }
        if (options_check(&parsed, err) != 0)
            goto failed;
    }
    *options = parsed;
    return 0;
failed:
    options_done(&parsed);
    return -1;
}

void options_done(struct options *options) {
    struct option_table table;
    option_table_make(&table);
    for (size_t i = 0; i < table.count; i++)
        option_done(&table.options[i], field_of(options, &table.options[i]));
    free(options->file);
}
