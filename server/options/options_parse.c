/* This file hides where options come from, which source takes precedence, which options exclude
 * each other, and the text of
 * --help. */
#include "model/base/file.h"
#include "server/base/memory.h"
#include "server/decode/parameters.h"
#include "server/get/get.h"
#include "server/options/options.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MOST_FILE_BYTES = 1 << 20, LEAST_SHARE = 16 << 20 /* bytes */ };

/* Sets an option from one source. *seen: this source has set it before. The first value replaces
 * that of an earlier source, and further values of a list are appended. */
static int set_once(struct options *options, const struct option *option, const char *name,
                    const char *value, bool *seen, struct error *err) {
    if (!*seen)
        option_done(option, options);
    *seen = true;
    return option_set(option, name, value, options, err);
}

/* ---- the file ---- */

static char *trim(char *text) {
    while (isspace((unsigned char)*text))
        text++;
    for (size_t length = strlen(text); length > 0 && isspace((unsigned char)text[length - 1]);)
        text[--length] = '\0';
    return text;
}

/* Reads a line of the file. seen [OPTIONS_MOST]: by index in the table. */
static int read_line(struct options *options, const struct option_table *table, char *line,
                     bool *seen, struct error *err) {
    char *comment = line;
    while (*comment &&
           (*comment != '#' || (comment > line && !isspace((unsigned char)comment[-1]))))
        comment++;
    *comment = '\0';
    char *equals = strchr(line, '='), *value = equals ? trim(equals + 1) : NULL;
    if (equals)
        *equals = '\0';
    const char *name = trim(line);
    if (*name == '\0' && !equals)
        return 0;

    const struct option *option = option_find(table, name, (int)options->command);
    if (!option && option_find(table, name, ~0))
        return 0;
    if (!option) {
        char flag[OPTION_NAME_BYTES];
        const struct option *near = option_suggest(table, name, ~0);
        if (!near)
            return error_set(err, ERROR_INPUT, "unknown option \"%.60s\"", name);
        option_flag(near->flag, flag);
        return error_set(err, ERROR_INPUT, "unknown option \"%.60s\": did you mean %s?", name,
                         flag + 2);
    }
    if (strcmp(option->flag, "config") == 0)
        return error_set(err, ERROR_INPUT, "config cannot be set in a file");
    if (option->metavar && !value)
        return error_set(err, ERROR_INPUT, "%s needs a value: %s = %s", name, name,
                         option->metavar);
    if (value && *value == '\0' && !option_may_be_empty(option))
        return error_set(err, ERROR_INPUT, "%s needs a value", name);
    return set_once(options, option, name, value, &seen[option - table->options], err);
}

/* Sets the options of options->command; those of other commands are ignored. */
static int read_file(struct options *options, const struct option_table *table, const char *path,
                     struct error *err) {
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    bool seen[OPTIONS_MOST] = {false};
    char *text;
    size_t length, number = 0, mark = strlen(byte_order_mark);
    int result = 0;
    if (file_read(path, MOST_FILE_BYTES, &text, &length, err) != 0)
        return -1;
    if (strlen(text) != length)
        result =
            error_set(err, ERROR_INPUT, "%.100s is not a text file: it contains a zero byte", path);
    char *rest = text + (strncmp(text, byte_order_mark, mark) == 0 ? mark : 0);
    for (char *line; result == 0 && (line = strsep(&rest, "\n")) != NULL;) {
        struct error inner = {0};
        number++;
        if (read_line(options, table, line, seen, &inner) != 0)
            result =
                error_set(err, inner.code, "%.100s, line %zu: %s", path, number, inner.message);
    }
    free(text);
    return result;
}

/* ---- the command line ---- */

struct arguments {
    struct option_table table;
    int count, next; /* next: the first argument that has not been read */
    const char *const *values;
    bool alone; /* the environment does not count */
    struct given {
        const struct option *option;
        const char *value; /* NULL for a switch */
    } * given;             /* [given_count] */
    size_t given_count;
};

