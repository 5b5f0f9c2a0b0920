#include "server/headway.h"
#include <stdio.h>
#include <string.h>

/* Before this an estimate is a guess. */
static const double least_seconds = 1;

/* 1234567 -> "1,234,567" */
static void put_count(FILE *out, size_t count) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%zu", count);
    for (int i = 0; i < length; i++)
        fprintf(out, "%s%c", i > 0 && (length - i) % 3 == 0 ? "," : "", digits[i]);
}

/* 125 -> "2:05", 7325 -> "2:02:05" */
static void put_time(FILE *out, uint64_t seconds) {
    unsigned long long hours = seconds / 3600, minutes = seconds / 60 % 60;
    if (hours > 0)
        fprintf(out, "%llu:%02llu:%02llu", hours, minutes, (unsigned long long)seconds % 60);
    else
        fprintf(out, "%llu:%02llu", minutes, (unsigned long long)seconds % 60);
}

static void put_rest(FILE *out, const struct headway *headway) {
    double share = (double)headway->done / (double)headway->of_bytes;
    if (share > 1) /* the input has grown meanwhile */
        share = 1;
    fprintf(out, ", %.0f%%", 100 * share);
    if (headway->done == 0 || headway->seconds < least_seconds)
        return;
    fputs(", ", out);
    put_time(out, (uint64_t)(headway->seconds / share * (1 - share) + 0.5));
    fputs(" left", out);
}

void headway_say(const struct headway *headway, char line[HEADWAY_BYTES]) {
    memset(line, 0, HEADWAY_BYTES);
    FILE *out = fmemopen(line, HEADWAY_BYTES - 1, "w");
    if (!out)
        return;
    put_count(out, headway->lines);
    fputs(" lines", out);
    if (headway->seconds >= least_seconds)
        fprintf(out, ", %.0f per second", (double)headway->lines / headway->seconds);
    if (headway->of_bytes > 0)
        put_rest(out, headway);
    fclose(out);
}
