#include "server/options_parse.h"
#include "server/decode/parameters.h"
#include "server/option_table.h"
#include "server/options_check.h"
#include "server/options_file.h"
#include "server/suggest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int set_default(struct options *options, const struct option *option, struct error *err) {
    if (!option->fallback)
        return 0;
    char cores[32];
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(cores, sizeof cores, "%ld", online < 1 ? 1 : online > 1024 ? 1024 : online);
    const char *value = strcmp(option->fallback, "cores") == 0 ? cores : option->fallback;
    return option_set(option, option->flag, value, option_field(option, options), err);
}

/* Takes the place of the default; an empty one mostly counts as unset, as compose files produce them. */
static int set_from_environment(struct options *options, const struct option *option, struct error *err) {
    char name[OPTION_NAME_BYTES];
    option_variable(option, name);
    const char *value = getenv(name);
    if (!value || (*value == '\0' && !option_may_be_empty(option)))
        return 0;
    option_done(option, option_field(option, options));
    return option_set(option, name, value, option_field(option, options), err);
}

static int set_all(struct options *options, const struct option_table *table,
                   int (*set)(struct options *options, const struct option *option, struct error *err), struct error *err) {
    for (size_t i = 0; i < table->count; i++) {
        const struct option *option = &table->options[i];
        if ((option->commands & (int)options->command) && set(options, option, err) != 0)
            return -1;
    }
    return 0;
}

/* ---- the command line ---- */

/* A flag and its value, which NULL stands for where it is a switch. */
struct given {
    const struct option *option;
    const char *value;
};

struct arguments {
    struct option_table table;
    int count;
    char *const *values;
    int next;
    struct given *given; /* [given_count] */
    size_t given_count;
    const char *file;       /* the document; NULL: none */
    struct name_list paths; /* of the model to import */
};

static int refuse_flag(const struct option_table *table, const char *argument, enum command command, struct error *err) {
    char flag[OPTION_NAME_BYTES], asked[OPTION_NAME_BYTES];
    snprintf(asked, sizeof asked, "%.*s", (int)strcspn(argument, "="), argument);
    const struct option *elsewhere = option_find(table, asked, ~0);
    if (elsewhere && (elsewhere->commands & COMMAND_SERVE))
        return error_set(err, ERROR_INPUT, "unknown argument \"%.60s\": it is an option of the daemon", asked);
    if (elsewhere)
        return error_set(err, ERROR_INPUT, "unknown argument \"%.60s\": it is an option of alignd %s", asked,
                         option_command_word(elsewhere->commands));
    const struct option *near = option_suggest(table, asked, (int)command);
    if (!near)
        return error_set(err, ERROR_INPUT, "unknown argument \"%.60s\"", asked);
    option_flag(near, flag);
    return error_set(err, ERROR_INPUT, "unknown argument \"%.60s\": did you mean %s?", asked, flag);
}

static int read_flag(const struct options *options, struct arguments *arguments, struct error *err) {
    const char *argument = arguments->values[arguments->next++];
    const struct option *option = option_find(&arguments->table, argument, (int)options->command);
    if (!option)
        return refuse_flag(&arguments->table, argument, options->command, err);
    const char *equals = strchr(argument, '=');
    const char *value = equals ? equals + 1 : NULL;
    if (option->metavar && !value) {
        if (arguments->next == arguments->count)
            return error_set(err, ERROR_INPUT, "%s needs a value", argument);
        value = arguments->values[arguments->next++];
    }
    arguments->given[arguments->given_count++] = (struct given){option, value};
    return 0;
}

