#include "server/options.h"
#include "server/links.h"
#include "server/log.h"
#include "server/request.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NAME_BYTES = 64,
    ALL = COMMAND_SERVE | COMMAND_TRANSLATE | COMMAND_ATTENTION,
    BATCH = COMMAND_TRANSLATE | COMMAND_ATTENTION
};

struct option {
    const char *flag; /* without --; the variable is ALIGND_ and the flag in capitals */
    const char *metavar;
    const char *fallback; /* NULL: none */
    const char *help;
    int commands; /* that know it */
    int (*set)(const struct option *option, const char *name, const char *value, void *field, struct error *err);
    size_t offset; /* of the field in struct options */
    double minimum, maximum;
};

static int set_string(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    (void)option;
    (void)name;
    char *copy = strdup(value);
    if (!copy)
        return error_memory(err);
    char **string = field;
    free(*string);
    *string = copy;
    return 0;
}

static int set_strategy(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    if (!request_strategy(value))
        return error_set(err, ERROR_INPUT, "%s must be " REQUEST_STRATEGIES ", got \"%.60s\"", name, value);
    return set_string(option, name, value, field, err);
}

static int set_compute(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    static const char *const known[] = {"float32", "bfloat16", "int8", "auto"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(value, known[i]) == 0)
            return set_string(option, name, value, field, err);
    }
    return error_set(err, ERROR_INPUT, "%s must be float32, bfloat16, int8 or auto, got \"%.60s\"", name, value);
}

static int set_links(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    if (!links_kind_find(value))
        return error_set(err, ERROR_INPUT, "%s must be best, mutual or balanced, got \"%.60s\"", name, value);
    return set_string(option, name, value, field, err);
}

static int set_log_level(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    enum log_level level;
    if (log_parse_level(value, &level) != 0)
        return error_set(err, ERROR_INPUT, "%s must be error, warn, info or debug, got \"%.60s\"", name, value);
    return set_string(option, name, value, field, err);
}

static int set_size(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    /* strtoull takes "-1" and " 1" */
    if (!isdigit((unsigned char)value[0]) || *end != '\0')
        return error_set(err, ERROR_INPUT, "%s must be a whole number, got \"%.60s\"", name, value);
    if (errno == ERANGE || (double)number < option->minimum || (double)number > option->maximum)
        return error_set(err, ERROR_INPUT, "%s must be between %.0f and %.0f, got %.60s", name, option->minimum, option->maximum,
                         value);
    *(size_t *)field = (size_t)number;
    return 0;
}

static int set_real(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    char *end;
    double number = strtod(value, &end);
    if (end == value || *end != '\0' || isnan(number))
        return error_set(err, ERROR_INPUT, "%s must be a number, got \"%.60s\"", name, value);
    if (number < option->minimum || number > option->maximum)
        return error_set(err, ERROR_INPUT, "%s must be between %g and %g, got %.60s", name, option->minimum, option->maximum,
                         value);
    *(double *)field = number;
    return 0;
}

/* On the command line a switch has no value (NULL). */
static int set_switch(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    (void)option;
    bool on = !value || strcmp(value, "1") == 0 || strcmp(value, "true") == 0;
    if (!on && strcmp(value, "0") != 0 && strcmp(value, "false") != 0)
        return error_set(err, ERROR_INPUT, "%s must be true or false, got \"%.60s\"", name, value);
    *(bool *)field = on;
    return 0;
}

/* Appends; a variable holds several folders with ':' between them. */
static int set_folders(const struct option *option, const char *name, const char *value, void *field, struct error *err) {
    (void)option;
    struct folder_list *list = field;
    for (const char *at = value;;) {
        size_t length = strcspn(at, ":");
        if (length == 0)
            return error_set(err, ERROR_INPUT, "%s needs the name of a model folder", name);
        if (list->count == OPTIONS_MAX_MODELS)
            return error_set(err, ERROR_INPUT, "%s may be given at most %d times", name, OPTIONS_MAX_MODELS);
        char *copy = strndup(at, length);
        if (!copy)
            return error_memory(err);
        list->names[list->count++] = copy;
        if (at[length] == '\0')
            return 0;
        at += length + 1;
    }
}

#define FIELD(name) offsetof(struct options, name)