static int read_flag(struct options *options, struct arguments *arguments, struct error *err) {
    const char *argument = arguments->values[arguments->next++];
    const struct option *option = option_find(&arguments->table, argument, (int)options->command);
    if (!option) {
        char flag[OPTION_NAME_BYTES], asked[OPTION_NAME_BYTES];
        snprintf(asked, sizeof asked, "%.*s", (int)strcspn(argument, "="), argument);
        const struct option *elsewhere = option_find(&arguments->table, asked, ~0);
        if (elsewhere && (elsewhere->commands & COMMAND_SERVE))
            return error_set(err, ERROR_INPUT,
                             "unknown argument \"%.60s\": it is an option of the daemon", asked);
        if (elsewhere)
            return error_set(err, ERROR_INPUT,
                             "unknown argument \"%.60s\": it is an option of alignd %s", asked,
                             option_command_word(elsewhere->commands));
        const struct option *near = option_suggest(&arguments->table, asked, (int)options->command);
        if (!near)
            return error_set(err, ERROR_INPUT, "unknown argument \"%.60s\"", asked);
        option_flag(near->flag, flag);
        return error_set(err, ERROR_INPUT, "unknown argument \"%.60s\": did you mean %s?", asked,
                         flag);
    }
    const char *equals = strchr(argument, '='), *value = equals ? equals + 1 : NULL;
    if (option->metavar && !value) {
        if (arguments->next == arguments->count)
            return error_set(err, ERROR_INPUT, "%s needs a value", argument);
        value = arguments->values[arguments->next++];
    }
    arguments->given[arguments->given_count++] = (struct given){option, value};
    return 0;
}

/* Reads an argument that is not a flag: a path or a name, the document, or a misspelt command. */
static int read_word(struct options *options, struct arguments *arguments, struct error *err) {
    const char *word = arguments->values[arguments->next++];
    struct suggestion suggestion = {.asked = word};
    if ((int)options->command & (COMMAND_IMPORT | COMMAND_GET | COMMAND_REMOVE | COMMAND_SHORTLIST))
        return name_list_add(&options->paths, word, strlen(word)) == 0 ? 0 : error_memory(err);
    if (options->command == COMMAND_ALIGN_HEAD)
        return name_list_add(&options->models, word, strlen(word)) == 0 ? 0 : error_memory(err);
    if (options->command == COMMAND_TRANSLATE && !options->file) {
        options->file = strdup(word);
        return options->file ? 0 : error_memory(err);
    }
    for (size_t i = 0; arguments->next == 2 && option_command_nth(i); i++)
        option_suggest_word(&suggestion, option_command_nth(i)->word);
    if (suggestion.nearest)
        return error_set(err, ERROR_INPUT, "unknown argument \"%.60s\": did you mean alignd %s?",
                         word, suggestion.nearest);
    return error_set(err, ERROR_INPUT, "unknown argument \"%.60s\"", word);
}

/* ---- options that depend on each other ---- */

/* Checks options that depend on each other. Fields of other commands are zero and therefore valid.
 */
