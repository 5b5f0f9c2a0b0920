/* Measures speed and shows where the time goes; see usage_text. Everything is measured in one run,
 * so that ratios are valid on any machine. */
#include "model/model.h"
#include "tests/bench/ceilings.h"
#include "tests/bench/compute.h"
#include "tests/bench/decode.h"
#include "tests/bench/measure.h"

#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static const char usage_text[] =
    "usage: bench [options] MODEL_FOLDER < source.txt\n"
    "\n"
    "Prints what this machine can do at best, then for each compute type the speed of decoding, "
    "the share of each part in the "
    "time,\n"
    "how near the whole decode comes to the ceiling, and memory. Sentences are lines.\n"
    "\n"
    "  --compute LIST     compute types, with commas between (default: all)\n"
    "  --sentences N      the first N lines (default: all); a fifth of them where fewer than 32 "
    "rows are decoded side by side\n"
    "  --shortlist        use the model's vocabulary shortlist\n"
    "  --alignment        only what the model's alignment head costs: each setting with it and "
    "without it, in turn\n"
    "  --quick            1 and 32 rows, one run each, 100 sentences at most\n";

enum { MAX_REPEATS = 3, TURNS = 25, QUICK_SENTENCES = 100, FEW_ROWS = 32, MAX_SETTINGS = 8 };

struct arguments {
    const char *computes[MAX_COMPUTE_TYPES + 1]; /* NULL last */
    size_t sentences;                            /* 0: all */
    bool shortlist, alignment, quick;
    const char *model;
};

/* ---- memory ---- */

/* A line of /proc/self/status, such as VmRSS, in MB; 0 if there is none. */
static double status_mb(const char *name) {
    char line[256];
    double kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            kb = strtod(line + strlen(name) + 1, NULL);
    if (file)
        fclose(file);
    return kb / 1024;
}

/* Gives freed memory back and makes VmHWM start from what is in use now (proc(5), clear_refs). */
static void forget_peak(void) {
    malloc_trim(0);
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file)
        return;
    fputs("5", file);
    fclose(file);
}

/* ---- one setting ---- */

struct spread {
    double least, median, most;
};

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct spread spread_of(double *values, size_t count) {
    qsort(values, count, sizeof *values, by_value);
    return (struct spread){values[0], values[count / 2], values[count - 1]};
}

static double rate_of(struct decoded decoded) {
    return (double)decoded.tokens / decoded.seconds;
}

/* Prints a line of the table; returns the median of the seconds. */
static double print_speed(const struct translator *translator, const struct lines *lines,
                          const struct decoding *d, size_t repeats) {
    double seconds[MAX_REPEATS], rates[MAX_REPEATS], waited[MAX_REPEATS];
    for (size_t i = 0; i < repeats; i++) {
        struct decoded decoded = decode(translator, lines, d, NULL);
        seconds[i] = decoded.seconds;
        rates[i] = rate_of(decoded);
        waited[i] = 1e3 * decoded.waited;
    }
    struct spread rate = spread_of(rates, repeats), wait = spread_of(waited, repeats);
    printf("%-8s %5zu %8zu %10.0f %8.0f %8.0f %14.2f %8.2f %8.2f\n", search_name(d->strategy),
           d->rows, d->workers, rate.median, rate.least, rate.most, wait.median, wait.least,
           wait.most);
    fflush(stdout);
    return spread_of(seconds, repeats).median;
}

/* seconds: what the same took when it was not measured part by part. */
static void print_parts(const struct translator *translator, const struct lines *lines,
                        const struct decoding *d, const struct ceiling *ceiling, double seconds) {
    struct parts parts = {0};
    struct decoded decoded = decode(translator, lines, d, &parts);
    const double *s = parts.seconds, whole = decoded.seconds,
                 rate = 2 * parts.multiply_adds / seconds;
    double known = s[PART_ENCODE] + s[PART_STEP] + s[PART_OUTPUT] + s[PART_SEARCH];
    double shares[] = {s[PART_ENCODE],    s[PART_SELF],    s[PART_STEP] - s[PART_ATTENTION],
                       s[PART_ATTENTION], s[PART_OUTPUT],  s[PART_SEARCH],
                       whole - known,     s[PART_PRODUCTS]};
    printf("%-8s %5zu", search_name(d->strategy), d->rows);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        printf(" %9.1f", 100 * shares[i] / whole);
    printf(" %13.2f %9.1f %9.1f %9.1f\n", parts.multiply_adds / (double)decoded.tokens / 1e6,
           rate / 1e9, 100 * rate / ceiling_at(ceiling, d->rows),
           100 * rate / ceiling_at(ceiling, SIZE_MAX));
    fflush(stdout);
}