/* The fallback "cores" stands for the cores online. */
static const struct option table[] = {
    {"model", "DIR", NULL, "model folder; may be given several times, the first is the default of requests that name none", ALL,
     set_folders, FIELD(models), 0, 0},
    {"workers", "N", "cores", "decoding threads", ALL, set_size, FIELD(workers), 1, 1024},
    {"rows", "N", "256", "hypotheses that a worker decodes side by side", ALL, set_size, FIELD(rows), 1, 4096},
    {"compute", "TYPE", "float32", "of the products with weights: float32, bfloat16, int8, or auto: the fastest here", ALL,
     set_compute, FIELD(compute), 0, 0},
    {"shortlist", NULL, NULL, "choose target words from the model's shortlist for the sentence", ALL, set_switch, FIELD(shortlist),
     0, 0},
    {"log-level", "LEVEL", "info", "error, warn, info or debug", COMMAND_SERVE, set_log_level, FIELD(log_level), 0, 0},
    {"log-level", "LEVEL", "warn", "error, warn, info or debug", BATCH, set_log_level, FIELD(log_level), 0, 0},
    {"listen", "HOST:PORT", "127.0.0.1:8080", "address; port 0 takes a free one", COMMAND_SERVE, set_string, FIELD(listen), 0, 0},
    {"queue", "N", "1024", "sentences that may wait; beyond that requests get 429", COMMAND_SERVE, set_size, FIELD(queue), 1, 1e6},
    {"step-ms", "N", "40", "time that a worker may take for the next token of all its sentences, as predicted; 0: any",
     COMMAND_SERVE, set_size, FIELD(step_ms), 0, 1e6},
    {"max-body-bytes", "N", "1048576", "size of a request's body; beyond that 413", COMMAND_SERVE, set_size, FIELD(max_body_bytes),
     1, 1e9},
    {"max-text-chars", "N", "10000", "characters in all texts of a request; beyond that 413", COMMAND_SERVE, set_size,
     FIELD(max_text_chars), 1, 1e9},
    {"deadline-ms", "N", "10000", "time that a request may take; beyond that 504 (the header X-Deadline-Ms may ask for less)",
     COMMAND_SERVE, set_size, FIELD(deadline_ms), 1, 1e9},
    {"grace-ms", "N", "30000", "time that accepted requests have to finish after SIGTERM", COMMAND_SERVE, set_size, FIELD(grace_ms),
     0, 1e9},
    {"cors", "ORIGIN", "*", "Access-Control-Allow-Origin; empty: no such header", COMMAND_SERVE, set_string, FIELD(cors), 0, 0},
    {"strategy", "NAME", "beam", REQUEST_STRATEGIES, COMMAND_TRANSLATE, set_strategy, FIELD(strategy), 0, 0},
    {"beam-size", "N", "5", "hypotheses in a beam", COMMAND_TRANSLATE, set_size, FIELD(beam_size), 1, 32},
    {"length-penalty", "P", "1", "score = log_prob / length^P", COMMAND_TRANSLATE, set_real, FIELD(length_penalty), 0, 2},
    {"min-length", "N", "0", "target tokens at least", COMMAND_TRANSLATE, set_size, FIELD(min_length), 0, 1000},
    {"max-length", "N", "0", "target tokens at most; 0: the model's ratio", COMMAND_TRANSLATE, set_size, FIELD(max_length), 0,
     1000},
    {"split-sentences", NULL, NULL, "cut each line into sentences (default: a line is one sentence)", COMMAND_TRANSLATE, set_switch,
     FIELD(split_sentences), 0, 0},
    {"keep-unknowns", NULL, NULL, "print unknown words as \u2047 (default: as the source words most looked at)", COMMAND_TRANSLATE,
     set_switch, FIELD(keep_unknowns), 0, 0},
    {"target", "FILE", NULL, "the translations to align, one a line", COMMAND_ATTENTION, set_string, FIELD(target), 0, 0},
    {"links", "KIND", "best",
     "best: the source word most looked at of each target word; mutual: that are each other's best; balanced: these after "
     "every source word got its share",
     COMMAND_ATTENTION, set_links, FIELD(links), 0, 0},
    {"temperature", "T", "1", "strategy sample: log-probabilities are divided by it", COMMAND_TRANSLATE, set_real,
     FIELD(temperature), 0.01, 10},
    {"top-k", "N", "0", "strategy sample: from so many of the best tokens; 0: all", COMMAND_TRANSLATE, set_size, FIELD(top_k), 0,
     1000},
    {"top-p", "P", "1", "strategy sample: from the fewest best tokens that have this much of the probability", COMMAND_TRANSLATE,
     set_real, FIELD(top_p), 0.01, 1},
    {"seed", "N", "0", "strategy sample: the same number, the same translations", COMMAND_TRANSLATE, set_size, FIELD(seed), 0,
     9007199254740991},
    {"exact-steps", "N", "5000", "strategy exact: decoder steps a sentence until the best found so far will do", COMMAND_SERVE,
     set_size, FIELD(exact_steps), 1, 1e9},
    {"exact-steps", "N", "5000", "strategy exact: decoder steps a sentence until the best found so far will do", COMMAND_TRANSLATE,
     set_size, FIELD(exact_steps), 1, 1e9},
    {"coverage-penalty", "P", "0", "score += P * sum over source tokens of log(min(1, attention it got))", COMMAND_TRANSLATE,
     set_real, FIELD(coverage_penalty), 0, 2},
    {"no-repeat-ngram", "N", "0", "no sequence of so many tokens comes twice; 0: any may", COMMAND_TRANSLATE, set_size,
     FIELD(no_repeat_ngram), 0, 20},
    {"repetition-penalty", "P", "1", "the log-probabilities of tokens that came before count P times", COMMAND_TRANSLATE, set_real,
     FIELD(repetition_penalty), 1, 10},
    {"stats", NULL, NULL, "print sentences, target tokens, seconds and tokens per second at the end", BATCH, set_switch,
     FIELD(stats), 0, 0},
    {"heartbeat-ms", "N", "5000", "a stream that has nothing to tell sends a comment so often", COMMAND_SERVE, set_size,
     FIELD(heartbeat_ms), 10, 1e6},
};