static int check(const struct options *options, struct error *err) {
    enum command command = options->command;
    const struct search_options *search = &options->search;
    const char *mirror = options->mirror;
    if (command == COMMAND_KEY)
        return options->name ? 0 : error_set(err, ERROR_INPUT, "--name NAME is missing");
    if (command == COMMAND_HEALTH)
        return 0;
    if (command == COMMAND_IMPORT)
        return options->paths.count > 0
                   ? 0
                   : error_set(err, ERROR_INPUT,
                               "PATH is missing: a model's folder, archive or file, or a URL");
    if (command == COMMAND_SHORTLIST && options->models.count != 1)
        return error_set(err, ERROR_INPUT, "--model MODEL %s",
                         options->models.count == 0 ? "is missing" : "must be given once");
    if (command == COMMAND_ALIGN_HEAD && options->models.count != 1)
        return error_set(err, ERROR_INPUT, "MODEL %s",
                         options->models.count == 0 ? "is missing" : "must be given once");
    if (command == COMMAND_ALIGN_HEAD)
        return options->file && options->target
                   ? 0
                   : error_set(err, ERROR_INPUT, "--%s FILE is missing",
                               options->file ? "translation" : "text");
    if (command == COMMAND_SHORTLIST)
        return options->to
                   ? 0
                   : error_set(err, ERROR_INPUT, "--to CODE is missing: the language of the text");
    if (mirror && strncasecmp(mirror, "http://", 7) != 0 && strncasecmp(mirror, "https://", 8) != 0)
        return error_set(err, ERROR_INPUT,
                         "--mirror must begin with http:// or https://, got \"%.60s\"", mirror);
    if (options->fetch && fetcher_check_sources(options->fetch, err) != 0)
        return -1;
    if (options->fetch_pairs && !options->fetch)
        return error_set(err, ERROR_INPUT, "--fetch-pairs needs --fetch");
    if (options->fetch && options->offline)
        return error_set(err, ERROR_INPUT, "--fetch and --offline cannot be given together");
    if (command == COMMAND_REMOVE && options->paths.count == 0)
        return error_set(err, ERROR_INPUT, "NAME is missing: alignd models lists them");
    if (command == COMMAND_GET && options->paths.count == 0 && !options->list && !options->update)
        return error_set(err, ERROR_INPUT,
                         "PAIR is missing, such as en-fr: alignd get --list shows what there is");
    if (command == COMMAND_GET && options->list && options->update)
        return error_set(err, ERROR_INPUT, "--list and --update cannot be given together");
    if (options->name && options->paths.count != 1)
        return error_set(err, ERROR_INPUT, "--name is for one model, and %zu are named",
                         options->paths.count);
    if ((int)command & OPTION_KEPT)
        return 0;

    if (!options->from != !options->to)
        return error_set(err, ERROR_INPUT, "--from and --to must be given together");
    if (options->models.count == 0 && command == COMMAND_PACK)
        return error_set(err, ERROR_INPUT, "--model MODEL is missing");
    if (options->models.count == 0 && !((int)command & OPTION_SERVING) && !options->from &&
        !options->merge)
        return error_set(err, ERROR_INPUT,
                         "--model MODEL is missing, or --from CODE and --to CODE");
    if (command == COMMAND_TRANSLATE && options->models.count > 1)
        return error_set(err, ERROR_INPUT, "--model must be given only once in this mode");
    if (command == COMMAND_ATTENTION && options->models.count > 2)
        return error_set(
            err, ERROR_INPUT,
            "--model must be given at most twice in this mode, once for each direction");

    bool document = options->file || options->format;
    if (options->bilingual && !document)
        return error_set(err, ERROR_INPUT,
                         "--bilingual needs a document: name its FILE, or --format");
    if ((options->review || options->merge) && !document)
        return error_set(err, ERROR_INPUT,
                         "--review and --merge need a document: name its FILE, or --format");
    if (options->keys.count > 0 && !document)
        return error_set(err, ERROR_INPUT,
                         "--keys needs a JSON document: name its FILE, or --format json");
    if (command == COMMAND_ATTENTION && !options->target)
        return error_set(err, ERROR_INPUT, "--target FILE is missing");

    bool beam = command == COMMAND_TRANSLATE && parameters_beam(search);
    if (beam && search->beam_size > options->rows)
        return error_set(err, ERROR_INPUT, "--beam-size must be at most --rows (%zu), got %zu",
                         options->rows, search->beam_size);
    if (search->max_length > 0 && search->min_length > search->max_length)
        return error_set(err, ERROR_INPUT,
                         "--min-length must be at most --max-length (%zu), got %zu",
                         search->max_length, search->min_length);
    if (options->max_reply_bytes > options->reply_memory)
        return error_set(err, ERROR_INPUT,
                         "--max-reply-bytes must be at most --reply-memory (%zu), got %zu",
                         options->reply_memory, options->max_reply_bytes);
    bool threadless = command == COMMAND_LIBRARY && !options->threads;
    if ((options->resident || threadless) && (options->directory || options->model_memory > 0))
        return error_set(err, ERROR_INPUT,
                         "--%s loads all models when it opens: name them by --model, without %s",
                         threadless ? "threads=false" : "resident",
                         options->directory ? "--models" : "--model-memory");
    if (!options->tls_cert != !options->tls_key)
        return error_set(err, ERROR_INPUT, "--tls-cert and --tls-key must be given together");
    return 0;
}

