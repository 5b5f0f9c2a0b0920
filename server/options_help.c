#include "server/options_help.h"
#include "server/option_table.h"
#include "server/options.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "alignd: a translation service that shows its attention\n\n"
    "  alignd [options]                                             serve the models that came with it over HTTP: those of\n"
    "                                                               ../share/alignd or ../weights, seen from its own folder\n"
    "  alignd --model MODEL [--model MODEL ...] [options]           serve these models\n"
    "  alignd --models DIR [options]                                serve the model folders in DIR, loaded when needed\n"
    "  alignd translate --model MODEL [options] < source > target   translate lines\n"
    "  alignd translate --model MODEL [--format FORMAT] FILE        translate a document: subtitles, JSON, Markdown,\n"
    "                                                               HTML, gettext's PO, XLIFF, text\n"
    "  alignd translate --model MODEL --shard K/N --checkpoint FILE --output FILE < source\n"
    "                                                               translate a share of a corpus, and go on after a crash\n"
    "  alignd attention --model MODEL --target FILE < source        align the words of line pairs (Pharaoh format); with a\n"
    "                                                               second --model for the opposite direction, by both\n"
    "  alignd pack --model MODEL [--model MODEL ...] [--compute TYPE]\n"
    "                                                               pack weights into a file in the folder, so that loading is\n"
    "                                                               faster and daemons share memory\n"
    "  alignd import PATH... [--into DIR] [--name NAME] [--from CODE] [--to CODE]\n"
    "                                                               make a model folder of a model of Marian, OPUS-MT, Firefox\n"
    "                                                               or Hugging Face: a folder, an archive, or files\n"
    "  alignd key --name NAME [--role admin] >> KEYS                make an API key, shown once, and its line for --api-keys\n"
    "  alignd health [--listen ADDRESS]                             check that a running daemon is ready: exit status 0\n\n"
    "MODEL is a model folder, or the name of a model (en-fr). `alignd COMMAND --help` prints what concerns one command.\n";

/* Of every help. */
static const char ways[] =
    "Each option can also be set by the environment variable in brackets, or in the file that --config names; flags override\n"
    "variables, which override the file. ALIGND_MODEL may hold several folders, separated by ':'. SIZE is a number of bytes or has "
    "a\n"
    "unit (64k, 512M, 2G: powers of 1024; kB, MB, GB: of 1000), TIME has one (500ms, 5s, 2min, 1h) or is in the unit that ends "
    "the\n"
    "option's name. --help prints this text, --version the version.\n";

static const struct {
    const char *title;
    int commands;
} sections[] = {
    {"Everywhere:", OPTION_EVERY},
    {"Modes that decode:", OPTION_ALL},
    {"Serving:", COMMAND_SERVE},
    {"Translating and aligning:", OPTION_BATCH},
    {"Translating:", COMMAND_TRANSLATE},
    {"Aligning:", COMMAND_ATTENTION},
    {"Translating, aligning and packing:", OPTION_BATCH | COMMAND_PACK},
    {"Packing:", COMMAND_PACK},
    {"Importing a model:", COMMAND_IMPORT},
    {"Making an API key:", COMMAND_KEY},
    {"Asking a daemon:", COMMAND_HEALTH},
};

static void print_option(FILE *out, const struct option *option) {
    char variable[OPTION_NAME_BYTES], name[OPTION_NAME_BYTES], flag[2 * OPTION_NAME_BYTES];
    option_variable(option, variable);
    option_flag(option, name);
    snprintf(flag, sizeof flag, "%s %s", name, option->metavar ? option->metavar : "");
    fprintf(out, "  %-28s %s [%s%s%s]\n", flag, option->help, variable, option->fallback ? "; default " : "",
            option->fallback ? option->fallback : "");
}

static void print_section(FILE *out, const struct option_table *table, const char *title, int commands) {
    fprintf(out, "\n%s\n", title);
    for (size_t i = 0; i < table->count; i++) {
        if (table->options[i].commands == commands)
            print_option(out, &table->options[i]);
    }
}

static void print_all(FILE *out, const struct option_table *table) {
    fprintf(out, "%s\n%s", usage, ways);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        print_section(out, table, sections[i].title, sections[i].commands);
}

static void print_command(FILE *out, const struct option_table *table, const struct option_command *command) {
    fprintf(out, "alignd %s: %s\n\n", command->word, command->what);
    for (const char *line = command->usage; *line; line += strcspn(line, "\n") + 1)
        fprintf(out, "  %.*s\n", (int)strcspn(line, "\n"), line);
    fprintf(out, "\n%s\nOptions:\n", ways);
    for (size_t i = 0; i < table->count; i++)
        if (table->options[i].commands & (int)command->command)
            print_option(out, &table->options[i]);
}

char *options_help(enum command command) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    struct option_table table;
    option_table_make(&table);
    const struct option_command *row = NULL;
    for (size_t i = 0; (row = option_command_nth(i)) != NULL && row->command != command; i++) {
    }
    if (row)
        print_command(out, &table, row);
    else
        print_all(out, &table);
    bool written = !ferror(out);
    if (fclose(out) == 0 && written)
        return text;
    free(text);
    return NULL;
}
