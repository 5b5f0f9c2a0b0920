/* gibbs: aligns pairs of lists of numbers. weights/alignment/aligner.py is its face for text. */
#include "model/gibbs/aligner.h"
#include "model/gibbs/symmetrise.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "Usage: gibbs [OPTION]... <PAIRS >LINKS\n"
                            "Aligns words given as numbers. A line of PAIRS: numbers from 1, a "
                            "TAB, the other side's numbers. A "
                            "line of LINKS: i-j, places\n"
                            "from 0, separated by spaces.\n\n"
                            "  --symmetry WAY    forward, backward, intersection, union or "
                            "grow-diag-final-and (the default);\n"
                            "                    both: forward TAB backward\n"
                            "  --samplers N      1 to 16 (default 3)\n"
                            "  --sweeps N        through the corpus with the whole model (default: "
                            "by the number of pairs)\n"
                            "  --seed N          (default 1)\n"
                            "  --quiet           no progress\n";

struct settings {
    struct aligner_options aligner;
    const char *symmetry;
};

static void report(int direction, int sampler, int samplers) {
    fprintf(stderr, "gibbs: %s: sampler %d of %d is done\n",
            direction == 0 ? "forward" : "backward", sampler, samplers);
}

static int read_number(const char *name, const char *text, long least, long most, long *number,
                       struct error *err) {
    char *end;
    *number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || *number < least || *number > most)
        return error_set(err, ERROR_INPUT, "--%s: a whole number from %ld to %ld is expected", name,
                         least, most);
    return 0;
}

static int set_option(struct settings *s, const char *name, const char *value, struct error *err) {
    long number = 0;
    if (strcmp(name, "symmetry") == 0) {
        s->symmetry = value;
        return strcmp(value, "both") == 0 || symmetry_find(value)
                   ? 0
                   : error_set(err, ERROR_INPUT, "--symmetry: %s is unknown", value);
    }
    if (strcmp(name, "quiet") == 0) {
        s->aligner.report = NULL;
        return 0;
    }
    long most = strcmp(name, "samplers") == 0 ? ALIGNER_MAX_SAMPLERS : 1000000;
    if (read_number(name, value, 1, most, &number, err) != 0)
        return -1;
    if (strcmp(name, "samplers") == 0)
        s->aligner.samplers = (int)number;
    else if (strcmp(name, "sweeps") == 0)
        s->aligner.sweeps = (int)number;
    else
        s->aligner.seed = (uint64_t)number;
    return 0;
}

static int read_options(int argc, char **argv, struct settings *settings, struct error *err) {
    static const struct option options[] = {{"symmetry", required_argument, NULL, 0},
                                            {"samplers", required_argument, NULL, 0},
                                            {"sweeps", required_argument, NULL, 0},
                                            {"seed", required_argument, NULL, 0},
                                            {"quiet", no_argument, NULL, 0},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int found, index;
    while ((found = getopt_long(argc, argv, "", options, &index)) != -1) {
        if (found == 'h') {
            fputs(usage, stdout);
            exit(EXIT_SUCCESS);
        }
        if (found == '?')
            return error_set(err, ERROR_INPUT, "--help says which options there are");
        if (set_option(settings, options[index].name, optarg, err) != 0)
            return -1;
    }
    return optind == argc ? 0
                          : error_set(err, ERROR_INPUT,
                                      "%s: the pairs are read from standard input", argv[optind]);
}

/* ---- output ---- */

static void print_links(const struct symmetry *symmetry, const struct directions *directions,
                        struct grid *grid) {
    const char *between = "";
    symmetrise(symmetry, directions, grid);
    for (size_t i = 0; i < grid->rows; i++)
        for (size_t j = 0; j < grid->columns; j++)
            if (grid->linked[i][j]) {
                printf("%s%zu-%zu", between, i, j);
                between = " ";
            }
}

static void print_pair(const struct corpus *c, size_t pair, const struct settings *settings,
                       uint8_t *const links[2], struct grid *grid) {
    struct directions directions = {links[0] + c->sides[1].starts[pair],
                                    links[1] + c->sides[0].starts[pair]};
    grid->rows = side_length(&c->sides[0], pair);
    grid->columns = side_length(&c->sides[1], pair);
    const struct symmetry *one = symmetry_find(settings->symmetry);
    print_links(one ? one : symmetry_find("forward"), &directions, grid);
    if (!one) {
        putchar('\t');
        print_links(symmetry_find("backward"), &directions, grid);
    }
    putchar('\n');
}

static int print_all(const struct corpus *corpus, const struct settings *settings,
                     uint8_t *const links[2], struct error *err) {
    struct grid *grid = malloc(sizeof *grid);
    if (!grid)
        return error_memory(err);
    for (size_t pair = 0; pair < corpus->pairs; pair++)
        print_pair(corpus, pair, settings, links, grid);
    free(grid);
    return fflush(stdout) == 0 && !ferror(stdout)
               ? 0
               : error_set(err, ERROR_FILE, "the links cannot be written");
}

static int run(const struct settings *settings, struct error *err) {
    struct corpus corpus = {0};
    uint8_t *links[2] = {NULL, NULL};
    int status = corpus_read(stdin, &corpus, err);
    if (status == 0)
        status = aligner_run(&corpus, &settings->aligner, links, err);
    if (status == 0)
        status = print_all(&corpus, settings, links, err);
    free(links[0]);
    free(links[1]);
    corpus_done(&corpus);
    return status;
}

int main(int argc, char **argv) {
    struct settings settings = {{.samplers = 3, .seed = 1, .report = report},
                                "grow-diag-final-and"};
    struct error err = {0};
    if (read_options(argc, argv, &settings, &err) == 0 && run(&settings, &err) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "gibbs: %s\n", err.message);
    return EXIT_FAILURE;
}