/* ---- one compute type ---- */

/* The settings of a table, [MAX_SETTINGS], one worker each. A beam of 5 in 8 rows is one sentence
 * at a time, as in 5 rows. */
static size_t list_settings(const struct arguments *arguments, const struct lines *lines,
                            struct decoding *list) {
    static const struct decoding all[] = {
        {.strategy = &search_greedy, .beam_size = 1, .rows = 1},
        {.strategy = &search_greedy, .beam_size = 1, .rows = 8},
        {.strategy = &search_greedy, .beam_size = 1, .rows = 32},
        {.strategy = &search_greedy, .beam_size = 1, .rows = 64},
        {.strategy = &search_beam, .beam_size = 5, .rows = 5},
        {.strategy = &search_beam, .beam_size = 5, .rows = 32},
        {.strategy = &search_beam, .beam_size = 5, .rows = 64},
    };
    size_t count = 0, sentences = lines->count;
    if (arguments->sentences > 0 && arguments->sentences < sentences)
        sentences = arguments->sentences;
    if (arguments->quick && sentences > QUICK_SENTENCES)
        sentences = QUICK_SENTENCES;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (arguments->quick && all[i].rows != all[i].beam_size && all[i].rows != FEW_ROWS)
            continue;
        list[count] = all[i];
        list[count].workers = 1;
        list[count++].sentences = all[i].rows < FEW_ROWS ? (sentences + 4) / 5 : sentences;
    }
    return count;
}

/* seconds [count]: the medians with one worker, written. */
static void print_speeds(const struct translator *translator, const struct lines *lines,
                         const struct decoding *settings, size_t count, size_t repeats,
                         double *seconds) {
    printf("%-8s %5s %8s %10s %8s %8s %14s %8s %8s\n", "strategy", "rows", "workers", "tokens/s",
           "least", "most", "ms a sentence", "least", "most");
    for (size_t i = 0; i < count; i++) {
        struct decoding two = settings[i];
        two.workers = 2;
        seconds[i] = print_speed(translator, lines, &settings[i], repeats);
        print_speed(translator, lines, &two, repeats);
    }
}

static void print_shares(const struct translator *translator, const struct lines *lines,
                         const struct decoding *settings, size_t count,
                         const struct ceiling *ceiling, const double *seconds) {
    printf("\none worker     share of the time, %%, in a run of its own %52s %9s %19s\n",
           "M mult-adds", "whole", "% of the ceiling at");
    printf("%-8s %5s %9s %9s %9s %9s %9s %9s %9s %9s %13s %9s %9s %9s\n", "strategy", "rows",
           "encode", "heads+", "cells*", "attention", "output", "search", "other", "products",
           "a token", "Gop/s", "its rows", "64 rows");
    for (size_t i = 0; i < count; i++)
        print_parts(translator, lines, &settings[i], ceiling, seconds[i]);
    puts("+ of the encoder, within encode. * with the readout; a transformer's layers but for what "
         "its heads look at. Products lie "
         "within the other parts. The encoder's have more rows than the decoder's, so that at few\n"
         "  rows the whole may pass their ceiling.");
}

/* Runs with and without the alignment head, alternately. */
static void print_alignment_cost(const struct translator *translator, const struct lines *lines,
                                 struct decoding d) {
    double without[TURNS], with[TURNS], ratios[TURNS];
    for (size_t i = 0; i < TURNS; i++) {
        d.aligns = false;
        without[i] = rate_of(decode(translator, lines, &d, NULL));
        d.aligns = true;
        with[i] = rate_of(decode(translator, lines, &d, NULL));
        ratios[i] = with[i] / without[i];
    }
    struct spread ratio = spread_of(ratios, TURNS);
    printf("%-8s %5zu %20.0f %10.0f %17.3f %8.3f %8.3f\n", search_name(d.strategy), d.rows,
           spread_of(without, TURNS).median, spread_of(with, TURNS).median, ratio.median,
           ratio.least, ratio.most);
    fflush(stdout);
}

static void print_alignment_costs(const struct translator *translator, const struct lines *lines,
                                  const struct decoding *settings, size_t count) {
    printf("%-8s %5s %20s %10s %17s %8s %8s\n", "strategy", "rows", "tokens/s, not asked", "asked",
           "asked / not asked", "least", "most");
    for (size_t i = 0; i < count; i++)
        print_alignment_cost(translator, lines, settings[i]);
}