/* ---- defaults that depend on the memory ---- */

/* Sets the defaults of options that share the memory of the process and are still 0. Those of
 * workers divide theirs. */
static int share_memory(struct options *options, const struct option_table *table,
                        struct error *err) {
    options->memory = memory_limit("");
    for (size_t i = 0; i < table->count; i++) {
        const struct option *option = &table->options[i];
        size_t *field = (size_t *)(void *)((char *)options + option->offset);
        if (option->share == 0 || !(option->commands & (int)options->command) ||
            (*field > 0 && *field != OPTION_AUTO))
            continue;
        size_t share = options->memory / option->share;
        if (field == &options->decode_memory)
            share /= options->workers;
        bool automatic = strcmp(option->fallback, "auto") == 0;
        if (!automatic && option_set(option, option->flag, option->fallback, options, err) != 0)
            return -1;
        if (automatic)
            *field = share > LEAST_SHARE ? share : LEAST_SHARE;
        else if (share < *field)
            *field = share > (size_t)option->minimum ? share : (size_t)option->minimum;
    }
    return 0;
}

/* ---- all sources ---- */

enum command options_command(int argc, char *const *argv) {
    const struct option_command *row;
    for (size_t i = 0; argc > 1 && (row = option_command_nth(i)) != NULL; i++)
        if (strcmp(argv[1], row->word) == 0)
            return row->command;
    return COMMAND_SERVE;
}

/* Reads the command line first, because it may name the file; then sets the options in order of
 * increasing precedence: defaults, the file, the environment, the command line. An empty variable
 * usually counts as unset, because compose files produce them. */
static int set_options(struct options *options, struct arguments *arguments, struct error *err) {
    const struct option_table *table = &arguments->table;
    char name[OPTION_NAME_BYTES], cores[32];
    bool seen[OPTIONS_MOST] = {false};
    while (arguments->next < arguments->count) {
        const char *word = arguments->values[arguments->next];
        bool ending = options->command == COMMAND_GET && word[0] == '-' &&
                      word[1] != '-'; /* the end of a pair, such as -en */
        bool flag = word[0] == '-' && !ending;
        if ((flag ? read_flag : read_word)(options, arguments, err) != 0)
            return -1;
    }
    const char *config = arguments->alone ? NULL : getenv("ALIGND_CONFIG");
    for (size_t i = 0; i < arguments->given_count; i++)
        if (strcmp(arguments->given[i].option->flag, "config") == 0)
            config = arguments->given[i].value;

    long online = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(cores, sizeof cores, "%ld", online < 1 ? 1 : online > 1024 ? 1024 : online);
    for (size_t i = 0; i < table->count; i++) {
        const struct option *option = &table->options[i];
        const char *fallback = option->commands & (int)options->command ? option->fallback : NULL;
        if (fallback && strcmp(fallback, "cores") == 0)
            fallback = cores;
        if (fallback && option->share == 0 &&
            option_set(option, option->flag, fallback, options, err) != 0)
            return -1;
    }
    if (config && *config && read_file(options, table, config, err) != 0)
        return -1;
    for (size_t i = 0; i < table->count && !arguments->alone; i++) {
        const struct option *option = &table->options[i];
        bool set = false;
        option_variable(option, name);
        const char *value = option->commands & (int)options->command ? getenv(name) : NULL;
        if (value && (*value != '\0' || option_may_be_empty(option)) &&
            set_once(options, option, name, value, &set, err) != 0)
            return -1;
    }
    for (size_t i = 0; i < arguments->given_count; i++) {
        const struct given *given = &arguments->given[i];
        option_flag(given->option->flag, name);
        if (set_once(options, given->option, name, given->value,
                     &seen[given->option - table->options], err) != 0)
            return -1;
    }
    return share_memory(options, table, err) == 0 ? check(options, err) : -1;
}

