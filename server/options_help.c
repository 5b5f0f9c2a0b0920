#include "server/options_help.h"
#include "server/option_table.h"
#include "server/options.h"
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "alignd: a translation service that shows its attention\n\n"
    "  alignd [options]                                             serve the models that came with it over HTTP: those of\n"
    "                                                               ../share/alignd or ../weights, seen from its own folder\n"
    "  alignd --model DIR [--model DIR ...] [options]               serve these models\n"
    "  alignd --models DIR [options]                                serve the model folders in DIR, loaded when needed\n"
    "  alignd translate --model DIR [options] < source > target     translate lines\n"
    "  alignd translate --model DIR [--format FORMAT] FILE          translate a document: subtitles, JSON, Markdown,\n"
    "                                                               HTML, gettext's PO, XLIFF, text\n"
    "  alignd translate --model DIR --shard K/N --checkpoint FILE --output FILE < source\n"
    "                                                               translate a share of a corpus, and go on after a crash\n"
    "  alignd attention --model DIR --target FILE < source          align the words of line pairs (Pharaoh format); with a\n"
    "                                                               second --model for the opposite direction, by both\n"
    "  alignd pack --model DIR [--model DIR ...] [--compute TYPE]   pack weights into a file in the folder, so that loading "
    "is\n"
    "                                                               faster and daemons share memory\n"
    "  alignd key --name NAME [--role admin] >> KEYS                make an API key, shown once, and its line for --api-keys\n"
    "  alignd health [--listen ADDRESS]                             check that a running daemon is ready: exit status 0\n\n"
    "Each option can also be set by the environment variable in brackets; flags take precedence. ALIGND_MODEL may hold "
    "several\n"
    "folders, separated by ':'. --help prints this text, --version the version.\n";

static const struct {
    const char *title;
    int commands;
} sections[] = {
    {"All modes:", OPTION_ALL},          {"Serving:", COMMAND_SERVE},          {"Translating and aligning:", OPTION_BATCH},
    {"Translating:", COMMAND_TRANSLATE}, {"Aligning:", COMMAND_ATTENTION},     {"Packing:", COMMAND_PACK},
    {"Making an API key:", COMMAND_KEY}, {"Asking a daemon:", COMMAND_HEALTH},
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

char *options_help(void) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    struct option_table table;
    option_table_make(&table);
    fputs(usage, out);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        print_section(out, &table, sections[i].title, sections[i].commands);
    bool written = !ferror(out);
    if (fclose(out) != 0 || !written) {
        free(text);
        return NULL;
    }
    return text;
}