enum { OPTION_COUNT = sizeof table / sizeof table[0] };

static void variable_name(const struct option *option, char name[NAME_BYTES]) {
    snprintf(name, NAME_BYTES, "ALIGND_%s", option->flag);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

static int set(struct options *options, const struct option *option, const char *name, const char *value, struct error *err) {
    return option->set(option, name, value, (char *)options + option->offset, err);
}

static int set_default(struct options *options, const struct option *option, struct error *err) {
    if (!option->fallback)
        return 0;
    char cores[32];
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(cores, sizeof cores, "%ld", online < 1 ? 1 : online > 1024 ? 1024 : online);
    return set(options, option, option->flag, strcmp(option->fallback, "cores") == 0 ? cores : option->fallback, err);
}

/* An empty variable counts as unset, as compose files produce them; only an origin may be empty. */
static int set_from_environment(struct options *options, const struct option *option, struct error *err) {
    char name[NAME_BYTES];
    variable_name(option, name);
    const char *value = getenv(name);
    bool may_be_empty = option->offset == FIELD(cors);
    if (!value || (*value == '\0' && !may_be_empty))
        return 0;
    return set(options, option, name, value, err);
}

static int set_defaults(struct options *options, struct error *err) {
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (!(table[i].commands & (int)options->command))
            continue;
        if (set_default(options, &table[i], err) != 0 || set_from_environment(options, &table[i], err) != 0)
            return -1;
    }
    return 0;
}

/* flag: without --, up to '=' or the end. */
static const struct option *find_option(const char *flag, enum command command) {
    size_t length = strcspn(flag, "=");
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (strncmp(table[i].flag, flag, length) == 0 && table[i].flag[length] == '\0' && (table[i].commands & (int)command))
            return &table[i];
    }
    return NULL;
}

static void clear_folders(struct folder_list *list) {
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    list->count = 0;
}

struct arguments {
    int count;
    char *const *values;
    int next;
    bool model_given; /* the first --model takes the place of ALIGND_MODEL */
};

static int parse_flag(struct options *options, struct arguments *arguments, struct error *err) {
    const char *argument = arguments->values[arguments->next++];
    const struct option *option = strncmp(argument, "--", 2) == 0 ? find_option(argument + 2, options->command) : NULL;
    if (!option)
        return error_set(err, ERROR_INPUT, "unknown argument \"%.60s\"", argument);
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "--%s", option->flag);
    const char *equals = strchr(argument, '=');
    const char *value = equals ? equals + 1 : NULL;
    if (option->metavar && !value) {
        if (arguments->next == arguments->count)
            return error_set(err, ERROR_INPUT, "%s needs a value", name);
        value = arguments->values[arguments->next++];
    }
    if (option->set == set_folders && !arguments->model_given) {
        clear_folders(&options->models);
        arguments->model_given = true;
    }
    return set(options, option, name, value, err);
}