/* Sets the parsed options, of which the caller has set the command. On failure frees them. */
static int parse(struct options *parsed, struct arguments *arguments, struct error *err) {
    option_table_make(&arguments->table);
    arguments->given = calloc((size_t)arguments->count + 1, sizeof *arguments->given);
    int result = arguments->given ? set_options(parsed, arguments, err) : error_memory(err);
    free(arguments->given);
    if (result != 0)
        options_done(parsed);
    return result;
}

int options_parse(struct options *options, int argc, char *const *argv, struct error *err) {
    struct options parsed = {.command = options_command(argc, argv)};
    struct arguments arguments = {.count = argc,
                                  .values = (const char *const *)argv,
                                  .next = parsed.command == COMMAND_SERVE ? 1 : 2};
    if (parsed.command == COMMAND_TRANSLATE)
        parsed.search = parameters_default();
    for (int i = arguments.next; i < argc; i++) {
        parsed.help |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
        parsed.version |= strcmp(argv[i], "--version") == 0;
    }
    if (!parsed.help && !parsed.version && parse(&parsed, &arguments, err) != 0)
        return -1;
    *options = parsed;
    return 0;
}

int options_read(struct options *options, enum command command, size_t count,
                 const char *const *flags, struct error *err) {
    struct options parsed = {.command = command};
    struct arguments arguments = {.count = (int)count, .values = flags, .alone = true};
    if (parse(&parsed, &arguments, err) != 0)
        return -1;
    *options = parsed;
    return 0;
}

void options_done(struct options *options) {
    struct option_table table;
    option_table_make(&table);
    for (size_t i = 0; i < table.count; i++)
        option_done(&table.options[i], options);
    free(options->file);
    name_list_done(&options->paths);
}

/* ---- help ---- */

static const char usage[] =
    "alignd: a translation service that shows its attention\n\n"
    "  alignd [options]                                             serve the models that came "
    "with it over HTTP: those of\n"
    "                                                               ../share/alignd or ../weights, "
    "seen from its own folder\n"
    "  alignd --model MODEL [--model MODEL ...] [options]           serve these models\n"
    "  alignd --models DIR [options]                                serve the model folders in "
    "DIR, loaded when needed\n"
    "  alignd translate --model MODEL [options] < source > target   translate lines\n"
    "  alignd translate --model MODEL [--format FORMAT] FILE        translate a document: "
    "subtitles, JSON, Markdown,\n"
    "                                                               HTML, gettext's PO, XLIFF, "
    "text, Office, LibreOffice,\n"
    "                                                               EPUB\n"
    "  alignd attention --model MODEL --target FILE < source        align the words of line pairs "
    "(Pharaoh format); with a\n"
    "                                                               second --model for the "
    "opposite direction, by both\n"
    "  alignd mcp [--model MODEL ...]                               let an agent translate and "
    "align (Model Context Protocol, stdio)\n"
    "  alignd pack --model MODEL [--model MODEL ...] [--compute TYPE]\n"
    "                                                               pack weights into a file in "
    "the folder, so that loading is\n"
    "                                                               faster and daemons share "
    "memory\n"
    "  alignd shortlist --model MODEL --to CODE [TEXT...]           count the pieces that a "
    "language uses in a text, and\n"
    "                                                               choose translations into it "
    "from these\n"
    "  alignd align-head MODEL --text FILE --translation FILE\n"
    "                                                               give a model that was not "
    "trained to align a head that\n"
    "                                                               says which words are "
    "translated\n"
    "  alignd get PAIR... [options]                                 download, verify and import "
    "Mozilla's model for a pair of\n"
    "                                                               languages (en-fr); opus:, "
    "argos:, quickmt:, hplt:, hf:, URL: others; --best: the best\n"
    "  alignd get --list [en-] | --update                           list what there is; get newer "
    "versions\n"
    "  alignd models, alignd remove NAME                            list and remove downloaded "
    "models\n"
    "  alignd import PATH... [--into DIR] [--name NAME] [--from CODE] [--to CODE]\n"
    "                                                               convert a model of Marian, "
    "OPUS-MT, Firefox\n"
    "                                                               or Hugging Face: a folder, an "
    "archive, files, URLs\n"
    "  alignd key --name NAME [--role admin] >> KEYS                make an API key, shown once, "
    "and its line for --api-keys\n"
    "  alignd health [--listen ADDRESS]                             check that a running daemon is "
    "ready: exit status 0\n\n"
    "MODEL is a model folder, or the name of a model (en-fr). `alignd COMMAND --help` describes "
    "one command.\n";

