/* build/tests/bench/detection CODE... < texts: prints for each line the guessed language of these,
 * the confidence, and its terms, separated by tabs. weights/evaluation/detection.py reads the
 * output. */
#include "server/api/languages.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *const *codes = (const char *const *)argv + 1;
    size_t count = (size_t)argc - 1, room = 0;
    char *line = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: detection CODE... < texts\n");
        return EXIT_FAILURE;
    }
    while (getline(&line, &room, stdin) > 0) {
        size_t length = strcspn(line, "\n");
        struct language_guess guess = language_detect(line, length, false, codes, count);
        if (guess.failed)
            return EXIT_FAILURE;
        printf("%s\t%.1f", codes[guess.index], guess.confidence);
        for (size_t i = 0; i < LANGUAGE_FEATURES; i++)
            printf("\t%.6g", guess.features[i]);
        printf("\n");
    }
    free(line);
    return EXIT_SUCCESS;
}