/* What is no flag: the document, or a command that is misspelt. */
static int read_word(const struct options *options, struct arguments *arguments, struct error *err) {
    const char *word = arguments->values[arguments->next++];
    struct suggestion suggestion = {.asked = word};
    if (options->command == COMMAND_IMPORT)
        return name_list_add(&arguments->paths, word, strlen(word)) == 0 ? 0 : error_memory(err);
    if (options->command == COMMAND_TRANSLATE && !arguments->file) {
        arguments->file = word;
        return 0;
    }
    for (size_t i = 0; arguments->next == 2 && option_command_nth(i); i++)
        suggest(&suggestion, option_command_nth(i)->word);
    if (suggestion.nearest)
        return error_set(err, ERROR_INPUT, "unknown argument \"%.60s\": did you mean alignd %s?", word, suggestion.nearest);
    return error_set(err, ERROR_INPUT, "unknown argument \"%.60s\"", word);
}

static int read_arguments(const struct options *options, struct arguments *arguments, struct error *err) {
    arguments->given = calloc((size_t)arguments->count + 1, sizeof *arguments->given);
    if (!arguments->given)
        return error_memory(err);
    while (arguments->next < arguments->count) {
        bool flag = arguments->values[arguments->next][0] == '-';
        if ((flag ? read_flag : read_word)(options, arguments, err) != 0)
            return -1;
    }
    return 0;
}

static int set_given(struct options *options, struct arguments *arguments, struct error *err) {
    bool seen[OPTIONS_MOST] = {false};
    for (size_t i = 0; i < arguments->given_count; i++) {
        const struct option *option = arguments->given[i].option;
        char name[OPTION_NAME_BYTES];
        option_flag(option, name);
        bool *again = &seen[option - arguments->table.options];
        if (!*again) /* the first takes the place of what was there */
            option_done(option, option_field(option, options));
        *again = true;
        if (option_set(option, name, arguments->given[i].value, option_field(option, options), err) != 0)
            return -1;
    }
    options->paths = arguments->paths;
    arguments->paths = (struct name_list){0};
    options->file = arguments->file ? strdup(arguments->file) : NULL;
    return arguments->file && !options->file ? error_memory(err) : 0;
}

/* ---- where the options come from, the strongest last ---- */

/* The last flag that says so, or the variable. */
static const char *find_config(const struct arguments *arguments) {
    const char *path = getenv("ALIGND_CONFIG");
    for (size_t i = 0; i < arguments->given_count; i++)
        if (strcmp(arguments->given[i].option->flag, "config") == 0)
            path = arguments->given[i].value;
    return path && *path ? path : NULL;
}

static int set_options(struct options *options, struct arguments *arguments, struct error *err) {
    if (read_arguments(options, arguments, err) != 0 || set_all(options, &arguments->table, set_default, err) != 0)
        return -1;
    const char *config = find_config(arguments);
    if (config && options_file_read(options, &arguments->table, config, err) != 0)
        return -1;
    if (set_all(options, &arguments->table, set_from_environment, err) != 0 || set_given(options, arguments, err) != 0)
        return -1;
    return options_check(options, err);
}

enum command options_command(int argc, char *const *argv) {
    const struct option_command *row;
    for (size_t i = 0; argc > 1 && (row = option_command_nth(i)) != NULL; i++)
        if (strcmp(argv[1], row->word) == 0)
            return row->command;
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
    struct options parsed = {.command = options_command(argc, argv)};
    struct arguments arguments = {.count = argc, .values = argv, .next = parsed.command == COMMAND_SERVE ? 1 : 2};
    int result = 0;
    if (parsed.command == COMMAND_TRANSLATE)
        parsed.search = parameters_default();
    parsed.help = asked_for(&arguments, "--help") || asked_for(&arguments, "-h");
    parsed.version = asked_for(&arguments, "--version");
    if (!parsed.help && !parsed.version) {
        option_table_make(&arguments.table);
        result = set_options(&parsed, &arguments, err);
        free(arguments.given);
        name_list_done(&arguments.paths);
    }
    if (result == 0)
        *options = parsed;
    else
        options_done(&parsed);
    return result;
}

void options_done(struct options *options) {
    struct option_table table;
    option_table_make(&table);
    for (size_t i = 0; i < table.count; i++)
        option_done(&table.options[i], option_field(&table.options[i], options));
    free(options->file);
    name_list_done(&options->paths);
}