static const char ways[] = "Each option can also be set by the environment variable in brackets, "
                           "or in the file that --config names; flags override\n"
                           "variables, which override the file. ALIGND_MODEL may hold several "
                           "folders, separated by ':'. SIZE is a number of bytes or has "
                           "a\n"
                           "unit (64k, 512M, 2G: powers of 1024; kB, MB, GB: of 1000), TIME has "
                           "one (500ms, 5s, 2min, 1h) or is in the unit that ends "
                           "the\n"
                           "option's name. --help prints this text, --version the version.\n";

static const struct {
    const char *title;
    int commands; /* exactly the commands of the section's options */
} sections[] = {
    {"Everywhere:", OPTION_EVERY},
    {"Modes that decode:", OPTION_ALL},
    {"Serving:", OPTION_SERVING},
    {"Serving, to clients and to an agent:", OPTION_PROGRAM},
    {"Serving by HTTP:", COMMAND_SERVE},
    {"Translating and aligning:", OPTION_BATCH},
    {"Serving and translating:", OPTION_SERVING | COMMAND_TRANSLATE},
    {"Translating:", COMMAND_TRANSLATE},
    {"Aligning:", COMMAND_ATTENTION},
    {"Translating, aligning and packing:", OPTION_BATCH | COMMAND_PACK},
    {"Packing:", COMMAND_PACK},
    {"Counting a language's pieces:", COMMAND_SHORTLIST},
    {"Giving a model an alignment head:", COMMAND_ALIGN_HEAD},
    {"Downloading a model:", COMMAND_GET},
    {"Serving, and downloading a model:", OPTION_PROGRAM | COMMAND_GET},
    {"Serving, downloading and importing a model:", OPTION_DOWNLOADS},
    {"Downloading, listing and removing models:", OPTION_KEPT},
    {"Importing a model:", COMMAND_IMPORT},
    {"Making an API key:", COMMAND_KEY},
    {"Checking a daemon:", COMMAND_HEALTH},
};

static void print_option(FILE *out, const struct option *option) {
    char variable[OPTION_NAME_BYTES], name[OPTION_NAME_BYTES], flag[2 * OPTION_NAME_BYTES];
    option_variable(option, variable);
    option_flag(option->flag, name);
    snprintf(flag, sizeof flag, "%s %s", name, option->metavar ? option->metavar : "");
    fprintf(out, "  %-28s %s", flag, option->help);
    if (option->values) {
        char values[OPTION_VALUES_BYTES];
        option->values(values);
        fprintf(out, ": %s", values);
    }
    fprintf(out, " [%s%s%s]\n", variable, option->fallback ? "; default " : "",
            option->fallback ? option->fallback : "");
}

char *options_help(enum command command) {
    char *text = NULL;
    size_t length = 0;
    struct option_table table;
    const struct option_command *row = NULL;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    option_table_make(&table);
    for (size_t i = 0; (row = option_command_nth(i)) != NULL && row->command != command; i++)
        ;
    if (row) {
        fprintf(out, "alignd %s: %s\n\n", row->word, row->what);
        for (const char *line = row->usage; *line; line += strcspn(line, "\n") + 1)
            fprintf(out, "  %.*s\n", (int)strcspn(line, "\n"), line);
        fprintf(out, "\n%s\nOptions:\n", ways);
        for (size_t i = 0; i < table.count; i++)
            if (table.options[i].commands & (int)command)
                print_option(out, &table.options[i]);
    } else {
        fprintf(out, "%s\n%s", usage, ways);
        for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
            fprintf(out, "\n%s\n", sections[i].title);
            for (size_t j = 0; j < table.count; j++)
                if (table.options[j].commands == sections[i].commands)
                    print_option(out, &table.options[j]);
        }
    }
    bool written = !ferror(out);
    if (fclose(out) == 0 && written)
        return text;
    free(text);
    return NULL;
}