static struct translator *open_model(const char *compute, const struct arguments *arguments) {
    struct error err = {0};
    struct translator_options options = {
        .compute = compute, .shortlist = arguments->shortlist ? SWITCH_ON : SWITCH_OFF};
    struct translator *translator = translator_open(arguments->model, &options, &err);
    if (translator)
        return translator;
    fprintf(stderr, "bench: %s\n", err.message);
    exit(1);
}

static void print_compute(const struct arguments *arguments, const char *compute,
                          const struct lines *lines, const struct ceiling *ceiling) {
    struct decoding settings[MAX_SETTINGS];
    double seconds[MAX_SETTINGS];
    size_t count = list_settings(arguments, lines, settings);
    forget_peak();
    double before = status_mb("VmRSS"), began = now();
    struct translator *translator = open_model(compute, arguments);
    double opened = now() - began;
    malloc_trim(0);
    double own = status_mb("VmRSS") - before;
    printf("\n# %s%s: %s\n", compute, arguments->shortlist ? ", shortlist" : "",
           translator_info(translator).architecture);
    if (arguments->alignment) {
        print_alignment_costs(translator, lines, settings, count);
    } else {
        print_speeds(translator, lines, settings, count, arguments->quick ? 1 : MAX_REPEATS,
                     seconds);
        print_shares(translator, lines, settings, count, ceiling, seconds);
        printf(
            "\nopened in %.0f ms; memory: translator %.1f MB, peak of the whole process %.1f MB\n",
            1e3 * opened, own, status_mb("VmHWM"));
    }
    translator_free(translator);
}

/* ---- the arguments ---- */

static void usage(FILE *out, int status) {
    fputs(usage_text, out);
    exit(status);
}

/* Cuts list at its commas. */
static void choose_computes(struct arguments *arguments, char *list) {
    size_t count = 0;
    for (char *save, *name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
        if (count == MAX_COMPUTE_TYPES)
            usage(stderr, 2);
        arguments->computes[count++] = name;
    }
    if (count == 0)
        usage(stderr, 2);
    arguments->computes[count] = NULL;
}

static size_t count_of(const char *text) {
    char *end;
    errno = 0;
    unsigned long count = strtoul(text, &end, 10);
    if (*text < '1' || *text > '9' || *end != '\0' || errno != 0) {
        fprintf(stderr, "bench: --sentences must be a number from 1, got %s\n", text);
        exit(2);
    }
    return count;
}

static struct arguments parse(int argc, char **argv) {
    static const struct option options[] = {{"compute", required_argument, NULL, 'c'},
                                            {"sentences", required_argument, NULL, 'n'},
                                            {"shortlist", no_argument, NULL, 's'},
                                            {"alignment", no_argument, NULL, 'a'},
                                            {"quick", no_argument, NULL, 'q'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    struct arguments arguments = {0};
    for (size_t i = 0; i < MAX_COMPUTE_TYPES && compute_types[i]; i++)
        arguments.computes[i] = compute_types[i];
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'c')
            choose_computes(&arguments, optarg);
        else if (option == 'n')
            arguments.sentences = count_of(optarg);
        else if (option == 's')
            arguments.shortlist = true;
        else if (option == 'a')
            arguments.alignment = true;
        else if (option == 'q')
            arguments.quick = true;
        else
            usage(option == 'h' ? stdout : stderr, option == 'h' ? 0 : 2);
    }
    if (argc - optind != 1)
        usage(stderr, 2);
    arguments.model = argv[optind];
    return arguments;
}

int main(int argc, char **argv) {
    translator_setup();
    struct arguments arguments = parse(argc, argv);
    struct ceiling ceilings[MAX_COMPUTE_TYPES];
    struct lines lines = lines_read(stdin);
    if (lines.count == 0) {
        fputs("bench: no sentences on standard input\n", stderr);
        return 1;
    }
    struct translator *translator = open_model(arguments.computes[0], &arguments);
    size_t output = translator->output.linear.out, readout = translator->output.linear.in;
    translator_free(translator);
    ceilings_print(arguments.computes, output, readout, arguments.quick ? 3 : 5, ceilings);
    for (size_t i = 0; arguments.computes[i]; i++)
        print_compute(&arguments, arguments.computes[i], &lines, &ceilings[i]);
    lines_free(&lines);
    return 0;
}
