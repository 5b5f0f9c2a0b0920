/* The cost of a glossary per sentence: build/tests/bench/lexicon < source.txt
 *
 * Looks the phrases of glossaries of 10, 1,000, 10,000 and 100,000 entries up in each line. The
 * entries are one to three words of the lines themselves, so that many are found, then words with
 * numbers after them, which begin as these do. Prints microseconds a line: the median of some runs,
 * and of the slowest line. */
#include "model/glossary.h"
#include "tests/bench/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 10000, MOST_ENTRIES = 100000, PHRASE_BYTES = 64, RUNS = 21, REPEATS = 20 };

static char *lines[MOST_LINES], (*phrases)[PHRASE_BYTES];
static struct glossary_entry entries[MOST_ENTRIES];
static size_t line_count;

/* The n-th phrase: `words` words of a line, and from the second round on a number. */
static void make_phrase(size_t n, char phrase[PHRASE_BYTES]) {
    const char *at = lines[n % line_count];
    size_t skipped = n / line_count % 6, words = 1 + n / line_count / 6 % 3,
           round = n / line_count / 18, length = 0;
    for (size_t i = 0; i < skipped && strchr(at, ' '); i++)
        at = strchr(at, ' ') + 1;
    for (size_t i = 0; i < words; i++)
        length += strcspn(at + length, " .,?!") +
                  (i + 1 < words && at[length + strcspn(at + length, " .,?!")] == ' ');
    snprintf(phrase, PHRASE_BYTES, round == 0 ? "%.*s" : "%.*s %zu",
             (int)(length < 40 ? length : 40), at, round);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds to look up a line; found: phrases in it. */
static double look_up(const struct lexicon *lexicon, const char *line, size_t *found) {
    double began = now();
    for (size_t i = 0; i < REPEATS; i++) {
        const struct glossary_entry *entry;
        struct span span;
        *found = 0;
        for (size_t at = 0; lexicon_next(lexicon, line, strlen(line), &at, &span, &entry);)
            ++*found;
    }
    return (now() - began) / REPEATS;
}

static void measure(size_t count) {
    struct arena arena;
    struct lexicon lexicon;
    double means[RUNS], slowest = 0;
    size_t found = 0, all = 0;
    arena_init(&arena, 1 << 16);
    double began = now();
    if (lexicon_init(&lexicon, entries, count, &arena, NULL) != 0)
        exit(EXIT_FAILURE);
    double made = now() - began;
    for (size_t run = 0; run < RUNS; run++) {
        double sum = 0, most = 0;
        all = 0;
        for (size_t i = 0; i < line_count; i++) {
            double seconds = look_up(&lexicon, lines[i], &found);
            sum += seconds;
            most = seconds > most ? seconds : most;
            all += found;
        }
        means[run] = sum / (double)line_count;
        slowest = run == 0 || most < slowest ? most : slowest;
    }
    qsort(means, RUNS, sizeof *means, by_value);
    printf("%8zu %10.1f %12.2f %12.2f %8zu\n", count, 1e3 * made, 1e6 * means[RUNS / 2],
           1e6 * slowest, all);
    arena_done(&arena);
}

int main(void) {
    char line[4096];
    while (line_count < MOST_LINES && fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line)
            lines[line_count++] = strdup(line);
    }
    phrases = calloc(MOST_ENTRIES, PHRASE_BYTES);
    if (line_count == 0 || !phrases)
        return EXIT_FAILURE;
    for (size_t i = 0; i < MOST_ENTRIES; i++) {
        make_phrase(i, phrases[i]);
        entries[i] = (struct glossary_entry){*phrases[i] ? phrases[i] : "x", "y"};
    }
    printf("%8s %10s %12s %12s %8s\n", "entries", "made, ms", "a line, us", "slowest, us", "found");
    static const size_t counts[] = {10, 1000, 10000, 100000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        measure(counts[i]);
    return EXIT_SUCCESS;
}