static enum command parse_command(struct arguments *arguments) {
    const char *word = arguments->count > 1 ? arguments->values[1] : "";
    enum command command = strcmp(word, "translate") == 0   ? COMMAND_TRANSLATE
                           : strcmp(word, "attention") == 0 ? COMMAND_ATTENTION
                                                            : COMMAND_SERVE;
    arguments->next = command == COMMAND_SERVE ? 1 : 2;
    return command;
}

static bool asked_for(const struct arguments *arguments, const char *flag) {
    for (int i = arguments->next; i < arguments->count; i++) {
        if (strcmp(arguments->values[i], flag) == 0)
            return true;
    }
    return false;
}

/* What cannot be said of one option alone. */
static int check(const struct options *options, struct error *err) {
    if (options->models.count == 0)
        return error_set(err, ERROR_INPUT, "--model DIR is missing");
    if (options->command == COMMAND_TRANSLATE && options->models.count > 1)
        return error_set(err, ERROR_INPUT, "--model may be given only once in this mode");
    if (options->command == COMMAND_ATTENTION && options->models.count > 2)
        return error_set(err, ERROR_INPUT, "--model may be given only twice in this mode, once for each direction");
    if (options->command == COMMAND_ATTENTION && !options->target)
        return error_set(err, ERROR_INPUT, "--target FILE is missing");
    bool beam = options->command == COMMAND_TRANSLATE && strcmp(options->strategy, "beam") == 0;
    if (beam && options->beam_size > options->rows)
        return error_set(err, ERROR_INPUT, "--beam-size must be at most --rows (%zu), got %zu", options->rows, options->beam_size);
    if (options->max_length > 0 && options->min_length > options->max_length)
        return error_set(err, ERROR_INPUT, "--min-length must be at most --max-length (%zu), got %zu", options->max_length,
                         options->min_length);
    return 0;
}

int options_parse(struct options *options, int argc, char *const *argv, struct error *err) {
    struct arguments arguments = {.count = argc, .values = argv};
    struct options parsed = {.command = parse_command(&arguments)};
    parsed.help = asked_for(&arguments, "--help") || asked_for(&arguments, "-h");
    parsed.version = asked_for(&arguments, "--version");
    if (!parsed.help && !parsed.version) {
        if (set_defaults(&parsed, err) != 0)
            goto failed;
        while (arguments.next < arguments.count) {
            if (parse_flag(&parsed, &arguments, err) != 0)
                goto failed;
        }
        if (check(&parsed, err) != 0)
            goto failed;
    }
    *options = parsed;
    return 0;
failed:
    options_done(&parsed);
    return -1;
}

void options_done(struct options *options) {
    clear_folders(&options->models);
    free(options->log_level);
    free(options->compute);
    free(options->listen);
    free(options->cors);
    free(options->strategy);
    free(options->target);
    free(options->links);
}

static void print_options(FILE *out, const char *title, int commands) {
    fprintf(out, "\n%s\n", title);
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (table[i].commands != commands)
            continue;
        char variable[NAME_BYTES], flag[NAME_BYTES];
        variable_name(&table[i], variable);
        snprintf(flag, sizeof flag, "--%s %s", table[i].flag, table[i].metavar ? table[i].metavar : "");
        fprintf(out, "  %-22s %s [%s%s%s]\n", flag, table[i].help, variable, table[i].fallback ? "; default " : "",
                table[i].fallback ? table[i].fallback : "");
    }
}

char *options_help(void) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    fputs(
        "alignd: a translation service that shows its attention\n\n"
        "  alignd --model DIR [--model DIR ...] [options]               serve HTTP\n"
        "  alignd translate --model DIR [options] < source > target     translate lines\n"
        "  alignd attention --model DIR --target FILE < source          align the words of line pairs (Pharaoh format); with a\n"
        "                                                               second --model, of the opposite direction, by both\n\n"
        "Each option is also an environment variable, in brackets; a flag goes before it. ALIGND_MODEL may hold several folders,\n"
        "with ':' between them. --help prints this, --version the version.\n",
        out);
    print_options(out, "All modes:", ALL);
    print_options(out, "Serving:", COMMAND_SERVE);
    print_options(out, "Translating and aligning:", BATCH);
    print_options(out, "Translating:", COMMAND_TRANSLATE);
    print_options(out, "Aligning:", COMMAND_ATTENTION);
    bool written = !ferror(out);
    if (fclose(out) != 0 || !written) {
        free(text);
        return NULL;
    }
    return text;
}
